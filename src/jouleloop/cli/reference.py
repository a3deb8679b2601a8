"""The commands as a page: every argument and option with its meaning, read from what ``--help`` reads."""

from typing import Any

from typer.main import get_command

from jouleloop.cli.app import COMMANDS, app


def commands_page() -> str:
    """Return the reference of the command line as Markdown."""
    root: Any = get_command(app)
    parts = []
    for name in COMMANDS:
        command = root.get_command(None, name)
        inner = getattr(command, "commands", None)
        if inner is None:
            parts.append(_section(f"jouleloop {name}", command))
        else:
            parts.append(f"## jouleloop {name}\n\n{command.help}\n")
            parts += [_section(f"jouleloop {name} {sub}", inner[sub], "###") for sub in sorted(inner)]
    return "\n".join(parts)


def _section(name: str, command: Any, mark: str = "##") -> str:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    usage = " ".join([name, *(_shown(p) for p in arguments)])
    rows = [(f"`{_shown(p)}`", p.help or "") for p in arguments]
    for option in command.params:
        if option.param_type_name == "option" and not option.hidden and option.name != "help":
            names = ", ".join(f"`{text}`" for text in (*option.opts, *option.secondary_opts))
            rows.append((names, (option.help or "") + _default(option)))
    table = "".join(f"| {left} | {_cell(text)} |\n" for left, text in rows)
    head = f"{mark} {name}\n\n{command.help}\n\n`{usage}`\n"
    return f"{head}\n| | |\n|---|---|\n{table}" if rows else head


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
