"""What jobs ask for at public centres, by system files of a few lines: the facts, and the options that are expected, are those of the
documentation that is named with each."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import pytest

from modak.facts import Facts, Node, Partition, Queue
from modak.normalise import normalise
from modak.optimise import optimise
from tests.systems import site

SOLVER: Final = {"app_type": "hpc", "hpc": {"config": {"parallelisation": "mpi"}}}
TRAINING: Final = {"app_type": "ai_training", "ai_training": {"pytorch": {"distribution": "ddp"}}}


class Centre(NamedTuple):
    """What its system file says beside the partitions."""

    source: str
    facts: dict[str, Any]
    partitions: tuple[Partition, ...]


def cores(count: int, sockets: int = 2, gpus: int = 0, **more: Any) -> Node:
    """A node; its GPUs are of some kind."""
    return Node(processor="some", sockets=sockets, cores=count, accelerator="some" if gpus else None, accelerators=gpus, **more)


def part(name: str, node: Node, **more: Any) -> Partition:
    """A partition of enough nodes."""
    return Partition(name=name, nodes=1000, node=node, **more)


SMT: Final = {"threads_per_core": 2}
LUMI_G: Final = cores(64, sockets=1, gpus=8, reserved_cores=8, **SMT)
CENTRES: Final = {
    "archer2": Centre(
        "docs.archer2.ac.uk, user guide: scheduler",
        {"cpu_unit": "thread", "partition_directive": "always"},
        (part("standard", cores(128, **SMT), queues=(Queue(name="standard", qos="standard", max_nodes=1000),)),),
    ),
    "lumi": Centre(
        "docs.lumi-supercomputer.eu: LUMI-G example batch scripts, Slurm partitions",
        {"cpu_unit": "thread", "partition_directive": "always"},
        (part("standard-g", LUMI_G, whole_nodes=True, default=True), part("small-g", LUMI_G, max_nodes=4)),
    ),
    "perlmutter": Centre(
        "docs.nersc.gov: example job scripts",
        {"cpu_unit": "thread", "partition_directive": "never"},
        (part("gpu", cores(64, sockets=1, gpus=4, **SMT), constraint="gpu", qos="regular"),),
    ),
    "puhti": Centre(
        "docs.csc.fi: example batch job scripts for Puhti",
        {"partition_directive": "always"},
        (
            part(
                "gpu",
                cores(40, gpus=4, usable_memory_gb=320),
                resource_directives=(
                    *("--nodes={nodes}", "--ntasks-per-node={ranks_per_node}", "--cpus-per-task={cpus_per_task}"),
                    *("--gres=gpu:v100:{gpus_per_node}", "--mem={memory_mib_per_node}M"),
                ),
            ),
        ),
    ),
    "marenostrum5": Centre(
        "www.bsc.es/supportkc: MareNostrum 5",
        {"gpu_directive": "gres", "mandatory_directives": ("--qos",), "partition_directive": "never"},
        (part("acc", cores(80, gpus=4)),),
    ),
    "gadi": Centre(
        "opus.nci.org.au: PBS directives explained",
        {"scheduler": "pbspro", "mandatory_directives": ("-P", "-l storage=", "-l wd"), "partition_directive": "always"},
        (
            part(
                "gpuvolta",
                cores(48, gpus=4, usable_memory_gb=384),
                resource_directives=("-l ncpus={cpus}", "-l ngpus={gpus}", "-l mem={memory_mib}mb"),
            ),
        ),
    ),
    "polaris": Centre(
        "docs.alcf.anl.gov: Polaris, example job scripts",
        {"scheduler": "pbspro", "launcher": "pals", "mandatory_directives": ("-l filesystems=",), "partition_directive": "always"},
        (part("prod", cores(32, sockets=1, gpus=4), resource_directives=("-l select={nodes}:system=polaris", "-l place=scatter")),),
    ),
    "derecho": Centre(
        "ncar-hpc-docs.readthedocs.io: Derecho job script examples",
        {"scheduler": "pbspro", "launcher": "pals", "partition_directive": "always"},
        (
            part(
                "main",
                cores(128),
                resource_directives=("-l select={nodes}:ncpus=128:mpiprocs={ranks_per_node}:ompthreads={threads_per_rank}",),
            ),
        ),
    ),
    "myriad": Centre(
        "www.rc.ucl.ac.uk: example jobscripts",
        {"scheduler": "gridengine", "mandatory_directives": ("-pe smp", "-pe mpi"), "partition_directive": "never"},
        (
            part(
                "all",
                cores(36, gpus=4, usable_memory_gb=180),
                resource_directives=("-l mem={memory_mib_per_cpu}M", "-l gpu={gpus_per_node}"),
            ),
        ),
    ),
    "tsubame4": Centre(
        "www.t4.gsic.titech.ac.jp: user's guide",
        {"scheduler": "gridengine", "partition_directive": "never"},
        (part("node_f", cores(192, gpus=4), resource_directives=("-l node_f={nodes}",)),),
    ),
    "lassen": Centre(
        "hpc.llnl.gov: using LC's Sierra systems",
        {"scheduler": "lsf", "launcher": "jsrun", "mandatory_directives": ("-G",), "partition_directive": "always"},
        (part("pbatch", cores(44, gpus=4, reserved_cores=4), resource_directives=("-nnodes {nodes}",)),),
    ),
    "tuolumne": Centre(
        "hpc.llnl.gov: using El Capitan systems",
        {"scheduler": "flux", "mandatory_directives": ("--bank",), "partition_directive": "always"},
        (part("pbatch", cores(96, sockets=4, gpus=4, reserved_cores=12)),),
    ),
}


def script(name: str, wanted: dict[str, Any], options: dict[str, Any]) -> str:
    """A job's script at a centre."""
    centre = CENTRES[name]
    here = site(centre.partitions[0].node, name=name, **{**centre.facts, "partitions": centre.partitions})
    app = {"executable": "./solver", "app_type": "mpi"} if wanted is SOLVER else {"executable": "train.py", "app_type": "python"}
    job = {"application": app, "target": {"name": name, "container_runtime": "none"}, "optimisation": wanted, "job_options": options}
    return optimise(normalise({"job": job}).request, Facts(version="1", systems={name: here})).texts.job_script


@pytest.mark.parametrize(
    ("name", "wanted", "options", "header", "launch"),
    [
        (
            "archer2",
            SOLVER,
            {"node_count": 4, "process_count_per_node": 8, "core_count_per_process": 16},
            ["--partition=standard", "--qos=standard", "--nodes=4", "--ntasks-per-node=8", "--cpus-per-task=16", "--hint=nomultithread"],
            "srun --nodes=4 --ntasks=32 --ntasks-per-node=8 --cpus-per-task=16 --hint=nomultithread",
        ),
        (
            "lumi",
            SOLVER,
            {"node_count": 16, "process_count_per_node": 8, "request_gpus": 8},
            [
                *("--partition=standard-g", "--nodes=16", "--ntasks-per-node=8", "--cpus-per-task=7", "--hint=nomultithread"),
                "--gpus-per-node=8",
            ],
            "srun --nodes=16 --ntasks=128",
        ),
        (
            "lumi",
            TRAINING,
            {"node_count": 1, "request_gpus": 1},
            [
                *("--partition=small-g", "--nodes=1", "--ntasks-per-node=1", "--cpus-per-task=7", "--hint=nomultithread"),
                "--gpus-per-node=1",
            ],
            "torchrun --nnodes=1 --nproc-per-node=1",
        ),
        (
            "perlmutter",
            TRAINING,
            {"node_count": 4, "request_gpus": 4},
            [
                *("--qos=regular", "--nodes=4", "--ntasks-per-node=1", "--cpus-per-task=64", "--hint=nomultithread", "--gpus-per-node=4"),
                "--constraint=gpu",
            ],
            "srun --nodes=4 --ntasks=4 --ntasks-per-node=1 --cpus-per-task=64",
        ),
        (
            "puhti",
            TRAINING,
            {"node_count": 1, "request_gpus": 1},
            ["--partition=gpu", "--nodes=1", "--ntasks-per-node=1", "--cpus-per-task=10", "--gres=gpu:v100:1", "--mem=76293M"],
            "torchrun --nnodes=1",
        ),
        (
            "marenostrum5",
            TRAINING,
            {"node_count": 2, "request_gpus": 4, "qos": "acc_ehpc"},
            ["--qos=acc_ehpc", "--nodes=2", "--ntasks-per-node=1", "--cpus-per-task=80", "--gres=gpu:4"],
            "srun --nodes=2",
        ),
        (
            "gadi",
            TRAINING,
            {"node_count": 1, "request_gpus": 1, "account": "a00", "site_resources": ["storage=gdata/a00"]},
            ["-P a00", "-q gpuvolta", "-l ncpus=12", "-l ngpus=1", "-l mem=91552mb", "-l storage=gdata/a00", "-l wd"],
            "torchrun --nnodes=1",
        ),
        (
            "polaris",
            SOLVER,
            {"node_count": 2, "process_count_per_node": 4, "request_gpus": 4, "site_resources": ["filesystems=home:eagle"]},
            ["-q prod", "-l select=2:system=polaris", "-l place=scatter", "-l filesystems=home:eagle"],
            "mpiexec -n 8 --ppn 4 --depth 8 --cpu-bind depth",
        ),
        (
            "derecho",
            SOLVER,
            {"node_count": 2, "process_count_per_node": 32, "core_count_per_process": 4},
            ["-q main", "-l select=2:ncpus=128:mpiprocs=32:ompthreads=4"],
            "mpiexec -n 64 --ppn 32 --depth 4 --cpu-bind depth",
        ),
        (
            "myriad",
            TRAINING,
            {"node_count": 1, "request_gpus": 1},
            ["-l mem=4768M", "-l gpu=1", "-cwd", "-pe smp 9"],
            "torchrun --nnodes=1",
        ),
        (
            "tsubame4",
            TRAINING,
            {"node_count": 4, "request_gpus": 4},
            ["-l node_f=4", "-cwd"],
            "mpirun -n 4 --map-by ppr:1:node --bind-to none",
        ),
        (
            "lassen",
            SOLVER,
            {"node_count": 4, "process_count_per_node": 4, "request_gpus": 4, "account": "guests"},
            ["-G guests", "-q pbatch", "-nnodes 4", "-o modak.%J.out"],
            "jsrun -n 4 -r 1 -a 4 -c 40 -g 4 -d packed -b packed:10",
        ),
        (
            "tuolumne",
            SOLVER,
            {"node_count": 16, "process_count_per_node": 4, "core_count_per_process": 21, "account": "guests"},
            ["--bank=guests", "--queue=pbatch", "--nodes=16", "--nslots=16", "--cores-per-slot=84"],
            "flux run -N 16 -n 64 -c 21",
        ),
    ],
)
def test_jobs_ask_a_centre_in_its_words(name: str, wanted: Any, options: dict[str, Any], header: list[str], launch: str) -> None:
    """And start as many ranks, on as many cores, as it tells its users to."""
    lines = script(name, wanted, options).splitlines()
    prefixes = ("#SBATCH ", "#PBS ", "#$ ", "#BSUB ", "# flux: ")
    said = [line.removeprefix(prefix) for line in lines for prefix in prefixes if line.startswith(prefix)]
    usual = ("-S ", "-N ", "-J ", "--job-name=")
    assert [option for option in said if not option.startswith(usual)] == header
    assert any(line.startswith(launch) for line in lines), "\n".join(lines[-12:])
