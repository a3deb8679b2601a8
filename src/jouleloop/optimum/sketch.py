"""A bound of one unrolling that takes no tables: every word has to come in at least once.

`docs/proof.md` states the lemma: *every word once*.
"""

import math

import numpy as np

from jouleloop.jit import njit
from jouleloop.optimum.arrays import Case
from jouleloop.optimum.costs import crossing_pj, network_pj
from jouleloop.optimum.words import values_of


@njit
def _words_seen(case: Case, child: int, v: int) -> float:
    """Words of a data space that one instance of a level ever needs, at least; gaps of a stride count for nothing."""
    coef, bounds = case.target.layer.coef[v], case.target.layer.bounds
    seen = np.empty(bounds.shape[0], np.int64)
    for d in range(bounds.shape[0]):
        seen[d] = case.grid.axis[d].rest * case.unrolled.inside[child, d]
    words = 1.0
    for r in range(coef.shape[0]):
        words *= values_of(coef[r], seen, bounds)
    return words


@njit
def compulsory_pj(case: Case, child: int, v: int) -> float:
    """Energy [pJ] of one data space through the boundary outside ``child``, at least; its edge is prepared."""
    edge, seen_words = case.unrolled.edge[child, v], case.unrolled.seen_words
    if seen_words[child, v] < 0.0:
        seen_words[child, v] = _words_seen(case, child, v)
    words = seen_words[child, v]
    near, linked = case.unrolled.near[child + 1, v], False
    for d in range(near.shape[0]):
        linked = linked or near[d] != 0
    filled = words
    if linked or edge.coincide:
        filled = math.floor(words * (edge.fill_linked if linked else 1.0) * (1.0 - 1e-12))
    asked = words * (edge.distinct_linked if linked else edge.distinct)
    rate = case.unrolled.rate
    sent_pj = network_pj(rate, child, v, 0.0 if linked else words, words if linked else 0.0)
    rate[child, v].sure_vectors = asked / rate[child, v].ask_block
    return float(crossing_pj(rate, child, v, asked, filled, sent_pj))
