"""Energy of whole networks: the sum over their layers, each as often as the network runs it (paper 002, eq. (1))."""

from collections.abc import Sequence

import pandas as pd

from jouleloop.workload.sweep import Sweep

#: The row of the whole network, and that of its mapped layers, which stands there only where some have no mapping.
TOTAL, MAPPED = "(whole network)", "(mapped layers only)"
#: Rows that are no layers.
SUMS = (TOTAL, MAPPED)


def network_table(energies: pd.DataFrame, networks: Sequence[Sweep]) -> pd.DataFrame:
    """Return the layers of every network and architecture with their multiplicity, followed by the network's total.

    Energies, operations and cycles of a layer are those of one run; the total weights each by ``count``. ``gap`` is how
    far ``total_pj`` can at most be above the optimum, relatively; 0 where the optimum is proven. A network with a layer
    that has no mapping has no total: its status says how many layers are missing, and a row `MAPPED` adds up the others
    with *their* operations. Where the energies have ``theory_lower_pj`` (`jouleloop.tables.network_bound`),
    ``theory_ratio`` is ``total_pj`` over it.
    """
    parts = []
    summed = [column for column in energies.columns if column.endswith("_pj") or column.startswith("dram_words_")]
    summed = ["lower_bound_pj", *(column for column in summed if column != "lower_bound_pj")]
    for network in networks:
        rows = energies[energies["sweep"] == network.name]
        for architecture, group in rows.groupby("architecture", sort=False):
            ok = group[group["status"] == "ok"]
            missing = len(group) - len(ok)
            whole = _sum(group, TOTAL, summed)
            if missing:
                status = f"{missing} of {len(group)} layers without a mapping"
                whole |= {"status": status, "optimal": False, "cycles": None, **dict.fromkeys(summed)}
            sums = [whole, _sum(ok, MAPPED, summed)] if missing else [whole]
            columns = ["layer", "count", "status", "macs", "cycles", "optimal", *summed]
            both = pd.concat([group[columns].astype(object), pd.DataFrame(sums).astype(object)], ignore_index=True)
            parts.append(both.assign(architecture=architecture, network=network.name))
    table = pd.concat(parts, ignore_index=True)
    table["gap"] = table["total_pj"].astype("float64") / table["lower_bound_pj"].astype("float64") - 1
    first = ["architecture", "network", "layer", "count", "status", "macs", "cycles", "optimal", "gap"]
    if "theory_lower_pj" in summed:
        table["theory_ratio"] = table["total_pj"].astype("float64") / table["theory_lower_pj"].astype("float64")
        first += ["theory_lower_pj", "theory_ratio"]
        summed.remove("theory_lower_pj")
    return table[[*first, *summed]].infer_objects()


def _sum(layers: pd.DataFrame, name: str, summed: Sequence[str]) -> dict[str, object]:
    """Return the row that adds layers up, each as often as the network runs it."""
    weights = layers["count"].to_numpy()
    return {
        "layer": name,
        "count": int(weights.sum()),
        "status": "ok",
        "macs": int((layers["macs"] * weights).sum()),
        "cycles": int((layers["cycles"].astype("Int64") * weights).sum()),
        "optimal": bool(layers["optimal"].all()),
        # A level of another architecture stays empty.
        **{column: (layers[column].astype("float64") * weights).sum(min_count=1) for column in summed},
    }
