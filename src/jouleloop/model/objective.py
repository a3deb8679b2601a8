"""What can be minimised: one record an objective, which says its value, its unit and what bounds it from below."""

from dataclasses import dataclass

from jouleloop.model.evaluation import Evaluation


@dataclass(frozen=True)
class Objective:
    """A product of powers of energy and delay."""

    name: str
    """As in the configuration, on the command line, and in Timeloop's ``optimization-metrics``."""
    unit: str
    """Of its value."""
    energy_power: int
    delay_power: int
    """Powers of the energy [pJ] and of the delay [cycles]; neither is negative."""

    def of(self, energy_pj: float, cycles: float) -> float:
        """Return the value of an energy and a delay; of lower bounds on both, a lower bound on it."""
        return float(energy_pj**self.energy_power * cycles**self.delay_power)

    def value(self, evaluation: Evaluation) -> float:
        """Return the value of a mapping."""
        return self.of(evaluation.energy_pj, evaluation.cycles)


#: By name; a new one is a line here, and whether an engine can search it.
OBJECTIVES = {
    objective.name: objective
    for objective in (
        Objective("energy", "pJ", 1, 0),
        Objective("delay", "cycles", 0, 1),
        Objective("edp", "pJ x cycles", 1, 1),
    )
}
