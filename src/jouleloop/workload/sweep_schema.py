"""What a sweep file and a network file may hold: one definition a key, with unit, default and meaning."""

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Discriminator, Field, StrictInt, Tag, model_validator
from pydantic_core import PydanticCustomError

from jouleloop.workload.kinds import OWN, kind_names
from jouleloop.workload.strict import Strict
from jouleloop.workload.transformer import Transformer

NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"
Name = Annotated[str, Field(pattern=NAME_PATTERN)]


def unit(text: str) -> dict[str, Any]:
    """Return the JSON-schema entry that names the unit of a key."""
    return {"unit": text}


def _kind(name: str) -> str:
    if name not in (*kind_names(), OWN):
        raise PydanticCustomError("literal_error", "unknown kind", {"expected": ", ".join((*kind_names(), OWN))})
    return name


KindName = Annotated[str, AfterValidator(_kind)]
_KINDS: dict[str, Any] = {"unit": "choice", "enum": [*kind_names(), OWN]}


class Range(Strict):
    """Evenly spaced sizes, both ends included."""

    start: StrictInt = Field(description="First value.", json_schema_extra=unit("as the size"))
    stop: StrictInt = Field(
        description="Last value; included where the steps meet it.", json_schema_extra=unit("as the size")
    )
    step: StrictInt = Field(default=1, description="Distance of neighbours.", json_schema_extra=unit("as the size"))
    factor: StrictInt | None = Field(
        default=None,
        description="Ratio of neighbours, instead of a step: 2 doubles from one to the next.",
        json_schema_extra=unit("number"),
    )

    @model_validator(mode="after")
    def _not_empty(self) -> Self:
        if max(abs(self.start), abs(self.stop)) >= 2**53:
            raise ValueError("the ends of a range must be below 2^53")
        if self.step < 1:
            raise ValueError(f"step must be a positive integer, not {self.step}")
        if self.stop < self.start:
            raise ValueError(f"empty range: stop {self.stop} is below start {self.start}")
        if self.factor is not None and (self.factor < 2 or self.start < 1):
            raise ValueError(f"a factor must be at least 2 and start from at least 1, not {self.factor}, {self.start}")
        if self.factor is not None and "step" in self.model_fields_set:
            raise ValueError("a range has a step or a factor, not both")
        return self

    def values(self) -> range | list[int]:
        """Return the sizes."""
        if self.factor is None:
            return range(self.start, self.stop + 1, self.step)
        found = [self.start]
        while found[-1] * self.factor <= self.stop:
            found.append(found[-1] * self.factor)
        return found


#: Points of a sweep that are planned without being asked for, and at all.
MOST_POINTS, MAX_POINTS = 100_000, 10_000_000


def _form_of(value: Any) -> str:
    """Return which form a value has, so that only the faults of that form are reported."""
    if isinstance(value, (dict, Range)):
        return "<range>"
    return "<list>" if isinstance(value, (list, tuple)) else "<number>"


Values = Annotated[
    Annotated[StrictInt, Tag("<number>")]
    | Annotated[Range, Tag("<range>")]
    | Annotated[list[StrictInt], Field(min_length=1), Tag("<list>")],
    Discriminator(_form_of),
]
Sizes = dict[str, Values]


def _attribute_form(value: Any) -> str:
    if isinstance(value, (dict, Range)):
        return "<range>"
    return "<list>" if isinstance(value, (list, tuple)) else "<value>"


def _attribute(value: Any) -> Any:
    if value is not None and not isinstance(value, (str, int, float)):
        raise ValueError("must be a number, text, true, false or null")
    return value


_Attribute = Annotated[Any, AfterValidator(_attribute)]
#: Values of one attribute of an architecture: one, a list, or a range.
Attributes = Annotated[
    Annotated[_Attribute, Tag("<value>")]
    | Annotated[Range, Tag("<range>")]
    | Annotated[list[_Attribute], Field(min_length=1), Tag("<list>")],
    Discriminator(_attribute_form),
]


class Part(Strict):
    """One block of points: ranges combined, around fixed sizes."""

    fixed: dict[str, StrictInt] = Field(
        default={},
        description="Sizes that all points of this block share; they override the sweep's own.",
        json_schema_extra=unit("elements"),
    )
    ranges: Sizes = Field(
        default={},
        description="Sizes that vary: a range with start, stop (included) and step, a list, or one value.",
        json_schema_extra=unit("elements"),
    )
    combine: Literal["product", "zip", "union"] = Field(
        default="product",
        description=(
            "How several ranges are combined: every combination (product), element by element (zip), or each range by "
            "itself with the others at their fixed value (union)."
        ),
        json_schema_extra=unit("choice"),
    )


class RandomLayers(Strict):
    """Layers drawn at random, the same ones for the same seed on every machine."""

    count: StrictInt = Field(ge=1, le=1_000_000, description="How many layers.", json_schema_extra=unit("layers"))
    seed: StrictInt = Field(ge=0, le=2**63, description="Seed of the generator.", json_schema_extra=unit("number"))
    ranges: Sizes = Field(
        min_length=1,
        description="Sizes drawn uniformly and independently from a range or list; impossible layers are drawn anew.",
        json_schema_extra=unit("elements"),
    )


class SweepFile(Strict):
    """A layer sweep: which layers, which variable is tested, how the energy is expected to grow."""

    name: Name | None = Field(
        default=None,
        description="Name in tables, file names and the configuration; the file's name where it is left out.",
        json_schema_extra=unit("text"),
    )
    description: str = Field(default="", description="What the sweep is for.", json_schema_extra=unit("text"))
    kind: KindName = Field(
        description="Kind of the layers; `problem` for a shape of one's own.", json_schema_extra=_KINDS
    )
    shape: str = Field(
        default="",
        description="File with the problem shape of the kind `problem`; path from this file.",
        json_schema_extra=unit("path"),
    )
    fixed: dict[str, StrictInt] = Field(
        default={}, description="Sizes that all points share.", json_schema_extra=unit("elements")
    )
    ranges: Sizes = Field(
        default={},
        description="Sizes that vary: a range with start, stop (included) and step, a list, or one value.",
        json_schema_extra=unit("elements"),
    )
    combine: Literal["product", "zip", "union"] = Field(
        default="product",
        description=(
            "How several ranges are combined: every combination (product), element by element (zip), or each range by "
            "itself with the others at their fixed value (union)."
        ),
        json_schema_extra=unit("choice"),
    )
    parts: list[Part] = Field(
        default=[],
        description="More blocks of points; the sweep is the union of all its blocks, every layer once.",
        json_schema_extra=unit("blocks"),
    )
    layers: list[str | dict[str, Any]] = Field(
        default=[],
        description="Explicit layers: text such as fc:1024x128, or sizes with an optional name.",
        json_schema_extra=unit("layers"),
    )
    random: RandomLayers | None = Field(
        default=None, description="Layers drawn at random.", json_schema_extra=unit("layers")
    )
    rounding: Literal["exact", "floor"] = Field(
        default="exact",
        description=(
            "Where the stride does not divide the stated input size: an error (exact), or the last, incomplete "
            "step is left out (floor), as deep-learning frameworks do."
        ),
        json_schema_extra=unit("choice"),
    )
    architecture: dict[str, Attributes] = Field(
        default={},
        description=(
            "Attributes of the architecture that the sweep sets or varies, by path: NODE.ATTRIBUTE such as "
            "shared_glb.depth or PE.meshY, *.ATTRIBUTE for all nodes that state it, variables.NAME. A range (start, "
            "stop and step or factor), a list, or one value; null takes the attribute away. Such a sweep is not tested "
            "for growth; its results get a column an attribute."
        ),
        json_schema_extra=unit("as the attribute"),
    )
    architecture_combine: Literal["product", "zip"] = Field(
        default="product",
        description="How attributes with several values are combined: every combination, or element by element.",
        json_schema_extra=unit("choice"),
    )
    most_points: StrictInt = Field(
        default=MOST_POINTS,
        ge=1,
        le=MAX_POINTS,
        description="Points, layers times variants of the architecture, above which the sweep is refused: a range "
        "without its step has more than anybody meant.",
        json_schema_extra=unit("points"),
    )
    architectures: list[Name] = Field(
        default=[],
        description="Architectures that the sweep runs on, by name; all that are configured where none is named.",
        json_schema_extra=unit("names"),
    )
    variable: str = Field(
        default="",
        description=(
            "What is tested: arithmetic over the columns of the layer table, such as C, C*M or 1/w_stride. Required, "
            "except in a sweep of an architecture, where it is the attribute or size that the figure shows."
        ),
        max_length=200,
        json_schema_extra=unit("expression"),
    )
    symbol: str = Field(
        default="", max_length=60, description="The variable in words, for figures.", json_schema_extra=unit("text")
    )
    expected: str = Field(
        default="",
        description=(
            "Growth that theory expects of the energy in the variable: linear, quadratic, linear_in_square, …; "
            "required, except in a sweep of an architecture."
        ),
        max_length=60,
        json_schema_extra=unit("growth"),
    )
    response_growth: dict[str, str] = Field(
        default={},
        description=(
            "Growth that theory expects of further responses, by name: `dram_words`, `DRAM_pj`, `GlobalBuffer_pj`, …; "
            "a response that is not named is not tested."
        ),
        json_schema_extra=unit("growth"),
    )
    published: dict[str, str] = Field(
        default={},
        description="By architecture: table of published energies (parameter;total;compute;data); path from this file.",
        json_schema_extra=unit("path"),
    )
    published_set: dict[str, Literal["full", "arch-only"]] = Field(
        default={},
        description="By architecture: set of constraints that the published runs searched under; full where left out.",
        json_schema_extra=unit("choice"),
    )
    published_parameter: str = Field(
        default="",
        description="Column that holds the first column of the published tables.",
        json_schema_extra=unit("column"),
    )


class NetworkLayer(Strict):
    """One distinct layer of a network."""

    name: str = Field(min_length=1, max_length=60, description="Name of the layer.", json_schema_extra=unit("text"))
    kind: KindName = Field(
        description="Kind of the layer; `problem` for a shape of one's own.", json_schema_extra=_KINDS
    )
    shape: str = Field(
        default="",
        description="File with the problem shape of the kind `problem`; path from this file.",
        json_schema_extra=unit("path"),
    )
    count: StrictInt = Field(
        default=1, ge=1, description="How often the network runs it.", json_schema_extra=unit("layers")
    )
    sizes: dict[str, StrictInt] = Field(
        min_length=1, description="Its sizes, as in a sweep.", json_schema_extra=unit("elements")
    )
    after: str = Field(
        default="",
        description="Name of the layer whose outputs are its inputs: as many elements, or the file is refused.",
        json_schema_extra=unit("text"),
    )


class NetworkFile(Strict):
    """A network: its distinct layers with their multiplicity."""

    name: Name | None = Field(
        default=None,
        description="Name in tables and figures; the file's name where it is left out.",
        json_schema_extra=unit("text"),
    )
    description: str = Field(default="", description="Source of the sizes.", json_schema_extra=unit("text"))
    rounding: Literal["exact", "floor"] = Field(
        default="floor",
        description="What happens where the stride does not divide the stated input, as in a sweep.",
        json_schema_extra=unit("choice"),
    )
    transformer: Transformer | None = Field(
        default=None,
        description="A transformer whose matrix products are layers, before those that are listed.",
        json_schema_extra=unit("transformer"),
    )
    layers: list[NetworkLayer] = Field(default=[], description="The distinct layers.", json_schema_extra=unit("layers"))


class TransformerSweep(Strict):
    """Sweeps of a transformer: one for each of its matrix products, over the values of one of its sizes."""

    name: Name | None = Field(
        default=None,
        description="Beginning of the sweeps' names; the file's name where it is left out.",
        json_schema_extra=unit("text"),
    )
    description: str = Field(default="", description="What the sweeps are for.", json_schema_extra=unit("text"))
    transformer: dict[str, Any] = Field(
        description="The description of a network's transformer, one of its sizes as a range or list.",
        json_schema_extra=unit("transformer"),
    )
    expected: dict[str, str] = Field(
        min_length=1,
        description="Growth that theory expects, by matrix product; others get no sweep.",
        json_schema_extra=unit("growth"),
    )
    symbol: str = Field(default="", max_length=60, description="What varies, in words.", json_schema_extra=unit("text"))
    architectures: list[Name] = Field(
        default=[],
        description="Architectures that the sweeps run on; all where left out.",
        json_schema_extra=unit("names"),
    )
