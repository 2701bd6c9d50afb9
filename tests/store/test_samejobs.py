"""Jobs that Slurm's accounting and their own scripts tell of."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, event

from modak.ingest.reading import table
from modak.ingest.sources import from_bytes, from_path
from modak.ingest.table import Table
from modak.store import Store, open_store
from modak.store.samejobs import FEW
from tests.conftest import ROOT
from tests.store.tables import ME, applications, csv_table, results_of
from tests.store.test_spellings import system

ACCOUNTING = ("sacct-24.11.txt", "sacct-24.11.json")


def accounting(name: str = ACCOUNTING[0]) -> Table:
    """What Slurm's accounting says of the jobs on the cluster 'probe'; job 1 ran for 3 s."""
    return table(from_path(ROOT / "tests/data" / name))


def result(job: str = "1", *, place: str | None = "probe", value: float = 2.5, day: str = "2026-11-20") -> Table:
    """What the script of a job wrote."""
    record = {"application": "solver", "system": place, "nodes": 2, "metric": "wall_time", "unit": "s", "value": value}
    run = {**record, "params.steps": "10", "measured_at": f"{day}T14:04:50Z"}
    document = {"modak_result": 1, "plan": "12ab", "job": job, "exit_status": 0, "results": [run]}
    return table(from_bytes(json.dumps(document).encode(), f"modak-result-{job}.json"))


def sources(store: Store) -> list[str]:
    """Where the results that stand come from, without those of other jobs than the first."""
    return sorted(each.source or "" for each in results_of(store, "solver") if each.source and each.source.split()[-1] in ("1", "12ab"))


@pytest.mark.parametrize("name", ACCOUNTING)
@pytest.mark.parametrize("result_first", [True, False])
def test_a_job_with_a_result_of_its_own_counts_once(store: Store, name: str, *, result_first: bool) -> None:
    """The result stands, whichever came first, and also if the accounting comes again; the load says so."""
    jobs = store.load([accounting(name)], ME, dry_run=True).new
    files = [accounting(name), result()]
    reports = [store.load([each], ME) for each in (files[::-1] if result_first else files)]
    told = "in Slurm's accounting and with a result of the job's own script, which alone counts: slurm job 1"
    assert told in reports[1].notes
    assert [(each.new, each.replaced) for each in reports] == ([(1, 0), (jobs - 1, 0)] if result_first else [(jobs, 0), (1, 1)])
    assert [each.result.source for each in store.replaced().items] == ([] if result_first else ["slurm job 1"])
    assert sources(store) == ["job 1, plan 12ab"]
    store.load([accounting(name)], ME, replace=True)
    assert sources(store) == ["job 1, plan 12ab"]


def test_both_files_of_one_load_are_compared(store: Store) -> None:
    """A folder has them in any order."""
    store.load([result(), accounting()], ME)
    assert sources(store) == ["job 1, plan 12ab"]


@pytest.mark.parametrize("other", [result("3"), result(place="elsewhere"), result(day="2026-11-17")])
def test_other_jobs_stay(store: Store, other: Table) -> None:
    """Another number, the same number on another system, or long before, when the number was given the first time."""
    store.load([accounting("sacct-24.11.json")], ME)
    assert store.load([other], ME).replaced == 0
    assert len(sources(store)) == 2


def test_a_cluster_may_be_called_by_an_alias_of_its_system(store: Store) -> None:
    """Plans have the system's name, Slurm has its own."""
    store.add([system("probe")], ME)
    store.load([accounting()], ME)
    assert store.load([result(place="mine")], ME).replaced == 1


def test_a_job_of_no_named_system_is_known_by_its_number(store: Store) -> None:
    """Accounting without the column, and a script that knew the scheduler alone."""
    store.load([table(from_bytes(b"JobID|JobName|State|ElapsedRaw|NNodes\n1|a|COMPLETED|9|1\n", "a.txt"))], ME)
    assert store.load([result(place=None)], ME).replaced == 1


def test_an_alias_that_becomes_known_later_joins_jobs(store: Store) -> None:
    """The answer counts those that were there twice."""
    store.load([accounting(), result(place="mine")], ME)
    assert len(sources(store)) == 2
    told = "were there under another name of their system, too, and count once from now on: 1 result"
    assert told in store.add([system("probe")], ME).notes
    assert sources(store) == ["job 1, plan 12ab"]


def test_the_tasks_of_an_array_give_way_to_its_results(store: Store) -> None:
    """Their scripts name the array."""
    head = "JobID|JobName|Cluster|State|ElapsedRaw|NNodes\n"
    tasks = table(from_bytes(f"{head}5_1|a|probe|COMPLETED|9|1\n5_2|a|probe|COMPLETED|9|1\n50_1|a|probe|COMPLETED|9|1\n".encode(), "a.txt"))
    store.load([tasks], ME)
    assert store.load([result("5")], ME).replaced == 2
    assert [each.source for each in results_of(store, "a")] == ["slurm job 50_1"]


def test_what_was_doubted_of_a_job_holds_for_its_result(store: Store) -> None:
    """It was on a bad node; no other one was."""
    store.load([accounting(), result("3")], ME)
    (number,) = [each.id or 0 for each in results_of(store, "solver") if each.source == "slurm job 1"]
    store.judge("doubt", [number], ME, "a bad node")
    store.load([result()], ME)
    assert [(each.source, each.suspect) for each in results_of(store, "solver") if each.by_hand] == [("job 1, plan 12ab", "a bad node")]


@pytest.mark.parametrize("confirmed", [False, True])
def test_what_nobody_doubted_of_a_job_says_nothing_of_its_result(store: Store, *, confirmed: bool) -> None:
    """Loading judges that as any other."""
    store.load([accounting()], ME)
    if confirmed:
        store.judge("confirm", [each.id or 0 for each in results_of(store, "solver")], ME)
    store.load([result()], ME)
    told = [each for each in results_of(store, "solver") if each.source == "job 1, plan 12ab"]
    assert [(each.suspect, each.by_hand) for each in told] == [(None, False)]


def test_a_job_that_gave_way_leaves_no_application(store: Store) -> None:
    """Accounting has the job's name, which nothing else is called."""
    head = "JobID|JobName|Cluster|State|ElapsedRaw|NNodes\n"
    store.load([result()], ME)
    store.load([table(from_bytes(f"{head}1|my-job|probe|COMPLETED|9|1\n".encode(), "a.txt"))], ME)
    assert applications(store) == {"solver"}


@pytest.mark.parametrize("number", [2, FEW + 1])
@pytest.mark.parametrize("result_first", [True, False])
def test_jobs_are_compared_however_many_come_at_once(store: Store, number: int, *, result_first: bool) -> None:
    """Tasks of arrays, too."""
    jobs = [f"{job}_2" if job % 2 else str(job) for job in range(1, number + 1)]
    accounted = "JobID|JobName|Cluster|State|ElapsedRaw|NNodes\n" + "".join(f"{job}|a|probe|COMPLETED|9|1\n" for job in jobs)
    told = "application,system,metric,value,source\n"
    told += "".join(f'solver,probe,wall_time,8,"job {job.removesuffix("_2")}, plan f00"\n' for job in jobs)
    files = [table(from_bytes(accounted.encode(), "a.txt")), csv_table(told)]
    for each in files[::-1] if result_first else files:
        store.load([each], ME)
    assert results_of(store, "a") == ()
    assert len(results_of(store, "solver")) == number


@pytest.mark.parametrize("replace", [False, True])
def test_the_result_of_a_job_takes_no_longer_for_the_others(tmp_path: Path, *, replace: bool) -> None:
    """Loading it finds all by an index."""
    with open_store(f"sqlite:///{tmp_path / 'modak.db'}", fill=False) as store:
        store.load([accounting()], ME)
        plans: list[str] = []

        @event.listens_for(store.engine, "before_cursor_execute")
        def _explained(connection: Connection, cursor: Any, statement: str, parameters: Any, *_rest: object) -> None:
            if statement.startswith(("SELECT", "UPDATE", "DELETE")):
                driver: Any = connection.connection.driver_connection
                plans.extend(row[3] for row in driver.execute(f"EXPLAIN QUERY PLAN {statement}", parameters))

        store.load([result("4711")], ME, replace=replace)
    assert plans
    assert [plan for plan in plans if re.match("SCAN (results|texts)", plan)] == []
