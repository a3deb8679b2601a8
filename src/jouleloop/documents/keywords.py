"""The keywords of constraints, one row each: all that reads, resolves or writes them takes what it knows from here.

Keywords of reuse have a table of their own, since mappings carry them too (`jouleloop.mapping.reuse`).
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

_LOOPS = ("temporal", "spatial")
_SPATIAL = ("spatial",)
_BYPASS = ("bypass",)


@dataclass(frozen=True)
class Keyword:
    """A keyword of constraints."""

    name: str
    kinds: tuple[str, ...]
    """The types of target that have it."""
    front_end: bool = False
    """Whether the front end of v0.4 alone knows it."""
    in_attributes: bool = False
    """Whether Timeloop reads it in ``attributes``, if there are any, and not beside them."""
    number: bool = False
    """Whether it is a whole number, so that a text in an architecture of v0.4 is an expression."""
    by_sizes: bool = False
    """Whether that expression may name the sizes of the layer."""
    field: str = ""
    """The field that holds what is stated: of loops, of slots in a mapspace, or of constraints and mapspace."""
    apart: bool = False
    """Whether it belongs to another keyword, with which it is read."""
    refused: bool = False
    """Whether it changes the counts, and the model does not follow it."""
    says: str = ""
    """What it is called in a refusal."""
    unsearched: tuple[str, ...] = ()
    """Searches and certificates that refuse it, by name in `jouleloop.model.support.Use`."""


KEYWORDS = (
    Keyword("factors", _LOOPS, in_attributes=True),
    Keyword("factors_only", _LOOPS, front_end=True),
    Keyword("permutation", _LOOPS, in_attributes=True),
    Keyword("default_max_factor", _LOOPS, in_attributes=True, number=True),
    Keyword("default_min_factor", _LOOPS, in_attributes=True, number=True),
    Keyword("no_iteration_over_dataspaces", _LOOPS, front_end=True),
    Keyword("must_iterate_over_dataspaces", _LOOPS, front_end=True),
    Keyword("maximize_dims", _LOOPS, front_end=True),
    Keyword("maximize_dims_capacity", _LOOPS, front_end=True, number=True, by_sizes=True, field="capacity", apart=True),
    Keyword("split", _SPATIAL, number=True, by_sizes=True, field="split"),
    Keyword("keep", _BYPASS, in_attributes=True),
    Keyword("bypass", _BYPASS, in_attributes=True),
    Keyword("keep_only", _BYPASS, front_end=True),
    Keyword("bypass_only", _BYPASS, front_end=True),
    Keyword("bypass_except", _BYPASS, front_end=True),
    # Of ``type: parallelism``, whose other keys are read with it.
    Keyword(
        "min",
        (),
        in_attributes=True,
        field="min_parallelism",
        apart=True,
        says="least parallelism",
        unsearched=("IMPERFECT", "IMPERFECT_CERTIFICATE", "CERTIFICATE"),
    ),
    Keyword("remainders", (), refused=True),
    Keyword("keep_except_factor", (), refused=True),
)


def keywords_with(flag: str) -> tuple[str, ...]:
    """Return the names of the keywords of which a flag of `Keyword` is set."""
    return tuple(one.name for one in KEYWORDS if getattr(one, flag))


def keywords_of(kind: str) -> tuple[str, ...]:
    """Return the names of the keywords that a type of target has."""
    return tuple(one.name for one in KEYWORDS if kind in one.kinds)


def stated_in(held: Any) -> Iterator[tuple[Keyword, Any]]:
    """Yield the keywords that a record has a field for, and what is stated where that is not the field's default."""
    default = {field.name: field.default for field in fields(held)}
    for one in KEYWORDS:
        if one.field in default and getattr(held, one.field) != default[one.field]:
            yield one, getattr(held, one.field)


def stated_numbers() -> Iterator[tuple[str, str]]:
    """Yield the names of the keywords that a field holds as they are stated, each with the field."""
    yield from ((one.name, one.field) for one in KEYWORDS if one.field and not one.apart)
