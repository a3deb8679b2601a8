"""The console of a run: what Snakemake says in its own words, with long lists of files cut to a few names.

Snakemake finds the package by its name; `profiles/default` chooses it. It builds on the plugin interface alone:
Snakemake's own filter and format stay, and the log in ``.snakemake/log`` keeps every name.
"""

import copy
import logging
import sys

from snakemake_interface_logger_plugins.base import LogHandlerBase

#: Names of a list that are shown.
SHOWN = 3
_LISTS = ("input", "output")


def shortened(names: list[str]) -> list[str]:
    """Return the first names of a long list, and how many more there are."""
    if len(names) <= SHOWN + 1:
        return names
    return [*names[:SHOWN], f"and {len(names) - SHOWN} more"]


def short_reason(reason: str) -> str:
    """Return why a job runs with its lists of files cut; Snakemake joins reasons by semicolons, files by commas."""
    parts = []
    for part in reason.split("; "):
        head, colon, files = part.partition(": ")
        parts.append(f"{head}{colon}{', '.join(shortened(files.split(', ')))}")
    return "; ".join(parts)


class LogHandler(LogHandlerBase):
    """Writes to the console."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record, shortened."""
        shown = copy.copy(record)
        if reason := getattr(record, "reason", None):
            shown.reason = short_reason(str(reason))
        for name in _LISTS:
            if files := getattr(record, name, None):
                setattr(shown, name, shortened([str(file) for file in files]))
        text = self.format(shown)
        if text and text != "None":
            stream = sys.stdout if self.common_settings.stdout else sys.stderr
            stream.write(f"{text}\n")
            stream.flush()

    @property
    def writes_to_stream(self) -> bool:
        """Whether it takes the place of Snakemake's own console."""
        return True

    @property
    def writes_to_file(self) -> bool:
        """Whether it writes a file."""
        return False

    @property
    def has_filter(self) -> bool:
        """Whether it has a filter; without, Snakemake's own holds, with ``--quiet`` and the like."""
        return False

    @property
    def has_formatter(self) -> bool:
        """Whether it has a format; without, Snakemake's own holds."""
        return False

    @property
    def needs_rulegraph(self) -> bool:
        """Whether it shows the graph of rules."""
        return False
