"""Ours beside the vendor's tile on Gemmini, layer by layer, and beside what paper 001 says of its Figure 4."""

from dataclasses import dataclass
from fractions import Fraction

from jouleloop.theory.bound import Assumption, Bound
from jouleloop.theory.gemmini.optimum import Objective, optimal_tile
from jouleloop.theory.gemmini.tile import (
    CHIP,
    ConvTile,
    GemminiConfig,
    TileRows,
    estimated_rows,
    tile_rows,
    traffic_words,
    vendor_tile,
)
from jouleloop.theory.layers import ConvLayer

PAPER_RATIO = (Fraction(45, 100), Fraction(85, 100))
"""001 Section 5: the paper's tiles use between 45 % and 85 % of the vendor's estimated communication, all layers."""

PAPER_UTILIZATION = {"conv4": Fraction(99, 100), "conv5": Fraction(93, 100)}
"""001 Section 5: scratchpad utilization of the vendor's tile."""


@dataclass(frozen=True)
class TileFacts:
    """One tile of one layer."""

    tile: ConvTile
    rows: TileRows
    scratchpad_utilization: Fraction
    accumulator_utilization: Fraction
    """Shares of the rows that a tile may use."""
    estimated_rows: Fraction
    """The paper's estimated communication, in rows."""
    traffic_words: int


@dataclass(frozen=True)
class Comparison:
    """The vendor's tile and the best one for a layer."""

    layer: ConvLayer
    config: GemminiConfig
    objective: Objective
    whole_image: bool
    vendor: TileFacts
    best: TileFacts
    candidates: int

    @property
    def estimate_ratio(self) -> Fraction:
        """Estimated communication of the best tile over the vendor's."""
        return self.best.estimated_rows / self.vendor.estimated_rows

    @property
    def traffic_ratio(self) -> Fraction:
        """Words moved with the best tile over the vendor's."""
        return Fraction(self.best.traffic_words, self.vendor.traffic_words)


def compare(
    layer: ConvLayer,
    config: GemminiConfig = CHIP,
    *,
    objective: Objective = Objective.ESTIMATE,
    whole_image: bool = False,
) -> Comparison:
    """Return the vendor's and the best tile of a layer, as in Figure 4 of 001."""
    best = optimal_tile(layer, config, objective=objective, whole_image=whole_image)
    vendor, ours = (_facts(layer, tile, config) for tile in (vendor_tile(layer, config), best.tile))
    return Comparison(layer, config, objective, whole_image, vendor, ours, best.candidates)


def _facts(layer: ConvLayer, tile: ConvTile, config: GemminiConfig) -> TileFacts:
    rows = tile_rows(layer, tile, config)
    return TileFacts(
        tile,
        rows,
        Fraction(rows.scratchpad, config.scratchpad_rows),
        Fraction(rows.outputs, config.accumulator_rows),
        estimated_rows(layer, tile, config),
        traffic_words(layer, tile),
    )


def comparison_bounds(comparison: Comparison) -> list[Bound]:
    """Return a comparison as records named ``<layer>.<quantity>``."""
    name, config = comparison.layer.name, comparison.config
    chip = (
        Assumption(f"{config.scratchpad_rows} scratchpad and {config.accumulator_rows} accumulator rows a tile", True),
        Assumption("every tile loads its inputs and weights; partial sums stay on the chip (001 Section 5)", True),
    )
    order = "batch × rows × cols × out channels × filter rows × filter cols × in channels"
    proven = f"proven the least of all integer tiles; {comparison.candidates} evaluated, all others dominated"
    records = []
    for who, facts, source, note in (
        ("vendor", comparison.vendor, "gemmini-rocc-tests tiled_conv_auto", ""),
        ("best", comparison.best, "001 Section 5", f"; minimises {comparison.objective}; {proven}"),
    ):
        tile = f"tile {facts.tile} ({order})"
        records += [
            Bound(f"{name}.{who}_estimated_communication", source, facts.estimated_rows, "rows", chip, tile + note),
            Bound(f"{name}.{who}_traffic", source, facts.traffic_words, "words", chip, tile),
            Bound(f"{name}.{who}_scratchpad_utilization", source, facts.scratchpad_utilization, "1", chip, tile),
            Bound(f"{name}.{who}_accumulator_utilization", source, facts.accumulator_utilization, "1", chip, tile),
        ]
    low, high = PAPER_RATIO
    said = f"best over vendor; the paper's tiles: between {float(low):.0%} and {float(high):.0%} on all layers"
    figure, ratio = "001 Section 5, Figure 4", comparison.estimate_ratio
    return [
        *records,
        Bound(f"{name}.estimate_ratio", figure, ratio, "1", chip, said),
        Bound(f"{name}.traffic_ratio", "001 Section 5", comparison.traffic_ratio, "1", chip, "best over vendor"),
    ]
