"""Limits of queues and qualities of service: what a job gets, and what is said or refused where it wants more."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest

from modak.dsl import Request
from modak.errors import Infeasible
from modak.facts import Facts, Queue
from modak.normalise import normalise
from modak.optimise import Answer, check, optimise, recommend
from tests.choosing.asked import asked, changed
from tests.examples import Known, answer, example, nobody_ran_this

LIMITED = (
    Queue(name="batch", max_nodes=8),
    Queue(name="batch", qos="part", max_nodes=1, max_cpus=16),
    Queue(name="batch", qos="large", max_nodes=8, min_cpus=96),
    Queue(name="batch", qos="cards", max_nodes=8, min_gpus=1),
    Queue(name="batch", qos="lean", max_nodes=8, max_memory_gb=20, min_memory_gb=12),
    Queue(name="batch", qos="huge", max_nodes=8, min_memory_gb=100),
    Queue(name="batch", qos="each", max_nodes=8, max_cpus_per_node=16, max_memory_per_node_gb=10),
)


def in_quality(
    known: Known,
    qos: str | None,
    name: str | None = None,
    *,
    shared: bool = False,
    whole: bool = False,
    given: float | None = 0.1,
    usual: str | None = None,
    **job: Any,
) -> Answer:
    """The answer to a request with a quality of service of :data:`LIMITED`, on SuperMUC-NG with those."""
    facts = known(name)
    here = facts.systems["supermuc-ng"]
    gives = {"shared_nodes": shared, "whole_nodes": whole}
    thin = here.partitions[0].model_copy(update={"queues": LIMITED, "default_memory_per_cpu_gb": given, "qos": usual, **gives})
    document = {
        "target": {"name": "supermuc-ng"},
        "application": {"app_tag": name or "new", "app_type": "mpi", "executable": "./a", **job.pop("application", {})},
        "job_options": {"qos": qos, **job},
    }
    system = here.model_copy(update={"partitions": (thin,)})
    return optimise(normalise({"job": document}).request, replace(facts, systems={"supermuc-ng": system}))


@pytest.mark.parametrize("application", [None, "3dgan"])
def test_a_job_has_the_part_of_a_node_that_its_quality_of_service_gives(application: str | None, known: Known) -> None:
    """And the memory that belongs to it, also if larger layouts were measured: Slurm would let a whole node wait for ever."""
    lines = in_quality(known, "part", application).texts.job_script.splitlines()
    asked = dict(line.removeprefix("#SBATCH --").split("=", 1) for line in lines if line.startswith("#SBATCH --") and "=" in line)
    assert (asked["nodes"], int(asked["ntasks-per-node"]) * int(asked["cpus-per-task"])) == ("1", 8)
    assert asked["mem"] == f"{int(77e9 / 48 * 8) // 2**20}M"


def test_a_job_that_names_no_quality_of_service_has_the_limits_of_the_usual_one(known: Known) -> None:
    """Its script names that one, and would wait for ever beyond them; a job that names another has those."""
    script = in_quality(known, None, usual="part").texts.job_script
    assert all(f"#SBATCH {option}\n" in script for option in ("--qos=part", "--nodes=1", "--ntasks-per-node=8"))
    with pytest.raises(Infeasible, match="a job with qos part on supermuc-ng has at most 16 CPUs, and this one has 32"):
        in_quality(known, None, usual="part", node_count=2)
    assert "#SBATCH --ntasks-per-node=48\n" in in_quality(known, "large", usual="part", node_count=2).texts.job_script


@pytest.mark.parametrize(
    ("qos", "options", "given", "asks"),
    [
        ("lean", {"node_count": 1, "process_count_per_node": 48}, 0.1, 20e9),
        ("lean", {"node_count": 2, "process_count_per_node": 48}, 0.1, 10e9),
        ("lean", {"node_count": 2, "process_count_per_node": 48}, 0.5, 10e9),  # by default a node would give 48 GB
        ("lean", {"node_count": 4, "process_count_per_node": 48}, 0.5, 5e9),
        ("lean", {"node_count": 1, "process_count_per_node": 48}, None, 20e9),  # or, without a default, all that it has
        ("lean", {"node_count": 1, "process_count_per_node": 1}, None, 20e9),  # also to a part of its cores
        ("lean", {"node_count": 1, "process_count_per_node": 1}, 0.1, 12e9),
        ("lean", {"node_count": 1, "process_count_per_node": 1, "memory_limit": "15 GB"}, 0.1, 15e9),
        ("lean", {"node_count": 1, "process_count_per_node": 1, "node_exclusive": True}, 0.1, 20e9),  # whole, but for its memory
        ("each", {"node_count": 4, "process_count_per_node": 8}, 0.1, 10e9),
        ("each", {"node_count": 4, "process_count_per_node": 2}, 0.1, 77e9 / 48 * 2),
        ("part", {"node_count": 1, "process_count_per_node": 8}, None, None),
        ("part", {"node_count": 1, "process_count_per_node": 8}, 4.0, None),
    ],
)
def test_a_job_asks_for_memory_within_the_limits_of_its_quality_of_service(
    qos: str, options: dict[str, Any], given: float | None, asks: float | None, known: Known
) -> None:
    """Of each of its nodes, whatever the scheduler gives to a job that asks for none: Slurm would let it wait for ever."""
    lines = in_quality(known, qos, application={"threads": 1}, given=given, **options).texts.job_script.splitlines()
    asked = [line for line in lines if line.startswith("#SBATCH --mem")]
    least = [f"#SBATCH --mem={-(-int(asks) // 2**20) if asks == 12e9 else int(asks) // 2**20}M"] if asks else []
    assert asked == least


@pytest.mark.parametrize(
    ("qos", "options", "says"),
    [
        (
            "lean",
            {"node_count": 2, "memory_limit": "11 GB"},
            "job_options.memory_limit: a job with qos lean on supermuc-ng has at most 20 GB",
        ),
        (
            "lean",
            {"node_count": 8, "memory_limit": "6 GB"},
            "has at most 20 GB of memory, and this one has 6 GB on each of 8 nodes: on 3 nodes at most",
        ),
        ("huge", {"node_count": 1}, "has at least 100 GB of memory, and this one has 77 GB on each of 1 node"),
        ("huge", {"node_count": 1, "given": None}, "has at least 100 GB of memory, and this one has 77 GB on each of 1 node"),
        ("lean", {"node_count": 2, "memory_limit": "5 GB"}, "has at least 12 GB of memory, and this one has 5 GB on each of 2 nodes"),
        ("lean", {"memory_limit": "30 GB"}, "30 GB per node requested, but only 20 GB are usable on nodes of supermuc-ng with qos lean"),
        ("lean", {"node_count": 2, "minimum_memory_per_processor": "300 MB"}, "job_options.minimum_memory_per_processor: a job with qos"),
        (
            "lean",
            {"node_count": 2, "minimum_memory_per_processor": "300 MB", "memory_limit": "5 GB"},
            "job_options.minimum_memory_per_processor: a job with qos",
        ),
        ("each", {"node_count": 4, "memory_limit": "11 GB"}, "11 GB per node requested, but only 10 GB are usable"),
        (
            "each",
            {"process_count_per_node": 17},
            "application.threads: jobs with qos each on supermuc-ng get parts of nodes, 8 cores of each",
        ),
        ("part", {"node_exclusive": True}, "job_options.node_exclusive: jobs with qos part on supermuc-ng get parts of nodes"),
        (
            "part",
            {"process_count_per_node": 17},
            "application.threads: jobs with qos part on supermuc-ng get parts of nodes, 8 cores of each",
        ),
        ("large", {"node_count": 8, "process_count_per_node": 1}, "qos large on supermuc-ng has at least 96 CPUs, and this one has 16"),
        ("cards", {}, "job_options.request_gpus: a job with qos cards on supermuc-ng has at least 1 GPU, and this one has 0"),
        (None, {"node_exclusive": True, "shared": True}, "job_options.node_exclusive: jobs on supermuc-ng get parts of nodes"),
        (None, {"whole": True, "shared": True}, "job_options.partition: jobs on supermuc-ng get parts of nodes"),
    ],
)
def test_a_job_that_its_quality_of_service_does_not_take_is_refused(
    qos: str | None, options: dict[str, Any], says: str, known: Known
) -> None:
    """Slurm rejects it, or holds it for ever."""
    with pytest.raises(Infeasible, match=re.escape(says)):
        in_quality(known, qos, **options)


@pytest.mark.parametrize("limit", [{"max_cpus": 16}, {"max_memory_gb": 100.0}, {"max_memory_per_node_gb": 10.0}])
def test_a_job_without_a_time_is_not_sent_to_a_longer_queue_for_parts_of_nodes(limit: dict[str, Any], known: Known) -> None:
    """It would be refused there, and has whole nodes in the other one."""
    long = Queue(name="batch", qos="long", max_nodes=8, max_wall_time_s=604_800, **limit)
    script = nobody_ran_this(known, (Queue(name="batch", max_nodes=8), long), job_options={"wall_time_limit": None}).texts.job_script
    assert "--qos" not in script


LONGER = {"name": "batch", "qos": "long", "max_nodes": 8, "max_wall_time_s": 86_400}
TEN_HOURS = {"wall_time_limit": 36_000, "node_count": 2, "process_count_per_node": 48}


@pytest.mark.parametrize("limit", [{"max_memory_gb": 20.0}, {"max_memory_per_node_gb": 10.0}])
def test_the_queue_that_a_time_selects_limits_the_memory(limit: dict[str, Any], known: Known) -> None:
    """A shorter job, which gets another queue, asks for none."""
    queues = (Queue(name="batch", max_nodes=8, max_wall_time_s=3600), Queue.model_validate({**LONGER, **limit}))
    long, short = (nobody_ran_this(known, queues, job_options={**TEN_HOURS, "wall_time_limit": time}).texts for time in (36_000, 600))
    assert "#SBATCH --qos=long\n" in long.job_script
    assert f"#SBATCH --mem={int(1e10) // 2**20}M\n" in long.job_script
    assert "--mem" not in short.job_script


def test_ranks_with_more_memory_than_a_node_has_are_refused_by_a_check(known: Known) -> None:
    """As by an answer, without looking for another layout."""
    request = asked(optimisation={"workload": {"memory_per_rank_gb": 2}}, job_options={"process_count_per_node": 48})
    for ask in (optimise, recommend, check):
        with pytest.raises(Infeasible, match=r"96 GB per node are needed \(48 ranks per node\)"):
            ask(request, known(None))


def test_limits_of_a_queue_without_a_quality_of_service_are_those_of_the_system(known: Known) -> None:
    """The message names no other."""
    queues = (Queue(name="large", max_nodes=8, min_cpus=960),)
    with pytest.raises(Infeasible, match="a job on supermuc-ng has at least 960 CPUs, and this one has 384"):
        nobody_ran_this(known, queues, job_options={"wall_time_limit": 600})


def test_the_queue_that_a_time_selects_limits_the_cpus_of_each_node(known: Known) -> None:
    """The job was planned for whole nodes, which others of its queues give."""
    queues = (Queue(name="batch", max_nodes=8, max_wall_time_s=3600), Queue.model_validate({**LONGER, "max_cpus_per_node": 16}))
    with pytest.raises(Infeasible, match="a job with qos long on supermuc-ng has at most 16 CPUs per node, and this one has 96"):
        nobody_ran_this(known, queues, job_options=TEN_HOURS)


@pytest.mark.parametrize(
    ("ranks", "limit", "asks"),
    [
        (48, {"max_memory_gb": 20.0}, 19_073),
        (48, {"min_memory_gb": 60.0}, 73_432),
        (1, {"min_memory_gb": 4.001366016}, 3816),
        (48, {"max_memory_gb": 2.001731584}, 1909),
    ],
)
def test_memory_that_a_sites_own_directives_ask_for_counts(ranks: int, limit: dict[str, Any], asks: int, known: Known) -> None:
    """Not what a job would get that asks for none. Limits in whole MiB are asked for to the MiB."""
    fields = {
        "queues": (Queue.model_validate({"name": "batch", "max_nodes": 8, **limit}),),
        "default_memory_per_cpu_gb": 0.5,
        "resource_directives": ("--nodes={nodes}", "--ntasks-per-node={ranks_per_node}", "--mem={memory_mib_per_node}M"),
    }
    thin = known(None).systems["supermuc-ng"].partitions[0].model_copy(update=fields)
    options = {"node_count": 1, "process_count_per_node": ranks}
    request = asked(application__app_type="mpi", application__executable="./a", job_options=options)
    assert f"#SBATCH --mem={asks}M\n" in optimise(request, changed(known, partitions=(thin,))(None)).texts.job_script


def test_memory_that_a_sites_own_directives_do_not_ask_for_is_what_the_scheduler_gives(known: Known) -> None:
    """By the cores: 24 GB here, which a queue for less refuses."""
    fields = {
        "queues": (Queue(name="batch", max_nodes=8, max_memory_gb=20.0),),
        "default_memory_per_cpu_gb": 0.5,
        "resource_directives": ("--nodes={nodes}", "--ntasks-per-node={ranks_per_node}"),
    }
    thin = known(None).systems["supermuc-ng"].partitions[0].model_copy(update=fields)
    request = asked(application__app_type="mpi", application__executable="./a", job_options={"node_count": 1, "process_count_per_node": 48})
    with pytest.raises(Infeasible, match="has at most 20 GB of memory, and this one has"):
        optimise(request, changed(known, partitions=(thin,))(None))


def test_the_limit_of_a_queue_is_all_that_is_known_of_nodes_whose_memory_is_not(known: Known) -> None:
    """A job on a quarter of the cores asks for a quarter of that."""
    node = known(None).systems["supermuc-ng"].partitions[0].node.model_copy(update={"memory_gb": None, "usable_memory_gb": None})
    queues = (Queue(name="batch", max_nodes=8, max_memory_per_node_gb=40.0),)
    thin = (
        known(None)
        .systems["supermuc-ng"]
        .partitions[0]
        .model_copy(update={"queues": queues, "node": node, "default_memory_per_cpu_gb": 0.1, "whole_nodes": False})
    )
    request = asked(application__app_type="mpi", application__executable="./a", job_options={"node_count": 1, "process_count_per_node": 12})
    assert f"#SBATCH --mem={int(1e10) // 2**20}M\n" in optimise(request, changed(known, partitions=(thin,))(None)).texts.job_script


def test_a_job_with_a_quality_of_service_of_its_own_has_not_the_limits_of_another_one(known: Known) -> None:
    """One that the system file does not have."""
    long = Queue(name="batch", qos="long", max_nodes=8, max_cpus=16, max_wall_time_s=604_800)
    script = nobody_ran_this(known, (Queue(name="batch", max_nodes=8), long), job_options={"qos": "other"}).texts.job_script
    assert "--qos=other\n" in script


def test_a_node_for_itself_brings_all_of_its_gpus(known: Known) -> None:
    """Slurm counts them, and would let the job wait for ever with a quality of service that allows one."""
    queues = (Queue(name="gpu", max_nodes=1), Queue(name="gpu", qos="one", max_nodes=1, max_gpus=1))
    gpus = known(None).systems["dgx-1"].partitions[0].model_copy(update={"queues": queues})
    facts = changed(known, "dgx-1", partitions=(gpus,), scheduler="slurm")(None)
    options = {"qos": "one", "request_gpus": 1, "wall_time_limit": 600}
    part, whole = (asked("dgx-1", application__executable="./a", job_options=options | more) for more in ({}, {"node_exclusive": True}))
    assert optimise(part, facts).texts.job_script
    with pytest.raises(Infeasible, match=f"at most 1 GPU, and this one has {gpus.node.accelerators}"):
        optimise(whole, facts)


@pytest.mark.parametrize(
    ("asked", "field", "queue", "says"),
    [
        ({"partition": "general", "node_count": 4}, "partition", "general", "17 to 768 nodes, but this one has 4: .*; micro would take it"),
        ({"queue": "general", "node_count": 4}, "queue", "general", "17 to 768 nodes, but this one has 4: "),
        ({"partition": "thin", "queue": "general", "node_count": 4}, "queue", "general", "17 to 768 nodes, but this one has 4: "),
        ({"node_count": 5000, "reservation": "all"}, "node_count", "large", "769 to 3168 nodes, but this one has 5000: .* reject it$"),
    ],
)
def test_a_queue_that_does_not_take_the_job_is_warned_of_where_it_is_named(
    asked: dict[str, Any], field: str, queue: str, says: str, known: Known
) -> None:
    """Or where so many nodes are asked for. It is in the script all the same: the default one would have other nodes or limits."""
    found = answer(example("3dgan-supermuc-ng", job_options=asked, optimisation__objective={}), known)
    (told,) = [one for one in found.plan.warnings if "will reject it" in one.message]
    assert (told.field, bool(re.search(f"queue {queue} .* {says}", told.message))) == (f"job_options.{field}", True), told
    assert f"#SBATCH --partition={queue}\n" in found.texts.job_script


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"node_count": 5000}, "node_count: queue large of .* takes jobs of 769 to 3168 nodes, but this one has 5000"),
        ({"node_count": 1000, "queue": "general"}, "queue: queue general .* 17 to 768 nodes, but this one has 1000; large would take it"),
        ({"node_count": 1000, "queue": "general", "reservation": "all"}, None),
        ({"node_count": 1000, "queue": "general", "qos": "own"}, None),
    ],
)
@pytest.mark.parametrize("ask", [optimise, recommend, check])
def test_more_nodes_than_a_queue_takes_are_refused(
    ask: Callable[[Request, Facts], object], asked: dict[str, Any], says: str | None, known: Known
) -> None:
    """Slurm keeps such a job waiting for ever, unless a reservation or another quality of service has limits of its own."""
    request = example("3dgan-supermuc-ng", job_options=asked, optimisation__objective={})
    with pytest.raises(Infeasible, match=f"^job_options.{says}$") if says else nullcontext():
        ask(request, known(request.workload_name))


@pytest.mark.parametrize(("ranks", "said"), [(1, "1 rank"), (96, "96 ranks")])
def test_the_ranks_that_nodes_are_for_are_named(ranks: int, said: str, known: Known) -> None:
    """One of them, too, in good English."""
    found = answer(example("3dgan-supermuc-ng", application__mpi_ranks=ranks, optimisation__objective={}), known)
    assert [line for line in found.plan.decisions if re.fullmatch(f"nodes: [0-9]+, for the requested {said}", line)]


def test_the_closest_to_more_nodes_than_a_queue_takes_says_what_is_missed(known: Known) -> None:
    """And is ranked all the same, to be looked at."""
    request = example("3dgan-supermuc-ng", job_options={"node_count": 5000}, optimisation__objective={})
    found = recommend(request, known(request.workload_name), closest=True)
    assert (found.choices[0].configuration.nodes, found.missed is not None and "takes jobs of 769 to 3168" in found.missed) == (5000, True)
