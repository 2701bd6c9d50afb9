"""Which image a request gets on the facts that there are: results that name images, drivers, MPI programs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from packaging.version import Version

from modak.facts import Condition, Facts, HostMpi, Image, ImageLabels, Layout, Result, Rule, SeriesKey
from modak.normalise import normalise
from modak.optimise import Answer, optimise
from modak.perfmodel.fitting.curves import fit
from modak.prepared import prepared
from tests.examples import Known

TARGET = {"name": "hlrs-testbed"}


def entry(reference: str, **labels: Any) -> Image:
    """An entry of a catalogue."""
    return Image(reference=reference, labels=ImageLabels.model_validate({"source": "hub", **labels}), source="a test")


def chosen(job: dict[str, Any], facts: Facts) -> str | None:
    """The image that the plan names."""
    return optimise(normalise({"job": {"target": TARGET, **job}}).request, facts).plan.configuration.image


def timed(image: str, seconds: float, dataset: str | None = None) -> Result:
    """A run of one application in an image on the testbed."""
    told = {"image": image, "dataset": dataset}
    key = SeriesKey.model_validate(
        {"application": "mnist", "framework": "jax", "system": "hlrs-testbed", "metric": "epoch_time", "unit": "s", **told}
    )
    return Result(series=key, layout=Layout(nodes=1, ranks_per_node=1, threads_per_rank=20), value=seconds)


TWINS = tuple(entry(f"docker://a/{name}:1", framework="jax", version="0.10.2", compilers=("xla",)) for name in ("first", "second"))
"""Two images with the same labels."""
OF_TWINS: dict[str, Any] = {
    "application": {"app_tag": "mnist"},
    "optimisation": {"app_type": "ai_training", "ai_training": {"jax": {"version": "0.10.2"}}},
}
"""A job for which either will do."""


def test_of_equal_images_the_one_that_ran_faster(known: Known) -> None:
    """Results in both: the models decide, not the name."""
    models = fit([timed(TWINS[0].reference, 40.0), timed(TWINS[1].reference, 20.0)])
    assert chosen(OF_TWINS, replace(known(None), images=TWINS, models=models)) == TWINS[1].reference


def test_a_named_image_is_told_that_the_other_one_ran_faster(known: Known) -> None:
    """It is what decided: the names are in the other order."""
    slow, fast = (twin.reference for twin in TWINS)
    facts = replace(known(None), images=TWINS, models=fit([timed(slow, 40.0), timed(fast, 20.0)]))
    job = OF_TWINS | {"application": {"app_tag": "mnist", "container_runtime": slow}}
    plan = optimise(normalise({"job": {"target": TARGET, **job}}).request, facts).plan
    (warning,) = (each.message for each in plan.warnings if each.field == "application.container_runtime")
    assert warning == f"{slow} is not used, but {fast}: the chosen one is preferred because the models predict it to be faster"


def test_an_image_is_not_faster_for_an_easier_data_set(known: Known) -> None:
    """The one that is asked about ran in the first alone; what ran in the second in no time is another."""
    first, second = (twin.reference for twin in TWINS)
    runs = [timed(first, 20.0, "whole"), timed(first, 21.0, "whole"), timed(second, 1.0, "tenth")]
    assert chosen(OF_TWINS, replace(known(None), images=TWINS, models=fit(runs))) == first


def on_arm(facts: Facts, **processor: Any) -> Facts:
    """The testbed with another processor."""
    node = facts.systems["hlrs-testbed"].partitions[0].node
    known = facts.processors[node.processor].model_copy(update={"microarchitecture": "neoverse_v2", "vendor": "arm", **processor})
    return replace(facts, processors={**facts.processors, node.processor: known})


@pytest.mark.parametrize("processor", [{}, {"microarchitecture": "newer_than_archspec"}])
@pytest.mark.parametrize("asked", [{}, {"cpu_type": "x86"}])
def test_an_image_is_for_the_architecture_of_the_target(known: Known, asked: dict[str, str], processor: dict[str, str]) -> None:
    """Whatever the request says of its processors: the others would not even start."""
    images = (TWINS[0], entry("docker://a/third:1", framework="jax", version="0.10.2", architecture="aarch64"))
    job = {**OF_TWINS, "optimisation": {**OF_TWINS["optimisation"], "opt_build": {"acc_type": "none", **asked}}}
    assert chosen(job, replace(on_arm(known(None), **processor), images=images)) == "docker://a/third:1"


@pytest.mark.parametrize(("asked", "told"), [("arm", ()), ("x86", ("aarch64, not x86",)), ("power", ("aarch64, not power",))])
def test_processors_that_are_not_the_requested_ones_are_told(known: Known, asked: str, told: tuple[str, ...]) -> None:
    """The answer is one for those that are there."""
    job = {"target": TARGET, "optimisation": {"opt_build": {"cpu_type": asked}}}
    plan = optimise(normalise({"job": job}).request, on_arm(known(None))).plan
    found = [each.message for each in plan.warnings if each.field == "optimisation.opt_build.cpu_type"]
    assert found == [f"the processors of hlrs-testbed are {each}; the job uses these" for each in told]


def test_a_processor_that_archspec_calls_big_endian_is_one_of_clusters(known: Known) -> None:
    """They are little-endian, as all images are; archspec's own name for that is power9le."""
    facts = on_arm(known(None), microarchitecture="power9", vendor="ibm")
    job = {"target": TARGET, "optimisation": {"opt_build": {"cpu_type": "power"}}}
    plan = optimise(normalise({"job": job}).request, facts).plan
    assert not [each for each in plan.warnings if each.field == "optimisation.opt_build.cpu_type"]


def whole(image: str, seconds: float, epochs: int) -> Result:
    """A whole training run of so many epochs in an image."""
    result = timed(image, seconds)
    series = result.series.model_copy(update={"metric": "wall_time", "params": {"epochs": str(epochs)}})
    return result.model_copy(update={"series": series})


def test_an_image_is_not_faster_for_a_shorter_run(known: Known) -> None:
    """Whole runs of different lengths are compared by what the request's run would take: 100 s for 10 epochs is more than 150 s for 20."""
    models = fit([whole(TWINS[0].reference, 100.0, 10), whole(TWINS[1].reference, 150.0, 20)])
    job = {**OF_TWINS, "optimisation": {**OF_TWINS["optimisation"], "workload": {"epochs": 20}}}
    assert chosen(job, replace(known(None), images=TWINS, models=models)) == TWINS[1].reference


@pytest.mark.parametrize(("epochs", "fastest"), [(1, 0), (100, 1)])
def test_the_fastest_image_is_that_of_runs_of_the_length_asked_for(known: Known, epochs: int, fastest: int) -> None:
    """The first starts sooner, the second trains faster: which is faster depends on the length of the run."""
    runs = [(TWINS[0], 10.0, 1), (TWINS[0], 1000.0, 100), (TWINS[1], 60.0, 1), (TWINS[1], 560.0, 100)]
    models = fit([whole(image.reference, seconds, length) for image, seconds, length in runs])
    job = {**OF_TWINS, "optimisation": {**OF_TWINS["optimisation"], "workload": {"epochs": epochs}}}
    assert chosen(job, replace(known(None), images=TWINS, models=models)) == TWINS[fastest].reference


def test_the_job_runs_in_the_image_that_the_plan_names(known: Known) -> None:
    """On two nodes the first image is faster, on five the second; who asked for two before does not matter."""
    runs = [(0, 2, 50.0), (0, 3, 48.0), (0, 5, 47.0), (1, 2, 80.0), (1, 3, 49.0), (1, 5, 21.0)]
    of_one = [(timed(TWINS[image].reference, seconds), nodes) for image, nodes, seconds in runs]
    models = fit([one.model_copy(update={"layout": one.layout.model_copy(update={"nodes": nodes})}) for one, nodes in of_one])
    facts = prepared(replace(known(None), images=TWINS, models=models))
    for nodes, fastest in ((2, "first"), (5, "second")):
        job = {"target": TARGET, "job_options": {"node_count": nodes}, **OF_TWINS}
        assert f"singularity pull {fastest}_1.sif" in optimise(normalise({"job": job}).request, facts).texts.job_script


def solver(image: str, seconds: float) -> Result:
    """A run of an MPI program in an image on the testbed."""
    key = SeriesKey(application="solver", system="hlrs-testbed", image=image, metric="wall_time", unit="s")
    return Result(series=key, layout=Layout(nodes=1, ranks_per_node=20, threads_per_rank=1), value=seconds)


@pytest.mark.parametrize(("image", "seconds"), [("docker://a/old:1", 40.0), ("docker://a/new:1", 20.0)])
def test_the_time_is_that_of_the_image_which_the_request_names(known: Known, image: str, seconds: float) -> None:
    """Not that of another image which the same program was measured in."""
    facts = replace(known(None), models=fit([solver("docker://a/old:1", 40.0), solver("docker://a/new:1", 20.0)]))
    predicted = optimise(normalise({"job": {"target": TARGET, **runs_in(image)}}).request, facts).plan.prediction
    assert predicted.value == pytest.approx(seconds)
    assert predicted.basis == "measured"


def test_results_of_another_image_are_transferred_and_said_to_be(known: Known) -> None:
    """They widen the interval; results that name no image are taken for those of the run."""
    facts = replace(known(None), models=fit([solver("docker://a/old:1", 40.0)]))
    plan = optimise(normalise({"job": {"target": TARGET, **runs_in("docker://a/new:1")}}).request, facts).plan
    assert plan.prediction.basis == "transferred"
    assert any("image docker://a/old:1" in line for line in plan.advice)


def runs_in(image: str) -> dict[str, Any]:
    """A job of the MPI program in an image of its own."""
    application = {"app_tag": "solver", "app_type": "mpi", "executable": "./solver", "mpi_ranks": 20, "container_runtime": image}
    return {"application": application, "optimisation": {"app_type": "hpc", "hpc": {"mpi": {}}}}


def test_a_time_from_another_image_than_the_chosen_one_is_said_to_be(known: Known) -> None:
    """Results name an image that the catalogue does not have: the job gets another one."""
    facts = replace(known(None), models=fit([timed("docker://mine/jax:1", 40.0)]))
    job = {"application": {"app_tag": "mnist"}, "optimisation": {"app_type": "ai_training", "ai_training": {"jax": {}}}}
    plan = optimise(normalise({"job": {"target": TARGET, **job}}).request, facts).plan
    origin = "the predicted time comes from results in the image docker://mine/jax:1"
    assert f"{origin}, but the job runs in {plan.configuration.image}: measure it there" in plan.advice


def test_a_time_from_one_of_several_images_names_them(known: Known) -> None:
    """The request names no image, so that the job has none, though the results are of two; of the named one nothing is said."""
    images = {"docker://a/one:1": 40.0, "docker://a/two:1": 50.0}
    facts = replace(known(None), models=fit([solver(image, seconds) for image, seconds in images.items()]))
    job = runs_in("docker://a/one:1")
    named = optimise(normalise({"job": {"target": TARGET, **job}}).request, facts).plan
    del job["application"]["container_runtime"]
    plan = optimise(normalise({"job": {"target": TARGET, **job}}).request, facts).plan
    used = next(image for image, seconds in images.items() if seconds == pytest.approx(plan.prediction.value))
    (other,) = images.keys() - {used}
    said = f"the predicted time comes from results in the image {used}; there are others in {other}: name the one that the job is to run in"
    assert f"{said} (application.container_runtime)" in plan.advice
    assert not any("results in the image" in line for line in named.advice)


def test_a_time_from_an_image_for_a_job_without_containers_is_said_to_be(known: Known) -> None:
    """No image need be named: the request wants none, or the system has no runtime for one."""
    facts = replace(known(None), models=fit([solver("docker://a/one:1", 40.0)]))
    job = runs_in("docker://a/one:1")
    del job["application"]["container_runtime"]
    plan = optimise(normalise({"job": {"target": {**TARGET, "container_runtime": "none"}, **job}}).request, facts).plan
    origin = "the predicted time comes from results in the image docker://a/one:1"
    assert f"{origin}, but the job runs without a container: measure it there" in plan.advice


def test_an_image_that_the_catalogue_replaces_is_named(known: Known) -> None:
    """A warning says that the request named another one, and what to do about it."""
    wanted = {"app_type": "ai_training", "ai_training": {"tensorflow": {"version": "2.1"}}}
    job = {"application": {"app_tag": "net", "container_runtime": "docker://mine/net:1"}, "optimisation": wanted}
    plan = optimise(normalise({"job": {"target": TARGET, **job}}).request, known(None)).plan
    assert plan.configuration.image != "docker://mine/net:1"
    warning = next(each.message for each in plan.warnings if each.field == "application.container_runtime")
    assert f"docker://mine/net:1 is not used: for tensorflow the catalogue decides, on {plan.configuration.image}" in warning
    assert "modak images add" in warning


@pytest.mark.parametrize(
    ("image", "options", "why"),
    [
        (
            "docker://tensorflow/tensorflow:1.14.0-py3",
            {},
            "the chosen one is preferred because its version is newer; for images of that version, request version '1.14.0' of tensorflow",
        ),
        ("docker://tensorflow/tensorflow:1.14.0-py3", {"version": ">=2.15"}, "it has version 1.14.0, and the request asks for >=2.15"),
        ("docker://bvlc/caffe:cpu", {}, "it is an image of caffe"),
        ("docker://tensorflow/tensorflow:1.14.0-py3", {"xla": True, "distribution": "horovod"}, "it is an image without "),
    ],
)
def test_a_named_image_of_the_catalogue_is_told_why_another_is_used(known: Known, image: str, options: dict[str, Any], why: str) -> None:
    """It is described already: what decided against it is said, and how to have its version."""
    wanted = {"app_type": "ai_training", "ai_training": {"tensorflow": options}}
    job = {"application": {"app_tag": "net", "container_runtime": image}, "optimisation": wanted}
    plan = optimise(normalise({"job": {"target": {"name": "supermuc-ng"}, **job}}).request, known(None)).plan
    (warning,) = (each.message for each in plan.warnings if each.field == "application.container_runtime")
    assert warning.startswith(f"{image} is not used, but {plan.configuration.image}: {why}")


def test_a_newer_image_than_the_named_one_is_told_of(known: Known) -> None:
    """Where no framework is named, the image is used as it is."""
    old = "docker://tensorflow/tensorflow:1.14.0-py3"
    plan = optimise(normalise({"job": {"target": TARGET, **runs_in(old)}}).request, known(None)).plan
    assert plan.configuration.image == old
    (line,) = (line for line in plan.decisions if line.startswith(f"image: {old}, as requested"))
    newest = line.rpartition("newest image of it is ")[2].partition(":")[2]
    assert "it contains tensorflow 1.14.0" in line
    assert Version(newest.removeprefix("//tensorflow/tensorflow:").partition(":")[0]) > Version("2.0")


def test_images_that_a_site_does_not_allow_are_counted(known: Known) -> None:
    """With where it allows images from: that only a few are suitable has this reason."""
    facts, place = known(None), "docker://tensorflow/"
    system = facts.systems["supermuc-ng"].model_copy(update={"allowed_images": (place,)})
    facts = replace(facts, systems={**facts.systems, "supermuc-ng": system})
    wanted = {"app_type": "ai_training", "ai_training": {"tensorflow": {}}}
    job = {"application": {"app_tag": "net", "container_runtime": "docker://mine/net:1"}, "optimisation": wanted}
    plan = optimise(normalise({"job": {"target": {"name": "supermuc-ng"}, **job}}).request, facts).plan
    others = [one for one in facts.images if one.labels.framework == "tensorflow" and not one.reference.startswith(place)]
    said = [line.partition("only: ")[2] for line in plan.decisions if f"allows images from {place} only: " in line]
    assert said == [f"{len(others)} of tensorflow are left out"]
    assert any("not used: " in each.message and f"allows images from {place} only" in each.message for each in plan.warnings)


def test_an_mpi_program_runs_in_an_image_of_its_library(known: Known) -> None:
    """Where the catalogue has one that carries all that is asked; else it runs as the system provides it."""
    job = {
        "application": {"app_tag": "solver", "app_type": "mpi", "executable": "./solver", "mpi_ranks": 4},
        "optimisation": {"app_type": "hpc", "app_type-hpc": {"parallelisation-mpi": {"library": "mpich", "version": "4.1"}}},
    }
    image = entry("site/mpich.sif", framework="mpich", version="4.1", mpi="mpich", mpi_version="4.1")
    facts = known(None)
    assert chosen(job, facts) is None
    assert chosen(job, replace(facts, images=(*facts.images, image))) == image.reference
    other = image.model_copy(update={"labels": image.labels.model_copy(update={"version": "3.1.4"})})
    assert chosen(job, replace(facts, images=(*facts.images, other))) is None


TRAINING = {
    "app_type": "ai_training",
    "opt_build": {"acc_type": "nvidia"},
    "ai_training": {"config": {"distributed_training": True}, "pytorch": {}},
}


def trained(facts: Facts, executable: str = "train.py", **pytorch: str) -> Answer:
    """PyTorch's own distribution on two GPUs of a node, on a system whose MPI containers can be given."""
    found = facts.systems["supermuc-ng"]
    thin = next(part for part in found.partitions if part.name == "thin")
    node = thin.node.model_copy(update={"accelerator": "v100-sxm2-16gb", "accelerators": 2})
    system = found.model_copy(update={"partitions": (thin.model_copy(update={"node": node}),)})
    job = {
        "job_options": {"node_count": 1, "request_gpus": 2},
        "application": {"app_tag": "net", "app_type": "python", "executable": executable},
        "target": {"name": "supermuc-ng"},
        "optimisation": {**TRAINING, "ai_training": {**TRAINING["ai_training"], "pytorch": pytorch}},  # type: ignore[dict-item]
    }
    return optimise(normalise({"job": job}).request, replace(facts, systems={**facts.systems, "supermuc-ng": system}))


@pytest.mark.parametrize("layer", [{}, {"distribution": "ddp"}, {"distribution": "fsdp"}])
def test_ranks_that_torchrun_starts_need_no_mpi(known: Known, layer: dict[str, str]) -> None:
    """Neither is the host's bound into the image, which may have no place for it, nor is one looked for in the image."""
    answer = trained(known(None), **layer)
    assert "torchrun" in answer.texts.job_script
    assert "I_MPI_ROOT" not in answer.texts.job_script
    assert answer.plan.configuration.mpi_from is None
    assert not any("MPI" in warning.message for warning in answer.plan.warnings)


@pytest.mark.parametrize(("framework", "layer"), [("jax", "jax-distributed"), ("tensorflow", "multi-worker"), ("tensorflow", "horovod")])
def test_ranks_with_a_network_of_their_own_need_no_mpi(known: Known, framework: str, layer: str) -> None:
    """The job would stop where Slurm lacks what the MPI needs, and its result, and rules, would tell of an MPI that the run did not use."""
    inside = entry("docker://a/net:1", framework=framework, version="2.20.0", mpi="openmpi", mpi_version="4.1.5", distribution=("horovod",))
    facts = replace(known(None), images=(inside,))
    through_slurm = {"launcher": "srun", "mpi": (HostMpi(family="openmpi", default=True, pmi="pmix"),)}
    here = replace(facts, systems={"supermuc-ng": facts.systems["supermuc-ng"].model_copy(update=through_slurm)})
    job = {
        "job_options": {"node_count": 2},
        "application": {"app_tag": "net", "app_type": "python", "executable": "train.py"},
        "target": {"name": "supermuc-ng"},
        "optimisation": {"app_type": "ai_training", "ai_training": {framework: {"distribution": layer}}},
    }
    answer = optimise(normalise({"job": job}).request, here)
    said = ("--mpi=" in answer.texts.job_script, '"mpi": ' in answer.texts.job_script, answer.plan.configuration.mpi is not None)
    assert said == (layer == "horovod",) * 3


@pytest.mark.parametrize(("ranks", "told"), [(1, False), (8, True)])
def test_one_rank_needs_no_mpi_whatever_other_counts_say(known: Known, ranks: int, told: bool) -> None:
    """Total ranks hold where counts contradict, and a warning of ranks that may not connect would refuse the request if it is strict."""
    job = {
        "job_options": {"node_count": 1, "process_count_per_node": 8},
        "application": {"app_tag": "net", "app_type": "python", "executable": "train.py", "mpi_ranks": ranks},
        "target": TARGET,
        "optimisation": {"app_type": "ai_training", "ai_training": {"cntk": {"version": "2.7"}}},
    }
    warnings = optimise(normalise({"job": job}).request, known(None)).plan.warnings
    assert any("ranks may not connect" in one.message for one in warnings) == told


def test_deepspeed_is_started_by_torchrun_and_comes_with_the_application(known: Known) -> None:
    """It reads what torchrun tells its ranks; an image that carries it goes before others, and a warning says where none does."""
    facts = known(None)
    without = trained(facts, distribution="DeepSpeed")
    assert "torchrun --nnodes=1 --nproc-per-node=2 " in without.texts.job_script
    (field,) = (one.field for one in without.plan.warnings if "contains deepspeed" in one.message)
    assert field == "optimisation.ai_training.pytorch.distribution"
    own = entry("docker://a/deep:1", framework="pytorch", version="2.13.0", accelerator="nvidia", distribution=("deepspeed",))
    holding = trained(replace(facts, images=(*facts.images, own)), distribution="deepspeed").plan
    assert holding.configuration.image == "docker://a/deep:1"
    assert not any("deepspeed" in one.message.lower() for one in holding.warnings)


def test_no_recipe_installs_deepspeed(known: Known) -> None:
    """A warning says so where the image is built."""
    wanted = {**TRAINING, "enable_opt_build": True, "ai_training": {"pytorch": {"distribution": "deepspeed"}}}
    job = {"application": {"executable": "train.py"}, "target": {"name": "hlrs-testbed"}, "optimisation": wanted}
    plan = optimise(normalise({"job": job}).request, replace(known(None), images=())).plan
    assert plan.recipe is not None
    (warned,) = (one for one in plan.warnings if "DeepSpeed" in one.message)
    assert warned.field == "optimisation.ai_training.pytorch.distribution"
    assert warned.message == "the recipe does not install DeepSpeed: the application must provide it"


def test_results_with_the_hosts_mpi_bind_none_where_torchrun_starts_the_ranks(known: Known) -> None:
    """They were run otherwise; this run's ranks do not talk through it."""
    key = SeriesKey(
        application="net", system="supermuc-ng", framework="pytorch", mpi="intel-mpi", mpi_from="host", metric="wall_time", unit="s"
    )
    layout = Layout(nodes=1, ranks_per_node=2, gpus_per_node=2)
    answer = trained(replace(known(None), models=fit([Result(series=key, layout=layout, value=60.0)])))
    assert answer.plan.prediction.basis == "measured"
    assert "I_MPI_ROOT" not in answer.texts.job_script


def test_an_image_with_another_version_than_the_results_is_told(known: Known) -> None:
    """The time is called measured, and it was not measured in that image."""
    key = SeriesKey(application="net", system="supermuc-ng", framework="pytorch", framework_version="1.11.0", metric="wall_time", unit="s")
    measured = fit([Result(series=key, layout=Layout(nodes=1, ranks_per_node=2, gpus_per_node=2), value=60.0)])
    plan = trained(replace(known(None), models=measured)).plan
    assert f"results with framework version 1.11.0, but the image has {plan.configuration.framework_version}" in " ".join(plan.advice)


def test_a_version_without_its_last_zero_is_that_version(known: Known) -> None:
    """Results of 2.1 were measured in 2.1.0."""
    image = trained(known(None)).plan.configuration.framework_version
    key = SeriesKey(application="net", system="supermuc-ng", framework="pytorch", metric="wall_time", unit="s")
    key = key.model_copy(update={"framework_version": (image or "").removesuffix(".0")})
    plan = trained(replace(known(None), models=fit([Result(series=key, layout=Layout(nodes=1, ranks_per_node=1), value=60.0)]))).plan
    assert plan.configuration.framework_version == image == f"{key.framework_version}.0"
    assert not any("framework version" in sentence for sentence in plan.advice)


@pytest.mark.parametrize(
    "command",
    [
        "torchrun --nproc_per_node 4 --standalone train.py --lr 1",
        "python3 -m torch.distributed.run --nnodes=1 train.py --lr 1",
        "deepspeed --num_gpus 2 --no_ssh train.py --lr 1",
        "accelerate launch --multi_gpu --num_processes 2 train.py --lr 1",
        "/usr/local/bin/torchrun --standalone --nproc_per_node 4 train.py --lr 1",
        "torchrun --nnodes=1 -- train.py --lr 1",
        "torchrun --nproc_per_node=${SLURM_GPUS_ON_NODE} train.py --lr 1",
        "torchrun --a-flag-of-tomorrow train.py --lr 1",
        "python -u -m torch.distributed.launch --use_env train.py --lr 1",
        "python3 -m accelerate.commands.launch train.py --lr 1",
    ],
)
def test_a_launcher_of_the_users_own_is_not_started_by_torchrun(known: Known, command: str) -> None:
    """Each rank would start as many again; the warning says what is left out."""
    answer = trained(known(None), executable=command)
    assert "torchrun --nnodes=1 --nproc-per-node=2 --standalone train.py --lr 1\n" in answer.texts.job_script
    assert [warning.field for warning in answer.plan.warnings if "each rank would run" in warning.message] == ["application.executable"]


def test_the_settings_of_accelerate_are_said_to_go_with_it(known: Known) -> None:
    """Without them the program trains in another precision, or without FSDP."""
    answer = trained(known(None), executable="accelerate launch --config_file fsdp.yaml train.py")
    assert sum("its settings (precision, FSDP, DeepSpeed) with it" in warning.message for warning in answer.plan.warnings) == 1


@pytest.mark.parametrize(("measured", "told"), [("openmpi 4.1", True), ("MPICH 3.3", False), (None, False)])
def test_an_mpi_that_the_systems_file_does_not_list_is_told(known: Known, measured: str | None, told: bool) -> None:
    """Launcher and modules are those of another then."""
    facts = known("nobody-ran-this")
    changed = {"name": "testbed", "aliases": (), "mpi": (HostMpi(family="mpich", version="4.1", default=True),)}
    system = facts.systems["hlrs-testbed"].model_copy(update=changed)
    key = SeriesKey(application="solver", system="testbed", mpi=measured, metric="wall_time", unit="s")
    models = fit([Result(series=key, layout=Layout(nodes=2, ranks_per_node=20), value=9.0)])
    job = {"application": {"app_tag": "solver", "app_type": "mpi", "executable": "./solve"}, "target": {"name": "testbed"}}
    facts = replace(facts, systems={**facts.systems, "testbed": system}, models=models)
    said = [one.message for one in optimise(normalise({"job": job}).request, facts).plan.warnings if "[[mpi]]" in one.message]
    assert [one.endswith("([[mpi]]): the job is set up for its default, mpich 4.1") for one in said] == [True] * told


@pytest.mark.parametrize(
    ("library", "runtime", "measured", "whose"),
    [
        ("/opt/mpich/lib", "singularity", False, "host"),
        (None, "singularity", False, None),
        (None, "singularity", True, None),
        (None, "none", False, "host"),
    ],
)
def test_ranks_use_the_hosts_mpi_without_an_image_or_where_the_system_says_what_to_bind(
    known: Known, library: str | None, runtime: str, measured: bool, whose: str | None
) -> None:
    """In the answer and in the job's record, even if results were measured with the host's."""
    facts = known("nobody-ran-this")
    key = SeriesKey(application="solver", system="testbed", mpi="mpich", mpi_from="host", metric="wall_time", unit="s")
    models = fit([Result(series=key, layout=Layout(nodes=2, ranks_per_node=20), value=9.0)]) if measured else ()
    mpi = HostMpi(family="mpich", version="4.1", default=True, library_dir=library)
    system = facts.systems["hlrs-testbed"].model_copy(update={"name": "testbed", "aliases": (), "mpi": (mpi,)})
    application = {"app_tag": "solver", "app_type": "mpi", "executable": "./solve", "container_runtime": "docker://me/solver:1"}
    job = {"application": application, "target": {"name": "testbed", "container_runtime": runtime}, "job_options": {"node_count": 2}}
    answer = optimise(normalise({"job": job}).request, replace(facts, systems={"testbed": system}, models=models))
    assert (answer.plan.configuration.mpi_from, '"mpi_from": "host"' in answer.texts.job_script) == (whose, bool(whose))


@pytest.mark.parametrize(("library", "recorded"), [("openmpi", "mpich"), ("mpich", "mpich")])
def test_a_result_is_of_the_mpi_that_starts_the_ranks(known: Known, library: str, recorded: str) -> None:
    """Not of one that the system does not list, and that the job's check of mpirun refuses."""
    wanted = {"app_type": "hpc", "hpc": {"mpi": {"library": library}}}
    job = {"application": {"app_tag": "solver", "executable": "./solve"}, "target": TARGET, "optimisation": wanted}
    script = optimise(normalise({"job": job}).request, known("nobody-ran-this")).texts.job_script
    assert "the job's MPI is MPICH" in script
    assert f'"mpi": "{recorded}", "mpi_from": "host"' in script


def test_rules_test_the_version_of_the_library_that_the_ranks_use(known: Known) -> None:
    """Not that of the system's default, which counts otherwise."""
    libraries = (HostMpi(family="intel-mpi", version="2019", default=True), HostMpi(family="openmpi", version="4.1"))
    facts = known("nobody-ran-this")
    system = facts.systems["hlrs-testbed"].model_copy(update={"mpi": libraries, "runtimes": ()})
    rules = tuple(
        Rule(name=name, title=name, when=Condition(mpi=("openmpi",), mpi_version=versions), environment={name: "1"}, source="a test")
        for name, versions in (("OLD", "<5"), ("NEW", ">=5"))
    )
    wanted = {"app_type": "hpc", "hpc": {"parallelisation": "mpi", "parallelisation-mpi": {"library": "openmpi"}}}
    job = {"application": {"executable": "./solve"}, "target": {"name": "hlrs-testbed"}, "optimisation": wanted}
    found = optimise(normalise({"job": job}).request, replace(facts, systems={"hlrs-testbed": system}, rules=rules))
    assert ("export OLD=1\n" in found.texts.job_script, "export NEW=1\n" in found.texts.job_script) == (True, False)


def test_an_image_from_before_torchrun_is_warned_about(known: Known) -> None:
    """PyTorch has it since 1.10."""
    facts = known(None)
    old = replace(facts, images=(entry("docker://a/torch:1.5", framework="pytorch", version="1.5.0", accelerator="nvidia"),))
    assert any("torchrun needs 1.10 or later" in warning.message for warning in trained(old, version="1.5").plan.warnings)


MEASURED = {"app_type": "ai_training", "ai_training": {"config": {"distributed_training": True}, "tensorflow": {"distribution": "horovod"}}}


def in_containers(facts: Facts, mpi: str | None, images: tuple[Image, ...], named: str | None = None, **optimisation: Any) -> Answer:
    """3DGAN on four nodes of SuperMUC-NG, where it was measured with the own MPI of containers, with these images, one maybe ``named``."""
    told = {"framework": "tensorflow", "mpi": mpi, "mpi_from": "container", "metric": "wall_time", "unit": "s"}
    key = SeriesKey.model_validate({"application": "net", "system": "supermuc-ng", **told})
    models = fit([Result(series=key, layout=Layout(nodes=4, ranks_per_node=1, threads_per_rank=48), value=60.0)])
    job = {
        "job_options": {"node_count": 4, "account": "pr12ab"},
        "application": {"app_tag": "net", "app_type": "python", "executable": "train.py", "container_runtime": named},
        "target": {"name": "supermuc-ng"},
        "optimisation": {**MEASURED, **optimisation},
    }
    return optimise(normalise({"job": job}).request, replace(facts, images=images, models=models))


def with_horovod(*mpis: str | None, **labels: Any) -> tuple[Image, ...]:
    """TensorFlow with Horovod: a public image for each MPI, but a private one of MPICH, older than the others."""
    told = {"framework": "tensorflow", "distribution": ("horovod",), "version": "2.12.0", **labels}
    own = {"mpich": ("private://a/mpich:1", {"version": "1.11.0"})}
    names = {mpi: own.get(mpi or "", (f"docker://a/{mpi or 'bare'}:1", {})) for mpi in mpis}
    return tuple(entry(name, **{**told, **older, "mpi": mpi}) for mpi, (name, older) in names.items())


@pytest.mark.parametrize(
    ("mpis", "image", "has"),
    [
        (("openmpi", "intel-mpi", "mpich"), "private://a/mpich:1", "mpich 3.3"),
        (("openmpi", "intel-mpi"), "docker://a/intel-mpi:1", "intel-mpi"),
        (("openmpi", None), "docker://a/openmpi:1", "openmpi"),
        ((None,), "docker://a/bare:1", None),
    ],
)
def test_the_image_has_the_mpi_of_the_containers_that_were_measured(
    known: Known, mpis: tuple[str | None, ...], image: str, has: str | None
) -> None:
    """Else one of the same binary interface, else any: then a warning says so, and answer and record name that of the image."""
    answer = in_containers(known(None), "mpich 3.3", with_horovod(*mpis))
    configuration, own = answer.plan.configuration, has == "mpich 3.3"
    assert (configuration.image, configuration.mpi, configuration.mpi_from) == (image, has, "container" if has else None)
    assert (f'"mpi": "{has}"' in answer.texts.job_script) == bool(has)
    said = [one.message for one in answer.plan.warnings if "no suitable image of tensorflow has mpich" in one.message]
    assert [f"use {has}" in one or "may not connect" in one for one in said] == [True] * (not own)


def test_the_rules_are_those_of_the_images_own_mpi(known: Known) -> None:
    """Variables for MPICH would do nothing for the Open MPI that the image has."""
    applied = [in_containers(known(None), "mpich", with_horovod(mpi)).plan.rules for mpi in ("mpich", "openmpi")]
    assert ["omni-path-container-mpich" in rules for rules in applied] == [True, False]


def test_a_version_that_the_request_names_goes_before_the_mpi_of_the_measured_containers(known: Known) -> None:
    """Any MPI can start the ranks; the program may run in no other version."""
    horovod = {"tensorflow": {"version": "2.12", "distribution": "horovod"}}
    answer = in_containers(known(None), "mpich", with_horovod("openmpi", "mpich"), ai_training=horovod)
    assert answer.plan.configuration.image == "docker://a/openmpi:1"


@pytest.mark.parametrize(("mpi", "has"), [("mpich", "mpich"), ("mvapich 2.3", "openmpi")])
def test_a_recipe_has_the_mpi_of_the_containers_that_were_measured(known: Known, mpi: str, has: str) -> None:
    """If it is one that recipes install; else a warning says which one it has."""
    horovod = {"tensorflow": {"version": "2.12", "distribution": "horovod"}}
    plan = in_containers(known(None), mpi, with_horovod("openmpi"), enable_opt_build=True, ai_training=horovod).plan
    assert (plan.recipe and plan.recipe["mpi"], plan.configuration.mpi) == (has, has)
    assert any("no suitable image" in one.message for one in plan.warnings) == (mpi != has)


PRIVATE = "private://a/torch:1"
OWN = "private://modak/modak:pytorch-1.4.0-pip-cpu"


@pytest.mark.parametrize(
    ("reference", "labels", "application", "variant"),
    [
        (PRIVATE, {"version": "1.4.0"}, {}, "pip"),
        (PRIVATE, {"version": "1.4.0", "compilers": ("glow",)}, {}, "pip"),
        (PRIVATE, {"version": "1.3.0"}, {}, None),
        (PRIVATE, {"version": "1.4.0"}, {"container_runtime": PRIVATE}, None),
        (OWN, {"version": "1.4.0"}, {}, None),
    ],
)
def test_what_can_be_built_is_not_asked_of_the_owner_of_a_private_image(
    known: Known, reference: str, labels: dict[str, Any], application: dict[str, Any], variant: str | None
) -> None:
    """The job would stop without it. A user who names it has it; one that a recipe made is there, or is built by its name."""
    job = {
        "application": {"app_tag": "net", "app_type": "python", "executable": "train.py", **application},
        "job_options": {"request_gpus": 0},
        "target": TARGET,
        "optimisation": {"app_type": "ai_training", "ai_training": {"pytorch": {}}},
    }
    images = (entry(reference, framework="pytorch", **labels),)
    answer = optimise(normalise({"job": job}).request, replace(known(None), images=images))
    assert (answer.plan.recipe or {}).get("variant") == variant
    assert bool(answer.texts.build_script) == bool(variant)
    assert answer.plan.configuration.image == (OWN if variant else reference)
    assert (f"image: to be built, the best suitable image is private: {reference}" in answer.plan.decisions) == bool(variant)


@pytest.mark.parametrize(
    ("labels", "wanted", "version"),
    [
        ({"version": "1.4.0"}, {"version": "2.7.*"}, "2.7.1"),
        ({"version": "1.4.0"}, {"version": "1.13.*"}, "1.4.0"),
        ({"version": "2.9.1", "distribution": ("deepspeed",)}, {"distribution": "deepspeed"}, None),
    ],
)
def test_what_is_built_instead_of_a_private_image_is_nearer_to_the_request(
    known: Known, labels: dict[str, Any], wanted: dict[str, str], version: str | None
) -> None:
    """It has the version that the image lacks, if a recipe does, and a warning only if none does; it lacks nothing that the image has."""
    job = {
        "application": {"app_tag": "net", "app_type": "python", "executable": "train.py"},
        "job_options": {"request_gpus": 0},
        "target": TARGET,
        "optimisation": {"app_type": "ai_training", "ai_training": {"pytorch": wanted}},
    }
    plan = optimise(normalise({"job": job}).request, replace(known(None), images=(entry(PRIVATE, framework="pytorch", **labels),))).plan
    assert (plan.recipe or {}).get("version") == version
    assert any("is used instead" in one.message for one in plan.warnings) == (wanted.get("version") == "1.13.*")


def test_a_public_image_with_another_mpi_than_the_measured_one_is_not_called_private(known: Known) -> None:
    """The request names it; one with the MPI of the measured containers is built instead of the private one that has it."""
    public, private = (f"{where}://a/{mpi}:1" for where, mpi in (("docker", "openmpi"), ("private", "mpich")))
    told = {"framework": "tensorflow", "distribution": ("horovod",), "version": "2.12.0"}
    images = (entry(private, **told, mpi="mpich"), entry(public, **told, mpi="openmpi"))
    plan = in_containers(known(None), "mpich", images, public).plan
    assert (plan.recipe or {}).get("mpi") == "mpich"
    assert f"image: to be built, the best suitable image is private: {private}" in plan.decisions
    assert any(one.message.endswith(": it has another MPI than the measured runs") for one in plan.warnings)


def test_results_that_do_not_name_the_mpi_of_their_containers_fit_any_image(known: Known) -> None:
    """The best one is taken; what was measured may have been any MPI."""
    plan = in_containers(known(None), None, with_horovod("openmpi", "mpich")).plan
    assert plan.configuration.image == "docker://a/openmpi:1"
    assert not any("no suitable image" in one.message for one in plan.warnings)


def test_3dgan_in_the_containers_mpich_gets_the_image_of_its_results(known: Known) -> None:
    """One rank on a node was measured with MPICH: a script for the public image, which has Open MPI, would stop at its check."""
    horovod = {**MEASURED, "workload": {"application": "3dgan", "dataset": "clic-calorimeter", "epochs": 1}}
    job = {
        "job_options": {"node_count": 4, "process_count_per_node": 1},
        "application": {"app_tag": "3dgan", "app_type": "python", "executable": "train.py", "threads": 48},
        "target": {"name": "supermuc-ng"},
        "optimisation": horovod,
    }
    answer = optimise(normalise({"job": job}).request, known("3dgan"))
    assert answer.plan.configuration.image == "private://lrz/intel-tensorflow:1.11-horovod-mpich"
    assert "== *HYDRA* || ${MODAK_SAID} == *'Intel(R) MPI'*" in answer.texts.job_script
