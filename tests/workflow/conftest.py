"""A small study in a folder of its own, run by snakemake or by the command line, and what its results hold."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

from paths import ROOT
from waiting import LIMIT_S

#: 12 layers on two architectures in 4 chunks.
LAYERS = """\
kind: fc
fixed: {M: 32}
ranges: {C: {start: 16, stop: 192, step: 16}}
variable: C
expected: linear
"""
#: Tables that must not differ between two runs.
TABLES = ("energies.parquet", "energies.csv", "layers/tiny.csv")
#: The tests and figures of the growth are computed from this table alone.
TARGETS = ("results/energies.parquet",)


@dataclass
class Started:
    """A process that was started, with its output in a file, so that nobody waits for a pipe that an orphan holds."""

    process: "subprocess.Popen[bytes]"
    output: Path

    def alive(self) -> bool:
        return self.process.poll() is None

    def kill(self, *, group: bool = True) -> None:
        """Kill the process and, with ``group``, all that it has started."""
        with contextlib.suppress(ProcessLookupError):
            (os.killpg if group else os.kill)(self.process.pid, signal.SIGKILL)
        if group:
            self.process.wait()

    def wait(self, seconds: float = LIMIT_S) -> tuple[int, str]:
        """Return exit code and output."""
        self.process.wait(timeout=seconds)
        return self.process.returncode, self.text()

    def text(self) -> str:
        return self.output.read_text(errors="replace")


STARTED: list[Started] = []


@dataclass(frozen=True)
class Study:
    """A copy of the project with one small sweep."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)

    @classmethod
    def create(cls, folder: Path, **changes: object) -> "Study":
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("arch", "mappings", "layers", "workflow", "analysis", "profiles"):
            shutil.copytree(ROOT / name, folder / name)
        shutil.copy(ROOT / "Snakefile", folder)
        (folder / "layers/tiny.yaml").write_text(LAYERS)
        config = yaml.safe_load((ROOT / "config/config.yaml").read_text())
        config |= {"sweeps": ["tiny"], "outputs": {"figure_formats": ["png"]}, "chunks": {"least": 4}, **changes}
        (folder / "config").mkdir()
        (folder / "config/config.yaml").write_text(yaml.safe_dump(config))
        return cls(folder)

    @property
    def results(self) -> Path:
        return self.folder / "results"

    def variables(self, more: dict[str, str] | None = None) -> dict[str, str]:
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        own = {"PYTHONPATH": str(ROOT / "src"), "PATH": path, "COLUMNS": "200"}
        return os.environ | own | self.environment | (more or {})

    def start(self, *arguments: str, prefix: tuple[str, ...] = (), more: dict[str, str] | None = None) -> Started:
        """Start snakemake (arguments that begin with ``jouleloop`` start the command line) as a process of its own."""
        if arguments[:1] == ("jouleloop",):
            command = [sys.executable, "-m", *arguments]
        else:
            cores = () if {"--executor", "--cores"} & set(arguments) else ("--cores", "2")
            command = [sys.executable, "-m", "snakemake", *cores, *(arguments or TARGETS)]
        self.folder.joinpath("outputs").mkdir(exist_ok=True)
        output = self.folder / "outputs" / f"{len(list(self.folder.glob('outputs/*')))}.txt"
        with output.open("wb") as stream:
            process = subprocess.Popen(
                [*prefix, *command],
                cwd=self.folder,
                env=self.variables(more),
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        STARTED.append(Started(process, output))
        return STARTED[-1]

    def run(self, *arguments: str, prefix: tuple[str, ...] = (), more: dict[str, str] | None = None) -> tuple[int, str]:
        """Return exit code and output."""
        return self.start(*arguments, prefix=prefix, more=more).wait()

    def tables(self, folder: str = "results") -> dict[str, bytes]:
        return {n: (self.folder / folder / n).read_bytes() for n in TABLES if (self.folder / folder / n).exists()}

    def unfinished(self) -> list[Path]:
        """Return the files in results/ that are visible under their final name and are not whole."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        found = []
        for path in self.results.rglob("*"):
            if path.name.startswith(".") or not path.is_file() or "logs" in path.parts:
                continue
            text = path.read_bytes()
            try:
                if path.suffix == ".parquet":
                    pq.read_table(path)
                elif path.suffix == ".json":
                    yaml.safe_load(text)
                if not text or (path.suffix in (".csv", ".json") and not text.endswith(b"\n")):
                    found.append(path)
            except (pa.ArrowException, OSError, yaml.YAMLError):
                found.append(path)
        return found


@pytest.fixture(autouse=True)
def _nothing_goes_on() -> Iterator[None]:
    """Kill what a failed test has left running."""
    yield
    while STARTED:
        STARTED.pop().kill()


@pytest.fixture(scope="session")
def study() -> Callable[..., Study]:
    """Return how a study is made."""
    return Study.create


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """Return a study that nothing disturbed: what every other one is compared with."""
    made = Study.create(tmp_path_factory.mktemp("undisturbed") / "study")
    code, text = made.run()
    assert code == 0, text
    assert len(made.tables()) == len(TABLES)
    return made
