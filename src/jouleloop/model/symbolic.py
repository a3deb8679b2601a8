"""The model's counts as polynomials in the loop bounds: the same rules as the kernels', written for symbols.

A mapping's counts are sums of products of loop bounds. `symbolic_energies` runs the model's rules on polynomials whose
symbols are the bounds of the nest (and the strides); decisions are taken on the bounds' values, so the result holds on
every nest of the same loops that decides alike, and on the nest at hand always. It shares no code with the kernels, and
tests compare the two.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from jouleloop.arch.architecture import Architecture
from jouleloop.energy.costs import EnergyCosts
from jouleloop.mapping.mapping import Mapping
from jouleloop.model.evaluate import first_fills_elided
from jouleloop.model.polynomial import Polynomial
from jouleloop.model.symbolic_accesses import collapse_flows
from jouleloop.model.symbolic_transfers import ONE, Level, Loop, Projection, product, transfers
from jouleloop.workload.problem import Problem


@dataclass(frozen=True)
class Symbol:
    """What a symbol stands for.

    Attributes
    ----------
    dimension
        The dimension of a loop; the name of a coefficient (a stride) otherwise.
    level
        Position of the loop's level, outermost first; -1 for a coefficient.
    value
        Bound of the loop, or value of the coefficient.
    """

    dimension: str
    level: int
    value: int


@dataclass(frozen=True)
class LevelCosts:
    """What turns the words of a level into energy.

    Attributes
    ----------
    block_words
        Words of a vector access.
    clusters
        Clusters of instances, each of which makes one access for all its instances.
    read_pj, write_pj
        Energy of a vector access.
    """

    block_words: int
    clusters: Polynomial
    read_pj: Fraction
    write_pj: Fraction


@dataclass(frozen=True)
class SymbolicEnergies:
    """What one nest accesses, as polynomials in its symbols, and what an access costs.

    Attributes
    ----------
    symbols
        Coefficients of the problem first, then the loops, outermost first.
    words
        By level and data space: scalar reads, fills and updates of one instance.
    levels
        By level: words of a vector access, clusters of instances that access together, and energies.
    operations
        Multiply-accumulates.
    """

    symbols: tuple[Symbol, ...]
    words: dict[tuple[str, str], tuple[Polynomial, Polynomial, Polynomial]]
    levels: dict[str, LevelCosts]
    operations: Polynomial

    def energy_pj(self, level: str, space: str) -> Fraction:
        """Return the energy of one data space at one level: accesses are whole vectors."""
        costs = self.levels[level]
        reads, *writes = (math.ceil(words.value / costs.block_words) for words in self.words[level, space])
        return (reads * costs.read_pj + sum(writes) * costs.write_pj) * costs.clusters.value


def symbolic_energies(
    problem: Problem, arch: Architecture, costs: EnergyCosts, mapping: Mapping, semantics: str = "timeloop-3.0.3"
) -> SymbolicEnergies:
    """Return the energies of ``mapping`` as polynomials in its loop bounds.

    The mapping is taken to be valid (see `jouleloop.mapping.validate`).
    """
    symbols, coefficients, levels = _nest(problem, arch, mapping)
    flows = [
        transfers(_projection(problem, position, coefficients), levels, len(problem.shape.dimensions))
        for position in range(len(problem.data_spaces))
    ]
    fanout = [product([loop.bound for loop in level.spatial]) for level in levels]
    instances = [product(fanout[index + 1 :]) for index in range(len(levels))]
    keep = [level.keep for level in reversed(mapping.levels)]
    elided = first_fills_elided(semantics)
    words: dict[tuple[str, str], tuple[Polynomial, Polynomial, Polynomial]] = {}
    for space, flow in zip(problem.data_spaces, flows, strict=True):
        kept = [space.name in names for names in keep]
        accesses = collapse_flows(flow, kept, fanout, instances, read_write=space.read_write, elided=elided)
        for level, stored, counts in zip(reversed(arch.levels), kept, accesses, strict=True):
            if stored:
                words[level.name, space.name] = (counts.reads, counts.fills, counts.updates)
    by_name = {entry.level: entry for entry in costs.levels}
    priced = {}
    for level, utilized in zip(reversed(arch.levels), instances, strict=True):
        most = max(1, level.instances // level.cluster_size)
        clusters = utilized if utilized.value <= most else Polynomial.constant(most)
        entry = by_name[level.name]
        priced[level.name] = LevelCosts(level.block_words, clusters, Fraction(entry.read_pj), Fraction(entry.write_pj))
    operations = product([loop.bound for level in levels for loop in (*level.temporal, *level.spatial)])
    return SymbolicEnergies(symbols, words, priced, operations)


def _nest(
    problem: Problem, arch: Architecture, mapping: Mapping
) -> tuple[tuple[Symbol, ...], dict[str, Polynomial], list[Level]]:
    """Return the symbols, the coefficients by name, and the levels from the innermost outward."""
    symbols: list[Symbol] = []

    def symbol(name: str, level: int, value: int) -> Polynomial:
        symbols.append(Symbol(name, level, value))
        return Polynomial.symbol(len(symbols) - 1, value)

    dims = {name: index for index, name in enumerate(problem.shape.dimensions)}
    coefficients = {name: symbol(name, -1, value) for name, value in problem.coefficient.items()}
    levels = []
    for position, level in enumerate(mapping.levels):
        along = {"X": 1, "Y": 1}
        temporal = [Loop(dims[d], symbol(d, position, b)) for d, b in level.temporal if b > 1]
        spatial = []
        for d, b, axis in level.spatial:
            if b > 1:
                spatial.append(Loop(dims[d], symbol(d, position, b)))
                along[axis] *= b
        x, y = arch.fanout[position]
        levels.append(Level(temporal, spatial, max(along["X"], x), max(along["Y"], y)))
    return tuple(symbols), coefficients, levels[::-1]


def _projection(problem: Problem, position: int, coefficients: dict[str, Polynomial]) -> Projection:
    dims = {name: index for index, name in enumerate(problem.shape.dimensions)}
    return [
        {dims[t.dimension]: ONE if t.coefficient is None else coefficients[t.coefficient] for t in rank}
        for rank in problem.data_spaces[position].projection
    ]
