"""One configuration has one prediction, whichever command is asked: the time, its interval and its basis."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from modak.facts import SeriesKey
from modak.ingest.reading import incoming
from modak.ingest.table import PLAIN
from modak.perfmodel.plotlines import plot_lines
from modak.results.metrics import metric, work_unit
from modak.service import Service, open_service
from modak.settings import Settings
from tests.conftest import copied

LOADED = """application,dataset,system,framework,compiler,precision,nodes,ranks_per_node,threads_per_rank,gpus_per_node,metric,value,unit
cfd,,supermuc-ng,,gcc-8.3,,1,48,1,,wall_time,900,s
cfd,,supermuc-ng,,gcc-8.3,,2,48,1,,wall_time,470,s
cfd,,supermuc-ng,,gcc-8.3,,4,48,1,,wall_time,250,s
cfd,,supermuc-ng,,gcc-8.3,,8,48,1,,wall_time,140,s
cfd,,supermuc-ng,,gcc-8.3,,16,48,1,,wall_time,90,s
cfd,,supermuc-ng,,,,1,48,1,,wall_time,800,s
cfd,,supermuc-ng,,,,2,48,1,,wall_time,430,s
cfd,,supermuc-ng,,,,4,12,4,,wall_time,260,s
cfd,,supermuc-ng,,icc-19,,4,48,1,,wall_time,230,s
cfd,,supermuc-ng,,icc-19,,8,48,1,,wall_time,120,s
md,water,supermuc-ng,,gcc-9,,1,48,1,,performance_ns,10,ns/day
md,water,supermuc-ng,,gcc-9,,2,48,1,,performance_ns,19,ns/day
md,membrane,supermuc-ng,,gcc-9,,1,48,1,,performance_ns,2,ns/day
md,membrane,supermuc-ng,,gcc-9,,2,48,1,,performance_ns,3.9,ns/day
md,membrane,supermuc-ng,,gcc-9,,4,48,1,,performance_ns,7.5,ns/day
net,imagenet,dgx-1,tensorflow,xla,fp32,1,1,,1,throughput,400,images/s
net,imagenet,dgx-1,tensorflow,xla,fp32,1,1,,2,throughput,760,images/s
net,imagenet,dgx-1,tensorflow,xla,fp32,1,1,,4,throughput,1400,images/s
net,imagenet,dgx-1,tensorflow,xla,fp32,2,1,,4,throughput,2500,images/s
net,imagenet,dgx-1,tensorflow,,fp32,1,1,,1,throughput,300,images/s
net,imagenet,dgx-1,tensorflow,,fp32,1,1,,2,throughput,580,images/s
net,cifar10,dgx-1,tensorflow,xla,amp,1,1,,4,throughput,9000,images/s
old,,supermuc-ng,,,,1,,,,wall_time,1100,s
old,,supermuc-ng,,,,2,,,,wall_time,600,s
old,,supermuc-ng,,,,4,,,,wall_time,350,s
old,,supermuc-ng,,,,8,,,,wall_time,225,s
old,,supermuc-ng,,,,4,48,1,,wall_time,400,s
"""
"""Builds beside results that name none, graph compilers beside none, several data sets, GPUs, short series, a table without layouts."""
AMOUNT = 1000
"""What a request has to do, of what a rate counts."""


@pytest.fixture(scope="module")
def service(packaged_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The packaged results and those of :data:`LOADED`; for tests that load nothing."""
    file = copied(packaged_database, tmp_path_factory.mktemp("one-number") / "modak.db")
    with open_service(Settings(database_url=f"sqlite:///{file}")) as opened:
        opened.load(incoming(["-"], PLAIN, io.BytesIO(LOADED.encode())))
        yield opened


@pytest.fixture
def own_service(own_database: Path) -> Iterator[Service]:
    """The packaged results, to which a test adds others."""
    with open_service(Settings(database_url=f"sqlite:///{own_database}")) as opened:
        yield opened


@pytest.fixture(scope="module")
def kinds(service: Service) -> list[SeriesKey]:
    """Every problem that was measured somewhere, and in which metric."""
    found = {
        (k.application, k.system, k.dataset, k.metric, str(k.params)): k for k in (curve.series for curve in service.curves().values())
    }
    # Whole runs there; others measured epochs of that data set: a request without a length is told an epoch, a row its metric.
    return [kind for kind in found.values() if kind.system not in (None, "xeon-platinum-8160-448-node")]


def test_what_recommend_lists_predict_says(service: Service, kinds: list[SeriesKey]) -> None:
    """Time, interval and basis of every configuration that is listed for what was measured, where it was measured."""
    told, differing = _compared(service, kinds)
    assert told > 100
    assert not differing


def test_what_recommend_lists_of_another_system_predict_says(service: Service, kinds: list[SeriesKey]) -> None:
    """Likewise where nothing was measured, and partitions have other names; of problems that are named."""
    named = [kind.model_copy(update={"system": system}) for kind in kinds if kind.dataset for system in ("stampede2", "dgx-1-v100")]
    told, differing = _compared(service, named)
    assert told > 100
    assert not differing


def _compared(service: Service, kinds: list[SeriesKey]) -> tuple[int, list[tuple[Any, Any]]]:
    """How many configurations are listed with a time, and of which of them ``predict`` says something else: both predictions."""
    listed = [(kind, choice) for kind in kinds for choice in service.recommend(_request(kind))["choices"]]
    told = [(kind, choice) for kind, choice in listed if "value" in choice["prediction"]]
    answers = service.predict(_table([_row(kind, choice["configuration"]) for kind, choice in told]), "rows.csv")["rows"]
    return len(told), [
        (choice["prediction"], answer)
        for (kind, choice), answer in zip(told, answers, strict=True)
        if [choice["prediction"][name] for name in ("value", "lower", "upper")] != pytest.approx(_as_time(kind, answer))
        or choice["prediction"]["basis"] != answer["basis"]
    ]


def test_what_optimise_chooses_recommend_lists_first(service: Service, kinds: list[SeriesKey]) -> None:
    """The prediction of a plan is that of the first configuration that is recommended for the same request."""
    for request in map(_request, kinds):
        plan, first = service.optimise(request, keep=False)["job"]["plan"], service.recommend(request)["choices"][0]
        assert plan["prediction"] == first["prediction"]


def test_a_curve_is_drawn_where_predict_says(service: Service) -> None:
    """One doubling beyond the largest measured number of nodes."""
    curves = [curve for curve in service.curves().values() if curve.scale == "nodes"]
    drawn = plot_lines(curves, list(service.curves().values()))
    told = [
        curve.series.model_dump() | curve.layout.model_dump() | {"nodes": round(line.x[-1])}
        for curve, line in zip(curves, drawn, strict=True)
    ]
    rows = [_row(curve.series, each) for curve, each in zip(curves, told, strict=True)]
    answers = service.predict(_table(rows), "rows.csv")["rows"]
    assert len(rows) > 10
    for line, answer in zip(drawn, answers, strict=True):
        assert [float(answer[name]) for name in ("predicted", "lower", "upper")] == pytest.approx(
            [line.y[-1], line.lower[-1], line.upper[-1]]
        )


def test_what_parameters_tell_is_one_number(own_service: Service) -> None:
    """Of a network that was never run there, where many others were and where a few were: the row names what the configuration names."""
    compiled = [{**row, "compiler": "xla"} for row in _networks("zenith", 45, 3.0)]
    rows = [*_networks("hlrs-testbed", 50, 1.0), *_networks("zenith", 12, 2.0), *compiled]
    own_service.load(incoming(["-"], PLAIN, io.BytesIO(_table(rows))))
    for system, network in (("hlrs-testbed", 60), ("zenith", 40)):
        (row,) = _networks(system, 1, 1.0, network)
        params = {name: str(row[f"params.{name}"]) for name in ("gmacs", "macts")}
        kind = SeriesKey(application=row["application"], system=system, params=params, metric=row["metric"], unit=row["unit"])
        request = _request(kind)
        request["job"]["optimisation"]["workload"]["batch_size"] = row["batch_size"]
        for choice in own_service.recommend(request)["choices"]:
            (answer,) = own_service.predict(_table([_row(kind, choice["configuration"])]), "rows.csv")["rows"]
            numbers = [choice["prediction"][name] for name in ("value", "lower", "upper")]
            assert answer["basis"] == "transferred"
            assert _as_time(kind, answer) == pytest.approx(numbers)


def test_a_whole_run_of_known_length_is_one_number(own_service: Service) -> None:
    """Whole runs of ten epochs that printed the time of an epoch; 25 epochs are asked for."""
    told = {"application": "trained", "system": "supermuc-ng", "ranks_per_node": 48, "unit": "s", "params.epochs": 10}
    measured = [(1, 50.0, 540.0), (2, 26.0, 290.0), (4, 14.0, 185.0)]
    whole = [{**told, "nodes": nodes, "metric": "wall_time", "value": time} for nodes, _, time in measured]
    epochs = [{**told, "nodes": nodes, "metric": "epoch_time", "value": time} for nodes, time, _ in measured]
    own_service.load(incoming(["-"], PLAIN, io.BytesIO(_table([*whole, *epochs]))))
    kind = SeriesKey(application="trained", system="supermuc-ng", metric="wall_time", unit="s")
    request = _request(kind)
    request["job"]["optimisation"]["workload"]["epochs"] = 25
    choices = own_service.recommend(request)["choices"]
    rows = [{**_row(kind, choice["configuration"]), "params.epochs": 25} for choice in choices]
    for choice, answer in zip(choices, own_service.predict(_table(rows), "rows.csv")["rows"], strict=True):
        numbers = [choice["prediction"][name] for name in ("value", "lower", "upper")]
        assert _as_time(kind, answer) == pytest.approx(numbers)


TWO_SIZES = [
    {"application": "far", "system": system, "nodes": nodes, "ranks_per_node": 48, "metric": "wall_time", "value": value, "unit": "s"}
    for system, times in [("here", {1: 1000, 2: 520}), ("there", {64: 20, 128: 11, 256: 6})]
    for nodes, value in times.items()
]
"""Few nodes of one system, many of another one."""
BESIDE = [
    {**TWO_SIZES[0], "application": "near", "system": system, "nodes": nodes, "value": time / nodes + 1}
    for system, time in [("here", 100), ("there", 70)]
    for nodes in (1, 2, 4, 8, 16)
]
"""As many of both."""


@pytest.mark.parametrize("most", [4, 256])
def test_a_number_of_nodes_that_is_given_is_predicted_as_one_that_is_chosen(own_service: Service, most: int) -> None:
    """Of results of other systems those of about as many nodes answer, not those of any size that a later request may give."""
    own_service.load(incoming(["-"], PLAIN, io.BytesIO(_table(TWO_SIZES))))
    request = _request(SeriesKey(application="far", system="zenith", metric="wall_time", unit="s"))
    request["job"]["optimisation"]["objective"]["max_nodes"] = most
    choices = own_service.recommend(request)["choices"]
    assert len(choices) > 2
    for choice in choices:
        layout = choice["configuration"]
        request["job"]["job_options"] |= {"node_count": layout["nodes"], "process_count_per_node": layout["ranks_per_node"]}
        told = own_service.recommend(request)["choices"][0]["prediction"]
        assert [told[name] for name in ("value", "lower", "upper")] == pytest.approx(
            [choice["prediction"][name] for name in ("value", "lower", "upper")]
        )


def test_a_row_is_predicted_as_if_it_were_alone(own_service: Service) -> None:
    """Other sizes in the same table change nothing, not even what is said."""
    own_service.load(incoming(["-"], PLAIN, io.BytesIO(_table([*TWO_SIZES, *BESIDE]))))
    rows = [
        {**row, "system": "zenith", "value": ""} for row in (*TWO_SIZES, *BESIDE, {**BESIDE[0], "nodes": 4}, {**BESIDE[0], "nodes": 64})
    ]
    alone = [own_service.predict(_table([row]), "rows.csv")["rows"][0] for row in rows]
    assert own_service.predict(_table(rows), "rows.csv")["rows"] == alone
    assert [row["model"].split("system ")[1] for row in alone[:5]] == ["here"] * 2 + ["there"] * 3


def test_without_a_compiler_is_not_with_any(service: Service) -> None:
    """A row whose compiler is ``none`` is predicted from other runs if all results have one; an empty cell is open."""
    row = {"application": "net", "dataset": "cifar10", "system": "dgx-1", "framework": "tensorflow", "nodes": 1, "gpus_per_node": 4}
    open_, without = ({**row, "metric": "throughput", "unit": "images/s", "compiler": word} for word in ("", "none"))
    answers = service.predict(_table([open_, without]), "rows.csv")["rows"]
    assert [answer["basis"] for answer in answers] == ["measured", "transferred"]


def _networks(system: str, count: int, speed: float, first: int = 0) -> list[dict[str, Any]]:
    """Results of networks whose cost is what their operations and activations cost."""
    rows = []
    for network in range(first, first + count):
        gmacs, macts = 1 + network % 7, 2 + network % 11
        told = {
            "application": f"net-{network}",
            "system": system,
            "nodes": 1,
            "batch_size": 64,
            "params.gmacs": gmacs,
            "params.macts": macts,
        }
        rows.append({**told, "metric": "throughput", "value": speed * 1000 / (gmacs + macts / 3), "unit": "samples/s"})
    return rows


def _request(kind: SeriesKey) -> dict[str, Any]:
    rate = work_unit(metric(kind.metric, kind.unit))
    workload: dict[str, Any] = {"application": kind.application, "params": dict(kind.params)}
    workload |= {"dataset": kind.dataset} if kind.dataset else {}
    workload |= {"amount": f"{AMOUNT} {rate[0]}"} if rate else {}
    job = {
        "job_options": {"job_name": "one"},
        "application": {"app_tag": "one", "executable": "one"},
        "target": {"name": kind.system},
        "optimisation": {"workload": workload, "objective": {"minimise": "time", "max_nodes": 64}},
    }
    return {"job": job}


def _row(kind: SeriesKey, configuration: Mapping[str, Any]) -> dict[str, Any]:
    """The row of a result table that names what a configuration names, of a run without a container: no request here has an image."""
    names = ("nodes", "ranks_per_node", "threads_per_rank", "gpus_per_node", "batch_size", "precision", "mpi", "mpi_from", "numa_mode")
    named = {name: configuration.get(name) for name in (*names, "framework", "framework_version", "partition")}
    named["runtime"] = configuration.get("runtime") or "none"
    hyperthreads = {None: "", True: "true", False: "false"}[configuration.get("hyperthreads")]
    problem = {"application": kind.application, "dataset": kind.dataset, "system": kind.system, "metric": kind.metric, "unit": kind.unit}
    params = {f"params.{name}": value for name, value in kind.params.items()}
    return {**problem, **params, **named, "hyperthreads": hyperthreads, "compiler": configuration.get("compiler") or "none"}


def _table(rows: list[dict[str, Any]]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(dict.fromkeys(name for row in rows for name in row)), restval="")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def _as_time(kind: SeriesKey, answer: Mapping[str, Any]) -> list[float]:
    """What a row is answered, as the seconds that the request's work takes: time, lower and upper end."""
    numbers = [float(answer[name]) for name in ("predicted", "lower", "upper")]
    rate = work_unit(metric(kind.metric, kind.unit))
    return [AMOUNT * rate[1] / numbers[place] for place in (0, 2, 1)] if rate else numbers
