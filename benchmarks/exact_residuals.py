"""By how much Timeloop's counts of loops that end early are off, against exact counts.

    python benchmarks/exact_residuals.py [RESULTS]

First the random mappings of ``tests/reference/imperfect_runs``, then the best of random fully-connected layers; then,
where the folder of a run's results is named, its best mappings with imperfect factors. A row a set: how many mappings
are counted exactly and how many refused, then Timeloop's energy over the exact one, less 1, and the same of cycles.
"""

import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from differential.imperfect import load_mapping, load_record  # noqa: E402
from differential.runs import read_records  # noqa: E402
from jouleloop.api.layers import problem_of  # noqa: E402
from jouleloop.api.project import load_target  # noqa: E402
from jouleloop.columns import read_table  # noqa: E402
from jouleloop.engines.native import NativeEngine  # noqa: E402
from jouleloop.errors import MappingError  # noqa: E402
from jouleloop.mapping.compact import parse_compact, parse_kept  # noqa: E402
from jouleloop.model.evaluate import evaluate_mapping  # noqa: E402
from jouleloop.model.exact_evaluation import evaluate_exactly  # noqa: E402
from jouleloop.model.semantics import has_windows  # noqa: E402
from jouleloop.study.targets import TargetFiles, TargetSet  # noqa: E402
from jouleloop.tables.layouts import ENERGIES  # noqa: E402

#: Fully-connected layers of random sizes that are searched.
FULLY_CONNECTED = 60
#: A mapping of a problem on a target, and the set it is shown in.
Subject = tuple[str, Any, Any, Any]


def main() -> None:
    """Print the distributions."""
    rows: dict[str, list[tuple[float, float] | None]] = {}
    for name, problem, target, mapping in [
        *_stored(),
        *_searched(),
        *(_found(Path(sys.argv[1])) if sys.argv[1:] else ()),
    ]:
        hardware = (problem, target.arch, target.costs, mapping, target.semantics)
        rows.setdefault(name, []).append(_compare(hardware))
    print("| mappings | counted, refused | equal | energy: median, 95 %, most | least | cycles: median, most |")
    print("|---|---|---:|---|---:|---|")
    for name, found in rows.items():
        known = np.array([pair for pair in found if pair is not None])
        if not len(known):
            print(f"| {name} | 0, {len(found)} | | | | |")
            continue
        energy, cycles = 100 * known.T
        middle, high, most = np.quantile(energy, (0.5, 0.95, 1))
        print(
            f"| {name} | {len(known)}, {len(found) - len(known)} | {(abs(energy) < 1e-9).sum()} "
            f"| {middle:.2f} %, {high:.2f} %, {most:.1f} % | {energy.min():.2f} % "
            f"| {np.median(cycles):.1f} %, {cycles.max():.0f} % |"
        )


def _compare(hardware: Any) -> tuple[float, float] | None:
    try:
        exact = evaluate_exactly(*hardware, check_capacity=False)
        theirs = evaluate_mapping(*hardware, check_capacity=False)
    except MappingError:
        return None
    return theirs.energy_pj / exact.energy_pj - 1, theirs.cycles / exact.cycles - 1


def _stored() -> Iterator[Subject]:
    for path in sorted((ROOT / "tests/reference/imperfect_runs").glob("*.jsonl.xz")):
        for record in read_records(path):
            problem, target = load_record(record)
            kind = "windows" if has_windows(problem) else "no windows"
            yield (
                f"random, {path.name.partition('.')[0]}, {kind}",
                problem,
                target,
                load_mapping(record, problem, target),
            )


def _searched() -> Iterator[Subject]:
    rng = random.Random("exact residuals")
    for _ in range(FULLY_CONNECTED):
        problem = problem_of(f"fc:{rng.randint(20, 1000)}x{rng.randint(20, 1000)}")
        for design in ("eyeriss", "simba"):
            files = TargetFiles(
                design,
                ROOT / f"arch/{design}.yaml",
                ROOT / f"arch/energy/{design}-45nm-accelergy03.yaml",
                ROOT / f"mappings/{design}.yaml",
                factors="imperfect",
            )
            target = TargetSet(files, "timeloop-3.0.3", (problem.shape,)).for_shape(problem.shape)
            found = NativeEngine().search(problem, target)
            if found.mapping is not None and found.mapping.imperfect:
                yield f"best, fully connected, {design}", problem, target, found.mapping


def _found(results: Path) -> Iterator[Subject]:
    energies, _ = read_table(results / "energies.parquet", ENERGIES)
    for _, row in energies[energies["status"] == "ok"].iterrows():
        mapping = parse_compact(str(row["mapping"]), parse_kept(str(row["kept"])))
        design = str(row["architecture"]).removesuffix("_imperfect")
        if not mapping.imperfect or design not in ("eyeriss", "simba"):
            continue
        # The outputs say all; an input whose last step is left out would be refused.
        problem = problem_of(re.sub("/input[^/]*", "", str(row["layer"])))
        target = load_target(design, semantics="timeloop-3.0.3", constraints="none").for_shape(problem.shape)
        yield f"best, {row['sweep']}, {design}", problem, target, mapping


if __name__ == "__main__":
    main()
