"""``jouleloop bounds gemmini``: the best convolution tiles on Gemmini beside the vendor's (paper 001, Section 5)."""

from typing import Any

from rich.table import Table

from jouleloop.errors import raise_all, unknown
from jouleloop.terminal.console import print_table, stdout
from jouleloop.terminal.splice import AsJson
from jouleloop.theory.commands import BOUNDS, command, parse_values
from jouleloop.theory.gemmini.compare import PAPER_RATIO, PAPER_UTILIZATION, Comparison, compare, comparison_bounds
from jouleloop.theory.gemmini.optimum import Objective
from jouleloop.theory.gemmini.tile import GemminiConfig, checked, resnet50
from jouleloop.theory.layers import ConvLayer
from jouleloop.theory.printing import print_bounds

_KIB = 1024
_DIMENSIONS = {
    "N": "batch",
    "C": "in_channels",
    "M": "out_channels",
    "P": "out_height",
    "Q": "out_width",
    "R": "filter_height",
    "S": "filter_width",
    "stride": "stride_height",
}


def read_chip(
    scratchpad: int = 256, accumulator: int = 64, array_side: int = 16, single_buffered: bool = False
) -> GemminiConfig:
    """Return a chip with buffers of these sizes in KiB."""
    return GemminiConfig(array_side, scratchpad * _KIB, accumulator * _KIB, double_buffered=not single_buffered)


@command(BOUNDS, "gemmini", config=read_chip)
def print_gemmini_bounds(
    layers: list[str] | None = None,
    conv: str | None = None,
    batch: int = 1000,
    objective: Objective = Objective.ESTIMATE,
    whole_image: bool = False,
    *,
    config: GemminiConfig,
    as_json: AsJson = False,
) -> None:
    """Find the tile that moves least on Gemmini, proven optimal, and compare it with the vendor's."""
    chosen = _choose(layers or [], conv, batch)
    comparisons = [compare(layer, config, objective=objective, whole_image=whole_image) for layer in chosen]
    title = f"Gemmini: {config.scratchpad_rows} scratchpad rows, {config.accumulator_rows} accumulator rows a tile"
    if as_json:
        records = [record for comparison in comparisons for record in comparison_bounds(comparison)]
        print_bounds(records, as_json=True, title=title)
        return
    print_table(_table(comparisons, title))
    low, high = PAPER_RATIO
    said = ", ".join(f"{name} {float(share):.0%}" for name, share in PAPER_UTILIZATION.items())
    stdout.print(f"Paper 001: estimate ratios {float(low):.0%} to {float(high):.0%}; vendor scratchpad {said}.")


def _choose(names: list[str], conv: str | None, batch: int) -> list[ConvLayer]:
    known = {layer.name: layer for layer in resnet50(batch)}
    raise_all([unknown(name, known, "layer") for name in names if name not in known])
    chosen = [known[name] for name in names]
    if conv is not None:
        sizes = parse_values([conv], "--conv")
        raise_all([unknown(name, _DIMENSIONS, "dimension") for name in sizes if name not in _DIMENSIONS])
        given: dict[str, Any] = dict.fromkeys(_DIMENSIONS.values(), 1)
        given |= {_DIMENSIONS[name]: size for name, size in sizes.items()}
        chosen.append(checked(ConvLayer(**given, stride_width=given["stride_height"], name="layer")))
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
