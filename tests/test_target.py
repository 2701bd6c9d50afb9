"""The target of a request: what is known of it, and what is said where the request asks for something else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from modak.choosing.candidates import enumerate_candidates
from modak.dsl import Request
from modak.errors import Infeasible
from modak.facts import Facts, HostMpi, Node, Partition, Queue, RuntimePolicy
from modak.normalise import normalise
from modak.optimise import optimise
from modak.partition import beyond
from modak.perfmodel import Curve, fit
from modak.target import Target, find_system, resolve, target_key, uncharged
from tests.examples import Known
from tests.runs import ran

ONE = Partition(name="one", nodes=8, node=Node(processor="xeon-gold-6148", sockets=2, cores=40))
USUAL = ONE.model_copy(update={"default": True})
TWO = ONE.model_copy(update={"name": "two"})


def place(known: Known, target: Mapping[str, Any] | None = None, **options: Any) -> Target:
    """The target of a request that says nothing else."""
    return resolve(normalise({"job": {"target": target or {}, "job_options": options}}).request, known(None))


def there(known: Known, *partitions: Partition, **fields: Any) -> Facts:
    """The packaged facts, and a system ``here``: the testbed at HLRS with these partitions, or other fields."""
    facts = known(None)
    update = {"name": "here", **({"partitions": partitions} if partitions else {}), **fields}
    return replace(facts, systems={**facts.systems, "here": facts.systems["hlrs-testbed"].model_copy(update=update)})


def here(facts: Facts, **options: Any) -> Target:
    """The target of a request for that system with these ``job_options``."""
    return place(lambda _: facts, {"name": "here"}, **options)


def thin(known: Known, asked: Mapping[str, Any] | None = None, /, **fields: Any) -> Target:
    """The target of a request with these ``job_options`` for SuperMUC-NG, whose partition then has other fields."""
    found = place(known, {"name": "supermuc-ng"}, **(asked or {}))
    assert found.partition is not None
    return replace(found, partition=found.partition.model_copy(update=fields))


def messages(found: Target) -> dict[str, str]:
    """Warnings by field."""
    return {warning.field: warning.message for warning in found.warnings}


@pytest.mark.parametrize("name", ["supermuc-ng", "supermuc_ng", "SuperMUC-NG"])
def test_a_system_is_found_in_any_spelling(name: str, known: Known) -> None:
    """Case and underscores do not tell systems apart."""
    found = find_system(name, known(None))
    assert found is not None
    assert found.name == "supermuc-ng"


def test_without_a_name_there_is_only_a_scheduler(known: Known) -> None:
    """No facts, and nothing made up."""
    found = place(known, {"job_scheduler_type": "slurm"})
    assert (found.scheduler, found.system, found.partition, found.host_mpi) == ("slurm", None, None, None)


def test_the_systems_scheduler_wins(known: Known) -> None:
    """HLRS runs Torque, whatever the request says."""
    found = place(known, {"name": "hlrs-testbed", "job_scheduler_type": "slurm"})
    assert found.scheduler == "torque"
    assert "uses torque, not slurm" in messages(found)["target.job_scheduler_type"]


@pytest.mark.parametrize(("asked", "named"), [("singularity", True), ("apptainer", False)])
def test_a_runtime_that_the_site_refuses_by_name_is_said_to_be(asked: str, named: bool, known: Known) -> None:
    """Also where it allows the other one of Singularity and Apptainer, which then runs the same images."""
    policies = tuple(RuntimePolicy(name=name, allowed=name != "singularity") for name in ("charliecloud", "singularity", "apptainer"))
    facts = there(known, runtimes=policies)
    found = place(lambda _: facts, {"name": "here", "container_runtime": asked})
    assert found.runtime == policies[2]
    assert ("does not allow singularity" in messages(found).get("target.container_runtime", "")) == named
    assert ("runtime: apptainer, which runs the images of singularity" in found.decisions) == named


@pytest.mark.parametrize(
    ("asked", "name", "why"),
    [
        (None, "charliecloud", "charliecloud if an image is used, the first that here allows (not allowed: apptainer)"),
        ("charliecloud", "charliecloud", "charliecloud, as requested and allowed on here"),
        ("enroot", "charliecloud", "charliecloud if an image is used, the first that here allows (not allowed: apptainer)"),
        ("none", None, "none, as requested"),
    ],
)
def test_the_runtime_is_the_requests_or_the_first_that_the_site_allows(asked: str | None, name: str | None, why: str, known: Known) -> None:
    """And the reasons say so."""
    policies = tuple(RuntimePolicy(name=each, allowed=each != "apptainer") for each in ("apptainer", "charliecloud", "sarus"))
    facts = there(known, runtimes=policies)
    found = place(lambda _: facts, {"name": "here", "container_runtime": asked})
    assert (found.runtime.name if found.runtime else None, f"runtime: {why}" in found.decisions) == (name, True)


def test_a_site_that_says_nothing_of_runtimes_refuses_none(known: Known) -> None:
    """And that it is only the request which says so."""
    facts = there(known, runtimes=())
    found = place(lambda _: facts, {"name": "here", "container_runtime": "enroot"})
    assert found.runtime == RuntimePolicy(name="enroot")
    assert "runtime: enroot, as requested; here states no policy" in found.decisions
    assert "target.container_runtime" not in messages(found)


@pytest.mark.parametrize(("asked", "name"), [("enroot", "enroot"), ("none", None), (None, "apptainer")])
def test_of_a_place_that_nobody_described_the_request_says_the_runtime(asked: str | None, name: str | None, known: Known) -> None:
    """Apptainer, which most sites have, where it says none."""
    found = place(known, {"job_scheduler_type": "slurm", "container_runtime": asked})
    assert (found.runtime.name if found.runtime else None) == name


def test_a_queue_that_is_named_twice_is_named(known: Known) -> None:
    """As partition and as queue: nothing is left out."""
    found = place(known, {"name": "supermuc-ng"}, partition="general", queue="general")
    assert (found.partition_for(4, None), found.warnings) == ("general", ())


def test_an_unknown_partition_is_asked_for_as_given(known: Known) -> None:
    """The user may know the site better; limits come from the default partition, and that is said."""
    found = place(known, {"name": "supermuc-ng"}, partition="special")
    assert (found.partition_for(4, None), found.partition and found.partition.name) == ("special", "thin")
    assert "no partition 'special' is recorded" in messages(found)["job_options.partition"]
    both = place(known, {"name": "supermuc-ng"}, partition="special", queue="short")
    assert messages(both) == messages(found) | {"job_options.queue": "short is left out: job_options.partition names 'special'"}


@pytest.mark.parametrize(("asked", "like"), [({"request_gpus": 2}, "gpu"), ({"request_gpus": 0}, "one"), ({}, "one")])
def test_an_unknown_queue_is_like_the_partition_that_the_job_would_get(asked: dict[str, int], like: str, known: Known) -> None:
    """One for a job with GPUs has the limits, the nodes and the images of the partition with GPUs."""
    gpus = Partition(name="gpu", nodes=2, node=ONE.node.model_copy(update={"accelerator": "v100-pcie-32gb", "accelerators": 4}))
    found = here(there(known, USUAL, gpus), queue="gpuq", **asked)
    assert (found.partition_for(1, None), found.partition and found.partition.name) == ("gpuq", like)
    assert all(text in messages(found)["job_options.queue"] for text in (f"with the limits of {like!r}", "(known: one, gpu)"))


@pytest.mark.parametrize(
    ("system", "options", "gpus"),
    [
        ("supermuc-ng", {"partition": "gpu"}, 4),
        ("hlrs-testbed", {"queue": "ssd"}, 1),
    ],
)
def test_gpus_of_an_unknown_partition_are_kept_where_no_node_is_known_to_have_any(
    system: str, options: dict[str, str], gpus: int, known: Known
) -> None:
    """Nothing is known of its nodes. A site's other queues are mostly of the nodes that are known."""
    job = {"target": {"name": system}, "application": {"executable": "a"}, "job_options": {"request_gpus": 4, **options}}
    answer = optimise(normalise({"job": job}).request, known(None))
    assert answer.plan.configuration.gpus_per_node == gpus
    assert ("GPUs per node requested" in str(answer.plan.warnings)) == (gpus != 4)


@pytest.mark.parametrize(("asked", "hint"), [("debug", True), ("elsewhere", False)])
def test_a_queue_that_is_a_quality_of_service_names_its_field(known: Known, asked: str, hint: bool) -> None:
    """Sites call both queues. Each name that is known is listed once."""
    queues = tuple(Queue(name="main", qos=name, max_nodes=8) for name in ("regular", "debug"))
    said = messages(here(there(known, USUAL.model_copy(update={"queues": queues})), queue=asked))["job_options.queue"]
    assert ("(known: main)" in said, "job_options.qos" in said) == (True, hint)


@pytest.mark.parametrize(("nodes", "queue"), [(1, "micro"), (16, "micro"), (17, "general"), (768, "general"), (769, "large")])
def test_queues_follow_the_size_of_the_job(nodes: int, queue: str, known: Known) -> None:
    """The first queue that takes the job."""
    assert place(known, {"name": "supermuc-ng"}).partition_for(nodes, None) == queue


@pytest.mark.parametrize(("nodes", "queue"), [(4, "small"), (6, "large"), (20, "large")])
def test_a_job_that_no_queue_takes_asks_for_the_nearest(nodes: int, queue: str, known: Known) -> None:
    """The site may make an exception there."""
    queues = (Queue(name="large", min_nodes=8, max_nodes=16), Queue(name="small", max_nodes=2))
    assert thin(known, queues=queues).partition_for(nodes, None) == queue


@pytest.mark.parametrize(
    ("asked", "seconds", "queue", "longest"),
    [
        (None, None, "long", 7200),
        (None, 3600, "short", 7200),
        (None, 3601, "long", 7200),
        (None, 9000, "long", 7200),
        ("short", 3601, "short", 3600),
    ],
)
def test_queues_follow_the_time_of_the_job(known: Known, asked: str | None, seconds: int | None, queue: str, longest: int) -> None:
    """The first that takes it so long; if none does or the time is unknown, the one that takes it longest. The requested one stays."""
    queues = (Queue(name="short", max_nodes=32, max_wall_time_s=3600), Queue(name="long", max_nodes=64, max_wall_time_s=7200))
    found = replace(thin(known, {"queue": asked and "general"}, queues=queues), scheduler_partition=asked)
    assert (found.partition_for(4, seconds), found.max_wall_time_s(4)) == (queue, longest)


@pytest.mark.parametrize(
    ("policy", "asked", "named"),
    [
        (None, None, None),
        ("always", None, "cpu"),
        ("never", None, None),
        (None, "gpu", "gpu"),
        ("always", "gpu", "gpu"),
        ("never", "gpu", None),
        ("never", "test", "test"),
    ],
)
def test_the_site_decides_whether_partitions_are_named(known: Known, policy: str | None, asked: str | None, named: str | None) -> None:
    """A scheduler without a default wants each named; where features and qualities of service decide, a name would be refused."""
    partitions = (ONE.model_copy(update={"name": "cpu", "default": True}), ONE.model_copy(update={"name": "gpu"}))
    found = here(there(known, *partitions, partition_directive=policy), partition=asked)
    assert (found.partition_for(4, None), found.partition and found.partition.name) == (named, "gpu" if asked == "gpu" else "cpu")


@pytest.mark.parametrize(
    ("features", "partition"),
    [("gpu", "gpu"), ("gpu&hbm80g", "gpu"), ("cpu&ssd", "cpu"), ("hbm80g", "cpu"), ("gpu|cpu", "cpu"), (None, "cpu")],
)
def test_features_of_a_partition_choose_it(known: Known, features: str | None, partition: str) -> None:
    """At sites where features decide, a request that names them means these nodes; a choice of features does not."""
    kinds = [ONE.model_copy(update={"name": name, "default": name == "cpu", "constraint": name}) for name in ("cpu", "gpu")]
    assert here(there(known, *kinds), architecture_constraint=features).title == f"here/{partition}"


def test_features_that_the_default_partition_has_lead_to_no_other(known: Known) -> None:
    """Whichever comes first in the system's file."""
    kinds = [ONE.model_copy(update={"name": name, "features": ("ssd",), "default": name == "usual"}) for name in ("first", "usual")]
    assert here(there(known, *kinds), architecture_constraint="ssd").title == "here/usual"


@pytest.mark.parametrize(
    ("asked", "node"),
    [
        ({}, "skl"),
        ({"architecture_constraint": "ib"}, "skl"),
        ({"architecture_constraint": "icx"}, "icx"),
        ({"architecture_constraint": "icx&ib"}, "icx"),
        ({"architecture_constraint": "icx|skl"}, "skl"),
        ({"architecture_constraint": "unheard-of"}, "skl"),
        ({"request_gpus": 2}, "gpu"),
        ({"memory_limit": "150GB"}, "icx"),
        ({"memory_limit": "150GB", "architecture_constraint": "skl"}, "skl"),
        ({"partition": "batch-gpu"}, "gpu"),
    ],
)
@pytest.mark.parametrize("named", [True, False])
def test_of_several_kinds_of_nodes_the_job_gets_those_that_it_asks_for(known: Known, asked: dict[str, Any], node: str, named: bool) -> None:
    """Whether the request names the partition that they share or not; features count that all nodes have, whatever the constraint is."""
    plain = ONE.node.model_copy(update={"usable_memory_gb": 100.0})
    large = plain.model_copy(update={"usable_memory_gb": 200.0})
    gpus = plain.model_copy(update={"accelerator": "v100-sxm2-16gb", "accelerators": 2})
    kinds = {
        "skl": Partition(name="batch", nodes=8, node=plain, default=True, constraint="skl", features=("skl", "ib")),
        "icx": Partition(name="batch-kind2", nodes=4, node=large, queue="batch", constraint="bigmem", features=("icx", "bigmem", "ib")),
        "gpu": Partition(name="batch-gpu", nodes=2, node=gpus, queue="batch", constraint="gpu", features=("gpu", "ib")),
    }
    options = {"partition": "batch", **asked} if named else asked
    found = here(there(known, *kinds.values()), **options)
    assert found.partition == kinds[node]
    assert found.partition_for(1, None) in (None, "batch")


@pytest.mark.parametrize(
    ("application", "counts", "partition"),
    [
        ({"threads": 2}, {"process_count_per_node": 38}, "thin"),  # hyper-threads of 38 cores
        ({"threads": 64}, {"node_count": 1}, "thin"),
        ({"threads": 2}, {"process_count_per_node": 39}, "fat"),
        ({"threads": 1}, {"process_count_per_node": 20, "core_count_per_process": 2}, "fat"),
        ({"mpi_ranks": 4}, {"node_count": 2, "process_count_per_node": 48}, "thin"),  # two ranks on a node, as the choice has them
        ({"mpi_ranks": 96}, {"node_count": 2}, "fat"),
    ],
)
def test_the_partition_has_the_memory_of_the_cores_that_the_counts_take(
    known: Known, application: dict[str, Any], counts: dict[str, Any], partition: str
) -> None:
    """2 GB each, of the 77 GB of a thin node."""
    options = {**counts, "minimum_memory_per_processor": "2 GB"}
    request = normalise({"job": {"target": {"name": "supermuc-ng"}, "application": application, "job_options": options}}).request
    assert resolve(request, known(None)).title == f"supermuc-ng/{partition}"


@pytest.mark.parametrize(
    ("asked", "partition"),
    [
        ({}, None),
        ({"wall_time_limit": 1800, "node_count": 2}, None),
        ({"wall_time_limit": 1801}, "long"),
        ({"wall_time_limit": 86401}, None),
        ({"node_count": 3}, "wide"),
        ({"node_count": 3, "wall_time_limit": 7200}, None),
        ({"memory_limit": "128GB"}, "fat"),
        ({"memory_limit": "65600 MB"}, None),  # all of it: 65.6 * 1e9 is less than its bytes
        ({"memory_limit": "128GB", "wall_time_limit": 1801}, None),
        ({"minimum_memory_per_processor": "4GB", "process_count_per_node": 20}, "fat"),
        ({"minimum_memory_per_processor": "4GB", "core_count": 20}, "fat"),
        ({"minimum_memory_per_processor": "4GB", "core_count": 20, "memory_limit": "10GB"}, "fat"),
        ({"minimum_memory_per_processor": "4GB", "process_count_per_node": 16}, None),
        ({"minimum_memory_per_processor": "4GB"}, None),  # of so many cores as have it
        ({"wall_time_limit": 1801, "qos": "unlimited"}, None),
        ({"wall_time_limit": 1801, "reservation": "course"}, None),
        ({"wall_time_limit": 1801, "request_gpus": 1}, "gpu"),
        ({"wall_time_limit": 1801, "architecture_constraint": "icx"}, "wide"),
        ({"wall_time_limit": 1801, "partition": "short"}, "short"),
    ],
)
def test_another_partition_takes_what_is_beyond_the_default_one(known: Known, asked: dict[str, Any], partition: str | None) -> None:
    """With the same GPUs, and if there is one with nodes of the same kind; not if the request names one, or other limits may hold."""
    node = ONE.node.model_copy(update={"usable_memory_gb": 65.6})
    fat = node.model_copy(update={"usable_memory_gb": 200.0, "cores": 80})
    gpu = node.model_copy(update={"accelerator": "v100-sxm2-16gb", "accelerators": 2})
    partitions = (
        Partition(name="short", nodes=8, node=node, default=True, max_nodes=2, max_wall_time_s=1800),
        Partition(name="gpu", nodes=8, node=gpu),
        Partition(name="fat", nodes=2, node=fat, max_wall_time_s=1800),
        Partition(name="long", nodes=2, node=node, max_wall_time_s=86400, constraint="long"),
        Partition(name="wide", nodes=8, node=node, queues=(Queue(name="wide", min_nodes=3, max_nodes=8, max_wall_time_s=3600),)),
    )
    found = here(there(known, *partitions), **asked)
    assert found.partition_for(asked.get("node_count", 1), asked.get("wall_time_limit")) == partition


@pytest.mark.parametrize(("memory", "partition"), [("50 GB", None), ("60 GB", "fat")])
def test_another_partition_takes_a_job_with_more_memory_than_jobs_of_the_default_one_have(
    known: Known, memory: str, partition: str | None
) -> None:
    """By a quality of service of its own, whatever its nodes have."""
    node = ONE.node.model_copy(update={"usable_memory_gb": 65.6})
    lean = Queue(name="lean", max_nodes=8, max_memory_gb=50.0)
    partitions = (Partition(name="lean", nodes=8, node=node, default=True, queues=(lean,)), Partition(name="fat", nodes=2, node=node))
    assert here(there(known, *partitions), memory_limit=memory).scheduler_partition == partition


@pytest.mark.parametrize(("policy", "partition"), [(None, "two"), ("always", "two"), ("never", "one")])
def test_no_other_partition_is_chosen_where_scripts_name_none(known: Known, policy: str | None, partition: str) -> None:
    """The job could not ask for it."""
    facts = there(known, USUAL.model_copy(update={"max_nodes": 1}), TWO, partition_directive=policy)
    assert here(facts, node_count=2).title == f"here/{partition}"


@pytest.mark.parametrize(
    ("asked", "partition"),
    [
        ({"wall_time_limit": 1801}, "long"),
        ({"request_gpus": 1}, "gpu"),
        ({"architecture_constraint": "ssd"}, "fast"),
    ],
)
def test_a_partition_that_has_to_be_named_is_not_chosen(known: Known, asked: dict[str, Any], partition: str) -> None:
    """It would take the job; named, it does."""
    gpu = ONE.node.model_copy(update={"accelerator": "v100-sxm2-16gb", "accelerators": 2})
    usual = Partition(name="short", nodes=8, node=ONE.node, default=True, max_wall_time_s=1800)
    others = (
        Partition(name="long", nodes=8, node=ONE.node),
        Partition(name="gpu", nodes=8, node=gpu),
        Partition(name="fast", nodes=8, node=ONE.node, max_wall_time_s=1800, features=("ssd",)),
    )
    open_to_all, closed = (
        there(known, usual, *(one.model_copy(update={"only_if_named": only}) for one in others)) for only in (False, True)
    )
    assert here(open_to_all, **asked).partition_for(1, None) == partition
    assert here(closed, **asked).partition_for(1, None) is None
    assert here(closed, **asked, partition=partition).partition_for(1, None) == partition


def test_of_the_default_partition_it_says_nothing_that_it_has_to_be_named(known: Known) -> None:
    """Jobs that name none go there all the same."""
    only = USUAL.model_copy(update={"only_if_named": True})
    assert here(there(known, only)).partition == only


@pytest.mark.parametrize(
    ("asked", "most", "limit"),
    [
        ({"wall_time_limit": 3600}, 1, "runs such jobs for at most 00:30:00"),
        ({"node_count": 2}, 1, "takes jobs of 1 node"),
        ({"node_count": 8}, 2, "takes jobs of 1 to 2 nodes"),
    ],
)
def test_the_limit_that_leads_to_another_partition_is_named(known: Known, asked: dict[str, Any], most: int, limit: str) -> None:
    """As the reason for it."""
    facts = there(known, USUAL.model_copy(update={"max_wall_time_s": 1800, "max_nodes": most}), TWO)
    assert f"partition: two, because one {limit}" in here(facts, **asked).decisions


@pytest.mark.parametrize(
    ("application", "gpus", "partition", "why"),
    [
        ({"mpi_ranks": 24}, 0, "small", ""),
        ({"mpi_ranks": 25}, 0, "large", "takes jobs of 2 nodes, and the ranks need 3"),
        ({"mpi_ranks": 24, "threads": 2}, 0, "large", "takes jobs of 2 nodes, and the ranks need 4"),
        ({"allowed_ranks": [32, 25]}, 0, "large", "takes jobs of 2 nodes, and the ranks need 3"),
        ({"allowed_ranks": [32, 24]}, 0, "small", ""),
        ({"mpi_ranks": 4, "app_type": "python"}, 2, "small", ""),
        ({"mpi_ranks": 6, "app_type": "python"}, 2, "large", "takes jobs of 2 nodes, and the ranks need 3"),
    ],
)
def test_ranks_alone_lead_to_a_partition_with_nodes_for_them(
    known: Known, application: dict[str, Any], gpus: int, partition: str, why: str
) -> None:
    """They were refused as too many for the default one: a core for each thread, in training a GPU for each rank."""
    node = ONE.node.model_copy(update={"cores": 12, "accelerator": "v100-sxm2-16gb", "accelerators": 2})
    small = Partition(name="small", nodes=8, node=node, default=True, queues=(Queue(name="small", min_nodes=2, max_nodes=2),))
    training = {"app_type": "ai_training", "ai_training": {"pytorch": {"distribution": "ddp"}}} if gpus else {}
    job = {"target": {"name": "here"}, "application": application, "optimisation": training, "job_options": {"request_gpus": gpus}}
    found = resolve(normalise({"job": job}).request, there(known, small, Partition(name="large", nodes=8, node=node)))
    assert found.title == f"here/{partition}"
    assert [line.partition(" small ")[2] for line in found.decisions if line.startswith("partition: ")] == [why] * bool(why)


@pytest.mark.parametrize(
    ("place", "measured", "partition"),
    [
        (None, (24, 1), "small"),
        ("small", (10, 2), "small"),
        (None, (12, 1), "large"),
        ("large", (24, 1), "large"),
        (None, (60, 1), "large"),
    ],
)
def test_ranks_that_were_measured_on_hyper_threads_need_no_cores_of_their_own(
    known: Known, place: str | None, measured: tuple[int, int], partition: str
) -> None:
    """36 ranks have no core each on two nodes of 12, but nearly as many were run on one. Without such results of these nodes they are laid
    out on cores."""
    node = ONE.node.model_copy(update={"cores": 12, "threads_per_core": 2})
    facts = there(known, Partition(name="small", nodes=2, node=node, default=True), Partition(name="large", nodes=8, node=node))
    run = ran(100, nodes=1, ranks_per_node=measured[0], threads_per_rank=measured[1], system="here", partition=place)
    application = {"app_tag": "solver", "app_type": "mpi", "mpi_ranks": 36}
    request = normalise({"job": {"target": {"name": "here"}, "application": application}}).request
    assert resolve(request, replace(facts, models=fit([run]))).title == f"here/{partition}"


@pytest.mark.parametrize(
    ("options", "most", "longest"),
    [
        ({}, 8, 7200),
        ({"partition": "one"}, 8, 7200),
        ({"qos": "debug"}, 1, 600),
        ({"qos": "debug", "partition": "one"}, 1, 600),
        ({"qos": "other", "partition": "one"}, 8, 7200),
    ],
)
def test_a_job_has_the_limits_of_the_quality_of_service_that_it_names(
    known: Known, options: dict[str, Any], most: int, longest: int
) -> None:
    """Also where it names the partition, which has other limits for other jobs."""
    queues = (Queue(name="one", max_nodes=8), Queue(name="one", qos="debug", max_nodes=1, max_wall_time_s=600))
    facts = with_partitions(known, ONE.model_copy(update={"queues": queues, "max_wall_time_s": 7200}))
    found = resolve(asking(options), facts)
    assert (found.job_nodes, found.max_wall_time_s(1), found.qos_for(1, None)) == ((1, most), longest, options.get("qos"))


@pytest.mark.parametrize(
    ("application", "options", "node"),
    [
        ({"threads": 40}, {}, "one"),
        ({"threads": 41}, {}, "one-fat"),
        ({}, {"core_count": 48}, "one-fat"),
        ({"threads": 2}, {"process_count_per_node": 24}, "one-fat"),
        ({"threads": 2}, {"process_count_per_node": 24, "partition": "one"}, "one-fat"),
        ({}, {"process_count_per_node": 24, "core_count_per_process": 2}, "one-fat"),
        ({}, {"process_count_per_node": 40}, "one"),
        ({"threads": 2, "mpi_ranks": 48}, {"node_count": 2}, "one-fat"),
        ({"threads": 2, "mpi_ranks": 4}, {"node_count": 2, "process_count_per_node": 24}, "one"),  # two on a node, as the choice has them
        ({"threads": 64}, {}, "one"),  # reduced to what the default's nodes have
    ],
)
def test_threads_that_a_node_has_no_room_for_lead_to_larger_nodes(
    known: Known, application: dict[str, Any], options: dict[str, Any], node: str
) -> None:
    """They were reduced. Of partitions with such nodes, the kind that the scheduler calls as the default comes first."""
    large = ONE.node.model_copy(update={"cores": 48})
    others = tuple(
        ONE.model_copy(update={"name": name, "node": large, "queue": queue}) for name, queue in (("two", None), ("one-fat", "one"))
    )
    job = {"target": {"name": "supermuc-ng"}, "job_options": options, "application": application}
    found = resolve(normalise({"job": job}).request, with_partitions(known, ONE.model_copy(update={"default": True}), *others))
    assert found.partition
    assert (found.partition.name, found.scheduler_partition) == (node, "one" if node == "one-fat" or "partition" in options else None)


def test_the_limit_of_a_partition_tells_gaps_between_its_queues(known: Known) -> None:
    """Of queues for 1 to 2, 3 to 4 and 8 to 16 nodes, of which there are 12, none takes 6."""
    sizes = ((8, 16), (1, 2), (3, 4), (20, 30))
    queues = tuple(Queue(name=f"q{few}", min_nodes=few, max_nodes=many) for few, many in sizes)
    facts, partition = known(None), ONE.model_copy(update={"nodes": 12, "queues": queues})
    limit = beyond(asking({"node_count": 6}), partition, facts.systems["hlrs-testbed"], facts)
    assert limit == "takes jobs of 1 to 4 nodes or 8 to 12 nodes"


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"architecture_constraint": "icx"}, "that have what the job asks for"),
        (
            {"architecture_constraint": "icx", "request_gpus": 1, "node_count": 5},
            "that come closest to what the job asks for: none also "
            "has the requested GPUs or room for the requested nodes, threads, time and memory",
        ),
    ],
)
def test_kinds_of_nodes_that_miss_a_wish_are_not_said_to_have_all(known: Known, asked: dict[str, Any], says: str) -> None:
    """The features come first; of the nodes that have them, none has GPUs."""
    kinds = (
        Partition(name="batch", nodes=8, node=ONE.node, default=True, features=("skl",)),
        Partition(name="batch-kind2", nodes=4, node=ONE.node, queue="batch", constraint="icx"),
    )
    assert f"partition: batch-kind2, the nodes of batch {says}" in here(there(known, *kinds), partition="batch", **asked).decisions


def test_another_partition_has_the_requested_features_too(known: Known) -> None:
    """Where those that the job is beyond have them; the first one without them does not count."""
    partitions = (
        Partition(name="usual", nodes=8, node=ONE.node, default=True),
        Partition(name="fast", nodes=8, node=ONE.node, features=("nvme",), max_nodes=2),
        Partition(name="faster", nodes=8, node=ONE.node, features=("nvme", "ib")),
    )
    assert here(there(known, *partitions), architecture_constraint="nvme", node_count=3).title == "here/faster"


def test_targets_are_one_only_if_the_same_limit_led_there(known: Known) -> None:
    """Requests with one key share the decisions of the first one, which name the limit."""
    facts = there(known, USUAL.model_copy(update={"max_wall_time_s": 1800, "max_nodes": 2}), TWO)
    asked: list[dict[str, Any]] = [{"node_count": 3}, {"wall_time_limit": 3600}]
    requests = [normalise({"job": {"target": {"name": "here"}, "job_options": each}}).request for each in asked]
    decisions = {resolve(each, facts).decisions for each in requests}
    assert len(decisions) == len({target_key(each, facts) for each in requests}) == 2


@pytest.mark.parametrize(
    ("nodes", "seconds", "asked", "quality", "longest"),
    [
        (4, 600, None, "short", 345600),
        (4, 1201, None, "standard", 345600),
        (4, 90000, None, "long", 345600),
        (2000, 600, None, "largescale", 43200),
        (4, 600, "standard", "standard", 86400),
        (4, 600, "lowpriority", "lowpriority", 345600),
    ],
)
def test_the_quality_of_service_follows_the_job(
    known: Known, nodes: int, seconds: int, asked: str | None, quality: str, longest: int
) -> None:
    """By its size and length, as queues do, in one partition; the one that the request names stays, with its limits as far as known."""
    limits = (("short", 1, 32, 1200), ("standard", 1, 1024, 86400), ("long", 1, 64, 345600), ("largescale", 1025, 5860, 43200))
    queues = tuple(Queue(name="main", qos=name, min_nodes=few, max_nodes=many, max_wall_time_s=most) for name, few, many, most in limits)
    found = thin(known, {"qos": asked}, queues=queues)
    assert (found.partition_for(nodes, seconds), found.qos_for(nodes, seconds), found.max_wall_time_s(nodes)) == ("main", quality, longest)


def test_a_partition_that_is_not_recorded_has_no_queue_or_quality_of_service_of_another(known: Known) -> None:
    """Those of the default partition may not be allowed there."""
    queues = (Queue(name="large", qos="large", min_nodes=16, max_nodes=64),)
    found = thin(known, {"partition": "special"}, queues=queues, qos="usual")
    assert (found.partition_for(4, None), found.qos_for(4, None), found.queue_for(4)) == ("special", None, None)


def test_a_partition_that_is_not_recorded_is_not_said_to_give_whole_nodes(known: Known) -> None:
    """The default one does."""
    found = thin(known, whole_nodes=True)
    assert (found.gives_whole_nodes, replace(found, scheduler_partition="special").gives_whole_nodes) == (True, False)


@pytest.mark.parametrize(("nodes", "named", "queue"), [(2, None, "small"), (5, None, "large"), (2, "large", "large")])
def test_of_the_queues_of_a_quality_of_service_the_one_that_takes_the_job_is_asked_for(
    known: Known, nodes: int, named: str | None, queue: str
) -> None:
    """The one that the request names stays, also if it does not."""
    queues = tuple(Queue(name=name, qos="long", min_nodes=few, max_nodes=many) for name, few, many in (("small", 1, 2), ("large", 3, 9)))
    asked = replace(thin(known, {"qos": "long"}, queues=queues), scheduler_partition=named).queue_for(nodes)
    assert asked == {one.name: one for one in queues}[queue]


def test_a_partition_has_a_quality_of_service_of_its_own(known: Known) -> None:
    """For jobs that name none."""
    found = thin(known, {"partition": "fat"}, qos="usual")
    assert (found.qos_for(4, None), replace(found, qos="other").qos_for(4, None)) == ("usual", "other")


def test_a_partition_of_the_request_is_that_partition(known: Known) -> None:
    """Facts and limits of the fat nodes, and their queue."""
    found = place(known, {"name": "supermuc-ng"}, partition="fat")
    assert (found.partition and found.partition.job_nodes, found.partition_for(4, None)) == (144, "fat")
    assert not [line for line in found.decisions if line.startswith("partition: ")], "nothing was decided"


def test_a_queue_by_size_names_its_partition(known: Known) -> None:
    """Asked for by its queue's name, the partition is known."""
    found = place(known, {"name": "supermuc-ng"}, queue="general")
    assert (found.partition and found.partition.name, found.partition_for(4, None), found.warnings) == ("thin", "general", ())


def test_a_queue_beside_its_partition_is_asked_for(known: Known) -> None:
    """Instead of the one for the job's size; one that the partition does not have is left out, and that is said."""
    here = place(known, {"name": "supermuc-ng"}, partition="thin", queue="general")
    other = place(known, {"name": "supermuc-ng"}, partition="thin", queue="elsewhere")
    assert (here.partition_for(4, None), here.warnings, other.partition_for(4, None)) == ("general", (), "micro")
    assert messages(other)["job_options.queue"].startswith("elsewhere is left out: job_options.partition names 'thin' (queues: micro, ")


def test_of_two_queues_the_one_that_is_called_a_partition_is_asked_for(known: Known) -> None:
    """A job has one; the other is left out, and that is said."""
    found = place(known, {"name": "supermuc-ng"}, partition="general", queue="micro")
    assert found.partition_for(4, None) == "general"
    assert messages(found)["job_options.queue"].startswith("micro is left out: job_options.partition names 'general'")


@pytest.mark.parametrize("runtime", ["singularity", "apptainer"])
def test_singularity_and_apptainer_stand_in_for_each_other(runtime: str, known: Known) -> None:
    """A site that has one runs the other's images."""
    found = place(known, {"name": "hlrs-testbed", "container_runtime": runtime})
    assert found.runtime is not None
    assert found.runtime.name == "singularity"
    assert not found.warnings


def test_a_refused_runtime_names_reason_date_and_what_is_allowed(known: Known) -> None:
    """Why, since when, and what instead."""
    found = place(known, {"name": "supermuc-ng", "container_runtime": "apptainer"})
    message = messages(found)["target.container_runtime"]
    assert "as of 2020" in message
    assert "allowed: charliecloud" in message
    assert found.runtime is not None
    assert found.runtime.name == "charliecloud"


def test_where_every_runtime_is_refused_the_job_has_no_container(known: Known) -> None:
    """The warning names none in its place."""
    facts = there(known, runtimes=(RuntimePolicy(name="apptainer", allowed=False),))
    found = place(lambda _: facts, {"name": "here", "container_runtime": "apptainer"})
    told = "here does not allow apptainer; allowed: none; the job runs without a container"
    assert (found.runtime, messages(found)["target.container_runtime"]) == (None, told)


def test_a_runtime_of_which_the_site_says_nothing_is_not_taken_for_allowed(known: Known) -> None:
    """Where it names others."""
    found = place(known, {"name": "hlrs-testbed", "container_runtime": "sarus"})
    assert found.runtime is not None
    assert found.runtime.name == "singularity"
    assert messages(found)["target.container_runtime"].startswith("hlrs-testbed does not allow sarus; allowed: singularity")


def test_no_container_is_a_choice_of_its_own(known: Known) -> None:
    """``none`` is honoured everywhere."""
    assert place(known, {"name": "supermuc-ng", "container_runtime": "none"}).runtime is None


def test_an_unknown_system_names_the_nearest(known: Known) -> None:
    """Its own name is kept: results may be known under it."""
    found = place(known, {"name": "stampede3"})
    assert found.name == "stampede3"
    said = messages(found)["target.name"]
    hints = ("did you mean 'stampede2'", "plain shell (set target.job_scheduler_type)", "systems detect")
    assert [hint for hint in hints if hint not in said] == []
    with_scheduler = place(known, {"name": "stampede3", "job_scheduler_type": "slurm"})
    assert "plain shell" not in messages(with_scheduler)["target.name"]


def mixed(known: Known, *models: Curve) -> Facts:
    """A system ``mixed`` whose default partition has no GPUs; ``gpu`` has two of NVIDIA a node, ``big`` four."""
    thin = known(None).systems["supermuc-ng"].default_partition.model_copy(update={"queues": ()})
    node = thin.node.model_copy(update={"accelerator": "v100-sxm2-16gb", "accelerators": 2})
    gpu = thin.model_copy(update={"name": "gpu", "default": False, "node": node})
    big = gpu.model_copy(update={"name": "big", "node": node.model_copy(update={"accelerators": 4})})
    system = known(None).systems["supermuc-ng"].model_copy(update={"name": "mixed", "partitions": (thin, gpu, big)})
    return replace(known(None), systems={"mixed": system}, models=models)


def with_gpus(known: Known, *partitions: Partition) -> Facts:
    """That system with other partitions."""
    facts = mixed(known)
    return replace(facts, systems={"mixed": facts.systems["mixed"].model_copy(update={"partitions": partitions})})


def partition_of(facts: Facts, **job: Any) -> str | None:
    """What the script asks the scheduler for."""
    return resolve(normalise({"job": {"target": {"name": "mixed"}, **job}}).request, facts).partition_for(1, None)


@pytest.mark.parametrize(("gpus", "partition"), [(0, None), (1, "gpu"), (2, "gpu"), (4, "big"), (8, "big")])
def test_a_job_that_asks_for_gpus_goes_where_they_are(gpus: int, partition: str | None, known: Known) -> None:
    """To the first partition with enough of them, or with the most; without a wish for GPUs to the default."""
    assert partition_of(mixed(known), job_options={"request_gpus": gpus}) == partition
    asked = normalise({"job": {"target": {"name": "mixed"}, "job_options": {"request_gpus": gpus}}}).request
    assert ("because the job requests GPUs" in resolve(asked, mixed(known)).decisions[0]) == bool(partition)


@pytest.mark.parametrize(
    ("options", "partition"),
    [
        ({"request_gpus": 1}, "share"),
        ({"request_gpus": 2}, "whole"),
        ({"request_gpus": 1, "wall_time_limit": "01:00:00"}, "brief"),
        ({"request_gpus": 1, "node_count": 5}, "whole"),  # more than the others take
        ({"request_gpus": 1, "node_exclusive": True}, "whole"),
        ({"request_gpus": 1, "partition": "whole"}, "whole"),
        ({"request_gpus": 1, "qos": "debug"}, "whole"),
        ({"request_gpus": 1, "architecture_constraint": "ib"}, "whole"),
    ],
)
def test_a_job_with_some_gpus_of_a_node_goes_where_others_get_the_rest(options: dict[str, Any], partition: str, known: Known) -> None:
    """Not where it would be charged for all of them, nor to GPUs of another kind."""
    thin, gpu, _ = mixed(known).systems["mixed"].partitions
    thin = thin.model_copy(update={"features": ("ib",)})
    whole = gpu.model_copy(update={"name": "whole", "whole_nodes": True, "features": ("ib",)})
    other = gpu.model_copy(update={"name": "other", "node": gpu.node.model_copy(update={"accelerator": "t4"})})
    share = gpu.model_copy(update={"name": "share", "max_nodes": 4})
    brief = share.model_copy(update={"name": "brief", "max_wall_time_s": 3600})
    assert partition_of(with_gpus(known, thin, whole, other, brief, share), job_options=options) == partition


@pytest.mark.parametrize(("kind", "partition"), [("nvidia", "share"), ("amd", None)])
def test_gpus_of_another_kind_are_no_part_of_a_node(kind: str, partition: str | None, known: Known) -> None:
    """Where no partition has the kind that is asked for, the default stays, which gives whole nodes."""
    _, gpu, _ = mixed(known).systems["mixed"].partitions
    whole = gpu.model_copy(update={"default": True, "whole_nodes": True})
    facts = with_gpus(known, whole, gpu.model_copy(update={"name": "share"}))
    assert partition_of(facts, job_options={"request_gpus": 1}, optimisation={"opt_build": {"acc_type": kind}}) == partition


LARGE = [
    ({"node_count": 128}, None),
    ({"node_count": 129}, "skx-large"),
    ({"process_count_per_node": 2}, None),
    ({"node_count": 129, "queue": "skx-normal"}, "skx-normal"),
    ({"node_count": 5000}, None),
    ({"wall_time_limit": "48:00:00"}, None),
    ({"wall_time_limit": "48:00:01"}, "days"),
    ({"wall_time_limit": "200:00:00"}, "icx"),
    ({"wall_time_limit": "300:00:00"}, None),
    ({"node_count": 129, "wall_time_limit": "50:00:00"}, "icx"),
]


@pytest.mark.parametrize(("options", "partition"), LARGE)
def test_a_job_too_large_for_the_default_goes_where_it_is_taken(options: dict[str, Any], partition: str | None, known: Known) -> None:
    """For its nodes or its time, to a partition of the same nodes if there is one; a queue that the request names stays."""
    normal, large = known(None).systems["stampede2"].partitions
    days = normal.model_copy(update={"name": "days", "default": False, "max_nodes": 100, "max_wall_time_s": 432000})
    other = normal.model_copy(update={"name": "icx", "default": False, "max_nodes": 2000, "node": ONE.node, "max_wall_time_s": 999999})
    assert here(there(known, normal, other, large, days), **options).partition_for(1, None) == partition


def test_ranks_count_as_nodes_of_a_job_too_large_for_the_default(known: Known) -> None:
    """Their number per node says how many nodes they need; and the reasons name the partition."""
    wanted = {"target": {"name": "stampede2"}, "job_options": {"process_count_per_node": 2}, "application": {"mpi_ranks": 896}}
    found = resolve(normalise({"job": wanted}).request, known(None))
    assert found.partition_for(448, None) == "skx-large"
    assert found.decisions[0].startswith("partition: skx-large")


@pytest.mark.parametrize(("ranks", "partition"), [(2, None), (6, "two"), (None, None)])
def test_ranks_tell_which_queue_limits_the_time(ranks: int | None, partition: str | None, known: Known) -> None:
    """That for the nodes which they need, two on each; without ranks it may be the queue with the longest times."""
    queues = (Queue(name="long", max_nodes=2, max_wall_time_s=7200), Queue(name="wide", min_nodes=3, max_nodes=8, max_wall_time_s=600))
    facts = with_partitions(known, ONE.model_copy(update={"queues": queues, "default": True}), ONE.model_copy(update={"name": "two"}))
    options = {"process_count_per_node": 2, "wall_time_limit": 3600}
    job = {"target": {"name": "supermuc-ng"}, "job_options": options, "application": {"mpi_ranks": ranks} if ranks else {}}
    found = resolve(normalise({"job": job}).request, facts)
    assert found.decisions[:-1] == (("partition: two, because one runs such jobs for at most 00:10:00",) if partition else ())


@pytest.mark.parametrize(("kind", "partition"), [("nvidia", "gpu"), ("amd", None), ("intel", None), ("none", None)])
def test_a_kind_of_accelerator_is_looked_for_in_every_partition(kind: str, partition: str | None, known: Known) -> None:
    """Of that maker; where no partition has one, the default stays."""
    assert partition_of(mixed(known), optimisation={"opt_build": {"acc_type": kind}}) == partition


def test_results_on_gpus_alone_lead_to_the_partition_that_they_ran_in(known: Known) -> None:
    """A request that says nothing of GPUs is about the runs that were measured, and the reason is said."""
    facts = mixed(known, *fit(ran(100 / n, nodes=n, gpus_per_node=4, system="mixed", partition="big") for n in (1, 2)))
    found = resolve(normalise({"job": {"target": {"name": "mixed"}}}).request, facts)
    assert found.partition_for(1, None) == "big"
    assert found.decisions[0].startswith("partition: big, because all its results on mixed used GPUs")


@pytest.mark.parametrize(("other", "partition"), [(None, "gpu"), ("zenith", None), ("elsewhere", None)])
def test_results_of_other_systems_on_gpus_alone_lead_to_gpus(other: str | None, partition: str | None, known: Known) -> None:
    """A program that nobody ran without them goes to the first partition that has some, not to one without."""
    measured = [ran(100 / n, nodes=1, gpus_per_node=n, system="dgx-1") for n in (1, 2)]
    facts = mixed(known, *fit([*measured, ran(900, nodes=1, system=other)] if other else measured))
    found = resolve(normalise({"job": {"target": {"name": "mixed"}}}).request, facts)
    assert found.partition_for(1, None) == partition
    assert bool(partition) == ("because all its results, of other systems, used GPUs" in found.decisions[0])


def test_results_of_a_partition_without_gpus_used_none(known: Known) -> None:
    """Also if their column is empty: it is not true then that all results used GPUs, and the default partition stays."""
    on_gpus = [ran(100 / n, nodes=n, gpus_per_node=4, system="mixed", partition="big") for n in (1, 2)]
    facts = mixed(known, *fit([*on_gpus, ran(900, nodes=1, system="mixed", partition="thin")]))
    assert partition_of(facts) is None


def test_a_layout_that_nobody_measured_has_gpus_where_all_results_are_of_gpus(known: Known) -> None:
    """Two ranks a node were asked for, and four measured: the job is no less one of GPUs for that."""
    facts = mixed(known, *fit(ran(100 / n, nodes=n, ranks_per_node=4, gpus_per_node=4, system="mixed", partition="big") for n in (1, 2)))
    job = {"application": {"app_tag": "app", "app_type": "mpi"}, "job_options": {"process_count_per_node": 2}, "target": {"name": "mixed"}}
    request = normalise({"job": job}).request
    shapes = enumerate_candidates(request, resolve(request, facts), facts.models).shapes
    assert {(shape.ranks_per_node, shape.gpus_per_node) for shape in shapes} == {(2, 4)}


@pytest.mark.parametrize(
    "called", [{"queue": "accel"}, {"queues": (Queue(name="debug", min_nodes=2, max_nodes=2), Queue(name="accel", max_nodes=9))}]
)
def test_the_partition_with_gpus_is_asked_for_as_the_scheduler_calls_it(called: dict[str, Any], known: Known) -> None:
    """By its queue's name, of several by that of the queue which takes the job."""
    thin, gpu, big = mixed(known).systems["mixed"].partitions
    renamed = with_gpus(known, thin, gpu.model_copy(update=called), big)
    assert partition_of(renamed, job_options={"request_gpus": 2}) == "accel"
    named = resolve(normalise({"job": {"target": {"name": "mixed"}, "job_options": {"partition": "accel"}}}).request, renamed)
    assert (named.partition and named.partition.name, named.warnings) == ("gpu", ()), "it is known under that name, too"


@pytest.mark.parametrize(
    ("update", "job", "why"),
    [
        (
            {"only_if_named": True},
            {"optimisation": {"opt_build": {"acc_type": "nvidia"}}},
            "takes only jobs that name it in job_options.partition",
        ),
        ({"denied_accounts": ("old",)}, {"job_options": {"account": "old", "request_gpus": 4}}, "takes no jobs with account old"),
        ({"only_if_named": True}, {"job_options": {"request_gpus": 0}}, ""),
        ({}, {"optimisation": {"opt_build": {"acc_type": "nvidia"}}}, ""),
    ],
)
def test_gpus_that_a_job_does_not_get_by_itself_are_told(known: Known, update: dict[str, Any], job: dict[str, Any], why: str) -> None:
    """It would not be clear why it runs without any, or what would give it some."""
    thin, *gpus = mixed(known).systems["mixed"].partitions
    closed = with_gpus(known, thin, *(one.model_copy(update=update) for one in gpus))
    found = resolve(normalise({"job": {"target": {"name": "mixed"}, **job}}).request, closed)
    told = [f"partition: not {name} with its {count} GPUs per node, because it {why}" for name, count in (("gpu", 2), ("big", 4))]
    assert [one for one in found.decisions if one.startswith("partition: not ")] == (told if why else [])


def test_a_partition_that_is_named_is_kept_without_gpus(known: Known) -> None:
    """What the request says comes before what it would need."""
    assert partition_of(mixed(known), job_options={"partition": "thin", "request_gpus": 4}) == "thin"


@pytest.mark.parametrize(("label", "family"), [("MPICH", "mpich"), ("Open MPI 4.1", "openmpi"), ("mpich 4.0", "mpich"), ("MPT", None)])
def test_a_library_of_the_host_is_found_however_results_write_it(label: str, family: str | None, known: Known) -> None:
    """Else the job of a run that was measured with one library would start with another one."""
    libraries = (HostMpi(family="openmpi", default=True), HostMpi(family="mpich"))
    found = here(there(known, mpi=libraries)).mpi_called(label)
    assert (found.family if found else None) == family


@pytest.mark.parametrize(("label", "family"), [("mpich 4.0", "mpich"), ("MPT", "openmpi"), (None, "openmpi")])
def test_ranks_of_a_library_that_the_host_does_not_have_get_its_default(label: str | None, family: str, known: Known) -> None:
    """They are started by that, and not by none."""
    libraries = (HostMpi(family="mpich"), HostMpi(family="openmpi", default=True))
    found = here(there(known, mpi=libraries)).mpi_for(label)
    assert (found.family if found else None) == family


CPUS = ONE.model_copy(update={"default": True, "allowed_qos": ("normal", "Debug"), "denied_accounts": ("old",)})
OTHERS = ONE.model_copy(update={"name": "two", "denied_qos": ("debug",), "max_wall_time_s": 3600})
NARROW = ONE.model_copy(update={"name": "three", "allowed_accounts": ("chem",)})


@pytest.mark.parametrize(
    ("options", "partition"),
    [
        ({}, "one"),
        ({"qos": "debug", "account": "ai"}, "one"),  # Slurm reads its name in any case
        ({"qos": "long"}, "two"),
        ({"account": "old"}, "two"),
        ({"qos": "long", "wall_time_limit": "2 h"}, "two"),  # which may have a longer limit with it
        ({"qos": "long", "account": "chem"}, "two"),
    ],
)
def test_a_partition_that_refuses_the_job_is_passed_over(known: Known, options: dict[str, Any], partition: str) -> None:
    """By its quality of service or account; the reasons say so."""
    found = resolve(asking(options), with_partitions(known, CPUS, OTHERS, NARROW))
    assert found.partition
    assert found.partition.name == partition
    name = next(iter(options.values()), "")
    assert any(f"because one takes no jobs with {next(iter(options), '')} {name}" in one for one in found.decisions) == (partition == "two")


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"qos": "long"}, "job_options.qos: partition one takes no jobs with qos long (only with normal, Debug)"),
        ({"qos": "debug", "partition": "two"}, "job_options.qos: partition two takes no jobs with qos debug"),
        ({"account": "ai", "queue": "three"}, "job_options.account: partition three takes no jobs with account ai (only with chem)"),
    ],
)
def test_a_job_that_no_partition_takes_is_refused(known: Known, options: dict[str, Any], fault: str) -> None:
    """One line that names the field and what is allowed; also where the request names the partition."""
    places = (
        (CPUS, OTHERS, NARROW)
        if "partition" in options or "queue" in options
        else (CPUS, NARROW.model_copy(update={"denied_qos": ("long",)}))
    )
    with pytest.raises(Infeasible) as error:
        resolve(asking(options), with_partitions(known, *places))
    assert str(error.value) == fault


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"account": "ai"}, ["the nodes of fast have what is asked for; it takes no jobs with account ai (only with chem)"]),
        ({"account": "chem"}, []),
        ({"account": "ai", "architecture_constraint": "slow"}, []),
    ],
)
def test_features_that_only_a_closed_partition_has_are_told(known: Known, options: dict[str, Any], told: list[str]) -> None:
    """The scheduler would say that there are no such nodes."""
    slow, fast = (ONE.model_copy(update={"name": name, "features": (name,)}) for name in ("slow", "fast"))
    facts = with_partitions(known, slow.model_copy(update={"default": True}), fast.model_copy(update={"allowed_accounts": ("chem",)}))
    found = resolve(asking({"architecture_constraint": "fast", **options}), facts)
    assert [one.message for one in found.warnings] == told


def test_a_partition_that_is_not_on_record_refuses_nobody(known: Known) -> None:
    """The lists are those of another one."""
    assert resolve(asking({"partition": "new", "qos": "long"}), with_partitions(known, CPUS)).scheduler_partition == "new"


def test_targets_are_one_only_if_the_same_partitions_take_them(known: Known) -> None:
    """Accounts count only where a partition refuses some."""
    facts = with_partitions(known, CPUS, OTHERS)
    keys = [target_key(asking({"account": account}), facts) for account in ("ai", "chem", "old")]
    assert (keys[0] == keys[1], keys[0] == keys[2]) == (True, False)


def test_what_a_partition_takes_is_told_to_a_request_that_names_none(known: Known) -> None:
    """The user's own quality of service may be refused; so may the default account, which is a warning."""
    facts = with_partitions(known, CPUS, NARROW)
    assert "qos: none is named, so it is the user's own; partition one takes normal, Debug only" in resolve(asking({}), facts).decisions
    named = asking({"partition": "three"})
    assert [one.message for one in uncharged(named, resolve(named, facts))] == [
        "jobs on supermuc-ng/three are charged to a project: without one, the job is rejected unless your default is one of chem"
    ]


@pytest.mark.parametrize(
    ("update", "options"),
    [
        ({}, {"qos": "normal"}),
        ({"qos": "normal"}, {}),
        ({"queues": (Queue(name="one", qos="normal", max_nodes=8),)}, {}),
        ({"allowed_qos": ()}, {}),
        ({}, {"partition": "special"}),
    ],
)
def test_nothing_is_told_of_qualities_of_service_where_the_job_has_one_or_may_have_any(
    known: Known, update: dict[str, Any], options: dict[str, Any]
) -> None:
    """By the request, the partition or its queues; of a partition that is not on record nothing is known."""
    facts = with_partitions(known, CPUS.model_copy(update={"default": True, **update}))
    assert [line for line in resolve(asking(options), facts).decisions if line.startswith("qos: ")] == []


def asking(options: Mapping[str, Any]) -> Request:
    """A request for SuperMUC-NG."""
    return normalise({"job": {"target": {"name": "supermuc-ng"}, "job_options": options}}).request


def with_partitions(known: Known, *partitions: Partition) -> Facts:
    """SuperMUC-NG with these partitions."""
    facts = known(None)
    system = facts.systems["supermuc-ng"].model_copy(update={"partitions": partitions})
    return replace(facts, systems={**facts.systems, system.name: system})


@pytest.mark.parametrize(
    ("required", "mandatory", "account", "told"),
    [
        (True, (), None, ["jobs on supermuc-ng are charged to a project"]),
        (True, (), "pr12ab", []),
        (False, (), None, []),
        (True, ("--account",), None, ["the site requires --account in every job"]),
    ],
)
def test_a_job_without_the_account_that_it_is_charged_to_is_told_once(
    known: Known, required: bool, mandatory: tuple[str, ...], account: str | None, told: list[str]
) -> None:
    """The scheduler would refuse it, or charge another project."""
    facts = known(None)
    update = {"account_required": required, "mandatory_directives": mandatory}
    systems = {**facts.systems, "supermuc-ng": facts.systems["supermuc-ng"].model_copy(update=update)}
    job = {"target": {"name": "supermuc-ng"}, "application": {"executable": "./solve"}, "job_options": {"account": account}}
    plan = optimise(normalise({"job": job}).request, replace(facts, systems=systems)).plan
    said = [one.message for one in plan.warnings if one.field == "job_options.account"]
    assert [part in one for one, part in zip(said, told, strict=True)] == [True] * len(told)


@pytest.mark.parametrize(("qos", "told"), [("degub", True), ("debug", False), (None, False)])
def test_a_quality_of_service_that_the_system_file_does_not_have_is_told(known: Known, qos: str | None, told: bool) -> None:
    """It may be mistyped, if it keeps the job out of the default partition; one that another partition names may be meant."""
    only_long = CPUS.model_copy(update={"allowed_qos": ("long",)})
    found = resolve(asking({"qos": qos}), with_partitions(known, only_long, OTHERS.model_copy(update={"denied_qos": (), "qos": "debug"})))
    assert (found.partition and found.partition.name) == ("two" if qos else "one")
    text = (
        "two is asked for, because one takes no jobs with it; unknown quality of service 'degub'; did you mean 'debug'? known: debug, long"
    )
    assert messages(found) == ({"job_options.qos": text} if told else {})


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"request_specific_nodes": "n1"}, True),
        ({"request_specific_nodes": "n1", "architecture_constraint": "thin"}, False),
        ({"architecture_constraint": "thin"}, False),
    ],
)
def test_nodes_that_are_named_may_be_of_another_kind(known: Known, options: dict[str, Any], told: bool) -> None:
    """Slurm rejects a job that names a node of one kind and asks for the feature of another."""
    thin, thick = (ONE.model_copy(update={"name": name, "queue": "work", "constraint": name, "default": name == "thin"}) for name in KINDS)
    found = messages(resolve(asking(options), with_partitions(known, thin, thick)))
    text = "the job is planned for nodes with the feature thin, and is rejected if those named are of another kind"
    assert found == (
        {"job_options.request_specific_nodes": f"{text}: ask for these by job_options.architecture_constraint (thick)"} if told else {}
    )


KINDS = ("thin", "thick")


@pytest.mark.parametrize(("cpu_unit", "most", "cores"), [("core", 8, 8), ("thread", 8, 4), ("core", 64, 40), ("core", None, 40)])
def test_a_queue_that_gives_a_part_of_a_node_has_that_part(known: Known, cpu_unit: str, most: int | None, cores: int) -> None:
    """Layouts have no more cores; jobs without that quality of service have all."""
    node = ONE.node.model_copy(update={"threads_per_core": 2})
    queues = (Queue(name="one", max_nodes=8), Queue(name="one", qos="part", max_nodes=1, max_cpus=most))
    facts = with_partitions(known, ONE.model_copy(update={"queues": queues, "node": node}))
    system = facts.systems["supermuc-ng"].model_copy(update={"cpu_unit": cpu_unit})
    facts = replace(facts, systems={**facts.systems, system.name: system})
    has = [resolve(asking({"qos": qos}), facts).node for qos in ("part", "Part", None)]  # Slurm reads it in any case
    assert [node and node.usable_cores for node in has] == [cores, cores, 40]


@pytest.mark.parametrize(
    ("most", "usable", "memory"),
    [
        ([64.0], 180.0, 64.0),
        ([400.0], 180.0, 180.0),
        ([None], 180.0, 180.0),
        ([64.0], None, 64.0),
        ([64.0, 100.0], 180.0, 100.0),
        ([64.0, None], 180.0, 180.0),
    ],
)
def test_queues_that_give_a_part_of_the_memory_have_the_largest(
    known: Known, most: list[float | None], usable: float | None, memory: float
) -> None:
    """No more than jobs may use of a node, though."""
    node = ONE.node.model_copy(update={"memory_gb": usable, "usable_memory_gb": usable})
    queues = tuple(Queue(name=f"to-{limit}", max_nodes=8, max_memory_per_node_gb=limit) for limit in most)
    found = resolve(asking({}), with_partitions(known, ONE.model_copy(update={"queues": queues, "node": node, "default": True})))
    assert found.node is not None
    assert found.node.job_memory_gb == memory
