"""What a level that keeps nothing passes on, where strided windows are unrolled along both of their dimensions."""

import math
import os
import random
from typing import Any

import numpy as np
import pytest

from differential.case import Case, components
from differential.native import load
from differential.problems import space
from differential.shared import few_energies
from jouleloop.errors import MappingError
from jouleloop.mapspace.space import build_mapspace
from jouleloop.model.evaluate import evaluate_mapping
from jouleloop.optimum import boundaries
from jouleloop.optimum.groups import Groups
from jouleloop.optimum.optimise import Search
from sample import sample_mappings, unrolled
from shares import in_shares

CASES = int(os.environ.get("JOULELOOP_EXAMPLES", "60"))
NESTS = 12
INPUTS, LEVEL = 0, 2
"""The windows, and the level that is asked for them, outside one that passes them."""


def drawn(rng: random.Random) -> Case:
    """Draw strided windows, unrolled below the memory, whose words pass the level below it."""
    coefficients = {name: rng.choice((1, 1, 2, 3)) for name in ("a", "b")}
    ranks = ["P*a+R*b", rng.choice(("Q*a+S*b", "Q", "G"))]
    spaces = [space("T", *ranks), space("W", "R", "S", "M"), space("Z", "P", "Q", "M", "G", write=True)]
    unrolled = {"P": rng.choice((2, 2, 3, 4)), "R": rng.choice((2, 3)), rng.choice("QSMG"): rng.choice((1, 2, 3))}
    if rng.random() < 0.3:
        unrolled |= {"Q": 2, "S": 2}
    bounds = {d: unrolled.get(d, 1) * rng.choice((1, 2, 2, 3, 4)) for d in "PRQSMG"}
    order, split = rng.sample("PRQSMG", 6), rng.choice((0, 2, 3, 4, 6))
    along_x, along_y = (math.prod(unrolled.get(d, 1) for d in some) for some in (order[:split], order[split:]))
    # A wider mesh has neighbours a row apart that differ in several loops.
    columns = along_x + rng.choice((0, 0, 1, 2)) * (along_y > 1)
    named = [{"name": name, "default": value} for name, value in coefficients.items()]
    shape = {"name": "strided", "dimensions": list("PRQSMG"), "coefficients": named, "data-spaces": spaces}
    unit = {"name": "mac", "class": "intmac", "attributes": {"datawidth": 8, "meshX": columns}}
    held = {"word-bits": 8, "depth": 10**6, "meshX": columns}
    parts = [{"name": name, "class": "SRAM", "attributes": held} for name in ("mid", "buf")]
    memory = {"name": "DRAM", "class": "DRAM", "attributes": {"word-bits": 8}}
    node: dict[str, Any] = {"name": f"s1[0..{columns * along_y - 1}]", "local": parts[:1]}
    node["subtree"] = [{"name": "s2", "local": [parts[1], unit]}]
    arch = {"architecture": {"version": 0.3, "subtree": [{"name": "s0", "local": [memory], "subtree": [node]}]}}
    factors = " ".join(f"{d}={unrolled.get(d, 1)}" for d in order)
    targets = [
        {"target": "DRAM", "type": "spatial", "permutation": "".join(order), "factors": factors, "split": split},
        {"target": "mid", "type": "bypass", "keep": ["W", "Z"], "bypass": ["T"]},
        {"target": "buf", "type": "bypass", "keep": ["T", "W", "Z"]},
    ]
    constraints = {"architecture_constraints": {"targets": targets}, "mapspace_constraints": {"targets": []}}
    case = Case("strided", arch, {"problem": {"shape": shape, "instance": {**bounds, **coefficients}}}, constraints, {})
    return Case(**{**vars(case), "ert": few_energies(random.Random(0), components(case))})


@pytest.mark.parametrize("laid_out", [boundaries.MOST_LAID_OUT, 0])
@in_shares(CASES, first=CASES // 2)
def test_a_level_is_asked_for_no_less_than_is_said_to_pass(
    seeds: range, laid_out: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(boundaries, "MOST_LAID_OUT", laid_out)
    compared = narrow = close = several = 0
    for seed in seeds:
        case = drawn(random.Random(seed))
        problem, target = load(case)
        found = build_mapspace(problem, target.arch, target.constraints)
        search = Search(found, target.costs, target.semantics)
        ids = np.zeros((1, search.levels), np.int64)
        # By unrolling: words that pass, classes of equal boxes, and all words; mappings of a design may share it.
        known = dict[bytes, tuple[float, float, float]]()
        for mapping in sample_mappings(found, NESTS, seed=seed):
            try:
                counts = evaluate_mapping(problem, target.arch, target.costs, mapping, target.semantics)
            except MappingError:
                continue
            row = np.ascontiguousarray(unrolled(search, mapping)[:, None])
            if row.tobytes() not in known:
                parts = search.solver.parts._replace(row=row, ids=ids)
                priced = Groups(search.solver.case, parts).boundaries
                known[row.tobytes()] = (
                    priced.least_words(priced.group(ids), INPUTS, LEVEL, LEVEL),
                    priced.multicast(ids, INPUTS, LEVEL, LEVEL, mean=True)[0],
                    priced.lattice.volume[INPUTS],
                )
            words, alike, volume = known[row.tobytes()]
            asked, filled = counts.levels[0].data["T"].reads, counts.levels[LEVEL].data["T"]
            assert words <= asked + 1, (seed, mapping)
            # Words are asked for by fewer in the mean than is said.
            assert filled.fills * filled.instances <= alike * (asked + 1), (seed, mapping)
            several += alike > 1.0
            compared += 1
            narrow += words < volume
            close += words > 0.999 * asked
    assert compared > len(seeds)
    assert narrow > len(seeds) // 20
    assert several > len(seeds) // 10
    assert close > len(seeds) // 10
