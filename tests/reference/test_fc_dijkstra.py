"""The exact solver against optima of a second program that shares nothing with it (fc_dijkstra/README.md)."""

import csv
from pathlib import Path

from jouleloop.bounds.fc import FcLayer
from jouleloop.bounds.fc_exact import exact_minimum

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
