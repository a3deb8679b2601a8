"""The configuration: everything generated is up to date, every fault is named, with the nearest spelling."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from jouleloop.cli.generated import generated_files
from jouleloop.config.load import load_study, read_config
from jouleloop.errors import InputError
from jouleloop.files import write_text
from paths import ROOT


def config(**changes: Any) -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    return data | changes


@pytest.mark.parametrize("path", sorted(generated_files(ROOT)), ids=lambda path: str(path.relative_to(ROOT)))
def test_generated_files_are_up_to_date(path: Path, request: pytest.FixtureRequest) -> None:
    text = generated_files(ROOT)[path]
    if request.config.getoption("--fix"):
        write_text(path, text)
    assert path.is_file(), "generate it: pytest --fix, or jouleloop config --write-schema"
    assert path.read_text(encoding="utf-8") == text, "generate it: pytest --fix, or jouleloop config --write-schema"


def test_the_configuration_of_the_project() -> None:
    study = load_study(read_config(ROOT / "config/config.yaml"), ROOT)
    assert [sweep.name for sweep in study.tested] == [
        *("fc_inputs", "fc_outputs", "fc_weights"),
        *("conv_depth", "conv_inputs", "conv_kernel", "conv_stride"),
    ]


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "unknown key": ({"sweep": []}, "sweep: unknown key.*'sweeps'"),
    "unknown nested key": ({"chunks": {"second": 1}}, "chunks.second: unknown key.*'seconds'"),
    "unknown engine": ({"engine": "natve"}, "engine: unknown choice.*'native'"),
    "unknown semantics": ({"semantics": "timeloop-3.0.2"}, "semantics.*'timeloop-3.0.3'"),
    "unknown objective": ({"objective": ["enery"]}, "objective.0.*'energy'"),
    "objectives that do not go together": ({"objective": ["delay", "energy"]}, "objective"),
    "wrong type": ({"sweeps": "fc_inputs"}, "sweeps: must be a list"),
    "unknown sweep": ({"sweeps": ["fc_input"]}, "sweeps.0: unknown sweep.*'fc_inputs'"),
    "unknown network": ({"networks": ["alexnett"]}, "networks.0: unknown network.*'alexnet'"),
    "duplicate sweep": ({"sweeps": ["fc_inputs", "layers/fc_inputs.yaml"]}, "two sweeps are called 'fc_inputs'"),
    "nothing to do": ({"sweeps": []}, "nothing to do"),
    "no architecture": ({"architectures": {}}, "architectures"),
    "words beside energies": (
        {
            "architectures": {
                "a": {"arch": "arch/eyeriss.yaml", "energy": "counts", "constraints": "mappings/eyeriss.yaml"},
                "b": {"arch": "arch/eyeriss.yaml", "energy": "built-in", "constraints": "mappings/eyeriss.yaml"},
            }
        },
        "architectures.a.energy: is in words, which do not stand beside energies",
    ),
    "a name that no file can have": (
        {"architectures": {"a": {"arch": "a/" * 3000 + "b.yaml", "energy": "built-in", "constraints": "c.yaml"}}},
        "no such file",
    ),
    "a folder": (
        {"architectures": {"a": {"arch": "arch", "energy": "built-in", "constraints": "mappings/eyeriss.yaml"}}},
        r"architectures.a.arch: is no file \(got 'arch'\)$",
    ),
    "missing files": (
        {"architectures": {"a": {"arch": "arch/eyeris.yaml", "energy": "e.yaml", "constraints": "c.yaml"}}},
        "(?s)no such file.*eyeriss.yaml.*constraints.*energy",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_configuration(case: str) -> None:
    changes, message = BAD[case]
    with pytest.raises(InputError, match=message):
        load_study(config(**changes), ROOT)


@pytest.mark.parametrize("data", [None, [], ["a"], "text", 1])
def test_a_configuration_without_keys(data: Any) -> None:
    with pytest.raises(InputError, match=r"is empty|keys with values are wanted"):
        load_study(data, ROOT)


def test_faults_of_all_files_at_once(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.yaml").write_text("kind: fcc\nvariable: C\nexpected: linear\n")
    with pytest.raises(InputError) as caught:
        load_study(config(sweeps=[str(tmp_path / "one.yaml"), str(tmp_path / "two.yaml"), "none"]), ROOT)
    assert len(caught.value.faults) == 3


def test_what_stands_in_braces_on_the_command_line_of_snakemake() -> None:
    # Snakemake reads nested values as text, and truth values wherever they stand.
    statistics = {"margin": "0.02", "minimum_points": "6"}
    data = config(outputs={"specs": "true", "search_noise": "False"}, chunks={"most": "7"}, statistics=statistics)
    read = load_study(data, ROOT).config
    assert (read.outputs.specs, read.outputs.search_noise) == (True, False)
    assert read.chunks.most == 7
    assert load_study(config(replace="true"), ROOT).config.replace
    assert (read.statistics.margin, read.statistics.minimum_points) == (0.02, 6)
    with pytest.raises(InputError, match="must be true or false"):
        load_study(data | {"outputs": {"specs": "perhaps"}}, ROOT)
