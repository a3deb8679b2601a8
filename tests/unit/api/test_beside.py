"""Which files belong to an architecture without being named."""

from pathlib import Path

import pytest

from jouleloop.api.project import shipped_root, target_files


def test_a_file_elsewhere_does_not_get_what_a_shipped_one_of_its_name_has(tmp_path: Path) -> None:
    shipped = shipped_root() / "arch" / "simba.yaml"
    own = target_files(str(shipped))
    assert own.constraints is not None
    assert "tables" in [source.estimator for source in own.sources]
    (tmp_path / "simba.yaml").write_text(shipped.read_text())
    other = target_files(str(tmp_path / "simba.yaml"))
    assert other.constraints is None
    assert [source.estimator for source in other.sources] == ["interpolated"]


def test_what_lies_near_a_file_belongs_to_it(tmp_path: Path) -> None:
    for folder in ("arch/energy", "mappings"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "arch/mine.yaml").write_text("architecture: {}")
    (tmp_path / "arch/energy/mine-45nm.yaml").write_text("ERT: {}")
    (tmp_path / "mappings/mine.yaml").write_text("{}")
    found = target_files(str(tmp_path / "arch/mine.yaml"))
    assert found.constraints == tmp_path / "arch/../mappings/mine.yaml"
    assert [source.estimator for source in found.sources] == ["tables", "interpolated"]


@pytest.mark.parametrize("folder", ["", "arch", "designs/deep"])
def test_a_project_has_constraints_for_all_of_its_files(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for made in ("arch", "config", "mappings", folder):
        (tmp_path / made).mkdir(parents=True, exist_ok=True)
    (tmp_path / folder / "mine.yaml").write_text("architecture: {}")
    (tmp_path / "mappings/mine.yaml").write_text("{}")
    monkeypatch.chdir(tmp_path)
    found = target_files(str(Path(folder) / "mine.yaml"))
    assert found.constraints is not None
    assert found.constraints.samefile(tmp_path / "mappings/mine.yaml")
