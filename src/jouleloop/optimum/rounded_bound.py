"""What no order of the loops is below, where all ends are known and loops end early as in Timeloop 4.

Every data space is counted in the order that moves it least: at each level the loops that leave it in place stand
inside those that move it, as far as the constraints let them. ``docs/search-rounded.md`` has the lemma.
"""

from collections.abc import Sequence

import numpy as np

from jouleloop.jit import njit
from jouleloop.mapspace.spatial import Arrangement
from jouleloop.model.arrays import (
    SPATIAL,
    Bools,
    Encoded,
    HardwareArrays,
    Ints,
    LayerArrays,
    NestArrays,
    WorkArrays,
    new_work,
)
from jouleloop.model.collapse import collapse
from jouleloop.model.encode import nest_arrays
from jouleloop.model.price import price, utilize
from jouleloop.model.residual import count_residual_transfers, share_instances
from jouleloop.model.steps import moves


@njit
def _relax(layer: LayerArrays, nest: NestArrays, uneven: Bools, work: WorkArrays) -> bool:
    """Let as many instances share a box as ever do where words pass a level; return False where that is not known.

    A level that keeps nothing asks for its words times its fan-out over the mean multicast.
    """
    for level in range(1, nest.counts.shape[0]):
        work.flow[level, 0].links = 0.0
        most = 1.0
        for s in range(nest.counts[level, SPATIAL]):
            d = nest.loops[level, SPATIAL, s].dim
            if not moves(layer.coef[0], d):
                most *= nest.loops[level, SPATIAL, s].bound
        if nest.keep[level - 1, 0]:
            if uneven[level] and layer.reuse[level - 1, 0].no_coalesce:
                return False
        elif nest.counts[level, SPATIAL] > 0:
            work.access[level, 0].groups = 1
            work.groups[level, 0, 0].multicast = 1.0 if layer.reuse[level, 0].no_multicast else most
            work.groups[level, 0, 0].scatter = 1.0
            work.groups[level, 0, 0].words = 1.0
    return True


@njit
def least_pj(
    layer: LayerArrays, hardware: HardwareArrays, elided: bool, nest: NestArrays, uneven: Bools, work: WorkArrays
) -> tuple[float, float]:
    """Return what the one data space of ``layer`` takes [pJ] in the order of ``nest``, and all operations.

    ``uneven`` says by level whether unrolled loops just below it end early.
    """
    _, steps = utilize(hardware.levels, nest, work)
    units = share_instances(layer.bounds, nest, work)
    computes = int(count_residual_transfers(layer, nest, work, True) * units)
    if not _relax(layer, nest, uneven, work):
        return 0.0, float(computes)
    collapse(layer.read_write, layer.reuse, nest.keep, elided, work)
    total_pj, _ = price(hardware, 0.0, nest.keep, steps, 0, work)
    return max(total_pj, 0.0), float(computes)


class OrderBound:
    """Bounds of one layer on one piece of hardware.

    Parameters
    ----------
    ranks
        By level: in which order constraints want the temporal loops, see `jouleloop.mapspace.space.FactorSlot`.
    """

    def __init__(self, target: Encoded, ranks: Sequence[Sequence[int]]) -> None:
        layer, hardware, self.compute_pj, self.elided = target
        levels = hardware.levels.copy()
        self.ranks = ranks
        self.levels = len(levels)
        self.leak_pj, self.latency = levels["leak_pj"].copy(), int(levels["latency_cycles"].sum())
        levels["leak_pj"] = 0.0
        for rate in ("read_words_per_cycle", "written_words_per_cycle", "shared_words_per_cycle"):
            levels[rate] = np.inf
        self.hardware = hardware._replace(levels=levels)
        moving = (layer.coef != 0) & (layer.bounds > 1)
        #: Data spaces over which no window slides: the boxes of others overlap, and they count for nothing.
        self.plain = np.flatnonzero((moving.sum(axis=2) <= 1).all(axis=1))
        reuse = layer.reuse.copy()
        # A step that moves nothing may fetch the box again or not: only steps that move it count.
        reuse["resting"] = True
        self.single = [
            LayerArrays(layer.coef[v : v + 1], layer.read_write[v : v + 1], layer.bounds, reuse[:, v : v + 1].copy())
            for v in self.plain
        ]
        self.moves = (layer.coef != 0).any(axis=1)
        self.work = new_work(self.levels, 1)

    def __call__(
        self, ends: Ints, arrangements: Sequence[Arrangement], keep: Bools, uneven: Bools
    ) -> tuple[float, int]:
        """Return what no order of these loops is below, in energy [pJ] and in cycles.

        Parameters
        ----------
        ends
            Of the temporal loops, shape (levels, dimensions).
        arrangements
            Of the unrolled loops, by level; any will do.
        keep
            Shape (levels, data spaces).
        uneven
            By level: whether unrolled loops just below it end early.
        """
        total_pj, computes = 0.0, 0.0
        for v, layer in zip(self.plain.tolist(), self.single, strict=True):
            nest = nest_arrays(self._order(ends, v), arrangements, keep[:, v : v + 1])
            # Operations are counted with any data space.
            space_pj, computes = least_pj(layer, self.hardware, self.elided, nest, uneven, self.work)
            total_pj += space_pj
        steps = int(np.prod(ends))
        instances = self.work.status["instances"]
        if len(self.plain):
            total_pj += computes * self.compute_pj + float(self.leak_pj @ instances) * steps
        return total_pj, steps + self.latency

    def _order(self, ends: Ints, v: int) -> list[list[tuple[int, int]]]:
        """Return the temporal loops by level, outermost first: of those in any order first what moves a data space."""
        return [
            [(int(d), int(ends[level, d])) for d in np.lexsort((~self.moves[v], -np.array(rank))) if ends[level, d] > 1]
            for level, rank in enumerate(self.ranks)
        ]
