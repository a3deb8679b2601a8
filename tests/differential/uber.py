"""Timeloop's mapspace restated from its source: every factorization, order, split and bypass it would visit.

Source: Timeloop 3.0.3, ``src/mapspaces/uber.cpp``, ``src/mapspaces/subspaces.cpp``, ``src/mapping/constraints.cpp``,
``src/mapping/arch-properties.cpp`` and ``src/util/numeric.cpp``. Storage and tiling levels are counted from the
innermost outward, loops of a level from the innermost outward, as there.
"""

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from differential.case import Case, fanouts, targets

_EXACT = re.compile(r"([A-Za-z]+)\s*=*\s*([0-9]+)")
_MOST = re.compile(r"([A-Za-z]+)\s*<=\s*([0-9]+)")
_LEAST = re.compile(r"([A-Za-z]+)\s*>=\s*([0-9]+)")

Order = tuple[int, ...]
#: Loops of bound above 1 of one spatial level, innermost first: (dimension, factor, "X" or "Y").
Arrangement = tuple[tuple[int, int, str], ...]


class RefusedError(Exception):
    """Timeloop ends with an error at these constraints."""


@dataclass
class Tiling:
    """One tiling level: the temporal loops of a storage level, or the spatial ones below it.

    Attributes
    ----------
    storage
        Index of the storage level.
    fan_x, fan_y
        Fan-out of a spatial level; 0 for a temporal one.
    exact, most, least
        Factors by dimension that are fixed or limited.
    ignored
        Dimensions with a fixed factor above their bound, which Timeloop passes over with a warning.
    prefix, suffix
        Dimensions whose places are given, innermost and outermost.
    split
        How many loops lie on X, where given.
    canonical
        Whether loops stand in the order of the problem's dimensions whatever the user says.
    """

    storage: int
    fan_x: int = 0
    fan_y: int = 0
    exact: dict[int, int] = field(default_factory=dict)
    most: dict[int, int] = field(default_factory=dict)
    least: dict[int, int] = field(default_factory=dict)
    ignored: set[int] = field(default_factory=set)
    prefix: Order = ()
    suffix: Order = ()
    split: int | None = None
    canonical: bool = False

    @property
    def spatial(self) -> bool:
        """Whether its loops are unrolled."""
        return self.fan_x > 0

    def orders(self, factors: Sequence[int]) -> Iterator[Order]:
        """Yield every order of all dimensions (``PermutationSpace::InitLevel`` after ``Uber::InitPruned``)."""
        dims = range(len(factors))
        if self.canonical:
            yield tuple(dims)
            return
        # A split given by the user counts positions of loops of bound 1 too, so these keep their places.
        pruned = [] if self.split is not None else [d for d in dims if factors[d] == 1]
        prefix = (*pruned, *(d for d in self.prefix if d not in pruned))
        suffix = tuple(d for d in self.suffix if d not in pruned)
        free = [d for d in dims if d not in prefix and d not in suffix]
        for middle in itertools.permutations(free):
            yield (*prefix, *middle, *suffix)

    def order_count(self, factors: Sequence[int]) -> int:
        """Return the number of `orders`."""
        if self.canonical:
            return 1
        named = {*self.prefix, *self.suffix}
        free = [d for d, f in enumerate(factors) if d not in named and (f > 1 or self.split is not None)]
        return math.factorial(len(free))

    def splits(self, factors: Sequence[int]) -> range:
        """Return every split point (``SpatialSplitSpace``)."""
        if self.split is not None:
            return range(self.split, self.split + 1)
        return range(sum(f == 1 for f in factors), len(factors) + 1)

    def arrangements(self, factors: Sequence[int]) -> list[Arrangement]:
        """Return the spatial loops of every order and split that fits the mesh, repeated as Timeloop repeats them."""
        found = []
        for order in self.orders(factors):
            for split in self.splits(factors):
                x = math.prod(factors[d] for d in order[:split])
                y = math.prod(factors[d] for d in order[split:])
                if x <= self.fan_x and y <= self.fan_y:
                    found.append(
                        tuple((d, factors[d], "X" if i < split else "Y") for i, d in enumerate(order) if factors[d] > 1)
                    )
        return found


class Uber:
    """The mapspace of one case.

    Attributes
    ----------
    dimensions, bounds
        Names and bounds of the problem's dimensions.
    spaces
        Names of the data spaces.
    levels
        Names of the storage levels.
    tilings
        Tiling levels.
    bypass
        By data space and storage level: ``1`` kept, ``0`` bypassed, ``X`` either.
    """

    def __init__(self, case: Case, constraints: dict[str, Any] | None = None) -> None:
        shape, instance = case.problem["problem"]["shape"], case.problem["problem"]["instance"]
        self.dimensions: list[str] = list(shape["dimensions"])
        self.bounds = [int(instance[d]) for d in self.dimensions]
        self.spaces = [space["name"] for space in shape["data-spaces"]]
        fans = fanouts(case)[::-1]
        self.levels = [name for name, _, _ in fans]
        self.tilings: list[Tiling] = []
        for storage, (_, x, y) in enumerate(fans):
            if x * y > 1:
                self.tilings.append(Tiling(storage, x, y))
            self.tilings.append(Tiling(storage))
        top = len(self.levels) - 1
        self.bypass = [["X"] * top + ["1"] for _ in self.spaces]
        for target in targets(case.constraints if constraints is None else constraints):
            self._parse(target)
        for index, tiling in enumerate(self.tilings):
            if tiling.spatial:
                tiling.canonical = not tiling.prefix and not tiling.suffix and min(tiling.fan_x, tiling.fan_y) == 1
            else:
                # Only where nothing fans out below the innermost storage is its temporal level the first tiling level.
                tiling.canonical = index == 0

    def _tiling(self, storage: int, *, spatial: bool) -> Tiling:
        for tiling in self.tilings:
            if tiling.storage == storage and tiling.spatial == spatial:
                return tiling
        raise RefusedError(f"cannot find spatial tiling level associated with {self.levels[storage]}")

    def _parse(self, target: dict[str, Any]) -> None:
        """Take in one target (``Constraints::ParseSingleConstraint``)."""
        storage = self.levels.index(target["target"])
        kind = target["type"]
        if kind in ("datatype", "bypass", "bypassing"):
            self._parse_bypass(target, storage)
            return
        tiling = self._tiling(storage, spatial=kind == "spatial")
        exact, most, least = self._factors(target)
        tiling.ignored |= {d for d, factor in exact.items() if factor > self.bounds[d]}
        exact = {d: factor for d, factor in exact.items() if d not in tiling.ignored}
        for known, new in zip((tiling.exact, tiling.most, tiling.least), (exact, most, least), strict=True):
            if set(known) & set(new):
                raise RefusedError("re-specification of factor")
            known.update(new)
        inner, _, outer = str(target.get("permutation") or "").split("#")[0].partition("_")
        prefix, suffix = (tuple(self.dimensions.index(c) for c in part if not c.isspace()) for part in (inner, outer))
        if prefix or suffix:
            if tiling.prefix or tiling.suffix:
                raise RefusedError("re-specification of permutation")
            tiling.prefix, tiling.suffix = prefix, suffix
        if kind == "spatial" and target.get("split") is not None:
            if tiling.split is not None:
                raise RefusedError("re-specification of spatial split")
            tiling.split = int(target["split"])

    def _factors(self, target: dict[str, Any]) -> tuple[dict[int, int], dict[int, int], dict[int, int]]:
        """Return exact, largest and smallest factors; 0 is the whole dimension."""
        text = str(target.get("factors") or "").split("#")[0]
        exact: dict[int, int] = {}
        for name, number in _EXACT.findall(text):
            d = self.dimensions.index(name)
            exact[d] = int(number) or self.bounds[d]
        limits = []
        for pattern, default in ((_MOST, "default_max_factor"), (_LEAST, "default_min_factor")):
            found = {self.dimensions.index(name): int(number) for name, number in pattern.findall(text)}
            if target.get(default) is not None:
                found = {d: int(target[default]) for d in range(len(self.dimensions))} | found
            limits.append(found)
        return exact, limits[0], limits[1]

    def _parse_bypass(self, target: dict[str, Any], storage: int) -> None:
        for key, flag in (("keep", "1"), ("bypass", "0")):
            for name in target.get(key) or []:
                row = self.bypass[self.spaces.index(name)]
                # The outermost level may be overwritten without a word (``ParseDatatypeBypassSettings``).
                if storage != len(self.levels) - 1 and row[storage] != "X":
                    raise RefusedError("re-specification of dataspace keep flag")
                row[storage] = flag

    @cached_property
    def masks(self) -> list[tuple[tuple[bool, ...], ...]]:
        """Every choice of what is kept, by storage level and data space, that leaves each data space somewhere."""
        options = [
            [{"X": (False, True), "0": (False,), "1": (True,)}[flag] for flag in flags]
            for flags in zip(*self.bypass, strict=True)
        ]
        rows = itertools.product(*(itertools.product(*level) for level in options))
        return [mask for mask in rows if all(map(any, zip(*mask, strict=True)))]

    @cached_property
    def mask_count(self) -> int:
        """Number of choices of what is kept, with those that leave a data space nowhere."""
        return int(2 ** sum(flags.count("X") for flags in self.bypass))

    def cofactors(self, d: int) -> tuple[tuple[int, ...], ...]:
        """Return every way to spread dimension ``d`` over the tiling levels (``IndexFactorizationSpace::Init``)."""
        bound, given = self.bounds[d], {i: t.exact[d] for i, t in enumerate(self.tilings) if d in t.exact}
        product = math.prod(given.values())
        if bound % product:
            raise RefusedError(f"{self.dimensions[d]} = {bound} is not divisible by {product}")
        if len(given) == len(self.tilings) and product != bound:
            raise RefusedError(f"all factors of {self.dimensions[d]} are given and multiply to {product}, not {bound}")
        given_at = tuple(given.get(i) for i in range(len(self.tilings)))
        least = tuple(t.least.get(d, 1) for t in self.tilings)
        most = tuple(t.most.get(d, bound) for t in self.tilings)
        return _spread(bound // product, given_at, least, most)

    @cached_property
    def factorization_count(self) -> int:
        """Number of `factorizations`."""
        return math.prod(len(self.cofactors(d)) for d in range(len(self.bounds)))

    def factorizations(self) -> Iterator[list[tuple[int, ...]]]:
        """Yield the factors of every index factorization, by tiling level and dimension."""
        for choice in itertools.product(*(self.cofactors(d) for d in range(len(self.bounds)))):
            yield [tuple(row) for row in zip(*choice, strict=True)]

    def size(self, limit: int = 10**9) -> int:
        """Return the number of mappings that ``linear-pruned`` can visit; stops counting above ``limit``."""
        if self.factorization_count > limit:
            return self.factorization_count
        total = 0
        # Factors of one tiling level recur in most factorizations.
        known: list[dict[tuple[int, ...], int]] = [{} for _ in self.tilings]
        for factors in self.factorizations():
            one = self.mask_count
            for tiling, row, ways in zip(self.tilings, factors, known, strict=True):
                if row not in ways:
                    ways[row] = tiling.order_count(row) * (len(tiling.splits(row)) if tiling.spatial else 1)
                one *= ways[row]
            total += one
            if total > limit:
                break
        return total


@lru_cache(maxsize=4096)
def _spread(
    rest: int, given: tuple[int | None, ...], least: tuple[int, ...], most: tuple[int, ...]
) -> tuple[tuple[int, ...], ...]:
    """Return every way to spread what is left of a dimension over the places without a given factor, within limits."""
    found = []
    for free in split_number(rest, given.count(None)):
        left = iter(free)
        factors = tuple(next(left) if one is None else one for one in given)
        if all(low <= f <= high for low, f, high in zip(least, factors, most, strict=True)):
            found.append(factors)
    return tuple(found)


@lru_cache(maxsize=4096)
def split_number(number: int, parts: int) -> tuple[tuple[int, ...], ...]:
    """Return every ordered way to write ``number`` as a product of ``parts`` factors."""
    if parts == 0:
        return ((),) if number == 1 else ()
    if parts == 1:
        return ((number,),)
    divisors = (factor for factor in range(1, number + 1) if number % factor == 0)
    return tuple((factor, *rest) for factor in divisors for rest in split_number(number // factor, parts - 1))
