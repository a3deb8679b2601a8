"""The console of a run: long lists of files are cut, everything else stays, and the record is as it was."""

import logging
from types import SimpleNamespace
from typing import Any, cast

import pytest

from snakemake_logger_plugin_jouleloop import LogHandler, short_reason

FILES = [f"results/{name}.csv" for name in "abcdefgh"]


class Format(logging.Formatter):
    """Writes what Snakemake's own format takes from a record."""

    def format(self, record: logging.LogRecord) -> str:
        shown = cast("Any", record)
        return f"{shown.msg}|{shown.reason}|{shown.output}" if hasattr(record, "reason") else str(shown.msg)


def written(record: logging.LogRecord, capsys: pytest.CaptureFixture[str], *, stdout: bool = False) -> str:
    handler = LogHandler(cast("Any", SimpleNamespace(stdout=stdout)), None)
    handler.setFormatter(Format())
    handler.handle(record)
    out, err = capsys.readouterr()
    assert (err if stdout else out) == ""
    return out if stdout else err


def record(message: str, **more: object) -> logging.LogRecord:
    found = logging.LogRecord("snakemake", logging.INFO, "", 0, message, None, None)
    found.__dict__.update(more)
    return found


def test_long_lists_are_cut_and_the_record_stays(capsys: pytest.CaptureFixture[str]) -> None:
    reason = f"Missing output files: {', '.join(FILES)}; Code has changed since last execution"
    one = record("Job 3", reason=reason, output=FILES, input=[])
    assert written(one, capsys) == (
        "Job 3|Missing output files: results/a.csv, results/b.csv, results/c.csv, and 5 more; "
        "Code has changed since last execution|['results/a.csv', 'results/b.csv', 'results/c.csv', 'and 5 more']\n"
    )
    assert cast("Any", one).reason == reason
    assert cast("Any", one).output == FILES


def test_four_names_and_plain_messages_stay_whole(capsys: pytest.CaptureFixture[str]) -> None:
    few = f"Updated input files: {', '.join(FILES[:4])}"
    assert short_reason(few) == few
    assert short_reason("Forced execution") == "Forced execution"
    assert written(record("Nothing to be done"), capsys, stdout=True) == "Nothing to be done\n"
    assert written(record(""), capsys) == ""
