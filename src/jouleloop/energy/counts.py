"""No energies at all: every word that a level reads, fills or updates counts one, operations count nothing."""

from dataclasses import dataclass

from jouleloop.arch.architecture import StorageLevel
from jouleloop.energy.estimator import Estimate, Node, Refusal
from jouleloop.units import COUNTS


@dataclass(frozen=True)
class CountsEstimator:
    """Accesses in words instead of energies in pJ; an access moves whole vectors."""

    name: str = COUNTS
    kind: str = COUNTS

    def digest(self) -> str:
        """Return the name: there are no numbers."""
        return self.name

    def estimate(self, node: Node) -> Estimate | Refusal:
        """Return the words of every action of a component."""
        if isinstance(node, StorageLevel):
            words = float(node.block_words)
            return Estimate({"read": words, "write": words}, "words of an access")
        return Estimate({"compute": 0.0}, "operations are no accesses")
