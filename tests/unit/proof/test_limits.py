"""A file that would be verified for ever, or with all memory, ends with a line that says so."""

import time
import weakref
from pathlib import Path
from typing import Any

import pytest

from attacks import true_certificate
from chain_attacks import searched
from jouleloop.errors import JouleloopError
from jouleloop.files import read_json
from jouleloop.fusion.certificate import certify_chain
from jouleloop.proof import limits
from jouleloop.proof.cost import cost_of, nest_of
from jouleloop.proof.design import Design
from jouleloop.proof.form import check_form, digest_of
from jouleloop.proof.fused import ChainVerifier
from jouleloop.proof.limits import Exceeded, Verdict, limited
from jouleloop.proof.verify import Refused, verify


def endless() -> dict[str, Any]:
    """Return a file whose mapping costs what it says, of a layer with more unrollings than anyone counts."""
    data = next(found for seed in range(5000, 6000) if (found := true_certificate("general", seed)))
    size = 2 ** (48 // len(data["problem"]["bounds"]))
    data["problem"]["bounds"] = [size] * len(data["problem"]["bounds"])
    data["constraints"], data["parts"] = {}, []
    for level in data["architecture"]["levels"]:
        level |= {"capacity_words": None, "least_words": 0, "fanout": [2**20, 2**20]}
    spaces = [space["name"] for space in data["problem"]["data_spaces"]]
    for n, level in enumerate(data["mapping"]):
        loops = [[d, size] for d in data["problem"]["dimensions"]]
        level |= {"temporal": [] if n else loops, "spatial": [], "keep": spaces}
    design = Design(data)
    cost = cost_of(design, nest_of(design, data["mapping"]))
    assert cost is not None
    data["objective"], data["value"] = "energy", float(cost[0])
    return check_form({**data, "digest": digest_of(data)})


def test_an_endless_file_ends_at_the_limit() -> None:
    file = endless()
    begin = time.process_time()
    with pytest.raises(Refused, match="nothing is proven: it takes more than 1 processor seconds"):
        verify(file, seconds=1.0)
    assert time.process_time() - begin < 15


@pytest.mark.parametrize("seed", [7, 13])
def test_steps_alone_say_whether_the_file_of_a_chain_is_a_claim(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    search = searched(seed)
    result = search.run()
    data = certify_chain(search, result)
    assert result.ok
    assert "claim" not in data
    assert not data["statements"]
    steps = ChainVerifier(data).run().steps
    for most, claim in ((steps, None), (steps - 1, f"it takes more than {steps - 1:,} steps")):
        monkeypatch.setattr(limits, "MOST_CHAIN_STEPS", most)
        assert certify_chain(search, result).get("claim") == claim


def test_a_limit_that_passes_in_a_callback_of_the_garbage_collector_holds() -> None:
    class Thing:
        """Something that can be referred to weakly."""

    def disposed(_reference: weakref.ref[Thing]) -> None:
        while time.process_time() - begin < 0.3:
            pass

    def go_on() -> None:
        things.clear()
        while time.process_time() - begin < 100:
            verdict.took()

    things, verdict, begin = [Thing()], Verdict(), time.process_time()
    reference = weakref.ref(things[0], disposed)
    with pytest.raises(Exceeded, match=r"more than 0\.1 processor seconds"), limited(seconds=0.1):
        go_on()
    assert reference() is None
    assert verdict.steps


def test_memory_has_a_limit() -> None:
    with pytest.raises(Exceeded, match=r"more than 0\.2 GB of memory"), limited(memory_bytes=200_000_000):
        bytearray(10**10)
    assert len(bytearray(10**6)) == 10**6


def test_lists_in_lists_without_end_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "deep.json"
    path.write_text("[" * 200_000 + "]" * 200_000)
    with pytest.raises(JouleloopError):
        check_form(read_json(path))
