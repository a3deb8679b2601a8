"""Fuzz every reader with atheris, which looks for new paths through the code, for a bounded time.

    python tests/fuzz/fuzz_loaders.py SECONDS FOLDER [READER ...]

FOLDER must be empty; it gets the corpus, the file that is read and the input of a crash, nothing else. The exit code is
not 0 where a reader raises anything but a fault, or takes more than two seconds of processor time.
"""

import shutil
import sys
import time
from pathlib import Path

import atheris

from jouleloop.errors import JouleloopError
from jouleloop.jit import kernel_modules
from jouleloop.sources import PACKAGE

# Code that numba compiles cannot be instrumented; the readers are elsewhere.
_ROOMS = ("files", "validation", "workload", "arch", "energy", "mapping", "mapspace", "config", "bounds.hbl_parse")
_KERNELS = [".".join(("jouleloop", *path.relative_to(PACKAGE).with_suffix("").parts)) for path in kernel_modules()]
with atheris.instrument_imports(include=[f"jouleloop.{name}" for name in _ROOMS], exclude=_KERNELS):
    import loaders

#: Of processor time: many times what the slowest of files takes, so that no machine is too slow.
SECONDS_A_FILE = 20.0
#: libFuzzer's own guard against hangs goes by the wall clock, which says little on a busy machine.
_HANG_SECONDS = 300


class TooSlowError(Exception):
    """A reader took too long."""


def main() -> None:
    """Fuzz until the time is over."""
    seconds, folder = float(sys.argv[1]), Path(sys.argv[2]).resolve()
    names = sys.argv[3:] or list(loaders.LOADERS)
    corpus, work = folder / "corpus", folder / "work"
    for path in (corpus, work):
        path.mkdir(parents=True)
    for index, name in enumerate(names):
        sound = loaders.LOADERS[name].sound
        data = b"a: 1\n" if sound is None else sound.read_bytes()[:20_000]
        (corpus / f"{index}").write_bytes(bytes([index]) + data)

    def read(data: bytes) -> None:
        if not data:
            return
        name = names[data[0] % len(names)]
        loader = loaders.LOADERS[name]
        path = work / f"x{loader.ending}"
        path.write_bytes(data[1:])
        started = time.process_time()
        try:
            loader.read(path)
        except JouleloopError as error:
            if not all(fault.message for fault in error.faults):
                raise
        taken = time.process_time() - started
        # What is read for the first time is also imported and compiled.
        if taken > SECONDS_A_FILE and name in seen:
            raise TooSlowError(f"{name}: {taken:.1f} s")
        seen.add(name)

    seen: set[str] = set()
    for name in names:
        sound = loaders.LOADERS[name].sound
        if sound is not None:
            shutil.copy(sound, work / f"x{loaders.LOADERS[name].ending}")
            loaders.LOADERS[name].read(sound)
    atheris.Setup(
        [
            sys.argv[0],
            str(corpus),
            f"-max_total_time={seconds:.0f}",
            f"-timeout={_HANG_SECONDS}",
            "-rss_limit_mb=3000",
            "-max_len=20000",
            f"-artifact_prefix={folder}/crash-",
            "-print_final_stats=1",
        ],
        read,
    )
    atheris.Fuzz()


if __name__ == "__main__":
    main()
