"""A second study does not replace the first unasked, and leaves nothing of it behind where it does."""

from pathlib import Path

import pytest

from jouleloop.errors import InputError
from jouleloop.study.occupied import claim, claim_alone


def left(results: Path) -> list[str]:
    return sorted(path.relative_to(results).as_posix() for path in results.rglob("*") if path.is_file())


def test_another_study_is_refused_and_nothing_touched(tmp_path: Path) -> None:
    claim(tmp_path, ["first", "second"])
    (tmp_path / "figures/first").mkdir(parents=True)
    (tmp_path / "figures/first/growth.png").write_text("picture")
    before = left(tmp_path)
    with pytest.raises(InputError, match=r"holds another study.*first, second.*replace=true"):
        claim(tmp_path, ["third"])
    assert left(tmp_path) == before
    claim(tmp_path, ["third"], replace=True)
    assert left(tmp_path) == ["study.json"]
    claim(tmp_path, ["third", "fourth"])


def test_a_study_that_drops_a_sweep_keeps_no_picture_of_it(tmp_path: Path) -> None:
    claim(tmp_path, ["first", "second"])
    for name in ("first", "second"):
        (tmp_path / "layers").mkdir(exist_ok=True)
        (tmp_path / f"layers/{name}.csv").write_text("layers")
        (tmp_path / f"figures/{name}").mkdir(parents=True)
        (tmp_path / f"figures/{name}/growth.png").write_text("picture")
    claim(tmp_path, ["second"])
    assert left(tmp_path) == ["figures/second/growth.png", "layers/second.csv", "study.json"]


def test_the_same_sweeps_under_other_settings_are_another_study(tmp_path: Path) -> None:
    mine = {"configuration": ["config/config.yaml"], "objective": ["energy"]}
    claim(tmp_path, ["first"], mine, ["simba"])
    claim(tmp_path, ["first", "second"], mine, ["simba"])
    before = left(tmp_path)
    with pytest.raises(InputError, match=r"objective energy, now delay\+energy.*replace=true") as refused:
        claim(tmp_path, ["first"], mine | {"objective": ["delay", "energy"]}, ["simba"])
    assert refused.value.exit_code != 0
    with pytest.raises(InputError, match=r"configuration config/config.yaml, now config/other.yaml"):
        claim(tmp_path, ["first"], mine | {"configuration": ["config/other.yaml"]}, ["simba"])
    assert left(tmp_path) == before
    claim(tmp_path, ["first"], mine | {"objective": ["delay"]}, ["simba"], replace=True)
    claim(tmp_path, ["first"], mine | {"objective": ["delay"]}, ["simba"])


def test_no_picture_of_an_architecture_stays_that_the_study_has_no_more(tmp_path: Path) -> None:
    claim(tmp_path, ["first"], {}, ["simba", "eyeriss"])
    (tmp_path / "figures/first").mkdir(parents=True)
    for name in ("simba", "eyeriss"):
        (tmp_path / f"figures/first/growth_{name}.png").write_text("picture")
    claim(tmp_path, ["first"], {}, ["simba"])
    assert left(tmp_path) == ["figures/first/growth_simba.png", "study.json"]


def test_a_command_never_takes_the_folder_of_another_study(tmp_path: Path) -> None:
    claim(tmp_path, ["small"], {"configuration": ["config/config.yaml"]}, ["simba"])
    for name in ("energies.csv", "fits.parquet", "report.html", "notes.csv", "store/segment.parquet"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    before = left(tmp_path)
    mine, tables = {"configuration": ["jouleloop network small"], "seconds": None}, ["energies", "fits"]
    with pytest.raises(InputError, match=r"now jouleloop network small.*--output, or --replace"):
        claim_alone(tmp_path, ["small"], mine, tables)
    assert left(tmp_path) == before
    claim_alone(tmp_path, ["small"], mine, tables, replace=True)
    assert left(tmp_path) == ["notes.csv", "store/segment.parquet", "study.json"]  # what is of the user, and by content
    claim_alone(tmp_path, ["small"], mine, tables)
    with pytest.raises(InputError, match=r"seconds None, now 3.0"):
        claim_alone(tmp_path, ["small"], mine | {"seconds": 3.0}, tables)
    with pytest.raises(InputError, match="holds another study"):
        claim_alone(tmp_path, ["small", "other"], mine, tables)


def test_energies_of_an_unknown_study_are_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "energies.csv").write_text("mine")
    with pytest.raises(InputError, match="energies of an unknown study"):
        claim_alone(tmp_path, ["small"], {}, ["energies"])
    assert left(tmp_path) == ["energies.csv"]
