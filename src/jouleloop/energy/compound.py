"""Compound components: what a component is made of and which parts its actions use, as Accelergy expands them."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jouleloop.arch.read import component_classes
from jouleloop.arch.values import values_within
from jouleloop.documents.load import load_document
from jouleloop.energy.primitives import ACTIONS, AREA, DECIMALS, NoEstimate, Primitives
from jouleloop.errors import EnergyTableError, Fault, InputError, raise_all
from jouleloop.expressions import ExpressionError, evaluate

_NAME = re.compile(r"(?P<name>[^\[\]]+)(?:\[(?P<first>[^\[\]]+?)(?:\.\.(?P<last>[^\[\]]+))?\])?")
_MAX_DEPTH = 10

#: Attributes that parts take over from the whole where they do not state their own. The clock period goes to compound
#: parts alone: version 0.3 builds arithmetic for 5 ns whatever the clock, version 0.4 for the period that is handed on.
_INHERITED = ("technology", "global_cycle_seconds")
_PRIMITIVE_INHERITED = ("technology",)


@dataclass(frozen=True)
class Library:
    """Definitions of compound components by class name."""

    classes: Mapping[str, Mapping[str, Any]]

    @classmethod
    def read(cls, paths: Iterable[Path]) -> "Library":
        """Return the definitions in files with ``compound_components`` (or ``components``); later files win."""
        found = cls({})
        faults: list[Fault] = []
        for path in paths:
            try:
                listed = component_classes(load_document(path))
            except InputError as error:
                faults += error.at(path).faults
                continue
            if listed is None:
                faults.append(Fault("holds no compound components", str(path), allowed="compound_components: classes"))
            else:
                found = found.with_classes(listed)
        raise_all(faults, EnergyTableError)
        return found

    def with_classes(self, definitions: Iterable[Mapping[str, Any]]) -> "Library":
        """Return these definitions, replaced by others of the same names."""
        return Library({**self.classes, **{str(item["name"]): item for item in definitions}})

    def actions(self, klass: str) -> tuple[str, ...]:
        """Return the actions of a class; none where it is unknown."""
        if klass in self.classes:
            listed = self.classes[klass].get("actions")
            if not isinstance(listed, list):
                return ()
            return tuple(str(action["name"]) for action in listed if isinstance(action, dict) and "name" in action)
        return ACTIONS.get(klass, ())

    def energy(
        self,
        primitives: Primitives,
        klass: str,
        attributes: Mapping[str, Any],
        action: str,
        arguments: Mapping[str, Any] | None = None,
    ) -> float:
        """Return the energy of one action of a component in pJ, the most expensive of the action's arguments.

        The action `AREA` gives the area of all its parts in um2.

        Raises `NoEstimate` where the class, one of its parts or an attribute is not known.
        """
        try:
            return self._energy(primitives, klass, attributes, action, dict(arguments or {}), 0)
        except (AttributeError, KeyError, TypeError) as error:
            raise NoEstimate(f"the definition of class {klass} is malformed: {error!r}") from error

    def _energy(
        self,
        primitives: Primitives,
        klass: str,
        attributes: Mapping[str, Any],
        action: str,
        arguments: dict[str, Any],
        depth: int,
    ) -> float:
        if klass not in self.classes:
            return primitives.energy(klass, attributes, action, arguments)
        if depth > _MAX_DEPTH:
            raise NoEstimate(f"class {klass} is made of itself")
        definition = self.classes[klass]
        scope = _scope(klass, definition.get("attributes") or {}, attributes)
        found = next((a for a in definition.get("actions") or [] if a.get("name") == action), None)
        if action == AREA:
            listed = definition.get("subcomponents") or []
            found = {"subcomponents": [{**part, "actions": [{"name": AREA}]} for part in listed]}
        if found is None:
            raise NoEstimate(f"class {klass} has no action {action}")
        largest = {key: _largest(value, scope) for key, value in (found.get("arguments") or {}).items()}
        scope = {**scope, **{key: value for key, value in largest.items() if value is not None}, **arguments}
        parts = {}
        for part in definition.get("subcomponents") or []:
            parts[str(part["name"]).split("[")[0]] = part
        total = 0.0
        for use in found.get("subcomponents") or []:
            name, count = _counted(str(use.get("name")), scope)
            if name not in parts:
                raise NoEstimate(f"class {klass} has no part {name}")
            own = _values(parts[name].get("attributes") or {}, scope)
            klass_of_part = str(parts[name]["class"])
            handed_down = _INHERITED if klass_of_part in self.classes else _PRIMITIVE_INHERITED
            inherited = {key: scope[key] for key in handed_down if key in scope and key not in own}
            for step in use.get("actions") or []:
                passed = _values(step.get("arguments") or {}, scope)
                scaled = (
                    use.get("area_scale", 1)
                    if action == AREA
                    else step.get("energy_scale", step.get("action_share", 1))
                )
                scale = _values({"scale": scaled}, scope)["scale"]
                each = self._energy(
                    primitives, klass_of_part, {**inherited, **own}, str(step["name"]), passed, depth + 1
                )
                total += count * float(scale) * each
        return round(total, DECIMALS)


def _scope(klass: str, defaults: Mapping[str, Any], attributes: Mapping[str, Any]) -> dict[str, Any]:
    merged = {**defaults, **{key: value for key, value in attributes.items() if value is not None}}
    missing = [key for key, value in merged.items() if value == "must_specify"]
    if missing:
        raise NoEstimate(f"class {klass} needs the attribute {', '.join(missing)}")
    return _values(merged, {})


def _values(given: Mapping[str, Any], scope: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of expressions, each in the scope of the whole component, never in that of its siblings."""
    names = values_within({} if scope else given, scope)
    result = {}
    for key, value in given.items():
        try:
            result[key] = names.evaluated(value) if scope else names[key]
        except ExpressionError:
            result[key] = value
    return result


def _largest(value: Any, scope: Mapping[str, Any]) -> Any:
    """Return the largest value of an argument such as ``0..n_banks``."""
    if not isinstance(value, str):
        return value
    last = value.rpartition("..")[2]
    try:
        return evaluate(last, scope)
    except ExpressionError:
        return None


def _counted(text: str, scope: Mapping[str, Any]) -> tuple[str, int]:
    match = _NAME.fullmatch(text.strip())
    if not match:
        raise NoEstimate(f"{text!r} names no part")
    if match["last"] is None:
        return match["name"], 1
    try:
        first = evaluate(match["first"], scope)
        last = evaluate(match["last"], scope)
        return match["name"], max(int(last) - int(first) + 1, 0)
    except (ExpressionError, TypeError, ValueError) as error:
        raise NoEstimate(f"{text!r}: {error}") from error
