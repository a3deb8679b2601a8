"""The columns of the tables of this paper: type, unit and meaning."""

from jouleloop.layouts import Column, Layout

COLUMNS = Layout(
    "theory/manticore/<table>",
    "One quantity: printed, by a formula, or executed.",
    (
        Column("name", "text", "", "Quantity as the paper has it."),
        Column("source", "text", "", "Where the paper has it."),
        Column("unit", "text", "", "Unit."),
        Column("printed", "number", "unit of the row", "Printed value."),
        Column("by_formula", "number", "unit of the row", "Value by the printed formula."),
        Column("relative_deviation_of_formula", "number", "", "Its deviation from the printed one."),
        Column("actual", "number", "unit of the row", "Actual value."),
        Column("relative_deviation_of_actual", "number", "", "Its deviation from the printed one."),
        Column("rounds_to_printed", "truth", "", "Whether it rounds to the printed one."),
        Column("note", "text", "", "Remark."),
        Column("algorithm", "whole", "", "Algorithm."),
        Column("layer", "text", "", "Layer."),
        Column("stack", "whole", "layers", "Output layers computed together."),
        Column("quantity", "text", "", "Quantity."),
        Column("executed", "whole", "unit of the row", "Counted in the execution."),
        Column("closed_form", "whole", "unit of the row", "By the closed form."),
        Column("equal", "truth", "", "Whether both are equal."),
        Column("result_is_right", "truth", "", "Whether the execution computed the layer."),
    ),
)
