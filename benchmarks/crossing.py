"""From the energies of a transformer's products by length, write what attention and projections cost [pJ] at each.

    python benchmarks/crossing.py RESULTS docs/data/transformer_crossover.csv

RESULTS holds the ``energies.parquet`` of one or more sweeps of a transformer (docs/transformers.md). A length where a
product has no mapping is left out.
"""

import sys
from pathlib import Path

import pandas as pd

from jouleloop.columns import read_table
from jouleloop.tables.layouts import ENERGIES
from jouleloop.tables.transformers import PARTS


def parts(energies: pd.DataFrame) -> pd.DataFrame:
    """Return energies of projections and attention [pJ] by architecture and length, and whether all is proven."""
    rows = energies[energies["status"] == "ok"]
    # A length may stand in several sweeps.
    product = rows["sweep"].str.extract(f"_({'|'.join(one for group in PARTS.values() for one in group)})$")[0]
    rows = rows.assign(product=product, energy_pj=rows["total_pj"] * rows["count"])
    rows = rows.drop_duplicates(["architecture", "sequence", "product"])
    found = {}
    for key, group in rows.groupby(["architecture", "sequence"]):
        one = group.set_index("product")
        wanted = [*PARTS["projections"], *PARTS["attention"]]
        if set(wanted) <= set(one.index):
            energy_pj, proven = one["energy_pj"], bool(one.loc[wanted, "optimal"].all())
            found[key] = (*(energy_pj[list(PARTS[part])].sum() for part in ("projections", "attention")), proven)
    table = pd.DataFrame.from_dict(found, orient="index", columns=["projections_pj", "attention_pj", "proven"])
    table.index = pd.MultiIndex.from_tuples(table.index, names=["architecture", "sequence"])
    return table.round({"projections_pj": 1, "attention_pj": 1}).reset_index()


def main() -> None:
    """Write the table, and print where attention costs more."""
    *folders, output = map(Path, sys.argv[1:])
    table = parts(pd.concat([read_table(folder / "energies.parquet", ENERGIES)[0] for folder in folders]))
    table.to_csv(output, index=False, lineterminator="\n")
    for architecture, rows in table.groupby("architecture"):
        above = rows["attention_pj"] > rows["projections_pj"]
        n = rows["sequence"]
        print(
            f"{architecture}: {len(rows)} lengths from {n.min()} to {n.max()}, attention costs more at {above.sum()}, "
            f"first {n[above].min()}, less last at {n[~above].max()}; all proven: {rows['proven'].all()}"
        )


if __name__ == "__main__":
    main()
