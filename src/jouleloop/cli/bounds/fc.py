"""``jouleloop bounds fc``: the bounds of paper 002 for one fully-connected layer."""

from typing import Annotated, Any

import typer

from jouleloop.cli.bounds import app
from jouleloop.errors import Fault, InputError
from jouleloop.terminal.console import print_json, stdout
from jouleloop.theory.fully_connected.best_schedule import schedule_of
from jouleloop.theory.fully_connected.bounds import all_bounds, exact_bounds
from jouleloop.theory.fully_connected.exact import MOST_STATES, exact_minimum
from jouleloop.theory.fully_connected.formulas import FcLayer
from jouleloop.theory.fully_connected.schedule import run
from jouleloop.theory.fully_connected.text import draw_text
from jouleloop.theory.printing import print_bounds


@app.command("fc")
def fc(
    inputs: Annotated[int, typer.Option("--inputs", "-n", help="n, the number of inputs.")],
    outputs: Annotated[int, typer.Option("--outputs", "-m", help="m, the number of outputs.")],
    buffer: Annotated[int, typer.Option("--buffer", "-B", help="β, words of Buffer for inputs and outputs.")],
    bits: Annotated[int, typer.Option("--bits", "-b", help="b, bits of a word.")] = 8,
    partition: Annotated[int, typer.Option("--partition", "-d", help="d, words of Buffer for inputs.")] = 1,
    bound: Annotated[int, typer.Option("--bound", "-c", help="c of Algorithm 2, the most inputs in Buffer.")] = 1,
    output_reads: Annotated[int | None, typer.Option("--output-reads", help="μ for eq. (5), in reads.")] = None,
    input_reads: Annotated[int | None, typer.Option("--input-reads", help="ν for eq. (5), in reads.")] = None,
    mac_energy: Annotated[float | None, typer.Option("--mac-energy", help="C_b of eq. (3), in pJ.")] = None,
    exact: Annotated[bool, typer.Option("--exact", help="Solve for the least 2μ + ν (small layers).")] = False,
    schedule: Annotated[bool, typer.Option("--schedule", help="With --exact, also give the schedule found.")] = False,
    states: Annotated[
        int, typer.Option("--states", help="With --exact, how many states a search may keep.")
    ] = MOST_STATES,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list of objects.")] = False,
) -> None:
    """Bounds on the energy of a fully-connected layer (paper 002)."""
    layer = FcLayer(inputs, outputs, buffer, bits)
    if (output_reads is None) != (input_reads is None):
        raise InputError(Fault("μ and ν go together", field="--output-reads, --input-reads"))
    if schedule and not exact:
        raise InputError(Fault("a schedule needs --exact", field="--schedule"))
    if states < 1:
        raise InputError(Fault("not a positive number of states", field="--states", value=states))
    reads = None if output_reads is None or input_reads is None else (output_reads, input_reads)
    rows = all_bounds(layer, partition=partition, inputs_bound=bound, reads=reads, mac_energy_pj=mac_energy)
    found = None
    if exact:
        found = exact_minimum(layer, most_states=states)
        rows += exact_bounds(found)
    if as_json:
        records: list[dict[str, Any]] = [row.as_json() for row in rows]
        if found is not None:
            for record in records:
                if record["name"].startswith("exact_"):
                    record["decided"] = found.decided
                    record["method"] = found.method
                    if schedule and not record["name"].startswith("exact_lower"):
                        record["schedule"] = [str(read) for read in schedule_of(found).reads]
        print_json(records)
        return
    print_bounds(
        rows, as_json=False, title=f"Fully-connected layer n = {inputs}, m = {outputs}, β = {buffer}, b = {bits}"
    )
    if found is not None:
        verdict = f"decided by {found.method}" if found.decided else "undecided"
        stdout.print(f"exact: {verdict}, 2μ + ν in {found.lower} … {found.upper}")
    if found is not None and schedule:
        stdout.print(draw_text(run(schedule_of(found))), highlight=False, markup=False)
