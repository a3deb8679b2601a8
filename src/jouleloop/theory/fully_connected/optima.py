"""Tables that judge paper 002's bounds: exact optima of small layers, replayed, and every bound of the swept sizes."""

import io
import itertools
from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd

from jouleloop.files import read_text
from jouleloop.theory.counting import divisors
from jouleloop.theory.fully_connected.bounds import all_bounds, general_assumptions
from jouleloop.theory.fully_connected.dataflows import best_fixed, best_upper, bounded_dataflow
from jouleloop.theory.fully_connected.exact import exact_minimum
from jouleloop.theory.fully_connected.formulas import FcLayer, lower_bound_accesses, lower_bound_accesses_weak
from jouleloop.theory.fully_connected.schedule import run

Layers = list[tuple[int, int, int]]
"""Layers as (n, m, β)."""
_ASSUMPTIONS = ["beta_above_2", "divides", "outputs_at_most_inputs", "inputs_large"]
"""Columns of what 002 section 3 assumes."""


def table_row(inputs: int, outputs: int, buffer_words: int, **limits: int) -> dict[str, Any]:
    """Return the row of one layer: the least 2μ + ν, or between what it lies, and what the paper says of it.

    ``paper_upper`` is the cheapest of Algorithms 1 and 2 over every d, c and both roles, with ceilings; ``known_upper``
    adds nearly equal groups and outputs read twice. ``output_reads`` and ``input_reads`` are counted in a replay of a
    schedule of cost ``upper_accesses``, given as ``schedule`` where it is cheaper than ``paper_upper``. ``limits`` go
    to `exact_minimum`.
    """
    layer = FcLayer(inputs, outputs, buffer_words)
    exact = exact_minimum(layer, **limits)
    replay = run(exact.schedule())
    if replay.accesses != exact.upper:
        raise AssertionError(f"the schedule costs {replay.accesses}, not {exact.upper}: {layer}")
    paper = min(
        flow.accesses
        for roles in (False, True)
        for flow in (
            best_fixed(layer, reversed_roles=roles),
            *(bounded_dataflow(layer, c, reversed_roles=roles) for c in range(1, buffer_words)),
        )
    )
    return {
        "inputs": inputs,
        "outputs": outputs,
        "buffer_words": buffer_words,
        "lower_accesses": exact.lower,
        "upper_accesses": exact.upper,
        "method": exact.method,
        "output_reads": replay.output_reads,
        "input_reads": replay.input_reads,
        "paper_upper": paper,
        "known_upper": best_upper(layer).accesses,
        "lower_bound_19": lower_bound_accesses(layer),
        "lower_bound_20": lower_bound_accesses_weak(layer),
        **{name: one.holds for name, one in zip(_ASSUMPTIONS, general_assumptions(layer), strict=True)},
        "schedule": " ".join(map(str, replay.schedule.reads)) if exact.upper < paper else "",
    }


def grid(largest: int) -> Iterator[tuple[int, int, int]]:
    """Yield every (n, m, β) with 1 <= n, m <= ``largest`` and 2 <= β <= n + m."""
    for n, m in itertools.product(range(1, largest + 1), repeat=2):
        yield from ((n, m, beta) for beta in range(2, n + m + 1))


def divisible_grid(inputs: int, outputs: int) -> Iterator[tuple[int, int, int]]:
    """Yield every (n, m, β) with n <= ``inputs``, m <= ``outputs`` and (β − 1) dividing m, as eq. (28) asks."""
    for m in range(1, outputs + 1):
        yield from ((n, m, group + 1) for group in divisors(m) for n in range(1, inputs + 1))


def to_csv(rows: Iterable[dict[str, Any]]) -> str:
    """Return the rows as CSV with a header; fractions exactly, as 41/2."""
    return pd.DataFrame(list(rows)).to_csv(index=False, lineterminator="\n")


def optima_table() -> str:
    """Return the table of all layers with n and m up to 8, as CSV."""
    return to_csv(table_row(*layer) for layer in grid(8))


def from_csv(text: str) -> pd.DataFrame:
    """Return the table of a CSV written by `to_csv`, with the columns ``decided`` and ``assumptions_hold``."""
    exact = {"lower_bound_19": Fraction, "lower_bound_20": Fraction}
    table = pd.read_csv(io.StringIO(text), converters=exact, keep_default_na=False)
    decided = table["lower_accesses"] == table["upper_accesses"]
    return table.assign(decided=decided, assumptions_hold=table[_ASSUMPTIONS].all(axis=1))


def judge(table: pd.DataFrame) -> dict[str, int | Layers]:
    """Return what a table by `from_csv` says about the paper's bounds, each as the layers concerned.

    A lower bound fails where a schedule costs less. The paper's closing conjecture is read as: the cheapest of its
    dataflows is optimal, which is refuted by the layers below it.
    """

    def layers(chosen: pd.Series) -> Layers:
        return list(table.loc[chosen, ["inputs", "outputs", "buffer_words"]].itertuples(index=False, name=None))

    least, holds = table["upper_accesses"], table["assumptions_hold"]
    fails_20, fails_19 = least < table["lower_bound_20"], least < table["lower_bound_19"]
    below = least < table["paper_upper"]
    return {
        "layers": len(table),
        "decided": int(table["decided"].sum()),
        "assumptions_hold": int(holds.sum()),
        "lower_20_fails": layers(fails_20),
        "lower_20_fails_under_assumptions": layers(fails_20 & holds),
        "lower_19_fails": layers(fails_19),
        "lower_19_fails_under_assumptions": layers(fails_19 & holds),
        "below_paper": layers(below),
        "below_paper_divides": layers(below & table["divides"]),
        "below_known": layers(least < table["known_upper"]),
    }


def verdict_of(path: Path) -> dict[str, int | Layers]:
    """Return what the table of optima at ``path`` says about the paper's bounds, as plain data."""
    return judge(from_csv(read_text(path)))


SWEPT = [
    (n, m, beta)
    for n, m in ((1024, 1024), (128, 1024), (4096, 1024), (1024, 128), (1024, 4096))
    for beta in (17, 129, 1025)
]


def bounds_table() -> pd.DataFrame:
    """Return every bound of `all_bounds` for the swept layers (n, m) and buffers β: one row a bound."""
    records = [
        {
            "inputs": layer.inputs,
            "outputs": layer.outputs,
            "buffer_words": layer.buffer_words,
            "word_bits": layer.word_bits,
            "name": bound.name,
            "source": bound.source,
            "value": None if bound.value is None else float(bound.value),
            "unit": bound.unit,
            "assumptions_hold": bound.assumptions_hold,
            "assumptions_failed": "; ".join(a.text for a in bound.assumptions if not a.holds),
            "note": bound.note,
        }
        for layer in itertools.starmap(FcLayer, SWEPT)
        for bound in all_bounds(layer)
    ]
    return pd.DataFrame.from_records(records)
