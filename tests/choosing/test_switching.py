"""Switches that a request leaves to the evidence, through the main flow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from modak.choosing.openswitch import OpenSwitch
from modak.choosing.shapes import Shape
from modak.dsl import Plan
from modak.facts import Layout, Result
from modak.ingest.reading import tables
from modak.normalise import normalise
from modak.optimise import optimise, recommend
from modak.perfmodel import fit
from modak.service import open_service
from modak.settings import Settings
from tests.examples import Known, example
from tests.runs import ran


def epoch(seconds: float, application: str = "net", compiler: str | None = None, precision: str | None = None) -> Result:
    """An epoch of an application on one node of the testbed."""
    series = {"application": application, "system": "hlrs-testbed", "framework": "tensorflow", "metric": "epoch_time"}
    return ran(seconds, nodes=1, ranks_per_node=1, threads_per_rank=20, compiler=compiler, precision=precision, **series)


def of_build(system: str) -> Result:
    """A published speed-up by a build from source."""
    told = {"params": {"build": "opt-build", "baseline": "hub"}, "metric": "speedup", "unit": "1"}
    return ran(1.17, nodes=1, application="net", system=system, **told)


def on_nodes(result: Result, nodes: int, **labels: object) -> Result:
    """The result on so many nodes, with further labels of its series."""
    series, layout = result.series.model_copy(update=labels), result.layout.model_copy(update={"nodes": nodes})
    return result.model_copy(update={"series": series, "layout": layout})


OTHERS = [epoch(100.0, "one"), epoch(80.0, "one", "xla"), epoch(50.0, "two"), epoch(41.0, "two", "xla")]


def plan(
    known: Known,
    own: Sequence[Result],
    tried: Sequence[Result],
    xla: object = "auto",
    runtime: str | None = None,
    options: Any = None,
    **optimisation: object,
) -> Plan:
    """The plan of a request for ``net`` with the given results and no others."""
    training = {"tensorflow": {"version": "2.*", "xla": xla}}
    wanted = {"app_type": "ai_training", "opt_build": {"acc_type": "none"}, "ai_training": training, **optimisation}
    place, options = {"name": "hlrs-testbed", "container_runtime": runtime}, options or {}
    application = {"app_tag": "net", "executable": "python3 net.py"}
    job = {"application": application, "target": place, "optimisation": wanted, "job_options": options}
    facts = replace(known(None), models=fit(own), tried=tuple(tried))
    return optimise(normalise({"job": job}).request, facts).plan


def line(found: Plan, name: str) -> str:
    """What the plan says of a switch."""
    return next(text for text in found.decisions if text.startswith(f"{name}: "))


def test_without_evidence_it_stays_off_and_says_which_run_would_decide(known: Known) -> None:
    """One with and one without, where it would run."""
    found = plan(known, [], [])
    assert found.configuration.compiler is None
    assert line(found, "xla").endswith("compare one run with it and one without it on 1 node of hlrs-testbed")


def test_a_precision_that_is_not_left_open_is_not_told(known: Known) -> None:
    """Where the graph compiler alone is."""
    assert not [text for text in plan(known, [epoch(60.0)], []).decisions if text.startswith("precision: ")]


def test_other_applications_turn_it_on_and_the_time_follows_their_ratio(known: Known) -> None:
    """The own time without it, times what it did elsewhere, with a wider interval."""
    found = plan(known, [epoch(60.0)], OTHERS)
    assert found.configuration.compiler == "xla"
    assert found.prediction.basis == "transferred"
    assert found.prediction.value is not None
    assert 0.8 * 60 < found.prediction.value < 60
    assert "transferred: 2 pairs, 2 applications" in line(found, "xla")


def test_other_applications_that_it_slowed_down_leave_it_off(known: Known) -> None:
    """With the ratio that speaks against it."""
    slower = [epoch(100.0, "one"), epoch(120.0, "one", "xla")]
    found = plan(known, [epoch(60.0)], slower)
    assert found.configuration.compiler is None
    assert line(found, "xla").startswith("xla: off, 1.")


@pytest.mark.parametrize(("nodes", "compiler"), [(1, "xla"), (2, "xla"), (4, None)])
def test_a_switch_may_help_at_one_size_and_not_at_another(known: Known, nodes: int, compiler: str | None) -> None:
    """By what it did at each size to the same application on another data set; the time is multiplied by the ratio at its size."""
    other, ratios = {"dataset": "large"}, {1: 0.77, 2: 0.89, 4: 1.23}
    own = [on_nodes(epoch(60.0 / count), count, dataset="small") for count in ratios]
    pairs = [on_nodes(epoch(600.0 / count), count, **other) for count in ratios]
    pairs += [on_nodes(epoch(600.0 * ratio / count, compiler="xla"), count, **other) for count, ratio in ratios.items()]
    training = {"config": {"distributed_training": True}, "tensorflow": {"version": "2.*", "xla": "auto"}}
    work = {"dataset": "small", "epochs": 1}
    found = plan(known, own, [*own, *pairs], ai_training=training, workload=work, options={"node_count": nodes})
    assert found.configuration.compiler == compiler
    assert f"xla: {'on' if compiler else 'off'}, " in line(found, "xla")
    if compiler:
        ratio = float(line(found, "xla").split()[2])
        start = found.prediction.start_up or 0.0
        assert found.prediction.value == pytest.approx(start + 60.0 / nodes * ratio, rel=0.06)


def test_own_pairs_of_a_precision_are_of_the_same_run(known: Known) -> None:
    """Though the run names its precision and a pair, which has two, names none: the ratio is hardly drawn towards 1."""
    tried = [epoch(60.0, precision="fp32"), epoch(45.0, precision="amp")]
    found = plan(known, [epoch(60.0, precision="fp32")], tried, xla=False, workload={"precision": "auto"})
    assert line(found, "amp").startswith("amp: on, 0.76 x the time without it")


def test_own_results_decide_alone(known: Known) -> None:
    """Both were measured on the target: its own curves are compared, whatever others did."""
    own = [epoch(60.0), epoch(66.0, compiler="xla")]
    found = plan(known, own, [*OTHERS, *own])
    assert (found.configuration.compiler, found.prediction.basis) == (None, "measured")
    assert "measured" in line(found, "xla")


@pytest.mark.parametrize("limits", [{}, {"objective": {"deadline": 63, "confidence": 0.5}, "workload": {"epochs": 1}}])
def test_the_line_gives_the_ratio_of_the_own_results_that_decided(known: Known, limits: dict[str, Any]) -> None:
    """Off by 66 s against 60 s is 1.10 times, though most others were faster with it: that is why, whatever else it would not meet."""
    own = [epoch(60.0), epoch(66.0, compiler="xla")]
    others = [epoch(seconds, name, compiler) for name in "abcdef" for seconds, compiler in ((100.0, None), (60.0, "xla"))]
    said = line(plan(known, own, [*others, *own], **limits), "xla")
    assert said.startswith("xla: off, 1.10 x the time without it (90% interval ")
    assert said.endswith("; measured: 1 result with it, 1 without)")


def test_another_layout_is_named_once_whatever_is_switched_on_in_it(known: Known) -> None:
    """With the faster of its times, with XLA and without."""
    own = [
        epoch(seconds, compiler=compiler).model_copy(update={"layout": Layout(nodes=1, ranks_per_node=ranks, threads_per_rank=20 // ranks)})
        for ranks, compiler, seconds in ((2, None, 60.0), (2, "xla", 50.0), (4, None, 90.0), (4, "xla", 75.0))
    ]
    training = {"config": {"distributed_training": True}, "tensorflow": {"version": "2.*", "xla": "auto", "distribution": "horovod"}}
    assert line(plan(known, own, own, ai_training=training), "layout").endswith("at 1 node 4x5 takes 1.50 x as long")


def test_a_switch_that_was_measured_in_one_precision_is_considered_in_another(known: Known) -> None:
    """XLA was measured in single precision, and mixed precision without it: the choice has both, as the pairs say."""
    pairs = [
        on_nodes(epoch(seconds / 2**doublings, compiler=compiler, precision="fp32"), 2**doublings)
        for doublings in range(3)
        for seconds, compiler in ((60.0, None), (54.0, "xla"))
    ]
    own = [*pairs, epoch(45.0, precision="amp")]
    found = plan(known, own, own, workload={"precision": "auto"}, options={"node_count": 1})
    made = found.configuration
    assert (made.compiler, made.precision, found.prediction.basis) == ("xla", "amp", "transferred")
    assert line(found, "xla").startswith("xla: on, 0.9")


@pytest.mark.parametrize(("precision", "compiler"), [("amp", "xla"), ("fp32", None)])
def test_a_switch_helps_as_in_the_precision_of_the_run(known: Known, precision: str, compiler: str | None) -> None:
    """On another network XLA was faster in mixed precision, and slower in single precision."""
    others = [
        epoch(seconds, "one", with_it, asked)
        for asked, seconds_of in (("amp", (100.0, 60.0)), ("fp32", (100.0, 130.0)))
        for with_it, seconds in zip((None, "xla"), seconds_of, strict=True)
    ]
    found = plan(known, [epoch(50.0, precision=precision)], others, workload={"precision": precision})
    assert found.configuration.compiler == compiler


def test_a_switch_that_would_help_and_is_off_says_why(known: Known) -> None:
    """Its interval is wider, and the deadline has to be met with confidence."""
    objective = {"minimise": "node_hours", "deadline": 62, "confidence": 0.9}
    others = [epoch(100.0, "one"), epoch(97.0, "one", "xla")]
    found = plan(known, [epoch(50.0)], others, options={"node_count": 1}, objective=objective, workload={"epochs": 1})
    assert found.configuration.compiler is None
    assert line(found, "xla").startswith("xla: off, 0.98 x the time without it")
    assert line(found, "xla").endswith("; with it, 1 node does not meet the constraints")


def test_a_switch_that_another_one_excludes_says_which(known: Known) -> None:
    """One graph compiler at a time."""
    others = [epoch(100.0, "one"), epoch(90.0, "one", "xla"), epoch(60.0, "one", "ngraph")]
    training = {"tensorflow": {"version": "1.*", "xla": "auto", "ngraph": "auto"}}
    found = plan(known, [epoch(50.0)], others, ai_training=training)
    assert found.configuration.compiler == "ngraph"
    assert line(found, "xla").endswith("; the choice has ngraph instead")


def test_a_measured_run_is_no_candidate_twice(known: Known) -> None:
    """Two switches lead from the plain run to one that was measured with both."""
    both = epoch(40.0, compiler="xla", precision="amp")
    others = [epoch(100.0, "one"), epoch(80.0, "one", "xla"), epoch(70.0, "one", precision="amp")]
    found = plan(known, [epoch(60.0), both], others, workload={"precision": "auto"})
    made = [(found.configuration, found.prediction), *((one.configuration, one.prediction) for one in found.alternatives)]
    assert [prediction.basis for one, prediction in made if (one.compiler, one.precision) == ("xla", "amp")] == ["measured"]


def test_another_compiler_is_no_run_without_the_switch() -> None:
    """Beside two compilers that are left open, each is held against neither."""
    xla, plain = Shape(1, 20, compiler="xla"), Shape(1, 20)
    switch = OpenSwitch("xla", "compiler", "xla")
    assert [switch.tells_apart(xla, other) for other in (plain, replace(xla, compiler="ngraph"))] == [True, False]


def test_a_switch_that_the_request_turns_on_keeps_the_measured_layout(known: Known) -> None:
    """Measured without it in two ranks of ten threads: that layout, with a transferred time, and no rule of thumb."""
    layout = {"ranks_per_node": 2, "threads_per_rank": 10}
    found = plan(known, [epoch(60.0 / n).model_copy(update={"layout": Layout(nodes=n, **layout)}) for n in (1, 2)], [], xla=True)
    made = found.configuration
    assert (made.compiler, made.ranks_per_node, made.threads_per_rank) == ("xla", 2, 10)
    assert found.prediction.basis == "transferred"


@pytest.mark.parametrize("asked", [True, False])
def test_what_the_request_says_is_not_overruled(known: Known, asked: bool) -> None:
    """On is on and off is off, without a line on its effect."""
    found = plan(known, [epoch(60.0)], OTHERS, xla=asked)
    assert (found.configuration.compiler == "xla") is asked
    assert not [text for text in found.decisions if text.startswith("xla: ")]


def on_p100(known: Known, pytorch: dict[str, object], precision: str) -> Plan:
    """A plan for the DGX-1 with P100, where other applications gained by half precision and by a compiler on other nodes."""
    optimisation = {"app_type": "ai_training", "ai_training": {"pytorch": pytorch}, "workload": {"precision": precision}}
    job = {"application": {"app_tag": "net", "executable": "python3 net.py"}, "target": {"name": "dgx-1"}, "optimisation": optimisation}
    tried = [epoch(100.0, "one"), epoch(50.0, "one", precision="bf16"), epoch(60.0, "one", "inductor")]
    return optimise(normalise({"job": job}).request, replace(known(None), tried=tuple(tried))).plan


@pytest.mark.parametrize(("switch", "needed"), [("bf16", "8.0"), ("inductor", "7.0")])
def test_what_gpus_are_too_old_for_is_left_off(known: Known, switch: str, needed: str) -> None:
    """Whatever others gained: the job could fail, or be slower."""
    found = on_p100(known, {"inductor": "auto"}, "auto")
    assert line(found, switch).startswith(f"{switch}: off, because {switch} needs GPUs of compute capability {needed}, but p100-")


def test_what_gpus_are_too_old_for_is_warned_of(known: Known) -> None:
    """What the request states is kept."""
    found = on_p100(known, {"inductor": True}, "bf16")
    fields = [warning.field for warning in found.warnings if "compute capability" in warning.message]
    assert fields == ["optimisation.workload.precision", "optimisation.ai_training.pytorch.inductor"]


def test_precision_can_be_left_to_the_evidence(known: Known) -> None:
    """Mixed precision helped another network; the answer says that the program must run in it."""
    tried = [epoch(100.0, "one", precision="fp32"), epoch(60.0, "one", precision="amp")]
    found = plan(known, [epoch(60.0, precision="fp32")], tried, xla=False, workload={"precision": "auto"})
    assert found.configuration.precision == "amp"
    assert any("run the program in it" in text for text in found.advice)


@pytest.mark.parametrize("switch", [True, "auto"])
def test_results_that_write_a_graph_compiler_in_capitals_are_of_it(known: Known, switch: object) -> None:
    """The time is the one that was measured, and the switch is the framework's."""
    found = plan(known, [epoch(60.0), epoch(45.0, compiler="XLA")], [], xla=switch)
    assert (found.configuration.compiler, found.prediction.basis) == ("xla", "measured")


@pytest.mark.parametrize("own", [[], [epoch(60.0), epoch(45.0, compiler="xla")]])
def test_a_graph_compiler_that_the_request_names_is_the_frameworks(known: Known, own: Sequence[Result]) -> None:
    """As images are labelled, whether there are results or not."""
    assert plan(known, own, [], workload={"compiler": "XLA"}).configuration.compiler == "xla"


def test_a_precision_that_was_measured_in_another_word_is_not_told_anew(known: Known) -> None:
    """Half precision was measured: what others gained by it is not multiplied upon that."""
    tried = [epoch(100.0, "one", precision="fp32"), epoch(60.0, "one", precision="fp16")]
    found = plan(known, [epoch(60.0), epoch(50.0, precision="half")], tried, xla=False, workload={"precision": "auto"})
    assert found.prediction.value == pytest.approx(50.0)
    assert found.prediction.basis == "measured"


@pytest.mark.parametrize(
    ("own", "kept", "other"),
    [
        ([], "as the program has it", "fp32 and one with amp"),
        ([epoch(60.0)], "as the program has it", "fp32 and one with amp"),
        ([epoch(60.0, precision="fp32")], "as measured (fp32)", "fp32 and one with amp"),
        ([epoch(60.0, precision="fp16")], "as measured (fp16)", "fp16 and one with fp32"),
    ],
)
def test_a_precision_that_nothing_decides_stays_and_one_line_says_which_runs_would(
    known: Known, own: Sequence[Result], kept: str, other: str
) -> None:
    """Of all precisions, not one line of each."""
    found = plan(known, own, own, xla=False, workload={"precision": "auto"})
    why = f"because no pair of results shows its effect: compare one run with {other} on 1 node of hlrs-testbed"
    assert [text for text in found.decisions if text.startswith(("precision:", "amp:", "fp16:"))] == [f"precision: {kept}, {why}"]


def test_a_precision_that_others_decided_has_no_line_on_what_is_unknown(known: Known) -> None:
    """Pairs of one reduced precision are evidence."""
    tried = [epoch(100.0, "one", precision="fp32"), epoch(60.0, "one", precision="amp")]
    found = plan(known, [epoch(60.0)], tried, xla=False, workload={"precision": "auto"})
    assert not [text for text in found.decisions if text.startswith("precision:")]


def test_a_build_from_source_can_be_left_to_the_evidence(known: Known) -> None:
    """The published speed-ups choose an image that is built from source."""
    found = plan(known, [], [of_build("hlrs-testbed")], xla=False, enable_opt_build="auto")
    assert found.configuration.opt_build
    assert found.image is not None
    assert found.image["labels"]["source"] == "opt-build"


@pytest.mark.parametrize("field", [{"node_count": 24}, {}])
def test_a_build_that_cannot_be_had_is_left_off(known: Known, field: dict[str, int]) -> None:
    """There is no recipe with Intel MPI: the time is that of the hub's image, in which the job runs, and there is no warning."""
    faster = replace(known("3dgan"), tried=(of_build("supermuc-ng"),))
    found = optimise(example("3dgan-supermuc-ng", optimisation__enable_opt_build="auto", job_options=field), faster).plan
    assert (found.configuration.nodes, found.configuration.opt_build, found.prediction.basis) == (24, None, "interpolated")
    why = "no source build of tensorflow with intel-mpi can be pulled, and there is no recipe for it"
    assert line(found, "opt-build") == f"opt-build: off, because {why}"
    assert "enable_opt_build" not in {warning.field.rpartition(".")[2] for warning in found.warnings}


def test_a_build_that_has_a_recipe_is_considered_in_the_layouts_that_it_fits(known: Known) -> None:
    """The MPI of the container can be built; that of the host, in which most results are, cannot."""
    faster = replace(known("3dgan"), tried=(of_build("supermuc-ng"),))
    found = recommend(example("3dgan-supermuc-ng", optimisation__enable_opt_build="auto"), faster).choices
    built = [one.configuration for one in found if one.configuration.opt_build]
    assert {one.mpi_from for one in built} == {"container"}
    assert all("opt-build" in (one.image or "") for one in built)


def test_without_an_image_no_build_is_chosen(known: Known) -> None:
    """The job runs the software of the system, which the switch does not change."""
    found = plan(known, [], [of_build("hlrs-testbed")], xla=False, enable_opt_build="auto", runtime="none")
    assert line(found, "opt-build") == "opt-build: off, because no image is chosen for this job"


def test_pairs_are_found_in_the_database(own_database: Path, tmp_path: Path) -> None:
    """Other applications' results with and without are read where a request leaves the switch open, however they spell it."""
    table = tmp_path / "pairs.csv"
    lines = [f"one,tensorflow,{compiler},hlrs-testbed,1,epoch_time,{value},s" for compiler, value in (("", 100), ("XLA", 70))]
    table.write_text("\n".join(["application,framework,compiler,system,nodes,metric,value,unit", *lines, ""]))
    training = {"tensorflow": {"version": "2.*", "xla": "auto"}}
    job = {"application": {"app_tag": "net", "executable": "python3 net.py"}, "target": {"name": "hlrs-testbed"}}
    request = {"job": {**job, "optimisation": {"app_type": "ai_training", "opt_build": {"acc_type": "none"}, "ai_training": training}}}
    with open_service(Settings(database_url=f"sqlite:///{own_database}")) as service:
        assert service.optimise(request)["job"]["plan"]["configuration"].get("compiler") is None
        service.load(tables([table]))
        assert service.optimise(request)["job"]["plan"]["configuration"]["compiler"] == "xla"


@pytest.mark.parametrize("compiler", [None, "xla"])
def test_results_may_name_a_compiler_that_is_part_of_the_framework(known: Known, compiler: str | None) -> None:
    """JAX always uses XLA: results that say so, and those that do not, were measured as the job runs."""
    run = epoch(9.0, compiler=compiler)
    facts = replace(known(None), models=fit([run.model_copy(update={"series": run.series.model_copy(update={"framework": "jax"})})]))
    application = {"app_tag": "net", "executable": "python3 net.py"}
    wanted = {"app_type": "ai_training", "ai_training": {"jax": {"xla": False}}, "workload": {"epochs": 1}}
    job = {"application": application, "target": {"name": "hlrs-testbed"}, "optimisation": wanted, "job_options": {"node_count": 1}}
    assert optimise(normalise({"job": job}).request, facts).plan.prediction.basis == "measured"
