"""The job that says nothing of itself, and what schedulers make of it and of others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from modak import plugins
from modak.jobs.spec import Attributes, JobSpec, Resources

BARE = JobSpec(("./solver",), Resources(), Attributes(name="solver"))


def sized(**resources: Any) -> JobSpec:
    """A job of that size."""
    return replace(BARE, resources=replace(BARE.resources, **resources))


def wrote(scheduler: str, job: JobSpec = BARE, **attributes: Any) -> tuple[list[str], list[str]]:
    """The options in the header of a job with these attributes, and the fields of ``job_options`` that warnings name."""
    header = plugins.find("schedulers", scheduler).directives(replace(job, attributes=replace(job.attributes, **attributes)))
    return [" ".join(option) for option in header.options], [warning.field.removeprefix("job_options.") for warning in header.warnings]
