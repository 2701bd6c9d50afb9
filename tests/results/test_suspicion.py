"""What looks wrong among results, and what does not."""

from __future__ import annotations

import pytest

from modak.facts import Layout
from modak.results.suspicion import LayoutRuns, doubts, middle, outlier, too_many_gpus


def cells(costs: dict[int, float], **more: int) -> list[LayoutRuns]:
    """Cells by number of nodes, each with one value."""
    return [LayoutRuns(Layout(nodes=nodes, **more), cost, (cost, cost)) for nodes, cost in costs.items()]


@pytest.mark.parametrize("slip", [1000, 1e-3, 1e6, 3600])
@pytest.mark.parametrize("at", [1, 2, 8, 32])
def test_a_slip_in_the_unit_is_doubted_wherever_it_is(slip: float, at: int) -> None:
    """One size of a scaling series in another unit: that one, and no other, for strong and for weak scaling."""
    for power in (0.0, -0.5, -1.0):
        costs = {nodes: 97.3 * nodes**power for nodes in (1, 2, 4, 8, 16, 32)}
        found = doubts(cells(costs | {at: costs[at] * slip}), scales=True)
        assert [place for place, reason in found.items() if "wrong unit?" in reason] == [list(costs).index(at)]


def test_a_slip_makes_its_neighbour_no_speed_up() -> None:
    """A size between the slip and a larger one that lost some: of three sound sizes it would not be doubted either."""
    costs = {2: 154_500.0, 4: 86.9, 8: 65.8, 16: 40.1}
    assert list(doubts(cells(costs), scales=True)) == [0]


@pytest.mark.parametrize("power", [0.0, -0.3, -1.0, -1.1, 0.2])
def test_ordinary_scaling_is_not_doubted(power: float) -> None:
    """From 1 to 1024 nodes, dense or sparse, whatever the exponent."""
    for sizes in ([2**k for k in range(11)], [1, 1024], [1, 8, 1000]):
        assert doubts(cells({n: 1000.0 * n**power for n in sizes}), scales=True) == {}


def test_a_part_in_another_unit_is_doubted() -> None:
    """The smaller part of the sizes; of two equal parts both, since either may be right."""
    costs = {nodes: 97.3 / nodes for nodes in (1, 2, 4, 8, 16)}
    assert list(doubts(cells({n: cost * (1000 if n > 4 else 1) for n, cost in costs.items()}), scales=True)) == [3, 4]
    assert list(doubts(cells({1: 97.3, 2: 48_650}), scales=True)) == [0, 1]


def test_what_is_confirmed_is_believed() -> None:
    """It and the sizes on its side of a break, however few they are; the larger part is not doubted for that."""
    costs = {nodes: 97.3 / nodes * (1000 if nodes > 4 else 1) for nodes in (1, 2, 4, 8, 16)}
    said = LayoutRuns(Layout(nodes=16), costs.pop(16), confirmed=True)
    assert list(doubts(cells(costs), scales=True)) == [3]
    assert list(doubts([*cells(costs), said], scales=True)) == []


@pytest.mark.parametrize("slip", [1000, 1e-3])
def test_a_doubt_is_of_the_value_that_people_see(slip: float) -> None:
    """A thousandth of the throughput is reported as too small, not as too large."""
    values = {nodes: 97.3 * nodes * (slip if nodes == 4 else 1) for nodes in (1, 2, 4, 8, 16)}
    (reason,) = doubts(cells({nodes: 1 / value for nodes, value in values.items()}), scales=True, rate=True).values()
    assert reason.startswith("1/500 of" if slip < 1 else "500 times")


@pytest.mark.parametrize(("second", "told"), [(48_650, ["1/500 of", "500 times"]), (194_600, ["1/2000 of", "2000 times"])])
def test_two_sizes_are_told_by_the_factor_between_them(second: float, told: list[str]) -> None:
    """Not by that to the middle of both, from which each may be far."""
    assert [reason.partition(" what")[0] for reason in doubts(cells({1: 97.3, 2: second}), scales=True).values()] == told


def test_a_speed_up_that_the_next_size_loses_again_is_doubted() -> None:
    """Far above linear from both sides; a lasting effect of caches is not."""
    assert list(doubts(cells({1: 100, 2: 50, 4: 10, 8: 12.5}), scales=True)) == [2]
    assert doubts(cells({1: 100, 2: 50, 4: 15, 8: 7.4}), scales=True) == {}
    assert doubts(cells({1: 100, 2: 50, 4: 10, 8: 12.5}), scales=False) == {}


def test_nodes_that_are_half_full_are_no_speed_up() -> None:
    """Where memory sets the speed, half as many ranks a node take the same time: 60 of them on 3 nodes are no 60 of 40 on a node."""
    full, half = {1: 100.0, 2: 50.0, 4: 25.0}, {3: 33.3}
    assert doubts([*cells(full, ranks_per_node=40), *cells(half, ranks_per_node=20)], scales=True) == {}


def test_a_copied_value_is_doubted() -> None:
    """The same five digits or more at the next size; a round number may come twice."""
    assert list(doubts(cells({1: 100.125, 2: 51.375, 4: 51.375}), scales=True)) == [2]
    assert doubts(cells({1: 100, 2: 51.3, 4: 51.3}), scales=True) == {}


@pytest.mark.parametrize("rate", [False, True])
def test_a_copy_of_few_digits_is_doubted_if_the_next_size_catches_up(rate: bool) -> None:
    """A time, or a rate, that stays the same between sizes that scale."""
    costs = {1: 1003.0, 2: 524.0, 4: 524.0, 8: 151.0, 16: 80.5}
    values = {nodes: round(1e5 / cost) if rate else cost for nodes, cost in costs.items()}
    runs = [LayoutRuns(Layout(nodes=nodes), 1 / value if rate else value, (value, value)) for nodes, value in values.items()]
    assert list(doubts(runs, scales=True, rate=rate)) == [2]


def test_a_size_is_not_doubted_for_being_faster_than_a_copy_before_it() -> None:
    """It is measured: 206 s on 16 nodes are superlinear against the copied 631 s on 8 nodes alone."""
    assert list(doubts(cells({1: 2338.0, 2: 1099.0, 4: 630.8, 8: 630.8, 16: 205.9, 32: 181.5}), scales=True)) == [3]


@pytest.mark.parametrize(
    "costs",
    [
        {1: 1003.0, 2: 524.0, 4: 524.0},
        {1: 1003.0, 2: 524.0, 4: 524.0, 8: 524.0},
        {1: 1003.0, 2: 524.0, 4: 524.0, 8: 290.0},
        {1: 524.0, 2: 524.0, 4: 151.0, 8: 80.0},
        {1: 530.0, 2: 524.0, 4: 524.0, 8: 151.0},
        {1: 1010.0, 2: 520.0, 4: 520.0, 8: 150.0},
    ],
    ids=["last size", "nothing scales any more", "no catching up", "first size", "no gain before", "two digits"],
)
def test_equal_values_of_few_digits_may_be_chance(costs: dict[int, float]) -> None:
    """Where the sizes around them do not say that the second one is too slow."""
    assert doubts(cells(costs), scales=True) == {}


@pytest.mark.parametrize("digits", [1, 2, 3])
@pytest.mark.parametrize("serial", [0.0, 0.01, 0.05, 0.2, 0.5])
def test_a_program_that_stops_scaling_is_not_doubted(digits: int, serial: float) -> None:
    """By Amdahl's law, also with a cost of each doubling, whatever its times are rounded to."""
    for first in (12.3, 97.7, 1003.0, 4321.0):
        for overhead in (0.0, 0.001, 0.02):
            for sizes in ([1, 2, 4, 8, 16, 32, 64], [1, 2, 3, 4, 5, 6, 7, 8], [10, 11, 12, 13, 14, 15, 16]):
                costs = {n: first * (serial + (1 - serial) / n + overhead * n.bit_length()) for n in sizes}
                found = doubts(cells({n: float(f"{cost:.{digits}g}") for n, cost in costs.items()}), scales=True)
                assert not any("copied" in reason for reason in found.values())


def test_copied_repeats_are_doubted() -> None:
    """Their middle alone could be the same by chance."""
    runs = [
        LayoutRuns(Layout(nodes=nodes), 51.4, extent) for nodes, extent in ((1, (51.125, 51.675)), (2, (51.125, 51.675)), (4, (51.3, 51.5)))
    ]
    assert list(doubts(runs, scales=True)) == [1]


@pytest.mark.parametrize("few", [12.5 / 3600, 0.7 / 86_400, 7 / 60, 16 * 2.0**30, 1.3 * 3600])
def test_a_round_number_is_no_copy_whatever_its_unit_was(few: float) -> None:
    """12.5 epochs an hour have many digits as epochs a second."""
    assert doubts(cells({1: 2 * few, 2: few, 4: few}), scales=True) == {}


def test_what_does_not_scale_may_be_the_same_at_every_size() -> None:
    """The memory of a device, the accuracy of a training with a fixed seed."""
    assert doubts(cells({1: 15_843_721_216, 2: 15_843_721_216}), scales=False) == {}


@pytest.mark.parametrize(
    ("one", "other"),
    [({"nodes": 1, "ranks_per_node": 4}, {"nodes": 2, "ranks_per_node": 2}), ({"nodes": 4}, {"nodes": 4, "gpus_per_node": 0})],
)
def test_the_order_of_layouts_does_not_matter(one: dict[str, int], other: dict[str, int]) -> None:
    """Of two layouts of one size beside a size with the value of one of them."""
    runs = [LayoutRuns(Layout(**counts), cost, (cost, cost)) for counts, cost in ((one, 9.1235), (other, 8.7654), ({"nodes": 8}, 9.1235))]
    assert doubts(runs, scales=True) == doubts([runs[1], runs[0], runs[2]], scales=True)


def test_layouts_of_another_kind_are_no_neighbours() -> None:
    """Runs on GPUs or with another batch size are not compared with these."""
    assert doubts([*cells({1: 100.0, 2: 50.0}), *cells({1: 0.1, 2: 0.05}, gpus_per_node=4)], scales=True) == {}


def test_a_value_far_from_its_own_kind_is_an_outlier() -> None:
    """Beside the middle of the runs of one layout."""
    assert outlier(1.2, middle([1.0, 1.1, 1200.0])) is None
    assert "more than 30 times" in str(outlier(1200.0, middle([1.0, 1.1, 1200.0])))
    assert all(outlier(value, middle([1.0, 1000.0])) for value in (1.0, 1000.0))


@pytest.mark.parametrize(
    ("counts", "most", "says"),
    [
        (
            {"nodes": 2, "gpus_per_node": 8},
            4,
            "8 GPUs on each of 2 nodes, but a node of x has at most 4: a total over all nodes? then gpus_per_node is 4",
        ),
        (
            {"nodes": 3, "gpus_per_node": 8},
            4,
            "8 GPUs on each of 3 nodes, but a node of x has at most 4: are 'nodes' and its description right?",
        ),
        (
            {"nodes": 2, "gpus_per_node": 16},
            4,
            "16 GPUs on each of 2 nodes, but a node of x has at most 4: are 'nodes' and its description right?",
        ),
        (
            {"gpus_per_node": 8},
            4,
            "8 GPUs per node, but a node of x has at most 4: a total over all nodes? then load it as 'total_gpus', "
            "with '--set gpus_per_node=4' if a node has so many",
        ),
        ({"nodes": 1, "gpus_per_node": 8}, 4, "8 GPUs per node, but a node of x has at most 4: is its description complete?"),
        ({"nodes": 2, "gpus_per_node": 1}, 0, "1 GPU on each of 2 nodes, but no node of x has GPUs: is its description complete?"),
        ({"nodes": 9, "gpus_per_node": 4}, 4, None),
        ({"nodes": 9, "ranks_per_node": 64}, 4, None),
        ({"nodes": 9, "gpus_per_node": 0}, 0, None),
    ],
)
def test_more_gpus_than_a_node_has_are_impossible(counts: dict[str, int], most: int, says: str | None) -> None:
    """The reason names both counts, and the slip that explains them."""
    assert too_many_gpus(Layout(**counts), most, "x") == says
