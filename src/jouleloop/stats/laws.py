"""The laws behind the bars: energies as exact sums over the layer's sizes, and the classes of points that share one.

Every access count of a mapping is a sum of products of loop bounds. The product of all loops of a dimension is the
dimension's size; so once one loop of every dimension is taken to grow with the layer and the others to stay as they
are, a count is a polynomial in the sizes (mn, n, m, 1 for a fully-connected layer), and its coefficients are ratios of
the loops that stay. Times the energy per access that is the law of the point. Which loop grows is free at a single
point; it is chosen so that the fewest laws hold for all points of a sweep.
"""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from jouleloop.model.polynomial import Polynomial, exponents
from jouleloop.model.symbolic import LevelCosts, SymbolicEnergies

#: A product of sizes: (name, exponent) of each, by name; empty for the constant.
Monomial = tuple[tuple[str, int], ...]
#: A whole number is an integer, which is ten times as fast.
Exact = int | Fraction
Terms = tuple[tuple[Monomial, Exact], ...]
#: Place of a term: level and data space, or ('', '') for the compute units.
Place = tuple[str, str]

COMPUTE: Place = ("", "")

_Powers = tuple[tuple[tuple[int, int], ...], Exact]


@dataclass(frozen=True)
class Law:
    """How many accesses a mapping makes, as polynomials in the layer's sizes.

    Attributes
    ----------
    counts
        By level and data space: vector reads and vector writes of all instances; by `COMPUTE`: operations and nothing.
        A last vector that is not full counts as its share: what it costs beyond that is no polynomial
        (`NestLaws.partial_pj`).
    """

    counts: tuple[tuple[Place, Terms, Terms], ...]

    def energy_terms(self, levels: Mapping[str, LevelCosts], compute_pj: Fraction) -> "EnergyLaw":
        """Return the law in pJ."""
        data: dict[Monomial, Exact] = {}
        compute: dict[Monomial, Exact] = {}
        for place, reads, writes in self.counts:
            costs = action_pj(levels, place, compute_pj)
            total = compute if place == COMPUTE else data
            for terms, cost in zip((reads, writes), costs, strict=True):
                for monomial, number in terms:
                    total[monomial] = total.get(monomial, Fraction(0)) + number * cost
        return EnergyLaw(_sorted(data), _sorted(compute))


@dataclass(frozen=True)
class EnergyLaw:
    """Energy as a polynomial in the layer's sizes, exact, in pJ: of all storage accesses, and of the operations."""

    data_pj: Terms
    compute_pj: Terms

    @property
    def total_pj(self) -> Terms:
        """The total energy."""
        total = dict(self.data_pj)
        for monomial, coefficient in self.compute_pj:
            total[monomial] = total.get(monomial, Fraction(0)) + coefficient
        return _sorted(total)


@dataclass(frozen=True)
class LawPoint:
    """A law that a point obeys, and how it comes about.

    Attributes
    ----------
    number
        Of the law, in its `LawBook`.
    growing
        By size: the symbol (a loop, or a stride) that grows with it.
    """

    number: int
    growing: tuple[tuple[str, int], ...]


def action_pj(levels: Mapping[str, LevelCosts], place: Place, compute_pj: Fraction) -> tuple[Fraction, Fraction]:
    """Return the energy of a vector read and of a vector write; that of an operation for the compute units."""
    if place == COMPUTE:
        return compute_pj, Fraction(0)
    return levels[place[0]].read_pj, levels[place[0]].write_pj


class LawBook:
    """Laws by number, each once."""

    def __init__(self) -> None:
        self.laws: list[Law] = []
        self._numbers: dict[Law, int] = {}

    def number(self, law: Law) -> int:
        """Return the number of ``law``, entering it where it is new."""
        if law not in self._numbers:
            self._numbers[law] = len(self.laws)
            self.laws.append(law)
        return self._numbers[law]


def evaluate(terms: Terms, sizes: Mapping[str, int]) -> Exact:
    """Return the value of a polynomial at these sizes."""
    return _counted(terms, sizes)


class NestLaws:
    """All laws of the nests that one symbolic count holds for; computed once for equal loops."""

    def __init__(self, symbolic: SymbolicEnergies, sizes: Sequence[str], book: LawBook) -> None:
        """Take the polynomials apart.

        Parameters
        ----------
        sizes
            The dimensions and coefficients that laws are expressed in; all others are numbers.
        book
            Where laws are entered.
        """
        self.symbolic = symbolic
        self.book = book
        self._terms: list[tuple[Place, list[_Powers], list[_Powers]]] = []
        self._words: list[tuple[LevelCosts, Place, list[_Powers], list[tuple[list[_Powers], Fraction]]]] = []
        for place, words in symbolic.words.items():
            level = symbolic.levels[place[0]]
            reads, fills, updates = words
            whole = level.clusters.times(Fraction(1, level.block_words))
            self._terms.append((place, _apart(reads * whole), _apart((fills + updates) * whole)))
            actions = zip(words, (level.read_pj, level.write_pj, level.write_pj), strict=True)
            parts = [(_apart(count), cost) for count, cost in actions if count.terms]
            self._words.append((level, place, _apart(level.clusters), parts))
        self._terms.append((COMPUTE, _apart(symbolic.operations), []))
        loops = {size: [i for i, symbol in enumerate(symbolic.symbols) if symbol.dimension == size] for size in sizes}
        self._loops = {size: indices for size, indices in loops.items() if indices}
        self._known: dict[tuple[int, ...], int] = {}

    def energies_pj(self, values: Sequence[int]) -> dict[Place, float]:
        """Return the energies by level and data space on a nest of these loop bounds."""
        result = {}
        for level, place, clusters, parts in self._words:
            vectors = sum(-(-_counted(terms, values) // level.block_words) * cost for terms, cost in parts)
            result[place] = float(vectors * _counted(clusters, values))
        return result

    def partial_pj(self, values: Sequence[int]) -> Fraction:
        """Return what last vectors that are not full cost beyond their share, on a nest of these loop bounds."""
        total = Fraction(0)
        for level, _, clusters, parts in self._words:
            for terms, cost in parts:
                short = -_counted(terms, values) % level.block_words
                if short:
                    total += Fraction(short) / level.block_words * cost * _counted(clusters, values)
        return total

    def laws(self, values: Sequence[int], most: int = 64) -> list[LawPoint]:
        """Return the law of every choice of growing loops on a nest of these bounds, outer loops first.

        Parameters
        ----------
        most
            Where there are more choices than this (many sizes that vary at once), the first of them.
        """
        found = []
        for choice in itertools.islice(itertools.product(*self._loops.values()), most):
            key = (*choice, -1, *(0 if i in choice else value for i, value in enumerate(values)))
            if key not in self._known:
                self._known[key] = self.book.number(self._law(values, dict(zip(choice, self._loops, strict=True))))
            found.append(LawPoint(self._known[key], tuple(zip(self._loops, choice, strict=True))))
        return found

    def _law(self, values: Sequence[int], growing: Mapping[int, str]) -> Law:
        """Return the law when the symbols ``growing`` are the size, divided by all other loops of it."""
        rest = {
            index: math.prod(values[other] for other in self._loops[size] if other != index)
            for index, size in growing.items()
        }

        def substituted(terms: list[_Powers]) -> Terms:
            total: dict[Monomial, Exact] = {}
            for powers, coefficient in terms:
                monomial = []
                over = under = 1
                for index, exponent in powers:
                    factor, power = values[index], exponent
                    if index in growing:
                        factor, power = rest[index], -exponent
                        monomial.append((growing[index], exponent))
                    if power > 0:
                        over *= factor**power
                    else:
                        under *= factor**-power
                key = tuple(sorted(monomial))
                total[key] = total.get(key, 0) + coefficient * _ratio(over, under)
            return _sorted(total)

        return Law(tuple((place, substituted(reads), substituted(writes)) for place, reads, writes in self._terms))


def fewest_laws(candidates: Sequence[Sequence[LawPoint]]) -> list[LawPoint | None]:
    """Choose one law for every point so that few laws hold for all of them (greedy cover).

    The law that most of the points without one obey is given to them, until all have one; of equally common laws the
    one first met, so the result does not depend on anything but the order of the points. None for points without laws.
    """
    chosen: list[LawPoint | None] = [None] * len(candidates)
    holders: dict[int, dict[int, LawPoint]] = {}
    for point, laws in enumerate(candidates):
        for entry in laws:
            holders.setdefault(entry.number, {}).setdefault(point, entry)
    counts = {number: len(points) for number, points in holders.items()}
    while counts and max(counts.values()):
        best = max(counts, key=lambda number: counts[number])
        for point, entry in holders[best].items():
            if chosen[point] is None:
                chosen[point] = entry
                for number in {other.number for other in candidates[point]}:
                    counts[number] -= 1
    return chosen


def _counted(terms: Iterable[tuple[Iterable[tuple[Any, int]], Exact]], values: Any) -> Exact:
    """Return the value of a sum of products of powers, ``values`` by what stands for a factor."""
    total: Exact = 0
    for powers, coefficient in terms:
        over = under = 1
        for index, exponent in powers:
            if exponent > 0:
                over *= values[index] ** exponent
            else:
                under *= values[index] ** -exponent
        total += coefficient * _ratio(over, under)
    return total


def _ratio(over: int, under: int) -> Exact:
    return Fraction(over, under) if over % under else over // under


def _apart(polynomial: Polynomial) -> list[_Powers]:
    return [(tuple(exponents(key)), _ratio(*value.as_integer_ratio())) for key, value in polynomial.terms.items()]


def _sorted(total: Mapping[Monomial, Exact]) -> Terms:
    """Sort by falling degree, then by name; drop zeros."""
    kept = [(monomial, coefficient) for monomial, coefficient in total.items() if coefficient]
    return tuple(sorted(kept, key=lambda term: (-sum(e for _, e in term[0]), term[0])))
