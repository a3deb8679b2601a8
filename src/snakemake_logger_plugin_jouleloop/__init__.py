"""The console of a run: what Snakemake says in its own words, without long lists of files and without tracebacks.

Snakemake finds the package by its name; `profiles/default` chooses it. It builds on the plugin interface alone:
Snakemake's own filter and format stay. The log in ``.snakemake/log`` keeps every name, and ``--verbose`` every frame.
"""

import copy
import logging
import sys
from pathlib import Path

from snakemake_interface_logger_plugins.base import LogHandlerBase

#: Names of a list that are shown.
SHOWN = 3
_LISTS = ("input", "output")
#: The library: a traceback through it is a fault of the project, and says where.
_LIBRARY = str(Path(__file__).parents[1] / "jouleloop")
#: What a file of the user's raises, however Snakemake reads it.
_OF_FILES = ("OSError", "FileNotFoundError", "IsADirectoryError", "PermissionError", "UnicodeDecodeError")
#: Snakemake's function that reads the files of ``--configfile``.
_READS_CONFIG = ", in load_configfile"


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


def short_error(text: str) -> str:
    """Return an error without frames: faults of the configuration alone, or what Snakemake itself could not do."""
    lines = text.rstrip().splitlines()
    inside = [number for number, line in enumerate(lines) if line.startswith("  ")]
    if not inside or _LIBRARY in text:
        return text
    if lines[0].startswith("Traceback "):
        what = "--configfile: " if _READS_CONFIG in text else ""
        said = " ".join(line for line in lines[inside[-1] + 1 :] if line)
        return f"error: {what}{said} (snakemake --verbose shows where)" if said else text
    said = "\n".join(line for line in lines[1:] if not line.startswith('  File "'))
    if said.startswith("error: "):
        return said
    return f"error: {lines[0]} {said}" if lines[0].startswith(_OF_FILES) else text


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
        if record.levelno == logging.ERROR and not self.common_settings.verbose:
            text = short_error(text)
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
