"""Evaluate mappings of runs that others stored, and compare with what their own Timeloop wrote, field by field.

    python benchmarks/stored_runs.py FOLDER… --count 120

A run is a folder with `parsed-processed-input.yaml` (what Timeloop's front end wrote), a mapping, an energy reference
table and statistics of `timeloop-mapper` or `timeloop-model`. Totals hold the
leakage of every level, which statistics print with two decimals, so they are compared as far as that goes.
"""

import argparse
import logging
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from jouleloop.energy.choice import costs_of, sources_of
from jouleloop.engines.timeloop.outputs import read_evaluation, read_mapping
from jouleloop.errors import JouleloopError
from jouleloop.mapspace.read_design import read_design
from jouleloop.model.evaluate import evaluate_mapping
from jouleloop.model.semantics import RULES
from random_evaluations import compared

INPUT = "parsed-processed-input.yaml"
PROGRAMS = ("timeloop-mapper", "timeloop-model")
#: Half of the last decimal with which statistics print an energy [pJ].
PRINTED_PJ = 0.005


def runs_in(root: Path) -> list[tuple[Path, str]]:
    """Return the folders with stored runs, and which program ran."""
    folders = sorted(path.parent for path in root.rglob(INPUT))
    ran = [(folder, next((p for p in PROGRAMS if (folder / f"{p}.stats.txt").exists()), "")) for folder in folders]
    return [(folder, program) for folder, program in ran if program]


def different(folder: Path, program: str, semantics: str) -> tuple[int, list[str]]:
    """Return how many fields a run has, and those that differ."""
    design = read_design([folder / INPUT], later=RULES[semantics].reads_underscores)
    if design.problem is None:
        return 0, []
    costs = costs_of(design.arch, sources_of(folder / f"{program}.ERT.yaml"))
    mine = evaluate_mapping(design.problem, design.arch, costs, read_mapping(folder, program), semantics)
    near = PRINTED_PJ * len(design.arch.levels)
    pairs = compared(mine, read_evaluation(folder, program, design.problem))
    totals = [pair for pair in pairs if (pair.quantity, pair.field) == ("energy", "total")]
    printed = [pair for pair in totals if abs((pair.ours or 0.0) - (pair.theirs or 0.0)) <= near]
    bad = [pair for pair in pairs if pair.verdict != "equal" and pair not in printed]
    return len(pairs), [f"{pair.field} {pair.ours} {pair.theirs}" for pair in bad]


def compare_runs(
    about: str | None,
    semantics: str,
    runs_in: Callable[[Path], list[tuple[Path, str]]],
    compare: Callable[[Path, Path, str, str], tuple[int, list[str]]],
) -> None:
    """Draw runs from the folders of the command line and print how many are equal.

    Parameters
    ----------
    about
        What ``--help`` says.
    semantics
        By whose rules runs are evaluated where the command line does not say.
    runs_in
        Returns the folders of a repository with stored runs, and which program ran.
    compare
        Returns how many fields a run has, and those that differ, by repository, folder, program and semantics.
    """
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--count", type=int, default=100, help="runs drawn from each folder")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--semantics", choices=RULES, default=semantics)
    given = parser.parse_args()
    logging.disable(logging.WARNING)
    for root in given.folders:
        runs, tally = runs_in(root), Counter[str]()
        for folder, program in random.Random(given.seed).sample(runs, min(given.count, len(runs))):
            name = folder.relative_to(root)
            try:
                fields, bad = compare(root, folder, program, given.semantics)
            except JouleloopError as error:
                tally["refused"] += 1
                print(f"{name}: refused: {str(error).splitlines()[0]}", flush=True)
                continue
            tally.update({"runs": 1, "fields": fields, "different": len(bad), "equal": not bad})
            if bad:
                print(f"{name}: {len(bad)} of {fields} differ: {'; '.join(bad[:4])}", flush=True)
        print(f"{root.name}: {len(runs)} runs, {dict(tally)}")


if __name__ == "__main__":
    compare_runs(__doc__, "timeloop-4", runs_in, lambda _, folder, program, rules: different(folder, program, rules))
