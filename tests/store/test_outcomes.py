"""What a load says of jobs whose times were predicted."""

from __future__ import annotations

import json

import pytest

from modak.dsl import Texts
from modak.ingest.reading import table
from modak.ingest.sources import from_bytes
from modak.ingest.table import Options, Table
from modak.store import Store
from tests.store.tables import ME

PREDICTION = {"metric": "time", "value": 100.0, "lower": 90.0, "upper": 115.0, "level": 0.9, "unit": "s", "basis": "measured"}


def result(job: str, seconds: float, plan: str = "12ab", task: str = "") -> Table:
    """What the script of a job wrote."""
    run = {"application": "solver", "system": "probe", "nodes": 2, "metric": "wall_time", "unit": "s", "value": seconds}
    ended = {"measured_at": f"2026-11-20T14:{int(job):02}:50Z"}
    document = {"modak_result": 1, "plan": plan, "job": job, "exit_status": 0, "results": [run | ended]}
    return table(from_bytes(json.dumps(document).encode(), f"modak-result-{job}{task}.json"))


def planned(store: Store, prediction: dict[str, object] | None, **job: object) -> None:
    """A stored plan with this prediction for this request; ``None``: its answer has no such part."""
    response = json.dumps({"job": {**job, "plan": {"prediction": prediction}} if prediction else job})
    store.plans.save("12ab", {"job": job}, response, Texts("#!/bin/sh\n"), data_version="1")


@pytest.mark.parametrize(
    ("seconds", "where"), [(110.0, "within"), (118.0, "longer than"), (89.0, "shorter than"), (115.0004, "just longer than")]
)
def test_a_job_is_compared_with_its_prediction(store: Store, seconds: float, where: str) -> None:
    """So its user sees, without a table, whether to trust the next one."""
    planned(store, PREDICTION)
    told = f"job 7 took {seconds:.0f} s, {where} the 90% interval of its prediction, 100 s (90 – 115 s)"
    assert told in store.load([result("7", seconds)], ME).notes
    assert not [note for note in store.load([result("7", seconds)], ME).notes if "prediction" in note], "it is there already"


def test_tasks_of_a_job_array_are_told_apart(store: Store) -> None:
    """By the names of their files: all have the array's number."""
    planned(store, PREDICTION)
    notes = store.load([result("7", 100.0 + task, task=f"-{task}") for task in (1, 2)], ME).notes
    assert [note.partition(" took")[0] for note in notes if "prediction" in note] == ["task 1 of job 7", "task 2 of job 7"]


@pytest.mark.parametrize(("seconds", "told"), [(118, ["job 7 was stopped after 118 s, longer than"]), (110, [])])
def test_a_job_that_was_stopped_is_compared_once_it_took_longer(store: Store, seconds: int, told: list[str]) -> None:
    """Before, it might have ended as predicted."""
    planned(store, PREDICTION)
    run = {"application": "solver", "system": "probe", "nodes": 2}
    document = {"modak_result": 1, "plan": "12ab", "job": "7", "exit_status": 143, "seconds": seconds, "unfinished": run}
    notes = store.load([table(from_bytes(json.dumps(document).encode(), "modak-result-7.json"))], ME).notes
    said = [f"{one} the 90% interval of its prediction, 100 s (90 – 115 s)" for one in told]
    assert [note for note in notes if "prediction" in note] == said


@pytest.mark.parametrize(
    ("per", "wanted", "told"),
    [
        ("epoch", {}, 0),
        ("epoch", {"workload": {"epochs": 1}}, 1),
        ("step", {"workload": {"amount": "9 steps"}}, 1),
        ("run", {}, 1),
        ("epoch", {"Workload": {"EPOCHS": "3"}}, 1),
        ("epoch", '{"workload": {"epochs": 3}}', 1),
        ("epoch", {"workload": {"epochs": None}}, 0),
        ("epoch", {"workload": {"amount": "9 ns"}}, 0),
        ("epoch", {"workload": None}, 0),
        ("epoch", None, 0),
        ("epoch", [], 0),  # of a version that took this for a request
    ],
)
def test_a_run_is_not_compared_with_one_epoch(store: Store, per: str, wanted: object, told: int) -> None:
    """Which is what is predicted if nobody says how many it has. Plans have requests as they were sent."""
    planned(store, {**PREDICTION, "per": per}, optimisation=wanted)
    assert len([note for note in store.load([result("7", 4200)], ME).notes if "prediction" in note]) == told


@pytest.mark.parametrize(
    ("times", "told"),
    [
        ([80.0, 90.0, 100.0, 110.0, 120.0], "5 jobs with a prediction: 3 within, 1 longer than, 1 shorter than"),
        ([95.0, 100.0, 105.0, 120.0], "4 jobs with a prediction: 3 within, 1 longer than"),
    ],
)
def test_many_jobs_are_counted(store: Store, times: list[float], told: str) -> None:
    """A line for each of hundreds would hide everything else."""
    planned(store, PREDICTION)
    notes = store.load([result(str(job), time) for job, time in enumerate(times)], ME).notes
    assert f"of the times of {told} the interval of it" in notes


def test_all_jobs_are_compared_the_newest_first(store: Store) -> None:
    """Those of one application or system; a stopped one if it took longer."""
    planned(store, PREDICTION)
    store.load([result(str(job), seconds) for job, seconds in enumerate([95.0, 120.0, 80.0])], ME)
    run = {"application": "Other", "system": "probe", "nodes": 4}
    stopped = {"modak_result": 1, "plan": "12ab", "job": "9", "exit_status": 143, "seconds": 116, "unfinished": run}
    store.load([table(from_bytes(json.dumps(stopped).encode(), "modak-result-9.json"))], ME)
    found = [(one.job, one.application, one.nodes, one.time, one.outcome) for one in store.outcomes({"system": "Probe"})]
    assert found == [
        ("job 9", "Other", 4, 116.0, "longer"),
        ("job 2", "solver", 2, 80.0, "shorter"),
        ("job 1", "solver", 2, 120.0, "longer"),
        ("job 0", "solver", 2, 95.0, "within"),
    ]
    assert [one.job for one in store.outcomes({"application": "Other"})] == ["job 9"]
    assert store.outcomes({"application": "none"}) == []


def test_a_result_may_leave_the_nodes_open(store: Store) -> None:
    """As notes on weak scaling advise to load it: then no number is made up."""
    planned(store, PREDICTION)
    store.load([table(result("7", 100.0).source, Options(rename={"nodes": ""}))], ME)
    assert [one.nodes for one in store.outcomes({})] == [None]


def test_a_corrected_time_counts_in_place_of_the_first(store: Store) -> None:
    """The replaced row is not a second job."""
    planned(store, PREDICTION)
    store.load([result("7", 100.0)], ME)
    store.load([result("7", 120.0)], ME, replace=True)
    assert [one.time for one in store.outcomes({})] == [120.0]


def test_a_time_that_somebody_doubts_is_no_outcome(store: Store) -> None:
    """Something was wrong with that run."""
    planned(store, PREDICTION)
    store.load([result("7", 100.0), result("8", 3500.0)], ME)
    (doubted,) = [one.id for one in store.results().items if one.value == 3500 and one.id]
    assert [one.job for one in store.outcomes({})] == ["job 8", "job 7"]
    store.judge("doubt", [doubted], ME, "the file system hung")
    assert [one.job for one in store.outcomes({})] == ["job 7"]


@pytest.mark.parametrize(
    ("plan", "prediction"), [("unheard-of", PREDICTION), ("12ab", {"metric": "time", "unit": "s", "basis": "none"}), ("12ab", None)]
)
def test_nothing_is_said_where_nothing_was_predicted(store: Store, plan: str, prediction: dict[str, object] | None) -> None:
    """Plans expire, and the first runs of an application have no prediction."""
    planned(store, prediction)
    assert not [note for note in store.load([result("7", 110.0, plan)], ME).notes if "prediction" in note]
