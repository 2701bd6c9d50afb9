"""Searches in a plain shell."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from modak.facts import Facts
from modak.service import open_service
from modak.settings import Settings
from modak.tuner.limits import SearchOptions
from modak.tuner.runners import LocalRunner
from modak.tuner.search import Search
from modak.tuner.study import RunState, opened
from modak.tuning.request import aim_of, grid_of
from modak.tuning.space import Point
from modak.tuning.trial import identity
from tests.conftest import ROOT, Run, until
from tests.tuning.requests import based, document, request_of

pytestmark = pytest.mark.timeout(600)  # a search runs up to eight jobs, of fifty short processes each: long on a busy machine
PROGRAM = """#!/bin/bash
test "${LEVEL}" != 4 || exit 3
echo "rate: $((100 * LEVEL + $2))"
sleep 0.01
"""

SINGLE = """
name = "single"
title = "single"
site = "here"
scheduler = "shell"
cpu_unit = "core"
runtimes = [{ name = "none" }]

[[partitions]]
name = "main"
nodes = 1
default = true

[partitions.node]
processor = "xeon-platinum-8174"
sockets = 1
cores = 1
threads_per_core = 1

[[sources]]
fields = ["scheduler", "cpu_unit", "runtimes", "partitions.main"]
citation = "this test"
"""
"""A system whose nodes have one core."""


@pytest.fixture
def work(tmp_path: Path, own: Run, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to submit from."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.sh").write_text(PROGRAM)
    (tmp_path / "program.sh").chmod(0o755)
    return tmp_path


def tuned(own: Run, job: dict[str, Any], *words: str) -> Any:
    """What ``modak tune`` finds."""
    Path("job.json").write_text(json.dumps(job))
    ran = own("tune", "job.json", "--json", *words)
    assert ran.status == 0, ran.err
    return json.loads(ran.out)


def test_a_small_space_is_tried_whole_and_going_on_runs_nothing_again(work: Path, own: Run) -> None:
    """Each setting once, the best wins, what fails is no result, and the second call only tells."""
    job = document(space={"environment": {"LEVEL": [1, 4, 3]}, "options": {"-n": [5, 7]}})
    found = tuned(own, job, "--confirm", "0", "--gain", "0")
    ran = [one for one in found["trials"] if one["job"]]
    assert sorted((one["setting"]["LEVEL"], one["setting"]["-n"], one["value"] or 0, one["state"]) for one in ran) == [
        (1, 5, 105, "complete"),
        (1, 7, 107, "complete"),
        (3, 5, 305, "complete"),
        (3, 7, 307, "complete"),
        (4, 5, 0, "failed"),
        (4, 7, 0, "failed"),
    ]
    assert (found["best"]["setting"], found["setting"]["environment"]) == ({"LEVEL": 3, "-n": 7}, {"LEVEL": 3})
    assert "every setting was tried" in found["stopped"]
    again = tuned(own, job, "--confirm", "0", "--gain", "0")
    assert again["trials"] == found["trials"]


def test_the_best_setting_is_run_beside_the_default_again(work: Path, own: Run) -> None:
    """How much better it is follows from these runs, which cost node-hours of their own."""
    job = document(space={"environment": {"LEVEL": [1, 3]}, "options": {"-n": [5]}})
    found = tuned(own, job, "--confirm", "2", "--gain", "0")
    assert found["gain"] == {**found["gain"], "value": pytest.approx(305 / 105), "runs": [2, 2]}
    assert (found["default"]["setting"], found["best"]["setting"]) == ({"LEVEL": 1, "-n": 5}, {"LEVEL": 3, "-n": 5})
    assert found["node_hours"] > sum(one["node_hours"] for one in found["trials"])


def test_strict_refuses_another_spelling_before_the_first_trial(work: Path, own: Run) -> None:
    """As other questions do."""
    job = document(space={"environment": {"LEVEL": [1, 3]}})
    job["job"]["application"]["app_tag"] = "3DGAN"
    Path("job.json").write_text(json.dumps(job))
    ran = own("tune", "job.json", "--strict")
    assert (ran.status, "no results of '3DGAN'; those of '3dgan' are used (strict: refused)" in ran.err) == (1, True)
    assert not Path("tuning-job").exists()


@pytest.mark.parametrize("each", [1, 2])
def test_what_the_comparison_does_not_confirm_is_not_in_the_script(work: Path, own: Run, each: int) -> None:
    """Once a setting was fast, by luck: run again it is slower than the job's own, which stays. By how much a single run does not tell."""
    lucky = 'test -e luck && LEVEL=$((1 + (LEVEL == 1)))\ntest "${LEVEL}" != 3 || touch luck\n'
    (work / "program.sh").write_text(PROGRAM.replace("echo", f"{lucky}echo", 1))
    found = tuned(own, document(space={"environment": {"LEVEL": [1, 3]}, "options": {"-n": [5]}}), "--confirm", str(each), "--gain", "0")
    assert (found["best"]["setting"]["LEVEL"], found["confirmed"]) == (3, False)
    assert (found["gain"] is None, any("a single run" in note for note in found["notes"])) == (each == 1, each == 1)
    assert each == 1 or found["gain"]["value"] < 1
    assert found["setting"]["environment"] == {"LEVEL": 1}
    assert "LEVEL=1" in Path("tuning-job/job.sh").read_text()


def test_a_setting_that_fails_when_it_runs_again_is_not_in_the_script(work: Path, own: Run) -> None:
    """It ran once; the job's own setting ran each time."""
    once = 'test "${LEVEL}" != 3 || test ! -e ran || exit 3\ntest "${LEVEL}" != 3 || touch ran\n'
    (work / "program.sh").write_text(PROGRAM.replace("echo", f"{once}echo", 1))
    Path("job.json").write_text(json.dumps(document(space={"environment": {"LEVEL": [1, 3]}, "options": {"-n": [5]}})))
    ran = own("tune", "job.json", "--confirm", "2", "--gain", "0")
    assert (ran.status, "the comparison does not confirm it: the script has the job's own setting" in ran.out) == (0, True)
    assert "LEVEL=1" in Path("tuning-job/job.sh").read_text()


def test_a_job_that_fails_when_it_runs_again_confirms_nothing(work: Path, own: Run) -> None:
    """The best setting ran each time; that no gain is given has another cause than a single run."""
    once = 'test "${LEVEL}" != 1 || test ! -e ran || exit 3\ntest "${LEVEL}" != 1 || touch ran\n'
    (work / "program.sh").write_text(PROGRAM.replace("echo", f"{once}echo", 1))
    found = tuned(own, document(space={"environment": {"LEVEL": [1, 3]}, "options": {"-n": [5]}}), "--confirm", "2", "--gain", "0")
    assert (found["setting"]["environment"], found["confirmed"], found["gain"]) == ({"LEVEL": 3}, None, None)
    assert not any("a single run" in note for note in found["notes"])


def test_the_report_ends_with_what_other_requests_may_copy(work: Path, own: Run) -> None:
    """The sections of a request that give the best setting: its script is the one that the search wrote."""
    job = document(space={"environment": {"LEVEL": [1, 3]}, "options": {"-n": [7]}, "layout": {"threads": [2]}})
    Path("job.json").write_text(json.dumps(job))
    told = own("tune", "job.json", "--confirm", "0", "--gain", "0").out.partition("The same in a request\n")[2]
    copied = json.loads("{" + ",".join(told.splitlines()) + "}")
    assert copied == {
        "application": {"threads": 2},
        "optimisation": {"autotuning": {"setting": {"environment": {"LEVEL": 3}, "options": {"-n": 7}}}},
    }
    del job["job"]["optimisation"]["enable_autotuning"]
    job["job"]["application"] |= copied["application"]
    job["job"]["optimisation"] |= copied["optimisation"]
    Path("again.json").write_text(json.dumps(job))
    script = own("optimise", "again.json", "--script", "--strict").out
    again, found = (text.splitlines() for text in (script, Path("tuning-job/job.sh").read_text()))
    assert [line for line in again if "plan" not in line.lower()] == [line for line in found if "plan" not in line.lower()]


def test_a_script_that_cannot_be_written_is_one_line(work: Path, own: Run) -> None:
    """It names the file: scripts are written as a whole, or not at all."""
    Path("job.json").write_text(json.dumps(document(space={"environment": {"LEVEL": [1]}, "options": {"-n": [5]}})))
    Path("tuning-job/job.sh").mkdir(parents=True)
    ran = own("tune", "job.json", "--confirm", "0")
    assert (ran.status, ran.err.splitlines()[-1]) == (1, "modak: tuning-job/job.sh: cannot be written: Is a directory")


def test_values_are_in_the_unit_of_the_request(work: Path, own: Run) -> None:
    """In the report and while it searches; results are stored in the base unit."""
    job = document(space={"environment": {"LEVEL": [1]}, "options": {"-n": [5]}})
    job["job"]["optimisation"]["workload"]["metric"] |= {"name": "step_time", "unit": "ms"}
    Path("job.json").write_text(json.dumps(job))
    _, out, err = own("tune", "job.json", "--confirm", "0", "--json")
    best = json.loads(out)["best"]
    assert (best["value"], best["unit"], "trial 0: step_time 105 ms" in err) == (105, "ms", True)
    stored = own("results", "list", "--application", "toy", "--metric", "step_time", "--json").out
    assert [one["value"] for one in json.loads(stored)["items"]] == [0.105]


def test_a_layout_that_does_not_fit_the_nodes_is_not_tried(work: Path, own: Run) -> None:
    """The job would run with fewer threads, and its time would count as that of a setting that never ran."""
    (work / "single.toml").write_text(SINGLE)
    assert own("systems", "add", "single.toml").status == 0
    job = document(space={"environment": {"LEVEL": [1]}, "options": {"-n": [5]}, "layout": {"threads": [1, 3]}})
    job["job"]["target"] = {"name": "single"}
    trials = tuned(own, job, "--confirm", "0", "--gain", "0")["trials"]
    tried = {one["setting"]["threads"]: one for one in trials if one["fault"] or one["job"]}
    assert (tried[1]["value"], tried[3]["job"]) == (105, None)
    assert "threads=1 (1 rank x 3 threads exceed the 1 hardware threads of a node" in tried[3]["fault"]


def test_a_trial_takes_its_part_of_a_node_where_jobs_share_it(work: Path, own: Run) -> None:
    """One or two of four cores."""
    (work / "four.toml").write_text(SINGLE.replace("cores = 1", "cores = 4").replace("nodes = 1", "nodes = 1\nwhole_nodes = false"))
    assert own("systems", "add", "four.toml").status == 0
    job = document(space={"environment": {"LEVEL": [1]}, "options": {"-n": [5]}, "layout": {"threads": [1, 2]}})
    job["job"]["target"] = {"name": "single"}
    trials = [one for one in tuned(own, job, "--confirm", "0", "--gain", "0", "--budget", "1")["trials"] if one["job"]]
    runs = {one["setting"]["threads"]: RunState.read(work / "tuning-job" / f"trial-{one['number']:04d}") for one in trials}
    assert {threads: run.share for threads, run in runs.items()} == {1: 0.25, 2: 0.5}


def test_an_interrupted_trial_is_started_once_more(work: Path, own: Run) -> None:
    """A cancelled job says nothing about its setting, nor that the job fails; its time is counted."""
    (work / "program.sh").write_text(PROGRAM.replace("sleep 0.01", "if mkdir interrupted 2>/dev/null; then exit 143; fi"))
    found = tuned(own, document(space={"environment": {"LEVEL": [1]}, "options": {"-n": [5, 7]}}), "--confirm", "0", "--gain", "0")
    assert [one["state"] for one in found["trials"] if one["job"]] == ["complete", "complete"]
    assert RunState.read(work / "tuning-job" / "trial-0000").interrupted_s


@pytest.mark.parametrize(
    ("status", "seconds", "state", "fault"),
    [
        (137, 54, "ended", "ended after 54 s: its limit was 60 s"),
        (137, 53, "failed", "the run ended with status 137"),
        (143, 58, "ended", "ended after 58 s: its limit was 60 s"),
        (0, 59, "complete", ""),
    ],
)
def test_a_run_that_its_limit_ended_is_told_from_others(
    tmp_path: Path, own_database: Path, status: int, seconds: int, state: str, fault: str
) -> None:
    """By the time that it took, if it gave no value: it is not started again, though schedulers end it as if it were cancelled."""
    base = based(request_of())
    space = grid_of(base)
    tried: dict[Point, str] = {(2, 1): "not the job's own setting"}
    results = [] if status else [{"metric": "throughput", "unit": "samples/s", "value": 5.0}]
    with (
        open_service(Settings(database_url=f"sqlite:///{own_database}")) as service,
        opened(tmp_path, space, identity(base), tried) as study,
    ):
        search = Search(
            service, base, Facts(version=""), space, aim_of(base), study, LocalRunner(), SearchOptions(trials=1), lambda _: None
        )
        place = study.place(study.ask()[0])
        RunState(job="1:over", limit_s=60.0, began=time.time()).write(place)
        (place / "result.json").write_text(json.dumps({"exit_status": status, "seconds": seconds, "results": results}))
        search.run_trials()
        (trial,) = study.trials()
    assert (trial.state, trial.run.fault, trial.run.job) == (state, fault, "1:over")


def test_an_interrupted_search_says_how_it_goes_on(work: Path) -> None:
    """And which runs do not end with it."""
    (work / "program.sh").write_text(PROGRAM.replace("sleep 0.01", "until test -e told; do sleep 0.1; done"))
    (work / "job.json").write_text(json.dumps(document()))
    words, here = [sys.executable, "-m", "modak", "tune", "job.json"], {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(words, env=here, stderr=subprocess.PIPE, text=True) as search:
        until(lambda: RunState.read(work / "tuning-job" / "trial-0000").job)
        search.send_signal(signal.SIGINT)
        told = search.communicate()[1]
    (work / "told").touch()
    assert search.returncode == 130
    assert "the same command goes on with the search; left to run: trial-0000\n" in told


def test_what_is_said_of_the_same_runs_is_said_once(work: Path, own: Run) -> None:
    """Each load of a search remarks on the runs so far: of these remarks the last tells all."""
    (work / "program.sh").write_text('#!/bin/bash\necho . >>runs\necho "rate: $((3 ** $(wc -l <runs)))"\nsleep 0.01\n')
    notes = tuned(own, document(space={"environment": {"LEVEL": [1, 2]}, "options": {"-n": [5]}}), "--gain", "0")["notes"]
    about = [note.partition(": ")[0] for note in notes if "metric throughput" in note]
    assert len(about) == len(set(about)) == 2


def test_no_gain_is_predicted_from_two_settings(work: Path, own: Run) -> None:
    """The sampler proposes the first again, and the third is tried instead."""
    job = document(space={"environment": {"LEVEL": [1, 2, 3]}, "options": {"-n": [5]}})
    *_, last = tuned(own, job, "--confirm", "0", "--gain", "0")["trials"]
    assert last["why"] == "the most promising untried setting; too few were tried to predict its gain"


def test_later_trials_are_those_that_may_be_the_best(work: Path, own: Run) -> None:
    """As soon as their gains can be predicted. The speed rises evenly: of 24 settings a few beside the best one are enough to end."""
    job = document(space={"environment": {"LEVEL": [1, 2, 3]}, "options": {"-n": [0, 20, 40, 60, 80, 100, 120, 140]}})
    found = tuned(own, job, "--confirm", "0")
    later = [one["why"] for one in found["trials"] if one["job"]][5:]
    assert later
    assert all(why.startswith("predicted to be ") for why in later)
    assert found["best"]["setting"] == {"LEVEL": 3, "-n": 140}
    assert len(later) < 8


@pytest.mark.usefixtures("impatient")
def test_a_database_that_was_away_has_every_run_in_the_end(work: Path, own_database: Path, own: Run) -> None:
    """The search does not stop for it, and says so; the same command, which runs nothing again, stores what is missing."""
    with closing(sqlite3.connect(own_database)) as other:
        other.execute("BEGIN IMMEDIATE")
        found = tuned(own, document(), "--confirm", "0", "--gain", "0")
    assert found["notes"] == ["not every run is in the database: the same command stores those that are missing"]
    assert tuned(own, document(), "--confirm", "0", "--gain", "0")["notes"] == []
    stored = own("results", "list", "--application", "toy", "--metric", "throughput", "--json").out
    assert len(json.loads(stored)["items"]) == len([one for one in found["trials"] if one["job"]])


def test_a_budget_ends_a_search(work: Path, own: Run) -> None:
    """A minute of a node is the least that a trial is reckoned with: what is left must hold one."""
    (work / "program.sh").write_text(PROGRAM.replace("sleep 0.01", "sleep 0.7"))
    found = tuned(own, document(), "--budget", "0.017", "--confirm", "0")
    assert len(found["trials"]) <= 2
    assert "the budget of 0.017 node-hours is used" in found["stopped"]
    assert found["node_hours"] <= 0.017


def test_the_comparison_of_short_runs_is_kept_by_what_they_took(work: Path, own: Run) -> None:
    """Not a minute for each: three minutes and four seconds leave enough to look until there is nothing to gain."""
    (work / "program.sh").write_text(PROGRAM.replace("sleep 0.01", "sleep 1"))
    job = document(space={"environment": {"LEVEL": [1, 2, 3]}, "options": {"-n": [5, 7]}})
    found = tuned(own, job, "--budget", "0.0512", "--confirm", "1", "--gain", "0")
    assert "budget" not in found["stopped"]
    assert found["node_hours"] <= 0.0512


def test_no_trial_may_run_into_what_is_kept_for_the_comparison(work: Path, own: Run) -> None:
    """Of half an hour of a node two minutes are: the first trial is ended before."""
    tuned(own, document(), "--budget", "0.5", "--confirm", "1", "--trials", "1")
    assert RunState.read(work / "tuning-job" / "trial-0000").limit_s == pytest.approx(1680)


def test_a_budget_that_running_trials_hold_is_waited_for(work: Path, own: Run) -> None:
    """The first trial may use all of it; what it leaves is for the others, also with several at a time."""
    found = tuned(own, document(), "--budget", "0.5", "--confirm", "0", "--gain", "0", "--jobs", "2")
    assert "the budget" not in found["stopped"]


def test_no_trial_has_more_time_than_its_queue_gives(work: Path, own: Run) -> None:
    """Whatever the budget: the scheduler would reject the job, or never start it."""
    (work / "box.toml").write_text(
        'name = "box"\ntitle = "a box"\nsite = "here"\nscheduler = "shell"\n'
        '[[partitions]]\nname = "all"\nnodes = 1\nmax_wall_time_s = 600\nnode = { processor = "epyc-7601", sockets = 1, cores = 1 }\n'
        '[[sources]]\nfields = ["*"]\ncitation = "this test"\n'
    )
    assert own("systems", "add", "box.toml").status == 0
    job = document()
    job["job"].setdefault("target", {})["name"] = "box"
    tuned(own, job, "--budget", "0.5", "--confirm", "0", "--trials", "1")
    assert RunState.read(work / "tuning-job" / "trial-0000").limit_s == 600


@pytest.mark.parametrize(("budget", "nodes", "need"), [("0", 1, "0.05"), ("0.06", 2, "0.1")])
def test_a_budget_that_holds_no_trial_runs_nothing(work: Path, own: Run, budget: str, nodes: int, need: str) -> None:
    """A trial and a run of each for the comparison are three minutes of the job's nodes; no budget is no licence to run."""
    job = document()
    job["job"]["job_options"] = {"node_count": nodes}
    Path("job.json").write_text(json.dumps(job))
    ran = own("tune", "job.json", "--budget", budget, "--confirm", "1")
    assert (ran.status, f"{budget} node-hours are not enough" in ran.err) == (4, True)
    assert (
        f"a first trial and 2 runs to compare (--confirm) are reckoned at a minute of their nodes each, {need} node-hours in all" in ran.err
    )
    assert not [*work.glob("tuning-job/trial-*")]


def test_a_job_that_fails_with_its_own_setting_is_not_tuned(work: Path, own: Run) -> None:
    """One line, with where its output is."""
    Path("job.json").write_text(json.dumps(document(space={"environment": {"LEVEL": [4, 1]}, "options": {"-n": [5]}})))
    ran = own("tune", "job.json")
    assert (ran.status, "the job fails with its own setting: the run ended with status 3" in ran.err) == (1, True)


def test_a_scheduler_that_refuses_the_jobs_own_setting_is_asked_once(work: Path, own: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it refuses (an account, a partition) is in the script of every trial."""
    (work / "sbatch").write_text("#!/bin/sh\necho 'sbatch: error: Invalid account' >&2\nexit 1\n")
    (work / "sbatch").chmod(0o755)
    monkeypatch.setenv("PATH", f"{work}:{os.environ['PATH']}")
    job = document()
    job["job"]["target"]["job_scheduler_type"] = "slurm"
    Path("job.json").write_text(json.dumps(job))
    ran = own("tune", "job.json")
    assert (ran.status, "the job does not start with its own setting" in ran.err) == (1, True)
    assert "sbatch refuses it: sbatch: error: Invalid account" in ran.err
    assert len([*work.glob("tuning-job/trial-*")]) == 1


@pytest.mark.parametrize(("words", "most"), [((), 2), (("--trials", "1"), 1)])
def test_the_requests_number_of_trials_is_read_as_the_rest_of_it(work: Path, own: Run, words: tuple[str, ...], most: int) -> None:
    """In any accepted spelling: here as text, at the top. The command's comes first."""
    job = document(space={"environment": {"LEVEL": [1, 2, 3, 5]}, "options": {"-n": [5]}}, trials="2")["job"]
    assert len(tuned(own, job, "--confirm", "0", "--gain", "0", *words)["trials"]) == most


def test_scripts_of_a_scheduler_run_in_this_place(work: Path, own: Run) -> None:
    """Inside an allocation: they begin where a submission would have begun, and write into the search's folder."""
    job = document(space={"environment": {"LEVEL": [2]}})
    job["job"]["application"]["arguments"] = "-n 1"
    job["job"]["target"]["job_scheduler_type"] = "slurm"
    found = tuned(own, job, "--here", "-o", "searches/first")
    assert [one["value"] for one in found["trials"]] == [201]
    assert (work / "searches/first/job.sh").read_text().startswith("#!/bin/bash\n#SBATCH")


def test_a_folder_elsewhere_is_refused(work: Path, own: Run) -> None:
    """Jobs start here and write there."""
    Path("job.json").write_text(json.dumps(document()))
    ran = own("tune", "job.json", "-o", "/tmp/elsewhere")
    assert (ran.status, "a folder below this one" in ran.err) == (1, True)
