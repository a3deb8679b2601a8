"""Ways to run one of Timeloop's programs: here and now, or in a container by way of a folder of requests.

A container that has Timeloop rarely has a Python that this package runs on. So what needs Timeloop is split: requests
are written here (`RunRequests`), run there by a shell script without any Python
(``workflow/scripts/run_timeloop.sh``), and read here (`RecordedRuns`). A run is found by the content of its inputs.
"""

import hashlib
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from jouleloop.engines.timeloop.process import ProgramRun, ProgramWatch, run_program
from jouleloop.errors import EngineError, Fault
from jouleloop.files import read_text, write_text

#: Exit codes of ``timeout`` from coreutils at the limit: the program ended after the signal, or had to be killed.
_LIMIT_REACHED, _KILLED = 124, 137
_OUTPUTS = ("map.txt", "stats.txt", "map+stats.xml")


class Runner(Protocol):
    """Runs one program on input files in a folder, which is also where its outputs appear."""

    def __call__(self, program: Path, files: Sequence[str], folder: Path, watch: ProgramWatch) -> ProgramRun:
        """Return how the run ended."""


class RunRequested(Exception):  # noqa: N818 - it ends an evaluation that is made elsewhere; nothing is wrong
    """The run was written down to be made elsewhere."""


def run_executable(program: Path, files: Sequence[str], folder: Path, watch: ProgramWatch) -> ProgramRun:
    """Run the program here and now."""
    return run_program([str(program), *files, "-o", "."], folder, watch)


def run_name(program: Path, files: Sequence[str], folder: Path) -> str:
    """Return the name of a run: a hash of the program's name and of the contents of its input files."""
    state = hashlib.sha256(program.name.encode())
    for name in files:
        state.update(f"\n{name}\n".encode())
        state.update((folder / name).read_bytes())
    return state.hexdigest()[:32]


class RunRequests:
    """Writes every run down under ``root`` instead of making it, and says so by raising `RunRequested`."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def __call__(self, program: Path, files: Sequence[str], folder: Path, watch: ProgramWatch) -> ProgramRun:
        """Write the inputs and the command; raise `RunRequested`."""
        target = self.root / run_name(program, files, folder)
        target.mkdir(parents=True, exist_ok=True)
        for name in files:
            shutil.copyfile(folder / name, target / name)
        stop = f"-s INT -k {watch.interrupt_grace_s:g}" if watch.interrupt_grace_s > 0 else "-s KILL"
        command = shlex.join([program.name, *files, "-o", "."])
        # Written last and whole: a folder without it is no request.
        write_text(target / "command", f"timeout {stop} {watch.time_limit_s:g} {command}\n")
        raise RunRequested(target.name)


class RecordedRuns:
    """Answers from runs that were made elsewhere, below ``root``."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def __call__(self, program: Path, files: Sequence[str], folder: Path, watch: ProgramWatch) -> ProgramRun:
        """Copy the outputs of the recorded run into ``folder`` and return how it ended.

        Raises `EngineError` where the run was not made.
        """
        source = self.root / run_name(program, files, folder)
        ended = source / "exit"
        if not ended.is_file():
            raise EngineError(Fault(f"{program.name} has not been run on this input", str(source)))
        code, seconds = (int(part) for part in read_text(ended).split())
        for name in _OUTPUTS:
            path = source / f"{program.name}.{name}"
            if path.is_file():
                shutil.copyfile(path, folder / path.name)
        lines = read_text(source / "log").splitlines()
        kept = [line for line in lines if watch.on_line is None or not watch.on_line(line)]
        timed_out = code == _LIMIT_REACHED or (code == _KILLED and seconds >= int(watch.time_limit_s))
        # A shell reports signal n as 128 + n.
        return ProgramRun(128 - code if code > 128 else code, timed_out, float(seconds), tuple(kept))
