"""Every command tells what it takes: its help is markup that the terminal can show."""

import pytest
from typer.testing import CliRunner

from jouleloop.cli.app import COMMANDS, app


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_help_can_be_shown(command: str) -> None:
    shown = CliRunner().invoke(app, [command, "--help"])
    assert shown.exit_code == 0, shown.exception
    assert "Usage" in shown.stdout
    assert " ;" not in shown.stdout  # where brackets were taken for markup and left out
