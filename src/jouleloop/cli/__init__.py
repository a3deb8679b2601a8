"""The command line ``jouleloop``: argument parsing, progress and exit codes, nothing else."""

from jouleloop import signals


def main() -> None:
    """Run the command line; a signal ends it without a traceback from here on."""
    with signals.ended_by_signals():
        from jouleloop.cli.app import main as run  # noqa: PLC0415 - what it imports may be interrupted by now

        run()


__all__ = ["main"]
