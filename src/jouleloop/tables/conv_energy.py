"""Theory of convolutions beside measurement: DRAM words of every swept layer, the two dataflows and a lower bound."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from jouleloop.engines.protocol import Target
from jouleloop.tables.published import read_published
from jouleloop.tables.theory_ratio import on_chip_words
from jouleloop.theory.convolution.energy import (
    MapSizes,
    buffer_words_needed,
    lower_bound_words,
    read_once_inputs,
    write_once_outputs,
)
from jouleloop.theory.layers import MAC_ENERGY_PJ, ConvLayer
from jouleloop.workload.sweep import Sweep

#: Whose measurement it is, and all columns that the variable of a sweep may refer to.
_POINT = (
    *("architecture", "sweep", "layer", "N", "C", "M", "R", "S", "P", "Q"),
    *("w_stride", "h_stride", "groups", "input_size", "macs"),
)
_DATAFLOWS = {"write_once_outputs": write_once_outputs, "read_once_inputs": read_once_inputs}


def conv_shape(row: Mapping[Any, Any], *, bias: bool = True) -> ConvLayer:
    """Return the layer of a row of the energies table; its inputs are all words that the windows reach.

    Timeloop knows no padding: what a window reaches lies in DRAM and is moved.
    """
    channels, outputs, r, s, p, q, stride = (int(row[key]) for key in ("C", "M", "R", "S", "P", "Q", "w_stride"))
    return MapSizes(channels, outputs, r, p, s, q, stride, bias=bias).made()


def conv_energy_table(energies: pd.DataFrame, targets: Mapping[str, Target], sweeps: Sequence[Sweep]) -> pd.DataFrame:
    """Return every measured convolution beside the theory of `jouleloop.theory.convolution.energy`.

    Layers of one group, one sample, one stride on both axes and no dilation; others have no closed form there and no
    row. Columns:

    - what was measured: ``total_pj``, ``data_pj``, ``dram_words`` and ``dram_pj``;
    - the model with the Buffer it assumes (one map): ``theory_macs``, ``theory_computation_pj`` (C_b times the MACs,
      where C_b is given for the word's width) and words of both dataflows, a bias word an output map included;
    - ``buffer_words``, β: the words on the chip that may hold inputs or outputs; words of both dataflows with as many
      maps as fit into β (empty where not one fits), and ``theory_lower_bound_words`` of any dataflow without biases;
    - ``dram_pj_per_word``, ``dram_words`` over the lower bound, and over the cheaper dataflow that fits;
    - ``published_macs`` and ``published_words``, where the sweep has published theory for the architecture.
    """
    published = _published(sweeps)
    conv = {sweep.name for sweep in sweeps if sweep.kind == "conv"}
    measured = energies[(energies["status"] == "ok") & energies["sweep"].isin(conv)]
    ones = measured.reindex(columns=["N", "groups", "w_dilation", "h_dilation"]).astype("Float64").fillna(1)
    strides = measured.reindex(columns=["w_stride", "h_stride"])
    single = (ones == 1).all(axis=1) & (strides["w_stride"] == strides["h_stride"])
    rows = []
    for architecture, points in measured[single].groupby("architecture", sort=False):
        target = targets[str(architecture)]
        dram = target.arch.levels[0]
        beta = on_chip_words(target)
        dram_pj = target.costs.levels[0].read_pj / dram.block_words
        for row in points.to_dict("records"):
            words = sum(int(row[f"dram_words_{space}"]) for space in ("weights", "inputs", "outputs"))
            theory = _theory(row, beta, dram.word_bits)
            fitting = [theory[f"theory_{name}_buffer_words"] for name in _DATAFLOWS]
            known = [value for value in fitting if value is not None]
            spent = [row.get(f"{dram.name}_{space}_pj") for space in ("weights", "inputs", "outputs")]
            rows.append(
                {key: row[key] for key in _POINT}
                | {"total_pj": row["total_pj"], "data_pj": row["data_pj"], "dram_words": words}
                | {"dram_pj": sum(value for value in spent if value is not None), "word_bits": dram.word_bits}
                | theory
                | {"dram_pj_per_word": dram_pj, "ratio_to_lower_bound": words / theory["theory_lower_bound_words"]}
                | {"ratio_to_dataflow": words / min(known) if known else None}
                | published.get((str(row["sweep"]), str(architecture), _parameter(row, sweeps)), {})
            )
    return pd.DataFrame(rows, columns=None if rows else list(_POINT))


def _theory(row: Mapping[Any, Any], beta: int, bits: int) -> dict[str, Any]:
    shape = conv_shape(row)
    found: dict[str, Any] = {
        "theory_macs": shape.macs,
        "theory_computation_pj": float(MAC_ENERGY_PJ[bits] * shape.macs) if bits in MAC_ENERGY_PJ else None,
    }
    found |= {f"theory_{name}_words": function(shape).total for name, function in _DATAFLOWS.items()}
    found["buffer_words"] = beta
    for name, function in _DATAFLOWS.items():
        fits = beta >= buffer_words_needed(shape, name.replace("_", "-"))
        found[f"theory_{name}_buffer_words"] = function(shape, beta).total if fits else None
    found["theory_lower_bound_words"] = lower_bound_words(conv_shape(row, bias=False), beta)
    return found


def _published(sweeps: Sequence[Sweep]) -> dict[tuple[str, str, Any], dict[str, int]]:
    """Return the published theory by sweep, architecture and parameter."""
    found: dict[tuple[str, str, Any], dict[str, int]] = {}
    for sweep in sweeps:
        for architecture, _ in sweep.published:
            table = read_published(sweep, architecture)
            if table is None or "theory_words" not in table:
                continue
            for parameter, operations, words in zip(
                table["parameter"], table["theory_macs"], table["theory_words"], strict=True
            ):
                found[sweep.name, architecture, parameter] = {
                    "published_macs": int(operations),
                    "published_words": int(words),
                }
    return found


def _parameter(row: Mapping[Any, Any], sweeps: Sequence[Sweep]) -> Any:
    name = next(sweep.published_parameter for sweep in sweeps if sweep.name == row["sweep"])
    return row.get(name)
