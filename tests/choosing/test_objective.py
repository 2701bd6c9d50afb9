"""Ranking: the objective, the constraints at their confidence, and the message if nothing meets them."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import repeat

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from modak.choosing.decision import ranking_of
from modak.choosing.objective import Scored, further_than, pareto, rank, rank_closest
from modak.dsl import Basis, Objective, Request
from modak.errors import Infeasible
from modak.perfmodel.intervals import HalfWidths, TruncatedForecast
from modak.text.units import duration


def scored(work: float = 64_000.0, spread: float = 0.08, serial: float = 20.0, largest: int = 64) -> Scored:
    """One shape on 1 to ``largest`` nodes: serial + work / n seconds, all interpolated."""
    nodes = np.arange(1, largest + 1)
    time = serial + work / nodes
    flat = np.zeros(largest)
    inside: tuple[Basis, ...] = tuple(repeat("interpolated", largest))
    return Scored(nodes * 0, nodes, time, HalfWidths(flat + spread, flat + spread), flat, time[0] / (time * nodes), inside)


def test_a_deadline_is_met_at_its_confidence() -> None:
    """The choice is the fewest nodes whose upper bound, not whose mean, meets the deadline."""
    table = scored()
    best = rank(table, Objective(deadline=3600)).order[0]
    assert table.bound(0.9)[best] <= 3600 < table.bound(0.9)[best - 1]
    assert table.time[best - 1] <= 3600


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.99])
def test_what_one_configuration_is_sure_to_take_is_what_it_takes_among_all(confidence: float) -> None:
    """Its wall time is by the one, the choice by the other; a run was stopped."""
    table = scored()
    table = replace(table, predicted=TruncatedForecast(table.time, table.width, table.time * np.linspace(0.8, 1.2, len(table.time))))
    assert [table.bound_of(at, confidence) for at in range(len(table.time))] == table.bound(confidence).tolist()


def test_higher_confidence_needs_more_nodes() -> None:
    """0.99 asks for more than 0.5."""
    chosen = [int(scored().nodes[rank(scored(), Objective(deadline=3600, confidence=c)).order[0]]) for c in (0.5, 0.99)]
    assert chosen[0] < chosen[1]


def test_a_deadline_that_is_missed_by_little_is_no_upper_bound() -> None:
    """With three digits both were an hour: the bound is given as the deadline is, and never as less than it."""
    table = scored()
    missed = float(table.bound(0.9).min())
    table = replace(table, time=table.time * 3602.4 / missed)
    with pytest.raises(Infeasible, match=r"deadline of 01:00:00 cannot be met .* at most 01:00:03 at confidence 0\.9,"):
        rank(table, Objective(deadline=3600, confidence=0.9))


def test_a_confidence_keeps_its_digits() -> None:
    """0.9999999999 is not certainty, and no figure of a request is rounded in the message that refuses it."""
    asked = Objective(deadline=60, budget_node_hours=1234567.25, confidence=0.9999999999)
    with pytest.raises(Infeasible, match=r"cannot be met at confidence 0\.9999999999; .* at confidence 0\.9999999999,"):
        rank(scored(), asked)
    assert "node-hours <= 1234567.25" in rank(scored(), asked.model_copy(update={"deadline": None})).decisions[0]


def test_times_that_answers_show_as_equal_are_equal() -> None:
    """Of two layouts the surer one is chosen, though the other is faster by less than the digits that are shown; not if it is faster."""
    basis: tuple[Basis, ...] = ("measured", "transferred")
    for less, chosen in ((1e-13, 0), (2e-5, 0), (1e-3, 1)):
        width = np.array([0.06, 3.2])
        time = np.array([500.0, 500.0 * (1 - less)])
        table = Scored(np.arange(2), np.full(2, 2), time, HalfWidths(width, width), np.zeros(2), np.ones(2), basis)
        assert rank(table, Objective(minimise="time")).best == chosen


def test_least_time_goes_to_the_limit() -> None:
    """Minimising time takes all the nodes that are allowed."""
    table = scored()
    assert table.nodes[rank(table, Objective(minimise="time", max_nodes=40)).order[0]] == 40


def test_node_hours_prefer_few_nodes() -> None:
    """Minimising node-hours takes the fewest."""
    assert rank(scored(), Objective(minimise="node_hours")).order[0] == 0


def test_budget_bounds_time() -> None:
    """The fastest within the budget."""
    table = scored()
    best = rank(table, Objective(minimise="time", budget_node_hours=18.0)).order[0]
    assert table.node_hours[best] <= 18.0 < table.node_hours[best + 1]


def test_efficiency_bounds_nodes() -> None:
    """Nothing below the efficiency asked for."""
    table = scored(serial=2000.0)
    ranking = rank(table, Objective(minimise="time", min_efficiency=0.75))
    assert all(table.efficiency[index] >= 0.75 for index in ranking.order)


def test_of_two_minimum_efficiencies_the_higher_holds() -> None:
    """The objective's, and the one that the request gives elsewhere."""
    table = scored(serial=2000.0)
    for own, other in ((0.6, 0.75), (0.75, 0.6)):
        objective = Objective(minimise="time", min_efficiency=own)
        request = Request().changed(application={"minimal_efficiency": other}, optimisation={"objective": objective})
        ranking, _ = ranking_of(request, table)
        assert all(table.efficiency[index] >= 0.75 for index in ranking.order)


def test_without_an_objective_half_of_the_time_is_useful() -> None:
    """The default does not take a machine for the last second."""
    table = scored(serial=6000.0)
    best = rank(table, Objective()).order[0]
    assert table.efficiency[best] >= 0.5
    assert best < 63


@pytest.mark.parametrize(
    ("objective", "holds"),
    [
        (Objective(), True),
        (Objective(max_nodes=40), True),
        (Objective(deadline=36_000), False),
        (Objective(budget_node_hours=100.0), False),
        (Objective(minimise="time"), False),
    ],
)
def test_the_default_efficiency_holds_unless_an_aim_is_stated(objective: Objective, holds: bool) -> None:
    """A number of nodes is a limit and no aim."""
    assert rank(scored(serial=6000.0), objective).by_default == holds


def test_where_start_up_takes_most_of_every_size_the_fewest_nodes_are_said_to_be_chosen() -> None:
    """A run of 100 seconds on one node has less than half of its time for work: no size is then said to be ruled out for that."""
    ranking = rank(scored(work=80.0), Objective())
    assert ranking.order == (0,)
    told = "on the fewest nodes, because no size has a parallel efficiency >= 0.5 including 120 s for the job to start"
    assert told in ranking.decisions[0]
    assert not ranking.by_default


def test_in_weak_scaling_the_default_is_the_fewest_measured_nodes() -> None:
    """Times of different sizes are not of the same work, so neither the least time nor an efficiency chooses among them."""
    table = replace(scored(largest=8), time=np.linspace(1000, 900, 8), efficiency=np.ones(8), grows=True)
    below = replace(table, doublings=np.maximum(np.log2(2 / table.nodes), 0))
    ranking = rank(below, Objective())
    assert below.nodes[list(ranking.order)].tolist() == [2]
    assert "on the fewest measured nodes, because more nodes run a larger problem (weak scaling)" in ranking.decisions[0]


@pytest.mark.parametrize(
    ("objective", "words"),
    [
        (Objective(deadline=600), "deadline of 00:10:00 cannot be met"),
        (Objective(budget_node_hours=1.0), "a budget of 1 node-hour is not enough"),
        (Objective(budget_node_hours=1.0625), "a budget of 1.0625 node-hours is not enough"),
        (Objective(minimise="time", min_efficiency=1.0, deadline=3600), "no configuration meets all constraints"),
    ],
)
def test_nothing_feasible_says_what_stands_in_the_way(objective: Objective, words: str) -> None:
    """The closest configuration and the constraint that cannot be met."""
    with pytest.raises(Infeasible, match=words):
        rank(scored(), objective)


def test_large_numbers_of_a_refusal_are_written_out() -> None:
    """Nobody reads 1.78e+05 node-hours."""
    table = scored()
    with pytest.raises(Infeasible) as refused:
        rank(replace(table, time=table.time * 1e4), Objective(budget_node_hours=12345.5))
    assert "a budget of 12345.5 node-hours is not enough" in str(refused.value)
    assert "e+" not in str(refused.value)


def test_what_comes_closest_is_what_the_refusal_names() -> None:
    """It alone, whatever would be best without the constraints."""
    objective, table = Objective(deadline=600), scored()
    with pytest.raises(Infeasible) as refused:
        rank(table, objective)
    (place,) = rank_closest(table, objective).order
    assert f"closest: {table.nodes[place]} nodes" in str(refused.value)
    assert table.nodes[place] == 64


def test_far_extrapolation_is_not_chosen_unasked() -> None:
    """Two doublings beyond the data need ``max_nodes``."""
    table = scored()
    far = np.maximum(np.log2(table.nodes / 8), 0)
    beyond = replace(table, doublings=far)
    assert beyond.nodes[rank(beyond, Objective(minimise="time")).order[0]] == 16
    assert beyond.nodes[rank(beyond, Objective(minimise="time", max_nodes=64)).order[0]] == 64


def test_where_all_sizes_are_far_only_the_nearest_is_considered() -> None:
    """A result that says nothing of any size must not lead to a bolder choice than one that says something of a few."""
    table = scored()
    beyond = replace(table, doublings=2 + np.log2(table.nodes))
    ranking = rank(beyond, Objective(minimise="time"))
    assert ranking.order == (0,)
    assert "except the nearest feasible one (2 doublings beyond)" in ranking.decisions[1]
    assert beyond.nodes[rank(beyond, Objective(minimise="time", max_nodes=64)).best] == 64


def test_a_deadline_takes_the_nearest_size_that_meets_it() -> None:
    """Of all sizes that are fast enough the one closest to the measured ones, though the fastest is far beyond it."""
    table = scored()
    beyond = replace(table, doublings=np.log2(table.nodes))
    objective = Objective(minimise="time", deadline=3600)
    ranking = rank(beyond, objective)
    fewest = rank(beyond, objective.model_copy(update={"minimise": "node_hours", "max_nodes": 64})).best
    assert ranking.order == (fewest,)


def test_far_extrapolation_is_not_chosen_for_its_efficiency() -> None:
    """Without an objective, too, nearer sizes come first, though of these short runs only the guess looks worth its nodes."""
    flat = np.zeros(3)
    shape, nodes, time, doublings = np.array([0, 1, 0]), np.array([1, 1, 2]), np.array([70.0, 60, 40]), np.array([0.5, 1.6, 0])
    table = Scored(shape, nodes, time, HalfWidths(flat, flat), doublings, np.array([0.9, 2.0, 0.8]), ("extrapolated",) * 3)
    assert rank(table, Objective()).best == 0


@pytest.mark.parametrize(("spread", "chosen"), [(0.2, 1), (3.0, 0)])
def test_at_the_only_size_a_layout_that_was_measured_on_fewer_nodes_is_considered_if_it_is_worth_it(spread: float, chosen: int) -> None:
    """A request that gives its nodes asks for that size. A layout three times as fast on four of them is better, unless that is a guess."""
    time, width = np.array([11_000.0, 3_700.0]), np.array([0.1, spread])
    table = Scored(
        np.array([0, 1]), np.array([10, 10]), time, HalfWidths(width, width), np.array([0, 1.3]), time, ("measured", "extrapolated")
    )
    for objective in (Objective(minimise="time"), Objective(minimise="time", max_nodes=10)):
        ranking = rank(table, objective)
        assert ranking.best == chosen
        assert any("unless one is expected to be the best" in line for line in ranking.decisions) == (chosen == 0)


@pytest.mark.parametrize(("spread", "chosen"), [(0.2, 1), (3.0, 0)])
def test_within_max_nodes_a_layout_that_ran_on_few_nodes_does_not_displace_one_that_ran_there_by_a_guess(
    spread: float, chosen: int
) -> None:
    """``max_nodes`` asks for sizes that nobody ran: here 16 nodes, of layouts that ran on 8 and on one."""
    time, width, doublings = np.array([990.0, 110.0, 100.0]), np.array([0.1, 0.1, spread]), np.array([0, 1.0, 4.0])
    bases: tuple[Basis, ...] = ("measured", "extrapolated", "extrapolated")
    table = Scored(np.array([1, 0, 1]), np.array([1, 16, 16]), time, HalfWidths(width, width), doublings, time, bases)
    ranking = rank(table, Objective(minimise="time", max_nodes=16))
    assert ranking.best == chosen + 1
    assert any("further away than others are not considered" in line for line in ranking.decisions) == (chosen == 0)


def test_without_evidence_the_order_stands() -> None:
    """No number, no ranking, no refusal."""
    table = scored(largest=3)
    nothing = replace(table, time=table.time * np.nan, basis=("none",) * 3)
    assert rank(nothing, Objective(deadline=60)).order == (0, 1, 2)


def test_perfect_scaling_takes_the_fewest_nodes() -> None:
    """If all sizes take as many node-hours, but for what a fit leaves."""
    table = scored(serial=0.0)
    fitted = replace(table, time=table.time * (1 - 2e-5 * (table.nodes > 1)))
    assert fitted.nodes[rank(fitted, Objective(minimise="node_hours", max_nodes=64)).best] == 1


def test_what_is_beyond_a_refuted_guess_is_one_too() -> None:
    """At perfect scaling from where it was stopped, a run may be fast on enough nodes; that the interval is wide there confirms nothing."""
    nodes, wide = np.array([1, 8, 64]), np.array([0.1, 0.5, 1.5])
    predicted = TruncatedForecast(np.array([800.0, 100.0, 12.5]), HalfWidths(wide, wide), np.array([0.0, 400.0, 50.0]))
    assert predicted.refuted.tolist() == [False, True, False]
    time, width = predicted.interval()
    basis: tuple[Basis, ...] = ("measured", "heuristic", "heuristic")
    table = Scored(nodes * 0, nodes, time, width, np.array([0.0, 3.0, 6.0]), np.ones(3), basis, predicted=predicted)
    with pytest.raises(Infeasible, match=r"or max_nodes 64 \(a guess, because runs were stopped\)"):
        rank(table, Objective(deadline=720))
    assert rank(table, Objective(deadline=720, max_nodes=64)).best == 2


def test_the_front_has_nothing_that_saves_but_an_error_of_rounding() -> None:
    """Of two sizes that take as many node-hours the slower one is no alternative."""
    for less, front in ((1e-13, (1,)), (1e-6, (1, 0))):
        table = replace(scored(largest=2), time=np.array([200.0 * (1 - less), 100.0]))
        assert pareto(table, (0, 1)) == front


def test_pareto_front_trades_time_for_node_hours() -> None:
    """On the front more speed costs more node-hours."""
    table = scored()
    front = pareto(table, range(64))
    assert (np.diff(table.node_hours[list(front)]) < 0).all()
    assert (np.diff(table.time[list(front)]) > 0).all()


@given(
    deadline=st.integers(60, 20_000),
    budget=st.floats(0.1, 50.0) | st.none(),
    floor=st.floats(0.05, 1.0) | st.none(),
    confidence=st.sampled_from([0.5, 0.9, 0.99]),
)
def test_each_concession_that_is_offered_would_do(deadline: int, budget: float | None, floor: float | None, confidence: float) -> None:
    """With the offered deadline, confidence, budget or efficiency instead of the own one, something is feasible."""
    table = scored(serial=200.0)
    asked = Objective(minimise="time", deadline=deadline, budget_node_hours=budget, min_efficiency=floor, confidence=confidence)
    try:
        rank(table, asked)
    except Infeasible as error:
        told = str(error).partition("feasible with: ")[2]
        offers = re.findall(r"(?:a |an )?(deadline|confidence|budget|efficiency)(?: of)? ([0-9.e+:-]+)", told)
        assert bool(offers) == bool(told)
        names = {"deadline": "deadline", "confidence": "confidence", "budget": "budget_node_hours", "efficiency": "min_efficiency"}
        for name, value in offers:
            number = duration(value) if name == "deadline" else float(value)
            assert rank(table, Objective.model_validate({**asked.model_dump(), names[name]: number})).order


def test_the_confidence_that_is_offered_is_the_highest_that_would_do() -> None:
    """In steps of one percent."""
    asked = Objective(deadline=1050)
    with pytest.raises(Infeasible) as refused:
        rank(scored(), asked)
    (offered,) = re.findall(r"confidence (0\.[0-9]+)$", str(refused.value))
    assert rank(scored(), asked.model_copy(update={"confidence": float(offered)})).order
    with pytest.raises(Infeasible):
        rank(scored(), asked.model_copy(update={"confidence": float(offered) + 0.01}))


@given(deadline=st.integers(60, 900), budget=st.floats(0.1, 15.0), floor=st.floats(0.99, 1.0))
def test_where_no_single_concession_is_enough_all_that_are_needed_are_named(deadline: int, budget: float, floor: float) -> None:
    """The figures of the closest configuration: with all of them instead of the own ones it is feasible."""
    table = scored(serial=200.0)
    asked = Objective(minimise="time", deadline=deadline, budget_node_hours=budget, min_efficiency=floor)
    with pytest.raises(Infeasible) as refused:
        rank(table, asked)
    offers = str(refused.value).partition("feasible with all of: ")[2]
    found = re.fullmatch(r"a deadline of ([0-9:]+), a budget of ([0-9.]+) node-hours(?:, an efficiency of ([0-9.]+))?", offers)
    assert found is not None, refused.value
    assert float(found[3] or 0.0) < floor  # no limit that is met is said to be needed
    limits = {"deadline": duration(found[1]), "budget_node_hours": float(found[2]), "min_efficiency": float(found[3] or floor)}
    assert rank(table, asked.model_copy(update=limits)).order


def test_the_number_of_nodes_that_would_do_is_named_if_it_can_be_predicted() -> None:
    """The fewest; with it as max_nodes the deadline is met."""
    few, asked = scored(largest=10), Objective(deadline=3600, max_nodes=10)
    with pytest.raises(Infeasible) as refused:
        rank(replace(few, most_nodes=64, wider=scored), asked)
    (enough,) = re.findall(r", or max_nodes ([0-9]+)$", str(refused.value))
    assert rank(scored(), asked.model_copy(update={"max_nodes": int(enough)})).order
    assert scored().bound(0.9)[int(enough) - 2] > 3600


def test_no_number_of_nodes_is_named_where_none_would_do() -> None:
    """Of those that a job can have."""
    with pytest.raises(Infeasible) as refused:
        rank(replace(scored(largest=10), most_nodes=64, wider=scored), Objective(deadline=600, max_nodes=10))
    assert "max_nodes" not in str(refused.value)


def test_no_deadline_is_offered_that_a_request_cannot_have() -> None:
    """More than a year is refused."""
    with pytest.raises(Infeasible) as refused:
        rank(scored(work=1e12), Objective(deadline=600))
    assert "feasible with" not in str(refused.value)


@pytest.mark.parametrize(("most", "budget", "offered"), [(64, None, True), (64, 0.01, False), (1, None, False), (None, None, False)])
def test_nodes_that_were_not_considered_are_offered_for_a_deadline(most: int | None, budget: float | None, offered: bool) -> None:
    """One node is considered if nothing shows how the application scales. More do not help against a budget."""
    with pytest.raises(Infeasible) as refused:
        rank(replace(scored(largest=1), most_nodes=most), Objective(deadline=600, budget_node_hours=budget))
    assert ("perhaps node_count above 1" in str(refused.value)) == offered


def test_max_nodes_is_named_also_where_no_queue_takes_so_many() -> None:
    """Queues for up to ten nodes and for 20 to 64 leave ten nodes of 15."""
    with pytest.raises(Infeasible, match=r"perhaps max_nodes above 15 \(not examined\)$"):
        rank(replace(scored(largest=10), most_nodes=64), Objective(deadline=600, max_nodes=15))


def test_max_nodes_holds_where_nothing_could_be_predicted() -> None:
    """Counts that take more nodes are refused as they are with results: they need no prediction to be compared."""
    unknown = replace(scored(), nodes=np.array([10]), time=np.array([np.nan]))
    with pytest.raises(Infeasible, match=r"no configuration runs on max_nodes = 9 or fewer: the smallest has 10$"):
        rank(unknown, Objective(max_nodes=9))
    assert rank(unknown, Objective(max_nodes=10)).decisions == (
        "objective: not applied but for nodes <= 10, because nothing could be predicted",
    )


def test_max_nodes_below_all_sizes_is_what_a_refusal_names() -> None:
    """Whatever else is not met: no other limit would help."""
    table = scored()
    larger = replace(table, nodes=table.nodes + 9)
    with pytest.raises(Infeasible, match=r"no configuration runs on max_nodes = 9 or fewer: the smallest has 10$"):
        rank(larger, Objective(deadline=60, max_nodes=9))


def test_more_nodes_are_offered_only_where_time_is_what_lacks() -> None:
    """They use no fewer node-hours, so a budget below those of one node is not met on more than five."""
    with pytest.raises(Infeasible) as refused:
        rank(scored(), Objective(budget_node_hours=10, max_nodes=5))
    assert "max_nodes above" not in str(refused.value)


def test_every_constraint_that_cannot_be_met_is_named() -> None:
    """Each of these stands in the way without the other."""
    with pytest.raises(Infeasible, match=r"deadline of .* cannot be met .*, and a budget of 10 node-hours is not enough"):
        rank(scored(), Objective(deadline=600, budget_node_hours=10))


def test_the_closest_misses_by_the_least_factor() -> None:
    """With a deadline alone that is the fastest by its bound."""
    table = scored()
    assert rank_closest(table, Objective(deadline=600)).best == int(np.argmin(table.bound(0.9)))


@pytest.mark.parametrize(("limit", "words"), [(1.0, "1 doubling"), (1.004, "1 doubling"), (1.3, "1.3 doublings")])
def test_doublings_are_plural_as_they_are_written(limit: float, words: str) -> None:
    """Rounded to one, they are one."""
    assert further_than(limit) == f"more than {words}"
