"""What would decide an inconclusive verdict: how many sizes of the same range, or that no number of them would."""

import math

from scipy import special

from jouleloop.stats.growth import GrowthTest, Outcome

#: Chance with which as many sizes confirm a growth that is as expected.
POWER = 0.8


def sizes_needed(test: GrowthTest) -> float:
    """Return how many sizes over the same range, scattering alike, would confirm the growth with chance `POWER`.

    The growth is taken to be as expected: no share of the next power, no bend. Widths of intervals fall with the square
    root of the number of sizes, and two one-sided tests pass at that chance where the margin is as wide as the
    quantiles of both together (Chow, Shao and Wang 2008, chapter 3). The number is rounded up to two digits.

    NaN for other verdicts, where nothing could be bounded, and where no number of sizes helps: what an interval says
    lies outside the margin.
    """
    verdict = test.verdict
    if verdict.outcome is not Outcome.INCONCLUSIVE or verdict.excess is None or verdict.misfit is None:
        return math.nan
    widths = []
    for found in (verdict.excess, verdict.misfit):
        if not math.isfinite(found.high - found.low) or _outside(found.low, found.high, found.margin):
            return math.nan
        widths.append((found.high - found.low) / 2 / found.margin)
    alpha = verdict.excess.alpha
    power = float(special.ndtri((1 + POWER) / 2) / special.ndtri(1 - alpha))
    return _upward(max(test.n + 1.0, test.n * (max(widths) * (1 + power)) ** 2))


def _outside(low: float, high: float, margin: float) -> bool:
    """Return whether an interval lies outside ±``margin`` as a whole."""
    return low >= margin or high <= -margin


def _upward(count: float) -> float:
    """Return the next whole number of two digits and zeros."""
    step = 10.0 ** max(0, math.floor(math.log10(count)) - 1)
    return math.ceil(count / step) * step
