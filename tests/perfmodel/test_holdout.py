"""Models judged on the user's own results: what is hidden, who is asked, and that the figures are those of what was hidden."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from modak.facts import Layout, Result, SeriesKey
from modak.perfmodel import Curve, Question, fit, predict
from modak.perfmodel.validation.baselines import BASELINES
from modak.perfmodel.validation.holdout import ALONE, NEAREST, RELATIVES, TREND, Accuracy, HoldoutReport, cross_validate, least_sizes

SIZES = (1, 2, 4, 8, 16, 32)


def curves(cost: Callable[[int], float], sizes: tuple[int, ...] = SIZES, **series: object) -> tuple[Curve, ...]:
    """One curve of one rank a node."""
    key = SeriesKey.model_validate({"application": "app", "system": "here", "metric": "wall_time", "unit": "s", **series})
    return fit([Result(series=key, layout=Layout(nodes=n, ranks_per_node=1), value=cost(n)) for n in sizes])


def amdahl(nodes: int) -> float:
    """A tenth does not scale."""
    return 100 * (0.1 + 0.9 / nodes)


def of(report: HoldoutReport, name: str) -> Accuracy:
    """One model's figures."""
    return next(model for model in report.models if model.name == name)


@pytest.mark.parametrize(("holdout", "predictions"), [("largest:1", 1), ("largest:2", 2), ("largest:3", 3), ("each", 4)])
def test_holdout_says_how_many_sizes_are_hidden(holdout: str, predictions: int) -> None:
    """The largest so many, or every inner one."""
    assert cross_validate(curves(amdahl), holdout).predictions == predictions


def test_a_law_that_holds_is_foretold_by_its_own_model() -> None:
    """Amdahl's law on Amdahl's law: no error; perfect scaling misses by what does not scale, and takes too large a size."""
    report = cross_validate(curves(amdahl))
    assert of(report, "Amdahl").errors.median == pytest.approx(0, abs=1e-6)
    assert of(report, "Amdahl").decisions == 1
    at_8, hidden = amdahl(8) * 8, [amdahl(16) * 16, amdahl(32) * 32]
    assert of(report, "perfect scaling").errors.median == pytest.approx(sum(1 - at_8 / work for work in hidden) / 2)


def test_every_model_of_the_field_stands_beside_ours() -> None:
    """With the same tasks."""
    assert [model.name for model in cross_validate(curves(amdahl)).models] == [ALONE, RELATIVES, *BASELINES]


def test_only_ours_have_intervals_and_these_widen_with_distance() -> None:
    """One bin for each doubling beyond what is shown."""
    report = cross_validate(curves(amdahl))
    assert [model.name for model in report.models if model.coverage] == [ALONE, RELATIVES]
    near, far = of(report, ALONE).bins
    assert (near.name, far.name) == ("up to 1 doubling", "up to 2")
    assert far.median_width > near.median_width > 1


def test_between_sizes_relatives_have_no_say() -> None:
    """So there is no such row, and one bin."""
    report = cross_validate(curves(amdahl), "each")
    assert RELATIVES not in [model.name for model in report.models]
    assert [part.name for part in of(report, ALONE).bins] == ["between sizes"]


def test_relatives_help_where_they_went_on() -> None:
    """A series that saturates beyond what is shown, as its relative in another container did."""

    def saturates(nodes: int) -> float:
        return 100 / min(nodes, 8)

    found = (*curves(saturates, image="a"), *curves(lambda n: 1.1 * saturates(n), image="b"))
    report = cross_validate(found)
    assert of(report, RELATIVES).errors.median < 0.7 * of(report, ALONE).errors.median


@pytest.mark.parametrize("beside", [{"framework": "other"}, {"sizes": (32, 64), "compiler": "other"}], ids=["framework", "no common size"])
def test_judged_is_what_requests_are_answered_with(beside: dict[str, Any]) -> None:
    """Also where relatives have less say, and where what was measured nearer shares no size."""
    own: dict[str, Any] = {"framework": "own"}
    (whole,), (rest,) = curves(amdahl, **own), curves(amdahl, SIZES[:-1], **own)
    (other,) = curves(lambda nodes: 50 / min(nodes, 16), **{**own, **beside})
    (asked,) = predict([rest, other], Question({"system": "here", **own}, whole.layout), [SIZES[-1]]).value
    report = cross_validate([whole, other], "largest:1", judged=lambda curve: curve is whole)
    assert of(report, RELATIVES).errors.median == pytest.approx(abs(asked / amdahl(SIZES[-1]) - 1))
    assert of(report, RELATIVES).errors.median != pytest.approx(of(report, ALONE).errors.median)


def test_only_judged_curves_are_asked_about() -> None:
    """The others are relatives still."""
    found = (*curves(amdahl, system="here"), *curves(amdahl, system="there"))
    assert cross_validate(found, judged=lambda curve: curve.series.system == "there").series == 1


def test_short_curves_are_left_out_and_counted() -> None:
    """Three sizes are shown at least."""
    found = (*curves(amdahl), *curves(amdahl, SIZES[:4], image="short"))
    assert (cross_validate(found).series, cross_validate(found).left_out) == (1, 1)
    assert least_sizes("largest:2") == 5
    with pytest.raises(ValueError, match="5 are needed"):
        cross_validate(found[1:])


def test_level_widens_the_intervals() -> None:
    """The same forecasts, other intervals."""
    narrow, wide = (of(cross_validate(curves(amdahl), level=level), ALONE).coverage for level in (0.5, 0.95))
    assert narrow is not None
    assert wide is not None
    assert narrow.median_width < wide.median_width


def scattering(*factors: float, compiler: str | None = None) -> tuple[Curve, ...]:
    """The curve of Amdahl's law with a run of each of these factors at every size."""
    (ideal,) = curves(amdahl, compiler=compiler)
    runs = [(size, cost * factor) for size, cost in zip(ideal.sizes, ideal.costs, strict=True) for factor in factors]
    return fit([Result(series=ideal.series, layout=ideal.layout.model_copy(update={"nodes": int(n)}), value=value) for n, value in runs])


@pytest.mark.parametrize("holdout", ["largest:1", "each"])
def test_intervals_are_judged_with_what_repeats_scatter(holdout: str) -> None:
    """As in predictions: no narrower than the scatter of repeats of the curve, or of another curve of the application there."""
    usual, own = (of(cross_validate(found, holdout), ALONE).coverage for found in (curves(amdahl), scattering(0.7, 1, 1.4)))
    beside = of(
        cross_validate((*curves(amdahl), *scattering(0.7, 1, 1.4, compiler="other")), holdout, judged=lambda one: not one.scatter), ALONE
    ).coverage
    assert usual is not None
    assert own is not None
    assert beside is not None
    assert usual.median_width < 1.2
    assert min(own.median_width, beside.median_width) > 1.3


def test_intervals_are_judged_with_what_the_shown_runs_scatter() -> None:
    """Around the forms that are fitted to these alone: what is hidden, however odd, narrows or widens nothing."""
    uneven = [1.0, 1.3, 0.75, 1.25, 0.85, 1.2]
    shown = dict(zip(SIZES, uneven, strict=False))
    odd, even = ((lambda n, last=last: amdahl(n) * shown[n] * (last if n == SIZES[-1] else 1)) for last in (3.0, 1.0))
    rough, same, usual = (of(cross_validate(curves(cost), "largest:1"), ALONE).coverage for cost in (odd, even, amdahl))
    assert rough is not None
    assert same is not None
    assert usual is not None
    assert rough.median_width == same.median_width > usual.median_width


def problems(power: float, sizes: tuple[int, ...] = (100, 200, 400, 800), system: str = "here") -> tuple[Curve, ...]:
    """Amdahl's law for several problem sizes: the work is a power of ``params.n``."""
    found = (curves(lambda nodes, n=n: amdahl(nodes) * (n / 100) ** power, params={"n": str(n)}, system=system) for n in sizes)  # type: ignore[misc]
    return tuple(one for several in found for one in several)


def test_each_problem_size_is_hidden_in_turn() -> None:
    """On all its curves; the trend over the others predicts it better than the nearest one, and its intervals contain it."""
    report = cross_validate(problems(2.0), "problem")
    assert (report.series, report.left_out, report.predictions) == (4, 0, 4 * len(SIZES))
    trend, nearest = of(report, TREND), of(report, NEAREST)
    assert trend.coverage is not None
    assert trend.errors.median < 0.15 < 0.5 < nearest.errors.median
    assert trend.coverage.overall > 0.9
    assert [one.name for one in trend.bins] == ["between sizes", "up to 1 doubling"]
    assert trend.decisions is None


def test_only_the_sizes_of_a_curve_that_a_trend_answers_are_judged() -> None:
    """On some nodes the nearest problem alone is surer. Not the first size decides for all."""
    measured = {(100, 2): (1, 4), (200, 2): (32, 64), (400, 1): (2, 4, 16)}
    several = (
        curves(lambda nodes, n=n: (n / 100) ** 2 * amdahl(nodes), sizes, params={"n": str(n), "m": str(m)})  # type: ignore[misc]
        for (n, m), sizes in measured.items()
    )
    report = cross_validate([one for each in several for one in each], "problem", judged=lambda one: one.series.params["n"] == "400")
    assert (report.series, report.predictions) == (1, 2)


def test_a_hidden_problem_size_is_hidden_on_other_systems_too() -> None:
    """Else these would tell most of it."""
    both = (*problems(2.0), *problems(2.0, system="there"))
    beside = cross_validate(both, "problem", judged=lambda one: one.series.system == "here")
    alone = cross_validate(problems(2.0), "problem")
    assert beside.series == alone.series
    assert of(beside, TREND).errors.median == pytest.approx(of(alone, TREND).errors.median, abs=0.05)


@pytest.mark.parametrize("sizes", [(100,), (100, 200)])
def test_few_problem_sizes_tell_no_trend(sizes: tuple[int, ...]) -> None:
    """With one hidden, two have to remain."""
    with pytest.raises(ValueError, match="three that differ in numbers of params"):
        cross_validate(problems(2.0, sizes), "problem")


def test_unknown_ways_to_hide_are_refused() -> None:
    """With what is allowed."""
    with pytest.raises(ValueError, match="largest:2"):
        cross_validate(curves(amdahl), "smallest:1")


def test_the_report_is_a_json_document() -> None:
    """No NaN, nothing that JSON does not know."""
    content = json.loads(json.dumps(cross_validate(curves(amdahl)).as_json(), allow_nan=False))
    assert content["models"][0]["coverage"]["by_collection"] == {"app": 1.0}


def test_hidden_sizes_that_only_a_guess_reaches_are_counted() -> None:
    """More than four doublings beyond what is shown."""
    key = SeriesKey(application="app", system="here", metric="wall_time", unit="s")
    rows = [Result(series=key, layout=Layout(nodes=n), value=100 / n) for n in (1, 2, 4, 64, 128)]
    assert (cross_validate(fit(rows)).far, cross_validate(fit(rows), "largest:1").far) == (1, 0)
