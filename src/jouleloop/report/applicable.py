"""Which of the further figures a sweep has: a map needs points over (n, m)."""

from jouleloop.workload.sweep import Sweep


def has_map(sweep: Sweep) -> bool:
    """Whether the layers of ``sweep`` vary in inputs n and outputs m, with at most one layer for every (n, m)."""
    places = [(point.layer.C, point.layer.M) for point in sweep.points]
    inputs, outputs = ({place[axis] for place in places} for axis in (0, 1))
    return len(set(places)) == len(places) and len(inputs) > 1 and len(outputs) > 1 and len(places) > len(inputs)
