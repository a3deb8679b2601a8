"""The configuration keys of the workflow: type, unit, default and meaning of each."""

from typing import Literal, Self

from pydantic import Field, StrictInt, model_validator

from jouleloop.engines.protocol import OBJECTIVES, SEMANTICS
from jouleloop.engines.registry import ENGINES
from jouleloop.stats.options import StatisticsOptions
from jouleloop.workload.sweep_schema import Name, Strict, unit

FigureFormat = Literal["png", "svg", "pdf"]


class ArchitectureEntry(Strict):
    """The files that make up one target."""

    arch: str = Field(
        description="Architecture, Timeloop v0.4 (or v0.3) YAML.", min_length=1, json_schema_extra=unit("path")
    )
    energy: str = Field(description="Energy reference table.", min_length=1, json_schema_extra=unit("path"))
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


class ChunkOptions(Strict):
    """How the points of a run are cut into jobs."""

    seconds: float = Field(
        default=30.0,
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
        description="No fewer chunks than this for one architecture (unless layers are fewer): all cores work.",
        json_schema_extra=unit("chunks"),
    )


class OutputOptions(Strict):
    """What a run writes besides its tables."""

    specs: bool = Field(
        default=False,
        description="Write results/specs/<architecture>/<sweep>/<layer>.yaml, a complete Timeloop input a point.",
        json_schema_extra=unit("true or false"),
    )
    figure_formats: list[FigureFormat] = Field(
        default=["png", "svg", "pdf"],
        min_length=1,
        description="Formats of every figure.",
        json_schema_extra=unit("file formats"),
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
    engine: Literal[ENGINES] = Field(  # type: ignore[valid-type]
        default="native", description="What searches the mappings.", json_schema_extra=unit("choice")
    )
    semantics: Literal[SEMANTICS] = Field(  # type: ignore[valid-type]
        default=SEMANTICS[0],
        description="Which version of Timeloop's counting rules holds.",
        json_schema_extra=unit("choice"),
    )
    objective: list[Literal[OBJECTIVES]] = Field(  # type: ignore[valid-type]
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
            raise ValueError("objective must be one of energy, delay, edp, or the list [energy, delay]")
        return self
