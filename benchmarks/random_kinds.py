"""Compare evaluations with real timeloop-model on random layers of every kind of the project, and store what it counts.

Designs are those of `random_evaluations`, whose layer is of each kind in turn. Stored is a line a design that Timeloop
evaluates: the design and all counts (tests/reference/shape_runs).
"""

import argparse
import json
import lzma
import tempfile
from pathlib import Path
from typing import Any

import yaml

from jouleloop.engines.timeloop.programs import locate
from jouleloop.workload.kinds import kind_names, kinds
from jouleloop.workload.layer import Layer
from jouleloop.workload.timeloop_problem import problem_tree
from random_evaluations import Draw, compared, ours, theirs


class KindDraw(Draw):
    """One random design with a layer of one of the kinds that the project provides."""

    def __init__(self, number: int) -> None:
        self.kind = list(kinds())[number % len(kind_names())]
        super().__init__(number)

    def problem(self) -> dict[str, Any]:
        """Return a layer of the kind with few and small bounds, strides and dilations."""
        kind = self.kind
        stated = [size for size, target in kind.fields if target in kind.shape.dimensions]
        above = self.random.sample(stated, min(len(stated), self.random.choice((3, 4, 5))))
        sizes = {name: self.random.choice((2, 2, 3, 4, 4, 6, 8)) for name in above}
        steps = {name: self.random.choice((1, 1, 2, 3)) for name, target in kind.fields if name not in stated}
        open_ones = set(dict(kind.sizes).values())
        given = {name: value for name, value in (sizes | steps).items() if name in open_ones}
        fields = dict(zip((name for name, _ in kind.fields), kind.defaults, strict=True)) | given
        problem = Layer(kind, tuple(fields.values())).problem()
        self.dims, self.spaces = problem.shape.dimensions, [space.name for space in problem.data_spaces]
        self.left = dict(problem.bound)
        return problem_tree(problem)


def main() -> int:
    """Compare as many random designs as asked for; return 1 where one differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, help="how many designs")
    parser.add_argument("--first", type=int, default=0, help="number of the first design")
    parser.add_argument("--store", type=Path, help="file for designs and counts: .jsonl.xz")
    given = parser.parse_args()
    program, _ = locate()
    stored: list[str] = []
    wrong = refused = 0
    for number in range(given.first, given.first + given.count):
        drawn = KindDraw(number)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for file, data in drawn.documents.items():
                (folder / f"{file}.yaml").write_text(yaml.safe_dump(data, sort_keys=False))
            mine, real = ours(drawn.documents, folder, "timeloop-3.0.3"), theirs(drawn.documents, folder, program)
        if mine is None or real is None:
            refused += mine is real
            wrong += mine is not real
            continue
        wrong += any(pair.verdict != "equal" for pair in compared(mine, real))
        record = {"number": number, "kind": drawn.kind.name, "design": drawn.documents, "evaluation": real.as_json()}
        stored.append(json.dumps(record, sort_keys=True))
    if given.store:
        given.store.write_bytes(lzma.compress("".join(f"{line}\n" for line in stored).encode()))
    print(f"{len(stored)} evaluated, {refused} refused by both, {wrong} different")
    return int(wrong > 0)


if __name__ == "__main__":
    raise SystemExit(main())
