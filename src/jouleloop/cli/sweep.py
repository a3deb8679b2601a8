"""``jouleloop sweep``: one layers file without Snakemake, with a progress bar."""

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from jouleloop.api.layers import sweeps_of
from jouleloop.api.run import jobs_of
from jouleloop.cli import options
from jouleloop.cli.own_folder import Destination
from jouleloop.cli.show_network import show_networks
from jouleloop.cli.target_options import HardwareChoice, SearchChoice, hardware_of, search_of
from jouleloop.cli.watching import say_if_compiling, told_as_stored
from jouleloop.columns import read_table
from jouleloop.files import remove_left_over
from jouleloop.optimum.limit import INTERRUPT, Watch
from jouleloop.optimum.limit import Progress as SearchProgress
from jouleloop.signals import asked_by_signals
from jouleloop.study.compute import Job, energy_unit_of
from jouleloop.study.progress import UNTOLD, search_line
from jouleloop.study.runlog import log_to
from jouleloop.study.store import ResultStore
from jouleloop.study.summary import Searches, summary_text, write_summary
from jouleloop.study.variants import distinct_points, run_points
from jouleloop.tables.collect import summary_of, write_energies
from jouleloop.tables.layouts import ENERGIES
from jouleloop.terminal.console import stderr, stdout
from jouleloop.terminal.splice import spliced
from jouleloop.units import WORDS
from jouleloop.workload.sweep import Sweep


@spliced(hardware=hardware_of, how=search_of, into=Destination)
def sweep(
    layers: Annotated[
        str, typer.Argument(help="Layers file: a path, or the name of a file in layers/ or layers/networks/.")
    ],
    arch: options.Archs,
    hardware: HardwareChoice,
    how: SearchChoice,
    into: Destination,
    *,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Write a line a layer to logs/sweep.log in the output folder.")
    ] = False,
) -> None:
    """Search all layers of one file and write the table of energies (pJ); stored results are not computed again."""
    from jouleloop.tables.layers import check_sweeps  # noqa: PLC0415 - imports the statistics, which are slow to load

    with stderr.status("reading the layers") as status:
        sweeps = sweeps_of(layers, lambda made, total: status.update(f"{made:,} of {total:,} points"))
    check_sweeps(sweeps)
    jobs = jobs_of(sweeps, [hardware.load(name, how.constraints) for name in arch], how.engine, how.options)
    folder = into.folder("sweep", layers, sweeps, jobs)
    search_all(sweeps, jobs, folder, log=folder / "logs" / "sweep.log" if verbose else None)
    into.write_mappings(sweeps, jobs, folder)


def search_all(
    sweeps: Sequence[Sweep], jobs: Mapping[str, Job], output: Path, *, log: Path | None = None, show: bool = False
) -> None:
    """Search all layers, write what the command ``sweep`` writes, and say so; ``show`` prints a network's layers."""
    store = ResultStore(output / "store")
    # Below it may be anything of the user's.
    remove_left_over(output, below=False)
    started = time.monotonic()
    say_if_compiling()
    with log_to(log):
        with told_as_stored():
            searches = _search(sweeps, jobs, store)
        table, timings = write_energies(jobs, sweeps, store, output)
    words = energy_unit_of(jobs) == WORDS
    for points in sweeps:
        if points.attributes or points.is_network:
            rows = read_table(output / f"{ENERGIES.file}.parquet", ENERGIES, where={"sweep": [points.name]})[0]
        if points.attributes:
            # Drawing needs matplotlib, which is slow to import.
            from jouleloop.report.figures_architecture import write_architecture_sweep  # noqa: PLC0415

            write_architecture_sweep(rows, points, output)
        if points.is_network:
            from jouleloop.tables.collect import write_networks  # noqa: PLC0415

            networks = write_networks(rows, jobs, points, output)
            if show:
                show_networks(networks, words=words)
    summary = summary_of(table, timings, searches)
    write_summary(output / "summary.json", summary)
    stdout.print(summary_text(summary, time.monotonic() - started), highlight=False, markup=False)
    files = "networks and energies" if any(points.is_network for points in sweeps) else "energies"
    stdout.print(f"{files} written to {output}; next: jouleloop report {output}", highlight=False, markup=False)


#: Seconds after which a search is shown by itself.
_LONG_SECONDS = 1.0


class _Bars(Progress):
    """A bar an architecture, and below them how the search goes that is under way."""

    watch: Watch | None = None
    #: What was told last, and of the search that began when.
    told: tuple[float, str] = (0.0, "")

    def get_renderables(self) -> Iterable[RenderableType]:
        """Yield the bars and the line below them."""
        yield from super().get_renderables()
        watch = self.watch
        if watch is not None and watch.subject and watch.seconds > _LONG_SECONDS:
            began, line = self.told
            yield Text(f"{watch.subject}: {line if began == watch.started else UNTOLD}")


def _search(sweeps: Sequence[Sweep], jobs: Mapping[str, Job], store: ResultStore) -> Searches:
    """Search all layers on all architectures with a bar that shows rate and remaining time.

    Raises `KeyboardInterrupt`, at SIGINT or SIGTERM; what was searched before is stored.
    """
    distinct = distinct_points(sweeps)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=16),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    searched = stored = 0
    with _Bars(*columns, console=stderr) as progress:
        for name, job in jobs.items():
            task = progress.add_task(name, total=len(distinct), rate="")
            began, new = time.monotonic(), 0

            def advance(found: int, fresh: int) -> None:
                nonlocal new
                new += fresh
                seconds = time.monotonic() - began  # noqa: B023 - called in this turn of the loop only
                rate = f"{new / seconds:.1f} layers/s" if new and seconds else ""
                progress.update(task, advance=found + fresh, rate=rate)  # noqa: B023

            with _watched(job, progress):
                report = run_points(job, distinct, store, advance)
            searched += report.computed
            stored += report.cached
    return Searches(searched=searched, stored=stored)


@contextlib.contextmanager
def _watched(job: Job, bars: _Bars) -> Iterator[None]:
    """Show every search that takes long below the bars, and let a signal stop it."""

    def tell(watch: Watch, where: Callable[[], SearchProgress]) -> None:
        bars.told = (watch.started, search_line(where()))

    bars.watch = watch = job.watched(tell)
    if watch is None:
        yield
        return
    try:
        with asked_by_signals(watch.stop):
            yield
    finally:
        bars.watch = None
    if watch.asked() == INTERRUPT:
        raise KeyboardInterrupt
