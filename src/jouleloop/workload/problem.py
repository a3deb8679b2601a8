"""A problem as Timeloop states it: dimensions, data spaces and the projections that tie them together."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from jouleloop.errors import Fault, raise_all, unknown
from jouleloop.files import is_whole

IntArray = npt.NDArray[np.int64]

#: The largest size, and the largest product of sizes that floating-point numbers hold exactly.
MAX_SIZE, MAX_PRODUCT = 2**31, 2**53


@dataclass(frozen=True)
class Term:
    """One summand of a projection: a dimension, multiplied by a named coefficient where there is one."""

    dimension: str
    coefficient: str | None = None


@dataclass(frozen=True)
class DataSpace:
    """One tensor: its ranks as sums of dimensions, and whether the layer writes it."""

    name: str
    projection: tuple[tuple[Term, ...], ...]
    """One entry a rank; the coordinate of that rank is the sum of the entry's terms."""
    read_write: bool = False

    @cached_property
    def dimensions(self) -> frozenset[str]:
        """The dimensions that move the data space: its relevant dimensions."""
        return frozenset(term.dimension for rank in self.projection for term in rank)

    @cached_property
    def crossing(self) -> tuple[str, ...]:
        """The dimensions that move two of its ranks, in alphabetical order."""
        ranks = [{term.dimension for term in rank} for rank in self.projection]
        return tuple(sorted(d for d in self.dimensions if sum(d in rank for rank in ranks) > 1))


@dataclass(frozen=True)
class ProblemShape:
    """The form shared by all layers of a kind; bounds and coefficients are left open."""

    name: str
    dimensions: tuple[str, ...]
    data_spaces: tuple[DataSpace, ...]
    coefficients: tuple[tuple[str, int], ...] = ()
    """Name and default value of each coefficient, such as ``("Wstride", 1)``."""

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """Asked for every layer, and deep."""
        return hash((self.name, self.dimensions, self.data_spaces, self.coefficients))

    def __post_init__(self) -> None:
        faults: list[Fault] = []
        if len(set(self.dimensions)) != len(self.dimensions):
            faults.append(Fault("a dimension is named twice", field="dimensions", value=list(self.dimensions)))
        names = {name for name, _ in self.coefficients}
        for space in self.data_spaces:
            for rank in space.projection:
                for term in rank:
                    if term.dimension not in self.dimensions:
                        faults.append(
                            unknown(term.dimension, self.dimensions, "dimension in projection", field=space.name)
                        )
                    if term.coefficient is not None and term.coefficient not in names:
                        faults.append(unknown(term.coefficient, names, "coefficient in projection", field=space.name))
        if not any(space.read_write for space in self.data_spaces):
            faults.append(Fault("no data space is read-write, so nothing is computed", field="data_spaces"))
        raise_all(faults)

    def less(self, dimension: str, name: str) -> "ProblemShape":
        """Return the shape of that ``name`` without a dimension, which stands in ranks of its own."""
        spaces = tuple(
            DataSpace(
                space.name,
                tuple(rank for rank in space.projection if {term.dimension for term in rank} != {dimension}),
                space.read_write,
            )
            for space in self.data_spaces
        )
        return ProblemShape(name, tuple(d for d in self.dimensions if d != dimension), spaces, self.coefficients)


@dataclass(frozen=True)
class Problem:
    """One layer to be mapped: a shape with its bounds and coefficients."""

    shape: ProblemShape
    bounds: tuple[int, ...]
    """Loop bound of each dimension, in the order of ``shape.dimensions``."""
    coefficients: tuple[int, ...]
    """Value of each coefficient, in the order of ``shape.coefficients``."""
    name: str = ""

    @classmethod
    def build(
        cls,
        shape: ProblemShape,
        bounds: Mapping[str, int],
        coefficients: Mapping[str, int] | None = None,
        name: str = "",
    ) -> "Problem":
        """Return the problem with missing bounds 1 and missing coefficients at their defaults.

        Raises `InputError` where a bound or coefficient is unknown or not a positive integer.
        """
        given = dict(coefficients or {})
        faults = [
            Fault("unknown dimension", field=key, value=value, allowed=", ".join(shape.dimensions))
            for key, value in bounds.items()
            if key not in shape.dimensions
        ]
        known = {key for key, _ in shape.coefficients}
        faults += [
            Fault("unknown coefficient", field=key, value=value, allowed=", ".join(sorted(known)) or "none")
            for key, value in given.items()
            if key not in known
        ]
        faults += [
            Fault("must be a positive integer", field=key, value=value)
            for key, value in [*bounds.items(), *given.items()]
            if not is_whole(value) or value < 1
        ]
        raise_all(faults)
        problem = cls(
            shape,
            tuple(bounds.get(d, 1) for d in shape.dimensions),
            tuple(given.get(key, default) for key, default in shape.coefficients),
            name,
        )
        problem.check_limits()
        return problem

    def check_limits(self) -> None:
        """Raise `InputError` where a size, the operations or the words of a tensor are too many to count exactly."""
        faults = [
            Fault("too large", field=key, value=value, allowed=f"at most {MAX_SIZE}")
            for key, value in self.as_dict().items()
            if value > MAX_SIZE
        ]
        products = {"operations": math.prod(self.bounds)}
        if math.prod((*self.bounds, *self.coefficients)) > MAX_PRODUCT:
            products |= {f"words of {space.name}": self.tensor_words(space) for space in self.data_spaces}
        faults += [
            Fault(f"too many {what} to be counted exactly", None, "sizes", number, "at most 2^53")
            for what, number in products.items()
            if number > MAX_PRODUCT
        ]
        raise_all(faults)

    @cached_property
    def bound(self) -> dict[str, int]:
        """Loop bound by dimension name."""
        return dict(zip(self.shape.dimensions, self.bounds, strict=True))

    @cached_property
    def coefficient(self) -> dict[str, int]:
        """Value by coefficient name."""
        return {key: value for (key, _), value in zip(self.shape.coefficients, self.coefficients, strict=True)}

    @property
    def data_spaces(self) -> tuple[DataSpace, ...]:
        """The data spaces of the shape."""
        return self.shape.data_spaces

    @cached_property
    def macs(self) -> int:
        """Number of multiply-accumulate operations: the product of all bounds."""
        return math.prod(self.bounds)

    @cached_property
    def projection_array(self) -> IntArray:
        """Coefficient of each dimension in each rank, shape (data spaces, most ranks, dimensions); 0 where absent."""
        ranks = max(len(space.projection) for space in self.data_spaces)
        array = np.zeros((len(self.data_spaces), ranks, len(self.shape.dimensions)), np.int64)
        for s, space in enumerate(self.data_spaces):
            for r, rank in enumerate(space.projection):
                for term in rank:
                    value = 1 if term.coefficient is None else self.coefficient[term.coefficient]
                    array[s, r, self.shape.dimensions.index(term.dimension)] += value
        return array

    @cached_property
    def windows(self) -> frozenset[str]:
        """Names of the data spaces over which windows slide: several dimensions of more than one value move a rank."""
        several = (self.projection_array[:, :, np.array(self.bounds) > 1] != 0).sum(axis=2) > 1
        slides = several.any(axis=1).tolist()
        return frozenset(space.name for space, own in zip(self.data_spaces, slides, strict=True) if own)

    @property
    def slides(self) -> bool:
        """Whether a window slides over any data space."""
        return bool(self.windows)

    @cached_property
    def leaves_gaps(self) -> bool:
        """Whether a dimension of more than one value moves a rank by more or less than 1, as a stride does."""
        moved = self.projection_array[:, :, np.array(self.bounds) > 1]
        return bool(((moved != 0) & (moved != 1)).any())

    def tensor_words(self, space: DataSpace | str) -> int:
        """Number of words in the bounding box of a data space, gaps left by a stride included (as Timeloop stores)."""
        if isinstance(space, str):
            space = next(s for s in self.data_spaces if s.name == space)
        words = 1
        for rank in space.projection:
            extent = 1
            for term in rank:
                value = 1 if term.coefficient is None else self.coefficient[term.coefficient]
                extent += value * (self.bound[term.dimension] - 1)
            words *= extent
        return words

    def as_dict(self) -> dict[str, Any]:
        """Return bounds and coefficients as one flat record."""
        return {**self.bound, **self.coefficient}
