"""Advice: the figures of the job at hand, each with its passage; take the passage away and the sentence goes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from modak.advice import unlike
from modak.advice.sentences import FIGURES, advise
from modak.choosing.chosen import Chosen
from modak.choosing.shapes import Shape
from modak.dsl import Application, Data, JobOptions, Objective, Optimisation, Prediction, Request, Signal, StageIn, Workload
from modak.facts import NotedShift, Result
from modak.normalise import normalise
from modak.optimise import Recommendation, optimise, recommend
from modak.perfmodel import fit
from modak.target import resolve
from modak.text.amounts import format_bytes
from tests.choosing.asked import SPREAD, asked, changed
from tests.conftest import ROOT
from tests.examples import Known
from tests.runs import ran
from tests.test_nextruns import shortened

IMAGENET = Data(size_bytes=42e9, files=1_281_167)


def chosen(
    known: Known, nodes: int = 448, batch: int | None = 16, system: str = "stampede2", data: Data | None = IMAGENET, epochs: int = 90
) -> Chosen:
    """ResNet-50 on ImageNet as the guide has it: 448 nodes, two workers each, 40 s an epoch."""
    workload = Workload(application="resnet50", epochs=epochs, samples=1_281_167, batch_size=batch)
    request = Request(
        application=Application(app_tag="resnet50"), optimisation=Optimisation(app_type="ai_training", data=data, workload=workload)
    )
    target = resolve(request.model_copy(update={"target": request.target.model_copy(update={"name": system})}), known(None))
    told = Prediction(value=3600.0, lower=3000.0, upper=4320.0, per_unit=40.0, per="epoch", basis="measured")
    return Chosen(request, target, Shape(2, 22, batch_size=batch), nodes, told)


def by(
    known: Known, runs: Iterable[Result], workload: Mapping[str, Any] | None = None, system: str = "supermuc-ng", **job: Any
) -> Recommendation:
    """The recommendation for ``solver`` with these results and no others."""
    return recommend(asked(system, optimisation={"workload": workload or {}}, **job), replace(known(None), models=fit(runs)))


def test_results_from_before_a_shift_are_told(known: Known) -> None:
    """Since when runs take longer, if results of the curve that the prediction rests on are scaled to that, and whether it may pass."""
    moved = NotedShift(since=date(2026, 3, 20), ratio=1.2)
    half_way = "perhaps 20% longer since 2026-03-20, and results from before were scaled half-way to that, because so few days may have "
    to_that = "20% longer since 2026-03-20, and results from before were scaled to that: "
    for shifted, said in ((moved, to_that), (moved.model_copy(update={"sure": False}), half_way), (None, None)):
        models = [curve.model_copy(update={"shifted": shifted}) for curve in fit([ran(80 / nodes, nodes=nodes) for nodes in (1, 2, 4)])]
        advice = recommend(asked("supermuc-ng"), replace(known(None), models=tuple(models))).advice
        told = [text for text in advice if "results compare measured_at" in text]
        assert [text.startswith(f"runs take {said}") for text in told] == [True] * bool(said)


def of_sizes(*sizes: float, power: float = 1.0, **params: str) -> list[Result]:
    """Runs of problems of so many ``n`` on 1, 2 and 4 nodes."""
    return [ran(n**power / p, nodes=p, params={"n": str(n), **params}) for n in sizes for p in (1, 2, 4)]


def sentences(known: Known, one: Chosen, name: str) -> tuple[str, ...]:
    """What the rule of that name makes of the job."""
    rules = [rule for rule in known(None).rules if rule.name == name]
    return tuple(text for text in advise(one, rules) if text not in advise(one, ()))


def test_the_global_batch_and_the_rate_that_goes_with_it(known: Known) -> None:
    """The guide's own 14,336 of 896 workers with 16 each, and the linear scaling rule over five epochs."""
    (text,) = sentences(known, chosen(known), "learning-rate-scaling")
    assert "the global batch is 14336 (16 on each of 896 workers, 89 steps per epoch), so 896 times the learning rate" in text
    assert "about 5 epochs" in text
    assert text.endswith("]")
    assert "PRACE guide, sections 3.3" in text


def test_one_worker_has_no_learning_rate_to_scale(known: Known) -> None:
    """Its batch is the whole one."""
    assert not sentences(known, replace(chosen(known, nodes=1), shape=Shape(1, 22, batch_size=16)), "learning-rate-scaling")


def test_the_warm_up_of_fine_tuning_is_a_small_part_of_it(known: Known) -> None:
    """Three epochs have no room for five of warm-up."""
    (text,) = sentences(known, chosen(known, epochs=3), "learning-rate-scaling")
    assert "about 0.75 epochs" in text


@pytest.mark.parametrize(
    ("factors", "told"),
    [
        ([(1,), (1,), (1,), (1,), (1,)], None),
        (
            [(0.8,), (1.3,), (0.75,), (1.25,), (0.85,)],
            "the measured times scatter around a smooth curve: another run on 4 nodes may be slower",
        ),
        ([(1,), (1,), (0.7, 1, 1.4), (1,), (1,)], "repeated runs scatter: another run on 4 nodes may be slower"),
    ],
)
def test_a_wide_interval_of_a_measured_time_is_explained(known: Known, factors: list[tuple[float, ...]], told: str | None) -> None:
    """By what scatters."""
    times = [(n, 1000 / n * factor) for n, several in zip((1, 2, 4, 8, 16), factors, strict=True) for factor in several]
    runs = [ran(time, nodes=n, ranks_per_node=48) for n, time in times]
    advice = by(known, runs, application__app_type="mpi", job_options__node_count=4).advice
    assert [text.startswith(told or "") for text in advice if "scatter" in text] == [True] * bool(told)


@pytest.mark.parametrize("repeats", [(1,), (0.999, 1, 1.001)])
def test_a_wide_interval_by_what_others_scatter_is_not_said_to_be_of_the_own_runs(known: Known, repeats: tuple[float, ...]) -> None:
    """Which are too few to show it, or agree."""
    own = [ran(1000 / n * factor, nodes=n, ranks_per_node=48) for n in (4, 8) for factor in repeats]
    other = [ran(2000 / n * factor, nodes=n, ranks_per_node=12) for n in (1, 2, 4, 8) for factor in (0.7, 1, 1.4)]
    advice = by(known, own + other, application__app_type="mpi", job_options__node_count=4).advice
    assert [text.startswith("other runs of this application on supermuc-ng/thin scatter") for text in advice if "scatter" in text] == [True]


@pytest.mark.parametrize(
    ("request_says", "told"),
    [
        ({}, True),
        ({"job_options": {"request_gpus": 0}}, False),
        ({"job_options": {"partition": "default"}}, False),
        ({"optimisation": {"app_type": "ai_training", "opt_build": {"acc_type": "none"}}}, False),
        ({"optimisation": {"app_type": "hpc"}}, False),
    ],
)
def test_training_beside_gpus_is_told_of_them(known: Known, request_says: dict[str, Any], told: bool) -> None:
    """Where the default partition has none and the request says nothing of GPUs or nodes."""
    (plain,) = known(None).systems["zenith"].partitions
    node = plain.node.model_copy(update={"accelerator": "a100-sxm4-40gb", "accelerators": 4})
    both = (plain.model_copy(update={"default": True}), plain.model_copy(update={"name": "gpu", "node": node, "default": False}))
    job = {"target": {"name": "zenith"}, "optimisation": {"app_type": "ai_training"}, **request_says}
    advice = optimise(normalise({"job": job}).request, changed(known, "zenith", partitions=both)(None)).plan.advice
    said = "zenith has nodes with GPUs: gpu (4 x a100-sxm4-40gb); set job_options.request_gpus to use them"
    assert [text for text in advice if "GPUs" in text] == [said] * told


@pytest.mark.parametrize(
    ("seconds", "done", "asked", "said"),
    [
        (20.0, {"epochs": "2"}, {"epochs": 50}, "25 x the 20 s of a run of 2 epochs: if that is mostly start-up, it is much too long; "),
        (20.0, {"epochs": "2"}, {"epochs": 1}, "0.5 x the 20 s of a run of 2 epochs: if that is mostly start-up, it is much too short; "),
        (
            20.0,
            {"amount": "5 ns"},
            {"amount": "50 ns"},
            "10 x the 20 s of a run of 5 ns: if that is mostly start-up, it is much too long; ",
        ),
        (
            20.0,
            {"epochs": "2"},
            {"epochs": 50, "metric": {"name": "epoch_time", "unit": "s", "pattern": "epoch: ([0-9.]+)"}},
            "25 x the 20 s of a run of 2 epochs: if that is mostly start-up, it is much too long; ",
        ),
        (20.0, {"epochs": "2"}, {"epochs": 2}, None),
        (2000.0, {"epochs": "2"}, {"epochs": 50}, None),
    ],
)
def test_the_start_up_of_a_short_pilot_is_told(
    known: Known, seconds: float, done: dict[str, str], asked: dict[str, Any], said: str | None
) -> None:
    """Where another length is asked for; how to measure it, too."""
    run = ran(seconds, nodes=1, ranks_per_node=48, threads_per_rank=1, params=done)
    how = "let the program print the time of an epoch, or the speed of its work, and name that in workload.metric, or measure a longer run"
    if "metric" in asked:
        how = "the job's result, with epoch_time in it, will show"
    said_of_it = [text for text in by(known, [run], asked, job_options__node_count=1).advice if "start-up" in text]
    assert said_of_it == ([f"the predicted time is {said}{how}"] if said else [])


@pytest.mark.parametrize(("time", "said"), [(20.0, ["0"]), (20.05, ["0.05"]), (21.0, [])])
def test_a_speed_that_is_an_average_over_the_whole_run_is_told(known: Known, time: float, said: list[str]) -> None:
    """A start-up that no job is as quick as: the speed is the work divided by the time, in which start-up is."""
    layout = {"nodes": 1, "ranks_per_node": 48, "threads_per_rank": 1, "params": {"amount": "2000 steps"}}
    runs = [ran(time, metric="wall_time", **layout), ran(100.0, metric="throughput", unit="steps/s", **layout)]
    advice = by(known, runs, {"amount": "200000 steps"}, job_options__node_count=1).advice
    way = "if one was computed from the other, longer runs take less, and shorter ones more, than is predicted"
    told = [f"throughput and the time of the same runs leave {seconds} s to start: {way}" for seconds in said]
    assert [text for text in advice if "to start" in text] == told


@pytest.mark.parametrize("written", [True, False])
def test_only_a_result_that_is_written_tells_the_speed_of_a_short_pilot(known: Known, written: bool) -> None:
    """Without one the metric of the request is left out."""
    run = ran(20.0, nodes=1, ranks_per_node=48, threads_per_rank=1, params={"epochs": "2"})
    work = {"epochs": 50, "metric": {"name": "epoch_time", "unit": "s", "pattern": "epoch: ([0-9.]+)"}}
    advice = by(known, [run], work, application__write_result=written).advice
    assert [text.endswith("the job's result, with epoch_time in it, will show") for text in advice if "start-up" in text] == [written]


@pytest.mark.parametrize(
    ("training", "said"),
    [({"ai_training": {"pytorch": {}}}, True), ({"workload": {"application": "new", "epochs": 9}}, True), ({}, False)],
)
def test_a_pilot_is_of_epochs_where_there_are_some(known: Known, training: dict[str, Any], said: bool) -> None:
    """A search over models of scikit-learn has none."""
    job = {"application": {"app_tag": "new"}, "optimisation": {"app_type": "ai_training", **training}}
    advice = optimise(normalise({"job": job}).request, known(None)).plan.advice
    assert ["one or two epochs" in text for text in advice if "pilot job" in text] == [said]


@pytest.mark.parametrize(
    ("printed", "unit", "work", "how"),
    [
        ("throughput", "samples/s", {"epochs": 2}, "give workload.samples"),
        ("throughput", "samples/s", {"epochs": 2, "samples": 1000}, None),
        ("throughput", "samples/s", {"amount": "2000 samples"}, None),
        ("step_time", "ms", {"epochs": 2}, "give workload.steps"),
        ("step_time", "ms", {"epochs": 2, "samples": 1000}, "give workload.batch_size, and measure a second run"),
        ("throughput", "steps/s", {"epochs": 2, "samples": 1000, "batch_size": 64}, "measure a second run"),
        ("throughput", "steps/s", {"steps": 100}, None),
        ("epoch_time", "s", {}, "give workload.epochs"),
        ("throughput", "requests/s", {"samples": 200}, "give workload.amount, for instance '100 requests'"),
        ("throughput", "requests/s", {"amount": "200 requests"}, None),
        ("merit", "1/s", {}, "give workload.amount, a number"),
        ("performance", "GFLOP/s", {}, None),
        ("fit_time", "s", {}, None),
        ("loss", "1", {}, None),
    ],
)
def test_a_speed_of_which_the_work_is_not_stated_is_told(
    known: Known, printed: str, unit: str, work: dict[str, Any], how: str | None
) -> None:
    """Before the job runs: its result could not tell start-up from work, and the next prediction would leave that out."""
    metric = {"name": printed, "unit": unit, "pattern": "([0-9.]+)"}
    job = {"target": {"name": "supermuc-ng"}, "optimisation": {"workload": {"application": "new", "metric": metric, **work}}}
    advice = optimise(normalise({"job": job}).request, known(None)).plan.advice
    told = [text for text in advice if "not how much work" in text]
    assert [f": {how}," in text for text in told] == ([True] if how else [])


@pytest.mark.parametrize(
    ("framework", "switch", "said"),
    [
        ("pytorch", "inductor", "call torch.compile in the program"),
        ("pytorch", "glow", "GLOW works only if the program"),
        ("tensorflow", "ngraph", "nGraph works only if the program"),
    ],
)
def test_a_program_in_an_environment_of_its_own_is_told_how_its_compiler_is_switched_on(
    known: Known, framework: str, switch: str, said: str
) -> None:
    """Whose version is not known; the script cannot switch it on."""
    training = {"app_type": "ai_training", "ai_training": {framework: {switch: True}}}
    job = {"target": {"name": "supermuc-ng", "container_runtime": "none"}, "optimisation": training}
    advice = optimise(normalise({"job": job}).request, known(None)).plan.advice
    assert [text.startswith(said) for text in advice if "the program" in text and said[:4] in text] == [True]


@pytest.mark.parametrize(("src", "said"), [("https://example.org/a.git", True), ("${HOME}/a/.git", False), (None, False)])
def test_sources_that_may_be_others_tomorrow_are_named(known: Known, src: str | None, said: bool) -> None:
    """The address has no commit; a clone of the user's has one."""
    build = {"build": {"src": src, "build_command": "make"}} if src else {}
    request = normalise({"job": {"application": {"app_tag": "resnet50", **build}}}, strict=True).request
    told = [text for text in advise(replace(chosen(known), request=request), ()) if "holds on that day" in text]
    assert bool(told) == said
    assert all(f"what {src} holds" in text for text in told)


@pytest.mark.parametrize(("ranks", "said"), [(1, False), (2, True)])
def test_one_worker_on_each_node_has_no_other_batch_than_one_worker_on_each_node(known: Known, ranks: int, said: bool) -> None:
    """Several have a larger one."""
    one = replace(chosen(known), shape=Shape(ranks, 22, batch_size=16))
    assert bool(sentences(known, one, "batch-by-layout")) == said


@pytest.mark.parametrize(("nodes", "warned"), [(256, False), (257, True)])
def test_beyond_8192_scale_may_cost_accuracy(known: Known, nodes: int, warned: bool) -> None:
    """Up to 8,192 there was no loss with the rule."""
    assert bool(sentences(known, chosen(known, nodes=nodes), "large-batch")) is warned


@pytest.mark.parametrize(("batch", "said"), [(1000, "1 step per epoch"), (2000, "more than the samples of an epoch")])
def test_a_batch_near_the_number_of_samples_is_told_in_words(known: Known, batch: int, said: str) -> None:
    """896 workers with 1,000 samples each see the whole of ImageNet in little more than one step."""
    assert said in sentences(known, chosen(known, batch=batch), "learning-rate-scaling")[0]


def test_an_unknown_batch_is_said_to_be_unknown(known: Known) -> None:
    """The factor is known, the batch is not."""
    (text,) = sentences(known, chosen(known, batch=None), "batch-by-layout")
    assert "896 times the batch per worker (not stated in the request or the results)" in text


def test_the_batch_of_results_in_another_layout_is_told(known: Known) -> None:
    """It is none of the request's, and may be the one that the program has."""
    (curve,) = fit([ran(100.0, nodes=1, ranks_per_node=4, batch_size=64, system="stampede2", metric="epoch_time")])
    (text,) = sentences(known, replace(chosen(known, batch=None), curve=curve), "learning-rate-scaling")
    assert "896 times the batch per worker (not stated in the request; the results have 64)" in text


def test_the_input_rate_is_that_of_the_guide(known: Known) -> None:
    """42 GB an epoch of 40 s on 448 nodes: 1 GB/s in all, 2.3 MB/s a node."""
    (text,) = sentences(known, chosen(known), "input-rate")
    assert "1.05 GB/s in total, 2.34 MB/s per node (90% interval 875 MB/s to 1.26 GB/s; basis: measured)" in text


def test_the_file_system_stands_beside_the_rate(known: Known) -> None:
    """With its own figure, and the part that the job takes."""
    (text,) = sentences(known, chosen(known, system="supermuc-ng"), "input-rate")
    assert "hppfs provides 500 GB/s for all jobs together, so the run needs 0.0021 of it" in text


def test_the_file_system_is_the_one_that_the_request_prefers(known: Known) -> None:
    """Though another is faster; a class that the system lacks changes nothing."""
    before = chosen(known, system="supermuc-ng")
    told = {}
    for wanted in ("default-common", "default-ssd"):
        application = before.request.application.model_copy(update={"storage_class_pref": wanted})
        one = replace(before, request=before.request.model_copy(update={"application": application}))
        told[wanted] = sentences(known, one, "input-rate")[0]
    assert "; dss provides 70 GB/s for all jobs together" in told["default-common"]
    assert "; hppfs provides 500 GB/s for all jobs together" in told["default-ssd"]


def test_small_files_are_packed(known: Known) -> None:
    """With their number, size and rate; large ones are left alone."""
    (text,) = sentences(known, chosen(known), "pack-small-files")
    assert "1,281,167 files of 32.8 kB on average, 32,029 opened per second" in text
    assert not sentences(known, chosen(known, data=Data(size_bytes=42e9, files=100)), "pack-small-files")


def test_a_data_set_that_fits_a_node_is_copied_there(known: Known) -> None:
    """200 GB of local storage on Zenith hold ImageNet, and not ten times as much."""
    assert "fit the 200 GB of local storage on a node of zenith" in sentences(known, chosen(known, system="zenith"), "stage-to-the-node")[0]
    assert not sentences(known, chosen(known, system="zenith", data=Data(size_bytes=420e9)), "stage-to-the-node")


def test_what_the_job_copies_and_unpacks_itself_is_not_advised(known: Known) -> None:
    """A request with stage_in has done what these sentences advise."""
    one = chosen(known, system="zenith")
    copies = one.request.application.model_copy(
        update={"stage_in": (StageIn.model_validate({"from": "train.sqfs", "to": "train", "unpack": True}),)}
    )
    done = replace(one, request=one.request.model_copy(update={"application": copies}))
    for name in ("stage-to-the-node", "pack-small-files"):
        assert (len(sentences(known, one, name)), sentences(known, done, name)) == (1, ())


def test_data_beyond_a_node_are_not_said_to_be_read_from_it(known: Known) -> None:
    """They take a fifth of the file system's bandwidth, but no node can hold them."""
    (text,) = sentences(known, chosen(known, system="supermuc-ng", data=Data(size_bytes=4e12)), "input-rate")
    assert text.partition(" [")[0].endswith("so the run needs 0.2 of it; other jobs need it too")


@pytest.mark.parametrize("name", ["stage-to-the-node", "stripe-large-files"])
def test_nothing_is_said_of_room_and_stripes_where_node_or_data_are_unknown(known: Known, name: str) -> None:
    """A target that nobody has described; a data set of unknown size; nodes whose memory nobody has recorded."""
    one = chosen(known, system="supermuc-ng", data=Data(size_bytes=1e9))
    unknown = replace(one, target=replace(one.target, system=None, partition=None))
    unsized = chosen(known, system="supermuc-ng", data=Data(files=3))
    node = one.target.node
    assert node is not None
    bare = node.model_copy(update={"memory_gb": None, "usable_memory_gb": None, "local_storage_gb": None})
    partition = one.target.partition
    assert partition is not None
    without = replace(one, target=replace(one.target, partition=partition.model_copy(update={"node": bare})))
    assert [sentences(known, each, name) for each in (unknown, unsized, without)] == [(), (), ()]


def test_gpfs_is_not_striped(known: Known) -> None:
    """It does that by itself."""
    assert not sentences(known, chosen(known, system="supermuc-ng", data=Data(size_bytes=9e13)), "stripe-large-files")


def test_a_run_beyond_the_limit_is_a_chain_of_jobs(known: Known) -> None:
    """As many as the upper bound needs, with checkpoints."""
    one = chosen(known, nodes=8, system="supermuc-ng")
    long = replace(one, prediction=one.prediction.model_copy(update={"value": 300_000.0, "lower": 250_000.0, "upper": 400_000.0}))
    (text,) = sentences(known, long, "checkpoint-chain")
    assert "a job at most 2-00:00:00: 2 to 3 jobs" in text
    assert not sentences(known, one, "checkpoint-chain")


@pytest.mark.parametrize(("array", "said"), [("0-98:2%10", "all together take 22400 node-hours, and at 10 at a time 5 h "), ("7", "")])
def test_the_work_of_all_jobs_of_an_array_is_told(known: Known, array: str, said: str) -> None:
    """The hour and the 448 node-hours are those of one of the 50."""
    one = chosen(known)
    asked = one.request.model_copy(update={"job_options": JobOptions(job_array=array)})
    told = [text for text in advise(replace(one, request=asked), ()) if "of the array" in text]
    assert [said in text for text in told] == [True] * bool(said)


@pytest.mark.parametrize(
    ("job", "told"),
    [
        ({}, "given all 20 cores of a node; if the program uses one of them, give application.threads 1"),
        ({"job_options": {"job_array": "0-9", "node_exclusive": True}}, "uses one of them, let one job start as many runs at once"),
        ({"application": {"executable": "./run", "threads": 20}}, ""),
        ({"optimisation": {"app_type": "hpc", "hpc": {"openmp": {}}}}, ""),
        ({"job_options": {"job_array": "0"}}, "the job is given all 20 cores of a node; if the program uses one of them"),
        ({"job_options": {}}, "the job is given all 20 cores of a node; if the program uses one of them, give application.threads 1"),
        ({"job_options": {"node_exclusive": True}}, ""),
        ({"job_options": {}, "application": {"executable": "./run ${MODAK_THREADS}"}}, ""),
    ],
)
def test_jobs_are_not_given_a_node_each_without_a_word(known: Known, job: dict[str, Any], told: str) -> None:
    """A short serial run, or a sweep of them, would keep a whole node busy."""
    whole = {"application": {"executable": "./run"}, "target": {"name": "hlrs-testbed"}, "job_options": {"job_array": "0-9"}} | job
    advice = recommend(normalise({"job": whole}).request, known(None)).advice
    assert [told in each for each in advice if "if the program uses one of them" in each] == [True] * bool(told)


@pytest.mark.parametrize(("asked", "said"), [(None, 1), ("clic", 0)])
def test_a_data_set_that_is_taken_for_the_jobs_is_named(known: Known, asked: str | None, said: int) -> None:
    """It may be another one; and the job's result counts for it only if the request names it."""
    run = ran(10.0, nodes=1, ranks_per_node=4, threads_per_rank=1, system="here", dataset="clic")
    assert sum("is for data set 'clic'" in text for text in by(known, [run], {"dataset": asked}, "here").advice) == said


def test_what_runs_before_and_after_is_said_to_be_in_no_limit(known: Known) -> None:
    """Splitting and joining a large mesh takes longer than the limit leaves."""
    one = chosen(known)
    application = one.request.application.model_copy(update={"pre_execution": ("decomposePar",)})
    asked = one.request.model_copy(update={"application": application})
    assert any("no room for pre-execution:" in text for text in advise(replace(one, request=asked), ()))


@pytest.mark.parametrize(
    ("signal", "jobs"),
    [
        (None, "at most 00:30:00: 2 to 3 jobs"),
        (900, "at most 00:15:00 before its signal: 4 to 5 jobs"),
        (1800, "at most 00:30:00: 2 to 3 jobs"),
    ],
)
def test_a_shorter_limit_of_the_request_holds(known: Known, signal: int | None, jobs: str) -> None:
    """What the caller allows a job, not what the partition does; of that the part before its signal, unless that does not fit."""
    one = chosen(known, nodes=8)
    options = JobOptions(wall_time_limit=1800, signal=signal and Signal(seconds=signal))
    asked = replace(one, request=one.request.model_copy(update={"job_options": options}))
    assert jobs in sentences(known, asked, "checkpoint-chain")[0]


def test_a_plain_shell_ends_no_job_at_its_limit(known: Known) -> None:
    """The script runs on, and there is no queue in which another could wait for it."""
    one = chosen(known, nodes=8)
    asked = replace(one, request=one.request.model_copy(update={"job_options": JobOptions(wall_time_limit=1800)}))
    assert not sentences(known, replace(asked, target=replace(asked.target, scheduler="shell")), "checkpoint-chain")


def training(known: Known, rules: Callable[[str], bool]) -> tuple[str, ...]:
    """The advice for 3DGAN on SuperMUC-NG with Keras and Horovod, with some of the rules."""
    kind = {"keras": {"distribution": "horovod"}, "config": {"distributed_training": True}}
    wanted = {
        "app_type": "ai_training",
        "opt_build": {"acc_type": "none"},
        "ai_training": kind,
        "workload": {"application": "3dgan", "epochs": 20},
    }
    job = {"application": {"app_tag": "3dgan", "executable": "python3 t.py"}, "target": {"name": "supermuc-ng"}, "optimisation": wanted}
    facts = known("3dgan")
    return optimise(normalise({"job": job}).request, replace(facts, rules=tuple(r for r in facts.rules if rules(r.name)))).plan.advice


def test_every_passage_taken_away_takes_its_sentence_along(known: Known) -> None:
    """Without the rules there are no sentences; each sentence cites its source."""
    full, bare = training(known, lambda _: True), training(known, lambda _: False)
    spoken = {rule.name: rule for rule in known(None).rules if rule.advice and any(rule.advice in text for text in full)}
    assert len(spoken) > 8
    assert not [text for rule in spoken.values() for text in bare if rule.advice and rule.advice in text]
    assert all(any(f"[{rule.source}]" in text for text in full) for rule in spoken.values())


def test_one_passage_taken_away_takes_one_sentence(known: Known) -> None:
    """The others stay as they are."""
    full, less = training(known, lambda _: True), training(known, lambda name: name != "keras-front-end")
    assert [text for text in full if text not in less] == [text for text in full if "4.7 times" in text] != []


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"distribution": "mpi"}, True),
        ({"fork": "bvlc", "distribution": "nccl"}, True),
        ({"distribution": "mlsl"}, False),
        ({"distribution": "nccl"}, False),
        ({"fork": "nvidia", "distribution": "mpi"}, False),
    ],
)
def test_only_of_bvlcs_caffe_each_rank_trains_alone(known: Known, options: dict[str, str], told: bool) -> None:
    """Its forks, which are caffe in requests, too, train together."""
    kind = {"app_type": "ai_training", "ai_training": {"caffe": options}}
    job = {"application": {"executable": "caffe train", "mpi_ranks": 2}, "target": {"name": "zenith"}, "optimisation": kind}
    advice = optimise(normalise({"job": job}).request, known(None)).plan.advice
    assert any(text.startswith("BVLC's Caffe trains in one process") for text in advice) == told


def test_a_transferred_time_says_what_differs(known: Known) -> None:
    """In which columns the results differ, and which they leave empty, parameters by name; none for results of the run itself."""
    document = json.loads((ROOT / "examples/chest-xray-zenith.json").read_text())
    document["job"]["optimisation"]["workload"]["params"] = {"pixels": 1024}
    request = normalise(document).request
    plan = optimise(request, known(request.workload_name)).plan
    assert plan.prediction.basis == "transferred"
    assert any("the results differ from this run, so the interval is wider: system xeon-gold-6148-4-node" in text for text in plan.advice)
    (unsaid,) = [text for text in plan.advice if "do not state dataset" in text]
    assert [f"--set {column}=…" in unsaid for column in ("dataset", "mpi_from", "params.pixels")] == [True] * 3
    assert not [text for text in training(known, lambda _: False) if "interval is wider" in text]


@pytest.mark.parametrize(
    ("metric", "unit", "scaled"), [("epoch_time", "s", False), ("wall_time", "s", False), ("throughput", "samples/s", True)]
)
def test_a_time_of_another_data_set_is_told_to_be_taken_as_it_is(known: Known, metric: str, unit: str, scaled: bool) -> None:
    """A rate of samples follows the samples of the request."""
    runs = [ran(100.0, nodes=nodes, dataset="small", metric=metric, unit=unit) for nodes in (1, 2, 4)]
    advice = by(known, runs, {"dataset": "large", "epochs": 2, "samples": 1000}).advice
    assert ["; their time is not scaled to the " in text for text in advice if "dataset small" in text] == [not scaled]


def test_a_time_of_another_number_of_samples_is_told_to_be_scaled(known: Known) -> None:
    """Where the results give their own: half as many take half the time."""
    series = {"dataset": "small", "params": {"samples": "2000"}, "metric": "epoch_time"}
    found = by(known, [ran(100.0, nodes=nodes, **series) for nodes in (1, 2, 4)], {"dataset": "large", "epochs": 1, "samples": 1000})
    assert found.choices[0].prediction.per_unit == pytest.approx(50)
    (text,) = [text for text in found.advice if "dataset small" in text]
    assert text.endswith("; their time is scaled from 2000 samples per epoch to 1000, as if each took as long")


def test_a_problem_size_that_nobody_ran_is_told(known: Known) -> None:
    """The time follows a trend, which is said with the nearest size; it is no difference that only widens the interval."""
    found = by(known, of_sizes(5, 10, 20, power=3), {"params": {"n": 40}})
    assert "this problem size was not measured: the time follows the trend over 3 measured ones, the nearest with n 20" in found.advice
    assert not [text for text in found.advice if "interval is wider" in text and " n 20" in text]
    (rests,) = (text for text in found.advice if "rests on" in text)
    assert rests == "the prediction rests on 9 results; of the nearest problem size there are 3 results on 1 to 4 nodes of supermuc-ng"
    for nodes, one in ((choice.configuration.nodes, choice.prediction) for choice in found.choices):
        assert (one.lower or 0) < 64000 / nodes < (one.upper or 0) < 5 * (one.lower or 0)


@pytest.mark.parametrize(("n", "told"), [("0", True), (0, True), ("-5", True), ("1e300", True), ("huge", False), (4000, False)])
def test_a_number_that_is_no_size_is_told(known: Known, n: str | int, told: bool) -> None:
    """Its time is that of the nearest size, as if it were a text."""
    advice = by(known, of_sizes(500, 1000), {"params": {"n": n}}).advice
    assert any(text.startswith(f"workload.params.n {n} is no size, so") for text in advice) == told


@pytest.mark.parametrize(("solver", "n", "what"), [("cg", 4000, "problem size"), ("gmres", 1000, "problem size with this solver")])
def test_a_problem_size_that_another_variant_ran_is_not_told_to_be_unmeasured(known: Known, solver: str, n: int, what: str) -> None:
    """It is the solver that did not run it."""
    advice = by(known, of_sizes(500, 1000, 2000, solver="cg"), {"params": {"n": n, "solver": solver}}).advice
    assert [text.partition(" was not")[0] for text in advice if "was not measured" in text] == [f"this {what}"]
    assert [text for text in advice if "; of the nearest problem size there are 3 results" in text]


@pytest.mark.parametrize(
    ("n", "batch", "what"), [(500, 64, "setting"), (900, 32, "problem size"), (900, 64, "problem size with this setting")]
)
def test_a_setting_that_nobody_ran_is_no_problem_size(known: Known, n: int, batch: int, what: str) -> None:
    """Numbers of `autotuning.setting` follow the same trend, under their own name."""
    runs = [run for each in (8, 16, 32) for run in of_sizes(500, 1000, batch=str(each))]
    wanted = {"workload": {"params": {"n": n}}, "autotuning": {"setting": {"options": {"--batch": batch}}}}
    advice = recommend(asked(optimisation=wanted), replace(known(None), models=fit(runs))).advice
    assert [text.partition(" was not")[0] for text in advice if "was not measured" in text] == [f"this {what}"]


@pytest.mark.parametrize(
    ("named", "told"),
    [
        ({"dataset": "large"}, ["workload.dataset 'large'"]),
        ({"params": {"mesh": "large"}}, ["workload.params.mesh 'large'"]),
        ({}, []),
        ({"dataset": "d500"}, ["workload.dataset 'd500'"]),
    ],
)
def test_a_text_that_hides_the_trend_over_problem_sizes_is_told(known: Known, named: dict[str, Any], told: list[str]) -> None:
    """Two measured sizes do not show that it only names the size: without it, the time would follow the trend."""
    if "params" in named:
        runs = [run for n in (500, 1000) for run in of_sizes(n, mesh=f"d{n}")]
    else:
        runs = [ran(n / p, nodes=p, dataset=f"d{n}", params={"n": str(n)}) for n in (500, 1000) for p in (1, 2, 4)]
    advice = by(known, runs, {**named, "params": {"n": 4000, **named.get("params", {})}}).advice
    assert [line.partition("because of ")[2].partition(" the time")[0] for line in advice if "does not follow the trend" in line] == told


def test_a_text_that_results_share_does_not_hide_the_trend(known: Known) -> None:
    """Only the tag is to blame, which they do not have."""
    runs = [ran(n / p, nodes=p, dataset="d", params={"n": str(n), "solver": "cg"}) for n in (500, 1000, 2000) for p in (1, 2, 4)]
    advice = by(known, runs, {"dataset": "d", "params": {"n": 4000, "solver": "cg", "tag": "x"}}).advice
    assert [line for line in advice if line.startswith("because of workload.params.tag 'x' the time does not follow the trend")]


@pytest.mark.parametrize(("there", "here", "said"), [(2, 0, ["on GPUs"]), (0, 2, ["without GPUs"]), (2, 2, []), (None, 2, [])])
def test_results_on_gpus_and_without_differ(known: Known, there: int | None, here: int, said: list[str]) -> None:
    """Of results that do not say where they ran nothing is known."""
    (curve,) = fit([ran(90.0, nodes=1, gpus_per_node=there, application="resnet50", system="stampede2", metric="epoch_time")])
    one = replace(chosen(known), shape=Shape(2, 22, gpus_per_node=here), curve=curve)
    assert [text.rpartition(": ")[2] for text in unlike.differences(one) if "GPUs" in text] == said


def test_times_from_runs_on_gpus_say_so_where_there_are_none(known: Known) -> None:
    """Nodes without GPUs have a layout of their own then, and a time that is transferred."""
    found = by(known, [ran(100 / nodes, nodes=nodes, gpus_per_node=4) for nodes in (1, 2, 4)])
    assert (found.choices[0].configuration.gpus_per_node, found.choices[0].prediction.basis) == (0, "transferred")
    assert any("the results differ from this run" in text and text.endswith("on GPUs") for text in found.advice)


def test_times_of_runs_with_two_switches_name_both(known: Known) -> None:
    """Where all results have a graph compiler and half precision on, and the request names neither."""
    series = {"framework": "tensorflow", "compiler": "xla", "precision": "fp16", "system": "dgx-1", "metric": "epoch_time"}
    models = fit([ran(100 / gpus, nodes=1, gpus_per_node=gpus, **series) for gpus in (1, 2, 4)])
    wanted = {"app_type": "ai_training", "ai_training": {"tensorflow": {}}, "workload": {"epochs": 1}}
    advice = recommend(asked("dgx-1", optimisation=wanted), replace(known(None), models=models)).advice
    assert any("the results differ from this run" in text and "compiler xla" in text for text in advice)
    assert any(text.startswith("the predicted time is for precision fp16") for text in advice)


def test_a_layout_that_nobody_ran_is_told(known: Known) -> None:
    """Three ranks per node follow from one, two and four."""
    counts = {"process_count_per_node": 3, "node_count": 8}
    advice = recommend(asked(application="3dgan", application__threads=16, job_options=counts), known("3dgan")).advice
    assert any("the interval is wider" in text and text.endswith("layouts other than 3x16") for text in advice)


def test_a_trend_over_layouts_rests_on_more_than_its_nearest_one(known: Known) -> None:
    """The number of results is that of all layouts; the nodes are those of the nearest."""
    runs = [ran(100 / p, nodes=p, ranks_per_node=r, threads_per_rank=48 // r) for r in (2, 8, 16) for p in (1, 2, 4)]
    advice = by(known, runs, application__threads=12, job_options={"process_count_per_node": 4, "node_count": 2}).advice
    assert "the prediction rests on 9 results; of the nearest layout there are 3 results on 1 to 4 nodes of supermuc-ng" in advice


def test_ranks_that_nobody_ran_are_told_with_all_results_of_the_trend(known: Known) -> None:
    """Forty-eight ranks follow from up to 24 of one thread and from layouts of several: of seven results, not of the four on the curve."""
    ways = ((3, 1), (6, 1), (12, 1), (24, 1), (12, 2), (6, 4), (6, 2))
    runs = [ran(1000 / (r * t) ** 0.9, nodes=1, ranks_per_node=r, threads_per_rank=t) for r, t in ways]
    found = by(known, runs, application__threads=1, job_options={"process_count_per_node": 48, "node_count": 1})
    assert (found.choices[0].prediction.basis, found.choices[0].prediction.results_used) == ("transferred", 7)
    assert "the results differ from this run, so the interval is wider: layouts other than 48x1" in found.advice


@pytest.mark.parametrize(
    ("ranks", "asked", "told"),
    [(96, {}, False), (97, {}, True), (192, {}, True), (192, {"process_count_per_node": 192}, False)],
)
def test_more_ranks_than_a_node_runs_at_once_are_told(known: Known, ranks: int, asked: dict[str, int], told: bool) -> None:
    """A node of SuperMUC-NG runs 96 threads: results with more give the ranks of all nodes, perhaps, unless the request wants so many."""
    runs = [ran(100 / nodes, nodes=nodes, ranks_per_node=ranks, threads_per_rank=1) for nodes in (1, 2)]
    advice = by(known, runs, job_options=asked).advice
    assert any("it runs at most 96 at once; if the results count over all nodes" in text for text in advice) == told


def test_without_a_system_results_are_not_called_unknown(known: Known) -> None:
    """3DGAN has results; if the request names no system, the advice says how to use them."""
    request = normalise({"job": {"optimisation": {"workload": {"application": "3dgan"}}}}).request
    (said, *_) = recommend(request, known("3dgan")).advice
    systems = "intel-xeon-gold-6148, stampede2, supermuc-ng"
    assert said == f"name the system (target.name, or --system): the results of '3dgan' are of {systems}"


def test_results_that_name_no_system_are_not_those_of_a_system_that_is_named(known: Known) -> None:
    """They may be, and the advice says how to tell."""
    found = by(known, [ran(100 / nodes, nodes=nodes, system=None) for nodes in (1, 2, 4)], system="here")
    again = "load them again, if they are yours, with 'modak load FILE --set system=here --replace'"
    how = f"{again} and the earlier options of that file, if any"
    assert (found.choices[0].prediction.basis, found.advice[0]) == (
        "none",
        f"results of 'solver' name no system: if they are of here, {how}",
    )


@pytest.mark.parametrize(("samples", "fields"), [(None, ["optimisation.workload.samples"]), (1000.0, [])])
def test_throughputs_ask_for_the_samples_of_an_epoch(samples: float | None, fields: list[str], known: Known) -> None:
    """Without them results are there and no time is: the warning names the field, rather than that nothing was measured."""
    runs = [ran(100.0 * nodes, nodes=nodes, metric="throughput", unit="samples/s") for nodes in (1, 2, 4)]
    found = by(known, runs, {"epochs": 2, "samples": samples})
    assert [warning.field for warning in found.warnings] == fields
    assert (found.choices[0].prediction.value is None) == bool(fields)


def test_figures_have_their_rule(known: Known) -> None:
    """Every sentence that is made with figures stands in a packaged rule."""
    without = set(FIGURES) - {rule.name for rule in known(None).rules}
    assert without == set(), "write a rule of that name in benchmarks_db/rules/training.toml"


def test_figures_have_their_row() -> None:
    """Users read when a sentence is printed."""
    page = (ROOT / "docs/advice.md").read_text()
    assert [name for name in FIGURES if f"`{name}`" not in page] == []


@pytest.mark.parametrize(
    ("system", "gpus", "precision", "told"),
    [
        ("dgx-1-v100", 8, None, "NVIDIA Tesla V100 SXM2 16 GB has 125 TFLOP/s in FP16, 15.7 in FP32"),
        ("dgx-1-v100", 8, "float32", "NVIDIA Tesla V100 SXM2 16 GB has 125 TFLOP/s in FP16, 15.7 in FP32"),
        ("dgx-1-v100", 8, "auto", "NVIDIA Tesla V100 SXM2 16 GB has 125 TFLOP/s in FP16, 15.7 in FP32"),
        ("dgx-1-v100", 8, "amp", None),
        ("dgx-1-v100", 8, "fp64", None),
        ("dgx-1-v100", 0, None, None),
        ("hlrs-testbed", 1, None, None),
    ],
)
def test_fp16_is_advised_where_gpus_compute_it_faster(
    known: Known, system: str, gpus: int, precision: str | None, told: str | None
) -> None:
    """Not on processors, not on the GTX 1080 Ti, whose rate is not known, and not where the request has another precision than FP32."""
    one = chosen(known, 1, system=system)
    request = one.request.changed(optimisation={"workload": one.request.optimisation.workload.model_copy(update={"precision": precision})})
    found = sentences(known, replace(one, request=request, shape=Shape(gpus or 1, 4, gpus_per_node=gpus)), "half-precision")
    assert [text.partition(": ")[2].partition(" [")[0] for text in found] == ([told] if told else [])


@pytest.mark.parametrize(
    ("shape", "told"),
    [
        (Shape(4, 12), "here 48 threads take all 48 cores"),
        (Shape(2, 48, hyperthreads=True), "here 96 threads take all 48 cores"),
        (Shape(2, 22), None),
        (Shape(2, 24, hyperthreads=True), None),
    ],
)
def test_cores_for_communication_are_advised_where_none_is_left(known: Known, shape: Shape, told: str | None) -> None:
    """The published layout itself leaves four, and two hyper-threads take one."""
    found = sentences(known, replace(chosen(known, 4, system="supermuc-ng"), shape=shape), "communication-cores")
    assert [text.rpartition(" [")[0].rpartition(": ")[2] for text in found] == ([told] if told else [])


def _advice_for(known: Known, precision: str, measured_on: str) -> Sequence[str]:
    """The advice on a training that was measured in one precision, and whose request gives none."""
    series = {"framework": "tensorflow", "precision": precision, "system": measured_on, "metric": "epoch_time"}
    models = fit([ran(100.0 / gpus, nodes=1, gpus_per_node=gpus, **series) for gpus in (1, 2, 4)])
    wanted = {"app_type": "ai_training", "ai_training": {"tensorflow": {}}, "workload": {"epochs": 2}}
    request = asked("dgx-1-v100", application__executable="./t.py", optimisation=wanted)
    return optimise(request, replace(known(None), models=models)).plan.advice


@pytest.mark.parametrize(
    ("precision", "told"), [("fp16", "run the program in it, and check its accuracy"), ("fp32", "run the program in it")]
)
def test_accuracy_is_to_be_checked_in_fewer_bits(known: Known, precision: str, told: str) -> None:
    """The usual precision is that of programs that say nothing of it."""
    advice = _advice_for(known, precision, "dgx-1-v100")
    assert f"the predicted time is for precision {precision}: {told}" in advice


@pytest.mark.parametrize("measured_on", ["dgx-1-v100", "dgx-1"])
def test_fp16_is_not_advised_where_all_results_have_it(known: Known, measured_on: str) -> None:
    """The predicted time is for it, as another sentence says."""
    advice = _advice_for(known, "fp16", measured_on)
    assert not [text for text in advice if text.startswith("try FP16")]
    assert [text for text in advice if text.startswith("the predicted time is for precision fp16")]


def test_fp16_is_advised_where_all_results_have_fp32(known: Known) -> None:
    """It is the usual precision, whether results say so or not."""
    assert [text for text in _advice_for(known, "FP32", "dgx-1-v100") if text.startswith("try FP16")]


@pytest.mark.parametrize(("number", "text"), [(0.5, "0.5 B"), (999.0, "999 B"), (1.05e9, "1.05 GB"), (2.5e13, "25 TB")])
def test_bytes_are_said_in_three_digits(number: float, text: str) -> None:
    """Decimal units."""
    assert format_bytes(number) == text


@pytest.mark.parametrize(("largest", "guess"), [(512, False), (16, True)])
def test_times_far_beyond_the_data_are_called_guesses(known: Known, largest: int, guess: bool) -> None:
    """3DGAN on thousands of nodes, from results on up to 512 of them and on up to 16: of the first choice and of the others."""
    document = json.loads((ROOT / "examples/3dgan-supermuc-ng.json").read_text())
    document["job"]["optimisation"]["objective"] = {"minimise": "time", "max_nodes": 6000}
    advice = recommend(normalise(document).request, shortened(known, largest)).advice
    assert any("treat the time as a guess" in line for line in advice) is guess
    assert any("of the alternatives" in line for line in advice) is guess


@pytest.mark.parametrize(
    ("name", "stated", "options", "told"),
    [
        ("mycloud", {}, {}, True),
        ("mycloud", {"ranks_per_node": 8, "threads_per_rank": 1}, {}, False),
        ("mycloud", {}, {"core_count_per_process": 1}, False),
        ("dgx-1", {}, {}, False),
    ],
)
def test_unknown_cores_of_gpus_are_told(known: Known, name: str, stated: dict[str, int], options: dict[str, int], told: bool) -> None:
    """On a system that nobody described each rank would get one core, if neither request nor results say more."""
    models = fit([ran(90.0, nodes=1, gpus_per_node=8, framework="pytorch", system=name, metric="epoch_time", **stated)])
    request = asked(name, application__executable="t.py", job_options=options, optimisation=SPREAD)
    advice = optimise(request, replace(known(None), models=models)).plan.advice
    assert any(sentence.startswith(f"how many cores go with each GPU of {name} is") for sentence in advice) == told


def test_cores_of_gpus_of_a_system_without_a_name_are_those_of_the_target(known: Known) -> None:
    """There is nothing else to call it."""
    nowhere = resolve(chosen(known).request.model_copy(update={"target": Request().target}), known(None))
    one = replace(chosen(known), target=nowhere, shape=Shape(1, 1, gpus_per_node=2))
    assert any(sentence.startswith("how many cores go with each GPU of the target is not known") for sentence in advise(one, ()))


@pytest.mark.parametrize(
    ("commands", "given", "basis", "said"),
    [
        ({"pre_execution": ("make",)}, (), "measured", "the wall time limit has no room for pre-execution:"),
        ({"pre_execution": ("make",)}, ("deadline",), "measured", "the wall time limit and the deadline have no room for pre-execution:"),
        ({"pre_execution": ("make",)}, ("deadline",), "measured", "set job_options.wall_time_limit and give a deadline that is shorter"),
        ({"pre_execution": ("make",)}, ("limit", "deadline"), "measured", "the deadline has no room for pre-execution:"),
        ({"pre_execution": ("make",), "post_execution": ("rm", "a")}, (), "measured", "no room for pre-execution and post-execution:"),
        ({"pre_execution": ("make",)}, ("limit",), "measured", None),
        ({"pre_execution": ("make",)}, (), "none", None),
        ({}, (), "measured", None),
    ],
)
def test_commands_around_the_run_have_no_room_in_a_predicted_limit(
    known: Known, commands: dict[str, tuple[str, ...]], given: tuple[str, ...], basis: str, said: str | None
) -> None:
    """Nor in a deadline. Where the limit is the user's own, or nothing is predicted, nothing is said; nor without such commands."""
    before = chosen(known)
    application = before.request.application.model_copy(update=commands)
    options = JobOptions(wall_time_limit=3600 if "limit" in given else None)
    objective = Objective(deadline=3600 if "deadline" in given else None)
    optimisation = before.request.optimisation.model_copy(update={"objective": objective})
    request = before.request.model_copy(update={"application": application, "job_options": options, "optimisation": optimisation})
    advice = advise(replace(before, request=request, prediction=before.prediction.model_copy(update={"basis": basis})), ())
    assert [(said or "") in each for each in advice if " no room for p" in each] == ([True] if said else [])


@pytest.mark.parametrize(
    ("application", "does"),
    [
        ({"executable": "train.py", "stage_in": [{"from": "/data", "to": "data"}]}, "reads its data"),
        ({"executable": "train.py", "stage_out": [{"from": "model", "to": "/results/model"}]}, "writes its results"),
        ({"executable": "train.py ${MODAK_SCRATCH}/data", "stage_in": [{"from": "/data", "to": "data"}]}, None),
        ({"executable": "sh -c 'train $MODAK_SCRATCH/data'", "stage_in": [{"from": "/data", "to": "data"}]}, None),
        ({"executable": "train.py"}, None),
    ],
)
def test_a_program_that_is_not_told_where_its_data_are_has_to_know(known: Known, application: dict[str, Any], does: str | None) -> None:
    """It starts in the directory of submission, and the copies are in another one."""
    advice = optimise(normalise({"job": {"application": application}}).request, known(None)).plan.advice
    assert [does in sentence for sentence in advice if does and "MODAK_SCRATCH" in sentence] == ([True] if does else [])
    assert any("MODAK_SCRATCH" in sentence for sentence in advice) == bool(does)


@pytest.mark.parametrize(
    ("target", "nodes"), [({}, "the nodes (give target.name)"), ({"name": "mycloud"}, "the nodes of mycloud"), ({"name": "zenith"}, None)]
)
def test_a_request_without_an_application_is_told_to_name_it(known: Known, target: dict[str, str], nodes: str | None) -> None:
    """Its results could not be found either; and nothing is derived from nodes that are not known."""
    job = {"application": {"app_type": "mpi", "executable": "./solve"}, "target": target, "job_options": {"node_count": 4}}
    plan = optimise(normalise({"job": job}).request, known(None)).plan
    assert plan.advice[0].startswith("the request names no application: give application.app_tag, run a pilot job on 1, 2 and 4 nodes")
    assert "time: not predicted, because the request names no application (application.app_tag)" in plan.decisions
    (line,) = [each for each in plan.decisions if each.startswith("layouts considered")]
    assert line.endswith(f"; a rule of thumb, because nothing is known of {nodes}") == bool(nodes)


@pytest.mark.parametrize(
    ("measured", "asked", "said"),
    [
        (None, 32, "the results behind the time do not state batch_size: theirs may not be the requested 32"),
        (32, None, "the predicted time, and the job's result, are for a batch size of 32 on each worker, which the script does not set"),
        (None, None, None),
        (32, 32, None),
    ],
)
def test_a_batch_that_results_or_request_do_not_state_is_told(
    known: Known, measured: int | None, asked: int | None, said: str | None
) -> None:
    """The time is told as measured, and may be of another batch than the one that the program runs with."""
    series = {"framework": "pytorch", "system": "dgx-1-v100", "metric": "throughput", "unit": "samples/s"}
    run = ran(1000.0, nodes=1, gpus_per_node=8, batch_size=measured, **series)
    training = {**SPREAD, "workload": {"application": "solver", "samples": 1e6, "batch_size": asked}}
    request = normalise({"job": {"optimisation": training, "target": {"name": "dgx-1-v100"}}}).request
    advice = recommend(request, replace(known(None), models=fit([run]))).advice
    assert [text.partition("; ")[0].partition(": let")[0] for text in advice if "batch_size" in text] == ([said] if said else [])


@pytest.mark.parametrize(
    ("application", "target", "ways"),
    [
        ({}, {"job_scheduler_type": "shell"}, ["give application.threads"]),
        ({"app_type": "mpi"}, {"job_scheduler_type": "slurm"}, ["give application.threads or job_options.process_count_per_node"]),
        ({}, {"name": "supermuc-ng"}, []),
        ({"threads": 8}, {"job_scheduler_type": "shell"}, []),
        ({"mpi_ranks": 8}, {"job_scheduler_type": "slurm"}, []),
    ],
)
def test_a_job_that_gets_one_core_because_none_are_known_is_told(
    known: Known, application: dict[str, Any], target: dict[str, str], ways: list[str]
) -> None:
    """All threads of a training on one's own computer would share that core. More ranks would run a serial program several times."""
    job = {"application": {"app_tag": "nobody-ran-this", "executable": "./a", **application}, "target": target}
    advice = optimise(normalise({"job": job}).request, known("nobody-ran-this")).plan.advice
    assert [text.partition(": ")[2].partition(", or describe")[0] for text in advice if "so the job is given one" in text] == ways
