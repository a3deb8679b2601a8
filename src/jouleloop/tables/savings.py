"""What loops that need not divide save: rows of the same architecture with imperfect and with perfect factors."""

from collections.abc import Mapping
from typing import Any

import pandas as pd


def factor_pairs(architectures: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return the architectures with perfect factors, each with the one that differs in its factors alone.

    Parameters
    ----------
    architectures
        What each was computed with, as a table's provenance has it (`jouleloop.study.provenance`).
    """
    by_rest: dict[str, dict[str, str]] = {}
    for name, entry in architectures.items():
        rest = {key: value for key, value in entry.items() if key != "factors"}
        by_rest.setdefault(repr(rest), {}).setdefault(str(entry.get("factors", "perfect")), name)
    return {both["perfect"]: both["imperfect"] for both in by_rest.values() if len(both) == 2}


def savings_table(energies: pd.DataFrame, pairs: Mapping[str, str]) -> pd.DataFrame:
    """Return a row a sweep or network and pair of architectures, over the layers that both map.

    ``saved_mean`` and ``saved_most`` are shares of a layer's data energy, the latter that of ``saved_most_layer``;
    ``saved_total`` is the share of the total energy of all layers, each as often as a network runs it, and
    ``saved_bound`` what it would be if no layer took more than its lower bound. A perfect mapping is one of the
    imperfect ones: where a search was stopped above it, nothing is saved. ``only`` counts the layers that imperfect
    factors alone can map, ``proven`` those whose imperfect optimum is proven.
    """
    rows = []
    for perfect, imperfect in pairs.items():
        for sweep in energies["sweep"].unique():
            sides = [
                energies[(energies["sweep"] == sweep) & (energies["architecture"] == name)].set_index("layer")
                for name in (perfect, imperfect)
            ]
            before, after = (side[side["status"] == "ok"] for side in sides)
            before, after = (side[~side.index.duplicated()] for side in (before, after))
            both = before.index.intersection(after.index)
            if not len(both):
                continue
            before_pj, after_pj = (side.loc[both, "total_pj"] for side in (before, after))
            less_pj = (before_pj - after_pj).clip(lower=0)
            saved = (1 - after.loc[both, "data_pj"] / before.loc[both, "data_pj"]).where(after_pj <= before_pj, 0.0)
            runs = before.loc[both, "count"]
            most_pj = before_pj - after.loc[both, "lower_bound_pj"]
            share = [float((pj * runs).sum() / (before_pj * runs).sum()) for pj in (less_pj, most_pj)]
            rows.append(
                {
                    "sweep": sweep,
                    "architecture": perfect,
                    "layers": len(both),
                    "proven": int(after.loc[both, "optimal"].sum()),
                    "only": len(after.index.difference(before.index)),
                    "saved_mean": float(saved.mean()),
                    "saved_most": float(saved.max()),
                    "saved_most_layer": saved.idxmax(),
                    "saved_total": share[0],
                    "saved_bound": share[1],
                }
            )
    return pd.DataFrame(rows)
