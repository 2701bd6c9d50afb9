"""Curves of applications that were never run on a system: of one point, told from parameters, with the interval of that."""

from __future__ import annotations

import numpy as np
import pytest

from modak.facts import Layout, Result, SeriesKey
from modak.perfmodel import Curve, Question, describe, predict
from modak.perfmodel.told import told_curves

THROUGHPUT = {"metric": "throughput", "unit": "samples/s"}


def measured(system: str, networks: range, speed: float = 1.0) -> list[Result]:
    """Networks whose cost is what their operations and activations cost."""
    return [
        Result(
            series=SeriesKey.model_validate({"application": f"net{n}", "system": system, "params": params(n), **THROUGHPUT}),
            layout=Layout(nodes=1, gpus_per_node=1),
            value=speed * throughput(n),
        )
        for n in networks
    ]


def params(network: int) -> dict[str, str]:
    """In no simple order."""
    chance = np.random.default_rng(network)
    return {"gmacs": str(chance.uniform(0.5, 20)), "macts": str(chance.uniform(2, 60)), "img": "224"}


def throughput(network: int) -> float:
    """Samples a second."""
    told = {name: float(value) for name, value in params(network).items()}
    return 1 / (told["gmacs"] / 1000 + told["macts"] / 3000)


def told(network: int, results: list[Result]) -> tuple[Curve, ...]:
    """What ``here`` would make of a network."""
    return told_curves("new", params(network), {"here"}, results)


def test_the_point_lies_near_what_would_be_measured() -> None:
    """One curve, of one GPU; as cost, in seconds a sample."""
    (curve,) = told(100, measured("here", range(60)))
    assert (curve.series.application, curve.series.system, curve.scale, curve.sizes) == ("new", "here", "gpus", (1.0,))
    assert curve.costs[0] == pytest.approx(1 / throughput(100), rel=0.2)
    assert curve.results_used == 60


def test_an_answer_says_that_it_was_transferred() -> None:
    """Not measured, though the curve has a point there; and the model in words is that of the parameters."""
    (curve,) = told(100, measured("here", range(60)))
    found = predict((curve,), Question({"system": "here"}, Layout(gpus_per_node=1)), [1, 4])
    assert found.basis == ("transferred", "transferred")
    assert found.spread[1] > found.spread[0] >= curve.told.half_width  # type: ignore[union-attr]
    assert describe(curve) == "3 parameters of 60 runs"


def test_a_few_runs_there_and_many_elsewhere_tell_too() -> None:
    """Calibration runs: ten networks were measured here, sixty elsewhere, the one asked for among these."""
    results = [*measured("here", range(10), 2.0), *measured("there", range(60)), *measured("far", range(60), 0.5)]
    (curve,) = told_curves("net40", params(40), {"here"}, results)
    assert curve.costs[0] == pytest.approx(1 / (2 * throughput(40)), rel=0.1)


@pytest.mark.parametrize("known", [{}, {"mode": "train"}, {"gmacs": "-1"}])
def test_without_a_number_nothing_is_told(known: dict[str, str]) -> None:
    """Words belong to the configuration."""
    assert told_curves("new", known, {"here"}, measured("here", range(60))) == ()


def test_results_of_another_system_alone_tell_nothing() -> None:
    """Of a system without any result there is no configuration to tell of."""
    assert told(100, measured("there", range(60))) == ()
