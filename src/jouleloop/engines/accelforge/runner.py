"""The part of the engine ``accelforge`` that runs under the Python in which accelforge is installed.

A script, not a module of the package: it must import nothing of jouleloop. Called with ``--version`` it prints what is
installed; called with a folder it reads ``request.json`` and ``specification.yaml`` there and leaves ``answer.json``.
"""

import importlib
import json
import os
import sys
import traceback
from importlib import metadata
from pathlib import Path
from typing import Any

#: What accelforge says where nothing satisfies the constraints.
_UNMAPPABLE = ("no pmappings", "no mappings found")


def version() -> dict[str, str]:
    """Return the versions of accelforge and Python."""
    return {"accelforge": metadata.version("accelforge"), "python": ".".join(map(str, sys.version_info[:3]))}


def answer(folder: Path) -> dict[str, Any]:
    """Return the answer to the request in ``folder``; an exception of accelforge is an answer as well."""
    request = json.loads((folder / "request.json").read_text(encoding="utf-8"))
    try:
        accelforge = importlib.import_module("accelforge")
        evaluate_mapping = importlib.import_module("accelforge.model.main").evaluate_mapping
        accelforge.set_n_parallel_jobs(1)
        path = str(folder / "specification.yaml")
        found: dict[str, Any] = {}
        specification = accelforge.Spec.from_yaml(path)
        specification.model.metrics = accelforge.Metrics.all_metrics()
        if request["action"] == "search":
            best, found = _search(accelforge, path, request)
            specification.mapping = best
        evaluated = evaluate_mapping(specification)
        row = evaluated.data.iloc[0]
        return {
            "status": "ok",
            "reason": "",
            "nodes": _nodes(specification.mapping.nodes),
            "numbers": {str(name): float(row[name]) for name in row.index if _is_number(row[name])},
            **found,
            **version(),
        }
    except Exception as error:
        text = " ".join(str(error).split())
        unmappable = any(phrase in text.lower() for phrase in _UNMAPPABLE)
        return {
            "status": "no_mapping" if unmappable else "failed",
            "reason": f"{type(error).__name__}: {text}"[:2000],
            "traceback": traceback.format_exc()[-4000:],
        }


def _search(accelforge: Any, path: str, request: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    ffm = importlib.import_module("accelforge.mapper.FFM.main")
    specification = accelforge.Spec.from_yaml(path)
    mapper = specification.mapper
    mapper.metrics = accelforge.Metrics.ENERGY
    mapper.explore_imperfect_spatial_loops = bool(request["imperfect"])
    mapper.explore_imperfect_temporal_loops = bool(request["imperfect"])
    parts = ffm.make_pmappings(specification, print_progress=False)
    joined = ffm.join_pmappings(parts, metrics=mapper.metrics, print_progress=False)
    energies = joined.data["Total<SEP>energy"]
    best = joined.data.iloc[int(energies.to_numpy().argmin())]["Total<SEP>mapping"](_for_model=True)
    sizes = {"mapspace_size": int(parts.n_total_pmappings()), "visited": int(parts.n_evaluated_pmappings())}
    return best, {**sizes, "search_energy_pj": float(energies.min())}


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return not isinstance(value, str)


def _nodes(nodes: Any) -> list[dict[str, Any]]:
    """Return storage and loop nodes, outermost first, as plain data."""
    found: list[dict[str, Any]] = []
    for node in nodes:
        kind = type(node).__name__
        if kind == "Storage":
            tensors = sorted(map(str, node.tensors))
            found.append({"kind": "storage", "level": str(node.component), "tensors": tensors})
        elif kind in ("Temporal", "Spatial"):
            entry = {"kind": kind.lower(), "dimension": str(node.rank_variable), "tile": float(node.tile_shape)}
            if kind == "Spatial":
                entry |= {"axis": str(node.name), "level": str(node.component)}
            found.append(entry)
    return found


def main() -> None:
    """Answer, and leave the answer whole or not at all."""
    if sys.argv[1:] == ["--version"]:
        sys.stdout.write(json.dumps(version()) + "\n")
        return
    folder = Path(sys.argv[1])
    part = folder / "answer.json.part"
    part.write_text(json.dumps(answer(folder)), encoding="utf-8")
    os.replace(part, folder / "answer.json")  # noqa: PTH105 - the same on every version


if __name__ == "__main__":
    main()
