"""Theorems 2.1–2.3 of 001 against values derived by hand, against numerical re-derivations and at their limits."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from jouleloop.errors import AssumptionError, InputError
from jouleloop.theory.convolution.bounds import (
    bound_value,
    find_bound,
    parallel_bounds,
    precision_constant,
    single_processor_bounds,
    small_filter_factor,
)
from jouleloop.theory.convolution.crossover import LARGE, SMALL, parallel_terms, single_processor_terms
from jouleloop.theory.convolution.layer import (
    Precisions,
    input_elements,
    input_elements_printed,
    named_layer,
    window_cells,
)
from jouleloop.theory.layers import RESNET50_LAYERS, ConvLayer

ONE = Precisions()


def precisions(p_i, p_f, p_o):
    return Precisions(Fraction(p_i), Fraction(p_f), Fraction(p_o))


def test_standard_precision_gives_nine_quarters():
    assert precision_constant(ONE) == Fraction(9, 4)


@pytest.mark.parametrize("values", list(itertools.product(["1/4", "1", "2", "7/2"], repeat=3)))
def test_constant_is_the_reciprocal_of_the_largest_updates_per_segment(values):
    # Lemmas 3.2/3.3 choose exponents with sum 2, each at most 1, that minimise (1/4) Π (s/p)^s; C_p is what is left of
    # M²/C_p = (2M)²/4 · min. Minimise numerically over the simplex and compare.
    p = [float(Fraction(v)) for v in values]
    grid = np.linspace(0, 1, 401)
    best = math.inf
    for a in grid:
        b = grid[grid >= 1 - a - 1e-12]
        c = 2 - a - b
        with np.errstate(divide="ignore", invalid="ignore"):
            log = sum(
                np.where(s > 0, s * np.log(s / q), 0.0) for s, q in ((np.full_like(b, a), p[0]), (b, p[1]), (c, p[2]))
            )
        best = min(best, float(np.exp(log).min()))
    assert float(precision_constant(precisions(*values))) == pytest.approx(1 / best, rel=1e-3)


def test_constant_is_continuous_where_the_triangle_condition_turns():
    at = precision_constant(precisions(3, 1, 2))
    assert at == 9
    assert precision_constant(precisions(Fraction(3) + Fraction(1, 10**9), 1, 2)) - at < Fraction(1, 10**7)


def test_terms_by_hand():
    # N=2, cI=3, cO=4, 5×6 outputs, 3×2 filter, strides 1 and 2: G = 2·3·4·5·6·3·2 = 4320.
    layer = ConvLayer(2, 3, 4, 5, 6, 3, 2, 1, 2)
    assert layer.macs == 4320
    assert input_elements(layer) == 2 * 3 * 7 * 12
    assert input_elements_printed(layer) == 2 * 3 * 8 * 14
    found = single_processor_bounds(layer, precisions(1, "1/2", 2), 16)
    assert find_bound(found, "compulsory_traffic").value == 504 + Fraction(72, 2) + 2 * 240
    assert find_bound(found, "compulsory_traffic_as_printed").value == 672 + 36 + 480
    # Triangle fails (2 > 1 + 1/2): C_p = 2 · 3/2 = 3.
    assert find_bound(found, "large_filter_term").value == 3 * Fraction(4320, 16) - 16
    # 2 · √(1·½·2) · √(1·2) · 4320 / √(6·16) − 32
    assert bound_value(found, "small_filter_term_as_printed") == pytest.approx(
        2 * math.sqrt(2) * 4320 / math.sqrt(96) - 32, rel=1e-12
    )
    assert find_bound(found, "theorem_2_1_as_printed").value == max(
        found[1].value, found[2].value, Fraction(found[3].value)
    )


@pytest.mark.parametrize(("outputs", "taps", "stride"), list(itertools.product(range(1, 6), range(1, 6), range(1, 5))))
def test_window_cells_counts_the_set(outputs, taps, stride):
    assert window_cells(outputs, taps, stride) == len({stride * i + j for i in range(outputs) for j in range(taps)})


def test_printed_and_general_small_filter_terms_agree_exactly_where_strides_divide():
    for wf, hf, sw, sh in itertools.product(range(1, 7), range(1, 7), range(1, 4), range(1, 4)):
        layer = ConvLayer(1, 2, 2, 7, 7, wf, hf, sw, sh)
        printed = math.sqrt(sw * sh / (wf * hf))
        if wf % sw == 0 and hf % sh == 0:
            assert small_filter_factor(layer) == pytest.approx(printed, rel=1e-12)
        else:
            assert small_filter_factor(layer) < printed


def test_printed_small_filter_lemma_fails_for_a_segment_where_the_stride_does_not_divide():
    # Lemma 3.4 allows a segment (K u v w)^½ updates with K = w_F/σ_w = 3/2 for 3 taps and stride 2. A segment of only
    # the taps 0 and 2 does more; counted as sets.
    updates = list(itertools.product(range(9), (0, 2)))
    inputs, filters, outputs = ({2 * i + j for i, j in updates}, {j for _, j in updates}, {i for i, _ in updates})
    product = len(inputs) * len(filters) * len(outputs)
    assert len(updates) > math.sqrt(1.5 * product)
    # Weighted by n_r^−½ (two taps of residue 0, one of residue 1) the lemma holds for every segment of this shape.
    for size, taps in itertools.product(
        range(1, 10), [t for n in (1, 2, 3) for t in itertools.combinations(range(3), n)]
    ):
        weight = sum(size / math.sqrt(2 if tap % 2 == 0 else 1) for tap in taps)
        cells = {2 * i + tap for i in range(size) for tap in taps}
        assert weight <= math.sqrt(len(cells) * size * len(taps)) * (1 + 1e-12)
    layer = ConvLayer(1, 1, 1, 9, 1, 3, 1, 2, 1)
    assert small_filter_factor(layer) == pytest.approx((math.sqrt(2) + 1) / 3)


def test_segment_length_of_the_small_filter_lemma_is_optimal():
    # T/(M+T)^(3/2) is largest at T = 2M, where 3^(3/2) T/(M+T)^(3/2) = 2/√M.
    memory = 50.0
    found = minimize_scalar(lambda t: -t / (memory + t) ** 1.5, bounds=(1, 1000), method="bounded")
    assert found.x == pytest.approx(2 * memory, rel=1e-3)
    assert 3**1.5 * -found.fun == pytest.approx(2 / math.sqrt(memory), rel=1e-6)


@pytest.mark.parametrize("name", RESNET50_LAYERS)
def test_crossings_are_where_terms_are_equal(name):
    p = precisions(1, 1, 2)
    for terms in (single_processor_terms(RESNET50_LAYERS[name], p), parallel_terms(RESNET50_LAYERS[name], p, 64)):
        crossings = terms.crossings()
        assert len(crossings) == 4
        for memory, first, second in crossings:
            values = terms.values(memory)
            scale = max(terms.small / math.sqrt(memory), memory, 1.0)
            assert abs(values[first] - values[second]) <= 1e-9 * scale
            before, after = terms.values(memory * 0.999), terms.values(memory * 1.001)
            assert (before[first] - before[second]) * (after[first] - after[second]) < 0


def test_regimes_agree_with_a_scan():
    layer = ConvLayer(10, 16, 16, 20, 20, 5, 5)
    terms = single_processor_terms(layer, precisions(1, 1, 2))
    regimes = terms.regimes()
    assert regimes[0][1] == 0
    assert regimes[-1][2] == math.inf
    for memory in np.geomspace(0.5, 1e9, 2000):
        values = terms.values(float(memory))
        active = next(term for term, low, high in regimes if low <= memory <= high)
        assert values[active] == pytest.approx(max(values.values()), rel=1e-9)


def test_small_filter_term_eclipses_from_the_printed_memory_up_to_lower_order():
    # 001 §3.1: w_F h_F < 64 M σ_w σ_h / 81 for unit precisions, neglecting −M and −2M.
    layer = ConvLayer(1000, 64, 64, 56, 56, 9, 8)
    crossing = next(m for m, a, b in single_processor_terms(layer, ONE).crossings() if {a, b} == {LARGE, SMALL})
    assert crossing == pytest.approx(81 * 72 / 64, rel=1e-4)


def test_terms_without_two_crossings_of_the_memory_terms():
    # One update: y⁴ − b y + a has no positive root; the small-filter term never leads.
    terms = single_processor_terms(ConvLayer(1, 1, 1, 1, 1, 1, 1), ONE)
    assert not [c for c in terms.crossings() if {c[1], c[2]} == {LARGE, SMALL}]
    assert SMALL not in {term for term, _, _ in terms.regimes()}


def test_parallel_terms_reduce_to_single_processor_with_one_processor():
    layer = RESNET50_LAYERS["conv3_x"]
    p = precisions(1, 1, 2)
    one, single = parallel_bounds(layer, p, 4096, 1), single_processor_bounds(layer, p, 4096)
    assert find_bound(one, "parallel_large_filter_term").value == find_bound(single, "large_filter_term").value
    assert bound_value(one, "parallel_small_filter_term") == bound_value(single, "small_filter_term")
    assert bound_value(one, "memory_independent_large_filter_term") < 0


def test_memory_independent_terms_by_hand():
    # G = 8·8·8 = 512, P = 64, all precisions 1, 1 × 1: √8 − 64/64 and 8^(2/3) − 1 = 3.
    found = parallel_bounds(ConvLayer(8, 8, 8, 1, 1, 1, 1), ONE, 10, 64)
    assert bound_value(found, "memory_independent_large_filter_term") == pytest.approx(math.sqrt(8) - 1)
    assert bound_value(found, "memory_independent_small_filter_term") == pytest.approx(3)
    # The printed footprint has 8·8·2·2 input elements where the loops touch 64.
    assert bound_value(found, "memory_independent_small_filter_term_as_printed") == pytest.approx(0)
    assert bound_value(found, "parallel_lower_bound") == pytest.approx(3)


def test_sharpened_memory_independent_term_is_never_weaker():
    for wf, sigma in ((3, 1), (6, 2), (4, 4)):
        found = parallel_bounds(ConvLayer(4, 8, 8, 8, 8, wf, wf, sigma, sigma), ONE, 10, 16)
        plain = bound_value(found, "memory_independent_small_filter_term_as_printed")
        assert bound_value(found, "memory_independent_small_filter_term") >= plain


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ((1, 1, 1, 2, 2, 3, 1, 1, 1), "w_F <= σ_w w_O"),
        ((1, 1, 1, 2, 2, 1, 5, 1, 2), "h_F <= σ_h h_O"),
    ],
)
def test_filter_larger_than_stride_times_output_is_refused(arguments, word):
    layer = ConvLayer(*arguments)
    for compute in (
        lambda: single_processor_bounds(layer, ONE, 8),
        lambda: parallel_bounds(layer, ONE, 8, 2),
        lambda: single_processor_terms(layer, ONE),
    ):
        with pytest.raises(AssumptionError, match=word):
            compute()


def test_stride_larger_than_filter_is_reported_not_refused():
    found = single_processor_bounds(ConvLayer(1, 4, 4, 5, 5, 1, 1, 2, 2), ONE, 8)
    assert not find_bound(found, "single_processor_lower_bound").assumptions_hold
    assert find_bound(found, "compulsory_traffic").value == 4 * 25 + 16 + 4 * 25


@pytest.mark.parametrize("bad", [0, -1, "-1/4", float("nan"), float("inf"), "many"])
def test_precision_must_be_positive(bad):
    with pytest.raises(AssumptionError, match="precision input"):
        Precisions(bad)


@pytest.mark.parametrize("memory", [0, -5, "-1/2"])
def test_memory_must_be_positive(memory):
    with pytest.raises(AssumptionError, match="M > 0"):
        single_processor_bounds(named_layer("resnet50/conv1"), ONE, memory)


def test_sizes_and_names_are_checked():
    with pytest.raises(InputError, match="positive integer"):
        ConvLayer(0, 1, 1, 1, 1, 1, 1)
    with pytest.raises(InputError, match="conv2_x"):
        named_layer("resnet50/conv2x")
    with pytest.raises(AssumptionError, match="P >= 1"):
        parallel_bounds(named_layer("resnet50/conv1"), ONE, 8, 0)
