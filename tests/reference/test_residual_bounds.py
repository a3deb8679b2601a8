"""The bounds of the search against stored runs of the real ``timeloop-model`` on mappings whose loops end early.

A mapspace that holds one mapping, or all whose loops leave as many passes as its own, has no bound above its energy.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from differential.imperfect import load_mapping, load_record
from differential.runs import read_records
from jouleloop.errors import InputError, MappingError
from jouleloop.mapping.mapping import Mapping
from jouleloop.mapping.reuse import Reuse
from jouleloop.mapspace.space import FREE, FactorSlot, MapSpace
from jouleloop.model.evaluate import evaluate_mapping
from jouleloop.optimum.arrays import new_counters
from jouleloop.optimum.driver import Task
from jouleloop.optimum.residual.optimise import ImperfectKernel
from jouleloop.workload.problem import Problem

FOLDER = Path(__file__).parent / "imperfect_runs"
FILES = sorted(FOLDER.glob("*.jsonl.xz"))
#: Those that take more than a second, by whether all of as many passes are looked at.
LONG = {True: ("arrays.jsonl", "further.jsonl", "windows.jsonl"), False: ("further.jsonl",)}
#: Runs of which each takes seconds.
LONG_RUNS = ("arrays-53", "axes-257", "general-96", "halos-545", "halos-946", "windows-113", "windows-154")


def around(mapping: Mapping, problem: Problem, arch, *, wide: bool) -> MapSpace | None:
    """Return the mapspace of a mapping; ``wide``: of all whose temporal loops leave as many passes.

    None where a loop is longer than what is left to it, which no search does.
    """
    dims = problem.shape.dimensions
    passes = dict(problem.bound)
    zeros = (0,) * len(dims)
    temporal, spatial = [], []
    for level in reversed(mapping.levels):
        ends = {d: end for d, end, _ in level.spatial}
        if any(passes[d] < 2 for d in ends):
            return None
        passes |= {d: -(-passes[d] // end) for d, end in ends.items()}
        fixed = tuple(ends.get(d, 1) for d in dims)
        spatial.append(FactorSlot(fixed, fixed, fixed, zeros) if ends else None)
        ends = dict(level.temporal)
        if any(end > passes[d] for d, end in ends.items()):
            return None
        left = {d: -(-passes[d] // ends.get(d, 1)) for d in dims}
        low = tuple(-(-passes[d] // left[d]) for d in dims)
        high = tuple((passes[d] - 1) // (left[d] - 1) if left[d] > 1 else passes[d] for d in dims)
        fixed = tuple(ends.get(d, 1) for d in dims)
        temporal.append(
            FactorSlot((FREE,) * len(dims), high, low, zeros) if wide else FactorSlot(fixed, fixed, fixed, zeros)
        )
        passes = left
    keep = np.array([[space.name in level.keep for space in problem.data_spaces] for level in mapping.levels[::-1]])
    columns = tuple(keep[None, :, v] for v in range(keep.shape[1]))
    return MapSpace(problem, arch, tuple(temporal), tuple(spatial), columns, (Reuse(),) * len(temporal))


WORDS = {False: "one", True: "all of as many passes"}


@pytest.mark.parametrize(
    ("path", "wide"),
    [
        pytest.param(path, wide, id=f"{path.name}-{words}", marks=[pytest.mark.slow] * (path.stem in LONG[wide]))
        for path in FILES
        for wide, words in WORDS.items()
    ],
)
def test_no_bound_is_above_what_timeloop_counts(path: Path, wide: bool) -> None:
    shares = shares_of([one for one in read_records(path) if not is_long(one)], wide=wide)
    assert len(shares) >= 40
    # The bound of a part, before its outer ends are known, says something.
    assert np.median(shares) >= 0.4


@pytest.mark.slow
@pytest.mark.parametrize("wide", WORDS, ids=WORDS.get)
def test_no_bound_is_above_what_timeloop_counts_of_long_runs(wide: bool) -> None:
    records = [one for path in FILES for one in read_records(path) if is_long(one)]
    assert len(records) == len(LONG_RUNS)
    assert len(shares_of(records, wide=wide)) >= len(records) // 2


def is_long(record: dict[str, Any]) -> bool:
    return f"{record['kind']}-{record['seed']}" in LONG_RUNS


def shares_of(records: list[dict[str, Any]], *, wide: bool) -> list[float]:
    """Assert that no bound is above what was counted, nor leaves its mapping out; return the bounds' shares of it."""
    wrong, shares = [], []
    for record in records:
        problem, target = load_record(record)
        mapping = load_mapping(record, problem, target)
        space = around(mapping, problem, target.arch, wide=wide)
        if space is None:
            continue
        try:
            search = ImperfectKernel(Task(space, target.costs, semantics=target.semantics), new_counters())
        except InputError:
            continue
        search.fill_parts()
        bound_pj = search.queue.least
        # No bound on the way leaves it out: of what is as good, something is found.
        real_pj = record["real"]["energy_pj"]
        best, search.queue.value = search.best, real_pj * (1 + 1e-9) + 1e-9
        for n in range(len(search.parts)):
            assert not list(search.follow(n))
        try:
            evaluate_mapping(problem, target.arch, target.costs, mapping, target.semantics)
        except MappingError:
            # The run took a level for larger than it is.
            continue
        if not best.mark[0]["found"]:
            wrong.append((record["seed"], "left out", mapping.compact()))
        # Some designs cost nothing at all.
        shares.append((bound_pj + 1e-9) / (real_pj + 1e-9))
        if shares[-1] > 1 + 1e-9:
            wrong.append((record["seed"], shares[-1], mapping.compact()))
    assert wrong == []
    return shares
