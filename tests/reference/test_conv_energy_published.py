"""The theoretical columns of all published CSV files, reproduced to the last word, and what they were computed with."""

import csv
from pathlib import Path

import pytest

from jouleloop.theory.convolution.energy import MapSizes, write_once_outputs
from jouleloop.theory.layers import ConvLayer

FOLDER = Path(__file__).parent / "published"
OUTPUT_WIDTH_BY_STRIDE = {1: 214, 2: 108, 3: 72, 4: 55, 5: 44}
OUTPUT_WIDTH_BY_KERNEL = {3: 57, 5: 56, 7: 56, 9: 55, 11: 55}
FILES = [(arch, sweep) for arch in ("eyeriss", "simba") for sweep in ("d", "inputs", "kernels", "stride")]


def rows(arch: str, sweep: str) -> list[tuple[int, int, int]]:
    with (FOLDER / f"{arch}_energy_{sweep}.csv").open(newline="") as stream:
        return [(int(row[0]), int(row[4]), int(row[5])) for row in csv.reader(stream, delimiter=";")]


def shape(sweep: str, parameter: int, input_size: int) -> ConvLayer:
    outputs, kernel, width, stride = 64, 11, 55, 4
    if sweep == "d":
        outputs = parameter
    elif sweep == "inputs":
        width = -(-(parameter - 11) // 4) + 1
    elif sweep == "kernels":
        kernel, width = parameter, OUTPUT_WIDTH_BY_KERNEL[parameter]
    else:
        stride, width = parameter, OUTPUT_WIDTH_BY_STRIDE[parameter]
    return MapSizes(3, outputs, kernel, width, stride=stride, input_height=input_size or None).made()


def test_all_248_rows_are_there():
    assert sum(len(rows(*file)) for file in FILES) == 248


@pytest.mark.parametrize(("arch", "sweep"), FILES)
def test_macs_are_reproduced(arch, sweep):
    for parameter, expected, _ in rows(arch, sweep):
        assert shape(sweep, parameter, 0 if sweep != "inputs" else parameter).macs == expected


@pytest.mark.parametrize(("arch", "sweep"), FILES)
def test_data_words_are_reproduced(arch, sweep):
    # Simba's depth sweep takes all that the windows reach, 54·4 + 11 = 227; all else the nominal 224 of the base layer,
    # even where the layer's own input is another: no wider layer of the input sweep can be computed from 224² words.
    size = 0 if (arch, sweep) == ("simba", "d") else 224
    for parameter, _, expected in rows(arch, sweep):
        moved = write_once_outputs(shape(sweep, parameter, parameter if sweep == "inputs" else size))
        inputs = 64 * 3 * 224**2 if sweep == "inputs" else moved.inputs_read
        assert moved.weights_read + inputs + moved.outputs_written == expected


@pytest.mark.parametrize("arch", ["eyeriss", "simba"])
def test_the_input_sweep_was_computed_with_the_base_input(arch):
    differing = []
    for parameter, _, published in rows(arch, "inputs"):
        own = write_once_outputs(shape("inputs", parameter, parameter))
        if own.total != published:
            differing.append(parameter)
        # The whole difference is the input term, 3·64·(224² - n²) words.
        assert published - own.total == 192 * (224**2 - parameter**2)
    assert differing == [n for n in range(56, 449, 8) if n != 224]
