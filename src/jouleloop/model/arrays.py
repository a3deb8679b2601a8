"""The arrays that the kernels exchange, few and wide; level 0 is the innermost storage level.

numba compiles a function once for all its arguments, and every array costs: so what belongs together is one array, and
its last axis is named by the constants here.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from jouleloop.jit import record

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

#: Most temporal or spatial loops of one level.
MAX_LOOPS = 12
#: Most groups of transfers that differ in multicast or scatter factor. Windows along both axes of 256 x 256 instances
#: make up to a hundred in each step; rows that stay empty take no memory.
MAX_GROUPS = 1024

#: Places of a group of transfers: multicast factor, scatter factor, words, words times hops, and words times hops if
#: every instance were sent its own.
MULTICAST, SCATTER, WORDS, HOPS, UNICAST_HOPS, GROUP = range(6)
#: Places of an access record: counts of one level and data space, per instance; the box that all instances below span
#: together (0 without spatial loops); and the number of transfer groups.
TILE, PARTITION, READS, UPDATES, FILLS, REDUCTIONS, SIBLING, GROUPS, RECORD = range(9)
#: Places of a level's specification: energy per vector read, fill and update [pJ], words per vector, number of
#: clusters, read, write and shared bandwidth [words/cycle] and capacity [words], infinite where unlimited, words that a
#: mapping has to fill at least, the physical fan-out below along X and Y, whether the level adds up what it receives,
#: leakage of an instance in a cycle [pJ], cycles that the networks below add, the least that a word counts in
#: bandwidths, and those two networks: `WAY` numbers each. Where tables charge networks, what they charge follows, see
#: `jouleloop.model.network`; last, where words do not count alike in bandwidths, how each data space's do.
(
    READ_PJ,
    WRITE_PJ,
    UPDATE_PJ,
    BLOCK_WORDS,
    CLUSTERS,
    READ_BANDWIDTH,
    WRITE_BANDWIDTH,
    SHARED_BANDWIDTH,
    CAPACITY,
    MIN_WORDS,
    FANOUT_X,
    FANOUT_Y,
    REDUCES,
    LEAK_PJ,
    LATENCY_CYCLES,
    LEAST_SCALE,
    NETWORK,
) = range(17)
#: Places of a network: what it is, and the energy [pJ] of a word's hop, router and entry, and of an addition. The first
#: carries words in, and back where the second carries none.
KIND, HOP_PJ, ROUTER_PJ, INGRESS_PJ, ADDER_PJ, WAY = range(6)
WAYS, SPEC = 2, NETWORK + 2 * WAY
#: What a network is: none that takes energy, a mesh that brings words back, one that does not, a tree that adds words
#: up on their way back, or one that a table charges.
NO_ENERGY, MESH_BACK, MESH_IN, TREE_BACK, CHARGED = range(5)
#: Places of `LayerArrays.reuse`, see `jouleloop.mapping.reuse.Reuse`; `RESTING` says that steps without a
#: move leave the last move alone, `LATER` that loops that end early run as on the main branch, `SPREADING` that
#: instances send words to each other's inner nodes.
(
    NO_TEMPORAL_REUSE,
    NO_MULTICAST,
    NO_LINK_TRANSFER,
    RMW_FIRST_UPDATE,
    NO_COALESCE,
    RESTING,
    LATER,
    SPREADING,
    REUSE,
) = range(9)
#: Kinds of loops of a level, and places of a loop: dimension, bound, mesh axis.
TEMPORAL, SPATIAL = 0, 1
DIM, BOUND, AXIS = range(3)
#: Place of a loop around a boundary beside its dimension and bound: index step of one iteration.
STEP = 2
#: Places of a level's result: cycles, utilized fan-out below, utilized instances, the columns and rows of the mesh
#: below that link transfers see, and the instances that any step uses, of which Timeloop 4 counts a mean as utilized.
CYCLES, FANOUT, INSTANCES, COLUMNS, ROWS, EXPANDED, STATUS = range(7)
#: Places of a level's and data space's flow: energy over all instances [pJ], words that mesh links carry, energy of
#: both networks below over all instances [pJ], and the group of transfers (but `UNICAST_HOPS`) that the network carries
#: for the next inner level, whose instances send words to each other's inner nodes.
ENERGY_PJ, LINKS, NETWORK_PJ, BACK_PJ, SPREAD = range(5)
FLOW = SPREAD + UNICAST_HOPS


@record
class LayerArrays(NamedTuple):
    """A problem: projection (data spaces, ranks, dimensions), what is written, loop bounds, and what is not reused.

    ``reuse`` has the shape (levels, data spaces, REUSE).
    """

    coef: Ints
    read_write: Bools
    bounds: Ints
    reuse: Bools


@record
class Encoded(NamedTuple):
    """A layer, the hardware, its energies and the rules of counting, see `jouleloop.model.encode.encode`."""

    layer: LayerArrays
    spec: Floats
    """By level, shape (levels, `SPEC` and more)."""
    compute_pj: float
    """Energy of one operation."""
    elided: bool
    """Whether the first fill of an output is left out."""


@record
class NestArrays(NamedTuple):
    """A loop nest."""

    counts: Ints
    """Number of temporal and spatial loops, shape (levels, 2)."""
    loops: Ints
    """Dimension, bound and mesh axis, outermost first, shape (levels, 2, MAX_LOOPS, 3)."""
    keep: Bools
    """What is stored where, shape (levels, data spaces)."""


@record
class WorkArrays(NamedTuple):
    """What the model writes for one nest."""

    groups: Floats
    """Transfers below each level, shape (levels, data spaces, MAX_GROUPS, GROUP)."""
    access: Ints
    """Shape (levels, data spaces, RECORD)."""
    flow: Floats
    """Shape (levels, data spaces, FLOW)."""
    status: Ints
    """Shape (levels, STATUS)."""
    throttle: Floats
    """By level: share of full speed that its bandwidth allows."""


def new_work(levels: int, spaces: int) -> WorkArrays:
    """Return fresh work arrays."""
    return WorkArrays(
        np.zeros((levels, spaces, MAX_GROUPS, GROUP)),
        np.zeros((levels, spaces, RECORD), np.int64),
        np.zeros((levels, spaces, FLOW)),
        np.zeros((levels, STATUS), np.int64),
        np.ones(levels),
    )
