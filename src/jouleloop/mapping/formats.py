"""Mappings in Timeloop's YAML (read and written), and as plain lists of levels."""

from collections.abc import Iterable
from collections.abc import Mapping as AnyMapping
from pathlib import Path
from typing import Any

from jouleloop.arch.architecture import Architecture
from jouleloop.arch.tree_v04 import DUMMY_CLASS
from jouleloop.documents.load import load_document
from jouleloop.errors import Fault, JouleloopError, MappingError, raise_all, unknown
from jouleloop.files import is_whole
from jouleloop.mapping.directives import (
    front_end_faults,
    level_named,
    parse_factors,
    parse_names,
    parse_permutation,
    parse_split,
)
from jouleloop.mapping.mapping import LevelMapping, Mapping, close_mapping, end_text
from jouleloop.mapping.reuse import REUSE_KEYS, Reuse, parse_reuse, reuse_from, write_reuse
from jouleloop.mapping.validate import check_mapping
from jouleloop.workload.problem import Problem

_TYPES = {"datatype": "bypass", "dataspace": "bypass", "bypass": "bypass", "temporal": "temporal", "spatial": "spatial"}
_KEYS = {
    "temporal": ("factors", "permutation"),
    "spatial": ("factors", "permutation", "split"),
    "bypass": ("keep", "bypass"),
}
_KEYS = {kind: (*keys, *REUSE_KEYS[kind]) for kind, keys in _KEYS.items()}
#: Short names of data spaces in compact lists.
_SHORT = {"W": "Weights", "I": "Inputs", "O": "Outputs"}


def read_timeloop_mapping(
    source: Path | list[Any] | AnyMapping[str, Any],
    problem: Problem,
    arch: Architecture,
    *,
    keep: AnyMapping[str, Iterable[str]] | None = None,
) -> Mapping:
    """Return the mapping that ``timeloop-model`` would make of a list of directives.

    Factors that are not given are 1, a factor of 0 is the whole dimension, permutations are innermost first and are
    completed in the order of the problem's dimensions, a missing split puts everything along X. A data space is kept at
    every level that does not bypass it.

    Parameters
    ----------
    source
        A YAML file, its data, or the list under ``mapping``.
    keep
        Data spaces kept by level, where the directives do not say (from the constraints); by default all that the
        architecture file itself does not bypass.

    Raises
    ------
    MappingError
        Where a directive names what does not exist, the factors do not multiply to the layer, or a fan-out is exceeded.

    Source: Timeloop ``src/mapping/parser.cpp``, ``ParseAndConstruct``.
    """
    name = None
    data: Any = source
    if isinstance(source, Path):
        name, data = source, load_document(source)
    try:
        return _Directives(data, problem, arch, keep or {}).mapping()
    except JouleloopError as error:
        raise (error if name is None else error.at(name)) from error


def default_keep(problem: Problem, arch: Architecture) -> dict[str, frozenset[str]]:
    """Return what each level keeps as far as the architecture file says: all that its nodes do not bypass."""
    spaces = [space.name for space in problem.data_spaces]
    keep = {level.name: set(() if level.klass == DUMMY_CLASS else spaces) for level in arch.levels}
    faults: list[Fault] = []
    for item in arch.constraints:
        level = str(item.get("target"))
        if _TYPES.get(str(item.get("type"))) != "bypass" or level not in keep:
            continue
        for key in ("bypass", "bypass_only"):
            keep[level] -= set(parse_names(item.get(key), spaces, f"{level}.{key}", faults))
        for key in ("bypass_except", "keep_only"):
            if item.get(key) is not None:
                keep[level] &= set(parse_names(item[key], spaces, f"{level}.{key}", faults))
    raise_all(faults, MappingError)
    return {level: frozenset(kept) for level, kept in keep.items()}


class _Directives:
    def __init__(self, data: Any, problem: Problem, arch: Architecture, keep: AnyMapping[str, Iterable[str]]) -> None:
        self.problem, self.arch = problem, arch
        self.dimensions = problem.shape.dimensions
        self.spaces = [space.name for space in problem.data_spaces]
        default = default_keep(problem, arch)
        self.keep = {level: set(keep.get(level, default[level])) for level in arch.level_names}
        self.factors: dict[tuple[str, str], dict[str, int]] = {}
        self.residuals: dict[tuple[str, str], dict[str, int]] = {}
        self.orders: dict[tuple[str, str], tuple[str, ...]] = {}
        self.splits: dict[str, int] = {}
        self.reuse: dict[str, dict[str, frozenset[str]]] = {}
        self.faults: list[Fault] = []
        if isinstance(data, AnyMapping):
            data = data.get("mapping", data)
        if isinstance(data, AnyMapping):
            data = data.get("targets", data)
        if isinstance(data, AnyMapping) and "nodes" in data:
            text = "is a mapping of several layers at once (LoopTree), which the model does not follow"
            raise MappingError(Fault(text, None, "mapping.type", data.get("type"), "a list of directives"))
        if not isinstance(data, list):
            raise MappingError(Fault("is no mapping", allowed="a list of directives under 'mapping'"))
        for index, item in enumerate(data):
            self._directive(item, f"mapping[{index}]")

    def _directive(self, item: Any, where: str) -> None:
        if not isinstance(item, AnyMapping):
            self.faults.append(Fault("must be a mapping", None, where, item))
            return
        kind, level = _TYPES.get(str(item.get("type"))), str(item.get("target", ""))
        where = f"{where} ({level} {item.get('type')})"
        if kind is None:
            if item.get("type") == "skew":
                self.faults.append(Fault("skewed mappings are not supported by the model", None, where))
            else:
                self.faults.append(unknown(str(item.get("type")), _TYPES, "type of directive", field=where))
            return
        named = level_named(self.arch, level, kind, where, self.faults, "level")
        if named is None:
            return
        level = named
        self.faults += [
            unknown(str(key), _KEYS[kind], "key", field=where)
            for key, value in item.items()
            if key not in ("target", "type", "version", *_KEYS[kind]) and value not in (None, [], "")
        ]
        if self.arch.plain:
            self.faults += front_end_faults(item, (), where)
        stated = parse_reuse(item, kind, self.spaces, where, self.faults, plain=self.arch.plain)
        if "no_multicast_no_reduction" in item and not self.arch.plain and "no_reuse" not in item:
            text = "Timeloop 4 does not read no_multicast_no_reduction in a mapping"
            self.faults.append(Fault(text, None, where, item["no_multicast_no_reduction"], "no_reuse"))
        self.reuse.setdefault(level, {}).update(stated)
        if kind == "bypass":
            kept = parse_names(item.get("keep"), self.spaces, f"{where}.keep", self.faults)
            bypassed = parse_names(item.get("bypass"), self.spaces, f"{where}.bypass", self.faults)
            both = sorted(set(kept) & set(bypassed))
            if both:
                self.faults.append(Fault(f"both keeps and bypasses {', '.join(both)}", None, where))
            self.keep[level] = (self.keep[level] | set(kept)) - set(bypassed)
            return
        if kind == "spatial" and self.arch.fanout[self.arch.level_names.index(level)] == (1, 1):
            text = "is spatial, but nothing fans out there: Timeloop ends with an error"
            self.faults.append(Fault(text, None, where, level, "a level with a fan-out"))
            return
        if (level, kind) in self.factors:
            self.faults.append(Fault("gives the loops of this level a second time", None, where))
        factors = parse_factors(item.get("factors"), self.dimensions, f"{where}.factors", self.faults, residuals=True)
        if factors.at_most or factors.at_least:
            self.faults.append(Fault("a mapping states exact factors", None, where, item.get("factors")))
        self.factors[level, kind] = {
            dimension: number or self.problem.bound[dimension] for dimension, number in factors.exact.items()
        }
        self.residuals[level, kind] = factors.residual
        self.faults += [
            Fault("has a residual end but no loop", None, f"{where}.factors", f"{dimension}=1,{end}")
            for dimension, end in factors.residual.items()
            if factors.exact.get(dimension) == 1 and end != 1
        ]
        inner, outer = parse_permutation(item.get("permutation"), self.dimensions, f"{where}.permutation", self.faults)
        order = [*inner, *outer]
        self.orders[level, kind] = (*order, *(d for d in self.dimensions if d not in order))
        split = parse_split(item.get("split"), f"{where}.split", self.faults)
        if split is not None:
            self.splits[level] = split

    def _loops(self, level: str, kind: str) -> list[tuple[str, int, int]]:
        """Return (dimension, bound, position) of the loops, outermost first, bound 1 left out."""
        factors = self.factors.get((level, kind), {})
        order = self.orders.get((level, kind), self.dimensions)
        return [(d, factors[d], at) for at, d in reversed(list(enumerate(order))) if factors.get(d, 1) != 1]

    def _ends(self, level: str, kind: str, loops: Iterable[tuple[Any, ...]]) -> list[int | None]:
        return [self.residuals.get((level, kind), {}).get(dimension) for dimension, *_ in loops]

    def mapping(self) -> Mapping:
        raise_all(self.faults, MappingError)
        levels, ends = [], []
        for name in self.arch.level_names:
            split = self.splits.get(name, len(self.dimensions))
            spatial = tuple((d, b, "X" if at < split else "Y") for d, b, at in self._loops(name, "spatial"))
            temporal = tuple((d, b) for d, b, _ in self._loops(name, "temporal"))
            reuse = Reuse(**self.reuse.get(name, {}))
            levels.append(LevelMapping(name, temporal, spatial, frozenset(self.keep[name]), reuse))
            ends.append((self._ends(name, "temporal", temporal), self._ends(name, "spatial", spatial)))
        mapping = close_mapping(levels, ends)
        check_mapping(mapping, self.problem, self.arch)
        return mapping


def to_timeloop_mapping(mapping: Mapping, problem: Problem, arch: Architecture) -> list[dict[str, Any]]:
    """Return the directives that ``timeloop-model`` reads, with every factor and every position stated.

    X loops must stand inside the Y loops of their level, as in all nests that Timeloop prints: its format splits one
    permutation into an inner part along X and an outer part along Y.

    Raises `MappingError` where the mapping is none of this problem on this architecture, or the format cannot hold it.
    """
    check_mapping(mapping, problem, arch)
    dimensions = problem.shape.dimensions
    spaces = [space.name for space in problem.data_spaces]
    directives: list[dict[str, Any]] = []
    faults: list[Fault] = []
    separator = "" if all(len(d) == 1 for d in dimensions) else ","
    residual_ends = mapping.residual_ends()
    for position, level in enumerate(mapping.levels):
        directives.append(
            {
                "target": level.level,
                "type": "bypass",
                "keep": [name for name in spaces if name in level.keep],
                "bypass": [name for name in spaces if name not in level.keep],
                **write_reuse(level.reuse, "bypass", spaces),
            }
        )
        temporal_ends, spatial_ends = residual_ends[position]
        kinds: list[tuple[str, list[tuple[str, int, str]], tuple[int, ...]]] = [
            ("temporal", [(d, b, "") for d, b in level.temporal], temporal_ends)
        ]
        if arch.fanout[position] != (1, 1):
            kinds.insert(0, ("spatial", list(level.spatial), spatial_ends))
        for kind, loops, ends in kinds:
            inner_first = loops[::-1]
            used = [d for d, _, _ in inner_first]
            axes = [axis for _, _, axis in inner_first]
            if len(set(used)) != len(used) or axes != sorted(axes):
                faults.append(Fault(f"the {kind} loops cannot be written in Timeloop's format", None, level.level))
                continue
            free = [d for d in dimensions if d not in used]
            # Bound-1 dimensions go innermost, on the X side, where they change nothing.
            order = [*free, *used]
            bound = {d: end_text(b, end) for (d, b, _), end in zip(loops, ends, strict=True)}
            directive: dict[str, Any] = {
                "target": level.level,
                "type": kind,
                "factors": " ".join(f"{d}={bound.get(d, 1)}" for d in dimensions),
                "permutation": separator.join(order),
            }
            if kind == "spatial":
                directive["split"] = len(free) + axes.count("X")
            directives.append(directive | write_reuse(level.reuse, kind, spaces))
    raise_all(faults, MappingError)
    return directives


def from_levels(
    levels: Iterable[Any],
    problem: Problem,
    arch: Architecture,
    *,
    keep: AnyMapping[str, Iterable[str]] | None = None,
) -> Mapping:
    """Return the mapping written as a list of levels, outermost first, loops outermost first.

    Each level has ``level``, ``temporal`` ([dimension, bound]), ``spatial`` ([dimension, bound, axis]) and says what it
    keeps by ``keep``, or by the keys of ``tile`` (full names or W, I, O); `Mapping.as_json` writes this form. A
    residual end stands last in its loop. Levels left out have no loops.

    Raises `MappingError` as for `read_timeloop_mapping`.
    """
    faults: list[Fault] = []
    found: dict[str, LevelMapping] = {}
    ends: dict[str, tuple[list[int | None], list[int | None]]] = {}
    spaces = [space.name for space in problem.data_spaces]
    default = {**default_keep(problem, arch), **(keep or {})}
    if isinstance(levels, (str, AnyMapping)) or not isinstance(levels, Iterable):
        raise MappingError(Fault("must be a list of levels", None, "mapping", levels))
    for index, item in enumerate(levels):
        where = f"mapping[{index}]"
        name = item.get("level") if isinstance(item, AnyMapping) else None
        if not isinstance(name, str):
            faults.append(Fault("must be a mapping with a level", None, where, item))
            continue
        allowed = ("level", "temporal", "spatial", "keep", "tile", "reuse")
        faults += [unknown(str(key), allowed, "key", field=where) for key in item if key not in allowed]
        if name in found:
            faults.append(Fault("is given twice", None, where, name))
        if name not in arch.level_names:
            faults.append(unknown(name, arch.level_names, "level", field=where))
            continue
        stated = item.get("keep", item.get("tile"))
        if stated is None:
            stated = default[name]
        if isinstance(stated, (AnyMapping, list, tuple, set, frozenset)):
            stated = [s if str(s) in spaces else _SHORT.get(str(s), str(s)) for s in stated]
        kept = parse_names(stated, spaces, where, faults)
        temporal = [loop for loop in _loops(item.get("temporal"), 2, where, faults) if loop[1] != 1]
        spatial = [loop for loop in _loops(item.get("spatial"), 3, where, faults) if loop[1] != 1]
        found[name] = LevelMapping(
            name,
            tuple((d, b) for d, b, *_ in temporal),
            tuple((d, b, a) for d, b, a, *_ in spatial),
            frozenset(kept),
            reuse_from(item.get("reuse", {}), spaces, f"{where}.reuse", faults),
        )
        ends[name] = ([(*loop, None)[2] for loop in temporal], [(*loop, None)[3] for loop in spatial])
    raise_all(faults, MappingError)
    complete = [found.get(name) or LevelMapping(name, (), (), frozenset(default[name])) for name in arch.level_names]
    mapping = close_mapping(complete, [ends.get(name, ((), ())) for name in arch.level_names])
    check_mapping(mapping, problem, arch)
    return mapping


def _loops(value: Any, length: int, where: str, faults: list[Fault]) -> list[tuple[Any, ...]]:
    loops: list[tuple[Any, ...]] = []
    if value is not None and not isinstance(value, (list, tuple)):
        faults.append(Fault("must be a list of loops", None, where, value))
        value = None
    for loop in value or []:
        stated = isinstance(loop, (list, tuple)) and len(loop) in (length, length + 1)
        if not stated or not all(is_whole(n) and n >= 1 for n in (loop[1], *loop[length:])):
            wanted = "[dimension, bound]" if length == 2 else "[dimension, bound, axis]"
            wanted += ", then the residual end if it differs"
            faults.append(Fault("is no loop", None, where, loop, wanted))
        else:
            loops.append((str(loop[0]), int(loop[1]), *loop[2:]))
    return loops
