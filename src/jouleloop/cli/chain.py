"""``jouleloop chain``: layers that run one after the other, fused where that takes less energy."""

from typing import Annotated

import typer

from jouleloop.api.chains import chain_named, search_chain
from jouleloop.cli import options
from jouleloop.cli.answers import answer, end
from jouleloop.cli.target_options import FusionChoice, HardwareChoice, hardware_of
from jouleloop.cli.watching import say_if_compiling, watched
from jouleloop.cli.write_files import write_proof
from jouleloop.files import write_text
from jouleloop.fusion.result import ChainResult, GroupRun, LayerRun
from jouleloop.optimum.limit import INTERRUPT
from jouleloop.report.fused_page import fused_page
from jouleloop.terminal.console import print_text
from jouleloop.terminal.splice import AsJson, spliced
from jouleloop.units import amount


@spliced(hardware=hardware_of, fusion=FusionChoice)
def chain(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="CHAIN", help="Chain: a file in layers/chains/ by name, any by its path, or its layers."
        ),
    ],
    arch: options.Arch,
    hardware: HardwareChoice,
    fusion: FusionChoice,
    constraints: options.ConstraintSet = None,
    seconds: options.Seconds = None,
    *,
    certificate: options.Certificate = None,
    as_json: AsJson = False,
) -> None:
    """Find the least energy of layers that share tensors, fused or apart; exit code 1 where a layer has no mapping."""
    found = chain_named(names[0] if len(names) == 1 else names)
    designs = [hardware.load(arch, constraints, problem.shape) for problem in found.problems]
    say_if_compiling()
    how = {"recompute": fusion.recompute, "certified": certificate is not None}
    with watched(None) as watch:
        result = search_chain(found, designs, fusion.level, watch, seconds, **how)
    if fusion.page is not None:
        write_text(fusion.page, fused_page([(f"{result.chain} on {result.architecture}", result.as_json())]))
    answer(result.as_json, lambda: _show(result), as_json=as_json)
    if certificate is not None and result.ok:
        write_proof(certificate, result.certificate, proven=result.optimal)
    end(interrupted=watch.asked() == INTERRUPT, failed=not result.ok)


def _show(result: ChainResult) -> None:
    if not result.ok:
        print_text(f"no mapping: {result.reason}")
        return
    gap = result.energy_pj / result.lower_bound_pj - 1 if result.lower_bound_pj else 0.0
    proven = "proven" if result.optimal else f"not proven, gap at most {gap:.2%}"
    energy = amount(result.energy_pj, result.unit)
    print_text(f"energy    {energy}, {result.energy_pj / result.apart_pj:.1%} of the layers apart")
    words = f"{result.outer_words:,} words, {result.outer_words / result.apart_outer_words:.1%} of the layers apart"
    print_text(f"outside   {words}, at the outermost level")
    print_text(f"optimum   {proven}, by {result.searches:,} searches of parts; fused at {result.level}\n")
    for group in result.groups:
        _show_group(group, "", result.unit)
        print_text("")


def _show_group(group: GroupRun, indent: str, unit: str) -> None:
    if group.prefix:
        loops = [
            f"{'|'.join(dict.fromkeys(loop.dimensions))} in {loop.factor}{', overlaps anew' * loop.recomputes}"
            for loop in group.prefix
        ]
        print_text(f"{indent}for {', '.join(loops)}:")
        indent += "  "
    for child in group.children:
        if isinstance(child, GroupRun):
            _show_group(child, indent, unit)
        else:
            _show_layer(child, indent, unit)


def _show_layer(layer: LayerRun, indent: str, unit: str) -> None:
    names = [*layer.held, *(f"{name} around" for around in layer.held_around for name in around)]
    held = f", holds {', '.join(names)} ({layer.held_words:,} words)" if names else ""
    print_text(f"{indent}{layer.name}: {amount(layer.energy_pj, unit)}{held}")
    for run in layer.runs:
        mapping = run.search.mapping
        how = f"{run.iterations:,} times{' from partial sums' if run.resumes else ''}"
        if len({one.problem for one in layer.runs}) > 1:
            how += f" {'x'.join(f'{d}{bound}' for d, bound in run.problem.bound.items() if bound > 1)}"
        print_text(f"{indent}  {how}: {'' if mapping is None else mapping.compact()}")
