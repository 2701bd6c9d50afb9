"""The command line: what it prints, where it prints it, and how it ends."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import re
import shlex
import signal
import sqlite3
import stat
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import closing
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path
from typing import Any, get_args

import pytest
import typer.main

from modak.api.counts import FOLDER
from modak.cli.running import _counted_together
from modak.dsl import Minimise
from modak.settings import settings_table
from tests.answering import answering
from tests.conftest import Run, until
from tests.terminal import read_all

EXAMPLE = Path(__file__).parent.parent.parent / "examples/3dgan-supermuc-ng.json"
Item = dict[str, Any]


def request(tmp_path: Path, **job: object) -> Path:
    """A file with a request."""
    file = tmp_path / "request.json"
    file.write_text(json.dumps({"job": job}))
    return file


def test_optimise_prints_the_choice_why_and_the_script(run: Run) -> None:
    """Time with interval, level and basis; the reasons; the script last."""
    ran = run("optimise", EXAMPLE)
    assert ran.status == 0, ran.err
    assert "interval" in ran.out
    assert "basis: " in ran.out
    assert "\nWhy\n- " in ran.out
    assert ran.out.index("Job script\n#!/bin/bash") > ran.out.index("Alternatives")


def test_script_prints_the_script_alone(run: Run) -> None:
    """It can be piped to the scheduler; it is the text of the document."""
    script = run("optimise", EXAMPLE, "--script").out
    assert script.startswith("#!/bin/bash")
    assert json.loads(run("optimise", EXAMPLE, "--json").out)["job"]["job_content"] == script


@pytest.mark.parametrize(("option", "there"), [("--preflight", True), ("--no-preflight", False)])
def test_a_script_may_be_asked_for_without_checks(run: Run, option: str, there: bool) -> None:
    """Where the site has its own, or a person looks."""
    assert ("\n# --- checks\n" in run("optimise", EXAMPLE, "--script", option).out) == there


def test_json_is_the_requests_own_document_filled_in(run: Run) -> None:
    """What the caller wrote is still there, the counts and the image are filled in."""
    sent = json.loads(EXAMPLE.read_text())["job"]
    job = json.loads(run("optimise", EXAMPLE, "--json").out)["job"]
    assert job["optimisation"] == sent["optimisation"]
    assert job["job_options"].items() >= sent["job_options"].items()
    chosen = job["plan"]["configuration"]
    assert job["job_options"]["node_count"] == chosen["nodes"]
    assert job["application"]["mpi_ranks"] == chosen["nodes"] * chosen["ranks_per_node"]


def test_output_writes_the_files_and_names_them(run: Run, tmp_path: Path) -> None:
    """The script can be run, the document holds its path, the answer how it is submitted, and no temporary file stays."""
    folder = tmp_path / "deep/my plan"
    ran = run("optimise", EXAMPLE, "-o", folder)
    assert (ran.status, f"- sbatch '{folder / 'job.sh'}', from the folder of the program's files" in ran.out) == (0, True)
    document = json.loads((folder / "response.json").read_text())
    assert document["job"]["job_script"] == str(folder / "job.sh")
    assert (folder / "job.sh").read_text() == document["job"]["job_content"]
    assert (folder / "job.sh").stat().st_mode & stat.S_IXUSR
    assert [file.name for file in folder.iterdir() if file.name.startswith(".")] == []


@pytest.mark.parametrize(("options", "said"), [((), 1), (("--script",), 0), (("--json",), 0)])
def test_an_answer_that_ends_in_its_script_says_how_to_keep_it(run: Run, options: tuple[str, ...], said: int) -> None:
    """On a terminal the script is the last that is seen."""
    assert run("optimise", EXAMPLE, *options).err.count("note: -o DIR writes the script to a file") == said


def test_output_replaces_no_pipe_and_no_stream(run: Run, tmp_path: Path) -> None:
    """Root could do so even to /dev/stdout, for every program of the machine: that is a link as the one here."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "stdout").symlink_to("/proc/self/fd/1")
    for place in (tmp_path / "pipe", tmp_path / "stdout"):
        before = place.lstat().st_ino
        assert run("results", "export", "-o", str(place)).err == f"modak: {place}: cannot be written: no regular file\n"
        assert place.lstat().st_ino == before


def test_output_goes_through_no_link(run: Run, tmp_path: Path) -> None:
    """A link at the place of a file is replaced; what it points to is left alone."""
    precious = tmp_path / "precious"
    precious.write_text("mine")
    folder = tmp_path / "plan"
    folder.mkdir()
    (folder / "job.sh").symlink_to(precious)
    assert run("optimise", EXAMPLE, "-o", folder).status == 0
    assert precious.read_text() == "mine"
    assert not (folder / "job.sh").is_symlink()


def test_a_script_of_the_users_own_is_not_replaced(run: Run, tmp_path: Path) -> None:
    """It may be what the job starts."""
    (tmp_path / "job.sh").write_text("#!/bin/bash\n./solver\n")
    told = f"modak: {tmp_path / 'job.sh'}: it is there already, and MODAK did not write it; give -o another folder for the scripts\n"
    assert run("optimise", EXAMPLE, "-o", tmp_path) == (1, "", told)
    assert [file.name for file in tmp_path.iterdir()] == ["job.sh"]


def test_an_answer_replaces_an_earlier_one(run: Run, tmp_path: Path) -> None:
    """In the same folder."""
    assert [run("optimise", EXAMPLE, "-o", tmp_path).status for _ in range(2)] == [0, 0]


def test_nothing_is_written_where_one_file_cannot_be(run: Run, tmp_path: Path) -> None:
    """A folder at the place of one file: the other file is not left behind."""
    folder = tmp_path / "plan"
    (folder / "response.json/in the way").mkdir(parents=True)
    ran = run("optimise", EXAMPLE, "-o", folder)
    assert (ran.status, ran.err.count("\n")) == (1, 1)
    assert [file.name for file in folder.iterdir()] == ["response.json"]


def test_a_terminal_is_told_of_a_new_database(tmp_path: Path) -> None:
    """With its whole path, once: three slashes where four were meant are seen at once."""
    environment = os.environ | {"MODAK_DATABASE_URL": "sqlite:///srv/new.db"}
    said = []
    for _ in range(2):
        ours, theirs = pty.openpty()
        with subprocess.Popen([sys.executable, "-m", "modak", "token", "list"], stderr=theirs, cwd=tmp_path, env=environment) as process:
            os.close(theirs)
            said.append(read_all(ours).decode())
        assert process.returncode == 0
    assert said == [f"note: new database: {tmp_path}/srv/new.db\r\n", ""]


def test_a_request_comes_from_standard_input(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """``-`` reads it, and gives the same answer."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(EXAMPLE.read_bytes())))
    assert run("optimise", "-", "--json").out == run("optimise", EXAMPLE, "--json").out


@pytest.mark.parametrize("words", [(), ("results",), ("db",), ("token",), ("images",)])
def test_a_group_without_a_command_shows_its_help(run: Run, words: tuple[str, ...]) -> None:
    """As it is shown with ``--help``, but on standard error, and as wrong usage."""
    asked, alone = run(*words, "--help"), run(*words)
    assert (alone.status, alone.out, alone.err) == (2, "", asked.out)


def test_each_setting_is_in_the_help_of_the_commands_that_it_is_for(run: Run) -> None:
    """Those of all commands in the first help, which thus fits on a screen; it says where the others are."""
    helps = [run(*words, "--help").out for words in ((), ("serve",), ("images", "build"))]
    found = [set(re.findall(r"^  (MODAK_[A-Z_]+)", shown, re.MULTILINE)) for shown in helps]
    assert [{name for name, *_ in rows} for rows in settings_table().values()] == found
    assert helps[0].count("\n") <= 50
    assert {"modak serve --help", "modak images build --help"} <= set(re.findall(r"modak .*--help", helps[0]))


def test_the_examples_of_the_help_are_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is a line of its own, also on a usual terminal, with options and arguments that its command has."""
    from modak.cli import app

    def commands(command: Any) -> Iterator[Any]:
        below = getattr(command, "commands", None)
        yield from [command] if below is None else (found for one in below.values() for found in commands(one))

    monkeypatch.setenv("COLUMNS", "80")
    root = typer.main.get_command(app)
    examples = [line for one in commands(root) for line in re.findall(r": modak (.*)$", one.help or "", re.MULTILINE)]
    assert len(examples) > 15
    for example in examples:
        command: Any = root
        words = shlex.split(example)
        while hasattr(command, "commands"):
            command = command.commands[words.pop(0)]
        with command.make_context(command.name, words) as context:
            assert f": modak {example}\n" in command.get_help(context)


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (("optimise", "nowhere.json"), 1, "nowhere.json: cannot be read: No such file or directory"),
        (("optimise",), 2, "Missing argument"),
        (("optimise", '{"job": {}}'), 2, "allowed: the name of a file with the document, or - and"),
        (("nonsense",), 2, "No such command 'nonsense' (see 'modak --help')"),
        (("results", "load"), 2, "did you mean 'modak load'?"),
        (("evaluate",), 2, "did you mean 'modak models evaluate'?"),
        (("create",), 2, "did you mean 'modak token create'?"),
        (("optimise", EXAMPLE, "--nodes", "2"), 2, "No such option: --nodes; in the request it is the field job_options.node_count (see"),
        (("optimise", EXAMPLE, "--walltime", "2h"), 2, "in the request it is the field job_options.wall_time_limit (see"),
        (("optimise", EXAMPLE, "--system", "zenith"), 2, "in the request it is the field target.name (see"),
        (("optimise", EXAMPLE, "--image", "a.sif"), 2, "No such option: --image; application.container_runtime names an image (see"),
        (("models", "list", "--nodes", "2"), 2, "No such option: --nodes (see 'modak models list --help')"),
        (("recommend",), 2, "give a REQUEST.json or --application"),
        (("predict", "nowhere.csv", "--level", "2"), 2, "between 0 and 1"),
        (("systems", "show", "supermuc"), 1, "did you mean 'supermuc-ng'?"),
        (("results", "list", "--where", "sytem=x"), 1, "unknown filter"),
        (("images", "build", "nowhere.def"), 1, "nowhere.def: no such file"),
        (("images", "build", "pytorch-2.3"), 1, "did you mean 'pytorch'?"),
        (("token", "revoke", "ada"), 1, "'modak token list' shows the ids"),
        (("schema", "requset"), 1, "did you mean 'request'?"),
        (("schema", "opnapi"), 1, "did you mean 'openapi'?"),
        (("results", "confirm", "99999999999999999999"), 2, "allowed: at most 9223372036854775807"),
        (("results", "plan", EXAMPLE, "--budget", "nan"), 2, "--budget"),
        (("results", "plan", EXAMPLE, "--budget", "10 node hours"), 2, "Invalid value for '--budget': allowed: a number (see"),
        (("results", "list", "--limit", "many"), 2, "Invalid value for '--limit': allowed: a whole number (see"),
        (("recommend", EXAMPLE, "--compare", "nodes=2"), 2, "Option '--compare' requires 2 arguments (see 'modak recommend --help')"),
        (("results", "list", "--limit"), 2, "Option '--limit' requires an argument (see 'modak results list --help')"),
        (
            ("load", EXAMPLE, "--map", "model", "application"),
            2,
            "Invalid value for --map: 'model' is not a pair; allowed: NAME=VALUE (see",
        ),
        (("load", EXAMPLE, "--set", "=s"), 2, "Invalid value for --set: '=s' has no name before its sign"),
        (("results", "list", "--where", "system"), 2, "Invalid value for --where: 'system' is not a pair; allowed: NAME=VALUE (see"),
        (("load", EXAMPLE, "--set", "unit=s", "--set", "UNIT=ms"), 2, "Invalid value for --set: 'unit' is given twice; allowed: each"),
        (("results", "list", "--system", "a", "--where", "System=b"), 2, "Invalid value for --where: 'system' is given twice; allowed"),
        (("validate", __file__), 1, "test_commands.py: line 1, column 3: not valid JSON"),
        (("optimise", EXAMPLE, "-o", EXAMPLE), 1, ".json: cannot be written: File exists"),
    ],
)
def test_what_is_wrong_is_one_line_and_a_status(run: Run, words: tuple[str | Path, ...], status: int, says: str) -> None:
    """On standard error, naming what is known; nothing on standard output."""
    ran = run(*words)
    assert (ran.status, ran.out, ran.err.count("\n")) == (status, "", 1)
    assert says in ran.err


def test_a_wrong_field_is_named(run: Run, tmp_path: Path) -> None:
    """By its dotted path, one line a fault."""
    ran = run("optimise", request(tmp_path, job_options={"job_name": "a b", "node_count": 0}))
    assert ran.status == 1
    assert sorted(line.split(": ")[1] for line in ran.err.splitlines()) == ["job_options.job_name", "job_options.node_count"]


def test_nothing_feasible_has_its_own_status(run: Run, tmp_path: Path) -> None:
    """A deadline that no configuration meets: 4, and one line that says so."""
    document = json.loads(EXAMPLE.read_text())["job"]
    document["optimisation"]["objective"] = {"deadline": 60, "max_nodes": 8}
    ran = run("optimise", request(tmp_path, **document))
    assert (ran.status, ran.out, ran.err.count("\n")) == (4, "", 1)


def test_errors_are_json_where_json_is_asked_for(run: Run, tmp_path: Path) -> None:
    """The same faults with field and message, on standard error."""
    ran = run("optimise", request(tmp_path, job_options={"job_name": "a b"}), "--json")
    told = json.loads(ran.err)
    assert (told["exit_status"], told["errors"][0]["field"]) == (1, "job_options.job_name")


def test_a_refused_request_shows_the_warnings_of_reading_it(run: Run, tmp_path: Path) -> None:
    """Before the error, as a warning of an answer is shown, and in JSON beside the errors."""
    file = request(tmp_path, job_options={"job_name": "a b", "acount": "x"})
    warning, error = run("optimise", file).err.splitlines()
    assert warning.startswith("warning: job_options.acount: unknown key")
    assert error.startswith("modak: job_options.job_name: ")
    assert [one["field"] for one in json.loads(run("optimise", file, "--json").err)["warnings"]] == ["job_options.acount"]


@pytest.mark.parametrize(
    ("job", "said"),
    [
        ({"target": {"name": "nowhere"}}, "unknown system 'nowhere'"),
        ({"job_options": {"acount": "a"}}, "unknown key, ignored; did you mean 'account'?"),
        ({"application": {"executable": "apptainer exec own.sif ./a"}}, "read as target.container_runtime 'none'"),
    ],
)
def test_strict_turns_a_warning_into_an_error(run: Run, tmp_path: Path, job: dict[str, Any], said: str) -> None:
    """Whether it is about the system, a key or what fields mean together; its line says why it is one."""
    file = request(tmp_path, **{"application": {"executable": "./a"}, **job})
    assert said in run("optimise", file).out
    ran = run("optimise", file, "--strict")
    assert (ran.status, [said in line and line.endswith("(strict: refused)") for line in ran.err.splitlines()]) == (1, [True])


@pytest.mark.parametrize(("word", "status"), [("node-hours", 0), ("fastest", 2), ("", 2)])
def test_an_objective_that_is_none_is_refused(run: Run, word: str, status: int) -> None:
    """As other options are: only a document that has it is answered, with a warning."""
    ran = run("recommend", "--application", "3dgan", "--system", "supermuc-ng", "--max-nodes", "4", "--objective", word)
    assert (ran.status, f"known: {', '.join(get_args(Minimise))}" in ran.err) == (status, status == 2)


@pytest.mark.parametrize(("name", "value"), [("MODAK_DATABASE_URL", "sqlite:////dev/null/all.db"), ("MODAK_SERVER", "http://127.0.0.1:9")])
def test_validate_needs_no_database(run: Run, monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    """A document is right or wrong by itself; that nothing is known of its target is said."""
    monkeypatch.setenv(name, value)
    ran = run("validate", EXAMPLE)
    assert (ran.status, ran.out) == (0, "the request is valid\n")
    assert ran.err.startswith("the target is not checked: ")
    assert json.loads(run("validate", EXAMPLE, "--json").out)["target_checked"] is False


@pytest.mark.parametrize(
    ("job", "field"),
    [
        ({"target": {"name": "supermuk-ng"}}, "target.name"),
        ({"target": {"name": "supermuc-ng"}, "job_options": {"account": "a", "queue": "generall"}}, "job_options.queue"),
        ({"target": {"name": "supermuc-ng"}}, "job_options.account"),
        ({"target": {"name": "supermuc-ng", "container_runtime": "enroot"}, "job_options": {"account": "a"}}, "target.container_runtime"),
        ({"target": {"name": "hlrs-testbed"}, "optimisation": {"opt_build": {"acc_type": "fpga"}}}, "optimisation.opt_build.acc_type"),
    ],
)
def test_validate_checks_the_target(run: Run, tmp_path: Path, job: dict[str, Any], field: str) -> None:
    """What optimise would do instead is said, and refused with --strict."""
    file = request(tmp_path, application={"executable": "./a"}, **job)
    ran = run("validate", file, "--json")
    assert (ran.status, [one["field"] for one in json.loads(ran.out)["warnings"]]) == (0, [field])
    strict = run("validate", file, "--strict")
    assert (strict.status, field in strict.err) == (1, True)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"node_count": 7000}, "node_count"),
        ({"memory_limit": "1 TB"}, "memory_limit"),
        ({"minimum_memory_per_processor": "1 TB"}, "minimum_memory_per_processor"),
        ({"minimum_memory_per_processor": "20 GB", "process_count_per_node": 48}, "minimum_memory_per_processor"),
    ],
)
def test_validate_refuses_what_no_job_there_can_have(run: Run, tmp_path: Path, options: dict[str, Any], field: str) -> None:
    """As optimise does, in the same words."""
    file = request(tmp_path, application={"executable": "./a"}, target={"name": "supermuc-ng"}, job_options={"account": "a"} | options)
    checked, asked = run("validate", file), run("optimise", file)
    assert (checked.status, checked.out, checked.err) == (4, "", asked.err)
    assert checked.err.startswith(f"modak: job_options.{field}: ")


def test_recommend_takes_options_instead_of_a_document(run: Run) -> None:
    """The same choice as for the document that says the same, and a framework: this one has an image."""
    words = ("--application", "3dgan", "--system", "supermuc-ng", "--epochs", "20", "--deadline", "01:00:00", "--objective", "node_hours")
    best = json.loads(run("recommend", *words, "--json").out)["choices"][0]
    chosen = json.loads(run("recommend", EXAMPLE, "--json").out)["choices"][0]["configuration"]
    plan = json.loads(run("optimise", EXAMPLE, "--json").out)["job"]["plan"]["configuration"]
    assert chosen == {**best["configuration"], "image": plan["image"], "framework_version": plan["framework_version"]}


def test_a_throughput_needs_the_samples_that_an_option_gives(run: Run) -> None:
    """Its results give samples per second."""
    words = ("recommend", "--application", "alexnet", "--system", "xeon-gold-6148-4-node", "--json", "--samples")
    times = [json.loads(run(*words, samples).out)["choices"][0]["prediction"]["value"] for samples in ("50000", "100000")]
    assert times[1] == pytest.approx(2 * times[0])


def test_a_long_entry_of_the_trail_is_cut_in_the_table(own: Run, tmp_path: Path) -> None:
    """JSON has the whole."""
    table = tmp_path / f"{'long' * 40}.csv"
    table.write_text("application,metric,value\nsolver,wall_time,1\n")
    assert own("load", table).status == 0
    assert table.name not in own("audit").out
    assert table.name in own("audit", "--json").out


def test_times_of_the_trail_are_to_the_second_in_the_table(own: Run, tmp_path: Path) -> None:
    """Fractions would take the room of other columns; JSON has them."""
    table = tmp_path / "a.csv"
    table.write_text("application,metric,value\nsolver,wall_time,1\n")
    assert own("load", table).status == 0
    newest = json.loads(own("audit", "--json").out)["items"][0]
    assert own("audit").out.splitlines()[1].split()[0] == f"{newest['at'][:19]}+00:00" != newest["at"]


def test_energy_has_its_unit_and_interval_where_a_nodes_power_is_known(run: Run, tmp_path: Path) -> None:
    """3,500 W for the node-hours of the choice, in the answer and in the table of choices."""
    workload = {"application": "resnet50", "dataset": "imagenet-1k", "epochs": 90, "samples": 1281167}
    wanted = {"app_type": "ai_training", "ai_training": {"mxnet": {}}, "workload": workload, "objective": {"minimise": "energy"}}
    job = {"application": {"app_tag": "resnet50", "executable": "python3 t.py"}, "target": {"name": "dgx-1-v100"}, "optimisation": wanted}
    request = tmp_path / "energy.json"
    request.write_text(json.dumps({"job": job}))
    plan = json.loads(run("optimise", request, "--json").out)["job"]["plan"]
    assert plan["energy_kwh"] == pytest.approx(3.5 * plan["node_hours"])
    assert re.search(r"energy: +[0-9.]+ kWh \(90% interval [0-9.]+ – [0-9.]+\)", run("optimise", request).out)
    assert "energy kWh" in run("recommend", request).out.splitlines()[0]


def test_predict_keeps_rows_and_order_and_adds_columns(run: Run, tmp_path: Path) -> None:
    """An application without results gets basis none and empty cells; the status is 0."""
    points = tmp_path / "points.csv"
    points.write_text("application,metric,system,nodes,unit\nnobody,epoch_time,x,1,\n3dgan,epoch_time,supermuc-ng,24,min\n")
    ran = run("predict", points)
    rows = list(csv.DictReader(io.StringIO(ran.out)))
    assert ran.status == 0
    assert (rows[0]["application"], rows[0]["basis"], rows[0]["predicted"]) == ("nobody", "none", "")
    assert rows[1]["unit"] == "min"
    assert 1 < float(rows[1]["lower"]) < float(rows[1]["predicted"]) < float(rows[1]["upper"]) < 10


def test_predict_says_which_metrics_have_no_models(own: Run, tmp_path: Path) -> None:
    """Not that results are missing, where there are some."""
    table = "application,system,nodes,metric,value,unit\nsolver,here,1,energy,5,kWh\nsolver,here,1,wall_time,9,s\n"
    (tmp_path / "mine.csv").write_text(table)
    assert own("load", str(tmp_path / "mine.csv")).status == 0
    points = "application,system,nodes,metric\nsolver,here,1,energy\nsolver,here,1,wall_time\nother,here,1,wall_time\n"
    (tmp_path / "points.csv").write_text(points)
    (only, missing, *_) = own("predict", str(tmp_path / "points.csv")).err.splitlines()
    assert only == "warning: metric: 1 of 3 rows are of energy: only times and rates of work are predicted (none)"
    assert missing.startswith("warning: basis: 1 of 3 rows without a prediction")


def test_predict_says_which_names_may_be_meant(run: Run, tmp_path: Path) -> None:
    """A misspelt name has no results. One that is like no other is as it should be, and so is another spelling of a system's."""
    rows = ("3dgna,zenith", "quux,zenith", "3dgna,Zenith", "3dgan,supermuc_nq", "3dgan,SuperMUC NG", "3dgan,my-cluster")
    points = tmp_path / "points.csv"
    points.write_text("application,system,metric,nodes\n" + "".join(f"{row},epoch_time,1\n" for row in rows))
    warnings = run("predict", points).err.splitlines()
    assert [line for line in warnings if "did you mean" in line] == [
        "warning: application: no results of '3dgna'; did you mean '3dgan'?",
        "warning: system: no description, and no models of these applications, of 'supermuc_nq'; did you mean 'supermuc-ng'?",
    ]


def test_predict_writes_json_to_a_file_as_to_standard_output(run: Run, tmp_path: Path) -> None:
    """``--json`` says what is written, ``-o`` where."""
    points = tmp_path / "points.csv"
    points.write_text("application,metric,system,nodes\n3dgan,epoch_time,supermuc-ng,24\n")
    written = tmp_path / "predicted.json"
    assert run("predict", points, "--json", "-o", written) == (0, "", "")
    assert written.read_text() == run("predict", points, "--json").out
    assert json.loads(written.read_text())["rows"][0]["nodes"] == 24


GPUS_OF_A_NODE = [
    *(("net", "dgx-1-v100", 1, gpus, "throughput", 300 * gpus) for gpus in (1, 2, 4)),
    *(("other", "dgx-1-v100", nodes, 1, "throughput", 300 * nodes) for nodes in (1, 2)),
]
GPUS_OF_RESULTS = [("net", "ours", nodes, gpus, "throughput", 300 * nodes * gpus) for nodes, gpus in ((1, 1), (1, 2), (1, 4), (2, 4))]
WHOLE_RUNS = [("net", "ours", 1, gpus, "training_time", 3600 / gpus) for gpus in (1, 2, 4)]


@pytest.mark.parametrize(
    ("measured", "asked", "predicted", "said"),
    [
        (
            GPUS_OF_A_NODE,
            ["net,dgx-1-v100,1,,throughput", "net,dgx-1-v100,1,8,throughput", "net,,1,,throughput", "other,dgx-1-v100,1,,throughput"],
            [2400, 2400, 300, 300],
            "2 of 4 rows name none, and results are over GPUs: all that a node has are counted (1, 8); on unknown",
        ),
        (GPUS_OF_RESULTS, ["net,ours,2,,throughput"], [2400], ""),
        (WHOLE_RUNS, ["net,ours,1,,training_time", "net,ours,1,,wall_time"], [900, 900], ""),
    ],
    ids=["of a node", "as many as results had", "of whole runs by another name"],
)
def test_predict_counts_all_gpus_where_results_are_over_gpus(
    own: Run, tmp_path: Path, measured: list[Item], asked: list[str], predicted: list[float], said: str
) -> None:
    """Nodes alone are no size then, and one GPU of four would take four times as long as any job. A warning says how many were counted;
    results over nodes say themselves how many are usual."""
    head = "application,system,nodes,gpus_per_node,metric"
    (tmp_path / "t.csv").write_text("\n".join([f"{head},value", *(",".join(map(str, row)) for row in measured)]))
    (tmp_path / "q.csv").write_text("\n".join([head, *asked]))
    assert own("load", tmp_path / "t.csv").status == 0
    ran = own("predict", tmp_path / "q.csv")
    assert [float(row["predicted"]) for row in csv.DictReader(io.StringIO(ran.out))] == pytest.approx(predicted, rel=0.05)
    assert said in ran.err


def test_predict_counts_one_rank_where_results_are_over_ranks_and_a_row_names_none(own: Run, tmp_path: Path) -> None:
    """The warning says so: the number looks like any other."""
    measured, asked = tmp_path / "t.csv", tmp_path / "q.csv"
    rows = "".join(f"solver,{ranks},wall_time,{96 / ranks},s\n" for ranks in (1, 2, 4, 8))
    measured.write_text(f"application,ranks_per_node,metric,value,unit\n{rows}")
    assert own("load", measured).status == 0
    asked.write_text("application,nodes,ranks_per_node,metric\nsolver,1,,wall_time\nsolver,1,4,wall_time\n")
    ran = own("predict", asked)
    assert [float(row["predicted"]) for row in csv.DictReader(io.StringIO(ran.out))] == pytest.approx([96, 24], rel=0.05)
    assert "ranks_per_node: 1 of 2 rows name none, and results are over ranks: one on each node is counted" in ran.err


def test_predict_names_the_line_of_a_bad_row(run: Run, tmp_path: Path) -> None:
    """FILE:LINE, with what is allowed."""
    points = tmp_path / "points.csv"
    points.write_text("application,metric,nodes\n3dgan,epoch_time,4\n3dgan,epoch_time,many\n")
    ran = run("predict", points)
    assert (ran.status, ran.out) == (1, "")
    assert f"{points}:3: column 'nodes': 'many'" in ran.err


def test_a_load_with_a_bad_row_stores_nothing(own: Run, tmp_path: Path) -> None:
    """All rows or none; the line is named."""
    results = tmp_path / "bad.csv"
    results.write_text("application,metric,value\nmine,wall_time,10\nmine,wall_time,inf\n")
    ran = own("load", results)
    assert (ran.status, ran.out) == (1, "")
    assert f"{results}:3: column 'value'" in ran.err
    assert json.loads(own("results", "list", "--application", "mine", "--json").out)["items"] == []


@pytest.mark.parametrize(("cores", "told"), [(40, False), (20, True), (80, True), (10, False)])
def test_cores_that_are_not_those_of_the_whole_node_are_noted(own: Run, tmp_path: Path, cores: int, told: bool) -> None:
    """Those of one processor, and hyper-threads; fewer may be a part of a node that the site gives out."""
    shown = json.loads(own("systems", "show", "zenith").out)
    (partition,) = shown["partitions"]
    nodes = {**partition, "node": {**partition["node"], "cores": cores}}
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(shown | {"name": "mine", "aliases": [], "partitions": [nodes]}))
    said = f"{cores} cores, but 2 x xeon-gold-6148f have 40; 'cores' counts the physical cores of a whole node"
    ran = own("systems", "add", file)
    assert (ran.status, ran.err) == (0, f"note: mine: partition default: {said}\n" if told else "")


@pytest.mark.parametrize(
    ("place", "node", "said"),
    [
        ({}, {}, ""),
        ({"nodes": 7}, {"memory_gb": 100}, ""),
        ({}, {"processor": "epyc-7601"}, "had xeon-gold-6148f, and has epyc-7601: results from before count as measured on these"),
        ({}, {"accelerator": "t4", "accelerators": 1}, "had xeon-gold-6148f, and has xeon-gold-6148f and t4: results from before count"),
        ({"name": "new"}, {}, "is gone: on which nodes its results were measured is not known now"),
    ],
)
def test_other_nodes_than_those_of_the_results_are_noted(own: Run, tmp_path: Path, place: Item, node: Item, said: str) -> None:
    """When a description replaces one whose partition has another processor, or accelerator, or is not in it."""
    shown = json.loads(own("systems", "show", "zenith").out.replace('"partitions.default', '"partitions.*'))
    (partition,) = shown["partitions"]
    cited = [*shown["sources"], {"fields": ["partitions"], "citation": "seen"}]
    new = {**partition, **place, "node": {**partition["node"], **node}}
    for file, described in ((tmp_path / "old.json", partition), (tmp_path / "new.json", new)):
        file.write_text(json.dumps(shown | {"name": "mine", "aliases": [], "partitions": [described], "sources": cited}))
    assert own("systems", "add", tmp_path / "old.json") == (0, "system mine is in the database\n", "")
    ran = own("systems", "add", tmp_path / "new.json", "--replace")
    assert ran.status == 0, ran.err
    assert ran.err.startswith(f"note: mine: partition default {said}") if said else not ran.err


def test_a_system_is_added_once(own: Run, tmp_path: Path) -> None:
    """The second one of a name needs --replace."""
    shown = json.loads(own("systems", "show", "zenith").out)
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(shown | {"name": "mine", "aliases": []}))
    assert own("systems", "add", file).out == "system mine is in the database\n"
    assert own("systems", "add", file).out == "system mine was there already, unchanged\n"
    file.write_text(json.dumps(shown | {"name": "mine", "aliases": [], "title": "another"}))
    taken = "modak: systems.mine.name: the system 'mine' exists with other content; --replace replaces it\n"
    assert own("systems", "add", file) == (1, "", taken)
    assert own("systems", "add", file, "--replace").status == 0
    assert json.loads(own("systems", "show", "mine").out)["title"] == "another"
    assert own("systems", "remove", "mine").out == "system mine is removed\n"
    assert "unknown system 'mine'" in own("systems", "remove", "mine").err


@pytest.mark.parametrize("words", [("results", "list", "--application"), ("systems", "remove")])
def test_a_word_that_is_not_in_utf8_is_named(run: Run, words: tuple[str, ...]) -> None:
    """Wrong usage, whatever the command does with it."""
    assert run(*words, "a\udcff") == (2, "", "modak: 'a\\udcff' is not in UTF-8\n")


@pytest.mark.parametrize("names", [{"name": "Zenith_", "aliases": ["ZENITH"]}, {"name": "mine", "aliases": ["zenith"]}])
def test_a_system_takes_no_name_of_another(own: Run, tmp_path: Path, names: dict[str, Any]) -> None:
    """Neither as its name nor as an alias, in any spelling: requests could not tell the two apart."""
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(json.loads(own("systems", "show", "zenith").out) | names))
    ran = own("systems", "add", file, "--replace")
    assert (ran.status, ran.out) == (1, "")
    assert "'zenith' is a name of the system 'zenith'" in ran.err


def test_a_system_of_unknown_hardware_is_refused_until_it_is_known(own: Run, tmp_path: Path) -> None:
    """The field is named; with --processors both are added at once."""
    shown = json.loads(own("systems", "show", "zenith").out) | {"name": "mine", "aliases": []}
    shown["partitions"][0]["node"]["processor"] = "novel-1"
    (tmp_path / "mine.json").write_text(json.dumps(shown))
    processor = {"name": "novel-1", "vendor": "arm", "model": "Novel 1", "microarchitecture": "neoverse_v2", "sources": []}
    (tmp_path / "hardware.json").write_text(json.dumps({"processors": [processor]}))
    ran = own("systems", "add", tmp_path / "mine.json")
    assert (ran.status, ran.err.count("\n")) == (1, 1)
    assert "node.processor: unknown processor 'novel-1'" in ran.err
    assert own("systems", "add", tmp_path / "mine.json", "--processors", tmp_path / "hardware.json").status == 0


@pytest.mark.parametrize("kind", ["systems", "images", "rules"])
def test_entries_come_from_standard_input(own: Run, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """As JSON or as TOML, without a file name that says which, and with a byte order mark as some editors write it."""
    toml = {
        "systems": 'name = "mine"\ntitle = "t"\nsite = "s"\n[[partitions]]\nname = "p"\nnodes = 1\n[partitions.node]\n'
        'processor = "xeon-gold-6148"\nsockets = 1\ncores = 20\n[[sources]]\nfields = ["partitions"]\ncitation = "c"\n',
        "images": '[[images]]\nreference = "shub://a"\nsource = "s"\n[images.labels]\nframework = "jax"\nversion = "1"\nsource = "hub"\n',
        "rules": '[[rules]]\nname = "mine"\ntitle = "t"\nsource = "s"\nscript = "true"\n',
    }[kind]
    as_json = json.dumps(tomllib.loads(toml))
    for text, told in (
        (toml, "is in the database"),
        *((text, "was there already") for text in (as_json, f"\ufeff{as_json}", f"\ufeff{toml}")),
    ):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        ran = own(kind, "add", "-")
        assert (ran.status, ran.err) == (0, "")
        assert told in ran.out


def test_rules_are_checked_before_they_are_added(own: Run, tmp_path: Path) -> None:
    """A script that is no shell is refused, and nothing of the file is stored."""
    file = tmp_path / "rules.toml"
    rule = '[[rules]]\nname = "{}"\ntitle = "t"\nsource = "s"\nscript = "{}"\n'
    file.write_text(rule.format("good", "true") + rule.format("bad", "if then"))
    for command in (("rules", "check"), ("rules", "add")):
        ran = own(*command, file)
        assert ran.status == 1
        assert "rules.bad" in ran.err
    assert own("rules", "show", "good").status == 1


@pytest.mark.parametrize(("reads", "noted"), [("${MODAK_SCRATCH}", True), ("$MODAK_SCRATCH/a", True), ("${MODAK_SCRATCH:-/tmp}", False)])
def test_a_rule_that_expects_a_directory_in_every_job_is_noted(own: Run, tmp_path: Path, reads: str, noted: bool) -> None:
    """Jobs that copy nothing have none, and the rule would end them."""
    (tmp_path / "rules.toml").write_text(f'[[rules]]\nname = "mine"\ntitle = "t"\nsource = "s"\nscript = "cp a {reads}"\n')
    ran = own("rules", "check", tmp_path / "rules.toml")
    assert (ran.status, "rules.mine.script: not every job has MODAK_SCRATCH" in ran.err) == (0, noted)


@pytest.mark.parametrize(
    ("words", "item"),
    [
        (("models", "evaluate"), {"id": "0", "series": {"application": "solver", "metric": "time", "unit": "s", "phase": "moon"}}),
        (("results", "compare", "runtime"), {"name": "zenith", "phase": "moon"}),
        (("systems", "detect", "--name", "zenith", "--diff"), {"name": "zenith", "phase": "moon"}),
        (("results", "doubt", "1", "--why", "noise"), {"new": 1}),
        (("models", "list"), {"id": "0", "application": "solver"}),
    ],
)
def test_what_a_service_of_another_version_answers_is_one_line(
    run: Run, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], item: Item
) -> None:
    """Whether it has more than the command's own version, which computes with it, or less."""
    with answering((200, {"items": [item], **item})) as address:
        monkeypatch.setenv("MODAK_SERVER", address)
        ran = run(*words)
    assert (ran.status, ran.err) == (3, f"modak: {address} is of another version of MODAK: this command does not read its answer\n")


@pytest.mark.parametrize("kind", ["systems", "images", "rules", "models"])
def test_everything_that_is_listed_can_be_shown(run: Run, kind: str) -> None:
    """By the name in its list."""
    key = {"images": "reference", "models": "id"}.get(kind, "name")
    first = json.loads(run(kind, "list", "--json").out)[0]
    assert json.loads(run(kind, "show", first[key]).out) == first
    assert first[key] in run(kind, "list").out


@pytest.mark.parametrize("kind", ["systems", "images", "rules"])
def test_what_is_shown_can_be_added(own: Run, tmp_path: Path, kind: str) -> None:
    """An entry is taken out, edited and stored again."""
    first = json.loads(own(kind, "list", "--json").out)[0]
    name = first["reference" if kind == "images" else "name"]
    (tmp_path / "entry.json").write_text(own(kind, "show", name).out)
    ran = own(kind, "add", tmp_path / "entry.json", "--replace")
    assert (ran.status, ran.err) == (0, "")


def test_the_database_is_checked_and_copied(own: Run, tmp_path: Path) -> None:
    """The copy answers like the original, and overwrites nothing."""
    assert own("db", "check").out == "the database is in order\n"
    assert own("db", "backup", tmp_path / "copy.db").status == 0
    assert own("db", "backup", tmp_path / "copy.db").status == 1
    assert (tmp_path / "copy.db").stat().st_size > 0


def test_a_database_out_of_reach_is_status_3(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that cannot be made; a HOME that is not set; a file that is no database."""
    monkeypatch.setenv("MODAK_DATABASE_URL", "sqlite:////proc/nowhere/modak.db")
    assert run("systems", "list").status == 3
    monkeypatch.delenv("MODAK_DATABASE_URL")
    monkeypatch.delenv("HOME")
    monkeypatch.delenv("XDG_DATA_HOME")
    ran = run("systems", "list")
    assert (ran.status, ran.err.count("\n")) == (3, 1)
    assert "MODAK_DATABASE_URL" in ran.err


def test_a_service_out_of_reach_is_status_3(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line with its address."""
    monkeypatch.setenv("MODAK_SERVER", "http://127.0.0.1:9")
    ran = run("optimise", EXAMPLE)
    assert (ran.status, ran.err.count("\n")) == (3, 1)
    assert "http://127.0.0.1:9" in ran.err


@pytest.mark.parametrize("options", [(), ("--script",), ("--json",), ("-o", "folder")])
def test_a_plan_is_shown_again_by_its_id(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, options: tuple[str, ...]) -> None:
    """In all ways in which it was answered."""
    monkeypatch.chdir(tmp_path)
    plan = json.loads(run("optimise", EXAMPLE, "--json").out)["job"]["plan"]["id"]
    first = run("optimise", EXAMPLE, *options)
    written = {each.name: each.read_text() for each in (tmp_path / "folder").glob("*")}
    assert run("plans", "show", plan, *options) == first
    assert {each.name: each.read_text() for each in (tmp_path / "folder").glob("*")} == written
    unknown = run("plans", "show", "nothing", *options)
    assert (unknown.status, unknown.out, "no plan 'nothing'; plans expire" in unknown.err) == (1, "", True)


def test_predicted_times_are_shown_beside_those_of_the_jobs(
    run: Run, own_database: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A row for each job, the newest first; then how many were within the interval. A stopped one took longer than that."""
    monkeypatch.setenv("MODAK_DATABASE_URL", f"sqlite:///{own_database}")
    none = run("plans", "outcomes")
    assert (none.status, none.out, "has reported its own" in none.err) == (0, "", True)
    plan = json.loads(run("optimise", EXAMPLE, "--json").out)["job"]["plan"]
    ran = {"application": "3dgan", "system": "supermuc-ng", "nodes": 24}
    ended = {**ran, "metric": "wall_time", "unit": "s", "value": 3300}
    for job, how in ((1, {"exit_status": 0, "results": [ended]}), (2, {"exit_status": 143, "seconds": 4000, "unfinished": ran})):
        file = tmp_path / f"modak-result-{job}.json"
        file.write_text(json.dumps({"modak_result": 1, "plan": plan["id"], "job": str(job)} | how))
        assert run("load", file).status == 0
    header, *rows, _, summary = run("plans", "outcomes", "--application", "3dgan").out.splitlines()
    assert header.split() == ["plan", "job", "application", "system", "nodes", "took", "predicted", "90%", "interval", "outcome"]
    assert [re.split(" {2,}", row.strip())[-4:] for row in rows] == [
        ["> 66.7 min", "54.9 min", "50.1 – 60.1 min", "longer"],
        ["55 min", "54.9 min", "50.1 – 60.1 min", "within"],
    ]
    assert summary == "1 of 2 jobs (50%) were within the interval; 1 took longer; median error 0.2%"
    assert json.loads(run("plans", "outcomes", "--json").out)["jobs"] == 2
    assert "no such job of a stored plan" in run("plans", "outcomes", "--system", "supermuc").err


def test_a_service_names_no_file_outside_the_folder(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whatever a wrong one, or somebody in between, answers."""
    filled = json.loads(run("optimise", EXAMPLE, "--json").out)
    filled["job"]["plan"] |= {"id": "x/../../out", "recipe": {"file": "../Dockerfile", "content": "FROM x\n"}}
    with answering((200, filled), (201, {"token": "t"})) as address:
        monkeypatch.setenv("MODAK_SERVER", address)
        monkeypatch.setenv("MODAK_TOKEN", "t")
        assert run("optimise", EXAMPLE, "-o", tmp_path / "folder").status == 0
    assert [each.name for each in tmp_path.iterdir()] == ["folder"]
    assert {"Dockerfile", "job.sh", "out.token", "response.json"} <= {each.name for each in (tmp_path / "folder").iterdir()}
    one = {"configuration": {"nodes": "/../..", "ranks_per_node": 1, "threads_per_rank": "/../.."}, "prediction": {"basis": "none"}}
    texts = {"job_script": "x", "build_script": "", "definition": "FROM x\n", "definition_name": "../../Dockerfile"}
    told = {"likely": [], "interval": None, "runs": [{**one, "texts": texts}], "node_hours": 0.0, "notes": [], "warnings": []}
    with answering((200, told)) as address:
        monkeypatch.setenv("MODAK_SERVER", address)
        assert run("results", "plan", EXAMPLE, "-o", tmp_path / "folder" / "runs", "--json").status == 0
    assert [each.name for each in tmp_path.iterdir()] == ["folder"]
    assert sorted(each.name for each in (tmp_path / "folder").rglob("*/*")) == ["Dockerfile", "job.sh", "run-1-_.._..x1x_.._.."]


def test_control_characters_do_not_reach_the_terminal(run: Run) -> None:
    """A file name with an escape sequence is shown as text."""
    assert "\x1b" not in run("optimise", "\x1b[31m.json").err


def test_newer_knowledge_comes_in_beside_what_the_site_changed(own: Run, tmp_path: Path) -> None:
    """`modak db refresh` names what was changed here, shows the difference, leaves it, and takes the package's where that is said."""
    changed = json.loads(own("systems", "show", "zenith").out) | {"title": "Ours"}
    (tmp_path / "zenith.json").write_text(json.dumps(changed))
    assert own("systems", "add", tmp_path / "zenith.json", "--replace").status == 0
    upgraded = own("db", "upgrade")
    assert (upgraded.status, upgraded.err) == (0, "")
    dry = own("db", "refresh", "--dry-run")
    assert (dry.status, dry.out.splitlines()[1].split()[:5]) == (0, ["stays", "system", "zenith", "changed", "here"])
    assert '-  "title": "Ours"' in dry.out.splitlines()
    told = json.loads(own("db", "refresh", "--json").out)["differences"]
    assert [(one["name"], one["standing"], one["taken"]) for one in told] == [("zenith", "changed here", False)]
    assert own("db", "refresh", "zenith", "--replace").out.splitlines()[1].split()[:3] == ["taken", "in", "system"]
    assert json.loads(own("systems", "show", "zenith").out)["title"] != "Ours"
    assert own("db", "refresh").out == "the database has all that this MODAK knows\n"
    assert own("db", "refresh", "zenith").status == 1


def test_a_database_on_a_network_file_system_is_warned_of(own: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here every kind of file system counts as one: no test can mount a real one."""
    kinds = {line.split()[2] for line in Path("/proc/mounts").read_text().splitlines()}
    monkeypatch.setattr("modak.store.engine.NETWORK", kinds)
    assert "is on a network file system: use it from one machine at a time" in own("db", "upgrade").err


def test_an_upgrade_says_what_the_database_lacks(own: Run, own_database: Path) -> None:
    """An entry that an earlier version did not have is one more for `modak db refresh`."""
    with closing(sqlite3.connect(own_database)) as database, database:
        database.execute("DELETE FROM systems WHERE name = 'zenith'")
    note = "note: this MODAK knows 1 thing that the database lacks, or has as an earlier version knew it: modak db refresh --dry-run\n"
    assert own("db", "upgrade").err == note
    assert own("db", "refresh").status == 0
    assert own("db", "upgrade").err == ""


def interrupted(process: subprocess.Popen[str], number: signal.Signals = signal.SIGINT) -> str:
    """Press Ctrl-C, or send another signal, until the process has ended; what it says then.

    One may not do: Python sees a signal that comes between two reads of a pipe for one buffer when the next bytes come, and none do.
    """
    while process.poll() is None:
        process.send_signal(number)
        time.sleep(0.05)
    assert process.stderr
    return process.stderr.read()


def test_ctrl_c_is_one_line_however_often_it_is_pressed(packaged_database: Path) -> None:
    """Nothing of a load is stored that waits for more; status 130, as shells count it."""
    environment = os.environ | {"MODAK_DATABASE_URL": f"sqlite:///{packaged_database}"}
    words = [sys.executable, "-m", "modak", "load", "-"]
    with subprocess.Popen(words, env=environment, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdin
        process.stdin.write("application,metric,value\n" + "a,wall_time,1\n" * 100_000)  # more than a pipe holds: it is being read
        process.stdin.flush()
        assert interrupted(process) == "modak: interrupted\n"
    assert process.returncode in (130, -signal.SIGINT)


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGHUP])
def test_what_is_terminated_leaves_nothing(packaged_database: Path, tmp_path: Path, ending: signal.Signals) -> None:
    """As after Ctrl-C, also of what a load reads from a pipe; the process ends of the signal, as its caller expects."""
    environment = os.environ | {"MODAK_DATABASE_URL": f"sqlite:///{packaged_database}", "TMPDIR": str(tmp_path)}
    by_default = f"--default-signal={ending.name[3:]}"  # nohup, in which the tests may run, ignores SIGHUP
    words = ["env", by_default, sys.executable, "-m", "modak", "load", "-"]
    with subprocess.Popen(words, env=environment, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdin
        process.stdin.write("application,metric,value\n" + "a,wall_time,1\n" * 1_300_000)  # 18 MB: more than is kept in memory
        process.stdin.flush()
        until(lambda: any(tmp_path.iterdir()))
        assert interrupted(process, ending) == "modak: interrupted\n"
    assert process.returncode == -ending
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGHUP])
def test_a_caller_that_ignores_a_signal_has_its_commands_go_on(ending: signal.Signals) -> None:
    """As scripts of jobs do while they end, so that no command after the application is lost at the time limit; and as nohup does."""
    words = ["sh", "-c", f'trap "" {ending.name[3:]}; exec "$0" -m modak validate -', sys.executable]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        assert process.stdin
        process.stdin.write(b" " * 100_000)  # more than a pipe holds: it is being read
        process.stdin.flush()
        process.send_signal(ending)
        process.communicate(b'{"job": {"application": {"executable": "a"}}}')
    assert process.returncode == 0


def test_the_first_warnings_of_a_service_are_lines_of_its_log(tmp_path: Path) -> None:
    """Where no person looks at a terminal, whatever reads the log gets one JSON object a line, from the first line on."""
    environment = os.environ | {"MODAK_DATABASE_URL": f"sqlite:///{tmp_path}/modak.db"}
    program = (
        "import os, uvicorn; from modak.cli import main; os.geteuid = lambda: 0; uvicorn.run = lambda *_, **settings: None\n"
        "main(['serve', '--host', '192.0.2.1'])"
    )
    ran = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    told = [json.loads(line) for line in ran.stderr.splitlines()]
    assert [line["level"] for line in told] == ["WARNING"] * len(told)
    assert ["runs as root" in told[0]["message"], "without TLS" in told[1]["message"]] == [True, True]


def test_the_folder_of_counts_is_locked_as_long_as_the_service_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """What tidies up old files (systemd-tmpfiles) leaves a locked folder as it is; it is removed at the end."""
    monkeypatch.setenv(FOLDER, "")
    with _counted_together(2):
        folder = os.open(os.environ[FOLDER], os.O_RDONLY)
        with pytest.raises(BlockingIOError):
            flock(folder, LOCK_EX | LOCK_NB)
        os.close(folder)
    assert not Path(os.environ[FOLDER]).exists()


def test_ctrl_c_ends_the_service_in_order_however_often_it_is_pressed(packaged_database: Path) -> None:
    """No trace of what was under way; status 0, but for a last press while Python itself ends."""
    environment = os.environ | {"MODAK_DATABASE_URL": f"sqlite:///{packaged_database}"}
    with subprocess.Popen(
        [sys.executable, "-m", "modak", "serve", "--port", "0"], env=environment, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr
        while "Uvicorn running" not in process.stderr.readline():
            pass
        assert "Traceback" not in interrupted(process)
    assert process.returncode in (0, -signal.SIGINT)


def test_optimise_imports_no_web_framework(packaged_database: Path) -> None:
    """Nor any of the large libraries, on a database that is filled and fitted."""
    environment = os.environ | {"MODAK_DATABASE_URL": f"sqlite:///{packaged_database}"}
    program = f"import sys; from modak.cli import main; main(['optimise', '{EXAMPLE}', '--script']); print(*sys.modules, file=sys.stderr)"
    ran = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    heavy = {"fastapi", "starlette", "uvicorn", "sklearn", "pandas", "alembic", "scipy", "httpx2", "rich"}
    assert set(ran.stderr.split()) & heavy == set()


@pytest.mark.parametrize(("words", "status", "frozen"), [(["--version"], 0, True), (["schema", "nothing"], 1, False)])
def test_a_command_that_is_done_ends_at_once(words: list[str], status: int, frozen: bool) -> None:
    """Python looks for no cycles at its exit; where something failed it does, and removes what they keep."""
    program = f"import gc, sys; sys.argv[1:] = {words}; from modak.__main__ import main; print(main(), gc.get_freeze_count() > 0)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.stdout.splitlines()[-1] == f"{status} {frozen}", ran.stderr


def test_recommend_compares_two_what_ifs(run: Run) -> None:
    """The best of each, and the ratio with its interval; a change that is none is refused by name."""
    found = run("recommend", EXAMPLE, "--compare", "nodes=64,ranks=4,threads=12", "nodes=64,ranks=1,threads=48", "--json")
    told = json.loads(found.out)
    assert [told[name]["configuration"]["ranks_per_node"] for name in ("a", "b")] == [4, 1]
    assert "x the time of A (90% interval" in told["differences"][0]
    refused = run("recommend", EXAMPLE, "--compare", "nodse=64", "nodes=32")
    assert (refused.status, "did you mean 'nodes'" in refused.err) == (1, True)


def test_compared_layouts_have_the_efficiencies_of_the_table(run: Run) -> None:
    """A layout that wastes its cores does not look efficient for being compared as the only one of its side."""
    options = ("--deadline", "02:00:00", "--json")
    table = json.loads(run("recommend", EXAMPLE, *options)[1])["choices"]
    told = json.loads(run("recommend", EXAMPLE, "--compare", "ranks=4,threads=12", "ranks=1,threads=48", *options)[1])
    for side in (told["a"], told["b"]):
        (same,) = (choice for choice in table if choice["configuration"] == side["configuration"])
        assert side["efficiency"] == pytest.approx(same["efficiency"], abs=1e-3)


def test_a_side_that_misses_the_constraints_is_compared_by_what_comes_closest(run: Run) -> None:
    """Not by what would be best without a deadline: that may be a single node for days. The warning says which side, and why."""
    found = run("recommend", EXAMPLE, "--deadline", "00:02:00", "--compare", "ranks=4,threads=12", "ranks=1,threads=48", "--json")
    told = json.loads(found.out)
    (warning,) = (each["message"] for each in told["warnings"] if each["field"] == "--compare")
    assert warning.startswith("B does not meet the constraints")
    assert f"closest: {told['b']['configuration']['nodes']} nodes" in warning


@pytest.mark.parametrize("words", [("--help",), ("schema", "request")])
def test_an_output_that_a_full_disk_cuts_off_is_one_line(words: tuple[str, ...]) -> None:
    """What a shell sends into a file on a full disk: exit status 1, and no traceback."""
    with Path("/dev/full").open("w") as full:
        told = subprocess.run([sys.executable, "-m", "modak", *words], stdout=full, stderr=subprocess.PIPE, text=True)
    assert told.returncode == 1
    assert told.stderr.count("\n") == 1
    assert "No space left on device" in told.stderr


@pytest.mark.parametrize("words", [("--help",), ("schema", "request"), ("results", "export")])
def test_a_reader_who_has_seen_enough_is_no_fault(packaged_database: Path, words: tuple[str, ...]) -> None:
    """As in ``modak … | head``: exit status 0, and not a word."""
    environment = os.environ | {"MODAK_DATABASE_URL": f"sqlite:///{packaged_database}"}
    reader, writer = os.pipe()
    os.close(reader)
    told = subprocess.run([sys.executable, "-m", "modak", *words], env=environment, stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert (told.returncode, told.stderr) == (0, b"")


def test_an_output_that_nobody_wants_is_no_fault(packaged_database: Path) -> None:
    """``modak … >&-``, as some supervisors start programs: the command does what it does, and says nothing."""
    environment = os.environ | {"MODAK_DATABASE_URL": f"sqlite:///{packaged_database}"}
    told = subprocess.run(["bash", "-c", f"{sys.executable} -m modak systems list <&- >&-"], env=environment, stderr=subprocess.PIPE)
    assert (told.returncode, told.stderr) == (0, b"")


def test_what_is_printed_is_utf8_whatever_the_locale(packaged_database: Path) -> None:
    """``LC_ALL=de_DE`` means Latin-1, which has no dash for intervals; files that were redirected there would not be read again."""
    environment = os.environ | {"MODAK_DATABASE_URL": f"sqlite:///{packaged_database}", "PYTHONIOENCODING": "latin-1"}
    words = [sys.executable, "-m", "modak", "recommend", "--application", "3dgan", "--system", "supermuc-ng"]
    told = subprocess.run(words, env=environment, capture_output=True)
    assert (told.returncode, " – " in told.stdout.decode()) == (0, True), told.stderr


@pytest.mark.parametrize("command", ["load", "db backup"])
def test_a_path_that_the_system_refuses_is_one_line(run: Run, command: str) -> None:
    """A name that is too long, a folder that is closed."""
    told = run(*command.split(), "x" * 300)
    assert (told.status, re.sub("used|read", "…", told.err)) == (1, f"modak: {'x' * 300}: cannot be …: File name too long\n")


def test_a_note_about_a_file_is_nothing_that_a_terminal_acts_on(own: Run, tmp_path: Path) -> None:
    """Whoever packs a folder chooses the names in it."""
    (tmp_path / "a\x1b[2Jb.zzz").write_text("x")
    (tmp_path / "rows.csv").write_text("application,metric,value,unit\na,wall_time,1,s\n")
    told = own("load", tmp_path, "--dry-run")
    assert "\x1b" not in told.out + told.err
    assert "a\\x1b[2Jb.zzz: of no known format, skipped" in told.err
