"""The shapes that Timeloop knows by name: the files of its folder ``problem-shapes``, in which outputs are K."""

from jouleloop.workload.problem import DataSpace, ProblemShape, Term


def _space(name: str, ranks: str, *, read_write: bool = False) -> DataSpace:
    """Return a data space whose ranks are written as ``N C R*Wdilation+P*Wstride``."""
    terms = ([part.split("*") for part in rank.split("+")] for rank in ranks.split())
    return DataSpace(name, tuple(tuple(Term(*part) for part in rank) for rank in terms), read_write)


CNN_LAYER = ProblemShape(
    "cnn-layer",
    tuple("RSPQCKN"),
    (
        _space("Weights", "C K R S"),
        _space("Inputs", "N C R*Wdilation+P*Wstride S*Hdilation+Q*Hstride"),
        _space("Outputs", "N K Q P", read_write=True),
    ),
    (("Wstride", 1), ("Hstride", 1), ("Wdilation", 1), ("Hdilation", 1)),
)
_GEMM = ProblemShape(
    "gemm-ABZ", tuple("MNK"), (_space("A", "M K"), _space("B", "N K"), _space("Z", "M N", read_write=True))
)
NAMED_SHAPES = {shape.name: shape for shape in (CNN_LAYER, _GEMM)}


def shape_named(name: str) -> ProblemShape | None:
    """Return the shape of a name or file name, dashes as in 3.0.3 or underscores as in Timeloop 4; None without one."""
    return NAMED_SHAPES.get(name.removesuffix(".yaml").replace("_", "-"))
