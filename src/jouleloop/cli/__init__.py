"""The command line ``jouleloop``: argument parsing, progress and exit codes, nothing else."""

from jouleloop.cli.app import main

__all__ = ["main"]
