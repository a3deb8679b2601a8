"""When eq. (28) of paper 002 is optimal: the induction over n, the finitely many cases it leaves, and their traces.

docs/theory-fully-connected.md states and proves the theorem, with U(n), K and δ; `counting_game.refute` excludes the
cases that are left one after another.
"""

import lzma
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from jouleloop.errors import Fault, InputError
from jouleloop.theory.fully_connected.counting_game import Budget, Refutation, refute

PROVEN_OUTPUTS = 16
"""The claim is proven for every n, every β and (β − 1) | m with m up to this; docs/data has the traces."""

FEW_GROUPS = 3
PROVEN_OUTPUTS_IN_FEW_GROUPS = 22
"""With m up to this it is proven for m/(β − 1) <= `FEW_GROUPS`."""

_TRACE_FILTER = 6


def least_accesses(inputs: int, outputs: int, buffer_words: int) -> int:
    """Return what the claim says, for (β − 1) | m."""
    n, m, beta = inputs, outputs, buffer_words
    groups, rest = divmod(m, beta - 1)
    if rest:
        raise InputError(Fault("β − 1 has to divide m", field="outputs, buffer", value=(m, beta)))
    return 2 * m + n if n < beta else groups * (n - 1) + 2 * m + 1


def is_proven(inputs: int, outputs: int, buffer_words: int) -> bool:
    """Whether `least_accesses` is a theorem for the layer."""
    n, m, beta = inputs, outputs, buffer_words
    if m % (beta - 1):
        return False
    few = m // (beta - 1) <= FEW_GROUPS and m <= PROVEN_OUTPUTS_IN_FEW_GROUPS
    return n < beta or m < beta or beta == 2 or m <= PROVEN_OUTPUTS or few


def remaining_cases(outputs: int) -> Iterator[tuple[int, int, int]]:
    """Yield the layers (n, m, β) with m = ``outputs`` that the induction leaves, in its order."""
    m = outputs
    for beta in range(3, m // 2 + 2):
        groups, rest = divmod(m, beta - 1)
        if rest == 0:
            delta = beta - (beta * beta // 4) // (beta - 1)
            for n in range(beta, max(beta, 2 * m - groups - 2 * delta) + 1):
                yield n, m, beta


def budget_of(inputs: int, outputs: int, buffer_words: int) -> Budget:
    """Return what a schedule cheaper than eq. (28) may use, given the claim for one input less."""
    n, m, beta = inputs, outputs, buffer_words
    most = least_accesses(n, m, beta) - 1
    fewer = n * (m // (beta - 1) - 1) if n > beta else most
    return Budget(n, m, beta, most, min(fewer, most - 2 * m))


def prove(outputs: int, most_groups: int | None = None) -> Iterator[Refutation]:
    """Yield a refutation for every case that the induction leaves for m = ``outputs``, with K <= ``most_groups``.

    Raises `InputError` where the counting game does not decide a case: nothing is then claimed for this m.
    """
    for case in remaining_cases(outputs):
        if most_groups is not None and outputs // (case[2] - 1) > most_groups:
            continue
        found = refute(budget_of(*case))
        if found is None:
            text = "the counting game does not decide a layer"
            raise InputError(Fault(text, field="inputs, outputs, buffer", value=case))
        yield found


def write_traces(path: Path, refutations: Iterator[Refutation]) -> Iterator[Refutation]:
    """Write the traces while they are found, and hand them on.

    A trace is a line of text (n, m, β, most 2μ + ν, most ν, then how many states each level has) and the states, one
    byte a number, as `counting_game.Labels`; all traces follow each other in one LZMA stream.
    """
    partial = path.with_name(path.name + ".partial")
    with lzma.open(partial, "wb", preset=_TRACE_FILTER) as stream:
        for found in refutations:
            budget = found.budget
            head = (budget.inputs, budget.outputs, budget.buffer_words, budget.accesses, budget.input_reads)
            stream.write((" ".join(map(str, (*head, *map(len, found.levels)))) + "\n").encode())
            for level in found.levels:
                stream.write(level[np.lexsort(level.T[::-1])].tobytes())
            yield found
    partial.replace(path)
