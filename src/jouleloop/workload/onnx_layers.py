"""Layers of an ONNX graph: convolutions, and matrix products as fully-connected layers.

A matrix product ``A B`` of ``A`` (rows x K) and ``B`` (K x columns) is a fully-connected layer with C = K inputs and
M = columns outputs, run on a batch of N = rows. The constant factor is the weights; where it is the first factor, the
transposed product is taken. Where both factors are activations (attention), the second takes the place of the weights.
A stack of products with different second factors is as many layers; with one shared factor it is one with more rows.

Source: the operator definitions of ONNX, https://onnx.ai/onnx/operators/ (Conv, Gemm, MatMul).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from jouleloop.errors import Fault, InputError, raise_all
from jouleloop.workload.onnx_read import OnnxGraph, OnnxNode, Shape

#: Operations that become layers: positions of their two factors among the inputs.
_CONVOLUTIONS = {"Conv": (0, 1), "ConvInteger": (0, 1), "QLinearConv": (0, 3)}
_PRODUCTS = {"MatMul": (0, 1), "MatMulInteger": (0, 1), "QLinearMatMul": (0, 3), "Gemm": (0, 1)}
#: Operations with multiply-accumulates that are no layer of this model.
_UNCOUNTED = {
    "ConvTranspose": "a transposed convolution is no layer of this model",
    "DeformConv": "a deformable convolution is no layer of this model",
    **dict.fromkeys(("LSTM", "GRU", "RNN"), "a recurrent layer is no layer of this model"),
    "Einsum": "an Einsum is not taken apart; write it as MatMul",
    **dict.fromkeys(
        ("Attention", "MultiHeadAttention", "GroupQueryAttention", "QAttention"),
        "a fused attention is not taken apart; export it as MatMul and Softmax",
    ),
    **dict.fromkeys(
        ("FusedConv", "FusedMatMul", "FusedGemm", "QGemm", "MatMulNBits", "TransposeMatMul"),
        "a fused operation is not taken apart; export the model without fusion",
    ),
}
_STANDARD_DOMAINS = ("", "ai.onnx")


@dataclass(frozen=True)
class ImportedLayer:
    """One node as a layer; ``sizes`` are those of a network file, ``count`` the layers that the node stands for."""

    node: str
    kind: str
    sizes: dict[str, int] = field(hash=False)
    count: int = 1


@dataclass(frozen=True)
class SkippedNode:
    """A node that is no layer; ``uncounted`` where its multiply-accumulates are missing from what is imported."""

    node: str
    op: str
    reason: str
    uncounted: bool


def graph_layers(graph: OnnxGraph, *, skip_unsupported: bool = False) -> tuple[list[ImportedLayer], list[SkippedNode]]:
    """Return the layers of ``graph`` in order, and the nodes that are none.

    Parameters
    ----------
    skip_unsupported
        Whether a convolution or product that the model cannot express (dilation, three spatial dimensions, unknown
        shape) is skipped instead of refused.

    Raises
    ------
    InputError
        With the name of every node that is refused.
    """
    layers: list[ImportedLayer] = []
    skipped: list[SkippedNode] = []
    faults: list[Fault] = []
    for node in graph.nodes:
        convert = _converter(node)
        if convert is None:
            skipped.append(_skip(node))
            continue
        if all(tensor in graph.constants for tensor in node.outputs):
            skipped.append(SkippedNode(node.name, node.op, "all its inputs are constants", False))
            continue
        try:
            layers.append(convert(graph, node))
        except InputError as error:
            where = f"{node.op} node {node.name}"
            found = [
                Fault(f.message, f.source, f"{where}, {f.field}" if f.field else where, f.value, f.allowed)
                for f in error.faults
            ]
            if skip_unsupported:
                reason = "; ".join(str(fault) for fault in error.faults)
                skipped.append(SkippedNode(node.name, node.op, reason, True))
            else:
                faults += found
    raise_all(faults)
    return layers, skipped


def _converter(node: OnnxNode) -> Callable[[OnnxGraph, OnnxNode], ImportedLayer] | None:
    if node.domain not in _STANDARD_DOMAINS:
        return None
    if node.op in _CONVOLUTIONS:
        return _convolution
    return _product if node.op in _PRODUCTS else None


def _skip(node: OnnxNode) -> SkippedNode:
    counted = [op for op in node.in_bodies if op in _CONVOLUTIONS or op in _PRODUCTS or op in _UNCOUNTED]
    if counted:
        ops = ", ".join(f"{counted.count(op)} {op}" for op in sorted(set(counted)))
        return SkippedNode(node.name, node.op, f"how often its body runs is not known ({ops} inside)", True)
    if node.op in _UNCOUNTED:
        return SkippedNode(node.name, node.op, _UNCOUNTED[node.op], True)
    if node.domain not in (*_STANDARD_DOMAINS, "ai.onnx.ml"):
        return SkippedNode(node.name, node.op, f"an operation of {node.domain} is not known", True)
    return SkippedNode(node.name, node.op, "no convolution and no matrix product", False)


def _operands(graph: OnnxGraph, node: OnnxNode, positions: tuple[int, int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the shapes of both factors; raise `InputError` where an extent is unknown or nothing is multiplied."""
    faults: list[Fault] = []
    shapes: list[tuple[int, ...]] = []
    for position in positions:
        name = node.inputs[position] if position < len(node.inputs) else ""
        shape: Shape | None = graph.shapes.get(name)
        if shape is None or None in shape:
            shown = "unknown" if shape is None else ["?" if extent is None else extent for extent in shape]
            faults.append(Fault(f"the shape of its input {name!r} could not be inferred", value=shown))
        elif any(extent is not None and extent < 1 for extent in shape):
            faults.append(Fault(f"its input {name!r} is empty", value=list(shape)))
        shapes.append(tuple(extent or 0 for extent in shape or ()))
    raise_all(faults)
    return shapes[0], shapes[1]


def _convolution(graph: OnnxGraph, node: OnnxNode) -> ImportedLayer:
    data, weights = _operands(graph, node, _CONVOLUTIONS[node.op])
    axes = len(data) - 2
    if axes not in (1, 2):
        raise InputError(Fault("the model has one or two spatial dimensions", value=axes))
    groups = _whole(node.attributes.get("group", 1))
    kernel, strides, dilations = (
        _per_axis(node, name, axes, default)
        for name, default in (("kernel_shape", list(weights[2:])), ("strides", [1] * axes), ("dilations", [1] * axes))
    )
    faults = []
    if len(weights) != axes + 2 or kernel != list(weights[2:]):
        faults.append(Fault("kernel_shape is not that of the weights", value=kernel, allowed=str(list(weights[2:]))))
    if groups < 1 or data[1] != weights[1] * max(groups, 1) or weights[0] % max(groups, 1):
        faults.append(Fault(f"channels do not fit {groups} groups", value=[data[1], list(weights)]))
    # A kernel of one element looks the same at every dilation.
    if any(dilation != 1 and extent > 1 for dilation, extent in zip(dilations, kernel, strict=False)):
        faults.append(Fault("dilation is not supported by the model", field="dilations", value=dilations, allowed="1"))
    if min(strides) < 1:
        faults.append(Fault("must be positive", field="strides", value=strides))
    raise_all(faults)
    pads = _pads(node, data[2:], kernel, strides)
    outputs = [
        (extent + sum(pad) - size) // stride + 1
        for extent, pad, size, stride in zip(data[2:], pads, kernel, strides, strict=True)
    ]
    inferred = graph.shapes.get(node.outputs[0])
    if min(outputs) < 1:
        raise InputError(Fault("the kernel is larger than the padded input", value=kernel, allowed=str(list(data[2:]))))
    if inferred is None or list(inferred) != [data[0], weights[0], *outputs]:
        shown = None if inferred is None else list(inferred)
        raise InputError(Fault("the inferred output has another shape", value=shown, allowed=str(outputs)))
    if axes == 1:
        # The model's width is P with R; one row of height 1 stands for the missing axis.
        pads, kernel, strides, outputs = [(0, 0), *pads], [1, *kernel], [1, *strides], [1, *outputs]
    extents = (1, *data[2:]) if axes == 1 else data[2:]
    sizes = {"C": weights[1], "M": weights[0] // groups}
    sizes |= _pair("kernel", ("R", "S"), kernel) | _pair("output", ("P", "Q"), outputs)
    if max(strides) > 1:
        sizes |= _pair("stride", ("w_stride", "h_stride"), strides)
    if all(before == after for before, after in pads):
        sizes |= _pair("input", ("input_width", "input_height"), list(extents))
        if any(before for before, _ in pads):
            sizes |= _pair("padding", ("padding_width", "padding_height"), [before for before, _ in pads])
    sizes |= ({"groups": groups} if groups > 1 else {}) | ({"N": data[0]} if data[0] > 1 else {})
    return ImportedLayer(node.name, "conv", sizes)


def _pair(both: str, each: tuple[str, str], height_width: list[int]) -> dict[str, int]:
    """Return sizes along width and height, by the shorthand where they are equal; ONNX has the height first."""
    height, width = height_width
    return {both: width} if height == width else {each[0]: width, each[1]: height}


def _pads(node: OnnxNode, extents: tuple[int, ...], kernel: list[int], strides: list[int]) -> list[tuple[int, int]]:
    """Return zeros before and after, by axis."""
    axes = len(extents)
    how = node.attributes.get("auto_pad", b"NOTSET")
    how = how.decode("ascii", "replace") if isinstance(how, bytes) else str(how)
    if how in ("SAME_UPPER", "SAME_LOWER"):
        found = []
        for extent, size, stride in zip(extents, kernel, strides, strict=True):
            total = max((-(-extent // stride) - 1) * stride + size - extent, 0)
            less, more = total // 2, total - total // 2
            found.append((less, more) if how == "SAME_UPPER" else (more, less))
        return found
    if how == "VALID":
        return [(0, 0)] * axes
    if how != "NOTSET":
        raise InputError(
            Fault("unknown auto_pad", field="auto_pad", value=how, allowed="NOTSET, SAME_UPPER, SAME_LOWER, VALID")
        )
    pads = node.attributes.get("pads", [0] * (2 * axes))
    if not isinstance(pads, list) or len(pads) != 2 * axes or min(pads) < 0:
        raise InputError(Fault("needs a size before and one after each axis", field="pads", value=pads))
    return list(zip(pads[:axes], pads[axes:], strict=True))


def _per_axis(node: OnnxNode, name: str, axes: int, default: list[int]) -> list[int]:
    values = node.attributes.get(name, default)
    if not isinstance(values, list) or len(values) != axes or not all(isinstance(v, int) for v in values):
        raise InputError(Fault(f"needs {axes} integers", field=name, value=values))
    return values


def _whole(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _product(graph: OnnxGraph, node: OnnxNode) -> ImportedLayer:
    positions = _PRODUCTS[node.op]
    first, second = _operands(graph, node, positions)
    if node.op == "Gemm":
        if len(first) != 2 or len(second) != 2:
            raise InputError(Fault("both factors must be matrices", value=[list(first), list(second)]))
        first = first[::-1] if node.attributes.get("transA", 0) else first
        second = second[::-1] if node.attributes.get("transB", 0) else second
    if not first or not second:
        raise InputError(Fault("a factor is a scalar", value=[list(first), list(second)]))
    first = (1, *first) if len(first) == 1 else first
    second = (*second, 1) if len(second) == 1 else second
    if first[-1] != second[-2]:
        raise InputError(Fault("inner extents differ", value=[list(first), list(second)]))
    names = [node.inputs[position] for position in positions]
    if names[0] in graph.constants and names[1] not in graph.constants:
        first, second = _transposed(second), _transposed(first)
    rows, inner, columns = first[-2], first[-1], second[-1]
    stack = _broadcast(first[:-2], second[:-2])
    different = math.prod(second[:-2])
    batch = rows * math.prod(stack) // different
    sizes = {"C": inner, "M": columns} | ({"N": batch} if batch > 1 else {})
    return ImportedLayer(node.name, "fc", sizes, different)


def _transposed(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (*shape[:-2], shape[-1], shape[-2])


def _broadcast(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
    rank = max(len(first), len(second))
    a, b = (1,) * (rank - len(first)) + first, (1,) * (rank - len(second)) + second
    if any(x != y and 1 not in (x, y) for x, y in zip(a, b, strict=True)):
        raise InputError(Fault("stacks of matrices do not fit each other", value=[list(first), list(second)]))
    return tuple(max(pair) for pair in zip(a, b, strict=True))


def multiplicities(layers: list[ImportedLayer]) -> list[tuple[ImportedLayer, int]]:
    """Return every distinct layer once, under the name of its first node, with how often the network runs it."""
    found: dict[Any, tuple[ImportedLayer, int]] = {}
    for layer in layers:
        key = (layer.kind, tuple(sorted(layer.sizes.items())))
        first, count = found.get(key, (layer, 0))
        found[key] = (first, count + layer.count)
    return list(found.values())
