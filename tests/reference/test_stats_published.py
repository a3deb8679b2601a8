"""The paper's tests on the published convolution energies give the p-values that the authors' notebooks print."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

from jouleloop.stats.analysis import SweepDescription, analyse_table
from jouleloop.stats.growth import fit_growth
from jouleloop.stats.quadratic import quadratic_test

PUBLISHED = Path(__file__).parent / "published"
GROWTH = {"d": "linear", "inputs": "quadratic", "kernels": "quadratic", "stride": "inverse_quadratic"}


def published(architecture: str, parameter: str) -> pd.DataFrame:
    names = ["parameter", "total_pj", "compute_pj", "data_pj", "macs", "data_words"]
    return pd.read_csv(PUBLISHED / f"{architecture}_energy_{parameter}.csv", sep=";", header=None, names=names)


@pytest.mark.parametrize(
    ("parameter", "p_value", "relative"),
    [
        ("d", 0.5560467483864759, 1e-11),
        ("inputs", 7.920974747806665e-32, 1e-9),
        ("kernels", 0.10331629163365358, 1e-11),
        ("stride", 0.000252, 2e-3),
    ],
)
def test_simba_p_values_printed_by_the_authors(parameter: str, p_value: float, relative: float) -> None:
    table = published("simba", parameter)
    x = 1 / table["parameter"] if parameter == "stride" else table["parameter"]
    assert quadratic_test(x, table["data_pj"]).p_value == pytest.approx(p_value, rel=relative)


@pytest.mark.parametrize("architecture", ["simba", "eyeriss"])
@pytest.mark.parametrize("parameter", list(GROWTH))
@pytest.mark.parametrize("response", ["data_pj", "total_pj"])
def test_quadratic_regression_is_statsmodels_formula_fit(architecture: str, parameter: str, response: str) -> None:
    table = published(architecture, parameter)
    table["u"] = 1.0 / table["parameter"] if parameter == "stride" else table["parameter"].astype(float)
    table["u2"] = table["u"] ** 2
    reference = smf.ols(f"{response} ~ u + u2", data=table).fit()
    ours = quadratic_test(table["u"], table[response])
    assert ours.p_value == pytest.approx(reference.pvalues["u2"], rel=1e-8)
    assert [ours.a, ours.b, ours.c] == pytest.approx(list(reference.params[["u2", "u", "Intercept"]]), rel=1e-8)
    assert ours.r_squared == pytest.approx(reference.rsquared, rel=1e-12)


@pytest.mark.parametrize("architecture", ["simba", "eyeriss"])
def test_a_p_value_above_the_level_is_no_confirmation(architecture: str) -> None:
    """Depth passes the paper's test on both, but five percent of scatter leaves the curvature open to ten percent."""
    table = published(architecture, "d")
    test = fit_growth(table["parameter"], table["data_pj"], "linear")
    assert test.quadratic is not None
    assert test.quadratic.p_value > 0.05
    assert test.verdict.outcome.value == "inconclusive"
    assert test.verdict.excess is not None
    assert test.verdict.excess.high > 0.1


def test_whole_table_of_published_energies() -> None:
    parts = []
    for architecture in ("simba", "eyeriss"):
        for parameter in GROWTH:
            rows = published(architecture, parameter)
            rows["size"], rows["sweep"], rows["architecture"] = rows["parameter"], f"conv_{parameter}", architecture
            rows["layer"] = [f"{parameter}_{value}" for value in rows["parameter"]]
            parts.append(rows)
    table = pd.concat(parts, ignore_index=True)
    table = table.assign(status="ok", reason="", engine="published", energy_table=table["architecture"])
    analysis = analyse_table(
        table, [SweepDescription(f"conv_{name}", "size", growth) for name, growth in GROWTH.items()]
    )
    assert len(analysis.verdicts) == 2 * 4 * 2
    data = analysis.verdicts[analysis.verdicts["response"] == "data_pj"].set_index(["sweep", "architecture"])
    # Tables hold six digits of a p-value.
    assert data.loc[("conv_d", "simba"), "quadratic_p"] == pytest.approx(0.5560467483864759, rel=1e-6)
    assert data.loc[("conv_d", "simba"), "n"] == 64
    assert set(analysis.paragraphs) == {f"conv_{name}" for name in GROWTH}
    # c1, c2 of the dashed line as the authors' notebook prints them (linregress).
    line = analysis.fits.set_index(["sweep", "architecture", "response"]).loc[("conv_d", "simba", "data_pj")]
    assert [line["c1"], line["c2"]] == pytest.approx([-24073382.9738245, 5442121.661790551], rel=1e-9)
    assert np.isfinite(analysis.residuals["relative_residual"]).all()
