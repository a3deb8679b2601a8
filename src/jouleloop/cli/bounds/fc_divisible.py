"""``jouleloop bounds fc-divisible``: prove eq. (28) of paper 002 optimal for (β − 1) | m, and check the proof."""

import lzma
from pathlib import Path
from typing import Annotated

import typer

from jouleloop.cli.bounds import app
from jouleloop.errors import Fault, InputError
from jouleloop.terminal.console import stdout
from jouleloop.theory.fully_connected.check_traces import TraceError, check_file
from jouleloop.theory.fully_connected.divisible import prove, write_traces


@app.command("fc-divisible")
def fc_divisible(
    traces: Annotated[Path, typer.Argument(help="The file of traces, LZMA.")],
    outputs: Annotated[int, typer.Option("--outputs", "-m", help="All m up to this.")] = 16,
    check: Annotated[
        bool, typer.Option("--check", help="Check the file with the separate checker instead of writing it.")
    ] = False,
) -> None:
    """Prove that eq. (28) of paper 002 is optimal for all n and (β − 1) | m, with a trace for each case left."""
    if not 1 <= outputs <= 30:
        raise InputError(Fault("no size to prove", field="--outputs", value=outputs, allowed="1 … 30"))
    if check:
        try:
            cases = list(check_file(traces, range(1, outputs + 1)))
        except (TraceError, OSError, ValueError, EOFError, lzma.LZMAError) as error:
            raise InputError(Fault("the traces prove nothing", field=str(traces), value=str(error))) from error
        states = sum(case.states for case in cases)
        stdout.print(f"{len(cases)} cases checked, {states} states: eq. (28) is optimal for m <= {outputs}, n >= β")
        return
    found = list(write_traces(traces, (case for m in range(1, outputs + 1) for case in prove(m))))
    stdout.print(f"{len(found)} cases, {sum(case.states for case in found)} states written to {traces}")
