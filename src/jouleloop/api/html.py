"""Results and architectures as HTML, which notebooks show."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from jouleloop.api.results import breakdown_rows
from jouleloop.units import energies_in, said

if TYPE_CHECKING:
    from jouleloop.api.hardware import Architecture
    from jouleloop.api.results import Result


def result_html(result: "Result") -> str:
    """Return totals, the energy by level and data space, and the loop nest."""
    head = f"<b>{escape(result.problem.name)}</b> on <b>{escape(result.architecture.name)}</b>"
    if result.evaluation is None:
        return f"<p>{head}: {escape(result.status)}, {escape(result.reason)}</p>"
    counts = result.evaluation
    proof = "" if result.search is None else f"; {'proven optimal' if result.optimal else 'not proven optimal'}"
    totals = (
        f"{counts.energy_pj:,.2f} {result.unit}, {counts.cycles:,} cycles, utilization {counts.utilization:.3f}{proof}"
    )
    rows = [
        (row["level"], row["data_space"], f"{row['energy_pj']:,.2f}", f"{row['share']:.1%}", _count(row, "reads"))
        for row in breakdown_rows(counts)
    ]
    with energies_in(result.unit):
        headings = ("level", "data space", said("energy [pJ]"), "share", "reads per instance")
    nest = ""
    if result.mapping is not None:
        nest = f"<details><summary>loop nest</summary><pre>{escape(result.nest())}</pre></details>"
    return f"<p>{head}: {totals}</p>{_table(headings, rows)}{nest}"


def architecture_html(architecture: "Architecture") -> str:
    """Return the storage levels, outermost first, and the compute units."""
    rows: list[Sequence[object]] = []
    for level in architecture.levels:
        words = "unlimited" if level.capacity_words is None else f"{level.capacity_words:,}"
        rows.append((level.name, f"{level.instances:,}", words, level.word_bits))
    compute = architecture.targets.arch.compute
    rows.append((compute.name, f"{compute.instances:,}", "", compute.word_bits))
    table = _table(("level", "instances", "words per instance", "bits per word"), rows)
    return f"<p><b>{escape(architecture.name)}</b>, energies {escape(architecture.targets.costs.table)}</p>{table}"


def _count(row: dict[str, object], key: str) -> str:
    return f"{row[key]:,}" if key in row else ""


def _table(headings: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    body = "".join(f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
