"""What pydantic finds becomes one readable line a field."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from modak.dsl import Application, Etl, JobOptions, Space, Workload
from modak.errors import Fault
from modak.facts import System
from modak.frameworks.tensorflow import TensorFlowOptions
from modak.text.faults import faults_of, join


def faults(model: type[BaseModel], values: Any, prefix: str = "") -> tuple[Fault, ...]:
    """The faults of values that a model refuses."""
    with pytest.raises(ValidationError) as caught:
        model.model_validate(values)
    return faults_of(caught.value, prefix, model=model)


def test_one_line_a_field_with_the_path_in_front() -> None:
    """Sorted by field, below the prefix, saying what is allowed."""
    found = faults(JobOptions, {"node_count": 0, "job_name": "a b"}, "job_options")
    assert [fault.field for fault in found] == ["job_options.job_name", "job_options.node_count"]
    assert found[1].message == "allowed: at least 1"


@pytest.mark.parametrize(
    ("model", "values", "message"),
    [
        (JobOptions, {"node_count": 2.5}, "a whole number"),
        (JobOptions, {"copy_environment": "maybe"}, "true or false"),
        (JobOptions, {"job_name": "a b"}, "letters, digits and ._+-"),
        (JobOptions, {"email_address": "x"}, "one address"),
        (JobOptions, {"standard_output_file": "/x"}, "a relative path"),
        (JobOptions, {"request_event_notification": ["x"]}, "one of 'begin'"),
        (JobOptions, [], "an object"),
        (Workload, {"metric": "throughput"}, "an object with name, unit, pattern"),
        (Etl, {"prefetch": "x"}, "a whole number or true or false"),
        (TensorFlowOptions, {"xla": "maybe"}, "true or false or 'auto'"),
        (Application, {"executable": [1]}, "text"),
        (Workload, {"epochs": 0}, "more than 0"),
        (Workload, {"dataset": "x" * 201}, "at most 200 characters"),
        (Workload, {"params": {f"p{at}": 1 for at in range(101)}}, "at most 100 entries"),
    ],
)
def test_messages_are_for_people(model: type[BaseModel], values: Any, message: str) -> None:
    """What is allowed, without types of Python, patterns or addresses of manuals."""
    (found,) = faults(model, values)
    assert found.message.startswith(f"allowed: {message}")
    assert all(jargon not in str(found) for jargon in ("Input should", "https://", "^(?:", "function-", "literal["))


def test_an_unknown_key_names_the_nearest_known_one() -> None:
    """Also deep inside a file of facts."""
    (found,) = faults(JobOptions, {"node_cout": 1})
    assert found == Fault("node_cout", "unknown key; did you mean 'node_count'?")
    deep = faults(System, {"partitions": [{"node": {"sokets": 2}}]})
    assert Fault("partitions.0.node.sokets", "unknown key; did you mean 'sockets'?") in deep


def test_of_what_is_required_the_form_is_told() -> None:
    """The keys of its objects, if they are few."""
    assert Fault("sources", "is required: a list, each an object with fields, citation") in faults(System, {})


@pytest.mark.parametrize(
    ("values", "meant"),
    [
        ({"price_per_node_hour": 2}, "partitions.price_per_node_hour"),
        ({"memory_gb": 2}, "partitions.node.memory_gb"),
        ({"memory": 2}, "partitions.node.memory_gb"),
        ({"path": "/scratch"}, "filesystems.path"),
        ({"latency_us": 2}, "interconnect.latency_us"),
        ({"partitions": [{"cores": 2}]}, "node.cores"),
        ({"module": "gcc"}, "modules"),
    ],
)
def test_a_key_in_the_wrong_place_is_told_its_own(values: Any, meant: str) -> None:
    """Instead of thirty others that are known, and before those that are only spelt like it."""
    assert f"unknown key; did you mean {meant!r}?" in [found.message for found in faults(System, values)]


@pytest.mark.parametrize(
    ("key", "meant"), [("gpus", "accelerators"), ("GPU", "accelerator"), ("cpu_model", "processor"), ("ram", "memory_gb")]
)
def test_an_unknown_key_that_is_another_word_for_a_known_one_names_that(key: str, meant: str) -> None:
    """No spelling leads from one to the other."""
    found = faults(System, {"partitions": [{"node": {key: 2}}]})
    assert Fault(f"partitions.0.node.{key}", f"unknown key; did you mean {meant!r}?") in found


@pytest.mark.parametrize(
    ("values", "field", "message"),
    [
        ({"low": 1, "high": 8, "steps": 2}, "steps", "unknown key; did you mean 'step'?"),
        ({"low": 1, "high": "8"}, "high", "allowed: a number"),
        ([1, None], "1", "allowed: a whole number or a number or text"),
        ([True], "0", "allowed: a whole number or a number or text"),
        ("1:8", "", "allowed: a list or an object with low, high, step, factor"),
    ],
)
def test_of_several_kinds_of_values_the_one_that_was_meant_is_told(values: Any, field: str, message: str) -> None:
    """Not that a list would be allowed where the object has a wrong key, nor that one is too short whose only item is wrong."""
    (found,) = faults(Space, {"layout": {"threads": values}})
    assert found == Fault(join("layout.threads", field), message)


def test_a_key_that_begins_as_another_one_hides_none_of_its_faults() -> None:
    """Points in names of parameters are no steps into a value."""
    found = faults(Workload, {"params": {"mesh": [1], "mesh.x": [2]}})
    assert [fault.field for fault in found] == ["params.mesh", "params.mesh.x"]


def test_the_value_is_not_repeated() -> None:
    """What was sent does not come back, whatever it holds; keys are made printable."""
    found = faults(JobOptions, {"job_name": "<script>\x1b[1m", "\x1b[31m": 1})
    assert all("script" not in fault.message and str(fault).isprintable() for fault in found)


def test_paths_leave_out_what_is_empty() -> None:
    """A prefix may be missing."""
    assert join("", "a", "", "b") == "a.b"
