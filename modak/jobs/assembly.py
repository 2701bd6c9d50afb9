"""The chosen configuration as one job, independent of any scheduler."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Final

from modak import plugins
from modak.choosing.mpi import bound_mpi
from modak.choosing.requirements import by_torchrun, carrier, distribution, is_said_distributed, mpi_asked, names_openmp
from modak.choosing.shapes import Shape
from modak.choosing.software import Software, in_image
from modak.dsl import Notice, Request, Signal, variables_of
from modak.errors import Conflict
from modak.facts import HostMpi, mpi_family, parameters
from modak.jobs import jobwarnings
from modak.jobs.data import staging, storage, without_room
from modak.jobs.report import Record, common_columns, report
from modak.jobs.resources import check_limits, resources_of, total_ranks, why_memory, with_memory
from modak.jobs.spec import Attributes, Container, JobSpec, Resources, changed, overridden
from modak.jobs.userlauncher import command_of, is_interpreted, tells_threads
from modak.launchers.base import USUAL
from modak.launchers.family import OWN_NETWORK, USUAL_PMI, WITHOUT_MPI, compatible, own_family
from modak.launchers.jsrun import JSRUN, beside
from modak.schedulers.header import FIELDS
from modak.target import Target
from modak.text.amounts import counted
from modak.text.grammar import as_name
from modak.text.words import Word, literal, variables
from modak.tuning.setting import exported

_BIND_THEMSELVES: Final = frozenset({"mpirun", "none"})
"""Launchers that are not the scheduler's, so that they do not know which cores are the job's."""
_IN_PYTHON: Final = frozenset({"ai_training", "ai_inference", "big_data"})
"""Kinds of applications that are written in Python, also where the command does not show it (``papermill``, ``./train.sh``)."""


@dataclass(frozen=True)
class PlannedJob:
    """A job, and what was decided on the way to it."""

    spec: JobSpec
    decisions: tuple[str, ...] = ()
    warnings: tuple[Notice, ...] = ()


@dataclass(frozen=True)
class JobTemplate:
    """What all jobs of one configuration have in common."""

    spec: JobSpec
    """Without a command, and without what else differs from run to run."""
    launcher: str
    """The chosen launcher; that of :attr:`spec` may stand in for it."""
    record: Record
    """What their result files have in common."""
    request: Request
    """What it was made from: their requests, reduced."""
    decisions: tuple[str, ...] = ()
    warnings: tuple[Notice, ...] = ()


def job_template(request: Request, target: Target, shape: Shape, nodes: int, software: Software) -> JobTemplate:
    """The common part of the jobs of a chosen shape on one node, or, with two, on any larger number of nodes: see
    :func:`template_for_size`."""
    shape = in_image(shape, software)
    resources = resources_of(request, target, shape, nodes)
    launcher, _ = choose_launcher(request, target, resources.ranks)
    container = _container(request, target, shape, software)
    own = own_family(container) if target.host_mpi and launcher != "torchrun" else None
    mpi = _mpi(target, shape, own)
    pmi = mpi.pmi if mpi else USUAL_PMI.get(own or "")
    spec = JobSpec(
        command=(),
        resources=resources,
        launcher=launcher,
        launcher_flavour=_flavour(mpi, own, shape),
        launcher_version=mpi.version if mpi else None,
        pmi=None if distribution(request) in OWN_NETWORK else pmi,
        container=container,
        environment=overridden(software.rules.environment, _framework_environment(request)),
        modules=(mpi.module, *software.rules.modules) if mpi and mpi.module else software.rules.modules,
        rules=software.rules.texts,
        system=target.system,
        resource_directives=target.partition.resource_directives if target.partition else (),
        launcher_options=software.rules.launcher_options if launcher not in WITHOUT_MPI else (),
        distribution=distribution(request),
    )
    spec, ssh = _without_ssh(spec, target)
    spec, shared = _on_any_cores(spec, target, exclusive=bool(request.job_options.node_exclusive))
    ran = _as_started(shape, mpi) if launcher == "mpirun" and container is None else shape
    return JobTemplate(
        spec,
        launcher,
        record=common_columns(request, target, ran, nodes, software),
        request=request,
        decisions=(*ssh, *shared, *_numa(target, shape)),
        warnings=jobwarnings.of_configuration(request, target, shape, software, spec, _mpi(target, shape, own_family(spec.container))),
    )


def _as_started(shape: Shape, mpi: HostMpi | None) -> Shape:
    """The shape with the host's MPI whose ``mpirun`` starts the ranks: the system's default one, if it does not list that of the shape. No
    other runs them, whatever was asked for."""
    return shape if mpi is None or mpi_family(shape.mpi) in (None, mpi.family) else replace(shape, mpi=mpi.family)


def _flavour(mpi: HostMpi | None, own: str | None, shape: Shape) -> str | None:
    """The family of the MPI library that starts the ranks; ``None``: not known, or none that can start the image's ``own``."""
    if mpi:
        return mpi.family
    return None if own else mpi_family(shape.mpi) or shape.mpi


def template_for_size(usual: JobTemplate, target: Target, shape: Shape, nodes: int) -> JobTemplate:
    """The common part of the jobs on a number of nodes: all that depends on it, but for whether it is one, is set here."""
    has = changed(usual.spec.resources, nodes=nodes, total_ranks=total_ranks(usual.request, shape, nodes))
    _, why = choose_launcher(usual.request, target, has.ranks)
    spec = changed(usual.spec, resources=has, values=_values(usual.request, has, shape))
    return replace(usual, spec=spec, record={**usual.record, "nodes": nodes}, decisions=(why, *usual.decisions))


def planned_job(
    request: Request, target: Target, nodes: int, software: Software, usual: JobTemplate, *, wall_time_s: int | None, plan_id: str
) -> PlannedJob:
    """The job of a request, of which all is ``usual`` but for its command, its data and its attributes."""
    command, missing = command_of(request, usual.launcher, target.scheduler)
    expanded = _named(request.application.words)
    place = storage(request, target, software, expanded)
    staged = staging(request, target, nodes, software, expanded)
    signal, early = _signal(request, wall_time_s)
    application, build = request.application, request.application.build
    parallelism = {"BUILD_PARALLELISM": str(build.build_parallelism)} if build and build.build_parallelism else {}
    resources, loose = _threads(request, usual.spec, command, software)
    resources = with_memory(request, target, resources, wall_time_s)
    spec = changed(
        usual.spec,
        command=command,
        resources=resources,
        attributes=_attributes(request, target, nodes, wall_time_s, signal),
        environment=overridden(usual.spec.environment, exported(request)),
        pre=application.pre_execution,
        post=application.post_execution,
        checkpoint=application.checkpoint,
        plan_id=plan_id,
        values={**usual.spec.values, **parallelism},
        preflight=application.preflight,
        affinity=application.preflight,
        storage=place.place,
        staging=staged,
        report=report(request, usual.record) if application.write_result else None,
    )
    check_limits(request, target, spec, wall_time_s)
    own = (*missing, *early, *jobwarnings.of_request(request, expanded, spec))
    warnings = (*own, *usual.warnings, *place.warnings, *without_room(request, target, staged))
    why = why_memory(request, target, resources, wall_time_s)
    return PlannedJob(spec, (*usual.decisions, *why, *loose, *place.decisions), warnings)


def _named(words: tuple[Word, ...]) -> tuple[str, ...]:
    """The variables that words expand, with the job's directories also where a shell of theirs does: ``sh -c 'cd $MODAK_SCRATCH'``."""
    text = literal(words)
    return (*variables(words), *(name for name in ("MODAK_SCRATCH", "MODAK_STORAGE") if name in text))


def choose_launcher(request: Request, target: Target, ranks: int) -> tuple[str, str]:
    """The launcher's name, and the reason for it."""
    if by_torchrun(request) and (ranks > 1 or distribution(request)):  # an only rank, too, may read what torchrun sets
        return "torchrun", "launcher: torchrun, one per node, for PyTorch's distributed training"
    if ranks == 1 and beside(target.system):
        return JSRUN, "launcher: jsrun for the only process, because the script does not run on the job's own node"
    preferred = f", as preferred on {target.system.name}" if target.system and target.system.launcher else ""
    usual = (target.system and target.system.launcher) or plugins.find("schedulers", target.scheduler).launcher or USUAL
    if ranks == 1 and usual == "srun" and distribution(request) in ("jax-distributed", "multi-worker"):
        return usual, "launcher: srun for the only rank, too, whose program asks it for the others"
    if ranks == 1:
        return "none", "launcher: none, because there is only one process"
    return usual, f"launcher: {usual} for {ranks} ranks{preferred}"


def _without_ssh(spec: JobSpec, target: Target) -> tuple[JobSpec, tuple[str, ...]]:
    """The job with a launcher that needs no ssh, if the system has none between its nodes."""
    system, scheduler = target.system, plugins.find("schedulers", target.scheduler)
    if system is None or system.ssh_between_nodes is not False or spec.resources.nodes == 1:
        return spec, ()
    if not plugins.find("launchers", spec.launcher).needs_ssh(spec, scheduler):
        return spec, (
            f"ssh: not available between nodes of {system.name}; {spec.launcher} starts its processes through {target.scheduler}",
        )
    other = replace(spec, launcher=scheduler.launcher) if scheduler.launcher else spec
    if plugins.find("launchers", other.launcher).needs_ssh(other, scheduler):
        text = f"{spec.launcher} needs ssh between nodes, which {system.name} does not have; use one node"
        raise Conflict(text, field="job_options.node_count")
    why = f"launcher: {other.launcher}; {spec.launcher} would need ssh between nodes, which {system.name} does not have"
    return other, (why,)


def _on_any_cores(spec: JobSpec, target: Target, *, exclusive: bool) -> tuple[JobSpec, tuple[str, ...]]:
    """The job with nothing bound to cores, if it has a part of its nodes, and only the scheduler may know which. ``exclusive``: it asks for
    its nodes for itself."""
    scheduler = plugins.find("schedulers", target.scheduler)
    has = spec.resources
    cores, there = has.cores_per_node, has.node_cores or 0
    whole = target.gives_whole_nodes or (exclusive and scheduler.exclusive) or 0 < there <= cores
    if whole or target.asks_for_whole_nodes or spec.launcher not in _BIND_THEMSELVES or scheduler.own_cores:
        return spec, ()
    part = f"the job has {cores} of a node's {there} cores" if there else f"a node may have more than the job's {counted(cores, 'core')}"
    why = f"{part}, and what binds itself takes the first ones, as other jobs there may do"
    return replace(spec, resources=changed(has, unbound=True)), (f"binding: none, because {why}",)


def _threads(request: Request, spec: JobSpec, command: tuple[Word, ...], software: Software) -> tuple[Resources, tuple[str, ...]]:
    """The resources of a job with this command, and why OpenMP does not bind its threads, if it does not. On CPUs, the frameworks of the
    catalogue's images are bound, as published."""
    has, found = spec.resources, carrier(request)
    published = found is not None and found.framework != "pytorch" and not has.gpus_per_node and bool(software.image or software.recipe)
    why = "" if published else _loose(request, command, has.ranks)
    if not why:
        return has, ()
    bound = has.threads_per_rank > 1 and not has.unbound and spec.launcher != "torchrun"
    return changed(has, loose_threads=True), (f"threads: not bound to cores, because {why}",) if bound else ()


def _loose(request: Request, command: tuple[Word, ...], ranks: int) -> str:
    """Why OpenMP is not to bind threads: those of the program may not be its own. Wherever it is loaded, with any library, it binds the
    process itself to one core, and all other threads and processes that this starts inherit that. Empty: they are OpenMP's, as those of
    programs with several ranks are taken to be, or the request says how to bind them."""
    said = request.application.app_type == "python" or request.optimisation.app_type in _IN_PYTHON
    if said or is_interpreted(command):
        return "OpenMP would bind a process of Python, R or the like that loads it, and its workers, to one core"
    if ranks > 1 or is_said_distributed(request) or "OMP_PROC_BIND" in _framework_environment(request):
        return ""
    if tells_threads(command):
        return "the command says how many threads or processes there are, and OpenMP would bind those that are not its own to one core"
    if names_openmp(request) or request.application.threads:
        return ""
    return "the request does not say that they are OpenMP's (openmp), which would bind all others to one core"


def _signal(request: Request, wall_time_s: int | None) -> tuple[Signal | None, tuple[Notice, ...]]:
    """The signal before the time limit. A warning if nothing starts the checkpoint, or, instead of the signal, if it would come at once."""
    asked = request.job_options.signal
    if asked is None:
        if not request.application.checkpoint:
            return None, ()
        return None, (Notice(field="application.checkpoint", message="it never runs: set job_options.signal, for instance to USR1@300"),)
    if wall_time_s is None or asked.seconds < wall_time_s:
        return asked, ()
    why = f"a signal {asked.seconds} s before the end does not fit a time limit of {wall_time_s} s: it is left out"
    return None, (Notice(field="job_options.signal", message=why),)


def _constraint(asked: str | None, partition: str | None) -> str | None:
    """The node features of a job: those that the request names and those of the partition. A choice (``|``) replaces the partition's."""
    if not asked or not partition or "|" in asked + partition:
        return asked or partition
    return "&".join(dict.fromkeys((*asked.split("&"), *partition.split("&"))))


def _attributes(request: Request, target: Target, nodes: int, wall_time_s: int | None, signal: Signal | None) -> Attributes:
    options = request.job_options
    said = Attributes(**{each.name: getattr(options, FIELDS[each.name]) for each in fields(Attributes)})
    asked = target.partition_for(nodes, wall_time_s)
    return replace(
        said,
        name=options.job_name or request.application.app_tag or as_name(request.workload_name or "") or "modak",
        queue=asked if target.system else options.queue,
        partition=asked if target.system else options.partition,
        qos=target.qos_for(nodes, wall_time_s),
        wall_time_s=wall_time_s,
        constraint=_constraint(options.architecture_constraint, target.partition.constraint if target.partition else None),
        signal=signal,
    )


def _mpi(target: Target, shape: Shape, own: str | None) -> HostMpi | None:
    """The host's MPI library of the shape, or the system's default. If the ranks use the image's own MPI, of family ``own``, one that can
    start them; ``None``: the system lists none."""
    found = target.mpi_called(shape.mpi)
    if own is None or (found and compatible(own, found.family)):
        return found or target.host_mpi
    listed = (target.host_mpi, *(target.system.mpi if target.system else ()))
    return target.mpi_called(own) or next((mpi for mpi in listed if mpi and compatible(own, mpi.family)), None)


def _container(request: Request, target: Target, shape: Shape, software: Software) -> Container | None:
    """The image and how it runs. The MPI in one that MODAK does not know is the one that the request names, else that of the results."""
    if software.reference is None or target.runtime is None:
        return None
    known = software.image.labels if software.image else software.recipe
    label = mpi_asked(request) or (shape.mpi if shape.mpi_from == "container" else None)
    own_network = distribution(request) in OWN_NETWORK
    return Container(
        runtime=target.runtime.name,
        reference=software.reference,
        file=software.file,
        policy=target.runtime,
        gpu_vendor=software.gpu_vendor,
        host_mpi=bound_mpi(target, shape, request),
        mpi=None if own_network else known.mpi if known else mpi_family(label),
        mpi_version=known.mpi_version if known else None,
        to_build=software.recipe is not None,
        digest=software.image.digest if software.image and "://" not in software.image.reference else None,
    )


def _framework_environment(request: Request) -> Mapping[str, str]:
    """Variables for the request's framework options. They take precedence over those of rules."""
    optimisation = request.optimisation
    asked = dict(optimisation.further)
    if optimisation.framework:
        asked[optimisation.framework] = optimisation.options
    pairs = [plugins.find("frameworks", name).environment(options).items() for name, options in asked.items()]
    return {name: value for items in pairs for name, value in items}


def _values(request: Request, resources: Resources, shape: Shape) -> Mapping[str, str]:
    """Exported variables that rule texts may read, the same for all runs of a configuration."""
    named = request.application.app_tag or request.workload_name
    params = {**parameters(request.optimisation.workload.named), **dict(shape.params)}
    return {
        **({"MODAK_APPLICATION": named} if named else {}),
        "MODAK_NODES": str(resources.nodes),
        "MODAK_RANKS": str(resources.ranks),
        "MODAK_RANKS_PER_NODE": str(resources.ranks_per_node),
        "MODAK_THREADS": str(resources.threads_per_rank),
        **({"MODAK_BATCH_SIZE": str(shape.batch_size)} if shape.batch_size else {}),
        **({variable: params[name] for variable, name in variables_of(params).items()} if params else {}),
    }


def _numa(target: Target, shape: Shape) -> tuple[str, ...]:
    node = target.node
    if node is None or shape.numa_mode is None or shape.numa_mode == node.standard_numa_domains:
        return ()
    standard = node.standard_numa_domains
    return (
        f"NUMA: the layout was measured with {shape.numa_mode} domains per node, but the default is {standard}: ask the site for that mode",
    )
