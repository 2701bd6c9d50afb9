"""`modak rules check --preview`: what rules would change in the scripts of stored requests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from modak.facts import Condition, Rule
from modak.service import Service
from tests.conftest import Run

ONE = Rule(
    name="one-variable", title="One variable", when=Condition(system=("supermuc-ng",)), environment={"SITE_WORD": "yes"}, source="test"
)


@pytest.fixture
def asked(service: Service, document: dict[str, Any]) -> str:
    """The id of a stored plan."""
    return str(service.optimise(document)["job"]["plan"]["id"])


def lines(diff: str) -> list[str]:
    """What a unified diff takes away and adds."""
    return [line for line in diff.splitlines() if line[:1] in "+-" and not line.startswith(("+++", "---"))]


def test_the_diff_holds_what_the_rule_adds_and_nothing_else(service: Service, asked: str) -> None:
    """The same request is answered twice on the same data: without and with the rule."""
    (seen,) = service.preview([ONE])["plans"]
    assert seen["id"] == asked
    assert lines(seen["diff"]) == ["+export SITE_WORD=yes"]


def test_a_rule_that_does_not_hold_changes_nothing(service: Service, asked: str) -> None:
    """The plan is looked at and its diff is empty."""
    elsewhere = ONE.model_copy(update={"when": Condition(system=("hlrs-testbed",))})
    assert service.preview([elsewhere])["plans"] == [{"id": asked, "diff": ""}]


def test_a_preview_stores_nothing(service: Service, asked: str) -> None:
    """Neither rule nor plan; the data keep their version."""
    before = service.store.version(), service.store.plans.get(asked), service.store.plans.newest(10)
    service.preview([ONE])
    assert before == (service.store.version(), service.store.plans.get(asked), service.store.plans.newest(10))


def test_a_stored_rule_is_previewed_against_itself(service: Service, asked: str) -> None:
    """One of the same name takes its place, as add --replace would do."""
    service.add([ONE])
    assert lines(service.preview([ONE])["plans"][0]["diff"]) == []
    other = ONE.model_copy(update={"environment": {"SITE_WORD": "no"}})
    assert lines(service.preview([other])["plans"][0]["diff"]) == ["-export SITE_WORD=yes", "+export SITE_WORD=no"]


def test_the_last_requests_are_looked_at_the_newest_first(service: Service, asked: str, document: dict[str, Any]) -> None:
    """At most as many as asked for."""
    document["job"]["job_options"]["job_name"] = "another"
    newest = service.optimise(document)["job"]["plan"]["id"]
    assert [plan["id"] for plan in service.preview([ONE])["plans"]] == [newest, asked]
    assert [plan["id"] for plan in service.preview([ONE], last=1)["plans"]] == [newest]


def test_a_request_that_can_no_longer_be_answered_is_said_and_hinders_no_other(service: Service, asked: str) -> None:
    """With its reason."""
    service.store.plans.save("old", {"job": {"target": 7}}, "{}", service.texts(asked), data_version="0")
    seen = {plan["id"]: plan for plan in service.preview([ONE])["plans"]}
    assert "target" in seen["old"]["error"]
    assert seen[asked]["diff"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The rule as people write it."""
    (tmp_path / "rules.json").write_text(json.dumps({"rules": [ONE.model_dump(mode="json", exclude_unset=True)]}))
    return tmp_path / "rules.json"


def test_the_command_prints_a_diff_for_each_script_that_changes(own: Run, asked: str, file: Path) -> None:
    """Below what it says without --preview."""
    status, out, err = own("rules", "check", file, "--preview", "--last", "5")
    assert (status, err) == (0, "")
    assert out.startswith(f"{file}: 1 rule, all in order\n1 of 1 stored requests get another script\n\n--- {asked} as it is\n")
    assert "\n+export SITE_WORD=yes\n" in out
    assert "one-variable" not in own("rules", "list", "--json").out


def test_the_command_previews_only_what_it_is_asked_to(
    own: Run, service: Service, asked: str, document: dict[str, Any], file: Path
) -> None:
    """Nothing by default; with --preview all of the last requests, or so many; scripts that stay are counted and not shown."""
    document["job"]["target"]["name"] = "zenith"
    del document["job"]["optimisation"]["objective"]["deadline"]
    service.optimise(document)
    alone, every, newest = (
        own("rules", "check", file, *words).out.partition("\n")[2] for words in ((), ("--preview",), ("--preview", "--last", "1"))
    )
    assert alone == ""
    assert every.startswith("1 of 2 stored requests get another script\n\n--- ")
    assert newest == "0 of 1 stored requests get another script\n"


def test_the_command_warns_of_a_request_that_can_no_longer_be_answered(own: Run, service: Service, asked: str, file: Path) -> None:
    """By the plan's id, with the reason."""
    service.store.plans.save("old", {"job": {"target": 7}}, "{}", service.texts(asked), data_version="0")
    status, out, err = own("rules", "check", file, "--preview")
    assert (status, "1 of 2 stored requests" in out) == (0, True)
    assert err.startswith("warning: plan old: ")
    assert "target" in err


def test_a_bad_rule_is_refused_before_any_preview(own: Run, asked: str, file: Path) -> None:
    """As rules check does without it."""
    file.write_text(file.read_text().replace("SITE_WORD", "BASH_ENV"))
    status, out, err = own("rules", "check", file, "--preview")
    assert (status, out) == (1, "")
    assert "BASH_ENV" in err
