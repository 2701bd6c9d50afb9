"""Where a job runs: the request's target, resolved against the known facts of the system.

If the target does not have something, a warning says what is used instead; only a request that cannot be fulfilled at
all raises.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Final, Literal

from modak.dsl import Notice, Request
from modak.errors import RequestError, unknown
from modak.facts import (
    Accelerator,
    Facts,
    HostMpi,
    Node,
    Partition,
    Processor,
    Queue,
    RuntimePolicy,
    System,
    canonical_name,
    canonical_runtime,
    mpi_family,
)
from modak.partition import Where, beyond, closed_to, processors_of, ran_on_gpus, refused, where_of, with_part
from modak.prepared import prepared

_OF_CORES: Final = re.compile(r"\{(?:core|cpu|rank|thread)|-pe ")
"""In a site's words for nodes, what asks for a part of one, as the slots of Grid Engine's parallel environment do."""


@dataclass(frozen=True)
class Target:
    """A place to run. Without a named (or known) system there are no facts, only a scheduler."""

    scheduler: str = "shell"
    name: str | None = None
    """What results call the place: the system's name, or the request's where no facts are known."""
    system: System | None = None
    partition: Partition | None = None
    processor: Processor | None = None
    accelerator: Accelerator | None = None
    runtime: RuntimePolicy | None = None
    """The container runtime and the site's policy on it; ``None``: no containers here."""
    scheduler_partition: str | None = None
    """What the script asks the scheduler for; ``None``: the site's default."""
    qos: str | None = None
    """The quality of service that the request names."""
    closed: tuple[tuple[str, str], ...] = ()
    """The partitions that the job does not get unless it names them, or at all, and why."""
    on_gpus: bool = False
    """Whether all results of the application here are of GPUs, and the request does not say otherwise."""
    decisions: tuple[str, ...] = ()
    warnings: tuple[Notice, ...] = ()

    def mpi_called(self, label: str | None) -> HostMpi | None:
        """The host's MPI that a label such as ``intel-mpi 2019`` means."""
        family = mpi_family(label)
        return next((mpi for mpi in (self.system.mpi if self.system else ()) if mpi.family == family), None)

    def mpi_for(self, label: str | None) -> HostMpi | None:
        """The same, else the system's default MPI."""
        return self.mpi_called(label) or self.host_mpi

    def mpi_from(self, host: HostMpi) -> Literal["host"] | None:
        """Whose MPI ranks use that one of the host's starts; ``None``: that depends on the image."""
        return "host" if self.runtime is None or host.bindable else None

    def partition_for(self, nodes: int, seconds: int | None) -> str | None:
        """The partition that a script for that many nodes and seconds (``None``: any) names; ``None``: the site's default."""
        queue = self.queue_for(nodes, seconds)
        name = self.scheduler_partition or (queue.name if queue else None)
        never = self.system is not None and self.system.partition_directive == "never"
        return None if never and self.partition and name in self.partition.scheduler_names else name

    def qos_for(self, nodes: int, seconds: int | None) -> str | None:
        """The quality of service that a script for that many nodes and seconds (``None``: any) names; ``None``: the site's default."""
        queue = self.queue_for(nodes, seconds)
        return self.qos or (queue.qos if queue else None) or self._usual_qos

    @property
    def _usual_qos(self) -> str | None:
        """The quality of service of jobs in the partition that name none."""
        return self.partition.qos if self.partition and self.is_recorded else None

    @cached_property
    def is_recorded(self) -> bool:
        """Whether the system file has the partition that the script asks for: if not, :attr:`partition` is the default one."""
        asked = self.scheduler_partition
        return self.partition is not None and (asked is None or asked in self.partition.scheduler_names)

    def queue_for(self, nodes: int, seconds: int | None = None) -> Queue | None:
        """The queue that a script for that many nodes and seconds (not given: any) asks for; ``None``: the partition has no queues, or is
        not known."""
        return self.partition.queue_for(self._queues(nodes), seconds) if self.partition and self.is_recorded else None

    def limits_for(self, nodes: int, seconds: int | None) -> Queue | None:
        """The same queue, if a job that asks for it has its limits: not those of another quality of service."""
        queue = self.queue_for(nodes, seconds)
        return queue if queue and queue.qos in (None, self.qos_for(nodes, seconds)) else None

    @cached_property
    def _queues(self) -> Callable[[int], Sequence[Queue]]:
        """The queues for a job of so many nodes: those that the request names, even if they do not take it, else all that do, else the
        nearest. Remembered, because requests of one target ask for the same numbers again and again."""
        partition, requested = self.partition, self._requested_queues

        @lru_cache(maxsize=4096)
        def queues(nodes: int) -> Sequence[Queue]:
            if partition is None:
                return ()
            taking = partition.queues_for(nodes)
            return (
                [queue for queue in requested if queue in taking]
                or requested
                or taking
                or sorted(partition.queues, key=lambda queue: max(queue.min_nodes - nodes, nodes - queue.max_nodes))[:1]
            )

        return queues

    @cached_property
    def _requested_queues(self) -> Sequence[Queue]:
        """The queues that the request names; of those, or of all, the ones with its quality of service, or with that of jobs which name
        none, if there are any."""
        queues = self.partition.queues if self.partition else ()
        named = [queue for queue in queues if queue.name == self.scheduler_partition]
        qos = self.qos or self._usual_qos
        return [queue for queue in named or queues if qos and queue.qos == qos] or named

    @cached_property
    def job_nodes(self) -> tuple[int, int] | None:
        """The fewest and the most nodes of a job in the queues that the request names, else in any; ``None``: unknown."""
        if self.partition is None:
            return None
        most = max((queue.max_nodes for queue in self.queues), default=self.partition.job_nodes)
        return min((queue.min_nodes for queue in self.queues), default=1), min(most, self.partition.job_nodes)

    @property
    def gives_whole_nodes(self) -> bool:
        """Whether each job in the partition is known to get whole nodes."""
        return self.partition is not None and self.partition.whole_nodes is True and self.is_recorded

    @property
    def shares_nodes(self) -> bool:
        """Whether jobs in the partition are known to get the parts of nodes that they ask for."""
        return self.gives_parts or (self.partition is not None and self.partition.whole_nodes is False and self.is_recorded)

    @property
    def asks_for_whole_nodes(self) -> bool:
        """Whether the site's own words for nodes ask for no part of one: without any, it gives whole ones."""
        own = self.partition.resource_directives if self.partition else ()
        required = self.system.mandatory_directives if self.system else ()
        return bool(own and not _OF_CORES.search(" ".join((*own, *required))))

    @property
    def gives_parts(self) -> bool:
        """Whether jobs get parts of nodes, and none for themselves."""
        if self.partition is None or self.node is None or self.whole_node is None or not self.is_recorded:
            return False
        return self.partition.shared_nodes or self.node.usable_cores < self.whole_node.usable_cores

    @property
    def largest_job(self) -> int | None:
        """The most nodes of a job in the partition, whatever its queue; ``None``: the system file does not have the partition."""
        return self.partition.job_nodes if self.partition and self.is_recorded else None

    @property
    def queues(self) -> Sequence[Queue]:
        """The queues that the request names, else all of the partition."""
        return self._requested_queues or (self.partition.queues if self.partition else ())

    def max_wall_time_s(self, nodes: int) -> int | None:
        """Seconds that a job of that many nodes may run, in the queue that is asked for or any that takes it; ``None``: unknown."""
        if self.partition is None:
            return None
        queue = max(self._queues(nodes), key=self.partition.longest_in, default=None)
        return (queue.max_wall_time_s if queue else None) or self.partition.max_wall_time_s

    @cached_property
    def names(self) -> frozenset[str]:
        """All names of the place, folded: see :func:`modak.facts.canonical_name`. A place without a name has the results that name no
        system."""
        return frozenset(self.system.folded_names if self.system else (canonical_name(self.name),))

    @property
    def title(self) -> str:
        """What messages call the place: the system, with its partition where it has several."""
        if self.system is None:
            return "the target"
        several = len(self.system.partitions) > 1
        return f"{self.system.name}/{self.partition.name}" if self.partition and several else self.system.name

    @cached_property
    def node(self) -> Node | None:
        """The kind of node, where known."""
        return self.partition.node if self.partition else None

    @cached_property
    def whole_node(self) -> Node | None:
        """The same with the cores that the partition gives to jobs of any quality of service."""
        names = {one.name: one.node for one in self.system.partitions} if self.system else {}
        return names.get(self.partition.name, self.partition.node) if self.partition else None

    def other_nodes(self, on_gpus: bool) -> frozenset[str]:
        """Names of the system's partitions whose nodes are of another kind: for runs ``on_gpus`` by GPUs, for others by processors."""
        return self._other_nodes[on_gpus]

    @cached_property
    def _other_nodes(self) -> tuple[frozenset[str], frozenset[str]]:
        """:meth:`other_nodes` of runs on processors, and on GPUs: every curve of an application is compared with them."""
        return self._with_other_nodes(on_gpus=False), self._with_other_nodes(on_gpus=True)

    def _with_other_nodes(self, *, on_gpus: bool) -> frozenset[str]:
        def kind(node: Node) -> tuple[object, ...]:
            return (node.accelerator,) if on_gpus else processors_of(node)

        if self.system is None or self.partition is None:
            return frozenset()
        others = (one for one in self.system.partitions if kind(one.node) != kind(self.partition.node))
        return frozenset().union(*(one.scheduler_names for one in others))

    @property
    def allowed_images(self) -> tuple[str, ...]:
        """What references of images begin with that jobs may run there; empty: anything."""
        return self.system.allowed_images if self.system else ()

    def check_place(self, reference: str, kind: Literal["image", "source"], field: str) -> None:
        """Raise :class:`modak.errors.RequestError` for an image or source from where the system's file allows none."""
        allowed = self.allowed_images if kind == "image" else self.system.allowed_sources if self.system else ()
        if allowed and not reference.startswith(allowed):
            raise RequestError(f"{self.title} allows {kind}s from {', '.join(allowed)} only; asked for: {reference}", field=field)

    @cached_property
    def host_mpi(self) -> HostMpi | None:
        """The system's default MPI."""
        if not self.system or not self.system.mpi:
            return None
        return next((mpi for mpi in self.system.mpi if mpi.default), self.system.mpi[0])


def target_key(request: Request, facts: Facts) -> tuple[Hashable, ...]:
    """What the target of a request depends on, beside what is known of systems: the same for requests that have one target."""
    options = request.job_options
    named = (options.partition, options.queue, options.qos, options.architecture_constraint)
    known = prepared(facts)
    system = find_system(request.target.name, facts)
    # Decisions quote the limits of partitions.
    limits = tuple((*refused(request, one), beyond(request, one, system, facts)) for one in system.partitions) if system else ()
    gpus = (options.request_gpus, request.optimisation.opt_build.acc_type, known.ran_on_gpus, known.only_on_gpus)
    return request.target, *named, bool(options.reservation), *gpus, limits


def resolve(request: Request, facts: Facts) -> Target:
    """The target of a request, with what was decided and what was done instead of what the request said."""
    system, unknown_system = _system(request, facts)
    scheduler, other_scheduler = _scheduler(request, system)
    notes = (*unknown_system, *other_scheduler)
    if system is None:
        runtime, why = _runtime_without_facts(request)
        qos = request.job_options.qos
        return Target(scheduler=scheduler, name=request.target.name, runtime=runtime, qos=qos, decisions=why, warnings=notes)
    where = where_of(request, system, facts)
    partition = where.partition
    runtime, why, other_runtime = _runtime(request.target.container_runtime, system)
    found = Target(
        scheduler=scheduler,
        name=system.name,
        system=system,
        partition=partition,
        processor=facts.processors.get(partition.node.processor),
        accelerator=facts.accelerators.get(partition.node.accelerator or ""),
        runtime=runtime,
        scheduler_partition=where.name,
        qos=_as_known(request.job_options.qos, partition),
        closed=tuple(closed_to(request, system).items()),
        on_gpus=request.optimisation.opt_build.acc_type is None and (prepared(facts).only_on_gpus or bool(ran_on_gpus(system, facts))),
        decisions=(*where.why, *_any_of(request, where), *why),
        warnings=(*notes, *where.notes, *other_runtime),
    )
    return replace(found, partition=with_part(partition, found.queues, system))


def _as_known(qos: str | None, partition: Partition) -> str | None:
    """The quality of service as the partition's queues spell it: Slurm reads it in any case."""
    return next((queue.qos for queue in partition.queues if qos and queue.qos and queue.qos.casefold() == qos.casefold()), qos)


def _any_of(request: Request, where: Where) -> tuple[str, ...]:
    """Which qualities of service the partition takes, if neither the request nor the system file says that of the job."""
    there = where.partition
    named = request.job_options.qos or there.qos or any(queue.qos for queue in there.queues)
    if named or not there.allowed_qos or not where.is_recorded:
        return ()
    return (f"qos: none is named, so it is the user's own; partition {there.name} takes {', '.join(there.allowed_qos)} only",)


def uncharged(request: Request, target: Target) -> tuple[Notice, ...]:
    """A warning if the system charges its jobs to projects, or the partition to some of them, and the request names none."""
    only = target.partition.allowed_accounts if target.partition and target.is_recorded else ()
    if request.job_options.account or target.system is None or not (target.system.account_required or only):
        return ()
    default = f"your default is one of {', '.join(only)}" if only else "you have a default project"
    text = f"jobs on {target.title if only else target.system.name} are charged to a project: without one, the job is rejected unless"
    return (Notice(field="job_options.account", message=f"{text} {default}"),)


def unused_image(request: Request, target: Target) -> tuple[Notice, ...]:
    """A warning if the request names an image where jobs have no runtime, or beside the wish for none."""
    image, asked, system = request.application.container_runtime, request.target.container_runtime, target.system
    if image is None or target.runtime is not None:
        return ()
    how = ""
    if asked == "none":
        why = "target.container_runtime is 'none'"
    elif asked is not None or system is None:
        return ()
    elif system.runtimes:
        why = f"{system.name} allows no container runtime"
    else:
        why, how = f"no container runtime is recorded for {system.name}", "; name one in target.container_runtime"
    return (Notice(field="application.container_runtime", message=f"{image} is not used, because {why}{how}"),)


def find_system(name: str | None, facts: Facts) -> System | None:
    """A system by name or alias; underscores and hyphens are the same. ``None``: none is called so, or there is no name."""
    return (facts.systems.get(name) or facts.systems_by_name.get(canonical_name(name))) if name else None


def _system(request: Request, facts: Facts) -> tuple[System | None, tuple[Notice, ...]]:
    name = request.target.name
    system = find_system(name, facts)
    if name is None or system:
        return system, ()
    known = unknown("system", name, facts.systems)
    alone = "" if request.target.job_scheduler_type else " and for a plain shell (set target.job_scheduler_type)"
    describe = "'modak systems detect' on its login node writes its description"
    text = f"{known}; the script is written without knowledge of the system{alone}; {describe}"
    return None, (Notice(field="target.name", message=text),)


def _scheduler(request: Request, system: System | None) -> tuple[str, tuple[Notice, ...]]:
    asked = request.target.job_scheduler_type
    known = system.scheduler if system else None
    if system is None or known is None or asked in (None, known):
        return known or asked or "shell", ()
    message = f"{system.name} uses {known}, not {asked}; the script is written for {known}"
    return known, (Notice(field="target.job_scheduler_type", message=message),)


def _runtime(asked: str | None, system: System) -> tuple[RuntimePolicy | None, tuple[str, ...], tuple[Notice, ...]]:
    """The runtime, why, and a warning if it is not the requested one."""
    first = next((policy for policy in system.runtimes if policy.allowed), None)
    if asked is None:
        return first, _why_first(first, system), ()
    if asked == "none":
        return None, ("runtime: none, as requested",), ()
    if not system.runtimes:
        return RuntimePolicy(name=asked), (f"runtime: {asked}, as requested; {system.name} states no policy",), ()
    same = sorted((p for p in system.runtimes if canonical_runtime(p.name) == canonical_runtime(asked)), key=lambda p: p.name != asked)
    twin = next((policy for policy in same if policy.allowed), None)
    if twin and twin is same[0]:  # the site's word on the very runtime counts before that on its twin
        return twin, (f"runtime: {twin.name}, as requested and allowed on {system.name}",), ()
    chosen = twin or first
    why = (f"runtime: {twin.name}, which runs the images of {asked}",) if twin else _why_first(first, system)
    return chosen, why, (_not_allowed(asked, system, same[0] if same else None, chosen),)


def _why_first(policy: RuntimePolicy | None, system: System) -> tuple[str, ...]:
    if policy is None:
        return (f"runtime: none, because no container runtime is recorded for {system.name}",)
    refused = ", ".join(p.name for p in system.runtimes if not p.allowed)
    others = f" (not allowed: {refused})" if refused else ""
    return (f"runtime: {policy.name} if an image is used, the first that {system.name} allows{others}",)


def _not_allowed(asked: str, system: System, policy: RuntimePolicy | None, chosen: RuntimePolicy | None) -> Notice:
    """A warning that the site's ``policy`` does not allow the requested runtime, and which is used instead."""
    allowed = ", ".join(one.name for one in system.runtimes if one.allowed) or "none"
    used = f"{chosen.name} is used instead" if chosen else "the job runs without a container"
    message = f"{system.name} does not allow {asked}{_policy_text(policy)}; allowed: {allowed}; {used}"
    return Notice(field="target.container_runtime", message=message)


def _policy_text(policy: RuntimePolicy | None) -> str:
    if policy is None:
        return ""
    parts = [part for part in (policy.reason, f"as of {policy.as_of}" if policy.as_of else None) if part]
    return f" ({', '.join(parts)})" if parts else ""


def _runtime_without_facts(request: Request) -> tuple[RuntimePolicy | None, tuple[str, ...]]:
    asked = request.target.container_runtime
    if asked == "none":
        return None, ("runtime: none, as requested",)
    if asked:
        return RuntimePolicy(name=asked), (f"runtime: {asked}, as requested",)
    return RuntimePolicy(name="apptainer"), ("runtime: apptainer if an image is used; no site policy is known",)
