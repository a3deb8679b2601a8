"""The curve of a network: its layers run one after the other with one buffer, so that their curves add up."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from jouleloop.curves.staircase import Staircase, Step
from jouleloop.errors import Fault, InputError

#: Objectives whose sum over layers is that of the network.
ADDITIVE = ("energy", "delay", "dram-words")


S = TypeVar("S", "Total", Step)


@dataclass(frozen=True)
class Total:
    """What a network costs from a capacity on, up to the next one."""

    words: int
    value: float
    lower_bound: float
    proven: bool
    """Whether the value of each layer is the least at this capacity, proven."""


def totals(layers: Sequence[tuple[int, Staircase]]) -> tuple[Total, ...]:
    """Return the steps of a network, the smallest capacity first: those at which some layer has one.

    They begin where every layer has a mapping, and take each layer as often as its number says. None where a layer has
    none at all.
    """
    if not layers or any(not curve.steps for _, curve in layers):
        return ()
    first = max(curve.steps[0].words for _, curve in layers)
    found: list[Total] = []
    for words in sorted({max(first, step.words) for _, curve in layers for step in curve.steps}):
        steps = [(count, step) for count, curve in layers if (step := curve.at(words)) is not None]
        value, bound = (sum(n * getattr(step, name) for n, step in steps) for name in ("value", "lower_bound"))
        found.append(Total(words, value, bound, all(step.optimal for _, step in steps)))
    return tuple(found)


def within(steps: Sequence[S], share: float) -> S:
    """Return the step with the smallest capacity at which it costs at most ``share`` more than at any."""
    return next(step for step in steps if step.value <= steps[-1].value * (1 + share))


def check_additive(objective: str) -> None:
    """Raise `InputError` where values of layers do not add up."""
    if objective not in ADDITIVE:
        text = "values of layers do not add up to that of a network"
        raise InputError(Fault(text, "objective", value=objective, allowed=", ".join(ADDITIVE)))
