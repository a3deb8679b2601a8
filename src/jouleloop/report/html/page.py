"""The page itself: tables and data put into the template, with its styles, scripts and the charting library inlined."""

import contextlib
import hashlib
import json
import os
import re
from dataclasses import dataclass
from importlib import metadata, resources
from pathlib import Path
from typing import Any

from jinja2 import BytecodeCache
from jinja2.bccache import Bucket
from markupsafe import Markup

import jouleloop
from jouleloop.errors import Fault, InputError
from jouleloop.files import replacing, write_text
from jouleloop.report.html import environment
from jouleloop.report.html.capacity import capacity_section
from jouleloop.report.html.networks import network_headline, network_layer_table, network_totals
from jouleloop.report.html.numbers import percent
from jouleloop.report.html.points import EmbedLimits, chart_data
from jouleloop.report.html.sections import (
    comparison_table,
    law_table,
    left_out_table,
    provenance_tables,
    published_table,
    run_tables,
    savings_section,
    search_noise_section,
    theory_table,
)
from jouleloop.report.html.sources import ReportTables
from jouleloop.report.html.verdicts import VERDICTS, p_text, verdicts_of
from jouleloop.sources import cache_home
from jouleloop.study.keys import code_digest
from jouleloop.units import PJ, energies_in, energy_unit, said, unit_of

MOST_BYTES = 3_000_000
"""No page is larger; fewer mappings and points are embedded where it would be."""

SCRIPTS = ("base", "tables", "mapping", "traces", "chart", "points", "links", "sweep", "networks", "energy", "main")
"""Modules of the page in the order in which they build on each other."""


_SEAL_BYTES = hashlib.sha256().digest_size

#: What stands between the tags of a page, and elements of code whole.
_TEXT = re.compile(r"(?P<code><(script|style)\b.*?</\2>)|(?<=>)[^<]+", re.DOTALL)


@dataclass(frozen=True)
class ChartLibrary:
    """The charting library as text, with its version."""

    name: str
    version: str
    source: str


def charting_library() -> ChartLibrary:
    """Return the basic bundle of plotly.js, which stands beside the page's scripts with its licence."""
    source = _static("plotly-basic.min.js")
    found = re.search(r"plotly\.js \(basic - minified\) v([\d.]+)", source[:200])
    assert found is not None, "the bundle begins with its version"  # noqa: S101
    return ChartLibrary("plotly.js", found[1], source)


def report_page(tables: ReportTables, output: Path, limits: EmbedLimits | None = None) -> str:
    """Return the report as one HTML text of at most `MOST_BYTES` bytes; links are relative to ``output``.

    Raises `InputError` where even a page with few points is too large.
    """
    with energies_in(unit_of(tables.every["energy_table"].dropna())):
        return _report_page(tables, output, limits or EmbedLimits())


def _report_page(tables: ReportTables, output: Path, limits: EmbedLimits) -> str:
    library = charting_library()
    others = (tables.networks, tables.capacity_summary)
    if not tables.verdicts["sweep"].size and all(table is None or table.empty for table in others):
        raise InputError(Fault("the table of verdicts has no rows, and there are no networks or curves"))
    templates = environment(bytecode_cache=_Compiled())
    templates.filters |= {"percent": percent, "p_value": p_text}
    template = templates.get_template("report.html.j2")
    fixed = _fixed_context(tables, output, library)
    while True:
        charts = chart_data(tables, limits)
        data = charts.data | {"unit": energy_unit()}
        page = _worded(template.render(**fixed, charts=charts, data=_embedded(data)))
        if len(page.encode()) < MOST_BYTES:
            return page
        if limits.points < 100:
            raise InputError(Fault("the report cannot be kept below 3 MB: its tables are too large"))
        limits = limits.halved()


def _worded(page: str) -> str:
    """Return a page whose sentences say what is counted; scripts and styles stay as they are."""
    if energy_unit() == PJ:  # as sentences are written
        return page
    return _TEXT.sub(lambda found: found[0] if found["code"] else said(found[0]), page)


def write_report(tables: ReportTables, output: Path) -> int:
    """Write the report to ``output`` whole or not at all; return its size in bytes."""
    page = report_page(tables, output)
    write_text(output, page)
    return len(page.encode())


def _fixed_context(tables: ReportTables, output: Path, library: ChartLibrary) -> dict[str, Any]:
    """Return all that the template shows besides the charted points."""
    statuses, left_out = left_out_table(tables)
    sweeps = list(dict.fromkeys(str(name) for name in tables.verdicts["sweep"]))
    tested = tables.verdicts if sweeps else tables.every
    architectures = list(dict.fromkeys(str(name) for name in tested["architecture"]))
    capacity = capacity_section(tables)
    networks = "What the layers of a network cost" if tables.networks is not None else None
    responses = tables.verdicts.drop_duplicates("response")[["response", "response_label"]]
    return {
        "version": jouleloop.__version__,
        "heading": "How energy grows with layer size" if sweeps else networks or "How the optimum grows with memory",
        "capacity": capacity,
        "library": library,
        "library_source": _script(library.source),
        "scripts": [_script(_static(f"{name}.js")) for name in SCRIPTS],
        "style": Markup(_static("report.css")),  # noqa: S704 - a file of this package
        "verdicts": verdicts_of(tables.verdicts, tables.left_out),
        "meanings": VERDICTS,
        "sweeps": sweeps,
        "descriptions": {name: sweep.description for name, sweep in tables.sweeps.items()},
        "architectures": architectures,
        "responses": [(str(name), str(label)) for name, label in responses.itertuples(index=False)],
        "statuses": statuses,
        "left_out": left_out,
        "laws": law_table(tables.laws),
        "theory": theory_table(tables.verdicts),
        "search_noise": search_noise_section(tables.search_noise),
        "published": published_table(tables.published),
        "savings": savings_section(tables),
        "network_totals": network_totals(tables.networks),
        "network_layers": network_layer_table(tables.networks),
        "network_headline": network_headline(tables.networks),
        "comparison": comparison_table(tables),
        "run": run_tables(tables.summary),
        "provenance": provenance_tables(tables.provenance),
        "notes": tables.notes,
        "store": tables.store is not None,
        "links": [(path.name, Path(os.path.relpath(path, output.parent)).as_posix()) for path in tables.links],
    }


class _Compiled(BytecodeCache):
    """Templates as code, among the user's caches: compiling them takes a tenth of the time of the page."""

    def load_bytecode(self, bucket: Bucket) -> None:
        """Take the code of a template that was kept, if it is whole."""
        with contextlib.suppress(OSError):
            content = self._path(bucket).read_bytes()
            seal, code = content[:_SEAL_BYTES], content[_SEAL_BYTES:]
            if seal == hashlib.sha256(code).digest():
                bucket.bytecode_from_string(code)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep the code of a template, if there is room."""
        code = bucket.bytecode_to_string()
        with contextlib.suppress(InputError), replacing(self._path(bucket)) as path:
            path.write_bytes(hashlib.sha256(code).digest() + code)

    def _path(self, bucket: Bucket) -> Path:
        made_by = f"{metadata.version('jinja2')}-{code_digest(__name__)}"
        return cache_home() / "templates" / f"{bucket.key}-{bucket.checksum}-{made_by}"


def _static(name: str) -> str:
    return resources.files("jouleloop.report.html").joinpath("static", name).read_text(encoding="utf-8")


def _script(source: str) -> Markup:
    """Return trusted script text for a script element, which nothing in it may end."""
    if "</script" in source.lower():
        raise InputError(Fault("a script of the report would end its own element"))
    return Markup(source)  # noqa: S704 - a file of this package or of the charting library


def _embedded(data: Any) -> Markup:
    """Return ``data`` as JSON that stands safely inside a script element, whatever names it holds."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # noqa: S704 - nothing in it can end the element
