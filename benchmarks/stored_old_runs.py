"""Evaluate mappings of runs of version 0.2 and 0.3 that others stored, and compare with what their Timeloop wrote.

    python benchmarks/stored_old_runs.py FOLDER… --count 100

A run is a folder with statistics, a mapping and an energy reference table, without the input. The architecture and the
layer are those of the repository that fit: levels of the same names, and bounds that the mapping multiplies to, the
nearest first, until one has every field equal. Programs of before 3.0 print `MACCs` and charge every access of a level
with the largest energy of its table; they are compared so, without the networks, whose groups they do not print.
"""

import contextlib
import re
from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path

from designs import MADE
from jouleloop.arch.architecture import Architecture
from jouleloop.energy.choice import costs_of, sources_of
from jouleloop.energy.costs import EnergyCosts
from jouleloop.energy.ert import read_ert
from jouleloop.engines.timeloop.outputs import parse_evaluation, parse_map
from jouleloop.errors import JouleloopError
from jouleloop.mapping.mapping import Mapping
from jouleloop.mapspace.read_design import read_design
from jouleloop.model.evaluate import evaluate_mapping
from jouleloop.model.evaluation import Evaluation
from jouleloop.workload.problem import Problem
from jouleloop.workload.timeloop_problem import read_problem
from random_evaluations import compared
from stored_runs import INPUT, PRINTED_PJ, PROGRAMS, compare_runs

#: Pairs of an architecture and a layer that are tried.
MOST_PAIRS = 60


def runs_in(root: Path) -> list[tuple[Path, str]]:
    """Return the folders with stored runs and no input, and which program ran."""
    found = [(path.parent, program) for program in PROGRAMS for path in sorted(root.rglob(f"{program}.map.txt"))]
    files = [(folder, [folder / f"{program}.{end}" for end in ("stats.txt", "ERT.yaml")]) for folder, program in found]
    whole = {folder for folder, beside in files if all(p.exists() for p in beside) and not (folder / INPUT).exists()}
    return [(folder, program) for folder, program in found if folder in whole]


def mapping_of(folder: Path, program: str) -> Mapping:
    """Return the mapping; programs of before 3.0 print one size of each tile, not two."""
    path = folder / f"{program}.map.txt"
    return parse_map(re.sub(r"(\w):(\d+)(?= (?!\())", r"\1:\2 (\2)", path.read_text()), str(path))[0]


def evaluation_of(folder: Path, program: str, problem: Problem) -> tuple[Evaluation, bool]:
    """Return what the program wrote, and whether it is one of before 3.0."""
    text, xml = (folder / f"{program}.stats.txt").read_text(), folder / f"{program}.map+stats.xml"
    old = re.search(r"^MACCs = (\d+)", text, re.MULTILINE)
    if old:
        first = r"(    Utilized instances +: [\d.]+\n)(    Cycles)"
        text = re.sub(first, rf"\1    Computes (total) : {old[1]}\n\2", text, count=1)
    found = parse_evaluation(text, xml.read_text() if xml.exists() else None, problem, str(folder), check=not old)
    return found, bool(old)


def one_energy_a_level(arch: Architecture, costs: EnergyCosts, table: Path) -> EnergyCosts:
    """Return the costs with the largest energy of a table, of whatever action, for every access."""
    largest = {name: max(actions.values(), default=0.0) for name, actions in read_ert(table).items()}
    pj = [largest.get(level.name, 0.0) / level.cluster_size for level in arch.levels]
    levels = (replace(one, read_pj=e, write_pj=e) for one, e in zip(costs.levels, pj, strict=True))
    return replace(costs, levels=tuple(levels))


def different(
    folder: Path, program: str, arch: Architecture, problem: Problem, mapping: Mapping, semantics: str
) -> tuple[int, list[str]]:
    """Return how many fields a run has, and those that differ."""
    theirs, old = evaluation_of(folder, program, problem)
    table = folder / f"{program}.ERT.yaml"
    costs = costs_of(arch, sources_of(table))
    costs = one_energy_a_level(arch, costs, table) if old else costs
    pairs = compared(evaluate_mapping(problem, arch, costs, mapping, semantics), theirs)
    pairs = [pair for pair in pairs if not (old and pair.quantity == "networks")]
    near = PRINTED_PJ * len(arch.levels)
    bad = [
        pair
        for pair in pairs
        if pair.verdict != "equal"
        and not (pair.field == "total" and pair.quantity == "energy" and abs(pair.ours - pair.theirs) <= near)
    ]
    return len(pairs), [f"{pair.field} {pair.ours} {pair.theirs}" for pair in bad]


def common(path: Path, folder: Path) -> int:
    """Return how many parts of two paths are the same."""
    same = [a == b for a, b in zip(path.parts, folder.parts, strict=False)]
    return same.index(False) if False in same else len(same)


@cache
def inputs_in(root: Path) -> tuple[list[tuple[Path, Architecture]], list[tuple[Path, Problem]]]:
    """Return the architectures and the layers of a repository."""
    archs: list[tuple[Path, Architecture]] = []
    layers: list[tuple[Path, Problem]] = []
    for path in sorted([*root.rglob("*.yaml"), *root.rglob("*.yml")]):
        text = "" if MADE.search(str(path)) else path.read_text(errors="replace")
        for later in (False, True) if re.search(r"^architecture:", text, re.MULTILINE) else ():
            with contextlib.suppress(JouleloopError):
                archs.append((path, read_design([path], later=later).arch))
        if re.search(r"^problem:", text, re.MULTILINE):
            with contextlib.suppress(JouleloopError):
                layers.append((path, read_problem(path)))
    return archs, layers


def best_of(root: Path, folder: Path, program: str, semantics: str) -> tuple[int, list[str]]:
    """Return the fields of a run and those that differ, with the inputs that fit best."""
    (designs, layers), mapping, sizes = inputs_in(root), mapping_of(folder, program), Counter[str]()
    for level in mapping.levels:
        for dimension, bound, *_ in (*level.temporal, *level.spatial):
            sizes[dimension] = max(1, sizes[dimension]) * bound
    names = tuple(level.level for level in mapping.levels)
    archs = [pair for pair in designs if pair[1].level_names == names]
    fits = [pair for pair in layers if all(max(1, sizes[d]) == bound for d, bound in pair[1].bound.items())]
    near = [sorted(pairs, key=lambda pair: -common(pair[0], folder)) for pairs in (archs, fits)]
    best: tuple[int, list[str]] | None = None
    refusal = "no architecture or layer of the repository fits"
    for (_, arch), (_, problem) in list(product(*near))[:MOST_PAIRS]:
        try:
            found = different(folder, program, arch, problem, mapping, semantics)
        except JouleloopError as error:
            refusal = str(error).splitlines()[0]
            continue
        best = found if best is None or len(found[1]) < len(best[1]) else best
        if not found[1]:
            break
    if best is None:
        raise JouleloopError(refusal.replace(f"{root}/", ""))
    return best


if __name__ == "__main__":
    compare_runs(__doc__, "timeloop-2023-04", runs_in, best_of)
