"""Search the same fully-connected layers with the native engine and with accelforge, and write one table of both.

    python benchmarks/compare_accelforge.py [perfect] [imperfect] OUT.csv

It needs accelforge (docs/engines-accelforge.md). Both engines have the factors that are named, or each in turn.
"""

import sys
from dataclasses import replace
from pathlib import Path

import pandas as pd

from jouleloop.api.project import load_target
from jouleloop.engines.accelforge.engine import AccelforgeEngine, AccelforgeOptions
from jouleloop.engines.native import NativeEngine
from jouleloop.engines.protocol import SEMANTICS, SearchOptions, Target
from jouleloop.model.evaluate import evaluate_mapping
from jouleloop.workload.layer import CONV
from jouleloop.workload.sizes import parse_layer

SIZES = (  # noqa: SIM905 - easier to read
    "64x64 128x128 256x256 512x512 1024x1024 2048x1024 1024x128 128x1024 4096x1000 2048x1000 9216x4096 96x84 120x84 "
    "1000x1000 768x3072 3072x768 100x300 252x180 97x89 768x768/batch8 1024x128/batch4 512x512/batch64"
).split()
#: Asked for with imperfect factors only: they have few divisors.
AWKWARD = ("127x509", "509x127", "250x1000", "997x1009", "127x64/batch5")
#: Simba's mapspace constraints are mostly on loops of single levels, which accelforge has no word for.
ARCHITECTURES = (("simba", "arch-only"), ("eyeriss", "full"))


def row(name: str, constraints: str, target: Target, size: str, factors: str) -> dict[str, object]:
    problem = parse_layer(f"fc:{size}").problem()
    native = NativeEngine()
    ours = native.search(problem, target, SearchOptions(seconds=60))
    engine = AccelforgeEngine(AccelforgeOptions(imperfect=factors == "imperfect", seconds=900))
    theirs = engine.search(problem, target)
    found = {
        "architecture": name,
        "constraints": constraints,
        "layer": f"fc:{size}",
        "factors": factors,
        "native_status": ours.status,
        "native_optimal": ours.optimal,
        "native_pj": ours.evaluation.energy_pj if ours.evaluation else None,
        "native_lower_pj": ours.lower_bound,
        "native_mapping": ours.mapping.compact() if ours.mapping else "",
        "native_seconds": round(ours.seconds, 2),
        "accelforge": engine.programs.version,
        "accelforge_status": theirs.status,
        "accelforge_pj": theirs.evaluation.energy_pj if theirs.evaluation else None,
        "accelforge_mapping": theirs.mapping.compact() if theirs.mapping else theirs.reason,
        "accelforge_mapping_native_pj": None,
        "native_mapping_accelforge_pj": None,
        "accelforge_seconds": round(theirs.seconds, 1),
    }
    if theirs.mapping is not None:
        cost = evaluate_mapping(
            problem, target.arch, target.costs, theirs.mapping, target.semantics, check_capacity=False
        )
        found["accelforge_mapping_native_pj"] = cost.energy_pj
    if ours.mapping is not None and not ours.mapping.imperfect:
        found["native_mapping_accelforge_pj"] = engine.evaluate(problem, target, ours.mapping).energy_pj
    return found


def main() -> None:
    *kinds, out = sys.argv[1:]
    rows = []
    for factors in kinds or ("perfect", "imperfect"):
        for name, constraints in ARCHITECTURES:
            target = load_target(name, semantics=SEMANTICS[0], constraints=constraints).for_shape(CONV)
            target = replace(target, constraints=replace(target.constraints, factors=factors))
            for size in (*SIZES, *(AWKWARD if factors == "imperfect" else ())):
                rows.append(row(name, constraints, target, size, factors))
                print(*rows[-1].values(), sep="  ", flush=True)
                pd.DataFrame(rows).to_csv(Path(out), index=False)


if __name__ == "__main__":
    main()
