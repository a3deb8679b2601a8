"""The layers of a sweep as records, and whether its variable and growth can be tested; without pandas, as rules ask."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from jouleloop.errors import Fault, InputError, raise_all
from jouleloop.stats.expected import growth_named
from jouleloop.stats.expression import evaluate_variable
from jouleloop.stats.regression import FloatArray
from jouleloop.workload.sweep import Sweep, SweepPoint, size_columns
from jouleloop.workload.variants import variant_label


def row_of(sweep: Sweep) -> Callable[[SweepPoint], dict[str, Any]]:
    """Return what makes the record of a layer of ``sweep``: name, sizes and what variables may refer to."""
    columns = size_columns(sweep.points)

    def row(point: SweepPoint) -> dict[str, Any]:
        layer = point.layer
        own = layer.sizes
        sizes = {key: own[key] for key in columns if key in own}
        more: dict[str, Any] = {"macs": layer.macs, "count": point.count}
        more |= {} if point.input_size is None else {"input_size": point.input_size}
        more |= {} if layer.kind.base == "conv" else {"kind": layer.kind.name}
        more |= dict(point.given)
        variant = {"variant": variant_label(point.variant), **dict(point.variant)} if sweep.attributes else {}
        return {"sweep": sweep.name, "layer": layer.label, **sizes, **more, **variant}

    return row


def layer_rows(sweep: Sweep) -> Iterator[dict[str, Any]]:
    """Yield one record a layer of ``sweep``, as `row_of` makes it."""
    return map(row_of(sweep), sweep.points)


def each_kind_of_row(sweep: Sweep) -> Iterator[dict[str, Any]]:
    """Yield a record of layers for each set of columns that records of ``sweep`` fill, but for attributes."""
    seen, row = set(), row_of(sweep)
    for point in sweep.points:
        kind = (point.layer.kind.name, point.input_size is None, tuple(key for key, _ in point.given))
        if kind not in seen:
            seen.add(kind)
            yield row(point)


class _Column:
    """One column of the layers of a sweep, with the method of pandas that a variable is evaluated by."""

    def __init__(self, values: list[Any]) -> None:
        self._values = values

    def to_numpy(self, dtype: type[np.float64], na_value: float) -> FloatArray:
        """Return the values as numbers."""
        return np.array([na_value if value is None else value for value in self._values], dtype=dtype)


class _Layers:
    """The layers of a sweep, a column at a time."""

    def __init__(self, sweep: Sweep) -> None:
        self._sweep = sweep
        self.columns = list(dict.fromkeys(name for row in each_kind_of_row(sweep) for name in row))

    def __len__(self) -> int:
        return len(self._sweep.points)

    def __getitem__(self, name: str) -> _Column:
        return _Column([row.get(name) for row in layer_rows(self._sweep)])


def check_sweeps(sweeps: Iterable[Sweep]) -> None:
    """Raise `InputError` where the variable or growth of any sweep is none, all faults together.

    Networks have none, and growth over attributes of an architecture is not tested.
    """
    faults: list[Fault] = []
    for sweep in sweeps:
        if sweep.is_network or sweep.attributes:
            continue
        sizes: FloatArray = np.ones(1)  # where there are none, growth is asked for its name all the same
        try:
            sizes = evaluate_variable(sweep.variable, _Layers(sweep))
        except InputError as error:
            faults += error.at(sweep.source).faults
        named = {"expected": sweep.expected}
        named |= {f"response_growth.{response}": name for response, name in dict(sweep.response_growth).items()}
        for key, name in named.items():
            try:
                growth_named(name).regressors(sizes)
            except InputError as error:
                named_here = [replace(one, field=key) if one.field == "growth" else one for one in error.faults]
                faults += InputError(named_here).at(sweep.source).faults
    raise_all(faults)
