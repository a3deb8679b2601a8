"""How the engine ``timeloop`` runs Timeloop: where the programs are, algorithm, limits."""

from dataclasses import dataclass
from pathlib import Path

from jouleloop.errors import Fault, InputError, raise_all, unknown

#: Folder of the executables; they are looked for there, then on PATH.
HOME_VARIABLE = "JOULELOOP_TIMELOOP"
#: The authors' image; its Timeloop is a version 4. There is one for arm64, too.
CONTAINER = "docker://timeloopaccelergy/accelergy-timeloop-infrastructure:latest-amd64"
ALGORITHMS = ("linear-pruned", "random-pruned", "exhaustive", "hybrid", "random")
#: What 3.0.x takes for "never" where 0 is not, in the width of its counters; Timeloop 4 stops at once at 0.
NEVER = 2**32 - 1
#: How the programs are called: through pytimeloop where it is importable, always, or never.
FRONT_ENDS = ("auto", "pytimeloop", "executables")


@dataclass(frozen=True)
class TimeloopOptions:
    """How the engine runs Timeloop."""

    home: Path | None = None
    """Folder of the executables; None to look in the environment and on PATH."""
    algorithm: str = "linear-pruned"
    """One of `ALGORITHMS`."""
    victory_condition: int = 0
    timeout_mappings: int = 0
    """Consecutive valid mappings without improvement, and consecutive invalid ones, after which a thread stops; 0 for
    never."""
    max_permutations: int = 16
    """Permutations tried on each index factorization by ``random-pruned``."""
    threads: int = 1
    """Mapper threads. More than one make ``random-pruned`` irreproducible."""
    model_seconds: float = 60.0
    mapper_seconds: float = 3600.0
    """Time limits; a mapper at its limit is interrupted and its best mapping so far is taken, claimed as no optimum."""
    interrupt_grace_s: float = 15.0
    """Seconds the mapper has to write that mapping."""
    keep_folders: Path | None = None
    """Where the folders of all runs are kept; None to delete them."""
    front_end: str = "auto"
    """One of `FRONT_ENDS`: whether the programs are called through pytimeloop where it is importable (``auto``), always
    (``pytimeloop``), or never (``executables``)."""
    runs: Path | None = None
    """Folder of runs that were made elsewhere, such as in a container; they are read instead of running anything."""
    where: str = ""
    """What they were made with, such as the container's name."""

    def __post_init__(self) -> None:
        faults: list[Fault] = []
        if self.algorithm not in ALGORITHMS:
            faults.append(unknown(self.algorithm, ALGORITHMS, "search algorithm", field="algorithm"))
        if self.front_end not in FRONT_ENDS:
            faults.append(unknown(self.front_end, FRONT_ENDS, "front end", field="front_end"))
        for name in ("victory_condition", "timeout_mappings"):
            if getattr(self, name) < 0:
                faults.append(Fault("is negative", field=name, value=getattr(self, name), allowed=">= 0"))
        for name in ("max_permutations", "threads", "model_seconds", "mapper_seconds", "interrupt_grace_s"):
            if getattr(self, name) <= 0:
                faults.append(Fault("must be positive", field=name, value=getattr(self, name), allowed="> 0"))
        raise_all(faults, InputError)

    @property
    def search_settings(self) -> str:
        """What the result of a search depends on besides its inputs, on one line."""
        names = ("algorithm", "victory_condition", "timeout_mappings", "max_permutations", "threads", "mapper_seconds")
        return " ".join(f"{name}={getattr(self, name)}" for name in names)
