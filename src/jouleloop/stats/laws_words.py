"""Laws in words: monomials, formulas, what must divide what, and mappings with the loops that grow."""

import re
from collections.abc import Sequence

from jouleloop.model.symbolic import Symbol
from jouleloop.stats.laws import Growing, LawPoint, Monomial, Terms
from jouleloop.units import energy_unit

_FC_NAMES = {"C": "n", "M": "m"}


def size_name(size: str, *, fc: bool) -> str:
    """Return a size's name: n and m for the inputs and outputs of fully-connected layers, else the problem's.

    The steps of a tile are ``⌈M/15⌉``.
    """
    size, _, tile = size.partition("/")
    name = _FC_NAMES.get(size, size) if fc else size
    return f"⌈{name}/{tile}⌉" if tile else name


def monomial_name(monomial: Monomial, *, fc: bool) -> str:
    """Return a monomial as part of a column's name, such as ``mn``, ``MPQ``, ``PQ_Wstride`` or ``one``."""
    if not monomial:
        return "one"
    names = [(size_name(size, fc=fc), exponent) for size, exponent in monomial]
    parts = [
        name if exponent == 1 else f"{name}{'^' if '/' in name else ''}{exponent}" for name, exponent in sorted(names)
    ]
    letters = "".join(part for part in parts if len(part) == 1)
    return "_".join([*([letters] if letters else []), *(part for part in parts if len(part) > 1)])


def polynomial_text(terms: Terms, *, fc: bool, digits: int = 6) -> str:
    """Return a polynomial in the unit of energies as a formula, such as ``E = 131.924 mn + 165.34 n + 146.553 m``."""
    text = ""
    for monomial, coefficient in terms:
        value = float(coefficient)
        sign = (" - " if value < 0 else " + ") if text else ("-" if value < 0 else "")
        name = "" if not monomial else " " + monomial_name(monomial, fc=fc).replace("_", "·")
        text += f"{sign}{abs(value):.{digits}g}{name}"
    return f"E = {text or '0'} {energy_unit()}" if len(terms) < 2 else f"E = ({text}) {energy_unit()}"


def fixed_product(symbols: Sequence[Symbol], size: str, growing: int) -> int:
    """Return the product of all loops of a size but the growing one."""
    product = 1
    for index, symbol in enumerate(symbols):
        if symbol.dimension == size and symbol.level >= 0 and index != growing:
            product *= symbol.value
    return product


def divisibility_text(symbols: Sequence[Symbol], law: LawPoint, *, fc: bool) -> str:
    """Return which numbers must divide the sizes for the structure to be possible, such as ``128 | m``."""
    parts = []
    for size, index in () if law.ceilings else law.growing:
        product = fixed_product(symbols, size, index)
        if product > 1:
            parts.append(f"{product} divides {size_name(size, fc=fc)}")
    return ", ".join(parts) or "none needed"


def structure_text(mapping: str, symbols: Sequence[Symbol], law: LawPoint, fc: bool) -> str:
    """Return the mapping on one line with the growing loops as symbols, such as ``DRAM C[n/2] | …``.

    Where loops end early, residual ends are left out: they are other ones for other sizes.
    """
    loops = iter([index for index, symbol in enumerate(symbols) if symbol.level >= 0])
    chosen = {index: size for size, index in law.growing}
    grown = {size for size, _ in law.growing}

    def shown(match: re.Match[str]) -> str:
        index = next(loops)
        dimension, end, axis = match[1], match[2], match[4]
        if index in chosen:
            product = fixed_product(symbols, dimension, index)
            over = f"{dimension}/{product}" if law.ceilings and product > 1 else dimension
            name = size_name(over, fc=fc)
            return f" {dimension}[{name if product == 1 or law.ceilings else f'{name}/{product}'}]{axis}"
        return f" {dimension}{end}{axis}" if dimension in grown else match[0]

    return re.sub(r" ([A-Z]+?)(\d+)(,\d+)?([XY]?)(?= |$)", shown, mapping)


def growing_text(mapping: str, symbols: Sequence[Symbol], growing: Growing, *, fc: bool) -> str:
    """Return the loops that grow, such as ``n: DRAM C128; m: shared_glb M8``."""
    levels = [part.split(" ")[0] for part in mapping.split(" | ")]
    parts = []
    for size, index in growing:
        symbol = symbols[index]
        if symbol.level >= 0:
            name = size_name(size, fc=fc)
            parts.append(f"{name}: {levels[symbol.level]} {symbol.dimension}{symbol.value}")
    return "; ".join(parts)
