"""The example of docs/proof.md is a certificate, and one whose numbers are changed is none."""

import json
import re
from typing import Any

import pytest

from jouleloop.proof.form import check_form, digest_of
from jouleloop.proof.verify import Refused, verify
from paths import ROOT

PAGE = (ROOT / "docs" / "proof.md").read_text()


def example() -> dict[str, Any]:
    return json.loads(re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)[0])  # type: ignore[no-any-return]


def test_the_example_is_proven() -> None:
    verdict = verify(check_form(example()))
    assert (verdict.parts, verdict.nests) == (1, 4)
    assert len(re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)[0].splitlines()) <= 10


def test_a_node_left_out_of_the_example_is_missed() -> None:
    data = example()
    del data["parts"][0]["nodes"][0]
    data["digest"] = digest_of(data)
    with pytest.raises(Refused, match="does not rule it out"):
        verify(check_form(data))


def test_the_page_names_the_lemmas_of_the_search_pages() -> None:
    search, imperfect = ((ROOT / "docs" / f"{name}.md").read_text().lower() for name in ("search", "search-residual"))
    tables = PAGE.split("## The lemmas")[1].split("## A second verifier")[0].split("| imperfect factors |")
    for table, pages in zip(tables, (search, imperfect), strict=True):
        for names in re.findall(r"^\| ([a-z ,]+) \|", table, re.MULTILINE):
            for name in names.split(", ") if "factors" not in names else ():
                assert name in pages, name
