"""The mappings of the charted points: loops from the table, tile sizes and accesses from the store of results."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from jouleloop.study.store import ResultStore

_COUNTS = ("tile_words", "instances", "reads", "fills", "updates")


@dataclass(frozen=True)
class Loops:
    """Loops of points on one architecture: level names once, the loops of every point as short text."""

    levels: tuple[str, ...]
    """Names, outermost first."""
    texts: tuple[str, ...]
    """A text a point, the levels' loops joined by ``|``, such as ``M256|C16X|M4Y``; empty without a mapping."""


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
    points: pd.DataFrame, store: Path | None
) -> tuple[dict[int, list[list[list[int]]]], tuple[str, ...]]:
    """Return tile sizes and accesses by the index of a point, for those whose result is stored, and the data spaces.

    For every level outermost first, for every data space kept there: its position among the data spaces, and per
    instance the tile [words], the instances used, and reads, fills and updates [words]. ``points`` are rows of the
    table of energies with the ``key`` of their results, ``store`` is the folder of these.
    """
    spaces: dict[str, int] = {"Weights": 0, "Inputs": 1, "Outputs": 2}
    if store is None or "key" not in points.columns:
        return {}, tuple(spaces)
    wanted: dict[str, list[int]] = {}
    for index, key in zip(points.index, points["key"], strict=True):
        wanted.setdefault(str(key), []).append(int(index))
    found: dict[int, list[list[list[int]]]] = {}
    for key, record in ResultStore(store).read(wanted):
        if record.get("evaluation"):
            found |= dict.fromkeys(wanted[key], _accesses(record["evaluation"], spaces))
    return found, tuple(spaces)


def _accesses(evaluation: Mapping[str, Any], spaces: dict[str, int]) -> list[list[list[int]]]:
    return [
        sorted(
            [spaces.setdefault(space, len(spaces)), *(int(stats[count]) for count in _COUNTS)]
            for space, stats in level["data"].items()
        )
        for level in evaluation["levels"]
    ]
