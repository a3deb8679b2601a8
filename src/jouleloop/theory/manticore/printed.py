"""The numbers that paper 003 prints, each recomputed from the paper's own formula and from what the algorithm moves."""

import csv
from fractions import Fraction
from pathlib import Path

import pandas as pd

from jouleloop.files import read_text
from jouleloop.theory.manticore.formulas import compute_to_communication, flop_per_byte, printed_traffic, traffic
from jouleloop.theory.manticore.layer import (
    MANTICORE,
    FullyConnected,
    conv_layer,
    fc_layer,
    minimum_local_words,
    stack_limit,
)

TYPICAL_CONV = conv_layer(input_width=32, input_depth=128, output_depth=128, filter_width=3, stride=1, padding=1)
"""The "typical" convolutional layer of sections 2.1.2 to 2.3.4."""

KIB = 1024


def typical_fc(output_depth: int) -> FullyConnected:
    """Return the "typical" fully-connected layer of section 3 (W_I = 7, B = 32; its D_I is never stated, 512 here)."""
    return fc_layer(input_width=7, input_depth=512, output_depth=output_depth, batch=32)


def printed_table() -> pd.DataFrame:
    """Return every checkable number in the text of paper 003, in its order, as ``printed_numbers.csv`` lists them.

    Beside each is what the paper's own formula gives, and what the algorithm really moves or needs (executed schedules
    agree), with relative deviations from what is printed; and whether the formula rounds to the printed decimal, either
    way in the last digit's tie.
    """
    rows = csv.DictReader(read_text(Path(__file__).with_name("printed_numbers.csv")).splitlines())
    found = []
    for row in rows:
        numbers = (int(row[column]) for column in ("algorithm", "stack", "word_bytes"))
        formula, actual = map(Fraction, _values(row["quantity"], *numbers))
        printed = Fraction(row["printed"])
        last_digit = Fraction(1, 10 ** len(row["printed"].partition(".")[2]))
        found.append(
            {
                **{name: row[name] for name in ("name", "source", "unit", "printed")},
                "by_formula": float(formula),
                "relative_deviation_of_formula": float(formula / printed - 1),
                "actual": float(actual),
                "relative_deviation_of_actual": float(actual / printed - 1),
                "rounds_to_printed": abs(formula - printed) <= last_digit / 2,
                "note": row["note"],
            }
        )
    return pd.DataFrame(found)


def _values(quantity: str, algorithm: int, stack: int, word_bytes: int) -> tuple[Fraction | int, Fraction | int]:
    """Return a quantity of a typical layer by the paper's formula and by the definitions, in the unit of its row."""
    layer = TYPICAL_CONV if algorithm <= 3 else typical_fc(stack if algorithm == 4 else 4096)
    need, limit = minimum_local_words(layer, algorithm, stack), stack_limit(layer, algorithm, word_bytes)
    moved = traffic(layer, algorithm, stack)
    formula = compute_to_communication(layer, printed_traffic(layer, algorithm, stack))
    actual = compute_to_communication(layer, moved)
    values: dict[str, Fraction | int | tuple[Fraction | int, Fraction | int]] = {
        "memory words": need,
        "memory": Fraction(word_bytes * need, KIB),
        "in flight": Fraction(MANTICORE.dma_buffer_bytes, KIB),
        "buffers": Fraction(3 * MANTICORE.dma_buffer_bytes, KIB),
        "memory left": Fraction(limit.free_bytes, KIB),
        "stack limit": (limit.slices, limit.slices_that_fit),
        "CCR": (formula, actual),
        "CCR per byte": (flop_per_byte(formula, word_bytes), flop_per_byte(actual, word_bytes)),
        "volumes exchanged": Fraction(moved.words_exchanged, layer.out_channels * layer.batch),
    }
    found = values[quantity]
    return found if isinstance(found, tuple) else (found, found)
