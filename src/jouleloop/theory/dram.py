"""Words between DRAM and the chip, as dataflows move them and as measurements count them."""

from dataclasses import dataclass

from jouleloop.errors import Fault, raise_all
from jouleloop.files import is_whole


@dataclass(frozen=True)
class DramWords:
    """Words moved between DRAM and the chip, by data space."""

    weights_read: int
    inputs_read: int
    """Words read; biases count as weights."""
    outputs_read: int
    outputs_written: int
    """Words of (partial) outputs read and written."""

    def __post_init__(self) -> None:
        raise_all(
            [
                Fault("not a number of words", field=name, value=value, allowed="a whole number >= 0")
                for name, value in vars(self).items()
                if not is_whole(value) or value < 0
            ]
        )

    @property
    def total(self) -> int:
        """All words moved; times the bits of a word this is the data energy (002 eq. (5) for a single image)."""
        return self.weights_read + self.inputs_read + self.outputs_read + self.outputs_written
