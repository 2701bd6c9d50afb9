"""Curves of an application that was never run on a system, predicted from its parameters.

Each curve has one size: the prediction for a configuration on which many other applications were measured
(:mod:`modak.perfmodel.unseen`), with its interval. They are used together with fitted curves.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from modak.facts import Layout, Result, parameter
from modak.perfmodel.curves import Curve, Told, fit
from modak.perfmodel.matching import same_name
from modak.perfmodel.unseen import Configuration, Guess, guesses, numbers_of, run_of
from modak.results.metrics import metric


def told_curves(
    application: str, params: Mapping[str, Any], systems: Collection[str], results: Sequence[Result], batch: int | None = None
) -> tuple[Curve, ...]:
    """A curve for each configuration of ``systems`` (names as :func:`~modak.perfmodel.matching.same_name` folds them) that tells something.

    ``params`` are what is known of the application; without a positive number among them nothing is told. ``results`` are those of
    other applications there, and elsewhere, where only a few were measured there. ``batch``: of each rank or GPU, where it is known.
    """
    known = numbers_of(params)
    if not known:
        return ()
    numbers = tuple(sorted((known | ({"batch": float(batch)} if batch else {})).items()))
    examples: dict[Configuration, Result] = {}
    for result in results:
        here = same_name(result.series.system) in systems
        if here and result.suspect is None and metric(result.series.metric, result.series.unit).kind in ("time", "throughput"):
            examples.setdefault(run_of(result.series, result.layout).configuration, result)
    asked = [
        replace(run_of(example.series, Layout()), application=application, numbers=numbers, configuration=configuration)
        for configuration, example in examples.items()
    ]
    answers = zip(examples.values(), guesses(asked, results), strict=True)
    return tuple(_curve(application, params, example, guess) for example, guess in answers if guess is not None)


def _curve(application: str, params: Mapping[str, Any], example: Result, guess: Guess) -> Curve:
    kind = metric(example.series.metric, example.series.unit)
    value = float(np.exp(-guess.log_cost if kind.kind == "throughput" else guess.log_cost))
    words = {name: text for name, text in example.series.params.items() if not numbers_of({name: text})}
    series = example.series.model_copy(
        update={"application": application, "params": {**words, **{name: parameter(value) for name, value in params.items()}}}
    )
    layout = example.layout.model_copy(update={"batch_size": None})
    (curve,) = fit([Result(series=series, layout=layout, value=value)])
    told = Told(model=guess.model, half_width=guess.half_width)
    return curve.model_copy(update={"repeats": (guess.results_used,), "result_ids": guess.result_ids, "told": told})
