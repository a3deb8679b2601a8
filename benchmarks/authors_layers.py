"""Print the tables of docs/convolutions.md on the authors' layers, from a run of config/authors_networks.yaml."""

import argparse
import itertools
import sys
from pathlib import Path

import pandas as pd

from jouleloop.stats.envelope import box_minima, lower_regression
from jouleloop.stats.growth import decide

LARGEST = 0.4e12
"""The notebooks leave out layers whose term is as large."""
PRINTED_PJ = 0.1


def gaps(energies: pd.DataFrame) -> None:
    """Print published over own total energy by sweep and by size."""
    print("| layers | n | proven | equal | median | 90 % | largest | least data energy a MAC [pJ] | published |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    fifth = pd.qcut(energies["macs"], 5, labels=[f"fifth {i} by MACs" for i in range(1, 6)])
    divided = (energies["C"] % 4 == 0).astype(int) + (energies["M"] % 4 == 0)
    fours = divided.map({2: "4 divides C and M", 1: "4 divides one of them", 0: "4 divides neither"})
    groups = (energies["sweep"], fifth, fours)
    for name, rows in itertools.chain(*(energies.groupby(group, observed=True) for group in groups)):
        ratio = rows["published_pj"] / rows["total_pj"]
        equal = int(((rows["published_pj"] - rows["total_pj"]).abs() <= PRINTED_PJ).sum())
        least, theirs = ((rows[column] / rows["macs"]).min() for column in ("data_pj", "published_data_pj"))
        print(
            f"| {name} | {len(rows)} | {int(rows['optimal'].sum())} | {equal} | {ratio.median():.3f} | "
            f"{ratio.quantile(0.9):.3f} | {ratio.max():.2f} | {least:.4f} | {theirs:.4f} |"
        )


def envelopes(energies: pd.DataFrame) -> None:
    """Print the regressions of lower envelopes."""
    grid = energies[energies["sweep"] == "authors_grid"].sort_values("key").iloc[1000:]
    both = pd.concat([energies[energies["sweep"] == "authors_random"], grid])
    networks = energies[energies["sweep"] == "authors_networks"]
    print("\n| layers | energies | size | minima | slope [pJ] | R² | quadratic p | p among shuffles | verdict |")
    print("|---|---|---|---:|---:|---:|---:|---:|---|")
    for name, every, members in (("grid and random", both, 14), ("networks", networks, 10)):
        rows = every[every["term"] < LARGEST]
        for column, words in (("published_data_pj", "published"), ("data_pj", "ours")):
            for size, label in (("term", "their term"), ("macs", "MACs")):
                x, y = rows[size].to_numpy(float), rows[column].to_numpy(float)
                found, chosen = lower_regression(x, y, members), box_minima(x, y, members)
                verdict = decide(x[chosen], y[chosen], "linear").outcome
                print(
                    f"| {name} | {words} | {label} | {found.n} | {found.slope:.4f} | {found.r_squared:.5f} | "
                    f"{found.quadratic_p:.3g} | {found.shuffled_p:.3f} | {verdict} |"
                )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("energies", type=Path, nargs="?", default=Path("results/energies.parquet"))
    energies = pd.read_parquet(parser.parse_args().energies)
    energies = energies[energies["published_pj"].notna()]
    key = energies["M"].astype(float) * energies["C"] * energies["input_size"].astype(float) ** 2
    square = energies["w_stride"].astype(float) ** 2
    energies = energies.assign(key=key, term=key * energies["R"].astype(float) ** 2 * (1 / square))
    energies["macs"] = energies["macs"].astype(float)
    gaps(energies)
    envelopes(energies)
    return 0


if __name__ == "__main__":
    sys.exit(main())
