"""The bridge from theory to hardware: measured DRAM words of fully-connected layers beside the bounds of paper 002."""

from collections.abc import Mapping
from dataclasses import asdict
from fractions import Fraction

import pandas as pd

from jouleloop.config.load import Study
from jouleloop.engines.protocol import Target
from jouleloop.errors import JouleloopError
from jouleloop.study.compute import Job
from jouleloop.theory.fully_connected.bounds import buffer_words, word_bounds
from jouleloop.theory.fully_connected.formulas import FcLayer
from jouleloop.theory.layers import DramWords
from jouleloop.workload.layer import CONV
from jouleloop.workload.variants import UNCHANGED, variant_label

#: Column of the lower bound that figures draw.
BOUND_COLUMN = "theory_lower_dram_words"
#: Columns that the statistics compare with a response, see `jouleloop.stats.rows.theory_row`.
THEORY_COLUMNS = (BOUND_COLUMN, "theory_upper_dram_words", "theory_measured_dram_words", "theory_lower_data_pj")
_KEYS = ("architecture", "sweep", "layer", "variant")
_FC_ONES = ("N", "R", "S", "P", "Q", "groups")
_ENDS = {"Inputs", "Outputs"}


def on_chip_words(target: Target) -> int:
    """Return β of a target: the words on the chip that may hold inputs or outputs.

    Levels count from DRAM on, down to the first that has to keep both: a nest of loops puts nothing into a level that
    the levels outside it, as far as they keep the data space, do not hold at the same time. So what lies further inside
    is a copy. No word is left for a weight, which may come from a level that holds neither.

    Raises `InputError` where such a level is unlimited, or all of them together are too small.
    """
    capacities = []
    for level in target.arch.levels[1:]:
        kept = target.constraints.level(level.name)
        if kept.bypass >= _ENDS:
            continue
        capacities.append(-1 if level.capacity_words is None else level.capacity_words * level.instances)
        if kept.keep >= _ENDS:
            break
    return buffer_words(capacities, weight_words=0)


def fc_words(row: pd.Series) -> DramWords:
    """Return the DRAM words of a row of the energies table, outputs told apart by direction.

    DRAM takes every output once more than it gives it back, since the first partial sum starts from zero: of all output
    words t, (t + m) / 2 are written and (t - m) / 2 read.
    """
    outputs, moved = int(row["M"]), int(row["dram_words_outputs"])
    return DramWords(
        weights_read=int(row["dram_words_weights"]),
        inputs_read=int(row["dram_words_inputs"]),
        outputs_read=(moved - outputs) // 2,
        outputs_written=(moved + outputs) // 2,
    )


def fc_targets(study: Study, jobs: Mapping[str, Job]) -> dict[tuple[str, str], Target]:
    """Return the targets of a study by architecture and label of the variant; variants that cannot be are left out."""
    if CONV not in study.shapes:
        return {}
    variants = {UNCHANGED, *(point.variant for sweep in study.architecture_sweeps for point in sweep.points)}
    found = {}
    for name, job in jobs.items():
        for variant in variants:
            changed = job.at(variant)
            if not isinstance(changed, JouleloopError):
                found[name, variant_label(variant)] = changed.target.for_shape(CONV)
    return found


def fc_hardware_table(energies: pd.DataFrame, targets: Mapping[tuple[str, str], Target]) -> pd.DataFrame:
    """Return every fully-connected point of an energies table with its bounds, in words and in pJ of DRAM.

    Columns besides those of the point: what was measured, the fields of `WordBounds` and how they compare; the DRAM
    words of the outputs with a read for every bias, as the model counts them; and `THEORY_COLUMNS`, where the bound in
    pJ leaves those reads out and so bounds the energy of all storage from below.

    Parameters
    ----------
    energies
        The table of energies; without a column ``variant`` all points are of the architecture as its file has it.
    targets
        As by `fc_targets`.
    """
    if "variant" not in energies.columns:
        energies = energies.assign(variant="")
    # A size that is missing is one of another shape.
    ones = (energies.reindex(columns=list(_FC_ONES)).astype("Float64").fillna(0) == 1).all(axis=1)
    other = energies["kind"].fillna("") != "" if "kind" in energies.columns else False
    layers = energies[(energies["status"] == "ok") & ones & ~pd.Series(other, index=energies.index)]
    rows = []
    for (architecture, variant), points in layers.groupby(["architecture", "variant"], sort=False):
        target = targets[str(architecture), str(variant)]
        beta = on_chip_words(target)
        dram_pj = target.costs.levels[0].read_pj / target.arch.levels[0].block_words
        for _, row in points.iterrows():
            words = fc_words(row)
            found, biased = word_bounds(FcLayer(int(row["C"]), int(row["M"]), beta)), words.total_with_biases
            values = {
                key: float(value) if isinstance(value, Fraction) else value for key, value in asdict(found).items()
            }
            rows.append(
                {
                    **{key: row[key] for key in (*_KEYS, "C", "M", *_FC_ONES, "status")},
                    "total_pj": row["total_pj"],
                    "data_pj": row["data_pj"],
                    "dram_words_weights": words.weights_read,
                    "dram_words_inputs": words.inputs_read,
                    "dram_words_outputs": biased - words.weights_read - words.inputs_read,
                    "buffer_words": beta,
                    "measured_words": words.total,
                    "measured_words_with_biases": biased,
                    **values,
                    "lower_energy_pj": float(found.lower_words) * dram_pj,
                    "upper_energy_pj": found.upper_words * dram_pj,
                    "ratio_to_lower": float(biased / found.lower_words),
                    "ratio_to_upper": biased / found.upper_words,
                    BOUND_COLUMN: float(found.lower_words),
                    "theory_upper_dram_words": found.upper_words,
                    "theory_measured_dram_words": biased,
                    "theory_lower_data_pj": float(found.lower_words - int(row["M"])) * dram_pj,
                }
            )
    return pd.DataFrame(rows, columns=None if rows else [*_KEYS, "C", "M", *_FC_ONES, "status", *THEORY_COLUMNS])
