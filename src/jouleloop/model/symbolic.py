"""The model's counts as polynomials in the loop bounds: the same rules as the kernels', written for symbols.

A mapping's counts are sums of products of loop bounds. `symbolic_energies` runs the model's rules on polynomials whose
symbols are the bounds of the nest (and the strides); decisions are taken on the bounds' values, so the result holds on
every nest of the same loops that decides alike, and on the nest at hand always. It shares no code with the kernels, and
tests compare the two.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass, field
from fractions import Fraction

from jouleloop.arch.architecture import Architecture
from jouleloop.energy.costs import EnergyCosts
from jouleloop.errors import MappingError
from jouleloop.mapping.mapping import Mapping
from jouleloop.model.polynomial import Polynomial
from jouleloop.model.semantics import rules_of
from jouleloop.model.support import Use, check_supported, found_in_rules
from jouleloop.model.symbolic_accesses import SymbolicFlow, collapse_flows
from jouleloop.model.symbolic_residual import residual_transfers
from jouleloop.model.symbolic_transfers import ONE, Projection, SymbolicLevel, SymbolicLoop, product, transfers
from jouleloop.workload.problem import Problem


@dataclass(frozen=True)
class Symbol:
    """What a symbol stands for."""

    dimension: str
    """The dimension of a loop; the name of a coefficient (a stride); or ``M/15``: the steps of M in tiles of 15."""
    level: int
    """Position of the loop's level, outermost first; -1 for all else."""
    value: int
    """End of the loop, value of the coefficient, or number of steps."""


@dataclass(frozen=True)
class LevelCosts:
    """What turns the words of a level into energy."""

    block_words: int
    """Words of a vector access."""
    clusters: Polynomial
    """Clusters of instances, each of which makes one access for all its instances."""
    read_pj: Fraction
    write_pj: Fraction
    update_pj: Fraction
    """Energy of a vector read, filled and updated."""


@dataclass(frozen=True)
class SymbolicEnergies:
    """What one nest accesses, as polynomials in its symbols, and what an access costs."""

    symbols: tuple[Symbol, ...]
    """Coefficients of the problem first, then the loops, outermost first; then, where loops end early, the steps of
    tiles, innermost first."""
    words: dict[tuple[str, str], tuple[Polynomial, Polynomial, Polynomial]]
    """By level and data space: scalar reads, fills and updates of one instance."""
    levels: dict[str, LevelCosts]
    """By level: words of a vector access, clusters of instances that access together, and energies."""
    operations: Polynomial
    """Multiply-accumulates."""
    flows: dict[tuple[str, str], SymbolicFlow] = field(default_factory=dict)
    """By level and data space: what passes below it."""
    instances: dict[str, Polynomial] = field(default_factory=dict)
    """By level: utilized instances."""
    meshes: dict[str, tuple[int, int]] = field(default_factory=dict)
    """By level: columns and rows of the mesh below."""
    sound: bool = True
    """Whether networks of type M:N take what is sent; where not, Timeloop ends."""

    def energy_pj(self, level: str, space: str) -> Fraction:
        """Return the energy of one data space at one level: accesses are whole vectors."""
        costs = self.levels[level]
        reads, fills, updates = (-(-words.value // costs.block_words) for words in self.words[level, space])
        each_pj = reads * costs.read_pj + fills * costs.write_pj + updates * costs.update_pj
        return each_pj * costs.clusters.value


def symbolic_energies(
    problem: Problem,
    arch: Architecture,
    costs: EnergyCosts,
    mapping: Mapping,
    semantics: str = "timeloop-3.0.3",
    sizes: Collection[str] | None = None,
) -> SymbolicEnergies:
    """Return the energies of ``mapping`` as polynomials in its loop bounds.

    The mapping is taken to be valid (see `jouleloop.mapping.validate`).

    Parameters
    ----------
    sizes
        Dimensions and coefficients that are symbols, all others being numbers; None is all.
    """
    rules = rules_of(semantics)
    if mapping.imperfect:
        check_supported(Use.LAWS, found_in_rules(rules), MappingError)
    symbols = _Symbols(sizes)
    coefficients, levels = _nest(problem, arch, mapping, symbols)
    bounds, passes = _passes(problem, mapping, symbols) if mapping.imperfect else ([], [])
    keep = [level.keep for level in reversed(mapping.levels)]
    kept = [[space.name in names for names in keep] for space in problem.data_spaces]
    dims = len(problem.shape.dimensions)
    coefs = [_projection(problem, position, coefficients) for position in range(len(problem.data_spaces))]
    operations = product([loop.bound for level in levels for loop in (*level.temporal, *level.spatial)])
    if mapping.imperfect:
        counted = [residual_transfers(coef, levels, bounds, passes, own) for coef, own in zip(coefs, kept, strict=True)]
        flows = [flow for flow, _ in counted]
        units = product([loop.bound for level in levels for loop in level.spatial])
        operations = (counted[0][1] * units).rounded(math.floor)
    else:
        flows = [transfers(coef, levels, dims, resting=rules.zero_shift_keeps_last) for coef in coefs]
    fanout = [product([loop.bound for loop in level.spatial]) for level in levels]
    instances = [product(fanout[index + 1 :]) for index in range(len(levels))]
    elided = rules.first_fills_elided
    spreads = [level.network.spreads for level in reversed(arch.levels)]
    words: dict[tuple[str, str], tuple[Polynomial, Polynomial, Polynomial]] = {}
    below: dict[tuple[str, str], SymbolicFlow] = {}
    sound = True
    for space, own, flow in zip(problem.data_spaces, kept, flows, strict=True):
        written = space.read_write
        accesses = collapse_flows(flow, own, fanout, instances, read_write=written, elided=elided, spreads=spreads)
        sound = sound and accesses is not None
        for level, stored, one, counts in zip(reversed(arch.levels), own, flow, accesses or (), strict=False):
            below[level.name, space.name] = one
            if stored:
                words[level.name, space.name] = (counts.reads, counts.fills, counts.updates)
    names = [level.name for level in reversed(arch.levels)]
    used = dict(zip(names, instances, strict=True))
    meshes = {name: (level.columns, level.rows) for name, level in zip(names, levels, strict=True)}
    priced = _level_costs(arch, costs, instances, later=rules.charges_updates)
    return SymbolicEnergies(tuple(symbols.known), words, priced, operations, below, used, meshes, sound)


def _level_costs(
    arch: Architecture, costs: EnergyCosts, instances: list[Polynomial], *, later: bool
) -> dict[str, LevelCosts]:
    """Return by level what turns words into energy, of so many utilized instances; ``later``: updates have a price."""
    by_name = {entry.level: entry for entry in costs.levels}
    priced = {}
    for level, utilized in zip(reversed(arch.levels), instances, strict=True):
        most = max(1, level.instances // level.cluster_size)
        clusters = utilized if utilized.value <= most else Polynomial.constant(most)
        each_pj = by_name[level.name].charged_pj(later=later)
        priced[level.name] = LevelCosts(level.block_words, clusters, *map(Fraction, each_pj))
    return priced


class _Symbols:
    """The symbols of a nest, in order."""

    def __init__(self, sizes: Collection[str] | None) -> None:
        self.sizes = sizes
        self.known: list[Symbol] = []

    def add(self, size: str, level: int, value: int, name: str = "") -> Polynomial:
        """Enter a symbol, and return it; a number where what belongs to ``size`` is one."""
        self.known.append(Symbol(name or size, level, value))
        if self.sizes is not None and size not in self.sizes:
            return Polynomial.constant(value)
        return Polynomial.symbol(len(self.known) - 1, value)


def nest_symbols(problem: Problem, arch: Architecture, mapping: Mapping, *, early: bool) -> tuple[Symbol, ...]:
    """Return the symbols of a nest; ``early``: as if a loop ended early, whether one does or not."""
    symbols = _Symbols(())
    _nest(problem, arch, mapping, symbols)
    if early:
        _passes(problem, mapping, symbols)
    return tuple(symbols.known)


def _nest(
    problem: Problem, arch: Architecture, mapping: Mapping, symbols: _Symbols
) -> tuple[dict[str, Polynomial], list[SymbolicLevel]]:
    """Return the coefficients by name, and the levels from the innermost outward; their symbols are entered."""
    dims = {name: index for index, name in enumerate(problem.shape.dimensions)}
    coefficients = {name: symbols.add(name, -1, value) for name, value in problem.coefficient.items()}
    levels = []
    for position, level in enumerate(mapping.levels):
        along = {"X": 1, "Y": 1}
        temporal = [SymbolicLoop(dims[d], symbols.add(d, position, b)) for d, b in level.temporal if b > 1]
        spatial = []
        for d, b, axis in level.spatial:
            if b > 1:
                spatial.append(SymbolicLoop(dims[d], symbols.add(d, position, b)))
                along[axis] *= b
        x, y = arch.fanout[position]
        levels.append(SymbolicLevel(temporal, spatial, max(along["X"], x), max(along["Y"], y)))
    return coefficients, levels[::-1]


def _passes(problem: Problem, mapping: Mapping, symbols: _Symbols) -> tuple[list[Polynomial], list[list[Polynomial]]]:
    """Return bounds and, by level from the innermost outward, the steps of every loop: spatial ones first.

    Their symbols are entered, one for all loops of as large a tile.
    """
    known: dict[str, Polynomial] = {}

    def steps(dimension: str, tile: int) -> Polynomial:
        name = f"{dimension}/{tile}"
        if name not in known:
            known[name] = symbols.add(dimension, -1, -(-problem.bound[dimension] // tile), name)
        return known[name]

    tile = dict.fromkeys(problem.shape.dimensions, 1)
    found = []
    for level in reversed(mapping.levels):
        inward: list[list[Polynomial]] = []
        for first, after in ((len(level.temporal), None), (0, len(level.temporal))):
            kind = []
            for d, end in reversed(level.loops[first:after]):
                if end > 1:
                    kind.append(steps(d, tile[d]))
                    tile[d] *= end
            inward.append(kind[::-1])
        found.append([*inward[0], *inward[1]])
    return [steps(d, 1) if size > 1 else ONE for d, size in problem.bound.items()], found


def _projection(problem: Problem, position: int, coefficients: dict[str, Polynomial]) -> Projection:
    dims = {name: index for index, name in enumerate(problem.shape.dimensions)}
    return [
        {dims[t.dimension]: ONE if t.coefficient is None else coefficients[t.coefficient] for t in rank}
        for rank in problem.data_spaces[position].projection
    ]
