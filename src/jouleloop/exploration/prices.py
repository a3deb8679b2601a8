"""What layers cost on a design or a relaxed design: searched once, kept in a store if there is one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jouleloop.engines.native import NativeEngine
from jouleloop.engines.protocol import SearchOptions, Target
from jouleloop.errors import JouleloopError
from jouleloop.exploration.front import layer_front
from jouleloop.optimum.result import SearchResult
from jouleloop.study.keys import canonical_json, digest, engine_identity, result_key
from jouleloop.study.store import ResultStore
from jouleloop.workload.problem import Problem

#: Searches after which what was found is written to the store.
_BATCH = 200


class StoppedError(Exception):
    """A limit or an interrupt stopped a search."""


@dataclass(frozen=True)
class Price:
    """What a layer costs.

    Attributes
    ----------
    points
        Energy [pJ] and cycles of the optimum, or of every point of the front; empty where there is no mapping.
    reason
        Why there is none.
    level_pj, tile_words
        Of the first point, by level: energy, and the words that one instance holds.
    """

    points: tuple[tuple[float, int], ...]
    reason: str = ""
    level_pj: tuple[float, ...] = ()
    tile_words: tuple[int, ...] = ()


class Prices:
    """Prices by what decides them.

    Parameters
    ----------
    what
        ``energy`` or ``delay``, the least of which is searched, or ``front``.
    store
        Where prices are kept; without it they are kept in memory alone.
    """

    def __init__(self, engine: NativeEngine, what: str, store: ResultStore | None = None) -> None:
        self.engine, self.what, self.store = engine, what, store
        self.searched = 0
        stored = store.read(store.keys()) if store is not None else ()
        self._known: dict[str, Price] = {key: _read(record) for key, record in stored}
        self._new: dict[str, dict[str, Any]] = {}
        self._engine = engine_identity(engine)

    def identity(self, target: Target) -> str:
        """Return a digest of all that decides a price besides the layer."""
        costs = target.costs
        levels = [[one.read_pj, one.write_pj, one.leak_pj, one.later_pj] for one in costs.levels]
        kinds = [[level.is_dram, level.reduces] for level in target.arch.levels]
        return digest(
            {
                "what": self.what,
                "engine": self._engine,
                "architecture": target.arch.as_dict()
                | {"name": "", "kinds": kinds, "fans": dict(target.arch.fanout_names)},
                "energies": [levels, costs.compute_pj, [[table.name, table.actions] for table in costs.networks]],
                "constraints": canonical_json(target.constraints.as_dict()),
                "semantics": target.semantics,
            }
        )

    def price(self, problem: Problem, target: Target, identity: str) -> Price:
        """Return the price of a layer; raise `StoppedError` where its search has to stop."""
        key = result_key(problem, identity)
        if key not in self._known:
            self._known[key] = self._search(problem, target)
            self.searched += 1
            self._new[key] = vars(self._known[key])
            if len(self._new) >= _BATCH:
                self.flush()
        return self._known[key]

    def flush(self) -> None:
        """Write what is new to the store."""
        if self.store is not None and self._new:
            self.store.write(self._new)
        self._new = {}

    def _search(self, problem: Problem, target: Target) -> Price:
        if self.what == "front":
            front = layer_front(self.engine, problem, target)
            points, last = front.points, front.last
        else:
            last = self.engine.search(problem, target, SearchOptions((self.what,)))
            points = (last,) if last.optimal else ()
        if last.stopped:
            raise StoppedError(last.stopped)
        if last.status == "failed":
            raise JouleloopError(f"{problem.name}: {last.reason}")
        return _price(points, last.reason or last.status)


def _price(points: tuple[SearchResult, ...], reason: str) -> Price:
    counted = [one.evaluation for one in points if one.evaluation is not None]
    if not counted:
        return Price((), reason)
    levels = counted[0].levels
    return Price(
        tuple((one.energy_pj, int(one.cycles)) for one in counted),
        "",
        tuple(level.energy_pj for level in levels),
        tuple(sum(int(stats.tile_words) for stats in level.data.values()) for level in levels),
    )


def _read(record: Mapping[str, Any]) -> Price:
    points = tuple((float(energy), int(cycles)) for energy, cycles in record["points"])
    return Price(points, str(record["reason"]), tuple(record["level_pj"]), tuple(record["tile_words"]))
