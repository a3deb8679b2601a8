"""What a mapspace asks for of a search or a certificate: the features of `jouleloop.model.support` and their places."""

from collections.abc import Iterable, Iterator

import numpy as np

from jouleloop.arch.architecture import Architecture
from jouleloop.documents.keywords import stated_in
from jouleloop.energy.costs import EnergyCosts
from jouleloop.errors import Fault, InputError
from jouleloop.mapspace.space import MapSpace
from jouleloop.model.objective import OBJECTIVES
from jouleloop.model.semantics import Rules
from jouleloop.model.support import AskedFeature, Use, check_supported, found_in_networks, found_in_rules
from jouleloop.workload.problem import Problem

#: What may be minimised besides the single objectives: energy, with the delay as the next metric.
NEXT = ("energy", "delay")


def check_objective(use: Use, objective: tuple[str, ...]) -> None:
    """Raise `InputError` where a search does not follow an objective: one of `OBJECTIVES`, or `NEXT`, or unknown."""
    if objective != NEXT and (len(objective) != 1 or objective[0] not in OBJECTIVES):
        allowed = ", ".join([*OBJECTIVES, "+".join(NEXT)])
        raise InputError(Fault("unknown objective", field="objective", value=list(objective), allowed=allowed))
    check_supported(use, of_objective(objective), InputError)


def check_search(
    use: Use, space: MapSpace, costs: EnergyCosts, rules: Rules, objective: tuple[str, ...] = ("energy",)
) -> None:
    """Raise `InputError` with everything that a mapspace asks for and a search or certificate does not follow."""
    found = [
        *of_problem(space.problem),
        *found_in_networks(space.arch, costs),
        *found_in_rules(rules),
        *of_objective(objective),
        *_of_reuse(space, rules),
        *_of_groups(space),
        *_of_keywords(space),
    ]
    if any(slot is not None and slot.both for slot in space.spatial):
        wired = {one.field for one in found_in_networks(space.arch, costs)}
        found += [AskedFeature("free_axes", level) for level in sorted(map(str, wired))]
        if use is Use.ROUNDED:
            found.append(AskedFeature("free_axes", "axes", "free"))
    if space.rounded:
        found.append(AskedFeature("rounded", "factors", space.problem.name))
    if "delay" in objective or "edp" in objective:
        found += of_timing(space.arch)
    check_supported(use, found, InputError)


def of_problem(problem: Problem) -> Iterator[AskedFeature]:
    """Yield the features of a layer: ranks of several dimensions, and outputs with windows or gaps."""
    coef = problem.projection_array[:, :, np.array(problem.bounds) > 1]
    for space, projection in zip(problem.data_spaces, coef, strict=True):
        moving = (projection != 0).sum(axis=1)
        if (moving > 2).any():
            yield AskedFeature("ranks_of_three", space.name)
        if ((projection != 0).sum(axis=0) > 1).any():
            yield AskedFeature("two_ranks", space.name)
        if space.read_write and ((moving > 1).any() or (projection > 1).any()):
            yield AskedFeature("output_windows", space.name)


def of_timing(arch: Architecture) -> Iterator[AskedFeature]:
    """Yield the levels whose networks have a latency, or whose bandwidths are scaled."""
    timed = [level for level in arch.levels if level.latency_cycles or level.bandwidth_scale]
    yield from (AskedFeature("timing", level.name) for level in timed)


def of_objective(objective: Iterable[str]) -> Iterator[AskedFeature]:
    """Yield what an objective asks for."""
    names = list(objective)
    if len(names) > 1:
        yield AskedFeature("two_objectives", "objective", names)
    if names != ["energy"]:
        yield AskedFeature("cycles", "objective", names)


def _of_reuse(space: MapSpace, rules: Rules) -> Iterator[AskedFeature]:
    """Yield the levels that do not reuse all, and where no bound holds for them."""
    for k, reuse in enumerate(space.reuse):
        level = space.arch.levels[len(space.reuse) - 1 - k]
        if reuse:
            yield AskedFeature("reuse", level.name, reuse.as_dict())
        if reuse.later and not rules.knows_no_coalesce:
            yield AskedFeature("newer_keywords", level.name, reuse.as_dict())
        for v, data in enumerate(space.problem.data_spaces):
            column = space.columns[v][:, k]
            if data.name in reuse.no_coalesce and column.any():
                if level.min_utilization:
                    yield AskedFeature("passed_and_held", level.name, level.min_utilization)
                if not column.all():
                    yield AskedFeature("passed_by_choice", level.name, data.name)
        outer = k + 1
        if outer < len(space.reuse) and space.spatial[outer] is not None:
            linked = (reuse.no_temporal_reuse & space.problem.windows) - space.reuse[outer].no_link_transfer
            if linked:
                yield AskedFeature("refetched_windows", level.name, ", ".join(sorted(linked)))


def _of_keywords(space: MapSpace) -> Iterator[AskedFeature]:
    """Yield the keywords of constraints that not all searches follow, where a slot or the mapspace holds them."""
    levels = space.arch.level_names[::-1]
    held = [("constraints", space), *zip(levels, space.temporal, strict=True), *zip(levels, space.spatial, strict=True)]
    for where, one in held:
        stated = stated_in(one) if one is not None else ()
        yield from (AskedFeature(keyword.field, where, value) for keyword, value in stated if keyword.unsearched)


def _of_groups(space: MapSpace) -> Iterator[AskedFeature]:
    """Yield the levels below which outputs may go in several groups, of which each is spared the partition once.

    One group holds all words, which are no fewer than the partition: links serve no data space that shares no rank, but
    at the units and below a level that reuses nothing. What is carried for other instances may be fewer.
    """
    written = {data.name for data in space.problem.data_spaces if data.read_write}
    several = any(reuse.later for reuse in space.reuse) or written & space.problem.windows or space.arch.spreading
    for k, reuse in enumerate(space.reuse):
        level = space.arch.levels[len(space.reuse) - 1 - k]
        linked = written - reuse.no_link_transfer
        stateless = linked if k == 0 else linked & space.reuse[k - 1].no_temporal_reuse
        ingress_pj = level.networks[-1].ingress_pj
        if ingress_pj and not level.reduces and space.spatial[k] is not None and (several or stateless):
            yield AskedFeature("ingress_groups", level.name, ingress_pj)
