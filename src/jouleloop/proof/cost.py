"""What a nest costs by the certificate's own numbers, in exact fractions, and whether it belongs to the mapspace."""

import math
from fractions import Fraction
from typing import Any

from jouleloop.proof.accesses import accesses_of
from jouleloop.proof.counts import flows_of, mesh_of
from jouleloop.proof.design import Design, Factors, Nest, Slot
from jouleloop.proof.networks import energy_of


def nest_of(design: Design, levels: list[dict[str, Any]]) -> Nest:
    """Return the mapping of a certificate, whose levels stand outermost first."""
    dims = {d: index for index, d in enumerate(design.dims)}
    inward = levels[::-1]
    return Nest(
        tuple(tuple(space in level["keep"] for space in design.spaces) for level in inward),
        tuple(tuple((dims[loop[0]], loop[1]) for loop in level["temporal"]) for level in inward),
        tuple(tuple((dims[loop[0]], loop[1], loop[2]) for loop in level["spatial"]) for level in inward),
    )


def shown(design: Design, nest: Nest) -> str:
    """Return a nest in one line, outermost level first."""
    found = []
    for level, temporal, spatial in zip(design.levels, nest.temporal, nest.spatial, strict=True):
        loops = [*(f"{design.dims[d]}{end}" for d, end in temporal)]
        loops += [f"{design.dims[d]}{end}{axis}" for d, end, axis in spatial]
        found.append(" ".join([level.name, *loops]))
    return " | ".join(reversed(found))


def _extent(design: Design, nest: Nest, levels: int) -> Factors:
    """Return how many indices the loops of so many levels span by dimension."""
    extent = [1] * len(design.bounds)
    for temporal, spatial in zip(nest.temporal[:levels], nest.spatial[:levels], strict=True):
        for d, end in (*temporal, *((d, end) for d, end, _ in spatial)):
            extent[d] *= end
    return tuple(extent)


def cost_of(design: Design, nest: Nest, enough_pj: float = math.inf) -> tuple[Fraction, int] | None:
    """Return energy [pJ] and cycles of a nest.

    None where it is no mapping: outputs overlap, or no M:N network takes what is sent. Where some data spaces take
    ``enough_pj``, their energy alone, which is no more than the whole, and no cycles.
    """
    levels = range(len(design.levels))
    early = _extent(design, nest, len(levels)) != design.bounds
    fanout = [math.prod(end for _, end, _ in nest.spatial[k]) for k in levels]
    instances = [math.prod(fanout[k + 1 :]) for k in levels]
    spreads = [level.spreads for level in design.levels]
    total = Fraction(0)
    operations = 0
    moved: list[list[tuple[int, int]]] = [[] for _ in levels]
    for v, space in enumerate(design.spaces):
        flows = flows_of(design, nest, v, early=early)
        operations = operations or math.floor(flows[0].operations * math.prod(fanout))
        if total >= enough_pj:
            return total, 0
        keep = [kept[v] for kept in nest.keep]
        rules = {"written": design.written[v], "elided": design.elided, "resumes": design.resumes}
        found = accesses_of(flows, keep, fanout, spreads, **rules)
        if found is None or any(words < 0 for accesses in found for words in accesses):
            return None
        for k, (level, accesses) in enumerate(zip(design.levels, found, strict=True)):
            vectors = (-(-words // level.block_words) for words in accesses)
            energy = sum(number * each for number, each in zip(vectors, design.energies[k], strict=False))
            total += energy * min(instances[k], level.clusters) * design.unit_pj
            moved[k].append((accesses[0], accesses[1] + accesses[2]))
            mesh = mesh_of(design, nest, k)
            total += energy_of(level, flows[k], space, mesh, instances[k], written=design.written[v])
    total += operations * design.compute * design.unit_pj
    cycles = _cycles(design, nest, moved)
    leaked = sum(energies[3] * n for energies, n in zip(design.energies, instances, strict=True))
    return total + leaked * design.unit_pj * cycles, cycles


def _cycles(design: Design, nest: Nest, moved: list[list[tuple[int, int]]]) -> int:
    """Cycles of the slowest level (Timeloop ``buffer.cpp``, ``ComputePerformance``), in its own arithmetic."""
    steps = math.prod(end for level in nest.temporal for _, end in level)
    cycles = steps
    for level, words in zip(design.levels, moved, strict=True):
        reads, writes = (sum(pair[which] / steps for pair in words) for which in (0, 1))
        limits = (level.read_bandwidth_words, level.write_bandwidth_words, level.shared_bandwidth_words)
        slowdown = 1.0
        for limit, rate in zip(limits, (reads, writes, reads + writes), strict=True):
            if limit is not None and limit < rate:
                slowdown = min(slowdown, limit / rate)
        cycles = max(cycles, math.ceil(steps / slowdown))
    return cycles


def fault_of(design: Design, nest: Nest, *, imperfect: bool) -> str:
    """Return why a nest is none of the design's mapspace, or an empty text."""
    if nest.keep not in design.keeps:
        return "the constraints do not admit what it keeps"
    left = list(design.bounds)
    for k, level in enumerate(design.levels):
        unrolled = [(d, end) for d, end, _ in nest.spatial[k]]
        for slot, loops in ((design.spatial[k], unrolled), (design.temporal[k], list(nest.temporal[k]))):
            if fault := _slot_fault(design, k, slot, loops):
                return f"{level.name}: {fault}"
            for d, end in loops:
                # Each loop finds passes that it can fill.
                free = slot is None or slot.fixed[d] is None
                if imperfect and end > 1 and (left[d] < 2 or (free and end > left[d])):
                    return f"{level.name}: {design.dims[d]} may not end at {end}"
                left[d] = -(-left[d] // end)
        for axis, most in zip("XY", level.fanout, strict=True):
            if math.prod(end for _, end, own in nest.spatial[k] if own == axis) > most:
                return f"{level.name}: its spatial loops do not fit along {axis}"
        if not design.fits(k, nest.keep[k], _extent(design, nest, k + 1)):
            return f"{level.name}: its tiles do not fit"
    if not imperfect and _extent(design, nest, len(design.levels)) != design.bounds:
        return "its factors do not multiply to the layer's bounds"
    return "" if all(n == 1 for n in left) else "its loops do not cover the layer"


def _slot_fault(design: Design, k: int, slot: Slot | None, loops: list[tuple[int, int]]) -> str:
    factors = [1] * len(design.dims)
    for d, end in loops:
        factors[d] *= end
    if slot is None:
        return "it does not fan out" if loops else ""
    if not slot.takes(factors):
        return "the constraints do not admit its factors"
    if slot is design.spatial[k]:
        if slot.both:
            return ""
        orders = (tuple((d, b) for d, b, _ in order) for order in design.spatial_orders(k, tuple(factors)))
        return "" if tuple(loops) in orders else "no order and split of its spatial loops is admitted"
    order = tuple(d for d, _ in reversed(loops))
    return "" if order in slot.orders(sorted(order)) else "the constraints do not admit its order"
