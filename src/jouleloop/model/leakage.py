"""Leakage, which versions of Timeloop since 2024 add to the energy of each level and 3.0.3 leaves out."""

from jouleloop.energy.costs import EnergyCosts
from jouleloop.model.evaluation import Evaluation


def leakage_pj(costs: EnergyCosts, evaluation: Evaluation) -> dict[str, float]:
    """Return the leakage energy by storage level, in pJ, over all cycles of the layer.

    Utilized instances leak in every cycle, whether they hold anything or not; the others are taken to be switched off.
    The compute units' leakage is not counted, as Timeloop does not count it.

    Source: Timeloop (2025) ``src/model/buffer.cpp``, ``BufferLevel::ComputeLeaksPerCycle``.
    """
    result: dict[str, float] = {}
    names = [*(level.name for level in evaluation.levels[1:]), evaluation.compute_name]
    # Latencies of networks come on top of the cycles in which levels leak.
    cycles = max(evaluation.compute_cycles, *(level.cycles for level in evaluation.levels))
    instances = 1
    for level, energy, inner in zip(evaluation.levels, costs.levels, names, strict=True):
        instances = max((stats.instances for stats in level.data.values()), default=instances)
        result[level.name] = energy.leak_pj * instances * cycles
        traffic = evaluation.networks.get(f"{level.name}<==>{inner}", {}).values()
        instances *= max((space.fanout for space in traffic), default=1) or 1
    return result
