"""The part of a node that a job takes where jobs share nodes: what node-hours and all that follows from them count."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from modak.facts import Facts, Node, Partition, Queue
from modak.nextruns import MeasurementPlan, next_runs
from modak.optimise import Answer, optimise
from modak.perfmodel import fit
from modak.text.choices import configuration
from tests.choosing.asked import asked
from tests.runs import ran
from tests.systems import site

NODE = Node(
    processor="any", sockets=2, cores=64, memory_gb=256, usable_memory_gb=240, accelerator="a100-sxm4-40gb", accelerators=4, power_w=500
)
FOUR = {"node_count": 1, "process_count_per_node": 4}
SECONDS = {1: 20000.0, 4: 5400.0, 16: 1700.0, 64: 900.0}
"""What a program takes that uses the last cores of a node badly, by its ranks; on more nodes it scales nearly perfectly."""


def sharing(scheduler: str = "slurm", whole: bool | None = False, **fields: Any) -> Facts:
    """A site whose jobs share nodes of 64 cores and 4 GPUs, unless ``whole`` says otherwise."""
    partition = Partition(name="main", nodes=8, node=NODE, whole_nodes=whole, price_per_node_hour=2.0, **fields)
    system = site(NODE, scheduler=scheduler, partitions=(partition,))
    runs = [ran(seconds, system="site", nodes=1, ranks_per_node=ranks, threads_per_rank=1) for ranks, seconds in SECONDS.items()]
    runs += [ran(seconds, system="site", nodes=nodes, ranks_per_node=64, threads_per_rank=1) for nodes, seconds in ((2, 470.0), (4, 250.0))]
    return Facts(version="", systems={"site": system}, models=fit(runs))


def of(facts: Facts, options: dict[str, Any] | None = None, threads: int = 1, **fields: Any) -> Answer:
    """The answer to an MPI program of so many threads a rank."""
    program: dict[str, Any] = {"app_type": "mpi", "executable": "./solver", "threads": threads}
    document: dict[str, Any] = {"application__" + name: value for name, value in program.items()}
    return optimise(asked("site", **document, job_options=options or {}, **fields), facts)


CORES = {
    "slurm": "--ntasks-per-node=4",
    "pbspro": "ncpus=4:",
    "torque": "ppn=4",
    "lsf": "-n 4",
    "flux": "--cores-per-slot=4",
    "gridengine": "-pe smp 4",
}
GPUS = {"slurm": "--gpus-per-node=1", "pbspro": "ngpus=1", "torque": "gpus=1", "lsf": "num=1", "flux": "--gpus", "gridengine": "gpu=1"}
MEMORY = {
    "slurm": "--mem=114440M",
    "pbspro": "mem=114440mb",
    "torque": "mem=114440mb",
    "lsf": "mem=114440MB",
    "gridengine": "h_vmem=28610M",
}
ALONE = {"slurm": "--exclusive", "pbspro": "exclhost", "torque": "-n", "lsf": "-x", "flux": "--exclusive"}
ASKED = [
    *[(name, {}, word, 4 / 64) for name, word in CORES.items()],
    *[(name, {"request_gpus": 1}, word, 1 / 4) for name, word in GPUS.items()],
    *[(name, {"memory_limit": "120 GB"}, word, 1 / 2) for name, word in MEMORY.items()],
    *[(name, {"node_exclusive": True}, word, None) for name, word in ALONE.items()],
    ("gridengine", {"node_exclusive": True}, CORES["gridengine"], 4 / 64),  # it has no option for that
    ("flux", {"memory_limit": "120 GB"}, CORES["flux"], 4 / 64),  # it gives no memory
    ("shell", {"memory_limit": "120 GB"}, "#!", 4 / 64),
    ("slurm", {"core_count_per_process": 8}, "--cpus-per-task=8", 1 / 2),
    ("slurm", {"minimum_memory_per_processor": "30 GB"}, "--mem-per-cpu=28610M", 1 / 2),
    ("slurm", {"process_count_per_node": 64}, "--ntasks-per-node=64", None),
    ("slurm", {"process_count_per_node": 128}, "--exclusive", None),
]


@pytest.mark.parametrize(("scheduler", "options", "word", "share"), ASKED)
def test_what_a_script_asks_for_is_the_part_that_is_counted(
    scheduler: str, options: dict[str, Any], word: str, share: float | None
) -> None:
    """The largest of the parts of cores, GPUs and memory; of a node for itself all."""
    found = of(sharing(scheduler), {**FOUR, **options})
    head = [line for line in found.texts.job_script.split("\n# written")[0].splitlines() if line.startswith("#")]
    assert any(word in line for line in head), head
    assert found.plan.node_share == share


@pytest.mark.parametrize(
    ("scheduler", "options", "share"),
    [
        ("torque", {"memory_limit": "120 GB"}, 4 / 64),
        ("torque", {"minimum_memory_per_processor": "30 GB"}, 1 / 2),
        ("slurm", {"memory_limit": "120 GB"}, 1 / 2),
    ],
)
def test_memory_that_a_script_cannot_ask_for_on_several_nodes_is_not_counted(scheduler: str, options: dict[str, Any], share: float) -> None:
    """Torque's ``mem`` is for jobs of one node: the request's is left out, with a warning."""
    found = of(sharing(scheduler), {**FOUR, "node_count": 2, **options})
    assert (found.plan.configuration.nodes, found.plan.node_share) == (2, share)
    (line,) = (line for line in found.plan.decisions if line.startswith("part of a node: "))
    assert line.startswith("part of a node: 4 of 64 cores") == (share == 4 / 64)


LIMITED = (Queue(name="main", min_nodes=1, max_nodes=8, max_memory_per_node_gb=60),)


@pytest.mark.parametrize(
    ("fields", "work", "share"),
    [
        ({}, {}, 4 / 64),
        ({"whole": True}, {}, None),
        ({"whole": None}, {}, None),
        ({"whole": None, "shared_nodes": True}, {}, 4 / 64),
        ({"resource_directives": ("--nodes={nodes}",)}, {}, None),
        ({"resource_directives": ("-n {ranks}",)}, {"memory_per_rank_gb": 30}, 4 / 64),
        ({"resource_directives": ("-n {ranks}", "--mem={memory_mib_per_node}M")}, {"memory_per_rank_gb": 30}, 1 / 2),
        ({"default_memory_per_cpu_gb": 3.75}, {"memory_per_rank_gb": 30}, 1 / 2),
        ({}, {"memory_per_rank_gb": 30}, 4 / 64),
        ({"default_memory_gb": 250.0}, {}, None),
        ({"default_memory_gb": 120.0}, {}, 1 / 2),
        ({"default_memory_per_cpu_gb": 30.0}, {}, 1 / 2),
        ({"queues": LIMITED}, {}, 1 / 4),
        ({"queues": LIMITED, "resource_directives": ("-n {ranks}", "--mem={memory_mib_per_node}M")}, {}, 4 / 64),
        ({"queues": LIMITED, "resource_directives": ("-n {ranks}",)}, {}, 4 / 64),
    ],
)
def test_the_partition_says_whether_jobs_share_nodes_and_their_memory(
    fields: dict[str, Any], work: dict[str, Any], share: float | None
) -> None:
    """Unless it is known that they do, whole nodes count. Memory counts where the script asks for it, because the job needs more than goes
    with its cores, would get more than a job may have, or may have some and nothing tells what it would get; and where the scheduler gives
    it to a job that asks for none."""
    assert of(sharing(**fields), FOUR, optimisation={"workload": work}).plan.node_share == share


def test_all_that_a_job_is_charged_for_counts_the_part() -> None:
    """For 90 minutes on 4 of 64 cores of a node of 500 W and 2 an hour."""
    plan = of(sharing(), FOUR).plan
    assert [plan.node_hours, plan.core_hours, plan.energy_kwh, plan.cost] == pytest.approx([1.5 / 16, 6.0, 0.75 / 16, 3 / 16], rel=1e-3)
    assert plan.gpu_hours is None
    assert configuration(plan.model_dump(mode="json"))["node-hours"].startswith("0.0938 (6 core-hours, 6.2% of a node; 90% interval ")


def test_gpu_hours_are_told_of_a_job_with_gpus() -> None:
    """One of four, for as long as the job runs."""
    runs = [ran(7200.0, system="site", nodes=1, ranks_per_node=1, threads_per_rank=16, gpus_per_node=1)]
    facts = sharing()
    plan = of(Facts(version="", systems=facts.systems, models=fit(runs)), {"request_gpus": 1, "node_count": 1}, threads=16).plan
    assert [plan.node_share, plan.gpu_hours, plan.core_hours] == pytest.approx([0.25, 2.0, 32.0])
    assert any(line.startswith("part of a node: 1 of 4 GPUs (25%), which") for line in plan.decisions)


@pytest.mark.parametrize(
    ("whole", "objective", "chosen"),
    [
        (False, {"minimise": "node_hours"}, (1, 1)),
        (None, {"minimise": "node_hours"}, (1, 64)),
        (True, {"minimise": "node_hours"}, (1, 64)),
        (False, {"minimise": "core_hours"}, (1, 1)),
        (False, {"minimise": "cost", "deadline": "00:45:00"}, (1, 16)),
        (False, {"minimise": "time", "budget_node_hours": 0.1}, (1, 4)),
        (None, {"minimise": "time", "budget_node_hours": 0.26}, (1, 64)),
        (False, {"minimise": "time", "min_efficiency": 0.7, "max_nodes": 1}, (1, 16)),
        (False, {}, (6, 64)),
        (None, {}, (6, 64)),
    ],
)
def test_objectives_and_limits_count_the_part(whole: bool | None, objective: dict[str, Any], chosen: tuple[int, int]) -> None:
    """Few cores are used best, a whole node is paid for anyway. The default adds nodes as long as these are used well, however their
    cores are."""
    found = of(sharing(whole=whole), optimisation={"objective": objective}).plan.configuration
    assert (found.nodes, found.ranks_per_node) == chosen


@pytest.mark.parametrize(
    ("whole", "options", "said"),
    [
        (False, FOUR, ["4 of 64 cores (6.2%), which node-hours, energy, cost and efficiency count, because jobs on site share nodes"]),
        (
            None,
            FOUR,
            ["4 of 64 cores (6.2%); node-hours count whole nodes, unless the file of site says that jobs share them (whole_nodes"],
        ),
        (None, {**FOUR, "process_count_per_node": 48}, []),
        (True, FOUR, []),
        (False, {**FOUR, "node_exclusive": True}, []),
    ],
)
def test_the_reasons_say_which_part_is_counted(whole: bool | None, options: dict[str, Any], said: Sequence[str]) -> None:
    """Or that it is not, if little of a node is taken, and how a site can say it."""
    lines = [line for line in of(sharing(whole=whole), options).plan.decisions if line.startswith("part of a node: ")]
    assert [line.startswith("part of a node: " + text) for line, text in zip(lines, said, strict=True)] == [True] * len(said)


def test_an_array_takes_as_many_parts_as_it_has_jobs() -> None:
    """Ten jobs of 0.09375 node-hours."""
    assert any("all together take 0.9375 node-hours" in line for line in of(sharing(), {**FOUR, "job_array": "0-9"}).plan.advice)


def planned(whole: bool | None, **objective: Any) -> MeasurementPlan:
    """The next runs worth measuring."""
    program = {"app_type": "mpi", "executable": "./solver", "threads": 1}
    named: dict[str, Any] = {"application__" + name: value for name, value in program.items()}
    return next_runs(asked("site", optimisation={"objective": objective}, **named), sharing(whole=whole))


def test_the_next_runs_take_parts_of_nodes() -> None:
    """One of 64 cores for 20,000 seconds, and two minutes for the start of the job."""
    assert any(
        "run 1 node x 1x1 several times (0.0873 node-hours each time)" in note for note in planned(False, minimise="node_hours").notes
    )


def test_what_may_be_chosen_by_default_is_the_same_where_jobs_share_nodes() -> None:
    """The default counts whole nodes, in each draw of times, too."""
    likely, whole = ([(one.choice.configuration, one.probability) for one in planned(known).likely] for known in (False, None))
    assert likely == whole
