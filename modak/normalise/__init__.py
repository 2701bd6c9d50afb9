"""What a request means, however it is spelt: every accepted spelling becomes the canonical one, with a warning for each change.

No other part of the program is tolerant. Other spellings are read, unknown keys and values are left out, and each such change is a
warning; ``strict`` turns warnings into faults. What cannot be expressed safely is always a fault. All faults are reported together.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from modak import dsl, plugins
from modak.errors import Fault, RequestError, strictly
from modak.facts import canonical_image
from modak.normalise.fields import begin, command_line, dependency, email, events, joined, one_word, resources, signal, source, variables
from modak.normalise.mpirun import without_launcher
from modak.normalise.optimisation import optimisation
from modak.normalise.sections import OBJECT, label, remembered, section_of, spelt
from modak.normalise.spellings import (
    Read,
    Reader,
    choice,
    combine_readings,
    each,
    fold,
    is_blank,
    left_out,
    listed,
    name_of,
    noted,
    prose,
    shown,
    spellings,
    text,
    whole,
)
from modak.normalise.torchrun import with_launchers_counts
from modak.text.documents import without_schema
from modak.text.faults import join
from modak.text.grammar import IMAGE_ENDINGS
from modak.text.programs import programs_of


@dataclass(frozen=True)
class Normalised:
    """A canonical request, the changes that led to it, and the document as it was sent."""

    request: dsl.Request
    warnings: tuple[dsl.Notice, ...]
    document: Mapping[str, Any]


def normalise(document: Mapping[str, Any], *, strict: bool = False) -> Normalised:
    """The canonical request of a document ``{"job": {…}}`` in any accepted spelling.

    Raises :class:`modak.errors.RequestError` with one fault a field: always for values of a wrong type and for what
    cannot be expressed safely, with ``strict`` for everything that would be a warning otherwise.
    """
    job, notes = _job(document)
    job, moved = _runtime_in_target(job)
    read = _read(job)
    told = combine_readings(read)
    notes += moved + told.notes
    if faults := told.faults + (strictly(notes) if strict else ()):
        refused = RequestError(faults=tuple(dict.fromkeys(faults)))
        refused.warnings = () if strict else tuple(note for note in dict.fromkeys(notes) if note not in faults)
        raise refused
    options, application, target, wanted = (got.value for got in read)
    request, more = _consistent(dsl.Request(job_options=options, application=application, target=target, optimisation=wanted))
    if strict and more:
        raise RequestError(faults=strictly(more))
    notes += more
    warnings = tuple(dsl.Notice(field=note.field, message=note.message) for note in dict.fromkeys(notes))
    return Normalised(request, warnings, document)


SECTIONS: Final = ("job_options", "application", "target", "optimisation")
ANSWERS: Final = ("job_content", "job_script", "build_content", "build_script", "plan")
"""What a response adds; a response can be sent again as a request."""
_SPELLINGS: Final = spellings(SECTIONS + ANSWERS, {"optimization": "optimisation"})
_SHAPE: Final = 'it is {"job": {"job_options": {}, "application": {}, "target": {}, "optimisation": {}}}'


def _job(document: Mapping[str, Any]) -> tuple[Mapping[str, Any], tuple[Fault, ...]]:
    """Sections by canonical name, from below ``job`` or, with a note, from the top."""
    if not isinstance(document, OBJECT):
        raise RequestError(f"a request is an object; {_SHAPE}")
    document = without_schema(document)
    top, notes = spelt(document, ("job",), "", {"job": "job"}) if "job" in document else ({}, ())
    job = document[top["job"]] if top else document
    if not isinstance(job, OBJECT):
        raise RequestError(f"allowed: an object; {_SHAPE}", field="job")
    keys, more = spelt(job, SECTIONS + ANSWERS, "", _SPELLINGS)
    if not top and not keys:
        raise RequestError(f"the object contains no part of a request; {_SHAPE}", field="job")
    if not top:
        notes += (Fault("job", "the key 'job' is missing; its sections are read from the top"),)
    return {name: job[key] for name, key in keys.items()}, notes + more


def _read(job: Mapping[str, Any]) -> tuple[Read, Read, Read, Read]:
    """The four sections. Commands of the application may use variables that other sections name, so it is read last."""
    options = _JOB_OPTIONS(job.get("job_options"), "job_options")
    wanted = optimisation(job.get("optimisation"), "optimisation")
    names = _own_variables(options.value, wanted.value)
    application = _application(names) if names else _PLAIN_APPLICATION
    return options, application(job.get("application"), "application"), _TARGET(job.get("target"), "target"), wanted


def _own_variables(options: Any, wanted: Any) -> frozenset[str]:
    """Variables that the request copies into the job, or that a tuner sets. The values of a section with faults are unchecked."""
    tuning = getattr(wanted, "autotuning", None)
    tuned = [getattr(getattr(tuning, part, None), "environment", ()) for part in ("space", "setting")] if tuning else []
    return frozenset((*getattr(options, "copy_environment_variable", ()), *(name for names in tuned for name in names)))


def _application(names: frozenset[str]) -> Reader:
    """The reader of the section whose commands may use these variables."""
    arguments = command_line(names, program=False)
    return section_of(
        dsl.Application,
        app_type=choice(dsl.Application.allowed("app_type"), {"cpp": "c++", "f90": "fortran", "python3": "python"}, otherwise="other"),
        also={"name": "app_tag"},
        container_runtime=_image,
        allowed_ranks=listed(whole),
        executable=command_line(names, program=True),
        arguments=arguments,
        stage_in=each(section_of(dsl.StageIn, source=one_word(names))),
        stage_out=each(section_of(dsl.StageOut, to=one_word(names))),
        metric_file=one_word(names),
        pre_execution=arguments,
        post_execution=arguments,
        checkpoint=arguments,
        build=section_of(dsl.Build, src=source, build_command=prose),
    )


def _image(value: Any, path: str) -> Read:
    """The caller's own image; ``repository/name:tag`` without a scheme is one of Docker Hub."""
    if isinstance(value, str) and fold(value) in OUT_OF_SUPPORT:
        return _runtime(value, path)
    got = text(value, path)
    if not isinstance(got.value, str):
        return got
    if (same := canonical_image(got.value)) != got.value:
        return noted(path, same, f"{shown(value)} is read as {_scheme_or_all(same)}")
    if "://" not in got.value and not got.value.endswith(IMAGE_ENDINGS) and not got.value.startswith(("/", ".", "~", "$")):
        return noted(path, f"docker://{got.value}", f"{shown(value)} is read as an image of that name: docker://…")
    return got


def _scheme_or_all(image: str) -> str:
    """An image for a message; of one by its digest, which is long, the scheme."""
    return shown(image) if len(image) < 39 else f"{image.partition('://')[0]}://…"


OUT_OF_SUPPORT: Final = ("docker", "podman", "shifter")
_RUNTIME_SPELLINGS: Final = {"singularity-ce": "singularity", "apptainer/singularity": "apptainer"}


def _runtime(value: Any, path: str) -> Read:
    if isinstance(value, str) and fold(value) in OUT_OF_SUPPORT:
        runtimes = ", ".join(name for name in plugins.names("runtimes") if name != "none")
        how = f"supported: none, or {runtimes}, which run Docker's images, too (application.container_runtime: docker://IMAGE)"
        return left_out(path, f"{fold(value)} is not supported and is ignored; {how}")
    return choice(plugins.names("runtimes"), plugins.aliases("runtimes") | _RUNTIME_SPELLINGS)(value, path)


def _runtime_in_target(job: Mapping[str, Any]) -> tuple[Mapping[str, Any], tuple[Fault, ...]]:
    """The job with a runtime's name in place of an image moved to ``target.container_runtime``, unless that is given, too."""
    application, target = job.get("application"), job.get("target") or {}
    if not isinstance(application, OBJECT) or not isinstance(target, OBJECT):
        return job, ()
    key = _runtime_key(application)
    given = application.get(key)
    if not isinstance(given, str) or fold(given) not in {fold(name) for name in (*plugins.names("runtimes"), *plugins.aliases("runtimes"))}:
        return job, ()
    own = _runtime_key(target)
    read = "read as target.container_runtime" if own is None else f"ignored, because target.{label(own)} is given, too"
    if own is None:
        others = {name: value for name, value in target.items() if fold(name) != "container_runtime"}
        target = {"container_runtime": given, **others}
    rest = {name: value for name, value in application.items() if name != key}
    note = Fault(join("application", label(key)), f"{shown(given)} is a runtime, not an image: {read}")
    return {**job, "application": rest, "target": target}, (note,)


def _runtime_key(section: Mapping[str, Any]) -> str | None:
    """The key of a section that is a spelling of ``container_runtime``, if it has a value; of several the name itself, else the first."""
    name = "container_runtime"
    keys = [key for key, value in section.items() if name_of(key, {name: name}) and value is not None and not is_blank(value)]
    return name if name in keys else next(iter(keys), None)


def _consistent(request: dsl.Request) -> tuple[dsl.Request, tuple[Fault, ...]]:
    """The request with what one of its sections says in the place of another; and notes."""
    notes: tuple[Fault, ...] = ()
    for step in (without_launcher, with_launchers_counts, _with_counts, _with_servers, _with_own_container):
        request, more = step(request)
        notes += more
    return request, notes


def _with_counts(request: dsl.Request) -> tuple[dsl.Request, tuple[Fault, ...]]:
    """Threads and accelerators in a framework's options apply to the job, too; if both give them, the job's own are used."""
    said = (request.optimisation.options, *request.optimisation.further.values())
    notes = []
    for option, section, field in (("number_of_threads", "application", "threads"), ("number_of_acc", "job_options", "request_gpus")):
        count = next((found for one in said if (found := one.value_of(option))), None)
        given = getattr(getattr(request, section), field)
        if count and given is None:
            request = request.changed(**{section: {field: count}})
        elif count and given != count:
            notes.append(Fault(f"{section}.{field}", f"{given} is used; {option} says {count}"))
    return request, tuple(notes)


def own_container(request: dsl.Request) -> str | None:
    """The container runtime that the command itself starts; ``None``: it starts none."""
    return next((one for one in programs_of(request.application.command) if one != "none" and plugins.named("runtimes", one)), None)


def _with_own_container(request: dsl.Request) -> tuple[dsl.Request, tuple[Fault, ...]]:
    """No container of the script's around one that the command starts itself, unless the request names a runtime or an image."""
    if request.target.container_runtime or request.application.container_runtime:
        return request, ()
    name = own_container(request)
    if name is None:
        return request, ()
    read = f"{name} starts the container: read as target.container_runtime 'none'"
    how = "to have the script start it, and check it, name its image in application.container_runtime, and the program alone in the command"
    return request.changed(target={"container_runtime": "none"}), (Fault("application.executable", f"{read}; {how}"),)


def _with_servers(request: dsl.Request) -> tuple[dsl.Request, tuple[Fault, ...]]:
    """MXNet with a parameter server where its command names such a key-value store: one process then drives all GPUs of a node."""
    wanted = request.optimisation
    if wanted.framework != "mxnet" or wanted.options.value_of("distribution"):
        return request, ()
    named = _KEY_VALUE_STORE.search(" ".join(word for word in request.application.command if isinstance(word, str)))
    if named is None:
        return request, ()
    options = wanted.options.model_copy(update={"distribution": "parameter-server"})
    note = Fault("application.arguments", f"{named[0]!r} is read as mxnet's option 'distribution': 'parameter-server'")
    return request.changed(optimisation={"options": options}), (note,)


_KEY_VALUE_STORE: Final = re.compile(r"(?<!\S)--kv-?store[ =]dist\w*")
_SCHEDULER_SPELLINGS: Final = {
    "moab": "torque",
    "pbs_pro": "pbspro",
    "grid_engine": "gridengine",
    **dict.fromkeys(("none", "batch", "sh", "local"), "shell"),
}
CLOUDS: Final = frozenset(
    {"cloud", "openstack", "kubernetes", "k8s", "aws", "aws_batch", "ec2", "azure", "azure_batch", "gcp", "gke", "eks", "aks"}
    | {"nomad", "lambda"}
)
_NO_CLOUD: Final = "cloud targets are not supported; the answer is a plain shell script"


def _scheduler(value: Any, path: str) -> Read:
    """``pbs`` is read as Torque's dialect, which OpenPBS also accepts; a target without a scheduler gets a plain shell script."""
    if isinstance(value, str) and fold(value) in CLOUDS:
        return noted(path, "shell", _NO_CLOUD)
    if isinstance(value, str) and fold(value) == "pbs":
        return noted(path, "torque", "'pbs' is read as 'torque' (-l nodes=N:ppn=P); write 'pbspro' for -l select=…")
    return choice(plugins.names("schedulers"), plugins.aliases("schedulers") | _SCHEDULER_SPELLINGS)(value, path)


def _site(value: Any, path: str) -> Read:
    """A system's name; underscores and blanks are hyphens."""
    if isinstance(value, str) and fold(value) in CLOUDS:
        return left_out(path, _NO_CLOUD)
    got = text(value, path)
    return Read(got.value.replace("_", "-").replace(" ", "-"), got.notes) if isinstance(got.value, str) else got


COUNTS: Final = {"nodes": "node_count", "ranks_per_node": "process_count_per_node", "gpus_per_node": "request_gpus", "gpus": "request_gpus"}
"""Counts of a job as results call them."""
RESOURCES: Final = {"licenses": "site_resources", "licences": "site_resources"}


_PLAIN_APPLICATION: Final = _application(frozenset())
"""The only one that is kept: a request may name thousands of variables."""
_JOB_OPTIONS: Final = section_of(
    dsl.JobOptions,
    also={**COUNTS, **RESOURCES},
    site_resources=resources,
    request_specific_nodes=joined,
    job_array=joined,
    copy_environment_variable=variables,
    job_dependency=dependency,
    request_event_notification=events,
    email_address=email,
    defer_job=begin,
    signal=signal,
)
_TARGET: Final = remembered(
    section_of(
        dsl.Target,
        also={"queue_type": "job_scheduler_type", "scheduler": "job_scheduler_type", "system": "name", "cluster": "name"},
        name=_site,
        job_scheduler_type=_scheduler,
        container_runtime=_runtime,
    )
)
