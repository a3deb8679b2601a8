"""Options that several commands share, and how their text becomes values."""

from pathlib import Path
from typing import Annotated

import typer

from jouleloop.engines.protocol import OBJECTIVES, SEMANTICS
from jouleloop.engines.registry import ENGINES
from jouleloop.errors import Fault, InputError, raise_all, unknown
from jouleloop.files import is_file
from jouleloop.workload.layer import parse_layer
from jouleloop.workload.problem import Problem
from jouleloop.workload.timeloop_problem import read_problem

Arch = Annotated[
    str, typer.Option("--arch", help="Architecture: a name in config/config.yaml or arch/, or the path of a YAML file.")
]
LayerText = Annotated[
    str,
    typer.Option(
        "--layer",
        help="Layer: fc:INPUTSxOUTPUTS, conv:C3xM64xP57xQ57xR3xS3/stride4 (in elements), or a Timeloop problem file.",
    ),
]
ConstraintSet = Annotated[
    str | None,
    typer.Option(
        "--constraints",
        help="Set of constraints: full, arch-only, none; or the path of a constraints file. Default: as configured.",
    ),
]
EnergyTable = Annotated[
    Path | None, typer.Option("--energy", help="Energy reference table (pJ per action), instead of the configured one.")
]
Semantics = Annotated[str, typer.Option("--semantics", help=f"Counting rules: {' or '.join(SEMANTICS)}.")]
Objective = Annotated[
    str,
    typer.Option(
        "--objective", help=f"What is minimised: {', '.join(OBJECTIVES)} (pJ, cycles, pJ x cycles); or energy,delay."
    ),
]
EngineName = Annotated[str, typer.Option("--engine", help=f"What searches: {', '.join(ENGINES)}.")]
Budget = Annotated[
    int | None, typer.Option("--budget", min=1, help="Most mappings to evaluate; without it the optimum is proven.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON (energies in pJ) instead of tables.")]


def parse_objective(text: str) -> tuple[str, ...]:
    """Return the objectives in ``text``, separated by commas or plus signs."""
    names = tuple(part.strip() for part in text.replace("+", ",").split(","))
    raise_all([unknown(name, OBJECTIVES, "objective", field="--objective") for name in names if name not in OBJECTIVES])
    return names


def parse_problem(text: str) -> Problem:
    """Return the problem of a layer's text form or of a Timeloop problem file."""
    path = Path(text)
    if path.suffix in (".yaml", ".yml"):
        return read_problem(path)
    try:
        return parse_layer(text).problem()
    except InputError as error:
        if is_file(path):
            raise InputError(Fault("a problem file must end in .yaml", "--layer", value=text)) from error
        raise error.at("--layer") from error


def split_constraints(text: str | None) -> tuple[str | None, Path | None]:
    """Return the set of constraints, and the constraints file where ``text`` is a path."""
    if text is None or text in ("full", "arch-only", "none"):
        return text, None
    path = Path(text)
    if path.suffix in (".yaml", ".yml"):
        return None, path
    raise InputError(unknown(text, ("full", "arch-only", "none"), "set of constraints", field="--constraints"))
