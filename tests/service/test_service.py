"""The use cases on a store: documents in, documents out, plans kept."""

from __future__ import annotations

import copy
import io
import json
import math
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from modak.errors import Conflict, DataError, NotFound, Unavailable
from modak.facts import Added, Image, ImageLabels, Rule
from modak.ingest.reading import incoming
from modak.ingest.table import PLAIN
from modak.normalise import normalise
from modak.service import Service, open_service
from modak.service.factfinder import FactFinder
from modak.service.records import item_called
from modak.settings import Settings, read_settings
from modak.store.audit import Actor
from modak.target import find_system
from tests.conftest import ROOT


@pytest.fixture
def service(own_database: Path) -> Iterator[Service]:
    """The use cases on a copy of the packaged knowledge, as the REST service opens them."""
    with open_service(Settings(database_url=f"sqlite:///{own_database}"), plan_days=30) as opened:
        yield opened


@pytest.fixture
def load(service: Service) -> Callable[[str], Any]:
    """Load a table."""
    return lambda text: service.load(incoming(["-"], PLAIN, io.BytesIO(text.encode())))


def test_what_was_sent_is_not_changed(service: Service, document: dict[str, Any]) -> None:
    """The answer is a copy."""
    before = copy.deepcopy(document)
    service.optimise(document)
    assert document == before


def test_the_answer_is_a_request_that_gives_the_same_configuration(service: Service, document: dict[str, Any]) -> None:
    """Counts that were filled in are kept when they are given."""
    first = service.optimise(document)
    second = service.optimise(first)
    names = ("nodes", "ranks_per_node", "threads_per_rank", "image", "runtime")
    assert [second["job"]["plan"]["configuration"][name] for name in names] == [
        first["job"]["plan"]["configuration"][name] for name in names
    ]


def test_a_plan_is_kept_until_it_expires(service: Service, document: dict[str, Any]) -> None:
    """As it was answered, with its script; thirty days for anonymous callers."""
    answer = service.optimise(document)
    kept = service.store.plans.get(answer["job"]["plan"]["id"])
    assert service.plan(kept.id) == answer
    assert service.texts(kept.id).job_script == answer["job"]["job_content"]
    assert kept.expires_at is not None
    assert kept.expires_at - kept.created_at == pytest.approx(timedelta(days=30), abs=timedelta(minutes=1))


def test_the_same_request_again_is_the_same_plan(service: Service, document: dict[str, Any]) -> None:
    """On the same data, under the same id."""
    assert service.optimise(document) == service.optimise(document)


def test_a_question_keeps_no_plan(service: Service, document: dict[str, Any]) -> None:
    """``keep=False`` for callers that get no id."""
    document["job"]["job_options"]["job_name"] = "nobody-else-asks-this"
    answer = service.optimise(document, keep=False)
    with pytest.raises(NotFound):
        service.plan(answer["job"]["plan"]["id"])


def test_rows_of_one_answer_are_predicted_from_one_state(service: Service, own_database: Path) -> None:
    """Also those of different applications, whatever is loaded meanwhile."""
    seconds = count(100)

    def load_both(*_: object) -> None:
        table = "application,metric,nodes,value\n" + "".join(f"{name},wall_time,1,{next(seconds)}\n" for name in ("a", "b"))
        other.load(incoming(["-"], PLAIN, io.BytesIO(table.encode())), replace=True)

    with open_service(Settings(database_url=f"sqlite:///{own_database}"), plan_days=30) as other:
        load_both()
        event.listen(service.store.engine, "checkin", load_both)  # whenever something was read
        rows = service.predict(b"application,metric,nodes\na,wall_time,1\nb,wall_time,1\n", "p.csv")["rows"]
    assert rows[1]["predicted"] - rows[0]["predicted"] == pytest.approx(1)


def test_facts_come_from_memory_until_the_data_changes(service: Service, load: Callable[[str], Any]) -> None:
    """And are new at the first question after that."""
    before = service.facts("3dgan")
    assert service.facts("3dgan") is before
    load("application,metric,value\nmine,wall_time,10\n")
    after = service.facts("3dgan")
    assert after.version != before.version


def test_doubted_results_are_named_before_new_runs_are_asked_for(service: Service, load: Callable[[str], Any]) -> None:
    """A pilot job is the advice only if no result is doubted, or its own file calls it wrong."""
    load("application,metric,value,suspect\nown,wall_time,9,\nown,wall_time,8,\nown,wall_time,7,a broken node\n")
    service.judge("doubt", "-", "another machine", Actor("you"))
    request = {"job": {"optimisation": {"workload": {"application": "own"}}}}
    first, *_ = service.recommend(request)["advice"]
    assert first.startswith("no model rests on the doubted results of 'own' (2): 'modak results list --doubted --application own' shows")


def test_results_of_a_similar_name_are_named_before_new_runs_are_asked_for(service: Service, load: Callable[[str], Any]) -> None:
    """A misspelt application need not be measured again."""
    load("application,metric,value\nGROMACS,wall_time,9\n")
    first, *_ = service.recommend({"job": {"optimisation": {"workload": {"application": "gromax"}}}})["advice"]
    assert first.startswith(
        "there is no usable result of 'gromax': if it is 'GROMACS', of which there are results, name it so (workload.application);"
    )


def test_an_application_is_not_named_as_similar_to_itself(service: Service, load: Callable[[str], Any]) -> None:
    """What was measured of it says nothing of its time."""
    load("application,metric,value\nown,accuracy,0.9\n")
    first, *_ = service.recommend({"job": {"optimisation": {"workload": {"application": "own"}}}})["advice"]
    assert first.startswith("there is no usable result of 'own': run a pilot job")
    assert "first ('modak results plan' writes scripts for it, on the machine of the database)" in first


def test_a_pilot_without_a_record_is_loaded_by_its_time(service: Service) -> None:
    """Its job writes no file that could be loaded."""
    application = {"write_result": False, "executable": "./own"}
    request = {"job": {"application": application, "optimisation": {"workload": {"application": "own"}}}}
    first, *_ = service.recommend(request)["advice"]
    assert first.endswith("then load its time with 'modak load'")


def test_doubted_results_of_exactly_the_chosen_layout_are_named(service: Service, load: Callable[[str], Any]) -> None:
    """Where no others are of it; not those of other layouts or sizes."""
    rows = [f"own,zenith,wall_time,{nodes},{ranks},10,{960 / nodes / ranks}\n" for ranks in (2, 4) for nodes in (1, 2, 4, 8)]
    load(f"application,system,metric,nodes,ranks_per_node,threads_per_rank,value\n{''.join(rows)}")
    items = service.results({"application": "own"})["items"]
    service.judge("doubt", [item["id"] for item in items if item["ranks_per_node"] == 4], "throttled", Actor("you"))
    request = {"job": {"target": {"name": "zenith"}, "optimisation": {"workload": {"application": "own"}}}}
    said = "left out: 1 doubted result of exactly this layout; 'modak results list --doubted --application own' shows why"
    for nodes, ranks, there in ((4, 4, True), (4, 2, False), (3, 4, False)):
        request["job"]["job_options"] = {"node_count": nodes, "process_count_per_node": ranks}
        assert any(text.startswith(said) for text in service.recommend(request)["advice"]) is there


@pytest.mark.parametrize(("wanted", "there"), [("1.1", False), ("1.10", True)])
def test_doubted_results_of_another_version_are_not_of_this_run(
    service: Service, load: Callable[[str], Any], wanted: str, *, there: bool
) -> None:
    """1.10 is no 1.1 where both were run."""
    rows = [f"own,zenith,{nodes},2,20,{version},wall_time,{960 / nodes}\n" for version in ("1.1", "1.10") for nodes in (1, 2, 4, 8)]
    load(f"application,system,nodes,ranks_per_node,threads_per_rank,params.library,metric,value\n{''.join(rows[:2] + rows[3:])}")
    items = service.results({"application": "own"})["items"]
    doubted = [item["id"] for item in items if item["params.library"] == "1.10" and item["nodes"] == 4]
    service.judge("doubt", doubted, "throttled", Actor("you"))
    work = {"application": "own", "params": {"library": wanted}}
    options = {"node_count": 4, "process_count_per_node": 2}
    request = {"job": {"target": {"name": "zenith"}, "job_options": options, "optimisation": {"workload": work}}}
    assert any(text.startswith("left out: 1 doubted") for text in service.recommend(request)["advice"]) is there


@pytest.mark.parametrize("another", [",latency,0.1", "fast,wall_time,100"])
def test_doubted_results_that_predict_nothing_here_are_not_named(service: Service, load: Callable[[str], Any], another: str) -> None:
    """Those of a metric that gives no time of a run, or with a switch that neither request nor the other results name."""
    rows = [f"own,zenith,{nodes},2,20,,wall_time,{960 / nodes}\n" for nodes in (1, 2, 8)]
    load(f"application,system,nodes,ranks_per_node,threads_per_rank,params.mode,metric,value\n{''.join(rows)}own,zenith,4,2,20,{another}\n")
    numbers = [item["id"] for item in service.results({"application": "own"})["items"] if item["nodes"] == 4]
    service.judge("doubt", numbers, "throttled", Actor("you"))
    options = {"node_count": 4, "process_count_per_node": 2}
    request = {"job": {"target": {"name": "zenith"}, "job_options": options, "optimisation": {"workload": {"application": "own"}}}}
    assert not any("doubted" in text for text in service.recommend(request)["advice"])
    asked = b"application,system,metric,nodes,ranks_per_node,threads_per_rank\nown,zenith,wall_time,4,2,20\n"
    assert not any("doubted" in each["message"] for each in service.predict(asked, "t.csv")["warnings"])


@pytest.mark.parametrize("doubted", [1, 4])
def test_rows_with_only_doubted_results_are_counted(service: Service, load: Callable[[str], Any], doubted: int) -> None:
    """In one warning for the table, also where an application has no other results."""
    header = "application,system,metric,nodes,ranks_per_node,threads_per_rank"
    asked = [f"own,zenith,wall_time,{nodes},2,20" for nodes in (1, 2, 4, 8)]
    load(f"{header},value\n" + "".join(f"{row},{960 / 2**number}\n" for number, row in enumerate(asked)))
    service.judge("doubt", [one["id"] for one in service.results({"application": "own"})["items"][:doubted]], "throttled", Actor("you"))
    warnings = service.predict("\n".join([header, *asked, ""]).encode(), "t.csv")["warnings"]
    assert [each["message"][:34] for each in warnings if "doubted" in each["message"]] == [f"{doubted} of 4 rows have only doubted resu"]


TIMED = "application,framework,system,nodes,ranks_per_node,threads_per_rank,metric,value,unit\n" + "".join(
    f"mine,{{framework}},supermuc-ng,{nodes},4,12,{{metric}},{800 / nodes},s\n" for nodes in (1, 2, 4, 8)
)


@pytest.mark.parametrize(
    ("framework", "metric", "optimisation"),
    [
        ("", "wall_time", {}),
        ("pytorch", "wall_time", {"app_type": "ai_training", "ai_training": {"pytorch": {"distribution": "ddp"}}}),
        ("tensorflow", "wall_time", {"app_type": "ai_training", "ai_training": {"keras": {}}}),
        ("keras", "wall_time", {"app_type": "ai_training", "ai_training": {"keras": {}}}),
        ("pytorch", "epoch_time", {"app_type": "ai_training", "ai_training": {"pytorch": {"distribution": "ddp"}}}),
    ],
)
@pytest.mark.parametrize("runtime", ["charliecloud", "none"])
def test_what_a_job_tells_of_its_run_changes_the_next_answer(
    service: Service, load: Callable[[str], Any], framework: str, metric: str, optimisation: dict[str, Any], runtime: str
) -> None:
    """Whatever it says beyond the table that was there, and whatever it runs in: the next time it is measured."""
    load(TIMED.format(framework=framework, metric=metric))
    asked: dict[str, Any] = {
        "application": {"app_tag": "mine", "app_type": "mpi", "executable": "./mine"},
        "target": {"name": "supermuc-ng", "container_runtime": runtime},
        "job_options": {"node_count": 3},
        "optimisation": {**optimisation, **({"workload": {"epochs": 10}} if metric == "epoch_time" else {})},
    }
    first = service.optimise({"job": asked})["job"]
    record = json.loads("{" + first["job_content"].split("MODAK_RECORD='", 1)[1].split("'\n", 1)[0] + "}")
    told = {**record, "metric": "wall_time", "unit": "s", "value": 2 * first["plan"]["prediction"]["value"]}
    service.load(incoming(["-"], PLAIN, io.BytesIO(json.dumps([told]).encode())))
    prediction = service.optimise({"job": asked})["job"]["plan"]["prediction"]
    assert (prediction["basis"], prediction["value"]) == ("measured", pytest.approx(told["value"]))


def test_a_row_of_another_kind_of_nodes_is_not_measured(service: Service, load: Callable[[str], Any]) -> None:
    """Partitions of one system: the fat nodes of SuperMUC-NG have the processors of the thin ones, the T4 nodes of another one no V100."""
    header = "application,system,partition,nodes,gpus_per_node,metric"
    places = (("supermuc-ng", "thin", "fat", ""), ("fujitsu-primeflex-small", "rx2540-v100", "rx2540-t4", 2))
    load(f"{header},value\n" + "".join(f"mine,{system},{name},1,{gpus},wall_time,60\n" for system, name, _, gpus in places))
    asked = "".join(f"mine,{system},{name},1,{gpus},wall_time\n" for system, _, name, gpus in places)
    thin, t4 = service.predict(f"{header}\n{asked}".encode(), "asked.csv")["rows"]
    assert thin["upper"] / thin["lower"] < 2
    assert (t4["predicted"], t4["upper"] / t4["lower"] > 5) == (pytest.approx(60 * 900 / 320), True)


@pytest.mark.parametrize("name", ["unknown", "known"])
def test_further_applications_of_a_table_cost_no_query(service: Service, load: Callable[[str], Any], name: str) -> None:
    """However many there are in one table, and whether they were measured or not."""
    load("application,metric,value\n" + "".join(f"known{row},wall_time,60\n" for row in range(50)))
    service.store.models()  # fitted
    asked = list[str]()
    counts = []
    event.listen(service.store.engine, "before_cursor_execute", lambda *given: asked.append(given[2]))
    for rows in (1, 2, 50):
        service.predict(("application,metric\n" + "".join(f"{name}{row},wall_time\n" for row in range(rows))).encode(), "asked.csv")
        counts.append(len(asked))
        asked.clear()
    assert counts[1] == counts[2]


def test_threads_get_the_same_answers(service: Service, document: dict[str, Any]) -> None:
    """The facts in memory are shared, nothing else is."""
    alone = service.optimise(document)
    with ThreadPoolExecutor(4) as pool:
        assert all(answer == alone for answer in pool.map(service.optimise, [document] * 12))


def test_sections_without_the_key_job_are_answered_below_it(service: Service) -> None:
    """A tolerated spelling; the answer has the documented one."""
    answer = service.optimise({"application": {"executable": "./a"}, "job_options": {"Node-Count": 2}})
    assert answer["job"]["application"]["executable"] == "./a"
    assert answer["job"]["job_options"] == {"Node-Count": 2, "process_count_per_node": 1}


def test_no_home_and_no_address_is_one_clear_line() -> None:
    """The setting is named, with an example."""
    with pytest.raises(Unavailable, match=r"MODAK_DATABASE_URL: HOME is not set.*sqlite:///modak.db"):
        open_service(read_settings({}))


NETWORKS = "application,params.gmacs,params.macts,metric,value,unit,system,nodes\n" + "".join(
    f"net{n},{1 + n % 7},{2 + n * n % 11},throughput,{(900 + n * 13 % 200) / (1 + n % 7 + n * n % 11)},samples/s,zenith,1\n"
    for n in range(50)
)


def network(params: Mapping[str, Any], **frameworks: dict[str, str]) -> dict[str, Any]:
    """A request for an application that was never run."""
    work = {"application": "net-of-tomorrow", "samples": 1000, "params": params}
    optimisation = {"workload": work} | ({"app_type": "ai_training", "ai_training": frameworks} if frameworks else {})
    return {"job": {"application": {"executable": "./train"}, "target": {"name": "zenith"}, "optimisation": optimisation}}


def test_an_application_that_was_never_run_is_told_from_its_parameters(service: Service, load: Callable[[str], Any]) -> None:
    """Where fifty others were measured on the target; without parameters there is no prediction."""
    load(NETWORKS)

    def basis(params: dict[str, float]) -> str:
        return str(service.optimise(network(params))["job"]["plan"]["prediction"]["basis"])

    assert (basis({"gmacs": 3, "macts": 5}), basis({})) == ("transferred", "none")


def test_estimates_have_no_values_of_open_parameters(service: Service, load: Callable[[str], Any]) -> None:
    """Nobody ran it with any."""
    load(NETWORKS)
    made = service.optimise(network({"gmacs": 3, "macts": 5, "tile": "auto"}))["job"]["plan"]
    assert (made["prediction"]["basis"], made["configuration"].get("params")) == ("transferred", None)


def test_an_application_that_ran_elsewhere_is_transferred(service: Service, load: Callable[[str], Any]) -> None:
    """Though fifty others were measured on the target: what it took elsewhere says more of it than its parameters."""
    load(NETWORKS.replace("zenith", "new-site"))
    load(NETWORKS.replace("net7,", "net-of-tomorrow,"))
    asked, finder = network({"gmacs": 1, "macts": 7}), FactFinder(service.store)
    (told,) = [curve for curve in finder.facts_for(normalise(with_target(asked, "new-site")).request).models if curve.estimated]
    assert str(told.estimated and told.estimated.model).startswith("49 calibration runs")
    assert not any(curve.estimated for curve in finder.facts_for(normalise(asked).request).models)  # where it ran


def test_parameters_tell_of_the_batch_size_that_is_asked(service: Service, load: Callable[[str], Any]) -> None:
    """Also after another one was asked for, with the same parameters."""
    header, *rows = NETWORKS.splitlines()
    powers = {8: 0, 64: 1}
    lines = [f"{row.replace(',samples', f'e{power},samples')},{size}" for row in rows for size, power in powers.items()]
    load("\n".join([f"{header},batch_size", *lines]))

    def took(size: int) -> float:
        asked = network({"gmacs": 3, "macts": 5})
        asked["job"]["optimisation"]["workload"]["batch_size"] = size
        return float(service.optimise(asked)["job"]["plan"]["prediction"]["value"])

    assert took(8) / took(64) == pytest.approx(10, rel=0.1)


def test_parameters_tell_however_the_results_write_the_system(service: Service, load: Callable[[str], Any]) -> None:
    """As measured runs do."""
    load(NETWORKS.replace("zenith", "ZENITH"))
    assert service.optimise(network({"gmacs": 3, "macts": 5}))["job"]["plan"]["prediction"]["basis"] == "transferred"


def test_parameters_tell_whichever_of_its_names_results_write_a_system_with(service: Service, load: Callable[[str], Any]) -> None:
    """Also those that came before its description named the alias: it is one system, for requests as for tables."""
    head, *lines = NETWORKS.splitlines(keepends=True)
    load("".join([head, *lines[:30], *(line.replace("zenith", "early") for line in lines[30:])]))
    called(service, "early")
    told = service.optimise(network({"gmacs": 3, "macts": 5}))["job"]["plan"]["prediction"]
    assert told["model"] == "2 parameters of 50 runs"


def test_parameters_add_curves_and_leave_what_else_is_known(service: Service, load: Callable[[str], Any]) -> None:
    """The measured application with a similar name is still told: the name may be a slip."""
    load(NETWORKS + "net-of-tomorow,3,5,throughput,100,samples/s,elsewhere,1\n")
    finder = FactFinder(service.store)
    before, after = finder.facts("net-of-tomorrow"), finder.facts_for(normalise(network({"gmacs": 3, "macts": 5})).request)
    assert len(after.models) > len(before.models)
    assert before.similar_application == after.similar_application == "net-of-tomorow"


def test_results_are_read_once_for_all_parameters(service: Service, load: Callable[[str], Any]) -> None:
    """However their values differ, until the data changes: at 300,000 results reading and fitting takes seconds."""
    load(NETWORKS)
    asked = list[str]()
    event.listen(service.store.engine, "before_cursor_execute", lambda *given: asked.append(given[2]))

    def reads(gmacs: int) -> int:
        asked.clear()
        service.solve(network({"gmacs": gmacs, "macts": 5}))
        return sum("FROM results" in each for each in asked)

    assert (reads(3) > 0, reads(4)) == (True, 0)
    load(NETWORKS.replace("net", "more"))
    assert service.optimise(network({"gmacs": 5, "macts": 5}))["job"]["plan"]["prediction"]["model"] == "2 parameters of 100 runs"


def test_what_is_told_from_parameters_is_not_forgotten_on_the_short_way(service: Service, load: Callable[[str], Any]) -> None:
    """An answer from memory alone would be without; where nothing is to be told there is one."""
    load(NETWORKS)
    for params, at_once in (({"gmacs": 3, "macts": 5}, False), ({}, True)):
        service.solve(network(params))
        assert (service.solve_at_once(network(params)) is not None) is at_once


def test_runs_that_failed_are_not_chosen_until_they_are_doubted(service: Service, load: Callable[[str], Any]) -> None:
    """Rows of a table, two of them without a time: the configuration that they are of."""
    times = ((1, 1, 800), (2, 1, 400), (4, 1, 200), (8, 1, "failed"), (8, 2, "failed"))
    rows = "".join(f"solver,supermuc-ng,{nodes},48,1,{repeat},wall_time,{time}\n" for nodes, repeat, time in times)
    load(f"application,system,nodes,ranks_per_node,threads_per_rank,repeat,metric,value\n{rows}")
    asked = {"app_type": "hpc", "hpc": {"mpi": {}}, "objective": {"minimise": "time", "max_nodes": 8}}
    job = {"application": {"app_tag": "solver", "app_type": "mpi"}, "target": {"name": "supermuc-ng"}, "optimisation": asked}

    def nodes() -> int:
        return int(service.recommend({"job": job})["choices"][0]["configuration"]["nodes"])

    before = nodes()
    failed = service.results({"application": "solver", "metric": "failed_runs"})["items"]
    service.judge("doubt", tuple(one["id"] for one in failed), "a disk was full")
    assert (before, nodes()) == (7, 8)


def test_sizes_and_next_runs_rest_on_parameters_too(service: Service, load: Callable[[str], Any]) -> None:
    """On the system where other networks were measured, also where the sizing is of every system; the others stay without a time."""
    load(NETWORKS)
    asked = network({"gmacs": 3, "macts": 5})
    asked["job"]["optimisation"]["objective"] = {"deadline": "24:00:00"}
    (run, *_) = service.next_runs(asked)["runs"]
    assert run["prediction"]["basis"] == "transferred"
    sized = {name: service.size(with_target(asked, name))["platforms"] for name in ("zenith", None)}
    bases = {one["system"]: one["time"]["basis"] for one in sized[None]}
    assert bases.pop("zenith") == "transferred"
    assert set(bases.values()) == {"none"}
    assert "2 parameters of 50 runs" in sized["zenith"][0]["time"]["why"]
    assert [one for one in sized[None] if one["system"] == "zenith"] == sized["zenith"]


def test_what_reading_the_request_found_is_among_the_warnings_of_a_sizing(service: Service) -> None:
    """A misspelt field of the goal would otherwise go unseen."""
    asked = network({"gmacs": 3})
    asked["job"]["optimisation"]["objective"] = {"deadline": "24:00:00", "max_nodez": 4}
    assert [one["field"] for one in service.size(asked)["warnings"] if one["field"].endswith("max_nodez")]


def test_of_items_with_similar_names_the_one_with_this_name_is_meant() -> None:
    """Tags of images differ in case, which other spellings may do without."""
    items = [{"reference": "docker://tool:A"}, {"reference": "docker://tool:a"}]
    assert [item_called(one["reference"], items, "reference", "image") for one in items] == items


def with_target(document: dict[str, Any], name: str | None) -> dict[str, Any]:
    """The request for another system, or for none."""
    return {"job": {**document["job"], "target": {"name": name}}}


def test_what_is_told_names_the_results_behind_it(service: Service, load: Callable[[str], Any]) -> None:
    """Those of the fifty others."""
    load(NETWORKS)
    plan = service.optimise(network({"gmacs": 3, "macts": 5}))["job"]["plan"]
    used = service.used_by(plan["id"])["items"]
    assert {result["application"] for result in used} == {f"net{n}" for n in range(50)}


def test_switches_left_open_are_told_beside_parameters(service: Service, load: Callable[[str], Any]) -> None:
    """Also where the same parameters were asked about before, with nothing left open."""
    pairs = [f"net{n},{1 + n % 7},throughput,{(1 + on) * 100},samples/s,zenith,1,{'xla' if on else ''}" for n in range(20) for on in (0, 1)]
    load(NETWORKS)
    load("application,params.gmacs,metric,value,unit,system,nodes,compiler\n" + "\n".join(pairs) + "\n")
    asked, left = ({"version": "2.1"}, {"version": "2.1", "xla": "auto"})
    service.solve(network({"gmacs": 3, "macts": 5}, tensorflow=asked))
    plan = service.optimise(network({"gmacs": 3, "macts": 5}, tensorflow=left))["job"]["plan"]
    assert any(line.startswith("xla: on") for line in plan["decisions"]), plan["decisions"]


SOLVER = "application,system,nodes,ranks_per_node,threads_per_rank,metric,value\n"
RUNS = "".join(f"solver,{{system}},{nodes},40,1,wall_time,{time}\n" for nodes, time in ((1, 800), (2, 420), (4, 220), (8, 120)))


def called(service: Service, system: str) -> None:
    """Let the system Zenith be called by another name, too."""
    zenith = service.facts().systems["zenith"]
    service.add([zenith.model_copy(update={"aliases": (system,)})], replace=True)


def test_results_may_call_a_system_by_an_alias(service: Service, load: Callable[[str], Any], document: dict[str, Any]) -> None:
    """They are its own results, whatever they and the request call it, also where they came before its description named the alias."""
    load(SOLVER + RUNS.format(system="Dell Z"))
    job = document["job"]
    job["application"] = {"app_tag": "solver", "app_type": "mpi", "executable": "./solver"}
    job["optimisation"], job["job_options"] = {"app_type": "hpc"}, {"node_count": 4}
    found = {}
    for name in ("zenith", "dell-z"):
        called(service, "dell-z")
        job["target"] = {"name": name}
        found[name] = service.optimise(document)["job"]["plan"]["prediction"]
    assert found["zenith"] == found["dell-z"]
    assert (found["zenith"]["basis"], found["zenith"]["value"]) == ("measured", pytest.approx(220))


@pytest.mark.parametrize("system", ["zenith", "Dell Z"])
def test_rows_may_call_a_system_by_an_alias(service: Service, load: Callable[[str], Any], system: str) -> None:
    """They are answered by the results that call it otherwise, and keep their own text."""
    called(service, "dell-z")
    load(SOLVER + RUNS.format(system="Dell Z"))
    asked = f"application,system,nodes,ranks_per_node,threads_per_rank,metric\nsolver,{system},4,40,1,wall_time\n"
    (row,) = service.predict(asked.encode(), "asked.csv")["rows"]
    assert (row["system"], row["basis"], row["predicted"]) == (system, "measured", pytest.approx(220))


def test_a_systems_own_name_is_no_alias(service: Service, load: Callable[[str], Any]) -> None:
    """Earlier versions let another system have it."""
    other = service.facts().systems["stampede2"].model_copy(update={"name": "mine", "aliases": ("Zenith",)})
    service.store.add([other], Actor("earlier"))
    assert service.facts().own_name("zenith") == "zenith"


def test_an_alias_of_two_systems_means_the_one_that_requests_mean(service: Service) -> None:
    """Earlier versions let both have it: results under it are of the system that answers."""
    stampede2, zenith = (service.facts().systems[name].model_copy(update={"aliases": ("ours",)}) for name in ("stampede2", "zenith"))
    service.store.add([stampede2, zenith], Actor("earlier"), replace=True)
    facts = service.facts()
    meant = find_system("ours", facts)
    assert meant
    assert facts.own_name("ours") == meant.name


@pytest.mark.parametrize(("nodes", "warned"), [(512, False), (100_000, True)])
def test_rows_far_beyond_the_data_are_called_guesses(service: Service, nodes: int, warned: bool) -> None:
    """In words, beyond four doublings; a column says how many."""
    table = f"application,system,ranks_per_node,threads_per_rank,metric,nodes\n3dgan,supermuc-ng,1,48,epoch_time,{nodes}\n"
    answer = service.predict(table.encode(), "asked.csv")
    assert (answer["rows"][0]["extrapolation"] > 4) is warned
    assert any("guesses" in warning["message"] for warning in answer["warnings"]) is warned


def test_systems_that_share_a_name_already_can_be_changed(service: Service) -> None:
    """Earlier versions let them in: each keeps what it has, and takes no more."""
    zenith = service.facts().systems["zenith"]
    mine = zenith.model_copy(update={"name": "mine", "aliases": ("ZENITH",)})
    service.store.add([mine], Actor("earlier"))
    assert service.add([mine.model_copy(update={"title": "changed"})], replace=True)
    with pytest.raises(Conflict, match="'mine' is a name of the system 'mine'"):
        service.add([zenith.model_copy(update={"aliases": ("mine",)})], replace=True)


@pytest.mark.parametrize(
    ("when", "note"),
    [
        ({"system": ["zenit", "zenith"]}, "no system 'zenit' is known; did you mean 'zenith'?"),
        ({"system": ["quux"]}, "no system 'quux' is known; until there is one, the name matches nothing"),
        ({"system": ["supermuc-ng"], "partition": ["fatt"]}, "no partition 'fatt' is known; did you mean 'fat'?"),
        ({"scheduler": ["slrum"]}, "no scheduler 'slrum' is known; did you mean 'slurm'?"),
        ({"launcher": ["srunn"]}, "no launcher 'srunn' is known; did you mean 'srun'?"),
        ({"runtime": ["aptainer"]}, "no runtime 'aptainer' is known; did you mean 'apptainer'?"),
    ],
)
def test_a_name_in_a_condition_that_nothing_has_is_noted(service: Service, when: dict[str, Any], note: str) -> None:
    """Not refused: the system may be described later."""
    rule = Rule(name="mine", title="t", source="s", script="true", when=when)
    assert service.add([rule]) == Added(True, (f"rule mine: {note}",))


def test_known_names_in_a_condition_need_no_note(service: Service) -> None:
    """In any spelling that conditions take; the partition of a system that is not described cannot be looked up."""
    known = {"system": ["SuperMUC_NG"], "partition": ["fat"], "scheduler": ["Slurm"], "runtime": ["singularity", "podman_hpc"]}
    rules = [Rule(name="mine", title="t", source="s", script="true", when=known)]
    assert service.add(rules).notes == ()
    (note,) = service.add([Rule(name="other", title="t", source="s", script="true", when={"system": ["quux"], "partition": ["p"]})]).notes
    assert "no system 'quux'" in note


@pytest.mark.parametrize(
    ("labels", "note"),
    [
        ({"microarchitecture": "haswel"}, "no microarchitecture 'haswel' is known; did you mean 'haswell'?"),
        ({"microarchitecture": "quux"}, "no microarchitecture 'quux' is known; only the same name matches it"),
        ({"architecture": "x86"}, "no architecture 'x86' is known; did you mean 'x86_64'?"),
    ],
)
def test_a_processor_of_an_image_that_no_system_can_have_is_noted(service: Service, labels: dict[str, str], note: str) -> None:
    """Not refused: it may be a new one."""
    labelled = ImageLabels.model_validate({"framework": "jax", "version": "0.10.2", "source": "pip", **labels})
    image = Image(reference="docker://a/mine:1", labels=labelled, source="s")
    assert service.add([image]) == Added(True, (f"image docker://a/mine:1: {note}",))


def test_a_microarchitecture_of_a_processor_that_is_not_known_is_noted(service: Service) -> None:
    """No image that is compiled for one would run there."""
    processor = service.facts().processors["xeon-gold-6148"].model_copy(update={"microarchitecture": "skylake-avx512"})
    note = "processor xeon-gold-6148: no microarchitecture 'skylake-avx512' is known; did you mean 'skylake_avx512'?"
    assert service.add([processor], replace=True).notes == (note,)


def test_a_name_passes_from_one_system_to_another(service: Service) -> None:
    """Both in one go: what counts is what they are called afterwards."""
    zenith = service.facts().systems["zenith"]
    first, second = (zenith.model_copy(update={"name": name, "aliases": ()}) for name in ("first", "second"))
    service.add([first.model_copy(update={"aliases": ("moving",)}), second])
    assert service.add([first, second.model_copy(update={"aliases": ("moving",)})], replace=True)


@pytest.mark.parametrize("kind", ["system", "image"])
def test_of_many_who_take_one_name_at_once_one_gets_it(service: Service, kind: str) -> None:
    """Whatever each of them saw before: a system by a name that reads alike, an image by its `opt_dsl_code`."""
    facts = service.facts()
    zenith, image = facts.systems["zenith"], facts.images[0]

    def take(number: int) -> int:
        system = zenith.model_copy(update={"name": "Site-1" if number % 2 else "site_1", "title": str(number), "aliases": ()})
        other = image.model_copy(update={"reference": f"docker://site/image:{number}", "opt_dsl_code": "taken"})
        try:
            return service.add([system if kind == "system" else other]).changed
        except Conflict:
            return False

    with ThreadPoolExecutor(8) as callers:
        assert sum(callers.map(take, range(24))) == 1


def test_no_two_images_have_one_name(service: Service) -> None:
    """Neither one beside another that is there, nor two that come together; an image keeps its own."""
    there, *others = service.facts().images[:3]
    named = [image.model_copy(update={"opt_dsl_code": "mine"}) for image in (there, *others)]
    with pytest.raises(Conflict, match=f"opt_dsl_code: 'mine' is the name of {there.reference}"):
        service.add(named[:2], replace=True)
    assert service.add(named[:1], replace=True)
    assert not service.add(named[:1])
    with pytest.raises(Conflict, match=f"opt_dsl_code: 'mine' is the name of {there.reference}"):
        service.add(named[1:2], replace=True)


def test_what_is_there_is_no_reason_to_refuse_something_else(service: Service) -> None:
    """Two images of one name, which got in before this was refused."""
    images = [image.model_copy(update={"opt_dsl_code": "mine"}) for image in service.facts().images[:2]]
    service.store.add(images, Actor("earlier"), replace=True)
    assert service.add([Rule(name="mine", title="mine", environment={"A": "1"}, source="mine")])
    assert service.add([images[1].model_copy(update={"opt_dsl_code": "other"})], replace=True)


@pytest.mark.parametrize("values", [("1e-30",) * 4, ("1e30",) * 4, ("1e30", "1e-30", "1e30", "1e-30")])
def test_results_of_any_size_are_answered(service: Service, load: Callable[[str], Any], values: tuple[str, ...]) -> None:
    """However wrong they are: loaded, and no request fails because of them."""
    rows = [f"odd,supermuc-ng,{nodes},1,48,wall_time,s,{value}" for nodes, value in zip((1, 2, 4, 8), values, strict=True)]
    load("\n".join(["application,system,nodes,ranks_per_node,threads_per_rank,metric,unit,value", *rows]))
    for least in ("time", "node_hours", "energy"):
        job = {"application": {"app_tag": "odd", "executable": "./odd"}, "target": {"name": "supermuc-ng"}}
        told = service.optimise({"job": {**job, "optimisation": {"objective": {"minimise": least}}}})["job"]["plan"]["prediction"]
        assert told["basis"] == "none" or 0 < told["lower"] <= told["value"] <= told["upper"] < math.inf


def test_any_number_of_failed_runs_is_answered(service: Service, load: Callable[[str], Any]) -> None:
    """However wrong it is: loaded, and no request fails because of it."""
    load(
        "application,system,nodes,metric,value\nodd,supermuc-ng,1,wall_time,9\nodd,supermuc-ng,2,wall_time,5\nodd,supermuc-ng,4,failed_runs,1e30"
    )
    job = {"application": {"app_tag": "odd", "executable": "./odd"}, "target": {"name": "supermuc-ng"}}
    assert service.optimise({"job": job})["job"]["plan"]["configuration"]["nodes"] < 4


@pytest.mark.parametrize(
    ("measured", "asked"), [("1e308", {"epochs": 1e-30}), ("5e-324", {"params": {"epochs": 1e308}}), ("10", {"epochs": 1e15})]
)
def test_runs_of_any_length_are_answered(service: Service, load: Callable[[str], Any], measured: str, asked: dict[str, Any]) -> None:
    """Those of results, and those of requests."""
    rows = [f"odd,supermuc-ng,{nodes},1,48,wall_time,s,{100 / nodes},{measured}" for nodes in (1, 2, 4)]
    load("\n".join(["application,system,nodes,ranks_per_node,threads_per_rank,metric,unit,value,params.epochs", *rows]))
    job = {"application": {"app_tag": "odd", "executable": "./odd"}, "target": {"name": "supermuc-ng"}}
    told = service.optimise({"job": {**job, "optimisation": {"workload": asked}}})["job"]["plan"]["prediction"]
    assert told["basis"] == "none" or 0 < told["lower"] <= told["value"] <= told["upper"] < math.inf


@pytest.mark.parametrize(
    "ask",
    [
        lambda service, go_on: service.evaluate(application="3dgan", go_on=go_on),
        lambda service, go_on: service.evaluate(holdout="problem", go_on=go_on),
        lambda service, go_on: service.compare("nodes", go_on=go_on),
        lambda service, go_on: service.next_runs(json.loads((ROOT / "examples/3dgan-supermuc-ng.json").read_text()), go_on=go_on),
    ],
)
def test_what_is_computed_from_many_results_ends_with_its_request(
    service: Service, load: Callable[[str], Any], ask: Callable[..., Any]
) -> None:
    """Nobody waits for it any more, and others wait for their turn."""

    def over() -> None:
        raise Unavailable("out of time")

    load("application,nodes,params.n,metric,value\n" + "".join(f"q,{n},{p},wall_time,{p / n}\n" for n in (1, 2, 4) for p in (1, 2, 4)))
    with pytest.raises(Unavailable, match="out of time"):
        ask(service, over)


def test_results_are_read_once_to_say_in_what_else_they_differ(service: Service, load: Callable[[str], Any]) -> None:
    """There may be a million of them."""
    load("application,system,nodes,metric,value\nq,alpha,1,wall_time,9\nq,beta,2,wall_time,5\n")
    pages: list[None] = []
    with pytest.raises(DataError, match="no results differ in system alone; the most alike also differ in nodes"):
        service.compare("system", filters={"application": "q"}, go_on=lambda: pages.append(None))
    assert len(pages) == 1


@pytest.mark.parametrize(("unit", "parts"), [("tokens/s/GPU", 32), ("tokens/s per node", 8), ("ktokens/s", 1000)])
def test_a_rate_of_each_part_is_predicted_in_its_own_unit(service: Service, load: Callable[[str], Any], unit: str, parts: int) -> None:
    """As it is loaded. A row that does not say of how many is refused."""
    header = "application,nodes,gpus_per_node,metric,unit"
    load(f"{header},value\n" + "".join(f"llm,{n},4,throughput,tokens/s,{400 * n**0.9}\n" for n in (1, 2, 4, 8)))
    asked = f"{header}\nllm,8,4,throughput,tokens/s\nllm,8,4,throughput,{unit}\nnone,8,4,throughput,{unit}\n"
    whole, each, unknown = service.predict(asked.encode(), "asked.csv")["rows"]
    for name in ("predicted", "lower", "upper"):
        assert each[name] == pytest.approx(whole[name] / parts)
    assert (each["unit"], unknown["unit"], unknown["predicted"]) == (unit, unit, None)
    with pytest.raises(DataError, match=r"asked\.csv:2: column 'unit': 'tokens/s/GPU': the row does not say of how many"):
        service.predict(b"application,metric,unit\nllm,throughput,tokens/s/GPU\n", "asked.csv")
