"""The commands as a page: every argument and option with its meaning, read from what ``--help`` reads."""

from collections import Counter
from typing import Any

from typer.main import get_command

from jouleloop.cli.app import COMMANDS, app


def commands_page() -> str:
    """Return the reference of the command line as Markdown; options that several commands have stand once."""
    root: Any = get_command(app)
    uses = Counter(row for name in COMMANDS for command in _leaves(root, name) for row in _options(command))
    # A name means one thing in the first table: what most commands mean by it.
    shared = sorted({row[0]: row for row, count in reversed(uses.most_common()) if count > 1}.values())
    parts = ["## Shared options\n\nEach command below names those that it takes.\n", _list(shared)]
    for name in COMMANDS:
        command = root.get_command(None, name)
        inner = getattr(command, "commands", None)
        if inner is None:
            parts.append(_section(f"jouleloop {name}", command, set(shared)))
        else:
            parts.append(f"## jouleloop {name}\n\n{command.help}\n")
            parts += [_section(f"jouleloop {name} {sub}", inner[sub], set(shared), "###") for sub in sorted(inner)]
    return "\n".join(parts)


def _leaves(root: Any, name: str) -> list[Any]:
    command = root.get_command(None, name)
    return list(getattr(command, "commands", {name: command}).values())


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


def _section(name: str, command: Any, shared: set[tuple[str, str]], mark: str = "##") -> str:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    usage = " ".join([name, *(_shown(p) for p in arguments)])
    options = _options(command)
    rows = [(f"`{_shown(p)}`", p.help or "") for p in arguments] + [row for row in options if row not in shared]
    known = ", ".join(names for names, text in options if (names, text) in shared)
    head = f"{mark} {name}\n\n{command.help}\n\n`{usage}`\n"
    return head + (f"\nShared: {known}.\n" if known else "") + (f"\n{_list(rows)}" if rows else "")


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
    return text.replace("|", "/").replace("\\[", "[").replace("\n", " ").replace("<", "&lt;")
