"""A scheduler's commands, also while it is out of reach, and jobs on this machine."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest

from modak import blas
from modak.errors import RequestError, Unavailable
from modak.schedulers import gridengine, lsf, qsub, slurm
from modak.tuner.runners import LocalRunner, SchedulerRunner
from tests.conftest import until

CLIENT = """#!/bin/sh
echo call >>calls
[ $(wc -l <calls) -gt 2 ] || {{ echo 'slurm: error: {says}' >&2; exit 1; }}
echo {answers}
"""
"""A client of a scheduler that is away for two calls."""


@pytest.mark.parametrize(
    ("program", "says", "answers"),
    [
        ("sbatch", "Batch job submission failed: Unable to contact slurm controller (connect failure)", "7"),
        ("squeue", "Unable to contact slurm controller (connect failure)", "RUNNING"),
        ("squeue", "slurm_load_jobs error: Socket timed out on send/recv operation", "RUNNING"),
        ("qstat", "Problem loading jobs.", "job_state = R"),
        ("qsub", "commlib error: got select error (Connection refused)", "7"),
    ],
)
def test_a_controller_that_is_restarted_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, says: str, answers: str
) -> None:
    """A trial that could not be handed over then is no setting that cannot run."""
    client(tmp_path, monkeypatch, program, says, answers)
    runner = SchedulerRunner({"qsub": gridengine, "qstat": qsub}.get(program, slurm).COMMANDS, pause_s=0.01)
    asked = program in ("squeue", "qstat")
    assert (runner.state("7") if asked else runner.start(Path("job.sh"), None)) == ("running" if asked else answers)


@pytest.mark.parametrize("says", ["Unable to contact slurm controller (connect failure)", "Socket timed out on send/recv operation"])
def test_what_may_have_been_submitted_is_not_submitted_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str) -> None:
    """Nor is a controller waited for that stays away: the search ends, and its trial has not begun."""
    client(tmp_path, monkeypatch, "sbatch", says, "7")
    with pytest.raises(Unavailable, match="the same command goes on"):
        SchedulerRunner(slurm.COMMANDS, patience_s=0).start(Path("job.sh"), None)
    assert (tmp_path / "calls").read_text() == "call\n"


def test_a_scheduler_that_does_not_answer_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """LSF's commands wait until it is back; its greeting is in no particular encoding."""
    stub(tmp_path, monkeypatch, "bjobs", "#!/bin/sh\ntest -e seen && printf 'RUN\\n\\351\\n' || { touch seen; exec sleep 9; }\n")
    assert SchedulerRunner(lsf.COMMANDS, pause_s=0.01, answer_s=0.5).state("7") == "running"


def test_a_scheduler_reads_the_script_as_its_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """LSF's bsub takes no file."""
    stub(tmp_path, monkeypatch, "bsub", "#!/bin/sh\ncat >seen\necho 'Job <7> is submitted to queue <normal>.'\n")
    (tmp_path / "job.sh").write_text("#!/bin/bash\n")
    assert SchedulerRunner(lsf.COMMANDS).start(Path("job.sh"), None) == "7"
    assert (tmp_path / "seen").read_text() == "#!/bin/bash\n"


@pytest.mark.parametrize(
    ("shell", "error"),
    [("echo no such account >&2; exit 1", "sbatch refuses it: no such account"), ("echo fine", "sbatch gives no job number: fine")],
)
def test_what_a_scheduler_does_not_take_is_said_of_the_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shell: str, error: str
) -> None:
    """In its own words."""
    stub(tmp_path, monkeypatch, "sbatch", f"#!/bin/sh\n{shell}\n")
    with pytest.raises(RequestError, match=f"job.sh: {error}"):
        SchedulerRunner(slurm.COMMANDS).start(Path("job.sh"), None)


def test_a_job_of_which_the_scheduler_says_something_else_is_not_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its answer ends the search, as does a command that is not there; both can go on later."""
    stub(tmp_path, monkeypatch, "squeue", "#!/bin/sh\necho out of memory >&2; exit 1\n")
    with pytest.raises(Unavailable, match="squeue: out of memory"):
        SchedulerRunner(slurm.COMMANDS).state("7")
    monkeypatch.setenv("PATH", str(tmp_path / "elsewhere"))
    with pytest.raises(Unavailable, match="squeue does not answer"):
        SchedulerRunner(slurm.COMMANDS).state("7")


def test_a_job_that_the_scheduler_has_forgotten_is_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slurm's front end for Torque says it by its status alone."""
    stub(tmp_path, monkeypatch, "qstat", "#!/bin/sh\nexit 153\n")
    assert SchedulerRunner(qsub.COMMANDS).state("7") == "over"


def client(folder: Path, monkeypatch: pytest.MonkeyPatch, program: str, says: str, answers: str) -> None:
    """Make that client, the only one that is found."""
    stub(folder, monkeypatch, program, CLIENT.format(says=says, answers=answers))


def stub(folder: Path, monkeypatch: pytest.MonkeyPatch, program: str, text: str) -> None:
    """Make that program, found first, and go to its folder."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    (folder / program).write_text(text)
    (folder / program).chmod(0o755)


def test_a_job_keeps_its_limit_when_another_process_goes_on_with_the_search(tmp_path: Path) -> None:
    """A plain shell ends no job; without the limit a job that hangs would never let the search end."""
    script = tmp_path / "job.sh"
    script.write_text("sleep 100\n")
    first = LocalRunner()
    job = first.start(script, 0.01)
    try:
        later = LocalRunner()
        assert until(lambda: later.state(job) == "over")
        assert until(lambda: first.state(job) == "over")  # its parent learns of the end a moment later
    finally:
        with suppress(ProcessLookupError):
            os.killpg(int(job.partition("@")[0].partition(":")[0]), signal.SIGKILL)


def test_the_limit_of_a_job_does_not_move_with_the_time_of_day(tmp_path: Path) -> None:
    """A correction of the clock by an hour would end a job that has just begun, or let one that hangs go on for an hour."""
    script = tmp_path / "job.sh"
    script.write_text("true\n")
    here = LocalRunner()
    begun = time.monotonic()
    job = here.start(script, 100)
    until(lambda: here.state(job) == "over")
    assert begun + 99 < int(job.partition("@")[2].partition(":")[0]) < time.monotonic() + 101


def test_a_trial_that_a_requeued_job_submits_starts_for_the_first_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``sbatch`` passes on what its own environment says of restarts."""
    monkeypatch.setenv("SLURM_RESTART_COUNT", "1")
    stub(tmp_path, monkeypatch, "sbatch", "#!/bin/sh\necho 7${SLURM_RESTART_COUNT}\n")
    assert SchedulerRunner(slurm.COMMANDS).start(Path("job.sh"), None) == "7"


def test_a_trial_in_a_requeued_job_starts_for_the_first_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its script would otherwise report no time, as a job that may have continued from a checkpoint."""
    monkeypatch.setenv("SLURM_RESTART_COUNT", "1")
    script = tmp_path / "job.sh"
    script.write_text('echo "starts: ${SLURM_RESTART_COUNT:-0}"\n')
    here = LocalRunner()
    job = here.start(script, None)
    until(lambda: here.state(job) == "over")
    assert (tmp_path / "output").read_text() == "starts: 0\n"


def test_a_trial_is_not_told_how_many_threads_modak_computes_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """But what the user has set."""
    monkeypatch.setenv("MKL_NUM_THREADS", "4")
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "")
    monkeypatch.delenv("OPENBLAS_NUM_THREADS")
    blas.use_one_thread()
    stub(tmp_path, monkeypatch, "sbatch", "#!/bin/sh\necho 7${OPENBLAS_NUM_THREADS-0}${MKL_NUM_THREADS}\n")
    assert SchedulerRunner(slurm.COMMANDS).start(Path("job.sh"), None) == "704"
