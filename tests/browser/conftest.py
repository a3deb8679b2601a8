"""A small finished run with its report, and a headless Chromium that is cut off from the network."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest
import yaml

from jouleloop.columns import read_table, write_table
from jouleloop.config.load import load_study
from jouleloop.report.html.page import write_report
from jouleloop.report.html.sources import read_tables
from jouleloop.stats.options import StatisticsOptions
from jouleloop.study.plan import jobs_of
from jouleloop.study.store import ResultStore
from jouleloop.tables.collect import write_energies
from jouleloop.tables.growth import analyse, write_analysis
from jouleloop.tables.layouts import ENERGIES, NETWORKS
from jouleloop.tables.networks import network_table
from paths import ROOT
from waiting import installed

SCREENSHOTS = ROOT / "results" / "screenshots"
HOSTILE = "<img src=x onerror=\"document.title='run'\"></script><b>&amp;"
"""A layer's name that no page may take for markup."""

GROWING = """\
description: Layers with <em>growing</em> inputs.
kind: fc
fixed: {M: 64}
ranges: {C: {start: 64, stop: 768, step: 64}}
variable: C
symbol: inputs n
expected: linear
published: {simba: published.csv}
published_parameter: C
"""
NETWORK = """\
layers:
  - {name: first, kind: fc, count: 2, sizes: {C: 64, M: 64}}
  - {name: second, kind: fc, sizes: {C: 128, M: 64}}
"""


@dataclass(frozen=True)
class Run:
    """A finished run: its folder with all tables and the report, and the table of energies."""

    folder: Path
    report: Path
    energies: pd.DataFrame


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    project = tmp_path_factory.mktemp("study")
    (project / "layers/networks").mkdir(parents=True)
    (project / "layers/growing.yaml").write_text(GROWING)
    (project / "layers/published.csv").write_text("".join(f"{n};{3e5 * n};{1e5 * n};{2e5 * n}\n" for n in (64, 128)))
    layers = [{"C": n, "M": 32, "name": name} for n, name in ((32, HOSTILE), (64, "=1+1"), (96, "c"), (160, "d"))]
    named = {"kind": "fc", "layers": layers, "variable": "C", "expected": "quadratic"}
    (project / "layers/named.yaml").write_text(yaml.safe_dump(named))
    (project / "layers/networks/net.yaml").write_text(NETWORK)
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    for entry in config["architectures"].values():
        entry |= {key: str(ROOT / entry[key]) for key in ("arch", "constraints")}
        entry["energy"] = str(ROOT / entry["energy"][0])  # the reference table has all that these layers need
    study = load_study(config | {"sweeps": ["growing", "named"], "networks": ["net"]}, project)
    folder = project / "results"
    write_energies(jobs_of(study), (*study.sweeps, *study.architecture_sweeps), ResultStore(folder / "store"), folder)
    energies, _ = read_table(folder / "energies.parquet", ENERGIES)
    write_analysis(analyse(energies, study.tested, study.config.statistics), folder)
    write_table(folder / "networks", network_table(energies, study.networks), NETWORKS)
    report = folder / "report.html"
    write_report(read_tables(folder, StatisticsOptions(), root=project), report)
    return Run(folder, report, energies)


@pytest.fixture(scope="session")
def chromium() -> str:
    """Return the path of a Chromium, installed from Debian where that can be done; skip with the reason where not."""
    names = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
    given = os.environ.get("JOULELOOP_CHROMIUM")
    found = given or next((path for name in names if (path := shutil.which(name))), None)
    if found:
        return found
    if reason := installed(("chromium",), ("chromium",)):
        pytest.skip(f"Chromium (JOULELOOP_CHROMIUM may name one): {reason}")
    return shutil.which("chromium") or "chromium"


@pytest.fixture(scope="session")
def browser(chromium: str) -> Iterator[object]:
    """Start the browser once for all tests."""
    api = pytest.importorskip(
        "playwright.sync_api", reason="the package playwright is not installed (pip install .[dev])"
    )
    sandbox = [] if os.geteuid() else ["--no-sandbox"]
    with api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=[*sandbox, "--disable-gpu"])
        yield started
        started.close()
