"""Options that commands share: the command shows and takes them all, and gets what the reader makes of them."""

from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from jouleloop.terminal.splice import spliced


def sides_of(
    width: Annotated[int, typer.Option(help="Width [words].")],
    height: Annotated[int | None, typer.Option(help="Height [words]; as wide if not.")] = None,
) -> tuple[int, int]:
    return width, height or width


@spliced(sides=sides_of)
def area(
    depth: Annotated[int, typer.Argument(help="Depth [words].")] = 1,
    *,
    sides: tuple[int, int],
    unit: Annotated[str, typer.Option(help="Unit.")] = "words",
) -> None:
    """Print a volume."""
    typer.echo(f"{depth * sides[0] * sides[1]} {unit}")


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [("--width 3", "9 words"), ("--width 3 --height 5 --unit bits", "15 bits"), ("2 --width 3", "18 words")],
)
def test_the_command_gets_what_is_made_of_the_options(arguments: str, printed: str) -> None:
    app = typer.Typer()
    app.command()(area)
    result = CliRunner().invoke(app, arguments.split())
    assert result.exit_code == 0, result.output
    assert result.output.strip() == printed


def test_an_option_that_must_be_given_and_the_order_of_the_help() -> None:
    app = typer.Typer()
    app.command()(area)
    assert CliRunner().invoke(app, []).exit_code == 2
    text = CliRunner().invoke(app, ["--help"]).output
    assert "Print a volume." in text
    assert text.index("--width") < text.index("--height") < text.index("--unit")
    assert "--sides" not in text


def test_two_options_of_one_name_are_a_mistake() -> None:
    def command(sides: tuple[int, int], others: tuple[int, int]) -> None:
        typer.echo(f"{sides} {others}")

    with pytest.raises(ValueError, match="duplicate parameter name"):
        spliced(sides=sides_of, others=sides_of)(command)
