"""Energy of whole networks: the sum over their layers, each as often as the network runs it (paper 002, eq. (1))."""

from collections.abc import Sequence

import pandas as pd

from jouleloop.workload.sweep import Sweep

TOTAL = "(whole network)"


def network_table(energies: pd.DataFrame, networks: Sequence[Sweep]) -> pd.DataFrame:
    """Return the layers of every network and architecture with their multiplicity, followed by the network's total.

    Energies, operations and cycles of a layer are those of one run; the total weights each by ``count``. ``gap`` is how
    far ``total_pj`` can at most be above the optimum, relatively; 0 where the optimum is proven. A network with a layer
    that has no mapping has a total over the others, and its status says how many layers are missing. Where the energies
    have ``theory_lower_pj`` (`jouleloop.tables.network_bound`), ``theory_ratio`` is ``total_pj`` over it.
    """
    parts = []
    summed = [column for column in energies.columns if column.endswith("_pj") or column.startswith("dram_words_")]
    summed = ["lower_bound_pj", *(column for column in summed if column != "lower_bound_pj")]
    for network in networks:
        rows = energies[energies["sweep"] == network.name]
        for architecture, group in rows.groupby("architecture", sort=False):
            ok = group[group["status"] == "ok"]
            weights = ok["count"].to_numpy()
            # A level of another architecture stays empty.
            total = {column: (ok[column].astype("float64") * weights).sum(min_count=1) for column in summed}
            total_cycles = int((ok["cycles"].astype("int64") * weights).sum())
            missing = len(group) - len(ok)
            total_row = {
                "architecture": architecture,
                "network": network.name,
                "layer": TOTAL,
                "count": int(group["count"].sum()),
                "status": "ok" if missing == 0 else f"{missing} of {len(group)} layers without a mapping",
                "macs": int((group["macs"] * group["count"]).sum()),
                "cycles": total_cycles,
                "optimal": bool(ok["optimal"].all()) and missing == 0,
                **total,
            }
            columns = ["architecture", "layer", "count", "status", "macs", "cycles", "optimal", *summed]
            layers = group[columns].assign(network=network.name)
            parts.append(
                pd.concat([layers.astype(object), pd.DataFrame([total_row]).astype(object)], ignore_index=True)
            )
    table = pd.concat(parts, ignore_index=True)
    table["gap"] = table["total_pj"].astype("float64") / table["lower_bound_pj"].astype("float64") - 1
    first = ["architecture", "network", "layer", "count", "status", "macs", "cycles", "optimal", "gap"]
    if "theory_lower_pj" in summed:
        table["theory_ratio"] = table["total_pj"].astype("float64") / table["theory_lower_pj"].astype("float64")
        first += ["theory_lower_pj", "theory_ratio"]
        summed.remove("theory_lower_pj")
    return table[[*first, *summed]].infer_objects()
