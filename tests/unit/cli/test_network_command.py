"""Networks on the command line: from a file to totals and pictures, and no total where a layer has no mapping."""

import json
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest
import yaml

from jouleloop.cli import main
from jouleloop.cli.generated import layers_page
from jouleloop.errors import InputError
from jouleloop.workload.kinds import kinds
from jouleloop.workload.sizes import parse_layer
from paths import ROOT

LAYERS = (
    "- {name: first, kind: fc, sizes: {C: 64, M: 32}}\n"
    "- {name: odd, kind: fc, count: 2, sizes: {C: 97, M: 32}}\n"
    "- {name: last, kind: fc, sizes: {C: 32, M: 16}}\n"
)


def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str) -> tuple[int, str, str]:
    monkeypatch.setattr("sys.argv", ["jouleloop", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    captured = capsys.readouterr()
    return int(ended.value.code or 0), captured.out, captured.err


def test_a_network_ends_in_totals_and_pictures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tiny.yaml").write_text(f"layers:\n{LAYERS}")
    code, out, err = run(capsys, monkeypatch, "network", "tiny.yaml", "--arch", "eyeriss", "--arch", "simba")
    assert code == 1, err  # 97 inputs are no multiple of 4: Simba has no mapping
    assert max(map(len, out.splitlines())) <= 80
    assert "no total: 1 of 3 layers without a mapping" in out
    table = pd.read_csv("results/network/tiny-eyeriss-simba/networks.csv")
    names = ["first", "odd", "last", "(whole network)"]
    assert list(table["layer"]) == [*names, *names, "(mapped layers only)"]
    simba = table[table["architecture"] == "simba"].set_index("layer")
    assert pd.isna(simba["total_pj"]["(whole network)"])
    assert simba["macs"]["(mapped layers only)"] == 64 * 32 + 32 * 16
    eyeriss = table[table["architecture"] == "eyeriss"].set_index("layer")["total_pj"]
    assert eyeriss["(whole network)"] == pytest.approx(eyeriss["first"] + 2 * eyeriss["odd"] + eyeriss["last"])
    code, out, err = run(capsys, monkeypatch, "figures", "results/network/tiny-eyeriss-simba", "--formats", "svg")
    assert code == 0, err
    assert Path("results/network/tiny-eyeriss-simba/figures/networks/tiny_eyeriss.svg").is_file()
    assert Path("results/network/tiny-eyeriss-simba/figures/networks/tiny_simba.svg").is_file()
    code, _, err = run(capsys, monkeypatch, "report", "results/network/tiny-eyeriss-simba")
    assert code == 0, err
    page = Path("results/network/tiny-eyeriss-simba/report.html").read_text(encoding="utf-8")
    heading = re.search(r'<h2 id="networks-title">(.*?)</h2>', page)
    assert heading is not None
    assert re.fullmatch(
        r"tiny costs [\d.]+.[nµ]J on eyeriss, no total on simba \(1 of 3 layers without a mapping\)", heading[1]
    )
    assert page.count('<th scope="row">tiny</th>') == 2 + 6 + 1  # totals, layers, the one left out


def test_every_layer_has_a_mapping_to_look_at_and_designs_stand_side_by_side(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    twins = "- {name: twin, kind: fc, sizes: {C: 64, M: 32}}\n"  # of the first layer's shape
    Path("tiny.yaml").write_text(f"layers:\n{LAYERS}{twins}")
    both = ("network", "tiny.yaml", "--arch", "eyeriss", "--arch", "simba")
    code, out, err = run(capsys, monkeypatch, *both, "--write-mappings", "maps")
    assert code == 1, err
    assert "7 mappings written to maps" in out
    layers = {"first": "fc:64x32", "odd": "fc:97x32", "last": "fc:32x16", "twin": "fc:64x32"}
    written = {path.relative_to("maps").as_posix() for path in Path("maps").rglob("*.yaml")}
    assert written == {f"{arch}/{name}.yaml" for arch in ("eyeriss", "simba") for name in layers} - {"simba/odd.yaml"}
    energies = pd.read_csv("results/network/tiny-eyeriss-simba/energies.csv").set_index(["architecture", "layer"])
    for path in sorted(written):
        arch, name = path.removesuffix(".yaml").split("/")
        given = ("--arch", arch, "--layer", layers[name], "--mapping", f"maps/{path}", "--json")
        counted = json.loads(run(capsys, monkeypatch, "evaluate", *given)[1])["evaluation"]["energy_pj"]
        assert counted == pytest.approx(energies.loc[(arch, name), "total_pj"])
        assert "for C in [0:" in Path(f"maps/{path}").with_suffix(".txt").read_text()
    rows = {
        line.split()[0]: line.split()[1:] for line in out.partition("simba / eyeriss")[2].splitlines() if line.strip()
    }
    first, second = (energies.loc[(arch, "first"), "total_pj"] for arch in ("eyeriss", "simba"))
    assert rows["first"] == [f"{first / 1e6:.3f}", f"{second / 1e6:.3f}", f"{second / first:.3f}"]
    twice = 2 * energies.loc[("eyeriss", "odd"), "total_pj"]
    assert rows["odd"] == [f"{twice / 1e6:.3f}", "–", "–"]
    on_both = energies.loc[["eyeriss", "simba"]].query("layer != 'odd'").groupby("architecture")
    sums = on_both[["total_pj", "compute_pj"]].sum() / 1e6
    ratio = sums["total_pj"]["simba"] / sums["total_pj"]["eyeriss"]
    assert rows["(3"] == ["layers", "mapped", "on", "all)", *(f"{one:.3f}" for one in (*sums["total_pj"], ratio))]
    assert rows["compute"][:2] == [f"{one:.3f}" for one in sums["compute_pj"]]
    assert {"DRAM", "psum_spad"} <= set(rows)


def test_a_study_is_never_overwritten_unasked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tiny.yaml").write_text(f"layers:\n{LAYERS}")
    Path("grown.yaml").write_text("kind: fc\nfixed: {M: 32}\nranges: {C: [32, 64]}\nvariable: C\nexpected: linear\n")
    network = ("network", "tiny.yaml", "--arch", "eyeriss")
    commands = [
        network,
        ("network", "tiny.yaml", "--arch", "eyeriss", "--arch", "simba"),
        ("sweep", "grown.yaml", "--arch", "eyeriss"),
    ]
    for command in commands:
        run(capsys, monkeypatch, *command)
    tables = {path: path.read_bytes() for path in Path("results").rglob("*.csv")}
    assert len({path.parent for path in tables}) == 3  # a folder of its own for each
    refused = [
        (*network, "--output", "results/sweep/grown-eyeriss"),
        (*network, "--set", "shared_glb.depth=8192"),
        ("sweep", "grown.yaml", "--arch", "eyeriss", "--output", "results/network/tiny-eyeriss"),
    ]
    for command in refused:
        code, _, err = run(capsys, monkeypatch, *command)
        assert code == 2, command
        assert "--replace" in err, err
    assert {path: path.read_bytes() for path in Path("results").rglob("*.csv")} == tables
    code, _, err = run(capsys, monkeypatch, *network, "--set", "shared_glb.depth=8192", "--replace")
    assert code == 0, err
    assert Path("results/network/tiny-eyeriss/energies.csv").read_bytes() not in tables.values()
    assert run(capsys, monkeypatch, *network, "--set", "shared_glb.depth=8192")[0] == 0


def test_a_sweep_is_no_network(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    code, _, err = run(capsys, monkeypatch, "network", "fc_inputs", "--arch", "eyeriss")
    assert code == 2
    assert "jouleloop sweep searches it" in " ".join(err.split())


def test_every_kind_is_on_the_page_of_layer_texts() -> None:
    page = layers_page()
    assert [kind.name for kind in kinds() if f"`{kind.name}:" not in page] == []
    assert (ROOT / "docs/layer-texts.md").read_text().count(page) == 1


def test_the_first_layer_of_resnet_as_frameworks_write_it() -> None:
    layer = parse_layer("conv:C3xM64xR7xS7/input224/padding3/stride2/floor")
    assert (layer.sizes["P"], layer.sizes["Q"]) == (112, 112)
    with pytest.raises(InputError, match="/floor in a text"):
        parse_layer("conv:C3xM64xR7xS7/input224/padding3/stride2")


TABLES = {
    "map": ("map", "--arch", "eyeriss", "--layer", "fc:1024x128"),
    "bounds fc": ("bounds", "fc", "-n", "10", "-m", "11", "-B", "3"),
    "bounds conv": ("bounds", "conv", "--layer", "resnet50/conv2_x", "--memory", "65536", "--processors", "4"),
    "bounds nest": ("bounds", "nest", "ik,kj->ij", "--bounds", "i=512,k=512,j=16"),
    "bounds hbl": ("bounds", "hbl", "ik,kj->ij", "--constraints"),
    "bounds manticore": ("bounds", "manticore", "--input-width", "8", "--input-depth", "32", "--output-depth", "32",
                         "--filter", "3", "--padding", "1"),
    "bounds gemmini": ("bounds", "gemmini", "conv1"),
    "dataflow nest": ("dataflow", "nest", "ik,kj->ij", "--bounds", "i=24,k=24,j=24"),
    "doctor": ("doctor",),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_eighty_columns_hold_every_table(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    _, out, err = run(capsys, monkeypatch, *TABLES[name])
    rows = [line.rstrip() for line in out.splitlines() if "  " in line.strip()]  # columns, not sentences
    assert rows, err
    assert max(map(len, rows)) <= 80, max(rows, key=len)
    assert not re.search(r"\w…", out), "a cell is cut"


def test_what_varies_stands_under_run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ("map", "--arch", "eyeriss", "--layer", "fc:64x32", "--json")
    first, second = (json.loads(run(capsys, monkeypatch, *arguments)[1]) for _ in range(2))
    assert first.pop("run")["seconds"] > 0
    assert second.pop("run")
    assert first == second
    assert first["schema"] == "jouleloop/result/1"


def test_both_kinds_of_factors_say_what_the_imperfect_ones_save(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("arch", "mappings"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    entry = yaml.safe_load((ROOT / "config" / "config.yaml").read_text(encoding="utf-8"))["architectures"]["simba"]
    architectures = {"simba": entry, "free": {**entry, "factors": "imperfect"}}
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.yaml").write_text(yaml.safe_dump({"architectures": architectures}))
    (tmp_path / "tiny.yaml").write_text(f"layers:\n{LAYERS}")
    monkeypatch.chdir(tmp_path)
    code, out, err = run(
        capsys, monkeypatch, "network", "tiny.yaml", "--arch", "simba", "--arch", "free", "--output", "results"
    )
    assert code == 1, err
    saved = (
        r"imperfect factors save (\S+)% of the energy of the 2 layers of tiny that both map on simba, and map 1\s+more"
    )
    assert re.search(saved, out), out
    code, _, err = run(capsys, monkeypatch, "report", "results")
    assert code == 0, err
    assert 'id="savings-title"' in Path("results/report.html").read_text(encoding="utf-8")


def test_a_layer_that_no_rule_reads_leaves_the_others_mapped(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.chdir(tmp_path)
    shipped = yaml.safe_load((ROOT / "mappings/eyeriss.yaml").read_text(encoding="utf-8"))
    Path("theirs.yaml").write_text(yaml.safe_dump({key: shipped[key] for key in shipped if key != "shapes"}))
    spaces = [
        {"name": "X", "projection": [[["I"]], [["K"]]]},
        {"name": "Y", "projection": [[["K"]], [["J"]]]},
        {"name": "Z", "projection": [[["I"]], [["J"]]], "read_write": True},
    ]
    shape = {"name": "mine", "dimensions": ["I", "J", "K"], "data_spaces": spaces}
    Path("mine.yaml").write_text(yaml.safe_dump({"problem": {"shape": shape, "instance": {"I": 4, "J": 4, "K": 4}}}))
    product = "- {name: product, kind: matmul, sizes: {M: 8, K: 8, N: 8}}\n"
    Path("mixed.yaml").write_text(f"layers:\n{product}- {{name: own, kind: problem, shape: mine.yaml}}\n")
    arguments = ("network", "mixed.yaml", "--arch", "eyeriss", "--constraints", "theirs.yaml", "--output", "out")
    code, _, _ = run(capsys, monkeypatch, *arguments)
    assert code == 1
    rows = pd.read_csv("out/energies.csv").set_index("layer")
    assert dict(rows["status"]) == {"product": "ok", "own": "invalid"}
    refusals = [record.getMessage() for record in caplog.records if "no rule says" in record.getMessage()]
    assert refusals == [rows["reason"]["own"]]  # said once
    assert "docs/constraints.md" in refusals[0]
    assert "shapes: {mine: {dimensions: {I: ?, J: ?, K: ?}" in refusals[0]
