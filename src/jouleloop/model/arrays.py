"""The arrays that the kernels exchange, grouped into named tuples; level 0 is the innermost storage level."""

from typing import NamedTuple

import numpy as np

from jouleloop.model.kernel import MAX_GROUPS, Bools, Floats, Ints

#: Columns of an access record.
TILE, PARTITION, READS, UPDATES, FILLS, REDUCTIONS, RECORD = range(7)
#: Columns of a level's specification.
READ_PJ, WRITE_PJ, BLOCK_WORDS, CLUSTERS, READ_BANDWIDTH, WRITE_BANDWIDTH, SHARED_BANDWIDTH, SPEC = range(8)


class LayerArrays(NamedTuple):
    """A problem: projection (data spaces, ranks, dimensions), what is written, and loop bounds."""

    coef: Ints
    read_write: Bools
    bounds: Ints


class HardwareArrays(NamedTuple):
    """An architecture with its energies.

    Attributes
    ----------
    spec
        Shape (levels, SPEC): energy per vector read and write [pJ], words per vector, number of clusters, and read, write
        and shared bandwidth [words/cycle], infinite where unlimited.
    fanout_xy
        Physical fan-out below each level, shape (levels, 2).
    capacity_words
        Effective words of one instance; -1 where unlimited.
    min_words
        Words that a mapping must fill at least.
    compute_pj
        Energy of one operation.
    """

    spec: Floats
    fanout_xy: Ints
    capacity_words: Ints
    min_words: Floats
    compute_pj: float


class NestArrays(NamedTuple):
    """A loop nest: number of loops by level; dimension, bound and mesh axis, outermost first, shape (levels, MAX_LOOPS)."""

    t_count: Ints
    t_dim: Ints
    t_bound: Ints
    s_count: Ints
    s_dim: Ints
    s_bound: Ints
    s_axis: Ints
    keep: Bools


class WorkArrays(NamedTuple):
    """What the model writes for one nest.

    Attributes
    ----------
    tile, sibling
        Words of each level's tile, and of the box that all instances below it span together (0 without spatial loops),
        shape (levels, data spaces).
    groups, group_count, links
        Transfers below each level that differ in multicast or scatter factor, shape (levels, data spaces, MAX_GROUPS, 3);
        their number; words that mesh links carry.
    access
        Shape (levels, data spaces, RECORD).
    energy_pj
        Over all instances, shape (levels, data spaces).
    throttle, level_cycles, fanout, instances
        By level; fan-out and instances are those utilized.
    mesh
        Columns and rows that link transfers see below each level.
    """

    tile: Ints
    sibling: Ints
    groups: Floats
    group_count: Ints
    links: Floats
    access: Ints
    energy_pj: Floats
    throttle: Floats
    level_cycles: Ints
    fanout: Ints
    instances: Ints
    mesh: Ints


def new_work(levels: int, spaces: int) -> WorkArrays:
    """Return fresh work arrays."""
    return WorkArrays(
        tile=np.zeros((levels, spaces), np.int64),
        sibling=np.zeros((levels, spaces), np.int64),
        groups=np.zeros((levels, spaces, MAX_GROUPS, 3)),
        group_count=np.zeros((levels, spaces), np.int64),
        links=np.zeros((levels, spaces)),
        access=np.zeros((levels, spaces, RECORD), np.int64),
        energy_pj=np.zeros((levels, spaces)),
        throttle=np.ones(levels),
        level_cycles=np.zeros(levels, np.int64),
        fanout=np.ones(levels, np.int64),
        instances=np.ones(levels, np.int64),
        mesh=np.ones((levels, 2), np.int64),
    )
