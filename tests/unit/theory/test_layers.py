"""The one shape of a convolution: what lies in memory, and which papers take which layers."""

import pytest

from jouleloop.errors import AssumptionError, InputError
from jouleloop.theory.convolution.energy import write_once_outputs
from jouleloop.theory.gemmini.optimum import optimal_tile
from jouleloop.theory.layers import RESNET50_LAYERS, ConvLayer, DramWords
from jouleloop.theory.manticore.formulas import traffic
from jouleloop.theory.manticore.layer import conv_layer, describe, fc_layer, is_convolution


def test_the_input_is_what_the_windows_reach_where_not_stated():
    layer = ConvLayer(1, 2, 3, 5, 4, 3, 2, 2, 1)
    assert (layer.in_width, layer.in_height) == (4 * 2 + 3, 3 + 2)
    assert layer == ConvLayer(1, 2, 3, 5, 4, 3, 2, 2, 1, 11, 5, name="the same")
    assert layer.macs == 2 * 3 * 5 * 4 * 3 * 2
    padded = ConvLayer(1, 1, 1, 8, 8, 3, 3, in_width=8, in_height=8)
    assert padded.padding == padded.padding_before("width") == 1
    assert padded.input_map_elements == 64


def test_all_faults_of_a_layer_are_told_with_its_name():
    with pytest.raises(InputError) as caught:
        ConvLayer(1, 0, -1, 10**13, 1, 1, 1, name="odd")
    assert [fault.field for fault in caught.value.faults] == ["odd.in_channels", "odd.out_channels", "odd.out_width"]


def test_two_strides_are_not_one():
    layer = ConvLayer(1, 2, 3, 4, 4, 3, 3, 2, 1)
    with pytest.raises(AssumptionError, match="one stride on both axes"):
        _ = layer.stride
    with pytest.raises(AssumptionError, match="one stride on both axes"):
        optimal_tile(layer)


def test_papers_of_single_images_take_no_batch():
    with pytest.raises(AssumptionError, match="single image"):
        write_once_outputs(RESNET50_LAYERS["conv1"])
    with pytest.raises(AssumptionError, match="single image"):
        traffic(RESNET50_LAYERS["conv2_x"], 1, 1)
    with pytest.raises(AssumptionError, match="as high as they are wide"):
        traffic(ConvLayer(1, 2, 3, 4, 5, 3, 3), 1, 1)


def test_a_fully_connected_layer_is_no_convolution_of_the_same_sizes():
    conv, connected = conv_layer(3, 4, 5, 3), fc_layer(3, 4, 5)
    assert is_convolution(conv)
    assert not is_convolution(connected)
    assert conv.macs == connected.macs == 3 * 3 * 4 * 5
    assert describe(connected) == "FcLayer(input_width=3, input_depth=4, output_depth=5, batch=1)"


def test_words_are_whole_and_not_negative():
    assert DramWords(1, 2, 3, 4).total == 10
    with pytest.raises(InputError, match="outputs_read"):
        DramWords(1, 2, -3, 4)
