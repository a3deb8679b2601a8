"""Sweeps and networks: from a checked file to the list of its layers."""

import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from jouleloop.documents.load import read_plain
from jouleloop.errors import Fault, InputError, gather, raise_all, unknown
from jouleloop.files import is_file, listed, read_text, read_yaml
from jouleloop.validation import made_of, validate
from jouleloop.workload.kind import Kind
from jouleloop.workload.kinds import OWN, kind_named
from jouleloop.workload.layer import Layer
from jouleloop.workload.shape_file import read_kind
from jouleloop.workload.sizes import (
    Rounding,
    input_elements,
    layer_from_sizes,
    output_elements,
    parse_layer,
    parse_sizes,
)
from jouleloop.workload.sweep_schema import (
    CAPACITY,
    MAX_POINTS,
    MOST_POINTS,
    NAME_PATTERN,
    PUBLISHED_COLUMNS,
    CapacitySweep,
    LayerTable,
    NetworkFile,
    NetworkLayer,
    Part,
    RandomLayers,
    Range,
    SweepFile,
    TransformerSweep,
)
from jouleloop.workload.transformer import Transformer, products
from jouleloop.workload.variants import UNCHANGED, Variant, sorted_variants

#: Called with how many points are made, and how many there are, before repetitions are left out.
Progress = Callable[[int, int], None]

_STEP = 10_000
#: How many points ranges of these lengths make.
_COMBINED: dict[str, Callable[[list[int]], int]] = {"product": math.prod, "union": sum, "zip": max}
_MOST_FAULTS = 20
_MOST_DRAWS = 1000


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """One layer of a sweep or network."""

    layer: Layer
    input_size: int | None
    """Input extent along the first axis: as stated, without padding, or else what output, filter, stride and dilation
    make it; None where no filter slides."""
    count: int = 1
    """How often a network runs the layer; 1 in a sweep."""
    variant: Variant = UNCHANGED
    """Attributes of the architecture that the point sets."""
    given: tuple[tuple[str, float], ...] = ()
    """What comes with the layer, by column, and is none of its sizes: tokens of a transformer, published energies."""


@dataclass(frozen=True)
class Sweep:
    """A sweep or network with its layers."""

    name: str
    kind: str
    points: tuple[SweepPoint, ...]
    source: str
    variable: str = ""
    symbol: str = ""
    expected: str = ""
    """What is tested, its name in words, and the expected growth; empty for a network."""
    published: tuple[tuple[str, str], ...] = ()
    """Path of the table of published energies, by architecture."""
    published_parameter: str = ""
    published_set: tuple[tuple[str, str], ...] = ()
    """Set of constraints of the published runs, by architecture; ``full`` for those not named."""
    description: str = ""
    attributes: tuple[str, ...] = ()
    """Paths of the architecture's attributes that the sweep sets; empty for a sweep of layers alone."""
    architectures: tuple[str, ...] = ()
    """Names of the architectures it runs on; empty for all."""
    response_growth: tuple[tuple[str, str], ...] = ()
    """Growth that theory states of further responses than the energy."""
    curves: CapacitySweep | None = None
    """What a sweep of a capacity asks for; None for all other sweeps."""
    chains: tuple[tuple[tuple[str, ...], int], ...] | None = None
    """Layers of a network that follow each other, and how often; None where its file does not say."""

    @property
    def is_network(self) -> bool:
        """Whether this is a network, with multiplicities and without a tested variable."""
        return self.kind == "network"

    def runs_on(self, architecture: str) -> bool:
        """Return whether the sweep is for the architecture of that name."""
        return not self.architectures or architecture in self.architectures

    @property
    def levels(self) -> dict[str, str]:
        """The level whose capacity a sweep varies, by architecture, where its file names one."""
        return {} if self.curves is None else self.curves.levels


def size_columns(points: Iterable[SweepPoint]) -> tuple[str, ...]:
    """Return the sizes that a table of ``points`` has as columns: those of its kinds, others where they are not 1."""
    always: dict[str, None] = {}
    more: dict[str, None] = {}
    for kind, values in _values_by_kind(points).items():
        always |= dict.fromkeys(kind.columns)
        for position, (key, _) in enumerate(kind.fields):
            if any(found[position] != kind.defaults[position] for found in values):
                more.setdefault(key)
    return tuple(always | more)


def _values_by_kind(points: Iterable[SweepPoint]) -> dict[Kind, list[tuple[int, ...]]]:
    found: dict[Kind, list[tuple[int, ...]]] = {}
    for point in points:
        found.setdefault(point.layer.kind, []).append(point.layer.values)
    return found


def load_sweep(path: Path, progress: Progress | None = None) -> Sweep:
    """Return the sweep in the YAML file ``path``; raise `InputError` with all its faults."""
    data = read_yaml(path)
    make = partial(_sweep, path=path, progress=progress)
    sweep: Sweep = gather(lambda: made_of(SweepFile, data, path, make), lambda: _check_tested(data, path))[0]
    return sweep


def _sweep(spec: SweepFile, path: Path, progress: Progress | None) -> Sweep:
    points, variants = gather(lambda: sweep_points(spec, path.parent, progress), lambda: variants_of(spec))
    taken = spec.model_dump(include={"variable", "symbol", "expected", "published_parameter", "description"})
    return Sweep(
        _name(spec.name, path),
        spec.kind,
        tuple(replace(point, variant=variant) for variant in variants for point in points),
        str(path),
        published=tuple((arch, str(path.parent / name)) for arch, name in sorted(spec.published.items())),
        published_set=tuple(sorted(spec.published_set.items())),
        attributes=tuple(spec.architecture),
        architectures=tuple(spec.architectures),
        response_growth=tuple(sorted(spec.response_growth.items())),
        **taken,
    )


def load_sweeps(path: Path, progress: Progress | None = None) -> list[Sweep]:
    """Return the sweep in the file ``path``, of layers or of a capacity, or those of a transformer's products."""
    data = read_yaml(path)
    if isinstance(data, dict) and data.get("kind") == CAPACITY:
        return [made_of(CapacitySweep, data, path, partial(_capacity_sweep, path=path))]
    if not isinstance(data, dict) or "transformer" not in data:
        return [load_sweep(path, progress)]
    return made_of(TransformerSweep, data, path, partial(_transformer_sweeps, path=path))


def _capacity_sweep(spec: CapacitySweep, path: Path) -> Sweep:
    """Return the layers that a sweep of a capacity is of, each once; of a network with how often it runs them."""
    found: dict[Layer, int] = {}
    faults: list[Fault] = []
    if spec.network:
        own = spec.network.endswith((".yaml", ".yml"))
        source = path.parent / (spec.network if own else f"networks/{spec.network}.yaml")
        if not is_file(source):
            known = [child.stem for child in listed(source.parent, "*.yaml")]
            raise InputError(unknown(spec.network, known, "network", field="network"))
        points = load_network(source).points
        spec = spec.model_copy(update={"network": str(source)})
        for point in points:
            found[point.layer.renamed("")] = found.get(point.layer.renamed(""), 0) + point.count
    for index, text in enumerate(spec.layers):
        try:
            found.setdefault(parse_layer(text), 1)
        except InputError as error:
            faults += _inside(error, f"layers.{index}")
    raise_all(faults)
    points = tuple(SweepPoint(layer, layer.input_size, count) for layer, count in found.items())
    name = _name(spec.name, path)
    runs_on = tuple(spec.architectures)
    return Sweep(name, CAPACITY, points, str(path), description=spec.description, architectures=runs_on, curves=spec)


def _transformer_sweeps(spec: TransformerSweep, path: Path) -> list[Sweep]:
    form = {key: value for key, value in spec.transformer.items() if isinstance(value, (list, dict))}
    if len(form) != 1:
        text = "exactly one size has to be a range or a list"
        raise InputError(Fault(text, field="transformer", value=", ".join(form) or None))
    key = next(iter(form))
    values = _values(validate(Part, {"ranges": form}, f"{path}: transformer").ranges[key])
    if len(values) > MOST_POINTS:
        text = f"the sweep has {len(values):,} sizes"
        raise InputError(Fault(text, field=f"transformer.{key}", allowed=f"at most {MOST_POINTS}"))
    points: dict[str, list[SweepPoint]] = {part: [] for part in spec.expected}
    known: dict[str, None] = {}
    for value in values:
        made = products(validate(Transformer, {**spec.transformer, key: value}, f"{path}: transformer"))
        known |= dict.fromkeys(product.name for product in made)
        for product in made:
            if product.name in points:
                layer, _ = layer_from_sizes("matmul", product.sizes, name=f"{product.name}_{value}")
                points[product.name].append(SweepPoint(layer, None, product.count, given=((key, value),)))
    raise_all([unknown(part, known, "matrix product", field="expected") for part in spec.expected if part not in known])
    name = _name(spec.name, path)
    taken = spec.model_dump(include={"symbol", "description"}) | {"architectures": tuple(spec.architectures)}
    return [
        Sweep(_name(f"{name}_{part}", path), "matmul", tuple(found), str(path), key, expected=growth, **taken)
        for (part, found), growth in zip(points.items(), spec.expected.values(), strict=True)
    ]


def _check_tested(data: Any, path: Path) -> None:
    """Raise `InputError` for what is wrong with the keys that say what growth is tested."""
    faults: list[Fault] = []
    if isinstance(data, dict) and data.get("architecture"):
        text = "growth is tested in sizes of layers; a sweep of an architecture has none to expect"
        untested = ("expected", "published", "published_parameter")
        faults += [Fault(text, str(path), key, data[key]) for key in untested if data.get(key)]
    elif isinstance(data, dict):
        text, alone = (
            "is for sweeps of an architecture: there is no key 'architecture'",
            ("architectures", "architecture_combine"),
        )
        faults += [Fault("is missing", str(path), key) for key in ("variable", "expected") if not data.get(key)]
        faults += [Fault(text, str(path), key) for key in alone if key in data]
    raise_all(faults)


def variants_of(spec: SweepFile) -> list[Variant]:
    """Return the variants of the architecture that ``spec`` asks for; the unchanged one where it asks for none.

    Raises `InputError` where lists that are combined by zip differ in length.
    """
    columns = {path: _values(value) for path, value in spec.architecture.items()}
    if spec.architecture_combine == "zip":
        several = {path: column for path, column in columns.items() if len(column) > 1}
        if len({len(column) for column in several.values()}) > 1:
            text = "lists that are combined by zip differ in length"
            raise InputError(Fault(text, field="architecture", value=_lengths(several)))
        most = max(map(len, several.values()), default=1)
        columns = {path: list(column) * (most if len(column) == 1 else 1) for path, column in columns.items()}
        rows: Iterator[tuple[Any, ...]] = zip(*columns.values(), strict=True)
    else:
        rows = itertools.product(*columns.values())
    return sorted_variants(tuple(zip(columns, row, strict=True)) for row in rows)


def load_network(path: Path) -> Sweep:
    """Return the network in the YAML file ``path``; raise `InputError` with all its faults."""
    return made_of(NetworkFile, read_plain(path, "a network"), path, partial(_network, path=path))


def _network(spec: NetworkFile, path: Path) -> Sweep:
    faults: list[Fault] = []
    points: list[SweepPoint] = []
    names: dict[str, Layer | None] = {}
    generated = [] if spec.transformer is None else products(spec.transformer)
    entries = [("transformer", NetworkLayer(kind="matmul", **asdict(product))) for product in generated]
    entries += [(f"layers.{index}", entry) for index, entry in enumerate(spec.layers)]
    if not entries:
        faults.append(Fault("the network has no layers", field="layers", allowed="layers or transformer"))
    for where, entry in entries:
        if entry.name in names:
            faults.append(Fault("two layers have one name", field=f"{where}.name", value=entry.name))
        names[entry.name] = None
        try:
            kind, sizes, rounding = _stated(entry, path.parent, spec.rounding)
        except InputError as error:
            faults += _inside(error, where)
            continue
        try:
            layer, stated = layer_from_sizes(kind, sizes, name=entry.name, rounding=rounding)
        except InputError as error:
            faults += _inside(error, f"{where}.{'layer' if entry.layer else 'sizes'}")
            continue
        names[entry.name] = layer
        faults += _chain_faults(entry, layer, sizes, names, where)
        points.append(SweepPoint(layer, layer.input_size if stated is None else stated, entry.count))
    chains = None if spec.chains is None else tuple((tuple(one.layers), one.count) for one in spec.chains)
    runs = {point.layer.label: point.count for point in points}
    for index, (chain, count) in enumerate(chains or ()):
        faults += [unknown(name, names, "layer", field=f"chains.{index}.layers") for name in chain if name not in names]
        runs |= {name: runs[name] - count * chain.count(name) for name in chain if name in runs}
    faults += [Fault("chains run it more often than the network", None, "chains", n) for n, k in runs.items() if k < 0]
    raise_all(faults)
    about = spec.description
    return Sweep(_name(spec.name, path), "network", tuple(points), str(path), description=about, chains=chains)


def _stated(entry: NetworkLayer, folder: Path, rounding: Rounding) -> tuple[Kind, Mapping[str, int], Rounding]:
    """Return kind, sizes and rounding of a layer of a network."""
    if entry.layer and (entry.kind or entry.shape or entry.sizes):
        raise InputError(Fault("stands beside kind, shape or sizes: one of both", field="layer"))
    if not entry.layer and not entry.kind:
        raise InputError(Fault("is missing", field="kind", allowed="kind and sizes, or the layer as text"))
    if not entry.layer:
        return kind_of(entry.kind, entry.shape, folder), entry.sizes, rounding
    try:
        return parse_sizes(entry.layer)
    except InputError as error:
        raise InputError(replace(fault, field="layer") for fault in error.faults) from error


def _chain_faults(
    entry: NetworkLayer, layer: Layer, sizes: Mapping[str, int], names: Mapping[str, Layer | None], field: str
) -> list[Fault]:
    """Return what is wrong with the layer that ``entry`` says it comes after."""
    if not entry.after:
        return []
    if entry.after not in names or entry.after == entry.name:
        known = [name for name in names if name != entry.name]
        return [unknown(entry.after, known, "layer before this one", field=f"{field}.after")]
    before, wanted = names[entry.after], input_elements(layer, sizes)
    if wanted is None:
        return [Fault("the kind does not say which tensor is its input", None, f"{field}.after", entry.after)]
    if before is not None and output_elements(before) != wanted:
        text = f"writes {output_elements(before)} elements, and this layer reads {wanted}"
        return [Fault(text, None, f"{field}.after", entry.after)]
    return []


def kind_of(name: str, shape: str, folder: Path) -> Kind:
    """Return the kind of that name, or the one of the file ``shape``, whose path is relative to ``folder``.

    Raises `InputError` where a shape is named and not wanted, or wanted and not named, or its file has faults.
    """
    if (name == OWN) != bool(shape):
        text = f"goes with the kind {OWN}" if shape else f"is missing: the kind {OWN} needs a file with its shape"
        raise InputError(Fault(text, field="shape", value=shape or None))
    try:
        return read_kind(folder / shape, OWN, kind_named) if shape else kind_named(name)
    except InputError as error:
        # Told as a fault of the file that names it; the shape's own file stands in the message.
        raise InputError([Fault(str(fault), None, "shape") for fault in error.faults]) from error


def point_count(spec: SweepFile) -> int:
    """Return how many points ``spec`` asks for, those that turn out equal or impossible included, without making any.

    Raises `InputError` where there are more than its ``most_points``.
    """
    count = len(spec.layers) + (spec.random.count if spec.random else 0)
    for ranges, combine in ((spec.ranges, spec.combine), *((part.ranges, part.combine) for part in spec.parts)):
        count += _COMBINED[combine]([len(_values(value)) for value in ranges.values()]) if ranges else 0
    count = max(count, 1)  # fixed sizes alone are a layer
    if spec.architecture:
        count *= _COMBINED[spec.architecture_combine]([len(_values(value)) for value in spec.architecture.values()])
    if count > spec.most_points:
        message = f"the sweep has {count:,} points"
        allowed = f"at most {spec.most_points}; the key most_points allows more, up to {MAX_POINTS}"
        raise InputError(Fault(message, field="most_points", allowed=allowed))
    return count


def sweep_points(spec: SweepFile, folder: Path = Path(), progress: Progress | None = None) -> list[SweepPoint]:
    """Return the layers of ``spec``: its own block, its further blocks, explicit and random layers, each once.

    The path of a shape of one's own starts at ``folder``.

    Raises `InputError`, with the faults of all points; a sweep without points is a fault, and one with too many.
    """
    total = point_count(spec)
    points = _Points(spec, kind_of(spec.kind, spec.shape, folder))
    found, faults = points.found, points.faults
    blocks = [("", Part(fixed={}, ranges=spec.ranges, combine=spec.combine))] if spec.ranges else []
    blocks += [(f"parts.{index}.", part) for index, part in enumerate(spec.parts)]
    if not blocks and not spec.layers and not spec.random and not spec.table and spec.fixed:
        blocks = [("", Part())]
    for prefix, part in blocks:
        for sizes in points.combinations(part, prefix):
            before = len(found)
            points.add(sizes, prefix)
            if progress and len(found) > before and len(found) % _STEP == 0:
                progress(len(found), total)
            if len(faults) > _MOST_FAULTS:
                break
    for index, entry in enumerate(spec.layers):
        points.add_explicit(entry, f"layers.{index}")
    if spec.random is not None:
        points.add_random(spec.random)
    if spec.table is not None:
        points.add_table(spec.table, folder)
    if len(faults) > _MOST_FAULTS:
        faults = [*faults[:_MOST_FAULTS], Fault("and more faults of the same kind")]
    names: dict[str, Layer] = {}
    # Names that were made of sizes differ as the sizes do.
    named = any(point.layer.name for point in found)
    for point in found if named else ():
        if names.setdefault(point.layer.label, point.layer) is not point.layer:
            faults.append(Fault("two different layers have one name", field="layers", value=point.layer.label))
    if not faults and not found:
        allowed = "ranges, parts, layers, random or a table"
        faults.append(Fault("the sweep has no layers", field="ranges", allowed=allowed))
    raise_all(faults)
    return found


def _name(given: str | None, path: Path) -> str:
    name = given or path.stem
    if not re.match(NAME_PATTERN, name):
        raise InputError(Fault("cannot be a name: give the sweep one by the key 'name'", str(path), value=name))
    return name


def _inside(error: InputError, prefix: str) -> list[Fault]:
    return [replace(fault, field=f"{prefix}.{fault.field}" if fault.field else prefix) for fault in error.faults]


def _values(value: Any) -> Any:
    return value.values() if isinstance(value, Range) else value if isinstance(value, list) else [value]


@dataclass
class _Points:
    """The points of a sweep, each once, as they are found, and what is wrong with those that are not."""

    spec: SweepFile
    kind: Kind
    found: list[SweepPoint] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    _known: dict[tuple[str, int | None], set[tuple[int, ...]]] = field(default_factory=dict)
    """Sizes of the layers that were found, by what else tells points apart."""

    def combinations(self, part: Part, prefix: str) -> Iterator[dict[str, int]]:
        """Yield the sizes of a block's points."""
        fixed = {**self.spec.fixed, **part.fixed}
        faults = [
            unknown(key, self.kind.known, "size", field=f"{group}.{key}")
            for group, keys in (("fixed", fixed), (f"{prefix}ranges", part.ranges))
            for key in keys
            if key not in self.kind.known
        ]
        columns = {key: _values(value) for key, value in part.ranges.items()}
        for key in columns:
            if key in part.fixed or (part.combine != "union" and key in self.spec.fixed):
                faults.append(Fault("is both fixed and varied", field=f"{prefix}ranges.{key}"))
        if part.combine == "zip" and len({len(column) for column in columns.values()}) > 1:
            sizes, text = _lengths(columns), "ranges that are combined by zip differ in length"
            faults.append(Fault(text, field=f"{prefix}ranges", value=sizes))
        self.faults += faults
        if faults:
            return
        if part.combine == "union":
            base = {key: column[0] for key, column in columns.items()} | fixed
            yield from ({**base, key: value} for key, column in columns.items() for value in column)
            return
        rows = zip(*columns.values(), strict=True) if part.combine == "zip" else itertools.product(*columns.values())
        for row in rows:
            yield {**fixed, **dict(zip(columns, row, strict=True))}

    def add(
        self, sizes: Mapping[str, Any], prefix: str, name: str = "", given: tuple[tuple[str, float], ...] = ()
    ) -> None:
        """Add the layer of these sizes, or its faults; ``given`` comes with it."""
        try:
            layer, stated = layer_from_sizes(self.kind, sizes, name=name, rounding=self.spec.rounding)
        except InputError as error:
            where = ", ".join(f"{key} = {value}" for key, value in sizes.items())
            self.faults += [
                replace(fault, message=f"{fault.message} (at {where})", field=prefix + (fault.field or ""))
                for fault in error.faults
            ]
            return
        if stated is not None and not name:
            # Two stated inputs may end in one layer; the rows must still differ by name.
            layer = layer.renamed(f"{layer.spec()}/input{stated}")
        self._keep(SweepPoint(layer, layer.input_size if stated is None else stated, given=given))

    def add_explicit(self, entry: str | dict[str, Any], where: str) -> None:
        """Add a layer that the file lists, as text or by its sizes."""
        if isinstance(entry, dict):
            sizes = {**self.spec.fixed, **{str(key): value for key, value in entry.items() if key != "name"}}
            name = entry.get("name", "")
            if isinstance(name, str) and len(name) <= 60:
                self.add(sizes, f"{where}.", name)
            else:
                self.faults.append(Fault("must be text of at most 60 characters", field=f"{where}.name", value=name))
            return
        try:
            layer = parse_layer(entry)
        except InputError as error:
            self.faults += _inside(error, where)
            return
        if layer.kind == self.kind:
            self._keep(SweepPoint(layer, layer.input_size))
        else:
            self.faults.append(Fault("is not of the sweep's kind", field=where, value=entry, allowed=self.spec.kind))

    def add_random(self, request: RandomLayers) -> None:
        """Draw layers with NumPy's PCG64, whose streams are fixed; only draws that make a new layer count."""
        known, faults = self.kind.known, self.faults
        strange = [unknown(k, known, "size", field=f"random.ranges.{k}") for k in request.ranges if k not in known]
        if strange:
            self.faults += strange
            return
        generator = np.random.Generator(np.random.PCG64(request.seed))
        columns = {key: _values(value) for key, value in request.ranges.items()}
        target = len(self.found) + request.count
        idle = 0
        self.faults = []  # of the last draw
        while len(self.found) < target and idle <= _MOST_DRAWS:
            drawn = {key: int(column[int(generator.integers(len(column)))]) for key, column in columns.items()}
            before = len(self.found)
            self.faults.clear()
            self.add({**self.spec.fixed, **drawn}, "random.ranges.")
            idle = 0 if len(self.found) > before else idle + 1
        if idle > _MOST_DRAWS:
            message = f"no new layer in {_MOST_DRAWS} draws, {len(self.found) - target + request.count} were found"
            faults += [Fault(message, field="random", value=request.count), *self.faults]
        self.faults = faults

    def add_table(self, table: LayerTable, folder: Path) -> None:
        """Add the layers of a text file, with the published energies that it has of them."""
        known = [*self.kind.known, *PUBLISHED_COLUMNS]
        faults = [unknown(name, known, "column", field="table.columns") for name in table.columns if name not in known]
        faults += [
            Fault("is given twice", field="table.columns", value=name)
            for name in {name for name in table.columns if table.columns.count(name) > 1}
        ]
        faults += [
            Fault("is both fixed and in the table", field=f"fixed.{name}")
            for name in self.spec.fixed
            if name in table.columns
        ]
        self.faults += faults
        for number, line in enumerate([] if faults else read_text(folder / table.file).splitlines(), start=1):
            if number > self.spec.most_points or len(self.faults) > _MOST_FAULTS:
                self.faults.append(Fault("has more lines than most_points allows, or more faults", field="table.file"))
                return
            fields = line.split(";")
            if "" not in map(str.strip, fields):
                self._add_line(dict(zip(table.columns, fields, strict=False)), len(fields), f"table.file line {number}")

    def _add_line(self, fields: Mapping[str, str], count: int, where: str) -> None:
        """Add the layer of one line, which has so many fields."""
        if self.spec.table is None or count != len(self.spec.table.columns):
            self.faults.append(Fault("has another number of fields than columns are named", field=where, value=count))
            return
        try:
            given = tuple((name, float(fields[name])) for name in PUBLISHED_COLUMNS if name in fields)
            sizes = {name: int(text) for name, text in fields.items() if name not in PUBLISHED_COLUMNS}
        except ValueError as error:
            self.faults.append(Fault("sizes are whole numbers, energies numbers", field=where, value=str(error)))
            return
        if not all(math.isfinite(value) and value > 0 for _, value in given):
            self.faults.append(Fault("a published energy must be above zero and finite", field=where))
            return
        self.add({**self.spec.fixed, **sizes}, f"{where}: ", given=given)

    def _keep(self, point: SweepPoint) -> None:
        known = self._known.setdefault((point.layer.kind.base, point.input_size), set())
        if point.layer.values not in known:
            known.add(point.layer.values)
            self.found.append(point)


def _lengths(columns: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}: {len(column)}" for name, column in columns.items())
