"""``jouleloop verify``: compare the engine with stored results of real Timeloop."""

from functools import cache
from pathlib import Path
from typing import Annotated

import typer

from jouleloop.api.project import load_target
from jouleloop.cli import options
from jouleloop.engines.protocol import Target
from jouleloop.engines.registry import get_engine
from jouleloop.engines.verify import CaseCheck, verify_folder
from jouleloop.errors import InputError, unknown
from jouleloop.terminal.console import print_json, print_text, stdout
from jouleloop.workload.layer import CONV

_SHOWN_CASES = 20
_SHOWN_FIELDS = 4


def verify(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder with cases_*.json and mapper_optima.json.")],
    only: Annotated[str | None, typer.Option("--only", help="Kind of layers: fc or conv; both without it.")] = None,
    engine: options.EngineName = "native",
    as_json: options.AsJson = False,
) -> None:
    """Compare every stored case field by field; exit code 1 where any differs."""
    if only is not None and only not in ("fc", "conv"):
        raise InputError(unknown(only, ("fc", "conv"), "kind of layers", field="--only"))
    back_end = get_engine(engine)

    @cache
    def target_for(arch: str, constraints: str, semantics: str) -> Target:
        return load_target(arch, semantics=semantics, constraints=constraints).for_shape(CONV)

    outcomes: list[CaseCheck] = []
    for outcome in verify_folder(folder, back_end, target_for, only=only):
        outcomes.append(outcome)
        if not outcome.passed and not as_json:
            _show(outcome, sum(not o.passed for o in outcomes))
    failed = [outcome for outcome in outcomes if not outcome.passed]
    if as_json:
        print_json(
            {
                "passed": len(outcomes) - len(failed),
                "failed": len(failed),
                "differences": {o.case: [str(d) for d in o.differences] for o in failed},
            }
        )
    else:
        if len(failed) > _SHOWN_CASES:
            stdout.print(f"… and {len(failed) - _SHOWN_CASES} cases more")
        stdout.print(f"{len(outcomes) - len(failed)} passed, {len(failed)} failed", highlight=False)
    if failed:
        raise typer.Exit(1)


def _show(outcome: CaseCheck, position: int) -> None:
    if position > _SHOWN_CASES:
        return
    print_text(f"{outcome.case}:")
    for difference in outcome.differences[:_SHOWN_FIELDS]:
        print_text(f"  {difference}")
    if len(outcome.differences) > _SHOWN_FIELDS:
        stdout.print(f"  … and {len(outcome.differences) - _SHOWN_FIELDS} fields more", highlight=False)
