"""Where a table comes from: code, hashes of all inputs, engine, energies; and what it was computed with."""

import hashlib
import platform
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import jouleloop
from jouleloop.files import shown_path
from jouleloop.fusion.sweep import ChainSweep
from jouleloop.study.compute import Job
from jouleloop.study.keys import code_digest, engine_identity
from jouleloop.workload.sweep import Sweep

_PACKAGES = ("numba", "numpy", "pandas", "pyarrow", "scipy", "statsmodels", "snakemake", "matplotlib", "seaborn")


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that results pass through; results do not depend on them."""
    return dict(_versions())


@cache
def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def provenance(jobs: Mapping[str, Job], sweeps: Sequence[Sweep | ChainSweep]) -> dict[str, Any]:
    """Return everything that a table's reader needs to trace it, as plain data, the same wherever the table is made."""
    return {
        "versions": {"jouleloop": jouleloop.__version__, "jouleloop_code": code_digest()},
        "architectures": {
            name: {
                "files": job.target.files.hashes(),
                "constraints_set": job.target.files.which,
                "factors": job.target.factors,
                **({} if job.target.files.space == "timeloop" else {"space": job.target.files.space}),
                "energy_table": job.target.costs.table,
                "estimators": [list(entry) for entry in job.target.costs.asked],
                "energies": job.target.costs.rows(job.target.arch.compute.name),
                "areas": job.target.costs.areas(job.target.arch),
                "dram_words_per_cycle": {
                    way: getattr(job.target.arch.levels[0], f"{way}_bandwidth_words")
                    for way in ("read", "write", "shared")
                },
                "engine": engine_identity(job.engine),
                "semantics": job.target.semantics,
                **job.options.as_dict(),
            }
            for name, job in jobs.items()
        },
        "sweeps": {sweep.name: {shown_path(Path(sweep.source)): file_hash(Path(sweep.source))} for sweep in sweeps},
    }
