"""The form of a certificate beyond the types of its keys: names, sizes, rules and arguments that belong together."""

import hashlib
import json
import math
from collections.abc import Iterable, Iterator
from typing import Any

from jouleloop.errors import Fault, InputError, raise_all, unknown
from jouleloop.proof import chain_form
from jouleloop.proof.rules import OBJECTIVES, RULES
from jouleloop.proof.stated import Certificate, ChainCertificate

#: Dimensions above 1, at most, and how deep lists and tables may lie in each other.
MAX_LOOPS = 12
MOST_NESTED = 100
#: Points of a layer and words of a data space, at most: bounds that are summed in doubles stay within a word.
MOST_POINTS = 2**48


def digest_of(data: dict[str, Any]) -> str:
    """Return the SHA-256 of all that a certificate says, whatever the order of its keys."""
    content = {key: value for key, value in data.items() if key != "digest"}
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def check_form(data: Any) -> dict[str, Any]:
    """Return a certificate that has the right form and is as it was written; raise `InputError`, with every fault."""
    _check_depth(data)
    if isinstance(data, dict) and "chain" in data:
        check_chain(data)
        return data
    stated = Certificate.of(data)
    _check_digest(data, stated.digest)
    for check in _CHECKS:
        raise_all(list(check(stated)))
    return data  # type: ignore[no-any-return]


def check_chain(data: dict[str, Any], *, sealed: bool = True) -> None:
    """Raise `InputError`, with every fault, unless a file has the form of a chain's certificate."""
    stated = ChainCertificate.of(data)
    if sealed:
        _check_digest(data, stated.digest)
    for check in chain_form.CHECKS:
        raise_all(list(check(stated)))
    fused_layers = list(_layers(data["groups"]))
    for place, layer in enumerate(stated.layers):
        whole = {key: data[key] for key in ("semantics", "first_fills_elided", "architecture")}
        whole |= {"certificate": 1, "objective": "energy", "value": 0.0, "digest": ""}
        whole |= {key: data["layers"][place][key] for key in ("problem", "constraints")}
        nests = [nest for fused in fused_layers[place : place + 1] for nest in fused["mappings"]]
        named = [one for one in data["statements"] if one["layer"] == place]
        for mapping in nests or [[]]:
            parts = [part for one in named for part in one["parts"]]
            one_layer = Certificate.of(whole | {"mapping": mapping, "parts": parts})
            try:
                for look in _CHECKS:
                    raise_all(list(look(one_layer)))
            except InputError as error:
                raise error.at(f"{layer.name}") from error


def _layers(parts: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield what groups say of each layer."""
    for one in parts:
        yield from _layers(one["parts"]) if "parts" in one else (one,)


def _check_depth(data: Any) -> None:
    inside = [data]
    for _ in range(MOST_NESTED + 1):
        if not (holders := [one for one in inside if isinstance(one, (dict, list))]):
            return
        inside = [value for one in holders for value in (one.values() if isinstance(one, dict) else one)]
    raise InputError(Fault("lies deeper in itself than any certificate", allowed=f"at most {MOST_NESTED} levels"))


def _check_digest(data: dict[str, Any], stated: str) -> None:
    if digest_of(data) != stated:
        raise InputError(Fault("was changed after it was written", field="digest", value=stated))


def _kind(stated: Certificate) -> Iterator[Fault]:
    """Yield what kind of file, objective or rules there is not."""
    if (stated.claim is None) == (stated.certificate is None):
        yield Fault("is either a certificate or a claim", field="certificate")
    if stated.objective not in OBJECTIVES:
        yield unknown(stated.objective, OBJECTIVES, "objective", field="objective")
    rules = RULES.get(stated.semantics)
    if rules is None or rules.elided != stated.first_fills_elided:
        text = "no rules of that name count so"
        yield Fault(text, field="semantics", value=stated.semantics, allowed=", ".join(RULES))


def _named(stated: Certificate) -> Iterator[tuple[str, str, Iterable[str]]]:
    """Yield what kind of name stands where, and the names."""
    for space in stated.problem.data_spaces:
        yield "dimension", space.name, [d for rank in space.ranks for d in rank]
    for level in stated.architecture.levels:
        yield "data space", f"{level.name}.networks", [space for way in level.networks for space in way.charges]
    yield "level", "constraints", stated.constraints
    for name, limits in stated.constraints.items():
        yield "data space", name, [*limits.keep, *limits.bypass]
        for one in (limits.temporal, limits.spatial):
            tables = (one.factors, one.max_factors, one.min_factors, one.permutation, one.outer_permutation)
            yield "dimension", name, [d for names in tables for d in names]
    for nest in stated.mapping:
        yield "data space", f"mapping.{nest.level}", nest.keep
        yield "dimension", f"mapping.{nest.level}", [*(d for d, _ in nest.temporal), *(d for d, *_ in nest.spatial)]


def _names(stated: Certificate) -> Iterator[Fault]:
    """Yield names that stand for nothing, or twice where they may stand once."""
    rows = {
        "dimension": stated.problem.dimensions,
        "data space": [space.name for space in stated.problem.data_spaces],
        "level": [level.name for level in stated.architecture.levels],
    }
    once: list[tuple[str, str, list[Any]]] = [("a name stands twice", what, row) for what, row in rows.items()]
    for nest in stated.mapping:
        unrolled = [(d, axis) if stated.axes else d for d, _, axis in nest.spatial]
        for loops in ([d for d, _ in nest.temporal], unrolled):
            once.append(("a dimension loops twice at a level", f"mapping.{nest.level}", loops))
    for text, field, row in once:
        if len(set(row)) < len(row):
            yield Fault(text, field=field, value=row)
    for what, field, names in _named(stated):
        for name in sorted(set(names) - set(rows[what])):
            yield Fault(f"unknown {what}", field=field, value=name, allowed=", ".join(rows[what]))


def _sizes(stated: Certificate) -> Iterator[Fault]:
    """Yield sizes beyond those that are counted with, and dimensions that no lemma knows."""
    bounds = stated.problem.bounds
    if len(stated.problem.dimensions) != len(bounds):
        yield Fault("names and bounds do not match", field="problem.bounds", value=bounds)
        return
    if sum(size > 1 for size in bounds) > MAX_LOOPS:
        text = "more dimensions above 1 than a level takes loops"
        yield Fault(text, field="problem.bounds", value=bounds, allowed=f"at most {MAX_LOOPS}")
    bound = dict(zip(stated.problem.dimensions, bounds, strict=True))
    boxes = {"problem.bounds": math.prod(bounds)}
    for space in stated.problem.data_spaces:
        moved = [d for rank in space.ranks for d in rank if bound[d] > 1]
        for d in sorted({d for d in moved if moved.count(d) > 1}):
            yield Fault("a dimension moves two ranks of a data space", field=space.name, value=d)
        sides = (1 + sum(c * (bound[d] - 1) for d, c in rank.items()) for rank in space.ranks)
        boxes[space.name] = math.prod(sides)
    for field, points in boxes.items():
        if points > MOST_POINTS:
            yield Fault("is larger than what is counted with", field=field, value=points, allowed=f"{MOST_POINTS:,}")


def _counted(stated: Certificate) -> Iterator[Fault]:
    """Yield what is stated, but counted by no rules of the version, or not with imperfect factors."""
    early, rules = stated.factors == "imperfect", RULES[stated.semantics]
    if early and rules.later:
        allowed = ", ".join(name for name, one in RULES.items() if not one.later)
        text = "no lemma is known for loops that end early by these rules"
        yield Fault(text, field="semantics", value=stated.semantics, allowed=allowed)
    for level in stated.architecture.levels:
        if not rules.later and level.update_pj != level.write_pj:
            yield Fault("these rules charge updates as fills", field=f"{level.name}.update_pj")
        if not rules.later and level.leak_pj:
            yield Fault("these rules know no leakage", field=f"{level.name}.leak_pj")
        if (level.networks and not rules.charged) or (early and (level.networks or level.spreads)):
            yield Fault("networks that take energy or distribute are not counted here", field=level.name)


#: Keys of a part beside its keep, unrolling, lemma and bound, by factors and lemma.
_KEYS = {
    (None, "bound"): set(),
    (None, "cuts"): {"cuts"},
    ("imperfect", "empty"): {"idle"},
    ("imperfect", "bound"): {"idle"},
    ("imperfect", "nodes"): {"idle", "nodes"},
}


def _arguments(stated: Certificate) -> Iterator[Fault]:
    """Yield parts that are no argument for such factors, and rows of another length than the design's."""
    levels = len(stated.architecture.levels)
    for number, part in enumerate(stated.parts):
        widths = {"keep": len(stated.problem.data_spaces), "unrolling": len(stated.problem.dimensions)}
        for key, width in widths.items():
            if [len(row) for row in getattr(part, key)] != [width] * levels:
                yield Fault("has rows of another length than the design", field=f"parts.{number}.{key}")
        keys = part.model_fields_set - {"keep", "unrolling", "lemma", "bound_pj"}
        if keys != _KEYS.get((stated.factors, part.lemma)):
            yield Fault("is not an argument for such factors", field=f"parts.{number}", value=sorted(keys))


_CHECKS = (_kind, _names, _sizes, _counted, _arguments)
