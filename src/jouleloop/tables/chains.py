"""Tables of sweeps of chains: a row a chain, and how words and energy grow, fused and apart."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pandas as pd

from jouleloop.errors import InputError
from jouleloop.fusion.sweep import ChainPoint, ChainSweep
from jouleloop.stats.expected import growth_named
from jouleloop.stats.growth import fit_growth
from jouleloop.stats.options import StatisticsOptions
from jouleloop.tables.layouts import CHAIN_GROWTH
from jouleloop.workload.variants import variant_label

#: What is tested, by whether layers are fused.
RESPONSES = {"fused": ("fused_outer_words", "fused_pj"), "apart": ("apart_outer_words", "apart_pj")}
Row = dict[str, Any]


def chain_rows(
    sweep: ChainSweep, architecture: str, records: Iterable[tuple[ChainPoint, dict[str, Any]]]
) -> pd.DataFrame:
    """Return the rows of a sweep on an architecture, in the order of its points."""
    rows = []
    for point, record in records:
        row: Row = {
            "architecture": architecture,
            "sweep": sweep.name,
            "chain": point.chain.name,
            **{f"size_{name}": value for name, value in point.sizes},
            "variant": variant_label(point.variant),
            **dict(point.variant),
            "reason": record["reason"],
        }
        if record.get("groups"):
            row |= {
                "level": record["level"],
                "fused_layers": " ".join("+".join(group["layers"]) for group in record["groups"]),
                "fused_pj": record["energy"],
                "apart_pj": record["energy_apart"],
                "fused_outer_words": record["outer_words"],
                "apart_outer_words": record["outer_words_apart"],
                "fused_lower_bound_pj": record["lower_bound"],
                "proven": record["optimal"],
                "searches": record["searches"],
            }
        rows.append(row)
    return pd.DataFrame(rows)


def chain_growth(measured: pd.DataFrame, sweeps: Sequence[ChainSweep], statistics: StatisticsOptions) -> pd.DataFrame:
    """Return the tests of growth: a row a sweep, architecture, variant, response and range of the variable.

    Fused words are tested up to where they stop growing by the expected power, exactly, and beyond. Energies are
    tested over all.
    """
    rows: list[Row] = []
    for sweep in sweeps:
        own = measured[measured["sweep"] == sweep.name]
        for (architecture, variant), group in own.groupby(["architecture", "variant"], sort=False):
            usable = group[group["proven"].fillna(False).astype(bool)].sort_values(
                f"size_{sweep.variable}", kind="stable"
            )
            head = {"architecture": architecture, "sweep": sweep.name, "variant": variant, "variable": sweep.variable}
            for row in _tests(sweep, usable, statistics):
                rows.append({**head, **row})
    names = [column.name for column in CHAIN_GROWTH.columns]
    table = pd.DataFrame(rows).reindex(columns=names)
    return table.astype({"least": "Int64", "most": "Int64", "exact_to": "Int64"})


def _tests(sweep: ChainSweep, group: pd.DataFrame, statistics: StatisticsOptions) -> Iterator[Row]:
    expected = dict(sweep.expected)
    sizes = [int(value) for value in group[f"size_{sweep.variable}"]]
    for name, (words, energy) in RESPONSES.items():
        if name not in expected or not sizes:
            continue
        measured = [int(value) for value in group[words]]
        turn = turning_point(sizes, measured, growth_named(expected[name]).degree)
        low = sum(size <= turn for size in sizes)
        yield _test(words, "all", sizes, measured, expected[name], statistics) | {"exact_to": turn}
        yield _test(energy, "all", sizes, [float(value) for value in group[energy]], expected[name], statistics)
        if name == "fused" and "fused_beyond" in expected:
            yield _test(words, "up_to", sizes[:low], measured[:low], expected[name], statistics) | {"exact_to": turn}
            yield _test(words, "beyond", sizes[low:], measured[low:], expected["fused_beyond"], statistics)


def turning_point(sizes: Sequence[int], words: Sequence[int], degree: int) -> int:
    """Return the largest size up to which words are one multiple of the size's power, in exact integers."""
    turn = sizes[0]
    for size, found in zip(sizes, words, strict=True):
        if found * sizes[0] ** degree != words[0] * size**degree:
            break
        turn = size
    return turn


def _test(
    response: str, part: str, sizes: Sequence[int], values: Sequence[float], expected: str, options: StatisticsOptions
) -> Row:
    row: Row = {"response": response, "range": part, "expected": expected, "points": len(sizes)}
    if not sizes:
        return row | {"outcome": "inconclusive", "reason": "no point in this range"}
    row |= {"least": min(sizes), "most": max(sizes)}
    try:
        test = fit_growth(sizes, values, expected, options)
    except InputError as error:
        return row | {"outcome": "inconclusive", "reason": str(error)}
    row |= {"outcome": test.verdict.outcome.value, "reason": test.verdict.reason}
    if test.exponent is not None:
        found = test.exponent
        row |= {"exponent": found.exponent, "exponent_low": found.low, "exponent_high": found.high}
        row |= {"exponent_expected": found.expected, "exponent_agrees": found.agrees}
    return row
