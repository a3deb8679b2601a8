"""Layers of neural networks as problems: convolution, grouped and depthwise convolution, fully connected."""

import re
from dataclasses import dataclass, replace
from typing import Any

from jouleloop.errors import Fault, InputError, raise_all
from jouleloop.workload.problem import DataSpace, Problem, ProblemShape, Term

_STRIDES = (("Wstride", 1), ("Hstride", 1), ("Wdilation", 1), ("Hdilation", 1))

#: The convolution of Timeloop's examples: Wstride goes with P, Hstride with Q, and R with P, S with Q.
CONV = ProblemShape(
    "conv_layer",
    ("C", "M", "R", "S", "N", "P", "Q"),
    (
        DataSpace("Weights", ((Term("C"),), (Term("M"),), (Term("R"),), (Term("S"),))),
        DataSpace(
            "Inputs",
            (
                (Term("N"),),
                (Term("C"),),
                (Term("R", "Wdilation"), Term("P", "Wstride")),
                (Term("S", "Hdilation"), Term("Q", "Hstride")),
            ),
        ),
        DataSpace("Outputs", ((Term("N"),), (Term("M"),), (Term("Q"),), (Term("P"),)), read_write=True),
    ),
    _STRIDES,
)

#: A convolution in G groups, each with C input and M output channels; depthwise has C = M = 1.
GROUPED_CONV = ProblemShape(
    "grouped_conv_layer",
    ("C", "M", "R", "S", "N", "P", "Q", "G"),
    (
        DataSpace("Weights", ((Term("G"),), (Term("C"),), (Term("M"),), (Term("R"),), (Term("S"),))),
        DataSpace(
            "Inputs",
            (
                (Term("N"),),
                (Term("G"),),
                (Term("C"),),
                (Term("R", "Wdilation"), Term("P", "Wstride")),
                (Term("S", "Hdilation"), Term("Q", "Hstride")),
            ),
        ),
        DataSpace("Outputs", ((Term("N"),), (Term("G"),), (Term("M"),), (Term("Q"),), (Term("P"),)), read_write=True),
    ),
    _STRIDES,
)


@dataclass(frozen=True)
class Layer:
    """One layer of a network, all sizes as integers.

    Attributes
    ----------
    kind
        ``fc`` or ``conv``.
    C, M
        Input and output channels of one group; for a fully-connected layer its inputs n and outputs m.
    R, S
        Filter extent along P and along Q.
    N
        Batch.
    P, Q
        Output extent.
    w_stride, h_stride
        Stride along P and along Q.
    groups
        Number of groups; with C = M = 1 the convolution is depthwise.
    name
        Label in tables and file names.
    """

    kind: str
    C: int
    M: int
    R: int = 1
    S: int = 1
    N: int = 1
    P: int = 1
    Q: int = 1
    w_stride: int = 1
    h_stride: int = 1
    groups: int = 1
    name: str = ""

    def __post_init__(self) -> None:
        faults: list[Fault] = []
        for key in ("C", "M", "R", "S", "N", "P", "Q", "w_stride", "h_stride", "groups"):
            value = getattr(self, key)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                faults.append(Fault("must be a positive integer", field=key, value=value))
            elif value > 10**7:
                faults.append(Fault("too large", field=key, value=value, allowed="at most 10000000"))
        if self.kind not in ("fc", "conv"):
            faults.append(Fault("unknown kind of layer", field="kind", value=self.kind, allowed="fc, conv"))
        if self.kind == "fc":
            faults += [
                Fault("a fully-connected layer has only C, M and N", field=key, value=getattr(self, key), allowed="1")
                for key in ("R", "S", "P", "Q", "w_stride", "h_stride", "groups")
                if getattr(self, key) != 1
            ]
        raise_all(faults)

    @property
    def macs(self) -> int:
        """Number of multiply-accumulate operations."""
        return self.C * self.M * self.R * self.S * self.N * self.P * self.Q * self.groups

    @property
    def input_width(self) -> int:
        """Extent of the (padded) input along P."""
        return (self.P - 1) * self.w_stride + self.R

    @property
    def input_height(self) -> int:
        """Extent of the (padded) input along Q."""
        return (self.Q - 1) * self.h_stride + self.S

    def problem(self) -> Problem:
        """Return the layer as a problem; groups only appear where there is more than one."""
        bounds = {key: getattr(self, key) for key in CONV.dimensions}
        strides = {"Wstride": self.w_stride, "Hstride": self.h_stride}
        if self.groups > 1:
            return Problem.build(GROUPED_CONV, {**bounds, "G": self.groups}, strides, self.label)
        return Problem.build(CONV, bounds, strides, self.label)

    @property
    def label(self) -> str:
        """The name, or a canonical one built from the sizes."""
        return self.name or self.spec()

    def spec(self) -> str:
        """Return the canonical text form that `parse_layer` reads."""
        if self.kind == "fc":
            batch = f"/batch{self.N}" if self.N > 1 else ""
            return f"fc:{self.C}x{self.M}{batch}"
        sizes = "x".join(f"{key}{getattr(self, key)}" for key in "CMPQRS")
        extra = f"x N{self.N}".replace(" ", "") if self.N > 1 else ""
        if self.w_stride == self.h_stride:
            stride = f"/stride{self.w_stride}" if self.w_stride > 1 else ""
        else:
            stride = f"/stride{self.w_stride}x{self.h_stride}"
        groups = f"/groups{self.groups}" if self.groups > 1 else ""
        return f"conv:{sizes}{extra}{stride}{groups}"

    def as_dict(self) -> dict[str, Any]:
        """Return the sizes as one flat record."""
        keys = ("kind", "C", "M", "R", "S", "N", "P", "Q", "w_stride", "h_stride", "groups")
        return {"name": self.label, **{key: getattr(self, key) for key in keys}}

    def renamed(self, name: str) -> "Layer":
        """Return the same layer under another name."""
        return replace(self, name=name)


def parse_layer(text: str) -> Layer:
    """Return the layer written as ``fc:1024x128`` or ``conv:C3xM64xP57xQ57xR3xS3/stride4``.

    ``fc:INPUTSxOUTPUTS[/batchN]``; ``conv:`` takes C, M, P, Q, R, S, N in any order, then optionally ``/strideW`` or
    ``/strideWxH`` and ``/groupsG``. P and Q may be left out where ``/inputI`` or ``/inputIxJ`` states the input, to
    which ``/paddingN`` (or ``NxM``) adds zeros on either side.

    Raises
    ------
    InputError
        Where the text is no such layer.
    """
    kind, colon, body = text.strip().partition(":")
    example = "fc:1024x128 or conv:C3xM64xP57xQ57xR3xS3/stride4"
    if not colon or kind not in ("fc", "conv"):
        raise InputError(Fault("not a layer", field="layer", value=text, allowed=example))
    sizes_text, *options = body.split("/")
    values: dict[str, int] = {}
    faults: list[Fault] = []
    stated_input: tuple[int, int] | None = None
    padding: tuple[int, int] | None = None
    seen: set[str] = set()
    for option in options:
        match = re.fullmatch(r"(stride|input|padding|dilation|groups|batch)([0-9]{1,9})(?:x([0-9]{1,9}))?", option)
        if not match or (match[3] and match[1] in ("groups", "batch")):
            allowed = "strideW, strideWxH, inputI, inputIxJ, paddingN, paddingNxM, groupsG, batchN"
            faults.append(Fault("unknown layer option", field="layer", value=option, allowed=allowed))
            continue
        if match[1] in seen:
            faults.append(Fault(f"{match[1]} is given twice", field="layer", value=option))
        seen.add(match[1])
        first = int(match[2])
        second = int(match[3]) if match[3] else first
        if match[1] == "dilation":
            if (first, second) != (1, 1):
                faults.append(Fault("dilation is not supported by the model", field="layer", value=option, allowed="1"))
        elif match[1] == "stride":
            values["w_stride"], values["h_stride"] = first, second
        elif match[1] == "input":
            stated_input = (first, second)
        elif match[1] == "padding":
            padding = (first, second)
        else:
            values["groups" if match[1] == "groups" else "N"] = first
    if kind == "fc":
        match = re.fullmatch(r"([0-9]{1,9})x([0-9]{1,9})", sizes_text)
        if match:
            values["C"], values["M"] = int(match[1]), int(match[2])
        else:
            faults.append(Fault("not INPUTSxOUTPUTS", field="layer", value=sizes_text, allowed="such as fc:1024x128"))
    else:
        for part in sizes_text.split("x"):
            match = re.fullmatch(r"([CMRSNPQ])([0-9]{1,9})", part)
            if not match or match[1] in values:  # also N where a batch is given
                allowed = "each of C, M, P, Q, R, S, N at most once"
                faults.append(Fault("not a dimension with a size", field="layer", value=part, allowed=allowed))
            else:
                values[match[1]] = int(match[2])
        faults += [
            Fault(f"{key} is missing", field="layer", value=text, allowed=example) for key in "CM" if key not in values
        ]
    if padding is not None and stated_input is None:
        faults.append(Fault("padding needs a stated input", field="layer", value=text, allowed="/inputI/paddingN"))
    raise_all(faults)
    if stated_input is not None:
        derive_outputs(values, stated_input, padding=padding or (0, 0))
    return Layer(kind, name="", **values)


def derive_outputs(values: dict[str, int], stated_input: tuple[int, int], *, padding: tuple[int, int] = (0, 0)) -> None:
    """Fill P and Q from a stated input size, or check them against it.

    Parameters
    ----------
    values
        Sizes by name; P and Q are added where absent.
    stated_input
        Input extent along P and along Q, without padding.
    padding
        Zeros added on each side, along P and along Q.

    Raises
    ------
    InputError
        Where the kernel is larger than the padded input, the output size is no integer, or P or Q contradict it.
    """
    faults: list[Fault] = []
    for out, kernel, stride, size, pad in zip(
        ("P", "Q"), ("R", "S"), ("w_stride", "h_stride"), stated_input, padding, strict=True
    ):
        extent, step = values.get(kernel, 1), values.get(stride, 1)
        padded = size + 2 * pad
        if step < 1:
            faults.append(Fault("must be a positive integer", field=stride, value=step))
        elif extent > padded:
            faults.append(Fault(f"larger than the padded input of {padded}", field=kernel, value=extent))
        elif (padded - extent) % step:
            faults.append(
                Fault(
                    f"output size is no integer: ({padded} - {extent}) / {step} + 1", field=out, value=values.get(out)
                )
            )
        else:
            computed = (padded - extent) // step + 1
            if values.setdefault(out, computed) != computed:
                faults.append(
                    Fault(
                        f"contradicts the stated input size {size}", field=out, value=values[out], allowed=str(computed)
                    )
                )
    raise_all(faults)
