"""Text that others measured and described: whoever loads results, or sends a system file, writes nothing into scripts of somebody else."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.api.site import Site
from tests.api.witness import commands, options

CANARY: Final = "pwned"
BREAKOUTS: Final = (
    f"x; touch {CANARY} #",
    f"$(touch {CANARY})",
    f"'\"; touch {CANARY}; '",
    f"--{CANARY}=1",
    f"../{CANARY}.sif",
    f"<{CANARY}>",
)
COLUMNS: Final = (
    *("dataset", "framework", "framework_version", "compiler", "image", "precision", "partition", "mpi", "runtime", "source"),
    *("params.x", "params.OMP_PLACES", "params.workers"),
)
PROSE: Final = f"x\n#SBATCH --wrap={CANARY}\ntouch {CANARY}\n$(touch {CANARY})\n`touch {CANARY}`"


def row(application: str, column: str, text: str, nodes: int) -> dict[str, Any]:
    """A result with a text in one column, or as one parameter."""
    of = {"application": application, "system": "supermuc-ng", "nodes": nodes, "ranks_per_node": 4, "threads_per_rank": 12}
    name = column.removeprefix("params.")
    said: dict[str, Any] = {name: text} if name == column else {"params": {name: text}}
    return {**of, "metric": "wall_time", "value": 100 / nodes, "unit": "s", **said}


def asked(application: str, system: str = "supermuc-ng") -> dict[str, Any]:
    """A request for an application."""
    work = {"app_type": "hpc", "workload": {"application": application}}
    program = {"app_tag": "solver", "app_type": "mpi", "executable": "./solver"}
    return {"job": {"job_options": {"job_name": "solver"}, "application": program, "target": {"name": system}, "optimisation": work}}


@pytest.mark.parametrize("column", COLUMNS)
def test_no_cell_of_a_result_breaks_out(shared: Site, column: str) -> None:
    """It is text in the job's record at most: the script has the commands and options that it has for results without such a cell."""
    loader = shared.keys["load"]
    plain = [row(f"plain {column}", "params.x", "1", nodes) for nodes in (1, 2, 4)]
    assert shared.call("POST", "/results", loader, json=plain).status_code == 200
    innocent = shared.call("POST", "/optimise", json=asked(f"plain {column}")).json()["job"]["job_content"]
    taken = 0
    for number, text in enumerate(BREAKOUTS):
        application = f"{column} {number}"
        loaded = shared.call("POST", "/results", loader, json=[row(application, column, text, nodes) for nodes in (1, 2, 4)])
        assert loaded.status_code in (200, 422)
        if loaded.status_code == 200:
            taken += 1
            answer = shared.call("POST", "/optimise", json=asked(application))
            assert answer.status_code == 200, answer.text
            script = answer.json()["job"]["job_content"]
            assert options(script) == options(innocent)
            assert commands(script) == commands(innocent)
            assert [line for line in script.splitlines() if CANARY in line and not line.startswith("MODAK_RECORD='")] == []
    assert taken or column in ("partition", "runtime", "params.workers")


def test_no_parameter_that_is_left_open_breaks_out(shared: Site) -> None:
    """The command takes plain values alone, even if others were faster."""
    rows = [row("open", "params.x", text, 1) for text in BREAKOUTS]
    taken = [{**row("open", "params.x", "8x4", 1), "value": 1000}, *rows]
    loaded = [shared.call("POST", "/results", shared.keys["load"], json=[one]).status_code for one in taken]
    assert loaded.count(200) > 1
    request = asked("open")
    request["job"]["optimisation"]["workload"]["params"] = {"x": "auto"}
    request["job"]["application"]["executable"] = "./solver ${MODAK_PARAM_X}"
    script = shared.call("POST", "/optimise", json=request).json()["job"]["job_content"]
    assert "export MODAK_PARAM_X=8x4\n" in script
    assert CANARY not in script


def texts(part: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The way to each text in a document."""
    if isinstance(part, str):
        yield path
    elif isinstance(part, dict | list):
        for key, inner in part.items() if isinstance(part, dict) else enumerate(part):
            yield from texts(inner, (*path, key))


def changed(document: dict[str, Any], path: tuple[str | int, ...], text: str) -> dict[str, Any]:
    """The document with one text changed."""
    made: Any = copy.deepcopy(document)
    part = made
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = text
    return dict(made)


def test_no_text_of_a_system_file_reaches_a_script(site: Site) -> None:
    """A text is refused, or is prose that no script contains. The file has every kind of text that the packaged ones have."""
    admin = site.keys["admin"]
    system = {**site.call("GET", "/systems/supermuc-ng").json(), "aliases": []}
    taken = []
    for path in texts(system):
        sent = {**changed(system, path, PROSE), "name": "other"} if path != ("name",) else changed(system, path, PROSE)
        if site.call("POST", "/systems?replace=true", admin, json=sent).status_code != 422:
            system = changed(system, path, PROSE)
            taken.append(path[-1])
    assert {"title", "site", "reason", "citation"} <= set(taken)
    assert site.call("POST", "/systems?replace=true", admin, json={**system, "name": "other"}).status_code in (200, 201)
    made = site.call("POST", "/optimise", json=asked("3dgan", "other")).json()["job"]
    assert CANARY not in made["job_content"]


@pytest.mark.parametrize("text", ["\x1b[2J", "x\x07", "a\rb", "\u202egpj.exe", "\u2066x", "a\u2028b"])
@pytest.mark.parametrize(("kind", "field"), [("systems", "title"), ("rules", "title"), ("rules", "advice"), ("rules", "source")])
def test_prose_controls_no_terminal_and_turns_no_line_around(shared: Site, kind: str, field: str, text: str) -> None:
    """Whoever reads an entry before adding it sees what it says, in every program that shows it."""
    entry = shared.call("GET", f"/{kind}?limit=1").json()["items"][0]
    answer = shared.call("POST", f"/{kind}?replace=true", shared.keys["admin"], json={**entry, field: text})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == field
