"""Seventeen defects of the published service: each must not come back."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from modak import rules
from modak.dsl import Texts
from modak.errors import RequestError
from modak.facts import Condition, Facts, Image, ImageLabels, Node, Rule, RuntimePolicy, System
from modak.jobs.spec import BuildSpec, RuleText
from modak.normalise import normalise
from modak.optimise import Answer, optimise
from modak.rules import Situation
from modak.script.build import render_build
from modak.script.job import render
from modak.text.grammar import version_range
from tests.golden.scripts.jobs import SOLVER
from tests.script.test_whole import SMALL, ran
from tests.systems import site

SITE = site(Node(processor="any", sockets=2, cores=24), runtimes=(RuntimePolicy(name="apptainer"),))


def answer(job: dict[str, Any], *known: System, images: tuple[Image, ...] = ()) -> Answer:
    """The answer to a request."""
    read = normalise({"job": {"application": {"executable": "./solver"}, **job}})
    return optimise(read.request, Facts(version="1", systems={system.name: system for system in known}, images=images), read.warnings)


def texts(job: dict[str, Any], *known: System) -> Texts:
    """Its files."""
    return answer(job, *known).texts


def script(options: dict[str, Any], scheduler: str = "slurm", **application: Any) -> str:
    """The job script of some options."""
    job = {"job_options": options, "target": {"job_scheduler_type": scheduler, "container_runtime": "none"}}
    return texts({**job, "application": {"executable": "./solver", **application}}).job_script


@pytest.mark.parametrize("time", ["30:00:00", "1-06:00:00", "30:00:00 ", " 1-06:00:00", 108000, "108000"])
def test_01_a_day_and_more(time: Any) -> None:
    """A wall time of 24 h or more, however it is written."""
    assert "#SBATCH --time=1-06:00:00\n" in script({"wall_time_limit": time})
    assert "#PBS -l walltime=30:00:00\n" in script({"wall_time_limit": time}, "torque")


def test_02_the_error_files_option_has_two_dashes() -> None:
    """``-error=x`` would be read as ``-e rror=x``."""
    text = script({"standard_error_file": "x"})
    assert "#SBATCH --error=x\n" in text
    assert not re.search(r"^#SBATCH -[a-z]", text, re.MULTILINE)


@pytest.mark.parametrize("events", ["abe", ["begin", "end", "fail"], "BEGIN,END,FAIL"])
def test_03_mail_letters_are_converted_both_ways(events: Any) -> None:
    """Slurm's words for Slurm, Torque's letters for Torque."""
    asked = {"request_event_notification": events, "email_address": "a@b.de"}
    types = re.search(r"--mail-type=(\S+)", script(asked))
    assert types
    assert set(types[1].split(",")) == {"BEGIN", "END", "FAIL"}
    assert "#PBS -m abe\n" in script(asked, "torque")


def test_04_torque_gets_a_queue_and_a_first_line() -> None:
    """The queue is no property of nodes."""
    text = script({"queue": "ssd", "node_count": 2}, "torque", app_type="mpi")
    assert text.startswith("#!/bin/bash\n#PBS ")
    assert "#PBS -q ssd\n" in text
    assert ":ssd" not in text


def test_05_a_copied_variable_does_not_drop_the_others() -> None:
    """``ALL,VAR``."""
    assert "#SBATCH --export=ALL,SCENARIO\n" in script({"copy_environment_variable": ["SCENARIO"]})


def test_06_srun_is_told_the_cores_of_a_task() -> None:
    """A step does not inherit them since 22.05."""
    text = script({"node_count": 2, "process_count_per_node": 4, "core_count_per_process": 6}, app_type="mpi")
    assert re.search(r"^srun .*--cpus-per-task=6 ", text, re.MULTILINE)


def test_07_tasks_are_not_cores() -> None:
    """Cores do not become ranks."""
    text = script({"node_count": 2, "process_count_per_node": 4, "core_count_per_process": 6}, app_type="mpi")
    assert "#SBATCH --ntasks-per-node=4\n#SBATCH --cpus-per-task=6\n" in text
    assert "--ntasks=8 " in text


def test_08_what_the_header_knows_the_request_may_say() -> None:
    """Account, memory, array, dependency, exclusivity."""
    text = script({"account": "p1", "memory_limit": "10 GB", "job_array": "0-3", "job_dependency": "afterok:7", "node_exclusive": True})
    for option in ("--account=p1", "--mem=9536M", "--array=0-3", "--dependency=afterok:7", "--exclusive"):
        assert f"#SBATCH {option}\n" in text


def test_09_an_answer_can_be_sent_again() -> None:
    """What is answered passes the reader of requests, and gives the same script."""
    from modak.response import filled

    document = {"job": {"application": {"executable": "./solver", "app_tag": "solver"}, "target": {"name": "site"}}}
    facts = Facts(version="1", systems={"site": SITE})
    first = normalise(document)
    made = optimise(first.request, facts)
    again = normalise(json.loads(filled(document, made.plan, made.texts)))
    header = [line for line in made.texts.job_script.split("\n") if line.startswith("#SBATCH")]
    second = optimise(again.request, facts).texts.job_script
    assert [line for line in second.split("\n") if line.startswith("#SBATCH")] == header


def test_10_a_target_alone_gets_its_schedulers_header() -> None:
    """The system says which scheduler it has."""
    assert "#SBATCH --nodes=1\n" in texts({"target": {"name": "site"}}, SITE).job_script


def test_11_a_rule_stays_at_its_site_and_with_its_application() -> None:
    """Both conditions must hold, and what is unknown matches nothing."""
    rule = Rule(name="only", title="x", when=Condition(system=("here",), application=("mine",)), environment={"A": "1"}, source="x")
    for situation in (Situation(system="here"), Situation(application="mine"), Situation(system="there", application="mine"), Situation()):
        assert rules.apply(rules.rulebook((rule,)), situation).environment == {}
    assert rules.apply(rules.rulebook((rule,)), Situation(system="here", application="mine")).environment == {"A": "1"}


def test_12_versions_are_versions() -> None:
    """``2.1`` is not 2.1.1 or 2.10, and ``%`` is not a version."""
    assert [each for each in ("2.1", "2.1.0", "2.1.1", "2.10") if version_range("2.1").contains(each)] == ["2.1", "2.1.0"]
    with pytest.raises(ValueError, match="not a version or range"):
        version_range("%")
    images = tuple(
        Image(
            reference=f"docker://x/tensorflow:{version}",
            labels=ImageLabels(framework="tensorflow", version=version, source="hub"),
            source="x",
        )
        for version in ("2.1.1", "2.10.0", "2.1.0")
    )
    wanted = {"app_type": "ai_training", "ai_training": {"tensorflow": {"version": "2.1"}}}
    assert (
        answer({"target": {"name": "site"}, "optimisation": wanted}, SITE, images=images).plan.configuration.image
        == "docker://x/tensorflow:2.1.0"
    )


def test_13_answers_of_one_second_do_not_share_a_file(tmp_path: Path) -> None:
    """Eight at once: each gets its own text, and nothing is written anywhere."""

    def name(number: int) -> str:
        found = re.search(r"--job-name=(\S+)", script({"job_name": f"job{number}"}))
        return found[1] if found else ""

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(name, range(8))) == [f"job{number}" for number in range(8)]


def test_14_a_build_fetches_once_and_is_no_mpi_job() -> None:
    """One download, one process on one node."""
    build = BuildSpec(source="https://example.org/solver.tar.gz", command="make", parallelism=4)
    text = render_build(SOLVER, build, "slurm").text
    assert text.count("https://example.org/solver.tar.gz") == 1
    assert "#SBATCH --nodes=1\n#SBATCH --ntasks-per-node=1\n" in text
    assert not re.search(r"\b(srun|mpirun)\b", text)


@pytest.mark.parametrize("bad", ["echo 'open", "{% if %}", "{{ undefined }}", "#SBATCH --wrap=id\n", "}", "echo\rx"])
def test_15_one_bad_rule_stops_nothing(bad: str) -> None:
    """It is refused when it is added; one that is there all the same is left out, with a warning."""
    assert rules.rule_faults(Rule(name="bad", title="x", script=bad, source="x")) != ()
    job = replace(SMALL, rules=(RuleText("bad", "before", bad), RuleText("good", "before", "echo good")))
    written = render(job, "slurm")
    assert "echo good" in written.text
    assert [warning.field for warning in written.warnings] == ["rules"]


def test_16_braces_in_a_build_command_are_text(tmp_path: Path) -> None:
    """No template engine evaluates them, here or there."""
    source = tmp_path / "code"
    source.mkdir()
    command = "echo '{{ 7*7 }} {{ cycler.__init__.__globals__ }}' {{BUILD_PARALLELISM}} >made"
    done = ran(render_build(SMALL, BuildSpec(source=str(source), command=command, parallelism=3), "shell").text, tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "code/made").read_text() == "{{ 7*7 }} {{ cycler.__init__.__globals__ }} 3\n"


@pytest.mark.parametrize("name", ["../../T", "/etc/T", "a/b", "..", ".x"])
def test_17_a_jobs_name_is_no_path(name: str) -> None:
    """It is refused with the field's name."""
    with pytest.raises(RequestError, match=r"job_options\.job_name"):
        script({"job_name": name})
