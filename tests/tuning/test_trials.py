"""A setting in a job's script, the first points of a search, and the requests of trials."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modak.choosing.openswitch import BUILD
from modak.dsl import Request, Setting
from modak.dsl.work import PrintedMetric
from modak.errors import RequestError
from modak.facts import Facts, Layout, Result, SeriesKey
from modak.normalise import normalise
from modak.optimise import optimise
from modak.perfmodel.fitting.cells import cells_of_results
from modak.target import resolve
from modak.tuning.request import aim_of, grid_of, space_asked, with_space
from modak.tuning.start import starts
from modak.tuning.trial import LEAST_LIMIT_S, PATIENCE, base_request, identity, limit_of, outcome, set_to, trial_of
from tests.tuning.requests import based, document, request_of


def script(request: Request) -> str:
    """Its job script."""
    return optimise(request, Facts(version="")).texts.job_script


def test_a_setting_is_exported_and_follows_the_command() -> None:
    """Options as words of their own, or after ``=``; both are parameters of the result."""
    text = script(request_of(setting={"environment": {"LEVEL": 2}, "options": {"--size": 8, "NB=": "a b"}}))
    assert "export LEVEL=2\n" in text
    assert "./program.sh --size 8 'NB=a b'" in text
    assert '"params.LEVEL": 2, "params.size": 8, "params.NB": "a b"' in text


@settings(max_examples=40)
@given(st.text(alphabet=" \t'\"$`\\;|&(){}<>*?#~!=-ab8é", min_size=1, max_size=20))
def test_no_value_leaves_its_word(tmp_path_factory: pytest.TempPathFactory, value: str) -> None:
    """Whatever it holds, it is one word of the command, or it is refused."""
    try:
        request = request_of(setting={"options": {"-n": value}})
    except RequestError:
        return
    command, here = script(request).replace("./program.sh", "printf %s@"), tmp_path_factory.getbasetemp()
    ran = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=here)
    assert ran.stdout.endswith(f"-n@{value}@"), ran.stderr


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"space": {"environment": {"LD_PRELOAD": [1, 2]}}}, "space.environment.LD_PRELOAD"),
        ({"space": {"options": {"; rm": [1, 2]}}}, "space.options"),
        ({"space": {"layout": {"colour": [1, 2]}}}, "space.layout.colour"),
        ({"space": {"environment": {"A": []}}}, "space.environment.A"),
        ({"setting": {"environment": {"PATH": "/tmp"}}}, "setting.environment.PATH"),
        ({"setting": {"environment": {"MODAK_SERVER": "http://x"}}}, "setting.environment.MODAK_SERVER"),
        ({"setting": {"environment": {"A": "x" * 201}}}, "setting.environment.A"),
        ({"setting": {"options": {"--a": "1\n2"}}}, "setting.options.--a"),
        ({"trials": 0}, "trials"),
        ({"budget_node_hours": -1}, "budget_node_hours"),
    ],
)
def test_what_must_not_be_set_is_refused_by_its_field(changed: dict[str, Any], field: str) -> None:
    """Variables that run code, words that are no options, texts that no result could record, counts that are none."""
    with pytest.raises(RequestError, match=rf"optimisation\.autotuning\.{field}"):
        request_of(**changed)


def test_a_trial_has_the_seconds_of_its_limit() -> None:
    """One more would be a minute more for Slurm, and more than its queue allows."""
    base = based(request_of())
    assert trial_of(base, grid_of(base), (2, 1), "search/trial-0001", 600.0).job_options.wall_time_limit == 600


def test_a_trial_differs_from_the_job_by_its_point() -> None:
    """Its files go into its folder, its result is always written, and its time is limited."""
    base = based(request_of()).changed(application={"write_result": False})
    space = grid_of(base)
    one = trial_of(base, space, (2, 1), "search/trial-0001", 90.2)
    assert one.application.result_file == "search/trial-0001/result"
    assert one.job_options.wall_time_limit == 91
    assert set_to(base, space, (2, 1)).optimisation.autotuning == one.optimisation.autotuning
    assert 'MODAK_RESULT="${MODAK_HERE}"/search/trial-0001/result.json' in script(one)


def test_a_trial_of_a_job_array_is_one_job() -> None:
    """The result of each task would be in a file of its own."""
    base = based(request_of()).changed(job_options={"job_array": "1-3"})
    assert "result.json" in script(trial_of(base, grid_of(base), (2, 1), "search/trial-0001"))


def test_a_trial_is_not_stopped_by_the_jobs_signal() -> None:
    """Long before the limit of the job may be early in a trial, whose limit is shorter; a run that was stopped is no measurement."""
    base = based(request_of()).changed(job_options={"signal": "USR1@600"})
    assert trial_of(base, grid_of(base), (2, 1), "search/trial-0001", 700.0).job_options.signal is None


def test_trials_have_what_the_plan_chose() -> None:
    """All of its counts; no total that would contradict those of a point."""
    counts = {"nodes": 2, "ranks_per_node": 3, "gpus_per_node": 4, "threads_per_rank": 5}
    request = request_of().changed(application={"mpi_ranks": 6, "minimal_efficiency": 50}, job_options={"core_count": 48})
    nothing = Facts(version="")
    chosen = optimise(request_of(), nothing).plan.configuration.model_copy(update=counts)
    base = base_request(request, chosen, resolve(request, nothing))
    options, application = base.job_options, base.application
    assert (options.node_count, options.process_count_per_node, options.request_gpus, application.threads) == (2, 3, 4, 5)
    assert (application.mpi_ranks, application.minimal_efficiency, options.core_count) == (None, None, 48)


@pytest.mark.parametrize(("name", "gpus"), [("hlrs-testbed", 0), ("elsewhere", None)])
def test_trials_of_a_choice_without_gpus_use_none(known: Callable[[str | None], Facts], name: str, gpus: int | None) -> None:
    """Although more nodes might be faster with them. Of nodes that nobody describes it is not known that they have any."""
    wanted = document(space={"layout": {"node_count": [1, 2]}})
    wanted["job"]["target"]["name"] = name
    request, facts = normalise(wanted).request, known(None)
    chosen = optimise(request, facts).plan.configuration.model_copy(update={"gpus_per_node": 0})
    assert base_request(request, chosen, resolve(request, facts)).job_options.request_gpus == gpus


@pytest.mark.parametrize(("asked", "precision", "built"), [("auto", "bf16", True), ("fp64", "fp64", False)])
def test_trials_have_the_switches_that_the_plan_chose(asked: str, precision: str, built: bool) -> None:
    """Where the request leaves them to results: those of other sizes may tell otherwise, and so may those of the trials before."""
    changes = {"precision": "bf16", "opt_build": True if built else None}
    request = request_of()
    work = request.optimisation.workload.model_copy(update={"precision": asked})
    request = request.changed(optimisation={"workload": work, "enable_opt_build": "auto" if built else False})
    nothing = Facts(version="")
    chosen = optimise(request, nothing).plan.configuration.model_copy(update=changes)
    base = base_request(request, chosen, resolve(request, nothing)).optimisation
    assert (base.workload.precision, base.enable_opt_build, base.workload.params) == (precision, built, {"build": BUILD} if built else {})


@pytest.mark.parametrize(("space", "follow"), [({}, True), ({"threads": [1, 2]}, False)])
def test_tuned_ranks_leave_threads_to_follow(space: dict[str, list[int]], follow: bool) -> None:
    """And cores; unless the request or the space says them: else a layout of many ranks would take too many cores."""
    request = request_of(space={"layout": {"process_count_per_node": [1, 2], **space}}).changed(job_options={"core_count": 4})
    base = based(request)
    assert (base.application.threads is None, base.job_options.core_count is None) == (follow, follow)
    assert based(request.changed(application={"threads": 1})).application.threads == 1


def test_trials_are_not_compared_by_what_each_gpu_does() -> None:
    """More of them would look worse."""
    metric = {"name": "throughput", "unit": "tokens/s/GPU", "pattern": "tps: ([0-9,]+)"}
    request = request_of().changed(
        optimisation={"workload": request_of().optimisation.workload.model_copy(update={"metric": PrintedMetric(**metric)})}
    )
    with pytest.raises(RequestError, match=r"optimisation\.workload\.metric\.unit: 'tokens/s/GPU' is what each of them does"):
        aim_of(request)


def test_a_search_begins_with_the_jobs_own_setting_and_the_best_that_was_measured() -> None:
    """Results that tell every parameter, of the same metric; each point once."""
    base = based(request_of())
    space, aim = grid_of(base), aim_of(base)

    def result(value: float, suspect: str | None = None, **params: str) -> Result:
        series = SeriesKey(application="toy", params=params, metric="throughput", unit="samples/s")
        return Result(series=series, layout=Layout(nodes=1), value=value, suspect=suspect)

    known = [result(10, LEVEL="2", n="5"), result(30, LEVEL="3.0", n="7"), result(90, LEVEL="3"), result(99, "wrong", LEVEL="1", n="7")]
    found = starts(base, Facts(version=""), space, cells_of_results(known), aim)
    assert list(found) == [(0, 0), (2, 1)]
    assert "throughput 30" in found[2, 1]
    assert list(starts(base, Facts(version=""), space, cells_of_results([result(1, LEVEL="1", n="5")]), aim)) == [(0, 0)]
    tokens = result(900, LEVEL="3", n="7")
    tokens = tokens.model_copy(update={"series": tokens.series.model_copy(update={"unit": "tokens/s"})})
    assert len(starts(base, Facts(version=""), space, cells_of_results([tokens]), aim)) == 1, "a rate of something else is not compared"


def test_a_search_begins_with_what_was_measured_on_its_own_system() -> None:
    """However results spell its name; layouts are columns of their own."""
    asked = request_of(space={"layout": {"process_count_per_node": [1, 2, 4]}})
    base = asked.changed(target={"name": "my-box"}, optimisation={"workload": asked.optimisation.workload})
    key = SeriesKey(application="toy", system="My_Box", metric="throughput", unit="samples/s")
    other = key.model_copy(update={"system": "other-box"})
    runs = [Result(series=one, layout=Layout(ranks_per_node=ranks), value=value) for one, ranks, value in ((key, 2, 30), (other, 4, 90))]
    space = grid_of(base)
    measured = {
        point: why
        for point, why in starts(base, Facts(version=""), space, cells_of_results(runs), aim_of(base)).items()
        if "earlier results" in why
    }
    assert [space.of_kind("layout", point) for point in measured] == [{"process_count_per_node": 2}]


@pytest.mark.parametrize("name", ["zenith", "dell-z"])
def test_a_search_begins_with_results_under_any_name_of_its_system(name: str, known: Callable[[str | None], Facts]) -> None:
    """Those of its own trials have the system's name, whatever the request calls it; others may have an alias."""
    facts = known(None)
    zenith = facts.systems["zenith"].model_copy(update={"aliases": ("Dell_Z",)})
    asked = request_of()
    base = asked.changed(target={"name": name}, optimisation={"workload": asked.optimisation.workload})
    series = [
        SeriesKey(application="toy", system=system, params={"LEVEL": level, "n": "5"}, metric="throughput", unit="samples/s")
        for system, level in (("zenith", "2"), ("Dell Z", "3"), ("other", "1"))
    ]
    runs = [Result(series=one, layout=Layout(nodes=1), value=value) for value, one in enumerate(series, 1)]
    found = starts(base, replace(facts, systems={**facts.systems, "zenith": zenith}), grid_of(base), cells_of_results(runs), aim_of(base))
    (why,) = [why for why in found.values() if "earlier" in why]
    assert why == "the best of 2 earlier results: throughput 2 samples/s (basis: measured)"


@pytest.mark.parametrize("besides", [{}, {"LEVEL": list(range(64))}])
def test_the_models_say_where_to_begin(known: Callable[[str | None], Facts], besides: dict[str, Any]) -> None:
    """3DGAN on SuperMUC-NG: four ranks of 12 threads were measured to be fastest, whatever else may be changed."""
    job = json.loads((Path(__file__).parents[2] / "examples/3dgan-supermuc-ng.json").read_text())["job"]
    job["job_options"] = {"node_count": 16}
    layouts = {"process_count_per_node": [1, 2, 4], "threads": [12, 48]}
    job["optimisation"] |= {
        "objective": {},
        "enable_autotuning": True,
        "autotuning": {"space": {"layout": layouts, "environment": besides}},
    }
    request = normalise({"job": job}).request
    facts = known("3dgan")
    one_rank = {"ranks_per_node": 1, "threads_per_rank": 48}
    base = base_request(request, optimise(request, facts).plan.configuration.model_copy(update=one_rank), resolve(request, facts))
    space = grid_of(base)
    found = starts(base, facts, space, (), aim_of(base))
    assert [space.of_kind("layout", point) for point in found] == [
        {"process_count_per_node": 1, "threads": 48},
        {"process_count_per_node": 4, "threads": 12},
    ]
    assert "basis: measured" in [*found.values()][1]


def test_a_text_of_cresta_becomes_a_space() -> None:
    """Its parameters, its metric, and its command where the request has none."""
    text = "begin parameters\nbegin typing\nint NB\nend typing\nbegin constraints\nrange NB 1,2\nend constraints\nend parameters\n"
    run = "begin run\ncommand: ./solve $NB\nend run\n"
    job = document(tuner="cresta", space=None, input=text + run)
    del job["job"]["application"]["executable"]
    request = with_space(normalise(job).request)
    base = based(request)
    assert './solve "${NB:?}"' in script(set_to(base, grid_of(base), (1,)))
    assert "export NB=2" in script(set_to(base, grid_of(base), (1,)))


@pytest.mark.parametrize("own", [False, True])
def test_what_a_request_says_itself_comes_before_cresta(own: bool) -> None:
    """Its metric, its command and its setting."""
    tune = "begin configuration\nbegin tune\ntarget: min\nmetric-source: stdout\nmetric-regexp: t=([0-9]+)\nend tune\nend configuration\n"
    space = (
        "begin parameters\nbegin typing\nint NB\nend typing\nbegin constraints\nrange NB 1,2 default 2\nend constraints\nend parameters\n"
    )
    text = f"{tune}{space}begin run\ncommand: ./solve $NB\nend run\n"
    job = document(tuner="cresta", space=None, input=text, **({"setting": {"environment": {"NB": 1}}} if own else {}))
    if not own:
        del job["job"]["application"]["executable"], job["job"]["optimisation"]["workload"]
    request = with_space(normalise(job).request)
    setting = request.optimisation.autotuning.setting if request.optimisation.autotuning else Setting()
    told = setting.environment["NB"], aim_of(request).metric, "./program.sh" in script(request)
    assert told == ((1, "throughput", True) if own else (2, "step_time", False))


def test_a_request_that_names_nothing_to_tune_is_refused() -> None:
    """By its field, with an example."""
    with pytest.raises(RequestError, match=r"optimisation\.autotuning: says what may be changed, for instance"):
        with_space(normalise(document(space=None)).request)


@pytest.mark.parametrize("changed", [{"space": None}, {"space": None, "tuner": "cresta", "input": "dsl text"}])
def test_a_request_that_cannot_be_tuned_still_gets_its_script(changed: dict[str, Any]) -> None:
    """With a sentence that says why; what can be tuned says so, too."""
    advice = optimise(normalise(document(**changed)).request, Facts(version="")).plan.advice
    assert any(str(line).startswith("autotuning: not possible with this request") for line in advice)
    assert any("'modak tune'" in str(line) for line in optimise(request_of(), Facts(version="")).plan.advice)


@pytest.mark.parametrize(
    ("result", "why"),
    [
        (None, "no result file"),
        ({"exit_status": 3, "seconds": 1.0, "results": []}, "status 3"),
        ({"exit_status": 0, "seconds": 1.0, "results": [{"metric": "wall_time", "unit": "s", "value": 1.0}]}, "no throughput"),
        ({"exit_status": 0, "seconds": 1.0, "results": []}, "requeued, preempted or suspended"),
        ({"exit_status": 0, "seconds": 1.0, "results": [{"metric": "throughput", "unit": "samples/s", "value": 0}]}, "throughput is 0"),
    ],
)
def test_a_run_without_a_number_says_why(result: dict[str, Any] | None, why: str) -> None:
    """The search goes on without it."""
    came = outcome(result, aim_of(request_of()))
    assert came.value is None
    assert why in came.why


def test_a_setting_of_the_requests_own_is_kept() -> None:
    """What is not in the space stays as it is."""
    base = based(request_of(setting={"environment": {"OTHER": "1", "LEVEL": 2}}))
    space = grid_of(base)
    tuning = set_to(base, space, (0, 1)).optimisation.autotuning
    assert tuning is not None
    assert tuning.setting == Setting(environment={"OTHER": "1", "LEVEL": 1}, options={"-n": 7})
    assert space.values(space.default)["LEVEL"] == 2


def test_a_trial_may_take_some_times_the_best_one_but_never_too_little() -> None:
    """Starting takes a while, too."""
    assert (limit_of(1.0), limit_of(1000.0)) == (LEAST_LIMIT_S, PATIENCE * 1000)


def test_values_of_another_kind_are_of_another_study() -> None:
    """A time and a rate under one name cannot be compared; two units of one kind can."""

    def of(unit: str) -> str:
        """The identity of a study of a metric with this unit."""
        asked = document()
        asked["job"]["optimisation"]["workload"]["metric"] = {"name": "score", "unit": unit, "pattern": "score: ([0-9]+)"}
        return identity(based(normalise(asked, strict=True).request))

    assert of("samples/s") != of("s") == of("ms")


def test_a_request_without_a_space_is_told_where_one_goes() -> None:
    """Before anything is run."""
    with pytest.raises(RequestError, match=r"optimisation\.autotuning\S*: names what may be changed"):
        space_asked(normalise({"job": {"application": {"executable": "./a"}}}).request)
