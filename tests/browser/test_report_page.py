"""The report as a text: what it holds, what it refuses, how large it is, and the same bytes for the same tables."""

import hashlib
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from command_line import run as run_command
from jouleloop.columns import read_table, write_parquet
from jouleloop.errors import InputError
from jouleloop.report.html.mappings import loops_of
from jouleloop.report.html.numbers import compact, number, percent, quantity
from jouleloop.report.html.page import MOST_BYTES, charting_library, report_page, write_report
from jouleloop.report.html.points import EmbedLimits
from jouleloop.report.html.sections import comparison_table
from jouleloop.report.html.sources import ReportTables, read_tables
from jouleloop.stats.analysis import analyse_table
from jouleloop.stats.cases import SweepDescription
from jouleloop.stats.options import StatisticsOptions
from jouleloop.tables.growth import write_analysis
from jouleloop.tables.layouts import ANY, ENERGIES, LAW_POINTS, LAWS, SEARCH_NOISE, THEORY_RATIO
from paths import ROOT

OPTIONS = StatisticsOptions()
ANALYSIS = ("verdicts", "fits", "residuals", "left_out")


@pytest.fixture
def folder(run: Any, tmp_path: Path) -> Path:
    return Path(shutil.copytree(run.folder, tmp_path / "results"))


def changed(folder: Path, change: Any) -> None:
    """Write the table of energies again after ``change``."""
    table, provenance = read_table(folder / "energies.parquet", ENERGIES)
    attributes = dict(table.attrs)
    table = change(table)
    table.attrs.update(attributes)
    write_parquet(folder / "energies.parquet", table, replace(ANY, file=ENERGIES.file), provenance)


def page_of(folder: Path, **options: Any) -> str:
    return report_page(read_tables(folder, OPTIONS, root=folder.parent, **options), folder / "report.html")


def data_of(page: str) -> dict[str, Any]:
    """Return the embedded data, found as a browser finds it: up to the first end of a script."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script', page, re.DOTALL)
    assert found
    loaded: dict[str, Any] = json.loads(found[1])
    return loaded


def faults(folder: Path, **options: Any) -> str:
    with pytest.raises(InputError) as error:
        read_tables(folder, StatisticsOptions(**options), root=folder.parent)
    return str(error.value)


def test_the_same_tables_give_the_same_bytes(run: Any) -> None:
    tables = read_tables(run.folder, OPTIONS, root=run.folder.parent)
    write_report(tables, run.folder / "again.html")
    assert (run.folder / "again.html").read_bytes() == run.report.read_bytes()
    assert len(run.report.read_bytes()) < MOST_BYTES


def test_tables_that_are_read_in_parts_give_the_same_page(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = page_of(run.folder)
    monkeypatch.setattr("jouleloop.parquet.PART_ROWS", 5)
    assert read_tables(run.folder, OPTIONS, root=run.folder.parent).charted
    assert page_of(run.folder) == whole


def test_nothing_is_loaded_and_links_are_relative(run: Any) -> None:
    page = run.report.read_text()
    own = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    assert re.findall(r"<(?:link|img|iframe|script)[^>]*\s(?:src|href)=", own) == []
    targets = re.findall(r'<a href="([^"#][^"]*)"', own)
    assert {"energies.csv", "verdicts.csv", "residuals.csv"} <= set(targets)
    for target in targets:
        assert (run.folder / target).is_file()


def test_the_charting_library_is_the_one_that_the_documentation_names() -> None:
    library = charting_library()
    digest = hashlib.sha256(library.source.encode()).hexdigest()
    table = (ROOT / "docs/dependencies.md").read_text(encoding="utf-8")
    assert f"| version | {library.version} |" in table
    assert f"`{digest}`" in table


def test_embedded_values_are_those_of_the_table(run: Any) -> None:
    data = data_of(run.report.read_text())
    sweep = next(entry for entry in data["sweeps"] if entry["name"] == "growing")
    for group in sweep["groups"]:
        match = (run.energies["sweep"] == "growing") & (run.energies["architecture"] == group["architecture"])
        rows = run.energies[match].set_index("layer").loc[group["layers"]]
        assert group["x"] == rows["C"].tolist()
        assert group["macs"] == rows["macs"].tolist()
        for response in ("data_pj", "total_pj", "DRAM_pj", "dram_words"):
            columns = group["responses"][response]["columns"]
            expected = rows[columns].sum(axis=1).tolist()
            assert np.sum([group["columns"][c] for c in columns], axis=0) == pytest.approx(expected, rel=1e-6)
        # The levels' parts add up to the data energy.
        parts = [v for c, v in group["columns"].items() if re.fullmatch(r".*_(weights|inputs|outputs)_pj", c)]
        assert np.sum(parts, axis=0) == pytest.approx(rows["data_pj"].tolist(), rel=1e-6)
        mapping = [
            " | ".join(
                f"{level} {loops}".strip() for level, loops in zip(group["levels"], text.split("|"), strict=True)
            )
            for text in group["loops"]
        ]
        assert mapping == rows["mapping"].tolist()
        # The line is the fit: its ends agree with the regression's coefficients.
        line, (intercept, slope) = group["responses"]["data_pj"]["line"], group["responses"]["data_pj"]["c"]
        assert line[1][-1] == pytest.approx(intercept + slope * line[0][-1], rel=1e-6)
    published = {group["architecture"]: group["published"] for group in sweep["groups"]}
    assert published["eyeriss"] is None
    assert published["simba"]["x"] == [64, 128]
    assert published["simba"]["data_pj"] == [64 * 2e5, 128 * 2e5]


def test_markup_in_names_is_escaped(run: Any, folder: Path) -> None:
    page = run.report.read_text()
    own = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert "<img" not in own
    assert "Layers with &lt;em&gt;growing&lt;/em&gt; inputs." in own
    # A table made elsewhere may hold any name.
    name = "</script><script>alert(1)</script>"
    changed(folder, lambda table: table.assign(sweep=table["sweep"].replace("named", name)))
    table, _ = read_table(folder / "energies.parquet", ENERGIES)
    table = table[table["sweep"] != "net"]
    sweeps = [SweepDescription("growing", "C", "linear"), SweepDescription(name, "C", "linear", "<b>x</b>")]
    write_analysis(analyse_table(table, sweeps), folder)
    page = page_of(folder)
    assert "alert(1)" in page
    assert "<script>alert(1)" not in page
    assert "<b>x</b>" not in page
    assert {sweep["name"] for sweep in data_of(page)["sweeps"]} == {"growing", name}


def test_rows_without_a_mapping_are_counted_and_named(folder: Path) -> None:
    energies = [name for name in read_table(folder / "energies.parquet", ENERGIES)[0].columns if name.endswith("_pj")]

    def fail(table: pd.DataFrame) -> pd.DataFrame:
        lost = (table["sweep"] == "growing") & (table["C"] == 128) & (table["architecture"] == "simba")
        table.loc[lost, energies] = np.nan
        table.loc[lost, "status"], table.loc[lost, "reason"] = "no_mapping", "GlobalBuffer is <too> small"
        return table

    changed(folder, fail)
    for name in ANALYSIS:
        (folder / f"{name}.csv").unlink()
        (folder / f"{name}.parquet").unlink()
    page = page_of(folder)
    assert "GlobalBuffer is &lt;too&gt; small" in page
    assert re.search(r"1 row is <code>no_mapping</code>", page)
    assert "1 left out" in page
    assert "fc:128x64" in re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)


def test_the_statistics_are_made_where_they_are_missing(run: Any, folder: Path) -> None:
    for name in ANALYSIS:
        (folder / f"{name}.csv").unlink()
        (folder / f"{name}.parquet").unlink()
    own = re.compile(r'<ul class="files">.*?</ul>', re.DOTALL)
    assert own.sub("", page_of(folder)) == own.sub("", run.report.read_text())
    table, _ = read_table(folder / "energies.parquet", ENERGIES)
    write_parquet(folder / "energies.parquet", table, ENERGIES)
    assert "cannot be tested without its layer file" in faults(folder)


def test_without_a_store_the_page_says_what_is_missing(folder: Path) -> None:
    shutil.rmtree(folder / "store")
    page = page_of(folder)
    assert "There is no store of results" in page
    data = data_of(page)
    assert data["accesses"] == []
    assert all(index == -1 for sweep in data["sweeps"] for group in sweep["groups"] for index in group["accesses"])
    assert data["sweeps"][0]["groups"][0]["loops"][0]


def test_the_summary_of_the_run_is_shown(folder: Path) -> None:
    summary = {
        "run": "r-1",
        "points": {"simba": {"ok": 17, "no_mapping": 3}, "eyeriss": {"ok": 20, "no_mapping": 0}},
        "searches": {"searched": 5, "stored": 35},
        "slowest": [{"architecture": "simba", "layer": "<i>slow</i>", "seconds": 1.25}],
        "empty": [],
    }
    (folder / "summary.json").write_text(json.dumps(summary))
    page = page_of(folder)
    section = page[page.index('<section id="run"') : page.index('<section id="provenance"')]
    for text in ("Slowest", "&lt;i&gt;slow&lt;/i&gt;", "1.25", "No mapping", ">35<", "r-1"):
        assert text in section
    assert 'id="run"' not in page_of(folder, optional=("networks",))
    (folder / "summary.json").write_text("[1]")
    assert "not a summary of a run" in faults(folder)


def test_two_runs_differ_in_the_section_of_the_run_alone(folder: Path) -> None:
    summaries = ({"run": "r-1", "versions": {"python": "3.11.7"}}, {"run": "r-2", "versions": {"python": "3.13.0"}})
    pages = []
    for summary in summaries:
        (folder / "summary.json").write_text(json.dumps(summary))
        page = page_of(folder)
        start, end = page.index('<section id="run"'), page.index('<section id="provenance"')
        assert summary["run"] in page[start:end]
        pages.append(page[:start] + page[end:])
    assert pages[0] == pages[1]


def test_bounds_and_laws_are_shown_where_the_run_has_them(folder: Path) -> None:
    table, _ = read_table(folder / "energies.parquet", ENERGIES)
    points = table[table["sweep"] == "growing"][["architecture", "sweep", "layer", "data_pj"]]
    bounds = points.assign(theory_lower_data_pj=0.5 * points["data_pj"]).drop(columns="data_pj")
    write_parquet(folder / "theory_ratio.parquet", bounds, THEORY_RATIO)
    law = {"architecture": "simba", "sweep": "growing", "law": "A", "points": 12, "formula_data": "3 mn + <2> n"}
    write_parquet(folder / "laws.parquet", pd.DataFrame([law]), LAWS)
    write_parquet(folder / "law_points.parquet", points.assign(law="A"), LAW_POINTS)
    page = page_of(folder, again=True)
    data = data_of(page)
    group = next(g for g in data["sweeps"][0]["groups"] if g["architecture"] == "simba")
    assert group["responses"]["data_pj"]["bounds"]["lower"] == pytest.approx(
        [0.5 * value for value in group["columns"]["data_pj"]], rel=1e-6
    )
    assert group["law"] == ["A"] * 12
    assert group["formulas"] == {"A": "3 mn + <2> n"}
    assert "3 mn + &lt;2&gt; n" in page
    section = page[page.index('<section id="theory"') : page.index('<section id="coverage"')]
    assert section.count(">2</td>") >= 4  # measured is twice the bound: least, median, greatest, at the largest size


def test_the_search_noise_is_shown_where_the_run_has_it(folder: Path) -> None:
    common = {"sweep": "growing", "layers": 12, "layers_missed": 5, "excess_max": 0.0009}
    noise = [
        {**common, "architecture": "simba", "response": "data_pj", "published_p": 0.25, "quadratic_p_proven": np.nan}
        | {"quadratic_p_heuristic": 0.125, "verdict_proven": "exact", "verdict_heuristic": "confirmed"},
        {**common, "architecture": "simba", "response": "DRAM_pj", "published_p": np.nan, "quadratic_p_proven": np.nan}
        | {"quadratic_p_heuristic": np.nan, "verdict_proven": "exact", "verdict_heuristic": "exact"},
    ]
    assert 'id="search-noise"' not in page_of(folder)
    write_parquet(folder / "search_noise.parquet", pd.DataFrame(noise), SEARCH_NOISE)
    page = page_of(folder)
    section = page[page.index('<section id="search-noise"') : page.index('<section id="coverage"')]
    for shown in (
        ">0.25<",
        ">0.125<",
        "exact\N{NO-BREAK SPACE}→\N{NO-BREAK SPACE}confirmed",
        ">5 of 12<",
        "1 of 2 verdicts move",
    ):
        assert shown in section
    assert "DRAM_pj" not in section  # neither moved nor published


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.assign(engine=["timeloop", *t["engine"][1:]]), "mixes results of the engines"),
        (lambda t: t.assign(energy_table=["other", *t["energy_table"][1:]]), "mixes the energy tables"),
        (lambda t: t.drop(columns="reason"), "'reason' is missing"),
        (lambda t: t.assign(table_version=0), "older version"),
        (lambda t: t[:0], "no rows"),
        (lambda t: t.assign(data_pj=t["data_pj"] * 1.001), "not made from energies.parquet beside it"),
        (lambda t: t.drop(index=0), "not made from energies.parquet beside it"),
    ],
)
def test_tables_that_do_not_fit_are_refused(folder: Path, change: Any, message: str) -> None:
    changed(folder, change)
    assert message in faults(folder)


def test_mixed_tables_are_shown_when_asked_for(folder: Path) -> None:
    def double(table: pd.DataFrame) -> pd.DataFrame:
        return pd.concat([table, table.assign(engine="timeloop")], ignore_index=True)

    changed(folder, double)
    options = StatisticsOptions(allow_mixed=True)
    page = report_page(read_tables(folder, options, root=folder.parent, again=True), folder / "report.html")
    assert "simba (native, simba-45nm-accelergy03)" in page
    assert "simba (timeloop, simba-45nm-accelergy03)" in page
    assert {group["engine"] for group in data_of(page)["sweeps"][0]["groups"]} == {"native", "timeloop"}


def test_part_of_the_statistics_is_an_error(folder: Path) -> None:
    (folder / "fits.csv").unlink()
    (folder / "fits.parquet").unlink()
    assert "fits.parquet: no such file" in faults(folder)
    (folder / "fits.csv").write_text("sweep\n1\n")
    assert "column 'c1' is missing" in faults(folder)


def many_points(folder: Path, count: int) -> ReportTables:
    """Write a run of ``count`` made-up layers on two architectures and read it."""
    rng = np.random.default_rng(7)
    parts = []
    for name in ("simba", "eyeriss"):
        inputs = np.arange(1, count // 2 + 1)
        energy = {
            f"L{k}_{s}_pj": inputs * rng.uniform(1e5, 1e6) * (1 + rng.uniform(0, 0.1, inputs.size))
            for k in range(5)
            for s in ("weights", "inputs", "outputs")
        }
        part = pd.DataFrame({"architecture": name, "sweep": "many", "C": inputs, "M": 64, **energy})
        data = part[list(energy)].sum(axis=1)
        more = {
            "status": "ok",
            "reason": "",
            "engine": "native",
            "energy_table": name,
            "data_pj": data,
            "compute_pj": 8.0 * inputs,
            "total_pj": data + 8.0 * inputs,
            "macs": 64 * inputs,
            "layer": [f"fc:{i}x64" for i in inputs],
            "optimal": True,
            "mapping": [f"L0 C{i} | L1 M64X | L2 C3 M4 | L3 | L4 P2" for i in inputs],
        }
        parts.append(part.assign(**more))
    table = pd.concat(parts, ignore_index=True)
    write_parquet(folder / "energies.parquet", table, ENERGIES)
    options = OPTIONS.model_copy(update={"responses": ["data", "total"]})
    write_analysis(analyse_table(table, [SweepDescription("many", "C", "linear")], options), folder)
    return read_tables(folder, OPTIONS)


@pytest.mark.slow
def test_a_page_of_twenty_thousand_points_stays_small(tmp_path: Path) -> None:
    tables = many_points(tmp_path, 20_000)
    page = report_page(tables, tmp_path / "report.html")
    assert len(page.encode()) < MOST_BYTES
    charted = sum(len(group["x"]) for group in data_of(page)["sweeps"][0]["groups"])
    assert f"Charts show {charted} of 20000 points" in page
    page = report_page(tables, tmp_path / "report.html", EmbedLimits(points=1000))
    groups = data_of(page)["sweeps"][0]["groups"]
    assert [len(group["x"]) for group in groups] == [500, 500]
    assert (groups[0]["x"][0], groups[0]["x"][-1]) == (1, 10_000)
    assert "Charts show 1000 of 20000 points" in page


def test_command_line(folder: Path, tmp_path: Path) -> None:
    output = tmp_path / "elsewhere" / "page.html"
    code, out, error = run_command("report", str(folder), "--output", str(output))
    assert code == 0, error
    assert str(output) in out
    assert 'href="../results/verdicts.csv"' in output.read_text()
    code, _, error = run_command("report", str(tmp_path / "nowhere"))
    assert code == 2
    assert "no such file: has the run finished?" in error
    assert "Traceback" not in error


def test_numbers() -> None:
    assert quantity(5.542e8, "pJ") == "554.2 µJ"
    assert quantity(1.5, "pJ") == "1.5 pJ"
    assert quantity(0.0, "pJ") == "0 J"
    assert quantity(-1234.0, "words") == "−1.234 kwords"
    assert quantity(float("nan"), "pJ") == number(None) == percent(None) == "–"
    assert number(1234567) == "1,234,567"
    assert percent(-0.0123) == "−1.23\N{NARROW NO-BREAK SPACE}%"
    assert compact([1.0, 0.123456789, None, float("inf"), 1e20]) == [1, 0.1234568, None, None, 1e20]
    loops = loops_of(["DRAM M2 C4 | Regs", None, "DRAM | Regs P3X"])
    assert loops.levels == ("DRAM", "Regs")
    assert loops.texts == ("M2 C4|", "", "|P3X")


def test_another_run_is_shown_beside_this_one(run: Any, folder: Path, tmp_path: Path) -> None:
    """Energies over those of the other run, layer by layer, and both verdicts."""
    table, provenance = read_table(folder / "energies.parquet", ENERGIES)
    half = (table["architecture"] == "simba") & (table["sweep"] == "growing") & (table["C"] > 384)
    table.loc[half, "data_pj"] *= 2
    other = tmp_path / "other"
    other.mkdir()
    write_parquet(other / "energies.parquet", table, ENERGIES, provenance)
    tables = read_tables(folder, StatisticsOptions(), root=run.folder.parent, against=other)
    found = comparison_table(tables)
    assert found is not None
    rows = {tuple(cell.text for cell in row[:3]): [cell.text for cell in row[3:]] for row in found.rows}
    assert rows["growing", "simba", "data energy"][:4] == ["12", "6", "6", "0"]
    assert rows["growing", "simba", "data energy"][4:7] == ["0.5", "0.75", "1"]
    assert rows["growing", "eyeriss", "data energy"][:4] == ["12", "12", "0", "0"]
    assert rows["growing", "eyeriss", "data energy"][-1] == "–"
    page = report_page(tables, folder / "report.html")
    assert "Against the other run" in page
    with pytest.raises(InputError, match="nowhere"):
        read_tables(folder, StatisticsOptions(), root=run.folder.parent, against=tmp_path / "nowhere")
