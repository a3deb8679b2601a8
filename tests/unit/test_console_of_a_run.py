"""The console of a run: long lists of files and frames of errors are cut, everything else stays as it was."""

import logging
import traceback
from types import SimpleNamespace
from typing import Any, cast

import pytest

from jouleloop.files import read_yaml
from snakemake_logger_plugin_jouleloop import LogHandler, short_error, short_reason

FILES = [f"results/{name}.csv" for name in "abcdefgh"]


class Format(logging.Formatter):
    """Writes what Snakemake's own format takes from a record."""

    def format(self, record: logging.LogRecord) -> str:
        shown = cast("Any", record)
        return f"{shown.msg}|{shown.reason}|{shown.output}" if hasattr(record, "reason") else str(shown.msg)


def written(
    record: logging.LogRecord, capsys: pytest.CaptureFixture[str], *, stdout: bool = False, verbose: bool = False
) -> str:
    handler = LogHandler(cast("Any", SimpleNamespace(stdout=stdout, verbose=verbose)), None)
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


def raised(name: str) -> str:
    """Return the traceback of a file that is not there, read by a function of this name, as Snakemake prints it."""
    space: dict[str, Any] = {}
    exec(f"def {name}(path):\n    open(path)", space)
    with pytest.raises(FileNotFoundError) as caught:
        space[name]("/nope.yaml")
    return "\n".join(traceback.format_exception(caught.value))


def error(message: str) -> logging.LogRecord:
    return logging.LogRecord("snakemake", logging.ERROR, "", 0, message, None, None)


def test_an_error_of_snakemakes_own_is_one_line_unless_all_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    text = raised("load_configfile")
    said = "FileNotFoundError: [Errno 2] No such file or directory: '/nope.yaml'"
    assert written(error(text), capsys) == f"error: --configfile: {said} (snakemake --verbose shows where)\n"
    assert written(error(raised("other")), capsys) == f"error: {said} (snakemake --verbose shows where)\n"
    assert written(error(text), capsys, verbose=True) == f"{text}\n"


def test_faults_of_a_configuration_stand_alone() -> None:
    frames = '  File "common.smk", line 53, in <module>\n  File "common.smk", line 16, in checked'
    faults = "error: config: engine: unknown choice\nerror: config: seed: no number"
    assert short_error(f'WorkflowError in file "common.smk", line 16:\n{faults}\n{frames}') == faults
    no_text = "UnicodeDecodeError in file \"Snakefile\", line 6:\n'utf-8' codec can't decode byte 0xff"
    assert short_error(f"{no_text}\n{frames}") == f"error: {no_text}".replace("\n", " ")


def test_a_fault_of_the_project_keeps_its_traceback() -> None:
    with pytest.raises(AttributeError) as caught:
        read_yaml(cast("Any", None))
    text = "\n".join(traceback.format_exception(caught.value))
    assert short_error(text) == text
    other = 'KeyError in file "map.smk", line 3:\n\'arch\'\n  File "map.smk", line 3, in <module>'
    assert short_error(other) == other
