"""The engine of this package: the model count for count as Timeloop's, and a search that proves its optimum."""

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


def mapspace_of(problem: Problem, target: Target) -> MapSpace:
    """Return the mapspace that is searched; raise `InputError` where the constraints do not fit the layer."""
    imperfect = target.constraints.factors == "imperfect"
    rounds = not imperfect and rules_of(target.semantics).rounds_factors
    return build_mapspace(problem, target.arch, target.constraints, imperfect=imperfect, rounds=rounds)


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
        run = search_residuals if target.constraints.factors == "imperfect" else search_mapspace
        try:
            space = mapspace_of(problem, target)
            watch = self._watched(problem, options)
            return run(
                space,
                target.costs,
                objective=options.objective,
                semantics=target.semantics,
                budget=options.budget,
                watch=watch,
                most_cycles=options.most_cycles,
            )
        except InputError as error:
            reason = "; ".join(str(fault) for fault in error.faults)
            return SearchResult("invalid", reason, objective=options.objective)
        except MemoryError:
            reason = "not enough memory for the tables of this layer; constraints that fix factors make them smaller"
            return SearchResult("failed", reason, objective=options.objective)

    def _watched(self, problem: Problem, options: SearchOptions) -> Watch:
        watch = self.watch or Watch(Limit(options.seconds))
        watch.subject = problem.name
        return watch
