"""Bad parameters of the theory commands end in a message that names the assumption, and help texts keep their units."""

import sys

import pytest

from jouleloop.cli.app import main
from jouleloop.theory.convolution.layer import RESNET50_PRECISIONS, Precisions
from jouleloop.theory.convolution.parallel import parallel_volume
from jouleloop.theory.layers import RESNET50_LAYERS, ConvLayer

CONV1 = "bounds conv --layer resnet50/conv1 --memory"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("bounds fc -n 4 -m 4 -B 3 --mac-energy nan", "C_b of 002 eq. (3)"),
        ("bounds fc -n 4 -m 4 -B 3 --mac-energy inf", "C_b of 002 eq. (3)"),
        ("bounds fc -n 4 -m 4 -B 3 --mac-energy -1", "got -1.0"),
        ("bounds fc -n 4 -m 4 -B 3 --output-reads -3 --input-reads 4", "not negative (got -3)"),
        (f"bounds fc -n {10**29} -m 4 -B 3", "inputs: too large"),
        (f"{CONV1} 1e400", "memory: out of range"),
        (f"{CONV1} 1e-400", "memory: out of range"),
        (f"{CONV1} 1000 --precision-input 1e-400", "precision input: out of range"),
        (f"{CONV1} 1000 --batch {10**40}", "batch: too large"),
        (f"{CONV1} 1000 --processors {10**20}", "too many processors"),
        (f"bounds gemmini --batch {10**20}", "conv1.batch: too large"),
        ("bounds fc-table --divisible 0 4 -o x.csv", "--divisible: no sizes"),
        ("bounds fc-table --divisible 31 4 -o x.csv", "--divisible: no sizes"),
    ],
)
def test_out_of_range_is_a_message_and_not_a_traceback(command, said, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["jouleloop", *command.split()])
    with pytest.raises(SystemExit) as stop:
        main()
    printed = capsys.readouterr()
    assert stop.value.code == 2
    assert said in printed.err
    assert not printed.out


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("bounds hbl --help", "I[n,c,2*x+r] F[c,k,r] O[n,k,x]"),
        ("bounds manticore --help", "width and height of the input volume in words"),
        ("bounds conv-energy --help", "width of a word in bits"),
    ],
)
def test_help_keeps_what_stands_in_brackets(command, said, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["jouleloop", *command.split()])
    monkeypatch.setenv("COLUMNS", "200")
    with pytest.raises(SystemExit):
        main()
    assert said in capsys.readouterr().out


def test_notes_stand_beside_the_bounds_or_below_them(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", f"jouleloop {CONV1} 10000".split())
    for width in ("80", "220"):
        monkeypatch.setenv("COLUMNS", width)
        with pytest.raises(SystemExit):
            main()
        assert "active term: compulsory_traffic" in capsys.readouterr().out


@pytest.mark.parametrize("processors", [720720, 735134400, 10**9 + 7])
def test_processor_counts_with_many_or_few_divisors_get_a_grid(processors):
    found = parallel_volume("blocking", RESNET50_LAYERS["conv2_x"], RESNET50_PRECISIONS, processors, 2**20)
    assert found is not None
    assert found.processors <= processors


def test_all_grids_of_a_composite_number_are_tried():
    # By hand: 6 processors on 1 × 1 filters with one pixel, that is, a product of 6 × 6 and 6 × 6.
    layer = ConvLayer(6, 6, 6, 1, 1, 1, 1)
    best = min(
        inputs + filters + outputs
        for a in (1, 2, 3, 6)
        for b in (1, 2, 3, 6)
        for c in (1, 2, 3, 6)
        if a * b * c == 6
        for inputs, filters, outputs in [
            (36 / a / b - 6, 36 / b / c - 6, (36 / a / c) * (b - 1) / b),
        ]
    )
    assert float(parallel_volume("blocking", layer, Precisions(), 6, 1000).received_words) == pytest.approx(best)
