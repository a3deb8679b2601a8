"""What is generated from definitions: JSON schemas for editors, and the tables of keys and columns in the docs."""

import importlib
import json
import typing
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from jouleloop.api.schema import ResultData
from jouleloop.cli.grammar import layers_page
from jouleloop.cli.reference import commands_page
from jouleloop.config.model import Config
from jouleloop.layouts import Column
from jouleloop.model.support import support_table
from jouleloop.report.registry import FIGURES
from jouleloop.study.summary import RunSummary
from jouleloop.tables.layouts import LAYOUTS
from jouleloop.theory.papers import PAPERS
from jouleloop.workload.sweep_schema import NetworkFile, SweepFile

_TABLES_HEAD = """\
# The tables of a study

`jouleloop config --write-schema` makes this page of `tables/layouts.py`, `stats/columns.py`, `theory/*/columns.py`.

Rules hand Parquet to each other. The CSV beside it is an export: same rows, same order, without the columns marked
*Parquet only*. `<…>` stands for any text, so one line may define several columns. Types: text; whole (numbers that may
be missing); number; truth; any (its values decide). Names of layers are text whatever they look like: `1`, `NA` and
`-small` are read as they were written. Columns that several tables have with one meaning stand first; each table names
them.
"""

#: The generated schemas by file name.
SCHEMAS: dict[str, type[BaseModel]] = {
    "config.schema.json": Config,
    "sweep.schema.json": SweepFile,
    "network.schema.json": NetworkFile,
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
    lines = ["| key | unit | default | meaning |", "|---|---|---|---|"]
    for key, unit, default, text in key_rows(model):
        lines.append(f"| `{key}` | {unit} | {f'`{default}`' if default else ''} | {text.replace('|', '/')} |")
    return "\n".join(lines)


def with_part(text: str, name: str, part: str) -> str:
    """Return a Markdown text with what stands between the two marks of a generated part replaced."""
    begin, end = f"<!-- generated: {name} -->", f"<!-- end of generated {name} -->"
    head, _, rest = text.partition(begin)
    return f"{head}{begin}\n{part}\n{end}{rest.partition(end)[2]}"


def figures_table() -> str:
    """Return the kinds of figures as a Markdown table."""
    lines = ["| kind | `results/figures/…` | drawn from | run |", "|---|---|---|---|"]
    for kind in FIGURES:
        needs = ", ".join(f"`{layout.file}`" for layout in kind.needs)
        lines.append(f"| `{kind.name}` | `{kind.stem}` | {needs} | {'default' if kind.always else 'figures'} |")
    questions = []
    for kind in FIGURES:
        text = kind.caption.replace("**Question:** ", "").replace("``", "`").split(" **Unit:**")[0]
        questions.append(f"- `{kind.name}`: {text}")
    return "\n".join([*lines, "", *questions])


def generated_files(root: Path) -> dict[Path, str]:
    """Return what every generated file should hold."""
    files = {root / "workflow" / "schemas" / name: schema_text(model) for name, model in SCHEMAS.items()}
    for path, model in (
        (root / "config" / "README.md", Config),
        (root / "layers" / "README.md", SweepFile),
        (root / "layers" / "networks" / "README.md", NetworkFile),
        (root / "docs" / "run-summary.md", RunSummary),
    ):
        files[path] = with_part(path.read_text(encoding="utf-8"), "keys", key_table(model))
    for kind in FIGURES:
        # Snakemake reads a figure's caption from a file, and tells it nothing but the parameters of the job.
        caption = f'{{{{ snakemake.params.captions["{kind.name}"] }}}}\n'
        files[root / "workflow" / "report" / "figures" / f"{kind.name}.rst"] = caption
    page = root / "docs" / "figures.md"
    files[page] = with_part(page.read_text(encoding="utf-8"), "figures", figures_table())
    files[root / "docs" / "tables.md"] = tables_page()
    for name, part, text in (
        ("api.md", "result", key_table(ResultData)),
        ("command-line.md", "commands", commands_page()),
        ("layer-texts.md", "layers", layers_page()),
        ("limitations.md", "support", support_table()),
    ):
        page = root / "docs" / name
        files[page] = with_part(page.read_text(encoding="utf-8"), part, text)
    return files


def tables_page() -> str:
    """Return docs/tables.md: the columns of every table of a study, those of several tables once."""
    theory = (importlib.import_module(f"jouleloop.theory.{paper}.columns").COLUMNS for paper in PAPERS)
    layouts = (*LAYOUTS, *theory)
    uses = Counter(column for layout in layouts for column in dict.fromkeys(layout.columns))
    # A name means one thing in the first table: what most tables mean by it.
    most = {column.name: column for column, count in reversed(uses.most_common()) if count > 1}
    shared = sorted(most.values(), key=lambda column: column.name.lower())
    parts = [_TABLES_HEAD, "## Shared columns\n", _column_list(shared)]
    for layout in layouts:
        parts.append(f"## `{layout.file}`\n\nA row: {layout.meaning[0].lower()}{layout.meaning[1:]}\n")
        known = [f"`{column.name}`" for column in layout.columns if most.get(column.name) == column]
        if known:
            parts.append(f"Shared: {', '.join(known)}.\n")
        own = [column for column in layout.columns if most.get(column.name) != column]
        if own:
            parts.append(_column_list(own))
    return "\n".join(parts)


def _column_list(columns: Iterable[Column]) -> str:
    """Return a line a column: name, type, unit where it has one, meaning."""
    lines = []
    for column in columns:
        kind = ", ".join(filter(None, (column.kind, column.unit, "" if column.exported else "Parquet only")))
        lines.append(f"- `{column.name}` ({kind}): {column.meaning}")
    return "\n".join(lines) + "\n"
