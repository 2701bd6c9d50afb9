"""The main flow on the packaged evidence: what is chosen, why, and what happens when the evidence changes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from modak.choosing.decision import decide, pareto_front
from modak.choosing.nodes import node_power
from modak.choosing.objective import pareto
from modak.dsl import Request
from modak.errors import Conflict, Infeasible, RequestError, UnknownName
from modak.facts import Facts, Layout, Result, RuntimePolicy
from modak.normalise import normalise
from modak.optimise import Answer, check, optimise, recommend
from modak.perfmodel import NodeUse, Question, fit, predict
from modak.perfmodel.fitting.curves import fitted
from modak.text.grammar import version_range
from tests.choosing.asked import asked, changed
from tests.examples import Known, answer, example
from tests.runs import ran


@pytest.fixture(scope="module")
def training(known: Known) -> Answer:
    """3DGAN on SuperMUC-NG, 20 epochs within an hour, nodes left open."""
    return answer(example("3dgan-supermuc-ng"), known)


def test_the_fastest_measured_layout_is_chosen(training: Answer) -> None:
    """Four ranks of twelve threads with the host's MPI, the evidence's fastest."""
    chosen = training.plan.configuration
    assert (chosen.ranks_per_node, chosen.threads_per_rank, chosen.mpi_from, chosen.hyperthreads) == (4, 12, "host", False)


def after(known: Known, runs: Iterable[Result]) -> Facts:
    """The packaged facts, and these results alone."""
    return replace(known(None), models=fit(runs))


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
    found = [power(NodeUse(system, None, *used)).tflops for used in (part, whole)]
    assert None not in found
    assert (found[0] or 0) / (found[1] or 1) == pytest.approx(share)


def test_the_gpus_of_a_run_are_not_held_against_processors_of_the_default_partition(known: Known) -> None:
    """Results rarely name their partition: those with GPUs ran where GPUs are."""
    facts = known(None)
    cpu = facts.systems["zenith"].default_partition
    gpu = facts.systems["dgx-1-v100"].default_partition.model_copy(update={"name": "gpu", "default": False})
    mixed = facts.systems["zenith"].model_copy(update={"name": "mixed", "partitions": (cpu, gpu)})
    power = node_power(replace(facts, systems={**facts.systems, "mixed": mixed}))
    there, here = (power(NodeUse(system, None, gpus=8)) for system in ("mixed", "dgx-1-v100"))
    assert there == here
    assert [*there] == [pytest.approx(7200), pytest.approx(125.6), None]


def test_processors_of_which_one_peak_is_not_known_are_compared_by_their_cores(known: Known) -> None:
    """48 cores of SuperMUC-NG are not what 12 cores of a slow processor are."""
    power = node_power(known(None))
    there, here = (power(NodeUse(system, None, gpus=0)) for system in ("supermuc-ng", "skylake-bronze-1080ti"))
    assert (there.tflops, here.tflops) == (None, None)
    assert (there.cores, here.cores) == (48, 12)


@pytest.mark.parametrize(("measured", "asked"), [("supermuc-ng", "dgx-1"), ("dgx-1", "supermuc-ng")])
def test_a_program_of_nodes_without_gpus_needs_none_elsewhere(known: Known, measured: str, asked: str) -> None:
    """48 and 40 cores; the eight GPUs of one of them have no part in it, though no column says so."""
    curves = fit([ran(240.0, nodes=1, system=measured)])
    found = predict(curves, Question({"system": asked}), [1], node_power(known(None))).value[0]
    assert found == pytest.approx(288 if asked == "dgx-1" else 200)


def test_runs_over_gpus_ran_where_nodes_have_as_many_as_they_used(known: Known) -> None:
    """A curve of four V100 per node, predicted for V100: not compared with the single T4 of the first partition."""
    lent = known(None).systems["fujitsu-primeflex-large"]
    _, t4, v100 = lent.partitions
    one = t4.model_copy(update={"node": t4.node.model_copy(update={"accelerators": 1})})
    cpu = known(None).systems["zenith"].default_partition
    facts = changed(known, lent.name, name="site", partitions=(cpu, one, v100))(None)
    rate = {"system": "site", "metric": "throughput", "unit": "samples/s"}
    measured = fit(ran(100.0 * count, nodes=1, ranks_per_node=count, gpus_per_node=count, **rate) for count in (1, 2, 4))
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


@pytest.mark.parametrize(("deadline", "max_nodes", "offered"), [(28800, 4, True), (600, 4, False), (600, 23, False)])
def test_more_nodes_are_offered_where_they_would_do(known: Known, deadline: int, max_nodes: int, offered: bool) -> None:
    """Eight hours can be met on the cluster, but not on four of its nodes; ten minutes on none of its 23."""
    with pytest.raises(Infeasible) as refused:
        answer(example("resnet50-gpu-cluster", optimisation__objective={"deadline": deadline, "max_nodes": max_nodes}), known)
    assert ("max_nodes" in str(refused.value)) == offered


@pytest.mark.parametrize(
    ("seconds", "options", "said"),
    [
        ((1000.0, 520.0, 430.0, 425.0), {}, "4 may do, because 1x4 takes 1.0"),
        ((1000.0, 900.0, 890.0, 880.0), {}, "2 may do, because 1x2 takes 1.0"),
        ((1000.0, 500.0, 250.0, 130.0), {}, None),
        ((1000.0, 520.0, 430.0, 425.0), {"node_exclusive": True}, None),
    ],
)
def test_cores_that_hardly_help_are_named(known: Known, seconds: Sequence[float], options: dict[str, Any], said: str | None) -> None:
    """On whole nodes they cost nothing; whoever shares nodes leaves them to others."""
    measured = [ran(value, nodes=1, ranks_per_node=1, threads_per_rank=2**power) for power, value in enumerate(seconds)]
    found = recommend(asked(optimisation={"app_type": "hpc", "hpc": {"openmp": {}}}, job_options=options), after(known, measured))
    lines = [line for line in found.decisions if line.startswith("cores: ")]
    assert [line.startswith(f"cores: {said}") for line in lines] == ([True] if said else [])


@pytest.mark.parametrize(("ranks", "nodes", "per_node", "at_least"), [(10, 1, 10, 200.0), (50, 2, 25, 70.0), (96, 2, 48, 52.0)])
def test_a_total_of_ranks_is_predicted_as_it_runs(known: Known, ranks: int, nodes: int, per_node: int, at_least: float) -> None:
    """Measured were full nodes of 48 ranks: ten ranks on a node take far longer than these, and 50 ranks are 25 on each of two nodes."""
    measured = ((1, 100.0), (2, 52.0), (4, 28.0))
    facts = after(known, [ran(seconds, nodes=n, ranks_per_node=48, threads_per_rank=1) for n, seconds in measured])
    plan = optimise(asked(application__app_type="mpi", application__executable="./solver", application__mpi_ranks=ranks), facts).plan
    assert (plan.configuration.nodes, plan.configuration.ranks_per_node) == (nodes, per_node)
    assert plan.prediction.value is not None
    assert plan.prediction.value >= at_least
    assert (plan.prediction.basis == "measured") == (ranks == 96)


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
    series = {"framework": "tensorflow", "system": "stampede2", "metric": "epoch_time", "mpi": "intel-mpi 2018", "mpi_from": "host"}
    facts = after(known, [ran(400 / nodes, nodes=nodes, ranks_per_node=4, threads_per_rank=12, **series) for nodes in (1, 2, 4)])
    asked = with_xla(False, optimisation__workload={"application": "solver", "epochs": 100}, target={"name": "stampede2"})
    plan, found = optimise(asked, facts).plan.configuration, recommend(asked, facts).choices[0].configuration
    assert plan.image
    assert found.model_copy(update={"runtime": plan.runtime}) == plan


def test_a_recommendation_warns_of_its_image_as_the_plan_does(known: Known) -> None:
    """With the field as it was sent."""
    facts, asked = known("mnist-cnn"), example("mnist-hlrs-xla", optimisation__ai_training__tensorflow__version="1.1")
    (told,) = (one for one in recommend(asked, facts).warnings if "no suitable image" in one.message)
    assert told.field == "optimisation.ai_training.tensorflow.version"
    assert told in optimise(asked, facts).plan.warnings


def test_constraints_that_only_an_unmeasured_missing_compiler_would_miss_are_met(known: Known) -> None:
    """With XLA, which nobody measured there, the interval would reach beyond the deadline on 24 nodes."""
    assert optimise(with_xla(True, job_options__node_count=24), known("3dgan")).plan.configuration.nodes == 24


@pytest.mark.parametrize(
    ("objective", "said"),
    [({}, "with it, 16 nodes are more than 1 doubling beyond the measured sizes"), ({"max_nodes": 16}, "xla: on, ")],
)
def test_a_faster_switch_that_is_off_says_what_rules_it_out(objective: dict[str, Any], said: str, known: Known) -> None:
    """XLA was measured on up to 4 nodes, runs without it on up to 8."""
    has = {"ranks_per_node": 2, "threads_per_rank": 24, "framework": "tensorflow", "metric": "epoch_time"}
    without = [ran(500 / nodes + 10, nodes=nodes, **has) for nodes in (1, 2, 4, 8)]
    with_it = [ran(400 / nodes + 8, nodes=nodes, compiler="xla", **has) for nodes in (1, 2, 4)]
    framework = {"config": {"distributed_training": True}, "tensorflow": {"xla": "auto"}}
    work = {"optimisation__workload": {"application": "solver", "epochs": 100}, "optimisation__objective": objective}
    request = example("3dgan-supermuc-ng", optimisation__ai_training=framework, **work)
    found = recommend(request, after(known, [*without, *with_it]))
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


def test_both_ends_of_the_pareto_front_are_shown(known: Known) -> None:
    """The fastest and the cheapest configuration, if there are too many to show all."""
    decision = decide(example("3dgan-supermuc-ng", optimisation__objective={}), known("3dgan"))
    front = pareto(decision.scored, decision.ranking.order)
    shown = pareto_front(decision, 3)
    assert (len(shown), shown[0], shown[-1]) == (3, front[0], front[-1])


def test_ranks_that_no_layout_gives_are_infeasible(known: Known) -> None:
    """The line names what is allowed, and what the layouts have."""
    with pytest.raises(Infeasible, match="allowed_ranks: no layout on supermuc-ng/thin has 27, 343 ranks, as many on each node"):
        answer(example("3dgan-supermuc-ng", application__allowed_ranks=[27, 343], job_options__node_count=8), known)


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
    facts = after(known, [ran(100.0, nodes=1, ranks_per_node=1, system="zenith", metric="throughput", unit="samples/s")])
    wanted = {"app_type": kind, "workload": {"samples": 5000, "epochs": 1}}
    found = optimise(asked("zenith", optimisation=wanted), facts).plan.prediction
    assert found.value == pytest.approx(50.0)
    assert found.per == per


@pytest.mark.parametrize("nodes", [1, 32, 64])
def test_efficiency_is_relative_to_work_in_the_units_of_the_results_behind_it(known: Known, nodes: int) -> None:
    """Epochs of another data set are long on many nodes, those of a third one short on few: both scale to the samples in question."""

    def of(dataset: str, samples: int, sizes: Sequence[int]) -> list[Result]:
        series = {"system": "zenith", "metric": "epoch_time", "dataset": dataset, "params": {"samples": str(samples)}}
        return [ran(samples * (1 / n + 0.001), nodes=n, ranks_per_node=1, **series) for n in sizes]

    facts = after(known, [*of("long", 64_000, (32, 64)), *of("short", 1000, (1, 2, 4, 8))])
    work = {"app_type": "ai_training", "workload": {"dataset": "other", "samples": 16_000, "epochs": 2}}
    efficiency = recommend(asked("zenith", optimisation=work, job_options__node_count=nodes), facts).choices[0].efficiency
    assert efficiency is not None
    assert 0.9 < efficiency <= 1


def test_the_same_request_gives_the_same_answer(known: Known, training: Answer) -> None:
    """Plans are values: equal, id and all."""
    assert answer(example("3dgan-supermuc-ng"), known) == training


@pytest.mark.parametrize("runtime", ["podman-hpc", "sarus"])
@pytest.mark.parametrize(("image", "called"), [("own.sif", "the file own.sif"), ("library://a/own:1", "library://a/own:1")])
def test_an_image_that_the_runtime_cannot_run_is_told(known: Known, runtime: str, image: str, called: str) -> None:
    """A file, or what only Apptainer fetches, where it knows registries alone: no job is written, and a ranking says why."""
    job = {"application": {"executable": "a", "container_runtime": image}, "target": {"container_runtime": runtime}}
    request = normalise({"job": job}).request
    told = f"{runtime} runs images of a registry (docker://), not {called}"
    with pytest.raises(Conflict, match=rf"^application\.container_runtime: {re.escape(told)}$"):
        optimise(request, known(None))
    assert told in [one.message for one in recommend(request, known(None)).warnings]


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
    runs = [ran(800.0 / n, nodes=n, system=system) for system in ("my-cluster", None) for n in (1, 2, 4)]
    with pytest.raises(UnknownName, match="did you mean 'my-cluster'"):
        recommend(asked("my-clutser"), after(known, runs))


@pytest.mark.parametrize("name", ["my-cluster", "My_Cluster"])
def test_a_system_that_was_measured_is_known_where_the_request_lacks_a_length(known: Known, name: str) -> None:
    """No time can be predicted without the number of samples: that is said, and not that the system is unknown."""
    rate = {"gpus_per_node": 4, "system": "my-cluster", "metric": "throughput", "unit": "samples/s"}
    found = recommend(asked(name), after(known, [ran(800.0 * n, nodes=n, **rate) for n in (1, 2, 4)]))
    assert [one.field for one in found.warnings if one.message.startswith("give the number of samples")] == [
        "optimisation.workload.samples"
    ]


def test_results_that_name_no_system_answer_requests_that_name_none(known: Known) -> None:
    """Results of a system do not, even if there are more of them."""
    facts = after(
        known,
        [
            ran(seconds / n, nodes=n, ranks_per_node=4, system=system)
            for system, seconds, sizes in ((None, 100.0, (1, 2, 4)), ("my-cluster", 10.0, (1, 2, 4, 8)))
            for n in sizes
        ],
    )
    (best, *_) = recommend(asked(None, application__app_type="mpi", job_options__node_count=4), facts).choices
    assert (best.configuration.ranks_per_node, best.prediction.value, best.prediction.basis) == (4, 25.0, "measured")


@pytest.mark.parametrize(
    ("column", "values", "other"),
    [
        ("batch_size", (32, 64), "8x5 with batch size 64"),
        ("framework_version", ("2.1", "2.2"), "8x5 with framework version 2.2"),
        ("mpi", ("mpich", "openmpi"), "8x5 (openmpi)"),
        ("numa_mode", (2, 4), "8x5 (4 NUMA domains)"),
    ],
)
def test_candidates_that_differ_in_one_thing_say_which(known: Known, column: str, values: tuple[Any, Any], other: str) -> None:
    """Else one layout would be better than itself."""
    has: dict[str, Any] = {"nodes": 1, "ranks_per_node": 8, "threads_per_rank": 5, "gpus_per_node": 8}
    has |= {"system": "dgx-1", "framework": "pytorch", "metric": "epoch_time"}
    facts = after(known, [ran(100.0 + 50 * place, **has, **{column: value}) for place, value in enumerate(values)])
    wanted = {"app_type": "ai_training", "ai_training": {"pytorch": {"distribution": "ddp"}}}
    found = optimise(asked("dgx-1", application__executable="train.py", optimisation=wanted), facts).plan
    (text,) = [line for line in found.decisions if "best other variant" in line]
    assert (f"1 node x {other}, is predicted" in text, found.prediction.value) == (True, 100.0)


def test_threads_on_a_system_that_nobody_described_are_no_hyper_threads(known: Known) -> None:
    """How many cores its nodes have is unknown: a hybrid layout that was measured there is answered as measured."""
    facts = after(known, [ran(800.0 / n, nodes=n, ranks_per_node=4, threads_per_rank=10, system="my-cluster") for n in (1, 2, 4)])
    job: dict[str, Any] = {"application__app_type": "mpi", "application__executable": "./solver", "job_options__node_count": 4}
    plan = optimise(asked("my-cluster", **job), facts).plan
    assert (plan.prediction.basis, plan.prediction.value, plan.configuration.hyperthreads) == ("measured", 200.0, False)


@pytest.mark.parametrize(("asked", "most"), [({}, 8), ({"max_nodes": 16}, 16), ({"max_nodes": 6}, 6)])
def test_a_system_that_nobody_described_is_as_large_as_its_results_allow(known: Known, asked: dict[str, int], most: int) -> None:
    """Results over GPUs count by the nodes that they ran on: one doubling beyond, or what the request allows."""
    rate = {"framework": "pytorch", "system": "my-cluster", "metric": "throughput", "unit": "tokens/s"}
    layouts = ((1, 1), (1, 2), (1, 4), (2, 4), (4, 4))
    facts = after(known, [ran(3000.0 * n * gpus, nodes=n, gpus_per_node=gpus, **rate) for n, gpus in layouts])
    optimisation = {
        "app_type": "ai_training",
        "ai_training": {"pytorch": {"distribution": "ddp"}, "config": {"distributed_training": True}},
        "workload": {"application": "solver", "amount": "5e9 tokens"},
        "objective": {"minimise": "time", **asked},
    }
    target = {"name": "my-cluster", "job_scheduler_type": "slurm"}
    job = {"application": {"executable": "python3 train.py"}, "target": target, "optimisation": optimisation}
    plan = optimise(normalise({"job": job}).request, facts).plan
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
