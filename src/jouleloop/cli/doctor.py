"""``jouleloop doctor``: what is installed, what is missing, and whether the compiled kernels are ready."""

import importlib
import importlib.util
import re
import shutil
import sys
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

import jouleloop
from jouleloop.api.project import project_config, project_root
from jouleloop.cli import options
from jouleloop.cli.answers import new_table
from jouleloop.cli.doctor_design import examine_design
from jouleloop.cli.doctor_tools import accelergy_state, front_end_state, timeloop_detail
from jouleloop.cli.target_options import pairs_of, read_outside
from jouleloop.engines.protocol import Engine
from jouleloop.engines.registry import ENGINES, get_engine, installed_version
from jouleloop.engines.timeloop.engine import TimeloopEngine
from jouleloop.engines.timeloop.programs import TimeloopPrograms
from jouleloop.errors import JouleloopError
from jouleloop.mapspace.inventory import REFUSED
from jouleloop.study.engines import timeloop_options
from jouleloop.study.kernels import compile_kernels
from jouleloop.terminal.console import print_json, print_table
from jouleloop.terminal.splice import AsJson

_PACKAGES = ("numba", "numpy", "pandas", "pyarrow", "pydantic", "scipy", "seaborn", "snakemake", "statsmodels")
_PROGRAMS = {
    "conda": "snakemake --sdm conda",
    "apptainer": "snakemake --sdm apptainer",
    "sbatch": "profiles/slurm",
}
_OPTIONAL = {"onnx": "jouleloop import"}


@dataclass(frozen=True)
class Finding:
    """One thing looked for."""

    kind: str
    """``python``, ``package``, ``engine``, ``estimator``, ``program``, ``project``."""
    name: str
    state: str
    """``ok``, ``missing`` or ``broken``; only a missing or broken thing that is ``required`` is an error."""
    detail: str
    required: bool


def examine() -> list[Finding]:
    """Return what is there and what is not."""
    version = ".".join(map(str, sys.version_info[:3]))
    found = [Finding("python", "python", "ok" if sys.version_info >= (3, 11) else "broken", version, True)]
    found.append(Finding("package", "jouleloop", "ok", jouleloop.__version__, True))
    for name in _PACKAGES:
        try:
            found.append(Finding("package", name, "ok", metadata.version(name), True))
        except metadata.PackageNotFoundError:
            found.append(Finding("package", name, "missing", f"pip install {name}", True))
    for name in ENGINES:
        found.append(_engine(name))
    found.append(Finding("package", "pytimeloop", *front_end_state(), False))
    found.append(Finding("estimator", "accelergy", *accelergy_state(), False))
    for name, use in _OPTIONAL.items():
        there = importlib.util.find_spec(name) is not None
        found.append(Finding("package", name, "ok" if there else "missing", use, False))
    for name, use in _PROGRAMS.items():
        path = shutil.which(name)
        detail = f"{use}: {path}" if path else use
        found.append(Finding("program", name, "ok" if path else "missing", detail, False))
    found.append(_project())
    return found


def _engine(name: str) -> Finding:
    required = name == "native"
    try:
        engine = _configured_timeloop() if name == "timeloop" else get_engine(name)
        version = installed_version(engine) or getattr(engine, "version", None)
    except (JouleloopError, ImportError) as error:
        # Programs that are there but do not work are another matter than none.
        there = required or "not found" not in str(error)
        return Finding("engine", name, "broken" if there else "missing", str(error), required)
    programs = getattr(engine, "programs", None)
    if isinstance(programs, TimeloopPrograms):
        return Finding("engine", name, "ok", timeloop_detail(programs), required)
    where = getattr(programs, "where", None)
    detail = str(version or jouleloop.__version__) + (f": {where}" if where else "")
    return Finding("engine", name, "ok", detail, required)


def _configured_timeloop() -> Engine:
    """Return the engine with the configured home of the programs, where there is a configuration."""
    try:
        config = project_config(project_root())
    except JouleloopError:
        config = None
    return TimeloopEngine() if config is None else TimeloopEngine(timeloop_options(config))


def _project() -> Finding:
    root = project_root()
    try:
        config = project_config(root)
    except JouleloopError as error:
        return Finding("project", str(root), "broken", str(error), False)
    if config is None:
        return Finding("project", str(root), "missing", "no config/config.yaml here or above", False)
    detail = f"architectures {', '.join(config.architectures)}; sweeps {', '.join(config.sweeps) or 'none'}"
    return Finding("project", str(root), "ok", detail, False)


def doctor(
    as_json: AsJson = False,
    warm: Annotated[
        bool, typer.Option("--warm", help="Compile the kernels now (about a minute), so that the first run does not.")
    ] = False,
    design: Annotated[
        list[Path] | None,
        typer.Option("--design", help="Tell instead what becomes of every key of this Timeloop file; may be repeated."),
    ] = None,
    variables: options.Variables = None,
    allow_outside: options.AllowOutside = False,
) -> None:
    """Tell which engines, estimators and optional tools are present; exit code 1 where a required one is missing.

    With --design, tell what of a design is counted, counts for energy, is without effect, passed by or refused; 1 where
    something is.
    """
    if design:
        read_outside(allowed=allow_outside)
        _show_design(design, pairs_of(variables), as_json=as_json)
        return
    found = examine()
    if warm:
        found.append(_warm())
    if as_json:
        print_json([asdict(finding) for finding in found])
    else:
        table = new_table("jouleloop doctor", ("kind", "name", "state", "detail"))
        marks = {"ok": "[green]ok[/]", "broken": "[red]broken[/]"}
        for finding in found:
            plain = "[red]missing[/]" if finding.required else "not installed (optional)"
            table.add_row(finding.kind, escape(finding.name), marks.get(finding.state, plain), escape(finding.detail))
        print_table(table)
    if any(finding.required and finding.state != "ok" for finding in found):
        raise typer.Exit(1)


def _show_design(paths: list[Path], variables: dict[str, str], *, as_json: bool) -> None:
    entries = examine_design(paths, variables)
    if as_json:
        print_json([asdict(entry) for entry in entries])
    else:
        table = new_table(" + ".join(path.name for path in paths), ("verdict", "key", "value", "why"))
        for entry in entries:
            verdict = f"[red]{entry.verdict}[/]" if entry.verdict == REFUSED else entry.verdict
            key = re.sub(r"\.(attributes|constraints)\.", ": ", entry.where)
            table.add_row(verdict, escape(key), escape(entry.value), escape(entry.why))
        print_table(table)
    if any(entry.verdict == REFUSED for entry in entries):
        raise typer.Exit(1)


def _warm() -> Finding:
    problem = compile_kernels(project_root())
    return Finding("engine", "kernels", "broken" if problem else "ok", problem or "compiled and stored", True)
