"""A transformer's parts and where attention overtakes them, on energies by hand."""

import pandas as pd

from jouleloop.report.figures_transformers import crossover_figure
from jouleloop.tables.transformers import PARTS, crossover, family_of, has_parts, parts_table
from jouleloop.workload.sweep import Sweep, load_sweep, load_sweeps
from paths import ROOT

SWEEPS = load_sweeps(ROOT / "layers/transformer_sequence.yaml")
SCORES = "transformer_sequence_scores"


def energies() -> pd.DataFrame:
    """Projections and feed-forward products of 1 pJ a token, attention of n² / 512 pJ."""
    rows = []
    for sweep in SWEEPS:
        for point in sweep.points:
            n = point.given[0][1]
            attention = any(sweep.name.endswith(product) for product in PARTS["attention"])
            energy_pj = n * n / 512 if attention else float(n)
            rows.append(
                {
                    "architecture": "simba",
                    "sweep": sweep.name,
                    "layer": point.layer.label,
                    "sequence": n,
                    "count": point.count,
                    "status": "ok",
                    "optimal": True,
                    "total_pj": energy_pj,
                }
            )
    return pd.DataFrame(rows)


def test_parts_are_sums_over_all_blocks() -> None:
    table = parts_table(energies(), SWEEPS, SCORES, "simba")
    n = table["variable"]
    # Twelve blocks: query, output once, key and value once each; up and down; scores and weighted values.
    assert (table["projections_pj"] == 12 * 4 * n).all()
    assert (table["feed_forward_pj"] == 12 * 2 * n).all()
    assert (table["attention_pj"] == 12 * 2 * n**2 / 512).all()
    assert table["proven"].all()


def test_where_attention_overtakes() -> None:
    table = parts_table(energies(), SWEEPS, SCORES, "simba")
    # 2 n² / 512 > 4 n beyond 1024, > 6 n beyond 1536, where the sweep ends.
    assert crossover(table, "projections") == 1024 + 64
    assert crossover(table, "projections", "feed_forward") is None
    figure = crossover_figure(table, SCORES, "simba", "n")
    assert "above projections: from 1088 on; above projections and feed-forward: nowhere here" in figure.caption
    assert "n = 24 values, 24 of them sums of proven optima" in figure.caption


def test_rows_without_a_mapping_or_a_proof() -> None:
    table = energies()
    table.loc[table["layer"] == "up_128", "status"] = "no_mapping"
    table.loc[table["layer"] == "query_192", "optimal"] = False
    found = parts_table(table, SWEEPS, SCORES, "simba").set_index("variable")
    assert 128 not in found.index
    assert not found.loc[192, "proven"]
    assert found["proven"].sum() == len(found) - 1


def test_only_whole_families_have_parts() -> None:
    assert has_parts(SWEEPS, SCORES)
    assert not has_parts(SWEEPS, "transformer_sequence_query")
    assert not has_parts([sweep for sweep in SWEEPS if not sweep.name.endswith("_up")], SCORES)
    other: Sweep = load_sweep(ROOT / "layers/fc_inputs.yaml")
    assert family_of([other], other.name) == {}
