"""What whole tiles of a level cost further inside; docs/search-residual.md, "Whole tiles count inside"."""

from jouleloop.jit import njit
from jouleloop.model.arrays import Floats
from jouleloop.optimum.residual.bound import crossing_pj, has_mate, spread_requests
from jouleloop.optimum.residual.state import Design, Ends, Unrolled


@njit
def fill_shares(design: Design, unrolled: Unrolled, ends: Ends, level: int, shares: Floats) -> None:
    """Write by dimension how many indices a compute unit goes through, where a level's whole tiles say it; else 0.

    ``shares`` has shape (levels, dimensions). Where several units of a level's fan-out work in the last pass, instance
    0 has whole tiles only. Where a tile stands for several, it is the least of them.
    """
    factors = unrolled.factors
    for d in range(factors.shape[1]):
        shares[level, d] = 0.0
        left, factor = -(-design.target.layer.bounds[d] // ends.extent[level, d]), factors[level, d]
        if level == 0 or factor == 1 or (left - 1) % factor == 0:
            continue
        inside, outside = 1, 1
        for k in range(factors.shape[0]):
            if k < level:
                inside *= factors[k, d]
            else:
                outside *= factors[k, d]
        shares[level, d] = -(-left // outside) * ends.extent[level, d] / inside


@njit
def pressed_pj(design: Design, unrolled: Unrolled, level: int, shares: Floats) -> float:
    """Return by how much [pJ] `fill_shares` raises operations and the crossings well inside a level."""
    target = design.target
    factors, levels, bounds = unrolled.factors, target.hardware.levels, target.layer.bounds
    before, now, units, alone, any_share = 1.0, 1.0, 1.0, True, False
    for d in range(factors.shape[1]):
        outside = 1
        for k in range(1, len(levels)):
            outside *= factors[k, d]
        share = -(-bounds[d] // outside) / factors[0, d]
        before *= share
        largest = shares[: level + 1, d].max()
        any_share = any_share or largest > 0.0
        now *= max(share, largest)
        alone = alone and factors[0, d] == 1
        units *= outside * factors[0, d]
    if not any_share:
        return 0.0
    total = max(0.0, (now * (1.0 - 1e-12) - before) * units - 1.0) * target.compute_pj
    for v in range(design.relevant.shape[0]):
        for i in range(unrolled.counts[v]):
            crossing = unrolled.crossings[v, i]
            child, parent = crossing.child, crossing.parent
            units_alone = child < 0 and alone
            if child >= level - 1 or (has_mate(design.mate[v]) and not units_alone):
                continue
            asked = _pressed_words(design, unrolled, v, i, level, shares, units_alone)
            if asked <= crossing.asked:
                continue
            # Vectors are rounded: two of each kind are taken off.
            sharing = min(unrolled.instances[parent], levels[parent].clusters)
            lost = 2.0 * (levels[parent].read_pj + levels[parent].write_pj) * sharing
            if child >= 0:
                lost += 2.0 * levels[child].write_pj * min(unrolled.instances[child], levels[child].clusters)
            times = asked / crossing.asked
            more_pj = crossing_pj(design, unrolled, v, i, times, times)
            total += max(0.0, more_pj - (crossing.once_pj if child >= 0 else crossing.root_pj) - lost)
    return float(total)


@njit
def _pressed_words(
    design: Design, unrolled: Unrolled, v: int, i: int, level: int, shares: Floats, units_alone: bool
) -> float:  # fmt: skip
    """Return the words that a crossing asks for, at least, of a tile that is whole at a level."""
    factors, crossing = unrolled.factors, unrolled.crossings[v, i]
    first = crossing.child + 2
    asked = spread_requests(design.relevant[v], design.mate[v], factors, first, crossing.parent + 1)
    for d in range(factors.shape[1]):
        if design.relevant[v, d] or units_alone:
            # Fan-outs inside the tile that is whole.
            held, outside = shares[first : level + 1, d].max(), 1
            for k in range(factors.shape[0]):
                if k < first:
                    held *= factors[k, d]
                else:
                    outside *= factors[k, d]
            asked *= max(held, float(-(-design.target.layer.bounds[d] // outside)))
    return asked * (1.0 - 1e-12)
