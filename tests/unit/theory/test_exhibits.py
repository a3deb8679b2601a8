"""The registry of tables and figures: every entry can be made, from what others make, and the workflow knows it."""

import inspect
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from jouleloop.errors import InputError
from jouleloop.theory.commands import PAPERS
from jouleloop.theory.drawing import write_figure
from jouleloop.theory.exhibits import Exhibit, exhibits
from overwritten import overwrite
from paths import ROOT

THEORY = ROOT / "src" / "jouleloop" / "theory"


def test_every_folder_is_a_paper() -> None:
    assert sorted(PAPERS) == sorted(path.parent.name for path in THEORY.glob("*/__init__.py"))


@pytest.mark.parametrize("exhibit", exhibits().values(), ids=str)
def test_an_exhibit_has_a_function_that_takes_what_it_needs(exhibit) -> None:
    parameters = list(inspect.signature(exhibit.function()).parameters.values())
    needed = [parameter for parameter in parameters if parameter.default is parameter.empty]
    assert len(needed) == len(exhibit.needs)
    assert set(exhibit.needs) <= set(exhibits())
    assert Path(exhibit.file).suffix in {".csv", ".svg", ".json"}


def test_figures_are_the_same_bytes_and_of_known_formats(tmp_path: Path) -> None:
    drawn = exhibits()["fc/algorithm_1.svg"]
    for name in ("first.svg", "second.svg"):
        drawn.make(tmp_path / name)
    assert (tmp_path / "first.svg").read_bytes() == (tmp_path / "second.svg").read_bytes()
    with pytest.raises(InputError, match=r"\.svg, \.png"):
        write_figure(Figure(), tmp_path / "figure.gif")


def test_a_table_with_a_flipped_bit_is_not_drawn(tmp_path: Path) -> None:
    table = tmp_path / "crossings.csv"
    exhibits()["conv/crossings.csv"].make(table)
    drawn = Exhibit("conv/copy.json", "convolution.tables.crossing_table", ("conv/crossings.csv",))
    sound = table.read_bytes()
    for place in range(0, 8 * len(sound), 97):
        damaged = bytearray(sound)
        damaged[place // 8] ^= 1 << place % 8
        overwrite(table, damaged)
        with pytest.raises(InputError, match="damaged"):
            drawn.make(tmp_path / "copy.json", (table,))
