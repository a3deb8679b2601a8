import csv

import pytest

from jouleloop.errors import InputError
from jouleloop.theory.fully_connected.dataflows import best_upper
from jouleloop.theory.fully_connected.exact import count_bound, exact_minimum, recursive_bound
from jouleloop.theory.fully_connected.formulas import FcLayer, lower_bound_reads
from jouleloop.theory.fully_connected.optima import divisible_grid, from_csv, grid, judge, table_row, to_csv
from jouleloop.theory.fully_connected.relaxation import relaxations
from jouleloop.theory.fully_connected.schedule import run, schedule_from_moves
from jouleloop.theory.fully_connected.search import search
from paths import ROOT
from witnesses.fc_dijkstra import least_accesses

TABLE = ROOT / "docs" / "data" / "fc_exact_optima.csv"
TINY = [layer for layer in grid(6) if layer[0] * layer[1] <= 8] + [(3, 3, 3), (3, 3, 4), (5, 2, 2), (2, 5, 3)]


@pytest.mark.parametrize("layer", TINY)
def test_plain_dijkstra_on_buffer_contents_agrees(layer):
    found = exact_minimum(FcLayer(*layer))
    assert found.decided
    assert found.upper == least_accesses(FcLayer(*layer))


@pytest.mark.slow
@pytest.mark.parametrize("layer", [(4, 3, 3), (3, 4, 3), (6, 2, 2), (2, 6, 2), (4, 3, 2), (3, 4, 2)])
def test_plain_dijkstra_agrees_on_the_next_sizes(layer):
    assert exact_minimum(FcLayer(*layer)).upper == least_accesses(FcLayer(*layer))


@pytest.mark.parametrize(
    "layer",
    [
        *[(4, 4, 3), (4, 4, 4), (4, 5, 4), (3, 5, 3), (6, 3, 3)],
        *(pytest.param(layer, marks=pytest.mark.slow) for layer in [(5, 4, 3), (4, 5, 3)]),
    ],
)
def test_search_without_estimate_finds_the_same_cost_and_a_schedule(layer):
    limit = best_upper(FcLayer(*layer)).accesses
    plain = search(*layer, limit, estimate=False)
    guided = search(*layer, limit)
    assert plain.complete
    assert guided.complete
    assert plain.cost == guided.cost == exact_minimum(FcLayer(*layer)).upper
    assert guided.expanded <= plain.expanded
    for found in (plain, guided):
        assert run(schedule_from_moves("search", *layer, found.path)).accesses == found.cost


@pytest.mark.parametrize("layer", [(4, 7, 4), (6, 7, 3), (7, 7, 3), (8, 5, 3), (6, 3, 3)])
def test_bounds_enclose_the_optimum_and_the_schedule_costs_it(layer):
    found = exact_minimum(FcLayer(*layer))
    assert found.decided
    assert run(found.schedule()).accesses == found.upper
    assert recursive_bound(*layer) <= found.upper
    assert all(relaxation.bound() <= found.upper for relaxation in relaxations(*layer))


def test_optimum_moves_as_it_must_between_neighbouring_layers():
    value = {layer: exact_minimum(FcLayer(*layer)).upper for layer in grid(6)}
    for (n, m, beta), cost in value.items():
        if n > 1 and beta <= n + m - 1:
            assert cost >= value[n - 1, m, beta] + 1
        if m > 1 and beta <= n + m - 1:
            assert cost >= value[n, m - 1, beta] + 2
            assert cost <= value[n, m - 1, beta - 1] + 2 if beta > 2 else True  # one output kept for good
        if beta + 1 <= n + m:
            assert cost >= value[n, m, beta + 1]


def test_closed_form_for_two_words_of_buffer():
    for n in range(2, 20, 3):
        for m in range(2, 17, 2):
            found = exact_minimum(FcLayer(n, m, 2))
            assert found.decided
            assert found.upper == n * m + m + 1 == count_bound(n, m, 2)


@pytest.mark.parametrize("layer", [(9, 9, 4), (10, 6, 4), (12, 8, 5), (16, 4, 3)])
def test_larger_layers_close_without_search(layer):
    found = exact_minimum(FcLayer(*layer))
    n, m, beta = layer
    assert found.decided
    assert found.upper == m * (n - 1) // (beta - 1) + 2 * m + 1


def test_undecided_gives_both_bounds():
    found = exact_minimum(FcLayer(8, 7, 3), most_states=10)
    assert not found.decided
    assert found.method == "undecided"
    assert found.lower < found.upper == run(found.schedule()).accesses


def test_large_layers_are_decided_where_a_theorem_decides_and_else_enclosed():
    assert exact_minimum(FcLayer(1000, 16, 5)).method == "induction"
    assert exact_minimum(FcLayer(1000, 16, 5)).upper == 4 * 999 + 33
    assert exact_minimum(FcLayer(1000, 1000, 2)).decided
    open_layer = exact_minimum(FcLayer(1000, 1000, 5))
    assert open_layer.method == "undecided"
    assert open_layer.lower < open_layer.upper
    with pytest.raises(InputError, match="witness"):
        least_accesses(FcLayer(9, 9, 3))
    assert exact_minimum(FcLayer(1000, 4, 5)).upper == 1008


def test_kept_table_is_recomputed_and_says_what_the_docs_say():
    text = TABLE.read_text(encoding="utf-8")
    table = from_csv(text)
    assert [(r.inputs, r.outputs, r.buffer_words) for r in table.itertuples()] == list(grid(8))
    kept = list(csv.DictReader(text.splitlines()))
    for row in [*kept[::17], *(r for r in kept if r["schedule"])]:
        n, m, beta = (int(row[size]) for size in ("inputs", "outputs", "buffer_words"))
        if n * m <= 49:
            assert {name: str(value) for name, value in table_row(n, m, beta).items()} == row
    columns = list(kept[0])
    assert to_csv(table[columns].to_dict("records")) == text
    verdict = judge(table)
    assert verdict["decided"] == verdict["layers"] == 512
    assert verdict["lower_20_fails"] == []
    assert verdict["lower_19_fails_under_assumptions"] == []
    assert verdict["below_paper_divides"] == []
    assert verdict["below_known"] == []
    assert len(verdict["below_paper"]) == 8


def test_kept_table_of_divisible_layers_says_what_the_docs_say():
    rows = list(from_csv(TABLE.with_name("fc_divisible_optima.csv").read_text(encoding="utf-8")).itertuples())
    assert [(r.inputs, r.outputs, r.buffer_words) for r in rows] == list(divisible_grid(20, 16))
    assert (len(rows), sum(row.decided for row in rows)) == (1000, 1000)
    for row in rows:
        n, m, beta = row.inputs, row.outputs, row.buffer_words
        if beta <= min(n, m):
            assert row.upper_accesses == m * (n - 1) // (beta - 1) + 2 * m + 1
    hard = [row for row in rows if 2 < row.buffer_words <= min(row.inputs, row.outputs)]
    assert (len(hard), sum(row.decided for row in hard)) == (311, 311)
    for row in hard[::40]:
        if row.outputs <= 10:
            assert recursive_bound(row.inputs, row.outputs, row.buffer_words) == row.upper_accesses


def test_eq_20_fails_for_many_outputs_and_few_inputs():
    # All four inputs stay in Buffer: 2·16 + 4 = 36 accesses; eq. (20) would have it no less than 37.
    row = table_row(4, 16, 5)
    assert row["upper_accesses"] == 36 < row["lower_bound_20"] == 37
    assert (row["divides"], row["outputs_at_most_inputs"], row["inputs_large"]) == (True, False, False)


def test_eq_18_bounds_the_reads_under_its_assumptions():
    fewest = {}
    for n in range(1, 9):
        for m in range(1, 9):
            for beta in range(2, min(n, m) + 2):
                if n * m <= 16:
                    found = search(n, m, beta, n * m + 1, estimate=False, output_price=1, most_states=300_000)
                    fewest[n, m, beta] = found.cost
    below = {layer for layer, cost in fewest.items() if cost < lower_bound_reads(FcLayer(*layer))}
    assert {layer for layer in below if layer[2] > 2 and layer[1] <= layer[0]} == set()
    assert {layer for layer in fewest if layer[2] == 2} <= below
    assert {(2, 4, 3), (2, 6, 3)} <= below
    assert fewest[4, 4, 3] == lower_bound_reads(FcLayer(4, 4, 3)) == 11
