"""What a certificate states, key by key with its type: a damaged file is refused before anything is believed."""

from fractions import Fraction
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, Strict, ValidationError

from jouleloop.errors import Fault, InputError

#: Energies [pJ] but 0, at least and at most: their sums and products neither vanish nor overflow in doubles.
LEAST_PJ, MOST_PJ = 1e-30, 1e30


def _exact(energy_pj: Any) -> Fraction:
    counted = isinstance(energy_pj, (int, float)) and not isinstance(energy_pj, bool)
    if not counted or (energy_pj and not LEAST_PJ <= energy_pj <= MOST_PJ):
        raise ValueError(f"energies other than 0 are from {LEAST_PJ:g} to {MOST_PJ:g} pJ")
    return Fraction(energy_pj)


def _printable(name: str) -> str:
    if name and not name.isprintable():
        raise ValueError("holds characters that cannot be printed")
    return name


Count = Annotated[int, Field(ge=1, le=2**53)]
Size = Annotated[int, Field(ge=0, le=2**53)]
#: What is claimed: a value, or a bound [pJ].
Claimed = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Energy = Annotated[Fraction, BeforeValidator(_exact)]
Rate = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Name = Annotated[str, AfterValidator(_printable)]
Pair = Annotated[tuple[Count, Count], Strict(False)]


def _fault(detail: Any) -> Fault:
    field = ".".join(map(str, detail["loc"]))
    if detail["type"] == "missing":
        return Fault("is missing", field=field)
    return Fault(detail["msg"], field=field, value=detail["input"])


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    @classmethod
    def of(cls, data: Any) -> Self:
        """Return what plain data states; raise `InputError`, with every fault."""
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            raise InputError(
                _fault(detail)
                for detail in error.errors(include_url=False)
                if detail["type"] != "default_factory_not_called"
            ) from error


class DataSpace(_Strict):
    """A data space: by rank, the coefficient of every dimension that moves it."""

    name: Name
    read_write: bool
    ranks: list[dict[str, Count]]


class Problem(_Strict):
    """A layer."""

    name: Name
    dimensions: list[Name]
    bounds: list[Count]
    data_spaces: Annotated[list[DataSpace], Field(min_length=1)]


class Way(_Strict):
    """One network between a level and the next inner node."""

    kind: Literal["mesh", "tree", "table"]
    back: bool
    hop_pj: Energy
    router_pj: Energy
    ingress_pj: Energy
    adder_pj: Energy
    charges: dict[Name, list[Annotated[tuple[Energy, Energy], Strict(False)]]]
    """By data space what a table charges: pairs of a multicast factor, 0 for any, and an energy."""

    def charge(self, space: str, multicast: Fraction | int) -> Fraction:
        """Return what a table charges for a transfer [pJ]: the last entry that fits."""
        fitting = [energy for factor, energy in self.charges.get(space, ()) if factor in (0, multicast)]
        return fitting[-1] if fitting else Fraction(0)


class Level(_Strict):
    """One storage level."""

    name: Name
    capacity_words: Size | None
    least_words: Size
    block_words: Count
    clusters: Count
    fanout: Pair
    read_pj: Energy
    write_pj: Energy
    update_pj: Energy = Field(default_factory=lambda stated: stated["write_pj"])
    leak_pj: Energy = Fraction(0)
    read_bandwidth_words: Rate | None
    write_bandwidth_words: Rate | None
    shared_bandwidth_words: Rate | None
    networks: Annotated[list[Way], Field(max_length=2)] = []
    adds: bool = True
    """Whether it adds up what it receives."""
    spreads: bool = False
    """Whether its instances may send words to each other's inner nodes (M:N)."""


class Architecture(_Strict):
    """The levels, outermost first."""

    name: Name
    compute_pj: Energy
    levels: Annotated[list[Level], Field(min_length=1)]


class Loops(_Strict):
    """What the constraints of a level say of its temporal or of its spatial loops."""

    factors: dict[str, Size]
    max_factors: dict[str, Count]
    min_factors: dict[str, Count]
    permutation: list[str]
    outer_permutation: list[str]
    split: Size | None


class Limits(_Strict):
    """The constraints of a level."""

    temporal: Loops
    spatial: Loops
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
    bound_pj: Claimed | None
    cuts: "list[_Cut] | None"


class _Node(_Strict):
    ends: list[Pair]
    bound_pj: Claimed | None
    nodes: "list[_Node]"


class _Part(_Strict):
    keep: list[list[Literal[0, 1]]]
    unrolling: list[list[Count]]
    idle: list[list[Literal[0, 1]]] | None = None
    lemma: Literal["bound", "cuts", "empty", "nodes"]
    bound_pj: Claimed | None
    cuts: list[_Cut] | None = None
    nodes: list[_Node] | None = None


class Certificate(_Strict):
    """The whole file."""

    certificate: Literal[1] | None = None
    claim: Name | None = None
    factors: Literal["imperfect"] | None = None
    space: Literal["legal"] | None = None
    axes: Literal["free"] | None = None
    objective: str
    value: Claimed
    semantics: str
    first_fills_elided: bool
    problem: Problem
    architecture: Architecture
    constraints: dict[str, Limits]
    mapping: list[_Nest]
    parts: list[_Part]
    digest: str


class _Layer(_Strict):
    name: Name
    problem: Problem
    constraints: dict[str, Limits]


class _Link(_Strict):
    output: Name
    input: Name
    axes: list[Annotated[tuple[Name, Name], Strict(False)]]


class _Loop(_Strict):
    factor: Count
    dimensions: list[Name]


class _Mapped(_Strict):
    """A layer as one mapping for each size of its iterations, and another where these go on from partial sums."""

    mappings: Annotated[list[list[_Nest]], Field(min_length=1)]


class Group(_Strict):
    """Layers that share outer loops; by layer what is held."""

    layers: Count
    loops: list[_Loop]
    held: list[list[Name]]
    parts: "list[_Mapped | Group]"


class _Statement(_Strict):
    layer: Size
    bounds: list[Count]
    whole: list[Name]
    resumes: bool
    capacity_words: Size
    value: Claimed
    parts: list[_Part]


class ChainCertificate(_Strict):
    """The whole file of a chain."""

    chain_certificate: Literal[1] | None = None
    claim: Name | None = None
    chain: Name
    value: Claimed
    semantics: Literal["timeloop-3.0.3"]
    first_fills_elided: Literal[True]
    architecture: Architecture
    level: Name
    layers: Annotated[list[_Layer], Field(min_length=2)]
    links: list[_Link]
    groups: list[Group]
    prices: list[Claimed]
    statements: list[_Statement]
    digest: str
