"""The plain form of a result, which ``--json`` prints and `Result.as_dict` returns, key by key."""

from typing import Any, Literal

from jouleloop.api.results import SCHEMA
from jouleloop.workload.strict import Strict, key


class EnergyRow(Strict):
    """One energy that is charged."""

    component: str = key("Storage level or compute unit.", "name")
    action: str = key("read, write or compute.", "choice")
    energy_pj: float | None = key("Energy of an access.", "pJ", None)
    energy_access_words: float | None = key("Words of an access, where accesses are counted.", "words", None)
    words: int = key("Words that an access moves.", "words")
    energy_pj_per_word: float | None = key("Energy of a word of it.", "pJ", None)
    energy_access_words_per_word: float | None = key(
        "What a word of it counts, where accesses are counted.", "words", None
    )
    estimator: str = key("What answered.", "name")
    source: str = key("Table entry or rule behind it.", "text")


class AreaRow(Strict):
    """The area of one component."""

    component: str = key("Storage level or compute unit.", "name")
    instances: int = key("How many there are.", "instances")
    area_um2: float = key("Area of one instance.", "um2")
    all_um2: float = key("Area of all instances.", "um2")


class Run(Strict):
    """All that may differ between two runs of the same search."""

    version: str = key("Version of the package.", "text")
    seconds: float | None = key("Time of the search.", "s", None)


class ResultData(Strict):
    """A layer on an architecture: its mapping, what it costs, and what is proven."""

    schema_: Literal[SCHEMA] = key("Name and version of this form.", "text", alias="schema")  # type: ignore[valid-type]
    architecture: str = key("Name of the architecture.", "name")
    energy_table: str = key("Name of the energies.", "name")
    estimator: str = key("Kinds of the estimators that answered.", "name")
    area_um2: float | None = key("Area of all instances; null where that of a component is not known.", "um2")
    areas: list[AreaRow] = key("Area by component, of those that are known.", "rows")
    energies: list[EnergyRow] = key("Every energy that is charged.", "rows")
    semantics: str = key("Whose counting rules hold.", "choice")
    residuals: str | None = key(
        "How loops of a given mapping that end early were counted: timeloop or exact.", "choice", None
    )
    problem: dict[str, Any] = key("Name, shape and sizes of the layer.", "keys")
    status: str = key("ok, no_mapping, invalid or failed.", "choice", "ok")
    reason: str = key("Why there is no mapping.", "text", "")
    engine: str = key("What searched.", "choice", "native")
    objective: list[str] = key("What was minimised.", "choices", [])
    mapping: list[dict[str, Any]] | None = key("Loops and kept data spaces by level, outermost first.", "levels")
    mapping_compact: str | None = key("The mapping on one line.", "text", None)
    evaluation: dict[str, Any] | None = key(
        "Counts per instance, energies [pJ] of all instances, by level and data space; where accesses are counted, "
        "keys that end in _pj end in _access_words.",
        "keys",
    )
    lower_bound: float | None = key("No mapping of the mapspace has less.", "of the objective", None)
    gap: float | None = key("How far above the optimum it can be.", "share", None)
    optimal: bool | None = key("Whether the optimum is proven.", "true or false", None)
    stopped: str = key("What ended the search early: budget, nodes, seconds, interrupt, memory.", "choice", "")
    proof: str = key("What proves it.", "text", "")
    mapspace_size: int | None = key("Mappings of the mapspace.", "mappings", None)
    index_factorizations: int | None = key("Ways to split the sizes over the levels.", "ways", None)
    visited: int | None = key("Mappings evaluated in full.", "mappings", None)
    pruned: dict[str, int] | None = key("Parts left out, by reason.", "parts", None)
    leakage_pj: dict[str, float] | None = key(
        "Leakage by level, which is not in the total; absent where accesses are counted.", "pJ", None
    )
    run: Run = key("What varies from run to run, and nothing else does.", "keys")
