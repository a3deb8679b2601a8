"""Executed Manticore schedules: the misprint of Algorithm 3, determinism, pictures and the command line."""

import json

import numpy as np
import pytest

from jouleloop.cli import app as cli_app
from jouleloop.errors import AssumptionError, InputError
from jouleloop.theory.drawing import write_figure
from jouleloop.theory.exhibits import exhibits
from jouleloop.theory.manticore.execute import random_volumes, run_checked
from jouleloop.theory.manticore.execute_conv import padding_macs, run_conv
from jouleloop.theory.manticore.formulas import traffic
from jouleloop.theory.manticore.layer import conv_layer, fc_layer
from jouleloop.theory.manticore.machine import Options, draw_text
from jouleloop.theory.manticore.tables import draw_schedule


@pytest.mark.parametrize("input_depth", [16, 17, 32])
def test_printed_algorithm_3_deadlocks_however_much_is_kept(input_depth):
    layer = conv_layer(1, input_depth, 16, 1)
    inputs, filters = random_volumes(layer)
    with pytest.raises(AssumptionError, match="deadlock: cluster 0 waits for I\\[1\\] from cluster 15"):
        run_conv(layer, 3, inputs, filters, options=Options(variant="printed", lend_slices=input_depth))


def test_receiving_from_the_successor_works_for_sixteen_slices_only_with_one_lent_slice():
    for input_depth, lend_slices, works in ((16, 1, True), (32, 1, False), (32, 15, False), (32, 16, True)):
        layer, options = conv_layer(1, input_depth, 16, 1), Options(variant="successor", lend_slices=lend_slices)
        inputs, filters = random_volumes(layer)
        if works:
            counts = run_conv(layer, 3, inputs, filters, options=options).counts
            assert counts.input_words_loaded == traffic(layer, 3, 1).input_words_loaded
            assert counts.words_exchanged == traffic(layer, 3, 1).words_exchanged
        else:
            with pytest.raises(AssumptionError, match="deadlock"):
                run_conv(layer, 3, inputs, filters, options=options)


def test_printed_algorithm_3_needs_a_first_slice_for_every_cluster():
    layer = conv_layer(1, 8, 16, 1)
    inputs, filters = random_volumes(layer)
    with pytest.raises(AssumptionError, match="D_I > 8"):
        run_conv(layer, 3, inputs, filters, options=Options(variant="successor"))


def test_padding_products_are_those_that_reach_outside():
    layer = conv_layer(3, 1, 1, 3, 1, 1)
    # Of 9 windows of 9 taps a corner keeps 4, an edge 6, the centre all 9 inside the 3 x 3 slice.
    assert padding_macs(layer) == 81 - (4 * 4 + 4 * 6 + 9)
    assert run_checked(layer, 1, 1).counts.padding_macs == 32


def test_floating_point_volumes_are_computed_too():
    layer = conv_layer(6, 3, 5, 3, 1, 1)
    inputs, filters = (volume.astype(np.float32) / 8 for volume in random_volumes(layer))
    run = run_conv(layer, 2, inputs, filters, stack=2)
    assert run.outputs.dtype == np.float32
    whole = run_conv(layer, 2, *random_volumes(layer), stack=2)
    assert np.allclose(run.outputs * 64, whole.outputs)


def test_too_large_a_layer_is_refused():
    with pytest.raises(InputError, match="too many MACs"):
        run_checked(fc_layer(100, 1000, 1000, 10), 4, 1000)


def test_drawings_show_where_slices_come_from(tmp_path):
    checked = run_checked(conv_layer(4, 6, 4, 1), 3, 1, options=Options(record=True))
    lines = draw_text(checked.events).splitlines()
    assert lines[1].split()[:2] == ["0", "M0"]
    assert "N1" in lines[1].split()
    first, second = tmp_path / "a.svg", tmp_path / "b.svg"
    for path in (first, second):
        write_figure(draw_schedule(checked.events, "title"), path)
    assert first.read_bytes() == second.read_bytes()
    assert b"<svg" in first.read_bytes()


def test_figures_are_written(tmp_path):
    for name in ("ccr", "algorithm_3", "algorithm_5"):
        exhibits()[f"manticore/{name}.svg"].make(tmp_path / f"{name}.svg")
        assert (tmp_path / f"{name}.svg").stat().st_size > 5000


def call(monkeypatch, capsys, *words: str) -> tuple[int, str, str]:
    monkeypatch.setattr("sys.argv", ["jouleloop", *words])
    with pytest.raises(SystemExit) as stop:
        cli_app.main()
    captured = capsys.readouterr()
    return stop.value.code, captured.out, captured.err


CONV = ("--input-width", "8", "--input-depth", "18", "--output-depth", "32", "--filter", "3", "--padding", "1")


def test_bounds_command_prints_json(monkeypatch, capsys):
    code, out, _ = call(monkeypatch, capsys, "bounds", "manticore", *CONV, "--json")
    rows = {row["name"]: row for row in json.loads(out)}
    assert code == 0
    assert rows["algorithm_1_macs"]["value"] == 64 * 9 * 18 * 32
    assert rows["algorithm_3_exchanged"]["source"] == "003 eq. (9)"
    assert set(rows["algorithm_2_ccr"]) >= {"name", "source", "value", "unit", "assumptions_hold", "assumptions"}


def test_dataflow_command_counts_what_the_bounds_say(monkeypatch, capsys):
    words = ("--algorithm", "3", "--stack", "2", *CONV)
    code, out, _ = call(monkeypatch, capsys, "dataflow", "manticore", *words, "--json")
    counted = json.loads(out)
    _, out, _ = call(monkeypatch, capsys, "bounds", "manticore", *words, "--json")
    stated = {row["name"]: row["value"] for row in json.loads(out)}
    assert code == 0
    assert counted["result_is_right"] is True
    assert counted["words_loaded"] == stated["algorithm_3_loaded"]
    assert counted["words_exchanged"] == stated["algorithm_3_exchanged"]


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("dataflow", "manticore", "--algorithm", "3", "--variant", "printed", *CONV), "deadlock"),
        (("dataflow", "manticore", "--algorithm", "2", "--variant", "printed", *CONV), "only Algorithm 3"),
        (("dataflow", "manticore", "--algorithm", "6", *CONV), "no such algorithm"),
        (("bounds", "manticore", *CONV, "--batch", "2"), "not both"),
        (("bounds", "manticore", *CONV[:6]), "give --filter"),
        (("bounds", "manticore", *CONV[:6], "--batch", "2", "--stride", "2", "--padding", "1"), "stride 1"),
        (("bounds", "manticore", *CONV, "--stack", "0"), "1 <= Δ_O"),
    ],
)
def test_bad_parameters_exit_with_two_and_name_the_assumption(monkeypatch, capsys, words, named):
    code, out, err = call(monkeypatch, capsys, *words)
    assert (code, out) == (2, "")
    assert named in err
