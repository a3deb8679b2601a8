"""A convolution as paper 001 counts it: precisions, array sizes, standing assumptions; fast memory and processors."""

import math
from dataclasses import dataclass, fields
from fractions import Fraction

from jouleloop.errors import AssumptionError, Fault, InputError, raise_all, unknown
from jouleloop.theory.bound import Assumption
from jouleloop.theory.layers import RESNET50_LAYERS, ConvLayer

LARGEST_WORDS = 10**30
"""Largest memory or precision in words; the least is its reciprocal."""
MOST_PROCESSORS = 2**30

INPUT, FILTER, OUTPUT = "input", "filter", "output"
ARRAYS = (INPUT, FILTER, OUTPUT)


def _words(value: float | Fraction | str, name: str, symbol: str) -> Fraction:
    """Return a number of words exactly as it is written; raise where it is none, or out of range."""
    try:
        exact = Fraction(str(value)) if isinstance(value, float) else Fraction(value)
    except (ValueError, OverflowError, TypeError, ZeroDivisionError) as error:
        raise InputError(Fault("not a number of words", None, name, value, "> 0, such as 1 or 1/4")) from error
    if exact <= 0:
        raise AssumptionError(Fault(f"the assumption {symbol} > 0 fails", None, name, value, "> 0 words"))
    if not Fraction(1, LARGEST_WORDS) <= exact <= LARGEST_WORDS:
        raise InputError(Fault("out of range", None, name, value, f"{1 / LARGEST_WORDS:g} … {LARGEST_WORDS:g} words"))
    return exact


@dataclass(frozen=True)
class Precisions:
    """Words of 32 bits per element, p_I, p_F and p_O of 001 §2.1; exact fractions, or text such as 1/4 for 8 bits.

    Raises `AssumptionError` where a precision is not positive: 001 §2.1 measures every array in a positive number of
    words.
    """

    input: Fraction = Fraction(1)
    filter: Fraction = Fraction(1)
    output: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        faults: list[Fault] = []
        for field in fields(self):
            try:
                words = _words(getattr(self, field.name), f"precision {field.name}", "precision")
                object.__setattr__(self, field.name, words)
            except InputError as error:
                faults += error.faults
        raise_all(faults, AssumptionError)

    @property
    def total(self) -> Fraction:
        """The sum of the three, p_T."""
        return self.input + self.filter + self.output

    @property
    def product(self) -> Fraction:
        """The product of the three, p_I p_F p_O."""
        return self.input * self.filter * self.output

    @property
    def triangle(self) -> bool:
        """Whether no precision exceeds the sum of the other two (the triangle condition of Theorem 2.1)."""
        return 2 * max(self.input, self.filter, self.output) <= self.total

    def of(self, array: str) -> Fraction:
        """Words per element of ``array``, one of `ARRAYS`."""
        return {INPUT: self.input, FILTER: self.filter, OUTPUT: self.output}[array]


def window_cells(outputs: int, taps: int, stride: int) -> int:
    """Return |{stride·i + j : 0 <= i < outputs, 0 <= j < taps}|, the input cells that a window sweep touches.

    Windows overlap where ``taps`` exceeds the stride and leave gaps where it does not.
    """
    return (outputs - 1) * min(stride, taps) + taps


def input_elements_printed(layer: ConvLayer) -> int:
    """|I| as 001 §2.1 prints it, N c_I (σ_w w_O + w_F)(σ_h h_O + h_F): more than the loops touch."""
    width = layer.stride_width * layer.out_width + layer.filter_width
    height = layer.stride_height * layer.out_height + layer.filter_height
    return layer.batch * layer.in_channels * width * height


def input_elements(layer: ConvLayer) -> int:
    """The input elements that the loops really touch, N c_I ((w_O−1)σ_w + w_F)((h_O−1)σ_h + h_F) for σ <= w_F."""
    return layer.batch * layer.in_channels * window_cells(*layer.along("width")) * window_cells(*layer.along("height"))


def array_elements(layer: ConvLayer) -> dict[str, int]:
    """Return the elements of every array that the loops touch."""
    return {INPUT: input_elements(layer), FILTER: layer.filter_elements, OUTPUT: layer.output_elements}


def array_words(layer: ConvLayer, precisions: Precisions, *, printed_footprint: bool = False) -> dict[str, Fraction]:
    """Return the size of every array in words."""
    elements = array_elements(layer) | ({INPUT: input_elements_printed(layer)} if printed_footprint else {})
    return {array: precisions.of(array) * count for array, count in elements.items()}


def require_small_filter(layer: ConvLayer) -> None:
    """Raise `AssumptionError` where a filter is larger than stride × output (001 §2.1)."""
    faults = []
    for axis in ("width", "height"):
        outputs, taps, stride = layer.along(axis)
        if taps > stride * outputs:
            assumption = f"the assumption {axis[0]}_F <= σ_{axis[0]} {axis[0]}_O of paper 001 §2.1 fails"
            text = f"{assumption}: the filter is larger than stride × output = {stride} × {outputs}"
            faults.append(Fault(text, None, f"filter_{axis}", taps, f"at most {stride * outputs}"))
    raise_all(faults, AssumptionError)


def standing_assumptions(layer: ConvLayer) -> tuple[Assumption, ...]:
    """Return the standing assumptions of 001 §2.1 with whether they hold."""
    result = []
    for axis in ("width", "height"):
        outputs, taps, stride = layer.along(axis)
        result.append(Assumption(f"{axis[0]}_F <= σ_{axis[0]} {axis[0]}_O", taps <= stride * outputs))
        result.append(Assumption(f"σ_{axis[0]} <= {axis[0]}_F", stride <= taps))
    return tuple(result)


RESNET50_PRECISIONS = Precisions(Fraction(1), Fraction(1), Fraction(2))
"""p_I = p_F = 1 and p_O = 2, as 001 Figures 2 and 3 take them."""


def named_layer(name: str) -> ConvLayer:
    """Return a layer by name such as ``resnet50/conv2_x``; raise `InputError` for an unknown one."""
    known = {f"resnet50/{key}": layer for key, layer in RESNET50_LAYERS.items()}
    if name not in known:
        raise InputError(unknown(name, known, "layer", field="layer"))
    return known[name]


def memory_words(value: float | Fraction | str) -> Fraction:
    """Return a fast-memory size M as an exact number of words; raise `AssumptionError` where it is not positive."""
    return _words(value, "memory", "M")


def processor_count(value: int) -> int:
    """Return a processor count P; raise where it is not positive or more than `MOST_PROCESSORS`."""
    if value < 1:
        raise AssumptionError(Fault("the assumption P >= 1 fails", None, "processors", value, ">= 1"))
    if value > MOST_PROCESSORS:
        raise InputError(Fault("too many processors", None, "processors", value, f"<= {MOST_PROCESSORS}"))
    return value


def sqrt_fraction(value: Fraction) -> float:
    """Return √value in floating point without overflow of numerator or denominator, exact for squares."""
    numerator, denominator = math.isqrt(value.numerator), math.isqrt(value.denominator)
    if numerator**2 == value.numerator and denominator**2 == value.denominator:
        return float(Fraction(numerator, denominator))
    return math.sqrt(value)
