"""Least DRAM words and energy of one head of attention against the tokens, fused and apart, for buffers of four sizes.

    python benchmarks/fused_attention.py [--arch two_levels] [--head 64] [--most 4096] [--figure FILE.svg]

The two products are scores (keys times queries) and values times scores; softmax is taken as free. Every number is a
proven optimum; on ``two_levels`` the energy is the words. ``doubling`` is the power of two by which words grow from
half the tokens. n^2 d^2 / M is the order of the least words for n tokens, heads of d and M words on the chip (Saha and
Ye 2024, arXiv 2402.07443, M at least d^2).
"""

import argparse
import math
from pathlib import Path

from matplotlib.figure import Figure

import jouleloop as jl
from jouleloop.fusion.result import ChainResult

#: The attribute that gives the buffer its size, and its value, by architecture.
DEPTHS = {
    "two_levels": ("Buffer.depth", 65536),
    "simba": ("GlobalBuffer.depth", 2048),
    "eyeriss": ("shared_glb.depth", 16384),
}
SIZES = (0.25, 1, 4, 16)
#: By words of the buffer: tokens, words fused, words apart.
Lines = dict[int, list[tuple[int, int, int]]]


def attention(arch: jl.Architecture, tokens: int, head: int) -> ChainResult:
    """Return the least energy of one head."""
    return jl.chain(arch, [f"matmul:M{tokens}xN{tokens}xK{head}", f"matmul:M{head}xN{tokens}xK{tokens}"])


def row(words: int, tokens: int, head: int, found: ChainResult, before: ChainResult | None) -> str:
    """Return a line of the table."""
    powers = ["", ""]
    if before is not None:
        pairs = ((found.outer_words, before.outer_words), (found.apart_outer_words, before.apart_outer_words))
        powers = [f"{math.log2(now / then):.2f}" for now, then in pairs]
    cells = [
        f"{words:,}",
        f"{tokens:,}",
        f"{found.outer_words:,}",
        powers[0],
        f"{found.apart_outer_words:,}",
        powers[1],
        f"{tokens**2 * head**2 / words:,.0f}",
        f"{found.energy_pj / found.apart_pj:.3f}",
        "yes" if found.optimal else "no",
    ]
    return f"| {' | '.join(cells)} |"


def draw(lines: Lines, path: Path) -> None:
    """Draw words against tokens, a line a buffer."""
    figure = Figure(figsize=(5.2, 3.4), layout="constrained")
    axes = figure.add_subplot(xscale="log", yscale="log", xlabel="tokens n", ylabel="words from and to main memory")
    axes.set_xscale("log", base=2)
    for place, (words, found) in enumerate(sorted(lines.items())):
        tokens, fused, apart = zip(*found, strict=True)
        colour = f"C{place}"
        axes.plot(tokens, fused, "o-", color=colour, markersize=3, label=f"fused, M = {words:,} words")
        axes.plot(tokens, apart, "--", color=colour, linewidth=0.8)
    axes.plot([], [], "k--", linewidth=0.8, label="layers apart")
    axes.legend(frameon=False, fontsize=7)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", default="two_levels", choices=sorted(DEPTHS))
    parser.add_argument("--head", type=int, default=64)
    parser.add_argument("--most", type=int, default=4096)
    parser.add_argument("--figure", type=Path)
    chosen = parser.parse_args()
    print("| M [words] | n | fused [words] | doubling | apart [words] | doubling | n²d²/M | energy ratio | proven |")
    print("|---:|---:|---:|---:|---:|---:|---:|---:|---|")
    path, depth = DEPTHS[chosen.arch]
    lines: Lines = {}
    for size in SIZES:
        arch = jl.Architecture.read(chosen.arch).with_({path: int(depth * size)})
        words = arch.level(path.split(".")[0]).capacity_words or 0
        before: ChainResult | None = None
        for exponent in range(6, int(math.log2(chosen.most)) + 1):
            found = attention(arch, 2**exponent, chosen.head)
            print(row(words, 2**exponent, chosen.head, found, before), flush=True)
            lines.setdefault(words, []).append((2**exponent, found.outer_words, found.apart_outer_words))
            before = found
    if chosen.figure is not None:
        draw(lines, chosen.figure)


if __name__ == "__main__":
    main()
