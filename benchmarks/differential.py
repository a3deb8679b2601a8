"""Random designs given to real Timeloop and to the native search: the same optimum, or a finding.

    python benchmarks/differential.py --timeloop FOLDER --out FOLDER [--kind KIND] [--minutes 10]
    python benchmarks/differential.py --replay FILE [--replay FILE …]

``--timeloop`` holds ``timeloop-3.0.3/bin`` and other versions beside it (see docs/engines-timeloop.md). Runs are
appended to ``OUT/KIND.jsonl``, one line a case; a second run goes on with the next seed. The documents of every case
that differs are kept in ``OUT/differing/NAME``. Kinds: general, windows, arrays, wide, turned, grouped, spread, told
(see `differential.open`), strided, near, mixed, rounded, ruby; ``strided`` has strided windows and few constraints,
``near`` changes the cases below ``--base`` a little, ``mixed`` has everything at once by the rules of one version,
``rounded`` the same with factors that do not divide the layer, ``ruby`` windows whose loops may end early.
``--replay`` only searches again what the real mapper answered before. The counts by feature are printed at the end.
"""

import argparse
import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from differential.case import Case, read_case  # noqa: E402
from differential.compare import FINDINGS, Comparison, compare  # noqa: E402
from differential.draw import KINDS, draw_case  # noqa: E402
from differential.features import table  # noqa: E402
from differential.mixed import draw_mixed, draw_mixed_rounded  # noqa: E402
from differential.near import draw_near  # noqa: E402
from differential.open import OPEN  # noqa: E402
from differential.real import HOMES, homes, run_mapper  # noqa: E402
from differential.ruby import as_ruby_reads, draw_ruby_window, with_remainders  # noqa: E402
from differential.runs import from_record, read_records  # noqa: E402
from differential.strided import draw_strided  # noqa: E402
from differential.uber import Uber  # noqa: E402


def main() -> None:
    """Compare cases until the time is over, then print the counts."""
    options = _options()
    end = time.monotonic() + 60 * options.minutes
    if options.replay:
        rows = []
        for path in options.replay:
            for record in read_records(path):
                if time.monotonic() > end:
                    break
                found = compare(*from_record(record))
                rows.append((found.record()["features"], found.verdict))
                if found.verdict in FINDINGS:
                    print(found.line(), flush=True)
        print(table(rows))
        return
    programs = homes(options.timeloop)
    if not programs:
        sys.exit(f"error: {options.timeloop} has none of the folders {', '.join(map(str, HOMES.values()))}")
    bases = [read_case(p.parent) for folder in options.base for p in sorted(folder.glob("*/arch.yaml"))]

    options.out.mkdir(parents=True, exist_ok=True)
    if options.only is not None:
        case = draw(options, options.only, bases)
        assert case is not None
        case.write(options.out / case.name)
        print(run(options, case, programs).line())
        return
    results = options.out / f"{options.kind}.jsonl"
    done = {int(record["case"]["name"].rpartition("-")[2]) for record in whole_records(results)}
    seed = options.first
    while time.monotonic() < end and seed < options.last:
        if seed not in done:
            case = draw(options, seed, bases)
            if case is not None and case.semantics in programs:
                found = run(options, case, programs)
                if found.verdict in FINDINGS:
                    case.write(options.out / "differing" / case.name)
                    print(found.line(), flush=True)
                with results.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(found.record()) + "\n")
        seed += 1
    print(table((record["features"], record["verdict"]) for record in read_records(results)))


def draw(options: argparse.Namespace, seed: int, bases: list[Case]) -> Case | None:
    """Return the case of a seed, none where it is too large."""
    if options.kind == "ruby":
        return draw_ruby_window(seed, options.semantics)
    if options.kind in OPEN:
        case = OPEN[options.kind](seed)
        return case if 0 < Uber(case).size(options.limit) <= options.limit else None
    if options.kind == "near":
        return draw_near(seed, bases, options.limit)
    if options.kind == "mixed":
        return draw_mixed(seed, options.limit, options.semantics)
    if options.kind == "strided":
        return draw_strided(seed, options.limit)
    if options.kind == "rounded":
        return draw_mixed_rounded(seed, options.limit)
    return draw_case(seed, options.kind, options.limit)


def run(options: argparse.Namespace, case: Case, programs: dict[str, Path]) -> Comparison:
    """Compare a case with the answer of the real mapper."""
    home = programs[case.semantics]
    if options.kind != "ruby":
        return compare(case, run_mapper(case, home))
    found = compare(as_ruby_reads(case), run_mapper(with_remainders(case), home, options.seconds))
    return replace(found, case=case)


def whole_records(path: Path) -> list[dict[str, Any]]:
    """Return the records of earlier runs; a line that a kill has cut off is taken out of the file."""
    if not path.exists():
        return []
    raw = path.read_bytes()
    path.write_bytes(raw[: raw.rfind(b"\n") + 1])
    return read_records(path)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--timeloop", type=Path, help="folder of the programs")
    parser.add_argument("--out", type=Path, help="folder of the results")
    parser.add_argument("--replay", type=Path, action="append", help="file of stored runs")
    parser.add_argument(
        "--kind", choices=(*KINDS, *OPEN, "strided", "near", "mixed", "rounded", "ruby"), default="general"
    )
    parser.add_argument("--semantics", default="timeloop-2024", help="version of mixed and of ruby cases")
    parser.add_argument("--base", type=Path, action="append", default=[], help="folder of folders of known cases")
    parser.add_argument("--minutes", type=float, default=10, help="time after which no further case is begun")
    parser.add_argument("--seconds", type=float, default=60, help="time for a run of ruby")
    parser.add_argument("--limit", type=int, default=1000, help="most mappings of a case")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--last", type=int, default=10**9, help="seed to stop before")
    parser.add_argument("--only", type=int, help="one seed: write its documents, compare")
    options = parser.parse_args()
    if not options.replay and not (options.timeloop and options.out):
        parser.error("--timeloop and --out, or --replay, are needed")
    return options


if __name__ == "__main__":
    main()
