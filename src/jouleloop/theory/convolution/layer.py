"""A convolution as paper 001 counts it: seven loop bounds, two strides, three precisions, array sizes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Self

from jouleloop.errors import AssumptionError, Fault, InputError, raise_all, unknown
from jouleloop.theory.bound import Assumption

LARGEST_SIZE = 10**12
"""Largest loop bound or stride, so that every product of them fits a float."""
LARGEST_WORDS = 10**30
"""Largest memory or precision in words; the least is its reciprocal."""
MOST_PROCESSORS = 2**30
_RANGE = f"{1 / LARGEST_WORDS:g} … {LARGEST_WORDS:g} words"

INPUT, FILTER, OUTPUT = "input", "filter", "output"
ARRAYS = (INPUT, FILTER, OUTPUT)


def _in_range(words: Fraction) -> bool:
    return Fraction(1, LARGEST_WORDS) <= words <= LARGEST_WORDS


@dataclass(frozen=True)
class Precisions:
    """Words of 32 bits per element, p_I, p_F and p_O of 001 §2.1; exact fractions such as 1/4 for 8 bits.

    Raises
    ------
    AssumptionError
        Where a precision is not positive: 001 §2.1 measures every array in a positive number of words.
    """

    input: Fraction = Fraction(1)
    filter: Fraction = Fraction(1)
    output: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        faults = []
        for field in fields(self):
            value = getattr(self, field.name)
            try:
                exact = Fraction(str(value)) if isinstance(value, float) else Fraction(value)
            except (ValueError, OverflowError, TypeError, ZeroDivisionError):
                faults.append(Fault("not a number", None, f"precision {field.name}", value, "words, such as 1 or 1/4"))
                continue
            if exact <= 0:
                faults.append(
                    Fault("the assumption precision > 0 fails", None, f"precision {field.name}", value, "> 0 words")
                )
            elif not _in_range(exact):
                faults.append(Fault("out of range", None, f"precision {field.name}", value, _RANGE))
            object.__setattr__(self, field.name, exact)
        raise_all(faults, AssumptionError)

    @classmethod
    def parse(cls, inputs: str, filters: str, outputs: str) -> Self:
        """Return precisions from text such as ``1/4`` or ``0.25``; raise `AssumptionError` where one is not > 0."""
        # The constructor turns text into exact fractions.
        return cls(inputs, filters, outputs)  # type: ignore[arg-type]

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


@dataclass(frozen=True)
class ConvLayer:
    """The seven nested loops (7NL CNN) of 001 eq. (1).

    Attributes
    ----------
    batch, in_channels, out_channels, out_width, out_height, filter_width, filter_height
        N, c_I, c_O, w_O, h_O, w_F and h_F.
    stride_width, stride_height
        σ_w and σ_h.

    Raises
    ------
    InputError
        Where a size is not a positive integer.
    """

    batch: int
    in_channels: int
    out_channels: int
    out_width: int
    out_height: int
    filter_width: int
    filter_height: int
    stride_width: int = 1
    stride_height: int = 1

    def __post_init__(self) -> None:
        faults = []
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                faults.append(Fault("must be a positive integer", None, field.name, value, ">= 1"))
            elif value > LARGEST_SIZE:
                faults.append(Fault("too large", None, field.name, value, f"<= {LARGEST_SIZE}"))
        raise_all(faults, InputError)

    @property
    def updates(self) -> int:
        """Number G of multiply-accumulates."""
        return (
            self.batch
            * self.in_channels
            * self.out_channels
            * self.out_width
            * self.out_height
            * self.filter_width
            * self.filter_height
        )

    @property
    def filter_elements(self) -> int:
        """The size |F| of the filter array."""
        return self.in_channels * self.out_channels * self.filter_width * self.filter_height

    @property
    def output_elements(self) -> int:
        """The size |O| of the output array."""
        return self.batch * self.out_channels * self.out_width * self.out_height

    @property
    def input_elements_printed(self) -> int:
        """|I| as 001 §2.1 prints it, N c_I (σ_w w_O + w_F)(σ_h h_O + h_F): more than the loops touch."""
        width = self.stride_width * self.out_width + self.filter_width
        height = self.stride_height * self.out_height + self.filter_height
        return self.batch * self.in_channels * width * height

    @property
    def input_elements(self) -> int:
        """The input elements that the loops really touch, N c_I ((w_O−1)σ_w + w_F)((h_O−1)σ_h + h_F) for σ <= w_F."""
        width = window_cells(self.out_width, self.filter_width, self.stride_width)
        height = window_cells(self.out_height, self.filter_height, self.stride_height)
        return self.batch * self.in_channels * width * height

    def words(self, precisions: Precisions, *, printed_footprint: bool = False) -> dict[str, Fraction]:
        """Return the size of every array in words."""
        inputs = self.input_elements_printed if printed_footprint else self.input_elements
        return {
            INPUT: precisions.input * inputs,
            FILTER: precisions.filter * self.filter_elements,
            OUTPUT: precisions.output * self.output_elements,
        }

    def require_small_filter(self) -> None:
        """Raise `AssumptionError` where a filter is larger than stride × output (001 §2.1)."""
        faults = []
        for axis, taps, stride, outputs in self._axes():
            if taps > stride * outputs:
                faults.append(
                    Fault(
                        f"the assumption {axis}_F <= σ_{axis} {axis}_O of paper 001 §2.1 fails: "
                        f"the filter is larger than stride × output = {stride} × {outputs}",
                        None,
                        "filter_width" if axis == "w" else "filter_height",
                        taps,
                        f"at most {stride * outputs}",
                    )
                )
        raise_all(faults, AssumptionError)

    def assumptions(self) -> tuple[Assumption, ...]:
        """Return the standing assumptions of 001 §2.1 with whether they hold."""
        result = []
        for axis, taps, stride, outputs in self._axes():
            result.append(Assumption(f"{axis}_F <= σ_{axis} {axis}_O", taps <= stride * outputs))
            result.append(Assumption(f"σ_{axis} <= {axis}_F", stride <= taps))
        return tuple(result)

    def residue_taps(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Filter taps per residue modulo the stride, for width and height: the ranges of q_6 and q_7 given r_6, r_7."""
        return tuple(  # type: ignore[return-value]
            tuple(len(range(residue, taps, stride)) for residue in range(min(stride, taps)))
            for _, taps, stride, _ in self._axes()
        )

    def with_batch(self, batch: int) -> Self:
        """Return the same layer for another batch size."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return type(self)(**{**values, "batch": batch})

    def _axes(self) -> tuple[tuple[str, int, int, int], ...]:
        return (
            ("w", self.filter_width, self.stride_width, self.out_width),
            ("h", self.filter_height, self.stride_height, self.out_height),
        )


# He, Zhang, Ren, Sun: Deep residual learning for image recognition (CVPR 2016), table 1: conv1 and the 3 × 3 layers of
# every later stage. 001 Figures 2 and 3 take these sizes with a batch of 1000, p_I = p_F = 1 and p_O = 2.
RESNET50_LAYERS = {
    "conv1": ConvLayer(1000, 3, 64, 112, 112, 7, 7, 2, 2),
    "conv2_x": ConvLayer(1000, 64, 64, 56, 56, 3, 3),
    "conv3_x": ConvLayer(1000, 128, 128, 28, 28, 3, 3),
    "conv4_x": ConvLayer(1000, 256, 256, 14, 14, 3, 3),
    "conv5_x": ConvLayer(1000, 512, 512, 7, 7, 3, 3),
}
RESNET50_PRECISIONS = Precisions(Fraction(1), Fraction(1), Fraction(2))


def named_layer(name: str) -> ConvLayer:
    """Return a layer by name such as ``resnet50/conv2_x``; raise `InputError` for an unknown one."""
    known = {f"resnet50/{key}": layer for key, layer in RESNET50_LAYERS.items()}
    if name not in known:
        raise InputError(unknown(name, known, "layer", field="layer"))
    return known[name]


def layer_from_options(name: str | None, sizes: Sequence[int | None]) -> ConvLayer:
    """Return the layer ``name`` with the given sizes replaced, or the layer of ``sizes`` alone.

    Sizes come in the order of the fields of `ConvLayer`, None where not given.

    Raises
    ------
    InputError
        Where the name is unknown, or without a name where a size other than a stride is missing.
    """
    base = named_layer(name) if name is not None else None
    values: dict[str, int] = {}
    faults = []
    for field, given in zip(fields(ConvLayer), sizes, strict=True):
        default = getattr(base, field.name) if base else (1 if field.name.startswith("stride") else None)
        size = default if given is None else given
        if size is None:
            option = "--" + field.name.replace("_", "-")
            faults.append(Fault("is missing", None, option, None, "an integer, or --layer"))
        else:
            values[field.name] = size
    raise_all(faults, InputError)
    return ConvLayer(**values)


def memory_words(value: float | Fraction | str) -> Fraction:
    """Return a fast-memory size M as an exact number of words; raise `AssumptionError` where it is not positive."""
    try:
        exact = Fraction(str(value)) if isinstance(value, float) else Fraction(value)
    except (ValueError, OverflowError, TypeError, ZeroDivisionError) as error:
        raise InputError(Fault("not a number of words", None, "memory", value, "> 0 words")) from error
    if exact <= 0:
        raise AssumptionError(Fault("the assumption M > 0 fails", None, "memory", value, "> 0 words"))
    if not _in_range(exact):
        raise InputError(Fault("out of range", None, "memory", value, _RANGE))
    return exact


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
