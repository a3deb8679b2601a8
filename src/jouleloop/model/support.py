"""What each search, count and proof follows: one table, from which all refusals and a table of the docs come."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum

from jouleloop.arch.architecture import Architecture
from jouleloop.documents.keywords import KEYWORDS
from jouleloop.energy.costs import EnergyCosts
from jouleloop.errors import Fault, JouleloopError, raise_all
from jouleloop.model.semantics import Rules, versions_with


class Use(Enum):
    """Who may refuse a feature: the heading of its column, and what stands before the feature in a refusal."""

    EVALUATION = "evaluation", "the model does not follow"
    REMAINDERS = "evaluation of remainders", "where loops end early the model does not follow"
    EXACT = "exact counts", "exact counts know no"
    LAWS = "laws", "laws know no"
    PERFECT = "perfect", "no search is proven for"
    IMPERFECT = "imperfect", "no search of imperfect factors is proven for"
    ROUNDED = "rounded", "no search of loops that end early as in Timeloop 4 follows"
    CERTIFICATE = "certificate", "certificates know no"
    IMPERFECT_CERTIFICATE = "certificate of imperfect", "certificates of imperfect factors know no"

    @property
    def title(self) -> str:
        """Heading of the column."""
        return self.value[0]

    @property
    def refuses(self) -> str:
        """What stands before the feature in a refusal."""
        return self.value[1]


@dataclass(frozen=True)
class Feature:
    """What an input may ask for, and by whom it is refused."""

    title: str
    allowed: str | None
    """What an input may have instead."""
    refused: tuple[Use, ...]
    partly: dict[Use, str] = field(default_factory=dict)
    """Uses that refuse it in some case, and which case."""
    searched: bool = False
    """Whether it is asked of searches alone, not of the mapping that one finds."""

    def cell(self, use: Use) -> str:
        """Return what the table says of a use."""
        if self.searched and use in _OF_MAPPINGS:
            return "–"
        return "no" if use in self.refused else f"not {case}" if (case := self.partly.get(use)) else "yes"


_OF_MAPPINGS = (Use.EVALUATION, Use.REMAINDERS, Use.EXACT, Use.LAWS)
_EARLY = (Use.IMPERFECT, Use.IMPERFECT_CERTIFICATE)
_UNCOUNTED = (*_EARLY, Use.ROUNDED, Use.REMAINDERS, Use.EXACT)


def _semantics(rule: str, *, absent: bool = False) -> str:
    return f"semantics {versions_with(rule, absent=absent).replace(', ', ' or ')}"


_WITHOUT_MEANS = _semantics("averages_remainders", absent=True)

#: By name. A refusal names the feature, the field where it stands and what is allowed instead.
FEATURES = {
    "network_energy": Feature("energy of networks", "networks that take none", _UNCOUNTED),
    "older_network_energy": Feature(
        "energy of networks as counted before September 2023",
        f"{_semantics('charges_networks')}, or networks that take none",
        tuple(Use),
    ),
    "free_axes": Feature(
        "dimensions along both axes",
        "axes apart, or perfect factors and networks that take none",
        (Use.ROUNDED, Use.IMPERFECT_CERTIFICATE),
        dict.fromkeys((Use.PERFECT, Use.CERTIFICATE), "where networks take energy or distribute"),
        searched=True,
    ),
    "spreading": Feature("networks of type M:N", "networks of type 1:1", _UNCOUNTED),
    "ingress_groups": Feature(
        "ingresses that cost energy below a fan-out of a level that cannot add, where outputs have windows, "
        "go to the units or through M:N networks",
        "energy-per-ingress 0",
        (Use.PERFECT, Use.CERTIFICATE, *_UNCOUNTED),
    ),
    "timing": Feature(
        "latencies of networks or scaled bandwidths",
        "the objective energy",
        (),
        {Use.CERTIFICATE: "where cycles count"},
    ),
    "reuse": Feature(
        "levels that do not reuse all",
        "levels without keywords of reuse",
        (*_EARLY, Use.CERTIFICATE, Use.EXACT, Use.LAWS),
        {Use.REMAINDERS: f"under {_WITHOUT_MEANS}"},
    ),
    "newer_keywords": Feature(
        "rmw_first_update and no_coalesce",
        _semantics("knows_no_coalesce"),
        (*_EARLY, Use.CERTIFICATE, Use.EXACT, Use.LAWS),
        dict.fromkeys(
            (Use.EVALUATION, Use.REMAINDERS, Use.PERFECT), f"under {_semantics('knows_no_coalesce', absent=True)}"
        ),
    ),
    "passed_by_choice": Feature(
        "words that pass through a level or bypass it",
        "keep or bypass in the constraints",
        (Use.PERFECT, Use.ROUNDED, *_EARLY, Use.CERTIFICATE, Use.EXACT, Use.LAWS),
    ),
    "passed_and_held": Feature(
        "words that pass through a level that has to hold some",
        "min_utilization 0",
        (Use.PERFECT, Use.ROUNDED, *_EARLY, Use.CERTIFICATE, Use.EXACT, Use.LAWS),
    ),
    "refetched_windows": Feature(
        "windows that are not reused below a fan-out with peer-to-peer transfers",
        "no_link_transfer at the level outside",
        (Use.PERFECT, *_EARLY, Use.CERTIFICATE, Use.EXACT, Use.LAWS),
    ),
    **{
        one.field: Feature(
            one.says, f"constraints without {one.name}", tuple(map(Use.__getitem__, one.unsearched)), searched=True
        )
        for one in KEYWORDS
        if one.unsearched
    },
    "ranks_of_three": Feature("ranks that more than two dimensions move", "perfect factors", _EARLY),
    "two_ranks": Feature("dimensions that move two ranks of a data space", "one rank a dimension", tuple(Use)),
    "output_windows": Feature("outputs with windows or gaps", "perfect factors", (*_EARLY, Use.EXACT)),
    "unrolled_rank": Feature("dimensions of one rank that are unrolled together", "one dimension a rank", (Use.EXACT,)),
    "peers": Feature("peer-to-peer transfers", "windows that no instances share", (Use.EXACT,)),
    "two_objectives": Feature(
        "delay as the next metric after energy",
        "one objective",
        (*_EARLY, Use.ROUNDED, Use.CERTIFICATE),
        searched=True,
    ),
    "cycles": Feature("objective but energy", "the objective energy", (Use.IMPERFECT_CERTIFICATE,), searched=True),
    "averaged_remainders": Feature(
        "remainders as Timeloop counts since September 2023",
        _WITHOUT_MEANS,
        (Use.IMPERFECT_CERTIFICATE, Use.EXACT, Use.LAWS),
    ),
    "rounded": Feature(
        "factors that are rounded up", "factors that divide the layer", (Use.CERTIFICATE,), searched=True
    ),
}


@dataclass(frozen=True)
class AskedFeature:
    """A feature where an input asks for it."""

    feature: str
    field: str | None = None
    value: object = None
    source: str | None = None


def refusal(use: Use, found: AskedFeature) -> Fault | None:
    """Return the fault of a feature that a use refuses in all its cases, or in the case that was found."""
    feature = FEATURES[found.feature]
    if use not in feature.refused and use not in feature.partly:
        return None
    return Fault(f"{use.refuses} {feature.title}", found.source, found.field, found.value, feature.allowed)


def check_supported(use: Use, found: Iterable[AskedFeature], kind: type[JouleloopError]) -> None:
    """Raise a ``kind`` of error with every refusal of what was found."""
    raise_all([fault for one in found if (fault := refusal(use, one)) is not None], kind)


def found_in_rules(rules: Rules) -> Iterator[AskedFeature]:
    """Yield what rules of counting ask for."""
    if rules.averages_remainders:
        yield AskedFeature("averaged_remainders", "semantics")


def found_in_networks(arch: Architecture, costs: EnergyCosts) -> Iterator[AskedFeature]:
    """Yield the levels whose networks take energy or distribute multicasts."""
    yield from (AskedFeature("network_energy", name) for name in costs.wired(arch))
    yield from (AskedFeature("spreading", name) for name in arch.spreading)


def support_table() -> str:
    """Return the table of the docs, in Markdown."""
    head = ["feature", *(use.title for use in Use)]
    rows = [[feature.title, *(feature.cell(use) for use in Use)] for feature in FEATURES.values()]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))
