"""Every mapping of a small mapspace whose loops need not divide, written down from its definition."""

import itertools
import math
from collections.abc import Iterator

from jouleloop.energy.costs import EnergyCosts
from jouleloop.errors import MappingError
from jouleloop.mapping.mapping import LevelMapping, Mapping
from jouleloop.mapspace.space import FREE, FactorSlot, MapSpace
from jouleloop.mapspace.spatial import arrangements_of
from jouleloop.model.evaluate import evaluate_mapping

#: Instances along X and along Y; None where a slot is temporal.
Fan = tuple[int, int] | None


def chains(bound: int, slots: list[tuple[FactorSlot, int, Fan]]) -> Iterator[tuple[int, ...]]:
    """Yield the ends of one dimension, slot by slot from inside.

    The outermost loop above 1 runs all passes that are left: a free one has just as many iterations, a fixed one may
    end early. Outside of it nothing loops. Where two loops share an end, the outer one may end early, too.
    """
    if not slots:
        if bound == 1:
            yield ()
        return
    slot, d, fan = slots[0]
    if slot.fixed[d] != FREE:
        options = [slot.fixed[d]] if slot.fixed[d] == 1 or bound > 1 else []
    else:
        alone = {f for f in range(slot.least[d], slot.most[d] + 1) if f <= bound}
        if slot.both and fan is not None:
            pairs = itertools.product(range(2, fan[0] + 1), range(2, fan[1] + 1))
            longer = {x * y for x, y in pairs if x * (y - 1) < bound}
            alone |= {f for f in longer if slot.least[d] <= f <= slot.most[d]}
        options = sorted(alone)
    for end in options:
        for more in chains(-(-bound // end), slots[1:]):
            yield (end, *more)


def _laid_out(factors: tuple[int, ...], fan: tuple[int, int]) -> Iterator[tuple[tuple[int, int, int], ...]]:
    """Yield all loops along both axes, outermost first: each factor in two parts, those of each axis in any order."""
    splits = [[(x, f // x) for x in range(1, f + 1) if f % x == 0] for f in factors]
    for parts in itertools.product(*splits):
        if math.prod(x for x, _ in parts) > fan[0] or math.prod(y for _, y in parts) > fan[1]:
            continue
        along = [[(d, part[axis], axis) for d, part in enumerate(parts) if part[axis] > 1] for axis in (0, 1)]
        for outer, inner in itertools.product(itertools.permutations(along[1]), itertools.permutations(along[0])):
            yield (*outer, *inner)


def slots_of(space: MapSpace) -> list[tuple[FactorSlot, Fan]]:
    """Return all slots, innermost first, and the meshes of the spatial ones."""
    found: list[tuple[FactorSlot, Fan]] = []
    for inside, time, fan in zip(space.spatial, space.temporal, space.arch.fanout[::-1], strict=True):
        found += [(time, None)] if inside is None else [(inside, fan), (time, None)]
    return found


def mappings(space: MapSpace) -> Iterator[Mapping]:
    """Yield every mapping: ends of every dimension, orders, arrangements, what is kept."""
    problem, levels = space.problem, len(space.temporal)
    dims = problem.shape.dimensions
    spaces = [one.name for one in problem.data_spaces]
    order: list[tuple[int, bool, FactorSlot]] = []
    for level in range(levels):
        inside = space.spatial[level]
        if inside is not None:
            order.append((level, True, inside))
        order.append((level, False, space.temporal[level]))
    slots = slots_of(space)
    by_dim = [list(chains(bound, [(slot, d, fan) for slot, fan in slots])) for d, bound in enumerate(problem.bounds)]
    fanout = space.arch.fanout[::-1]
    for ends in itertools.product(*by_dim):
        choices = []
        for index, (level, spatial, slot) in enumerate(order):
            factors = tuple(ends[d][index] for d in range(len(dims)))
            if spatial and slot.both:
                choices.append(list(_laid_out(factors, fanout[level])))
            elif spatial:
                choices.append(list(arrangements_of(slot, factors, fanout[level])))
            else:
                loops = [(d, factors[d]) for d in range(len(dims)) if factors[d] > 1]
                choices.append(
                    [
                        nest
                        for nest in itertools.permutations(loops)
                        if all(slot.rank[a] >= slot.rank[b] for (a, _), (b, _) in itertools.pairwise(nest))
                    ]
                )
        early = []
        for d, bound in enumerate(problem.bounds):
            product = 1
            for end in ends[d]:
                product *= end
            if product != bound:
                early.append((dims[d], bound))
        for nest in itertools.product(*choices):
            for keep in space.keeps:
                built = []
                for position, name in enumerate(space.arch.level_names):
                    k = levels - 1 - position
                    time = next(
                        n for n, (level, spatial, _) in zip(nest, order, strict=True) if level == k and not spatial
                    )
                    place = [n for n, (level, spatial, _) in zip(nest, order, strict=True) if level == k and spatial]
                    built.append(
                        LevelMapping(
                            name,
                            tuple((dims[d], b) for d, b in time),
                            tuple((dims[d], b, "XY"[axis]) for d, b, axis in (place[0] if place else ())),
                            frozenset(s for v, s in enumerate(spaces) if keep[k, v]),
                        )
                    )
                yield Mapping(tuple(built), tuple(sorted(early)))


def sizes(space: MapSpace) -> int:
    """Return a number that the mappings are not above: chains of ends times orders, splits and choices of keeping."""
    number = space.permutations * space.spatial_splits * len(space.keeps)
    for d, bound in enumerate(space.problem.bounds):
        number *= sum(1 for _ in chains(bound, [(slot, d, fan) for slot, fan in slots_of(space)]))
    return number


def least_pj(space: MapSpace, costs: EnergyCosts, semantics: str) -> tuple[float, int]:
    """Return the least energy [pJ] over all mappings that fit, infinite where none does, and their number."""
    best, number = float("inf"), 0
    for mapping in mappings(space):
        try:
            evaluation = evaluate_mapping(space.problem, space.arch, costs, mapping, semantics)
        except MappingError:
            continue
        number += 1
        best = min(best, evaluation.energy_pj)
    return best, number
