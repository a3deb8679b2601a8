"""The configuration keys of the workflow: type, unit, default and meaning of each."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, StrictInt, Tag, model_validator

from jouleloop.energy.choice import DATA, ESTIMATORS, EnergySource, source_of
from jouleloop.engines.protocol import SEMANTICS
from jouleloop.engines.registry import ENGINES
from jouleloop.engines.timeloop.options import ALGORITHMS, CONTAINER, FRONT_ENDS, HOME_VARIABLE
from jouleloop.model.objective import OBJECTIVES
from jouleloop.stats.options import StatisticsOptions
from jouleloop.workload.strict import Strict
from jouleloop.workload.sweep_schema import Name, unit

FigureFormat = Literal["png", "svg", "pdf"]


class EnergyEntry(Strict):
    """One estimator of energies and the files it needs."""

    estimator: Literal[ESTIMATORS] = Field(  # type: ignore[valid-type]
        description="A reference table (tables), the CACTI grid and scaling rules (interpolated), real Accelergy, "
        "Timeloop's own technology model (built-in), or words instead of energies (counts: all architectures or none).",
        json_schema_extra=unit("choice"),
    )
    table: str | None = Field(
        default=None, min_length=1, description="Reference table of `tables`.", json_schema_extra=unit("path")
    )
    components: list[str] = Field(
        default=[],
        description="Files with compound components, for `interpolated` and `accelergy` (in the program's version).",
        json_schema_extra=unit("paths"),
    )
    program: str = Field(
        default="accelergy", min_length=1, description="Executable of `accelergy`.", json_schema_extra=unit("path")
    )

    @model_validator(mode="after")
    def _table_where_needed(self) -> Self:
        if (self.estimator == "tables") != (self.table is not None):
            raise ValueError("a table is for the estimator 'tables', which needs one")
        if self.estimator == "tables" and self.components:
            raise ValueError("the estimator 'tables' takes no components")
        return self

    def source(self, root: Path) -> EnergySource:
        """Return what this entry stands for, its paths below ``root``."""
        table = None if self.table is None else root / self.table
        components = tuple(root / path for path in self.components)
        return EnergySource(str(self.estimator), table, components, root / DATA, self.program)


def _energy_form(value: Any) -> str:
    if isinstance(value, (dict, EnergyEntry)):
        return "<keys>"
    return "<list>" if isinstance(value, (list, tuple)) else "<text>"


_EnergyText = Annotated[str, Field(min_length=1), Tag("<text>")]
_EnergyOne = Annotated[_EnergyText | Annotated[EnergyEntry, Tag("<keys>")], Discriminator(_energy_form)]
Energy = Annotated[
    _EnergyText
    | Annotated[EnergyEntry, Tag("<keys>")]
    | Annotated[list[_EnergyOne], Field(min_length=1), Tag("<list>")],
    Discriminator(_energy_form),
]


class ArchitectureEntry(Strict):
    """The files that make up one target."""

    arch: str = Field(
        description="Architecture, Timeloop v0.4 (or v0.3) YAML.", min_length=1, json_schema_extra=unit("path")
    )
    energy: Energy = Field(
        description=(
            "Where energies come from: the path of a reference table, interpolated, accelergy, an estimator with its "
            "files, or a list of those, asked in turn for each component."
        ),
        json_schema_extra=unit("path or estimator"),
    )
    constraints: str = Field(
        description="Constraints and mapper settings in Timeloop's syntax.",
        min_length=1,
        json_schema_extra=unit("path"),
    )
    set: Literal["full", "arch-only"] = Field(
        default="full",
        description="Which constraints hold: architecture and mapspace constraints (full), or the former alone.",
        json_schema_extra=unit("choice"),
    )

    factors: Literal["perfect", "imperfect"] | None = Field(
        default=None,
        description="Whether loops must divide the layer (perfect) or may end early (imperfect); without it as the "
        "constraints say, whose template is uber or ruby.",
        json_schema_extra=unit("choice"),
    )

    def energy_entries(self) -> Iterator[tuple[str, str | EnergyEntry]]:
        """Yield where each source of energies stands, and what stands there."""
        if isinstance(self.energy, list):
            for index, entry in enumerate(self.energy):
                yield f"energy.{index}", entry
        else:
            yield "energy", self.energy

    def sources(self, root: Path = Path()) -> tuple[EnergySource, ...]:
        """Return the sources of energies, in turn, their paths below ``root``; raise `EnergyTableError` for others."""
        return tuple(
            entry.source(root) if isinstance(entry, EnergyEntry) else source_of(entry, root)
            for _, entry in self.energy_entries()
        )


class ChunkOptions(Strict):
    """How the points of a run are cut into jobs."""

    seconds: float = Field(
        default=20.0,
        gt=0,
        le=86400,
        description="Estimated work of one chunk; one chunk is one Snakemake job.",
        json_schema_extra=unit("core seconds"),
    )
    most: StrictInt = Field(
        default=100,
        ge=1,
        le=2000,
        description="No more chunks than this for one architecture, however much work there is.",
        json_schema_extra=unit("chunks"),
    )
    least: StrictInt = Field(
        default=2,
        ge=1,
        le=2000,
        description="No fewer chunks than this on all architectures together, unless layers are fewer.",
        json_schema_extra=unit("chunks"),
    )


class OutputOptions(Strict):
    """What a run writes besides its tables."""

    specs: bool = Field(
        default=False,
        description="Write results/specs/<architecture>/<sweep>/<layer>.yaml, which timeloop-mapper runs as it is.",
        json_schema_extra=unit("true or false"),
    )
    search_noise: bool = Field(
        default=False,
        description="Search every layer again by the 0.1 % rule of Timeloop's mapper, and compare the verdicts.",
        json_schema_extra=unit("true or false"),
    )
    figure_formats: list[FigureFormat] = Field(
        default=["png", "svg", "pdf"],
        min_length=1,
        description="Formats of every figure.",
        json_schema_extra=unit("file formats"),
    )


class TimeloopSettings(Strict):
    """How real Timeloop is run, for ``engine: timeloop`` and ``confirm: timeloop``."""

    home: str | None = Field(
        default=None,
        description=f"Folder of timeloop-model and timeloop-mapper; else {HOME_VARIABLE} and PATH are looked in.",
        json_schema_extra=unit("path"),
    )
    container: str = Field(
        default=CONTAINER,
        min_length=1,
        description="Image that has Timeloop, for snakemake --sdm apptainer.",
        json_schema_extra=unit("container image"),
    )
    runs: str | None = Field(
        default=None,
        min_length=1,
        description="Folder of runs made elsewhere, read instead of running Timeloop; --sdm apptainer sets it.",
        json_schema_extra=unit("path"),
    )
    front_end: Literal[FRONT_ENDS] = Field(  # type: ignore[valid-type]
        default="auto",
        description="Whether Timeloop is called through pytimeloop: where it is importable (auto), always, or never.",
        json_schema_extra=unit("choice"),
    )
    algorithm: Literal[ALGORITHMS] = Field(  # type: ignore[valid-type]
        default="linear-pruned",
        description="Search algorithm of the mapper; linear-pruned and exhaustive can prove an optimum.",
        json_schema_extra=unit("choice"),
    )
    threads: StrictInt = Field(
        default=1,
        ge=1,
        le=256,
        description="Threads of the mapper; more than one make random-pruned irreproducible.",
        json_schema_extra=unit("threads"),
    )
    victory_condition: StrictInt = Field(
        default=0,
        ge=0,
        description="Valid mappings without improvement after which a thread of the mapper stops; 0 for never.",
        json_schema_extra=unit("mappings"),
    )
    timeout_mappings: StrictInt = Field(
        default=0,
        ge=0,
        description="Invalid mappings in a row after which a thread of the mapper stops; 0 for never.",
        json_schema_extra=unit("mappings"),
    )
    max_permutations: StrictInt = Field(
        default=16,
        ge=1,
        description="Permutations that random-pruned tries on each index factorization.",
        json_schema_extra=unit("permutations"),
    )
    model_seconds: float = Field(
        default=60.0,
        gt=0,
        description="Time limit of one evaluation; it is killed then and its point has status failed.",
        json_schema_extra=unit("s"),
    )
    mapper_seconds: float = Field(
        default=3600.0,
        gt=0,
        description="Time limit of one search; its best mapping so far is taken then, and called no optimum.",
        json_schema_extra=unit("s"),
    )


class SearchLimits(Strict):
    """Where a search stops without a proof."""

    seconds: float | None = Field(
        default=None,
        gt=0,
        description="Time limit of one search; its best mapping so far is taken then, with its bound, and called no "
        "optimum. Such rows vary from run to run, and are searched again when the limit is raised.",
        json_schema_extra=unit("s"),
    )


class Config(Strict):
    """Configuration of the jouleloop workflow; paths are relative to the folder that snakemake runs in."""

    architectures: dict[Name, ArchitectureEntry] = Field(
        min_length=1, description="Targets by name.", json_schema_extra=unit("name: files")
    )
    sweeps: list[str] = Field(
        default=[],
        description="Sweeps: names of files in layers/ without the ending, or paths that end in .yaml.",
        json_schema_extra=unit("names"),
    )
    networks: list[str] = Field(
        default=[],
        description="Networks: names of files in layers/networks/ without the ending, or paths that end in .yaml.",
        json_schema_extra=unit("names"),
    )
    replace: bool = Field(
        default=False,
        description="Replace the study in results/ where it is another one: no sweep and no network in common, or "
        "another configuration file, objective, semantics or engine.",
        json_schema_extra=unit("true or false"),
    )
    engine: Literal[ENGINES] = Field(  # type: ignore[valid-type]
        default="native", description="What searches the mappings.", json_schema_extra=unit("choice")
    )
    semantics: Literal[SEMANTICS] = Field(  # type: ignore[valid-type]
        default=SEMANTICS[0],
        description="Which version of Timeloop's counting rules holds.",
        json_schema_extra=unit("choice"),
    )
    objective: list[Literal[tuple(OBJECTIVES)]] = Field(  # type: ignore[valid-type]
        default=["energy"],
        min_length=1,
        max_length=2,
        description="What is minimised; with several, values within 0.1 % are equal and the next decides.",
        json_schema_extra=unit("choices, first counts most"),
    )
    seed: StrictInt = Field(
        default=0, ge=0, description="Seed of an engine that draws at random.", json_schema_extra=unit("number")
    )
    budget: StrictInt | None = Field(
        default=None,
        ge=1,
        description="Most mappings evaluated for one layer; without it the search runs until the optimum is proven.",
        json_schema_extra=unit("mappings"),
    )
    search: SearchLimits = Field(
        default_factory=SearchLimits,
        description="Where a search of the native engine stops.",
        json_schema_extra=unit("keys"),
    )
    confirm: Literal["timeloop"] | None = Field(
        default=None,
        description="Evaluate every optimum of the native engine again with real Timeloop and write the cross-check.",
        json_schema_extra=unit("choice"),
    )
    timeloop: TimeloopSettings = Field(
        default_factory=TimeloopSettings, description="How real Timeloop is run.", json_schema_extra=unit("keys")
    )
    statistics: StatisticsOptions = Field(
        default_factory=StatisticsOptions, description="How growth is tested.", json_schema_extra=unit("keys")
    )
    chunks: ChunkOptions = Field(
        default_factory=ChunkOptions, description="How points are cut into jobs.", json_schema_extra=unit("keys")
    )
    outputs: OutputOptions = Field(
        default_factory=OutputOptions, description="What is written besides the tables.", json_schema_extra=unit("keys")
    )

    @model_validator(mode="after")
    def _objective_known(self) -> Self:
        if len(self.objective) > 1 and tuple(self.objective) != ("energy", "delay"):
            raise ValueError(f"objective must be one of {', '.join(OBJECTIVES)}, or the list [energy, delay]")
        return self

    @model_validator(mode="after")
    def _semantics_known(self) -> Self:
        if self.semantics == SEMANTICS[2] and self.engine == "accelforge":
            raise ValueError(f"semantics {self.semantics} are not those of engine {self.engine}")
        return self

    @model_validator(mode="after")
    def _limits_native(self) -> Self:
        if self.search.seconds is not None and self.engine != "native":
            raise ValueError(f"search.seconds is for engine native, not {self.engine}")
        return self

    @model_validator(mode="after")
    def _confirm_native(self) -> Self:
        if self.confirm is not None and self.engine != "native":
            raise ValueError(f"confirm is for engine native, not {self.engine}: it evaluates the native optima again")
        return self
