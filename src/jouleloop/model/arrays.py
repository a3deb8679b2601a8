"""The arrays that the kernels exchange, few and wide; level 0 is the innermost storage level.

numba compiles a function once for all its arguments, and every array costs: so what belongs together is one array of
records, whose types stand here with their units, or one array whose last axis is named by the constants here.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from jouleloop.jit import njit, record

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
#: What a network is: none that takes energy, a mesh that brings words back, one that does not, a tree that adds words
#: up on their way back, or one that a table charges.
NO_ENERGY, MESH_BACK, MESH_IN, TREE_BACK, CHARGED = range(5)
#: Networks below a level: the first carries words in, and back where the second carries none.
WAYS = 2
#: One of them.
NETWORK = np.dtype(
    [
        ("kind", np.int64),
        # Energy [pJ] of a word's hop, router and entry, and of an addition.
        ("hop_pj", np.float64),
        ("router_pj", np.float64),
        ("ingress_pj", np.float64),
        ("adder_pj", np.float64),
    ],
    align=True,
)
#: A row of the table that charges a network: the energy [pJ] of a transfer to so many instances. 0 stands for any
#: number, what is below 0 for none.
TRANSFER = np.dtype([("multicast", np.float64), ("energy_pj", np.float64)], align=True)
#: A level of the hardware.
LEVEL = np.dtype(
    [
        # Energy of a vector read, filled and updated [pJ], and the words of a vector.
        ("read_pj", np.float64),
        ("write_pj", np.float64),
        ("update_pj", np.float64),
        ("block_words", np.int64),
        # Instances that are read apart.
        ("clusters", np.int64),
        # Bandwidths, of reads and writes apart and together, and the capacity: infinite where unlimited.
        ("read_words_per_cycle", np.float64),
        ("written_words_per_cycle", np.float64),
        ("shared_words_per_cycle", np.float64),
        ("capacity_words", np.float64),
        # What a mapping has to fill.
        ("least_words", np.float64),
        # The physical fan-out below.
        ("fanout_x", np.int64),
        ("fanout_y", np.int64),
        # Whether the level adds up what it receives.
        ("reduces", np.bool_),
        # Leakage of an instance in a cycle [pJ], and cycles that the networks below add.
        ("leak_pj", np.float64),
        ("latency_cycles", np.int64),
        # The least that a word counts in bandwidths.
        ("least_scale", np.float64),
    ],
    align=True,
)
#: What a level does not reuse of a data space.
REUSE = np.dtype(
    [
        # As the fields of `jouleloop.mapping.reuse.Reuse`.
        ("no_temporal_reuse", np.bool_),
        ("no_multicast", np.bool_),
        ("no_link_transfer", np.bool_),
        ("rmw_first_update", np.bool_),
        ("no_coalesce", np.bool_),
        # Steps without a move leave the last move alone.
        ("resting", np.bool_),
        # Loops that end early run as on the main branch.
        ("averaging", np.bool_),
        # Instances send words to each other's inner nodes.
        ("spreading", np.bool_),
    ],
    align=True,
)
#: Kinds of loops of a level.
TEMPORAL, SPATIAL = 0, 1
#: A loop of a level: its dimension, its bound and the mesh axis that it runs along, X (0) or Y (1).
LOOP = np.dtype([("dim", np.int64), ("bound", np.int64), ("axis", np.int64)])
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

    ``reuse`` is of `REUSE`, shape (levels, data spaces).
    """

    coef: Ints
    read_write: Bools
    bounds: Ints
    reuse: Records


@record
class HardwareArrays(NamedTuple):
    """The levels of an architecture with their energies, see `jouleloop.model.encode.encode_hardware`."""

    levels: Records
    """Of `LEVEL`."""
    networks: Records
    """Of `NETWORK`, shape (levels, `WAYS`)."""
    transfers: Records
    """Of `TRANSFER`: what tables charge, shape (levels, `WAYS`, data spaces, rows)."""
    scale: Floats
    """How much a word of each data space counts in bandwidths, shape (levels, data spaces)."""


@record
class Encoded(NamedTuple):
    """A layer, the hardware, its energies and the rules of counting, see `jouleloop.model.encode.encode`."""

    layer: LayerArrays
    hardware: HardwareArrays
    compute_pj: float
    """Energy of one operation."""
    elided: bool
    """Whether the first fill of an output is left out."""


@record
class NestArrays(NamedTuple):
    """A loop nest."""

    counts: Ints
    """Number of temporal and spatial loops, shape (levels, 2)."""
    loops: Records
    """Of `LOOP`, outermost first, shape (levels, 2, MAX_LOOPS)."""
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


@njit
def copy_row(source: Any, target: Any) -> None:
    """Write one row into another: a slice for a slice takes seconds to compile."""
    for i in range(source.shape[0]):
        target[i] = source[i]


@njit
def copy_rows(source: Any, target: Any) -> None:
    """Write the rows of one array into another."""
    for i in range(source.shape[0]):
        copy_row(source[i], target[i])


def new_nest(keep: Bools) -> NestArrays:
    """Return a nest without loops; ``keep``: what is stored where."""
    levels = len(keep)
    return NestArrays(np.zeros((levels, 2), np.int64), np.zeros((levels, 2, MAX_LOOPS), LOOP), keep)


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
