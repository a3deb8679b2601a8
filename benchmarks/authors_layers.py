"""Print the tables of docs/convolutions.md on the authors' layers, from a run of config/authors_networks.yaml."""

import argparse
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from box_envelopes import SHUFFLES, box_minima, lower_regression
from jouleloop.stats.growth import decide

LARGEST = 0.4e12
"""The notebooks leave out layers whose term is as large."""
PRINTED_PJ = 0.1
FAR = 5
"""Ratio above which a published search is far from the optimum."""


def prepared(energies: pd.DataFrame) -> pd.DataFrame:
    """Return the layers that have published energies, with the notebooks' term and the ratio of total energies."""
    rows = energies[energies["published_pj"].notna()]
    key = rows["M"].astype(float) * rows["C"] * rows["input_size"].astype(float) ** 2
    square = rows["w_stride"].astype(float) ** 2
    return rows.assign(
        key=key,
        term=key * rows["R"].astype(float) ** 2 * (1 / square),
        macs=rows["macs"].astype(float),
        ratio=rows["published_pj"] / rows["total_pj"],
        fours=(rows["C"] % 4 == 0).astype(int) + (rows["M"] % 4 == 0),
    )


def gaps(rows: pd.DataFrame) -> Iterator[str]:
    """Yield the lines on published over own total energy by sweep and divisibility."""
    yield "| layers | n | equal | ratio: median | 90 % | largest | least data energy a MAC [pJ] | published |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    fours = rows["fours"].map({2: "4 divides C and M", 1: "4 divides one of them", 0: "4 divides neither"})
    groups = (rows["sweep"], fours)
    for name, own in itertools.chain(*(rows.groupby(group, observed=True) for group in groups)):
        ratio = own["ratio"]
        equal = int(((own["published_pj"] - own["total_pj"]).abs() <= PRINTED_PJ).sum())
        least, theirs = ((own[column] / own["macs"]).min() for column in ("data_pj", "published_data_pj"))
        yield (
            f"| {name} | {len(own)} | {equal} | {ratio.median():.3f} | {ratio.quantile(0.9):.3f} | {ratio.max():.2f} | "
            f"{least:.4f} | {theirs:.4f} |"
        )


def misses(rows: pd.DataFrame) -> Iterator[str]:
    """Yield statements on what the ratio goes with, how far it reaches, and the share of data energy."""
    above, proven = int((rows["ratio"] < 1 - 1e-9).sum()), int(rows["optimal"].sum())
    yield f"{proven:,} of {len(rows):,} optima are proven, and {above} are above the published energy."
    size, macs = (rows["ratio"].corr(rows[name], method="spearman") for name in ("mapspace_size", "macs"))
    yield (
        f"The ratio's rank correlation with the size of the mapspace is {size:.2f}, with the multiply-accumulates "
        f"{macs:.2f}."
    )
    far = rows[rows["ratio"] > FAR]
    yield (
        f"Of the {len(far)} layers above a ratio of {FAR}, {int((far['fours'] == 2).sum())} have C and M divisible by "
        "four."
    )
    share = 100 * rows["data_pj"] / rows["total_pj"]
    yield f"Data is {share.min():.1f} to {share.max():.1f} % of the energy, {share.median():.1f} % in the median."


def envelopes(rows: pd.DataFrame, shuffles: int = SHUFFLES) -> Iterator[str]:
    """Yield the lines on the regressions of lower envelopes."""
    yield (
        "| layers | energies | size | minima | slope [pJ] | R² | quadratic p | p among shuffles | p by jackknife | "
        "verdict |"
    )
    yield "|---|---|---|---:|---:|---:|---:|---:|---:|---|"
    grid = rows[rows["sweep"] == "authors_grid"].sort_values("key", kind="stable").iloc[1000:]
    both = pd.concat([rows[rows["sweep"] == "authors_random"], grid])
    networks = rows[rows["sweep"] == "authors_networks"]
    for name, every, members in (("grid and random", both, 14), ("networks", networks, 10)):
        own = every[every["term"] < LARGEST]
        for column, words in (("published_data_pj", "published"), ("data_pj", "ours")):
            for size, label in (("term", "their term"), ("macs", "MACs")):
                x, y = own[size].to_numpy(float), own[column].to_numpy(float)
                found, chosen = lower_regression(x, y, members, shuffles), box_minima(x, y, members)
                verdict = decide(x[chosen], y[chosen], "linear").outcome
                yield (
                    f"| {name} | {words} | {label} | {found.n} | {found.slope:.4f} | {found.r_squared:.5f} | "
                    f"{found.quadratic_p:.3g} | {found.shuffled_p:.3f} | {found.jackknife_p:.3g} | {verdict} |"
                )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("energies", type=Path, nargs="?", default=Path("results/energies.parquet"))
    parser.add_argument("--store", type=Path, help="keep the optima here (docs/data/authors_optima.csv.xz)")
    asked = parser.parse_args()
    rows = prepared(pd.read_parquet(asked.energies))
    print("\n".join([*gaps(rows), "", *misses(rows), "", *envelopes(rows)]))
    if asked.store:
        kept = rows[["layer", "total_pj", "data_pj", "mapspace_size"]].drop_duplicates("layer")
        kept.to_csv(asked.store, index=False, float_format="%.15g")
    return 0


if __name__ == "__main__":
    sys.exit(main())
