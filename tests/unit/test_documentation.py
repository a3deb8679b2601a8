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
    following = int(pythons[-1].partition(".")[2]) + 1
    assert f">={pythons[0]},<3.{following}" == project["requires-python"]
    assert meta["runtimePlatform"] == f"Python {project['requires-python']}"


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


def test_the_check_of_pages_fails_and_names_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    monkeypatch.setattr(check_docs, "DOCS", docs)
    (docs / "good.md").write_text("# Good\n\nShort, with a [link](#good).\n")
    assert check_docs.main() == 0
    (docs / "long.md").write_text(f"# Long\n\n{'word ' * 26}.\n")
    (tmp_path / "README.md").write_text("# Project\n\n[A page](docs/gone.md).\n")
    assert check_docs.main() == 1
    printed = capsys.readouterr().out
    assert "README.md: no file docs/gone.md" in printed
    assert "long.md: 100.0% of the sentences" in printed


#: A page in a docstring, with a title in quotes, or with the lemmas that it is said to state.
PAGE_NAMED = re.compile(
    r"docs/([a-z-]+)\.md`{0,2}"
    r"(?:, \"([^\"]+)\")?(?: states the lemmas?:?(?: used here:)?((?:,? \*[a-z -]+\*)+))?"
)


def test_what_docstrings_say_of_pages_is_there() -> None:
    """Pages exist; a title in quotes stands on the page, and every lemma is stated somewhere."""
    pages = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md")}
    lemma = re.compile(r"^(?:\*\*?|- \*)([A-Z][a-z -]+)", re.MULTILINE)
    stated = {name.lower() for text in pages.values() for name in lemma.findall(text)}
    titles, lemmas = 0, 0
    for path in sorted((ROOT / "src").rglob("*.py")):
        for name, title, named in PAGE_NAMED.findall(re.sub(r"\s+", " ", path.read_text(encoding="utf-8"))):
            assert title.rstrip(".,") in " ".join(pages[name].split()), f"{path}: {title}"
            missing = set(re.findall(r"\*([^*]+)\*", named)) - stated
            assert missing == set(), str(path)
            titles, lemmas = titles + bool(title), lemmas + bool(named)
    assert min(titles, lemmas) > 3
