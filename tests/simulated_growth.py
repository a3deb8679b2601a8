"""Error rates of the verdicts by simulation: data whose true growth is known, tested as if it were measured."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from jouleloop.stats.growth import Outcome, decide
from jouleloop.stats.options import StatisticsOptions
from jouleloop.stats.regression import FloatArray

GRID = np.arange(128.0, 4097.0, 128.0)
"""The sizes of the paper's sweeps: 128 to 4096 in steps of 128."""

FINE_GRID = np.arange(8.0, 4097.0, 8.0)
"""512 sizes: enough points for a verdict under ten percent of noise, or on steps."""

Draw = Callable[[np.random.Generator], tuple[FloatArray, FloatArray]]


@dataclass(frozen=True)
class Scenario:
    """Data with known truth, and which verdicts are right or wrong on it.

    Attributes
    ----------
    name
        What the data are.
    expected
        The growth that is tested.
    draw
        From a random generator to one sample (x, y).
    right
        Verdicts that are correct; 'inconclusive' is among them only where the points really cannot tell.
    wrong
        Verdicts that are errors, each of which may occur at most at the level of the test.
    power
        Least rate at which the verdict must be one of ``right``.
    """

    name: str
    expected: str
    draw: Draw
    right: frozenset[Outcome]
    wrong: frozenset[Outcome]
    power: float


@dataclass(frozen=True)
class ErrorRate:
    """How often each verdict was given for one scenario."""

    scenario: Scenario
    simulations: int
    counts: dict[Outcome, int]

    def rate(self, outcome: Outcome) -> float:
        """Share of the simulations with this verdict."""
        return self.counts.get(outcome, 0) / self.simulations

    @property
    def right_rate(self) -> float:
        """Share of the simulations with a correct verdict."""
        return sum(self.rate(outcome) for outcome in self.scenario.right)

    @property
    def worst_error(self) -> float:
        """Largest share of any one wrong verdict."""
        return max((self.rate(outcome) for outcome in self.scenario.wrong), default=0.0)


def line_with_share(x: FloatArray, share: float, power: int = 2) -> FloatArray:
    """Return ``c + b x**(power - 1) + a x**power``, one at the largest size, its last term there being ``share``."""
    w = x / x.max()
    return np.asarray(0.05 + (0.95 - share) * w ** (power - 1) + share * w**power, dtype=np.float64)


def mn_grid() -> FloatArray:
    """Return mn of the 32 × 32 layers of the paper's sweep of weights, 1,024 points."""
    return np.asarray(np.outer(GRID, GRID).ravel(), dtype=np.float64)


def unseen_misfit(x: FloatArray, shape: str, amplitude: float) -> FloatArray:
    """Return a line plus a misfit that no quadratic term can see: its part along 1, x and x² is taken out.

    Parameters
    ----------
    shape
        ``S`` (a cubic), ``sine`` (two periods), ``two kinks``, or ``kink 75`` for one at 75 % of the range.
    amplitude
        Largest absolute misfit as a share of the line at the largest size.
    """
    w = x / x.max()
    if shape == "S":
        misfit = w**3
    elif shape == "sine":
        misfit = np.sin(4 * np.pi * w)
    elif shape == "two kinks":
        misfit = np.maximum(w - 1 / 3, 0) - 2 * np.maximum(w - 2 / 3, 0)
    else:
        misfit = np.maximum(w - float(shape.removeprefix("kink ")) / 100, 0)
    design = np.vander(w, 3)
    misfit = misfit - design @ np.linalg.lstsq(design, misfit, rcond=None)[0]
    return np.asarray(line_with_share(x, 0.0) + amplitude * misfit / np.abs(misfit).max(), dtype=np.float64)


def autoregressive(generator: np.random.Generator, n: int, correlation: float) -> FloatArray:
    """Return ``n`` values of a stationary normal process of variance 1, neighbours of this correlation."""
    values = generator.standard_normal(n)
    for i in range(1, n):
        values[i] = correlation * values[i - 1] + np.sqrt(1 - correlation**2) * values[i]
    return values


def log_wave(generator: np.random.Generator, x: FloatArray) -> FloatArray:
    """Return a sine in log x whose period is a factor of 1.5 to 8, drawn log-uniformly, at a random phase."""
    period, phase = generator.uniform(np.log(np.log(1.5)), np.log(np.log(8))), generator.uniform(0, 2 * np.pi)
    return np.asarray(np.sin(2 * np.pi * np.log(x) / np.exp(period) + phase), dtype=np.float64)


MISFITS = ("S", "sine", "two kinks", "kink 50", "kink 75", "kink 90")


def scenarios(margin: float = 0.01) -> tuple[Scenario, ...]:
    """Return the scenarios; those at the margin are the hardest cases, where each error may reach the level."""
    confirmed, refuted, inconclusive, exact, _ = Outcome
    good = frozenset({confirmed})

    def case(
        name: str,
        expected: str,
        draw: Draw,
        right: frozenset[Outcome],
        wrong: frozenset[Outcome],
        power: float = 0.0,
    ) -> Scenario:
        return Scenario(name, expected, draw, right, wrong, power)

    def noisy(x: FloatArray, truth: FloatArray, relative: float) -> Draw:
        """Multiply the truth by one plus normal noise of the given relative size."""
        return lambda generator: (x, truth * (1 + relative * generator.standard_normal(x.size)))

    def level_noise(x: FloatArray, truth: FloatArray, relative: float) -> Draw:
        """Add normal noise whose size is a share of the largest value at every point."""
        return lambda generator: (x, truth + relative * truth.max() * generator.standard_normal(x.size))

    def stepped(generator: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Round a line up to multiples of a random step, as padding to a tile does."""
        step = generator.integers(32, 400)
        steps = np.ceil((FINE_GRID + generator.uniform(0, step)) / step)
        return FINE_GRID, np.asarray(steps * step * generator.uniform(1, 9), dtype=np.float64)

    def one_outlier(generator: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        y = line_with_share(GRID, 0.0) * (1 + 0.0005 * generator.standard_normal(GRID.size))
        y[generator.integers(GRID.size)] *= 1.5
        return GRID, y

    def noisy_zero(generator: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        return GRID, generator.standard_normal(GRID.size)

    def persistent(x: FloatArray, truth: FloatArray, correlation: float) -> Draw:
        """Multiply the truth by one plus 1 % of autoregressive noise along the sizes."""
        return lambda generator: (x, truth * (1 + 0.01 * autoregressive(generator, x.size, correlation)))

    def log_periodic(x: FloatArray, truth: FloatArray) -> Draw:
        """Multiply the truth by one plus a wave of 1 % in the logarithm of the size, of random period and phase."""
        return lambda generator: (x, truth * (1 + 0.01 * log_wave(generator, x)))

    def jumping(x: FloatArray, truth: FloatArray, noise: float) -> Draw:
        """Multiply the truth by 1.02 from a random size on."""

        def draw(generator: np.random.Generator) -> tuple[FloatArray, FloatArray]:
            jump = 1 + 0.02 * (x > generator.uniform(x[0], x[-1]))
            return x, truth * jump * (1 + noise * generator.standard_normal(x.size))

        return draw

    def by_row_and_column(generator: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Draw scatter that goes with n and with m, as divisibility does, along the sizes of either."""
        rows, columns = (autoregressive(generator, GRID.size, 0.9) for _ in range(2))
        return mn_grid(), line_with_share(mn_grid(), 0.0) * (1 + 0.01 * np.add.outer(rows, columns).ravel())

    def exactly(power: int, scale: float) -> Draw:
        def draw(generator: np.random.Generator) -> tuple[FloatArray, FloatArray]:
            coefficients = generator.uniform(0.1, 1, power + 1) * scale
            return GRID, np.asarray(np.polynomial.polynomial.polyval(GRID, coefficients), dtype=np.float64)

        return draw

    grid = mn_grid()
    few = np.array([3.0, 5.0, 7.0, 9.0, 11.0])
    repeated = np.repeat(np.arange(1.0, 17.0) * 256, 8)
    flat, line, parabola = np.ones_like(GRID), line_with_share(GRID, 0.0), line_with_share(GRID, 0.9)
    edge_line, cubic_edge = line_with_share(GRID, margin), line_with_share(FINE_GRID, margin, 3)
    not_refuted = frozenset({confirmed, inconclusive})
    either, edge, bent = frozenset({confirmed, refuted}), frozenset({inconclusive}), frozenset({refuted})
    only_exact, not_exact = frozenset({exact}), frozenset({confirmed, refuted, inconclusive})
    x_log_x = GRID * np.log(GRID)
    return (
        case("line, noise 0.1 %", "linear", noisy(GRID, line, 0.001), good, bent | only_exact, 0.9),
        case("line, noise 10 %, 32 sizes", "linear", noisy(GRID, line, 0.1), not_refuted, bent, 0.9),
        case("line around 1e12, noise 0.1 %", "linear", noisy(GRID, 1e12 * line, 0.001), good, bent, 0.9),
        case("quadratic share at the margin", "linear", noisy(GRID, edge_line, 0.002), edge, either),
        case("quadratic share at the margin, even noise", "linear",
             level_noise(GRID, line_with_share(GRID, -margin), 0.001), edge, either),
        case("quadratic share at the margin, 5 sizes", "linear",
             noisy(few, line_with_share(few, margin), 0.002), edge, either),
        case("quadratic share at the margin, sizes repeat", "linear",
             noisy(repeated, line_with_share(repeated, margin), 0.005), edge, either),
        case("parabola, noise 1 %", "linear", noisy(GRID, parabola, 0.01), bent, good, 0.9),
        case("parabola, noise 0.01 %", "quadratic", noisy(GRID, parabola, 0.0001), good, bent, 0.9),
        case("cubic share at the margin", "quadratic", noisy(FINE_GRID, cubic_edge, 0.002), edge, either),
        case("line, noise 0.01 %", "quadratic", noisy(GRID, line, 0.0001), bent, good, 0.9),
        case("x log x, noise 0.1 %", "linear", noisy(GRID, x_log_x, 0.001), bent, good, 0.9),
        case("x log x, noise 0.1 %", "nlogn", noisy(GRID, x_log_x, 0.001), good, bent, 0.9),
        case("line, noise 0.1 %", "nlogn", noisy(GRID, GRID, 0.001), bent, good, 0.9),
        case("no growth, noise 0.1 %", "linear", noisy(GRID, flat, 0.001), bent, good, 0.9),
        case("no growth, noise 0.1 %", "constant", noisy(GRID, flat, 0.001), good, bent, 0.9),
        case("steps of random width, 512 sizes", "linear", stepped, not_refuted, bent, 0.9),
        case("line, one point 50 % too high", "linear", one_outlier, not_refuted, bent, 0.9),
        case("exact line", "linear", exactly(1, 1.0), only_exact, not_exact, 1),
        case("exact line around 1e12", "linear", exactly(1, 1e12 / 4096), only_exact,
             not_exact, 1),
        case("exact parabola", "quadratic", exactly(2, 1.0), only_exact,
             not_exact, 1),
        case("exact parabola", "linear", exactly(2, 1.0), bent, good | only_exact, 1),
        case("3 points on a line", "linear", noisy(few[:3], few[:3], 0.001), edge, either | only_exact, 1),
        case("5 sizes, noise 2 %", "quadratic", noisy(few, few**2, 0.02), not_refuted, bent, 0.9),
        case("exact x log x", "linear", noisy(GRID, x_log_x, 0.0), bent, good | only_exact, 1),
        case("1/x, noise 1 %", "linear", noisy(GRID, 1 / GRID, 0.01), bent, good, 0.9),
        case("1/x, noise 1 %", "constant", noisy(GRID, 1 / GRID, 0.01), bent, good, 0.9),
        case("noise around zero", "linear", noisy_zero, edge | bent, good | only_exact, 0.9),
        case("line to zero and below", "linear", level_noise(GRID, line[-1] - line, 0.05), bent, good, 0.9),
        case("line, noise 0.1 %, grid of mn", "linear", noisy(grid, line_with_share(grid, 0.0), 0.001),
             good, bent, 0.9),
        case("line, S of 0.05 %, noise 0.05 %", "linear", noisy(GRID, unseen_misfit(GRID, "S", 0.0005), 0.0005),
             good, bent, 0.9),
        *(case(f"line, AR(1) scatter of 1 %, ρ = {rho}, {x.size} sizes", "linear",
               persistent(x, line_with_share(x, 0.0), rho), not_refuted, bent, 0.9)
          for x in (GRID, FINE_GRID) for rho in (0.5, 0.9, 0.97, 0.99)),
        *(case(f"line, log-periodic scatter of 1 %, {x.size} sizes", "linear",
               log_periodic(x, line_with_share(x, 0.0)), not_refuted, bent, 0.9) for x in (GRID, FINE_GRID)),
        *(case(f"line, a jump of 2 %, noise {noise:.1%}, {x.size} sizes", "linear",
               jumping(x, line_with_share(x, 0.0), noise), not_refuted, bent, 0.9)
          for x in (GRID, FINE_GRID) for noise in (0.0, 0.001)),
        case("line, AR(1) scatter by row and column, grid of mn", "linear", by_row_and_column, not_refuted, bent, 0.9),
        case("parabola, AR(1) scatter of 1 %, ρ = 0.9", "quadratic", persistent(GRID, parabola, 0.9),
             not_refuted, bent, 0.9),
        case("no growth, AR(1) scatter of 1 %, ρ = 0.97", "constant",
             persistent(FINE_GRID, np.ones_like(FINE_GRID), 0.97), not_refuted, bent, 0.9),
        case("no growth, log-periodic scatter of 1 %", "constant",
             log_periodic(FINE_GRID, np.ones_like(FINE_GRID)), not_refuted, bent, 0.9),
        case("quadratic share of 3 %, noise 0.1 %", "linear", noisy(GRID, line_with_share(GRID, 0.03), 0.001),
             bent, good, 0.9),
        case("quadratic share of 10 %, AR(1) scatter of 1 %, ρ = 0.9", "linear",
             persistent(GRID, line_with_share(GRID, 0.1), 0.9), edge | bent, good, 0.9),
        case("parabola, AR(1) scatter of 1 %, ρ = 0.9", "linear", persistent(GRID, parabola, 0.9), bent, good, 0.9),
        case("x^1.1, noise 0.1 %", "linear", noisy(GRID, GRID**1.1, 0.001), bent, good, 0.9),
        *(case(f"line, {shape} of 2 %, {where}", "linear", noisy(x, unseen_misfit(x, shape, 0.02), noise),
               edge | bent, good | only_exact, 0.9)
          for shape in MISFITS
          for where, x, noise in (("32 sizes, noise 0.1 %", GRID, 0.001), ("grid of mn, no noise", grid, 0.0))),
    )  # fmt: skip


def error_rates(
    simulations: int = 500, seed: int = 20240101, options: StatisticsOptions | None = None
) -> tuple[ErrorRate, ...]:
    """Return how often each verdict is given in every scenario; each scenario has its own stream of ``seed``."""
    options = options or StatisticsOptions()
    results = []
    for number, scenario in enumerate(scenarios(options.margin)):
        generator = np.random.default_rng([seed, number])
        counts: Counter[Outcome] = Counter()
        for _ in range(simulations):
            x, y = scenario.draw(generator)
            counts[decide(x, y, scenario.expected, options).outcome] += 1
        results.append(ErrorRate(scenario, simulations, dict(counts)))
    return tuple(results)
