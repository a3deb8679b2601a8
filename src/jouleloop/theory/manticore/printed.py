"""The numbers that paper 003 prints, each recomputed from the paper's own formula and from what the algorithm moves."""

from dataclasses import dataclass
from fractions import Fraction

from jouleloop.theory.layers import ConvLayer
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


_FORGOTTEN = "the printed value follows only if eq. (10) loses its factor D_I; one partly filled quadrant loads I once"


class _Rows:
    """The numbers read so far."""

    def __init__(self) -> None:
        self.rows: list[PrintedNumber] = []

    def add(self, name: str, place: str, unit: str, printed: str, formula: Fraction | int,
            actual: Fraction | int | None = None, note: str = "") -> None:  # fmt: skip
        """Add a number; what the formula gives is the actual one where no other is given."""
        value = Fraction(formula)
        found = value if actual is None else Fraction(actual)
        self.rows.append(PrintedNumber(name, f"003 {place}", unit, printed, value, found, note))

    def add_ccr(self, layer: ConvLayer, algorithm: int, stack: int, place: str, printed: tuple[str | None, str],
                word_bytes: int, note: str = "") -> None:  # fmt: skip
        """Add a ratio of computing to communication, in MAC per word where it is printed so, and per byte."""
        formula = printed_ccr(layer, algorithm, stack)
        actual = compute_to_communication(layer, algorithm, stack)
        label = f"Algorithm {algorithm}: CCR, Δ_O = {stack}"
        per_word, per_byte = printed
        if per_word is not None:
            self.add(label, place, "MAC/word", per_word, formula, actual, note)
        flop = "spflop/B" if word_bytes == 4 else "dpflop/B"
        by_formula, counted = flop_per_byte(formula, word_bytes), flop_per_byte(actual, word_bytes)
        self.add(label, place, flop, per_byte, by_formula, counted, note)

    def add_limit(
        self, layer: ConvLayer, algorithm: int, word_bytes: int, place: str, printed: str, free_kib: str | None
    ) -> int:
        """Add a stack limit, with the memory left where it is printed, and return the limit."""
        found = stack_limit(layer, algorithm, word_bytes)
        precision = "single" if word_bytes == 4 else "double"
        if free_kib is not None:
            free = Fraction(found.free_bytes, KIB)
            self.add(f"Algorithm {algorithm}: memory left, {precision}", place, "KiB", free_kib, free)
        label = f"Algorithm {algorithm}: stack limit, {precision}"
        self.add(label, place, "slices", printed, found.slices, found.slices_that_fit)
        return found.slices


def printed_numbers() -> tuple[PrintedNumber, ...]:
    """Return every checkable number in the text of paper 003, in its order."""
    rows = _Rows()
    _add_convolution(rows, TYPICAL_CONV)
    _add_fully_connected(rows, typical_fc(4096))
    return tuple(rows.rows)


def _add_convolution(rows: _Rows, conv: ConvLayer) -> None:
    need = minimum_local_words(conv, 1, 1)
    rows.add("Algorithm 1: local memory", "section 2.1.2", "words", "2057", need)
    for precision, word_bytes, printed in (("single", 4, "8.1"), ("double", 8, "16.1")):
        name, value = f"Algorithm 1: local memory, {precision}", Fraction(word_bytes * need, KIB)
        rows.add(name, "section 2.1.2", "KiB", printed, value, note="an upper bound in the text ('less than')")
    rows.add("data in flight", "section 2.1.2", "KiB", "16", Fraction(MANTICORE.dma_buffer_bytes, KIB))
    rows.add("Algorithm 1: buffers", "section 2.1.2", "KiB", "48", Fraction(3 * MANTICORE.dma_buffer_bytes, KIB))
    rows.add_ccr(conv, 1, 1, "section 2.1.4", ("8.9", "4.4"), 4)
    rows.add_ccr(conv, 1, 1, "section 2.1.4", (None, "2.2"), 8)
    for algorithm, place, limits, frees, ratios, note in (
        (2, "section 2.2", ("24", "12"), ("96", None), (("141.8", "70.9"), ("87.8", "21.9")), ""),
        (3, "section 2.3", ("23", "11"), ("92", "88"), (("541.4", "270.7"), ("540.6", "135.2")), _FORGOTTEN),
    ):
        for word_bytes, limit, free, ratio in zip((4, 8), limits, frees, ratios, strict=True):
            stack = rows.add_limit(conv, algorithm, word_bytes, f"{place}.2", limit, free)
            rows.add_ccr(conv, algorithm, stack, f"{place}.4", ratio, word_bytes, note)


def _add_fully_connected(rows: _Rows, whole: ConvLayer) -> None:
    need = minimum_local_words(whole, 4, 4096)
    rows.add("Algorithm 4: local memory", "section 3.1.2", "words", "132689", need)
    single, note = Fraction(4 * need, KIB), "518.3 KiB, printed rounded up"
    rows.add("Algorithm 4: local memory, single", "section 3.1.2", "KiB", "519", single, note=note)
    rows.add("Algorithm 4: local memory, double", "section 3.1.2", "KiB", "1037", Fraction(8 * need, KIB))
    for algorithm, place, ratios in (
        (4, "section 3.1", (("30.7", "15.4"), ("29.5", "7.4"))),
        (5, "section 3.2", (("30.6", "15.3"), ("29.5", "7.4"))),
    ):
        for word_bytes, limit, free, ratio in zip((4, 8), ("768", "384"), ("96", None), ratios, strict=True):
            stack = rows.add_limit(whole, algorithm, word_bytes, f"{place}.2", limit, free if algorithm == 4 else None)
            layer = whole if algorithm == 5 else typical_fc(stack)
            rows.add_ccr(layer, algorithm, stack, f"{place}.4", ratio, word_bytes)
    rows.add("Algorithm 4: volumes exchanged", "section 3.1.3", "volumes", "127", _volumes_exchanged(whole))


def _volumes_exchanged(layer: ConvLayer) -> Fraction:
    moved = traffic(layer, 4, layer.out_channels)
    return Fraction(moved.words_exchanged, layer.out_channels * layer.batch)
