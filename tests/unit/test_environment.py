"""The ways to install agree: conda's environment has pip's ranges, the lock files hold one version of each package."""

import re
import tomllib

import pytest
import yaml
from packaging.requirements import Requirement

from paths import ROOT

#: Names that conda gives the parts that are needed.
CONDA = {"matplotlib": "matplotlib-base", "seaborn": "seaborn-base", "snakemake": "snakemake-minimal"}


def split(text: str) -> tuple[str, str]:
    position = min((text.find(c) for c in "<>=" if c in text), default=len(text))
    return text[:position].strip(), text[position:].replace(" ", "")


def test_conda_and_pip_have_the_same_ranges() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pip = dict(split(entry) for entry in project["dependencies"])
    entries = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    conda = dict(split(entry) for entry in entries if isinstance(entry, str))
    assert conda.pop("python") == project["requires-python"]
    conda.pop("pip")
    assert conda == {CONDA.get(name, name): version for name, version in pip.items()}


def test_every_dependency_is_explained() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    text = (ROOT / "docs/dependencies.md").read_text()
    assert [entry for entry in project["dependencies"] if split(entry)[0] not in text] == []


def test_the_environments_of_the_rules_have_the_same_python() -> None:
    environments = [ROOT / "environment.yml", *sorted((ROOT / "workflow/envs").glob("*.yaml"))]
    pythons = {
        split(entry)[1]
        for path in environments
        for entry in yaml.safe_load(path.read_text())["dependencies"]
        if isinstance(entry, str) and split(entry)[0] == "python"
    }
    assert len(environments) > 1
    assert len(pythons) == 1


def test_the_image_is_run_as_the_page_says() -> None:
    """The image and the page give one command: as oneself, into a folder that is there, or it may not write."""
    text = (ROOT / "Dockerfile").read_text()
    page = (ROOT / "docs/dependencies.md").read_text()
    (command,) = re.findall(r"docker run .*jouleloop", text)
    assert command in page
    assert "--user" in command
    assert page.index("mkdir -p results") < page.index(command)
    (version,) = re.findall(r"^FROM python:(\d+\.\d+)-", text, re.MULTILINE)
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    assert f"Programming Language :: Python :: {version}" in classifiers


def test_the_optional_timeloop_is_named() -> None:
    assert "pytimeloop" in (ROOT / "environment.yml").read_text()
    assert "pytimeloop" in (ROOT / "docs/dependencies.md").read_text()


def locked(name: str) -> dict[str, str]:
    """Return the versions in a lock file; every one has hashes, and nothing says where it comes from."""
    text = (ROOT / "requirements" / f"{name}.lock").read_text()
    assert "://" not in text
    entries = re.split(r"^(?=\S)", text, flags=re.MULTILINE)[1:]
    assert [entry for entry in entries if "--hash=sha256:" not in entry] == []
    versions = dict(entry.split(maxsplit=1)[0].split("==") for entry in entries)
    assert len(versions) == len(entries)
    return versions


@pytest.mark.parametrize("name", ["run", "dev"])
def test_the_lock_has_one_version_of_every_dependency_within_its_range(name: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    if name == "dev":
        wanted += project["project"]["optional-dependencies"]["dev"]
    versions = locked(name)
    for entry in map(Requirement, wanted):
        assert versions[re.sub(r"[-_.]+", "-", entry.name).lower()] in entry.specifier, entry
    assert locked("run").items() <= locked("dev").items()


def test_what_makes_releases_is_locked() -> None:
    entries = (ROOT / "requirements/release.in").read_text().split()
    assert {Requirement(entry).name for entry in entries} <= set(locked("release"))
