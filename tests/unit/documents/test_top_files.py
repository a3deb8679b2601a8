"""Top files of Timeloop designs, which include others by paths of their own making."""

from pathlib import Path

import pytest

from jouleloop.documents.load import ALLOW_OUTSIDE, load_document
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
    assert f"{tmp_path / 'a.yaml'}: line 1: key 'N' is given twice, alike" in caplog.text
    for other in ("8", "16.0", "'16'", "[16]"):
        (tmp_path / "a.yaml").write_text(f"problem: {{N: 16, C: 3, N: {other}}}\n")
        with pytest.raises(InputError, match="key 'N' is given twice"):
            load_document(tmp_path / "a.yaml")


def test_templates_beside_a_file_are_included_and_imported(tmp_path: Path) -> None:
    """As by the front end, whose templates are looked up in the folder of the file."""
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts/memory.j2").write_text(
        "{% macro memory(name, depth=4) %}{name: {{name}}, depth: {{depth}}}{% endmacro %}"
    )
    (tmp_path / "size.yaml").write_text("size: {{words * 2}}\n")
    top = tmp_path / "top.yaml.jinja2"
    top.write_text(
        '{% import "parts/memory.j2" as parts %}{% include "size.yaml" %}'
        "\nlevels: [{{parts.memory('a')}}, {{parts.memory('b', 8)}}]\nfound: {{find_paths('size.yaml') | length}}\n"
    )
    levels = [{"name": "a", "depth": 4}, {"name": "b", "depth": 8}]
    assert load_document(top, {"words": 3}) == {"size": 6, "levels": levels, "found": 1}
    for name in ("../size.yaml", "none.yaml", "top.yaml.jinja2"):
        top.write_text(f'{{% include "{name}" %}}')
        with pytest.raises(InputError, match="the template fails"):
            load_document(top, {"words": 3})


def test_values_may_be_other_files(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts/a.yaml").write_text("a: !include b.yaml\n")
    (tmp_path / "parts/b.yaml").write_text("[1, 2]\n")
    (tmp_path / "top.yaml").write_text("one: !include parts/a.yaml\nall: !includedir parts\n")
    assert load_document(tmp_path / "top.yaml") == {"one": {"a": [1, 2]}, "all": [{"a": [1, 2]}, [1, 2]]}
    (tmp_path / "parts/b.yaml").write_text("!include a.yaml\n")
    with pytest.raises(InputError, match="includes itself"):
        load_document(tmp_path / "top.yaml")
    (tmp_path / "top.yaml").write_text("one: !include parts/c.yaml\n")
    with pytest.raises(InputError, match=r"c\.yaml: no such file"):
        load_document(tmp_path / "top.yaml")
    (tmp_path / "top.yaml").write_text(f"none: !includedir {5000 * 'x'}\n")
    assert load_document(tmp_path / "top.yaml") == {"none": []}


@pytest.mark.parametrize(
    "text",
    [
        "a: !include ../secret.yaml\n",
        "a: !include /etc/hostname\n",
        "{{include_text('../secret.yaml')}}\n",
        "a: {{include(cwd() ~ '/../secret.yaml')}}\n",
        "a: {{add_to_path('..')}}{{include(find_path('secret.yaml'))}}\n",
        "a: {{include_all('../secret*.yaml')}}\n",
        "a: !include inside/link.yaml\n",
        "a_globals: {expression_custom_functions: [../secret.yaml]}\n",
    ],
)
def test_a_design_reads_its_own_folder_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    (tmp_path / "secret.yaml").write_text("b: 1\n")
    (tmp_path / "design/inside").mkdir(parents=True)
    (tmp_path / "design/inside/link.yaml").symlink_to(tmp_path / "secret.yaml")
    top = tmp_path / "design/top.yaml"
    top.write_text(text)
    monkeypatch.delenv(ALLOW_OUTSIDE, raising=False)
    with pytest.raises(InputError, match=r"outside the design's folder|no such file"):
        load_document(top)


def test_a_design_may_be_let_read_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "more.yaml").write_text("b: 1\n")
    (tmp_path / "design").mkdir()
    top = tmp_path / "design/top.yaml"
    top.write_text("a: {{include('../more.yaml')}}\nthere: {{path_exists('../more.yaml')}}\n")
    monkeypatch.setenv(ALLOW_OUTSIDE, "1")
    assert load_document(top) == {"a": {"b": 1}, "there": True}
    assert f"{tmp_path}/design/../more.yaml is read, from outside" in caplog.text
    monkeypatch.delenv(ALLOW_OUTSIDE)
    top.write_text("there: {{path_exists('../more.yaml')}}\n")
    assert load_document(top) == {"there": False}
    (tmp_path / ".git").mkdir()
    assert load_document(top) == {"there": True}
