"""Curves of an application that was never run on a system, estimated from its parameters.

Each curve has one size: the estimate for a configuration in which many other applications were measured
(:mod:`modak.perfmodel.unmeasured.unseen`), with its interval. They are used together with fitted curves.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from modak.facts import Result, canonical_name, parameters
from modak.perfmodel.fitting.cells import Cell
from modak.perfmodel.fitting.curves import Curve, Estimated, fit
from modak.perfmodel.unmeasured.configurations import MeasuredRuns, RunKind, numbers_of
from modak.perfmodel.unmeasured.unseen import RunEstimate, estimate_runs
from modak.results.metrics import metric_of


def estimated_curves(
    application: str, params: Mapping[str, Any], systems: Collection[str], measured: MeasuredRuns, batch: int | None = None
) -> tuple[Curve, ...]:
    """A curve for each configuration of ``systems`` (names as :func:`~modak.facts.canonical_name` spells them) with enough results.

    ``params``: parameters of the application; without a positive number among them there are no curves. ``measured``: runs of other
    applications there, and also elsewhere if only few were measured there. ``batch``: batch size of each rank or GPU, if known.
    """
    known = numbers_of(params)
    if not known:
        return ()
    numbers = tuple(sorted((known | ({"batch": float(batch)} if batch else {})).items()))
    cells = measured.examples.items()
    here = {name: one for name, one in cells if canonical_name(one.series.system) in systems and metric_of(one.series).tells_cost}
    answers = estimate_runs([RunKind(application, numbers, name) for name in here], measured)
    return tuple(_curve(application, params, one, guess) for one, guess in zip(here.values(), answers, strict=True) if guess)


def _curve(application: str, params: Mapping[str, Any], example: Cell, guess: RunEstimate) -> Curve:
    value = float(np.exp(-guess.log_cost if metric_of(example.series).is_rate else guess.log_cost))
    words = {name: text for name, text in example.series.params.items() if not numbers_of({name: text})}
    series = example.series.model_copy(update={"application": application, "params": {**words, **parameters(params)}})
    layout = example.layout.model_copy(update={"batch_size": None})
    (curve,) = fit([Result(series=series, layout=layout, value=value)])
    estimated = Estimated(model=guess.model, half_width=guess.half_width)
    return curve.model_copy(update={"repeats": (guess.results_used,), "result_ids": guess.result_ids, "estimated": estimated})
