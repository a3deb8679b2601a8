"""Write certificates from plain data: what is claimed, and the argument; or a claim, and why it has no argument."""

from collections.abc import Iterator
from typing import Any

from jouleloop.errors import Fault, InputError
from jouleloop.proof import imperfect
from jouleloop.proof.design import Design
from jouleloop.proof.form import digest_of
from jouleloop.proof.limits import MOST_STEPS, Verdict
from jouleloop.proof.rules import ROUNDING

Data = dict[str, Any]


def sealed(about: Data, objective: str, value: float, mapping: list[Data], parts: list[Data], claim: str = "") -> Data:
    """Return a certificate of the form of docs/proof.md, or a claim where a reason says why it has no argument."""
    kind: Data = {"claim": claim} if claim else {"certificate": 1}
    found = {**kind, "objective": objective, "value": value, **about, "mapping": mapping}
    found["parts"] = [] if claim else parts
    return {**found, "digest": digest_of(found)}


def without_remainders(mapping: list[Data]) -> list[Data]:
    """Return a mapping's levels with the ends of loops alone: remainders follow from them."""
    places = (("temporal", 2), ("spatial", 3))
    return [level | {key: [loop[:width] for loop in level[key]] for key, width in places} for level in mapping]


def unproven(about: Data, objective: str) -> str:
    """Return why there is no argument for imperfect factors, or an empty text."""
    if objective != "energy":
        return f"imperfect factors are proven for the least energy, not for {objective}"
    text = "no lemma is known for imperfect factors where outputs overlap or have gaps, or three dimensions move a rank"
    return "" if imperfect.knows(Design(about)) else text


def argue(about: Data, value: float, parts: list[Data], most_steps: int = MOST_STEPS) -> Iterator[bool]:
    """Append the argument for imperfect factors, part by part; yield False after each.

    Raise `jouleloop.proof.limits.Exceeded` where more steps are needed than allowed.
    """
    for part in imperfect.parts_of(Design(about), value * (1 - float(ROUNDING)), Verdict(most_steps=most_steps)):
        parts.append(imperfect.argument(part))
        if part.better is not None:
            raise InputError(Fault("the optimum is none", value=value, allowed="{} costs {!r} pJ".format(*part.better)))
        yield False
