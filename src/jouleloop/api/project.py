"""Names in ``arch/``, ``layers/`` and the configuration become files: the own project's first, then the package's."""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import jouleloop
from jouleloop.config.load import read_config
from jouleloop.config.model import Config
from jouleloop.documents.load import load_document
from jouleloop.energy.choice import DATA, EnergySource, source_of
from jouleloop.errors import Fault, InputError, JouleloopError, gather, nearest, raise_all, unknown
from jouleloop.files import is_file
from jouleloop.mapspace.constraints import AxesName, SpaceName
from jouleloop.study.plan import files_of
from jouleloop.study.targets import TargetFiles, TargetSet
from jouleloop.workload.layer import CONV
from jouleloop.workload.problem import ProblemShape
from jouleloop.workload.variants import Value

_YAML = (".yaml", ".yml")
_SETS = ("full", "arch-only", "none")
_DESIGN = (*_YAML, ".jinja2", ".jinja", ".j2")
#: What may be said of a mapspace, by field of `MapspaceChoice`: what is chosen there, and the choices.
_CHOICES = {
    "factors": ("kind of factors", ("perfect", "imperfect")),
    "space": ("mapspace", get_args(SpaceName)),
    "axes": ("choice of axes", get_args(AxesName)),
}


@dataclass(frozen=True)
class MapspaceChoice:
    """Which mappings count; as configured where nothing is said."""

    factors: str | None = None
    """``perfect`` or ``imperfect``: whether loops must divide the layer."""
    space: str | None = None
    """``timeloop`` or ``legal``: the orders of loops that Timeloop's mapper tries, or all that constraints allow."""
    axes: str | None = None
    """``apart`` or ``free``: whether a dimension may be unrolled along both axes of a fan-out."""

    def on(self, files: TargetFiles) -> TargetFiles:
        """Return the files of a target with this mapspace; raise `InputError` with all that is unknown."""
        given: dict[str, Any] = {name: text for name, text in vars(self).items() if text is not None}
        raise_all(
            [
                unknown(text, names, what, field=name)
                for name, text in given.items()
                for what, names in (_CHOICES[name],)
                if text not in names
            ]
        )
        return replace(files, **given)


AS_CONFIGURED = MapspaceChoice()
#: Files in the place of those of an architecture that is not known: a choice that is wrong is so for any.
ANY_FILES = TargetFiles("", Path(), [EnergySource("tables", Path()), EnergySource("interpolated")], None)


def own_root() -> Path | None:
    """Return the project that the current folder is in: it or one above it, with ``arch/`` and ``config/``."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / "arch").is_dir() and (folder / "config").is_dir():
            return folder
    return None


def shipped_root() -> Path:
    """Return the project that comes with the package: architectures, energies, mappings, sweeps and networks."""
    package = Path(jouleloop.__file__).resolve().parent
    inside = package / "shipped"
    return inside if inside.is_dir() else package.parents[1]


def roots() -> tuple[Path, ...]:
    """Return where names are looked up, in turn: the own project, then what comes with the package."""
    own, shipped = own_root(), shipped_root()
    return (shipped,) if own is None or own.samefile(shipped) else (own, shipped)


def named_file(name: str, *folders: Path) -> Path | None:
    """Return the file of a name in the first of some folders that has it, of the own project, then of the package."""
    places = (root / folder / f"{name}.yaml" for root in roots() for folder in folders)
    return next((path for path in places if "/" not in name and is_file(path)), None)


def names_in(*folders: Path) -> list[str]:
    """Return the names that `named_file` knows, in its order."""
    places = (root / folder for root in roots() for folder in folders)
    return list(dict.fromkeys(child.stem for place in places for child in sorted(place.glob("*.yaml"))))


def project_root() -> Path:
    """Return the own project, or the one that comes with the package where there is none."""
    return roots()[0]


def project_config(root: Path) -> Config | None:
    """Return the configuration of the project, or None where there is none."""
    path = root / "config" / "config.yaml"
    return read_config(path) if path.is_file() else None


def target_files(arch: str) -> TargetFiles:
    """Return the files of a target: a name in the configuration or in ``arch/``, or an architecture file's path.

    Raises `InputError` where there is no such architecture.
    """
    known: set[str] = set()
    for root in roots():
        config = project_config(root)
        if config is not None and arch in config.architectures:
            return files_of(arch, config.architectures[arch], root)
        path = Path(arch) if Path(arch).suffix in _DESIGN else root / "arch" / f"{arch}.yaml"
        if is_file(path):
            return _by_convention(path, root)
        known |= {child.stem for child in (root / "arch").glob("*.yaml")} | set(config.architectures if config else ())
    if Path(arch).suffix in _DESIGN:
        raise InputError(Fault("no such file", "architecture", value=arch))
    allowed = f"{', '.join(sorted(known))} or the path of a YAML file"
    raise InputError(
        Fault("unknown architecture", "architecture", value=arch, allowed=allowed, nearest=nearest(arch, known))
    )


def _by_convention(path: Path, root: Path) -> TargetFiles:
    beside = _beside(path, root, ("../mappings", "mappings"))
    if _states_energies(path):
        return TargetFiles(path.name.split(".")[0], path, [EnergySource("tables", path)], beside)
    # Energies of its own table first; what that does not know, or all where there is none, from the attributes.
    table = _beside(path, root, ("energy", "arch/energy"))
    energy = ([] if table is None else [EnergySource("tables", table)]) + [_interpolated(root)]
    return TargetFiles(path.name.split(".")[0], path, energy, beside)


def _states_energies(path: Path) -> bool:
    """Whether an architecture file holds an energy reference table too, which Timeloop then charges."""
    with contextlib.suppress(JouleloopError):  # what is wrong with the file is told where it is read
        data = load_document(path)
        return isinstance(data, dict) and data.get("ERT") is not None
    return False


def _interpolated(root: Path) -> EnergySource:
    """Return the estimator with the numbers of the project, or with those of the package where it has none."""
    own = root / DATA
    return EnergySource("interpolated", data=own if (own / "cacti").is_dir() else shipped_root() / DATA)


def _interpolated_or(text: str) -> EnergySource:
    """Return the estimator called ``text``, with the numbers that the interpolated one has."""
    return replace(source_of(text), data=_interpolated(project_root()).data)


def _beside(path: Path, root: Path, folders: tuple[str, str]) -> Path | None:
    """Return the file that belongs to an architecture by its name: near it, or in the project that it is in.

    What the project says of its own ``simba`` says nothing of another file ``simba.yaml`` elsewhere.
    """
    own = [root / folders[1]] if path.resolve().is_relative_to(root.resolve()) else []
    for folder in (path.parent / folders[0], *own):
        for candidate in (folder / path.name, *sorted(folder.glob(f"{path.stem}-*.yaml"))):
            if is_file(candidate):
                return candidate
    return None


def energy_sources(
    texts: Sequence[str] | None, components: Sequence[Path] | None, given: Sequence[EnergySource]
) -> tuple[EnergySource, ...]:
    """Return the sources of energies that the options ``--energy`` and ``--components`` ask for.

    Raises `InputError` where a text is neither a table nor an estimator, or components are given and no estimator takes
    them.

    Parameters
    ----------
    given
        The sources without these options; ``tables`` stands for their tables.
    """
    faults: list[Fault] = []
    found: list[EnergySource] = []
    for text in texts or ():
        if text == "tables":
            tables = [source for source in given if source.estimator == "tables"]
            if not tables:
                faults.append(Fault("there is no energy table for this architecture", "energy", value=text))
            found += tables
            continue
        try:
            # A path is the user's own, not one below the project.
            found.append(source_of(text) if text.endswith(_YAML) else _interpolated_or(text))
        except InputError as error:
            faults += error.at("energy").faults
    found = found if texts else list(given)
    if components:
        if all(source.estimator == "tables" for source in found):
            faults.append(Fault("needs an estimator: interpolated or accelergy", "components"))
        more = tuple(components)
        found = [s if s.estimator == "tables" else replace(s, components=(*s.components, *more)) for s in found]
    raise_all(faults)
    return tuple(found)


def changed_files(
    files: TargetFiles,
    *,
    constraints: str | Path | None = None,
    energy: str | Path | Sequence[str | Path] | None = None,
    components: Sequence[str | Path] = (),
    variables: Mapping[str, str] | None = None,
    changes: Mapping[str, Value] | None = None,
    mapspace: MapspaceChoice = AS_CONFIGURED,
) -> TargetFiles:
    """Return the files of a target with what is given in the place of their own; see `Architecture.read`."""
    kinds: dict[str, tuple[object, Any]] = {"variables": (variables, Mapping), "changes": (changes, Mapping)}
    kinds["energy"] = energy, (str, Path, Sequence)
    wrong = {key: one for key, (one, kind) in kinds.items() if one is not None and not isinstance(one, kind)}
    raise_all([Fault("is of another kind than it has to be", key, value=one) for key, one in wrong.items()])
    texts = [str(text) for text in ([energy] if isinstance(energy, (str, Path)) else energy or ())]
    found, sources, _ = gather(
        lambda: files if constraints is None else _constrained(files, str(constraints)),
        lambda: energy_sources(texts, [Path(path) for path in components], files.sources),
        lambda: mapspace.on(files),
    )
    if texts or components:
        found = replace(found, energy=sources)
    given = tuple(variables.items()) if variables else files.variables
    return mapspace.on(replace(found, variables=given, changes=(*files.changes, *(changes or {}).items())))


def _constrained(files: TargetFiles, text: str) -> TargetFiles:
    """Return the files with a set of constraints, with none, or with those of the file that ``text`` names."""
    if text == "none":
        return replace(files, constraints=None, which="none")
    if text in _SETS:
        return replace(files, which=text)
    path = Path(text)
    if path.suffix in _YAML:
        return replace(files, constraints=path, which="full")
    raise InputError(unknown(text, _SETS, "set of constraints", field="constraints"))


def load_target(
    arch: str,
    *,
    semantics: str,
    constraints: str | Path | None = None,
    energy: str | Path | None = None,
    shape: ProblemShape = CONV,
) -> TargetSet:
    """Return the target ``arch`` under constraints that are written for a shape of problem; see `Architecture.read`."""
    return TargetSet(changed_files(target_files(arch), constraints=constraints, energy=energy), semantics, (shape,))
