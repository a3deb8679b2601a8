"""Other Pythons with other versions of the packages: found, or made where packages are to be had."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from importlib.metadata import version as installed
from itertools import chain
from pathlib import Path

import pytest

from lowest import lowest
from paths import ROOT
from waiting import LIMIT_S


def interpreters(version: str) -> list[str]:
    """Return the commands that may be this Python, one that is named first."""
    named = os.environ.get(f"JOULELOOP_PYTHON_{version.replace('.', '_')}")
    own = sys.executable if sys.version_info[:2] == tuple(map(int, version.split("."))) else None
    managed = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    found = [path for path in (named, own, shutil.which(f"python{version}"), *map(str, managed)) if path]
    right = f"import sys; sys.exit(sys.version_info[:2] != ({version.replace('.', ', ')}))"
    return [path for path in found if works(path, right)]


def works(python: str, statement: str) -> bool:
    """Return whether this Python runs ``statement``."""
    return subprocess.run([python, "-c", statement], capture_output=True, check=False).returncode == 0


def allowed() -> list[str]:
    """Return what pyproject.toml says of each package that a run needs."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return list(project["dependencies"])


def running() -> list[str]:
    """Return each package that a run needs at the version that runs here."""
    return [f"{name}=={installed(name)}" for name in map(_name, allowed())]


def _name(entry: str) -> str:
    return re.split("[<>=!~,; ]", entry)[0]


def lowest_allowed() -> list[str]:
    """Return each package that a run needs at its lowest version."""
    names = set(map(_name, allowed()))
    return [pin for pin in lowest(ROOT / "pyproject.toml") if pin.partition("==")[0] in names]


def environment(name: str, versions: Sequence[str], packages: Sequence[str], folder: Path) -> str:
    """Return a Python of the first of ``versions`` that is here, with ``packages`` installed into ``folder``.

    ``JOULELOOP_PYTHON_NAME`` names one that is prepared. Without any of them the test is skipped.
    """
    if prepared := os.environ.get(f"JOULELOOP_PYTHON_{name.upper()}"):
        return prepared
    if os.environ.get("JOULELOOP_NO_INSTALL"):
        pytest.skip("JOULELOOP_NO_INSTALL forbids to install packages")
    unpacked = folder.with_name("debian")
    here = (python for one in versions for python in chain(interpreters(one), debian(one, unpacked)))
    found = next(here, None)
    if found is None:
        pytest.skip(f"there is no Python {' or '.join(versions)} here (JOULELOOP_PYTHON_{name.upper()} may name one)")
    python = str(folder / "bin/python")
    # What is imported is compiled when it is: less than what is installed.
    install = ("install", "--quiet", "--disable-pip-version-check", "--no-compile", "--prefer-binary")
    headers = os.environ | {"CPATH": f"{unpacked}/headers"}  # of packages that have no wheel
    venv = [found, "-m", "venv", "--without-pip", str(folder)]
    for step in (venv, [sys.executable, "-m", "pip", "--python", python, *install, *packages]):
        done = subprocess.run(step, env=headers, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        if done.returncode:
            pytest.skip(f"{name}: its packages are not to be had: {done.stderr.strip()[-300:]}")
    return python


def debian(version: str, folder: Path) -> Iterator[str]:
    """Unpack a Python that Debian has and this machine has not, with its C library; yield its command if it runs."""
    asked = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Label: Debian"]
    try:
        site = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return
    state, command = folder / "apt", folder / f"usr/bin/python{version}"
    for made in ("lists/partial", "cache/archives/partial"):
        (state / made).mkdir(parents=True)
    (state / "status").touch()
    (state / "sources.list").write_text(f"deb {site} testing main\n")
    places = {"Etc::sourcelist": "sources.list", "Etc::sourceparts": "none", "State::lists": "lists"}
    places |= {"State::status": "status", "Cache": "cache"}
    apt = ["apt-get", "-qq", "-o", "APT::Sandbox::User=root", "-o", "Acquire::Languages=none"]
    apt += [word for key, place in places.items() for word in ("-o", f"Dir::{key}={state / place}")]
    get = ("install", "--yes", "--download-only", "--no-install-recommends", "libstdc++6")
    for step in (["update"], [*get, f"python{version}", f"libpython{version}-dev"]):
        if subprocess.run([*apt, *step], capture_output=True, timeout=LIMIT_S, check=False).returncode:
            return
    for archive in (state / "cache/archives").glob("*.deb"):
        subprocess.run(["dpkg-deb", "-x", archive, folder], check=True)
    # Python's headers alone: those of its C library are not this machine's compiler's.
    for own in folder.glob(f"usr/include/*/python{version}"):
        (folder / "headers" / own.parent.name).mkdir(parents=True)
        (folder / "headers" / own.parent.name / own.name).symlink_to(own)
    real = command.rename(folder / "python")
    loader = next(folder.glob("usr/lib/*/ld-linux-*"))
    command.write_text(f'#!/bin/sh\nexec {loader} --library-path {loader.parent} --argv0 "$0" {real} "$@"\n')
    command.chmod(0o755)
    if works(str(command), "import ctypes, ssl"):
        yield str(command)
