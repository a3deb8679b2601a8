"""Search the same fully-connected layers with the native engine and with accelforge, and write one table of both.

``python benchmarks/compare_accelforge.py docs/data/fc_accelforge.csv`` needs accelforge (docs/engines-accelforge.md).
"""

import sys

import pandas as pd

from jouleloop.api.project import load_target
from jouleloop.engines.accelforge.engine import AccelforgeEngine, AccelforgeOptions
from jouleloop.engines.native import NativeEngine
from jouleloop.engines.protocol import SEMANTICS, Target
from jouleloop.workload.layer import CONV
from jouleloop.workload.sizes import parse_layer

SIZES = (  # noqa: SIM905 - easier to read
    "64x64 128x128 256x256 512x512 1024x1024 2048x1024 1024x128 128x1024 4096x1000 2048x1000 9216x4096 96x84 120x84 "
    "1000x1000 768x3072 3072x768 100x300 252x180 97x89 768x768/batch8 1024x128/batch4 512x512/batch64"
).split()
IMPERFECT = ("96x84", "100x300", "97x89", "127x509", "250x1000")
#: Simba's mapspace constraints are mostly on loops of single levels, which accelforge has no word for.
ARCHITECTURES = (("simba", "arch-only"), ("eyeriss", "full"))


def row(name: str, constraints: str, target: Target, size: str, imperfect: bool) -> dict[str, object]:
    problem = parse_layer(f"fc:{size}").problem()
    native = NativeEngine()
    ours = native.search(problem, target)
    engine = AccelforgeEngine(AccelforgeOptions(imperfect=imperfect, seconds=900))
    theirs = engine.search(problem, target)
    found = {
        "architecture": name,
        "constraints": constraints,
        "layer": f"fc:{size}",
        "factors": "imperfect" if imperfect else "perfect",
        "native_status": ours.status,
        "native_pj": ours.evaluation.energy_pj if ours.evaluation else None,
        "native_mapping": ours.mapping.compact() if ours.mapping else "",
        "accelforge": engine.programs.version,
        "accelforge_status": theirs.status,
        "accelforge_pj": theirs.evaluation.energy_pj if theirs.evaluation else None,
        "accelforge_mapping": theirs.mapping.compact() if theirs.mapping else theirs.reason,
        "accelforge_mapping_native_pj": None,
        "native_mapping_accelforge_pj": None,
        "accelforge_seconds": round(theirs.seconds, 1),
    }
    if theirs.mapping is not None:
        found["accelforge_mapping_native_pj"] = native.evaluate(problem, target, theirs.mapping).energy_pj
    if ours.mapping is not None and not imperfect:
        found["native_mapping_accelforge_pj"] = engine.evaluate(problem, target, ours.mapping).energy_pj
    return found


def main() -> None:
    rows = []
    for name, constraints in ARCHITECTURES:
        target = load_target(name, semantics=SEMANTICS[0], constraints=constraints).for_shape(CONV)
        for size, imperfect in [(size, False) for size in SIZES] + [(size, True) for size in IMPERFECT]:
            rows.append(row(name, constraints, target, size, imperfect))
            print(*rows[-1].values(), sep="  ", flush=True)
            pd.DataFrame(rows).to_csv(sys.argv[1], index=False)


if __name__ == "__main__":
    main()
