"""Every scheduler with every launcher, runtime and kind of job: what fits together, as jobs to write scripts for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from modak import plugins
from modak.dsl import Signal
from modak.facts import RuntimePolicy
from modak.jobs.spec import Attributes, Container, Copy, JobSpec, Report, Resources, Staging
from modak.text.words import parse

GPUS: dict[str, Any] = {"gpus_per_node": 2, "gpu_vendor": "nvidia"}
KINDS: dict[str, Resources] = {
    "cpu": Resources(cores_per_rank=4, threads_per_rank=4),
    "gpu": Resources(cores_per_rank=4, threads_per_rank=4, **GPUS),
    "mpi": Resources(nodes=2, ranks_per_node=8),
    "hybrid": Resources(nodes=2, ranks_per_node=4, cores_per_rank=12, threads_per_rank=24, threads_per_core=2, hyperthreads=True),
    "torchrun": Resources(nodes=2, ranks_per_node=2, cores_per_rank=8, threads_per_rank=8, **GPUS),
    "horovod": Resources(nodes=2, ranks_per_node=2, cores_per_rank=8, threads_per_rank=8, **GPUS),
    "array": Resources(cores_per_rank=2, threads_per_rank=2),
}
LAUNCHERS: dict[str, tuple[str, str | None]] = {
    **{name: (name, {"srun": "openmpi", "pals": "mpich"}.get(name)) for name in plugins.names("launchers") if name != "mpirun"},
    "mpirun-openmpi": ("mpirun", "openmpi"),
    "mpirun-mpich": ("mpirun", "mpich"),
    "mpirun-intel": ("mpirun", "intel-mpi"),
}
"""What a launcher is called here: its name, and its MPI family."""
RUNTIMES = plugins.names("runtimes")
SCHEDULERS = plugins.names("schedulers")


def job_of(launcher: str, runtime: str, kind: str) -> JobSpec:
    """The job of a cell; all that a script can have at once is in the last kinds."""
    name, flavour = LAUNCHERS[launcher]
    image = Container(runtime=runtime, reference="docker://library/solver:1.0", file="solver_1.0.sif", policy=_policy(runtime))
    has = KINDS[kind]
    job = JobSpec(
        command=parse("python3 train.py --data 'a b' ${SCRATCH}/in" if kind in {"torchrun", "horovod"} else "./solve -i 'a b'"),
        resources=has,
        attributes=Attributes(name=f"{kind}-job", partition="paper", wall_time_s=3600),
        launcher=name,
        launcher_flavour=flavour,
        pmi={"openmpi": "pmix", "mpich": "pmi2"}.get(flavour or "") if name == "srun" else None,
        container=None if runtime == "none" else replace(image, gpu_vendor=has.gpu_vendor, mpi=flavour),
        distribution="horovod" if kind == "horovod" else None,
        affinity=True,
    )
    return _more(job, kind)


def _policy(runtime: str) -> RuntimePolicy:
    return RuntimePolicy(name=runtime, binds=("/scratch",), version="0.31" if runtime == "charliecloud" else None)


def _more(job: JobSpec, kind: str) -> JobSpec:
    """Arrays, signals, staging and results, where the kind is about a script's other parts."""
    report = Report({"application": "solve", "nodes": 1}, "throughput", "samples/s", "rate: ([0-9.]+)")
    if kind == "array":
        return replace(job, attributes=replace(job.attributes, array="1-9"), report=report, plan_id="matrix")
    if kind == "cpu":
        staging = Staging(place="/scratch", shared=True, stripes=4, into=(Copy("data", "data"),), out=(Copy("out", "out"),))
        signal = replace(job.attributes, signal=Signal(name="USR1", seconds=120), requeue=True)
        return replace(job, attributes=signal, staging=staging, checkpoint=parse("touch stop"), report=report, plan_id="matrix")
    return job


def cells() -> Iterator[tuple[str, str, str, str]]:
    """Scheduler, launcher, runtime, kind; torchrun and its kind belong together."""
    for kind in KINDS:
        for launcher in LAUNCHERS:
            if (launcher == "torchrun") == (kind == "torchrun"):
                yield from ((scheduler, launcher, runtime, kind) for scheduler in SCHEDULERS for runtime in RUNTIMES)


def fits(scheduler: str, launcher: str, kind: str) -> bool:
    """Whether the launcher says that it can start that kind of job there."""
    job = job_of(launcher, "none", kind)
    return not plugins.find("launchers", job.launcher).unfit(job, plugins.find("schedulers", scheduler))


FITTING = tuple(cell for cell in cells() if fits(cell[0], cell[1], cell[3]))
