"""Which of the further figures a sweep has: a map needs points over (n, m), the bound fully-connected layers."""

from jouleloop.workload.sweep import Sweep


def has_map(sweep: Sweep) -> bool:
    """Whether the layers of ``sweep`` vary in inputs n and outputs m, with at most one layer for every (n, m)."""
    places = [(point.layer.C, point.layer.M) for point in sweep.points]
    inputs, outputs = ({place[axis] for place in places} for axis in (0, 1))
    return len(set(places)) == len(places) and len(inputs) > 1 and len(outputs) > 1 and len(places) > len(inputs)


def has_dram_bound(sweep: Sweep) -> bool:
    """Whether all layers of ``sweep`` are fully connected with batch 1, as paper 002's lower bound wants them."""
    return all(point.layer.kind == "fc" and point.layer.N == 1 for point in sweep.points)
