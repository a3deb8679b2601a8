"""The theory beside measured convolutions: columns against hand counts and published columns, and a sound bound."""

import math

import pandas as pd
import pytest

from jouleloop.config.load import read_config
from jouleloop.engines.protocol import Target
from jouleloop.report.figures_conv_energy import conv_energy_figure
from jouleloop.stats.cases import SweepDescription
from jouleloop.study.plan import jobs_of
from jouleloop.study.store import ResultStore
from jouleloop.tables.conv_energy import conv_energy_table
from jouleloop.tables.energies import energies_table
from jouleloop.workload.layer import CONV
from jouleloop.workload.sweep import Sweep, SweepPoint, load_sweep
from paths import ROOT


@pytest.fixture(scope="module")
def sweep() -> Sweep:
    """The first points of the published depth sweep, and a grouped layer, which has no closed form."""
    whole = load_sweep(ROOT / "layers/conv_depth.yaml")
    grouped = type(whole.points[0].layer).of("conv", 4, 4, 3, 3, 1, 5, 5, groups=2)
    points = (*whole.points[:3], SweepPoint(grouped, 7))
    return Sweep("conv_depth", "conv", points, whole.source, "M", "", "linear", whole.published, "M")


@pytest.fixture(scope="module")
def targets() -> dict[str, Target]:
    jobs = jobs_of(read_config(ROOT / "config/config.yaml"), ROOT)
    return {name: job.target.for_shape(CONV) for name, job in jobs.items()}


@pytest.fixture(scope="module")
def table(sweep: Sweep, targets: dict[str, Target], tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    jobs = jobs_of(read_config(ROOT / "config/config.yaml"), ROOT)
    energies, _ = energies_table(jobs, [sweep], ResultStore(tmp_path_factory.mktemp("store")))
    assert set(energies["status"]) == {"ok"}
    return conv_energy_table(energies, targets, [sweep])


def test_columns_against_hand_counts(table: pd.DataFrame) -> None:
    assert len(table) == 6
    for row in table.to_dict("records"):
        m = row["M"]
        weights, inputs, outputs = m * (3 * 121 + 1), 3 * 227**2, m * 55**2
        assert row["theory_macs"] == row["published_macs"] == 3 * m * 121 * 55**2
        assert row["theory_write_once_outputs_words"] == weights + m * inputs + outputs
        assert row["theory_read_once_inputs_words"] == weights + inputs + 5 * outputs
        beta = row["buffer_words"]
        rounds = math.ceil(m / ((beta - 1) // (55**2 + 121)))
        assert row["theory_write_once_outputs_buffer_words"] == weights + rounds * inputs + outputs
        pairs = math.ceil(row["theory_macs"] / (beta - 1))
        assert row["theory_lower_bound_words"] == weights - m + max(inputs + outputs, pairs)
        if row["architecture"] == "simba":
            assert row["published_words"] == row["theory_write_once_outputs_words"]
        else:
            assert row["theory_write_once_outputs_words"] - row["published_words"] == 3 * m * (227**2 - 224**2)
        assert row["ratio_to_lower_bound"] == row["dram_words"] / row["theory_lower_bound_words"] >= 1
        # Every DRAM word costs the same, whatever its data space; accesses to blocks of words are rounded up.
        rounding = row["dram_pj"] / row["dram_pj_per_word"] - row["dram_words"]
        assert -1e-6 <= rounding < 3 * 2 * 8


def test_buffer_is_the_global_buffer_as_all_inputs_and_outputs_pass_through_it(
    table: pd.DataFrame, targets: dict[str, Target]
) -> None:
    for name, target in targets.items():
        words = target.arch.levels[1].capacity_words
        assert set(table.loc[table["architecture"] == name, "buffer_words"]) == {words}


@pytest.mark.parametrize("variable", ["N*C*M*R*S*P*Q*groups", "macs", "w_stride*h_stride", "input_size**2"])
def test_figure_over_every_column_that_a_variable_may_have(table: pd.DataFrame, variable: str) -> None:
    panel = conv_energy_figure(table, SweepDescription("conv_depth", variable, "linear", "size")).figure.axes[0]
    (measured,) = (line for line in panel.lines if line.get_label() == "measured")
    rows = table[table["architecture"] == "eyeriss"]
    expected = {"macs": rows["macs"], "input_size**2": 227**2, "w_stride*h_stride": 16}.get(
        variable, rows["theory_macs"]
    )
    assert (measured.get_xdata() == expected).all()


def test_a_sweep_of_layers_without_theory(table: pd.DataFrame, targets: dict[str, Target]) -> None:
    """Depthwise layers have no closed form: the table has its columns and no row, the figure says why."""
    row = {"architecture": "simba", "sweep": "dw", "status": "ok", "N": 1, "groups": 8, "w_stride": 1, "h_stride": 1}
    empty = conv_energy_table(pd.DataFrame([row]), targets, [Sweep("dw", "conv", (), "", "C", "", "linear")])
    assert len(empty) == 0
    assert set(empty.columns) < set(table.columns)
    figure = conv_energy_figure(empty, SweepDescription("dw", "C", "linear", "channels"))
    assert "one group" in figure.figure.axes[0].texts[0].get_text()


def test_figure_shows_the_table(table: pd.DataFrame) -> None:
    figure = conv_energy_figure(table, SweepDescription("conv_depth", "M", "linear", "depth"))
    panel = figure.figure.axes[0]
    shown = {line.get_label(): list(line.get_ydata()) for line in panel.lines}  # type: ignore[arg-type]
    rows = table[table["architecture"] == "eyeriss"]
    assert shown["measured"] == list(rows["dram_words"])
    assert shown["lower bound, whole chip"] == list(rows["theory_lower_bound_words"])
    assert "0 below the bound" in figure.caption
