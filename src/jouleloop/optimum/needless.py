"""Choices of what is kept that no optimum of energy makes: a level keeps what one further out keeps as cheaply.

`docs/search.md` states the lemma: *dominated keeps*.
"""

from collections.abc import Sequence

import numpy as np

from jouleloop.mapspace.space import MapSpace
from jouleloop.model.arrays import NO_ENERGY, Bools, HardwareArrays, Record, Records


def needed(space: MapSpace, hardware: HardwareArrays, side: Records, columns: Sequence[Bools]) -> tuple[Bools, ...]:
    """Return by data space the choices of levels that keep it without those that cost more than another of them.

    Parameters
    ----------
    side
        See `Unrolled.side`.
    columns
        See `MapSpace.columns`.
    """
    levels = hardware.levels
    one_choice = all(len(column) == 1 for column in columns)
    if one_choice or any(space.reuse) or space.arch.spreading or levels["leak_pj"].any():
        return tuple(columns)
    apart = np.array([x * y > 1 for x, y in reversed(space.arch.fanout)])
    charged = (hardware.networks["kind"] != NO_ENERGY).any(axis=1)
    found = []
    for v, (data, column) in enumerate(zip(space.problem.data_spaces, columns, strict=True)):
        known = {row.tobytes() for row in column}
        slides = data.read_write and bool((side["halo"][v] >= 0).any())
        pairs = [
            (inner, outer)
            for outer in range(len(levels))
            for inner in range(outer)
            if not slides
            and not apart[inner + 1 : outer + 1].any()
            and not charged[inner : outer + 1].any()
            and _no_dearer(levels[outer], levels[inner], written=data.read_write)
        ]
        found.append(column[[not any(_spared(row, pair, known) for pair in pairs) for row in column]])
    return tuple(found)


def _no_dearer(outer: Record, inner: Record, *, written: bool) -> bool:
    """Whether what the inner level is asked for costs no more at the outer one, and what passes between them some."""
    passed_pj = outer["update_pj"] if written else inner["write_pj"]
    return bool(
        outer["read_pj"] <= inner["read_pj"]
        and (not written or outer["update_pj"] <= inner["update_pj"])
        and outer["block_words"] >= inner["block_words"]
        and outer["clusters"] <= inner["clusters"]
        and inner["least_words"] == 0.0
        and passed_pj > 0.0
    )


def _spared(row: Bools, pair: tuple[int, int], known: set[bytes]) -> bool:
    """Whether both levels of a pair keep a data space, none between them, and the inner one need not."""
    inner, outer = pair
    if not (row[inner] and row[outer]) or row[inner + 1 : outer].any():
        return False
    without = row.copy()
    without[inner] = False
    return without.tobytes() in known
