"""What ``jouleloop curve --network`` prints and writes."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jouleloop.api.hardware import Architecture
from jouleloop.api.network_curve import SHARES, NetworkCurve, network_walked
from jouleloop.cli.answers import answer, end, new_table
from jouleloop.cli.target_options import Subject
from jouleloop.cli.watching import say_if_compiling, watched
from jouleloop.cli.write_files import Written
from jouleloop.curves.staircase import Limits
from jouleloop.errors import Fault, raise_all
from jouleloop.optimum.limit import INTERRUPT
from jouleloop.terminal.console import print_note, print_table, print_text


def check_subject(subject: Subject, of_layers: Mapping[str, Any]) -> None:
    """Raise `InputError` without a layer or network, with both, or for options of layers with a network."""
    faults = []
    if (subject.layer is None) == (subject.network is None):
        faults.append(Fault("give a layer or a network, one of both", "--layer", allowed="--layer or --network"))
    if subject.network is not None:
        text = "is for the curve of a layer"
        faults += [Fault(text, name, value=str(given)) for name, given in of_layers.items() if given is not None]
    raise_all(faults)


def draw_network(
    hardware: Architecture,
    name: str,
    level: str | None,
    objective: str,
    seconds: float | None,
    store: Path | None,
    files: Written,
    *,
    as_json: bool,
) -> None:
    """Walk the curves of a network, print them and their sum, and write table and figure; end as the command does."""
    say_if_compiling()
    with watched(seconds) as watch:
        watch.tell = None
        found = network_walked(hardware, name, level, objective, Limits(watch=watch), store=store)
    if found.steps:
        files.write(found.table, "network_curve", found.plot, f"{len(found.steps)} steps of {found.name}")
    answer(found.as_dict, lambda: _show(found), as_json=as_json)
    stopped = {curve.stopped for _, curve in found.layers} - {""}
    for _, curve in found.layers:
        if not curve.steps or curve.stopped:
            print_note(f"{curve.problem.name}: {curve.stopped or curve.staircase.reason}")
    end(interrupted=INTERRUPT in stopped, failed=not found.steps)


def _show(found: NetworkCurve) -> None:
    """Print each layer's range of capacities, and the smallest capacities near the least of the network."""
    print_text(f"{found.name}: {found.objective} against words in {found.level}")
    right = ("runs", "steps", "from [words]", "largest that helps [words]", f"least [{found.unit}]")
    table = new_table("", ["layer"], right)
    for count, curve in found.layers:
        if curve.steps:
            first, last = curve.steps[0], curve.steps[-1]
            sizes = (f"{first.words:,}", f"{last.words:,}", f"{last.value * count:,.0f}")
            table.add_row(curve.problem.name, str(count), str(len(curve.steps)), *sizes)
    print_table(table)
    if not found.steps:
        return
    near = new_table("", right=("above the least", "words", f"network [{found.unit}]", "proven"))
    for share in SHARES:
        step = found.within(share)
        near.add_row(f"{share:.0%}", f"{step.words:,}", f"{step.value:,.0f}", "yes" if step.proven else "no")
    least = found.steps[0]
    above = least.value / found.steps[-1].value - 1
    near.add_row(f"{above:.0%}", f"{least.words:,}", f"{least.value:,.0f}", "yes" if least.proven else "no")
    print_table(near)
