"""What a sweep file and a network file may hold: one definition a key, with unit, default and meaning."""

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Discriminator, Field, StrictInt, Tag, model_validator
from pydantic_core import PydanticCustomError

from jouleloop.workload.kinds import OWN, kind_names
from jouleloop.workload.strict import Strict, key
from jouleloop.workload.transformer import Transformer

NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"
Name = Annotated[str, Field(pattern=NAME_PATTERN)]


def _kind(name: str) -> str:
    if name not in (*kind_names(), OWN):
        raise PydanticCustomError("literal_error", "unknown kind", {"expected": ", ".join((*kind_names(), OWN))})
    return name


KindName = Annotated[str, AfterValidator(_kind)]
_KINDS: dict[str, Any] = {"unit": "choice", "enum": [*kind_names(), OWN]}


class Range(Strict):
    """Evenly spaced sizes, both ends included."""

    start: StrictInt = key("First value.", "as the size")
    stop: StrictInt = key("Last value; included where the steps meet it.", "as the size")
    step: StrictInt = key("Distance of neighbours.", "as the size", 1)
    factor: StrictInt | None = key(
        "Ratio of neighbours, instead of a step: 2 doubles from one to the next.", "number", None
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
    return "<list>" if isinstance(value, (list, tuple)) else "<value>"


Values = Annotated[
    Annotated[StrictInt, Tag("<value>")]
    | Annotated[Range, Tag("<range>")]
    | Annotated[list[StrictInt], Field(min_length=1), Tag("<list>")],
    Discriminator(_form_of),
]
Sizes = dict[str, Values]


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
    Discriminator(_form_of),
]


Combine = Literal["product", "zip", "union"]
_RANGES = key("Sizes that vary: a range with start, stop (included) and step, a list, or one value.", "elements", {})
_COMBINE = key(
    "How several ranges are combined: every combination (product), element by element (zip), or each range by itself "
    "with the others at their fixed value (union).",
    "choice",
    "product",
)


class Part(Strict):
    """One block of points: ranges combined, around fixed sizes."""

    fixed: dict[str, StrictInt] = key(
        "Sizes that all points of this block share; they override the sweep's own.", "elements", {}
    )
    ranges: Sizes = _RANGES
    combine: Combine = _COMBINE


class RandomLayers(Strict):
    """Layers drawn at random, the same ones for the same seed on every machine."""

    count: StrictInt = key("How many layers.", "layers", ge=1, le=1_000_000)
    seed: StrictInt = key("Seed of the generator.", "number", ge=0, le=2**63)
    ranges: Sizes = key(
        "Sizes drawn uniformly and independently from a range or list; impossible layers are drawn anew.",
        "elements",
        min_length=1,
    )


#: Columns of a table of layers that are no sizes: published energies, which the table of energies keeps.
PUBLISHED_COLUMNS = ("published_pj", "published_compute_pj", "published_data_pj")


class LayerTable(Strict):
    """Layers in a text file, one a line; a line with an empty field is left out."""

    file: str = key("Text file without a heading, fields separated by `;`; path from this file.", "path", min_length=1)
    columns: list[str] = key(
        "What the fields hold, in order: sizes of the kind, or published energies [pJ]: "
        f"`{'`, `'.join(PUBLISHED_COLUMNS)}`, which the table of energies keeps.",
        "names",
        min_length=1,
    )


class SweepFile(Strict):
    """A layer sweep: which layers, which variable is tested, how the energy is expected to grow."""

    name: Name | None = key(
        "Name in tables, file names and the configuration; the file's name where it is left out.", "text", None
    )
    description: str = key("What the sweep is for.", "text", "")
    kind: KindName = Field(
        description="Kind of the layers; `problem` for a shape of one's own.", json_schema_extra=_KINDS
    )
    shape: str = key("File with the problem shape of the kind `problem`; path from this file.", "path", "")
    fixed: dict[str, StrictInt] = key("Sizes that all points share.", "elements", {})
    ranges: Sizes = _RANGES
    combine: Combine = _COMBINE
    parts: list[Part] = key(
        "More blocks of points; the sweep is the union of all its blocks, every layer once.", "blocks", []
    )
    layers: list[str | dict[str, Any]] = key(
        "Explicit layers: text such as fc:1024x128, or sizes with an optional name.", "layers", []
    )
    random: RandomLayers | None = key("Layers drawn at random.", "layers", None)
    table: LayerTable | None = key("Layers in a text file.", "layers", None)
    rounding: Literal["exact", "floor", "ceil"] = key(
        "Where the stride does not divide the stated input size: an error (exact), or the last, incomplete step is "
        "left out (floor), as deep-learning frameworks do, or counted (ceil).",
        "choice",
        "exact",
    )
    architecture: dict[str, Attributes] = key(
        "Attributes of the architecture that the sweep sets or varies, by path: NODE.ATTRIBUTE such as "
        "shared_glb.depth or PE.meshY, *.ATTRIBUTE for all nodes that state it, variables.NAME. A range (start, "
        "stop and step or factor), a list, or one value; null takes the attribute away. Such a sweep is not tested "
        "for growth; its results get a column an attribute.",
        "as the attribute",
        {},
    )
    architecture_combine: Literal["product", "zip"] = key(
        "How attributes with several values are combined: every combination, or element by element.",
        "choice",
        "product",
    )
    most_points: StrictInt = key(
        "Points, layers times variants of the architecture, above which the sweep is refused: a range without its "
        "step has more than anybody meant.",
        "points",
        MOST_POINTS,
        ge=1,
        le=MAX_POINTS,
    )
    architectures: list[Name] = key(
        "Architectures that the sweep runs on, by name; all that are configured where none is named.", "names", []
    )
    variable: str = key(
        "What is tested: arithmetic over the columns of the layer table, such as C, C*M or 1/w_stride. Required, "
        "except in a sweep of an architecture, where it is the attribute or size that the figure shows.",
        "expression",
        "",
        max_length=200,
    )
    symbol: str = key("The variable in words, for figures.", "text", "", max_length=60)
    expected: str = key(
        "Growth that theory expects of the energy in the variable: linear, quadratic, linear_in_square, …; "
        "required, except in a sweep of an architecture.",
        "growth",
        "",
        max_length=60,
    )
    response_growth: dict[str, str] = key(
        "Growth that theory expects of further responses, by name: `dram_words`, `DRAM_pj`, `GlobalBuffer_pj`, …; "
        "a response that is not named is not tested.",
        "growth",
        {},
    )
    published: dict[str, str] = key(
        "By architecture: table of published energies (parameter;total;compute;data); path from this file.", "path", {}
    )
    published_set: dict[str, Literal["full", "arch-only"]] = key(
        "By architecture: set of constraints that the published runs searched under; full where left out.", "choice", {}
    )
    published_parameter: str = key("Column that holds the first column of the published tables.", "column", "")


#: The kind of a sweep that varies no layer but the capacity of a level.
CAPACITY = "capacity"
Words = Annotated[StrictInt, Field(ge=0, le=2**62)]


class CapacitySweep(Strict):
    """Curves: the optimum of layers, or of a network, against the capacity of one level, every step proven."""

    name: Name | None = key(
        "Name in tables, file names and the configuration; the file's name where it is left out.", "text", None
    )
    description: str = key("What the sweep is for.", "text", "")
    kind: Literal["capacity"] = key("`capacity`: not the layers vary but the capacity of a level.", "choice")
    layers: list[str] = key("Layers of any kind, as text such as fc:1024x128.", "layers", [])
    network: str = key(
        "Instead of layers: a network in networks/ beside this file by name, or the path of a file from this one. The "
        "curves of its layers are added up, too.",
        "text",
        "",
    )
    objective: Literal["energy", "delay", "edp", "dram-words"] = key(
        "What is minimised; dram-words: words that main memory reads and writes. Products of energy and delay (edp) "
        "add up over no network.",
        "choice",
        "energy",
    )
    levels: dict[str, str] = key(
        "By architecture: level whose capacity varies; the outermost of limited capacity where left out.", "name", {}
    )
    least_words: Words = key("Least capacity.", "words that a tile may fill", 0)
    most_words: Words | None = key("Largest capacity; all that help without it.", "words that a tile may fill", None)
    architectures: list[Name] = key(
        "Architectures that the sweep runs on, by name; all that are configured where none is named.", "names", []
    )

    @model_validator(mode="after")
    def _one_subject(self) -> Self:
        if bool(self.layers) == bool(self.network):
            raise ValueError("a sweep of a capacity has layers or a network, one of both")
        if self.network and self.objective == "edp":
            raise ValueError("products of energy and delay add up over no network: energy, delay or dram-words")
        if self.most_words is not None and self.most_words < self.least_words:
            raise ValueError(f"most_words {self.most_words} is below least_words {self.least_words}")
        return self


class NetworkLayer(Strict):
    """One distinct layer of a network."""

    name: str = key("Name of the layer.", "text", min_length=1, max_length=60)
    layer: str = key("The layer as text such as fc:1024x128, instead of kind, shape and sizes.", "layer", "")
    kind: KindName = Field(
        "", description="Kind of the layer; `problem` for a shape of one's own.", json_schema_extra=_KINDS
    )
    shape: str = key("File with the problem shape of the kind `problem`; path from this file.", "path", "")
    count: StrictInt = key("How often the network runs it.", "layers", 1, ge=1)
    sizes: dict[str, StrictInt] = key("Its sizes, as in a sweep; a problem file has its own.", "elements", {})
    after: str = key(
        "Name of the layer whose outputs are its inputs: as many elements, or the file is refused.", "text", ""
    )


class NetworkChain(Strict):
    """Layers of a network that run one after the other."""

    layers: list[str] = key("Names of the layers, in the order in which they run.", "names", min_length=2)
    count: StrictInt = key("How often the network runs them so.", "runs", 1, ge=1)


class NetworkFile(Strict):
    """A network: its distinct layers with their multiplicity."""

    name: Name | None = key("Name in tables and figures; the file's name where it is left out.", "text", None)
    description: str = key("Source of the sizes.", "text", "")
    rounding: Literal["exact", "floor"] = key(
        "What happens where the stride does not divide the stated input, as in a sweep.", "choice", "floor"
    )
    transformer: Transformer | None = key(
        "A transformer whose matrix products are layers, before those that are listed.", "transformer", None
    )
    layers: list[NetworkLayer] = key("The distinct layers.", "layers", [])
    chains: list[NetworkChain] | None = key(
        "Layers of which each alone reads what the one before it writes; `null`: found by order, `count` and sizes.",
        "chains",
        None,
    )


class TransformerSweep(Strict):
    """Sweeps of a transformer: one for each of its matrix products, over the values of one of its sizes."""

    name: Name | None = key("Beginning of the sweeps' names; the file's name where it is left out.", "text", None)
    description: str = key("What the sweeps are for.", "text", "")
    transformer: dict[str, Any] = key(
        "The description of a network's transformer, one of its sizes as a range or list.", "transformer"
    )
    expected: dict[str, str] = key(
        "Growth that theory expects, by matrix product; others get no sweep.", "growth", min_length=1
    )
    symbol: str = key("What varies, in words.", "text", "", max_length=60)
    architectures: list[Name] = key("Architectures that the sweeps run on; all where left out.", "names", [])
