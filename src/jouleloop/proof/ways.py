"""Every way to run a fused chain: groups, prefixes, held data, and groups inside an iteration of another."""

import itertools
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from jouleloop.proof.chain import Axis, FusedChain, Layer, Task
from jouleloop.proof.design import Factors, divisors

#: How a loop of a prefix cuts the layers of a group: its factor, and by layer its dimension.
Loop = tuple[int, tuple[str, ...]]
#: What iterations compute, how many compute that, and in how many of these outputs begin.
Runs = tuple[tuple[Factors, int, int], ...]


class Cut(NamedTuple):
    """How a loop cuts a dimension of a layer.

    ``counts``: values that an iteration computes, and in how many iterations. At most ``tile`` values of the output are
    on the chip in one, and ``overlap`` wait for the next.
    """

    dim: str
    counts: tuple[tuple[int, int], ...]
    tile: int
    overlap: int


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
    """What one layer of a way does: ``sizes`` at most in one iteration.

    ``whole`` is on the chip in an iteration: ``inner`` for other layers of the scope, too, ``held`` by this way. Moving
    that takes ``moved``. With its operations the layer takes ``outside`` at least, and with what it takes inside the
    level ``passing``.
    """

    layer: int
    sizes: Factors
    runs: Runs
    whole: frozenset[str]
    inner: frozenset[str]
    held: frozenset[str]
    moved: int
    outside: int
    passing: int

    @property
    def counts(self) -> tuple[int, int]:
        """How often it runs, and how often its outputs begin then."""
        return sum(times for _, times, _ in self.runs), sum(begun for *_, begun in self.runs)


class Way(NamedTuple):
    """A prefix and what each layer of a scope holds.

    ``room``: words of the level that nothing holds. Of these ``waiting`` are overlaps beside the tiles of each layer.
    """

    scope: Scope
    loops: tuple[Loop, ...]
    parts: tuple[Part, ...]
    room: int
    waiting: tuple[int, ...]


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
    nested = nests(chain, scope)
    for loops in prefixes(chain, scope) if some is None else some:
        by_loop = [_cuts(chain, scope, *loop) for loop in loops]
        cuts = [[one[place] for one in by_loop] for place in range(len(layers))]
        sizes, waiting = list(map(_most, layers, scope.sizes, cuts)), _waiting(layers, scope.sizes, cuts)
        # Shared data of other layers have ended or not begun. Groups inside need not have them whole.
        needed = map(operator.add, waiting, map(Layer.words, layers, sizes, inner))
        taken = 0 if nested and len(layers) > 2 else max(needed)
        if taken > scope.room or (len(layers) == 1 and layers[0].ignores(scope.sizes[0], sizes[0])):
            continue
        options = [list(_parts(chain, scope, k, cuts[k], names)) for k, names in enumerate(inner)]
        for parts in itertools.product(*options):
            room = scope.room - sum(chain.layers[part.layer].words(part.sizes, part.held) for part in parts)
            if room >= taken:
                yield Way(scope, loops, parts, room, waiting)


def nests(chain: FusedChain, scope: Scope) -> bool:
    """Whether groups may lie inside: no window slides, and tiles do not overlap."""
    links = chain.axes[scope.first : scope.first + len(scope.sizes) - 1]
    layers = chain.layers[scope.first : scope.first + len(scope.sizes)]
    plain = all(axis == (1, 1, 0) for own in links for axis in own.values())
    return plain and not any(map(Layer.slides, layers, scope.sizes))


def way_of(chain: FusedChain, scope: Scope, loops: tuple[Loop, ...], held: tuple[frozenset[str], ...]) -> Way | None:
    """Return the way of a prefix and what each layer holds, None where it is none."""
    if loops not in prefixes(chain, scope):
        return None
    return next((way for way in ways(chain, scope, [loops]) if tuple(part.held for part in way.parts) == held), None)


def _cuts(chain: FusedChain, scope: Scope, factor: int, dims: tuple[str, ...]) -> tuple[Cut, ...]:
    """Return by layer of a scope how a loop cuts it."""
    layers = chain.layers[scope.first : scope.first + len(dims)]
    sizes = tuple(own[layer.dims.index(d)] for layer, own, d in zip(layers, scope.sizes, dims, strict=True))
    return _tiles(dims, sizes, tuple(chain.axes[scope.first + k][d] for k, d in enumerate(dims[:-1])), factor)


@cache
def _tiles(dims: tuple[str, ...], sizes: Factors, axes: tuple[Axis, ...], factor: int) -> tuple[Cut, ...]:
    """Return the same: the last layer has equal tiles; one before it computes what is read next and is not there."""
    ends = [sizes[-1] // factor * n for n in range(factor + 1)]
    found = [Cut(dims[-1], ((ends[1], factor),), ends[1], 0)]
    for dim, size, (step, reach, before) in list(zip(dims, sizes, axes, strict=False))[::-1]:
        made, waits = [0], [0] * factor
        for n, (start, stop) in enumerate(itertools.pairwise(ends)):
            made.append(made[-1])
            if stop > start:
                waits[n] = max(0, made[n] - max(0, start * step - before))
                made[-1] = max(made[n], min(size, (stop - 1) * step + reach - before))
        # What nobody reads is computed, too.
        ends = [*made[:-1], size]
        news = [b - a for a, b in itertools.pairwise(ends)]
        counts = Counter(new for new in news if new)
        found.append(Cut(dim, tuple(counts.items()), max(map(operator.add, news, waits)), max(waits)))
    return tuple(reversed(found))


def _most(layer: Layer, sizes: Factors, cuts: Sequence[Cut]) -> Factors:
    return layer.sized(sizes, {cut.dim: max(cut.counts)[0] for cut in cuts})


def _waiting(layers: Sequence[Layer], sizes: Sequence[Factors], cuts: Sequence[Sequence[Cut]]) -> tuple[int, ...]:
    """Return the words of overlaps that wait beside the tiles of each layer: those of the innermost loop lie in one.

    An overlap runs through what loops inside it cut, and has a tile of what loops outside cut.
    """
    strips = []
    for layer, own, loops in zip(layers, sizes, cuts, strict=True):
        strips.append([0])
        for k, cut in enumerate(loops):
            box = layer.sized(own, {one.dim: one.tile for one in loops[:k]} | {cut.dim: cut.overlap})
            strips[-1].append(layer.words(box, [layer.output]) if cut.overlap else 0)
    total = sum(map(sum, strips))
    return (total, *(total - own[-1] for own in strips[:-1]))


def _runs(layer: Layer, sizes: Factors, counts: tuple[int, int], cuts: Sequence[Cut]) -> Runs:
    """Return the runs of iterations of some loops."""
    found = []
    for chosen in itertools.product(*(cut.counts for cut in cuts)):
        changed, (times, begun) = {}, counts
        for cut, (size, count) in zip(cuts, chosen, strict=True):
            changed[cut.dim] = size
            times *= count
            begun *= count if cut.dim in layer.moved[layer.output] else 1
        found.append((layer.sized(sizes, changed), times, begun))
    return tuple(found)


def _parts(chain: FusedChain, scope: Scope, place: int, cuts: Sequence[Cut], inner: frozenset[str]) -> Iterator[Part]:
    """Yield what a layer does for every set of data spaces that it may hold; alone inside, it holds one at least."""
    layer, shared = chain.layers[scope.first + place], scope.whole[place] | inner
    whole, counts = scope.sizes[place], scope.counts[place]
    runs, sizes, visits = _runs(layer, whole, counts, cuts), _most(layer, whole, cuts), {}
    none = Part(scope.first + place, sizes, runs, shared, inner, frozenset(), 0, 0, 0)
    times, begun = none.counts
    if begun < times and layer.slides(sizes):
        return
    for name, dims in layer.moved.items():
        # Inner loops that do not move it leave it in place.
        moving = max((k for k, cut in enumerate(cuts, 1) if cut.dim in dims), default=0)
        visits[name] = _runs(layer, whole, counts, cuts[:moving]) if moving < len(cuts) else runs
    back = {name for name, own in visits.items() if sum(count for _, count, _ in own) < times}
    able = sorted(back - shared - layer.bypass)
    for count in range(scope.inside and len(scope.sizes) == 1, len(able) + 1):
        for held in map(frozenset, itertools.combinations(able, count)):
            yield _counted(chain, layer, none._replace(whole=shared | held, held=held), visits)


def _counted(chain: FusedChain, layer: Layer, part: Part, visits: dict[str, Runs]) -> Part:
    """Return a part with what moving takes: of what is held, with that of all else outside, and of what may pass."""
    moved, outside, passing = 0, 0, 0
    for name in layer.moved:
        written, most = name == layer.output, layer.words(part.sizes, [name])
        if name in part.held:
            moves = [(times, layer.words(sizes, [name])) for sizes, times, _ in visits[name]]
        else:
            moves = [(times, layer.least_words(sizes, name)) for sizes, times, _ in part.runs]
        once = sum(times * (chain.written(words) if written else chain.read(words)) for times, words in moves)
        filled = 0 if written else sum(times * chain.filled(words) for times, words in moves)
        back = (sum(times for times, _ in moves) - part.counts[1]) * written
        if name in part.held:
            moved += once + filled + back * (chain.read(most) + chain.filled(most))
        elif name not in part.whole:
            cost = once + back * chain.read(most)
            outside += cost
            if name in layer.keep or not chain.passes(layer):
                passing += cost + (filled if name in layer.keep else 0)
            else:
                spared = sum(times * chain.spared(words, written=written) for times, words in moves)
                passing += cost - spared - back * chain.spared(most, written=False)
    return part._replace(moved=moved, outside=outside + moved, passing=passing + moved)


def runs_of(chain: FusedChain, part: Part) -> list[Run]:
    """Return what a part runs as one mapping: iterations that begin its outputs, and those that go on."""
    layer, found = chain.layers[part.layer], []
    for sizes, times, begun in part.runs:
        words = {name: layer.words(sizes, [name]) for name in part.whole}
        back = sum(chain.read(n) + chain.filled(n) for name, n in words.items() if name == layer.output)
        read = sum(chain.read(n) + chain.filled(n) for name, n in words.items() if name != layer.output)
        spared = read + sum(chain.written(n) for name, n in words.items() if name == layer.output)
        begin = Run(Task(part.layer, sizes, part.whole, False), begun, spared)
        resume = Run(begin.task._replace(resumes=True), times - begun, spared + back)
        found += [one for one in (begin, resume) if one.times]
    return found


def leaf_of(chain: FusedChain, way: Way, place: int) -> Leaf | None:
    """Return one layer of a way as one mapping, None where what is on the chip does not fit."""
    part = way.parts[place]
    layer = chain.layers[part.layer]
    room = way.room - way.waiting[place]
    if layer.words(part.sizes, part.inner) > room:
        return None
    # Tiles of what is on the chip already lie in what is taken for it.
    return Leaf(part, room + layer.words(part.sizes, part.whole - part.inner))


def child_of(chain: FusedChain, way: Way, first: int, last: int) -> Scope | None:
    """Return layers of a way as a group inside, None where there can be none."""
    parts, room = way.parts[first : last + 1], way.room
    if (
        not nests(chain, way.scope)
        or len(parts) == len(way.parts)
        or (first == last and not chain.layers[parts[0].layer].product)
    ):
        return None
    # What passes between them and other layers of the way stays whole.
    if first:
        room -= chain.layers[parts[0].layer].words(parts[0].sizes, [chain.links[parts[0].layer - 1][1]])
    if last < len(way.parts) - 1:
        room -= chain.layers[parts[-1].layer].words(parts[-1].sizes, [chain.links[parts[-1].layer][0]])
    counts, wholes = tuple(part.counts for part in parts), tuple(part.whole for part in parts)
    return Scope(parts[0].layer, tuple(part.sizes for part in parts), wholes, counts, room, True) if room >= 0 else None
