"""The tables that follow from the table of energies: bounds, tests of growth, laws, networks, variants."""

from collections.abc import Callable, Collection
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from jouleloop.columns import read_table, write_table
from jouleloop.config.load import Study
from jouleloop.layouts import Layout
from jouleloop.stats.columns import VERDICTS
from jouleloop.study.plan import jobs_of
from jouleloop.tables.buffer_growth import buffer_growth_table
from jouleloop.tables.conv_energy import conv_energy_table
from jouleloop.tables.growth import analyse, write_analysis
from jouleloop.tables.laws import law_tables
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
from jouleloop.workload.layer import CONV


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

    def tasks(self, wanted: Collection[str]) -> list[Callable[[], object]]:
        """Return what makes the tables whose files are ``wanted``, the longest first; tasks do not need each other."""
        made: dict[Layout, Callable[[], object]] = {
            VERDICTS: self.write_growth,
            LAWS: self.write_laws,
            THEORY_CONV_ENERGY: self.write_conv_energy,
            NETWORKS: self.write_networks,
        }
        found = [task for layout, task in made.items() if layout.file in wanted]
        if THEORY_RATIO.file in wanted and VERDICTS.file not in wanted:
            found.append(self.write_bounds)
        return [*found, self.write_variants]

    @cached_property
    def _read(self) -> tuple[pd.DataFrame, dict[str, Any]]:
        return read_table(self.folder / f"{ENERGIES.file}.parquet", ENERGIES)

    @property
    def energies(self) -> pd.DataFrame:
        """The table of energies."""
        return self._read[0]

    def write_bounds(self) -> pd.DataFrame:
        """Write the DRAM words of fully-connected layers beside theory's bounds, and what follows for buffers."""
        bounds = fc_hardware_table(self.energies, fc_targets(self.study, self.jobs))
        self._write(THEORY_RATIO, bounds)
        self._write(BUFFER_GROWTH, buffer_growth_table(bounds, self.study.config.statistics))
        return bounds

    def write_growth(self) -> None:
        """Test every sweep for the growth that theory expects."""
        bounds = self.write_bounds()
        options, parts = self.study.config.statistics, self.folder / "parts"
        analysis = analyse(self.energies, self.study.tested, options, bounds, parts=parts)
        write_analysis(analysis, self.folder, self._read[1])

    def write_laws(self) -> None:
        """Write the law behind every point: exact energies in the layer's sizes, and the classes of mappings."""
        tables = law_tables(self.energies, self.jobs, self.study.tested)
        for layout, table in ((LAWS, tables.laws), (LAW_POINTS, tables.points), (LAW_TERMS, tables.terms)):
            self._write(layout, table)

    def write_conv_energy(self) -> None:
        """Write measured DRAM words of the convolutions beside the theory of their energy."""
        targets = {name: job.target.for_shape(CONV) for name, job in self.jobs.items()}
        self._write(THEORY_CONV_ENERGY, conv_energy_table(self.energies, targets, self.study.tested))

    def write_networks(self) -> None:
        """Add the layers of every network up."""
        bounded = with_theory(self.energies, self.jobs, self.study.networks)
        self._write(NETWORKS, network_table(bounded, self.study.networks))

    def write_variants(self) -> None:
        """Compare the variants of every sweep of an architecture, the best marked."""
        for sweep in self.study.architecture_sweeps:
            self._write(VARIANTS, variants_table(self.energies, sweep), f"architecture/{sweep.name}")

    def _write(self, layout: Layout, table: pd.DataFrame, name: str = "") -> None:
        write_table(self.folder / (name or layout.file), table, layout, self._read[1])
