"""Operands of ONNX nodes, and the layers that nodes become."""

from dataclasses import dataclass, field

from jouleloop.errors import Fault, InputError
from jouleloop.workload.onnx_read import OnnxGraph, Shape


@dataclass(frozen=True)
class ImportedLayer:
    """One node as a layer; ``sizes`` are those of a network file, ``count`` the layers that the node stands for."""

    node: str
    kind: str
    sizes: dict[str, int] = field(hash=False)
    count: int = 1
    reads: str = ""
    writes: str = ""
    """The tensors of its inputs and outputs, where channels are along one axis as a convolution or product has them."""

    @property
    def key(self) -> tuple[str, tuple[tuple[str, int], ...]]:
        """What equal layers have in common."""
        return self.kind, tuple(sorted(self.sizes.items()))


def operand_shape(graph: OnnxGraph, name: str) -> tuple[int, ...]:
    """Return the shape of a tensor; raise `InputError` where an extent is unknown or nothing is in it."""
    shape: Shape | None = graph.shapes.get(name)
    if shape is None or None in shape:
        shown = "unknown" if shape is None else ["?" if extent is None else extent for extent in shape]
        raise InputError(Fault(f"the shape of its input {name!r} could not be inferred", value=shown))
    if any(extent is not None and extent < 1 for extent in shape):
        raise InputError(Fault(f"its input {name!r} is empty", value=list(shape)))
    return tuple(extent or 0 for extent in shape)


def matmul_layer(
    name: str, heads: int, rows: int, columns: int, inner: int, tensors: tuple[str, str] = ("", "")
) -> ImportedLayer:
    """Return the product of A (rows x inner) and B (inner x columns) for each of ``heads``; ``tensors``: B, result."""
    sizes = {"M": rows, "N": columns, "K": inner} | ({"H": heads} if heads > 1 else {})
    return ImportedLayer(name, "matmul", sizes, 1, *tensors)
