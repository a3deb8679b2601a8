"""Every way to run a fused chain: groups, prefixes, held data, and groups inside an iteration of another."""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from jouleloop.proof.chain import FusedChain, Layer, Task
from jouleloop.proof.design import Factors, divisors

#: How a loop of a prefix cuts the layers of a group: its factor, and by layer its dimension.
Loop = tuple[int, tuple[str, ...]]
#: How a loop cuts one layer: its factor, and the dimension.
Cut = tuple[int, str]


class Scope(NamedTuple):
    """Layers that follow each other: of the chain, or what an iteration of a group around leaves of them.

    By layer: its sizes, what the level has of it already, how often it runs, and how often its outputs begin then.
    """

    first: int
    sizes: tuple[Factors, ...]
    whole: tuple[frozenset[str], ...]
    counts: tuple[tuple[int, int], ...]
    room: int
    inside: bool = False


class Part(NamedTuple):
    """What one layer of a way does.

    ``whole`` is on the chip in an iteration: ``inner`` for other layers of the scope, too, ``held`` by this way. Moving
    that takes ``moved``. With its operations the layer takes ``outside`` at least, and with what it takes inside the
    level ``passing``.
    """

    layer: int
    sizes: Factors
    whole: frozenset[str]
    inner: frozenset[str]
    held: frozenset[str]
    times: int
    begun: int
    moved: int
    outside: int
    passing: int


class Way(NamedTuple):
    """A prefix and what each layer of a scope holds; ``room``: words of the level that nothing holds."""

    scope: Scope
    loops: tuple[Loop, ...]
    parts: tuple[Part, ...]
    room: int


class Run(NamedTuple):
    """A task, how often it runs, and what is on the chip already of what each run would move."""

    task: Task
    times: int
    spared: int


class Leaf(NamedTuple):
    """A part that runs as one mapping, which may fill some words of the level."""

    part: Part
    room: int


def scopes_of(chain: FusedChain) -> Iterator[Scope]:
    """Yield every run of layers."""
    for first, last in itertools.combinations(range(len(chain.layers) + 1), 2):
        layers = chain.layers[first:last]
        none = (frozenset[str](),) * len(layers)
        yield Scope(first, tuple(one.bounds for one in layers), none, ((1, 1),) * len(layers), chain.capacity)


def _inner(chain: FusedChain, scope: Scope) -> list[frozenset[str]]:
    """Return, by layer of a scope, what it shares with another one."""
    links = chain.links[scope.first : scope.first + len(scope.sizes) - 1]
    read = [frozenset[str](), *(frozenset((name,)) for _, name in links)]
    written = [*(frozenset((name,)) for name, _ in links), frozenset[str]()]
    return [a | b for a, b in zip(read, written, strict=True)]


def _axes(chain: FusedChain, scope: Scope) -> list[tuple[str, ...]]:
    """Return the axes that go through all layers of a scope: the dimension of each; inside, those of one layer."""
    last = scope.first + len(scope.sizes) - 1
    if last == scope.first:
        return [(d,) for d in chain.layers[last].dims if scope.inside]
    found: list[tuple[str, ...]] = list(chain.pairs[scope.first].items())
    for pairs in chain.pairs[scope.first + 1 : last]:
        found = [(*run, pairs[run[-1]]) for run in found if run[-1] in pairs]
    return found


def prefixes(chain: FusedChain, scope: Scope) -> Iterator[tuple[Loop, ...]]:
    """Yield all lists of loops, outermost first: factors that divide the axes, in all orders that count."""
    last = chain.layers[scope.first + len(scope.sizes) - 1]
    size = dict(zip(last.dims, scope.sizes[-1], strict=True))
    choices = [[None, *((n, axis) for n in divisors(size[axis[-1]])[1:])] for axis in _axes(chain, scope)]
    orders = _orders(last, scope.whole[0]) if len(scope.sizes) == 1 else itertools.permutations
    for chosen in itertools.product(*choices):
        loops = [loop for loop in chosen if loop is not None]
        # A group inside has a loop.
        yield from orders(loops) if loops or not scope.inside else ()


def _orders(layer: Layer, whole: frozenset[str]) -> Callable[[list[Loop]], Iterable[tuple[Loop, ...]]]:
    """Return what orders a layer's own loops: first those that move one tensor, then another one (lemma *orders*)."""
    orders = list(itertools.permutations(dims for name, dims in layer.moved.items() if name not in whole))
    return lambda loops: dict.fromkeys(
        tuple(sorted(loops, key=lambda loop: [loop[1][0] not in dims for dims in order])) for order in orders
    )


def ways(chain: FusedChain, scope: Scope, some: Iterable[tuple[Loop, ...]] | None = None) -> Iterator[Way]:
    """Yield every way to run a scope, by some prefixes or all, whose shared and held data fit the level."""
    layers, inner = chain.layers[scope.first : scope.first + len(scope.sizes)], _inner(chain, scope)
    shared = [a | b for a, b in zip(scope.whole, inner, strict=True)]
    if any(names & layer.bypass for layer, names in zip(layers, shared, strict=True)):
        return
    for loops in prefixes(chain, scope) if some is None else some:
        cuts = [[(factor, dims[place]) for factor, dims in loops] for place in range(len(layers))]
        sizes = list(map(_cut, layers, scope.sizes, cuts))
        # Shared data of other layers have ended or not begun. Groups inside need not have them whole.
        taken = 0 if len(layers) > 2 else max(map(Layer.words, layers, sizes, inner))
        if taken > scope.room or (len(layers) == 1 and layers[0].ignores(scope.sizes[0], sizes[0])):
            continue
        options = [list(_parts(chain, scope, k, cuts[k], sizes[k], names)) for k, names in enumerate(inner)]
        for parts in itertools.product(*options):
            room = scope.room - sum(chain.layers[part.layer].words(part.sizes, part.held) for part in parts)
            if room >= taken:
                yield Way(scope, loops, parts, room)


def way_of(chain: FusedChain, scope: Scope, loops: tuple[Loop, ...], held: tuple[frozenset[str], ...]) -> Way | None:
    """Return the way of a prefix and what each layer holds, None where it is none."""
    if loops not in prefixes(chain, scope):
        return None
    return next((way for way in ways(chain, scope, [loops]) if tuple(part.held for part in way.parts) == held), None)


def _cut(layer: Layer, sizes: Factors, cuts: Sequence[Cut]) -> Factors:
    factors = {d: factor for factor, d in cuts}
    return tuple(size // factors.get(d, 1) for d, size in zip(layer.dims, sizes, strict=True))


def _parts(
    chain: FusedChain, scope: Scope, place: int, cuts: Sequence[Cut], sizes: Factors, inner: frozenset[str]
) -> Iterator[Part]:
    """Yield what a layer does for every set of data spaces that it may hold; alone inside, it holds one at least."""
    layer, (times, begun), shared = chain.layers[scope.first + place], scope.counts[place], scope.whole[place] | inner
    visits = {}
    for name, dims in layer.moved.items():
        # Inner loops that do not move it leave it in place.
        moving = max((k for k, (_, d) in enumerate(cuts, 1) if d in dims), default=0)
        visits[name] = times * math.prod(factor for factor, _ in cuts[:moving])
    times *= math.prod(factor for factor, _ in cuts)
    begun *= math.prod(factor for factor, d in cuts if d in layer.moved[layer.output])
    able = sorted(name for name in layer.moved if visits[name] < times and name not in shared | layer.bypass)
    for count in range(scope.inside and len(scope.sizes) == 1, len(able) + 1):
        for held in map(frozenset, itertools.combinations(able, count)):
            part = Part(scope.first + place, sizes, shared | held, inner, held, times, begun, 0, 0, 0)
            yield _counted(chain, layer, part, visits)


def _counted(chain: FusedChain, layer: Layer, part: Part, visits: dict[str, int]) -> Part:
    """Return a part with what moving takes: of what is held, with that of all else outside, and of what may pass."""
    moved, outside, passing = 0, 0, 0
    for name in layer.moved:
        words, written = layer.words(part.sizes, [name]), name == layer.output
        runs = visits[name] if name in part.held else part.times
        once = chain.written(words) if written else chain.read(words)
        back = (runs - part.begun) * written
        if name in part.held:
            moved += runs * (once + (0 if written else chain.filled(words))) + back * (
                chain.read(words) + chain.filled(words)
            )
        elif name not in part.whole:
            cost = runs * once + back * chain.read(words)
            outside += cost
            if name in layer.keep or not chain.passes(layer):
                passing += cost + (runs * chain.filled(words) if name in layer.keep and not written else 0)
            else:
                passing += (
                    cost - runs * chain.spared(words, written=written) - back * chain.spared(words, written=False)
                )
    return part._replace(moved=moved, outside=outside + moved, passing=passing + moved)


def runs_of(chain: FusedChain, part: Part) -> list[Run]:
    """Return what a part runs as one mapping: iterations that begin its outputs, and those that go on."""
    layer = chain.layers[part.layer]
    words = {name: layer.words(part.sizes, [name]) for name in part.whole}
    back = sum(chain.read(n) + chain.filled(n) for name, n in words.items() if name == layer.output)
    read = sum(chain.read(n) + chain.filled(n) for name, n in words.items() if name != layer.output)
    spared = read + sum(chain.written(n) for name, n in words.items() if name == layer.output)
    begin = Run(Task(part.layer, part.sizes, part.whole, False), part.begun, spared)
    resume = Run(begin.task._replace(resumes=True), part.times - part.begun, spared + back)
    return [begin, resume] if resume.times else [begin]


def leaf_of(chain: FusedChain, way: Way, place: int) -> Leaf | None:
    """Return one layer of a way as one mapping, None where what is on the chip does not fit."""
    part = way.parts[place]
    layer = chain.layers[part.layer]
    if layer.words(part.sizes, part.inner) > way.room:
        return None
    # Tiles of what is on the chip already lie in what is taken for it.
    return Leaf(part, way.room + layer.words(part.sizes, part.whole - part.inner))


def child_of(chain: FusedChain, way: Way, first: int, last: int) -> Scope | None:
    """Return layers of a way as a group inside, None where there can be none."""
    parts, room = way.parts[first : last + 1], way.room
    if len(parts) == len(way.parts) or (first == last and not chain.layers[parts[0].layer].product):
        return None
    # What passes between them and other layers of the way stays whole.
    if first:
        room -= chain.layers[parts[0].layer].words(parts[0].sizes, [chain.links[parts[0].layer - 1][1]])
    if last < len(way.parts) - 1:
        room -= chain.layers[parts[-1].layer].words(parts[-1].sizes, [chain.links[parts[-1].layer][0]])
    counts, wholes = tuple((part.times, part.begun) for part in parts), tuple(part.whole for part in parts)
    return Scope(parts[0].layer, tuple(part.sizes for part in parts), wholes, counts, room, True) if room >= 0 else None
