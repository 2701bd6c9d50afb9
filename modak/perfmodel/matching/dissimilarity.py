"""How unlike a curve and a question are: the spread (a standard deviation of log cost) that each difference adds."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Final

from modak.facts import Layout, SeriesKey
from modak.perfmodel.fitting import startup
from modak.perfmodel.fitting.curves import Curve
from modak.perfmodel.fitting.precisions import REDUCED, canonical_precision
from modak.perfmodel.matching import layouts
from modak.perfmodel.matching.devices import Power, other_device, unknown_device
from modak.perfmodel.matching.magnitudes import magnitude
from modak.perfmodel.matching.questions import SPREAD, Question, both_differ
from modak.results.metrics import metric_of

WORK_SPREAD: Final[Mapping[str, float]] = {"dataset": 2.9, "params": 1.1}
"""As :data:`SPREAD`, for costs of a whole run or a step, where another problem is another amount of work. With these spreads, 90 % of 427
costs in public tables of HPC codes lie in the 90 % interval that is predicted from another problem of the same code."""
OTHER_EPOCH: Final = 1.5
"""The spread of ``dataset`` for the time of an epoch that is not scaled, because the question or results (``params.samples``) do not tell
of how many samples it is: data sets have from thousands of them to millions. Judgement."""
OTHER_SIZE: Final = math.log(4)
"""The spread of ``params`` grows with the absolute log ratio of their numbers, beyond this: work is a power of the size of a problem.
Judgement: a problem eight times as large says less than one twice as large in another layout."""
NEAR_SIZE: Final = math.log(1.5)
"""Below this log ratio the spread of ``params`` shrinks in proportion: the cost rarely grows by more than the fourth power of a size, and
the interval is of a little more than that power. Judgement, as is :data:`LEAST_NEAR`."""
LEAST_NEAR: Final = 0.2
"""The share of the spread that is left: sizes that divide badly, or no longer fit a cache, cost more than their neighbours."""
REDUCED_SPREAD: Final = 0.2
"""The spread between precisions of half the width (:data:`REDUCED`), which run on the same units. Judgement."""
SHAPE_SPREAD: Final = 0.5
"""The spread of another number of ranks, threads or GPUs per node. Used to find the nearest curve; the prediction itself is made by
:mod:`modak.perfmodel.laws.layoutlaw`."""
BATCH_SPREAD: Final = 0.2
"""The same for each doubling of the batch size, if nothing else in the layout differs: log throughputs of BERT and ResNet-50 on V100 in
eight frameworks grow by 0.09 a doubling on one GPU, by 0.18 on eight and by 0.26 on 32 (medians of 25 pairs each)."""
DEVICE_SPREAD: Final = 1.2
"""Added between runs on GPUs and on processors only: a factor of 7 in the 90 % interval. Judgement: GPUs are faster by about an order of
magnitude, but by how much depends on the program."""
UNKNOWN_DEVICE_SPREAD: Final = 0.8
"""Added if nobody knows whether results from another system were on GPUs, as the question is: :data:`DEVICE_SPREAD` or none, equally
likely."""


def differing_attributes(curve: Curve, question: Question, *, same_layout: bool) -> list[str]:
    """The attributes in which a curve and a question differ. More threads than cores in question, in a layout that was measured, were
    hyper-threads there, too, if the results do not say."""
    found = question.differing(curve.series)
    silent = curve.series.hyperthreads is None and curve.states_threads
    if question.crowded and silent and same_layout and not _beyond(curve, question.layout):
        return [name for name in found if name != "hyperthreads"]
    return found


def differing_counts(curve: Curve, layout: Layout, power: Power | None) -> list[str]:
    """The counts of a layout that are known to differ from those of a curve, but for the one that varies along it."""
    there = curve.layout_on(layout.gpus_per_node) if curve.threads_on else curve.layout
    apart = [name for name in layouts.COUNTS if name != curve.varying and both_differ(getattr(there, name), getattr(layout, name))]
    if curve.ranks_per_gpu and layout.ranks_per_gpu not in (None, curve.ranks_per_gpu) and "ranks_per_node" not in apart:
        apart.append("ranks_per_node")
    return ["gpus_per_node", *apart] if other_device(curve, layout, power) and "gpus_per_node" not in apart else apart


def of_attributes(names: Collection[str], curve: Curve, question: Question) -> float:
    """The spread of these attributes together."""
    elsewhere = on_other_nodes(curve, names, question)
    return math.hypot(*(_of_attribute(name, curve, question, elsewhere=elsewhere) for name in names))


def _of_attribute(name: str, curve: Curve, question: Question, *, elsewhere: bool) -> float:
    """The spread of one attribute; ``elsewhere``: see :func:`on_other_nodes`."""
    if name == "params":
        return _of_params(curve, question)
    if name in WORK_SPREAD and tells_of_work(curve):
        return WORK_SPREAD[name]
    if name == "dataset" and metric_of(curve.series).per == "epoch":
        scaled = question.scales_epochs and startup.samples_of(curve.series) is not None
        return SPREAD[name] if scaled else OTHER_EPOCH
    if name == "partition" and elsewhere:
        return SPREAD["system"]
    if name == "precision" and _reduced(curve.series.precision) and _reduced(question.attributes.get("precision")):
        return REDUCED_SPREAD
    return SPREAD[name]


def _of_params(curve: Curve, question: Question) -> float:
    """The spread of parameters: each that is another text adds one in quadrature, and all numbers together another one."""
    texts, numbers = question.other_params(curve.series.params)
    if not tells_of_work(curve):
        return SPREAD["params"] * math.sqrt(texts + numbers)
    apart, all_known = _between_numbers(tuple(curve.series.params.items()), tuple(question.params.items()))
    further = question.plain and not question.measures.issuperset(curve.series.params.keys() - question.params.keys())
    near = max(LEAST_NEAR, apart / NEAR_SIZE) if all_known and not further else 1.0
    of_numbers = numbers * max(min(near, 1.0), apart / OTHER_SIZE)
    return WORK_SPREAD["params"] * math.hypot(math.sqrt(texts), of_numbers)


def _reduced(precision: str | None) -> bool:
    return canonical_precision(precision) in REDUCED


def of_layout(curve: Curve, layout: Layout, counts: Sequence[str]) -> float:
    """The spread of these counts together; if only the batch size differs, by its doublings."""
    if not counts:
        return 0.0
    only_batch = Layout(batch_size=curve.layout.batch_size)
    return min(SHAPE_SPREAD, BATCH_SPREAD * layouts.distance(only_batch, layout)) if list(counts) == ["batch_size"] else SHAPE_SPREAD


def of_device(curve: Curve, question: Question, power: Power | None, *, other_system: bool) -> float:
    """The spread of another device, or of one that nobody knows of another system's results."""
    if other_device(curve, question.layout, power):
        return DEVICE_SPREAD
    return UNKNOWN_DEVICE_SPREAD if other_system and question.layout.gpus_per_node and unknown_device(curve, power) else 0.0


def on_other_nodes(curve: Curve, different: Collection[str], question: Question) -> bool:
    """Whether a curve was measured on the question's system, on another kind of nodes. ``different``: attributes in which they differ."""
    return "partition" in different and "system" not in different and curve.series.partition in question.elsewhere


def of_other_size(series: SeriesKey, question: Question) -> float:
    """How far the numbers among the parameters of results are from those in question: the sum of absolute log ratios."""
    return _between_numbers(tuple(series.params.items()), tuple(question.params.items()))[0]


@lru_cache(maxsize=4096)
def _between_numbers(there: Sequence[tuple[str, str]], asked: Sequence[tuple[str, str]]) -> tuple[float, bool]:
    """:func:`of_other_size`, and whether results give all of the numbers."""
    of_results = dict(there)
    pairs = [(magnitude(of_results.get(name)), number) for name, text in asked if (number := magnitude(text))]
    return round(sum(abs(math.log(one / other)) for one, other in pairs if one), 9), all(one for one, _ in pairs)


def tells_of_work(curve: Curve) -> bool:
    """Whether the cost grows with the problem: for a whole run, a step or simulated time, but hardly for a sample or an epoch."""
    return metric_of(curve.series).per not in ("sample", "epoch")


def of_another_count(curve: Curve, layout: Layout) -> bool:
    """Whether the ranks, GPUs or threads that vary along a curve were never as many as those of the layout."""
    varying = curve.varying
    return varying is not None and getattr(layout, varying) not in (None, *curve.per_node)


def _beyond(curve: Curve, layout: Layout) -> bool:
    """Whether the ranks, GPUs or threads that vary along a curve were always fewer than those of the layout."""
    varying = curve.varying
    return varying is not None and (getattr(layout, varying) or 0) > max(curve.per_node)
