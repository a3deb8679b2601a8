"""Where the bounds hold although a level does not reuse all, or a network takes energy; see `docs/search.md`."""

import numpy as np

from jouleloop.errors import Fault, InputError, raise_all
from jouleloop.mapspace.space import MapSpace
from jouleloop.model.arrays import Bools, Ints
from jouleloop.model.semantics import Rules
from jouleloop.optimum.arrays import HALO


def check_reuse(space: MapSpace, side: Ints, rules: Rules) -> None:
    """Refuse what levels do not reuse where a mapping could cost less than its bound.

    Raises `InputError` where a version does not know a rule, ingresses may be counted below 0, or neighbours could hand
    on the whole windows that a level without temporal reuse fetches in every step.

    Parameters
    ----------
    side
        See `jouleloop.optimum.arrays.Unrolled.side`, over all dimensions of the problem.
    """
    faults: list[Fault] = []
    slides = np.any(side[:, :, HALO] >= 0, axis=1)
    windows = {data.name for data, has in zip(space.problem.data_spaces, slides, strict=True) if has}
    for k, reuse in enumerate(space.reuse):
        level = space.arch.level_names[len(space.reuse) - 1 - k]
        if reuse.later and not rules.later:
            text = "rmw_first_update and no_coalesce are known since September 2023"
            faults.append(Fault(text, None, level, reuse.as_dict(), "semantics timeloop-2024 or timeloop-4"))
        position = space.arch.levels[len(space.reuse) - 1 - k]
        ingress_pj = position.networks[-1].ingress_pj
        if ingress_pj and not position.reduces and space.spatial[k] is not None and _in_groups(space, k, windows):
            text = "no search is proven for ingresses that cost energy below a fan-out of a level that cannot add"
            where = ", where outputs have windows, go to the units or through M:N networks"
            faults.append(Fault(text + where, field=level, value=ingress_pj, allowed="energy-per-ingress 0"))
        outer = k + 1
        if outer < len(space.reuse) and space.spatial[outer] is not None:
            linked = (reuse.no_temporal_reuse & windows) - space.reuse[outer].no_link_transfer
            if linked:
                text = "no search is proven for windows that are not reused below a fan-out with links"
                named = ", ".join(sorted(linked))
                faults.append(Fault(text, field=level, value=named, allowed="no_link_transfer at the level outside"))
    raise_all(faults, InputError)


def _in_groups(space: MapSpace, k: int, windows: set[str]) -> bool:
    """Whether outputs below a level may go in several groups, of which each is spared the partition once.

    One group holds all words, which are no fewer than the partition: links serve no data space that shares no rank, but
    at the units and below a level that reuses nothing. What is carried for other instances may be fewer.
    """
    reuse = space.reuse
    written = {data.name for data in space.problem.data_spaces if data.read_write}
    linked = written - reuse[k].no_link_transfer
    stateless = linked if k == 0 else linked & reuse[k - 1].no_temporal_reuse
    later = any(rules.later for rules in reuse)
    return bool(later or stateless or written & windows or space.arch.spreading)


def bypass_passed(space: MapSpace) -> tuple[Bools, tuple[Bools, ...]]:
    """Return where words pass through (levels, data spaces), and the choices of what is kept without those levels.

    What passes through a level costs what it would beside it, and the accesses of the level (`docs/search.md`): so
    bounds hold that take it for bypassed.

    Raises `InputError` where a level may keep or bypass what passes through it, or no level is left, where Timeloop
    ends.
    """
    faults: list[Fault] = []
    names = [data.name for data in space.problem.data_spaces]
    passed = np.zeros((len(space.reuse), len(names)), np.bool_)
    columns: list[Bools] = []
    for v, (name, column) in enumerate(zip(names, space.columns, strict=True)):
        for k, reuse in enumerate(space.reuse):
            if name in reuse.no_coalesce and column[:, k].any():
                passed[k, v] = True
                level = space.arch.levels[len(space.reuse) - 1 - k]
                if level.min_utilization:
                    text = "no search is proven where words pass through a level that has to hold some"
                    faults.append(Fault(text, None, level.name, level.min_utilization, "min_utilization 0"))
                if not column[:, k].all():
                    text = "no search is proven where words pass through a level or bypass it"
                    faults.append(Fault(text, None, level.name, name, "keep or bypass in the constraints"))
        rest = column & ~passed[:, v]
        columns.append(rest[rest.any(axis=1)])
        if not len(columns[-1]):
            text = "words pass through every level that keeps a data space, where Timeloop ends"
            faults.append(Fault(text, field=name))
    raise_all(faults, InputError)
    return passed, tuple(columns)
