"""Every request in ``examples/`` is answered as a consultant would."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from modak.dsl import Plan
from modak.normalise import normalise
from modak.optimise import optimise
from tests.examples import Known

EXAMPLES = Path(__file__).parent.parent / "examples"


def answer(known: Known, name: str) -> Plan:
    """The plan for an example."""
    read = normalise(json.loads((EXAMPLES / f"{name}.json").read_text()))
    return optimise(read.request, known(read.request.workload_name), read.warnings).plan


def test_resnet50_on_the_gpu_cluster_takes_the_cheapest_size_in_time(known: Known) -> None:
    """Six nodes of four GPUs, between four and eight that were measured; the small files are to be packed."""
    plan = answer(known, "resnet50-gpu-cluster")
    assert (plan.configuration.nodes, plan.configuration.gpus_per_node, plan.configuration.global_batch) == (6, 4, 1536)
    assert plan.prediction.basis == "interpolated"
    assert plan.prediction.upper is not None
    assert plan.prediction.upper < 36_000
    assert any("1,281,167 files" in text for text in plan.advice)


def test_layouts_that_differ_in_their_gpus_alone_are_told_apart(known: Known) -> None:
    """One rank with one GPU or with four: the reasons name the GPUs of both."""
    layout = next(line for line in answer(known, "resnet50-gpu-cluster").decisions if line.startswith("layout: "))
    assert "per rank (4 GPUs): at 6 nodes 1x1 (1 GPU) takes" in layout


def test_fine_tuning_on_zenith_says_what_it_rests_on(known: Known) -> None:
    """64 nodes from one result of 128: transferred, with a wide interval, and advice on checkpoints and the learning rate."""
    plan = answer(known, "chest-xray-zenith")
    told = plan.prediction
    assert (plan.configuration.nodes, told.basis) == (64, "transferred")
    assert told.upper is not None
    assert told.lower is not None
    assert told.upper / told.lower > 4
    assert any("an earlier checkpoint than the last" in text for text in plan.advice)
    assert any("128 times the learning rate" in text for text in plan.advice)


def test_the_speed_that_gromacs_prints_is_its_result(known: Known) -> None:
    """Of its first run, too: with it a run of any length is predicted."""
    request = normalise(json.loads((EXAMPLES / "gromacs-hybrid.json").read_text())).request
    assert '"metric": "throughput", "unit": "ns/day"' in optimise(request, known("gromacs")).texts.job_script


def test_the_solver_without_results_gets_a_pilot(known: Known) -> None:
    """A rank on each core, said to be a rule of thumb; no number without evidence."""
    plan = answer(known, "code-aster-mpi")
    assert (plan.configuration.ranks_per_node, plan.configuration.threads_per_rank) == (20, 1)
    assert plan.prediction.basis == "none"
    assert plan.prediction.value is None
    assert any("rule of thumb" in text for text in plan.decisions)
    assert any("pilot job" in text for text in plan.advice)


@pytest.mark.parametrize(("name", "compiler"), [("mnist-hlrs-xla", "xla"), ("mnist-hlrs-ngraph", "ngraph"), ("mnist-hlrs-glow", "glow")])
def test_mnist_with_each_compiler(known: Known, name: str, compiler: str) -> None:
    """The compiler that was asked for, in an image that has it or is to be built."""
    plan = answer(known, name)
    assert plan.configuration.compiler == compiler
    assert compiler in (plan.image or {"labels": {"compilers": [compiler]}})["labels"]["compilers"]
    assert plan.image or plan.recipe


def test_mnist_with_switches_left_open(known: Known) -> None:
    """No result with and without XLA is packaged: it stays off, and the run that would decide is named."""
    plan = answer(known, "mnist-hlrs-auto")
    assert plan.configuration.compiler is None
    assert any(text.startswith("xla: off, because its effect is unknown") and "compare one run" in text for text in plan.decisions)
