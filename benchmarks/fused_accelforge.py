"""Count our fused mappings of chains of products by accelforge's model, and search the same chains by its mapper.

    JOULELOOP_ACCELFORGE=FOLDER python benchmarks/fused_accelforge.py OUT.csv

It needs accelforge (docs/engines-accelforge.md). On `two_levels` a word from or to main memory costs 1 and all else
nothing; a value has one bit. Rows are tensors: words that main memory reads and writes by either model.
"""

import itertools
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

import jouleloop as jl
from jouleloop.engines.accelforge.engine import find_accelforge, options_from_environment
from jouleloop.engines.accelforge.inputs import Tagged, tagged_yaml
from jouleloop.fusion.result import ChainResult, GroupRun, LayerRun

#: Rows and columns of all tensors of a chain, first to last, the columns that all share, and words of the buffer.
CHAINS = [
    *(((8, 32, 8), 32, words) for words in (64, 256, 600, 1024)),
    *(((16, 16, 16), 16, words) for words in (40, 128, 400, 1000)),
    *(((4, 64, 4), 64, words) for words in (128, 512, 2048)),
    *(((32, 4, 32), 16, words) for words in (64, 300)),
    *(((8, 16, 8, 16), 16, words) for words in (64, 200, 800)),
]


def searched(rows: tuple[int, ...], columns: int, words: int) -> ChainResult:
    arch = jl.Architecture.read("two_levels").with_({"Buffer.depth": words})
    layers = [f"matmul:M{m}xN{columns}xK{k}" for k, m in itertools.pairwise(rows)]
    return jl.chain(arch, layers)


def tensors(place: int) -> dict[str, tuple[str, tuple[str, str]]]:
    """Return the names of a layer's data spaces, and the variables of each."""
    read, written = f"c{place}", f"c{place + 1}"
    return {
        "A": (f"W{place}", (written, read)),
        "B": (f"T{place}", (read, "n")),
        "Z": (f"T{place + 1}", (written, "n")),
    }


def variable(place: int, dimension: str) -> str:
    return {"M": f"c{place + 1}", "N": "n", "K": f"c{place}"}[dimension]


def specification(rows: tuple[int, ...], columns: int, words: int, nodes: list[Tagged] | None) -> str:
    unit = {name: [{"name": action, "energy": pj, "throughput": "inf"} for action in ("read", "write")] for name, pj in
            (("MainMemory", 1), ("Buffer", 0))}  # fmt: skip
    plain: dict[str, Any] = {"leak_power": 0, "area": 0}
    memory = {"size": "inf", "tensors": {"keep": "~Intermediates", "may_keep": "All"}, "actions": unit["MainMemory"]}
    buffer = {"size": words, "tensors": {"keep": "All"}, "actions": unit["Buffer"]}
    compute = [{"name": "compute", "energy": 0, "throughput": 1}]
    einsums = []
    for place in range(len(rows) - 1):
        accesses = [{"name": name, "projection": list(of)} for name, of in tensors(place).values()]
        einsums.append({"name": f"layer{place}", "tensor_accesses": [*accesses[:2], accesses[2] | {"output": True}]})
    document: dict[str, Any] = {
        "arch": {
            "nodes": [
                Tagged("Memory", name="MainMemory", **plain, **memory),
                Tagged("Memory", name="Buffer", **plain, **buffer),
                Tagged("Compute", name="MAC", **plain, actions=compute),
            ]
        },
        "workload": {
            "rank_sizes": {"N": columns} | {f"C{place}": size for place, size in enumerate(rows)},
            "bits_per_value": {"All": 1},
            "einsums": einsums,
        },
    }
    if nodes is not None:
        document["mapping"] = {"nodes": nodes}
    return tagged_yaml(document)


def mapping_of(found: ChainResult, rows: tuple[int, ...], columns: int) -> list[Tagged] | None:
    """Return our way to run a chain as accelforge's mapping; None where a layer has several mappings."""
    layers = [layer for group in found.groups for layer in group.layers]
    if any(len({run.search.mapping and run.search.mapping.compact() for run in layer.runs}) > 1 for layer in layers):
        return None
    outside = {f"W{place}" for place in range(len(rows) - 1)} | {f"T{g.first}" for g in found.groups}
    outside |= {f"T{g.last + 1}" for g in found.groups}
    sizes = {"n": columns} | {f"c{place}": size for place, size in enumerate(rows)}
    groups = [list(_group(group, sizes, 0, set())) for group in found.groups]
    nodes = [Tagged("Storage", tensors=sorted(outside), component="MainMemory")]
    return [*nodes, *_run_after_each_other(groups)]


def _run_after_each_other(parts: list[list[Tagged]]) -> list[Tagged]:
    return parts[0] if len(parts) == 1 else [Tagged("Sequential", nodes=[Tagged("Nested", nodes=one) for one in parts])]


def _group(group: GroupRun, given: dict[str, int], depth: int, kept: set[str]) -> Iterator[Tagged]:
    """Yield the nodes of a group at a depth, of so large tiles, and beside what is kept around it."""
    sizes = dict(given)
    held = [
        (name, of)
        for place, layer in enumerate(group.layers, start=group.first)
        for space, (name, of) in tensors(place).items()
        if space in (*layer.held_around, layer.held)[depth]
    ]
    loops = [{variable(group.first + k, d) for k, d in enumerate(loop.dimensions)} for loop in group.prefix]
    shared = [f"T{place}" for place in _between(group)]
    for position in range(len(loops) + 1):
        moving = {name: [k + 1 for k, one in enumerate(loops) if one & {*of}] for name, of in held}
        here = [name for name, of in moving.items() if position == max(of, default=0)]
        if here:
            yield Tagged("Storage", tensors=here, component="Buffer")
        if position < len(loops):
            [cut] = loops[position]
            sizes[cut] //= group.prefix[position].factor
            yield Tagged("Temporal", rank_variable=cut, tile_shape=sizes[cut])
    if shared:
        yield Tagged("Storage", tensors=shared, component="Buffer")
    inside, place, parts = {*kept, *shared, *(name for name, _ in held)}, group.first, []
    for child in group.children:
        if isinstance(child, GroupRun):
            parts.append(list(_group(child, sizes, depth + 1, inside)))
            place = child.last + 1
        else:
            parts.append(list(_part(child, place, dict(sizes), inside)))
            place += 1
    yield from _run_after_each_other(parts)


def _between(group: GroupRun) -> Iterator[int]:
    """Yield the tensors that two children of a group share, by the layer that reads them."""
    place = group.first
    for child in group.children:
        if place > group.first:
            yield place
        place = child.last + 1 if isinstance(child, GroupRun) else place + 1


def _part(layer: LayerRun, place: int, sizes: dict[str, int], kept: set[str]) -> Iterator[Tagged]:
    mapping = layer.runs[0].search.mapping
    assert mapping is not None
    outer, inner = mapping.levels
    loops = [variable(place, d) for d, _ in outer.temporal]
    stored = {}
    for name, of in tensors(place).values():
        where = len(loops)
        while where and loops[where - 1] not in of:
            where -= 1
        stored[name] = where
    for position in range(len(loops) + 1):
        here = sorted(name for name, where in stored.items() if where == position and name not in kept)
        if here:
            yield Tagged("Storage", tensors=here, component="Buffer")
        if position < len(loops):
            sizes[loops[position]] //= outer.temporal[position][1]
            yield Tagged("Temporal", rank_variable=loops[position], tile_shape=sizes[loops[position]])
    for dimension, _ in inner.temporal:
        yield Tagged("Temporal", rank_variable=variable(place, dimension), tile_shape=1)
    if not inner.temporal and not loops:
        yield Tagged("Temporal", rank_variable=variable(place, "M"), tile_shape=1)
    yield Tagged("Compute", einsum=f"layer{place}", component="MAC")


def asked(python: Path, action: str, text: str) -> dict[str, Any]:
    """Return accelforge's answer: what a mapping costs, or its mapper's best one."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "specification.yaml"
        path.write_text(text)
        command = [str(python), "-E", "-P", "-c", THEIRS, action, str(path)]
        found = subprocess.run(command, check=True, capture_output=True, text=True, timeout=900)
    answer: dict[str, Any] = json.loads(found.stdout.splitlines()[-1])
    return answer


#: What runs in accelforge's Python.
THEIRS = """
import importlib, json, sys
accelforge = importlib.import_module("accelforge")
accelforge.set_n_parallel_jobs(1)
spec = accelforge.Spec.from_yaml(sys.argv[2])
if sys.argv[1] == "search":
    ffm = importlib.import_module("accelforge.mapper.FFM.main")
    spec.mapper.metrics = accelforge.Metrics.ENERGY
    joined = ffm.join_pmappings(ffm.make_pmappings(spec, print_progress=False), metrics=spec.mapper.metrics,
                                print_progress=False)
    best = joined.data.iloc[int(joined.data["Total<SEP>energy"].to_numpy().argmin())]
    spec = accelforge.Spec.from_yaml(sys.argv[2])
    spec.mapping = best["Total<SEP>mapping"](_for_model=True)
spec.model.metrics = accelforge.Metrics.all_metrics()
row = importlib.import_module("accelforge.model.main").evaluate_mapping(spec).data.iloc[0]

def plain(nodes):
    for node in nodes:
        kind = type(node).__name__
        if kind == "Storage":
            yield [str(node.component), sorted(map(str, node.tensors))]
        elif kind == "Temporal":
            yield [str(node.rank_variable), int(node.tile_shape)]
        elif kind == "Compute":
            yield str(node.einsum)
        elif hasattr(node, "nodes"):
            yield {kind: list(plain(node.nodes))}

words = {}
for name in row.index:
    parts = str(name).split("<SEP>")
    if parts[1:3] == ["action", "MainMemory"]:
        words[parts[3]] = words.get(parts[3], 0.0) + float(row[name])
print(json.dumps({"words": words, "mapping": list(plain(spec.mapping.nodes))}))
"""


def our_words(found: ChainResult) -> dict[str, float]:
    """Return the words of main memory by tensor, those that are held in sum as ``held``."""
    words: dict[str, float] = {"held": 0.0}
    for group in found.groups:
        inside = {f"T{place}" for place in range(group.first + 1, group.last + 1)}
        for place, layer in enumerate(group.layers, start=group.first):
            words["held"] += layer.held_outer_words
            held = {*layer.held, *itertools.chain(*layer.held_around)}
            for space, (name, _) in tensors(place).items():
                for run in layer.runs if name not in inside and space not in held else ():
                    assert run.search.evaluation is not None
                    one = run.search.evaluation.levels[0].data[space]
                    words[name] = words.get(name, 0.0) + run.iterations * (one.reads + one.updates + one.fills)
    return words


def main() -> None:
    [out] = sys.argv[1:]
    program = find_accelforge(options_from_environment())
    rows = []
    for sizes, columns, words in CHAINS:
        ours = searched(sizes, columns, words)
        best = asked(program.python, "search", specification(sizes, columns, words, None))
        nodes = mapping_of(ours, sizes, columns)
        given = specification(sizes, columns, words, nodes)
        counted = None if nodes is None else asked(program.python, "evaluate", given)
        rows.append(
            {
                "rows": "x".join(map(str, sizes)),
                "columns": columns,
                "buffer_words": words,
                "words": ours.outer_words,
                "apart_words": ours.apart_outer_words,
                "counted_there": None if counted is None else sum(counted["words"].values()),
                "mapper": sum(best["words"].values()),
                "accelforge": program.version,
                "mapping": json.dumps(best["mapping"], separators=(",", ":")),
            }
        )
        if counted is not None:
            own, there = our_words(ours), dict(counted["words"])
            alike = all(abs(there.pop(name) - moved) < 0.5 for name, moved in own.items() if name != "held")
            rows[-1]["tensors_alike"] = alike and abs(sum(there.values()) - own["held"]) < 0.5
        print(*rows[-1].values(), sep="  ", flush=True)
        pd.DataFrame(rows).to_csv(out, index=False)


if __name__ == "__main__":
    main()
