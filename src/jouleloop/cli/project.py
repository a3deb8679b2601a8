"""Where a command finds the project's files: names in ``arch/`` and ``layers/``, or paths."""

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import jouleloop
from jouleloop.config.load import read_config
from jouleloop.config.model import Config
from jouleloop.documents.load import load_document
from jouleloop.energy.choice import DATA, EnergySource, source_of
from jouleloop.errors import Fault, InputError, JouleloopError, nearest, raise_all
from jouleloop.files import is_file, parse_yaml
from jouleloop.study.targets import TargetFiles, TargetSet
from jouleloop.workload.layer import CONV
from jouleloop.workload.problem import ProblemShape
from jouleloop.workload.variants import Value

_YAML = (".yaml", ".yml")
_DESIGN = (*_YAML, ".jinja2", ".jinja", ".j2")


def project_root() -> Path:
    """Return the folder with ``arch/`` and ``config/``: the current one, one above it, or that of the sources."""
    here = Path.cwd()
    sources = Path(jouleloop.__file__).resolve().parents[2]
    for folder in (here, *here.parents, sources):
        if (folder / "arch").is_dir() and (folder / "config").is_dir():
            return folder
    return here


def project_config(root: Path) -> Config | None:
    """Return the configuration of the project, or None where there is none."""
    path = root / "config" / "config.yaml"
    return read_config(path) if path.is_file() else None


def target_files(arch: str, constraints: str | None = None) -> TargetFiles:
    """Return the files of the target ``arch``.

    Parameters
    ----------
    arch
        A name in the configuration or in ``arch/``, or the path of an architecture file.
    constraints
        Set of constraints, ``full`` or ``arch-only``; ``none`` for no constraints at all.

    Raises
    ------
    InputError
        Where there is no such architecture.
    """
    root = project_root()
    config = project_config(root)
    if config is not None and arch in config.architectures:
        entry = config.architectures[arch]
        which = constraints or entry.set
        found = TargetFiles(arch, root / entry.arch, entry.sources(root), root / entry.constraints, which)
    else:
        found = _by_convention(arch, root, constraints or "full", config)
    return replace(found, constraints=None, which="none") if constraints == "none" else found


def _by_convention(arch: str, root: Path, which: str, config: Config | None) -> TargetFiles:
    given = Path(arch)
    path = given if given.suffix in _DESIGN else root / "arch" / f"{arch}.yaml"
    if not is_file(path):
        known = {child.stem for child in (root / "arch").glob("*.yaml")} | set(config.architectures if config else ())
        allowed = f"{', '.join(sorted(known))} or the path of a YAML file"
        raise InputError(
            Fault("unknown architecture", "--arch", value=arch, allowed=allowed, nearest=nearest(arch, known))
        )
    beside = _beside(path, root, ("../mappings", "mappings"))
    if _states_energies(path):
        return TargetFiles(path.name.split(".")[0], path, [EnergySource("tables", path)], beside, which)
    # Energies of its own table first; what that does not know, or all where there is none, from the attributes.
    table = _beside(path, root, ("energy", "arch/energy"))
    energy = ([] if table is None else [EnergySource("tables", table)]) + [_interpolated(root)]
    return TargetFiles(path.name.split(".")[0], path, energy, beside, which)


def _states_energies(path: Path) -> bool:
    """Whether an architecture file holds an energy reference table too, which Timeloop then charges."""
    with contextlib.suppress(JouleloopError):  # what is wrong with the file is told where it is read
        data = load_document(path)
        return isinstance(data, dict) and data.get("ERT") is not None
    return False


def _interpolated(root: Path) -> EnergySource:
    return EnergySource("interpolated", data=root / DATA)


def _beside(path: Path, root: Path, folders: tuple[str, str]) -> Path | None:
    for folder in (path.parent / folders[0], root / folders[1]):
        for candidate in (folder / path.name, *sorted(folder.glob(f"{path.stem}-*.yaml"))):
            if is_file(candidate):
                return candidate
    return None


def energy_sources(
    texts: Sequence[str] | None, components: Sequence[Path] | None, given: Sequence[EnergySource], root: Path
) -> tuple[EnergySource, ...]:
    """Return the sources of energies that the options ``--energy`` and ``--components`` ask for.

    Parameters
    ----------
    given
        The sources without these options; ``tables`` stands for their tables.

    Raises
    ------
    InputError
        Where a text is neither a table nor an estimator, or components are given and no estimator takes them.
    """
    faults: list[Fault] = []
    found: list[EnergySource] = []
    for text in texts or ():
        if text == "tables":
            tables = [source for source in given if source.estimator == "tables"]
            if not tables:
                faults.append(Fault("there is no energy table for this architecture", "--energy", value=text))
            found += tables
            continue
        try:
            # A path is the user's own, not one below the project.
            found.append(source_of(text, Path() if text.endswith(_YAML) else root))
        except InputError as error:
            faults += error.at("--energy").faults
    found = found if texts else list(given)
    if components:
        if all(source.estimator == "tables" for source in found):
            faults.append(Fault("needs an estimator: interpolated or accelergy", "--components"))
        more = tuple(components)
        found = [s if s.estimator == "tables" else replace(s, components=(*s.components, *more)) for s in found]
    raise_all(faults)
    return tuple(found)


def load_target(
    arch: str,
    *,
    semantics: str,
    constraints: str | None = None,
    energy: Sequence[str] | None = None,
    components: Sequence[Path] | None = None,
    constraints_file: Path | None = None,
    variables: Sequence[str] | None = None,
    changes: Sequence[str] | None = None,
    shape: ProblemShape = CONV,
) -> TargetSet:
    """Return the target ``arch``, its files replaced by those given.

    Parameters
    ----------
    variables, changes
        Texts ``NAME=VALUE``: variables of a template, and attributes to change, by path.
    shape
        Shape of the problem that the constraints are written for.
    """
    files = target_files(arch, constraints)
    if energy or components:
        files = replace(files, energy=energy_sources(energy, components, files.sources, project_root()))
    if variables or changes:
        given = tuple(_pair(text, "--variable") for text in variables or ())
        changed = tuple((path, _value(value)) for path, value in (_pair(text, "--set") for text in changes or ()))
        files = replace(files, variables=given, changes=changed)
    if constraints_file is not None:
        files = replace(files, constraints=constraints_file, which=constraints or "full")
    return TargetSet(files, semantics, shape)


def _pair(text: str, option: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise InputError(Fault("must be a name and a value", option, value=text, allowed="NAME=VALUE"))
    return name, value


def _value(text: str) -> Value:
    """Return the number, truth value or text that ``text`` is in YAML; None for null."""
    found = parse_yaml(text, "--set")
    return found if found is None or isinstance(found, (str, int, float)) else text
