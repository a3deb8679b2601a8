"""The root command and the one place where errors become messages and exit codes."""

import os
import sys
from typing import Annotated

import typer
from rich.markup import escape

import jouleloop
from jouleloop.cli import (
    check,
    compare,
    config,
    doctor,
    figures,
    import_onnx,
    init,
    mapping,
    report,
    sweep,
    verify,
)
from jouleloop.errors import JouleloopError
from jouleloop.terminal.console import stderr
from jouleloop.theory.commands import theory_commands

# Newer versions of typer bring a click of their own, older ones use the package; both give their mistakes this base.
_MISTAKES: tuple[type[BaseException], ...] = tuple(
    base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException"
)

app = typer.Typer(
    name="jouleloop",
    help="How the energy of a neural-network layer grows with its size.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=True,
)
for _name, _group in theory_commands().items():
    app.add_typer(_group, name=_name)
app.command("map")(mapping.map_layer)
app.command("evaluate")(mapping.evaluate_mapping)
app.command("verify")(verify.verify)
app.command("check")(check.check)
app.command("compare")(compare.compare)
app.command("sweep")(sweep.sweep)
app.command("import")(import_onnx.import_onnx)
app.command("figures")(figures.figures)
app.command("report")(report.report)
app.command("init")(init.init)
app.command("config")(config.config)
app.command("doctor")(doctor.doctor)


@app.callback(invoke_without_command=True)
def root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.", is_eager=True)] = False,
) -> None:
    """How the energy of a neural-network layer grows with its size."""
    if version:
        typer.echo(f"jouleloop {jouleloop.__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command line; a user's mistake is a message and an exit code, never a traceback."""
    try:
        code = app(standalone_mode=False)
    except JouleloopError as error:
        for fault in error.faults:
            stderr.print(f"[bold red]error:[/] {escape(str(fault))}", soft_wrap=True, highlight=False)
        sys.exit(error.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        stderr.print("interrupted")
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except Exception as error:
        if not isinstance(error, _MISTAKES):
            raise
        error.show()  # type: ignore[attr-defined]
        sys.exit(getattr(error, "exit_code", 2))
    sys.exit(code if isinstance(code, int) else 0)
