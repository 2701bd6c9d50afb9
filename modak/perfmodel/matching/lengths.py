"""Questions about a run of known length, or an epoch of known samples: which results may answer them, and what the predictions are then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from modak.perfmodel.fitting.curves import Curve
from modak.perfmodel.fitting.startup import (
    LENGTHS,
    SAMPLES,
    WHOLE_RUNS,
    StartUp,
    is_whole,
    lengths,
    positive_number,
    samples_of,
    start_up_correction,
)
from modak.perfmodel.intervals import HalfWidths
from modak.perfmodel.matching.questions import Question, of_metric, with_switches_off
from modak.perfmodel.predictions import Predictions, of_other_length, of_whole_time
from modak.results.metrics import WALL_TIME, metric_of


def curves_telling(curves: Sequence[Curve], name: str | None) -> list[Curve]:
    """The curves of a metric (``None``: of any); if there is none of the time of a whole run, those of whole runs under other names."""
    found = of_metric(curves, name)
    if found or name not in WHOLE_RUNS:
        return found
    return [curve for curve in curves if curve.series.metric in WHOLE_RUNS and is_whole(curve.series)]


def with_length(question: Question, curves: Sequence[Curve]) -> tuple[Question, Sequence[Curve]]:
    """The question with the length of its run apart from other parameters, and the curves that may answer it.

    The time of a whole run of known length is also that of its epochs or steps: of these kinds, the nearest to the question answers. Times
    of whole runs of unknown length cannot be scaled. If there is nothing else, a length stays a parameter: they are of another run.
    """
    asked = lengths(question.params)
    if not asked:
        return question, curves
    parts = [f"{name.removesuffix('s')}_time" for name in asked] if question.metric == WALL_TIME else []
    scalable = (curve for curve in curves if not is_whole(curve.series) or asked.keys() & lengths(curve.series.params).keys())
    able = [curve for curve in scalable if question.metric is None or curve.series.metric in (question.metric, *parts)]
    if not able:
        return question, curves
    return of_run(question), able


def of_run(question: Question) -> Question:
    """The question about a run, whatever was measured of it, with its length apart from other parameters."""
    rest = {name: text for name, text in question.params.items() if name not in LENGTHS or not lengths({name: text})}
    attributes = {name: value for name, value in question.attributes.items() if name != "params"} | ({"params": rest} if rest else {})
    return replace(question, attributes=attributes, lengths=lengths(question.params), metric=None)


def with_samples(question: Question, curves: Sequence[Curve]) -> tuple[Question, float | None]:
    """The question with the samples of an epoch apart from other parameters, and their number, where all results give theirs and none that
    agree with the question otherwise had as many: then times of epochs are scaled (:func:`of_samples`). Else the question itself, and
    ``None``."""
    params = question.params
    samples, able = positive_number(params.get(SAMPLES)), of_metric(curves, question.metric)
    measured = [samples_of(one.series) if metric_of(one.series).per == "epoch" else None for one in able]
    if samples is None or not measured or None in measured:
        return question, None
    rest = {name: text for name, text in params.items() if name != SAMPLES}
    apart = question.with_params(rest, scales_epochs=True)
    asked = with_switches_off(able, apart)
    if any(there == samples and asked.agrees(one.series, one.layout) for there, one in zip(measured, able, strict=True)):
        return question, None
    return apart, samples


def of_samples(found: Predictions, samples: float | None) -> Predictions:
    """The predictions for epochs of so many samples; unchanged without a number."""
    measured = samples_of(found.curve.series) if found.curve else None
    return replace(found, value=found.value * samples / measured) if samples and measured else found


def scaled(found: Predictions, question: Question, asked: str | None) -> Predictions:
    """The predictions at the length in question: of a whole run of another length, or of parts if ``asked`` is a whole run."""
    if found.curve is None or not question.lengths:
        return found
    if asked == WALL_TIME and not is_whole(found.curve.series):
        count = question.lengths[f"{metric_of(found.curve.series).per}s"]
        return _with_start_up(replace(found, value=found.value * count), found.curve.start_up)
    return of_length(found, question.lengths)


def of_length(found: Predictions, wanted: Mapping[str, float]) -> Predictions:
    """The predictions for a run of another length, by unit; unchanged if they are in no such unit, or of parts of a run, whose results tell
    no length here: :func:`modak.perfmodel.fitting.merging.without_length`.

    A start-up that measured runs include is not scaled; where it is not known, the interval allows for it.
    """
    if found.curve is None:
        return found
    done = lengths(found.curve.series.params)
    scale = next((length / done[name] for name, length in wanted.items() if name in done), 1.0)
    if scale == 1:
        return found
    if (included := found.curve.included) is not None:
        value, width = of_other_length(found.width, found.value, scale, included.seconds, included.doubt)
        return replace(found, value=value, width=width)
    reach = start_up_correction(scale, found.value)
    width = found.width.each(np.hypot, HalfWidths(below=np.fmin(reach, 0.0), above=np.fmax(reach, 0.0)))
    return replace(found, value=found.value * scale, width=width)


def _with_start_up(found: Predictions, measured: StartUp | None) -> Predictions:
    """The predictions of all the work of a run, with the start-up that was measured."""
    if measured is None:
        return found
    time, own = found.value + measured.seconds, not found.differences
    return replace(found, value=time, width=of_whole_time(found.width, time, measured.seconds, measured.doubt, own))
