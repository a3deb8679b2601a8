"""The engine of this package: the model count for count as Timeloop's, and a search that proves its optimum."""

from jouleloop.energy.costs import EnergyCosts
from jouleloop.engines.protocol import PROVEN, SearchOptions, Target
from jouleloop.errors import InputError
from jouleloop.mapping.mapping import Mapping
from jouleloop.mapspace.space import MapSpace, build_mapspace
from jouleloop.model.evaluate import evaluate_mapping
from jouleloop.model.evaluation import Evaluation
from jouleloop.model.semantics import rules_of
from jouleloop.optimum.limit import Limit, Watch
from jouleloop.optimum.optimise import search_mapspace
from jouleloop.optimum.residual.optimise import search_residuals
from jouleloop.optimum.result import SearchResult
from jouleloop.workload.problem import Problem


class NativeEngine:
    """Evaluates and searches in this process; needs nothing but the package."""

    name = "native"
    #: Told how a search goes, and may stop it; None: nobody is.
    watch: Watch | None = None

    def evaluate(self, problem: Problem, target: Target, mapping: Mapping) -> Evaluation:
        """Return what ``mapping`` costs; raise `MappingError` where it is none of this problem and target."""
        return evaluate_mapping(problem, target.arch, target.costs, mapping, target.semantics)

    def search(self, problem: Problem, target: Target, options: SearchOptions = PROVEN) -> SearchResult:
        """Return the proven optimum of the mapspace; a layer that constraints do not fit is ``invalid``.

        The search is exact and takes no random decision, so the seed changes nothing.
        """
        if target.constraints.factors == "imperfect":
            return self._search_residuals(problem, target, options)
        try:
            rounds = rules_of(target.semantics).later
            space = build_mapspace(problem, target.arch, target.constraints, rounds=rounds)
            return self._search(space, target.costs, target.semantics, options)
        except InputError as error:
            reason = "; ".join(str(fault) for fault in error.faults)
            return SearchResult("invalid", reason, objective=options.objective)
        except MemoryError:
            reason = "not enough memory for the tables of this layer; constraints that fix factors make them smaller"
            return SearchResult("failed", reason, objective=options.objective)

    def _search(self, space: MapSpace, costs: EnergyCosts, semantics: str, options: SearchOptions) -> SearchResult:
        return search_mapspace(
            space,
            costs,
            objective=options.objective,
            semantics=semantics,
            budget=options.budget,
            watch=self._watched(space.problem, options),
        )

    def _watched(self, problem: Problem, options: SearchOptions) -> Watch:
        watch = self.watch or Watch(Limit(options.seconds))
        watch.subject = problem.name
        return watch

    def _search_residuals(self, problem: Problem, target: Target, options: SearchOptions) -> SearchResult:
        try:
            space = build_mapspace(problem, target.arch, target.constraints, imperfect=True)
            return search_residuals(
                space,
                target.costs,
                objective=options.objective,
                semantics=target.semantics,
                budget=options.budget,
                watch=self._watched(problem, options),
            )
        except InputError as error:
            reason = "; ".join(str(fault) for fault in error.faults)
            return SearchResult("invalid", reason, objective=options.objective)
