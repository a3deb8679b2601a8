"""The form of a chain's certificate beyond the types of its keys: what belongs together of layers, links and groups."""

import math
from collections.abc import Iterator

from jouleloop.errors import Fault
from jouleloop.proof.stated import ChainCertificate, Group


def _kind(stated: ChainCertificate) -> Iterator[Fault]:
    """Yield what kind of chain or hardware there is not."""
    levels = stated.architecture.levels
    names = [level.name for level in levels]
    if (stated.claim is None) == (stated.chain_certificate is None):
        yield Fault("is either a certificate or a claim", field="chain_certificate")
    if stated.level not in names[1:] or len({*names}) < len(names):
        yield Fault("is no level on the chip", field="level", value=stated.level, allowed=", ".join(names[1:]))
        return
    place = names.index(stated.level)
    if levels[place].capacity_words is None or levels[place].least_words:
        yield Fault("has a level of fusion without a capacity, or that has to be filled", field=stated.level)
    for level in levels[: place + 1]:
        if level.clusters > 1 or (level is not levels[place] and level.fanout != (1, 1)):
            yield Fault("has several instances outside or at the level of fusion", field=level.name)
    for level in levels:
        if level.networks or level.spreads:
            yield Fault("networks that take energy or distribute are not counted in chains", field=level.name)
    for layer in stated.layers:
        outermost = layer.constraints.get(names[0])
        if outermost is not None and outermost.bypass:
            yield Fault("has an outermost level that keeps not all", field=layer.name)
        if any(
            0 in loops.factors.values() for one in layer.constraints.values() for loops in (one.temporal, one.spatial)
        ):
            yield Fault("has factors that stand for a whole dimension", field=layer.name)
        written = [space for space in layer.problem.data_spaces if space.read_write]
        if len(written) != 1:
            yield Fault("a layer of a chain writes one data space", field=layer.name)


def _links(stated: ChainCertificate) -> Iterator[Fault]:
    """Yield links that are not one tensor of two layers, with an axis along each of its ranks."""
    if len(stated.links) != len(stated.layers) - 1:
        yield Fault("there is one link between two layers", field="links", value=len(stated.links))
        return
    for place, link in enumerate(stated.links):
        written = _ranks(stated, place, link.output, written=True)
        read = _ranks(stated, place + 1, link.input, written=False)
        if written is None or read is None:
            yield Fault("is no such data space", field=f"links.{place}", value=[link.output, link.input])
            continue
        last = {d: step * most for rank in written for d, (step, most) in rank.items()}
        rank_of = {d: number for number, rank in enumerate(read) for d in rank}
        along = sorted(rank_of.get(reader, -1) for _, reader in link.axes)
        if sorted(writer for writer, _ in link.axes) != sorted(last) or along != list(range(len(read))):
            yield Fault("needs one axis along each rank of the shared tensor", field=f"links.{place}.axes")
            continue
        # An axis is a rank that one dimension writes, value by value.
        alike = all(len(rank) == 1 and step == 1 for rank in written for step, _ in rank.values())
        spaces = stated.layers[place + 1].problem.data_spaces
        kept = {d for space in spaces if space.read_write for rank in space.ranks for d in rank}
        for writer, reader in link.axes:
            rank = read[rank_of[reader]]
            # Of a window and what it slides along the latter is the axis: it moves the output.
            alike = alike and (len(rank) == 1 or rank.keys() & kept == {reader})
            whole = sum(step * most for step, most in rank.values())
            # Windows reach into the padding, and strides leave out what is at the end.
            reach = whole - math.prod(rank[reader]) + rank[reader][0] - 1
            alike = alike and -reach <= whole - last[writer] <= 2 * reach
        if not alike:
            yield Fault("has another size where it is read", field=f"links.{place}.axes")


def _ranks(
    stated: ChainCertificate, layer: int, name: str, *, written: bool
) -> list[dict[str, tuple[int, int]]] | None:
    """Return by rank of several values what moves it: by dimension the step, and how often at most; None without it."""
    problem = stated.layers[layer].problem
    most = {d: bound - 1 for d, bound in zip(problem.dimensions, problem.bounds, strict=False)}
    for space in problem.data_spaces:
        if space.name == name and space.read_write == written:
            moved = ({d: (step, most[d]) for d, step in rank.items() if most.get(d)} for rank in space.ranks)
            return [rank for rank in moved if rank]
    return None


def _groups(stated: ChainCertificate) -> Iterator[Fault]:
    """Yield groups that do not cover the layers, or are of another length."""
    count = len(stated.layers)
    if sum(group.layers for group in stated.groups) != count:
        yield Fault("do not cover the layers once", field="groups")
    for group in (one for top in stated.groups for one in _in(top)):
        covered = sum(part.layers if isinstance(part, Group) else 1 for part in group.parts)
        if {covered, len(group.held), *(len(loop.dimensions) for loop in group.loops)} != {group.layers}:
            yield Fault("is of another length than its layers", field="groups", value=group.layers)
    if len(stated.prices) != count + 1:
        yield Fault("there is one price before each layer, and one behind all", field="prices")


def _in(group: Group) -> Iterator[Group]:
    """Yield a group and those inside it."""
    yield group
    for part in group.parts:
        yield from _in(part) if isinstance(part, Group) else ()


def _statements(stated: ChainCertificate) -> Iterator[Fault]:
    """Yield statements about no part of a layer."""
    for number, one in enumerate(stated.statements):
        field = f"statements.{number}"
        if one.layer >= len(stated.layers):
            yield Fault("there is no such layer", field=field, value=one.layer)
            continue
        problem = stated.layers[one.layer].problem
        if len(one.bounds) != len(problem.bounds):
            yield Fault("has bounds of another length than its layer", field=field)
        for name in sorted({*one.whole} - {space.name for space in problem.data_spaces}):
            yield Fault("unknown data space", field=field, value=name)


CHECKS = (_kind, _links, _groups, _statements)
