"""Results side by side."""

from __future__ import annotations

import math
from typing import Any

import pytest

from modak.results.comparison import also_differ, compare, equal_otherwise, quantile


def records(**values: list[float]) -> list[dict[str, Any]]:
    """Runs of one application on systems, equal in all else."""
    same = {"application": "a", "metric": "wall_time", "unit": "s", "nodes": 4}
    return [
        {**same, "system": system, "partition": f"{system}-main", "value": value, "repeat": k, "id": k}
        for system, found in values.items()
        for k, value in enumerate(found)
    ]


def test_two_systems_are_compared_where_all_else_is_equal() -> None:
    """Medians, ratio, which is better; a partition belongs to its system."""
    (pair,) = compare(records(one=[10.0, 10.2, 10.1], two=[5.0, 5.1, 5.05]), "system")
    assert (pair.one, pair.other, pair.medians, pair.counts) == ("one", "two", (10.1, 5.05), (3, 3))
    assert (pair.ratio, pair.better, pair.beyond_noise) == (0.5, "two", True)


def test_a_run_without_a_container_is_compared_with_those_of_an_image() -> None:
    """Which it has none of."""
    bare, contained = ({**run, "system": "here", "partition": None} for run in records(one=[10.0], two=[11.0]))
    (pair,) = compare([{**bare, "runtime": "none"}, {**contained, "runtime": "apptainer", "image": "docker://me/solver:1"}], "runtime")
    assert (pair.one, pair.other, pair.ratio) == ("apptainer", "none", 10 / 11)


def test_a_difference_within_the_noise_says_so() -> None:
    """Repeats that scatter by more than the difference."""
    (pair,) = compare(records(one=[10.0, 12.0, 11.0], two=[10.5, 12.5, 11.2]), "system")
    assert pair.beyond_noise is False


def test_two_repeats_of_each_tell_of_the_noise() -> None:
    """They differ by less than 2 %, and both values by half."""
    assert compare(records(one=[10.0, 10.1], two=[5.0, 5.05]), "system")[0].beyond_noise is True


def test_medians_scatter_more_than_means() -> None:
    """A difference of 2.4 standard deviations, three runs each: beyond the noise of means, not of medians."""
    (pair,) = compare(records(one=[0.99, 1.0, 1.01], two=[1.0138, 1.024, 1.0342]), "system")
    assert pair.beyond_noise is False


@pytest.mark.parametrize(("repeats", "least"), [(1, 0.08598), (2, 0.06080), (3, 0.05215)])
def test_the_noise_of_a_difference_is_that_of_two_medians(repeats: int, least: float) -> None:
    """Of logarithms 0.02 apart, by the quantile for their degrees of freedom; of single runs, by the repeats of others."""
    steps = [0.02 * number for number in range(max(repeats, 2))]
    others = [{**run, "nodes": 8} for run in records(**{name: [math.exp(step) for step in steps] for name in ("one", "two")})]
    for beyond in (False, True):
        apart = least * (1.005 if beyond else 0.995)
        values = {name: [math.exp(step + of) for step in steps[:repeats]] for name, of in (("one", 0.0), ("two", apart))}
        assert compare([*records(**values), *(others if repeats == 1 else [])], "system")[0].beyond_noise is beyond


def test_the_noise_is_that_of_the_metric() -> None:
    """Times that scatter hide no difference in memory, and memory that is always the same makes none of theirs certain."""
    steady = [{**run, "metric": "memory", "unit": "B"} for run in records(one=[4.0] * 9, two=[4.1] * 9)]
    times = records(one=[10.0, 11.0, 12.0], two=[11.5, 12.5, 13.5])
    assert {pair.equal["metric"]: pair.beyond_noise for pair in compare([*times, *steady], "system")} == {
        "wall_time": False,
        "memory": True,
    }


def test_equal_medians_are_neither_better() -> None:
    """Whatever the metric says of more."""
    assert [pair.better for pair in compare(records(one=[10.0], two=[10.0]), "system")] == [None]


def test_the_order_of_columns_is_none_of_the_groups() -> None:
    """And what says nothing in the column belongs to none of its values."""
    one, two, silent = records(one=[10.0], two=[5.0], three=[2.0])
    runs = [one, dict(reversed(two.items())), {**silent, "system": None}]
    assert [(pair.one, pair.other) for pair in compare(runs, "system")] == [("one", "two")]


def test_without_repeats_the_noise_is_not_known() -> None:
    """One run each says nothing about scatter."""
    assert compare(records(one=[10.0], two=[5.0]), "system")[0].beyond_noise is None


def test_the_named_values_are_compared_against_the_first() -> None:
    """In their order; others are left out."""
    pairs = compare(records(one=[10.0], two=[5.0], three=[4.0]), "system", ["two", "one"])
    assert [(pair.one, pair.other, pair.better) for pair in pairs] == [("two", "one", "two")]


def test_without_named_values_the_smallest_number_is_the_first() -> None:
    """2 comes before 16; names are in alphabetical order."""
    pairs = compare(records(**{"16": [10.0], "2": [5.0], "128": [4.0]}), "system")
    assert [(pair.one, pair.other) for pair in pairs] == [("2", "16"), ("2", "128")]
    assert [pair.one for pair in compare(records(two=[10.0], one=[5.0]), "system")] == ["one"]


def test_more_is_better_for_rates_and_suspect_rows_do_not_count() -> None:
    """Direction comes from the metric."""
    runs = [{**run, "metric": "throughput", "unit": "samples/s"} for run in records(one=[10.0], two=[20.0, 1.0])]
    runs[-1]["suspect"] = "odd"
    assert [(pair.better, pair.counts) for pair in compare(runs, "system")] == [("two", (1, 1))]


def test_bounds_are_not_compared() -> None:
    """A run that was stopped sooner is no better one."""
    assert compare([{**run, "metric": "stopped_after"} for run in records(one=[10.0], two=[20.0])], "system") == []


def test_groups_are_in_the_order_of_their_numbers() -> None:
    """16 nodes come after 2, and 27000000 cells after 8000000, although parameters are texts."""
    sizes = [(nodes, cells) for nodes in (16, 2) for cells in ("27000000", "8000000", "fine")]
    runs = [{**run, "nodes": nodes, "params.cells": cells} for nodes, cells in sizes for run in records(one=[10.0], two=[5.0])]
    found = [(pair.equal["nodes"], pair.equal["params.cells"]) for pair in compare(runs, "system")]
    assert found == [(nodes, cells) for nodes in (2, 16) for cells in ("8000000", "27000000", "fine")]


def test_what_differs_in_more_than_the_column_is_not_compared() -> None:
    """Another number of nodes is another group."""
    runs = records(one=[10.0], two=[5.0])
    runs[1]["nodes"] = 8
    assert compare(runs, "system") == []


def test_what_else_the_most_alike_differ_in_is_told() -> None:
    """Of one system with itself it says nothing."""
    runs = [{**run, **more} for run in records(one=[10.0], two=[5.0]) for more in ({"nodes": 8, "mpi": run["system"]}, {"nodes": 2})]
    other_threads = [{**run, "threads_per_rank": len(run["system"]) + place} for place, run in enumerate(runs)]
    assert also_differ(equal_otherwise(other_threads, "system")) == ("threads_per_rank",)
    one_system = [{**run, "nodes": place} for place, run in enumerate(records(one=[10.0, 11.0]))]
    assert also_differ(equal_otherwise(one_system, "system")) == ()


def test_quantiles_widen_with_fewer_repeats() -> None:
    """Between two rows of the table the wider one holds."""
    assert [quantile(n) for n in (1, 2, 7, 10**6)] == [12.71, 4.30, 2.45, 2.04]
