"""The largest buffer that helps a product or a convolution between main memory and one buffer, in closed form.

Proofs: docs/curves.md. Where more words than these are held, no word is saved: every word already passes once.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import prod

from jouleloop.errors import AssumptionError, Fault
from jouleloop.workload.kinds import kind_named
from jouleloop.workload.layer import CONV
from jouleloop.workload.problem import Problem

_MATMULS = (kind_named("matmul").reduced, kind_named("matmul").shape)


@dataclass(frozen=True)
class Axis:
    """One axis of a convolution: outputs, taps, and what moves the window."""

    outputs: int
    taps: int
    stride: int = 1
    dilation: int = 1

    @property
    def hull(self) -> int:
        """Input words that all windows reach."""
        return (self.outputs - 1) * self.stride + self.window

    @property
    def window(self) -> int:
        """Input words of one window, gaps included."""
        return (self.taps - 1) * self.dilation + 1

    @property
    def reach(self) -> int:
        """Input words that one tap reaches over all outputs, gaps included."""
        return (self.outputs - 1) * self.stride + 1

    @property
    def windows_overlap(self) -> bool:
        """Whether two windows share a word."""
        return self.outputs > 1 and self.window > self.stride

    @property
    def taps_overlap(self) -> bool:
        """Whether two taps share a word."""
        return self.taps > 1 and self.reach > self.dilation

    @property
    def gapless(self) -> bool:
        """Whether every word of the hull is used."""
        windows = self.outputs == 1 or self.stride <= self.window
        taps = self.taps == 1 or self.dilation <= self.reach
        return windows and taps and (self.stride == 1 or self.dilation == 1)


def largest_of_product(rows: int, inner: int, columns: int) -> int:
    """Return an operand and both its ranks, the least of three: M K + M + K for a product of M x K and K x N.

    Counts are Timeloop's: the buffer holds one tile of each operand, and all loops outside run over these tiles.

    Raises `AssumptionError` where a size is not above 1.
    """
    sizes = (rows, inner, columns)
    _check(dict(zip(("rows", "inner", "columns"), sizes, strict=True)))
    return min(a * b + a + b for a, b in ((rows, inner), (inner, columns), (rows, columns)))


def largest_of_convolution(batch: int, inputs: int, outputs: int, axes: tuple[Axis, Axis]) -> int:
    """Return the least buffer by which every word of a convolution passes once, by Timeloop's counts.

    Raises `AssumptionError` where each word of a tensor is used once anyhow, or windows leave gaps.
    """
    pixels, taps = prod(axis.outputs for axis in axes), prod(axis.taps for axis in axes)
    _check({"batch x outputs of a channel": batch * pixels, "output channels": outputs, "reduction": inputs * taps})
    for axis in axes:
        if not axis.gapless:
            raise AssumptionError(Fault("windows leave input words out", "axis", value=str(axis)))
    weights, held = taps * inputs * outputs, batch * pixels * outputs
    inputs_whole = batch * inputs * prod(axis.hull for axis in axes) + taps * inputs + batch * pixels
    weights_whole = [
        weights + inputs * prod(a.window if cut else a.hull for a, cut in zip(axes, cuts, strict=True))
        + outputs * prod(1 if cut else a.outputs for a, cut in zip(axes, cuts, strict=True))
        for cuts in _cut([axis.windows_overlap for axis in axes])
    ]  # fmt: skip
    outputs_whole = [
        held + batch * prod(a.reach if cut else a.hull for a, cut in zip(axes, cuts, strict=True))
        + outputs * prod(1 if cut else a.taps for a, cut in zip(axes, cuts, strict=True))
        for cuts in _cut([axis.taps_overlap for axis in axes])
    ]  # fmt: skip
    return min(inputs_whole, *weights_whole, *outputs_whole)


def largest_words(problem: Problem) -> int | None:
    """Return the largest buffer that helps a problem; None where none of the theorems is about it."""
    bound, coefficient = problem.bound, problem.coefficient
    try:
        # Heads index all operands: their loop stands outside and costs nothing.
        if problem.shape in _MATMULS:
            return largest_of_product(bound["M"], bound["K"], bound["N"])
        if problem.shape == CONV:
            wide, high = (
                Axis(bound[p], bound[r], coefficient[f"{w}stride"], coefficient[f"{w}dilation"])
                for p, r, w in (("P", "R", "W"), ("Q", "S", "H"))
            )
            return largest_of_convolution(bound["N"], bound["C"], bound["M"], (wide, high))
    except AssumptionError:
        return None
    return None


def _cut(overlap: list[bool]) -> Iterator[tuple[bool, ...]]:
    """Yield which axes may run outside together: the outer of two that run must not overlap."""
    for cuts in product((False, True), repeat=2):
        if not all(cuts) or not all(overlap):
            yield cuts


def _check(sizes: dict[str, int]) -> None:
    for name, size in sizes.items():
        if size < 2:
            text = "assumption fails: at a size of 1 every word of a tensor is used once, however much is held"
            raise AssumptionError(Fault(text, name, value=size, allowed="2 or more"))
