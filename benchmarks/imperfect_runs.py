"""Random mappings whose loops need not divide, given to the real ``timeloop-model``: one line a mapping.

    python benchmarks/imperfect_runs.py --timeloop FOLDER --out FILE --kind eyeriss [--first 0] [--count 100]

Kinds are those of ``differential.draw``, and ``eyeriss`` and ``simba`` with layers of few divisors. ``both-`` before a
kind draws dimensions along both axes of a mesh, which Timeloop is given in one row. ``--timeloop``
holds ``timeloop-3.0.3/bin`` and ``timeloop-2023-04/bin`` (see docs/engines-timeloop.md). Seeds from ``--first`` on are
drawn until ``--count`` mappings are stored; every field in which this package differs is printed.
"""

import argparse
import itertools
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from differential.imperfect import differences, draw_along_both, draw_evaluated, in_one_row, run_model  # noqa: E402
from differential.real import homes  # noqa: E402
from differential.runs import write_records  # noqa: E402
from jouleloop.errors import JouleloopError  # noqa: E402


def main() -> None:
    """Draw, run and compare; write what the real program counted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--timeloop", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--kind", required=True)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    options = parser.parse_args()
    programs = homes(options.timeloop)
    records = []
    for seed in itertools.count(options.first):
        if len(records) == options.count:
            break
        both = options.kind.startswith("both-")
        drawn = (draw_along_both if both else draw_evaluated)(seed, options.kind.removeprefix("both-"))
        if drawn is None:
            continue
        record, problem, target, mapping = drawn
        try:
            row = in_one_row(target, mapping) if both else (target, mapping)
            real = run_model(problem, *row, programs[target.semantics])
        except JouleloopError as error:
            print(f"{options.kind}-{seed} refused: {error}", flush=True)
            continue
        records.append(record | {"real": real})
        for line in differences(problem, target, mapping, real):
            print(f"{options.kind}-{seed} {mapping.compact()}: {line}", flush=True)
    write_records(options.out, records)
    print(f"{options.kind}: {len(records)} mappings, seeds {options.first} to {seed - 1}")


if __name__ == "__main__":
    main()
