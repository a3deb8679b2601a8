"""How far the grid of memories is off where it interpolates: each point from its neighbours."""

import math
from collections.abc import Sequence

import numpy as np

from jouleloop.energy.cacti import CactiGrid


def held_out_errors(grid: CactiGrid, numbers: Sequence[int] = (0, 1)) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the relative errors of reads and writes (or areas: 3) at grid points left out, from their neighbours.

    Each point is predicted from the points at half and twice its depth, and again for its width: over twice the
    distance that interpolation inside the grid ever has to bridge.
    """
    errors: list[float] = []
    for plane in grid.points.values():
        for (depth, width), energies in plane.items():
            for low, high in (
                ((depth // 2, width), (depth * 2, width)),
                ((depth, width // 2), (depth, width * 2)),
            ):
                if low not in plane or high not in plane:
                    continue
                for action in numbers:
                    predicted = math.sqrt(plane[low][action] * plane[high][action])
                    errors.append(predicted / energies[action] - 1)
    return np.array(errors)
