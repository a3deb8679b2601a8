"""The optimum of small layers of every kind against an enumeration of the whole mapspace on Eyeriss and Simba."""

import importlib.util
import random
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from bulk import evaluate_nests
from jouleloop.errors import InputError
from jouleloop.mapspace.space import build_mapspace
from jouleloop.model.arrays import NestArrays
from jouleloop.workload.kinds import kind_named, kind_names
from jouleloop.workload.layer import Layer

#: Layers of each kind on each architecture that are small enough to enumerate.
LAYERS = 2
_DRAWS = 300


def _brute_force() -> ModuleType:
    """The enumeration of the neighbouring file, which is no module of a package."""
    path = Path(__file__).parent / "test_search_against_brute_force.py"
    spec = importlib.util.spec_from_file_location("brute_force", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BRUTE = _brute_force()


def drawn(rng: random.Random, name: str, simba: bool) -> Layer:
    """A layer with few bounds above 1; Simba's vectors need four input and output channels."""
    kind = kind_named(name)
    open_ones = [size for _, size in kind.sizes]
    sizes = dict.fromkeys(open_ones, 1)
    bounds = [size for size, target in kind.fields if size in sizes and target in kind.shape.dimensions]
    for size in rng.sample(bounds, min(3, len(bounds))):
        sizes[size] = rng.choice((2, 2, 3, 4))
    for size in set(open_ones) - set(bounds):
        sizes[size] = rng.choice((1, 1, 2, 3))
    if simba:
        sizes |= {size: rng.choice((4, 8)) for size in ("C", "M", "K") if size in sizes}
    fields = [key for key, _ in kind.fields]
    return Layer(kind, tuple(sizes.get(key, 1) for key in fields))


@pytest.mark.parametrize("target", ["eyeriss:full", "simba:full"])
@pytest.mark.parametrize("name", kind_names())
def test_the_optimum_is_that_of_the_enumeration(name: str, target: str) -> None:
    rng = random.Random(f"{name} {target}")
    found = 0
    for _ in range(_DRAWS):
        layer = drawn(rng, name, target.startswith("simba"))
        problem = layer.problem()
        chosen = BRUTE.published_target(target).for_shape(problem.shape)
        try:
            space = build_mapspace(problem, chosen.arch, chosen.constraints)
        except InputError:
            continue  # a factor of the constraints does not divide the layer
        nests = BRUTE.enumerate_nests(space)
        if nests is None or len(nests.counts) < 2:
            continue
        # Timeloop stops where outputs overlap so that fewer words move than a level sees: no mapping of its mapspace.
        energies = [
            evaluate_nests(problem, chosen.arch, chosen.costs, nests, semantics)[0]
            for semantics in ("timeloop-3.0.3", "timeloop-2023-04")
        ]
        valid = np.isfinite(energies).all(axis=0)
        assert (np.isfinite(energies) == valid).all()
        BRUTE.compare(space, NestArrays(nests.counts[valid], nests.loops[valid], nests.keep[valid]), chosen.costs)
        found += 1
        if found == LAYERS:
            return
    pytest.fail(f"only {found} layers are small enough")
