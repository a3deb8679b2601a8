"""Tables and figures of the convolution theory: volumes over memory sizes and processors, exponents, executions."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jouleloop.errors import InputError, unknown
from jouleloop.files import replacing
from jouleloop.theory.convolution.blocking_search import best_blocking
from jouleloop.theory.convolution.bounds import bound_value, find_bound, parallel_bounds, single_processor_bounds
from jouleloop.theory.convolution.crossover import single_processor_terms
from jouleloop.theory.convolution.execute_blocking import execute_blocking
from jouleloop.theory.convolution.layer import RESNET50_LAYERS, RESNET50_PRECISIONS, ConvLayer, Precisions
from jouleloop.theory.convolution.parallel import PARALLEL_ALGORITHMS, parallel_volume
from jouleloop.theory.convolution.volumes import ALGORITHMS, all_volumes
from jouleloop.theory.loop_nest.hbl import hbl_exponents
from jouleloop.theory.loop_nest.read import nest_from_data

MEMORY_WORDS = tuple(2**exponent for exponent in range(6, 27))
PROCESSORS = tuple(2**exponent for exponent in range(27))
PARALLEL_MEMORY_WORDS = 2**20
# Loops in the order of 001 §3.1, so that the subgroups are numbered as in its table.
NESTS: Mapping[str, Mapping[str, object]] = {
    "7NL CNN (stride 2)": {
        "loops": ["i1", "i2", "i3", "i4", "i5", "i6", "i7"],
        "arrays": {
            "I": ["i1", "i2", "2*i4 + i6", "2*i5 + i7"],
            "F": ["i2", "i3", "i6", "i7"],
            "O": ["i1", "i3", "i4", "i5"],
        },
    },
    "7NL CNN, small-filter lift": {
        "loops": ["i1", "i2", "i3", "i4", "i5", "r6", "r7"],
        "arrays": {
            "I": ["i1", "i2", "i4", "r6", "i5", "r7"],
            "F": ["i2", "i3", "r6", "r7"],
            "O": ["i1", "i3", "i4", "i5"],
        },
    },
    "matrix multiplication": {"arrays": {"A": ["i", "k"], "B": ["k", "j"], "C": ["i", "j"]}},
}
# Small enough to run element by element, with memories small enough that every term of Theorem 2.1 leads somewhere.
EXECUTED_LAYERS = {
    "8×8×8 product": ConvLayer(8, 8, 8, 1, 1, 1, 1),
    "3×3 filter": ConvLayer(2, 6, 6, 6, 6, 3, 3),
    "7×7 filter": ConvLayer(1, 4, 4, 8, 8, 7, 7),
    "5×5 filter, stride 2": ConvLayer(2, 4, 4, 6, 6, 5, 5, 2, 2),
}
_LABELS = {
    "blocking_rounded_lp": "blocking (rounded LP)",
    "im2col_with_lowering": "im2col with lowering",
    "winograd": "Winograd",
    "fft": "FFT",
}
_COLOURS = {
    "blocking": "#b2182b",
    "blocking_rounded_lp": "#ef8a62",
    "im2col": "#2166ac",
    "im2col_with_lowering": "#67a9cf",
    "winograd": "#1b7837",
    "fft": "#762a83",
    "naive": "#7f7f7f",
}


def memory_table(
    layers: Mapping[str, ConvLayer] = RESNET50_LAYERS,
    precisions: Precisions = RESNET50_PRECISIONS,
    memories: Iterable[int] = MEMORY_WORDS,
) -> pd.DataFrame:
    """Return the volume of every algorithm beside Theorem 2.1, a row per layer, memory and algorithm (Figure 2)."""
    rows: list[dict[str, object]] = []
    sizes = list(memories)
    for name, layer in layers.items():
        for memory in sizes:
            found = find_bound(single_processor_bounds(layer, precisions, memory), "single_processor_lower_bound")
            bound = float(found.value or 0)
            rows.extend(
                {
                    "layer": name,
                    "memory_words": memory,
                    "algorithm": volume.algorithm,
                    "volume_words": float(volume.words),
                    "lower_bound_words": bound,
                    "ratio_to_bound": float(volume.words) / bound,
                    "active_term": found.note.removeprefix("active term: "),
                    "volume_source": volume.source,
                }
                for volume in all_volumes(layer, precisions, memory)
            )
    return pd.DataFrame(rows)


def processor_table(
    layers: Mapping[str, ConvLayer] = RESNET50_LAYERS,
    precisions: Precisions = RESNET50_PRECISIONS,
    processors: Iterable[int] = PROCESSORS,
    memory_words: int = PARALLEL_MEMORY_WORDS,
) -> pd.DataFrame:
    """Return the words received by the busiest processor beside Theorems 2.2 and 2.3 (Figure 3).

    Volumes are missing where no grid has blocks that fit in ``memory_words``, ratios also where the bound is 0.
    """
    rows = []
    counts = list(processors)
    for name, layer in layers.items():
        for count in counts:
            bound = bound_value(parallel_bounds(layer, precisions, memory_words, count), "parallel_lower_bound")
            for algorithm in PARALLEL_ALGORITHMS:
                volume = parallel_volume(algorithm, layer, precisions, count, memory_words)
                words = math.nan if volume is None else float(volume.received_words)
                rows.append(
                    {
                        "layer": name,
                        "processors": count,
                        "memory_words": memory_words,
                        "algorithm": algorithm,
                        "received_words": words,
                        "lower_bound_words": bound,
                        "ratio_to_bound": words / bound if bound > 0 else math.nan,
                        "grid": "" if volume is None else "x".join(map(str, volume.grid)),
                    }
                )
    return pd.DataFrame(rows)


def crossing_table(
    layers: Mapping[str, ConvLayer] = RESNET50_LAYERS, precisions: Precisions = RESNET50_PRECISIONS
) -> pd.DataFrame:
    """Return which term of Theorem 2.1 leads for which memory sizes, a row per layer and regime."""
    return pd.DataFrame(
        {
            "layer": name,
            "active_term": regime.active,
            "from_memory_words": regime.from_words,
            "to_memory_words": regime.to_words,
        }
        for name, layer in layers.items()
        for regime in single_processor_terms(layer, precisions).regimes()
    )


def exponent_table(nests: Mapping[str, Mapping[str, object]] = NESTS) -> pd.DataFrame:
    """Return every rank constraint and the exponents of the nests of 001 §3.1, a row per constraint."""
    rows = []
    for name, data in nests.items():
        result = hbl_exponents(nest_from_data(data))
        chosen = ", ".join(f"s_{array} = {value}" for array, value in result.exponents.items())
        for record in result.constraint_records():
            ranks = ", ".join(str(value) for key, value in record.items() if key.startswith("rank of"))
            rows.append(
                {
                    "nest": name,
                    "H": record["H"],
                    "basis": record["basis"],
                    "rank": record["rank"],
                    "image_ranks": ranks,
                    "constraint": record["constraint"],
                    "distinct_constraints": len(result.distinct),
                    "exponent_sum": str(result.total),
                    "exponents": chosen,
                }
            )
    return pd.DataFrame(rows)


def executed_table(
    layers: Mapping[str, ConvLayer] = EXECUTED_LAYERS,
    precisions: Sequence[Precisions] = (Precisions(), RESNET50_PRECISIONS, Precisions(Fraction(1, 4), Fraction(1, 4))),
    memories: Iterable[int] = (4, 5, 6, 8, 12, 16, 24, 48, 96, 200),
) -> pd.DataFrame:
    """Run the best blocking of small layers element by element and set what it moved beside Theorem 2.1."""
    rows = []
    sizes = list(memories)
    for name, layer in layers.items():
        for prices in precisions:
            for memory in sizes:
                bound = find_bound(single_processor_bounds(layer, prices, memory), "single_processor_lower_bound")
                best = best_blocking(layer, prices, memory)
                run = execute_blocking(layer, prices, best.blocking, memory, kept=best.kept)
                rows.append(
                    {
                        "layer": name,
                        "precisions": f"{prices.input}, {prices.filter}, {prices.output}",
                        "memory_words": memory,
                        "peak_words": float(run.peak_words),
                        "executed_words": float(run.words_moved),
                        "closed_form_words": float(best.words),
                        "lower_bound_words": float(bound.value or 0),
                        "ratio_to_bound": float(run.words_moved) / float(bound.value or 1),
                        "active_term": bound.note.removeprefix("active term: "),
                        "block": best.describe(),
                    }
                )
    return pd.DataFrame(rows)


def draw_memory_figure(table: pd.DataFrame, path: Path) -> None:
    """Draw volumes as multiples of the bound over memory sizes, a panel per layer (after 001 Figure 2)."""
    layers = list(dict.fromkeys(table["layer"]))
    figure, panels = _panels(len(layers), "fast memory M, words")
    for panel, layer in zip(panels, layers, strict=True):
        rows = table[table["layer"] == layer]
        _lines(panel, rows, "memory_words", "ratio_to_bound", ALGORITHMS)
        panel.axhline(1, color="black", linewidth=1, linestyle="--", label="lower bound (Theorem 2.1)")
        changed = rows.drop_duplicates("memory_words")
        for before, after, memory in zip(
            changed["active_term"], changed["active_term"][1:], changed["memory_words"][1:], strict=False
        ):
            if before != after:
                panel.axvline(memory, color="black", linewidth=0.6, linestyle=":", label="another term leads")
        panel.set_title(layer)
    panels[0].set_ylabel("words moved / lower bound")
    _save(figure, panels[0], path)


def draw_processor_figure(table: pd.DataFrame, path: Path) -> None:
    """Draw words received and their ratio to the bound over processor counts (after 001 Figure 3)."""
    layers = list(dict.fromkeys(table["layer"]))
    figure, panels = _panels(len(layers), "processors P", rows=2)
    for column, layer in enumerate(layers):
        rows = table[table["layer"] == layer]
        above, below = panels[column], panels[len(layers) + column]
        _lines(above, rows, "processors", "received_words", PARALLEL_ALGORITHMS)
        bound = rows.drop_duplicates("processors")
        # A missing value breaks the line where the bound says nothing.
        positive = bound["lower_bound_words"].where(bound["lower_bound_words"] > 0)
        above.plot(
            bound["processors"],
            positive,
            color="black",
            linestyle="--",
            linewidth=1,
            label="lower bound (Theorems 2.2, 2.3)",
        )
        _lines(below, rows, "processors", "ratio_to_bound", PARALLEL_ALGORITHMS)
        below.axhline(1, color="black", linewidth=1, linestyle="--")
        above.set_title(layer)
    panels[0].set_ylabel("words received by the busiest processor")
    panels[len(layers)].set_ylabel("words received / lower bound")
    _save(figure, panels[0], path)


TABLES: Mapping[str, Callable[[], pd.DataFrame]] = {
    "memory": memory_table,
    "processors": processor_table,
    "crossings": crossing_table,
    "exponents": exponent_table,
    "executed": executed_table,
}
FIGURES = {"memory": draw_memory_figure, "processors": draw_processor_figure}


def write_table(name: str, path: Path) -> None:
    """Write the table ``name``, one of `TABLES`, as CSV with the ResNet-50 layers and 001's precisions."""
    if name not in TABLES:
        raise InputError(unknown(name, TABLES, "table"))
    with replacing(path) as temporary:
        TABLES[name]().to_csv(temporary, index=False, float_format="%.12g")


def draw_figure(name: str, table: Path, path: Path) -> None:
    """Draw the figure ``name``, one of `FIGURES`, from its table in CSV."""
    if name not in FIGURES:
        raise InputError(unknown(name, FIGURES, "figure"))
    FIGURES[name](pd.read_csv(table), path)


def _panels(count: int, xlabel: str, *, rows: int = 1) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(3.1 * count, 1.0 + 3.1 * rows), layout="constrained")
    grid = figure.subplots(rows, count, squeeze=False, sharey="row", sharex=True)
    panels = [panel for line in grid for panel in line]
    for panel in panels:
        panel.set_xscale("log", base=2)
        panel.set_yscale("log")
        panel.grid(visible=True, linewidth=0.3)
    for panel in grid[-1]:
        panel.set_xlabel(xlabel)
    return figure, panels


def _lines(panel: Axes, rows: pd.DataFrame, x: str, y: str, algorithms: Sequence[str]) -> None:
    for algorithm in algorithms:
        line = rows[(rows["algorithm"] == algorithm) & rows[y].gt(0)]
        style = "--" if algorithm in {"blocking_rounded_lp", "im2col_with_lowering"} else "-"
        panel.plot(
            line[x],
            line[y],
            color=_COLOURS[algorithm],
            linestyle=style,
            marker=".",
            markersize=3,
            linewidth=1.2,
            label=_LABELS.get(algorithm, algorithm),
        )


def _save(figure: Figure, legend_of: Axes, path: Path) -> None:
    named = {label: handle for handle, label in zip(*legend_of.get_legend_handles_labels(), strict=True)}
    figure.legend(named.values(), named.keys(), loc="outside lower center", ncols=len(named), fontsize="small")
    # No date and a fixed salt: the same numbers give the same file.
    with mpl.rc_context({"svg.hashsalt": "jouleloop"}), replacing(path) as temporary:
        figure.savefig(temporary, metadata={"Date": None} if path.suffix == ".svg" else None)
