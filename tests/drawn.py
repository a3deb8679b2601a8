"""The random designs of ``benchmarks/random_evaluations.py``, for tests of what Timeloop says of them."""

import importlib.util
import json
import lzma
import sys
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from jouleloop.model.evaluation import Evaluation
from paths import ROOT

#: The one in C, where PyYAML was built with it.
DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


@cache
def drawn() -> Any:
    """Return the module that draws the designs."""
    spec = importlib.util.spec_from_file_location("random_evaluations", ROOT / "benchmarks" / "random_evaluations.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@cache
def stored(path: Path) -> dict[str, Any]:
    """Return what ``--store`` wrote: by number of a design Timeloop's evaluation, None where it refuses."""
    found: dict[str, Any] = json.loads(lzma.decompress(path.read_bytes()))
    return found


def ours(design: dict[str, Any], folder: Path, semantics: str) -> Evaluation | None:
    """Return our evaluation of a design, None where we refuse it."""
    (folder / "ert.yaml").write_text(yaml.dump(design["ert"], Dumper=DUMPER, sort_keys=False))
    found: Evaluation | None = drawn().ours(design, folder, semantics)
    return found
