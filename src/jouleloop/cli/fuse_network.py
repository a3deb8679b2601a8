"""The chains of networks on the command line: their search, its table, and what fusion saves of each network."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from jouleloop.api.chains import chains_in
from jouleloop.cli.show_network import show_fused
from jouleloop.cli.target_options import FusionChoice, SearchChoice
from jouleloop.cli.watching import told_as_stored, watched
from jouleloop.columns import write_table
from jouleloop.errors import Fault, InputError
from jouleloop.files import write_text
from jouleloop.fusion.sweep import ChainPoint, ChainSweep
from jouleloop.report.fused_page import fused_page
from jouleloop.study.chains import chain_records, check_chains
from jouleloop.study.compute import Job
from jouleloop.study.provenance import provenance
from jouleloop.study.store import ResultStore
from jouleloop.tables.chains import chain_rows
from jouleloop.tables.layouts import CHAINS
from jouleloop.terminal.console import print_text
from jouleloop.units import WORDS, energies_in
from jouleloop.workload.sweep import Sweep
from jouleloop.workload.variants import UNCHANGED


def fused_sweeps(
    networks: Sequence[Sweep], jobs: Mapping[str, Job], how: SearchChoice, fusion: FusionChoice
) -> list[ChainSweep]:
    """Return the chains of each network; raise `InputError` where there are none, or no search proves them."""
    found = []
    for network in networks:
        points = tuple(ChainPoint((), UNCHANGED, chain, count) for chain, count in chains_in(network))
        found.append(ChainSweep(network.name, network.source, points, fusion.level, fusion.recompute))
    if not any(sweep.points for sweep in found):
        names = [network.name for network in networks]
        raise InputError(Fault("has no two layers that follow each other, equally often", "NETWORK", value=names))
    if how.options.budget is not None:
        raise InputError(Fault("bounds no search of chains", "--budget", None, how.options.budget, "--seconds"))
    try:
        check_chains(found, how.engine, how.options.objective, {name: job.target for name, job in jobs.items()})
    except InputError as error:
        # What is wrong is an option here, no key of a file.
        raise InputError(replace(one, source=None) for one in error.faults) from error
    return found


def fuse_networks(
    sweeps: Sequence[ChainSweep], jobs: Mapping[str, Job], networks: pd.DataFrame, folder: Path, page: Path | None
) -> None:
    """Search the chains, write their table and page, and print them beside the layers apart.

    ``networks`` is the table of that name, with the energies of all layers apart.
    """
    store, rows, drawn, unit = ResultStore(folder / "store"), [], [], ""
    for sweep in sweeps:
        for name, job in jobs.items():
            with told_as_stored(), watched(None) as watch:
                records = list(chain_records(job, sweep, store, watch))
            rows.append(chain_rows(sweep, name, records).assign(count=[point.count for point in sweep.points]))
            drawn += [(f"{point.chain.name} on {name}", record) for point, record in records]
            unit = job.target.costs.unit
            own = networks[networks["network"].eq(sweep.name) & networks["architecture"].eq(name)]
            show_fused(f"{sweep.name} on {name}, fused", own, records, words=unit == WORDS)
    with energies_in(unit):
        write_table(folder / CHAINS.file, pd.concat(rows, ignore_index=True), CHAINS, provenance(jobs, sweeps))
    if page is not None:
        write_text(page, fused_page(drawn))
    print_text(f"chains written to {folder}")
