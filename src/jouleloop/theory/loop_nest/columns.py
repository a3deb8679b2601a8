"""The columns of the tables of this paper: type, unit and meaning."""

from jouleloop.columns import Column, Layout

COLUMNS = Layout(
    "theory/nest/<table>",
    "One nest, or one kind of random nests.",
    (
        Column("nests", "text", "", "Kind of nests."),
        Column("loops", "whole", "loops", "Loops."),
        Column("arrays", "whole", "arrays", "Arrays."),
        Column("instances", "whole", "nests", "Nests compared."),
        Column("closed_form", "whole", "nests", "Nests in which the closed form agrees with the linear program."),
        Column("theorem_2", "whole", "nests", "Nests in which Theorem 2 does."),
        Column("theorem_2_as_displayed", "whole", "nests", "Nests in which its displayed formula does."),
        Column("nests_beyond_display", "whole", "nests", "Nests beyond that formula."),
        Column("example", "text", "", "Example."),
        Column("section", "text", "", "Section of the paper."),
        Column("nest", "text", "", "The nest."),
        Column("k_hbl", "text", "", "Exponent without small loops."),
        Column("tile_exponent", "text", "", "Exponent of the largest tile."),
        Column("communication", "text", "", "Words as a formula."),
        Column("bounds", "text", "", "Bounds of the loops."),
        Column("cache_words", "whole", "words", "Words of the cache."),
        Column("large_bounds_words", "number", "words", "Bound for large loops."),
        Column("theorem_2_words", "number", "words", "Bound of Theorem 2."),
        Column("array_sizes_words", "whole", "words", "Words of all arrays."),
        Column("bound_with_constants_words", "number", "words", "Bound with its constants."),
        Column("executed_words", "whole", "words", "Words that the execution moved."),
        Column("executed_over_bound", "number", "", "Those over the bound with constants."),
        Column("tile", "text", "", "Tile."),
        Column("order", "text", "", "Order of the loops."),
        Column("peak_words", "whole", "words", "Most words in the cache at one time."),
        Column("l3_iterations", "whole", "", "Bound of the third loop."),
    ),
)
