"""Runs that were stopped: how long others take at least. No model is fitted to such a run, whose time nobody knows."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from modak.arrays import Array, Flags, Ints
from modak.facts import FailedRuns
from modak.perfmodel.fitting.cellgroups import on_node
from modak.perfmodel.fitting.curves import Curve
from modak.perfmodel.fitting.startup import lengths
from modak.perfmodel.matching.questions import Question, with_switches_off
from modak.results.failures import STOPPED, TRIES


class CensoredRun(NamedTuple):
    """A run that was stopped, so that its configuration takes longer than until then."""

    nodes: int
    seconds: float
    """After how long it was."""
    lengths: Mapping[str, float]
    """How much it had to do, by unit, as far as it is known."""
    between: tuple[int, float]
    """The numbers of nodes, less and more, of which it does not tell any more; 0 and infinite: there are none."""

    def is_no_longer(self, asked: Mapping[str, float]) -> bool:
        """Whether it had as much to do as a run of these lengths, by unit, or less."""
        return all(length <= asked.get(name, 0.0) for name, length in self.lengths.items())

    def least_s(self, nodes: Ints | Array, grows: Flags | bool) -> Array:
        """The seconds that runs of its layout take at least on these numbers of nodes; 0: it does not tell.

        Fewer nodes are not faster, and more of them save their share at most, unless the problem ``grows`` with their number.
        """
        below, above = self.between
        told = np.where(grows, nodes == self.nodes, (below < nodes) & (nodes < above))
        return np.where(told, self.seconds * np.minimum(1.0, self.nodes / nodes), 0.0)


def censored_runs(asked: Question, curves: Sequence[Curve], failed: Iterable[FailedRuns]) -> list[CensoredRun]:
    """Those of the failed runs that were stopped and may be of the question's run, on numbers of nodes on which none of it has ended.

    One alone may have hung, so it tells of its own number of nodes; :data:`TRIES` tell of others, between those on which runs have ended.
    """
    stopped = [one for one in failed if one.series.metric == STOPPED]
    if not stopped:
        return []
    asked = with_switches_off(curves, asked)
    ran = ran_on(asked, curves)
    alike = [one for one in stopped if (one.layout.nodes or 1) not in ran and asked.may_have_been(one.series, one.layout)]
    tell_of_others = sum(one.count for one in alike) >= TRIES
    found = []
    for one in alike:
        nodes = one.layout.nodes or 1
        between = _next_to(nodes, ran if tell_of_others else {nodes - 1, nodes + 1})
        found.append(CensoredRun(nodes, one.longest_s, lengths(one.series.params), between))
    return found


def _next_to(nodes: int, sizes: Collection[int]) -> tuple[int, float]:
    """The nearest of the sizes that are less and more than a number of nodes; 0 and infinite: there are none."""
    less, more = (size for size in sizes if size < nodes), (size for size in sizes if size > nodes)
    return max(less, default=0), min(more, default=math.inf)


def ran_on(asked: Question, curves: Sequence[Curve]) -> set[int]:
    """The numbers of nodes on which a run of the question succeeded."""
    found = set()
    for curve in curves:
        if curve.estimated is None and asked.may_be(curve.series, curve.layout):
            own = on_node(asked.layout, curve.scale)
            found |= {count for size, count in zip(curve.sizes, curve.nodes, strict=True) if size == count * own}
    return found
