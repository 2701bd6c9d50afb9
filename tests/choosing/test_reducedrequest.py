from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from modak.choosing.candidates import enumerate_candidates
from modak.choosing.decision import decide
from modak.choosing.reducedrequest import SOFTWARE_FIELDS, counts_of, key_of_any_size, reduce_request, software_fields_key
from modak.choosing.scoring import predict_candidates
from modak.choosing.software import choose_software
from modak.dsl import Request
from modak.errors import Infeasible, ModakError
from modak.facts import Facts, Layout, Result, SeriesKey
from modak.normalise import normalise
from modak.optimise import optimise
from modak.perfmodel import fit
from modak.prepared import prepared
from modak.target import resolve
from tests.schedulers.test_every_field import VALUES

HERE = Path(__file__).parent.parent
EXAMPLES = [path for path in sorted((HERE.parent / "examples").glob("*.json")) if not path.stem.startswith("sizing")]
DOCUMENTS = [*EXAMPLES, *sorted((HERE / "requests").glob("*.json"))]


@pytest.fixture(scope="module")
def known(packaged_database: Path) -> Facts:
    """The packaged knowledge, with the models of the papers' network."""
    from modak.store import open_store

    with open_store(f"sqlite:///{packaged_database}") as store:
        return prepared(replace(store.snapshot(), models=store.models("3dgan")))


def request(path: Path) -> Request:
    """A request of the examples or of the tests."""
    return normalise(json.loads(path.read_text())).request


def tried(work: Any) -> Any:
    """What comes out, or the error that does."""
    try:
        return work()
    except ModakError as error:
        return error.faults


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_a_request_and_its_essence_have_the_same_candidates(known: Facts, path: Path) -> None:
    """Nothing that counts is left out of it: shapes, sizes, reasons and warnings are equal."""
    whole = request(path)
    target = resolve(whole, known)
    found = [tried(lambda each=each: enumerate_candidates(each, target, known.models)) for each in (whole, reduce_request(whole))]
    assert repr(found[0]) == repr(found[1])


@pytest.mark.parametrize("option", VALUES)
@pytest.mark.parametrize("of_gpus", [False, True])
def test_each_job_option_that_counts_is_in_the_essence(known: Facts, option: str, of_gpus: bool) -> None:
    """An option that is read and not kept would be heeded by the first of two requests alone, or by none; also where GPUs have cores."""
    for value in VALUES[option]:
        job: dict[str, Any] = {"target": {"name": "supermuc-ng"}, "application": {"app_type": "mpi"}, "job_options": {option: value}}
        if of_gpus:
            training = {"app_type": "ai_training", "ai_training": {"pytorch": {}}}
            job = {"target": {"name": "dgx-1-v100"}, "optimisation": training, "job_options": {"request_gpus": 1, option: value}}
        whole = tried(lambda job=job: normalise({"job": job}).request)
        if isinstance(whole, Request):
            target = resolve(whole, known)
            found = [
                tried(lambda each=each, target=target: enumerate_candidates(each, target, ())) for each in (whole, reduce_request(whole))
            ]
            assert repr(found[0]) == repr(found[1])


@pytest.mark.parametrize("field", ["memory_per_rank_gb", "memory_per_gpu_gb", "memory_aside_gb"])
def test_memory_that_does_not_fit_is_in_the_essence(known: Facts, field: str) -> None:
    """A request asking for more than a node has is refused, and so is the reduced one."""
    training = {"app_type": "ai_training", "ai_training": {"pytorch": {}}, "workload": {field: 10_000}}
    whole = normalise({"job": {"target": {"name": "dgx-1-v100"}, "optimisation": training}}).request
    target = resolve(whole, known)
    for each in (whole, reduce_request(whole)):
        with pytest.raises(Infeasible):
            enumerate_candidates(each, target, ())


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_a_request_and_its_essence_get_the_same_software(known: Facts, path: Path) -> None:
    """Image, recipe and rules, with their reasons and warnings."""
    whole = request(path)
    decision = tried(lambda: decide(whole, known))
    if not hasattr(decision, "best"):
        pytest.skip("nothing can be decided for it")
    shape = decision.candidates.shapes[int(decision.scored.shape[decision.best])]
    found = [
        tried(lambda each=each: choose_software(each, known, decision.target, shape, 2, "srun"))
        for each in (whole, reduce_request(whole, SOFTWARE_FIELDS))
    ]
    assert found[0] == found[1]


def test_requests_that_differ_in_names_and_lengths_are_of_one_essence() -> None:
    """Candidates do not depend on name, arguments and epochs, but on the number of nodes."""
    path = HERE.parent / "examples/3dgan-supermuc-ng.json"
    document = json.loads(path.read_text())
    document["job"]["job_options"]["job_name"] = "other"
    document["job"]["application"]["arguments"] = "--more"
    document["job"]["optimisation"]["workload"]["epochs"] = 7
    one, other = request(path), normalise(document).request
    for key in (counts_of, key_of_any_size, software_fields_key):
        assert key(one) == key(other)
    document["job"]["job_options"]["node_count"] = 8
    assert counts_of(normalise(document).request) != counts_of(one)


@pytest.mark.parametrize("nodes", [1, 3, 256, 257, 700])
def test_a_size_predicted_with_its_neighbours_is_what_it_is_alone(known: Facts, nodes: int) -> None:
    """Cost, spread, basis and efficiency of every shape, on either side of where a block of sizes ends."""
    document = json.loads((HERE.parent / "examples/3dgan-supermuc-ng.json").read_text())
    document["job"]["job_options"]["node_count"] = nodes
    asked = normalise(document).request
    target = resolve(asked, known)
    candidates = enumerate_candidates(asked, target, known.models)
    alone, among = (predict_candidates(reduce_request(asked), target, candidates, known, place) for place in (None, "there"))
    assert among.basis == alone.basis
    assert set(among.nodes) == {nodes}
    there, here = ([(one.cost, one.share) for one in each.references] for each in (among, alone))
    np.testing.assert_allclose(there, here, rtol=1e-12)
    for name in ("value", "width", "doublings"):
        np.testing.assert_allclose(getattr(among, name), getattr(alone, name), rtol=1e-12, err_msg=name)


@pytest.mark.parametrize("nodes", [2, 100])
def test_efficiency_at_a_given_size_does_not_depend_on_results_that_answer_for_its_neighbours(known: Facts, nodes: int) -> None:
    """Those of other systems, measured on few nodes and on many, each answer for sizes of their own."""
    measured = [("few", 1, 1000.0), ("few", 2, 520.0), ("many", 64, 90.0), ("many", 128, 60.0)]
    keys = {system: SeriesKey(application="far", system=system, metric="wall_time", unit="s") for system, *_ in measured}
    results = [Result(series=keys[system], layout=Layout(nodes=n, ranks_per_node=48), value=time) for system, n, time in measured]
    facts = replace(known, version="far", models=fit(results))
    job = {"application": {"app_tag": "far", "app_type": "mpi"}, "target": {"name": "supermuc-ng"}, "job_options": {"node_count": nodes}}
    asked = normalise({"job": {**job, "optimisation": {"app_type": "hpc", "hpc": {"mpi": {}}}}}).request
    target = resolve(asked, facts)
    candidates = enumerate_candidates(asked, target, facts.models)
    alone, among = (predict_candidates(reduce_request(asked), target, candidates, facts, place) for place in (None, "there"))
    there, here = (sorted((one.cost, one.share) for one in each.references) for each in (among, alone))
    np.testing.assert_allclose(there, here, rtol=1e-12)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_an_answer_from_memory_is_the_answer(known: Facts, path: Path) -> None:
    """What was kept of other requests, and of this one with other nodes, gives the same plan and texts, or the same refusal, as facts
    that nobody asked before."""
    whole = request(path)
    fresh = Facts(**{name: getattr(known, name) for name in Facts.__dataclass_fields__})
    for asked in (whole, *(whole.changed(job_options={"node_count": nodes}) for nodes in (10, 7, 2, 1))):
        assert tried(lambda each=asked: optimise(each, known)) == tried(lambda each=asked: optimise(each, fresh))


def test_a_number_of_nodes_from_memory_is_held_to_the_limit(known: Facts) -> None:
    """A job of more nodes than the partition allows is refused, whoever asked for fewer before."""
    asked = request(HERE.parent / "examples/3dgan-supermuc-ng.json")
    assert decide(asked.changed(job_options={"node_count": 512}), known).nodes == 512
    with pytest.raises(Infeasible, match="can have at most"):
        decide(asked.changed(job_options={"node_count": 10**6}), known)


def test_lengths_of_runs_are_told_apart_only_where_several_were_measured() -> None:
    """Requests of any length share what was predicted, unless another measured run is nearer to one of them."""
    key = SeriesKey(application="net", metric="wall_time", unit="s", params={"epochs": "1"})
    long = key.model_copy(update={"params": {"epochs": "20"}})
    results = [Result(series=series, layout=Layout(nodes=1), value=value) for series, value in ((key, 50.0), (long, 800.0))]

    def keys(known: Sequence[Result]) -> list[Hashable]:
        facts = prepared(Facts(version="1", models=fit(known)))
        jobs = [{"application": {"app_tag": "net"}, "optimisation": {"workload": {"epochs": count}}} for count in (1, 2, 15, 30)]
        return [decide(normalise({"job": job}).request, facts).asked for job in jobs]

    assert len(set(keys(results[1:]))) == 1
    several = keys(results)
    assert several[0] == several[1] != several[2] == several[3]
