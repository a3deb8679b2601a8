"""Print the lowest version that pyproject.toml allows of every dependency, as constraints for pip."""

import re
import tomllib
from pathlib import Path

_FLOOR = re.compile(r"([A-Za-z0-9_.-]+)(\[[^]]*\])?>=([0-9.]+)")


def lowest(project: Path) -> list[str]:
    """Return ``name==version`` for every dependency with a lower bound, those of the developers included."""
    table = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
    entries = [*table["dependencies"], *table["optional-dependencies"]["dev"]]
    return sorted({f"{found[1]}=={found[3]}" for entry in entries if (found := _FLOOR.match(entry))})


if __name__ == "__main__":
    print("\n".join(lowest(Path(__file__).parents[1] / "pyproject.toml")))
