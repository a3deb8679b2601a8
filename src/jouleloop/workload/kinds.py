"""The kinds of layers that the project provides: the files in ``shapes/``, read when they are needed."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from jouleloop.errors import InputError, unknown
from jouleloop.workload.kind import Kind
from jouleloop.workload.shape_file import read_kind

_SHAPES = Path(__file__).parent / "shapes"
#: A kind whose shape stands in a file of the user's.
OWN = "problem"


@cache
def kind_names() -> tuple[str, ...]:
    """Return the names of the kinds that are provided."""
    return tuple(sorted(path.stem for path in _SHAPES.glob("*.yaml")))


@cache
def kind_named(name: str) -> Kind:
    """Return a kind that is provided; raise `InputError` where there is none of that name."""
    if name not in kind_names():
        raise InputError(unknown(name, (*kind_names(), OWN), "kind of layer", field="kind"))
    return read_kind(_SHAPES / f"{name}.yaml", name, kind_named)


def kinds() -> Iterator[Kind]:
    """Yield every kind that is provided."""
    yield from map(kind_named, kind_names())


_CONV = kind_named("conv")
#: The convolution of Timeloop's examples: Wstride goes with P, Hstride with Q, and R with P, S with Q.
CONV = _CONV.reduced
#: A convolution in G groups, each with C input and M output channels; depthwise has C = M = 1.
GROUPED_CONV = _CONV.shape
