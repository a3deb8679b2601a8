"""``jouleloop dataflow …``: one module a subcommand."""

import importlib
import pkgutil

import typer

app = typer.Typer(
    help="Run a dataflow of the papers step by step, count every word moved, and draw it.",
    no_args_is_help=True,
)


@app.callback()
def _group() -> None:
    """Run a dataflow of the papers step by step, count every word moved, and draw it."""


# A subcommand is a module of this folder that registers itself on `app`.
for _module in sorted(pkgutil.iter_modules(__path__), key=lambda found: found.name):
    importlib.import_module(f"{__name__}.{_module.name}")
