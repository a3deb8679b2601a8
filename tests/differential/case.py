"""One case: the documents that both programs read, and what is asked of them."""

import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

#: Documents of a case by file name, in the order in which Timeloop gets them.
DOCUMENTS = ("arch", "problem", "constraints", "ert", "art")
#: Classes of networks.
NETWORKS = ("XY_NoC", "Legacy", "ReductionTree", "SimpleMulticast")
OBJECTIVES = ("energy", "delay", "edp")
SEMANTICS = ("timeloop-3.0.3", "timeloop-2023-04", "timeloop-4", "timeloop-2024")
#: Those of the main branch since September 2023.
LATER = SEMANTICS[2:]


@dataclass(frozen=True)
class Case:
    """A design, a problem, constraints, energies and a question.

    Attributes
    ----------
    name
        Where it comes from, such as ``general-17``.
    arch, problem, constraints, ert
        The contents of Timeloop's files.
    objective
        One of `OBJECTIVES`.
    semantics
        One of `SEMANTICS`.
    """

    name: str
    arch: dict[str, Any]
    problem: dict[str, Any]
    constraints: dict[str, Any]
    ert: dict[str, Any]
    objective: str = "energy"
    semantics: str = "timeloop-3.0.3"

    def art(self) -> dict[str, Any]:
        """Return an area table; Timeloop wants one beside the energies, and areas change nothing."""
        names = [table["name"] for table in self.ert["ERT"]["tables"]]
        return {"ART": {"version": 0.3, "tables": [{"name": name, "area": 0} for name in names]}}

    def mapper(self) -> dict[str, Any]:
        """Return the settings under which the mapper visits its whole mapspace."""
        return {
            "mapper": {
                "algorithm": "linear-pruned",
                "optimization-metrics": [self.objective],
                "num-threads": 1,
                # Timeloop 4 stops at the first invalid mapping where the others take 0 for never.
                "timeout": 2**32 - 1 if self.semantics in LATER else 0,
                "victory-condition": 0,
                "live-status": False,
                "log-stats": True,
            }
        }

    def as_json(self) -> dict[str, Any]:
        """Return the case as plain data."""
        return dict(vars(self))

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Case":
        """Return the case of `as_json`."""
        return cls(**{key: data[key] for key in cls.__dataclass_fields__})

    def write(self, folder: Path, *, for_mapper: bool = False) -> list[Path]:
        """Write the documents into ``folder``, return their paths; ``for_mapper`` see `unhindered`."""
        folder.mkdir(parents=True, exist_ok=True)
        constraints = unhindered(self) if for_mapper else self.constraints
        contents = {
            "arch": self.arch,
            "problem": self.problem,
            "constraints": constraints,
            "ert": self.ert,
            "art": self.art(),
            "mapper": self.mapper(),
        }
        paths = []
        for name, content in contents.items():
            paths.append(folder / f"{name}.yaml")
            paths[-1].write_text(dump(content), encoding="utf-8")
        (folder / "case.json").write_text(json.dumps(self.as_json()) + "\n", encoding="utf-8")
        return paths


def dump(content: Any) -> str:
    """Return YAML as Timeloop reads it."""
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    return str(yaml.dump(content, Dumper=dumper, sort_keys=False, width=120, default_flow_style=None))


def read_case(folder: Path) -> Case:
    """Return the case in a folder, also one that holds only the documents and the mapper's file."""
    if (folder / "case.json").exists():
        return Case.from_json(json.loads((folder / "case.json").read_text(encoding="utf-8")))
    loaded = {
        name: yaml.safe_load((folder / f"{name}.yaml").read_text(encoding="utf-8"))
        for name in ("arch", "problem", "constraints", "ert", "mapper")
    }
    metrics = loaded.pop("mapper")["mapper"]["optimization-metrics"]
    return Case(folder.name, **loaded, objective=metrics[0])


def components(case: Case) -> list[dict[str, Any]]:
    """Return the components, outermost first, each with its number of ``instances`` and mesh (``x``, ``y``).

    Source: Timeloop ``src/model/topology.cpp``, ``ParseTreeSpecs``, and ``src/model/engine.cpp``.
    """
    found = []
    tree, count = case.arch["architecture"], 1
    while True:
        for item in tree.get("local") or []:
            if item["class"] in NETWORKS:
                continue
            name, size = split_range(item["name"])
            attributes = {key.replace("-", "_"): value for key, value in (item.get("attributes") or {}).items()}
            instances = attributes.get("instances", count * size)
            x, y = attributes.get("meshX"), attributes.get("meshY")
            x = x if x is not None else instances // (y or 1)
            found.append(
                {
                    "name": name,
                    "class": item["class"],
                    "instances": instances,
                    "x": x,
                    "y": y if y is not None else instances // x,
                    "attributes": attributes,
                }
            )
        if not tree.get("subtree"):
            return found
        tree = tree["subtree"][0]
        count *= split_range(tree["name"])[1]


def split_range(text: str) -> tuple[str, int]:
    """Return the name and the number of instances of ``buffer[0..3]``."""
    name, _, rest = text.partition("[")
    return name, int(rest.rstrip("]").split("..")[1]) + 1 if rest else 1


def fanouts(case: Case) -> list[tuple[str, int, int]]:
    """Return name and fan-out (X, Y) of every storage level, outermost first."""
    parts = components(case)
    return [
        (outer["name"], inner["x"] // outer["x"], inner["y"] // outer["y"])
        for outer, inner in itertools.pairwise(parts)
    ]


def targets(constraints: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return all targets of a constraints document."""
    found: list[dict[str, Any]] = []
    for section in ("mapspace_constraints", "mapspace", "architecture_constraints", "constraints"):
        part = constraints.get(section) or []
        found += part if isinstance(part, list) else part.get("targets") or []
    return found


def unhindered(case: Case) -> dict[str, Any]:
    """Return the constraints with ``split: 0`` where Timeloop 3.0.3 would not visit all of a fan-out along Y.

    Where neither permutation nor split is given at a fan-out along Y alone, ``PermutationSpace`` keeps the canonical
    order of all dimensions while ``SpatialSplitSpace`` counts split points as if loops of bound 1 came first
    (``src/mapspaces/subspaces.cpp``), so most choices of loops never come to lie on Y.
    """
    constraints: dict[str, Any] = json.loads(json.dumps(case.constraints))
    missing = []
    for name, x, y in fanouts(case):
        if x > 1 or y == 1:
            continue
        given = [t for t in targets(constraints) if t["target"] == name and t["type"] == "spatial"]
        if any(t.get("permutation") or t.get("split") is not None for t in given):
            continue
        if given:
            given[0]["split"] = 0
        else:
            missing.append({"target": name, "type": "spatial", "split": 0})
    if missing:
        constraints.setdefault("mapspace_constraints", {}).setdefault("targets", []).extend(missing)
    return constraints
