"""Theorem 2 of paper 004 in closed form: tile exponent and communication as a min and a max of monomials.

The dual polyhedron of (5.5)–(5.6) does not depend on the bounds L_i, so its vertices, enumerated once in exact
arithmetic, answer every size: f(β) = min over vertices of Σ s_j + Σ ζ_i β_i (multiparametric linear program).
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from jouleloop.errors import Fault, InputError
from jouleloop.theory.counting import Ints
from jouleloop.theory.loop_nest.nest import LoopNest
from jouleloop.theory.simplex import Form, Scale, linprog

_BASES_LIMIT = 2_000_000
_CHUNK = 20_000
_MARGIN = 1e-9


@dataclass(frozen=True)
class Piece:
    """One affine piece of the closed form: a vertex (s, ζ) of the dual polyhedron (5.6)."""

    array_weights: tuple[Fraction, ...]
    """s_j; their sum is the power of M."""
    loop_weights: tuple[Fraction, ...]
    """ζ_i = max(0, 1 − Σ_{j in R_i} s_j); the power of L_i."""

    @property
    def cache_weight(self) -> Fraction:
        """Σ s_j."""
        return sum(self.array_weights, start=Fraction(0))

    @property
    def form(self) -> Form:
        """Σ s_j + Σ ζ_i β_i as a form."""
        return (self.cache_weight, *self.loop_weights)


@dataclass(frozen=True)
class ClosedForm:
    """f(β_1, …, β_d), the log base M of the largest tile, as the minimum of its irredundant affine pieces."""

    nest: LoopNest
    pieces: tuple[Piece, ...]

    def least(self, scale: Scale) -> Piece:
        """Return the piece that is active for these log-bounds; comparisons are exact."""
        best = self.pieces[0]
        for piece in self.pieces[1:]:
            if scale.less(piece.form, best.form):
                best = piece
        return best

    def exponent_text(self) -> str:
        """Return f as text, such as ``min(3/2, 1 + β_i, β_i + β_j + β_k)``."""
        return _wrap("min", [describe_form(piece.form, self.nest.loops) for piece in self.pieces])

    def tile_text(self) -> str:
        """Return the bound on the tile volume as text, a minimum of monomials in M and L_i."""
        return _wrap("min", [_monomial(piece.form, self.nest.loops) for piece in self.pieces])

    def communication_text(self) -> str:
        """Return ∏ L_i · M / tile as text: a maximum of monomials in M and L_i."""
        return _wrap("max", [_monomial(tuple(1 - c for c in piece.form), self.nest.loops) for piece in self.pieces])


def closed_form(nest: LoopNest) -> ClosedForm:
    """Return Theorem 2 as a closed form that holds for all loop bounds L_i >= 1 and all caches M >= 2.

    Source: 004 Theorem 2, LP (5.5)–(5.6), Section 7 (multiparametric linear program).
    """
    table = _vertices(nest)
    pieces = []
    for row in table.weights[irredundant(np.column_stack([table.weights.sum(axis=1), table.zeta]))]:
        weights = tuple(Fraction(int(value), table.common) for value in row)
        zeta = tuple(
            max(Fraction(0), 1 - sum((weights[array] for array in nest.users(loop)), start=Fraction(0)))
            for loop in range(len(nest.loops))
        )
        pieces.append(Piece(weights, zeta))
    pieces.sort(key=lambda piece: (sum(w > 0 for w in piece.loop_weights), piece.loop_weights[::-1]))
    return ClosedForm(nest, tuple(pieces))


def theorem_2(nest: LoopNest, scale: Scale, *, as_displayed: bool = False) -> tuple[Form, tuple[int, ...]]:
    """Return k̂ of Theorem 2 by its 2^d formula, and the set 𝒬 of loops that reaches it.

    For every 𝒬 ⊆ [d] the best of all ŝ >= 0 that satisfy the HBL constraints of the loops outside 𝒬, as the theorem
    itself allows. A vertex gives the same k̂ for every 𝒬 with all loops of ζ > 0, so the least of them stands for all.

    ``as_displayed``: by the formula displayed below the theorem, where ŝ_𝒬 is *the* solution of the HBL LP without rows
    𝒬; where that LP has several solutions the best is taken. Still an upper bound on the tile, but not always the
    least: it may exceed the LP (5.5)–(5.6), which a tile attains (see the errata).

    Source: 004 Theorem 2.
    """
    table = _vertices(nest)
    totals = table.weights.sum(axis=1)
    values = totals + table.zeta @ [sum(scale.values[loop + 1] for loop in group) for group in table.groups]
    if as_displayed:
        subsets, own = np.unique(table.zeta > 0, axis=0, return_inverse=True)
        values[totals > np.array([_least_total(table, subset) for subset in subsets])[own]] = np.inf
    near = np.flatnonzero(values <= values.min() + _MARGIN * table.common)
    best: Form = ()
    for index in sorted(near, key=lambda index: tuple(table.zeta[index] > 0)):
        form = [Fraction(int(totals[index]), table.common), *[Fraction(0)] * len(nest.loops)]
        for group, weight in zip(table.groups, table.zeta[index], strict=True):
            for loop in group:
                form[loop + 1] = Fraction(int(weight), table.common)
        if not best or scale.less(tuple(form), best):
            best = tuple(form)
    return best, tuple(loop for group in table.groups for loop in group if best[loop + 1])


def pieces_beyond_display(form: ClosedForm) -> tuple[Piece, ...]:
    """Return the pieces that the formula displayed below Theorem 2 does not reach.

    A piece is reached where its s solves the HBL LP without some rows 𝒬; the best 𝒬 is the set of loops with ζ > 0,
    for the fewest rows allow the least Σ s. A piece that is not reached is strictly least for some log-bounds, and
    there the displayed formula exceeds LP (5.5)–(5.6).
    """
    table = _vertices(form.nest)

    def least(piece: Piece) -> Fraction:
        subset = np.array([piece.loop_weights[group[0]] > 0 for group in table.groups])
        return Fraction(_least_total(table, subset), table.common)

    return tuple(piece for piece in form.pieces if least(piece) < piece.cache_weight)


def _least_total(table: "VertexTable", subset: npt.NDArray[np.bool_]) -> int:
    """Return the least Σ s that satisfies the HBL constraints of the groups of loops outside ``subset``."""
    return int(table.weights.sum(axis=1)[(table.zeta[:, ~subset] == 0).all(axis=1)].min())


@dataclass(frozen=True)
class VertexTable:
    """All candidate vertices, as whole numbers over one common denominator."""

    groups: tuple[tuple[int, ...], ...]
    """Loops that share their support, by position."""
    weights: Ints
    """s, shape (vertices, arrays)."""
    zeta: Ints
    """ζ of one loop a group, shape (vertices, groups)."""
    common: int


def _vertices(nest: LoopNest) -> VertexTable:
    return vertex_table(len(nest.arrays), tuple(nest.users(loop) for loop in range(len(nest.loops))))


@lru_cache(maxsize=64)
def vertex_table(arrays: int, users: tuple[tuple[int, ...], ...]) -> VertexTable:
    """Return every vertex of the arrangement {s_j = 0}, {Σ_{j in R_i} s_j = 1} with s >= 0; (5.6) has no other.

    ``users`` are the R_i, one a loop.

    Raises `InputError` where there are too many arrays and loops to enumerate.
    """
    by_users: dict[tuple[int, ...], list[int]] = {}
    for loop, using in enumerate(users):
        by_users.setdefault(using, []).append(loop)
    covers = np.array([[int(array in using) for array in range(arrays)] for using in by_users], dtype=np.int64)
    points, common = _arrangement(covers, np.ones(len(covers), dtype=np.int64))
    zeta = np.maximum(0, common - points @ covers.T)
    return VertexTable(tuple(tuple(group) for group in by_users.values()), points, zeta, common)


def nonnegative_vertices(rows: Ints, right: Ints) -> tuple[Ints, int]:
    """Return the vertices of {x >= 0, ``rows`` x >= ``right``} as whole numbers over one common denominator."""
    points, common = _arrangement(rows, right)
    return points[(points @ rows.T >= common * right).all(axis=1)], common


def _arrangement(rows: Ints, right: Ints) -> tuple[Ints, int]:
    """Return every point x >= 0 where as many of the planes x_j = 0, ``rows`` x = ``right`` meet as there are x_j."""
    size = rows.shape[1]
    planes = np.vstack([np.eye(size, dtype=np.int64), rows])
    values = np.concatenate([np.zeros(size, dtype=np.int64), right])
    if math.comb(len(planes), size) > _BASES_LIMIT:
        text = f"the closed form of {size} weights and {len(rows)} constraints has too many candidate vertices"
        raise InputError(Fault(text, allowed=f"at most {_BASES_LIMIT} bases"))
    found = [_solve(planes[chosen], values[chosen]) for chosen in _chunks(len(planes), size)]
    common = math.lcm(*(int(value) for _, determinants in found for value in np.unique(determinants)))
    points = np.concatenate([numerators * (common // determinants)[:, None] for numerators, determinants in found])
    return np.unique(points, axis=0), common


def _chunks(planes: int, arrays: int) -> Iterator[Ints]:
    combinations = itertools.combinations(range(planes), arrays)
    while block := list(itertools.islice(combinations, _CHUNK)):
        yield np.array(block, dtype=np.int64)


def _solve(matrices: Ints, right: Ints) -> tuple[Ints, Ints]:
    """Return numerators and denominators of all nonnegative solutions; floats propose, whole numbers verify."""
    floats = matrices.astype(np.float64)
    determinants = np.rint(np.linalg.det(floats)).astype(np.int64)
    regular = determinants != 0
    matrices, right, determinants, floats = matrices[regular], right[regular], determinants[regular], floats[regular]
    solutions = np.linalg.solve(floats, right[..., None].astype(np.float64))[..., 0]
    numerators = np.rint(solutions * determinants[:, None]).astype(np.int64)
    if not np.array_equal(np.einsum("vij,vj->vi", matrices, numerators), right * determinants[:, None]):
        raise ArithmeticError("a vertex is not exact")
    numerators *= np.sign(determinants)[:, None]
    keep = (numerators >= 0).all(axis=1)
    return numerators[keep], np.abs(determinants[keep])


def irredundant(terms: Ints) -> Ints:
    """Return the positions of the rows (c_0, c_1, …) of which c_0 + Σ c_i β_i alone is least for some β >= 0."""
    terms, first = np.unique(terms, axis=0, return_index=True)
    undominated = [(terms <= term).all(axis=1).sum() == 1 for term in terms]
    terms, first = terms[undominated], first[undominated]
    needed = [_is_least_somewhere(term, np.delete(terms, index, axis=0)) for index, term in enumerate(terms)]
    return np.asarray(first[needed])


def _is_least_somewhere(term: Ints, others: Ints) -> bool:
    """Whether some direction (β_0, β) >= 0 makes ``term`` strictly less than all ``others``, by a linear program."""
    width = len(term)
    rows = np.column_stack([term - others, np.ones(len(others))])
    answer = linprog(
        np.array([0.0] * width + [-1.0]),
        A_ub=rows,
        b_ub=np.zeros(len(others)),
        A_eq=np.array([[1.0] * width + [0.0]]),
        b_eq=np.array([1.0]),
        bounds=[(0, None)] * width + [(None, 1)],
        method="highs",
    )
    return answer.fun is not None and bool(-answer.fun > _MARGIN)


def _wrap(name: str, terms: Sequence[str]) -> str:
    return terms[0] if len(terms) == 1 else f"{name}({', '.join(terms)})"


def describe_form(form: Form, loops: Sequence[str]) -> str:
    """Return a form as text, such as ``1 - β_j``."""
    parts: list[str] = []
    for weight, name in zip(form, ("", *(f"β_{loop}" for loop in loops)), strict=True):
        if not weight:
            continue
        size = abs(weight)
        term = name if name and size == 1 else f"{size}·{name}" if name else str(size)
        sign = " - " if weight < 0 else " + "
        parts.append(sign + term if parts else sign.strip(" +") + term)
    return "".join(parts) or "0"


def _monomial(form: Form, loops: Sequence[str]) -> str:
    factors = [("M", form[0]), *((f"L_{loop}", weight) for loop, weight in zip(loops, form[1:], strict=True))]
    above = [_power(name, weight) for name, weight in factors[1:] + factors[:1] if weight > 0]
    below = [_power(name, -weight) for name, weight in factors[1:] + factors[:1] if weight < 0]
    text = "·".join(above) or "1"
    if below:
        text += "/" + (below[0] if len(below) == 1 else f"({'·'.join(below)})")
    return text


def _power(name: str, weight: Fraction) -> str:
    if weight == 1:
        return name
    if weight == Fraction(1, 2):
        return f"√{name}"
    return f"{name}^{weight}" if weight.denominator == 1 else f"{name}^({weight})"
