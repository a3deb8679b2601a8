"""Fused products of ONNX: Einsum over two factors, and Attention as its two products."""

import math
import re

from jouleloop.errors import Fault, InputError
from jouleloop.workload.onnx_operands import ImportedLayer, matmul_layer, operand_shape
from jouleloop.workload.onnx_read import OnnxGraph, OnnxNode

_EQUATION = re.compile(r"([A-Za-z]*),([A-Za-z]*)->([A-Za-z]*)")


def einsum_layers(graph: OnnxGraph, node: OnnxNode) -> list[ImportedLayer]:
    """Return an Einsum over two factors as a matrix product: A is the constant factor, or else the second one.

    Raises `InputError` where it has another number of factors, an ellipsis, a label twice in one factor, or one that is
    summed in one factor alone: those are no matrix products.
    """
    equation = node.attributes.get("equation", b"")
    text = equation.decode("ascii", "replace") if isinstance(equation, bytes) else str(equation)
    match = _EQUATION.fullmatch(text.replace(" ", ""))
    allowed = "two factors, such as bhqd,bhkd->bhqk"
    if not match or len(node.inputs) != 2:
        raise InputError(Fault("is no matrix product", field="equation", value=text, allowed=allowed))
    factors, result = match.groups()[:2], set(match[3])
    extents: dict[str, int] = {}
    for labels, name in zip(factors, node.inputs, strict=True):
        shape = operand_shape(graph, name)
        if len(labels) != len(shape) or len(set(labels)) != len(labels):
            raise InputError(Fault("has a label twice, or not one an axis", field="equation", value=text))
        for label, extent in zip(labels, shape, strict=True):
            if extents.setdefault(label, extent) != extent:
                raise InputError(Fault(f"the label {label!r} has two extents", field="equation", value=text))
    first, second = map(set, factors)
    alone = (first ^ second) - result
    if alone or not result <= first | second:
        raise InputError(Fault("sums inside one factor", field="equation", value=text, allowed=allowed))

    def product(labels: set[str]) -> int:
        return math.prod(extents[label] for label in labels)

    rows, columns = (first, second) if node.inputs[0] in graph.constants else (second, first)
    shared, inner = first & second & result, (first & second) - result
    heads, kept, streamed = product(shared), product(rows - columns), product(columns - rows)
    return [matmul_layer(node.name, heads, kept, streamed, product(inner))]


def attention_layers(graph: OnnxGraph, node: OnnxNode) -> list[ImportedLayer]:
    """Return the scores and the weighted values of an Attention node (opset 23), queries that share keys together.

    Raises `InputError` where a shape is unknown, or heads do not divide what they share.
    """
    query, key, value = (_heads(graph, node, position) for position in range(3))
    past = operand_shape(graph, node.inputs[4])[2] if len(node.inputs) > 4 and node.inputs[4] else 0
    batch, heads, tokens, width = query
    kept, context = key[1], key[2] + past
    if heads % kept or key[0] != batch or value[:3] != key[:3] or key[3] != width:
        shown = [list(query), list(key), list(value)]
        raise InputError(Fault("queries, keys and values do not fit each other", value=shown))
    together = heads // kept * tokens
    # Scores stay inside, unless they are an output, too.
    scores = "" if any(node.outputs[3:]) else f"{node.outputs[0]} scores"
    inside, last = ("", scores), (scores, node.outputs[0])
    return [
        matmul_layer(f"{node.name}_scores", batch * kept, context, together, width, inside),
        matmul_layer(f"{node.name}_weighted_values", batch * kept, value[3], together, context, last),
    ]


def _heads(graph: OnnxGraph, node: OnnxNode, position: int) -> tuple[int, int, int, int]:
    """Return batch, heads, tokens and width of a head of queries, keys or values."""
    if position >= len(node.inputs):
        raise InputError(Fault("needs queries, keys and values", value=len(node.inputs)))
    shape = operand_shape(graph, node.inputs[position])
    if len(shape) == 4:
        return shape
    name = "q_num_heads" if position == 0 else "kv_num_heads"
    heads = node.attributes.get(name, 0)
    if len(shape) != 3 or not isinstance(heads, int) or heads < 1 or shape[2] % heads:
        raise InputError(Fault("does not divide its operand into heads", field=name, value=[heads, list(shape)]))
    return shape[0], heads, shape[1], shape[2] // heads
