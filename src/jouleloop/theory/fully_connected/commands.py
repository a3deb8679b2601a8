"""``jouleloop bounds fc``, ``bounds fc-table`` and ``dataflow fc``: a fully-connected layer in paper 002's model."""

import lzma
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from jouleloop.errors import Fault, InputError
from jouleloop.files import write_text
from jouleloop.terminal.console import print_json, stdout
from jouleloop.terminal.splice import AsJson
from jouleloop.theory.commands import BOUNDS, DATAFLOW, command
from jouleloop.theory.fully_connected.bounds import all_bounds, exact_bounds
from jouleloop.theory.fully_connected.check_traces import TraceError, check_file
from jouleloop.theory.fully_connected.dataflows import Dataflow, balanced_dataflow, best_upper, schedule_of_dataflow
from jouleloop.theory.fully_connected.divisible import (
    FEW_GROUPS,
    PROVEN_OUTPUTS,
    PROVEN_OUTPUTS_IN_FEW_GROUPS,
    prove,
    write_traces,
)
from jouleloop.theory.fully_connected.exact import LARGEST_SIDE, MOST_STATES, exact_minimum
from jouleloop.theory.fully_connected.formulas import FcLayer
from jouleloop.theory.fully_connected.optima import divisible_grid, from_csv, grid, judge, table_row, to_csv
from jouleloop.theory.fully_connected.schedule import draw_text, run
from jouleloop.theory.printing import print_bounds


def read_layer(inputs: int, outputs: int, buffer_words: int) -> FcLayer:
    """Return a layer whose words have any width."""
    return FcLayer(inputs, outputs, buffer_words)


def read_reads(output_reads: int | None = None, input_reads: int | None = None) -> tuple[int, int] | None:
    """Return μ and ν for eq. (5) where they are given."""
    if output_reads is None and input_reads is None:
        return None
    if output_reads is None or input_reads is None:
        raise InputError(Fault("μ and ν go together", field="--output-reads, --input-reads"))
    return output_reads, input_reads


@dataclass(frozen=True)
class ExactOptions:
    """Whether the least cost is searched for, and how far."""

    exact: bool = False
    schedule: bool = False
    states: int = MOST_STATES

    def made(self) -> "ExactOptions":
        """Return them, where they go together."""
        if self.schedule and not self.exact:
            raise InputError(Fault("a schedule needs --exact", field="--schedule"))
        return self


@command(BOUNDS, "fc", layer=FcLayer, reads=read_reads, exact=ExactOptions)
def print_fc_bounds(
    layer: FcLayer,
    *,
    partition: int = 1,
    bound: int = 1,
    reads: tuple[int, int] | None,
    mac_energy: float | None = None,
    exact: ExactOptions,
    as_json: AsJson = False,
) -> None:
    """Bounds on the energy of a fully-connected layer (paper 002)."""
    rows = all_bounds(layer, partition=partition, inputs_bound=bound, reads=reads, mac_energy_pj=mac_energy)
    found = None
    if exact.exact:
        found = exact_minimum(layer, most_states=exact.states)
        rows += exact_bounds(found)
    if as_json:
        records: list[dict[str, Any]] = [row.as_json() for row in rows]
        if found is not None:
            of_exact = [record for record in records if record["name"].startswith("exact_")]
            for record in of_exact:
                record |= {"decided": found.decided, "method": found.method}
                if exact.schedule and not record["name"].startswith("exact_lower"):
                    record["schedule"] = [str(read) for read in found.schedule().reads]
        print_json(records)
        return
    sizes = f"n = {layer.inputs}, m = {layer.outputs}, β = {layer.buffer_words}, b = {layer.word_bits}"
    print_bounds(rows, as_json=False, title=f"Fully-connected layer {sizes}")
    if found is not None:
        verdict = f"decided by {found.method}" if found.decided else "undecided"
        stdout.print(f"exact: {verdict}, 2μ + ν in {found.lower} … {found.upper}")
    if found is not None and exact.schedule:
        stdout.print(draw_text(run(found.schedule())), highlight=False, markup=False)


_SHORT = {"most_states": 20_000, "largest_table_bits": 18}
"""Limits for layers too large to be searched in full: what the bounds do not close stays undecided."""


@command(BOUNDS, "fc-table")
def print_fc_table_bounds(
    output: Path, largest: int = 8, divisible: tuple[int, int] | None = None, as_json: AsJson = False
) -> None:
    """Solve every layer with n, m up to a size exactly and judge paper 002's bounds by it."""
    if divisible is not None and not (min(divisible) >= 1 and max(divisible) <= LARGEST_SIDE):
        allowed = f"1 … {LARGEST_SIDE}"
        raise InputError(Fault("no sizes for the exact table", field="--divisible", value=divisible, allowed=allowed))
    if divisible is None:
        rows = [table_row(*layer) for layer in grid(largest)]
    else:
        rows = [table_row(*layer, **_SHORT) for layer in divisible_grid(*divisible)]
    text = to_csv(rows)
    write_text(output, text)
    verdict = judge(from_csv(text))
    if as_json:
        print_json(verdict)
        return
    for name, value in verdict.items():
        stdout.print(f"{name}: {value if isinstance(value, int) else len(value)}", highlight=False)
        if isinstance(value, list) and value:
            stdout.print("  " + " ".join(str(layer).replace(" ", "") for layer in value), highlight=False)


@command(BOUNDS, "fc-divisible")
def prove_divisible(
    traces: Path,
    outputs: int = PROVEN_OUTPUTS,
    few: Annotated[
        int,
        typer.Option(
            "--few-groups", min=0, max=LARGEST_SIDE, help=f"And larger m up to this where m/(β − 1) <= {FEW_GROUPS}."
        ),
    ] = PROVEN_OUTPUTS_IN_FEW_GROUPS,
    check: bool = False,
) -> None:
    """Prove that eq. (28) of paper 002 is optimal for every n and (β − 1) | m, with a trace for each case left."""
    all_of, in_few = range(1, outputs + 1), range(outputs + 1, few + 1)
    if check:
        try:
            cases = list(check_file(traces, all_of, in_few, FEW_GROUPS))
        except (TraceError, OSError, ValueError, IndexError, EOFError, lzma.LZMAError) as error:
            raise InputError(Fault("the traces prove nothing", field=str(traces), value=str(error))) from error
        states = sum(cases)
        more = f", and for m <= {few} in at most {FEW_GROUPS} groups" if in_few else ""
        stdout.print(
            f"{len(cases)} cases, {states} states checked: eq. (28) is optimal for n >= β and m <= {outputs}{more}"
        )
        return
    refutations = [*(prove(m) for m in all_of), *(prove(m, FEW_GROUPS) for m in in_few)]
    found = list(write_traces(traces, (case for cases in refutations for case in cases)))
    stdout.print(f"{len(found)} cases, {sum(case.states for case in found)} states written to {traces}")


Algorithm = Literal["fixed", "bounded", "balanced", "best", "exact"]
MOST_PAIRS = 250_000
_COUNTED = ("output_reads", "input_reads", "reads", "accesses", "weight_reads", "largest_inputs", "largest_outputs")


@command(DATAFLOW, "fc", layer=read_layer)
def print_fc_run(
    layer: FcLayer,
    algorithm: Algorithm = "fixed",
    kept: int | None = None,
    reversed_roles: bool = False,
    picture: Path | None = None,
    draw: bool = True,
    as_json: AsJson = False,
) -> None:
    """Run a dataflow of a fully-connected layer (paper 002), check conditions 1–4 at every step and draw it."""
    if layer.pairs > MOST_PAIRS:
        raise InputError(Fault("too many pairs to run step by step", value=layer.pairs, allowed=f"<= {MOST_PAIRS}"))
    if algorithm in ("best", "exact", "balanced") and kept is not None:
        raise InputError(Fault(f"--keep has no meaning for {algorithm}", field="--keep", value=kept))
    if algorithm in ("best", "exact") and reversed_roles:
        raise InputError(Fault(f"--reverse has no meaning for {algorithm}: both roles are tried", field="--reverse"))
    sizes = layer.inputs, layer.outputs, layer.buffer_words
    if algorithm == "exact":
        plan = exact_minimum(layer).schedule()
    elif algorithm == "best":
        plan = schedule_of_dataflow(best_upper(layer), *sizes)
    elif algorithm == "balanced":
        plan = schedule_of_dataflow(balanced_dataflow(layer, reversed_roles=reversed_roles), *sizes)
    else:
        plan = schedule_of_dataflow(Dataflow(algorithm, 1 if kept is None else kept, reversed_roles, 0, 0), *sizes)
    result = run(plan)
    if picture is not None:
        # matplotlib is slow to import
        from jouleloop.theory.drawing import write_figure  # noqa: PLC0415
        from jouleloop.theory.fully_connected.figures import draw_run  # noqa: PLC0415

        write_figure(draw_run(result), picture)
    if as_json:
        record = {"title": plan.title} | dict(zip(("inputs", "outputs", "buffer_words"), sizes, strict=True))
        record |= {name: getattr(result, name) for name in _COUNTED}
        print_json({**record, "conditions_hold": True, "schedule": [str(read) for read in plan.reads]})
        return
    text = draw_text(result) if draw else "\n".join(draw_text(result).splitlines()[:3])
    typer.echo(text)
    if picture is not None:
        stdout.print(f"picture: {picture}", highlight=False, markup=False)
