"""Volumes of im2col, Winograd, FFT and processor grids against executions that count what they move."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from jouleloop.errors import AssumptionError, InputError
from jouleloop.theory.convolution.blocking_search import best_blocking
from jouleloop.theory.convolution.bounds import bound_value, parallel_bounds
from jouleloop.theory.convolution.execute_blocking import direct_convolution, execute_blocking, sample_operands
from jouleloop.theory.convolution.layer import RESNET50_PRECISIONS, Precisions
from jouleloop.theory.convolution.parallel import (
    DIMENSIONS,
    PARALLEL_ALGORITHMS,
    best_grid,
    grid_volume,
    parallel_volume,
    parallel_volume_bounds,
)
from jouleloop.theory.convolution.volumes import (
    ALGORITHMS,
    all_volumes,
    fft_lengths,
    fft_passes,
    fft_volume,
    im2col_volume,
    lowered,
    matrix_product_layer,
    unit_stride,
    winograd_volume,
)
from jouleloop.theory.layers import RESNET50_LAYERS, ConvLayer
from witnesses.fft_passes import execute_fft

MIXED = Precisions(Fraction(1), Fraction(1, 2), Fraction(2))


def run_product(left, right, precisions, memory):
    """Execute a matrix product with the best resident tile; return words moved and the product."""
    layer = matrix_product_layer(*left.shape, right.shape[1])
    best = best_blocking(layer, precisions, memory)
    run = execute_blocking(
        layer,
        precisions,
        best.blocking,
        memory,
        kept=best.kept,
        operands=(left[:, :, None, None], right[:, :, None, None]),
    )
    return run.memory.words_moved, run.output[:, :, 0, 0]


@pytest.mark.parametrize("memory", [8, 20, 60, 500])
def test_im2col_is_the_executed_product_of_the_lowered_input(memory):
    layer = ConvLayer(2, 2, 3, 4, 3, 3, 2, 2, 1)
    inputs, filters = sample_operands(layer)
    windows = [
        inputs[n, :, 2 * x : 2 * x + 3, y : y + 2].ravel()
        for n, x, y in itertools.product(range(2), range(4), range(3))
    ]
    left = np.array(windows)
    right = filters.transpose(0, 2, 3, 1).reshape(-1, 3)
    assert (*left.shape, right.shape[1]) == lowered(layer)
    words, product = run_product(left, right, MIXED, memory)
    truth = direct_convolution(layer, inputs, filters)
    np.testing.assert_array_equal(product.reshape(2, 4, 3, 3).transpose(0, 3, 1, 2), truth)
    volume = im2col_volume(layer, MIXED, memory, lowering=True)
    assert volume.parts["matrix product"] == words
    # Lowering reads each touched input once and writes every window.
    touched = {(n, c, 2 * x + i, y + j) for n in range(2) for c in range(2) for x in range(4) for y in range(3)
               for i in range(3) for j in range(2)}  # fmt: skip
    assert volume.parts["lowering"] == len(touched) + left.size


def matrix_product_closed_form(rows: int, inner: int, columns: int, precisions: Precisions, memory: int) -> float:
    """Return 2 (p_A p_B p_C)^½ mnk/√M + p_C mn: [12] of 001, Theorem 1, with the precisions of the three matrices.

    With a × b outputs resident, mnk (p_A/b + p_B/a) is least under p_C ab = M at 2 mnk (p_A p_B p_C / M)^½.
    """
    updates = rows * inner * columns
    return 2 * updates * math.sqrt(precisions.product / memory) + float(precisions.output) * rows * columns


@pytest.mark.parametrize("shape", [(1000, 1000, 1000), (4096, 512, 2048), (3000, 5000, 700)])
@pytest.mark.parametrize("memory", [2**8, 2**12, 2**14])
def test_matrix_product_attains_the_closed_form_of_its_source(shape, memory):
    for precisions in (Precisions(), MIXED, RESNET50_PRECISIONS):
        attained = float(best_blocking(matrix_product_layer(*shape), precisions, memory).words)
        # Above 2mnk/√M + mn by no more than rounding and the room of the streamed row and column.
        assert 0.999 < attained / matrix_product_closed_form(*shape, precisions, memory) < 1.25


@pytest.mark.parametrize("memory", [16, 40, 400])
def test_winograd_parts_equal_an_executed_winograd_convolution(memory):
    layer = ConvLayer(2, 3, 2, 4, 6, 3, 3)
    inputs, filters = sample_operands(layer)
    data = np.array([[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]])
    taps = np.array([[2, 0, 0], [1, 1, 1], [1, -1, 1], [0, 0, 2]])  # twice the usual G: integers
    back = np.array([[1, 1, 1, 0], [0, 1, -1, -1]])
    read = written = 0
    tiles = []
    for n, x, y in itertools.product(range(2), range(0, 4, 2), range(0, 6, 2)):
        patch = inputs[n, :, x : x + 4, y : y + 4]
        tiles.append(np.einsum("ai,cij,bj->abc", data, patch, data))
        read, written = read + patch.size, written + tiles[-1].size
    left = np.stack(tiles, axis=2)
    kernels = np.einsum("ai,ckij,bj->abck", taps, filters, taps)
    volume = winograd_volume(layer, Precisions(), memory, tile=2)
    assert volume.parts["input transform"] == read + written
    assert volume.parts["filter transform"] == filters.size + kernels.size
    words = Fraction(0)
    products = np.zeros((4, 4, len(tiles), 2), dtype=np.int64)
    for a, b in itertools.product(range(4), repeat=2):
        moved, products[a, b] = run_product(left[a, b], kernels[a, b], Precisions(), memory)
        words += moved
    assert volume.parts["matrix products"] == words
    outputs = np.einsum("ma,abtk,nb->tkmn", back, products, back)
    assert volume.parts["output transform"] == products.size + outputs.size
    result = np.zeros((2, 2, 4, 6), dtype=np.int64)
    for t, (n, x, y) in enumerate(itertools.product(range(2), range(0, 4, 2), range(0, 6, 2))):
        result[n, :, x : x + 2, y : y + 2] = outputs[t]
    np.testing.assert_array_equal(result, 4 * direct_convolution(layer, inputs, filters))


@pytest.mark.parametrize("strides", [(1, 1), (2, 2), (3, 2), (2, 1)])
def test_unit_stride_form_computes_the_same_convolution(strides):
    layer = ConvLayer(2, 2, 3, 4, 3, 5, 4, *strides)
    inputs, filters = sample_operands(layer)
    form = unit_stride(layer)
    sw, sh = strides
    wide = np.zeros((2, 2, (form.out_width + form.filter_width) * sw, (form.out_height + form.filter_height) * sh), int)
    wide[:, :, : inputs.shape[2], : inputs.shape[3]] = inputs
    tall = np.zeros((2, 3, form.filter_width * sw, form.filter_height * sh), int)
    tall[:, :, :5, :4] = filters
    new_inputs = np.concatenate([wide[:, :, a::sw, b::sh] for a in range(sw) for b in range(sh)], axis=1)
    new_filters = np.concatenate([tall[:, :, a::sw, b::sh] for a in range(sw) for b in range(sh)], axis=0)
    assert new_filters.shape == (form.in_channels, 3, form.filter_width, form.filter_height)
    crop = new_inputs[:, :, : form.out_width + form.filter_width - 1, : form.out_height + form.filter_height - 1]
    np.testing.assert_array_equal(
        direct_convolution(form, crop, new_filters), direct_convolution(layer, inputs, filters)
    )


@pytest.mark.parametrize("levels", range(1, 9))
@pytest.mark.parametrize("capacity", [3, 4, 5, 8, 9, 17, 40, 257])
def test_fft_passes_equal_the_executed_transform(levels, capacity):
    values = np.random.default_rng(levels).normal(size=2**levels)
    run = execute_fft([complex(v) for v in values], capacity)
    np.testing.assert_allclose(run.result, np.fft.fft(values), atol=1e-9)
    assert run.peak_values <= capacity - 1
    assert run.passes == fft_passes(2**levels, Fraction(2 * capacity), Fraction(1))
    assert run.loaded == run.stored == run.passes * 2**levels


def test_fft_passes_approach_the_leading_term_of_the_lower_bound():
    # 2 n log n / log S: with S − 1 and n powers of two and log S dividing log n, passes = log n / log(S − 1).
    assert fft_passes(2**60, Fraction(2 * (2**10 + 1)), Fraction(1)) == 6


def test_fft_volume_by_hand():
    # Inputs of 6 × 6 pad to 8 × 8: 8 · 5 half-spectrum values, 32 complex points; S = 50 holds 2⁵ points: one pass.
    layer = ConvLayer(3, 2, 5, 4, 4, 3, 3)
    assert fft_lengths(layer) == (8, 8)
    volume = fft_volume(layer, Precisions(), 100)
    for array, planes in (("input", 6), ("filter", 10), ("output", 15)):
        assert volume.parts[f"{array} transform"] == 2 * 2 * 40 * planes
    doubled = Precisions(Fraction(2), Fraction(2), Fraction(2))
    assert volume.parts["matrix products"] == 40 * best_blocking(matrix_product_layer(3, 2, 5), doubled, 100).words


def test_all_volumes_leave_out_what_cannot_run():
    layer = ConvLayer(4, 4, 4, 6, 6, 3, 3)
    assert tuple(v.algorithm for v in all_volumes(layer, Precisions(), 10**4)) == ALGORITHMS
    assert {v.algorithm for v in all_volumes(layer, Precisions(), 5)} == {
        "blocking",
        "im2col",
        "im2col_with_lowering",
        "naive",
    }
    assert all_volumes(layer, Precisions(), 2) == ()
    with pytest.raises(AssumptionError, match="S >= 3"):
        fft_volume(layer, Precisions(), 5)
    with pytest.raises(InputError, match="power of two"):
        execute_fft([1, 2, 3], 8)
    with pytest.raises(InputError, match="too little"):
        execute_fft([1, 2], 2)


def blocks_of(layer, grid):
    """The elements of every processor, as sets, from the loop nest itself."""
    cut = []
    for name, parts in zip(DIMENSIONS, grid, strict=True):
        length = getattr(layer, name)
        side = -(-length // parts)
        cut.append([range(first, min(first + side, length)) for first in range(0, length, side)])
    for ranges in itertools.product(*cut):
        inputs, filters, outputs = set(), set(), set()
        for n, c, k, x, y, i, j in itertools.product(*ranges):
            inputs.add((n, c, layer.stride_width * x + i, layer.stride_height * y + j))
            filters.add((c, k, i, j))
            outputs.add((n, k, x, y))
        yield inputs, filters, outputs


def most_received(sets, processors):
    """Distribute elements evenly so that as many as possible start where they are needed; return the most received."""
    elements = sorted(set().union(*sets))
    share = len(elements) // processors
    assert share * processors == len(elements)
    cost = np.array([[0 if e in sets[slot // share] else 1 for slot in range(len(elements))] for e in elements])
    rows, columns = linear_sum_assignment(cost)
    assert cost[rows, columns].sum() == 0
    return max(len(s) - share for s in sets)


@pytest.mark.parametrize(
    ("layer", "grid"),
    [
        (ConvLayer(4, 4, 4, 1, 1, 1, 1), (2, 1, 2, 1, 1, 1, 1)),
        (ConvLayer(4, 4, 4, 1, 1, 1, 1), (2, 2, 2, 1, 1, 1, 1)),
        (ConvLayer(2, 2, 4, 5, 1, 2, 1), (1, 1, 2, 1, 1, 2, 1)),
        (ConvLayer(2, 2, 4, 4, 3, 2, 2, 2, 1), (2, 1, 2, 1, 1, 1, 2)),
        (ConvLayer(4, 4, 4, 2, 2, 1, 1), (2, 1, 2, 2, 1, 1, 1)),
    ],
)
def test_grid_volume_equals_an_explicit_distribution(layer, grid):
    sets = list(blocks_of(layer, grid))
    processors = math.prod(grid)
    assert len(sets) == processors
    received = most_received([s[0] for s in sets], processors) + most_received([s[1] for s in sets], processors)
    sharing = grid[1] * grid[5] * grid[6]
    # Reduce-scatter of an output block among the processors that share it: (g − 1)/g of the block each.
    outputs = max(len(s[2]) for s in sets)
    assert sum(len(s[2]) for s in sets) == sharing * layer.output_elements
    volume = grid_volume(layer, Precisions(), processors, (*grid, 1))
    assert volume.received_words == received + Fraction(outputs * (sharing - 1), sharing)
    assert volume.held_words == max(sum(map(len, s)) for s in sets)


@pytest.mark.parametrize(
    "layer", [ConvLayer(8, 8, 8, 1, 1, 1, 1), ConvLayer(4, 4, 4, 4, 4, 3, 3), ConvLayer(2, 4, 4, 4, 4, 4, 4, 2, 2)]
)
@pytest.mark.parametrize("precisions", [Precisions(), MIXED, RESNET50_PRECISIONS])
def test_no_grid_goes_below_the_parallel_bound(layer, precisions):
    sizes = [getattr(layer, name) for name in DIMENSIONS]
    grids = list(itertools.product(*([g for g in (1, 2, 4, 8) if g <= size] for size in sizes)))
    positive = 0
    for grid in grids:
        processors = math.prod(grid)
        found = grid_volume(layer, precisions, processors, (*grid, 1))
        bound = bound_value(parallel_bounds(layer, precisions, found.held_words, processors), "parallel_lower_bound")
        positive += bound > 0
        assert float(found.received_words) >= bound * (1 - 1e-12)
    assert positive > len(grids) / 20


def test_grid_search_respects_memory_and_odd_counts():
    layer = ConvLayer(8, 8, 8, 4, 4, 3, 3)
    free = best_grid(layer, Precisions(), 16)
    tight = best_grid(layer, Precisions(), 16, free.held_words - 1)
    assert tight is None or tight.held_words < free.held_words
    assert best_grid(layer, Precisions(), 16, 1) is None
    # 17 divides no loop: the grid has 16 processors.
    assert best_grid(layer, Precisions(), 17).processors == 16
    assert best_grid(layer, Precisions(), 6).processors == 6


def test_parallel_algorithms_on_a_real_layer():
    layer = RESNET50_LAYERS["conv4_x"]
    for algorithm in PARALLEL_ALGORITHMS:
        one = parallel_volume(algorithm, layer, RESNET50_PRECISIONS, 1)
        assert one.received_words == 0
        many = parallel_volume(algorithm, layer, RESNET50_PRECISIONS, 2**14, 2**20)
        assert many.received_words > 0
        assert many.held_words <= 2**20
    names = [bound.name for bound in parallel_volume_bounds(layer, RESNET50_PRECISIONS, 64, 10)]
    assert names == [f"parallel_volume_{algorithm}" for algorithm in PARALLEL_ALGORITHMS]
