"""Whether laws of imperfect optima predict: derived from every other point of a sweep, asked about the rest.

Reads a table of energies. Prints a Markdown table, a row a sweep and architecture: laws of all points; how many of the
held-out points obey a law of the others; and what the tiles of the others' laws give at the held-out sizes. There a
law, as `law_terms` writes it, should be what the model counts but for rounding, and the cheapest near the optimum.
"""

import argparse
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd

from jouleloop.engines.native import NativeEngine
from jouleloop.errors import JouleloopError
from jouleloop.mapping.compact import parse_compact, parse_kept
from jouleloop.mapping.mapping import Mapping
from jouleloop.mapping.validate import check_mapping
from jouleloop.model.evaluate import evaluate_mapping
from jouleloop.study.compute import Job
from jouleloop.study.targets import TargetFiles, TargetSet
from jouleloop.tables.laws import law_tables
from jouleloop.workload.problem import Problem
from jouleloop.workload.sweep import Sweep, load_sweep

ROOT = Path(__file__).parents[1]
#: What whole words and vectors may add to a law.
ROUNDING = 1e-4
SAME = 1e-9
_FACTOR = re.compile(r"⌈([A-Za-z]+)/(\d+)⌉(?:\^(-?\d+))?|([A-Z][a-z]+)(-?\d+)?|([A-Z])(-?\d+)?")


def main() -> None:
    """Derive, hold out, compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("energies", type=Path, help="energies.parquet")
    parser.add_argument("sweeps", nargs="+", help="names, or files")
    options = parser.parse_args()
    table = pd.read_parquet(options.energies)
    print(
        "| sweep | architecture | points | laws | of one point | terms, most | held out: obey a law of the others "
        "| law = model at held-out sizes | cheapest of the others' tiles: optimal, above it at most |"
    )
    print("|---|---|---:|---:|---:|---:|---:|---|---|")
    for name in options.sweeps:
        path = Path(name) if name.endswith(".yaml") else ROOT / f"layers/{name}.yaml"
        sweep = load_sweep(path)
        for architecture in dict.fromkeys(table["architecture"]):
            rows = table[(table["architecture"] == architecture) & (table["sweep"] == sweep.name)]
            if architecture.endswith("_imperfect") and len(rows):
                print(_row(sweep, architecture, rows))


def _row(sweep: Sweep, architecture: str, rows: pd.DataFrame) -> str:
    # Input sizes of as many outputs are one layer.
    rows = rows.drop_duplicates(["N", "C", "M", "R", "S", "P", "Q", "w_stride", "h_stride", "groups"])
    job = _job(architecture)
    every = law_tables(rows, {architecture: job}, [sweep])
    kept, asked = rows.iloc[::2], rows.iloc[1::2]
    known = law_tables(kept, {architecture: job}, [sweep])
    # Obeys: its law, of all points', has a point among the kept ones too.
    law = every.points.set_index("layer")["law"]
    shared = law[asked["layer"]].isin(set(law[kept["layer"]]))
    layers = {point.layer.label: point.layer for point in sweep.points}
    members = known.points.merge(kept[["layer", "mapping", "kept"]], on="layer")
    terms = dict(iter(known.terms.groupby("law")))
    pairs = right = 0
    above = []
    for row in asked.to_dict(orient="records"):
        problem = layers[row["layer"]].problem()
        target = job.target.for_shape(problem.shape)
        best = math.inf
        for mapping, laws in _structures(members, problem):
            try:
                check_mapping(mapping, problem, target.arch)
                counted = evaluate_mapping(problem, target.arch, target.costs, mapping, target.semantics)
            except JouleloopError:
                continue
            best = min(best, counted.energy_pj)
            pairs += 1
            told = [_told_pj(terms[law], problem) for law in laws]
            right += any(abs(one / counted.energy_pj - 1) < ROUNDING for one in told)
        if best < math.inf:
            above.append(best / row["total_pj"] - 1)
    single = every.laws["points"].eq(1).sum()
    most = every.terms.groupby("law")["monomial"].nunique().max()
    reached = sum(share < SAME for share in above)
    spread = f"{reached} of {len(asked)}, {100 * max(above, default=math.nan):.2f} %"
    return (
        f"| {sweep.name} | {architecture} | {len(rows)} | {len(every.laws)} | {single} | {most} | {shared.sum()} of "
        f"{len(asked)} | {right} of {pairs} | {spread} |"
    )


def _structures(members: pd.DataFrame, problem: Problem) -> Iterator[tuple[Mapping, list[str]]]:
    """Yield every mapping of the members with their tiles at this size, and the laws that such mappings obey."""
    found: dict[Mapping, list[str]] = {}
    for row in members.to_dict(orient="records"):
        mapping = parse_compact(row["mapping"], parse_kept(row["kept"]))
        grown = dict(part.split(": ") for part in row["growing"].split("; ") if part)
        levels = list(mapping.levels)
        for size, loop in grown.items():
            level, text = loop.split(" ")
            at = next(i for i, one in enumerate(levels) if one.level == level)
            end = int(text.removeprefix(size))
            product = math.prod(b for one in levels for d, b in one.loops if d == size)
            new = -(-problem.bound[size] // (product // end))
            temporal = tuple((d, new if (d, b) == (size, end) else b) for d, b in levels[at].temporal)
            spatial = levels[at].spatial
            if temporal == levels[at].temporal:
                spatial = tuple((d, new if (d, b) == (size, end) else b, axis) for d, b, axis in spatial)
            levels[at] = replace(levels[at], temporal=temporal, spatial=spatial)
        levels = [_without_ones(level) for level in levels]
        reached = {d: math.prod(b for level in levels for at, b in level.loops if at == d) for d in problem.bound}
        early = tuple(sorted((d, b) for d, b in problem.bound.items() if reached[d] != b))
        if all(reached[d] >= b for d, b in problem.bound.items()):
            found.setdefault(Mapping(tuple(levels), early), []).append(row["law"])
    yield from found.items()


def _without_ones(level: Any) -> Any:
    return replace(
        level,
        temporal=tuple(loop for loop in level.temporal if loop[1] > 1),
        spatial=tuple(loop for loop in level.spatial if loop[1] > 1),
    )


def _told_pj(terms: pd.DataFrame, problem: Problem) -> float:
    """Return the energy of a law at a size, from the columns of `law_terms`."""
    sizes = {**problem.bound, **problem.coefficient}
    total = 0.0
    for monomial, accesses, access_pj in zip(terms["monomial"], terms["accesses"], terms["access_pj"], strict=True):
        value = Fraction(accesses)
        for name, tile, ceiling, long, power, letter, exponent in _FACTOR.findall(
            "" if monomial == "one" else monomial
        ):
            base = -(-sizes[name] // int(tile)) if name else sizes[long or letter]
            value *= Fraction(base) ** int(ceiling or power or exponent or 1)
        total += float(value) * access_pj
    return total


def _job(architecture: str) -> Job:
    design = architecture.removesuffix("_imperfect")
    files = TargetFiles(
        architecture,
        ROOT / f"arch/{design}.yaml",
        ROOT / f"arch/energy/{design}-45nm-accelergy03.yaml",
        ROOT / f"mappings/{design}.yaml",
        factors="imperfect",
    )
    return Job(TargetSet(files, "timeloop-3.0.3"), NativeEngine())


if __name__ == "__main__":
    main()
