"""The sweeps of a study as the statistics want them described, and the tables that the statistics write."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa

from jouleloop.columns import Parts, write_table
from jouleloop.files import write_text
from jouleloop.parquet import PART_ROWS
from jouleloop.stats.cases import SweepDescription
from jouleloop.stats.columns import FITS, LEFT_OUT, RESIDUALS, VERDICTS
from jouleloop.stats.options import StatisticsOptions
from jouleloop.stats.verdict_text import verdicts_text
from jouleloop.study.kept import Kept
from jouleloop.workload.sweep import Sweep

if TYPE_CHECKING:
    from jouleloop.stats.analysis import Analysis, RowsOf, Tested

_ROWS = "rows"
_POINT = ["architecture", "sweep", "layer"]


def describe(sweep: Sweep) -> SweepDescription:
    """Return what the statistics need to know of ``sweep``."""
    return SweepDescription(sweep.name, sweep.variable, sweep.expected, sweep.symbol, _response_growth(sweep))


def _response_growth(sweep: Sweep) -> dict[str, str]:
    """Return the growth that theory states of further responses than the energy, with what the sweep itself states.

    The least traffic of a fully-connected layer reads every weight and every input once and reads and writes every
    output once (paper 002: mn weights and the 2m + n accesses of `pair_count_accesses`). So with inputs alone or
    outputs alone, the words of each follow, and those of the other stay as they are; where both vary, the weights'.
    """
    given = dict(sweep.response_growth)
    layers = [point.layer for point in sweep.points]
    if any(layer.kind.name != "fc" for layer in layers):
        return given
    of_field = zip(*(layer.values for layer in layers), strict=True)
    fields = layers[0].kind.fields if layers else ()
    varying = {name for (name, _), sizes in zip(fields, of_field, strict=True) if len(set(sizes)) > 1}
    of_variable = dict.fromkeys(("dram_words", "dram_words_weights"), sweep.expected)
    if varying == {"C"}:
        stated = of_variable | {"dram_words_inputs": sweep.expected, "dram_words_outputs": "constant"}
    elif varying == {"M"}:
        stated = of_variable | {"dram_words_outputs": sweep.expected, "dram_words_inputs": "constant"}
    elif varying == {"C", "M"} and "".join(sweep.variable.split()) in ("mn", "C*M", "M*C"):
        stated = {"dram_words_weights": sweep.expected}
    else:
        stated = {}
    return stated | given


def rows_of(energies: pd.DataFrame, sweeps: Iterable[Sweep]) -> pd.DataFrame:
    """Return the rows of ``energies`` that belong to ``sweeps``."""
    names = [sweep.name for sweep in sweeps]
    rows = energies[energies["sweep"].isin(names)].reset_index(drop=True)
    rows.attrs.update(energies.attrs)
    return rows


def analyse(energies: pd.DataFrame, sweeps: Sequence[Sweep], options: StatisticsOptions) -> "Analysis":
    """Return the statistics of those rows of ``energies`` that belong to ``sweeps``."""
    from jouleloop.stats.analysis import analyse_table  # noqa: PLC0415 - slow to import, as SciPy is

    return analyse_table(rows_of(energies, sweeps), [describe(sweep) for sweep in sweeps], options)


class SweepTests:
    """The tests of sweeps, the rows of one sweep on one architecture in memory at a time.

    Parameters
    ----------
    folder
        Where the tests of each sweep are kept, and found where its rows are the same.
    """

    def __init__(self, options: StatisticsOptions, folder: Path) -> None:
        self._options = options
        self._folder = folder
        self._found: dict[str, Tested] = {}
        self._residuals = Parts(RESIDUALS)

    def add(self, sweep: Sweep, columns: pd.DataFrame, rows_of: "RowsOf", content: str) -> None:
        """Test a sweep by its ``rows_of``, whose digest is ``content``; see `jouleloop.stats.analysis.tested_alone`."""
        description = describe(sweep)
        inputs = [asdict(description), self._options.model_dump(mode="json"), content]
        kept = Kept(self._folder, f"growth-{sweep.name}", "jouleloop.stats.analysis", inputs)
        further: dict[str, str] = {}

        def make() -> Iterator[pa.Table]:
            from jouleloop.stats.analysis import tested_alone  # noqa: PLC0415 - as above

            found: tuple[list[Any], list[Any], list[Any]] = ([], [], [])
            for test in tested_alone(columns, rows_of, description, self._options):
                for rows, more in zip(found, (test.verdicts, test.fits, test.left_out), strict=True):
                    rows.extend(more)
                if test.residuals is not None:
                    yield from _few_at_a_time(test.residuals)
                del test  # before the next is made
            further[_ROWS] = json.dumps(found, default=lambda value: None if value is pd.NA else value.item())

        kept.made(make, further)
        self._found[sweep.name] = _tested(kept.further()[_ROWS])
        for part in kept.parts():
            self._residuals.add(sweep.name, part, kept.parts)

    def write(self, folder: Path, provenance: Mapping[str, Any] | None = None) -> None:
        """Write what `write_analysis` writes of all sweeps."""
        from jouleloop.stats.analysis import gathered  # noqa: PLC0415 - as above

        write_analysis(
            gathered([self._found[name] for name in sorted(self._found)]), folder, provenance, self._residuals
        )


def _few_at_a_time(table: pd.DataFrame) -> Iterator[pa.Table]:
    for first in range(0, len(table), PART_ROWS):
        yield pa.Table.from_pandas(table.iloc[first : first + PART_ROWS], preserve_index=False)


def _tested(text: str) -> "Tested":
    from jouleloop.stats.analysis import Tested  # noqa: PLC0415 - as above

    verdicts, fits, left_out = json.loads(text)
    verdicts = [{key: pd.NA if value is None else value for key, value in row.items()} for row in verdicts]
    return Tested(verdicts, fits, left_out)


def is_bound(name: str) -> bool:
    """Whether `with_theory` needs the column of that name of a table of bounds."""
    return name in (*_POINT, "variant") or name.startswith("theory_")


def with_theory(energies: pd.DataFrame, theory: pd.DataFrame) -> pd.DataFrame:
    """Return ``energies`` with the ``theory_…`` columns of a table of bounds, empty where it has no such point."""
    if "variant" in theory.columns:  # sweeps that are tested have the architecture as its file has it
        theory = theory[theory["variant"].fillna("") == ""]
    columns = [name for name in theory.columns if str(name).startswith("theory_") and name not in energies.columns]
    found = theory[columns].reset_index(drop=True).reindex(pd.Index(_places(energies[_POINT], theory[_POINT])))
    joined = energies.assign(**{str(name): found[name].array for name in columns})
    joined.attrs.update(energies.attrs)
    return joined


def _places(points: pd.DataFrame, known: pd.DataFrame) -> "pd.Series[Any]":
    """Return where each of some points stands among known ones, none twice; missing where it is not known."""
    # Mostly they are the same ones: nothing is looked up, which would take as much memory as all numbers of a test.
    if len(points) == len(known) and all((points[name].array == known[name].array).all() for name in _POINT):
        return pd.Series(range(len(points)))
    placed = known.assign(place=range(len(known)))
    return points.merge(placed, on=_POINT, how="left", validate="many_to_one")["place"]


def write_analysis(
    analysis: "Analysis", folder: Path, provenance: Mapping[str, Any] | None = None, residuals: Parts | None = None
) -> None:
    """Write fits, verdicts, residuals and what was left out, and the verdicts in words, into ``folder``.

    ``residuals`` are those, where they are too many to be in ``analysis``.
    """
    tables = {FITS: analysis.fits, VERDICTS: analysis.verdicts, LEFT_OUT: analysis.left_out}
    if residuals is None:
        tables[RESIDUALS] = analysis.residuals
    else:
        residuals.write(folder / RESIDUALS.file, provenance)
    for layout, table in tables.items():
        write_table(folder / layout.file, table, layout, provenance)
    write_text(folder / "verdicts.txt", verdicts_text(analysis.verdicts, analysis.paragraphs))
