"""How long a job asks to run, and what is said or refused where that is not enough."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from modak.choosing.timelimits import longest_run
from modak.dsl import Request
from modak.errors import Infeasible
from modak.facts import Facts, FailedRuns, Layout, Node, Queue, Result, SeriesKey
from modak.normalise import normalise
from modak.optimise import Answer, optimise, recommend
from modak.perfmodel import fit
from modak.perfmodel.intervals import stretch
from modak.results.failures import STOPPED
from modak.target import resolve
from tests.choosing.asked import asked, changed
from tests.examples import Known, answer, example, nobody_ran_this
from tests.runs import ran
from tests.systems import site

AT_MOST = "2-00:00:01 requested, but a job of 24 nodes on supermuc-ng/thin may run for at most 2-00:00:00"


def on_testbed(
    known: Known, *runs: Result, failed: Sequence[FailedRuns] = (), part: Mapping[str, Any] | None = None, **fields: Any
) -> Facts:
    """These results alone, and the testbed at HLRS with other fields; ``part``: those of its partitions."""
    parts = known(None).systems["hlrs-testbed"].partitions
    partitions = tuple(one.model_copy(update=part or {}) for one in parts)
    facts = changed(known, "hlrs-testbed", partitions=partitions, **fields)(None)
    return replace(facts, models=fit(runs), failed=tuple(failed))


def short(seconds: float) -> Result:
    """A run on a whole node of the testbed."""
    return ran(seconds, nodes=1, ranks_per_node=1, threads_per_rank=20, system="hlrs-testbed")


@pytest.mark.parametrize(
    ("options", "warned", "limit"),
    [
        ({"wall_time_limit": "48:00:00"}, [], 172_800),
        ({"wall_time_limit": "48:00:01"}, [f"{AT_MOST}: the script asks for that"], 172_800),
        ({"wall_time_limit": "48:00:01", "reservation": "long"}, [AT_MOST], 172_801),
        ({"wall_time_limit": "48:00:01", "qos": "long"}, [AT_MOST], 172_801),
    ],
)
def test_a_run_that_is_over_in_time_asks_for_no_more_than_a_job_may_have(
    options: dict[str, str], warned: list[str], limit: int, known: Known
) -> None:
    """The scheduler would not start the job, unless a quality of service or a reservation has limits of its own."""
    plan = answer(example("3dgan-supermuc-ng", job_options=options), known).plan
    assert [one.message for one in plan.warnings if one.field == "job_options.wall_time_limit"] == warned
    assert plan.wall_time_s == limit


def test_a_run_is_over_in_time_where_its_start_up_is_known(known: Known) -> None:
    """Its prediction has that, and ends before the limit: nothing is added to it."""
    facts = known("3dgan")
    here = facts.systems["supermuc-ng"]
    partitions = tuple(one.model_copy(update={"max_wall_time_s": 3600, "queues": ()}) for one in here.partitions)
    request = example("3dgan-supermuc-ng", job_options={"wall_time_limit": "02:00:00", "node_count": 24})
    with pytest.raises(Infeasible, match="ask for no more"):
        optimise(request, replace(facts, systems={"supermuc-ng": here.model_copy(update={"partitions": partitions})}))
    told = here.model_copy(update={"partitions": partitions, "start_up_s": 0.0})
    assert optimise(request, replace(facts, systems={"supermuc-ng": told})).plan.wall_time_s == 3600


def test_a_run_that_no_job_can_hold_is_refused(known: Known) -> None:
    """It would be rejected, or wait in the queue for ever, or be stopped before its end with all its work lost."""
    with pytest.raises(Infeasible) as refused:
        nobody_ran_this(known, (Queue(name="short", max_nodes=64), Queue(name="long", max_nodes=2, max_wall_time_s=604_800)))
    (fault,) = refused.value.faults
    assert fault.field == "job_options.wall_time_limit"
    assert fault.message == (
        "3-00:00:00 requested, but a job of 4 nodes on supermuc-ng may run for at most 2-00:00:00: ask for no more; with "
        "application.checkpoint, or a signal, each job asks for that, and the next one continues it; "
        "longer jobs may run in long (1 to 2 nodes)"
    )


@pytest.mark.parametrize("turned", [1, -1])
def test_queues_of_one_name_are_told_apart_where_longer_jobs_may_run(turned: int, known: Known) -> None:
    """By their quality of service, in any order: the first may be the one that takes longer jobs."""
    several = [Queue(name="batch", max_nodes=2, qos=qos, max_wall_time_s=days * 86_400) for qos, days in (("long", 7), ("usual", 1))]
    with pytest.raises(Infeasible, match=r"longer jobs may run in batch \(qos long, 1 to 2 nodes\)$"):
        nobody_ran_this(known, (*several[::turned], Queue(name="batch", max_nodes=8)))


def test_kinds_of_nodes_of_one_name_are_named_where_one_takes_longer_jobs(known: Known) -> None:
    """Once, also if the kind that comes last takes only shorter ones."""
    thin = known(None).systems["supermuc-ng"].default_partition.model_copy(update={"queues": ()})
    kinds = (("a", "work", 259_200), ("b", "work", 259_200), ("c", "work", 86_400), ("d", "short", 86_400))
    partitions = tuple(
        thin.model_copy(update={"name": name, "queue": queue, "max_wall_time_s": seconds, "default": name == "d"})
        for name, queue, seconds in kinds
    )
    options = {"wall_time_limit": "72:00:00", "node_count": 4, "partition": "short"}
    with pytest.raises(Infeasible, match=r"longer jobs may run in work$"):
        optimise(asked(application__executable="./a", job_options=options), changed(known, partitions=partitions)(None))


@pytest.mark.parametrize(("seconds", "said"), [(216_000, "; 2-12:00:00 is the most, in single \\(1 node\\)"), (172_800, "")])
def test_the_place_of_the_longest_jobs_is_named_if_these_are_too_short_too(known: Known, seconds: int, said: str) -> None:
    """In a queue of its own, for jobs of one node; not if they are as short there."""
    with pytest.raises(Infeasible, match=f"continues it{said}$"):
        nobody_ran_this(known, (Queue(name="short", max_nodes=64), Queue(name="single", max_nodes=1, max_wall_time_s=seconds)))


@pytest.mark.parametrize(
    "job",
    [
        {"application": {"checkpoint": "touch saved"}},
        {"job_options": {"signal": "USR1@120", "node_count": 1}, "application": {"app_type": "other"}},
        {"job_options": {"job_dependency": "afterany:7"}},
    ],
)
def test_a_run_that_another_job_continues_asks_for_all_that_a_job_may_have(known: Known, job: dict[str, Any]) -> None:
    """Nothing of it is lost at the limit."""
    found = nobody_ran_this(known, **job)
    assert "#SBATCH --time=2-00:00:00\n" in found.texts.job_script
    (said,) = [one.message for one in found.plan.warnings if one.field == "job_options.wall_time_limit"]
    assert said.endswith("may run for at most 2-00:00:00: the script asks for that")


@pytest.mark.parametrize("first", [1, 3])
def test_each_number_of_nodes_has_the_longest_time_of_its_queues(known: Known, first: int) -> None:
    """Also those before and beyond all."""
    lengths = {(first, 4): 7200, (2, 8): 3600}
    queues = tuple(
        Queue(name=f"to-{most}", min_nodes=least, max_nodes=most, max_wall_time_s=time) for (least, most), time in lengths.items()
    )
    thin = known(None).systems["supermuc-ng"].default_partition.model_copy(update={"queues": queues})
    request = asked(application__executable="./a")
    target = resolve(request, changed(known, partitions=(thin,))(None))
    longest = longest_run(request, target)
    assert longest
    assert [longest(nodes) for nodes in range(1, 13)] == [target.max_wall_time_s(nodes) or math.inf for nodes in range(1, 13)]


def with_debug(facts: Facts, **fields: Any) -> Facts:
    """SuperMUC-NG with a quality of service ``debug`` of half an hour."""
    system = facts.systems["supermuc-ng"]
    queues = (Queue(name="micro", max_nodes=16), Queue(name="micro", qos="debug", max_nodes=1, max_wall_time_s=1800))
    thin = system.partitions[0].model_copy(update={"queues": queues, **fields})
    system = system.model_copy(update={"partitions": (thin, *system.partitions[1:])})
    return replace(facts, systems={**facts.systems, system.name: system})


@pytest.mark.parametrize(("options", "given"), [({}, "01:00:00"), ({"qos": "debug"}, "00:30:00")])
def test_the_default_time_of_a_partition_is_no_more_than_a_job_may_have(known: Known, options: dict[str, Any], given: str) -> None:
    """With a quality of service that gives less, the scheduler would reject the script."""
    facts = with_debug(known(None), default_wall_time_s=3600)
    script = optimise(asked(application__executable="./a", application__app_type="mpi", job_options=options), facts).texts.job_script
    assert f"#SBATCH --time={given}\n" in script


@pytest.mark.parametrize("ask", [optimise, recommend])
def test_more_time_than_the_named_quality_of_service_gives_is_refused(ask: Callable[[Request, Facts], object], known: Known) -> None:
    """The system file says how long its jobs may run; the scheduler would reject the script."""
    options = {"qos": "debug", "wall_time_limit": "01:00:00", "node_count": 1}
    request = example("3dgan-supermuc-ng", job_options=options, optimisation__objective={})
    with pytest.raises(Infeasible, match="may run for at most 00:30:00: ask for no more"):
        ask(request, with_debug(known(request.workload_name)))


@pytest.mark.parametrize(
    ("asked", "fields"), [({"partition": "of-my-own"}, {}), ({"qos": "long"}, {}), ({}, {"partition_directive": "never"})]
)
def test_a_limit_that_may_be_another_one_refuses_nothing(known: Known, asked: dict[str, str], fields: dict[str, str]) -> None:
    """That of a partition that is not on record, or that scripts do not name, or of a quality of service: the script asks for what is
    requested, with a warning."""
    found = nobody_ran_this(changed(known, **fields), job_options=asked)
    assert "#SBATCH --time=3-00:00:00\n" in found.texts.job_script
    assert "job_options.wall_time_limit" in [one.field for one in found.plan.warnings]


def test_a_job_is_not_stopped_within_the_time_that_its_confidence_reckons_with(known: Known) -> None:
    """A deadline that is met with a probability of 0.99 is not, if the job may run no longer than with one of 0.95."""
    plan = answer(example("3dgan-supermuc-ng", optimisation__objective={"deadline": 7200, "confidence": 0.99}), known).plan
    value, upper = plan.prediction.value, plan.prediction.upper
    assert plan.wall_time_s is not None
    assert value is not None
    assert upper is not None
    assert plan.wall_time_s >= value * (upper / value) ** stretch(0.98)


@pytest.mark.parametrize(("start_up", "seconds", "wall_time"), [(0.1, 0.5, 300), (None, 200.0, 600), (0.0, 200.0, 300)])
def test_a_wall_time_is_the_upper_bound_rounded_up(known: Known, start_up: float | None, seconds: float, wall_time: int) -> None:
    """Never 0, which would be no limit. Time to start is only added if the system's file does not give it; 0 is given, too."""
    facts = on_testbed(known, short(seconds), start_up_s=start_up)
    assert optimise(asked("hlrs-testbed"), facts).plan.wall_time_s == wall_time


@pytest.mark.parametrize(
    ("metric", "seconds", "start_up"), [("wall_time", 200.0, None), ("epoch_time", 260.0, 60), ("solve_time", 260.0, 60)]
)
def test_the_start_up_of_the_systems_file_is_added_to_what_has_none_in_it(
    known: Known, metric: str, seconds: float, start_up: float | None
) -> None:
    """The next run takes as long as the one that was measured; the job gets the time to start beside it, or in it."""
    run = ran(200.0, nodes=1, ranks_per_node=1, threads_per_rank=20, system="hlrs-testbed", metric=metric)
    work = {"workload": {"epochs": 1}} if metric == "epoch_time" else {}
    plan = optimise(asked("hlrs-testbed", optimisation=work), on_testbed(known, run, start_up_s=60.0)).plan
    assert plan.prediction.value == pytest.approx(seconds)
    assert plan.prediction.start_up == start_up
    assert (plan.wall_time_s or 0) >= (plan.prediction.upper or 0) + (0 if start_up else 60)


@pytest.mark.parametrize(
    ("seconds", "wall_time", "why"), [(None, 1800, "the partition's default"), (20_000.0, 7200, "the partition's limit")]
)
def test_a_wall_time_is_one_that_the_partition_has(known: Known, seconds: float | None, wall_time: int, why: str) -> None:
    """Without a prediction its default; with one that is longer than its limit that limit: a scheduler rejects a job that asks for more."""
    limits = {"default_wall_time_s": 1800, "max_wall_time_s": 7200, "queues": ()}
    plan = optimise(asked("hlrs-testbed"), on_testbed(known, *([short(seconds)] if seconds else []), part=limits)).plan
    assert plan.wall_time_s == wall_time
    assert any(text.startswith("wall time: ") and why in text for text in plan.decisions)


@pytest.mark.parametrize(
    ("default", "stopped", "wall_time"), [(1800, 600.0, 1800), (1800, 1800.0, 3900), (1800, 7200.0, 7200), (None, 600.0, 1500)]
)
def test_a_run_of_unknown_time_that_was_stopped_gets_more_than_the_default(
    known: Known, default: int | None, stopped: float, wall_time: int
) -> None:
    """Twice the time after which it was, within the partition's limit: at its default the next job would be stopped as well, also where it
    is not on record."""
    limits = {"default_wall_time_s": default, "max_wall_time_s": 7200, "queues": ()}
    series = SeriesKey(application="solver", system="hlrs-testbed", metric=STOPPED, unit="s")
    run = FailedRuns(series=series, layout=Layout(nodes=1), count=1, longest_s=stopped)
    plan = optimise(asked("hlrs-testbed"), on_testbed(known, failed=[run], part=limits)).plan
    assert plan.wall_time_s == wall_time
    assert any("that a stopped run shows it to exceed" in text for text in plan.decisions) == (wall_time != 1800)
    told = [text for text in plan.decisions if "because a run of this layout was stopped on 1 node after" in text]
    assert (len(told), any("would be predicted" in text for text in told)) == (1, False)


@pytest.mark.parametrize(
    ("options", "said"),
    [({}, "wall time: no limit, because a plain shell has none"), ({"wall_time_limit": 600}, "a plain shell does not stop the run then")],
)
def test_a_plain_shell_is_not_said_to_limit_a_run(options: dict[str, Any], said: str, known: Known) -> None:
    """Nor to be a scheduler to which something is left."""
    job = {"application": {"executable": "./a"}, "target": {"job_scheduler_type": "shell"}, "job_options": options}
    decisions = optimise(normalise({"job": job}).request, known(None)).plan.decisions
    assert [one.endswith(said) for one in decisions if one.startswith("wall time")] == [True]


@pytest.mark.parametrize(("required", "wall_time"), [("-l walltime=", 7200), ("-W group_list=", None), (None, None)])
def test_a_wall_time_that_the_site_wants_is_the_limit_where_none_is_known(
    known: Known, required: str | None, wall_time: int | None
) -> None:
    """It would reject the job."""
    limits = {"default_wall_time_s": None, "max_wall_time_s": 7200, "queues": ()}
    facts = on_testbed(known, part=limits, mandatory_directives=(required,) if required else ())
    plan = optimise(asked("hlrs-testbed"), facts).plan
    assert plan.wall_time_s == wall_time
    assert not any(each.field == "job_options.wall_time_limit" for each in plan.warnings)


def test_a_signal_that_would_come_before_the_job_is_left_out(known: Known) -> None:
    """It would end the script at its start."""
    for limit, kept in ((700, True), (600, False)):
        options = {"job_options__signal": "USR1@600", "job_options__wall_time_limit": limit, "application__checkpoint": "touch stop"}
        found = answer(example("mpi-solver", **options), known)
        assert ("modak_signal" in found.texts.job_script) == kept
        told = [each.message for each in found.plan.warnings if each.field == "job_options.signal"]
        assert any("does not fit a time limit" in each for each in told) == (not kept)


@pytest.mark.parametrize(
    ("limit", "chain", "stops"), [("00:10:00", {}, True), ("00:10:00", {"job_dependency": "afterany:7"}, False), ("00:55:00", {}, False)]
)
def test_a_wall_time_that_stops_the_run_is_warned_of(limit: str, chain: dict[str, str], stops: bool, known: Known) -> None:
    """If the run is longer by all that is known; the next job of a chain goes on with it."""
    found = answer(example("3dgan-supermuc-ng", job_options={"wall_time_limit": limit, "node_count": 24, **chain}), known)
    said = [one.message for one in found.plan.warnings if one.field == "job_options.wall_time_limit"]
    assert [
        re.search("00:10:00 requested, but the run takes 00:50:.* to .* interpolated.: the scheduler will stop it$", one) is not None
        for one in said
    ] == [True] * stops


def test_a_run_that_is_longer_than_any_job_may_be_is_warned_of(known: Known) -> None:
    """The script asks for all that the partition allows, which is not enough."""
    work = {"optimisation__workload__epochs": 2000, "optimisation__objective": {}}
    found = answer(example("3dgan-supermuc-ng", job_options__node_count=4, **work), known)
    (said,) = [one.message for one in found.plan.warnings if one.field == "job_options.wall_time_limit"]
    assert re.search("^a job of 4 nodes on .* may run for at most .*, but the run takes .*: the scheduler will stop it; with app", said)
    assert (found.plan.prediction.lower or 0) > (found.plan.wall_time_s or 0) > 0


def limited(known: Known, seconds: int | None, start_up_s: float | None = None, **fields: Any) -> Answer:
    """The fewest node-hours for 3DGAN where no job may run for longer, and takes so long to start."""
    facts = known("3dgan")
    here = facts.systems["supermuc-ng"]
    partitions = tuple(one.model_copy(update={"max_wall_time_s": seconds, "queues": ()}) for one in here.partitions)
    system = here.model_copy(update={"partitions": partitions, "start_up_s": start_up_s})
    request = example("3dgan-supermuc-ng", optimisation__objective={"minimise": "node_hours"}, **fields)
    return optimise(request, replace(facts, systems={"supermuc-ng": system}))


@pytest.mark.parametrize(
    ("seconds", "fields"), [(7200, {}), (None, {"job_options__wall_time_limit": "02:00:00"})], ids=["longest job", "requested"]
)
def test_runs_that_may_be_stopped_are_not_chosen_while_others_end(known: Known, seconds: int | None, fields: dict[str, Any]) -> None:
    """The fewest node-hours are on four nodes, for five hours; the choice has as few as those that end."""
    free, found = limited(known, None).plan, limited(known, seconds, **fields).plan
    assert (free.prediction.lower or 0) > 7200 > (found.prediction.value or 0) + 120
    fewer = [one for one in found.alternatives if one.configuration.nodes < found.configuration.nodes]
    assert {one.why_not for one in fewer if (one.node_hours or 0) < (found.node_hours or 0)} == {"may not end within the wall time limit"}
    assert "among configurations that end within the wall time limit (at confidence 0.9)" in "\n".join(found.decisions)


@pytest.mark.parametrize(
    ("seconds", "fields"),
    [
        (7200, {"application__checkpoint": "touch stop"}),
        (7200, {"job_options__node_count": 4}),
        (60, {}),
        (None, {"target__job_scheduler_type": "shell", "job_options__wall_time_limit": 7200}),
        (7200, {"job_options__qos": "long", "job_options__wall_time_limit": "10:00:00"}),
    ],
    ids=["continued", "size given", "none ends", "never stopped", "limit not on record"],
)
def test_a_wall_time_limit_excludes_nothing_where_that_gains_nothing(known: Known, seconds: int | None, fields: dict[str, Any]) -> None:
    """Another job continues the run, or there is no other choice, or nothing stops it."""
    free, found = limited(known, None, **fields).plan, limited(known, seconds, **fields).plan
    assert (found.configuration, found.prediction) == (free.configuration, free.prediction)


@pytest.mark.parametrize(
    ("objective", "unmet"),
    [({"minimise": "time", "max_nodes": 8}, []), ({"minimise": "node_hours", "max_nodes": 32, "deadline": "20 min"}, [10])],
)
def test_sizes_below_a_choice_that_is_worth_its_doubt_are_not_further_away(objective: dict[str, Any], unmet: list[int]) -> None:
    """A layout that ran on one node is the best on several: that fewer were left out, too, is no reason against them."""
    times = {(1, 2): 8000.0, (2, 2): 4100.0, (4, 2): 2150.0, (1, 48): 5000.0}
    series = SeriesKey(application="solver", system="site", metric="wall_time", unit="s")
    layouts = {(nodes, ranks): Layout(nodes=nodes, ranks_per_node=ranks, threads_per_rank=48 // ranks) for nodes, ranks in times}
    models = tuple(fit(Result(series=series, layout=layouts[run], value=seconds) for run, seconds in times.items()))
    facts = Facts(version="1", systems={"site": site(Node(processor="any", sockets=2, cores=48), nodes=64)}, models=models)
    asked = {"app_type": "hpc", "hpc": {"mpi": {}, "openmp": {}}, "objective": objective}
    job = {"target": {"name": "site"}, "application": {"app_tag": "solver", "app_type": "mpi"}, "optimisation": asked}
    plan = optimise(normalise({"job": job}).request, facts).plan
    assert plan.configuration.ranks_per_node == 48
    assert [one.configuration.nodes for one in plan.alternatives if one.why_not == "does not meet the constraints"] == unmet
    assert "further beyond the measured sizes" not in "\n".join((*plan.decisions, *(one.why_not or "" for one in plan.alternatives)))


@pytest.mark.parametrize("seconds", [5400, 7200, 9000])
def test_a_run_that_was_chosen_because_it_ends_in_time_is_not_refused(known: Known, seconds: int) -> None:
    """Where more than the longest of a job is requested, the script asks for that."""
    assert limited(known, seconds, job_options__wall_time_limit="10:00:00").plan.wall_time_s == seconds


def test_a_predicted_start_up_is_a_part_of_what_has_to_end_in_time(known: Known) -> None:
    """And is not added to it: fewer nodes end in time, and the wall time has room for them."""
    assert 7200 - 3000 < (limited(known, 7200, start_up_s=3000).plan.prediction.value or 0) <= 7200


@pytest.mark.parametrize(
    ("limit", "said"), [("02:00:00", "; the upper bound of the prediction plus the job's start is 0"), ("1-00:00:00", "")]
)
def test_a_requested_wall_time_that_may_be_too_short_is_told(known: Known, limit: str, said: str) -> None:
    """Beside the limit stands what the prediction would ask for."""
    decisions = limited(known, None, job_options__wall_time_limit=limit, job_options__node_count=4).plan.decisions
    (line,) = (one for one in decisions if one.startswith("wall time:"))
    assert re.fullmatch(f"wall time: {limit}, as requested{said and said + '[0-9]:[0-9]{2}:[0-9]{2}'}", line)


def test_a_signal_does_not_come_before_a_run_is_over(known: Known) -> None:
    """It may stop the run, so it comes after the end of the prediction's interval."""
    without, late = (answer(example("resnet50-gpu-cluster", job_options__signal=signal), known).plan for signal in (None, "USR1@900"))
    assert (without.wall_time_s, late.wall_time_s) == (33900, 34800)
    (line,) = (one for one in late.decisions if one.startswith("wall time:"))
    assert line == "wall time: 09:40:00, the upper bound of the prediction plus the job's start and the time after its signal"


def test_a_signal_that_the_launcher_keeps_back_takes_no_time(known: Known) -> None:
    """The script goes without it, and so do its wall time and the reasons: only a warning tells of it."""
    without, kept = (answer(example("3dgan-supermuc-ng", job_options__signal=signal), known).plan for signal in (None, "USR1@900"))
    assert (kept.wall_time_s, kept.decisions, kept.advice) == (without.wall_time_s, without.decisions, without.advice)
    (lost,) = {*kept.warnings} - {*without.warnings}
    assert lost.message.startswith("the signal is left out: mpirun of Intel MPI passes no signal")


def test_no_job_continues_a_run_that_gets_no_signal(known: Known) -> None:
    """Its launcher keeps it back: the refusal of three days says so, too."""
    with pytest.raises(Infeasible, match="continues it") as refused:
        nobody_ran_this(known, job_options={"signal": "USR1@120"})
    assert [one.field for one in refused.value.faults] == ["job_options.wall_time_limit", "job_options.signal"]
    assert "the signal is left out: mpirun of " in refused.value.faults[1].message
