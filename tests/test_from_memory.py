"""What is kept of earlier requests changes no answer: whatever was asked before, it is the one of a process that remembers nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin

import pytest
from pydantic import BaseModel

from modak import dsl, plugins
from modak.facts import Rule
from modak.ingest.reading import tables
from modak.store import open_store
from modak.store.audit import Actor
from modak.text.documents import with_value
from modak.text.words import Joined
from tests.conftest import ROOT, copied
from tests.uncached import answer

EXAMPLES = ("3dgan-supermuc-ng", "listing1-hlrs")
"""One with results to answer from and a container of the host, one without results and with rules for storage."""
WHEN: tuple[dict[str, Any], ...] = (
    {"storage_class": ["scratch"]},
    {"application": ["solver"]},
    {"distribution": ["horovod"]},
    {"multi_node": True},
    {"threaded": True},
    {"launcher": ["none"]},
    {"accelerator": ["nvidia"]},
)
RULES = [
    {"name": f"rule-{at}", "title": "t", "source": "this test", "when": when, "environment": {f"RULE_{at}": "1"}}
    for at, when in enumerate(WHEN)
]
STOPPED = """application,dataset,system,nodes,ranks_per_node,threads_per_rank,params.epochs,metric,value,unit
3dgan,clic-calorimeter,supermuc-ng,24,4,12,1,stopped_after,900,s
3dgan,clic-calorimeter,supermuc-ng,24,4,12,20,stopped_after,3700,s
3dgan,clic-calorimeter,supermuc-ng,64,2,24,,stopped_after,3000,s
"""
ONES: tuple[Any, ...] = (1, True, 1.0, "1", 2)
"""Values of which Python's dictionaries take some for one another."""
SWITCHED: tuple[Any, ...] = (True, False, 1, 0, "auto", "true")
COMMANDS: tuple[Any, ...] = (
    "./a b",
    ["./a", "b"],
    "./a 'b'",
    "./a ${SCRATCH}",
    "./a '${SCRATCH}'",
    ["./a", "${SCRATCH}"],
    "./a ${HOME}/b",
    "",
)
SAID: dict[str, tuple[Any, ...]] = {
    "job_options.job_name": ("one", "two"),
    "job_options.account": ("a1", "a2"),
    "job_options.queue": ("long", "short", "fat"),
    "job_options.partition": ("fat", "thin", "gpu"),
    "job_options.qos": ("normal", "high"),
    "job_options.reservation": ("maintenance", "course"),
    "job_options.site_resources": (["matlab=1"], ["matlab=2"], "matlab=1, scratch=1"),
    "job_options.wall_time_limit": (3600, "02:00:00", 3601.0),
    "job_options.node_count": (*ONES, 257, "x"),
    "job_options.process_count_per_node": (*ONES, 4, 48),
    "job_options.core_count_per_process": (*ONES, 6),
    "job_options.core_count": (*ONES, 12),
    "job_options.memory_limit": ("10 GB", "10 GiB", 10_000_000_000),
    "job_options.minimum_memory_per_processor": ("1 GB", "2 GB"),
    "job_options.request_gpus": (0, *ONES),
    "job_options.request_specific_nodes": ("n1", "n[1-2]", "n[01-02]", ["n1", "n2"]),
    "job_options.job_array": ("1-9", "0-3%2"),
    "job_options.standard_output_file": ("a.out", "%j.out"),
    "job_options.standard_error_file": ("a.err", "logs/%j.err"),
    "job_options.combine_stdout_stderr": SWITCHED,
    "job_options.architecture_constraint": ("ssd", "skylake&ssd"),
    "job_options.copy_environment": SWITCHED,
    "job_options.copy_environment_variable": (["ONE"], "ONE, TWO", ["TWO", "ONE"], "SINGULARITY_DIR"),
    "job_options.job_dependency": ("afterok:1", "singleton"),
    "job_options.request_event_notification": ("abe", ["end"]),
    "job_options.email_address": ("a@example.org", "b@example.org"),
    "job_options.defer_job": ("2030-01-31T14:00", "now+2hours"),
    "job_options.node_exclusive": SWITCHED,
    "job_options.requeue": SWITCHED,
    "job_options.signal": ("USR1@120", "TERM@60", {"name": "USR1", "seconds": 121}),
    "application.app_tag": ("3dgan", "solver", "3DGAN", "other"),
    "application.app_type": ("mpi", "python", "other"),
    "application.container_runtime": ("docker://a/b:1", "docker://a/b:2", "/images/a.sif", "a.sif"),
    "application.executable": COMMANDS,
    "application.arguments": COMMANDS,
    "application.mpi_ranks": (*ONES, 96, 97),
    "application.allowed_ranks": ([1], [96, 192], ["96", 192.0], [97]),
    "application.threads": (*ONES, 12),
    "application.minimal_efficiency": (0.5, 0.95, 1, True),
    "application.storage_class_pref": ("default-ssd", "scratch", "work"),
    "application.stage_in": ([{"from": "${SCRATCH}/a", "to": "a"}], [{"from": "'${SCRATCH}/a'", "to": "a", "unpack": True}]),
    "application.stage_out": ([{"from": "a", "to": "${HOME}/a"}], [{"from": "a", "to": "'${HOME}/a'"}]),
    "application.preflight": SWITCHED,
    "application.write_result": SWITCHED,
    "application.result_file": ("a", "results/a"),
    "application.metric_file": ("a", "${HOME}/a", "'${HOME}/a'"),
    "application.pre_execution": COMMANDS,
    "application.post_execution": COMMANDS,
    "application.checkpoint": COMMANDS,
    "application.build.src": ("https://example.org/a.git", "https://example.org/b.tar.gz", "${HOME}/a"),
    "application.build.build_command": ("make", "make -j {{BUILD_PARALLELISM}}", "\\make", {"a": 1}, {"a": True}),
    "application.build.build_parallelism": ONES,
    "target.name": ("supermuc-ng", "supermuc_ng", "hlrs-testbed", "nowhere"),
    "target.job_scheduler_type": plugins.names("schedulers"),
    "target.container_runtime": plugins.names("runtimes"),
    "optimisation.enable_opt_build": SWITCHED,
    "optimisation.enable_autotuning": SWITCHED,
    "optimisation.app_type": ("ai_training", "hpc"),
    "optimisation.opt_build.cpu_type": ("x86", "arm", "power", "amd"),
    "optimisation.opt_build.acc_type": ("nvidia", "amd", "intel", "fpga", "none"),
    "optimisation.autotuning.tuner": ("cresta", "autotune"),
    "optimisation.autotuning.input": ("a", "b"),
    "optimisation.autotuning.space.environment": ({"A": [1, 2]}, {"A": [1.0, 2]}, {"A": {"low": 1, "high": 8, "step": 1}}),
    "optimisation.autotuning.space.options": ({"-a": [1, 2]}, {"-a": ["1", "2"]}),
    "optimisation.autotuning.space.layout": ({"threads": [1, 2]}, {"node_count": [1, 2]}),
    "optimisation.autotuning.setting.environment": (
        *({"A": value} for value in (1, 1.0, "1", 0.0, -0.0, 0, "$(id)", "", "a b", "1 ", 1e22, 10**15)),
        {"B": 1},
        {"A": 1, "B": 2},
        {"B": 2, "A": 1},
        {"A": 2, "B": 1},
    ),
    "optimisation.autotuning.setting.options": tuple({"-a": value} for value in (1, 1.0, "1", 0.0, -0.0, "$(id)", "")),
    "optimisation.autotuning.trials": ONES,
    "optimisation.autotuning.budget_node_hours": (1, 1.5),
    "optimisation.ai_training.config.type": ("image_classification", "translation"),
    "optimisation.ai_training.config.distributed_training": SWITCHED,
    "optimisation.ai_training.config.parallelisation": (["mpi"], ["openmp"], ["mpi", "openmp"]),
    "optimisation.ai_training.config.layers": ONES,
    "optimisation.ai_training.config.parameters": (1e6, 1e9),
    "optimisation.ai_training.data.location": ("a", "b"),
    "optimisation.ai_training.data.basename": ("a", "b"),
    "optimisation.ai_training.data.train": (100, 1e6),
    "optimisation.ai_training.data.test": (100, 1e6),
    "optimisation.ai_training.data.size_bytes": (1e9, "1 TB"),
    "optimisation.ai_training.data.files": ONES,
    "optimisation.ai_training.data.etl.prefetch": (*ONES, 0, False),
    "optimisation.ai_training.data.etl.cache": (*ONES, 0, False),
    "optimisation.ai_training.config.ai_framework": ("tensorflow", "pytorch", "mxnet"),
    "optimisation.ai_training.tensorflow": (
        *({"xla": value} for value in SWITCHED),
        *({"version": value} for value in ("1.11.0", "2.1", "2.10", 2.1, ">=1.11,<2")),
        *({"distribution": value} for value in ("horovod", "parameter-server")),
    ),
    "optimisation.ai_training.pytorch": (*({"inductor": value} for value in SWITCHED), {"distribution": "ddp"}, {"distribution": "fsdp"}),
    "optimisation.hpc": (
        {"openmp": {"number_of_threads": 4, "affinity": "block"}},
        {"openmp": {"number_of_threads": "4", "affinity": "scatter"}},
        {"mpi": {"library": "openmpi"}, "openmp": {"affinity": "block"}},
        {"mpi": {"library": "openmpi"}, "openmp": {"affinity": "scatter"}},
        {"mpi": {"library": "intel-mpi", "scaling_efficiency": 0.9, "core_subscription": 1}},
        {"mpi": {"library": "intel-mpi", "scaling_efficiency": 0.5, "core_subscription": 2}},
    ),
    "optimisation.objective.minimise": get_args(dsl.Minimise),
    "optimisation.objective.deadline": (3600, "00:30:00", 36_000),
    "optimisation.objective.max_nodes": (*ONES, 64),
    "optimisation.objective.min_efficiency": (0.5, 0.99, 1, True),
    "optimisation.objective.budget_node_hours": (10, 1000),
    "optimisation.objective.confidence": (0.5, 0.99),
    "optimisation.workload.application": ("3dgan", "other", "lammps"),
    "optimisation.workload.dataset": ("clic-calorimeter", "other"),
    "optimisation.workload.epochs": (*ONES, 0.5, 5e-324),
    "optimisation.workload.steps": (*ONES, 1e6),
    "optimisation.workload.samples": (*ONES, 1e6),
    "optimisation.workload.amount": ("1 ns", "500 ns", "2e6 steps"),
    "optimisation.workload.batch_size": (*ONES, 64, "auto"),
    "optimisation.workload.precision": ("fp32", "fp16", "FP16", "auto"),
    "optimisation.workload.compiler": ("xla", "gcc-8.3", "XLA"),
    "optimisation.workload.params": (
        *({"a": value} for value in (1, True, 1.0, "1", "true", 0.0, -0.0, "0", 1e308, "1e0", 2)),
        {"b": 1},
        {"a": 1, "b": 2},
        {"a": 2, "b": 1},
    ),
    "optimisation.workload.memory_per_rank_gb": (1, 40),
    "optimisation.workload.memory_per_gpu_gb": (1, 40),
    "optimisation.workload.memory_aside_gb": (1, 40),
    "optimisation.workload.metric": (
        {"name": "rate", "unit": "samples/s", "pattern": "rate: ([0-9.]+)"},
        {"name": "rate", "unit": "steps/s", "pattern": "rate: ([0-9.]+)"},
        {"name": "rate", "unit": "samples/s", "pattern": "speed: ([0-9.]+)"},
    ),
}
"""Values of every field, of which any two are two requests."""


def fields(model: type[BaseModel], before: str = "") -> Iterator[str]:
    """Paths of the fields of a document, down to those without fields of their own."""
    for name, field in model.model_fields.items():
        parts = get_args(field.annotation) if get_origin(field.annotation) in (Union, UnionType) else (field.annotation,)
        inner = [one for one in parts if isinstance(one, type) and issubclass(one, BaseModel) and one is not Joined]
        if inner:
            for one in inner:
                yield from fields(one, f"{before}{name}.")
        else:
            yield before + name


ELSEWHERE = {"optimisation.framework", "optimisation.options.version", "optimisation.further", "optimisation.written"}
"""Those that stand under another key in a document."""


def test_every_field_has_values_here() -> None:
    """A new field has to be thought of: what it changes, nothing that is kept may forget."""
    given = {path.replace(".ai_training.", ".") for path in SAID}
    missing = [path for path in fields(dsl.Request) if path not in ELSEWHERE and not any(f"{path}.".startswith(f"{one}.") for one in given)]
    assert not missing, "give each two values in SAID, above"


def documents() -> Iterator[Any]:
    """Each example, and as it is with each value of each field."""
    for name in EXAMPLES:
        example = json.loads((ROOT / "examples" / f"{name}.json").read_text())
        yield example
        for path, values in SAID.items():
            for value in values:
                yield with_value(example, ("job", *path.split(".")), value)


@pytest.fixture(scope="module")
def database(packaged_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packaged knowledge, rules that ask for what none of its own asks for, and runs that were stopped."""
    file = copied(packaged_database, tmp_path_factory.mktemp("memory") / "modak.db")
    with open_store(f"sqlite:///{file}") as store:
        store.add([Rule.model_validate(rule) for rule in RULES], Actor("the test"))
        (file.with_name("stopped.csv")).write_text(STOPPED)
        store.load(tables([file.with_name("stopped.csv")]).tables, Actor("the test"))
    return file


@pytest.fixture(scope="module")
def asked() -> list[Any]:
    """Every document, once."""
    return [json.loads(text) for text in dict.fromkeys(json.dumps(each) for each in documents())]


@pytest.fixture(scope="module")
def alone(database: Path, asked: list[Any]) -> list[Any]:
    """What a process without memory answers."""
    words = [sys.executable, "-m", "tests.uncached", str(database)]
    ran = subprocess.run(words, input=json.dumps(asked), capture_output=True, text=True, timeout=900, cwd=ROOT)
    assert ran.returncode == 0, ran.stderr[-2000:]
    found: list[Any] = json.loads(ran.stdout)
    return found


@pytest.mark.timeout(600)
@pytest.mark.parametrize("step", [1, -1])
def test_no_request_before_changes_an_answer(database: Path, asked: list[Any], alone: list[Any], step: int) -> None:
    """Text, plan and warnings of every document are those of a process that keeps nothing: forwards, and backwards."""
    from modak.service import open_service
    from modak.settings import read_settings

    with open_service(read_settings({"MODAK_DATABASE_URL": f"sqlite:///{database}"})) as service:
        different = [at for at in range(len(asked))[::step] if json.loads(json.dumps(answer(service, asked[at]))) != alone[at]]
    assert [asked[at] for at in different[:3]] == []
