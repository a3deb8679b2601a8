"""Every bound of paper 004 for one loop nest and cache as `Bound` records, and one with its constants kept."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from jouleloop.theory.bound import Assumption, Bound
from jouleloop.theory.loop_nest.closed_form import ClosedForm, Piece, closed_form, describe_form, theorem_2
from jouleloop.theory.loop_nest.integer_tile import Fit, IntegerTile, integer_tile
from jouleloop.theory.loop_nest.nest import ASSUME_BOUNDS, ASSUME_CACHE, ASSUME_USED, LoopNest, check_cache
from jouleloop.theory.loop_nest.programs import TileSolution, hbl, tile_at
from jouleloop.theory.simplex import ExactOptimum, Form, Scale, powers

ASSUME_LONG = "the loops are so long that no bound cuts the tile of LP (3.3) (004, Section 3)"
ASSUME_SPILLS = "some array is larger than the cache; else all is read once and M is no bound (004, Section 6.3)"
ASSUME_ONCE = "every array starts or ends in slow memory, so each of its words crosses once (004, Section 2)"
ASSUME_OMEGA = "constant factors are dropped (Ω): |φ_j(S)| <= M for every array by itself (004, Section 2)"


@dataclass(frozen=True)
class NestReport:
    """All that is known about one loop nest and cache."""

    nest: LoopNest
    cache_words: int
    large: ExactOptimum
    """LP (3.2) and (3.3)."""
    solution: TileSolution
    """LP (5.1) and its dual (5.5)–(5.6), with the family of optimal tiles."""
    form: ClosedForm
    subset: tuple[int, ...]
    """The 𝒬 of Theorem 2 that reaches the least exponent."""
    subset_exponent: Form
    """k̂ by the 2^d formula of Theorem 2."""
    tile: IntegerTile

    @property
    def active(self) -> Piece:
        """The piece of the closed form that is least here."""
        return self.form.least(self.solution.scale)


def analyse(nest: LoopNest, cache_words: int, fit: Fit = Fit.EACH) -> NestReport:
    """Return LPs, Theorem 2, closed form and integer tile of a nest with bounds and a cache of M words.

    Raises `AssumptionError` where M < 2 or not even one point fits.
    """
    check_cache(cache_words)
    solution = tile_at(nest, Scale(cache_words, nest.bounds))
    form = closed_form(nest)
    exponent, subset = theorem_2(nest, solution.scale)
    chosen = integer_tile(nest, cache_words, fit=fit, solution=solution, form=form)
    return NestReport(nest, cache_words, hbl(nest), solution, form, subset, exponent, chosen)


def nest_bounds(report: NestReport) -> list[Bound]:
    """Return the bounds of a report, each with source, unit and assumptions."""
    nest, cache, form = report.nest, report.cache_words, report.form
    scale, active, optimum = report.solution.scale, report.active, report.solution.exponent
    used, whole = Assumption(ASSUME_USED, True), Assumption(ASSUME_BOUNDS, True)
    base = (used, whole, Assumption(ASSUME_CACHE, True))
    spills = Assumption(ASSUME_SPILLS, max(nest.array_sizes_words) > cache)
    long_loops = Assumption(ASSUME_LONG, scale.sign((optimum[0] - report.large.value, *optimum[1:])) == 0)
    once, omega = Assumption(ASSUME_ONCE, True), Assumption(ASSUME_OMEGA, True)

    def weights(names: Iterable[str], values: Iterable[Fraction]) -> str:
        return ", ".join(f"{name}: {value}" for name, value in zip(names, values, strict=True))

    def power(name: str, source: str, exponent: Form, note: str) -> Bound:
        value = exponent[0] if not any(exponent[1:]) else scale.value(exponent)
        return Bound(name, source, value, "log_M points", base, note)

    def words(name: str, source: str, value: float | Fraction, needs: tuple[Assumption, ...], note: str) -> Bound:
        return Bound(name, source, value, "words", needs, note)

    large = monomial((1 - report.large.value, *(Fraction(1),) * len(nest.loops)), nest, cache)
    volume, least = (monomial(one, nest, cache) for one in (active.form, tuple(1 - c for c in active.form)))
    proven = communication_with_constants(form, nest, cache)
    everything = sum(nest.array_sizes_words)
    subset = ", ".join(nest.loops[loop] for loop in report.subset)
    hbl_note = f"s = {weights(nest.arrays, report.large.primal)}"
    dual_note = f"s = {weights(nest.arrays, active.array_weights)}; ζ = {weights(nest.loops, active.loop_weights)}"
    sizes_note = "Σ_j ∏ L_i over supp(φ_j): what any schedule moves at least"
    kept = "004 Section 2 and Theorem 2, constants kept (docs/theory-projective-nests.md)"
    kept_note = "holds for every schedule on a cache of M words in all, loads and stores counted"
    long_note, lower = "∏ L_i / M^(k_HBL − 1)", "communication_lower_bound"
    return [
        Bound("hbl_exponent", "004 LP (3.2), dual (3.3)", report.large.value, "log_M points", (used,), hbl_note),
        words("communication_large_bounds", "004 Section 3", large, (*base, long_loops, omega), long_note),
        power("tile_exponent_theorem_2", "004 Theorem 2 (2^d formula)", report.subset_exponent, f"𝒬 = {{{subset}}}"),
        power("tile_exponent_dual_lp", "004 LP (5.5)–(5.6)", active.form, dual_note),
        power("tile_exponent_lp", "004 LP (5.1), Theorem 3", optimum, describe_form(optimum, nest.loops)),
        Bound("tile_volume_bound", "004 Theorem 2", volume, "operations", base, form.tile_text()),
        words(lower, "004 Theorem 2, Section 2", least, (*base, spills, omega), form.communication_text()),
        words("array_sizes", "004 Section 6.3", everything, (used, whole, once), sizes_note),
        words(f"{lower}_with_constants", kept, proven, (*base, once), kept_note),
        *_tile_records(report, base),
    ]


def _tile_records(report: NestReport, base: tuple[Assumption, ...]) -> list[Bound]:
    nest, cache, chosen = report.nest, report.cache_words, report.tile
    condition = {
        Fit.EACH: "|φ_j(tile)| <= M for every array by itself, as in 004 Section 2",
        Fit.SUM: "Σ_j |φ_j(tile)| <= M",
    }[chosen.fit]
    proof = "proven the largest" if chosen.optimal else "the largest found; not proven within the budget"
    tiles = math.prod(-(-bound // side) for bound, side in zip(nest.bounds, chosen.sides, strict=True))
    moved = f"upper bound: {tiles} tiles, each moving all its words: {', '.join(map(str, chosen.footprints_words))}"
    section, sides = "004 Section 5, integer", f"{' × '.join(map(str, chosen.sides))}; {condition}; {proof}"
    words = tiles * sum(chosen.footprints_words)
    records = [
        Bound("integer_tile_volume", section, chosen.volume, "operations", base, sides),
        Bound("integer_tile_communication", section, words, "words", base, moved),
    ]
    for name, exponent, side in zip(nest.loops, report.solution.tile_exponents, chosen.sides, strict=True):
        length, form = monomial(exponent, nest, cache), describe_form(exponent, nest.loops)
        note = f"integer tile: {side}; λ = {form}"
        records.append(Bound(f"tile_side.{name}", "004 LP (5.1)", length, "iterations", base, note))
        records.append(Bound(f"integer_tile_side.{name}", section, side, "iterations", base))
    return records


def monomial(form: Form, nest: LoopNest, cache_words: int) -> Fraction | float:
    """Return M^(c_0) ∏ L_i^(c_i): exact where it is rational and small enough to tell, else a float."""
    above, below, common = powers(form, (cache_words, *nest.bounds))
    ratio = Fraction(above, below)
    roots = [_exact_root(value, common) for value in (ratio.numerator, ratio.denominator)]
    if roots[0] is not None and roots[1] is not None:
        return Fraction(roots[0], roots[1])
    return math.exp((math.log(above) - math.log(below)) / common)


def communication_with_constants(form: ClosedForm, nest: LoopNest, cache_words: int) -> float:
    """Return a lower bound on words loaded plus stored by any schedule on a cache of M words, no constant dropped.

    The argument of 004 Section 2 with the tile bound of Theorem 2, for every piece and length of a segment: see
    docs/theory-projective-nests.md.
    """
    best = float(sum(nest.array_sizes_words))
    operations = float(nest.operations)
    log_bounds = np.log(np.array(nest.bounds, dtype=np.float64))
    for piece in form.pieces:
        total = float(piece.cache_weight)
        if total <= 1:
            continue
        shares = [float(weight) for weight in piece.array_weights if weight]
        constant = sum(s * math.log(s / total) for s in shares) + float(
            np.dot(log_bounds, [float(z) for z in piece.loop_weights])
        )
        for shrink in range(24):
            transfers = 2 * cache_words / (total - 1) / 2 ** (shrink / 2)
            segment = math.exp(total * math.log(2 * cache_words + transfers) + constant)
            best = max(best, transfers * (operations / segment - 1))
    return best


def _exact_root(value: int, degree: int) -> int | None:
    if degree == 1:
        return value
    if value.bit_length() > 4096:
        return None
    root = math.isqrt(value) if degree == 2 else round(value ** (1 / degree)) if value < 10**300 else 0
    return root if root**degree == value else None
