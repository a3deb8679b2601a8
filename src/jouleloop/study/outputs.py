"""What jobs wrote: each notes the digests of its outputs beside its log, so that a file that changed is made again."""

import contextlib
import hashlib
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from jouleloop.errors import JouleloopError
from jouleloop.files import read_sealed_json, reading, write_sealed_json

#: Ending of a note, in the place of the log's own.
_NOTE = ".outputs.json"
_PIECE_BYTES = 2**20
#: What Snakemake writes into a folder that is an output.
_DATE = ".snakemake_timestamp"
#: Folders of results that hold no output of a rule, so Snakemake compares the time of no file in them.
_BESIDE = ("store", "logs", "chunks", "damaged", "timeloop/runs")


def forget_outputs(log: Path) -> None:
    """Remove the note of a job that begins: what it wrote before is about to be replaced."""
    log.with_suffix(_NOTE).unlink(missing_ok=True)


def note_outputs(log: Path, outputs: Iterable[str | Path]) -> None:
    """Note what a job wrote, its files by name and those in its folders; without room for the note nothing is lost."""
    with contextlib.suppress(OSError, JouleloopError):
        noted = {path.as_posix(): _digest(path) for path in _files(map(Path, outputs))}
        write_sealed_json(log.with_suffix(_NOTE), {"outputs": noted})


def note_change(logs: Path, path: Path) -> None:
    """Note what an output of a job that has ended holds now: the end of a run completes its summary."""
    with contextlib.suppress(OSError, JouleloopError):
        for note in sorted(logs.rglob(f"*{_NOTE}")):
            found = read_sealed_json(note)
            if path.as_posix() in found["outputs"]:
                found["outputs"][path.as_posix()] = _digest(path)
                write_sealed_json(note, found)


def changed_outputs(logs: Path) -> dict[Path, list[Path]]:
    """Return the files that are not what the job that made them wrote, each with all files of that job.

    A note that is damaged itself is removed: its job's files are compared with nothing until they are made again.
    """
    changed = {}
    for note in sorted(logs.rglob(f"*{_NOTE}")):
        try:
            noted = read_sealed_json(note)["outputs"]
        except (JouleloopError, KeyError):
            note.unlink(missing_ok=True)
            continue
        for name, digest in noted.items():
            with contextlib.suppress(JouleloopError):  # what cannot be read is for the job that needs it to tell
                if Path(name).is_file() and _digest(Path(name)) != digest:
                    changed[Path(name)] = list(map(Path, noted))
    return changed


def set_aside(paths: Iterable[Path], results: Path) -> None:
    """Move the files of a job where nothing reads them: without any of them the job is run again."""
    moved = [path for path in paths if path.is_file()]
    for path in moved:
        place = results / "damaged" / path.relative_to(results)
        place.parent.mkdir(parents=True, exist_ok=True)
        path.replace(place)
    # A folder that is an output itself would count as made; Snakemake leaves its date in it.
    for folder in {path.parent for path in moved}:
        with contextlib.suppress(OSError):
            if {child.name for child in folder.iterdir()} <= {_DATE}:
                (folder / _DATE).unlink(missing_ok=True)
                folder.rmdir()


def date_back(results: Path) -> None:
    """Give files from the future the time of now: Snakemake refuses what is older than what it is made from.

    The clock was set back, or the files come from a machine whose clock is ahead; edits count by content.
    """
    now = time.time()
    beside = {str(results / name) for name in _BESIDE}
    for folder, folders, files in os.walk(results):
        folders[:] = [name for name in folders if os.path.join(folder, name) not in beside]  # noqa: PTH118
        for entry in (Path(folder, name) for name in (*folders, *files)):
            with contextlib.suppress(OSError):
                if entry.stat().st_mtime > now:
                    os.utime(entry, (now, now))


def _files(outputs: Iterable[Path]) -> Iterator[Path]:
    for path in outputs:
        if path.is_dir():
            yield from sorted(child for child in path.rglob("*") if child.is_file())
        elif path.is_file():
            yield path


def _digest(path: Path) -> str:
    state = hashlib.sha256()
    with reading(path) as stream:
        while piece := stream.read(_PIECE_BYTES):
            state.update(piece)
    return state.hexdigest()
