"""The switch ``residuals``: loops that end early as Timeloop counts them, or exactly."""

import pytest

from jouleloop.api.results import Result
from jouleloop.api.run import evaluate
from jouleloop.api.schema import ResultData
from jouleloop.errors import InputError

#: 43 inputs over 4 x 11: one of four units has 10 of them.
MAPPING = [
    {"target": "DRAM", "type": "temporal", "factors": "C=1 M=1", "permutation": "CM"},
    {"target": "shared_glb", "type": "temporal", "factors": "C=1 M=3", "permutation": "CM"},
    {"target": "DummyBuffer", "type": "spatial", "factors": "C=4 M=1", "permutation": "CM", "split": 0},
    {"target": "weights_spad", "type": "temporal", "factors": "C=11,10 M=1", "permutation": "CM"},
]


def _counted(residuals: str) -> Result:
    return evaluate("eyeriss", "fc:43x3", MAPPING, residuals=residuals)


def test_idle_units_are_paid_by_timeloop_alone() -> None:
    theirs, exact = _counted("timeloop"), _counted("exact")
    assert (theirs.evaluation.computes, exact.evaluation.computes) == (44 * 3, 43 * 3)
    weights = [result.evaluation.level("weights_spad").data["Weights"].reads for result in (theirs, exact)]
    assert weights == [33, 43 * 3 / 4]
    assert exact.cycles == theirs.cycles
    assert exact.energy_pj < theirs.energy_pj
    data = exact.as_dict()
    assert data["residuals"] == "exact"
    ResultData.model_validate(data)


def test_other_ways_and_engines_are_refused() -> None:
    with pytest.raises(InputError, match=r"unknown way to count.*did you mean 'exact'"):
        _counted("exactly")
    with pytest.raises(InputError, match="native engine alone"):
        evaluate("eyeriss", "fc:43x3", MAPPING, residuals="exact", engine="accelforge")
