"""The command line in this process, where modules and kernels are loaded once."""

import contextlib
import io
import sys
from pathlib import Path
from unittest.mock import patch

import pytest

from jouleloop.cli import main
from paths import ROOT


def run(*arguments: str, folder: Path = ROOT) -> tuple[int, str, str]:
    """Return exit code, output and messages of a command in a folder."""
    out, error = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(error),
        patch.object(sys, "argv", ["jouleloop", *arguments]),
        pytest.raises(SystemExit) as ended,
    ):
        main()
    told = [stream.buffer.getvalue().decode() for stream in (out, error)]  # type: ignore[attr-defined]
    return int(ended.value.code or 0), told[0], told[1]
