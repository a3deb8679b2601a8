"""Exact least words of small convolutions beside 001's bound, blockings and the sliding dataflow."""

import heapq
from itertools import chain
from pathlib import Path

import pandas as pd
import pytest

from jouleloop.errors import InputError
from jouleloop.tables.network_bound import least_dram_words
from jouleloop.theory.convolution.layer import OUTPUT
from jouleloop.theory.convolution.least_words import least_words, update_table
from jouleloop.theory.convolution.tables import least_row, small_layers
from jouleloop.theory.convolution.volumes import best_sliding
from jouleloop.theory.layers import ConvLayer
from witnesses.sliding_window import execute_sliding

STORED = Path(__file__).parents[4] / "docs" / "data" / "conv_least_words.csv"


def plain_dijkstra(layer: ConvLayer, memory: int, *, zero: bool) -> int:
    """Straight from the rules, with no estimate, any element dropped at any time: stores are paid when they happen."""
    updates = [tuple(int(value) for value in row) for row in update_table(layer)[0]]
    first_output = update_table(layer)[1] + update_table(layer)[2]
    elements = set(chain.from_iterable(updates))
    start = (frozenset(), frozenset(), frozenset())  # updates done, contents, outputs with a partial sum in slow memory
    best = {start: 0}
    heap = [(0, 0, start)]
    number = 0
    while heap:
        cost, _, state = heapq.heappop(heap)
        if cost > best[state]:
            continue
        done, held, stored = state
        if len(done) == len(updates) and not any(element >= first_output for element in held):
            return cost
        moves = [(cost + (v >= first_output), (done, held - {v}, stored | ({v} if v >= first_output else set())))
                 for v in held]  # fmt: skip
        if len(held) < memory:
            for v in elements - held:
                price = 1 if v < first_output or v in stored or not zero else 0
                contents = held | {v}
                now = done | {u for u, row in enumerate(updates) if set(row) <= contents}
                moves.append((cost + price, (now, contents, stored)))
        for total, following in moves:
            if total < best.get(following, 10**6):
                best[following] = total
                number += 1
                heapq.heappush(heap, (total, number, following))
    raise AssertionError("no schedule")


@pytest.mark.parametrize("zero", [True, False])
@pytest.mark.parametrize(
    ("layer", "memory"),
    [(ConvLayer(1, 1, 1, 2, 1, 2, 1), 3), (ConvLayer(1, 1, 1, 3, 1, 1, 1), 3), (ConvLayer(1, 1, 2, 2, 1, 1, 1), 3),
     (ConvLayer(1, 2, 1, 2, 1, 1, 1), 4), (ConvLayer(1, 1, 1, 2, 1, 2, 1), 4)],
)  # fmt: skip
def test_plain_dijkstra_agrees(layer, memory, zero):
    assert least_words(layer, memory, outputs_start_at_zero=zero).words == plain_dijkstra(layer, memory, zero=zero)


def test_a_window_of_two_on_four_outputs_needs_only_the_compulsory_words():
    row = least_row(ConvLayer(1, 1, 1, 4, 1, 2, 1), 4)
    assert row["least_words"] == row["compulsory_words"] == row["best_sliding_words"] == 11
    assert row["best_blocking_words"] == 20
    assert row["least_words_outputs_loaded"] == 15


def test_sliding_runs_in_exactly_its_memory_and_moves_its_closed_form():
    runs = 0
    for layer in small_layers():
        for memory in range(3, 9):
            pieces = best_sliding(layer, memory)
            if pieces:
                done = execute_sliding(layer, pieces)
                runs += 1
                assert done.words_moved == pieces.words
                assert done.peak_words <= pieces.memory_words <= memory
                assert set(done.slow[OUTPUT].values()) == {layer.in_channels * layer.filter_width}
                assert len(done.slow[OUTPUT]) == layer.output_elements
    assert runs > 200


def layers_of(table: pd.DataFrame) -> list[ConvLayer]:
    shape = ["in_channels", "out_channels", "out_width", "out_height", "filter_width", "filter_height", "stride"]
    return [ConvLayer(1, *(int(value) for value in row), 1) for row in table[shape].itertuples(index=False)]


def test_stored_table_says_what_the_page_says_and_is_recomputed_in_part():
    table = pd.read_csv(STORED)
    for layer, (_, kept) in list(zip(layers_of(table), table.iterrows(), strict=True))[::40]:
        row = least_row(layer, int(kept["memory_words"]))
        assert {name: value for name, value in row.items() if value is not None} == kept.dropna().to_dict()
    zero, loaded, sliding = (
        table[name] for name in ("least_words", "least_words_outputs_loaded", "best_sliding_words")
    )
    blocking = table["best_blocking_words"]
    assert len(table) == 314
    assert zero.notna().all()
    assert loaded.notna().all()
    assert (zero >= table["theorem_2_1_words"]).all()
    assert (blocking >= zero).all()
    assert (sliding.dropna() >= zero[sliding.notna()]).all()
    assert (table["theorem_2_1_words"] == table["compulsory_words"]).all()
    assert (zero == table["compulsory_words"]).sum() == 240
    assert ((blocking == zero).sum(), (sliding == zero).sum()) == (134, 173)
    windows = table["filter_width"] * table["filter_height"] > 1
    assert (windows.sum(), (blocking == zero)[windows].sum()) == (206, 58)
    assert ((sliding < blocking).sum(), (sliding > blocking).sum()) == (84, 70)
    assert (blocking / zero).max() == 2
    assert (zero / table["theorem_2_1_words"]).max() == pytest.approx(25 / 13)


def test_the_bound_of_a_network_is_below_the_optimum_of_every_small_layer():
    table = pd.read_csv(STORED)
    for layer, memory, least in zip(layers_of(table), table["memory_words"], table["least_words"], strict=True):
        assert least_dram_words(layer, int(memory)) <= least


def test_large_layers_are_refused():
    with pytest.raises(InputError, match="too large"):
        least_words(ConvLayer(1, 8, 8, 4, 4, 3, 3), 4, outputs_start_at_zero=True)
    with pytest.raises(InputError, match="no update"):
        least_words(ConvLayer(1, 1, 1, 2, 1, 1, 1), 2, outputs_start_at_zero=True)
