"""The laws behind the bars: energies as exact sums over the layer's sizes, and the classes of points that share one.

Every access count of a mapping is a sum of products of loop bounds. The product of all loops of a dimension is the
dimension's size; so once one loop of every dimension is taken to grow with the layer and the others to stay as they
are, a count is a polynomial in the sizes (mn, n, m, 1 for a fully-connected layer), and its coefficients are ratios of
the loops that stay. Times the energy per access that is the law of the point. Which loop grows is free at a single
point; it is chosen so that the fewest laws hold for all points of a sweep.

Where loops end early, a count is a polynomial in the steps of tiles as well, ⌈M / 15⌉: every tile inside the growing
loop stays as it is, and so do the loops outside it.
"""

import hashlib
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from jouleloop.model.polynomial import Exact, Polynomial, exponents, ratio
from jouleloop.model.symbolic import LevelCosts, Symbol, SymbolicEnergies

#: A product of sizes: (name, exponent) of each, by name; empty for the constant. ``M/15`` stands for ⌈M / 15⌉.
Monomial = tuple[tuple[str, int], ...]
Terms = tuple[tuple[Monomial, Exact], ...]
#: Place of a term: level and data space, or ('', '') for the compute units.
Place = tuple[str, str]

COMPUTE: Place = ("", "")
#: No number of a law.
NONE = -1
#: Laws of a nest that stay in memory, and choices of loops that are looked at.
_KNOWN, _MOST_CHOICES = 1024, 64
#: By size: the symbol that grows with it.
Growing = Sequence[tuple[str, int]]

IntArray = npt.NDArray[np.int64]

_Powers = tuple[tuple[tuple[int, int], ...], Exact]


@dataclass(frozen=True)
class Law:
    """How many accesses a mapping makes, as polynomials in the layer's sizes."""

    counts: tuple[tuple[Place, Terms, Terms], ...]
    """By level and data space: vector reads and vector writes of all instances; by `COMPUTE`: operations and nothing. A
    last vector that is not full counts as its share, and words are not rounded: what that leaves is no polynomial
    (`NestLaws.partial_pj`)."""

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
    """A law that a point obeys, and how it comes about."""

    number: int
    """Equal for equal laws: 63 bits of a digest."""
    law: Law
    growing: tuple[tuple[str, int], ...]
    """By size: the symbol (a loop, or a stride) that grows with it."""
    ceilings: bool = False
    """Whether the loop is the size over all other loops of it, rounded up; else it divides."""


def action_pj(levels: Mapping[str, LevelCosts], place: Place, compute_pj: Fraction) -> tuple[Fraction, Fraction]:
    """Return the energy of a vector read and of a vector write; that of an operation for the compute units."""
    if place == COMPUTE:
        return compute_pj, Fraction(0)
    return levels[place[0]].read_pj, levels[place[0]].write_pj


class _Sizes(dict[str, int]):
    """Sizes by name, and the steps of their tiles."""

    def __missing__(self, name: str) -> int:
        size, _, tile = name.partition("/")
        self[name] = -(-self[size] // int(tile))
        return self[name]


def evaluate(terms: Terms, sizes: Mapping[str, int]) -> Exact:
    """Return the value of a polynomial at these sizes."""
    return _counted(terms, _Sizes(sizes))


class NestLaws:
    """All laws of the nests that one symbolic count holds for; computed once for equal loops."""

    def __init__(self, symbolic: SymbolicEnergies, sizes: Sequence[str]) -> None:
        """Take the polynomials apart.

        Parameters
        ----------
        sizes
            The dimensions and coefficients that laws are expressed in; all others are numbers.
        """
        self.symbolic = symbolic
        symbols = symbolic.symbols
        values = [symbol.value for symbol in symbols]
        self.terms: list[tuple[Place, list[_Powers], list[_Powers]]] = []
        self._words: list[tuple[LevelCosts, Place, list[_Powers], list[tuple[list[_Powers], Exact, Fraction]]]] = []
        for place, words in symbolic.words.items():
            level = symbolic.levels[place[0]]
            reads, fills, updates = words
            whole = level.clusters.times(Fraction(1, level.block_words))
            self.terms.append((place, _apart(reads * whole), _apart((fills + updates) * whole)))
            actions = zip(words, (level.read_pj, level.write_pj, level.write_pj), strict=True)
            parts = [(_apart(count), count.value, cost) for count, cost in actions if count.terms or count.value]
            rounded = [(terms, value - _counted(terms, values), cost) for terms, value, cost in parts]
            self._words.append((level, place, _apart(level.clusters), rounded))
        self.terms.append((COMPUTE, _apart(symbolic.operations), []))
        #: By size: its loops (or the stride), outermost first, and the steps of its tiles, innermost first.
        self._loops = _by_size(symbols, sizes, lambda name: name)
        self._steps = _by_size(symbols, sizes, lambda name: name.partition("/")[0] if "/" in name else "")
        #: Whether laws are in the steps of tiles.
        self.ceilings = any("/" in symbol.dimension for symbol in symbols)
        # Most laws hold for many points, but those of loops that do not grow with the layer hold for few: not all stay.
        self._known = lru_cache(_KNOWN)(self._law)

    def energies_pj(self, values: Sequence[int]) -> tuple[dict[Place, float], Exact]:
        """Return the energies on a nest of these loop bounds.

        Returns
        -------
        tuple
            By level and data space; and what whole words and vectors that are not full cost beyond the law.
        """
        result = {}
        partial: Exact = 0
        for level, place, clusters, parts in self._words:
            each: Exact = 0
            beyond: Exact = 0
            for terms, rounding, cost in parts:
                words = _counted(terms, values)
                vectors = -(-(words + rounding) // level.block_words)
                each += vectors * cost
                empty = vectors * level.block_words - words
                if empty:
                    beyond += empty * cost
            units = _counted(clusters, values)
            result[place] = float(each * units)
            if beyond:
                partial += beyond * units * Fraction(1, level.block_words)
        return result, partial

    def agrees(self, other: "NestLaws", values: Sequence[int], own: Sequence[int]) -> bool:
        """Return whether the words on a nest with ``values`` are those of ``other`` with its ``own`` values."""
        return all(
            place == place_too and all(_counted(a, values) == _counted(b, own) for a, b in zip(mine, its, strict=True))
            for (place, *mine), (place_too, *its) in zip(self.terms, other.terms, strict=True)
        )

    def laws(self, symbols: Sequence[Symbol]) -> Iterator[LawPoint]:
        """Yield the law of every choice of growing loops on a nest of these symbols, outer loops first.

        Where many sizes vary at once, of so many choices the first `_MOST_CHOICES`.
        """
        values = [symbol.value for symbol in symbols]
        for choice in itertools.islice(itertools.product(*self._loops.values()), _MOST_CHOICES):
            growing = tuple(zip(self._loops, choice, strict=True))
            names = self._names(symbols, growing)
            if names is None:
                continue
            stay = tuple(0 if i in names else value for i, value in enumerate(values))
            yield LawPoint(*self._known(stay, tuple(names.items())), growing, self.ceilings)

    def _names(self, symbols: Sequence[Symbol], growing: Growing) -> dict[int, tuple[str, int]] | None:
        """Return what stands for the symbols that grow: a size over a number, or the steps of a tile.

        None where a loop has more steps than it needs: then it is no function of the size.
        """
        names = {}
        for size, index in growing:
            loops = self._loops[size]
            others = math.prod(symbols[other].value for other in loops if other != index)
            if not self.ceilings:
                names[index] = size, others
                continue
            steps = self._steps.get(size, [])
            # Tiles inside the growing loop stay: the size gives the steps of the loops inside it, and its own.
            for at in steps[: len(loops) - loops.index(index)]:
                names[at] = _tiled(*symbols[at].dimension.split("/")), 1
            names[index] = _tiled(size, others), 1
            bound = symbols[steps[0]].value if steps else symbols[index].value
            if -(-bound // others) != symbols[index].value:
                return None
        return names

    def _law(self, values: Sequence[int], named: Iterable[tuple[int, tuple[str, int]]]) -> tuple[int, Law]:
        """Return the number and the law where names stand for symbols, each over a number."""
        names = dict(named)

        def substituted(terms: list[_Powers]) -> Terms:
            total: dict[Monomial, Exact] = {}
            for powers, coefficient in terms:
                monomial: dict[str, int] = {}
                over = under = 1
                for index, exponent in powers:
                    factor, power = values[index], exponent
                    if index in names:
                        name, factor = names[index]
                        power = -exponent
                        monomial[name] = monomial.get(name, 0) + exponent
                    if power > 0:
                        over *= factor**power
                    else:
                        under *= factor**-power
                key = tuple(sorted((name, power) for name, power in monomial.items() if power))
                total[key] = total.get(key, 0) + coefficient * (over if under == 1 else ratio(over, under))
            return _sorted(total)

        law = Law(tuple((place, substituted(reads), substituted(writes)) for place, reads, writes in self.terms))
        # A number is kept beside points: it is the same in every process, and never `NONE`.
        number = int.from_bytes(hashlib.blake2b(repr(law).encode(), digest_size=8).digest()) >> 1
        return number, law


def _by_size(symbols: Sequence[Symbol], sizes: Sequence[str], owner: Callable[[str], str]) -> dict[str, list[int]]:
    found = {size: [i for i, symbol in enumerate(symbols) if owner(symbol.dimension) == size] for size in sizes}
    return {size: indices for size, indices in found.items() if indices}


def _tiled(size: str, tile: int | str) -> str:
    return size if int(tile) == 1 else f"{size}/{tile}"


def fewest_laws(points: IntArray, laws: IntArray, count: int) -> IntArray:
    """Choose one law for every point so that few laws hold for all of them (greedy cover).

    The law that most of the points without one obey is given to them, until all have one; of equally common laws the
    one first met, so the result does not depend on anything but the order of the points.

    Parameters
    ----------
    points, laws
        Pairs of a point and the number of a law that it obeys, each once, by rising point: shape (pairs,).
    count
        How many points there are.

    Returns
    -------
    array
        Number of each point's law, `NONE` where it obeys none: shape (count,).
    """
    numbers, first, law_of = np.unique(laws, return_index=True, return_inverse=True)
    counts = np.bincount(law_of, minlength=len(numbers))
    pairs_by_law = np.argsort(law_of, kind="stable")
    of_law = np.concatenate([[0], np.cumsum(counts)])
    of_point = np.searchsorted(points, np.arange(count + 1))
    chosen = np.full(count, NONE, dtype=np.int64)
    met = np.argsort(first, kind="stable")
    while counts.any():
        best = met[np.argmax(counts[met])]
        own = points[pairs_by_law[of_law[best] : of_law[best + 1]]]
        own = own[chosen[own] == NONE]
        chosen[own] = numbers[best]
        lengths = of_point[own + 1] - of_point[own]
        ends = np.cumsum(lengths)
        pairs = np.arange(lengths.sum()) + np.repeat(of_point[own] - (ends - lengths), lengths)
        counts -= np.bincount(law_of[pairs], minlength=len(numbers))
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
        total += coefficient * (over if under == 1 else ratio(over, under))
    return total


def _apart(polynomial: Polynomial) -> list[_Powers]:
    return [(tuple(exponents(key)), value) for key, value in polynomial.terms.items()]


def _sorted(total: Mapping[Monomial, Exact]) -> Terms:
    """Sort by falling degree, then by name; drop zeros."""
    kept = [(monomial, coefficient) for monomial, coefficient in total.items() if coefficient]
    return tuple(sorted(kept, key=lambda term: (-sum(e for _, e in term[0]), term[0])))
