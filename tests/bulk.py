"""Many mappings of one layer, evaluated by one call: for tests that compare with an enumeration, and for benchmarks."""

from collections.abc import Sequence

import numpy as np
from numpy.lib.recfunctions import unstructured_to_structured

from jouleloop.arch.architecture import Architecture
from jouleloop.energy.costs import EnergyCosts
from jouleloop.errors import Fault, MappingError
from jouleloop.jit import njit
from jouleloop.mapping.mapping import Mapping
from jouleloop.model.arrays import (
    LOOP,
    MAX_LOOPS,
    SPATIAL,
    TEMPORAL,
    Encoded,
    Floats,
    Ints,
    NestArrays,
    WorkArrays,
    new_work,
)
from jouleloop.model.encode import encode, encode_mapping
from jouleloop.model.evaluate import count_nest
from jouleloop.model.semantics import rules_of
from jouleloop.workload.problem import Problem


# Kernels outside the package are kept by their name: a change of this one asks for another.
@njit
def _evaluate_stacked(
    target: Encoded, nests: NestArrays, nest: NestArrays, work: WorkArrays, energies_pj: Floats, cycles: Ints
) -> None:
    """Evaluate stacked nests, each in the place of ``nest``: kernels make no records."""
    for n in range(nests.counts.shape[0]):
        nest.counts[:] = nests.counts[n]
        nest.loops[:] = nests.loops[n]
        nest.keep[:] = nests.keep[n]
        energies_pj[n], cycles[n], _, _ = count_nest(target, nest, work)


def evaluate_nests(
    problem: Problem, arch: Architecture, costs: EnergyCosts, nests: NestArrays, semantics: str = "timeloop-3.0.3"
) -> tuple[Floats, Ints]:
    """Return total energy [pJ] and cycles, both of shape (nests,), of stacked nests of one layer."""
    rules, number = rules_of(semantics), nests.counts.shape[0]
    energies_pj, cycles = np.empty(number), np.empty(number, np.int64)
    work = new_work(len(arch.levels), len(problem.data_spaces))
    nest = NestArrays(
        np.zeros(nests.counts.shape[1:], np.int64),
        np.zeros(nests.loops.shape[1:], LOOP),
        np.zeros(nests.keep.shape[1:], np.bool_),
    )
    _evaluate_stacked(encode(problem, arch, costs, rules), nests, nest, work, energies_pj, cycles)
    return energies_pj, cycles


def evaluate_many(
    problem: Problem,
    arch: Architecture,
    costs: EnergyCosts,
    mappings: Sequence[Mapping],
    semantics: str = "timeloop-3.0.3",
) -> tuple[Floats, Ints]:
    """Return total energy [pJ] and cycles of many mappings of one layer, both of shape (mappings,)."""
    if not mappings:
        return np.empty(0), np.empty(0, np.int64)
    return evaluate_nests(problem, arch, costs, encode_mappings(problem, arch, mappings), semantics)


def encode_mappings(problem: Problem, arch: Architecture, mappings: Sequence[Mapping]) -> NestArrays:
    """Return the stacked arrays of many perfect mappings of one problem; `encode_mapping` checks those that look wrong.

    Raises `MappingError` as `encode_mapping`, for the first mapping that is none.
    """
    dims = {name: index for index, name in enumerate(problem.shape.dimensions)}
    spaces = [space.name for space in problem.data_spaces]
    places = tuple(zip(arch.level_names, arch.fanout, strict=True))
    levels = len(places)
    counts = np.zeros((len(mappings), levels, 2), np.int64)
    loops = np.zeros((len(mappings), levels, 2, MAX_LOOPS), LOOP)
    keep = np.zeros((len(mappings), levels, len(spaces)), np.bool_)
    kept: dict[tuple[frozenset[str], ...], list[list[bool]] | None] = {}
    # One number after the other in one list: by far the cheapest way from Python objects to an array.
    flat: list[int] = []
    for n, mapping in enumerate(mappings):
        if mapping.imperfect:
            raise MappingError(Fault("ends early: mappings with residual ends are evaluated one by one"))
        if mapping.reuse:
            raise MappingError(Fault("does not reuse all: such mappings are evaluated one by one"))
        start = len(flat)
        choice = tuple(level.keep for level in mapping.levels)
        if choice not in kept:
            kept[choice] = _keep_rows(choice, spaces)
        rows = kept[choice]
        if rows is None or not _append_loops(flat, n, mapping, problem, places, dims):
            del flat[start:]
            counts[n], loops[n], keep[n] = encode_mapping(problem, arch, mapping)
        else:
            keep[n] = rows
    table = np.array(flat, np.int64).reshape(-1, 7)
    at = tuple(table[:, :4].T)
    loops[at] = unstructured_to_structured(table[:, 4:], LOOP)
    np.add.at(counts, at[:3], 1)
    return NestArrays(counts, loops, keep)


def _keep_rows(choice: tuple[frozenset[str], ...], spaces: list[str]) -> list[list[bool]] | None:
    """Return what is kept where, innermost level first; None where names are wrong or a data space is kept nowhere."""
    if frozenset().union(*choice) != frozenset(spaces):
        return None
    return [[name in level for name in spaces] for level in reversed(choice)]


def _append_loops(
    flat: list[int],
    n: int,
    mapping: Mapping,
    problem: Problem,
    places: Sequence[tuple[str, tuple[int, int]]],
    dims: dict[str, int],
) -> bool:
    """Append (n, level, kind, position, dimension, bound, axis) of every loop; return whether all is as it should be.

    ``places`` holds name and fan-out of every level, outermost first.
    """
    product = [1] * len(dims)
    index = len(places)
    if len(mapping.levels) != index:
        return False
    for level, (name, (most_x, most_y)) in zip(mapping.levels, places, strict=True):
        index -= 1
        if level.level != name or max(len(level.temporal), len(level.spatial)) > MAX_LOOPS:
            return False
        k = 0
        for dimension, bound in level.temporal:
            d = dims.get(dimension, -1)
            if d < 0:
                return False
            product[d] *= bound
            if bound > 1:
                flat += (n, index, TEMPORAL, k, d, bound, 0)
                k += 1
        k, along_x, along_y = 0, 1, 1
        for dimension, bound, axis in level.spatial:
            d = dims.get(dimension, -1)
            if d < 0 or axis not in "XY":
                return False
            product[d] *= bound
            if bound > 1:
                flat += (n, index, SPATIAL, k, d, bound, axis == "Y")
                k += 1
                if axis == "Y":
                    along_y *= bound
                else:
                    along_x *= bound
        if along_x > most_x or along_y > most_y:
            return False
    return product == list(problem.bounds)
