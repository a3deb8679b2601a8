"""A network on the console: what every layer costs, and the sum of all."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from jouleloop.cli.answers import new_table
from jouleloop.fusion.sweep import ChainPoint
from jouleloop.terminal.console import print_table, print_text

if TYPE_CHECKING:
    import pandas as pd


def show_networks(table: "pd.DataFrame", *, words: bool = False) -> None:
    """Print a table an architecture: energy of every layer as often as the network runs it, and the sum of all.

    ``words``: whether accesses were counted instead of energies.
    """
    from jouleloop.tables.networks import SUMS, TOTAL  # noqa: PLC0415 - loads pandas

    for (network_name, architecture), rows in table.groupby(["network", "architecture"], sort=False):
        units = ("accesses [million words]", "words per MAC") if words else ("energy [µJ]", "pJ per MAC")
        shown = new_table(f"{network_name} on {architecture}", ["layer"], ("runs", "MACs", *units, "share"))
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


def show_fused(
    title: str, rows: "pd.DataFrame", records: Sequence[tuple[ChainPoint, Mapping[str, Any]]], *, words: bool
) -> None:
    """Print what the chains of a network take fused and apart, each as often as it runs, and what the network takes.

    ``rows`` are those of its table; a record is a result as `jouleloop.fusion.result.ChainResult.as_json`.
    """
    from jouleloop.tables.networks import TOTAL  # noqa: PLC0415 - loads pandas

    unit = "million words" if words else "µJ"
    shown = new_table(title, ["chain"], ("runs", f"apart [{unit}]", f"fused [{unit}]", "ratio", "outside"))
    alone = {row["layer"]: float(row["total_pj"]) for _, row in rows.iterrows() if row["status"] == "ok"}
    total_pj, others_pj, saved_pj = alone.get(TOTAL), alone.get(TOTAL, 0.0), 0.0
    for point, record in records:
        label = f"{point.chain.names[0]} … {point.chain.names[-1]}"
        if not record.get("groups"):
            shown.add_row(escape(label), f"{point.count:,}", "no mapping")
            continue
        # A limit of seconds may have left layers worse here than alone, or the other way round.
        apart_pj = point.count * min(record["energy_apart"], sum(alone[layer] for layer in point.chain.names))
        fused_pj = min(apart_pj, point.count * record["energy"])
        others_pj, saved_pj = max(0.0, others_pj - apart_pj), saved_pj + apart_pj - fused_pj
        outside = record["outer_words"] / record["outer_words_apart"]
        shown.add_row(escape(label), f"{point.count:,}", *_both(apart_pj, fused_pj), f"{outside:.1%}")
    if total_pj is not None:
        shown.add_section()
        shown.add_row("(layers in no chain)", "", *_both(others_pj, others_pj), "")
        shown.add_row(TOTAL, "", *_both(total_pj, total_pj - saved_pj), "")
    print_table(shown)
    whole = "" if total_pj is None else f", {saved_pj / total_pj:.2%} of the network"
    proven = sum(record.get("optimal", False) for _, record in records)
    print_text(f"fusion saves {saved_pj / 1e6:,.4g} {unit}{whole}; {proven} of {len(records)} chains are proven\n")


def _both(apart_pj: float, fused_pj: float) -> tuple[str, str, str]:
    return f"{apart_pj / 1e6:,.3f}", f"{fused_pj / 1e6:,.3f}", f"{fused_pj / apart_pj:.1%}" if apart_pj else ""


def _compare(network: str, rows: "pd.DataFrame", *, words: bool) -> None:
    """Print the architectures side by side: energy of every layer, then of those that all map, by component too."""
    import pandas as pd  # noqa: PLC0415

    from jouleloop.tables.networks import SUMS, TOTAL  # noqa: PLC0415

    names = [str(name) for name in dict.fromkeys(rows["architecture"])]
    unit = "million words" if words else "µJ"
    right = [*names, *(f"{name} / {names[0]}" for name in names[1:])]
    shown = new_table(f"{network}: {' and '.join(names)}, {unit}", ["layer, then component"], right)

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
