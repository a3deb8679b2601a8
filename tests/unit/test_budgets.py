"""The budget of lines in docs/architecture.md: no part of the house outgrows it, and no old number stands there."""

import re
from typing import NamedTuple

import pytest

from paths import ROOT

PACKAGE = ROOT / "src" / "jouleloop"
#: How far a part may be above its limit.
ROOM = 1.05
#: How far below a number of today may be that a part over its budget is held to.
SLACK = 0.9


class Part(NamedTuple):
    """A row of the table."""

    name: str
    places: list[str]
    budget: int
    today: int | None
    """Lines that hold instead, while the part is over its budget."""


def parts() -> list[Part]:
    table = (ROOT / "docs" / "architecture.md").read_text().split("\n\n| part", 1)[1].split("\n\n", 1)[0]
    found = []
    for line in table.splitlines()[2:]:
        name, places, budget, today = (cell.strip() for cell in line.strip("|").split("|"))
        number = int(today.replace(",", "")) if today else None
        found.append(Part(name, re.findall(r"`([\w/.]+)`", places), int(budget.replace(",", "")), number))
    return found


def test_a_part_over_its_budget_says_why() -> None:
    said = (ROOT / "docs" / "architecture.md").read_text().split("Why parts weigh more:\n\n")[1].split("\n\n")[0]
    assert re.findall(r"^- (\w+): .+", said, re.MULTILINE) == [part.name for part in parts() if part.today]


def lines_by_part() -> dict[str, int]:
    """Return the lines of every part; a module belongs to the place that names most of its path."""
    home = {place: part.name for part in parts() for place in part.places}
    found = dict.fromkeys(home.values(), 0)
    for path in PACKAGE.rglob("*.py"):
        inside = path.relative_to(PACKAGE)
        own = [inside.with_suffix("").as_posix(), *(parent.as_posix() for parent in [inside, *inside.parents])]
        places = [place for place in own if place in home]
        assert places, f"{inside}: no part of the house"
        found[home[max(places, key=len)]] += path.read_text(encoding="utf-8").count("\n")
    return found


def test_every_place_exists_and_is_named_once() -> None:
    places = [place for part in parts() for place in part.places]
    assert len(set(places)) == len(places)
    missing = [p for p in places if not (PACKAGE / p).exists() and not (PACKAGE / f"{p}.py").exists()]
    assert missing == []


@pytest.mark.parametrize("part", parts(), ids=lambda part: part.name)
def test_a_part_keeps_to_its_budget(part: Part) -> None:
    lines = lines_by_part()[part.name]
    limit = part.today or part.budget
    assert lines <= ROOM * limit, f"{lines} lines: shorten it, or say in docs/architecture.md why it grew"
    if part.today is not None:
        assert lines > ROOM * part.budget, f"{lines} lines are within the budget: remove the number of today"
        assert lines >= SLACK * part.today, f"{lines} lines: write this number into docs/architecture.md"
