"""The tables that the statistics make: a new statistic needs its row in ``columns.csv``, and a line in `rows`."""

from jouleloop.layouts import declared

FAMILIES = (
    "confirmation_p", "quadratic_p", "equivalence_p", "reset_p", "rainbow_p", "breusch_pagan_p", "durbin_watson_p",
)  # fmt: skip
"""Columns of p-values, each corrected by Holm over all rows of the table in which it was computed."""

FITS, VERDICTS, RESIDUALS, LEFT_OUT = map(declared().__getitem__, ("fits", "verdicts", "residuals", "left_out"))
