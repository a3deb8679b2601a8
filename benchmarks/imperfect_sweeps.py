"""Growth with perfect and with imperfect factors, side by side: whether the scatter of divisibility goes.

Prints a Markdown table of fits, a row a sweep and architecture, and writes all points to a CSV file. Where windows
slide the imperfect energy is the best that was found, beside it what no mapping is below.
"""

import argparse
import csv
import itertools
import time
from pathlib import Path
from typing import Any

import pandas as pd

from jouleloop.engines.native import NativeEngine
from jouleloop.engines.protocol import SearchOptions
from jouleloop.optimum.result import SearchResult
from jouleloop.stats.expression import evaluate_variable
from jouleloop.stats.growth import fit_growth
from jouleloop.study.targets import TargetFiles, TargetSet
from jouleloop.workload.layer import Layer
from jouleloop.workload.sweep import load_sweep

ROOT = Path(__file__).parents[1]
COLUMNS = ("sweep", "architecture", "x", "perfect_pj", "imperfect_pj", "lower_pj", "optimal", "cpu_seconds")


def main() -> None:
    """Search every n-th point of sweeps twice."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sweeps", nargs="+")
    parser.add_argument("--architectures", nargs="+", default=["eyeriss", "simba"])
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=None)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    engine, limit = NativeEngine(), SearchOptions(seconds=options.seconds)
    rows: list[dict[str, Any]] = []
    with options.out.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        for name, design in itertools.product(options.sweeps, options.architectures):
            sweep = load_sweep(ROOT / f"layers/{name}.yaml")
            perfect, imperfect = (_targets(design, factors) for factors in ("perfect", "imperfect"))
            known_pairs: dict[Any, tuple[SearchResult, SearchResult, float]] = {}
            for point in sweep.points[:: options.every]:
                layer = point.layer
                problem = layer.problem()
                key = (problem.bounds, problem.coefficients)
                if key not in known_pairs:
                    first = engine.search(problem, perfect.for_shape(problem.shape))
                    began = time.process_time()
                    second = engine.search(problem, imperfect.for_shape(problem.shape), limit)
                    known_pairs[key] = (first, second, time.process_time() - began)
                    spent = known_pairs[key][2]
                else:  # another input size with as many outputs
                    (first, second, _), spent = known_pairs[key], 0.0
                known, found = first.evaluation, second.evaluation
                if found is None:
                    continue
                row = {
                    "sweep": name,
                    "architecture": design,
                    "x": _size(layer, sweep.variable, point),
                    "perfect_pj": known.energy_pj - known.compute_energy_pj if known else "",
                    "imperfect_pj": found.energy_pj - found.compute_energy_pj,
                    "lower_pj": second.lower_bound - found.compute_energy_pj,
                    "optimal": second.optimal,
                    "cpu_seconds": round(spent, 3),
                }
                rows.append(row)
                writer.writerow(row)
                file.flush()
    _print(rows, {name: load_sweep(ROOT / f"layers/{name}.yaml").expected for name in options.sweeps})


def _targets(design: str, factors: Any) -> TargetSet:
    files = TargetFiles(
        design,
        ROOT / f"arch/{design}.yaml",
        ROOT / f"arch/energy/{design}-45nm-accelergy03.yaml",
        ROOT / f"mappings/{design}.yaml",
        factors=factors,
    )
    return TargetSet(files, "timeloop-3.0.3")


def _size(layer: Layer, variable: str, point: Any) -> float:
    table = pd.DataFrame([{**layer.sizes, "input_size": point.input_size, "macs": layer.macs}])
    return float(evaluate_variable(variable, table)[0])


def _print(rows: list[dict[str, Any]], expected: dict[str, str]) -> None:
    print("| sweep | architecture | factors | points | R² | exponent (interval) | largest deviation | verdict |")
    print("|---|---|---|---:|---:|---|---:|---|")
    for name, design in itertools.product(expected, dict.fromkeys(row["architecture"] for row in rows)):
        chosen = [row for row in rows if (row["sweep"], row["architecture"]) == (name, design)]
        for factors in ("perfect", "imperfect", "lower"):
            known = [row for row in chosen if row[f"{factors}_pj"] != ""]
            if len(known) < 3:
                continue
            test = fit_growth([row["x"] for row in known], [row[f"{factors}_pj"] for row in known], expected[name])
            power = test.exponent
            interval = f"{power.exponent:.3f} ({power.low:.3f} to {power.high:.3f})" if power else ""
            print(
                f"| {name} | {design} | {factors} | {test.n} | {test.r_squared:.6f} | {interval} "
                f"| {100 * test.max_relative_deviation:.2f} % | {test.verdict.outcome.value} |"
            )
        saved = [1 - row["imperfect_pj"] / row["perfect_pj"] for row in chosen if row["perfect_pj"] != ""]
        gaps = [row["imperfect_pj"] / row["lower_pj"] - 1 for row in chosen]
        proven = sum(row["optimal"] for row in chosen)
        seconds = sum(row["cpu_seconds"] for row in chosen)
        if saved:
            mean = sum(saved) / len(saved)
            print(f"<!-- {name} {design}: saves {100 * mean:.2f} % on average, {100 * max(saved):.2f} %")
            print(
                f"at most; proven {proven} of {len(chosen)}, largest gap {100 * max(gaps):.2f} %; {seconds:.1f} s -->"
            )


if __name__ == "__main__":
    main()
