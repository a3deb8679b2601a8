"""The note of a finished chunk: any bit that differs is found, or changes nothing."""

import contextlib
import random
from pathlib import Path

import pytest

from jouleloop.errors import InputError
from jouleloop.files import read_sealed_json
from jouleloop.study.compute import ChunkReport
from jouleloop.study.plan import write_chunk
from jouleloop.study.summary import searches_of
from overwritten import overwrite


def test_every_flipped_bit_of_a_note_is_found_or_harmless(tmp_path: Path) -> None:
    path = tmp_path / "simba-0000.json"
    write_chunk(path, ChunkReport(("a" * 64, "b" * 64), 1, 1, 0.5), {"objective": ["energy"]}, "now")
    sound, note = path.read_bytes(), read_sealed_json(path)
    assert searches_of([note], "now").searched == 1
    chance = random.Random(1)
    for place in chance.sample(range(8 * len(sound)), 600):
        damaged = bytearray(sound)
        damaged[place // 8] ^= 1 << place % 8
        overwrite(path, damaged)
        with contextlib.suppress(InputError):
            assert read_sealed_json(path) == note, place
    path.write_text("{}")
    with pytest.raises(InputError, match="damaged"):
        read_sealed_json(path)
