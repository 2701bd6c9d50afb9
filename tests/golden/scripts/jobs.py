"""The jobs whose scripts stand beside this file, and the systems that they are for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from modak.dsl import Signal
from modak.facts import HostMpi, Node, NumaMode, Partition, RuntimePolicy, Source, System
from modak.jobs.spec import Attributes, BuildSpec, Container, Copy, JobSpec, Report, Resources, RuleText, Staging
from modak.script.build import render_build
from modak.script.job import render
from modak.script.parts import Script
from modak.text.words import Joined, Variable, parse

ANYONE = (Source(fields=("*",), citation="made for these tests"),)

LARGE = System(
    name="large",
    title="a machine like SuperMUC-NG",
    site="somewhere",
    scheduler="slurm",
    cpu_unit="thread",
    partitions=(
        Partition(
            name="general",
            nodes=792,
            max_wall_time_s=48 * 3600,
            node=Node(
                processor="xeon",
                sockets=2,
                cores=48,
                threads_per_core=2,
                memory_gb=96,
                usable_memory_gb=77,
                numa_modes=(NumaMode(domains=2, standard=True), NumaMode(domains=4, constraint="numa4")),
            ),
        ),
    ),
    runtimes=(RuntimePolicy(name="charliecloud", module="charliecloud"),),
    internet=False,
    ssh_between_nodes=False,
    mpi=(
        HostMpi(
            family="intel-mpi",
            version="2019",
            default=True,
            module="intel-mpi/2019",
            pmi="pmi2",
            pmi_library="/usr/lib64/libpmi2.so",
            library_dir_variable="I_MPI_ROOT",
        ),
    ),
    export_policy="NONE",
    mandatory_directives=("--get-user-env",),
    modules=("slurm_setup",),
    sources=ANYONE,
)
TESTBED = System(
    name="testbed",
    title="a machine like the HLRS testbed",
    site="somewhere",
    scheduler="torque",
    partitions=(
        Partition(name="default", nodes=5, node=Node(processor="xeon", sockets=2, cores=20, accelerator="gtx-1080-ti", accelerators=1)),
    ),
    runtimes=(RuntimePolicy(name="singularity", module="singularity", binds=("/scratch",)),),
    internet=True,
    mpi=(HostMpi(family="openmpi", default=True, module="openmpi/4.1", library_dir="/opt/openmpi/lib"),),
    module_init="/etc/profile.d/modules.sh",
    sources=ANYONE,
)
GPUS = System(
    name="gpus",
    title="a GPU cluster",
    site="somewhere",
    scheduler="slurm",
    partitions=(Partition(name="gpu", nodes=64, node=Node(processor="epyc", sockets=2, cores=64, accelerator="a100", accelerators=4)),),
    runtimes=(RuntimePolicy(name="apptainer", version="1.4"),),
    gpu_directive="gres",
    sources=ANYONE,
)

GAN = JobSpec(
    command=parse("python3 3dgan.py --epochs 20 --data '/mnt/0/calo data'"),
    resources=Resources(nodes=24, ranks_per_node=4, threads_per_rank=12, cores_per_rank=12, threads_per_core=2, numa_constraint="numa4"),
    attributes=Attributes(
        name="3dgan", account="pr12ab", partition="general", wall_time_s=4500, notify=("end", "fail"), email="someone@example.org"
    ),
    launcher="srun",
    launcher_flavour="intel-mpi",
    pmi="pmi2",
    container=Container(
        runtime="charliecloud",
        reference="docker://example/3dgan:1.11",
        file="3dgan_1.11.sif",
        policy=LARGE.runtimes[0],
        host_mpi=LARGE.mpi[0],
    ),
    environment={"KMP_BLOCKTIME": "0", "HOROVOD_FUSION_THRESHOLD": "134217728"},
    rules=(RuleText("omni-path", "environment", "export PSM2_MTU=8196\n"),),
    system=LARGE,
    plan_id="0123456789abcdef0123",
)
XLA = JobSpec(
    command=parse("python3 train.py --batch 128"),
    resources=Resources(cores_per_rank=20, threads_per_rank=20, gpus_per_node=1, gpu_vendor="nvidia"),
    attributes=Attributes(
        name="resnet50-tensorflow-xla",
        queue="ssd",
        wall_time_s=30 * 3600,
        notify=("begin", "end", "fail"),
        output="train-%j.log",
        join=True,
    ),
    container=Container(
        runtime="singularity",
        reference="docker://tensorflow/tensorflow:2.1.0-gpu",
        file="tensorflow_2.1.0-gpu.sif",
        policy=TESTBED.runtimes[0],
        gpu_vendor="nvidia",
    ),
    rules=(
        RuleText("xla", "environment", 'export TF_XLA_FLAGS="--tf_xla_auto_jit=2 ${TF_XLA_FLAGS:-}"'),
        RuleText(
            "stage-in",
            "staging",
            'files=("$PWD"/*.tfrecord)\necho "${#files[@]} files"\ncp -- "${files[@]}" {{preferred_storage_location}}/',
        ),
        RuleText("tidy-up", "after", "# the copies are not needed any more\nrm -f -- {{preferred_storage_location}}/*.tfrecord"),
    ),
    system=TESTBED,
    values={"MODAK_STORAGE": "/scratch/ssd", "MODAK_RANKS": "1"},
)
SOLVER = JobSpec(
    command=parse("./solver -i 'input file.dat' -o ${SCRATCH}/out"),
    resources=Resources(nodes=2, ranks_per_node=32, cores_per_rank=2, threads_per_rank=2, memory_per_core=2 * 10**9),
    attributes=Attributes(name="solver", partition="cpu", wall_time_s=3600, copy_variables=("LICENCE",), exclusive=True),
    launcher="srun",
    pre=parse("mkdir -p results"),
    post=parse("tar -cf results.tar results"),
)
TORCH = JobSpec(
    command=parse("python3 -u train.py --model resnet50"),
    resources=Resources(nodes=2, ranks_per_node=4, cores_per_rank=16, threads_per_rank=16, gpus_per_node=4, gpu_vendor="nvidia"),
    attributes=Attributes(name="resnet50", partition="gpu", wall_time_s=7200),
    launcher="torchrun",
    container=Container(
        runtime="apptainer",
        reference="docker://pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime",
        file="pytorch_2.8.0-cuda12.8-cudnn9-runtime.sif",
        policy=GPUS.runtimes[0],
        gpu_vendor="nvidia",
    ),
    system=GPUS,
)
HYBRID = JobSpec(
    command=parse("./lammps -in melt.in"),
    resources=Resources(nodes=2, ranks_per_node=10, cores_per_rank=2, threads_per_rank=2),
    attributes=Attributes(name="lammps", queue="default", wall_time_s=3600),
    launcher="mpirun",
    launcher_flavour="openmpi",
    container=Container(
        runtime="singularity",
        reference="library://example/lammps:2024",
        file="lammps_2024.sif",
        policy=TESTBED.runtimes[0],
        host_mpi=TESTBED.mpi[0],
    ),
    system=TESTBED,
)
SWEEP = replace(
    SOLVER,
    command=parse("python3 sweep.py --case ${SLURM_ARRAY_TASK_ID}"),
    resources=Resources(cores_per_rank=4, threads_per_rank=4, memory_per_node=8 * 10**9),
    attributes=Attributes(
        name="sweep", wall_time_s=600, array="0-99%10", output="logs/%A-%a.out", dependency="afterok:77", begin="2026-12-24T18:00"
    ),
    launcher="none",
    pre=(),
    post=(),
)
LONG = replace(
    SOLVER,
    attributes=replace(SOLVER.attributes, signal=Signal(name="USR1", seconds=120), requeue=True),
    checkpoint=parse("touch 'stop now'"),
    pmi="pmix",
    affinity=True,
    plan_id="0123456789abcdef0123",
    storage=Joined(parts=(Variable(variable="SCRATCH"),)),
    staging=Staging(
        place=Joined(parts=(Variable(variable="SCRATCH"),)),
        shared=True,
        stripes=8,
        into=(Copy(parse("${HOME}/'data sets/mesh'")[0], "in/mesh"), Copy("/data/x", "x")),
        out=(Copy("results", "out"),),
    ),
    report=Report(
        {"application": "solver", "dataset": 'it\'s 50% of "all"', "nodes": 2, "ranks_per_node": 32, "threads_per_rank": 2},
        metric="throughput",
        unit="cells/s",
        pattern="rate: ([0-9.]+) cells/s",
    ),
)
HOROVOD = replace(
    XLA,
    resources=Resources(nodes=2, ranks_per_node=4, cores_per_rank=5, threads_per_rank=5, gpus_per_node=4, gpu_vendor="nvidia"),
    launcher="mpirun",
    launcher_flavour="openmpi",
    launcher_version="4.1",
    distribution="horovod",
    rules=(),
    values={"MODAK_STORAGE": "/scratch/ssd", "MODAK_RANKS": "8"},
)
BESIDE = replace(
    SOLVER,
    resources=Resources(nodes=2, ranks_per_node=4, cores_per_rank=16, gpus_per_node=4, gpu_vendor="nvidia", memory_share=480 * 2**30),
    attributes=Attributes(name="solver", account="m1234", qos="regular", wall_time_s=3600, constraint="gpu", site_resources=("scratch=1",)),
    launcher_options=("--gpu-bind=closest",),
    system=GPUS.model_copy(update={"mandatory_directives": ("--account", "--qos")}),
    pre=(),
    post=(),
)
WITHOUT_SELECT = replace(
    BESIDE,
    launcher="mpirun",
    launcher_flavour="openmpi",
    launcher_options=(),
    attributes=Attributes(
        name="solver", account="ab1", queue="gpuvolta", wall_time_s=3600, site_resources=("storage=gdata/ab1+scratch/ab1",)
    ),
    system=GPUS.model_copy(update={"scheduler": "pbspro", "mandatory_directives": ("-P", "-l wd", "-l storage=")}),
    resource_directives=("-l ncpus={cpus}", "-l ngpus={gpus}", "-l mem={memory_mib}mb"),
)
WHOLE_NODES = replace(
    BESIDE,
    launcher="jsrun",
    launcher_options=(),
    attributes=Attributes(name="solver", account="guests", queue="pbatch", wall_time_s=3600),
    system=GPUS.model_copy(update={"scheduler": "lsf", "launcher": "jsrun", "mandatory_directives": ("-G",)}),
    resource_directives=("-nnodes {nodes}", "-alloc_flags smt4"),
)
BY_TYPE = replace(
    WITHOUT_SELECT,
    launcher_options=parse("-hostfile ${SGE_JOB_HOSTLIST}", names=("SGE_JOB_HOSTLIST",)),
    attributes=Attributes(name="solver", account="gaa50000", wall_time_s=3600),
    system=GPUS.model_copy(
        update={
            "scheduler": "gridengine",
            "mandatory_directives": ("-g",),
            "modules": ("cuda/12.4",),
            "module_paths": ("/apps/modules", "/groups/gaa50000/modules"),
            "module_init": "/etc/profile.d/modules.sh",
        }
    ),
    resource_directives=("-l rt_F={nodes}",),
)
BUSY = replace(SOLVER, resources=Resources(nodes=1, ranks_per_node=8, cores_per_rank=1, threads_per_rank=48, oversubscribed=True))


def placed(runtime: str, **more: Any) -> Container:
    """The image of the PyTorch job under another runtime."""
    assert TORCH.container is not None
    return replace(TORCH.container, runtime=runtime, policy=RuntimePolicy(name=runtime, binds=("/scratch",)), **more)


RECIPE = "FROM ubuntu:24.04\nRUN apt-get update && apt-get install -y --no-install-recommends python3\n"
MADE = BuildSpec(definition=RECIPE, parallelism=64)
SOURCES = BuildSpec(source="https://example.org/code/solver.git", command="make -j {{BUILD_PARALLELISM}} && make 'install'", parallelism=16)

Written = Callable[[], Script]
assert GAN.container is not None
assert LONG.staging is not None
assert LONG.report is not None
SCRIPTS: Mapping[str, Written] = {
    "slurm-srun-charliecloud-host-mpi": partial(render, GAN, "slurm"),
    "slurm-srun-charliecloud-hyperthreads": partial(
        render,
        replace(
            GAN,
            resources=Resources(nodes=4, ranks_per_node=2, threads_per_rank=48, cores_per_rank=24, threads_per_core=2, hyperthreads=True),
            container=replace(GAN.container, host_mpi=None, policy=RuntimePolicy(name="charliecloud", version="0.38")),
        ),
        "slurm",
    ),
    "slurm-mpirun-intel-charliecloud": partial(render, replace(GAN, launcher="mpirun"), "slurm"),
    "torque-singularity-nv": partial(render, XLA, "torque"),
    "torque-mpirun-openmpi-singularity": partial(render, HYBRID, "torque"),
    "slurm-srun-native": partial(render, SOLVER, "slurm"),
    "slurm-mpirun-mpich-native": partial(render, replace(SOLVER, launcher="mpirun", launcher_flavour="mpich"), "slurm"),
    "slurm-torchrun-apptainer": partial(render, TORCH, "slurm"),
    "slurm-torchrun-node-local-results": partial(render, replace(TORCH, staging=Staging(out=(Copy("model", "out"),))), "slurm"),
    "slurm-array": partial(render, SWEEP, "slurm"),
    "slurm-signal-staging-result": partial(render, LONG, "slurm"),
    "slurm-node-local-staging": partial(
        render,
        replace(
            LONG,
            staging=replace(LONG.staging, place=None, shared=False, stripes=None),
            attributes=SOLVER.attributes,
            report=replace(LONG.report, log=parse("${MODAK_SCRATCH}/out/'solver log'")[0]),
        ),
        "slurm",
    ),
    "pbspro-timer-result-array": partial(
        render, replace(LONG, launcher="mpirun", staging=None, attributes=replace(LONG.attributes, array="1-9")), "pbspro"
    ),
    "gridengine-timer": partial(
        render, replace(LONG, launcher="mpirun", launcher_flavour="mpich", report=None, staging=None), "gridengine"
    ),
    "slurm-qos-licences-gpu-bind": partial(render, BESIDE, "slurm"),
    "pbspro-without-select": partial(render, WITHOUT_SELECT, "pbspro"),
    "lsf-jsrun-whole-nodes": partial(render, WHOLE_NODES, "lsf"),
    "gridengine-resource-type": partial(render, BY_TYPE, "gridengine"),
    "slurm-oversubscribed": partial(render, BUSY, "slurm"),
    "torque-horovod-singularity": partial(render, HOROVOD, "torque"),
    "pbspro-torchrun-apptainer": partial(
        render,
        replace(TORCH, launcher_flavour="openmpi", affinity=True),
        "pbspro",
    ),
    "pbspro-torchrun-pals": partial(
        render, replace(TORCH, container=placed("podman-hpc"), system=GPUS.model_copy(update={"launcher": "pals"})), "pbspro"
    ),
    "pbspro-pals-native": partial(
        render, replace(SOLVER, launcher="pals", attributes=replace(SOLVER.attributes, exclusive=None)), "pbspro"
    ),
    "flux-torchrun-charliecloud": partial(render, replace(TORCH, container=placed("charliecloud"), system=None), "flux"),
    "slurm-torchrun-pyxis": partial(render, replace(TORCH, container=placed("enroot")), "slurm"),
    "slurm-srun-podman-hpc": partial(render, replace(TORCH, launcher="srun", container=placed("podman-hpc", mpi="openmpi")), "slurm"),
    "slurm-srun-sarus": partial(render, replace(TORCH, launcher="srun", container=placed("sarus", mpi="mpich")), "slurm"),
    "lsf-jsrun-enroot": partial(render, replace(TORCH, launcher="jsrun", container=placed("enroot"), system=None), "lsf"),
    "flux-run-apptainer": partial(render, replace(TORCH, launcher="flux", system=None), "flux"),
    "shell": partial(render, JobSpec(parse("./solver --quick"), Resources(), Attributes(name="quick")), "shell"),
    "shell-torchrun-one-node": partial(render, replace(TORCH, resources=replace(TORCH.resources, nodes=1), system=None), "shell"),
    "build-image-apptainer": partial(
        render_build, TORCH, BuildSpec(definition="Bootstrap: docker\nFrom: ubuntu:24.04\n", parallelism=64), "slurm"
    ),
    "build-image-charliecloud": partial(render_build, GAN, BuildSpec(definition=RECIPE, parallelism=48), "slurm"),
    "build-image-podman-hpc": partial(render_build, replace(TORCH, container=placed("podman-hpc")), MADE, "slurm"),
    "build-image-sarus": partial(render_build, replace(TORCH, container=placed("sarus")), MADE, "slurm"),
    "build-image-enroot": partial(render_build, replace(TORCH, container=placed("enroot")), MADE, "slurm"),
    "build-application-torque": partial(render_build, HYBRID, SOURCES, "torque"),
    "build-application-native": partial(
        render_build, SOLVER, replace(SOURCES, source="${HOME}/code/solver-2.1.tar.gz", command="./configure\nmake"), "shell"
    ),
}
"""Golden file name -> what writes it."""

if __name__ == "__main__":
    for name, written in SCRIPTS.items():
        (Path(__file__).parent / f"{name}.sh").write_text(written().text)
