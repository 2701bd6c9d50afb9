"""What is asked of the models, and whether results differ from it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, lru_cache
from typing import Any, Final

from modak.facts import DoubtedResults, Layout, SeriesKey, canonical_mpi, canonical_name, canonical_parameter, canonical_runtime
from modak.perfmodel.fitting import startup
from modak.perfmodel.fitting.curves import Curve
from modak.perfmodel.fitting.precisions import USUAL_PRECISION, canonical_precision
from modak.perfmodel.matching.layouts import COUNTS
from modak.perfmodel.matching.magnitudes import magnitude
from modak.results.filters import PARAMETER
from modak.results.metrics import metric_of

SPREAD: Final[Mapping[str, float]] = {
    "system": 0.7,
    "precision": 0.7,
    "dataset": 0.5,
    "params": 0.5,
    "framework": 0.5,
    "compiler": 0.4,
    "hyperthreads": 0.3,
    "numa_mode": 0.2,
    "framework_version": 0.15,
    "mpi_from": 0.15,
    "image": 0.1,
    "mpi": 0.1,
    "partition": 0.1,
    "runtime": 0.03,
}
"""Standard deviation of log cost that a difference in an attribute adds. In public tables of training, the root mean squares of log ratios
are 0.53 (650 pairs on 93 machines) and 0.86 (77 on V100) for half against single precision, 0.42 for frameworks, 0.40 for XLA. The others
are judgement: another system changes published throughputs by a factor of about two, another container runtime by 1 % or less."""
SWITCHES: Final = ("params", "compiler", "precision")
"""Attributes that are off (or usual) in a question that does not name them, if there are results that do not name them either."""


@dataclass(frozen=True)
class Question:
    """A kind of run to predict: its known attributes (names of :class:`modak.facts.SeriesKey`), its layout and metric (``None``: any)."""

    attributes: Mapping[str, Any]
    layout: Layout = field(default_factory=Layout)
    metric: str | None = None
    plain: bool = False
    """Whether :data:`SWITCHES` that are not named are off; else they are open."""
    always: frozenset[str] = frozenset()
    """Of these, the ones that are open all the same, because all results have them on: attributes, and parameters as ``params.NAME``."""
    without: frozenset[str] = frozenset()
    """Compilers (spelt as by :func:`canonical_name`) that are off if the question names no compiler. All others are open then."""
    elsewhere: frozenset[str] = frozenset()
    """Partitions of its system with another kind of nodes: results from there count as those of another system."""
    lengths: Mapping[str, float] = field(default_factory=dict)
    """Length of the run, by unit: ``epochs``, ``steps``, or that of an amount. Results of another length are of the same kind of run."""
    scales_epochs: bool = False
    """Whether times of epochs are scaled to its own number of samples, where results give theirs (``params.samples``)."""
    exact: frozenset[str] = frozenset()
    """Parameters of which some results have just the text that is asked for: beside these, 1.10 is no 1.1, but may be another version."""
    crowded: bool = False
    """Whether its threads are more than the cores of a node: results of its layout used hyper-threads, whether they say so or not."""

    def __hash__(self) -> int:
        """By what most questions differ in: a mapping, as the attributes are, has no hash of its own."""
        named = {**self.attributes, "params": frozenset(self.params.items())}
        return hash((frozenset(named.items()), self.layout, self.metric))

    @cached_property
    def measures(self) -> frozenset[str]:
        """Parameters that are no switches: those that tell the length of a run, or the samples of an epoch, if the question has its own,
        and those that are always on."""
        always = (name.removeprefix(PARAMETER) for name in self.always if name.startswith(PARAMETER))
        return frozenset((*(startup.LENGTHS if self.lengths else ()), *((startup.SAMPLES,) if self.scales_epochs else ()), *always))

    @cached_property
    def params(self) -> Mapping[str, str]:
        """Its parameters."""
        found: Mapping[str, str] = self.attributes.get("params", {})
        return found

    def with_params(self, params: Mapping[str, str], **others: Any) -> Question:
        """The question with these parameters, and with other values of other fields."""
        return replace(self, attributes={**self.attributes, "params": params}, **others)

    @cached_property
    def without_params(self) -> Question:
        """The question with its parameters left open."""
        return replace(self, attributes={name: value for name, value in self.attributes.items() if name != "params"}, lengths={})

    @cached_property
    def tests(self) -> Mapping[str, Callable[[Any], bool]]:
        """Whether a value of results differs from the question, by attribute; those in which none can are not among them."""
        return {name: _test(name, self) for name in SPREAD if _may_differ(name, self)}

    def differing(self, series: SeriesKey) -> list[str]:
        """Attributes in which results differ from the question. Partitions of different systems are not compared."""
        found = [name for name, differs in self.tests.items() if differs(getattr(series, name))]
        return [name for name in found if name != "partition" or "system" not in found]

    def other_params(self, there: Mapping[str, str]) -> tuple[int, int]:
        """How many texts among the parameters of results differ from the question, or are on where it has them off; and 1 if numbers do.
        What results do not give differs."""
        measures = self.measures if self.plain else None
        return _other_params(tuple(self.params.items()), tuple(there.items()), self.exact, measures)

    def is_of(self, series: SeriesKey) -> bool:
        """Whether results differ from the question in no attribute."""
        of_params = self.tests.get("params")
        if of_params and of_params(series.params):
            return False  # as most results of an unmeasured problem
        return not any(differs(getattr(series, name)) for name, differs in self.tests.items())

    def agrees(self, series: SeriesKey, layout: Layout) -> bool:
        """Whether results may be of the question's run: none of its attributes differs, nor a count that both give."""
        return self.is_of(series) and self._has_counts(layout)

    def may_be(self, series: SeriesKey, layout: Layout) -> bool:
        """Whether times or rates may be of the question's run, on its system: nothing that they state differs."""
        measured = self.metric in (None, series.metric) and metric_of(series).tells_cost
        return measured and self.may_have_been(series, layout)

    def may_have_been(self, series: SeriesKey, layout: Layout) -> bool:
        """Whether runs, of which something was measured or that failed, may be of the question's, on its system: nothing stated differs."""
        if canonical_name(series.system) != canonical_name(self.attributes.get("system")) or series.partition in self.elsewhere:
            return False
        stated = ((value, differs) for name, differs in self.tests.items() if (value := getattr(series, name)) not in (None, {}))
        return self._has_counts(layout) and not any(differs(value) for value, differs in stated)

    def _has_counts(self, layout: Layout) -> bool:
        """Whether a layout differs from that of the question in no count that both give."""
        return not any(both_differ(getattr(layout, name), getattr(self.layout, name)) for name in COUNTS)


def of_metric(curves: Iterable[Curve], name: str | None) -> list[Curve]:
    """The curves of a metric; ``None``: of any."""
    return [curve for curve in curves if name in (None, curve.series.metric)]


def stated_by(series: SeriesKey) -> dict[str, Any]:
    """What results state of the attributes of questions."""
    return {name: value for name in SPREAD if (value := getattr(series, name)) is not None}


def unlike_attributes(one: Curve, other: Curve) -> list[str]:
    """The attributes in which the results of two curves differ, whatever their spelling."""
    return [name for name in SPREAD if one.labels[name] != other.labels[name]]


def with_switches_off(curves: Sequence[Curve], question: Question) -> Question:
    """The question with unnamed switches off, if results without these switches exist; else the question itself.

    Switches that all results have on stay open, if some have none but these: results that all give their problem (``params.img``), some of
    them in half precision, answer in single precision.
    """
    those = [curve.series for curve in of_metric(curves, question.metric)]
    question = replace(question, exact=exact_parameters(those, question.params))
    plain = replace(question, plain=True)
    if any(plain.is_of(series) for series in those):
        return plain
    on = [_switches_on(series, question) for series in those if question.is_of(series)]
    always = frozenset.intersection(*on) if on else frozenset()
    return replace(plain, always=always) if always in on else question


def exact_parameters(those: Collection[SeriesKey], asked: Mapping[str, str]) -> frozenset[str]:
    """Parameters as in :attr:`Question.exact`, of which other results have the same number in a text that may mean something else."""
    found = set()
    for name, text in asked.items():
        meant = {
            canonical_parameter(value) for value in {series.params.get(name) for series in those} if equal_values(value, text) and value
        }
        if len(meant) > 1 and canonical_parameter(text) in meant:
            found.add(name)
    return frozenset(found)


def of_exact_text(curves: Iterable[Curve], known: Iterable[Curve], asked: Mapping[str, str]) -> list[Curve]:
    """The curves without those of 1.10, if 1.1 is asked for and ``known`` ones have just that."""
    exact = exact_parameters([curve.series for curve in known], asked)
    return [curve for curve in curves if not _is_other_text(curve.series.params, asked, exact)]


def _is_other_text(there: Mapping[str, str], asked: Mapping[str, str], exact: AbstractSet[str]) -> bool:
    """Whether results have one of the ``exact`` parameters in another text than the one that is asked for."""
    return any(name in there and canonical_parameter(there[name]) != canonical_parameter(asked[name]) for name in exact)


def _switches_on(series: SeriesKey, question: Question) -> frozenset[str]:
    """Switches that results have on and the question does not name, as in :attr:`Question.always`."""
    names = (name for name in SWITCHES if name != "params")
    on = {name for name in names if switched_on(getattr(series, name), question.attributes.get(name), frozenset())}
    params = set(series.params) - question.params.keys() - question.measures
    return frozenset((*on, *(PARAMETER + name for name in params)))


def doubted_of(doubted: Iterable[DoubtedResults], question: Question, nodes: int) -> int:
    """How many doubted results may be of the question's run on so many nodes."""
    return sum(one.count for one in doubted if (one.layout.nodes or 1) == nodes and question.may_be(one.series, one.layout))


def both_differ(one: int | None, other: int | None) -> bool:
    """Whether two counts are known and differ."""
    return one is not None and other is not None and one != other


def _may_differ(name: str, question: Question) -> bool:
    """Whether results can differ from the question in an attribute: it is asked for, or it is a switch that may be off."""
    off = (question.plain and name in SWITCHES) or (name == "compiler" and bool(question.without))
    return off or question.attributes.get(name) is not None


def _test(name: str, question: Question) -> Callable[[Any], bool]:
    """Whether a value of results differs from the question. Many results have few values: each is compared once."""
    asked = question.attributes.get(name)

    def differs(evidence: Any) -> bool:
        return _differs(name, evidence, asked, question.exact) or _switched(name, evidence, asked, question)

    if name != "params":
        return cache(differs)
    of_items = cache(lambda items: differs(dict(items)))
    return lambda params: of_items(tuple(params.items()))


def _differs(name: str, evidence: Any, asked: Any, exact: AbstractSet[str]) -> bool:
    """Whether an attribute of results differs from that of the question; open attributes of the question never differ.

    Results without partition, image, runtime, hyper-threads or precision are taken to be of the usual ones.
    """
    if isinstance(asked, Mapping):
        return _is_other_text(evidence, asked, exact) or any(not equal_values(evidence.get(key), value) for key, value in asked.items())
    if name == "precision":
        evidence, asked = canonical_precision(evidence), canonical_precision(asked)
    if asked is None or (evidence is None and (name in ("partition", "image", "runtime") or asked is False or asked == USUAL_PRECISION)):
        return False
    if name == "mpi":
        return canonical_mpi(evidence) != canonical_mpi(asked)
    if name == "runtime":
        return canonical_runtime(evidence) != canonical_runtime(asked)
    return bool(canonical_name(evidence) != canonical_name(asked) if name in ("system", "framework", "compiler") else evidence != asked)


@lru_cache(maxsize=4096)
def _other_params(
    asked: tuple[tuple[str, str], ...], there: tuple[tuple[str, str], ...], exact: AbstractSet[str], measures: AbstractSet[str] | None
) -> tuple[int, int]:
    """:meth:`Question.other_params`; ``measures``: those that are on without being switches, if others may be off."""
    of_question, of_results = dict(asked), dict(there)
    differing = [
        name
        for name, text in asked
        if not equal_values(of_results.get(name), text) or _is_other_text(of_results, of_question, exact & {name})
    ]
    on = of_results.keys() - of_question.keys() - measures if measures is not None else ()
    values = [*((name, of_question[name]) for name in differing), *((name, of_results[name]) for name in on)]
    texts = sum(name in exact or magnitude(text) is None for name, text in values)
    return texts, int(texts < len(values))


def _switched(name: str, evidence: Any, asked: Any, question: Question) -> bool:
    """Whether results have a switch on that is off in the question."""
    if name == "compiler" and asked is None and evidence is not None and canonical_name(evidence) in question.without:
        return True
    return question.plain and name in SWITCHES and name not in question.always and switched_on(evidence, asked, question.measures)


def switched_on(evidence: Any, asked: Any, measures: AbstractSet[str]) -> bool:
    """Whether results have a switch on that the question does not name. ``measures``: parameters that are none."""
    if isinstance(evidence, Mapping):
        return bool(set(evidence) - set(asked or {}) - measures)
    return asked is None and evidence not in (None, USUAL_PRECISION) and canonical_precision(evidence) != USUAL_PRECISION


def equal_values(one: str | None, other: str) -> bool:
    """Whether two parameters are equal, in any spelling: ``1e6`` is ``1000000``, and ``1.10`` is ``1.1``, because requests have numbers."""
    if one is None or one == other:
        return one is not None
    try:
        return float(one) == float(other)
    except ValueError:
        return canonical_parameter(one) == canonical_parameter(other)
