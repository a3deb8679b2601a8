"""Designs of `differential.linked` with more to choose or less to reuse: what fixed unrollings of inputs never ask for.

Outputs slide instead of inputs (transposed convolutions), factors of unrollings are left open so that groups hold
several, multicasts are distributed, and levels are told what not to reuse or what passes through them.
"""

import json
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from differential.case import LATER, SEMANTICS, Case, fanouts
from differential.keywords import WIRES, stores, told
from differential.linked import draw_linked

Document = dict[str, Any]

_SPACES = ("Inputs", "Weights", "Outputs")
_KEYS = {"temporal": ("no_temporal_reuse",), "spatial": ("no_multicast_no_reduction", "no_link_transfer")}
_LATER_KEYS = {"temporal": ("rmw_first_update", "rmw_first_update", "no_temporal_reuse"), "spatial": _KEYS["spatial"]}
#: Versions that count networks which take energy as Timeloop does now.
_ALL_BUT_OLD = (SEMANTICS[0], SEMANTICS[0], *LATER)
#: Dimensions unrolled together, so that instances share what they hold, all or parts of it.
_SHARING = ("PR", "PR", "R", "C", "M", "MR", "CR")
#: Seeds of the designs that kinds start from, apart from those of `draw_linked` itself.
_APART = {"turned": 1_000_000, "grouped": 2_000_000, "spread": 3_000_000, "told": 4_000_000}


def draw_turned(seed: int) -> Case:
    """Return a case whose outputs slide: what the other kind calls inputs is written, its outputs are read."""
    return _turned(replace(draw_linked(_APART["turned"] + seed), name=f"turned-{seed}"))


def draw_grouped(seed: int) -> Case:
    """Return a case of several unrollings and choices of what is kept; in every third outputs slide."""
    rng = random.Random(f"grouped/{seed}")
    case = draw_linked(_APART["grouped"] + seed, SEMANTICS[:2])
    found = _with(case, f"grouped-{seed}", _opened(rng, _targets(case)))
    return _turned(found) if seed % 3 == 2 else found


def draw_spread(seed: int) -> Case:
    """Return a case whose networks distribute multicasts; some take energy, and some levels reuse less."""
    rng = random.Random(f"spread/{seed}")
    case = draw_linked(_APART["spread"] + seed, _ALL_BUT_OLD, _SHARING, (2, 3, 3, 4))
    for item in stores(case.arch):
        if rng.random() < 0.7:
            item["attributes"]["network-type"] = "M:N"
        if rng.random() < 0.2:
            item["attributes"].update({key: values[0] for key, values in WIRES.items()})
    given = _targets(case) + (_less_reuse(rng, case) if rng.random() < 0.3 else [])
    found = _with(case, f"spread-{seed}", _opened(rng, given) if rng.random() < 0.4 else given)
    return _turned(found) if rng.random() < 0.4 else found


def draw_told(seed: int) -> Case:
    """Return a case whose levels are told what not to reuse, and, in later versions, what passes through them."""
    rng = random.Random(f"told/{seed}")
    case = draw_linked(_APART["told"] + seed, (*SEMANTICS, *LATER))
    given = _targets(case) + _less_reuse(rng, case)
    found = _with(case, f"told-{seed}", _opened(rng, given) if rng.random() < 0.4 else given)
    return _turned(found) if rng.random() < 0.4 else found


def _targets(case: Case) -> list[Document]:
    return list(case.constraints["architecture_constraints"]["targets"])


def _opened(rng: random.Random, targets: list[Document]) -> list[Document]:
    """Return targets that leave factors of unrollings open, and some of what is kept."""
    given = []
    for target in targets:
        if target["type"] == "spatial" and "factors" in target:
            how = rng.choice(("open", "open", "some", "most"))
            factors = [one for one in target["factors"].split() if how != "some" or rng.random() < 0.5]
            text = " ".join(factors).replace("=", "<=" if how == "most" else "=")
            given += [{**target, "factors": text}] if how != "open" and text else []
        elif target["type"] == "bypass" and "no_coalesce" not in target and rng.random() < 0.3:
            kept = [v for v in target["keep"] if rng.random() < 0.5]
            given.append({**target, "keep": kept, "bypass": [v for v in target["bypass"] if rng.random() < 0.7]})
        else:
            given.append(target)
    return given


#: Draws by kind.
OPEN: dict[str, Callable[[int], Case]] = {
    "turned": draw_turned,
    "grouped": draw_grouped,
    "spread": draw_spread,
    "told": draw_told,
}


def _less_reuse(rng: random.Random, case: Case) -> list[Document]:
    """Return targets of levels that reuse less; words pass through levels that keep them, but for the outermost."""
    later, share = case.semantics in LATER, rng.choice((0.3, 0.6, 0.9))
    keys = _LATER_KEYS if later else _KEYS
    found: list[Document] = []
    for place, (name, x, y) in enumerate(fanouts(case)):
        kinds = ("temporal", "spatial") if x * y > 1 else ("temporal",)
        found += told(rng, name, {kind: keys[kind] for kind in kinds}, list(_SPACES), share * rng.choice((0, 0.5, 1)))
        for target in _targets(case) if later and place else ():
            passing = [v for v in target.get("keep", ()) if rng.random() < share]
            if target["target"] == name and passing:
                found.append({"target": name, "type": "bypass", "no_coalesce": passing})
    return found


def _with(case: Case, name: str, given: list[Document]) -> Case:
    return replace(case, name=name, constraints={"architecture_constraints": {"targets": given}})


def _turned(case: Case) -> Case:
    """Return a case with inputs and outputs exchanged, so that what slides is written."""
    text = json.dumps([case.problem, case.constraints]).replace("Inputs", "Sliding")
    problem, constraints = json.loads(text.replace("Outputs", "Inputs").replace("Sliding", "Outputs"))
    for data in problem["problem"]["shape"]["data-spaces"]:
        data.pop("read-write", None)
        if data["name"] == "Outputs":
            data["read-write"] = True
    return replace(case, problem=problem, constraints=constraints)
