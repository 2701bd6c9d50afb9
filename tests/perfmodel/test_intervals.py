from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.calibration import fit_shape, fit_width
from modak.perfmodel import intervals
from modak.perfmodel.fitting.scaling import Forecast, Series, evaluate, fit_many
from modak.perfmodel.intervals import KNOTS, PUBLISHED, HalfWidths, TruncatedForecast, bound, half_widths


def forecast(disagreement: float = 0.1, doublings: float = 1.0, error: float = 0.05, relatives: int = 0) -> Forecast:
    """A forecast at one size."""
    return Forecast(np.array([2.0]), np.array([disagreement]), np.array([doublings]), np.array([error]), 5, relatives)


def quantile(one: Forecast, probability: float) -> float:
    """The cost that is not exceeded with this probability."""
    return float(bound(one.value, half_widths(one), probability)[0])


@pytest.mark.parametrize("relatives", [0, 3])
def test_width_grows_with_doublings(relatives: int) -> None:
    """Each doubling further from the data widens the interval."""
    widths = [half_widths(forecast(doublings=d, relatives=relatives)).above[0] for d in (1.0, 2.0, 3.0, 5.0)]
    assert (np.diff(widths) > 0).all()


@pytest.mark.parametrize("relatives", [0, 3])
def test_width_grows_where_the_series_is_as_sure_beyond_as_between(relatives: int) -> None:
    """A short series whose forms agree: what holds the width up grows with doublings, too."""
    one = Forecast(np.full(3, 2.0), np.zeros(3), np.array([1.0, 2.0, 4.0]), np.zeros(3), 2, relatives, doubt=0.0)
    assert all((np.diff(side) > 0).all() for side in half_widths(one))


def test_more_ranks_on_a_node_may_lose_more() -> None:
    """On a node that gets crowded only the side towards higher costs is wider; where relatives have run there, they tell."""
    alone, crowded = forecast(), replace(forecast(), crowded=np.array([True]))
    assert half_widths(crowded).above == pytest.approx(intervals.LOSS * half_widths(alone).above)
    assert half_widths(crowded).below == pytest.approx(half_widths(alone).below)
    assert half_widths(replace(crowded, relatives=2)).above == pytest.approx(half_widths(forecast(relatives=2)).above)


@pytest.mark.parametrize("relatives", [0, 3])
@pytest.mark.parametrize("doublings", [0.0, 1.0])
def test_width_grows_with_disagreement(doublings: float, relatives: int) -> None:
    """The more the forms disagree, the wider the interval, between sizes as beyond them."""
    widths = [half_widths(forecast(disagreement=s, doublings=doublings, relatives=relatives)).above[0] for s in (0.0, 0.1, 0.2, 1.0)]
    assert (np.diff(widths) > 0).all()


def test_interpolation_is_narrower_than_extrapolation() -> None:
    """Between the sizes of a real, noisy curve the interval is narrower than a doubling beyond them."""
    series = Series((1.0, 2.0, 4.0, 8.0, 16.0, 32.0), (100.0, 52.0, 27.5, 15.1, 8.2, 5.4))
    between, beyond = (half_widths(evaluate(fit_many([series])[0], [size])).above[0] for size in (11.0, 64.0))
    assert between < 0.8 * beyond


@given(st.floats(0.001, 0.999), st.floats(0.001, 0.999))
def test_quantiles_are_positive_and_rise_with_probability(one: float, other: float) -> None:
    """Quantiles never cross zero nor each other."""
    low, high = sorted((one, other))
    a, b = quantile(forecast(), low), quantile(forecast(), high)
    assert 0 < a <= b


def test_median_is_the_forecast_and_levels_match_quantiles() -> None:
    """Half of all runs cost less than the forecast; the 90 % interval runs from the 5th to the 95th percentile."""
    one = forecast()
    assert quantile(one, 0.5) == pytest.approx(one.value[0])
    sides = half_widths(one)
    assert np.log([quantile(one, 0.05), quantile(one, 0.95)]) - 2.0 == pytest.approx([-sides.below[0], sides.above[0]])


@pytest.mark.parametrize("probability", [0.0, 1.0, -0.1, 1.5])
def test_certainty_is_refused(probability: float) -> None:
    """No cost is certain."""
    with pytest.raises(ValueError, match="level"):
        quantile(forecast(), probability)


def test_unknown_error_still_has_a_width() -> None:
    """A series too short to have a validation error gets a finite interval."""
    assert np.isfinite(half_widths(forecast(error=np.nan))).all()


def test_published_constants_fit_their_names() -> None:
    """There is a coefficient for each feature, a shape for each knot, and the shape is 1 at 0.9."""
    assert {len(PUBLISHED.outside), len(PUBLISHED.inside), len(PUBLISHED.pooled)} == {len(intervals.FEATURES)}
    assert len(PUBLISHED.shape) == len(KNOTS)
    assert PUBLISHED.shape[KNOTS.index(0.9)] == 1


@given(st.lists(st.floats(0.3, 3.0), min_size=2, max_size=8), st.floats(1.02, 8.0))
def test_no_interval_beyond_the_sizes_is_narrower_than_one_between_them(noise: list[float], further: float) -> None:
    """Whatever was measured: just beyond the last size, and further, nothing is surer than anywhere between."""
    sizes = tuple(2.0**k for k in range(len(noise)))
    mixture = fit_many([Series(sizes, tuple(value / size for value, size in zip(noise, sizes, strict=True)))])[0]
    between = half_widths(evaluate(mixture, np.geomspace(sizes[0], sizes[-1], 4 * len(sizes) - 3)))
    beyond = half_widths(evaluate(mixture, [sizes[-1] * further]))
    assert all(far[0] >= near.max() - 1e-6 for near, far in zip(between, beyond, strict=True))


def test_beyond_the_sizes_losses_are_expected_rather_than_gains() -> None:
    """The interval reaches less far towards less cost; between the sizes it reaches as far either way."""
    beyond, between = half_widths(forecast(doublings=1.0)), half_widths(forecast(doublings=0.0))
    assert beyond.below == pytest.approx(intervals.GAIN * beyond.above)
    assert between.below == pytest.approx(between.above)


def test_before_the_sizes_neither_side_is_the_likelier() -> None:
    """What fewer nodes cost is no matter of losses that were not seen yet."""
    (mixture,) = fit_many([Series((4.0, 8.0, 16.0, 32.0), (27.5, 15.1, 8.2, 5.4))])
    found = half_widths(evaluate(mixture, [1.0, 128.0]))
    assert (found.below < found.above).tolist() == [False, True]


def test_calibration_covers_what_it_was_fitted_to() -> None:
    """Quantile regression on errors that grow with disagreement covers 90 % of them, at small and at large disagreement."""
    chance = np.random.default_rng(0)
    spread = chance.uniform(0.05, 1.0, 2000)
    rows = np.column_stack([np.ones(2000), np.log(spread), np.zeros(2000), np.zeros(2000)])
    misses = chance.normal(0, spread)
    held = np.abs(misses) <= np.exp(rows @ np.array(fit_width(rows, misses, np.ones(2000))))
    assert held.mean() == pytest.approx(0.92, abs=0.03)
    assert held[spread < 0.3].mean() == pytest.approx(held[spread > 0.7].mean(), abs=0.06)


def test_shape_of_normal_errors_is_recovered() -> None:
    """The half-width at 50 % of a normal law is 0.41 of that at 90 %."""
    draws = np.abs(np.random.default_rng(1).normal(size=20000))
    assert fit_shape(draws, np.ones(20000))[KNOTS.index(0.5)] == pytest.approx(0.41, abs=0.02)


@pytest.mark.parametrize(("sizes", "relatives", "part"), [(2, 0, 1.0), (3, 0, 1.0), (3, 2, 0.7), (4, 0, 0.7)])
def test_few_sizes_do_not_show_whether_a_program_gains(sizes: int, relatives: int, part: float) -> None:
    """The interval is symmetric for two or three sizes without relatives."""
    sides = half_widths(replace(forecast(disagreement=0.3, doublings=2.0, relatives=relatives), sizes=sizes))
    assert sides.below[0] / sides.above[0] == pytest.approx(part)


@pytest.mark.parametrize(("relatives", "crowded", "times"), [(0, False, 1.3), (0, True, 2.0), (2, True, 1.0)])
def test_one_size_does_not_show_how_much_a_program_loses(relatives: int, crowded: bool, times: float) -> None:
    """The interval reaches further up than that of two sizes, most on the cores of a node; relatives tell."""
    two = replace(forecast(disagreement=0.3, doublings=2.0, relatives=relatives), sizes=2, crowded=crowded)
    one = half_widths(replace(two, sizes=1))
    assert one.above[0] / half_widths(two).above[0] == pytest.approx(times)
    assert one.below[0] == pytest.approx(half_widths(two).below[0])


def test_below_the_one_size_nothing_more_is_lost() -> None:
    """Fewer nodes share less."""
    smaller = replace(forecast(disagreement=0.3, doublings=2.0), smaller=np.array([True]))
    assert half_widths(replace(smaller, sizes=1)).above[0] == pytest.approx(half_widths(replace(smaller, sizes=2)).above[0])


STEPS = (0.01, 0.05, 0.3, 0.5, 0.9, 0.95, 0.99)


def longer(than: float, below: float = 0.3, above: float = 0.4) -> TruncatedForecast:
    """A prediction of 100 that is known to be exceeded by so much."""
    return TruncatedForecast(np.array([100.0]), HalfWidths(np.array([below]), np.array([above])), np.array([than]))


def told(one: TruncatedForecast) -> list[float]:
    """What is not exceeded with each of these probabilities."""
    return [float(one.bound(step)[0]) for step in STEPS]


seconds, sides = st.floats(1e-3, 1e9), st.floats(0.0, intervals.MOST)


@given(seconds, seconds, sides, sides)
def test_what_is_known_to_take_longer_takes_longer(one: float, other: float, below: float, above: float) -> None:
    """Nothing is lowered, nothing is below what was seen, and the more was seen the longer it takes; ends and levels are in their order."""
    less, more = sorted((one, other))
    usual, least, most = (np.array(told(longer(than, below, above))) for than in (0.0, less, more))
    near = 1 - 1e-9
    assert (np.diff(most) >= 0).all()
    assert (least >= np.maximum(usual * near, less)).all()
    assert (most >= np.maximum(least * near, more)).all()


@given(st.floats(0.02, 2.0), st.floats(0.02, 2.0))
def test_what_is_hardly_ever_shorter_tells_nothing(below: float, above: float) -> None:
    """A stop long before the end."""
    assert told(longer(1e-30, below, above)) == pytest.approx(told(longer(0.0, below, above)), rel=1e-6)


@given(st.floats(0.05, 0.95), st.floats(0.01, 0.99))
def test_what_takes_longer_is_the_rest_of_its_distribution(at: float, probability: float) -> None:
    """Of the runs that take longer than most, the half takes longer than the middle of these: conditional probabilities."""
    whole = longer(0.0)
    than = float(whole.bound(at)[0])
    assert longer(than).bound(probability)[0] == pytest.approx(whole.bound(at + probability * (1 - at))[0], rel=1e-6)


@pytest.mark.parametrize(
    ("than", "median", "upper"), [(110.0, 1.04, 1.22), (200.0, 1.35, 4.3), (272.0, 1.54, 8.3), (429.0, 2.09, 7.5), (1e6, 1.42, 4.55)]
)
def test_a_refuted_prediction_is_a_wide_one_that_begins_where_it_was_refuted(than: float, median: float, upper: float) -> None:
    """What was far too small once may be so again; how far is a guess."""
    one = longer(than, 0.05, 0.05)
    assert one.refuted.all()
    assert not longer(104.0, 0.05, 0.05).refuted.any()
    value, width = one.interval()
    assert than < float(value[0] / np.exp(width.below[0])) < 1.06 * than
    assert value[0] / than == pytest.approx(median, rel=0.02)
    assert value[0] * np.exp(width.above[0]) / than == pytest.approx(upper, rel=0.02)
