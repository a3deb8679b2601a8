"""Record commands on a terminal of 80 columns: an animated SVG for the site, and an asciicast for players.

    python benchmarks/record_terminal.py docs/images/terminal.svg docs/data/terminal.cast

Each command runs in a pseudo-terminal of its own; what it writes, and when, becomes frames. Waiting is cut short.
Nothing is fetched, and the picture refers to nothing outside itself.
"""

import json
import os
import pty
import re
import select
import struct
import sys
import tempfile
import termios
import time
from fcntl import ioctl
from html import escape
from pathlib import Path

COLUMNS, ROWS = 80, 30
COMMANDS = (
    "jouleloop map --arch eyeriss --layer fc:1024x128 --certificate proof.json",
    "jouleloop check proof.json",
    "jouleloop sweep fc_inputs --arch simba --output mine",
    "jouleloop network alexnet --arch eyeriss --output mine-network",
)
#: Longest wait between two frames that is shown, the shortest time of a frame, and the pause after a command [s].
LONGEST, SHORTEST, PAUSE = 0.6, 0.12, 2.5
_SEQUENCE = re.compile(r"\x1b\[([?\d;]*)([A-Za-z])|\x1b\][^\x07]*\x07|\x1b.")
_COLOURS = ("#7f8c98", "#ff6b6b", "#6bd968", "#e6c84f", "#6cb6ff", "#d58cff", "#5fd7d7", "#e6e6e6")

Cell = tuple[str, str]


class Screen:
    """As much of a terminal as these commands need: text in styles, carriage return, erasing, and moving up."""

    def __init__(self) -> None:
        self.lines: list[list[Cell]] = [[]]
        self.row = self.column = 0
        self.style: tuple[str, ...] = ()

    def write(self, text: str) -> None:
        """Put what a program wrote onto the screen."""
        at = 0
        for found in _SEQUENCE.finditer(text):
            self._plain(text[at : found.start()])
            at = found.end()
            self._control(found[1] or "", found[2] or "")
        self._plain(text[at:])

    def _plain(self, text: str) -> None:
        for character in text:
            if character == "\n":
                self.row += 1
                if self.row == len(self.lines):
                    self.lines.append([])
            elif character == "\r":
                self.column = 0
            elif character >= " ":
                if self.column == COLUMNS:  # what is too long goes on in the next line, as on a terminal
                    self._plain("\n\r")
                line = self.lines[self.row]
                line += [(" ", "")] * (self.column + 1 - len(line))
                line[self.column] = (character, " ".join(self.style))
                self.column += 1

    def _control(self, given: str, code: str) -> None:
        if code == "A":
            self.row = max(0, self.row - int(given or 1))
        elif code == "K":
            del self.lines[self.row][0 if given == "2" else self.column :]
        elif code == "m":
            for part in (given or "0").split(";"):
                number = int(part or 0)
                kept = () if number == 0 else self.style
                new = {1: "b", 2: "d"}.get(number, f"c{number % 10}" if 30 <= number % 60 <= 37 else "")
                self.style = (*kept, new) if new and new not in kept else kept

    def shown(self) -> tuple[tuple[Cell, ...], ...]:
        """Return the last lines, as many as there are rows."""
        return tuple(tuple(line) for line in self.lines[-ROWS:])


def run(command: str, folder: Path) -> list[tuple[float, str]]:
    """Run a command in a pseudo-terminal; return what it wrote, and when [s]."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.environ |= {"TERM": "xterm-256color", "COLUMNS": str(COLUMNS), "LINES": str(ROWS)}
        os.execvp("sh", ["sh", "-c", command])
    ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    started, events, rest = time.monotonic(), [], b""
    while True:
        select.select([terminal], [], [])
        try:
            data = os.read(terminal, 1 << 16)
        except OSError:  # how Linux says that the program has gone
            break
        if not data:
            break
        rest += data
        text = rest.decode(errors="ignore")
        rest = rest[len(text.encode()) :]
        events.append((time.monotonic() - started, text))
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code:
        raise SystemExit(f"{command}: exit code {code}")
    return events


def record() -> list[tuple[float, str]]:
    """Return all that is written, with the time at which it is shown [s]."""
    events: list[tuple[float, str]] = []
    now = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for command in COMMANDS:
            events.append((now, f"\x1b[1m\x1b[32m$\x1b[0m \x1b[1m{command}\x1b[0m\r\n"))
            now, before = now + 0.8, 0.0
            for at, text in run(command, Path(folder)):
                now, before = now + min(LONGEST, at - before), at
                events.append((now, text))
            now += PAUSE
    return events


def frames(events: list[tuple[float, str]]) -> list[tuple[float, tuple[tuple[Cell, ...], ...]]]:
    """Return the screen whenever it has changed, with the time from which on it is shown [s]."""
    screen, found = Screen(), []
    for index, (at, text) in enumerate(events):
        screen.write(text)
        later = events[index + 1][0] if index + 1 < len(events) else at + 1
        if later - at >= SHORTEST and (not found or found[-1][1] != screen.shown()):
            found.append((at, screen.shown()))
    return found


def picture(shown: list[tuple[float, tuple[tuple[Cell, ...], ...]]]) -> str:
    """Return an SVG that shows one frame after the other, again and again; a line that several share stands once."""
    end = shown[-1][0] + PAUSE
    placed: dict[tuple[int, tuple[Cell, ...]], list[tuple[float, float]]] = {}
    for index, (at, lines) in enumerate(shown):
        until = shown[index + 1][0] if index + 1 < len(shown) else end
        for row, line in enumerate(lines):
            spans = placed.setdefault((row, line), [])
            if spans and spans[-1][1] == at:
                spans[-1] = (spans[-1][0], until)
            else:
                spans.append((at, until))
    body = "\n".join(_line(row, line, spans, end) for (row, line), spans in placed.items() if line)
    colours = "".join(f".c{i}{{fill:{colour}}}" for i, colour in enumerate(_COLOURS))
    width, height = 8.43 * COLUMNS + 24, 18 * ROWS + 24
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" role="img" '
        'aria-label="A recording of four commands on a terminal of 80 columns">\n'
        "<style>text{font:14px 'DejaVu Sans Mono',Menlo,Consolas,monospace;fill:#d8dee6;white-space:pre}"
        f".b{{font-weight:bold}}.d{{opacity:.6}}{colours}</style>\n"
        f'<rect width="100%" height="100%" rx="8" fill="#15181d"/>\n{body}\n</svg>\n'
    )


def _line(row: int, line: tuple[Cell, ...], spans: list[tuple[float, float]], end: float) -> str:
    parts, start = [], 0
    for column in range(1, len(line) + 1):
        if column == len(line) or line[column][1] != line[start][1]:
            text, style = escape("".join(cell[0] for cell in line[start:column])), line[start][1]
            parts.append(f'<tspan class="{style}">{text}</tspan>' if style else text)
            start = column
    times = sorted({0.0, *(edge for span in spans for edge in span if edge < end)})
    values = ["visible" if any(a <= time < b for a, b in spans) else "hidden" for time in times]
    animated = ""
    if "hidden" in values:
        keys = ";".join(f"{time / end:.4f}".rstrip("0").rstrip(".") or "0" for time in times)
        animated = (
            f'<animate attributeName="visibility" calcMode="discrete" values="{";".join(values)}" keyTimes="{keys}" '
            f'dur="{end:.1f}s" repeatCount="indefinite"/>'
        )
    fitted = f'textLength="{8.43 * len(line):.1f}" lengthAdjust="spacingAndGlyphs"'
    return f'<text x="12" y="{26 + 18 * row}" {fitted} xml:space="preserve">{"".join(parts)}{animated}</text>'


def main() -> None:
    """Write both files."""
    svg, cast = map(Path, sys.argv[1:3])
    events = record()
    svg.write_text(picture(frames(events)), encoding="utf-8")
    header = {"version": 2, "width": COLUMNS, "height": ROWS, "title": "jouleloop"}
    lines = [json.dumps(header), *(json.dumps([round(at, 3), "o", text], ensure_ascii=False) for at, text in events)]
    cast.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
