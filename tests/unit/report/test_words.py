"""A run that counts accesses: nothing that it writes says that they are energies."""

import re
from pathlib import Path

import pytest
import yaml

from jouleloop.columns import read_table
from jouleloop.config.load import Study, load_study
from jouleloop.report.run_tables import RunTables
from jouleloop.stats.columns import FITS, VERDICTS
from jouleloop.study.plan import jobs_of
from jouleloop.study.store import ResultStore
from jouleloop.tables.collect import write_energies
from jouleloop.tables.layouts import ENERGIES
from jouleloop.units import energies_in, energy_unit, read, said, written
from jouleloop.workflow import Workflow
from made import make
from paths import ROOT

SWEEP = {
    "kind": "fc",
    "layers": [{"C": n, "M": 16} for n in (16, 32, 48, 64, 80)],
    "variable": "C",
    "expected": "linear",
}
NETWORK = {"layers": [{"name": "first", "kind": "fc", "count": 2, "sizes": {"C": 32, "M": 16}}]}
_ENERGY = re.compile(r"\b[pnµm]?J\b|_pj\b|\bpj_per_mac\b|\bjoules?\b|(?<!own )\b[Ee]nerg(y|ies)\b(?!\.)")


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> tuple[Study, Path]:
    project = tmp_path_factory.mktemp("words")
    (project / "layers/networks").mkdir(parents=True)
    (project / "layers/growing.yaml").write_text(yaml.safe_dump(SWEEP))
    (project / "layers/networks/net.yaml").write_text(yaml.safe_dump(NETWORK))
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    for entry in config["architectures"].values():
        entry.update({key: str(ROOT / entry[key]) for key in ("arch", "constraints")}, energy="counts")
    config |= {"sweeps": ["growing"], "networks": ["net"], "outputs": {"figure_formats": ["svg"]}}
    study, folder = load_study(config, project), project / "results"
    write_energies(jobs_of(study), (*study.sweeps, *study.architecture_sweeps), ResultStore(folder / "store"), folder)
    make(
        study,
        folder,
        stages=["theory_ratio", "growth", "laws", "networks"],
        figures=["growth", "breakdown", "network"],
        page=["verdicts", "laws", "networks"],
    )
    return study, folder


def test_tables_and_figures_say_words(study: tuple[Study, Path]) -> None:
    _, folder = study
    files = [path for ending in ("csv", "txt", "svg") for path in folder.rglob(f"*.{ending}")]
    assert {"energies.csv", "verdicts.csv", "laws.csv", "networks.csv", "verdicts.txt"} <= {path.name for path in files}
    assert any(path.suffix == ".svg" for path in files)
    for path in files:
        # What was asked of the search, and where the tables are, keep their names.
        text = re.sub(r",energy,|\benergy_table\b|\benergy_delay_area\b|theory_lower_energy", ",", path.read_text())
        found = _ENERGY.search(text)
        assert found is None, (path.name, text[max(0, found.start() - 60) : found.end() + 30])
    assert "total access count [words]" in (folder / "figures/growing/breakdown_eyeriss.svg").read_text()


def test_the_page_says_words(study: tuple[Study, Path]) -> None:
    page = (study[1] / "report.html").read_text()
    code = re.compile(r"<(script|style)\b.*?</\1>|<[^>]*>", re.DOTALL)
    shown = re.sub(r"energies\.(csv|parquet)", "", code.sub(" ", page))
    found = _ENERGY.search(shown)
    assert found is None, shown[max(0, found.start() - 60) : found.end() + 60]
    assert '"unit":"words"' in page


def test_tables_are_read_as_they_were(study: tuple[Study, Path]) -> None:
    _, folder = study
    for ending in ("parquet", "csv"):
        energies, _ = read_table(folder / f"energies.{ending}", ENERGIES)
        verdicts, _ = read_table(folder / f"verdicts.{ending}", VERDICTS, where={"response": ["data_pj"]})
        fits, _ = read_table(folder / f"fits.{ending}", FITS)
        parts = [name for name in energies.columns if re.search(r"_(weights|inputs|outputs)_pj$", str(name))]
        assert energies["total_pj"].to_numpy() == pytest.approx(energies[parts].sum(axis="columns").to_numpy())
        assert "data_pj" in set(verdicts["response"])
        assert set(fits["unit"]) == {"words"}
        assert fits["published_p"].isna().all()


def test_what_a_run_in_words_leaves_out(study: tuple[Study, Path]) -> None:
    found, folder = study
    assert found.unit == "words"
    assert RunTables(found, folder).unit == "words"
    assert energy_unit() == "pJ"


def test_workflow_of_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text()) | {"sweeps": ["conv_inputs"]}
    plain = Workflow(config)
    for entry in config["architectures"].values():
        entry["energy"] = {"estimator": "counts"}
    counted = Workflow(config)
    missing = {layout.file for layout in (*plain.derived, *plain.further)}
    missing -= {layout.file for layout in (*counted.derived, *counted.further)}
    assert missing == {"theory_conv_energy", "published"}
    assert not [file for file in counted.targets if "published" in file or ("theory" in file and "conv" in file)]
    captions = [text for group in counted.figure_groups for text in counted.captions(group)(group.subjects).values()]
    assert captions
    assert not [text for text in captions if _ENERGY.search(text)]


def test_names_there_and_back() -> None:
    names = ("total_pj", "DRAM_weights_pj", "pj_per_mac", "dram_words", "dram_words_inputs", "cycles", "npj", "macs")
    with energies_in("words"):
        there = [written(name) for name in names]
        assert (
            said("Energies in pJ: the energy per access [J]")
            == "Access counts in words: the access count per access [words]"
        )
    assert there[:3] == ["total_access_words", "DRAM_weights_access_words", "access_words_per_mac"]
    assert [read(name) for name in there] == list(names)
    assert [written(name) for name in names] == list(names)
