"""Progress, usage and summary of a run: what is shown is what happened, and nothing shown can break a run."""

import io
import json
import logging
import time
from pathlib import Path

import pytest

from jouleloop.errors import InputError
from jouleloop.study.progress import RunProgress, chunk_progress, duration, run_progress
from jouleloop.study.runlog import LOG, Usage, current_run, log_to, logged, start_run, usages
from jouleloop.study.summary import (
    finish_run,
    read_summary,
    searches_of,
    stages,
    summarise,
    summary_text,
    write_summary,
)


def usage(stage: str, run: str, seconds: float = 2.0, memory: float = 100.0) -> Usage:
    return Usage(stage, run, seconds, seconds / 2, seconds / 4, memory)


def test_duration() -> None:
    assert [duration(s) for s in (-3, 0, 59.6, 61, 3600, 36_061)] == [
        "0:00",
        "0:00",
        "1:00",
        "1:01",
        "1:00:00",
        "10:01:01",
    ]


def test_rate_and_remaining_time() -> None:
    # 400 of 1000 are done, 200 of them searched in 50 s: 4 a second, so 600 need 150 s.
    text = str(RunProgress(done=400, total=1000, searched=200, seconds=50.0))
    assert text == "400 of 1,000 points (40 %), 4.0 points/s, about 2:30 left"
    assert str(RunProgress(done=400, total=1000, searched=200, seconds=-5.0)) == "400 of 1,000 points (40 %)"
    assert str(RunProgress(done=0, total=0, searched=0, seconds=1.0)) == "0 of 0 points (100 %)"


def test_progress_adds_chunks_of_this_run_and_finished_ones(tmp_path: Path) -> None:
    logs, finished = tmp_path / "logs", tmp_path / "map"
    finished.mkdir()
    chunks = {name: {"layers": 10, "options": "now"} for name in ("a-0", "a-1", "a-2", "a-3")}
    chunk_progress(logs, finished, "a-3")(9, 0)  # before the run: it has no name, so it counts for nobody
    start_run(logs, chunks)
    (finished / "a-0.json").write_text(json.dumps({"options": "now"}))
    (finished / "a-1.json").write_text(json.dumps({"options": "before an edit"}))
    advance = chunk_progress(logs, finished, "a-2")
    advance(3, 0)
    advance(0, 4)
    found = run_progress(logs, finished)
    assert (found.done, found.total, found.searched) == (10 + 7, 40, 4)


def test_progress_is_printed_now_and_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start_run(tmp_path, {"a-0": {"layers": 10, "options": "x"}})
    now = time.monotonic()
    monkeypatch.setattr("jouleloop.study.progress.time.monotonic", lambda: now)
    stream = io.StringIO()
    advance = chunk_progress(tmp_path, tmp_path / "map", "a-0", stream)
    advance(0, 1)
    assert stream.getvalue() == ""
    now += 16
    advance(0, 1)
    advance(0, 1)
    assert stream.getvalue().startswith("a-0: 2 of 10 points (20 %)")
    assert stream.getvalue().count("\n") == 1


def test_progress_that_cannot_be_written_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "progress").write_text("a file in the way")
    chunk_progress(tmp_path, tmp_path, "a-0")(1, 1)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"run": 1'])
def test_a_broken_note_is_no_run(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.json").write_text(text)
    assert current_run(tmp_path)["run"] == ""


def test_jobs_note_what_they_cost(tmp_path: Path) -> None:
    logs = tmp_path / "results/logs"
    run = start_run(logs, {})
    with logged(logs / "map_chunk/simba-0000.log"):
        sum(range(10**6))
    with logged(logs / "energies.log"):
        pass
    found = usages(logs, run)
    assert [entry.stage for entry in found] == ["energies", "map_chunk"]
    assert all(entry.cpu_seconds >= entry.start_cpu_seconds > 0 and entry.peak_memory_mb > 20 for entry in found)
    assert usages(logs, "another run") == []
    (logs / "old.usage.json").write_text('{"stage": "of an older layout"}')
    assert len(usages(logs, run)) == 2


def test_a_mistake_is_logged_and_ends_with_its_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended, logged(tmp_path / "logs/x.log"):
        raise InputError(["one fault", "another"])
    assert ended.value.code == 2
    assert capsys.readouterr().err == "error: one fault\nerror: another\n"
    assert "another" in (tmp_path / "logs/x.log").read_text()
    assert list((tmp_path / "logs").glob("*.usage.json")) == []


def test_a_log_that_cannot_be_written_is_a_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "logs").write_text("a file")
    with pytest.raises(SystemExit), logged(tmp_path / "logs/x.log"):
        raise AssertionError  # pragma: no cover - never reached
    assert "cannot be written" in capsys.readouterr().err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_a_log_without_room_loses_lines_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    with log_to(Path("/dev/full")):
        logging.getLogger("jouleloop").error("no room")
    assert "Traceback" not in capsys.readouterr().err
    assert LOG.handlers == []


def test_verbose_writes_a_line_a_layer(tmp_path: Path) -> None:
    for verbose in (False, True):
        path = tmp_path / f"{verbose}.log"
        with log_to(path, verbose=verbose):
            logging.getLogger("jouleloop.study").debug("a layer")
            logging.getLogger("jouleloop.study").info("a batch")
            logging.getLogger("fontTools").info("not ours")
        assert ("a layer" in path.read_text()) == verbose
        assert "a batch" in path.read_text()
        assert "not ours" not in path.read_text()
    assert LOG.handlers == []


def test_searches_of_earlier_runs_are_stored_now() -> None:
    chunks = [{"layers": 10, "searched": 4, "run": "now"}, {"layers": 7, "searched": 7, "run": "before"}]
    found = searches_of(chunks, "now")
    assert (found.searched, found.stored) == (4, 13)


def test_stages_add_up() -> None:
    found = stages([usage("map", "r", 10, 300), usage("map", "r", 20, 200), usage("fit", "r", 4)])
    assert [(s.stage, s.jobs, s.seconds, s.cpu_seconds, s.start_cpu_seconds, s.peak_memory_mb) for s in found] == [
        ("map", 2, 30, 15, 7.5, 300),
        ("fit", 1, 4, 2, 1, 100),
    ]


def test_summary_is_completed_and_keeps_its_time(tmp_path: Path) -> None:
    logs, path = tmp_path / "logs", tmp_path / "summary.json"
    run = start_run(logs, {})
    statuses = [("simba", "ok"), ("simba", "no_mapping"), ("eyeriss", "ok"), ("eyeriss", "failed")]
    timings = [("simba", f"fc:{n}x1", float(n)) for n in range(20)]
    summary = summarise(statuses, timings, searches_of([], run), run=run)
    assert [point.seconds for point in summary.slowest] == [float(n) for n in range(19, 9, -1)]
    write_summary(path, summary)
    assert read_summary(path) == summary
    before = path.stat().st_mtime_ns
    (logs / "test_growth.usage.json").write_text(json.dumps(usage("test_growth", run).__dict__))
    text = finish_run(path, logs)
    for words in ("simba: 1 ok, 1 no_mapping", "eyeriss: 1 ok, 1 failed", "test_growth", "slowest: fc:19x1 on simba"):
        assert words in text
    assert path.stat().st_mtime_ns == before
    assert [stage.stage for stage in read_summary(path).stages] == ["test_growth"]
    assert "no_mapping" not in summary_text(summarise([("simba", "ok")], [], searches_of([], run)))


def test_a_run_that_collected_nothing_leaves_the_summary(tmp_path: Path) -> None:
    path = tmp_path / "summary.json"
    write_summary(path, summarise([("simba", "ok")], [], searches_of([], "before"), run="before"))
    text = path.read_text()
    start_run(tmp_path / "logs", {})
    assert "simba" not in finish_run(path, tmp_path / "logs")
    assert path.read_text() == text
    path.unlink()
    assert "Summary of a run" in finish_run(path, tmp_path / "logs")
