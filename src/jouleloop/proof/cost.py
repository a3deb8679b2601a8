"""What a nest costs by the certificate's own numbers, in exact fractions, and whether it belongs to the mapspace."""

import math
from fractions import Fraction
from typing import Any

from jouleloop.proof.accesses import accesses_of
from jouleloop.proof.counts import flows_of, mesh_of
from jouleloop.proof.design import Design, Factors, Nest
from jouleloop.proof.networks import Passing, energy_of


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


def ends_early(design: Design, nest: Nest) -> bool:
    """Whether a loop has a remainder, or an unrolled one leaves units without work."""
    return _extent(nest, len(design.levels), len(design.bounds)) != design.bounds


def _extent(nest: Nest, levels: int, dims: int) -> Factors:
    extent = [1] * dims
    for k in range(levels):
        for d, end in (*nest.temporal[k], *((d, end) for d, end, _ in nest.spatial[k])):
            extent[d] *= end
    return tuple(extent)


def cost_of(design: Design, nest: Nest, enough_pj: float = math.inf) -> tuple[Fraction, int] | None:
    """Return energy [pJ] and cycles of a nest.

    None where it is no mapping: outputs overlap, or no M:N network takes what is sent. Where some data spaces take
    ``enough_pj``, their energy alone, which is no more than the whole, and no cycles.
    """
    levels = range(len(design.levels))
    early = ends_early(design, nest)
    fanout = [math.prod(end for _, end, _ in nest.spatial[k]) for k in levels]
    instances = [math.prod(fanout[k + 1 :]) for k in levels]
    spreads = [level.spreads for level in design.levels]
    total = Fraction(0)
    operations = 0
    moved: list[list[tuple[int, int]]] = [[] for _ in levels]
    for v, space in enumerate(design.spaces):
        flows, each = flows_of(design, nest, v, early=early)
        operations = operations or math.floor(each * math.prod(fanout))
        if total >= enough_pj:
            return total, 0
        keep = [kept[v] for kept in nest.keep]
        found = accesses_of(flows, keep, fanout, spreads, written=design.written[v], elided=design.elided)
        if found is None or any(words < 0 for accesses in found for words in accesses):
            return None
        for k, (reads, fills, updates) in enumerate(found):
            level = design.levels[k]
            vectors = [-(-words // level.block) for words in (reads, fills, updates)]
            energy = vectors[0] * level.read + vectors[1] * level.write + vectors[2] * level.update
            total += energy * min(instances[k], level.clusters) * design.unit_pj
            moved[k].append((reads, fills + updates))
            passing = Passing(space, design.written[v], mesh_of(design, nest, k), instances[k])
            total += energy_of(level, flows[k], passing)
    total += operations * design.compute * design.unit_pj
    cycles = _cycles(design, nest, moved)
    leaked = sum(level.leak * n for level, n in zip(design.levels, instances, strict=True))
    return total + leaked * design.unit_pj * cycles, cycles


def _cycles(design: Design, nest: Nest, moved: list[list[tuple[int, int]]]) -> int:
    """Cycles of the slowest level (Timeloop ``buffer.cpp``, ``ComputePerformance``), in its own arithmetic."""
    steps = math.prod(end for level in nest.temporal for _, end in level)
    cycles = steps
    for level, words in zip(design.levels, moved, strict=True):
        reads, writes = (sum(pair[which] / steps for pair in words) for which in (0, 1))
        slowdown = 1.0
        for limit, rate in zip(level.bandwidths, (reads, writes, reads + writes), strict=True):
            if limit is not None and limit < rate:
                slowdown = min(slowdown, limit / rate)
        cycles = max(cycles, math.ceil(steps / slowdown))
    return cycles


def fault_of(design: Design, nest: Nest, *, imperfect: bool) -> str:
    """Return why a nest is none of the design's mapspace, or an empty text."""
    if nest.keep not in design.keeps:
        return "the constraints do not admit what it keeps"
    for k, level in enumerate(design.levels):
        fault = _place_fault(design, k, [(d, end) for d, end, _ in nest.spatial[k]], spatial=True)
        fault = fault or _place_fault(design, k, list(nest.temporal[k]), spatial=False)
        if fault:
            return f"{level.name}: {fault}"
        if not design.fits(k, nest.keep[k], _extent(nest, k + 1, len(design.bounds))):
            return f"{level.name}: its tiles do not fit"
    return _passes_fault(design, nest) if imperfect else _product_fault(design, nest)


def _product_fault(design: Design, nest: Nest) -> str:
    return "its factors do not multiply to the layer's bounds" if ends_early(design, nest) else ""


def _passes_fault(design: Design, nest: Nest) -> str:
    """Return why ends that need not divide are none of the mapspace: each finds passes, and the last leaves one."""
    left = list(design.bounds)
    for level, spatial, temporal in zip(design.levels, nest.spatial, nest.temporal, strict=True):
        slots = [(level.spatial, d, end) for d, end, _ in spatial] + [(level.temporal, d, end) for d, end in temporal]
        for slot, d, end in slots:
            free = slot is None or slot.fixed[d] is None
            if end > 1 and (left[d] < 2 or (free and end > left[d])):
                return f"{level.name}: {design.dims[d]} may not end at {end}"
            left[d] = -(-left[d] // end)
    return "" if all(n == 1 for n in left) else "its loops do not cover the layer"


def _place_fault(design: Design, k: int, loops: list[tuple[int, int]], *, spatial: bool) -> str:
    slot = design.levels[k].spatial if spatial else design.levels[k].temporal
    factors: Factors = tuple(math.prod(b for d, b in loops if d == e) for e in range(len(design.dims)))
    if slot is None:
        return "it does not fan out" if loops else ""
    if not all(slot.admits(d, factor) for d, factor in enumerate(factors)):
        return "the constraints do not admit its factors"
    if spatial:
        orders = (tuple((d, b) for d, b, _ in order) for order in design.spatial_orders(k, factors))
        return "" if tuple(loops) in orders else "no order and split of its spatial loops is admitted"
    order = tuple(d for d, _ in reversed(loops))
    return "" if order in slot.orders(sorted(order)) else "the constraints do not admit its order"
