"""Small buffers: the optimum's DRAM words beside every tiling and theory, and verdicts on linear growth by buffer."""

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from jouleloop.columns import read_table, write_table
from jouleloop.config.load import load_study
from jouleloop.engines.native import NativeEngine
from jouleloop.engines.protocol import Target
from jouleloop.report.figures_buffers import buffers_figure
from jouleloop.stats.options import StatisticsOptions
from jouleloop.study.plan import jobs_of
from jouleloop.tables.buffer_growth import buffer_growth_table, crossover_words
from jouleloop.tables.layouts import BUFFER_GROWTH
from jouleloop.tables.theory_ratio import fc_hardware_table, fc_targets, on_chip_words
from jouleloop.theory.fully_connected.formulas import FcLayer, fixed_accesses_formula, pair_count_accesses
from jouleloop.workload.sizes import parse_layer
from paths import ROOT

BUFFERS = (16, 64, 128)
SIZES = (24, 60, 84, 120, 168, 240, 360)


@cache
def targets() -> dict[tuple[str, str], Target]:
    small = {
        name: {
            "arch": str(ROOT / f"arch/{name}.yaml"),
            "energy": [str(ROOT / f"arch/energy/{name.removesuffix('_small')}-45nm-accelergy03.yaml"), "interpolated"],
            "constraints": str(ROOT / f"mappings/{name.removesuffix('_small')}.yaml"),
        }
        for name in ("eyeriss_small", "simba_small")
    }
    study = load_study({"architectures": small, "sweeps": [str(ROOT / "layers/fc_buffers.yaml")]})
    return fc_targets(study, jobs_of(study))


def least_vertex_words(n: int, m: int, beta: int) -> int:
    """Return the least 2μ + ν of a nest with tiles of whole divisors, by trying all of them."""
    found = []
    for rows in (size for size in range(1, m + 1) if m % size == 0):
        for columns in (size for size in range(1, n + 1) if n % size == 0 and size + rows <= beta):
            resident = rows == m or columns == n
            found += [n + 2 * m] if resident else [n * (m // rows) + 2 * m, n + 2 * m * (n // columns)]
    return min(found)


def bounds(name: str, buffer_words: int, layers: list[tuple[int, int]]) -> pd.DataFrame:
    """Return the table of bounds of layers on a machine, the cheapest mappings searched for here."""
    rows = []
    for n, m in layers:
        layer = parse_layer(f"fc:{n}x{m}")
        variant = f"variables.buffer_words={buffer_words}"
        evaluation = NativeEngine().search(layer.problem(), targets()[name, variant]).evaluation
        assert evaluation is not None
        moved = {space: stats.reads + stats.updates for space, stats in evaluation.levels[0].data.items()}
        place = {"architecture": name, "sweep": "s", "layer": f"fc:{n}x{m}", "variant": variant, "status": "ok"}
        sizes = {key: layer.sizes[key] for key in ("C", "M", "N", "R", "S", "P", "Q", "groups")}
        words = {f"dram_words_{space.lower()}": moved[space] for space in ("Weights", "Inputs", "Outputs")}
        rows.append({**place, **sizes, **words, "total_pj": evaluation.energy_pj, "data_pj": evaluation.energy_pj})
    return fc_hardware_table(pd.DataFrame(rows), targets())


@pytest.mark.parametrize("buffer_words", BUFFERS)
def test_optima_move_what_the_best_of_all_tilings_moves_and_no_less_than_theory(buffer_words: int) -> None:
    assert on_chip_words(targets()["eyeriss_small", f"variables.buffer_words={buffer_words}"]) == buffer_words
    layers = [(252, 84), (84, 252), (120, 120), (24, 360)]
    table = bounds("eyeriss_small", buffer_words, layers)
    for (n, m), row in zip(layers, table.to_dict("records"), strict=True):
        vertex = row["theory_measured_dram_words"] - n * m
        layer = FcLayer(n, m, buffer_words)
        assert vertex == least_vertex_words(n, m, buffer_words) >= pair_count_accesses(layer)
        if min(n, m) >= buffer_words:
            assert row["eq_28_words"] == pytest.approx(n * m + float(fixed_accesses_formula(layer, 1)))
            assert row["theory_measured_dram_words"] >= row["partitioned_words"]
        else:
            assert pd.isna(row["eq_28_words"])


def test_growth_in_inputs_is_exact_until_the_buffer_enters_the_range(tmp_path: Path) -> None:
    """Below β inputs stay on the chip, above it they pass for every group of outputs: a bend at β, nowhere else."""
    layers = [(n, 360) for n in SIZES]
    table = pd.concat([bounds("eyeriss_small", words, layers) for words in (16, 128)], ignore_index=True)
    growth = buffer_growth_table(table, StatisticsOptions())
    told = {
        (row["buffer_words"], row["response"]): row["verdict"]
        for row in growth[growth["grown"] == "inputs"].to_dict("records")
    }
    assert told[16, "vertex_words"] == told[16, "dram_words"] == "exact"
    assert told[128, "vertex_words"] not in ("exact", "confirmed")
    first = growth.iloc[0]
    assert first["streaming_layers"] == (crossover_words(table.iloc[: len(SIZES)]) > 16).sum() == 6
    assert growth["resident_layers"].unique().tolist() == [0, 4]

    write_table(tmp_path / "growth", growth, BUFFER_GROWTH)
    read, _ = read_table(tmp_path / "growth.parquet", BUFFER_GROWTH)
    figure = buffers_figure(table, read, "s")
    left, right = figure.figure.axes
    drawn = left.get_lines()[-1].get_xydata()
    assert len(np.asarray(drawn)) == 2 * len(SIZES)
    assert len(np.asarray(right.get_lines()[-1].get_xydata())) == 1  # filled: not confirmed
    assert "0 below the lower bound" in figure.caption


def test_a_run_without_variants_has_an_empty_table(tmp_path: Path) -> None:
    table = bounds("eyeriss_small", 16, [(24, 24)]).assign(variant="")
    write_table(tmp_path / "growth", buffer_growth_table(table, StatisticsOptions()), BUFFER_GROWTH)
    assert not len(read_table(tmp_path / "growth.parquet", BUFFER_GROWTH)[0])
