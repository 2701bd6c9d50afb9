"""What-ifs: a request with something changed, and two choices held against each other."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modak.dsl import Minimise
from modak.errors import RequestError
from modak.whatif import NAMES, against, on_one_reference, same_work, with_changes


def choice(value: float | None, spread: float = 0.1, workers: int = 8) -> dict[str, Any]:
    """A choice as the answer has it."""
    known = {} if value is None else {"value": value, "lower": value * math.exp(-spread), "upper": value * math.exp(spread)}
    prediction = {"level": 0.9, "basis": "none" if value is None else "measured", **known}
    return {"configuration": {"workers": workers}, "prediction": prediction, "node_hours": value and value / 60}


def of_epochs(told: dict[str, Any]) -> dict[str, Any]:
    """The choice of a training run."""
    return {**told, "prediction": {**told["prediction"], "per": "epoch"}}


def test_names_stand_for_fields() -> None:
    """Short ones, and dotted paths; numbers and switches are read."""
    found = with_changes(
        {"job": {"target": {"name": "a"}}}, "nodes=8,cores=4, system=b,amount=2 ns,steps=9,optimisation.ai_training.tensorflow.xla=on"
    )
    wanted = {"ai_training": {"tensorflow": {"xla": True}}, "workload": {"amount": "2 ns", "steps": 9}}
    assert found == {"job": {"target": {"name": "b"}, "job_options": {"node_count": 8, "core_count": 4}, "optimisation": wanted}}


@pytest.mark.parametrize("text", ["2.10", "007", "1_000"])
def test_text_that_a_number_would_change_stays_text(text: str) -> None:
    """As a number, version 2.10 would be 2.1, and partition 007 would be 7."""
    found = with_changes({"job": {}}, f"system={text}")
    assert found == {"job": {"target": {"name": text}}}


def test_the_document_is_left_as_it_is() -> None:
    """A new one is made."""
    document = {"job": {"job_options": {"node_count": 1}}}
    with_changes(document, "nodes=2")
    assert document == {"job": {"job_options": {"node_count": 1}}}


def test_a_parameter_is_one_of_the_workload() -> None:
    """As results call its column."""
    assert with_changes({"job": {}}, "params.cells=8000")["job"] == {"optimisation": {"workload": {"params": {"cells": 8000}}}}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nodes", "not of the form NAME=VALUE"),
        ("nodse=1", "did you mean 'nodes'"),
        ("", "not of the form NAME=VALUE"),
        ("objective=foo", f"'foo' is unknown; known: {', '.join(get_args(Minimise))}"),
        ("optimisation.objective.minimise=foo", "'foo' is unknown"),
    ],
)
def test_what_is_no_change_is_refused(text: str, words: str) -> None:
    """One line that says what is allowed."""
    with pytest.raises(RequestError, match=words):
        with_changes({"job": {}}, text)


def test_what_is_no_object_cannot_be_changed_within() -> None:
    """The field is named."""
    with pytest.raises(RequestError, match="an object"):
        with_changes({"job": {"target": 3}}, "system=zenith")


@given(name=st.sampled_from(sorted(NAMES.keys() - {"objective"})), value=st.integers(1, 99))
def test_every_name_leads_somewhere(name: str, value: int) -> None:
    """The value stands at the end of the name's path."""
    found: Any = with_changes({"job": {}}, f"{name}={value}")["job"]
    for key in NAMES[name]:
        found = found[key]
    assert found == value


def test_the_ratio_has_an_interval() -> None:
    """Wider than that of either time; one that holds 1 says so."""
    clear, open_ = against(choice(100.0), choice(50.0)), against(choice(100.0), choice(95.0))
    assert clear[0].startswith("B takes 0.5 x the time of A (90% interval 0.43")
    assert "either may be faster" in open_[0]
    assert "either may be faster" not in clear[0]


def test_each_end_of_the_ratio_has_one_time_early_and_the_other_late() -> None:
    """Times that may only be late: at twice the ratio the second one is, and the first is as predicted."""
    late, other = choice(100.0), choice(100.0, workers=9)
    late["prediction"] |= {"lower": 100.0, "upper": 200.0}
    other["prediction"] = late["prediction"]
    assert "(90% interval 0.5 to 2; measured)" in against(late, other)[0]


@pytest.mark.parametrize(("kind", "said"), [(of_epochs, True), (dict, False)])
def test_other_numbers_of_workers_are_said_of_training(kind: Callable[[dict[str, Any]], dict[str, Any]], said: bool) -> None:
    """An epoch is not worth the same; a solver has no batch."""
    told = [text.partition(":")[0] for text in against(kind(choice(1.0)), kind(choice(1.0, workers=1))) if "global batch" in text]
    assert told == ["B has 1 worker, A 8"] * said


@pytest.mark.parametrize(("workers", "batch", "said"), [(4, 256, []), (8, 256, []), (8, 512, ["of 512, A of 256"])])
def test_another_global_batch_is_said_whatever_the_workers(workers: int, batch: int, said: list[str]) -> None:
    """Half the workers with twice the batch on each have the same, and as many workers may have another."""
    sides = [of_epochs(choice(1.0)), of_epochs(choice(2.0, workers=workers))]
    for side, size in zip(sides, (256, batch), strict=True):
        side["configuration"]["global_batch"] = size
    assert [text.partition(":")[0] for text in against(*sides) if "batch" in text] == [f"B has a global batch {text}" for text in said]


def test_costs_are_compared_where_node_hours_do_not_tell() -> None:
    """Nodes with GPUs cost more; nodes of one kind cost as their hours do."""
    one, other = {**choice(60.0), "cost": 1.0}, choice(30.0)
    assert "B takes 2 x the cost of A" in against(one, {**other, "cost": 2.0})
    assert len(against(one, {**other, "cost": 0.5})) == len(against(one, other))


def test_the_same_choice_is_called_so() -> None:
    """It is not said that either may be faster."""
    assert against(choice(60), choice(60)) == ("A and B lead to the same choice",)


def test_unknown_times_are_not_compared() -> None:
    """No number out of nothing."""
    assert "unknown" in against(choice(None), choice(1.0))[0]


def test_sides_that_differ_in_counts_have_one_efficiency() -> None:
    """Relative to the least work of both and of the request itself, though each side's own answer was relative to its own."""
    sides = [{"choices": [{"efficiency": 0.9}], "least_work": work} for work in (40.0, 10.0)]
    assert [one["efficiency"] for one in on_one_reference(sides)] == pytest.approx([0.225, 0.9])
    assert [one["efficiency"] for one in on_one_reference(sides, [{"least_work": 5.0}])] == pytest.approx([0.1125, 0.45])


def test_an_efficiency_that_is_not_known_stays_unknown() -> None:
    """There is nothing to relate."""
    assert on_one_reference([{"choices": [{"node_hours": 1.0}]}] * 2) == [{"node_hours": 1.0}] * 2


@pytest.mark.parametrize(("change", "same"), [("gpus=1,nodes=2,objective=time", True), ("system=zenith", False), ("epochs=3", False)])
def test_work_is_the_same_for_other_counts_only(change: str, same: bool) -> None:
    """Neither on another system nor for a longer run."""
    document = {"job": {"target": {"name": "stampede2"}}}
    assert same_work(document, with_changes(document, change)) == same


def test_a_choice_without_an_efficiency_gets_none() -> None:
    """Whatever the others are relative to."""
    sides: list[dict[str, Any]] = [
        {"choices": [{"efficiency": None}], "least_work": 10.0},
        {"choices": [{"efficiency": 0.9}], "least_work": None},
    ]
    assert [one["efficiency"] for one in on_one_reference(sides)] == [None, 0.9]
