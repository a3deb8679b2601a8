"""The configuration keys of the workflow: type, unit, default and meaning of each."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, StrictInt, Tag, field_validator, model_validator

from jouleloop.energy.choice import DATA, ESTIMATORS, EnergySource, source_of
from jouleloop.engines.protocol import SEMANTICS
from jouleloop.engines.registry import ENGINES
from jouleloop.engines.timeloop.options import ALGORITHMS, CONTAINER, FRONT_ENDS, HOME_VARIABLE
from jouleloop.model.objective import OBJECTIVES
from jouleloop.stats.options import StatisticsOptions
from jouleloop.workload.strict import Strict, key, unit
from jouleloop.workload.sweep_schema import Name

FigureFormat = Literal["png", "svg", "pdf"]


class EnergyEntry(Strict):
    """One estimator of energies and the files it needs."""

    estimator: Literal[ESTIMATORS] = key(  # type: ignore[valid-type]
        "A reference table (tables), the CACTI grid and scaling rules (interpolated), real Accelergy, Timeloop's "
        "own technology model (built-in), or words instead of energies (counts: all architectures or none).",
        "choice",
    )
    table: str | None = key("Reference table of `tables`.", "path", None, min_length=1)
    components: list[str] = key(
        "Files with compound components, for `interpolated` and `accelergy` (in the program's version).", "paths", []
    )
    program: str = key("Executable of `accelergy`.", "path", "accelergy", min_length=1)

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

    arch: str = key("Architecture, Timeloop v0.4 (or v0.3) YAML.", "path", min_length=1)
    energy: Energy = key(
        "Where energies come from: the path of a reference table, interpolated, accelergy, an estimator with its "
        "files, or a list of those, asked in turn for each component.",
        "path or estimator",
    )
    constraints: str = key("Constraints and mapper settings in Timeloop's syntax.", "path", min_length=1)
    set: Literal["full", "arch-only"] = key(
        "Which constraints hold: architecture and mapspace constraints (full), or the former alone.", "choice", "full"
    )

    factors: Literal["perfect", "imperfect"] | None = key(
        "Whether loops must divide the layer (perfect) or may end early (imperfect); without it as the constraints "
        "say, whose template is uber or ruby.",
        "choice",
        None,
    )

    space: Literal["timeloop", "legal"] = key(
        "Which orders of loops count: those that Timeloop's mapper tries (timeloop), or all that the constraints allow "
        "(legal).",
        "choice",
        "timeloop",
    )

    axes: Literal["apart", "free"] = key(
        "Whether a dimension is unrolled along one axis of a fan-out (apart), or may be along both (free).",
        "choice",
        "apart",
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

    seconds: float = key(
        "Estimated work of one chunk; one chunk is one Snakemake job.", "core seconds", 20.0, gt=0, le=86400
    )
    most: StrictInt = key(
        "No more chunks than this for one architecture, however much work there is.", "chunks", 100, ge=1, le=2000
    )
    least: StrictInt = key(
        "No fewer chunks than this on all architectures together, unless layers are fewer.", "chunks", 2, ge=1, le=2000
    )


class OutputOptions(Strict):
    """What a run writes besides its tables."""

    specs: bool = key(
        "Write results/specs/<architecture>/<sweep>/<layer>.yaml, which timeloop-mapper runs as it is.",
        "true or false",
        False,
    )
    search_noise: bool = key(
        "Search every layer again by the 0.1 % rule of Timeloop's mapper, and compare the verdicts.",
        "true or false",
        False,
    )
    figure_formats: list[FigureFormat] = key(
        "Formats of every figure.", "file formats", ["png", "svg", "pdf"], min_length=1
    )


class TimeloopSettings(Strict):
    """How real Timeloop is run, for ``engine: timeloop`` and ``confirm: timeloop``."""

    home: str | None = Field(
        default=None,
        description=f"Folder of timeloop-model and timeloop-mapper; else {HOME_VARIABLE} and PATH are looked in.",
        json_schema_extra=unit("path"),
    )
    container: str = key(
        "Image that has Timeloop, for snakemake --sdm apptainer.", "container image", CONTAINER, min_length=1
    )
    runs: str | None = key(
        "Folder of runs made elsewhere, read instead of running Timeloop; --sdm apptainer sets it.",
        "path",
        None,
        min_length=1,
    )
    front_end: Literal[FRONT_ENDS] = key(  # type: ignore[valid-type]
        "Whether Timeloop is called through pytimeloop: where it is importable (auto), always, or never.",
        "choice",
        "auto",
    )
    algorithm: Literal[ALGORITHMS] = key(  # type: ignore[valid-type]
        "Search algorithm of the mapper; linear-pruned and exhaustive can prove an optimum.", "choice", "linear-pruned"
    )
    threads: StrictInt = key(
        "Threads of the mapper; more than one make random-pruned irreproducible.", "threads", 1, ge=1, le=256
    )
    victory_condition: StrictInt = key(
        "Valid mappings without improvement after which a thread of the mapper stops; 0 for never.", "mappings", 0, ge=0
    )
    timeout_mappings: StrictInt = key(
        "Invalid mappings in a row after which a thread of the mapper stops; 0 for never.", "mappings", 0, ge=0
    )
    max_permutations: StrictInt = key(
        "Permutations that random-pruned tries on each index factorization.", "permutations", 16, ge=1
    )
    model_seconds: float = key(
        "Time limit of one evaluation; it is killed then and its point has status failed.", "s", 60.0, gt=0
    )
    mapper_seconds: float = key(
        "Time limit of one search; its best mapping so far is taken then, and called no optimum.", "s", 3600.0, gt=0
    )


class SearchLimits(Strict):
    """Where a search stops without a proof."""

    seconds: float | None = key(
        "Time limit of one search; its best mapping so far is taken then, with its bound, and called no optimum. "
        "Such rows vary from run to run, and are searched again when the limit is raised.",
        "s",
        None,
        gt=0,
    )


class Config(Strict):
    """Configuration of the jouleloop workflow; paths are relative to the folder that snakemake runs in."""

    architectures: dict[Name, ArchitectureEntry] = key(
        "Targets by name; null leaves one out that another configuration file names.", "name: files", min_length=1
    )
    sweeps: list[str] = key(
        "Sweeps: names of files in layers/ without the ending, or paths that end in .yaml.", "names", []
    )
    networks: list[str] = key(
        "Networks: names of files in layers/networks/ without the ending, or paths that end in .yaml.", "names", []
    )
    replace: bool = key(
        "Replace the study in results/ where it is another one: no sweep and no network in common, or another "
        "configuration file, objective, semantics or engine.",
        "true or false",
        False,
    )
    engine: Literal[ENGINES] = key("What searches the mappings.", "choice", "native")  # type: ignore[valid-type]
    semantics: Literal[SEMANTICS] = key("Which version of Timeloop's counting rules holds.", "choice", SEMANTICS[0])  # type: ignore[valid-type]
    objective: list[Literal[tuple(OBJECTIVES)]] = key(  # type: ignore[valid-type]
        "What is minimised; with several, values within 0.1 % are equal and the next decides.",
        "choices, first counts most",
        ["energy"],
        min_length=1,
        max_length=2,
    )
    seed: StrictInt = key("Seed of an engine that draws at random.", "number", 0, ge=0)
    budget: StrictInt | None = key(
        "Most mappings evaluated for one layer; without it the search runs until the optimum is proven.",
        "mappings",
        None,
        ge=1,
    )
    search: SearchLimits = key("Where a search of the native engine stops.", "keys", default_factory=SearchLimits)
    confirm: Literal["timeloop"] | None = key(
        "Evaluate every optimum of the native engine again with real Timeloop and write the cross-check.",
        "choice",
        None,
    )
    timeloop: TimeloopSettings = key("How real Timeloop is run.", "keys", default_factory=TimeloopSettings)
    statistics: StatisticsOptions = key("How growth is tested.", "keys", default_factory=StatisticsOptions)
    chunks: ChunkOptions = key("How points are cut into jobs.", "keys", default_factory=ChunkOptions)
    outputs: OutputOptions = key("What is written besides the tables.", "keys", default_factory=OutputOptions)

    @field_validator("architectures", mode="before")
    @classmethod
    def _without_null(cls, value: Any) -> Any:
        return {name: entry for name, entry in value.items() if entry is not None} if isinstance(value, dict) else value

    @model_validator(mode="after")
    def _settings_agree(self) -> Self:
        if len(self.objective) > 1 and tuple(self.objective) != ("energy", "delay"):
            raise ValueError(f"objective must be one of {', '.join(OBJECTIVES)}, or the list [energy, delay]")
        if self.semantics != SEMANTICS[0] and self.engine == "accelforge":
            raise ValueError(f"semantics {self.semantics} are not those of engine {self.engine}")
        if self.search.seconds is not None and self.engine != "native":
            raise ValueError(f"search.seconds is for engine native, not {self.engine}")
        if self.confirm is not None and self.engine != "native":
            raise ValueError(f"confirm is for engine native, not {self.engine}: it evaluates the native optima again")
        return self
