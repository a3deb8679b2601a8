"""The plain form of a result, which ``--json`` prints and `Result.as_dict` returns, key by key."""

from typing import Any, Literal

from pydantic import Field

from jouleloop.api.results import SCHEMA
from jouleloop.workload.strict import Strict
from jouleloop.workload.sweep_schema import unit


class EnergyRow(Strict):
    """One energy that is charged."""

    component: str = Field(description="Storage level or compute unit.", json_schema_extra=unit("name"))
    action: str = Field(description="read, write or compute.", json_schema_extra=unit("choice"))
    energy_pj: float = Field(description="Energy of an access.", json_schema_extra=unit("pJ"))
    words: int = Field(description="Words that an access moves.", json_schema_extra=unit("words"))
    energy_pj_per_word: float = Field(description="Energy of a word of it.", json_schema_extra=unit("pJ"))
    estimator: str = Field(description="What answered.", json_schema_extra=unit("name"))
    source: str = Field(description="Table entry or rule behind it.", json_schema_extra=unit("text"))


class Run(Strict):
    """All that may differ between two runs of the same search."""

    version: str = Field(description="Version of the package.", json_schema_extra=unit("text"))
    seconds: float | None = Field(default=None, description="Time of the search.", json_schema_extra=unit("s"))


class ResultData(Strict):
    """A layer on an architecture: its mapping, what it costs, and what is proven."""

    schema_: Literal[SCHEMA] = Field(  # type: ignore[valid-type]
        alias="schema", description="Name and version of this form.", json_schema_extra=unit("text")
    )
    architecture: str = Field(description="Name of the architecture.", json_schema_extra=unit("name"))
    energy_table: str = Field(description="Name of the energies.", json_schema_extra=unit("name"))
    estimator: str = Field(description="Kinds of the estimators that answered.", json_schema_extra=unit("name"))
    area_um2: float | None = Field(
        description="Area of all instances; null where that of a component is not known.", json_schema_extra=unit("um2")
    )
    energies: list[EnergyRow] = Field(description="Every energy that is charged.", json_schema_extra=unit("rows"))
    semantics: str = Field(description="Whose counting rules hold.", json_schema_extra=unit("choice"))
    residuals: str | None = Field(
        default=None,
        description="How loops of a given mapping that end early were counted: timeloop or exact.",
        json_schema_extra=unit("choice"),
    )
    problem: dict[str, Any] = Field(description="Name, shape and sizes of the layer.", json_schema_extra=unit("keys"))
    status: str = Field(
        default="ok", description="ok, no_mapping, invalid or failed.", json_schema_extra=unit("choice")
    )
    reason: str = Field(default="", description="Why there is no mapping.", json_schema_extra=unit("text"))
    engine: str = Field(default="native", description="What searched.", json_schema_extra=unit("choice"))
    objective: list[str] = Field(default=[], description="What was minimised.", json_schema_extra=unit("choices"))
    mapping: list[dict[str, Any]] | None = Field(
        description="Loops and kept data spaces by level, outermost first.", json_schema_extra=unit("levels")
    )
    mapping_compact: str | None = Field(
        default=None, description="The mapping on one line.", json_schema_extra=unit("text")
    )
    evaluation: dict[str, Any] | None = Field(
        description="Counts per instance, energies [pJ] of all instances, by level and data space.",
        json_schema_extra=unit("keys"),
    )
    lower_bound: float | None = Field(
        default=None,
        description="No mapping of the mapspace has less.",
        json_schema_extra=unit("of the objective"),
    )
    gap: float | None = Field(
        default=None, description="How far above the optimum it can be.", json_schema_extra=unit("share")
    )
    optimal: bool | None = Field(
        default=None, description="Whether the optimum is proven.", json_schema_extra=unit("true or false")
    )
    stopped: str = Field(
        default="",
        description="What ended the search early: budget, nodes, seconds, interrupt, memory.",
        json_schema_extra=unit("choice"),
    )
    proof: str = Field(default="", description="What proves it.", json_schema_extra=unit("text"))
    mapspace_size: int | None = Field(
        default=None, description="Mappings of the mapspace.", json_schema_extra=unit("mappings")
    )
    index_factorizations: int | None = Field(
        default=None, description="Ways to split the sizes over the levels.", json_schema_extra=unit("ways")
    )
    visited: int | None = Field(
        default=None, description="Mappings evaluated in full.", json_schema_extra=unit("mappings")
    )
    pruned: dict[str, int] | None = Field(
        default=None, description="Parts left out, by reason.", json_schema_extra=unit("parts")
    )
    leakage_pj: dict[str, float] = Field(
        description="Leakage by level, which is not in the total.", json_schema_extra=unit("pJ")
    )
    run: Run = Field(description="What varies from run to run, and nothing else does.", json_schema_extra=unit("keys"))
