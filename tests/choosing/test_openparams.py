"""Parameters of an application that a request leaves open (``auto``), through the main flow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modak.choosing.decision import decide
from modak.dsl import Plan, Request
from modak.errors import RequestError
from modak.facts import Facts, FailedRuns, Layout, Result
from modak.knowledge import packaged_root, read_guide
from modak.nextruns import next_runs
from modak.normalise import normalise
from modak.onerun import measurement
from modak.optimise import optimise, recommend
from modak.perfmodel import fit
from modak.prepared import prepared
from modak.results.failures import FAILED, OUT_OF_MEMORY
from modak.sizing.size import size
from tests.examples import Known
from tests.runs import ran

COMMAND = "./solve --tp ${MODAK_PARAM_TP} --pp ${MODAK_PARAM_PP}"
Times = Mapping[tuple[str, str], Mapping[int, float]]
"""Seconds by numbers of nodes, of each tp and pp that were measured together."""
MEASURED: Times = {
    ("2", "1"): {1: 400.0, 2: 220.0, 4: 130.0},
    ("4", "1"): {1: 360.0, 2: 200.0, 4: 140.0},
    ("2", "2"): {1: 500.0, 2: 240.0, 4: 110.0},
}


def runs(times: Times = MEASURED, **has: Any) -> list[Result]:
    """Runs with these parameters, on 48 ranks of each node."""
    params: Mapping[str, str] = has.pop("params", {})
    layouts = {nodes: Layout(nodes=nodes, ranks_per_node=48, threads_per_rank=1) for of in times.values() for nodes in of}
    return [
        ran(seconds, layouts[nodes], params={"tp": tp, "pp": pp, **params}, **has)
        for (tp, pp), of in times.items()
        for nodes, seconds in of.items()
    ]


def asked(nodes: int | None = 2, command: str = COMMAND, params: Mapping[str, Any] | None = None, **job: Any) -> Request:
    """A request for the solver on so many nodes, whose tp and pp are open."""
    workload = {"params": {"tp": "auto", "pp": "auto"} if params is None else params}
    wanted = {"app_type": "hpc", "hpc": {"mpi": {}}, "workload": workload, "objective": {"minimise": "time", "max_nodes": 4}}
    application = {"app_tag": "solver", "app_type": "mpi", "executable": command}
    sections = {"application": application, "target": {"name": "supermuc-ng"}, "optimisation": wanted, "job_options": {"node_count": nodes}}
    return normalise({"job": {**sections, **job}}).request


def facts(known: Known, results: Sequence[Result]) -> Facts:
    """The packaged facts with these results alone."""
    return replace(known(None), models=fit(results))


def plan(known: Known, results: Sequence[Result] | None = None, **request: Any) -> Plan:
    """The plan for the request."""
    return optimise(asked(**request), facts(known, runs() if results is None else results)).plan


def told(made: Plan) -> dict[str, str]:
    """The warnings about parameters, by their names."""
    field = "optimisation.workload.params."
    return {one.field.removeprefix(field): one.message for one in made.warnings if one.field.startswith(field)}


@pytest.mark.parametrize(
    ("nodes", "chosen", "why"),
    [
        (2, {"tp": "4", "pp": "1"}, "pp 1, tp 4; at 2 nodes pp 1, tp 2 takes 1.10 x as long, pp 2, tp 2 takes 1.20 x as long"),
        (4, {"tp": "2", "pp": "2"}, "pp 2, tp 2; at 4 nodes pp 1, tp 2 takes 1.18 x as long, pp 1, tp 4 takes 1.27 x as long"),
        (None, {"tp": "2", "pp": "2"}, "pp 2, tp 2; at 4 nodes pp 1, tp 2 takes 1.18 x as long, pp 1, tp 4 takes 1.27 x as long"),
    ],
)
def test_the_values_that_were_measured_to_be_the_fastest_are_chosen(
    known: Known, nodes: int | None, chosen: dict[str, str], why: str
) -> None:
    """The answer has them with the reason, and the others as alternatives; no other pair is tried."""
    made = plan(known, nodes=nodes)
    assert made.configuration.params == chosen
    assert f"parameters: {why}" in made.decisions
    others = [one.configuration.params or {} for one in made.alternatives if one.configuration.nodes == made.configuration.nodes]
    assert {(one["tp"], one["pp"]) for one in (chosen, *others)} == MEASURED.keys()
    assert told(made) == {}


def test_the_job_runs_with_the_values_and_records_them(known: Known) -> None:
    """They are exported for the command, and stand in its result file."""
    script = optimise(asked(), facts(known, runs())).texts.job_script
    assert "export MODAK_PARAM_PP=1\nexport MODAK_PARAM_TP=4\n" in script
    assert './solve --tp "${MODAK_PARAM_TP:?}" --pp "${MODAK_PARAM_PP:?}"' in script
    assert '"params.pp": "1", "params.tp": "4"' in script


def test_named_values_reach_the_command_as_well(known: Known) -> None:
    """So one request serves to compare."""
    request = asked(params={"tp": 2, "pp": "2"})
    script = optimise(request, facts(known, runs())).texts.job_script
    assert "export MODAK_PARAM_TP=2\nexport MODAK_PARAM_PP=2\n" in script


@settings(max_examples=12, deadline=None)
@given(
    times=st.dictionaries(
        st.tuples(st.sampled_from("124"), st.sampled_from("12")),
        st.fixed_dictionaries({nodes: st.floats(50.0, 500.0) for nodes in (1, 2, 4)}),
        min_size=1,
    ),
    nodes=st.sampled_from([1, 2, 3, 4, None]),
)
def test_the_choice_is_the_best_of_those_by_hand(known: Known, times: Times, nodes: int | None) -> None:
    """Naming each pair in turn and taking the one with the least time leads to the same time."""
    there = facts(known, runs(times))
    best = recommend(asked(nodes), there).choices[0]
    named = [recommend(asked(nodes, params={"tp": tp, "pp": pp}), there).choices[0] for tp, pp in times]
    assert best.prediction.value == pytest.approx(min(one.prediction.value or 0.0 for one in named))


def test_equal_values_are_one_in_any_spelling(known: Known) -> None:
    """A second layout whose results say 4.0 is not another value."""
    other = [ran(150.0, nodes=2, ranks_per_node=4, threads_per_rank=12, params={"tp": "4.0", "pp": "1"})]
    made = plan(known, [*runs(), *other])
    assert (made.configuration.ranks_per_node, made.configuration.params) == (4, {"tp": "4", "pp": "1"})
    assert "at 2 nodes pp 1, tp 2 takes" in str(made.decisions)
    assert "pp 1, tp 4 takes" not in str(made.decisions)


@pytest.mark.parametrize(
    ("cells", "chosen"),
    [(100, {"tp": "2", "pp": "1"}), (200, {"tp": "4", "pp": "1"}), (400, {"tp": "4", "pp": "1"})],
)
def test_values_of_other_problem_sizes_are_not_chosen(known: Known, cells: int, chosen: dict[str, str]) -> None:
    """What is faster at another size may not run at this one; a size that nobody ran has the values of the nearest one."""
    small = runs({("2", "1"): {1: 200.0, 2: 100.0, 4: 50.0}}, params={"cells": "100"})
    large = runs({("4", "1"): {1: 800.0, 2: 400.0, 4: 200.0}}, params={"cells": "200"})
    made = plan(known, [*small, *large], params={"tp": "auto", "pp": "auto", "cells": cells})
    assert made.configuration.params == chosen


def failed(nodes: int, metric: str, count: int = 1, **params: str) -> FailedRuns:
    """Failed runs with a pp of 1."""
    series = ran(1.0, params={"pp": "1", **params}).series.model_copy(update={"metric": metric, "unit": "1"})
    return FailedRuns(series=series, layout=Layout(nodes=nodes, ranks_per_node=48, threads_per_rank=1), count=count)


def of_400_cells(
    known: Known, nodes: int | None, *runs_that_failed: FailedRuns, also: Sequence[Result] = (), epochs: str | None = None
) -> Plan:
    """The plan for a problem that nobody ran; of smaller ones tp 2 was the faster one."""
    more = {"epochs": epochs} if epochs else {}
    small = runs({("2", "1"): {1: 50.0, 4: 14.0}}, params={"cells": "50", **more})
    large = runs({("2", "1"): {4: 50.0}, ("4", "1"): {1: 220.0, 2: 120.0, 4: 70.0}}, params={"cells": "100", **more})
    request = asked(nodes, params={"tp": "auto", "pp": "auto", "cells": 400, **more})
    return optimise(request, replace(facts(known, [*small, *large, *also]), failed=runs_that_failed)).plan


@pytest.mark.parametrize(
    ("nodes", "cells", "tp", "ran_then", "chosen"),
    [
        (2, "100", "2", False, "4"),
        (2, "60", "2.0", False, "4"),
        (1, "100", "2", False, "4"),
        (4, "100", "2", False, "2"),
        (2, "800", "2", False, "2"),
        (2, "100", "4", False, "2"),
        (2, "100", "2", True, "2"),
    ],
)
def test_values_with_which_a_smaller_problem_had_too_little_memory_are_not_chosen(
    known: Known, nodes: int, cells: str, tp: str, ran_then: bool, chosen: str
) -> None:
    """On as many nodes or fewer, unless it ran there, too. Neither a larger problem tells, nor one with other values."""
    also = runs({("2", "1"): {2: 26.0}}, params={"cells": cells}) if ran_then else ()
    made = of_400_cells(known, nodes, failed(2, OUT_OF_MEMORY, cells=cells, tp=tp), also=also)
    assert (made.configuration.params or {})["tp"] == chosen
    why = f"not considered: 2 nodes x 48x1 with cells {cells}, pp 1, tp {tp} had too little memory, so as many nodes or fewer"
    assert any(reason.startswith(why) for reason in made.decisions) == (chosen == "4")


@pytest.mark.parametrize(("ran_then", "chosen"), [(False, "4"), (True, "2")])
def test_how_long_a_run_is_has_no_part_in_its_memory(known: Known, ran_then: bool, chosen: str) -> None:
    """Neither of the run that had too little, nor of the requested one, nor of one that had enough."""
    also = runs({("2", "1"): {2: 26.0}}, params={"cells": "100", "epochs": "3"}) if ran_then else ()
    made = of_400_cells(known, 2, failed(2, OUT_OF_MEMORY, cells="100", tp="2", epochs="5"), also=also, epochs="4")
    assert (made.configuration.params or {})["tp"] == chosen


@pytest.mark.parametrize(("nodes", "tp", "told_of"), [(2, "2", True), (3, "2", True), (3, "4", False)])
def test_runs_with_other_values_tell_nothing_of_whether_one_fails(known: Known, nodes: int, tp: str, *, told_of: bool) -> None:
    """Neither those that failed, nor those that ran on as many nodes."""
    made = of_400_cells(known, nodes, failed(nodes, FAILED, 2, cells="100", tp=tp))
    assert made.configuration.params == {"pp": "1", "tp": "2"}
    assert any("with other problems failed, and none ended well" in reason for reason in made.decisions) == told_of


def test_a_problem_that_is_not_named_is_the_one_with_the_most_results(known: Known) -> None:
    """Open parameters are no part of it: a warning names the others."""
    few = runs({("2", "1"): {1: 90.0, 2: 50.0}}, params={"cells": "200"})
    made = plan(known, [*runs(params={"cells": "100"}), *few])
    assert made.configuration.params == {"tp": "4", "pp": "1"}
    (warning,) = (one.message for one in made.warnings if one.field == "optimisation.workload.params")
    assert "the prediction uses cells 100 (others: cells 200)" in warning


@pytest.mark.parametrize(("nodes", "chosen"), [(4, "2"), (6, "2"), (3, "4"), (5, "4"), (None, "2")])
def test_values_are_chosen_on_multiples_of_the_nodes_that_they_ran_on(known: Known, nodes: int | None, chosen: str) -> None:
    """What ran on 4 and 10 nodes may need an even number of them, where values divide the ranks."""
    times: Times = {("2", "1"): {4: 100.0, 10: 45.0}, ("4", "1"): {1: 800.0, 2: 410.0, 4: 210.0, 8: 110.0}}
    objective = {"optimisation": {"workload": {"params": {"tp": "auto", "pp": "auto"}}, "objective": {"minimise": "time"}}}
    made = plan(known, runs(times), nodes=nodes, **objective)
    assert (made.configuration.params or {})["tp"] == chosen
    assert chosen == "4" or made.configuration.nodes % 2 == 0


def test_nodes_that_were_asked_for_before_do_not_matter(known: Known) -> None:
    """What is remembered of 4 nodes does not hold for 3."""
    there = prepared(facts(known, runs({("2", "1"): {2: 100.0, 4: 50.0}, ("4", "1"): {1: 800.0, 2: 410.0, 4: 210.0}})))
    chosen = [recommend(asked(nodes), there).choices[0].configuration.params or {} for nodes in (4, 3, 2)]
    assert [one["tp"] for one in chosen] == ["2", "4", "2"]


def test_counts_that_no_values_divide_leave_all_of_them(known: Known) -> None:
    """Three nodes, where all ran on two and four."""
    times: Times = {("2", "1"): {2: 100.0, 4: 60.0}, ("4", "1"): {2: 90.0, 4: 50.0}}
    made = plan(known, runs(times), nodes=3)
    assert (made.configuration.nodes, made.configuration.params) == (3, {"tp": "4", "pp": "1"})


@pytest.mark.parametrize(
    ("results", "why"),
    [
        ([], "no results have pp, tp together"),
        *(
            ([ran(100.0, nodes=2, ranks_per_node=48, threads_per_rank=1, params={name: "1"})], "no results have pp, tp together")
            for name in ("pp", "tp")
        ),
        (runs(system="elsewhere"), "only elsewhere (pp 1, tp 2; pp 1, tp 4; pp 2, tp 2)"),
    ],
)
def test_values_that_nobody_measured_are_not_guessed(known: Known, results: list[Result], why: str) -> None:
    """The job stops where the command takes them, and a warning says so of each."""
    answer = optimise(asked(), facts(known, results))
    assert answer.plan.configuration.params is None
    assert {name: why in message for name, message in told(answer.plan).items()} == {"tp": True, "pp": True}
    assert "MODAK_PARAM_TP=" not in answer.texts.job_script
    assert '"${MODAK_PARAM_TP:?}"' in answer.texts.job_script


@pytest.mark.parametrize("value", ["..", ".", ".profile", "-", "-.", "-n", "4 4", "a/b", "x" * 65])
def test_no_value_becomes_an_option_or_a_path(known: Known, value: str) -> None:
    """``rm -r runs/${MODAK_PARAM_TP}`` would remove all runs. Where there are no others, a warning names it."""
    fast = ran(10.0, nodes=2, ranks_per_node=48, threads_per_rank=1, params={"tp": value, "pp": "1"})
    assert plan(known, [fast, *runs()]).configuration.params == {"tp": "4", "pp": "1"}
    alone = plan(known, [fast])
    assert alone.configuration.params is None
    assert f"not {value!r:.40}: name a value" in told(alone)["tp"]


@pytest.mark.parametrize("value", ["0.5", "-1", "-0.5", "8x4", "a-b", "1,2"])
def test_a_plain_value_is_chosen(known: Known, value: str) -> None:
    """Numbers of either sign, and words."""
    fast = ran(10.0, nodes=2, ranks_per_node=48, threads_per_rank=1, params={"tp": value, "pp": "1"})
    assert plan(known, [fast, *runs()]).configuration.params == {"tp": value, "pp": "1"}


def test_without_values_every_number_of_nodes_is_a_candidate(known: Known) -> None:
    """Only values divide the ranks into groups; these runs have none."""
    without = [ran(200.0 / nodes, nodes=nodes, ranks_per_node=48, threads_per_rank=1) for nodes in (2, 4)]
    grids = decide(asked(None), facts(known, without)).candidates.nodes
    assert {3} <= {int(nodes) for grid in grids for nodes in grid}


def test_serial_runs_keep_their_values(known: Known) -> None:
    """More ranks would have none."""
    serial = [ran(100.0, nodes=1, ranks_per_node=1, threads_per_rank=1, params={"tp": "2", "pp": "1"})]
    made = plan(known, serial, nodes=None)
    assert (made.configuration.ranks, made.configuration.params) == (1, {"tp": "2", "pp": "1"})


def test_results_without_the_values_do_not_count_beside_others(known: Known) -> None:
    """The fastest run of all does not say what it ran with."""
    fast = ran(10.0, nodes=2, ranks_per_node=48, threads_per_rank=1)
    assert plan(known, [fast, *runs()]).configuration.params == {"tp": "4", "pp": "1"}


@pytest.mark.parametrize(
    ("command", "warned"),
    [
        ("./solve --tp 2 --pp 1", {"tp", "pp"}),
        ("./solve --pp ${MODAK_PARAM_PP} ${MODAK_PARAM_TP2}", {"tp"}),
        ("sh -c './solve $MODAK_PARAM_TP $MODAK_PARAM_PP'", set()),
    ],
)
def test_a_command_that_does_not_take_a_value_is_told(known: Known, command: str, warned: set[str]) -> None:
    """It may run with another one than is predicted."""
    said = told(plan(known, command=command))
    assert said.keys() == warned
    assert all("is chosen, but the command does not take" in message for message in said.values())


@pytest.mark.parametrize(
    ("params", "why"),
    [
        ({"epochs": "auto"}, "epochs is not chosen"),
        ({"build": "Auto"}, "build is not chosen"),
        ({"a.b": "auto", "a-b": 3}, "a-b and a.b are one variable (MODAK_PARAM_A_B)"),
    ],
)
def test_what_is_given_and_what_has_no_variable_is_not_left_open(params: dict[str, Any], why: str) -> None:
    """One line says why."""
    with pytest.raises(RequestError) as caught:
        asked(params=params)
    assert [(one.field, why in one.message) for one in caught.value.faults] == [("optimisation.workload.params", True)]


def test_a_batch_size_may_be_left_open_by_name(known: Known) -> None:
    """As without the field, and the command may take the chosen one; advice asks for that where it does not."""
    layout = {"nodes": 1, "ranks_per_node": 48, "threads_per_rank": 1}
    results = [ran(seconds, batch_size=batch, metric="epoch_time", **layout) for batch, seconds in ((16, 90.0), (64, 60.0))]
    wanted = {"workload": {"batch_size": "auto"}, "objective": {"minimise": "time"}}
    answers = [optimise(asked(1, f"./train {word}", optimisation=wanted), facts(known, results)) for word in ("1", "${MODAK_BATCH_SIZE}")]
    assert [one.plan.configuration.batch_size for one in answers] == [64, 64]
    assert "export MODAK_BATCH_SIZE=64\n" in answers[1].texts.job_script
    assert ["which the script does not set" in str(one.plan.advice) for one in answers] == [True, False]


def test_runs_worth_measuring_have_values(known: Known) -> None:
    """Those that were measured, and those that were elsewhere; the script of a run has its own."""
    elsewhere = runs({("8", "1"): {1: 300.0, 2: 150.0, 4: 80.0}}, system="elsewhere")
    there = facts(known, [*runs({("2", "1"): MEASURED["2", "1"]}), *elsewhere])
    found = next_runs(asked(None), there)
    tried = {(one.choice.configuration.params or {}).get("tp"): one.index for one in found.proposals}
    assert "8" in tried
    assert None not in tried
    script = measurement(asked(None), there, found.decision, tried["8"]).texts.job_script
    assert "export MODAK_PARAM_TP=8\n" in script
    assert '"params.tp": "8"' in script


def test_a_sizing_names_the_values_of_its_layout(known: Known) -> None:
    """They belong to the time that is promised, on a number of nodes that they can be expected to run on."""
    wanted = {"workload": {"params": {"tp": "auto", "pp": "auto"}}, "objective": {"deadline": "00:03:00"}}
    there = facts(known, runs({("2", "2"): {2: 240.0, 4: 125.0, 8: 64.0}}))
    found = size(asked(None, optimisation=wanted), there, read_guide(packaged_root() / "sizing" / "primeflex.toml"))
    thin = next(one for one in found.platforms if one.partition == "thin")
    assert (thin.at_nodes, (thin.layout or "").endswith("pp 2, tp 2")) == (4, True)
