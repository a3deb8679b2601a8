"""Energies from the real Accelergy, version 0.3 or 0.4, run as a program: warnings are kept, dummies refused."""

import contextlib
import hashlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from jouleloop.arch.architecture import StorageLevel
from jouleloop.arch.parameters import plain
from jouleloop.documents.load import Quoted
from jouleloop.energy.ert import read_areas, read_ert
from jouleloop.energy.estimator import Estimate, Node, Refusal
from jouleloop.errors import JouleloopError
from jouleloop.files import read_text, read_yaml, write_text

#: Warnings that every run of Accelergy prints and that say nothing about the estimate.
_NOISE = (
    "no action counts",
    "no runtime energy estimations",
    "no compound component classes",
    "failed to evaluate",
    "not generating energy_estimation",
    "no area",
    "redefined compound component class",
)
#: Option `-p`: version 0.3 rounds to decimals, 0.4 to significant digits.
_PRECISION = {"0.3": "5", "0.4": "12"}
_WARNING = re.compile(r"^\s*(?:\S+ \S+ )?(?:WARN(?:ING)?|ALADDIN WARN)\b[:\s]*(?P<text>.*)$", re.IGNORECASE)


@dataclass(frozen=True)
class AccelergyEstimator:
    """Estimator that asks an installed Accelergy about one component at a time."""

    executable: str = "accelergy"
    """The program."""
    components: tuple[Path, ...] = ()
    """Files with compound components, in the version of the program."""
    cycle_seconds: float = 1e-9
    """Clock period in seconds, which version 0.4 wants to know."""
    timeout_s: float = 120.0
    """Seconds after which a run is stopped."""
    own: Path | None = None
    """Folder with the project's own compound components in the formats of both versions; None for none."""
    design: tuple[Mapping[str, Any], ...] = ()
    """Compound components that the architecture file defines; they replace the project's own."""
    name: str = "accelergy"
    kind: str = "accelergy"
    _known: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def version(self) -> str | None:
        """Return ``0.3``, ``0.4`` or, where the program is missing or answers nothing, None."""
        if "version" not in self._known:
            self._known["version"] = None
            if shutil.which(self.executable):
                _, text = self._run(["-h"], Path.cwd())
                # Neither version tells its number; the option came with 0.4.
                if "energy estimator" in text:
                    self._known["version"] = "0.4" if "--suppress_version_errors" in text else "0.3"
        version: str | None = self._known["version"]
        return version

    def digest(self) -> str:
        """Return a hash of version and components; what the plug-ins hold is not known here."""
        state = hashlib.sha256(f"{self.version()} {self.cycle_seconds}".encode())
        for path in self._definitions(self.version() or ""):
            state.update(read_text(path).encode())
        state.update(repr(self.design).encode() if self.design else b"")
        return state.hexdigest()

    def estimate(self, node: Node) -> Estimate | Refusal:
        """Return what Accelergy writes in its energy reference table for a component."""
        version = self.version()
        if version is None:
            return Refusal(f"the program {self.executable!r} is not installed, or is no Accelergy")
        key = f"{node.klass} {sorted(node.attributes.items(), key=str)} {isinstance(node, StorageLevel)}"
        if key not in self._known:
            with tempfile.TemporaryDirectory(prefix="jouleloop-accelergy-") as folder:
                self._known[key] = self._ask(node, version, Path(folder))
        answer: Estimate | Refusal = self._known[key]
        return answer

    def _definitions(self, version: str) -> list[Path]:
        """Return all files with compound components; classes that the user's files define replace the project's own."""
        own = {"0.3": "components.yaml", "0.4": "components-0.4.yaml"}.get(version)
        return [*([self.own / own] if self.own and own else []), *self.components]

    def _ask(self, node: Node, version: str, folder: Path) -> Estimate | Refusal:
        component: dict[str, Any] = {"name": "component", "class": node.klass, "attributes": _attributes(node)}
        tree: dict[str, Any] = {"name": "system", "local": [component]}
        if version == "0.4":
            stores = isinstance(node, StorageLevel)
            component["required_actions"] = ["read", "write", "update", "leak"] if stores else ["compute", "leak"]
            technology = node.attributes.get("technology", "45nm")
            tree["attributes"] = {"technology": technology, "global_cycle_seconds": self.cycle_seconds}
        text = _dump_quoted({"architecture": {"version": float(version), "subtree": [tree]}})
        write_text(folder / "arch.yaml", text)
        given = [str(path.resolve()) for path in self._definitions(version)]
        if self.design:
            defined = {"compound_components": {"version": float(version), "classes": list(self.design)}}
            write_text(folder / "design.yaml", _dump_quoted(defined, quote=False))
            given.insert(len(given) - len(self.components), str(folder / "design.yaml"))
        files = [str(folder / "arch.yaml"), *given]
        code, log = self._run([*files, "-o", str(folder / "out"), "-p", _PRECISION[version]], folder)
        table, summary = folder / "out" / "ERT.yaml", folder / "out" / "ERT_summary.yaml"
        if code is None:
            return Refusal(f"Accelergy {version} did not finish in {self.timeout_s:g} s")
        if code != 0 or not table.exists() or not summary.exists():
            return Refusal(f"Accelergy {version} failed: {_last_words(log)}")
        try:
            energies = next(iter(read_ert(table).values()), {})
            area_um2 = next(iter(read_areas(table).values()), None)
            estimators = _estimators(read_yaml(summary))
        except JouleloopError as error:
            return Refusal(f"Accelergy {version} answered no table: {error}")
        dummies = sorted({e for e in estimators if "dummy" in e.lower()})
        if dummies:
            return Refusal(f"Accelergy {version} knows no estimate and would take {', '.join(dummies)}")
        if not energies:
            return Refusal(f"Accelergy {version} gave no energies: {_last_words(log)}")
        by = ", ".join(sorted(set(estimators))) or "its plug-ins"
        return Estimate(energies, f"Accelergy {version}: {node.klass} by {by}", _warnings(log), area_um2=area_um2)

    def _run(self, arguments: list[str], folder: Path) -> tuple[int | None, str]:
        """Return exit code (None: stopped) and all output of one run."""
        try:
            process = subprocess.Popen(  # noqa: S603 - the user's own Accelergy, arguments as a list
                [shutil.which(self.executable) or self.executable, *arguments],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                start_new_session=True,
            )
        except OSError as error:
            return 127, str(error)
        try:
            text, _ = process.communicate(timeout=self.timeout_s)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return None, ""
        return process.returncode, text


def _attributes(node: Node) -> dict[str, Any]:
    """Return the attributes, sizes under both of their names: a compound component's default is no size."""
    given = {key: value for key, value in plain(node.attributes).items() if value is not None}
    for name in ("depth", "width"):
        size = given.get(name, given.get(f"memory_{name}"))
        if size is not None and isinstance(node, StorageLevel):
            given = {name: size, f"memory_{name}": size, **given}
    return given


def _estimators(summary: Any) -> list[str]:
    """Return the names of the plug-ins that an ERT summary gives for its primitive components."""
    found: list[str] = []
    if isinstance(summary, dict):
        for key, value in summary.items():
            if key == "estimator":
                found.append(str(value))
            else:
                found += _estimators(value)
    elif isinstance(summary, list):
        for value in summary:
            found += _estimators(value)
    return found


def _warnings(log: str) -> tuple[str, ...]:
    found: list[str] = []
    for line in log.splitlines():
        match = _WARNING.match(line)
        if match and not any(noise in match["text"].lower() for noise in _NOISE) and match["text"] not in found:
            found.append(match["text"].strip())
    return tuple(found)


def _last_words(log: str) -> str:
    """Return the line of a failed run that says most about why."""
    lines = [re.sub(r"^\S+ \S+ (ERROR|CRITICAL)\s+", "", line).strip("|= \t") for line in log.splitlines()]
    lines = [line for line in lines if line and not re.search(r"error (above|below)", line, re.IGNORECASE)]
    for pattern in (r"can ?not find", r"problem encountered|error:|exception:", r"error|fail|not found"):
        telling = [line for line in lines if re.search(pattern, line, re.IGNORECASE)]
        if telling:
            return telling[0 if "find" in pattern else -1][:300]
    return (lines or ["no output"])[-1][:300]


class _Dumper(yaml.SafeDumper):
    """Safe YAML; attributes' texts are quoted, so that no front end takes them for expressions."""


_Dumper.add_representer(Quoted, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"'))


def _dump_quoted(value: Any, *, quote: bool = True) -> str:
    """Return YAML text; with ``quote``, every text among attributes in quotes, so that no front end evaluates it."""
    value = _quoted(value) if quote else value
    return str(yaml.dump(value, Dumper=_Dumper, sort_keys=False, width=120, default_flow_style=False))


def _quoted(value: Any, inside: bool = False) -> Any:
    if isinstance(value, dict):
        return {key: _quoted(child, inside or key == "attributes") for key, child in value.items()}
    if isinstance(value, list):
        return [_quoted(child, inside) for child in value]
    return Quoted(value) if inside and isinstance(value, str) else value
