"""The design of a curve: one level of any capacity, energies as they are, or DRAM words in their place."""

import math
from dataclasses import replace

from jouleloop.arch.architecture import Architecture, Network, StorageLevel
from jouleloop.energy.costs import EnergyCosts, LevelEnergy
from jouleloop.engines.protocol import Target
from jouleloop.errors import Fault, InputError, unknown
from jouleloop.model.evaluation import Evaluation

_FREE = "words of main memory are counted"


def level_of(arch: Architecture, name: str | None) -> StorageLevel:
    """Return the level whose capacity a curve varies; without a name the outermost of limited capacity.

    Raises `InputError` where there is no such level, it is main memory, or it has to be filled to a share.
    """
    inner = {level.name: level for level in arch.levels[1:]}
    if name is None:
        name = next((level.name for level in arch.levels[1:] if level.capacity_words is not None), "")
    if name not in inner:
        raise InputError(unknown(name, inner, "level of an inner memory", field="level"))
    if inner[name].min_utilization:
        text = "has to be filled to a share of its capacity, so a larger one may have a worse optimum"
        raise InputError(Fault(text, "level", value=name, allowed="a level without min_utilization"))
    return inner[name]


def with_words(target: Target, name: str, words: int | None) -> Target:
    """Return the target with a level that tiles may fill with so many words; None: with any number of them."""
    arch = target.arch
    levels = [
        replace(level, capacity_words=words, multiple_buffering=1.0) if level.name == name else level
        for level in arch.levels
    ]
    return replace(target, arch=replace(arch, levels=tuple(levels)))


def capacity_of(level: StorageLevel, words: int) -> int:
    """Return the least capacity [words] of a level that leaves so many words to a tile."""
    capacity = math.floor(words * level.multiple_buffering)
    while int(capacity / level.multiple_buffering) < words:
        capacity += 1
    return capacity


def in_dram_words(target: Target) -> Target:
    """Return the target whose energies [pJ] are words that main memory reads and writes, one by one."""
    levels = tuple(
        replace(level, network=_free(level.network), back=level.back and _free(level.back))
        for level in target.arch.levels
    )
    arch = replace(target.arch, levels=(replace(levels[0], block_words=1), *levels[1:]))
    words = [float(place == 0) for place in range(len(levels))]
    energies = [LevelEnergy(level.name, one, one, _FREE) for level, one in zip(levels, words, strict=True)]
    return replace(target, arch=arch, costs=EnergyCosts("DRAM words", tuple(energies), 0.0, _FREE))


def _free(network: Network) -> Network:
    return replace(network, hop_pj=0.0, router_pj=0.0, ingress_pj=0.0, adder_pj=0.0)


def held_words(evaluation: Evaluation, name: str) -> int:
    """Return the words that tiles fill in one instance of a level."""
    return sum(stats.tile_words for stats in evaluation.level(name).data.values())


def dram_words(evaluation: Evaluation) -> float:
    """Return the words that main memory reads and writes."""
    return sum(
        (stats.reads + stats.fills + stats.updates) * stats.instances for stats in evaluation.levels[0].data.values()
    )
