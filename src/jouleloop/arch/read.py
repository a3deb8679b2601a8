"""Reading an accelerator from a Timeloop architecture file, v0.4 (`!Component`, `!Container`) or v0.3 (`subtree`)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jouleloop.arch.architecture import Architecture, ComputeLevel, StorageLevel
from jouleloop.arch.change import change
from jouleloop.arch.named_numbers import with_numbers
from jouleloop.arch.networks import connect_networks
from jouleloop.arch.resolve import SIZES, load_design
from jouleloop.arch.tree_v03 import read_tree
from jouleloop.arch.tree_v04 import DUMMY_CLASS, read_nodes
from jouleloop.documents.join import is_front_end, joined_names
from jouleloop.errors import Fault, InputError, JouleloopError, nearest, raise_all
from jouleloop.expressions import one_budget
from jouleloop.workload.variants import UNCHANGED, Variant

#: Versions of the architecture format that are read.
VERSIONS = ("0.2", "0.3", "0.4")

#: Sections with constraints.
CONSTRAINT_SECTIONS = (
    "mapspace",
    "mapspace_constraints",
    "architecture_constraints",
    "constraints",
    "extra_mapping_constraints",
)

#: What else a Timeloop input file may hold.
OTHER_SECTIONS = (
    "variables",
    "globals",
    "problem",
    "components",
    "compound_components",
    "mapper",
    "mapping",
    "model",
    *CONSTRAINT_SECTIONS,
    "sparse_optimizations",
    "ERT",
    "ART",
    "dumped_by_timeloop_front_end",
)


def is_section(key: str) -> bool:
    """Whether an input may hold a section of this name; the front end passes over ``…ignore…``, and joins others.

    Source: ``timeloopfe/v4/specification.py`` of timeloop-python (commit b8aaf2c), ``part_name_match``.
    """
    joined = any(word in key for word in ("globals", "components", "ignore"))
    return key in ("architecture", *OTHER_SECTIONS) or joined


@one_budget()
def read_architecture(
    path: Path,
    *,
    variables: dict[str, Any] | None = None,
    spatial_levels: bool | None = None,
    changes: Variant = UNCHANGED,
    later: bool = False,
) -> Architecture:
    """Return the accelerator described in a Timeloop architecture file.

    Raises `InputError` where the file cannot be read, has no storage or no compute, or asks for what the model does not
    follow.

    Parameters
    ----------
    path
        YAML file of format v0.4 or v0.3, or a jinja2 template of one (a "top" file).
    variables
        Values of the template's variables.
    spatial_levels
        v0.4 only. The front end of Timeloop gives every container that fans out an empty storage level of its own,
        ``inter_<container>_spatial``. True does the same; False lets the storage level outside carry the fan-out;
        None does the former for containers that constrain their spatial loops and the latter for the others.
    changes
        Attributes to change, by path; see `jouleloop.arch.change.change`.
    later
        v0.3 only. Whether Timeloop 4 reads the file, which knows attributes with underscores too.
    """
    data = load_design(path, variables)
    try:
        data = change(data, changes) if changes else data
        return architecture_from(data, name=path.stem.removesuffix(".yaml"), spatial_levels=spatial_levels, later=later)
    except JouleloopError as error:
        raise error.at(path) from error


def architecture_from(
    data: Any, *, name: str = "architecture", spatial_levels: bool | None = None, later: bool = False
) -> Architecture:
    """Return the accelerator described by loaded architecture data; see `read_architecture`."""
    data, top, version = _checked(data)
    faults: list[Fault] = []
    auto_bypass = _read_sections(data, faults)
    # A tree of version 0.4 is what the front end writes for later versions of Timeloop, in words of its own.
    plain = "nodes" not in top and version != VERSIONS[-1] and not data.get("dumped_by_timeloop_front_end")
    plain = plain and not later
    if "nodes" in top:
        found_nodes = read_nodes(top, data.get("variables"), spatial_levels, faults, _targets(data))
    elif "local" in top and "subtree" not in top:
        text = "is a flattened list, in which the order of the levels is lost; give the architecture it was made from"
        raise InputError([*faults, Fault(text, None, "architecture.local")])
    elif "subtree" in top:
        found_nodes = read_tree(top, faults, plain=plain)
    else:
        raise InputError([*faults, Fault("has neither nodes (v0.4) nor subtree (v0.3)", None, "architecture")])
    levels = [node for node in found_nodes.levels if isinstance(node, StorageLevel)]
    compute = [node for node in found_nodes.levels if isinstance(node, ComputeLevel)]
    if not faults:
        faults += _check(levels, compute)
    if not faults:
        levels = connect_networks(levels, compute[0], found_nodes.networks, faults, plain=plain)
    raise_all(faults)
    for level in levels:  # so that a front end's own output knows its containers too
        if level.name.startswith("inter_") and level.name.endswith("_spatial"):
            container = level.name.removeprefix("inter_").removesuffix("_spatial")
            found_nodes.fanout_names.setdefault(container, level.name)
    return Architecture(
        found_nodes.name or name,
        tuple(levels),
        compute[0],
        constraints=tuple(found_nodes.constraints),
        fanout_names=found_nodes.fanout_names,
        components=component_classes(data) or (),
        plain=plain,
        front_end="nodes" in top,
        layer_sizes=tuple((top.get(SIZES) or {}).items()),
        idle=frozenset(found_nodes.idle),
        auto_bypass=auto_bypass,
    )


def _checked(data: Any) -> tuple[dict[str, Any], dict[str, Any], str]:
    """Return the data of a file, its architecture and the version of that; raise `InputError` where it has none."""
    if is_front_end(data):
        data = joined_names(data, CONSTRAINT_SECTIONS)
    if not isinstance(data, dict):
        raise InputError(Fault("is no architecture file", allowed="a mapping with the key 'architecture'"))
    top = data.get("architecture")
    if not isinstance(top, dict):
        keys = [str(key) for key in data]
        close = next((key for key in keys if nearest(key, ["architecture"])), None)
        found = ", ".join(keys[:12]) or "nothing"
        raise InputError(Fault(f"has no architecture; it holds {found}", "", close, allowed="architecture"))
    if "nodes" not in top:
        top = (data := with_numbers(data))["architecture"]
    version = str(top.get("version", "")).strip()
    if version not in VERSIONS:
        raise InputError(
            Fault("unsupported version of the format", None, "architecture.version", version, ", ".join(VERSIONS))
        )
    return data, top, version


def _read_sections(data: Mapping[str, Any], faults: list[Fault]) -> bool:
    """Check the sections beside the architecture; return whether what does not fit is bypassed."""
    faults += [
        Fault("unknown section", None, str(key), nearest=nearest(str(key), ("architecture", *OTHER_SECTIONS)))
        for key in data
        if not is_section(str(key))
    ]
    sparse = data.get("sparse_optimizations")
    if sparse and (not isinstance(sparse, dict) or sparse.get("targets")):
        faults.append(Fault("sparse optimizations are not supported by the model", None, "sparse_optimizations"))
    settings = data.get("model")
    auto_bypass = settings.get("auto_bypass_on_failure", False) if isinstance(settings, dict) else False
    if not isinstance(auto_bypass, bool):
        faults.append(Fault("must be true or false", None, "model.auto_bypass_on_failure", auto_bypass))
    return auto_bypass is True


def _targets(data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the constraints that stand beside the architecture in its own file."""
    found: list[Mapping[str, Any]] = []
    for section in CONSTRAINT_SECTIONS:
        stated = data.get(section)
        listed = stated.get("targets") if isinstance(stated, Mapping) else stated
        found += [target for target in listed or () if isinstance(target, Mapping)] if isinstance(listed, list) else []
    return found


def component_classes(data: Any) -> tuple[Mapping[str, Any], ...] | None:
    """Return the compound components that Timeloop or Accelergy input defines; None where it has no list of them.

    All sections count whose names hold that word, such as ``components_mac``.
    Raises `InputError` where one of them has no name.
    """
    tops = [top for key, top in data.items() if "components" in str(key)] if isinstance(data, Mapping) else []
    lists = [top.get("classes") if isinstance(top, Mapping) else top for top in tops]
    if not any(isinstance(one, list) for one in lists):
        return None
    listed = [item for one in lists if isinstance(one, list) for item in one]
    unnamed = [
        Fault("needs a name", None, f"components.classes[{index}]", item)
        for index, item in enumerate(listed)
        if not isinstance(item, Mapping) or not isinstance(item.get("name"), str)
    ]
    raise_all(unnamed)
    return tuple(listed)


def _check(levels: list[StorageLevel], compute: list[ComputeLevel]) -> list[Fault]:
    faults = []
    if not compute:
        faults.append(Fault("has no compute: no component's class is a mac or compute", None, "architecture"))
    if len(compute) > 1:
        names = ", ".join(node.name for node in compute)
        faults.append(Fault(f"has {len(compute)} compute levels ({names})", None, "architecture", allowed="1"))
    for level in levels[1:]:
        if level.capacity_words is None and not level.is_dram and level.klass != DUMMY_CLASS:
            text = "has no size, and Timeloop knows none but a DRAM without one"
            meant = [nearest(key, ("depth", "entries", "sizeKB"), 0.8) for key in level.attributes]
            close = next(filter(None, meant), None)
            faults.append(Fault(text, None, level.name, level.klass, "depth, entries or sizeKB", close))
    if not levels:
        faults.append(Fault("has no storage", None, "architecture"))
    return faults
