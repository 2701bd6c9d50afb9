"""Warnings that several schedulers share: about what they do not support, or do in their own way."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from modak.dsl import Notice
from modak.jobs.spec import JobSpec
from modak.schedulers.header import enough_named, note
from modak.text.hosts import expand_nodes


def folders(job: JobSpec, scheduler: str, used: Callable[[str], str | None] = str) -> Iterator[Notice]:
    """A warning for each output file in a directory, which no scheduler creates. ``used``: the file that the scheduler is given for one of
    the request; ``None`` if it is left out."""
    why = f"{scheduler} does not create directories: make sure that it exists when the job starts"
    return (note(field, f"{path.rsplit('/', 1)[0]}: {why}") for field, path in named_files(job) if "/" in path and used(path))


def shared_files(job: JobSpec, scheduler: str, own: tuple[str, ...] = ()) -> Iterator[Notice]:
    """A warning for each output file that all jobs of an array would write.

    ``own``: placeholders that differ for each of them; if there are none, a file with placeholders is left out anyway.
    """
    if not job.attributes.array:
        return
    advice = f"put {own[0]} into its name" if own else "leave it out, and each gets its own"
    for field, path in named_files(job):
        if not any(sign in path for sign in own or ("%",)):
            yield note(field, f"all jobs of the array write to {path} under {scheduler}: {advice}")


def named_files(job: JobSpec) -> Iterator[tuple[str, str]]:
    """The output files that the job names, with their fields; no error file where the streams are joined."""
    says = job.attributes
    if says.output:
        yield "output", says.output
    if says.error and not says.join:
        yield "error", says.error


def environment_policy(job: JobSpec) -> Iterator[Notice]:
    """A warning if the site's policy on the submitter's environment differs from the request."""
    says, site = job.attributes, job.system
    if site and site.export_policy == "NONE" and says.copy_environment:
        yield note("copy_environment", f"{site.name} starts jobs without the submitter's environment: its policy is kept")
    if site and site.export_policy == "ALL" and says.copy_environment is False:
        yield note("copy_environment", f"{site.name} starts jobs with the submitter's environment: its policy is kept")


def queues_alone(job: JobSpec, scheduler: str) -> Iterator[Notice]:
    """A warning if the request names a partition and another queue, and the scheduler has queues only."""
    says = job.attributes
    if says.queue and says.partition and says.queue != says.partition:
        yield note("partition", f"{scheduler} has queues only: queue {says.queue} is used, partition {says.partition} is left out")


def uncounted(job: JobSpec, scheduler: str) -> Iterator[Notice]:
    """A warning if there are site resources without a count."""
    others = [text for text in job.attributes.site_resources if not text.partition("=")[2].isdecimal()]
    if others:
        yield note("site_resources", f"{scheduler} counts such resources, for instance matlab=2: {', '.join(others)} is left out")


def too_few_named(job: JobSpec, scheduler: str) -> Iterator[Notice]:
    """A warning if the request names nodes that :func:`enough_named` leaves out."""
    if job.attributes.node_list and not enough_named(job):
        why = f"the job has {job.resources.nodes} nodes, and {scheduler} would look for all of them among these"
        yield note("node_list", f"{job.attributes.node_list} is left out: {why}")


def named_taken(job: JobSpec, scheduler: str) -> Iterator[Notice]:
    """A warning if the request names more or fewer nodes than the job has, and the scheduler allocates those named."""
    named = len(expand_nodes(job.attributes.node_list or ""))
    if job.attributes.node_list and named != job.resources.nodes:
        yield note("node_list", f"{named} nodes are named, but the job has {job.resources.nodes}: {scheduler} allocates those named")


def no_option(job: JobSpec, scheduler: str, *fields: str, instead: str = "") -> Iterator[Notice]:
    """A warning for each of these :data:`~modak.schedulers.header.FIELDS` that the job gives and the scheduler has no option for."""
    message = f"{scheduler} has no option for this: left out{instead}"
    given = {**vars(job.resources), **vars(job.attributes)}
    return (note(field, message) for field in fields if given[field])


def joined_streams(job: JobSpec, scheduler: str) -> Iterator[Notice]:
    """A warning if an error file is named although both streams go to the output file."""
    if job.attributes.join and job.attributes.error:
        yield note("error", f"standard error is joined with the output, so the error file is left out for {scheduler}")


def no_event(job: JobSpec, scheduler: str) -> Iterator[Notice]:
    """A warning if the request gives an address and no event, and the scheduler then sends no mail."""
    says = job.attributes
    if says.email and not set(says.notify) - {"none"}:
        yield note("email", f"{scheduler} sends no mail unless request_event_notification names an event")


def own_timer(job: JobSpec, scheduler: str) -> Iterator[Notice]:
    """A warning if the script's own timer sends the signal, because the scheduler cannot send it to the script alone."""
    says = job.attributes
    if says.signal and not says.wall_time_s:
        yield note("signal", f"under {scheduler} a timer in the script sends it, which needs a wall time limit: left out")
    elif says.signal:
        yield note("signal", f"{scheduler} does not send {says.signal.name} to the script before the limit: a timer in the script does")
