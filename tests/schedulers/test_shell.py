"""A plain shell has no header, and says what it cannot do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from modak.jobs.spec import Attributes, JobSpec, Resources
from modak.schedulers.header import FIELDS
from modak.schedulers.shell import Shell
from modak.script.job import render
from modak.testing import SAID

BARE = JobSpec(("./solver",), Resources(), Attributes(name="solver", wall_time_s=60))


def test_there_is_no_header() -> None:
    """Whatever the job says."""
    assert Shell().directives(replace(BARE, attributes=SAID)).options == ()


def test_a_job_that_says_nothing_special_is_no_reason_to_warn() -> None:
    """A wall time is what every plan has."""
    assert Shell().directives(BARE).warnings == ()


def test_every_field_that_only_a_scheduler_could_honour_is_warned_about() -> None:
    """Once each."""
    fields = [warning.field for warning in Shell().directives(replace(BARE, attributes=SAID)).warnings]
    assert len(fields) == len(set(fields)) == 19


@pytest.mark.parametrize("field", ["join", "copy_environment"])
def test_what_is_not_wanted_is_warned_about_too(field: str) -> None:
    """Streams apart, and a job without the submitter's environment."""
    no: dict[str, Any] = {field: False}
    (warning,) = Shell().directives(replace(BARE, attributes=replace(BARE.attributes, **no))).warnings
    assert warning.field == f"job_options.{FIELDS[field]}"


def test_a_job_on_several_nodes_is_told_that_none_is_reserved() -> None:
    """Its launcher has to find them."""
    (warning,) = Shell().directives(replace(BARE, resources=Resources(nodes=2))).warnings
    assert warning.message == "a plain shell reserves no nodes: the launcher must find all 2 itself"


def test_a_numa_mode_that_no_scheduler_selects_is_told() -> None:
    """The plan counts on it."""
    (warning,) = Shell().directives(replace(BARE, resources=Resources(numa_constraint="quad"))).warnings
    assert (warning.field, "start it on such a node" in warning.message) == ("job_options.architecture_constraint", True)


def test_the_script_starts_where_it_is_started() -> None:
    """There is no submit directory to go to."""
    assert "\ncd " not in render(BARE, "shell").text
