"""A design space as a YAML file: its keys, and the variants that they stand for."""

import itertools
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from pydantic import StrictFloat, StrictInt, model_validator

from jouleloop.documents.load import read_plain
from jouleloop.engines.protocol import SEMANTICS
from jouleloop.errors import Fault, InputError
from jouleloop.files import is_file
from jouleloop.model.arrays import Ints
from jouleloop.validation import Made, made_of
from jouleloop.workload.strict import Strict, key
from jouleloop.workload.sweep_schema import Attributes, Range
from jouleloop.workload.variants import Value, Variant

#: Designs that are taken without being asked for.
MOST_DESIGNS = 100_000


class Budget(Strict):
    """What a design may take at most."""

    area_mm2: StrictFloat | None = key("Area of all instances of all components.", "mm2", None, gt=0)
    capacity_kib: StrictFloat | None = key(
        "Capacity of all instances of all levels but main memory.", "KiB", None, gt=0
    )


class SpaceFile(Strict):
    """A design space: an architecture, attributes that vary, a budget, and what is minimised over which layers."""

    description: str = key("What the space is for.", "text", "")
    architecture: str = key("Architecture: a name, or the path of a file from this one.", "text")
    energy: list[str] = key(
        "Where energies come from, as --energy of jouleloop map; as configured without it.", "names", []
    )
    constraints: str | None = key(
        "As --constraints of jouleloop map: full, arch-only, none, or a file.", "choice", None
    )
    factors: Literal["perfect", "imperfect"] | None = key("Whether loops must divide the layer.", "choice", None)
    semantics: Literal[SEMANTICS] = key("Counting rules.", "choice", SEMANTICS[0])  # type: ignore[valid-type]
    attributes: dict[str, Attributes] = key(
        "Attributes that vary, by path as in a sweep: a range (start, stop and step or factor), a list, or one value. "
        "All combinations are designs.",
        "as the attribute",
        min_length=1,
    )
    layer: str | None = key("The layer that counts, as jouleloop map takes it.", "text", None)
    network: str | None = key(
        "Instead of a layer: a network in layers/networks/ by name, or the path of a file from this one.", "text", None
    )
    objective: Literal["energy", "delay", "edp", "front"] = key(
        "What is minimised over all layers together: energy, delay, their product (edp); or front: all designs that no "
        "other beats in energy, delay and area.",
        "choice",
        "energy",
    )
    budget: Budget = key("What a design may take at most.", "keys", Budget())
    most_designs: StrictInt = key("Designs above which the space is refused.", "designs", MOST_DESIGNS, ge=1)

    @model_validator(mode="after")
    def _counted(self) -> Self:
        if (self.layer is None) == (self.network is None):
            raise ValueError("give a layer or a network, one of both")
        # A range is counted before it is listed: one without its step may have any number of values.
        count = math.prod(len(one.values()) for one in self.attributes.values() if isinstance(one, Range))
        count *= math.prod(len(one) for one in self.attributes.values() if isinstance(one, list))
        if count > self.most_designs:
            raise ValueError(f"the space has {count:,} designs, more than most_designs {self.most_designs:,}")
        return self

    @property
    def columns(self) -> dict[str, list[Value]]:
        """Return the values of every attribute, numbers in ascending order."""
        found: dict[str, list[Value]] = {}
        for path, given in self.attributes.items():
            several = list(given.values()) if isinstance(given, Range) else given
            values: list[Any] = several if isinstance(several, list) else [several]
            values = list(dict.fromkeys(values))
            numbers = all(isinstance(one, (int, float)) for one in values)
            found[path] = sorted(values) if numbers else values
        return found

    def variants(self) -> tuple[list[Variant], Ints]:
        """Return all designs as variants, and where each stands along the attributes: shape (designs, attributes)."""
        columns = self.columns
        rows = [tuple(zip(columns, row, strict=True)) for row in itertools.product(*columns.values())]
        return rows, np.indices([len(one) for one in columns.values()]).reshape(len(columns), -1).T


def read_space(given: str | Path | Mapping[str, Any] | object, make: Callable[[SpaceFile], Made]) -> tuple[str, Made]:
    """Return the name of a space, of a file or of plain data, and what ``make`` makes of its content.

    Paths in it start from its folder. Raises `InputError` with all faults of the file, and those of ``make``.
    """
    if isinstance(given, Mapping):
        return "space", made_of(SpaceFile, dict(given), "space", make)
    if not isinstance(given, (str, Path)):
        raise InputError(Fault("is no space", "space", value=given, allowed="a path, or the keys of a space file"))
    path = Path(given)
    return path.stem, made_of(
        SpaceFile, read_plain(path, "a design space"), path, lambda space: make(_beside(space, path))
    )


def _beside(space: SpaceFile, path: Path) -> SpaceFile:
    """Return a space whose paths start where those of this process do."""
    given = {name: getattr(space, name) for name in ("architecture", "constraints", "network")}
    beside = {name: path.parent / text for name, text in given.items() if text is not None}
    return space.model_copy(update={name: str(file) for name, file in beside.items() if is_file(file)})
