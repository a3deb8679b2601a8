"""Where a command finds the project's files: names in ``arch/`` and ``layers/``, or paths."""

from dataclasses import replace
from pathlib import Path

import jouleloop
from jouleloop.config.load import read_config
from jouleloop.config.model import Config
from jouleloop.errors import Fault, InputError, nearest
from jouleloop.files import is_file
from jouleloop.pipeline.targets import TargetFiles, TargetSet

_YAML = (".yaml", ".yml")


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
        Where there is no such architecture, or its energies or constraints are not found.
    """
    root = project_root()
    config = project_config(root)
    if config is not None and arch in config.architectures:
        entry = config.architectures[arch]
        found = TargetFiles(
            arch, root / entry.arch, root / entry.energy, root / entry.constraints, constraints or entry.set
        )
    else:
        found = _by_convention(arch, root, constraints or "full", config)
    return replace(found, constraints=None, which="none") if constraints == "none" else found


def _by_convention(arch: str, root: Path, which: str, config: Config | None) -> TargetFiles:
    given = Path(arch)
    path = given if given.suffix in _YAML else root / "arch" / f"{arch}.yaml"
    if not is_file(path):
        known = {child.stem for child in (root / "arch").glob("*.yaml")} | set(config.architectures if config else ())
        allowed = f"{', '.join(sorted(known))} or the path of a YAML file"
        raise InputError(
            Fault("unknown architecture", "--arch", value=arch, allowed=allowed, nearest=nearest(arch, known))
        )
    energy = _beside(path, root, ("energy", "arch/energy"), "energy table")
    limits = _beside(path, root, ("../mappings", "mappings"), "constraints", optional=True)
    return TargetFiles(path.stem, path, energy or path, limits, which if limits else "none")


def _beside(path: Path, root: Path, folders: tuple[str, str], what: str, *, optional: bool = False) -> Path | None:
    for folder in (path.parent / folders[0], root / folders[1]):
        for candidate in (folder / path.name, *sorted(folder.glob(f"{path.stem}-*.yaml"))):
            if candidate.is_file():
                return candidate
    if optional:
        return None
    message = f"no {what} for it: give one by an option, or name the architecture in config/config.yaml"
    raise InputError(Fault(message, str(path), allowed=f"{folders[1]}/{path.stem}*.yaml"))


def load_target(
    arch: str,
    *,
    semantics: str,
    constraints: str | None = None,
    energy: Path | None = None,
    constraints_file: Path | None = None,
) -> TargetSet:
    """Return the target ``arch``, its files replaced by those given."""
    path = Path(arch)
    if energy is not None and path.suffix in _YAML and is_file(path):
        files = TargetFiles(path.stem, path, energy, constraints_file, constraints or "full")
    else:
        files = target_files(arch, constraints)
        if energy is not None:
            files = replace(files, energy=energy)
    if constraints_file is not None:
        files = replace(files, constraints=constraints_file, which=constraints or "full")
    return TargetSet(files, semantics)
