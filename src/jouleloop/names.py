"""Names that become paths, and text that becomes a cell of a spreadsheet."""

import hashlib
import re

_LONGEST = 80
#: What a spreadsheet takes for the beginning of a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "|")


def safe_name(text: str) -> str:
    """Return ``text`` as a file name: letters, digits, ``. _ - +``; different texts give different names.

    Where anything had to be changed, a hash of the text is added.
    """
    name = re.sub(r"[^A-Za-z0-9._+-]+", "_", text.replace(":", "_").replace("/", "_")).strip("._") or "layer"
    plain = text.replace(":", "_").replace("/", "_")
    # A canonical layer name such as conv:C3xM8/stride4 keeps its shape without a hash.
    canonical = re.fullmatch(r"(fc|conv):[A-Za-z0-9]+(/[a-z]+[0-9x]+)*", text) is not None
    if (name == plain and (canonical or plain == text)) and len(name) <= _LONGEST:
        return name
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    return f"{name[:_LONGEST]}-{digest}"


def safe_cell(value: object) -> object:
    """Return ``value`` so that no spreadsheet takes it for a formula: such text gets a leading apostrophe."""
    if not isinstance(value, str):
        return value
    text = value.replace("\r", " ").replace("\x00", " ")
    return "'" + text if value[:1] in _FORMULA else text


def plain_cell(value: object) -> object:
    """Return the text that `safe_cell` wrote as ``value``."""
    if isinstance(value, str) and value[:1] == "'" and value[1:2] in _FORMULA and value[1:2]:
        return value[1:]
    return value
