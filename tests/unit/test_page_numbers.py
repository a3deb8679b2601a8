"""Numbers that pages state of stored data are those of the data: an edit of one without the other fails."""

import json
import lzma
import re

import pandas as pd
import pytest

from jouleloop.config.load import load_study
from jouleloop.files import read_yaml
from jouleloop.theory.manticore.tables import printed_table
from paths import ROOT

DATA = ROOT / "docs/data"
REFERENCE = ROOT / "tests/reference"


def page(name: str) -> str:
    """Return a page on one line, so that a statement may be wrapped anywhere."""
    return " ".join((ROOT / f"docs/{name}.md").read_text(encoding="utf-8").split())


def test_the_exact_optima_of_fully_connected_layers() -> None:
    table = pd.read_csv(DATA / "fc_exact_optima.csv")
    text, ways = page("theory-fully-connected"), table["method"].value_counts()
    assert (
        f"All {len(table)} layers with n, m <= 8 and 2 <= β <= n + m are decided: {ways['resident']} keep the smaller "
        f"side resident, {ways['smaller layers']} close by counting and smaller layers, "
        f"{ways['relaxation']} by a relaxation, {ways['search']} by search."
    ) in text
    open_ones = table[table["buffer_words"] <= table[["inputs", "outputs"]].min(axis=1)]
    assert f"The {len(open_ones)} layers with β <= min(n, m)" in text
    assert f"it covers {open_ones['divides'].sum()} of the {len(open_ones)} layers" in text
    cheaper = table[table["upper_accesses"] < table["paper_upper"]]
    assert (
        f"Of {(~open_ones['divides']).sum()} layers, {len(cheaper)} have a schedule that is cheaper still, each by one"
        in text
    )
    assert (cheaper["paper_upper"] - cheaper["upper_accesses"] == 1).all()
    for layer in cheaper[["inputs", "outputs", "buffer_words"]].to_numpy():
        assert "({},{},{})".format(*layer) in text
    ways = pd.read_csv(DATA / "fc_divisible_optima.csv")["method"].value_counts()
    assert (
        f"all {ways.sum()} layers with (β − 1) | m are decided: {ways['resident']} resident, "
        f"{ways['smaller layers']} by counting and smaller layers, {ways['induction']} by the induction"
    ) in text


def test_the_exact_optima_of_convolutions() -> None:
    table = pd.read_csv(DATA / "conv_least_words.csv")
    text = page("theory-convolutions")
    taps = table[(table["filter_width"] > 1) | (table["filter_height"] > 1)]
    least, blocking, sliding = (f"{column}_words" for column in ("least", "best_blocking", "best_sliding"))
    assert f"| | all {len(table)} rows | the {len(taps)} with more than one tap |" in text
    found = re.findall(r"\| (?:Theorem 2\.1|best blocking|best sliding)[^|]*\| (\d+) \| (\d+) \|", text)
    expected = [
        tuple(str((rows[least] == rows[column]).sum()) for rows in (table, taps))
        for column in ("theorem_2_1_words", blocking, sliding)
    ]
    assert found == expected
    assert f"best sliding windows ({table[sliding].notna().sum()} rows have one)" in text
    assert (
        f"Sliding windows are cheaper in {(table[sliding] < table[blocking]).sum()} rows, dearer in "
        f"{(table[sliding] > table[blocking]).sum()}, and one of the two is optimal in "
        f"{((table[sliding] == table[least]) | (table[blocking] == table[least])).sum()}"
    ) in text
    loose = table[table[least] > table["theorem_2_1_words"]]["memory_words"].value_counts()
    assert f"Of the {loose.sum()} rows above it {loose[3]} have M = 3, {loose[4]} M = 4" in text
    findings = page("findings")
    optimal = (table[blocking] == table[least]).sum()
    assert f"In {len(table)} small cases, all solved, blocking is optimal in {optimal}" in findings


def test_the_lengths_at_which_attention_overtakes_the_projections() -> None:
    table = pd.read_csv(DATA / "transformer_crossover.csv")
    near = table[table["sequence"].between(1217, 1472)]
    assert near["proven"].all()
    shown = []
    for _, rows in near.groupby("architecture"):
        dear = rows["attention_pj"] > rows["projections_pj"]
        shown.append((len(rows), dear.sum(), rows["sequence"][~dear].max()))
    (mapped, dearer, last), (mapped_simba, dearer_simba, last_simba) = shown
    text = page("transformers")
    assert f"| with a mapping | {mapped} | {mapped_simba}: the multiples of 4 |" in text
    assert f"| attention costs more | {dearer} | {dearer_simba} |" in text
    assert f"| last length at which it costs less | **{last}** | **{last_simba}** |" in text


@pytest.mark.parametrize("factors", ["perfect", "imperfect"])
@pytest.mark.parametrize("architecture", ["simba", "eyeriss"])
def test_the_comparison_with_accelforge(architecture: str, factors: str) -> None:
    table = pd.read_csv(DATA / "fc_accelforge.csv")
    rows = table[(table["architecture"] == architecture) & (table["factors"] == factors) & table["native_optimal"]]
    ratio = rows["accelforge_mapping_native_pj"] / rows["native_pj"]
    above = (ratio > 1 + 1e-9).sum()
    assert (ratio > 1 - 1e-9).all()
    start = rf"\| {architecture.title()} \(`[a-z-]+`\), {factors} "
    assert re.search(rf"{start}\| {len(rows)} \| {len(rows) - above} \| {above} \|", page("engines-accelforge"))


def test_the_fields_compared_with_real_timeloop() -> None:
    table = pd.read_csv(REFERENCE / "crosscheck/summary.csv").groupby("run")[["fields", "equal"]].sum()
    assert (table["fields"] == table["equal"]).all()
    text = page("validation")
    assert [f"{fields:,}" for fields in table["fields"] if f"| {fields:,} |" not in text] == []
    runs = pd.read_csv(REFERENCE / "crosscheck/workflow_timeloop.csv")
    ended, invalid = runs["optimal"].sum(), (runs["status"] == "invalid").sum()
    assert (
        f"{ended} searches end, {len(runs) - ended - invalid} are interrupted, and {invalid} layers are invalid" in text
    )
    cases = sum(len(json.loads(path.read_text())) for path in (REFERENCE / "timeloop").glob("cases_*.json"))
    optima = len(json.loads((REFERENCE / "timeloop/mapper_optima.json").read_text()))
    assert f"All {cases + optima} stored cases" in text
    assert f"pass: {cases} evaluated mappings and {optima} mapper runs" in text


def test_the_stored_runs_of_real_mappers() -> None:
    files = sorted((REFERENCE / "mapper_runs").glob("*.xz"))
    stored = sum(lzma.decompress(path.read_bytes()).count(b"\n") for path in files)
    for name in ("validation", "search"):
        assert f"{stored:,} exhaustive runs" in page(name)


def test_the_designs_of_public_repositories() -> None:
    table = pd.read_csv(DATA / "designs.csv")
    dense, numbers, ended = (table[column].sum() for column in ("dense_designs", "numbers", "timeloop_ends_too"))
    assert dense == numbers + ended
    text = page("designs")
    assert f"lists {len(table)} repositories. {numbers} of their {dense} dense designs have numbers" in text
    assert f"The other {ended} end real Timeloop" in text


def test_the_default_study() -> None:
    points = {
        sweep.name: len(sweep.points) for sweep in load_study(read_yaml(ROOT / "config/config.yaml"), ROOT).sweeps
    }
    connected = sum(count for name, count in points.items() if name.startswith("fc_"))
    assert f"{connected:,} fully-connected layers and {sum(points.values()) - connected} convolutions" in page(
        "tutorial"
    )
    assert f"All {2 * connected} fully-connected layers of the default sweeps" in page("laws")


def test_the_printed_numbers_of_paper_003() -> None:
    numbers = printed_table()
    right = numbers["rounds_to_printed"].sum()
    assert f"recomputes {len(numbers)} numbers of the text" in page("errata")
    assert f"{right} are right to the last printed digit" in page("errata")
    assert f"{len(numbers)} printed numbers recomputed: {right} round" in page("theory-manticore")
