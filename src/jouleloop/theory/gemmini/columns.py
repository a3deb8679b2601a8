"""The columns of the tables of this paper: type, unit and meaning."""

from jouleloop.layouts import Column, Layout

COLUMNS = Layout(
    "theory/gemmini/<table>",
    "One layer with a tile, or with all largest tiles.",
    (
        Column("layer", "text", "", "Layer."),
        Column("operations", "whole", "", "Operations of the largest tiles."),
        Column("tiles", "whole", "tiles", "Largest tiles."),
        Column("least_estimate_over_vendor", "number", "", "Least estimate over that of the tile of the vendor."),
        Column("most_estimate_over_vendor", "number", "", "Greatest estimate over it."),
        Column("tiles_that_fit_rows", "whole", "tiles", "Those that fit into the rows."),
        Column("least_of_those", "number", "", "Least estimate of those over that of the vendor."),
        Column("most_of_those", "number", "", "Greatest estimate of those over it."),
        Column("objective", "text", "", "What is minimised."),
        Column("whole_image", "truth", "", "Whether the tile spans the image."),
        Column("who", "text", "", "Whose tile it is."),
        Column("tile_n_p_q_m_r_s_c", "text", "", "The tile."),
        Column("scratchpad_rows", "whole", "rows", "Rows of the scratchpad."),
        Column("accumulator_rows", "whole", "rows", "Rows of the accumulator."),
        Column("scratchpad_utilization", "number", "", "Share of the scratchpad."),
        Column("scratchpad_utilization_paper", "number", "", "The same as printed."),
        Column("accumulator_utilization", "number", "", "Share of the accumulator."),
        Column("estimated_rows", "number", "rows", "Estimate of the rows moved."),
        Column("estimate_over_vendor", "number", "", "Estimate over that of the vendor."),
        Column("estimate_over_vendor_paper", "text", "", "The same as printed."),
        Column("traffic_words", "whole", "words", "Words moved."),
        Column("traffic_over_vendor", "number", "", "Words over those of the vendor."),
        Column("tiles_evaluated", "whole", "tiles", "Tiles evaluated; empty for the tile of the vendor."),
    ),
)
