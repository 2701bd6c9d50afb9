"""Predict a problem size that nobody ran from those that were run.

Work is nearly a power of the size of a problem, and overheads hide it in small problems: the power changes slowly. So the log of the cost
is a smooth function of the log of each number among the parameters. It is predicted by ordinary kriging (Cressie 1993, section 3.2) with
a power that does a random walk, which is a cubic smoothing spline (Wahba 1990, section 1.5). How smooth it is, each program tells itself:
predictions of several smoothnesses are averaged by their restricted likelihood (Patterson and Thompson 1971).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from modak.dsl import Basis
from modak.facts import Layout, same_name
from modak.grouping import grouped
from modak.perfmodel import startup
from modak.perfmodel.curves import Curve
from modak.perfmodel.forms import Array
from modak.perfmodel.matching import Z90, Match, best_match, matches, tells_of_work
from modak.perfmodel.predictions import Predictions
from modak.perfmodel.questions import SPREAD, Question, same_value, switched_on

BEYOND: Final = (1.3, 1.5)
"""Mean and standard deviation, before anything is measured, of the power of a number in the cost of a run or a step, at a value above all
measured ones."""
BELOW: Final = (0.0, 0.9)
"""The same at a value below all measured ones, where overheads remain; and in the cost of a sample or an epoch, which hardly depends on the
problem."""
BETWEEN: Final = (0.5, 1.2)
"""The same between measured values, where it matters little."""
SMOOTHNESS: Final = np.array(
    [
        (0.05, 0.02, 0.25),
        (0.15, 0.02, 0.18),
        (0.4, 0.02, 0.09),
        (0.4, 0.06, 0.17),
        (0.4, 0.2, 0.25),
        (0.4, 0.5, 0.02),
        (1.0, 0.06, 0.02),
        (1.0, 0.5, 0.02),
    ]
)
"""Rows of three: the standard deviation of the change of the power over a factor of e; that of log cost at one problem size around the
smooth law (caches, sizes that divide badly); the share of programs like that."""
REPEAT: Final = 0.05
"""Standard deviation of the log cost of a run: replicates of published runs differ by about 5 %."""
RATIO: Final = 0.35
"""Standard deviation of the log ratio of two layouts, systems or programs at problems whose size differs by a factor of e. Judgement: in
public tables, the ratio of two variants of a program (other algorithms, GPUs instead of processors) changes by 0.12 to 0.18 (medians)
between neighbouring sizes, which are 0.5 apart."""
ENOUGH: Final = 4
"""With this many problem sizes, what other layouts, systems or programs show is not asked."""
WAYS: Final = ("system", "precision", "dataset", "framework", "compiler")
"""Labels, beside text among the parameters, that tell apart ways to compute one problem: those that change the cost most
(:data:`modak.perfmodel.questions.SPREAD`)."""
MOST_SOURCES: Final = 3
"""At most this many kinds of other results are used, the nearest ones."""
MOST_PROBLEMS: Final = 8
"""At most this many problem sizes are used, the nearest ones."""

FromOne = Callable[[Match, Sequence[Match]], Predictions]
"""Predictions from the best of several matches, and from other layouts if its layout is not the one in question."""


Source = tuple[Layout | None, tuple[tuple[str, str], ...]]
"""The layout of results, if it is not the one in question, and the other attributes in which they differ, with their values."""


class Measured(NamedTuple):
    """A problem size that was measured."""

    away: Mapping[str, float]
    """Log ratios of the numbers among its parameters to those in question, where they differ."""
    question: Question
    """The question with these numbers."""
    matches: Sequence[Match]


class AtProblem(NamedTuple):
    """Predictions for a measured problem size in the place of the one in question."""

    away: Mapping[str, float]
    """Log ratios of the numbers among its parameters to those in question, where they differ."""
    found: Predictions


def across(found: Sequence[Match], question: Question, nodes: Array, from_one: FromOne) -> Predictions | None:
    """Predictions for an unmeasured problem size; ``None``: too few others were measured.

    A law over the problem sizes that were measured as nearly as possible in the configuration in question. If these are few, the surest
    answer of that; a law over those of another layout, system or software; and that, times the ratio of the former to the latter at the
    nearest problem size.
    """
    sources = _measured(found, question)
    own, *others = sorted(sources.items(), key=_rank) or [((None, ()), [])]
    of_own = _answers(own[1], nodes, from_one)
    if len(of_own) >= ENOUGH or not of_own:
        return _along(of_own)
    rest = [_answers(problems, nodes, from_one) for _, problems in others if len(problems) > 1][:MOST_SOURCES]
    laws = [_along(of_own), *map(_along, rest), *(_beside(of_own, answers) for answers in rest)]
    return min(filter(None, laws), key=lambda law: float(law.spread.mean()), default=None)


def _answers(problems: Sequence[Measured], nodes: Array, from_one: FromOne) -> list[AtProblem]:
    """Predictions for the nearest problem sizes, all of costs of the same kind as for the nearest one."""
    found: list[AtProblem] = []
    for one in _in_one_way(problems[:MOST_PROBLEMS], nodes):
        alike = matches([each.curve for each in one.matches], one.question, one.matches[0].power)
        match = best_match(alike, one.question, nodes)
        if match and (not found or _same_work(match.curve, found[0].found.curve)):
            found.append(AtProblem(one.away, from_one(match, alike)))
    return found


def _in_one_way(problems: Sequence[Measured], nodes: Array) -> Sequence[Measured]:
    """The problem sizes, the nearest first; if that was run in several ways that the question leaves open (solvers, compilers), with the
    results of one way alone: the one that answers at the nearest, of those with several sizes if there are any. A law over several ways is
    of none of them."""
    ways = [{_way(match) for match in one.matches} for one in problems]
    if not ways or len(ways[0]) < 2:
        return problems
    nearest, sizes = problems[0], Counter(way for each in ways for way in each & ways[0])
    followed = {way for way, count in sizes.items() if count > 1} or ways[0]
    curves = [match.curve for match in nearest.matches if _way(match) in followed]
    first = best_match(matches(curves, nearest.question, nearest.matches[0].power), nearest.question, nodes)
    kept = (one._replace(matches=[match for match in one.matches if first and _way(match) == _way(first)]) for one in problems)
    return [one for one in kept if one.matches]


def _way(match: Match) -> tuple[tuple[str, str], ...]:
    """What results say of how they were computed, as far as the question leaves it open: text among the parameters, and labels that change
    the cost much."""
    asked, series = match.question.attributes, match.curve.series
    open_ = series.params.keys() - {*asked.get("params", {}), *startup.LENGTHS}
    texts = {f"params.{name}": series.params[name] for name in open_ if startup.number(series.params[name]) is None}
    labels = {name: same_name(value) for name in WAYS if asked.get(name) is None and (value := getattr(series, name))}
    return tuple(sorted((texts | labels).items()))


def apart(asked: Mapping[str, str], there: Mapping[str, str]) -> Mapping[str, float] | None:
    """Log ratios of the numbers ``there`` to those ``asked``, by parameter, where they differ; ``None``: other parameters differ, too.

    >>> apart({"n": "100", "solver": "cg"}, {"n": "100", "solver": "gmres"}) is None
    True
    """
    pairs = {name: (startup.number(there.get(name)), startup.number(text)) for name, text in asked.items()}
    differing = {name: pairs[name] for name, text in asked.items() if not same_value(there.get(name), text)}
    ratios = {name: math.log(one / other) for name, (one, other) in differing.items() if one and other}
    return ratios if len(ratios) == len(differing) else None


def between(away: Array, log_costs: Array, spreads: Array, *, of_work: bool = True) -> tuple[Array, Array]:
    """Log cost of an unmeasured problem and its standard deviation, both ``[n]``, at each of ``n`` sizes of the job.

    ``away [k, m]``: log ratios of ``m`` numbers of ``k`` measured problems to the one in question; ``log_costs [k, n]`` and ``spreads [k,
    n]`` (standard deviations): their costs. ``of_work``: whether these grow with the problem.
    """
    beyond = BEYOND if of_work else BELOW
    power, doubt = np.array([beyond if (ratios <= 0).all() else BELOW if (ratios >= 0).all() else BETWEEN for ratios in away.T]).T
    bend, wiggle, share = SMOOTHNESS.T
    slopes = (away * doubt**2) @ away.T
    smooth = slopes + bend[:, None, None] ** 2 * sum(map(_bends, away.T), np.zeros(slopes.shape))
    noise = spreads.T**2 + wiggle[:, None, None] ** 2
    factor = np.linalg.cholesky(smooth[:, None] + noise[..., None] * np.eye(len(away)))
    beside = (log_costs - (away @ power)[:, None]).T
    whitened = np.linalg.solve(factor, np.stack(np.broadcast_arrays(np.ones(beside.shape), beside), axis=-1)[None])
    ones, values = whitened[..., 0], whitened[..., 1]
    total = (ones**2).sum(axis=-1)
    level = (ones * values).sum(axis=-1) / total
    misfit = ((values - level[..., None] * ones) ** 2).sum(axis=-1)
    likelihood = -misfit / 2 - np.log(np.diagonal(factor, axis1=-2, axis2=-1)).sum(axis=-1) - np.log(total) / 2 + np.log(share)[:, None]
    weights = np.exp(likelihood - likelihood.max(axis=0))
    weights /= weights.sum(axis=0)
    log_cost = (weights * level).sum(axis=0)
    variance = 1 / total + wiggle[:, None] ** 2 + (level - log_cost) ** 2
    return log_cost, np.sqrt((weights * variance).sum(axis=0))


def _bends(away: Array) -> Array:
    """Covariances ``[k, k]`` of an integrated random walk of the power that starts at the problem in question, on either side of it."""
    distance = np.abs(away)
    near, far = np.minimum.outer(distance, distance), np.maximum.outer(distance, distance)
    return np.where(np.multiply.outer(away, away) > 0, near**2 * (3 * far - near) / 6, 0.0)


def _measured(found: Sequence[Match], question: Question) -> Mapping[Source, Sequence[Measured]]:
    """The measured problem sizes of each kind of results, the nearest first. The one in question is among them if another system, layout or
    program ran it."""
    asked = question.attributes.get("params", {})
    sized = [(one, away) for one in found if (away := _away(one, question)) is not None]
    of_source = grouped(sized, lambda pair: _source(pair[0]))
    return {source: list(_problems(members, asked, question)) for source, members in of_source.items()}


def is_surer(by_law: Predictions, by_one: Predictions, match: Match, question: Question) -> bool:
    """Whether a law tells more than the nearest results (``match``) do alone.

    It does if its interval is narrower, and for a sample or an epoch also if these results are of another size: they answer within a
    factor that does not grow with the distance.
    """
    fixed = not tells_of_work(match.curve) and bool(_away(match, question))
    return fixed or bool(by_law.spread.mean() < by_one.spread.mean())


def _away(match: Match, question: Question) -> Mapping[str, float] | None:
    """How far the problem of results is from the one in question; ``None``: they differ in more than numbers, or there are none."""
    asked, there = question.attributes.get("params", {}), match.curve.series.params
    return None if not asked or (question.plain and switched_on(there, asked, question.lengths)) else apart(asked, there)


def _problems(members: Sequence[tuple[Match, Mapping[str, float]]], asked: Mapping[str, str], question: Question) -> Iterator[Measured]:
    by_size = grouped(members, lambda pair: tuple(sorted(pair[1].items())))
    for size in sorted(by_size, key=lambda size: (sum(abs(ratio) for _, ratio in size), size)):
        there = by_size[size][0][0].curve.series.params
        same = replace(question, attributes={**question.attributes, "params": {name: there[name] for name in asked}})
        yield Measured(dict(size), same, [one for one, _ in by_size[size]])


def _source(match: Match) -> Source:
    """What results differ in from the question, besides the size of the problem."""
    layout = match.curve.layout.model_copy(update={"nodes": None}) if match.shape else None
    return layout, tuple((name, str(getattr(match.curve.series, name))) for name in match.attributes if name != "params")


def _rank(kind: tuple[Source, Sequence[Measured]]) -> tuple[float, bool, int, float, tuple[float, ...]]:
    """Sorts kinds of results: by what they differ in, then by the number of problem sizes. Names decide nothing."""
    (layout, labels), problems = kind
    nearest = problems[0].matches[0]
    spread = sum(SPREAD[name] ** 2 for name, _ in labels)
    return spread, layout is not None, -len(problems), nearest.spread, nearest.curve.costs


def _same_work(one: Curve | None, other: Curve | None) -> bool:
    """Whether two curves are of costs of the same kind and, for whole runs, the same length."""
    kinds = [(curve.series.metric, curve.series.unit, startup.lengths(curve.series.params)) for curve in (one, other) if curve]
    return kinds[0] == kinds[-1]


def _along(answers: Sequence[AtProblem]) -> Predictions | None:
    """Predictions at the problem size in question from those at two others or more.

    Of what no answer is sure (other systems, sizes of the job beyond the measured ones), several are not surer.
    """
    if len(answers) < 2:
        return None
    log_cost, deviation = _law(answers, {})
    above, below = (np.min([getattr(one.found, side) for one in answers], axis=0) for side in ("spread", "below"))
    return _of_law(answers, log_cost, *(np.hypot(side, Z90 * deviation) for side in (above, below)))


def _beside(own: Sequence[AtProblem], others: Sequence[AtProblem]) -> Predictions | None:
    """Predictions at the problem size in question from those of ``others``, times the ratio of ``own`` ones to them at the nearest problem
    of these."""
    if len(others) < 2 or not _same_work(own[0].found.curve, others[0].found.curve):
        return None
    nearest, there = own[0].found, own[0].away
    (here, deviation), (beside, doubt) = _law(others, {}), _law(others, there)
    drift = RATIO * sum(map(abs, there.values()))
    known = any(one.away == there for one in others)
    law = Z90 * np.sqrt(deviation**2 + drift**2 + (0.0 if known else doubt**2))
    log_cost = np.log(nearest.value) + here - beside
    return _of_law([own[0], *others], log_cost, *(np.hypot(side, law) for side in (nearest.spread, nearest.below)))


def _law(answers: Sequence[AtProblem], at: Mapping[str, float]) -> tuple[Array, Array]:
    """Log cost and its standard deviation at the problem size whose log ratios to the one in question are ``at``."""
    names = sorted({name for one in answers for name in one.away} | at.keys())
    away = np.array([[one.away.get(name, 0.0) - at.get(name, 0.0) for name in names] for one in answers])
    logs, halves = (np.array([value.ravel() for value in values]) for values in zip(*map(_logs, answers), strict=True))
    doubts = np.hypot(np.sqrt(halves**2 - halves.min(axis=0) ** 2) / Z90, REPEAT)
    log_cost, deviation = between(away, logs, doubts, of_work=all(tells_of_work(one.found.curve) for one in answers if one.found.curve))
    shape = answers[0].found.value.shape
    return log_cost.reshape(shape), deviation.reshape(shape)


def _logs(answer: AtProblem) -> tuple[Array, Array]:
    return np.log(answer.found.value), answer.found.half_width


def _of_law(answers: Sequence[AtProblem], log_cost: Array, spread: Array, below: Array) -> Predictions:
    """Predictions of a law over the problem sizes of ``answers``, the nearest first."""
    nearest = answers[0].found
    transferred: Basis = "transferred"
    beside = dict.fromkeys(one.found.curve.measured for one in answers[1:] if one.found.curve)
    return replace(
        nearest,
        value=np.exp(log_cost),
        spread=spread,
        below=below,
        basis=(transferred,) * log_cost.size,
        differences=(*nearest.differences, "params"),
        others=(*beside, *(series for one in answers for series in one.found.others)),
        problem_sizes=len({tuple(one.away.items()) for one in answers}),
    )
