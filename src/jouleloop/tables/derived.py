"""The tables that follow from the table of energies: bounds, tests of growth, laws, networks, variants."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from jouleloop.columns import Parts, content_digest, read_parts, read_table, typed_arrow, write_table
from jouleloop.config.load import Study
from jouleloop.layouts import Layout
from jouleloop.parquet import Where
from jouleloop.study.kept import PARTS, Kept
from jouleloop.study.keys import digest
from jouleloop.study.plan import jobs_of
from jouleloop.study.provenance import file_hash
from jouleloop.tables.buffer_growth import buffer_growth_table
from jouleloop.tables.conv_energy import conv_energy_table
from jouleloop.tables.growth import SweepTests, is_bound
from jouleloop.tables.growth import with_theory as with_bounds
from jouleloop.tables.laws import LawsFound, is_used
from jouleloop.tables.layouts import (
    BUFFER_GROWTH,
    ENERGIES,
    LAW_POINTS,
    LAW_TERMS,
    LAWS,
    NETWORKS,
    THEORY_CONV_ENERGY,
    THEORY_RATIO,
    VARIANTS,
)
from jouleloop.tables.network_bound import with_theory
from jouleloop.tables.networks import network_table
from jouleloop.tables.theory_ratio import fc_hardware_table, fc_targets
from jouleloop.tables.variants import variants_table
from jouleloop.units import energies_in
from jouleloop.workload.layer import CONV
from jouleloop.workload.sweep import Sweep

#: Rows of which a table is made at a time.
_FEW = 2000


class Derived:
    """What is made of the table of energies in ``folder``, each table on its own.

    Attributes
    ----------
    study
        What was configured.
    folder
        Where the table of energies is, and the others go.
    """

    def __init__(self, study: Study, folder: Path) -> None:
        self.study = study
        self.folder = folder
        #: How layers are searched on each architecture.
        self.jobs = jobs_of(study)

    def write(self, stage: str) -> None:
        """Make the tables of one stage of the workflow by its method, energies in the unit of the study."""
        with energies_in(self.study.unit):
            getattr(self, f"write_{stage}")()

    def rows(self, sweeps: Iterable[Sweep]) -> pd.DataFrame:
        """Return the rows of the table of energies that belong to ``sweeps``."""
        return self._where(_of(sweeps))

    def _parts(self, where: Where, columns: Callable[[str], bool] | None = None) -> Iterator[pd.DataFrame]:
        """Yield rows of the table of energies in parts, one at least."""
        if self._few is None:
            yield from read_parts(self._energies, ENERGIES, where, columns)
        else:
            yield self._where(where, columns)

    def _where(self, where: Where, columns: Callable[[str], bool] | None = None) -> pd.DataFrame:
        """Return rows of the table of energies."""
        if self._few is None:
            return read_table(self._energies, ENERGIES, where=where, columns=columns)[0]
        rows = self._few
        for name, values in where.items():
            rows = rows[rows[name].isin(values)]
        return rows[[name for name in rows.columns if columns is None or columns(name)]].reset_index(drop=True)

    @cached_property
    def _few(self) -> pd.DataFrame | None:
        """The whole table of energies, if it is no more than a part."""
        parts = list(itertools.islice(read_parts(self._energies, ENERGIES), 2))
        return parts[0] if len(parts) == 1 else None

    @property
    def _energies(self) -> Path:
        return self.folder / f"{ENERGIES.file}.parquet"

    @cached_property
    def _provenance(self) -> dict[str, Any]:
        return read_table(self._energies, ENERGIES, where=_of([]))[1]

    def write_theory_ratio(self) -> None:
        """Write the DRAM words of fully-connected layers beside theory's bounds, and what follows for buffers."""
        make = partial(fc_hardware_table, targets=fc_targets(self.study, self.jobs))
        parts, varied = Parts(THEORY_RATIO), list(self.study.architecture_sweeps)
        buffers = pd.DataFrame(columns=["architecture", "sweep", "variant"])
        # Variants of an architecture belong together, whatever sweeps they come from.
        for number, sweeps in enumerate([*([sweep] for sweep in self.study.sweeps), *([varied] if varied else [])]):
            bounds = self._kept(parts, number, sweeps, make)
            if sweeps == varied:
                buffers = pd.concat(bounds.parts(), ignore_index=True)
        parts.write(self.folder / THEORY_RATIO.file, self._provenance)
        self._write(BUFFER_GROWTH, buffer_growth_table(buffers, self.study.config.statistics))

    def write_growth(self) -> None:
        """Test every sweep for the growth that theory expects, beside its bounds."""
        tests = SweepTests(self.study.config.statistics, self.folder / PARTS)
        for sweep in self.study.tested:
            content = [
                content_digest(self._parts(_of([sweep]), lambda name: name != "key")),
                content_digest(read_parts(self._bounds, THEORY_RATIO, _of([sweep]), is_bound)),
            ]
            tests.add(sweep, self.rows([]), partial(self._bounded, sweep), digest(content))
        tests.write(self.folder, self._provenance)

    @property
    def _bounds(self) -> Path:
        return self.folder / f"{THEORY_RATIO.file}.parquet"

    def _bounded(self, sweep: Sweep, wanted: Callable[[str], bool]) -> Iterator[pd.DataFrame]:
        """Yield the rows of a sweep on each architecture, by name, with wanted columns and those of theory."""
        for name in sorted(self.jobs):
            own = {"sweep": [sweep.name], "architecture": [name]}
            rows = [self._where(own, wanted)]
            if len(rows[0]):
                bounds = read_table(self._bounds, THEORY_RATIO, where=own, columns=is_bound)[0]
                rows.append(with_bounds(rows.pop(), bounds))
                yield rows.pop()  # it is for the caller to let them go

    def _kept(self, parts: Parts, number: int, sweeps: Sequence[Sweep], make: partial[pd.DataFrame]) -> Kept:
        """Return what ``make`` makes of the rows of sweeps, kept by them; add it to ``parts``, by architecture."""
        targets = make.keywords["targets"]
        inputs = [
            [(key, target.arch.as_dict(), target.costs.as_dict()) for key, target in targets.items()],
            [repr(replace(sweep, points=())) for sweep in sweeps],
            [(path, file_hash(Path(path))) for sweep in sweeps for _, path in sweep.published],
            content_digest(self._parts(_of(sweeps), lambda name: name != "key")),
        ]
        name = f"{make.func.__name__}-{sweeps[0].name}"
        kept = Kept(self.folder / PARTS, name, make.func.__module__, inputs)
        kept.made(lambda: _alike(make, self._parts(_of(sweeps)), parts.layout))
        for place, architecture in enumerate(self.jobs):
            again = partial(kept.parts, {"architecture": [architecture]})
            for table in again():
                parts.add((place, number), table, again)
        return kept

    def write_laws(self) -> None:
        """Write the law behind every point: exact energies in the layer's sizes, and the classes of mappings."""
        found = LawsFound(self.jobs, self.study.tested, self._on_architecture, self.folder / PARTS)
        points = Parts(LAW_POINTS)
        for number, (head, again) in enumerate(found.points()):
            points.add(number, head, again)
        points.write(self.folder / LAW_POINTS.file, self._provenance)
        self._write(LAWS, found.laws())
        self._write(LAW_TERMS, found.terms())

    def _on_architecture(self, architecture: str, sweep: Sweep) -> Iterator[pd.DataFrame]:
        return self._parts(_of([sweep]) | {"architecture": [architecture]}, is_used)

    def write_theory_conv_energy(self) -> None:
        """Write measured DRAM words of the convolutions beside the theory of their energy, a sweep at a time."""
        targets = {name: job.target.for_shape(CONV) for name, job in self.jobs.items()}
        parts = Parts(THEORY_CONV_ENERGY)
        for number, sweep in enumerate(self.study.tested):
            self._kept(parts, number, [sweep], partial(conv_energy_table, targets=targets, sweeps=[sweep]))
        parts.write(self.folder / THEORY_CONV_ENERGY.file, self._provenance)

    def write_networks(self) -> None:
        """Add the layers of every network up."""
        bounded = with_theory(self.rows(self.study.networks), self.jobs, self.study.networks)
        self._write(NETWORKS, network_table(bounded, self.study.networks))

    def write_variants(self) -> None:
        """Compare the variants of every sweep of an architecture, the best marked."""
        for sweep in self.study.architecture_sweeps:
            self._write(VARIANTS, variants_table(self.rows([sweep]), sweep), f"architecture/{sweep.name}")

    def _write(self, layout: Layout, table: pd.DataFrame, name: str = "") -> None:
        write_table(self.folder / (name or layout.file), table, layout, self._provenance)


def _of(sweeps: Iterable[Sweep]) -> dict[str, list[str]]:
    return {"sweep": [sweep.name for sweep in sweeps]}


def _alike(
    make: Callable[[pd.DataFrame], pd.DataFrame], parts: Iterable[pd.DataFrame], layout: Layout
) -> Iterator[pa.Table]:
    """Yield what is made of the parts of a table, in the types of a layout; one table at least."""
    some = False
    for rows in parts:
        pieces = (make(rows.iloc[first : first + _FEW]) for first in range(0, len(rows), _FEW))
        found = [typed_arrow(piece, layout) for piece in pieces if len(piece)]
        if found:
            some = True
            yield pa.concat_tables(found)
    if not some:
        yield typed_arrow(make(rows.iloc[:0]), layout)
