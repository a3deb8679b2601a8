"""The example of docs/proof.md is a certificate, and one whose numbers are changed is none."""

import json
import re
from typing import Any

import pytest

from jouleloop.errors import InputError
from jouleloop.proof.design import Design
from jouleloop.proof.form import check_form, digest_of
from jouleloop.proof.verify import Refused, verify
from paths import ROOT

PAGE = (ROOT / "docs" / "proof.md").read_text()


EXAMPLE = (ROOT / "docs" / "data" / "certificate.json").read_text()


def example() -> dict[str, Any]:
    return json.loads(EXAMPLE)  # type: ignore[no-any-return]


def test_the_example_is_proven() -> None:
    verdict = verify(check_form(example()))
    assert (verdict.parts, verdict.nests) == (1, 4)
    assert len(EXAMPLE.splitlines()) <= 10
    assert '--8<-- "docs/data/certificate.json"' in PAGE


def test_a_node_left_out_of_the_example_is_missed() -> None:
    data = example()
    del data["parts"][0]["nodes"][0]
    data["digest"] = digest_of(data)
    with pytest.raises(Refused, match="does not rule it out"):
        verify(check_form(data))


def test_energies_that_vanish_are_a_fault_of_the_design() -> None:
    data = example()
    data["architecture"]["levels"][0]["write_pj"] = 1e-40
    with pytest.raises(InputError, match=r"levels\.0\.write_pj: .*from 1e-30 to 1e\+30 pJ") as caught:
        Design(data)
    assert len(caught.value.faults) == 1


def test_each_lemma_is_stated_once_and_the_search_pages_refer_to_it() -> None:
    stated = {name.lower() for name in re.findall(r"^(?:\*\*|- \*)([A-Z][a-z ]+)\.?\*", PAGE, re.MULTILINE)}
    for page, title in (("search", "perfect"), ("search-residual", "imperfect")):
        text = (ROOT / "docs" / f"{page}.md").read_text()
        pointer = text.split(f"proof.md#the-lemmas-{title}-factors)")[1].split("These are the search's own")[0]
        shared = re.findall(r"\*([a-z ]{4,})\*", pointer.split("a *move* are")[-1])
        assert len(shared) > 10
        assert set(shared) <= stated
        own = {name.lower() for name in re.findall(r"^\*\*([A-Z][a-z ]+)\.?\*\*", text, re.MULTILINE)}
        assert own
        assert own & stated <= {"merged unrollings"}, "a lemma stands twice"
