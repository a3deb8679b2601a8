"""What is generated from definitions: JSON schemas for editors, and the tables of keys and columns in the docs."""

import json
import typing
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from jouleloop.api.schema import ResultData
from jouleloop.cli.reference import commands_page, shortest_list
from jouleloop.config.model import Config
from jouleloop.exploration.space_file import SpaceFile
from jouleloop.fusion.sweep import ChainSweepFile
from jouleloop.layouts import Column, declared
from jouleloop.model.support import support_table
from jouleloop.report.registry import FIGURES
from jouleloop.study.summary import RunSummary
from jouleloop.workload.kind import Kind
from jouleloop.workload.kinds import kinds
from jouleloop.workload.sweep_schema import CapacitySweep, NetworkFile, SweepFile

_TABLES_HEAD = """\
# The tables of a study

This page lists the columns of every table. `jouleloop config --write-schema` makes it of `columns.csv` and
`tables.csv`.

Rules hand Parquet to each other. The CSV beside it is an export: same rows, same order, without the columns marked
*Parquet only*. Parquet carries the types. `<…>` stands for any text, so one line may define several columns. A unit
that ends the name is not repeated. Names of layers are text: `1`, `NA` and `-small` are read as they were written.
Columns that several tables have with one meaning stand first; each table names them, or the table whose shared columns
it has, too. `src/jouleloop/columns.csv` also has types, and the columns of the papers' own tables, `results/theory/`.
"""

#: The generated schemas by file name.
SCHEMAS: dict[str, type[BaseModel]] = {
    "config.schema.json": Config,
    "sweep.schema.json": SweepFile,
    "capacity.schema.json": CapacitySweep,
    "network.schema.json": NetworkFile,
    "chain_sweep.schema.json": ChainSweepFile,
    "space.schema.json": SpaceFile,
    "summary.schema.json": RunSummary,
    "result.schema.json": ResultData,
}


def schema_text(model: type[BaseModel]) -> str:
    """Return the JSON schema (draft 2020-12) of ``model`` as text."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **model.model_json_schema()}
    return json.dumps(schema, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def key_rows(model: type[BaseModel], prefix: str = "") -> list[tuple[str, str, str, str]]:
    """Return key, unit, default and meaning of every key, nested keys with their dotted path."""
    rows = []
    for key, entry in model.model_fields.items():
        extra = entry.json_schema_extra
        unit = str(extra.get("unit", "")) if isinstance(extra, dict) else ""
        rows.append((prefix + key, unit, _default(entry), entry.description or ""))
        nested = _model_of(entry.annotation)
        if nested is not None:
            inner = "" if nested is entry.annotation or entry.annotation is None else _placeholder(entry.annotation)
            rows += key_rows(nested, f"{prefix}{key}.{inner}")
    return rows


def _default(entry: Any) -> str:
    if entry.is_required():
        return "required"
    value = entry.get_default(call_default_factory=True)
    if isinstance(value, BaseModel):
        return ""
    return json.dumps(value, ensure_ascii=False)


def _model_of(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for argument in typing.get_args(annotation):
        found = _model_of(argument)
        if found is not None and found.__name__ != "Range":
            return found
    return None


def _placeholder(annotation: Any) -> str:
    origin = typing.get_origin(annotation)
    return "<name>." if origin is dict else "<index>." if origin is list else ""


def key_table(model: type[BaseModel]) -> str:
    """Return the keys of ``model`` as a Markdown table."""
    rows = key_rows(model)
    lines = ["| key | unit | default | meaning |", "|---|---|---|---|"]
    for key, unit, default, text in rows:
        lines.append(f"| `{key}` | {unit} | {f'`{default}`' if default else ''} | {text.replace('|', '/')} |")
    return "\n".join(lines)


def with_part(text: str, name: str, part: str) -> str:
    """Return a Markdown text with what stands between the two marks of a generated part replaced."""
    begin, end = f"<!-- generated: {name} -->", f"<!-- end of generated {name} -->"
    head, _, rest = text.partition(begin)
    return f"{head}{begin}\n{part}\n{end}{rest.partition(end)[2]}"


def figures_list() -> str:
    """Return the kinds of figures as a Markdown list: file, tables and question."""
    lines = []
    for kind in FIGURES:
        needs = ", ".join(f"`{layout.file}`" for layout in kind.needs)
        question = kind.caption.replace("**Question:** ", "").replace("``", "`").partition("?")[0]
        beside = "" if kind.always else ", beside the default run"
        lines.append(f"- `{kind.name}`, `{kind.stem}`, drawn from {needs}{beside}: {question}?")
    return "\n".join(lines)


def generated_files(root: Path) -> dict[Path, str]:
    """Return what every generated file should hold."""
    files = {root / "workflow" / "schemas" / name: schema_text(model) for name, model in SCHEMAS.items()}
    for path, name, model in (
        (root / "config" / "README.md", "keys", Config),
        (root / "layers" / "README.md", "keys", SweepFile),
        (root / "layers" / "README.md", "capacity keys", CapacitySweep),
        (root / "layers" / "networks" / "README.md", "keys", NetworkFile),
        (root / "docs" / "exploration.md", "keys", SpaceFile),
        (root / "docs" / "fusion.md", "keys", ChainSweepFile),
    ):
        files[path] = with_part(files.get(path) or path.read_text(encoding="utf-8"), name, key_table(model))
    for kind in FIGURES:
        # Snakemake reads a figure's caption from a file, and tells it nothing but the parameters of the job.
        caption = f'{{{{ snakemake.params.captions["{kind.name}"] }}}}\n'
        files[root / "workflow" / "report" / "figures" / f"{kind.name}.rst"] = caption
    files[root / "docs" / "tables.md"] = tables_page()
    for name, part, text in (
        ("figures.md", "figures", figures_list()),
        ("command-line.md", "commands", commands_page()),
        ("layer-texts.md", "layers", layers_page()),
        ("limitations.md", "support", support_table()),
    ):
        page = root / "docs" / name
        files[page] = with_part(page.read_text(encoding="utf-8"), part, text)
    return files


def tables_page() -> str:
    """Return docs/tables.md: the columns of every table of a study, those of several tables once."""
    # The papers' own tables are no part of a study.
    layouts = [layout for layout in declared().values() if not layout.file.startswith("theory/")]
    uses = Counter(column for layout in layouts for column in dict.fromkeys(layout.columns))
    # A name means one thing in the first table: what most tables mean by it.
    most = {column.name: column for column, count in reversed(uses.most_common()) if count > 1}
    shared = sorted(most.values(), key=lambda column: column.name.lower())
    parts = [_TABLES_HEAD, "## Shared columns\n", _column_list(shared)]
    named: dict[str, tuple[str, ...]] = {}
    for layout in layouts:
        parts.append(f"## `{layout.file}`\n\nA row: {layout.meaning[0].lower()}{layout.meaning[1:]}\n")
        known = tuple(f"`{column.name}`" for column in layout.columns if most.get(column.name) == column)
        if known:
            parts.append(f"Shared: {shortest_list(known, named)}.\n")
            named[f"`{layout.file}`"] = known
        own = [column for column in layout.columns if most.get(column.name) != column]
        if own:
            parts.append(_column_list(own))
    return "\n".join(parts)


def _column_list(columns: Iterable[Column]) -> str:
    """Return a line a column: name, and unit and meaning where the name does not say them."""
    lines = []
    for column in columns:
        unit = "" if f"_{column.name}".endswith(f"_{column.unit.lower()}") else column.unit
        kind = ", ".join(filter(None, (unit, "" if column.exported else "Parquet only")))
        told = "" if column.meaning[:-1].lower() == column.name.replace("_", " ") else f": {column.meaning}"
        lines.append(f"- `{column.name}`{f' ({kind})' if kind else ''}{told}")
    return "\n".join(lines) + "\n"


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
