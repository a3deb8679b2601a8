"""An evaluation by exact counts (`jouleloop.model.exact`): as Timeloop prices accesses, but of what truly moves."""

import math
from itertools import pairwise
from typing import NamedTuple

from jouleloop.arch.architecture import Architecture
from jouleloop.energy.costs import EnergyCosts
from jouleloop.errors import Fault, MappingError, raise_all
from jouleloop.mapping.mapping import Mapping
from jouleloop.model.arrays import SPATIAL, Ints, LayerArrays, NestArrays, Record, Records, new_work
from jouleloop.model.encode import encode, encode_mapping
from jouleloop.model.evaluation import DataStats, Evaluation, LevelStats
from jouleloop.model.exact import Loops, count_boundary, flat_loops, steps_of_all, words_ever_seen
from jouleloop.model.price import utilize
from jouleloop.model.residual import count_residual_transfers
from jouleloop.model.semantics import rules_of
from jouleloop.model.support import AskedFeature, Use, check_supported, found_in_networks, found_in_rules
from jouleloop.workload.problem import Problem


def evaluate_exactly(
    problem: Problem,
    arch: Architecture,
    costs: EnergyCosts,
    mapping: Mapping,
    semantics: str = "timeloop-3.0.3",
    *,
    check_capacity: bool = True,
) -> Evaluation:
    """Return accesses, energy and cycles of one mapping by exact counts.

    Accesses are means over the instances that the mapping names, and need not be whole; vectors are rounded up over all
    instances. Networks are left out, as no energy is counted in them.

    Raises `MappingError` where it is no mapping of this problem onto this architecture; where levels are told not to
    reuse all; and where windows slide over what neighbours could hand on, or two dimensions that move one rank are
    unrolled together.
    """
    rules = rules_of(semantics)
    check_supported(Use.EXACT, found_in_rules(rules), MappingError)
    nest = encode_mapping(problem, arch, mapping)
    target = encode(problem, arch, costs, rules, [level.reuse for level in reversed(mapping.levels)])
    layer, levels = target.layer, target.hardware.levels
    work = new_work(*nest.keep.shape)
    units, _ = utilize(levels, nest, work)
    count_residual_transfers(layer, nest, work, False)
    loops = flat_loops(layer.bounds, nest)
    _check(problem, [*found_in_networks(arch, costs)], mapping, layer, loops, work.flow)
    tiles = work.access["tile"] * nest.keep
    if check_capacity:
        over = tiles.sum(axis=1) > levels["capacity_words"]
        names = [level for level, found in zip(reversed(arch.level_names), over, strict=True) if found]
        raise_all([Fault("tiles do not fit", field=name) for name in names], MappingError)
    instances = [math.prod(b for b in _unrolled(nest, level + 1)) for level in range(len(arch.levels))]
    counts = [_counts(layer, nest, loops, v, elided=rules.first_fills_elided) for v in range(len(problem.data_spaces))]
    counted = _Counted(problem, steps_of_all(layer, loops), instances, tiles, counts)
    found = [_level(counted, index, name, levels[index]) for index, name in enumerate(reversed(arch.level_names))]
    steps, computes = counted.steps, math.prod(problem.bounds)
    cycles = max(level.cycles for level in found) + arch.latency_cycles
    compute_pj = computes * costs.compute_pj
    return Evaluation(
        levels=tuple(reversed(found)),
        networks={},
        compute_name=arch.compute.name,
        compute_instances=units,
        computes=computes,
        compute_cycles=steps,
        compute_energy_pj=compute_pj,
        cycles=cycles,
        utilization=computes / arch.compute.instances / cycles,
        energy_pj=compute_pj + sum(level.energy_pj for level in found),
    )


class _Counted(NamedTuple):
    """What was counted of one mapping."""

    problem: Problem
    steps: int
    instances: list[int]
    """By level, innermost first."""
    tiles: Ints
    """Words held, shape (levels, data spaces)."""
    counts: list[dict[int, tuple[int, int, int, int]]]
    """By data space, see `_counts`."""


def _level(counted: _Counted, index: int, name: str, level: Record) -> LevelStats:
    """Return accesses, energy and cycles of a level."""
    steps, instances = counted.steps, counted.instances[index]
    read_rate, write_rate = 0.0, 0.0
    clusters = min(instances, int(level["clusters"]))
    data = {}
    for v, space in enumerate(counted.problem.data_spaces):
        if index not in counted.counts[v]:
            continue
        all_counts = counted.counts[v][index]
        reads, updates, fills, seen = (_mean(value, instances) for value in all_counts)
        vectors = [math.ceil(value / int(level["block_words"])) for value in all_counts]
        prices = level["read_pj"], level["update_pj"], level["write_pj"]
        all_pj = sum(price * number for price, number in zip(prices, vectors, strict=False))
        read_rate, write_rate = read_rate + reads / steps, write_rate + (fills + updates) / steps
        data[space.name] = DataStats(
            int(counted.tiles[index, v]), seen, instances, clusters, reads, updates, fills,
            reads if space.read_write else 0, all_pj * clusters / instances,
        )  # fmt: skip
    limits = level["read_words_per_cycle"], level["written_words_per_cycle"], level["shared_words_per_cycle"]
    rates = zip(limits, (read_rate, write_rate, read_rate + write_rate), strict=True)
    slowdown = min([1.0, *(most / rate for most, rate in rates if rate > 0)])
    return LevelStats(name, math.ceil(steps / slowdown), slowdown, data)


def _mean(count: int, instances: int) -> float:
    """Return the mean, whole where it is."""
    return count // instances if count % instances == 0 else count / instances


def _unrolled(nest: NestArrays, first: int) -> list[int]:
    """Return the ends of the spatial loops of levels from ``first`` outward."""
    return [
        int(nest.loops[level, SPATIAL, s]["bound"])
        for level in range(first, nest.counts.shape[0])
        for s in range(nest.counts[level, SPATIAL])
    ]


def _counts(
    layer: LayerArrays, nest: NestArrays, loops: Loops, v: int, *, elided: bool
) -> dict[int, tuple[int, int, int, int]]:
    """Return by level that keeps a data space reads, updates, fills and words ever seen, over all instances."""
    kept = [level for level in range(nest.keep.shape[0]) if nest.keep[level, v]]
    moved = {outer: count_boundary(layer, v, loops, outer, inner) for inner, outer in pairwise([-1, *kept])}
    found = {}
    for level, outer in zip(kept, [*kept[1:], None], strict=True):
        fills = 0 if outer is None else moved[outer].received
        seen = words_ever_seen(layer, v, loops, level)
        reads, updates = moved[level].read, 0
        if layer.read_write[v]:
            updates = reads
            reads -= seen
            fills -= seen if elided and outer is not None else 0
        found[level] = (reads, updates, fills, seen)
    return found


def _check(
    problem: Problem,
    networks: list[AskedFeature],
    mapping: Mapping,
    layer: LayerArrays,
    loops: Loops,
    flow: Records,
) -> None:
    """Refuse what is not counted exactly; ``networks`` are those that are not followed."""
    found = [*networks, *(AskedFeature("reuse", level, reuse.as_dict()) for level, reuse in mapping.reuse.items())]
    unrolled = {int(row["dim"]) for row in loops.table if row["kind"] == SPATIAL}
    for v, space in enumerate(problem.data_spaces):
        ranks = (layer.coef[v] != 0) & (layer.bounds > 1)
        shared = ranks[ranks.sum(axis=1) > 1]
        if space.read_write and (ranks.sum(axis=1).max() > 1 or layer.coef[v].max() > 1):
            found.append(AskedFeature("output_windows", space.name))
        for rank in shared:
            several = [problem.shape.dimensions[d] for d in unrolled if rank[d]]
            if len(several) > 1:
                found.append(AskedFeature("unrolled_rank", space.name, ", ".join(sorted(several))))
        if flow[:, v]["links"].any():
            found.append(AskedFeature("peers", space.name))
    check_supported(Use.EXACT, found, MappingError)
