"""From the cost of a curve to the cost in question, on unlike nodes or in another layout: by which factor.

The same work takes half the time with twice the power: with known nodes the factor is the ratio of their power, else that of the workers
in use. :func:`ratio` has the formula; the functions below it are its parts, each a ratio of its own.
"""

from __future__ import annotations

import math

from modak.facts import Layout
from modak.perfmodel.fitting.curves import Curve
from modak.perfmodel.matching import layouts
from modak.perfmodel.matching.devices import NodePower, NodeUse, Power, other_device
from modak.perfmodel.matching.questions import Question, both_differ

WITHIN_RANKS = layouts.COUNTS[:2]
"""The counts that share the cores of a node: ranks, and their threads."""


def ratio(curve: Curve, question: Question, power: Power | None, *, other_nodes: bool, other_layout: bool) -> float:
    """The cost in question over that of the curve, for one unit of size.

    ``other_nodes``: whether the curve is of another system or kind of nodes; ``other_layout``: whether counts within a node differ.
    """
    of_power = _of_power(curve, question, power) if other_nodes else None
    of_workers = _of_workers(curve, question, power) if other_layout and not of_power else 1.0
    of_batches = _of_batches(curve, question.layout) if other_layout and curve.per_batch else 1.0
    return (of_power or 1.0) * of_workers * of_batches


def _of_power(curve: Curve, question: Question, power: Power | None) -> float | None:
    """The power behind the curve over that in question, for one unit of size; ``None``: not known of both.

    Nodes are compared where sizes count nodes, and workers where sizes count these. Where ranks or threads vary on nodes with GPUs, nodes
    are compared all the same: the ranks do not share the GPUs as they do cores.
    """
    if power is None:
        return None
    behind, asked = _compared(curve, question, power)
    of_nodes = behind.over(asked)
    by_workers = curve.scale == "gpus" or (behind.cores and asked.cores)
    return of_nodes * _workers_in_question(curve, question.layout) if of_nodes and by_workers else of_nodes


def by_gpus(curve: Curve, question: Question, power: Power | None) -> bool:
    """Whether nodes are compared by their GPUs."""
    if power is None:
        return False
    behind, asked = _compared(curve, question, power)
    return behind.cores is None and behind.over(asked) is not None


def _compared(curve: Curve, question: Question, power: Power) -> tuple[NodePower, NodePower]:
    """The power behind the curve, and in question. Where no side says how many GPUs it uses, and only one has some, the program does
    without."""
    there, here = _used(curve, question)
    behind, asked = power(there), power(here)
    if (there.gpus, here.gpus) == (None, None) and (behind.bandwidth_gbs is None) != (asked.bandwidth_gbs is None):
        return power(there._replace(gpus=0)), power(here._replace(gpus=0))
    return behind, asked


def _used(curve: Curve, question: Question) -> tuple[NodeUse, NodeUse]:
    """The parts of nodes behind the curve, and in question."""
    series, attributes = curve.series, question.attributes
    gpus, threads = _gpus(curve, question.layout.gpus_per_node), _threads(curve, question.layout)
    there = NodeUse(series.system, series.partition, gpus[0], threads[0])
    return there, NodeUse(attributes.get("system"), attributes.get("partition"), gpus[1], threads[1])


def _gpus(curve: Curve, asked: int | None) -> tuple[int | None, int | None]:
    """GPUs in use on a node behind the curve, and in question; ``None``: all. If sizes count GPUs, an open count in question is 1."""
    if curve.scale == "gpus":
        return max(curve.per_node), 1 if asked is None else asked
    behind = curve.layout.gpus_per_node
    return (0, 0) if {behind, asked} == {None, 0} else (behind, asked)


def _threads(curve: Curve, asked: Layout) -> tuple[int | None, int | None]:
    """Threads on a node behind the curve, and in question; both ``None``: one of them is unknown, and nodes are compared as a whole.

    Where one of ranks and threads varies, the other is as on the side that gives it, or one if neither does. If results differ from the
    question in one of them, it is also one if neither gives it.
    """
    varies = curve.varying in WITHIN_RANKS
    pairs = [(_most(curve, name), getattr(asked, name)) for name in WITHIN_RANKS]
    if varies:
        pairs = [(one or other, other or one) for one, other in pairs]
    if varies or any(both_differ(*pair) for pair in pairs):
        pairs = [pair if any(pair) else (1, 1) for pair in pairs]
    there, here = zip(*pairs, strict=True)
    return (math.prod(there), math.prod(here)) if all(there) and all(here) else (None, None)


def _most(curve: Curve, name: str) -> int | None:
    """A count of the curve's layout; of the count that varies along it the largest."""
    return max(curve.per_node) if name == curve.varying else getattr(curve.layout, name)


def _workers_in_question(curve: Curve, layout: Layout) -> float:
    """What turns a ratio of nodes into one of workers, if sizes count these: the number in question over the largest of the curve."""
    if curve.varying is None:
        return 1.0
    most = max(curve.per_node)
    unknown = 1 if curve.scale == "gpus" else most
    return (getattr(layout, curve.varying) or unknown) / most


def _of_workers(curve: Curve, question: Question, power: Power | None) -> float:
    """The workers behind the curve over those in question, for one unit of size: GPUs if both use some, else cores, of which two
    hyper-threads are one. 1 if they are on other devices, or if a count is known on one side only."""
    there, here = curve.layout, question.layout
    if curve.scale == "gpus" or other_device(curve, here, power):
        return 1.0
    if here.gpus_per_node:
        return (there.gpus_per_node or here.gpus_per_node) / here.gpus_per_node
    pairs = [(getattr(there, name), getattr(here, name)) for name in WITHIN_RANKS if name != curve.varying]
    if any((one is None) != (other is None) for one, other in pairs):
        return 1.0
    of_threads = math.prod((one or 1) / (other or 1) for one, other in pairs)
    threads_of_core_here = 2 if question.attributes.get("hyperthreads") else 1
    threads_of_core_there = 2 if curve.series.hyperthreads else 1
    return of_threads * threads_of_core_here / threads_of_core_there


def _of_batches(curve: Curve, layout: Layout) -> float:
    """The samples in a step in question over those behind the curve, for one unit of size. What one side leaves open is the same."""
    there = curve.layout
    pairs = [(there.batch_size, layout.batch_size)]
    if curve.scale == "nodes":
        pairs.append((there.gpus_per_node or there.ranks_per_node, layout.gpus_per_node or layout.ranks_per_node))
    return math.prod(asked / measured for measured, asked in pairs if measured and asked)
