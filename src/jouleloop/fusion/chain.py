"""A chain of layers, each of which reads what the one before it writes; and the axes along which both can be cut.

A chain is a list of layers in YAML. The output of a layer and the input of the next are one tensor: their ranks are
matched by what they stand for. A rank that one dimension writes and one dimension reads, perhaps by a stride and
through a window, is an *axis*: a loop over it cuts the tensor into tiles. They overlap where a window is wider than
a stride.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from pydantic import Field, StrictStr

from jouleloop.documents.load import read_plain
from jouleloop.errors import Fault, InputError, raise_all
from jouleloop.validation import made_of
from jouleloop.workload.layer import Layer
from jouleloop.workload.problem import DataSpace, Problem, Term
from jouleloop.workload.sizes import parse_layer
from jouleloop.workload.strict import Strict, key
from jouleloop.workload.sweep_schema import NAME_PATTERN

#: Dimensions that stand for the channels of what a layer writes, and of what it reads.
_WRITTEN_CHANNELS, _READ_CHANNELS = {"G", "M"}, {"G", "C", "K"}


class ChainLayer(Strict):
    """One layer of a chain."""

    name: StrictStr = key("Name in results.", "text", pattern=NAME_PATTERN)
    layer: StrictStr = key("The layer, as docs/layer-texts.md writes it.", "text")


class ChainFile(Strict):
    """A file in ``layers/chains/``."""

    description: StrictStr = key("What the chain is.", "text", "")
    layers: list[ChainLayer] = Field(..., min_length=2, description="The layers, in the order in which they run.")


@dataclass(frozen=True)
class Axis:
    """A rank of a shared tensor along which it can be cut.

    Value v of the reader's dimension reads the values from ``step`` v − ``before``, as many as ``reach``. Those below
    zero, and those that the writer does not have, are padding.
    """

    size: int
    """How many values the reader's dimension has."""
    writer: str
    """Dimension of the layer that writes the tensor."""
    reader: str
    """Dimension of the layer that reads it."""
    step: int = 1
    reach: int = 1
    before: int = 0


@dataclass(frozen=True)
class Link:
    """A tensor that a layer writes and the next one reads."""

    output: str
    """Its data space in the layer that writes it."""
    input: str
    """Its data space in the layer that reads it."""
    axes: tuple[Axis, ...]


@dataclass(frozen=True)
class Chain:
    """Layers that run one after the other.

    Attributes
    ----------
    names, problems
        The layers.
    links
        The tensor between each layer and the next: one fewer than layers.
    """

    name: str
    names: tuple[str, ...]
    problems: tuple[Problem, ...]
    links: tuple[Link, ...]


def read_chain(path: Path) -> Chain:
    """Return the chain of a file; raise `InputError` with all that is wrong with it."""
    return made_of(ChainFile, read_plain(path, "a chain"), path, partial(_chain, path.stem))


def _chain(name: str, stated: ChainFile) -> Chain:
    names = [one.name for one in stated.layers]
    text = "two layers have one name"
    faults = [Fault(text, None, "layers", name) for name in sorted({*names}) if names.count(name) > 1]
    layers: list[Layer] = []
    for place, one in enumerate(stated.layers):
        try:
            layers.append(parse_layer(one.layer))
        except InputError as error:
            faults += [replace(fault, field=f"layers[{place}].layer") for fault in error.faults]
    raise_all(faults)
    return chain_of(name, layers, names)


def chain_of(name: str, layers: Sequence[Layer], names: Sequence[str] = ()) -> Chain:
    """Return the chain of layers; raise `InputError` where one does not read what the one before it writes."""
    if len(layers) < 2:
        raise InputError(Fault("a chain has two layers at least", field="layers", value=len(layers)))
    problems = tuple(layer.problem() for layer in layers)
    links: list[Link] = []
    faults: list[Fault] = []
    for place in range(1, len(layers)):
        pair = [layers[place - 1], layers[place]]
        try:
            links.append(_link(pair[0], pair[1]))
        except InputError as error:
            faults += [Fault(f.message, None, f"layers[{place}]", f.value, f.allowed) for f in error.faults]
    raise_all(faults)
    return Chain(name, tuple(names) or tuple(one.name for one in problems), problems, tuple(links))


def _link(writer: Layer, reader: Layer) -> Link:
    """Return what two layers share."""
    problems = writer.problem(), reader.problem()
    output = next(space for space in problems[0].data_spaces if space.read_write)
    read = dict(reader.kind.roles).get("inputs")
    given = next((space for space in problems[1].data_spaces if space.name == read), None)
    if given is None:
        raise InputError(Fault("has no input that is known to be what the layer before it writes", value=reader.label))
    ranks = _ranks(problems[0], output, written=True), _ranks(problems[1], given, written=False)
    faults = [
        Fault(f"reads no rank {name} of {size}, which the layer before it writes", value=reader.label)
        for name, (size, *_) in ranks[0].items()
        if size > 1 and name not in ranks[1]
    ]
    axes = []
    for name, rank in ranks[1].items():
        written = ranks[0].get(name, _Rank(1, None))
        if rank.whole and written.dimension is not None:
            if rank.size != written.size:
                faults.append(_unlike(name, rank.size, written.size, reader))
                continue
        else:
            # Windows reach into the padding, and strides leave out what is at the end.
            reach = _reach(problems[1], given, name)
            if not written.size - reach <= rank.size <= written.size + 2 * reach:
                faults.append(_unlike(name, rank.size, written.size, reader))
                continue
        if rank.dimension is not None and written.dimension is not None and rank.size > 1:
            before = 0 if rank.whole else max(0, rank.size - written.size + 1) // 2
            size = problems[1].bound[rank.dimension]
            axes.append(Axis(size, written.dimension, rank.dimension, rank.step, rank.reach, before))
    raise_all(faults)
    return Link(output.name, given.name, tuple(axes))


def _unlike(name: str, size: int, written: int, reader: Layer) -> Fault:
    text = f"reads {size} values along {name}, and the layer before it writes {written}"
    return Fault(text, value=reader.label)


def _reach(problem: Problem, space: DataSpace, name: str) -> int:
    """Return by how much the values read along a rank may differ from those that there are."""
    rank = next(rank for rank in space.projection if rank[-1].dimension == name or name == "channels")
    windows = sum(_step(problem, term) * (problem.bound[term.dimension] - 1) for term in rank[:-1])
    return windows + _step(problem, rank[-1]) - 1


class _Rank(NamedTuple):
    """Size of a rank, the dimension that cuts it, by what steps, and how many values one value of it spans."""

    size: int
    dimension: str | None
    step: int = 1
    reach: int = 1

    @property
    def whole(self) -> bool:
        """Whether each value of the dimension is one of the rank."""
        return self.dimension is not None and self.step == self.reach == 1


def _ranks(problem: Problem, space: DataSpace, *, written: bool) -> Mapping[str, _Rank]:
    """Return the ranks by what they stand for; without a dimension where several cut one or a window writes."""
    channels = _WRITTEN_CHANNELS if written else _READ_CHANNELS
    found: dict[str, _Rank] = {}
    for rank in space.projection:
        moving = [term for term in rank if problem.bound[term.dimension] > 1]
        size = 1 + sum(_step(problem, term) * (problem.bound[term.dimension] - 1) for term in moving)
        # An output is known by its own dimension, an input of a window by that of the output it follows.
        last = rank[-1].dimension
        stands = "channels" if last in channels else last
        if len(moving) == 1 and _step(problem, moving[0]) == 1:
            one = _Rank(size, moving[0].dimension)
        elif not moving:
            one = _Rank(size, last)
        elif written or rank[-1] not in moving or last in space.crossing:
            one = _Rank(size, None)
        else:
            step = _step(problem, rank[-1])
            one = _Rank(size, last, step, size - step * (problem.bound[last] - 1))
        found[stands] = _joined(found[stands], one) if stands == "channels" and stands in found else one
    return found


def _joined(one: _Rank, other: _Rank) -> _Rank:
    """Return groups and channels as one rank: cut by one dimension where only one of them has more than one value."""
    if min(one.size, other.size) == 1:
        return max(one, other, key=lambda rank: rank.size)
    return _Rank(one.size * other.size, None)


def _step(problem: Problem, term: Term) -> int:
    return 1 if term.coefficient is None else problem.coefficient[term.coefficient]
