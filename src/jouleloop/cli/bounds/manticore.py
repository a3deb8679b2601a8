"""``jouleloop bounds manticore``: computation, memory and traffic of the five algorithms of paper 003."""

from typing import Annotated

import typer

from jouleloop.cli.bounds import app
from jouleloop.cli.manticore_options import Stack, Words, build_layer
from jouleloop.terminal.splice import spliced
from jouleloop.theory.bound import Bound
from jouleloop.theory.manticore.formulas import manticore_bounds
from jouleloop.theory.manticore.layer import WORD_BYTES, ConvLayer, Layer
from jouleloop.theory.printing import print_bounds


@app.command("manticore")
@spliced(layer=build_layer)
def manticore(
    layer: Layer,
    algorithm: Annotated[
        list[int] | None, typer.Option(help="Algorithm 1-3 (convolution) or 4-5 (fully connected); all by default.")
    ] = None,
    stack: Stack = None,
    precision: Words = "single",
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list of objects.")] = False,
) -> None:
    """Print what paper 003 states about a layer on a Manticore chiplet: MACs, memory, words moved, CCR."""
    convolution = isinstance(layer, ConvLayer)
    rows: list[Bound] = []
    for number in algorithm or ((1, 2, 3) if convolution else (4, 5)):
        # Algorithms 1 and 4 have no stacks; a stack asked for applies to the others where all are listed.
        size = stack if algorithm or number not in (1, 4) else None
        rows += manticore_bounds(layer, number, stack=size, word_bytes=WORD_BYTES[precision])
    print_bounds(rows, as_json=as_json, title="Manticore, paper 003")
