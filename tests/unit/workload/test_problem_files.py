"""Timeloop problem files as layers of a network."""

from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from jouleloop.cli.app import app
from jouleloop.config.load import load_all
from jouleloop.errors import InputError
from jouleloop.workload.network_file import problems_document, write_network
from jouleloop.workload.timeloop_problem import read_problem

FORMS = {
    "beside the shape": "problem: {shape: cnn-layer, R: 3, S: 3, P: 8, Q: 8, C: 4, K: 16, N: 1, Wstride: 2}",
    "without a shape": "problem: {R: 3, S: 3, P: 8, Q: 8, C: 4, K: 16, N: 1, Wstride: 2}",
    "another shape": """
problem:
  shape:
    name: product
    dimensions: [A, B]
    data-spaces: [{name: X, projection: [[[A]]]}, {name: Z, projection: [[[B]]], read-write: true}]
  instance: {A: 6, B: 5}
""",
}


def _written(folder: Path) -> list[Path]:
    for name, text in FORMS.items():
        (folder / f"{name.replace(' ', '_')}.yaml").write_text(text)
    return sorted(folder.glob("*.yaml"))


def test_layers_of_a_network_are_the_problems_of_their_files(tmp_path: Path) -> None:
    """Equal problems are one layer with its number; every form that Timeloop reads is read."""
    (tmp_path / "problems").mkdir()
    files = _written(tmp_path / "problems")
    path = tmp_path / "net.yaml"
    document, macs = problems_document(files, path)
    write_network(path, document)
    (network,) = load_all(path)
    assert network.is_network
    assert [(point.layer.name, point.count) for point in network.points] == [
        ("another_shape", 1),
        ("beside_the_shape", 2),
    ]
    assert macs == sum(point.layer.macs * point.count for point in network.points) == 30 + 2 * 9 * 64 * 64
    for point, name in zip(network.points, ("another_shape", "beside_the_shape"), strict=True):
        wanted = read_problem(tmp_path / "problems" / f"{name}.yaml")
        assert point.layer.problem().as_dict() == wanted.as_dict()
        assert point.layer.problem().data_spaces == wanted.data_spaces


def test_all_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    files = _written(tmp_path)
    for file in files[:2]:
        file.write_text("problem: {shape: cnn-layer, R: 0}")
    with pytest.raises(InputError) as error:
        problems_document(files, tmp_path / "net.yaml")
    assert all(file.name in str(error.value) for file in files[:2])


def test_import_writes_a_network_of_problem_files(tmp_path: Path) -> None:
    files = [str(file) for file in _written(tmp_path)]
    output = tmp_path / "net" / "work.yaml"
    output.parent.mkdir()
    told = CliRunner().invoke(app, ["import", *files, "--output", str(output)])
    assert told.exit_code == 0, told.output
    assert "2 distinct layers of 3" in told.stdout
    assert [layer["shape"] for layer in yaml.safe_load(output.read_text())["layers"]] == [
        "../another_shape.yaml",
        "../beside_the_shape.yaml",
    ]


def test_a_model_is_imported_alone(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("problem: {}")
    told = CliRunner().invoke(app, ["import", str(tmp_path / "model.onnx"), str(tmp_path / "a.yaml")])
    assert told.exit_code != 0
    assert "one ONNX file, or problem files" in str(told.exception) + told.output
