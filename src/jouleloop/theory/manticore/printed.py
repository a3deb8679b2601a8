"""The numbers that paper 003 prints, each recomputed from the paper's own formula and from what the algorithm moves."""

import csv
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from jouleloop.files import read_text
from jouleloop.theory.manticore.formulas import compute_to_communication, flop_per_byte, printed_ccr, traffic
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


@dataclass(frozen=True)
class PrintedNumber:
    """One number of the paper beside what its own formula and the definitions give."""

    name: str
    source: str
    unit: str
    """What it is, where it is printed, its unit."""
    printed: str
    """The decimal as printed, in ``unit``; its last digit is its precision."""
    by_formula: Fraction
    """What the paper's printed formula gives for the stated parameters."""
    actual: Fraction
    """What the algorithm really moves or needs, from the definitions (executed schedules agree)."""
    note: str = ""
    """Why they differ, where they do."""

    @property
    def deviation_of_formula(self) -> float:
        """(by formula - printed) / printed."""
        return float(self.by_formula / Fraction(self.printed) - 1)

    @property
    def deviation_of_actual(self) -> float:
        """(actual - printed) / printed."""
        return float(self.actual / Fraction(self.printed) - 1)

    @property
    def rounds_to_printed(self) -> bool:
        """Whether the formula's value rounds to the printed decimal, either way in the last digit's tie."""
        decimals = len(self.printed.partition(".")[2])
        return abs(self.by_formula - Fraction(self.printed)) <= Fraction(1, 2 * 10**decimals)


def printed_numbers() -> tuple[PrintedNumber, ...]:
    """Return every checkable number in the text of paper 003, in its order, as ``printed_numbers.csv`` lists them."""
    rows = csv.DictReader(read_text(Path(__file__).with_name("printed_numbers.csv")).splitlines())
    found = []
    for row in rows:
        numbers = (int(row[column]) for column in ("algorithm", "stack", "word_bytes"))
        formula, actual = map(Fraction, _values(row["quantity"], *numbers))
        texts = row["name"], row["source"], row["unit"], row["printed"]
        found.append(PrintedNumber(*texts, formula, actual, row["note"]))
    return tuple(found)


def _values(quantity: str, algorithm: int, stack: int, word_bytes: int) -> tuple[Fraction | int, Fraction | int]:
    """Return a quantity of a typical layer by the paper's formula and by the definitions, in the unit of its row."""
    layer = TYPICAL_CONV if algorithm <= 3 else typical_fc(stack if algorithm == 4 else 4096)
    need, limit = minimum_local_words(layer, algorithm, stack), stack_limit(layer, algorithm, word_bytes)
    formula, actual = printed_ccr(layer, algorithm, stack), compute_to_communication(layer, algorithm, stack)
    moved = traffic(layer, algorithm, stack)
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
