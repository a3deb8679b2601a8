"""The form of a certificate: every key with its type, so that a damaged file is refused before anything is believed."""

import hashlib
import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from jouleloop.errors import Fault, InputError, unknown
from jouleloop.proof.rules import OBJECTIVES, RULES, Rules

Count = Annotated[int, Field(ge=1, le=2**53)]
Size = Annotated[int, Field(ge=0, le=2**53)]
Energy = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Rate = Annotated[float, Field(gt=0, allow_inf_nan=False)]

#: Dimensions above 1, at most, and how deep lists and tables may lie in each other.
MAX_LOOPS = 12
MOST_NESTED = 100


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _DataSpace(_Strict):
    name: str
    read_write: bool
    ranks: list[dict[str, Count]]


class _Problem(_Strict):
    name: str
    dimensions: list[str]
    bounds: list[Count]
    data_spaces: list[_DataSpace]


class _Network(_Strict):
    kind: Literal["mesh", "tree", "table"]
    back: bool
    hop_pj: Energy
    router_pj: Energy
    ingress_pj: Energy
    adder_pj: Energy
    charges: dict[str, list[Annotated[list[Energy], Field(min_length=2, max_length=2)]]]


class _Level(_Strict):
    name: str
    capacity_words: Size | None
    least_words: Size
    block_words: Count
    clusters: Count
    fanout: Annotated[list[Count], Field(min_length=2, max_length=2)]
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
    name: str
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
    temporal: list[Annotated[list[str | int], Field(min_length=2, max_length=2)]]
    spatial: list[Annotated[list[str | int], Field(min_length=3, max_length=3)]]
    keep: list[str]


class _Cut(_Strict):
    tile: list[Count]
    order: list[Size] | None
    why: Literal["no tile fits", "bound", "followed"]
    bound_pj: Energy | None
    cuts: "list[_Cut] | None"


class _Node(_Strict):
    ends: list[Annotated[list[Count], Field(min_length=2, max_length=2)]]
    bound_pj: Energy | None
    nodes: "list[_Node]"


class _Part(_Strict):
    keep: list[list[Literal[0, 1]]]
    unrolling: list[list[Count]]
    idle: list[list[Literal[0, 1]]] | None = None
    lemma: Literal["bound", "cuts", "empty", "nodes"]
    bound_pj: Energy | None
    cuts: list[_Cut] | None = None
    nodes: list[_Node] | None = None


class _Certificate(_Strict):
    certificate: Literal[1] | None = None
    claim: str | None = None
    factors: Literal["imperfect"] | None = None
    objective: str
    value: Energy
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
    _check_names(certificate)
    _check_counted(certificate, rules)
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


def _check_counted(data: dict[str, Any], rules: Rules) -> None:
    """Refuse what is stated, but counted by no rules of the version, or not where loops end early."""
    levels, early = data["architecture"]["levels"], data.get("factors") == "imperfect"
    faults: list[Fault] = []
    if early and rules.later:
        allowed = ", ".join(name for name, one in RULES.items() if not one.later)
        text = "no lemma is known for loops that end early by these rules"
        faults.append(Fault(text, field="semantics", value=data["semantics"], allowed=allowed))
    for level in levels:
        if not rules.later and level.get("update_pj", level["write_pj"]) != level["write_pj"]:
            text = "these rules charge updates as fills"
            faults.append(Fault(text, field=f"{level['name']}.update_pj", value=level["update_pj"]))
        if not rules.later and level.get("leak_pj"):
            faults.append(
                Fault("these rules know no leakage", field=f"{level['name']}.leak_pj", value=level["leak_pj"])
            )
        charged = bool(level.get("networks"))
        if (charged and not rules.charged) or (early and (charged or level.get("spreads"))):
            faults.append(Fault("networks that take energy or distribute are not counted here", field=level["name"]))
    bound = dict(zip(data["problem"]["dimensions"], data["problem"]["bounds"], strict=True))
    for space in data["problem"]["data_spaces"]:
        moved = [d for rank in space["ranks"] for d in rank if bound[d] > 1]
        twice = sorted({d for d in moved if moved.count(d) > 1})
        faults += [Fault("a dimension moves two ranks of a data space", field=space["name"], value=d) for d in twice]
    if sum(size > 1 for size in bound.values()) > MAX_LOOPS:
        text = "more dimensions above 1 than a level takes loops"
        faults.append(
            Fault(text, field="problem.bounds", value=data["problem"]["bounds"], allowed=f"at most {MAX_LOOPS}")
        )
    if faults:
        raise InputError(faults[:20])


def _check_names(data: dict[str, Any]) -> None:
    """Refuse names that stand for nothing, and rows of another length than the design's."""
    dims = data["problem"]["dimensions"]
    spaces = {space["name"] for space in data["problem"]["data_spaces"]}
    levels = {level["name"]: None for level in data["architecture"]["levels"]}
    faults: list[Fault] = []
    if len(dims) != len(data["problem"]["bounds"]) or len(set(dims)) != len(dims):
        faults.append(Fault("names and bounds do not match", field="problem.dimensions", value=dims))
    for field, found, whole in (
        ("problem", spaces, data["problem"]["data_spaces"]),
        ("architecture", levels, data["architecture"]["levels"]),
    ):
        if len(found) != len(whole):
            faults.append(Fault("a name stands twice", field=field, value=[one["name"] for one in whole]))
    for space in data["problem"]["data_spaces"]:
        named = {d for rank in space["ranks"] for d in rank}
        faults += [Fault("unknown dimension", field=space["name"], value=d) for d in sorted(named) if d not in dims]
    for name, level in zip(levels, data["architecture"]["levels"], strict=False):
        named = {space for way in level.get("networks", ()) for space in way["charges"]}
        faults += [Fault("unknown data space", field=f"{name}.networks", value=s) for s in sorted(named - spaces)]
    for name, limits in data["constraints"].items():
        if name not in levels:
            faults.append(Fault("unknown level", field="constraints", value=name))
        stored = {*limits["keep"], *limits["bypass"]}
        faults += [Fault("unknown data space", field=name, value=s) for s in sorted(stored) if s not in spaces]
        for kind in ("temporal", "spatial"):
            named = {d for value in limits[kind].values() if isinstance(value, (dict, list)) for d in value}
            faults += [
                Fault("unknown dimension", field=f"{name}.{kind}", value=d) for d in sorted(named) if d not in dims
            ]
    for level in data["mapping"]:
        faults += [
            Fault("no loop", field=f"mapping.{level['level']}", value=loop)
            for loop in (*level["temporal"], *level["spatial"])
            if loop[0] not in dims or not isinstance(loop[1], int) or loop[1] < 1 or loop[2:] not in ([], ["X"], ["Y"])
        ]
        for kind in ("temporal", "spatial"):
            looped = [loop[0] for loop in level[kind]]
            faults += [
                Fault("a dimension loops twice at a level", field=f"mapping.{level['level']}", value=d)
                for d in dims
                if looped.count(d) > 1
            ]
        kept = [space for space in level["keep"] if space not in spaces]
        faults += [Fault("unknown data space", field=f"mapping.{level['level']}", value=space) for space in kept]
    for number, part in enumerate(data["parts"]):
        if [len(row) for row in part["keep"]] != [len(spaces)] * len(levels):
            faults.append(Fault("is not by level and data space", field=f"parts.{number}.keep"))
        if [len(row) for row in part["unrolling"]] != [len(dims)] * len(levels):
            faults.append(Fault("is not by level and dimension", field=f"parts.{number}.unrolling"))
        for key in ("cuts", "nodes"):
            if (part["lemma"] == key) != isinstance(part.get(key), list):
                faults.append(Fault(f"{key} belong to the lemma {key!r}", field=f"parts.{number}"))
        early = data.get("factors") == "imperfect"
        if early != isinstance(part.get("idle"), list) or part["lemma"] in (("cuts",) if early else ("nodes", "empty")):
            faults.append(Fault("is not an argument for such factors", field=f"parts.{number}"))
    if faults:
        raise InputError(faults[:20])
