"""The configuration keys of the statistics: one definition each, with unit, default and meaning."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


def _unit(text: str) -> dict[str, Any]:
    return {"unit": text}


class StatisticsOptions(BaseModel):
    """How growth is tested: margins, levels and what a table may hold."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    margin: float = Field(
        default=0.01,
        gt=0,
        lt=1,
        description=(
            "Equivalence margin: the growth is as expected when the share of the next higher power in the fitted value "
            "at the largest size and the mean deviation in every part of the range lie within plus or minus this. The "
            "default of one percent is an order of magnitude below the spread that divisibility alone puts on the "
            "energies, and too small to change a design decision."
        ),
        json_schema_extra=_unit("share of the fitted value at the largest size"),
    )
    alpha: float = Field(
        default=0.05,
        gt=0,
        lt=0.5,
        description="Level of a one-sided test; equivalence intervals have confidence 1 - 2 alpha, others 1 - alpha.",
        json_schema_extra=_unit("probability"),
    )
    exponent_tolerance: float = Field(
        default=0.02,
        gt=0,
        lt=1,
        description="The exponent agrees with theory when its interval lies within plus or minus this of theory's.",
        json_schema_extra=_unit("difference of exponents"),
    )
    exact_tolerance: float = Field(
        default=1e-12,
        gt=0,
        lt=1e-3,
        description=(
            "Residuals below this share of the fitted value are rounding noise: the growth is called exact and no "
            "p-value is computed from them."
        ),
        json_schema_extra=_unit("share of the fitted value"),
    )
    minimum_points: int = Field(
        default=4,
        ge=4,
        description="A sweep with fewer usable points gets no verdict but 'inconclusive', with the reason.",
        json_schema_extra=_unit("points"),
    )
    rainbow_fraction: float = Field(
        default=0.5,
        gt=0,
        lt=1,
        description="Share of the points, central in size, on which the Rainbow test fits its second line.",
        json_schema_extra=_unit("share of the points"),
    )
    reset_power: int = Field(
        default=3,
        ge=2,
        le=5,
        description="Highest power of the fitted value that Ramsey's RESET adds to the regression.",
        json_schema_extra=_unit("power"),
    )
    responses: list[str] = Field(
        default=["data", "total", "levels", "dram_words"],
        min_length=1,
        description=(
            "What is tested: 'data', 'total', 'compute', 'levels' (each level), 'spaces' (each level and data space), "
            "'dram_words' (sum and each data space), or the name of a column."
        ),
        json_schema_extra=_unit("names"),
    )
    allow_mixed: bool = Field(
        default=False,
        description=(
            "Accept a table whose rows come from several engines or, for one architecture, several energy tables. Each "
            "combination is then tested by itself; they are never pooled in one fit."
        ),
        json_schema_extra=_unit("true or false"),
    )
