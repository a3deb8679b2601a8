"""Whether results hold another study, which a run must not replace unasked, and what that left behind."""

import contextlib
import shutil
from collections.abc import Collection
from pathlib import Path

from jouleloop.errors import Fault, InputError, JouleloopError
from jouleloop.files import read_json, write_json
from jouleloop.names import safe_name

_NOTE = "study.json"
#: Folders below the results that have a folder or tables a sweep.
_BY_SWEEP = ("figures", "layers", "architecture", "specs")


def claim(results: Path, sweeps: Collection[str], *, replace: bool = False) -> None:
    """Note that the study of these sweeps and networks has the folder; remove what is left of sweeps it has no more.

    Raises
    ------
    InputError
        Where the folder holds a study without any of them, and ``replace`` does not allow for it.
    """
    before: set[str] = set()
    with contextlib.suppress(JouleloopError):
        noted = read_json(results / _NOTE)
        before = set(noted["sweeps"]) if isinstance(noted, dict) else set()
    if before and not before & set(sweeps) and not replace:
        names = ", ".join(sorted(before))
        allowed = "another folder (jouleloop init), results/ moved away, or --config replace=true"
        raise InputError(
            Fault("holds another study, whose tables this run would replace", str(results), None, names, allowed)
        )
    for name in before - set(sweeps):
        for folder in _BY_SWEEP:
            shutil.rmtree(results / folder / safe_name(name), ignore_errors=True)
            for ending in ("csv", "parquet"):
                (results / folder / f"{safe_name(name)}.{ending}").unlink(missing_ok=True)
        for picture in (results / "figures" / "networks").glob(f"{safe_name(name)}_*"):
            picture.unlink()
    write_json(results / _NOTE, {"sweeps": sorted(sweeps)})
