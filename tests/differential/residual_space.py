"""Every mapping of a small mapspace whose loops need not divide, written down from its definition."""

import itertools
from collections.abc import Iterator

from jouleloop.energy.costs import EnergyCosts
from jouleloop.errors import MappingError
from jouleloop.mapping.mapping import LevelMapping, Mapping
from jouleloop.mapspace.space import FREE, FactorSlot, MapSpace
from jouleloop.mapspace.spatial import arrangements_of
from jouleloop.model.evaluate import evaluate_mapping


def chains(bound: int, slots: list[tuple[FactorSlot, int]]) -> Iterator[tuple[int, ...]]:
    """Yield the ends of one dimension, slot by slot from inside.

    The outermost loop above 1 runs all passes that are left: a free one has just as many iterations, a fixed one may
    end early. Outside of it nothing loops.
    """
    if not slots:
        if bound == 1:
            yield ()
        return
    slot, d = slots[0]
    if slot.fixed[d] != FREE:
        options = [slot.fixed[d]] if slot.fixed[d] == 1 or bound > 1 else []
    else:
        options = [f for f in range(slot.least[d], slot.most[d] + 1) if f <= bound]
    for end in options:
        for more in chains(-(-bound // end), slots[1:]):
            yield (end, *more)


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
    by_dim = [list(chains(bound, [(slot, d) for _, _, slot in order])) for d, bound in enumerate(problem.bounds)]
    fanout = space.arch.fanout[::-1]
    for ends in itertools.product(*by_dim):
        choices = []
        for index, (level, spatial, slot) in enumerate(order):
            factors = tuple(ends[d][index] for d in range(len(dims)))
            if spatial:
                choices.append(arrangements_of(slot, factors, fanout[level]))
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
    slots = [slot for pair in zip(space.spatial, space.temporal, strict=True) for slot in pair if slot is not None]
    number = space.permutations * space.spatial_splits * len(space.keeps)
    for d, bound in enumerate(space.problem.bounds):
        number *= sum(1 for _ in chains(bound, [(slot, d) for slot in slots]))
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
