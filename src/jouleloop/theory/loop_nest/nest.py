"""A projective loop nest: loops with bounds, and arrays each indexed by a subset of the loops (paper 004, eq. 2.1)."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from jouleloop import files
from jouleloop.errors import AssumptionError, Fault, InputError, raise_all, unknown

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_YAML_KEYS = ("loops", "arrays", "output", "cache_words")
_ARRAY_LIMIT = 24
_LOOP_LIMIT = 40
_CACHE_LIMIT = 2**62
_OPERATIONS_LIMIT = 10**300

ASSUME_USED = "every loop index is in the support of at least one array (004, Section 2)"
ASSUME_BOUNDS = "every loop bound is a whole number L_i >= 1 (004, eq. 2.1)"
ASSUME_CACHE = "the cache holds M >= 2 words, so that logarithms base M exist (004, Section 3)"
ASSUME_SUBSETS = "every array is indexed by a subset of the loops, each at most once (projective case, 004, Section 3)"


@dataclass(frozen=True)
class ProjectiveNest:
    """Loops x_1 … x_d with bounds L_1 … L_d and arrays A_1 … A_n with supports supp(φ_j) (004, eq. 2.1).

    Attributes
    ----------
    loops
        Names of the d loops, in order.
    bounds
        L_i, iterations of each loop; empty where only exponents and closed forms are wanted.
    arrays
        Names of the n arrays.
    supports
        supp(φ_j): for every array the ascending positions of its loops.
    outputs
        Positions of the arrays that the nest writes; all others are only read.

    Raises
    ------
    AssumptionError
        Where the nest breaks an assumption of the paper; the message names it.
    """

    loops: tuple[str, ...]
    bounds: tuple[int, ...]
    arrays: tuple[str, ...]
    supports: tuple[tuple[int, ...], ...]
    outputs: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        faults = []
        used = {loop for support in self.supports for loop in support}
        faults += [
            Fault(f"loop index {name!r} is used by no array, so the tile is unbounded in it", allowed=ASSUME_USED)
            for position, name in enumerate(self.loops)
            if position not in used
        ]
        if self.bounds and len(self.bounds) != len(self.loops):
            faults.append(Fault(f"{len(self.bounds)} bounds for {len(self.loops)} loops", allowed="one bound a loop"))
        faults += [
            Fault(f"the bound of loop {name!r} is too small", value=bound, allowed=ASSUME_BOUNDS)
            for name, bound in zip(self.loops, self.bounds, strict=False)
            if bound < 1
        ]
        if len(self.arrays) != len(self.supports):
            faults.append(Fault(f"{len(self.arrays)} arrays with {len(self.supports)} supports"))
        if not self.loops or not self.arrays:
            faults.append(Fault("a loop nest needs at least one loop and one array"))
        faults += [
            Fault(f"array {name!r} uses a loop twice or out of order", allowed=ASSUME_SUBSETS)
            for name, support in zip(self.arrays, self.supports, strict=False)
            if list(support) != sorted(set(support))
        ]
        if len(self.loops) > _LOOP_LIMIT or len(self.arrays) > _ARRAY_LIMIT:
            faults.append(
                Fault(
                    f"{len(self.loops)} loops and {len(self.arrays)} arrays are too many",
                    allowed=f"at most {_LOOP_LIMIT} loops and {_ARRAY_LIMIT} arrays",
                )
            )
        if product(self.bounds) > _OPERATIONS_LIMIT:
            faults.append(Fault("the loop bounds are too large", allowed="at most 10^300 operations"))
        raise_all(faults, AssumptionError)

    @property
    def operations(self) -> int:
        """∏ L_i, the number of points of the iteration space."""
        return product(self.bounds)

    @property
    def array_sizes_words(self) -> tuple[int, ...]:
        """Words of every array: the product of the bounds of its loops."""
        return self.footprints_words(self.bounds)

    def footprints_words(self, tile: Sequence[int]) -> tuple[int, ...]:
        """Words of every array that a rectangular tile b_1 × … × b_d touches: ∏ b_i over supp(φ_j)."""
        return tuple(product(tile[loop] for loop in support) for support in self.supports)

    def users(self, loop: int) -> tuple[int, ...]:
        """R_i: positions of the arrays whose support contains the loop at position ``loop``."""
        return tuple(array for array, support in enumerate(self.supports) if loop in support)

    def with_bounds(self, bounds: Mapping[str, int]) -> "ProjectiveNest":
        """Return the nest with these bounds, one a loop; raise `InputError` for missing or unknown loops."""
        faults = [
            unused_index(name) if _NAME.match(name) else unknown(name, self.loops, "loop", field="bounds")
            for name in bounds
            if name not in self.loops
        ]
        missing = [name for name in self.loops if name not in bounds]
        if missing:
            faults.append(Fault(f"no bound for {', '.join(missing)}", field="bounds", allowed=ASSUME_BOUNDS))
        faults += [
            Fault("a bound is not a whole number", field=f"bounds.{name}", value=value, allowed=ASSUME_BOUNDS)
            for name, value in bounds.items()
            if not files.is_whole(value)
        ]
        raise_all(faults, AssumptionError)
        values = tuple(int(bounds[name]) for name in self.loops)
        return ProjectiveNest(self.loops, values, self.arrays, self.supports, self.outputs)

    def expression(self) -> str:
        """Return the nest as readable text, such as ``out(i,j) += in1(i,k) in2(k,j)``."""

        def term(array: int) -> str:
            return f"{self.arrays[array]}({','.join(self.loops[loop] for loop in self.supports[array])})"

        written = " ".join(term(array) for array in self.outputs) or "f"
        read = " ".join(term(array) for array in range(len(self.arrays)) if array not in self.outputs)
        return f"{written} += {read}"


def product(values: Iterable[int]) -> int:
    """Return the product of whole numbers, exactly."""
    result = 1
    for value in values:
        result *= value
    return result


def check_cache(cache_words: int) -> None:
    """Raise `AssumptionError` where the cache is too small for logarithms base M."""
    if cache_words > _CACHE_LIMIT:
        raise InputError(
            Fault("the cache is too large", field="cache", value=cache_words, allowed="at most 2^62 words")
        )
    if cache_words < 2:
        raise AssumptionError(Fault("the cache is too small", field="cache", value=cache_words, allowed=ASSUME_CACHE))


def unused_index(name: str) -> Fault:
    """Return the fault for a loop that no array uses."""
    return Fault(
        f"loop index {name!r} is used by no array, so the tile is unbounded in it", field=name, allowed=ASSUME_USED
    )


def from_einsum(text: str, bounds: Mapping[str, int] | None = None) -> ProjectiveNest:
    """Return the nest of an einsum string such as ``ik,kj->ij``; one letter a loop, the array after ``->`` is written.

    Loops with longer names are written with spaces: ``batch in, in out -> batch out``.

    Raises
    ------
    InputError
        Where the text is no einsum string.
    AssumptionError
        Where the nest breaks an assumption of 004; the message names it.
    """
    head, arrow, tail = text.partition("->")
    spaced = any(len(part.split()) > 1 for part in text.replace("->", ",").split(","))
    operands = [_indices(part, text, spaced=spaced) for part in head.split(",")]
    if arrow and ("->" in tail or "," in tail):
        raise InputError(Fault("an einsum string has one output", value=text, allowed="such as ik,kj->ij"))
    names = [f"in{number}" for number in range(1, len(operands) + 1)]
    outputs: tuple[int, ...] = ()
    if arrow:
        outputs = (len(operands),)
        operands.append(_indices(tail, text, spaced=spaced))
        names.append("out")
    if not any(operands):
        raise InputError(Fault("an einsum string needs at least one index", value=text, allowed="such as ik,kj->ij"))
    loops = list(dict.fromkeys(index for operand in operands for index in operand))
    nest = ProjectiveNest(tuple(loops), (), tuple(names), _positions(loops, names, operands), outputs)
    return nest if bounds is None else nest.with_bounds(bounds)


def from_yaml(path: Path) -> tuple[ProjectiveNest, int | None]:
    """Return the nest in a YAML file, and the cache size M in words where the file gives one.

    Keys: ``loops`` (name: bound; or a list of names), ``arrays`` (name: list of loop names), ``output`` (a name or
    a list of names, optional) and ``cache_words`` (optional).
    """
    data = files.read_yaml(path)
    try:
        return _from_data(data)
    except InputError as error:
        raise error.at(path) from error


def _from_data(data: object) -> tuple[ProjectiveNest, int | None]:
    if not isinstance(data, dict):
        raise InputError(Fault("a loop nest is a mapping", allowed=", ".join(_YAML_KEYS)))
    faults = [unknown(str(key), _YAML_KEYS, "key") for key in data if key not in _YAML_KEYS]
    loops, arrays = data.get("loops"), data.get("arrays")
    if not isinstance(loops, (dict, list)) or not loops or not all(_is_name(name) for name in loops):
        faults.append(Fault("loops are a mapping of names to bounds, or a list of names", field="loops"))
    if (
        not isinstance(arrays, dict)
        or not arrays
        or not all(_is_name(name) and isinstance(indices, list) for name, indices in arrays.items())
    ):
        faults.append(Fault("arrays are a mapping of names to lists of loops", field="arrays"))
    cache = data.get("cache_words")
    if cache is not None and not files.is_whole(cache):
        faults.append(Fault("not a whole number", field="cache_words", value=cache, allowed=ASSUME_CACHE))
    raise_all(faults)
    assert isinstance(loops, (dict, list))  # noqa: S101 - checked above, said again for the type checker
    assert isinstance(arrays, dict)  # noqa: S101
    written = data.get("output", [])
    written = [written] if isinstance(written, str) else written
    if not isinstance(written, list):
        raise InputError(Fault("is a name or a list of names", field="output", value=written))
    faults += [unknown(str(name), arrays, "array", field="output") for name in written if name not in arrays]
    faults += [
        unknown(str(index), (str(loop) for loop in loops), "loop", field=f"arrays.{name}")
        for name, indices in arrays.items()
        for index in indices
        if index not in loops
    ]
    raise_all(faults)
    names, order = list(arrays), list(loops)
    nest = ProjectiveNest(
        tuple(order),
        (),
        tuple(names),
        _positions(order, names, [arrays[name] for name in names]),
        tuple(names.index(name) for name in written),
    )
    if isinstance(loops, dict):
        nest = nest.with_bounds(loops)
    return nest, None if cache is None else int(cache)


def _positions(
    loops: Sequence[str], names: Sequence[str], operands: Sequence[Sequence[str]]
) -> tuple[tuple[int, ...], ...]:
    repeated = [
        Fault(f"array {name!r} uses a loop twice", field=name, value=" ".join(operand), allowed=ASSUME_SUBSETS)
        for name, operand in zip(names, operands, strict=True)
        if len(set(operand)) < len(operand)
    ]
    raise_all(repeated, AssumptionError)
    return tuple(tuple(sorted(loops.index(index) for index in operand)) for operand in operands)


def _indices(part: str, text: str, *, spaced: bool) -> list[str]:
    indices = part.split() if spaced else list(part.strip())
    for index in indices:
        if not _NAME.match(index):
            raise InputError(Fault(f"{index!r} is no loop index", value=text, allowed="letters, such as ik,kj->ij"))
    return indices


def _is_name(value: object) -> bool:
    return isinstance(value, str) and bool(_NAME.match(value))
