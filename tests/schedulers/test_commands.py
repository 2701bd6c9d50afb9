"""What schedulers answer when a script is submitted and its job asked for. Grid Engine's and Slurm's are real, the others from manuals."""

from __future__ import annotations

import pytest

from modak import plugins

TABLE = """job-ID  prior   name       user         state submit/start at     queue         slots ja-task-ID
------------------------------------------------------------------------------------------------
      1 0.50000 solver     root         r     11/22/2026 21:35:28 main@node1        1
     11 0.00000 solver     root         hqw   11/22/2026 21:35:28                   1
     12 0.25000 solver     root         Eqw   11/22/2026 21:35:30                   1
"""
PBS = "Job Id: 11.pbs\n    Job_Name = solver\n    job_state = {}\n    queue = main\n"


@pytest.mark.parametrize(
    ("scheduler", "sent", "job", "waits", "runs", "over"),
    [
        ("slurm", "11;cluster\n", "11", "PENDING\n", "COMPLETING\n", "TIMEOUT\n"),
        ("slurm", "11\n", "11", "SPECIAL_EXIT\n", "SUSPENDED\n", ""),
        ("gridengine", "11\n", "11", TABLE, TABLE.replace("hqw", "dr"), TABLE.replace("     11 ", "    111 ")),
        ("gridengine", "12\n", "12", TABLE.replace("Eqw", "hqw"), TABLE.replace("Eqw", "t"), TABLE),
        ("gridengine", "11\n", "11", TABLE.replace("hqw", "hRwq"), TABLE.replace("hqw", "P"), ""),
        ("pbspro", "11.pbs\n", "11.pbs", PBS.format("Q"), PBS.format("R"), PBS.format("F")),
        ("torque", "11.pbs\n", "11.pbs", PBS.format("H"), PBS.format("E"), PBS.format("C")),
        ("lsf", "Job <11> is submitted to default queue <normal>.\n", "11", "PEND\n", "SSUSP\n", "EXIT\n"),
        ("flux", "\u01922oD3kEs\n", "\u01922oD3kEs", "SCHED\n", "RUN\n", "INACTIVE\n"),
    ],
)
def test_a_jobs_number_and_state_are_read(scheduler: str, sent: str, job: str, waits: str, runs: str, over: str) -> None:
    """A job of Grid Engine that could not be started is over: it would wait for ever."""
    commands = plugins.find("schedulers", scheduler).commands
    assert commands
    assert commands.number_in(f"the site greets you\n{sent}") == job
    assert [commands.state_in(answer, job) for answer in (waits, runs, over)] == ["waiting", "running", "over"]
