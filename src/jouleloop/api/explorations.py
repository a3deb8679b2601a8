"""The best design of a space: what the command ``explore`` is built on."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import jouleloop
from jouleloop.api.fronts import runs_of
from jouleloop.api.hardware import Architecture
from jouleloop.api.rows import frame
from jouleloop.api.run import options_of
from jouleloop.engines.native import NativeEngine
from jouleloop.errors import Fault, InputError, JouleloopError, gather
from jouleloop.exploration.designs import Design
from jouleloop.exploration.explore import OBJECTIVES, Explorer, Family, Outcome
from jouleloop.exploration.prices import Prices
from jouleloop.exploration.space_file import SpaceFile, read_space
from jouleloop.optimum.limit import Limit, Watch, gap_of
from jouleloop.study.store import ResultStore
from jouleloop.units import energies_in, renamed
from jouleloop.workload.layer import CONV
from jouleloop.workload.problem import Problem, ProblemShape
from jouleloop.workload.variants import Variant, variant_label

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

#: Version of the plain form of an exploration; it changes when a key changes its name or meaning.
SCHEMA = "jouleloop/exploration/1"
#: What became of a design.
BEST, SEARCHED, DISCARDED, NO_MAPPING = "best", "searched", "discarded", "no_mapping"
OVER_BUDGET, INVALID, OPEN = "over_budget", "invalid", "open"
_UNIT = {"energy": "pJ", "delay": "cycles", "edp": "pJ x cycles", "front": "pJ x cycles"}


@dataclass(frozen=True)
class Exploration:
    """The best design of a space and what became of all others.

    Attributes
    ----------
    name, space
        The file's name and its keys.
    architecture
        The architecture that the designs change.
    variants
        All designs, by what they change.
    judged
        Places of the designs within the budget, which were searched or discarded, in the order of the outcome's.
    rejected
        Of all others, by place: what became of them and why.
    areas_um2
        Area by place [um2]; not a number where it is not known.
    """

    name: str
    space: SpaceFile
    architecture: Architecture
    variants: tuple[Variant, ...] = field(repr=False)
    judged: tuple[int, ...] = field(repr=False)
    rejected: Mapping[int, tuple[str, str]] = field(repr=False)
    areas_um2: np.typing.NDArray[np.float64] = field(repr=False)
    outcome: Outcome = field(repr=False)
    searches: int = 0

    @property
    def best(self) -> dict[str, Any] | None:
        """The attributes of the best design, of the front that of the least product; None where no design maps."""
        place = self.outcome.best
        return None if place is None else dict(self.variants[self.judged[place]])

    @property
    def value(self) -> float:
        """What the best design costs, in `unit`."""
        return self.outcome.value

    @property
    def unit(self) -> str:
        """Unit of what is minimised."""
        return _UNIT[self.space.objective]

    @property
    def lower_bound(self) -> float:
        """No design of the space within the budget costs less than this."""
        return self.outcome.lower_bound

    @property
    def optimal(self) -> bool:
        """Whether no design is better, or the front lacks none: proven."""
        return not self.outcome.stopped

    @property
    def gap(self) -> float | None:
        """How far the best design can at most be above the optimum, as a share."""
        return gap_of(self.value if self.best is not None else None, self.lower_bound)

    def best_architecture(self) -> Architecture:
        """Return the best design as an architecture; raise `InputError` where there is none."""
        if self.best is None:
            raise InputError(Fault("no design of the space maps all layers within the budget", self.name))
        return self.architecture.with_(self.best)

    @cached_property
    def fates(self) -> list[tuple[str, float, str]]:
        """What became of every design: status, what its value is not below, and why."""
        found: list[tuple[str, float, str]] = [(OPEN, self.lower_bound, "the exploration was stopped")]
        found *= len(self.variants)
        for place, (status, reason) in self.rejected.items():
            found[place] = (status, np.nan, reason)
        for family in self.outcome.families:
            status = DISCARDED if np.isfinite(family.bound) else NO_MAPPING
            text = f"{family.reason}: {self.described(family)}" if len(family.members) > 1 else family.reason
            for own in family.members:
                found[self.judged[own]] = (status, family.bound, text)
        for own, (energy_pj, cycles) in self.outcome.counted.items():
            value = {"energy": energy_pj, "delay": cycles}.get(self.space.objective, energy_pj * cycles)
            found[self.judged[own]] = (BEST if own == self.outcome.best else SEARCHED, value, "")
        return found

    def described(self, family: Family) -> str:
        """Return the ranges of the attributes of a family that is no single design."""
        texts = []
        for path, values in self.space.columns.items():
            have = {dict(self.variants[self.judged[own]])[path] for own in family.members}
            own = [value for value in values if value in have]
            if len(values) > 1:
                texts.append(f"{path}={own[0]}" if len(own) == 1 else f"{path}={own[0]} to {own[-1]}")
        return ", ".join(texts)

    def table(self) -> "pd.DataFrame":
        """Return a row a design: attributes, area, what became of it, and what its value is not below."""
        counted = {self.judged[own]: pair for own, pair in self.outcome.counted.items()}
        rows = [
            {
                **dict(variant),
                "area_um2": self.areas_um2[place],
                "fate": status,
                "total_pj": counted.get(place, (np.nan, 0))[0],
                "cycles": int(counted[place][1]) if place in counted else None,
                "value_at_least": bound if np.isfinite(bound) else np.nan,
                "reason": reason,
            }
            for place, (variant, (status, bound, reason)) in enumerate(zip(self.variants, self.fates, strict=True))
        ]
        return frame(rows, self.energy_unit).astype({"cycles": "Int64"})

    def front_table(self) -> "pd.DataFrame":
        """Return a row a point of the front of energy, cycles and area, of the objective ``front``."""
        rows = [
            {**dict(self.variants[self.judged[own]]), "area_um2": area, "total_pj": energy_pj, "cycles": cycles}
            for energy_pj, cycles, area, own in sorted(self.outcome.front)
        ]
        return frame(rows, self.energy_unit)

    def page_tables(self) -> "dict[str, pd.DataFrame]":
        """Return by captions the families that were discarded, with their reasons, and the front where one is asked."""
        import pandas as pd  # noqa: PLC0415 - slow to import

        front = {"Designs and mappings that no other beats in energy, delay and area": self.front_table()}
        families = pd.DataFrame(self.as_dict()["families"])
        return {**(front if self.outcome.front else {}), "Families of designs that were discarded": families}

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw what searched designs cost over their area, the best marked; of a front its points; return the axes."""
        from jouleloop.exploration.draw import draw_designs  # noqa: PLC0415 - matplotlib is slow to import

        title = f"{self.name}: {len(self.variants):,} designs, {'proven' if self.optimal else 'not proven'}"
        if self.space.objective == "front":
            points = [(float(cycles), energy_pj, area) for energy_pj, cycles, area, _ in sorted(self.outcome.front)]
            return draw_designs(points, None, "cycles", "pJ", title, ax)
        points = []
        best = None
        for place, (status, value, _) in enumerate(self.fates):
            if status in (BEST, SEARCHED):
                best = len(points) if status == BEST else best
                points.append((float(self.areas_um2[place]) / 1e6, value, 0.0))
        return draw_designs(points, best, "area [mm2]", self.unit, title, ax)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, as ``--json`` prints it: the best design, every discarded family with its reason."""
        families = [
            {"designs": len(one.members), "which": self.described(one), "reason": one.reason}
            | ({"value_at_least": one.bound} if np.isfinite(one.bound) else {})
            for one in self.outcome.families
        ]
        counts: dict[str, int] = {}
        for status, _, _ in self.fates:
            counts[status] = counts.get(status, 0) + 1
        place = self.outcome.best
        energy_pj, cycles = self.outcome.counted[place] if place is not None else (None, None)
        area = None if place is None else float(self.areas_um2[self.judged[place]])
        data = {
            "schema": SCHEMA,
            "name": self.name,
            "architecture": self.architecture.name,
            "objective": self.space.objective,
            "best": self.best,
            "value": self.value if place is not None else None,
            "total_pj": energy_pj,
            "cycles": cycles,
            "area_um2": area if area is None or np.isfinite(area) else None,
            "lower_bound": self.lower_bound if np.isfinite(self.lower_bound) else None,
            "optimal": self.optimal,
            "stopped": self.outcome.stopped,
            "designs": counts,
            "families": families,
            "front": [
                {"total_pj": e, "cycles": c, "area_um2": a, "design": dict(self.variants[self.judged[own]])}
                for e, c, a, own in sorted(self.outcome.front)
            ],
            "run": {"version": jouleloop.__version__, "searches": self.searches},
        }
        with energies_in(self.energy_unit):
            return dict(renamed(data))

    @property
    def energy_unit(self) -> str:
        """What energies are in: ``pJ``, or ``words`` where accesses are counted instead."""
        return self.architecture.targets.costs.unit

    def __repr__(self) -> str:
        if self.best is None:
            return f"<Exploration {self.name}: no design maps all layers within the budget>"
        proven = ", proven" if self.optimal else ""
        best = variant_label(tuple(self.best.items()))
        return f"<Exploration {self.name}: {best}, {self.value:,.0f} {self.unit}{proven}>"


def explore(
    space: str | Path | Mapping[str, Any],
    *,
    store: str | Path | None = None,
    seconds: float | None = None,
    progress: Callable[[str], None] | None = None,
    watch: Watch | None = None,
) -> Exploration:
    """Return the best design of a space, proven: every other one was searched, or discarded by a bound.

    Parameters
    ----------
    space
        The path of a space file, or its content as data (docs/exploration.md).
    store
        Folder of searches by content: what is there is not searched again. Without it nothing is kept.
    seconds
        After so many seconds the exploration stops with its best design and a proven bound.
    progress
        Called with a line of text that says where the exploration stands.
    watch
        May stop it.

    Raises
    ------
    InputError
        With all faults of the file; where an area is asked for and that of a component is not known.
    """
    name, (spec, runs, base) = read_space(space, lambda spec: _read(spec, space, seconds))
    own = watch or Watch(Limit(seconds))
    variants, coordinates = spec.variants()
    shapes = list(dict.fromkeys(problem.shape for _, problem, _ in runs))
    designs, rejected = _read_designs(base, variants, spec, shapes, own, progress)
    unread = len(variants) - len(designs) - len(rejected)
    areas = np.full(len(variants), np.nan)
    for place, design in designs.items():
        areas[place] = np.nan if design.area_um2 is None else design.area_um2
    rejected |= _over_budget(designs, spec, name)
    judged = [place for place in sorted(designs) if place not in rejected]
    engine = NativeEngine()
    engine.watch = Watch(within=own)
    prices = Prices(engine, OBJECTIVES[spec.objective], None if store is None else ResultStore(Path(store)))
    layers = _counted(runs, by_shape=spec.network is not None)

    def tell(explorer: Explorer) -> None:
        if progress is not None:
            progress(_standing(explorer, spec.objective))

    chosen = [designs[place] for place in judged]
    explorer = Explorer(chosen, coordinates[judged], layers, spec.objective, prices, tell, unread)
    outcome = explorer.run(own.asked)
    return Exploration(
        name, spec, base, tuple(variants), tuple(judged), rejected, areas, outcome, searches=prices.searched
    )


def _counted(runs: Iterable[tuple[str, Problem, int]], *, by_shape: bool) -> list[tuple[Problem, int]]:
    """Return each layer with how often it runs; those of a network that differ in their name alone are one."""
    counts: Counter[Problem] = Counter()
    for _, problem, count in runs:
        counts[replace(problem, name="") if by_shape else problem] += count
    return list(counts.items())


def _of_space(fault: Fault, space: object) -> Fault:
    """Return a fault of a parameter as one of the space's key of that name; a file's are its own."""
    key = fault.source or fault.field
    if key not in SpaceFile.model_fields:
        return fault
    return replace(fault, source=str(space) if isinstance(space, (str, Path)) else "space", field=key)


def _read(
    spec: SpaceFile, space: object, seconds: float | None
) -> tuple[SpaceFile, list[tuple[str, Problem, int]], Architecture]:
    """Return a space with its layers and its architecture."""
    runs: list[tuple[str, Problem, int]] = []

    def base() -> Architecture:
        return Architecture.read(
            spec.architecture,
            constraints=spec.constraints,
            energy=spec.energy or None,
            semantics=spec.semantics,
            factors=spec.factors,
            shape=runs[0][1].shape if runs and spec.layer is not None else CONV,
        )

    try:
        _, hardware, _ = gather(
            lambda: runs.extend(runs_of(spec.layer, spec.network)[1]), base, lambda: options_of("energy", None, seconds)
        )
    except InputError as error:
        raise InputError(_of_space(fault, space) for fault in error.faults) from error
    return spec, runs, hardware


def _read_designs(
    base: Architecture,
    variants: list[Variant],
    spec: SpaceFile,
    shapes: list[ProblemShape],
    watch: Watch,
    progress: Callable[[str], None] | None,
) -> tuple[dict[int, Design], dict[int, tuple[str, str]]]:
    """Return the designs by place, and why others are none, unless something stops it.

    Raises `InputError` where no design can be read.
    """
    found: dict[int, Design] = {}
    wrong: dict[int, tuple[str, str]] = {}
    first: JouleloopError | None = None
    for place, variant in enumerate(variants):
        if watch.asked():
            break
        try:
            read = base.with_(dict(variant)).targets
            targets = [read.for_shape(shape) for shape in shapes]
            others = {shape: one.constraints for shape, one in zip(shapes, targets, strict=True)}
            found[place] = Design(targets[0], variant, others)
            _ = found[place].structure  # made here, where something may stop it: thousands take seconds
        except JouleloopError as error:
            first = first or error
            wrong[place] = (INVALID, "; ".join(map(str, error.faults)))
        if progress is not None and place % 100 == 0:
            progress(f"{place:,} of {len(variants):,} designs read")
    if first is not None and not found:
        raise first
    needs = spec.budget.area_mm2 is not None or spec.objective == "front"
    for design in found.values() if needs else ():
        if design.area_um2 is None:
            costs, arch = design.target.costs, design.target.arch
            known = {row["component"] for row in costs.areas(arch)}
            lacking = [one for one in (*arch.level_names, arch.compute.name) if one not in known]
            text = "has no known area, which the budget or the front asks for"
            raise InputError([Fault(text, base.name, one, allowed="energies by interpolated") for one in lacking])
    return found, wrong


def _over_budget(designs: Mapping[int, Design], spec: SpaceFile, name: str) -> dict[int, tuple[str, str]]:
    """Return the designs that take more than the budget, by place, and what they take; some have to be left."""
    found: dict[int, tuple[str, str]] = {}
    for place, design in designs.items():
        area, held = (design.area_um2 or 0.0) / 1e6, design.capacity_bits / 8192
        if spec.budget.area_mm2 is not None and area > spec.budget.area_mm2:
            found[place] = (OVER_BUDGET, f"takes {area:.4f} mm2")
        elif spec.budget.capacity_kib is not None and held > spec.budget.capacity_kib:
            found[place] = (OVER_BUDGET, f"holds {held:.2f} KiB")
    if designs and len(found) == len(designs):
        raise InputError(Fault("every design takes more than the budget", name, "budget", value=found[min(found)][1]))
    return found


def _standing(explorer: Explorer, objective: str) -> str:
    outcome = explorer.outcome
    best = "no design yet" if outcome.best is None else f"best {outcome.value:,.0f} {_UNIT[objective]}"
    left = f"at least {explorer.lower_bound:,.0f}; {explorer.open:,} of {len(explorer.designs):,} designs left"
    return f"{best}, {left}, {outcome.nodes:,} families"
