"""Give every dense design of public repositories to real Timeloop as it stands; compare mappings field by field.

    python benchmarks/designs_confirmed.py --layer LAYER FOLDER… --programs FOLDER-OF-3.0.3 --later FOLDER-OF-4 \
        --front-end "PYTHON SCRIPT"

A design is one of `benchmarks/designs.py`, with its own layer or the first of its repository that has a mapping, cut.
`timeloop-model` counts the mapping that we found; we count the best that `timeloop-mapper` draws at random within the
design's own constraints. Energies are our estimates, as a table. Files of version 0.2 and 0.3 go to 3.0.3 as they are,
those of version 0.4 to Timeloop 4: `PYTHON SCRIPT OUT [NAME=VALUE]… FILE…` writes what `timeloopfe` makes of them.
"""

import argparse
import contextlib
import logging
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from designs import ENERGIES, Files, cut, designs, layers_of
from jouleloop.energy.choice import costs_of, source_of
from jouleloop.energy.costs import EnergyCosts
from jouleloop.engines.timeloop.inputs import energy_tables, mapping_directives
from jouleloop.engines.timeloop.outputs import read_evaluation, read_mapping
from jouleloop.errors import InputError, JouleloopError
from jouleloop.files import read_text, read_yaml
from jouleloop.mapping.mapping import Mapping
from jouleloop.mapspace.read_design import DescribedDesign, read_design
from jouleloop.mapspace.sections import SECTIONS
from jouleloop.mapspace.space import build_mapspace
from jouleloop.model.evaluate import evaluate_mapping
from jouleloop.model.evaluation import Evaluation
from jouleloop.optimum.limit import Limit, Watch
from jouleloop.optimum.optimise import search_mapspace
from jouleloop.optimum.result import SearchResult
from jouleloop.workload.problem import Problem
from jouleloop.workload.timeloop_problem import problem_tree, read_problem
from random_evaluations import compared

#: Sections of a design that are replaced by ours, and where files would be put.
OURS = ("problem", "mapper", "mapping", "ERT", "ART", "sparse_optimizations", "out_prefix")
MAPPER = {
    "algorithm": "random-pruned",
    "optimization-metrics": ["energy"],
    "num-threads": 1,
    "timeout": 20000,
    "victory-condition": 1500,
    "search-size": 200,
    "live-status": False,
}
#: Evaluations and seconds of a search, layers tried, seconds of a run, half of an energy's last printed decimal [pJ].
BUDGET, SECONDS, MOST_LAYERS, RUN_SECONDS, PRINTED_PJ = 1500, 15.0, 12, 60, 0.005


def read(files: Files, variables: dict[str, str], *, nodes: bool) -> tuple[DescribedDesign, bool]:
    """Return a design, and whether it is Timeloop 4's: of version 0.4, or in a spelling that 3.0.3 does not read."""
    given = variables | files.variables
    try:
        return read_design(files.paths, variables=given, later=nodes, spatial_levels=nodes or None), nodes
    except InputError as error:
        if nodes or not any("3.0.3 does not read this spelling" in fault.message for fault in error.faults):
            raise
        return read_design(files.paths, variables=given, later=True), True


def best_of(
    design: DescribedDesign, layers: list[Problem], costs: EnergyCosts, semantics: str
) -> tuple[Problem, SearchResult]:
    """Return the first layer that the design has a mapping of, cut where that is enough, and its best mapping."""
    reason = "no layer"
    for layer in layers:
        for problem in (cut(layer), layer):
            with contextlib.suppress(JouleloopError):
                space = build_mapspace(problem, design.arch, design.constraints)
                found = search_mapspace(space, costs, budget=BUDGET, watch=Watch(Limit(SECONDS)), semantics=semantics)
                if found.mapping is not None:
                    return problem, found
                reason = found.reason
    raise JouleloopError(f"no mapping: {reason}")


def given_to_timeloop(files: Files, front_end: str, variables: dict[str, str], layer: Path, folder: Path) -> list[Any]:
    """Return the documents that Timeloop reads: a design's own, or what the front end writes of them."""
    if not front_end:
        return [read_yaml(path) for path in files.paths]
    alone = not files.variables and not any("problem:" in read_text(path) for path in files.paths)
    names = [f"{name}={value}" for name, value in (variables | files.variables).items()]
    command = [
        *front_end.split(),
        str(folder / "fe.yaml"),
        *names,
        *map(str, files.paths),
        *([str(layer)] if alone else []),
    ]
    subprocess.run(command, check=True, capture_output=True, cwd=files.paths[0].parent)
    return [yaml.safe_load((folder / "fe.yaml").read_text())]


def own_tables(design: DescribedDesign, costs: EnergyCosts, *, later: bool) -> dict[str, Any]:
    """Return the energies as a table; networks are called as the design calls them."""
    tables = energy_tables(design.arch, costs, later=later)
    names = [*design.arch.level_names, design.arch.compute.name]
    own = {
        f"{outer} <==> {inner}{' back' * way}": network.name
        for level, outer, inner in zip(design.arch.levels, names, names[1:], strict=False)
        for way, network in enumerate(level.networks)
        if network.name
    }
    for table in tables["tables"]:
        root, _, name = table["name"].partition(".")
        table["name"] = f"{root}.{own.get(name, name)}"
    return tables


def write(folder: Path, documents: list[Any], **more: Any) -> tuple[list[str], list[str]]:
    """Write a design and what comes with it; return the names of all but its constraints, and those."""
    names: list[str] = []
    constraints: list[str] = []
    for n, document in enumerate(documents):
        kept = {key: value for key, value in document.items() if key not in OURS and key not in SECTIONS}
        if isinstance(kept.get("model"), dict):
            kept["model"] = {key: value for key, value in kept["model"].items() if key not in OURS}
        rules = {key: value for key, value in document.items() if key in SECTIONS}
        for part, listed, name in ((kept, names, f"{n}.yaml"), (rules, constraints, f"rules-{n}.yaml")):
            if part:
                (folder / name).write_text(yaml.safe_dump(part, sort_keys=False))
                listed.append(name)
    for name, document in more.items():
        (folder / f"{name}.yaml").write_text(yaml.safe_dump({name: document}, sort_keys=False))
    return names, constraints


def run(program: Path, folder: Path, names: list[str], problem: Problem) -> Evaluation:
    """Return what a program says of the files."""
    command = [str(program), *names]
    subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=RUN_SECONDS)
    return read_evaluation(folder, program.name, problem)


def told(what: str, mine: Evaluation, real: Evaluation, tally: Counter[str]) -> str:
    """Return how two evaluations compare; totals hold leakage, which is printed with two decimals a level."""
    near = PRINTED_PJ * (len(mine.levels) + 1)
    pairs = compared(mine, real)
    bad = [
        pair
        for pair in pairs
        if pair.verdict != "equal"
        and not (
            (pair.quantity, pair.field) == ("energy", "total") and abs((pair.ours or 0) - (pair.theirs or 0)) <= near
        )
    ]
    tally.update({"fields": len(pairs), "different": len(bad), what: 1})
    shown = "; ".join(f"{pair.field} {pair.ours} {pair.theirs}" for pair in bad[:4])
    return f"{what}: {len(pairs)} fields, {shown or 'all equal'}"


def confirmed(files: Files, layers: list[Problem], given: argparse.Namespace, folder: Path, tally: Counter[str]) -> str:
    """Return what came of a design."""
    variables = dict(text.split("=", 1) for text in given.variable)
    nodes = bool(files.variables) or any(re.search(r"^\s+nodes:", read_text(p), re.MULTILINE) for p in files.paths)
    design, later = read(files, variables, nodes=nodes)
    home, semantics = (given.later, "timeloop-4") if later else (given.programs, "timeloop-3.0.3")
    costs = costs_of(design.arch, [source_of(name) for name in ENERGIES], warn=lambda _: None)
    own = [design.problem] if design.problem else layers[:MOST_LAYERS]
    problem, found = best_of(design, own, costs, semantics)
    if found.mapping is None or found.evaluation is None:
        return "no mapping"
    documents = given_to_timeloop(files, given.front_end if nodes else "", variables, given.layer, folder)
    more = {
        "problem": problem_tree(problem),
        "ERT": own_tables(design, costs, later=later),
        "mapping": mapping_directives(problem, design.arch, found.mapping),
        "mapper": MAPPER,
    }
    names, rules = write(folder, documents, **more)

    def counted(mapping: Mapping) -> Evaluation:
        return evaluate_mapping(problem, design.arch, costs, mapping, semantics)

    def ask(program: str, files: list[str], mine: Callable[[], Evaluation]) -> tuple[str, Evaluation | None]:
        try:
            real = run(home / program, folder, files, problem)
            return told(program, mine(), real, tally), real
        except (JouleloopError, subprocess.TimeoutExpired) as error:
            return f"{program}: {str(error).splitlines()[0]}", None

    best = found.evaluation
    model, _ = ask("timeloop-model", [*names, "problem.yaml", "ERT.yaml", "mapping.yaml"], lambda: best)
    asked = [*names, *rules, "problem.yaml", "ERT.yaml", "mapper.yaml"]
    mapper, real = ask("timeloop-mapper", asked, lambda: counted(read_mapping(folder, "timeloop-mapper")))
    if found.optimal and real is not None and real.energy_pj < best.energy_pj * (1 - 1e-6):
        tally["below our optimum"] += 1
        mapper += ", BELOW OUR OPTIMUM"
    return f"{'optimal' if found.optimal else 'stopped'}, {model}; {mapper}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--layer", type=Path, required=True, help="problem for designs that have none")
    parser.add_argument("--programs", type=Path, required=True, help="folder of timeloop-model and -mapper 3.0.3")
    parser.add_argument("--later", type=Path, required=True, help="folder of those of Timeloop 4")
    parser.add_argument("--front-end", default="", help="command that writes what timeloopfe makes of version 0.4")
    parser.add_argument("--variable", action="append", default=[], help="NAME=VALUE for templates; may be repeated")
    given = parser.parse_args()
    logging.disable(logging.WARNING)
    tally: Counter[str] = Counter()
    for root in given.folders:
        print(f"## {root.name}", flush=True)
        layers = [read_problem(given.layer), *layers_of(root)]
        seen: set[Any] = set()
        for files in designs(root):
            same = (files.paths, tuple(files.variables.items()))
            if same in seen or files.sparse():
                continue
            seen.add(same)
            tally["designs"] += 1
            with tempfile.TemporaryDirectory() as name:
                try:
                    text = confirmed(files, layers, given, Path(name), tally)
                except (JouleloopError, subprocess.CalledProcessError, yaml.YAMLError) as error:
                    text = f"not compared: {str(error).replace(f'{root}/', '').splitlines()[0]}"
            print(f"{files.name}: {text}", flush=True)
    print(dict(tally))


if __name__ == "__main__":
    main()
