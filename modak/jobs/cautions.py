"""What a user should know of a job that cannot be all that was asked: of its image, the host's MPI library, the request's own texts."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from packaging.version import Version

from modak.choosing.mpi import whose_mpi
from modak.choosing.openswitch import stated_beyond
from modak.choosing.shapes import Shape
from modak.choosing.software import Software
from modak.choosing.wishes import DEEPSPEED, distribution, library, mpi_asked
from modak.dsl import Notice, Request
from modak.facts import HostMpi, mpi_family
from modak.jobs.placing import addresses
from modak.jobs.spec import JobSpec
from modak.launchers.family import TITLES, WITHOUT_MPI, compatible, own_family
from modak.target import Target
from modak.text.grammar import version_range
from modak.text.words import expandable
from modak.tuning.setting import setting_of

TORCHRUN_SINCE: Final = Version("1.10")


def of_configuration(
    request: Request, target: Target, shape: Shape, software: Software, spec: JobSpec, host: HostMpi | None
) -> tuple[Notice, ...]:
    """The warnings for all jobs of a configuration, whose ranks the MPI library ``host`` starts."""
    return (
        *_too_old(spec, software),
        *_own_version(request, software),
        *_own_layer(request, software),
        *stated_beyond(request, target.accelerator if shape.gpus_per_node else None),
        *_unlisted(request, target, shape, spec, host),
        *_other_version(request, target, shape, software, spec),
    )


def of_request(request: Request, expanded: Collection[str]) -> tuple[Notice, ...]:
    """The warnings for the job of one request; ``expanded`` are the variables in its words."""
    return (*addresses(request), *_unread(request), *_unset(request, expanded))


# --- the image


def _too_old(spec: JobSpec, software: Software) -> tuple[Notice, ...]:
    """A warning if the image is too old to have torchrun."""
    version = software.framework_version
    if spec.launcher != "torchrun" or version is None or Version(version) >= TORCHRUN_SINCE:
        return ()
    why = f"the image has PyTorch {version}, but torchrun needs {TORCHRUN_SINCE} or later: the job cannot start"
    return (Notice(field="optimisation.options.version", message=f"{why}; use a later version, or Horovod"),)


def _own_version(request: Request, software: Software) -> tuple[Notice, ...]:
    """A warning if the request gives a version of Keras: images are known by the version of its backend."""
    options, found = request.optimisation.options, software.image.labels if software.image else software.recipe
    if request.optimisation.framework != "keras" or options.version is None or found is None:
        return ()
    has = f"the image is chosen by its {found.framework} ({found.version})"
    return (Notice(field="optimisation.options.version", message=f"{has}, not by Keras: make sure that it has Keras {options.version}"),)


def _own_layer(request: Request, software: Software) -> tuple[Notice, ...]:
    """A warning if the image is built from a recipe and the request asks for DeepSpeed, which no recipe installs."""
    if software.recipe is None or distribution(request) != DEEPSPEED:
        return ()
    return (
        Notice(field="optimisation.options.distribution", message="the recipe does not install DeepSpeed: the application must provide it"),
    )


# --- the host's MPI library


def _unlisted(request: Request, target: Target, shape: Shape, spec: JobSpec, host: HostMpi | None) -> tuple[Notice, ...]:
    """A warning if the system file lists no MPI that starts the image's, or no module of it, or not the layout's: launcher and modules are
    then of another."""
    usual, own = target.host_mpi, own_family(spec.container)
    if usual is None or spec.launcher in WITHOUT_MPI:
        return ()
    text = _unlisted_in_image(target, spec, usual, own, host) if own else _unlisted_of_layout(request, target, shape, usual)
    return (Notice(field="target.name", message=text),) if text else ()


def _unlisted_in_image(target: Target, spec: JobSpec, usual: HostMpi, own: str, host: HostMpi | None) -> str:
    """That the system file lists no MPI that starts that of the image, of family ``own``, or no module of it; empty if it does."""
    title = TITLES.get(own, own)
    if spec.launcher_flavour is None:
        stops = {"mpirun": f"mpirun is not that of {title}", "srun": f"Slurm does not offer {spec.pmi}"}.get(spec.launcher)
        lists = f"the system file of {target.title} does not list {title} ([[mpi]]), which is in the image"
        return f"{lists}: the job stops where {stops}" if stops else ""
    if spec.launcher != "mpirun" or host == usual or (host and host.module):
        return ""
    names = f"the system file of {target.title} names no module of {title} ([[mpi]]), which is in the image"
    return f"{names}: the job stops where mpirun is that of {TITLES.get(usual.family, usual.family)}"


def _unlisted_of_layout(request: Request, target: Target, shape: Shape, usual: HostMpi) -> str:
    """That the system file does not list the MPI of the layout; empty if it does, or if a warning of the candidates says so already."""
    asked = mpi_asked(request)
    only_in_image = asked is not None and target.runtime is not None and not compatible(asked, usual.family)
    label = shape.mpi or (asked if only_in_image else None)
    if not label or target.mpi_called(label):
        return ""
    said = asked is not None and not only_in_image and shape.mpi_from != "container" and not target.mpi_called(asked)
    if said and (mpi_family(label) or label) == asked:
        return ""
    default = " ".join(filter(None, (usual.family, usual.version)))
    return f"the system file of {target.title} does not list {label} ([[mpi]]): the job is set up for its default, {default}"


def _other_version(request: Request, target: Target, shape: Shape, software: Software, spec: JobSpec) -> tuple[Notice, ...]:
    """A warning if the ranks use the host's MPI, and it is of another version than the request gives."""
    asked, host = library(request), target.mpi_called(shape.mpi)
    if asked is None or asked.version is None or host is None or host.version is None:
        return ()
    used = spec.launcher not in WITHOUT_MPI and whose_mpi(target, shape, software.reference) == "host"
    if not used or host.family != asked.framework or version_range(asked.version).contains(host.version, prereleases=True):
        return ()
    text = f"the ranks use the {host.family} of {target.title}, which is version {host.version}, not {asked.version}"
    return (Notice(field="optimisation.options.version", message=text),)


# --- the request's own texts


def _unread(request: Request) -> tuple[Notice, ...]:
    """A warning if nothing says what to look for in the metric's file, or for what there is no result to be written into."""
    application, metric = request.application, request.optimisation.workload.metric
    if application.write_result:
        if not application.metric_file or metric:
            return ()
        why = "it is never read: optimisation.workload.metric says what to look for in it"
        return (Notice(field="application.metric_file", message=why),)
    wishes = {
        "application.result_file": application.result_file,
        "application.metric_file": application.metric_file,
        "optimisation.workload.metric": metric,
    }
    why = "it is left out: application.write_result is false"
    return tuple(Notice(field=field, message=why) for field, wish in wishes.items() if wish)


def _unset(request: Request, expanded: Collection[str]) -> tuple[Notice, ...]:
    """A warning for each of the ``expanded`` variables that only a tuner sets: without a value the job stops where it is expanded."""
    tuning = request.optimisation.autotuning
    tuned = tuning.space.environment if tuning and tuning.space else {}
    given = (*request.job_options.copy_environment_variable, *setting_of(request).environment)
    unset = sorted(name for name in expanded if name in tuned and not expandable(name, given))
    why = "has no value in this script, and the job stops there: give one in optimisation.autotuning.setting (modak tune tries several)"
    return tuple(Notice(field=f"optimisation.autotuning.space.environment.{name}", message=f"${{{name}}} {why}") for name in unset)
