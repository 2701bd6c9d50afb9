"""How much hardware a goal needs: the basis of the numbers, and what is unknown."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from modak.dsl import Request
from modak.errors import RequestError, UnknownName
from modak.facts import Facts, FileSystem, Layout, Queue, Result, SeriesKey
from modak.knowledge import packaged_root, read_guide
from modak.normalise import normalise
from modak.optimise import recommend
from modak.perfmodel import Curve, fit
from modak.sizing import reach
from modak.sizing.answer import Figure, Platform, Sizing
from modak.sizing.demand import asked as questions
from modak.sizing.guide import Guide
from modak.sizing.size import size
from tests.conftest import ROOT
from tests.runs import ran

REFERENCE = ("fujitsu-primeflex-small", "fujitsu-primeflex-moderate", "fujitsu-primeflex-large")
EXAMPLES = sorted((ROOT / "examples").glob("sizing-*.json"))


@pytest.fixture(scope="module")
def guide() -> Guide:
    """The packaged guidance."""
    return read_guide(packaged_root() / "sizing/primeflex.toml")


def asked(name: str = "sizing-moderate", **changed: Any) -> Request:
    """An example, with values of its ``optimisation`` changed by section."""
    document = json.loads((ROOT / f"examples/{name}.json").read_text())
    job = document["job"]
    for section, values in changed.items():
        place = job if section in ("target", "job_options", "application") else job["optimisation"]
        place[section] = {**place.get(section, {}), **values}
    return normalise(document).request


@pytest.fixture(scope="module")
def sized(known: Callable[[str | None], Facts], guide: Guide) -> Callable[..., Sizing]:
    """The sizing of a request on the packaged facts."""
    return lambda request: size(request, known(request.workload_name), guide)


def figures(one: Platform) -> list[Figure]:
    """Every number of a platform."""
    rest = (one.gpus,) if one.gpus else ()
    return [one.nodes, one.time, one.node_hours, one.storage.capacity, one.storage.rate, one.storage.rate_per_node, *rest]


@pytest.fixture(scope="module")
def everywhere(sized: Callable[..., Sizing]) -> Sizing:
    """ResNet-50 on all systems within two days."""
    return sized(asked(target={"name": None}))


def platform(sizing: Sizing, system: str, partition: str) -> Platform:
    """One of the platforms."""
    return next(one for one in sizing.platforms if (one.system, one.partition) == (system, partition))


def test_every_partition_of_every_system_is_sized(everywhere: Sizing, known: Callable[[str | None], Facts]) -> None:
    """Production systems and reference configurations alike."""
    systems = known("resnet50").systems.values()
    assert {(one.system, one.partition) for one in everywhere.platforms} == {(s.name, p.name) for s in systems for p in s.partitions}


def test_a_number_has_its_interval_and_says_what_it_follows_from(everywhere: Sizing) -> None:
    """A figure without evidence has no number instead."""
    for one in (figure for found in everywhere.platforms for figure in figures(found)):
        assert one.why
        assert one.unit
        if one.value is None:
            assert one.lower is None or one.unit in ("nodes", "GPUs")
        else:
            assert one.basis != "none"
            assert one.lower is None or one.lower <= one.value
            assert one.upper is None or one.value <= one.upper


def test_those_that_meet_the_goal_stand_first(everywhere: Sizing) -> None:
    """Then those that do not, then those of which nothing is known; the fewest nodes first."""
    verdicts = [one.feasible for one in everywhere.platforms]
    assert verdicts == sorted(verdicts, key=[True, False, None].index)
    meets = [one for one in everywhere.platforms if one.feasible]
    assert [one.at_nodes for one in meets] == [one.nodes.value for one in meets]
    nodes = [one.nodes.value for one in meets]
    assert nodes == sorted(nodes, key=lambda count: count or 0)


def test_fewer_nodes_would_miss_the_deadline(sized: Callable[..., Sizing]) -> None:
    """At the confidence asked for: a tighter goal takes more, and what is met with certainty takes more than what is met by half."""

    def nodes(**objective: Any) -> float:
        found = platform(sized(asked("sizing-large", objective=objective)), "fujitsu-primeflex-large", "rx2540-v100")
        assert found.nodes.value is not None
        return found.nodes.value

    assert nodes(deadline="60:00:00") <= nodes(deadline="48:00:00") < nodes(deadline="20:00:00")
    assert nodes(deadline="48:00:00", confidence=0.5) < nodes(deadline="48:00:00", confidence=0.9)


def test_the_interval_holds_the_number_at_any_confidence(sized: Callable[..., Sizing]) -> None:
    """Also at one above that of the interval's upper end."""
    found = sized(asked("sizing-large", objective={"deadline": "120:00:00", "confidence": 0.98}))
    nodes = platform(found, "fujitsu-primeflex-large", "rx2540-v100").nodes
    assert nodes.value is not None
    assert nodes.upper is None or nodes.value <= nodes.upper


def test_the_interval_of_a_number_ends_where_the_deadline_is_met_with_95_percent(sized: Callable[..., Sizing]) -> None:
    """And begins where it is hardly met."""

    def nodes(confidence: float) -> Figure:
        found = sized(asked("sizing-large", objective={"deadline": "36:00:00", "confidence": confidence}))
        return platform(found, "fujitsu-primeflex-large", "rx2540-v100").nodes

    even = nodes(0.5)
    assert even.lower is not None
    assert even.value is not None
    assert (even.lower < even.value, even.upper, even.level) == (True, nodes(0.95).value, 0.9)


def test_gpus_of_one_kind_are_worth_the_same_in_any_node(sized: Callable[..., Sizing]) -> None:
    """V100s two or four to a node: a transfer between systems counts by GPU where the results were counted by GPU."""
    found = sized(asked("sizing-large"))

    def work(partition: str, gpus: int, peak: float) -> float:
        """GPU-seconds, each of as many TFLOP/s."""
        one = platform(found, "fujitsu-primeflex-large", partition)
        return (one.time.value or 0.0) * (one.at_nodes or 0) * gpus * peak

    assert 0.7 < work("rx2540-v100", 2, 14.0) / work("cx2570-v100", 4, 15.7) < 1.4


def test_an_unknown_application_has_no_time_but_a_demand(sized: Callable[..., Sizing]) -> None:
    """No formula replaces a measurement; what the data needs of storage follows all the same."""
    found = sized(asked(workload={"application": "nobody-measured-this"}))
    for one in found.platforms:
        assert (one.feasible, one.time.value, one.time.basis, one.nodes.value) == (None, None, "none", None)
        assert "no formula" in one.time.why
        assert one.storage.capacity.value == pytest.approx(0.15)


def test_a_goal_without_a_date_is_refused(sized: Callable[..., Sizing]) -> None:
    """By the field that is missing."""
    with pytest.raises(RequestError, match=r"optimisation\.objective\.deadline"):
        sized(asked(objective={"deadline": None}))


def test_an_unknown_system_is_refused(sized: Callable[..., Sizing]) -> None:
    """With those that are known."""
    with pytest.raises(UnknownName, match="supermuc-ng"):
        sized(asked(target={"name": "nowhere"}))


def test_ethernet_ends_at_eight_nodes(guide: Guide) -> None:
    """Beyond, 100 Gbit/s."""
    assert [guide.interconnect(nodes).name for nodes in (2, 8, 9, 64)] == ["ethernet", "ethernet", "100-gbit", "100-gbit"]


def test_the_gpus_of_a_run_on_processors_do_not_count(sized: Callable[..., Sizing]) -> None:
    """Their memory is no limit for it."""
    training = {"config": {"distributed_training": True, "parameters": 3e9}}
    found = sized(asked(ai_training=training, opt_build={"acc_type": "none"}, objective={"deadline": 10_000_000}))
    assert {(one.feasible, one.gpus, one.accelerator) for one in found.platforms} == {(True, None, None)}


def on_processors(system: str) -> tuple[Curve, ...]:
    """A run whose results on a system use no GPU."""
    series = SeriesKey(application="climate", system=system, metric="wall_time", unit="s")
    layouts = [Layout(nodes=nodes, ranks_per_node=2, threads_per_rank=8, gpus_per_node=0) for nodes in (1, 2, 4)]
    return fit([Result(series=series, layout=one, value=3600 / (one.nodes or 1)) for one in layouts])


def test_a_layout_without_gpus_needs_none(known: Callable[[str | None], Facts], guide: Guide) -> None:
    """Its nodes have some, but nothing was measured with them."""
    name = "skylake-bronze-1080ti"
    request = asked(target={"name": name}, workload={"application": "climate"}, objective={"deadline": 10_000_000})
    (one,) = size(request, replace(known(None), models=on_processors(name)), guide).platforms
    assert one.feasible
    assert (one.gpus, one.accelerator) == (None, None)


def test_the_answer_says_how_the_nodes_are_used(known: Callable[[str | None], Facts], guide: Guide) -> None:
    """The layout, the GPUs that idle because the program is one process, and the build of the results."""
    name = "skylake-bronze-1080ti"
    series = SeriesKey(application="net", system=name, compiler="gcc-9.3", metric="epoch_time", unit="s")
    models = fit([Result(series=series, layout=Layout(nodes=1, ranks_per_node=1, gpus_per_node=1), value=3600)])
    request = asked(
        target={"name": name},
        workload={"application": "net"},
        ai_training={"config": {"distributed_training": False}},
        objective={"deadline": 10_000_000},
    )
    (one,) = size(request, replace(known(None), models=models), guide).platforms
    assert one.layout == "1 rank per node x 3 threads per rank, 1 GPU per node, compiler gcc-9.3"
    assert one.gpus
    assert (one.gpus.value, one.gpus.why, one.idle_gpus_per_node) == (4, "4 per node, of which the run uses 1", 3)


@pytest.mark.parametrize(("whole", "hours", "why"), [(None, 1.0, "1 node x the time"), (False, 0.25, "25% of 1 node x the time")])
def test_node_hours_are_of_the_part_of_a_node_where_jobs_share_it(
    known: Callable[[str | None], Facts], guide: Guide, whole: bool | None, hours: float, why: str
) -> None:
    """One of four GPUs for an hour."""
    name = "skylake-bronze-1080ti"
    models = fit([ran(3600, application="net", system=name, nodes=1, ranks_per_node=1, gpus_per_node=1)])
    facts = known(None)
    (partition,) = facts.systems[name].partitions
    there = facts.systems[name].model_copy(update={"partitions": (partition.model_copy(update={"whole_nodes": whole}),)})
    request = asked(
        target={"name": name},
        workload={"application": "net"},
        ai_training={"config": {"distributed_training": False}},
        objective={"deadline": 10_000_000},
    )
    (one,) = size(request, replace(facts, systems={name: there}, models=models), guide).platforms
    assert one.node_hours.value == pytest.approx(hours)
    assert one.node_hours.why == why


@pytest.mark.parametrize(("models", "feasible"), [(["openmp"], False), (["openmp", "mpi"], True)])
def test_threads_alone_are_sized_on_one_node(known: Callable[[str | None], Facts], guide: Guide, models: list[str], feasible: bool) -> None:
    """Whatever the deadline: a program without MPI would only run there once more. Nothing is to be said of that."""
    measured = fit(ran(6000.0 / threads, nodes=1, ranks_per_node=1, threads_per_rank=threads) for threads in (6, 12, 24, 48))
    job = {"target": {"name": "supermuc-ng"}, "application": {"app_tag": "solver"}}
    wanted = {"app_type": "hpc", "hpc": {name: {} for name in models}, "objective": {"deadline": 60}}
    sizing = size(normalise({"job": job | {"optimisation": wanted}}).request, replace(known(None), models=measured), guide)
    assert [one.feasible for one in sizing.platforms if one.partition == "thin"] == [feasible]
    assert not [one for one in sizing.warnings if one.field.endswith("distributed_training")]


def test_threads_alone_are_sized_in_the_layout_that_results_have(known: Callable[[str | None], Facts], guide: Guide) -> None:
    """As they are recommended: such a program was run in several processes, whatever its request names."""
    measured = fit(ran(8000.0 / nodes, nodes=nodes, ranks_per_node=8, threads_per_rank=6) for nodes in (1, 2, 4, 8))
    wanted = {"app_type": "hpc", "hpc": {"openmp": {}}, "objective": {"deadline": 3600}}
    job = {"target": {"name": "supermuc-ng"}, "application": {"app_tag": "solver"}, "optimisation": wanted}
    request = normalise({"job": job}).request
    facts = replace(known(None), models=measured)
    (thin,) = [one for one in size(request, facts, guide).platforms if one.partition == "thin"]
    recommended = recommend(request, facts).choices[0].configuration
    assert (thin.layout, thin.at_nodes) == ("8 ranks per node x 6 threads per rank", 3)
    assert (recommended.ranks_per_node, recommended.threads_per_rank, recommended.nodes) == (8, 6, 3)


def test_a_goal_that_only_a_wide_interval_misses_is_not_called_out_of_reach(known: Callable[[str | None], Facts], guide: Guide) -> None:
    """One result of one node tells little of 23: the predicted time may meet the goal, or only the lower end of its interval."""
    name = "skylake-bronze-1080ti"
    series = SeriesKey(application="net", system=name, metric="epoch_time", unit="s")
    models = fit([Result(series=series, layout=Layout(nodes=1, ranks_per_node=4, gpus_per_node=4), value=36000)])

    def told(deadline: int) -> tuple[bool | None, str]:
        request = asked(target={"name": name}, workload={"application": "net", "epochs": 1}, objective={"deadline": deadline})
        (one,) = size(request, replace(known(None), models=models), guide).platforms
        return one.feasible, re.split("[:;]", one.nodes.why)[0]

    assert [told(deadline) for deadline in (3000, 600, 60)] == [(False, "not sure"), (False, "unlikely"), (False, "out of reach")]


def test_nodes_without_the_accelerators_that_are_asked_for_do_not_meet_the_goal(sized: Callable[..., Sizing]) -> None:
    """A time there would be that of another device."""
    found = sized(asked(target={"name": "supermuc-ng"}, opt_build={"acc_type": "nvidia"}))
    assert {(one.feasible, one.time.value) for one in found.platforms} == {(False, None)}
    assert all("do not have the accelerators that the request asks for (nvidia)" in (one.time.why or "") for one in found.platforms)


@pytest.mark.parametrize(("vendor", "feasible"), [("nvidia", True), ("amd", False)])
def test_only_nodes_with_gpus_of_the_vendor_that_is_asked_for_meet_the_goal(
    sized: Callable[..., Sizing], vendor: str, feasible: bool
) -> None:
    """The reference configurations have NVIDIA's."""
    found = sized(asked("sizing-small", opt_build={"acc_type": vendor}))
    assert {one.feasible for one in found.platforms} == {feasible}


def test_a_time_that_follows_a_trend_over_problem_sizes_says_so(
    known: Callable[[str | None], Facts], guide: Guide, everywhere: Sizing
) -> None:
    """And no other one does."""
    keys = [SeriesKey(application="app", system="supermuc-ng", params={"n": str(n)}, metric="wall_time", unit="s") for n in (500, 1000)]
    models = fit(Result(series=key, layout=Layout(nodes=p), value=float(key.params["n"]) / p) for key in keys for p in (1, 2, 4))
    work = {"application": "app", "params": {"n": 2000}, "dataset": None, "epochs": None, "samples": None, "batch_size": None}
    request = asked(target={"name": "supermuc-ng"}, workload=work)
    told = size(request, replace(known(None), models=models), guide).platforms[0].time.why or ""
    assert "; this problem size was not measured: trend over 2 measured ones" in told
    assert not [one for one in everywhere.platforms if "was not measured" in (one.time.why or "")]


@pytest.mark.parametrize(
    ("doublings", "note"),
    [(0.0, ()), (1.0, ("beyond the measured sizes by a factor of 2",)), (1.5, ("beyond the measured sizes by a factor of 2.83",))],
)
def test_how_far_a_size_is_from_the_measured_ones_is_said(doublings: float, note: tuple[str, ...]) -> None:
    """As a factor."""
    assert reach._far(doublings) == note


def test_no_more_nodes_are_given_than_a_queue_takes(known: Callable[[str | None], Facts], guide: Guide) -> None:
    """The partition has more, but no job of so many could be submitted."""
    facts, request = known("resnet50"), asked("sizing-large")
    system = facts.systems["fujitsu-primeflex-large"]
    queue = Queue(name="short", max_nodes=2)
    partitions = tuple(one.model_copy(update={"queues": (queue,)}) for one in system.partitions)
    few = replace(facts, systems={system.name: system.model_copy(update={"partitions": partitions})})
    assert {one.at_nodes for one in size(request, few, guide).platforms} == {2}


@pytest.mark.parametrize(
    ("named", "sizes"),
    [
        ({"partition": "fat"}, {"fat"}),
        ({"queue": "fat"}, {"fat"}),
        ({"partition": "micro"}, {"thin"}),
        ({"queue": "elsewhere"}, {"thin", "fat"}),
        ({}, {"thin", "fat"}),
    ],
)
def test_a_partition_is_sized_alone_where_the_request_names_it_and_its_system(
    sized: Callable[..., Sizing], named: dict[str, str], sizes: set[str]
) -> None:
    """By its name, or by its queue; one that the system does not have leaves all of them, and so does one without a system."""
    request = asked(target={"name": "supermuc-ng"}).changed(job_options=named)
    assert {one.partition for one in sized(request).platforms} == sizes
    anywhere = asked(target={"name": None}).changed(job_options=named)
    assert len({one.system for one in sized(anywhere).platforms}) > 1


def test_the_goal_is_told_in_one_line(sized: Callable[..., Sizing]) -> None:
    """Application, data set, length, time and confidence."""
    assert sized(asked()).goal == "resnet50 on imagenet-1k, 90 epochs: P(time <= 2-00:00:00) >= 0.9"


def test_the_largest_sample_of_storage_can_be_asked_for(sized: Callable[..., Sizing]) -> None:
    """A data set of two to four petabytes."""
    found = sized(asked(ai_training={"data": {"size_bytes": "4000 TB"}}))
    assert {one.storage.sample for one in found.platforms} == {"very-large"}
    assert {one.storage.enough for one in found.platforms if "a node needs up to" in " ".join(one.storage.why)} == {False}


def test_the_samples_of_storage_go_from_171_terabytes_to_4_1_petabytes(guide: Guide) -> None:
    """The smallest that holds the data; none above the largest."""
    found = [guide.sample(terabytes) for terabytes in (0.15, 171, 171.1, 1000, 4100, 4101)]
    assert [one and one.name for one in found] == ["small", "small", "medium", "large", "very-large", None]


def test_the_guidance_names_what_there_is(guide: Guide, known: Callable[[str | None], Facts]) -> None:
    """Each variant a partition of a reference system, each question a field of the request."""
    systems = known("resnet50").systems
    named = {(one.system, one.partition) for one in guide.variants}
    assert named == {(name, partition.name) for name in REFERENCE for partition in systems[name].partitions}
    found = sized_fields(guide)
    assert found == {"network": "resnet50", "layers": "50", "data": "150 GB", "convergence": "90", "time-to-model": "2-00:00:00"}


@pytest.mark.parametrize(("kind", "asks"), [("ai_training", True), ("hpc", False), ("big_data", False)])
def test_only_training_is_asked_about_networks(sized: Callable[..., Sizing], kind: str, asks: bool) -> None:
    """The paper's questions and cautions are about nothing else."""
    found = sized(asked().changed(optimisation={"app_type": kind}))
    assert (bool(found.asked), bool(found.cautions), bool(found.platforms)) == (asks, asks, True)


def sized_fields(guide: Guide) -> dict[str, str | None]:
    """What an example says of each question."""
    return {one.name: one.said for one in questions(asked(), guide)}


def test_the_rate_follows_from_data_epochs_and_time(sized: Callable[..., Sizing]) -> None:
    """150 GB in every epoch; the slow end of the time is the low end of the rate; a node has its part."""
    one = sized(asked()).platforms[0]
    time, rate, each = one.time, one.storage.rate, one.storage.rate_per_node
    read = 150 * 90
    assert (rate.value, rate.lower, rate.upper) == pytest.approx([read / (end or 0) for end in (time.value, time.upper, time.lower)])
    assert each.value == pytest.approx((rate.value or 0) / (one.at_nodes or 0))


def test_the_rate_is_told_in_the_unit_of_the_file_system(everywhere: Sizing) -> None:
    """Without its unit it would read as a part of the bandwidth."""
    one = platform(everywhere, "supermuc-ng", "thin")
    text = f"the run needs up to {one.storage.rate.upper:.3g} GB/s, and supermuc-ng's fastest file system provides 500 GB/s"
    assert text in one.storage.why


def test_storage_of_each_node_is_not_that_of_the_system(guide: Guide, sized: Callable[..., Sizing], known: Callable[..., Facts]) -> None:
    """It says nothing of the room for all nodes."""
    facts, request = known("resnet50"), asked("sizing-small")
    system = facts.systems["fujitsu-primeflex-small"]
    shared = FileSystem(name="shared", kind="lustre", capacity_tb=0.1, bandwidth_gbs=0.01)
    local = FileSystem(name="nvme", kind="local-ssd", capacity_tb=100, bandwidth_gbs=100)
    with_both = replace(facts, systems={system.name: system.model_copy(update={"filesystems": (local, shared)})})
    for one in size(request, with_both, guide).platforms:
        assert one.storage.enough is False
        assert "takes 150% of the 0.1 TB of fujitsu-primeflex-small's largest file system" in " ".join(one.storage.why)


def test_all_systems_are_sized_for_one_data_set(known: Callable[[str | None], Facts], guide: Guide) -> None:
    """Where the request names none: fewer nodes for an easier problem would be no better system."""
    series = SeriesKey(application="resnet50", metric="epoch_time", unit="s")
    runs = [("supermuc-ng", "whole", 1000.0), ("stampede2", "whole", 1000.0), ("stampede2", "tenth", 10.0), ("stampede2", "tenth", 11.0)]
    models = fit(
        Result(series=series.model_copy(update={"system": system, "dataset": dataset}), layout=Layout(nodes=1), value=value)
        for system, dataset, value in runs
    )
    facts = replace(known(None), models=models)
    unsaid = asked(target={"name": None}, workload={"application": "resnet50", "dataset": None})
    warned = size(unsaid, facts, guide)
    (warning,) = [one for one in warned.warnings if one.field == "optimisation.workload.dataset"]
    taken = warning.message.split("prediction uses ")[1].split("'")[1]
    named = size(asked(target={"name": None}, workload={"application": "resnet50", "dataset": taken}), facts, guide)
    assert warned.platforms == named.platforms


@pytest.mark.parametrize(
    ("distribution", "parameters", "need"), [("ddp", 3e9, "need 48 GB"), ("fsdp", 5e9, ""), ("deepspeed", 5e13, "need 800 TB")]
)
def test_a_network_too_large_for_its_gpus_is_not_promised(
    sized: Callable[..., Sizing], distribution: str, parameters: float, need: str
) -> None:
    """16 bytes for each parameter, against the memory of a GPU, or of all over which the network is split."""
    found = sized(asked(ai_training={"config": {"parameters": parameters}, "mxnet": None, "pytorch": {"distribution": distribution}}))
    notes = [" ".join(one.notes) for one in found.platforms]
    assert [one.feasible is False for one in found.platforms] == [bool(need)] * 3
    assert ["the network must be split over" in told for told in notes] == [bool(need)] * 3
    assert all(need in told for told in notes)


@pytest.mark.parametrize(("said", "warned"), [(None, True), (True, False), (False, False)])
def test_that_training_is_taken_to_be_distributed_is_said(sized: Callable[..., Sizing], said: bool | None, warned: bool) -> None:
    """Where the request leaves it open, all GPUs of a node count."""
    sizing, spread = (sized(asked(ai_training={"config": {"distributed_training": each}, "mxnet": {}})) for each in (said, True))
    told = [one.message for one in sizing.warnings if one.field == "optimisation.ai_training.config.distributed_training"]
    assert (bool(told), sizing.platforms == spread.platforms) == (warned, said is not False)


@pytest.mark.parametrize(
    "sections",
    [
        {"ai_training": {"mxnet": {}}},
        {"app_type-ai_training": {"config": {"ai_framework": "mxnet"}, "ai_framework-mxnet": {}}},
        {"app_type": "ai_inference"},
        {},
    ],
)
def test_what_is_missing_is_read_at_the_place_that_is_named(sized: Callable[..., Sizing], sections: dict[str, Any]) -> None:
    """In the form of the request's own sections; nothing there is unknown, or left out because of another section."""
    wanted = {"workload": {"application": "resnet50"}, "objective": {"deadline": "2-00:00:00"}}
    document: dict[str, Any] = {"job": {"optimisation": {**wanted, **sections}}}
    missing = [one.field for one in sized(normalise(document).request).asked if one.said is None]
    assert len(missing) == 3
    for field in missing:
        *path, name = field.split(".")
        inner = document["job"]
        for key in path:
            inner = inner.setdefault(key, {})
        inner[name] = 7
    read = normalise(document)
    assert [one.said for one in sized(read.request).asked if one.said is None] == []
    assert [one.message for one in read.warnings if "unknown" in one.message or "ignored" in one.message] == []


@pytest.mark.parametrize(
    ("section", "name", "value"),
    [
        *(("job_options", name, 2) for name in ("node_count", "process_count_per_node", "core_count_per_process", "request_gpus")),
        ("job_options", "request_specific_nodes", "n[1-2]"),
        ("application", "threads", 2),
    ],
)
def test_counts_of_the_request_are_left_out_with_a_word(sized: Callable[..., Sizing], section: str, name: str, value: object) -> None:
    """Their number is what is asked."""
    changed: dict[str, Any] = {section: {name: value}}
    found = sized(asked(**changed))
    assert [warning.field for warning in found.warnings] == [f"{section}.{name}"]
    assert found.platforms == sized(asked()).platforms


@pytest.mark.parametrize(("name", "value"), [("minimise", "cost"), ("max_nodes", 1), ("min_efficiency", 0.9), ("budget_node_hours", 1)])
def test_what_a_sizing_does_not_heed_is_left_out_with_a_word(sized: Callable[..., Sizing], name: str, value: object) -> None:
    """Of the objective it takes the deadline and its confidence; a budget that was set aside in silence would be taken for met."""
    found = sized(asked(objective={name: value}))
    assert [warning.field for warning in found.warnings] == [f"optimisation.objective.{name}"]
    assert found.platforms == sized(asked()).platforms


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_each_reference_configuration_has_an_example_that_it_meets(path: Path, sized: Callable[..., Sizing]) -> None:
    """With V100s, air- and water-cooled, and with T4s; each with its network and its room for the data."""
    found = sized(asked(path.stem))
    assert {(one.partition, one.cooling) for one in found.platforms} == {
        ("rx2540-v100", "air"),
        ("rx2540-t4", "air"),
        ("cx2570-v100", "water"),
    }
    assert any(one.feasible for one in found.platforms)
    assert all(one.network and (one.network.enough or one.network.needed == "none") and one.storage.enough for one in found.platforms)


def test_there_is_an_example_for_every_size() -> None:
    """Small, moderate, large."""
    targets = {json.loads(path.read_text())["job"]["target"]["name"] for path in EXAMPLES}
    assert targets == set(REFERENCE)


def test_a_compiler_that_no_image_has_does_not_size_a_system(known: Callable[[str | None], Facts], guide: Guide) -> None:
    """3DGAN with XLA on SuperMUC-NG: the nodes of a run without it, and a note."""

    def thin(**switch: bool) -> Platform:
        framework = {"config": {"distributed_training": True}, "tensorflow": {"distribution": "horovod"} | switch}
        request = asked("3dgan-supermuc-ng", ai_training=framework)
        return platform(size(request, known("3dgan"), guide), "supermuc-ng", "thin")

    found, plain = thin(xla=True), thin()
    assert (found.nodes, found.time) == (plain.nodes, plain.time)
    assert set(found.notes) - set(plain.notes) == {"no suitable image of tensorflow contains xla; the job runs without it"}
