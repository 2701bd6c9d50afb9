from __future__ import annotations

import numpy as np
import pytest

from modak.perfmodel.fitting.scaling import Forecast, Series, evaluate, fit_many
from modak.perfmodel.forecasting.pooling import MOST, OTHER_PROGRAM, align_relatives, log_costs, pool

SIZES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
KNEE = (1.0, 0.5, 0.25, 0.125, 0.12, 0.12)


def scaled(factor: float) -> Series:
    """A curve with a knee, times a factor."""
    return Series(SIZES, tuple(factor * cost for cost in KNEE))


def own(series: Series, asked: list[float]) -> Forecast:
    """The forecast of a series alone."""
    return evaluate(fit_many([series])[0], asked)


def test_a_relative_foretells_what_the_series_cannot() -> None:
    """A short series that has followed its relatives so far follows them round a knee that it has not reached."""
    short = Series(SIZES[:4], tuple(3 * cost for cost in KNEE[:4]))
    alone = own(short, [32.0])
    pooled = pool(alone, 8.0, align_relatives(short, [scaled(1.0), scaled(2.0)]), [32.0])
    truth = 3 * KNEE[5]
    assert abs(np.log(pooled.value[0] / truth)) < 0.5 * abs(np.log(alone.value[0] / truth))
    assert pooled.relatives == 2


def test_what_relatives_cost_does_not_depend_on_how_many_sizes_are_asked_at_once() -> None:
    """Within, between, below and above their sizes; few sizes of many series are looked up in another way than many of few."""
    several = [scaled(1.0), Series(SIZES[2:5], KNEE[2:5]), Series((4.0,), (1.0,))]
    asked = np.log([0.5, 1.0, 3.0, 4.0, 16.0, 20.0, 64.0])
    one_by_one = np.column_stack([log_costs(several, asked[[place]]) for place in range(len(asked))])
    assert np.array_equal(log_costs(several, asked), one_by_one, equal_nan=True)
    assert np.isfinite(one_by_one).sum(axis=1).tolist() == [5, 2, 1]


def test_a_series_of_another_framework_has_less_say() -> None:
    """Of two that have gone the same way so far, the one of the same framework moves the forecast more."""
    short = Series(SIZES[:4], KNEE[:4])
    alone = own(short, [32.0])
    same, other = (
        pool(alone, 8.0, kin, [32.0]).value[0]
        for kin in (align_relatives(short, [scaled(1.0)]), align_relatives(short, [scaled(1.0)], OTHER_PROGRAM))
    )
    assert alone.value[0] < other < same


def test_an_unlike_series_has_little_say() -> None:
    """A series that has gone another way moves the forecast less than one that has gone the same way."""
    short = Series(SIZES[:4], KNEE[:4])
    unlike = Series(SIZES, (1.0, 1.3, 0.4, 0.9, 2.0, 8.0))
    alone = own(short, [32.0]).log_value[0]
    moved = [
        abs(pool(own(short, [32.0]), 8.0, align_relatives(short, [one]), [32.0]).log_value[0] - alone) for one in (scaled(1.0), unlike)
    ]
    assert moved[1] < moved[0]


def test_relatives_do_not_mix() -> None:
    """Relatives with other sizes, also with one, are the same kin together as each by itself."""
    short = Series((1.0, 2.0, 3.0, 8.0), (1.0, 0.5, 0.4, 0.2))
    several = [*(Series(SIZES[k:], KNEE[k:]) for k in range(4)), Series((2.0,), (0.7,)), Series((1.0, 6.0, 40.0), (1.0, 0.2, 0.1))]
    assert set(align_relatives(short, several)) == {kin for one in several for kin in align_relatives(short, [one])}


def test_without_relatives_nothing_changes() -> None:
    """No relatives, or none with a common size: the forecast is the series' own."""
    short = Series(SIZES[:3], KNEE[:3])
    alone = own(short, [32.0])
    assert align_relatives(short, [Series((64.0, 128.0), (1.0, 0.6))]) == ()
    assert pool(alone, 4.0, (), [32.0]) is alone


def test_relatives_that_do_not_reach_a_size_are_silent_there() -> None:
    """Beyond the relatives' own sizes the forecast is the series' own."""
    short = Series(SIZES[:4], KNEE[:4])
    alone = own(short, [32.0, 512.0])
    pooled = pool(alone, 8.0, align_relatives(short, [scaled(2.0)]), [32.0, 512.0])
    assert pooled.log_value[1] == pytest.approx(alone.log_value[1])
    assert pooled.log_value[0] != pytest.approx(alone.log_value[0])


def test_disagreement_of_relatives_shows() -> None:
    """Relatives that part ways beyond the data raise the disagreement."""
    short = Series(SIZES[:4], KNEE[:4])
    straight = [Series(SIZES, tuple(k / p for p in SIZES)) for k in (1.0, 2.0)]
    agree = pool(own(short, [32.0]), 8.0, align_relatives(short, straight), [32.0])
    part = pool(own(short, [32.0]), 8.0, align_relatives(short, [scaled(1.0), straight[1]]), [32.0])
    assert part.disagreement[0] > agree.disagreement[0]


def test_order_and_names_of_relatives_do_not_matter() -> None:
    """The same relatives in another order give the same forecast."""
    short = Series(SIZES[:4], KNEE[:4])
    several = [scaled(1.0), Series(SIZES, (1.0, 0.6, 0.35, 0.2, 0.15, 0.1)), scaled(5.0)]
    one, other = (pool(own(short, [32.0]), 8.0, align_relatives(short, order), [32.0]) for order in (several, several[::-1]))
    assert one.log_value[0] == pytest.approx(other.log_value[0])


def test_only_the_most_alike_are_kept() -> None:
    """However many relatives there are, an answer asks a few."""
    short = Series(SIZES[:4], KNEE[:4])
    kin = align_relatives(short, [scaled(1.0 + k) for k in range(30)])
    assert len(kin) == MOST


def test_one_measured_size_is_enough_to_borrow_a_curve() -> None:
    """A series of one size takes the shape of its relatives."""
    lone = Series((1.0,), (10.0,))
    pooled = pool(own(lone, [32.0]), 1.0, align_relatives(lone, [scaled(1.0), scaled(2.0)]), [32.0])
    truth, alone = 10 * KNEE[5], own(lone, [32.0]).value[0]
    assert abs(np.log(pooled.value[0] / truth)) < abs(np.log(alone / truth))
