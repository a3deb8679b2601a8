"""What the HTML report is made of: the tables of a finished run, read and checked against each other."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from jouleloop.columns import read_parts, read_table
from jouleloop.config.load import load_all
from jouleloop.errors import Fault, InputError, raise_all
from jouleloop.files import read_json
from jouleloop.layouts import Layout
from jouleloop.report.html.charted import GROUP, OF_ALL, Charted, charted_points, select
from jouleloop.report.html.other import OtherRun, read_other
from jouleloop.stats.columns import FITS, LEFT_OUT, RESIDUALS, VERDICTS
from jouleloop.stats.options import StatisticsOptions
from jouleloop.stats.table import TABLE_VERSION, check_table, chosen
from jouleloop.study.provenance import file_hash
from jouleloop.tables.growth import analyse, with_theory
from jouleloop.tables.layouts import (
    CAPACITY,
    CAPACITY_SUMMARY,
    ENERGIES,
    LAW_POINTS,
    LAWS,
    NETWORKS,
    PUBLISHED,
    SEARCH_NOISE,
    THEORY_RATIO,
)
from jouleloop.units import energies_in, unit_of
from jouleloop.workload.sweep import Sweep

ANALYSIS = (VERDICTS, FITS, RESIDUALS, LEFT_OUT)
"""What `jouleloop.tables.growth.write_analysis` writes; the report needs all of them or makes them itself."""
FURTHER = (NETWORKS, PUBLISHED, THEORY_RATIO, LAWS, LAW_POINTS, SEARCH_NOISE, CAPACITY, CAPACITY_SUMMARY)
SUMMARY = "summary.json"
OPTIONAL = (*(layout.file for layout in FURTHER), SUMMARY)
"""What the report shows where it is there: tables by name, and the summary of the run."""

_DIRECT = ("data_pj", "total_pj")


@dataclass(frozen=True)
class ReportTables:
    """The tables of one run."""

    energies: pd.DataFrame
    """The charted points: all, or of a large run evenly spaced ones."""
    every: pd.DataFrame
    """All points; of a large run few columns."""
    provenance: Mapping[str, Any]
    """Of ``energies.parquet``."""
    verdicts: pd.DataFrame
    fits: pd.DataFrame
    residuals: pd.DataFrame
    left_out: pd.DataFrame
    """The statistics of the same table; residuals those of the charted points."""
    sweeps: Mapping[str, Sweep]
    """Layer files that the provenance names and that have not changed since, by the name of the sweep."""
    networks: pd.DataFrame | None = None
    network_points: pd.DataFrame | None = None
    """Rows of the table of energies that are layers of networks."""
    published: pd.DataFrame | None = None
    laws: pd.DataFrame | None = None
    law_points: pd.DataFrame | None = None
    search_noise: pd.DataFrame | None = None
    capacity: pd.DataFrame | None = None
    capacity_summary: pd.DataFrame | None = None
    """Further tables; None where the run has not made them."""
    summary: Mapping[str, Any] | None = None
    """What ``summary.json`` says of the run; None without."""
    charted: Charted | None = None
    """Which points are charted, where not all are."""
    store: Path | None = None
    """Folder of the results with accesses and tile sizes; None where there is none."""
    other: OtherRun | None = None
    """The run that this one is compared with; None without."""
    notes: tuple[str, ...] = ()
    """What is missing or was put right, in sentences for the reader."""
    links: tuple[Path, ...] = ()
    """Files that the report may refer to."""


def read_tables(
    folder: Path,
    options: StatisticsOptions,
    *,
    root: Path = Path(),
    optional: Collection[str] = OPTIONAL,
    again: bool = False,
    against: Path | None = None,
) -> ReportTables:
    """Return the tables of the run in ``folder``.

    Raises `InputError` for missing, unreadable or older tables, mixed engines or energy tables (unless allowed), and
    statistics that were made from another table of energies.

    The folder has ``energies.parquet``; the statistics are made here by ``options`` where their tables are missing, or
    with ``again``. Paths of layer files in the provenance are relative to ``root``. ``optional`` says which of
    `OPTIONAL` to read where they exist, ``against`` is the folder of another run to compare with.
    """
    source = folder / f"{ENERGIES.file}.parquet"
    provenance = read_table(source, ENERGIES, where={"sweep": []})[1]
    present = [layout for layout in ANALYSIS if _file(folder, layout)]
    further = {layout: _file(folder, layout) for layout in FURTHER if layout.file in optional}
    files = [source, *further.values(), *(_file(folder, layout) for layout in present)]
    large = not again and len(present) == len(ANALYSIS) and is_large(path for path in files if path)
    every = _every(source, options, large=large, curves=bool(further.get(CAPACITY_SUMMARY)))
    bounds = further.pop(THEORY_RATIO, None)
    if bounds and not large:
        every = with_theory(every, _read(bounds, THEORY_RATIO))
    sweeps, notes = sweeps_of(provenance, root)
    charted = None
    if _only_networks(every, sweeps, further.get(NETWORKS)):
        analysis = _no_analysis()
    elif again or not present:
        with energies_in(unit_of(every["energy_table"].dropna())):
            analysis = _analysed(every, sweeps, options, source)
    else:
        _require_analysis(folder, present)
        # The page shows rows of tables; of a sweep itself, the shape of its layers.
        sweeps = {name: one if one.is_network else replace(one, points=one.points[:1]) for name, one in sweeps.items()}
        analysis, charted = _read_analysis(folder, every, large=large)
    energies = charted.rows(source, ENERGIES) if charted else every
    if bounds and charted:
        energies = with_theory(energies, charted.rows(bounds, THEORY_RATIO))
    read = _read_further(further, charted)
    if NETWORKS.file in read:
        read["network_points"] = _network_points(source, read[NETWORKS.file], every, large=large)
    return ReportTables(
        energies,
        every,
        provenance,
        charted=charted,
        sweeps=sweeps,
        summary=_summary(folder / SUMMARY) if SUMMARY in optional else None,
        store=store if (store := folder / "store").is_dir() else None,
        other=None if against is None else read_other(against),
        notes=tuple(notes),
        links=_links(folder, optional),
        **analysis,
        **read,
    )


def _no_analysis() -> dict[str, pd.DataFrame]:
    """Nothing tests the growth of networks; what lies beside their tables is of another study."""
    return {layout.file: pd.DataFrame(columns=[one.name for one in layout.columns]) for layout in ANALYSIS}


def _require_analysis(folder: Path, present: Collection[Layout]) -> None:
    """Raise `InputError` with each table of the statistics that is not ``present`` in ``folder``."""
    lacking = [str(folder / f"{layout.file}.parquet") for layout in ANALYSIS if layout not in present]
    raise_all([Fault("no such file: has the run finished?", path) for path in lacking])


def _read_further(further: Mapping[Layout, Path | None], charted: Charted | None) -> dict[str, pd.DataFrame]:
    """Return the tables that exist by name; of laws' points those that are charted."""
    return {
        layout.file: charted.rows(path, layout) if charted and layout == LAW_POINTS else _read(path, layout)
        for layout, path in further.items()
        if path
    }


def _every(source: Path, options: StatisticsOptions, *, large: bool, curves: bool) -> pd.DataFrame:
    """Return all rows of the table of energies, checked; of a large run few columns.

    A run of ``curves`` alone has none.
    """
    every = read_table(source, ENERGIES, columns=OF_ALL.__contains__ if large else None)[0]
    if curves and not len(every):
        return every.reindex(columns=[*every, *sorted(OF_ALL - set(every))])
    try:
        check_table(every, options)
    except InputError as error:
        raise error.at(source) from error
    return every


def _only_networks(every: pd.DataFrame, sweeps: Mapping[str, Sweep], listed: Path | None) -> bool:
    networks = set() if listed is None else {str(name) for name in _read(listed, NETWORKS)["network"]}
    networks |= {name for name, sweep in sweeps.items() if sweep.is_network}
    return {str(name) for name in every["sweep"].unique()} <= networks


def _read_analysis(folder: Path, every: pd.DataFrame, *, large: bool) -> tuple[dict[str, pd.DataFrame], Charted | None]:
    """Return the tables of the statistics, checked, and of a large run the points that are charted."""
    analysis = {layout.file: _read(_file(folder, layout), layout) for layout in ANALYSIS if layout != RESIDUALS}
    residuals = _file(folder, RESIDUALS)
    if large and residuals:
        first = analysis[VERDICTS.file].drop_duplicates(GROUP)[[*GROUP, "response"]].fillna("")
        tests = {tuple(group): str(response) for *group, response in first.itertuples(index=False)}
        charted = charted_points(residuals, tests)
        analysis[RESIDUALS.file] = charted.rows(residuals, RESIDUALS, {"response": set(first["response"])})
        _check_analysis(analysis, read_parts(residuals, RESIDUALS, {"response": _DIRECT}), every, folder)
        return analysis, charted
    analysis[RESIDUALS.file] = _read(residuals, RESIDUALS)
    _check_analysis(analysis, [analysis[RESIDUALS.file]], every, folder)
    return analysis, None


def _network_points(source: Path, networks: pd.DataFrame, every: pd.DataFrame, *, large: bool) -> pd.DataFrame:
    """Return the rows of the table of energies that are layers of networks."""
    names = {str(name) for name in networks["network"]}
    rows = read_table(source, ENERGIES, where={"sweep": names})[0] if large else every
    return rows[rows["sweep"].isin(names)]


def _links(folder: Path, optional: Collection[str]) -> tuple[Path, ...]:
    """Return the files in ``folder`` that the page may refer to."""
    names = [f"{ENERGIES.file}.csv", f"{ENERGIES.file}.parquet", *(f"{layout.file}.csv" for layout in ANALYSIS)]
    names += ["verdicts.txt", *(f"{name}.csv" if name != SUMMARY else name for name in OPTIONAL if name in optional)]
    return tuple(folder / name for name in names if (folder / name).is_file())


def _summary(path: Path) -> Mapping[str, Any] | None:
    summary = read_json(path) if path.is_file() else None
    if summary is not None and not isinstance(summary, dict):
        raise InputError(Fault("not a summary of a run: an object is wanted", str(path)))
    return summary


def _file(folder: Path, layout: Layout) -> Path | None:
    """Return the file of a table: Parquet, or the CSV of a folder that holds no more."""
    files = (folder / f"{layout.file}.{ending}" for ending in ("parquet", "csv"))
    return next((path for path in files if path.is_file()), None)


def _read(path: Path | None, layout: Layout) -> pd.DataFrame:
    if path is None:
        raise InputError(Fault("no such file: has the run finished?", layout.file))
    return read_table(path, layout)[0]


def sweeps_of(provenance: Mapping[str, Any], root: Path) -> tuple[dict[str, Sweep], list[str]]:
    """Return the sweeps whose files are as they were, and sentences on the others."""
    found: dict[str, Sweep] = {}
    notes = []
    for name, files in provenance.get("sweeps", {}).items():
        for source, digest in files.items():
            path = root / source
            if not path.is_file():
                notes.append(f"{source} is not there: nothing of sweep {name} but its tables is shown.")
            elif file_hash(path) != digest:
                notes.append(f"{source} has changed since the run: nothing of sweep {name} but its tables is shown.")
            else:
                found |= {sweep.name: sweep for sweep in load_all(path) if sweep.name == name}
    return found, notes


def _analysed(
    energies: pd.DataFrame, sweeps: Mapping[str, Sweep], options: StatisticsOptions, source: Path
) -> dict[str, pd.DataFrame]:
    """Return the tables of the statistics, made here."""
    names = [str(name) for name in energies["sweep"].unique()]
    unknown = [name for name in names if name not in sweeps]
    hint = "its growth cannot be tested without its layer file; run the workflow, or call from the project's folder"
    raise_all([Fault(hint, str(source), f"sweep {name}") for name in unknown])
    tested = [sweeps[name] for name in names if not sweeps[name].is_network]
    found = analyse(energies, tested, options)
    return {layout.file: getattr(found, layout.file) for layout in ANALYSIS}


def _check_analysis(
    analysis: Mapping[str, pd.DataFrame], residuals: Iterable[pd.DataFrame], energies: pd.DataFrame, folder: Path
) -> None:
    """Raise `InputError` unless the statistics, with parts of their ``residuals``, were made from ``energies``."""
    wanted = {
        "verdicts": {*GROUP, "response", "response_label", "unit", "expected", "n", "verdict", "reason"},
        "fits": {*GROUP, "response", "expected", "c1"},
        "residuals": {*GROUP, "response", "layer", "variable", "measured", "on_lower_envelope"},
        "left_out": {*GROUP, "response", "layer", "status", "reason"},
    }
    faults = [
        Fault(f"column {column!r} is missing: a table of an older version? Run again", str(folder / name))
        for name, columns in wanted.items()
        for column in sorted(columns - set(analysis[name].columns))
    ]
    raise_all(faults)
    verdicts = analysis["verdicts"]
    if "table_version" in verdicts.columns and (verdicts["table_version"] != TABLE_VERSION).any():
        raise InputError(
            Fault(
                "made from an energies table of another version: run again",
                str(folder / "verdicts"),
                value=verdicts["table_version"].iloc[0],
                allowed=f"version {TABLE_VERSION}",
            )
        )
    other = Fault("not made from energies.parquet beside it: run again, or test again with --again", str(folder))
    tested = {str(name) for name in verdicts["sweep"].unique()}
    if not tested <= {str(name) for name in energies["sweep"].unique()}:
        raise InputError(other)
    used = energies[[*GROUP, "layer", *_DIRECT]]  # of a large run all rows are here: no copies of the rest
    ok = chosen(used, energies["status"] == "ok")
    counted = dict.fromkeys(_DIRECT, 0)
    of: list[Any] = []
    for part in residuals:
        for key, rows in part[part["response"].isin(_DIRECT)].groupby([*GROUP, "response"], sort=False):
            *group, response = map(str, key)
            if of != group:
                of = group
                own = select(ok, of)[["layer", *_DIRECT]].drop_duplicates("layer").set_index("layer")
            measured = own[response].reindex(rows["layer"])
            # Residuals hold ten significant digits.
            if not np.allclose(rows["measured"], measured, rtol=1e-8, atol=0, equal_nan=True):
                raise InputError(other)
            counted[response] += len(rows)
    for response, count in counted.items():
        if count and count != int(ok.loc[ok["sweep"].isin(tested), response].notna().sum()):
            raise InputError(other)


def is_large(paths: Iterable[Path]) -> bool:
    """Whether the first of these tables has more rows than are charted, and all are of a kind that is read in parts."""
    first, *others = paths
    return all(path.suffix == ".parquet" for path in others) and len(list(islice(read_parts(first, ENERGIES), 2))) > 1
