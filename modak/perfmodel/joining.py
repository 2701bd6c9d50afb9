"""Beyond the measured sizes of the configuration in question, another configuration that was measured nearer tells of a run, too.

A build that ran on two nodes says little of 32, where another build ran. What this one says is moved by the ratio of their costs, as far as
that is known: the ratio is as unlike 1 as their differences let expect (:mod:`modak.perfmodel.unlikeness`), and the costs of both at the
edge of what was measured tell of it. Both predictions are joined by their variances: the mean of log cost with the inverse of these as
weights. If they contradict each other, the interval grows by the Birge ratio (Birge 1932; the scale factor of the Particle Data Group).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from modak.dsl import Basis
from modak.perfmodel import problems
from modak.perfmodel.curves import Curve, results_behind
from modak.perfmodel.forms import Array
from modak.perfmodel.matching import Z90, Match, alike, best_match
from modak.perfmodel.peers import kind_of_work
from modak.perfmodel.predictions import Portion, Predictions
from modak.perfmodel.relatives import UNKNOWN_LIKENESS

AT_EDGE: Final = 2.0
"""The standard deviation of the other configuration's forecast at the edge counts so many times: see decision 27."""

FromOne = Callable[[Match, Sequence[Match], Array], Predictions]
"""Predictions from the best of several matches, on numbers of nodes."""


def joined(own: Match, told: Predictions, found: Sequence[Match], nodes: Array, from_one: FromOne) -> Iterator[Portion]:
    """The predictions ``told`` on ``nodes [n]`` by a curve of the configuration in question; beyond its measured sizes together with those
    of the nearest other one of ``found``, where this was measured nearer and is no relative of the curve."""
    rest = [one for one in found if not (one.own or one.shape) and _same_work(one, own) and not _common_size(one.curve, own.curve)]
    beyond = np.flatnonzero(told.doublings > 0)
    left = np.full(len(nodes), True)
    for group in alike(rest, nodes[beyond]) if rest and beyond.size else ():
        places = beyond[group]
        match = best_match(rest, nodes[places])
        other = from_one(match, rest, nodes[places])
        nearer = np.flatnonzero(other.doublings < told.doublings[places])
        if nearer.size:
            places = places[nearer]
            edges = np.clip(nodes[places], min(own.curve.nodes), max(own.curve.nodes))
            sides = [from_one(own, found, edges), from_one(match, rest, edges)]
            left[places] = False
            yield Portion(places, _by_variances(told.at(places), _moved(other.at(nearer), match.doubt, nodes[places], edges, *sides)))
    if left.any():
        yield Portion(np.flatnonzero(left), told.at(np.flatnonzero(left)))


def _same_work(one: Match, other: Match) -> bool:
    """Whether two runs do the same on the same kind of device. Smaller problems stop to scale earlier, so that their costs say little."""
    first, second = ((kind_of_work(each.curve), problems.size_of(each), each.device, "dataset" in each.attributes) for each in (one, other))
    return first == second


def _common_size(one: Curve, own: Curve) -> bool:
    """Whether a size of one's ``own`` curve lies in the measured range of the other: then it is a relative, and contributes as such."""
    return one.scale == own.scale and any(one.sizes[0] <= size <= one.sizes[-1] for size in own.sizes)


def _moved(other: Predictions, spread: float, nodes: Array, edges: Array, own_at_edge: Predictions, at_edge: Predictions) -> Predictions:
    """The predictions of another configuration on ``nodes``, moved by the ratio that is seen at the ``edges``: all ``[n]``.

    ``spread``: the standard deviation of the log ratio before. Conditional mean and variance of a normal distribution, where the ratio is
    what costs at the edge and on the nodes in question have in common.
    """
    known = own_at_edge.doublings <= 0
    mine, there, here = ((one.width.middle / Z90) ** 2 for one in (own_at_edge, at_edge, other))
    common = np.minimum(spread**2, np.minimum(there, here))
    walked = UNKNOWN_LIKENESS**2 * np.abs(np.log2(nodes / edges))
    share = np.where(known, common / (common + AT_EDGE**2 * (there - common) + walked + mine), 0.0)
    left = np.sqrt(1 - share * common / here)
    return replace(
        other,
        value=other.value * (own_at_edge.value / at_edge.value) ** share,
        width=other.width.each(lambda side: side * left),
    )


def _by_variances(own: Predictions, other: Predictions) -> Predictions:
    """Two predictions of the same costs as one. It counts as transferred where the other one tells more, and as so far beyond what was
    measured as both are, by their weights."""
    variances = np.array([(one.width.middle / Z90) ** 2 for one in (own, other)])
    of_own = variances[1] / variances.sum(axis=0)
    apart = np.log(own.value / other.value)
    birge = np.sqrt(np.maximum(1.0, apart**2 / variances.sum(axis=0)))
    transferred: Basis = "transferred"
    return replace(
        own,
        value=other.value * np.exp(of_own * apart),
        width=own.width.each(lambda mine, theirs: birge / np.sqrt(mine**-2 + theirs**-2), other.width),
        basis=tuple(kind if mine > 0.5 else transferred for kind, mine in zip(own.basis, of_own.tolist(), strict=True)),
        doublings=of_own * own.doublings + (1 - of_own) * other.doublings,
        others=tuple(dict.fromkeys((*own.others, *(curve.measured for curve in (other.curve,) if curve), *other.others))),
        other_results=own.other_results + other.other_results + results_behind([other.curve]),
    )
