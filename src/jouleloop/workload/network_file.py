"""Writing a network file: its distinct layers with their multiplicity, under names that tables can use."""

import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from jouleloop.errors import Fault, InputError, raise_all
from jouleloop.files import write_yaml
from jouleloop.validation import validate
from jouleloop.workload.kinds import OWN
from jouleloop.workload.onnx_operands import ImportedLayer
from jouleloop.workload.problem import Problem
from jouleloop.workload.sizes import layer_from_sizes
from jouleloop.workload.sweep_schema import NAME_PATTERN, NetworkFile
from jouleloop.workload.timeloop_problem import read_problem

_LONGEST_NAME = 60


def network_document(
    layers: Iterable[tuple[ImportedLayer, int]],
    name: str,
    *,
    description: str = "",
    chains: Iterable[Sequence[ImportedLayer]] | None = None,
) -> dict[str, Any]:
    """Return a network file's content.

    Raises `InputError` where there is no layer, or a layer's sizes are none that the model can take.

    ``layers`` are distinct, each with how often the network runs it. ``name`` is what the file will be called; it is
    written into it only where it is no valid name by itself. ``chains`` are layers that run one after the other.
    """
    document: dict[str, Any] = {} if re.match(NAME_PATTERN, name) else {"name": _safe(name, "network")}
    document["description"] = description
    entries: list[dict[str, Any]] = []
    used: set[str] = set()
    labels: dict[Any, str] = {}
    faults: list[Fault] = []
    for layer, count in layers:
        labels[layer.key] = label = _unused(_safe(layer.node, layer.kind), used)
        entry: dict[str, Any] = {"name": label, "kind": layer.kind}
        entries.append(entry | ({"count": count} if count > 1 else {}) | {"sizes": layer.sizes})
        try:
            layer_from_sizes(layer.kind, layer.sizes, name=label, rounding="floor")
        except InputError as error:
            faults += [Fault(f.message, f.source, f"{layer.node}, {f.field}", f.value, f.allowed) for f in error.faults]
    raise_all(faults)
    document["layers"] = entries
    if chains is not None:
        runs = Counter(tuple(labels[layer.key] for layer in chain) for chain in chains)
        document["chains"] = [{"layers": list(names), "count": count} for names, count in runs.items()]
    validate(NetworkFile, document, name)
    return document


def problems_document(files: Sequence[Path], path: Path) -> tuple[dict[str, Any], int]:
    """Return what a network file at ``path`` holds of Timeloop problem files, and the multiply-accumulates of all.

    Equal problems are one layer, named after the first of their files, with their number.

    Raises `InputError`, with what is wrong with each of the files.
    """
    faults: list[Fault] = []
    found: dict[Problem, list[Path]] = {}
    for file in files:
        try:
            found.setdefault(replace(read_problem(file), name=""), []).append(file)
        except InputError as error:
            faults += error.faults
    raise_all(faults)
    used: set[str] = set()
    entries: list[dict[str, Any]] = []
    for same in found.values():
        shape = os.path.relpath(same[0].resolve(), path.parent.resolve())
        count = {"count": len(same)} if len(same) > 1 else {}
        entries.append({"name": _unused(_safe(same[0].stem, "layer"), used), "kind": OWN, "shape": shape, **count})
    document = {"description": f"{len(files)} Timeloop problem files.", "layers": entries}
    validate(NetworkFile, document, str(path))
    return document, sum(problem.macs * len(same) for problem, same in found.items())


def network_macs(document: dict[str, Any]) -> int:
    """Return the multiply-accumulate operations of one run of the whole network."""
    return sum(
        layer_from_sizes(entry["kind"], entry["sizes"], rounding="floor")[0].macs * int(entry.get("count", 1))
        for entry in document["layers"]
    )


def write_network(path: Path, document: dict[str, Any]) -> None:
    """Write the network file whole or not at all."""
    write_yaml(path, document)


def _safe(text: str, otherwise: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", text).strip("_.-")[-_LONGEST_NAME:].lstrip("_.-") or otherwise


def _unused(label: str, used: set[str]) -> str:
    """Return ``label``, or with a number where it is used already, and note it."""
    found, number = label, 1
    while found in used:
        number += 1
        ending = f"_{number}"
        found = label[: _LONGEST_NAME - len(ending)] + ending
    used.add(found)
    return found
