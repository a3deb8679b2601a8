"""Chains: what layers share, what is refused, and what the command prints."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import jouleloop as jl
from jouleloop.api.chains import chain_named, chains_in
from jouleloop.cli.app import app
from jouleloop.errors import InputError
from jouleloop.fusion.chain import Axis, chain_of, read_chain
from jouleloop.fusion.plan import Group, Loop, parts_of, waiting_words
from jouleloop.fusion.result import ChainResult, GroupRun
from jouleloop.fusion.search import ChainSearch
from jouleloop.optimum import optimise
from jouleloop.optimum.result import SearchResult
from jouleloop.workload.sizes import parse_layer
from paths import ROOT
from shares import slow_after

PAIR = ["matmul:M16xN32xK8", "matmul:M8xN32xK16"]
TRIPLE = ["matmul:M16xN16xK8", "matmul:M8xN16xK16", "matmul:M16xN16xK8"]


@pytest.fixture(scope="module")
def pair() -> ChainResult:
    return jl.chain("eyeriss", PAIR)


def chain(*texts: str) -> list[Axis]:
    return [axis for link in chain_of("made", [parse_layer(text) for text in texts]).links for axis in link.axes]


def test_products_share_rows_and_columns() -> None:
    assert chain(*PAIR) == [Axis(16, "M", "K"), Axis(32, "N", "N")]
    heads = chain("matmul:M16xN32xK8/batch3", "matmul:M8xN32xK16/batch3")
    assert heads == [Axis(3, "H", "H"), Axis(16, "M", "K"), Axis(32, "N", "N")]


def test_windows_and_strides_are_axes_that_reach_further() -> None:
    pointwise = chain("depthwise:G6xP9xQ8xR3xS3", "conv:C6xM4xP9xQ8")
    assert set(pointwise) == {Axis(6, "G", "C"), Axis(9, "P", "P"), Axis(8, "Q", "Q")}
    inner = chain("conv:C3xM6xP9xQ9", "depthwise:G6xP7xQ7xR3xS3")
    assert set(inner) == {Axis(6, "M", "G"), Axis(7, "P", "P", 1, 3), Axis(7, "Q", "Q", 1, 3)}
    padded = chain("conv:C3xM6xP9xQ9", "depthwise:G6xP9xQ9xR3xS3")
    assert set(padded) == {Axis(6, "M", "G"), Axis(9, "P", "P", 1, 3, 1), Axis(9, "Q", "Q", 1, 3, 1)}
    strided = chain("conv:C3xM6xP9xQ9", "conv:C6xM4xP5xQ5xR1xS1/stride2")
    assert set(strided) == {Axis(6, "M", "C"), Axis(5, "P", "P", 2), Axis(5, "Q", "Q", 2)}


@pytest.mark.parametrize(
    ("recomputes", "sizes", "overlap"),
    [(False, ((15, 1), (14, 2), (13, 1)), 2), (True, ((15, 2), (16, 2)), 0)],
)
def test_overlaps_wait_or_are_computed_again(
    recomputes: bool, sizes: tuple[tuple[int, int], ...], overlap: int
) -> None:
    """Four tiles of 14 rows read 16 each; the first and the last one reach into the padding."""
    group = Group(chain_named(["conv:C3xM6xP56xQ9xR1xS1", "depthwise:G6xP56xQ9xR3xS3"]), 0, 1)
    writer, reader = parts_of(group, (Loop(4, ("P", "P"), recomputes),))
    assert [(cut.sizes, cut.overlap, cut.tile) for cut in writer.cuts] == [(sizes, overlap, 16)]
    assert reader.regular
    assert not writer.regular
    # Two rows of nine columns and six channels; what the reader reads is in its tile.
    assert writer.strips == (overlap * 9 * 6,)
    assert waiting_words((writer, reader)) == [overlap * 9 * 6, 0]


def test_a_bottleneck_runs_whole_and_recomputing_never_costs_more() -> None:
    texts = ["conv:C4xM8xP8xQ8xR1xS1", "depthwise:G8xP8xQ8xR3xS3", "conv:C8xM4xP8xQ8xR1xS1"]
    arch = jl.Architecture.read("two_levels").with_({"Buffer.depth": 280})
    kept, again = jl.chain(arch, texts), jl.chain(arch, texts, recompute=True)
    assert kept.optimal
    assert again.optimal
    assert again.energy_pj < kept.energy_pj < kept.apart_pj
    assert any(loop.recomputes for group in again.groups for loop in group.prefix)
    assert not any(loop.recomputes for group in kept.groups for loop in group.prefix)


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["fc:4x4"], "two layers at least"),
        (["matmul:M16xN32xK8", "matmul:M8xN32xK15"], "reads 15 values along channels"),
        (["matmul:M16xN32xK8", "matmul:M8xN31xK16"], "reads 31 values along N"),
        (["matmul:M16xN32xK8/batch2", "matmul:M8xN32xK16"], "reads no rank H of 2"),
        (["conv:C3xM6xP9xQ9", "conv:C6xM4xP12xQ9"], "reads 12 values along P"),
    ],
)
def test_layers_that_do_not_follow_each_other_are_refused(texts: list[str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        chain(*texts)


def test_a_file_tells_all_that_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("layers:\n- {name: a, layer: matmul:M4}\n- {name: a, layer: nothing}\n")
    with pytest.raises(InputError) as raised:
        read_chain(path)
    faults = [str(fault) for fault in raised.value.faults]
    assert all(str(path) in fault for fault in faults)
    for text in ("two layers have one name", "layers[0].layer", "layers[1].layer"):
        assert any(text in fault for fault in faults)


def test_every_shipped_chain_is_read() -> None:
    for path in sorted((ROOT / "layers" / "chains").glob("*.yaml")):
        assert len(chain_named(path.stem).problems) >= 2
    with pytest.raises(InputError, match="did you mean 'attention_bert_512'"):
        chain_named("atention_bert_512")
    with pytest.raises(InputError) as told:
        chain_named(["fc:4x4", "fc:4x", "x"])
    assert [fault.source for fault in told.value.faults] == ["layers[1]", "layers[2]"]


def test_parts_begin_outputs_once_and_go_on_from_partial_sums() -> None:
    group = Group(chain_named(PAIR), 0, 1)
    assert tuple(group.axes) == (("M", "K"), ("N", "N"))
    first, second = parts_of(group, (Loop(4, ("N", "N")), Loop(2, ("M", "K"))))
    assert (first.iterations, first.fresh) == (8, 8)
    assert (second.iterations, second.fresh) == (8, 4)
    assert first.problem.bound == {"M": 8, "N": 8, "K": 8}
    spaces = {space.name: space for space in first.problem.data_spaces}
    # Rows of the first factor change at every step, columns of the second where N steps alone.
    assert [first.periods(spaces[name]) for name in "ABZ"] == [8, 4, 8]
    assert second.periods(second.output) == 4


def test_a_group_inside_another_has_loops_of_its_own(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    arguments = ["chain", *TRIPLE, "--arch", "two_levels", "--set", "Buffer.depth=150"]
    shown = CliRunner().invoke(app, [*arguments, "--page", str(page)])
    assert "1,152 words" in shown.output
    assert "\nfor N in 2:\n  for M|K in 16:\n    matmul" in shown.output
    assert "holds B (64 words)" in shown.output
    assert page.read_text().count("<b>for ") == 2
    [group] = json.loads(CliRunner().invoke(app, [*arguments, "--json"]).output)["groups"]
    inside, alone = group["parts"]
    assert len(group["layers"]) == 3
    assert [one["layer"] for one in inside["parts"]] == inside["layers"] == group["layers"][:2]
    assert inside["energy"] + alone["energy"] == group["energy"] == 1152


@pytest.mark.parametrize(("layers", "words", "least_pj"), [(TRIPLE, 150, 1152), (["matmul:M16xN16xK16"] * 2, 40, 3328)])
def test_a_certificate_states_groups_inside_others(
    tmp_path: Path, layers: list[str], words: int, least_pj: float
) -> None:
    proof = tmp_path / "proof.json"
    arguments = ["--arch", "two_levels", "--set", f"Buffer.depth={words}", "--certificate", str(proof)]
    shown = CliRunner().invoke(app, ["chain", *layers, *arguments])
    assert f"{least_pj:,} words" in shown.output
    assert CliRunner().invoke(app, ["check", str(proof)]).exit_code == 0
    data = json.loads(proof.read_text())
    assert data["value"] == least_pj
    assert any("parts" in part for part in data["groups"][0]["parts"])
    arch = jl.Architecture.read("two_levels").with_({"Buffer.depth": words})
    assert jl.chain(arch, layers).certificate() == data


def test_tiles_of_one_layer_stand_between_different_loops() -> None:
    """Words as accelforge's mapper finds and counts them (tests/reference/fused)."""
    layers = ["matmul:M16xN16xK16"] * 2
    shown = CliRunner().invoke(app, ["chain", *layers, "--arch", "two_levels", "--set", "Buffer.depth=40"])
    assert "3,328 words" in shown.output
    assert "\n  for K in 16, M in 2:\n    matmul" in shown.output
    arch = jl.Architecture.read("two_levels").with_({"Buffer.depth": 40})
    [group] = jl.chain(arch, layers).groups
    assert [len(child.children) for child in group.children if isinstance(child, GroupRun)] == [1, 1]


def test_fusion_saves_what_the_intermediate_moves_outside() -> None:
    found = jl.chain("eyeriss", PAIR)
    assert found.optimal
    # 16 x 32 words are written and read again by layers apart.
    assert found.apart_outer_words - found.outer_words == 2 * 16 * 32
    assert found.energy_pj < found.apart_pj
    assert found.lower_bound_pj == found.energy_pj
    assert [len(group.layers) for group in found.groups] == [2]


@pytest.mark.parametrize(("tokens", "passes"), slow_after(3, [(128, 1), (256, 1), (512, 2), (2048, 8), (4096, 16)]))
def test_attention_moves_keys_and_values_once_a_pass(tokens: int, passes: int) -> None:
    arch = jl.Architecture.read("two_levels").with_({"Buffer.depth": 65536})
    found = jl.chain(arch, [f"matmul:M{tokens}xN{tokens}xK64", f"matmul:M64xN{tokens}xK{tokens}"])
    assert found.optimal
    assert found.outer_words == 2 * tokens * 64 * (1 + passes)


def test_a_level_that_cannot_keep_both_sides_leaves_layers_apart() -> None:
    found = jl.chain("gemmini", PAIR, constraints="full")
    assert found.optimal
    assert found.energy_pj == found.apart_pj
    assert [len(group.layers) for group in found.groups] == [1, 1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--level", "shared_gbl"], "did you mean 'shared_glb'"),
        (["--level", "psum_spad"], "several instances"),
        (["--factors", "imperfect"], "loops may end early"),
        (["--semantics", "timeloop-2023-04"], "first fills of outputs count"),
    ],
)
def test_levels_and_rules_that_are_not_counted_are_refused(arguments: list[str], said: str) -> None:
    result = CliRunner().invoke(app, ["chain", *PAIR, "--arch", "eyeriss", *arguments])
    assert isinstance(result.exception, InputError)
    assert said in str(result.exception)


def test_a_limit_gives_the_best_so_far_with_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    # Every way that is not searched costs a walk, so there are few.
    monkeypatch.setattr(optimise, "_HURRIED_SECONDS", 0.0)
    small = ["matmul:M4xN4xK4"] * 2
    found, whole = jl.chain("eyeriss", small, seconds=0), jl.chain("eyeriss", small)
    assert not found.optimal
    if found.ok:
        assert found.lower_bound_pj <= whole.energy_pj <= found.energy_pj


def test_chains_of_a_network_are_layers_that_run_equally_often_and_follow_each_other() -> None:
    found = [(chain.names, count) for chain, count in chains_in("bert_base_512")]
    assert found == [(("scores", "weighted_values"), 12), (("output", "up", "down"), 12)]
    network = {"name": "made", "layers": [{"name": "a", "kind": "fc", "sizes": {"C": 8, "M": 6}}]}
    network["layers"] += [
        {"name": "b", "kind": "fc", "sizes": {"C": 6, "M": 4}},
        {"name": "c", "kind": "fc", "count": 2, "sizes": {"C": 4, "M": 2}},
    ]
    assert [(chain.names, count) for chain, count in chains_in(network)] == [(("a", "b"), 1)]


def test_a_network_states_its_chains_or_has_none() -> None:
    layers = [{"name": name, "kind": "fc", "count": 3, "sizes": {"C": 8, "M": 8, "N": 4}} for name in ("a", "b", "c")]
    network = {"name": "made", "layers": layers}

    def found(*chains: dict[str, object]) -> list[tuple[tuple[str, ...], int]]:
        return [(chain.names, count) for chain, count in chains_in(network | {"chains": [*chains]})]

    assert [chain.names for chain, _ in chains_in(network)] == [("a", "b", "c")]
    assert found() == []
    assert found({"layers": ["c", "a"], "count": 2}, {"layers": ["b", "b"]}) == [(("c", "a"), 2), (("b", "b"), 1)]
    with pytest.raises(InputError) as told:
        found({"layers": ["a", "d"]}, {"layers": ["b", "b"], "count": 2})
    said = [str(fault) for fault in told.value.faults]
    assert any("chains.0.layers: unknown layer (got 'd')" in one for one in said)
    assert any("more often than the network" in one and "'b'" in one for one in said)


@pytest.mark.parametrize(
    "answer",
    [
        SearchResult("no_mapping", stopped="seconds"),
        SearchResult("failed", "not enough memory"),
        SearchResult("no_mapping", stopped="interrupt"),
    ],
)
def test_a_part_that_is_not_decided_leaves_its_bound(
    answer: SearchResult, pair: ChainResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ChainSearch, "of_part", lambda *_, **__: answer)
    found = jl.chain("eyeriss", PAIR)
    assert found.energy_pj == found.apart_pj
    assert not found.optimal
    assert found.lower_bound_pj <= pair.energy_pj
    monkeypatch.setattr(ChainSearch, "of_part", lambda *_, **__: SearchResult("no_mapping"))
    assert jl.chain("eyeriss", PAIR).optimal


def test_the_command_begins_with_the_answer_and_has_a_plain_form() -> None:
    shown = CliRunner().invoke(app, ["chain", *PAIR, "--arch", "eyeriss"])
    assert shown.exit_code == 0
    assert [line.split()[0] for line in shown.stdout.splitlines()[:3]] == ["energy", "outside", "optimum"]
    plain = json.loads(CliRunner().invoke(app, ["chain", *PAIR, "--arch", "eyeriss", "--json"]).stdout)
    assert plain["optimal"] is True
    assert plain["energy"] == pytest.approx(jl.chain("eyeriss", PAIR).energy_pj)
    assert [run["iterations"] for part in plain["groups"][0]["parts"] for run in part["runs"]] == [1, 1]


def test_a_signal_ends_the_command_with_what_it_has_and_its_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    searched = ChainSearch.of_part

    def interrupted(self: ChainSearch, *arguments: Any, **named: Any) -> SearchResult | None:
        signal.raise_signal(signal.SIGINT)
        monkeypatch.setattr(ChainSearch, "of_part", searched)
        return searched(self, *arguments, **named)

    monkeypatch.setattr(ChainSearch, "of_part", interrupted)
    shown = CliRunner().invoke(app, ["chain", *PAIR, "--arch", "eyeriss"])
    assert shown.stdout.startswith("energy")
    assert shown.exit_code == 130
