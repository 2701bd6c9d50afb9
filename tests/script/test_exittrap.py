"""What a script leaves: its result, its data, nothing in its scratch; and never another status than the run's."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from signal import SIGKILL, SIGTERM
from typing import Any

import pytest

from modak import plugins, processes
from modak.dsl import Signal
from modak.jobs.spec import Attributes, Copy, JobSpec, Report, Resources, RuleText, Staging
from modak.schedulers.slurm import Slurm
from modak.script.exittrap import exit_trap
from modak.script.job import render
from modak.script.staging import scratch
from modak.text.grammar import MetricPattern
from modak.text.words import Joined, Variable, parse
from tests.conftest import tool, until
from tests.script.test_whole import SHELLCHECK, ran, stub

SIGNAL = Signal(name="USR1", seconds=120)
RECORD: dict[str, str | float | bool] = {
    "application": 'it\'s "x" %s $(id) `id` \\',
    "dataset": "é",
    "nodes": 1,
    "ranks_per_node": 1,
    "hyperthreads": False,
}
JOB = JobSpec(
    parse("bash -c 'sleep 0.05; echo rate: 5; echo rate: 1.5e2 cells'"),
    Resources(),
    Attributes(name="ends", wall_time_s=600),
    plan_id="abc-123",
    report=Report(RECORD, metric="throughput", unit="cells/s", pattern="rate: ([0-9.e+]+)"),
)


UP = "touch up; while test ! -e told; do sleep 0.02; done"
"""A run that lasts until something was done to it."""


def result(folder: Path, name: str = "modak-result-*.json") -> Any:
    """What the script wrote about itself last."""
    return json.loads(max(folder.glob(name), key=lambda file: file.stat().st_mtime_ns).read_text())


def once_up(folder: Path, name: str, does: str) -> None:
    """A program before the run, which leaves somebody behind who does that to the script (``$pid``) once the run is up, and says so."""
    stub(folder, name, f"pid=$PPID; ( while test ! -e up; do sleep 0.02; done; {does}; touch told ) >/dev/null 2>&1 &")


def test_the_result_says_how_the_run_went(tmp_path: Path) -> None:
    """Plan, status, time, the node's name and no other one's; the time and the last metric that was printed as records of the table."""
    done = ran(render(JOB, "shell").text, tmp_path, HOSTNAME="login1")
    assert (done.returncode, done.stdout) == (0, "rate: 5\nrate: 1.5e2 cells\n"), done.stderr
    said = result(tmp_path)
    assert (said["modak_result"], said["plan"], said["exit_status"], said["host"]) == (1, "abc-123", 0, os.uname().nodename)
    assert 0.05 <= said["seconds"] < 20
    time, metric = said["results"]
    assert time | {"measured_at": ""} == RECORD | {"metric": "wall_time", "unit": "s", "value": said["seconds"], "measured_at": ""}
    assert metric | {"measured_at": ""} == RECORD | {"metric": "throughput", "unit": "cells/s", "value": 150, "measured_at": ""}


def test_a_flux_job_is_called_by_the_number_that_its_script_sees(tmp_path: Path) -> None:
    """Flux takes ``FLUX_JOB_ID`` out of the environment of batch scripts, which would then be called by a process number."""
    done = ran(render(JOB, "flux").text, tmp_path, FLUX_ENCLOSING_ID="f2aB")
    assert (done.returncode, result(tmp_path, "modak-result-f2aB.json")["job"]) == (0, "f2aB"), done.stderr


@pytest.mark.parametrize(
    "job",
    [
        replace(JOB, report=Report({"application": "a"}, file="r.json"), attributes=Attributes(dependency="afterany:12", signal=SIGNAL)),
        replace(JOB, report=Report({}), attributes=Attributes(dependency="afterany:12", signal=SIGNAL)),
    ],
)
@pytest.mark.parametrize("scheduler", ["slurm", "torque"])
def test_shellcheck_has_no_remark_on_ends_that_few_jobs_have(job: JobSpec, scheduler: str, tmp_path: Path) -> None:
    """One file for a whole chain of jobs was an error, and a sign that no report reads a warning."""
    (tmp_path / "job.sh").write_text(render(job, scheduler).text)
    assert SHELLCHECK
    looked = subprocess.run([SHELLCHECK, tmp_path / "job.sh"], capture_output=True, text=True)
    assert (looked.returncode, looked.stdout) == (0, "")


def test_the_results_can_be_loaded(tmp_path: Path) -> None:
    """Each record passes the checks of the results table."""
    from datetime import UTC, datetime

    from modak.ingest.checking import batch
    from modak.ingest.formats.json import Json
    from modak.ingest.sources import from_bytes

    assert ran(render(JOB, "shell").text, tmp_path).returncode == 0
    records = json.dumps(result(tmp_path)["results"]).encode()
    for raw in Json().read(from_bytes(records, "r.json")):
        assert len(batch(raw, "r.json", datetime(2100, 1, 1, tzinfo=UTC)).values) == 2


@pytest.mark.parametrize(("command", "status"), [("bash -c 'exit 7'", 7), ("no-such-program", 127)])
def test_a_failed_run_is_no_result(tmp_path: Path, command: str, status: int) -> None:
    """It is told with its status."""
    done = ran(render(replace(JOB, command=parse(command)), "shell").text, tmp_path)
    assert done.returncode == status
    assert (result(tmp_path)["exit_status"], result(tmp_path)["results"]) == (status, [])


def test_what_fails_after_the_run_is_told_from_it(tmp_path: Path) -> None:
    """The job failed, and its run did not."""
    done = ran(render(replace(JOB, post=parse("bash -c 'exit 7'")), "shell").text, tmp_path)
    assert (done.returncode, result(tmp_path)["exit_status"], result(tmp_path)["run_status"]) == (7, 7, 0)


def test_the_status_of_a_run_that_fails_before_other_steps_is_its_own(tmp_path: Path) -> None:
    """They are not reached."""
    ran(render(replace(JOB, command=parse("bash -c 'exit 7'"), post=("true",)), "shell").text, tmp_path)
    assert "run_status" not in result(tmp_path)


@pytest.mark.parametrize(
    ("status", "state", "told"),
    [
        (137, "RUNNING", False),
        (137, "CANCELLED", False),
        (143, "RUNNING", False),
        (143, "CANCELLED", None),
        (143, "TIMEOUT", None),
        (143, "RUNNING PreemptTime=2026-01-31T14:00:00", None),
        (143, "", None),
        (1, "RUNNING", None),
    ],
)
@pytest.mark.parametrize("nodes", [1, 2])
def test_ranks_that_ended_while_there_was_memory_are_told(tmp_path: Path, nodes: int, status: int, state: str, told: bool | None) -> None:
    """Slurm kills those of MPICH if one calls MPI_Abort, and ends all others if one fails, but also those of a job that is stopped."""
    stub(tmp_path, "srun", f"exit {status}")
    stub(tmp_path, "scontrol", f"echo JobId=7 JobName=app JobState={state} Reason=None" if state else "exit 1")
    job = replace(JOB, launcher="srun", resources=Resources(nodes=nodes, ranks_per_node=2), preflight=False)
    done = ran(render(job, "slurm").text, tmp_path, SLURM_SUBMIT_DIR=str(tmp_path), SLURM_JOB_ID="7")
    assert (done.returncode, result(tmp_path).get("out_of_memory")) == (status, told)


@pytest.mark.parametrize("status", [137, 143])
def test_ranks_that_ended_for_want_of_memory_are_told(tmp_path: Path, status: int) -> None:
    """The kernel ends one of them, and counts that; ``srun`` ends the others."""
    stub(tmp_path, "srun", f"touch {tmp_path}/lacked; exit {status}")
    counts = f"case $* in *oom_kill*) test -e {tmp_path}/lacked && echo 8 || echo 7 ;; *) exec /usr/bin/sed"
    stub(tmp_path, "sed", f'{counts} "$@" ;; esac')
    stub(tmp_path, "scontrol", "echo JobId=7 JobName=app JobState=RUNNING Reason=None")
    job = replace(JOB, launcher="srun", resources=Resources(ranks_per_node=2), preflight=False)
    ran(render(job, "slurm").text, tmp_path, SLURM_SUBMIT_DIR=str(tmp_path), SLURM_JOB_ID="7")
    assert result(tmp_path)["out_of_memory"] is True


@pytest.mark.parametrize(("lacked", "status", "told"), [(True, 1, True), (False, 1, None), (True, 2, None)])
@pytest.mark.parametrize("scheduler", ["slurm", "pbspro"])
def test_a_rank_of_torchrun_that_ended_for_want_of_memory_is_told(
    tmp_path: Path, scheduler: str, lacked: bool, status: int, told: bool | None
) -> None:
    """torchrun ends the others, and ends with status 1 whatever ended that one."""
    stub(tmp_path, "torchrun", f"{f'touch {tmp_path}/lacked; ' if lacked else ''}exit {status}")
    counts = f"case $* in *oom_kill*) test -e {tmp_path}/lacked && echo 8 || echo 7 ;; *) exec /usr/bin/sed"
    stub(tmp_path, "sed", f'{counts} "$@" ;; esac')
    job = replace(JOB, launcher="torchrun", resources=Resources(ranks_per_node=2), preflight=False)
    ran(render(job, scheduler).text, tmp_path, SLURM_SUBMIT_DIR=str(tmp_path), PBS_O_WORKDIR=str(tmp_path))
    assert (result(tmp_path)["exit_status"], result(tmp_path).get("out_of_memory")) == (status, told)


def test_what_a_signal_to_the_script_ends_did_not_fail(tmp_path: Path) -> None:
    """The job itself goes on, for Slurm, if somebody sent it."""
    stub(tmp_path, "scontrol", "echo JobId=7 JobName=app JobState=RUNNING Reason=None")
    stub(tmp_path, "srun", UP)
    once_up(tmp_path, "sender", 'kill -TERM "$pid"')
    job = replace(JOB, launcher="srun", resources=Resources(ranks_per_node=2), preflight=False, pre=("sender",))
    ran(render(job, "slurm").text, tmp_path, SLURM_SUBMIT_DIR=str(tmp_path), SLURM_JOB_ID="7")
    assert (result(tmp_path)["exit_status"], result(tmp_path).get("out_of_memory")) == (143, None)


def test_what_is_killed_after_the_run_is_told_from_it(tmp_path: Path) -> None:
    """Under Slurm on one node, too, where the script says whether there was memory."""
    stub(tmp_path, "srun", '"${@: -2}"')
    job = replace(JOB, launcher="srun", command=("sleep", "0.05"), post=("bash", "-c", "exit 137"), preflight=False)
    assert ran(render(job, "slurm").text, tmp_path, SLURM_SUBMIT_DIR=str(tmp_path)).returncode == 137
    assert result(tmp_path)["run_status"] == 0


@pytest.mark.parametrize("signal", [None, SIGNAL])
def test_a_run_that_a_signal_ends_is_no_result(tmp_path: Path, signal: Signal | None) -> None:
    """Killed by its scheduler or at the time limit, in the foreground or watched: it did not succeed, and its time is nobody's."""
    once_up(tmp_path, "sender", 'kill -TERM "$pid"')
    job = replace(JOB, attributes=replace(JOB.attributes, signal=signal), pre=("sender",), command=("bash", "-c", UP))
    done = ran(render(job, "slurm").text, tmp_path, SLURM_SUBMIT_DIR=str(tmp_path))
    assert done.returncode in (-15, 143)
    assert (result(tmp_path)["exit_status"], result(tmp_path)["results"]) == (143, [])


def test_a_signal_that_ends_the_job_after_the_run_is_told(tmp_path: Path) -> None:
    """What comes after the run may say whether it is whole, and was cut short."""
    stub(tmp_path, "ends", 'kill -TERM "$PPID"')
    done = ran(render(replace(JOB, post=("ends",)), "slurm").text, tmp_path, SLURM_SUBMIT_DIR=str(tmp_path))
    assert done.returncode in (-15, 143)
    assert (result(tmp_path)["exit_status"], result(tmp_path)["results"]) == (143, [])


def test_a_run_that_was_suspended_is_no_result(tmp_path: Path) -> None:
    """As by a job of higher priority: the time of others is in its time."""
    once_up(tmp_path, "pauser", 'kill -STOP "$pid"; kill -CONT "$pid"')
    job = replace(JOB, pre=("pauser",), command=("bash", "-c", f"{UP}; echo rate: 4"))
    done = ran(render(job, "pbspro").text, tmp_path, PBS_O_WORKDIR=str(tmp_path))
    assert (done.returncode, done.stdout) == (0, "rate: 4\n"), done.stderr
    assert (result(tmp_path)["exit_status"], result(tmp_path)["results"]) == (0, [])


@pytest.mark.parametrize(
    ("says", "metrics"),
    [
        ("PreemptEligibleTime=2026-11-23T13:42:37 PreemptTime=None SuspendTime=None SecsPreSuspend=0", ["wall_time"]),
        ("PreemptEligibleTime=2026-11-23T13:42:37 PreemptTime=2026-11-23T13:42:42 SuspendTime=None SecsPreSuspend=0", []),
        ("PreemptEligibleTime=2026-11-23T13:42:37 PreemptTime=None SuspendTime=2026-11-23T13:42:42 SecsPreSuspend=5", []),
        # another task of the array that the job's number stands for, too
        ("PreemptTime=None SuspendTime=None\nJobId=78 ArrayJobId=77 PreemptTime=2026-11-23T13:42:42 SuspendTime=None", ["wall_time"]),
    ],
)
def test_a_run_in_the_way_of_another_job_is_no_result(tmp_path: Path, says: str, metrics: list[str]) -> None:
    """Slurm told its ranks to stop early, which end with status 0, or suspended them; a job of the chain may continue them."""
    stub(tmp_path, "scontrol", f'test "$*" = "--oneliner show job 77" && printf "JobId=77 JobName=ends {says}\n"')
    assert ran(render(JOB, "slurm").text, tmp_path, SLURM_SUBMIT_DIR=str(tmp_path), SLURM_JOB_ID="77").returncode == 0
    said = result(tmp_path)
    assert ([row["metric"] for row in said["results"]][:1], said.get("unfinished")) == (metrics, None if metrics else RECORD)


@pytest.mark.parametrize(("file", "server"), [(None, ""), ("out", ""), (None, ".server")])
def test_the_time_of_a_chain_of_jobs_is_that_of_all_its_parts(tmp_path: Path, file: str | None, server: str) -> None:
    """The parts before the last reached their limit; each names all before itself. What a job of another run left there is not added."""
    report = replace(JOB.report or Report(), file=file)
    (tmp_path / "modak-result-99.json").write_text('{"job": "99", "exit_status": 1, "seconds": 99.000, "results": []}')
    commands, parts = ("sleep 0.4; exit 3", "sleep 0.3; exit 3", "sleep 0.2"), list[Any]()
    for number, command in enumerate(commands, start=7):
        after = ":".join(("afterany", *map(str, range(7, number)))) if number > 7 else None
        job = replace(JOB, command=("bash", "-c", command), report=report, attributes=replace(JOB.attributes, dependency=after))
        ran(render(job, "torque").text, tmp_path, PBS_JOBID=f"{number}{server}", PBS_O_WORKDIR=str(tmp_path))
        parts.append(result(tmp_path, "out.json" if file else f"modak-result-{number}{server}.json"))
    assert parts[2]["earlier"] == pytest.approx(parts[0]["seconds"] + parts[1]["seconds"])
    assert parts[2]["results"][0]["value"] == pytest.approx(sum(part["seconds"] for part in parts))


@pytest.mark.parametrize(
    ("dependency", "first", "record"),
    [
        ("afterany:7", "true", RECORD),
        ("after:7", "exit 3", RECORD),
        ("afterok:6", "exit 3", RECORD),
        ("afterany:7", "exit 3", RECORD | {"nodes": 2}),
        ("afterok:7", "true", {}),
    ],
)
def test_a_job_that_continues_no_run_has_its_own_time(tmp_path: Path, dependency: str, first: str, record: dict[str, Any]) -> None:
    """It waits for a run that finished, or for the start of one, or for another job, or for one of another program or layout."""
    signal = SIGNAL
    for number, command, has in ((7, f"sleep 0.3; {first}", record), (8, "sleep 0.1", RECORD)):
        attributes = replace(JOB.attributes, dependency=dependency if number == 8 else None, signal=signal)
        job = replace(JOB, command=("bash", "-c", command), attributes=attributes, report=Report(has))
        ran(render(job, "slurm").text, tmp_path, SLURM_JOB_ID=str(number), SLURM_SUBMIT_DIR=str(tmp_path))
    last = result(tmp_path, "modak-result-8.json")
    assert last["results"][0]["value"] == last["seconds"]


@pytest.mark.parametrize(
    ("dependency", "more", "variables"),
    [
        ("afterany:6", {}, {}),
        ("singleton", {"signal": SIGNAL}, {}),
        ("afterany:7", {}, {"SLURM_RESTART_COUNT": "1"}),
        ("afterok:7", {}, {"SLURM_RESTART_COUNT": "1"}),
        ("afterany:7", {"array": "1-2"}, {"SLURM_ARRAY_TASK_ID": "1"}),
    ],
)
def test_a_chain_of_which_a_part_is_not_known_reports_no_time(
    tmp_path: Path, dependency: str, more: dict[str, Any], variables: dict[str, str]
) -> None:
    """The job before was killed and left no file, or is not named, or was requeued, or was one of an array."""
    job = replace(JOB, report=Report(RECORD), attributes=replace(JOB.attributes, **more))
    for number, command, after, has in ((7, "exit 3", None, variables), (8, "sleep 0.1", dependency, {})):
        each = replace(job, command=("bash", "-c", command), attributes=replace(job.attributes, dependency=after))
        numbers = {"SLURM_JOB_ID": str(number), "SLURM_ARRAY_JOB_ID": str(number)}
        ran(render(each, "slurm").text, tmp_path, **numbers, SLURM_SUBMIT_DIR=str(tmp_path), **has)
    last = result(tmp_path, "modak-result-8*.json")
    assert (last["exit_status"], last["earlier"], last["results"]) == (0, None, [])


def test_a_chain_is_one_too_if_sbatch_is_told_of_it(tmp_path: Path) -> None:
    """The same script, submitted again and again: the number of a job is known after its submission only."""
    job = replace(JOB, command=("bash", "-c", "sleep 0.2; test -e done"), attributes=replace(JOB.attributes, signal=SIGNAL))
    text = render(job, "slurm").text
    ran(text, tmp_path, SLURM_JOB_ID="7", SLURM_SUBMIT_DIR=str(tmp_path))
    (tmp_path / "done").touch()
    ran(text, tmp_path, SLURM_JOB_ID="8", SLURM_SUBMIT_DIR=str(tmp_path), SLURM_JOB_DEPENDENCY="afterany:7")
    first, last = (result(tmp_path, f"modak-result-{number}.json") for number in (7, 8))
    assert last["results"][0]["value"] == pytest.approx(first["seconds"] + last["seconds"])


def test_a_part_that_ends_by_itself_is_none_of_the_whole_run_if_post_execution_fails(tmp_path: Path) -> None:
    """Which may look for the mark of a finished run: the time is counted in the job that finishes it."""
    job = replace(JOB, command=("sleep", "0.2"), post=("test", "-e", "done"), report=Report(RECORD))
    for number, after in ((7, None), (8, "afternotok:7")):
        part = replace(job, attributes=replace(job.attributes, dependency=after))
        ran(render(part, "slurm").text, tmp_path, SLURM_JOB_ID=str(number), SLURM_SUBMIT_DIR=str(tmp_path))
        (tmp_path / "done").touch()
    first, last = (result(tmp_path, f"modak-result-{number}.json") for number in (7, 8))
    assert (first["results"], last["earlier"]) == ([], first["seconds"])


def test_a_signal_that_comes_again_does_not_cut_the_report_short(tmp_path: Path) -> None:
    """Slurm sends it twice at a time limit; on a busy node the report takes longer than that."""
    report = "while test ! -e report; do sleep 0.02; done"  # bash ends at a second one that comes before it has turned to the first
    once_up(tmp_path, "sender", f'kill -TERM "$pid"; {report}; kill -TERM "$pid"')
    stub(tmp_path, "date", f'if test -e up; then touch report; {UP}; fi; exec /bin/date "$@"')
    job = replace(JOB, pre=("sender",), command=("bash", "-c", UP))
    assert ran(render(job, "slurm").text, tmp_path, SLURM_SUBMIT_DIR=str(tmp_path)).returncode in (-15, 143)
    assert result(tmp_path)["exit_status"] == 143


@pytest.mark.parametrize("signal", [None, SIGNAL])
def test_a_node_without_room_costs_the_metric_and_not_the_job(tmp_path: Path, signal: Signal | None) -> None:
    """The line that the metric is read from cannot be kept: the run's output goes on, however much it is."""
    stub(tmp_path, "tail", "exit 1")
    command = ("bash", "-c", "set -o pipefail; seq -f 'rate: %g' 100000")
    job = replace(JOB, command=command, attributes=replace(JOB.attributes, signal=signal), post=parse("touch after"))
    done = ran(render(job, "slurm").text, tmp_path, SLURM_SUBMIT_DIR=str(tmp_path))
    assert (done.returncode, done.stdout[-13:]) == (0, "rate: 100000\n"), done.stderr
    assert (tmp_path / "after").exists()
    assert [each["metric"] for each in result(tmp_path)["results"]] == ["wall_time"]


def test_what_reads_the_output_ends_with_a_script_that_ends_before_the_run(tmp_path: Path) -> None:
    """It would wait for the run's output for ever, and hold the script's own."""
    stub(tmp_path, "mkfifo", 'PATH=/usr/bin:/bin mkfifo "$@"; case "$*" in *errors*) kill -TERM "$PPID" ;; esac')
    done = ran(render(JOB, "shell").text, tmp_path, TMPDIR=str(tmp_path))
    assert (done.returncode, done.stderr) == (-15, "modak: a signal ended the script before its last command\n")


def test_the_output_takes_no_room_on_the_node(tmp_path: Path) -> None:
    """Its temporary directory may be memory of the job, and holds the job's own data."""
    (tmp_path / "node").mkdir()
    job = replace(JOB, command=("bash", "-c", "seq 200000; sleep 0.3; echo rate: $(du -sk node | cut -f 1)"))
    done = ran(render(job, "shell").text, tmp_path, TMPDIR=f"{tmp_path}/node")
    assert (done.returncode, list((tmp_path / "node").iterdir())) == (0, []), done.stderr
    assert result(tmp_path)["results"][1]["value"] < 100


@pytest.mark.parametrize("signal", [None, SIGNAL])
def test_a_process_that_the_run_leaves_behind_is_not_waited_for(tmp_path: Path, signal: Signal | None) -> None:
    """It holds the output open; the job would last until its time limit."""
    stub(tmp_path, "sleep", "exec /bin/sleep 0.005")
    command = ("bash", "-c", "/bin/sleep 600 2>/dev/null & echo $! >left; echo rate: 5")
    job = replace(JOB, command=command, attributes=replace(JOB.attributes, signal=signal))
    done = ran(render(job, "slurm").text, tmp_path, SLURM_SUBMIT_DIR=str(tmp_path))
    os.kill(int((tmp_path / "left").read_text()), SIGKILL)
    left = "modak: a process that the run left behind holds its output open: it is not waited for\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, "rate: 5\n", left)
    assert [each["value"] < 5.1 for each in result(tmp_path)["results"]] == [True, True]


@pytest.mark.parametrize("signal", [None, SIGNAL])
def test_a_run_that_cannot_start_ends_the_job(tmp_path: Path, signal: Signal | None) -> None:
    """Nothing has opened the pipe for its output; the job would last until its time limit."""
    job = replace(JOB, command=parse("echo ${SCRATCH}"), attributes=replace(JOB.attributes, signal=signal))
    done = ran(render(job, "slurm").text, tmp_path, SLURM_SUBMIT_DIR=str(tmp_path))
    assert (done.returncode, done.stderr.count("\n"), "SCRATCH: parameter" in done.stderr) == (1, 1, True), done.stderr


def test_a_metric_of_no_application_is_not_looked_for(tmp_path: Path) -> None:
    """It would be nobody's."""
    done = ran(render(replace(JOB, report=replace(JOB.report or Report(), record={})), "shell").text, tmp_path)
    assert (done.returncode, done.stderr, result(tmp_path)["results"]) == (0, "", [])


@pytest.mark.parametrize(
    ("printed", "pattern", "found"),
    [
        ("rate: 1,234", "rate: ([0-9.]+)", "1 may be part of a longer number"),
        ("1,234 tokens", "([0-9.]+) tokens", "234 may be part of a longer number"),
        ("1,234.5 tokens", "([0-9.]+) tokens", "234.5 may be part of a longer number"),
        ("0,5 s", "([0-9.]+) s", "5 may be part of a longer number"),
        ("0.25 s", "([0-9]+) s", "25 may be part of a longer number"),
        ("1,5 tokens", "([0-9,]+) tokens", "1,5 is not a positive number"),
        ("1,234,567.5 tokens", "([0-9.,]+) tokens", 1234567.5),
        ("rate: 12.5,3", "rate: ([0-9.]+)", 12.5),
        ("rate: 12,5", "rate: ([0-9.]+),", 12),
        ("3,12.5", "([0-9.]+)$", 12.5),
        ("3,12", ",([0-9.]+)$", 12),
    ],
)
def test_a_part_of_a_number_is_no_metric(tmp_path: Path, printed: str, pattern: str, found: float | str) -> None:
    """Its first or last digits alone would be stored. A whole one is taken, and a column: by its point, or the pattern's commas."""
    report = replace(JOB.report or Report(), pattern=pattern)
    done = ran(render(replace(JOB, command=("echo", printed), report=report), "shell").text, tmp_path)
    refused = isinstance(found, str)
    assert [each["value"] for each in result(tmp_path)["results"][1:]] == [found] * (not refused)
    assert (done.returncode, done.stderr.count("no metric: ")) == (0, int(refused)), done.stderr
    assert (f"modak: no metric: {found}" in done.stderr) == refused


@pytest.mark.parametrize(("printed", "value"), [("1.5e+002", [150]), ("1.2e+100", [])])
def test_an_exponent_may_begin_with_zeros(tmp_path: Path, printed: str, value: list[float]) -> None:
    """Fortran and others write three digits; one that needs them is of a number that no table takes, and is told."""
    report = replace(JOB.report or Report(), pattern="rate: ([0-9.e+]+)")
    done = ran(render(replace(JOB, command=("bash", "-c", f"sleep 0.01; echo rate: {printed}"), report=report), "shell").text, tmp_path)
    assert [each["value"] for each in result(tmp_path)["results"][1:]] == value
    assert (f"{printed} is not a positive number from" in done.stderr) == (not value), done.stderr


def test_what_the_run_writes_after_term_arrives(tmp_path: Path) -> None:
    """Slurm sends it to all processes of a script; a run that then saves its state would be ended by its next line of output."""
    stub(tmp_path, "tee", 'echo $$ >tee; exec /usr/bin/tee "$@"')
    command = ("bash", "-c", "while ! kill $(<tee); do sleep 0.02; done 2>/dev/null; sleep 0.1; echo saved; touch saved")
    done = ran(render(replace(JOB, command=command), "shell").text, tmp_path)
    assert (done.returncode, done.stdout, (tmp_path / "saved").exists()) == (0, "saved\n", True), done.stderr


def test_where_the_node_has_no_place_the_copy_lies_with_the_job(tmp_path: Path) -> None:
    """And goes with it."""
    done = ran(render(JOB, "shell").text, tmp_path, TMPDIR="/no/such/folder")
    assert done.returncode == 0, done.stderr
    assert len(result(tmp_path)["results"]) == 2
    assert not list(tmp_path.glob("modak-notes*"))


def test_a_run_that_never_began_has_no_time(tmp_path: Path) -> None:
    """A check ended the job."""
    done = ran(render(replace(JOB, storage="/proc/nowhere"), "shell").text, tmp_path)
    assert (done.returncode, result(tmp_path)["exit_status"], result(tmp_path)["seconds"]) == (79, 79, None)


@pytest.mark.parametrize("part", ["%%N", ""])
def test_a_node_with_the_date_of_busybox_has_a_time_in_whole_seconds(tmp_path: Path, part: str) -> None:
    """It writes ``%N`` as it is or, with musl (Alpine), nothing."""
    stub(tmp_path, "date", f'exec /bin/date "${{@/\\%N/{part}}}"')
    assert ran(render(replace(JOB, command=("sleep", "1")), "shell").text, tmp_path).returncode == 0
    assert result(tmp_path)["seconds"] in (1, 2)


def test_a_clock_that_is_set_back_leaves_a_result_without_a_time(tmp_path: Path) -> None:
    """Digits with signs between them would make the file unreadable."""
    stub(tmp_path, "date", 'case $1 in +%s%N) test -e later && echo 1999 || { touch later; echo 5000; } ;; *) exec /bin/date "$@" ;; esac')
    assert ran(render(JOB, "shell").text, tmp_path).returncode == 0
    assert (result(tmp_path)["seconds"], result(tmp_path)["results"]) == (None, [])


def test_output_without_the_metric_leaves_the_time(tmp_path: Path) -> None:
    """A number that is none, or that no table takes, is no metric either, and the job says so."""
    for text, said in (("nothing", "no line of the output matches its pattern"), ("rate: e+", "e+ is not"), ("rate: 0.0", "0.0 is not")):
        done = ran(render(replace(JOB, command=("bash", "-c", f"sleep 0.01; echo '{text}'")), "shell").text, tmp_path)
        assert (done.returncode, f"modak: no metric: {said}" in done.stderr) == (0, True), done.stderr
        assert [each["metric"] for each in result(tmp_path)["results"]] == ["wall_time"]
        assert result(tmp_path)["metric_read"] is False


@pytest.mark.parametrize(
    ("printed", "value"),
    [
        ("echo rate: 5 >&2", 5),
        ("echo rate: 6; echo rate: 5 >&2", 6),
        (r"printf 'rate: 5\rrate: 6\rrate: 7\r\n'", 7),
    ],
)
def test_the_metric_is_found_where_programs_print_it(tmp_path: Path, printed: str, value: float) -> None:
    """Logs go to standard error, whose lines stay there and count after those of the output; a bar of progress overwrites its line."""
    report = replace(JOB.report or Report(), pattern="^rate: ([0-9.]+)$")
    done = ran(render(replace(JOB, command=("bash", "-c", printed), report=report), "shell").text, tmp_path)
    assert (result(tmp_path)["results"][1]["value"], "rate: 5" in done.stderr) == (value, ">&2" in printed), done.stderr


@pytest.mark.parametrize(
    ("before", "run", "value"),
    [
        ("", "echo rate: 4 >log; echo rate: 5 >>log; echo rate: 6", [5]),
        ("echo rate: 4 >log", ":", []),
        ("echo rate: 4 >log", "echo more >>log", []),
        ("echo rate: 4 >log", "echo more >>log; echo rate: 5 >>log; echo end >>log", [5]),
        ("seq 999 >log; echo rate: 4 >>log", "echo rate: 5 >log; seq 1999 >>log", [5]),
        ("echo rate: 4 >log; touch -d 2020-01-01 log", "echo rate: 4 >log", [4]),
    ],
)
def test_a_log_file_gives_the_metric_that_the_run_wrote_there(tmp_path: Path, before: str, run: str, value: list[float]) -> None:
    """The last one, from a file that is new, or was appended to, or was written again; not what an earlier run left, nor the output's."""
    subprocess.run(["bash", "-c", before], cwd=tmp_path, check=True)
    job = replace(JOB, command=("bash", "-c", f"sleep 0.01; {run}"), report=replace(JOB.report or Report(), log="log"))
    done = ran(render(job, "shell").text, tmp_path)
    assert [each["value"] for each in result(tmp_path)["results"][1:]] == value
    assert ("modak: no metric: no line that this run wrote to log" in done.stderr, done.returncode) == (not value, 0), done.stderr


@pytest.mark.parametrize("made", ["true", "mkfifo log", "mkdir log", "ln -s /dev/zero log", "ln -s nowhere log"])
def test_a_log_file_that_is_none_is_named_and_waited_for_by_nobody(tmp_path: Path, made: str) -> None:
    """A pipe would hold the job until its limit, and a device has no end."""
    subprocess.run(["bash", "-c", made], cwd=tmp_path, check=True)
    done = ran(render(replace(JOB, command=("sleep", "0.01"), report=replace(JOB.report or Report(), log="log")), "shell").text, tmp_path)
    told = "modak: no metric: log is missing, or is no file that can be read\n"
    assert (done.returncode, done.stderr, len(result(tmp_path)["results"])) == (0, told, 1)


def test_a_run_nobody_named_is_no_result(tmp_path: Path) -> None:
    """The table needs an application."""
    assert ran(render(replace(JOB, report=Report()), "shell").text, tmp_path).returncode == 0
    assert result(tmp_path)["results"] == []


def test_each_task_of_an_array_writes_its_own(tmp_path: Path) -> None:
    """By the number that sbatch told of the array, and its index: each task has another one of its own, which Slurm hardly shows."""
    text = render(replace(JOB, attributes=replace(JOB.attributes, array="1-3")), "slurm").text
    task = {"SLURM_ARRAY_JOB_ID": "70", "SLURM_ARRAY_TASK_ID": "2", "SLURM_JOB_ID": "77"}
    assert ran(text, tmp_path, SLURM_SUBMIT_DIR=str(tmp_path), **task).returncode == 0
    assert result(tmp_path, "modak-result-70-2.json")["job"] == "70"


def test_an_array_that_is_left_out_leaves_no_index_in_the_name(tmp_path: Path) -> None:
    """Grid Engine's index of a job outside arrays is a word: ``modak-result-77-undefined.json``."""
    text = render(replace(JOB, attributes=replace(JOB.attributes, array="1,3")), "gridengine").text
    assert ran(text, tmp_path, SGE_O_WORKDIR=str(tmp_path), SGE_TASK_ID="undefined", JOB_ID="77").returncode == 0
    assert result(tmp_path, "modak-result-77.json")["job"] == "77"


@pytest.mark.parametrize(
    ("scheduler", "restarts", "metrics"),
    [
        ("slurm", {}, ["wall_time"]),
        ("slurm", {"SLURM_RESTART_COUNT": "1"}, []),
        ("gridengine", {"RESTARTED": "1"}, []),
        ("lsf", {"LSB_RESTART": "Y"}, []),
    ],
)
def test_a_requeued_job_reports_no_time(tmp_path: Path, scheduler: str, restarts: dict[str, str], metrics: list[str]) -> None:
    """It may have continued from a checkpoint: the time of a part is not that of the run. Slurm requeues jobs unasked."""
    here = {"SLURM_SUBMIT_DIR": str(tmp_path), "SGE_O_WORKDIR": str(tmp_path), "LS_SUBCWD": str(tmp_path), "SLURM_JOB_ID": "77"}
    assert ran(render(JOB, scheduler).text, tmp_path, **here, **restarts).returncode == 0
    assert [row["metric"] for row in result(tmp_path)["results"]][:1] == metrics


@pytest.mark.parametrize(
    ("scheduler", "says", "whole"),
    [
        ("pbspro", "echo '    run_count = 1'", True),
        ("pbspro", "echo '    run_count = 2'", False),
        ("torque", "echo '    start_count = 12'", False),
        ("torque", "echo '    comment = start_count = 2'; exit 1", True),
    ],
)
def test_a_job_of_pbs_is_asked_for_its_starts(tmp_path: Path, scheduler: str, says: str, whole: bool) -> None:
    """No variable tells them, and a job that starts again is killed at once: it leaves no file of its own."""
    stub(tmp_path, "qstat", says)
    assert ran(render(JOB, scheduler).text, tmp_path, PBS_O_WORKDIR=str(tmp_path), PBS_JOBID="77").returncode == 0
    assert bool(result(tmp_path)["results"]) is whole


@pytest.mark.parametrize("scheduler", ["pbspro", "torque"])
def test_tasks_of_a_job_array_do_not_all_ask_the_server(scheduler: str) -> None:
    """Thousands of short ones may end at once."""
    of_array = replace(JOB, attributes=replace(JOB.attributes, array="0-4999"))
    assert ["qstat" in render(job, scheduler).text for job in (JOB, of_array)] == [True, False]


def test_a_script_depends_on_what_its_scheduler_says_of_itself_and_not_on_the_name() -> None:
    """A plug-in of another name gets the same: what ends it, directories on each node, launchers."""
    attributes, staged = replace(JOB.attributes, dependency="afterok:3", array="1-3"), Staging(out=(Copy("/home/v/o", "o"),))
    job = replace(JOB, resources=Resources(nodes=2), attributes=attributes, staging=staged)

    def said(slurm: Slurm) -> list[Any]:
        launchers = [each for each in plugins.all_of("launchers") if not each.unfit(job, slurm)]
        told = [(each.name, each.setup(job, slurm), each.words(job, slurm, ()), each.inside(job, slurm)) for each in launchers]
        return [exit_trap(job, slurm, timed=False), scratch(job, slurm), told]

    assert said(replace(Slurm(), name="other")) == said(Slurm())


def test_a_job_that_is_never_requeued_has_its_time(tmp_path: Path) -> None:
    """``SLURM_RESTART_COUNT`` may be that of the job from which it was submitted: sbatch passes it on."""
    text = render(replace(JOB, attributes=replace(JOB.attributes, requeue=False)), "slurm").text
    assert ran(text, tmp_path, SLURM_SUBMIT_DIR=str(tmp_path), SLURM_JOB_ID="77", SLURM_RESTART_COUNT="1").returncode == 0
    assert result(tmp_path)["results"]


def test_a_result_that_cannot_be_written_fails_nothing(tmp_path: Path) -> None:
    """The run's status stays, the output says what is missing and why, and nothing is sent: the file may be that of another job."""
    (tmp_path / "modak-result-77.json").mkdir()
    stub(tmp_path, "curl", "touch sent")
    here = {"SLURM_SUBMIT_DIR": str(tmp_path), "SLURM_JOB_ID": "77", "MODAK_SERVER": "http://127.0.0.1:9"}
    done = ran(render(JOB, "slurm").text, tmp_path, **here)
    why, said = done.stderr.splitlines()
    assert (done.returncode, (tmp_path / "sent").exists(), "Is a directory" in why) == (0, False, True)
    assert said == f"modak: the result could not be written to {tmp_path}/modak-result-77.json"


def test_a_result_that_is_not_whole_is_not_left(tmp_path: Path) -> None:
    """As of a full disk: ``modak load modak-result-*.json`` would refuse it, and with it the others."""
    no_room = RuleText("no-room", "environment", "trap '' XFSZ; ulimit -f 0")
    done = ran(render(replace(JOB, report=Report(RECORD), rules=(no_room,)), "shell").text, tmp_path)
    assert "the result could not be written" in done.stderr
    assert not [*tmp_path.glob("modak-result*")]


def test_a_script_that_is_submitted_again_keeps_what_the_run_before_wrote(tmp_path: Path) -> None:
    """By the job's number; brackets of an array's are none of a file's name, and leave no number of another job in the file."""
    text = render(JOB, "pbspro").text
    for number in ("7.server", "8.server", "9[2].server"):
        assert ran(text, tmp_path, PBS_O_WORKDIR=str(tmp_path), PBS_JOBID=number).returncode == 0
    jobs = {file.name: json.loads(file.read_text())["job"] for file in tmp_path.glob("modak-result*")}
    assert jobs == {f"modak-result-{job}.server.json": f"{job}.server" for job in ("7", "8", "9-2-")}


def test_a_node_with_any_name_can_be_reported(tmp_path: Path) -> None:
    """The kernel takes every sign in it; the result stays JSON."""
    stub(tmp_path, "uname", """echo 'node"1\\'""")
    assert ran(render(JOB, "slurm").text, tmp_path, SLURM_SUBMIT_DIR=str(tmp_path), SLURM_JOB_ID="77").returncode == 0
    assert result(tmp_path)["host"] == "node1"


def test_a_file_that_the_request_names_is_the_one(tmp_path: Path) -> None:
    """Below the folder that the job is submitted from, also in one that is not there yet."""
    report = replace(JOB.report, file="runs/mine") if JOB.report else None
    assert ran(render(replace(JOB, report=report), "shell").text, tmp_path).returncode == 0
    assert result(tmp_path, "runs/mine.json")["plan"] == "abc-123"


@contextmanager
def server(status: int = 200) -> Iterator[tuple[str, list[tuple[str, str | None, bytes]]]]:
    """A server on the loopback interface that keeps what it is sent."""
    seen: list[tuple[str, str | None, bytes]] = []

    class Keeps(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # the name is the standard library's
            body = self.rfile.read(int(self.headers["Content-Length"]))
            seen.append((self.path, self.headers.get("Authorization"), body))
            self.send_response(status)
            self.send_header("Location", "https://elsewhere.invalid/")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing."""

    listening = HTTPServer(("127.0.0.1", 0), Keeps)
    threading.Thread(target=listening.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{listening.server_port}", seen
    listening.shutdown()
    listening.server_close()


def test_the_result_is_sent_with_a_token_from_the_environment_or_a_file(tmp_path: Path) -> None:
    """The token is never in the script, and not among a program's words either."""
    tool("curl", "curl")
    script = render(JOB, "shell").text
    with server() as (address, seen):
        assert ran(script, tmp_path, MODAK_SERVER=f"{address}/", MODAK_TOKEN="from-environment").returncode == 0
        (tmp_path / "modak-abc-123.token").write_text("from.file\n")
        assert ran(script, tmp_path, MODAK_SERVER=address).returncode == 0
    assert [(path, token) for path, token, _ in seen] == [
        ("/plans/abc-123/result", "Bearer from-environment"),
        ("/plans/abc-123/result", "Bearer from.file"),
    ]
    assert json.loads(seen[1][2]) == result(tmp_path)


@pytest.mark.parametrize("address", ["http://127.0.0.1:1", "file:///etc/passwd", "nonsense", ""])
def test_a_server_that_cannot_be_reached_fails_nothing(tmp_path: Path, address: str) -> None:
    """Nor does one that is none. The lines before the last say why, the last one where the result is."""
    tool("curl", "curl")
    done = ran(render(JOB, "shell").text, tmp_path, MODAK_SERVER=address)
    (file,) = tmp_path.glob("modak-result-*")
    *why, where = done.stderr.splitlines() or [""]
    assert (done.returncode, where) == (0, f"modak: the result could not be sent; it is in {file.name}" if address else "")
    assert ["modak-abc-123.token: No such file" in why[0], "curl: (" in why[1]] == [True, True] if address else not why


@pytest.mark.parametrize("status", [500, 308])
def test_a_server_that_refuses_fails_nothing(tmp_path: Path, status: int) -> None:
    """The file is there all the same; nor does a proxy that leads from http to https, where nothing is sent: the output says so."""
    tool("curl", "curl")
    with server(status) as (address, seen):
        done = ran(render(JOB, "shell").text, tmp_path, MODAK_SERVER=address)
    assert (done.returncode, len(seen), "the result could not be sent" in done.stderr) == (0, 1, True)
    assert result(tmp_path)["exit_status"] == 0


@pytest.mark.parametrize(
    "pattern",
    ["no group", "(a)(b)", "([0-9]+", "(?P<x>1)", "(?:1)(2)", r"(\d+)", "(a)\n", "(é)", "(" + "a" * 200 + ")", "(a{99999999999})", ""],
)
def test_a_pattern_is_one_that_grep_and_bash_read(pattern: str) -> None:
    """One group, no other dialect."""
    from pydantic import TypeAdapter, ValidationError

    with pytest.raises(ValidationError):
        TypeAdapter(MetricPattern).validate_python(pattern)


@pytest.mark.parametrize(
    "pattern", ["$(touch trapped)([0-9])", "`touch trapped`([0-9])", "'; touch trapped; '([0-9])", 'x" ([0-9])', "([0-9]) && touch trapped"]
)
def test_a_pattern_is_never_code(tmp_path: Path, pattern: str) -> None:
    """It is a word, wherever it goes."""
    assert JOB.report is not None
    job = replace(JOB, report=replace(JOB.report, pattern=pattern))
    assert ran(render(job, "shell").text, tmp_path).returncode == 0
    assert not (tmp_path / "trapped").exists()


# --- the signal before the limit -----------------------------------------------------------------------------------------------

UNTIL_TOLD = "trap 'echo told; exit 3' USR1; touch up; for i in $(seq 2000); do test ! -e stop || exit 0; sleep 0.05; done; exit 9"
ASKED = replace(JOB, report=None, attributes=replace(JOB.attributes, signal=SIGNAL), command=("bash", "-c", UNTIL_TOLD))


def signalled(job: JobSpec, folder: Path, scheduler: str = "slurm") -> Any:
    """Run it; a program before the run sends the script its signal once the run is up."""
    once_up(folder, "sender", 'kill -USR1 "$pid"')
    return ran(render(replace(job, pre=("sender",)), scheduler).text, folder, SLURM_SUBMIT_DIR=str(folder))


def test_a_checkpoint_command_runs_and_the_run_goes_on(tmp_path: Path) -> None:
    """Until it ends by itself: its status is the job's."""
    done = signalled(replace(ASKED, checkpoint=parse("touch stop")), tmp_path)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert "the time limit is near" in done.stderr


def test_without_a_checkpoint_command_the_application_gets_the_signal(tmp_path: Path) -> None:
    """And its own status is the job's."""
    done = signalled(ASKED, tmp_path)
    assert (done.returncode, done.stdout) == (3, "told\n"), done.stderr


@pytest.mark.parametrize(
    ("family", "signal", "told"),
    [
        ("openmpi", "TERM", False),
        ("openmpi", "USR1", True),
        ("mpich", "TERM", True),
        ("mpich", "USR2", False),
        ("intel-mpi", "TERM", False),
    ],
)
def test_a_signal_that_mpirun_would_end_the_ranks_on_is_not_handed_on(family: str, signal: Any, told: bool) -> None:
    """And a warning says so, but where a checkpoint command is there for it."""
    asked = replace(ASKED.attributes, signal=Signal(name=signal, seconds=120))
    job = replace(ASKED, attributes=asked, launcher="mpirun", launcher_flavour=family, resources=Resources(ranks_per_node=2))
    written = render(job, "slurm")
    assert (f"kill -s {signal}" in written.text) == told
    assert any("to the application" in each.message for each in written.warnings) != told
    assert not any("to the application" in each.message for each in render(replace(job, checkpoint=("touch", "stop")), "slurm").warnings)


@pytest.mark.parametrize(
    ("array", "whose"), [(None, '"${SLURM_JOB_ID:?}"'), ("0-3", '"${SLURM_ARRAY_JOB_ID:?}"_"${SLURM_ARRAY_TASK_ID:?}"')]
)
def test_the_ranks_of_this_job_alone_get_the_signal(array: str | None, whose: str) -> None:
    """The number of an array would mean all of its jobs."""
    asked = replace(ASKED.attributes, signal=Signal(name="TERM", seconds=120), array=array)
    text = render(replace(ASKED, attributes=asked, launcher="srun", resources=Resources(nodes=2, ranks_per_node=2)), "slurm").text
    assert f"scancel --signal=TERM {whose}\n" in text


@pytest.mark.parametrize(
    ("signal", "nodes", "how"), [("USR1", 1, ""), ("USR1", 2, ""), ("TERM", 1, "kill -s TERM"), ("TERM", 2, "scancel")]
)
def test_a_signal_that_torchrun_would_end_on_is_not_handed_on(signal: Any, nodes: int, how: str) -> None:
    """It would leave its ranks without what holds them together; the warning names one that they get."""
    asked = replace(ASKED.attributes, signal=Signal(name=signal, seconds=120))
    job = replace(ASKED, attributes=asked, launcher="torchrun", resources=Resources(nodes=nodes, ranks_per_node=2))
    written = render(job, "slurm")
    assert any(word in written.text for word in ("kill -s", "scancel")) == bool(how)
    assert how in written.text
    assert any("use TERM" in each.message for each in written.warnings) != bool(how)


@pytest.mark.parametrize("scheduler", ["slurm", "torque"])
def test_a_signal_that_would_reach_nobody_is_left_out(scheduler: str) -> None:
    """Nothing waits for it, so the time of the whole run counts as a result; a warning says so."""
    mpirun = replace(JOB, launcher="mpirun", launcher_flavour="intel-mpi", resources=Resources(ranks_per_node=2))
    asked = replace(mpirun, attributes=replace(JOB.attributes, signal=SIGNAL))
    written = render(asked, scheduler)
    assert written.text == render(mpirun, scheduler).text
    assert [(each.field, "left out" in each.message) for each in written.warnings] == [("job_options.signal", True)]


def test_a_checkpoint_that_fails_is_told_and_the_run_goes_on(tmp_path: Path) -> None:
    """The job has time left to save itself."""
    done = signalled(replace(ASKED, checkpoint=parse("bash -c 'touch stop; exit 5'")), tmp_path)
    assert done.returncode == 0
    assert "the checkpoint failed with status 5" in done.stderr


def test_a_run_that_was_told_of_the_limit_is_no_result(tmp_path: Path) -> None:
    """It may have stopped early, so neither its time nor its metric is that of the workload; its output is whole, through a pipe."""
    job = replace(
        ASKED, report=JOB.report, command=("bash", "-c", f"echo rate: 4; ({UNTIL_TOLD}); echo rate: 8"), checkpoint=parse("touch stop")
    )
    done = signalled(job, tmp_path)
    assert (done.returncode, done.stdout) == (0, "rate: 4\nrate: 8\n"), done.stderr
    assert (result(tmp_path)["exit_status"], result(tmp_path)["results"]) == (0, [])


def test_a_run_that_ends_before_the_signal_is_a_result(tmp_path: Path) -> None:
    """With its metric, which is read beside the watch for the signal."""
    done = ran(render(replace(ASKED, report=JOB.report, command=JOB.command), "slurm").text, tmp_path, SLURM_SUBMIT_DIR=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert [each["metric"] for each in result(tmp_path)["results"]] == ["wall_time", "throughput"]


def test_a_signal_after_the_run_ends_nothing(tmp_path: Path) -> None:
    """What comes after the run has the rest of the time."""
    stub(tmp_path, "late", 'kill -USR1 "$PPID"; touch done')
    job = replace(ASKED, command=("true",), post=("late",))
    done = ran(render(job, "slurm").text, tmp_path, SLURM_SUBMIT_DIR=str(tmp_path))
    assert (done.returncode, (tmp_path / "done").exists()) == (0, True), done.stderr


def test_the_script_s_own_timer_where_a_scheduler_sends_nothing(tmp_path: Path) -> None:
    """Counted from its start; it leaves no process behind."""
    attributes = replace(ASKED.attributes, wall_time_s=61, signal=Signal(name="USR1", seconds=60))
    done = ran(render(replace(ASKED, attributes=attributes, checkpoint=parse("touch stop")), "shell").text, tmp_path)
    assert done.returncode == 0, done.stderr
    early = replace(ASKED, attributes=replace(attributes, wall_time_s=7261), command=("true",))
    text = render(early, "shell").text
    assert ran(text, tmp_path).returncode == 0  # would not return while a sleep holds its streams
    # a timer that is ended as it begins, by a check that fails at once, would write a result of its own
    assert text.index("MODAK_TIMER=$!") < text.index("trap modak_end EXIT")


@pytest.mark.parametrize("before", ["MODAK_TIMER=$!", "trap modak_end EXIT"])
def test_a_timer_ends_with_a_script_that_is_ended_at_its_beginning(tmp_path: Path, before: str) -> None:
    """By a TERM before the trap at exit is set; else the timer would signal hours later whichever process has the script's number then."""
    attributes = replace(ASKED.attributes, wall_time_s=7261, signal=Signal(name="USR1", seconds=60))
    text = render(replace(ASKED, attributes=attributes, command=("true",)), "shell").text
    (tmp_path / "job.sh").write_text(text.replace(f"\n{before}\n", f'\nkill -s TERM "$$"\n{before}\n'))
    with subprocess.Popen(["bash", "job.sh"], cwd=tmp_path, start_new_session=True) as script:
        assert script.wait() == -SIGTERM
        try:
            until(lambda: not processes.members(script.pid))
        finally:
            processes.kill(script.pid)


# --- staging -------------------------------------------------------------------------------------------------------------------


def staged(tmp_path: Path, command: str, **more: Any) -> tuple[JobSpec, Path]:
    """A job with data in and out, and the storage that its directory lies in."""
    (tmp_path / "my data").mkdir()
    (tmp_path / "my data/a").write_text("1")
    disk = tmp_path / "disk"
    disk.mkdir()
    place = Joined(parts=(Variable(variable="SCRATCH"),))
    has = Staging(place=place, shared=True, into=(Copy("my data", "in/here"),), out=(Copy("results/b", "b"),))
    return replace(JOB, report=None, plan_id="", command=parse(command), staging=replace(has, **more)), disk


def test_data_goes_in_and_out_and_nothing_stays(tmp_path: Path) -> None:
    """The directory is the job's own."""
    job, disk = staged(tmp_path, 'bash -c \'stat -c %a .; cat "$1/in/here/a" >"$1/b"; stat -c %a "$1"\' - ${MODAK_SCRATCH}')
    done = ran(render(job, "shell").text, tmp_path, SCRATCH=str(disk))
    assert (done.returncode, done.stdout.split()[-1]) == (0, "700"), done.stderr
    assert (tmp_path / "results/b").read_text() == "1"
    assert list(disk.iterdir()) == []


def test_jobs_of_an_array_that_copy_to_one_place_are_warned_about(tmp_path: Path) -> None:
    """Unless the path has the index, or the scheduler did not take the array."""
    job, _ = staged(tmp_path, "true")
    many = replace(job, attributes=replace(job.attributes, array="1-3"))
    assert "SLURM_ARRAY_TASK_ID" in next(said.message for said in render(many, "slurm").warnings if said.field == "application.stage_out")
    own = Copy(Joined(parts=("results/", Variable(variable="SLURM_ARRAY_TASK_ID"))), "b")
    each = replace(many, staging=replace(many.staging or Staging(), out=(own,)))
    left_out = replace(job, attributes=replace(job.attributes, array="1,3"))
    for without in (render(each, "slurm"), render(job, "slurm"), render(left_out, "gridengine")):
        assert not any(said.field == "application.stage_out" for said in without.warnings)


def test_jobs_of_an_array_that_write_one_log_file_are_warned_about() -> None:
    """One of them would report the number of another; each has its own directory, and its own index."""
    for text, warned in (("log", True), ("${MODAK_SCRATCH}/log", False), ("log.${SLURM_ARRAY_TASK_ID}", False)):
        job = replace(JOB, attributes=replace(JOB.attributes, array="1-3"), report=replace(JOB.report or Report(), log=parse(text)[0]))
        assert [said.field for said in render(job, "slurm").warnings] == ["application.metric_file"] * warned


@pytest.mark.parametrize(
    ("scheduler", "name", "warned"), [("pbspro", "PBS_JOBID", False), ("lsf", "LSB_JOBID", True), ("gridengine", "JOB_ID", True)]
)
def test_a_number_that_all_jobs_of_an_array_bear_keeps_none_apart(tmp_path: Path, scheduler: str, name: str, warned: bool) -> None:
    """LSF and Grid Engine number the array; PBS and Slurm each of its jobs."""
    job, _ = staged(tmp_path, "true")
    own = Copy(Joined(parts=("results/", Variable(variable=name))), "b")
    each = replace(job, attributes=replace(job.attributes, array="1-3"), staging=replace(job.staging or Staging(), out=(own,)))
    assert any(said.field == "application.stage_out" for said in render(each, scheduler).warnings) == warned


def test_a_second_job_leaves_its_directory_where_the_first_did(tmp_path: Path) -> None:
    """Not within what the first one left, which would pass for the newer one; the command finds its own directory by the variable, too."""
    job, disk = staged(tmp_path, 'sh -c \'mkdir "$MODAK_SCRATCH"/b; date +%N >"$MODAK_SCRATCH"/b/at\'')
    first, second = (
        (ran(render(job, "shell").text, tmp_path, SCRATCH=str(disk)).returncode, (tmp_path / "results/b/at").read_text()) for _ in range(2)
    )
    assert (first[0], second[0], [each.name for each in (tmp_path / "results/b").iterdir()]) == (0, 0, ["at"])
    assert first[1] != second[1]


def test_what_the_first_job_left_does_not_stand_in_the_way_of_the_second(tmp_path: Path) -> None:
    """A program that still runs cannot be written to, and a file that is read alone neither: both are replaced."""
    job, disk = staged(
        tmp_path, 'sh -c \'mkdir "$MODAK_SCRATCH"/b; cp /bin/sleep "$MODAK_SCRATCH"/b/wait; chmod 555 "$MODAK_SCRATCH"/b/wait\''
    )
    text = render(job, "shell").text
    first = ran(text, tmp_path, SCRATCH=str(disk)).returncode
    with subprocess.Popen([tmp_path / "results/b/wait", "60"]) as running:
        second = ran(text, tmp_path, SCRATCH=str(disk))
        running.kill()
    assert (first, second.returncode) == (0, 0), second.stderr


def test_data_behind_a_link_are_copied(tmp_path: Path) -> None:
    """A link alone would leave them far away, or lead nowhere."""
    (tmp_path / "real").write_text("data")
    (tmp_path / "link").symlink_to("real")
    job, disk = staged(tmp_path, "cp ${MODAK_SCRATCH}/in/data ${MODAK_SCRATCH}/b")
    job = replace(job, staging=replace(job.staging or Staging(), into=(Copy("link", "in/data"),)))
    done = ran(render(job, "shell").text, tmp_path, SCRATCH=str(disk))
    assert (done.returncode, (tmp_path / "results/b").read_text()) == (0, "data"), done.stderr


@pytest.mark.parametrize("name", ["packed.tgz", "data-08:00.tgz"])
def test_an_archive_is_unpacked_where_it_is_wanted(tmp_path: Path, name: str) -> None:
    """Only its content is there; a file that is none ends the job. A colon in its name makes it no file of another host, as tar has it."""
    job, disk = staged(tmp_path, "cp ${MODAK_SCRATCH}/in/data/a ${MODAK_SCRATCH}/b")
    subprocess.run(["tar", "-czf", tmp_path / name, "-C", tmp_path / "my data", "a"], check=True)
    assert job.staging is not None
    packed = replace(job, staging=replace(job.staging, into=(Copy(name, "in/data", unpack=True),)))
    done = ran(render(packed, "shell").text, tmp_path, SCRATCH=str(disk))
    assert (done.returncode, (tmp_path / "results/b").read_text()) == (0, "1"), done.stderr
    (tmp_path / name).write_text("no archive")
    assert ran(render(packed, "shell").text, tmp_path, SCRATCH=str(disk)).returncode == 80


def test_a_failed_run_leaves_its_results_too(tmp_path: Path) -> None:
    """What is there is copied out, and the status is the run's."""
    job, disk = staged(tmp_path, "bash -c 'echo 2 >\"$1/b\"; exit 4' - ${MODAK_SCRATCH}")
    done = ran(render(job, "shell").text, tmp_path, SCRATCH=str(disk))
    assert (done.returncode, (tmp_path / "results/b").read_text(), list(disk.iterdir())) == (4, "2\n", [])


def test_what_is_missing_keeps_no_other_result_back(tmp_path: Path) -> None:
    """A run that was stopped may have written its checkpoint and not its model."""
    job, disk = staged(tmp_path, "touch ${MODAK_SCRATCH}/b")
    both = replace(job, staging=replace(job.staging or Staging(), out=(Copy("results/a", "a"), Copy("results/b", "b"))))
    done = ran(render(both, "shell").text, tmp_path, SCRATCH=str(disk))
    assert (done.returncode, (tmp_path / "results/b").exists(), len(list(disk.iterdir()))) == (80, True, 1)


def test_a_path_to_copy_to_is_known_before_the_run(tmp_path: Path) -> None:
    """After hours of the run, a variable that is not set would keep all results back."""
    job, disk = staged(tmp_path, "touch ran")
    lost = replace(job.staging or Staging(), out=(Copy(Joined(parts=(Variable(variable="WORKSPACE"), "/b")), "b"),))
    done = ran(render(replace(job, staging=lost), "shell").text, tmp_path, SCRATCH=str(disk))
    assert ("WORKSPACE" in done.stderr, (tmp_path / "ran").exists(), list(disk.iterdir())) == (True, False, []), done.stderr


def test_a_signal_before_the_run_is_told(tmp_path: Path) -> None:
    """That before the time limit may come while data are copied in: the job ends, and removes its directory."""
    job, disk = staged(tmp_path, "touch ran")
    stub(tmp_path, "cp", 'kill -USR1 "$PPID"; sleep 1')
    asked = replace(job, attributes=replace(job.attributes, signal=SIGNAL))
    done = ran(render(asked, "slurm").text, tmp_path, SCRATCH=str(disk), SLURM_SUBMIT_DIR=str(tmp_path))
    assert (done.returncode in (-10, 143), (tmp_path / "ran").exists(), list(disk.iterdir())) == (True, False, [])
    assert done.stderr == "modak: a signal ended the script before its last command\n"


def test_data_that_cannot_be_copied_in_leave_nothing(tmp_path: Path) -> None:
    """No run, no results: the copies that were made are removed, and nothing is said of results."""
    job, disk = staged(tmp_path, "true", into=(Copy("my data", "in"), Copy("nowhere", "x")))
    done = ran(render(job, "shell").text, tmp_path, SCRATCH=str(disk))
    assert (done.returncode, list(disk.iterdir()), "kept" in done.stderr) == (80, [], False)


def test_results_are_copied_out_before_anything_is_sent(tmp_path: Path) -> None:
    """A service that does not answer takes 20 seconds, and Slurm kills the script half a minute after the time limit."""
    job, disk = staged(tmp_path, "bash -c 'echo 2 >\"$1/b\"; exit 4' - ${MODAK_SCRATCH}")
    stub(tmp_path, "curl", "cp results/b sent")
    job = replace(job, plan_id=JOB.plan_id, report=JOB.report)
    assert ran(render(job, "shell").text, tmp_path, SCRATCH=str(disk), MODAK_SERVER="http://127.0.0.1:9").returncode == 4
    assert (tmp_path / "sent").exists()


def test_a_job_that_slurm_ends_removes_its_directory_on_the_first_node(tmp_path: Path) -> None:
    """``srun`` reaches no node any more."""
    job, disk = staged(tmp_path, "touch ${MODAK_SCRATCH}/b", shared=False)
    stub(tmp_path, "srun", 'while [[ $1 == -* ]]; do shift; done; test "$1" != rm && exec "$@"')
    text = render(replace(job, resources=Resources(nodes=2), launcher="srun", preflight=False), "slurm").text
    done = ran(text, tmp_path, SCRATCH=str(disk), SLURM_JOB_NUM_NODES="2", SLURM_SUBMIT_DIR=str(tmp_path))
    assert (done.returncode, list(disk.iterdir())) == (0, []), done.stderr


def test_a_node_on_which_the_directory_cannot_be_made_leaves_none_on_the_others(tmp_path: Path) -> None:
    """The script ends before it would remove its own."""
    job, disk = staged(tmp_path, "true", shared=False)
    stub(tmp_path, "srun", 'while [[ $1 == -* ]]; do shift; done; "$@" && test "$1" != mkdir')
    text = render(replace(job, resources=Resources(nodes=2), launcher="srun", preflight=False), "slurm").text
    done = ran(text, tmp_path, SCRATCH=str(disk), SLURM_JOB_NUM_NODES="2", SLURM_SUBMIT_DIR=str(tmp_path))
    assert (done.returncode, list(disk.iterdir())) == (79, []), done.stderr


def test_what_cannot_be_copied_out_is_not_removed(tmp_path: Path) -> None:
    """It may be all that there is; the message says where. What is large is not copied a second time."""
    job, disk = staged(tmp_path, "true")
    done = ran(render(job, "shell").text, tmp_path, SCRATCH=str(disk))
    assert (done.returncode, done.stderr.count("cannot stat")) == (80, 1), done.stderr
    assert len(list(disk.iterdir())) == 1
    assert "the directory is kept" in done.stderr


def test_a_check_that_stops_the_job_before_the_directory_is_made_speaks_alone(tmp_path: Path) -> None:
    """The function that removes the directory is not defined yet."""
    job, disk = staged(tmp_path, "true")
    done = ran(render(replace(job, storage="/proc/nowhere"), "shell").text, tmp_path, SCRATCH=str(disk))
    assert (done.returncode, "not found" in done.stderr) == (79, False), done.stderr


def test_a_directory_that_is_there_is_somebody_else_s(tmp_path: Path) -> None:
    """A link that lies in wait is not followed."""
    job, disk = staged(tmp_path, "true")
    (disk / "modak-7-5000").symlink_to(tmp_path)
    stub(tmp_path, "date", "echo 5")
    done = ran(render(job, "slurm").text, tmp_path, SCRATCH=str(disk), SLURM_JOB_ID="7", SLURM_SUBMIT_DIR=str(tmp_path))
    assert done.returncode == 79
    assert (tmp_path / "my data/a").exists()


def test_a_second_start_has_a_directory_of_its_own(tmp_path: Path) -> None:
    """The first may have left one, where its node failed; the job's number is the same."""
    job, disk = staged(tmp_path, "touch ${MODAK_SCRATCH}/b")
    script, number = render(job, "slurm").text, {"SLURM_JOB_ID": "7", "SLURM_SUBMIT_DIR": str(tmp_path)}
    killed = ran(script.replace("trap modak_end EXIT", ""), tmp_path, SCRATCH=str(disk), **number)
    assert (killed.returncode, len(list(disk.iterdir()))) == (0, 1)
    assert ran(script, tmp_path, SCRATCH=str(disk), **number).returncode == 0


@pytest.mark.parametrize(("scheduler", "index"), [("lsf", "LSB_JOBINDEX"), ("gridengine", "SGE_TASK_ID")])
def test_jobs_of_an_array_do_not_share_a_directory(tmp_path: Path, scheduler: str, index: str) -> None:
    """Where all of them have one number."""
    job, _ = staged(tmp_path, "true")
    text = render(replace(job, attributes=replace(job.attributes, array="1-4")), scheduler).text
    assert f'MODAK_SCRATCH="${{SCRATCH:?}}"/modak-"${{MODAK_JOB:?}}"-"${{{index}:-0}}"-' in text


def test_an_array_that_the_scheduler_cannot_be_given_leaves_one_job(tmp_path: Path) -> None:
    """Which has no index, and its directory all the same."""
    job, disk = staged(tmp_path, "touch ${MODAK_SCRATCH}/b")
    text = render(replace(job, attributes=replace(job.attributes, array="1,3")), "pbspro").text
    done = ran(text, tmp_path, SCRATCH=str(disk), PBS_O_WORKDIR=str(tmp_path), PBS_JOBID="7.server")
    assert (done.returncode, done.stderr) == (0, "")


def test_lustre_is_striped_before_anything_is_written(tmp_path: Path) -> None:
    """Where its tool is there."""
    job, disk = staged(tmp_path, "touch ${MODAK_SCRATCH}/b", stripes=8)
    stub(tmp_path, "lfs", 'ls "$4"; echo "$@" >striped')
    done = ran(render(job, "shell").text, tmp_path, SCRATCH=str(disk))
    assert (done.returncode, done.stdout) == (0, "")
    assert (tmp_path / "striped").read_text().startswith("setstripe -c 8 ")
