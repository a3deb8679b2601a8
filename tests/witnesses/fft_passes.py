"""A Fourier transform executed in passes through a small fast memory, counting every complex value moved."""

import cmath
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from jouleloop.errors import Fault, InputError
from witnesses.fast_memory import FastMemory

_VALUES = "values"


@dataclass(frozen=True)
class FftExecution:
    """An executed transform: complex values loaded and stored, the most held at once, passes made and the result."""

    loaded: int
    stored: int
    peak_values: int
    passes: int
    result: tuple[complex, ...]


def execute_fft(values: Sequence[complex], capacity_values: int) -> FftExecution:
    """Transform 2^d values with room for ``capacity_values``, by the decomposition of Savage's Theorem 11.5.4.

    The d butterfly levels are done e at a time, where 2^e values and one spare fit; a pass loads every group of 2^e
    values that only meet each other in those levels, and stores it.

    Raises
    ------
    InputError
        Where the length is not a power of two above one, or the capacity is below three values.
    """
    length = len(values)
    if length < 2 or length & (length - 1):
        raise InputError(Fault("the length must be a power of two above one", None, "values", length))
    if capacity_values < 3:
        raise InputError(Fault("too little memory", None, "capacity_values", capacity_values, ">= 3"))
    levels = length.bit_length() - 1
    together = (capacity_values - 1).bit_length() - 1
    # Decimation in time wants its input in bit-reversed order; that is a naming of slow memory and moves nothing.
    slow: dict[Hashable, complex] = {int(format(i, f"0{levels}b")[::-1], 2): value for i, value in enumerate(values)}
    memory = FastMemory(Fraction(capacity_values), {_VALUES: Fraction(1)}, {_VALUES: slow})
    passes = 0
    for first in range(0, levels, together):
        count = min(together, levels - first)
        passes += 1
        mask = ((1 << count) - 1) << first
        for base in (index for index in range(length) if not index & mask):
            group = [base | (offset << first) for offset in range(1 << count)]
            memory.load(_VALUES, group)
            held = memory.fast[_VALUES]
            for level in range(first, first + count):
                half = 1 << level
                for low in (index for index in group if not index & half):
                    turn = cmath.exp(-1j * cmath.pi * (low % half) / half)
                    upper, lower = held[low], turn * held[low | half]
                    held[low], held[low | half] = upper + lower, upper - lower
            memory.store(_VALUES, group)
    return FftExecution(
        memory.loaded[_VALUES],
        memory.stored[_VALUES],
        int(memory.peak_words),
        passes,
        tuple(complex(slow[index]) for index in range(length)),
    )
