"""Questions with the application or the data set in another spelling than results have."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable
from typing import Any

import pytest

from modak.errors import RequestError
from modak.ingest.reading import incoming
from modak.ingest.table import PLAIN
from modak.service import Service

TAKEN = [
    {"field": "optimisation.workload.application", "message": "no results of '3DGAN'; those of '3dgan' are used"},
    {"field": "optimisation.workload.dataset", "message": "no results of 'CLIC Calorimeter'; those of 'clic-calorimeter' are used"},
]
Ask = Callable[[Service, Any], Any]


@pytest.fixture
def respelt(document: dict[str, Any]) -> dict[str, Any]:
    """The example with the names of application and data set in other spellings."""
    return _named(document, application="3DGAN", dataset="CLIC Calorimeter")


def _named(document: dict[str, Any], **names: str) -> dict[str, Any]:
    changed = copy.deepcopy(document)
    changed["job"]["optimisation"]["workload"] |= names
    return changed


def _optimise(service: Service, asked: Any) -> Any:
    return service.optimise(asked)["job"]["plan"]


def _solve(service: Service, asked: Any) -> Any:
    solution = service.solve(asked)
    return {"warnings": [one.model_dump() for one in solution.warnings], "script": solution.texts.job_script.partition("# plan")[0]}


@pytest.mark.parametrize(
    ("ask", "part"),
    [
        (_optimise, "prediction"),
        (_solve, "script"),
        (Service.recommend, "choices"),
        (Service.next_runs, "runs"),
        (Service.size, "platforms"),
        (Service.validate, "valid"),
    ],
)
def test_the_only_other_spelling_is_taken(service: Service, document: dict[str, Any], respelt: dict[str, Any], ask: Ask, part: str) -> None:
    """The answer is that for the results' own spelling, with a warning for each name."""
    own, other = ask(service, document), ask(service, respelt)
    assert (other[part], [one for one in other["warnings"] if one in TAKEN]) == (own[part], TAKEN)


def test_a_job_records_what_results_call_it(service: Service, respelt: dict[str, Any]) -> None:
    """So that its result belongs to the series on which its prediction rests."""
    script = service.optimise(respelt)["job"]["job_content"]
    assert "3dgan" in script
    assert not any(name in script for name in ("3DGAN", "CLIC"))


def test_the_name_of_the_job_is_looked_for_too(service: Service, respelt: dict[str, Any]) -> None:
    """The warning is at the field that has it."""
    del respelt["job"]["optimisation"]["workload"]["application"]
    respelt["job"]["application"]["app_tag"] = "3DGAN"
    told = {one["field"]: one["message"] for one in service.validate(respelt)["warnings"]}
    assert told["application.app_tag"] == TAKEN[0]["message"]


@pytest.mark.parametrize(
    ("asked", "called"),
    [
        ({"Micro-Batch": "auto", "TP": "auto"}, {"Micro-Batch": "micro_batch", "TP": "tp"}),
        ({"MICRO-batch": 2, "tp": 4}, {"MICRO-batch": "micro_batch"}),
        ({"micro_batch": 2, "TP": 4, "tp": 4}, {}),
        ({"micro_batch": 2, "tpu": 4}, {}),
        ({"Micro-Batch": 2, "MICRO_BATCH": 1, "TP": 4}, {"TP": "tp"}),
        ({"Epochs": "auto", "TP": 4}, {"TP": "tp"}),
        ({"Epochs": 3, "TP": 4}, {"Epochs": "epochs", "TP": "tp"}),
    ],
)
def test_parameters_are_those_of_the_only_other_spelling(service: Service, asked: dict[str, Any], called: dict[str, str]) -> None:
    """Also those that are left open; not if the request names that one, too, or twice, nor to leave open how long a run is."""
    head = "application,system,nodes,metric,value,params.tp,params.micro_batch,params.epochs\n"
    cells = [(nodes, 900 / nodes + tp, tp, batch) for nodes in (1, 2, 4) for tp, batch in ((2, 1), (4, 2))]
    rows = "".join("llm,zenith,{},wall_time,{},{},{},3\n".format(*each) for each in cells)
    service.load(incoming(["-"], PLAIN, io.BytesIO((head + rows).encode())))

    def recommended(params: dict[str, Any]) -> Any:
        job = {"target": {"name": "zenith"}, "optimisation": {"workload": {"application": "llm", "params": params}}}
        return service.recommend({"job": job})

    found = recommended(asked)
    said = [one["message"] for one in found["warnings"] if one["field"] in [f"optimisation.workload.params.{name}" for name in asked]]
    used = [text for text in said if text.endswith("are used")]
    assert used == [f"no results of {name!r}; those of {own!r} are used" for name, own in called.items()]
    assert found["choices"] == recommended({called.get(name, name): value for name, value in asked.items()})["choices"]


def test_rows_are_predicted_from_the_only_other_spelling(service: Service) -> None:
    """With the names as the table has them, and a warning for each."""
    head, rest = "application,system,dataset,nodes,metric\n", ",supermuc-ng,{},4,epoch_time\n"
    rows = [f"3dgan{rest.format('clic-calorimeter')}", f"3DGAN{rest.format('CLIC Calorimeter')}"]
    answer = service.predict((head + "".join(rows)).encode(), "points.csv")
    own, other = answer["rows"]
    assert (other["predicted"], other["basis"], other["application"]) == (own["predicted"], "measured", "3DGAN")
    assert answer["warnings"][:2] == [{**one, "field": one["field"].rpartition(".")[2]} for one in TAKEN]


def test_data_sets_of_rows_are_spelt_as_their_own_application_has_them(service: Service) -> None:
    """Another application in the same table may spell them in the way of the row, or in a third one."""
    head = "application,dataset,nodes,metric"
    runs = [f"{name},{data},{nodes},wall_time,{80 / nodes}\n" for name, data in (("one", "Big"), ("two", "big")) for nodes in (1, 2, 4)]
    service.load(incoming(["-"], PLAIN, io.BytesIO(f"{head},value\n{''.join(runs)}".encode())))
    asked = f"{head}\none,big,2,wall_time\none,BIG,2,wall_time\ntwo,BIG,2,wall_time\ntwo,big,2,wall_time\n"
    answer = service.predict(asked.encode(), "points.csv")
    assert [row["basis"] for row in answer["rows"]] == ["measured"] * 4
    told = [one["message"] for one in answer["warnings"] if one["field"] == "dataset"]
    assert [each[len("no results of ") :] for each in told] == [
        "'BIG'; those of 'Big' are used",
        "'BIG'; those of 'big' are used",
        "'big'; those of 'Big' are used",
    ]


@pytest.mark.parametrize("other", ["3dGan", "3DGAN"])
def test_of_several_spellings_none_is_taken_and_an_own_one_is_kept(service: Service, document: dict[str, Any], other: str) -> None:
    """Two that differ so may be two applications; one with results of its own is never another one."""
    table = f"application,system,metric,value,unit,nodes\n{other},zenith,epoch_time,100,s,1\n"
    service.load(incoming(["-"], PLAIN, io.BytesIO(table.encode())))
    assert not service.validate(_named(document, application="3DGAN"))["warnings"]


def test_strict_refuses_another_spelling(service: Service, respelt: dict[str, Any]) -> None:
    """As it does all that is not read as it is written."""
    with pytest.raises(RequestError, match=r"no results of '3DGAN'.*strict"):
        service.optimise(respelt, strict=True)
