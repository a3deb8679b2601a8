"""What a case has, by reading its documents; and what its optimum uses."""

from collections.abc import Iterable, Iterator

from differential.case import Case, components, fanouts, targets
from differential.uber import Uber
from jouleloop.mapping.mapping import Mapping


def features(case: Case) -> list[str]:
    """Return the features of a case."""
    return sorted({*_problem(case), *_hardware(case), *_energies(case), *_limits(case)})


def _problem(case: Case) -> Iterator[str]:
    shape, instance = case.problem["problem"]["shape"], case.problem["problem"]["instance"]
    yield f"shape: {shape['name']}"
    yield f"objective: {case.objective}"
    yield f"semantics: {case.semantics}"
    sizes = {**{c["name"]: c["default"] for c in shape.get("coefficients") or []}, **instance}
    inputs = sum(not space.get("read-write") for space in shape["data-spaces"])
    yield f"inputs: {inputs}"
    windows = 0
    for space in shape["data-spaces"]:
        for rank in space["projection"]:
            wide = [term for term in rank if sizes[term[0]] > 1]
            windows += len(wide) > 1
            if len(wide) > 1 and space.get("read-write"):
                yield "window: of an output"
            if len(wide) > 2:
                yield "window: of three dimensions"
            if any(len(term) > 1 and sizes[term[1]] > 1 for term in wide):
                yield "window: stride or coefficient" if len(wide) > 1 else "coefficient without window"
    if windows:
        yield "window: in one rank" if windows == 1 else "window: in several ranks"


def _hardware(case: Case) -> Iterator[str]:
    fans = fanouts(case)
    yield f"storage levels: {len(fans)}"
    for index, (_, x, y) in enumerate(fans):
        if x * y > 1:
            place = "innermost" if index == len(fans) - 1 else "outermost" if index == 0 else "middle"
            yield f"fan-out: {place}"
            yield "fan-out: X and Y" if min(x, y) > 1 else "fan-out: X" if x > 1 else "fan-out: Y"
    yield f"fan-outs: {sum(x * y > 1 for _, x, y in fans)}"
    for part in components(case)[:-1]:
        attributes = part["attributes"]
        room = [attributes[key] for key in ("depth", "entries", "memory_depth") if key in attributes]
        if room:
            yield "room: below 8" if room[0] < 8 else "room: below 64" if room[0] < 64 else "room: 64 and more"
        for key in ("block_size", "cluster_size", "multiple_buffering", "min_utilization"):
            if attributes.get(key, 1) != 1:
                yield f"attribute: {key}"
        for key in ("width", "entries", "sizeKB", "read_bandwidth", "write_bandwidth", "shared_bandwidth"):
            if key in attributes:
                yield f"attribute: {key}"
        if "meshX" not in attributes:
            yield "attribute: no mesh"


def _energies(case: Case) -> Iterator[str]:
    tables = case.ert["ERT"]["tables"][:-1]
    costs = []
    for table in tables:
        actions = {action["name"]: action["energy"] for action in table["actions"]}
        costs += [actions.get("read"), actions.get("write")]
        if "update" not in actions:
            yield "energy: no update"
    if 0 in costs:
        yield "energy: zeros"
    if len(set(costs)) == 1:
        yield "energy: all alike"
    elif len(set(costs)) < len(costs):
        yield "energy: some alike"
    if any(cost and cost != round(cost) for cost in costs):
        yield "energy: odd numbers"


def _limits(case: Case) -> Iterator[str]:
    space = Uber(case)
    for index, tiling in enumerate(space.tilings):
        kind = "spatial" if tiling.spatial else "temporal"
        for key, given in (("exact", tiling.exact), ("at most", tiling.most), ("at least", tiling.least)):
            if given:
                yield f"{kind} factors: {key}"
        if any(factor > 1 for factor in tiling.exact.values()):
            yield f"{kind} factors: above 1"
        named = len(tiling.prefix) + len(tiling.suffix)
        order = "free" if not named else "whole" if named == len(space.bounds) else "partial"
        if tiling.suffix:
            yield f"{kind} order: outer part"
        if tiling.spatial:
            yield f"spatial order: {order}"
            yield "split: free" if tiling.split is None else "split: given"
        elif tiling.storage == 0:
            fans = "fans out" if index else "plain"
            yield f"innermost order: {order}, {fans}"
        else:
            below = any(t.spatial and t.storage == tiling.storage for t in space.tilings)
            yield f"temporal order: {order}" + (", fans out" if below else "")
    for target in targets(case.constraints):
        if any(part.endswith("=0") for part in str(target.get("factors") or "").split()):
            yield "factors: whole dimension"
        if "default_max_factor" in target:
            yield "factors: default limit"
    open_bits = sum(len(set(flags)) > 1 for flags in zip(*(sum(mask, ()) for mask in space.masks), strict=True))
    yield f"bypass: {'fixed' if not open_bits else 'one or two open' if open_bits < 3 else 'three or more open'}"


def used(case: Case, mapping: Mapping) -> list[str]:
    """Return what the optimum makes use of."""
    shape, instance = case.problem["problem"]["shape"], case.problem["problem"]["instance"]
    sliding: set[str] = set()
    for space in shape["data-spaces"]:
        for rank in space["projection"]:
            wide = [term[0] for term in rank if instance[term[0]] > 1]
            sliding |= set(wide) if len(wide) > 1 else set()
    found = set()
    unrolled = [{d for d, _, _ in level.spatial} for level in mapping.levels]
    for index, here in enumerate(unrolled):
        if here & sliding:
            found.add("optimum: window unrolled")
            if here - sliding:
                found.add("optimum: window and others unrolled at one level")
            if any(unrolled[:index]):
                found.add("optimum: window unrolled under an outer fan-out")
        if here and index == len(unrolled) - 1:
            found.add("optimum: innermost fan-out used")
    dims: set[str] = set().union(*unrolled)
    if len(dims) > 2:
        found.add("optimum: three or more dimensions unrolled")
    if sum(map(bool, unrolled)) > 1:
        found.add("optimum: several fan-outs used")
    if any(len({axis for *_, axis in level.spatial}) > 1 for level in mapping.levels):
        found.add("optimum: X and Y used at one level")
    return sorted(found)


def table(rows: Iterable[tuple[list[str], str]]) -> str:
    """Return features x verdicts as text; a row is the features and the verdict of a case."""
    counts: dict[str, dict[str, int]] = {}
    verdicts: dict[str, None] = {}
    for names, verdict in rows:
        verdicts.setdefault(verdict)
        for name in ("all", *names):
            row = counts.setdefault(name, {})
            row[verdict] = row.get(verdict, 0) + 1
    columns = sorted(verdicts)
    width = max((len(name) for name in counts), default=7) + 1
    lines = [f"{'feature':{width}}" + "".join(f"{column:>{max(len(column), 7) + 2}}" for column in columns)]
    for name in sorted(counts, key=lambda name: (name != "all", name)):
        cells = (f"{counts[name].get(column, 0):>{max(len(column), 7) + 2}}" for column in columns)
        lines.append(f"{name:{width}}" + "".join(cells))
    return "\n".join(lines)
