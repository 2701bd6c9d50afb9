"""The chosen configuration, with what the advice on it depends on."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from modak.choosing.decision import Decision
from modak.choosing.measured import was_measured_on
from modak.choosing.scoring import question, usable_curves
from modak.choosing.shapes import Shape
from modak.choosing.software import Software
from modak.choosing.workload import Problem, with_problem
from modak.dsl import Prediction, Request
from modak.facts import parameter
from modak.perfmodel import Curve, predict
from modak.perfmodel.matching.dissimilarity import tells_of_work
from modak.perfmodel.matching.magnitudes import magnitude
from modak.perfmodel.matching.questions import SPREAD, doubted_of, exact_parameters, with_switches_off
from modak.results.filters import PARAMETER
from modak.target import Target


@dataclass(frozen=True)
class Chosen:
    """A request, its target, the chosen shape and nodes, and their prediction."""

    request: Request
    target: Target
    shape: Shape
    nodes: int
    prediction: Prediction
    node_share: float = 1.0
    """The part of each node that the job is charged for."""
    curve: Curve | None = None
    """The curve behind the prediction."""
    differences: tuple[str, ...] = ()
    """Columns of the results table, other than layout, in which the curve differs from the run."""
    problem_sizes: int = 0
    """As in :class:`modak.perfmodel.Predictions`, as the next one."""
    problem_doublings: float = 0.0
    hides_trend: tuple[str, ...] = ()
    """The data set and text parameters of the request that results do not have, and without which its time would follow a trend over its
    numbers."""
    image: str | None = None
    """The image that the job runs in; ``None``: no container, or not chosen yet."""
    images_measured: tuple[str, ...] = ()
    """The images that results on the target name."""
    framework_version: str | None = None
    """The framework's version in the image; ``None``: unknown."""
    needs_amount: bool = False
    """Whether results would give a time if the request stated its amount of work."""
    measured_on: tuple[str | None, ...] = ()
    """As in :class:`modak.choosing.decision.Decision`."""
    doubted_count: int = 0
    """How many results of the application are doubted."""
    doubted_count_here: int = 0
    """How many of them are of exactly this configuration, if there are no others of it."""
    similar_application: str | None = None
    """As in :class:`modak.facts.Facts`."""

    @property
    def is_predicted(self) -> bool:
        """Whether a time is predicted."""
        return self.prediction.basis != "none"

    def measured(self, column: str) -> Any:
        """What the results behind the prediction have in a column of their table; ``None``: nothing, or there are none."""
        return getattr(self.curve.series, column) if self.curve else None

    @property
    def workers(self) -> int:
        """Ranks, or GPUs if there are any, on all nodes."""
        return self.shape.workers(self.nodes, self.request.application.mpi_ranks)

    @property
    def global_batch(self) -> int | None:
        """Samples in one step of all workers; ``None``: unknown."""
        return self.shape.global_batch(self.nodes, self.request.application.mpi_ranks)


def chosen(request: Request, decision: Decision, software: Software | None = None) -> Chosen:
    """The best candidate of a decision; without ``software`` its image is not chosen yet."""
    prediction = decision.evidence.prediction(decision.best)
    found = decision.evidence.predictions_at(decision.best)
    unmeasured = decision.facts.doubted and prediction.basis != "measured"
    return Chosen(
        request,
        decision.target,
        decision.shape,
        decision.nodes,
        prediction,
        node_share=float(decision.scored.charged[decision.best]) / decision.nodes,
        curve=found.curve,
        differences=tuple(name for name in found.differences if name in SPREAD),
        problem_sizes=found.problem_sizes,
        problem_doublings=found.problem_doublings,
        hides_trend=_hides_trend(request, decision),
        image=software.reference if software else None,
        images_measured=tuple(sorted(_images(decision))),
        framework_version=software.framework_version if software else None,
        needs_amount=bool(decision.amounts_needed),
        measured_on=decision.measured_on,
        doubted_count=sum(one.count for one in decision.facts.doubted),
        doubted_count_here=_doubted_here(request, decision, found.curve) if unmeasured else 0,
        similar_application=decision.facts.similar_application,
    )


def _images(decision: Decision) -> set[str]:
    """The images that results on the target name."""
    here = (one.series.image for one in decision.facts.models if was_measured_on(one, decision.target))
    return {image for image in here if image}


def _hides_trend(request: Request, decision: Decision) -> tuple[str, ...]:
    """The data set and text parameters without which the time would follow a trend over problem sizes."""
    found, work = decision.evidence.predictions_at(decision.best), request.optimisation.workload
    if found.curve is None or found.problem_sizes or not {"dataset", "params"} & {*found.differences}:
        return ()
    params = [PARAMETER + name for name, value in work.named.items() if magnitude(parameter(value)) is None]
    texts = [*(["dataset"] if work.dataset and tells_of_work(found.curve) else []), *params]
    has_numbers = len(params) < len(work.named)
    if not (has_numbers and texts and _follows_trend_without(texts, request, decision)):
        return ()
    needed = [name for name in texts if not _follows_trend_without({*texts} - {name}, request, decision)]
    return tuple(needed or texts)


def _follows_trend_without(names: Collection[str], request: Request, decision: Decision) -> bool:
    """Whether the time would follow a trend over problem sizes if the request did not give its data set or these parameters."""
    work = request.optimisation.workload
    params = {name: value for name, value in work.params.items() if PARAMETER + name not in names}
    bare = with_problem(request, Problem(None if "dataset" in names else work.dataset, params))
    curves = usable_curves(bare, decision.target, decision.facts.models)
    return predict(curves, question(bare, decision.target, decision.shape), [decision.nodes]).problem_sizes > 0


def _doubted_here(request: Request, decision: Decision, curve: Curve | None) -> int:
    """How many doubted results are of the chosen configuration: of the metric of the curve that predicts it, and without the switches that
    neither request nor curve names."""
    asked = question(request, decision.target, decision.shape)
    if curve:
        asked = with_switches_off([curve], replace(asked, metric=curve.series.metric))
    known = [*(one.series for one in decision.facts.models), *(one.series for one in decision.facts.doubted)]
    return doubted_of(decision.facts.doubted, replace(asked, exact=exact_parameters(known, asked.params)), decision.nodes)
