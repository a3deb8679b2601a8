"""What the theory of convolutions shows: volumes beside bounds (001 Figures 2 and 3), exponents, executions."""

from jouleloop.theory.exhibits import Exhibit

EXHIBITS = (
    Exhibit("conv/memory.csv", "convolution.tables.memory_table", digits=12),
    Exhibit("conv/memory.svg", "convolution.figures.draw_memory", ("conv/memory.csv",)),
    Exhibit("conv/processors.csv", "convolution.tables.processor_table", digits=12),
    Exhibit("conv/processors.svg", "convolution.figures.draw_processors", ("conv/processors.csv",)),
    Exhibit("conv/crossings.csv", "convolution.tables.crossing_table", digits=12),
    Exhibit("conv/exponents.csv", "convolution.tables.exponent_table", digits=12),
    Exhibit("conv/executed.csv", "convolution.tables.executed_table", digits=12),
)
