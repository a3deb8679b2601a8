"""Compare evaluations with real timeloop-model on random designs, layers, energy tables and mappings, field by field.

Every design is drawn from a number: storage of all classes and sizes, fan-outs in two axes at any level, clusters,
bandwidths, shapes with windows and strides, tables with all actions that Timeloop looks for, and a mapping
in Timeloop's own words. Printed is how many of them agree in all fields, and every one that does not. A design that
both refuse agrees. Left out is the sum of spatial reductions where Timeloop's unsigned count falls below 0.
"""

import argparse
import collections
import itertools
import json
import lzma
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import yaml

from jouleloop.arch.read import architecture_from
from jouleloop.division import divisors
from jouleloop.energy.choice import costs_of, sources_of
from jouleloop.engines.agreement import Pair, compare_evaluations
from jouleloop.engines.timeloop.outputs import parse_evaluation
from jouleloop.engines.timeloop.programs import locate
from jouleloop.errors import JouleloopError
from jouleloop.mapping.formats import read_timeloop_mapping
from jouleloop.model.evaluate import evaluate_mapping
from jouleloop.model.evaluation import Evaluation
from jouleloop.model.semantics import RULES
from jouleloop.workload.problem import Problem
from jouleloop.workload.timeloop_problem import problem_from

#: Dimensions and, by data space, ranks; ``*s`` is a coefficient, ``!`` marks what is written.
SHAPES: tuple[tuple[str, dict[str, tuple[str, ...]]], ...] = (
    ("CMN", {"W": ("C", "M"), "I": ("C", "N"), "!O": ("M", "N")}),
    ("CMRP", {"W": ("C", "M", "R"), "I": ("C", "R P*s"), "!O": ("M", "P")}),
    ("CMRSPQ", {"W": ("C", "M", "R", "S"), "I": ("C", "R P*s", "S Q*t"), "!O": ("M", "P", "Q")}),
    ("ABCD", {"X": ("A B", "C"), "Y": ("B*s", "D"), "!Z": ("A", "C D*t")}),
    ("ABCD", {"X": ("A B C*s",), "Y": ("D", "B"), "!Z": ("A", "D")}),
)
STORAGE_TABLES = (
    *[("read", "write")] * 4,
    ("random_read", "read", "write"),
    ("read", "random_fill"),
    ("read", "write", "random_fill", "random_read", "update", "idle"),
    ("read", "update"),
    ("access",),
    ("write",),
)
#: Tables that Timeloop 4 charges alike: it looks for other actions of fills and updates, and adds leakage.
LATER_TABLES = (("read", "write"), ("read", "write", "leak"), ("random_read", "read", "write", "idle"))
#: Keywords of what is not reused, by type of directive, as Timeloop 3.0.3 and Timeloop 4 read them in a mapping.
KEYWORDS = {
    "temporal": ("no_temporal_reuse",),
    "spatial": ("no_multicast_no_reduction", "no_link_transfer"),
    "bypass": (),
}
LATER_KEYWORDS = {
    "temporal": ("no_reuse", "rmw_first_update"),
    "spatial": ("no_reuse", "no_link_transfer"),
    "bypass": ("no_coalesce",),
}
#: Attributes by which the network below a level takes energy.
WIRES = {
    "energy-per-hop": (0.5, 2),
    "router-energy": (0.25, 3),
    "energy-per-ingress": (0.125, 1.5),
    "wire-energy": (0.0625, 0.5),
    "tile-width": (100, 250.5),
    "network-word-bits": (8, 32),
}
COMPUTE_TABLES = (("compute",), ("mac", "compute"), ("mac_random", "mac"), ("mult",), ("mult_random", "compute"))


class Draw:
    """One random design; ``documents`` are the input files of timeloop-model."""

    def __init__(
        self,
        number: int,
        storage_tables: tuple[tuple[str, ...], ...] = STORAGE_TABLES,
        keywords: dict[str, tuple[str, ...]] | None = None,
        *,
        wired: bool = False,
        named: bool = False,
        meshes: bool = False,
        ways: bool = False,
        latencies: bool = False,
        spread: bool = False,
    ) -> None:
        self.random = random.Random(number)
        self.left: dict[str, int] = {}
        self.spaces: list[str] = []
        self.dims: Sequence[str] = ()
        problem = self.problem()
        self.mesh = [(1, 1)]
        for _ in range(self.random.choice((1, 2, 2, 3, 3, 4))):
            x, y = self.random.choice((1, 1, 1, 2, 3, 4)), self.random.choice((1, 1, 1, 2, 3))
            self.mesh.append((self.mesh[-1][0] * x, self.mesh[-1][1] * y))
        self.names = ["memory", *(f"L{i}" for i in range(1, len(self.mesh) - 1))]
        local = [self.storage(index) for index in range(len(self.names))]
        local.append(self.component("mac", "intmac", {"datawidth": 8}, self.mesh[-1]))
        tables = [self.table(item["name"], storage_tables) for item in local[:-1]]
        tables.append(self.table(local[-1]["name"], COMPUTE_TABLES))
        self.documents: dict[str, Any] = {
            "arch": {"architecture": {"version": 0.3, "subtree": [{"name": "system", "local": local}]}},
            "problem": {"problem": problem},
            "ert": {"ERT": {"version": self.random.choice((0.3, 0.4)), "tables": tables}},
            "mapping": {"mapping": self.mapping()},
        }
        for item in local[:-1] if wired else ():
            drawn = {key: self.random.choice(values) for key, values in WIRES.items() if self.maybe(0.4)}
            if storage_tables is LATER_TABLES and "network-word-bits" in drawn:
                drawn["network_word_bits"] = drawn.pop("network-word-bits")
            drawn |= {"tile-width": 50} if "wire-energy" in drawn and "tile-width" not in drawn else {}
            item["attributes"] |= drawn
        if named:
            self.name_networks(local, tables)
        if meshes:
            self.name_meshes(local, later=storage_tables is LATER_TABLES)
        if ways:
            self.name_both_ways(local, tables, later=storage_tables is LATER_TABLES)
        networks = [item for item in local if item["class"] in ("XY_NoC", "Legacy", "ReductionTree", "SimpleMulticast")]
        stores = [item for item in local if item not in networks and item["name"].partition("[")[0] in self.names]
        for item in (*stores, *networks) if latencies else ():
            keys = ("fill_latency", "drain_latency")
            for key in keys if item in networks else [f"network_{key}" for key in keys]:
                item["attributes"] |= {key: self.random.choice((0, 1, 5, 100))} if self.maybe(0.6) else {}
        for item in (*stores, *(item for item in networks if item["class"] in ("XY_NoC", "Legacy"))) if spread else ():
            key = "network_type" if storage_tables is LATER_TABLES else "network-type"
            item["attributes"] = {k: v for k, v in item["attributes"].items() if k != "network-type"}
            item["attributes"] |= {key: self.random.choice(("M:N", "M:N", "1:N"))} if self.maybe(0.6) else {}
        for directive in self.documents["mapping"]["mapping"] if keywords else ():
            for key in (keywords or {})[directive["type"]]:
                named = [space for space in self.spaces if self.maybe(0.3)]
                if self.maybe(0.6):
                    directive[key] = named

    def name_networks(self, local: list[dict[str, Any]], tables: list[dict[str, Any]]) -> None:
        """Put networks of their own between levels: one that multicasts into the next, one that brings back."""
        nodes = list(local)
        for index, (outer, inner) in enumerate(itertools.pairwise(nodes)):
            if self.maybe(0.5):
                into, back = (
                    ("network_operand", "network_result") if inner is nodes[-1] else ("network_fill", "network_drain")
                )
                outer["attributes"] |= {"network_read": f"in{index}", "network_update": f"out{index}"}
                inner["attributes"] |= {into: f"in{index}", back: f"out{index}"}
                for name in (f"in{index}", f"out{index}"):
                    attributes = {"action_name": "transfer", "datawidth": 16}
                    local.append({"name": name, "class": "SimpleMulticast", "attributes": attributes})
                    tables.append({"name": f"system.{name}", "actions": [{"name": "transfer", "energy": 0}]})

    def name_both_ways(self, local: list[dict[str, Any]], tables: list[dict[str, Any]], *, later: bool) -> None:
        """Put networks of any class between levels, most with one for each way, called as Timeloop calls its own."""
        nodes = list(local)
        for outer, inner in itertools.pairwise(nodes):
            classes = self.random.choice(
                (
                    *[("XY_NoC", "Legacy"), ("XY_NoC", "ReductionTree"), ("SimpleMulticast", "ReductionTree")] * 3,
                    *[("SimpleMulticast", ""), ("SimpleMulticast", "SimpleMulticast"), ("SimpleMulticast", "Legacy")]
                    * 2,
                    *[(None, "Legacy"), (None, "ReductionTree"), (None, "SimpleMulticast"), (None, None)],
                    *[("Legacy", ""), ("XY_NoC", None), ("SimpleMulticast", None), ("ReductionTree", "Legacy")],
                )
            )
            into, back = (
                ("network_operand", "network_result") if inner is nodes[-1] else ("network_fill", "network_drain")
            )
            name = " <==> ".join(str(item["name"]).partition("[")[0] for item in (outer, inner))
            if classes[0] is not None:
                outer["attributes"]["network_read"] = inner["attributes"][into] = name
                self.network(name, classes[0], local, tables, later=later)
            if classes[1] is not None:
                again = name if classes[1] == "" else f"{name} back"
                outer["attributes"]["network_update"] = inner["attributes"][back] = again
                if classes[1]:
                    self.network(again, classes[1], local, tables, later=later)

    def network(
        self, name: str, klass: str, local: list[dict[str, Any]], tables: list[dict[str, Any]], *, later: bool
    ) -> None:
        """Add a network that takes energy, by its attributes or by a table."""
        drawn: dict[str, Any] = {}
        if klass in ("XY_NoC", "Legacy"):
            drawn |= {key: self.random.choice(values) for key, values in WIRES.items() if self.maybe(0.4)}
            drawn |= {"tile-width": 50} if "wire-energy" in drawn and "tile-width" not in drawn else {}
            if later and "network-word-bits" in drawn:
                drawn["network_word_bits"] = drawn.pop("network-word-bits")
        elif klass == "ReductionTree":
            drawn |= {"adder-energy": self.random.choice((0.5, 3.25)), "datawidth": 16}
        else:
            drawn |= {"action_name": "transfer", "multicast_factor_argument": "n"}
            drawn |= {"per_datatype_ERT": True} if self.maybe(0.4) else {}
            actions = [f"transfer_{v}" for v in self.spaces] if "per_datatype_ERT" in drawn else ["transfer"]
            entries = []
            for action in actions:
                if self.maybe(0.1):
                    continue
                factors = self.random.choice(([1], [1, 2, 3, 4, 6, 8], [2, 4, 2]))
                entries += [{"name": action, "arguments": {"n": n}, "energy": n * 0.5} for n in factors]
            tables.append({"name": f"system.{name}", "actions": entries})
        local.append({"name": name, "class": klass, "attributes": drawn})

    def name_meshes(self, local: list[dict[str, Any]], *, later: bool) -> None:
        """Put meshes with energies between levels: one for both ways, called as Timeloop calls its own."""
        nodes = list(local)
        for outer, inner in itertools.pairwise(nodes):
            if self.maybe(0.3):
                continue
            into, back = (
                ("network_operand", "network_result") if inner is nodes[-1] else ("network_fill", "network_drain")
            )
            name = " <==> ".join(str(item["name"]).partition("[")[0] for item in (outer, inner))
            drawn = {key: self.random.choice(values) for key, values in WIRES.items() if self.maybe(0.4)}
            drawn |= {"tile-width": 50} if "wire-energy" in drawn and "tile-width" not in drawn else {}
            if later and "network-word-bits" in drawn:
                drawn["network_word_bits"] = drawn.pop("network-word-bits")
            drawn |= {self.random.choice(("datawidth", "word_width")): 8} if self.maybe(0.4) else {}
            local.append({"name": name, "class": self.random.choice(("XY_NoC", "Legacy")), "attributes": drawn})
            outer["attributes"]["network_read"] = inner["attributes"][into] = name
            if self.maybe(0.7):
                outer["attributes"]["network_update"] = inner["attributes"][back] = name

    def problem(self) -> dict[str, Any]:
        """Return shape and instance of a random layer; its dimensions, bounds and data spaces are noted."""
        self.dims, shape = self.random.choice(SHAPES)
        self.spaces = [name.lstrip("!") for name in shape]
        self.left = {d: self.random.choice((1, 2, 2, 3, 4, 4, 6, 8)) for d in self.dims}
        return {"shape": self.shape(shape), "instance": dict(self.left)}

    def maybe(self, share: float) -> bool:
        """Return True with a probability."""
        return self.random.random() < share

    def shape(self, spaces: dict[str, tuple[str, ...]]) -> dict[str, Any]:
        """Return a problem shape with random default coefficients."""
        listed = []
        for name, ranks in spaces.items():
            projection = [[term.split("*") for term in rank.split()] for rank in ranks]
            written = {"read-write": True} if name.startswith("!") else {}
            listed.append({"name": name.lstrip("!"), "projection": projection, **written})
        coefficients = [{"name": name, "default": self.random.choice((1, 1, 2, 3))} for name in "st"]
        return {"name": "x", "dimensions": list(self.dims), "coefficients": coefficients, "data-spaces": listed}

    def component(self, name: str, klass: str, attributes: dict[str, Any], mesh: tuple[int, int]) -> dict[str, Any]:
        """Return a node of the v0.3 tree."""
        count = mesh[0] * mesh[1]
        attributes |= {"meshX": mesh[0], "meshY": mesh[1]}
        return {"name": name if count == 1 else f"{name}[0..{count - 1}]", "class": klass, "attributes": attributes}

    def storage(self, index: int) -> dict[str, Any]:
        """Return a storage level with random attributes."""
        choice, maybe, mesh = self.random.choice, self.maybe, self.mesh[index]
        outermost = index == 0
        klass = "DRAM" if outermost else choice(("SRAM", "regfile", "smartbuffer_SRAM", "storage", "DRAM"))
        bits, block = choice((8, 16, 24)), choice((1, 1, 2, 4))
        found: dict[str, Any] = {choice(("word-bits", "word_width", "datawidth")): bits}
        found[choice(("block-size", "block_size", "n_words"))] = block
        if maybe(0.3) and klass != "DRAM":
            found["cluster-size"] = choice(divisors(mesh[0] * mesh[1]))
            if maybe(0.5):
                found["width"] = bits * block * found["cluster-size"]
        if not outermost:
            size = choice((16, 64, 256, 1024))
            found |= choice(({"depth": size}, {"memory_depth": size}, {"entries": size}, {"sizeKB": choice((1, 2))}))
            found |= {"multiple-buffering": choice((1.5, 2.0))} if maybe(0.2) else {}
            found |= {"min-utilization": choice((0.01, 0.1, 0.5))} if maybe(0.1) else {}
        for key in ("read_bandwidth", "write_bandwidth", "shared_bandwidth", "bandwidth"):
            found |= {key: choice((0.3, 1, 2.5))} if maybe(0.2) else {}
        for key, values in (
            ("vector-access-energy", (0, 1.5)),
            ("reduction_supported", (True, False)),
            ("network-type", ("1:1", "1:N")),
            ("num-banks", (3,)),
        ):
            found |= {key: choice(values)} if maybe(0.1) else {}
        return self.component(self.names[index], klass, found, mesh)

    def table(self, name: str, actions: tuple[tuple[str, ...], ...]) -> dict[str, Any]:
        """Return the energy reference table of a component."""
        drawn = [
            {"name": action, "energy": self.random.choice((0.25, 1, 2, 3.5, 7))} for action in self.action(actions)
        ]
        return {"name": f"system.{name}", "actions": drawn}

    def action(self, actions: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
        """Return one set of actions, now and then with two energies each."""
        found = self.random.choice(actions)
        return found * 2 if self.maybe(0.2) else found

    def mapping(self) -> list[dict[str, Any]]:
        """Return directives whose factors multiply to the layer and that fit the fan-outs."""
        directives = []
        for index, name in enumerate(self.names):
            fanout = [after // before for before, after in zip(*self.mesh[index : index + 2], strict=True)]
            if fanout == [1, 1]:
                continue
            axes: tuple[list[str], list[str]] = ([], [])
            factors = {}
            for d in self.shuffled(self.dims):
                axis = self.random.randrange(2)
                factors[d] = self.random.choice([k for k in divisors(self.left[d]) if k <= fanout[axis]])
                fanout[axis] //= factors[d]
                self.left[d] //= factors[d]
                axes[axis].append(d)
            order = {"permutation": "".join(axes[0] + axes[1]), "split": len(axes[0])}
            directives.append({"target": name, "type": "spatial", "factors": self.text(factors), **order})
        for name in reversed(self.names):
            factors = {d: n if name == self.names[0] else self.random.choice(divisors(n)) for d, n in self.left.items()}
            self.left = {d: n // factors[d] for d, n in self.left.items()}
            order = {"permutation": "".join(self.shuffled(self.dims))}
            directives.append({"target": name, "type": "temporal", "factors": self.text(factors), **order})
            bypass = [space for space in self.spaces if name != self.names[0] and self.maybe(0.25)]
            directives.append({"target": name, "type": "bypass", "bypass": bypass})
        return self.shuffled(directives)

    def shuffled(self, items: Any) -> list[Any]:
        """Return the items in random order."""
        return self.random.sample(list(items), len(items))

    def text(self, factors: dict[str, int]) -> str:
        """Return factors in Timeloop's words."""
        return " ".join(f"{d}={n}" for d, n in factors.items())


def ours(documents: dict[str, Any], folder: Path, semantics: str) -> Evaluation | None:
    """Return jouleloop's evaluation, or None where it refuses the design."""
    try:
        later = RULES[semantics].reads_underscores
        arch, problem = architecture_from(documents["arch"], later=later), problem_from(documents["problem"])
        costs = costs_of(arch, sources_of(folder / "ert.yaml"))
        mapping = read_timeloop_mapping(documents["mapping"], problem, arch)
        return evaluate_mapping(problem, arch, costs, mapping, semantics)
    except JouleloopError:
        return None


def theirs(documents: dict[str, Any], folder: Path, program: Path) -> Evaluation | None:
    """Return Timeloop's evaluation, or None where it ends with an error."""
    command = [str(program), *(f"{name}.yaml" for name in documents)]
    environment = os.environ | {"TIMELOOP_HIDE_INCONSEQUENTIAL_STATS": "0"}  # Timeloop 4: all networks
    run = subprocess.run(command, cwd=folder, capture_output=True, check=False, env=environment)
    stats, xml = folder / "timeloop-model.stats.txt", folder / "timeloop-model.map+stats.xml"
    if run.returncode or not stats.exists():
        return None
    spaces = [SimpleNamespace(name=s["name"]) for s in documents["problem"]["problem"]["shape"]["data-spaces"]]
    problem = cast("Problem", SimpleNamespace(data_spaces=spaces))
    return parse_evaluation(stats.read_text(), xml.read_text(), problem)


def compared_json(mine: dict[str, Any], real: dict[str, Any]) -> list[Pair]:
    """Return the fields of two evaluations as plain data, without the sums that wrap around in Timeloop."""
    pairs = compare_evaluations(mine, real)
    below = {pair.field.rpartition(".")[0] for pair in pairs if pair.quantity == "networks" and (pair.ours or 0.0) < 0}
    return [pair for pair in pairs if pair.field.rpartition(".") not in {(where, ".", "reductions") for where in below}]


def compared(mine: Evaluation, real: Evaluation) -> list[Pair]:
    """Return the fields of two evaluations, see `compared_json`."""
    return compared_json(mine.as_json(), real.as_json())


def main() -> int:
    """Compare as many random designs as asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, help="how many designs")
    parser.add_argument("--first", type=int, default=0, help="number of the first design")
    parser.add_argument("--semantics", choices=RULES, default="timeloop-3.0.3", help="rules of the Timeloop that runs")
    parser.add_argument("--keywords", action="store_true", help="tell levels at random what not to reuse")
    parser.add_argument("--wired", action="store_true", help="let networks take energy")
    parser.add_argument("--named", action="store_true", help="let levels name networks")
    parser.add_argument("--meshes", action="store_true", help="let levels name networks that take energy")
    parser.add_argument("--ways", action="store_true", help="let levels name a network for each way, of any class")
    parser.add_argument("--latencies", action="store_true", help="let networks take cycles")
    parser.add_argument("--spread", action="store_true", help="let networks distribute multicasts (M:N)")
    parser.add_argument("--store", type=Path, help="JSON file (.xz) for what Timeloop says of every design")
    given = parser.parse_args()
    stored: dict[int, Any] = {}
    program, _ = locate()
    tables = LATER_TABLES if RULES[given.semantics].charges_updates else STORAGE_TABLES
    known = LATER_KEYWORDS if RULES[given.semantics].knows_no_coalesce else KEYWORDS
    keywords = known if given.keywords else None
    tally: collections.Counter[str] = collections.Counter()
    fields = 0
    for number in range(given.first, given.first + given.count):
        kinds = {key: getattr(given, key) for key in ("wired", "named", "meshes", "ways", "latencies", "spread")}
        documents = Draw(number, tables, keywords, **kinds).documents
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for file, data in documents.items():
                (folder / f"{file}.yaml").write_text(yaml.safe_dump(data, sort_keys=False))
            mine, real = ours(documents, folder, given.semantics), theirs(documents, folder, program)
        stored[number] = None if real is None else real.as_json()
        if mine is None or real is None:
            tally["both refuse" if mine is real else "one refuses"] += 1
            if mine is not real:
                print(f"design {number}: refused by {'jouleloop' if mine is None else 'Timeloop'} alone")
            continue
        pairs = compared(mine, real)
        wrong = [pair for pair in pairs if pair.verdict != "equal"]
        tally["equal" if not wrong else "differ"] += 1
        fields += len(pairs) - len(wrong)
        for pair in wrong[:3]:
            print(f"design {number}: {pair.field} {pair.ours} {pair.theirs}")
    if given.store:
        text = ",\n".join(f'"{number}": {json.dumps(found)}' for number, found in stored.items())
        given.store.write_bytes(lzma.compress(f"{{\n{text}\n}}\n".encode()))
    print(", ".join(f"{number} {what}" for what, number in tally.most_common()), f"{fields} fields equal", sep="; ")
    return 0 if not tally["differ"] + tally["one refuses"] else 1


if __name__ == "__main__":
    sys.exit(main())
