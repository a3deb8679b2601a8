"""The one exception family: every fault of an input, with where it is, what is allowed and the nearest spelling."""

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

#: So many faults are reported one by one; nobody reads more.
MOST_FAULTS = 100


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong with what the user gave."""

    message: str
    """What is wrong, as a sentence without the location."""
    source: str | None = None
    """The file or command-line option it was found in, if any."""
    field: str | None = None
    """Dotted path of the field inside ``source``, such as ``sweep.ranges.C.step``."""
    value: object = None
    """The offending value as the user wrote it."""
    allowed: str | None = None
    """What would be accepted."""
    nearest: str | None = None
    """The closest valid spelling, where there is one."""

    def __str__(self) -> str:
        where = ": ".join(part for part in (self.source, self.field) if part)
        text = f"{where}: {self.message}" if where else self.message
        if self.value is not None:
            text += f" (got {_shorten(_repr(self.value))})"
        if self.allowed:
            text += f"; allowed: {self.allowed}"
        if self.nearest:
            text += f"; did you mean {self.nearest!r}?"
        return text


class JouleloopError(Exception):
    """Base of every error that a user can cause or must know about; carries all faults found, not the first."""

    exit_code = 2

    def __init__(self, faults: Fault | str | Iterable[Fault | str]) -> None:
        if isinstance(faults, (str, Fault)):
            faults = [faults]
        found = distinct(Fault(f) if isinstance(f, str) else f for f in faults)
        if len(found) > MOST_FAULTS + 1:
            found[MOST_FAULTS:] = [Fault(f"and {len(found) - MOST_FAULTS} faults more")]
        self.faults: tuple[Fault, ...] = tuple(found)
        super().__init__("\n".join(str(fault) for fault in self.faults))

    def __reduce__(self) -> tuple[type[Self], tuple[tuple[Fault, ...]]]:
        """Pickle by faults, so that errors cross process boundaries whole."""
        return type(self), (self.faults,)

    def at(self, source: str | Path) -> Self:
        """Return the same error with ``source`` filled in where a fault has none."""
        return type(self)(replace(fault, source=fault.source or str(source)) for fault in self.faults)

    def renamed(self, names: Mapping[str, str]) -> Self:
        """Return the same error, faults of parameters as those of what ``names`` has for them; a file's are its own."""
        found = [(fault, "field" if fault.source is None else "source") for fault in self.faults]
        return type(self)(replace(one, **{at: names.get(getattr(one, at), getattr(one, at))}) for one, at in found)


class InputError(JouleloopError):
    """A file, option or parameter is not what is allowed there."""


class AssumptionError(InputError):
    """A theorem was asked for outside the assumptions under which it is stated; the message names the assumption."""


class MappingError(InputError):
    """A mapping is not a mapping of this problem onto this architecture."""


class EnergyTableError(InputError):
    """A component or action has no energy in the table or estimator asked."""


class EngineError(JouleloopError):
    """A back end is missing, too old, crashed, hung or answered something that is no result."""

    exit_code = 3


def distinct(faults: Iterable[Fault]) -> list[Fault]:
    """Return faults without those that read as one before; the values that they carry need not be hashable."""
    return list({str(fault): fault for fault in reversed(list(faults))}.values())[::-1]


def nearest(word: str, known: Iterable[str], likeness: float = 0.6) -> str | None:
    """Return the known spelling closest to ``word``, best one that begins with it; None where none is so much alike."""
    lowered = {name.lower(): name for name in sorted(known)}
    found = difflib.get_close_matches(str(word).lower(), list(lowered), cutoff=likeness)
    found.sort(key=lambda name: not name.startswith(str(word).lower()))
    return lowered[found[0]] if found else None


def unknown(
    word: str, known: Iterable[str], what: str, *, source: str | None = None, field: str | None = None
) -> Fault:
    """Return the fault for a name that is none of ``known``."""
    names = sorted(set(known))
    return Fault(f"unknown {what}", source, field, word, ", ".join(names) or "none", nearest(word, names))


def raise_all(faults: Sequence[Fault], error: type[JouleloopError] = InputError) -> None:
    """Raise ``error`` with all ``faults``, or return where there are none."""
    if faults:
        raise error(faults)


def gather(*makes: Callable[[], Any]) -> list[Any]:
    """Return what each function makes; raise `InputError` with the faults of all of them."""
    made, faults = [], list[Fault]()
    for make in makes:
        try:
            made.append(make())
        except JouleloopError as error:
            faults += error.faults
    raise_all(faults)
    return made


def _repr(value: object) -> str:
    try:
        return repr(value)
    except (ValueError, RecursionError):  # Python does not write integers of thousands of digits
        return f"{type(value).__name__} that is too long to be shown"


def _shorten(text: str, limit: int = 120) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
