"""Layers of an ONNX graph: convolutions, and matrix products as fully-connected layers or products of activations.

A matrix product ``A B`` of ``A`` (rows x K) and ``B`` (K x columns) is a fully-connected layer with C = K inputs and
M = columns outputs, run on a batch of N = rows. The constant factor is the weights; where it is the first factor, the
transposed product is taken. Where both factors are activations (attention), it is a ``matmul``, whose second factor
takes the place of the weights. A stack of products with different second factors is as many layers, of activations as
many heads; with one shared factor it is one with more rows.

Source: the operator definitions of ONNX, https://onnx.ai/onnx/operators/ (Conv, ConvTranspose, Gemm, MatMul, Einsum,
Attention).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jouleloop.errors import Fault, InputError, raise_all
from jouleloop.workload.onnx_attention import attention_layers, einsum_layers
from jouleloop.workload.onnx_operands import ImportedLayer, matmul_layer, operand_shape
from jouleloop.workload.onnx_read import OnnxGraph, OnnxNode

#: Operations that become layers: positions of their two factors among the inputs.
_CONVOLUTIONS = {"Conv": (0, 1), "ConvInteger": (0, 1), "QLinearConv": (0, 3), "ConvTranspose": (0, 1)}
_PRODUCTS = {"MatMul": (0, 1), "MatMulInteger": (0, 1), "QLinearMatMul": (0, 3), "Gemm": (0, 1)}
#: Operations with multiply-accumulates that are no layer of this model.
_UNCOUNTED = {
    "DeformConv": "a deformable convolution is no layer of this model",
    **dict.fromkeys(("LSTM", "GRU", "RNN"), "a recurrent layer is no layer of this model"),
    **dict.fromkeys(
        ("MultiHeadAttention", "GroupQueryAttention", "QAttention"),
        "a fused attention is not taken apart; export it as MatMul and Softmax",
    ),
    **dict.fromkeys(
        ("FusedConv", "FusedMatMul", "FusedGemm", "QGemm", "MatMulNBits", "TransposeMatMul"),
        "a fused operation is not taken apart; export the model without fusion",
    ),
}
_STANDARD_DOMAINS = ("", "ai.onnx")


@dataclass(frozen=True)
class SkippedNode:
    """A node that is no layer; ``uncounted`` where multiply-accumulates are missing, ``macs`` where they are known."""

    node: str
    op: str
    reason: str
    uncounted: bool
    macs: int | None = None


#: What to do about a node that is none of our layers.
_SKIP = "--skip-unsupported leaves such nodes out, and says so"


def graph_layers(graph: OnnxGraph, *, skip_unsupported: bool = False) -> tuple[list[ImportedLayer], list[SkippedNode]]:
    """Return the layers of ``graph`` in order, and the nodes that are none.

    Raises `InputError`, with the name of every node that is refused.

    With ``skip_unsupported`` a convolution or product that the model cannot express (four spatial dimensions, a sum
    inside a factor, an unknown shape) is skipped instead of refused.
    """
    layers: list[ImportedLayer] = []
    skipped: list[SkippedNode] = []
    faults: list[Fault] = []
    for node in graph.nodes:
        convert = _converter(node)
        if convert is None:
            skipped.append(_skip(graph, node))
            continue
        if all(tensor in graph.constants for tensor in node.outputs):
            skipped.append(SkippedNode(node.name, node.op, "all its inputs are constants", False))
            continue
        try:
            layers += convert(graph, node)
        except InputError as error:
            where = f"{node.op} node {node.name}"
            found = [
                Fault(f.message, f.source, f"{where}, {f.field}" if f.field else where, f.value, f.allowed or _SKIP)
                for f in error.faults
            ]
            if skip_unsupported:
                reason = "; ".join(str(fault) for fault in error.faults)
                skipped.append(SkippedNode(node.name, node.op, reason, True))
            else:
                faults += found
    raise_all(faults)
    return layers, skipped


def _converter(node: OnnxNode) -> Callable[[OnnxGraph, OnnxNode], list[ImportedLayer]] | None:
    if node.domain not in _STANDARD_DOMAINS:
        return None
    if node.op in _CONVOLUTIONS:
        return _transposed_convolution if node.op == "ConvTranspose" else _convolution
    others = {"Einsum": einsum_layers, "Attention": attention_layers}
    return _product if node.op in _PRODUCTS else others.get(node.op)


def _skip(graph: OnnxGraph, node: OnnxNode) -> SkippedNode:
    known = {*_CONVOLUTIONS, *_PRODUCTS, *_UNCOUNTED, "Einsum", "Attention"}
    counted = [op for op in node.in_bodies if op in known]
    if counted:
        ops = ", ".join(f"{counted.count(op)} {op}" for op in sorted(set(counted)))
        return SkippedNode(node.name, node.op, f"how often its body runs is not known ({ops} inside)", True)
    if node.op in _UNCOUNTED:
        return SkippedNode(node.name, node.op, _UNCOUNTED[node.op], True, _macs_left_out(graph, node))
    if node.domain not in (*_STANDARD_DOMAINS, "ai.onnx.ml"):
        return SkippedNode(node.name, node.op, f"an operation of {node.domain} is not known", True)
    return SkippedNode(node.name, node.op, "no convolution and no matrix product", False)


def _macs_left_out(graph: OnnxGraph, node: OnnxNode) -> int | None:
    """Return the multiply-accumulates of a node that is no layer: deformable convolutions and recurrent layers."""
    try:
        data, weights = _operands(graph, node, (0, 1))
        if node.op == "DeformConv":
            return math.prod(weights) * math.prod(operand_shape(graph, node.outputs[0])[2:]) * data[0]
        if node.op in ("LSTM", "GRU", "RNN"):
            return math.prod(data[:2]) * (math.prod(weights) + math.prod(operand_shape(graph, node.inputs[2])))
    except (InputError, IndexError):
        pass
    return None


def _operands(graph: OnnxGraph, node: OnnxNode, positions: tuple[int, int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the shapes of both factors; raise `InputError` where an extent is unknown or nothing is multiplied."""
    faults: list[Fault] = []
    shapes: list[tuple[int, ...]] = []
    for position in positions:
        try:
            shapes.append(operand_shape(graph, node.inputs[position] if position < len(node.inputs) else ""))
        except InputError as error:
            faults += error.faults
    raise_all(faults)
    return shapes[0], shapes[1]


def _convolution(graph: OnnxGraph, node: OnnxNode) -> list[ImportedLayer]:
    data, weights = _operands(graph, node, _CONVOLUTIONS[node.op])
    axes = len(data) - 2
    if axes not in (1, 2, 3):
        raise InputError(Fault("the model has one, two or three spatial dimensions", value=axes))
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
    for name, values in (("strides", strides), ("dilations", dilations)):
        if min(values) < 1:
            faults.append(Fault("must be positive", field=name, value=values))
    raise_all(faults)
    # A kernel of one element looks the same at every dilation.
    dilations = [dilation if extent > 1 else 1 for dilation, extent in zip(dilations, kernel, strict=True)]
    reach = [(extent - 1) * dilation + 1 for extent, dilation in zip(kernel, dilations, strict=True)]
    pads = _pads(node, data[2:], reach, strides)
    outputs = [
        (extent + sum(pad) - size) // stride + 1
        for extent, pad, size, stride in zip(data[2:], pads, reach, strides, strict=True)
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
        dilations = [1, *dilations]
    extents = (1, *data[2:]) if axes == 1 else data[2:]
    sizes = {"C": weights[1], "M": weights[0] // groups}
    sizes |= _by_axis("kernel", ("R", "S", "T"), kernel) | _by_axis("output", ("P", "Q", "O"), outputs)
    sizes |= _steps(strides, dilations)
    if all(before == after for before, after in pads):
        sizes |= _by_axis("input", ("input_width", "input_height", "input_depth"), list(extents))
        if any(before for before, _ in pads):
            names = ("padding_width", "padding_height", "padding_depth")
            sizes |= _by_axis("padding", names, [before for before, _ in pads])
    sizes |= ({"groups": groups} if groups > 1 else {}) | ({"N": data[0]} if data[0] > 1 else {})
    return [ImportedLayer(node.name, "conv3d" if axes == 3 else "conv", sizes, 1, node.inputs[0], node.outputs[0])]


def _steps(strides: list[int], dilations: list[int]) -> dict[str, int]:
    """Return strides and dilations where one is above 1."""
    sizes: dict[str, int] = {}
    for name, values in (("stride", strides), ("dilation", dilations)):
        if max(values) > 1:
            sizes |= _by_axis(name, (f"w_{name}", f"h_{name}", f"d_{name}"), values)
    return sizes


def _by_axis(both: str, each: tuple[str, str, str], values: list[int]) -> dict[str, int]:
    """Return sizes along width, height and depth, by the shorthand where they are equal; ONNX has the width last."""
    return {both: values[0]} if len(set(values)) == 1 else dict(zip(each, reversed(values), strict=False))


def _transposed_convolution(graph: OnnxGraph, node: OnnxNode) -> list[ImportedLayer]:
    """Return the layer in which every input is multiplied by the whole filter; padding crops what is computed."""
    data, weights = _operands(graph, node, _CONVOLUTIONS[node.op])
    axes = len(data) - 2
    groups = _whole(node.attributes.get("group", 1))
    if axes not in (1, 2):
        raise InputError(Fault("the model has one or two spatial dimensions of a transposed convolution", value=axes))
    if len(weights) != axes + 2 or groups < 1 or data[1] != weights[0] or weights[0] % groups:
        raise InputError(Fault(f"channels do not fit {groups} groups", value=[data[1], list(weights)]))
    strides, dilations = (_per_axis(node, name, axes, [1] * axes) for name in ("strides", "dilations"))
    if min(*strides, *dilations) < 1:
        raise InputError(Fault("must be positive", field="strides, dilations", value=[strides, dilations]))
    kernel, extents = list(weights[2:]), list(data[2:])
    dilations = [dilation if extent > 1 else 1 for dilation, extent in zip(dilations, kernel, strict=True)]
    if axes == 1:
        kernel, extents, strides, dilations = [1, *kernel], [1, *extents], [1, *strides], [1, *dilations]
    sizes = {"C": weights[0] // groups, "M": weights[1]}
    sizes |= _by_axis("kernel", ("R", "S", ""), kernel) | _by_axis("input", ("P", "Q", ""), extents)
    sizes |= _steps(strides, dilations)
    sizes |= ({"groups": groups} if groups > 1 else {}) | ({"N": data[0]} if data[0] > 1 else {})
    return [ImportedLayer(node.name, "conv_transpose", sizes)]


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


def _product(graph: OnnxGraph, node: OnnxNode) -> list[ImportedLayer]:
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
    tensors = ("" if node.attributes.get("transA", 0) else names[0], node.outputs[0])
    if names[0] in graph.constants and names[1] not in graph.constants:
        first, second, tensors = _transposed(second), _transposed(first), ("", "")
    rows, inner, columns = first[-2], first[-1], second[-1]
    stack = _broadcast(first[:-2], second[:-2])
    different = math.prod(second[:-2])
    if different not in (1, math.prod(stack)):
        tensors = ("", "")  # what heads stand for differs between its factors
    batch = rows * math.prod(stack) // different
    if not {names[0], names[1]} & graph.constants:
        return [matmul_layer(node.name, different, columns, batch, inner, tensors)]
    sizes = {"C": inner, "M": columns} | ({"N": batch} if batch > 1 else {})
    return [ImportedLayer(node.name, "fc", sizes, different, *tensors)]


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
        first, count = found.get(layer.key, (layer, 0))
        found[layer.key] = (first, count + layer.count)
    return list(found.values())
