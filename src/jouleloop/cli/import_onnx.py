"""``jouleloop import``: the layers of an ONNX model, or Timeloop problem files, as a network file."""

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from jouleloop.api.onnx_chains import graph_chains
from jouleloop.api.project import own_root
from jouleloop.config.load import NETWORKS
from jouleloop.errors import Fault, InputError, raise_all
from jouleloop.files import read_bytes
from jouleloop.terminal.console import print_json, print_note, print_text
from jouleloop.workload.network_file import network_document, network_macs, problems_document, write_network
from jouleloop.workload.onnx_layers import SkippedNode, graph_layers, multiplicities
from jouleloop.workload.onnx_operands import ImportedLayer
from jouleloop.workload.onnx_read import read_graph

_SHOWN_NODES = 3
_YAML = (".yaml", ".yml")


def import_onnx(
    files: Annotated[
        list[Path],
        typer.Argument(help="One ONNX file, whose weights are not needed and not read; or Timeloop problem files."),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            help="Network file to write; without it <model>.yaml, for problem files <their folder>.yaml, in "
            "layers/networks/ of the project, or here.",
        ),
    ] = None,
    batch: Annotated[
        int | None,
        typer.Option("--batch", help="First dimension (images) of every input that leaves it open.", min=1),
    ] = None,
    shape: Annotated[
        list[str] | None,
        typer.Option("--shape", help="Shape of an input in elements, such as input=1,3,224,224; may be repeated."),
    ] = None,
    skip_unsupported: Annotated[
        bool,
        typer.Option(
            "--skip-unsupported",
            help="Leave out convolutions and products that the model cannot express (such as four axes), and say so.",
        ),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace layers/networks/<model>.yaml.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print what was written and what was skipped as JSON.")
    ] = False,
) -> None:
    """Write the layers of an ONNX model, or Timeloop problem files, as a network file that sweeps and studies use."""
    if all(file.suffix in _YAML for file in files):
        path = _output(output, files[0].resolve().parent.name, force=force)
        document, macs = problems_document(files, path)
        _write(path, document, len(files), macs, [], as_json=as_json)
        return
    model, *others = files
    if others:
        allowed = "one ONNX file, or problem files that end in .yaml"
        raise InputError(Fault("cannot be imported together with other files", str(model), allowed=allowed))
    shapes = _shapes(shape or [])
    path = _output(output, model.stem, force=force)
    graph = read_graph(model, batch=batch, shapes=shapes)
    layers, skipped = graph_layers(graph, skip_unsupported=skip_unsupported)
    if not as_json:
        _tell_skipped(skipped)
    if not layers:
        raise InputError(Fault("has no convolution and no matrix product with activations", str(model)))
    distinct = multiplicities(layers)
    identity = hashlib.sha256(read_bytes(model)).hexdigest()[:16]
    description = f"Imported from {model.name} ({graph.label}; SHA-256 starts with {identity})."
    if missing := Counter(node.op for node in skipped if node.uncounted):
        left_out = ", ".join(f"{count} {op}" for op, count in sorted(missing.items()))
        description += f" Without the multiply-accumulates of {left_out}{_share(skipped, distinct)}."
    document = network_document(distinct, path.stem, description=description, chains=graph_chains(graph, layers))
    runs = sum(count for _, count in distinct)
    _write(path, document, runs, network_macs(document), skipped, as_json=as_json)


def _output(output: Path | None, name: str, *, force: bool) -> Path:
    """Return the file to write."""
    path = output
    if path is None:
        own = own_root()
        path = (Path() if own is None else own / NETWORKS) / f"{name}.yaml"
        if path.exists() and not force:
            raise InputError(Fault("is there already", str(path), allowed="--force, or another file by --output"))
    elif path.suffix not in _YAML:
        raise InputError(Fault("a network file ends in .yaml", field="--output", value=str(path)))
    return path


def _write(
    path: Path, document: dict[str, Any], runs: int, macs: int, skipped: list[SkippedNode], *, as_json: bool
) -> None:
    """Write the network of so many layers, and say so."""
    write_network(path, document)
    if as_json:
        counts = {"distinct_layers": len(document["layers"]), "layers": runs, "macs": macs}
        left_out = [asdict(node) for node in skipped]
        print_json({"output": str(path), **counts, "network": document, "skipped": left_out})
        return
    text = f"{len(document['layers'])} distinct layers of {runs}, {macs:,} multiply-accumulates"
    print_text(f"{text}\nwritten to {path}")


def _share(skipped: list[SkippedNode], distinct: list[tuple[ImportedLayer, int]]) -> str:
    """Return in words what share of all multiply-accumulates is left out; of some operations nobody knows it."""
    left_out = [node.macs for node in skipped if node.uncounted]
    known = sum(macs for macs in left_out if macs is not None)
    counted = network_macs(network_document(distinct, "net"))
    unknown = sum(macs is None for macs in left_out)
    share = f", {known / (known + counted):.1%} of all" if known else ""
    return share + (f", those of {unknown} unknown" if unknown else "")


def _shapes(options: Iterable[str]) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {}
    faults: list[Fault] = []
    for text in options:
        name, _, sizes = text.rpartition("=")
        extents = sizes.split(",")
        if not name or not all(extent.strip().isascii() and extent.strip().isdigit() for extent in extents):
            faults.append(Fault("is no NAME=SIZE,SIZE,…", field="--shape", value=text, allowed="input=1,3,224,224"))
        elif name in shapes:
            faults.append(Fault("is given twice", field="--shape", value=name))
        elif any(len(extent.strip()) > 9 for extent in extents):
            faults.append(Fault("has a size that is too large", field="--shape", value=text))
        else:
            shapes[name] = tuple(int(extent) for extent in extents)
    raise_all(faults)
    return shapes


def _tell_skipped(skipped: list[SkippedNode]) -> None:
    """Say on standard error what is left out: one line a reason, first what has multiply-accumulates."""
    groups: dict[tuple[bool, str, str], list[str]] = {}
    for node in skipped:
        groups.setdefault((not node.uncounted, node.op, node.reason), []).append(node.node)
    for (harmless, op, reason), names in sorted(groups.items()):
        shown = ", ".join(names[:_SHOWN_NODES]) + (", …" if len(names) > _SHOWN_NODES else "")
        label = "skipped" if harmless else "warning: skipped, its multiply-accumulates are missing:"
        print_note(f"{label} {len(names)} {op} ({shown}): {reason}")
