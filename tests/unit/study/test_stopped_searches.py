"""A row that a limit of seconds stopped says so, and is searched again when the limit is raised."""

from dataclasses import replace
from pathlib import Path

from jouleloop.api.project import load_target
from jouleloop.engines.native import NativeEngine
from jouleloop.engines.protocol import PROVEN, SearchOptions, Target
from jouleloop.optimum.limit import SECONDS
from jouleloop.optimum.result import SearchResult
from jouleloop.study.compute import Job, run_chunk
from jouleloop.study.store import ResultStore
from jouleloop.workload.problem import Problem
from jouleloop.workload.sizes import parse_layer

LAYERS = [parse_layer("fc:12x8"), parse_layer("fc:8x8")]


class Stopped(NativeEngine):
    """Finds optima, and says of larger layers that a limit had stopped it."""

    def search(self, problem: Problem, target: Target, options: SearchOptions = PROVEN) -> SearchResult:
        found = super().search(problem, target)
        if options.seconds is None or options.seconds > 5 or problem.macs < 90:
            return found
        return replace(found, optimal=False, lower_bound=found.lower_bound / 2, stopped=SECONDS)


def test_stopped_rows_are_searched_again_under_a_higher_limit(tmp_path: Path) -> None:
    store = ResultStore(tmp_path / "store")
    target = load_target("eyeriss", semantics="timeloop-3.0.3")

    def run(seconds: float | None) -> tuple[int, list[str]]:
        job = Job(target, Stopped(), SearchOptions(seconds=seconds))
        report = run_chunk(job, LAYERS, store)
        records = dict(store.read(report.keys))
        assert len(records) == len(LAYERS)
        return report.computed, [records[key]["stopped"] for key in report.keys]

    assert run(1.0) == (2, ["seconds", ""])
    assert run(1.0) == (0, ["seconds", ""])
    assert run(0.5) == (0, ["seconds", ""])
    assert run(2.0) == (1, ["seconds", ""])
    assert run(None) == (1, ["", ""])
    assert run(1.0) == (0, ["", ""])
