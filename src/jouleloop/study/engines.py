"""The engines that a configuration asks for, with its settings, checked before any work is done."""

import logging
import os
import time
from functools import cache
from pathlib import Path

from jouleloop.config.model import Config
from jouleloop.engines.protocol import Engine
from jouleloop.engines.registry import get_engine, installed_version
from jouleloop.engines.timeloop.engine import TimeloopEngine
from jouleloop.engines.timeloop.options import HOME_VARIABLE, TimeloopOptions
from jouleloop.engines.timeloop.verdict import MapperProgress

LOG = logging.getLogger("jouleloop")

#: Time between two lines of progress in a log.
_PROGRESS_SECONDS = 10.0


def engine_of(config: Config, name: str | None = None) -> Engine:
    """Return the engine that the configuration asks for, or the one called ``name``, with its settings.

    Raises `EngineError` where it is not installed, or counts by other rules than configured: one error here, not a
    failed row for every layer.
    """
    name = name or config.engine
    if name == "timeloop":
        timeloop = _timeloop(timeloop_options(config), os.environ.get(HOME_VARIABLE), os.environ.get("PATH"))
        if config.timeloop.runs is None:
            timeloop.check(config.semantics)
        return timeloop
    engine: Engine = get_engine(name)
    installed_version(engine)
    return engine


def timeloop_options(config: Config) -> TimeloopOptions:
    """Return the settings of ``engine: timeloop``."""
    settings = config.timeloop.model_dump()
    home, runs, container = (settings.pop(name) for name in ("home", "runs", "container"))
    return TimeloopOptions(
        home=None if home is None else Path(home),
        runs=None if runs is None else Path(runs),
        where="" if runs is None else container,
        **settings,
    )


@cache
def _timeloop(options: TimeloopOptions, *_environment: str | None) -> TimeloopEngine:
    """Return the engine, whose programs are found and asked only once, and whose progress is logged."""
    return TimeloopEngine(options, on_progress=_LoggedProgress())


class _LoggedProgress:
    """Logs how far the mapper is, now and then."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def __call__(self, progress: MapperProgress) -> None:
        if time.monotonic() - self._last >= _PROGRESS_SECONDS:
            self._last = time.monotonic()
            LOG.info("timeloop-mapper: %s", progress)


def check_engines(config: Config) -> None:
    """Raise `EngineError` where an engine that the configuration needs is not there."""
    engine_of(config)
    if config.confirm is not None:
        engine_of(config, config.confirm)
