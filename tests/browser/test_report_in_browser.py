"""The report in a real browser: charts, filters, tables, mappings, keyboard, both themes, both widths, offline."""

import itertools
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pandas as pd
import pytest
import yaml

from jouleloop.arch.read import read_architecture
from jouleloop.mapping.formats import from_levels, read_timeloop_mapping
from jouleloop.report.html.page import write_report
from jouleloop.report.html.sources import read_tables
from jouleloop.stats.options import StatisticsOptions
from jouleloop.study.store import ResultStore
from jouleloop.workload.sizes import parse_layer
from paths import ROOT

pytestmark = pytest.mark.browser

SCREENSHOTS = ROOT / "results" / "screenshots"
HOSTILE = "<img src=x onerror=\"document.title='run'\"></script><b>&amp;"
WIDTHS = {"wide": (1440, 900), "narrow": (390, 844)}


class Opened:
    """A page with what it said and asked for while it was open."""

    def __init__(self, browser: Any, path: Path, width: str = "wide", scheme: str = "light") -> None:
        x, y = WIDTHS[width]
        self.context = browser.new_context(viewport={"width": x, "height": y}, color_scheme=scheme, offline=True)
        self.page = self.context.new_page()
        self.messages: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.messages.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.messages.append(f"error: {error}"))
        self.page.on("dialog", lambda dialog: self.messages.append(f"dialog: {dialog.message}"))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())
        self.page.locator("#filters.ready").wait_for()

    def draw(self, section: str) -> None:
        self.page.locator(f"{section} .chart").scroll_into_view_if_needed()
        self.page.wait_for_selector(f"{section} .plot[data-drawn]", state="attached")

    def draw_all(self) -> None:
        self.page.evaluate("document.querySelectorAll('details.fold').forEach(fold => { fold.open = true; })")
        for place in self.page.locator(".chart").all():
            place.scroll_into_view_if_needed()
            # The page forbids what wait_for_function does, so that nothing in it is ever run from text.
            place.locator(".plot[data-drawn]").wait_for(state="attached")
        self.page.evaluate("window.scrollTo({top: 0, behavior: 'instant'})")


@pytest.fixture(scope="module")
def shared(browser: Any, run: Any) -> Iterator[Opened]:
    one = Opened(browser, run.report)
    yield one
    one.context.close()


@pytest.fixture
def opened(shared: Opened) -> Iterator[Opened]:
    """The page with its filters and views as they were at first; no test may make it complain or ask for anything."""
    shared.page.evaluate(
        """() => {
            for (const box of document.querySelectorAll('#filters input:not(:checked)')) box.click();
            const all = document.getElementById('all-responses');
            if (all.checked) all.click();
            const response = document.getElementById('response');
            response.selectedIndex = 0;
            response.dispatchEvent(new Event('change'));
            for (const view of document.querySelectorAll('.segments input[value=growth]')) view.click();
            for (const part of document.querySelectorAll('details')) part.open = part.matches('.fold');
        }"""
    )
    shared.draw("#sweep-0")
    yield shared
    assert shared.messages == []
    assert [url for url in shared.requests if not url.startswith(("file:", "data:", "blob:"))] == []


def traces(page: Any, section: str = "#sweep-0") -> list[dict[str, Any]]:
    """Return the drawn markers: group, abscissae, heights."""
    script = """selector => document.querySelector(selector + ' .plot').data
        .filter(t => t.mode === 'markers' && t.meta !== undefined)
        .map(t => ({group: t.meta, name: t.name, x: Array.from(t.x), y: Array.from(t.y)}))"""
    return list(page.evaluate(script, section))


def place_of(page: Any, trace: int, point: int, section: str = "#sweep-0") -> tuple[float, float]:
    """Return where on the screen a point is drawn."""
    page.locator(f"{section} .chart").scroll_into_view_if_needed()
    script = """([trace, point, section]) => {
        const plot = document.querySelector(section + ' .plot');
        const box = plot.getBoundingClientRect();
        const {xaxis, yaxis} = plot._fullLayout;
        const data = plot.data.filter(t => t.meta !== undefined)[trace];
        const at = [xaxis._offset + xaxis.d2p(data.x[point]), yaxis._offset + yaxis.d2p(data.y[point])];
        return [box.left + at[0], box.top + at[1]];
    }"""
    x, y = page.evaluate(script, [trace, point, section])
    return float(x), float(y)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", list(WIDTHS))
def test_it_loads_offline_without_errors_and_fits_the_width(browser: Any, run: Any, width: str, scheme: str) -> None:
    one = Opened(browser, run.report, width, scheme)
    one.draw_all()
    inner, outer = one.page.evaluate("[innerWidth, document.documentElement.scrollWidth]")
    assert outer <= inner == WIDTHS[width][0]
    # Nothing outside the frames that scroll by themselves reaches beyond the edge either.
    beyond = one.page.evaluate(
        """() => [...document.querySelectorAll('body *')]
            .filter(node => node.getBoundingClientRect().right > innerWidth + 1
            && !node.closest('.scroll, .plot, .top nav, .hidden, .level')).map(node => node.outerHTML.slice(0, 80))"""
    )
    assert beyond == []
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    one.page.screenshot(path=SCREENSHOTS / f"report-{width}-{scheme}.png", full_page=True)
    one.context.close()
    assert one.messages == []
    assert one.requests == [run.report.as_uri()]


def test_a_phone_sees_the_energy_first_and_need_not_scroll_far(browser: Any, run: Any) -> None:
    one = Opened(browser, run.report, "narrow")
    tall, top = one.page.evaluate(
        "[document.documentElement.scrollHeight, document.querySelector('#energy .plot').getBoundingClientRect().top]"
    )
    assert tall <= 8000
    assert top < 500
    one.page.goto(f"{run.report.as_uri()}#sweep-1")
    one.page.locator("#sweep-1 .views").wait_for(state="visible")
    one.context.close()
    assert one.messages == []


def test_nothing_is_sent_or_fetched_whatever_is_pressed(browser: Any, run: Any) -> None:
    """Every button of the page and of the charting library, its menu of tools included."""
    one = Opened(browser, run.report)
    one.draw_all()
    page = one.page
    pressed = page.evaluate(
        """async () => {
            const names = [];
            for (const view of document.querySelectorAll('.segments input')) view.click();
            for (const plot of document.querySelectorAll('.plot'))
                plot.dispatchEvent(new MouseEvent('mouseover', {bubbles: true}));
            for (const button of document.querySelectorAll('button, .modebar-btn')) {
                names.push(button.dataset.title || button.textContent.trim());
                button.dispatchEvent(new MouseEvent('click', {bubbles: true, cancelable: true}));
                await new Promise(done => setTimeout(done, 5));
            }
            return names;
        }"""
    )
    assert "Zoom" in pressed
    assert "Copy as Timeloop YAML" in pressed
    assert not [name for name in pressed if re.search("share chart|cloud|upload|edit", name, re.IGNORECASE)]
    assert [url for url in one.requests if not url.startswith(("file:", "data:", "blob:"))] == []
    assert page.url.startswith("file:")
    one.context.close()
    assert [text for text in one.messages if "clipboard" not in text.lower()] == []


def test_a_point_has_an_address(browser: Any, opened: Opened, run: Any) -> None:
    page = opened.page
    page.locator("#sweep-0 .chart").focus()
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    link = page.locator("#sweep-0 .panel").get_by_role("link", name="link to this point").get_attribute("href")
    assert page.url.endswith(str(link))
    shown = page.locator("#sweep-0 .panel .note").first.inner_text()
    again = Opened(browser, run.report)
    again.page.goto("about:blank")
    again.page.goto(run.report.as_uri() + str(link))
    again.page.locator("#sweep-0 .panel h4", has_text="fc:704x64").wait_for()
    assert again.page.locator("#sweep-0 .panel .note").first.inner_text() == shown
    # A layer whose slashes stay as they are, as the table of energies names it.
    again.page.goto("about:blank")
    again.page.goto(f"{run.report.as_uri()}#point=named/simba/{quote(HOSTILE, safe='/')}")
    again.page.locator("#sweep-1 .panel h4", has_text=HOSTILE).wait_for()
    # An address of no point shows the page as it is.
    again.page.goto("about:blank")
    again.page.goto(f"{run.report.as_uri()}#point=growing/nobody/%E0%A4%A")
    again.page.locator("#filters.ready").wait_for()
    again.context.close()
    assert again.messages == []


@pytest.mark.parametrize("width", WIDTHS)
def test_a_link_to_a_point_lands_on_its_chart_with_motion(browser: Any, run: Any, width: str) -> None:
    x, y = WIDTHS[width]
    context = browser.new_context(viewport={"width": x, "height": y}, reduced_motion="no-preference", offline=True)
    page = context.new_page()
    links = (("#sweep-0", "growing", "fc:704x64"), ("#sweep-1", "named", "c"), ("#sweep-1", "named", "d"))
    for section, sweep, layer in links:
        page.goto("about:blank")
        page.goto(f"{run.report.as_uri()}#point={sweep}/simba/{layer}")
        assert page.evaluate("getComputedStyle(document.documentElement).scrollBehavior") == "smooth"
        page.locator(f"{section} .panel h4", has_text=layer).wait_for()
        page.wait_for_timeout(1500)  # charts above are drawn, and grow
        box = page.locator(f"{section} .chart").bounding_box()
        assert box is not None
        assert abs(box["y"] + box["height"] / 2 - y / 2) < y / 10, (sweep, layer, box)
    # A reader who scrolls is not pulled back.
    page.mouse.wheel(0, -y)
    page.wait_for_timeout(1000)
    moved = page.locator(f"{section} .chart").bounding_box()
    assert moved is None or moved["y"] > box["y"] + y / 2
    context.close()


def test_the_chart_comes_as_csv(opened: Opened, run: Any) -> None:
    page = opened.page
    with page.expect_download() as download:
        page.locator("#sweep-0 .csv").click()
    table = pd.read_csv(download.value.path())
    rows = run.energies[run.energies["sweep"] == "growing"].set_index(["layer", "architecture"])
    assert len(table) == len(rows) == 24
    expected = rows.loc[list(zip(table["Layer"], table["Architecture"], strict=True)), "data_pj"]
    assert table["data energy [pJ]"].tolist() == pytest.approx(expected.tolist(), rel=1e-6)


def test_the_mapping_in_timeloop_s_format_is_the_mapping(opened: Opened, run: Any) -> None:
    page = opened.page
    timings = pd.read_csv(run.folder / "timings.csv")
    page.locator("#sweep-0 .chart").focus()
    page.keyboard.press("End")
    seen = set()
    for _ in range(2):
        page.locator("#sweep-0 .chart").focus()
        page.keyboard.press("ArrowDown")
        architecture = page.locator("#sweep-0 .panel .note").first.inner_text().split()[1]
        seen.add(architecture)
        page.locator("#sweep-0 .panel .written summary").click()
        text = page.locator("#sweep-0 .panel .yaml").inner_text()
        files = yaml.safe_load((ROOT / "config/config.yaml").read_text())["architectures"][architecture]
        arch = read_architecture(ROOT / files["arch"])
        problem = parse_layer("fc:768x64").problem()
        found = read_timeloop_mapping(yaml.safe_load(text), problem, arch)
        same = (timings["architecture"] == architecture) & (timings["layer"] == "fc:768x64")
        ((_, record),) = ResultStore(run.folder / "store").read(timings.loc[same, "key"])
        assert found == from_levels(record["mapping"], problem, arch)
    assert seen == {"simba", "eyeriss"}


def test_views_on_time_show_the_table(opened: Opened, run: Any) -> None:
    page = opened.page
    rows = run.energies[(run.energies["sweep"] == "growing") & (run.energies["architecture"] == "simba")]
    rows = rows.sort_values("C")
    words = rows[[name for name in rows if name.startswith("dram_words_")]].sum(axis=1)
    expected = {
        "Cycles": (rows["C"], rows["cycles"]),
        "Utilization": (rows["C"], rows["utilization"]),
        "Energy × delay": (rows["C"], rows["total_pj"] * rows["cycles"] * 1e-12),
        "Roofline": (rows["macs"] / words, rows["macs"] / rows["cycles"]),
    }
    for name, (x, y) in expected.items():
        page.locator("#sweep-0 .segments").get_by_text(name, exact=True).click()
        (trace,) = [one for one in traces(page) if one["name"] == "simba"]
        assert trace["x"] == pytest.approx(x.tolist(), rel=1e-6)
        assert trace["y"] == pytest.approx(y.tolist(), rel=1e-6)
        if name == "Energy × delay":
            assert page.locator("#sweep-0 .ytitle").text_content() == "total energy × cycles [J·cycles]"
            assert not any("J" in text for text in page.locator("#sweep-0 .ytick").all_text_contents())
        if name == "Utilization":
            assert not page.locator("#sweep-0 .constant").is_visible()
    # Neither architecture states a bandwidth of its DRAM.
    roofs = page.locator("#sweep-0 .legend").get_by_text("no bandwidth of DRAM is stated")
    assert roofs.count() == 2


def test_the_roof_slopes_where_a_bandwidth_is_stated(browser: Any, run: Any, tmp_path: Path) -> None:
    tables = read_tables(run.folder, StatisticsOptions(), root=run.folder.parent)
    stated = {**tables.provenance["architectures"]["simba"], "dram_words_per_cycle": {"read": 3.0, "write": 1.0}}
    architectures = {**tables.provenance["architectures"], "simba": stated}
    provenance = {**tables.provenance, "architectures": architectures}
    energies = tables.energies.assign(utilization=0.5)
    write_report(replace(tables, provenance=provenance, energies=energies), tmp_path / "r.html")
    one = Opened(browser, tmp_path / "r.html")
    one.draw("#sweep-0")
    one.page.locator("#sweep-0 .segments").get_by_text("Utilization", exact=True).click()
    constant = one.page.locator("#sweep-0 .constant").inner_text()
    assert constant == "On eyeriss it is 50 % for every layer. On simba it is 50 % for every layer."
    one.page.locator("#sweep-0 .segments").get_by_text("Roofline", exact=True).click()
    one.page.locator("#sweep-0 .legend").get_by_text("4 words of DRAM per cycle").wait_for()
    lines = one.page.evaluate(
        """() => document.querySelector('#sweep-0 .plot').data.filter(t => t.mode === 'lines')
            .map(t => [Array.from(t.x), Array.from(t.y)])"""
    )
    ((x, y),) = [line for line in lines if len(line[0]) == 3]
    assert y[0] == pytest.approx(4 * x[0])
    assert y[1] == y[2] == pytest.approx(4 * x[1])
    one.context.close()
    assert one.messages == []


def test_bars_of_a_product_of_matrices_are_its_whole_energy(browser: Any, run: Any, tmp_path: Path) -> None:
    names = {"weights": "a", "inputs": "b", "outputs": "z"}
    tables = read_tables(run.folder, StatisticsOptions(), root=run.folder.parent)
    rows = tables.network_points
    assert rows is not None
    ends = re.compile("_(weights|inputs|outputs)(_pj)?$")
    renamed = rows.rename(columns=lambda name: ends.sub(lambda end: f"_{names[end[1]]}{end[2] or ''}", name))
    renamed["key"] = None  # no accesses: the spaces are those of the page
    write_report(replace(tables, network_points=renamed), tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    (tmp_path / "r.html").write_text(
        text.replace('"spaces":["Weights","Inputs","Outputs"]', '"spaces":["Weights","Inputs","Outputs","A","B","Z"]')
    )
    one = Opened(browser, tmp_path / "r.html")
    one.draw("#network-0")
    heights = one.page.evaluate(
        """() => document.querySelector('#network-0 .plot').data.filter(t => t.xaxis === 'x')
            .map(t => Array.from(t.y))"""
    )
    first = rows[rows["architecture"] == rows["architecture"].iloc[0]]
    expected = first["total_pj"] * first["count"] * 1e-12
    assert [sum(values) for values in zip(*heights, strict=True)] == pytest.approx(expected.tolist(), rel=1e-6)
    one.context.close()


def test_a_layer_of_a_network_shows_its_mapping(browser: Any, run: Any) -> None:
    one = Opened(browser, run.report)
    section = one.page.locator("#network-0")
    section.scroll_into_view_if_needed()
    section.locator("select[name$=architecture]").select_option(label="eyeriss")
    section.locator("select[name$=layer]").select_option(label="second")
    rows = run.energies[(run.energies["sweep"] == "net") & (run.energies["architecture"] == "eyeriss")]
    row = rows[rows["layer"] == "second"].iloc[0]
    ((_, record),) = ResultStore(run.folder / "store").read([row["key"]])
    files = yaml.safe_load((ROOT / "config/config.yaml").read_text())["architectures"]["eyeriss"]
    arch, problem = read_architecture(ROOT / files["arch"]), parse_layer("fc:128x64").problem()
    section.locator(".written summary").click()
    text = yaml.safe_load(section.locator(".yaml").inner_text())
    assert read_timeloop_mapping(text, problem, arch) == from_levels(record["mapping"], problem, arch)
    # The picture has what the loop nest has: levels, their loops, the words of every tile.
    drawn = section.locator(".picture text").all_text_contents()
    for level, loops in zip(record["evaluation"]["levels"], record["mapping"], strict=True):
        assert level["name"] in drawn
        serial = " ".join(f"{dimension}:{bound:,}" for dimension, bound in loops["temporal"])
        assert (f"for {serial}" if serial else "no loop") in drawn
        for space, stats in level["data"].items():
            assert f"{space} {stats['tile_words']:,}" in drawn
    assert one.page.url.endswith("#point=net/eyeriss/second")
    one.context.close()
    assert one.messages == []


def test_provenance_is_folded_until_it_is_asked_for(browser: Any, run: Any) -> None:
    one = Opened(browser, run.report)
    table = one.page.locator("#provenance > details.fold table").first
    assert not table.is_visible()
    one.page.locator("a[href='#provenance']").first.click()
    table.wait_for(state="visible")
    one.context.close()


def test_charts_show_the_table(opened: Opened, run: Any) -> None:
    page = opened.page
    by_name = {trace["name"]: trace for trace in traces(page)}
    assert set(by_name) == {"simba", "eyeriss"}
    for name, trace in by_name.items():
        rows = run.energies[(run.energies["sweep"] == "growing") & (run.energies["architecture"] == name)].sort_values(
            "C"
        )
        assert trace["x"] == rows["C"].tolist()
        assert trace["y"] == pytest.approx((rows["data_pj"] * 1e-12).tolist(), rel=1e-6)


def test_filters_change_the_charts_and_the_verdicts(opened: Opened, run: Any) -> None:
    page = opened.page
    assert page.locator("#verdict-table tbody tr:visible").count() == 4  # two sweeps on two architectures
    page.get_by_role("checkbox", name="simba").uncheck()
    assert [trace["name"] for trace in traces(page)] == ["eyeriss"]
    assert page.locator("#verdict-table tbody tr:visible").count() == 2
    page.locator("#response").select_option("total_pj")
    rows = run.energies[(run.energies["sweep"] == "growing") & (run.energies["architecture"] == "eyeriss")].sort_values(
        "C"
    )
    assert traces(page)[0]["y"] == pytest.approx((rows["total_pj"] * 1e-12).tolist(), rel=1e-6)
    # A level that only the hidden architecture has leaves nothing to show, and says so.
    page.locator("#response").select_option("GlobalBuffer_pj")
    assert traces(page) == []
    assert "eyeriss has no such level" in page.locator("#sweep-0 .chart-title").inner_text()
    page.get_by_role("checkbox", name="simba").check()
    assert [trace["name"] for trace in traces(page)] == ["simba"]
    page.locator("#all-responses").check()
    shown = page.locator("#verdict-table tbody tr:visible").count()
    assert shown == page.locator("#verdict-table tbody tr").count() > 20


def test_hover_shows_layer_energy_and_mapping(opened: Opened, run: Any) -> None:
    page = opened.page
    trace = traces(page)[0]
    x, y = place_of(page, 0, 5)
    page.mouse.move(x - 1, y)
    page.mouse.move(x, y)
    label = page.locator("#sweep-0 .hoverlayer .hovertext")
    label.wait_for()
    text = label.text_content() or ""
    rows = run.energies[(run.energies["sweep"] == "growing") & (run.energies["architecture"] == trace["name"])]
    row = rows[rows["C"] == trace["x"][5]].iloc[0]
    assert row["layer"] in text
    assert "data energy" in text
    for part in str(row["mapping"]).split(" | "):
        level, _, loops = part.strip().partition(" ")
        assert level in text
        assert loops in text


def test_a_click_draws_the_stored_mapping(opened: Opened, run: Any) -> None:
    page = opened.page
    trace = traces(page)[0]
    page.mouse.click(*place_of(page, 0, 3))
    panel = page.locator("#sweep-0 .panel")
    panel.get_by_role("heading", name=f"fc:{int(trace['x'][3])}x64").wait_for()
    timings = pd.read_csv(run.folder / "timings.csv")
    key = timings[(timings["architecture"] == trace["name"]) & (timings["layer"] == f"fc:{int(trace['x'][3])}x64")][
        "key"
    ]
    ((_, record),) = ResultStore(run.folder / "store").read(key)
    boxes = panel.locator(".level:not(.compute)")
    levels = record["evaluation"]["levels"]
    assert boxes.count() == len(levels)
    for position, (level, loops) in enumerate(zip(levels, record["mapping"], strict=True)):
        box = boxes.nth(position)
        assert box.locator("strong").inner_text() == level["name"]
        stated = box.locator(".accesses tbody td[title]").evaluate_all("cells => cells.map(cell => cell.title)")
        counts = [
            f"{level['data'][space][count]:,} words"
            for space in ("Weights", "Inputs", "Outputs")
            if space in level["data"]
            for count in ("tile_words", "reads", "fills", "updates")
        ]
        assert stated == counts
        drawn = box.locator(".loop:not(.empty)").all_inner_texts()
        expected = [f"for {d.lower()} in 0 … {b - 1:,}" for d, b in loops["temporal"]]
        expected += [f"parallel for {d.lower()} in 0 … {b - 1:,} across {axis}" for d, b, axis in loops["spatial"]]
        assert drawn == expected


def test_tables_sort_by_mouse_and_key(opened: Opened) -> None:
    page = opened.page
    heading = page.locator("#verdict-table th", has_text="Architecture")
    names = page.locator("#verdict-table tbody tr:visible td:nth-child(2)")
    heading.get_by_role("button").click()
    assert heading.get_attribute("aria-sort") == "ascending"
    assert names.all_inner_texts() == ["eyeriss", "eyeriss", "simba", "simba"]
    heading.get_by_role("button").press("Enter")
    assert heading.get_attribute("aria-sort") == "descending"
    assert names.all_inner_texts() == ["simba", "simba", "eyeriss", "eyeriss"]
    page.locator("#sweep-0 summary", has_text="Points as a table").click()
    table = page.locator("#sweep-0 .point-table")
    table.locator("tbody tr").nth(23).wait_for()
    assert table.locator("tbody tr").count() == 24
    table.get_by_role("button", name="inputs n").click()
    sizes = [int(text.replace(",", "")) for text in table.locator("tbody tr td:nth-child(3)").all_inner_texts()]
    assert sizes == sorted(sizes)
    table.get_by_role("button", name="inputs n").click()
    sizes = [int(text.replace(",", "")) for text in table.locator("tbody tr td:nth-child(3)").all_inner_texts()]
    assert sizes == sorted(sizes, reverse=True)
    table.get_by_role("button", name=re.compile("^Show the mapping of fc:768x64 on simba")).click()
    assert page.locator("#sweep-0 .panel h4").inner_text() == "fc:768x64"


def test_views_and_points_by_keyboard(opened: Opened) -> None:
    page = opened.page
    chart = page.locator("#sweep-0 .chart")
    title = page.locator("#sweep-0 .panel h4")
    chart.focus()
    page.keyboard.press("End")
    assert title.inner_text() == "fc:768x64"
    page.keyboard.press("ArrowLeft")
    assert title.inner_text() == "fc:704x64"
    assert "fc:704x64" in page.locator("#announcer").inner_text()
    page.keyboard.press("Home")
    assert title.inner_text() == "fc:64x64"
    first = page.locator("#sweep-0 .panel .note").first.inner_text()
    page.keyboard.press("ArrowDown")
    assert page.locator("#sweep-0 .panel .note").first.inner_text() != first
    # The focus can be seen.
    assert chart.evaluate("node => getComputedStyle(node).outlineStyle") == "solid"
    page.locator("#sweep-0 .segments input:checked").focus()
    page.keyboard.press("ArrowRight")
    assert (
        page.locator("#sweep-0 .chart-title").inner_text().startswith("Data energy: deviation from the fitted growth")
    )
    deviations = [value for trace in traces(page) for value in trace["y"]]
    assert max(map(abs, deviations)) < 1
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    bars = page.evaluate("document.querySelector('#sweep-0 .plot').data.map(t => [t.type, t.xaxis])")
    assert {kind for kind, _ in bars} == {"bar"}
    assert {axis for _, axis in bars} == {"x", "x2"}


def test_shares_of_the_breakdown_add_up(opened: Opened) -> None:
    page = opened.page
    page.locator("#sweep-0 .segments").get_by_text("Where it goes").click()
    page.get_by_label("as shares of the total").first.check()
    sums = page.evaluate(
        """() => { const sums = {}; for (const t of document.querySelector('#sweep-0 .plot').data)
            t.y.forEach((value, i) => { sums[t.xaxis + i] = (sums[t.xaxis + i] || 0) + value; });
            return Object.values(sums); }"""
    )
    assert len(sums) == 24
    assert sums == pytest.approx([1.0] * 24, rel=1e-6)


def test_names_with_markup_stay_text(opened: Opened) -> None:
    page = opened.page
    section = page.locator("#sweep-1")
    opened.draw("#sweep-1")
    section.locator("summary", has_text="Points as a table").click()
    # The table is filled after it opens.
    section.get_by_role("rowheader", name=HOSTILE, exact=True).nth(1).wait_for()
    assert section.get_by_role("rowheader", name=HOSTILE, exact=True).count() == 2
    assert section.get_by_role("rowheader", name="=1+1", exact=True).count() == 2
    section.get_by_role("button", name=f"Show the mapping of {HOSTILE} on simba", exact=True).click()
    assert section.locator(".panel h4").inner_text() == HOSTILE
    section.locator(".plot").evaluate("plot => plot.scrollIntoView({block: 'center', behavior: 'instant'})")
    box = place_of(page, 0, 0, "#sweep-1")
    page.mouse.move(box[0] - 1, box[1])
    page.mouse.move(*box)
    label = section.locator(".hoverlayer .hovertext")
    label.wait_for()
    assert HOSTILE in (label.text_content() or "")
    assert page.locator("img").count() == 0
    assert page.title() == "How energy grows with layer size"
    assert "<em>growing</em>" in page.locator("#sweep-0 .lead").inner_text()


def test_dark_and_light_differ_and_can_be_chosen(browser: Any, run: Any) -> None:
    one = Opened(browser, run.report, scheme="dark")
    one.draw("#sweep-0")
    page = one.page
    background = "getComputedStyle(document.body).backgroundColor"
    font = "document.querySelector('#sweep-0 .plot').layout.font.color"
    dark, pale = page.evaluate(background), page.evaluate(font)
    button = page.get_by_role("button", name="Dark")
    assert button.get_attribute("aria-pressed") == "true"
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    light, ink = page.evaluate(background), page.evaluate(font)

    def brightness(colour: str) -> float:
        digits = re.findall(r"[0-9a-f]{2}", colour) if colour.startswith("#") else re.findall(r"\d+", colour)
        return sum(int(part, 16 if colour.startswith("#") else 10) for part in digits[:3]) / 765

    assert brightness(dark) < 0.2 < 0.8 < brightness(light)
    assert brightness(ink) < 0.2 < 0.8 < brightness(pale)
    one.context.close()
    assert one.messages == []


def test_it_prints_every_chart(opened: Opened) -> None:
    page = opened.page
    pages = page.pdf(format="A4").count(b"/Type /Page\n")
    assert pages >= 3
    assert page.locator(".plot:not([data-drawn])").count() == 0


def test_every_part_can_be_named_by_a_screen_reader(opened: Opened) -> None:
    page = opened.page
    opened.draw_all()
    assert page.locator("table").count() == page.locator("table caption").count()
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll('button, select, input, a, [role=region], [role=group]')]
            .filter(node => !node.closest('.plot') && !(node.textContent.trim() || node.getAttribute('aria-label')
                || node.getAttribute('aria-labelledby') || (node.labels && node.labels.length)))
            .map(node => node.outerHTML.slice(0, 80))"""
    )
    assert unnamed == []
    missing = page.evaluate(
        """() => [...document.querySelectorAll('[aria-labelledby], [aria-describedby]')].flatMap(node =>
            ['aria-labelledby', 'aria-describedby'].map(name => node.getAttribute(name)).filter(Boolean))
            .filter(id => !document.getElementById(id))"""
    )
    assert missing == []
    # Every chart of a sweep has its table, every heading of it a button; a network has its own table.
    assert page.locator("article.sweep details.points").count() == page.locator("article[data-sweep]").count()
    levels = page.locator("main h1, main h2, main h3, main h4").evaluate_all(
        "nodes => nodes.map(n => Number(n.tagName[1]))"
    )
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
