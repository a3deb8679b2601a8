"""What a heuristic search does to the verdicts: the sweeps searched again by Timeloop's 0.1 % rule, both compared."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from jouleloop.config.load import Study
from jouleloop.errors import Fault, InputError
from jouleloop.stats.search_noise import KEYS, compare_verdicts
from jouleloop.study.plan import jobs_of
from jouleloop.study.store import ResultStore
from jouleloop.tables.energies import energies_table
from jouleloop.tables.growth import analyse, rows_of

#: Energies within 0.1 % are equal and the delay decides: what `timeloop-mapper` does with these two metrics.
HEURISTIC = ["energy", "delay"]


def heuristic_energies(study: Study, store: ResultStore, root: Path = Path()) -> pd.DataFrame:
    """Return the energies of the tested sweeps when the search takes energies within 0.1 % as equal."""
    config = study.config.model_copy(update={"objective": HEURISTIC})
    table, _ = energies_table(jobs_of(replace(study, config=config), root), study.tested, store)
    return table


def search_noise_table(study: Study, proven: pd.DataFrame, heuristic: pd.DataFrame) -> pd.DataFrame:
    """Return the verdicts on proven optima beside those on a heuristic search, and how far its energies lie above.

    Columns besides those of `jouleloop.stats.search_noise.compare_verdicts`, each by sweep and architecture:
    ``layers``; ``layers_missed``, whose total energy lies above the optimum by more than rounding; and by what share,
    ``excess_median`` and ``excess_max``.

    Raises `InputError` where the table of optima was itself made by that rule, or holds optima that are not proven.
    """
    proven = rows_of(proven, study.tested)
    ok = proven[proven["status"] == "ok"]
    if set(ok["objective"]) & {"+".join(HEURISTIC)}:
        raise InputError(Fault("the energies are already those of the 0.1 % rule", value="objective: energy, delay"))
    if not ok["optimal"].all():
        raise InputError(Fault("the energies are not proven optima: nothing to compare with", field="budget"))
    options = study.config.statistics
    tables = [analyse(energies, study.tested, options).verdicts for energies in (proven, heuristic)]
    return compare_verdicts(*tables).merge(_excess(proven, heuristic), on=KEYS[:2], how="left")


def _excess(proven: pd.DataFrame, heuristic: pd.DataFrame) -> pd.DataFrame:
    point = ["sweep", "architecture", "layer"]
    both = proven[[*point, "total_pj"]].merge(heuristic[[*point, "total_pj"]], on=point, suffixes=("", "_heuristic"))
    both["excess"] = both["total_pj_heuristic"] / both["total_pj"] - 1
    both.loc[both["excess"].abs() < np.finfo(float).eps * 64, "excess"] = 0.0
    groups = both.groupby(KEYS[:2], sort=False)["excess"]
    return groups.agg(
        layers="size",
        layers_missed=lambda values: int((values > 0).sum()),
        excess_median="median",
        excess_max="max",
    ).reset_index()
