from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from benchmarks.protocols import forecasts, with_relatives
from modak.perfmodel.fitting.scaling import Series
from modak.perfmodel.intervals import HalfWidths
from modak.perfmodel.validation import evaluation
from modak.perfmodel.validation.baselines import BASELINES
from modak.perfmodel.validation.evaluation import Observed

SIZES = (1.0, 2.0, 4.0, 8.0, 16.0)
AMDAHL = tuple(10 * (0.05 + 0.95 / p) for p in SIZES)
OBSERVED = [Observed(Series(SIZES, AMDAHL), "a", "x"), Observed(Series(SIZES[:3], AMDAHL[:3]), "a", "x")]


def test_largest_two_hides_the_largest_two() -> None:
    """The others are shown; series that are too short are left out."""
    (task,) = evaluation.tasks(OBSERVED, evaluation.largest(2))
    assert task.shown.sizes == (1.0, 2.0, 4.0)
    assert task.asked == (8.0, 16.0)
    assert task.actual == AMDAHL[3:]


def test_each_inner_size_is_hidden_once() -> None:
    """Interpolation never hides the smallest or the largest size."""
    assert [task.asked for task in evaluation.tasks(OBSERVED, evaluation.each_inner)] == [(2.0,), (4.0,), (8.0,)]


def test_node_counts_travel_with_the_sizes() -> None:
    """A task knows on how many nodes the shown sizes ran and whether the hidden ones need several."""
    observed = [Observed(Series(SIZES, AMDAHL, (1, 1, 1, 2, 4)), "a", "x")]
    (task,) = evaluation.tasks(observed, evaluation.largest(2))
    assert task.shown.nodes == (1, 1, 1)
    assert task.nodes == (2, 4)


def test_summary_counts_gross_errors_and_impossible_costs() -> None:
    """Median and 90th percentile of the relative error, the part off by more than 100 %, the part that is not positive."""
    found = evaluation.summarise(np.array([1.0, 1.0, 1.0, 1.0]), np.array([1.1, 0.9, 3.0, -1.0]))
    assert found.count == 4
    assert found.median == pytest.approx(1.05)
    assert found.off_by_double == 0.5
    assert found.non_positive == 0.25


def both_ways(*reach: float) -> HalfWidths:
    """Intervals that reach as far towards less as towards more."""
    return HalfWidths(np.array(reach), np.array(reach))


def test_each_side_of_an_interval_holds_for_itself() -> None:
    """What is faster than the lower end lies outside, though as much slower would lie inside; the width is that of both sides."""
    found = evaluation.coverage(np.array([0.2, -0.2]), HalfWidths(np.full(2, 0.1), np.full(2, 0.3)), ["slower", "faster"])
    assert found.by_collection == {"slower": 1.0, "faster": 0.0}
    assert found.median_width == pytest.approx(np.exp(0.2))


def test_coverage_is_by_collection() -> None:
    """An interval that holds everywhere but in one collection shows it."""
    found = evaluation.coverage(np.array([0.1, 0.1, 0.5]), both_ways(0.2, 0.2, 0.2), ["a", "a", "b"])
    assert found.by_collection == {"a": 1.0, "b": 0.0}
    assert found.median_width == pytest.approx(np.exp(0.2))


def test_bins_part_by_their_edges() -> None:
    """Widths are shown for each bin, not as one."""
    low, high = evaluation.bins(np.array([0.0, 0.5]), both_ways(0.1, 0.3), np.array([0.5, 2.0]), (1.0,), ("near", "far"))
    assert (low.name, low.count, high.name, high.count) == ("near", 1, "far", 1)
    assert low.coverage == 1
    assert high.coverage == 0


def test_decision_is_the_largest_size_that_keeps_efficiency() -> None:
    """Efficiency is relative to the smallest size; a size exactly at the threshold counts."""
    sizes, costs = np.array([2.0, 4.0, 8.0]), np.array([4.0, 2.0, 4 / 3])
    assert evaluation.efficient_size(sizes, costs) == 8.0
    assert evaluation.efficient_size(sizes, costs, 0.9) == 4.0


def test_decisions_compare_with_what_was_measured() -> None:
    """Perfect predictions decide right; hopeless ones decide wrong."""
    todo = evaluation.tasks(OBSERVED, evaluation.largest(2))
    assert evaluation.decisions(todo, OBSERVED, [np.array(todo[0].actual)]) == 1.0
    assert evaluation.decisions(todo, OBSERVED, [np.array([100.0, 100.0])], keep=0.6) == 0.0


def test_relatives_are_the_others_of_the_application() -> None:
    """A series is never its own relative, and series of other applications are none."""
    observed = [Observed(Series(SIZES, AMDAHL), "a", "x"), Observed(Series(SIZES, AMDAHL), "a", "y")]
    todo = evaluation.tasks(observed, evaluation.largest(2))
    alone = forecasts(todo)
    assert with_relatives(todo, observed, alone) == alone


@pytest.mark.parametrize("name", sorted(BASELINES))
def test_baselines_know_their_own_law(name: str) -> None:
    """Each baseline foretells a series that obeys its law."""
    shown = np.array(SIZES)
    laws: dict[str, Callable[[Any], Any]] = {
        "perfect scaling": lambda p: 5 / p,
        "Amdahl": lambda p: 1 + 5 / p,
        "power law": lambda p: 5 * p**-0.7,
        "USL": lambda p: (1 + 0.02 * (p - 1) + 0.001 * p * (p - 1)) / p,
        "Ernest": lambda p: 1 + 5 / p + 0.1 * np.log(p) + 0.01 * p,
    }
    law = laws[name]
    assert BASELINES[name](shown, law(shown), np.array([64.0]))[0] == pytest.approx(law(64.0), rel=0.01)
