"""Options that several commands share, and how their text becomes values."""

from pathlib import Path
from typing import Annotated

import typer

from jouleloop.energy.choice import ESTIMATORS
from jouleloop.engines.protocol import SEMANTICS
from jouleloop.engines.registry import ENGINES
from jouleloop.model.objective import OBJECTIVES
from jouleloop.terminal import splice

AsJson = splice.AsJson
Arch = Annotated[
    str,
    typer.Option(
        "--arch",
        help="Architecture: a name in config/config.yaml or arch/, or the path of a YAML file (or jinja2 template).",
    ),
]
Archs = Annotated[
    list[str], typer.Option("--arch", help="Architecture (name or YAML file); may be given several times.")
]
LayerText = Annotated[
    str,
    typer.Option(
        "--layer",
        help="Layer: fc:INPUTSxOUTPUTS; conv:C3xM64xP57xQ57xR3xS3 with /strideN, /groupsN, or with "
        "/inputN, /paddingN and /floor (rounding) instead of P and Q; matmul:MxNxK; each with /batchN. All kinds: "
        "docs/layer-texts.md. Or a Timeloop problem file.",
    ),
]
LayerOrNetwork = Annotated[str | None, typer.Option("--layer", help="Layer, as jouleloop map takes it.")]
InsteadOfLayer = Annotated[
    str | None,
    typer.Option("--network", help="Instead of a layer: a network in layers/networks/ by name, or any by its path."),
]
ConstraintSet = Annotated[
    str | None,
    typer.Option(
        "--constraints",
        help="Set of constraints: full, arch-only, none; or the path of a constraints file. Default: as configured.",
    ),
]
EnergyTable = Annotated[
    list[str] | None,
    typer.Option(
        "--energy",
        help=(
            "Where energies (pJ per action) come from, instead of what is configured: the path of a reference table, "
            f"or an estimator: {', '.join(ESTIMATORS)}. Given several times, they are asked in turn."
        ),
    ),
]
Components = Annotated[
    list[Path] | None,
    typer.Option(
        "--components", help="File with compound components for interpolated or accelergy; may be given several times."
    ),
]
Variables = Annotated[
    list[str] | None,
    typer.Option("--variable", help="NAME=VALUE for an architecture file that is a jinja2 template; may be repeated."),
]
AllowOutside = Annotated[
    bool, typer.Option("--allow-outside", help="Let designs include files from outside their folder; each is named.")
]
Changes = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="NODE.ATTRIBUTE=VALUE: an attribute of the architecture to change, such as shared_glb.depth=8192; "
        "null takes it away; may be repeated.",
    ),
]
Semantics = Annotated[str, typer.Option("--semantics", help=f"Counting rules: {' or '.join(SEMANTICS)}.")]
LoopFactors = Annotated[
    str | None,
    typer.Option("--factors", help="perfect: loops divide the layer; imperfect: they may end early. As configured."),
]
Space = Annotated[
    str | None,
    typer.Option(
        "--space",
        help="timeloop: the orders of loops that its mapper tries; legal: all that constraints allow. As configured.",
    ),
]
Axes = Annotated[
    str | None,
    typer.Option(
        "--axes",
        help="apart: a dimension is unrolled along one axis of a fan-out; free: along both, where no window slides. "
        "As configured.",
    ),
]
Objective = Annotated[
    str,
    typer.Option(
        "--objective",
        help=f"What is minimised: {', '.join(OBJECTIVES)} ({', '.join(o.unit for o in OBJECTIVES.values())}); "
        "or energy,delay.",
    ),
]
EngineName = Annotated[str, typer.Option("--engine", help=f"What searches: {', '.join(ENGINES)}.")]
Budget = Annotated[
    int | None, typer.Option("--budget", min=1, help="Most mappings to evaluate; without it the optimum is proven.")
]
Seconds = Annotated[
    float | None,
    typer.Option(
        "--seconds", min=0.0, help="Stop each search after so many seconds, with its best mapping and a proven bound."
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        help="Folder for tables and the result store; without it results/COMMAND/ and the names of layers and "
        "architectures.",
        file_okay=False,
    ),
]
Replace = Annotated[
    bool, typer.Option("--replace", help="Write into a folder that holds another study, whose tables go then.")
]
Certificate = Annotated[
    Path | None,
    typer.Option(
        "--certificate",
        help="Write the proof of the optimum to this file; jouleloop check verifies it.",
        dir_okay=False,
    ),
]
WriteMappings = Annotated[
    Path | None,
    typer.Option(
        "--write-mappings",
        help="Write the mapping of every layer into this folder: YAML as timeloop-model reads it, and the loop nest.",
    ),
]
WriteTable = Annotated[
    Path | None,
    typer.Option(
        "--write-table", help="Write all rows to this file, .csv or .parquet (docs/tables.md).", dir_okay=False
    ),
]
WriteFigure = Annotated[
    Path | None,
    typer.Option(
        "--write-figure", help="Draw them into this file: .png, .svg, .pdf, or .html with all rows.", dir_okay=False
    ),
]
Verbose = Annotated[
    bool, typer.Option("--verbose", help="Print words by level, energies per action and how the search went, too.")
]
FusionLevel = Annotated[
    str | None,
    typer.Option("--level", help="Level where shared tensors live; the outermost one on the chip without it."),
]
Recompute = Annotated[
    bool, typer.Option("--recompute", help="Compute overlaps of windows again where that is cheaper.")
]
FusedPage = Annotated[
    Path | None, typer.Option("--page", help="Draw the fused loop nests into this HTML file.", dir_okay=False)
]
