"""What the theory of Manticore shows: printed numbers recomputed, executions beside closed forms, schedules."""

from jouleloop.theory.exhibits import Exhibit

EXHIBITS = (
    Exhibit("manticore/printed_numbers.csv", "manticore.tables.printed_table"),
    Exhibit("manticore/executed.csv", "manticore.tables.executed_table"),
    Exhibit("manticore/ccr.svg", "manticore.figures.draw_ccr"),
    Exhibit("manticore/algorithm_3.svg", "manticore.figures.draw_ring"),
    Exhibit("manticore/algorithm_5.svg", "manticore.figures.draw_tree"),
)
