"""Field-by-field agreement of two evaluations of one mapping: tiles, accesses, energies, cycles, networks."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

Verdict = Literal["equal", "lower", "higher", "mixed", "none"]

#: Quantities in the order in which they are reported.
QUANTITIES = (
    "tiles",
    "instances",
    "reads",
    "fills",
    "updates",
    "reductions",
    "energy",
    "cycles",
    "throttle",
    "utilization",
    "networks",
)
#: Relative difference up to which numbers that were computed in another order are equal.
RELATIVE = 1e-9
#: Half the last of the two decimals to which Timeloop prints the words of networks.
_PRINTED = 0.005 + 1e-9

#: Fields of `DataStats` by quantity; all but the energy are whole numbers.
_DATA = {
    "tile_words": "tiles",
    "partition_words": "tiles",
    "instances": "instances",
    "clusters": "instances",
    "reads": "reads",
    "fills": "fills",
    "updates": "updates",
    "reductions": "reductions",
    "energy_pj": "energy",
}


@dataclass(frozen=True)
class Pair:
    """One field of two evaluations."""

    quantity: str
    """One of `QUANTITIES`."""
    field: str
    """Where it stands, such as ``weights_spad.Weights.reads``."""
    ours: float | None
    theirs: float | None
    """Its two values; None where one of the evaluations has no such field."""
    tolerance: float = 0.0
    """Absolute difference up to which they are equal."""

    @property
    def verdict(self) -> Verdict:
        """How ours stands to theirs; ``mixed`` where only one of them has the field."""
        if self.ours is None or self.theirs is None:
            return "mixed"
        if abs(self.ours - self.theirs) <= self.tolerance:
            return "equal"
        return "lower" if self.ours < self.theirs else "higher"

    @property
    def difference(self) -> float:
        """Relative difference (ours - theirs) / theirs; 0 where equal, infinite where theirs is 0 or missing."""
        if self.verdict == "equal":
            return 0.0
        if self.ours is None or self.theirs is None or self.theirs == 0:
            return math.inf
        return (self.ours - self.theirs) / abs(self.theirs)


def joint_verdict(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict on several fields: the one that all unequal ones share, else ``mixed``."""
    found = set(verdicts)
    if not found:
        return "none"
    unequal = found - {"equal"}
    if not unequal:
        return "equal"
    return unequal.pop() if len(unequal) == 1 else "mixed"


def compare_evaluations(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[Pair]:
    """Return every field of two evaluations of one mapping, given as `Evaluation.as_json` writes them.

    Counts must be equal as integers; energies, cycles that throttling makes, and shares to `RELATIVE`; the words of
    networks to half the last decimal that Timeloop prints. A level or data space that one evaluation lacks is a pair
    with one value missing; networks are left out where one evaluation reports none at all.
    """
    total = _close("energy", "total", ours["energy_pj"], theirs["energy_pj"])
    wires = sum(bool(stats.get("energy_pj")) for spaces in theirs["networks"].values() for stats in spaces.values())
    pairs = [
        # Timeloop prints energies of networks, of wires and of links, to two decimals.
        replace(total, tolerance=total.tolerance + 2 * _PRINTED * wires) if wires else total,
        _whole("cycles", "total", ours["cycles"], theirs["cycles"]),
        _close("utilization", "total", ours["utilization"], theirs["utilization"]),
    ]
    compute = str(theirs["compute_name"])
    pairs += [
        _whole("instances", f"{compute}.instances", ours["compute_instances"], theirs["compute_instances"]),
        _whole("instances", f"{compute}.computes", ours["computes"], theirs["computes"]),
        _whole("cycles", compute, ours["compute_cycles"], theirs["compute_cycles"]),
        _close("energy", compute, ours["compute_energy_pj"], theirs["compute_energy_pj"]),
    ]
    own, other = _by_name(ours["levels"]), _by_name(theirs["levels"])
    for name in _union(own, other):
        pairs += _level_pairs(name, own.get(name), other.get(name))
    # Timeloop 4 prints no networks where they cost no energy. Those that a design names stand under that name, which
    # tells no ends: their energies are compared in the total.
    for name in (name for name in theirs["networks"] if ours["networks"] and "<==>" in name):
        mine, real = ours["networks"].get(name, {}), theirs["networks"].get(name, {})
        for space in _union(mine, real):
            pairs += _network_pairs(f"{name}.{space}", mine.get(space), real.get(space))
    return pairs


def _level_pairs(name: str, ours: Any, theirs: Any) -> Iterator[Pair]:
    if ours is None or theirs is None:
        # A level that only fans out keeps nothing; whether it is listed is no difference.
        if (ours or theirs)["data"]:
            yield Pair("tiles", name, None if ours is None else 1.0, None if theirs is None else 1.0)
        return
    yield _whole("cycles", name, ours["cycles"], theirs["cycles"])
    yield _close("throttle", name, ours["throttle"], theirs["throttle"])
    for space in _union(ours["data"], theirs["data"]):
        mine, real = ours["data"].get(space), theirs["data"].get(space)
        for field, quantity in _DATA.items():
            where = f"{name}.{space}.{field}"
            a, b = None if mine is None else mine[field], None if real is None else real[field]
            yield _close(quantity, where, a, b) if quantity == "energy" else _whole(quantity, where, a, b)


def _network_pairs(where: str, ours: Any, theirs: Any) -> Iterator[Pair]:
    mine, real = _traffic(ours), _traffic(theirs)
    energies = [0.0 if stats is None else float(stats.get("energy_pj", 0.0)) for stats in (ours, theirs)]
    if any(energies):
        tolerance = 2 * _PRINTED + RELATIVE * max(energies)
        yield Pair("energy", f"{where}.energy_pj", energies[0], energies[1], tolerance)
    for field in _union(mine, real):
        yield Pair("networks", f"{where}.{field}", mine.get(field, 0.0), real.get(field, 0.0), _PRINTED)


def _traffic(stats: Any) -> dict[str, float]:
    """Return the words of each group of transfers by its factors; groups without words do not count."""
    if stats is None:
        return {}
    if stats.get("kind") == "multicast":
        return {}  # Timeloop tells their sum alone
    found = {"reductions": float(stats["reductions"])}
    if stats.get("kind") == "tree":
        return found
    found["link_transfers"] = float(stats["link_transfers"])
    for multicast, scatter, words in stats["ingress"]:
        key = f"multicast {multicast} scatter {scatter}"
        found[key] = found.get(key, 0.0) + float(words)
    return {field: words for field, words in found.items() if words}


def _whole(quantity: str, field: str, ours: float | None, theirs: float | None) -> Pair:
    return Pair(quantity, field, ours, theirs)


def _close(quantity: str, field: str, ours: float | None, theirs: float | None) -> Pair:
    largest = max(abs(ours or 0.0), abs(theirs or 0.0))
    return Pair(quantity, field, ours, theirs, RELATIVE * largest)


def _by_name(levels: Iterable[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    return {str(level["name"]): level for level in levels}


def _union(first: Iterable[str], second: Iterable[str]) -> list[str]:
    return list(dict.fromkeys([*first, *second]))
