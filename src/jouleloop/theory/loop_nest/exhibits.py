"""What the theory of loop nests shows: 004's examples, thin matrix products, and how its routes agree."""

from jouleloop.theory.exhibits import Exhibit

EXHIBITS = (
    Exhibit("nest/examples.csv", "loop_nest.tables.examples_table"),
    Exhibit("nest/agreement.csv", "loop_nest.tables.agreement_table"),
    Exhibit("nest/processors.csv", "loop_nest.tables.processors_table", digits=4),
    Exhibit("nest/affine.csv", "loop_nest.tables.affine_table", digits=4),
    Exhibit("nest/thin_matrix_multiplication.csv", "loop_nest.tables.thin_table"),
    Exhibit(
        "nest/thin_matrix_multiplication.svg",
        "loop_nest.figures.draw_thin",
        ("nest/thin_matrix_multiplication.csv",),
    ),
)
