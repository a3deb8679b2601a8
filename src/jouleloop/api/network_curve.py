"""The optimum of a whole network against the capacity of one level."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jouleloop
from jouleloop.api.curves import SCHEMA, Curve, question_of, walked
from jouleloop.api.layers import SweepLike, network_of
from jouleloop.api.run import ArchitectureLike, architecture_of
from jouleloop.curves.network import Total, check_additive, totals, within
from jouleloop.curves.staircase import Limits, Question
from jouleloop.errors import Fault, InputError
from jouleloop.optimum.limit import Limit, Watch
from jouleloop.workload.problem import Problem

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

#: Shares above the least for which a network tells the smallest capacity.
SHARES = (0.0, 0.01, 0.05, 0.1)


@dataclass(frozen=True)
class NetworkCurve:
    """The staircase of a network on one architecture.

    Attributes
    ----------
    name, level, unit
        The network, the level whose capacity varies, and the unit of values.
    layers
        How often each distinct layer runs, and its `Curve`.
    steps
        The smallest capacity first; none where a layer has no mapping.
    """

    name: str
    level: str
    unit: str
    objective: str
    layers: tuple[tuple[int, Curve], ...]
    steps: tuple[Total, ...]

    @property
    def proven(self) -> bool:
        """Whether the curves of all layers are proven."""
        return bool(self.steps) and all(curve.proven for _, curve in self.layers)

    def within(self, share: float) -> Total:
        """Return the smallest capacity at which the network costs at most ``share`` more than at any.

        Raises `InputError` where the share is negative or a layer has no mapping.
        """
        if not share >= 0:
            raise InputError(Fault("must not be negative", "share", value=share))
        if not self.steps:
            raise InputError(Fault("has a layer without a mapping", "network", value=self.name))
        return within(self.steps, share)

    def rows(self) -> list[dict[str, Any]]:
        """Return a record a step."""
        return [vars(step).copy() for step in self.steps]

    def table(self) -> "pd.DataFrame":
        """Return `rows` as a table."""
        import pandas as pd  # noqa: PLC0415 - slow to import

        return pd.DataFrame(self.rows())

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the staircase over the capacity, both logarithmic; return the axes."""
        from jouleloop.api.plot import plot_network_curve  # noqa: PLC0415 - matplotlib is slow to import

        return plot_network_curve(self, ax)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, as ``--json`` prints it."""
        return {
            "schema": SCHEMA,
            "version": jouleloop.__version__,
            "network": self.name,
            "level": self.level,
            "objective": self.objective,
            "unit": self.unit,
            "proven": self.proven,
            "within": {f"{share:g}": self.within(share).words for share in SHARES} if self.steps else {},
            "steps": self.rows(),
            "layers": [{"count": count, **curve.as_dict()} for count, curve in self.layers],
        }


def network_curve(
    architecture: ArchitectureLike,
    network: SweepLike,
    level: str | None = None,
    *,
    objective: str = "energy",
    constraints: str | Path | None = None,
    seconds: float | None = None,
    store: str | Path | None = None,
    progress: Callable[[str], None] | None = None,
) -> NetworkCurve:
    """Return the least energy, cycles or DRAM words of a network against the capacity of one level.

    Layers run one after the other, and each has the whole level. Parameters are those of `jouleloop.curve`; ``store``
    is a folder with a file a layer, and ``progress`` is called with the name of each layer.

    Raises
    ------
    InputError
        Where a name is unknown, a file is wrong, or values of layers do not add up (``edp``).
    """
    limits = Limits(watch=Watch(Limit(seconds)))
    return network_walked(architecture, network, level, objective, limits, constraints, store, progress)


def network_walked(
    architecture: ArchitectureLike,
    network: SweepLike,
    level: str | None,
    objective: str,
    limits: Limits,
    constraints: str | Path | None = None,
    store: str | Path | None = None,
    progress: Callable[[str], None] | None = None,
) -> NetworkCurve:
    """Return the curve of a network as far as its limits allow; see `network_curve`."""
    check_additive(objective)
    whole = network_of(network)
    counts: dict[tuple[str, tuple[int, ...]], int] = {}
    problems: dict[tuple[str, tuple[int, ...]], Problem] = {}
    for point in whole.points:
        key = (point.layer.kind.name, point.layer.values)
        counts[key] = counts.get(key, 0) + point.count
        problems[key] = point.layer.renamed("").problem()
    found: list[tuple[int, Curve]] = []
    asked: Question | None = None
    for key, problem in problems.items():
        hardware = architecture_of(architecture, problem, constraints)
        asked = question_of(hardware, problem, level, objective)
        if progress is not None:
            progress(problem.name)
        file = None if store is None else Path(store) / f"{problem.name.replace('/', '_').replace(':', '_')}.json"
        found.append((counts[key], walked(hardware, asked, limits, file)))
    if asked is None:
        raise InputError(Fault("has no layer", "network", value=str(network)))
    steps = totals([(count, curve.staircase) for count, curve in found])
    return NetworkCurve(whole.name, asked.level, asked.unit, objective, tuple(found), steps)
