"""Figures show the table's numbers, carry their captions, and are written with the same bytes every time."""

import dataclasses
import html
import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes

from jouleloop.division import divisors
from jouleloop.errors import InputError
from jouleloop.report.figures import architectures_figure, figure4, growth_figure, residual_figure
from jouleloop.report.figures_energy import breakdown_figure, dram_bound_figure, heat_map_figure
from jouleloop.report.figures_published import floor_figure
from jouleloop.report.style import ReportFigure, save_figure
from jouleloop.stats.analysis import Analysis, analyse_table
from jouleloop.stats.cases import SweepDescription
from shares import slow_after

SIZES = np.arange(128, 129 + 128 * 11, 128)
SWEEPS = [
    SweepDescription("fc_inputs", "C", "linear", "n"),
    SweepDescription("fc_outputs", "M", "linear", "m"),
    SweepDescription("fc_weights", "mn", "linear"),
]


def table() -> pd.DataFrame:
    parts = []
    n, m = (axis.ravel() for axis in np.meshgrid(SIZES, SIZES))
    shapes = {"fc_inputs": (SIZES, 0 * SIZES + 1024), "fc_outputs": (0 * SIZES + 1024, SIZES), "fc_weights": (n, m)}
    for architecture in ("simba", "eyeriss"):
        for sweep, (inputs, outputs) in shapes.items():
            penalty = np.array([1 + 0.5 / len(divisors(int(i))) for i in inputs])
            data = 200.0 * inputs * outputs * (penalty if architecture == "simba" else 1)
            words = inputs * outputs * penalty
            part = pd.DataFrame({"architecture": architecture, "sweep": sweep, "C": inputs, "M": outputs})
            part = part.assign(
                layer=[f"{i}x{o}" for i, o in zip(inputs, outputs, strict=True)],
                status="ok",
                reason="",
                engine="native",
                energy_table=architecture,
                data_pj=data,
                compute_pj=8.0 * inputs * outputs,
                total_pj=data + 8.0 * inputs * outputs,
                dram_weights_pj=0.5 * data,
                dram_inputs_pj=0.2 * data,
                glb_outputs_pj=0.3 * data,
                dram_words_weights=words,
                dram_words_inputs=inputs * 1.0,
                dram_words_outputs=outputs * 1.0,
                theory_lower_dram_words=1.0 * inputs * outputs + inputs,
            )
            parts.append(part)
    return pd.concat(parts, ignore_index=True)


@pytest.fixture(scope="module")
def energies() -> pd.DataFrame:
    return table()


@pytest.fixture(scope="module")
def analysis(energies: pd.DataFrame) -> Analysis:
    return analyse_table(energies, SWEEPS)


def drawn(energies: pd.DataFrame, analysis: Analysis) -> list[ReportFigure]:
    published = pd.DataFrame({"parameter": [512.0], "published_data_pj": [1e8]})
    return [
        figure4(analysis),
        growth_figure(analysis, "fc_inputs", "simba", published),
        architectures_figure(energies, analysis, "fc_outputs"),
        breakdown_figure(energies, SWEEPS[0], "eyeriss"),
        breakdown_figure(energies, SWEEPS[2], "simba"),
        heat_map_figure(energies, "fc_weights", "eyeriss"),
        dram_bound_figure(energies, SWEEPS[2], "theory_lower_dram_words"),
        residual_figure(analysis, "fc_weights", "simba"),
    ]


def bars_of(panel: Axes) -> list[tuple[float, float, float, float]]:
    """Left, bottom, right and top of every bar: bars of one look are one shape, of five corners each."""
    corners = [np.asarray(shape.get_path().vertices).reshape(-1, 5, 2) for shape in panel.patches]
    return [(*corner[0], *corner[2]) for shape in corners for corner in shape]


def test_figure4_shows_the_energies_and_the_fits(energies: pd.DataFrame, analysis: Analysis) -> None:
    figure = figure4(analysis)
    assert len(figure.figure.axes) == 6
    for panel, (sweep, architecture) in zip(
        figure.figure.axes, [(s.name, a) for s in SWEEPS for a in ("simba", "eyeriss")], strict=True
    ):
        rows = energies[(energies["sweep"] == sweep) & (energies["architecture"] == architecture)]
        fit = analysis.fits.set_index(["sweep", "architecture", "response"]).loc[(sweep, architecture, "data_pj")]
        if sweep != "fc_weights":
            assert [top for *_, top in bars_of(panel)] == pytest.approx(list(rows["data_pj"]))
        else:
            tops = [segment[1][1] for segment in panel.collections[0].get_segments()]
            assert sorted(tops) == pytest.approx(sorted(rows["data_pj"]))
        x, y = panel.lines[0].get_data()
        assert np.asarray(y) == pytest.approx(fit["c1"] + fit["c2"] * np.asarray(x))
        verdict = "exact" if architecture == "eyeriss" else ""
        assert panel.get_title().startswith(f"{architecture.capitalize()}, ")
        assert verdict in panel.get_title()
        assert "J]" in panel.get_ylabel()


def test_stacks_add_up_to_the_total(energies: pd.DataFrame) -> None:
    figure = breakdown_figure(energies, SWEEPS[0], "eyeriss")
    heights: dict[float, float] = {}
    for left, bottom, right, top in bars_of(figure.figure.axes[0]):
        middle = round((left + right) / 2)
        heights[middle] = heights.get(middle, 0) + top - bottom
    rows = energies[(energies["sweep"] == "fc_inputs") & (energies["architecture"] == "eyeriss")]
    assert heights == pytest.approx(dict(zip(rows["C"], rows["total_pj"], strict=True)))


def test_bars_stand_at_their_size(energies: pd.DataFrame) -> None:
    """Products mn are unevenly spaced: side by side, energy that is linear in them would look quadratic."""
    sweep = next(sweep for sweep in SWEEPS if sweep.name == "fc_weights")
    panel = breakdown_figure(energies, sweep, "eyeriss").figure.axes[0]
    rows = energies[(energies["sweep"] == "fc_weights") & (energies["architecture"] == "eyeriss")]
    products = set(rows["C"] * rows["M"])
    places = {round((left + right) / 2) for left, _, right, _ in bars_of(panel)}
    assert places <= products
    assert {min(products), max(products)} <= places
    edges = sorted({(left, right) for left, _, right, _ in bars_of(panel)})
    assert all(right <= left for (_, right), (left, _) in itertools.pairwise(edges))


@pytest.mark.parametrize("dwarfing", [1, 1000])
def test_shares_show_what_the_outermost_level_leaves_to_be_seen(energies: pd.DataFrame, dwarfing: int) -> None:
    outer = ["dram_weights_pj", "dram_inputs_pj"]
    grown = energies.copy()
    grown[outer] *= dwarfing
    shares = breakdown_figure(grown, SWEEPS[0], "simba").figure.axes[1]
    tops: dict[float, float] = {}
    for left, _, _, top in bars_of(shares):
        tops[left] = max(tops.get(left, 0), top)
    rows = grown[(grown["sweep"] == "fc_inputs") & (grown["architecture"] == "simba")]
    inner = rows["compute_pj"] + rows["glb_outputs_pj"]
    expected = np.ones(len(rows)) if dwarfing == 1 else inner / (inner + rows[outer].sum(axis=1))
    assert sorted(tops.values()) == pytest.approx(sorted(expected))
    assert shares.get_title() == ("shares" if dwarfing == 1 else "all but dram")


def test_heat_map_holds_energy_per_mac_and_leaves_unmapped_layers_white(energies: pd.DataFrame) -> None:
    some = energies.copy()
    some.loc[(some["sweep"] == "fc_weights") & (some["C"] == 256), "status"] = "no_mapping"
    mesh = heat_map_figure(some, "fc_weights", "eyeriss").figure.axes[0].collections[0]
    values = np.ma.asarray(mesh.get_array()).reshape(12, 12)
    assert values.mask.sum() == 12
    assert values.compressed() == pytest.approx(200.0)


def test_captions_state_question_unit_n_and_rule(energies: pd.DataFrame, analysis: Analysis) -> None:
    for figure in drawn(energies, analysis):
        assert "Question: " in figure.caption, figure.name
        assert "Unit: " in figure.caption, figure.name
        assert "n = " in figure.caption, figure.name
        assert "Decision rule: " in figure.caption or "No test is made here" in figure.caption, figure.name


def test_files_are_the_same_bytes_every_time(energies: pd.DataFrame, tmp_path: Path) -> None:
    def pick() -> list[ReportFigure]:
        return [breakdown_figure(energies, SWEEPS[0], "simba"), heat_map_figure(energies, "fc_weights", "simba")]

    for first, second in zip(pick(), pick(), strict=True):
        one = save_figure(first, tmp_path / "one")
        two = save_figure(second, tmp_path / "two")
        assert [path.suffix for path in one] == [".png", ".svg", ".pdf"]
        for left, right in zip(one, two, strict=True):
            assert left.read_bytes() == right.read_bytes(), left.name
        svg, pdf = one[1].read_text(), one[2].read_bytes()
        assert "<dc:date>" not in svg
        assert b"CreationDate" not in pdf
        assert one[1].stat().st_size < 1_000_000


def test_every_figure_has_its_own_name(energies: pd.DataFrame, analysis: Analysis) -> None:
    names = [figure.name for figure in drawn(energies, analysis)]
    assert len(set(names)) == len(names)


def test_what_cannot_be_drawn_is_refused(energies: pd.DataFrame, analysis: Analysis, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="did you mean 'fc_inputs'"):
        growth_figure(analysis, "fc_input", "simba")
    with pytest.raises(InputError, match="did you mean 'eyeriss'"):
        growth_figure(analysis, "fc_inputs", "eyeris")
    without = dataclasses.replace(analysis, verdicts=analysis.verdicts[analysis.verdicts["response"] != "data_pj"])
    with pytest.raises(InputError, match="unknown response"):
        growth_figure(without, "fc_inputs", "simba")
    with pytest.raises(InputError, match="no column 'bound'"):
        dram_bound_figure(energies, SWEEPS[2], "bound")
    with pytest.raises(InputError, match="several layers with the same n and m"):
        heat_map_figure(pd.concat([energies, energies]), "fc_weights", "simba")
    with pytest.raises(InputError, match="unknown figure format"):
        save_figure(figure4(analysis), tmp_path, ["jpg"])
    bare = energies.drop(columns=[c for c in energies.columns if c.startswith(("dram_", "glb_"))])
    with pytest.raises(InputError, match="no energies per level"):
        breakdown_figure(bare, SWEEPS[0], "simba")


def test_a_sweep_that_could_not_be_tested_is_still_drawn(energies: pd.DataFrame) -> None:
    few = energies[energies["sweep"] == "fc_inputs"].groupby("architecture").head(3)
    figure = growth_figure(analyse_table(few, SWEEPS[:1]), "fc_inputs", "simba")
    assert "inconclusive, n = 3" in figure.caption
    assert len(bars_of(figure.figure.axes[0])) == 3
    assert not figure.figure.axes[0].lines


def test_published_values_above_the_bars_are_inside_the_panel(analysis: Analysis) -> None:
    published = pd.DataFrame({"parameter": [512.0], "published_data_pj": [1e10]})
    drawn = (growth_figure(analysis, "fc_inputs", "simba", given) for given in (published, None))
    with_them, without = (one.figure.axes[0].get_ylim()[1] for one in drawn)
    assert with_them > 1e10 > without


def test_many_layers_over_decades_are_dots_on_logarithmic_axes() -> None:
    sizes = np.geomspace(16, 160_000, 100).round()
    many = pd.DataFrame({"architecture": "simba", "sweep": "wide", "C": sizes, "M": 1, "data_pj": 3.0 * sizes**1.1})
    many = many.assign(layer=[f"{size:.0f}x1" for size in sizes], status="ok", reason="", engine="native")
    many = many.assign(total_pj=many["data_pj"] + 8 * sizes, compute_pj=8 * sizes, energy_table="simba")
    analysis = analyse_table(many, [SweepDescription("wide", "C", "linear", "n")])
    panel = growth_figure(analysis, "wide", "simba").figure.axes[0]
    assert (panel.get_xscale(), panel.get_yscale()) == ("log", "log")
    (dots,) = (line for line in panel.lines if line.get_label() == "100 layers")
    assert sorted(np.asarray(dots.get_ydata())) == pytest.approx(sorted(many["data_pj"]))


@pytest.mark.parametrize("symbol", slow_after(1, [r"n$\input{x}$ a_1 \frac {%", "$x <b>&amp;"]))
def test_a_symbol_is_text(energies: pd.DataFrame, tmp_path: Path, symbol: str) -> None:
    """A sign that begins a formula ended in Matplotlib's traceback, after all searches."""
    sweeps = [dataclasses.replace(sweep, symbol=symbol) for sweep in SWEEPS]
    tests = analyse_table(energies, sweeps)
    name = ("fc_inputs", "simba")
    for figure in (figure4(tests), growth_figure(tests, *name), breakdown_figure(energies, sweeps[0], "simba")):
        (svg,) = save_figure(figure, tmp_path, ["svg"])
        assert html.escape(symbol, quote=False) in svg.read_text()


def test_published_layers_have_powers_in_words() -> None:
    columns = ["data_pj", "total_pj", "published_data_pj", "published_pj"]
    rows = pd.DataFrame({name: [4.0e7 * 10.0**place for place in range(5)] for name in columns})
    rows = rows.assign(architecture="simba", optimal=True, macs=[10.0 ** (place + 6) for place in range(5)])
    figure = floor_figure(rows, "authors_grid", "simba").figure
    figure.draw_without_rendering()
    texts = [label.get_text() for axes in figure.axes for label in (*axes.get_xticklabels(), *axes.get_yticklabels())]
    assert "100M" in texts
    assert not any("$" in text for text in texts)
