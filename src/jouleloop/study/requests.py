"""What Timeloop has to run for a chunk of a study, written down for a container that runs it."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from jouleloop.config.load import Study
from jouleloop.engines.timeloop.engine import TimeloopEngine
from jouleloop.engines.timeloop.runners import RunRequested, RunRequests
from jouleloop.errors import Fault, InputError
from jouleloop.files import write_text
from jouleloop.study.compute import run_chunk, search_one
from jouleloop.study.confirm import confirming_job
from jouleloop.study.engines import timeloop_options
from jouleloop.study.plan import jobs_of
from jouleloop.study.store import ResultStore
from jouleloop.workload.layer import Layer


def request_chunk(study: Study, architecture: str, layers: Sequence[Layer], store: ResultStore) -> list[str]:
    """Write the runs that a chunk's layers need into the folder ``timeloop.runs``; return their names, each once.

    For ``engine: timeloop`` these are the searches of all layers without a stored result, else the evaluations of all
    native optima that are not confirmed. The first run asks Timeloop how it counts.

    Raises `InputError` where the configuration names no folder of runs.
    """
    options = timeloop_options(study.config)
    if options.runs is None:
        raise InputError(Fault("no folder of runs is configured", None, "timeloop.runs"))
    engine = TimeloopEngine(options, runner=RunRequests(options.runs))
    job = jobs_of(study, only=architecture)[architecture]
    if study.config.engine == engine.name:
        job = replace(job, engine=engine)
    else:
        run_chunk(job, layers, store)
        job = confirming_job(job, engine, store)
    names: list[str] = []
    stored = store.keys()
    try:
        engine.request_probe()
    except RunRequested as run:
        names.append(str(run))
    for layer in layers:
        if job.key(layer) in stored:
            continue
        try:
            search_one(job, layer.problem(), job.target.for_shape(layer.problem().shape))
        except RunRequested as run:
            names.append(str(run))
    return list(dict.fromkeys(names))


def write_requests(path: Path, names: list[str]) -> None:
    """Write the names of runs for the script that makes them."""
    write_text(path, "".join(f"{name}\n" for name in names))
