"""What changes the data over HTTP: it does what the command line does, in the name of the caller, and no more than was said."""

from __future__ import annotations

import gzip
import json
import re
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from modak.errors import RequestError
from modak.facts import Facts
from modak.normalise import normalise
from modak.optimise import optimise
from modak.results.failures import METRICS as FAILURES
from modak.results.reported import MOST_FAILED, results_of
from modak.store import open_store
from modak.store.audit import Actor
from tests.api.site import Site
from tests.conftest import Run

CSV = {"Content-Type": "text/csv"}
HEADER = "application,nodes,metric,value,unit\n"
ROWS = HEADER + "solver,1,wall_time,100,s\nsolver,2,wall_time,52,s\nsolver,4,wall_time,27,s\n"
IMAGE = {
    "reference": "docker://example/solver:1.0",
    "source": "this test",
    "labels": {"framework": "tensorflow", "version": "1.0", "source": "hub"},
}
VALUES = count(1000)
"""Seconds, other ones for each run."""
RULE = {"name": "quiet", "title": "says nothing", "source": "this test", "environment": {"QUIET": "1"}}


@pytest.fixture(scope="module")
def system() -> dict[str, Any]:
    """A system as a document, of hardware that is known."""
    return {
        "name": "annex",
        "title": "an annex",
        "site": "here",
        "scheduler": "slurm",
        "partitions": [{"name": "cpu", "nodes": 4, "node": {"processor": "xeon-platinum-8174", "sockets": 2, "cores": 48}}],
        "runtimes": [{"name": "apptainer"}],
        "sources": [{"fields": ["*"], "citation": "made for this test"}],
    }


def planned(site: Site, document: dict[str, Any]) -> tuple[str, str, dict[str, Any]]:
    """A plan: its id, a token for its result, and the report that its script would write."""
    job = site.call("POST", "/optimise", json=document).json()["job"]
    plan, record = job["plan"]["id"], re.search(r"^MODAK_RECORD='(.*)'$", job["job_content"], re.MULTILINE)
    assert record
    run = json.loads(f"{{{record[1]}}}") | {
        "metric": "wall_time",
        "unit": "s",
        "value": next(VALUES),
        "measured_at": "2026-01-01T00:00:00Z",
    }
    token = site.call("POST", f"/plans/{plan}/token", site.keys["load"]).json()["token"]
    return plan, token, {"modak_result": 1, "plan": plan, "exit_status": 0, "seconds": 1234.5, "host": "n1", "job": "7", "results": [run]}


def test_results_are_loaded_in_the_callers_name(site: Site) -> None:
    """Counts, duplicates and the version of the data; the same again adds nothing; the trail says who."""
    first = site.call("POST", "/results", site.keys["load"], content=ROWS, headers=CSV).json()
    again = site.call("POST", "/results", site.keys["load"], content=ROWS, headers=CSV).json()
    assert (first["rows"], first["new"], first["duplicates"]) == (3, 3, 0)
    assert (again["rows"], again["new"], again["duplicates"], again["version"]) == (3, 0, 3, first["version"])
    assert first["version"] == site.call("GET", "/ready").json()["data"]
    line = site.call("GET", "/audit", site.keys["admin"]).json()["items"][0]
    assert (line["principal"], line["action"], line["target"]) == ("key:load", "load results", "body.csv (3 of 3 rows)")


@pytest.mark.parametrize(
    ("query", "field", "told"),
    [("dry-run=true", "dry-run", "did you mean 'dry_run'?"), ("dry_run=true&dry_run=false", "dry_run", "given twice; one value")],
)
def test_a_misspelt_trial_loads_nothing(site: Site, query: str, field: str, told: str) -> None:
    """422, with the parameter that is meant; also if it is both a trial and none."""
    refused = site.call("POST", f"/results?{query}", site.keys["load"], content=ROWS, headers=CSV)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, field)
    assert told in refused.text
    assert site.call("POST", "/results", site.keys["load"], content=ROWS, headers=CSV).json()["new"] == 3


def test_results_come_as_records_and_as_files_of_a_form(site: Site) -> None:
    """Also as one record a line; all files of a form or none of them."""
    records = [{"application": "solver", "nodes": 8, "metric": "wall_time", "value": 14, "unit": "s"}]
    assert site.call("POST", "/results", site.keys["load"], json=records).json()["new"] == 1
    lines = "".join(json.dumps({**records[0], "nodes": nodes}) + "\n" for nodes in (8, 9))
    told = site.call("POST", "/results", site.keys["load"], content=lines, headers={"Content-Type": "application/x-ndjson"}).json()
    assert (told["rows"], told["new"]) == (2, 1)
    files = [("file", ("a.csv", ROWS)), ("file", ("../../b.csv", HEADER + "solver,16,wall_time,8,s\n"))]
    told = site.call("POST", "/results", site.keys["load"], files=files).json()
    assert [(file["name"], file["new"]) for file in told["files"]] == [("a.csv", 3), ("b.csv", 1)]
    broken = site.call("POST", "/results", site.keys["load"], files=[*files[:1], ("file", ("c.csv", HEADER + "solver,0,wall_time,8,s\n"))])
    assert (broken.status_code, broken.json()["errors"][0]["field"]) == (422, "c.csv:2")
    packed = ("file", ("d.csv.gz", gzip.compress(ROWS.encode(), mtime=0)))
    assert site.call("POST", "/results", site.keys["load"], files=[*files[:1], packed]).status_code == 415


def test_columns_are_renamed_and_filled(site: Site) -> None:
    """As `--map` and `--set` do; `dry_run` stores nothing."""
    query = {"map": "app=application", "set": ["system=zenith", "metric=wall_time"], "dry_run": "true"}
    text = "app,nodes,value,unit\nsolver,1,100,s\n"
    assert site.call("POST", "/results", site.keys["load"], content=text, headers=CSV, params=query).json()["new"] == 1
    assert site.call("GET", "/results?application=solver").json()["items"] == []
    site.call("POST", "/results", site.keys["load"], content=text, headers=CSV, params=query | {"dry_run": "false"})
    (item,) = site.call("GET", "/results?application=solver").json()["items"]
    assert (item["system"], item["metric"]) == ("zenith", "wall_time")


def test_a_row_takes_the_place_of_another_where_that_is_said(site: Site) -> None:
    """`replace`, as on the command line."""
    for value, told in (("100", {}), ("90", {"replace": "true"})):
        site.call("POST", "/results", site.keys["load"], content=f"{HEADER}solver,1,wall_time,{value},s\n", headers=CSV, params=told)
    assert [item["value"] for item in site.call("GET", "/results?application=solver").json()["items"]] == [90]


def test_suspicious_results_are_confirmed_by_administrators(site: Site) -> None:
    """Whoever loads does not vouch for himself."""
    slip = ROWS + "solver,4,wall_time,27000,s\n"
    site.call("POST", "/results", site.keys["load"], content=slip, headers=CSV)
    doubted = [item["id"] for item in site.call("GET", "/results?application=solver").json()["items"] if item.get("suspect")]
    assert site.call("POST", "/results/confirmations", site.keys["load"], json={"results": doubted}).status_code == 403
    assert site.call("POST", "/results/confirmations", site.keys["admin"], json={"results": doubted}).json()["confirmed"] == len(doubted)
    assert doubted
    items = site.call("GET", "/results?application=solver").json()["items"]
    assert not any(item.get("suspect") for item in items if item["id"] in doubted)


def test_results_are_doubted_by_administrators(site: Site) -> None:
    """By number or by the file that they came in; and confirmed the same way."""
    site.call("POST", "/results", site.keys["load"], content=ROWS, headers=CSV)
    first, *_ = site.call("GET", "/results?application=solver").json()["items"]
    sent = {"results": [first["id"]], "why": "throttled"}
    assert site.call("POST", "/results/doubts", site.keys["load"], json=sent).status_code == 403
    assert site.call("POST", "/results/doubts", site.keys["admin"], json=sent).json()["doubted"] == 1
    marked = site.call("GET", "/results?application=solver").json()["items"][0]
    assert (marked["suspect"], marked["by_hand"]) == ("throttled", True)
    file = site.call("POST", "/results/confirmations", site.keys["admin"], json={"file": "body.csv"})
    assert file.json() == {"confirmed": 1, "loads": 1, "suspicious": [], "suspicious_count": 0, "freed": [], "freed_count": 0}


def test_a_body_has_the_name_that_is_given(site: Site) -> None:
    """So one load of several can be undone. Of a path outside the sender's folder its last part; the files of a form have their own."""
    for name, rows, called in (
        ("march.csv", ROWS, "march.csv"),
        ("../april.csv", ROWS.replace("solver", "other"), "april.csv"),
        ("/", ROWS.replace("solver", "third"), "body.csv"),
    ):
        sent = site.call("POST", f"/results?name={name}", site.keys["admin"], content=rows, headers=CSV)
        assert sent.json()["files"][0]["name"] == called
    doubt = {"file": "april.csv", "why": "wrong clock"}
    doubted = site.call("POST", "/results/doubts", site.keys["admin"], json=doubt).json()
    assert (doubted["doubted"], doubted["loads"]) == (3, 1)
    form = site.call("POST", "/results?name=a.csv", site.keys["load"], files=[("file", ("b.csv", ROWS))])
    assert (form.status_code, form.json()["errors"][0]["field"]) == (422, "name")


PERIOD: dict[str, Any] = {"since": "2026-01-01"}


@pytest.mark.parametrize(
    ("path", "sent", "field"),
    [
        ("doubts", [], "why"),
        *(("doubts", {"results": [1], **why}, "why") for why in ({}, {"why": 1}, {"why": " "}, {"why": "x" * 301})),
        ("confirmations", [], "results"),
        *(("confirmations", sent, "results") for sent in ({}, {"results": 1}, {"results": [1], "more": 1}, {"results": [1] * 1001})),
        *(("confirmations", {"results": numbers}, "results") for numbers in ([], [0], [-1], [2**63], [True], ["1"], [1.5])),
        ("confirmations", {"since": 1}, "since"),
        ("confirmations", {"since": "2026"}, "since"),
        ("confirmations", {**PERIOD, "until": None}, "until"),
        ("confirmations", {**PERIOD, "until": "never"}, "until"),
        ("confirmations", {**PERIOD, "where": []}, "where"),
        ("confirmations", {**PERIOD, "where": {"system": 1}}, "where.system"),
        ("confirmations", {**PERIOD, "where": {"nodes": "1"}}, "nodes"),
        ("confirmations", {**PERIOD, "file": "a.csv"}, "file"),
    ],
)
def test_a_word_on_results_says_which_and_why(shared: Site, path: str, sent: Any, field: str) -> None:
    """By numbers, a file or a period. 422, with the field."""
    answer = shared.call("POST", f"/results/{path}", shared.keys["admin"], json=sent)
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, field)


def test_what_administrators_said_is_taken_back_by_administrators(site: Site) -> None:
    """And the filter lists what is doubted; the trail says who said what."""
    site.call("POST", "/results", site.keys["load"], content=ROWS, headers=CSV)
    site.call("POST", "/results/doubts", site.keys["admin"], json={"results": [1], "why": "throttled"})
    assert [item["id"] for item in site.call("GET", "/results?doubted=true").json()["items"]] == [1]
    assert site.call("POST", "/results/unmarkings", site.keys["load"], json={"results": [1]}).status_code == 403
    assert site.call("POST", "/results/unmarkings", site.keys["admin"], json={"results": [1]}).json()["unmarked"] == 1
    assert site.call("GET", "/results?doubted=true").json()["items"] == []
    site.call("POST", "/results/confirmations", site.keys["admin"], json={"results": [1]})
    trail = [line for line in site.call("GET", "/audit", site.keys["admin"]).json()["items"] if line["outcome"] == "done"]
    said = [(line["principal"], line["action"].split()[0]) for line in trail[:3]]
    assert said == [("key:admin", "confirm"), ("key:admin", "unmark"), ("key:admin", "doubt")]


@pytest.mark.parametrize(("path", "more"), [("confirmations", {}), ("doubts", {"why": "a slip"}), ("unmarkings", {})])
def test_a_number_that_no_result_has_is_not_found(shared: Site, path: str, more: dict[str, str]) -> None:
    """404, with the field and the number."""
    answer = shared.call("POST", f"/results/{path}", shared.keys["admin"], json={"results": [1, 10**9], **more})
    assert (answer.status_code, answer.json()["errors"][0]["field"], "1000000000 " in answer.text) == (404, "results", True)


@pytest.mark.parametrize(("kind", "key"), [("systems", "name"), ("images", "reference"), ("rules", "name")])
def test_knowledge_is_added_by_administrators(site: Site, system: dict[str, Any], kind: str, key: str) -> None:
    """201, then 200 for the same, 409 for another of its name, 201 where replacing is said; alone or in an array, as in files."""
    item = {"systems": system, "images": IMAGE, "rules": RULE}[kind]
    changed = {**item, **({"labels": {**IMAGE["labels"], "version": "1.1"}} if kind == "images" else {"title": "another"})}  # type: ignore[dict-item]
    admin = site.keys["admin"]
    sent = [(item, ""), ({kind: [item]}, ""), (changed, ""), (changed, "?replace=true")]
    assert [site.call("POST", f"/{kind}{query}", admin, json=one).status_code for one, query in sent] == [201, 200, 409, 201]
    assert site.call("GET", f"/{kind}/{item[key]}").json() | changed == site.call("GET", f"/{kind}/{item[key]}").json()
    assert site.call("GET", "/audit", admin).json()["items"][0]["principal"] == "key:admin"


@pytest.mark.parametrize(("kind", "key"), [("systems", "name"), ("images", "reference"), ("rules", "name")])
def test_knowledge_is_removed_by_administrators(site: Site, system: dict[str, Any], kind: str, key: str) -> None:
    """By nobody else, once, with a line in the trail."""
    item = {"systems": system, "images": IMAGE, "rules": RULE}[kind]
    admin, path = site.keys["admin"], f"/{kind}/{item[key]}"
    site.call("POST", f"/{kind}", admin, json=item)
    assert [site.call("DELETE", path, token).status_code for token in (site.keys["load"], admin, admin)] == [403, 200, 404]
    assert site.call("GET", path).status_code == 404
    line = site.call("GET", "/audit", admin).json()["items"][0]
    assert (line["principal"], line["action"], line["target"]) == ("key:admin", "remove", f"{kind.removesuffix('s')} {item[key]}")


@pytest.mark.parametrize(
    ("kind", "sent", "why"),
    [
        ("systems", {}, "name"),
        ("systems", [], "systems"),
        ("systems", {"systems": {}}, "systems"),
        ("systems", {"systems": [], "images": []}, "images"),
        ("images", {**IMAGE, "reference": "docker://$(pwned)"}, "an image is"),
        ("images", {**IMAGE, "more": 1}, "more"),
        ("rules", {**RULE, "script": "if true; then"}, "cannot be checked as bash"),
        ("rules", {**RULE, "script": "echo a \\"}, "cannot be checked as bash"),
        ("rules", {**RULE, "environment": {"PATH": "/pwned"}}, "environment.PATH"),
        ("rules", {**RULE, "name": "x\n#SBATCH --wrap=pwned"}, "letters, digits"),
        ("rules", {**RULE, "environment": {}}, "adds nothing"),
        ("rules", {**RULE, "when": {"application_version": ">=2"}}, "never hold"),
        ("rules", {**RULE, "environment": {}, "script": " \n"}, "adds nothing"),
        ("rules", {**RULE, "script": "rm -rf {{ undefined }}/*"}, "placeholder"),
        ("rules", "text", "rules"),
    ],
)
def test_knowledge_that_is_wrong_is_refused(shared: Site, kind: str, sent: Any, why: str) -> None:
    """422 that says what of it, even from an administrator: such a rule would break every later script."""
    answer = shared.call("POST", f"/{kind}", shared.keys["admin"], json=sent)
    assert answer.status_code == 422, answer.text
    assert [fault for fault in answer.json()["errors"] if why in f"{fault['field']} {fault['message']}"], answer.text


@pytest.mark.parametrize(
    ("kind", "change", "field"),
    [
        ("systems", {"title": "another"}, "name"),
        ("systems", {"name": "Ze_nith", "aliases": ["Zenith"]}, "aliases"),
        ("systems", {"name": "ZENITH", "aliases": []}, "name"),
        ("images", {"source": "another"}, "reference"),
        ("rules", {"title": "another"}, "name"),
    ],
)
def test_a_taken_name_is_told_where_it_stands(shared: Site, kind: str, change: dict[str, Any], field: str) -> None:
    """In an entry alone, and among others under its name."""
    there = shared.call("GET", f"/{kind}?limit=1000").json()["items"]
    entry = next(one for one in there if kind != "systems" or one["name"] == "zenith") | change
    name = entry["reference" if kind == "images" else "name"]
    for sent, place in ((entry, field), ({kind: [entry]}, f"{kind}.{name}.{field}")):
        answer = shared.call("POST", f"/{kind}", shared.keys["admin"], json=sent)
        assert (answer.status_code, [fault["field"] for fault in answer.json()["errors"]]) == (409, [place])


@pytest.mark.parametrize(
    ("kind", "sent", "field"),
    [
        ("images", {**IMAGE, "labels": {}}, "labels.framework"),
        ("images", {"images": [{**IMAGE, "labels": {}}]}, f"images.{IMAGE['reference']}.labels.framework"),
        ("images", {"images": [{}]}, "images.0.reference"),
        ("images", {"images": [], "systems": []}, "systems"),
        ("images", [], ""),
        ("rules", {**RULE, "script": "if true; then"}, "script"),
        ("rules", {**RULE, "environment": {}}, ""),
        ("rules", {"rules": [{**RULE, "environment": {"PATH": "/pwned"}}]}, "rules.quiet.environment.PATH"),
        ("systems", {"launcher": "nosuch"}, "launcher"),
        ("systems", {"systems": [{"launcher": "nosuch"}]}, "systems.zenith.launcher"),
    ],
)
def test_what_is_wrong_of_an_entry_is_named_as_it_was_sent(shared: Site, kind: str, sent: Any, field: str) -> None:
    """The field is the way to it in the document, so that an editor can show it there."""
    if kind == "systems":
        zenith = shared.call("GET", "/systems/zenith").json()
        sent = {"systems": [zenith | one for one in sent["systems"]]} if "systems" in sent else zenith | sent
    answer = shared.call("POST", f"/{kind}", shared.keys["admin"], json=sent)
    assert answer.status_code == 422
    assert field in [fault["field"] for fault in answer.json()["errors"]]


def test_what_is_there_already_is_an_error_of_its_own(shared: Site) -> None:
    """Programs tell by its type that the entry is not wrong: another one has the name, or the same is there."""
    shared.call("POST", "/images", shared.keys["admin"], json=IMAGE)
    other = shared.call("POST", "/images", shared.keys["admin"], json={**IMAGE, "source": "somebody else"})
    assert (other.status_code, other.json()["type"]) == (409, "urn:modak:problem:in-conflict-with-what-is-there")


def test_a_jobs_result_comes_back_once(shared: Site, document: dict[str, Any]) -> None:
    """In the name of whoever asked for the token; the replay is 401."""
    plan, token, report = planned(shared, document)
    assert shared.call("POST", f"/plans/{plan}/result", token, json=report).json()["new"] == 1
    assert shared.call("POST", f"/plans/{plan}/result", token, json=report).status_code == 401
    line = shared.call("GET", "/audit", shared.keys["admin"]).json()["items"][0]
    assert (line["principal"], line["action"], line["target"]) == ("key:load", "load results", f"plan {plan} (1 of 1 rows)")
    (item,) = [
        one for one in shared.call("GET", "/results?metric=wall_time").json()["items"] if one["value"] == report["results"][0]["value"]
    ]
    assert item["source"] == f"job 7, plan {plan}"


def test_a_jobs_token_does_nothing_else(shared: Site, document: dict[str, Any]) -> None:
    """Neither another plan's result, nor a load, nor a look at anything."""
    plan, token, report = planned(shared, document)
    for method, path in (
        ("POST", "/plans/other/result"),
        ("POST", "/results"),
        ("GET", f"/plans/{plan}"),
        ("POST", f"/plans/{plan}/token"),
    ):
        assert shared.call(method, path, token, json=report).status_code == 401


@pytest.mark.parametrize(
    "changed",
    [
        {"modak_result": 2},
        {"plan": "other"},
        {"results": "text"},
        {"results": [5]},
        {"results": [{}]},
        {"results": [{"application": "another"}]},
        {"results": [{"nodes": 4096}]},
        {"results": [{"more": "pwned"}]},
        {"results": [{"value": -1}]},
        {"results": [{"value": "1; pwned"}]},
        {"results": [{"metric": "no metric\n"}]},
        {"results": [{"measured_at": "yesterday"}]},
        {"results": [{}, {}, {}]},
    ],
)
def test_a_report_is_held_against_its_plan(shared: Site, document: dict[str, Any], changed: dict[str, Any]) -> None:
    """Another plan, another application or layout, more rows than a script writes: refused, and the token is still good."""
    plan, token, report = planned(shared, document)
    results = changed.get("results")
    if isinstance(results, list):
        base = report["results"][0]
        whole = len(results) == 3 or results == [5]
        changed = {"results": results if whole else [base | one if one else {} for one in results]}
    assert shared.call("POST", f"/plans/{plan}/result", token, json=report | changed).status_code == 422
    assert shared.call("POST", f"/plans/{plan}/result", token, json=report).json()["new"] == 1


def failed(report: dict[str, Any], status: int, job: str = "7") -> dict[str, Any]:
    """The report of the same run, if it fails with this status."""
    unfinished = {name: value for name, value in report["results"][0].items() if name not in ("metric", "unit", "value", "measured_at")}
    return report | {"exit_status": status, "job": job, "ended": "2026-01-01T00:00:00Z", "results": [], "unfinished": unfinished}


@pytest.mark.parametrize(("status", "metric"), [(137, "out_of_memory"), (1, "failed_runs"), (143, "stopped_after"), (74, None)])
def test_a_job_that_failed_says_so(site: Site, document: dict[str, Any], status: int, metric: str | None) -> None:
    """As its file does when it is loaded: unless a check of its node ended it."""
    plan, token, report = planned(site, document)
    answer = site.call("POST", f"/plans/{plan}/result", token, json=failed(report, status))
    stored = [one for name in FAILURES for one in site.call("GET", f"/results?metric={name}").json()["items"]]
    assert (answer.status_code, answer.json()["new"], [one["metric"] for one in stored]) == (200, len(stored), [metric] if metric else [])


def test_a_failed_run_spends_nothing(shared: Site, document: dict[str, Any]) -> None:
    """The job may be started again, and succeed; what was sent twice is stored once."""
    plan, token, report = planned(shared, document)
    sent = [failed(report, 1), failed(report, 1), report, report]
    answers = [shared.call("POST", f"/plans/{plan}/result", token, json=one) for one in sent]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 401]
    assert [answer.json()["new"] for answer in answers[:3]] == [1, 0, 1]


def test_failed_runs_without_end_are_not_stored(site: Site, document: dict[str, Any]) -> None:
    """Whoever has a job's token cannot fill the database with them."""
    plan, token, report = planned(site, document)
    answers = [site.call("POST", f"/plans/{plan}/result", token, json=failed(report, 1, str(job))).json() for job in range(MOST_FAILED + 2)]
    assert sum(answer["new"] for answer in answers) == MOST_FAILED
    assert answers[-1]["notes"] == [f"the run failed, and {MOST_FAILED} runs of this plan are known: nothing was stored"]
    assert site.call("POST", f"/plans/{plan}/result", token, json=report).json()["new"] == 1


@pytest.mark.parametrize("changed", [{"nodes": 4096}, {"application": "another"}, {"metric": "wall_time"}, {"more": "x"}])
def test_a_failed_run_is_held_against_its_plan(shared: Site, document: dict[str, Any], changed: dict[str, Any]) -> None:
    """A job's token tells nothing of other configurations."""
    plan, token, report = planned(shared, document)
    sent = failed(report, 137)
    sent["unfinished"] |= changed
    answer = shared.call("POST", f"/plans/{plan}/result", token, json=sent)
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "unfinished")


@pytest.mark.parametrize("status", ["0", "1", 1.0, True, None])
def test_an_exit_status_that_is_no_number_is_refused(shared: Site, document: dict[str, Any], status: Any) -> None:
    """Or a run fails for the check, which looks at its configuration alone, and succeeds for the load, which takes its results."""
    plan, token, report = planned(shared, document)
    sent = failed(report, 1) | {"exit_status": status, "results": [report["results"][0] | {"application": "another"}]}
    answer = shared.call("POST", f"/plans/{plan}/result", token, json=sent)
    assert (answer.status_code, [one["field"] for one in answer.json().get("errors", ())]) == (422, ["exit_status"])


def test_a_run_that_may_go_on_stores_nothing_and_spends_nothing(shared: Site, document: dict[str, Any]) -> None:
    """Its report does not say what failed."""
    plan, token, report = planned(shared, document)
    sent = report | {"exit_status": 137, "results": [], "unfinished": None}
    answer = shared.call("POST", f"/plans/{plan}/result", token, json=sent)
    assert (answer.status_code, answer.json()["new"]) == (200, 0)
    assert shared.call("POST", f"/plans/{plan}/result", token, json=report).json()["new"] == 1


def test_a_plan_without_an_application_learns_nothing() -> None:
    """Its script says so, too."""
    report = {"modak_result": 1, "plan": "p", "exit_status": 0, "results": []}
    assert results_of(report, "p", "MODAK_RECORD=''\n") == ()


@pytest.mark.parametrize(
    "arguments",
    [
        '\'\nMODAK_RECORD=\\"application\\":\\"solver\\"\n\'',  # of an application that the plan does not name
        "'\nMODAK_RECORD=\"application'",  # nothing that could be read
    ],
)
def test_words_of_a_request_are_no_notes_of_its_script(arguments: str) -> None:
    """A plan without an application learns nothing, whatever its command's words look like."""
    plan = optimise(normalise({"job": {"application": {"executable": "./a", "arguments": arguments}}}).request, Facts(version="1"))
    assert "\nMODAK_RECORD=" in plan.texts.job_script
    result = {"application": "solver", "metric": "wall_time", "unit": "s", "value": 1}
    report = {"modak_result": 1, "plan": plan.plan.id, "exit_status": 0, "results": [result]}
    with pytest.raises(RequestError, match="says nothing of an application"):
        results_of(report, plan.plan.id, plan.texts.job_script)


def test_a_token_for_a_plan_that_is_not_there_is_404(shared: Site) -> None:
    """Whatever the path holds, as long as it is text."""
    for plan, status in (("nothing", 404), ("x" * 500, 404), ("..%2f..", 404), ("%00", 400)):
        assert shared.call("POST", f"/plans/{plan}/token", shared.keys["load"]).status_code == status


def test_the_command_line_makes_and_ends_tokens(opened: ExitStack, own: Run, own_database: Path) -> None:
    """The token is the one line of standard output; `list` shows all but it; `audit` shows who did it."""
    made = own("token", "create", "ci", "--scope", "load", "--scope", "read", "--days", "30")
    identity = re.search(r"token (\w+) for ci may read, load", made.err)
    assert identity
    site = opened.enter_context(Site(own_database))
    assert site.call("POST", "/results", made.out.strip(), content=ROWS, headers=CSV).json()["new"] == 3
    listed = own("token", "list", "--json").out
    assert (made.out.strip() in listed, json.loads(listed)[0]["state"]) == (False, "works")
    assert own("token", "revoke", identity[1]).status == 0
    actions = [(line["principal"].split(":")[0], line["action"]) for line in json.loads(own("audit", "--json").out)["items"]]
    assert [each for each in actions if each[1] in ("revoke token", "load results")] == [("local", "revoke token"), ("key", "load results")]
    assert own("token", "revoke", "nothing").status == own("token", "create", "ci", "--scope", "root").status == 1


def test_tokens_are_listed_with_what_became_of_them(own: Run, own_database: Path) -> None:
    """By the name of each, the newest included."""
    with open_store(f"sqlite:///{own_database}", fill=False) as store:
        before = datetime.now(UTC) - timedelta(seconds=1)
        made = [
            store.access.create(f"{number}" * 64, name, f"key:{name}", ("load",), expires, Actor("me"))
            for number, (name, expires) in enumerate((("good", None), ("old", before), ("ended", None)))
        ]
        store.access.revoke(made[-1].id, Actor("me"))
    header, *rows = (line.split() for line in own("token", "list").out.splitlines())
    assert (header[:3], header[-1]) == (["id", "name", "scopes"], "state")
    assert {row[1]: row[-1] for row in rows} == {"good": "works", "old": "expired", "ended": "revoked"}


def test_the_trail_goes_on_at_its_cursor(own: Run) -> None:
    """Which a note names where there are more lines than were asked for."""
    for name in ("first", "second"):
        assert own("token", "create", name).status == 0
    page = own("audit", "--limit", "1")
    more = re.fullmatch(r"note: there are more lines: --cursor (\S+) shows the next ones\n", page.err)
    assert more
    assert "second" in page.out
    rest = own("audit", "--limit", "1000", "--cursor", more[1])
    assert ("first" in rest.out, "second" in rest.out, rest.err) == (True, False, "")
