"""What a heuristic search does to the verdicts: the sweeps searched again by Timeloop's 0.1 % rule, both compared."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from jouleloop.config.load import Study
from jouleloop.errors import Fault, InputError
from jouleloop.study.plan import jobs_of
from jouleloop.study.store import ResultStore
from jouleloop.tables.energies import energies_table
from jouleloop.tables.growth import analyse, rows_of

#: Energies within 0.1 % are equal and the delay decides: what `timeloop-mapper` does with these two metrics.
HEURISTIC = ["energy", "delay"]
#: What tells verdicts apart.
_KEYS = ["sweep", "architecture", "response"]


def heuristic_energies(study: Study, store: ResultStore, root: Path = Path()) -> pd.DataFrame:
    """Return the energies of the tested sweeps when the search takes energies within 0.1 % as equal."""
    config = study.config.model_copy(update={"objective": HEURISTIC})
    table, _ = energies_table(jobs_of(replace(study, config=config), root), study.tested, store)
    return table


def search_noise_table(study: Study, proven: pd.DataFrame, heuristic: pd.DataFrame) -> pd.DataFrame:
    """Return the verdicts on proven optima beside those on a heuristic search, and how far its energies lie above.

    Columns besides those of `compare_verdicts`, each by sweep and architecture:
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
    return compare_verdicts(*tables).merge(_excess(proven, heuristic), on=_KEYS[:2], how="left")


def compare_verdicts(proven: pd.DataFrame, heuristic: pd.DataFrame) -> pd.DataFrame:
    """Put the verdicts on proven optima beside those on a heuristic search's results.

    Raises `InputError` where they have nothing in common.

    Parameters
    ----------
    proven, heuristic
        Two tables of `analyse`.

    Returns
    -------
    DataFrame
        One row per sweep, architecture and response found in both: p-values, shares, exponents, verdicts, and whether
        the verdict moved.
    """
    shown = ["quadratic_p", "published_p", "excess_share", "exponent", "verdict"]
    joined = proven[_KEYS + shown].merge(
        heuristic[_KEYS + [name for name in shown if name != "published_p"]],
        on=_KEYS,
        suffixes=("_proven", "_heuristic"),
    )
    if joined.empty:
        raise InputError(Fault("the two tables of verdicts have no sweep, architecture and response in common"))
    joined["verdict_moved"] = joined["verdict_proven"] != joined["verdict_heuristic"]
    return joined


def _excess(proven: pd.DataFrame, heuristic: pd.DataFrame) -> pd.DataFrame:
    point = ["sweep", "architecture", "layer"]
    both = proven[[*point, "total_pj"]].merge(heuristic[[*point, "total_pj"]], on=point, suffixes=("", "_heuristic"))
    both["excess"] = both["total_pj_heuristic"] / both["total_pj"] - 1
    both.loc[both["excess"].abs() < np.finfo(float).eps * 64, "excess"] = 0.0
    groups = both.groupby(_KEYS[:2], sort=False)["excess"]
    return groups.agg(
        layers="size",
        layers_missed=lambda values: int((values > 0).sum()),
        excess_median="median",
        excess_max="max",
    ).reset_index()
