"""How a workflow begins and ends: a refusal is told before any job, and what was found after the last."""

import subprocess
import sys
from pathlib import Path

import pytest

from jouleloop.api.start import write_study
from jouleloop.errors import InputError
from jouleloop.files import read_yaml, write_sealed_json
from jouleloop.workflow import Workflow


def test_a_run_knows_beforehand_that_it_will_be_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_study(tmp_path)
    monkeypatch.chdir(tmp_path)
    config = read_yaml(tmp_path / "config/config.yaml")
    assert Workflow(config).refusal([]) == ""
    (tmp_path / "results").mkdir()
    note = {"sweeps": ["first"], "settings": {"configuration": ["jouleloop sweep first"]}, "architectures": []}
    write_sealed_json(tmp_path / "results/study.json", note)
    assert "now config/config.yaml" in Workflow(config).refusal([])
    assert Workflow(config | {"replace": True}).refusal([]) == ""


def test_a_run_ends_in_what_it_found_and_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_study(tmp_path)
    monkeypatch.chdir(tmp_path)
    flow = Workflow(read_yaml(tmp_path / "config/config.yaml"))
    assert flow.answer() == ""
    (tmp_path / "results").mkdir()
    (tmp_path / "results/verdicts.txt").write_text("sweep  verdict\nfirst  exact\n\nfirst\n-----\nSweep first\n")
    (tmp_path / "results/report.html").write_text("page")
    last = "in words: results/verdicts.txt; all of it: results/report.html"
    assert flow.answer().splitlines() == ["", "sweep  verdict", "first  exact", "", last]


def test_rules_are_read_without_tables_statistics_and_searches() -> None:
    """Each start of Snakemake and each of its groups of jobs reads the rules; these imports take over a second."""
    slow = ("pandas", "scipy", "numba", "jouleloop.engines.native")
    code = f"import sys, jouleloop.workflow; print([name for name in {slow} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_format_that_is_named_twice_is_drawn_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Snakemake takes no rule with two outputs of one name."""
    write_study(tmp_path)
    monkeypatch.chdir(tmp_path)
    twice = {"outputs": {"figure_formats": ["svg", "png", "svg"]}}
    assert Workflow(read_yaml(tmp_path / "config/config.yaml") | twice).formats == ["svg", "png"]


def test_faults_of_a_study_are_told_at_once_before_any_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_study(tmp_path)
    monkeypatch.chdir(tmp_path)
    with (tmp_path / "layers/first.yaml").open("a") as sweep:
        sweep.write("response_growth: {dram_wrods: linear, shared_glb_pj: linear, DRAM_pj: liner}\n")
    config = read_yaml(tmp_path / "config/config.yaml") | {"statistics": {"responses": ["totl", "macs", "levels"]}}
    with pytest.raises(InputError) as told:
        Workflow(config | {"sweps": [], "sweeps": ["frist"], "budget": "few"})
    assert {fault.field for fault in told.value.faults} == {"sweps", "sweeps.0", "budget"}
    with pytest.raises(InputError) as told:
        Workflow(config)
    said = str(told.value)
    assert len(told.value.faults) == 3, said
    assert "layers/first.yaml: response_growth.DRAM_pj: unknown growth (got 'liner')" in said
    assert "layers/first.yaml: response_growth: unknown response (got 'dram_wrods'); allowed: DRAM_" in said
    assert "did you mean 'dram_words'?" in said
    assert "config: statistics.responses: unknown response (got 'totl')" in said


def test_attributes_that_no_architecture_has_stop_a_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of its designs would be searched for nothing; one that some architecture has is a sweep of that."""
    write_study(tmp_path)
    monkeypatch.chdir(tmp_path)
    config = read_yaml(tmp_path / "config/config.yaml") | {"sweeps": ["varied"]}
    text = "kind: fc\nfixed: {{C: 8, M: 8}}\narchitecture: {{{}: [1024, 2048]}}\n"
    (tmp_path / "layers/varied.yaml").write_text(text.format("shared_glb.depth"))
    Workflow(config)
    (tmp_path / "layers/varied.yaml").write_text(text.format("shared_glb.dept"))
    with pytest.raises(InputError, match=r"shared_glb.dept: on eyeriss: unknown attribute .*did you mean 'depth'"):
        Workflow(config)
