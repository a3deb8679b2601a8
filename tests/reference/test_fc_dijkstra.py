"""The exact solver against optima of a second program that shares nothing with it (fc_dijkstra/README.md)."""

import csv
from pathlib import Path

from jouleloop.theory.fully_connected.exact import count_bound, exact_minimum, twice_lost_pairs
from jouleloop.theory.fully_connected.formulas import FcLayer

OPTIMA = Path(__file__).parent / "fc_dijkstra" / "optima.csv"


def test_every_optimum_of_the_second_program_is_found():
    with OPTIMA.open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) > 600
    differ = []
    for row in rows:
        layer = FcLayer(int(row["inputs"]), int(row["outputs"]), int(row["buffer_words"]))
        found = exact_minimum(layer)
        if (found.lower, found.upper) != (int(row["least_accesses"]),) * 2:
            differ.append((layer, found.lower, found.upper, row["least_accesses"]))
    assert not differ


def test_counting_bounds_never_exceed_an_optimum_of_the_second_program():
    with OPTIMA.open(encoding="utf-8") as stream:
        rows = [tuple(map(int, list(row.values())[:4])) for row in csv.DictReader(stream)]
    assert [row for row in rows if count_bound(*row[:3]) > row[3]] == []
    # Strong enough to be of use: more than nine in ten are met by counting alone.
    assert sum(count_bound(*row[:3]) == row[3] for row in rows) > 0.9 * len(rows)


def test_full_reads_lose_pairs_between_phases():
    # By hand, β = 3: each of two words' groups of outputs costs one lost pair a member, the first group none.
    assert twice_lost_pairs(10, 10, 3, 10, 0) == 0
    assert twice_lost_pairs(10, 10, 3, 20, 0) == 4
    # β = 4: three outputs change at two inputs in Buffer, with 1 + 1 + 1 + 2 pairs lost.
    assert twice_lost_pairs(9, 9, 4, 18, 0) == 10
