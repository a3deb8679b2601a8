"""Search one layer with ZigZag; run by the Python of an environment that has ``zigzag-dse``, never imported here.

``run.py FOLDER even|uneven`` reads ``accelerator.yaml``, ``workload.yaml`` and ``mapping.yaml`` of the folder. It
prints JSON: energy in its own model [pJ], and by operand the loops of each memory level, innermost first.
"""

import json
import logging
import math
import os
import sys
from pathlib import Path

from zigzag.api import get_hardware_performance_zigzag


def main() -> None:
    """Print the result of one search."""
    os.chdir(sys.argv[1])
    logging.disable(logging.CRITICAL)
    with Path(os.devnull).open("w", encoding="utf-8") as quiet:
        printed, sys.stdout = sys.stdout, quiet
        energy_pj, _, found = get_hardware_performance_zigzag(
            "workload.yaml",
            "accelerator.yaml",
            "mapping.yaml",
            opt="energy",
            temporal_mapping_type=sys.argv[2],
            dump_folder="out",
            pickle_filename="out/found.pickle",
            loma_show_progress_bar=False,
        )
        sys.stdout = printed
    best = found[0][1][0][0]
    nests = [best.temporal_mapping.mapping_dic_origin, best.spatial_mapping.mapping_dict_origin]
    temporal, spatial = ({str(operand): _levels(levels) for operand, levels in nest.items()} for nest in nests)
    print(json.dumps({"energy_pj": float(energy_pj), "temporal": temporal, "spatial": spatial}))


def _levels(levels: list[list[tuple[object, float]]]) -> list[list[tuple[str, int]]]:
    # What a unit does of a dimension may be a fraction: the last pass is shorter.
    return [[(str(dimension), math.ceil(size - 1e-9)) for dimension, size in loops] for loops in levels]


if __name__ == "__main__":
    main()
