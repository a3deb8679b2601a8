"""The configuration keys of the statistics: one definition each, with unit, default and meaning."""

from pydantic import BaseModel, ConfigDict

from jouleloop.workload.strict import key


class StatisticsOptions(BaseModel):
    """How growth is tested: margins, levels and what a table may hold."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    margin: float = key(
        "Equivalence margin: the growth is as expected when the share of the next higher power in the fitted value "
        "at the largest size and the mean deviation in every part of the range lie within plus or minus this. The "
        "default of one percent is an order of magnitude below the spread that divisibility alone puts on the "
        "energies, and too small to change a design decision.",
        "share of the fitted value at the largest size",
        0.01,
        gt=0,
        lt=1,
    )
    alpha: float = key(
        "Level of a one-sided test; equivalence intervals have confidence 1 - 2 alpha, others 1 - alpha.",
        "probability",
        0.05,
        gt=0,
        lt=0.5,
    )
    exponent_tolerance: float = key(
        "The exponent agrees with theory when its interval lies within plus or minus this of theory's.",
        "difference of exponents",
        0.02,
        gt=0,
        lt=1,
    )
    exact_tolerance: float = key(
        "Residuals below this share of the fitted value are rounding noise: the growth is called exact and no "
        "p-value is computed from them.",
        "share of the fitted value",
        1e-12,
        gt=0,
        lt=1e-3,
    )
    minimum_points: int = key(
        "A sweep with fewer usable points gets no verdict but 'inconclusive', with the reason.", "points", 4, ge=4
    )
    rainbow_fraction: float = key(
        "Share of the points, central in size, on which the Rainbow test fits its second line.",
        "share of the points",
        0.5,
        gt=0,
        lt=1,
    )
    reset_power: int = key(
        "Highest power of the fitted value that Ramsey's RESET adds to the regression.", "power", 3, ge=2, le=5
    )
    responses: list[str] = key(
        "What is tested: 'data', 'total', 'compute', 'levels' (each level), 'spaces' (each level and data space), "
        "'dram_words' (sum and each data space), or the name of a column.",
        "names",
        ["data", "total", "levels", "dram_words"],
        min_length=1,
    )
    allow_mixed: bool = key(
        "Accept a table whose rows come from several engines or, for one architecture, several energy tables. Each "
        "combination is then tested by itself; they are never pooled in one fit.",
        "true or false",
        False,
    )
