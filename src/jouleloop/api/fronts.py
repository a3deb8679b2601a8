"""Fronts of energy and cycles by name: what the command ``front`` is built on."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import jouleloop
from jouleloop.api.hardware import Architecture
from jouleloop.api.layers import LayerLike, SweepLike, network_of, problem_of
from jouleloop.api.results import Result
from jouleloop.api.rows import frame
from jouleloop.api.run import ArchitectureLike, architecture_of, options_of
from jouleloop.engines.native import NativeEngine
from jouleloop.engines.protocol import SearchOptions
from jouleloop.errors import Fault, InputError, MappingError, gather
from jouleloop.exploration.front import LayerFront, knee_of, layer_front
from jouleloop.exploration.sums import Summand, Sums, add_fronts
from jouleloop.names import safe_name
from jouleloop.units import energies_in, renamed
from jouleloop.workload.problem import Problem

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

#: Version of the plain form of a front; it changes when a key changes its name or meaning.
SCHEMA = "jouleloop/front/1"


@dataclass(frozen=True)
class Run:
    """A layer of a network: its label, how often it runs, and its own front."""

    label: str
    problem: Problem
    count: int
    front: LayerFront


@dataclass(frozen=True)
class Front:
    """All mappings of a layer, or of a network's layers, that no other beats in energy and cycles.

    Attributes
    ----------
    architecture, name
        What was mapped onto what.
    layers
        The layers with their own fronts, in the network's order; one for a layer.
    sums
        The front: a sum of one mapping a run of each layer; None where a layer has no mapping.
    within
        Share of its energy by which a point of the network may exceed one that was left out.
    """

    architecture: Architecture
    name: str
    layers: tuple[Run, ...]
    sums: Sums | None = field(repr=False)
    within: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether every layer has a mapping."""
        return self.sums is not None

    @property
    def complete(self) -> bool:
        """Whether every mapping costs at least as much energy and as many cycles as one of the points, proven."""
        return all(layer.front.complete for layer in self.layers)

    @property
    def missing(self) -> tuple[str, ...]:
        """What is known of the mappings that no point is compared with, by layer."""
        several = len(self.layers) > 1
        return tuple(
            f"{layer.label}: {layer.front.missing}" if several else layer.front.missing
            for layer in self.layers
            if layer.front.missing
        )

    @property
    def unit(self) -> str:
        """What energies are in: ``pJ``, or ``words`` where accesses are counted instead."""
        return self.architecture.target(self.layers[0].problem).costs.unit

    @property
    def energies_pj(self) -> list[float]:
        """Energy of every point [pJ, or `unit`], rising."""
        return list(map(float, self._sums.energies_pj))

    @property
    def cycles(self) -> list[int]:
        """Cycles of every point, falling; layers run one after another."""
        return list(map(int, self._sums.cycles))

    @cached_property
    def knee(self) -> int | None:
        """The place of the point farthest below the line between the ends; None where there is none."""
        return knee_of(self.cycles, self.energies_pj)

    def results(self, place: int) -> list[tuple[int, Result]]:
        """Return the mappings of the point at ``place``: how many runs of a layer have it, and what it costs."""
        return [
            (runs, self._result(layer, own))
            for layer, chosen in zip(self.layers, self._sums.choice(place), strict=True)
            for own, runs in sorted(chosen.items())
        ]

    def table(self) -> "pd.DataFrame":
        """Return a row a point as docs/tables.md has it; where accesses are counted, ``pj`` is ``access_words``."""
        macs = sum(layer.count * layer.problem.macs for layer in self.layers)
        cycles = np.array(self.cycles)
        rows = {
            "cycles": cycles,
            "total_pj": self.energies_pj,
            "energy_delay_pj_cycles": self._sums.energies_pj * cycles,
            "utilization": macs / self.architecture.mac_units / cycles,
            "knee": [place == self.knee for place in range(len(cycles))],
            "mappings": [self._mappings(place) for place in range(len(cycles))],
        }
        return frame(rows, self.unit)

    def layer_tables(self) -> "dict[str, pd.DataFrame]":
        """Return the mappings of each layer's own front by a caption; none of a layer, whose table has them."""
        if len(self.layers) == 1 and self.layers[0].count == 1:
            return {}
        rows = [
            {"layer": layer.label, "runs": layer.count, "cycles": one.cycles, "total_pj": one.energy_pj,
             "mapping": one.loop_nest.compact()}
            for layer in self.layers
            for one in (self._result(layer, place) for place, _ in enumerate(layer.front.points))
        ]  # fmt: skip
        return {"The mappings of each layer, by their cycles": frame(rows, self.unit)}

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw energy over cycles, the knee marked; return the axes."""
        from jouleloop.exploration.draw import draw_front  # noqa: PLC0415 - matplotlib is slow to import

        proof = "no mapping lies below" if self.complete else "not proven complete"
        title = f"{self.name} on {self.architecture.name}: {len(self.cycles)} optima, {proof}"
        return draw_front(self.cycles, self.energies_pj, self.knee, title, self.unit, ax)

    def write_mappings(self, folder: Path) -> int:
        """Write ``<cycles>.yaml`` and ``.txt`` for every point of every layer, of a network in a folder a layer.

        YAML is what timeloop-model reads; a mapping that it cannot read has the loop nest alone. Returns how many
        mappings were written.
        """
        from jouleloop.files import write_text  # noqa: PLC0415

        written = 0
        for layer in self.layers:
            own = folder / safe_name(layer.label) if len(self.layers) > 1 else folder
            for place, _ in enumerate(layer.front.points):
                result = self._result(layer, place)
                head = f"# {layer.label} on {self.architecture.name}: {result.energy_pj} {self.unit}, "
                head += f"{result.cycles} cycles\n"
                write_text(own / f"{result.cycles}.txt", head + result.nest())
                try:
                    write_text(own / f"{result.cycles}.yaml", head + result.to_timeloop())
                except MappingError:
                    continue
                finally:
                    written += 1
        return written

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, as ``--json`` prints it: every layer's own front with its mappings, and all points.

        A point's ``choice`` lists, by layer, pairs of the layer's own point and how many runs have it.
        """
        data = {
            "schema": SCHEMA,
            "architecture": self.architecture.name,
            "name": self.name,
            "energy_table": self.architecture.target(self.layers[0].problem).costs.table,
            "complete": self.complete,
            "within": self.within,
            "missing": list(self.missing),
            "knee": self.knee if self.ok else None,
            "layers": [self._layer_dict(layer) for layer in self.layers],
            "points": [self._point_dict(place) for place in range(len(self.cycles))] if self.ok else [],
            "run": {"version": jouleloop.__version__},
        }
        with energies_in(self.unit):
            return dict(renamed(data))

    def _layer_dict(self, layer: Run) -> dict[str, Any]:
        results = [self._result(layer, place) for place, _ in enumerate(layer.front.points)]
        points = [
            {"total_pj": one.energy_pj, "cycles": one.cycles, "mapping": one.loop_nest.as_json()} for one in results
        ]
        return {"layer": layer.label, "runs": layer.count, "complete": layer.front.complete, "points": points}

    def _point_dict(self, place: int) -> dict[str, Any]:
        choice = [sorted(chosen.items()) for chosen in self._sums.choice(place)]
        return {"total_pj": self.energies_pj[place], "cycles": self.cycles[place], "choice": choice}

    def _mappings(self, place: int) -> str:
        """Return the mapping of a point in one line; of a network each layer's cycles, which name its mapping."""
        if len(self.layers) == 1 and self.layers[0].count == 1:
            return self._result(self.layers[0], place).loop_nest.compact()
        cells = []
        for layer, chosen in zip(self.layers, self._sums.choice(place), strict=True):
            cycles = [(runs, self._result(layer, own).cycles) for own, runs in sorted(chosen.items())]
            cells.append(f"{layer.label}: {' + '.join(f'{runs} x {one}' for runs, one in cycles)}")
        return "; ".join(cells)

    def _result(self, layer: Run, place: int) -> Result:
        return Result(self.architecture, layer.problem, layer.front.points[place])

    @property
    def _sums(self) -> Sums:
        if self.sums is None:
            raise MappingError(f"{self.name} on {self.architecture.name} has no front: {'; '.join(self.missing)}")
        return self.sums

    def __repr__(self) -> str:
        head = f"{self.name} on {self.architecture.name}"
        if not self.ok:
            return f"<Front {head}: none, {'; '.join(self.missing)}>"
        return f"<Front {head}: {len(self.cycles)} points, {'complete' if self.complete else 'not proven complete'}>"


def front(
    architecture: ArchitectureLike,
    layer: LayerLike | None = None,
    *,
    network: SweepLike | None = None,
    constraints: str | Path | None = None,
    within: float = 0.0,
    budget: int | None = None,
    seconds: float | None = None,
) -> Front:
    """Return all mappings of a layer, or of a network, that no other beats in energy and cycles, proven complete.

    Parameters
    ----------
    architecture
        A name, a path, or an `Architecture`.
    layer
        As in `search`.
    network
        Instead of a layer: a network's name, the path of its file, its content as data, or a list of layers. Layers
        run one after another, so that energies and cycles add up.
    constraints
        ``full``, ``arch-only``, ``none``, or the path of a constraints file; as the architecture has it without it.
    within
        Share of its energy by which a point of a network may exceed one that is left out: 1e-4 makes long fronts short.
    budget, seconds
        Limits of each search; where one stops, the front is not proven complete.

    Raises
    ------
    InputError
        Where a name is unknown or a file is wrong.
    """
    (name, runs), options, _ = gather(
        lambda: runs_of(layer, network), lambda: options_of("energy", budget, seconds), lambda: check_share(within)
    )
    hardware = architecture_of(architecture, None if layer is None else runs[0][1], constraints)
    return front_told(hardware, name, runs, NativeEngine(), options, within)


def check_share(within: object) -> None:
    """Raise `InputError` where a share is none that a front may be short by."""
    if not isinstance(within, (int, float)) or not 0 <= within < 1:
        raise InputError(Fault("must be a share", "within", value=within, allowed="from 0 to below 1"))


def runs_of(
    layer: LayerLike | None, network: SweepLike | None, variables: Mapping[str, str] | None = None
) -> tuple[str, list[tuple[str, Problem, int]]]:
    """Return the name of a layer or network, and of each layer its label, problem and number of runs."""
    if (layer is None) == (network is None):
        raise InputError(Fault("give a layer or a network, one of both", "layer", allowed="layer or network"))
    if network is None:
        problem = problem_of(layer, variables)
        return problem.name, [(problem.name, problem, 1)]
    found = network_of(network)
    return found.name, [(point.layer.label, point.layer.problem(), point.count) for point in found.points]


def front_told(
    hardware: Architecture,
    name: str,
    runs: Iterable[tuple[str, Problem, int]],
    engine: NativeEngine,
    options: SearchOptions,
    within: float = 0.0,
) -> Front:
    """Return the front of some layers, those of one shape searched once; see `front`."""
    known: dict[Problem, LayerFront] = {}
    layers = []
    for label, problem, count in runs:
        same = replace(problem, name="")
        if same not in known:
            known[same] = layer_front(engine, problem, hardware.target(problem), options)
        layers.append(Run(label, problem, count, known[same]))
    mapped = all(layer.front.points for layer in layers)
    sums = add_fronts([_summand(layer) for layer in layers], within) if mapped else None
    return Front(hardware, name, tuple(layers), sums, within)


def _summand(layer: Run) -> Summand:
    counted: Sequence[Any] = [point.evaluation for point in layer.front.points]
    return Summand(
        np.array([one.energy_pj for one in counted]), np.array([one.cycles for one in counted], np.int64), layer.count
    )
