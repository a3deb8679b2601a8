"""The mappings of the charted points: loops from the table, tile sizes and accesses from the store of results."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from jouleloop.study.store import ResultStore
from jouleloop.workload.layer import Layer

SPACES = ("Weights", "Inputs", "Outputs")
_SIZES = ("C", "M", "R", "S", "N", "P", "Q", "w_stride", "h_stride", "groups")
_COUNTS = ("tile_words", "instances", "reads", "fills", "updates")


@dataclass(frozen=True)
class Loops:
    """Loops of points on one architecture: level names once, the loops of every point as short text.

    Attributes
    ----------
    levels
        Names, outermost first.
    texts
        A text a point, the levels' loops joined by ``|``, such as ``M256|C16X|M4Y``; empty without a mapping.
    """

    levels: tuple[str, ...]
    texts: tuple[str, ...]


def loops_of(mappings: Iterable[Any]) -> Loops:
    """Return the loops of the table's ``mapping`` column."""
    levels: tuple[str, ...] = ()
    texts = []
    for text in mappings:
        if not isinstance(text, str) or not text:
            texts.append("")
            continue
        parts = [part.strip().partition(" ") for part in text.split("|")]
        levels = levels or tuple(part[0] for part in parts)
        texts.append("|".join(part[2] for part in parts))
    return Loops(levels, tuple(texts))


def stored_accesses(
    points: pd.DataFrame, timings: pd.DataFrame | None, store: Path | None
) -> dict[int, list[list[list[int]]]]:
    """Return tile sizes and accesses by the index of a point, for those whose result is stored.

    Parameters
    ----------
    points
        Rows of the table of energies.
    timings
        Table with the key of every result, by architecture and canonical layer.
    store
        Folder of the results.

    Returns
    -------
    dict
        For every level outermost first, for every data space kept there: its position in `SPACES`, and per instance the
        tile [words], the instances used, and reads, fills and updates [words].
    """
    if timings is None or store is None or not {"architecture", "layer", "key"} <= set(timings.columns):
        return {}
    known = {(str(a), str(n)): str(k) for a, n, k in timings[["architecture", "layer", "key"]].itertuples(index=False)}
    wanted: dict[str, list[int]] = {}
    if not {"architecture", *_SIZES} <= set(points.columns):
        return {}
    for index, architecture, *sizes in points[["architecture", *_SIZES]].itertuples():
        for name in _names(dict(zip(_SIZES, sizes, strict=True))):
            key = known.get((str(architecture), name))
            if key is not None:
                wanted.setdefault(key, []).append(int(index))
                break
    found: dict[int, list[list[list[int]]]] = {}
    for key, record in ResultStore(store).read(wanted):
        if record.get("evaluation"):
            accesses = _accesses(record["evaluation"])
            found |= dict.fromkeys(wanted[key], accesses)
    return found


def _names(sizes: Mapping[str, Any]) -> list[str]:
    """Return the canonical names that the layer of these sizes may have."""
    plain: dict[str, Any] = {key: int(value) for key, value in sizes.items()}
    flat = all(plain[key] == 1 for key in ("R", "S", "P", "Q", "w_stride", "h_stride", "groups"))
    return [Layer(kind, **plain).spec() for kind in (("fc", "conv") if flat else ("conv",))]


def _accesses(evaluation: Mapping[str, Any]) -> list[list[list[int]]]:
    return [
        [
            [position, *(int(level["data"][space][count]) for count in _COUNTS)]
            for position, space in enumerate(SPACES)
            if space in level["data"]
        ]
        for level in evaluation["levels"]
    ]
