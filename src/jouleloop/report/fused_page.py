"""Fused chains as a page of its own: the loop nest of each drawn as boxes, one HTML file without references."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from markupsafe import Markup

from jouleloop.report.html import environment
from jouleloop.units import amount

#: Chains whose nests are drawn.
MOST_NESTS = 60
Record = Mapping[str, Any]


def fused_page(
    chains: Sequence[tuple[str, Record]],
    growth: pd.DataFrame | None = None,
    pictures: Sequence[str] = (),
) -> str:
    """Return the page.

    Parameters
    ----------
    chains
        What stands above each chain, and its result as `jouleloop.fusion.result.ChainResult.as_json`.
    growth
        The table ``chain_growth``, where growth is tested.
    pictures
        Figures as SVG.
    """
    template = environment(keep_trailing_newline=True).get_template("fused.html.j2")
    return template.render(
        chains=[(title, chain) for title, chain in chains if chain.get("groups")][:MOST_NESTS],
        left_out=max(0, len(chains) - MOST_NESTS),
        growth=[] if growth is None else growth.astype(object).where(growth.notna(), None).to_dict("records"),
        pictures=[Markup(picture[picture.find("<svg") :]) for picture in pictures],  # noqa: S704 - drawn by ourselves
        energy=amount,
        factors=_factors,
        sizes=_sizes,
    )


def _factors(level: Record) -> str:
    """Return the loops of a level, outermost first, those of its fan-out with their axis."""
    temporal = [f"for {dimension} in {factor}" for dimension, factor, *_ in level["temporal"]]
    spatial = [f"parallel {dimension} in {factor}" for dimension, factor, *_ in level["spatial"]]
    return " · ".join([*temporal, *spatial]) or "–"


def _sizes(run: Record) -> str:
    return " × ".join(f"{dimension} {size}" for dimension, size in run["sizes"].items()) or "1"
