"""Reading what Timeloop wrote: ``map.txt``, ``stats.txt`` and ``map+stats.xml`` of 3.0.x and of later versions.

The XML has every count and energy of the storage levels in full precision; the text has the networks and the leakage,
and everything else to two decimals. Where there is no XML the text alone is read.
"""

import math
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any

from jouleloop.engines.timeloop.text import Statistics, parse_statistics
from jouleloop.errors import EngineError, Fault, MappingError, raise_all
from jouleloop.files import read_text
from jouleloop.mapping.mapping import Mapping
from jouleloop.mapping.nest import mapping_of, printed_levels
from jouleloop.model.evaluation import DataStats, Evaluation, LevelStats
from jouleloop.workload.problem import Problem

_LAST_TAG = "</boost_serialization>"

#: Fields of `DataStats`: tag in the XML, label in the text.
_FIELDS = {
    "tile_words": ("utilized_capacity", "Utilized capacity"),
    "partition_words": ("partition_size", "Partition size"),
    "instances": ("utilized_instances", "Utilized instances (max)"),
    "clusters": ("utilized_clusters", "Utilized clusters (max)"),
    "reads": ("reads", "Scalar reads (per-instance)"),
    "updates": ("updates", "Scalar updates (per-instance)"),
    "fills": ("fills", "Scalar fills (per-instance)"),
    "reductions": ("temporal_reductions", "Temporal reductions (per-instance)"),
}


def read_mapping(folder: Path, program: str) -> Mapping:
    """Return the mapping that ``program`` wrote into ``folder``."""
    path = folder / f"{program}.map.txt"
    return parse_map(_text(path), str(path))[0]


def read_evaluation(folder: Path, program: str, problem: Problem) -> Evaluation:
    """Return the evaluation that ``program`` wrote into ``folder``.

    Raises `EngineError` where a file is missing, empty or not of a known form, or where text and XML contradict each
    other.
    """
    stats, xml = folder / f"{program}.stats.txt", folder / f"{program}.map+stats.xml"
    xml_text = read_text(xml) if xml.exists() and xml.stat().st_size else None
    return parse_evaluation(_text(stats), xml_text, problem, str(stats))


def parse_map(text: str, source: str = "map.txt") -> tuple[Mapping, dict[str, dict[str, int]]]:
    """Return the mapping in ``map.txt``, levels outermost first, and the tile sizes in words by level and data space.

    Raises `EngineError` where a line is unknown, or a remainder is larger than its loop.
    """
    try:
        levels, faults = printed_levels(text)
        if not levels:
            faults.append(Fault("no level in it"))
        raise_all(faults, MappingError)
        return mapping_of(levels), {level.name: level.tiles for level in levels}
    except MappingError as error:
        raise EngineError([replace(fault, source=source) for fault in error.faults]) from error


def parse_evaluation(
    stats_text: str, xml_text: str | None, problem: Problem, source: str = "stats.txt", *, check: bool = True
) -> Evaluation:
    """Return the evaluation in ``stats.txt`` and, where given, ``map+stats.xml``.

    The total energy includes leakage where the output states it (later versions); `Evaluation` has no other place for
    it, so ``energy_pj`` may then exceed compute and data energy together.

    Parameters
    ----------
    check
        Whether to refuse a total that is not the one printed, to the printed precision.
    """
    statistics = parse_statistics(stats_text, source)
    spaces = [space.name for space in problem.data_spaces]
    exact = {} if xml_text is None else _parse_xml(xml_text, spaces, source)
    printed = {level.name: level for level in statistics.levels}
    if exact and not set(printed) <= set(exact):
        raise EngineError(Fault("the XML lacks levels of the text", source, value=sorted(set(printed) - set(exact))))
    levels = []
    for level in reversed(statistics.levels[1:]):
        if level.name not in exact:
            throttle = level.number("Bandwidth throttling", source)
            data = _from_text(level.data, source)
            levels.append(LevelStats(level.name, int(level.number("Cycles", source)), throttle, data))
    # Later versions leave out of the text the levels that only fan out; the XML has them.
    for name, one in reversed(exact.items()):
        if name != statistics.levels[0].name:
            levels.append(LevelStats(name, one.cycles, one.throttle, one.data))
    leaks = [
        level.numbers["Leakage energy (total)"]
        for level in printed.values()
        if "Leakage energy (total)" in level.numbers
    ]
    compute = statistics.levels[0]
    compute_energy = exact[compute.name].compute_energy_pj if exact else compute.number("Energy (total)", source)
    computes = int(compute.number("Computes (total)", source))
    cycles = int(statistics.summary["Cycles"])
    units = compute.number("Instances", source)
    networks = [stats.energy_pj for spaces in statistics.networks.values() for stats in spaces.values()]
    energy = compute_energy + sum(level.energy_pj for level in levels) + sum(leaks) + sum(networks)
    if check:
        _check_total(energy, computes, (len(levels), len(networks) + len(leaks)), statistics, source)
    return Evaluation(
        levels=tuple(levels),
        networks=statistics.networks,
        compute_name=compute.name,
        compute_instances=int(compute.number("Utilized instances", source)),
        computes=computes,
        compute_cycles=int(compute.number("Cycles", source)),
        compute_energy_pj=compute_energy,
        cycles=cycles,
        utilization=computes / units / cycles,
        energy_pj=energy,
    )


class _ExactLevel:
    """One level of the XML."""

    def __init__(self) -> None:
        self.data: dict[str, DataStats] = {}
        self.throttle = 1.0
        self.cycles = 0
        self.compute_energy_pj = 0.0


def _parse_xml(text: str, spaces: list[str], source: str) -> dict[str, _ExactLevel]:
    # Timeloop 4 takes the text before its archive is closed, so the last tag is missing.
    if not text.rstrip().endswith(_LAST_TAG):
        text += _LAST_TAG
    try:
        root = ET.fromstring(text)  # noqa: S314 - written by Timeloop a moment ago, size limited by files.py
        nodes = root.findall("engine/topology_/levels_/item/px")
        if not nodes:
            raise EngineError(Fault("no level in the XML", source))
        return {_name(node): _xml_level(node, spaces) for node in nodes}
    except (ET.ParseError, ValueError, KeyError, IndexError) as error:
        raise EngineError(Fault(f"XML of an unknown form: {error!r}", source)) from error


def _name(node: ET.Element) -> str:
    name = node.findtext("specs_/LevelSpecs/level_name")
    if not name:
        raise KeyError("level_name")
    return name.strip()


def _xml_level(node: ET.Element, spaces: list[str]) -> _ExactLevel:
    level = _ExactLevel()
    stats = node.find("stats_")
    if stats is None:
        energy = node.findtext("energy_")
        if energy is None:
            raise KeyError("energy_")
        level.compute_energy_pj = float(energy)
        return level
    kept = _per_space(stats, "keep", spaces)
    columns = {field: _per_space(stats, tag, spaces) for field, (tag, _) in _FIELDS.items()}
    energies = _per_space(stats, "energy", spaces)
    level.throttle = float(stats.findtext("slowdown") or 1.0)
    level.cycles = int(stats.findtext("cycles") or 0)
    for position, space in enumerate(spaces):
        if kept[position] != "1":
            continue
        counts: dict[str, Any] = {field: _whole(values[position]) for field, values in columns.items()}
        # Energy is stated for one instance.
        energy_pj = float(energies[position]) * float(columns["instances"][position])
        level.data[space] = DataStats(**counts, energy_pj=energy_pj)
    return level


def _per_space(stats: ET.Element, tag: str, spaces: list[str]) -> list[str]:
    values = [item.text or "" for item in stats.findall(f"{tag}/PerDataSpace/item")]
    # Timeloop 4 has room for more data spaces than there are; the unused ones come last.
    if len(values) < len(spaces):
        raise KeyError(tag)
    return values[: len(spaces)]


def _whole(text: str) -> int:
    value = float(text)
    if not value.is_integer():
        # Averages over instances that do unequal work: only imperfect factors or sparsity make them.
        raise ValueError(f"{text} is no whole number")
    return int(text) if text.isdigit() else int(value)


def _from_text(data: dict[str, dict[str, float]], source: str) -> dict[str, DataStats]:
    found: dict[str, DataStats] = {}
    for space, numbers in data.items():
        try:
            counts: dict[str, Any] = {field: int(numbers[label]) for field, (_, label) in _FIELDS.items()}
            found[space] = DataStats(**counts, energy_pj=numbers["Energy (total)"])
        except KeyError as error:
            raise EngineError(Fault(f"{space} has no line {error}", source)) from error
    return found


def _check_total(energy: float, computes: int, parts: tuple[int, int], statistics: Statistics, source: str) -> None:
    """Refuse energies that do not add up to the total printed per compute, to half its last digit a part.

    ``parts``: levels, and energies that stand in pJ with two decimals: of networks (wires and links), and leakages.
    """
    printed = statistics.summary["fJ/Compute"] * computes / 1e3
    allowed = statistics.summary["rounding fJ"] * (1 + parts[0]) * computes / 1e3 + 1e-6 * printed + 0.01 * parts[1]
    if not math.isclose(energy, printed, rel_tol=0, abs_tol=allowed):
        raise EngineError(
            Fault(
                "energies of compute, storage and networks do not add up to the printed total; sparse actions cost "
                "energy here, which is not supported",
                source,
                value=energy,
                allowed=f"{printed:.2f} pJ",
            )
        )


def _text(path: Path) -> str:
    if not path.exists():
        raise EngineError(Fault("was not written", str(path)))
    text = read_text(path)
    if not text.strip():
        raise EngineError(Fault("is empty", str(path)))
    return text
