"""Read, evaluate and search every design of public repositories; print a table of what came of each.

    python benchmarks/designs.py --layer LAYER FOLDER… > table.md

Each folder is a checkout of a repository with Timeloop or Accelergy designs. A design is a template `top.yaml.jinja2`
with a folder beside it, or an architecture with the problem, constraints, mappings and variables around it.
A mapping is evaluated for its own problem, or the first layer of the repository that it fits; a mapping that fits none
(of another design, or a template) is named, and its design is searched.
Layers are cut to at most 8 along every dimension before a search, which visits at most 2,000 mappings, 20 s long;
where such a small layer has no mapping, the whole one is searched, then the other layers of the repository.
"""

import argparse
import contextlib
import logging
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jouleloop.documents.load import load_document
from jouleloop.energy.choice import costs_of, source_of
from jouleloop.energy.costs import EnergyCosts
from jouleloop.errors import InputError, JouleloopError
from jouleloop.mapping.formats import read_timeloop_mapping
from jouleloop.mapspace.read_design import DescribedDesign, read_design
from jouleloop.mapspace.space import build_mapspace
from jouleloop.model.evaluate import evaluate_mapping
from jouleloop.optimum.limit import Limit, Watch
from jouleloop.optimum.optimise import search_mapspace
from jouleloop.workload.problem import Problem
from jouleloop.workload.timeloop_problem import read_problem

#: Files that programs wrote, and those that only show or test the format.
MADE = re.compile(r"outputs?/|ref[-_]|out_dir|cheatsheets|/tests/|defined_input|flattened")
SPARSE = re.compile(r"sparse_optimizations|compression-rate|density|densities:\s*\n", re.IGNORECASE)
MOST_BOUND = 8
MOST_LAYERS = 20
BUDGET = 2000
SECONDS = 20.0
ENERGIES = ("interpolated", "built-in")


@dataclass(frozen=True)
class Files:
    """One design: the files that are read together, and a mapping where one is given."""

    name: str
    paths: tuple[Path, ...]
    variables: dict[str, Any] = field(default_factory=dict)
    mapping: Path | None = None

    def sparse(self) -> bool:
        """Whether it asks for sparse tensors."""
        beside = [path.parent / self.variables["architecture"] for path in self.paths if self.variables]
        folders = [path.parent if path.is_file() else path for path in beside]
        files = [*self.paths, *(p for folder in folders for p in folder.glob("*.yaml"))]
        return any(SPARSE.search(path.read_text(errors="replace")) for path in files)


def designs(root: Path) -> Iterator[Files]:
    """Yield the designs of a checkout."""
    covered: set[Path] = set()
    for top in sorted(root.rglob("top.yaml.jinja2")):
        for arch in sorted(top.parent.rglob("arch.yaml")):
            if arch.parent != top.parent and not MADE.search(str(arch)):
                covered.add(arch)
                whole = re.search(r"include\(architecture\b", top.read_text(errors="replace"))
                named = (arch if whole else arch.parent).relative_to(top.parent)
                yield Files(str(arch.relative_to(root)), (top,), {"architecture": str(named)})
    for arch in sorted(root.rglob("*.yaml")):
        text = arch.read_text(errors="replace")
        if arch not in covered and not MADE.search(str(arch)) and re.search(r"^architecture:", text, re.MULTILINE):
            yield from around(root, arch)


def around(root: Path, arch: Path) -> Iterator[Files]:
    """Yield an architecture with what stands around it: once for every mapping or set of constraints."""
    base = arch.parent.parent if arch.parent.name == "arch" else arch.parent
    found = [arch]
    problems = [*sorted(base.glob("prob/*.yaml")), base / "problem.yaml", base.parent / f"problem_{base.name}.yaml"]
    problems += [base.parent / "problem.yaml", *sorted(base.glob("layers/*.yaml"))]
    variables = [base / "variables.yaml", base.parent / "variables.yaml", *sorted(base.glob("*/variables.yaml"))]
    for choices in (problems, variables, [base / "components.yaml"]):
        shown = [path for path in choices if path.is_file() and not path.name.startswith(".")]
        found += [path for path in shown if holds_more(path, found)][:1]
    name = str(arch.relative_to(root))
    constraints = [path for path in sorted(base.glob("constraints/*.yaml")) if holds_more(path, found)]
    together = not repeated(constraints)
    mappings = [*sorted(base.glob("map/*.yaml")), *(p for p in [base / "mapping.yaml"] if p.is_file())]
    for mapping in mappings:
        yield Files(f"{name}, {mapping.name}", tuple(found), mapping=mapping)
    if not mappings and together:
        yield Files(name, (*found, *constraints))
    for path in [] if together else constraints:
        yield Files(f"{name}, {path.name}", (*found, path))


def holds_more(path: Path, found: list[Path]) -> bool:
    """Whether a file has sections that the others have not."""
    return not repeated([*found, path])


def repeated(paths: list[Path]) -> bool:
    """Whether two files state one section."""
    texts = [path.read_text(errors="replace") for path in paths]
    keys = Counter(key for text in texts for key in set(re.findall(r"^(\w+):", text, re.MULTILINE)))
    return any(number > 1 for number in keys.values())


def cut(problem: Problem) -> Problem:
    """Return the problem with every bound at most `MOST_BOUND`."""
    bounds = {name: min(bound, MOST_BOUND) for name, bound in problem.bound.items()}
    return Problem.build(problem.shape, bounds, problem.coefficient, problem.name)


def layers_of(root: Path) -> list[Problem]:
    """Return the layers of a checkout, each once."""
    found: dict[str, Problem] = {}
    for path in sorted([*root.rglob("*.yaml"), *root.rglob("*.yml")]):
        if not MADE.search(str(path)) and re.search(r"^problem:", path.read_text(errors="replace"), re.MULTILINE):
            with contextlib.suppress(JouleloopError):
                problem = read_problem(path)
                found.setdefault(repr((problem.shape, problem.bounds, problem.coefficients)), problem)
    return list(found.values())


def answer(files: Files, layers: list[Problem], variables: dict[str, str]) -> str:
    """Return what came of a design; one that only Timeloop 4 spells so is read as Timeloop 4 reads it."""
    given = {**variables, **files.variables}
    try:
        return evaluate_or_search(files, layers, read_design(files.paths, variables=given))
    except InputError as error:
        if not any("3.0.3 does not read this spelling" in fault.message for fault in error.faults):
            raise
        later = read_design(files.paths, variables=given, later=True)
        return f"{evaluate_or_search(files, layers, later)}, in Timeloop 4's spelling"


def evaluate_or_search(files: Files, layers: list[Problem], design: DescribedDesign) -> str:
    """Return what the given mapping costs, or the best of a small layer."""
    costs = costs_of(design.arch, [source_of(name) for name in ENERGIES], warn=lambda _: None)
    problems = [*([] if design.problem is None else [design.problem]), *layers]
    if files.mapping is None:
        return first_found(problems, design, costs)
    refusal = ""
    for problem in problems:
        try:
            mapping = read_timeloop_mapping(load_document(files.mapping), problem, design.arch)
            evaluation = evaluate_mapping(problem, design.arch, costs, mapping)
        except InputError as error:
            refusal = refusal or str(error.faults[0]).replace(f"{files.mapping.parent}/", "")
        else:
            return f"evaluated, {evaluation.energy_pj / evaluation.computes:.4g} pJ a MAC"
    return f"{search(problems[0], design, costs)}; its mapping fits no layer: {refusal}"


def first_found(problems: list[Problem], design: DescribedDesign, costs: EnergyCosts) -> str:
    """Return the best of the first layer that the design has a mapping of; what is wrong with the first if none has."""
    answers: list[str] = []
    for problem in problems[:MOST_LAYERS]:
        with contextlib.suppress(*([InputError] if answers else [])):
            answers.append(search(problem, design, costs))
            if not answers[-1].startswith("searched:"):
                return answers[-1] + ("" if len(answers) == 1 else f", layer {problem.name}")
    return answers[0]


def search(problem: Problem, design: DescribedDesign, costs: EnergyCosts) -> str:
    """Return the best of a small layer, or of the whole one where that has no mapping."""
    for layer, size in ((cut(problem), ""), (problem, ", the whole layer")):
        space = build_mapspace(layer, design.arch, design.constraints)
        found = search_mapspace(space, costs, budget=BUDGET, watch=Watch(Limit(SECONDS)))
        if found.evaluation is not None:
            kind = "optimal" if found.optimal else f"stopped ({found.stopped}), gap {found.gap:.0%}"
            return f"searched{size}, {kind}, {found.evaluation.energy_pj / found.evaluation.computes:.4g} pJ a MAC"
    return f"searched: {found.status}; {found.reason}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--layer", type=Path, required=True, help="problem for designs that have none")
    parser.add_argument("--variable", action="append", default=[], help="NAME=VALUE for templates; may be repeated")
    arguments = parser.parse_args()
    variables = dict(text.split("=", 1) for text in arguments.variable)
    logging.disable(logging.WARNING)
    layer = read_problem(arguments.layer)
    totals: Counter[tuple[bool, bool]] = Counter()
    for root in arguments.folders:
        print(f"\n## {root.name}\n\n| design | tensors | answer |\n| --- | --- | --- |")
        layers = [layer, *layers_of(root)]
        for files in designs(root):
            sparse = files.sparse()
            try:
                text = answer(files, layers, variables)
                refused = text.startswith("searched:")
            except InputError as error:
                refused, faults = True, [str(fault).replace(f"{root}/", "") for fault in error.faults]
                more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
                text = f"refused: {faults[0]}{more}"
            except JouleloopError as error:
                refused, text = True, f"refused: {error}".replace(f"{root}/", "").splitlines()[0]
            totals[sparse, refused] += 1
            print(f"| {files.name} | {'sparse' if sparse else 'dense'} | {text.replace('|', '/')} |", flush=True)
    for sparse, name in ((False, "dense"), (True, "sparse")):
        good, bad = totals[sparse, False], totals[sparse, True]
        print(f"\n{name}: {good} of {good + bad} answered")


if __name__ == "__main__":
    main()
