"""Requests in every accepted spelling become one canonical request; what changed is named; what is unsafe is refused."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modak import dsl, plugins
from modak import normalise as package
from modak.dsl import Request
from modak.errors import Fault, RequestError
from modak.facts.results import parameter
from modak.normalise import Normalised, normalise
from modak.normalise.optimisation import PLAIN
from modak.normalise.sections import fields_of
from modak.normalise.spellings import each, seconds, text
from modak.text.documents import strict_json, with_value
from modak.text.words import EXPANDABLE
from tests.normalise.documents import faulty, job

REQUESTS = Path(__file__).parent.parent / "requests"
EXAMPLES = Path(__file__).parent.parent.parent / "examples"
CHOSEN = "optimisation.app_type-ai_training"
HPC = "optimisation.app_type-hpc"
TENSORFLOW = {"framework": "tensorflow", "options": {"version": "2.1", "xla": True}}
MPI = {"framework": "mpi", "config": {"parallelisation": ("mpi",)}, "options": {"library": "mpich", "version": "3.1.4"}}

# kind of document -> fields that warnings name, and canonical values that must come out
KINDS: dict[str, tuple[list[str], dict[str, Any]]] = {
    "short-tensorflow": (
        ["optimisation.opt_build.acc_type"],
        {
            "optimisation": {
                "enable_opt_build": True,
                "opt_build": {"cpu_type": "x86", "acc_type": "nvidia"},
                "framework": "tensorflow",
                "options": {"version": "1.1", "xla": True},
            }
        },
    ),
    "published-tensorflow": ([], {"target": {"name": "hlrs-testbed", "job_scheduler_type": "torque"}, "optimisation": TENSORFLOW}),
    "distributed-training": ([], {"optimisation": {"config": {"distributed_training": True}, **TENSORFLOW}}),
    "published-pytorch": ([], {"optimisation": {"framework": "pytorch", "options": {"version": "1.4", "glow": True}}}),
    "published-keras": (
        [f"{CHOSEN}.data"],
        {"optimisation": {"framework": "keras", "options": {"version": "2.3", "backend": "tensorflow"}}},
    ),
    "published-mxnet": ([], {"optimisation": {"framework": "mxnet", "config": {"type": "object_detection"}}}),
    "published-cntk": ([], {"optimisation": {"framework": "cntk", "config": {"type": "translation"}, "options": {"version": "2.7"}}}),
    "etl-data": ([], {"optimisation": {"data": {"location": "clic", "etl": {"prefetch": 100, "cache": 100}}}}),
    "misspelt-learning": ([f"{CHOSEN}.config.type"], {"optimisation": {"config": {"type": "reinforcement_learning"}}}),
    "accelerator-none": ([], {"optimisation": {"opt_build": {"acc_type": "none"}}}),
    "accelerator-empty": (["optimisation.opt_build.acc_type"], {"optimisation": {"opt_build": {"acc_type": "none"}}}),
    "published-mpi": (
        [],
        {
            "application": {"app_type": "mpi", "mpi_ranks": 40, "threads": 1, "executable": ("./solver",), "arguments": ("in.dat",)},
            "optimisation": {"options": {"library": "mpich", "scaling_efficiency": 0.75, "core_subscription": 1, "message_size": "small"}},
        },
    ),
    "parallelisation-list": ([], {"optimisation": MPI}),
    "parallelisation-text": ([], {"optimisation": MPI}),
    "mpi-misspelt-mvapich": ([f"{HPC}.parallelisation-mpi.library"], {"optimisation": {"options": {"library": "mvapich"}}}),
    "mpi-misspelt-openmpi": ([f"{HPC}.parallelisation-mpi.library"], {"optimisation": {"options": {"library": "openmpi"}}}),
    "published-openmp": (
        [],
        {"application": {"threads": 8}, "optimisation": {"framework": "openmp", "options": {"number_of_threads": 8, "affinity": "block"}}},
    ),
    "published-openacc": (
        [],
        {"job_options": {"request_gpus": 2}, "optimisation": {"framework": "openacc", "options": {"compiler": "pgi", "version": "20.4"}}},
    ),
    "opencl-and-opencc": ([f"{HPC}.config.parallelisation"], {"optimisation": {"config": {"parallelisation": ("opencl", "openacc")}}}),
    "mpi-and-openmp": (
        [],
        {
            "application": {"threads": 4},
            "optimisation": {"framework": "mpi", "options": {"library": "openmpi"}, "further": {"openmp": {"affinity": "simple"}}},
        },
    ),
    "big-data": ([], {"optimisation": {"app_type": "big_data", "framework": None}}),
    "inference": ([], {"optimisation": {"app_type": "ai_inference", "framework": "tensorflow"}}),
    "no-optimisation": ([], {"job_options": {"job_name": "skyline-extraction", "process_count_per_node": 40, "wall_time_limit": 3600}}),
    "empty-target": ([], {"target": {"name": None, "job_scheduler_type": None}}),
    "no-target": ([], {"target": {"name": None, "job_scheduler_type": None}}),
    "scheduler-pbs": (["target.queue_type"], {"target": {"job_scheduler_type": "torque"}}),
    "scheduler-slurm-only": ([], {"target": {"name": None, "job_scheduler_type": "slurm"}, "job_options": {"account": "project_1"}}),
    "scheduler-none": (["target.job_scheduler_type"], {"target": {"name": "vm-1", "job_scheduler_type": "shell"}}),
    "scheduler-batch": (["target.job_scheduler_type"], {"target": {"job_scheduler_type": "shell"}}),
    "cloud": (["target.job_scheduler_type", "target.name"], {"target": {"name": None, "job_scheduler_type": "shell"}}),
    "numbers-as-text": (
        [
            *(f"application.{name}" for name in ("minimal_efficiency", "mpi_ranks", "threads")),
            *(f"job_options.{name}" for name in ("combine_stdout_stderr", "copy_environment", "core_count_per_process")),
            *(
                f"job_options.{name}"
                for name in ("node_count", "node_exclusive", "process_count_per_node", "request_gpus", "wall_time_limit")
            ),
        ],
        {
            "job_options": {
                "node_count": 2,
                "process_count_per_node": 20,
                "core_count_per_process": 1,
                "request_gpus": 1,
                "wall_time_limit": 43200,
                "combine_stdout_stderr": True,
                "copy_environment": False,
                "node_exclusive": False,
            },
            "application": {"mpi_ranks": 40, "threads": 1, "minimal_efficiency": 0.75},
        },
    ),
    "nulls": ([], {"job_options": {"account": None, "copy_environment_variable": ()}, "optimisation": {"framework": "tensorflow"}}),
    "all-job-options": (
        [],
        {
            "job_options": {
                "wall_time_limit": 108_000,
                "memory_limit": 64 * 10**9,
                "minimum_memory_per_processor": 512 * 2**20,
                "request_specific_nodes": "node1,node[03-04]",
                "copy_environment_variable": ("SCENARIO", "DATA_DIR"),
                "request_event_notification": ("fail", "begin", "end"),
                "defer_job": "2027-01-31T08:00",
                "core_count": 40,
                "architecture_constraint": "skylake&ssd",
            }
        },
    ),
    "slurm-words": (
        ["job_options.job_dependency", "job_options.request_event_notification"],
        {
            "job_options": {
                "request_event_notification": ("begin", "end", "time_limit"),
                "defer_job": "now+2hours",
                "job_dependency": "afterok:1234",
                "wall_time_limit": 108_000,
            }
        },
    ),
    "torque-letters-none": (
        ["job_options.defer_job"],
        {"job_options": {"request_event_notification": ("none",), "defer_job": "2027-01-31T08:00", "wall_time_limit": 3600}},
    ),
    "trailing-blank": (["job_options.wall_time_limit"], {"job_options": {"wall_time_limit": 3600}}),
    "unresolved-email": (
        ["job_options.email_address"],
        {"job_options": {"email_address": None, "request_event_notification": ("begin", "end", "fail", "requeue")}},
    ),
    "fortran-build": (
        ["application.build.src"],
        {
            "application": {
                "app_type": "fortran",
                "build": {"src": "${HOME}/solver/.git", "build_command": "make -j {{BUILD_PARALLELISM}}", "build_parallelism": 4},
                "storage_class_pref": "default-high",
            }
        },
    ),
    "c-build": ([], {"application": {"app_type": "c", "build": {"src": "https://example.org/team/solver.git"}}}),
    "cxx-private-image": ([], {"application": {"app_type": "c++", "container_runtime": "private://registry/solver:2"}}),
    "shub-image": ([], {"application": {"container_runtime": "shub://vsoch/hello-world"}}),
    "pre-and-post": ([], {"application": {"app_type": "python"}}),
    "autotuning": (["optimisation.autotuning.tuner"], {"optimisation": {"enable_autotuning": True, "autotuning": {"tuner": "cresta"}}}),
    "autotuning-any-text": (
        ["optimisation.autotuning.input", "optimisation.autotuning.tuner"],
        {"optimisation": {"autotuning": {"tuner": None, "input": '{"x": [1, 2]}'}}},
    ),
    "queue-that-is-not-there": ([], {"job_options": {"queue": "gpuq", "core_count": 40, "process_count_per_node": 64}}),
    "unknown-keys": (
        [f"{CHOSEN}.ai_framework-tensorflow.xla_jit", "application.colour", "job_options.node_cout", "job_options.priority"],
        {"job_options": {"job_name": "u", "node_count": None}},
    ),
    "objective-and-workload": (
        [],
        {
            "target": {"name": "supermuc-ng"},
            "optimisation": {
                "options": {"version": "2.*", "xla": "auto", "distribution": "horovod"},
                "objective": {"minimise": "node_hours", "deadline": 14_400, "max_nodes": 64, "min_efficiency": 0.75},
                "workload": {"application": "3dgan", "epochs": 20, "params": {"latent": 200, "optimiser": "rmsprop"}},
            },
        },
    ),
    "response-sent-again": ([], {"application": {"container_runtime": "docker://tensorflow/tensorflow:2.1.0-gpu-py3"}}),
}


def read(path: Path) -> Any:
    """The document in a file."""
    return strict_json(path.read_bytes())


def within(part: Any, whole: Any) -> bool:
    """Whether all of ``part`` is found in ``whole``."""
    if isinstance(part, dict):
        return all(key in whole and within(value, whole[key]) for key, value in part.items())
    return bool(part == whole)


def test_every_kind_of_document_is_in_the_table() -> None:
    """The folder of requests and the table below name the same kinds, two dozen of them at least."""
    assert {path.stem for path in REQUESTS.glob("*.json")} == set(KINDS)
    assert len(KINDS) >= 24


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_kind_of_document_is_accepted(kind: str) -> None:
    """It becomes the canonical values, with a warning for each field that was changed and no other."""
    fields, values = KINDS[kind]
    found = normalise(read(REQUESTS / f"{kind}.json"))
    assert sorted({warning.field for warning in found.warnings}) == sorted(fields)
    assert within(values, found.request.model_dump()), found.request.model_dump()


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_strict_turns_each_warning_into_an_error(kind: str) -> None:
    """Strictly, a document passes where it raised no warning, and names the same fields where it did."""
    document, fields = read(REQUESTS / f"{kind}.json"), KINDS[kind][0]
    if fields:
        assert set(faulty(document, strict=True)) == set(fields)
    else:
        assert normalise(document, strict=True).warnings == ()


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.json")), ids=lambda path: path.stem)
def test_our_examples_are_strictly_right(path: Path) -> None:
    """Examples need no tolerance, but for the capital letter of the published listing."""
    document = read(path)
    if path.stem == "listing1-hlrs":
        assert set(faulty(document, strict=True)) == {"optimisation.opt_build.acc_type"}
    else:
        assert normalise(document, strict=True).warnings == ()


@pytest.mark.parametrize("path", sorted(REQUESTS.glob("*.json")), ids=lambda path: path.stem)
def test_the_document_is_kept_as_it_came(path: Path) -> None:
    """Nothing is changed in the caller's document, and the answer carries it."""
    document = read(path)
    before = copy.deepcopy(document)
    assert normalise(document).document is document
    assert document == before


def test_the_reader_knows_every_field_of_the_model() -> None:
    """A field of the canonical request that no reader knows could never be set."""
    how = "give the field a reader in modak/normalise/optimisation.py"
    assert set(PLAIN) | {"config", "data", "framework", "options", "written", "further"} == set(dsl.Optimisation.model_fields), how


def test_a_reader_of_a_field_that_the_model_does_not_have_is_refused() -> None:
    """A field with another name would be read by its type alone, without its particular reader."""
    with pytest.raises(TypeError, match=r"Build has no field build_comand$"):
        fields_of(dsl.Build, build_comand=text)


PAGE = (Path(__file__).parent.parent.parent / "docs" / "request.md").read_text()


def test_every_field_is_documented() -> None:
    """The page on requests names every field, every option of a framework and every allowed word."""
    models: list[type[dsl.Document]] = [dsl.JobOptions, dsl.Application, dsl.Build, dsl.Target, dsl.OptBuild, dsl.Autotuning]
    models += [dsl.Config, dsl.Etl, dsl.Data, dsl.Objective, dsl.Workload]
    names = {name for model in models for field in model.model_fields for name in (field, *model.allowed(field))}
    names |= {name for variant in plugins.all_of("frameworks") for name in (variant.name, *variant.options.model_fields)}
    names |= {*plugins.names("runtimes"), *plugins.names("schedulers")}
    names |= {*package.OUT_OF_SUPPORT, *dsl.Optimisation.allowed("app_type"), *EXPANDABLE}
    unwritten = {name for name in names if name not in PAGE and name.replace("_", "-") not in PAGE}
    assert unwritten == set(), "describe these in docs/request.md"


@pytest.mark.parametrize("text", re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL))
def test_the_documented_documents_are_strictly_right(text: str) -> None:
    """Each piece of JSON on the page is a request, or an optimisation section of one."""
    document = strict_json(text)
    assert normalise(document if "job" in document else {"job": {"optimisation": document}}, strict=True).warnings == ()


@pytest.mark.parametrize(
    ("given", "read", "noted"),
    [
        (["filesystems=home:eagle", "matlab=2"], ("filesystems=home:eagle", "matlab=2"), False),
        ("storage=gdata/ab1+scratch/ab1,software=matlab", ("storage=gdata/ab1+scratch/ab1", "software=matlab"), False),
        ("scratch,matlab:2", ("scratch=1", "matlab=2"), True),
        ({"matlab": 2}, ("matlab=2",), True),
    ],
)
@pytest.mark.parametrize("key", ["site_resources", "licenses"])
def test_resources_of_the_site_are_written_in_several_ways(key: str, given: Any, read: tuple[str, ...], noted: bool) -> None:
    """As ``qsub -l`` has them, as ``sbatch --licenses`` does, or as an object."""
    found = normalise({"job": {"job_options": {key: given}}})
    assert found.request.job_options.site_resources == read
    assert bool(found.warnings) == (noted or key != "site_resources")


def mixed(*values: Any) -> tuple[Any, ...]:
    """Values of several types for one field."""
    return values


HOSTILE: list[tuple[str, str, Any]] = [
    *(("job_options", "job_name", text) for text in ("x --output=/home/v/.ssh/authorized_keys", "x\ntouch P", "x\u0085", "x\u202ey")),
    *(
        ("job_options", "wall_time_limit", value)
        for value in mixed(0, -1, 10**9, float("nan"), 30, "1 fortnight, 2:00:00", "0:00:00", "1:00\n#", True, [])
    ),
    *(("job_options", "node_count", value) for value in mixed(0, -1, 10**9, "2; x", 2.5, True, 2**70, [], {})),
    *(("job_options", "email_address", text) for text in mixed("a@b\nX", "a" * 300 + "@b.c", [])),
    *(("job_options", "request_event_notification", value) for value in mixed("begin;x", "abz", "--wrap=x", ["BEGIN", "x y"], 7, [[]])),
    *(("job_options", "copy_environment_variable", value) for value in ("ALL,BASH_ENV=/s/e.sh", "A=b", ["A=b"], 7, [7])),
    *(("job_options", "request_specific_nodes", text) for text in ("n1 --exclusive", "x[1-200]b[1-200]", "n[1-3]-ib")),
    *(
        ("job_options", "site_resources", value)
        for value in mixed("walltime=9", ["select=2"], ["a=b;id"], [["a=1"]], 7, ["a=1"] * 21, {"a": "x y"}, ["a:x"], ["nCPUs=9"])
    ),
    *(("job_options", "site_resources", value) for value in mixed(["q=other"], ["prologue=x.sh"], {"a": None}, {"a": True}, {"a": ["b"]})),
    *(("job_options", "memory_limit", value) for value in ("10 GB --x", "much", -1, 0, True, "16", 1.5)),
    *(("application", "executable", text) for text in ("./x; curl e|sh", "a\nb", "A=1 x", "''")),
    *(("application", "arguments", text) for text in mixed("${PATH}", "*", "a\0b", 7.5j, {}, [1])),
    *(("application", field, value) for field in ("mpi_ranks", "threads") for value in (0, 2**63, "x", 1.5, None.__class__)),
    *(("application", "container_runtime", text) for text in ("docker://--disable-cache", "y$(touch P)", "docker://a/b:c d")),
    *(("application", "minimal_efficiency", value) for value in (0, 2, -1, float("inf"), "x")),
]


@pytest.mark.parametrize(("section", "field", "value"), HOSTILE)
def test_what_cannot_be_expressed_safely_is_refused(section: str, field: str, value: Any) -> None:
    """The fault names the field, in one line, and shows no control character."""
    found = faulty(job(section, **{field: value}))
    assert {name.split(".")[1] for name in found} == {field}
    assert all(message.isprintable() for message in found.values())


@pytest.mark.parametrize("name", ["docker", "Shifter", "podman"])
@pytest.mark.parametrize("section", ["target", "application"])
def test_runtimes_out_of_support_are_ignored(section: str, name: str) -> None:
    """As if none was named; the warning says which runtime it is and which are supported."""
    found = normalise(job(section, container_runtime=name))
    assert (found.request.target.container_runtime, found.request.application.container_runtime) == (None, None)
    (warning,) = found.warnings
    assert warning.field == f"{section}.container_runtime"
    assert warning.message.startswith(f"{name.lower()} is not supported and is ignored; supported: none, or apptainer, ")


def test_all_faults_come_at_once() -> None:
    """One answer names everything that is wrong, in all sections."""
    document = {
        "job": {"job_options": {"node_count": 0, "job_name": "a b"}, "application": {"executable": "a;b"}, "target": {"name": "a;b"}}
    }
    assert set(faulty(document)) == {"job_options.node_count", "job_options.job_name", "application.executable", "target.name"}


def test_a_fault_is_where_it_was_written() -> None:
    """An editor underlines it there."""
    chosen = {"config": {"layers": -1}, "data": [[1]]}
    sections = {"app_type": "ai_training", "app_type-ai_training": chosen, "autotuning": {"space": {"environment": {"A": 3}}}}
    fields = {f"{CHOSEN}.config.layers", f"{CHOSEN}.data", "optimisation.autotuning.space.environment.A"}
    assert set(faulty(job("optimisation", **sections))) == fields


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"app_type": "hpc", "app_type": "hpc"}', "the key 'app_type' appears twice"),
        ('{"app_type": ', "line 1, column"),
        (' {"workload": {"epochs": 1e400}}', "beyond the range of a double"),
    ],
)
def test_a_section_as_text_that_cannot_be_read_says_why(text: str, why: str) -> None:
    """Its writer sent an object, so that an object is allowed says nothing."""
    assert why in faulty({"job": {"optimisation": text}})["optimisation"]


@pytest.mark.parametrize("document", [[], None, "x", 1, {}, {"job": []}, {"job": 1}, {"jobs": {}}, {"job": None}])
def test_what_is_no_request_is_refused(document: Any) -> None:
    """A document without a job says what a request looks like."""
    assert "job_options" in " ".join(faulty(document).values())


@pytest.mark.parametrize("sections", [{}, dict.fromkeys(("job_options", "application", "target", "optimisation"))], ids=["none", "null"])
def test_a_job_may_have_no_sections(sections: dict[str, None]) -> None:
    """Some programs write null for what is not given."""
    assert normalise({"job": sections}).warnings == ()


@pytest.mark.parametrize(("section", "said"), [("job", "only the whole document has it"), ("jobs", "known: application, ")])
def test_a_job_of_unknown_sections_is_warned_of(section: str, said: str) -> None:
    """Nothing is refused for being unknown."""
    (warning,) = normalise({"job": {section: {"application": {"executable": "./solve"}}}}).warnings
    assert said in warning.message


def test_sections_without_job_are_read_with_a_warning() -> None:
    """Somebody who forgets the outer key gets an answer, and is told."""
    found = normalise({"job_options": {"node_count": 2}})
    assert found.request.job_options.node_count == 2
    assert [warning.field for warning in found.warnings] == ["job"]


@pytest.mark.parametrize(
    ("section", "field", "written", "meant"),
    [
        *(("application", "allowed_ranks", text, (1, 2, 4)) for text in ("1,2,4", "1 2 4", "[1, 2, 4]")),
        *(("job_options", "job_array", array, "1,3,5") for array in ("1, 3, 5", [1, 3, 5], ["1", "3", "5"])),
        ("job_options", "job_dependency", "AfterOK:12,Singleton", "afterok:12,singleton"),
        ("job_options", "job_dependency", "AfterOK:12?AfterAny:13", "afterok:12?afterany:13"),
        ("job_options", "job_dependency", "After:12,BeforeOK:13", "after:12,beforeok:13"),
        ("job_options", "job_dependency", ["afterok:12", "afterany:Ab.13"], "afterok:12,afterany:Ab.13"),
        ("job_options", "request_specific_nodes", "n1, n[2-3]", "n1,n[2-3]"),
        ("application", "minimal_efficiency", "80 %", 0.8),
        ("job_options", "wall_time_limit", "1 h 30 min", 5400),
        ("target", "container_runtime", "Singularity-CE", "singularity"),
        ("application", "preflight", "N", False),
        ("application", "app_type", "python3", "python"),
        *(("job_options", "defer_job", text, "now+2hours") for text in ("now+2h", "now + 2 hours", "now+2hour", "NOW+2HOURS")),
    ],
)
def test_one_thing_is_read_in_each_of_its_spellings(section: str, field: str, written: Any, meant: Any) -> None:
    """As other fields of its kind, with one warning."""
    found = normalise(job(section, **{field: written}))
    assert getattr(getattr(found.request, section), field) == meant
    assert [warning.field for warning in found.warnings] == [f"{section}.{field}"]


@pytest.mark.parametrize(("written", "meant"), [("4 GB", 4.0), ("4096MB", 4.096), ("1GiB", 1.073741824), ("4", 4.0)])
def test_memory_may_have_its_unit_wherever_it_is_given(written: str, meant: float) -> None:
    """Also where the name of the field has one."""
    found = normalise(job("optimisation", workload={"memory_per_rank_gb": written}))
    assert found.request.optimisation.workload.memory_per_rank_gb == meant
    assert faulty(job("optimisation", workload={"memory_per_gpu_gb": "4 cows"})).keys() == {"optimisation.workload.memory_per_gpu_gb"}


@pytest.mark.parametrize("word", ["auto", "AUTO", "Auto "])
def test_what_is_left_open_may_be_written_in_any_case(word: str) -> None:
    """A switch, a precision, an option of a framework."""
    found = normalise(
        job(
            "optimisation",
            enable_opt_build=word,
            workload={"precision": word},
            app_type="ai_training",
            ai_training={"pytorch": {"jit": word}},
        )
    ).request.optimisation
    assert (found.enable_opt_build, found.workload.precision, found.options.value_of("jit")) == ("auto", "auto", "auto")


def test_a_fraction_may_be_a_percentage() -> None:
    """As answers print efficiencies."""
    found = normalise(job("optimisation", objective={"confidence": "95%", "min_efficiency": "80 %"}))
    assert (found.request.optimisation.objective.confidence, found.request.optimisation.objective.min_efficiency) == (0.95, 0.8)
    of_mpi = normalise(job("optimisation", app_type="hpc", hpc={"mpi": {"scaling_efficiency": "75%"}})).request.optimisation
    assert of_mpi.options.value_of("scaling_efficiency") == 0.75


@pytest.mark.parametrize("name", ["SuperMUC NG", "SuperMUC_NG"])
def test_the_name_of_a_system_is_spelt_as_in_results(name: str) -> None:
    """Without a warning: a blank, an underscore and a hyphen are one."""
    found = normalise(job("target", name=name))
    assert (found.request.target.name, found.warnings) == ("SuperMUC-NG", ())


@pytest.mark.parametrize("written", ["USR2@300", "SIGUSR2@300", {"name": "SIGUSR2", "seconds": 300}, {"name": "usr2", "seconds": "300"}])
def test_a_signal_has_the_same_names_in_both_forms(written: Any) -> None:
    """With or without ``SIG``, in any case."""
    signal = normalise(job("job_options", signal=written)).request.job_options.signal
    assert signal
    assert (signal.name, signal.seconds) == ("USR2", 300)


def test_one_section_is_chosen_the_other_is_named() -> None:
    """Where two kinds of application are filled in, ``app_type`` decides, and the other is left out with a warning."""
    document = job("optimisation", app_type="hpc", **{"app_type-ai_training": {"tensorflow": {}}, "app_type-hpc": {"mpi": {}}})
    found = normalise(document)
    assert found.request.optimisation.framework == "mpi"
    assert [warning.field for warning in found.warnings] == ["optimisation.app_type-ai_training"]


def test_the_kind_of_application_follows_from_its_section() -> None:
    """Without ``app_type`` the section says it, with a warning; ``training`` is understood."""
    found = normalise(job("optimisation", training={"pytorch": {"torch_compile": True}}))
    assert (found.request.optimisation.app_type, found.request.optimisation.framework) == ("ai_training", "pytorch")
    assert getattr(found.request.optimisation.options, "inductor", None) is True
    assert {warning.field for warning in found.warnings} == {"optimisation.app_type", "optimisation.training"}


def test_parallelisation_may_be_spelt_in_american() -> None:
    """Left out, the job would be one process."""
    section = {"config": {"parallelization": "mpi"}, "parallelization-mpi": {"library": "mpich"}}
    found = normalise(job("optimisation", app_type="hpc", hpc=section))
    assert (found.request.optimisation.framework, found.request.optimisation.options.value_of("library")) == ("mpi", "mpich")
    assert [warning.message for warning in found.warnings] == ["the key is read as 'parallelisation'"]


@pytest.mark.parametrize(
    ("section", "name", "word", "meant"),
    [
        ("target", "job_scheduler_type", "slrum", "slurm"),
        ("target", "container_runtime", "aptainer", "apptainer"),
        ("optimisation", "objective", {"minimise": "node hour"}, "node_hours"),
        ("optimisation", "opt_build", {"acc_type": "nvida"}, "nvidia"),
        ("optimisation", "autotuning", {"tuner": "cresto"}, "cresta"),
    ],
)
def test_a_misspelt_word_is_told_what_it_may_have_been(section: str, name: str, word: object, meant: str) -> None:
    """It is left out, with a warning."""
    (warning,) = normalise(job(section, **{name: word})).warnings
    assert f"; did you mean {meant!r}? known: " in warning.message


@pytest.mark.parametrize("word", ["Intel", "Ponte Vecchio", "PVC", "max-1550"])
def test_gpus_of_intel_are_known_by_their_names(word: str) -> None:
    """The maker, the family, the device."""
    assert normalise(job("optimisation", opt_build={"acc_type": word})).request.optimisation.opt_build.acc_type == "intel"


def test_versions_as_numbers_are_warned_of() -> None:
    """A number loses the zero of 2.10, so it is named."""
    found = normalise(job("optimisation", app_type="ai_training", ai_training={"tensorflow": {"version": 2.1}}))
    assert found.request.optimisation.options.version == "2.1"
    assert len(found.warnings) == 1


def test_a_number_without_a_fraction_is_whole() -> None:
    """JSON has one kind of number, and many writers put ``.0`` behind each."""
    document = {"job": {"job_options": {"node_count": 2.0}, "application": {"executable": "./solve"}}}
    assert normalise(document, strict=True).request.job_options.node_count == 2


def test_an_application_is_named_as_in_results() -> None:
    """Whose names are any printable text."""
    read = normalise({"job": {"optimisation": {"workload": {"application": "My Solver (v2)"}}}}, strict=True)
    assert read.request.workload_name == "My Solver (v2)"


def test_a_switch_among_the_parameters_is_the_word_of_results() -> None:
    """Not the number 1, which no result has there."""
    sent = {"job": {"application": {"executable": "./solve"}, "optimisation": {"workload": {"params": {"overlap": True, "seed": 1}}}}}
    assert normalise(sent, strict=True).request.optimisation.workload.params == {"overlap": "true", "seed": 1.0}


def test_a_parameter_keeps_all_its_digits() -> None:
    """A float has 53 bits, and a seed may have 64; another one would be another problem."""
    params = {"seed": 2**63 + 1, "of_16_digits": 1234567890123456, "step": 0.1}
    sent = {"job": {"application": {"executable": "./solve"}, "optimisation": {"workload": {"params": params}}}}
    read = normalise(sent, strict=True).request.optimisation.workload.params
    assert {name: parameter(value) for name, value in read.items()} == {name: str(value) for name, value in params.items()}


def test_a_printed_number_in_a_unit_that_its_metric_does_not_have_is_named() -> None:
    """When the request is read, not when its script is written."""
    metric = {"name": "throughput", "unit": "s", "pattern": "([0-9]+)"}
    sent = {"job": {"application": {"executable": "./solve"}, "optimisation": {"workload": {"metric": metric}}}}
    assert set(faulty(sent)) == {"optimisation.workload.metric.unit"}


def test_a_printed_rate_may_be_that_of_each_gpu() -> None:
    """As torchtitan prints it; the result's counts make it that of all."""
    metric = {"name": "throughput", "unit": "tokens/s/GPU", "pattern": "tps: ([0-9,]+)"}
    sent = {"job": {"application": {"executable": "./solve"}, "optimisation": {"workload": {"metric": metric}}}}
    read = normalise(sent, strict=True).request.optimisation.workload.metric
    assert (read and (read.unit, read.measure.unit)) == ("tokens/s/GPU", "tokens/s")


def test_a_printed_time_is_not_called_as_the_one_that_the_script_measures() -> None:
    """Each run would have two results of one series, one with the start-up and one without."""
    metric = {"name": "wall_time", "unit": "s", "pattern": "([0-9]+)"}
    sent = {"job": {"application": {"executable": "./solve"}, "optimisation": {"workload": {"metric": metric}}}}
    assert "run_time" in faulty(sent)["optimisation.workload.metric.name"]


def test_threads_given_twice_are_named() -> None:
    """The job's count holds against the framework's, with a warning."""
    section = {"openmp": {"number_of_threads": 8}}
    document = {"job": {"application": {"threads": 4}, "optimisation": {"app_type": "hpc", "hpc": section}}}
    found = normalise(document)
    assert found.request.application.threads == 4
    assert [warning.field for warning in found.warnings] == ["application.threads"]
    assert set(faulty(document, strict=True)) == {"application.threads"}


def test_a_field_given_twice_is_read_once() -> None:
    """The documented key holds against another spelling of it, which is named."""
    found = normalise(job("target", queue_type="slurm", job_scheduler_type="torque"))
    assert found.request.target.job_scheduler_type == "torque"
    assert [warning.field for warning in found.warnings] == ["target.queue_type"]


@pytest.mark.parametrize(
    ("optimisation", "ignored", "version"),
    [
        ({"ai_training": {"keras": {"version": "2.1"}, "ai_framework-keras": {"version": "1"}}}, "ai_training.ai_framework-keras", "2.1"),
        ({"ai_training": {"ai_framework-keras": {"version": "1"}, "keras": {"version": "2.1"}}}, "ai_training.keras", "1"),
        ({"ai_training": {"keras": None, "ai_framework-keras": {"version": "1"}}}, "", "1"),
        ({"ai_training": {"config": {}, "Config": {"type": "other"}, "keras": {"version": "1"}}}, "ai_training.Config", "1"),
        ({"app_type-ai_training": {"keras": {"version": "1"}}, "ai_training": {"keras": {}}}, "ai_training", "1"),
    ],
)
def test_a_section_given_in_two_spellings_is_read_once(optimisation: dict[str, Any], ignored: str, version: str) -> None:
    """The other one is named, whatever it says."""
    found = normalise({"job": {"optimisation": {"app_type": "ai_training", **optimisation}}})
    told = [warning for warning in found.warnings if warning.message.endswith("is given, too")]
    assert [warning.field for warning in told] == ([f"optimisation.{ignored}"] if ignored else [])
    assert (found.request.optimisation.options.version, found.request.optimisation.config.type) == (version, None)


@pytest.mark.parametrize("written", [{"threads": " ", "Threads": 4}, {"Threads": 4, "threads": ""}, {"THREADS": "", "Threads": 4}])
def test_blank_text_hides_no_value_in_another_spelling(written: dict[str, Any]) -> None:
    """It counts as left out, also under the documented key."""
    found = normalise(job("application", **written))
    assert found.request.application.threads == 4
    assert sorted(warning.message for warning in found.warnings) == ["empty text is ignored", "the key is read as 'threads'"]


def test_accelerators_of_the_chosen_model_count_beside_mpi() -> None:
    """Also if the options of MPI are given with those of OpenACC, which the request names."""
    section = {"config": {"parallelisation": "openacc"}, "parallelisation-mpi": {}, "parallelisation-openacc": {"number_of_acc": 2}}
    found = normalise({"job": {"optimisation": {"app_type": "hpc", "app_type-hpc": section}}}, strict=True)
    assert (found.request.optimisation.framework, found.request.job_options.request_gpus) == ("openacc", 2)


@pytest.mark.parametrize(("given", "allowed"), [("00:01:00", True), ("365-00:00:00", True), ("365-00:00:01", False)])
def test_the_longest_and_the_shortest_time_are_allowed(given: str, allowed: bool) -> None:
    """A year; what is longer is refused."""
    assert bool(seconds(given, "wall_time_limit").faults) == (not allowed)


@pytest.mark.parametrize(("count", "allowed"), [(100, True), (101, False)])
def test_a_list_has_at_most_a_hundred_entries(count: int, allowed: bool) -> None:
    """As the message says."""
    assert bool(each(text)(["a"] * count, "stage_in").faults) == (not allowed)


@pytest.mark.parametrize(("number", "kept"), [(2**53, float(2**53)), (2**53 + 1, "9007199254740993")])
def test_a_whole_number_is_text_where_no_float_has_its_digits(number: int, kept: float | str) -> None:
    """Up to there, numbers are numbers."""
    sent = {"job": {"application": {"executable": "./solve"}, "optimisation": {"workload": {"params": {"seed": number}}}}}
    assert normalise(sent).request.optimisation.workload.params == {"seed": kept}


@pytest.mark.parametrize(("given", "read"), [("BEGIN,INVALID_DEPEND", ("begin",)), ("STAGE_OUT", ()), (["END", "STAGE_OUT"], ("end",))])
def test_slurms_other_events_are_left_out_with_a_warning(given: str | list[str], read: tuple[str, ...]) -> None:
    """It has more of them than other schedulers."""
    found = normalise(job("job_options", request_event_notification=given))
    assert found.request.job_options.request_event_notification == read
    assert ["is unknown and is ignored; known: Torque's letters" in one.message for one in found.warnings] == [True]


def test_no_mail_and_mail_is_mail() -> None:
    """``none`` beside other events is left out, with a warning."""
    found = normalise(job("job_options", request_event_notification=["NONE", "END"]))
    assert found.request.job_options.request_event_notification == ("end",)
    assert len(found.warnings) == 1


@pytest.mark.parametrize(
    ("section", "field", "value", "says"),
    [
        ("job_options", "copy_environment_variable", "A=b", "names alone"),
        ("job_options", "memory_limit", "16", "without a unit"),
        ("job_options", "node_count", True, "a whole number"),
        ("job_options", "wall_time_limit", "1 fortnight, 2:00:00", "d-hh:mm:ss"),
        ("job_options", "wall_time_limit", "00:00:59", "from one minute to one year"),
        ("job_options", "wall_time_limit", 30, "from one minute to one year; 30 counts seconds: 30 minutes are '00:30:00'"),
        ("application", "minimal_efficiency", 75, "allowed: a fraction of 1; 75% is 0.75"),
        ("application", "executable", "./x; curl e", "character 4"),
        (
            "application",
            "executable",
            "./x < in",
            "character 5: a shell acts on '<'",
        ),
        ("application", "pre-execution", "a | b", "; for a shell to act on it, write bash -o pipefail -c '…', which fails if one"),
        ("application", "executable", "./x 'a\u202eb'", "character 7: control characters"),
        ("application", "metric_file", "$(id)", "character 1"),
        ("application", "metric_file", "a log", "one path"),
        ("application", "metric_file", "''", "one path"),
        ("application", "metric_file", ["log"], "one path"),
    ],
)
def test_a_fault_says_what_is_allowed(section: str, field: str, value: Any, says: str) -> None:
    """In words that help to put it right."""
    assert says in faulty(job(section, **{field: value}))[f"{section}.{field}"]


def test_what_a_request_does_not_say_has_the_documented_value() -> None:
    """Checks and a result are in the script, nothing is unpacked, a signal comes two minutes before the end, and so on."""
    found = normalise({"job": {"application": {"executable": "./a", "stage_in": [{"from": "/a.tar", "to": "a"}]}}}).request
    application, optimisation = found.application, found.optimisation
    assert (application.preflight, application.write_result, application.stage_in[0].unpack) == (True, True, False)
    assert (optimisation.enable_opt_build, optimisation.enable_autotuning, optimisation.objective.confidence) == (False, False, 0.9)
    signal = normalise(job("job_options", signal={})).request.job_options.signal
    assert signal
    assert (signal.name, signal.seconds) == ("USR1", 120)


@pytest.mark.parametrize(
    ("limit", "constrained"),
    [
        ({}, False),
        ({"minimise": "time", "confidence": 0.95}, False),
        *(({name: value}, True) for name, value in (("deadline", 60), ("max_nodes", 2), ("min_efficiency", 0.5), ("budget_node_hours", 1))),
    ],
)
def test_an_objective_with_any_limit_is_constrained(limit: dict[str, Any], constrained: bool) -> None:
    """What is to be small is no limit."""
    found = normalise({"job": {"optimisation": {"objective": limit}}}).request.optimisation.objective
    assert found.constrained is constrained


@pytest.mark.parametrize(
    ("amount", "says"),
    [("500 bananas", "bananas"), ("-5 ns", "positive"), (f"{'0' * 62}5 ns", "64")],
)
def test_an_amount_of_work_is_a_positive_number_of_what_rates_count(amount: str, says: str) -> None:
    """The fault names the field and what is wrong."""
    assert says in faulty({"job": {"optimisation": {"workload": {"amount": amount}}}})["optimisation.workload.amount"]


def test_words_of_a_list_are_literal() -> None:
    """Arguments as a list are words as they are, byte for byte."""
    words = ["it's", "$HOME", "", "a\nb", "--", "*"]
    found = normalise(job("application", executable="./a", arguments=words))
    assert found.request.application.arguments == tuple(words)
    assert found.warnings == ()
    assert len(normalise(job("application", arguments=["${HOME}"])).warnings) == 1


@pytest.mark.parametrize(
    "sections",
    [
        {"job_options": {"copy_environment_variable": "OWN"}},
        {"job_options": {"copy-environment-variable": ["OWN"]}},
        {"job_options": '{"copy_environment_variable": "OWN"}'},
        {"optimisation": {"autotuning": {"space": {"environment": {"OWN": [1, 2]}}}}},
        {"optimization": {"Autotuning": {"setting": {"environment": {"OWN": 1}}}}},
    ],
)
def test_copied_and_tuned_variables_may_be_used_in_commands(sections: dict[str, Any]) -> None:
    """However the request spells where it names them."""
    document = {"job": {**sections, "application": {"executable": "./a ${OWN}"}}}
    assert len(normalise(document).request.application.executable) == 2


def test_a_fault_elsewhere_does_not_make_a_copied_variable_unknown() -> None:
    """All faults are reported together, and each is one."""
    options = {"copy_environment_variable": "OWN", "job_array": "a"}
    assert faulty({"job": {"job_options": options, "application": {"executable": "./a ${OWN}"}}}).keys() == {"job_options.job_array"}


@pytest.mark.parametrize(
    ("command", "warned"),
    [
        (r"C:\Users\me\train.py --epochs 3", True),
        (r"python train.py --data 'D:\data\train'", True),
        (r"python C:\train.py", True),
        (r"python train.py --pattern 'a:\w+'", False),
        (r"python train.py --out scratch:\data", False),
        ("python train.py --drive C:", False),
    ],
)
def test_a_path_of_windows_is_told(command: str, warned: bool) -> None:
    """A shell drops its backslashes, and the system has no such file."""
    warnings = normalise(job("application", executable=command)).warnings
    assert any("path of Windows" in each.message and each.field == "application.executable" for each in warnings) is warned


@pytest.mark.parametrize("given", [1_500_000_000_000, "1500000000000", "1500 GB", "1.5 TB"])
def test_the_memory_of_a_large_node_may_be_given_in_any_unit(given: Any) -> None:
    """Nodes with more than a terabyte are common."""
    assert normalise(job("job_options", memory_limit=given)).request.job_options.memory_limit == 1_500_000_000_000


@pytest.mark.parametrize(
    ("section", "key", "meant"),
    [
        ("application", "node_count", "job_options.node_count"),
        ("job_options", "MPI-ranks", "application.mpi_ranks"),
        ("target", "partition", "job_options.partition"),
        ("optimisation", "deadline", "optimisation.objective.deadline"),
        ("job_options", "epochs", "optimisation.workload.epochs"),
        ("application", "objective", "optimisation.objective"),
        ("job_options", "job_scheduler_type", "target.job_scheduler_type"),
        ("optimisation", "pytorch", "optimisation.ai_training.pytorch"),
        ("optimisation", "ai_framework-pytorch", "optimisation.ai_training.pytorch"),
        ("optimisation", "ai_framework", "optimisation.ai_training.config.ai_framework"),
        ("optimisation", "openmp", "optimisation.hpc.openmp"),
        ("optimisation", "acc_type", "optimisation.opt_build.acc_type"),
        ("optimisation", "parallelisation", "optimisation.hpc.config.parallelisation"),
        ("job_options", "mem", "memory_limit"),
        ("job_options", "cpus-per-task", "core_count_per_process"),
        ("job_options", "ntasks", "application.mpi_ranks"),
        ("application", "script", "executable"),
        ("optimisation", "nodes", "job_options.node_count"),
        ("optimisation", "gpus_per_node", "job_options.request_gpus"),
        ("application", "walltime", "job_options.wall_time_limit"),
        ("job_options", "cores", "core_count"),
        ("optimisation", "problem_size", "optimisation.workload.params"),
        ("job_options", "wallTime", "wall_time_limit"),
        ("application", "numGpus", "job_options.request_gpus"),
    ],
)
def test_a_field_of_another_section_is_told_its_place(section: str, key: str, meant: str) -> None:
    """It is left out: where it stands it may mean something else. So is the name that an option of a scheduler has."""
    (warning,) = normalise(job(section, **{key: 2})).warnings
    assert (warning.field, warning.message) == (f"{section}.{key}", f"unknown key, ignored; did you mean {meant!r}?")


def in_capitals(part: Any) -> Any:
    """A document with keys whose words begin with capitals, as programs in JavaScript or Java write them."""
    if not isinstance(part, dict):
        return part
    return {re.sub("_([a-z])", lambda found: found[1].upper(), key): in_capitals(inner) for key, inner in part.items()}


@pytest.mark.parametrize(
    "path",
    [REQUESTS / "all-job-options.json", *(EXAMPLES / f"{name}.json" for name in ("3dgan-supermuc-ng", "gromacs-hybrid", "mpi-solver"))],
)
def test_words_of_keys_may_begin_with_capitals(path: Path) -> None:
    """Each such key is told what it is read as."""
    document = json.loads(path.read_text())
    found = normalise(in_capitals(document))
    assert found.request.model_dump() == normalise(document).request.model_dump()
    assert all("the key is read as" in warning.message for warning in found.warnings)


def test_a_runtime_in_place_of_an_image_may_have_a_key_in_capitals() -> None:
    """It would be an image of that name otherwise."""
    assert normalise(job("application", containerRuntime="singularity")).request.target.container_runtime == "singularity"


@pytest.mark.parametrize(
    ("key", "where"),
    [
        ("modules", "system file"),
        ("environment", "optimisation.autotuning.setting.environment"),
        ("requirements", "target.container_runtime to 'none'"),
        ("workdir", "submitted"),
        ("image", "application.container_runtime"),
        ("jobOptions", "directly in 'job'"),
        ("budget_core_hours", "budget_node_hours is the limit: divide"),
        ("job", "the whole document"),
    ],
)
def test_what_people_miss_is_told_where_it_is(key: str, where: str) -> None:
    """No field of that name exists, but what it is wanted for does."""
    for section in ("application", "target"):
        (warning,) = normalise(job(section, **{key: ["gcc"]})).warnings
        assert warning.field == f"{section}.{key}"
        assert where in warning.message


def test_a_value_that_is_wrong_is_not_missing_as_well() -> None:
    """One fault for a required field, about what was written."""
    found = faulty(job("application", stage_in=[{"from": "a directory", "to": "data"}]))
    assert found == {
        "application.stage_in.0.from": "allowed: one path, which may not begin with '-' (write ./-name); put quotes around blanks"
    }


def test_a_flood_of_unknown_keys_is_counted() -> None:
    """Thousands of unknown keys give a few warnings and a count, in no time."""
    found = normalise(job("job_options", **{f"key{n}": n for n in range(20_000)}))
    assert len(found.warnings) == 21
    assert "19980 more" in found.warnings[-1].message


def test_the_request_survives_json_apart_from_options() -> None:
    """A canonical request is plain data."""
    found = normalise(read(REQUESTS / "all-job-options.json")).request
    again = Request.model_validate_json(found.model_dump_json())
    assert again == found


SECTION_KEYS = ["job", "job_options", "application", "target", "optimisation", "config", "data", "build", "objective", "workload", "params"]
FIELD_KEYS = [
    *("node_count", "job_name", "wall_time_limit", "executable", "arguments"),
    *("container_runtime", "name", "version", "src", "deadline"),
]
CHOSEN_KEYS = ["app_type", "ai_training", "app_type-hpc", "tensorflow", "parallelisation-mpi", "library", "copy_environment_variable"]
KEYS = st.sampled_from([*SECTION_KEYS, *FIELD_KEYS, *CHOSEN_KEYS])
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["mpi", "[mpi]", "{}", "1:00", "hpc", "docker"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS | st.text(max_size=6), inner, max_size=6),
    max_leaves=25,
)
DOCUMENTS = st.fixed_dictionaries(
    {
        "job": st.fixed_dictionaries(
            {},
            optional={
                "job_options": st.dictionaries(st.sampled_from(sorted(dsl.JobOptions.model_fields)), JSON, max_size=6) | JSON,
                "application": st.dictionaries(st.sampled_from(sorted(dsl.Application.model_fields)), JSON, max_size=6) | JSON,
                "target": st.dictionaries(st.sampled_from(sorted(dsl.Target.model_fields)), JSON) | JSON,
                "optimisation": st.dictionaries(st.sampled_from([*PLAIN, "ai_training", "app_type-hpc", "big_data"]), JSON, max_size=6)
                | JSON,
            },
        )
    }
)


def outcome(document: Any, strict: bool) -> tuple[Normalised | None, tuple[Fault, ...]]:
    """What was read, or why not; an exception of another kind fails the test that asks."""
    try:
        return normalise(document, strict=strict), ()
    except RequestError as error:
        return None, error.faults


@settings(max_examples=400, deadline=None)
@given(JSON | DOCUMENTS, st.booleans())
def test_whatever_is_sent_is_read_or_refused(document: Any, strict: bool) -> None:
    """No document makes another exception than one of ours; what is read is canonical, and warnings are one line."""
    found, faults = outcome(document, strict)
    assert all(fault.field.isprintable() and fault.message.isprintable() for fault in faults)
    if found is None:
        assert faults
        return
    assert isinstance(found, Normalised)
    assert all(warning.message.isprintable() for warning in found.warnings)
    json.loads(found.request.model_dump_json())


@pytest.mark.parametrize("field", ["batch_size", "compiler"])
@pytest.mark.parametrize("auto", ["auto", "Auto"])
def test_what_is_left_to_the_evidence_by_name_is_as_if_left_out(field: str, auto: str) -> None:
    """No compiler is called so."""
    found = normalise(job("optimisation", workload={field: auto}))
    assert (getattr(found.request.optimisation.workload, field), found.warnings) == (None, ())


@pytest.mark.parametrize("blank", ["", " "])
@pytest.mark.parametrize(
    "field",
    [
        *("job_options.node_count", "job_options.wall_time_limit", "job_options.memory_limit", "job_options.requeue"),
        *("application.minimal_efficiency", "optimisation.objective.deadline", "optimisation.ai_training.tensorflow.xla"),
        *("job_options.job_name", "job_options.queue", "target.name", "application.app_tag", "application.executable"),
        "optimisation.ai_training.tensorflow.version",
    ],
)
def test_a_value_without_a_sign_is_left_out(field: str, blank: str) -> None:
    """Templates write empty text where they have no value, and a caller that gets an error gets no script."""
    document = {"job": {"optimisation": {"app_type": "ai_training"}}}
    found = normalise(with_value(document, ("job", *field.split(".")), blank))
    assert [(warning.field, warning.message) for warning in found.warnings] == [(field, "empty text is ignored")]


@pytest.mark.parametrize(
    ("written", "field"),
    [("nodes", "node_count"), ("ranks_per_node", "process_count_per_node"), ("gpus_per_node", "request_gpus"), ("gpus", "request_gpus")],
)
def test_counts_of_a_job_may_be_called_as_in_results(written: str, field: str) -> None:
    """The columns of the results table name the same counts."""
    found = normalise({"job": {"job_options": {written: 4}}})
    assert getattr(found.request.job_options, field) == 4
    assert [warning.message for warning in found.warnings] == [f"the key is read as {field!r}"]


@pytest.mark.parametrize(
    ("section", "written", "field"), [("application", "name", "app_tag"), ("target", "system", "name"), ("target", "Cluster", "name")]
)
def test_names_may_be_called_as_elsewhere(section: str, written: str, field: str) -> None:
    """Results have a system, and other requests an application's name."""
    found = normalise(job(section, **{written: "solver"}))
    assert getattr(getattr(found.request, section), field) == "solver"
    assert [warning.message for warning in found.warnings] == [f"the key is read as {field!r}"]


@pytest.mark.parametrize(
    ("command", "warned"),
    [
        (["blockMesh", "decomposePar -force"], True),
        (["python3 prepare.py", "mesh.h5"], True),
        (["./prepare", "--cells 100"], True),
        (["sh", "-c", "blockMesh && decomposePar -force"], False),
        (["bash", "-lc", "decomposePar -force"], False),
        (["./prepare", "--cells", "100", "a file", "--title=two words"], False),
    ],
)
def test_a_list_of_commands_is_told_to_be_one(command: list[str], warned: bool) -> None:
    """Its entries are the words of a single command, with the blanks in them."""
    warnings = normalise({"job": {"application": {"app_tag": "x", "pre-execution": command}}}).warnings
    assert any("one word of the same command" in each.message for each in warnings) is warned
