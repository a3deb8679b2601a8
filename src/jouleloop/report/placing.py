# ruff: noqa: SLF001 - nothing public keeps what was measured
"""Where everything stands in a figure, worked out once for all formats: measuring text is most of the work of drawing.

Matplotlib asks again and again for ticks and for the boxes of their labels, with the same answers.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import ScaledTranslation

#: What a tick is drawn of.
_PARTS = ("tick1line", "tick2line", "gridline", "label1", "label2")


def copy_ticks(figure: Figure) -> None:
    """Let further ticks of an axis be copies of its first one, which Matplotlib makes anew and then makes alike."""
    for panel in figure.axes:
        axes: tuple[Any, ...] = (panel.xaxis, panel.yaxis)
        for axis in axes:
            axis._get_tick = partial(_tick, axis, axis._get_tick)
            axis._copy_tick_props = lambda *_: None


def _tick(axis: Any, make: Callable[[bool], Any], major: bool) -> Any:
    # The list is made when it is asked for, with its first tick.
    known = vars(axis).get("majorTicks" if major else "minorTicks")
    if not known:
        return make(major)
    tick = _copy(known[0])
    for name in _PARTS:
        setattr(tick, name, _copy(getattr(known[0], name)))
    for label in (tick.label1, tick.label2):
        label._fontproperties = label._fontproperties.copy()
    return tick


def _copy(artist: Any) -> Any:
    """Return a copy of what is drawn that shares what is replaced, not changed, where it is drawn otherwise."""
    made = object.__new__(type(artist))
    vars(made).update(vars(artist))
    return made


@contextmanager
def texts_laid_out_once() -> Iterator[None]:
    """Let texts that look the same be laid out once for each renderer."""
    make: Any = Text._get_layout  # type: ignore[attr-defined]
    known: dict[Any, Any] = {}

    def layout(text: Any, renderer: Any) -> Any:
        if text.get_wrap():  # decided by where it stands
            return make(text, renderer)
        looks = (
            *(text.get_text(), hash(text._fontproperties), text.figure.dpi, text._linespacing),
            *(text.get_rotation(), text.get_rotation_mode(), text.get_ha(), text.get_va(), text._multialignment),
            *(text.get_usetex(), text.get_parse_math(), renderer),
        )
        found = known.get(looks)
        if found is None:
            found = known[looks] = make(text, renderer)
        return found

    Text._get_layout = layout  # type: ignore[attr-defined]
    try:
        yield
    finally:
        Text._get_layout = make  # type: ignore[attr-defined]


def place_once(figure: Figure) -> None:
    """Solve the layout of a figure, if it has one, and leave everything where it is.

    Solving again starts from the last solution and moves things by a hair.
    """
    engine = figure.get_layout_engine()
    if engine is None:
        return
    with _measured_once(figure) as renderer:
        engine.execute(figure)
        figure.set_layout_engine("none")
        _fix_labels(figure, renderer)
        _fix_ticks(figure)


class _Measured:
    """What an axis was asked last, and what its panel was like then: nothing else decides its ticks and their boxes."""

    def __init__(self, axis: Any) -> None:
        self._axis = axis
        self._update, self._measure = axis._update_ticks, axis._get_ticklabel_bboxes
        self._state: Any = None
        self._ticks: list[Any] = []
        self._boxes: Any = None

    def ticks(self) -> list[Any]:
        """Return the ticks, put where they belong."""
        panel = self._axis.axes
        state = (panel.bbox.bounds, self._axis.get_view_interval().tolist())
        if state != self._state:
            self._ticks, self._boxes, self._state = self._update(), None, state
        return self._ticks

    def boxes(self, ticks: list[Any], renderer: Any) -> Any:
        """Return the boxes of the labels of the ticks."""
        if ticks is not self._ticks:
            return self._measure(ticks, renderer)
        if self._boxes is None:
            self._boxes = self._measure(ticks, renderer)
        return self._boxes


@contextmanager
def _measured_once(figure: Any) -> Iterator[Any]:
    """Let ticks and labels be measured once for each place that a layout tries; yield what measures."""
    renderer = figure._get_renderer()  # each has a cache of its own
    figure._get_renderer = lambda: renderer
    asked = [axis for panel in figure.axes for axis in _alone(panel)]
    for axis in asked:
        measured = _Measured(axis)
        axis._update_ticks, axis._get_ticklabel_bboxes = measured.ticks, measured.boxes
    try:
        yield renderer
    finally:
        del figure._get_renderer
        for axis in asked:
            for name, method in (("_update_ticks", "ticks"), ("_get_ticklabel_bboxes", "boxes")):
                if getattr(vars(axis).get(name), "__func__", None) is getattr(_Measured, method):
                    delattr(axis, name)


def _alone(panel: Any) -> Iterator[Any]:
    """Yield the axes of a panel that share no locator with those of another one."""
    for axis, shared in ((panel.xaxis, panel.get_shared_x_axes()), (panel.yaxis, panel.get_shared_y_axes())):
        if len(shared.get_siblings(panel)) == 1:
            yield axis


def _fix_labels(figure: Figure, renderer: Any) -> None:
    """Leave the axis labels where they are now, in inches: each format would ask all tick labels again."""
    for panel in figure.axes:
        for axis, along in ((panel.xaxis, 1), (panel.yaxis, 0)):
            axis.get_tightbbox(renderer)  # puts the label where it belongs
            shift, place = np.zeros(2), np.full(2, 0.5)
            shift[along] = (axis.label.get_position()[along] - panel.bbox.min[along]) / figure.dpi
            place[along] = 0.0
            beside = ScaledTranslation(shift[0], shift[1], figure.dpi_scale_trans)
            axis.set_label_coords(place[0], place[1], transform=panel.transAxes + beside)


def _fix_ticks(figure: Figure) -> None:
    """Leave ticks as they are now: each format would look for their places and measure their labels again."""
    for panel in figure.axes:
        axes: tuple[Any, ...] = (panel.xaxis, panel.yaxis)
        for axis in axes:
            axis._update_ticks = partial(list, axis._update_ticks())
            if not axis.offsetText.get_text():  # which alone stands where the labels leave room
                axis._get_ticklabel_bboxes = lambda *_: ([], [])
