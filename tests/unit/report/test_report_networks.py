"""Figures of networks and of published energies show the table's numbers and say what is missing."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from jouleloop.errors import InputError
from jouleloop.report.figures_networks import network_figure
from jouleloop.report.figures_published import published_figure
from jouleloop.report.style import save_figure
from jouleloop.tables.networks import network_table
from jouleloop.workload.sizes import parse_layer
from jouleloop.workload.sweep import Sweep, SweepPoint

LAYERS = {"conv1": ("conv:C3xM8xP8xQ8xR3xS3", 1), "conv2": ("conv:C8xM8xP4xQ4xR3xS3", 3), "fc": ("fc:64x10", 1)}
NETWORK = Sweep(
    "net", "network", tuple(SweepPoint(parse_layer(text).renamed(n), 0, c) for n, (text, c) in LAYERS.items()), "-"
)


def energies(*, lost: str = "", bound: float = 1.0) -> pd.DataFrame:
    rows = []
    for architecture, level in (("one", "glb"), ("two", "cache")):
        for point in NETWORK.points:
            unit = float(point.layer.macs)
            ok = {"status": "ok", "total_pj": 6 * unit, "data_pj": 5 * unit, "compute_pj": unit, "cycles": int(unit)}
            ok |= {"lower_bound_pj": 6 * unit * bound, "optimal": bound == 1, "dram_words_weights": unit}
            ok |= {"dram_weights_pj": 2 * unit, "dram_outputs_pj": unit, f"{level}_inputs_pj": 2 * unit}
            row = ok if point.layer.name != lost else {"status": "no_mapping", "optimal": False}
            name = {"architecture": architecture, "sweep": "net", "layer": point.layer.name}
            rows.append(name | {"count": point.count, "macs": point.layer.macs} | row)
    return pd.DataFrame(rows)


def test_bars_are_layers_times_their_count() -> None:
    figure = network_figure(network_table(energies(), [NETWORK]), "net", "one")
    (panel,) = figure.figure.axes
    heights = np.zeros(3)
    for bars in panel.patches:
        corners = np.asarray(bars.get_path().vertices).reshape(-1, 5, 2)
        heights += corners[:, 2, 1] - corners[:, 0, 1]
    macs = [point.layer.macs for point in NETWORK.points]
    assert heights == pytest.approx([6 * macs[0], 18 * macs[1], 6 * macs[2]])
    assert [text.get_text() for text in panel.get_xticklabels()] == list(LAYERS)
    assert "×3" in [text.get_text() for text in panel.texts]
    assert "all optima proven" in figure.caption
    assert "5 in all" in figure.caption
    total_pj = 6 * (macs[0] + 3 * macs[1] + macs[2])
    assert f"{total_pj / 1e3:.4g} nJ" in panel.get_title()
    # A level of the other architecture has neither a bar nor a place in the legend.
    (legend,) = figure.figure.legends
    assert {"glb", "dram", "compute"} <= {text.get_text() for text in legend.get_texts()}
    assert "cache" not in {text.get_text() for text in legend.get_texts()}


def test_theorys_bound_is_summed_and_drawn() -> None:
    table = network_table(energies().assign(theory_lower_pj=lambda rows: rows["total_pj"] / 2), [NETWORK])
    assert (table["theory_ratio"] == 2).all()
    figure = network_figure(table, "net", "one")
    assert "the network needs 2 times the sum of these bounds" in figure.caption
    (panel,) = figure.figure.axes
    heights = np.concatenate([lines.get_segments() for lines in panel.collections])[:, 0, 1]
    counts = [point.count for point in NETWORK.points]
    assert heights == pytest.approx([3 * c * p.layer.macs for c, p in zip(counts, NETWORK.points, strict=True)])


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    figure = network_figure(network_table(energies(lost="conv2"), [NETWORK]), "net", "two")
    assert "1 of 3 layers without a mapping" in figure.caption
    assert "no mapping" in [text.get_text() for text in figure.figure.axes[0].texts]
    assert [path.suffix for path in save_figure(figure, tmp_path)] == [".png", ".svg", ".pdf"]
    with pytest.raises(InputError, match="three"):
        network_figure(network_table(energies(), [NETWORK]), "net", "three")
    with pytest.raises(InputError, match="no column 'network'"):
        network_figure(energies(), "net", "one")


def test_gap_of_a_network() -> None:
    """The gap of the total weights every layer's bound by how often it runs."""
    table = network_table(energies(bound=0.995), [NETWORK])
    assert table["gap"].to_numpy() == pytest.approx(np.full(8, 1 / 0.995 - 1))
    assert not table["optimal"].any()
    exact = network_table(energies(), [NETWORK])
    assert (exact["gap"] == 0).all()
    assert exact.loc[exact["architecture"] == "one", "cache_inputs_pj"].isna().all()


def comparison() -> pd.DataFrame:
    published, ours = np.array([10.0, 20.0, 40.0]), np.array([10.0, 19.0, 30.0])
    table = pd.DataFrame(
        {"parameter": [1, 2, 4], "published_pj": published, "ours_pj": ours, "ratio": ours / published}
    )
    table = table.assign(sweep="s", ours_is=["equal", "below", "below"], set="full")
    return pd.concat([table.assign(architecture="one"), table.assign(architecture="two")], ignore_index=True)


def test_published_and_ratio_are_drawn() -> None:
    figure = published_figure(comparison(), "s", "stride")
    above, _, below, _ = figure.figure.axes
    ours, published = (line.get_ydata() for line in above.lines)
    assert list(ours) == [10, 19, 30]
    assert list(published) == [10, 20, 40]
    ratio = below.lines[1]
    assert list(ratio.get_ydata()) == [1, 0.95, 0.75]
    low, high = below.get_ylim()
    assert low < 0.75
    assert high > 1
    assert "One n = 3: ours 1 equal, 2 below, 0 above published, least ratio 0.7500" in figure.caption
    with pytest.raises(InputError, match="other"):
        published_figure(comparison(), "other")
