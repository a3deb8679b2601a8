"""Reading an ONNX file: its nodes with the shape of every tensor inferred, and which tensors are constants.

Weights are never needed, only their shapes: they are dropped before anything is inferred, and files of external data
are not opened.
"""

import importlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jouleloop.errors import EngineError, Fault, InputError, raise_all, unknown
from jouleloop.files import read_bytes

Shape = tuple[int | None, ...]

#: Constants of at most so many integers are kept: shapes of reshapes and the like are computed from them.
_KEPT_ELEMENTS = 1024
#: Most nodes after all local functions are put in place of their calls.
_MOST_NODES = 1_000_000
_RANDOM = ("Random", "Bernoulli", "Multinomial")


@dataclass(frozen=True)
class OnnxNode:
    """One operation of the graph; ``name`` is made from its type and position where the file has none."""

    name: str
    op: str
    domain: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any] = field(hash=False)

    @property
    def in_bodies(self) -> list[str]:
        """Types of the operations inside the node's own graphs (branches, loop bodies), with repetition."""
        graphs = [value for value in self.attributes.values() if hasattr(value, "node")]
        return [inner.op_type for graph in graphs for inner in _all_nodes(graph)]


@dataclass(frozen=True)
class OnnxGraph:
    """The graph of a model with all local functions in place."""

    nodes: tuple[OnnxNode, ...]
    shapes: Mapping[str, Shape] = field(hash=False)
    """By tensor; an extent that could not be inferred is None, a tensor of unknown rank is left out."""
    outputs: frozenset[str] = frozenset()
    constants: frozenset[str] = frozenset()
    """Tensors that do not depend on any input of the network: weights, and what is computed from them."""
    label: str = ""
    """Opset and producer, for the description of what is written."""


def load_onnx() -> Any:
    """Return the package onnx; raise `EngineError` where it is not installed."""
    try:
        importlib.import_module("onnx.shape_inference")
        importlib.import_module("onnx.inliner")
        return importlib.import_module("onnx")
    except ImportError as error:
        how = "pip install 'jouleloop[onnx]', or pip install onnx (1.16 or later)"
        raise EngineError(Fault(f"the package onnx cannot be imported: {error}", "import", allowed=how)) from error


def read_graph(path: Path, *, batch: int | None = None, shapes: Mapping[str, Sequence[int]] | None = None) -> OnnxGraph:
    """Return the graph of the ONNX file ``path`` with its shapes inferred.

    Raises `InputError` where the file is no valid ONNX model, a shape contradicts another, or an input has a dimension
    without a size; the fault names input and dimension; `EngineError` where the package onnx is missing.

    ``batch`` is the first dimension of every input that leaves it open. ``shapes`` are those of inputs by name; extents
    that the file fixes must be the same. A dimension that the file names, such as ``sequence``, gets the same size
    wherever the name stands.
    """
    onnx = load_onnx()
    source = str(path)
    data = read_bytes(path)
    try:
        model = _parse(onnx, data, source)
        _check_calls(model, source)
        constants = _drop_weights(onnx, model, source)
        _fix_inputs(model, constants, source, batch, dict(shapes or {}))
        onnx.checker.check_model(model)
        model = onnx.inliner.inline_local_functions(model)
        model = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
        return _graph(onnx, model, constants)
    except InputError:
        raise
    except Exception as error:  # onnx and protobuf raise errors of many kinds, also where a name is no UTF-8 text
        raise InputError(Fault(f"not a valid ONNX model: {_one_line(error)}", source)) from error


def _parse(onnx: Any, data: bytes, source: str) -> Any:
    try:
        model = onnx.ModelProto.FromString(data)
    except Exception as error:  # protobuf's DecodeError, whose place differs between versions
        raise InputError(Fault("not an ONNX file: its protocol buffer cannot be decoded", source)) from error
    if not model.ir_version or not model.graph.node:
        raise InputError(Fault("not an ONNX model: it has no graph with nodes", source))
    return model


def _check_calls(model: Any, source: str) -> None:
    """Refuse local functions that call themselves, or that would grow beyond all bounds when put in place."""
    functions = {(f.domain, f.name, getattr(f, "overload", "")): f for f in model.functions}
    sizes: dict[tuple[str, str, str], int] = {}
    active: set[tuple[str, str, str]] = set()

    def size(nodes: Iterable[Any]) -> int:
        total = 0
        for node in nodes:
            key = (node.domain, node.op_type, getattr(node, "overload", ""))
            total += body(key) if key in functions else 1
            total += sum(size(graph.node) for graph in _graphs(node))
            if total > _MOST_NODES:
                raise InputError(Fault("too many nodes", source, "graph", allowed=f"at most {_MOST_NODES}"))
        return total

    def body(key: tuple[str, str, str]) -> int:
        if key in active:
            raise InputError(Fault("a function calls itself", source, "functions", key[1]))
        if key not in sizes:
            active.add(key)
            sizes[key] = size(functions[key].node)
            active.discard(key)
        return sizes[key]

    try:
        size(model.graph.node)
    except RecursionError as error:
        raise InputError(Fault("functions are nested too deeply", source, "functions")) from error


def _drop_weights(onnx: Any, model: Any, source: str) -> set[str]:
    """Turn constants into inputs of the same shape, except small integers; return the names of all constants."""
    graph = model.graph
    declared = {value.name for value in graph.input}
    names = {tensor.values.name for tensor in graph.sparse_initializer}
    kept = []
    faults: list[Fault] = []
    for tensor in graph.initializer:
        dims = list(tensor.dims)
        if not tensor.name or tensor.name in names or any(extent < 0 for extent in dims):
            faults.append(Fault("is no valid constant", source, f"initializer {tensor.name}", dims))
            continue
        names.add(tensor.name)
        elements = 1
        for extent in dims:
            elements *= extent
        if (
            tensor.data_type in (onnx.TensorProto.INT64, onnx.TensorProto.INT32)
            and elements <= _KEPT_ELEMENTS
            and tensor.data_location != onnx.TensorProto.EXTERNAL
        ):
            kept.append(tensor)
        elif tensor.name not in declared:
            graph.input.append(onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, dims))
    raise_all(faults)
    keep = [type(tensor).FromString(tensor.SerializeToString()) for tensor in kept]
    del graph.initializer[:]
    graph.initializer.extend(keep)
    return names


def _fix_inputs(
    model: Any, constants: set[str], source: str, batch: int | None, wanted: dict[str, Sequence[int]]
) -> None:
    """Write the sizes that the user gave into the inputs; raise `InputError` where one stays open."""
    inputs = {value.name: value for value in model.graph.input if value.name not in constants}
    faults = [unknown(name, inputs, "input", source=source, field="--shape") for name in wanted if name not in inputs]
    faults += [
        Fault("must be positive", "--shape", name, list(shape))
        for name, shape in wanted.items()
        if any(extent < 1 for extent in shape)
    ]
    if batch is not None and batch < 1:
        faults.append(Fault("must be positive", field="--batch", value=batch))
    raise_all(faults)
    named: dict[str, int] = {}
    tensors = {name: value.type.tensor_type for name, value in inputs.items() if value.type.HasField("tensor_type")}
    for name, shape in wanted.items():
        if name in tensors and not tensors[name].HasField("shape"):
            for _ in shape:
                tensors[name].shape.dim.add()
        dims = tensors[name].shape.dim if name in tensors else []
        if len(dims) != len(shape):
            faults.append(
                Fault("has another number of dimensions", source, f"input {name}", list(shape), str(len(dims)))
            )
            continue
        for index, (dim, extent) in enumerate(zip(dims, shape, strict=True)):
            faults += _set_extent(dim, extent, named, source, f"input {name}, dimension {index}")
    if batch is not None:
        faults += _set_batch(tensors, batch, named, source)
    for name, tensor in tensors.items():
        faults += _open_extents(name, tensor, named, source)
    raise_all(faults)


def _set_batch(tensors: Mapping[str, Any], batch: int, named: dict[str, int], source: str) -> list[Fault]:
    first = [(name, tensor.shape.dim[0]) for name, tensor in tensors.items() if tensor.shape.dim]
    faults: list[Fault] = []
    open_ones = [(name, dim) for name, dim in first if _extent(dim) is None and dim.dim_param not in named]
    fixed = {_extent(dim) or named.get(dim.dim_param) for _, dim in first}
    if not open_ones and batch not in fixed:
        sizes = ", ".join(sorted(str(size) for size in fixed if size)) or "none"
        faults.append(Fault("no input leaves its first dimension open", source, "--batch", batch, sizes))
    for name, dim in open_ones:
        faults += _set_extent(dim, batch, named, source, f"input {name}, dimension 0")
    return faults


def _set_extent(dim: Any, extent: int, named: dict[str, int], source: str, field_name: str) -> list[Fault]:
    fixed = _extent(dim)
    if fixed is None and dim.dim_param:
        fixed = named.setdefault(dim.dim_param, extent)
    if fixed is not None and fixed != extent:
        return [Fault("is another size in the file, or was given another one", source, field_name, extent, str(fixed))]
    dim.dim_value = extent
    return []


def _open_extents(name: str, tensor: Any, named: Mapping[str, int], source: str) -> list[Fault]:
    how = f"--batch N, or --shape {name}=…"
    if not tensor.HasField("shape"):
        return [Fault("has no shape", source, f"input {name}", allowed=f"--shape {name}=…")]
    faults = []
    for index, dim in enumerate(tensor.shape.dim):
        if _extent(dim) is None and dim.dim_param in named:
            dim.dim_value = named[dim.dim_param]
        elif _extent(dim) is None:
            called = f" ({dim.dim_param})" if dim.dim_param else ""
            fault_field = f"input {name}, dimension {index}{called}"
            faults.append(Fault("has no fixed size", source, fault_field, allowed=how))
    return faults


def _extent(dim: Any) -> int | None:
    """Return the size of a dimension; 0 and below are how some exporters write an open one."""
    return dim.dim_value if dim.HasField("dim_value") and dim.dim_value > 0 else None


def _graph(onnx: Any, model: Any, constants: set[str]) -> OnnxGraph:
    graph = model.graph
    shapes: dict[str, Shape] = {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}
    for value in (*graph.input, *graph.value_info, *graph.output):
        tensor = value.type.tensor_type
        if value.type.HasField("tensor_type") and tensor.HasField("shape"):
            shapes[value.name] = tuple(d.dim_value if d.HasField("dim_value") else None for d in tensor.shape.dim)
    constant = set(constants)
    nodes = []
    for index, node in enumerate(graph.node):
        attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        name = node.name or f"{node.op_type}_{index}"
        nodes.append(OnnxNode(name, node.op_type, node.domain, tuple(node.input), tuple(node.output), attributes))
        given = [tensor for tensor in node.input if tensor]
        computed_once = (given or node.op_type == "Constant") and constant.issuperset(given)
        if computed_once and not node.op_type.startswith(_RANDOM) and not _graphs(node):
            constant.update(node.output)
    opset = next((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), 0)
    producer = " ".join(part for part in (model.producer_name, model.producer_version) if part)
    label = f"opset {opset}" + (f", written by {producer}" if producer else "")
    outputs = frozenset(value.name for value in graph.output)
    return OnnxGraph(tuple(nodes), shapes, outputs, frozenset(constant), label)


def _graphs(node: Any) -> list[Any]:
    return [graph for a in node.attribute for graph in ([a.g] if a.HasField("g") else list(a.graphs))]


def _all_nodes(graph: Any) -> Iterable[Any]:
    for node in graph.node:
        yield node
        for inner in _graphs(node):
            yield from _all_nodes(inner)


def _one_line(error: Exception, limit: int = 300) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= limit else text[: limit - 1] + "…"
