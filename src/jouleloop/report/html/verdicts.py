"""The verdicts at a glance: counts, one row a test, and every interval drawn against its margin."""

import math
from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from jouleloop.report.html.numbers import number, percent
from jouleloop.report.selection import MEANINGS
from jouleloop.stats.describe import describe
from jouleloop.stats.expected import growth_named

VERDICTS = {name: (sign, meaning) for sign, (name, meaning) in zip("=✓?✗–", MEANINGS.items(), strict=True)}
"""Verdicts from best to worst: the sign shown beside the word, and what it means."""
UNTESTED = "not tested"

_SPAN = 2.5  # margins to either side that the drawing of an interval shows
_POWERS = {2: "quadratic", 3: "cubic", 4: "quartic"}


@dataclass(frozen=True)
class Interval:
    """A share with its 90 % interval as drawn, from -1 to 1; ``cut`` where it goes beyond."""

    low: float
    value: float
    high: float
    cut_low: bool
    cut_high: bool


@dataclass(frozen=True)
class VerdictLine:
    """One row of the table of verdicts, ready to show."""

    sweep: str
    architecture: str
    group: str
    response: str
    response_label: str
    question: str
    verdict: str
    reason: str
    power: str
    share: float | None
    share_text: str
    interval_text: str
    interval: Interval | None
    margin_text: str
    exponent: float | None
    exponent_text: str
    expected_exponent: str
    r_squared: float | None
    paper_p: float | None
    published_p: float | None
    n: int
    left_out: int
    main: bool


@dataclass(frozen=True)
class Verdicts:
    """All verdicts with what the head of the page says of them."""

    lines: tuple[VerdictLine, ...]
    main: str
    """Label of the response that the head of the page counts: the first that was tested."""
    counts: dict[str, int]
    """Of the main response, by verdict from best to worst."""
    paragraphs: dict[str, str]
    """The verdict in words, by sweep."""
    margin_half_width: float = 1 / _SPAN

    @property
    def held(self) -> int:
        """Tests of the main response in which the expected growth holds."""
        return self.counts.get("exact", 0) + self.counts.get("confirmed", 0)

    @property
    def total(self) -> int:
        """Tests of the main response."""
        return sum(self.counts.values())


def verdicts_of(table: pd.DataFrame, left_out: pd.DataFrame) -> Verdicts:
    """Return the rows of results/verdicts.csv as they are shown."""
    if table.empty:  # networks alone
        return Verdicts((), "", {}, {})
    first = str(table["response"].iloc[0])
    mixed = table.groupby(["sweep", "architecture", "response"]).size().gt(1).any()
    lines = tuple(_line(dict(row), first, mixed=bool(mixed)) for _, row in table.iterrows())
    counts = Counter(line.verdict for line in lines if line.main)
    paragraphs = describe(table, left_out)
    label = str(table["response_label"].iloc[0])
    return Verdicts(lines, label, {name: counts.get(name, 0) for name in VERDICTS if name != UNTESTED}, paragraphs)


def _line(row: Mapping[Hashable, Any], first: str, *, mixed: bool) -> VerdictLine:
    growth = growth_named(str(row["expected"]))
    share, low, high, margin = (_value(row, f) for f in ("excess_share", "excess_low", "excess_high", "margin"))
    exponent, exponent_low, exponent_high = (_value(row, f"exponent{end}") for end in ("", "_low", "_high"))
    expected = _value(row, "exponent_expected")
    architecture = str(row["architecture"])
    power = int(_value(row, "excess_power") or growth.degree + 1)
    return VerdictLine(
        sweep=str(row["sweep"]),
        architecture=architecture,
        group=f"{architecture} ({row['engine']}, {row['energy_table']})" if mixed else architecture,
        response=str(row["response"]),
        response_label=str(row["response_label"]),
        question=growth.adjective.format(x=row["variable"]),
        verdict=str(row["verdict"]),
        reason=str(row["reason"]),
        power=_POWERS.get(power, f"power {power}"),
        share=share,
        share_text=percent(share),
        interval_text="" if low is None or high is None else f"{percent(low)} to {percent(high)}",
        interval=_interval(share, low, high, margin),
        margin_text="" if margin is None else f"±{percent(margin)}",
        exponent=exponent,
        exponent_text=_exponent(exponent, exponent_low, exponent_high),
        expected_exponent="" if expected is None else f"{expected:g}",
        r_squared=_value(row, "r_squared"),
        paper_p=_value(row, "quadratic_p"),
        published_p=_value(row, "published_p"),
        n=int(row["n"]),
        left_out=int(_value(row, "n_left_out") or 0),
        main=str(row["response"]) == first,
    )


def _value(row: Mapping[Hashable, Any], name: str) -> float | None:
    value = row.get(name)
    return None if value is None or pd.isna(value) else float(value)


def _exponent(value: float | None, low: float | None, high: float | None) -> str:
    if value is None:
        return "–"
    if low is None or high is None:
        return f"{value:.3f}"
    return f"{value:.3f} ({low:.3f} to {high:.3f})"


def _interval(share: float | None, low: float | None, high: float | None, margin: float | None) -> Interval | None:
    if share is None or low is None or high is None or not margin:
        return None
    ends = [value / (_SPAN * margin) for value in (low, share, high)]
    inside = [min(1.0, max(-1.0, value)) for value in ends]
    if not all(math.isfinite(value) for value in inside):
        return None
    return Interval(inside[0], inside[1], inside[2], ends[0] < -1, ends[2] > 1)


def p_text(value: float | None) -> str:
    """Return a p-value as shown."""
    return number(value, 3) if value is not None else "–"
