"""Chunks of which few layers are new: one process searches them before their jobs start, which then take the notes.

A job takes longer to start than to search a few layers; a process that is forked from one that has read the study
starts at once. Whatever goes wrong here, the jobs search as if nothing had been tried.
"""

import contextlib
import sys
from collections.abc import Callable, Mapping, Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from jouleloop.signals import ended_by_signals
from jouleloop.study.chunks import estimated_seconds
from jouleloop.study.compute import Job, run_chunk
from jouleloop.study.plan import write_chunk
from jouleloop.study.runlog import LOGS, current_run
from jouleloop.study.store import ResultStore
from jouleloop.workload.layer import Layer

#: Seconds of searches that are few, and after which the rest is left to the jobs: an estimate may be wrong.
_FEW_SECONDS, _MOST_SECONDS = 1.0, 15.0

#: Architecture, layers and options of a chunk.
Chunk = tuple[str, Sequence[Layer], Mapping[str, Any]]


def search_few(jobs: Callable[[], Mapping[str, Job]], chunks: Mapping[str, Chunk], store: Path, notes: Path) -> None:
    """Search what is new in ``chunks`` if it is little, and leave the note of each in the folder ``notes``.

    Parameters
    ----------
    jobs
        Returns how layers are searched on each architecture.
    chunks
        By the name of the chunk; nothing is done without any.
    """
    if not chunks or sys.platform != "linux":
        return
    process = get_context("fork").Process(target=_search, args=(jobs, chunks, store, notes))
    process.start()
    process.join(_MOST_SECONDS)
    if process.is_alive():
        process.terminate()
        process.join()


def _search(jobs: Callable[[], Mapping[str, Job]], chunks: Mapping[str, Chunk], store: Path, notes: Path) -> None:
    with contextlib.suppress(Exception, KeyboardInterrupt), ended_by_signals():
        found, run = jobs(), current_run(LOGS)["run"]
        keys = {name: list(map(found[arch].key, layers)) for name, (arch, layers, _) in chunks.items()}
        stored = ResultStore(store).keys()
        new = (
            layer
            for name in chunks
            for layer, key in zip(chunks[name][1], keys[name], strict=True)
            if key not in stored
        )
        if sum(map(estimated_seconds, new)) > _FEW_SECONDS:
            return
        for name, (architecture, layers, options) in chunks.items():
            report = run_chunk(found[architecture], layers, ResultStore(store), keys=keys[name])
            write_chunk(notes / f"{name}.json", report, options, run)
