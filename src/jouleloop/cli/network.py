"""``jouleloop network``: what a whole network costs, layer by layer in the network's order, and its total."""

from typing import Annotated

import typer

from jouleloop.api.layers import sweeps_of
from jouleloop.api.run import jobs_of
from jouleloop.cli import options
from jouleloop.cli.fuse_network import fuse_networks, fused_sweeps
from jouleloop.cli.own_folder import Destination
from jouleloop.cli.sweep import search_all
from jouleloop.cli.target_options import FusionChoice, HardwareChoice, SearchChoice, hardware_of, search_of
from jouleloop.errors import Fault, InputError
from jouleloop.terminal.console import print_text
from jouleloop.terminal.splice import spliced


@spliced(hardware=hardware_of, how=search_of, fusion=FusionChoice, into=Destination)
def network(
    name: Annotated[
        str, typer.Argument(metavar="NETWORK", help="Network: a file in layers/networks/ by name, or any by its path.")
    ],
    arch: options.Archs,
    hardware: HardwareChoice,
    how: SearchChoice,
    fusion: FusionChoice,
    into: Destination,
    *,
    fuse: Annotated[
        bool, typer.Option("--fuse", help="Search the network's chains, too, fused where that takes less energy.")
    ] = False,
) -> None:
    """Search every layer of a network; print its energy layer by layer. Exit code 1 where a layer has no mapping."""
    try:
        networks = sweeps_of(name)
    except InputError as error:
        raise error.renamed({"layers": "NETWORK"}) from error
    if not all(points.is_network for points in networks):
        fault = "is a sweep, no network: jouleloop sweep searches it"
        raise InputError(Fault(fault, "NETWORK", value=name, allowed="a file in layers/networks/, or a network file"))
    jobs = jobs_of(networks, [hardware.load(one, how.constraints) for one in arch], how.engine, how.options)
    chains = fused_sweeps(networks, jobs, how, fusion) if fuse else []
    if fusion != FusionChoice() and not fuse:
        raise InputError(Fault("--level, --recompute and --page are about fused layers", allowed="--fuse"))
    folder = into.folder("network", name, networks, jobs)
    search_all(networks, jobs, folder, show=True)
    into.write_mappings(networks, jobs, folder)
    from jouleloop.columns import read_table  # noqa: PLC0415 - loads pandas
    from jouleloop.tables.layouts import ENERGIES, NETWORKS  # noqa: PLC0415
    from jouleloop.tables.networks import SUMS  # noqa: PLC0415
    from jouleloop.tables.savings import factor_pairs, savings_table  # noqa: PLC0415

    energies, provenance = read_table(folder / f"{ENERGIES.file}.parquet", ENERGIES)
    for _, row in savings_table(energies, factor_pairs(provenance["architectures"])).iterrows():
        of = f"the {row['layers']} layers of {row['sweep']} that both map on {row['architecture']}"
        more = f", and map {row['only']} more" if row["only"] else ""
        if row["proven"] < row["layers"]:
            more += f"; at most {row['saved_bound']:.2%}, {row['proven']} of {row['layers']} are proven"
        print_text(f"imperfect factors save {row['saved_total']:.2%} of the energy of {of}{more}\n")
    table, _ = read_table(folder / f"{NETWORKS.file}.parquet", NETWORKS)
    if fuse:
        fuse_networks(chains, jobs, table, folder, fusion.page)
    if not table[~table["layer"].isin(SUMS)]["status"].eq("ok").all():
        raise typer.Exit(1)
