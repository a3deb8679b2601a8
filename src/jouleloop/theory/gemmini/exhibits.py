"""What the theory of Gemmini's tiles shows: the best beside the vendor's (001 Figure 4)."""

from jouleloop.theory.exhibits import Exhibit

EXHIBITS = (
    Exhibit("gemmini/tiles.csv", "gemmini.tables.comparison_table"),
    Exhibit("gemmini/tiles.svg", "gemmini.figures.draw_comparison", ("gemmini/tiles.csv",)),
    Exhibit("gemmini/largest_tiles.csv", "gemmini.tables.largest_table"),
)
