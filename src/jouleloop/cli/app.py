"""The root command and the one place where errors become messages and exit codes."""

import atexit
import contextlib
import importlib
import logging
import os
import signal
import sys
from dataclasses import replace
from typing import Annotated, Any

import typer
from rich.markup import escape
from typer.core import TyperGroup
from typer.main import get_command, get_group

import jouleloop
from jouleloop import memory, signals
from jouleloop.errors import Fault, JouleloopError
from jouleloop.terminal.console import print_note, stderr

# Newer versions of typer bring a click of their own, older ones use the package; both give their mistakes this base.
_MISTAKES: tuple[type[BaseException], ...] = tuple(
    base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException"
)

#: Where each command is, as ``module:function`` below `jouleloop`; a function that returns a group makes all of it.
COMMANDS = {
    "map": "cli.mapping:map_layer",
    "evaluate": "cli.mapping:evaluate_mapping",
    "verify": "cli.verify:verify",
    "check": "cli.check:check",
    "curve": "cli.curve:curve",
    "compare": "cli.compare:compare",
    "sweep": "cli.sweep:sweep",
    "network": "cli.network:network",
    "front": "cli.front:front",
    "chain": "cli.chain:chain",
    "explore": "cli.explore:explore_space",
    "import": "cli.import_onnx:import_onnx",
    "figures": "cli.figures:figures",
    "report": "cli.report:report",
    "init": "cli.init:init",
    "config": "cli.config:config",
    "doctor": "cli.doctor:doctor",
    "bounds": "theory.commands:bounds",
    "dataflow": "theory.commands:dataflow",
}
_GROUPS = ("bounds", "dataflow")


#: Options by the parameters of `jouleloop.api` that they stand for.
_OPTION_OF = {"architecture": "--arch", "layers": "LAYERS"} | {
    name: f"--{name.replace('_', '-')}"
    for name in (
        *("axes", "budget", "components", "constraints", "energy", "engine", "factors", "ignore", "layer", "mapping"),
        *("least_words", "level", "most_words", "network", "objective", "on", "only", "seconds", "semantics", "space"),
        "within",
    )
}


class _Interrupted(BaseException):
    """A command that was interrupted; typer makes an exit code of the exception itself, and drops what it says."""


class _Commands(TyperGroup):
    """The commands, each imported when it is called or described: most need what the others do not."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise _Interrupted(str(error)) from error

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 - click's signature
        """Return a command, None where there is none of this name."""
        if cmd_name not in self.commands and cmd_name in COMMANDS:
            module, _, name = COMMANDS[cmd_name].partition(":")
            function = getattr(importlib.import_module(f"jouleloop.{module}"), name)
            if cmd_name in _GROUPS:
                self.add_command(get_group(function()), cmd_name)
                self.commands[cmd_name].name = cmd_name
            else:
                single = typer.Typer(add_completion=False)
                single.command(cmd_name)(function)
                self.add_command(get_command(single), cmd_name)
        return self.commands.get(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that is called; a name that is none is compared with those that are."""
        if args and args[0] not in COMMANDS:
            for name in COMMANDS:
                self.get_command(ctx, name)
        return super().resolve_command(ctx, args)


app = typer.Typer(
    name="jouleloop",
    cls=_Commands,
    help="How the energy of a neural-network layer grows with its size.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=True,
)


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
    said: dict[str, logging.LogRecord] = {}  # files are read several times, designs by the hundred: each warning once
    if logging.lastResort is not None:
        logging.lastResort.addFilter(lambda record: said.setdefault(record.getMessage(), record) is record)
    try:
        code = _run()
    except Exception as error:
        if not isinstance(error, _MISTAKES):
            raise
        error.show()  # type: ignore[attr-defined]
        code = getattr(error, "exit_code", 2)
    # All is written: a signal must not make a traceback of Python's own end.
    for number in (signal.SIGINT, signal.SIGTERM):
        atexit.register(signal.signal, number, signal.SIG_IGN)
    sys.exit(code)


def _run() -> int:
    """Return the exit code of the command; what is no mistake of the user is a message here."""
    try:
        memory.prepare()
        code = app(standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except JouleloopError as error:
        for fault in _in_options(error):
            stderr.print(f"[bold red]error:[/] {escape(str(fault))}", soft_wrap=True, highlight=False)
        return error.exit_code
    except BrokenPipeError:
        _write_nowhere()
        return 128 + signal.SIGPIPE
    except (_Interrupted, typer.Abort, KeyboardInterrupt) as error:
        return _interrupted(str(error))
    except SystemError as error:
        # What a signal makes of a kernel that returns just then.
        if not isinstance(signals.struck(error), KeyboardInterrupt):
            raise
        return _interrupted()
    except Exception as error:
        if memory.is_lack(error):
            said = memory.lack()
        elif isinstance(error, OSError):
            said = ": ".join(str(part) for part in (error.filename, error.strerror or error) if part)
        else:
            raise
        with contextlib.suppress(OSError):
            stderr.print(f"[bold red]error:[/] {escape(said)}", soft_wrap=True, highlight=False)
        _write_nowhere()
        return JouleloopError.exit_code
    return code if isinstance(code, int) else 0


def _in_options(error: JouleloopError) -> tuple[Fault, ...]:
    """Return the faults of parameters as those of the options that stand for them; a file's are its own."""
    once = (
        replace(fault, field=None) if fault.source in _OPTION_OF and fault.field == fault.source else fault
        for fault in error.faults
    )
    return JouleloopError(once).renamed(_OPTION_OF).faults


def _interrupted(how_far: str = "") -> int:
    with contextlib.suppress(OSError):
        print_note(how_far or "interrupted")
    return signals.exit_code()


def _write_nowhere() -> None:
    """Let what is still to be written fail no more: nobody reads it, or there is no room for it."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            os.dup2(nowhere, stream.fileno())
