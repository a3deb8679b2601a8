"""Names that stand in quotes are written like those without."""

from pathlib import Path

import jouleloop as jl
from jouleloop.cli.notes import narrower
from jouleloop.engines.timeloop.inputs import write_search

FILES = {
    "design": """
architecture:
  version: 0.4
  nodes:
  - !Container {name: "system", attributes: {technology: "45nm", global_cycle_seconds: 1e-9}}
  - !Component {name: "DRAM", class: "DRAM", attributes: {"type": "LPDDR4", width: 64, datawidth: 8}}
  - !Container {name: "lanes", spatial: {meshX: 4}}
  - !Component
    name: "buffer"
    class: "regfile"
    attributes: {depth: 16, width: 8, datawidth: 8}
    constraints: {"temporal": {"factors": ["M=1"]}, "dataspace": {"keep": ["Weights"]}}
  - !Component {name: "mac", class: "intmac", attributes: {multiplier_width: 8, adder_width: 16}}
""",
    "problem": """
"problem":
  "shape":
    "name": "product"
    "dimensions": ["C", "M"]
    "data_spaces":
    - {"name": "Weights", "projection": [[["C"]], [["M"]]]}
    - {"name": "Inputs", "projection": [[["C"]]]}
    - {"name": "Outputs", "projection": [[["M"]]], "read_write": true}
  "instance": {"C": 8, "M": 6}
""",
    "constraints": """
"constraints":
- {"target": "DRAM", "type": "spatial", "permutation": "CM", "split": 1}
""",
}


def written(folder: Path, *, quotes: bool) -> tuple[str, list[str], str, list[str]]:
    """Return what is written of the optimum: its mapping, lines that would cut the space, and Timeloop's inputs."""
    folder.mkdir()
    for name, text in FILES.items():
        (folder / f"{name}.yaml").write_text(text if quotes else text.replace('"', ""), encoding="utf-8")
    files = {name: folder / f"{name}.yaml" for name in FILES}
    found = jl.search(files["design"], files["problem"], constraints=files["constraints"])
    own = folder / "own"
    own.mkdir()
    names = write_search(own, found.problem, found.architecture.target(found.problem), {})
    inputs = [(own / name).read_text(encoding="utf-8") for name in names]
    return found.to_timeloop(), narrower(found), found.timeloop_input(), inputs


def test_what_is_written_is_the_same_with_quotes_and_without(tmp_path: Path) -> None:
    quoted = written(tmp_path / "quoted", quotes=True)
    assert quoted == written(tmp_path / "plain", quotes=False)
    assert len(quoted[1]) > 1
