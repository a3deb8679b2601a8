"""Calling Timeloop through pytimeloop's front end, where that is importable, in a process of its own.

The front end checks the specification, writes it out once more and calls the program of the same name on PATH. It is
called as ``python -m jouleloop.engines.timeloop.frontend PROGRAM FILE...`` so that a time limit can end it, and with
the version 0.3 classes, since the inputs are complete in that version.
"""

import importlib
import importlib.util
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from jouleloop.engines.timeloop.process import ProgramRun, ProgramWatch, run_program
from jouleloop.engines.timeloop.runners import Runner, run_executable
from jouleloop.errors import EngineError, Fault

PACKAGE = "pytimeloop"
#: Exit code by which the process says that the front end itself cannot be used.
_UNUSABLE = 97


def importable() -> bool:
    """Whether pytimeloop is there; whether it works is only known once it has been called."""
    try:
        return importlib.util.find_spec(PACKAGE) is not None
    except (ImportError, ValueError):
        return False


def front_end_runner(choice: str, kind: Literal["model", "mapper"]) -> Runner | None:
    """Return what calls the program through the front end, or None where it is to be called directly.

    Raises `EngineError` where the front end is asked for and not importable.

    Parameters
    ----------
    choice
        ``pytimeloop`` for both programs; ``auto`` for the mapper where pytimeloop is importable: for an evaluation of
        20 ms its import takes too long; ``executables`` for none.
    """
    if choice == "executables" or (choice == "auto" and (kind == "model" or not importable())):
        return None
    if not importable():
        allowed = "an environment in which Python can import it, or front_end: executables"
        raise EngineError(Fault(f"{PACKAGE} is not importable", "engine timeloop", "front_end", choice, allowed))
    return _Through(fall_back=choice == "auto")


class _Through:
    """Runs a program through the front end."""

    def __init__(self, *, fall_back: bool) -> None:
        self._fall_back = fall_back

    def __call__(self, program: Path, files: Sequence[str], folder: Path, watch: ProgramWatch) -> ProgramRun:
        outcome = run_program([sys.executable, "-m", __name__, str(program), *files], folder, watch)
        code = outcome.return_code
        if code == _UNUSABLE and self._fall_back:
            return run_executable(program, files, folder, watch)
        # The front end runs the program in a shell, which reports signal n as 128 + n.
        return outcome if code is None or code <= 128 else replace(outcome, return_code=128 - code)


def main(arguments: Sequence[str]) -> int:
    """Call the program that is the first argument on the files that follow, in the current folder."""
    program = Path(arguments[0])
    os.environ["PATH"] = os.pathsep.join([str(program.parent), os.environ.get("PATH", os.defpath)])
    # An interrupt is for Timeloop, which sets a handler of its own; this process and the shell wait for its end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        front_end: Any = importlib.import_module(f"{PACKAGE}.timeloopfe.v3")
        specification = front_end.Specification.from_yaml_files(*arguments[1:])
        # It adds every section that there can be; an empty one on sparsity makes Timeloop count and print otherwise.
        specification.pop("sparse_optimizations", None)
        call = front_end.call_mapper if program.name == "timeloop-mapper" else front_end.call_model
    except Exception as error:
        sys.stderr.write(f"ERROR: pytimeloop's front end cannot be used: {error!r}\n")
        return _UNUSABLE
    process = call(specification, output_dir=".", return_proc=True)
    return int(process.wait())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
