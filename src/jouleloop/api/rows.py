"""What results and architectures show: records of energies, and tables of them as notebooks show them."""

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING, Any

from jouleloop.engines.protocol import Target
from jouleloop.model.evaluation import Evaluation
from jouleloop.units import energies_in, renamed

if TYPE_CHECKING:
    import pandas as pd


def frame(rows: Any, unit: str) -> "pd.DataFrame":
    """Return records, or columns by name, as a table whose energies are in ``unit``, and called so."""
    import pandas as pd  # noqa: PLC0415 - slow to import

    with energies_in(unit):
        return pd.DataFrame(renamed(rows))


def breakdown_rows(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Return a record a level and data space, a network that costs energy, then the operations; `Result.breakdown`."""
    rows: list[dict[str, Any]] = []
    total = evaluation.energy_pj or 1.0
    counted = ("instances", "tile_words", "reads", "fills", "updates")

    def add(level: str, space: str, energy_pj: float, **counts: int) -> None:
        share = energy_pj / total
        rows.append({"level": level, "data_space": space, "energy_pj": energy_pj, "share": share, **counts})

    for level in evaluation.levels:
        for space, stats in level.data.items():
            add(level.name, space, stats.energy_pj, **{name: getattr(stats, name) for name in counted})
    for network, spaces in evaluation.networks.items():
        for space, traffic in spaces.items():
            if traffic.energy_pj:
                add(network, space, traffic.energy_pj)
    add(evaluation.compute_name, "compute", evaluation.compute_energy_pj, instances=evaluation.compute_instances)
    return rows


def energy_rows(target: Target) -> list[dict[str, Any]]:
    """Return every energy that is charged: a record a component and action, per access and per word."""
    words = {level.name: level.block_words for level in target.arch.levels}
    rows = []
    for row in target.costs.rows(target.arch.compute.name):
        block = words.get(row["component"], 1)
        energy = {"energy_pj": row["energy_pj"], "words": block, "energy_pj_per_word": row["energy_pj"] / block}
        named = {name: row[name] for name in ("component", "action")}
        rows.append({**named, **energy, "estimator": row["estimator"], "source": row["source"]})
    return rows


def html_table(headings: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Return a table as HTML."""
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    body = "".join(f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
