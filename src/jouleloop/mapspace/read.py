"""Reading mapspace constraints and mapper settings: Timeloop's files, v0.3 and v0.4, and constraints on nodes."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from jouleloop.arch.architecture import Architecture
from jouleloop.arch.read import OTHER_SECTIONS
from jouleloop.documents.join import joined_names
from jouleloop.documents.keywords import keywords_of, keywords_with, stated_numbers
from jouleloop.documents.load import load_document
from jouleloop.errors import Fault, InputError, JouleloopError, raise_all, unknown
from jouleloop.mapping.directives import (
    Factors,
    front_end_faults,
    level_named,
    parse_factors,
    parse_names,
    parse_permutation,
    parse_split,
)
from jouleloop.mapping.reuse import REUSE_KEYS, Reuse, parse_reuse
from jouleloop.mapspace.constraints import Constraints, LevelConstraints, LoopConstraint
from jouleloop.mapspace.plays import play, read_roles
from jouleloop.mapspace.sections import SECTIONS, section_targets
from jouleloop.mapspace.stated import Stated, take_stated
from jouleloop.workload.kinds import CONV, GROUPED_CONV
from jouleloop.workload.problem import ProblemShape

#: Sets of constraints that can be chosen: architecture and mapspace constraints, or the former alone.
SETS = ("full", "arch-only")

#: The section that says how constraints are read for other shapes of problem than a convolution.
SHAPES = "shapes"
#: What a matrix product plays in a convolution: K inputs, M outputs, N positions as pixels, A in place of the weights.
_PRODUCTS = ("matmul", "batched_matmul")
_PRODUCT: dict[str, Any] = {
    "dimensions": {"M": "M", "K": "C", "N": ["P", "Q"]},
    "data_spaces": {"A": "Weights", "B": "Inputs", "Z": "Outputs"},
}
_LOG = logging.getLogger("jouleloop")
#: Types by which Timeloop states the least share of all units that are used.
_PARALLELISM = ("utilization", "parallelism")
_KEYS = {kind: (*keywords_of(kind), *reuse) for kind, reuse in REUSE_KEYS.items()}
#: What a target may say that changes the counts and that the model does not follow.
UNSUPPORTED = keywords_with("refused")
_UNSUPPORTED_TYPES = ("skew", "max_overbooked_proportion")
_TYPES = dict.fromkeys(("datatype", "dataspace", "bypass", "bypassing"), "bypass") | {
    "temporal": "temporal",
    "spatial": "spatial",
}


class UnreadShapeError(InputError):
    """Constraints that are not written for a shape of problem, and no rule says how to read them."""


def read_constraints(path: Path, arch: Architecture, which: str = "full", *, shape: ProblemShape = CONV) -> Constraints:
    """Return one set of constraints of a file, together with those inline in the architecture.

    Raises `InputError` where the file cannot be read, names what does not exist, or contradicts itself.

    Parameters
    ----------
    path
        YAML with ``architecture_constraints`` (or ``constraints``) and, optionally, ``mapspace_constraints``, each with
        ``targets``.
    which
        ``full`` for both, ``arch-only`` for the architecture constraints alone.
    shape
        The problem shape whose dimensions and data spaces the file names; or one that has an entry in its section
        ``shapes``, which says what its parts play in a convolution (`jouleloop.mapspace.plays`).
    """
    if which not in SETS:
        raise InputError(unknown(which, SETS, "set of constraints", source=str(path)))
    data = load_document(path)
    if not isinstance(data, dict):
        raise InputError(Fault("is no constraints file", str(path), allowed="a mapping with architecture_constraints"))
    data = joined_names(data, SECTIONS) if arch.front_end else data
    faults = [
        unknown(str(key), (*SECTIONS, SHAPES, *OTHER_SECTIONS), "section")
        for key in data
        if key not in (*SECTIONS, *OTHER_SECTIONS, SHAPES, "architecture")
    ]
    if not any(key in data for key in SECTIONS) and not arch.constraints:
        faults.append(Fault("holds no constraints", allowed="architecture_constraints, mapspace_constraints"))
    return _of_file(path, data, arch, which, shape, f"{path.stem}/{which}", faults)


def own_constraints(
    path: Path,
    arch: Architecture,
    which: str = "full",
    *,
    shape: ProblemShape = CONV,
    variables: dict[str, Any] | None = None,
) -> Constraints:
    """Return the constraints that an architecture file itself holds, on its nodes and in sections; maybe none.

    Raises `InputError` where they name what does not exist, or contradict themselves.
    """
    data = load_document(path, variables)
    data = joined_names(data, SECTIONS) if isinstance(data, dict) and arch.front_end else data
    return _of_file(path, data, arch, which, shape, f"{arch.name}/{which}", [])


def _of_file(
    path: Path, data: Any, arch: Architecture, which: str, shape: ProblemShape, name: str, faults: list[Fault]
) -> Constraints:
    """Return the constraints of an architecture and of a file's data, which may have ``faults`` already."""
    targets = [*arch.constraints, *section_targets(data if isinstance(data, dict) else {}, which, faults)]
    try:
        raise_all(faults)
        return constraints_for(targets, data, arch, shape, name=name)
    except JouleloopError as error:
        raise error.at(path) from error


def constraints_for(
    targets: list[Any], data: Any, arch: Architecture, shape: ProblemShape, *, name: str
) -> Constraints:
    """Return the constraints of ``targets`` for a shape; loops may end early where a section's template is ``ruby``."""
    found = _by_shape(targets, data, arch, shape, name=name)
    sections = [data.get(key) for key in SECTIONS] if isinstance(data, dict) else []
    ruby = any(isinstance(section, dict) and section.get("template") == "ruby" for section in sections)
    return replace(found, factors="imperfect") if ruby else found


def _by_shape(targets: list[Any], data: Any, arch: Architecture, shape: ProblemShape, *, name: str) -> Constraints:
    """Return the constraints of ``targets`` for a shape: by its entry in the section ``shapes``, or as they are."""
    rules = data.get(SHAPES) if isinstance(data, dict) else None
    if isinstance(rules, dict) and shape.name in rules:
        faults: list[Fault] = []
        roles = read_roles(rules[shape.name], f"{SHAPES}.{shape.name}", shape, GROUPED_CONV, faults)
        raise_all(faults)
        return play(build_constraints(targets, arch, GROUPED_CONV, name=name), roles, shape, GROUPED_CONV)
    try:
        return build_constraints(targets, arch, shape, name=name)
    except InputError as error:
        if shape in (CONV, GROUPED_CONV) or not any(fault.message.startswith("unknown ") for fault in error.faults):
            raise
        found = _as_convolution(targets, arch, shape, name)
        if found is None:
            text = f"the constraints are not written for the shape {shape.name!r}, and no rule says how to read them"
            raise UnreadShapeError(Fault(text, None, SHAPES, None, _lines_to_paste(shape))) from error
        return found


def _as_convolution(targets: list[Any], arch: Architecture, shape: ProblemShape, name: str) -> Constraints | None:
    """Return the constraints of a convolution for a matrix product; None where they are none, or the shape is not one.

    They are read as the shipped ``mappings/eyeriss.yaml`` states it, and a warning says so.
    """
    if shape.name not in _PRODUCTS:
        return None
    faults: list[Fault] = []
    roles = read_roles(_PRODUCT, SHAPES, shape, GROUPED_CONV, faults)
    try:
        found = play(build_constraints(targets, arch, GROUPED_CONV, name=name), roles, shape, GROUPED_CONV)
    except InputError:
        return None
    _LOG.warning("%s: constraints of a convolution, read for %s by the rule %s", name, shape.name, _flow(_PRODUCT))
    return found


def _lines_to_paste(shape: ProblemShape) -> str:
    """Return the rule that a constraints file lacks, to be filled in where no product is meant."""
    spaces = [space.name for space in shape.data_spaces]
    blank = {"dimensions": dict.fromkeys(shape.dimensions, "?"), "data_spaces": dict.fromkeys(spaces, "?")}
    entry = _PRODUCT if shape.name in _PRODUCTS else blank
    hint = "" if entry is _PRODUCT else ", with the parts of a convolution for each ?"
    return f"these lines in the file{hint} (docs/constraints.md): `{SHAPES}: {{{shape.name}: {_flow(entry)}}}`; or none"


def _flow(entry: Mapping[str, Any]) -> str:
    return str(entry).replace("'", "")


def read_mapper(path: Path) -> dict[str, Any]:
    """Return the mapper settings of a file, keys with underscores; empty where it has none."""
    data = load_document(path)
    mapper = data.get("mapper") if isinstance(data, dict) else None
    if mapper is None:
        return {}
    if not isinstance(mapper, dict):
        raise InputError(Fault("must be a mapping", str(path), "mapper", mapper))
    return {str(key).replace("-", "_"): value for key, value in mapper.items() if key != "version"}


@dataclass
class _Loops:
    factors: Factors = field(default_factory=Factors)
    permutation: tuple[tuple[str, ...], tuple[str, ...]] | None = None
    numbers: dict[str, int] = field(default_factory=dict)
    maximize: tuple[tuple[str, ...], ...] = ()
    capacity: int | None = None
    stated: Stated = ()
    by_default: tuple[str, ...] = ()
    lowered: bool = False

    def finished(self) -> LoopConstraint:
        inner, outer = self.permutation or ((), ())
        factors = self.factors
        return LoopConstraint(
            dict(factors.exact),
            dict(factors.at_most),
            dict(factors.at_least),
            inner,
            outer,
            maximize=self.maximize,
            capacity=self.capacity,
            stated=self.stated,
            # Whose limits those are matters to what is maximized alone.
            by_default=self.by_default if self.maximize else (),
            # It moves what a split parts.
            lowered=self.lowered and ("split" in self.numbers or bool(self.stated)),
            **self.numbers,
        )


@dataclass
class _Level:
    temporal: _Loops = field(default_factory=_Loops)
    spatial: _Loops = field(default_factory=_Loops)
    keep: set[str] = field(default_factory=set)
    bypass: set[str] = field(default_factory=set)
    reuse: dict[str, frozenset[str]] = field(default_factory=dict)


def build_constraints(targets: Iterable[Any], arch: Architecture, shape: ProblemShape, *, name: str) -> Constraints:
    """Return the constraints that a list of Timeloop targets states.

    Raises `InputError` where a target, dimension or data space does not exist, or two targets contradict each other.
    """
    faults: list[Fault] = []
    levels: dict[str, _Level] = {}
    shares: list[float] = []
    for index, target in enumerate(targets):
        if isinstance(target, Mapping) and str(target.get("type")) in _PARALLELISM:
            _parallelism(target, f"targets[{index}] ({target['type']})", arch, shares, faults)
        else:
            _one(target, f"targets[{index}]", arch, shape, levels, faults)
    for level, found in levels.items():
        both = sorted(found.keep & found.bypass)
        if both:
            faults.append(Fault(f"both keeps and bypasses {', '.join(both)}", None, level))
    raise_all(faults)
    return Constraints(
        name,
        {
            level: LevelConstraints(
                found.temporal.finished(),
                found.spatial.finished(),
                frozenset(found.keep),
                frozenset(found.bypass),
                Reuse(**found.reuse),
            )
            for level, found in levels.items()
        },
        min_parallelism=sum(shares),
    )


def _parallelism(
    target: Mapping[str, Any], where: str, arch: Architecture, shares: list[float], faults: list[Fault]
) -> None:
    """Read the least share of all compute units that a mapping has to use; Timeloop knows it at one level only."""
    share = target.get("min")
    name = target.get("target", target.get("name"))
    if name != arch.level_names[-1]:
        text = "parallelism is constrained at the innermost storage level, elsewhere Timeloop ends"
        faults.append(Fault(text, None, where, name, arch.level_names[-1]))
    if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 <= share <= 1:
        faults.append(Fault("must be a share", None, f"{where}.min", share, "0 to 1"))
        return
    if shares:
        faults.append(Fault("states the least parallelism a second time, where Timeloop ends", None, where, share))
    shares.append(float(share))
    faults += [
        unknown(str(key), ("target", "type", "min"), "key", field=where)
        for key in target
        if key not in ("target", "name", "type", "min", "version")
    ]


def _one(
    target: Any, where: str, arch: Architecture, shape: ProblemShape, levels: dict[str, _Level], faults: list[Fault]
) -> None:
    if not isinstance(target, Mapping):
        faults.append(Fault("must be a mapping", None, where, target))
        return
    kind = _TYPES.get(str(target.get("type")))
    name = str(target.get("target", target.get("name", "")))  # as Timeloop's FindTargetTilingLevel
    where = f"{where} ({name} {target.get('type')})"
    if kind is None:
        if str(target.get("type")).replace("-", "_") in _UNSUPPORTED_TYPES:
            faults.append(Fault(f"{target['type']} constraints are not supported by the model", None, where))
        else:
            faults.append(unknown(str(target.get("type")), _TYPES, "type of constraint", field=where))
        return
    named = level_named(arch, name, kind, where, faults, "target")
    if named is None:
        return
    name = named
    if kind == "spatial" and arch.fanout[arch.level_names.index(name)] == (1, 1):
        text = "is spatial, but nothing fans out there: Timeloop ends with an error"
        faults.append(Fault(text, None, where, name, "a level with a fan-out"))
        return
    for key in target:
        if key in ("target", "name", "type", "version"):
            continue
        if key in UNSUPPORTED:
            if target[key] not in (None, [], {}):
                faults.append(Fault(f"{key} is not supported by the model", None, where, target[key]))
        elif key not in _KEYS[kind]:
            faults.append(unknown(str(key), _KEYS[kind], "key", field=where))
    if arch.plain:
        faults += front_end_faults(target, keywords_with("front_end"), where)
    level = levels.setdefault(name, _Level())
    spaces = [space.name for space in shape.data_spaces]
    for rule, names in parse_reuse(target, kind, spaces, where, faults, plain=arch.plain).items():
        if rule in level.reuse:
            faults.append(Fault(f"states {rule} a second time, where Timeloop ends", None, where, sorted(names)))
        level.reuse[rule] = names
    if kind == "bypass":
        _data_spaces(target, where, level, spaces, faults)
        return
    loops = level.spatial if kind == "spatial" else level.temporal
    loops.lowered |= arch.front_end and kind == "spatial" and any(target is one for one in arch.constraints)
    if not arch.plain:
        target, stated = take_stated(target)
        loops.stated += stated
    _merge_factors(target, where, loops, shape, faults)
    if target.get("permutation") not in (None, "", []):
        permutation = parse_permutation(target["permutation"], shape.dimensions, f"{where}.permutation", faults)
        if loops.permutation not in (None, permutation):
            faults.append(Fault("gives a second, different permutation", None, where, target["permutation"]))
        loops.permutation = permutation
    _maximize(target, where, loops, shape, faults)
    for key, held in stated_numbers():
        number = parse_split(target.get(key), f"{where}.{key}", faults)
        if number is not None:
            if loops.numbers.get(held, number) != number:
                faults.append(Fault(f"gives a second, different {key}", None, where, number))
            loops.numbers[held] = number


def _maximize(target: Mapping[str, Any], where: str, loops: _Loops, shape: ProblemShape, faults: list[Fault]) -> None:
    """Read which dimensions the sizes of a layer are to maximize: one group, or several, tried in turn."""
    stated = target.get("maximize_dims")
    if stated in (None, []):
        return
    groups = [stated] if isinstance(stated, list) and all(isinstance(name, str) for name in stated) else stated
    if not isinstance(groups, list) or not all(isinstance(group, list) for group in groups):
        faults.append(Fault("must be a list of dimensions, or of such lists", None, f"{where}.maximize_dims", stated))
        return
    for name in (name for group in groups for name in group):
        if name not in shape.dimensions:
            faults.append(unknown(str(name), shape.dimensions, "dimension", field=f"{where}.maximize_dims"))
    if loops.maximize:
        faults.append(Fault("states maximize_dims a second time", None, where, stated))
    loops.maximize = tuple(tuple(map(str, group)) for group in groups)
    loops.capacity = parse_split(target.get("maximize_dims_capacity"), f"{where}.maximize_dims_capacity", faults)


def _data_spaces(target: Mapping[str, Any], where: str, level: _Level, known: list[str], faults: list[Fault]) -> None:
    given = {
        key: parse_names(target.get(key), known, f"{where}.{key}", faults)
        for key in keywords_of("bypass")
        if target.get(key) is not None
    }
    level.keep |= set(given.get("keep", ()))
    level.bypass |= set(given.get("bypass", ()))
    if "keep_only" in given:
        level.keep |= set(given["keep_only"])
        level.bypass |= set(known) - set(given["keep_only"])
    if "bypass_only" in given:
        level.bypass |= set(given["bypass_only"])
        level.keep |= set(known) - set(given["bypass_only"])
    if "bypass_except" in given:
        level.bypass |= set(known) - set(given["bypass_except"])


def _merge_factors(
    target: Mapping[str, Any], where: str, loops: _Loops, shape: ProblemShape, faults: list[Fault]
) -> None:
    dimensions = shape.dimensions
    new = parse_factors(target.get("factors"), dimensions, f"{where}.factors", faults)
    if target.get("factors_only") is not None:
        only = parse_factors(target["factors_only"], dimensions, f"{where}.factors_only", faults)
        for mine, more in ((new.exact, only.exact), (new.at_most, only.at_most), (new.at_least, only.at_least)):
            mine.update(more)
        named = {*new.exact, *new.at_most, *new.at_least, *new.signed, *only.signed}
        new.exact.update({dimension: 1 for dimension in dimensions if dimension not in named})
    for key, over in (("no_iteration_over_dataspaces", True), ("must_iterate_over_dataspaces", False)):
        if target.get(key) is not None:
            chosen = parse_names(target[key], [space.name for space in shape.data_spaces], where, faults)
            moving = {d for space in shape.data_spaces if space.name in chosen for d in space.dimensions}
            for dimension in (d for d in dimensions if (d in moving) is over):
                new.exact.setdefault(dimension, 1)
    for key, limits in (("default_max_factor", new.at_most), ("default_min_factor", new.at_least)):
        limit = parse_split(target.get(key), f"{where}.{key}", faults)
        if limit is not None:
            own = {*new.at_most, *new.at_least} - set(loops.by_default)
            loops.by_default = tuple(d for d in dimensions if d not in own)
            for dimension in dimensions:
                limits.setdefault(dimension, limit)
    for old, more, sign in (
        (loops.factors.exact, new.exact, "="),
        (loops.factors.at_most, new.at_most, "<="),
        (loops.factors.at_least, new.at_least, ">="),
    ):
        for dimension, number in more.items():
            if old.get(dimension, number) != number:
                text = f"{dimension}{sign}{number} contradicts {dimension}{sign}{old[dimension]} of another target"
                faults.append(Fault(text, None, where))
            old[dimension] = number
    for dimension, number in loops.factors.exact.items():
        high, low = loops.factors.at_most.get(dimension), loops.factors.at_least.get(dimension)
        if number and ((high is not None and number > high) or (low is not None and number < low)):
            limit_text = f"<={high}" if high is not None and number > high else f">={low}"
            text = f"{dimension}={number} contradicts {dimension}{limit_text}"
            if all(text not in fault.message for fault in faults):
                faults.append(Fault(text, None, where))
