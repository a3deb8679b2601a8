"""Transformers as networks and sweeps, against published counts and by hand."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from jouleloop.config.load import load_all, load_study
from jouleloop.errors import InputError
from jouleloop.fusion.sweep import CHAIN, load_chain_sweep
from jouleloop.tables.layers import check_sweeps
from jouleloop.tables.transformers import has_parts
from jouleloop.workload.sweep import Sweep, load_network, load_sweeps
from jouleloop.workload.transformer import ATTENTION, Transformer, products
from paths import ROOT

#: Multiply-accumulates in 10^9: of a block 12 d² n + 2 n² d for the plain ones, by hand; convolutions as published.
GMACS = {
    "bert_base": 12 * (12 * 768**2 * 128 + 2 * 128**2 * 768) / 1e9,
    "bert_base_512": 12 * (12 * 768**2 * 512 + 2 * 512**2 * 768) / 1e9,
    "gpt2_small": (12 * (12 * 768**2 * 1024 + 2 * 1024**2 * 768) + 768 * 50257) / 1e9,
    "vit_b16": (12 * (12 * 768**2 * 197 + 2 * 197**2 * 768) + 196 * 768 * 768 + 768 * 1000) / 1e9,
    "mobilenet_v2": 0.300,
    "efficientnet_b0": 0.39,
}


@pytest.mark.parametrize("name", GMACS)
def test_operations_are_those_that_are_published(name: str) -> None:
    network = load_network(ROOT / f"layers/networks/{name}.yaml")
    found = sum(point.count * point.layer.macs for point in network.points) / 1e9
    assert found == pytest.approx(GMACS[name], rel=0.02 if GMACS[name] < 1 else 1e-12)


def test_llama_has_the_weights_of_its_name() -> None:
    """8.03 billion parameters: all products' operands A but keys and values, and the embedding beside the logits."""
    points = load_network(ROOT / "layers/networks/llama3_8b_decode.yaml").points
    words = {p.layer.name: p.count * p.layer.sizes["M"] * p.layer.sizes["K"] for p in points}
    weights = sum(count for name, count in words.items() if name not in ATTENTION) + 128256 * 4096
    norms = (2 * 32 + 1) * 4096
    assert weights + norms == 8_030_261_248


def test_heads_that_share_keys_are_columns_of_one_product() -> None:
    made = {p.name: p for p in products(Transformer(width=16, heads=8, kv_heads=2, sequence=3, context=5))}
    assert made["scores"].sizes == {"H": 2, "M": 5, "N": 12, "K": 2}
    assert made["weighted_values"].sizes == {"H": 2, "M": 2, "N": 12, "K": 5}
    assert made["key_value"].sizes == {"M": 4, "N": 3, "K": 16}
    assert set(made) == {"query", "key_value", "output", "up", "down", *ATTENTION}


def test_one_sweep_for_each_product() -> None:
    found = load_sweeps(ROOT / "layers/transformer_sequence.yaml")
    assert [sweep.name.removeprefix("transformer_sequence_") for sweep in found] == [
        *("query", "key_value", "scores", "weighted_values", "output", "up", "down")
    ]
    check_sweeps(found)
    scores = found[2]
    assert [point.given for point in scores.points[:2]] == [(("sequence", 64),), (("sequence", 128),)]
    assert scores.points[1].layer.spec() == "matmul:M128xN128xK64/batch12"


def test_every_sweep_and_network_of_the_project_is_one() -> None:
    def check(sweep: Sweep) -> None:
        assert sweep.points

    for path in sorted((ROOT / "layers").glob("*.yaml")):
        if yaml.safe_load(path.read_text()).get("kind") == CHAIN:
            assert load_chain_sweep(path).points
        elif not path.stem.startswith("scale"):
            for sweep in load_sweeps(path):
                check(sweep)
    for path in sorted((ROOT / "layers/networks").glob("*.yaml")):
        check(load_network(path))


def test_a_configuration_takes_all_sweeps_of_a_transformer() -> None:
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    study = load_study({**config, "sweeps": ["decode_context"], "networks": []}, ROOT)
    products = ("query", "key_value", "scores", "weighted_values", "output", "up", "down")
    assert [sweep.name for sweep in study.tested] == [f"decode_context_{product}" for product in products]
    assert [has_parts(study.sweeps, sweep.name) for sweep in study.tested] == [sweep == "scores" for sweep in products]


def test_a_file_of_many_sweeps_is_read_whole(tmp_path: Path) -> None:
    """The report finds a sweep in its file; a network is known by its transformer wherever it lies."""
    found = load_all(ROOT / "layers/decode_context.yaml")
    assert [sweep.name for sweep in found][2] == "decode_context_scores"
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump({"transformer": {"width": 64, "heads": 4, "sequence": 8}}))
    assert [(network.name, network.is_network) for network in load_all(path)] == [("mine", True)]


FORM: dict[str, Any] = {"width": 64, "heads": 4, "sequence": [8, 16]}
BAD = {
    "nothing varies": ({"sequence": 8}, {}, "exactly one size has to be a range or a list"),
    "two vary": ({"width": [64, 128]}, {}, "exactly one size has to be a range or a list"),
    "heads that do not divide": ({"heads": 5}, {}, "64 is not divisible by 5 heads"),
    "keys that are not shared evenly": ({"kv_heads": 3}, {}, "4 query heads cannot share 3 heads"),
    "an unknown size": ({"widht": 3}, {}, "unknown key.*did you mean 'width'"),
    "an unknown product": ({}, {"score": "linear"}, "expected: unknown matrix product.*did you mean 'scores'"),
    "no tokens": ({"sequence": [0, 8]}, {}, "greater than or equal to 1"),
    "too many": ({"sequence": [2**31, 2**31 + 1]}, {}, "too many operations|too large"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_transformers(case: str, tmp_path: Path) -> None:
    form, expected, message = BAD[case]
    data = {"transformer": {**FORM, **form}, "expected": {"scores": "quadratic", **expected}}
    path = tmp_path / "t.yaml"
    path.write_text(yaml.safe_dump(data))
    with pytest.raises(InputError, match=f"(?s)t.yaml.*({message})"):
        load_sweeps(path)
