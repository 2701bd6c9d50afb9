"""A setting in a job's script, where a search begins, and a search in a plain shell."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modak.cli import main
from modak.dsl import Request, Setting
from modak.errors import Conflict, DataError, RequestError, Unavailable
from modak.facts import Facts, Layout, Result, SeriesKey
from modak.normalise import normalise
from modak.optimise import optimise
from modak.tuner.runners import Slurm
from modak.tuner.study import Run, opened
from modak.tuning.asked import aim_of, grid_of, with_space
from modak.tuning.start import Start, starts
from modak.tuning.trial import base_of, identity, outcome, set_to, trial_of

PROGRAM = """#!/bin/bash
test "${LEVEL}" != 4 || exit 3
echo "rate: $((100 * LEVEL + $2))"
sleep 0.01
"""


def document(**changed: Any) -> dict[str, Any]:
    """A request to tune, for a plain shell; ``autotuning`` may be changed."""
    space = {"environment": {"LEVEL": [1, 2, 3]}, "options": {"-n": [5, 7]}}
    return {
        "job": {
            "application": {"app_tag": "toy", "app_type": "other", "executable": "./program.sh"},
            "target": {"job_scheduler_type": "shell", "container_runtime": "none"},
            "optimisation": {
                "enable_autotuning": True,
                "autotuning": {"tuner": "autotune", "space": space, **changed},
                "workload": {"metric": {"name": "throughput", "unit": "samples/s", "pattern": "rate: ([0-9]+)"}},
            },
        }
    }


def request_of(**changed: Any) -> Request:
    """The same, read."""
    return normalise(document(**changed), strict=True).request


def based(request: Request) -> Request:
    """With what its plan chose."""
    return base_of(request, optimise(request, Facts(version="")).plan.configuration)


def script(request: Request) -> str:
    """Its job script."""
    return optimise(request, Facts(version="")).texts.job_script


def test_a_setting_is_exported_and_follows_the_command() -> None:
    """Options as words of their own, or after ``=``; both are parameters of the result."""
    text = script(request_of(setting={"environment": {"LEVEL": 2}, "options": {"--size": 8, "NB=": "a b"}}))
    assert "export LEVEL=2\n" in text
    assert "./program.sh --size 8 'NB=a b'" in text
    assert '"params.LEVEL": 2, "params.size": 8, "params.NB": "a b"' in text


@settings(max_examples=40)
@given(st.text(alphabet=" \t'\"$`\\;|&(){}<>*?#~!=-ab8é", min_size=1, max_size=20))
def test_no_value_leaves_its_word(value: str) -> None:
    """Whatever it holds, it is one word of the command, or it is refused."""
    try:
        request = request_of(setting={"options": {"-n": value}})
    except RequestError:
        return
    ran = subprocess.run(["bash", "-c", script(request).replace("./program.sh", "printf %s@")], capture_output=True, text=True, cwd="/tmp")
    assert ran.stdout.endswith(f"-n@{value}@"), ran.stderr


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"space": {"environment": {"LD_PRELOAD": [1, 2]}}}, "space.environment.LD_PRELOAD"),
        ({"space": {"options": {"; rm": [1, 2]}}}, "space.options"),
        ({"space": {"layout": {"colour": [1, 2]}}}, "space.layout.colour"),
        ({"space": {"environment": {"A": []}}}, "space.environment.A"),
        ({"setting": {"environment": {"PATH": "/tmp"}}}, "setting.environment.PATH"),
        ({"setting": {"environment": {"MODAK_SERVER": "http://x"}}}, "setting.environment.MODAK_SERVER"),
        ({"trials": 0}, "trials"),
        ({"budget_node_hours": -1}, "budget_node_hours"),
    ],
)
def test_what_must_not_be_set_is_refused_by_its_field(changed: dict[str, Any], field: str) -> None:
    """Variables that run code, words that are no options, counts that are none."""
    with pytest.raises(RequestError, match=rf"optimisation\.autotuning\.{field}"):
        request_of(**changed)


def test_a_trial_differs_from_the_job_by_its_point() -> None:
    """Its files go into its folder, and its time is limited."""
    base = based(request_of())
    space = grid_of(base)
    one = trial_of(base, space, (2, 1), "search/trial-0001", 90.2)
    assert one.application.result_file == "search/trial-0001/result"
    assert one.job_options.wall_time_limit == 91
    assert set_to(base, space, (2, 1)).optimisation.autotuning == one.optimisation.autotuning
    assert 'MODAK_RESULT="${MODAK_HERE}"/search/trial-0001/result.json' in script(one)


def test_tuned_ranks_leave_threads_to_follow() -> None:
    """Where the request does not say them: else a layout of many ranks would take too many cores."""
    free = based(request_of(space={"layout": {"process_count_per_node": [1, 2]}}))
    assert free.application.threads is None
    assert based(request_of()).application.threads == 1


def test_a_search_begins_with_the_jobs_own_setting_and_the_best_that_was_measured() -> None:
    """Results that tell every parameter, of the same metric; each point once."""
    base = based(request_of())
    space, aim = grid_of(base), aim_of(base)

    def result(value: float, suspect: str | None = None, **params: str) -> Result:
        series = SeriesKey(application="toy", params=params, metric="throughput", unit="samples/s")
        return Result(series=series, layout=Layout(nodes=1), value=value, suspect=suspect)

    known = [result(10, LEVEL="2", n="5"), result(30, LEVEL="3", n="7"), result(90, LEVEL="3"), result(99, "wrong", LEVEL="1", n="7")]
    found = starts(base, Facts(version=""), space, known, aim)
    assert [start.point for start in found] == [(0, 0), (2, 1)]
    assert "throughput 30" in found[1].why
    assert [start.point for start in starts(base, Facts(version=""), space, [result(1, LEVEL="1", n="5")], aim)] == [(0, 0)]


@pytest.mark.parametrize("besides", [{}, {"LEVEL": list(range(64))}])
def test_the_models_say_where_to_begin(known: Callable[[str | None], Facts], besides: dict[str, Any]) -> None:
    """3DGAN on SuperMUC-NG: four ranks of 12 threads were measured to be fastest, whatever else may be changed."""
    job = json.loads((Path(__file__).parents[2] / "examples/3dgan-supermuc-ng.json").read_text())["job"]
    job["job_options"] = {"node_count": 16}
    layouts = {"process_count_per_node": [1, 2, 4], "threads": [12, 48]}
    job["optimisation"] |= {
        "objective": {},
        "enable_autotuning": True,
        "autotuning": {"space": {"layout": layouts, "environment": besides}},
    }
    request = normalise({"job": job}).request
    facts = known("3dgan")
    base = base_of(request, optimise(request, facts).plan.configuration.model_copy(update={"ranks_per_node": 1, "threads_per_rank": 48}))
    space = grid_of(base)
    found = starts(base, facts, space, (), aim_of(base))
    assert [space.of_kind("layout", start.point) for start in found] == [
        {"process_count_per_node": 1, "threads": 48},
        {"process_count_per_node": 4, "threads": 12},
    ]
    assert "basis: measured" in found[1].why


def test_a_text_of_cresta_becomes_a_space() -> None:
    """Its parameters, its metric, and its command where the request has none."""
    text = "begin parameters\nbegin typing\nint NB\nend typing\nbegin constraints\nrange NB 1,2\nend constraints\nend parameters\n"
    run = "begin run\ncommand: ./solve $NB\nend run\n"
    job = document(tuner="cresta", space=None, input=text + run)
    del job["job"]["application"]["executable"]
    request = with_space(normalise(job).request)
    base = based(request)
    assert './solve "${NB:?}"' in script(set_to(base, grid_of(base), (1,)))
    assert "export NB=2" in script(set_to(base, grid_of(base), (1,)))


@pytest.mark.parametrize("changed", [{"space": None}, {"space": None, "tuner": "cresta", "input": "dsl text"}])
def test_a_request_that_cannot_be_tuned_still_gets_its_script(changed: dict[str, Any]) -> None:
    """With a sentence that says why; what can be tuned says so, too."""
    advice = optimise(normalise(document(**changed)).request, Facts(version="")).plan.advice
    assert any(str(line).startswith("autotuning: not possible with this request") for line in advice)
    assert any("'modak tune'" in str(line) for line in optimise(request_of(), Facts(version="")).plan.advice)


@pytest.mark.parametrize(
    ("result", "why"),
    [
        (None, "no result file"),
        ({"exit_status": 3, "seconds": 1.0, "results": []}, "status 3"),
        ({"exit_status": 0, "seconds": 1.0, "results": []}, "no throughput"),
        ({"exit_status": 0, "seconds": 1.0, "results": [{"metric": "throughput", "unit": "samples/s", "value": 0}]}, "throughput is 0"),
    ],
)
def test_a_run_without_a_number_says_why(result: dict[str, Any] | None, why: str) -> None:
    """The search goes on without it."""
    came = outcome(result, aim_of(request_of()))
    assert came.value is None
    assert why in came.why


# --- searches


@pytest.fixture
def work(tmp_path: Path, own_database: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to submit from, and a database."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MODAK_DATABASE_URL", f"sqlite:///{own_database}")
    (tmp_path / "program.sh").write_text(PROGRAM)
    (tmp_path / "program.sh").chmod(0o755)
    return tmp_path


def tuned(capsys: pytest.CaptureFixture[str], job: dict[str, Any], *words: str) -> Any:
    """What ``modak tune`` finds."""
    Path("job.json").write_text(json.dumps(job))
    assert main(["tune", "job.json", "--json", *words]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_small_space_is_tried_whole_and_going_on_runs_nothing_again(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each setting once, the best wins, what fails is no result, and the second call only tells."""
    job = document(space={"environment": {"LEVEL": [1, 4, 3]}, "options": {"-n": [5, 7]}})
    found = tuned(capsys, job, "--confirm", "1", "--gain", "0")
    ran = [one for one in found["trials"] if one["job"]]
    assert sorted((one["setting"]["LEVEL"], one["setting"]["-n"], one["value"] or 0, one["state"]) for one in ran) == [
        (1, 5, 105, "complete"),
        (1, 7, 107, "complete"),
        (3, 5, 305, "complete"),
        (3, 7, 307, "complete"),
        (4, 5, 0, "failed"),
        (4, 7, 0, "failed"),
    ]
    assert (found["best"]["setting"], found["setting"]["environment"]) == ({"LEVEL": 3, "-n": 7}, {"LEVEL": 3})
    assert "every setting was tried" in found["stopped"]
    again = tuned(capsys, job, "--confirm", "1", "--gain", "0")
    assert again["trials"] == found["trials"]


def test_a_database_that_was_away_has_every_run_in_the_end(
    work: Path, own_database: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search does not stop for it, and says so; the same command, which runs nothing again, stores what is missing."""
    monkeypatch.setattr("modak.store.engine.BUSY_MS", 50)
    with closing(sqlite3.connect(own_database)) as other:
        other.execute("BEGIN IMMEDIATE")
        found = tuned(capsys, document(), "--confirm", "0", "--gain", "0")
    assert found["notes"] == ["not every run is in the database: the same command stores those that are missing"]
    assert tuned(capsys, document(), "--confirm", "0", "--gain", "0")["notes"] == []
    assert main(["results", "list", "--application", "toy", "--metric", "throughput", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["items"]) == len([one for one in found["trials"] if one["job"]])


CLIENT = """#!/bin/sh
echo call >>calls
[ $(wc -l <calls) -gt 2 ] || {{ echo 'slurm: error: {says}' >&2; exit 1; }}
echo {answers}
"""
"""A client of Slurm whose controller is away for two calls."""


@pytest.mark.parametrize(
    ("program", "says", "answers"),
    [
        ("sbatch", "Batch job submission failed: Unable to contact slurm controller (connect failure)", "7"),
        ("squeue", "Unable to contact slurm controller (connect failure)", "RUNNING"),
        ("squeue", "slurm_load_jobs error: Socket timed out on send/recv operation", "RUNNING"),
    ],
)
def test_a_controller_that_is_restarted_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, says: str, answers: str
) -> None:
    """A trial that could not be handed over then is no setting that cannot run."""
    client(tmp_path, monkeypatch, program, says, answers)
    slurm = Slurm(pause_s=0.01)
    assert (slurm.start(Path("job.sh"), None) if program == "sbatch" else slurm.state("7")) == answers.lower()


@pytest.mark.parametrize("says", ["Unable to contact slurm controller (connect failure)", "Socket timed out on send/recv operation"])
def test_what_may_have_been_submitted_is_not_submitted_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str) -> None:
    """Nor is a controller waited for that stays away: the search ends, and its trial has not begun."""
    client(tmp_path, monkeypatch, "sbatch", says, "7")
    with pytest.raises(Unavailable, match="the same command goes on"):
        Slurm(patience_s=0).start(Path("job.sh"), None)
    assert (tmp_path / "calls").read_text() == "call\n"


def client(folder: Path, monkeypatch: pytest.MonkeyPatch, program: str, says: str, answers: str) -> None:
    """Make that client, the only one that is found."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    (folder / program).write_text(CLIENT.format(says=says, answers=answers))
    (folder / program).chmod(0o755)


def test_a_budget_ends_a_search(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A minute of a node is the least that a trial is reckoned with: what is left must hold one."""
    (work / "program.sh").write_text(PROGRAM.replace("sleep 0.01", "sleep 0.7"))
    found = tuned(capsys, document(), "--budget", "0.017", "--confirm", "0")
    assert len(found["trials"]) <= 2
    assert "the budget of 0.017 node-hours is used" in found["stopped"]
    assert found["node_hours"] <= 0.017


def test_no_trial_may_run_into_what_is_kept_for_the_comparison(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of half an hour of a node two minutes are: the first trial is ended before."""
    tuned(capsys, document(), "--budget", "0.5", "--confirm", "1", "--trials", "1")
    assert Run.read(work / "tuning-job" / "trial-0000").limit_s == pytest.approx(1680)


@pytest.mark.parametrize(("budget", "nodes", "need"), [("0", 1, "0.05"), ("0.06", 2, "0.1")])
def test_a_budget_that_holds_no_trial_runs_nothing(
    work: Path, capsys: pytest.CaptureFixture[str], budget: str, nodes: int, need: str
) -> None:
    """A trial and a run of each for the comparison are three minutes of the job's nodes; no budget is no licence to run."""
    job = document()
    job["job"]["job_options"] = {"node_count": nodes}
    Path("job.json").write_text(json.dumps(job))
    assert main(["tune", "job.json", "--budget", budget, "--confirm", "1"]) == 4
    assert f"{budget} node-hours are not enough" in (told := capsys.readouterr().err)
    assert f"{need} node-hours in all" in told
    assert not [*work.glob("tuning-job/trial-*")]


def test_a_job_that_fails_with_its_own_setting_is_not_tuned(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line, with where its output is."""
    Path("job.json").write_text(json.dumps(document(space={"environment": {"LEVEL": [4, 1]}, "options": {"-n": [5]}})))
    assert main(["tune", "job.json"]) == 1
    assert "the job fails with its own setting: the run ended with status 3" in capsys.readouterr().err


def test_scripts_of_a_scheduler_run_in_this_place(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Inside an allocation: they begin where a submission would have begun, and write into the search's folder."""
    job = document(space={"environment": {"LEVEL": [2]}})
    job["job"]["application"]["arguments"] = "-n 1"
    job["job"]["target"]["job_scheduler_type"] = "slurm"
    found = tuned(capsys, job, "--here", "-o", "searches/first")
    assert [one["value"] for one in found["trials"]] == [201]
    assert (work / "searches/first/job.sh").read_text().startswith("#!/bin/bash\n#SBATCH")


def test_a_queue_that_is_not_known_here_is_refused(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the way that there is."""
    job = document()
    job["job"]["target"]["job_scheduler_type"] = "lsf"
    Path("job.json").write_text(json.dumps(job))
    assert main(["tune", "job.json"]) == 1
    assert "--here" in capsys.readouterr().err


def test_a_folder_elsewhere_is_refused(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Jobs start here and write there."""
    Path("job.json").write_text(json.dumps(document()))
    assert main(["tune", "job.json", "-o", "/tmp/elsewhere"]) == 1
    assert "a folder below this one" in capsys.readouterr().err


def test_a_folder_serves_one_request_and_one_process(tmp_path: Path) -> None:
    """Another space is refused, and so is a second process."""
    base = based(request_of())
    space = grid_of(base)
    with opened(tmp_path, space, identity(base), [Start(space.default, "first")]) as study:
        assert study.ask()[1:] == (space.default, "first")
        with pytest.raises(Conflict, match="another modak tune"), opened(tmp_path, space, identity(base), ()):
            pass
    with pytest.raises(DataError, match="another request"), opened(tmp_path, space, "another", ()):
        pass


def test_a_line_that_was_cut_short_is_forgotten(tmp_path: Path) -> None:
    """What a killed process did not finish writing; all before it is there."""
    base = based(request_of())
    space = grid_of(base)
    with opened(tmp_path, space, identity(base), ()) as study:
        number, _, _ = study.ask()
        study.tell(number, 2.0)
    with (tmp_path / "study.journal").open("a") as journal:
        journal.write('{"op_code": 4, "trial')
    with opened(tmp_path, space, identity(base), ()) as study:
        assert [trial.cost for trial in study.trials()] == [2.0]
        study.tell(study.ask()[0], 1.0)
        assert [trial.cost for trial in study.trials()] == [2.0, 1.0]


def test_a_trials_folder_says_what_a_run_took(tmp_path: Path) -> None:
    """Node-hours from nodes and seconds; what was written is read again."""
    run = Run(why="x", nodes=4).update(tmp_path, seconds=1800.0)
    assert (Run.read(tmp_path), run.node_hours) == (run, 2.0)
    assert Run.read(tmp_path / "nowhere") == Run()


def test_a_setting_of_the_requests_own_is_kept() -> None:
    """What is not in the space stays as it is."""
    base = based(request_of(setting={"environment": {"OTHER": "1", "LEVEL": 2}}))
    space = grid_of(base)
    tuning = set_to(base, space, (0, 1)).optimisation.autotuning
    assert tuning is not None
    assert tuning.setting == Setting(environment={"OTHER": "1", "LEVEL": 1}, options={"-n": 7})
    assert space.values(space.default)["LEVEL"] == 2
