"""Expressions of a whole v0.4 design, given their values as Timeloop's front end does before it reads anything.

It is needed where a design names functions of its own (`jouleloop.arch.own_functions`), states its variables in parts,
or has CiMLoop's arrays (`jouleloop.arch.cim_arrays`). What has no value stays as it stands, unless Timeloop counts it.

Source: ``timeloopfe/v4/specification.py`` (``Specification.parse_expressions``), ``timeloopfe/v4/arch.py`` and
``timeloopfe/common/nodes.py`` (``Node.parse_expressions``) of timeloop-python, commit b8aaf2c.
"""

import logging
import math
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from jouleloop.arch.attributes import BY_NAME, canonical_name
from jouleloop.arch.cim_arrays import FULL, fill_arrays, fill_up, histograms, is_array
from jouleloop.arch.named_numbers import with_numbers
from jouleloop.arch.own_functions import language_of, read_functions
from jouleloop.arch.values import Values
from jouleloop.documents.keywords import keywords_with
from jouleloop.documents.load import ARRAY_TAG, TAG, Quoted, load_asked
from jouleloop.errors import Fault, InputError, nearest, raise_all
from jouleloop.expressions import ExpressionError, Function, UnknownName, evaluate, one_budget

_LOG = logging.getLogger("jouleloop.arch")
_FACTOR = re.compile(r"\s*\w+\s*(<=|>=|=)\s*-?\d+\s*")
#: Constraints that are numbers, so that a text there is an expression.
_NUMBERS = keywords_with("number")
_SCALES = ("energy_scale", "area_scale", "enabled")
#: Where a resolved architecture says which sizes of its own layer its expressions read.
SIZES = "layer_sizes"

_Names = Callable[[str], Any]


@one_budget()
def load_design(path: Path, variables: Mapping[str, Any] | None = None) -> Any:
    """Return the data of a file, its expressions resolved where `resolve_design` does so; else as it is.

    Variables that a design does not have are warned of: a layer beside it may have them.
    """
    given = dict(variables or {})
    data, asked = load_asked(path, given)
    try:
        if isinstance(data, Mapping) and "architecture" in data:
            known = {*asked, *_joined(data.get("variables"))} if isinstance(data.get("variables"), list) else asked
            for name in sorted(given.keys() - known - {FULL}):
                text, allowed = "a variable that no template asks for", ", ".join(sorted(known)) or "--set"
                _LOG.warning("%s", Fault(text, str(path), None, name, allowed, nearest(name, known)))
        return resolve_design(data, given) if isinstance(data, Mapping) else data
    except InputError as error:
        raise error.at(path) from error


def resolve_design(data: Mapping[str, Any], variables: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return a loaded design with every expression that has a value replaced by it; designs without need as they are.

    Raises `InputError` where something that Timeloop counts has no value, or a file of functions cannot be read.

    Parameters
    ----------
    variables
        Variables of its template. Those that the design has, too, replace the design's.
    """
    top = data.get("architecture")
    if isinstance(top, Mapping) and "nodes" not in top:
        return with_numbers(data)
    return _Resolving(data, variables or {}).run() if _needs_values(data) else dict(data)


def _needs_values(data: Mapping[str, Any]) -> bool:
    top = data.get("architecture")
    if not isinstance(top, Mapping) or "nodes" not in top or data.get("dumped_by_timeloop_front_end"):
        return False
    own = any(isinstance(part, Mapping) and part.get("expression_custom_functions") for part in _globals(data))
    problem = data.get("problem")
    instance = problem.get("instance") if isinstance(problem, Mapping) else None
    own |= isinstance(instance, Mapping) and any(isinstance(size, str) for size in instance.values())
    return own or isinstance(data.get("variables"), list) or any(is_array(leaf) for leaf in _leaves(top["nodes"]))


def _globals(data: Mapping[str, Any]) -> list[Any]:
    """Return all sections of globals, whose names only hold that word."""
    return [value for key, value in data.items() if "globals" in str(key)]


def _leaves(nodes: Any) -> Iterator[dict[str, Any]]:
    """Yield containers and components, outermost first."""
    for node in nodes if isinstance(nodes, list) else ():
        if isinstance(node, list):
            yield from _leaves(node)
        elif isinstance(node, dict) and "nodes" in node:
            yield from _leaves(node["nodes"])
        elif isinstance(node, dict) and isinstance(node.get("name"), str):
            yield node


class _Resolving:
    """One design whose expressions are evaluated."""

    def __init__(self, data: Mapping[str, Any], given: Mapping[str, Any]) -> None:
        self.faults: list[Fault] = []
        self.data = {key: value for key, value in data.items() if "globals" not in str(key)}
        parts = [part for part in _globals(data) if isinstance(part, Mapping)]
        files = [str(file) for part in parts for file in part.get("expression_custom_functions") or ()]
        self.language = language_of(read_functions(map(Path, dict.fromkeys(files))))
        self.problem = dict(data["problem"]) if isinstance(data.get("problem"), Mapping) else {}
        self.nodes = _copied(data["architecture"]["nodes"])
        stated = _joined(data.get("variables"))
        stated |= {key: value for key, value in given.items() if key in stated or key == FULL}
        if any(map(is_array, _leaves(self.nodes))):
            stated |= histograms(self.problem)
            early = Values(stated, self._outermost, self.language)
            stated |= fill_arrays(list(_leaves(self.nodes)), self.problem, stated, early.evaluated)
        else:
            histograms(self.problem)
        self.variables = Values(stated, self._outermost, self.language)
        instance = self.problem.get("instance")
        own = instance if isinstance(instance, Mapping) else {}
        self.instance = Values(own, self.variables.name, self.language)
        self.spec = {"variables": self.variables, "problem": {"instance": self.instance}}
        self.known: dict[str, Mapping[str, Any]] = {}

    def run(self) -> dict[str, Any]:
        self._note(self.nodes, self._anywhere)
        for leaf in _leaves(self.nodes):
            self._leaf(leaf, self.known[leaf["name"]])
        read = {key: self.instance[key] for key in sorted(self.instance.asked)}
        if "instance" in self.problem:
            self.problem["instance"] = self._values(self.instance, "problem.instance", lambda _: True)
        variables = self._values(self.variables, "variables", lambda _: False)
        raise_all(self.faults)
        fill_up(list(_leaves(self.nodes)), self.problem, variables)
        # Expressions have read the layer as it stands beside them, and the layer that fills the arrays is the design's.
        read |= {key: size for key, size in (self.problem.get("instance") or {}).items() if key in read}
        result = {**self.data, "variables": variables, "problem": self.problem}
        result["architecture"] = {**self.data["architecture"], "nodes": self.nodes, SIZES: read}
        classes = self.data.get("components")
        if isinstance(classes, Mapping):
            result["components"] = {**classes, "classes": list(_flat(classes.get("classes")))}
        return {key: value for key, value in result.items() if key in self.data or key == "variables"}

    def _outermost(self, name: str) -> Any:
        if name in ("spec", "variables"):
            return self.spec if name == "spec" else self.variables
        raise UnknownName(name)

    def _anywhere(self, name: str) -> Any:
        return self.known[name] if name in self.known else self.variables.name(name)

    def _note(self, nodes: Any, outer: _Names) -> None:
        """Note what the names of nodes stand for; what follows a container in its list sees its attributes."""
        for node in nodes if isinstance(nodes, list) else ():
            if isinstance(node, list):
                self._note(node, outer)
            elif isinstance(node, dict) and "nodes" in node:
                self._note(node["nodes"], outer)
            elif isinstance(node, dict) and isinstance(node.get("name"), str):
                attributes = self._note_one(node, outer)
                outer = attributes.name if node.get(TAG) in ("Container", ARRAY_TAG) else outer

    def _note_one(self, node: dict[str, Any], outer: _Names) -> Values:
        """Note what the name of a container or component stands for; return its attributes."""
        own, mesh = node.get("attributes"), node.get("spatial")
        attributes = Values(own if isinstance(own, dict) else {}, outer, self.language)
        spatial = Values({"meshX": 1, "meshY": 1} | (mesh or {}), attributes.name, self.language)
        fanout = Function("get_fanout", _fanout_of(spatial))
        spatial.own = {**spatial.own, "get_fanout": fanout}
        more = {"spatial": spatial, "get_fanout": fanout, "class": node.get("class")}
        self.known[node["name"]] = {"attributes": attributes, **more}
        return attributes

    def _leaf(self, leaf: dict[str, Any], known: Mapping[str, Any]) -> None:
        """Put the values of one container or component in its place."""
        name, attributes, spatial = leaf["name"], known["attributes"], known["spatial"]
        if "attributes" in leaf:
            leaf["attributes"] = self._values(attributes, f"{name}.attributes", _is_counted)
        if leaf.get("spatial"):
            found = self._values(spatial, f"{name}.spatial", lambda _: True)
            leaf["spatial"] = {key: found[key] for key in leaf["spatial"]}
        scope = Values({"attributes": attributes}, attributes.name, self.language)
        scales = {key: leaf[key] for key in _SCALES if key in leaf}
        leaf |= self._values(Values(scales, scope.name, self.language), name, lambda key: key == "enabled")
        for key in ("constraints", "max_utilization"):
            for kind, stated in (leaf.get(key) or {}).items():
                if isinstance(stated, dict):
                    self._constraints(stated, f"{name}.{key}.{kind}", scope)
        if is_array(leaf):
            leaf[TAG] = "Container"

    def _constraints(self, stated: dict[str, Any], where: str, scope: Values) -> None:
        for key in ("factors", "factors_only"):
            if isinstance(stated.get(key), list):
                stated[key] = [self._factor(item, f"{where}.{key}", scope) for item in stated[key]]
        numbers = {key: stated[key] for key in _NUMBERS if isinstance(stated.get(key), str)}
        stated |= self._values(Values(numbers, scope.name, self.language), where, lambda _: True)

    def _factor(self, item: Any, where: str, scope: Values) -> Any:
        if not isinstance(item, str) or _FACTOR.fullmatch(item):
            return item
        try:
            return evaluate(item, scope.name, self.language)
        except ExpressionError as error:
            self.faults.append(Fault(str(error), None, where, item))
            return item

    def _values(self, values: Values, where: str, counted: Callable[[str], bool]) -> dict[str, Any]:
        """Return the values of a mapping. What has none stays as it stands, and is a fault where it is counted."""
        result: dict[str, Any] = {}
        without: list[str] = []
        for key in values:
            try:
                result[key] = _plain(values[key])
            except ExpressionError as error:
                result[key] = _plain(values.own[key])
                without.append(key)
                if counted(key):
                    self.faults.append(Fault(str(error), None, f"{where}.{key}", values.own[key]))
        if without and where == "variables":
            _LOG.warning("variables: without a value here, and counted nowhere: %s", ", ".join(without))
        return result


def _fanout_of(spatial: Values) -> Callable[[], Any]:
    return lambda: math.prod((spatial["meshX"], spatial["meshY"]))


def _is_counted(key: str) -> bool:
    known = BY_NAME.get(canonical_name(key))
    return known is not None and (known.counted or bool(known.refused))


def _plain(value: Any) -> Any:
    """Return a value that no later reader evaluates again."""
    if isinstance(value, (str, Function)):
        return Quoted(str(value))
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _copied(value: Any) -> Any:
    """Return data whose mappings and lists may be changed."""
    if isinstance(value, dict):
        return {key: _copied(child) for key, child in value.items()}
    return [_copied(child) for child in value] if isinstance(value, list) else value


def _flat(value: Any) -> Iterator[Any]:
    for item in value if isinstance(value, list) else (() if value is None else (value,)):
        yield from _flat(item) if isinstance(item, list) else (item,)


def _joined(stated: Any) -> dict[str, Any]:
    """Return variables that may be given in parts; raise `InputError` where two parts contradict each other."""
    result: dict[str, Any] = {}
    faults: list[Fault] = []
    for part in _flat(stated):
        if not isinstance(part, Mapping):
            faults.append(Fault("must be a mapping, or a list of mappings", None, "variables", part))
            continue
        for key, value in part.items():
            if result.get(key) not in (None, value):
                text = "stands in two parts of the variables with different values"
                faults.append(Fault(text, None, f"variables.{key}", value, str(result[key])))
            result[str(key)] = value
    raise_all(faults)
    return {key: value for key, value in result.items() if key != "version"}
