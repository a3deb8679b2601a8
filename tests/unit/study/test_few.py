"""Few new layers are searched before the jobs of their chunks start: a job takes the note of its own run."""

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from jouleloop.engines.protocol import PROVEN, SearchOptions, Target
from jouleloop.errors import InputError
from jouleloop.files import read_sealed_json
from jouleloop.mapping.mapping import Mapping
from jouleloop.model.evaluation import Evaluation
from jouleloop.optimum.result import SearchResult
from jouleloop.study import few
from jouleloop.study.compute import Job, run_chunk
from jouleloop.study.few import Chunk, search_few
from jouleloop.study.plan import expected_chunks, write_chunk
from jouleloop.study.runlog import FEW, LOGS, current_run, start_run, taken
from jouleloop.study.store import ResultStore
from jouleloop.study.targets import TargetFiles, TargetSet
from jouleloop.workload.problem import Problem
from jouleloop.workload.sizes import parse_layer
from paths import ROOT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux alone")


@dataclass
class FakeEngine:
    """Finds no mapping for anything, at once."""

    name: str = "fake"
    version: str = "1"

    def evaluate(self, problem: Problem, target: Target, mapping: Mapping) -> Evaluation:
        raise NotImplementedError

    def search(self, problem: Problem, target: Target, options: SearchOptions = PROVEN) -> SearchResult:  # noqa: ARG002
        return SearchResult("no_mapping", "none fits", engine=self.name)


STORE, OPTIONS = Path("results/store"), {"objective": ["energy"]}


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Job]:
    monkeypatch.chdir(tmp_path)
    found = {}
    for name in ("simba", "eyeriss"):
        energy = next((ROOT / "arch/energy").glob(f"{name}*.yaml"))
        files = TargetFiles(name, ROOT / f"arch/{name}.yaml", energy, ROOT / f"mappings/{name}.yaml")
        found[name] = Job(TargetSet(files), FakeEngine())
    return found


def chunks(texts: Sequence[str]) -> dict[str, Chunk]:
    return {f"{arch}-0000": (arch, [parse_layer(text) for text in texts], OPTIONS) for arch in ("simba", "eyeriss")}


def begin(found: dict[str, Chunk]) -> str:
    options = {name: chunk[2] for name, chunk in found.items()}
    return start_run(LOGS, expected_chunks(options, {name: len(chunk[1]) for name, chunk in found.items()}))


def test_what_is_new_is_searched_once_for_all_chunks(jobs: dict[str, Job]) -> None:
    before, wanted = chunks(["fc:4x4"]), chunks(["fc:4x4", "fc:8x4"])
    for arch, layers, _ in before.values():
        run_chunk(jobs[arch], layers, ResultStore(STORE))
    run = begin(wanted)
    search_few(lambda: jobs, wanted, STORE, FEW)
    for name, (arch, layers, _) in wanted.items():
        output = Path(f"results/map/{name}.json")
        output.parent.mkdir(parents=True, exist_ok=True)
        assert taken(output)
        note = read_sealed_json(output)
        assert (note["layers"], note["searched"], note["run"]) == (2, 1, run)
        assert set(note["keys"]) == {jobs[arch].key(layer) for layer in layers} <= ResultStore(STORE).keys()
        # The job of a second try searches itself.
        assert not taken(output)


def test_a_job_takes_no_note_but_its_own(jobs: dict[str, Job]) -> None:
    wanted = chunks(["fc:4x4"])
    output, (arch, layers, _) = Path("results/map/simba-0000.json"), wanted["simba-0000"]
    report = run_chunk(jobs[arch], layers, ResultStore(STORE))
    assert not taken(output)
    run = begin(wanted)
    note = FEW / output.name
    write_chunk(note, report, OPTIONS, "another run")
    assert not taken(output)
    write_chunk(note, report, {"objective": ["delay"]}, run)
    assert not taken(output)
    write_chunk(note, report, OPTIONS, run)
    content = note.read_bytes()
    note.write_bytes(content.replace(b'"searched": 1', b'"searched": 2'))
    assert not taken(output)
    note.write_bytes(content)
    output.parent.mkdir()
    assert taken(output)
    assert output.read_bytes() == content


def test_many_layers_are_left_to_jobs(jobs: dict[str, Job], monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = chunks(["fc:4x4", "fc:8x4"])
    begin(wanted)
    monkeypatch.setattr(few, "_FEW_SECONDS", 0.001)
    search_few(lambda: jobs, wanted, STORE, FEW)
    assert not FEW.exists()
    assert not STORE.exists()


def test_what_goes_wrong_is_left_to_jobs(jobs: dict[str, Job], monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> dict[str, Job]:
        raise InputError("no such engine")

    wanted = chunks(["fc:4x4"])
    begin(wanted)
    search_few(broken, wanted, STORE, FEW)
    assert not FEW.exists()
    # A search that does not end is given up.
    monkeypatch.setattr(few, "_MOST_SECONDS", 0.5)
    monkeypatch.setattr(FakeEngine, "search", lambda *_: time.sleep(100))
    search_few(lambda: jobs, wanted, STORE, FEW)
    assert not FEW.exists()
    assert current_run(LOGS)["chunks"].keys() == wanted.keys()
