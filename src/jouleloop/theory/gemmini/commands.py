"""``jouleloop bounds gemmini``: the best convolution tiles on Gemmini beside the vendor's (paper 001, Section 5)."""

from typing import Annotated

import typer
from rich.table import Table

from jouleloop.errors import raise_all, unknown
from jouleloop.terminal.console import print_table, stdout
from jouleloop.terminal.splice import AsJson
from jouleloop.theory.commands import BOUNDS
from jouleloop.theory.gemmini.compare import (
    PAPER_RATIO,
    PAPER_VENDOR_UTILIZATION,
    Comparison,
    compare,
    comparison_bounds,
)
from jouleloop.theory.gemmini.optimum import Objective
from jouleloop.theory.gemmini.tile import GemminiConfig, layer_from_text, resnet50
from jouleloop.theory.layers import ConvLayer
from jouleloop.theory.printing import print_bounds

_KIB = 1024


@BOUNDS.command("gemmini")
def print_gemmini_bounds(
    layers: Annotated[
        list[str] | None,
        typer.Argument(help="ResNet-50 layers conv1 … conv5; all five where none is named."),
    ] = None,
    conv: Annotated[
        str | None,
        typer.Option(help="Another layer, in words: N=1,C=64,M=64,P=56,Q=56,R=3,S=3,stride=1."),
    ] = None,
    batch: Annotated[int, typer.Option(help="Batch size of the ResNet-50 layers, in images.")] = 1000,
    objective: Annotated[
        Objective,
        typer.Option(help="What the best tile minimises: the paper's estimate, in rows, or the traffic, in words."),
    ] = Objective.ESTIMATE,
    whole_image: Annotated[
        bool,
        typer.Option("--whole-image", help="Do not tile the output image (the paper's constraint for conv5)."),
    ] = False,
    scratchpad: Annotated[int, typer.Option(help="Scratchpad size in KiB.")] = 256,
    accumulator: Annotated[int, typer.Option(help="Accumulator size in KiB.")] = 64,
    array_side: Annotated[int, typer.Option(help="Processing elements along a side; words in a buffer row.")] = 16,
    single_buffered: Annotated[
        bool,
        typer.Option("--single-buffered", help="Give a tile both halves of each buffer."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Find the tile that moves least on Gemmini, proven optimal, and compare it with the vendor's."""
    config = GemminiConfig(array_side, scratchpad * _KIB, accumulator * _KIB, double_buffered=not single_buffered)
    chosen = _choose(layers or [], conv, batch)
    comparisons = [compare(layer, config, objective=objective, whole_image=whole_image) for layer in chosen]
    title = f"Gemmini: {config.scratchpad_rows} scratchpad rows, {config.accumulator_rows} accumulator rows a tile"
    if as_json:
        records = [record for comparison in comparisons for record in comparison_bounds(comparison)]
        print_bounds(records, as_json=True, title=title)
        return
    print_table(_table(comparisons, title))
    low, high = PAPER_RATIO
    said = ", ".join(f"{name} {float(share):.0%}" for name, share in PAPER_VENDOR_UTILIZATION.items())
    stdout.print(f"Paper 001: estimate ratios {float(low):.0%} to {float(high):.0%}; vendor scratchpad {said}.")


def _choose(names: list[str], conv: str | None, batch: int) -> list[ConvLayer]:
    known = {layer.name: layer for layer in resnet50(batch)}
    raise_all([unknown(name, known, "layer") for name in names if name not in known])
    chosen = [known[name] for name in names]
    if conv is not None:
        chosen.append(layer_from_text(conv))
    return chosen or list(known.values())


def _table(comparisons: list[Comparison], title: str) -> Table:
    table = Table(title=title, title_justify="left", caption="tile: batch × rows × cols × M × R × S × C")
    for heading in ("layer", "who", "tile", "estimate (Mrows)", "ratio", "traffic (Mwords)", "ratio", "spad", "acc"):
        table.add_column(heading, justify="left" if heading in {"layer", "who", "tile"} else "right", overflow="fold")
    for comparison in comparisons:
        for who, facts in (("vendor", comparison.vendor), ("best", comparison.best)):
            best = who == "best"
            table.add_row(
                "" if best else comparison.layer.name,
                who,
                str(facts.tile).replace(" ", ""),
                f"{float(facts.estimated_rows) / 1e6:,.4g}",
                f"{float(comparison.estimate_ratio):.3f}" if best else "",
                f"{facts.traffic_words / 1e6:,.4g}",
                f"{float(comparison.traffic_ratio):.3f}" if best else "",
                f"{float(facts.scratchpad_utilization):.1%}",
                f"{float(facts.accumulator_utilization):.1%}",
            )
    return table
