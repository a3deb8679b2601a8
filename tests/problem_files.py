"""Timeloop's problem files as texts, by the spelling of either version."""

import yaml

from jouleloop.workload.problem import Problem
from jouleloop.workload.timeloop_problem import problem_tree


def problem_file(problem: Problem, version: str) -> str:
    """Return the text of a problem file of version 0.3 or 0.4, which spells keys with underscores."""
    text = yaml.safe_dump({"problem": problem_tree(problem)})
    if version == "0.3":
        return text
    text = text.replace("data-spaces", "data_spaces").replace("read-write", "read_write")
    return text.replace("problem:", "problem:\n  version: 0.4", 1)
