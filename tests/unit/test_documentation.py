"""The documentation: a site that builds without a warning, and one version everywhere."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import jouleloop
from paths import ROOT


@pytest.mark.slow
def test_the_site_builds_without_warnings(tmp_path: Path) -> None:
    """Strictly: no page outside the navigation, no link and no anchor that leads nowhere."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    pages = {path.parent.name for path in (tmp_path / "site").glob("*/index.html")}
    assert {"concepts", "api", "command-line", "own-architecture", "layer-texts"} <= pages
    assert "jouleloop.api.run.search" in (tmp_path / "site/api/index.html").read_text()


def test_every_page_is_in_the_navigation() -> None:
    text = (ROOT / "mkdocs.yml").read_text()
    assert [path.name for path in sorted((ROOT / "docs").glob("*.md")) if path.name not in text] == []


def test_a_page_that_stands_elsewhere_links_to_nothing_beside_it() -> None:
    """What a page of the site includes is read from two places, where relative links differ."""
    text = "".join(path.read_text() for path in (ROOT / "docs").glob("*.md"))
    included = [ROOT / name for name in re.findall(r'^--8<-- "([^"]+\.md)"', text, re.MULTILINE)]
    assert len(included) == 4
    assert [path for path in included if re.search(r"\]\((?!http)", path.read_text())] == []


def test_the_version_is_the_same_everywhere() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == jouleloop.__version__
    releases = [line.split()[1] for line in (ROOT / "CHANGELOG.md").read_text().splitlines() if line.startswith("## ")]
    assert releases[0] == jouleloop.__version__


def test_every_command_of_the_workflow_checks_is_the_one_script() -> None:
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]
    assert [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step] == [".ci/run"]
