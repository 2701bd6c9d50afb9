"""Which runs are worth measuring: those that narrow the interval of the decision most per node-hour."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from modak.facts import Layout, Result, SeriesKey
from modak.perfmodel import Curve, Question, fit, predict
from modak.perfmodel.forecasting.repeats import RERUN_SPREAD
from modak.perfmodel.planning import CandidateRun, Width, expected, propose, refitted, with_point

SIZES = (1, 2, 4, 8)


def key(compiler: str | None = None) -> SeriesKey:
    """A series of one application on one system."""
    return SeriesKey(application="app", system="here", compiler=compiler, metric="wall_time", unit="s")


def curves(sizes: tuple[int, ...] = SIZES, compiler: str | None = None) -> tuple[Curve, ...]:
    """One curve of 100 s on a node, of which 2 do not scale."""
    return fit([Result(series=key(compiler), layout=Layout(nodes=n, ranks_per_node=4), value=2 + 98 / n) for n in sizes])


def run(known: Sequence[Curve], nodes: int, compiler: str | None = None, hours: float | None = None) -> CandidateRun:
    """A run of the curve, with its prediction."""
    found = predict([curve for curve in known if curve.series.compiler == compiler] or known, Question({"system": "here"}), [nodes])
    cost, spread = float(found.value[0]), float(found.width.above[0])
    return CandidateRun(key(compiler), Layout(ranks_per_node=4), "nodes", nodes, nodes, cost, spread, hours or nodes * cost / 3600)


def width_at(nodes: int, compiler: str | None = None) -> Width:
    """The half-width of the interval at one size: the decision is about that size alone."""

    def width(known: Sequence[Curve]) -> float:
        asked = {"system": "here"} | ({"compiler": compiler} if compiler else {})
        return float(predict(known, Question(asked), [nodes]).width.above[0])

    return width


def test_measuring_what_is_decided_leaves_only_noise() -> None:
    """A run at the very size: what remains is what repeats differ by."""
    known, width = curves(), width_at(64)
    (after,) = expected(known, [run(known, 64)], width)
    assert width(known) > 2 * RERUN_SPREAD
    assert after <= RERUN_SPREAD


def test_a_nearer_run_tells_more_than_a_farther_one() -> None:
    """Towards the size that is decided on, the interval becomes narrower."""
    known = curves()
    near, far = expected(known, [run(known, 32), run(known, 6)], width_at(64))
    assert near < far


def test_a_run_of_something_else_tells_nothing() -> None:
    """Nor is it proposed, however cheap."""
    known = curves(SIZES)
    other = CandidateRun(key("other").model_copy(update={"metric": "epoch_time"}), Layout(), "nodes", 64, 64, 5.0, 0.5, 1e-6)
    assert expected(known, [other], width_at(64))[0] == pytest.approx(width_at(64)(known))
    assert propose(known, [other], width_at(64)) == ()


def test_the_cheaper_of_two_that_tell_alike_comes_first_and_alone() -> None:
    """A second run with the same information is not proposed."""
    known = curves((*SIZES, 16, 32))
    steps = propose(known, [run(known, 64, hours=2.0), run(known, 63, hours=1.0)], width_at(60))
    assert [step.run for step in steps] == [1]


def test_worth_is_by_the_node_hour() -> None:
    """A run that narrows the interval most, but costs a hundred times as much, comes second."""
    known = curves()
    costly, cheap = run(known, 64, hours=100.0), run(known, 32, hours=1.0)
    most, less = expected(known, [costly, cheap], width_at(64))
    assert most < less
    assert propose(known, [costly, cheap], width_at(64))[0].run == 1


def test_two_questions_take_two_runs() -> None:
    """Where a decision is between two compilers, one run of each is proposed."""
    known = (*curves((1, 2, 4)), *curves((1, 2), "xla"))

    def width(found: Sequence[Curve]) -> float:
        return (width_at(32)(found) + width_at(32, "xla")(found)) / 2

    runs = [run(known, 32), run(known, 32, "xla"), run(known, 1)]
    steps = propose(known, runs, width)
    assert {step.run for step in steps} == {0, 1}
    assert steps[0].after == pytest.approx(steps[1].before, rel=0.2)


def test_repeats_are_not_proposed() -> None:
    """A size that is measured says no more by these models."""
    known = curves()
    assert propose(known, [run(known, 8)], width_at(64)) == ()


def test_a_size_next_to_a_measured_one_is_as_good_as_a_repeat() -> None:
    """Its time differs by less than runs scatter, whatever the run is expected to narrow: only the first of these sizes is far enough."""
    known = curves((16, 32, 64))
    runs = [run(known, nodes) for nodes in (60, 61, 63, 67)]
    assert [step.run for step in propose(known, runs, lambda models: 0.5 ** len(models[0].sizes))] == [0]


def test_a_run_that_comes_first_may_be_next_to_a_measured_size() -> None:
    """One of two that are compared at the size of the choice: what is measured nearby does not tell of that."""
    known = curves((16, 32, 64))
    assert [step.run for step in propose(known, [run(known, 63)], width_at(64), first=[0])] == [0]


def test_every_step_narrows_and_says_by_how_much_per_node_hour() -> None:
    """The first from the width as it is."""
    known = curves()
    runs = [run(known, nodes) for nodes in (16, 32, 64)]
    steps = propose(known, runs, width_at(128))
    assert steps[0].before == width_at(128)(known)
    assert all(step.after < step.before for step in steps)
    assert steps[0].per_node_hour == pytest.approx((steps[0].before - steps[0].after) / runs[steps[0].run].node_hours)


def test_the_budget_and_the_number_hold() -> None:
    """Together the runs cost no more; a run that does not fit gives way to one that does."""
    known = curves()
    runs = [run(known, nodes, hours=hours) for nodes, hours in ((128, 10.0), (64, 3.0), (32, 2.0))]
    assert [step.run for step in propose(known, runs, width_at(128), budget=4.0)] == [1]
    assert len(propose(known, [run(known, n) for n in (16, 32, 64)], width_at(128), most=1)) == 1


def test_what_a_run_has_to_narrow_is_a_part_of_the_interval_of_today() -> None:
    """Not of what is left after the runs before it, of which each halves the interval here."""
    known = curves()
    runs = [run(known, nodes) for nodes in (16, 32, 64)]
    steps = propose(known, runs, lambda models: 0.5 ** len(models[0].sizes), least=0.2)
    assert len(steps) == 2


def test_a_point_takes_its_place_among_the_sizes() -> None:
    """The curve is fitted with it; a run of no known curve founds one."""
    known = curves((1, 2, 8))
    (grown,) = refitted(known, [(run(known, 4), 26.5)])
    assert (grown.sizes, grown.costs[2], grown.mixture.sizes) == ((1, 2, 4, 8), 26.5, (1, 2, 4, 8))
    (founded,) = refitted(known, [(run(known, 4, "xla"), 20.0)])
    assert (founded.series.compiler, founded.sizes) == ("xla", (4,))
    assert [len(with_point(known, one)) for one in (grown, founded)] == [1, 2]


def test_runs_that_come_first_do_so_whatever_they_narrow() -> None:
    """In their order and within the budget; then the best of the others, and no measured size."""
    known = curves()
    runs = [run(known, 64), run(known, 3), run(known, 2), run(known, 6)]
    assert [one.run for one in propose(known, runs, width_at(64), first=[3, 2, 1])] == [3, 1, 0]
    hours = runs[3].node_hours
    assert [one.run for one in propose(known, runs, width_at(64), budget=1.01 * hours, first=[0, 3])] == [3]
