"""Print how often tests of a lower envelope refute one that is a line, and one that is bent: by simulation."""

import argparse
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import statsmodels.api as sm

from box_envelopes import box_minima, lower_regression
from jouleloop.stats.growth import Outcome, decide
from jouleloop.stats.quadratic import quadratic_test
from jouleloop.stats.regression import FloatArray
from jouleloop.workload.sweep import load_sweep

ROOT = Path(__file__).resolve().parents[1]
LEVEL = 0.05
MEMBERS = 14
QUANTILE = 0.05


def first_notebook() -> tuple[FloatArray, FloatArray]:
    """Return multiply-accumulates and published data energy [pJ] of the layers of the first notebook."""
    rows = []
    for name, left_out in (("random", 0), ("grid", 1000)):
        table = [
            (point.layer.sizes["M"] * point.layer.sizes["C"] * (point.input_size or 0) ** 2, point)
            for point in load_sweep(ROOT / f"layers/authors_{name}.yaml").points
        ]
        rows += [point for _, point in sorted(table, key=lambda row: row[0])[left_out:]]
    found = pd.DataFrame(
        [(point.layer.macs, dict(point.given)["published_data_pj"]) for point in rows], columns=["macs", "data_pj"]
    ).astype(float)
    return found["macs"].to_numpy(), found["data_pj"].to_numpy()


def design(u: FloatArray) -> FloatArray:
    """Return constant, line and parabola over the size, for the response over the size; shape (n, 3)."""
    z = u / u.max()
    return np.column_stack([1 / z, np.ones(z.size), z])


def by_least_squares(u: FloatArray, y: FloatArray) -> bool:
    chosen = box_minima(u, y, MEMBERS)
    return quadratic_test(u[chosen], y[chosen]).p_value <= LEVEL


def by_shuffles(u: FloatArray, y: FloatArray) -> bool:
    return lower_regression(u, y, MEMBERS, shuffles=99).shuffled_p <= LEVEL


def by_quantile(u: FloatArray, y: FloatArray) -> bool:
    """Parabola of the 5 % quantile of all layers, by its asymptotic error."""
    fit = sm.QuantReg(y / u, design(u)).fit(q=QUANTILE)
    return bool(fit.pvalues[2] <= LEVEL)


def by_jackknife(u: FloatArray, y: FloatArray) -> bool:
    return lower_regression(u, y, MEMBERS, shuffles=0).jackknife_p <= LEVEL


def by_verdict(u: FloatArray, y: FloatArray) -> bool:
    chosen = box_minima(u, y, MEMBERS)
    return decide(u[chosen], y[chosen], "linear").outcome is Outcome.REFUTED


TESTS: dict[str, Callable[[FloatArray, FloatArray], bool]] = {
    "least squares, as the notebooks": by_least_squares,
    "shuffles of energy over size": by_shuffles,
    "quantile regression, 5 %": by_quantile,
    "jackknife of ten blocks": by_jackknife,
    "the verdict `refuted`": by_verdict,
}


def scatters(u: FloatArray, ratios: FloatArray, generator: np.random.Generator) -> dict[str, FloatArray]:
    """Return energies whose envelope is a line, with scatter of two kinds, and one with a bend of 20 %."""
    dealt = generator.permutation(ratios)
    ranks = np.argsort(np.argsort(u, kind="stable"))
    normal = np.empty(u.size)
    normal[0] = generator.normal()
    for index, step in enumerate(generator.normal(size=u.size - 1)):
        normal[index + 1] = 0.9 * normal[index] + (1 - 0.81) ** 0.5 * step
    alike = np.sort(ratios)[np.argsort(np.argsort(normal, kind="stable"))][ranks]
    return {"shuffled": u * dealt, "neighbours alike": u * alike, "bent by 20 %": u * dealt * (1 + 0.2 * u / u.max())}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=200)
    studies = parser.parse_args().studies
    u, energies = first_notebook()
    generator = np.random.default_rng(20240229)
    refuted: dict[str, dict[str, int]] = {}
    for _ in range(studies):
        for kind, y in scatters(u, energies / u, generator).items():
            counts = refuted.setdefault(kind, dict.fromkeys(TESTS, 0))
            for name, test in TESTS.items():
                counts[name] += test(u, y)
    print("| test, level 5 % | " + " | ".join(refuted) + " |")
    print("|---|" + "---:|" * len(refuted))
    for name in TESTS:
        print(
            f"| {name} | " + " | ".join(f"{100 * counts[name] / studies:.1f} %" for counts in refuted.values()) + " |"
        )
    return 0


if __name__ == "__main__":
    warnings.filterwarnings("ignore", message=".*Maximum number of iterations.*")
    sys.exit(main())
