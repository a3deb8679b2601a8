"""Tasks in processes forked from this one, where that is safe: what was imported is there, each uses a core."""

import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

#: What `run_forked` has to do: forked processes have it from there, since not all of it can be sent to them.
_TASKS: list[Callable[[], object]] = []


def run_forked(
    tasks: Sequence[Callable[[], object]], processes: int, meanwhile: Callable[[], object] | None = None
) -> None:
    """Run ``tasks``, which leave files behind, ``processes`` of them at a time; the first ones first.

    Tables are to be read in the tasks, since Arrow has threads that a fork does not take along.

    Parameters
    ----------
    meanwhile
        Is called here when the processes have begun: imports of what comes next, for instance.
    """
    _TASKS[:] = tasks
    if processes > 1 and (len(tasks) > 1 or meanwhile) and sys.platform == "linux":
        with ProcessPoolExecutor(min(processes, len(tasks)), get_context("fork")) as pool:
            running = [pool.submit(_run, number) for number in range(len(tasks))]
            if meanwhile:
                meanwhile()
            for one in running:
                one.result()
    else:
        for task in tasks:
            task()


def _run(number: int) -> None:
    _TASKS[number]()
