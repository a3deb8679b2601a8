"""Write what proves an optimum: layer, design, mapping, and why every other part of the mapspace is no better.

The parts are one for each choice of what is kept and each unrolling. A part is left out by the bound of its tables, or
followed cut by cut. `jouleloop.proof` verifies the file with none of the code that wrote it.
"""

from collections.abc import Generator, Iterator
from typing import Any

import numpy as np

from jouleloop.arch.architecture import MESH, MULTICAST, TREE, StorageLevel
from jouleloop.energy.costs import EnergyCosts
from jouleloop.errors import Fault, InputError
from jouleloop.mapspace.constraints import Constraints
from jouleloop.mapspace.space import MapSpace
from jouleloop.model.arrays import CAPACITY, CLUSTERS, LEAK_PJ, MIN_WORDS, READ_PJ, UPDATE_PJ, WRITE_PJ, Floats
from jouleloop.model.encode import encode_hardware
from jouleloop.model.evaluation import Evaluation
from jouleloop.model.objective import OBJECTIVES, Objective
from jouleloop.model.semantics import Rules, rules_of
from jouleloop.model.support import Use, check_supported, found_in_networks, found_in_rules
from jouleloop.optimum.arrays import (
    BEST_CYCLES,
    BEST_PJ,
    BEST_PRODUCT,
    DELAY,
    DELAY_POWER,
    EVALUATED,
    FINAL,
    LEFT_OUT,
    NO_TILE,
    OPENED,
    PAUSE,
    STOPPED,
    TICKS,
    VALUE,
    Log,
    new_best,
    new_counters,
    new_log,
)
from jouleloop.optimum.descend import beaten
from jouleloop.optimum.lattice import digit
from jouleloop.optimum.limit import Progress, Watch
from jouleloop.optimum.optimise import Search, delay_power_of, mode_of
from jouleloop.optimum.result import SearchResult
from jouleloop.optimum.solve import Solver
from jouleloop.optimum.supported import check_search
from jouleloop.proof import write

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
    """Return the certificate of an optimum as plain data.

    Parameters
    ----------
    watch
        Is told how many parts are left, and may stop it.

    Raises
    ------
    InputError
        Where the result is no proven optimum of one objective, or the tree is too large.
    KeyboardInterrupt
        Where the watch stopped it.
    """
    objective = OBJECTIVES[result.objective[0]]
    if not result.optimal or result.mapping is None or result.evaluation is None or len(result.objective) > 1:
        reason = result.reason or "a certificate needs a proven optimum of one objective"
        raise InputError(
            Fault("there is no certificate", field="objective", value=list(result.objective), allowed=reason)
        )
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
        search = Search(space, costs, semantics, mirrored=False, links=False)
        search.solver.list_all()
        count = search.solver.count
        work = _write_parts(search, mode_of(objective), _incumbent(objective, result.evaluation), parts)

    def progress() -> Progress:
        total = count or len(parts)
        return Progress(watching.seconds, value, value, objective.unit, total - len(parts), total, 0)

    try:
        if not reason and watching.run(lambda: next(work, True), watching.begin(None), progress):
            of_all = f" of {count}" if count else ""
            raise KeyboardInterrupt(f"{len(parts)}{of_all} parts were written")
    except write.TooLong:
        reason = f"the argument has more than {write.MOST_STEPS:,} steps"
    if reason:
        return write.claim(about, objective.name, value, mapping, reason)
    return write.certificate(about, objective.name, value, mapping, parts)


def check_known(
    space: MapSpace, constraints: Constraints, costs: EnergyCosts, objective: Objective, semantics: str
) -> None:
    """Raise `InputError` where a design asks for what a certificate does not state, so that none can be about it."""
    rules = rules_of(semantics)
    check_search(Use.CERTIFICATE, space, costs, rules, (objective.name,))
    if constraints.factors == "imperfect":
        # Of other layers and objectives a claim is written.
        check_supported(
            Use.IMPERFECT_CERTIFICATE, [*found_in_networks(space.arch, costs), *found_in_rules(rules)], InputError
        )


def _write_parts(search: Search, mode: int, best: Floats, parts: list[dict[str, Any]]) -> Iterator[bool]:
    """Write why each part is no better than the best mapping; yield False after each, and between in a long one."""
    solver, spent = search.solver, 0
    for p in range(solver.count):
        u = solver.parts.unrolling[p]
        keep = solver.keep_of(p).astype(int).tolist()
        factors = _whole_rows(search, search.candidates.factors[u])
        part: dict[str, Any] = {"keep": keep, "unrolling": factors, "lemma": "bound"}
        bound_pj = float(solver.bound_pj[p]) if solver.parts.stage[p] == FINAL else solver.bound_one(p)
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
        "constraints": _constraints(constraints),
    }


def _incumbent(objective: Objective, evaluation: Evaluation) -> Floats:
    """Return an incumbent that nothing improves on, so that the descent shows why."""
    best = new_best(delay_power=delay_power_of(objective))
    best[BEST_PRODUCT] = evaluation.energy_pj * float(evaluation.cycles) ** best[DELAY_POWER]
    if mode_of(objective) == DELAY:
        best[BEST_CYCLES], best[BEST_PJ] = evaluation.cycles, -np.inf
    else:
        best[BEST_PJ] = evaluation.energy_pj
    return best


def _follow(search: Search, part: int, mode: int, best: Floats, room: int) -> Generator[bool, None, Log]:
    """Descend into one part once more and return what it logs; yield False where it is time for a pause."""
    events = 4096
    while True:
        log, counters = new_log(min(events, max(1, room))), new_counters()
        own, found = best.copy(), search.new_found()
        search.solver.begin_one(part)
        ended = False
        while not ended and not counters[STOPPED]:
            counters[PAUSE] = counters[TICKS] + _SLICE_TICKS
            ended = search.solver.run(mode, own, counters, found, log)
            if not ended:
                yield False
        if not counters[STOPPED]:
            return log
        if events >= room:
            raise InputError(Fault("the certificate would be too large", allowed=f"at most {MOST_EVENTS} events"))
        events *= 4


def _tree(search: Search, solver: Solver, log: Log) -> list[dict[str, Any]]:
    """Return the cuts of the outermost level, each with those inside it."""
    top = solver.case.keep.shape[0] - 1
    open_at: list[list[dict[str, Any]]] = [[] for _ in range(top + 2)]
    for (what, level, point, code), value in zip(log.event[: log.used[0]], log.value, strict=False):
        if what == EVALUATED:
            continue
        cut: dict[str, Any] = {
            "tile": _tile(search, solver, int(point)),
            "order": _order(search, int(code)) if what in (LEFT_OUT, OPENED) else None,
            "why": "no tile fits" if what == NO_TILE else "bound" if what == LEFT_OUT else "followed",
            "bound_pj": None if np.isinf(value) else float(value),
            "cuts": [] if what == OPENED else None,
        }
        # Cuts of a level follow the one that was opened last at the level outside.
        holder = open_at[level + 1][-1]["cuts"] if level < top else open_at[top + 1]
        holder.append(cut)
        if what == OPENED:
            open_at[level].append(cut)
    return open_at[top + 1]


def _tile(search: Search, solver: Solver, point: int) -> list[int]:
    tile = [1] * len(search.problem.bounds)
    for d, whole in enumerate(search.dims):
        grid = solver.case.grid
        tile[whole] = int(grid.divisor[d, digit(grid.axis, point, d), VALUE])
    return tile


def _order(search: Search, code: int) -> list[int] | None:
    """Return the dimensions of an order, innermost first; None for all orders."""
    if code < 0:
        return None
    order = []
    while code > 0:
        order.append(int(search.dims[code % 16 - 1]))
        code //= 16
    return order


def _whole_rows(search: Search, factors: np.typing.NDArray[np.int64]) -> list[list[int]]:
    rows = np.ones((factors.shape[0], len(search.problem.bounds)), np.int64)
    rows[:, search.dims] = factors
    return [[int(f) for f in row] for row in rows]


def _problem(space: MapSpace) -> dict[str, Any]:
    problem = space.problem
    names = problem.shape.dimensions
    return {
        "name": problem.name,
        "dimensions": list(names),
        "bounds": [int(bound) for bound in problem.bounds],
        "data_spaces": [
            {
                "name": data_space.name,
                "read_write": data_space.read_write,
                "ranks": [
                    {names[d]: int(coef[d]) for d in np.flatnonzero(coef)}
                    for coef in problem.projection_array[v, : len(data_space.projection)]
                ],
            }
            for v, data_space in enumerate(problem.data_spaces)
        ],
    }


def _architecture(space: MapSpace, costs: EnergyCosts, rules: Rules) -> dict[str, Any]:
    arch = space.arch
    spaces = [data.name for data in space.problem.data_spaces]
    spec = encode_hardware(arch, costs, rules, spaces)[::-1]
    return {
        "name": arch.name,
        "compute_pj": costs.compute_pj,
        "levels": [
            {
                "name": level.name,
                "capacity_words": None if np.isinf(row[CAPACITY]) else int(row[CAPACITY]),
                "least_words": int(np.ceil(row[MIN_WORDS])),
                "block_words": level.block_words,
                "clusters": int(row[CLUSTERS]),
                "fanout": list(fanout),
                "read_pj": float(row[READ_PJ]),
                "write_pj": float(row[WRITE_PJ]),
                **({"update_pj": float(row[UPDATE_PJ])} if rules.charges_updates else {}),
                **({"leak_pj": float(row[LEAK_PJ])} if rules.counts_leakage else {}),
                "read_bandwidth_words": level.read_bandwidth_words,
                "write_bandwidth_words": level.write_bandwidth_words,
                "shared_bandwidth_words": level.shared_bandwidth_words,
                **_networks(level, costs, spaces),
            }
            for level, row, fanout in zip(arch.levels, spec, arch.fanout, strict=True)
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
            _, *pairs = tables[network.name].encoded(network, space)
            charges[space] = [pairs[at : at + 2] for at in range(0, len(pairs), 2)]
        found.append(
            {
                "kind": {MESH: "mesh", TREE: "tree", MULTICAST: "table"}[network.kind],
                "back": level.back is None or network is level.back,
                "hop_pj": network.hop_pj,
                "router_pj": network.router_pj,
                "ingress_pj": network.ingress_pj,
                "adder_pj": network.adder_pj,
                "charges": charges,
            }
        )
    wired = {"networks": found, "adds": level.reduces} if found else {}
    return wired | ({"spreads": True} if level.network.spreads else {})


def _constraints(constraints: Constraints) -> dict[str, Any]:
    """Return the constraints by level; levels that have none are left out."""
    levels: dict[str, Any] = constraints.as_dict()["levels"]
    return levels
