"""Top files of Timeloop designs, which include others by paths of their own making."""

from pathlib import Path

import pytest

from jouleloop.documents.load import load_document
from jouleloop.errors import InputError
from jouleloop.files import parse_yaml


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


def test_an_anchor_stands_for_the_last_node_of_its_name() -> None:
    """As in YAML and in every version of Timeloop; all else is refused as in any other document."""
    text = "a: &x {p: 1}\nb: *x\nc: &x {p: 2}\nd: *x\ne: {<<: *x, q: 3}\n"
    assert parse_yaml(text, "t") == {"a": {"p": 1}, "b": {"p": 1}, "c": {"p": 2}, "d": {"p": 2}, "e": {"p": 2, "q": 3}}
    for wrong, message in (
        ("f: &x {a: 1, a: 2}", "given twice"),
        ("f: &x [*x]", "contains itself"),
        ("f: !!python/object:os.system {}", "could not determine a constructor"),
    ):
        with pytest.raises(InputError, match=message):
            parse_yaml(text + wrong, "t")


def test_a_key_given_twice_with_one_value_counts_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """So reads Timeloop, which takes the first; where the values differ nobody can have meant both."""
    (tmp_path / "a.yaml").write_text("problem: {N: 16, C: 3, N: 16}\n")
    assert load_document(tmp_path / "a.yaml") == {"problem": {"N": 16, "C": 3}}
    assert "key 'N' is given twice, alike" in caplog.text
    for other in ("8", "16.0", "'16'", "[16]"):
        (tmp_path / "a.yaml").write_text(f"problem: {{N: 16, C: 3, N: {other}}}\n")
        with pytest.raises(InputError, match="key 'N' is given twice"):
            load_document(tmp_path / "a.yaml")
