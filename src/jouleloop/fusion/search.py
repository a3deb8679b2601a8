"""The least energy of a chain: every way to group, loop and hold, by bounds; the mappings of parts by the engine.

A way to run a group is a prefix and, by layer, the data spaces that are held. Its energy is a sum of optima of parts,
each proven by the engine, and of transfers that the way alone decides. So the least over all ways is the optimum of the
space that docs/fusion.md defines. Ways are taken by their lower bound; where that reaches the best, the rest is pruned.
"""

import heapq
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

from jouleloop.engines.native import NativeEngine
from jouleloop.engines.protocol import Target
from jouleloop.fusion.chain import Chain
from jouleloop.fusion.hardware import Fusion
from jouleloop.fusion.plan import Group, parts_of, waiting_words
from jouleloop.fusion.result import ChainResult, GroupRun, LayerRun, PartRun
from jouleloop.fusion.ways import ROUNDING, Bounds, Way, alike, choices, excludes, held_moves, least_list
from jouleloop.optimum.limit import Limit, Progress, Watch
from jouleloop.optimum.result import SearchResult
from jouleloop.workload.problem import Problem


@dataclass
class ChainSearch:
    """Searches one chain on one architecture.

    Parameters
    ----------
    fusions
        By layer, the hardware at the level of fusion: constraints hang on the shape of a layer.
    seconds
        After so many seconds no further part is searched; the bound then covers what is left.
    watch
        Told where the chain stands after every search and on the way, and may stop it; without a limit of its own.
    recompute
        Whether overlaps of windows may be computed again instead of waiting on the chip.
    known
        Proven optima of whole layers, without their names, that were found before; those that it finds are added.
    """

    chain: Chain
    fusions: tuple[Fusion, ...]
    seconds: float | None = None
    watch: Watch | None = None
    recompute: bool = False
    known: dict[Problem, SearchResult] = field(default_factory=dict)
    started: float = field(default_factory=time.monotonic)
    searches: int = 0
    least_pj: dict[tuple[int, int], float] = field(default_factory=dict)
    """By the first and last layer of a group, what no way to run it is below."""
    standing: Progress | None = None
    """Where the search of the chain stands; None while layers are searched alone."""
    _found: dict[object, list[tuple[int, SearchResult]]] = field(default_factory=dict)

    @cached_property
    def bounds(self) -> Bounds:
        """What no mappings of parts are below."""
        return Bounds(self.chain, self.fusions, self._search)

    def run(self) -> ChainResult:
        """Return the least energy of the chain, over all cuts of it into groups."""
        count = len(self.chain.problems)
        apart = [self.alone(place) for place in range(count)]
        missing = next((place for place, run in enumerate(apart) if run is None), None)
        first = self.fusions[0]
        arch, unit = first.target.arch.name, first.target.costs.unit
        result = ChainResult(self.chain.name, self.chain.names, arch, first.level, unit, (), (), 0.0, 0)
        if missing is not None:
            return replace(result, reason=f"{self.chain.names[missing]} has no mapping", searches=self.searches)
        singles = [run for run in apart if run is not None]
        best: list[tuple[float, tuple[GroupRun, ...]]] = [(0.0, ())]
        lower = [0.0]
        left = total = count * (count - 1) // 2
        operations = sum(
            f.target.costs.compute_pj * p.macs for f, p in zip(self.fusions, self.chain.problems, strict=True)
        )
        for end in range(count):
            energy, groups = best[end][0] + singles[end].energy_pj, (*best[end][1], singles[end])
            least = lower[end] + singles[end].lower_bound_pj
            self.least_pj[end, end] = singles[end].lower_bound_pj
            for start in range(end - 1, -1, -1):
                known = energy + sum(single.energy_pj for single in singles[end + 1 :])
                self.standing = Progress(self._seconds, known, operations, unit, left, total, self.searches)
                left -= 1
                group = Group(self.chain, start, end)
                run, bound = self.fused(group, energy - best[start][0])
                self.least_pj[start, end] = bound
                least = min(least, lower[start] + bound)
                if run is not None and best[start][0] + run.energy_pj < energy:
                    energy, groups = best[start][0] + run.energy_pj, (*best[start][1], run)
            best.append((energy, groups))
            lower.append(min(least, energy))
        return replace(
            result,
            groups=best[-1][1],
            apart=tuple(singles),
            lower_bound_pj=lower[-1],
            searches=self.searches,
            seconds=self._seconds,
        )

    def alone(self, place: int) -> GroupRun | None:
        """Return a layer that runs alone, None where it has no mapping."""
        problem = self.chain.problems[place]
        found = self.known.get(replace(problem, name=""))
        if found is None:
            found = self._search(problem, self.fusions[place].target)
        else:
            self.searches += 1
        if found.evaluation is None:
            return None
        if found.optimal:
            self.known[replace(problem, name="")] = found
        energy_pj = found.evaluation.energy_pj
        run = PartRun(problem, 1, False, found, energy_pj, _outer_words(found, frozenset()))
        layer = LayerRun(self.chain.names[place], (), 0, (run,), 0.0, 0)
        return GroupRun(place, place, (), (layer,), min(found.lower_bound, energy_pj))

    def fused(self, group: Group, below_pj: float, room: int | None = None) -> tuple[GroupRun | None, float]:
        """Return the best way to run a group below an energy, None where there is none, and what none is below.

        Groups around leave ``room`` words of the level; all without it.
        """
        best, bound, deep = None, below_pj, group.nests
        if deep and next(self.ways(group, below_pj * (1 - 2 * ROUNDING), room), None) is None:
            return None, below_pj
        # What costs little without groups inside rules out most ways with them.
        for nests in (False, True) if deep else (False,):
            limit = below_pj if best is None else best.energy_pj
            # What is known already need not be found again: a tie is no better.
            below = limit * (1 - 2 * ROUNDING) if nests or group.outer else limit
            run, bound = self._least(group, below, room, nests=nests)
            best, bound = run or best, limit if bound == below else bound
        return None if best is None else replace(best, lower_bound_pj=bound), bound

    def _least(self, group: Group, below_pj: float, room: int | None, *, nests: bool) -> tuple[GroupRun | None, float]:
        """Return the best way to run a group below an energy, with or without groups inside, and what none is below."""
        best, lower = None, math.inf
        ways = self.ways(group, below_pj, room, nests=nests)
        waiting = [(way.bound_pj, number, way) for number, way in enumerate(ways)]
        heapq.heapify(waiting)
        while waiting:
            least, number, way = heapq.heappop(waiting)
            limit = below_pj if best is None else best.energy_pj
            if least * (1 - ROUNDING) >= limit or self._late():
                return best, min(lower, least, limit)
            if not way.tight:
                way = self.bounds.tightened(group, way)
                heapq.heappush(waiting, (way.bound_pj, number, way))
                continue
            run, bound = self._settled(group, way, limit)
            lower = min(lower, bound)
            if run is not None and run.energy_pj < limit:
                best = run
        return best, min(lower, below_pj if best is None else best.energy_pj)

    def ways(
        self, group: Group, below_pj: float = math.inf, room: int | None = None, *, nests: bool = True
    ) -> Iterator[Way]:
        """Yield every way to run a group whose shared and held data spaces fit the level, and whose bound is below."""
        fusions = self.fusions[group.first : group.last + 1]
        kept = [fusion.keepable(problem) for fusion, problem in zip(fusions, group.problems, strict=True)]
        holds_none = group.size == 1 and kept[0] <= group.shared[0]
        if holds_none or not all(shared <= able for shared, able in zip(group.shared, kept, strict=True)):
            return
        capacity = min(fusion.capacity_words for fusion in fusions) if room is None else room
        nests = nests and group.nests
        for prefix in group.prefixes(recompute=self.recompute):
            if group.outer and not prefix:
                continue
            parts = parts_of(group, prefix)
            if group.size == 1 and fusions[0].ignores(group.problems[0], parts[0].problem):
                continue
            if any(part.fresh < part.iterations and part.problem.slides for part in parts):
                continue
            waiting = waiting_words(parts)
            needed = [
                words + sum(map(part.words, inner))
                for part, inner, words in zip(parts, group.inner, waiting, strict=True)
            ]
            # Groups inside need not have shared tensors whole.
            shared = 0 if nests and group.size > 2 else max(needed)
            if shared > capacity:
                continue
            tight = nests or all(self.bounds.as_layer(part, group.first + place) for place, part in enumerate(parts))
            options = [
                self.bounds.options(group, place, part, able, nests=nests)
                for place, (part, able) in enumerate(zip(parts, kept, strict=True))
            ]
            # What holds nothing needs no group of its own.
            options = [options[0][1:]] if group.size == 1 else options
            for choice in choices(options, capacity - shared, below_pj):
                held, words, bounds = zip(*choice, strict=True)
                yield Way(prefix, parts, held, tuple(waiting), bounds, tight, capacity - sum(words), nests)

    def _settled(self, group: Group, way: Way, limit_pj: float) -> tuple[GroupRun | None, float]:
        """Return a way with the best mappings of its parts, and its bound; None where it is none or not below.

        Layers run one by one, or in groups inside; the least list of those is found as `run` finds that of a chain.
        """
        count, lower = group.size, math.inf
        most = count - 1 if way.nests else 1
        spans = [(start, end) for start in range(count) for end in range(start, min(start + most, count))]
        least = {(start, end): sum(way.bounds_pj[start : end + 1]) for start, end in spans}
        found: dict[tuple[int, int], LayerRun | GroupRun] = {}
        while True:
            bound, runs = least_list(least, count)
            if bound * (1 - ROUNDING) >= limit_pj:
                return None, min(lower, bound)
            one = next((run for run in runs if run not in found), None)
            if one is None:
                break
            below_pj = limit_pj - bound + least[one]
            child, own = self._inside(group, way, *one, below_pj)
            if child is None:
                # What stopped has a bound that says less than that it is not below.
                lower, least[one] = min(lower, bound - least[one] + own), math.inf
            else:
                found[one], least[one] = child, own
        children = tuple(found[run] for run in runs)
        run = GroupRun(group.first, group.last, way.prefix, children, 0.0)
        return run, min(lower, run.energy_pj if run.energy_pj * (1 - ROUNDING) <= bound else bound)

    def _inside(
        self, group: Group, way: Way, first: int, last: int, below_pj: float
    ) -> tuple[LayerRun | GroupRun | None, float]:
        """Return what layers of a way cost, as one layer or as a group inside, and at least."""
        layer, least = self._layer(group, way, first) if first == last else (None, math.inf)
        best: LayerRun | GroupRun | None = layer
        if first < last or (way.nests and group.is_product(first)):
            inside, room = self._child(group, way, first, last)
            limit_pj = below_pj if layer is None else min(below_pj, layer.energy_pj)
            run, bound = (None, math.inf) if room < 0 else self.fused(inside, limit_pj, room)
            best, least = run or layer, min(least, bound)
        pruned = best is not None and best.energy_pj * (1 - ROUNDING) >= below_pj
        return None if pruned else best, least

    def _child(self, group: Group, way: Way, first: int, last: int) -> tuple[Group, int]:
        """Return layers of a way as a group inside, and the words of the level that are left for it."""
        ends = [(first, group.links[first - 1].input)] if first else []
        ends += [(last, group.links[last].output)] if last < group.size - 1 else []
        room = way.room - sum(way.parts[place].words(name) for place, name in ends)
        outer = tuple((*group.around(place), (way.parts[place], way.held[place])) for place in range(first, last + 1))
        return Group(self.chain, group.first + first, group.first + last, outer), room

    def _layer(self, group: Group, way: Way, place: int) -> tuple[LayerRun | None, float]:
        """Return what one layer of a way costs, and at least: infinite where a part has no mapping.

        None with a finite bound: a search that stopped, or was refused, does not say whether a part has one.
        """
        part, held, fusion = way.parts[place], way.held[place], self.fusions[group.first + place]
        on_chip = way.on_chip(place)
        # Tiles of what is on the chip already lie in what is taken for it.
        capacity = way.room - way.waiting[place] + sum(map(part.words, on_chip - group.inner[place]))
        if capacity < sum(map(part.words, on_chip)):
            return None, math.inf
        runs, lower = [], 0.0
        for problem, iterations, resumes in alike(part):
            found = self.of_part(fusion, problem, on_chip, capacity, resumes=resumes)
            if found is None:
                return None, math.inf
            if found.evaluation is None:
                return None, math.inf if excludes(found, resumes=resumes) else way.bounds_pj[place]
            spared = sum(fusion.on_chip_pj(found.evaluation, name) for name in sorted(on_chip))
            energy = iterations * (found.evaluation.energy_pj - spared)
            lower += iterations * (min(found.lower_bound, found.evaluation.energy_pj) - spared)
            words = iterations * _outer_words(found, on_chip)
            runs.append(PartRun(problem, iterations, resumes, found, energy, words))
        keeping = [*group.around(place), (part, held)]
        moves = [held_moves(fusion, *one) for one in keeping]
        layer = LayerRun(
            self.chain.names[group.first + place],
            tuple(sorted(held)),
            sum(sum(map(one.words, names)) for one, names in keeping),
            tuple(runs),
            sum(pj for pj, _ in moves),
            sum(moved for _, moved in moves),
            tuple(tuple(sorted(names)) for _, names in keeping[:-1]),
        )
        return layer, lower + layer.held_pj

    def of_part(
        self, fusion: Fusion, problem: Problem, whole: frozenset[str], capacity_words: int, *, resumes: bool
    ) -> SearchResult | None:
        """Return the best mapping of a part; what was found with more room serves where it fits."""
        known = self._found.setdefault((problem, whole, resumes, fusion), [])
        for room, found in known:
            if room >= capacity_words and _filled(found, fusion) <= capacity_words:
                return found
        target = fusion.target_of(problem, whole, capacity_words, resumes=resumes)
        if target is None:
            return None
        found = self._search(problem, target)
        known.append((capacity_words, found))
        return found

    def _search(self, problem: Problem, target: Target) -> SearchResult:
        self.searches += 1
        engine = NativeEngine()
        engine.watch = Watch(Limit(self._left()), lambda _, where: self._tell(where), within=self.watch)
        found = engine.search(problem, target)
        self._tell()
        return found

    def _tell(self, where: Callable[[], Progress] | None = None) -> None:
        """Tell where the chain stands; while layers are searched alone, where such a search does."""
        watch, standing = self.watch, self.standing
        if standing is not None:
            where = lambda: replace(standing, seconds=self._seconds)  # noqa: E731
        if watch is not None and watch.tell is not None and where is not None:
            watch.subject, watch.started = self.chain.name, self.started
            watch.tell(watch, where)

    @property
    def _seconds(self) -> float:
        return time.monotonic() - self.started

    def _left(self) -> float | None:
        return None if self.seconds is None else max(0.0, self.seconds - self._seconds)

    def _late(self) -> bool:
        return self._left() == 0.0 or (self.watch is not None and bool(self.watch.asked()))


def _filled(found: SearchResult, fusion: Fusion) -> int:
    """Return the words that a mapping fills at the level of fusion."""
    evaluation = found.evaluation
    return 0 if evaluation is None else sum(one.tile_words for one in evaluation.levels[fusion.place].data.values())


def _outer_words(found: SearchResult, on_chip: frozenset[str]) -> int:
    """Return the words that a mapping moves at the outermost level, without what stays on the chip."""
    if found.evaluation is None:
        return 0
    moved = found.evaluation.levels[0].data.items()
    return sum(math.ceil(one.reads + one.updates + one.fills) for name, one in moved if name not in on_chip)
