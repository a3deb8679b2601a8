"""Top files of Timeloop designs, which include others by paths of their own making."""

from pathlib import Path

import pytest

from jouleloop.documents.load import load_document


def test_a_top_file_is_read_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Templates put ``cwd()`` before names, as those of the Timeloop exercises do."""
    (tmp_path / "designs/one").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "designs/one/arch.yaml").write_text("architecture: {version: 0.4}\n")
    (tmp_path / "designs/top.yaml.jinja2").write_text(
        "architecture: {{include(cwd() ~ '/' ~ name ~ '/arch.yaml', 'architecture')}}\n"
    )
    for folder, top in (("designs", "top.yaml.jinja2"), ("elsewhere", "../designs/top.yaml.jinja2")):
        monkeypatch.chdir(tmp_path / folder)
        assert load_document(Path(top), {"name": "one"}) == {"architecture": {"version": 0.4}}
