"""Writing constraints as Timeloop's target lists, so that its mapper searches the same mapspace."""

from typing import Any

from jouleloop.documents.keywords import stated_in
from jouleloop.mapping.reuse import write_reuse
from jouleloop.mapspace.constraints import Constraints, LoopConstraint
from jouleloop.workload.layer import CONV
from jouleloop.workload.problem import ProblemShape


def to_timeloop_targets(constraints: Constraints, *, shape: ProblemShape = CONV) -> list[dict[str, Any]]:
    """Return the targets that state ``constraints``, in the spelling that all Timeloop versions read."""
    names = [space.name for space in shape.data_spaces]
    targets: list[dict[str, Any]] = []
    for level, given in constraints.levels.items():
        through = write_reuse(given.reuse, "bypass", names)
        if given.keep or given.bypass or through:
            targets.append(
                {
                    "target": level,
                    "type": "bypass",
                    "keep": [name for name in names if name in given.keep],
                    "bypass": [name for name in names if name in given.bypass],
                    **through,
                }
            )
        for kind, loops in (("spatial", given.spatial), ("temporal", given.temporal)):
            stated = {**stated_loops(loops, shape), **write_reuse(given.reuse, kind, names)}
            if stated:
                targets.append({"target": level, "type": kind, **stated})
    return targets


def stated_loops(loops: LoopConstraint, shape: ProblemShape) -> dict[str, Any]:
    """Return what a target states of temporal or spatial loops."""
    result: dict[str, Any] = {}
    factors = [f"{d}={n}" for d, n in loops.factors.items()]
    factors += [f"{d}<={n}" for d, n in loops.max_factors.items()]
    factors += [f"{d}>={n}" for d, n in loops.min_factors.items()]
    if factors:
        result["factors"] = " ".join(factors)
    if loops.permutation or loops.outer_permutation:
        separator = "" if all(len(d) == 1 for d in shape.dimensions) else ","
        order = [*loops.permutation, *(["_", *loops.outer_permutation] if loops.outer_permutation else [])]
        result["permutation"] = separator.join(order)
    return result | {keyword.name: number for keyword, number in stated_in(loops) if not keyword.apart}
