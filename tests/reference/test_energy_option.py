"""Energy reference tables by Accelergy, the authors' and the exercises', through the option ``--energy``."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from jouleloop.cli.app import app
from paths import REFERENCE, ROOT

EXERCISES = REFERENCE / "exercises"
RUNS = REFERENCE / "timeloop_runs"
DESIGNS = ("eyeriss_like", "simba_like", "simple_output_stationary", "simple_weight_stationary")
TUTORIALS = ("conv1d_3level_bypass", "conv1d_3level_no_bypass", "conv1d_3level_null")


def evaluate(*options: object) -> dict[str, Any]:
    result = CliRunner().invoke(app, ["evaluate", *map(str, options), "--json"])
    assert result.exit_code == 0, result.output
    answer: dict[str, Any] = json.loads(result.stdout)
    return answer


def actions(path: Path) -> set[str]:
    tables = yaml.safe_load(path.read_text())["ERT"]["tables"]
    return {action["name"] for table in tables for action in table["actions"]}


@pytest.mark.parametrize(("name", "energy_pj"), [("eyeriss", 17767761.20576), ("simba", 10490797.896634)])
def test_the_authors_tables(name: str, energy_pj: float) -> None:
    # Accelergy 0.3 knows no update; the totals are those of timeloop-mapper, docs in timeloop_runs/README.md.
    table = RUNS / f"fc_{name}_1024x128.ERT.yaml"
    assert "update" not in actions(table)
    mapping = ROOT / "mappings" / "examples" / f"{name}-fc-1024x128.yaml"
    found = evaluate("--arch", name, "--layer", "fc:1024x128", "--mapping", mapping, "--energy", table)
    assert found["evaluation"]["energy_pj"] == pytest.approx(energy_pj, rel=1e-12)


@pytest.mark.parametrize("name", [*DESIGNS, *TUTORIALS])
def test_the_exercises_tables(name: str) -> None:
    folder = EXERCISES / name
    problem = folder / "problem.yaml" if name in TUTORIALS else EXERCISES / "problem.yaml"
    files = ("--arch", folder / "arch.yaml", "--layer", problem, "--mapping", folder / "map.yaml")
    found = evaluate(*files, "--energy", folder / "ERT.yaml")
    stats = json.loads((folder / "stats.json").read_text())
    assert found["evaluation"]["cycles"] == stats["cycles"]
    for level in found["evaluation"]["levels"]:
        for space, counts in level["data"].items():
            wanted = stats["levels"].get(level["name"], {"data": {}})["data"].get(space)
            if wanted is not None:
                assert counts["energy_pj"] == pytest.approx(wanted["energy_pj"], abs=0.006)


def test_a_table_without_update_gives_the_same_energies(tmp_path: Path) -> None:
    # Timeloop never looks the action update up: with it, without it or with another energy the result is one.
    folder = EXERCISES / "simba_like"
    files = ("--arch", folder / "arch.yaml", "--layer", EXERCISES / "problem.yaml", "--mapping", folder / "map.yaml")
    energies = []
    for factor in (1.0, 3.0, None):
        data = yaml.safe_load((folder / "ERT.yaml").read_text())
        for table in data["ERT"]["tables"]:
            table["actions"] = [a for a in table["actions"] if a["name"] != "update" or factor is not None]
            for action in table["actions"]:
                action["energy"] = float(action["energy"]) * (factor or 1.0 if action["name"] == "update" else 1.0)
        (tmp_path / "ERT.yaml").write_text(yaml.safe_dump(data))
        energies.append(evaluate(*files, "--energy", tmp_path / "ERT.yaml")["evaluation"]["energy_pj"])
    assert len(set(energies)) == 1


def test_a_file_with_architecture_and_table_needs_no_option(tmp_path: Path) -> None:
    design = yaml.safe_load((EXERCISES.parent / "attributes" / "design.yaml").read_text())
    for name in ("arch", "problem", "mapping"):
        more = design["ert"] if name == "arch" else {}
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump({**design[name], **more}))
    (tmp_path / "ert.yaml").write_text(yaml.safe_dump(design["ert"]))
    options = [
        f"--{key}={tmp_path / name}.yaml"
        for key, name in (("arch", "arch"), ("layer", "problem"), ("mapping", "mapping"))
    ]
    own = evaluate(*options)
    named = evaluate(*options, "--energy", tmp_path / "ert.yaml")
    assert own["evaluation"] == named["evaluation"]
