"""The arrays that the kernels exchange, few and wide; level 0 is the innermost storage level.

numba compiles a function once for all its arguments, and every array costs: so what belongs together is one array of
records, whose types stand here with their units, or one array whose last axis is named by the constants here.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from jouleloop.jit import record

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
#: An array of records whose fields kernels read and write by name.
Records = np.ndarray[Any, np.dtype[np.void]]
#: One of them.
Record = Any

#: Most temporal or spatial loops of one level.
MAX_LOOPS = 12
#: Most groups of transfers that differ in multicast or scatter factor. Windows along both axes of 256 x 256 instances
#: make up to a hundred in each step; rows that stay empty take no memory.
MAX_GROUPS = 1024

#: A group of transfers.
GROUP = np.dtype(
    [
        ("multicast", np.float64),
        ("scatter", np.float64),
        ("words", np.float64),
        # Words times hops, and what that were if every instance were sent its own.
        ("hops", np.float64),
        ("unicast_hops", np.float64),
    ],
    align=True,
)
#: Accesses of one level and data space, in words per instance.
ACCESS = np.dtype(
    [
        ("tile", np.int64),
        ("partition", np.int64),
        ("reads", np.int64),
        ("updates", np.int64),
        ("fills", np.int64),
        ("reductions", np.int64),
        # The box that all instances below span together (0 without spatial loops).
        ("sibling", np.int64),
        # Number of groups of transfers.
        ("groups", np.int64),
    ],
    align=True,
)
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
#: A level's result.
STATUS = np.dtype(
    [
        ("cycles", np.int64),
        # Utilized fan-out below, and utilized instances.
        ("fanout", np.int64),
        ("instances", np.int64),
        # The columns and rows of the mesh below that peer-to-peer transfers see.
        ("columns", np.int64),
        ("rows", np.int64),
        # The instances that any step uses, of which Timeloop 4 counts a mean as utilized.
        ("expanded", np.int64),
    ],
    align=True,
)
#: What a data space takes at a level.
FLOW = np.dtype(
    [
        # Over all instances, as the networks below, by way.
        ("energy_pj", np.float64),
        ("network_pj", np.float64, 2),
        # Words that mesh links carry.
        ("links", np.float64),
    ],
    align=True,
)


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

    groups: Records
    """Transfers below each level, of `GROUP`, shape (levels, data spaces, MAX_GROUPS)."""
    spread: Records
    """Of `GROUP`, by level and data space: what the network carries for the next inner level, whose instances send
    words to each other's inner nodes."""
    access: Records
    """Of `ACCESS`, shape (levels, data spaces)."""
    flow: Records
    """Of `FLOW`, shape (levels, data spaces)."""
    status: Records
    """Of `STATUS`, by level."""
    throttle: Floats
    """By level: share of full speed that its bandwidth allows."""


def new_work(levels: int, spaces: int) -> WorkArrays:
    """Return fresh work arrays."""
    return WorkArrays(
        np.zeros((levels, spaces, MAX_GROUPS), GROUP),
        np.zeros((levels, spaces), GROUP),
        np.zeros((levels, spaces), ACCESS),
        np.zeros((levels, spaces), FLOW),
        np.zeros(levels, STATUS),
        np.ones(levels),
    )
