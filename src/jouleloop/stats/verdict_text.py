"""The file of verdicts in words: a table of one line a verdict, then each sweep's paragraph, at 80 columns."""

import textwrap
from collections.abc import Mapping

import pandas as pd

WIDTH = 80
_HEADINGS = ("sweep", "architecture", "verdict", "exponent", "quadratic share")


def verdicts_text(verdicts: pd.DataFrame, paragraphs: Mapping[str, str]) -> str:
    """Return the table of the first response's verdicts, and the ``paragraphs`` of all sweeps below it."""
    details = []
    for name, words in paragraphs.items():
        wrapped = textwrap.fill(words, WIDTH, break_long_words=False, break_on_hyphens=False)
        details.append(f"{name}\n{'-' * len(name)}\n{wrapped}")
    return "\n\n".join([verdicts_table(verdicts), *details]) + "\n"


def verdicts_table(verdicts: pd.DataFrame) -> str:
    """Return one line a verdict on the first response of every sweep and architecture; the largest size decides.

    The share is that of the next power at the largest size; see docs/statistics.md.
    """
    first = verdicts.drop_duplicates(["sweep", "architecture", "engine", "energy_table"])
    rows = [
        (
            str(row["sweep"]),
            str(row["architecture"]),
            str(row["verdict"]),
            "" if pd.isna(row["exponent"]) else f"{row['exponent']:.3f}",
            _share(row),
        )
        for _, row in first.iterrows()
    ]
    widths = [max(len(line[column]) for line in (_HEADINGS, *rows)) for column in range(len(_HEADINGS))]
    # Names give way where lines were too long otherwise.
    widths[0] = max(len(_HEADINGS[0]), min(widths[0], WIDTH - sum(widths[1:]) - 2 * (len(widths) - 1)))
    return "\n".join(_line(line, widths) for line in (_HEADINGS, *rows))


def _share(row: "pd.Series") -> str:
    """Return the share of the next power: of the cube where a square is expected."""
    if pd.isna(row["excess_share"]):
        return ""
    power = "" if int(row["excess_power"]) == 2 else f" (power {int(row['excess_power'])})"
    return f"{100 * row['excess_share']:.3g} %{power}"


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    name = cells[0] if len(cells[0]) <= widths[0] else cells[0][: widths[0] - 1] + "…"
    text = "  ".join(cell.ljust(width) for cell, width in zip((name, *cells[1:]), widths, strict=True))
    return text.rstrip()
