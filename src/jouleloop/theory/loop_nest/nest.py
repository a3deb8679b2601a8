"""A loop nest: loops, perhaps with bounds, and arrays with affine subscripts (001 Theorem 2.4; 004 eq. 2.1)."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from jouleloop.errors import AssumptionError, Fault, InputError, raise_all, unknown
from jouleloop.files import is_whole
from jouleloop.theory.loop_nest.hbl_lattice import Subspace, kernel

Matrix = tuple[tuple[int, ...], ...]
"""One row of integer coefficients a subscript, one column a loop."""

_ARRAY_LIMIT = 24
_LOOP_LIMIT = 40
_CACHE_LIMIT = 2**62
_OPERATIONS_LIMIT = 10**300

ASSUME_USED = "every loop index is in the support of at least one array (004, Section 2)"
ASSUME_BOUNDS = "every loop bound is a whole number L_i >= 1 (004, eq. 2.1)"
ASSUME_CACHE = "the cache holds M >= 2 words, so that logarithms base M exist (004, Section 3)"
ASSUME_SUBSETS = "every array is indexed by a subset of the loops, each at most once (projective case, 004, Section 3)"


@dataclass(frozen=True)
class LoopNest:
    """Loops x_1 … x_d and arrays A_1 … A_n, each with the integer matrix φ_j of its subscripts.

    Raises `InputError` where a row does not have d integers, or there are no loops or no arrays; `AssumptionError`
    where a bound is less than 1, a loop index is used by no array, or some direction changes no subscript at all: the
    kernels intersect, unboundedly many updates use the same elements and no exponents exist.
    """

    loops: tuple[str, ...]
    """Names of the d loops, in order."""
    arrays: Mapping[str, Matrix]
    """Array name → one row of d coefficients per subscript; constant offsets do not matter."""
    bounds: tuple[int, ...] = ()
    """L_i, iterations of each loop; empty where only exponents and closed forms are wanted."""
    outputs: tuple[int, ...] = ()
    """Positions of the arrays that the nest writes; all others are only read."""

    def __post_init__(self) -> None:
        raise_all(self._malformed())
        raise_all(self._outside(), AssumptionError)
        size = len(self.loops)
        common = kernel([row for matrix in self.arrays.values() for row in matrix], size)
        if common.rank:
            text = "the assumption that the kernels of the subscripts intersect only in zero fails: moving along"
            raise AssumptionError(Fault(f"{text} {self.describe(common)} changes no subscript of any array"))

    def _malformed(self) -> list[Fault]:
        size = len(self.loops)
        faults = []
        if not size or not self.arrays:
            faults.append(Fault("a loop nest needs at least one loop and one array"))
        if len(set(self.loops)) != size:
            faults.append(Fault("a loop index is named twice", None, "loops", ", ".join(self.loops)))
        for name, matrix in self.arrays.items():
            faults += [
                Fault(f"each subscript needs {size} integer coefficients", None, name, list(row))
                for row in matrix
                if len(row) != size or any(isinstance(value, bool) for value in row)
            ]
        return faults

    def _outside(self) -> list[Fault]:
        used = {position for matrix in self.arrays.values() for row in matrix for position, c in enumerate(row) if c}
        faults = [unused_index(name) for position, name in enumerate(self.loops) if position not in used]
        faults += [
            Fault(f"the bound of loop {name!r} is too small", value=bound, allowed=ASSUME_BOUNDS)
            for name, bound in zip(self.loops, self.bounds, strict=False)
            if bound < 1
        ]
        if self.operations > _OPERATIONS_LIMIT:
            faults.append(Fault("the loop bounds are too large", allowed="at most 10^300 operations"))
        return faults

    @cached_property
    def supports(self) -> tuple[tuple[int, ...], ...]:
        """supp(φ_j) of a projective nest: for every array the ascending positions of its loops.

        Raises `AssumptionError` where a subscript is not one loop of its own, or the nest is too large for 004's
        closed forms.
        """
        faults = [
            Fault(f"array {name!r} {why}", field=name, allowed=ASSUME_SUBSETS)
            for name, matrix in self.arrays.items()
            if (why := _why_not_projective(matrix))
        ]
        if len(self.loops) > _LOOP_LIMIT or len(self.arrays) > _ARRAY_LIMIT:
            text = f"{len(self.loops)} loops and {len(self.arrays)} arrays are too many"
            faults.append(Fault(text, allowed=f"at most {_LOOP_LIMIT} loops and {_ARRAY_LIMIT} arrays"))
        raise_all(faults, AssumptionError)
        return tuple(tuple(sorted(row.index(1) for row in matrix)) for matrix in self.arrays.values())

    @property
    def operations(self) -> int:
        """∏ L_i, the number of points of the iteration space."""
        return math.prod(self.bounds)

    @property
    def array_sizes_words(self) -> tuple[int, ...]:
        """Words of every array: the product of the bounds of its loops."""
        return self.footprints_words(self.bounds)

    def footprints_words(self, tile: Sequence[int]) -> tuple[int, ...]:
        """Words of every array that a rectangular tile b_1 × … × b_d touches: ∏ b_i over supp(φ_j)."""
        return tuple(math.prod(tile[loop] for loop in support) for support in self.supports)

    def shape(self, array: int) -> tuple[int, ...]:
        """Return the sizes of the array at a position, one a subscript."""
        return tuple(self.bounds[loop] for loop in self.supports[array])

    def users(self, loop: int) -> tuple[int, ...]:
        """R_i: positions of the arrays whose support contains the loop at position ``loop``."""
        return tuple(array for array, support in enumerate(self.supports) if loop in support)

    def with_bounds(self, bounds: Mapping[str, object]) -> "LoopNest":
        """Return the nest with these bounds, one a loop; raise `AssumptionError` for missing or unknown loops."""
        faults = [
            unused_index(name) if name.isidentifier() else unknown(name, self.loops, "loop", field="bounds")
            for name in bounds
            if name not in self.loops
        ]
        missing = [name for name in self.loops if name not in bounds]
        if missing:
            faults.append(Fault(f"no bound for {', '.join(missing)}", field="bounds", allowed=ASSUME_BOUNDS))
        faults += [
            Fault("a bound is not a whole number", field=f"bounds.{name}", value=value, allowed=ASSUME_BOUNDS)
            for name, value in bounds.items()
            if not is_whole(value)
        ]
        raise_all(faults, AssumptionError)
        return replace(self, bounds=tuple(int(bounds[name]) for name in self.loops))  # type: ignore[call-overload]

    def describe(self, subspace: Subspace) -> str:
        """Return a readable basis of ``subspace``, such as ``⟨i4 − 2·i6⟩``."""
        return "⟨" + ", ".join(self._vector(row) for row in subspace.rows) + "⟩" if subspace.rank else "{0}"

    def _vector(self, row: Sequence[int]) -> str:
        parts: list[str] = []
        for value, index in zip(row, self.loops, strict=True):
            if value:
                sign = "-" if value < 0 else ("+" if parts else "")
                parts.append(f"{sign}{index}" if abs(value) == 1 else f"{sign}{abs(value)}·{index}")
        return " ".join(parts)

    def expression(self) -> str:
        """Return a projective nest as readable text, such as ``out(i,j) += in1(i,k) in2(k,j)``."""
        terms = [
            f"{name}({','.join(self.loops[loop] for loop in support)})"
            for name, support in zip(self.arrays, self.supports, strict=True)
        ]
        written = " ".join(terms[array] for array in self.outputs) or "f"
        read = " ".join(term for array, term in enumerate(terms) if array not in self.outputs)
        return f"{written} += {read}"


def from_supports(
    loops: Sequence[str], bounds: Sequence[int], arrays: Sequence[str], supports: Iterable[Iterable[int]]
) -> LoopNest:
    """Return the projective nest whose arrays are indexed by the loops at these positions."""
    matrices = [tuple(tuple(int(loop == at) for at in range(len(loops))) for loop in support) for support in supports]
    return LoopNest(tuple(loops), dict(zip(arrays, matrices, strict=True)), tuple(bounds))


def check_cache(cache_words: int) -> None:
    """Raise `AssumptionError` where the cache is too small for logarithms base M."""
    if cache_words > _CACHE_LIMIT:
        raise InputError(
            Fault("the cache is too large", field="cache", value=cache_words, allowed="at most 2^62 words")
        )
    if cache_words < 2:
        raise AssumptionError(Fault("the cache is too small", field="cache", value=cache_words, allowed=ASSUME_CACHE))


def unused_index(name: str) -> Fault:
    """Return the fault for a loop that no array uses."""
    return Fault(
        f"loop index {name!r} is used by no array, so the tile is unbounded in it", field=name, allowed=ASSUME_USED
    )


def _why_not_projective(matrix: Matrix) -> str:
    if any(sorted(row) != [0] * (len(row) - 1) + [1] for row in matrix):
        return "has a subscript that is not one loop"
    return "uses a loop twice" if len(set(matrix)) < len(matrix) else ""
