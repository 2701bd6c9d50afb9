"""Predict a problem size that nobody ran from those that were run.

:mod:`modak.perfmodel.laws.problemlaw` says how costs vary over problem sizes; here is which measured ones tell of the one in question.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from typing import Final, NamedTuple, TypeVar

import numpy as np

from modak.arrays import Array, Flags
from modak.facts import Layout, canonical_parameter
from modak.grouping import grouped
from modak.perfmodel.fitting import startup
from modak.perfmodel.fitting.curves import Curve, results_behind
from modak.perfmodel.fitting.merging import canonical_setting
from modak.perfmodel.intervals import Z90
from modak.perfmodel.laws.kriging import REPEAT, UNLIKE, variance_parts
from modak.perfmodel.laws.problemlaw import LEAST_RATIO, krige_problem, ratios_of
from modak.perfmodel.matching.dissimilarity import WORK_SPREAD, tells_of_work
from modak.perfmodel.matching.lengths import of_length
from modak.perfmodel.matching.magnitudes import magnitude
from modak.perfmodel.matching.matching import Match, order_of_equals
from modak.perfmodel.matching.questions import SPREAD, Question, equal_values, of_metric, stated_by, switched_on
from modak.perfmodel.nearest import NearestAnswer
from modak.perfmodel.predictions import Predictions, all_of

MOST_PROBLEMS: Final = 8
"""At most this many problem sizes of one kind of results are used, the nearest ones. No further kind is asked if the results of the
configuration in question, or of other kinds, are as many."""

LEAST_NAMED: Final = 3
"""Texts beside as many different numbers are names of them, if each goes with a number of its own. Of two that may be chance."""

Value = TypeVar("Value")


Answers = Callable[[Question, Sequence[Curve]], NearestAnswer]
"""A question about a measured problem size, curves of that size -> what they tell."""
Source = tuple[Layout | None, tuple[tuple[str, Hashable], ...]]
"""The layout of results, if it is not the one in question, and all else in which they differ (attributes, texts among the parameters), with
the values."""


class MeasuredProblem(NamedTuple):
    """A problem size that was measured."""

    away: Mapping[str, float]
    """Log ratios of the numbers among its parameters to those in question, where they differ."""
    matches: Sequence[Match]

    @property
    def question(self) -> Question:
        """The question about this size: with these numbers as they are in results."""
        asked, there = self.matches[0].question, self.matches[0].curve.series.params
        return asked.with_params({**asked.params, **{name: there[name] for name in self.away}})

    @property
    def curves(self) -> list[Curve]:
        """Those of this size."""
        return [one.curve for one in self.matches]


Sources = Sequence[Sequence[MeasuredProblem]]
"""The measured problem sizes of each source, the nearest source first."""


class AtProblem(NamedTuple):
    """Predictions for a measured problem size in the place of the one in question."""

    away: Mapping[str, float]
    """Log ratios of the numbers among its parameters to those in question, where they differ."""
    found: Predictions
    match: Match
    """What answers, for the measured problem size."""


def sources(found: Sequence[Match]) -> Sources:
    """The problem sizes that were measured, by their source."""
    return [sizes for _, sizes in sorted(_by_source(found).items(), key=_rank)]


def laws(sources: Sources, answers: Answers) -> list[Predictions]:
    """Predictions for an unmeasured problem size by one law or two, from :func:`sources`; none: too few others were measured.

    One law over the problem sizes that were measured in the configuration in question, and in those nearest to it: other layouts,
    systems, software, algorithms. These cost more or less by a ratio that changes slowly with the size. If they do not, the law of the
    former alone is surer.
    """
    kinds = _kinds(sources, answers)
    own = _at_problems(next(kinds, ()), answers)
    beside: list[list[AtProblem]] = []
    while len(own) < MOST_PROBLEMS and sum(map(len, beside)) < MOST_PROBLEMS and (sizes := next(kinds, None)):
        if len(sizes) > 1 and (told := _at_problems(sizes, answers, own[0].found.curve)):
            beside.append(told)
    laws = [[own, *beside], [own]] if beside else [[own]]
    return [_along(kinds) for kinds in laws if len({tuple(one.away.items()) for answers in kinds for one in answers}) > 1]


def without_names(question: Question, curves: Iterable[Curve]) -> Question:
    """The question without the texts among its parameters, and its data set, that only name its problem size: ``mesh: huge`` beside
    ``cells: 64e6``, if each mesh has its own number of cells, in the results and in the question."""
    asked = _named(question.params, question.attributes.get("dataset"))
    texts = {name for name, text in asked.items() if magnitude(text) is None}
    if not texts or len(texts) == len(asked):
        return question
    able = of_metric(curves, question.metric)
    if not all(map(tells_of_work, able)):
        texts -= {"dataset"}  # an epoch of another data set has other samples, whatever their size
    numbers = sorted(asked.keys() - texts - {"dataset"})
    sizes = [[name] for name in numbers] + ([numbers] if len(numbers) > 1 else [])
    names = {text for text in texts if any(_names(text, size, asked, able) for size in sizes)}
    params = {name: text for name, text in question.attributes["params"].items() if name not in names}
    attributes = {**question.attributes, "params": params, **dict.fromkeys(names & {"dataset"})}
    return replace(question, attributes=attributes, exact=question.exact - names)


def _named(params: Mapping[str, str], dataset: str | None) -> Mapping[str, str]:
    """Parameters, and the data set as one of them."""
    return {**params, "dataset": dataset} if dataset else params


def _names(text: str, numbers: Sequence[str], asked: Mapping[str, str], curves: Iterable[Curve]) -> bool:
    """Whether a text goes one-to-one with numbers, in the results of curves and in the question."""
    in_question = canonical_setting(text, asked[text]), tuple(magnitude(asked[name]) for name in numbers)
    pairs = {in_question}
    for curve in curves:
        there = _named(curve.series.params, curve.series.dataset)
        if text in there:
            pair = canonical_setting(text, there[text]), tuple(magnitude(there.get(name)) for name in numbers)
            if (pair[0] == in_question[0]) != (pair[1] == in_question[1]):
                return False  # what is soon found of a solver, among many results
            pairs.add(pair)
    return len(pairs) > LEAST_NAMED and all(len(set(each)) == len(pairs) for each in zip(*pairs, strict=True))


def tells_more(law: Predictions, nearest: Predictions, found: Sequence[Match]) -> Flags:
    """Where predictions of a law tell more than those of the ``nearest`` results alone: where their interval is narrower; and everywhere if
    they are based on these results, too, and on others in every number in which these differ from the question. Then they know how steeply
    the cost changes, and the interval of the nearest results does not."""
    return np.asarray((law.width.above < nearest.width.above) | _knows_how(law, nearest, found))


def _knows_how(law: Predictions, nearest: Predictions, found: Sequence[Match]) -> bool:
    """Whether a law is based on the ``nearest`` results, and on others in every number in which these differ from the question."""
    used = {one.measured for one in (law.curve,) if one} | set(law.others)
    if nearest.curve is None or nearest.curve.measured not in used:
        return False
    there = [away for one in found if one.curve.measured in used and (away := _away(one)) is not None]
    differing = set[str]().union(*there)
    return all(len({away.get(name, 0.0) for away in there}) > 1 for name in differing)


def _kinds(sources: Sources, answers: Answers) -> Iterator[Sequence[MeasuredProblem]]:
    """Kinds of results, each with its measured problem sizes: first all those from the nearest source, then one of each other source."""
    for number, sizes in enumerate(sources):
        kinds = _kinds_of(sizes, answers)
        yield from kinds if number == 0 else islice(kinds, 1)


def _kinds_of(sizes: Sequence[MeasuredProblem], answers: Answers) -> Iterator[Sequence[MeasuredProblem]]:
    """The kinds of results from one source, the nearest first, each with at most :data:`MOST_PROBLEMS` problem sizes."""
    while sizes:
        like = _nearest_kind(sizes, answers)
        yield list(islice(_in_results(sizes, like, agreeing=True), MOST_PROBLEMS)) if like else sizes[:MOST_PROBLEMS]
        sizes = list(_in_results(sizes, like, agreeing=False)) if like else ()


def _nearest_kind(sizes: Sequence[MeasuredProblem], answers: Answers) -> Question | None:
    """What the nearest kind of results has in common, of what the question leaves open (a compiler, another parameter).

    It is that of the nearest results for the nearest size that agree with some at another size. If none do (``None``), what is left open
    may differ with the size (the name of a mesh), and all are of one kind.
    """
    nearest, *others = sizes
    left = nearest.curves if others else []
    while left:
        curve = answers(nearest.question, left).match.curve
        like = _like(curve, nearest.question)
        if any(_in_results(others, like, agreeing=True)):
            return like
        left = [one for one in left if one is not curve]
    return None


def _in_results(sizes: Sequence[MeasuredProblem], like: Question, *, agreeing: bool) -> Iterator[MeasuredProblem]:
    """The problem sizes in those of their results that agree with a question, or in those that do not."""
    for one in sizes:
        if alike := [each for each in one.matches if like.agrees(each.curve.series, each.curve.layout) == agreeing]:
            yield one._replace(matches=alike)


def _like(curve: Curve, question: Question) -> Question:
    """A question about runs like those of a curve in all that ``question`` leaves open."""
    params = {name: text for name, text in curve.series.params.items() if name not in (*question.params, *startup.LENGTHS)}
    left_open = {name: value for name, value in stated_by(curve.series).items() if name not in question.attributes}
    return Question({**left_open, "params": params}, curve.layout)


def _at_problems(sizes: Sequence[MeasuredProblem], answers: Answers, like: Curve | None = None) -> list[AtProblem]:
    """Predictions for the nearest problem sizes, all of costs of the same kind, and of runs of the same length, as those of ``like`` (none:
    as for the nearest one)."""
    found: list[AtProblem] = []
    for one in sizes:
        answer = answers(one.question, one.curves)
        like = like or answer.match.curve
        if _same_work(answer.match.curve, like):
            predictions = of_length(answer.predictions, startup.lengths(like.series.params))
            found.append(AtProblem(one.away, predictions, answer.match))
    return found


def number_ratios(asked: Mapping[str, str], there: Mapping[str, str]) -> Mapping[str, float] | None:
    """Log ratios of the numbers ``there`` to those ``asked``, by parameter, where they differ; ``None``: other parameters differ, too.

    >>> number_ratios({"n": "100", "solver": "cg"}, {"n": "100", "solver": "gmres"}) is None
    True
    """
    pairs = {name: (magnitude(there.get(name)), magnitude(text)) for name, text in asked.items()}
    differing = {name: pairs[name] for name, text in asked.items() if not equal_values(there.get(name), text)}
    ratios = {name: math.log(one / other) for name, (one, other) in differing.items() if one and other}
    return ratios if len(ratios) == len(differing) else None


def nearest_first(sized: Iterable[tuple[Value, Mapping[str, float]]]) -> list[tuple[dict[str, float], list[Value]]]:
    """Values by how far they are from a problem, as :func:`number_ratios` tells it, the nearest ones first.

    >>> nearest_first([("far", {"n": 2.0}), ("near", {"n": -1.0}), ("as near", {"n": -1.0})])
    [({'n': -1.0}, ['near', 'as near']), ({'n': 2.0}, ['far'])]
    """
    by_size = grouped(sized, lambda pair: tuple(sorted(pair[1].items())))
    order = sorted(by_size, key=lambda size: (sum(abs(ratio) for _, ratio in size), size))
    return [(dict(size), [value for value, _ in by_size[size]]) for size in order]


def _by_source(found: Sequence[Match]) -> Mapping[Source, Sequence[MeasuredProblem]]:
    """The measured problem sizes from each source, the nearest first. The one in question is among them if another system, layout or
    program ran it."""
    sized = [(one, away) for one in found if (away := _away(one)) is not None]
    by_source = grouped(sized, lambda pair: _source(pair[0]))
    return {source: [MeasuredProblem(*of_size) for of_size in nearest_first(members)] for source, members in by_source.items()}


def _away(match: Match) -> Mapping[str, float] | None:
    """How far the problem of results is from the one in question; ``None``: they differ in more than numbers and texts (another algorithm),
    or there are none."""
    question, there = match.question, match.curve.series.params
    asked = question.params
    if not asked or (question.plain and switched_on(there, asked, question.measures)):
        return None
    return _compared(tuple(asked.items()), tuple(there.items()), question.exact)[0]


@lru_cache(maxsize=4096)
def _compared(
    asked: tuple[tuple[str, str], ...], there: tuple[tuple[str, str], ...], exact: AbstractSet[str]
) -> tuple[Mapping[str, float] | None, Mapping[str, str]]:
    """The :func:`number_ratios` of parameters (``None``: they differ in more than numbers and texts), and those of results that are another
    text than the one asked for, in one spelling. Many results have the same.

    Of ``exact`` parameters (:attr:`~modak.perfmodel.matching.questions.Question.exact`) 1.10 is another text than 1.1, not the same number.
    """
    of_results = dict(there)
    pairs = [(name, text, of_results[name]) for name, text in asked if name in of_results]
    texts = {name: canonical_setting(name, other) for name, text, other in pairs if _is_another_text(text, other, exact=name in exact)}
    return number_ratios({name: text for name, text in asked if name not in texts}, of_results), texts


def _is_another_text(asked: str, there: str, *, exact: bool) -> bool:
    if asked == there:
        return False
    if exact and equal_values(there, asked):
        return canonical_parameter(there) != canonical_parameter(asked)
    return magnitude(asked) is None and magnitude(there) is None and not equal_values(there, asked)


def _source(match: Match) -> Source:
    """What results differ in from the question, besides the size of the problem."""
    layout = match.curve.layout if match.shape else None
    _, texts = _compared(tuple(match.question.params.items()), tuple(match.curve.series.params.items()), match.question.exact)
    attributes = [(name, match.curve.labels[name]) for name in match.attributes if name != "params"]
    return layout, (*attributes, *(("params", f"{name} {text}") for name, text in texts.items()))


def _rank(source: tuple[Source, Sequence[MeasuredProblem]]) -> tuple[float, bool, int, float, tuple[float, ...]]:
    """Sorts sources: by what they differ in, then by the number of problem sizes. Names decide nothing."""
    (layout, labels), sizes = source
    nearest = min(sizes[0].matches, key=order_of_equals)
    spread = sum((WORK_SPREAD if name == "params" else SPREAD)[name] ** 2 for name, _ in labels)
    return spread, layout is not None, -len(sizes), nearest.spread, nearest.curve.costs


def _same_work(one: Curve, other: Curve) -> bool:
    """Whether two curves are of costs of the same kind and, for whole runs, of lengths in the same unit."""
    kinds = [(curve.series.metric, curve.series.unit, startup.lengths(curve.series.params).keys()) for curve in (one, other)]
    return kinds[0] == kinds[1]


def _along(kinds: Sequence[Sequence[AtProblem]]) -> Predictions:
    """Predictions at the problem size in question by the law over those at others: of the configuration in question or the nearest one
    (first), and of others. Below, ``k`` answers on ``n`` numbers of nodes tell of ``m`` numbers among the parameters.

    Of the variance of the log of an answer (:func:`~modak.perfmodel.laws.kriging.variance_parts`; without that of the ratio of its kind)
    the law smooths out its own part; the part of its kind and the ratio are what sets a kind apart; and to the part that all share the law
    adds nothing, and takes nothing off.
    """
    answers = [one for of_kind in kinds for one in of_kind]
    kind = np.repeat(np.arange(len(kinds)), [len(of_kind) for of_kind in kinds])  # [k]
    names = sorted({name for one in answers for name in one.away})
    away = np.array([[one.away.get(name, 0.0) for name in names] for one in answers])  # [k, m]
    log_costs = np.log([one.found.value for one in answers])  # [k, n]
    unlike = np.array([_dissimilarity(of_kind[0], first=of_kind is kinds[0]) for of_kind in kinds])[kind]  # [k]
    variances = np.array([(one.found.width.middle / Z90) ** 2 for one in answers]) - unlike[:, None] ** 2  # [k, n]
    # Of answers from another layout it is not told apart how unlike they are.
    sure = np.array([not one.match.shape for one in answers])
    alone, of_kind, common = variance_parts(np.maximum(variances, 0.0), kind, sure)
    tails = UNLIKE if len(kinds) > 1 and answers[0].match.own else np.ones((1, 2))
    of_work = all(tells_of_work(one.found.curve) for one in answers if one.found.curve)
    ratios = ratios_of(away, kind, unlike, of_kind, tails)
    log_cost, deviation = krige_problem(away, log_costs, np.sqrt(alone + REPEAT**2), ratios, of_work=of_work)
    return _of_law(answers, log_cost, Z90 * np.sqrt(common + deviation**2))


def _dissimilarity(nearest: AtProblem, *, first: bool) -> float:
    """Standard deviation of the log ratio of the costs of a kind of results to those of the configuration in question."""
    return nearest.match.spread if first else max(nearest.match.spread, LEAST_RATIO)


def _outside(away: Sequence[float]) -> float:
    """Doublings between the number in question and the nearest of several, if all are smaller or all are larger."""
    return max(0.0, min(away), -max(away)) / math.log(2)


def _of_law(answers: Sequence[AtProblem], log_cost: Array, half: Array) -> Predictions:
    """Predictions of a law over the problem sizes of ``answers``, the nearest first, with these log costs and ``half`` the width of their
    intervals. The sides of these differ as those of the nearest do: by as much in their squares, but none is less than half of ``half``."""
    nearest = answers[0].found
    middle = nearest.width.middle
    names = {name for one in answers for name in one.away}
    beside = dict.fromkeys(one.found.curve.measured for one in answers[1:] if one.found.curve)
    return replace(
        nearest,
        value=np.exp(log_cost),
        width=nearest.width.each(lambda side: np.sqrt(np.maximum(half**2 + side**2 - middle**2, (half / 2) ** 2))),
        basis=all_of("transferred", len(log_cost)),
        differences=tuple(dict.fromkeys((*nearest.differences, "params"))),
        others=(*beside, *(series for one in answers for series in one.found.others)),
        problem_sizes=len({tuple(one.away.items()) for one in answers}),
        problem_doublings=max(_outside([one.away.get(name, 0.0) for one in answers]) for name in names),
        other_results=results_behind(one.found.curve for one in answers[1:]),
    )
