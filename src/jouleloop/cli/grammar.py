"""The grammar of layer texts as a page and as a line, both from the definitions of the kinds of layers."""

from jouleloop.workload.kind import Kind
from jouleloop.workload.kinds import kinds

#: What sizes are called by those who use them.
_WORDS = {
    "C": "input channels",
    "M": "output channels",
    "N": "batch",
    "K": "inner size",
    "H": "heads",
    "G": "channels",
    "R": "filter along P",
    "S": "filter along Q",
    "P": "output width",
    "Q": "output height",
    "O": "third axis of the output",
    "T": "third axis of the filter",
    "groups": "groups",
}
#: Where a kind means something else by the same letter.
_OWN_WORDS = {
    "conv_transpose": {"P": "width of the input", "Q": "height of the input"},
    "matmul": {"M": "rows of A", "N": "columns of B"},
}


def form(kind: Kind) -> str:
    """Return how layers of a kind are written, such as ``fc:INPUTSxOUTPUTS[/batchN]``."""
    text = kind.text
    sizes = text.called or "x".join(f"{name}…" for name in text.always)
    return f"{kind.name}:{sizes}" + "".join(f"[/{option}]" for option in options(kind))


def options(kind: Kind) -> list[str]:
    """Return the options of a kind, one number each or one an axis."""
    named = [name + "x".join("N" for _ in kind.shorthand.get(name, (name,))) for name in kind.text.options]
    axes = "x".join("N" for _ in kind.windows)
    return [*named, *([f"input{axes}", f"padding{axes}", "floor"] if axes else [])]


def layers_page() -> str:
    """Return the part of docs/layer-texts.md that the definitions determine."""
    lines = ["| text | layer |", "|---|---|"]
    lines += [f"| `{form(kind)}` | {kind.description} |" for kind in kinds()]
    lines += [
        "",
        "Sizes by name, in any order, each at most once; those left out are 1. "
        + ", ".join(f"`{name}` {word}" for name, word in _WORDS.items() if name != word)
        + ".",
        *(
            f"In {', '.join(f'`{kind.name}`' for kind in kinds() if kind.base == base)}: "
            + ", ".join(f"`{name}` {word}" for name, word in own.items())
            + "."
            for base, own in _OWN_WORDS.items()
        ),
        "",
        "| kind | sizes | batch |",
    ]
    lines += ["|---|---|---|"]
    for kind in kinds():
        sizes = ", ".join(f"`{name}`" for name in kind.field_of)
        batch = kind.shorthand.get("batch", ("–",))[0]
        lines.append(f"| `{kind.name}` | {sizes} | {batch if batch == '–' else f'`{batch}`, or `/batchN`'} |")
    return "\n".join(lines)
