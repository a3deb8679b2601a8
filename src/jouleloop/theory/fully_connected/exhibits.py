"""What the theory of fully-connected layers shows: exact optima beside bounds, and dataflows as in 002 Figures 2, 3."""

from jouleloop.theory.exhibits import Exhibit

EXHIBITS = (
    Exhibit("fc/exact_optima.csv", "fully_connected.optima.optima_table"),
    Exhibit("fc/verdict.json", "fully_connected.optima.verdict_of", ("fc/exact_optima.csv",)),
    Exhibit("fc/exact_against_lower_bounds.svg", "fully_connected.figures.draw_gap", ("fc/exact_optima.csv",)),
    Exhibit("fc/bounds.csv", "fully_connected.tables.bounds_table"),
    Exhibit("fc/algorithm_1.svg", "fully_connected.figures.draw_algorithm_1"),
    Exhibit("fc/algorithm_2.svg", "fully_connected.figures.draw_algorithm_2"),
    Exhibit("fc/cheaper_by_search.svg", "fully_connected.figures.draw_cheaper_by_search"),
)
