"""Where words pass through a level, and what is kept besides; see `docs/search.md`."""

import numpy as np

from jouleloop.errors import Fault, InputError, raise_all
from jouleloop.mapspace.space import MapSpace
from jouleloop.model.arrays import Bools


def bypass_passed(space: MapSpace) -> tuple[Bools, tuple[Bools, ...]]:
    """Return where words pass through (levels, data spaces), and the choices of what is kept without those levels.

    What passes through a level costs what it would beside it, and the accesses of the level (`docs/search.md`): so
    bounds hold that take it for bypassed.

    Raises `InputError` where no level is left, where Timeloop ends.
    """
    faults: list[Fault] = []
    names = [data.name for data in space.problem.data_spaces]
    passed = np.zeros((len(space.reuse), len(names)), np.bool_)
    columns: list[Bools] = []
    for v, (name, column) in enumerate(zip(names, space.columns, strict=True)):
        for k, reuse in enumerate(space.reuse):
            if name in reuse.no_coalesce and column[:, k].any():
                passed[k, v] = True
        rest = column & ~passed[:, v]
        columns.append(rest[rest.any(axis=1)])
        if not len(columns[-1]):
            text = "words pass through every level that keeps a data space, where Timeloop ends"
            faults.append(Fault(text, field=name))
    raise_all(faults, InputError)
    return passed, tuple(columns)
