"""Whether results hold another study, which a run must not replace unasked, and what that left behind."""

import contextlib
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from jouleloop.errors import Fault, InputError, JouleloopError
from jouleloop.files import read_json, write_json
from jouleloop.names import safe_name

_NOTE = "study.json"
#: Folders below the results that have a folder or tables a sweep.
_BY_SWEEP = ("figures", "layers", "architecture", "specs")


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
    noted: dict[str, Any] = {}
    with contextlib.suppress(JouleloopError):
        found = read_json(results / _NOTE)
        noted = found if isinstance(found, dict) else {}
    before, wanted = set(noted.get("sweeps", ())), dict(settings or {})
    differs = [
        f"{key} {_shown(value)}, now {_shown(wanted[key])}"
        for key, value in noted.get("settings", {}).items()
        if key in wanted and value != wanted[key]
    ]
    if before and not replace and (differs or not before & set(sweeps)):
        held = "; ".join([", ".join(sorted(before)), *differs])
        allowed = "another folder (jouleloop init), results/ moved away, or --config replace=true"
        raise InputError(
            Fault("holds another study, whose tables this run would replace", str(results), None, held, allowed)
        )
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
    write_json(results / _NOTE, note)


def _shown(value: Any) -> str:
    return "+".join(map(str, value)) if isinstance(value, list) else str(value)
