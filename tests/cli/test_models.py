"""The command line: models evaluate, models plot, results plan and calibration."""

from __future__ import annotations

import json
from inspect import signature
from pathlib import Path

import numpy as np
import pytest

from modak.cli import nextruns, tuning
from modak.perfmodel.planning import LEAST
from modak.tuner.limits import SearchOptions
from tests.conftest import Run

EXAMPLE = Path(__file__).parent.parent.parent / "examples/resnet50-gpu-cluster.json"


def test_evaluate_shows_ours_beside_the_fields(run: Run) -> None:
    """One row a model, then the widths of our intervals by doublings."""
    ran = run("models", "evaluate", "--application", "3dgan")
    assert ran.status == 0, ran.err
    assert "the largest 2 sizes of" in ran.out
    rows = [line.split("  ")[0] for line in ran.out.splitlines()]
    ours = rows.index("MODAK, series alone")
    assert rows[ours + 1 : ours + 6] == ["MODAK, with relatives", "perfect scaling", "Amdahl", "power law", "USL"]
    assert ran.out.index("up to 1 doubling") > ran.out.index("90% intervals")


def test_models_are_listed_by_application(run: Run) -> None:
    """A database has hundreds of others."""
    names = {item["application"] for item in json.loads(run("models", "list", "--application", "3dgan", "--json").out)}
    assert names == {"3dgan"}


def test_an_application_without_models_is_not_listed_as_nothing(run: Run) -> None:
    """The name that may be meant is told."""
    ran = run("models", "list", "--application", "3dgam")
    assert (ran.status, "did you mean '3dgan'?" in ran.err) == (1, True)


def test_evaluate_as_json_has_every_figure(run: Run) -> None:
    """On the packaged evidence ours are better than Amdahl, and the intervals hold what was hidden."""
    proof = json.loads(run("models", "evaluate", "--application", "3dgan", "--json").out)
    ours, amdahl = (next(one for one in proof["models"] if one["name"] == name) for name in ("MODAK, series alone", "Amdahl"))
    assert ours["errors"]["median"] < amdahl["errors"]["median"]
    assert ours["coverage"]["overall"] >= 0.9
    assert sum(one["count"] for one in ours["bins"]) == proof["predictions"]


def test_evaluate_each_and_one_system(run: Run) -> None:
    """Inner sizes in turn; only curves of the system are asked about, by any spelling of its name."""
    proof = json.loads(run("models", "evaluate", "--holdout", "each", "--system", "SuperMUC_NG", "--json").out)
    assert proof["holdout"] == "each"
    assert proof["predictions"] == 5 * 6


def test_a_system_is_meant_by_each_of_its_names(own: Run, tmp_path: Path) -> None:
    """Also by an alias under which there are no results; results under one are judged and drawn with the others."""
    entry = json.loads(own("systems", "show", "supermuc-ng").out)
    (tmp_path / "system.json").write_text(json.dumps({**entry, "aliases": ["SNG", "ng"]}))
    (tmp_path / "mine.csv").write_text(
        "application,system,nodes,metric,value\n"
        + "".join(f"mine,{name},{nodes},wall_time,{800 / nodes + 5}\n" for nodes, name in ((1, "ng"), (2, "supermuc-ng"), (4, "NG")))
        + "".join(f"mine,{name},{nodes},wall_time,{800 / nodes + 5}\n" for nodes, name in ((8, "SuperMUC_NG"), (16, "ng")))
        + "mine,ng,32,stopped_after,600\n"
    )
    for words in (("systems", "add", "--replace", tmp_path / "system.json"), ("load", tmp_path / "mine.csv")):
        assert own(*words).status == 0
    proof = json.loads(own("models", "evaluate", "--application", "mine", "--system", "SNG", "--json").out)
    assert (proof["series"], proof["predictions"]) == (1, 2)
    drawn = json.loads(own("models", "plot", "--application", "mine", "--system", "ng", "--json").out)
    assert (drawn["title"], drawn["lines"][0]["stopped_x"]) == ("mine on supermuc-ng", [32])
    assert len(json.loads(own("results", "list", "--application", "mine", "--system", "sng", "--json").out)["items"]) == 6


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (("--holdout", "smallest:2"), 2, "largest:2"),
        (("--level", "1.5"), 2, "between 0 and 1"),
        (("--application", "nothing"), 1, "'nothing'"),
        (("--system", "supermuk"), 1, "did you mean"),
        (("--application", "alexnet"), 1, "5 are needed"),
        (("--application", "3dgan", "--holdout", "problem"), 1, "three that differ in numbers of params are needed"),
    ],
)
def test_evaluate_says_what_is_wrong(run: Run, words: tuple[str, ...], status: int, says: str) -> None:
    """In one line on standard error."""
    ran = run("models", "evaluate", *words)
    assert (ran.status, ran.out) == (status, "")
    assert says in ran.err
    assert len(ran.err.splitlines()) == 1


def test_plot_writes_a_picture(run: Run, tmp_path: Path) -> None:
    """By the ending of its name; of every layout of the application on the system."""
    for kind, magic in (("png", b"\x89PNG"), ("svg", b"<?xml")):
        file = tmp_path / f"curve.{kind}"
        ran = run("models", "plot", "--application", "3dgan", "--system", "supermuc-ng", "-o", file)
        assert ran.status == 0, ran.err
        assert ran.out == f"4 curves drawn to {file}\n"
        assert file.read_bytes().startswith(magic)


def test_plot_takes_the_only_other_spelling(run: Run) -> None:
    """And says so."""
    ran = run("models", "plot", "--application", "3DGAN", "--json")
    told = ["no results of '3DGAN'; those of '3dgan' are used"]
    assert json.loads(ran.out) == {**json.loads(run("models", "plot", "--application", "3dgan", "--json").out), "notes": told}
    assert run("models", "evaluate", "--application", "3DGAN").err == f"note: {told[0]}\n"


def test_plot_by_id_as_json_is_that_model(run: Run) -> None:
    """Its measured points, in the metric's unit; no file is needed."""
    known = next(one for one in json.loads(run("models", "list", "--json").out) if one["application"] == "3dgan")
    drawn = json.loads(run("models", "plot", known["id"], "--json").out)
    (line,) = drawn["lines"]
    assert line["measured_x"] == known["sizes"]
    assert line["measured_y"] == pytest.approx(known["costs"])
    assert len(line["x"]) == len(line["y"]) == len(line["lower"]) == len(line["upper"]) == len(line["perfect"])
    assert drawn["title"] == f"3dgan on {known['series']['system']}"


def test_a_plot_shows_what_is_predicted(own: Run, tmp_path: Path) -> None:
    """With what other builds of the program tell of a run on few sizes."""
    rows = [("gcc-9", nodes, 100 / nodes) for nodes in (1, 8)] + [("gcc-8", nodes, 90 / nodes + nodes) for nodes in (1, 2, 4, 8, 16)]
    results, points = tmp_path / "results.csv", tmp_path / "points.csv"
    results.write_text(
        "application,system,compiler,nodes,ranks_per_node,metric,value,unit\n"
        + "".join(f"q,zenith,{compiler},{nodes},4,wall_time,{value},s\n" for compiler, nodes, value in rows)
    )
    points.write_text("application,system,compiler,nodes,ranks_per_node,metric\nq,zenith,gcc-9,4,4,wall_time\n")
    assert own("load", results).status == 0
    (row,) = json.loads(own("predict", points, "--json").out)["rows"]
    lines = json.loads(own("models", "plot", "--application", "q", "--json").out)["lines"]
    (line,) = (one for one in lines if len(one["measured_x"]) == 2)
    shown = [np.interp(4, line["x"], line[name]) for name in ("y", "lower", "upper")]
    assert shown == pytest.approx([row[name] for name in ("predicted", "lower", "upper")], rel=0.02)
    assert row["predicted"] < 24, "of the run alone it would be 25"


def test_a_run_that_was_stopped_is_told_of_by_tables_and_plots(own: Run, tmp_path: Path) -> None:
    """Unless it is doubted. On the line it is a bound; the row takes longer, in an interval of its level, with a warning."""
    results, points = tmp_path / "results.csv", tmp_path / "points.csv"
    rows = [*((nodes, "wall_time", 800 / nodes) for nodes in (1, 2, 4)), (8, "stopped_after", 1200)]
    results.write_text(
        "application,system,nodes,ranks_per_node,params.n,metric,value,unit\n"
        + "".join(f"q,zenith,{nodes},4,7,{metric},{value},s\n" for nodes, metric, value in rows)
    )
    points.write_text("application,system,nodes,ranks_per_node,params.n,metric,unit\nq,zenith,8,4,7,wall_time,min\n")
    assert own("load", results).status == 0
    found = [json.loads(own("predict", points, "--json", "--level", level).out) for level in ("0.5", "0.9")]
    (half,), (row,) = (each["rows"] for each in found)
    assert 20 < row["lower"] < half["lower"] < half["predicted"] == row["predicted"] < half["upper"] < row["upper"]
    assert (row["basis"], row["model"].endswith("; more than 20 min by a stopped run")) == ("heuristic", True)
    told = "1 of 1 rows take longer than predicted, because runs were stopped: how much longer is a guess (heuristic)"
    assert [each["message"] for each in found[1]["warnings"]] == [told]
    plotted = ("models", "plot", "--application", "q", "--json")
    lines = json.loads(own(*plotted).out)["lines"]
    assert [(line["stopped_x"], line["stopped_y"]) for line in lines] == [([8], [1200])]
    (stop,) = (one for one in json.loads(own("results", "list", "--application", "q", "--json").out)["items"] if one["value"] == 1200)
    assert own("results", "doubt", stop["id"], "--why", "it hung").status == 0
    assert json.loads(own(*plotted).out)["lines"][0]["stopped_x"] == []
    assert json.loads(own("predict", points, "--json").out)["rows"][0]["predicted"] < 2


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        ((), 2, "MODEL_ID"),
        (("--application", "3dgan"), 2, ".png or .svg"),
        (("--application", "3dgan", "-o", "curve.pdf"), 2, ".png or .svg"),
        (("nothing", "--json"), 1, "no model has the id 'nothing' ('modak models list' shows them)"),
    ],
)
def test_plot_says_what_is_wrong(run: Run, words: tuple[str, ...], status: int, says: str) -> None:
    """In one line on standard error, and no file is written."""
    ran = run("models", "plot", *words)
    assert (ran.status, ran.out) == (status, "")
    assert says in ran.err


def test_plan_proposes_runs_with_their_worth(run: Run) -> None:
    """What may be right, then the runs: time, node-hours, how far the decision's interval narrows."""
    ran = run("results", "plan", EXAMPLE)
    assert ran.status == 0, ran.err
    assert ran.out.index("What may be the right choice") < ran.out.index("Runs worth measuring")
    assert "node-hours in all" in ran.out
    (header,) = (line for line in ran.out.splitlines() if line.startswith("run "))
    assert header.endswith("node-hours  decision after  narrower  per node-hour")


def test_plan_writes_a_script_for_each_run(run: Run, tmp_path: Path) -> None:
    """In a folder each; the answer names them."""
    answer = json.loads(run("results", "plan", EXAMPLE, "-o", tmp_path / "runs", "--json").out)
    scripts = [Path(one["job_script"]) for one in answer["runs"]]
    assert scripts
    for script, one in zip(scripts, answer["runs"], strict=True):
        assert script.parent.name.endswith("-{nodes}x{ranks_per_node}x{threads_per_rank}".format(**one["configuration"]))
        assert f"#SBATCH --nodes={one['configuration']['nodes']}\n" in script.read_text()


def test_plan_names_what_has_to_be_built_before_the_runs(run: Run, tmp_path: Path) -> None:
    """Before the script of the run that needs it, with the order in which to submit them."""
    build = {"src": ".", "build_command": "make"}
    job = {"application": {"app_tag": "unheard-of", "app_type": "mpi", "executable": "./solver", "build": build}}
    (tmp_path / "job.json").write_text(json.dumps({"job": {**job, "target": {"name": "supermuc-ng", "container_runtime": "none"}}}))
    ran = run("results", "plan", tmp_path / "job.json", "-n", "1", "-o", tmp_path / "runs")
    written = [Path(line.removeprefix("- ")) for line in ran.out.partition("Written\n")[2].splitlines()]
    assert [file.name for file in written if file.is_file()] == ["build.sh", "job.sh"]
    assert "submit build.sh first" in ran.err


def test_plan_takes_options_instead_of_a_request(run: Run) -> None:
    """Application and system; a number and a budget bound the runs."""
    words = ("results", "plan", "--application", "3dgan", "--system", "supermuc-ng", "--json")
    every, one, none = (json.loads(run(*words, *more).out) for more in ((), ("-n", "1"), ("--budget", "0.1")))
    assert one["runs"] == every["runs"][:1]
    assert none["runs"] == []
    assert "within 0.1 node-hours" in none["notes"][0]


def test_the_least_gains_are_those_of_the_library() -> None:
    """They are written out, because a command line that imports the models only for them would start slowly."""
    assert signature(nextruns.plan).parameters["gain"].default == LEAST
    assert signature(tuning.tune).parameters["gain"].default == SearchOptions().gain


NETWORKS = "application,system,metric,batch_size,params.gmacs,params.macts,params.img"


def networks(system: str, speed: float | None = None, count: int = 12) -> str:
    """A table of networks, with their throughput on a system that is so fast."""
    lines = [NETWORKS + ("" if speed is None else ",value")]
    for n in range(count):
        value = "" if speed is None else f",{speed / (1 + n % 4 + n / 7):.4f}"
        lines.append(f"net{n},{system},throughput,32,{1 + n % 4},{2 + n / 7:.3f},224{value}")
    return "\n".join(lines) + "\n"


def test_runs_to_measure_on_a_new_system_are_a_table_to_fill_in(own: Run, tmp_path: Path) -> None:
    """The chosen rows with an empty value. Filled in and loaded they tell the others."""
    (tmp_path / "known.csv").write_text(networks("one", 1000) + networks("two", 3000).split("\n", 1)[1])
    (tmp_path / "points.csv").write_text(networks("new"))
    assert own("load", tmp_path / "known.csv").status == 0
    hint = "12 of 12 rows are of applications that are known on other systems"
    assert hint in own("predict", tmp_path / "points.csv").err
    ran = own("results", "calibration", tmp_path / "points.csv", "-n", "6", "-o", tmp_path / "first.csv")
    assert (ran.status, ran.out) == (0, "")
    assert "6 of 12 rows, in the order in which to measure them" in ran.err
    header, *rows = (tmp_path / "first.csv").read_text().splitlines()
    assert header == f"{NETWORKS},value"
    assert len({row.split(",")[0] for row in rows}) == 6
    truth = {row.split(",")[0]: row for row in networks("new", 2000).splitlines()}
    (tmp_path / "first.csv").write_text("\n".join([header, *(truth[row.split(",")[0]] for row in rows)]) + "\n")
    assert own("load", tmp_path / "first.csv").status == 0
    answer = json.loads(own("predict", tmp_path / "points.csv", "--json").out)
    assert hint.split(" of ", 1)[1] not in str(answer["warnings"])
    told = [row for row in answer["rows"] if row["basis"] == "transferred"]
    assert len(told) == 6
    for row in told:
        assert row["model"] == "6 calibration runs and 2 other configurations"
        assert row["predicted"] == pytest.approx(float(truth[row["application"]].split(",")[-1]), rel=0.05)


@pytest.mark.parametrize(
    ("table", "more", "status", "says"),
    [
        ("net1,new,throughput,32,1,2,224", (), 1, "points.csv: no run of these would predict the others"),
        ("net1,new,throughput,x,1,2,224", (), 1, "points.csv:2: column 'batch_size'"),
        ("net1,new,throughput,32,1,2,224", ("-n", "0"), 2, "--number"),
    ],
)
def test_what_cannot_be_calibrated_is_one_line(run: Run, tmp_path: Path, table: str, more: tuple[str, ...], status: int, says: str) -> None:
    """Networks that nobody knows, a bad cell, no run."""
    (tmp_path / "points.csv").write_text(f"{NETWORKS}\n{table}\n")
    ran = run("results", "calibration", tmp_path / "points.csv", *more)
    assert ran.status == status
    assert says in ran.err


def test_fewer_calibration_runs_than_predictions_need_are_named(own: Run, tmp_path: Path) -> None:
    """And how many rows no other run tells."""
    (tmp_path / "known.csv").write_text(networks("one", 1000))
    (tmp_path / "points.csv").write_text(networks("new") + "net99,new,throughput,32,1,2,224\n")
    own("load", tmp_path / "known.csv")
    ran = own("results", "calibration", tmp_path / "points.csv", "-n", "3", "--json")
    notes = json.loads(ran.out)["notes"]
    assert [note for note in notes if note.startswith("nothing is predicted from fewer than 5 runs")]
    assert "nothing is predicted" not in str(
        json.loads(own("results", "calibration", tmp_path / "points.csv", "-n", "5", "--json").out)["notes"]
    )
    assert notes[-1].startswith("1 of 13 rows are of applications that were not measured elsewhere")


def test_runs_that_would_tell_networks_that_nobody_measured_are_named(own: Run, tmp_path: Path) -> None:
    """Alone in a table, or beside networks that others know, if these are enough for a model of their parameters; as it is then."""
    unknown = [row.replace("net", "new-net", 1) for row in networks("new", count=8).splitlines()[1:]]
    alone, beside = "8 of 8 rows are of applications that nobody measured", "and of 8 rows of applications that nobody measured:"
    (tmp_path / "alone.csv").write_text("\n".join((NETWORKS, *unknown)))
    (tmp_path / "beside.csv").write_text(networks("new") + "\n".join(unknown))

    def hints() -> tuple[bool, bool]:
        return alone in own("predict", tmp_path / "alone.csv").err, beside in own("predict", tmp_path / "beside.csv").err

    for table, expected in ((networks("one", 1000, 39), False), (networks("one", 1000, 60), True), (networks("new", 2000, 5), False)):
        (tmp_path / "known.csv").write_text(table)
        own("load", tmp_path / "known.csv")
        assert hints() == (expected, expected)
    assert "8 of 8 rows from results of similar runs (transferred)" in own("predict", tmp_path / "alone.csv").err


def test_a_network_that_ran_in_another_batch_is_none_that_nobody_measured(own: Run, tmp_path: Path) -> None:
    """Also where no other configuration knows it."""
    (tmp_path / "known.csv").write_text(networks("one", 1000, 60) + "new-net,new,throughput,32,1.5,2.5,224,900\n")
    (tmp_path / "points.csv").write_text(f"{NETWORKS}\nnew-net,new,throughput,64,1.5,2.5,224\nother-net,new,throughput,64,1.5,2.5,256\n")
    own("load", tmp_path / "known.csv")
    assert "1 of 2 rows are of applications that nobody measured" in own("predict", tmp_path / "points.csv").err


def test_what_was_measured_counts_as_a_calibration_run(own: Run, tmp_path: Path) -> None:
    """Two runs and three further ones are five; the hint of a prediction counts the others alone."""
    (tmp_path / "known.csv").write_text(networks("one", 1000) + networks("new", 2000, count=2).split("\n", 1)[1])
    (tmp_path / "points.csv").write_text(networks("new"))
    own("load", tmp_path / "known.csv")
    assert "10 of 12 rows are of applications that are known on other systems" in own("predict", tmp_path / "points.csv").err
    ran = own("results", "calibration", tmp_path / "points.csv", "-n", "3")
    assert [row.split(",")[0] in ("net0", "net1") for row in ran.out.splitlines()] == [False] * 4
    assert "nothing is predicted" not in ran.err


def test_where_all_was_measured_no_run_is_left_to_choose(own: Run, tmp_path: Path) -> None:
    """The reason is not that nobody knows these networks."""
    (tmp_path / "known.csv").write_text(networks("one", 1000) + networks("new", 2000).split("\n", 1)[1])
    (tmp_path / "points.csv").write_text(networks("new"))
    own("load", tmp_path / "known.csv")
    ran = own("results", "calibration", tmp_path / "points.csv")
    assert (ran.status, ran.out) == (1, "")
    assert "on their system, too: no run is left to choose" in ran.err


def test_plan_needs_to_know_what_about(run: Run) -> None:
    """A request or an application."""
    assert run("results", "plan").status == 2


def test_fit_works_on_the_database(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not through a service."""
    monkeypatch.setenv("MODAK_SERVER", "http://127.0.0.1:9")
    ran = run("models", "fit")
    assert (ran.status, ran.err) == (1, "modak: MODAK_SERVER: is set, but this command works on the database itself; unset it\n")
