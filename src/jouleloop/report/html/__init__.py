"""The HTML report: one file with tables, interactive charts and the mapping of every point."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment


def environment(**options: Any) -> "Environment":
    """Return what makes pages of the templates beside this: values are escaped, and none may be missing."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - figures do without

    own: dict[str, Any] = {"loader": PackageLoader(__name__), "autoescape": True, "undefined": StrictUndefined}
    return Environment(**own, trim_blocks=True, lstrip_blocks=True, **options)  # noqa: S701 - it is above
