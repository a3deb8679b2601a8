"""The envelope regressions of the authors' notebooks, from their published energies, to the last digit they print."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.signal import lfilter

from jouleloop.errors import InputError
from jouleloop.stats.growth import Outcome, decide
from jouleloop.stats.regression import FloatArray
from jouleloop.workload.sweep import load_sweep
from paths import ROOT

sys.path.append(str(ROOT / "benchmarks"))

from box_envelopes import box_minima, lower_regression

LARGEST = 0.4e12
"""Terms from here on are left out, in both notebooks."""


def published(name: str) -> pd.DataFrame:
    """Return data energy, the notebooks' term m² d d' r² / σ² and multiply-accumulates of a sweep's layers."""
    rows = []
    for point in load_sweep(ROOT / f"layers/authors_{name}.yaml").points:
        sizes, given = point.layer.sizes, dict(point.given)
        key = sizes["M"] * sizes["C"] * (point.input_size or 0) ** 2
        term = key * sizes["R"] ** 2 * (1 / (sizes["w_stride"] * sizes["w_stride"]))
        rows.append((key, term, point.layer.macs, given["published_data_pj"]))
    return pd.DataFrame(rows, columns=["key", "term", "macs", "data_pj"]).astype(float)


@pytest.fixture(scope="module")
def first() -> pd.DataFrame:
    """The layers of the first notebook: the random ones, and the grid's without its 1,000 smallest."""
    both = pd.concat([published("random"), published("grid").sort_values("key", kind="stable").iloc[1000:]])
    return both[both["term"] < LARGEST]


@pytest.fixture(scope="module")
def second() -> pd.DataFrame:
    """The layers of the second notebook."""
    networks = published("networks")
    return networks[networks["term"] < LARGEST]


def vectors(table: pd.DataFrame, size: str = "term") -> tuple[FloatArray, FloatArray]:
    return table[size].to_numpy(np.float64), table["data_pj"].to_numpy(np.float64)


def test_the_notebooks_regressions_come_out_to_the_last_digit(first: pd.DataFrame, second: pd.DataFrame) -> None:
    found = lower_regression(*vectors(first), 14, shuffles=0)
    assert (found.n, found.r_squared) == (149, pytest.approx(0.9879658016548262, rel=2e-15))
    # The notebook prints 0.4861 from a design that it did not scale; its rank is two.
    assert found.quadratic_p == pytest.approx(0.8341, abs=5e-5)
    found = lower_regression(*vectors(second), 10, shuffles=0)
    assert (found.n, found.r_squared) == (449, pytest.approx(0.9628341059526005, rel=2e-15))
    assert found.quadratic_p == pytest.approx(0.3084, abs=5e-5)


def test_the_unscaled_design_of_the_notebook_has_two_columns_to_float_precision(first: pd.DataFrame) -> None:
    """Least squares through the pseudo-inverse then leaves a direction out: p = 0.4861 tests another model."""
    sizes, energies = vectors(first)
    chosen = box_minima(sizes, energies, 14)
    design = np.vander(sizes[chosen], 3, increasing=True)
    assert np.linalg.matrix_rank(design) < 3
    inverse = np.linalg.pinv(design, rcond=1e-15)
    coefficients = inverse @ energies[chosen]
    assert coefficients[1] == pytest.approx(4.5217, rel=1e-3)
    assert abs(coefficients[0]) < 1e-9  # pJ, where the line's intercept is -3 mJ


def test_shuffled_ratios_are_refuted_at_most_at_the_level(first: pd.DataFrame) -> None:
    sizes, energies = vectors(first, "macs")
    generator = np.random.default_rng(35)
    studies, by_shuffles, by_blocks, refuted = 100, 0, 0, 0
    for _ in range(studies):
        dealt = sizes * generator.permutation(energies / sizes)
        found = lower_regression(sizes, dealt, 14, shuffles=19)
        by_shuffles += found.shuffled_p <= 0.05
        by_blocks += found.jackknife_p <= 0.05
        chosen = box_minima(sizes, dealt, 14)
        refuted += decide(sizes[chosen], dealt[chosen], "linear").outcome is Outcome.REFUTED
    highest = 0.05 + 3 * (0.05 * 0.95 / studies) ** 0.5
    assert by_shuffles / studies < highest
    assert by_blocks / studies < highest
    assert refuted / studies < highest


def test_a_bent_envelope_is_seen_among_shuffles(first: pd.DataFrame) -> None:
    sizes, energies = vectors(first, "macs")
    ratios = np.random.default_rng(36).permutation(energies / sizes)
    bent = sizes * ratios * (1 + sizes / sizes.max())
    found = lower_regression(sizes, bent, 14, shuffles=19)
    assert found.shuffled_p <= 0.05
    assert found.jackknife_p <= 0.05


def test_neighbours_that_scatter_alike_are_refuted_at_the_level_by_the_jackknife_alone(first: pd.DataFrame) -> None:
    """Shuffles are exact for exchangeable layers only: a scatter that drifts along the sizes looks like a bend."""
    sizes, energies = vectors(first, "macs")
    ratios, ranks = np.sort(energies / sizes), np.argsort(np.argsort(sizes, kind="stable"))
    generator = np.random.default_rng(37)
    studies, by_shuffles, by_blocks = 80, 0, 0
    for _ in range(studies):
        drift = lfilter([1.0], [1.0, -0.9], generator.normal(size=sizes.size))
        found = lower_regression(
            sizes, sizes * ratios[np.argsort(np.argsort(drift, kind="stable"))][ranks], 14, shuffles=19
        )
        by_shuffles += found.shuffled_p <= 0.05
        by_blocks += found.jackknife_p <= 0.05
    assert by_shuffles / studies > 0.15
    assert by_blocks / studies < 0.05 + 3 * (0.05 * 0.95 / studies) ** 0.5


def test_boxes_hold_so_many_sizes_and_the_last_must_be_full() -> None:
    x = np.array([1.0, 2.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])
    y = np.array([5.0, 4.0, 3.0, 9.0, 9.0, 1.0, 1.0, 0.0])
    assert box_minima(x, y, 2).tolist() == [2, 3, 5]


@pytest.mark.parametrize("x", [np.arange(1.0, 8.0), np.arange(0.0, 20.0)])
def test_an_envelope_needs_boxes_and_sizes(x: FloatArray) -> None:
    with pytest.raises(InputError, match="four full boxes"):
        lower_regression(x, x + 1, 2)


def test_published_files_are_those_of_the_repository() -> None:
    lines = {name: len(Path(ROOT / f"layers/published/{name}.csv").read_text().splitlines())
             for name in ("exp1_simba", "exp2_simba", "random_networks_simba")}  # fmt: skip
    assert lines == {"exp1_simba": 3328, "exp2_simba": 1000, "random_networks_simba": 4840}
