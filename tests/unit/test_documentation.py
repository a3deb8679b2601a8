"""The documentation: a site that builds without a warning, and one version everywhere."""

import importlib
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import check_docs
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


def test_what_describes_the_software_says_the_same() -> None:
    """Catalogues read codemeta.json, installers pyproject.toml, people who cite CITATION.cff."""
    meta = json.loads((ROOT / "codemeta.json").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert (meta["name"], meta["version"]) == (project["name"], jouleloop.__version__)
    assert (meta["description"], meta["keywords"]) == (project["description"], project["keywords"])
    assert meta["softwareRequirements"] == project["dependencies"]
    assert meta["license"].endswith(f"/{project['license']}")
    assert [paper["name"] for paper in meta["referencePublication"]] == [
        paper["title"] for paper in citation["references"]
    ]
    pythons = [text.rpartition(" ")[2] for text in project["classifiers"] if re.search(r"Python :: 3\.\d+$", text)]
    assert f">={pythons[0]}" == project["requires-python"]


def test_every_command_of_the_workflow_checks_is_the_one_script() -> None:
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]
    assert [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step] == [".ci/run"]


def resolves(name: str) -> bool:
    """Whether a dotted name is a module, what stands in one, or an attribute or annotated field of that."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for place, part in enumerate(parts[cut:], start=cut + 1):
            if not hasattr(found, part):
                return place == len(parts) and part in getattr(found, "__annotations__", {})
            found = getattr(found, part)
        return True
    return False


def test_names_of_the_package_in_pages_and_docstrings_lead_to_something() -> None:
    assert resolves("jouleloop.stats.growth.fit_growth")
    assert not resolves("jouleloop.stats.growth.fit_nothing")
    pages = [*(ROOT / "docs").glob("*.md"), *ROOT.glob("*.md"), *(ROOT / "src").rglob("*.py")]
    names = {
        (path.relative_to(ROOT), name)
        for path in pages
        for name in re.findall(r"`(jouleloop(?:\.\w+)+)(?:\([^`]*\))?`", path.read_text(encoding="utf-8"))
    }
    assert len(names) > 50
    assert sorted(f"{path}: {name}" for path, name in names if not resolves(name)) == []


def test_the_check_of_pages_sees_long_sentences_and_broken_links(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One, two\n\nA [link](#one-two), [another](#three) and [a third](none.md).\n")
    assert [one.split(": ")[1] for one in check_docs.broken_links(page)] == ["no heading #three", "no file none.md"]
    long = "word " * 26
    assert check_docs.share_of_long(f"Short.\n\n| {long}|\n\n    {long}\n\nAlso short.\n") == 0
    assert check_docs.share_of_long(f"Short. This {long}. Also short.") == pytest.approx(1 / 3)
