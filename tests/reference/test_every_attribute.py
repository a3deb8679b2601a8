"""Every key that Timeloop's parsers know: counted, refused or without effect, each against stored runs of Timeloop.

With ``--fix`` and an installed Timeloop 3.0.3 the runs are made again; with ``--fix`` the table in the docs is written.
"""

import copy
import json
import re
import subprocess
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import yaml

from jouleloop.arch.attributes import KNOWN
from jouleloop.arch.read import architecture_from
from jouleloop.documents.flat import as_tree
from jouleloop.energy.built_in import BuiltInEstimator
from jouleloop.energy.choice import costs_of, sources_of
from jouleloop.energy.estimator import estimate_costs
from jouleloop.engines.timeloop.outputs import parse_evaluation
from jouleloop.engines.timeloop.programs import locate
from jouleloop.errors import EngineError, JouleloopError
from jouleloop.mapping.formats import read_timeloop_mapping
from jouleloop.mapspace.read import read_constraints
from jouleloop.mapspace.space import build_mapspace
from jouleloop.model.evaluate import evaluate_mapping
from jouleloop.model.evaluation import Evaluation
from jouleloop.optimum.optimise import search_mapspace
from jouleloop.workload.problem import Problem
from jouleloop.workload.timeloop_problem import problem_from
from paths import ROOT
from waiting import LIMIT_S

HERE = Path(__file__).parent / "attributes"
RESULTS = HERE / "results.json"
PAGE = ROOT / "docs" / "attributes.md"
TABLE: dict[str, list[dict[str, Any]]] = yaml.safe_load((HERE / "attributes.yaml").read_text())
DESIGN: dict[str, Any] = yaml.safe_load((HERE / "design.yaml").read_text())
VERDICTS = ("counted", "refused", "no effect")
ROWS = [(section, row) for section, rows in TABLE.items() for row in rows]
CASES = {
    f"{section}: {' '.join(row['keys'])}, {row['verdict']}: {name}": (row, change)
    for section, row in ROWS
    for name, change in row.get("cases", {}).items()
}
Fields = dict[str, Any]


def _called(item: Any, name: str) -> bool:
    own = (
        re.sub(r"\[\d+\.\.\d+\]", "", str(item.get("name", ""))).rpartition(".")[2] if isinstance(item, dict) else None
    )
    return own is not None and name in (own, f"{item.get('target')} {item.get('type')}")


def _find(data: Any, name: str) -> Any:
    """Return the first mapping inside ``data`` that is called ``name``."""
    if _called(data, name):
        return data
    inside = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    return next((found for child in inside if (found := _find(child, name)) is not None), None)


def _set(documents: dict[str, Any], path: str, value: Any) -> None:
    *parents, last = path.split("/")
    place: Any = documents
    for part in parents:
        place = place[part] if isinstance(place, dict) and part in place else _find(place, part)
    if last == "+":
        place.append(value)
    elif isinstance(place, list):
        index = next(i for i, item in enumerate(place) if _called(item, last))
        place[index : index + 1] = [] if value is None else [value]
    elif value is None:
        place.pop(last)
    else:
        place[last] = value


def documents(change: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """Return the input files of a case, and whether it is one for the mapper."""
    search = any(path.startswith("constraints/") for path in change)
    found = copy.deepcopy(DESIGN)
    paths = {**(found.pop("search") if search else {}), **change}
    found.pop("search", None)
    for path, value in paths.items():
        _set(found, path, value)
    for unused in ("mapping",) if search else ("constraints", "mapper"):
        found.pop(unused)
    return found, search


def fields_of(evaluation: Evaluation) -> Fields:
    """Return every field of an evaluation by a flat name."""
    fields: Fields = {}

    def walk(value: Any, where: str) -> None:
        if isinstance(value, dict):
            for key, child in value.items():
                walk(child, f"{where}/{key}" if where else str(key))
        else:
            fields[where] = [list(group) for group in value] if isinstance(value, tuple) else value

    data = evaluation.as_json()
    data["levels"] = {level["name"]: {k: v for k, v in level.items() if k != "name"} for level in data["levels"]}
    untold = {"mesh": (), "tree": ("fanout", "ingress", "link_transfers")}
    # Networks that the design names tell no ends.
    data["networks"] = {name: network for name, network in data["networks"].items() if "<==>" in name}
    for network in data["networks"].values():
        for stats in network.values():  # what Timeloop does not tell of a class
            for key in untold.get(stats["kind"], ("ingress", "link_transfers", "reductions")):
                del stats[key]
    walk(data, "")
    return fields


def by_jouleloop(change: dict[str, Any], folder: Path) -> Fields:
    files, search = documents(change)
    arch = architecture_from(as_tree(files["arch"]))
    problem = problem_from(files["problem"])
    if "ert" in files:
        (folder / "ert.yaml").write_text(yaml.safe_dump(files["ert"]))
        costs = costs_of(arch, sources_of(folder / "ert.yaml"))
    else:
        costs = estimate_costs(arch, [BuiltInEstimator()])
    if not search:
        mapping = read_timeloop_mapping(files["mapping"], problem, arch)
        return fields_of(evaluate_mapping(problem, arch, costs, mapping))
    (folder / "constraints.yaml").write_text(yaml.safe_dump(files["constraints"]))
    constraints = read_constraints(folder / "constraints.yaml", arch, shape=problem.shape)
    found = search_mapspace(build_mapspace(problem, arch, constraints), costs)
    assert found.evaluation is not None
    return {"optimum_pj": found.evaluation.energy_pj}


def by_timeloop(change: dict[str, Any], folder: Path, programs: tuple[Path, Path]) -> Fields:
    """Run Timeloop; return its fields, or the last words of its error."""
    files, search = documents(change)
    for name, data in files.items():
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(data, sort_keys=False))
    program = programs[search]
    command = [str(program), *(f"{name}.yaml" for name in files)]
    run = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=LIMIT_S, check=False
    )
    outputs = [folder / f"{program.name}.{ending}" for ending in ("stats.txt", "map+stats.xml")]
    if run.returncode or not outputs[0].exists() or not outputs[0].read_text().strip():
        said = (run.stdout + run.stderr).splitlines()
        words = [line for line in said if re.search("ERROR|Assertion|what", line)] or said[-1:] or ["no output"]
        return {"error": re.sub(r".*Assertion", "Assertion", words[-1]).strip()}
    stats, xml = (path.read_text() for path in outputs)
    if "Algorithmic Computes" in stats:
        return {"error": "prints statistics of sparse tensors"}
    spaces = [SimpleNamespace(name=space["name"]) for space in files["problem"]["problem"]["shape"]["data-spaces"]]
    evaluation = parse_evaluation(stats, xml, cast("Problem", SimpleNamespace(data_spaces=spaces)), check=False)
    if search:
        return {"optimum_pj": evaluation.energy_pj}
    total = re.search(r"^\s+Total\s*= ([\d.]+)", stats, re.MULTILINE)
    assert total
    return fields_of(evaluation) | {"printed_fj": float(total[1])}


@cache
def stored() -> dict[str, Fields]:
    found: dict[str, Fields] = json.loads(RESULTS.read_text())
    return found


def full(name: str) -> Fields:
    """Return a stored result; those of timeloop-model are stored as what differs from the design unchanged."""
    result = stored()[name]
    if "error" in result or "optimum_pj" in result or name == "design":
        return result
    return {key: value for key, value in {**stored()["design"], **result}.items() if value is not None}


def plain_of(change: dict[str, Any]) -> str:
    return "search" if documents(change)[1] else "design"


def test_the_stored_runs_are_made_again(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    if not request.config.getoption("--fix"):
        assert set(stored()) == {"design", "search", *CASES}
        return
    try:
        programs = locate()
    except EngineError:
        pytest.skip("no Timeloop here")
    found: dict[str, Fields] = {}
    all_cases = {"design": {}, "search": {"constraints/mapspace_constraints": {"targets": []}}}
    for number, (name, change) in enumerate(
        (all_cases | {name: change for name, (_, change) in CASES.items()}).items()
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        result = by_timeloop(change, folder, programs)
        if name != "design" and not {"error", "optimum_pj"} & set(result):
            base = found["design"]
            gone = dict.fromkeys(key for key in base if key not in result)
            result = {k: v for k, v in result.items() if k not in base or base[k] != v} | gone
        found[name] = result
    lines = [f"{json.dumps(name)}: {json.dumps(result)}" for name, result in found.items()]
    RESULTS.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    stored.cache_clear()


def without_networks(fields: Fields) -> Fields:
    return {key: value for key, value in fields.items() if not key.startswith("networks")}


def differing(ours: Fields, theirs: Fields) -> dict[str, tuple[Any, Any]]:
    """Return the fields that differ: energies by more than rounding, networks by more than two decimals show."""
    wrong = {}
    if not any(key.startswith("networks") for key in theirs):  # so Timeloop where a design has networks of its own
        ours = without_networks(ours)
    for key in {*ours, *theirs} - {"printed_fj"}:
        mine, other = ours.get(key), theirs.get(key)
        if isinstance(mine, list) and isinstance(other, list):
            same = [[*a[:2], pytest.approx(a[2], abs=0.00501)] for a in mine] == other
        else:
            allowed = {"abs": 0.00501} if "networks" in key else {"rel": 1e-12}
            same = mine == (pytest.approx(other, **allowed) if isinstance(other, float) else other)
        if not same:
            wrong[key] = (mine, other)
    if "printed_fj" in theirs:
        total = ours["energy_pj"] * 1000 / ours["computes"]
        if abs(total - theirs["printed_fj"]) > 0.00501:
            wrong["printed_fj"] = (total, theirs["printed_fj"])
    return wrong


@pytest.mark.parametrize("name", CASES)
def test_a_key_is_counted_refused_or_without_effect(name: str, tmp_path: Path) -> None:
    row, change = CASES[name]
    theirs, before = full(name), full(plain_of(change))
    if row["verdict"] == "refused" or "error" in theirs:
        with pytest.raises(JouleloopError) as error:
            by_jouleloop(change, tmp_path)
        named = row.get("named") or row["keys"][0].replace("-", "_")
        if row["verdict"] == "refused":
            text = str(error.value)
            assert named in text or named.replace("_", "-") in text or any(key in text for key in row["keys"])
        return
    ours = by_jouleloop(change, tmp_path)
    assert differing(ours, theirs) == {}
    if row["verdict"] == "no effect":
        assert theirs in (before, without_networks(before))


@pytest.mark.parametrize(("section", "row"), ROWS, ids=[f"{s}: {' '.join(r['keys'])}" for s, r in ROWS])
def test_a_verdict_is_borne_out(section: str, row: dict[str, Any]) -> None:
    """What is counted changes something in a case; what is refused would, unless the row says that none was seen."""
    assert row["verdict"] in VERDICTS
    cases = [name for name, (other, _) in CASES.items() if other is row]
    assert cases or section == "input"
    if row["verdict"] != "no effect" and cases:
        changed = any(full(name) != full(plain_of(CASES[name][1])) for name in cases)
        assert changed != bool(row.get("unseen"))


def test_every_key_of_the_parsers_has_a_verdict() -> None:
    known = {word for _, row in ROWS for key in row["keys"] for word in key.split()}
    listed = yaml.safe_load((HERE / "parser_keys.yaml").read_text())
    assert {key for keys in listed.values() for key in keys} - known == set()


def test_the_reader_has_the_same_list() -> None:
    for kind in ("storage", "compute"):
        rows = [row for row in TABLE[kind] if not row["keys"][0].startswith("any other")]
        verdicts = {key: {row["verdict"] for row in rows if key in row["keys"]} for row in rows for key in row["keys"]}
        for known in KNOWN:
            if kind not in known.kinds:
                continue
            wanted = "refused" if known.refused else "counted" if known.counted else "no effect"
            for spelling in known.spellings:
                own = kind == "storage" or spelling in verdicts
                assert not own or wanted in verdicts[spelling] or verdicts[spelling] == {"no effect"}, spelling
    spelled = {spelling for known in KNOWN for spelling in known.spellings}
    for kind in ("storage", "compute"):
        keys = {key for row in TABLE[kind] for key in row["keys"] if not key.startswith("any other")}
        assert keys - spelled <= {"name", "class", "attributes"}


def _keys(row: dict[str, Any]) -> str:
    """Return the keys of a row, marked where no run differs."""
    return ", ".join(key if key.startswith("any") else f"`{key}`" for key in row["keys"]) + "°" * ("unseen" in row)


def _page() -> str:
    titles = {
        "storage": "Attributes of storage",
        "compute": "Attributes of compute",
        "networks": "Networks",
        "tree": "The architecture's tree (v0.3)",
        "ERT": "Energy reference tables",
        "ART": "Area reference tables",
        "mapping": "Mappings",
        "constraints": "Constraints",
        "problem": "Problems",
        "input": "Sections of the input, and settings",
    }
    lines = []
    for section, rows in TABLE.items():
        lines += [f"## {titles[section]}", ""]
        for verdict in VERDICTS:
            shown = [row for row in rows if row["verdict"] == verdict]
            said = [f"{_keys(row)}: {row['why']}" for row in shown if row.get("why")]
            if plain := ", ".join(_keys(row) for row in shown if not row.get("why")):
                said.insert(0, plain)
            if said:
                lines += [f"*{verdict.capitalize()}*", "", *(f"- {line}" for line in said), ""]
    return "\n".join(lines)


def test_the_page_is_the_table(request: pytest.FixtureRequest) -> None:
    head, mark, _ = PAGE.read_text().partition("<!-- table -->\n")
    assert mark
    wanted = head + mark + "\n" + _page()
    if request.config.getoption("--fix"):
        PAGE.write_text(wanted)
    assert PAGE.read_text() == wanted
