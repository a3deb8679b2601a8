"""What becomes of every key of a design: counted, without effect, passed by, or refused."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jouleloop.arch.attributes import BY_NAME, KnownAttribute, canonical_name, is_harmless
from jouleloop.arch.networks import named_networks
from jouleloop.arch.parameters import kind_of
from jouleloop.arch.read import CONSTRAINT_SECTIONS
from jouleloop.arch.resolve import load_design
from jouleloop.errors import Fault, InputError
from jouleloop.mapspace.read import UNSUPPORTED
from jouleloop.mapspace.read_design import read_design

COUNTED, NO_EFFECT, PASSED_BY, REFUSED = "counted", "no effect", "passed by", "refused"
#: Attributes that count of networks alone.
_OF_NETWORKS = ("adder_energy", "action_name", "multicast_factor_argument", "per_datatype_ERT")


@dataclass(frozen=True)
class Entry:
    """One key of a design."""

    verdict: str
    """``counted``; ``no effect``, in Timeloop and here; ``passed by``, with a warning; ``refused``."""
    where: str
    value: str = ""
    """The key with its component or section, and what it says."""
    why: str = ""
    """Empty where the verdict says it all."""


def inventory(paths: Sequence[Path], variables: dict[str, Any] | None = None, *, later: bool = False) -> list[Entry]:
    """Return what becomes of every attribute and constraint of the files that make a design, refusals last.

    What is refused or passed by is what reading the design says; see `jouleloop.mapspace.read_design.read_design`.
    """
    said = _Warnings()
    refused: list[Fault] = []
    log = logging.getLogger("jouleloop")
    log.addHandler(said)
    propagate, log.propagate = log.propagate, False
    try:
        read_design(paths, variables=variables, later=later)
    except InputError as error:
        refused = list(error.faults)
    finally:
        log.removeHandler(said)
        log.propagate = propagate
    blamed = {str(fault.field) for fault in refused}
    found: list[Entry] = []
    for path in paths:
        try:
            data = load_design(path, variables)
        except InputError:
            continue  # told by reading the design
        found += [entry for entry in _entries(data) if entry.where not in blamed]
    passed = [Entry(PASSED_BY, text.partition(": ")[0], why=text.partition(": ")[2]) for text in said.texts]
    found += [one for one in passed if not any(entry.where.startswith(f"{one.where}.attributes") for entry in found)]
    told = {_told(key) for key in UNSUPPORTED}
    found += [
        Entry(REFUSED, str(fault.field or fault.source or ""), _text(fault.value), fault.message)
        for fault in refused
        if fault.message not in told
    ]
    return sorted(found, key=lambda entry: entry.verdict == REFUSED)


class _Warnings(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


def _entries(data: Any) -> Iterator[Entry]:
    if not isinstance(data, Mapping):
        return
    components = list(_components(data.get("architecture")))
    named = named_networks(components)
    for component in components:
        kind = kind_of(str(component.get("class")))
        attributes = component.get("attributes")
        name = str(component.get("name")).partition("[")[0]
        kind = "storage" if name in named else kind
        if kind in ("storage", "compute") and isinstance(attributes, Mapping):
            for key, value in attributes.items():
                known = BY_NAME.get(canonical_name(str(key)))
                names_one = canonical_name(str(key)).startswith("network_") and value in named
                of_one = name in named and canonical_name(str(key)) in _OF_NETWORKS
                verdict = COUNTED if names_one or of_one else _verdict(known, kind, value)
                yield Entry(verdict, f"{name}.attributes.{key}", _text(value))
        constraints = component.get("constraints")
        for loops, stated in constraints.items() if isinstance(constraints, Mapping) else ():
            for key, value in stated.items() if isinstance(stated, Mapping) else ():
                yield _constraint(f"{name}.constraints.{loops}", key, value)
    for section in CONSTRAINT_SECTIONS:
        stated = data.get(section)
        targets = stated.get("targets") if isinstance(stated, Mapping) else stated
        for target in targets if isinstance(targets, list) else ():
            if isinstance(target, Mapping):
                where = f"{section} ({target.get('target')} {target.get('type')})"
                said = {str(key): value for key, value in target.items() if key not in ("target", "type")}
                for key, value in said.items():
                    yield _constraint(where, key, value)
    mapper = data.get("mapper")
    for key, value in mapper.items() if isinstance(mapper, Mapping) else ():
        verdict = COUNTED if canonical_name(str(key)).startswith("optimization_metric") else NO_EFFECT
        yield Entry(verdict, f"mapper.{key}", _text(value))


def _components(tree: Any) -> Iterator[Mapping[str, Any]]:
    """Yield every mapping inside an architecture that has a name and a class, or constraints."""
    if isinstance(tree, Mapping):
        if "name" in tree and ("class" in tree or "constraints" in tree):
            yield tree
        for child in tree.values():
            yield from _components(child)
    elif isinstance(tree, list):
        for child in tree:
            yield from _components(child)


def _verdict(known: KnownAttribute | None, kind: str, value: Any) -> str:
    if known is None or kind not in known.kinds:
        return NO_EFFECT
    if known.counted:
        return COUNTED
    return REFUSED if known.refused and not is_harmless(known, value) else NO_EFFECT


def _constraint(where: str, key: str, value: Any) -> Entry:
    refused = key in UNSUPPORTED and value not in (None, [], {})
    return Entry(REFUSED if refused else COUNTED, f"{where}.{key}", _text(value), _told(key) if refused else "")


def _told(key: str) -> str:
    return f"{key} is not supported by the model"


def _text(value: Any) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
