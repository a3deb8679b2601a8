"""Orojenesis (ISCA 2024), Figure 23a: which share of a chip's area a buffer deserves, from proven least DRAM words.

The chip, its areas and bandwidth are those of the paper's Section VII-D and of its artifact; the layers are those of a
block of GPT-3-6.7b, 32,768 tokens in 16 batches of 2,048, words of two bytes.
"""

from pathlib import Path

import numpy as np
import pytest
import yaml

import jouleloop as jl

MAC_UM2, BYTE_UM2, CHIP_UM2, HERTZ, BYTES_A_SECOND = 332.25, 2.59122, 0.8 * 529e6, 0.7e9, 147.8e9
OPERATIONS = 14_399_012_077_568
#: Products and how often they run: four projections, two of attention by head and batch, two of the feed-forward part.
BLOCK = {
    "matmul:M4096xN32768xK4096": 4,
    "matmul:M2048xN2048xK128": 16 * 32,
    "matmul:M128xN2048xK2048": 16 * 32,
    "matmul:M16384xN32768xK4096": 1,
    "matmul:M4096xN32768xK16384": 1,
}


#: Of these the pairs that share a tensor without a change of its form: attention, and the feed-forward part.
CHAINS = (
    ("matmul:M2048xN2048xK128", "matmul:M128xN2048xK2048"),
    ("matmul:M16384xN32768xK4096", "matmul:M4096xN32768xK16384"),
)
#: As many shares as the artifact draws.
SHARES = np.linspace(0, 1, 100)


def performance(base: jl.Architecture, share: float, *, fused: bool = False) -> tuple[float, float]:
    """Return the operations a second that main memory and the units allow, the buffer having a share of the area."""
    buffer = base.with_({"buffer.depth": int(share * CHIP_UM2 / BYTE_UM2 / 2)})
    words = 0.0
    for chain in CHAINS if fused else ():
        found = jl.chain(buffer, chain)
        assert found.optimal
        words += found.energy_pj * BLOCK[chain[0]]
    for layer, runs in BLOCK.items():
        if not fused or all(layer not in chain for chain in CHAINS):
            one = jl.search(buffer, layer)
            assert one.optimal
            words += one.energy_pj * runs
    return OPERATIONS / words * BYTES_A_SECOND, (1 - share) * CHIP_UM2 / MAC_UM2 * HERTZ


def two_levels(folder: Path) -> jl.Architecture:
    """Return a buffer below a main memory of which alone an access counts, a pJ a word."""
    nodes = (
        "- !Component {name: DRAM, class: DRAM, attributes: {width: 8, block_size: 1, datawidth: 8}}\n"
        "  - !Component {name: buffer, class: SRAM, attributes: {depth: 1, width: 8, block_size: 1, datawidth: 8}}\n"
        "  - !Component {name: mac, class: intmac, attributes: {datawidth: 8}}\n"
    )
    (folder / "two.yaml").write_text(f"architecture:\n  version: 0.4\n  nodes:\n  {nodes}")
    energies = {"DRAM": ("read", "write", "update"), "buffer": ("read", "write", "update"), "mac": ("compute",)}
    tables = [
        {"name": name, "actions": [{"name": action, "energy": int(name == "DRAM")} for action in actions]}
        for name, actions in energies.items()
    ]
    (folder / "ert.yaml").write_text(yaml.safe_dump({"ERT": {"version": 0.3, "tables": tables}}))
    return jl.Architecture.read(folder / "two.yaml", energy=folder / "ert.yaml", constraints="none")


@pytest.mark.slow
def test_the_best_share_of_the_buffer_is_that_of_the_paper(tmp_path: Path) -> None:
    base = two_levels(tmp_path)
    by_memory, by_units = np.array([performance(base, share) for share in SHARES[1:-1]]).T
    assert (np.diff(by_memory) >= 0).all()
    best = float(SHARES[1:-1][by_units <= by_memory][0])
    assert round(best, 2) == 0.70
    assert int(best * CHIP_UM2 / BYTE_UM2 / 1e6) == 113  # "size=113MB"


@pytest.mark.slow
def test_the_best_share_where_layers_are_fused(tmp_path: Path) -> None:
    """Figure 23b prints 0.28, 46 MB: six layers are one chain there, of which two pairs are chains here."""
    base = two_levels(tmp_path)
    low, high = 1, len(SHARES) - 2  # memory allows more with each share, units less
    while low < high:
        middle = (low + high) // 2
        by_memory, by_units = performance(base, SHARES[middle], fused=True)
        low, high = (low, middle) if by_units <= by_memory else (middle + 1, high)
    assert round(float(SHARES[low]), 2) == 0.40
    apart = min(performance(base, 0.70))
    assert min(performance(base, SHARES[low], fused=True)) / apart > 1.9
