"""A study to start from: what ``jouleloop init`` writes into a folder."""

import shutil
from pathlib import Path

from jouleloop.api.project import shipped_root
from jouleloop.errors import Fault, InputError
from jouleloop.files import replacing, write_text

#: What is taken over as it is; the rest of the package's project is found without being there.
_COPIED = ("arch", "mappings", "profiles/default")

_CONFIG = """\
# Every key with its unit, default and meaning: the page "Configuration" of the documentation.
architectures:
  simba:
    arch: arch/simba.yaml
    energy: [arch/energy/simba-45nm-accelergy03.yaml, interpolated] # the table first, then from attributes
    constraints: mappings/simba.yaml
  eyeriss:
    arch: arch/eyeriss.yaml
    energy: [arch/energy/eyeriss-45nm-accelergy03.yaml, interpolated]
    constraints: mappings/eyeriss.yaml

sweeps: [first]
networks: []
"""

_SWEEP = """\
# A sweep to start from: fully-connected layers of 64 outputs and more and more inputs.
kind: fc
fixed: {M: 64}
ranges:
  C: {start: 64, stop: 1024, step: 64}
variable: C          # what is tested
symbol: inputs n
expected: linear     # growth that theory expects of the data energy
"""

_SNAKEFILE = """\
# The workflow comes with the package; what it reads stands in this folder, what it makes goes into results/.
from jouleloop.api.project import shipped_root


include: str(shipped_root() / "Snakefile")


rule study:
    default_target: True
    input:
        rules.all.input,
"""

_README = """\
# A study with jouleloop

`snakemake --cores all` searches the layers of `layers/first.yaml` on the architectures of `config/config.yaml`, tests
how their energy grows, and writes tables, figures and a report into `results/`.

`jouleloop config` checks all files, `jouleloop map --arch eyeriss --layer fc:1024x128` shows one layer.
"""

_WRITTEN = {
    "config/config.yaml": _CONFIG,
    "layers/first.yaml": _SWEEP,
    "Snakefile": _SNAKEFILE,
    "README.md": _README,
    ".gitignore": "results/\n.snakemake/\n",
}


def write_study(folder: Path) -> list[Path]:
    """Write a study to start from into ``folder``; return the files, relative to it.

    Raises `InputError` where any of the files is there already: nothing is written then.
    """
    source = shipped_root()
    copied = {
        path.relative_to(source).as_posix(): path
        for name in _COPIED
        for path in sorted((source / name).rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }
    names = [*_WRITTEN, *copied]
    there = [name for name in names if (folder / name).exists()]
    if there:
        raise InputError([Fault("is there already: nothing is written", str(folder / name)) for name in there])
    for name, text in _WRITTEN.items():
        write_text(folder / name, text)
    for name, origin in copied.items():
        with replacing(folder / name) as path:
            shutil.copyfile(origin, path)
    return [Path(name) for name in names]
