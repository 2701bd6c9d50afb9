"""What failed is not chosen, and not proposed again for long."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from modak import nextruns
from modak.choiceprobability import choice_probabilities
from modak.choosing.candidates import Candidates
from modak.choosing.counts import StatedCounts
from modak.choosing.decision import decide
from modak.choosing.failures import after_failures
from modak.choosing.shapes import Shape
from modak.dsl import Request
from modak.errors import Infeasible
from modak.facts import Facts, FailedRuns, Layout, Result, SeriesKey
from modak.knowledge import packaged_root, read_guide
from modak.nextruns import next_runs
from modak.normalise import normalise
from modak.optimise import optimise, recommend
from modak.perfmodel import fit, predict_rows
from modak.perfmodel.fitting.curves import Estimated
from modak.perfmodel.forecasting.censoring import censored_runs
from modak.perfmodel.matching.questions import Question
from modak.results.failures import FAILED, OUT_OF_MEMORY, STOPPED
from modak.sizing.size import size
from modak.target import resolve
from tests.examples import Known

SERIES = SeriesKey(application="solver", system="supermuc-ng", metric="wall_time", unit="s")
WANTED = {"app_type": "hpc", "hpc": {"mpi": {}, "openmp": {}}, "workload": {"application": "solver"}}
OF_3000 = {**WANTED, "workload": {"application": "solver", "params": {"cells": 3000}}}
COUNTS = tuple[int, int, int]
"""Nodes, ranks a node and threads of each."""


def layout(counts: COUNTS) -> Layout:
    """The counts as a layout."""
    return Layout(nodes=counts[0], ranks_per_node=counts[1], threads_per_rank=counts[2])


def failed(counts: COUNTS, metric: str = FAILED, count: int = 1, **series: Any) -> FailedRuns:
    """Failed runs."""
    return FailedRuns(series=SERIES.model_copy(update={"metric": metric, "unit": "1", **series}), layout=layout(counts), count=count)


def facts(known: Known, times: dict[COUNTS, float], failures: Sequence[FailedRuns]) -> Facts:
    """Runs that took so many seconds, and runs that failed."""
    results = [Result(series=SERIES, layout=layout(counts), value=time) for counts, time in times.items()]
    return replace(known(None), models=tuple(fit(results)), failed=tuple(failures))


def asked(**job: Any) -> Request:
    """A hybrid program in the least time on at most 8 nodes, with more of a job."""
    application, target = {"app_tag": "solver", "app_type": "mpi"}, {"name": "supermuc-ng", "container_runtime": "none"}
    optimisation = {**WANTED, "objective": {"minimise": "time", "max_nodes": 8}}
    return normalise({"job": {"application": application, "target": target, "optimisation": optimisation, **job}}).request


def proposed(known: Facts, request: Request | None = None) -> list[COUNTS]:
    """The next runs."""
    runs = [one.choice.configuration for one in next_runs(request or asked(), known).proposals]
    return [(one.nodes, one.ranks_per_node, one.threads_per_rank) for one in runs]


def chosen(known: Facts, **job: Any) -> COUNTS:
    """The configuration."""
    found = recommend(asked(**job), known).choices[0].configuration
    return found.nodes, found.ranks_per_node, found.threads_per_rank


TIMES = {(nodes, 4, 12): 800 / nodes for nodes in (1, 2, 4, 8)}


@pytest.mark.parametrize("count", [1, 2])
def test_a_configuration_that_failed_twice_is_not_chosen(known: Known, count: int) -> None:
    """The best of the others is; after one failure, which may have been by chance, it still is, and the answer says so."""
    unmeasured = {counts: time for counts, time in TIMES.items() if counts[0] < 8}
    after = facts(known, unmeasured, [failed((8, 4, 12), count=count)])
    told = [reason for reason in optimise(asked(), after).plan.decisions if "8 nodes x 4x12: a run failed" in reason]
    assert (chosen(after), len(told)) == (((8, 4, 12), 1) if count == 1 else ((7, 4, 12), 0))


@pytest.mark.parametrize(("other", "out"), [({"runtime": "none"}, True), ({"compiler": "icc"}, False), ({"system": "other"}, False)])
def test_single_failures_of_one_configuration_add_up(known: Known, other: dict[str, Any], out: bool) -> None:
    """Rows of a table and of scripts differ in what they tell of one run: the answer asked for another failure, which came, and stayed."""
    unmeasured = {counts: time for counts, time in TIMES.items() if counts[0] < 8}
    after = facts(known, unmeasured, [failed((8, 4, 12)), failed((8, 4, 12), **other)])
    told = [reason for reason in optimise(asked(), after).plan.decisions if "not considered: 8 nodes x 4x12 failed (2 runs)" in reason]
    assert (chosen(after) != (8, 4, 12), bool(told)) == (out, out)


def told_of_other_problems(known: Known, times: dict[tuple[str, COUNTS], float], runs: Sequence[FailedRuns]) -> list[str]:
    """What is said of runs with other problems that failed, for one of 3000 cells on eight nodes; ``times``: by cells and counts."""
    results = [
        Result(series=SERIES.model_copy(update={"params": {"cells": cells}}), layout=layout(counts), value=time)
        for (cells, counts), time in times.items()
    ]
    request = asked(job_options=ON_EIGHT, optimisation=OF_3000)
    found = recommend(request, replace(known(None), models=tuple(fit(results)), failed=tuple(runs))).decisions
    return [reason for reason in found if "with other problems failed" in reason]


@pytest.mark.parametrize(("failures", "ended", "told"), [((1, 1), False, 1), ((1,), False, 0), ((0, 0, 2), False, 0), ((1, 1), True, 0)])
def test_what_failed_at_other_problem_sizes_is_told_of(known: Known, failures: Sequence[int], ended: bool, told: int) -> None:
    """Twice, and at no size has it ended: the layout may be the cause."""
    sizes = [f"{1000 * (at + 1)}" for at in range(3)]
    runs = [failed((8, 4, 12), count=count, params={"cells": size}) for count, size in zip(failures, sizes, strict=False) if count]
    measured = {(size, counts): time for size in sizes for counts, time in UP_TO_FOUR.items()}
    measured |= {("1000", (8, 4, 12)): 100.0} if ended else {}
    lines = ["8 nodes x 4x12: 2 runs with other problems failed, and none ended well, so this one may fail, too"]
    assert told_of_other_problems(known, measured, runs) == told * lines


@pytest.mark.parametrize(
    ("counts", "metric", "other"), [((7, 4, 12), FAILED, {}), ((8, 4, 12), STOPPED, {}), ((8, 4, 12), FAILED, {"system": "other"})]
)
def test_failures_of_other_problems_are_told_of_the_same_layout_only(
    known: Known, counts: COUNTS, metric: str, other: dict[str, Any]
) -> None:
    """Not those on other nodes or another system, nor runs that were only stopped."""
    runs = [failed(counts, metric, params={"cells": cells}, **other) for cells in ("1000", "2000")]
    assert not told_of_other_problems(known, {("3000", counts): time for counts, time in UP_TO_FOUR.items()}, runs)


@pytest.mark.parametrize(("cells", "other", "told"), [(1000, {}, 1), (9000, {}, 0), (1000, {"tolerance": "5"}, 0)])
def test_too_little_memory_for_a_smaller_problem_is_told_of(known: Known, cells: int, other: dict[str, str], told: int) -> None:
    """The first time: a larger one hardly needs less."""
    runs = [failed((8, 4, 12), OUT_OF_MEMORY, params={"cells": str(cells), **other})]
    lines = ["8 nodes x 4x12: 1 run with other problems failed, and none ended well, so this one may fail, too"]
    assert told_of_other_problems(known, {("3000", counts): time for counts, time in UP_TO_FOUR.items()}, runs) == told * lines


def test_the_answer_says_what_is_not_considered(known: Known) -> None:
    """And how to have it considered again."""
    unmeasured = {counts: time for counts, time in TIMES.items() if counts[0] < 8}
    answer = optimise(asked(), facts(known, unmeasured, [failed((8, 4, 12), count=3)]))
    assert any("not considered: 8 nodes x 4x12 failed (3 runs)" in reason and "results doubt" in reason for reason in answer.plan.decisions)


def test_a_run_that_succeeded_outweighs_those_that_failed(known: Known) -> None:
    """Also one that had too little memory, perhaps because another job had it."""
    for metric in (FAILED, OUT_OF_MEMORY):
        assert chosen(facts(known, TIMES, [failed((8, 4, 12), metric, 5)])) == (8, 4, 12)


@pytest.mark.parametrize(("succeeded", "told"), [(True, 0), (False, 1)])
def test_too_little_memory_tells_of_no_others_once_the_same_run_succeeded(known: Known, succeeded: bool, told: int) -> None:
    """Neither of fewer nodes, nor of layouts with more ranks: nothing is left out, and the answer does not say so."""
    times = {counts: time for counts, time in TIMES.items() if counts[0] > 1 and (succeeded or counts[0] < 8)}
    answer = optimise(asked(), facts(known, times | {(7, 48, 1): 150.0}, [failed((8, 4, 12), OUT_OF_MEMORY)]))
    assert len([reason for reason in answer.plan.decisions if reason.startswith("not considered")]) == told


def test_an_estimated_time_is_no_run_that_succeeded(known: Known) -> None:
    """Other applications tell it, whatever became of the run."""
    unmeasured = {counts: time for counts, time in TIMES.items() if counts[0] < 8}
    after = facts(known, unmeasured, [failed((8, 4, 12), count=2)])
    (curve,) = fit([Result(series=SERIES, layout=layout((8, 4, 12)), value=100)])
    guess = curve.model_copy(update={"estimated": Estimated(model="of others", half_width=0.1)})
    assert chosen(replace(after, models=(*after.models, guess))) == (7, 4, 12)


@pytest.mark.parametrize(
    ("other", "told"),
    [({"system": "other"}, False), ({"params": {"cells": "1000"}}, False), ({"mpi": "openmpi"}, False), ({}, True)],
)
def test_failures_of_other_runs_tell_nothing(known: Known, other: dict[str, Any], told: bool) -> None:
    """On another system, of another problem or with another library."""
    unmeasured = {counts: time for counts, time in TIMES.items() if counts[0] < 8}
    failures = [failed((8, 4, 12), count=2, **other)]
    of_mpi = SERIES.model_copy(update={"mpi": "intel-mpi"})
    results = [Result(series=of_mpi, layout=layout(counts), value=time) for counts, time in unmeasured.items()]
    found = chosen(replace(facts(known, {}, failures), models=tuple(fit(results))))
    assert found == ((7, 4, 12) if told else (8, 4, 12))


def test_a_run_with_too_little_memory_tells_of_those_that_need_as_much(known: Known) -> None:
    """Fewer nodes, or more ranks on each: first runs are on more nodes, or of fewer ranks."""
    before = proposed(facts(known, {}, ()))
    after = proposed(facts(known, {}, [failed((2, 12, 4), OUT_OF_MEMORY)]))
    assert {(1, 12, 4), (1, 48, 1)} <= set(before)
    assert after
    assert not [run for run in after if run[0] <= 2 and run[1] >= 12]


def test_the_first_runs_are_on_more_nodes_than_any_that_had_too_little_memory(known: Known) -> None:
    """Up to what the request allows; and so is the choice."""
    assert {run[0] for run in proposed(facts(known, {}, [failed((4, 1, 48), OUT_OF_MEMORY)]))} == {8}
    assert chosen(facts(known, {}, [failed((4, 1, 48), OUT_OF_MEMORY)]))[0] == 8


@pytest.mark.parametrize(("further", "sizes"), [(failed((1, 1, 48), OUT_OF_MEMORY), {4, 8}), (failed((4, 1, 48), count=2), {4, 8})])
def test_the_most_nodes_that_had_too_little_memory_count(known: Known, further: FailedRuns, sizes: set[int]) -> None:
    """And not those of runs that failed for another reason."""
    runs = [failed((2, 1, 48), OUT_OF_MEMORY), further]
    orders = (facts(known, {}, runs[::order]) for order in (1, -1))
    assert [{run[0] for run in proposed(after, asked(optimisation=WANTED))} for after in orders] == [sizes] * 2


def test_too_little_memory_counts_where_it_was_although_fewer_nodes_had_enough(known: Known) -> None:
    """A program may need more of it on more nodes; the other sizes are not in question then, and the answer does not say so."""
    unmeasured = {counts: time for counts, time in TIMES.items() if counts[0] < 8}
    after = facts(known, unmeasured, [failed((8, 4, 12), OUT_OF_MEMORY)])
    assert chosen(after) == (7, 4, 12)
    assert any("not considered: 8 nodes x 4x12 had too little memory (" in reason for reason in recommend(asked(), after).decisions)


def test_a_plan_tries_what_needs_less_memory_where_every_choice_would_fail(known: Known) -> None:
    """Layouts of fewer ranks, which no choice is made of before they have run."""
    after = facts(known, {}, [failed((8, 2, 24), OUT_OF_MEMORY)])
    with pytest.raises(Infeasible):
        recommend(asked(), after)
    assert {run[1] for run in proposed(after)} == {1}


@pytest.mark.parametrize("measured", [{}, {counts: time for counts, time in TIMES.items() if counts[0] < 8}])
def test_a_plan_says_what_is_not_considered(known: Known, measured: dict[COUNTS, float]) -> None:
    """The first one, and those that follow."""
    notes = next_runs(asked(), facts(known, measured, [failed((8, 4, 12), OUT_OF_MEMORY)])).notes
    assert any(note.startswith("not considered: 8 nodes x 4x12 had too little memory") for note in notes)


def test_first_runs_beyond_too_little_memory_are_of_several_sizes(known: Known) -> None:
    """As other first runs are, if the request leaves the sizes open: one alone would not show how the program scales."""
    after = facts(known, {}, [failed((4, 1, 48), OUT_OF_MEMORY)])
    assert {run[0] for run in proposed(after, asked(optimisation=WANTED))} == {8, 16}


@pytest.mark.parametrize("other", [{"system": "other"}, {"params": {"cells": "1000"}}])
def test_first_runs_are_as_before_if_others_had_too_little_memory(known: Known, other: dict[str, Any]) -> None:
    """On another system, or of another problem, on many nodes."""
    given = {"app_type": "hpc", "hpc": {"mpi": {}, "openmp": {}}, "workload": {"application": "solver", "params": {"cells": "8"}}}
    before, after = (
        proposed(facts(known, {}, failures), asked(optimisation=given)) for failures in ((), [failed((64, 48, 1), OUT_OF_MEMORY, **other)])
    )
    assert after == before


def test_if_no_number_of_nodes_has_the_memory_the_request_is_refused(known: Known) -> None:
    """With what failed, and what to do when it is mended."""
    for ask in (next_runs, recommend):
        with pytest.raises(Infeasible, match=r"8 nodes x 1x48 had too little memory, so .* have, too; once .*'modak results doubt'"):
            ask(asked(), facts(known, {}, [failed((8, 1, 48), OUT_OF_MEMORY)]))


@pytest.mark.parametrize("runs", [[failed((1, 4, 12), count=2)], [failed((1, 4, 12), OUT_OF_MEMORY), failed((2, 4, 12), count=2)]])
def test_more_nodes_do_not_help_against_other_failures(known: Known, runs: list[FailedRuns]) -> None:
    """Neither where one node fails for another reason, nor where it has too little memory, and two fail."""
    with pytest.raises(Infeasible, match=rf"{len(runs)} nodes? x 4x12 failed \(2 runs\)"):
        recommend(asked(job_options=OF_FOUR), facts(known, {}, runs))


def test_counts_that_a_request_gives_are_kept_with_a_warning(known: Known) -> None:
    """Who writes them wants to try."""
    counts = {"node_count": 2, "process_count_per_node": 48, "core_count_per_process": 1}
    answer = optimise(asked(job_options=counts), facts(known, {}, [failed((2, 48, 1), OUT_OF_MEMORY)]))
    assert answer.plan.configuration.nodes == 2
    assert any("this job may fail, too: 2 nodes x 48x1 had too little memory" in one.message for one in answer.plan.warnings)


THREADS = {"app_type": "hpc", "hpc": {"openmp": {}}, "workload": {"application": "solver"}}


def with_parts(known: Known, run: FailedRuns, *, per_core_gb: float | None = 1.8, whole: bool = False) -> Facts:
    """A run that failed, where jobs get so much memory with each core; ``whole``: and all cores of a node."""
    system = known(None).systems["supermuc-ng"]
    partition = system.default_partition.model_copy(update={"default_memory_per_cpu_gb": per_core_gb, "whole_nodes": whole})
    return replace(facts(known, {}, [run]), systems={system.name: system.model_copy(update={"partitions": (partition,)})})


@pytest.mark.parametrize(
    ("threads", "gets", "asked_for", "told"),
    [
        (1, {}, None, False),
        (1, {"per_core_gb": None}, None, True),
        (1, {"whole": True}, None, True),
        (48, {}, None, True),
        (12, {}, 12, True),
        (12, {}, 24, False),
    ],
)
def test_a_run_with_the_memory_of_a_few_cores_tells_of_no_more_cores(
    known: Known, threads: int, gets: dict[str, Any], asked_for: int | None, told: bool
) -> None:
    """Unless a job has all of a node's memory, or the run had: then a node needs as much for any threads."""
    request = asked(optimisation=THREADS, application={"app_tag": "solver", "threads": asked_for})
    with pytest.raises(Infeasible, match="too little memory") if told else nullcontext():
        recommend(request, with_parts(known, failed((1, 1, threads), OUT_OF_MEMORY), **gets))


def test_a_run_with_too_little_memory_is_repeated_with_the_memory_of_the_request(known: Known) -> None:
    """A refusal says how; with it the job is written, and a warning says what happened."""
    one, known_facts = {"app_tag": "solver", "threads": 1}, with_parts(known, failed((1, 1, 1), OUT_OF_MEMORY))
    with pytest.raises(Infeasible, match=r"; ask for more \(job_options\.memory_limit\); "):
        recommend(asked(optimisation=THREADS, application=one), known_facts)
    more = optimise(asked(optimisation=THREADS, application=one, job_options={"memory_limit": "8 GB"}), known_facts)
    (warning,) = [one for one in more.plan.warnings if one.field == "job_options.memory_limit"]
    assert warning.message.startswith("this job may fail, too: 1 node x 1x1 had too little memory")


def test_of_given_ranks_all_numbers_of_nodes_are_kept(known: Known) -> None:
    """Two nodes would have the memory, and not twelve ranks."""
    after, request = facts(known, {}, [failed((1, 4, 12), OUT_OF_MEMORY), failed((3, 4, 12), count=2)]), asked()
    found = Candidates((Shape(4, 12),), (np.array([1, 3]),), StatedCounts(ranks=12), most_nodes=3)
    left = after_failures(request, resolve(request, after), found, after)
    assert ([nodes.tolist() for nodes in left.nodes], len(left.warnings)) == ([[1, 3]], 1)


@pytest.mark.parametrize(("metric", "count", "told"), [(FAILED, 1, 1), (FAILED, 2, 0), (OUT_OF_MEMORY, 1, 0)])
def test_of_given_counts_only_a_first_failure_is_said_to_be_one(known: Known, metric: str, count: int, told: int) -> None:
    """Of others the warning tells, and that they had too little memory."""
    counts = {"node_count": 2, "process_count_per_node": 48, "core_count_per_process": 1}
    answer = optimise(asked(job_options=counts), facts(known, {}, [failed((2, 48, 1), metric, count)]))
    assert sum("a run failed, not for want of memory" in reason for reason in answer.plan.decisions) == told


@pytest.mark.parametrize(("count", "again"), [(1, True), (2, False)])
def test_a_run_that_failed_for_another_reason_is_tried_once_more(known: Known, count: int, again: bool) -> None:
    """It may have failed by chance; the plan says so."""
    after = facts(known, {}, [failed((1, 12, 4), count=count)])
    assert ((1, 12, 4) in proposed(after)) is again
    assert any(note.startswith("1 node x 12x4") and "a run failed" in note for note in next_runs(asked(), after).notes) is again


def test_plans_end_where_runs_fail(known: Known) -> None:
    """Whatever runs on four nodes and more fails: none is proposed a third time."""
    times, failures, runs = dict(list(TIMES.items())[:2]), dict[COUNTS, int](), list[COUNTS]()
    given = asked(job_options=OF_FOUR)
    for _ in range(12):
        runs = proposed(facts(known, times, [failed(counts, count=count) for counts, count in failures.items()]), given)
        failures |= {run: failures.get(run, 0) + 1 for run in runs if run[0] >= 4}
        times |= {run: 800 / run[0] for run in runs if run[0] < 4}
        if not runs:
            break
    assert not runs
    assert max(failures.values()) == 2


def stopped(seconds: float, counts: COUNTS = (8, 4, 12), count: int = 2, **series: Any) -> FailedRuns:
    """Runs of which the longest was stopped after so many seconds."""
    return failed(counts, STOPPED, count, unit="s", **series).model_copy(update={"longest_s": seconds})


def lasting(**length: int) -> Request:
    """The request for a run of this length."""
    request = asked()
    return request.changed(optimisation={"workload": request.optimisation.workload.model_copy(update=length)})


UP_TO_FOUR = {counts: time for counts, time in TIMES.items() if counts[0] < 8}
TOLD = "a run of this layout was stopped, so this one takes more than 00:20:00"
HUNG = "if it hung, 'modak results doubt' takes it out"
OF_FOUR = {"process_count_per_node": 4, "core_count_per_process": 12}
ON_EIGHT = {"node_count": 8, **OF_FOUR}


@pytest.mark.parametrize(("params", "length"), [({}, {}), ({"epochs": "20"}, {"epochs": 20}), ({"epochs": "5"}, {"epochs": 20})])
def test_a_run_that_was_stopped_takes_longer(known: Known, params: dict[str, str], length: dict[str, int]) -> None:
    """By the longest of those that were, also if it has more to do; the answer says so, and the job gets twice that at least."""
    runs = [stopped(900), stopped(1200, params=params)]
    plan = optimise(lasting(**length).changed(job_options=ON_EIGHT), facts(known, {**UP_TO_FOUR, (3, 4, 12): 800 / 3}, runs)).plan
    found = plan.prediction
    assert (found.longer_than, found.basis) == (1200, "heuristic")
    assert 1200 < (found.lower or 0) < (found.value or 0) < (found.upper or 0) <= (plan.wall_time_s or 0)
    assert (plan.wall_time_s or 0) > 2 * 1200
    warned = f"{TOLD}, though at most 00:01:48 is predicted without it: how much more is a guess ({HUNG})"
    assert [warning.message for warning in plan.warnings if TOLD in warning.message] == [warned]
    longer = "8 nodes x 4x12 takes more than 20 min, because a run of this layout was stopped on 8 nodes after 20 min"
    assert f"{longer}; without that, 100 s would be predicted" in plan.decisions


def test_a_run_that_was_stopped_long_before_its_end_changes_nothing(known: Known) -> None:
    """So no other time is said to be predicted without it."""
    without, after = (recommend(asked(job_options=ON_EIGHT), facts(known, UP_TO_FOUR, runs)) for runs in ([], [stopped(5)]))
    assert after.choices[0].prediction.value == pytest.approx(without.choices[0].prediction.value)
    longer = "8 nodes x 4x12 takes more than 5 s, because a run of this layout was stopped on 8 nodes after 5 s"
    assert [reason for reason in after.decisions if "was stopped" in reason] == [longer]


@pytest.mark.parametrize(
    ("further", "told"), [([], [0, 300, 0]), ([failed((4, 4, 12))], [0, 300, 0]), ([stopped(200, (4, 4, 12), 1)], [300, 300, 200])]
)
def test_only_several_runs_that_were_stopped_tell_of_other_sizes(further: list[FailedRuns], told: list[float]) -> None:
    """One alone, whatever else failed, tells of its own."""
    runs = [stopped(300, (4, 4, 12), 1), *further]
    stops = censored_runs(
        Question({"application": "solver", "system": "supermuc-ng"}, Layout(ranks_per_node=4, threads_per_rank=12)), (), runs
    )
    least = [one.least_s(np.array([3, 4, 6]), grows=False) for one in stops]
    assert np.max(least, axis=0).tolist() == told


def test_a_run_that_was_stopped_tells_of_the_sizes_next_to_it(known: Known) -> None:
    """Fewer are not faster, and more save their share at most: else each would be tried in its turn. Not beyond one that ran to its end."""
    after = facts(known, UP_TO_FOUR, [stopped(1200)])
    on = (ON_EIGHT | {"node_count": nodes} for nodes in (2, 3, 4, 5, 7, 12, 16))
    least = [recommend(asked(job_options=counts, optimisation=WANTED), after).choices[0].prediction.longer_than for counts in on]
    assert least == [None, None, None, 1200, 1200, 800, 600]
    farther = recommend(asked(job_options=ON_EIGHT | {"node_count": 16}, optimisation=WANTED), after)
    assert any("more than 10 min, even if it scales perfectly, because a run" in reason for reason in farther.decisions)
    assert chosen(after) == (4, 4, 12)


def test_one_run_that_was_stopped_may_have_hung(known: Known) -> None:
    """So it tells of no other number of nodes; two of a layout do, but for one where another one has ended since."""
    hung, other, elsewhere = (stopped(1200, counts, 1) for counts in ((8, 4, 12), (7, 4, 12), (8, 12, 4)))

    def least(times: dict[COUNTS, float], *runs: FailedRuns) -> list[float | None]:
        after = facts(known, times, runs)
        on = (ON_EIGHT | {"node_count": nodes} for nodes in (6, 8, 12))
        return [recommend(asked(job_options=counts, optimisation=WANTED), after).choices[0].prediction.longer_than for counts in on]

    assert least(UP_TO_FOUR, hung) == least(UP_TO_FOUR, hung, elsewhere) == [None, 1200, None]
    assert least(UP_TO_FOUR, hung, other) == [1200, 1200, 800]
    assert least({**UP_TO_FOUR, (7, 4, 12): 115.0}, hung, other) == [None, 1200, None]


@pytest.mark.parametrize("objective", [{"minimise": "time"}, {"minimise": "node_hours", "deadline": "00:03:10"}])
def test_sizes_are_not_stopped_one_after_the_other(known: Known, objective: dict[str, Any]) -> None:
    """A program that takes ten times what its results make of it on more nodes than they had: the fourth run has ended, at the latest, or
    is not tried, as none meets the deadline."""
    request, runs = asked(optimisation={**WANTED, "objective": objective}), list[FailedRuns]()
    with suppress(Infeasible):  # nothing is known to meet the deadline any more
        for _ in range(6):
            plan = optimise(request, facts(known, UP_TO_FOUR, runs)).plan
            nodes, given = plan.configuration.nodes, plan.wall_time_s or 0
            if 120 + 800 / nodes * (10 if nodes > 4 else 1) <= given:
                break
            runs.append(stopped(given - 60, (nodes, 4, 12), 1))
    assert len(runs) <= 3


@pytest.mark.parametrize(
    ("objective", "nodes"),
    [
        ({"minimise": "time"}, 4),
        ({"minimise": "node_hours", "deadline": "00:03:20"}, None),
        ({"minimise": "node_hours", "deadline": "00:05:00"}, 3),
        ({"min_efficiency": 0.9}, 4),
    ],
)
def test_a_run_that_was_stopped_counts_for_every_objective(known: Known, objective: dict[str, Any], nodes: int | None) -> None:
    """What is predicted to meet the deadline, but for it, does not."""
    request = asked(optimisation={**WANTED, "objective": {"max_nodes": 8, **objective}})
    after = facts(known, UP_TO_FOUR, [stopped(1200)])
    if nodes is None:
        assert recommend(request, facts(known, UP_TO_FOUR, [])).choices[0].configuration.nodes > 4
        with pytest.raises(Infeasible, match=r"the deadline of 00:03:20 cannot be met at confidence 0\.9"):
            recommend(request, after)
    else:
        assert recommend(request, after).choices[0].configuration.nodes == nodes


def test_a_plan_of_runs_reckons_with_a_run_that_was_stopped(known: Known) -> None:
    """With its node-hours, and not as one that may be the best: what ran to its end is, and further layouts are worth a look."""
    given = asked(job_options=OF_FOUR)
    without, after = (next_runs(given, facts(known, UP_TO_FOUR, runs)) for runs in ([], [stopped(1200)]))
    assert [one.choice.configuration.nodes for one in without.likely] == [8]
    assert [one.choice.configuration.nodes for one in after.likely] == [4]
    assert not [one.choice.prediction.value for one in after.proposals if 4 < one.choice.configuration.nodes <= 8]


@pytest.mark.parametrize("runs", [[], [stopped(1200)]])
def test_what_a_planned_run_is_expected_to_cost_is_what_is_predicted(known: Known, runs: list[FailedRuns]) -> None:
    """Of a unit of its work, also where a run was stopped: its result is not expected to be one that is known to be wrong."""
    epochs = SERIES.model_copy(update={"params": {"epochs": "5"}})
    models = fit([Result(series=epochs, layout=layout(counts), value=time) for counts, time in UP_TO_FOUR.items()])
    request = lasting(epochs=20).changed(job_options=ON_EIGHT)
    decision = decide(request, replace(known(None), models=models, failed=tuple(runs)))
    run = nextruns._run(request, decision, 0)
    assert 4 * run.cost == pytest.approx(decision.scored.time[0])
    assert run.cost == pytest.approx(decision.evidence.columns.value[0]) or runs


@pytest.mark.parametrize(("seconds", "nodes"), [(1200, 8), (1200, 7), (1200, 12), (115, 8), (1200, 3)])
@pytest.mark.parametrize("length", [{}, {"epochs": 20}])
def test_rows_of_a_table_are_predicted_as_requests_are(known: Known, seconds: float, nodes: int, length: dict[str, int]) -> None:
    """Where a run was stopped, too: on its own number of nodes, on others, and where it tells nothing."""
    series = SERIES.model_copy(update={"params": {name: str(number) for name, number in length.items()}})
    results = [Result(series=series, layout=layout(counts), value=time) for counts, time in UP_TO_FOUR.items()]
    facts = replace(known(None), models=tuple(fit(results)), failed=(stopped(seconds, params=series.params),))
    wanted = {"app_type": "hpc", "hpc": {"mpi": {}, "openmp": {}}, "workload": {"application": "solver", **length}}
    found = recommend(asked(job_options=ON_EIGHT | {"node_count": nodes}, optimisation=wanted), facts).choices[0].prediction
    counts = {"nodes": nodes, "ranks_per_node": 4, "threads_per_rank": 12}
    row = {"application": "solver", "system": "supermuc-ng", "metric": "wall_time", **counts} | {
        f"params.{name}": length[name] for name in length
    }
    (told,) = predict_rows([row], {"solver": facts.models}, failed={"solver": facts.failed})
    assert (told["predicted"], told["lower"], told["upper"]) == pytest.approx((found.value, found.lower, found.upper))
    assert (told["basis"], "by a stopped run" in told["model"]) == (found.basis, found.longer_than is not None)


def test_what_is_predicted_is_what_is_left_of_its_distribution(known: Known) -> None:
    """At each confidence: of the runs that take longer than six in ten, eight in ten are over when 92 of all 100 are."""
    found = decide(asked(job_options=ON_EIGHT), facts(known, UP_TO_FOUR, [])).scored
    after = decide(asked(job_options=ON_EIGHT), facts(known, UP_TO_FOUR, [stopped(found.bound_of(0, 0.6))])).scored
    for confidence, of_all in ((0.5, 0.8), (0.8, 0.92), (0.95, 0.98)):
        assert after.bound(confidence) == pytest.approx(found.bound(of_all))
        assert after.bound_of(0, confidence) == pytest.approx(found.bound_of(0, of_all))
    assert after.time == pytest.approx(found.bound(0.8))


def test_a_job_gets_twice_the_time_of_a_run_that_was_stopped(known: Known) -> None:
    """At least, although the interval ends before."""
    plan = optimise(asked(job_options=ON_EIGHT), facts(known, UP_TO_FOUR, [stopped(115)])).plan
    assert 115 < (plan.prediction.upper or 0) < 2 * 115
    assert plan.wall_time_s == 600
    assert "wall time: 00:10:00, 2 x the 00:01:55 that a stopped run shows it to exceed plus the job's start" in plan.decisions


def test_draws_of_a_run_that_was_stopped_may_meet_a_deadline(known: Known) -> None:
    """Whether they do differs from draw to draw."""
    request = asked(optimisation={**WANTED, "objective": {"minimise": "node_hours", "deadline": "00:02:10"}})
    scored = decide(request, facts(known, UP_TO_FOUR, [stopped(108)])).scored
    assert scored.predicted is not None
    assert np.count_nonzero(choice_probabilities(request, scored)) > 2


def test_where_the_problem_grows_a_stopped_run_tells_of_its_own_size(known: Known) -> None:
    """Another number of nodes has another problem."""
    weak = {"scaling": "weak"}
    results = [Result(series=SERIES.model_copy(update={"params": weak}), layout=layout(counts), value=100) for counts in UP_TO_FOUR]
    after = replace(known(None), models=tuple(fit(results)), failed=(stopped(1200, params=weak),))
    counts = ({"job_options": ON_EIGHT | {"node_count": nodes}} for nodes in (7, 8))
    assert [recommend(asked(**each), after).choices[0].prediction.longer_than for each in counts] == [None, 1200]


def test_what_failed_twice_is_not_what_a_goal_needs(known: Known) -> None:
    """A sizing leaves out what a choice does, and says so."""
    request = asked(optimisation={**WANTED, "objective": {"deadline": "00:03:00"}})
    guide = read_guide(packaged_root() / "sizing/primeflex.toml")
    found = size(request, facts(known, UP_TO_FOUR, [failed((5, 4, 12), count=2)]), guide).platforms[0]
    assert found.nodes.value == 6
    assert any(note.startswith("not considered: 5 nodes x 4x12 failed (2 runs)") for note in found.notes)


def test_no_deadline_is_met_by_a_guess_on_a_guess(known: Known) -> None:
    """However many nodes there are: by what two stopped runs leave possible, 300 of them would meet it. Who wants that says so."""
    after, goal = facts(known, UP_TO_FOUR, [stopped(1200)]), {"minimise": "node_hours", "deadline": "00:02:30"}
    with pytest.raises(Infeasible, match=r"closest: 4 nodes, .*, or max_nodes [0-9]+ \(a guess, because runs were stopped\)") as refused:
        recommend(asked(job_options=OF_FOUR, optimisation={**WANTED, "objective": goal}), after)
    most = int(str(refused.value).partition("max_nodes ")[2].split()[0])
    found = recommend(asked(job_options=OF_FOUR, optimisation={**WANTED, "objective": {**goal, "max_nodes": most}}), after)
    assert found.choices[0].configuration.nodes > 100


def test_a_deadline_before_a_stop_cannot_be_met(known: Known) -> None:
    """However little confidence is asked for; the message says of which run that is known."""
    objective = {"deadline": "00:19:00", "confidence": 0.5}
    request = asked(optimisation={**WANTED, "objective": objective}, job_options=ON_EIGHT)
    with pytest.raises(Infeasible, match="more than 20 min by a run that was stopped"):
        recommend(request, facts(known, UP_TO_FOUR, [stopped(1200)]))


def test_the_time_of_an_epoch_is_not_held_against_a_run_that_was_stopped(known: Known) -> None:
    """Nor in the message that it is too long."""
    epochs = SERIES.model_copy(update={"metric": "epoch_time"})
    models = fit([Result(series=epochs, layout=layout(counts), value=10 * time) for counts, time in UP_TO_FOUR.items()])
    request = asked(optimisation={**WANTED, "objective": {"deadline": "00:02:00"}}, job_options=ON_EIGHT)
    with pytest.raises(Infeasible, match="closest: 8 nodes") as refused:
        recommend(request, replace(known(None), models=models, failed=(stopped(7200),)))
    assert "stopped" not in str(refused.value)


@pytest.mark.parametrize("order", [1, -1])
def test_the_run_that_is_named_had_no_more_to_do(known: Known, order: int) -> None:
    """Of two that were stopped after as long."""
    runs = [stopped(1200, (4, 4, 12), params={"epochs": "20"}), stopped(1200, (8, 4, 12), params={"epochs": "5"})][::order]
    up_to_two = {counts: time for counts, time in TIMES.items() if counts[0] < 4}
    plan = optimise(lasting(epochs=10).changed(job_options={**ON_EIGHT, "node_count": 4}), facts(known, up_to_two, runs)).plan
    assert [reason for reason in plan.decisions if "was stopped on 8 nodes after 20 min" in reason]


def test_efficiency_is_relative_to_what_a_stopped_run_takes_too(known: Known) -> None:
    """Else the size with the least work would be one that is known to take more."""
    measured = {counts: 100 + time for counts, time in TIMES.items() if counts[0] > 1}
    without, after = (recommend(asked(), facts(known, measured, runs)) for runs in ([], [stopped(1200, (1, 4, 12))]))
    assert without.least_work == pytest.approx(900 / 3600, rel=0.02)
    assert after.least_work == pytest.approx(2 * 500 / 3600)
    given = recommend(asked(job_options={**ON_EIGHT, "node_count": 4}), facts(known, measured, [stopped(1200, (1, 4, 12))]))
    assert given.least_work == pytest.approx(after.least_work)
    assert given.choices[0].efficiency == pytest.approx(500 * 2 / (300 * 4), abs=1e-4)


@pytest.mark.parametrize(
    ("times", "run"),
    [
        (UP_TO_FOUR, stopped(60)),
        (UP_TO_FOUR, stopped(1200, (4, 4, 12))),
        (UP_TO_FOUR, stopped(1200, system="elsewhere")),
        (UP_TO_FOUR, stopped(1200, params={"epochs": "30"})),
        (TIMES, stopped(1200)),
    ],
    ids=["sooner than predicted", "another configuration", "another system", "a longer run", "one ran to its end"],
)
def test_a_run_that_was_stopped_tells_of_nothing_else(known: Known, times: dict[COUNTS, float], run: FailedRuns) -> None:
    """Nor of runs that it does not contradict."""
    request = lasting(epochs=20) if run.series.params else asked()
    without, plan = (optimise(request, facts(known, times, runs)).plan for runs in ([], [run]))
    assert (plan.wall_time_s, plan.warnings) == (without.wall_time_s, without.warnings)


def test_a_run_that_was_stopped_does_not_contradict_the_time_of_an_epoch(known: Known) -> None:
    """If the request does not say how many epochs the run has, nobody knows what the whole run takes."""
    epochs = SERIES.model_copy(update={"metric": "epoch_time"})
    models = fit([Result(series=epochs, layout=layout(counts), value=time) for counts, time in UP_TO_FOUR.items()])
    plan = optimise(asked(job_options=ON_EIGHT), replace(known(None), models=models, failed=(stopped(1200),))).plan
    assert plan.prediction.longer_than is None
    assert not [warning.message for warning in plan.warnings if TOLD in warning.message]


@pytest.mark.parametrize(
    ("options", "is_told"),
    [({}, True), ({"wall_time_limit": "01:00:00"}, True), ({"job_dependency": "afterany:7"}, False), ({"signal": "TERM@60"}, True)],
    ids=["open", "given", "continued by another job", "not told, because mpirun keeps the signal back"],
)
def test_a_stop_counts_unless_another_job_continues_what_is_stopped(known: Known, options: dict[str, str], is_told: bool) -> None:
    """Which may be stopped again and again."""
    plan = optimise(asked(job_options=ON_EIGHT | options), facts(known, UP_TO_FOUR, [stopped(1200)])).plan
    assert any(TOLD in warning.message for warning in plan.warnings) == is_told
    assert bool(plan.prediction.longer_than) == is_told


@pytest.mark.parametrize("times", [UP_TO_FOUR, {}], ids=["predicted", "not predicted"])
def test_a_limit_that_stopped_a_run_is_warned_of(known: Known, times: dict[COUNTS, float]) -> None:
    """Where the request gives it."""
    plan = optimise(asked(job_options=ON_EIGHT | {"wall_time_limit": "00:20:00"}), facts(known, times, [stopped(1200)])).plan
    said = "00:20:00 requested, but the run takes 00:20" if times else f"{TOLD}: 00:20:00 is too short"
    assert len([warning for warning in plan.warnings if said in warning.message]) == 1
