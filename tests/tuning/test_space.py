"""The grid of settings, how a setting enters a job, and what is left to gain on the grid."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t, ttest_ind
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from modak import dsl
from modak.errors import RequestError
from modak.tuning.space import MOST_PARAMETERS, Grid, Parameter, expanded, space_of
from modak.tuning.surrogate import LENGTHS, MOST_POINTS, NOISES, promise
from modak.tuning.verdict import LEVEL, gain

NUMBERS = Parameter("environment", "LEVEL", tuple(range(1, 9)))
FALLING = Parameter("options", "-m", (8, 4, 2))
WORDS = Parameter("options", "--mode", ("a", "b", "c"))


def of(setting: dsl.Setting | None = None, counts: dict[str, int | None] | None = None, **space: Any) -> Grid:
    """The grid of a space as a request writes it."""
    return space_of(dsl.Space(**space), setting or dsl.Setting(), counts or {})


def test_steps_go_from_low_to_high() -> None:
    """By addition or by a factor; whole numbers stay whole."""
    assert expanded(dsl.Steps(low=0, high=1, step=0.25), "") == (0, 0.25, 0.5, 0.75, 1)
    assert expanded(dsl.Steps(low=16, high=256, factor=4), "") == (16, 64, 256)
    assert [str(number) for number in expanded(dsl.Steps(low=1, high=1.2, step=0.1), "")] == ["1", "1.1", "1.2"]
    assert expanded(dsl.Steps(low=3, high=3, step=1), "") == (3,)


@pytest.mark.parametrize(
    "steps",
    [{"low": 1, "high": 2}, {"low": 2, "high": 1, "step": 1}, {"low": 0, "high": 8, "factor": 2}, {"low": 0, "high": 1e6, "step": 1}],
)
def test_steps_that_lead_nowhere_are_refused(steps: dict[str, float]) -> None:
    """By the parameter's own field."""
    with pytest.raises(RequestError, match=r"optimisation\.autotuning\.space\.environment\.A"):
        of(environment={"A": steps})


@pytest.mark.parametrize(
    "steps",
    [
        {"low": 1, "high": 1001, "step": 1},
        {"low": 0, "high": 1e300, "step": 1e-9},
        {"low": -1e308, "high": 1e308, "step": 1},
        {"low": 1e-300, "high": 1e300, "factor": 2},
    ],
)
def test_more_values_than_a_parameter_may_have_are_refused(steps: dict[str, float]) -> None:
    """Also where their number is none that a float holds."""
    by = "step" if "step" in steps else "factor"
    with pytest.raises(RequestError, match=f"at most 1000 values; low, high and {by} give more"):
        of(environment={"A": steps})


def test_the_jobs_own_values_are_the_defaults() -> None:
    """Of its setting and of its counts; else the first value."""
    space = of(
        dsl.Setting(options={"-b": 4}), {"threads": 8}, options={"-b": [2, 4]}, layout={"threads": [4, 8]}, environment={"E": ["x", "y"]}
    )
    assert space.values(space.default) == {"E": "x", "-b": 4, "threads": 8}


def test_what_is_beside_a_point_differs_by_one_step() -> None:
    """Of one parameter; none is beyond the values."""
    assert [*Grid((NUMBERS, WORDS)).beside((0, 1))] == [(1, 1), (0, 0), (0, 2)]
    assert [*Grid((NUMBERS, WORDS)).beside((7, 2))] == [(6, 2), (7, 1)]


@pytest.mark.parametrize(
    "space",
    [
        {},
        {"layout": {"threads": [0, 1]}},
        {"layout": {"node_count": ["one"]}},
        {"environment": {f"A{at}": [1] for at in range(MOST_PARAMETERS + 1)}},
    ],
)
def test_a_space_of_nothing_and_counts_that_are_none_are_refused(space: dict[str, Any]) -> None:
    """Layouts are counts from 1; and so is one of too many parameters."""
    with pytest.raises(RequestError, match=r"optimisation\.autotuning\.space"):
        of(**space)


@given(st.lists(st.integers(1, 6), min_size=1, max_size=4) | st.lists(st.just(1000), min_size=4, max_size=50), st.integers(1, 50))
def test_points_are_distinct_and_as_many_as_asked_for(counts: list[int], most: int) -> None:
    """All of them where there are no more; also of grids that nobody could walk through."""
    space = Grid(tuple(Parameter("environment", f"P{at}", tuple(range(count))) for at, count in enumerate(counts)))
    points = list(space.points(most))
    assert len(set(points)) == len(points) == min(most, space.size)


@pytest.mark.parametrize("counts", [(64, 4, 16, 2), (8,) * 40])
def test_every_value_is_among_a_part_of_the_points(counts: tuple[int, ...]) -> None:
    """Of each parameter about as often as any other, whatever their numbers have in common."""
    space = Grid(tuple(Parameter("environment", f"P{at}", tuple(range(count))) for at, count in enumerate(counts)))
    points = np.array(list(space.points(1024)))
    for place, parameter in enumerate(space.parameters):
        seen = np.bincount(points[:, place], minlength=len(parameter.values))
        assert seen.min() > 0.8 * seen.max()


def test_the_surrogate_finds_the_valley() -> None:
    """Cost falls towards level 5 and is half as large in mode b: the untried best is proposed."""
    space = Grid((NUMBERS, WORDS))
    cost = {(level, mode): (1 + 0.2 * (level - 4) ** 2) * (1.0, 0.5, 1.1)[mode] for level in range(8) for mode in range(3)}
    tried = [(point, cost[point]) for point in cost if point[0] % 2 == 0 and point[0] != 4]
    found = promise(space, [*tried, ((4, 0), cost[4, 0])])
    assert found is not None
    assert found.point in {(4, 1), (3, 1), (5, 1)}
    assert found.most > 1
    scaled = promise(space, [*((point, 1000 * value) for point, value in tried), ((4, 0), 1000 * cost[4, 0])])
    assert scaled is not None
    assert scaled.point == found.point
    assert [scaled.gain, scaled.most] == pytest.approx([found.gain, found.most]), "in any unit"


def test_nothing_is_promised_where_all_was_tried() -> None:
    """Points that failed are left alone, too."""
    space = Grid((WORDS,))
    tried = [((0,), 1.0), ((1,), 2.0)]
    assert promise(space, tried, [(2,)]) is None
    assert promise(space, []) is None


def test_of_a_large_space_what_is_beside_the_best_can_be_tried() -> None:
    """One step of one parameter away, also where no point that is spread over the whole space lies."""
    numbers = Parameter("options", "-n", tuple(range(40)))
    space = Grid((replace(numbers, name="-a"), replace(numbers, name="-b"), replace(numbers, name="-c")))
    found = promise(space, [((5, 20, 39), 1.0), ((0, 5, 5), 2.0)], [*space.points(MOST_POINTS)])
    assert found is not None
    assert found.point in {(4, 20, 39), (6, 20, 39), (5, 19, 39), (5, 21, 39), (5, 20, 38)}


def test_a_flat_landscape_promises_little() -> None:
    """Where settings differ by no more than repeats do, the interval ends near 1; a wide valley half seen promises more."""
    space = Grid((NUMBERS,))
    noise = np.random.default_rng(1).normal(1, 0.003, 5)
    flat = promise(space, [((at,), float(value)) for at, value in zip((0, 2, 4, 6, 7), noise, strict=True)])
    steep = promise(space, [((at,), 2.0**-at) for at in (0, 1, 2)])
    assert flat is not None
    assert steep is not None
    assert flat.most < 1.1 < steep.most


def test_what_is_promised_is_what_a_gaussian_process_predicts() -> None:
    """As scikit-learn computes it, with the most likely kernel of the table and the scale that makes it likeliest."""
    costs = np.array([3.0, 2.0, 1.5, 1.6, 2.6])
    points, places = np.array([0, 1, 3, 5, 7]), np.arange(8)[:, None] / 7
    logs = np.log(costs) - np.log(costs).mean()
    known = places[points]

    def fitted(length: float, noise: float) -> GaussianProcessRegressor:
        kernel = RBF(length) + WhiteKernel(noise**2)
        scale = float(logs @ np.linalg.solve(kernel(known), logs)) / len(logs)
        return GaussianProcessRegressor(ConstantKernel(scale) * kernel, alpha=0, optimizer=None).fit(known, logs)

    likeliest = max((fitted(length, noise) for length in LENGTHS for noise in NOISES), key=lambda one: one.log_marginal_likelihood_value_)
    means, deviations = likeliest.predict(places, return_std=True)
    reach = t.ppf(0.95, 4) * np.sqrt(5 / 4)
    best = min((at for at in range(8) if at not in points), key=lambda at: means[at] - reach * deviations[at])
    gains = np.exp(logs.min() - means[best] + reach * np.array([0, deviations[best]]))
    found = promise(Grid((NUMBERS,)), [((int(at),), float(cost)) for at, cost in zip(points, costs, strict=True)])
    assert found is not None
    assert (found.point, found.gain, found.most) == ((best,), *map(pytest.approx, gains))


def test_few_trials_do_not_promise_too_little() -> None:
    """Settings whose costs are random: about one in twenty is better than the end of its interval, also after six trials."""
    chance, space = np.random.default_rng(1), Grid((Parameter("options", "--mode=", tuple("abcdefg")),))
    beyond = 0
    for costs in np.exp(0.1 * chance.standard_normal((300, 7))):
        found = promise(space, [((at,), float(costs[at])) for at in range(6)])
        assert found is not None
        beyond += costs[:6].min() / costs[6] > found.most
    assert beyond / 300 < 0.07


def test_ordered_values_are_alike_and_words_are_not() -> None:
    """Numbers that rise or fall have neighbours."""
    assert [one.ordered for one in (NUMBERS, WORDS, Parameter("options", "-x", (4, 1, 2)), FALLING)] == [True, False, False, True]


def test_a_gain_says_its_interval() -> None:
    """From repeats of both; none from one run, and wider from runs that differ more."""
    assert gain([10.0], [5.0, 5.0]) is None
    close, apart = gain([10, 10.1, 9.9], [5, 5.05, 4.95]), gain([10, 14, 8], [5, 7, 4])
    assert close is not None
    assert apart is not None
    assert close.value == pytest.approx(2, rel=0.01)
    assert close.lower < 2 < close.upper
    assert apart.lower < close.lower
    assert (close.basis, close.unit, close.runs) == ("measured", "1", (3, 3))


@pytest.mark.parametrize(("before", "after"), [([10.0, 14.0, 8.0], [5.0, 7.0]), ([3.0, 3.3], [2.9, 3.5, 3.1, 2.2])])
def test_the_interval_of_a_gain_is_students(before: list[float], after: list[float]) -> None:
    """Of the difference of the mean logs, with one variance for both."""
    found = gain(before, after)
    assert found is not None
    known = ttest_ind(np.log(before), np.log(after)).confidence_interval(LEVEL)
    assert (found.lower, found.upper) == pytest.approx((np.exp(known.low), np.exp(known.high)), rel=1e-6)


@given(st.permutations(list(itertools.product(range(3), range(2)))))
def test_the_order_of_trials_does_not_matter(points: list[tuple[int, int]]) -> None:
    """The same trials promise the same."""
    space = Grid((Parameter("environment", "A", (1, 2, 3)), Parameter("options", "-b", ("x", "y", "z"))))
    tried = [(point, 1.0 + point[0] + 2 * point[1]) for point in points]
    known, found = promise(space, sorted(tried)), promise(space, tried)
    assert known is not None
    assert found is not None
    assert known.point == found.point
    assert known.most == pytest.approx(found.most)
