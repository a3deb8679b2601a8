"""An executed Manticore schedule as text, a row a cluster and a column a round."""

from collections.abc import Iterable, Sequence
from io import StringIO

from jouleloop.theory.manticore.machine import Event

SYMBOLS = {"load": "M", "receive": "N", "compute": "·", "store": "S", "reduce": "+"}


def schedule_cells(events: Iterable[Event]) -> dict[tuple[int, int], Event]:
    """Return for every (cluster, round) the event that says most: main memory before neighbours before computing."""
    rank = {"reduce": 4, "store": 3, "load": 2, "receive": 1, "compute": 0}
    cells: dict[tuple[int, int], Event] = {}
    for event in events:
        if event.action == "load" and event.operand.startswith("F"):
            continue
        cell = (event.cluster, event.round)
        if cell not in cells or rank[event.action] > rank[cells[cell].action]:
            cells[cell] = event
    return cells


def draw_text(events: Sequence[Event], *, columns: int = 24, rows: int = 32) -> str:
    """Return the schedule as text, a row a cluster and a column a round.

    ``M3`` is input slice 3 from main memory, ``N3`` the same from a neighbour, ``·`` computing, ``S`` storing, and
    ``+5`` adding the private volume of cluster 5.
    """
    cells = schedule_cells(events)
    clusters = sorted({cluster for cluster, _ in cells})
    last = max((round_ for _, round_ in cells), default=0)
    shown = range(1, min(last, columns) + 1)
    text = StringIO()
    text.write("cluster " + "".join(f"{round_:>5}" for round_ in shown) + (" …" if last > columns else "") + "\n")
    for cluster in clusters[:rows]:
        row = "".join(f"{event_label(cells.get((cluster, round_))):>5}" for round_ in shown)
        text.write(f"{cluster:>7} {row}\n")
    if len(clusters) > rows:
        text.write(f"… and {len(clusters) - rows} more clusters\n")
    text.write("M from main memory, N from a neighbour, · compute, S store, + add the volume of that cluster\n")
    return text.getvalue()


def event_label(event: Event | None) -> str:
    """Return an event as up to a few letters, nothing where there is none."""
    if event is None:
        return ""
    if event.action == "reduce":
        return f"+{event.source}"
    if event.operand.startswith("I") and event.action in ("load", "receive"):
        return SYMBOLS[event.action] + event.operand.partition("[")[2].partition("]")[0]
    return SYMBOLS[event.action]
