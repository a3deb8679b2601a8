"""Variants of an architecture: attributes that a sweep sets, by path, beside the sizes of the layers."""

from collections.abc import Iterable

Value = str | int | float | bool | None

#: Attributes by path, such as ``(("shared_glb.depth", 8192),)``; empty for the architecture as its file has it.
Variant = tuple[tuple[str, Value], ...]

#: The architecture as its file has it.
UNCHANGED: Variant = ()


def variant_label(variant: Variant) -> str:
    """Return a variant in words: ``shared_glb.depth=8192, PE.meshY=12``; empty for the unchanged architecture."""
    return ", ".join(f"{path}={'(none)' if value is None else value}" for path, value in variant)


def sorted_variants(variants: Iterable[Variant]) -> list[Variant]:
    """Return every variant once, in an order that depends on nothing but them; the unchanged architecture is first."""
    return sorted(set(variants), key=lambda variant: (len(variant), [(path, _rank(value)) for path, value in variant]))


def _rank(value: Value) -> tuple[int, float, str]:
    number = isinstance(value, (int, float))
    return (0 if number else 1, float(value) if isinstance(value, (int, float)) else 0.0, str(value))
