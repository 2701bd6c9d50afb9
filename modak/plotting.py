"""Plots of scaling curves, drawn by matplotlib if it is installed (``pip install 'modak[plot]'``).

A plot has one pair of axes, values over sizes, both logarithmic, so that perfect scaling is a straight line. Figures are made without
pyplot, which keeps them, and the same data gives the same bytes. The style is set for the whole process meanwhile: draw one at a time.
"""

from __future__ import annotations

import io
import textwrap
import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from modak.errors import Unavailable
from modak.perfmodel.plotlines import PlotLine
from modak.text.amounts import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORMATS: Final = ("png", "svg")
COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#7f7f7f", "#000000")
"""Colours that colour-blind readers can tell apart (Okabe and Ito 2008)."""
MARKERS: Final = "osD^vP>X"
MOST: Final = len(COLOURS)
"""More lines than this cannot be told apart."""
FEW: Final = f"the {MOST} with the most sizes, of equal ones the best, are drawn"
"""Which of more lines are, as :func:`modak.perfmodel.plotlines.in_pictures` orders them."""
STYLE: Final[dict[Any, Any]] = {"svg.hashsalt": "modak", "svg.fonttype": "none", "font.family": "DejaVu Sans", "font.size": 10}
INK, PALE = "#333333", "#dddddd"
SHORT, LONGEST = 45, 100
"""Longest labels, in characters: in two columns, and in one."""
WIDTH: Final = 60
"""Characters in a line of the title; a longer line would take its room from the axes."""
ARROW: Final = 0.35
"""Length of the arrow at a run that was stopped, as a part of its value."""
STEPS: Final = ((8, (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)), (5000, (1.0, 2.0, 5.0)))
"""What has a label along the y axis in each power of ten, if the axis spans less than a ratio."""
NEAR: Final = 1.19
"""Labels of sizes closer than this ratio would touch; ..."""
NEAR_PART: Final = 0.07
"""... so would those that are closer than this part of the axis."""


def picture(lines: Sequence[PlotLine], kind: str, title: str, level: float = 0.9) -> bytes:
    """The plot as PNG or SVG (``kind``). All lines must have the same metric and kind of size.

    Raises :class:`~modak.errors.Unavailable` where matplotlib is not installed.
    """
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise Unavailable("drawing needs matplotlib: pip install 'modak[plot]' (--json gives the data without it)") from None
    stream = io.BytesIO()
    with warnings.catch_warnings(), matplotlib.rc_context(STYLE):
        warnings.simplefilter("ignore", UserWarning)  # a letter that the font lacks is drawn as a box
        figure = Figure(figsize=(8, 5 + 0.22 * -(-len(lines) // _columns(lines))), dpi=150, layout="constrained")
        axes = figure.add_subplot()
        for place, line in enumerate(lines):
            _draw(axes, line, place)
        _dress(axes, lines, title)
        _legend(axes, lines, level)
        figure.savefig(stream, format=kind, metadata={"Date": None} if kind == "svg" else {"Software": "MODAK"})
    return stream.getvalue()


def _draw(axes: Axes, line: PlotLine, place: int) -> None:
    colour = COLOURS[place % MOST]
    axes.fill_between(line.x, line.lower, line.upper, color=colour, alpha=0.15, linewidth=0)
    axes.plot(line.x, line.perfect, color=colour, linewidth=1, linestyle=(0, (4, 3)), alpha=0.6)
    axes.plot(line.x, line.y, color=colour, linewidth=1.8)
    axes.plot(line.measured_x, line.measured_y, color=colour, linestyle="none", **_marker(place))
    if line.stopped_x:
        arrows = [ARROW * value for value in line.stopped_y]
        axes.errorbar(line.stopped_x, line.stopped_y, arrows, lolims=True, color=colour, **_open(place))


def _dress(axes: Axes, lines: Sequence[PlotLine], title: str) -> None:
    """Axes, their names and ticks: the measured sizes along x, round numbers along y."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

    first = lines[0]
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_title(textwrap.fill(title, WIDTH, max_lines=2, placeholder=" …"), loc="left", fontweight="bold", color=INK, parse_math=False)
    axes.set_xlabel({"gpus": "GPUs"}.get(first.scale, first.scale))
    better = "less is better" if first.better == "lower" else "more is better"
    axes.set_ylabel(f"{first.metric.replace('_', ' ')} ({first.unit}; {better})", parse_math=False)
    axes.xaxis.set_major_locator(FixedLocator(_apart(size for line in lines for size in (*line.measured_x, *line.stopped_x, line.x[-1]))))
    axes.xaxis.set_minor_locator(NullLocator())
    least, most = axes.get_ylim()
    steps = next((steps for ratio, steps in STEPS if most / least < ratio), (1.0,))
    axes.yaxis.set_major_locator(LogLocator(subs=steps, numticks=30))
    axes.yaxis.set_minor_formatter(NullFormatter())
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: _tick(value)))
    axes.grid(color=PALE, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=INK)


def _tick(value: float) -> str:
    """A size or value at an axis.

    >>> _tick(0.5), _tick(1024), _tick(999600), _tick(2e7), _tick(5e13)
    ('0.5', '1 024', '999 600', '20 M', '50 T')
    """
    for letter, factor in (("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6)):
        if value >= 0.9999995 * factor:  # which six digits round to it
            return f"{value / factor:.6g} {letter}"
    return f"{value:,.6g}".replace(",", " ")


def _apart(sizes: Iterable[float]) -> list[float]:
    """Sizes whose labels do not touch, the smallest first."""
    kept: list[float] = []
    ordered = sorted(set(sizes))
    near = max(NEAR, (ordered[-1] / ordered[0]) ** NEAR_PART)
    for size in ordered:
        if not kept or size / kept[-1] > near:
            kept.append(size)
    return kept


def _legend(axes: Axes, lines: Sequence[PlotLine], level: float) -> None:
    """Below the axes: what the marks mean, then the lines."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    marks: list[Any] = [
        Line2D([], [], color=INK, marker="o", markersize=6, markeredgecolor="white", linestyle="none", label="measured"),
        Patch(color=INK, alpha=0.15, linewidth=0, label=f"model with its {percent(level)} interval"),
        Line2D([], [], color=INK, linewidth=1, linestyle=(0, (4, 3)), alpha=0.6, label="perfect scaling from the first point"),
    ]
    if any(line.stopped_x for line in lines):
        marks.insert(1, Line2D([], [], color=INK, **_open(0), label="stopped, so it takes longer (arrow)"))
    axes.add_artist(axes.legend(handles=marks, loc="best", frameon=False, fontsize=8.5, labelcolor=INK))
    keys = [Line2D([], [], color=COLOURS[k % MOST], linewidth=1.8, **_marker(k), label=f"{k}") for k in range(len(lines))]
    below = axes.legend(
        handles=keys, ncols=_columns(lines), frameon=False, fontsize=9, labelcolor=INK, loc="upper left", bbox_to_anchor=(-0.02, -0.13)
    )
    for text, line in zip(below.get_texts(), lines, strict=True):  # a label of its own would be left out where it starts with "_"
        text.set_text(_label(line))
        text.set_parse_math(False)


def _label(line: PlotLine) -> str:
    """What a line is called, and what its values are scaled to, in one line of text."""
    scaled = f" (scaled: {line.shifted})" if line.shifted else ""
    most = LONGEST - len(scaled)
    return (line.label if len(line.label) <= most else f"{line.label[: most - 1]}…") + scaled


def _columns(lines: Sequence[PlotLine]) -> int:
    """Columns of the legend below."""
    return 2 if max(len(_label(line)) for line in lines) <= SHORT else 1


def _marker(place: int) -> dict[str, Any]:
    return {"marker": MARKERS[place % MOST], "markersize": 6, "markeredgecolor": "white"}


def _open(place: int) -> dict[str, Any]:
    """The marker of a lower bound."""
    return {"marker": MARKERS[place % MOST], "markersize": 6, "markerfacecolor": "white", "linestyle": "none"}
