"""The whole workflow on a tiny study: twice the same bytes, only what changed is computed, mistakes stop it."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import yaml

from jouleloop.files import read_json
from jouleloop.study.progress import run_progress
from paths import ROOT
from waiting import LIMIT_S

TINY = """\
kind: fc
fixed: {M: 32}
ranges: {C: {start: 16, stop: 96, step: 16}}
variable: C
expected: linear
"""
#: What may differ between two runs.
VARIES = ("timings.csv", "summary.json", "report.html", "logs", "store", "map", "chunks")

pytestmark = [pytest.mark.workflow, pytest.mark.slow]


def project(folder: Path, **changes: object) -> Path:
    for name in ("arch", "mappings", "layers", "workflow", "analysis", "profiles"):
        shutil.copytree(ROOT / name, folder / name)
    shutil.copy(ROOT / "Snakefile", folder)
    (folder / "layers/tiny.yaml").write_text(TINY)
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    config |= {"sweeps": ["tiny"], "outputs": {"figure_formats": ["png"], "specs": True}, **changes}
    (folder / "config").mkdir()
    (folder / "config/config.yaml").write_text(yaml.safe_dump(config))
    return folder


def snakemake(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {
        "PYTHONPATH": str(ROOT / "src"),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    command = [sys.executable, "-m", "snakemake", "--cores", "2", *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )


def contents(folder: Path) -> dict[str, bytes]:
    results = folder / "results"
    return {
        path.relative_to(results).as_posix(): path.read_bytes()
        for path in sorted(results.rglob("*"))
        if path.is_file() and path.relative_to(results).parts[0] not in VARIES and not path.name.startswith(".")
    }


def page_without_run(folder: Path) -> str:
    page = (folder / "results/report.html").read_text(encoding="utf-8")
    rest = re.sub(r'<section id="run".*?</section>', "", page, flags=re.DOTALL)
    assert rest != page
    return rest


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = project(tmp_path_factory.mktemp("study"))
    done = snakemake(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_tables_and_figures(finished: Path) -> None:
    table = pd.read_parquet(finished / "results/energies.parquet")
    assert len(table) == 12
    assert set(table["status"]) == {"ok"}
    assert table["optimal"].all()
    # The parts of the energy add up, and no energy is below what is proven.
    parts = [name for name in table.columns if name.endswith(("weights_pj", "inputs_pj", "outputs_pj"))]
    assert table[parts].sum(axis=1).to_numpy() == pytest.approx(table["data_pj"].to_numpy(), rel=1e-12)
    assert (table["data_pj"] + table["compute_pj"]).to_numpy() == pytest.approx(table["total_pj"].to_numpy(), rel=1e-12)
    assert (table["lower_bound_pj"] <= table["total_pj"] * (1 + 1e-12)).all()
    fits = pd.read_csv(finished / "results/fits.csv")
    assert {"tiny"} == set(fits["sweep"])
    for name in (
        "figures/tiny/growth_eyeriss.png",
        "figures/tiny/breakdown_simba.png",
        "verdicts.csv",
        "report.html",
        "layers/tiny.csv",
    ):
        assert (finished / "results" / name).stat().st_size > 100


def test_specs_are_complete(finished: Path) -> None:
    paths = sorted((finished / "results/specs/eyeriss/tiny").glob("*.yaml"))
    assert [path.name for path in paths] == [f"fc_{c}x32.yaml" for c in (16, 32, 48, 64, 80, 96)]
    text = paths[0].read_text()
    for key in ("architecture:", "ERT:", "problem:", "architecture_constraints:", "mapper:"):
        assert f"\n{key}" in text


def test_snakemake_makes_its_report_with_captions_and_categories(finished: Path) -> None:
    done = snakemake(finished, "--report", "page.html")
    assert done.returncode == 0, done.stderr
    # Captions are stored as HTML inside JSON inside the page.
    page = (finished / "page.html").read_text(encoding="utf-8")
    for text in ("Tables", "Figures", "How does the energy of a neural-network layer grow with its size"):
        assert text in page
    for caption in (
        "does the data energy of sweep tiny grow as theory expects",
        "where does the energy of sweep tiny go",
    ):
        assert caption in page
    for label in ("growth", "breakdown", "simba", "eyeriss", "verdicts", "energies"):
        assert f'"{label}"' in page
    assert "growth_eyeriss" in page


def test_the_further_figures(finished: Path, tmp_path: Path) -> None:
    folder = tmp_path / "figures"
    shutil.copytree(finished, folder)
    done = snakemake(folder, "figures")
    assert done.returncode == 0, done.stderr
    for name in ("residuals_simba", "residuals_eyeriss", "architectures"):
        assert (folder / f"results/figures/tiny/{name}.png").read_bytes().startswith(b"\x89PNG")


def test_networks_alone_need_no_growth(tmp_path: Path) -> None:
    planned = snakemake(project(tmp_path / "networks", sweeps=[], networks=["alexnet"]), "--dry-run")
    assert planned.returncode == 0, planned.stderr
    assert "results/networks.csv" in planned.stdout + planned.stderr
    assert "verdicts" not in planned.stdout + planned.stderr


def test_nothing_to_do_the_second_time(finished: Path) -> None:
    assert "Nothing to be done" in snakemake(finished).stderr


def test_other_chunks_and_cores_give_the_same_bytes(finished: Path, tmp_path: Path) -> None:
    other = project(tmp_path / "other", chunks={"least": 10})
    done = snakemake(other, "--cores", "1")
    assert done.returncode == 0, done.stderr
    assert contents(other) == contents(finished)
    # The page differs in the account of the run only.
    assert page_without_run(other) == page_without_run(finished)


def test_an_added_point_is_the_only_one_searched(finished: Path, tmp_path: Path) -> None:
    folder = tmp_path / "more"
    shutil.copytree(finished, folder, ignore=shutil.ignore_patterns(".snakemake"))
    (folder / "layers/tiny.yaml").write_text(TINY.replace("96", "112") + "# a comment\n")
    done = snakemake(folder, "results/energies.parquet")
    assert done.returncode == 0, done.stderr
    assert len(pd.read_parquet(folder / "results/energies.parquet")) == 14
    timings = pd.read_csv(folder / "results/timings.csv").set_index("key")["seconds"]
    before = pd.read_csv(finished / "results/timings.csv").set_index("key")["seconds"]
    # A result that is searched again has other seconds.
    assert len(timings) == 14
    assert (timings.loc[before.index] == before).all()


def test_results_of_an_interrupted_run_are_not_taken(finished: Path, tmp_path: Path) -> None:
    folder = tmp_path / "cut"
    shutil.copytree(finished, folder)
    segment = next((folder / "results/store").glob("segment-*.parquet"))
    segment.write_bytes(segment.read_bytes()[:300])
    (folder / "results/energies.parquet").unlink()
    done = snakemake(folder, "results/energies.parquet")
    assert done.returncode == 0, done.stderr
    assert contents(folder) == contents(finished)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sweeps": ["tinny"]}, "did you mean 'tiny'"),
        ({"swepes": ["tiny"]}, "swepes: unknown key"),
        ({"engine": "natve"}, "did you mean 'native'"),
    ],
)
def test_mistakes_stop_before_any_job(tmp_path: Path, changes: dict[str, object], message: str) -> None:
    folder = project(tmp_path / "bad", **changes)
    done = snakemake(folder)
    assert done.returncode != 0
    faults = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert any(message in line for line in faults), done.stderr
    assert "Traceback" not in done.stderr
    assert "  File" not in done.stderr
    assert not (folder / "results").exists()
    command = [sys.executable, "-m", "jouleloop", "config"]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "COLUMNS": "1000"}
    config = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert config.stderr.splitlines() == faults


def test_a_configuration_file_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    done = snakemake(project(tmp_path / "good"), "--configfile", str(tmp_path / "nope.yaml"))
    assert done.returncode == 1
    said = f"error: --configfile: FileNotFoundError: [Errno 2] No such file or directory: '{tmp_path}/nope.yaml'"
    assert [line for line in done.stderr.splitlines() if "error" in line.lower()] == [
        f"{said} (snakemake --verbose shows where)"
    ]
    assert "Traceback" not in done.stderr + done.stdout


def test_a_mistake_found_by_a_job_is_a_message(tmp_path: Path) -> None:
    folder = project(tmp_path / "bad")
    (folder / "layers/tiny.yaml").write_text(TINY.replace("variable: C", "variable: CC").replace("linear", "linnear"))
    done = snakemake(folder)
    assert done.returncode != 0
    assert "CC" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (folder / "results/energies.csv").exists()


def test_provenance_names_versions_and_inputs(finished: Path) -> None:
    import pyarrow.parquet as pq

    metadata = pq.read_schema(finished / "results/energies.parquet").metadata
    found = json.loads(metadata[b"provenance"])
    assert set(found["versions"]) == {"jouleloop", "jouleloop_code"}
    summary = json.loads((finished / "results/summary.json").read_text())
    assert {"numba", "python"} <= set(summary["versions"])
    assert set(found["architectures"]) == {"eyeriss", "simba"}
    assert "layers/tiny.yaml" in found["sweeps"]["tiny"]


def test_the_complete_small_run(tmp_path: Path) -> None:
    """What is in .test makes every stage, and Snakemake's report of it."""
    folder = tmp_path / "run"
    shutil.copytree(ROOT / ".test", folder, ignore=shutil.ignore_patterns("results", ".snakemake"))

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
        command = [sys.executable, "-m", "snakemake", "--cores", "2", "--directory", str(folder), *arguments]
        return subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False
        )

    done = run()
    assert done.returncode == 0, done.stderr
    results = folder / "results"
    assert set(pd.read_csv(results / "verdicts.csv")["sweep"]) == {"fc_few", "conv_few"}
    for name in ("networks.csv", "architecture/glb_few.csv", "search_noise.csv", "laws.csv", "theory_ratio.csv"):
        assert len(pd.read_csv(results / name)), name
    for name in ("figures/conv_few/growth_simba.png", "figures/networks/two_layers_eyeriss.png", "report.html"):
        assert (results / name).stat().st_size > 1000, name
    assert len(list((results / "specs/simba/conv_few").glob("*.yaml"))) == 6
    assert "Nothing to be done" in run().stderr
    reported = run("--report", str(tmp_path / "report.zip"))
    assert reported.returncode == 0, reported.stderr
    assert (tmp_path / "report.zip").stat().st_size > 10_000


def test_a_folder_in_the_place_of_a_figure_costs_that_figure(finished: Path, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    shutil.copytree(finished, folder)
    before = contents(folder)
    place = folder / "results/figures/tiny/growth_simba.png"
    place.unlink()
    (place / "inside").mkdir(parents=True)
    done = snakemake(folder, "--forcerun", "growth")
    assert done.returncode != 0
    assert "growth_simba: not drawn" in done.stderr
    after = contents(folder)
    assert set(before) - set(after) == {"figures/tiny/growth_simba.png"}
    assert all(before[name] == content for name, content in after.items())
    shutil.rmtree(place)
    assert snakemake(folder).returncode == 0
    assert contents(folder) == before


CHAINS = """\
kind: chain
layers:
  - {name: scores, layer: "matmul:M{n}xN{n}xK8"}
  - {name: weighted, layer: "matmul:M8xN{n}xK{n}"}
ranges: {n: [4, 8, 16, 32]}
architecture: {Buffer.depth: [64, 512]}
variable: n
expected: {fused: linear, fused_beyond: quadratic, apart: quadratic}
"""


def chain_project(folder: Path, sweep: str) -> Path:
    chosen = yaml.safe_load((ROOT / "config/chains.yaml").read_text())["architectures"]
    outputs = {"figure_formats": ["svg"]}
    made = project(folder, sweeps=["made"], architectures={"two_levels": chosen["two_levels"]}, outputs=outputs)
    (made / "layers/made.yaml").write_text(sweep)
    return made


def test_a_sweep_of_chains_is_run_tested_and_drawn(tmp_path: Path) -> None:
    folder = chain_project(tmp_path, CHAINS)
    done = snakemake(folder)
    assert done.returncode == 0, done.stderr
    chains, growth = (pd.read_csv(folder / f"results/{name}.csv") for name in ("chains", "chain_growth"))
    assert len(chains) == 8
    assert chains["proven"].all()
    assert (chains["fused_pj"] <= chains["apart_pj"]).all()
    turns = growth[growth["response"].eq("fused_outer_words") & growth["range"].eq("all")]
    assert dict(zip(turns["variant"], turns["exact_to"], strict=True)) == {"Buffer.depth=64": 4, "Buffer.depth=512": 16}
    assert (folder / "results/figures/made/chains_made.svg").is_file()
    page = (folder / "results/chains.html").read_text(encoding="utf-8")
    assert "<svg" in page
    assert "stays at Buffer" in page
    logs = folder / "results/logs"
    assert str(run_progress(logs, folder / "results/map")).startswith("8 of 8 points (100 %)")
    assert read_json(logs / "progress/chains/two_levels-made.json")["searched"] == 8
    again = snakemake(folder)
    assert "Nothing to be done" in again.stdout + again.stderr


def test_mistakes_in_a_sweep_of_chains_stop_the_run(tmp_path: Path) -> None:
    folder = chain_project(tmp_path, CHAINS.replace("variable: n", "variable: m").replace("fused: lin", "fsed: lin"))
    done = snakemake(folder)
    assert done.returncode != 0
    told = done.stdout + done.stderr
    assert "size that varies" in told
    assert "did you mean 'fused'" in told
    assert not (folder / "results").exists()
