"""What imperfect factors save, drawn: which architectures are compared, and what is said of them."""

from types import SimpleNamespace
from typing import Any

import pandas as pd

from jouleloop.config.model import ArchitectureEntry
from jouleloop.report.figures_conv_energy import imperfect_figure
from jouleloop.report.registry import imperfect_pairs
from jouleloop.stats.cases import SweepDescription


def entry(factors: str | None, arch: str = "arch/eyeriss.yaml") -> ArchitectureEntry:
    return ArchitectureEntry.model_validate(
        {"arch": arch, "energy": ["built-in"], "constraints": "mappings/eyeriss.yaml", "factors": factors}
    )


def test_architectures_that_differ_in_their_factors_alone_are_compared() -> None:
    entries = {
        "one": entry(None),
        "one_imperfect": entry("imperfect"),
        "two": entry("perfect", "arch/simba.yaml"),
        "three_imperfect": entry("imperfect", "arch/other.yaml"),
    }
    study: Any = SimpleNamespace(config=SimpleNamespace(architectures=entries))
    assert imperfect_pairs(study) == {"one": "one_imperfect"}


def test_the_saving_is_told() -> None:
    rows = [
        {"sweep": "depth", "architecture": name, "layer": f"M{m}", "M": m, "data_pj": share * m,
         "theory_lower_bound_words": m, "dram_pj_per_word": 0.5}
        for m in (8, 16, 24)
        for name, share in (("one", 4.0), ("one_imperfect", 3.0 if m == 8 else 4.0))
    ]  # fmt: skip
    sweep = SweepDescription("depth", "M", "linear", "depth")
    figure = imperfect_figure(pd.DataFrame(rows), {"one": "one_imperfect"}, sweep)
    assert figure is not None
    assert "One n = 3, imperfect factors save 8.3 % on average and 25 % at most" in figure.caption
    assert len(figure.figure.axes[0].get_lines()) == 3
    assert imperfect_figure(pd.DataFrame(rows), {"one": "none"}, sweep) is None
