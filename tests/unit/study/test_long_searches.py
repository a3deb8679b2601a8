"""A search that takes long says where it stands; one that is asked to stop leaves what was found before."""

import io
import time
from pathlib import Path

import pytest

from jouleloop.api.hardware import Architecture
from jouleloop.api.layers import sweeps_of
from jouleloop.api.run import jobs_of
from jouleloop.engines.protocol import SearchOptions
from jouleloop.model.arrays import Records
from jouleloop.optimum.limit import INTERRUPT, Limit, Progress, Watch
from jouleloop.study.compute import Job, SearchInterrupted, run_chunk
from jouleloop.study.progress import long_searches
from jouleloop.study.store import ResultStore
from jouleloop.workload.sizes import parse_layer

LAYERS = ["fc:32x16", "fc:48x32", "fc:64x32"]


def job() -> Job:
    return jobs_of(sweeps_of(LAYERS), [Architecture.read("simba")], "native", SearchOptions())["simba"]


def test_a_long_search_is_told_of_first_and_then_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    stream = io.StringIO()
    tell = long_searches("0007", stream)
    watch = Watch(Limit(), tell)
    watch.subject = "fc:8x8"

    def at(seconds: float) -> int:
        now[0] = 100.0 + seconds
        tell(watch, lambda: Progress(watch.seconds, 120.0, 100.0, "pJ", 3, 8, 1))
        return len(stream.getvalue().splitlines())

    assert [at(seconds) for seconds in (0.2, 1.4, 1.6, 2.0, 15.0, 16.7, 20.0)] == [0, 0, 1, 1, 1, 2, 2]
    first = stream.getvalue().splitlines()[0]
    assert first == "0007: fc:8x8: best 120 pJ, at least 100, gap 20.00%; 3 of 8 parts left, 2 s"


def test_what_was_found_before_an_interrupt_is_stored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    searching = job()
    assert searching.watched(lambda _, where: str(where()) and None) is not None

    def stopped(self: Watch, counters: Records) -> str:
        del counters
        return INTERRUPT if self.subject == "fc:48x32" else ""

    monkeypatch.setattr(Watch, "stopped", stopped)
    store = ResultStore(tmp_path)
    layers = [parse_layer(text) for text in LAYERS]
    with pytest.raises(SearchInterrupted, match="interrupted; fc:48x32: best "):
        run_chunk(searching, layers, store)
    monkeypatch.undo()
    report = run_chunk(job(), layers, ResultStore(tmp_path))
    assert (report.cached, report.computed) == (1, 2)
