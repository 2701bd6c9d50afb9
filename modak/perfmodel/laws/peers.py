"""Predict a layout that nobody ran from those that were run, in the configuration in question and in others.

:mod:`modak.perfmodel.laws.layoutlaw` says how costs vary over layouts; here is which measured ones tell of the one in question.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from modak.arrays import Array, Ints
from modak.facts import Layout
from modak.grouping import grouped
from modak.perfmodel.fitting.curves import Curve, results_behind
from modak.perfmodel.intervals import GAIN, Z90, HalfWidths
from modak.perfmodel.laws import layoutlaw
from modak.perfmodel.laws.kriging import variance_parts
from modak.perfmodel.matching import layouts
from modak.perfmodel.matching.dissimilarity import of_another_count
from modak.perfmodel.matching.matching import Match, best_match, least, order_of_equals
from modak.perfmodel.matching.questions import both_differ
from modak.perfmodel.predictions import Predictions, all_of

MOST_LAYOUTS: Final = 8
"""An unmeasured layout is predicted from at most this many measured ones of the configuration that is most alike, and as many of others."""

Answer = Callable[[Match, Layout], Predictions]
"""Predictions from the curve of a match alone, for a layout in which it was measured, or which its own scaling reaches."""


class Peer(NamedTuple):
    """A measured layout on a node, from which the one in question is predicted."""

    match: Match
    layout: Layout
    counted: Layout
    """The layout in question, with the count of this one where it varies along its curve."""

    @property
    def hyperthreads(self) -> tuple[bool, bool]:
        """Whether the question asks for them, and whether the results had them."""
        return bool(self.match.question.attributes.get("hyperthreads")), bool(self.match.curve.series.hyperthreads)


def over_layouts(nearest: Match, found: Sequence[Match], asked: Layout, nodes: Array, answer: Answer) -> Predictions | None:
    """Predictions for a layout in which the results of the configuration that is most alike were not measured; ``None``: they were, or tell
    by themselves. ``nearest``: of all ``found``, the one nearest to the question.

    Layouts of that configuration come first: they tell how unlike another one is, even if that was measured in the layout in question.
    """
    most_alike = _most_alike(found, nearest, nodes)
    predictions = _of_layouts(most_alike, nearest, found, asked, answer)
    if most_alike is nearest or (predictions and nearest.curve.measured in (most_alike.curve.measured, *predictions.others)):
        return predictions
    return _of_layouts(nearest, nearest, found, asked, answer)


def _as_there(layout: Layout, curve: Curve) -> Layout:
    """The layout in question; what it leaves open is as in the results of the curve."""
    there = curve.layout_on(layout.gpus_per_node)
    return layout.model_copy(update={name: getattr(there, name) for name in layouts.COUNTS if getattr(layout, name) is None})


def _of_layouts(match: Match, nearest: Match, found: Sequence[Match], asked: Layout, answer: Answer) -> Predictions | None:
    """Predictions for a layout in which the results of ``match`` were not measured; ``None``: they were, or tell by themselves."""
    if not match.shape and (match.curve.scale == "gpus" or not of_another_count(match.curve, asked)):
        return None
    layout = _as_there(asked, match.curve)
    first = _peers(match.asked_with(layout), found, layout)
    # A curve over ranks alone, or over threads alone, tells itself how it goes on.
    if not match.shape and all(peer.match.curve is match.curve for peer in first):
        return None
    return _together([first, *_peers_elsewhere(match, nearest, found, layout)], layout, answer)


def _most_alike(found: Sequence[Match], nearest: Match, nodes: Array) -> Match:
    """Of the results that differ least from the question, whatever their layout, those from which it is answered."""
    if nearest.own:
        return nearest
    return best_match(least(found, [round(one.dissimilarity, 9) for one in found]), nodes)


def _configuration(match: Match) -> tuple[tuple[str, Hashable], ...]:
    """In what results differ from the question, besides their layout, with their values."""
    return tuple((name, match.curve.labels[name]) for name in match.attributes)


def _peers(match: Match, found: Sequence[Match], layout: Layout) -> list[Peer]:
    """The layouts of a match, and those ``found`` of other layouts of the same run. The nearest comes first, but one of a match in the
    layout in question before all others. Of a curve over ranks or threads each number is a layout.

    Where results leave their ranks or threads open, and the question does, others that state them tell nothing.
    """
    others = sorted((one.asked_with(layout) for one in _of_same_run(match, found)), key=order_of_equals)
    stated = (peer for one in others for peer in _layouts_of(one, layout) if not layouts.unasked(layout, peer.layout))
    near = sorted((*_layouts_of(match, layout), *stated), key=lambda peer: layouts.distance(peer.layout, layout))
    first = next(peer for peer in near if match.shape or peer.match is match)
    return [first, *(peer for peer in near if peer is not first)][:MOST_LAYOUTS]


def _of_same_run(match: Match, found: Sequence[Match]) -> Iterator[Match]:
    """The other matches of the same run as that of a match: where they differ from the question, they agree with it."""
    curve, configuration = match.curve, _configuration(match)
    for one in found:
        alike = one.curve is not curve and _configuration(one) == configuration and one.curve.kind_of_work == curve.kind_of_work
        if alike and not both_differ(one.curve.on_gpus, curve.on_gpus):
            yield one


def _peers_elsewhere(match: Match, nearest: Match, found: Sequence[Match], layout: Layout) -> Iterator[list[Peer]]:
    """The layouts ``found`` of each other configuration than that of a match, of all at most :data:`MOST_LAYOUTS`.

    First comes that of the ``nearest`` match, which would answer by itself, then those of the nearest ones, in attributes and layout. Other
    sizes of the problem are none: how their costs differ follows a law (:mod:`modak.perfmodel.laws.problemlaw`).
    """
    work = match.curve.kind_of_work, match.problem_size, match.device
    same = (one for one in found if (one.curve.kind_of_work, one.problem_size, one.device) == work)
    kinds = grouped(sorted(same, key=lambda one: (round(one.doubt, 9), order_of_equals(one))), _configuration)
    kinds.pop(_configuration(match), None)
    first = kinds.pop(_configuration(nearest), [])
    left = MOST_LAYOUTS
    for alike in (first, *kinds.values()):
        if left and alike:
            peers = _peers(alike[0].asked_with(layout), alike, layout)[:left]
            left -= len(peers)
            yield peers


def _layouts_of(match: Match, layout: Layout) -> Iterator[Peer]:
    """The measured layouts of a curve, each as a peer."""
    curve = match.curve
    there, name = curve.layout_on(layout.gpus_per_node), curve.varying
    if name is None or curve.scale == "gpus" or getattr(layout, name) is None:
        yield Peer(match, there, layout)
        return
    for count in sorted(curve.per_node):
        yield Peer(match, there.model_copy(update={name: count}), layout.model_copy(update={name: count}))


def _together(kinds: Sequence[Sequence[Peer]], layout: Layout, answer: Answer) -> Predictions:
    """Predictions for an unmeasured layout by the law over those of its peers, on ``n`` numbers of nodes.

    ``kinds``: the peers of the configuration in question, or the one nearest to it, and of others.
    """
    peers = [peer for of_kind in kinds for peer in of_kind]
    kind = np.repeat(np.arange(len(kinds)), [len(of_kind) for of_kind in kinds])
    nearest = peers[0].match
    answers = [answer(peer.match.taken_as_own(), peer.counted) for peer in peers]
    own = answers[0] if peers[0].counted == layout else answer(nearest, layout)
    away = np.array([layoutlaw.count_ratios(layout, peer.layout, peer.hyperthreads) for peer in peers])  # [k, 5]
    log_cost, deviation = _by_law(peers, kind, answers, away, layout)
    half = Z90 * np.hypot(deviation, nearest.dissimilarity)
    lopsided = layoutlaw.beyond(away) and not nearest.on_gpus
    used = [peer.match.curve for peer in peers]
    others = (*(curve.measured for curve in used), *(series for one in answers for series in one.others))
    return replace(
        own,
        value=np.exp(log_cost),
        width=HalfWidths(GAIN * half, layoutlaw.LOSS * half) if lopsided else HalfWidths(half, half),
        basis=all_of("transferred", len(log_cost)),
        others=tuple(series for series in dict.fromkeys(others) if series != nearest.curve.measured),
        other_results=results_behind(curve for curve in used if curve is not nearest.curve),
    )


def _by_law(peers: Sequence[Peer], kind: Ints, answers: Sequence[Predictions], away: Array, layout: Layout) -> tuple[Array, Array]:
    """Log cost of a layout and its standard deviation, both ``[n]``, from the ``answers`` of ``k`` peers, each of a ``kind [k]``.

    Each answer is first scaled to an even share of the work for each worker. Of the variance of its log
    (:func:`~modak.perfmodel.laws.kriging.variance_parts`) the law smooths out its own part; the part of its kind is part of what sets a
    kind apart; and to the part that all share the law adds nothing, and takes nothing off.
    """
    log_costs = np.log([one.value for one in answers]) + np.array([[_share(peer, layout)] for peer in peers])  # [k, n]
    variances = np.array([(one.width.above / Z90) ** 2 for one in answers])  # [k, n]
    alone, of_kind, common = variance_parts(variances, kind, np.ones(len(peers), dtype=bool))
    ratios: list[tuple[float, Array]] = []
    if kind.any():
        unlike = np.array([peer.match.unlike(peers[0].match) for peer in peers])
        together = np.equal.outer(kind, kind) * of_kind.T[:, None]  # [n, k, k]
        ratios = [(share, covariance + together) for share, covariance in layoutlaw.ratios_of(away, kind, unlike)]
    log_cost, deviation = layoutlaw.krige_layout(away, log_costs, np.sqrt(alone), ratios, on_gpus=peers[0].match.on_gpus)
    return log_cost, np.sqrt(common + deviation**2)


def _share(peer: Peer, layout: Layout) -> float:
    """Log of the ratio of workers behind the answer of a peer to those in question, of which two hyper-threads are one. The answer itself
    counts them so for another layout than that of its curve."""
    if peer.match.curve.per_batch:
        return 0.0
    asked, there = peer.hyperthreads
    paired = 0 if peer.match.shape else asked - there
    return layouts.even_share(layout, peer.counted) + math.log(2) * paired
