"""Every text field of a request with what would break out of a script: refused by name, or answered with the innocent script."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from modak.schemas import schema
from modak.text import documents
from tests.api.witness import CANARY, commands, options, witness

HERE = "@HERE@"
"""Stands for a text within a list or an object."""
BASE: dict[str, Any] = {
    "job": {
        "job_options": {"job_name": "base", "wall_time_limit": "01:00:00", "node_count": 2, "process_count_per_node": 2},
        "application": {"app_tag": "solver", "app_type": "mpi", "executable": "./solver", "arguments": "-i input.nml"},
        "target": {"name": "supermuc-ng", "container_runtime": "none"},
    }
}
PAYLOADS = {
    "a newline": "x\ntouch pwned",
    "an option": "x --output=pwned",
    "a semicolon": "x; touch pwned",
    "a substitution": "x$(touch pwned)",
    "quotes": "x' ; touch pwned ; '\" ; touch pwned ; \"",
    "a right-to-left mark": "x\u202epwned",
    "a template": "{{ cycler.__init__.__globals__.os.popen('touch pwned').read() }}",
    "a line separator": "x\u2028touch pwned",
    "a path": "../../pwned",
    "a variable": "x${BASH_ENV}pwned",
    "five thousand letters": "pwned" * 1000,
}
EVERY = frozenset(PAYLOADS)
TEXT = EVERY - {"a line separator", "a right-to-left mark"}
"""Text that is stored or quoted as it is, whatever it says."""
WORDS = frozenset(("an option", "quotes", "a path", "five thousand letters"))
"""A command line: words, quoted once; what a shell would act on is refused."""
ANSWERED: dict[str, frozenset[str]] = {
    **dict.fromkeys(
        (
            *("job_options.job_name", "job_options.account", "job_options.queue", "job_options.partition"),
            *("job_options.architecture_constraint", "job_options.request_specific_nodes", "job_options.job_array"),
            *("job_options.standard_output_file", "job_options.standard_error_file", "job_options.job_dependency"),
            *("job_options.request_event_notification", "job_options.email_address", "job_options.defer_job"),
            *("job_options.memory_limit", "job_options.minimum_memory_per_processor", "job_options.wall_time_limit"),
            *("application.app_tag", "application.container_runtime", "application.storage_class_pref", "application.build.src"),
            *("target.name", "optimisation.objective.deadline", "job_options.qos", "job_options.reservation", "job_options.signal"),
            *("application.result_file", "optimisation.workload.precision"),
            *("optimisation.hpc.openmp.affinity", "optimisation.hpc.openacc.compiler", "optimisation.enable_opt_build"),
            *("optimisation.hpc.mpi.version", "optimisation.hpc.mpi.message_size", "optimisation.hpc.data.size_bytes"),
            *(f"optimisation.ai_training.tensorflow.{option}" for option in ("version", "xla", "ngraph")),
            *(f"optimisation.ai_training.pytorch.{option}" for option in ("glow", "inductor", "jit")),
            "optimisation.ai_training.horovod.framework_version",
        ),
        frozenset(),
    ),
    "job_options.copy_environment_variable": frozenset(
        ("a newline", "a semicolon", "a line separator", "quotes")
    ),  # a list of names; others go
    **dict.fromkeys(("application.executable", "application.arguments", "application.pre-execution", "application.post-execution"), WORDS),
    "application.checkpoint": WORDS,
    "application.metric_file": WORDS - {"an option"},
    **dict.fromkeys(
        (
            *("application.app_type", "target.job_scheduler_type", "target.container_runtime"),
            *("optimisation.opt_build.cpu_type", "optimisation.objective.minimise", "optimisation.autotuning.tuner"),
            *("optimisation.app_type", "optimisation.opt_build.acc_type", "optimisation.hpc.mpi.library"),
            *(
                "optimisation.ai_training.config.type",
                "optimisation.ai_training.cntk.distribution",
                "optimisation.hpc.config.parallelisation",
            ),
        ),
        EVERY,  # a word that nobody knows is left out, with a warning
    ),
    "optimisation.autotuning.input": TEXT,
    **dict.fromkeys(
        ("optimisation.workload.application", "optimisation.workload.dataset", "optimisation.workload.compiler"),  # cells of the results
        TEXT - {"a newline", "five thousand letters"},
    ),
    **dict.fromkeys(("optimisation.hpc.data.location", "optimisation.hpc.data.basename"), TEXT - {"five thousand letters"}),
    "application.build.build_command": TEXT,
}


CELL = TEXT - {"a newline", "five thousand letters"}
METRIC = {"name": "throughput", "unit": "samples/s", "pattern": "x([0-9]+)"}
WITHIN: dict[str, tuple[Any, str, frozenset[str]]] = {
    "application.stage_in.0.from": ([{"from": HERE, "to": "in"}], "x", WORDS - {"an option"}),
    "application.stage_in.0.to": ([{"from": "in", "to": HERE}], "x", frozenset()),
    "application.stage_out.0.from": ([{"from": HERE, "to": "out"}], "x", frozenset()),
    "application.stage_out.0.to": ([{"from": "out", "to": HERE}], "x", WORDS - {"an option"}),
    "job_options.site_resources.0": ([f"licence={HERE}"], "1", frozenset()),
    "job_options.signal.name": ({"name": HERE}, "USR1", frozenset()),
    "optimisation.autotuning.setting.environment": ({"environment": {"SET": HERE}}, "x", CELL),
    "optimisation.autotuning.setting.options": ({"options": {"--set": HERE, "SET=": HERE}}, "x", CELL),
    "optimisation.autotuning.space.environment": ({"environment": {"SET": [HERE]}}, "x", CELL),
    "optimisation.autotuning.space.options": ({"options": {"--set": [HERE]}}, "x", CELL),
    "optimisation.autotuning.space.layout": ({"layout": {"threads": [HERE]}}, "x", CELL),
    "optimisation.workload.amount": (HERE, "1 ns", frozenset()),
    "optimisation.workload.params": ({"mesh": HERE}, "x", CELL),
    "optimisation.workload.metric.name": ({**METRIC, "name": HERE}, "throughput", frozenset()),
    "optimisation.workload.metric.unit": ({**METRIC, "unit": HERE}, "samples/s", frozenset()),
    "optimisation.workload.metric.pattern": (
        {**METRIC, "pattern": f"{HERE}([0-9]+)"},
        "x",
        frozenset(("an option", "a semicolon", "quotes", "a path", "a variable")),
    ),
}
"""By the field: the nearest object or list with a text in it, an innocent one, and the payloads that are answered."""
LISTS = ("stage_in", "stage_out", "site_resources", "signal", "setting", "space", "amount", "params", "metric")
"""The fields of these."""


def with_value(field: str, value: Any) -> dict[str, Any]:
    """The innocent request with one value changed."""
    return dict(documents.with_value(BASE, ("job", *field.split(".")), value))


@pytest.fixture(scope="module")
def innocent(web: TestClient) -> str:
    """The script of the innocent request."""
    answer = web.post("/optimise", json=BASE)
    assert answer.status_code == 200
    return str(answer.json()["job"]["job_content"])


@pytest.mark.parametrize("payload", PAYLOADS)
@pytest.mark.parametrize("field", ANSWERED)
def test_no_text_breaks_out(web: TestClient, innocent: str, field: str, payload: str) -> None:
    """The script runs the same commands under the same options; no file, process, connection or code comes of it."""
    body = json.dumps(with_value(field, PAYLOADS[payload]))
    with witness().watching():
        answer = web.post("/optimise", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == (200 if payload in ANSWERED[field] else 422), answer.text
    if answer.status_code == 200:
        script = answer.json()["job"]["job_content"]
        head = [line for line in script.splitlines() if line.startswith("#SBATCH")]
        exported = [line for line in head if "--export=" in line]
        assert options(script) == options(innocent)
        assert all(re.fullmatch(r"#SBATCH --export=[A-Za-z_][A-Za-z0-9_]*(,[A-Za-z_][A-Za-z0-9_]*)*", line) for line in exported)
        assert not any(CANARY in line for line in head if line not in exported)
        added = commands(script) - commands(innocent)
        assert len(added) <= (1 if "execution" in field else 0)
        assert all(name.startswith("command_name ") for name in added)
    else:
        assert field.split(".")[-1].replace("_", "-") in answer.json()["errors"][0]["field"].replace("_", "-")
        assert PAYLOADS["a template"] not in answer.text or field.endswith("version")  # which shows what is none, in quotes


def within(field: str, text: str) -> str:
    """The innocent request of one node, as JSON, with a text within a list or an object."""
    parts = field.split(".")
    place = parts[: next(at for at, part in enumerate(parts, start=1) if part in LISTS)]
    document = documents.with_value(with_value(".".join(place), WITHIN[field][0]), ("job", "job_options", "node_count"), 1)
    return json.dumps(document).replace(HERE, json.dumps(text)[1:-1])


@pytest.mark.parametrize("payload", PAYLOADS)
@pytest.mark.parametrize("field", WITHIN)
def test_no_text_within_a_list_or_an_object_breaks_out(web: TestClient, field: str, payload: str) -> None:
    """The script runs the same commands under the same options as that of an innocent text in the same place."""
    _, text, answered = WITHIN[field]
    with witness().watching():
        innocent, hostile = (web.post("/optimise", content=within(field, each)) for each in (text, PAYLOADS[payload]))
    assert (innocent.status_code, hostile.status_code) == (200, 200 if payload in answered else 422), hostile.text
    if payload in answered:
        usual, script = (answer.json()["job"]["job_content"] for answer in (innocent, hostile))
        assert (options(script), commands(script)) == (options(usual), commands(usual))
        assert not any(CANARY in line for line in script.splitlines() if line.startswith("#"))
    else:
        assert hostile.json()["errors"][0]["field"].startswith(field.split(".0")[0])


def test_every_text_of_a_request_is_tried() -> None:
    """The schema has no field for text, but for a choice of words or a version, that is in neither table."""
    defined = schema("request")["$defs"]

    def texts(part: Any, path: str) -> Iterator[str]:
        if "$ref" in part:
            yield from texts(defined[part["$ref"].rsplit("/", 1)[-1]], path)
        if "string" in part.get("type", "") and not part.get("enum"):
            yield path
        for inner in (*part.get("anyOf", ()), *([part["items"]] if isinstance(part.get("items"), dict) else ())):
            yield from texts(inner, path)
        for name, inner in part.get("properties", {}).items():
            yield from texts(inner, f"{path}.{name}".removeprefix("."))
        if isinstance(part.get("additionalProperties"), dict):
            yield from texts(part["additionalProperties"], path)

    def named(fields: Iterable[str]) -> set[str]:
        """By their paths; those of a kind of application by their names."""
        plain = (re.sub(r"\.[0-9]+", "", field).replace("-", "_") for field in fields)
        return {
            re.sub(r"^optimisation\.(app_type_)?(ai_training|ai_inference|hpc|big_data)\..*\.", "optimisation.*.", each) for each in plain
        }

    assert named(texts(defined["Job"], "")) - named([*ANSWERED, *WITHIN]) == set()


@pytest.mark.parametrize("names", ["ALL,BASH_ENV=/s/e.sh", "A=b", "LD_PRELOAD", "BASH_ENV", "PATH=/x", "A --wrap=pwned"])
def test_no_variable_is_set_for_the_job(web: TestClient, names: str) -> None:
    """`--export` takes names alone: a value, or a name that runs code, would act before the script's first line."""
    with witness().watching():
        answer = web.post("/optimise", json=with_value("job_options.copy_environment_variable", names))
    assert answer.status_code == 422


@pytest.mark.parametrize("field", ["job_options.job_name", "application.executable", "application.build.build_command", "target.name"])
@pytest.mark.parametrize("text", ["x\\u0000pwned", "x\\ud800pwned", "x\\udfffpwned"])
def test_nul_and_half_pairs_are_no_text(web: TestClient, field: str, text: str) -> None:
    """400 for the document, before any field is looked at."""
    body = json.dumps(with_value(field, "HERE")).replace("HERE", text)
    assert web.post("/optimise", content=body, headers={"Content-Type": "application/json"}).status_code == 400


@pytest.mark.parametrize(
    "reference",
    [
        *("docker://x$(touch pwned)", "docker://x`pwned`", "docker://a' pwned '", "docker://--disable-cache", "--evil", "name=--evil"),
        *("docker://evil/x@sha256:short", "docker://a/b:tag with blank", "docker://a\nb", "file:///etc/passwd", "gopher://h/x"),
        *("http://registry/x", "../x.sif", "/abs/../x.sif", "docker://user:secret@h/x", "docker://é/x", "docker://", "x" * 5000),
    ],
)
def test_an_image_is_a_reference_or_refused(web: TestClient, reference: str) -> None:
    """A break-out, an option, another scheme, a path that climbs: none reaches a script."""
    document = documents.with_value(with_value("application.container_runtime", reference), ("job", "target"), {"name": "supermuc-ng"})
    with witness().watching():
        answer = web.post("/optimise", json=document)
    assert answer.status_code == 422


@pytest.mark.parametrize(
    "source",
    [
        *("file:///etc/shadow", "gopher://h/x.git", "ssh://-oProxyCommand=pwned/", "ext::sh -c pwned", "-upload-pack=pwned", "--help"),
        *("https://h/$(pwned).git", "https://user:secret@h/x.git", "https://h/x.git#$(pwned)", "https://h/`pwned`", "https://-h/x.git"),
        *(
            "http://h/x.git\nCOPY pwned",
            "git://h/x' ; pwned",
            "\\\\host\\share",
            "ftp://h/x.tar",
            "../x",
            "https://h/team/.%2E/x.git",
            "javascript:pwned",
            "data:text/plain,pwned",
        ),
    ],
)
def test_a_source_is_fetched_by_the_job_over_https_or_refused(web: TestClient, source: str) -> None:
    """Other schemes, options, credentials, break-outs; and the service itself fetches nothing."""
    document = with_value("application.build", {"src": source, "build_command": "make"})
    with witness().watching():
        answer = web.post("/get_build", json=document)
    assert answer.status_code == 422, answer.json().get("job", {}).get("build_script", answer.text)


@pytest.mark.parametrize(
    "source", ["https://169.254.169.254/latest/x.git", "https://localhost/x.git", "https://[::1]/x.git", "https://127.1/x.git"]
)
def test_the_service_fetches_nothing(web: TestClient, source: str) -> None:
    """Not even where the source is an address that only the service could reach: the text of a job is all that comes of it."""
    document = with_value("application.build", {"src": source, "build_command": "make"})
    with witness().watching():
        assert web.post("/get_build", json=document).status_code in (200, 422)


def test_a_build_command_stays_text(web: TestClient) -> None:
    """Templates are not evaluated; the one published placeholder is put in."""
    told = {"src": "https://h.example/x.git", "build_command": "make -j {{BUILD_PARALLELISM}} X={{ 7*7 }} {{ cycler }} {% raw %}"}
    with witness().watching():
        answer = web.post("/get_build", json=with_value("application.build", told))
    assert answer.status_code == 200
    text = answer.json()["job"]["build_script"]
    assert "{{ 7*7 }} {{ cycler }} {% raw %}" in text
    assert "49" not in text.split("X=")[1].splitlines()[0]
