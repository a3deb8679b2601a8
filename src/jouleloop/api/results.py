"""The answer for one layer on one architecture: what a mapping costs, where the energy goes, what is proven."""

from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

import jouleloop
from jouleloop.api.hardware import Architecture
from jouleloop.api.rows import breakdown_rows, energy_rows, frame, html_table
from jouleloop.errors import InputError, MappingError, unknown
from jouleloop.mapping.formats import to_timeloop_mapping
from jouleloop.mapping.mapping import Mapping
from jouleloop.mapping.nest import print_nest
from jouleloop.model.evaluation import Evaluation
from jouleloop.model.leakage import leakage_pj
from jouleloop.model.objective import OBJECTIVES
from jouleloop.optimum.result import SearchResult
from jouleloop.units import PJ, energies_in, renamed, said
from jouleloop.workload.problem import Problem

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from jouleloop.optimum.limit import Watch

#: Version of the plain form of a result; it changes when a key changes its name or meaning.
SCHEMA = "jouleloop/result/1"
#: Pictures of a result.
PLOTS = ("breakdown", "mapping")


@dataclass(frozen=True)
class Result:
    """One layer on one architecture.

    Attributes
    ----------
    architecture, problem
        What was mapped, onto what.
    search
        What the search found and proves; None where the mapping was given.
    given
        The mapping that was given; None where it was searched.
    counted
        What the given mapping costs.
    residuals
        How loops that end early were counted: as ``timeloop`` does, or ``exact``.
    """

    architecture: Architecture
    problem: Problem
    search: SearchResult | None = None
    given: Mapping | None = None
    counted: Evaluation | None = field(default=None, repr=False)
    engine: str = "native"
    residuals: str = "timeloop"

    @property
    def mapping(self) -> Mapping | None:
        """The loop nest; None where there is none."""
        return self.given if self.search is None else self.search.mapping

    @property
    def evaluation(self) -> Evaluation | None:
        """Accesses, energy and cycles by level; None where there is no mapping."""
        return self.counted if self.search is None else self.search.evaluation

    @property
    def ok(self) -> bool:
        """Whether there is a mapping."""
        return self.evaluation is not None

    @property
    def status(self) -> str:
        """``ok``, ``no_mapping``, ``invalid`` or ``failed``; see `reason`."""
        return "ok" if self.search is None else self.search.status

    @property
    def reason(self) -> str:
        """Why there is no mapping."""
        return "" if self.search is None else self.search.reason

    @property
    def unit(self) -> str:
        """What all energies are in: ``pJ``, or ``words`` where accesses are counted instead."""
        return self.architecture.target(self.problem).costs.unit

    @property
    def energy_pj(self) -> float:
        """Energy of the whole layer [pJ, or `unit`]."""
        return self.counts.energy_pj

    @property
    def data_energy_pj(self) -> float:
        """Energy of all storage accesses [pJ, or `unit`]."""
        return self.counts.data_energy_pj

    @property
    def cycles(self) -> int:
        """Cycles of the whole layer."""
        return self.counts.cycles

    @property
    def utilization(self) -> float:
        """Share of the multiply-accumulate units that work, over all cycles."""
        return self.counts.utilization

    @property
    def optimal(self) -> bool:
        """Whether no mapping of the mapspace is better, proven."""
        return self.search is not None and self.search.optimal

    @property
    def lower_bound(self) -> float | None:
        """No mapping of the mapspace is below this, in the unit of the objective; None where nothing was searched."""
        return None if self.search is None else self.search.lower_bound

    @property
    def gap(self) -> float | None:
        """How far the result can at most be above the optimum, as a share; None where nothing was searched."""
        if self.search is None or self.evaluation is None or not self.search.lower_bound:
            return None
        value = OBJECTIVES[self.search.objective[0]].value(self.evaluation)
        return max(0.0, value / self.search.lower_bound - 1)

    @property
    def counts(self) -> Evaluation:
        """The `evaluation`; raises `MappingError` where there is no mapping."""
        if self.evaluation is None:
            raise MappingError(f"{self.problem.name} on {self.architecture.name} has no mapping: {self.reason}")
        return self.evaluation

    def nest(self) -> str:
        """Return the loop nest as Timeloop prints it."""
        return print_nest(self.loop_nest, self.problem, self.architecture.targets.arch)

    def breakdown(self) -> "pd.DataFrame":
        """Return a row a level and data space: energy [pJ] of all instances, words and accesses of one instance.

        Where accesses are counted the column is called ``energy_access_words``.
        """
        return frame(breakdown_rows(self.counts), self.unit)

    def to_timeloop(self) -> str:
        """Return the mapping as YAML that ``timeloop-model`` reads."""
        import yaml  # noqa: PLC0415

        directives = to_timeloop_mapping(self.loop_nest, self.problem, self.architecture.targets.arch)
        return yaml.safe_dump({"mapping": directives}, sort_keys=False, default_flow_style=None, width=120)

    def timeloop_input(self) -> str:
        """Return architecture, energies, problem, constraints and mapper of this search as one Timeloop file."""
        from jouleloop.study.specs import timeloop_input  # noqa: PLC0415 - seldom needed

        return timeloop_input(self.architecture.targets, self.problem)

    def certificate(self, watch: "Watch | None" = None) -> dict[str, Any]:
        """Return the proof of the optimum as plain data, which ``jouleloop check`` verifies with other code.

        ``watch`` is told how it goes, and may stop it: then `KeyboardInterrupt` is raised.
        """
        from jouleloop.engines.native import mapspace_of  # noqa: PLC0415 - loads the kernels
        from jouleloop.optimum.certificate import certify  # noqa: PLC0415 - as above

        if self.search is None:
            raise MappingError("a mapping that was given proves no optimum: there is no certificate")
        target = self.architecture.target(self.problem)
        space = mapspace_of(self.problem, target)
        return certify(space, target.constraints, target.costs, self.search, target.semantics, watch)

    def plot(self, what: "str | Axes" = "breakdown", ax: "Axes | None" = None) -> "Axes":
        """Draw the energy by level (``breakdown``) or the loop nest (``mapping``); return the axes.

        ``breakdown`` is energy [pJ, or `unit`] split by data space; axes in the place of ``what`` mean it too. For a
        file: ``result.plot("mapping").figure.savefig("mapping.svg")``.
        """
        kind, axes = (what, ax) if isinstance(what, str) else ("breakdown", what)
        if kind not in PLOTS:
            raise InputError(unknown(kind, PLOTS, "picture", field="what"))
        counts = self.counts  # without a mapping there is nothing to draw
        from jouleloop.api.plot import plot_breakdown, plot_mapping  # noqa: PLC0415 - matplotlib is slow to import

        title = f"{self.problem.name} on {self.architecture.name}: {self.energy_pj:,.0f} {self.unit}"
        if kind == "breakdown":
            return plot_breakdown(breakdown_rows(counts), title, self.unit, axes)
        spaces = [space.name for space in self.problem.data_spaces]
        return plot_mapping(self.loop_nest.levels, counts, spaces, title, axes)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, as ``--json`` prints it; what varies from run to run stands under ``run``."""
        target = self.architecture.target(self.problem)
        data: dict[str, Any] = {
            "schema": SCHEMA,
            "architecture": self.architecture.name,
            "energy_table": target.costs.table,
            "estimator": target.costs.estimator,
            "area_um2": target.costs.area_um2,
            "areas": target.costs.areas(target.arch),
            "energies": energy_rows(target),
            "semantics": target.semantics,
            "problem": {"name": self.problem.name, **self.problem.as_dict()},
        }
        run: dict[str, Any] = {"version": jouleloop.__version__}
        if self.search is None:
            data["residuals"] = self.residuals
            data["mapping"] = None if self.given is None else self.given.as_json()
            data["evaluation"] = None if self.counted is None else self.counted.as_json()
        else:
            found = self.search.as_json()
            run["seconds"] = found.pop("seconds")
            data |= {**found, "gap": self.gap}
        if self.unit == PJ:
            leaks = self.evaluation is not None and self.engine == "native"
            data["leakage_pj"] = leakage_pj(target.costs, self.counts) if leaks else {}
        with energies_in(self.unit):
            return {**renamed(data), "run": run}

    @property
    def loop_nest(self) -> Mapping:
        """The `mapping`; raises `MappingError` where there is none."""
        if self.mapping is None:
            raise MappingError(f"{self.problem.name} on {self.architecture.name} has no mapping: {self.reason}")
        return self.mapping

    def __repr__(self) -> str:
        head = f"{self.problem.name} on {self.architecture.name}"
        if self.evaluation is None:
            return f"<Result {head}: {self.status}, {self.reason}>"
        proven = ", proven optimal" if self.optimal else ""
        return f"<Result {head}: {self.energy_pj:,.0f} {self.unit}, {self.cycles:,} cycles{proven}>"

    def _repr_html_(self) -> str:
        head = f"<b>{escape(self.problem.name)}</b> on <b>{escape(self.architecture.name)}</b>"
        if self.evaluation is None:
            return f"<p>{head}: {escape(self.status)}, {escape(self.reason)}</p>"
        proof = "" if self.search is None else f"; {'proven optimal' if self.optimal else 'not proven optimal'}"
        totals = f"{self.energy_pj:,.2f} {self.unit}, {self.cycles:,} cycles, utilization {self.utilization:.3f}{proof}"
        rows = [
            (
                *(row["level"], row["data_space"], f"{row['energy_pj']:,.2f}", f"{row['share']:.1%}"),
                f"{row['reads']:,}" if "reads" in row else "",
            )
            for row in breakdown_rows(self.counts)
        ]
        with energies_in(self.unit):
            table = html_table(("level", "data space", said("energy [pJ]"), "share", "reads per instance"), rows)
        nest = (
            f"<details><summary>loop nest</summary><pre>{escape(self.nest())}</pre></details>" if self.mapping else ""
        )
        return f"<p>{head}: {totals}</p>{table}{nest}"
