"""From results to fitted curves: one curve for each series and layout.

:mod:`modak.perfmodel.fitting.cells` gathers the results, :mod:`modak.perfmodel.fitting.cellgroups` decides which cells make a curve,
:mod:`modak.perfmodel.fitting.scaling` fits its forms and weighs them.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Final, Self

import numpy as np

from modak.arrays import Array, Flags, median
from modak.facts import Fact, Layout, NotedShift, Result, SeriesKey
from modak.grouping import grouped
from modak.perfmodel.fitting import scaling, startup
from modak.perfmodel.fitting.cellgroups import VARYING, CellGroup, Scale, per_batch, size_of, split_cells
from modak.perfmodel.fitting.cells import Cell, cells_of_results, merge_cells
from modak.perfmodel.fitting.forms import FORMS
from modak.perfmodel.fitting.merging import curve_label
from modak.perfmodel.fitting.scaling import Mixture
from modak.perfmodel.fitting.startup import StartUp
from modak.results.metrics import metric_of
from modak.text.numbering import Numbers, shortened


class Scatter(Fact):
    """How much runs scatter: the standard deviation of their log costs, and its degrees of freedom."""

    deviation: float
    freedom: float


FIT_VERSION: Final = 27
"""Raised whenever :func:`fit` gives other curves for the same results; stored curves of another version are fitted again."""
FEW_SIZES: Final = 3
"""With this many sizes or fewer, the series alone says little about scaling: basis ``heuristic``, wide interval."""
UNFITTED: Final = Mixture((), (), (), (), None, None)
"""Of a curve before :func:`fitted`."""


class Estimated(Fact):
    """The model behind a curve that was not measured, and the half-width of the 90 % interval of its log cost."""

    model: str
    half_width: float


class Curve(Fact):
    """One scaling curve: a series at one layout shape, over its sizes. Stored as JSON; never a pickle.

    ``costs`` are medians over repeats, in seconds (per sample for throughputs), one for each of ``sizes``.
    ``layout`` holds what is the same for all sizes; the count that varies is ``scale``.
    """

    series: SeriesKey
    layout: Layout
    scale: Scale
    sizes: tuple[float, ...]
    costs: tuple[float, ...]
    repeats: tuple[int, ...]
    nodes: tuple[int, ...]
    """The most nodes at each size."""
    mixture: Mixture = UNFITTED
    """The forms' coefficients and weights."""
    scatter: Scatter | None = None
    """That of repeats; ``None``: nothing was repeated."""
    result_ids: Numbers = ()
    """Database numbers of its results."""
    estimated: Estimated | None = None
    """Set if its only point is not measured: see :mod:`modak.perfmodel.unmeasured.estimated`."""
    start_up: StartUp | None = None
    """Start-up time of its runs, which costs do not include; ``None``: unknown."""
    included: StartUp | None = None
    """Start-up time of its runs that costs do include, as they are of whole runs; ``None``: unknown."""
    unsure: float = 0.0
    """Relative standard error of its costs: see :class:`modak.perfmodel.fitting.cells.Cell`."""
    shifted: NotedShift | None = None
    """The shift that its results from before are scaled to."""
    ranks_per_gpu: float | None = None
    """Of a curve over GPUs with another number of ranks per node for each number of GPUs; ``None``: see ``layout``."""
    threads_on: tuple[tuple[int, int], ...] = ()
    """Of a curve over GPUs with several numbers of threads per rank: GPUs per node, and the threads with so many."""

    def __copy__(self) -> Self:
        """Without what was computed from fields, which ``model_copy`` may change."""
        copied = super().__copy__()
        for name in copied.__dict__.keys() - type(self).model_fields.keys():
            del copied.__dict__[name]
        return copied

    @property
    def results_used(self) -> int:
        """Number of results behind the curve."""
        return sum(self.repeats)

    @property
    def on_gpus(self) -> bool | None:
        """Whether the runs used GPUs; ``None``: unknown."""
        gpus = self.layout.gpus_per_node
        return True if self.scale == "gpus" else None if gpus is None else gpus > 0

    @cached_property
    def misfit(self) -> Scatter | None:
        """Scatter around the curve's forms of the sizes that were run once; ``None``: there are none, or the forms can follow any costs.

        It is what these runs scatter, if the forms can follow the program; at most :data:`FEW_SIZES` coefficients of a form are fitted.
        """
        missed = [miss for miss, runs in zip(self.mixture.missed, self.repeats, strict=True) if runs == 1]
        freedom = len(missed) * (1 - FEW_SIZES / len(self.sizes))
        return Scatter(deviation=math.sqrt(sum(miss**2 for miss in missed) / freedom), freedom=freedom) if freedom > 0 else None

    @cached_property
    def layout_unstated(self) -> bool:
        """Whether its results do not state their layout, and may be of any."""
        layout = self.layout
        return self.scale == "nodes" and not (layout.ranks_per_node or layout.threads_per_rank or layout.gpus_per_node)

    @cached_property
    def octaves(self) -> tuple[int, int]:
        """The fewest and the most nodes that it was measured on, as doublings of one node, rounded up."""
        return (min(self.nodes) - 1).bit_length(), (max(self.nodes) - 1).bit_length()

    @property
    def name(self) -> str:
        """The id by which users know it: the same for the same series, layout, ranks per GPU and scale."""
        key = f"{self.series.model_dump_json()}{self.layout.model_dump_json()}{self.scale}{self.ranks_per_gpu or ''}"
        return hashlib.sha256(key.encode()).hexdigest()[:12]

    @cached_property
    def labels(self) -> Mapping[str, Hashable]:
        """The columns of its series, each in one spelling, to be compared with those of other curves."""
        return {name: curve_label(name, value) for name, value in self.series}

    @property
    def varying(self) -> str | None:
        """The count within a node that varies along the curve; ``None``: none does."""
        return VARYING[self.scale]

    @property
    def per_node(self) -> frozenset[int]:
        """The counts within a node along the curve; 1 if none varies."""
        return frozenset(round(size / nodes) for size, nodes in zip(self.sizes, self.nodes, strict=True))

    def measured_at(self, sizes: Array, nodes: Array) -> Flags:
        """Which of ``sizes [n]`` on ``nodes [n]`` were measured."""
        known = np.array(self.sizes)
        there = np.equal.outer(sizes, known).any(axis=1)
        return np.asarray(there & ((self.scale == "nodes") | (np.interp(sizes, known, self.nodes) == nodes)))

    @property
    def states_threads(self) -> bool:
        """Whether its results state their threads per rank."""
        return bool(self.layout.threads_per_rank or self.threads_on or self.scale == "threads")

    def layout_on(self, gpus: int | None) -> Layout:
        """The layout, with the ranks per node, and their threads, that go with so many GPUs per node."""
        ranks, threads = round((self.ranks_per_gpu or 0) * (gpus or 0)), dict(self.threads_on).get(gpus or 0)
        told = {name: count for name, count in (("ranks_per_node", ranks), ("threads_per_rank", threads)) if count}
        return self.layout.model_copy(update=told) if told else self.layout

    def layout_at(self, count: int) -> Layout:
        """The layout at one of the counts within a node that vary along the curve."""
        return self.layout_on(count).model_copy(update={str(self.varying): count})

    @property
    def grows(self) -> bool:
        """Whether costs are times of weak scaling, where the problem grows with the size and perfect scaling is a constant time.

        Rates of work scale in the same way in strong and weak scaling.
        """
        marked = self.series.params.get("scaling")
        weak = marked is not None and marked.lower() == "weak"
        return (weak and not metric_of(self.series).is_rate) or self.per_batch

    @property
    def per_batch(self) -> bool:
        """Whether costs are of steps that take a batch on each worker, or of requests: the work grows with their number."""
        return per_batch(self.series, self.layout)

    @cached_property
    def kind_of_work(self) -> tuple[object, ...]:
        """What its costs must have in common with others to be of the same work: the metric, and the length of the run."""
        return self.series.metric, self.series.unit, self.per_batch, tuple(sorted(startup.lengths(self.series.params).items()))

    @cached_property
    def measured(self) -> scaling.Series:
        """The measured values as input of the models: costs of weak scaling are divided by the size; nodes are given beside other sizes."""
        costs = tuple(cost / size for cost, size in zip(self.costs, self.sizes, strict=True)) if self.grows else self.costs
        nodes = self.nodes if self.scale != "nodes" else None
        return scaling.Series(self.sizes, costs, nodes, on_cores=self.scale in ("ranks", "threads"))

    @property
    def amdahl(self) -> tuple[float, float]:
        """``(a, b)`` of the one form ``a + b / p``, seconds: the part that does not scale, and the part that is divided."""
        form = next(k for k, form in enumerate(FORMS) if getattr(form, "exponents", None) == (0.0, -1.0))
        serial, divided = self.mixture.coefficients[form]
        return serial, divided * self.sizes[-1]


def fit(results: Iterable[Result]) -> tuple[Curve, ...]:
    """All curves of ``results``, as :func:`fit_cells` gives them; suspect results are left out."""
    return fit_cells(merge_cells(cells_of_results(results)))


def fit_cells(cells: Iterable[Cell]) -> tuple[Curve, ...]:
    """All curves of ``cells``, in a deterministic order; there is one cell per series and layout.

    Series whose metric is neither a time nor a throughput have no curve.
    """
    timed = (cell for cell in cells if metric_of(cell.series).tells_cost)
    by_series = grouped(timed, lambda cell: cell.series)
    usual = {key: _start_up(of_series) for key, of_series in by_series.items()}
    ordered = sorted(by_series, key=SeriesKey.model_dump_json)
    return fitted([_curve(part, usual[key]) for key in ordered for part in split_cells(by_series[key])])


def fitted(curves: Sequence[Curve]) -> tuple[Curve, ...]:
    """The curves with forms fitted to their measured values; all in one batch."""
    mixtures = scaling.fit_many([curve.measured for curve in curves])
    return tuple(curve.model_copy(update={"mixture": mixture}) for curve, mixture in zip(curves, mixtures, strict=True))


def _start_up(cells: Iterable[Cell]) -> StartUp | None:
    return startup.of_runs([seconds for cell in cells for seconds in cell.starting])


def _curve(part: CellGroup, usual: StartUp | None) -> Curve:
    """The curve, not fitted yet; ``usual`` is the start-up time of the whole series, for curves whose own runs do not give it."""
    by_size = grouped(part.cells, lambda cell: size_of(cell.layout, part.scale))
    sizes = tuple(sorted(by_size))
    values = [np.concatenate([cell.values for cell in by_size[size]]) for size in sizes]
    of = metric_of(part.series)
    return Curve(
        series=part.series,
        layout=part.layout,
        scale=part.scale,
        ranks_per_gpu=part.ranks_per_gpu,
        threads_on=part.threads_on,
        sizes=sizes,
        costs=tuple(median(of.cost(each)) for each in values),
        repeats=tuple(map(len, values)),
        nodes=tuple(max(cell.layout.nodes or 1 for cell in by_size[size]) for size in sizes),
        scatter=_scatter(part.cells),
        result_ids=shortened(number for cell in part.cells for number in cell.ids),
        start_up=_start_up(part.cells) or usual,
        included=startup.usual([cell.included for cell in part.cells if cell.included]),
        unsure=max(cell.unsure for cell in part.cells),
        shifted=next((cell.shifted for cell in part.cells if cell.shifted), None),
    )


def results_behind(curves: Iterable[Curve | None]) -> int:
    """The number of results behind several curves, each counted once."""
    return sum({id(curve): curve.results_used for curve in curves if curve}.values())


def _scatter(cells: Sequence[Cell]) -> Scatter | None:
    logs = [np.log(cell.values) for cell in cells if len(cell.values) > 1]
    freedom = sum(len(each) - 1 for each in logs)
    squares = sum(float(((each - each.mean()) ** 2).sum()) for each in logs)
    return Scatter(deviation=math.sqrt(squares / freedom), freedom=freedom) if freedom else None
