"""Values of texts that refer to each other: each is evaluated when it is asked for."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from jouleloop.documents.load import Quoted
from jouleloop.expressions import FULL, ExpressionError, Language, UnknownName, evaluate, is_expression


class Values(Mapping[str, Any]):
    """What the texts of one mapping stand for; other values are as they are."""

    def __init__(self, own: Mapping[str, Any], outer: Callable[[str], Any], language: Language = FULL) -> None:
        self.own, self.asked = own, set[str]()
        self._outer, self._language = outer, language
        self._known: dict[str, Any] = {}
        self._active: list[str] = []

    def __iter__(self) -> Iterator[str]:
        return iter(self.own)

    def __len__(self) -> int:
        return len(self.own)

    def __getitem__(self, key: str) -> Any:
        """Return the value of ``key``; raise `ExpressionError` where it has none, `KeyError` where it is not there."""
        text = self.own[key]
        self.asked.add(key)
        if key in self._active:
            raise ExpressionError(f"{key} is defined by itself")
        if key not in self._known:
            self._active.append(key)
            try:
                self._known[key] = self.evaluated(text)
            except ExpressionError as error:
                self._known[key] = error
            finally:
                self._active.pop()
        found = self._known[key]
        if isinstance(found, ExpressionError):
            raise found
        return found

    def name(self, name: str) -> Any:
        """Return what a name stands for: an own key, or what it is outside; raise `UnknownName` where nothing is."""
        return self[name] if name in self.own and name not in self._active else self._outer(name)

    def evaluated(self, value: Any) -> Any:
        """Return a value, the texts in it evaluated if they are expressions; a name of nothing stays a text."""
        if isinstance(value, Mapping) and not isinstance(value, Values):
            return {key: self.evaluated(child) for key, child in value.items()}
        if isinstance(value, list):
            return [self.evaluated(child) for child in value]
        if not isinstance(value, str) or isinstance(value, Quoted) or not is_expression(value):
            return value
        try:
            return evaluate(value, self.name, self._language)
        except UnknownName as error:
            if error.name == value.strip():
                return value
            raise


def values_within(own: Mapping[str, Any], outer: Mapping[str, Any]) -> Values:
    """Return what texts stand for: names are own keys, or else keys outside; one that is neither stays a text."""

    def outside(name: str) -> Any:
        if name in outer:
            return outer[name]
        raise ExpressionError(f"{name} is defined by itself") if name in own else UnknownName(name)

    return Values(own, outside)
