"""A share of the attacks on certificates; benchmarks/certificate_attacks.py makes all of them."""

import itertools

from attacks import ATTACKS, Tally, attacked, believed
from jouleloop.proof.limits import SECONDS


def test_no_attack_is_accepted_and_every_true_certificate_is() -> None:
    tally, made = Tally(), 0
    for name, data in believed(itertools.count(5000), 14, tally):
        made += attacked(name, data, 6, tally)
    assert tally.accepted == []
    assert tally.disbelieved == []
    assert tally.slowest_seconds < 3 * SECONDS
    assert made > 60
    assert len(tally.refused) > len(ATTACKS) - 3
