"""The mappings of the charted points: loops from the table, tile sizes and accesses from the store of results."""

import contextlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
from pydantic_core import from_json

from jouleloop.errors import InputError
from jouleloop.study.kept import PARTS, Kept
from jouleloop.study.store import ResultStore

#: The numbers of data spaces.
_SPACES = {"Weights": 0, "Inputs": 1, "Outputs": 2}
_COUNTS = ("tile_words", "instances", "reads", "fills", "updates")


@dataclass(frozen=True)
class LoopTexts:
    """Loops of points on one architecture: level names once, the loops of every point as short text."""

    levels: tuple[str, ...]
    """Names, outermost first."""
    texts: tuple[str, ...]
    """A text a point, the levels' loops joined by ``|``, such as ``M256|C16X|M4Y``; empty without a mapping."""


def loops_of(mappings: Iterable[Any]) -> LoopTexts:
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
    return LoopTexts(levels, tuple(texts))


def stored_accesses(
    points: pd.DataFrame, store: Path | None
) -> tuple[dict[int, list[list[list[int]]]], tuple[str, ...]]:
    """Return tile sizes and accesses by the index of a point, for those whose result is stored, and the data spaces.

    For every level outermost first, for every data space kept there: its position among the data spaces, and per
    instance the tile [words], the instances used, and reads, fills and updates [words]. ``points`` are rows of the
    table of energies with the ``key`` of their results, ``store`` is the folder of these. Those of a sweep on an
    architecture are kept beside it, if it can be written to; points of one result share what is found.
    """
    spaces = dict(_SPACES)
    if store is None or "key" not in points.columns:
        return {}, tuple(spaces)
    shared: dict[str, list[list[list[int]]]] = {}
    found: dict[int, list[list[list[int]]]] = {}
    for group, rows in points.groupby(["architecture", "sweep"], sort=False):
        keys = list(map(str, rows["key"]))
        of_key = _of_results("@".join(map(str, group)), list(dict.fromkeys(keys)), store, spaces)
        for index, key in zip(rows.index, keys, strict=True):
            if key in of_key:
                found[int(index)] = shared.setdefault(key, of_key[key])
    return found, tuple(spaces)


def _of_results(name: str, keys: list[str], store: Path, spaces: dict[str, int]) -> dict[str, list[list[list[int]]]]:
    """Return tile sizes and accesses by the key of a result: kept beside the store, or read from it and kept."""
    kept = Kept(store.parent / PARTS, f"accesses-{name}", __name__, keys)
    if kept.is_whole():
        texts = [text for part in kept.parts() for text in part["accesses"]]
        return dict(zip(keys, from_json(f"[{','.join(texts)}]"), strict=True))
    read = ResultStore(store).read(keys)
    found = {key: _accesses(record["evaluation"], spaces) for key, record in read if record.get("evaluation")}
    # Other data spaces are numbered as they are met. Who may only read does without.
    if len(found) == len(keys) and len(spaces) == len(_SPACES):
        with contextlib.suppress(InputError):
            kept.made(lambda: [pa.table({"accesses": [json.dumps(found[key]) for key in keys]})])
    return found


def _accesses(evaluation: Mapping[str, Any], spaces: dict[str, int]) -> list[list[list[int]]]:
    return [
        sorted(
            [spaces.setdefault(space, len(spaces)), *(int(stats[count]) for count in _COUNTS)]
            for space, stats in level["data"].items()
        )
        for level in evaluation["levels"]
    ]
