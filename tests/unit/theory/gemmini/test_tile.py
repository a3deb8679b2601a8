"""Gemmini: the vendor's heuristic, the optimum against brute force over every tile, the traffic against a walk."""

import itertools
import json
import sys
from fractions import Fraction

import pytest

from jouleloop.cli import main
from jouleloop.errors import AssumptionError, InputError
from jouleloop.theory.gemmini.compare import PAPER_RATIO, PAPER_UTILIZATION, compare
from jouleloop.theory.gemmini.optimum import Objective, largest_tiles, optimal_tile
from jouleloop.theory.gemmini.tile import (
    ConvTile,
    GemminiConfig,
    checked,
    downsampled,
    estimated_rows,
    loop_sizes,
    resnet50,
    tile_rows,
    traffic_words,
    vendor_tile,
)
from jouleloop.theory.layers import ConvLayer


def gemmini_layer(name: str, *sizes: int) -> ConvLayer:
    """Return a layer by batch, channels in and out, rows and columns of outputs and of the filter, perhaps a stride."""
    n, c, m, p, q, r, s, stride = (*sizes, 1)[:8]
    return checked(ConvLayer(n, c, m, q, p, s, r, stride, stride, name=name))


TINY = [
    # Arrays of 2 × 2 so that channel groups of 1, 2 and 3 occur; rows in double-buffered halves.
    (gemmini_layer("a", 3, 5, 6, 4, 3, 2, 2, 1), GemminiConfig(2, 2 * 2 * 40, 2 * 2 * 4 * 12)),
    (gemmini_layer("b", 2, 3, 5, 3, 4, 3, 1, 2), GemminiConfig(2, 2 * 2 * 50, 2 * 2 * 4 * 9)),
    (gemmini_layer("c", 5, 7, 4, 2, 2, 3, 3, 1), GemminiConfig(3, 3 * 2 * 30, 3 * 2 * 4 * 7)),
    (gemmini_layer("d", 2, 5, 5, 3, 4, 1, 1, 2), GemminiConfig(2, 2 * 2 * 14, 2 * 2 * 4 * 10)),
    (gemmini_layer("e", 2, 4, 3, 5, 5, 2, 3, 3), GemminiConfig(2, 2 * 90, 2 * 4 * 25, double_buffered=False)),
]


def every_tile(layer: ConvLayer, config: GemminiConfig) -> list[ConvTile]:
    tiles = (ConvTile(*sides) for sides in itertools.product(*(range(1, size + 1) for size in loop_sizes(layer))))
    return [tile for tile in tiles if tile_rows(layer, tile, config).fit(config)]


@pytest.mark.parametrize(("layer", "config"), TINY, ids=lambda value: getattr(value, "name", ""))
def test_no_tile_at_all_beats_the_optimum(layer: ConvLayer, config: GemminiConfig) -> None:
    tiles = every_tile(layer, config)
    assert tiles
    least = min(estimated_rows(layer, tile, config) for tile in tiles)
    assert optimal_tile(layer, config).value == least
    words = min(traffic_words(layer, tile) for tile in tiles)
    assert optimal_tile(layer, config, objective=Objective.TRAFFIC).value == words
    whole = [tile for tile in tiles if (tile.rows, tile.cols) == (layer.out_height, layer.out_width)]
    for objective in Objective:
        if whole:
            expected = min(
                estimated_rows(layer, tile, config)
                if objective is Objective.ESTIMATE
                else Fraction(traffic_words(layer, tile))
                for tile in whole
            )
            assert optimal_tile(layer, config, objective=objective, whole_image=True).value == expected
        else:
            with pytest.raises(AssumptionError, match="whole image"):
                optimal_tile(layer, config, objective=objective, whole_image=True)


@pytest.mark.parametrize(("layer", "config"), TINY, ids=lambda value: getattr(value, "name", ""))
def test_largest_tiles_are_all_of_them(layer: ConvLayer, config: GemminiConfig) -> None:
    """Every tile whose words fit, tried one by one."""
    side = config.array_side
    found: dict[int, set[ConvTile]] = {}
    for sides in itertools.product(*(range(1, size + 1) for size in loop_sizes(layer))):
        tile = ConvTile(*sides)
        window = ((tile.rows - 1) * layer.stride + tile.filter_rows) * (
            (tile.cols - 1) * layer.stride + tile.filter_cols
        )
        words = tile.in_channels * (tile.batch * window + tile.out_channels * tile.filter_rows * tile.filter_cols)
        outputs = tile.batch * tile.rows * tile.cols * tile.out_channels
        if words <= config.scratchpad_rows * side and outputs <= config.accumulator_rows * side:
            found.setdefault(tile.operations, set()).add(tile)
    largest = largest_tiles(layer, config)
    assert {tile.operations for tile in largest} == {max(found)}
    assert set(largest) == found[max(found)]


def test_the_papers_problem_leaves_the_estimate_open() -> None:
    """conv2: many largest tiles; their estimates run from the true optimum to worse than the vendor's."""
    layer, config = resnet50()[1], GemminiConfig()
    found = largest_tiles(layer)
    assert found[0].operations == 8192 * 64 * 9, "8 K outputs, all channels and filter positions"
    vendor = estimated_rows(layer, vendor_tile(layer, config), config)
    fitting = [
        estimated_rows(layer, tile, config) / vendor for tile in found if tile_rows(layer, tile, config).fit(config)
    ]
    assert min(fitting) == compare(layer).estimate_ratio
    assert min(fitting) < PAPER_RATIO[1] < 1 < max(fitting)


def walked_words(layer: ConvLayer, tile: ConvTile) -> int:
    """Walk all tiles in Gemmini's order and add up the words of each, pixel positions as sets."""
    words = 0
    cuts = [
        [range(start, min(start + side, size)) for start in range(0, size, side)]
        for size, side in zip(loop_sizes(layer), tile.sides, strict=True)
    ]
    for batch, rows, cols, outs, filter_rows, filter_cols, ins in itertools.product(*cuts):
        pixel_rows = {row * layer.stride + offset for row in rows for offset in filter_rows}
        pixel_cols = {col * layer.stride + offset for col in cols for offset in filter_cols}
        if not downsampled(layer):
            pixel_rows = set(range(min(pixel_rows), max(pixel_rows) + 1))
            pixel_cols = set(range(min(pixel_cols), max(pixel_cols) + 1))
        words += len(batch) * len(pixel_rows) * len(pixel_cols) * len(ins)
        words += len(outs) * len(filter_rows) * len(filter_cols) * len(ins)
        last = filter_rows[-1] == layer.filter_height - 1 and filter_cols[-1] == layer.filter_width - 1
        if last and ins[-1] == layer.in_channels - 1:
            words += len(batch) * len(rows) * len(cols) * len(outs)
    return words


@pytest.mark.parametrize(("layer", "config"), TINY, ids=lambda value: getattr(value, "name", ""))
def test_traffic_is_what_a_walk_over_all_tiles_counts(layer: ConvLayer, config: GemminiConfig) -> None:
    tiles = every_tile(layer, config)
    for tile in [*tiles[:: max(1, len(tiles) // 40)], vendor_tile(layer, config), optimal_tile(layer, config).tile]:
        assert traffic_words(layer, tile) == walked_words(layer, tile)


def test_rows_by_hand() -> None:
    """conv4 and the vendor's tile 6 × 6 × 14 × 16 × 3 × 3 × 142: ⌈142/16⌉ = 9 groups, windows of 8 × 16 pixels."""
    conv4 = resnet50()[3]
    rows = tile_rows(conv4, ConvTile(6, 6, 14, 16, 3, 3, 142), GemminiConfig())
    assert (rows.inputs, rows.weights, rows.outputs) == (9 * 6 * 8 * 16, 1 * 9 * 142, 6 * 6 * 14)
    assert rows.scratchpad == 8190
    assert (GemminiConfig().scratchpad_rows, GemminiConfig().accumulator_rows) == (8192, 512)


def test_vendor_heuristic_step_by_step() -> None:
    """One image, 4 × 20 outputs, M = 5, 1 × 1 filter, C = 20, array side 4, 64 + 32 rows: followed by hand.

    Rows: ⌈C/4⌉·4·Q inputs + ⌈M/4⌉·C weights, ⌈M/4⌉·4·Q outputs. Shrinking (Q, C): (20, 20), Q first of equals to
    (19, 20), (19, 16), Q down to 16, again (15, 16), (15, 12), … (11, 12), (11, 8), … (7, 8), (7, 4):
    36 rows fit, but 2·4·7 outputs do not. Q = 6, 5, then 5 = M, Q first: (4, 4) with 2·4·4 = 32 outputs and 24 rows.
    Growing: Q cannot; C to 8 with 2·16 + 2·8 = 48 rows, not to 9 with 3·16 + 2·9 = 66.
    """
    layer = gemmini_layer("h", 1, 20, 5, 4, 20, 1, 1)
    config = GemminiConfig(4, 4 * 2 * 64, 4 * 4 * 2 * 32)
    assert vendor_tile(layer, config) == ConvTile(1, 4, 4, 5, 1, 1, 8)


def test_vendor_spares_output_columns_no_longer_than_the_array() -> None:
    """3 × 4 outputs, one channel, array side 4, room for 6 outputs: the 4 columns are spared, the rows give way."""
    layer = gemmini_layer("s", 1, 1, 1, 3, 4, 1, 1)
    assert vendor_tile(layer, GemminiConfig(4, 4 * 2 * 64, 4 * 4 * 2 * 6)) == ConvTile(1, 1, 4, 1, 1, 1, 1)


def test_vendor_utilization_is_the_papers() -> None:
    """001 Section 5: 99 % and 93 % of the scratchpad on conv4 and conv5, in whole per cent, cut off."""
    for layer in resnet50():
        if layer.name in PAPER_UTILIZATION:
            share = compare(layer).vendor.scratchpad_utilization
            assert int(share * 100) == PAPER_UTILIZATION[layer.name] * 100


def test_ratios_lie_within_what_an_optimum_can_be() -> None:
    """The optimum cannot be worse than the paper's tiles, so every ratio is at most 85 %, and conv1 reaches 45 %."""
    ratios = {layer.name: compare(layer).estimate_ratio for layer in resnet50()}
    assert all(ratio <= PAPER_RATIO[1] for ratio in ratios.values())
    assert min(ratios, key=lambda name: ratios[name]) == "conv1"
    assert round(ratios["conv1"], 2) == PAPER_RATIO[0]


def test_the_paper_constraint_on_conv5_costs_nothing_at_the_true_optimum() -> None:
    free, tied = compare(resnet50()[4]), compare(resnet50()[4], whole_image=True)
    assert (free.best.tile.rows, free.best.tile.cols) == (7, 7)
    assert free.best.estimated_rows == tied.best.estimated_rows


def test_input_channels_do_not_change_the_traffic() -> None:
    layer = TINY[0][0]
    assert len({traffic_words(layer, ConvTile(2, 2, 3, 4, 2, 1, channels)) for channels in range(1, 6)}) == 1


def test_mistakes() -> None:
    with pytest.raises(AssumptionError, match="fits the buffers"):
        optimal_tile(resnet50()[0], GemminiConfig(16, 64, 2048))
    with pytest.raises(AssumptionError, match="holds no row"):
        GemminiConfig(16, 16, 65536)
    with pytest.raises(InputError, match="at least 1"):
        gemmini_layer("x", 0, 1, 1, 1, 1, 1, 1)
    with pytest.raises(InputError, match="too large"):
        optimal_tile(resnet50()[0], GemminiConfig(16, 1 << 20, 1 << 24))


def run(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "argv", ["jouleloop", "bounds", "gemmini", *arguments])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert isinstance(stopped.value.code, int)
    return stopped.value.code


def test_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["conv4", "--json"], monkeypatch) == 0
    records = {record["name"]: record for record in json.loads(capsys.readouterr().out)}
    assert records["conv4.vendor_scratchpad_utilization"]["value"] == 8190 / 8192
    assert records["conv4.best_estimated_communication"]["unit"] == "rows"
    assert records["conv4.estimate_ratio"]["value"] < 0.85
    assert run(["--conv", "N=2,C=64,M=32,P=8,Q=8,R=3,S=3", "--objective", "traffic", "--whole-image"], monkeypatch) == 0
    assert "best" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["conv9"], "unknown layer"),
        (["--conv", "N=0"], "at least 1"),
        (["--conv", "N=1,Z=2"], "unknown dimension"),
        (["--conv", "N=1,C=2.5"], "whole number"),
        (["conv1", "--whole-image"], "no tile fits"),
        (["--batch", "0"], "at least 1"),
        (["--scratchpad", "0"], "at least 1"),
    ],
)
def test_command_mistakes(
    arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments, monkeypatch) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""
