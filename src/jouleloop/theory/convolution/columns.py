"""The columns of the tables of this paper: type, unit and meaning."""

from jouleloop.layouts import Column, Layout

COLUMNS = Layout(
    "theory/conv/<table>",
    "One layer, nest or basis, with what the table puts beside it.",
    (
        Column("layer", "text", "", "Layer."),
        Column("active_term", "text", "", "Term of the bound that is the largest."),
        Column("from_memory_words", "number", "words", "Least fast memory at which the term is the largest."),
        Column("to_memory_words", "number", "words", "Greatest fast memory at which it is; empty without end."),
        Column("precisions", "text", "words", "Words of an element: input, filter, output."),
        Column("memory_words", "whole", "words", "Words of fast memory."),
        Column("peak_words", "whole", "words", "Most words in fast memory at one time."),
        Column("executed_words", "whole", "words", "Words that the execution moved."),
        Column("closed_form_words", "whole", "words", "Words by the closed form."),
        Column("lower_bound_words", "number", "words", "Lower bound."),
        Column("ratio_to_bound", "number", "", "Words over the lower bound."),
        Column("block", "text", "", "Block that was executed."),
        Column("nest", "text", "", "Loop nest."),
        Column("H", "text", "", "Subgroup."),
        Column("basis", "text", "", "Its basis."),
        Column("rank", "whole", "", "Its rank."),
        Column("image_ranks", "text", "", "Ranks of its images in the arrays."),
        Column("constraint", "text", "", "Constraint on the exponents that it gives."),
        Column("distinct_constraints", "whole", "", "Constraints of the nest that differ."),
        Column("exponent_sum", "text", "", "Least sum of the exponents, as a fraction."),
        Column("exponents", "text", "", "The exponents."),
        Column("algorithm", "text", "", "Algorithm."),
        Column("volume_words", "whole", "words", "Words that it moves."),
        Column("volume_source", "text", "", "Where the volume is from."),
        Column("processors", "whole", "processors", "Processors."),
        Column("received_words", "number", "words", "Words that the busiest processor receives."),
        Column("grid", "text", "", "Grid of processors."),
    ),
)
