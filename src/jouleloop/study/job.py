"""What a script of the workflow imports before all else: most of a job's objects are those of its imports."""

from jouleloop import memory

memory.tune()

from jouleloop.study.runlog import LOG, LOGS, current_run, logged, taken  # noqa: E402 - as above

__all__ = ["LOG", "LOGS", "current_run", "logged", "taken"]
