"""The main flow on the packaged evidence: what is chosen, why, and what happens when the evidence changes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from modak.choosing.decision import decide, pareto_front
from modak.choosing.nodes import node_power
from modak.choosing.objective import pareto
from modak.dsl import Request
from modak.errors import Conflict, Infeasible, RequestError, UnknownName
from modak.facts import Facts, Layout, Node, Queue, Result, RuntimePolicy, SeriesKey
from modak.normalise import normalise
from modak.optimise import Answer, check, optimise, recommend
from modak.perfmodel import Question, Used, fit, predict
from modak.perfmodel.curves import fitted
from modak.perfmodel.intervals import stretch
from modak.prepared import prepared
from modak.text.documents import with_value
from modak.text.grammar import version_range
from tests.systems import site

Known = Callable[[str | None], Facts]
EXAMPLES = Path(__file__).parent.parent / "examples"


def example(name: str, **changes: Any) -> Request:
    """A request of ``examples/``; ``changes`` replace parts of it, ``a__b`` being the key ``b`` of section ``a``."""
    document = json.loads((EXAMPLES / f"{name}.json").read_text())
    for path, value in changes.items():
        document = with_value(document, ("job", *path.split("__")), value)
    return normalise(document).request


def answer(request: Request, known: Known) -> Answer:
    """The answer on the packaged facts."""
    return optimise(request, known(request.workload_name))


@pytest.fixture(scope="module")
def training(known: Known) -> Answer:
    """3DGAN on SuperMUC-NG, 20 epochs within an hour, nodes left open."""
    return answer(example("3dgan-supermuc-ng"), known)


def test_the_fastest_measured_layout_is_chosen(training: Answer) -> None:
    """Four ranks of twelve threads with the host's MPI, the evidence's fastest."""
    chosen = training.plan.configuration
    assert (chosen.ranks_per_node, chosen.threads_per_rank, chosen.mpi_from, chosen.hyperthreads) == (4, 12, "host", False)


def figures(known: Known, **changes: Any) -> tuple[Request, Facts]:
    """The training, and its system where a node draws 400 W and an hour of one costs 3."""
    request = example("3dgan-supermuc-ng", **changes)
    facts = known(request.workload_name)
    system = facts.systems["supermuc-ng"]
    partition = system.default_partition
    node = partition.node.model_copy(update={"power_w": 400.0})
    system = system.model_copy(update={"partitions": (partition.model_copy(update={"price_per_node_hour": 3.0, "node": node}),)})
    return request, replace(facts, systems={**facts.systems, "supermuc-ng": system})


def test_energy_and_cost_are_those_of_the_node_hours(known: Known) -> None:
    """400 W and 3 units of money for each hour of a node."""
    plan = optimise(*figures(known)).plan
    hours = plan.configuration.nodes * (plan.prediction.value or 0) / 3600
    assert [plan.node_hours, plan.energy_kwh, plan.cost] == pytest.approx([hours, 0.4 * hours, 3 * hours])


@pytest.mark.parametrize(("minimise", "figure"), [("energy", "the power of a node"), ("cost", "the price per node-hour")])
def test_a_figure_that_the_objective_needs_is_said_where_it_is_missing(minimise: str, figure: str, known: Known) -> None:
    """And only there."""
    request, facts = figures(known, optimisation__objective={"minimise": minimise})
    told, untold = ([one.message for one in answered.plan.warnings] for answered in (answer(request, known), optimise(request, facts)))
    said = f"{figure} is not recorded for supermuc-ng; node-hours are minimised instead"
    assert (said in told, said in untold) == (True, False)


@pytest.mark.parametrize("minimise", ["energy", "cost"])
def test_the_reasons_name_what_is_minimised_instead(minimise: str, known: Known) -> None:
    """As the warning about the missing figure does."""
    request, facts = figures(known, optimisation__objective={"minimise": minimise})
    said = ["; ".join(answered.plan.decisions) for answered in (answer(request, known), optimise(request, facts))]
    assert ["objective: minimise node-hours" in said[0], f"objective: minimise {minimise}" in said[1]] == [True, True]


def test_the_fewest_nodes_meet_the_deadline_at_its_confidence(training: Answer) -> None:
    """22 nodes would do on average; 24 do with a probability of 0.9."""
    assert training.plan.configuration.nodes == 24


def test_the_size_that_the_default_efficiency_excludes_is_named(known: Known) -> None:
    """The next larger one that was predicted, which is faster."""
    found = recommend(example("3dgan-supermuc-ng", optimisation__objective={}, job_options={}), known("3dgan"))
    (line,) = (line for line in found.decisions if line.startswith("nodes: "))
    assert re.search(r"; 544 nodes \(.+ predicted\) would have an efficiency below 0.5, the job's start included$", line), line


AT_MOST = "2-00:00:01 requested, but a job of 24 nodes on supermuc-ng/thin may run for at most 2-00:00:00"


@pytest.mark.parametrize(
    ("options", "warned", "limit"),
    [
        ({"wall_time_limit": "48:00:00"}, [], 172_800),
        ({"wall_time_limit": "48:00:01"}, [f"{AT_MOST}: the script asks for that"], 172_800),
        ({"wall_time_limit": "48:00:01", "reservation": "long"}, [AT_MOST], 172_801),
        ({"wall_time_limit": "48:00:01", "qos": "long"}, [AT_MOST], 172_801),
    ],
)
def test_a_run_that_is_over_in_time_asks_for_no_more_than_a_job_may_have(
    options: dict[str, str], warned: list[str], limit: int, known: Known
) -> None:
    """The scheduler would not start the job, unless a quality of service or a reservation has limits of its own."""
    plan = answer(example("3dgan-supermuc-ng", job_options=options), known).plan
    assert [one.message for one in plan.warnings if one.field == "job_options.wall_time_limit"] == warned
    assert plan.wall_time_s == limit


def test_a_run_is_over_in_time_where_its_start_up_is_known(known: Known) -> None:
    """Its prediction has that, and ends before the limit: nothing is added to it."""
    facts = known("3dgan")
    here = facts.systems["supermuc-ng"]
    partitions = tuple(one.model_copy(update={"max_wall_time_s": 3600, "queues": ()}) for one in here.partitions)
    request = example("3dgan-supermuc-ng", job_options={"wall_time_limit": "02:00:00", "node_count": 24})
    with pytest.raises(Infeasible, match="ask for no more"):
        optimise(request, replace(facts, systems={"supermuc-ng": here.model_copy(update={"partitions": partitions})}))
    told = here.model_copy(update={"partitions": partitions, "start_up_s": 0.0})
    assert optimise(request, replace(facts, systems={"supermuc-ng": told})).plan.wall_time_s == 3600


def nobody_ran_this(known: Known, queues: tuple[Queue, ...] = (), **job: Any) -> Answer:
    """The answer to a request for three days on a partition that allows two, of a program without results."""
    facts = known(None)
    here = facts.systems["supermuc-ng"]
    thin = here.partitions[0].model_copy(update={"queues": queues, "max_wall_time_s": 172_800})
    system = here.model_copy(update={"partitions": (thin,)})
    options = {"wall_time_limit": "72:00:00", "node_count": 4, **job.pop("job_options", {})}
    application = {"app_tag": "nobody-ran-this", "app_type": "mpi", "executable": "./a", **job.pop("application", {})}
    document = {"job": {"target": {"name": "supermuc-ng"}, "application": application, "job_options": options}}
    return optimise(normalise(document).request, replace(facts, systems={"supermuc-ng": system}))


def test_a_run_that_no_job_can_hold_is_refused(known: Known) -> None:
    """It would be rejected, or wait in the queue for ever, or be stopped before its end with all its work lost."""
    with pytest.raises(Infeasible) as refused:
        nobody_ran_this(known, (Queue(name="short", max_nodes=64), Queue(name="long", max_nodes=2, max_wall_time_s=604_800)))
    (fault,) = refused.value.faults
    assert fault.field == "job_options.wall_time_limit"
    assert fault.message == (
        "3-00:00:00 requested, but a job of 4 nodes on supermuc-ng may run for at most 2-00:00:00: ask for no more; with "
        "application.checkpoint, or a signal, each job asks for that, and the next one continues it; "
        "longer jobs may run in long (1 to 2 nodes)"
    )


@pytest.mark.parametrize("turned", [1, -1])
def test_queues_of_one_name_are_told_apart_where_longer_jobs_may_run(turned: int, known: Known) -> None:
    """By their quality of service, in any order: the first may be the one that takes longer jobs."""
    several = [Queue(name="batch", max_nodes=2, qos=qos, max_wall_time_s=days * 86_400) for qos, days in (("long", 7), ("usual", 1))]
    with pytest.raises(Infeasible, match=r"longer jobs may run in batch \(qos long, 1 to 2 nodes\)$"):
        nobody_ran_this(known, (*several[::turned], Queue(name="batch", max_nodes=8)))


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
    facts = known(None)
    here = facts.systems["supermuc-ng"]
    thin = here.partitions[0].model_copy(
        update={
            "queues": (Queue.model_validate({"name": "batch", "max_nodes": 8, **limit}),),
            "default_memory_per_cpu_gb": 0.5,
            "resource_directives": ("--nodes={nodes}", "--ntasks-per-node={ranks_per_node}", "--mem={memory_mib_per_node}M"),
        }
    )
    job = {
        "application": {"app_type": "mpi", "executable": "./a"},
        "target": {"name": "supermuc-ng"},
        "job_options": {"node_count": 1, "process_count_per_node": ranks},
    }
    known_here = replace(facts, systems={"supermuc-ng": here.model_copy(update={"partitions": (thin,)})})
    script = optimise(normalise({"job": job}).request, known_here).texts.job_script
    assert f"#SBATCH --mem={asks}M\n" in script


def test_a_job_with_a_quality_of_service_of_its_own_has_not_the_limits_of_another_one(known: Known) -> None:
    """One that the system file does not have."""
    long = Queue(name="batch", qos="long", max_nodes=8, max_cpus=16, max_wall_time_s=604_800)
    script = nobody_ran_this(known, (Queue(name="batch", max_nodes=8), long), job_options={"qos": "other"}).texts.job_script
    assert "--qos=other\n" in script


def test_a_node_for_itself_brings_all_of_its_gpus(known: Known) -> None:
    """Slurm counts them, and would let the job wait for ever with a quality of service that allows one."""
    facts = known(None)
    system = facts.systems["dgx-1"]
    queues = (Queue(name="gpu", max_nodes=1), Queue(name="gpu", qos="one", max_nodes=1, max_gpus=1))
    gpus = system.partitions[0].model_copy(update={"queues": queues})
    facts = replace(facts, systems={system.name: system.model_copy(update={"partitions": (gpus,), "scheduler": "slurm"})})

    def asking(**options: Any) -> Request:
        job = {"qos": "one", "request_gpus": 1, "wall_time_limit": 600, **options}
        application = {"app_tag": "x", "executable": "./a"}
        return normalise({"job": {"target": {"name": system.name}, "application": application, "job_options": job}}).request

    assert optimise(asking(), facts).texts.job_script
    with pytest.raises(Infeasible, match=f"at most 1 GPU, and this one has {gpus.node.accelerators}"):
        optimise(asking(node_exclusive=True), facts)


def test_kinds_of_nodes_of_one_name_are_named_where_one_takes_longer_jobs(known: Known) -> None:
    """Once, also if the kind that comes last takes only shorter ones."""
    facts = known(None)
    here = facts.systems["supermuc-ng"]
    kinds = [("a", "work", 259_200), ("b", "work", 259_200), ("c", "work", 86_400), ("d", "short", 86_400)]
    partitions = tuple(
        here.partitions[0].model_copy(
            update={"name": name, "queue": queue, "queues": (), "max_wall_time_s": seconds, "default": name == "d"}
        )
        for name, queue, seconds in kinds
    )
    options = {"wall_time_limit": "72:00:00", "node_count": 4, "partition": "short"}
    request = {"target": {"name": "supermuc-ng"}, "application": {"app_tag": "x", "executable": "./a"}, "job_options": options}
    system = here.model_copy(update={"partitions": partitions})
    with pytest.raises(Infeasible, match=r"longer jobs may run in work$"):
        optimise(normalise({"job": request}).request, replace(facts, systems={"supermuc-ng": system}))


def test_the_place_of_the_longest_jobs_is_named_if_these_are_too_short_too(known: Known) -> None:
    """In a queue of its own, for jobs of one node."""
    with pytest.raises(Infeasible, match=r"continues it; 2-12:00:00 is the most, in single \(1 node\)$"):
        nobody_ran_this(known, (Queue(name="short", max_nodes=64), Queue(name="single", max_nodes=1, max_wall_time_s=216_000)))


@pytest.mark.parametrize(
    "job",
    [
        {"application": {"checkpoint": "touch saved"}},
        {"job_options": {"signal": "USR1@120"}},
        {"job_options": {"job_dependency": "afterany:7"}},
    ],
)
def test_a_run_that_another_job_continues_asks_for_all_that_a_job_may_have(known: Known, job: dict[str, Any]) -> None:
    """Nothing of it is lost at the limit."""
    found = nobody_ran_this(known, **job)
    assert "#SBATCH --time=2-00:00:00\n" in found.texts.job_script
    (said,) = [one.message for one in found.plan.warnings if one.field == "job_options.wall_time_limit"]
    assert said.endswith("may run for at most 2-00:00:00: the script asks for that")


@pytest.mark.parametrize(("options", "given"), [({}, "01:00:00"), ({"qos": "debug"}, "00:30:00")])
def test_the_default_time_of_a_partition_is_no_more_than_a_job_may_have(known: Known, options: dict[str, Any], given: str) -> None:
    """With a quality of service that gives less, the scheduler would reject the script."""
    facts = known(None)
    system = facts.systems["supermuc-ng"]
    queues = (Queue(name="micro", max_nodes=16), Queue(name="micro", qos="debug", max_nodes=1, max_wall_time_s=1800))
    thin = system.partitions[0].model_copy(update={"queues": queues, "default_wall_time_s": 3600})
    facts = replace(
        facts, systems={**facts.systems, "supermuc-ng": system.model_copy(update={"partitions": (thin, *system.partitions[1:])})}
    )
    job = {"target": {"name": "supermuc-ng"}, "job_options": options, "application": {"executable": "./never-ran", "app_type": "mpi"}}
    assert f"#SBATCH --time={given}\n" in optimise(normalise({"job": job}).request, facts).texts.job_script


@pytest.mark.parametrize("ask", [optimise, recommend])
def test_more_time_than_the_named_quality_of_service_gives_is_refused(ask: Callable[[Request, Facts], object], known: Known) -> None:
    """The system file says how long its jobs may run; the scheduler would reject the script."""
    request = example(
        "3dgan-supermuc-ng", job_options={"qos": "debug", "wall_time_limit": "01:00:00", "node_count": 1}, optimisation__objective={}
    )
    facts = known(request.workload_name)
    system = facts.systems["supermuc-ng"]
    queues = (Queue(name="micro", max_nodes=16), Queue(name="micro", qos="debug", max_nodes=1, max_wall_time_s=1800))
    thin = system.partitions[0].model_copy(update={"queues": queues})
    facts = replace(
        facts, systems={**facts.systems, "supermuc-ng": system.model_copy(update={"partitions": (thin, *system.partitions[1:])})}
    )
    with pytest.raises(Infeasible, match="may run for at most 00:30:00: ask for no more"):
        ask(request, facts)


@pytest.mark.parametrize("asked", [{"partition": "of-my-own"}, {"qos": "long"}])
def test_a_limit_that_may_be_another_one_refuses_nothing(known: Known, asked: dict[str, str]) -> None:
    """That of a partition that is not on record, or of a quality of service: the script asks for what is requested, with a warning."""
    found = nobody_ran_this(known, job_options=asked)
    assert "#SBATCH --time=3-00:00:00\n" in found.texts.job_script
    assert "job_options.wall_time_limit" in [one.field for one in found.plan.warnings]


@pytest.mark.parametrize(
    ("executable", "started"),
    [
        ("mnist.py --lr 1", "python3 mnist.py --lr 1"),
        ("${HOME}/mnist.py", 'python3 "${HOME:?}"/mnist.py'),
        ("python3 -u mnist.py", "python3 -u mnist.py"),
    ],
)
def test_a_script_of_python_is_started_by_it(executable: str, started: str, known: Known) -> None:
    """A file without a folder is looked for on PATH alone, and seldom may be executed."""
    texts = answer(example("mnist-hlrs-xla", application__executable=executable, application__arguments=None), known).texts
    assert f"\n    {started}\n" in texts.job_script


def test_half_confidence_takes_the_mean(known: Known) -> None:
    """At a confidence of one half the deadline is met by the prediction itself."""
    request = example("3dgan-supermuc-ng", optimisation__objective={"minimise": "node_hours", "deadline": "01:00:00", "confidence": 0.5})
    assert answer(request, known).plan.configuration.nodes == 22


@pytest.mark.parametrize(
    ("system", "whole", "part", "share"),
    [
        ("dgx-1-v100", (None, None), (1, 1), 1 / 8),
        ("zenith", (0, None), (0, 10), 1 / 4),
        ("zenith", (0, None), (0, 80), 1.0),
    ],
)
def test_the_power_behind_a_run_is_that_of_what_it_uses(known: Known, system: str, whole: Any, part: Any, share: float) -> None:
    """GPUs by their number; processors by the cores that threads keep busy, of which hyper-threads make no more."""
    power = node_power(known(None))
    found = [power(Used(system, None, *used)).tflops for used in (part, whole)]
    assert None not in found
    assert (found[0] or 0) / (found[1] or 1) == pytest.approx(share)


def test_the_gpus_of_a_run_are_not_held_against_processors_of_the_default_partition(known: Known) -> None:
    """Results rarely name their partition: those with GPUs ran where GPUs are."""
    facts = known(None)
    cpu = facts.systems["zenith"].default_partition
    gpu = facts.systems["dgx-1-v100"].default_partition.model_copy(update={"name": "gpu", "default": False})
    mixed = facts.systems["zenith"].model_copy(update={"name": "mixed", "partitions": (cpu, gpu)})
    power = node_power(replace(facts, systems={**facts.systems, "mixed": mixed}))
    there, here = (power(Used(system, None, gpus=8)) for system in ("mixed", "dgx-1-v100"))
    assert there == here
    assert [*there] == [pytest.approx(7200), pytest.approx(125.6), None]


def test_processors_of_which_one_peak_is_not_known_are_compared_by_their_cores(known: Known) -> None:
    """48 cores of SuperMUC-NG are not what 12 cores of a slow processor are."""
    power = node_power(known(None))
    there, here = (power(Used(system, None, gpus=0)) for system in ("supermuc-ng", "skylake-bronze-1080ti"))
    assert (there.tflops, here.tflops) == (None, None)
    assert (there.cores, here.cores) == (48, 12)


@pytest.mark.parametrize(("measured", "asked"), [("supermuc-ng", "dgx-1"), ("dgx-1", "supermuc-ng")])
def test_a_program_of_nodes_without_gpus_needs_none_elsewhere(known: Known, measured: str, asked: str) -> None:
    """48 and 40 cores; the eight GPUs of one of them have no part in it, though no column says so."""
    key = SeriesKey(application="solver", system=measured, metric="wall_time", unit="s")
    curves = fit([Result(series=key, layout=Layout(nodes=1), value=240.0)])
    found = predict(curves, Question({"system": asked}), [1], node_power(known(None))).value[0]
    assert found == pytest.approx(288 if asked == "dgx-1" else 200)


def test_runs_over_gpus_ran_where_nodes_have_as_many_as_they_used(known: Known) -> None:
    """A curve of four V100 per node, predicted for V100: not compared with the single T4 of the first partition."""
    facts, key = known(None), SeriesKey(application="net", system="site", metric="throughput", unit="samples/s")
    lent = facts.systems["fujitsu-primeflex-large"]
    _, t4, v100 = lent.partitions
    one = t4.model_copy(update={"node": t4.node.model_copy(update={"accelerators": 1})})
    cpu = facts.systems["zenith"].default_partition
    facts = replace(facts, systems={**facts.systems, "site": lent.model_copy(update={"name": "site", "partitions": (cpu, one, v100)})})
    layouts = [Layout(nodes=1, ranks_per_node=count, gpus_per_node=count) for count in (1, 2, 4)]
    measured = fit([Result(series=key, layout=each, value=100.0 * (each.gpus_per_node or 1)) for each in layouts])
    told = [
        predict(measured, Question({"system": "dgx-1-v100"}, Layout(gpus_per_node=used)), [1], node_power(facts)).value[0]
        for used in (1, 4, None)
    ]
    assert [1 / cost for cost in told] == pytest.approx([100, 400, 100])


@pytest.mark.parametrize("counts", [{}, {"process_count_per_node": 4, "node_count": 128}])
def test_efficiency_is_against_the_smallest_size_that_was_measured(known: Known, counts: dict[str, int]) -> None:
    """E(128) = T(4) 4 / (T(128) 128), whether the number of nodes is chosen or given."""
    request = example(
        "3dgan-supermuc-ng", job_options__wall_time_limit=None, optimisation__objective={"max_nodes": 128, "minimise": "time"}
    )
    options = request.job_options.model_copy(update=counts)
    smallest = answer(request.model_copy(update={"job_options": options.model_copy(update={"node_count": 4})}), known).plan
    largest = answer(request.model_copy(update={"job_options": options}), known).plan
    assert smallest.node_hours is not None
    assert largest.node_hours is not None
    assert smallest.efficiency == 1.0
    assert largest.efficiency == pytest.approx(smallest.node_hours / largest.node_hours, abs=1e-4)


@pytest.mark.parametrize("field", ["application.minimal_efficiency", "optimisation.hpc.mpi.scaling_efficiency"])
def test_counts_that_miss_the_published_efficiency_are_kept(known: Known, field: str) -> None:
    """Its callers make an empty script of a refusal."""
    given = {"mpi": {"scaling_efficiency": 0.99}} if "scaling" in field else {}
    application = {"app_tag": "3dgan", "app_type": "mpi", "executable": "./3dgan", "mpi_ranks": 512}
    job = {
        "application": application | ({} if given else {"minimal_efficiency": 0.99}),
        "target": {"name": "supermuc-ng"},
        "job_options": {"node_count": 128},
        "optimisation": {"app_type": "hpc", "hpc": given},
    }
    plan = answer(normalise({"job": job}).request, known).plan
    assert plan.configuration.nodes == 128
    (message,) = (notice.message for notice in plan.warnings if notice.field == field)
    assert message.startswith("a parallel efficiency of 0.99 is not reached")


def test_the_last_node_may_have_fewer_workers(known: Known) -> None:
    """They make the global batch: 94 ranks on 24 nodes with room for 96."""
    request = example("3dgan-supermuc-ng", application__mpi_ranks=94, optimisation__workload__batch_size=8)
    found = answer(request, known).plan.configuration
    assert (found.nodes, found.ranks_per_node, found.workers, found.global_batch) == (24, 4, 94, 752)


def test_efficiency_of_results_over_gpus_is_against_the_smallest_number_of_nodes(known: Known) -> None:
    """705 samples/s on one node, 7080 on 16; also if only 16 nodes are considered."""
    plan = answer(example("resnet50-gpu-cluster", job_options__node_count=16), known).plan
    assert plan.efficiency == pytest.approx(7080 / (16 * 705), abs=0.01)


def test_given_counts_that_miss_the_published_efficiency_are_kept_under_a_deadline_that_they_meet(known: Known) -> None:
    """The deadline is a limit; the published field is not, for counts that are given."""
    plan = answer(example("resnet50-gpu-cluster", job_options__node_count=16, application__minimal_efficiency=0.75), known).plan
    assert "application.minimal_efficiency" in {notice.field for notice in plan.warnings}


@pytest.mark.parametrize("counts", [{}, {"job_options__node_count": 128}])
def test_an_objective_that_is_missed_is_refused(known: Known, counts: dict[str, int]) -> None:
    """It states limits, for which nothing else is an answer."""
    with pytest.raises(Infeasible, match=r"efficiency of 0\.99|together"):
        answer(example("3dgan-supermuc-ng", optimisation__objective={"min_efficiency": 0.99, "deadline": 7200}, **counts), known)


@pytest.mark.parametrize(
    ("unit", "ranks", "threads", "said"),
    [("core", 96, 1, "--overcommit"), ("core", 32, 3, "--overcommit"), ("thread", 96, 1, "--ntasks-per-node=96")],
)
def test_ranks_that_share_cores_are_more_than_a_scheduler_of_cores_counts(
    known: Known, unit: str, ranks: int, threads: int, said: str
) -> None:
    """Slurm refuses tasks that need more CPUs than there are unless it is told to overcommit: three threads a rank are two cores."""
    facts = known(None)
    system = facts.systems["stampede2"].model_copy(update={"cpu_unit": unit})
    job = {"target": {"name": "stampede2"}, "application": {"app_type": "mpi", "executable": "./a", "threads": threads}}
    request = normalise({"job": {**job, "job_options": {"node_count": 1, "process_count_per_node": ranks}}}).request
    assert f"#SBATCH {said}\n" in optimise(request, replace(facts, systems={**facts.systems, "stampede2": system})).texts.job_script


def test_a_batch_that_results_leave_unsaid_is_that_of_the_request(known: Known) -> None:
    """It makes the global batch of every candidate, and the advice on large ones."""
    workload = {"application": "3dgan", "dataset": "clic-calorimeter", "epochs": 20, "batch_size": 128}
    plan = answer(example("3dgan-supermuc-ng", optimisation__workload=workload), known).plan
    for made in (plan.configuration, *(choice.configuration for choice in plan.alternatives)):
        assert made.global_batch == 128 * made.nodes * made.ranks_per_node
    assert any("this global batch may cost accuracy" in line and "the global batch is 12288 " in line for line in plan.advice)


@pytest.mark.parametrize(("precision", "basis"), [("fp32", "interpolated"), ("fp16", "transferred")])
def test_results_that_leave_their_precision_unsaid_are_of_single_precision(known: Known, precision: str, basis: str) -> None:
    """For another one they are results of another run: a wide interval, and a word on what is missing."""
    workload = {"application": "3dgan", "dataset": "clic-calorimeter", "epochs": 20, "precision": precision}
    plan = answer(example("3dgan-supermuc-ng", optimisation__workload=workload, optimisation__objective={"max_nodes": 24}), known).plan
    assert plan.prediction.basis == basis
    assert any("do not state precision" in line for line in plan.advice) is (precision != "fp32")


@pytest.mark.parametrize(("nodes", "ranks", "batch"), [(4, 1, 5_000_000), (5_000_000, 64, None)])
def test_products_of_counts_may_exceed_what_one_count_may_be(known: Known, nodes: int, ranks: int, batch: int | None) -> None:
    """Workers and samples in all are said, not refused."""
    wanted = {"app_type": "ai_training", "ai_training": {"pytorch": {"distribution": "ddp"}}, "workload": {"batch_size": batch}}
    counts = {"node_count": nodes, "process_count_per_node": ranks}
    application = {"app_tag": "net", "executable": "python3 a.py"}
    target = {"job_scheduler_type": "slurm"}
    document = {"job": {"job_options": counts, "application": application, "target": target, "optimisation": wanted}}
    made = optimise(normalise(document).request, known(None)).plan.configuration
    assert made.workers == nodes * ranks
    assert made.global_batch == (batch * nodes * ranks if batch else None)


def test_the_script_is_for_slurm_and_charliecloud_with_the_hosts_mpi(training: Answer) -> None:
    """The site's scheduler and runtime, every core, and the MPI library bound over the image's."""
    script = training.texts.job_script
    assert "#SBATCH --hint=nomultithread\n" in script
    assert '--bind="${I_MPI_ROOT:?}":"${I_MPI_ROOT:?}"' in script
    assert " ch-run " in script


def test_the_numa_mode_is_said_to_be_needed(training: Answer) -> None:
    """Four domains are not the standard there."""
    assert any("4 NUMA domains" in line for line in training.plan.advice)


@pytest.mark.parametrize("what", ["runtime", "layout", "nodes", "image", "objective", "wall time", "launcher", "NUMA"])
def test_each_choice_is_explained_in_one_line(training: Answer, what: str) -> None:
    """The reasons are part of the answer."""
    lines = [line for line in training.plan.decisions if line.startswith(what)]
    assert lines
    assert not any("\n" in line for line in lines)


def test_a_number_has_its_basis_unit_and_interval(training: Answer) -> None:
    """No prediction without what it rests on."""
    predicted = training.plan.prediction
    assert (predicted.lower or 0) < (predicted.value or 0) < (predicted.upper or 0)
    assert (predicted.unit, predicted.basis, predicted.results_used) == ("s", "interpolated", 8)


def test_the_wall_time_covers_the_upper_bound(training: Answer) -> None:
    """A job is not cut off by its own prediction."""
    assert training.plan.wall_time_s is not None
    assert training.plan.prediction.upper is not None
    assert training.plan.wall_time_s >= training.plan.prediction.upper + 120


def test_a_job_is_not_stopped_within_the_time_that_its_confidence_reckons_with(known: Known) -> None:
    """A deadline that is met with a probability of 0.99 is not, if the job may run no longer than with one of 0.95."""
    plan = answer(example("3dgan-supermuc-ng", optimisation__objective={"deadline": 7200, "confidence": 0.99}), known).plan
    value, upper = plan.prediction.value, plan.prediction.upper
    assert plan.wall_time_s is not None
    assert value is not None
    assert upper is not None
    assert plan.wall_time_s >= value * (upper / value) ** stretch(0.98)


@pytest.mark.parametrize(("deadline", "max_nodes", "offered"), [(28800, 4, True), (600, 4, False), (600, 23, False)])
def test_more_nodes_are_offered_where_they_would_do(known: Known, deadline: int, max_nodes: int, offered: bool) -> None:
    """Eight hours can be met on the cluster, but not on four of its nodes; ten minutes on none of its 23."""
    with pytest.raises(Infeasible) as refused:
        answer(example("resnet50-gpu-cluster", optimisation__objective={"deadline": deadline, "max_nodes": max_nodes}), known)
    assert ("max_nodes" in str(refused.value)) == offered


@pytest.mark.parametrize(("ranks", "nodes", "per_node", "at_least"), [(10, 1, 10, 200.0), (50, 2, 25, 70.0), (96, 2, 48, 52.0)])
def test_a_total_of_ranks_is_predicted_as_it_runs(known: Known, ranks: int, nodes: int, per_node: int, at_least: float) -> None:
    """Measured were full nodes of 48 ranks: ten ranks on a node take far longer than these, and 50 ranks are 25 on each of two nodes."""
    series = SeriesKey(application="solver", system="supermuc-ng", metric="wall_time", unit="s")
    measured = ((1, 100.0), (2, 52.0), (4, 28.0))
    models = fit([Result(series=series, layout=Layout(nodes=n, ranks_per_node=48, threads_per_rank=1), value=s) for n, s in measured])
    application = {"app_tag": "solver", "app_type": "mpi", "executable": "./solver", "mpi_ranks": ranks}
    request = normalise({"job": {"target": {"name": "supermuc-ng"}, "application": application}}).request
    plan = optimise(request, replace(known(None), models=models)).plan
    assert (plan.configuration.nodes, plan.configuration.ranks_per_node) == (nodes, per_node)
    assert plan.prediction.value is not None
    assert plan.prediction.value >= at_least
    assert (plan.prediction.basis == "measured") == (ranks == 96)


@pytest.mark.parametrize(("start_up", "seconds", "wall_time"), [(0.1, 0.5, 300), (None, 200.0, 600), (0.0, 200.0, 300)])
def test_a_wall_time_is_the_upper_bound_rounded_up(known: Known, start_up: float | None, seconds: float, wall_time: int) -> None:
    """Never 0, which would be no limit. Time to start is only added if the system's file does not give it; 0 is given, too."""
    facts = known(None)
    system = facts.systems["hlrs-testbed"].model_copy(update={"start_up_s": start_up})
    series = SeriesKey(application="tiny", system="hlrs-testbed", metric="wall_time", unit="s")
    models = fit([Result(series=series, layout=Layout(nodes=1, ranks_per_node=1, threads_per_rank=20), value=seconds)])
    request = normalise({"job": {"target": {"name": "hlrs-testbed"}, "application": {"app_tag": "tiny"}}}).request
    plan = optimise(request, replace(facts, systems={"hlrs-testbed": system}, models=models)).plan
    assert plan.wall_time_s == wall_time


@pytest.mark.parametrize(
    ("metric", "seconds", "start_up"), [("wall_time", 200.0, None), ("epoch_time", 260.0, 60), ("solve_time", 260.0, 60)]
)
def test_the_start_up_of_the_systems_file_is_added_to_what_has_none_in_it(
    known: Known, metric: str, seconds: float, start_up: float | None
) -> None:
    """The next run takes as long as the one that was measured; the job gets the time to start beside it, or in it."""
    facts = known(None)
    system = facts.systems["hlrs-testbed"].model_copy(update={"start_up_s": 60.0})
    series = SeriesKey(application="tiny", system="hlrs-testbed", metric=metric, unit="s")
    models = fit([Result(series=series, layout=Layout(nodes=1, ranks_per_node=1, threads_per_rank=20), value=200.0)])
    work = {"workload": {"epochs": 1}} if metric == "epoch_time" else {}
    request = normalise({"job": {"target": {"name": "hlrs-testbed"}, "application": {"app_tag": "tiny"}, "optimisation": work}}).request
    plan = optimise(request, replace(facts, systems={"hlrs-testbed": system}, models=models)).plan
    assert plan.prediction.value == pytest.approx(seconds)
    assert plan.prediction.start_up == start_up
    assert (plan.wall_time_s or 0) >= (plan.prediction.upper or 0) + (0 if start_up else 60)


@pytest.mark.parametrize(
    ("seconds", "wall_time", "why"), [(None, 1800, "the partition's default"), (20_000.0, 7200, "the partition's limit")]
)
def test_a_wall_time_is_one_that_the_partition_has(known: Known, seconds: float | None, wall_time: int, why: str) -> None:
    """Without a prediction its default; with one that is longer than its limit that limit: a scheduler rejects a job that asks for more."""
    system = known(None).systems["hlrs-testbed"]
    limits = {"default_wall_time_s": 1800, "max_wall_time_s": 7200, "queues": ()}
    system = system.model_copy(update={"partitions": tuple(part.model_copy(update=limits) for part in system.partitions)})
    series = SeriesKey(application="tiny", system="hlrs-testbed", metric="wall_time", unit="s")
    results = [Result(series=series, layout=Layout(nodes=1, ranks_per_node=1, threads_per_rank=20), value=seconds)] if seconds else []
    request = normalise({"job": {"target": {"name": "hlrs-testbed"}, "application": {"app_tag": "tiny"}}}).request
    found = optimise(request, replace(known(None), systems={"hlrs-testbed": system}, models=fit(results)))
    assert found.plan.wall_time_s == wall_time
    assert any(text.startswith("wall time: ") and why in text for text in found.plan.decisions)


@pytest.mark.parametrize(
    ("options", "said"),
    [({}, "wall time: no limit, because a plain shell has none"), ({"wall_time_limit": 600}, "a plain shell does not stop the run then")],
)
def test_a_plain_shell_is_not_said_to_limit_a_run(options: dict[str, Any], said: str, known: Known) -> None:
    """Nor to be a scheduler to which something is left."""
    job = {"application": {"executable": "./a"}, "target": {"job_scheduler_type": "shell"}, "job_options": options}
    decisions = optimise(normalise({"job": job}).request, known(None)).plan.decisions
    assert [one.endswith(said) for one in decisions if one.startswith("wall time")] == [True]


@pytest.mark.parametrize(("required", "wall_time"), [("-l walltime=", 7200), ("-W group_list=", None), (None, None)])
def test_a_wall_time_that_the_site_wants_is_the_limit_where_none_is_known(
    known: Known, required: str | None, wall_time: int | None
) -> None:
    """It would reject the job."""
    system = known(None).systems["hlrs-testbed"]
    limits = {"default_wall_time_s": None, "max_wall_time_s": 7200, "queues": ()}
    parts = tuple(part.model_copy(update=limits) for part in system.partitions)
    system = system.model_copy(update={"partitions": parts, "mandatory_directives": (required,) if required else ()})
    request = normalise({"job": {"target": {"name": "hlrs-testbed"}, "application": {"app_tag": "tiny"}}}).request
    found = optimise(request, replace(known(None), systems={"hlrs-testbed": system}, models=()))
    assert found.plan.wall_time_s == wall_time
    assert not any(each.field == "job_options.wall_time_limit" for each in found.plan.warnings)


def test_a_signal_that_would_come_before_the_job_is_left_out(known: Known) -> None:
    """It would end the script at its start."""
    for limit, kept in ((700, True), (600, False)):
        options = {"job_options__signal": "USR1@600", "job_options__wall_time_limit": limit, "application__checkpoint": "touch stop"}
        found = answer(example("mpi-solver", **options), known)
        assert ("modak_signal" in found.texts.job_script) == kept
        told = [each.message for each in found.plan.warnings if each.field == "job_options.signal"]
        assert any("does not fit a time limit" in each for each in told) == (not kept)


def test_a_runtime_that_the_site_refuses_is_answered_with_what_it_allows(known: Known) -> None:
    """Singularity is not allowed there; Charliecloud is, and is used."""
    plan = answer(example("3dgan-supermuc-ng", target__container_runtime="singularity"), known).plan
    (warning,) = [warning for warning in plan.warnings if warning.field == "target.container_runtime"]
    assert "does not allow singularity" in warning.message
    assert "allowed: charliecloud" in warning.message
    assert plan.configuration.runtime == "charliecloud"


def test_a_graph_compiler_that_no_image_has_is_not_what_the_job_runs_with(known: Known) -> None:
    """Neither in the answer nor in the result, which would be evidence for a compiler that never ran."""
    framework = {"tensorflow": {"version": "1.14", "ngraph": True}}
    found = answer(example("listing1-hlrs", optimisation__ai_training=framework), known)
    assert "contains ngraph; the job runs without it" in " ".join(warning.message for warning in found.plan.warnings)
    assert found.plan.configuration.compiler is None
    assert '"compiler"' not in found.texts.job_script


@pytest.mark.parametrize(
    ("asked", "compiler", "having"),
    [({"version": ">=2.0", "glow": True}, "glow", "<2"), ({"version": "1.4", "inductor": True}, "inductor", ">=2.0")],
)
def test_a_graph_compiler_that_no_requested_version_has_goes_before_the_version(
    asked: dict[str, Any], compiler: str, having: str, known: Known
) -> None:
    """A program for one major version rarely runs with another."""
    plan = answer(example("mnist-hlrs-glow", optimisation__ai_training={"pytorch": asked}), known).plan
    assert plan.configuration.compiler is None
    assert version_range(asked["version"]).contains(plan.configuration.framework_version or "")
    (told,) = [one.message for one in plan.warnings if one.field.endswith(compiler)]
    wanted = asked["version"]
    assert told == f"{compiler} exists for pytorch {having} alone, and the request asks for {wanted}; the job runs without it"


def test_what_runs_without_a_compiler_is_predicted_without_it(known: Known) -> None:
    """No image there has XLA: size, time and script are those of the request without it."""

    def found(**switch: bool) -> tuple[Any, ...]:
        framework = {"config": {"distributed_training": True}, "tensorflow": {"distribution": "horovod"} | switch}
        told = answer(example("3dgan-supermuc-ng", optimisation__ai_training=framework), known)
        script = told.texts.job_script.replace(told.plan.id, "")
        return told.plan.configuration, told.plan.prediction, told.plan.decisions, script

    assert found(xla=True) == found()


def test_a_deadline_that_only_a_missing_compiler_would_meet_is_refused_with_the_reason(known: Known) -> None:
    """The results with XLA are of an image that is not to be had."""
    facts = known("3dgan")
    series = [(curve, curve.series.model_copy(update={"compiler": "xla"})) for curve in facts.models]
    fast = [curve.model_copy(update={"series": key, "costs": tuple(cost / 8 for cost in curve.costs)}) for curve, key in series]
    framework = {"config": {"distributed_training": True}, "tensorflow": {"distribution": "horovod", "xla": True}}
    changes = {"optimisation__ai_training": framework, "job_options__node_count": 24}
    asked = example("3dgan-supermuc-ng", **changes, optimisation__objective={"deadline": "00:30:00"})
    with pytest.raises(Infeasible, match=r"deadline of 00:30:00 cannot be met(.|\n)*contains xla; the job runs without it"):
        optimise(asked, replace(facts, models=(*facts.models, *fitted(fast))))


def with_xla(value: bool | str, **changes: Any) -> Request:
    """3DGAN where no image with Horovod and the host's MPI has XLA."""
    framework = {"config": {"distributed_training": True}, "tensorflow": {"distribution": "horovod", "xla": value}}
    return example("3dgan-supermuc-ng", optimisation__ai_training=framework, **changes)


def test_a_recommendation_is_made_without_a_compiler_that_no_image_has(known: Known) -> None:
    """As the plan is: the same sizes, times and reasons as for a request without it, and the plan's warning."""
    facts = known("3dgan")
    found, plain = (recommend(with_xla(value), facts) for value in (True, False))
    assert (found.choices, found.decisions, found.advice) == (plain.choices, plain.decisions, plain.advice)
    (told,) = set(found.warnings) - set(plain.warnings)
    assert told in optimise(with_xla(True), facts).plan.warnings
    assert told.message == "no suitable image of tensorflow contains xla; the job runs without it"


def test_the_image_of_a_recommendation_is_told_as_in_the_plan(known: Known) -> None:
    """Whose MPI its ranks use: Stampede2 does not say where its own lies, so that it cannot be bound into the image."""
    series = SeriesKey(application="unet", framework="tensorflow", system="stampede2", metric="epoch_time", unit="s", mpi="intel-mpi 2018")
    layouts = [Layout(nodes=nodes, ranks_per_node=4, threads_per_rank=12) for nodes in (1, 2, 4)]
    series = series.model_copy(update={"mpi_from": "host"})
    models = fit([Result(series=series, layout=one, value=400 / (one.nodes or 1)) for one in layouts])
    asked = with_xla(False, optimisation__workload={"application": "unet", "epochs": 100}, target={"name": "stampede2"})
    facts = replace(known(None), models=models)
    plan, found = optimise(asked, facts).plan.configuration, recommend(asked, facts).choices[0].configuration
    assert plan.image
    assert found.model_copy(update={"runtime": plan.runtime}) == plan


def test_constraints_that_only_an_unmeasured_missing_compiler_would_miss_are_met(known: Known) -> None:
    """With XLA, which nobody measured there, the interval would reach beyond the deadline on 24 nodes."""
    assert optimise(with_xla(True, job_options__node_count=24), known("3dgan")).plan.configuration.nodes == 24


@pytest.mark.parametrize(
    ("objective", "said"),
    [({}, "with it, 16 nodes are more than 1 doubling beyond the measured sizes"), ({"max_nodes": 16}, "xla: on, ")],
)
def test_a_faster_switch_that_is_off_says_what_rules_it_out(objective: dict[str, Any], said: str, known: Known) -> None:
    """XLA was measured on up to 4 nodes, runs without it on up to 8."""
    rows = [(None, nodes, 500 / nodes + 10) for nodes in (1, 2, 4, 8)] + [("xla", nodes, 400 / nodes + 8) for nodes in (1, 2, 4)]
    series = SeriesKey(application="unet", framework="tensorflow", system="supermuc-ng", metric="epoch_time", unit="s")
    layout = Layout(ranks_per_node=2, threads_per_rank=24)
    models = fit(
        [
            Result(series=series.model_copy(update={"compiler": compiler}), layout=layout.model_copy(update={"nodes": nodes}), value=value)
            for compiler, nodes, value in rows
        ]
    )
    framework = {"config": {"distributed_training": True}, "tensorflow": {"xla": "auto"}}
    work = {"optimisation__workload": {"application": "unet", "epochs": 100}, "optimisation__objective": objective}
    found = recommend(example("3dgan-supermuc-ng", optimisation__ai_training=framework, **work), replace(known(None), models=models))
    (line,) = [line for line in found.decisions if line.startswith("xla: ")]
    assert said in line


def test_a_framework_without_images_is_told(known: Known) -> None:
    """Theano is a backend of Keras: neither an image nor a recipe has it, and the job does not run without a container in silence."""
    found = answer(example("mnist-hlrs-xla", optimisation__ai_training={"keras": {"backend": "theano"}}), known)
    assert "no image of theano is known" in " ".join(warning.message for warning in found.plan.warnings)


def test_swapping_the_results_of_two_layouts_swaps_the_choice(known: Known) -> None:
    """Nothing is hard-coded: with the figures exchanged the other layout wins."""
    facts = known("3dgan")
    request = example("3dgan-supermuc-ng")
    host, single = (_curve(facts, ranks, mpi_from) for ranks, mpi_from in ((4, "host"), (1, "container")))
    measured = ("sizes", "costs", "repeats", "mixture")
    swaps = ((host, single), (single, host))
    exchanged = {id(one): one.model_copy(update={name: getattr(other, name) for name in measured}) for one, other in swaps}
    models = tuple(exchanged.get(id(curve), curve) for curve in facts.models)
    chosen = optimise(request, replace(facts, models=models)).plan.configuration
    assert (chosen.ranks_per_node, chosen.threads_per_rank) == (1, 48)


def _curve(facts: Facts, ranks: int, mpi_from: str) -> Any:
    return next(
        curve
        for curve in facts.models
        if curve.series.system == "supermuc-ng" and curve.layout.ranks_per_node == ranks and curve.series.mpi_from == mpi_from
    )


def test_listing_1_gives_a_torque_script_with_xla_in_singularity(known: Known) -> None:
    """The paper's request on its testbed: the scheduler, the GPU flag, and the variable that really enables XLA."""
    script = answer(example("listing1-hlrs"), known).texts.job_script
    assert "#PBS -l nodes=1:ppn=" in script
    assert "singularity exec --nv" in script
    assert "export TF_XLA_FLAGS=--tf_xla_auto_jit=2\n" in script


def test_a_version_that_no_image_carries_is_answered_with_the_nearest(known: Known) -> None:
    """TensorFlow 1.1 is not there; 1.14 is, and a warning says so."""
    plan = answer(example("listing1-hlrs"), known).plan
    assert plan.configuration.framework_version in ("1.14", "1.14.0")
    assert any("1.14" in warning.message and "1.1" in warning.message for warning in plan.warnings)


def test_a_version_that_an_image_carries_gives_that_image(known: Known) -> None:
    """With 2.1 the tagged image is taken, without a word of warning on versions."""
    training = {"tensorflow": {"version": "2.1", "xla": True}}
    request = example("listing1-hlrs", optimisation__ai_training=training, optimisation__enable_opt_build=False)
    plan = answer(request, known).plan
    assert plan.image is not None
    assert plan.image["labels"]["version"].startswith("2.1")
    assert not [warning for warning in plan.warnings if "version" in warning.field]


def test_an_optimised_build_that_nobody_has_becomes_a_recipe_and_a_build_job(known: Known) -> None:
    """With ``enable_opt_build`` and no image that carries the labels, the plan brings what makes one."""
    training = {"tensorflow": {"version": "2.4", "xla": True}}
    request = example("listing1-hlrs", optimisation__ai_training=training, optimisation__enable_opt_build=True)
    found = answer(request, known)
    assert found.plan.recipe is not None
    assert found.texts.definition.startswith("BootStrap: docker")
    assert "singularity build" in found.texts.build_script


def test_two_hyper_threads_have_one_core(known: Known) -> None:
    """40 ranks of two threads fit a node of 40 cores."""
    counts = {"process_count_per_node": 40, "core_count_per_process": 2, "node_count": 1}
    job = {"target": {"name": "dgx-1-v100"}, "application": {"executable": "./a", "app_type": "mpi"}, "job_options": counts}
    facts = known(None)
    system = facts.systems["dgx-1-v100"].model_copy(update={"scheduler": "slurm"})
    text = optimise(normalise({"job": job}).request, replace(facts, systems={system.name: system})).texts.job_script
    assert ("\n#SBATCH --ntasks-per-node=40\n#SBATCH --cpus-per-task=1\n" in text, "--overcommit" in text) == (True, False)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"partition": "general", "node_count": 4}, "queue general .* 17 to 768 nodes, but this one has 4: .*; micro would take it"),
        (
            {"node_count": 5000, "reservation": "all"},
            "queue large .* 769 to 3168 nodes, but this one has 5000: the scheduler will reject it$",
        ),
    ],
)
def test_a_queue_that_does_not_take_the_job_is_warned_of(asked: dict[str, Any], says: str, known: Known) -> None:
    """And named in the script all the same: the default one would have other nodes or limits."""
    found = answer(example("3dgan-supermuc-ng", job_options=asked, optimisation__objective={}), known)
    assert [re.search(says, one.message) is not None for one in found.plan.warnings if "queue" in one.message] == [True]


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"partition": "general", "node_count": 4}, "partition"),
        ({"queue": "general", "node_count": 4}, "queue"),
        ({"partition": "thin", "queue": "general", "node_count": 4}, "queue"),
        ({"node_count": 5000, "reservation": "all"}, "node_count"),
    ],
)
def test_a_queue_that_does_not_take_the_job_is_warned_of_where_it_is_named(asked: dict[str, Any], field: str, known: Known) -> None:
    """Or where so many nodes are asked for."""
    found = answer(example("3dgan-supermuc-ng", job_options=asked, optimisation__objective={}), known)
    assert [one.field for one in found.plan.warnings if "will reject it" in one.message] == [f"job_options.{field}"]


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


@pytest.mark.parametrize(
    ("limit", "chain", "stops"), [("00:10:00", {}, True), ("00:10:00", {"job_dependency": "afterany:7"}, False), ("00:55:00", {}, False)]
)
def test_a_wall_time_that_stops_the_run_is_warned_of(limit: str, chain: dict[str, str], stops: bool, known: Known) -> None:
    """If the run is longer by all that is known; the next job of a chain goes on with it."""
    found = answer(example("3dgan-supermuc-ng", job_options={"wall_time_limit": limit, "node_count": 24, **chain}), known)
    said = [one.message for one in found.plan.warnings if one.field == "job_options.wall_time_limit"]
    assert [
        re.search("00:10:00 requested, but the run takes 00:50:.* to .* interpolated.: the scheduler will stop it$", one) is not None
        for one in said
    ] == [True] * stops


def test_a_run_that_is_longer_than_any_job_may_be_is_warned_of(known: Known) -> None:
    """The script asks for all that the partition allows, which is not enough."""
    work = {"optimisation__workload__epochs": 2000, "optimisation__objective": {}}
    found = answer(example("3dgan-supermuc-ng", job_options__node_count=4, **work), known)
    (said,) = [one.message for one in found.plan.warnings if one.field == "job_options.wall_time_limit"]
    assert re.search("^a job of 4 nodes on .* may run for at most .*, but the run takes .*: the scheduler will stop it; with app", said)
    assert (found.plan.prediction.lower or 0) > (found.plan.wall_time_s or 0) > 0


def limited(known: Known, seconds: int | None, start_up_s: float | None = None, **fields: Any) -> Answer:
    """The fewest node-hours for 3DGAN where no job may run for longer, and takes so long to start."""
    facts = known("3dgan")
    here = facts.systems["supermuc-ng"]
    partitions = tuple(one.model_copy(update={"max_wall_time_s": seconds, "queues": ()}) for one in here.partitions)
    system = here.model_copy(update={"partitions": partitions, "start_up_s": start_up_s})
    request = example("3dgan-supermuc-ng", optimisation__objective={"minimise": "node_hours"}, **fields)
    return optimise(request, replace(facts, systems={"supermuc-ng": system}))


@pytest.mark.parametrize(
    ("seconds", "fields"), [(7200, {}), (None, {"job_options__wall_time_limit": "02:00:00"})], ids=["longest job", "requested"]
)
def test_runs_that_may_be_stopped_are_not_chosen_while_others_end(known: Known, seconds: int | None, fields: dict[str, Any]) -> None:
    """The fewest node-hours are on four nodes, for five hours; the choice has as few as those that end."""
    free, found = limited(known, None).plan, limited(known, seconds, **fields).plan
    assert (free.prediction.lower or 0) > 7200 > (found.prediction.value or 0) + 120
    fewer = [one for one in found.alternatives if one.configuration.nodes < found.configuration.nodes]
    assert {one.why_not for one in fewer if (one.node_hours or 0) < (found.node_hours or 0)} == {"may not end within the wall time limit"}
    assert "among configurations that end within the wall time limit (at confidence 0.9)" in "\n".join(found.decisions)


@pytest.mark.parametrize(
    ("seconds", "fields"),
    [
        (7200, {"application__checkpoint": "touch stop"}),
        (7200, {"job_options__node_count": 4}),
        (60, {}),
        (None, {"target__job_scheduler_type": "shell", "job_options__wall_time_limit": 7200}),
        (7200, {"job_options__qos": "long", "job_options__wall_time_limit": "10:00:00"}),
    ],
    ids=["continued", "size given", "none ends", "never stopped", "limit not on record"],
)
def test_a_wall_time_limit_excludes_nothing_where_that_gains_nothing(known: Known, seconds: int | None, fields: dict[str, Any]) -> None:
    """Another job continues the run, or there is no other choice, or nothing stops it."""
    free, found = limited(known, None, **fields).plan, limited(known, seconds, **fields).plan
    assert (found.configuration, found.prediction) == (free.configuration, free.prediction)


@pytest.mark.parametrize(
    ("objective", "unmet"),
    [({"minimise": "time", "max_nodes": 8}, []), ({"minimise": "node_hours", "max_nodes": 32, "deadline": "20 min"}, [10])],
)
def test_sizes_below_a_choice_that_is_worth_its_doubt_are_not_further_away(objective: dict[str, Any], unmet: list[int]) -> None:
    """A layout that ran on one node is the best on several: that fewer were left out, too, is no reason against them."""
    times = {(1, 2): 8000.0, (2, 2): 4100.0, (4, 2): 2150.0, (1, 48): 5000.0}
    series = SeriesKey(application="solver", system="site", metric="wall_time", unit="s")
    layouts = {(nodes, ranks): Layout(nodes=nodes, ranks_per_node=ranks, threads_per_rank=48 // ranks) for nodes, ranks in times}
    models = tuple(fit(Result(series=series, layout=layouts[run], value=seconds) for run, seconds in times.items()))
    facts = Facts(version="1", systems={"site": site(Node(processor="any", sockets=2, cores=48), nodes=64)}, models=models)
    asked = {"app_type": "hpc", "hpc": {"mpi": {}, "openmp": {}}, "objective": objective}
    job = {"target": {"name": "site"}, "application": {"app_tag": "solver", "app_type": "mpi"}, "optimisation": asked}
    plan = optimise(normalise({"job": job}).request, facts).plan
    assert plan.configuration.ranks_per_node == 48
    assert [one.configuration.nodes for one in plan.alternatives if one.why_not == "does not meet the constraints"] == unmet
    assert "further beyond the measured sizes" not in "\n".join((*plan.decisions, *(one.why_not or "" for one in plan.alternatives)))


@pytest.mark.parametrize("seconds", [5400, 7200, 9000])
def test_a_run_that_was_chosen_because_it_ends_in_time_is_not_refused(known: Known, seconds: int) -> None:
    """Where more than the longest of a job is requested, the script asks for that."""
    assert limited(known, seconds, job_options__wall_time_limit="10:00:00").plan.wall_time_s == seconds


def test_a_predicted_start_up_is_a_part_of_what_has_to_end_in_time(known: Known) -> None:
    """And is not added to it: fewer nodes end in time, and the wall time has room for them."""
    assert 7200 - 3000 < (limited(known, 7200, start_up_s=3000).plan.prediction.value or 0) <= 7200


@pytest.mark.parametrize(
    ("limit", "said"), [("02:00:00", "; the upper bound of the prediction plus the job's start is 0"), ("1-00:00:00", "")]
)
def test_a_requested_wall_time_that_may_be_too_short_is_told(known: Known, limit: str, said: str) -> None:
    """Beside the limit stands what the prediction would ask for."""
    decisions = limited(known, None, job_options__wall_time_limit=limit, job_options__node_count=4).plan.decisions
    (line,) = (one for one in decisions if one.startswith("wall time:"))
    assert re.fullmatch(f"wall time: {limit}, as requested{said and said + '[0-9]:[0-9]{2}:[0-9]{2}'}", line)


def test_allowed_ranks_that_all_share_cores_are_as_few_as_possible(known: Known) -> None:
    """On 20 cores 40 ranks wait for each other less than 80."""
    counts = {"application__allowed_ranks": [40, 80], "job_options__node_count": 1}
    request = example("code-aster-mpi", optimisation__workload__memory_per_rank_gb=None, **counts)
    assert answer(request, known).plan.configuration.ranks_per_node == 40


def test_both_ends_of_the_pareto_front_are_shown(known: Known) -> None:
    """The fastest and the cheapest configuration, if there are too many to show all."""
    decision = decide(example("3dgan-supermuc-ng", optimisation__objective={}), known("3dgan"))
    front = pareto(decision.scored, decision.ranking.order)
    shown = pareto_front(decision, 3)
    assert (len(shown), shown[0], shown[-1]) == (3, front[0], front[-1])


def test_only_allowed_numbers_of_ranks_are_chosen(known: Known) -> None:
    """Of powers of two of ranks, 128 are the fewest with which it meets its deadline: on 32 nodes, not on the 24 that would be enough."""
    powers = [2**exponent for exponent in range(4, 11)]
    found = recommend(example("3dgan-supermuc-ng", application__allowed_ranks=powers), known("3dgan"))
    first = found.choices[0].configuration
    assert (first.nodes, first.ranks_per_node) == (32, 4)
    assert {choice.configuration.nodes * choice.configuration.ranks_per_node for choice in found.choices} <= set(powers)


@pytest.mark.parametrize("nodes", [None, 1])
def test_allowed_ranks_without_results_fill_a_node_as_far_as_they_can(known: Known, nodes: int | None) -> None:
    """Of powers of two, 16 of its 20 cores get a rank; two ranks on one node would be allowed, too, and 64 would share cores."""
    powers = [2**exponent for exponent in range(1, 7)]
    counts = {"application__allowed_ranks": powers, "job_options__node_count": nodes}
    request = example("code-aster-mpi", optimisation__workload__memory_per_rank_gb=None, **counts)
    chosen = answer(request, known).plan.configuration
    assert (chosen.nodes, chosen.ranks_per_node) == (1, 16)


@pytest.mark.parametrize(("allowed", "chosen"), [([125, 1000], (5, 25)), ([1000], (25, 40)), ([27, 64, 125], (2, 32))])
def test_allowed_ranks_may_need_more_nodes_to_be_even(known: Known, allowed: list[int], chosen: tuple[int, int]) -> None:
    """On 48 cores 125 ranks are 42 on each of three nodes, but one too many; where another number fills its nodes, that one is taken."""
    job = {"job": {"application": {"app_type": "mpi", "executable": "./a", "allowed_ranks": allowed}, "target": {"name": "supermuc-ng"}}}
    made = answer(normalise(job).request, known).plan.configuration
    assert (made.nodes, made.ranks_per_node) == chosen


def test_allowed_ranks_hold_for_each_number_of_nodes(known: Known) -> None:
    """Also for one that is asked for after another."""
    facts, asked = prepared(known("3dgan")), {"application__allowed_ranks": [64, 128]}
    layouts = [
        optimise(example("3dgan-supermuc-ng", job_options__node_count=nodes, optimisation__objective={}, **asked), facts).plan.configuration
        for nodes in (16, 32, 64)
    ]
    assert [(chosen.nodes, chosen.ranks_per_node) for chosen in layouts] == [(16, 4), (32, 4), (64, 2)]


def test_allowed_ranks_hold_on_the_nodes_that_are_named(known: Known) -> None:
    """Two nodes have 18 or 32 each; 36 would fill one node best."""
    application = {"app_type": "mpi", "executable": "./a", "allowed_ranks": [36, 64]}
    job = {"application": application, "target": {"name": "supermuc-ng"}, "job_options": {"request_specific_nodes": "n1,n2"}}
    made = answer(normalise({"job": job}).request, known).plan.configuration
    assert (made.nodes, made.ranks_per_node) == (2, 32)


@pytest.mark.parametrize(
    ("counts", "chosen", "told"),
    [
        ({"node_count": 2, "process_count_per_node": 4}, (2, 4), []),
        ({"node_count": 2, "process_count_per_node": 2}, (2, 2), []),
        ({"node_count": 2, "process_count_per_node": 3}, (2, 4), ["job_options.process_count_per_node"]),
        ({"process_count_per_node": 8}, (1, 8), []),
        ({"process_count_per_node": 3}, (1, 8), ["job_options.process_count_per_node"]),
        ({"process_count_per_node": 8, "mpi_ranks": 4}, (1, 4), ["job_options.process_count_per_node"]),
        ({"process_count_per_node": 3, "mpi_ranks": 8}, (3, 3), []),
        ({"node_count": 2, "mpi_ranks": 8}, (2, 4), []),
        ({"node_count": 2, "mpi_ranks": 6}, (2, 3), ["application.mpi_ranks"]),
    ],
)
def test_counts_beside_allowed_ranks_are_kept_or_told(
    known: Known, counts: dict[str, int], chosen: tuple[int, int], told: list[str]
) -> None:
    """A layout that has an allowed number of ranks is no contradiction; of one that has none the nodes are kept."""
    ranks = {"mpi_ranks": counts.pop("mpi_ranks")} if "mpi_ranks" in counts else {}
    application = {"app_type": "mpi", "executable": "./a", "allowed_ranks": [4, 8], **ranks}
    job = {"application": application, "target": {"name": "supermuc-ng"}, "job_options": {"account": "a", **counts}}
    found = answer(normalise({"job": job}).request, known).plan
    made = found.configuration
    assert ((made.nodes, made.ranks_per_node), [one.field for one in found.warnings]) == (chosen, told)


def test_ranks_that_no_layout_gives_are_infeasible(known: Known) -> None:
    """The line names what is allowed, and what the layouts have."""
    with pytest.raises(Infeasible, match="allowed_ranks: no layout on supermuc-ng/thin has 27, 343 ranks, as many on each node"):
        answer(example("3dgan-supermuc-ng", application__allowed_ranks=[27, 343], job_options__node_count=8), known)


def test_too_many_nodes_are_infeasible(known: Known) -> None:
    """The line names the field, the count and what the partition has."""
    with pytest.raises(Infeasible, match=r"job_options.node_count: 10000 nodes requested.*at most 6336"):
        answer(example("3dgan-supermuc-ng", job_options__node_count=10_000), known)


def test_a_deadline_that_cannot_be_met_says_what_could(known: Known) -> None:
    """The closest configuration with the deadline that it meets, and the number of nodes that would do."""
    limits = {"deadline": 600, "max_nodes": 16}
    with pytest.raises(Infeasible, match=r"cannot be met .* closest: .*feasible with: a deadline of [\d:]+, or max_nodes \d+$") as refused:
        answer(example("3dgan-supermuc-ng", optimisation__objective=limits), known)
    limits["max_nodes"] = int(str(refused.value).rpartition(" ")[2])
    assert answer(example("3dgan-supermuc-ng", optimisation__objective=limits), known).plan.configuration.nodes == limits["max_nodes"]


def test_a_refusal_names_the_data_set_that_is_not_known(known: Known) -> None:
    """Wide intervals of results of others may be why nothing meets the deadline."""
    limits = {"deadline": 600, "max_nodes": 16}
    with pytest.raises(Infeasible) as refused:
        answer(example("3dgan-supermuc-ng", optimisation__workload__dataset="CLIC", optimisation__objective=limits), known)
    assert [fault.field for fault in refused.value.faults] == ["optimisation.objective", "optimisation.workload.dataset"]


def test_an_unknown_target_still_gives_a_script(known: Known) -> None:
    """A warning names the systems that are known."""
    found = answer(example("3dgan-supermuc-ng", target={"name": "supermucc-ng", "job_scheduler_type": "slurm"}), known)
    assert any("did you mean 'supermuc-ng'" in warning.message for warning in found.plan.warnings)
    assert found.texts.job_script.startswith("#!/bin/bash\n#SBATCH ")


@pytest.mark.parametrize("kind", ["big_data", "ai_inference"])
def test_kinds_without_a_model_are_accepted(kind: str, known: Known) -> None:
    """Nothing is predicted, and nothing is made up."""
    application = {"app_tag": "crunch", "executable": "./crunch"}
    request = normalise({"job": {"application": application, "optimisation": {"app_type": kind}}}).request
    plan = answer(request, known).plan
    assert plan.prediction.basis == "none"
    assert plan.prediction.value is None


@pytest.mark.parametrize(("kind", "per"), [("ai_training", "epoch"), ("ai_inference", "pass")])
def test_inference_passes_over_the_data_and_has_no_epochs(kind: str, per: str, known: Known) -> None:
    """The same rate of samples, in the words of each."""
    series = SeriesKey(application="net", system="zenith", metric="throughput", unit="samples/s")
    facts = replace(known(None), models=fit([Result(series=series, layout=Layout(nodes=1, ranks_per_node=1), value=100.0)]))
    job = {"application": {"app_tag": "net"}, "target": {"name": "zenith"}}
    wanted = {"app_type": kind, "workload": {"samples": 5000, "epochs": 1}}
    found = optimise(normalise({"job": {**job, "optimisation": wanted}}).request, facts).plan.prediction
    assert found.value == pytest.approx(50.0)
    assert found.per == per


@pytest.mark.parametrize("nodes", [1, 32, 64])
def test_efficiency_is_relative_to_work_in_the_units_of_the_results_behind_it(known: Known, nodes: int) -> None:
    """Epochs of another data set are long on many nodes, those of a third one short on few: both scale to the samples in question."""

    def of(dataset: str, samples: int, sizes: Sequence[int]) -> list[Result]:
        key = SeriesKey(
            application="net", system="zenith", metric="epoch_time", unit="s", dataset=dataset, params={"samples": str(samples)}
        )
        return [Result(series=key, layout=Layout(nodes=n, ranks_per_node=1), value=samples * (1 / n + 0.001)) for n in sizes]

    facts = replace(known(None), models=fit([*of("long", 64_000, (32, 64)), *of("short", 1000, (1, 2, 4, 8))]))
    work = {"dataset": "other", "samples": 16_000, "epochs": 2}
    job = {"application": {"app_tag": "net"}, "target": {"name": "zenith"}, "job_options": {"node_count": nodes}}
    found = recommend(normalise({"job": {**job, "optimisation": {"app_type": "ai_training", "workload": work}}}).request, facts)
    efficiency = found.choices[0].efficiency
    assert efficiency is not None
    assert 0.9 < efficiency <= 1


def test_the_same_request_gives_the_same_answer(known: Known, training: Answer) -> None:
    """Plans are values: equal, id and all."""
    assert answer(example("3dgan-supermuc-ng"), known) == training


@pytest.mark.parametrize("runtime", ["podman-hpc", "sarus"])
def test_an_image_that_the_runtime_cannot_run_is_told(known: Known, runtime: str) -> None:
    """A file, where it knows registries alone: no job is written, and a ranking says why."""
    job = {"application": {"executable": "a", "container_runtime": "own.sif"}, "target": {"container_runtime": runtime}}
    request = normalise({"job": job}).request
    told = f"{runtime} runs images of a registry, not the file own.sif"
    with pytest.raises(Conflict, match=rf"^application\.container_runtime: {told}$"):
        optimise(request, known(None))
    assert told in [one.message for one in recommend(request, known(None)).warnings]


def test_recommendations_start_with_the_choice_of_the_plan(known: Known, training: Answer) -> None:
    """Both doors rank alike."""
    first = recommend(example("3dgan-supermuc-ng"), known("3dgan")).choices[0]
    assert (first.configuration.nodes, first.configuration.mpi_from) == (24, "host")
    assert first.prediction == training.plan.prediction


def test_recommendations_are_ranked_by_the_objective(known: Known) -> None:
    """Layouts and sizes together, not one kind after the other."""
    request = example("3dgan-supermuc-ng", optimisation__objective={"minimise": "time"})
    times = [choice.prediction.value or 0.0 for choice in recommend(request, known("3dgan")).choices]
    assert len(times) > 5
    assert times == sorted(times)


def test_given_counts_are_kept(known: Known) -> None:
    """Nodes and ranks of the request stand, and the evidence for them is used."""
    request = example("3dgan-supermuc-ng", job_options__node_count=32, job_options__process_count_per_node=2, optimisation__objective={})
    plan = answer(request, known).plan
    assert (plan.configuration.nodes, plan.configuration.ranks_per_node, plan.configuration.hyperthreads) == (32, 2, True)
    assert plan.prediction.basis == "measured"


def test_a_recommendation_for_a_place_that_nobody_knows_is_refused(known: Known) -> None:
    """There is nothing to rank; the line names what is known."""
    request = normalise({"job": {"target": {"name": "nowhere"}, "optimisation": {"workload": {"application": "3dgan"}}}}).request
    with pytest.raises(UnknownName, match=r"known: .*supermuc-ng"):
        recommend(request, known("3dgan"))


def test_a_job_that_an_unknown_system_cannot_start_is_told_that_it_is_unknown(known: Known) -> None:
    """Without a scheduler torchrun has no second node; the cause is the misspelt name."""
    wanted = {"app_type": "ai_training", "ai_training": {"pytorch": {}}}
    job = {"application": {"executable": "python3 t.py"}, "target": {"name": "supermuc"}, "optimisation": wanted}
    request = normalise({"job": {**job, "job_options": {"node_count": 2}}}).request
    with pytest.raises(Conflict, match="did you mean 'supermuc-ng'"):
        optimise(request, known(None))


def test_systems_that_are_only_measured_are_known_names(known: Known) -> None:
    """A typing error in the name of a system that nobody described is recognised, though other results may be of any system."""
    series = SeriesKey(application="solver", system="my-cluster", metric="wall_time", unit="s")
    places = (series, series.model_copy(update={"system": None}))
    models = fit([Result(series=key, layout=Layout(nodes=n), value=800.0 / n) for key in places for n in (1, 2, 4)])
    request = normalise({"job": {"target": {"name": "my-clutser"}, "application": {"app_tag": "solver"}}}).request
    with pytest.raises(UnknownName, match="did you mean 'my-cluster'"):
        recommend(request, replace(known(None), models=models))


@pytest.mark.parametrize("name", ["my-cluster", "My_Cluster"])
def test_a_system_that_was_measured_is_known_where_the_request_lacks_a_length(known: Known, name: str) -> None:
    """No time can be predicted without the number of samples: that is said, and not that the system is unknown."""
    series = SeriesKey(application="net", system="my-cluster", metric="throughput", unit="samples/s")
    models = fit([Result(series=series, layout=Layout(nodes=n, gpus_per_node=4), value=800.0 * n) for n in (1, 2, 4)])
    request = normalise({"job": {"target": {"name": name}, "application": {"app_tag": "net"}}}).request
    found = recommend(request, replace(known(None), models=models))
    assert [one.field for one in found.warnings if one.message.startswith("give the number of samples")] == [
        "optimisation.workload.samples"
    ]


def test_results_that_name_no_system_answer_requests_that_name_none(known: Known) -> None:
    """Results of a system do not, even if there are more of them."""
    series = SeriesKey(application="solver", metric="wall_time", unit="s")
    models = fit(
        Result(series=series.model_copy(update={"system": system}), layout=Layout(nodes=n, ranks_per_node=4), value=seconds / n)
        for system, seconds, sizes in ((None, 100.0, (1, 2, 4)), ("my-cluster", 10.0, (1, 2, 4, 8)))
        for n in sizes
    )
    job = {"application": {"app_tag": "solver", "app_type": "mpi"}, "job_options": {"node_count": 4}}
    (best, *_) = recommend(normalise({"job": job}).request, replace(known(None), models=models)).choices
    assert (best.configuration.ranks_per_node, best.prediction.value, best.prediction.basis) == (4, 25.0, "measured")


def test_candidates_that_differ_in_their_batch_say_which(known: Known) -> None:
    """Else one layout would be better than itself."""
    key = SeriesKey(application="net", system="dgx-1", framework="pytorch", metric="epoch_time", unit="s")
    counts = {"nodes": 1, "ranks_per_node": 8, "threads_per_rank": 5, "gpus_per_node": 8}
    models = fit(
        Result(series=key, layout=Layout.model_validate({**counts, "batch_size": batch}), value=100.0 + batch) for batch in (32, 64)
    )
    wanted = {"app_type": "ai_training", "ai_training": {"pytorch": {"distribution": "ddp"}}, "workload": {"application": "net"}}
    job = {"application": {"executable": "train.py"}, "target": {"name": "dgx-1"}, "optimisation": wanted}
    found = optimise(normalise({"job": job}).request, replace(known(None), models=models)).plan
    (text,) = [line for line in found.decisions if "best other variant" in line]
    assert ("1 node x 8x5 with batch size 64" in text, found.configuration.batch_size) == (True, 32)


def test_threads_on_a_system_that_nobody_described_are_no_hyper_threads(known: Known) -> None:
    """How many cores its nodes have is unknown: a hybrid layout that was measured there is answered as measured."""
    series = SeriesKey(application="solver", system="my-cluster", metric="wall_time", unit="s")
    models = fit([Result(series=series, layout=Layout(nodes=n, ranks_per_node=4, threads_per_rank=10), value=800.0 / n) for n in (1, 2, 4)])
    application = {"app_tag": "solver", "app_type": "mpi", "executable": "./solver"}
    job = {"target": {"name": "my-cluster"}, "application": application, "job_options": {"node_count": 4}}
    plan = optimise(normalise({"job": job}).request, replace(known(None), models=models)).plan
    assert (plan.prediction.basis, plan.prediction.value, plan.configuration.hyperthreads) == ("measured", 200.0, False)


@pytest.mark.parametrize(("asked", "most"), [({}, 8), ({"max_nodes": 16}, 16), ({"max_nodes": 6}, 6)])
def test_a_system_that_nobody_described_is_as_large_as_its_results_allow(known: Known, asked: dict[str, int], most: int) -> None:
    """Results over GPUs count by the nodes that they ran on: one doubling beyond, or what the request allows."""
    series = SeriesKey(application="llm", framework="pytorch", system="my-cluster", metric="throughput", unit="tokens/s")
    layouts = [Layout(nodes=n, gpus_per_node=gpus) for n, gpus in ((1, 1), (1, 2), (1, 4), (2, 4), (4, 4))]
    models = fit([Result(series=series, layout=each, value=3000.0 * (each.nodes or 1) * (each.gpus_per_node or 1)) for each in layouts])
    optimisation = {
        "app_type": "ai_training",
        "ai_training": {"pytorch": {"distribution": "ddp"}, "config": {"distributed_training": True}},
        "workload": {"application": "llm", "amount": "5e9 tokens"},
        "objective": {"minimise": "time", **asked},
    }
    target = {"name": "my-cluster", "job_scheduler_type": "slurm"}
    request = normalise(
        {"job": {"application": {"executable": "python3 train.py"}, "target": target, "optimisation": optimisation}}
    ).request
    plan = optimise(request, replace(known(None), models=models)).plan
    assert (plan.configuration.nodes, plan.configuration.gpus_per_node) == (most, 4)


@pytest.mark.parametrize(
    ("allowed", "asked", "told"),
    [
        (None, {}, "no container runtime is recorded for hlrs-testbed; name one in target.container_runtime"),
        (False, {}, "hlrs-testbed allows no container runtime"),
        (True, {}, None),
        (True, {"container_runtime": "none"}, "target.container_runtime is 'none'"),
        (None, {"container_runtime": "apptainer"}, None),
        (False, {"container_runtime": "apptainer"}, None),
    ],
)
def test_an_image_that_no_runtime_can_run_is_told(allowed: bool | None, asked: dict[str, Any], told: str | None, known: Known) -> None:
    """By an answer and by a check, also where the request itself wants none; one that names a runtime gets it, or is told of it."""
    facts = known("solver")
    runtimes = () if allowed is None else (RuntimePolicy(name="apptainer", allowed=allowed),)
    system = facts.systems["hlrs-testbed"].model_copy(update={"runtimes": runtimes})
    job = {
        "application": {"executable": "./solve", "container_runtime": "docker://me/solver:1"},
        "target": {"name": "hlrs-testbed", **asked},
    }
    request, facts = normalise({"job": job}).request, replace(facts, systems={**facts.systems, system.name: system})
    expected = [f"docker://me/solver:1 is not used, because {told}"] if told else []
    for warnings in (optimise(request, facts).plan.warnings, check(request, facts)):
        assert [one.message for one in warnings if one.field == "application.container_runtime"] == expected


@pytest.mark.parametrize(
    ("application", "says"),
    [
        (
            {"container_runtime": "docker://elsewhere.org/solver:1"},
            "images from docker://registry.example.org/ only; asked for: docker://else",
        ),
        ({"build": {"src": "https://elsewhere.org/solver.git"}}, "sources from https://gitlab.example.org/ only; asked for: https://else"),
        ({"container_runtime": "docker://registry.example.org/solver:1"}, None),
        ({"build": {"src": "${HOME}/solver"}}, None),
    ],
)
def test_an_image_or_source_from_elsewhere_is_refused_where_a_site_says_so(
    application: dict[str, Any], says: str | None, known: Known
) -> None:
    """The line names what the site allows; files of the user's own can be built there."""
    facts = known("solver")
    places = {"allowed_images": ("docker://registry.example.org/",), "allowed_sources": ("https://gitlab.example.org/",)}
    system = facts.systems["supermuc-ng"].model_copy(update=places)
    document = {"application": {"app_tag": "solver", "executable": "./solver", **application}, "target": {"name": "supermuc-ng"}}
    request, there = normalise({"job": document}).request, replace(facts, systems={"supermuc-ng": system})
    if says is None:
        assert optimise(request, there).texts.job_script
    else:
        with pytest.raises(RequestError, match=re.escape(says)):
            optimise(request, there)


def test_an_image_of_the_catalogue_from_elsewhere_is_not_chosen_where_a_site_says_so(training: Answer, known: Known) -> None:
    """The best of the others is."""
    request, facts = example("3dgan-supermuc-ng"), known("3dgan")
    system = facts.systems["supermuc-ng"].model_copy(update={"allowed_images": ("docker://",)})
    found = optimise(request, replace(facts, systems={**facts.systems, "supermuc-ng": system})).plan.image
    assert training.plan.image is not None
    assert training.plan.image["reference"].startswith("private://")
    assert found
    assert found["reference"].startswith("docker://")
