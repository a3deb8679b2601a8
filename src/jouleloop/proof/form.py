"""The form of a certificate: every key with its type, so that a damaged file is refused before anything is believed."""

import hashlib
import json
import math
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, Strict, ValidationError

from jouleloop.errors import Fault, InputError, unknown
from jouleloop.proof.rules import OBJECTIVES, RULES, Rules

#: Dimensions above 1, at most, and how deep lists and tables may lie in each other.
MAX_LOOPS = 12
MOST_NESTED = 100
#: Points of a layer and words of a data space, at most: bounds that are summed in doubles stay within a word.
MOST_POINTS = 2**48
#: Energies [pJ] but 0, at least and at most: their sums and products neither vanish nor overflow in doubles.
LEAST_PJ, MOST_PJ = 1e-30, 1e30


def _counted(energy_pj: float) -> float:
    if energy_pj and not LEAST_PJ <= energy_pj <= MOST_PJ:
        raise ValueError(f"energies other than 0 are from {LEAST_PJ:g} to {MOST_PJ:g} pJ")
    return energy_pj


def _printable(name: str) -> str:
    if name and not name.isprintable():
        raise ValueError("holds characters that cannot be printed")
    return name


Count = Annotated[int, Field(ge=1, le=2**53)]
Size = Annotated[int, Field(ge=0, le=2**53)]
#: What is claimed: a value, or a bound [pJ].
Stated = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Energy = Annotated[float, Field(ge=0, allow_inf_nan=False), AfterValidator(_counted)]
Rate = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Name = Annotated[str, AfterValidator(_printable)]
Pair = Annotated[tuple[Count, Count], Strict(False)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _DataSpace(_Strict):
    name: Name
    read_write: bool
    ranks: list[dict[str, Count]]


class _Problem(_Strict):
    name: Name
    dimensions: list[Name]
    bounds: list[Count]
    data_spaces: Annotated[list[_DataSpace], Field(min_length=1)]


class _Network(_Strict):
    kind: Literal["mesh", "tree", "table"]
    back: bool
    hop_pj: Energy
    router_pj: Energy
    ingress_pj: Energy
    adder_pj: Energy
    charges: dict[Name, list[Annotated[tuple[Energy, Energy], Strict(False)]]]


class _Level(_Strict):
    name: Name
    capacity_words: Size | None
    least_words: Size
    block_words: Count
    clusters: Count
    fanout: Pair
    read_pj: Energy
    write_pj: Energy
    update_pj: Energy = 0.0
    leak_pj: Energy = 0.0
    read_bandwidth_words: Rate | None
    write_bandwidth_words: Rate | None
    shared_bandwidth_words: Rate | None
    networks: Annotated[list[_Network], Field(max_length=2)] = []
    adds: bool = True
    spreads: bool = False


class _Architecture(_Strict):
    name: Name
    compute_pj: Energy
    levels: Annotated[list[_Level], Field(min_length=1)]


class _Loops(_Strict):
    factors: dict[str, Size]
    max_factors: dict[str, Count]
    min_factors: dict[str, Count]
    permutation: list[str]
    outer_permutation: list[str]
    split: Size | None


class _Limits(_Strict):
    temporal: _Loops
    spatial: _Loops
    keep: list[str]
    bypass: list[str]


class _Nest(_Strict):
    level: str
    temporal: list[Annotated[tuple[str, Count], Strict(False)]]
    spatial: list[Annotated[tuple[str, Count, Literal["X", "Y"]], Strict(False)]]
    keep: list[str]


class _Cut(_Strict):
    tile: list[Count]
    order: list[Size] | None
    why: Literal["no tile fits", "bound", "followed"]
    bound_pj: Stated | None
    cuts: "list[_Cut] | None"


class _Node(_Strict):
    ends: list[Pair]
    bound_pj: Stated | None
    nodes: "list[_Node]"


class _Part(_Strict):
    keep: list[list[Literal[0, 1]]]
    unrolling: list[list[Count]]
    idle: list[list[Literal[0, 1]]] | None = None
    lemma: Literal["bound", "cuts", "empty", "nodes"]
    bound_pj: Stated | None
    cuts: list[_Cut] | None = None
    nodes: list[_Node] | None = None


class _Certificate(_Strict):
    certificate: Literal[1] | None = None
    claim: Name | None = None
    factors: Literal["imperfect"] | None = None
    objective: str
    value: Stated
    semantics: str
    first_fills_elided: bool
    problem: _Problem
    architecture: _Architecture
    constraints: dict[str, _Limits]
    mapping: list[_Nest]
    parts: list[_Part]
    digest: str


def digest_of(data: dict[str, Any]) -> str:
    """Return the SHA-256 of all that a certificate says, whatever the order of its keys."""
    content = {key: value for key, value in data.items() if key != "digest"}
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def check_form(data: Any) -> dict[str, Any]:
    """Return a certificate that has the right form and is as it was written; raise `InputError`, with every fault."""
    if _nested(data) > MOST_NESTED:
        raise InputError(Fault("lies deeper in itself than any certificate", allowed=f"at most {MOST_NESTED} levels"))
    try:
        _Certificate.model_validate(data)
    except ValidationError as error:
        faults = [
            Fault(detail["msg"], field=".".join(map(str, detail["loc"])), value=detail["input"])
            for detail in error.errors(include_url=False)
        ]
        raise InputError(faults[:20]) from error
    certificate: dict[str, Any] = data
    if ("claim" in certificate) == ("certificate" in certificate):
        raise InputError(Fault("is either a certificate or a claim", field="certificate"))
    if digest_of(certificate) != certificate["digest"]:
        raise InputError(Fault("was changed after it was written", field="digest", value=certificate["digest"]))
    if certificate["objective"] not in OBJECTIVES:
        raise InputError(unknown(certificate["objective"], OBJECTIVES, "objective", field="objective"))
    rules = RULES.get(certificate["semantics"])
    if rules is None or rules.elided != certificate["first_fills_elided"]:
        allowed = ", ".join(RULES)
        raise InputError(
            Fault("no rules of that name count so", field="semantics", value=data["semantics"], allowed=allowed)
        )
    for stated in (_names(certificate), _sizes(certificate), _rules(certificate, rules), _arguments(certificate)):
        if found := list(stated):
            raise InputError(found[:20])
    return certificate


def _nested(data: Any) -> int:
    """Return how deep lists and tables lie in each other, or more than may be."""
    depth, layer = 0, [data]
    while layer and depth <= MOST_NESTED:
        inside = [
            list(one.values()) if isinstance(one, dict) else one for one in layer if isinstance(one, (dict, list))
        ]
        layer = [value for one in inside for value in one if isinstance(value, (dict, list))]
        depth += 1
    return depth


def _named(data: dict[str, Any]) -> Iterator[tuple[str, str, Iterable[str]]]:
    """Yield what kind of name stands where, and the names."""
    for space in data["problem"]["data_spaces"]:
        yield "dimension", space["name"], [d for rank in space["ranks"] for d in rank]
    for level in data["architecture"]["levels"]:
        for way in level.get("networks", ()):
            yield "data space", f"{level['name']}.networks", way["charges"]
    yield "level", "constraints", data["constraints"]
    for name, limits in data["constraints"].items():
        yield "data space", name, [*limits["keep"], *limits["bypass"]]
        for kind in ("temporal", "spatial"):
            for value in limits[kind].values():
                yield "dimension", f"{name}.{kind}", value if isinstance(value, (dict, list)) else ()
    for level in data["mapping"]:
        yield "data space", f"mapping.{level['level']}", level["keep"]
        for kind in ("temporal", "spatial"):
            yield "dimension", f"mapping.{level['level']}", [loop[0] for loop in level[kind]]


def _names(data: dict[str, Any]) -> Iterator[Fault]:
    """Yield names that stand for nothing, or twice where they may stand once."""
    problem = data["problem"]
    rows = {
        "dimension": problem["dimensions"],
        "data space": [space["name"] for space in problem["data_spaces"]],
        "level": [level["name"] for level in data["architecture"]["levels"]],
    }
    once = [("a name stands twice", what, row) for what, row in rows.items()]
    once += [
        ("a dimension loops twice at a level", f"mapping.{level['level']}", [loop[0] for loop in level[kind]])
        for level in data["mapping"]
        for kind in ("temporal", "spatial")
    ]
    for text, field, row in once:
        if len(set(row)) < len(row):
            yield Fault(text, field=field, value=row)
    for what, field, names in _named(data):
        for name in sorted(set(names) - set(rows[what])):
            yield Fault(f"unknown {what}", field=field, value=name, allowed=", ".join(rows[what]))


def _sizes(data: dict[str, Any]) -> Iterator[Fault]:
    """Yield sizes beyond those that are counted with, and dimensions that no lemma knows."""
    bounds = data["problem"]["bounds"]
    if len(data["problem"]["dimensions"]) != len(bounds):
        yield Fault("names and bounds do not match", field="problem.bounds", value=bounds)
        return
    bound = dict(zip(data["problem"]["dimensions"], bounds, strict=True))
    if sum(size > 1 for size in bounds) > MAX_LOOPS:
        text = "more dimensions above 1 than a level takes loops"
        yield Fault(text, field="problem.bounds", value=bounds, allowed=f"at most {MAX_LOOPS}")
    boxes = {"problem.bounds": math.prod(bounds)}
    for space in data["problem"]["data_spaces"]:
        moved = [d for rank in space["ranks"] for d in rank if bound[d] > 1]
        for d in sorted({d for d in moved if moved.count(d) > 1}):
            yield Fault("a dimension moves two ranks of a data space", field=space["name"], value=d)
        sides = (1 + sum(c * (bound[d] - 1) for d, c in rank.items()) for rank in space["ranks"])
        boxes[space["name"]] = math.prod(sides)
    for field, points in boxes.items():
        if points > MOST_POINTS:
            yield Fault("is larger than what is counted with", field=field, value=points, allowed=f"{MOST_POINTS:,}")


def _rules(data: dict[str, Any], rules: Rules) -> Iterator[Fault]:
    """Yield what is stated, but counted by no rules of the version, or not with imperfect factors."""
    early = data.get("factors") == "imperfect"
    if early and rules.later:
        allowed = ", ".join(name for name, one in RULES.items() if not one.later)
        text = "no lemma is known for loops that end early by these rules"
        yield Fault(text, field="semantics", value=data["semantics"], allowed=allowed)
    for level in data["architecture"]["levels"]:
        update_pj, charged = level.get("update_pj", level["write_pj"]), bool(level.get("networks"))
        if not rules.later and update_pj != level["write_pj"]:
            yield Fault("these rules charge updates as fills", field=f"{level['name']}.update_pj", value=update_pj)
        if not rules.later and level.get("leak_pj"):
            yield Fault("these rules know no leakage", field=f"{level['name']}.leak_pj", value=level["leak_pj"])
        if (charged and not rules.charged) or (early and (charged or level.get("spreads"))):
            yield Fault("networks that take energy or distribute are not counted here", field=level["name"])


#: Keys of a part beside its keep, unrolling, lemma and bound, by factors and lemma.
_KEYS = {
    (None, "bound"): set(),
    (None, "cuts"): {"cuts"},
    ("imperfect", "empty"): {"idle"},
    ("imperfect", "bound"): {"idle"},
    ("imperfect", "nodes"): {"idle", "nodes"},
}


def _arguments(data: dict[str, Any]) -> Iterator[Fault]:
    """Yield parts that are no argument for such factors, and rows of another length than the design's."""
    problem, levels = data["problem"], len(data["architecture"]["levels"])
    for number, part in enumerate(data["parts"]):
        for key, width in (("keep", len(problem["data_spaces"])), ("unrolling", len(problem["dimensions"]))):
            if [len(row) for row in part[key]] != [width] * levels:
                yield Fault("has rows of another length than the design", field=f"parts.{number}.{key}")
        keys = part.keys() - {"keep", "unrolling", "lemma", "bound_pj"}
        if keys != _KEYS.get((data.get("factors"), part["lemma"])):
            yield Fault("is not an argument for such factors", field=f"parts.{number}", value=sorted(keys))
