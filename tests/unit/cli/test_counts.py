"""Under ``counts`` every command and all of the API say words; none says pJ."""

import contextlib
import io
import json
import re
from pathlib import Path

import pytest
import yaml

import jouleloop as jl
from jouleloop.api.schema import ResultData
from jouleloop.cli import main

LAYER = ("--arch", "eyeriss", "--layer", "fc:16x16", "--energy", "counts")
ENERGY = re.compile(r"\b[pnµm]?J\b|_pj\b|pj_per|\bjoules?\b")
FILES = {
    "few.yaml": {
        "kind": "fc",
        "layers": [{"C": size, "M": 16} for size in (16, 32, 48, 64)],
        "variable": "C",
        "expected": "linear",
    },
    "net.yaml": {"layers": [{"name": "first", "kind": "fc", "count": 2, "sizes": {"C": 32, "M": 16}}]},
    "glb.yaml": {
        "kind": "fc",
        "layers": [{"C": 32, "M": 16}],
        "architectures": ["eyeriss"],
        "architecture": {"shared_glb.depth": {"start": 4096, "stop": 8192, "factor": 2}},
        "variable": "shared_glb.depth",
    },
}


#: In an order in which each finds what it reads.
COMMANDS = [
    ("map", *LAYER, "--profile", "--certificate", "proof.json", "--write-mapping", "mapping.yaml"),
    ("map", *LAYER, "--objective", "edp"),
    ("map", *LAYER, "--json"),
    ("evaluate", *LAYER, "--mapping", "mapping.yaml"),
    ("evaluate", *LAYER, "--mapping", "mapping.yaml", "--json"),
    ("check", "proof.json"),
    ("check", "proof.json", "--json"),
    ("sweep", "few.yaml", "--arch", "eyeriss", "--energy", "counts", "--output", "few"),
    ("sweep", "glb.yaml", "--arch", "eyeriss", "--energy", "counts", "--output", "glb"),
    ("network", "net.yaml", "--arch", "eyeriss", "--energy", "counts", "--output", "net"),
    ("compare", "few/energies.parquet", "net/energies.parquet", "--on", "architecture,C"),
    ("compare", "few/energies.csv", "net/energies.csv", "--on", "architecture,C", "--json"),
    ("chain", "matmul:M4xN4xK4", "matmul:M4xN4xK4", "--arch", "eyeriss", "--energy", "counts"),
    ("front", *LAYER, "--capacity", "shared_glb"),
    ("figures", "few", "--formats", "svg"),
    ("report", "net"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("counts")
    for name, content in FILES.items():
        (folder / name).write_text(yaml.safe_dump(content))
    return folder


@pytest.fixture(scope="module")
def ran(folder: Path) -> dict[tuple[str, ...], tuple[object, str, str]]:
    """By command its exit code and what it printed on both streams."""
    found: dict[tuple[str, ...], tuple[object, str, str]] = {}
    for arguments in COMMANDS:
        out, err = io.StringIO(), io.StringIO()
        with (
            contextlib.chdir(folder),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            pytest.MonkeyPatch.context() as patch,
        ):
            patch.setattr("sys.argv", ["jouleloop", *arguments])
            with pytest.raises(SystemExit) as ended:
                main()
        found[arguments] = ended.value.code, out.getvalue(), err.getvalue()
    return found


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_a_command_says_words(arguments: tuple[str, ...], ran: dict[tuple[str, ...], tuple[object, str, str]]) -> None:
    code, out, err = ran[arguments]
    assert not code or arguments[0] == "compare", err
    assert out or err
    assert not ENERGY.search(out + err)
    if arguments[0] == "front":
        assert "accesses [words]" in out
        assert "energy [" not in out
    if arguments[0] in ("map", "evaluate", "check") and "--json" not in arguments:
        assert "words" in out
    if arguments[0] in ("map", "evaluate") and "--json" in arguments:
        data = json.loads(out)
        ResultData.model_validate_json(out, strict=True)
        assert data["evaluation"]["energy_access_words"] == 1504
        assert "leakage_pj" not in data


@pytest.mark.usefixtures("ran")
def test_what_commands_write_says_words(folder: Path) -> None:
    written = [path for ending in ("csv", "yaml", "svg") for path in folder.rglob(f"*.{ending}")]
    assert folder / "mapping.yaml" in written
    assert any(path.name == "networks.csv" for path in written)
    for path in written:
        assert not ENERGY.search(path.read_text(encoding="utf-8")), path


def test_the_api_says_words(folder: Path) -> None:
    hardware = jl.Architecture.read("eyeriss", energy="counts")
    found = jl.search(hardware, "fc:16x16")
    assert found.unit == "words"
    axes = found.plot()
    tables = [
        found.breakdown(),
        hardware.energies(),
        jl.sweep(folder / "few.yaml", hardware),
        jl.laws(folder / "few.yaml", hardware),
    ]
    shown = [
        repr(found),
        found._repr_html_(),
        axes.get_title(),
        axes.get_xlabel(),
        repr(jl.bounds(hardware, "fc:16x16")),
    ]
    assert all("words" in text for text in shown)
    names = [str(name) for table in tables for name in table.columns]
    assert "energy_access_words" in names
    assert "total_access_words" in names
    for text in (*shown, *names):
        assert not ENERGY.search(text), text


def test_energies_are_in_joules_elsewhere() -> None:
    found = jl.search("eyeriss", "fc:16x16")
    assert found.unit == "pJ"
    assert "pJ" in repr(found)
    assert "energy_pj" in found.breakdown()
    assert found.as_dict()["evaluation"]["energy_pj"] == found.energy_pj
