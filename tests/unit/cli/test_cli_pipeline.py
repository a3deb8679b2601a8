"""The commands map, evaluate, sweep, config, doctor and figures: what they print, and how they refuse bad input."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd
import pytest
import yaml

import command_line
import jouleloop as jl
from jouleloop.cli import main
from jouleloop.cli.show import show_result
from jouleloop.study.occupied import claim
from paths import ROOT
from waiting import LIMIT_S

LAYER = ("--arch", "eyeriss", "--layer", "fc:64x32")


@dataclass
class Done:
    returncode: int
    stdout: str
    stderr: str


Run = Callable[..., Done]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command in this process, where the kernels are loaded once."""

    def command(*arguments: str) -> Done:
        monkeypatch.chdir(ROOT)
        monkeypatch.setattr("sys.argv", ["jouleloop", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return Done(int(ended.value.code or 0), captured.out, captured.err)

    return command


def test_map_prints_nest_breakdown_and_certificate(run: Run) -> None:
    done = run("map", *LAYER)
    assert done.returncode == 0, done.stderr
    for text in ("DRAM [ Weights:2048 (2048) Inputs:64 (64) Outputs:32 (32) ]", "for C in [0:", "psum_spad"):
        assert text in done.stdout
    assert "mac" in done.stdout
    more = run("map", *LAYER, "--verbose").stdout
    assert "optimal       yes" in more
    for text in ("Words, per instance", "Energy per action", "where its energies stand", "parts pruned"):
        assert text in more
        assert text not in done.stdout


def test_map_answers_in_three_lines(run: Run) -> None:
    best = json.loads(run("map", *LAYER, "--json").stdout)
    counts = best["evaluation"]
    first = run("map", *LAYER).stdout.splitlines()[:3]
    each = counts["energy_pj"] / (64 * 32)
    assert first[0] == f"energy    {counts['energy_pj'] / 1e6:.4g} µJ, {each:.4g} pJ/MAC"
    assert first[1] == f"cycles    {counts['cycles']:,}, utilization {counts['utilization']:.1%}"
    exponent = len(str(best["mapspace_size"])) - 1
    assert re.fullmatch(rf"optimum   proven, of \d\.\de{exponent} mappings of the mapspace timeloop", first[2])
    assert max(map(len, first)) <= 80


def test_a_search_that_proves_nothing_says_how_far_it_may_be(capsys: pytest.CaptureFixture[str]) -> None:
    found = jl.search("eyeriss", "fc:64x32")
    assert found.search is not None
    stopped = replace(found.search, optimal=False, lower_bound=found.energy_pj / 1.25, mapspace_size=123)
    show_result(replace(found, search=stopped))
    of = "123 mappings of the mapspace timeloop"
    assert capsys.readouterr().out.splitlines()[2] == f"optimum   not proven, gap at most 25.00%; {of}"


def test_map_writes_what_evaluate_reads(run: Run, tmp_path: Path) -> None:
    mapping, answer = tmp_path / "m.yaml", tmp_path / "m.json"
    done = run("map", *LAYER, "--json", "--write-mapping", str(mapping))
    best = json.loads(done.stdout)
    answer.write_text(done.stdout)
    assert best["status"] == "ok"
    assert best["optimal"] is True
    assert best["lower_bound"] == pytest.approx(best["evaluation"]["energy_pj"], rel=1e-12)
    directives = yaml.safe_load(mapping.read_text())["mapping"]
    assert {entry["type"] for entry in directives} == {"temporal", "spatial", "bypass"}
    for path in (mapping, answer):
        given = json.loads(run("evaluate", *LAYER, "--mapping", str(path), "--json").stdout)
        assert given["evaluation"] == best["evaluation"]


def test_a_layer_without_a_mapping(run: Run) -> None:
    done = run("map", "--arch", "simba", "--layer", "fc:97x89")
    assert done.returncode == 1
    assert "97 is not divisible" in done.stderr
    relaxed = run("map", "--arch", "simba", "--layer", "fc:97x89", "--constraints", "arch-only", "--json")
    assert json.loads(relaxed.stdout)["status"] == "ok"


def test_sweep_without_snakemake(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("kind: fc\nfixed: {M: 32}\nranges: {C: [32, 34]}\nvariable: C\nexpected: linear\n")
    arguments = ("sweep", str(file), "--arch", "eyeriss", "--arch", "simba", "--output", str(tmp_path / "out"))
    done = run(*arguments)
    assert done.returncode == 0, done.stderr
    table = pd.read_csv(tmp_path / "out/energies.csv")
    assert list(zip(table["architecture"], table["C"], table["status"], strict=True)) == [
        ("eyeriss", 32, "ok"), ("eyeriss", 34, "ok"), ("simba", 32, "ok"), ("simba", 34, "invalid"),
    ]  # fmt: skip
    assert "not divisible" in table["reason"][3]
    first = (tmp_path / "out/energies.csv").read_bytes()
    # What a process leaves that is killed while it writes; deeper, another program's may stand.
    script = (
        "import os; from pathlib import Path; from jouleloop.files import replacing\n"
        "held = [replacing(Path(name)) for name in ('energies.csv', 'deeper/energies.csv')]\n"
        "[one.__enter__() for one in held]; os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path / "out", check=False)
    left = [path.parent.name for path in (tmp_path / "out").rglob(".*.part*")]
    assert sorted(left) == ["deeper", "out"]
    again = run(*arguments)
    assert [path.parent.name for path in (tmp_path / "out").rglob(".*.part*")] == ["deeper"]
    assert "0 results searched, 4 from the store" in again.stdout
    assert (tmp_path / "out/energies.csv").read_bytes() == first


def test_doctor_and_config(run: Run) -> None:
    found = {entry["name"]: entry for entry in json.loads(run("doctor", "--json").stdout)}
    assert found["native"]["state"] == "ok"
    assert found["numba"]["state"] == "ok"
    assert "fc_weights: 1024 layers" in run("config").stdout


def test_config_finds_what_a_run_finds(tmp_path: Path) -> None:
    """Faults of architectures, energies and constraints too, not those of the configuration alone."""
    for name in ("arch", "config", "layers", "mappings"):
        shutil.copytree(ROOT / name, tmp_path / name)
    code, _, error = command_line.run("config", folder=tmp_path)
    assert code == 0, error
    claim(tmp_path / "results", ["other"])
    _, _, error = command_line.run("config", folder=tmp_path)
    assert "warning: This run is refused: results: holds another study" in error
    path = tmp_path / "mappings/simba.yaml"
    path.write_text(path.read_text().replace("target: DRAM", "target: DRUM", 1))
    code, _, error = command_line.run("config", folder=tmp_path)
    assert code == 2
    assert "DRUM" in error
    assert "Traceback" not in error
    shutil.rmtree(tmp_path / "arch")
    code, _, error = command_line.run("config", folder=tmp_path)
    assert code == 2, "a configuration without arch/ beside it is that of this folder, not the package's"
    assert "no such file (got 'arch/simba.yaml')" in error


def test_figures_without_results(run: Run, tmp_path: Path) -> None:
    done = run("figures", str(tmp_path))
    assert done.returncode == 2
    assert "no such file" in done.stderr


HALF = "- {target: DRAM, type: temporal, factors: C=2 M=32, permutation: CM}\n"
BAD = {
    "architecture": (("map", "--arch", "eyerisss", "--layer", "fc:4x4"), "unknown architecture.*'eyeriss'"),
    "engine": (("map", *LAYER, "--engine", "natve"), "unknown engine.*'native'"),
    "semantics": (("map", *LAYER, "--semantics", "timeloop-3"), "unknown semantics"),
    "objective": (("map", *LAYER, "--objective", "enrgy"), "unknown objective.*'energy'"),
    "constraints": (("map", *LAYER, "--constraints", "fulll"), "unknown set of constraints.*'full'"),
    "layer": (("map", "--arch", "simba", "--layer", "fc:0x4"), "positive integer"),
    "layer option": (("map", "--arch", "simba", "--layer", "conv:C3xM4xP5xQ5xR3xS3/strid2"), "unknown layer option"),
    "problem file": (("map", "--arch", "simba", "--layer", "none.yaml"), "no such file"),
    "sweep": (("sweep", "fc_input", "--arch", "simba"), "unknown sweep.*'fc_inputs'"),
    "mapping file": (("evaluate", *LAYER, "--mapping", "none.yaml"), "no such file"),
    "verify folder": (("verify", "docs"), "no reference data"),
    "verify kind": (("verify", "docs", "--only", "fcc"), "unknown kind of layers"),
    "figure": (("figures", "--only", "x"), "no such file|unknown sweep"),
    "option": (("map", *LAYER, "--budgett", "3"), "(?i)no such option"),
    "budget": (("map", *LAYER, "--budget", "0"), "budget"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_a_message_and_code_2(run: Run, case: str) -> None:
    arguments, message = BAD[case]
    done = run(*arguments)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    text = " ".join(done.stderr.split())
    assert re.search(message, text), text
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HALF, "factors of C multiply to 2, the layer has 64"),
        ("- {target: DRAMM, type: temporal, factors: C=64 M=32}\n", "DRAMM"),
        ("[1, {", "not valid YAML"),
        ("", "mapping"),
    ],
)
def test_bad_mappings(run: Run, tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "m.yaml"
    path.write_text(f"mapping:\n{text}" if text.startswith("-") else text)
    done = run("evaluate", *LAYER, "--mapping", str(path))
    assert done.returncode == 2, done.stderr
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_the_module_runs_as_a_program() -> None:
    command = [sys.executable, "-m", "jouleloop", "map", *LAYER, "--engine", "none"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "unknown engine" in done.stderr
