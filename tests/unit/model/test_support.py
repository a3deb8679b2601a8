"""One table says what is followed: every refusal and every cell of the docs comes from it."""

import pytest

from jouleloop.errors import InputError, MappingError
from jouleloop.model.semantics import RULES
from jouleloop.model.support import FEATURES, AskedFeature, Feature, Use, check_supported, found_in_rules, support_table


@pytest.mark.parametrize("use", Use, ids=lambda use: use.title)
@pytest.mark.parametrize("name", FEATURES)
def test_a_refusal_names_feature_place_and_way_out(name: str, use: Use) -> None:
    feature, found = FEATURES[name], AskedFeature(name, "place", "value")
    if feature.cell(use) in ("yes", "–"):
        check_supported(use, [found], InputError)
        return
    with pytest.raises(InputError) as refused:
        check_supported(use, [found], InputError)
    (fault,) = refused.value.faults
    assert (fault.message, fault.field, fault.value) == (f"{use.refuses} {feature.title}", "place", "value")
    assert fault.allowed == feature.allowed


def test_all_refusals_are_told_at_once() -> None:
    with pytest.raises(MappingError) as refused:
        check_supported(
            Use.IMPERFECT,
            [AskedFeature("min_parallelism"), AskedFeature("timing"), AskedFeature("reuse")],
            MappingError,
        )
    assert len(refused.value.faults) == 2


def test_remainders_of_the_main_branch_are_refused_by_name() -> None:
    assert not list(found_in_rules(RULES["timeloop-3.0.3"]))
    with pytest.raises(MappingError, match=r"exact counts know no remainders .*timeloop-3\.0\.3 or timeloop-2023-04"):
        check_supported(Use.EXACT, found_in_rules(RULES["timeloop-2024"]), MappingError)


def test_a_row_of_the_table_has_a_cell_for_every_use() -> None:
    head, _, *rows = support_table().splitlines()
    assert len(rows) == len(FEATURES)
    assert {row.count("|") for row in (head, *rows)} == {len(Use) + 2}


def test_a_case_shows_in_its_cell() -> None:
    feature = Feature("f", None, (Use.EXACT,), {Use.LAWS: "where it rains"}, searched=False)
    assert [feature.cell(use) for use in (Use.EXACT, Use.LAWS, Use.PERFECT)] == ["no", "not where it rains", "yes"]
