"""Whether results hold another study, which a run must not replace unasked, and what that left behind."""

import logging
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from jouleloop.errors import Fault, InputError, JouleloopError
from jouleloop.files import read_sealed_json, write_sealed_json
from jouleloop.names import safe_name

_LOG = logging.getLogger("jouleloop.study")
_NOTE = "study.json"
#: Folders below the results that have a folder or tables a sweep.
_BY_SWEEP = ("figures", "layers", "architecture", "specs", "capacity")
#: What tells that results stand in a folder.
_ENERGIES = ("energies.parquet", "energies.csv")
#: What a study makes of its tables.
_PAGES = ("summary.json", "verdicts.txt", "report.html", "crosscheck.html")
#: What a user of the workflow may do.
_WAYS = "another folder (jouleloop init), results/ moved away, or --config replace=true"


def claim(
    results: Path,
    sweeps: Collection[str],
    settings: Mapping[str, Any] | None = None,
    architectures: Collection[str] = (),
    *,
    replace: bool = False,
) -> None:
    """Note that the study has the folder; remove what is left of sweeps and architectures that it has no more.

    Raises `InputError` where the folder holds a study without any of these sweeps or with other settings, and
    ``replace`` does not allow for it.

    Parameters
    ----------
    sweeps
        Its sweeps and networks.
    settings
        What makes it a study of its own: its configuration file, and what every number of it depends on. An edit of
        anything else, such as a range or an energy, leaves it the same study.
    """
    wanted = dict(settings or {})
    fault = occupied(results, sweeps, wanted)
    if fault is not None and not replace:
        raise InputError(fault)
    noted = _noted(results)
    before = set(noted.get("sweeps", ()))
    for name in before - set(sweeps):
        for folder in _BY_SWEEP:
            shutil.rmtree(results / folder / safe_name(name), ignore_errors=True)
            for ending in ("csv", "parquet"):
                (results / folder / f"{safe_name(name)}.{ending}").unlink(missing_ok=True)
        for picture in (results / "figures" / "networks").glob(f"{safe_name(name)}_*"):
            picture.unlink()
    for name in set(noted.get("architectures", ())) - set(architectures):
        # A picture of another name with the same end is drawn again.
        for picture in (results / "figures").rglob(f"*_{safe_name(name)}.*"):
            picture.unlink()
    note = {"sweeps": sorted(sweeps), "settings": wanted, "architectures": sorted(architectures)}
    write_sealed_json(results / _NOTE, note)


def claim_alone(
    results: Path,
    sweeps: Collection[str],
    settings: Mapping[str, Any],
    tables: Collection[str] = (),
    *,
    replace: bool = False,
) -> None:
    """Note that a command has the folder, which must be free or hold what the same command wrote.

    Raises `InputError` where it holds other energies, and ``replace`` does not allow for it. Then all ``tables``,
    figures and pages are removed: none of them stays beside energies that it was not made from.
    """
    ways = "another folder by --output, or --replace"
    fault = occupied(results, sweeps, settings, ways=ways)
    held = set(_noted(results).get("sweeps", ()))
    if fault is None and held and held != set(sweeps):
        fault = _fault(results, held, [], ways)
    if fault is None and not held and any((results / name).is_file() for name in _ENERGIES):
        fault = Fault("holds energies of an unknown study, which would be replaced", str(results), allowed=ways)
    if fault is not None:
        if not replace:
            raise InputError(fault)
        _remove_study(results, tables)
    write_sealed_json(results / _NOTE, {"sweeps": sorted(sweeps), "settings": dict(settings), "architectures": []})


def occupied(results: Path, sweeps: Collection[str], settings: Mapping[str, Any], *, ways: str = _WAYS) -> Fault | None:
    """Return why a study must not write into the folder: it holds none of its sweeps, or other settings; or None."""
    noted = _noted(results)
    before = set(noted.get("sweeps", ()))
    differs = [
        f"{key} {_shown(value)}, now {_shown(settings[key])}"
        for key, value in noted.get("settings", {}).items()
        if key in settings and value != settings[key]
    ]
    return _fault(results, before, differs, ways) if before and (differs or not before & set(sweeps)) else None


def _fault(results: Path, before: Collection[str], differs: list[str], ways: str) -> Fault:
    held = "; ".join([", ".join(sorted(before)), *differs])
    return Fault(f"holds another study, whose tables this run would replace ({held})", str(results), allowed=ways)


def _noted(results: Path) -> dict[str, Any]:
    path = results / _NOTE
    try:
        return read_sealed_json(path) if path.is_file() else {}
    except JouleloopError as error:
        _LOG.warning("%s", error)
        return {}


def _remove_study(results: Path, tables: Collection[str]) -> None:
    """Remove the tables, figures and pages of a study, so that its run makes them again; results by content stay."""
    for folder in _BY_SWEEP:
        shutil.rmtree(results / folder, ignore_errors=True)
    for name in (*_PAGES, *(f"{table}.{ending}" for table in tables for ending in ("parquet", "csv"))):
        (results / name).unlink(missing_ok=True)


def _shown(value: Any) -> str:
    return ("+".join(map(str, value)) or "none") if isinstance(value, list) else str(value)
