"""The form of a new job makes the document that a person would have written."""

from __future__ import annotations

from typing import Any

import pytest

from modak.errors import RequestError
from modak.normalise import normalise
from modak.plugins import names
from modak.web import form

FILLED = {
    **{"command": "python3 train.py --epochs 20", "program": "tensorflow", "distributed": "yes", "application": "3dgan"},
    **{"dataset": "clic-calorimeter", "epochs": "20", "system": "supermuc-ng", "account": "pr12ab", "partition": ""},
    **{"image": " ", "wall_time": "02:00:00", "minimise": "node_hours", "deadline": "01:00:00", "confidence": "0.9", "max_nodes": "64"},
    **{"nodes": "", "gpus": "", "threads": "12", "memory": "64 GB", "batch": "8", "runtime": "charliecloud", "pattern": "took ([0-9.]+) s"},
}
METRIC = {"name": "epoch_time", "unit": "s", "pattern": "took ([0-9.]+) s"}


def test_fields_become_the_request_that_they_mean() -> None:
    """Empty ones are left out; numbers are numbers."""
    assert form.document(FILLED) == {
        "job": {
            "application": {"app_type": "python", "executable": "python3 train.py --epochs 20", "threads": 12},
            "job_options": {"account": "pr12ab", "wall_time_limit": "02:00:00", "memory_limit": "64 GB"},
            "target": {"name": "supermuc-ng", "container_runtime": "charliecloud"},
            "optimisation": {
                "app_type": "ai_training",
                "ai_training": {"config": {"distributed_training": True}, "tensorflow": {}},
                "workload": {"application": "3dgan", "dataset": "clic-calorimeter", "epochs": 20, "batch_size": 8, "metric": METRIC},
                "objective": {"minimise": "node_hours", "deadline": "01:00:00", "confidence": 0.9, "max_nodes": 64},
            },
        }
    }


def test_whether_training_takes_several_processes_may_be_left_to_the_results() -> None:
    """A box that is not ticked says nothing."""
    optimisation = form.document({"command": "python3 train.py", "program": "pytorch"})["job"]["optimisation"]
    assert optimisation["ai_training"] == {"pytorch": {}}


@pytest.mark.parametrize(("program", "kind"), [("mpi", "mpi"), ("openmp", "hpc")])
def test_programs_of_hpc_are_asked_for_as_such(program: str, kind: str) -> None:
    """With the section that names how they are parallel."""
    job = form.document({"command": "./solve", "program": program})["job"]
    assert job["application"]["app_type"] == kind
    assert job["optimisation"] == {"app_type": "hpc", "hpc": {program: {}}}


def test_a_fault_is_told_at_the_field_of_the_form() -> None:
    """What it decides otherwise, too; that of a section by the title of its group, and any other by its path."""
    assert form.called("job_options.account") == ("Account", "account")
    assert form.called("optimisation.objective") == ("Goal", "")
    assert form.called("optimisation.nothing") == ("optimisation.nothing", "")
    assert (form.called("job_options.queue"), form.called("target.job_scheduler_type")) == (
        ("Partition", "partition"),
        ("System", "system"),
    )
    assert form.called("optimisation.ai_training.caffe") == ("Kind of program", "program")


def test_each_runtime_is_offered_and_none_first() -> None:
    """A program or Python environment of one's own is what most have; a choice is read without a warning."""
    offered = [key for key, _ in form.runtimes()]
    asked = [normalise(form.document({"command": "./a", "runtime": key}), strict=True).request.target.container_runtime for key in offered]
    assert (offered[:2], asked[0], asked[1:], set(offered) >= set(names("runtimes"))) == (["", "none"], None, offered[1:], True)


def test_a_name_that_the_form_does_not_have_is_found() -> None:
    """The first of a field of the request; files and addresses are none."""
    texts = [
        "'Epochs' of 1.0; see /etc/target.toml, my-config.d, config.sh, application.py",
        "submit it with job_options.signal, or application.threads",
    ]
    assert (form.unnamed(texts[:1]), form.unnamed(texts)) == (None, "job_options.signal")
    assert form.unnamed(["optimisation.workload.memory_per_rank_gb.", "x"]) == "optimisation.workload.memory_per_rank_gb"


def test_sentences_name_fields_as_the_form_does() -> None:
    """Those that it has, and whole names alone."""
    told = form.in_words("name it (workload.dataset) or set max_nodes; optimisation.workload.epochs, application.build, x.target.name.y")
    assert told == "name it ('Data set or problem') or set 'At most this many nodes'; 'Epochs', application.build, x.target.name.y"


@pytest.mark.parametrize("program", [key for key, _ in form.programs()])
def test_every_kind_of_program_is_read_without_a_warning(program: str) -> None:
    """With a value in each other field, too."""
    values = {**FILLED, "program": program, "partition": "thin", "nodes": "4", "gpus": "0", "image": "docker://a/b:1"}
    values |= {"samples": "60000", "amount": "100 ns", "params": "cells=64"}
    assert normalise(form.document(values), strict=True).warnings == ()


@pytest.mark.parametrize("spread", [{}, {"distributed": "yes"}])
@pytest.mark.parametrize("program", [key for key, _ in form.programs() if key not in ("", "mpi", "openmp")])
def test_a_request_fills_in_the_form_that_made_it(program: str, spread: dict[str, str]) -> None:
    """All fields, so that one of them can be changed."""
    filled = {
        name: text
        for name, text in {**FILLED, "nodes": "4", "params": "cells=64 tp=auto"}.items()
        if text.strip() and name != "distributed"
    }
    filled |= {"program": program, **spread}
    assert form.filled(form.document(filled)) == filled


@pytest.mark.parametrize(
    "job",
    [
        {"application": {"app_tag": "a"}},
        {"application": {"executable": "a", "mpi_ranks": 4}},
        {"application": {"executable": "a \\\n--all"}},
        {"application": {"executable": " "}},
        *(
            {"application": {"executable": "a"}, "optimisation": {"workload": {"params": of}}}
            for of in ({"a": "1,2"}, {"a": "x y"}, {"a": ""}, "n")
        ),
        "text",
        {},
    ],
)
def test_a_request_that_no_form_makes_fills_in_none(job: Any) -> None:
    """What the form cannot say would be lost."""
    assert form.filled({"job": job}) is None


@pytest.mark.parametrize(("text", "read"), [("8", 8), ("0.5", 0.5), ("-1", "-1"), ("1e3", "1e3"), ("many", "many"), ("٣", "٣")])
def test_what_is_no_number_is_left_for_the_reader_of_requests(text: str, read: Any) -> None:
    """It says what is allowed, and names the field."""
    assert form.document({"command": "./run", "max_nodes": text})["job"]["optimisation"] == {"objective": {"max_nodes": read}}


def test_parameters_have_names() -> None:
    """Blanks, commas or semicolons separate them; none is given twice."""
    job = form.document({"command": "./run", "params": "n=8, tp=auto;x=y=z"})["job"]
    assert job["optimisation"]["workload"] == {"params": {"n": 8, "tp": "auto", "x": "y=z"}}
    for text in ("n=8 16", "n=8 n=16"):
        with pytest.raises(RequestError, match="allowed: NAME=VALUE, several with blanks between them"):
            form.document({"command": "./run", "params": text})
    assert form.called("optimisation.workload.params.n") == ("Parameters of the program", "params")
