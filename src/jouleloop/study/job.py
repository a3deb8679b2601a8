"""What a script of the workflow imports before all else: most of a job's objects are those of its imports."""

import gc

from jouleloop import memory

memory.tune()
gc.disable()  # until all is imported and work begins: `logged`

from jouleloop.study.runlog import LOG, LOGS, current_run, logged, taken  # noqa: E402 - as above

__all__ = ["LOG", "LOGS", "current_run", "logged", "taken"]
