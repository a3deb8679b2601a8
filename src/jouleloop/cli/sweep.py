"""``jouleloop sweep``: one layers file without Snakemake, with a progress bar."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from jouleloop.api.layers import sweep_of
from jouleloop.api.run import jobs_of, objectives_of
from jouleloop.cli import options
from jouleloop.cli.target_options import HardwareChoice, hardware_of
from jouleloop.cli.watching import say_if_compiling
from jouleloop.engines.protocol import SearchOptions
from jouleloop.study.compute import Job
from jouleloop.study.runlog import log_to
from jouleloop.study.store import ResultStore
from jouleloop.study.summary import Searches, summary_text, write_summary
from jouleloop.study.variants import distinct_points, run_points
from jouleloop.tables.collect import summary_of, write_energy_tables
from jouleloop.terminal.console import stderr, stdout
from jouleloop.terminal.splice import spliced
from jouleloop.workload.sweep import Sweep


@spliced(hardware=hardware_of)
def sweep(
    layers: Annotated[
        str, typer.Argument(help="Layers file: a path, or the name of a file in layers/ or layers/networks/.")
    ],
    arch: Annotated[
        list[str], typer.Option("--arch", help="Architecture (name or YAML file); may be given several times.")
    ],
    output: Annotated[
        Path,
        typer.Option("--output", help="Folder for energies.parquet, energies.csv, timings.csv and the result store."),
    ] = Path("results"),
    constraints: options.ConstraintSet = None,
    *,
    hardware: HardwareChoice,
    objective: options.Objective = "energy",
    engine: options.EngineName = "native",
    budget: options.Budget = None,
    seconds: options.Seconds = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Write a line a layer to logs/sweep.log in the output folder.")
    ] = False,
) -> None:
    """Search all layers of one file and write the table of energies [pJ]; stored results are not computed again."""
    from jouleloop.tables.growth import check_sweeps  # noqa: PLC0415 - imports the statistics, which are slow to load

    with stderr.status("reading the layers") as status:
        points = sweep_of(layers, lambda made, total: status.update(f"{made:,} of {total:,} points"))
    check_sweeps([points])
    told = SearchOptions(objectives_of(objective), budget=budget, seconds=seconds)
    jobs = jobs_of(points, [hardware.load(name, constraints) for name in arch], engine, told)
    search_all(points, jobs, output, log=output / "logs" / "sweep.log" if verbose else None)


def search_all(
    points: Sweep, jobs: Mapping[str, Job], output: Path, *, log: Path | None = None, show: bool = False
) -> None:
    """Search all layers, write what the command ``sweep`` writes, and say so; ``show`` prints a network's layers."""
    store = ResultStore(output / "store")
    started = time.monotonic()
    say_if_compiling()
    with log_to(log):
        searches = _search(points, jobs, store)
        table, timings = write_energy_tables(jobs, [points], store, output)
    if points.attributes:
        # Drawing needs matplotlib, which is slow to import.
        from jouleloop.report.draw import write_architecture_sweep  # noqa: PLC0415

        write_architecture_sweep(table, points, output)
    if points.is_network:
        from jouleloop.cli.network import show_networks  # noqa: PLC0415 - it imports this module
        from jouleloop.tables.collect import write_networks  # noqa: PLC0415

        networks = write_networks(table, jobs, points, output)
        if show:
            show_networks(networks)
    summary = summary_of(table, timings, searches)
    write_summary(output / "summary.json", summary)
    stdout.print(summary_text(summary, time.monotonic() - started), highlight=False, markup=False)
    files, then = ("networks and energies", "figures") if points.is_network else ("energies", "report")
    stdout.print(f"{files} written to {output}; next: jouleloop {then} {output}", highlight=False, markup=False)


def _search(points: Sweep, jobs: Mapping[str, Job], store: ResultStore) -> Searches:
    """Search all layers on all architectures with a bar that shows rate and remaining time."""
    distinct = distinct_points([points])
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    searched = stored = 0
    with Progress(*columns, console=stderr) as progress:
        for name, job in jobs.items():
            task = progress.add_task(f"{points.name} on {name}", total=len(distinct), rate="")
            began, new = time.monotonic(), 0

            def advance(found: int, fresh: int, task: TaskID = task, began: float = began) -> None:
                nonlocal new
                new += fresh
                seconds = time.monotonic() - began
                rate = f"{new / seconds:.1f} layers/s" if new and seconds else ""
                progress.update(task, advance=found + fresh, rate=rate)

            report = run_points(job, distinct, store, advance)
            searched += report.computed
            stored += report.cached
    return Searches(searched=searched, stored=stored)
