"""Fonts cut down to the glyphs of a PDF, made once for each font and set of glyphs: a figure that changes has the same.

Cutting takes a fifth of the time of a figure. What was cut is kept among the user's caches, beside a digest of it.
"""

import contextlib
import hashlib
import json
import sys
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module, metadata
from importlib.util import LazyLoader, find_spec, module_from_spec
from io import BytesIO
from pathlib import Path
from typing import Any

from jouleloop.errors import InputError
from jouleloop.files import read_sealed_json, write_sealed_json
from jouleloop.sources import cache_home

__all__ = ["FigureCanvasPdf", "cut_fonts_once"]


def _load_when_used(package: str, name: str) -> None:
    """Let a module be loaded when something of it is used."""
    full = f"{package}.{name}"
    spec = None if full in sys.modules else find_spec(full)
    if spec is not None and spec.loader is not None:
        spec.loader = LazyLoader(spec.loader)
        sys.modules[full] = module_from_spec(spec)
        spec.loader.exec_module(sys.modules[full])
        setattr(sys.modules[package], name, sys.modules[full])


# Matplotlib imports it to cut fonts: a tenth of all imports.
_load_when_used("fontTools", "subset")

from matplotlib.backends.backend_pdf import FigureCanvasPdf  # noqa: E402 - as above

#: Tables for setting text: a PDF says itself where a glyph stands.
_DROPPED = ("GDEF", "GPOS", "GSUB")


@dataclass(frozen=True)
class _Cut:
    """What Matplotlib takes of a font that was cut: its file, and where its glyphs are."""

    font: bytes
    glyph_index_map: Mapping[int, int]


@cache
def cut_fonts_once() -> None:
    """Let Matplotlib's PDFs take fonts that were cut before."""
    backend: Any = import_module("matplotlib.backends._backend_pdf_ps")
    # Before 3.11 Matplotlib tells glyphs apart by characters, and cuts each time.
    if hasattr(backend, "SubsetResults"):
        backend.get_glyphs_subset = partial(_cut, backend.get_glyphs_subset, backend.font_as_file)
        backend.font_as_file = partial(_as_file, backend.font_as_file)
    else:
        _leave_tables_out()


@cache
def _leave_tables_out() -> None:
    """Let fontTools leave out tables that it takes long over."""
    from fontTools.subset import Options  # type: ignore[import-untyped]  # noqa: PLC0415 - slow to import

    dropped = getattr(Options, "_drop_tables_default", [])
    dropped += [table for table in _DROPPED if table not in dropped]


def _as_file(save: Callable[[Any], BytesIO], font: Any) -> BytesIO:
    return BytesIO(font) if isinstance(font, bytes) else save(font)


def _cut(
    make: Callable[[Any, set[int]], AbstractContextManager[Any]],
    save: Callable[[Any], BytesIO],
    font: Any,
    glyphs: Iterable[int],
) -> AbstractContextManager[_Cut]:
    """Return a font cut down to ``glyphs``, kept or made now and kept."""
    wanted = sorted({int(glyph) for glyph in glyphs})
    decides = [_digest(Path(font).read_bytes()), getattr(font, "face_index", 0), wanted, _DROPPED, *_versions()]
    path = cache_home() / "fonts" / _digest(json.dumps(decides).encode())[:32]
    found = _kept(path)
    if found is None:
        _leave_tables_out()
        with make(font, set(wanted)) as cut:
            places = {int(old): int(new) for old, new in cut.glyph_index_map.items()}
            found = _Cut(save(cut.font).getvalue(), places)
        _keep(path, found)
    return nullcontext(found)


def _kept(path: Path) -> _Cut | None:
    """Return what was kept; None where there is nothing, or it was damaged."""
    with contextlib.suppress(InputError, KeyError, TypeError, ValueError):
        kept = read_sealed_json(path)
        return _Cut(b64decode(kept["font"]), dict(kept["places"]))
    return None


def _keep(path: Path, cut: _Cut) -> None:
    kept = {"font": b64encode(cut.font).decode(), "places": sorted(cut.glyph_index_map.items())}
    with contextlib.suppress(InputError):
        write_sealed_json(path, kept)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@cache
def _versions() -> list[str]:
    return [metadata.version(name) for name in ("fonttools", "matplotlib")]
