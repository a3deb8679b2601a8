"""``maximize_dims``: factors that the front end of v0.4 chooses by the sizes of the layer, before Timeloop sees them.

Source: timeloopfe ``v4/processors/constraint_macro.py``, ``ConstraintMacroProcessor`` and ``greedy_allocate``.
"""

import math
from dataclasses import replace
from functools import lru_cache

from jouleloop.arch.architecture import Architecture
from jouleloop.division import primes
from jouleloop.errors import Fault, raise_all
from jouleloop.mapspace.constraints import Constraints, LevelConstraints, LoopConstraint
from jouleloop.mapspace.stated import evaluate_stated
from jouleloop.workload.problem import Problem

#: (dimension, factor of the last run, factor) in the order of their choice.
_Choice = tuple[tuple[str, int, int], ...]


def resolve_sizes(constraints: Constraints, problem: Problem, arch: Architecture) -> Constraints:
    """Return the constraints of one layer, with what expressions say and the factors that are to be maximized.

    Spatial loops come before temporal ones, and inner levels before outer ones.

    Raises `InputError` where an expression has no value, a dimension is to be maximized that the same loops constrain,
    or temporal loops have no capacity.
    """
    if any(loops.stated for level in constraints.levels.values() for loops in (level.spatial, level.temporal)):
        constraints = evaluate_stated(constraints, problem, arch)
    if any(loops.maximize for level in constraints.levels.values() for loops in (level.spatial, level.temporal)):
        constraints = _maximize(constraints, problem, arch)
    if not any(level.spatial.lowered for level in constraints.levels.values()):
        return constraints
    levels = {
        name: replace(level, spatial=_units_first(level.spatial, problem)) for name, level in constraints.levels.items()
    }
    return replace(constraints, levels=levels)


def _units_first(loops: LoopConstraint, problem: Problem) -> LoopConstraint:
    """Return spatial loops with those of bound 1 placed before all others, which moves what a split parts.

    Source: timeloopfe ``v4/processors/permutation_optimizer.py``, ``PermutationOptimizerProcessor``.
    """
    if loops.split is None or not loops.lowered:
        return loops
    named = {*loops.permutation, *loops.outer_permutation}
    factors = [*loops.factors.items(), *loops.max_factors.items(), *loops.min_factors.items()]
    ones = [d for d, factor in factors if factor == 1] + [d for d, bound in problem.bound.items() if bound == 1]
    first = [d for d in dict.fromkeys(ones) if d not in named]
    return replace(loops, permutation=(*reversed(first), *loops.permutation))


def _maximize(constraints: Constraints, problem: Problem, arch: Architecture) -> Constraints:
    """Return the constraints with the factors chosen that are to be maximized."""
    levels = dict(constraints.levels)
    left = dict(problem.bound)
    for level in levels.values():
        for loops in (level.spatial, level.temporal):
            for dimension, factor in loops.factors.items():
                left[dimension] = math.ceil(left[dimension] / (factor or problem.bound[dimension]))
    faults: list[Fault] = []
    for kind in ("spatial", "temporal"):
        for name, fanout in zip(reversed(arch.level_names), reversed(arch.fanout), strict=True):
            given = levels.get(name, LevelConstraints())
            loops = given.spatial if kind == "spatial" else given.temporal
            if not loops.maximize:
                continue
            capacity = loops.capacity or (math.prod(fanout) if kind == "spatial" else None)
            if capacity is None:
                text = "maximize_dims of temporal loops needs maximize_dims_capacity"
                faults.append(Fault(text, constraints.name, f"{name}.temporal"))
                continue
            chosen = _maximized(loops, problem, left, capacity, f"{name}.{kind}", faults)
            if kind == "spatial":
                levels[name] = replace(given, spatial=chosen)
            else:
                levels[name] = replace(given, temporal=chosen)
    raise_all(faults)
    return replace(constraints, levels=levels)


def _maximized(
    loops: LoopConstraint, problem: Problem, left: dict[str, int], capacity: int, where: str, faults: list[Fault]
) -> LoopConstraint:
    """Return the loops with the factors of all groups chosen; what is left of each dimension is brought up to date."""
    factors = dict(loops.factors)
    for group in loops.maximize:
        limits = {*loops.max_factors, *loops.min_factors}
        named = {*factors, *limits.difference(loops.by_default)}
        fixed = [d for d in group if d in named]
        if fixed:
            text = "is to be maximized, but constrained already, where the front end ends"
            faults.append(Fault(text, None, where, ", ".join(fixed)))
            return loops
        room = capacity
        own = {d: least for d, least in loops.min_factors.items() if d not in loops.by_default}
        for least in ({d: factor or problem.bound[d] for d, factor in factors.items()}, own):
            for factor in least.values():
                room //= factor
        found = dict.fromkeys(group, 1)
        for dimension, _, factor in _greedy(tuple((d, left[d]) for d in group), room)[0]:
            found[dimension] *= factor
        for dimension, factor in found.items():
            if not loops.min_factors.get(dimension, 1) <= factor <= loops.max_factors.get(dimension, factor):
                text = f"the largest {dimension} is {factor}, which contradicts the limits of all dimensions"
                faults.append(Fault(text, None, where))
            factors[dimension] = factor
            left[dimension] = math.ceil(left[dimension] / factor)
    return replace(loops, factors=factors, maximize=(), capacity=None, by_default=())


@lru_cache(maxsize=4096)
def _greedy(sizes: tuple[tuple[str, int], ...], capacity: int) -> tuple[_Choice, float]:
    """Return the factors that fill a capacity best, by the front end's rule, and how far they fill it."""
    best: _Choice = ()
    fill: float = 1
    if capacity <= 1:
        return best, fill
    for at, (dimension, size) in enumerate(sizes):
        if size > capacity:
            runs = math.ceil(size / capacity)
            factor = math.ceil(size / runs)
            rest = size % factor
            found = (factor * (runs - 1) + rest) / runs
            if found > fill:
                best, fill = ((dimension, rest, factor),), found
        # The first of equal choices wins, so they are tried in the order of the front end's set.
        for prime in set(primes(size)):
            if prime > capacity:
                continue
            smaller = (*sizes[:at], (dimension, size // prime), *sizes[at + 1 :])
            more, share = _greedy(smaller, capacity // prime)
            if share * prime > fill:
                best, fill = ((dimension, prime, prime), *more), share * prime
    return best, fill
