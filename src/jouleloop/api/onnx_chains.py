"""Chains of layers in an ONNX graph: what a layer writes is read by one other alone, through operations that are free.

Free is what keeps the axes of a tensor and has no multiply-accumulates: activations, softmax, normalisation. What it
reads besides is constant or smaller, such as a mask that all heads share. A residual sum is no such operation.
"""

import math
from collections.abc import Mapping, Sequence

from jouleloop.workload.onnx_operands import ImportedLayer
from jouleloop.workload.onnx_read import OnnxGraph, OnnxNode

_FREE = """
Abs Add BatchNormalization Cast Celu Clip DequantizeLinear Div Dropout Elu Erf Exp Gelu GroupNormalization HardSigmoid
HardSwish Identity InstanceNormalization LayerNormalization LeakyRelu Log LogSoftmax Max Min Mish Mul Neg Pow PRelu
QuantizeLinear Reciprocal ReduceMax ReduceMean ReduceSum Relu RMSNormalization Selu Sigmoid Softmax Softplus Softsign
Sqrt Sub Swish Tanh Where
""".split()  # noqa: SIM905 - easier to read
_PRODUCTS = ("fc", "matmul")


def graph_chains(graph: OnnxGraph, layers: Sequence[ImportedLayer]) -> list[list[ImportedLayer]]:
    """Return the longest runs of a graph's layers in which each alone reads what the one before it writes."""
    consumers: dict[str, list[OnnxNode]] = {}
    for node in graph.nodes:
        for name in dict.fromkeys(node.inputs):
            consumers.setdefault(name, []).append(node)
    by_output = {layer.writes: layer for layer in layers if layer.writes}
    after: dict[str, ImportedLayer] = {}
    for tensor, layer in by_output.items():
        reader = _reader(graph, tensor, consumers, by_output)
        kinds = {layer.kind, reader.kind} if reader is not None else set()
        if reader is not None and layer.count == reader.count == 1 and (len(kinds) == 1 or kinds <= {*_PRODUCTS}):
            after[tensor] = reader
    begun = {reader.writes for reader in after.values()}
    found = [[by_output[tensor]] for tensor in after if tensor not in begun]
    for chain in found:
        while chain[-1].writes in after:
            chain.append(after[chain[-1].writes])
    return found


def _reader(
    graph: OnnxGraph, tensor: str, consumers: Mapping[str, list[OnnxNode]], by_output: Mapping[str, ImportedLayer]
) -> ImportedLayer | None:
    """Return the one layer that reads a tensor, or what free operations make of it; None where anything else does."""
    if tensor not in graph.shapes:
        return next((layer for layer in by_output.values() if layer.reads == tensor), None)
    same, others = [tensor], set[str]()
    readers: list[tuple[ImportedLayer, str]] = []
    for name in same:
        for node in consumers.get(name, []):
            layer = by_output.get(node.outputs[0])
            if layer is not None:
                readers.append((layer, name))
            elif node.op not in _FREE or node.domain:
                return None
            else:
                others |= {*node.inputs} - graph.constants - {""}
                same += [output for output in node.outputs if output and output not in same]
    beside = all(_elements(graph, name, math.inf) < _elements(graph, tensor, 0) for name in others - {*same})
    if len(readers) != 1 or graph.outputs & {*same} or not beside:
        return None
    [(layer, name)] = readers
    return layer if layer.reads == name and graph.shapes.get(name) == graph.shapes[tensor] else None


def _elements(graph: OnnxGraph, name: str, unknown: float) -> float:
    """Return the elements of a tensor, ``unknown`` where its shape is."""
    return math.prod(unknown if extent is None else extent for extent in graph.shapes.get(name, (None,)))
