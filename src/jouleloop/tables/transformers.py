"""A transformer's parts side by side: projections, feed-forward and attention over the size that its sweeps vary."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from jouleloop.workload.sweep import Sweep
from jouleloop.workload.transformer import ATTENTION

if TYPE_CHECKING:  # slow to import, and who asks for the parts alone does without
    import pandas as pd

#: The parts of a block, each the sum of these matrix products.
PARTS = {"projections": ("query", "key_value", "output"), "feed_forward": ("up", "down"), "attention": ATTENTION}
_SCORES = f"_{ATTENTION[0]}"


def family_of(sweeps: Sequence[Sweep], name: str) -> dict[str, Sweep]:
    """Return the sweeps of one transformer by matrix product, from the name of its sweep of scores; maybe none."""
    source = {sweep.name: sweep.source for sweep in sweeps}.get(name)
    if source is None or not name.endswith(_SCORES):
        return {}
    stem = name.removesuffix(_SCORES)
    wanted = [product for products in PARTS.values() for product in products]
    found = {product: f"{stem}_{product}" for product in wanted}
    return {product: s for product, own in found.items() for s in sweeps if s.name == own and s.source == source}


def has_parts(sweeps: Sequence[Sweep], name: str) -> bool:
    """Whether a sweep is that of the scores of a transformer all of whose matrix products are swept."""
    return len(family_of(sweeps, name)) == sum(map(len, PARTS.values()))


def parts_table(energies: "pd.DataFrame", sweeps: Sequence[Sweep], name: str, architecture: str) -> "pd.DataFrame":
    """Return the energy of each part of all blocks [pJ], a row a value of what varies.

    Columns: ``variable``; ``projections_pj``, ``feed_forward_pj``, ``attention_pj``; and ``proven``, whether every
    optimum that the row adds up is one. A row with a product that has no mapping is left out.
    """
    import pandas as pd  # noqa: PLC0415 - see above

    family = family_of(sweeps, name)
    rows = energies[energies["architecture"] == architecture]
    found: dict[str, pd.DataFrame] = {}
    for product, sweep in family.items():
        own = rows[(rows["sweep"] == sweep.name) & (rows["status"] == "ok")]
        found[product] = own.assign(energy_pj=own["total_pj"] * own["count"]).set_index(sweep.variable)
    table = pd.DataFrame()
    for part, products in PARTS.items():
        table[f"{part}_pj"] = sum(found[product]["energy_pj"] for product in products)
    proven = pd.concat([one["optimal"].astype(bool) for one in found.values()], axis="columns").all(axis="columns")
    return table.assign(proven=proven).dropna().rename_axis("variable").reset_index()


def crossover(table: "pd.DataFrame", *parts: str) -> int | None:
    """Return the least value from which on attention costs more than ``parts`` together, None where it never does.

    "From which on" is among the values of the table: nothing is said of those between them.
    """
    below = table[table["attention_pj"] <= sum(table[f"{part}_pj"] for part in parts)]
    above = table[table["variable"] > (below["variable"].max() if len(below) else 0)]
    return int(above["variable"].min()) if len(above) else None
