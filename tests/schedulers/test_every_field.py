"""Completeness: whatever ``job_options`` can say gets from the request to the header. That each scheduler has an option or a warning for
it is its contract, which :func:`modak.testing.check_scheduler` checks."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from modak import plugins, testing
from modak.facts import Facts
from modak.jobs.spec import Attributes, JobSpec
from modak.normalise import normalise
from modak.optimise import optimise
from modak.schedulers.header import FIELDS
from tests.conftest import ANEW, kept
from tests.golden.headers.written import HERE as HEADERS
from tests.golden.headers.written import ODD, SIZES, written
from tests.test_from_memory import SAID

SCHEDULERS = plugins.names("schedulers")
VALUES = {path.removeprefix("job_options."): values for path, values in SAID.items() if path.startswith("job_options.")}
"""Of each field of ``job_options``."""
BARE = {"application": {"executable": "./solver"}, "target": {"container_runtime": "none"}}
LAUNCHED = {"process_count_per_node", "core_count_per_process", "core_count", "node_count"}


def answered(scheduler: str, options: dict[str, Any]) -> tuple[list[str], str]:
    """Header lines, and the rest of the script."""
    application = {"executable": "./solver", **({"app_type": "mpi"} if LAUNCHED & set(options) else {})}
    job = {**BARE, "application": application, "job_options": options, "target": {**BARE["target"], "job_scheduler_type": scheduler}}
    read = normalise({"job": job})
    answer = optimise(read.request, Facts(version="1"), read.warnings)
    prefix = plugins.find("schedulers", scheduler).prefix
    lines = answer.texts.job_script.split("\n")
    header = [line for line in lines if prefix and line.startswith(prefix)]
    body = "\n".join(line for line in lines if not line.startswith("#"))
    return header, body


def test_the_contract_of_schedulers_has_every_attribute() -> None:
    """What plug-ins of other packages drop would be lost without a word otherwise."""
    names = {field.name for field in fields(Attributes)}
    assert names <= set(FIELDS), "name each field of Attributes in FIELDS of modak/schedulers/header.py"
    unset = {name for name in names if getattr(testing.SAID, name) is None}
    assert unset - {"join"} == set(), "give each field of Attributes a value in SAID of modak/testing.py"


@pytest.mark.parametrize(
    ("scheduler", "words"),
    [
        ("slurm", ("Slurm", "sbatch")),
        ("torque", ("Torque",)),
        ("pbspro", ("PBS Pro",)),
        ("lsf", ("LSF",)),
        ("flux", ("Flux", "flux batch")),
        ("gridengine", ("Grid Engine", "h_vmem", "resource called gpu", "parallel environment")),
        ("shell", ("plain shell",)),
    ],
)
@pytest.mark.parametrize("odd", [{}, ODD], ids=["usual", "odd"])
def test_a_warning_says_whose_limit_it_is(scheduler: str, words: tuple[str, ...], odd: dict[str, Any]) -> None:
    """By the scheduler's name, or in words that its users know: another one may not have it."""
    job = JobSpec(("./solver",), SIZES, replace(testing.SAID, **odd))
    for warning in plugins.find("schedulers", scheduler).directives(job).warnings:
        assert any(word in warning.message for word in words), warning.message


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_headers_and_warnings_are_those_of_the_files(scheduler: str) -> None:
    """Word by word."""
    assert written(scheduler) == kept(HEADERS / f"{scheduler}.txt"), ANEW


@pytest.mark.parametrize("field", VALUES)
def test_a_field_reaches_the_header(field: str) -> None:
    """Of Slurm, which has an option for each; counts may reach the launcher alone."""
    beside = {"wall_time_limit": 7200} if field == "signal" else {}
    without = answered("slurm", {"job_name": "solver"} if field == "job_name" else beside)
    told = (answered("slurm", {**beside, field: value}) for value in VALUES[field])
    assert any(header != without[0] or (field in LAUNCHED and body != without[1]) for header, body in told)


def test_durations_of_days_are_what_each_scheduler_reads() -> None:
    """30 hours."""
    pbs = dict.fromkeys(("pbspro", "torque"), "-l walltime=30:00:00")
    wanted = {"slurm": "--time=1-06:00:00", "lsf": "-W 30:00", "flux": "--time-limit=108000s", "gridengine": "-l h_rt=30:00:00", **pbs}
    for name, option in wanted.items():
        assert option in " ".join(answered(name, {"wall_time_limit": "30:00:00"})[0])


@pytest.mark.parametrize("given", ["USR1@120", "B:USR1@120", "SIGUSR1@120", {"name": "USR1", "seconds": 120}, {"name": "USR1"}])
def test_a_signal_is_written_in_several_ways(given: Any) -> None:
    """Slurm's, or an object."""
    assert "#SBATCH --signal=B:USR1@120" in answered("slurm", {"signal": given})[0]


@pytest.mark.parametrize("given", ["KILL@10", "USR1@5", "USR1@99999", "x", 5, {"name": "STOP"}])
def test_other_signals_are_refused(given: Any) -> None:
    """What cannot be caught, and times that no scheduler takes."""
    with pytest.raises(Exception, match="signal"):
        answered("slurm", {"signal": given})
