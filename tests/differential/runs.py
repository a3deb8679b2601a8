"""Stored runs of the real mapper: a case and its optimum a line, compressed where the file's name says so."""

import json
import lzma
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from differential.case import Case
from differential.features import features, used
from differential.real import Outcome
from jouleloop.mapping.mapping import LevelMapping, Mapping

_ANSWER = tuple(Outcome.__dataclass_fields__)


def to_record(case: Case, real: Outcome) -> dict[str, Any]:
    """Return plain data of a run."""
    answer = {key: value for key, value in vars(real).items() if key != "mapping" and value}
    if real.mapping is not None:
        answer["mapping"] = real.mapping.as_json()
    return {"case": case.as_json(), "real": answer}


def from_record(record: dict[str, Any]) -> tuple[Case, Outcome]:
    """Return the run of `to_record`, or of a line that has the answer beside the case instead of under ``real``."""
    answer = dict(record.get("real") or {name: record[name] for name in _ANSWER if name in record})
    levels, case = answer.pop("mapping", None), Case.from_json(record["case"])
    problem = case.problem["problem"]
    sizes = {name: problem["instance"][name] for name in problem["shape"]["dimensions"]} if levels else {}
    mapping = None if levels is None else _mapping(levels, sizes)
    return case, Outcome(**answer, mapping=mapping)


def _mapping(data: list[dict[str, Any]], sizes: dict[str, int]) -> Mapping:
    """Return a mapping from plain data; residual ends follow from the sizes."""
    levels = tuple(map(_level, data))
    ends = {d: math.prod(end for level in levels for other, end in level.loops if other == d) for d in sizes}
    early = [(d, sizes[d]) for d, end in ends.items() if end != sizes[d]]
    return Mapping(levels, tuple(early))


def _level(data: dict[str, Any]) -> LevelMapping:
    temporal, spatial = (tuple(tuple(loop[:n]) for loop in data[kind]) for kind, n in (("temporal", 2), ("spatial", 3)))
    return LevelMapping(data["level"], temporal, spatial, frozenset(data["keep"]))


def read_records(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a file."""
    raw = path.read_bytes()
    text = (lzma.decompress(raw) if path.suffix == ".xz" else raw).decode("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def write_records(path: Path, records: Iterable[dict[str, Any]]) -> None:
    """Write a file; compressed where its name ends in ``.xz``."""
    lines = "".join(json.dumps(record, separators=(",", ":")) + "\n" for record in records)
    raw = lines.encode("utf-8")
    path.write_bytes(lzma.compress(raw, preset=9 | lzma.PRESET_EXTREME) if path.suffix == ".xz" else raw)


def features_of(case: Case, real: Outcome) -> list[str]:
    """Return what a case has, and what its optimum makes use of."""
    found = features(case)
    if real.mapping is not None:
        found += used(case, real.mapping)
    if real.links:
        found.append("optimum: words from neighbours")
    if real.status == "no_mapping":
        found.append("optimum: none, no mapping fits")
    return found
