"""A network on the console: what every layer costs, and the sum of all."""

from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from jouleloop.terminal.console import print_table, print_text

if TYPE_CHECKING:
    import pandas as pd


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
    for network_name, rows in table.groupby("network", sort=False):
        if rows["architecture"].nunique() > 1:
            _compare(str(network_name), rows, words=words)


def _compare(network: str, rows: "pd.DataFrame", *, words: bool) -> None:
    """Print the architectures side by side: energy of every layer, then of those that all map, by component too."""
    import pandas as pd  # noqa: PLC0415

    from jouleloop.tables.networks import SUMS, TOTAL  # noqa: PLC0415

    names = [str(name) for name in dict.fromkeys(rows["architecture"])]
    unit = "million words" if words else "µJ"
    shown = Table(title=f"{network}: {' and '.join(names)}, {unit}", title_justify="left")
    shown.add_column("layer, then component")
    for name in names:
        shown.add_column(escape(name), justify="right")
    for name in names[1:]:
        shown.add_column(escape(f"{name} / {names[0]}"), justify="right")

    def add(label: str, energies: "pd.Series") -> None:
        known = [None if pd.isna(energy) else float(energy) for energy in energies]
        first = known[0]
        ratios = ["–" if energy is None or not first else f"{energy / first:.3f}" for energy in known[1:]]
        cells = ("–" if energy is None else f"{energy / 1e6:,.3f}" for energy in known)
        shown.add_row(escape(label), *cells, *ratios)

    layers = rows[~rows["layer"].isin(SUMS)]
    runs = layers.assign(energy=layers["total_pj"].astype("float64") * layers["count"].astype("float64"))
    energies = runs.pivot(index="layer", columns="architecture", values="energy")
    energies = energies.reindex(index=list(dict.fromkeys(layers["layer"])), columns=names)
    for layer, found in energies.iterrows():
        add(str(layer), found)
    mapped = energies.dropna()
    if not mapped.empty:
        shown.add_section()
        whole = len(mapped) == len(energies)
        add(TOTAL if whole else f"({len(mapped)} layers mapped on all)", mapped.sum())
        shown.add_section()
        common = layers[layers["layer"].isin(mapped.index)]
        parts = {name: _by_component(common[common["architecture"] == name]) for name in names}
        for component in dict.fromkeys(key for part in parts.values() for key in part):
            add(component, pd.Series([part.get(component) for part in parts.values()]))
    print_table(shown)


def _by_component(layers: "pd.DataFrame") -> dict[str, float]:
    """Return the energy of every level, and of the operations, of layers as often as they run."""
    from jouleloop.stats.table import find_responses  # noqa: PLC0415

    counts = layers["count"].astype("float64")
    found = {
        entry.name.removesuffix("_pj"): float(
            layers[list(entry.columns)].astype("float64").mul(counts, axis=0).sum().sum()
        )
        for entry in find_responses(layers, ["levels", "compute"])
    }
    return {component: energy_pj for component, energy_pj in found.items() if energy_pj > 0}


def _cells(row: "pd.Series", runs: int, mapped_pj: float, *, whole: bool) -> tuple[str, ...]:
    """Return the cells of a layer that runs so often, or of a sum."""
    import pandas as pd  # noqa: PLC0415

    macs = int(row["macs"]) * runs
    first = (escape(str(row["layer"])), f"{int(row['count']):,}", f"{macs:,}")
    if pd.isna(row["total_pj"]):
        return (*first, "no mapping" if row["status"] in ("invalid", "no_mapping", "failed") else "–", "", "")
    energy = float(row["total_pj"]) * runs
    return (*first, f"{energy / 1e6:,.3f}", f"{energy / macs:.4f}", f"{energy / mapped_pj:.1%}" if whole else "")
