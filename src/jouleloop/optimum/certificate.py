"""Write what proves an optimum: layer, design, mapping, and why every other part of the mapspace is no better."""

from collections.abc import Generator, Iterator
from typing import Any

import numpy as np

from jouleloop.arch.architecture import MESH, MULTICAST, TREE, StorageLevel
from jouleloop.energy.costs import EnergyCosts
from jouleloop.errors import Fault, InputError
from jouleloop.mapspace.constraints import Constraints
from jouleloop.mapspace.space import MapSpace
from jouleloop.model.arrays import Records
from jouleloop.model.encode import encode_hardware
from jouleloop.model.evaluation import Evaluation
from jouleloop.model.objective import OBJECTIVES, Objective
from jouleloop.model.semantics import Rules, rules_of
from jouleloop.model.support import AskedFeature, Use, check_supported, found_in_networks, found_in_rules
from jouleloop.optimum import arrays
from jouleloop.optimum.descend import beaten
from jouleloop.optimum.lattice import digit
from jouleloop.optimum.limit import Progress, Watch
from jouleloop.optimum.optimise import Search, delay_power_of, mode_of
from jouleloop.optimum.result import SearchResult
from jouleloop.optimum.solve import Solver
from jouleloop.optimum.supported import check_search
from jouleloop.proof import write
from jouleloop.proof.limits import Exceeded

#: Events that a certificate may hold; beyond, the tree is too large to be of use.
MOST_EVENTS = 4_000_000
#: Work of a part between two looks at whether to stop.
_SLICE_TICKS = 100_000


def certify(
    space: MapSpace,
    constraints: Constraints,
    costs: EnergyCosts,
    result: SearchResult,
    semantics: str,
    watch: Watch | None = None,
) -> dict[str, Any]:
    """Return the certificate of an optimum as plain data; ``watch`` is told how many parts are left, and may stop it.

    Raise `InputError` where the result is no proven optimum of one objective, or the tree is too large, and
    `KeyboardInterrupt` where the watch stopped it.
    """
    objective = OBJECTIVES[result.objective[0]]
    several = len(result.objective) > 1 or result.most_cycles is not None
    if not result.optimal or result.mapping is None or result.evaluation is None or several:
        reason = result.reason or "a certificate needs a proven optimum of one objective over all mappings"
        text = "there is no certificate"
        raise InputError(Fault(text, field="objective", value=list(result.objective), allowed=reason))
    check_known(space, constraints, costs, objective, semantics)
    about = subject(space, constraints, costs, semantics)
    value, mapping, watching = objective.value(result.evaluation), result.mapping.as_json(), watch or Watch()
    parts: list[dict[str, Any]] = []
    reason, count = "", 0
    if constraints.factors == "imperfect":
        about, mapping = {"factors": "imperfect", **about}, write.without_remainders(mapping)
        reason = write.unproven(about, objective.name)
        work = write.argue(about, value, parts)
    else:
        # A certificate names every unrolling.
        search = Search(space, costs, semantics, mirrored=False)
        search.solver.list_all()
        count = search.solver.count
        work = _write_parts(search, mode_of(objective), _incumbent(objective, result.evaluation), parts)

    def progress() -> Progress:
        total = count or len(parts)
        return Progress(watching.seconds, value, value, objective.unit, total - len(parts), total, 0)

    try:
        if not reason and watching.run(lambda: next(work, True), watching.begin(None), progress):
            raise KeyboardInterrupt(f"{len(parts)}{f' of {count}' if count else ''} parts were written")
    except Exceeded as error:
        reason = str(error)
    return write.sealed(about, objective.name, value, mapping, parts, reason)


def check_known(
    space: MapSpace, constraints: Constraints, costs: EnergyCosts, objective: Objective, semantics: str
) -> None:
    """Raise `InputError` where a design asks for what a certificate does not state, so that none can be about it."""
    rules = rules_of(semantics)
    check_search(Use.CERTIFICATE, space, costs, rules, (objective.name,))
    if constraints.factors == "imperfect":
        # Of other layers and objectives a claim is written.
        found = [*found_in_networks(space.arch, costs), *found_in_rules(rules)]
        if any(slot is not None and slot.both for slot in space.spatial):
            found.append(AskedFeature("free_axes", "axes", constraints.axes))
        check_supported(Use.IMPERFECT_CERTIFICATE, found, InputError)


def write_floor(space: MapSpace, costs: EnergyCosts, semantics: str, least_pj: float) -> list[dict[str, Any]]:
    """Return the parts that show that no mapping costs less than some energy [pJ], but those that bounds rule out."""
    search = Search(space, costs, semantics, mirrored=False)
    search.solver.list_all()
    parts: list[dict[str, Any]] = []
    best = arrays.new_best(delay_power=delay_power_of(OBJECTIVES["energy"]))
    best[0]["energy_pj"] = best[0]["product"] = least_pj
    for _ in _write_parts(search, mode_of(OBJECTIVES["energy"]), best, parts):
        pass
    return [part for part in parts if part["lemma"] == "cuts"]


def _write_parts(search: Search, mode: int, best: Records, parts: list[dict[str, Any]]) -> Iterator[bool]:
    """Write why each part is no better than the best mapping; yield False after each, and between in a long one."""
    solver, spent = search.solver, 0
    for p in range(solver.count):
        u = solver.parts.unrolling[p]
        keep = solver.keep_of(p).astype(int).tolist()
        factors = _whole_rows(search, search.candidates.factors[u])
        part: dict[str, Any] = {"keep": keep, "unrolling": factors, "lemma": "bound"}
        bound_pj = float(solver.bound_pj[p]) if solver.parts.stage[p] == arrays.FINAL else solver.bound_one(p)
        part["bound_pj"] = None if np.isinf(bound_pj) else bound_pj
        if np.isfinite(bound_pj) and not beaten(mode, best, bound_pj, solver.parts.steps[u]):
            log = yield from _follow(search, p, mode, best, MOST_EVENTS - spent)
            spent += int(log.used[0])
            part |= {"lemma": "cuts", "cuts": _tree(search, solver, log)}
        parts.append(part)
        yield False


def subject(space: MapSpace, constraints: Constraints, costs: EnergyCosts, semantics: str) -> dict[str, Any]:
    """Return what a certificate is about: layer, hardware, energies, constraints and counting rules."""
    rules = rules_of(semantics)
    return {
        "semantics": semantics,
        "first_fills_elided": rules.first_fills_elided,
        "problem": _problem(space),
        "architecture": _architecture(space, costs, rules),
        # Levels that have none are left out.
        "constraints": constraints.as_dict()["levels"],
        **({} if space.name == "timeloop" else {"space": space.name}),
        **({} if constraints.axes == "apart" else {"axes": constraints.axes}),
    }


def _incumbent(objective: Objective, evaluation: Evaluation) -> Records:
    """Return an incumbent that nothing improves on, so that the descent shows why."""
    best = arrays.new_best(delay_power=delay_power_of(objective))
    best[0]["product"] = evaluation.energy_pj * float(evaluation.cycles) ** best[0]["delay_power"]
    if mode_of(objective) == arrays.DELAY:
        best[0]["cycles"], best[0]["energy_pj"] = evaluation.cycles, -np.inf
    else:
        best[0]["energy_pj"] = evaluation.energy_pj
    return best


def _follow(search: Search, part: int, mode: int, best: Records, room: int) -> Generator[bool, None, arrays.Log]:
    """Descend into one part once more and return what it logs; yield False where it is time for a pause."""
    events = 4096
    while True:
        log, counters = arrays.new_log(min(events, max(1, room))), arrays.new_counters()
        own, found = best.copy(), search.new_found()
        search.solver.begin_one(part)
        ended = False
        while not ended and not counters[0]["stopped"]:
            counters[0]["pause"] = counters[0]["ticks"] + _SLICE_TICKS
            ended = search.solver.run(mode, own, counters, found, log)
            if not ended:
                yield False
        if not counters[0]["stopped"]:
            return log
        if events >= room:
            raise InputError(Fault("the certificate would be too large", allowed=f"at most {MOST_EVENTS} events"))
        events *= 4


def _tree(search: Search, solver: Solver, log: arrays.Log) -> list[dict[str, Any]]:
    """Return the cuts of the outermost level, each with those inside it."""
    top = solver.case.keep.shape[0] - 1
    open_at: list[list[dict[str, Any]]] = [[] for _ in range(top + 2)]
    for what, level, point, code, value in log.event[: log.used[0]].tolist():
        if what == arrays.EVALUATED:
            continue
        cut: dict[str, Any] = {
            "tile": _tile(search, solver, int(point)),
            # None stands for all orders.
            "order": _order(search, int(code)) if what in (arrays.LEFT_OUT, arrays.OPENED) and code >= 0 else None,
            "why": "no tile fits" if what == arrays.NO_TILE else "bound" if what == arrays.LEFT_OUT else "followed",
            "bound_pj": None if np.isinf(value) else float(value),
            "cuts": [] if what == arrays.OPENED else None,
        }
        # Cuts of a level follow the one that was opened last at the level outside.
        holder = open_at[level + 1][-1]["cuts"] if level < top else open_at[top + 1]
        holder.append(cut)
        if what == arrays.OPENED:
            open_at[level].append(cut)
    return open_at[top + 1]


def _tile(search: Search, solver: Solver, point: int) -> list[int]:
    tile, grid = [1] * len(search.problem.bounds), solver.case.grid
    for d, whole in enumerate(search.dims):
        tile[whole] = int(grid.divisor[d, digit(grid.axis, point, d)]["value"])
    return tile


def _order(search: Search, code: int) -> list[int]:
    """Return the dimensions of an order, innermost first."""
    return [int(search.dims[code % 16 - 1]), *_order(search, code // 16)] if code > 0 else []


def _whole_rows(search: Search, factors: np.typing.NDArray[np.int64]) -> list[list[int]]:
    rows = np.ones((factors.shape[0], len(search.problem.bounds)), np.int64)
    rows[:, search.dims] = factors
    return rows.tolist()


def _problem(space: MapSpace) -> dict[str, Any]:
    problem = space.problem
    names = problem.shape.dimensions
    spaces = []
    for one, coefs in zip(problem.data_spaces, problem.projection_array, strict=True):
        ranks = [{names[d]: int(coef[d]) for d in np.flatnonzero(coef)} for coef in coefs[: len(one.projection)]]
        spaces.append({"name": one.name, "read_write": one.read_write, "ranks": ranks})
    bounds = [int(bound) for bound in problem.bounds]
    return {"name": problem.name, "dimensions": list(names), "bounds": bounds, "data_spaces": spaces}


def _architecture(space: MapSpace, costs: EnergyCosts, rules: Rules) -> dict[str, Any]:
    arch = space.arch
    spaces = [data.name for data in space.problem.data_spaces]
    levels = encode_hardware(arch, costs, rules, spaces).levels[::-1]
    return {
        "name": arch.name,
        "compute_pj": costs.compute_pj,
        "levels": [
            {
                "name": level.name,
                "capacity_words": None if np.isinf(row["capacity_words"]) else int(row["capacity_words"]),
                "least_words": int(np.ceil(row["least_words"])),
                "block_words": level.block_words,
                "clusters": int(row["clusters"]),
                "fanout": list(fanout),
                "read_pj": float(row["read_pj"]),
                "write_pj": float(row["write_pj"]),
                **({"update_pj": float(row["update_pj"])} if rules.charges_updates else {}),
                **({"leak_pj": float(row["leak_pj"])} if rules.counts_leakage else {}),
                "read_bandwidth_words": level.read_bandwidth_words,
                "write_bandwidth_words": level.write_bandwidth_words,
                "shared_bandwidth_words": level.shared_bandwidth_words,
                **_networks(level, costs, spaces),
            }
            for level, row, fanout in zip(arch.levels, levels, arch.fanout, strict=True)
        ],
    }


def _networks(level: StorageLevel, costs: EnergyCosts, spaces: list[str]) -> dict[str, Any]:
    """Return the networks of a level that take energy, and whether it distributes; nothing where neither."""
    tables = {table.name: table for table in costs.networks}
    found = []
    for network in level.networks:
        if not network.takes and network.name not in tables:
            continue
        charges = {}
        for space in spaces if network.name in tables else ():
            charges[space] = [list(pair) for pair in tables[network.name].rows(network, space)]
        kind = {MESH: "mesh", TREE: "tree", MULTICAST: "table"}[network.kind]
        way = {"kind": kind, "back": level.back is None or network is level.back, "charges": charges}
        found.append(way | {key: getattr(network, key) for key in ("hop_pj", "router_pj", "ingress_pj", "adder_pj")})
    wired = {"networks": found, "adds": level.reduces} if found else {}
    return wired | ({"spreads": True} if level.network.spreads else {})
