"""A kind of layer: a problem shape, what a layer of it may state, and what theory has to know of its tensors."""

from dataclasses import dataclass, field
from functools import cached_property

from jouleloop.workload.problem import ProblemShape

Names = tuple[str, ...]


@dataclass(frozen=True)
class Window:
    """One axis along which a filter slides: names of sizes."""

    axis: str
    """Such as ``width``, in the names ``input_width`` and ``padding_width``."""
    output: str
    filter: str
    stride: str
    dilation: str


@dataclass(frozen=True)
class TextForm:
    """How a layer is written in one word."""

    positional: Names = ()
    """Sizes that are written without their names, such as ``1024x128``; empty where names stand before numbers."""
    called: str = ""
    """What those are called, such as ``INPUTSxOUTPUTS``."""
    always: Names = ()
    """Sizes that are always written, in this order; others where they are not 1."""
    options: Names = ()
    """Sizes and shorthands that stand after a slash."""


@dataclass(frozen=True)
class Kind:
    """One kind of layer."""

    name: str
    """As sweeps name it."""
    base: str
    """Name of the kind that has the problem shape: ``conv`` for ``fc``. Layers of one base are told apart by their
    sizes alone."""
    shape: ProblemShape = field(compare=False, repr=False)
    """The problem shape with all its dimensions."""
    description: str = field(default="", compare=False, repr=False)
    without: tuple[str, str] | None = field(default=None, compare=False, repr=False)
    """A dimension that is left out where its bound is 1, and the name of the shape then."""
    fields: tuple[tuple[str, str], ...] = field(default=(), compare=False, repr=False)
    """The sizes of the base, each with its dimension or coefficient."""
    sizes: tuple[tuple[str, str], ...] = field(default=(), compare=False, repr=False)
    """What a layer of this kind may state, each with its field."""
    required: Names = field(default=(), compare=False, repr=False)
    shorthands: tuple[tuple[str, Names], ...] = field(default=(), compare=False, repr=False)
    windows: tuple[Window, ...] = field(default=(), compare=False, repr=False)
    text: TextForm = field(default=TextForm(), compare=False, repr=False)
    """Sizes without a default; names that set several sizes; sliding filters; the text form."""
    columns: Names = field(default=(), compare=False, repr=False)
    """Fields that tables always have; other ones only where a layer has them above 1."""
    roles: tuple[tuple[str, str], ...] = field(default=(), compare=False, repr=False)
    """Data space by role: ``weights``, ``inputs``, ``outputs``; what theory and chains of layers have to know."""
    base_windows: tuple[Window, ...] = field(default=(), compare=False, repr=False)
    """The windows of the base, in its fields."""
    presets: tuple[tuple[str, int], ...] = field(default=(), compare=False, repr=False)
    """Values that a file gives to fields; a layer may state others."""
    document: str = field(default="", compare=False, repr=False)
    """A user's own shape as JSON, from which the same kind can be made again; empty for what is provided."""

    @cached_property
    def field_of(self) -> dict[str, str]:
        """Field by the name of a size."""
        return dict(self.sizes)

    @cached_property
    def shorthand(self) -> dict[str, Names]:
        """Sizes by the name of a shorthand."""
        return dict(self.shorthands)

    @cached_property
    def default(self) -> dict[str, int]:
        """Value of each field where none is stated, by name."""
        return dict(zip((key for key, _ in self.fields), self.defaults, strict=True))

    @cached_property
    def defaults(self) -> tuple[int, ...]:
        """Value of every field that a layer does not state."""
        given = dict(self.shape.coefficients)
        preset = dict(self.presets)
        return tuple(preset.get(name, given.get(target, 1)) for name, target in self.fields)

    @cached_property
    def window_sizes(self) -> Names:
        """Names that state the input of a sliding window, from which the outputs follow."""
        if not self.windows:
            return ()
        axes = [window.axis for window in self.windows]
        return tuple(n for stem in ("input", "padding") for n in (stem, *(f"{stem}_{axis}" for axis in axes)))

    @cached_property
    def known(self) -> Names:
        """All names of sizes that a layer may state."""
        return (*self.field_of, *self.shorthand, *self.window_sizes)

    @cached_property
    def bound_positions(self) -> tuple[int, ...]:
        """Which of the fields are bounds of loops."""
        return tuple(i for i, (_, target) in enumerate(self.fields) if target in self.shape.dimensions)

    @cached_property
    def reduced(self) -> ProblemShape:
        """The problem shape less the dimension that may be left out."""
        return self.shape if self.without is None else self.shape.less(*self.without)

    @cached_property
    def _optional(self) -> int:
        return -1 if self.without is None else [target for _, target in self.fields].index(self.without[0])

    def shape_of(self, values: tuple[int, ...]) -> ProblemShape:
        """Return the shape of a layer with these values of the fields."""
        return self.reduced if self._optional >= 0 and values[self._optional] == 1 else self.shape
