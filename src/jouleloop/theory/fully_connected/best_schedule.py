"""The schedule behind a proven or best known cost of a fully-connected layer."""

from jouleloop.theory.fully_connected.algorithms import schedule
from jouleloop.theory.fully_connected.exact import ExactMinimum
from jouleloop.theory.fully_connected.schedule import Schedule, schedule_from_moves
from jouleloop.theory.fully_connected.upper import Dataflow


def schedule_of(exact: ExactMinimum) -> Schedule:
    """Return a schedule that costs ``exact.upper``: the one searched for, or the closed-form dataflow executed."""
    layer = exact.layer
    if exact.path is not None:
        return schedule_from_moves("Search", layer.inputs, layer.outputs, layer.buffer_words, exact.path)
    if exact.dataflow is None:
        raise ValueError("an exact minimum has a path or a dataflow")
    return schedule_of_dataflow(exact.dataflow, layer.inputs, layer.outputs, layer.buffer_words)


def schedule_of_dataflow(flow: Dataflow, inputs: int, outputs: int, buffer_words: int) -> Schedule:
    """Return the schedule of a dataflow known by its kind and parameter."""
    return schedule(flow.kind, inputs, outputs, buffer_words, flow.parameter, reversed_roles=flow.reversed_roles)
