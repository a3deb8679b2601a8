"""Mapspace constraints of one architecture, as Timeloop's architecture and mapspace constraint files state them."""

from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

from jouleloop.mapping.reuse import ALL_REUSE, Reuse

#: Mapspaces by name: the orders of loops that Timeloop's mapper tries, or all that the constraints allow.
SpaceName = Literal["timeloop", "legal"]
#: Whether a dimension is unrolled along one axis of a fan-out, or may be along both.
AxesName = Literal["apart", "free"]
#: What is part of the identity of loops though nothing is stated of it; all else is if it is stated.
_ALWAYS = ("factors", "max_factors", "min_factors", "permutation", "outer_permutation", "split")


@dataclass(frozen=True)
class LoopConstraint:
    """What one target fixes of its loops."""

    factors: dict[str, int] = field(default_factory=dict, hash=False)
    """Exact factor by dimension; 0 means the whole dimension."""
    max_factors: dict[str, int] = field(default_factory=dict, hash=False)
    min_factors: dict[str, int] = field(default_factory=dict, hash=False)
    """Upper and lower limits by dimension (``<=`` and ``>=``)."""
    permutation: tuple[str, ...] = ()
    """Dimensions innermost first; those not named follow outside in any order, those after ``*`` are outermost."""
    outer_permutation: tuple[str, ...] = ()
    """Dimensions pinned outermost, innermost first (Timeloop: what follows ``_``)."""
    split: int | None = None
    """Spatial only: the first ``split`` positions of the full permutation go to X, the others to Y."""
    maximize: tuple[tuple[str, ...], ...] = ()
    capacity: int | None = None
    """Groups of dimensions whose factors the sizes of a layer decide, and what they are to fill, the fan-out if None.
    See `jouleloop.mapspace.maximize`."""
    stated: tuple[tuple[str, str], ...] = ()
    """Factors and a split by expressions over the sizes of a layer; see `jouleloop.mapspace.stated`."""
    by_default: tuple[str, ...] = ()
    """Dimensions whose limits are those of all dimensions, not their own."""
    lowered: bool = False
    """Whether Timeloop's front end writes them anew, as it does with those in an architecture of v0.4."""


@dataclass(frozen=True)
class LevelConstraints:
    """All constraints on one storage level."""

    temporal: LoopConstraint = field(default_factory=LoopConstraint)
    spatial: LoopConstraint = field(default_factory=LoopConstraint)
    keep: frozenset[str] = frozenset()
    bypass: frozenset[str] = frozenset()
    """Data spaces that must, or must not, be stored here; those in neither are free."""
    reuse: Reuse = ALL_REUSE
    """Data spaces that the level does not reuse as others: every mapping counts so."""


_UNCONSTRAINED = LevelConstraints()


@dataclass(frozen=True)
class Constraints:
    """Constraints by storage level name; levels not named are unconstrained."""

    name: str
    levels: dict[str, LevelConstraints] = field(default_factory=dict, hash=False)
    factors: Literal["perfect", "imperfect"] = "perfect"
    """Whether loops must divide the layer, or may end early (Timeloop: the mapspace template ``ruby``)."""
    space: SpaceName = "timeloop"
    """Whether Timeloop's mapper decides some orders of loops (``uber.cpp``), or every order that is allowed counts."""
    axes: AxesName = "apart"
    """Whether a dimension may be unrolled along both axes of a fan-out, where no window slides in the layer."""
    min_parallelism: float = 0.0
    """Share of all compute units that a mapping has to use at least."""
    refused: str = ""
    """Why they say nothing of a shape of problem that they are not written for: its layers have no mapping."""

    @property
    def mapspace(self) -> str:
        """What the mapspace is called in sentences."""
        return self.space if self.axes == "apart" else f"{self.space}, axes {self.axes}"

    def level(self, name: str) -> LevelConstraints:
        """Return the constraints on a level, empty where there are none."""
        return self.levels.get(name, _UNCONSTRAINED)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data: the identity of the constraints for caches."""

        def plain(value: Any) -> Any:
            if isinstance(value, dict):
                return {key: plain(value[key]) for key in sorted(value)}
            if isinstance(value, (frozenset, set)):
                return sorted(value)
            if isinstance(value, (tuple, list)):
                return [plain(v) for v in value]
            return value

        # A number of 0 is stated, too.
        default = {one.name: one.default for one in fields(LoopConstraint)}

        def loops(given: LoopConstraint) -> dict[str, Any]:
            return {key: value for key, value in asdict(given).items() if key in _ALWAYS or value != default[key]}

        def level(given: LevelConstraints) -> dict[str, Any]:
            stated = asdict(given) | {"temporal": loops(given.temporal), "spatial": loops(given.spatial)}
            stated["reuse"] = given.reuse.as_dict()
            return {key: value for key, value in stated.items() if key != "reuse" or value}

        found = {"name": self.name, "levels": plain({k: level(v) for k, v in self.levels.items()})}
        found |= {"factors": self.factors} if self.factors != "perfect" else {}
        found |= {"space": self.space} if self.space != "timeloop" else {}
        found |= {"axes": self.axes} if self.axes != "apart" else {}
        found |= {"min_parallelism": self.min_parallelism} if self.min_parallelism else {}
        return found | ({"refused": self.refused} if self.refused else {})
