"""Store, chunks and tables: nothing twice, nothing lost, nothing half-written read, the same bytes whatever the way."""

import json
import multiprocessing
import os
import signal
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
import pytest

from jouleloop.columns import read_table, write_csv, write_parquet
from jouleloop.engines.protocol import PROVEN, SearchOptions, Target
from jouleloop.errors import EngineError, InputError
from jouleloop.mapping.mapping import LevelMapping, Mapping
from jouleloop.model.evaluation import DataStats, Evaluation, LevelStats
from jouleloop.names import safe_cell, safe_name
from jouleloop.optimum.result import SearchResult
from jouleloop.study.chunks import (
    chunk_count,
    chunk_digest,
    cut,
    distinct_layers,
    estimated_seconds,
    read_layers,
    write_layers,
)
from jouleloop.study.compute import Job, run_chunk
from jouleloop.study.provenance import provenance
from jouleloop.study.store import ResultStore
from jouleloop.study.targets import TargetFiles, TargetSet
from jouleloop.tables.energies import energies_table
from jouleloop.tables.layouts import ANY, ENERGIES
from jouleloop.tables.networks import MAPPED, TOTAL, network_table
from jouleloop.workload.layer import Layer
from jouleloop.workload.problem import Problem
from jouleloop.workload.sizes import parse_layer
from jouleloop.workload.sweep import Sweep, SweepPoint, load_network, load_sweep
from paths import ROOT
from waiting import until


@dataclass
class FakeEngine:
    """Costs a layer its operations; refuses odd C, breaks on C = 13."""

    name: str = "fake"
    version: str = "1"
    searched: list[str] = field(default_factory=list)

    def evaluate(self, problem: Problem, target: Target, mapping: Mapping) -> Evaluation:
        raise NotImplementedError

    def search(self, problem: Problem, target: Target, options: SearchOptions = PROVEN) -> SearchResult:  # noqa: ARG002
        self.searched.append(problem.name)
        c = problem.bound["C"]
        if c == 13:
            raise EngineError("the engine broke")
        if c % 2:
            return SearchResult("no_mapping", "C is odd", engine=self.name)
        words = problem.macs
        stats = DataStats(words, words, 1, 1, words, 0, 0, 0, 64.0 * words)
        outer = LevelStats(target.arch.level_names[0], words, 1.0, {"Weights": stats})
        evaluation = Evaluation((outer,), {}, "mac", 1, words, words, 2.0 * words, words, 0.5, 66.0 * words)
        mapping = Mapping((LevelMapping(outer.name, (("C", c),), (), frozenset({"Weights"})),))
        proof = {"lower_bound": 66.0 * words, "optimal": True, "mapspace_size": 10**25, "visited": 1, "seconds": 0.1}
        return SearchResult("ok", mapping=mapping, evaluation=evaluation, engine=self.name, **proof)  # type: ignore[arg-type]


def target(name: str = "eyeriss") -> TargetSet:
    energy = next((ROOT / "arch/energy").glob(f"{name}*.yaml"))
    return TargetSet(TargetFiles(name, ROOT / f"arch/{name}.yaml", energy, ROOT / f"mappings/{name}.yaml"))


def sweep(*texts: str, name: str = "s") -> Sweep:
    return Sweep(
        name, "fc", tuple(SweepPoint(parse_layer(text), 1) for text in texts), str(ROOT / "layers/fc_inputs.yaml")
    )


def job(engine: FakeEngine | None = None) -> Job:
    return Job(target(), engine or FakeEngine())


def test_sweeps_share_results(tmp_path: Path) -> None:
    engine = FakeEngine()
    work, store = job(engine), ResultStore(tmp_path)
    grid = sweep("fc:2x4", "fc:4x4", "fc:6x4", name="grid")
    assert run_chunk(work, distinct_layers([grid]), store).computed == 3
    line = sweep("fc:4x4", "fc:8x4", name="line")
    report = run_chunk(work, distinct_layers([grid, line]), ResultStore(tmp_path))
    assert (report.computed, report.cached) == (1, 3)
    assert sorted(engine.searched) == ["fc:2x4", "fc:4x4", "fc:6x4", "fc:8x4"]


def test_a_new_version_computes_again(tmp_path: Path) -> None:
    layers = [parse_layer("fc:2x4")]
    assert run_chunk(job(FakeEngine()), layers, ResultStore(tmp_path)).computed == 1
    assert run_chunk(job(FakeEngine(version="2")), layers, ResultStore(tmp_path)).computed == 1
    again = Job(target("simba"), FakeEngine())
    assert run_chunk(again, layers, ResultStore(tmp_path)).computed == 1
    assert run_chunk(job(FakeEngine()), layers, ResultStore(tmp_path)).cached == 1


def test_the_name_is_no_part_of_the_key() -> None:
    work = job()
    layer = parse_layer("fc:2x4")
    assert work.key(layer) == work.key(layer.renamed("other"))
    assert work.key(layer) != work.key(parse_layer("fc:4x2"))


def test_grouped_layers_have_their_own_key() -> None:
    work = job()
    one = Layer.of("conv", C=4, M=4, R=3, S=3, P=4, Q=4)
    assert work.key(one) != work.key(Layer.of("conv", C=4, M=4, R=3, S=3, P=4, Q=4, groups=2))


def test_no_mapping_and_failure_are_rows(tmp_path: Path) -> None:
    work, points = job(), sweep("fc:2x4", "fc:3x4", "fc:13x4")
    table, timings = energies_table({"eyeriss": work}, [points], ResultStore(tmp_path))
    assert list(table["status"]) == ["ok", "no_mapping", "failed"]
    assert list(table["reason"]) == ["", "C is odd", "the engine broke"]
    assert table["total_pj"].iloc[0] == 66 * 8
    assert table["data_pj"].iloc[0] == 64 * 8
    assert table.loc[1:, ["total_pj", "cycles", "DRAM_weights_pj"]].isna().all().all()
    assert len(timings) == 3


def test_columns_asked_for(tmp_path: Path) -> None:
    wanted = """
        architecture sweep layer N C M R S P Q w_stride h_stride status reason total_pj data_pj compute_pj
        dram_words_weights dram_words_inputs dram_words_outputs cycles utilization mapping optimal lower_bound_pj
        mapspace_size visited engine energy_table DRAM_weights_pj shared_glb_inputs_pj psum_spad_outputs_pj
    """.split()  # noqa: SIM905
    table, _ = energies_table({"eyeriss": job()}, [sweep("fc:2x4")], ResultStore(tmp_path))
    assert [name for name in wanted if name not in table.columns] == []
    assert "shared_glb_weights_pj" not in table.columns


def test_tables_do_not_depend_on_chunks(tmp_path: Path) -> None:
    points = sweep(*(f"fc:{c}x{m}" for c in range(2, 20, 2) for m in (4, 6)))
    layers = distinct_layers([points])
    texts = set()
    for count in (1, 3, 7):
        store = ResultStore(tmp_path / str(count))
        for chunk in reversed(cut(layers, count)):
            run_chunk(job(), chunk, store)
        table, _ = energies_table({"eyeriss": job()}, [points], store)
        write_csv(tmp_path / f"{count}.csv", table, ENERGIES)
        write_parquet(tmp_path / f"{count}.parquet", table, ENERGIES, provenance({"eyeriss": job()}, [points]))
        texts.add(((tmp_path / f"{count}.csv").read_bytes(), (tmp_path / f"{count}.parquet").read_bytes()))
    assert len(texts) == 1


def test_cut_is_a_partition() -> None:
    layers = [parse_layer(f"fc:{c}x{m}") for c in range(1, 30) for m in range(1, 5)]
    for count in (1, 2, 5, len(layers)):
        chunks = cut(layers, count)
        assert sorted(layer.spec() for chunk in chunks for layer in chunk) == sorted(layer.spec() for layer in layers)
        assert all(chunks)
        assert max(map(len, chunks)) - min(map(len, chunks)) < len(layers)
    assert chunk_count(layers, seconds=1e9, least=2, most=9) == 2
    assert chunk_count(layers, seconds=1e-9, least=2, most=9) == 9
    assert chunk_count(layers[:1], seconds=1e-9, least=2, most=9) == 1


def test_an_added_layer_changes_one_of_many_chunks() -> None:
    layers = [parse_layer(f"fc:{c}x{m}") for c in range(1, 101) for m in range(1, 101)]
    count = chunk_count(layers, seconds=sum(map(estimated_seconds, layers)) / 9, least=2, most=100)
    assert count == 8
    before = list(map(chunk_digest, cut(layers, count)))
    after = list(map(chunk_digest, cut([*layers, parse_layer("fc:500x500")], count)))
    assert sum(one != other for one, other in zip(before, after, strict=True)) == 1
    work = [sum(map(estimated_seconds, chunk)) for chunk in cut(layers, count)]
    assert max(work) < 1.5 * min(work)
    # Twice as many chunks are these, each split in two.
    halves = cut(layers, 2 * count)
    whole = {layer.spec() for layer in cut(layers, count)[3]}
    assert {layer.spec() for layer in (*halves[3], *halves[3 + count])} == whole


def test_layers_of_a_chunk_are_read_as_written(tmp_path: Path) -> None:
    layers = [parse_layer("fc:2x4/batch3"), Layer.of("conv", C=4, M=4, R=3, S=2, P=4, Q=5, w_stride=2, groups=2)]
    write_layers(tmp_path / "c.txt", layers)
    assert read_layers(tmp_path / "c.txt") == layers
    (tmp_path / "c.txt").write_text("fc:2x4\nfc:2")
    with pytest.raises(InputError, match=r"c\.txt"):
        read_layers(tmp_path / "c.txt")


def test_batches_of_a_chunk_become_one_segment(tmp_path: Path) -> None:
    layers = [parse_layer(f"fc:{c}x4") for c in range(2, 102, 2)]
    run_chunk(job(), layers, ResultStore(tmp_path))
    assert len(list(tmp_path.glob("segment-*.parquet"))) == 1
    assert len(ResultStore(tmp_path).keys()) == 50
    # The segment of another chunk is left alone.
    run_chunk(job(), [parse_layer("fc:400x4")], ResultStore(tmp_path))
    assert len(list(tmp_path.glob("segment-*.parquet"))) == 2


def test_a_reader_meets_a_merge(tmp_path: Path) -> None:
    writer, reader = ResultStore(tmp_path), ResultStore(tmp_path)
    segments = [path for n in range(5) if (path := writer.write({f"k{n}": {"n": n}}))]
    assert reader.keys() == {f"k{n}" for n in range(5)}
    found = reader.read([f"k{n}" for n in range(5)])
    first = next(found)
    writer.merge(segments)
    assert dict([first, *found]) == {f"k{n}": {"n": n} for n in range(5)}
    assert reader.damaged == []
    # A merge that was killed before its old segments were removed: everything twice, nothing wrong.
    writer.write({"k0": {"n": 0}})
    assert dict(ResultStore(tmp_path).read(["k0", "k4"])) == {"k0": {"n": 0}, "k4": {"n": 4}}


def test_a_damaged_segment_is_not_merged(tmp_path: Path) -> None:
    store = ResultStore(tmp_path)
    segments = [path for n in range(3) if (path := store.write({f"k{n}": {"n": n}}))]
    segments[0].write_bytes(b"PAR1 half")
    merged = store.merge(segments)
    assert merged is not None
    assert ResultStore(tmp_path).keys() == {"k1", "k2"}


def test_damaged_segments_are_computed_again(tmp_path: Path) -> None:
    store, points = ResultStore(tmp_path), sweep("fc:2x4", "fc:4x4")
    run_chunk(job(), distinct_layers([points]), store)
    (segment,) = tmp_path.glob("segment-*.parquet")
    whole = segment.read_bytes()
    for broken in (whole[: len(whole) // 2], b"", whole[:200] + b"\xff" * 64 + whole[264:]):
        segment.write_bytes(broken)
        fresh = ResultStore(tmp_path)
        table, _ = energies_table({"eyeriss": job()}, [points], fresh)
        assert list(table["status"]) == ["ok", "ok"]
        assert fresh.damaged == [segment]
        for path in tmp_path.glob("segment-*.parquet"):
            path.unlink()


def test_leftovers_of_a_killed_writer_are_no_results(tmp_path: Path) -> None:
    (tmp_path / ".segment-00.parquet.abc.part.parquet").write_bytes(b"PAR1 half")
    (tmp_path / "segment-00.parquet").write_bytes(b"PAR1 half")
    assert ResultStore(tmp_path).keys() == set()


def _write_for_ever(folder: str) -> None:
    store = ResultStore(Path(folder))
    for number in range(10**6):
        store.write({f"{number:08d}": {"value": number, "text": "x" * 2000}})


def test_kill_in_the_middle_leaves_whole_segments(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_write_for_ever, args=(str(tmp_path),)) for _ in range(2)]
    for worker in workers:
        worker.start()
    until(lambda: len(list(tmp_path.glob("segment-*"))) >= 20 or not all(worker.is_alive() for worker in workers))
    assert [worker.exitcode for worker in workers] == [None, None]
    for worker in workers:
        os.kill(worker.pid or 0, signal.SIGKILL)
        worker.join()
    store = ResultStore(tmp_path)
    keys = store.keys()
    assert len(keys) >= 10
    assert {key: record["value"] for key, record in store.read(keys)} == {key: int(key) for key in keys}
    assert store.damaged == []


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("a file")
    with pytest.raises(InputError, match="cannot be written"):
        ResultStore(tmp_path / "store").write({"k": {}})


def test_parquet_keeps_provenance_and_version(tmp_path: Path) -> None:
    table, _ = energies_table({"eyeriss": job()}, [sweep("fc:2x4")], ResultStore(tmp_path))
    source = provenance({"eyeriss": job()}, [sweep("fc:2x4")])
    write_parquet(tmp_path / "t.parquet", table, ANY, source)
    again, found = read_table(tmp_path / "t.parquet", ANY)
    pd.testing.assert_frame_equal(again, table)
    assert again.attrs["table_version"] == 1
    assert found == json.loads(json.dumps(source))
    assert found["architectures"]["eyeriss"]["energy_table"]
    with pytest.raises(InputError, match="no such file"):
        read_table(tmp_path / "none.parquet", ANY)
    (tmp_path / "half.parquet").write_bytes((tmp_path / "t.parquet").read_bytes()[:500])
    with pytest.raises(InputError, match="no seal"):
        read_table(tmp_path / "half.parquet", ANY)


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "=cmd|' /C calc'!A0"])
def test_no_cell_is_a_formula(tmp_path: Path, text: str) -> None:
    write_csv(tmp_path / "t.csv", pd.DataFrame({"layer": [text], "value": [-1.5]}), ANY)
    again = pd.read_csv(tmp_path / "t.csv")
    assert str(again["layer"][0])[0] == "'"
    assert again["value"][0] == -1.5
    assert safe_cell(-1) == -1


def test_names_that_become_paths() -> None:
    for text in (
        "../../etc/passwd",
        "/etc/passwd",
        "a/b",
        "..",
        ".",
        "",
        "a\x00b",
        "ü" * 300,
        "x" * 300,
        "<b>&",
        "CON:",
    ):
        name = safe_name(text)
        assert name
        assert len(name) < 128
        assert name.lstrip(".") == name
        assert not set(name) & set("/\\:\x00<>&")
    assert safe_name("fc:1024x128") == "fc_1024x128"
    assert safe_name("conv:C3xM8/stride4") == "conv_C3xM8_stride4"
    assert len({safe_name(t) for t in ("a b", "a_b", "a/b", "a:b")}) == 4


def test_network_total_is_the_weighted_sum(tmp_path: Path) -> None:
    network = load_network(ROOT / "layers/networks/resnet50.yaml")
    table, _ = energies_table({"eyeriss": job()}, [network], ResultStore(tmp_path))
    found = network_table(table, [network])
    total = found[found["layer"] == TOTAL].iloc[0]
    # The fake engine charges 66 pJ an operation; odd C (the first layer's 3) has no mapping.
    even = [point for point in network.points if point.layer.sizes["C"] % 2 == 0]
    assert pd.isna(total["total_pj"])
    assert pd.isna(total["cycles"])
    assert total["macs"] == sum(point.count * point.layer.macs for point in network.points)
    assert total["count"] == 54
    assert total["status"].startswith("1 of 24")
    mapped = found[found["layer"] == MAPPED].iloc[0]
    assert mapped["macs"] == sum(point.count * point.layer.macs for point in even)
    assert mapped["total_pj"] == 66.0 * mapped["macs"]
    assert list(found["layer"][:24]) == [point.layer.label for point in network.points]
    # Where all layers have a mapping, the total is that of all, and there is no other sum.
    whole = network_table(table[table["status"] == "ok"], [network])
    assert list(whole["layer"][whole["layer"].str.startswith("(")]) == [TOTAL]
    assert whole["total_pj"].iloc[-1] == mapped["total_pj"]


def test_layers_of_a_sweep_with_stated_inputs_stay_apart() -> None:
    points = load_sweep(ROOT / "layers/conv_random.yaml").points
    assert len({point.layer.label for point in points}) == len(points)


def test_engines_without_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A result that is lost between computing and reading is an error, never an empty row."""
    monkeypatch.setattr(ResultStore, "write", lambda *_: None)
    with pytest.raises(InputError, match="no result was stored"):
        energies_table({"eyeriss": job()}, [sweep("fc:2x4")], ResultStore(tmp_path))
