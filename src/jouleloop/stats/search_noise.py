"""How p-values and verdicts move when a heuristic search leaves energies a little above the optima."""

import pandas as pd

from jouleloop.errors import Fault, InputError

KEYS = ["sweep", "architecture", "response"]


def compare_verdicts(proven: pd.DataFrame, heuristic: pd.DataFrame) -> pd.DataFrame:
    """Put the verdicts on proven optima beside those on a heuristic search's results.

    Raises `InputError` where they have nothing in common.

    Parameters
    ----------
    proven, heuristic
        Two tables of `jouleloop.stats.analysis.analyse_table`.

    Returns
    -------
    DataFrame
        One row per sweep, architecture and response found in both: p-values, shares, exponents, verdicts, and whether
        the verdict moved.
    """
    shown = ["quadratic_p", "published_p", "excess_share", "exponent", "verdict"]
    joined = proven[KEYS + shown].merge(
        heuristic[KEYS + [name for name in shown if name != "published_p"]], on=KEYS, suffixes=("_proven", "_heuristic")
    )
    if joined.empty:
        raise InputError(Fault("the two tables of verdicts have no sweep, architecture and response in common"))
    joined["verdict_moved"] = joined["verdict_proven"] != joined["verdict_heuristic"]
    return joined
