"""``jouleloop network``: what a whole network costs, layer by layer in the network's order, and its total."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from jouleloop.api.layers import sweeps_of
from jouleloop.api.run import jobs_of
from jouleloop.cli import options
from jouleloop.cli.sweep import search_all
from jouleloop.cli.target_options import HardwareChoice, SearchChoice, hardware_of, search_of
from jouleloop.errors import Fault, InputError
from jouleloop.terminal.console import print_table, print_text
from jouleloop.terminal.splice import spliced

if TYPE_CHECKING:
    import pandas as pd


@spliced(hardware=hardware_of, how=search_of)
def network(
    name: Annotated[
        str, typer.Argument(metavar="NETWORK", help="Network: a file in layers/networks/ by name, or any by its path.")
    ],
    arch: options.Archs,
    hardware: HardwareChoice,
    how: SearchChoice,
    output: Annotated[
        Path, typer.Option("--output", help="Folder for the tables networks and energies, and the result store.")
    ] = Path("results"),
) -> None:
    """Search every layer of a network; print its energy layer by layer. Exit code 1 where a layer has no mapping."""
    networks = sweeps_of(name)
    if not all(points.is_network for points in networks):
        fault = "is a sweep, no network: jouleloop sweep searches it"
        raise InputError(Fault(fault, "NETWORK", value=name, allowed="a file in layers/networks/, or a network file"))
    jobs = jobs_of(networks, [hardware.load(one, how.constraints) for one in arch], how.engine, how.options)
    search_all(networks, jobs, output, show=True)
    from jouleloop.columns import read_table  # noqa: PLC0415 - loads pandas
    from jouleloop.tables.layouts import ENERGIES, NETWORKS  # noqa: PLC0415
    from jouleloop.tables.networks import SUMS  # noqa: PLC0415
    from jouleloop.tables.savings import factor_pairs, savings_table  # noqa: PLC0415

    energies, provenance = read_table(output / f"{ENERGIES.file}.parquet", ENERGIES)
    for _, row in savings_table(energies, factor_pairs(provenance["architectures"])).iterrows():
        of = f"the {row['layers']} layers of {row['sweep']} that both map on {row['architecture']}"
        more = f", and map {row['only']} more" if row["only"] else ""
        if row["proven"] < row["layers"]:
            more += f"; at most {row['saved_bound']:.2%}, {row['proven']} of {row['layers']} are proven"
        print_text(f"imperfect factors save {row['saved_total']:.2%} of the energy of {of}{more}\n")
    table, _ = read_table(output / f"{NETWORKS.file}.parquet", NETWORKS)
    if not table[~table["layer"].isin(SUMS)]["status"].eq("ok").all():
        raise typer.Exit(1)


def show_networks(table: "pd.DataFrame", *, words: bool = False) -> None:
    """Print a table an architecture: energy of every layer as often as the network runs it, and the sum of all.

    ``words``: whether accesses were counted instead of energies.
    """
    from jouleloop.tables.networks import SUMS, TOTAL  # noqa: PLC0415 - loads pandas

    for (network_name, architecture), rows in table.groupby(["network", "architecture"], sort=False):
        shown = Table(title=f"{network_name} on {architecture}", title_justify="left")
        shown.add_column("layer")
        units = ("accesses [million words]", "words per MAC") if words else ("energy [µJ]", "pJ per MAC")
        for heading in ("runs", "MACs", *units, "share"):
            shown.add_column(escape(heading), justify="right")
        layers = rows[~rows["layer"].isin(SUMS)]
        sums = rows[rows["layer"].isin(SUMS)]
        mapped_pj = float(sums.iloc[-1]["total_pj"])
        for _, row in layers.iterrows():
            shown.add_row(*_cells(row, int(row["count"]), mapped_pj, whole=sums.iloc[0]["status"] == "ok"))
        shown.add_section()
        for _, row in sums.iterrows():
            shown.add_row(*_cells(row, 1, mapped_pj, whole=False))
        print_table(shown)
        total = sums[sums["layer"] == TOTAL].iloc[0]
        if total["status"] != "ok":
            print_text(f"no total: {total['status']}; --constraints arch-only may map them\n")


def _cells(row: "pd.Series", runs: int, mapped_pj: float, *, whole: bool) -> tuple[str, ...]:
    """Return the cells of a layer that runs so often, or of a sum."""
    import pandas as pd  # noqa: PLC0415

    macs = int(row["macs"]) * runs
    first = (escape(str(row["layer"])), f"{int(row['count']):,}", f"{macs:,}")
    if pd.isna(row["total_pj"]):
        return (*first, "no mapping" if row["status"] in ("invalid", "no_mapping", "failed") else "–", "", "")
    energy = float(row["total_pj"]) * runs
    return (*first, f"{energy / 1e6:,.3f}", f"{energy / macs:.4f}", f"{energy / mapped_pj:.1%}" if whole else "")
