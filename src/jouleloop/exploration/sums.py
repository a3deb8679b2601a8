"""The exact front of a network: every sum of one mapping a layer that no other sum beats, layers one after another."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jouleloop.errors import Fault, InputError
from jouleloop.model.arrays import Floats, Ints

#: Most sums that a front may have, and most that are compared at a time.
MOST_POINTS = 5_000_000


@dataclass(frozen=True)
class Summand:
    """The front of one layer and how often the network runs the layer."""

    energies_pj: Floats
    cycles: Ints
    runs: int


@dataclass(frozen=True)
class Sums:
    """The front of a network, the least energy first: energies rise, cycles fall.

    Attributes
    ----------
    steps
        By run of a layer, in turn: the layer, the sum before it and the layer's own point, by sum.
    """

    energies_pj: Floats
    cycles: Ints
    steps: tuple[tuple[int, Ints, Ints], ...]

    def choice(self, place: int) -> list[Counter[int]]:
        """Return by layer how often each of its points is taken in the sum at ``place``."""
        found: list[Counter[int]] = [Counter() for _ in range(1 + max(layer for layer, _, _ in self.steps))]
        for layer, before, own in reversed(self.steps):
            found[layer][int(own[place])] += 1
            place = int(before[place])
        return found


def add_fronts(layers: Sequence[Summand], within: float = 0.0) -> Sums:
    """Return the front of all sums of one point a run of each layer.

    Whatever is added later, a sum that another one beats stays beaten, so it is left out at once.

    Parameters
    ----------
    within
        A sum may be left out that another one of no more cycles exceeds in energy by this share at most.

    Raises
    ------
    InputError
        Where more than `MOST_POINTS` sums have to be compared.
    """
    # Every run of a layer may lose as much: (1 - share / runs) to the power of the runs is at least 1 - share.
    share = within / (1 + within) / sum(layer.runs for layer in layers)
    energies, cycles = np.zeros(1), np.zeros(1, np.int64)
    steps: list[tuple[int, Ints, Ints]] = []
    for number, layer in enumerate(layers):
        for _ in range(layer.runs):
            if len(energies) * len(layer.cycles) > MOST_POINTS:
                text = "the front of the network has too many points"
                raise InputError(
                    Fault(
                        text,
                        field="network",
                        value=len(energies),
                        allowed="a share that they may differ by, such as --within 1e-4",
                    )
                )
            more_pj = np.add.outer(energies, layer.energies_pj).ravel()
            longer = np.add.outer(cycles, layer.cycles).ravel()
            order = np.lexsort((more_pj, longer))
            # The fewest cycles first: a sum has to cost less than all before it.
            sorted_pj = more_pj[order]
            least_pj = np.minimum.accumulate(sorted_pj)
            kept = np.ones(len(order), np.bool_)
            kept[1:] = sorted_pj[1:] < least_pj[:-1]
            front = order[kept]
            front = (front if share == 0.0 else front[_apart(more_pj[front], share)])[::-1]
            energies, cycles = more_pj[front], longer[front]
            before, own = np.divmod(front, len(layer.cycles))
            steps.append((number, before.astype(np.int32), own.astype(np.int32)))
    return Sums(energies, cycles, tuple(steps))


def _apart(falling: Floats, share: float) -> Ints:
    """Return places of falling values, the first and each next one that is below the last by more than a share."""
    rising, places = falling[::-1], [0]
    while (left := int(np.searchsorted(rising, falling[places[-1]] * (1 - share), side="left"))) > 0:
        places.append(len(falling) - left)
    return np.array(places, np.int64)
