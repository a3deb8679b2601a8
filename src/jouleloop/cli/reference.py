"""The commands as a page: arguments and options with their meaning, read from what ``--help`` reads."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from typer.main import get_command

from jouleloop.cli.app import COMMANDS, app


def commands_page() -> str:
    """Return the reference of the command line as Markdown.

    Options that several commands have stand once. Subcommands are named; their options are left to ``--help``.
    """
    root: Any = get_command(app)
    commands = {name: root.get_command(None, name) for name in COMMANDS}
    alone = {name: command for name, command in commands.items() if not hasattr(command, "commands")}
    uses = Counter(row for command in alone.values() for row in _options(command))
    # A name means one thing in the first table: what most commands mean by it.
    shared = sorted({row[0]: row for row, count in reversed(uses.most_common()) if count > 1}.values())
    named: dict[str, tuple[str, ...]] = {}
    parts = ["## Shared options\n\nEach command below names those that it takes.\n", _list(shared)]
    for name, command in commands.items():
        if name in alone:
            parts.append(_section(f"jouleloop {name}", command, set(shared), named))
        else:
            inner = [(f"`{sub}`", command.commands[sub].help) for sub in sorted(command.commands)]
            told = f"`jouleloop {name} SUBCOMMAND --help` lists the options."
            parts.append(f"## jouleloop {name}\n\n{command.help} {told}\n\n{_list(inner)}")
    return "\n".join(parts)


def shortest_list(names: tuple[str, ...], before: Mapping[str, tuple[str, ...]]) -> str:
    """Return names as a list, or as those of a list that stands ``before`` with what differs, whichever is shorter."""
    lists = [(len(names), ", ".join(names))]
    for title, known in before.items():
        more = ", ".join(name for name in names if name not in known)
        less = ", ".join(name for name in known if name not in names)
        text = f"those of {title}{f' without {less}' if less else ''}{f' and {more}' if more else ''}"
        lists.append((len(set(names) - set(known)) + 2 * len(set(known) - set(names)) + 1, text))
    return min(lists, key=lambda entry: entry[0])[1]


def _options(command: Any) -> list[tuple[str, str]]:
    """Return the names and the meaning of every option of a command."""
    return [
        (
            ", ".join(f"`{text}`" for text in (*option.opts, *option.secondary_opts)),
            (option.help or "") + _default(option),
        )
        for option in command.params
        if option.param_type_name == "option" and not option.hidden and option.name != "help"
    ]


def _section(name: str, command: Any, shared: set[tuple[str, str]], named: dict[str, tuple[str, ...]]) -> str:
    """Return the section of a command; note in ``named`` which shared options it has."""
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    usage = " ".join([name, *(_shown(p) for p in arguments)])
    options = _options(command)
    rows = [(f"`{_shown(p)}`", p.help or "") for p in arguments] + [row for row in options if row not in shared]
    known = tuple(names for names, text in options if (names, text) in shared)
    head = f"## {name}\n\n{command.help}\n" + (f"\n`{usage}`\n" if arguments else "")
    if known:
        head += f"\nShared: {shortest_list(known, named)}.\n"
        named[f"`{name}`"] = known
    return head + (f"\n{_list(rows)}" if rows else "")


def _list(rows: list[tuple[str, str]]) -> str:
    return "".join(f"- {names}: {_cell(text)}\n" for names, text in rows)


def _shown(argument: Any) -> str:
    name = (argument.metavar or argument.name.upper()).strip("[]")
    return name if argument.required else f"[{name}]"


def _default(option: Any) -> str:
    if option.required:
        return " Required."
    value = option.default
    if value in (None, "", [], (), False, True) or callable(value):
        return ""
    return f" Default: `{getattr(value, 'value', value)}`."


def _cell(text: str) -> str:
    return text.replace("\\[", "[").replace("\n", " ").replace("<", "&lt;")
