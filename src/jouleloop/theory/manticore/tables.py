"""Tables of the Manticore theory: printed numbers recomputed, and executions beside closed forms."""

import pandas as pd

from jouleloop.theory.layers import ConvLayer
from jouleloop.theory.manticore.execute import run_checked
from jouleloop.theory.manticore.formulas import traffic
from jouleloop.theory.manticore.layer import conv_layer, describe, fc_layer
from jouleloop.theory.manticore.memory import prefetching_local_words
from jouleloop.theory.manticore.printed import TYPICAL_CONV, printed_numbers


def printed_table() -> pd.DataFrame:
    """Return printed and recomputed numbers as a table with relative deviations."""
    return pd.DataFrame(
        [
            {
                "name": number.name,
                "source": number.source,
                "unit": number.unit,
                "printed": number.printed,
                "by_formula": float(number.by_formula),
                "relative_deviation_of_formula": number.deviation_of_formula,
                "actual": float(number.actual),
                "relative_deviation_of_actual": number.deviation_of_actual,
                "rounds_to_printed": number.rounds_to_printed,
                "note": number.note,
            }
            for number in printed_numbers()
        ]
    )


EXECUTED_GRID: tuple[tuple[ConvLayer, int, int], ...] = (
    *((TYPICAL_CONV, algorithm, stack) for algorithm, stack in ((1, 1), (2, 24), (2, 12), (3, 23), (3, 11), (3, 8))),
    *((conv_layer(16, 48, 100, 5, 1, 2), algorithm, stack) for algorithm, stack in ((1, 1), (2, 7), (3, 7), (3, 2))),
    *((conv_layer(15, 33, 300, 3, 2, 0), algorithm, stack) for algorithm, stack in ((1, 1), (2, 13), (3, 13), (3, 1))),
    *((fc_layer(7, 150, 96, 32), algorithm, stack) for algorithm, stack in ((4, 96), (5, 40), (5, 1))),
    *((fc_layer(1, 257, 130, 8), algorithm, stack) for algorithm, stack in ((4, 130), (5, 48))),
)
"""Layers, algorithms and stacks of `executed_table`: the typical layers of the paper and non-divisible ones."""


def executed_table() -> pd.DataFrame:
    """Execute every case of `EXECUTED_GRID` and return counted beside computed values, one row a quantity."""
    rows = []
    for layer, algorithm, stack in EXECUTED_GRID:
        checked = run_checked(layer, algorithm, stack)
        counts, expected = checked.run.counts, traffic(layer, algorithm, stack)
        peak = prefetching_local_words(layer, algorithm, stack)
        for quantity, unit, counted, computed in (
            ("inputs loaded", "words", counts.input_words_loaded, expected.input_words_loaded),
            ("filters loaded", "words", counts.filter_words_loaded, expected.filter_words_loaded),
            ("outputs stored", "words", counts.output_words_stored, expected.output_words_stored),
            ("exchanged", "words", counts.words_exchanged, expected.words_exchanged),
            ("computed", "MAC", counts.macs, expected.macs),
            ("local memory at its peak", "words", counts.peak_local_words, peak),
        ):
            rows.append(
                {
                    "algorithm": algorithm,
                    "layer": describe(layer),
                    "stack": stack,
                    "quantity": quantity,
                    "unit": unit,
                    "executed": counted,
                    "closed_form": computed,
                    "equal": counted == computed,
                    "result_is_right": checked.result_is_right,
                }
            )
    return pd.DataFrame(rows)
