"""The sweeps of a study as the statistics want them described."""

from jouleloop.config.load import Study
from jouleloop.errors import Fault, InputError, raise_all
from jouleloop.pipeline.table import layer_table
from jouleloop.stats.cases import SweepDescription
from jouleloop.stats.expected import growth_named
from jouleloop.stats.expression import evaluate_variable
from jouleloop.workload.sweep import Sweep


def describe(sweep: Sweep) -> SweepDescription:
    """Return what the statistics need to know of ``sweep``."""
    return SweepDescription(sweep.name, sweep.variable, sweep.expected, sweep.symbol)


def check_growth(study: Study) -> None:
    """Raise `InputError` where the variable or growth of any sweep is none; the faults of all sweeps together."""
    faults: list[Fault] = []
    for sweep in study.tested:
        try:
            growth = growth_named(sweep.expected)
            growth.regressors(evaluate_variable(sweep.variable, layer_table(sweep)))
        except InputError as error:
            faults += error.at(sweep.source).faults
    raise_all(faults)
