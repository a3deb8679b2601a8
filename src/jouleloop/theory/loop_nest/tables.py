"""Tables and figure of the theory of projective loop nests (paper 004)."""

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from jouleloop.columns import read_table
from jouleloop.errors import AssumptionError
from jouleloop.files import read_yaml
from jouleloop.layouts import declared
from jouleloop.theory.loop_nest.affine import affine_closed_form, affine_tile, image_words, rectangle_exponent
from jouleloop.theory.loop_nest.bounds import communication_with_constants, monomial
from jouleloop.theory.loop_nest.closed_form import ClosedForm, closed_form, pieces_beyond_display, theorem_2
from jouleloop.theory.loop_nest.execute_tiles import (
    best_grid,
    best_schedule,
    least_touched_words,
    random_inputs,
    run_grid,
    run_tiled,
)
from jouleloop.theory.loop_nest.nest import LoopNest, from_supports
from jouleloop.theory.loop_nest.programs import hbl, tile_at
from jouleloop.theory.loop_nest.read import from_einsum, parse_nest
from jouleloop.theory.simplex import Scale

CACHE_WORDS = 192
COUNTEREXAMPLE = "xyp,yzq,xzr->xyz"
"""A nest for which the formula displayed below Theorem 2 misses the optimum where all β are 1/2 (docs/errata.md)."""
_THIN = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48)
SIDE = 48


def examples_table() -> pd.DataFrame:
    """Return closed forms and, for one size each, bounds beside the cheapest executed schedule (Section 6 of 004)."""
    rows = []
    for example, nest in _examples():
        form, bounds = closed_form(nest), example.pop("bounds")
        rows.append(
            {
                **example,
                "nest": nest.expression(),
                "k_hbl": str(hbl(nest).value),
                "tile_exponent": form.exponent_text(),
                "communication": form.communication_text(),
                "bounds": bounds,
                **_attained(nest),
            }
        )
    return pd.DataFrame(rows)


def _examples() -> Iterator[tuple[dict[str, str], LoopNest]]:
    """Yield 004's examples: their columns of the tables, and the nests with their bounds."""
    for name, example in _nests("projective").items():
        nest = from_einsum(example["nest"])
        bounds = dict(zip(nest.loops, example["bounds"], strict=True))
        text = " ".join(f"{loop}={bound}" for loop, bound in bounds.items())
        yield {"example": name, "section": example["section"], "bounds": text}, nest.with_bounds(bounds)


def _nests(kind: str) -> dict[str, Any]:
    """Return the nests of a kind by name, as ``examples.yaml`` lists them."""
    return dict(read_yaml(Path(__file__).with_name("examples.yaml"))[kind])


def thin_table() -> pd.DataFrame:
    """Return bounds and executed words of a matrix multiplication as its third loop grows from 1 (Section 6.1)."""
    rows = []
    for third in _THIN:
        nest = from_einsum("ik,kj->ij", {"i": SIDE, "k": SIDE, "j": third})
        rows.append({"l3_iterations": third, **_attained(nest)})
    return pd.DataFrame(rows)


def agreement_table(nests: int = 60, points: int = 4) -> pd.DataFrame:
    """Return, for random nests and exact log-bounds, how often each route reaches the optimum of LP (5.1).

    The last column counts nests for which the formula as displayed below Theorem 2 fails for some bounds; the last row
    is the nest of the errata, at the point given there.
    """
    random = np.random.default_rng(0)
    rows = []
    for loops, arrays in ((3, 3), (4, 4), (5, 5), (6, 5), (8, 5)):
        cases = [
            (_random_nest(random, loops, arrays), [random.integers(0, 19, loops) for _ in range(points)])
            for _ in range(nests)
        ]
        rows.append({"nests": "random", "loops": loops, "arrays": arrays, **_agreement(cases)})
    counterexample = from_einsum(COUNTEREXAMPLE)
    halves = np.full(len(counterexample.loops), 6)
    rows.append({"nests": "errata", "loops": 6, "arrays": 4, **_agreement([(counterexample, [halves])])})
    return pd.DataFrame(rows)


def processors_table(processors: Sequence[int] = (4, 8, 16, 64)) -> pd.DataFrame:
    """Return 004's examples on grids of processors, executed: words touched beside the least that HBL allows."""
    rows = []
    for (example, nest), count in itertools.product(_examples(), processors):
        grid = best_grid(nest, count)
        done = run_grid(nest, grid, random_inputs(nest))
        busiest = max(range(count), key=lambda one: done.touched_words[one])
        least = least_touched_words(closed_form(nest), math.ceil(nest.operations / count))
        rows.append(
            {
                **example,
                "processors": count,
                "grid": "×".join(map(str, grid)),
                "largest_share": max(done.operations) * count / nest.operations,
                "touched_words": done.touched_words[busiest],
                "least_touched_words": least,
                "touched_over_least": done.touched_words[busiest] / least,
                "moved_words": max(done.moved_words),
            }
        )
    return pd.DataFrame(rows)


_AFFINE_CACHE_WORDS = 256


def affine_table(points: int = 24, nests: int = 60, seed: int = 0) -> pd.DataFrame:
    """Return, for affine nests and exact log-bounds, how often a parallelepiped and a box attain the tile exponent.

    Every parallelepiped is listed point by point for a cache of 256 words: its arrays over the cache, its extent over
    the loop bounds, its points over M^f. The last row has random nests, one line of log-bounds each.
    """
    random = np.random.default_rng(seed)
    rows = []
    for name, text in _nests("affine").items():
        nest = parse_nest(text)
        form = affine_closed_form(nest)
        cases = [(nest, form, random.integers(0, 19, len(nest.loops))) for _ in range(points)]
        shape = {"nest": text, "tile_exponent": form.exponent_text(), "loops": len(nest.loops)}
        rows.append({"nests": name, **shape, "arrays": len(nest.arrays), **_affine(cases)})
    drawn = [_random_affine_nest(random) for _ in range(nests)]
    others = [(nest, None, random.integers(0, 19, len(nest.loops))) for nest in drawn]
    return pd.DataFrame([*rows, {"nests": "random", **_affine(others)}])


def _affine(cases: Sequence[tuple[LoopNest, ClosedForm | None, np.ndarray]]) -> dict[str, float]:
    cache = _AFFINE_CACHE_WORDS
    found = {"instances": 0, "attained": 0, "attained_by_box": 0}
    array, extent, volume = 0.0, 0.0, []
    for nest, form, numbers in cases:
        exponents = tuple(Fraction(int(number), 12) for number in numbers)
        tile = affine_tile(nest, exponents)
        scale = Scale(exponents=exponents)
        found["instances"] += 1
        found["attained"] += form is None or scale.exact(form.least(scale).form) == tile.exponent
        found["attained_by_box"] += rectangle_exponent(nest, exponents) == tile.exponent
        listed = tile.points(cache)
        array = max(array, *(image_words(matrix, listed) / cache for matrix in nest.arrays.values()))
        bounds = [max(1.0, cache ** float(exponent)) for exponent in exponents]
        extent = max(extent, float(((np.ptp(listed, axis=0) + 1) / bounds).max()))
        volume.append(len(listed) / cache ** float(tile.exponent))
    return {**found, "array_over_cache": array, "extent_over_bound": extent, "points_over_power": min(volume)}


def _random_affine_nest(random: np.random.Generator) -> LoopNest:
    while True:
        loops = int(random.integers(2, 5))
        matrices = [
            random.integers(-1, 2, (random.integers(1, loops + 1), loops)) * (random.random(loops) < 0.7)
            for _ in range(random.integers(2, 5))
        ]
        arrays = {
            name: tuple(tuple(int(value) for value in row) for row in matrix)
            for name, matrix in zip("ABCD", matrices, strict=False)
        }
        try:
            return LoopNest(tuple("xyzw"[:loops]), arrays)
        except AssumptionError:
            continue  # a loop that no array uses, or a direction that changes no subscript


def _agreement(cases: list[tuple[LoopNest, list[np.ndarray]]]) -> dict[str, int]:
    found = {"instances": 0, "closed_form": 0, "theorem_2": 0, "theorem_2_as_displayed": 0, "nests_beyond_display": 0}
    for nest, points in cases:
        form = closed_form(nest)
        found["nests_beyond_display"] += bool(pieces_beyond_display(form))
        for numbers in points:
            scale = Scale(exponents=tuple(Fraction(int(number), 12) for number in numbers))
            value = scale.exact(tile_at(nest, scale, bases=1).exponent)
            found["instances"] += 1
            found["closed_form"] += scale.exact(form.least(scale).form) == value
            found["theorem_2"] += scale.exact(theorem_2(nest, scale)[0]) == value
            found["theorem_2_as_displayed"] += scale.exact(theorem_2(nest, scale, as_displayed=True)[0]) == value
    return found


def _attained(nest: LoopNest) -> dict[str, object]:
    """Return bounds and the executed cheapest schedule of one nest."""
    form = closed_form(nest)
    scale = Scale(CACHE_WORDS, nest.bounds)
    active = form.least(scale).form
    chosen = best_schedule(nest, CACHE_WORDS)
    done = run_tiled(nest, chosen.sides, random_inputs(nest), order=chosen.order)
    if done.cache.total_words != chosen.transfers_words or done.cache.peak_words > CACHE_WORDS:
        raise ArithmeticError("the executed schedule differs from its count")
    proven = communication_with_constants(form, nest, CACHE_WORDS)
    large = tuple(1 - value for value in (hbl(nest).value, *(Fraction(0),) * len(nest.loops)))
    return {
        "cache_words": CACHE_WORDS,
        "large_bounds_words": float(monomial(large, nest, CACHE_WORDS)),
        "theorem_2_words": float(monomial(tuple(1 - value for value in active), nest, CACHE_WORDS)),
        "array_sizes_words": sum(nest.array_sizes_words),
        "bound_with_constants_words": proven,
        "executed_words": done.cache.total_words,
        "executed_over_bound": done.cache.total_words / proven,
        "tile": "×".join(map(str, chosen.sides)),
        "order": "".join(nest.loops[loop] for loop in chosen.order),
        "peak_words": done.cache.peak_words,
    }


def _random_nest(random: np.random.Generator, loops: int, arrays: int) -> LoopNest:
    while True:
        uses = random.random((arrays, loops)) < random.choice([0.4, 0.5, 0.6])
        if uses.any(axis=0).all():
            break
    supports = tuple(tuple(int(loop) for loop in np.flatnonzero(row)) for row in uses)
    return from_supports(tuple("abcdefgh"[:loops]), (), tuple("ABCDEFGH"[:arrays]), supports)


def draw_thin(path: Path) -> Figure:
    """Draw the table at ``path``: bounds below and the executed schedule above, by the third loop bound."""
    table = read_table(path, declared()["theory/nest/<table>"])[0]
    with mpl.rc_context({"font.size": 9}):
        figure = Figure(figsize=(6.4, 4.0), layout="constrained")
        axes = figure.subplots()
        for column, label, style in (
            ("executed_words", "cheapest tiled schedule, executed", "o-k"),
            ("bound_with_constants_words", "lower bound, constants kept", "-C0"),
            ("theorem_2_words", "Theorem 2 (constants dropped)", "--C0"),
            ("large_bounds_words", "large-bound formula, Section 3", ":C3"),
        ):
            axes.plot(table["l3_iterations"], table[column], style, label=label, markersize=3)
        axes.set(
            xscale="log",
            yscale="log",
            xlabel="third loop bound L₃ (iterations)",
            ylabel="communication (words)",
            title=f"{SIDE} × {SIDE} × L₃ matrix multiplication, cache of {CACHE_WORDS} words",
        )
        axes.legend(frameon=False)
    return figure
