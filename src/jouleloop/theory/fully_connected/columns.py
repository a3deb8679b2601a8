"""The columns of the tables of this paper: type, unit and meaning."""

from jouleloop.layouts import Column, Layout

COLUMNS = Layout(
    "theory/fc/<table>",
    "One layer and buffer with a bound.",
    (
        Column("inputs", "whole", "", "Inputs n."),
        Column("outputs", "whole", "", "Outputs m."),
        Column("buffer_words", "whole", "words", "Words β of the buffer."),
        Column("word_bits", "whole", "bits", "Width of a word."),
        Column("name", "text", "", "Bound."),
        Column("source", "text", "", "Equation."),
        Column("value", "number", "unit of the row", "Its value."),
        Column("unit", "text", "", "Unit of the value."),
        Column("assumptions_hold", "truth", "", "Whether its assumptions hold."),
        Column("assumptions_failed", "text", "", "Those that do not."),
        Column("note", "text", "", "Remark."),
    ),
)
