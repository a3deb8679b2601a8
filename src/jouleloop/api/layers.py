"""What a layer or a set of layers may be given as, and the problem or sweep that it stands for."""

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from jouleloop.api.project import named_file, names_in
from jouleloop.arch.resolve import load_design
from jouleloop.config.load import LAYERS, NETWORKS, load_all
from jouleloop.errors import Fault, InputError, JouleloopError, gather, nearest, raise_all
from jouleloop.files import is_file, write_yaml
from jouleloop.workload.layer import Layer
from jouleloop.workload.problem import Problem
from jouleloop.workload.sizes import parse_layer
from jouleloop.workload.sweep import Progress, Sweep, SweepPoint
from jouleloop.workload.timeloop_problem import problem_from

#: A layer: a text such as ``fc:1024x128``, the path of a Timeloop problem file, or the thing itself.
LayerLike = str | Path | Layer | Problem
#: Many layers: the name or path of a sweep or network, its content as data, or a list of layers.
SweepLike = str | Path | Sweep | Mapping[str, Any] | Sequence[str | Layer | Sweep]

_YAML = (".yaml", ".yml")
_TEMPLATE = ".jinja2"


def problem_of(layer: LayerLike | object, variables: Mapping[str, str] | None = None) -> Problem:
    """Return the problem of a layer's text form, of a Timeloop problem file or whole design, or of a layer.

    ``variables`` are those of a file that is a template.

    Raises `InputError` where the text is no layer, or the file no problem.
    """
    if isinstance(layer, Problem):
        return layer
    if isinstance(layer, Layer):
        return layer.problem()
    if not isinstance(layer, (str, Path)):
        allowed = "a text such as fc:1024x128, the path of a problem file, or a Layer"
        raise InputError(Fault("is no layer", "layer", value=layer, allowed=allowed))
    path = Path(layer)
    if path.suffix in (*_YAML, _TEMPLATE):
        try:
            return problem_from(load_design(path, variables), name=path.stem)
        except JouleloopError as error:
            raise error.at(path) from error
    try:
        return parse_layer(str(layer)).problem()
    except InputError as error:
        if is_file(path):
            raise InputError(Fault("a problem file must end in .yaml", "layer", value=str(layer))) from error
        raise error.at("layer") from error


def network_of(network: SweepLike) -> Sweep:
    """Return the one network of a name, path, file's content or list of layers; raise `InputError` for anything else.

    Faults are of the parameter ``network``.
    """
    try:
        sweeps = sweeps_of(network)
    except InputError as error:
        raise error.renamed({"layers": "network"}) from error
    wrong = [one.name for one in sweeps if not (one.is_network or one.kind == "list")]
    if wrong or len(sweeps) != 1:
        text = "is a sweep, no network" if wrong else "holds several networks"
        raise InputError(Fault(text, "network", value=str(network), allowed="a file in layers/networks/, or a list"))
    return sweeps[0]


def sweeps_of(layers: SweepLike, progress: Progress | None = None) -> list[Sweep]:
    """Return the sweep or network of a name, path, file's content, or list of layers; of a transformer all its sweeps.

    Raises `InputError`, with all faults of the file, or the nearest name where there is none.
    """
    if isinstance(layers, Sweep):
        return [layers]
    if isinstance(layers, Mapping):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"{layers.get('name', 'sweep')}.yaml"
            write_yaml(path, dict(layers))
            try:
                return load_all(path)
            except InputError as error:
                raise InputError(replace(one, source="layers") for one in error.faults) from error
    if isinstance(layers, (str, Path)):
        return _named(str(layers), progress)
    several: Any = layers  # whatever a notebook gives
    if not isinstance(several, Iterable) or not several:
        raise InputError(Fault("are no layers", "layers", value=layers, allowed="a name, a path, or a list of layers"))
    whole = [layer for layer in layers if isinstance(layer, Sweep)]
    if whole and len(whole) == len(layers):
        return whole
    found: list[Layer] = gather(*(partial(layer_of, layer, "layers") for layer in layers))
    return [Sweep("layers", "list", tuple(SweepPoint(layer, layer.input_size) for layer in found), "")]


def layer_of(given: object, source: str) -> Layer:
    """Return a layer, or that of a text; raise `InputError` with faults of ``source``."""
    try:
        return given if isinstance(given, Layer) else parse_layer(str(given))
    except InputError as error:
        raise error.at(source) from error


def checked_sweeps(layers: SweepLike) -> list[Sweep]:
    """Return what `sweeps_of` does; raise `InputError` too where a sweep tests an unknown growth or variable."""
    if isinstance(layers, Mapping):
        return _checked_content(layers)
    sweeps = sweeps_of(layers)
    _check_tests(sweeps)
    return sweeps


def _checked_content(content: Mapping[str, Any]) -> list[Sweep]:
    """Return the sweeps of a file's content; faults of its sizes are told together with those of what it tests."""
    faults: tuple[Fault, ...] = ()
    try:
        sweeps = sweeps_of(content)
    except InputError as error:
        sweeps, faults = _with_small_sizes(content), tuple(error.faults)
    try:
        _check_tests(sweeps)
    except InputError as error:
        faults += tuple(replace(one, source="layers") for one in error.faults)
    raise_all(faults)
    return sweeps


def _with_small_sizes(content: Mapping[str, Any]) -> list[Sweep]:
    """Return the sweeps of content with other sizes, on which its tests do not hang; none where it has other faults."""
    sizes = {"fixed": 1, "ranges": [1, 2]}
    named = {
        key: dict.fromkeys(content[key], size) for key, size in sizes.items() if isinstance(content.get(key), Mapping)
    }
    try:
        return sweeps_of({**content, **named})
    except InputError:
        return []


def _check_tests(sweeps: Iterable[Sweep]) -> None:
    from jouleloop.tables.layers import check_sweeps  # noqa: PLC0415 - loads the statistics

    check_sweeps(sweep for sweep in sweeps if sweep.variable)


def _named(text: str, progress: Progress | None) -> list[Sweep]:
    if text.endswith(_YAML):
        return load_all(Path(text), progress)
    if path := named_file(text, LAYERS, NETWORKS):
        return load_all(path, progress)
    known = names_in(LAYERS, NETWORKS)
    fault = Fault(
        "unknown sweep or network", "layers", value=text, allowed=", ".join(known) or None, nearest=nearest(text, known)
    )
    raise InputError(fault)
