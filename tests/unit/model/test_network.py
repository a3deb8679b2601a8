"""Networks that take energy, by version."""

from dataclasses import replace

import pytest

from jouleloop.api.project import load_target
from jouleloop.arch.architecture import Architecture, Network
from jouleloop.errors import InputError
from jouleloop.model.encode import encode_hardware
from jouleloop.model.network import takes_energy
from jouleloop.model.semantics import RULES


def with_network(arch: Architecture, network: Network) -> Architecture:
    first, *others = arch.levels
    return replace(arch, levels=(replace(first, network=network), *others))


@pytest.mark.parametrize("version", RULES)
def test_energy_of_networks_is_refused_where_it_was_counted_otherwise(version: str) -> None:
    target = load_target("eyeriss", semantics=version)
    assert not takes_energy(encode_hardware(target.arch, target.costs, RULES[version]).networks)
    charged = with_network(target.arch, Network(hop_pj=0.5))
    if version == "timeloop-2023-04":
        with pytest.raises(InputError, match="energy of networks as counted before"):
            encode_hardware(charged, target.costs, RULES[version])
    else:
        assert takes_energy(encode_hardware(charged, target.costs, RULES[version]).networks)
