"""Random designs given to real Timeloop and to the native search: the same optimum, or a finding.

    python benchmarks/differential.py --timeloop FOLDER --out FOLDER [--kind general|windows|near] [--minutes 10]

``--timeloop`` holds ``timeloop-3.0.3/bin`` and ``timeloop-2023-04/bin`` (see docs/engines-timeloop.md). Results are
appended to ``OUT/KIND.jsonl``, one line a case; a second run goes on with the next seed. The documents of every case
that differs are kept in ``OUT/differing/NAME``. ``near`` changes the cases that are there, and those of ``--base``.
"""

import argparse
import json
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from differential.case import Case, read_case  # noqa: E402
from differential.compare import compare  # noqa: E402
from differential.draw import KINDS, draw_case  # noqa: E402
from differential.features import summary, table  # noqa: E402
from differential.near import draw_near  # noqa: E402
from differential.real import homes  # noqa: E402

#: Verdicts that are findings; the documents of these cases are kept.
FINDINGS = ("unsound", "wider", "crash", "real refused")


def main() -> None:
    """Compare cases until the time is over, then print the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--timeloop", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--kind", choices=(*KINDS, "near"), default="general")
    parser.add_argument("--base", type=Path, action="append", default=[], help="folder of folders of known cases")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--limit", type=int, default=2000, help="most mappings of a case")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--last", type=int, default=10**9, help="seed to stop before")
    parser.add_argument("--only", type=int, help="one seed, its documents are written and both answers shown")
    options = parser.parse_args()
    programs = homes(options.timeloop)
    bases = [read_case(p.parent) for folder in options.base for p in sorted(folder.glob("*/arch.yaml"))]

    def draw(seed: int) -> Case:
        return (
            draw_near(seed, bases, options.limit)
            if options.kind == "near"
            else draw_case(seed, options.kind, options.limit)
        )

    if options.only is not None:
        case = draw(options.only)
        case.write(options.out / case.name)
        print(json.dumps(compare(case, programs[case.semantics]).record(), indent=1))
        return
    options.out.mkdir(parents=True, exist_ok=True)
    results = options.out / f"{options.kind}.jsonl"
    done = {json.loads(line)["name"] for line in results.read_text().splitlines()} if results.exists() else set()
    end = time.monotonic() + 60 * options.minutes
    seed = options.first
    while time.monotonic() < end and seed < options.last:
        if f"{options.kind}-{seed}" not in done:
            case = draw(seed)
            if case.semantics in programs:
                found = compare(case, programs[case.semantics])
                if found.verdict in FINDINGS:
                    case.write(options.out / "differing" / case.name)
                    print(json.dumps({k: v for k, v in found.record().items() if k != "features"}), flush=True)
                with results.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(found.record()) + "\n")
        seed += 1
    lines = results.read_text(encoding="utf-8").splitlines()
    print(table(summary(json.loads(line)) for line in lines))


if __name__ == "__main__":
    main()
