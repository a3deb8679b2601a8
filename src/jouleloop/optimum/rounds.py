"""Limits under which groups of unrollings are bounded, one round after the other.

`docs/search.md` states why: *groups of unrollings*, rounds.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from jouleloop.model.arrays import Records
from jouleloop.optimum.arrays import Parts
from jouleloop.optimum.parts import MOST_PARTS
from jouleloop.optimum.regroup import Most, Walks, regrouped

#: How far a limit is above the bound at least, and how near the incumbent it stands instead of one between.
_LEAST, _NEAR = 1.005, 1.02
#: Most subproblems of the first round; a later one has at most twice as many as any before, if that are more.
_MOST_AT_FIRST = 10_000
#: Most entries of all tables of a round, and as many of them take as long as a table without any (measured).
_MOST_ENTRIES, _ENTRIES_A_TABLE = 12_500_000_000, 250_000
#: Most subproblems and tables where no lower limit helps.
_MOST = Most(MOST_PARTS, 1_000_000)
#: What of a limit no mapping is below once its round is over; the rest covers rounding.
_ROUNDING = 1.0 - 1e-9


@dataclass
class Rounds:
    """The rounds of one pass.

    Attributes
    ----------
    best
        The incumbent of the pass, one record of `jouleloop.optimum.arrays.BEST`: in a round below it, its limit.
    bound_pj
        No mapping is below.
    limit_pj
        All mappings that cost less are in the subproblems at hand; infinite where these are all.
    """

    walks: Walks
    best: Records
    bound_pj: float = 0.0
    limit_pj: float = math.inf
    _asked_pj: float = math.inf
    _most_parts: int = field(default_factory=lambda: _MOST_AT_FIRST)
    #: The last limit that left too many subproblems.
    _beyond_pj: float = math.inf
    _held: Records | None = field(default=None)

    @property
    def held_pj(self) -> float | None:
        """Energy [pJ] of the incumbent, in a round below it; else none."""
        return None if self._held is None else float(self.best[0]["aside_pj"])

    def first(self) -> Iterator[int | float | Parts]:
        """Return the work of the first round, see `regrouped`."""
        return self._ask(float(self.best[0]["energy_pj"]))

    def lower(self) -> Iterator[int | float | Parts] | None:
        """Return the work of a round further down, after one that leaves too much; none where that is hopeless."""
        self._beyond_pj = self._asked_pj
        if not self._may_lower:
            return None
        return self._ask(math.sqrt(self.bound_pj * self._asked_pj))

    def higher(self) -> Iterator[int | float | Parts]:
        """Return the work of the next round, after one that has found no mapping below its limit."""
        self.bound_pj = max(self.bound_pj, self._asked_pj * _ROUNDING)
        self.release()
        best_pj, beyond_pj = float(self.best[0]["energy_pj"]), self._beyond_pj
        limit_pj = best_pj if best_pj <= self.bound_pj * _NEAR else math.sqrt(self.bound_pj * best_pj)
        if limit_pj >= beyond_pj > self.bound_pj * _LEAST:
            limit_pj = math.sqrt(self.bound_pj * beyond_pj)
        return self._ask(limit_pj)

    def begin(self, parts: Parts) -> bool:
        """Search some subproblems: let the limit take the place of the incumbent; return whether it is below."""
        self.limit_pj = self._asked_pj
        most = 2 * int(parts.stand[0]["parts"])
        if most > self._most_parts:
            # A limit that left too many may leave few enough now.
            self._most_parts, self._beyond_pj = most, math.inf
        below = self._asked_pj < self.best[0]["energy_pj"]
        if below:
            self._held = self.best.copy()
            self.best["aside_pj"] = self.best["energy_pj"]
            self.best["energy_pj"] = self._asked_pj
        return bool(below)

    def release(self) -> None:
        """End a round below the incumbent, whose subproblems are those at hand as before."""
        if self._held is not None:
            self._held["energy_pj"] = self.best["aside_pj"]
            self.best[:], self._held = self._held, None

    def _ask(self, limit_pj: float) -> Iterator[int | float | Parts]:
        self._asked_pj = limit_pj
        return regrouped(self.walks, limit_pj, self.most)

    @property
    def _may_lower(self) -> bool:
        return 0.0 < self.bound_pj * _LEAST < self._asked_pj

    def most(self) -> Most:
        """Return how many subproblems a round may leave, by how many tables; more where no lower limit helps."""
        if not self._may_lower:
            return _MOST
        entries = self.walks.groups.lattice.valid.size
        return Most(self._most_parts, _MOST_ENTRIES // (_ENTRIES_A_TABLE + entries))
