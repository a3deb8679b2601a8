"""Timeloop's built-in technology model, a last resort: energies for all components, of no technology in particular."""

from dataclasses import dataclass

from jouleloop.arch.architecture import StorageLevel
from jouleloop.arch.attributes import canonical
from jouleloop.energy.ert import built_in_energy_pj
from jouleloop.energy.estimator import Estimate, Node, Refusal
from jouleloop.files import is_whole


@dataclass(frozen=True)
class BuiltInEstimator:
    """Energies that Timeloop charges where it is given no energy reference table and runs no estimator.

    A DRAM costs 12.5 pJ a bit; any other memory lies on a straight line through two sizes that Eyeriss reports; a
    computation costs its ``energy``, or that of a 16-bit multiplier, 1 pJ, scaled by the square of its bits.

    Source: Timeloop ``pat-public/src/pat/pat.cpp``; ``src/model/arithmetic.cpp``, ``ArithmeticUnits::ParseSpecs``.
    """

    name: str = "built-in"
    kind: str = "built-in"

    def digest(self) -> str:
        """Return the name: the numbers are in the code."""
        return self.name

    def estimate(self, node: Node) -> Estimate | Refusal:
        """Return the energy of every action of a component, in pJ."""
        source = "Timeloop's built-in technology model"
        if isinstance(node, StorageLevel):
            access_pj = built_in_energy_pj(node)
            return Estimate({"read": access_pj, "write": access_pj}, source)
        stated = canonical(node.attributes).get("energy")
        if stated is None:
            return Estimate({"compute": (node.word_bits / 16) ** 2}, source)
        if not is_whole(stated) or not 0 <= stated < 10**9:
            return Refusal(f"energy {stated!r} is no whole number of pJ, which alone Timeloop reads")
        return Estimate({"compute": float(stated)}, f"energy of {node.name}")
