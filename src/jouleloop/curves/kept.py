"""Searches of a curve in a file: what was found before is not searched again."""

import bisect
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from jouleloop.curves.staircase import Point, Question, point_of
from jouleloop.engines.native import NativeEngine
from jouleloop.engines.protocol import SearchOptions
from jouleloop.errors import Fault, InputError
from jouleloop.files import is_file, read_sealed_json, write_sealed_json
from jouleloop.mapping.formats import from_levels
from jouleloop.model.evaluate import evaluate_mapping
from jouleloop.optimum.result import SearchResult
from jouleloop.study.keys import digest, result_key, target_identity

#: Seconds between two writings of the file; what a kill can lose is what was found in them.
_SECONDS = 5.0
_UNLIMITED = 1 << 62


class KeptSearches:
    """The searches of one question in one file.

    Raises `InputError` where the file is damaged, or holds the searches of another question.
    """

    def __init__(self, path: Path, question: Question) -> None:
        self.path, self.question = path, question
        #: What decides the searches, whatever range of capacities is asked for.
        self.key = question_key(question)
        self._rows: list[dict[str, Any]] = []
        self._points: list[Point] = []
        self._written = time.monotonic()
        if is_file(path):
            found = read_sealed_json(path)
            if found.get("key") != self.key:
                text = "holds another curve: of another layer, design, level, objective or version"
                raise InputError(Fault(text, str(path), allowed="the path of a new file, or of this curve's"))
            try:
                self._rows = list(found["searches"])
                self._points = sorted(map(self._point, self._rows), key=_top)
            except (KeyError, TypeError) as error:
                raise InputError(Fault("is of another form: remove it, and it is made again", str(path))) from error

    def find(self, words: int | None) -> Point | None:
        """Return a search whose optimum is that at so many words: it allowed as many or more, and fills no more."""
        wanted = _UNLIMITED if words is None else words
        for point in self._points[bisect.bisect_left(self._points, wanted, key=_top) :]:
            if point.held <= wanted and (point.result.optimal or point.words == words):
                return replace(point, words=words)
            if point.result.optimal:
                break
        return None

    def add(self, point: Point) -> None:
        """Keep a search, and write the file where that is some seconds ago."""
        bisect.insort(self._points, point, key=_top)
        found = point.result
        self._rows.append(
            {
                "words": point.words,
                "status": found.status,
                "reason": found.reason,
                "lower_bound": found.lower_bound,
                "optimal": found.optimal,
                "stopped": found.stopped,
                "proof": found.proof,
                "mapping": None if found.mapping is None else found.mapping.as_json(),
            }
        )
        if time.monotonic() - self._written > _SECONDS:
            self.write()

    def write(self) -> None:
        """Write all searches."""
        write_sealed_json(self.path, {"key": self.key, "searches": self._rows})
        self._written = time.monotonic()

    def _point(self, row: dict[str, Any]) -> Point:
        """Return a search as it was, its mapping counted anew."""
        question = self.question
        target = question.at(row["words"])
        given = {name: value for name, value in row.items() if name not in ("words", "mapping")}
        result = SearchResult(**given, objective=(question.minimised,))
        if row["mapping"] is None:
            return Point(row["words"], result)
        mapping = from_levels(row["mapping"], question.problem, target.arch)
        evaluation = evaluate_mapping(question.problem, target.arch, target.costs, mapping, target.semantics)
        return point_of(question, row["words"], replace(result, mapping=mapping, evaluation=evaluation))


def question_key(question: Question) -> str:
    """Return a hash of all that decides the searches of a question besides the capacity of its level."""
    options = SearchOptions((question.minimised,))
    identity = target_identity(question.at(None), NativeEngine(), options)
    return result_key(question.problem, digest({**identity, "level": question.level, "objective": question.objective}))


def _top(point: Point) -> int:
    return _UNLIMITED if point.words is None else point.words
