"""The laws behind the bars: every point from its law, laws derived by hand, and which law holds where."""

import math
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from jouleloop.config.load import load_study, read_config
from jouleloop.errors import MappingError
from jouleloop.mapping.compact import kept_text, parse_compact
from jouleloop.model.evaluate import evaluate_mapping
from jouleloop.report.figures_laws import law_figure
from jouleloop.study.compute import Job
from jouleloop.study.plan import jobs_of
from jouleloop.study.store import ResultStore
from jouleloop.study.targets import TargetSet
from jouleloop.tables.energies import energies_table
from jouleloop.tables.laws import LawTables, law_tables
from jouleloop.tables.layers import layer_rows
from jouleloop.workload.layer import Layer
from jouleloop.workload.sweep import Sweep, load_sweep
from paths import ROOT
from shares import slow_after

FC_SWEEPS = ("fc_inputs", "fc_outputs", "fc_weights")
#: Numbers of outputs and inputs that bring out every kind of law: highly composite ones, primes times 128, powers of 2.
SIZES = (128, 384, 1024, 1408, 2176, 2688, 3072, 3840, 3968, 4096)


@cache
def jobs() -> dict[str, Job]:
    return jobs_of(read_config(ROOT / "config" / "config.yaml"), ROOT)


def sweeps(names: tuple[str, ...], sizes: tuple[int, ...] | None = None) -> list[Sweep]:
    found = []
    for name in names:
        sweep = load_sweep(ROOT / "layers" / f"{name}.yaml")
        if sizes:
            chosen = tuple(p for p in sweep.points if p.layer.sizes["C"] in sizes and p.layer.sizes["M"] in sizes)
            sweep = replace(sweep, points=chosen)
        found.append(sweep)
    return found


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> tuple[pd.DataFrame, LawTables]:
    """Optima and laws of a sample of the default sweeps on both architectures."""
    chosen = sweeps(FC_SWEEPS, SIZES)
    energies, _ = energies_table(jobs(), chosen, ResultStore(tmp_path_factory.mktemp("store")))
    return energies, law_tables(energies, jobs(), chosen)


def laws_of(table: pd.DataFrame, layer: pd.Series) -> pd.Series:
    found = table[(table["architecture"] == layer["architecture"]) & (table["law"] == layer["law"])]
    return found[found["sweep"] == layer["sweep"]].iloc[0]


def recompute(tables: LawTables, energies: pd.DataFrame) -> None:
    """Check every point of ``energies`` against the row of its law, from the columns a reader of the tables has."""
    joined = tables.points.merge(energies, on=["architecture", "sweep", "layer"], suffixes=("", "_table"))
    assert len(joined) == len(energies) == len(tables.points)
    assert (joined["law"] != "").all()
    joined = joined.merge(tables.laws, on=["architecture", "sweep", "law"], suffixes=("", "_law"))
    n, m = joined["C"].astype(float), joined["M"].astype(float)
    monomials = {"mn": m * n, "n": n, "m": m, "one": 1.0 + 0 * n}
    data = joined["partial_vectors_pj"]
    total = data.copy()
    for name in tables.laws.columns:
        if name.startswith(("data_", "compute_")) and name.endswith("_pj"):
            side, monomial = name.removesuffix("_pj").split("_", 1)
            term = joined[name].fillna(0.0) * monomials[monomial]
            total = total + term
            data = data + (term if side == "data" else 0)
    assert ((data / joined["data_pj"] - 1).abs() < 1e-9).all()
    assert ((total / joined["total_pj"] - 1).abs() < 1e-9).all()
    assert (joined["relative_error"] < 1e-12).all()


def test_every_point_of_a_sample_follows_from_its_law(sample: tuple[pd.DataFrame, LawTables]) -> None:
    energies, tables = sample
    assert len(energies) == 2 * (2 * len(SIZES) + len(SIZES) ** 2)
    recompute(tables, energies)


@pytest.mark.slow
def test_every_point_of_the_fully_connected_sweeps_follows_from_its_law(tmp_path: Path) -> None:
    sweeps = {"sweeps": ["fc_inputs", "fc_outputs", "fc_weights"]}
    study = load_study(read_config(ROOT / "config" / "config.yaml").model_copy(update=sweeps), ROOT)
    energies, _ = energies_table(jobs(), study.tested, ResultStore(tmp_path))
    assert len(energies) == 2 * (32 + 32 + 1024)
    tables = law_tables(energies, jobs(), study.tested)
    recompute(tables, energies)
    optima_by_hand(energies[energies["architecture"] == "eyeriss"])
    assert tables.laws.groupby("architecture")["law"].nunique().to_dict() == {"eyeriss": 16, "simba": 1}


def test_terms_are_counts_times_the_energy_tables_energies(sample: tuple[pd.DataFrame, LawTables]) -> None:
    _, tables = sample
    terms = tables.terms
    for architecture, job in jobs().items():
        costs = {e.level: {"read": e.read_pj, "write": e.write_pj} for e in job.target.costs.levels}
        own = terms[terms["architecture"] == architecture]
        stored = own[own["action"] != "compute"]
        assert set(stored["level"]) <= set(costs)
        charged = [costs[level][action] for level, action in zip(stored["level"], stored["action"], strict=True)]
        assert list(stored["access_pj"]) == charged
    sums = terms.groupby(["architecture", "law", "monomial"])["coefficient_pj"].sum()
    for _, law in tables.laws.iterrows():
        for monomial in ("n", "m"):
            assert sums[law["architecture"], law["law"], monomial] == pytest.approx(law[f"data_{monomial}_pj"], 1e-12)
        whole = law["data_mn_pj"] + law["compute_mn_pj"]
        assert sums[law["architecture"], law["law"], "mn"] == pytest.approx(whole, 1e-12)


def test_simbas_law_is_the_one_derived_by_hand(sample: tuple[pd.DataFrame, LawTables]) -> None:
    """Every weight is read once from DRAM and stored once in buffer and register; 4 vector units share an input read.

    In the fully-connected layer each of the 4 multipliers of a unit has another input, so an accumulator is read and
    written once for 4 operations, except that the first of each of the 16 processing elements needs no read.
    """
    _, tables = sample
    rows = tables.laws[tables.laws["architecture"] == "simba"]
    costs = {entry.level: entry for entry in jobs()["simba"].target.costs.levels}
    dram = costs["DRAM"].read_pj / 8
    assert costs["DRAM"].write_pj / 8 == dram
    buffer, registers, accumulators = (costs[n] for n in ("PEWeightBuffer", "PEWeightRegs", "PEAccuBuffer"))
    shared, inputs = costs["GlobalBuffer"], costs["PEInputBuffer"]
    mn = dram + (buffer.read_pj + buffer.write_pj) / 8 + (registers.read_pj + registers.write_pj) / 64
    mn += inputs.read_pj / 8 / 4 + (accumulators.read_pj + accumulators.write_pj) / 4
    n = dram + (shared.read_pj + shared.write_pj) / 32 + inputs.write_pj / 8
    m = dram + shared.write_pj / 32 - 16 * accumulators.read_pj
    assert rows["law"].nunique() == 1
    for _, row in rows.iterrows():
        assert (row["data_mn_pj"], row["data_n_pj"], row["data_m_pj"]) == pytest.approx((mn, n, m), rel=1e-12)
        assert row["divisibility"] == "64 divides n, 4 divides m"


def eyeriss_by_hand(n: int, m: int) -> float:
    """The cheapest of all ways to split m into t partial sums, x columns, y rows and p passes, and n over k rows.

    Every weight is read once from DRAM and passes through a scratchpad; every input is stored once in the global buffer
    and read from it in each pass; each processing element walks over t outputs per input; the first partial sum of each
    of the k rows that share an output needs no read. x fits 14 columns, y times k fits 12 rows, t a scratchpad of 16.
    """
    costs = {entry.level: entry for entry in jobs()["eyeriss"].target.costs.levels}
    word = 1 / 4
    dram = word * costs["DRAM"].read_pj
    weights = costs["weights_spad"].read_pj + costs["weights_spad"].write_pj
    sums = costs["psum_spad"].read_pj + costs["psum_spad"].write_pj
    stored, read = word * costs["shared_glb"].write_pj, word * costs["shared_glb"].read_pj
    best = float("inf")
    for t in (t for t in range(1, 17) if m % t == 0):
        for x in (x for x in range(1, 15) if m // t % x == 0):
            for y in (y for y in range(1, 13) if m // (t * x) % y == 0):
                passes = m // (t * x * y)
                for k in (k for k in range(1, 12 // y + 1) if n % k == 0):
                    mapped = costs["ifmap_spad"].read_pj + costs["ifmap_spad"].write_pj / t
                    energy = m * n * (dram + weights + sums + mapped) + (n + m) * (dram + stored)
                    energy += n * passes * read - k * m * costs["psum_spad"].read_pj
                    best = min(best, energy)
    return best


def optima_by_hand(energies: pd.DataFrame) -> None:
    for row in energies.itertuples():
        assert row.data_pj == pytest.approx(eyeriss_by_hand(int(row.C), int(row.M)), rel=1e-12), row.layer


def test_eyeriss_optima_are_the_cheapest_divisors_found_by_hand(sample: tuple[pd.DataFrame, LawTables]) -> None:
    energies, _ = sample
    optima_by_hand(energies[energies["architecture"] == "eyeriss"])


def test_layers_that_split_alike_share_a_law(sample: tuple[pd.DataFrame, LawTables]) -> None:
    """2176 and 3968 are 128 times a prime above 14: only 128 outputs fit the array at once; 2688 = 14 x 12 x 16 do."""
    _, tables = sample
    points = tables.points[(tables.points["architecture"] == "eyeriss") & (tables.points["sweep"] == "fc_outputs")]
    law = points.set_index("M_size")["law"]
    assert law[2176] == law[3968] != law[2688]
    assert law[2688] == law[1408]
    read_pj = next(e.read_pj for e in jobs()["eyeriss"].target.costs.levels if e.level == "shared_glb") / 4
    rows = tables.laws[tables.laws["sweep"] == "fc_outputs"].set_index("law")
    assert rows.loc[law[2176], "data_mn_pj"] - rows.loc[law[2688], "data_mn_pj"] == pytest.approx(read_pj / 128)
    # 3840 outputs need two passes, each of which reads every input from the global buffer.
    assert rows.loc[law[3840], "data_n_pj"] - rows.loc[law[2688], "data_n_pj"] == pytest.approx(read_pj)


ROWS_IN_A_COLUMN = (
    "DRAM Q2 P2 C3 | shared_glb Q28 P28 M4X | DummyBuffer S{k}Y | ifmap_spad | weights_spad R{k} | psum_spad M16"
)
WHOLE_ROWS = (
    "DRAM Q55 | GlobalBuffer M8X | PEInputBuffer M4Y | PEWeightBuffer S{k} R{k} | "
    "PEAccuBuffer M2 C3Y | PEWeightRegs P55"
)
CONVOLUTIONS = [
    ("eyeriss", "conv_kernel", ROWS_IN_A_COLUMN, (5, 7)),
    ("simba", "conv_kernel", WHOLE_ROWS, (9, 11)),
]


@pytest.mark.parametrize(("architecture", "name", "mapping", "kernels"), CONVOLUTIONS)
def test_laws_of_convolutions_with_halos(architecture: str, name: str, mapping: str, kernels: tuple[int, ...]) -> None:
    sweep = sweeps((name,))[0]
    sweep = replace(sweep, points=tuple(p for p in sweep.points if p.layer.sizes["R"] in kernels))
    tables = law_tables(evaluated(architecture, sweep, mapping), {architecture: jobs()[architecture]}, [sweep])
    assert (tables.points["relative_error"] < 1e-12).all()
    law = tables.laws.iloc[0]
    # The kernel alone varies: the law is in R and S, and DRAM reads of weights, C M R S of them, are among its terms.
    assert {column for column in tables.points.columns if column.endswith("_size")} == {"R_size", "S_size"}
    assert law["data_RS_pj"] > 0
    weights = tables.terms[(tables.terms["level"] == "DRAM") & (tables.terms["data_space"] == "Weights")]
    assert set(weights["monomial"]) == {"RS"}


#: Mappings of every depth M with tiles that stay, what they grow with, and which law holds where the last pass leaves
#: out nothing, one channel, half, or all but one. Where all loops run to their ends Timeloop takes another path; and
#: instance 0, which stands for all, ends early in the last pass only if it works alone.
EARLY = [
    (
        "eyeriss",
        (
            "DRAM Q5 M{passes} | shared_glb C3 Q11 P55 M3X | DummyBuffer S11Y | ifmap_spad | weights_spad R11"
            " | psum_spad M15"
        ),
        45,
        {"M", "⌈M/15⌉", "⌈M/45⌉"},
        (0, 1, 1, 2),
    ),
    (
        "simba",
        (
            "DRAM P4 Q14 | GlobalBuffer Q4 M{passes}X | PEInputBuffer M4Y | PEWeightBuffer R11 S11"
            " | PEAccuBuffer M9 C3Y | PEWeightRegs P14"
        ),
        36,
        {"M", "⌈M/36⌉"},
        (0, 0, 0, 0),
    ),
]


@pytest.mark.parametrize(("architecture", "mapping", "tile", "steps", "classes"), slow_after(1, EARLY))
def test_one_law_holds_for_all_sizes_whose_tiles_and_last_passes_are_alike(
    architecture: str, mapping: str, tile: int, steps: set[str], classes: tuple[int, ...]
) -> None:
    job = ending_early(jobs()[architecture])
    sweep = sweeps(("conv_depth_dense",))[0]
    base = sweep.points[0]
    depths = [tile * passes - rest for passes in (2, 3, 4, 9) for rest in (0, 1, tile // 2, tile - 1)]
    points = tuple(replace(base, layer=Layer.of("conv", **{**base.layer.sizes, "M": m})) for m in depths)
    sweep = replace(sweep, points=points)
    text = [mapping.format(passes=-(-m // tile)) for m in depths]
    tables = law_tables(evaluated(architecture, sweep, text), {architecture: job}, [sweep])
    laws = tables.points["law"].to_numpy().reshape(4, 4)
    assert (laws == laws[0]).all()
    assert [list(dict.fromkeys(laws[0])).index(law) for law in laws[0]] == list(classes)
    assert (tables.points["relative_error"] < 1e-12).all()
    assert (tables.points["partial_vectors_pj"] < 1e-4 * tables.points["data_pj"]).all()
    assert steps <= {part for name in tables.terms["monomial"] for part in name.split("·")}
    # Of two sizes the same law is derived as of all.
    some = slice(1, 9, 4)
    two = law_tables(
        evaluated(architecture, replace(sweep, points=points[some]), text[some]), {architecture: job}, [sweep]
    )
    assert set(two.laws["formula_total"]) <= set(tables.laws["formula_total"])


def ending_early(job: Job) -> Job:
    """Return the same architecture with imperfect factors."""
    return replace(job, target=TargetSet(replace(job.target.files, factors="imperfect"), job.target.semantics))


def evaluated(architecture: str, sweep: Sweep, mapping: str | list[str]) -> pd.DataFrame:
    """Return the energies table of one mapping per point, whether it is the best or not."""
    job = jobs()[architecture]
    texts = [mapping] * len(sweep.points) if isinstance(mapping, str) else mapping
    target = job.target.arch
    rows: list[dict[str, Any]] = []
    spaces = ("Weights", "Inputs", "Outputs")
    keep = {
        level.name: frozenset(spaces)
        - job.target.for_shape(sweep.points[0].layer.problem().shape).constraints.level(level.name).bypass
        for level in target.levels
    }
    kept = kept_text([{"level": name, "keep": sorted(spaces)} for name, spaces in keep.items()])
    for row, point, given in zip(layer_rows(sweep), sweep.points, texts, strict=True):
        problem = point.layer.problem()
        nest = parse_compact(given.format(k=point.layer.sizes["R"]), keep)
        reached = {d: math.prod(b for level in nest.levels for at, b in level.loops if at == d) for d in problem.bound}
        nest = replace(nest, imperfect=tuple(sorted((d, b) for d, b in problem.bound.items() if reached[d] != b)))
        text = nest.compact()
        result = evaluate_mapping(problem, target, job.target.costs, nest, check_capacity=False)
        energies = {
            f"{level.name}_{space.lower()}_pj": stats.energy_pj
            for level in result.levels
            for space, stats in level.data.items()
        }
        totals = {"total_pj": result.energy_pj, "data_pj": result.data_energy_pj}
        rows.append(
            {"architecture": architecture, **row, "status": "ok", "mapping": text, "kept": kept, **totals, **energies}
        )
    return pd.DataFrame(rows)


def test_energies_that_no_count_explains_get_no_law(sample: tuple[pd.DataFrame, LawTables]) -> None:
    energies, _ = sample
    rows = energies[(energies["architecture"] == "simba") & (energies["sweep"] == "fc_inputs")].copy()
    rows.loc[rows.index[0], "DRAM_weights_pj"] *= 1.001
    tables = law_tables(rows, jobs(), sweeps(("fc_inputs",), SIZES))
    assert list(tables.points["law"].eq("")) == [True] + [False] * (len(rows) - 1)
    assert tables.laws["points"].sum() == len(rows) - 1
    assert tables.points["law_total_pj"].isna().sum() == 1


def test_tables_are_the_same_whatever_the_order_of_the_columns(sample: tuple[pd.DataFrame, LawTables]) -> None:
    energies, tables = sample
    again = law_tables(energies[energies.columns[::-1]], jobs(), sweeps(FC_SWEEPS, SIZES))
    pd.testing.assert_frame_equal(again.laws, tables.laws)
    pd.testing.assert_frame_equal(again.points, tables.points)


def test_nothing_usable_gives_empty_tables() -> None:
    sweep = sweeps(("fc_inputs",), SIZES)[0]
    rows = pd.DataFrame([{"architecture": "simba", **row, "status": "no_mapping"} for row in layer_rows(sweep)])
    tables = law_tables(rows, jobs(), [sweep])
    assert not len(tables.laws)
    assert {"architecture", "sweep", "law"} <= set(tables.laws.columns)
    assert {"architecture", "sweep", "layer", "law"} <= set(tables.points.columns)


def test_the_figure_names_the_laws_and_their_number(sample: tuple[pd.DataFrame, LawTables]) -> None:
    _, tables = sample
    for sweep in FC_SWEEPS:
        figure = law_figure(tables.laws, tables.points, sweep, "size")
        count = tables.laws[(tables.laws["sweep"] == sweep) & (tables.laws["architecture"] == "eyeriss")]["law"].size
        assert f"Eyeriss n = {len(SIZES) if sweep != 'fc_weights' else len(SIZES) ** 2}, {count} laws" in figure.caption
        assert len(figure.figure.axes) == 4


def test_a_line_that_is_no_mapping_is_refused() -> None:
    keep = {"DRAM": ["Weights"], "buffer": []}
    with pytest.raises(MappingError, match="not a loop"):
        parse_compact("DRAM C4 | buffer 7", keep)
    with pytest.raises(MappingError, match="unknown level"):
        parse_compact("DRAM C4 | cache M2X", keep)
