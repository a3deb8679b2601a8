"""The kinds of rounds: what is done to a run or a file, and what has to hold afterwards."""

import contextlib
import io
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from jouleloop import jit
from jouleloop.columns import read_table
from jouleloop.errors import JouleloopError
from jouleloop.study.store import ResultStore
from jouleloop.tables.layouts import ANY, ENERGIES, LAYOUTS

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "tests" / "fuzz"))
import loaders  # noqa: E402

SWEEP = """\
kind: fc
ranges: {C: {start: 32, stop: 512, step: 32}, M: {start: 64, stop: 512, step: 64}}
combine: product
variable: C*M
expected: linear
"""
TABLES = ("energies.parquet", "energies.csv", "energy_sources.csv")
#: Of processor time: nothing that reads one file may take so long.
READ_SECONDS = 120.0
#: Of time: nothing that runs so short a sweep may take so long, however busy the machine is.
RUN_SECONDS = 1200.0
INPUTS_A_ROUND, FLIPS_A_ROUND = 100, 100


#: What mutated files hold somewhere: numbers beyond all bounds, values of other kinds, expressions, signs of formulas.
PIECES = (
    *(b"-1", b"1e999", b"null", b"[", b": {", b"*a", b"\xff", b"0", b"999999999999", b"9" * 400),
    *(
        b"{Inputs: 1}",
        b"!!set {a}",
        b"[1]*99999",
        b"sum(range(99999))",
        b'"n$\\input{x}$"',
        b'"\\a"',
        b"!include /etc/hostname",
    ),
)


#: A resource and the amount that is left of it.
Limits = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Bench:
    """A folder with a sweep, and its results without any fault: tables by name."""

    folder: Path
    sound: dict[str, bytes]

    @classmethod
    def prepared(cls, folder: Path, *, workflow: bool) -> "Bench":
        """Run the sweep once, undisturbed, and the small ``workflow`` where it is asked for."""
        folder.mkdir()
        (folder / "many.yaml").write_text(SWEEP)
        bench = cls(folder, {})
        code, text = bench.run("undisturbed")
        assert code == 0, text
        if workflow:
            shutil.copytree(ROOT / ".test", bench.workflow, ignore=shutil.ignore_patterns("results", ".snakemake"))
            snakemake(bench.workflow)
        return cls(folder, bench.tables("undisturbed"))

    def copied(self, folder: Path) -> "Bench":
        """Return the same in another folder, for another process."""
        shutil.copytree(self.folder, folder, dirs_exist_ok=True)
        return Bench(folder, self.sound)

    @property
    def workflow(self) -> Path:
        """Return the folder of the workflow that runs what is in .test."""
        return self.folder / "workflow"

    def start(self, output: str, limits: Limits = (), kernels: Path | None = None) -> "subprocess.Popen[str]":
        """Start the sweep under resource limits [resource, amount]."""

        def limit() -> None:
            for what, amount in limits:
                resource.setrlimit(what, (amount, amount))

        return subprocess.Popen(
            [sys.executable, "-m", "jouleloop", "sweep", "many.yaml", "--arch", "eyeriss", "--output", output],
            cwd=self.folder,
            env=os.environ
            | {"COLUMNS": "200", "PYTHONFAULTHANDLER": "1"}
            | ({"NUMBA_CACHE_DIR": str(kernels)} if kernels else {}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
            preexec_fn=limit,  # noqa: PLW1509 - no threads run here
        )

    def run(self, output: str, limits: Limits = (), kernels: Path | None = None) -> tuple[int, str]:
        """Return exit code and output of the whole sweep."""
        process = self.start(output, limits, kernels)
        try:
            text, _ = process.communicate(timeout=RUN_SECONDS)
        finally:
            stop(process)
        return process.returncode, text

    def tables(self, output: str) -> dict[str, bytes]:
        """Return the tables that are there."""
        paths = [self.folder / output / name for name in TABLES]
        return {path.name: path.read_bytes() for path in paths if path.exists()}

    def completed(self, output: str) -> None:
        """Run again without a fault: the results are those of the undisturbed run, and nothing else is left."""
        code, text = self.run(output)
        assert code == 0, text
        assert self.tables(output) == self.sound
        left = [str(path) for path in (self.folder / output).rglob("*.part*")]
        assert not left, left

    def fresh(self, output: str) -> Path:
        """Return the folder ``output``, empty."""
        shutil.rmtree(self.folder / output, ignore_errors=True)
        return self.folder / output


def stop(process: "subprocess.Popen[str]") -> None:
    """Kill a process with all that it has started."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def half_written(folder: Path) -> list[Path]:
    """Return the tables that are visible under their final name and cannot be read."""
    found = []
    for path in folder.rglob("*.parquet"):
        if not path.name.startswith("."):
            try:
                read_table(path, ANY)
            except JouleloopError:
                found.append(path)
    return found


def kills(bench: Bench, chance: random.Random) -> Counter[str]:
    """Kill the run at any moment, up to three times, by SIGKILL or as a user ends it."""
    counts: Counter[str] = Counter()
    output = bench.fresh("killed")
    for _ in range(chance.choice((1, 1, 2, 3))):
        process = bench.start(output.name)
        number = chance.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT))
        time.sleep(chance.expovariate(1 / 4))
        if process.poll() is None:
            os.killpg(process.pid, number)
            counts[f"runs ended by {number.name}"] += 1
        text, _ = process.communicate(timeout=RUN_SECONDS)
        assert half_written(output) == []
        if number == signal.SIGINT and process.returncode == -signal.SIGSEGV and not (output / "store").exists():
            # Seen once in 17 minutes: Ctrl-C while extension modules are imported. Nothing is begun then.
            print(f"SIGINT ended in a crash before the run began:\n{text}", flush=True)
            counts["crashes of Python at SIGINT while it imports"] += 1
            continue
        assert process.returncode in (0, -number, 128 + number), (process.returncode, text)
        # Before its first line of our own runs, Python alone answers Ctrl-C.
        assert "Traceback" not in text or "jouleloop" not in text or number == signal.SIGINT, text
    bench.completed(output.name)
    return counts


def full_disk(bench: Bench, chance: random.Random) -> Counter[str]:
    """Let the disk be full after a number of bytes drawn at random."""
    output = bench.fresh("full")
    output.mkdir()
    size = chance.randrange(4, 200) * 1024
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(output)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        return Counter({"disks that could not be mounted here": 1})
    try:
        code, text = bench.run(output.name)
        assert "Traceback" not in text, text
        assert code in (0, 2), (code, text)
        assert code == 0 or "No space left on device" in text, text
        assert half_written(output) == []
        subprocess.run(["mount", "-o", "remount,size=64m", str(output)], check=True)
        bench.completed(output.name)
    finally:
        subprocess.run(["umount", "--lazy", str(output)], check=True)
    return Counter({"full disks" if code else "disks that had just room enough": 1})


def limits(bench: Bench, chance: random.Random) -> Counter[str]:
    """Take away open files, the size of files, processor time or memory."""
    output = bench.fresh("limited")
    what, amounts, ends = chance.choice(
        (
            (resource.RLIMIT_FSIZE, (512, 120_000), (0, 2)),
            (resource.RLIMIT_NOFILE, (24, 120), (0, 2)),
            (resource.RLIMIT_CPU, (1, 12), (0, -signal.SIGKILL, -signal.SIGXCPU)),
            (resource.RLIMIT_AS, (100 * 10**6, 2000 * 10**6), (0, 2)),
            (resource.RLIMIT_DATA, (100 * 10**6, 1000 * 10**6), (0, 2)),
        )
    )
    code, text = bench.run(output.name, ((what, chance.randrange(*amounts)),))
    assert code in ends, (code, text)
    assert "Traceback" not in text, text
    assert half_written(output) == []
    bench.completed(output.name)
    return Counter({"runs under a limit": 1})


def flips(bench: Bench, chance: random.Random) -> Counter[str]:
    """Flip bits of tables and of the store: what is read is what was written, or is refused."""
    counts: Counter[str] = Counter()
    folder = bench.fresh("flipped")
    shutil.copytree(bench.folder / "undisturbed", folder)
    table = read_table(folder / "energies.parquet", ANY)[0]
    keys = ResultStore(folder / "store").keys()
    records = dict(ResultStore(folder / "store").read(keys))
    paths = sorted(folder.rglob("*.parquet"))
    for _ in range(FLIPS_A_ROUND):
        path = chance.choice(paths)
        sound = path.read_bytes()
        damaged = bytearray(sound)
        place = chance.randrange(8 * len(damaged))
        damaged[place // 8] ^= 1 << place % 8
        path.write_bytes(damaged)
        if path.parent.name == "store":
            store = ResultStore(folder / "store")
            found = dict(store.read(keys | store.keys()))
            assert found.items() <= records.items(), (path, place)
            counts["bits of the store flipped: " + ("found" if len(found) < len(records) else "harmless")] += 1
        else:
            try:
                read = read_table(path, ANY)[0]
            except JouleloopError:
                counts["bits of a table flipped: found"] += 1
            else:
                pd.testing.assert_frame_equal(read, table)
                counts["bits of a table flipped: harmless"] += 1
        path.write_bytes(sound)
    return counts


def seals(bench: Bench, chance: random.Random) -> Counter[str]:
    """Damage the mark of a seal and more, or put a table in the place of another: it is refused, and nothing ends."""
    counts: Counter[str] = Counter()
    folder = bench.fresh("sealed")
    shutil.copytree(bench.folder / "undisturbed", folder)
    path = folder / "energies.parquet"
    sound = path.read_bytes()
    mark = sound.rindex(b"jouleloop-seal:")
    for _ in range(FLIPS_A_ROUND):
        damaged = bytearray(sound)
        damaged[mark + chance.randrange(len(b"jouleloop-seal:"))] ^= 1 << chance.randrange(8)
        for _ in range(chance.randrange(3)):
            damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        try:
            read_table(path, ANY)
        except JouleloopError:
            counts["seals without their mark: refused"] += 1
        else:
            raise AssertionError(path)
    path.write_bytes(sound)
    for layout in chance.sample([one for one in LAYOUTS if one.file != ENERGIES.file], 5):
        try:
            read_table(path, layout)
        except JouleloopError:
            counts["tables in the place of others: refused"] += 1
        else:
            raise AssertionError(layout.file)
    return counts


def flipped_runs(bench: Bench, chance: random.Random) -> Counter[str]:
    """Flip a bit of the store, and of every file of compiled kernels or swap these: a run has the same results."""
    output = bench.fresh("again")
    shutil.copytree(bench.folder / "undisturbed", output)
    kernels = bench.fresh("kernels")
    shutil.copytree(jit.folder(), kernels / jit.folder().name)
    files = [path for path in kernels.rglob("*") if path.is_file() and path.stat().st_size]
    assert files
    swapped = chance.random() < 0.5
    for path in (output / "store").glob("*.parquet"):
        path.write_bytes(flipped(path.read_bytes(), chance))
    if swapped:
        for ending in {path.suffix for path in files}:
            alike = [path for path in files if path.suffix == ending]
            contents = [path.read_bytes() for path in alike]
            for path, content in zip(alike, chance.sample(contents, len(contents)), strict=True):
                path.write_bytes(content)
    else:
        for path in files:
            path.write_bytes(flipped(path.read_bytes(), chance))
    code, text = bench.run(output.name, kernels=kernels)
    assert code == 0, (code, text)
    assert bench.tables(output.name) == bench.sound
    what = "files of kernels under each other's names" if swapped else "files of kernels with a flipped bit"
    return Counter({what: len(files), "runs with a damaged store and kernels": 1})


def outputs(bench: Bench, chance: random.Random) -> Counter[str]:
    """Damage some final files of a workflow, `summary.json` always: a run that had nothing to do makes them again."""
    folder = bench.workflow
    sound = final_files(folder / "results")
    summary = folder / "results/summary.json"
    paths = [summary, *chance.sample([path for path in sound if path != summary], 5)]
    for path in paths:
        others = [other for other in sound if other.suffix == path.suffix and sound[other] != sound[path]]
        kind = chance.choice(("flip", "cut", "empty", *(["swap"] if others else [])))
        if kind == "flip":
            path.write_bytes(flipped(sound[path], chance))
        elif kind == "swap":
            path.write_bytes(sound[chance.choice(others)])
        else:
            path.write_bytes(sound[path][: chance.randrange(len(sound[path])) if kind == "cut" else 0])
    text = snakemake(folder)
    unseen = [path for path in paths if f"{path.relative_to(folder)} is not what its job wrote" not in text]
    assert not unseen, (unseen, text)
    again = final_files(folder / "results")
    odd = sound.keys() ^ again.keys()
    assert not odd, sorted(odd)
    differ = [path for path in sound if again[path] != sound[path] and not varies(path)]
    assert not differ, differ
    assert "Nothing to be done" in snakemake(folder)
    return Counter({"final files of a workflow damaged: made again": len(paths)})


def snakemake(folder: Path) -> str:
    """Run the workflow in ``folder``; return what it says."""
    command = [sys.executable, "-m", "snakemake", "--cores", "2", "--directory", str(folder)]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ, capture_output=True, text=True, timeout=RUN_SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    return done.stderr


def final_files(results: Path) -> dict[Path, bytes]:
    """Return what jobs have made for users and for each other, by path."""
    aside = {"logs", "store", "damaged", "parts", "chunks", "study.json"}
    files = (path for path in sorted(results.rglob("*")) if path.is_file() and not path.name.startswith("."))
    return {path: path.read_bytes() for path in files if not aside & set(path.relative_to(results).parts)}


def varies(path: Path) -> bool:
    """Whether a file differs between equal runs: times and memory, and the notes of chunks."""
    return path.name in ("timings.csv", "summary.json", "report.html") or "map" in path.parts


def flipped(content: bytes, chance: random.Random) -> bytes:
    """Return ``content`` with one bit changed."""
    damaged = bytearray(content)
    damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
    return bytes(damaged)


def mutated(sound: bytes, chance: random.Random) -> bytes:
    """Return a sound file with a few random errors: bits, bytes, lines lost, doubled or swapped, pieces moved."""
    data = bytearray(sound)
    for _ in range(chance.choice((1, 1, 2, 4))):
        start = chance.randrange(len(data) + 1)
        piece = slice(start, start + chance.choice((1, 2, 8, 64)))
        kind = chance.randrange(5)
        if kind == 0 and data:
            data[start % len(data)] ^= 1 << chance.randrange(8)
        elif kind == 1:
            del data[piece]
        elif kind == 2:
            data[piece] = data[piece] * chance.choice((2, 50))
        elif kind == 3:
            data[piece] = chance.choice(PIECES)
        else:
            lines = bytes(data).split(b"\n")
            chance.shuffle(lines) if len(lines) < 4 else lines.insert(0, lines.pop(chance.randrange(len(lines))))
            data = bytearray(b"\n".join(lines))
    return bytes(data)


def inputs(bench: Bench, chance: random.Random) -> Counter[str]:
    """Give every reader files with random errors: faults or a result, soon."""
    counts: Counter[str] = Counter()
    folder = bench.fresh("inputs")
    folder.mkdir()
    named = [(name, loader) for name, loader in loaders.LOADERS.items() if loader.sound is not None]
    for _ in range(INPUTS_A_ROUND):
        name, loader = chance.choice(named)
        path = folder / f"x{loader.ending}"
        path.write_bytes(mutated(loader.sound.read_bytes(), chance))
        started = time.process_time()
        try:
            with contextlib.redirect_stderr(io.StringIO()):  # warnings of damaged files are long
                loader.read(path)
            counts["mutated inputs read" + (", and mapped" if name.endswith("mapped") else "")] += 1
        except JouleloopError:
            counts["mutated inputs refused"] += 1
        except BaseException as error:
            error.add_note(f"reader {name!r}: {path.read_bytes()[:4000]!r}")
            raise
        assert time.process_time() - started < READ_SECONDS, name
    return counts


KINDS: dict[str, Callable[[Bench, random.Random], Counter[str]]] = {
    "inputs": inputs,
    "flips": flips,
    "seals": seals,
    "kills": kills,
    "flipped-runs": flipped_runs,
    "outputs": outputs,
    "full-disk": full_disk,
    "limits": limits,
}
