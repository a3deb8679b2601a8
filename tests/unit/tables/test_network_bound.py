"""Lower bounds on the words and energy of layers of any kind: below every proven optimum, and by hand."""

import pytest

from jouleloop.api.project import load_target
from jouleloop.engines.native import NativeEngine
from jouleloop.tables.network_bound import fast_words, layer_lower_pj, problem_lower_words
from jouleloop.workload.sizes import parse_layer

LAYERS = [
    "matmul:M768xN128xK768",
    "matmul:M256xN256xK64/batch12",
    "matmul:M4096xN1xK4096",
    "conv3d:C4xM8xP8xQ8xO4xR3xS3xT3",
    "conv:C8xM8xP16xQ16xR3xS3/dilation2",
    "conv_transpose:C8xM8xP6xQ6xR2xS2/stride2",
    "depthwise:G32xP14xQ14xR3xS3",
]


@pytest.mark.parametrize("architecture", ["eyeriss", "simba"])
@pytest.mark.parametrize("text", LAYERS)
def test_no_optimum_lies_below_its_bound(text: str, architecture: str) -> None:
    layer = parse_layer(text)
    problem = layer.problem()
    target = load_target(architecture, semantics="timeloop-3.0.3", shape=problem.shape).for_shape(problem.shape)
    result = NativeEngine().search(problem, target)
    assert result.optimal
    assert result.evaluation is not None
    assert layer_lower_pj(layer, target) <= result.evaluation.energy_pj
    dram = result.evaluation.levels[0]
    moved = sum((s.reads + s.fills + s.updates) * s.instances for s in dram.data.values())
    assert problem_lower_words(problem, fast_words(target)) <= moved


def test_bounds_by_hand() -> None:
    # Everything fits: each tensor once.
    assert problem_lower_words(parse_layer("matmul:M8xN4xK2/batch3").problem(), 10**6) == 3 * (8 * 2 + 2 * 4 + 8 * 4)
    assert problem_lower_words(parse_layer("matmul:M8xN4xK2").problem(), None) == 8 * 2 + 2 * 4 + 8 * 4
    # A small memory: more than once, and about 2 MNK / sqrt(memory) up to the constants that are kept.
    words = problem_lower_words(parse_layer("matmul:M1024xN1024xK1024").problem(), 1024)
    assert 3 * 1024**2 < words <= 2 * 1024**3 / 32
    # Gaps of a stride are no words: of 7 places under a stride of 2, four are read.
    assert problem_lower_words(parse_layer("conv1d:C1xM1xP4xR1/stride2").problem(), None) == 1 + 4 + 4
