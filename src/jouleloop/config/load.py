"""Reading the configuration and everything it names, so that all faults show before any work is done."""

import contextlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from jouleloop.config.model import Config, EnergyEntry
from jouleloop.energy.choice import source_of
from jouleloop.errors import Fault, InputError, JouleloopError, nearest, raise_all, unknown
from jouleloop.files import is_file, listed, read_yaml
from jouleloop.units import COUNTS, unit_of
from jouleloop.validation import validate
from jouleloop.workload.problem import ProblemShape
from jouleloop.workload.sweep import Progress, Sweep, load_network, load_sweep, load_sweeps

LAYERS = Path("layers")
NETWORKS = LAYERS / "networks"


@dataclass(frozen=True)
class Study:
    """A checked configuration with its sweeps and networks expanded."""

    config: Config
    sweeps: tuple[Sweep, ...]
    """Sweeps of layers, and networks."""
    architecture_sweeps: tuple[Sweep, ...] = ()
    """Sweeps that vary the architecture too; their growth is not tested."""

    @property
    def tested(self) -> tuple[Sweep, ...]:
        """The sweeps whose growth is tested: all but the networks."""
        return tuple(sweep for sweep in self.sweeps if not sweep.is_network)

    @cached_property
    def shapes(self) -> tuple[ProblemShape, ...]:
        """The problem shapes of all layers."""
        points = (point for sweep in (*self.sweeps, *self.architecture_sweeps) for point in sweep.points)
        return tuple(dict.fromkeys(point.layer.kind.shape_of(point.layer.values) for point in points))

    @property
    def unit(self) -> str:
        """What all energies are in: words where accesses are counted instead."""
        return unit_of(source.estimator for entry in self.config.architectures.values() for source in entry.sources())

    @property
    def networks(self) -> tuple[Sweep, ...]:
        """The networks."""
        return tuple(sweep for sweep in self.sweeps if sweep.is_network)


def read_config(path: Path) -> Config:
    """Return the configuration in the file ``path``; raise `InputError` with all its faults."""
    return validate(Config, read_yaml(path), path)


def load_study(
    data: Mapping[str, Any] | Config,
    root: Path = Path(),
    *,
    source: str = "config",
    progress: Progress | None = None,
) -> Study:
    """Return the configuration ``data`` with its sweeps and networks read from below ``root``.

    Raises `InputError`, with the faults of the configuration, or else those of all files it names: missing files,
    unknown sweeps, sweeps of one name, sweeps that cannot be read.
    """
    config = data if isinstance(data, Config) else validate(Config, typed(data), source)
    faults: list[Fault] = []
    counted: dict[str, bool] = {}
    for name, entry in config.architectures.items():
        wanted = [("arch", entry.arch), ("constraints", entry.constraints)]
        for key, given in entry.energy_entries():
            where = f"architectures.{name}.{key}"
            try:
                chosen = given.source(root) if isinstance(given, EnergyEntry) else source_of(given, root)
            except JouleloopError as error:
                faults += [replace(f, source=source, field=where) for f in error.faults]
                continue
            counted[where] = chosen.estimator == COUNTS
            wanted += [(key, _below(path, root)) for path in chosen.files()]
        for key, text in wanted:
            path = root / text
            if not is_file(path):
                near = _near(path, path.suffix)
                faults.append(Fault("no such file", source, f"architectures.{name}.{key}", text, nearest=near))
    if any(counted.values()) and not all(counted.values()):
        text = "is in words, which do not stand beside energies: all architectures of a run, or none"
        faults += [Fault(text, source, where, COUNTS) for where, is_counted in counted.items() if is_counted]
    sweeps: list[Sweep] = []
    for key, names, folder, load in (
        ("sweeps", config.sweeps, LAYERS, lambda path: load_sweeps(path, progress)),
        ("networks", config.networks, NETWORKS, lambda path: [load_network(path)]),
    ):
        for index, name in enumerate(names):
            sweeps += _load_one(name, f"{key}.{index}", root, folder, load, source, faults)
    by_name: dict[str, Sweep] = {}
    for sweep in sweeps:
        # Names become paths, and some file systems do not tell upper from lower case.
        first = by_name.setdefault(sweep.name.lower(), sweep)
        if first is not sweep:
            message = f"two sweeps are called {sweep.name!r}: {first.source} and {sweep.source}"
            faults.append(Fault(message, source, "sweeps", allowed="every name once; the key 'name' in a file sets it"))
    if not config.sweeps and not config.networks:
        faults.append(Fault("neither sweeps nor networks are named: nothing to do", source, "sweeps"))
    for sweep in sweeps:
        faults += [
            unknown(name, config.architectures, "architecture", source=sweep.source, field="architectures")
            for name in sweep.architectures
            if name not in config.architectures
        ]
    raise_all(faults)
    plain = tuple(sweep for sweep in sweeps if not sweep.attributes)
    return Study(config, plain, tuple(sweep for sweep in sweeps if sweep.attributes))


def typed(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``data`` with true, false, null and numbers as such.

    Snakemake hands over most of what stands on its command line (``--config replace=true``) as text.
    """
    return {key: _typed(value) for key, value in data.items()}


def _typed(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _typed(inner) for key, inner in value.items()}
    if not isinstance(value, str):
        return value
    if re.fullmatch(r"-?\d{1,18}", value):
        return int(value)
    if re.fullmatch(r"-?\d+\.\d*([eE][-+]?\d+)?|-?\d+[eE][-+]?\d+", value):
        return float(value)
    return {"true": True, "false": False, "null": None}.get(value.lower(), value)


def load_all(path: Path, progress: Progress | None = None) -> list[Sweep]:
    """Return the network, the sweep, or the sweeps of a transformer in a file; raise `InputError` with its faults."""
    return [load_network(path)] if _is_network(path) else load_sweeps(path, progress)


def _is_network(path: Path) -> bool:
    """Whether the file is a network: by its folder, a transformer without growth, or layers each of a kind."""
    if path.resolve().parent.name == NETWORKS.name:
        return True
    document = read_yaml(path)
    if isinstance(document, dict) and "transformer" in document and "expected" not in document:
        return True
    layers = document.get("layers") if isinstance(document, dict) else None
    own = {"kind", "sizes"}
    return isinstance(layers, list) and bool(layers) and all(isinstance(x, dict) and own & set(x) for x in layers)


def published_sweeps(root: Path = Path()) -> list[Sweep]:
    """Return the sweeps in ``layers/`` that have published energies; files that are no sweeps are passed over here."""
    found = []
    for path in sorted((root / LAYERS).glob("*.yaml")):
        with contextlib.suppress(InputError):
            document = read_yaml(path)
            # Others are not read further: a sweep may have a million points.
            if isinstance(document, dict) and document.get("published"):
                found.append(load_sweep(path))
    return found


def _load_one(
    name: str,
    field: str,
    root: Path,
    folder: Path,
    load: Callable[[Path], list[Sweep]],
    source: str,
    faults: list[Fault],
) -> list[Sweep]:
    path = root / (name if name.endswith((".yaml", ".yml")) else folder / f"{name}.yaml")
    if not is_file(path):
        what = "network" if folder == NETWORKS else "sweep"
        known = sorted(child.stem for child in (root / folder).glob("*.yaml"))
        faults.append(
            Fault(
                f"unknown {what}: there is no file {path}",
                source,
                field,
                name,
                ", ".join(known) or None,
                nearest(name, known),
            )
        )
        return []
    try:
        return load(path)
    except InputError as error:
        faults += error.faults
        return []


def _below(path: Path, root: Path) -> str:
    return (path.relative_to(root) if path.is_relative_to(root) else path).as_posix()


def _near(path: Path, suffix: str) -> str | None:
    siblings = {child.name: str(child) for child in listed(path.parent, f"*{suffix}")}
    found = nearest(path.name, siblings)
    return siblings[found] if found else None
