"""What Snakemake has to know of a study: its files, chunks, parameters and targets, in one object that rules read."""

import contextlib
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from jouleloop.config.load import Study, load_study, published_sweeps
from jouleloop.curves.check import check_capacities
from jouleloop.errors import gather
from jouleloop.files import is_file, remove_left_over
from jouleloop.layouts import Layout
from jouleloop.memory import group_kills, group_limit
from jouleloop.report.registry import FIGURES, FigureGroup, FigureKind, figure_groups, is_published
from jouleloop.signals import give_up_when_told, let_it_end
from jouleloop.stats.columns import FITS, LEFT_OUT, RESIDUALS, VERDICTS
from jouleloop.study.chains import SEARCH, check_chains
from jouleloop.study.chunks import chunk_digest, write_layers
from jouleloop.study.confirm import confirm_parameters
from jouleloop.study.engines import check_engines
from jouleloop.study.kernels import compile_kernels
from jouleloop.study.keys import code_digest, digest
from jouleloop.study.occupied import claim, occupied
from jouleloop.study.plan import expected_chunks, map_parameters, plan, plan_variants, targets_of
from jouleloop.study.runlog import LOGS, start_run
from jouleloop.study.summary import finish_run
from jouleloop.study.targets import TargetSet
from jouleloop.study.variants import points_digest
from jouleloop.tables.check import check_attributes, check_published, check_responses
from jouleloop.tables.layers import check_sweeps
from jouleloop.tables.layouts import (
    BUFFER_GROWTH,
    CAPACITY,
    CAPACITY_SUMMARY,
    CHAIN_GROWTH,
    CHAINS,
    CROSSCHECK,
    CROSSCHECK_SUMMARY,
    ENERGIES,
    LAW_POINTS,
    LAW_TERMS,
    LAWS,
    NETWORKS,
    PUBLISHED,
    SEARCH_NOISE,
    THEORY_CONV_ENERGY,
    THEORY_RATIO,
)
from jouleloop.units import PJ, energies_in, said
from jouleloop.workload.sweep import Sweep

RESULTS = "results"
#: Lines of verdicts that the end of a run shows at most.
_MOST_LINES = 24
TIMELOOP_RUNS = f"{RESULTS}/timeloop/runs"


def csv(*layouts: Layout) -> list[str]:
    """Return the exported files of tables."""
    return [f"{RESULTS}/{layout.file}.csv" for layout in layouts]


def parquet(*layouts: Layout) -> list[str]:
    """Return the files of tables that rules hand to each other."""
    return [f"{RESULTS}/{layout.file}.parquet" for layout in layouts]


def _say(made: int, total: int) -> None:
    """Tell that a large sweep is read, before Snakemake says its first word."""
    print(f"{made:,} of {total:,} points read", file=sys.stderr, flush=True)


class Workflow:
    """One configuration as the workflow's rules see it.

    Raises `InputError`, with all faults of the configuration and of the files it names.

    Parameters
    ----------
    data
        The configuration as Snakemake holds it.
    contained
        Whether Timeloop runs in its container, which leaves its outputs in `TIMELOOP_RUNS`.
    """

    def __init__(self, data: Mapping[str, Any], *, contained: bool = False) -> None:
        self.contained = contained
        self._kills = group_kills()
        self.study: Study = load_study(data, progress=_say)
        self.config = config = self.study.config
        gather(
            lambda: check_engines(config),
            lambda: check_sweeps(self.study.tested),
            lambda: check_published([*self.study.tested, *(self._published if self._compared else [])]),
            self._check_targets,
        )
        self.architectures = list(self.config.architectures)
        self.statistics = self.config.statistics.model_dump()
        self.formats = list(dict.fromkeys(self.config.outputs.figure_formats))

    def _check_targets(self) -> None:
        """Raise `InputError` where architectures cannot be read, or else with what their sweeps ask of them in vain."""
        study, config, targets = self.study, self.config, self._targets
        gather(
            lambda: check_capacities(study, targets),
            lambda: check_chains(study.chain_sweeps, config.engine, config.objective, targets),
            lambda: check_attributes(study, targets),
            lambda: check_responses(study, targets),
        )

    @cached_property
    def _targets(self) -> dict[str, TargetSet]:
        return targets_of(self.study)

    # -- sweeps and their files ----------------------------------------------------------------------------------------

    @cached_property
    def sources(self) -> dict[str, str]:
        """The file of every sweep and network."""
        return {sweep.name: sweep.source for sweep in self.study.sweeps}

    @cached_property
    def source_digests(self) -> dict[str, str]:
        """The content of those files: a clock that was set back must not hide an edit."""
        return {name: digest(Path(path).read_text(encoding="utf-8")) for name, path in self.sources.items()}

    @cached_property
    def variant_sources(self) -> dict[str, str]:
        """The file of every sweep of an architecture."""
        return {sweep.name: sweep.source for sweep in self.study.architecture_sweeps}

    @cached_property
    def capacity_sources(self) -> dict[str, list[str]]:
        """The files of every sweep of a capacity: its own, and that of its network."""
        return {
            sweep.name: [sweep.source, *([sweep.curves.network] if sweep.curves and sweep.curves.network else [])]
            for sweep in self.study.capacity_sweeps
        }

    @property
    def capacity_files(self) -> list[str]:
        """The curves of every sweep of a capacity on each of its architectures."""
        return [
            f"{RESULTS}/capacity/{sweep.name}/{arch}/{layout.file}.parquet"
            for sweep in self.study.capacity_sweeps
            for arch in filter(sweep.runs_on, self.architectures)
            for layout in (CAPACITY, CAPACITY_SUMMARY)
        ]

    def capacity_options(self, sweep: str, architecture: str) -> dict[str, Any]:
        """Return what the curves of a sweep on an architecture depend on, by content."""
        found = next(one for one in self.study.capacity_sweeps if one.name == sweep)
        layers = [(point.layer.spec(), point.count) for point in found.points]
        asked = [repr(found.curves), layers, self.statistics]
        return {**self.parameters[architecture], "curves": digest(asked)[:16]}

    @cached_property
    def chain_sources(self) -> dict[str, str]:
        """The file of every sweep of chains."""
        return {sweep.name: sweep.source for sweep in self.study.chain_sweeps}

    @property
    def chain_files(self) -> list[str]:
        """The tables and drawn results of every sweep of chains on each of its architectures."""
        return [
            f"{RESULTS}/chains/{sweep.name}/{arch}.{ending}"
            for sweep in self.study.chain_sweeps
            for arch in filter(sweep.runs_on, self.architectures)
            for ending in ("parquet", "json")
        ]

    def chain_options(self, sweep: str, architecture: str) -> dict[str, Any]:
        """Return what the chains of a sweep on an architecture depend on, by content."""
        found = next(one for one in self.study.chain_sweeps if one.name == sweep)
        asked = digest(repr([found.level, found.recompute, [(p.variant, p.chain.problems) for p in found.points]]))
        return {**self.parameters[architecture], "chains": asked[:16], "fusion": code_digest(SEARCH)}

    @cached_property
    def published_sources(self) -> list[str]:
        """The files of all sweeps with published energies, whether configured or not."""
        return [sweep.source for sweep in self._published]

    @property
    def published_files(self) -> list[str]:
        """The comparisons on every architecture that any of them has energies on."""
        known = {name for sweep in self._published for name, _ in sweep.published}
        return [f"{RESULTS}/published/{name}.parquet" for name in self.architectures if name in known]

    @cached_property
    def _published(self) -> list[Sweep]:
        return published_sweeps()

    def target_files(self, architecture: str | None = None) -> list[str]:
        """Return the files of one architecture, or of all."""
        if architecture is None:
            return sorted({str(path) for target in self._targets.values() for path in target.files.paths()})
        entry = self.config.architectures[architecture]
        energy = [str(path) for source in entry.sources() for path in source.files()]
        return [entry.arch, *dict.fromkeys(energy), entry.constraints]

    # -- chunks and what they depend on --------------------------------------------------------------------------------

    @cached_property
    def chunks(self) -> dict[str, str]:
        """The content of every chunk by its name."""
        return {name: chunk_digest(layers) for name, layers in self._layers.items()}

    @cached_property
    def _layers(self) -> dict[str, Any]:
        return plan(self.study)

    @cached_property
    def _variants(self) -> dict[str, Any]:
        return {arch: plan_variants(self.study, arch) for arch in self.architectures}

    @cached_property
    def parameters(self) -> dict[str, dict[str, Any]]:
        """What the results on each architecture depend on besides the layers."""
        return {arch: map_parameters(self.config, self._targets[arch]) for arch in self.architectures}

    @property
    def chunk_files(self) -> list[str]:
        """The results of all chunks."""
        return [f"{RESULTS}/map/{arch}-{chunk}.json" for arch in self.architectures for chunk in self.chunks]

    @property
    def variant_files(self) -> list[str]:
        """The results of all chunks of variants."""
        names = [f"{arch}-{chunk}" for arch, found in self._variants.items() for chunk in found]
        return [f"{RESULTS}/map/variants/{name}.json" for name in names]

    @property
    def confirm_files(self) -> list[str]:
        """The confirmations of all chunks."""
        return [f"{RESULTS}/confirm/{arch}-{chunk}.json" for arch in self.architectures for chunk in self.chunks]

    def timeloop_runs(self, architecture: str, chunk: str) -> list[str]:
        """Return what stands for the runs that Timeloop makes in its container, nothing where it is called directly."""
        return [f"{RESULTS}/timeloop/{architecture}-{chunk}.done"] if self.contained else []

    def searched_by_timeloop(self, architecture: str, chunk: str) -> list[str]:
        """Return the runs that a search waits for."""
        return self.timeloop_runs(architecture, chunk) if self.config.engine == "timeloop" else []

    def request_sources(self, architecture: str) -> list[str]:
        """Return the user's files that must be there before Timeloop's inputs are written."""
        return [*self.target_files(architecture), *self.sources.values()] if self.config.engine == "timeloop" else []

    def request_needs(self, architecture: str, chunk: str) -> list[str]:
        """Return what is made before Timeloop's inputs are written: the native optima, where it is asked about them."""
        return [] if self.config.engine == "timeloop" else [f"{RESULTS}/map/{architecture}-{chunk}.json"]

    def chunk_options(self, architecture: str, chunk: str) -> dict[str, Any]:
        """Return all that the results of a chunk depend on, by content."""
        return {**self.parameters[architecture], "layers": self.chunks[chunk]}

    def variant_options(self, architecture: str, chunk: str) -> dict[str, Any]:
        """Return what the results of a chunk of variants depend on besides the files of the architecture."""
        return {**self.parameters[architecture], "points": points_digest(self._variants[architecture][chunk])}

    def confirm_options(self, architecture: str, chunk: str) -> dict[str, Any]:
        """Return all that the confirmation of a chunk depends on, by content."""
        return {**self.chunk_options(architecture, chunk), **confirm_parameters(self.study)}

    # -- targets -------------------------------------------------------------------------------------------------------

    @cached_property
    def derived(self) -> list[Layout]:
        """The tables that a run makes of the table of energies."""
        study = self.study
        tested = (FITS, VERDICTS, RESIDUALS, LEFT_OUT, LAWS, LAW_POINTS, LAW_TERMS) if study.tested else ()
        compared = study.unit == PJ and any(sweep.kind == "conv" for sweep in study.tested)
        bounded = bool(study.tested) or any(THEORY_RATIO in kind.needs for kind in self.figure_kinds())
        return [
            *((THEORY_RATIO, BUFFER_GROWTH) if bounded else ()),
            *tested,
            *([NETWORKS] if study.networks else []),
            *([THEORY_CONV_ENERGY] if compared else []),
        ]

    @property
    def further(self) -> list[Layout]:
        """The tables that figures and the page show beside those, and that rules of their own make."""
        return [
            *([SEARCH_NOISE] if self.config.outputs.search_noise else []),
            *([PUBLISHED] if self._compared else []),
            *([CAPACITY, CAPACITY_SUMMARY] if self.study.capacity_sweeps else []),
        ]

    @property
    def shown(self) -> list[str]:
        """What the page shows, by name; nothing where there is no page."""
        if not self.study.tested and not self.study.networks and not self.study.capacity_sweeps:
            return []
        return [*(layout.file for layout in (*self.derived, *self.further)), "summary.json"]

    @property
    def page_inputs(self) -> list[str]:
        """The files that the page is made of."""
        return [*parquet(ENERGIES, *self.derived, *self.further), f"{RESULTS}/summary.json"]

    @cached_property
    def _compared(self) -> bool:
        """Whether a sweep of this run has published energies: their comparison belongs to the run."""
        return any(is_published(self.study, sweep) for sweep in self.study.tested)

    @cached_property
    def targets(self) -> list[str]:
        """All that a run makes."""
        found = parquet(ENERGIES) + csv(ENERGIES, *self.derived, *self.further)
        # Asked for by itself: where one is damaged, nothing that is made already would ask for it.
        found += [f"{RESULTS}/specs/{arch}.yaml" for arch in self.architectures]
        found += [f"{RESULTS}/architecture/{name}.csv" for name in self.variant_sources]
        found += [f"{RESULTS}/verdicts.txt"] if self.study.tested else []
        found += [f"{RESULTS}/report.html"] if self.shown else []
        found += [*csv(CHAINS, CHAIN_GROWTH), f"{RESULTS}/chains.html"] if self.study.chain_sweeps else []
        found += self.figure_files(always=True) + (self.timeloop_inputs if self.config.outputs.specs else [])
        return found + (self.crosscheck if self.config.confirm else [])

    @property
    def timeloop_inputs(self) -> list[str]:
        """The folders with a complete input of Timeloop for every layer."""
        return [f"{RESULTS}/specs/{arch}/{name}" for arch in self.architectures for name in self.sources]

    @property
    def crosscheck(self) -> list[str]:
        """What a cross-check makes."""
        return [*csv(CROSSCHECK, CROSSCHECK_SUMMARY), f"{RESULTS}/crosscheck.html"]

    # -- figures -------------------------------------------------------------------------------------------------------

    def figure_kinds(self) -> list[FigureKind]:
        """Return the kinds of figures that the study has any of."""
        return [kind for kind in FIGURES if kind.subjects(self.study)]

    @cached_property
    def figure_groups(self) -> list[FigureGroup]:
        """The figures of one rule each, of which a job draws those of one sweep or network."""
        return figure_groups(self.study)

    def figure_files(self, *, always: bool = False) -> list[str]:
        """Return the files of all figures, or of those that every run draws."""
        return [
            file.replace(group.pattern, name) if group.pattern else file
            for group in self.figure_groups
            if group.always or not always
            for _, _, files in self.figure_outputs(group)
            for name in group.subjects
            for file in files
        ]

    def figure_outputs(self, group: FigureGroup) -> list[tuple[FigureKind, dict[str, str], list[str]]]:
        """Return kind, labels for Snakemake's report, and files of every figure of a group, by ``{sweep}`` or alike."""
        found: dict[tuple[str, ...], tuple[FigureKind, dict[str, str]]] = {}
        for kind in group.kinds:
            for architecture in self.architectures if "architecture" in kind.per else ["all"]:
                stem = f"{RESULTS}/figures/{kind.stem}".replace("{architecture}", architecture)
                labels = {"figure": kind.name.replace("_", " "), "architecture": architecture}
                labels["heading"] = kind.title or group.pattern
                found.setdefault(tuple(self._files(kind, stem)), (kind, labels))
        return [(kind, labels, list(files)) for files, (kind, labels) in found.items()]

    def figure_inputs(self, group: FigureGroup) -> Callable[[Sequence[str]], list[str]]:
        """Return what tells the files that a job draws from, by its wildcards: tables, and the sweep's own file."""
        sources = {sweep.name: sweep.source for sweep in self.study.every}
        tables = list(dict.fromkeys(file for kind in group.kinds for file in parquet(*kind.inputs)))
        return lambda wildcards: [*tables, *(sources[name] for name in wildcards)]

    def constraints(self, group: FigureGroup) -> dict[str, str]:
        """Return the pattern of the sweeps or networks of a group, by the word that stands for them."""
        return {group.word: self.any_of(group.subjects)} if group.word else {}

    def captions(self, group: FigureGroup) -> Callable[[Sequence[str]], dict[str, str]]:
        """Return what tells the captions of a group by the names of their kinds, by the wildcards of a job."""
        return lambda wildcards: {kind.name: self.caption(kind, *wildcards) for kind in group.kinds}

    def caption(self, kind: FigureKind, subject: str = "") -> str:
        """Return the caption of a kind of figure for a sweep or network, or for the study."""
        sizes = {s.name: len(s.points) for s in self.study.every}
        words = {
            kind.subject or "sweep": subject,
            "layers": sizes[subject] if subject else ", ".join(f"{name} {count}" for name, count in sizes.items()),
            **{key: self.statistics[key] for key in ("margin", "alpha")},
        }
        with energies_in(self.study.unit):
            return said(kind.caption.format(**words))

    def _files(self, kind: FigureKind, stem: str) -> list[str]:
        return [stem.rpartition("/")[0]] if kind.folder else [f"{stem}.{ending}" for ending in self.formats]

    # -- beginning and end of a run ------------------------------------------------------------------------------------

    def begin(self, configuration: Iterable[Path], *, searches: bool = False) -> None:
        """Note that a run begins, and what makes it up, for the progress and the summary; let signals end its jobs.

        Raises `InputError` where `RESULTS` holds another study.

        Parameters
        ----------
        configuration
            The files named by ``--configfile``.
        searches
            Whether jobs of this machine will search: the kernels are compiled before, or each job would.
        """
        config = self.config
        settings = self._settings(configuration)
        claim(Path(RESULTS), self._sweep_names, settings, self.architectures, replace=config.replace)
        _end_jobs_when_told()
        remove_left_over(Path(RESULTS))
        options: dict[str, dict[str, Any]] = {}
        points: dict[str, int] = {}
        for arch in self.architectures:
            for chunk, layers in self._layers.items():
                options[f"{arch}-{chunk}"] = self.chunk_options(arch, chunk)
                points[f"{arch}-{chunk}"] = len(layers)
            for chunk, varied in self._variants[arch].items():
                options[f"variants/{arch}-{chunk}"] = self.variant_options(arch, chunk)
                points[f"variants/{arch}-{chunk}"] = len(varied)
            for sweep in self.study.capacity_sweeps:
                if sweep.runs_on(arch):
                    options[f"curves/{arch}-{sweep.name}"] = self.capacity_options(sweep.name, arch)
                    points[f"curves/{arch}-{sweep.name}"] = len(sweep.points)
            for chains in filter(lambda one: one.runs_on(arch), self.study.chain_sweeps):
                options[f"chains/{arch}-{chains.name}"] = self.chain_options(chains.name, arch)
                points[f"chains/{arch}-{chains.name}"] = len(chains.points)
        start_run(LOGS, expected_chunks(options, points))
        for name, chunk in self._layers.items():
            write_layers(Path(f"{RESULTS}/chunks/{name}.txt"), chunk)
        if searches and config.engine == "native":
            compile_kernels(factors=[entry.factors or "perfect" for entry in config.architectures.values()])

    def refusal(self, configuration: Iterable[Path]) -> str:
        """Return why a run would be refused, whether any job is left to run or not; empty where it would not."""
        fault = occupied(Path(RESULTS), self._sweep_names, self._settings(configuration))
        return "" if fault is None or self.config.replace else f"This run is refused: {fault}"

    @property
    def _sweep_names(self) -> list[str]:
        return [*(sweep.name for sweep in self.study.every), *self.chain_sources]

    def _settings(self, configuration: Iterable[Path]) -> dict[str, Any]:
        """Return what makes the configuration a study of its own; see `claim`."""
        return {
            "configuration": [os.path.relpath(path) for path in configuration] or ["config/config.yaml"],
            "objective": list(self.config.objective),
            "semantics": self.config.semantics,
            "engine": self.config.engine,
        }

    def end(self, *, failed: bool = False) -> None:
        """Show what the run did and found, and that memory was lacking where the system killed something for it."""
        let_it_end()  # Snakemake only removes its locks now
        if group_kills() > self._kills:
            limit = group_limit()
            allowed = "" if limit is None else f" of {limit // 10**6:,} MB"
            print(f"error: a job was killed: memory{allowed} ran out; fewer --cores may do", file=sys.stderr)
        print(finish_run(Path(f"{RESULTS}/summary.json"), LOGS), file=sys.stderr)
        if not failed:
            print(self.answer(), file=sys.stderr)

    def answer(self) -> str:
        """Return what was found and where to look: the verdicts' table, and the page; empty before there are any."""
        words, page = Path(RESULTS) / "verdicts.txt", Path(RESULTS) / "report.html"
        lines = []
        if self.study.tested and is_file(words):
            table = words.read_text(encoding="utf-8").partition("\n\n")[0].splitlines()
            more = [f"… and {len(table) - _MOST_LINES} more"] if len(table) > _MOST_LINES else []
            lines = ["", *table[:_MOST_LINES], *more]
        if self.shown and is_file(page):
            lines += ["", f"in words: {words}; all of it: {page}" if lines else f"all of it: {page}"]
        return "\n".join(lines)

    @staticmethod
    def any_of(names: Iterable[str]) -> str:
        """Return a pattern that matches any of ``names``, or nothing where there are none."""
        return "|".join(map(re.escape, names)) or "(?!)"


def _end_jobs_when_told() -> None:
    """Let signals end all jobs of this process, which Snakemake otherwise waits for, and then the process."""
    import psutil  # noqa: PLC0415 - Snakemake brings it, and no command needs it

    def jobs(end: Callable[[psutil.Process], None]) -> None:
        with contextlib.suppress(psutil.Error):
            for job in psutil.Process().children(recursive=True):
                with contextlib.suppress(psutil.Error):
                    end(job)

    give_up_when_told(lambda: jobs(psutil.Process.terminate), lambda: jobs(psutil.Process.kill))
