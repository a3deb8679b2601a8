"""Reading the configuration and everything it names, so that all faults show before any work is done."""

import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from jouleloop.config.model import Config, EnergyEntry
from jouleloop.documents.load import read_plain
from jouleloop.energy.choice import source_of
from jouleloop.errors import Fault, InputError, JouleloopError, nearest, raise_all, unknown
from jouleloop.files import is_file, listed, read_yaml
from jouleloop.fusion.sweep import CHAIN, ChainSweep, load_chain_sweep
from jouleloop.units import COUNTS, unit_of
from jouleloop.validation import made_of, validate
from jouleloop.workload.problem import ProblemShape
from jouleloop.workload.sweep import Progress, Sweep, load_network, load_sweep, load_sweeps
from jouleloop.workload.sweep_schema import CAPACITY

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
    capacity_sweeps: tuple[Sweep, ...] = ()
    """Sweeps of the capacity of a level; they have tables of their own."""
    chain_sweeps: tuple[ChainSweep, ...] = ()
    """Sweeps of chains; they have tables of their own."""

    @property
    def every(self) -> tuple[Sweep, ...]:
        """All sweeps of layers, and networks."""
        return (*self.sweeps, *self.architecture_sweeps, *self.capacity_sweeps)

    @property
    def tested(self) -> tuple[Sweep, ...]:
        """The sweeps whose growth is tested: all but the networks."""
        return tuple(sweep for sweep in self.sweeps if not sweep.is_network)

    @cached_property
    def shapes(self) -> tuple[ProblemShape, ...]:
        """The problem shapes of all layers."""
        points = (point for sweep in self.every for point in sweep.points)
        chained = (problem.shape for sweep in self.chain_sweeps for problem in sweep.points[0].chain.problems)
        return tuple(dict.fromkeys([*(p.layer.kind.shape_of(p.layer.values) for p in points), *chained]))

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

    Raises `InputError`, with the faults of the configuration and those of all files it names: missing files,
    unknown sweeps, sweeps of one name, sweeps that cannot be read.
    """
    if not isinstance(data, Config):
        return made_of(
            Config, typed(data), source, lambda config: load_study(config, root, source=source, progress=progress)
        )
    config = data
    faults = _architecture_faults(config, root, source)
    sweeps: list[Sweep] = []
    chains: list[ChainSweep] = []

    def read_sweeps(path: Path) -> list[Sweep]:
        if _keys(path, "a sweep").get("kind") != CHAIN:
            return load_sweeps(path, progress)
        chains.append(load_chain_sweep(path))
        return []

    for key, names, folder, load in (
        ("sweeps", config.sweeps, LAYERS, read_sweeps),
        ("networks", config.networks, NETWORKS, lambda path: [load_network(path)]),
    ):
        for index, name in enumerate(names):
            sweeps += _load_one(name, f"{key}.{index}", root, folder, load, source, faults)
    faults += _sweep_faults(config, sweeps, chains, source)
    raise_all(faults)
    plain = tuple(sweep for sweep in sweeps if not sweep.attributes and not sweep.curves)
    varied = tuple(sweep for sweep in sweeps if sweep.attributes)
    curves = tuple(sweep for sweep in sweeps if sweep.curves)
    return Study(config, plain, varied, curves, tuple(chains))


def _architecture_faults(config: Config, root: Path, source: str) -> list[Fault]:
    """Return what is wrong with the files that architectures name, and with counts beside energies."""
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
                said, near = ("is no file", None) if near == str(path) else ("no such file", near)  # a folder
                faults.append(Fault(said, source, f"architectures.{name}.{key}", text, nearest=near))
    if any(counted.values()) and not all(counted.values()):
        text = "is in words, which do not stand beside energies: all architectures of a run, or none"
        faults += [Fault(text, source, where, COUNTS) for where, is_counted in counted.items() if is_counted]
    return faults


def _sweep_faults(config: Config, sweeps: Sequence[Sweep], chains: Sequence[ChainSweep], source: str) -> list[Fault]:
    """Return what is wrong with sweeps beside each other: their names, and the architectures that they name."""
    faults: list[Fault] = []
    every: tuple[Sweep | ChainSweep, ...] = (*sweeps, *chains)
    by_name: dict[str, Sweep | ChainSweep] = {}
    for sweep in every:
        # Names become paths, and some file systems do not tell upper from lower case.
        first = by_name.setdefault(sweep.name.lower(), sweep)
        if first is not sweep:
            message = f"two sweeps are called {sweep.name!r}: {first.source} and {sweep.source}"
            faults.append(Fault(message, source, "sweeps", allowed="every name once; the key 'name' in a file sets it"))
    if not config.sweeps and not config.networks:
        faults.append(Fault("neither sweeps nor networks are named: nothing to do", source, "sweeps"))
    named = [(sweep, "architectures", sweep.architectures) for sweep in every]
    named += [(sweep, "levels", tuple(sweep.levels)) for sweep in sweeps]
    return faults + [
        unknown(name, config.architectures, "architecture", source=sweep.source, field=field)
        for sweep, field, names in named
        for name in names
        if name not in config.architectures
    ]


def typed(value: Any) -> Any:
    """Return plain data with true, false, null and numbers as such.

    Snakemake hands over most of what stands on its command line (``--config replace=true``) as text.
    """
    if isinstance(value, Mapping):
        return {key: typed(inner) for key, inner in value.items()}
    if not isinstance(value, str):
        return value
    if re.fullmatch(r"-?\d{1,18}", value):
        return int(value)
    if re.fullmatch(r"-?\d+\.\d*([eE][-+]?\d+)?|-?\d+[eE][-+]?\d+", value):
        return float(value)
    return {"true": True, "false": False, "null": None}.get(value.lower(), value)


def load_all(path: Path, progress: Progress | None = None) -> list[Sweep]:
    """Return the network, the sweep, or the sweeps of a transformer in a file; raise `InputError` with its faults.

    A sweep of a capacity or of chains has no energies of layers, so that it is refused here.
    """
    document = _keys(path, "a sweep or a network")
    if document.get("kind") == CHAIN:
        text = "is a sweep of chains: snakemake runs it where the configuration names it (docs/fusion.md)"
        raise InputError(Fault(text, str(path), "kind"))
    found = [load_network(path)] if _is_network(path, document) else load_sweeps(path, progress)
    if found[0].curves:
        text = "is a sweep of a capacity: it has curves, no layers to search"
        allowed = "jouleloop curve for one curve, or snakemake for the sweep"
        raise InputError(Fault(text, str(path), "kind", CAPACITY, allowed))
    return found


def _keys(path: Path, wanted: str) -> dict[Any, Any]:
    """Return the keys of a file, none where it holds something else; raise `InputError` where it is no YAML."""
    document = read_plain(path, wanted)
    return document if isinstance(document, dict) else {}


def _is_network(path: Path, document: Mapping[Any, Any]) -> bool:
    """Whether the file is a network: by its folder, without growth that is tested, or by layers each of a kind."""
    if path.resolve().parent.name == NETWORKS.name:
        return True
    layers = document.get("layers")
    if not {"kind", "variable", "expected", "architecture"} & set(document):
        return "transformer" in document or "layers" in document
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
