"""Whole scripts: what is written is what was meant, and nothing that a field holds can add to it."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from modak import plugins
from modak.dsl import JobOptions, Signal
from modak.errors import Conflict, RequestError, UnknownName
from modak.facts import RuntimePolicy
from modak.jobs.spec import Attributes, BuildSpec, Copy, JobSpec, Resources, RuleText, Staging
from modak.schedulers.header import FIELDS
from modak.script import bash, checker, surroundings
from modak.script.build import delimiter, render_build
from modak.script.job import render
from modak.script.meaning import parse_events
from modak.script.shelltext import rule_fault
from modak.testing import SAID
from modak.text import words
from modak.text.grammar import UNSOUND
from tests.conftest import ANEW, kept, tool
from tests.golden.scripts.jobs import BUSY, GAN, HYBRID, SCRIPTS, SOLVER, SOURCES, TORCH, XLA

GOLDEN = Path(__file__).parent.parent / "golden/scripts"
SHELLCHECK = shutil.which("shellcheck", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
SMALL = JobSpec(words.parse("./solver"), Resources(), Attributes(name="small", wall_time_s=600))
ODD_TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"], exclude_characters="\x00"), max_size=30)
SOUND_TEXT = ODD_TEXT.filter(lambda text: not UNSOUND.search(text))


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_is_the_one_that_was_read_and_approved(name: str) -> None:
    """Compared whole."""
    assert SCRIPTS[name]().text == kept(GOLDEN / f"{name}.sh"), ANEW


def test_every_golden_script_has_its_job() -> None:
    """No file is left behind that nothing compares."""
    assert sorted(file.stem for file in GOLDEN.glob("*.sh")) == sorted(SCRIPTS)


@pytest.mark.parametrize("name", SCRIPTS)
def test_bash_reads_every_script(name: str) -> None:
    """``bash -n`` has nothing to say."""
    read = subprocess.run(["bash", "-n", GOLDEN / f"{name}.sh"], capture_output=True, text=True)
    assert (read.returncode, read.stderr) == (0, "")


def test_shellcheck_has_no_remark_on_any_script() -> None:
    """Not even a hint on style."""
    assert SHELLCHECK
    looked = subprocess.run([SHELLCHECK, *sorted(GOLDEN.glob("*.sh"))], capture_output=True, text=True, timeout=280)
    assert (looked.returncode, looked.stdout) == (0, "")


def test_what_was_asked_before_leaves_no_trace_in_a_script() -> None:
    """Two jobs with the same variables in another order are one configuration."""
    first, second = (
        replace(SMALL, environment=dict(pairs)) for pairs in ([("B_ONE", "1"), ("A_TWO", "2")], [("A_TWO", "2"), ("B_ONE", "1")])
    )
    once = render(first, "shell").text
    surroundings._worked_out.cache_clear()
    surroundings._common.cache_clear()
    assert render(second, "shell").text == once
    assert render(first, "shell").text == once


# --- what a script does ------------------------------------------------------------------------------------------------------


def ran(text: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a script in a folder with a bare environment."""
    (folder / "job.sh").write_text(text)
    environment = {"PATH": f"{folder}/bin:/usr/bin:/bin", "HOME": str(folder), **variables}
    return subprocess.run(["bash", "job.sh"], cwd=folder, env=environment, capture_output=True, text=True)


def stub(folder: Path, name: str, body: str) -> None:
    """A program first on the path."""
    (folder / "bin").mkdir(exist_ok=True)
    (folder / "bin" / name).write_text(f"#!/bin/bash\n{body}\n")
    (folder / "bin" / name).chmod(0o755)


def lacking(*programs: str) -> None:
    """Skip the test where the machine itself has one of these programs, which scripts then find."""
    for program in programs:
        if shutil.which(program, path="/usr/bin:/bin"):
            pytest.skip(f"{program} is installed here")


@pytest.mark.parametrize("command", ["./run.sh", "bash -e -o pipefail run.sh", "time sh -c './run.sh >out'", "bash ${WORK}/run.sh"])
def test_a_program_over_which_a_job_script_was_saved_is_not_started(tmp_path: Path, command: str) -> None:
    """The script would start itself, without end; this one is not its whole text."""
    (tmp_path / "run.sh").write_text("#!/bin/bash\n# written by MODAK\n")
    (tmp_path / "run.sh").chmod(0o755)
    done = ran(render(JobSpec(words.parse(command), Resources(), Attributes(name="own")), "shell").text, tmp_path, WORK=str(tmp_path))
    assert (done.returncode, "run.sh is a job script of MODAK's, which" in done.stderr) == (82, True)


def test_a_script_of_that_name_in_another_directory_is_started(tmp_path: Path) -> None:
    """It is not the job script beside which the command starts."""
    (tmp_path / "run.sh").write_text("#!/bin/bash\n# written by MODAK\n")
    (tmp_path / "case").mkdir()
    (tmp_path / "case" / "run.sh").write_text("echo run")
    command = words.parse("sh -c 'cd case && sh run.sh'")
    assert ran(render(JobSpec(command, Resources(), Attributes(name="own")), "shell").text, tmp_path).stdout == "run\n"


def test_a_script_of_a_shell_is_started(tmp_path: Path) -> None:
    """As it is no job script."""
    (tmp_path / "run.sh").write_text("echo run")
    assert ran(render(JobSpec(words.parse("sh run.sh"), Resources(), Attributes(name="own")), "shell").text, tmp_path).stdout == "run\n"


@settings(max_examples=40, deadline=None)
@given(arguments=st.lists(SOUND_TEXT, max_size=6), value=SOUND_TEXT)
def test_words_and_values_reach_the_program_byte_for_byte(
    tmp_path_factory: pytest.TempPathFactory, arguments: list[str], value: str
) -> None:
    """Whatever their text: nothing is split, expanded or run."""
    folder = tmp_path_factory.mktemp("run")
    stub(
        folder,
        "show",
        r"printf '%s\0' "
        r'"$@" "$VALUE"',
    )
    job = replace(SMALL, command=("show", *arguments), environment={"VALUE": value})
    done = ran(render(job, "shell").text, folder)
    assert done.stdout.split("\0")[:-1] == [*arguments, value], done.stderr
    assert sorted(each.name for each in folder.iterdir()) == ["bin", "job.sh"]


def test_a_variable_is_one_word_whatever_it_holds(tmp_path: Path) -> None:
    """``${NAME}`` is the one expansion."""
    stub(tmp_path, "show", r"""printf '<%s>' "$@" """)
    job = replace(SMALL, command=words.parse("show ${SCRATCH}/x '${SCRATCH}'"))
    assert ran(render(job, "shell").text, tmp_path, SCRATCH="a b; $(id) *").stdout == "<a b; $(id) */x><${SCRATCH}>"


def test_a_variable_that_is_not_set_stops_the_job(tmp_path: Path) -> None:
    """Rather than leaving ``/x`` where ``$SCRATCH/x`` was meant."""
    done = ran(render(replace(SMALL, command=words.parse("echo ${SCRATCH}/x")), "shell").text, tmp_path)
    assert done.returncode != 0
    assert done.stdout == ""
    assert "SCRATCH" in done.stderr


@pytest.mark.parametrize("name", ["if", "time", "export", "[[", "!", "{", "a b", "do%", "a@b"])
def test_a_program_called_like_a_part_of_the_shell_is_a_program(tmp_path: Path, name: str) -> None:
    """Reserved words are quoted."""
    stub(tmp_path, name, "echo ran") if name != "export" else None
    done = ran(render(replace(SMALL, command=(name, "X=1")), "shell").text, tmp_path)
    assert done.stdout == ("ran\n" if name != "export" else "")
    assert done.returncode == 0


@pytest.mark.parametrize("program", ["", "-x", "A=1"])
@pytest.mark.parametrize("field", ["command", "pre", "post", "checkpoint"])
def test_the_first_word_is_a_program(program: str, field: str) -> None:
    """Not nothing, no option, no assignment."""
    changed: dict[str, Any] = {field: (program, "x"), "attributes": replace(SMALL.attributes, signal=Signal(name="USR1", seconds=60))}
    with pytest.raises(RequestError, match="application"):
        render(replace(SMALL, **changed), "shell")


@pytest.mark.parametrize(("scheduler", "launcher", "flavour", "nodes"), [
    ("slurm", "srun", None, 2), ("slurm", "mpirun", "openmpi", 2), ("torque", "mpirun", "mpich", 1), ("pbspro", "pals", None, 2),
    ("lsf", "jsrun", None, 2), ("slurm", "torchrun", None, 2),
])  # fmt: skip
@pytest.mark.parametrize("command", ["./solver x : -n 1 touch pwned", "./solver ${SEP} touch pwned"])
def test_no_word_ends_the_command_for_its_launcher(command: str, scheduler: str, launcher: str, flavour: str | None, nodes: int) -> None:
    """Behind ``:`` launchers start another program, also outside the container: refused, from a variable of the request's own, too."""
    has = Resources(nodes=nodes, ranks_per_node=2)
    of: dict[str, Any] = {"launcher": launcher, "launcher_flavour": flavour, "resources": has, "environment": {"SEP": ":"}}
    job = replace(SMALL, command=words.parse(command, names=["SEP"]), **of)
    with pytest.raises(RequestError, match=r"application.arguments: a launcher .* of several programs, name a script"):
        render(job, scheduler)


def test_a_colon_is_a_word_like_others_to_what_only_one_process_reads(tmp_path: Path) -> None:
    """Without a launcher it reaches the program, and so do words that only contain it."""
    stub(tmp_path, "solver", 'echo "$@"')
    done = ran(render(replace(SMALL, command=("solver", "a", ":", "b")), "shell").text, tmp_path)
    assert done.stdout == "a : b\n"
    has = Resources(nodes=2, ranks_per_node=2)
    assert "./solver a:b ::" in render(replace(SMALL, command=("./solver", "a:b", "::"), launcher="srun", resources=has), "slurm").text


def test_the_first_failure_ends_the_job(tmp_path: Path) -> None:
    """A command before the run that fails is not run over, and its status is the job's."""
    job = replace(SMALL, pre=("bash", "-c", "exit 7"), command=("echo", "too late"))
    done = ran(render(job, "shell").text, tmp_path)
    assert (done.returncode, done.stdout) == (7, "")


def test_nothing_of_the_submit_directory_is_run_by_its_name(tmp_path: Path) -> None:
    """A file called like the launcher lies in wait there; the path is left as it is."""
    (tmp_path / "echo2").write_text("#!/bin/sh\ntouch trapped\n")
    (tmp_path / "echo2").chmod(0o755)
    done = ran(render(replace(SMALL, command=("echo2",)), "shell").text, tmp_path)
    assert done.returncode == 127
    assert not (tmp_path / "trapped").exists()


# --- rules -------------------------------------------------------------------------------------------------------------------


def with_rule(script: str, stage: str = "environment", command: str = "env") -> JobSpec:
    """A job with one rule, and a value that the rule may read."""
    return replace(SMALL, rules=(RuleText("mine", stage, script),), command=words.parse(command), values={"MODAK_STORAGE": "/fast disk"})


def test_a_rule_of_the_environment_reaches_the_program(tmp_path: Path) -> None:
    """What it exports stays."""
    assert "\nX=1\n" in ran(render(with_rule("Y=1\nexport X=$Y"), "shell").text, tmp_path).stdout


@pytest.mark.parametrize("stage", ["staging", "before", "after"])
def test_what_another_rule_sets_ends_with_it(tmp_path: Path, stage: str) -> None:
    """It runs in a shell of its own."""
    done = ran(render(with_rule("export X=1; cd /; echo ran", stage), "shell").text, tmp_path)
    assert "ran\n" in done.stdout
    assert "\nX=1" not in done.stdout
    assert f"PWD={tmp_path}" in done.stdout


def test_rules_run_in_the_order_of_their_stages(tmp_path: Path) -> None:
    """Environment, staging, before, the run, after."""
    rules = tuple(RuleText(stage, stage, f"echo {stage}") for stage in ("after", "before", "staging", "environment"))
    job = replace(SMALL, rules=rules, pre=("echo", "pre"), command=("echo", "run"), post=("echo", "post"))
    assert ran(render(job, "shell").text, tmp_path).stdout.split() == ["environment", "staging", "before", "pre", "run", "post", "after"]


def test_a_rule_reads_values_as_variables(tmp_path: Path) -> None:
    """The published placeholder is one; other braces are the shell's."""
    script = 'list=(a b)\necho "${#list[@]} {{preferred_storage_location}} {{ preferred_storage_location }}"'
    assert ran(render(with_rule(script, "before", "true"), "shell").text, tmp_path).stdout == "2 /fast disk /fast disk\n"


@pytest.mark.parametrize("name", ["preferred_storage_location", "BUILD_PARALLELISM"])
def test_a_rule_that_needs_a_value_which_the_job_does_not_have_is_warned_of(name: str) -> None:
    """The job will stop there; with the value there is nothing to say."""
    variable = "MODAK_STORAGE" if name == "preferred_storage_location" else name
    job = replace(with_rule(f"echo {{{{{name}}}}}"), values={})
    (warning,) = render(job, "slurm").warnings
    assert f"rule 'mine' needs {variable}, which has no value" in warning.message
    assert not render(replace(job, values={variable: "4"}), "slurm").warnings


def test_values_of_the_layout_are_only_where_something_reads_them() -> None:
    """A rule or what runs before or after the program, whatever it starts, or a command, also in what it leaves to a shell."""
    job = replace(SMALL, values={"MODAK_RANKS": "8"})
    naming = words.parse("touch ${MODAK_RANKS}")
    read = (
        replace(job, rules=(RuleText("r", "after", "true"),)),
        replace(job, pre=("./prepare",)),
        replace(job, post=("./merge",)),
        replace(job, launcher_options=naming),
        replace(job, command=("sh", "-c", "./solver $MODAK_RANKS")),
    )
    assert ["MODAK_RANKS=8" in render(each, "shell").text for each in (job, *read)] == [False, *[True] * len(read)]


@pytest.mark.parametrize(
    ("name", "warned"), [("MODAK_TASKS", True), ("MODAK_RANKS", False), ("MODAK_STORAGE", False), ("SLURM_NTASKS", False)]
)
def test_a_variable_of_the_script_that_it_does_not_have_is_warned_of(name: str, warned: bool) -> None:
    """The job would stop there, after its time in the queue. That a system has no such storage is told already."""
    said = render(replace(SMALL, pre=words.parse(f"decompose ${{{name}}}"), values={"MODAK_RANKS": "8"}), "shell").warnings
    assert [notice.message for notice in said] == [f"${{{name}}}: the script does not set it; it has MODAK_RANKS"] * warned


def test_a_false_condition_at_the_end_of_a_rule_is_no_failure(tmp_path: Path) -> None:
    """``[ -n "$X" ] && export Y=1`` is what people write."""
    assert ran(render(with_rule('[ -n "${X:-}" ] && export Y=1'), "shell").text, tmp_path).returncode == 0


@pytest.mark.parametrize(
    "script",
    [
        "echo 'open",
        'echo "open',
        "}\nrm -rf x\nmodak_x() {",
        "true\n}",
        ")\nrm -rf x\n(",
        "echo \\",
        "cat <<END\nopen",
        "if true; then",
        "echo a\r\necho b",
        "#SBATCH --output=/home/v/.ssh/authorized_keys",
        "echo 1\n#PBS -l nodes=9",
        "#BSUB -n 9",
        "#$ -pe mpi 9",
        "#flux: --nodes=9",
        "rm -rf {{ directory }}/*",
        "echo 1; fi",
        "cat <<'END'\n1\nEND \n",
        "echo \x1b",
        "echo \u202e",
    ],
)
def test_a_rule_that_cannot_stand_by_itself_is_left_out_with_a_warning(script: str) -> None:
    """One bad rule never breaks a job, and never reaches its script."""
    assert rule_fault(script)
    good = RuleText("good", "environment", "export GOOD=1")
    job = replace(SMALL, rules=(RuleText("bad", "environment", script), good))
    written = render(job, "slurm")
    assert "GOOD" in written.text
    assert script.strip("\n") not in written.text
    assert [warning.field for warning in written.warnings] == ["rules"]
    assert "'bad'" in written.warnings[0].message


@pytest.mark.parametrize(("script", "line"), [("cd /tmp\nls ; ; pwd\ntrue", 2), ("cd /tmp\nls\necho 'open", 3), ("ls\n(pwd", 2)])
def test_the_line_of_a_rule_that_is_no_bash_is_named(script: str, line: int) -> None:
    """A rule may have many."""
    assert f"line {line} is no bash" in rule_fault(script)


@pytest.mark.parametrize(
    "script",
    [
        "",
        "# only a remark",
        'a=(1 2 3); echo "${#a[@]}" "${a[*]:1}" "${x//a/b}"',
        "case $1 in a|b) echo;; *) :;; esac",
        "for i in {1..3}; do echo $((i * 2)) | tee -a log >&2; done",
        "cat <<'END'\n} ) $(x)\nEND",
        'while read -r line; do echo "$line"; done < <(ls)',
        "[[ $HOSTNAME =~ ^node[0-9]+$ ]] && ulimit -s unlimited",
        "f() { local x=1; }\nf",
        "awk '{print $1}' file",
        "trap 'rm -rf \"$TMP\"' EXIT",
    ],
)
def test_shell_code_of_a_rule_survives_as_it_is(script: str) -> None:
    """No template engine touches it."""
    assert rule_fault(script) == ""
    for stage in ("environment", "after"):
        assert script in render(with_rule(script, stage), "torque").text


def test_a_rule_named_like_a_directive_is_not_named_in_the_script() -> None:
    """Nor is any name that holds more than a name."""
    job = replace(SMALL, rules=(RuleText("x\n#SBATCH --output=/y", "environment", "export A=1"),))
    assert "/y" not in render(job, "slurm").text


# --- nothing can be smuggled -------------------------------------------------------------------------------------------------


FIELD_TEXT = st.one_of(
    ODD_TEXT,
    st.sampled_from(
        ["x --output=/home/v", "x\n#SBATCH --wrap=id", "a#b", "-wrap", "x\r", "x\u2028y", "x\u0085", "$(id)", "`id`", "a;b", "é", "%x"]
    ),
    st.from_regex(r"\A[A-Za-z0-9._:,%@&|+\[\]-]{1,12}\Z"),
)
OPTIONS_OF = {
    "job_name": set(),
    "account": {"--account", "-A", "-P", "--bank"},
    "queue": {"--partition", "-q", "--queue"},
    "partition": {"--partition", "-q", "--queue"},
    "qos": {"--qos"},
    "reservation": {"--reservation", "-U", "-ar", "-q"},
    "request_specific_nodes": {"--nodelist", "-m", "--requires", "-l"},
    "job_array": {"--array", "-t", "-tc", "-J"},
    "standard_output_file": {"--output", "-o"},
    "standard_error_file": {"--error", "-e"},
    "architecture_constraint": {"--constraint", "-R", "--requires"},
    "job_dependency": {"--dependency", "-W", "-w", "-hold_jid"},
    "email_address": {"--mail-user", "-M", "-u"},
    "defer_job": {"--begin", "-a", "-b", "--begin-time"},
}
"""The options that each field of text may add to a header, in the words of all schedulers."""
MEANT = "if the scheduler is meant to be told the field by that option, name it in OPTIONS_OF, above"
PREFIXES = {each.name: each.prefix for each in plugins.all_of("schedulers") if each.prefix}


def flags(text: str, scheduler: str) -> set[str]:
    """Names of the options that the scheduler would read, each word that begins like one among them."""
    found = [line for line in text.split("\n") if line.startswith(PREFIXES[scheduler])]
    return {word.split("=")[0] for line in found for word in line[len(PREFIXES[scheduler]) :].split() if word.startswith("-")}


@pytest.mark.parametrize("scheduler", PREFIXES)
@settings(max_examples=100, deadline=None)
@given(field=st.sampled_from(sorted(OPTIONS_OF)), text=FIELD_TEXT)
def test_no_value_that_the_request_accepts_adds_an_option(scheduler: str, field: str, text: str) -> None:
    """The header has the same options as with any other value of the field: those that the scheduler was meant to be told."""
    try:
        options = JobOptions(**{field: text})
    except ValidationError:
        return
    attribute = next(name for name, called in FIELDS.items() if called == field)
    job = replace(SMALL, attributes=replace(SMALL.attributes, **{attribute: getattr(options, field)}))
    written = render(job, scheduler)
    plain = render(SMALL, scheduler)
    assert flags(written.text, scheduler) - flags(plain.text, scheduler) <= OPTIONS_OF[field], MEANT
    assert parse_events(written.text) == parse_events(plain.text)


@pytest.mark.parametrize("scheduler", PREFIXES)
@settings(max_examples=80, deadline=None)
@given(attribute=st.sampled_from(["name", "account", "queue", "constraint", "output", "email", "begin", "array"]), text=FIELD_TEXT)
def test_a_value_that_nobody_checked_is_refused_or_harmless(scheduler: str, attribute: str, text: str) -> None:
    """Second line: a job that was not made from a request cannot add an option or a command either."""
    said: dict[str, Any] = {attribute: text}
    try:
        written = render(replace(SMALL, attributes=replace(SMALL.attributes, **said)), scheduler).text
    except (RequestError, ValueError):
        return
    plain = render(SMALL, scheduler).text
    assert flags(written, scheduler) - flags(plain, scheduler) <= OPTIONS_OF[FIELDS[attribute]], MEANT
    assert parse_events(written) == parse_events(plain)


SHELLISH = st.lists(
    st.sampled_from([*"ab1 \t\n'\"\\$`{}()[]<>|&;*?~#!=%^,.:/@+-é", "${X}", "$(id)", "$'", "if", "<<", "=="]), max_size=20
).map("".join)


@settings(max_examples=300, deadline=None)
@given(arguments=st.lists(SHELLISH, min_size=1, max_size=5), value=SHELLISH, text=SHELLISH)
def test_the_parser_reads_every_quoted_text_as_it_was_meant(arguments: list[str], value: str, text: str) -> None:
    """So nothing that is sound is refused: words, values, here-documents."""
    lines = (
        bash.command_line(("./solver", *arguments), breaks=(2,)),
        bash.export("X", value, words.variable("Y", ":-"), value),
        bash.write("file", text, delimiter(text)),
        bash.subshell(bash.run(*arguments)),
    )
    whole = bash.joined_lines(lines)
    assert parse_events(whole.text) == list(whole.events)


@settings(max_examples=60, deadline=None)
@given(arguments=st.lists(ODD_TEXT, max_size=4), value=ODD_TEXT, name=ODD_TEXT)
def test_no_text_adds_a_command(arguments: list[str], value: str, name: str) -> None:
    """In arguments, values and names of variables: one command is run, with one word for each argument; or all is refused."""
    try:
        written = render(replace(SMALL, command=("./solver", *arguments), environment={name: value}), "shell").text
    except RequestError:
        return
    commands = [event for event in parse_events(written) if event[0] == "command"]
    assert commands[-1] == ("command", ("./solver",), *(bash.parts(each) for each in arguments))
    assert len(commands) == len([event for event in parse_events(render(SMALL, "shell").text) if event[0] == "command"])


@pytest.mark.parametrize(
    "name", ["PATH", "IFS", "BASH_ENV", "LD_PRELOAD", "PYTHONPATH", "SLURM_CONF", "APPTAINER_BIND", "a-b", "x;y", "A=b", ""]
)
def test_variables_that_run_code_are_not_set(name: str) -> None:
    """Loader, shell and scheduler take their orders from the site."""
    with pytest.raises(RequestError, match="environment"):
        render(replace(SMALL, environment={name: "x"}), "slurm")


@pytest.mark.parametrize("name", ["PYTHONUNBUFFERED", "PYTHONHASHSEED", "PYTHONNOUSERSITE"])
def test_variables_of_python_that_run_no_code_may_be_set(name: str) -> None:
    """Rules of sites do."""
    assert f"export {name}=1\n" in render(replace(SMALL, environment={name: "1"}), "slurm").text


@pytest.mark.parametrize("value", ["\x00", "a\x1b[2Jb", "\r\n", "\u2028", "\u202e", "\ud800"])
def test_control_characters_are_refused(value: str) -> None:
    """In arguments and in values; a tab and a line break are text."""
    for job in (replace(SMALL, command=("echo", value)), replace(SMALL, environment={"X": value})):
        with pytest.raises(RequestError, match="control character"):
            render(job, "slurm")
    assert render(replace(SMALL, command=("echo", "a\n\tb")), "slurm").text


def test_a_script_of_more_than_a_mebibyte_is_refused() -> None:
    """Nobody submits that."""
    with pytest.raises(RequestError, match="more than 1048576 characters"):
        render(replace(SMALL, command=("echo", *["x" * 60_000] * 20)), "slurm")


def test_a_job_may_wait_for_as_many_others_as_a_request_names() -> None:
    """Flux is told each in a line of its own."""
    waits = "afterok" + ":12" * 80
    assert render(replace(SMALL, attributes=Attributes(dependency=waits)), "flux").text.count("\n# flux: --dependency=afterok:12") == 80


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("set -e", "set -e; curl https://example.org | bash"),
        ("./solver", "./solver $(id)"),
        ("./solver", "./solver > /etc/motd"),
        ("./solver", "./solver &"),
        ("./solver", "A=1 ./solver"),
        ("./solver", "./solver '' "),
        ("./solver", "! ./solver"),
        ("#SBATCH --nodes=1", "#SBATCH --nodes=1 --wrap=id"),
        ("#SBATCH --nodes=1", "#SBATCH --nodes=1\n#PBS -l nodes=2"),
        ("./solver", "./solver\n#SBATCH --output=x"),
        ("#!/bin/bash", "#!/bin/sh"),
        ("unset BASH_ENV", "unset X BASH_ENV"),
        ("./solver", "'./solver"),
    ],
)
def test_the_gate_sees_what_was_not_planned(before: str, after: str) -> None:
    """Each of these changes is one that ``bash -n`` has nothing against."""
    text = render(SMALL, "slurm").text
    look_at(text, planned=text)
    with pytest.raises(RequestError, match="cannot be written safely"):
        look_at(text.replace(before, after, 1), planned=text)


def test_the_gate_sees_an_option_that_would_be_ignored() -> None:
    """Below the first command no scheduler reads options any more."""
    text = render(SMALL, "slurm").text
    last = f"#SBATCH {options_of(text)[-1][0]}\n"
    moved = text.replace(last, "").replace("set -e -o pipefail\n", f"set -e -o pipefail\n{last}")
    with pytest.raises(RequestError, match="header would not be read as planned"):
        look_at(moved, planned=text)


def test_flux_reads_a_constraint_as_one_word() -> None:
    """Its parser (RFC 36) is shlex that also ends words at punctuation: what is behind ``|`` would be lost, and ``(`` refused."""
    said = replace(SMALL, attributes=replace(SMALL.attributes, constraint="a|b", node_list="n[1-2]"))
    (line,) = [line for line in render(said, "flux").text.splitlines() if "requires" in line]
    lexer = shlex.shlex(line.removeprefix("# flux:"), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    assert list(lexer) == ["--requires=(a|b)&hosts:n[1-2]"]


def test_lines_that_are_looked_at_once_are_looked_at() -> None:
    """What stands around every run alike is checked as any other line."""
    with pytest.raises(RequestError, match="cannot be written safely"):
        checker.checked([bash.run("true"), bash.Line("curl x | bash", (("command", ("true",)),))])


def look_at(text: str, planned: str) -> None:
    """The last look at a text that was meant to be another one."""
    head, body = text.split("\n\n", 1)
    meant = bash.Line(body, tuple(parse_events(planned)))
    checker.check_script(f"{head}\n", options_of(planned), [meant], "#SBATCH")


def options_of(text: str) -> list[tuple[str, ...]]:
    """The words of each option of a script for Slurm."""
    return checker.header(text.split("\n\n", 1)[0], "#SBATCH")


# --- what does not go together -----------------------------------------------------------------------------------------------


def test_a_launcher_that_cannot_work_there_is_refused() -> None:
    """srun outside of Slurm, torchrun over nodes that nobody gives, many ranks without a launcher."""
    with pytest.raises(Conflict, match="srun starts processes under Slurm, not under torque"):
        render(SOLVER, "torque")
    with pytest.raises(Conflict, match="torchrun on 2 nodes needs a scheduler"):
        render(TORCH, "shell")
    with pytest.raises(Conflict, match="64 ranks cannot be started"):
        render(replace(SOLVER, launcher="none"), "slurm")


def test_data_for_the_storage_of_several_nodes_that_nobody_fills_are_refused_with_what_to_give() -> None:
    """Only Slurm copies files to each node of a job."""
    job = replace(SOLVER, launcher="mpirun", launcher_flavour="openmpi", staging=Staging(into=(Copy("mesh.h5", "mesh.h5"),)))
    told = r"only under Slurm; name shared storage \(application.storage_class_pref\) or use one node \(job_options.node_count\)"
    with pytest.raises(Conflict, match=told):
        render(job, "torque")


@pytest.mark.parametrize(("field", "name"), [("launcher", "mpiexec.hydra"), ("scheduler", "nothing"), ("runtime", "docker")])
def test_unknown_variants_are_named_with_what_is_known(field: str, name: str) -> None:
    """The message lists the supported ones."""
    assert GAN.container is not None
    job = replace(GAN, container=replace(GAN.container, runtime=name)) if field == "runtime" else SOLVER
    with pytest.raises(UnknownName, match=f"unknown .*{name}.*known: "):
        render(replace(job, launcher=name) if field == "launcher" else job, name if field == "scheduler" else "slurm")


# --- what is checked first ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("there", "status", "says"),
    [
        ((), 71, "singularity is not on this node"),
        (("singularity",), 72, "tensorflow_2.1.0-gpu.sif cannot be read: singularity pull tensorflow_2.1.0-gpu.sif docker://tensorflow/"),
        (("singularity", "image"), 74, "no GPU is visible"),
        (("singularity", "image", "nvidia-smi"), 0, ""),
    ],
)
def test_a_missing_part_ends_the_job_at_once_with_a_sentence(tmp_path: Path, there: tuple[str, ...], status: int, says: str) -> None:
    """Each with an exit status of its own."""
    if not there:
        lacking("singularity")
    for name in there:
        stub(tmp_path, name, "exit 0") if name != "image" else (tmp_path / "tensorflow_2.1.0-gpu.sif").touch()
    assert XLA.container is not None
    job = replace(XLA, rules=(), system=None, container=replace(XLA.container, policy=RuntimePolicy(name="singularity")))
    done = ran(render(job, "shell").text, tmp_path)
    assert done.returncode == status, done.stderr
    assert says in done.stderr


def test_a_module_that_does_not_load_is_named(tmp_path: Path) -> None:
    """Instead of a program that is not found later."""
    stub(tmp_path, "module", "exit 1")
    done = ran(render(replace(SMALL, modules=("gcc/13",)), "shell").text, tmp_path)
    assert done.returncode == 70
    assert "modak: module gcc/13 could not be loaded" in done.stderr


def test_a_job_without_the_module_command_says_what_the_site_has_to_name(tmp_path: Path) -> None:
    """Batch jobs read no file that defines it; ``module avail`` would not help."""
    done = ran(render(replace(SMALL, modules=("gcc/13",)), "shell").text, tmp_path)
    assert (done.returncode, "module_init" in done.stderr, "module avail" in done.stderr) == (70, True, False), done.stderr


def test_checks_can_be_left_out() -> None:
    """``preflight`` off: the run comes at once."""
    text = render(replace(TORCH, preflight=False), "slurm").text
    assert "command -v" not in text
    assert "MODAK_IMAGE=" in text


def test_the_storage_is_known_to_ranks_on_every_node() -> None:
    """Open MPI gives other nodes the variables that it is told of, and no others."""
    job = replace(SMALL, storage="/work", launcher="mpirun", launcher_flavour="openmpi", resources=replace(SMALL.resources, nodes=2))
    assert " -x MODAK_STORAGE " in render(job, "torque").text


@pytest.mark.parametrize("field", ["command", "checkpoint", "staging"])
def test_a_variable_that_the_site_keeps_out_of_jobs_is_warned_about(field: str) -> None:
    """A command or a path uses it, the site starts jobs with an empty environment, and nobody asked for it."""
    used = words.parse("python3 ${WORKSPACE_DIR}/x.py")
    changes: dict[str, Any] = {field: Staging(into=(Copy(used[1], "x"),)) if field == "staging" else used}
    job = replace(GAN, **changes)
    assert [w.field for w in render(job, "slurm").warnings] == ["job_options.copy_environment_variable"]
    asked = replace(job, attributes=replace(job.attributes, copy_variables=("WORKSPACE_DIR",)))
    assert render(asked, "slurm").warnings == ()


@pytest.mark.parametrize(
    ("variable", "policy", "told"),
    [("SINGULARITY_DIR", "NONE", True), ("HOME", "NONE", False), ("WORKSPACE_DIR", "ALL", False), ("WORKSPACE_DIR", "site", False)],
)
def test_only_variables_that_users_set_are_missing_where_no_environment_is_passed_on(variable: str, policy: str, *, told: bool) -> None:
    """The machine sets the others, wherever a job starts."""
    assert GAN.system is not None
    site = GAN.system.model_copy(update={"export_policy": policy})
    job = replace(GAN, system=site, command=words.parse(f"python3 ${{{variable}}}/x.py"))
    assert bool(render(job, "slurm").warnings) == told


# --- build jobs --------------------------------------------------------------------------------------------------------------


def test_a_build_is_one_process_on_one_node_with_time_enough() -> None:
    """Not under the MPI launcher, without the job's GPUs, array and files."""
    told = replace(GAN, attributes=replace(GAN.attributes, signal=Signal(name="USR1", seconds=600)))
    text = render_build(told, SOURCES, "slurm").text
    options = {option[0] for option in options_of(text)}
    assert {"--nodes=1", "--ntasks-per-node=1", "--cpus-per-task=48", "--time=02:00:00", "--job-name=3dgan-build"} <= options
    assert not any(option.startswith("--signal") for option in options)  # nothing there waits for it: it would end the build
    assert "srun" not in text


def test_a_build_starts_as_soon_as_it_can() -> None:
    """The job's own start is when the build has to be ready."""
    later = replace(SOLVER, attributes=replace(SOLVER.attributes, begin="2030-01-31T08:00"))
    assert "--begin=" not in render_build(later, SOURCES, "slurm").text


def test_a_build_keeps_what_the_job_says_of_itself() -> None:
    """Whom it is charged to, where it may run, what it uses and whom to tell; not what is the run's own."""
    text = render_build(replace(SMALL, attributes=SAID), SOURCES, "slurm").text
    options = {option[0] for option in options_of(text)}
    assert options >= {
        *("--account=project1", "--partition=main", "--licenses=matlab:2", "--constraint=ssd&fast", "--exclusive", "--requeue"),
        *("--mail-user=someone@example.org", "--mail-type=BEGIN,END,FAIL,TIME_LIMIT", "--export=ALL,ONE,TWO"),
    }
    runs_own = ("--array", "--nodelist", "--output", "--error", "--dependency", "--reservation", "--qos")
    assert not any(option.startswith(runs_own) for option in options)


@pytest.mark.parametrize(("scheduler", "line"), [("slurm", "#SBATCH --partition=short\n"), ("torque", "#PBS -q short\n")])
def test_a_build_goes_to_the_queue_that_takes_one_node(scheduler: str, line: str) -> None:
    """The job's may take large jobs alone."""
    job = replace(SMALL, attributes=replace(SMALL.attributes, queue="wide", partition="wide"))
    assert line in render_build(job, replace(SOURCES, queue="short"), scheduler).text


def test_a_build_in_an_image_needs_nothing_that_the_run_does() -> None:
    """Neither GPUs nor the directories of its data: the node of the build may have neither."""
    assert TORCH.container
    image = replace(TORCH.container, gpu_vendor="nvidia")
    text = render_build(replace(SMALL, container=image, storage="/work", staging=Staging(place="/local")), SOURCES, "slurm").text
    assert "apptainer exec" in text
    assert not any(word in text for word in ("--nv", "MODAK_STORAGE", "MODAK_SCRATCH", "/work", "/local"))


@pytest.mark.parametrize(
    ("memory", "words", "asked"),
    [
        ({"memory_per_node": 2**33}, (), "--mem=8192M"),
        ({"memory_per_core": 2**30}, (), "--mem-per-cpu=1024M"),
        ({"memory_share": 2**34}, ("--mem={memory_mib_per_node}M",), "--mem=16384M"),
    ],
)
def test_a_build_has_the_memory_of_a_node_of_its_job(memory: dict[str, int], words: tuple[str, ...], asked: str) -> None:
    """Compilers need some, and a site's default is small."""
    sizes: dict[str, Any] = {"nodes": 2, **memory}
    job = replace(SMALL, resources=Resources(**sizes), resource_directives=words)
    assert f"#SBATCH {asked}\n" in render_build(job, SOURCES, "slurm").text


def test_a_build_of_a_crowded_job_is_one_process_with_the_cores_of_a_node() -> None:
    """Its own processes are not those of the job, which share cores."""
    crowded = replace(BUSY, resources=replace(BUSY.resources, nodes=2, total_ranks=15, node_cores=4))
    options = {option[0] for option in options_of(render_build(crowded, SOURCES, "slurm").text)}
    assert {"--nodes=1", "--ntasks-per-node=1", "--cpus-per-task=4"} <= options
    assert not {"--overcommit", "--ntasks=15"} & options


def test_a_build_on_nodes_without_internet_is_warned_about() -> None:
    """It says where to run it instead."""
    assert [w.field for w in render_build(GAN, SOURCES, "slurm").warnings] == ["application.build"]
    assert render_build(HYBRID, SOURCES, "torque").warnings == ()


@pytest.mark.parametrize(("scheduler", "variable"), [("slurm", "SLURM_SUBMIT_DIR"), ("torque", "PBS_O_WORKDIR"), ("lsf", "LS_SUBCWD")])
def test_a_build_script_of_a_scheduler_also_runs_with_bash(tmp_path: Path, scheduler: str, variable: str) -> None:
    """As answers advise where compute nodes have no internet: there it stays in its folder, in a job it goes to that of submission."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    stub(tmp_path, "apptainer", 'touch "$3"')
    text = render_build(replace(TORCH, system=None), BuildSpec(definition="FROM x"), scheduler).text
    assert ran(text, tmp_path).returncode == 0
    assert (tmp_path / "modak-build").is_dir()
    assert not list(elsewhere.iterdir())
    assert ran(text, tmp_path, **{variable: str(elsewhere)}).returncode == 0
    assert (elsewhere / "modak-build").is_dir()


@pytest.mark.parametrize(
    "text", ["FROM x\nMODAK_EOF\nEOF", "no line break at the end", "$(id) `id` ${x} \\", "{{ 7*7 }}\n", "\n\n  x", "\n\\ it's '$x'", "\n"]
)
def test_a_recipe_reaches_its_file_as_it_is(tmp_path: Path, text: str) -> None:
    """Nothing in it means anything to the shell."""
    stub(tmp_path, "apptainer", 'touch "$3"')
    done = ran(render_build(replace(TORCH, system=None), BuildSpec(definition=text), "shell").text, tmp_path)
    assert done.returncode == 0, done.stderr
    (written,) = (tmp_path / "modak-build").iterdir()
    assert written.read_text() == (text if text.endswith("\n") else text + "\n")


def test_two_builds_at_once_write_to_two_files(tmp_path: Path) -> None:
    """One would otherwise give the other's half-written file the image's name."""
    stub(tmp_path, "apptainer", 'touch "$3"; echo "$3" >>names')
    text = render_build(replace(TORCH, system=None), BuildSpec(definition="FROM x"), "shell").text
    assert [ran(text, tmp_path).returncode for _ in range(2)] == [0, 0]
    assert len(set((tmp_path / "names").read_text().split())) == 2


def test_two_recipes_in_one_directory_at_once_become_two_images(tmp_path: Path) -> None:
    """The second begins, and writes its recipe, after the first has written its own and before that is read."""
    stub(tmp_path, "apptainer", 'test -e begun || { touch begun; bash ../second.sh >&2; }; cat "$4" >"$3"')
    assert TORCH.container
    jobs = [replace(TORCH, system=None, container=replace(TORCH.container, file=f"{name}.sif")) for name in ("one", "two")]
    first, second = (render_build(job, BuildSpec(definition=name), "shell").text for job, name in zip(jobs, ("one", "two"), strict=True))
    (tmp_path.parent / "second.sh").write_text(second)
    assert ran(first, tmp_path).returncode == 0
    assert [(tmp_path / f"{name}.sif").read_text() for name in ("one", "two")] == ["one\n", "two\n"]


def test_a_build_command_runs_in_the_sources_with_the_number_of_processes(tmp_path: Path) -> None:
    """The published placeholder is a variable; other braces are text."""
    (tmp_path / "code/app").mkdir(parents=True)
    build = BuildSpec(source=f"{tmp_path}/code/app", command="echo {{BUILD_PARALLELISM}} '{{ 7*7 }}' > made", parallelism=3)
    done = ran(render_build(SMALL, build, "shell").text, tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "app/made").read_text() == "3 {{ 7*7 }}\n"


def test_a_repository_is_cloned_and_an_archive_unpacked(tmp_path: Path) -> None:
    """From a path, as callers write it."""
    tool("git", "git")
    home = tmp_path / "work"
    home.mkdir()
    (home / "app").mkdir()
    (home / "app/file").write_text("1")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(home / "app")]
    for command in (["init", "-q"], ["add", "file"], ["commit", "-q", "-m", "first"]):
        subprocess.run([*git, *command], check=True)
    subprocess.run(["tar", "-czf", home / "app.tar.gz", "-C", home, "app/file"], check=True)
    for source in ("${HOME}/work/app/.git", "${HOME}/work/app.tar.gz"):
        here = tmp_path / source[-6:].replace("/", "-")
        here.mkdir()
        done = ran(render_build(SMALL, BuildSpec(source=source, command="test -f file"), "shell").text, here, HOME=str(tmp_path))
        assert done.returncode == 0, done.stderr
        assert (here / "app/file").read_text() == "1"


def test_sources_behind_a_link_are_copied(tmp_path: Path) -> None:
    """The build would write into the user's own directory, or find nothing behind a link that is relative."""
    (tmp_path / "code/app-1").mkdir(parents=True)
    (tmp_path / "code/app").symlink_to("app-1")
    text = render_build(SMALL, BuildSpec(source="${HOME}/code/app", command="touch built"), "shell").text
    assert ran(text, tmp_path).returncode == 0
    assert ((tmp_path / "app/built").exists(), list((tmp_path / "code/app-1").iterdir())) == (True, [])


@pytest.mark.parametrize(("source", "program"), [("/work/app/.git", "git"), ("/work/app", "cp")])
def test_half_fetched_sources_are_not_taken_for_sources(tmp_path: Path, source: str, program: str) -> None:
    """A full disk or a time limit ends a fetch after it has made a directory: the next build fetches anew."""
    stub(tmp_path, program, 'for last; do :; done; mkdir -p "$last"; exit 1')
    text = render_build(SMALL, BuildSpec(source=source, command="true"), "shell").text
    done = ran(text, tmp_path)
    assert (done.returncode, (tmp_path / "app").exists(), "could not be fetched" in done.stderr) == (80, False, True)


def test_a_submodule_comes_from_no_path_of_the_machine(tmp_path: Path) -> None:
    """Its address is the repository's choice, which the user has not seen; what the user's own configuration allows does not count."""
    tool("git", "git")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always", "-C"]
    for name in ("secret", "app"):
        subprocess.run(["git", "init", "-q", tmp_path / name], check=True)
        subprocess.run([*git, tmp_path / name, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    subprocess.run([*git, tmp_path / "app", "submodule", "--quiet", "add", f"file://{tmp_path}/secret", "lib"], check=True)
    subprocess.run([*git, tmp_path / "app", "commit", "-q", "-m", "second"], check=True)
    (tmp_path / ".gitconfig").write_text('[protocol]\n\tallow = always\n[protocol "file"]\n\tallow = always\n')
    here = tmp_path / "here"
    here.mkdir()
    text = render_build(SMALL, BuildSpec(source=f"{tmp_path}/app/.git", command="true"), "shell").text
    done = ran(text, here, HOME=str(tmp_path))
    assert (done.returncode, "transport 'file' not allowed" in done.stderr, (here / "app").exists()) == (80, True, False), done.stderr


@pytest.mark.parametrize(
    "source",
    [
        "file:///etc/shadow",
        "ext::sh -c id",
        "https://h/$(id).git",
        "-upload-pack=x",
        "../x",
        "http://h/x",
        "https://a@h/x",
        "https://h/x.zip",
    ],
)
def test_sources_come_by_https_or_from_a_path(source: str) -> None:
    """Everything else is refused with the field's name."""
    with pytest.raises(RequestError, match=r"application\.build\.src"):
        render_build(SMALL, BuildSpec(source=source), "shell")


def test_a_missing_runtime_stops_a_build_before_anything_is_fetched(tmp_path: Path) -> None:
    """With the status of a job's own check."""
    lacking("apptainer", "singularity")
    (tmp_path / "code/app").mkdir(parents=True)
    build = BuildSpec(source=f"{tmp_path}/code/app", command="make")
    (tmp_path / "bin").mkdir()
    done = ran(render_build(replace(TORCH, system=None), build, "shell").text, tmp_path)
    assert (done.returncode, (tmp_path / "app").exists()) == (71, False), done.stderr


def test_a_single_source_file_is_downloaded_and_compiled_where_it_is_run() -> None:
    """As the published request of an MPI test means it: no repository has that address, and the job runs `./xthi`."""
    one = BuildSpec(source="https://example.org/olcf/training/raw/main/affinity/Xthi.c", command="mpicc -o xthi Xthi.c")
    text = render_build(SMALL, one, "shell").text
    assert "clone" not in text
    assert '--output "${MODAK_PART:?}" -- https://example.org/olcf/training/raw/main/affinity/Xthi.c' in text
    assert 'mv -T -- "${MODAK_PART:?}" Xthi.c' in text
    assert "cd -- Xthi.c" not in text


def test_a_single_source_file_is_downloaded_once(tmp_path: Path) -> None:
    """It gets its name when it is whole; a second build uses it."""
    stub(tmp_path, "curl", 'while test "$1" != --output; do shift; done; echo once >>log; echo "$4" >"$2"')
    text = render_build(SMALL, BuildSpec(source="https://example.org/code/raw/x.c", command="cat x.c"), "shell").text
    assert [ran(text, tmp_path).stdout for _ in range(2)] == ["https://example.org/code/raw/x.c\n"] * 2
    assert (tmp_path / "log").read_text() == "once\n"


def test_a_path_may_be_a_single_source_file_or_a_directory_that_is_named_like_one(tmp_path: Path) -> None:
    """The first is built where the job runs, the second inside; a second build fetches neither."""
    (tmp_path / "code/llama.cpp").mkdir(parents=True)
    (tmp_path / "code/llama.cpp/main.cpp").touch()
    (tmp_path / "code/solver.c").touch()
    for name, built in (("solver.c", "solver.c"), ("llama.cpp", "llama.cpp/main.cpp")):
        build = BuildSpec(source=f"${{HOME}}/code/{name}", command=f"test -f {Path(built).name}; echo once >>{Path(built).name}")
        done = [ran(render_build(SMALL, build, "shell").text, tmp_path) for _ in range(2)]
        assert [each.returncode for each in done] == [0, 0], done[0].stderr
        assert (tmp_path / built).read_text() == "once\nonce\n"


@pytest.mark.parametrize("source", [".", "./"])
def test_sources_in_the_directory_of_submission_are_built_there(tmp_path: Path, source: str) -> None:
    """Where the user's Makefile is: a copy of a directory into itself fails."""
    (tmp_path / "Makefile").write_text("solver:\n\ttouch solver\n")
    done = ran(render_build(SMALL, BuildSpec(source=source, command="make"), "shell").text, tmp_path)
    assert (done.returncode, (tmp_path / "solver").exists()) == (0, True), done.stderr


def test_a_repository_that_is_named_like_a_file_is_cloned() -> None:
    """Its page in the forge would be downloaded without an error."""
    text = render_build(SMALL, BuildSpec(source="https://example.org/team/llama.cpp", command="make"), "shell").text
    assert (" clone " in text, "cd -- llama.cpp" in text) == (True, True)


def test_downloads_keep_to_https_with_certificates() -> None:
    """No switch turns the check off, anywhere."""
    archive = render_build(SMALL, replace(SOURCES, source="https://example.org/x.tar.gz"), "shell").text
    file = render_build(SMALL, replace(SOURCES, source="https://example.org/code/raw/x.c"), "shell").text
    assert ["curl --proto =https --proto-redir =https " in text for text in (archive, file)] == [True, True]
    for text in (archive, file, render_build(SMALL, SOURCES, "shell").text):
        assert not any(switch in text for switch in ("--insecure", " -k ", "--no-check-certificate", "sslVerify=false"))
    assert "-c http.sslVerify=true" in text
