"""Questions that tests of curves ask."""

from jouleloop.api.hardware import Architecture
from jouleloop.api.layers import LayerLike, problem_of
from jouleloop.curves.staircase import Question


def question(layer: LayerLike, arch: str = "two_levels", level: str = "Buffer", objective: str = "energy") -> Question:
    """Return the question for the curve of a layer on an architecture."""
    problem = problem_of(layer)
    return Question(problem, Architecture.read(arch, shape=problem.shape).target(problem), level, objective)
