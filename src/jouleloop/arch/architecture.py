"""An accelerator as the model needs it: storage levels from DRAM inward, their fan-outs, and the compute units."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from jouleloop.arch.attributes import canonical
from jouleloop.errors import Fault, raise_all

Attribute = str | int | float | bool | None

#: What a network may be: Timeloop's ``XY_NoC`` (or ``Legacy``), ``ReductionTree`` and ``SimpleMulticast``.
MESH, TREE, MULTICAST = "mesh", "tree", "multicast"


@dataclass(frozen=True)
class Network:
    """What carries words between a level and the next inner node."""

    kind: str = MESH
    """`MESH`, `TREE` (adds words up on their way out) or `MULTICAST` (charged by an energy reference table)."""
    name: str = ""
    """Of the component; empty for the mesh that Timeloop puts there by itself, with the energies of the level."""
    hop_pj: float = 0.0
    router_pj: float = 0.0
    ingress_pj: float = 0.0
    """Energy that a mesh takes: a word and hop, a word and router, a word that enters it."""
    adder_pj: float = 0.0
    """Energy that a tree takes for every addition."""
    spreads: bool = False
    """Whether instances of the level may send words to each other's inner nodes (``network-type: M:N``)."""
    latency_cycles: int = 0
    """Cycles that Timeloop adds for every way that it is used for."""
    action: str = ""
    argument: str = ""
    by_data_space: bool = False
    """Which action of its table charges a transfer, which argument of it is the multicast factor, and whether there is
    an action for every data space."""

    @property
    def takes(self) -> bool:
        """Whether it takes energy that the architecture states."""
        return bool(self.hop_pj or self.router_pj or self.ingress_pj or self.adder_pj)


#: What Timeloop puts between two nodes of which nothing is said.
FREE = Network()


@dataclass(frozen=True)
class StorageLevel:
    """One storage level."""

    name: str
    """As in the architecture file and in mappings."""
    path: str
    """Full dotted name as energy tables write it, such as ``system.eyeriss.PE[0..167].psum_spad``."""
    klass: str
    """Component class, such as ``smartbuffer_SRAM``."""
    capacity_words: int | None
    """Words that fit in one instance; None where unlimited."""
    word_bits: int
    block_words: int = 1
    cluster_size: int = 1
    """Width of a word in bits; words moved by one (vector) access; instances that share one access."""
    mesh_x: int = 1
    mesh_y: int = 1
    """Instances along each mesh axis; their product is the number of instances."""
    read_bandwidth_words: float | None = None
    write_bandwidth_words: float | None = None
    shared_bandwidth_words: float | None = None
    """Words per cycle and instance; None where unlimited."""
    bandwidth_scale: tuple[tuple[str, float], ...] = ()
    """How much a word of a data space counts in these, where not as one. Timeloop 4 alone."""
    multiple_buffering: float = 1.0
    """Share of the capacity a tile may not use: effective capacity = capacity / multiple_buffering."""
    min_utilization: float = 0.0
    attributes: Mapping[str, Attribute] = field(default_factory=dict, hash=False)
    """Attributes as given, for energy estimators."""
    timeloop_class: str = ""
    """Class by which Timeloop knows it where that is not ``klass``, which estimators read."""
    network: Network = FREE
    back: Network | None = None
    """The network to the next inner node, and the one on which words come back where that is another."""
    latency_cycles: int = 0
    """Cycles that both ways between it and the next inner node add to a layer, however many words go."""

    @property
    def instances(self) -> int:
        """Number of physical instances."""
        return self.mesh_x * self.mesh_y

    @property
    def is_dram(self) -> bool:
        """Whether Timeloop takes it for a DRAM."""
        return "DRAM" in (self.timeloop_class or self.klass) or self.attributes.get("technology") == "DRAM"

    @cached_property
    def reduces(self) -> bool:
        """Whether it adds up what it receives; where not, outputs travel twice (``HardwareReductionSupported``)."""
        stated = canonical(self.attributes).get("reduction_supported")
        return not self.is_dram if stated is None else bool(stated)

    @property
    def wired(self) -> bool:
        """Whether a network to the next inner node takes energy that the architecture states."""
        return any(network.takes for network in self.networks)

    @property
    def networks(self) -> tuple[Network, ...]:
        """The network to the next inner node and, where words come back on another, that one."""
        return (self.network,) if self.back is None else (self.network, self.back)

    @property
    def effective_words(self) -> int | None:
        """Words of one instance that a tile may fill."""
        return None if self.capacity_words is None else int(self.capacity_words / self.multiple_buffering)


@dataclass(frozen=True)
class ComputeLevel:
    """The multiply-accumulate units below the innermost storage level."""

    name: str
    path: str
    klass: str
    word_bits: int
    mesh_x: int = 1
    mesh_y: int = 1
    attributes: Mapping[str, Attribute] = field(default_factory=dict, hash=False)

    @property
    def instances(self) -> int:
        """Number of physical units."""
        return self.mesh_x * self.mesh_y


@dataclass(frozen=True)
class Architecture:
    """An accelerator: storage levels outermost (DRAM) first, then compute.

    Raises `InputError` where there is no storage, a mesh is not a multiple of the mesh outside it, or a name stands
    twice.
    """

    name: str
    levels: tuple[StorageLevel, ...]
    compute: ComputeLevel
    constraints: tuple[Mapping[str, Any], ...] = field(default=(), hash=False, compare=False)
    """Constraints that stood on the nodes of the file, each with its ``target`` and ``type``."""
    fanout_names: Mapping[str, str] = field(default_factory=dict, hash=False, compare=False)
    """Storage level that carries the fan-out of each container of a v0.4 file, by the container's name."""
    components: tuple[Mapping[str, Any], ...] = field(default=(), hash=False, compare=False)
    """Definitions of compound components that stood in the same file, for energy estimators."""
    plain: bool = field(default=False, hash=False, compare=False)
    """Whether it stood in a file that Timeloop 3.0.3 reads itself (v0.3), so that mappings and constraints must be
    written in words that Timeloop knows, not only its front end (v0.4)."""
    front_end: bool = field(default=False, hash=False, compare=False)
    """Whether that front end reads it before Timeloop does."""
    layer_sizes: tuple[tuple[str, int], ...] = field(default=(), hash=False, compare=False)
    """Sizes of the layer beside it that its expressions read: it is an architecture for layers of these alone."""
    idle: frozenset[str] = field(default=frozenset(), hash=False, compare=False)
    """Containers of a v0.4 file that do not fan out: the front end drops what constraints and mappings say of them."""
    auto_bypass: bool = False
    """Whether a level that a given mapping does not fit is bypassed; searches know no such mapping, as in Timeloop."""

    def __post_init__(self) -> None:
        faults: list[Fault] = []
        if not self.levels:
            faults.append(Fault("has no storage level", None, self.name))
        names = [level.name for level in self.levels]
        for repeated in sorted({name for name in names if names.count(name) > 1}):
            faults.append(Fault("two storage levels have one name", None, self.name, repeated))
        nodes: list[StorageLevel | ComputeLevel] = [*self.levels, self.compute]
        for outer, inner in itertools.pairwise(nodes):
            for axis, a, b in (("meshX", outer.mesh_x, inner.mesh_x), ("meshY", outer.mesh_y, inner.mesh_y)):
                if a < 1 or b < 1 or b % a:
                    faults.append(
                        Fault(f"{axis} is not a multiple of the {axis} {a} of {outer.name}", None, inner.name, b)
                    )
        if self.compute.name in names:
            faults.append(
                Fault("a storage level and the compute level have one name", None, self.name, self.compute.name)
            )
        for level in self.levels:
            if level.instances % level.cluster_size:
                text = f"clusters do not divide the {level.instances} instances of {level.name}"
                faults.append(Fault(text, None, f"{level.name}.cluster_size", level.cluster_size, "a divisor"))
        raise_all(faults)

    @cached_property
    def level_names(self) -> tuple[str, ...]:
        """Names of the storage levels, outermost first."""
        return tuple(level.name for level in self.levels)

    @cached_property
    def charged_networks(self) -> dict[str, Network]:
        """The networks that an energy reference table charges, by their names."""
        return {one.name: one for level in self.levels for one in level.networks if one.kind == MULTICAST}

    @cached_property
    def latency_cycles(self) -> int:
        """Cycles that networks add to a layer."""
        return sum(level.latency_cycles for level in self.levels)

    @cached_property
    def spreading(self) -> tuple[str, ...]:
        """The levels whose instances may send words to each other's inner nodes."""
        return tuple(level.name for level in self.levels if level.network.spreads)

    def level(self, name: str) -> StorageLevel:
        """Return the storage level called ``name``."""
        return self.levels[self.level_names.index(name)]

    @cached_property
    def fanout(self) -> tuple[tuple[int, int], ...]:
        """Physical fan-out (X, Y) from each storage level to the next inner node, outermost first.

        Source: Timeloop ``src/mapping/arch-properties.cpp``, ``ArchProperties::DeriveFanouts``.
        """
        nodes: list[StorageLevel | ComputeLevel] = [*self.levels, self.compute]
        return tuple(
            (inner.mesh_x // outer.mesh_x, inner.mesh_y // outer.mesh_y) for outer, inner in itertools.pairwise(nodes)
        )

    def as_dict(self) -> dict[str, Any]:
        """Return what the model reads as plain data: the identity of the architecture for caches."""
        keys = ("name", "capacity_words", "word_bits", "block_words", "cluster_size", "mesh_x", "mesh_y")
        more = ("read_bandwidth_words", "write_bandwidth_words", "shared_bandwidth_words", "multiple_buffering")
        return {
            "name": self.name,
            "levels": [
                {key: getattr(level, key) for key in (*keys, *more, "min_utilization")}
                | ({} if level.networks == (FREE,) else {"networks": [vars(network) for network in level.networks]})
                | ({"latency_cycles": level.latency_cycles} if level.latency_cycles else {})
                | ({"bandwidth_scale": dict(level.bandwidth_scale)} if level.bandwidth_scale else {})
                for level in self.levels
            ],
            "compute": {key: getattr(self.compute, key) for key in ("name", "word_bits", "mesh_x", "mesh_y")},
        }
