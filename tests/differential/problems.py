"""Random problems: the shapes of layers, and odd ones that only a problem file can state."""

import random
from typing import Any

Document = dict[str, Any]

#: Bounds of dimensions, small and with few prime factors; 1 leaves a dimension out.
_SIZES = (1, 1, 2, 2, 2, 3, 3, 4, 4, 5, 6, 8)


def space(name: str, *ranks: str, write: bool = False) -> Document:
    """Return a data space from ranks such as ``C``, ``P*s+R``."""
    projection = [[term.split("*") for term in rank.split("+")] for rank in ranks]
    return {"name": name, "projection": projection} | ({"read-write": True} if write else {})


def _problem(name: str, dims: str, spaces: list[Document], sizes: dict[str, int], coefficients: str = "") -> Document:
    shape: Document = {"name": name, "dimensions": list(dims)}
    if coefficients:
        shape["coefficients"] = [{"name": c, "default": 1} for c in coefficients.split()]
    shape["data-spaces"] = spaces
    return {"problem": {"shape": shape, "instance": sizes}}


def _sizes(rng: random.Random, dims: str, most: int = 5) -> dict[str, int]:
    """Return bounds of which at most ``most`` are above 1."""
    sizes = {d: rng.choice(_SIZES) for d in dims}
    above = [d for d in dims if sizes[d] > 1]
    rng.shuffle(above)
    return sizes | dict.fromkeys(above[most:], 1)


def _fully_connected(rng: random.Random) -> Document:
    dims = "CMN" if rng.random() < 0.3 else "CM"
    batch = ["N"] if "N" in dims else []
    spaces = [
        space("Weights", "C", "M"),
        space("Inputs", "C", *batch),
        space("Outputs", "M", *batch, write=True),
    ]
    return _problem("fc", dims, spaces, {d: rng.choice((2, 3, 4, 4, 6, 8, 8, 9, 12)) for d in dims})


def _steps(rng: random.Random, names: str) -> dict[str, int]:
    return {name: rng.choice((1, 1, 1, 1, 2, 2, 3)) for name in names.split()}


def _window_sizes(rng: random.Random, dims: str, windows: list[tuple[str, str]]) -> dict[str, int]:
    """Return bounds with at least one window of several taps over several places."""
    sizes = _sizes(rng, dims, most=rng.choice((3, 4, 4, 5)))
    for tap, place in rng.sample(windows, rng.choice((1, len(windows)))):
        sizes[tap] = rng.choice((2, 2, 2, 3, 3, 4, 5))
        sizes[place] = rng.choice((2, 2, 3, 3, 4, 4, 6, 8))
    return sizes


def _convolution(rng: random.Random) -> Document:
    """The shape of seven dimensions that the exercises use."""
    coefficients = "Wstride Hstride Wdil Hdil"
    spaces = [
        space("Weights", "C", "M", "R", "S"),
        space("Inputs", "N", "C", "R*Wdil+P*Wstride", "S*Hdil+Q*Hstride"),
        space("Outputs", "N", "M", "Q", "P", write=True),
    ]
    if rng.random() < 0.2:
        rng.shuffle(spaces)
    sizes = _window_sizes(rng, "CMRSNPQ", [("R", "P"), ("S", "Q")])
    steps = _steps(rng, coefficients)
    if rng.random() < 0.8:
        steps |= {"Wdil": 1, "Hdil": 1}
    return _problem("cnn", "CMRSNPQ", spaces, sizes | steps, coefficients)


def _one_axis(rng: random.Random) -> Document:
    spaces = [space("Weights", "C", "M", "R"), space("Inputs", "C", "R+P*s"), space("Outputs", "M", "P", write=True)]
    return _problem("conv1d", "CMRP", spaces, _window_sizes(rng, "CMRP", [("R", "P")]) | _steps(rng, "s"), "s")


def _two_axes(rng: random.Random) -> Document:
    """Windows in two axes without channels, so that more of both fits into a small mapspace."""
    spaces = [space("Weights", "R", "S"), space("Inputs", "R+P*s", "S+Q*t"), space("Outputs", "P", "Q", write=True)]
    sizes = _window_sizes(rng, "RSPQ", [("R", "P"), ("S", "Q")]) | _steps(rng, "s t")
    return _problem("conv2d", "RSPQ", spaces, sizes, "s t")


def _depthwise(rng: random.Random) -> Document:
    extra = rng.choice(("", "M"))
    wide = list(extra)
    spaces = [
        space("Weights", "G", *wide, "R"),
        space("Inputs", "G", "R+P*s"),
        space("Outputs", "G", *wide, "P", write=True),
    ]
    dims = "G" + extra + "RP"
    return _problem("grouped", dims, spaces, _window_sizes(rng, dims, [("R", "P")]) | _steps(rng, "s"), "s")


def _matmul(rng: random.Random) -> Document:
    batch = ["B"] if rng.random() < 0.35 else []
    dims = "".join(batch) + "IKJ"
    spaces = [
        space("A", *batch, "I", "K"),
        space("B" if not batch else "W", *batch, "K", "J"),
        space("Z", *batch, "I", "J", write=True),
    ]
    return _problem("matmul", dims, spaces, {d: rng.choice((2, 2, 3, 4, 4, 6)) for d in dims})


def _odd(rng: random.Random) -> Document:
    """Any few tensors over any few dimensions, with sums, coefficients and ranks of three terms."""
    dims = "ABDEF"[: rng.choice((2, 3, 3, 4))]
    count = rng.choice((2, 3, 3, 4, 5))
    spaces: list[Document] = []
    coefficients: list[str] = []
    for index in range(count):
        ranks, left = [], list(dims)
        rng.shuffle(left)
        # Timeloop gives up where the tiles of an output overlap, so outputs seldom have windows.
        plain = index == count - 1 and rng.random() < 0.9
        for _ in range(rng.choice((1, 1, 2, 2, 3))):
            if not left:
                break
            terms = [left.pop() for _ in range(1 if plain else min(len(left), rng.choice((1, 1, 1, 2, 2, 3))))]
            named = []
            for term in terms:
                if rng.random() < 0.25 and not plain:
                    coefficients.append(f"k{'abcdefghijklmnop'[len(coefficients)]}")
                    named.append(f"{term}*{coefficients[-1]}")
                else:
                    named.append(term)
            ranks.append("+".join(named))
        spaces.append(space(f"T{'uvwxyz'[index]}", *ranks, write=index == count - 1))
    if rng.random() < 0.2:
        rng.shuffle(spaces)
    sizes = {d: rng.choice((1, 2, 2, 3, 3, 4, 5)) for d in dims}
    names = " ".join(coefficients)
    return _problem("odd", dims, spaces, sizes | _steps(rng, names), names)


_KINDS = {
    "general": (
        (_fully_connected, 3),
        (_convolution, 5),
        (_one_axis, 4),
        (_two_axes, 3),
        (_depthwise, 2),
        (_matmul, 3),
        (_odd, 4),
    ),
    "arrays": ((_convolution, 5), (_one_axis, 2), (_two_axes, 3), (_depthwise, 1), (_fully_connected, 1)),
    "wide": ((_convolution, 4), (_one_axis, 3), (_two_axes, 3), (_depthwise, 3), (_matmul, 3), (_odd, 6)),
    "windows": ((_convolution, 4), (_one_axis, 3), (_two_axes, 3), (_depthwise, 1)),
}


def draw_problem(rng: random.Random, kind: str) -> Document:
    """Return a random problem; ``windows`` draws convolutions only, ``arrays`` mostly."""
    makers = _KINDS[kind]
    maker = rng.choices([m for m, _ in makers], [w for _, w in makers])[0]
    problem = maker(rng)
    if kind == "wide":
        _odd_sizes(rng, problem["problem"])
    return problem


def _odd_sizes(rng: random.Random, problem: Document) -> None:
    """Give one or two dimensions prime or large bounds, and some coefficients larger steps."""
    dims, instance = problem["shape"]["dimensions"], problem["instance"]
    for name in rng.sample(dims, rng.choice((1, 1, 2))):
        instance[name] = rng.choice((5, 7, 9, 10, 11, 12, 13, 16, 17, 24))
    for name in [name for name in instance if name not in dims]:  # a set has another order in every process
        if rng.random() < 0.15:
            instance[name] = rng.choice((3, 4, 5, 7))
