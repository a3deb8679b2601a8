"""How many calls lie between a question and its answer (docs/architecture.md, "Two ways, call by call")."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import jouleloop.model.evaluate
import jouleloop.stats.growth
from jouleloop.cli.app import app
from jouleloop.stats.analysis import SweepDescription, analyse_table
from paths import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").split("## Two ways")[1].split("\n## ")[0]


def frames(frame: FrameType | None) -> Iterator[str]:
    """Yield the functions of this package on the stack, the innermost first, without what Typer needs."""
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module.startswith("jouleloop.") and not module.startswith(("jouleloop.terminal", "jouleloop.cli.app")):
            yield f"{module.removeprefix('jouleloop.')}.{frame.f_code.co_qualname}"
        frame = frame.f_back


def follow(monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str) -> list[list[str]]:
    """Return a list that is filled with the way to every call of a function, the outermost first."""
    ways: list[list[str]] = []
    function = getattr(module, name)

    def spy(*arguments: Any, **options: Any) -> Any:
        ways.append([*reversed(list(frames(sys._getframe(1)))), f"{module.__name__.removeprefix('jouleloop.')}.{name}"])
        return function(*arguments, **options)

    monkeypatch.setattr(module, name, spy)
    return ways


def stated(way: list[str]) -> None:
    """Check that the page names every call of a way, in its order."""
    places = [PAGE.find(f"`{name.removeprefix('engines.native.')}`") for name in way]
    assert -1 not in places
    assert places == sorted(places)


def test_from_a_command_to_the_kernel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    command = ["map", "--arch", "eyeriss", "--layer", "fc:8x4"]
    assert CliRunner().invoke(app, command).exit_code == 0  # what calls the kernel is compiled with the kernel itself
    ways = follow(monkeypatch, jouleloop.model.evaluate, "count_nest")
    answer = CliRunner().invoke(app, command)
    assert answer.exit_code == 0, answer.output
    longest = max(ways, key=len)
    assert len(longest) - 1 <= 6, longest
    stated(longest)


def test_from_a_verdict_to_its_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    ways = follow(monkeypatch, jouleloop.stats.growth, "_decide")
    sizes = np.arange(1.0, 21.0)
    same = {"architecture": "a", "sweep": "s", "status": "ok", "reason": "", "engine": "native", "energy_table": "t"}
    table = pd.DataFrame({"C": sizes, "layer": [f"fc_{n:g}" for n in sizes], "data_pj": 3 * sizes + 1} | same)
    table["total_pj"] = table["data_pj"]
    analyse_table(table, [SweepDescription("s", "C", "linear")])
    first = ways[0]  # later ones decide on the lower envelope
    assert len(first) - 1 <= 3, first
    stated(first)
