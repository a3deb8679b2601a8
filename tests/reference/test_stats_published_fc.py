"""P-values printed in paper 002 for Eyeriss come out when its mapper's 0.1 % rule is applied: they test that rule."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from jouleloop.config.load import Study, read_config
from jouleloop.errors import InputError
from jouleloop.stats.quadratic import PUBLISHED_P
from jouleloop.study.plan import jobs_of
from jouleloop.study.store import ResultStore
from jouleloop.tables.energies import energies_table
from jouleloop.tables.search_noise import heuristic_energies, search_noise_table
from jouleloop.workload.sweep import load_sweep
from paths import ROOT


def study(*names: str, every: int = 1) -> Study:
    """The named sweeps on Eyeriss, counted as the Timeloop of the paper's time counted."""
    config = read_config(ROOT / "config" / "config.yaml")
    eyeriss = config.architectures["eyeriss"]
    options = config.statistics.model_copy(update={"responses": ["data"]})
    changed = {"architectures": {"eyeriss": eyeriss}, "semantics": "timeloop-2023-04", "statistics": options}
    sweeps = [load_sweep(ROOT / "layers" / f"{name}.yaml") for name in names]
    return Study(config.model_copy(update=changed), tuple(replace(s, points=s.points[::every]) for s in sweeps))


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> tuple[pd.DataFrame, pd.DataFrame]:
    store = ResultStore(tmp_path_factory.mktemp("store"))
    both = study("fc_inputs", "fc_outputs")
    proven, _ = energies_table(jobs_of(both.config, ROOT), both.tested, store)
    heuristic = heuristic_energies(both, store, ROOT)
    return search_noise_table(both, proven, heuristic), heuristic


@pytest.mark.slow
def test_eyeriss_p_values_are_those_of_the_searchs_tolerance(tables: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    rows = tables[0].set_index("sweep")
    for sweep in ("fc_inputs", "fc_outputs"):
        published = PUBLISHED_P["eyeriss", sweep]
        assert rows.loc[sweep, "published_p"] == published
        assert rows.loc[sweep, "quadratic_p_heuristic"] == pytest.approx(published, abs=6e-5)
    # On proven optima there is nothing to test in the sweep of inputs: it is a line.
    assert rows.loc["fc_inputs", "verdict_proven"] == "exact"
    assert np.isnan(rows.loc["fc_inputs", "quadratic_p_proven"])
    assert rows.loc["fc_inputs", "verdict_heuristic"] == "confirmed"
    assert (rows["excess_max"] <= 1e-3).all()
    assert rows.loc["fc_inputs", "layers_missed"] > 0


def test_a_table_of_unproven_or_tolerant_energies_is_no_reference(tmp_path: Path) -> None:
    few = study("fc_inputs", every=16)
    store = ResultStore(tmp_path)
    proven, _ = energies_table(jobs_of(few.config, ROOT), few.tested, store)
    heuristic = heuristic_energies(few, store, ROOT)
    with pytest.raises(InputError, match=r"already those of the 0\.1 % rule"):
        search_noise_table(few, heuristic, heuristic)
    with pytest.raises(InputError, match="not proven optima"):
        search_noise_table(few, proven.assign(optimal=False), heuristic)
