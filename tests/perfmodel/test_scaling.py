from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modak.perfmodel.fitting import nodestep, scaling
from modak.perfmodel.fitting.forms import FORMS
from modak.perfmodel.fitting.scaling import Series, evaluate, fit_many

LOSSES = st.lists(st.floats(-5, 5), min_size=1, max_size=6).map(np.array)
SIZES = (1.0, 2.0, 4.0, 8.0, 16.0)


def amdahl(serial: float, sizes: tuple[float, ...] = SIZES) -> Series:
    """A series that obeys Amdahl's law."""
    return Series(sizes, tuple(100 * (serial + (1 - serial) / p) for p in sizes))


def test_amdahl_is_followed_beyond_the_data() -> None:
    """A series that obeys Amdahl's law is predicted two doublings beyond its largest size."""
    forecast = evaluate(fit_many([amdahl(0.1)])[0], [32.0, 64.0])
    truth = np.array([100 * (0.1 + 0.9 / p) for p in (32, 64)])
    assert np.abs(forecast.value / truth - 1).max() < 0.12


def test_perfect_scaling_is_followed_beyond_the_data() -> None:
    """A series that scales perfectly is predicted within 5 % two doublings beyond."""
    forecast = evaluate(fit_many([amdahl(0.0)])[0], [64.0])
    assert forecast.value[0] == pytest.approx(100 / 64, rel=0.05)


def test_growing_cost_is_followed() -> None:
    """A cost that grows with size, as a collective's latency does, is not taken for one that falls."""
    series = Series(SIZES, tuple(5 * p for p in SIZES))
    assert evaluate(fit_many([series])[0], [64.0]).value[0] == pytest.approx(320, rel=0.35)


def test_weights_come_from_foresight_not_from_fit() -> None:
    """The form that foretells every next size weighs most: perfect scaling's own form for a cost that grows weighs next to nothing."""
    mixture = fit_many([Series(SIZES, tuple(5 * p for p in SIZES))])[0]
    names = [form.name for form in FORMS]
    assert mixture.outside[names.index("perfect scaling from the last size")] < 0.03
    assert sum(mixture.outside) == pytest.approx(1)


def test_no_gain_above_linear_is_expected_beyond_the_data() -> None:
    """A series faster than linear is extrapolated linearly."""
    at_last, further = evaluate(fit_many([Series(SIZES, tuple(100 / p**1.5 for p in SIZES))])[0], [16.0, 64.0]).log_value
    assert at_last - further == pytest.approx(math.log(4), rel=0.02)


def test_step_from_one_node_to_several_is_its_own_effect() -> None:
    """A series that loses 30 % on leaving a node and nothing else is interpolated across the step when the nodes are known."""
    sizes, nodes = (1.0, 2.0, 4.0, 16.0, 32.0), (1, 1, 1, 2, 4)
    costs = tuple((1.3 if count > 1 else 1.0) / p for p, count in zip(sizes, nodes, strict=True))
    known, blind = fit_many([Series(sizes, costs, nodes), Series(sizes, costs)])
    error_known = abs(evaluate(known, [8.0], [1]).value[0] * 8 - 1)
    error_blind = abs(evaluate(blind, [8.0]).value[0] * 8 - 1)
    assert error_known < 0.04 < error_blind


def test_losses_that_grow_with_the_nodes_are_no_gain_by_leaving_the_first() -> None:
    """ResNet-50 with MXNet: two GPUs of two nodes are not more than twice as fast as one (PRACE guide, Table 8)."""
    sizes, rates = (1.0, 4.0, 8.0, 16.0, 32.0, 64.0), (182, 705, 1402, 2680, 5120, 7080)
    (mixture,) = fit_many([Series(sizes, tuple(1 / rate for rate in rates), (1, 1, 2, 4, 8, 16))])
    assert evaluate(mixture, [2.0], [2]).value[0] > 0.99 / (2 * 182)


def test_step_that_was_never_measured_is_expected_and_doubted() -> None:
    """Beyond one node, data of one node forecast a loss and disagree more."""
    mixture = fit_many([Series((1.0, 2.0, 4.0, 8.0), (1.0, 0.5, 0.25, 0.125), (1, 1, 1, 1))])[0]
    inside, outside = evaluate(mixture, [16.0], [1]), evaluate(mixture, [16.0], [2])
    assert nodestep.STEP / 2 < outside.log_value[0] - inside.log_value[0] < 2 * nodestep.STEP
    assert outside.disagreement[0] > inside.disagreement[0]


def test_what_a_full_node_loses_does_not_go_on_beyond_it() -> None:
    """GPUs of one node that lose ever more to each other are no reason to expect the same of a second node."""
    series = Series((1.0, 2.0, 4.0, 8.0), tuple(math.exp(0.1 * k * k) / 2**k for k in range(4)), (1, 1, 1, 1))
    mixture = fit_many([series])[0]
    on_one, on_four = (evaluate(mixture, [32.0], nodes).log_value[0] for nodes in (None, [4]))
    perfect = math.log(series.costs[-1] / 4)
    assert on_four - perfect < 0.5 * (on_one - perfect)


@pytest.mark.parametrize("work", [(0, 0, 0.05, 0.15, 0.3), (0, 0.1, 0.25, 0.45, 0.7), (0, 0.05, 0, 0.25, 0.5)])
def test_no_loss_is_foretold_that_was_never_seen(work: tuple[float, ...]) -> None:
    """However fast the loss of a series grows, a doubling beyond it costs little more than its worst one."""
    series = Series(SIZES, tuple(math.exp(z) / p for z, p in zip(work, SIZES, strict=True)))
    at_last, further = evaluate(fit_many([series])[0], [16.0, 16.0 * 2**4]).log_value
    assert (further - at_last) / 4 + math.log(2) <= max(np.diff(work)) + scaling.CEILING + 0.01


def crowding(nodes: int = 1) -> tuple[Series, Series]:
    """One table of ranks or threads on so many nodes, and the same table of GPUs, which do not share a memory."""
    gpus = replace(amdahl(0.02), nodes=(nodes,) * len(SIZES))
    return replace(gpus, on_cores=True), gpus


def test_more_ranks_on_a_node_share_its_memory() -> None:
    """Each doubling of ranks or threads beyond the measured ones costs more than one of GPUs; nothing changes where they were measured."""
    cores, gpus = fit_many(crowding())
    asked = [4.0, 6.0, 16.0, 32.0, 64.0]
    more = evaluate(cores, asked, np.ones(5)).log_value - evaluate(gpus, asked, np.ones(5)).log_value
    assert more[:3] == pytest.approx(0)
    assert (np.diff(more[2:]) >= scaling.CROWDED - 1e-9).all()


def test_a_node_that_saturates_may_lose_all_that_it_adds() -> None:
    """Losses that have grown with every doubling go on on one node by more than is believed of GPUs."""
    work = np.exp(np.array([0, 0.02, 0.08, 0.2, 0.4]))
    gpus = Series(SIZES, tuple(100 * work / np.array(SIZES)), nodes=(1,) * len(SIZES))
    cores, free = fit_many([replace(gpus, on_cores=True), gpus])
    more = evaluate(cores, [64.0], [1]).log_value - evaluate(free, [64.0], [1]).log_value
    assert more[0] > 2 * scaling.CROWDED + 0.02


def test_ranks_on_other_nodes_do_not_crowd_this_one() -> None:
    """As many ranks on a node as were measured, on several nodes, cost what they would without a shared memory."""
    cores, gpus = fit_many(crowding())
    spread = [evaluate(one, [16.0, 64.0], [1, 4]).log_value[1] for one in (cores, gpus)]
    assert spread[0] == pytest.approx(spread[1])


def test_a_table_of_several_nodes_is_not_crowded() -> None:
    """What was measured on several nodes has their memory, whatever its sizes count."""
    cores, gpus = fit_many(crowding(nodes=2))
    assert evaluate(cores, [64.0], [8]).log_value == pytest.approx(evaluate(gpus, [64.0], [8]).log_value)
    assert not np.any(evaluate(cores, [64.0], [2]).crowded)


def test_sizes_that_count_nodes_have_no_step() -> None:
    """If sizes are nodes, there is no step between nodes to separate."""
    assert fit_many([Series(SIZES, amdahl(0.1).costs, (1, 2, 4, 8, 16))])[0].step == 0


def test_batch_and_single_fits_agree() -> None:
    """What a series is fitted with does not depend on the company it is fitted in."""
    series = [amdahl(0.0), amdahl(0.2), Series((3.0, 5.0), (2.0, 1.5)), Series((7.0,), (1.0,))]
    together = fit_many(series)
    for one, mixture in zip(series, together, strict=True):
        np.testing.assert_allclose(evaluate(fit_many([one])[0], [6.0]).log_value, evaluate(mixture, [6.0]).log_value, rtol=1e-9, atol=1e-9)


TURNING = Series((1.0, 8.0, 64.0), (222.0, 68.0, 145.0))
"""Of three sizes, which no form follows."""


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=7))
def test_a_forecast_goes_through_what_was_measured(costs: list[float]) -> None:
    """Wherever the forms are: they are fitted to all sizes together."""
    sizes = tuple(float(3**k) for k in range(len(costs)))
    assert evaluate(fit_many([Series(sizes, tuple(costs))])[0], sizes).value == pytest.approx(costs, rel=1e-6)


@pytest.mark.parametrize(("size", "beside"), [(63.5, 64.0), (8.1, 8.0), (64.5, 64.0), (0.99, 1.0)])
def test_next_to_a_measured_size_a_run_costs_about_the_same(size: float, beside: float) -> None:
    """Between the sizes, beyond the largest, and below the smallest one."""
    cost = TURNING.costs[TURNING.sizes.index(beside)]
    assert evaluate(fit_many([TURNING])[0], [size]).value[0] == pytest.approx(cost, rel=0.03)


def test_far_beyond_the_measured_sizes_the_forms_are_followed() -> None:
    """What they missed at the last size is forgotten: it says nothing of sizes that are eight times as large."""
    mixture = fit_many([TURNING])[0]
    forms_alone = replace(mixture, missed_beyond=(0.0, 0.0))
    near, far = (evaluate(mixture, size).log_value - evaluate(forms_alone, size).log_value for size in (65.0, 512.0))
    assert abs(near) > 0.1
    assert abs(far) < 0.02 * abs(near)


def test_what_the_forms_missed_is_doubt_between_the_sizes() -> None:
    """The disagreement of forms of which one happens to be right at the middle size alone would be too small; beyond the sizes no less."""
    mixture = fit_many([TURNING])[0]
    certain = replace(mixture, missed=(0.0, 0.0, 0.0))
    assert evaluate(mixture, 30.0).disagreement > 0.3 + evaluate(certain, 30.0).disagreement
    assert mixture.doubt > 0.3 + evaluate(certain, 30.0).disagreement
    for measured in (8.0, 64.0):  # there nothing is in doubt
        assert evaluate(mixture, measured).disagreement == pytest.approx(evaluate(certain, measured).disagreement)


def test_doublings_count_both_ways() -> None:
    """Doublings are zero between measured sizes and count below the smallest as well as beyond the largest."""
    forecast = evaluate(fit_many([amdahl(0.1)])[0], [0.5, 1.0, 5.0, 16.0, 64.0])
    np.testing.assert_allclose(forecast.doublings, [1, 0, 0, 0, 2])


@pytest.mark.parametrize("series", [Series((2.0, 1.0), (1.0, 1.0)), Series((1.0,), (0.0,)), Series((), ()), Series((0.0,), (1.0,))])
def test_impossible_series_are_refused(series: Series) -> None:
    """Sizes out of order, no sizes, and costs that are not positive are errors."""
    with pytest.raises(ValueError, match=r"sizes|costs"):
        fit_many([series])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=9),
    st.lists(st.floats(0.01, 1e7), min_size=1, max_size=5),
)
def test_forecasts_are_positive_and_finite(costs: list[float], asked: list[float]) -> None:
    """Whatever was measured, a forecast is a positive number, and so is what it disagrees by."""
    sizes = tuple(float(2**k) for k in range(len(costs)))
    forecast = evaluate(fit_many([Series(sizes, tuple(costs))])[0], asked)
    assert np.isfinite(forecast.log_value).all()
    assert np.isfinite(forecast.disagreement).all()
    assert (forecast.disagreement >= 0).all()
    assert (forecast.doublings >= 0).all()


def test_units_do_not_matter() -> None:
    """Costs in milliseconds give the forecast in seconds times a thousand."""
    series = Series(SIZES, (9.0, 5.2, 3.1, 2.0, 1.6))
    scaled = Series(SIZES, tuple(1000 * cost for cost in series.costs))
    a, b = (evaluate(mixture, [24.0, 64.0]).log_value for mixture in fit_many([series, scaled]))
    np.testing.assert_allclose(b - a, math.log(1000), rtol=1e-6)


@given(LOSSES, st.floats(0, 0.5))
def test_what_is_believed_lies_between_nothing_and_what_may_be_expected(losses: np.ndarray, most: float) -> None:
    """No gain above linear is believed, and no loss beyond what may be expected."""
    believed = losses[:, None] - scaling.excess(losses[:, None], np.array([most, 3 * most]), None)
    assert (believed >= -1e-9).all()
    assert (believed <= np.array([most, 3 * most]) + 1e-9).all()


@given(LOSSES)
def test_a_form_that_has_foretold_everything_is_believed_in_its_losses(losses: np.ndarray) -> None:
    """Where the best form was never wrong, only gains are doubted."""
    np.testing.assert_allclose(scaling.excess(losses[:, None], np.array([0.2]), 0.0)[:, 0], np.minimum(losses, 0))


def test_doubt_grows_with_the_error_of_the_best_form() -> None:
    """The larger the validation error, the less a loss is believed that was never measured."""
    doubts = [scaling.excess(np.array([[1.0]]), np.array([0.2]), error)[0, 0] for error in (0.001, 0.005, 0.05)]
    assert doubts == sorted(doubts)
    assert doubts[1] == pytest.approx(0.5 * (1.0 - 0.2))
