"""The graph of rules: what a target needs, what an edit or a forced rule redoes, and the picture in the docs."""

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from paths import ROOT
from waiting import LIMIT_S

#: What makes the table of growth tests from empty results.
TESTED = {"specifications": 2, "map_chunk": 2, "energies": 1, "theory_ratio": 1, "growth": 1}
_SVG = "{http://www.w3.org/2000/svg}"


def snakemake(folder: Path, *arguments: str) -> str:
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "PATH": path}
    command = [sys.executable, "-m", "snakemake", *arguments]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the project without results."""
    folder = tmp_path_factory.mktemp("project")
    for name in ("arch", "mappings", "layers", "workflow", "analysis", "profiles", "config", "Snakefile"):
        (folder / name).symlink_to(ROOT / name)
    return folder


def planned(folder: Path, *arguments: str) -> dict[str, int]:
    """Return the number of jobs that a dry run plans, by rule."""
    output = snakemake(folder, *arguments, "--dry-run", "--quiet", "rules")
    jobs = {name: int(count) for name, count in re.findall(r"^(\w+) +(\d+)$", output, re.MULTILINE)}
    jobs.pop("total", None)
    return jobs


def edges(text: str) -> set[tuple[str, str]]:
    """Return which rule hands to which, of a graph in the language of Graphviz."""
    names = dict(re.findall(r'(\d+)\[label = "(\w+)"', text))
    return {(names[one], names[other]) for one, other in re.findall(r"(\d+) -> (\d+)", text)}


def drawn_edges(path: Path) -> set[tuple[str, str]]:
    """Return the same of a picture that Graphviz made."""
    groups = [group for group in ET.parse(path).getroot().iter(f"{_SVG}g") if group.get("class") in ("node", "edge")]
    titles = [
        (group.get("class"), group.findtext(f"{_SVG}title", ""), group.findtext(f"{_SVG}text")) for group in groups
    ]
    names = {title: label for kind, title, label in titles if kind == "node"}
    pairs = [title.split("->") for kind, title, _ in titles if kind == "edge"]
    return {(str(names[one]), str(names[other])) for one, other in pairs}


def test_the_picture_in_the_docs_is_the_graph(project: Path) -> None:
    found = edges(snakemake(project, "--rulegraph"))
    assert ("specifications", "map_chunk") in found
    assert ("energies", "growth") in found
    assert drawn_edges(ROOT / "docs/images/pipeline.svg") == found


def test_fits_draw_nothing(project: Path) -> None:
    assert planned(project, "results/fits.csv") == TESTED


@pytest.mark.workflow
@pytest.mark.slow
def test_a_figure_needs_what_it_shows_and_no_more(project: Path) -> None:
    assert planned(project, "results/figures/figure4.png") == TESTED | {"figure4": 1}
    bounds = planned(project, "results/figures/fc_inputs/dram_bound_fc_inputs.png")
    assert "growth" not in bounds
    assert bounds["figures_fc"] == 1


@pytest.mark.workflow
@pytest.mark.slow
def test_what_is_beside_the_default_run_has_a_name(project: Path) -> None:
    names = ("theory", "published", "networks", "timeloop", "figures")
    assert planned(project, *names).keys() > set(names)


@pytest.mark.workflow
@pytest.mark.slow
def test_both_snakefiles_plan_the_same(project: Path) -> None:
    default, inner = planned(project), planned(project, "--snakefile", "workflow/Snakefile")
    assert default.pop("default") == inner.pop("all") == 1
    assert default == inner


@pytest.mark.workflow
@pytest.mark.slow
@pytest.mark.parametrize("asked", ["confirm=timeloop", "engine=timeloop"])
def test_a_job_that_runs_again_takes_along_what_follows_from_it(tmp_path: Path, asked: str) -> None:
    """Snakemake starts a job without its dependents where these call its files ancient."""
    for name in ("arch", "mappings", "layers", "workflow", "analysis", "profiles", "config", "Snakefile"):
        (tmp_path / name).symlink_to(ROOT / name)
    # Dry runs ask Apptainer for its version, and for nothing else.
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/apptainer").write_text("#!/bin/sh\necho apptainer version 1.3.4\n")
    (tmp_path / "bin/apptainer").chmod(0o755)
    options = ("--software-deployment-method=apptainer", "--config", asked, "sweeps=[fc_inputs]")
    follow = edges(snakemake(tmp_path, "--rulegraph", *options))
    for line in snakemake(tmp_path, "--summary", *options).splitlines()[1:]:
        made = tmp_path / line.partition("\t")[0]
        made.parent.mkdir(parents=True, exist_ok=True)
        made.touch()
    for made in (tmp_path / "results").rglob("*"):
        os.utime(made, (2e9, 2e9))
    assert planned(tmp_path, *options) == {}
    for rule in ("specifications", "request_timeloop", "run_timeloop", "map_chunk"):
        later = {rule}
        while more := {other for one, other in follow if one in later} - later:
            later |= more
        assert planned(tmp_path, *options, "--forcerun", rule).keys() == later, rule
