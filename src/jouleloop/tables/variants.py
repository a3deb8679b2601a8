"""Energy per multiply-accumulate on every variant of an architecture, and which variant is the best."""

import numpy as np
import pandas as pd

from jouleloop.errors import Fault, InputError
from jouleloop.workload.sweep import Sweep

#: Label of the rows in which all layers of a sweep are added up.
ALL_LAYERS = "(all layers)"


def variants_table(energies: pd.DataFrame, sweep: Sweep) -> pd.DataFrame:
    """Return the points of a sweep of an architecture with their energy per multiply-accumulate, best ones marked.

    The best variant of a layer has the least energy; of equal ones all are marked. A sweep of several layers gets rows
    `ALL_LAYERS` with their sum, for variants on which every layer has a mapping.

    Raises `InputError` where the table has no rows of the sweep.
    """
    rows = energies[energies["sweep"] == sweep.name]
    if rows.empty:
        raise InputError(Fault("the table of energies has no rows of this sweep", sweep.source, value=sweep.name))
    shown = ["architecture", "layer", "variant", *sweep.attributes, "macs", "status", "reason", "total_pj", "data_pj"]
    table = rows[[*shown, "cycles", "utilization", "estimator", "area_um2"]].copy()
    if table["layer"].nunique() > 1:
        table = pd.concat([table, _sums(table, sweep)], ignore_index=True)
    table["energy_delay_area"] = table["total_pj"] * table["cycles"].astype("float64") * table["area_um2"]
    table["pj_per_mac"] = table["total_pj"] / table["macs"].astype("float64")
    # Sums of floats in another order differ in the last places.
    least = table.groupby(["architecture", "layer"], sort=False)["pj_per_mac"].transform("min")
    table["best"] = np.isclose(table["pj_per_mac"].astype("float64"), least.astype("float64"), rtol=1e-12, atol=0)
    return table.reset_index(drop=True)


def _sums(table: pd.DataFrame, sweep: Sweep) -> pd.DataFrame:
    parts = []
    for (architecture, variant), group in table.groupby(["architecture", "variant"], sort=False):
        missing = int((group["status"] != "ok").sum())
        whole = {key: group[key].sum() if not missing else None for key in ("total_pj", "data_pj", "cycles")}
        parts.append(
            {
                "architecture": architecture,
                "layer": ALL_LAYERS,
                "variant": variant,
                **{path: group[path].iloc[0] for path in sweep.attributes},
                "macs": group["macs"].sum(),
                "status": "ok" if not missing else f"{missing} of {len(group)} layers without a mapping",
                "reason": "",
                **whole,
                "estimator": group["estimator"].iloc[0],
                "area_um2": group["area_um2"].iloc[0],
            }
        )
    return pd.DataFrame(parts).astype(
        {"cycles": "Int64", "total_pj": "float64", "data_pj": "float64", "area_um2": "float64"}
    )


def shown_attribute(table: pd.DataFrame, sweep: Sweep) -> str:
    """Return the column that a figure shows along its axis: the sweep's variable, or the first that varies.

    Raises `InputError` where the variable is no column of the table.
    """
    if sweep.variable:
        if sweep.variable not in table.columns:
            allowed = ", ".join(sweep.attributes)
            raise InputError(Fault("no attribute of the sweep", sweep.source, "variable", sweep.variable, allowed))
        return sweep.variable
    varied = [path for path in sweep.attributes if table[path].nunique() > 1]
    return (varied or list(sweep.attributes))[0]
