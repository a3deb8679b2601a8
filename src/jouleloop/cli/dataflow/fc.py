"""``jouleloop dataflow fc``: run a dataflow of paper 002 and draw it."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from jouleloop.cli.dataflow import app
from jouleloop.errors import Fault, InputError
from jouleloop.terminal.console import print_json, stdout
from jouleloop.theory.fully_connected.algorithms import schedule
from jouleloop.theory.fully_connected.best_schedule import schedule_of, schedule_of_dataflow
from jouleloop.theory.fully_connected.exact import exact_minimum
from jouleloop.theory.fully_connected.formulas import FcLayer
from jouleloop.theory.fully_connected.schedule import run
from jouleloop.theory.fully_connected.text import draw_text
from jouleloop.theory.fully_connected.upper import Dataflow, balanced_dataflow, best_upper


class Algorithm(StrEnum):
    """The dataflows that can be run."""

    FIXED = "fixed"
    BOUNDED = "bounded"
    BALANCED = "balanced"
    BEST = "best"
    EXACT = "exact"


MOST_PAIRS = 250_000


@app.command("fc")
def fc(
    inputs: Annotated[int, typer.Option("--inputs", "-n", help="n, the number of inputs.")],
    outputs: Annotated[int, typer.Option("--outputs", "-m", help="m, the number of outputs.")],
    buffer: Annotated[int, typer.Option("--buffer", "-B", help="β, words of Buffer for inputs and outputs.")],
    algorithm: Annotated[
        Algorithm,
        typer.Option(
            "--algorithm",
            "-a",
            help="fixed: 002 Algorithm 1; bounded: Algorithm 2; balanced: nearly equal groups; best: cheapest known; "
            "exact: a proven or best schedule found by search (small layers).",
        ),
    ] = Algorithm.FIXED,
    kept: Annotated[
        int | None, typer.Option("--keep", "-d", help="d of Algorithm 1 or c of Algorithm 2, in words (default 1).")
    ] = None,
    reversed_roles: Annotated[
        bool, typer.Option("--reverse", help="Exchange the roles of inputs and outputs.")
    ] = False,
    picture: Annotated[Path | None, typer.Option("--picture", help="Write a picture (.svg or .png) here.")] = None,
    draw: Annotated[bool, typer.Option("--draw/--no-draw", help="Print every step and the drawing.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print counts and reads as one JSON object.")] = False,
) -> None:
    """Run a dataflow of a fully-connected layer (paper 002), check conditions 1–4 at every step and draw it."""
    layer = FcLayer(inputs, outputs, buffer)
    if layer.pairs > MOST_PAIRS:
        raise InputError(Fault("too many pairs to run step by step", value=layer.pairs, allowed=f"<= {MOST_PAIRS}"))
    if algorithm in (Algorithm.BEST, Algorithm.EXACT, Algorithm.BALANCED) and kept is not None:
        raise InputError(Fault(f"--keep has no meaning for {algorithm}", field="--keep", value=kept))
    if algorithm in (Algorithm.BEST, Algorithm.EXACT) and reversed_roles:
        raise InputError(Fault(f"--reverse has no meaning for {algorithm}: both roles are tried", field="--reverse"))
    if algorithm is Algorithm.EXACT:
        plan = schedule_of(exact_minimum(layer))
    elif algorithm is Algorithm.BEST:
        plan = schedule_of_dataflow(best_upper(layer), inputs, outputs, buffer)
    elif algorithm is Algorithm.BALANCED:
        flow: Dataflow = balanced_dataflow(layer, reversed_roles=reversed_roles)
        plan = schedule_of_dataflow(flow, inputs, outputs, buffer)
    else:
        plan = schedule(algorithm, inputs, outputs, buffer, 1 if kept is None else kept, reversed_roles=reversed_roles)
    result = run(plan)
    if picture is not None:
        from jouleloop.theory.fully_connected.figures import draw_run  # noqa: PLC0415 - matplotlib is slow to import

        draw_run(result, picture)
    if as_json:
        print_json(
            {
                "title": plan.title,
                "inputs": inputs,
                "outputs": outputs,
                "buffer_words": buffer,
                "output_reads": result.output_reads,
                "input_reads": result.input_reads,
                "reads": result.reads,
                "accesses": result.accesses,
                "weight_reads": result.weight_reads,
                "largest_inputs": result.largest_inputs,
                "largest_outputs": result.largest_outputs,
                "conditions_hold": True,
                "schedule": [str(read) for read in plan.reads],
            }
        )
        return
    text = draw_text(result) if draw else "\n".join(draw_text(result).splitlines()[:3])
    typer.echo(text)
    if picture is not None:
        stdout.print(f"picture: {picture}", highlight=False, markup=False)
