"""The chosen configuration as one job, independent of any scheduler."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from packaging.version import Version

from modak import plugins
from modak.choosing.shapes import Shape
from modak.choosing.software import Software, bound_mpi, gpu_vendor
from modak.choosing.wishes import DEEPSPEED, by_torchrun, distribution
from modak.dsl import Notice, Request
from modak.errors import Conflict
from modak.facts import HostMpi, mpi_family
from modak.jobs.placing import report, staging, storage
from modak.jobs.spec import Attributes, BuildSpec, Container, JobSpec, Resources, Signal
from modak.jobs.starters import is_script, starter, without_starter
from modak.launchers.plain import OWN, USUAL
from modak.target import Target
from modak.text.words import Joined, Variable, Word, line
from modak.tuning.setting import exported, option_words

TORCHRUN_SINCE: Final = Version("1.10")


@dataclass(frozen=True)
class Job:
    """A job, and what was decided on the way to it."""

    spec: JobSpec
    decisions: tuple[str, ...] = ()
    warnings: tuple[Notice, ...] = ()


def job_of(
    request: Request, target: Target, shape: Shape, nodes: int, software: Software, *, wall_time_s: int | None = None, plan_id: str = ""
) -> Job:
    """The job of a chosen shape on a number of nodes."""
    resources = _resources(request, target, shape, nodes)
    launcher, why = choose_launcher(request, target, resources.ranks)
    mpi = _mpi(target, shape)
    command, missing = _command(request, launcher)
    place = storage(request, target, software)
    signal, early = _signal(request, wall_time_s)
    spec = JobSpec(
        command=command,
        resources=resources,
        attributes=_attributes(request, target, nodes, wall_time_s, signal),
        launcher=launcher,
        launcher_flavour=mpi.family if mpi else mpi_family(shape.mpi) or shape.mpi,
        launcher_version=mpi.version if mpi else None,
        pmi=mpi.pmi if mpi else None,
        container=_container(target, software, bound_mpi(target, shape, request)),
        environment={**software.rules.environment, **_framework_environment(request), **exported(request)},
        modules=(*((mpi.module,) if mpi and mpi.module else ()), *software.rules.modules),
        rules=software.rules.texts,
        pre=request.application.pre_execution,
        post=request.application.post_execution,
        checkpoint=request.application.checkpoint,
        system=target.system,
        plan_id=plan_id,
        values=_values(request, resources),
        preflight=request.application.preflight,
        affinity=request.application.preflight,
        distribution=distribution(request),
        storage=place.place,
        staging=staging(request, target, nodes, software),
        report=report(request, target, shape, nodes, software),
    )
    spec, ssh = _without_ssh(spec, target)
    return Job(
        spec,
        (why, *ssh, *_numa(target, shape), *place.decisions),
        (*missing, *early, *_too_old(spec, software), *_own_layer(request, software), *_unlisted(target, shape, spec), *place.warnings),
    )


def build_of(request: Request, spec: JobSpec, definition: str) -> BuildSpec | None:
    """What is made before the job can run: the image of a recipe, the application of given sources; ``None``: nothing."""
    build = request.application.build
    if not definition and (build is None or not (build.src or build.build_command)):
        return None
    return BuildSpec(
        definition=definition,
        source=build.src if build else None,
        command=(build.build_command if build else None) or "",
        parallelism=(build.build_parallelism if build else None) or spec.resources.cores_per_node,
    )


def definition_of(software: Software, target: Target) -> tuple[str, str]:
    """Text and file name of the recipe that the plan carries; empty where the image is there."""
    if software.recipe is None or target.runtime is None:
        return "", ""
    return software.recipe.text(target.runtime.name)


def choose_launcher(request: Request, target: Target, ranks: int) -> tuple[str, str]:
    """The launcher's name, and why it."""
    if ranks == 1:
        return "none", "launcher: none, because there is only one process"
    if by_torchrun(request):
        return "torchrun", "launcher: torchrun, one per node, for PyTorch's distributed training"
    if target.system and target.system.launcher:
        return target.system.launcher, f"launcher: {target.system.launcher} for {ranks} ranks, as preferred on {target.system.name}"
    usual = OWN.get(target.scheduler, USUAL)
    return usual, f"launcher: {usual} for {ranks} ranks"


def _too_old(spec: JobSpec, software: Software) -> tuple[Notice, ...]:
    """A warning where the image has no torchrun yet."""
    version = software.framework_version
    if spec.launcher != "torchrun" or version is None or Version(version) >= TORCHRUN_SINCE:
        return ()
    why = f"the image has PyTorch {version}, but torchrun needs {TORCHRUN_SINCE} or later: the job cannot start"
    return (Notice(field="optimisation.options.version", message=f"{why}; use a later version, or Horovod"),)


def _own_layer(request: Request, software: Software) -> tuple[Notice, ...]:
    """A warning where a recipe makes the image, and none brings the layer that is asked for."""
    if software.recipe is None or distribution(request) != DEEPSPEED:
        return ()
    return (
        Notice(field="optimisation.options.distribution", message="the recipe does not install DeepSpeed: the application must provide it"),
    )


def _unlisted(target: Target, shape: Shape, spec: JobSpec) -> tuple[Notice, ...]:
    """A warning where the layout's MPI is none that the system's file lists: launcher and modules are then those of another."""
    usual, label = target.host_mpi, shape.mpi
    if usual is None or label is None or spec.launcher in ("none", "torchrun") or target.mpi_called(label):
        return ()
    called = f"{usual.family} {usual.version or ''}".strip()
    text = f"the system file of {target.title} does not list {label} ([[mpi]]): the job is set up for its default, {called}"
    return (Notice(field="target.name", message=text),)


def _without_ssh(spec: JobSpec, target: Target) -> tuple[JobSpec, tuple[str, ...]]:
    """The job with a launcher that needs no ssh, where the system has none between its nodes."""
    system, scheduler = target.system, plugins.find("schedulers", target.scheduler)
    if system is None or system.ssh_between_nodes is not False:
        return spec, ()
    if not plugins.find("launchers", spec.launcher).needs_ssh(spec, scheduler):
        return spec, (
            f"ssh: not available between nodes of {system.name}; {spec.launcher} starts its processes through {target.scheduler}",
        )
    if target.scheduler != "slurm":
        text = f"{spec.launcher} needs ssh between nodes, which {system.name} does not have; use one node"
        raise Conflict(text, field="job_options.node_count")
    why = f"launcher: srun; {spec.launcher} would need ssh between nodes, which {system.name} does not have"
    return replace(spec, launcher="srun"), (why,)


def _resources(request: Request, target: Target, shape: Shape, nodes: int) -> Resources:
    node, options = target.node, request.job_options
    per_core = node.threads_per_core if node else 1
    cores = shape.cores_per_rank(per_core)
    mode = next((mode for mode in node.numa_modes if mode.domains == shape.numa_mode), None) if node else None
    return Resources(
        nodes=nodes,
        ranks_per_node=shape.ranks_per_node,
        threads_per_rank=shape.threads_per_rank,
        cores_per_rank=cores,
        gpus_per_node=shape.gpus_per_node,
        gpu_vendor=gpu_vendor(request, target, shape),
        hyperthreads=shape.hyperthreads,
        threads_per_core=per_core,
        numa_domains=shape.numa_mode,
        numa_constraint=mode.constraint if mode and not mode.standard else None,
        memory_per_node=options.memory_limit,
        memory_per_core=options.minimum_memory_per_processor,
        whole_node=bool(node) and shape.ranks_per_node * cores == (node.cores if node else 0),
        oversubscribed=_oversubscribed(target, shape),
        node_cores=node.cores if node else None,
        total_ranks=total_ranks(request, shape, nodes),
    )


def _oversubscribed(target: Target, shape: Shape) -> bool:
    """Whether a node has too few hardware threads for its ranks' threads, or too few cores where its scheduler gives each rank its own."""
    node = target.node
    if node is None:
        return False
    by_thread = target.system is not None and target.system.cpu_unit == "thread"
    cores = shape.ranks_per_node * shape.cores_per_rank(node.threads_per_core)
    return shape.ranks_per_node * shape.threads_per_rank > node.cores * node.threads_per_core or (not by_thread and cores > node.cores)


def total_ranks(request: Request, shape: Shape, nodes: int) -> int | None:
    """The ranks that the request gives, where its nodes do not divide them evenly."""
    asked = request.application.mpi_ranks
    return asked if asked and asked < nodes * shape.ranks_per_node else None


def _signal(request: Request, wall_time_s: int | None) -> tuple[Signal | None, tuple[Notice, ...]]:
    """The signal before the time limit, and a warning where the limit is too short for it: at its start it would end the job."""
    asked = request.job_options.signal
    if asked is None or wall_time_s is None or asked.seconds < wall_time_s:
        return Signal(asked.name, asked.seconds) if asked else None, ()
    why = f"a signal {asked.seconds} s before the end does not fit a time limit of {wall_time_s} s: it is left out"
    return None, (Notice(field="job_options.signal", message=why),)


def _attributes(request: Request, target: Target, nodes: int, wall_time_s: int | None, signal: Signal | None) -> Attributes:
    options, application = request.job_options, request.application
    named = target.system is not None
    asked = target.asks_for(nodes, wall_time_s)
    return Attributes(
        name=options.job_name or application.app_tag or "modak",
        account=options.account,
        queue=asked if named else options.queue,
        partition=asked if named else options.partition,
        wall_time_s=wall_time_s,
        constraint=options.architecture_constraint or (target.partition.constraint if target.partition else None),
        node_list=options.request_specific_nodes,
        array=options.job_array,
        output=options.standard_output_file,
        error=options.standard_error_file,
        join=options.combine_stdout_stderr,
        notify=options.request_event_notification,
        email=options.email_address,
        dependency=options.job_dependency,
        begin=options.defer_job,
        exclusive=options.node_exclusive,
        requeue=options.requeue,
        signal=signal,
        copy_environment=options.copy_environment,
        copy_variables=options.copy_environment_variable,
    )


def _command(request: Request, launcher: str) -> tuple[tuple[Word, ...], tuple[Notice, ...]]:
    """The application's words. Without any, the variable ``MODAK_COMMAND``, which stops the script where it is not set."""
    if request.application.command:
        command, notices = _started_once(request.application.command, launcher)
        return (*_interpreted(command, request, launcher), *option_words(request)), notices
    text = "no executable is given; the script runs the command in the variable MODAK_COMMAND, and stops if it is not set"
    return (Joined(parts=(Variable(variable="MODAK_COMMAND"),)),), (Notice(field="application.executable", message=text),)


def _interpreted(command: tuple[Word, ...], request: Request, launcher: str) -> tuple[Word, ...]:
    """The command with ``python3`` before a script of Python's: no shell finds ``train.py``, and torchrun alone takes it as it is."""
    script = is_script(command[0]) and request.application.app_type in ("python", None)
    return ("python3", *command) if script and launcher != "torchrun" else command


def _started_once(command: tuple[Word, ...], launcher: str) -> tuple[tuple[Word, ...], tuple[Notice, ...]]:
    """The command without a launcher of its own where torchrun starts the ranks; beside another launcher a warning."""
    program = starter(command)
    if program is None or launcher == "none":
        return command, ()
    found = without_starter(command, program) if launcher == "torchrun" else None
    bare, out = found or (command, ())
    how = f"the script starts the ranks with {launcher}, and each rank would run {program} again"
    done = f"{line(out)!a:.200} is left out" if out else "give the program without it"
    return bare, (Notice(field="application.executable", message=f"{how}: {done}"),)


def _mpi(target: Target, shape: Shape) -> HostMpi | None:
    """The host's MPI library that the shape means; the system's default where it names none."""
    if target.system is None:
        return None
    return target.mpi_called(shape.mpi) or target.host_mpi


def _container(target: Target, software: Software, bound: HostMpi | None) -> Container | None:
    if software.reference is None or target.runtime is None:
        return None
    labels = software.image.labels if software.image else None
    return Container(
        runtime=target.runtime.name,
        reference=software.reference,
        file=software.file,
        policy=target.runtime,
        gpu_vendor=software.gpu_vendor,
        host_mpi=bound,
        mpi=labels.mpi if labels else None,
        mpi_version=labels.mpi_version if labels else None,
        to_build=software.recipe is not None,
        digest=software.image.digest if software.image and "://" not in software.image.reference else None,
    )


def _framework_environment(request: Request) -> Mapping[str, str]:
    """What the request's own options ask for; it goes before rules, which know the request less well."""
    optimisation = request.optimisation
    asked = dict(optimisation.further)
    if optimisation.framework:
        asked[optimisation.framework] = optimisation.options
    pairs = [plugins.find("frameworks", name).environment(options).items() for name, options in asked.items()]
    return {name: value for items in pairs for name, value in items}


def _values(request: Request, resources: Resources) -> Mapping[str, str]:
    """What rule texts may read as exported variables."""
    build = request.application.build
    values = {
        "MODAK_APPLICATION": request.application.app_tag,
        "MODAK_NODES": str(resources.nodes),
        "MODAK_RANKS": str(resources.ranks),
        "MODAK_RANKS_PER_NODE": str(resources.ranks_per_node),
        "MODAK_THREADS": str(resources.threads_per_rank),
        "BUILD_PARALLELISM": str(build.build_parallelism) if build and build.build_parallelism else None,
    }
    return {name: value for name, value in values.items() if value}


def _numa(target: Target, shape: Shape) -> tuple[str, ...]:
    node = target.node
    if node is None or shape.numa_mode is None or shape.numa_mode == node.standard_numa_domains:
        return ()
    standard = node.standard_numa_domains
    return (
        f"NUMA: the layout was measured with {shape.numa_mode} domains per node, but the default is {standard}: ask the site for that mode",
    )
