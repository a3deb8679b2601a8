"""The table of faults names tests that there are."""

import re

from paths import ROOT


def test_every_test_that_the_page_names_is_there() -> None:
    page = (ROOT / "docs/reliability.md").read_text()
    named = re.findall(r"`(?:(test_\w+\.py)|…)?(?:::(test_\w+))?`", page)
    assert len(named) > 30
    source = ""
    for file, test in named:
        if file:
            source = "".join(path.read_text() for path in (ROOT / "tests").rglob(file))
            assert source, file
        assert not test or f"def {test}(" in source, (file, test)
