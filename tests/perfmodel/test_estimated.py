"""Curves of applications that were never run on a system: one point, estimated from parameters, with its interval."""

from __future__ import annotations

import numpy as np
import pytest

from modak.facts import Layout, Result, SeriesKey
from modak.perfmodel import Curve, Question, describe, fit, predict
from modak.perfmodel.fitting.cells import cells_of_results
from modak.perfmodel.fitting.curves import Estimated
from modak.perfmodel.planning import CandidateRun, propose
from modak.perfmodel.unmeasured.configurations import by_configuration
from modak.perfmodel.unmeasured.estimated import estimated_curves

THROUGHPUT = {"metric": "throughput", "unit": "samples/s"}


def measured(system: str, networks: range, speed: float = 1.0, first: int = 1) -> list[Result]:
    """Networks whose cost is what their operations and activations cost; ``first`` is the number of the first result."""
    return [
        Result(
            series=SeriesKey.model_validate({"application": f"net{n}", "system": system, "params": params(n), **THROUGHPUT}),
            layout=Layout(nodes=1, gpus_per_node=1),
            value=speed * throughput(n),
            id=number,
        )
        for number, n in enumerate(networks, first)
    ]


def params(network: int) -> dict[str, str]:
    """Random ones."""
    chance = np.random.default_rng(network)
    return {"gmacs": str(chance.uniform(0.5, 20)), "macts": str(chance.uniform(2, 60)), "img": "224"}


def throughput(network: int) -> float:
    """In samples per second."""
    told = {name: float(value) for name, value in params(network).items()}
    return 1 / (told["gmacs"] / 1000 + told["macts"] / 3000)


def told(network: int, results: list[Result]) -> tuple[Curve, ...]:
    """The estimated curves of a network on the system ``here``."""
    return estimated_curves("new", params(network), {"here"}, by_configuration(cells_of_results(results)))


def test_the_point_lies_near_what_would_be_measured() -> None:
    """One curve, of one GPU; its cost is in seconds per sample."""
    (curve,) = told(100, measured("here", range(60)))
    assert (curve.series.application, curve.series.system, curve.scale, curve.sizes) == ("new", "here", "gpus", (1.0,))
    assert curve.costs[0] == pytest.approx(1 / throughput(100), rel=0.2)
    assert curve.results_used == 60


def test_an_answer_says_that_it_was_transferred() -> None:
    """Not measured, though the curve has a point there; and the model in words is that of the parameters."""
    (curve,) = told(100, measured("here", range(60)))
    found = predict((curve,), Question({"system": "here"}, Layout(gpus_per_node=1)), [1, 4])
    assert found.basis == ("transferred", "transferred")
    assert found.width.above[1] > found.width.above[0] >= curve.estimated.half_width  # type: ignore[union-attr]
    assert describe(curve) == "3 parameters of 60 runs"


def test_a_few_runs_there_and_many_elsewhere_tell_too() -> None:
    """Calibration runs: ten networks were measured here, sixty elsewhere, the one asked for among these."""
    (curve,) = estimated_curves("net40", params(40), {"here"}, by_configuration(cells_of_results(calibrated())))
    assert curve.costs[0] == pytest.approx(1 / (2 * throughput(40)), rel=0.1)


def calibrated() -> list[Result]:
    """Results 1 to 10 here, 101 to 160 there, 201 to 260 far away; and 301 to 304 of too few common networks to be used."""
    there, far = measured("there", range(60), first=101), measured("far", range(60), 0.5, first=201)
    return [*measured("here", range(10), 2.0), *there, *far, *measured("else", range(6, 10), first=301)]


def test_the_results_behind_an_answer_have_their_numbers() -> None:
    """Those of the configuration here if it has a model of its own; else those of all that were used."""
    (curve,) = told(100, [*measured("here", range(60)), *measured("there", range(60), first=101)])
    assert curve.result_ids == ((1, 60),)
    (curve,) = estimated_curves("net40", params(40), {"here"}, by_configuration(cells_of_results(calibrated())))
    assert curve.result_ids == ((1, 10), (101, 160), (201, 260))


def test_a_result_of_the_application_itself_is_heard_first() -> None:
    """However many results are behind the estimate."""
    guess, (own,) = told(100, measured("here", range(60))), fit(measured("here", range(1)))
    found = predict((*guess, own), Question({"system": "here"}, Layout(gpus_per_node=1)), [1])
    assert found.curve == own


def test_a_run_at_the_told_size_is_no_repeat() -> None:
    """Nothing was measured there: the run is proposed, and its result replaces the estimate."""
    (narrow,) = told(100, measured("here", range(60)))
    guess = narrow.model_copy(update={"estimated": Estimated(model="a wide guess", half_width=0.5)})
    run = CandidateRun(guess.series, guess.layout, guess.scale, guess.sizes[0], nodes=1, cost=guess.costs[0], spread=0.5, node_hours=0.1)
    asked = Question({"system": "here"}, Layout(gpus_per_node=1))
    (step,) = propose((guess,), [run], lambda curves: float(predict(curves, asked, [1]).width.above[0]))
    assert step.after < step.before / 2


@pytest.mark.parametrize("known", [{}, {"mode": "train"}, {"gmacs": "-1"}])
def test_without_a_number_nothing_is_told(known: dict[str, str]) -> None:
    """Words belong to the configuration."""
    assert estimated_curves("new", known, {"here"}, by_configuration(cells_of_results(measured("here", range(60))))) == ()


def test_results_of_another_system_alone_tell_nothing() -> None:
    """A system without any result has no configurations."""
    assert told(100, measured("there", range(60))) == ()
