"""The formulas, limits and printed numbers of paper 003."""

from fractions import Fraction

import pytest
import yaml

from jouleloop.errors import AssumptionError, InputError
from jouleloop.theory.manticore.formulas import compute_to_communication, manticore_bounds, printed_traffic, traffic
from jouleloop.theory.manticore.layer import (
    MANTICORE,
    Machine,
    conv_layer,
    default_stack,
    fc_layer,
    minimum_local_words,
    stack_limit,
)
from jouleloop.theory.manticore.tables import TYPICAL_CONV, printed_table, typical_fc
from paths import ROOT

MISPRINTED = {
    ("Algorithm 1: local memory, single", "8.1"),  # stated as "less than"
    ("Algorithm 4: local memory, single", "519"),  # rounded up
    ("Algorithm 3: CCR, Δ_O = 23", "541.4"),
    ("Algorithm 3: CCR, Δ_O = 23", "270.7"),
    ("Algorithm 3: CCR, Δ_O = 11", "540.6"),
    ("Algorithm 3: CCR, Δ_O = 11", "135.2"),
}


def test_chiplet_has_the_sizes_of_section_1():
    assert MANTICORE.clusters == 128
    assert MANTICORE.clusters_per_l2 == 16
    assert MANTICORE.dma_buffer_bytes == 16 * 1024


def test_every_printed_number_follows_from_its_formula_except_the_known_ones():
    table = printed_table()
    wrong = table[~table["rounds_to_printed"]]
    assert set(zip(wrong["name"], wrong["printed"], strict=True)) == MISPRINTED


def forgotten_depth_ccr(stack: int) -> Fraction:
    """Return Algorithm 3's CCR with D_I left out of eq. (10)'s first term; it rounds to the printed 541.4 and 540.6."""
    layer = TYPICAL_CONV
    moved = traffic(layer, 3, stack)
    stacks = -(-layer.out_channels // stack)
    inputs = Fraction(stacks * layer.in_width**2, MANTICORE.clusters_per_l2)
    return layer.macs / (inputs + moved.filter_words_loaded + moved.output_words_stored)


@pytest.mark.parametrize(("stack", "printed"), [(23, "541.4"), (11, "540.6")])
def test_printed_ccr_of_algorithm_3_lacks_the_input_depth(stack, printed):
    assert f"{float(forgotten_depth_ccr(stack)):.1f}" == printed
    # Six or twelve tasks keep one L2 quadrant busy, which loads the input volume once:
    # 128 x 32² inputs, 128² x 3² filters, 128 x 32² outputs.
    assert compute_to_communication(TYPICAL_CONV, traffic(TYPICAL_CONV, 3, stack)) == Fraction(
        1024 * 9 * 128 * 128, 131072 + 147456 + 131072
    )


@pytest.mark.parametrize(
    ("layer", "algorithm", "word_bytes", "slices"),
    [
        (TYPICAL_CONV, 2, 4, 24),
        (TYPICAL_CONV, 2, 8, 12),
        (TYPICAL_CONV, 3, 4, 23),
        (TYPICAL_CONV, 3, 8, 11),
        (typical_fc(4096), 4, 4, 768),
        (typical_fc(4096), 4, 8, 384),
        (typical_fc(4096), 5, 4, 768),
        (typical_fc(4096), 5, 8, 384),
    ],
)
def test_stack_limits_follow_from_memory_and_dma_buffers(layer, algorithm, word_bytes, slices):
    limit = stack_limit(layer, algorithm, word_bytes)
    assert limit.slices == limit.slices_that_fit == slices
    assert limit.buffers_hold_the_slices
    smaller = Machine(local_memory_bytes=MANTICORE.local_memory_bytes - 1)
    free = limit.free_bytes - slices * limit.slice_bytes
    assert stack_limit(layer, algorithm, word_bytes, smaller).slices == (slices - 1 if free == 0 else slices)


def test_wide_slices_outgrow_the_dma_buffers():
    wide = conv_layer(64, 8, 8, 3, 1, 1)
    limit = stack_limit(wide, 2, 4)
    # Two slices of 64² words of 4 B are 32 KiB: the paper's 96 KiB shrink to 80 KiB, 5 output slices instead of 6.
    assert not limit.buffers_hold_the_slices
    assert (limit.slices, limit.slices_that_fit) == (6, 5)
    with pytest.raises(AssumptionError, match="one output depth slice must fit"):
        default_stack(conv_layer(256, 2, 2, 3, 1, 1), 2, 4)


def test_space_formulas_of_the_text():
    assert minimum_local_words(TYPICAL_CONV, 1, 1) == 2057
    assert minimum_local_words(TYPICAL_CONV, 3, 23) == 23 * 1024 + 1024 + 9 + 1024
    assert minimum_local_words(typical_fc(4096), 4, 4096) == 132689


def test_printed_fractions_of_a_quadrant_are_right_only_for_full_quadrants():
    layer = conv_layer(4, 5, 64, 3, 1, 1)
    full, partial = traffic(layer, 3, 2), traffic(layer, 3, 3)  # 32 and 22 stacks
    assert printed_traffic(layer, 3, 2).words_loaded == full.words_loaded
    assert printed_traffic(layer, 3, 2).words_exchanged == full.words_exchanged
    assert printed_traffic(layer, 3, 3).words_loaded < partial.words_loaded
    assert printed_traffic(layer, 3, 3).words_exchanged > partial.words_exchanged


def test_printed_macs_overcount_a_strided_convolution_by_the_stride_squared():
    layer = conv_layer(32, 4, 4, 2, 2, 0)
    bounds = {bound.name: bound for bound in manticore_bounds(layer, 2, stack=4)}
    assert bounds["algorithm_2_macs"].value * 4 == bounds["algorithm_2_macs_printed"].value
    assert bounds["algorithm_2_macs"].assumptions_hold
    assert not bounds["algorithm_2_macs_printed"].assumptions_hold


def test_approximations_are_ordered_and_close_for_the_typical_layer():
    rows = {bound.name: bound.value for bound in manticore_bounds(TYPICAL_CONV, 1)}
    four, five, six = (rows[f"algorithm_1_ccr_{name}"] for name in ("same_width", "deep", "wide"))
    assert four == compute_to_communication(TYPICAL_CONV, printed_traffic(TYPICAL_CONV, 1, 1))
    assert four < five < six == 9


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: conv_layer(4, 1, 1, 5), "F <= W_I"),
        (lambda: conv_layer(4, 1, 1, 3, 2), "must be whole"),
        (lambda: conv_layer(0, 1, 1, 1, 0), "positive integer"),
        (lambda: conv_layer(4, 1, 1, 3, padding=-1), "P must be"),
        (lambda: fc_layer(1, 1, 1, 0), "batch"),
        (lambda: manticore_bounds(TYPICAL_CONV, 4), "no such algorithm"),
        (lambda: manticore_bounds(TYPICAL_CONV, 2, stack=129), "Δ_O <= D_O"),
        (lambda: manticore_bounds(TYPICAL_CONV, 1, stack=2), "no stacks"),
        (lambda: stack_limit(TYPICAL_CONV, 2, 4, Machine(local_memory_bytes=1024)), "DMA buffers"),
    ],
)
def test_errors_name_the_assumption(make, named):
    with pytest.raises(InputError, match=named):
        make()


def test_all_faults_of_a_layer_are_reported():
    with pytest.raises(InputError) as caught:
        conv_layer(0, -1, 1, 1)
    assert {fault.field for fault in caught.value.faults} == {"input_width", "input_depth"}


class _Tagged(yaml.SafeLoader):
    """Reads the tags of Timeloop's architecture files as plain mappings."""


def _construct(loader: yaml.SafeLoader, tag: str, node: yaml.Node) -> dict:
    assert isinstance(node, yaml.MappingNode)
    return {"tag": tag, **loader.construct_mapping(node, deep=True)}


_Tagged.add_multi_constructor("!", _construct)


def test_architecture_file_agrees_with_the_machine():
    text = (ROOT / "arch" / "manticore.yaml").read_text(encoding="utf-8")
    nodes = {node["name"]: node for node in yaml.load(text, _Tagged)["architecture"]["nodes"]}
    mesh = nodes["cluster"]["spatial"]
    assert mesh["meshX"] * mesh["meshY"] == MANTICORE.clusters
    memory = nodes["scratchpad"]["attributes"]
    assert memory["depth"] * memory["width"] == 8 * MANTICORE.local_memory_bytes
    assert nodes["DRAM"]["attributes"]["width"] == 8 * MANTICORE.dma_width_bytes
    assert {node["tag"] for node in nodes.values()} == {"Container", "Component"}
