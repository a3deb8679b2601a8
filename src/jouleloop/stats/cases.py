"""What is tested: a sweep as the statistics know it, and one response of it with the points that can be used."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd

from jouleloop.stats.expected import Growth
from jouleloop.stats.quadratic import PUBLISHED_P
from jouleloop.stats.regression import FloatArray
from jouleloop.stats.table import Response
from jouleloop.units import PJ

#: What the expected growth of a sweep is said of.
ENERGY = ("data_pj", "total_pj")


@dataclass(frozen=True)
class SweepDescription:
    """What the statistics need to know of a sweep."""

    name: str
    """As in the table."""
    variable: str
    """Column or expression over columns, such as ``C``, ``n``, ``mn`` or ``C*M``."""
    growth: str
    """Expected growth, see `jouleloop.stats.expected.GROWTHS`."""
    symbol: str = ""
    """The variable in words; the expression itself where empty."""
    response_growth: Mapping[str, str] = field(default_factory=dict)
    """Expected growth of further responses than the energy, by response name; the others are not tested."""
    published_p: Mapping[str, float] = field(default_factory=dict)
    """Published p-value of the data energy's quadratic term, by architecture; paper 002's own sweeps have theirs."""

    def claims(self, response: str) -> bool:
        """Whether theory states how ``response`` grows: the energy as a whole, and what the sweep says."""
        return response in ENERGY or response in self.response_growth

    @property
    def label(self) -> str:
        """The variable as shown."""
        return self.symbol or self.variable


@dataclass(frozen=True)
class FitCase:
    """One response of one group, with the points that can be used."""

    key: dict[str, str]
    sweep: SweepDescription
    response: Response
    growth: Growth
    rows: pd.DataFrame
    sizes: FloatArray
    values: FloatArray

    @property
    def published_p(self) -> float:
        """The published p-value of this response's quadratic term; NaN where none was published."""
        architecture = self.key["architecture"].lower()
        if self.response.name != "data_pj" or self.response.unit != PJ:
            return math.nan
        return self.sweep.published_p.get(architecture, PUBLISHED_P.get((architecture, self.sweep.name), math.nan))
