"""Searches of a curve in a file: found again, refused where they are another curve's or damaged."""

from dataclasses import replace
from pathlib import Path

import pytest

from asked import question
from jouleloop.curves.kept import KeptSearches, question_key
from jouleloop.curves.staircase import Limits, Question, walk
from jouleloop.engines.native import NativeEngine
from jouleloop.errors import InputError
from jouleloop.files import write_sealed_json


def forbidden(*_: object) -> None:
    raise AssertionError("a search that is known")


def kept(path: Path, asked: Question, **limits: int) -> list[tuple[int, int | None, float]]:
    known = KeptSearches(path, asked)
    curve = walk(asked, Limits(**limits), known)  # type: ignore[arg-type]
    known.write()
    return [(step.words, step.most_words, step.value) for step in curve.steps]


def test_nothing_is_searched_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, asked = tmp_path / "curve.json", question("matmul:M8xN16xK12")
    few = kept(path, asked, steps=4)
    whole = kept(path, asked)
    assert whole[-4:] == few
    assert [row[2] for row in whole] == [step.value for step in walk(asked, Limits()).steps]
    before = path.read_bytes()
    monkeypatch.setattr(NativeEngine, "search", forbidden)
    assert kept(path, asked) == whole
    assert path.read_bytes() == before
    # A search answers every capacity between what its mapping fills and what it might fill.
    part = kept(path, replace(asked, most_words=110))
    assert part[-1] == (80, 110, 512.0) or part[-1][1] == 110


def test_a_layer_without_a_mapping_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, asked = tmp_path / "curve.json", question("fc:64x32", "eyeriss", "shared_glb")
    whole = kept(path, asked)
    monkeypatch.setattr(NativeEngine, "search", forbidden)
    assert kept(path, asked) == whole


def test_other_questions_and_damage_are_refused(tmp_path: Path) -> None:
    path, asked = tmp_path / "curve.json", question("matmul:M2xN2xK2")
    kept(path, asked)
    for other in (question("matmul:M2xN2xK4"), question("matmul:M2xN2xK2", objective="delay")):
        with pytest.raises(InputError, match="holds another curve"):
            KeptSearches(path, other)
    path.write_text(path.read_text().replace("12.0", "11.0"))
    with pytest.raises(InputError, match="damaged"):
        KeptSearches(path, asked)
    write_sealed_json(path, {"key": question_key(asked), "searches": [{"words": 3}]})
    with pytest.raises(InputError, match="of another form"):
        KeptSearches(path, asked)


def test_capacity_is_no_part_of_the_key() -> None:
    asked = question("matmul:M2xN2xK2")
    level = replace(asked.storage, capacity_words=77)
    arch = replace(asked.target.arch, levels=(asked.target.arch.levels[0], level))
    assert question_key(replace(asked, target=replace(asked.target, arch=arch))) == question_key(asked)
