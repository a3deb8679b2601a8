"""``jouleloop check``: verify the certificate of an optimum, independently of the search that wrote it."""

import contextlib
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jouleloop.api.chains import chain_named
from jouleloop.api.layers import problem_of
from jouleloop.cli import options
from jouleloop.cli.target_options import HardwareChoice, hardware_of
from jouleloop.errors import Fault, InputError, JouleloopError
from jouleloop.files import read_json
from jouleloop.mapspace.space import build_mapspace
from jouleloop.model.objective import OBJECTIVES
from jouleloop.signals import exit_code
from jouleloop.terminal.console import print_json, stderr, stdout
from jouleloop.terminal.splice import spliced
from jouleloop.units import PJ, WORDS, energies_in, said

if TYPE_CHECKING:
    from jouleloop.proof.verify import Verdict


@spliced(hardware=hardware_of)
def check(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Certificate that jouleloop map or chain --certificate wrote.")
    ],
    arch: Annotated[str | None, typer.Option("--arch", help="Check that it is about this architecture.")] = None,
    layer: Annotated[str | None, typer.Option("--layer", help="Check that it is about this layer or chain.")] = None,
    constraints: options.ConstraintSet = None,
    *,
    hardware: HardwareChoice,
    seconds: Annotated[float, typer.Option("--cpu-seconds", min=0.1, help="Processor seconds, at most.")] = 60.0,
    as_json: options.AsJson = False,
) -> None:
    """Verify that no mapping is better than a certificate claims; exit code 1 where it proves nothing."""
    from jouleloop.proof.fused import verify_chain  # noqa: PLC0415 - loads pydantic
    from jouleloop.proof.verify import Refused, Unproven, Verdict, verify  # noqa: PLC0415 - as above

    if (arch is None) != (layer is None):
        raise InputError(Fault("--arch and --layer say together what a certificate is about", "--arch", value=arch))
    begin = time.process_time()
    data = _read(file, seconds, as_json=as_json)
    left = max(0.1, seconds - (time.process_time() - begin))
    refused = _about_another(data, arch, layer, constraints, hardware) if arch and layer else ""
    verdict, claimed = None, ""
    if not refused:
        done = "none of its parts"
        with contextlib.ExitStack() as stack:
            status = stack.enter_context(stderr.status("checking")) if stderr.is_terminal else None

            def tell(so_far: Verdict, parts: int) -> None:
                nonlocal done
                of = f" of {parts:,}" if parts else ""
                done = f"{so_far.parts:,}{of} parts, {so_far.cuts:,} cuts"
                if status is not None:
                    status.update(f"checked: {done}")

            try:
                verdict = (verify_chain if "chain" in data else verify)(data, tell, seconds=left)
            except Unproven as error:
                claimed = str(error)
            except Refused as error:
                refused = str(error)
            except KeyboardInterrupt as error:
                stderr.print(f"interrupted, nothing is proven: {done} checked", highlight=False)
                raise typer.Exit(exit_code()) from error
    _print(data, verdict, refused, claimed, as_json=as_json)
    if verdict is None:
        raise typer.Exit(1)


def _read(file: Path, seconds: float, *, as_json: bool) -> dict[str, Any]:
    """Return a file that has the form of a certificate; end with 1 where reading alone takes more than allowed."""
    from jouleloop.proof.form import check_form  # noqa: PLC0415 - loads pydantic
    from jouleloop.proof.limits import Exceeded, limited  # noqa: PLC0415

    try:
        with limited(seconds):
            return check_form(read_json(file))
    except JouleloopError as error:
        raise error.at(file) from error
    except Exceeded as error:
        reason = f"nothing is proven: {error}"
        if as_json:
            print_json({"proven": False, "reason": reason})
        else:
            stderr.print(f"refused: {reason}", markup=False, highlight=False, soft_wrap=True)
        raise typer.Exit(1) from error


def _print(data: dict[str, Any], verdict: "Verdict | None", refused: str, claimed: str, *, as_json: bool) -> None:
    """Print what came of a verification."""
    if as_json:
        counts = {} if verdict is None else {"parts": verdict.parts, "cuts": verdict.cuts, "nests": verdict.nests}
        about = {"objective": data.get("objective", "energy"), "value": data["value"]}
        kind = "claim" if "claim" in data else "certificate"
        print_json({"kind": kind, "proven": verdict is not None, "reason": refused or claimed, **about, **counts})
    elif claimed:
        what = "way to run the chain" if "chain" in data else "mapping"
        text = f"claim: the {what} costs {data['value']!r}; nothing proves that none is better: {claimed}"
        stderr.print(text, markup=False, highlight=False, soft_wrap=True)
    elif verdict is None:
        stderr.print(f"refused: {refused}", markup=False, highlight=False, soft_wrap=True)
    else:
        on = f"on {data['architecture']['name']} has less than"
        counted = f"{verdict.parts} parts, {verdict.cuts} cuts and {verdict.nests} nests checked"
        if "chain" in data:
            claim = f"no way to run the chain {data['chain']}, fused at {data['level']}, {on}"
            counted = f"{len(data['statements'])} floors of parts and {verdict.ways} ways to run a group; {counted}"
        else:
            claim = f"no mapping of {data['problem']['name'] or 'the layer'} {on}"
        counted += f", of the mapspace {data.get('space', 'timeloop')}"
        counted += f", axes {data['axes']}" if "axes" in data else ""
        with energies_in(_unit(data["architecture"])):
            unit = said(OBJECTIVES[data.get("objective", "energy")].unit)
        text = f"proven: {claim} {data['value']!r} {unit} ({counted})"
        stdout.print(text, markup=False, highlight=False, soft_wrap=True)


def _unit(architecture: Mapping[str, Any]) -> str:
    """Return ``words`` where every access costs the words that it moves, and an operation nothing."""
    levels = architecture["levels"]
    counted = all(one["read_pj"] == one["write_pj"] == one["block_words"] for one in levels)
    return WORDS if counted and not architecture["compute_pj"] else PJ


def _about_another(
    data: dict[str, object], arch: str, layer: str, constraints: str | None, hardware: HardwareChoice
) -> str:
    """Return in what a certificate differs from a design and layer, or an empty text."""
    from jouleloop.optimum.certificate import check_known, subject  # noqa: PLC0415 - loads the kernels

    if "chain" in data:
        return _about_another_chain(data, arch, layer, constraints, hardware)
    problem = problem_of(layer)
    target = hardware.load(arch, constraints, problem.shape).target(problem)
    imperfect = data.get("factors") == "imperfect"
    space = build_mapspace(problem, target.arch, target.constraints, imperfect=imperfect)
    check_known(space, target.constraints, target.costs, OBJECTIVES[str(data["objective"])], target.semantics)
    wanted = subject(space, target.constraints, target.costs, target.semantics)
    wanted = {"space": None, "axes": None, **wanted}
    parts = [key for key, value in wanted.items() if key != "problem" and data.get(key) != value]
    given, asked = data["problem"], wanted["problem"]
    if not isinstance(given, dict) or {**given, "name": ""} != {**asked, "name": ""}:
        parts.append("problem")
    # What is proven of loops that end early holds for those that divide the layer, not the other way round.
    if target.constraints.factors == "imperfect" and not imperfect:
        parts.append("choice of factors")
    return f"it is about another {', '.join(parts)}" if parts else ""


def _about_another_chain(
    data: dict[str, Any], arch: str, chain: str, constraints: str | None, hardware: HardwareChoice
) -> str:
    """Return in what the certificate of a chain differs from a design and chain, or an empty text."""
    from jouleloop.fusion.certificate import chain_subject  # noqa: PLC0415 - loads the kernels
    from jouleloop.fusion.hardware import Fusion  # noqa: PLC0415 - as above

    found = chain_named(chain)
    designs = [hardware.load(arch, constraints, problem.shape) for problem in found.problems]
    fusions = [Fusion.at(one.target(p), data["level"]) for one, p in zip(designs, found.problems, strict=True)]
    wanted = json.loads(json.dumps(chain_subject(found, fusions)))
    parts = [key for key, value in wanted.items() if data.get(key) != value]
    return f"it is about another {', '.join(parts)}" if parts else ""
