"""Running commands: found by absolute path, with a clean environment, within time and size, and gone afterwards."""

from __future__ import annotations

import os
import re
import shlex
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from modak import detect
from modak.detected import Description
from modak.errors import DataError, RequestError
from tests.conftest import PATIENCE_S, until
from tests.detect.told import ACCELERATORS, DATA, PROCESSORS


def program(folder: Path, name: str, script: str) -> Path:
    """A program of that name."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return file


def saying(folder: Path, **files: str) -> str:
    """A PATH of one folder whose programs print recorded outputs, whatever they are asked."""
    for name, recorded in files.items():
        program(folder, name, f"exec /bin/cat {shlex.quote(str(DATA / recorded))}")
    return str(folder)


def found(environment: Mapping[str, str], **options: Any) -> Description:
    """The description of a machine with these programs."""
    return detect.detect(PROCESSORS, ACCELERATORS, environment, **options)


def run(*words: str, timeout_s: float = PATIENCE_S, longest: int = 1 << 20) -> tuple[bytes, bytes, str]:
    """Run words with nothing in the environment."""
    return detect.run(words, {}, timeout_s=timeout_s, longest=longest)


def test_programs_are_looked_up_in_absolute_folders_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program in the current folder is none of ours, wherever PATH names that folder."""
    monkeypatch.chdir(tmp_path)
    program(tmp_path, "lscpu", "true")
    assert detect.find("lscpu", os.pathsep.join(["", ".", "folder"])) is None
    own = program(tmp_path / "bin", "lscpu", "true")
    assert detect.find("lscpu", os.pathsep.join([".", str(tmp_path / "none"), str(tmp_path / "bin")])) == own


def test_a_file_that_cannot_be_run_is_passed_over(tmp_path: Path) -> None:
    """The next folder's is taken."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a/lscpu").write_text("no program")
    (tmp_path / "b/lscpu").mkdir(parents=True)
    own = program(tmp_path / "c", "lscpu", "true")
    assert detect.find("lscpu", f"{tmp_path}/a:{tmp_path}/b:{tmp_path}/c") == own


def test_commands_get_a_clean_environment(tmp_path: Path) -> None:
    """What runs code, or asks for other formats, is not passed on; what names the site's configuration is."""
    program(tmp_path / "bin", "lscpu", f"/usr/bin/env > {tmp_path}/seen")
    given = {
        "PATH": f".:{tmp_path}/bin",
        "LD_PRELOAD": "/x.so",
        "BASH_ENV": "/x",
        "SINFO_FORMAT": "x",
        "LC_ALL": "de_DE",
        "SLURM_CONF": "/conf",
    }
    with pytest.raises(Exception, match="left out"):
        found(given)
    names = dict(line.split("=", 1) for line in (tmp_path / "seen").read_text().splitlines())
    assert (names["PATH"], names["LC_ALL"], names["SLURM_CONF"]) == (f"{tmp_path}/bin", "C", "/conf")
    assert not {"LD_PRELOAD", "BASH_ENV", "SINFO_FORMAT"} & set(names)


def test_a_command_that_hangs_is_ended_in_time_with_all_that_it_started(tmp_path: Path) -> None:
    """Also where a child holds its output open."""
    child = tmp_path / "child"
    script = f"sleep 600 & echo $! > {child}; wait"

    def started() -> str:
        """Its number; empty where half a second was too short for it to start."""
        assert run("/bin/sh", "-c", script, timeout_s=0.5)[2] == "no answer within 0.5 s"
        return child.read_text() if child.exists() else ""

    number = int(until(started))
    until(lambda: gone(number))


def gone(number: int) -> bool:
    """Whether a process has ended; its parent need not know yet."""
    try:
        return " Z " in Path(f"/proc/{number}/stat").read_text()
    except OSError:
        return True


@pytest.mark.parametrize("pause", ["", "sleep 0.05;"])
def test_a_command_that_never_stops_talking_is_ended_in_time(pause: str) -> None:
    """Every line in time does not make the whole in time."""
    assert "within" in run("/bin/sh", "-c", f"while :; do echo x; {pause} done", timeout_s=0.5, longest=1 << 24)[2]


def test_a_command_that_leaves_a_daemon_behind_does_not_hold_us(tmp_path: Path) -> None:
    """A process in a session of its own keeps the pipe open."""
    daemon = tmp_path / "daemon"

    def left() -> str:
        """Its number; empty where half a second was too short for it to start."""
        begins = f"setsid sh -c 'echo $$ >{daemon}; exec sleep 600' & until test -s {daemon}; do sleep 0.02; done; echo done"
        assert "within" in run("/bin/sh", "-c", begins, timeout_s=0.5)[2]
        return daemon.read_text() if daemon.exists() else ""

    number = int(until(left))
    assert not gone(number)
    os.kill(number, signal.SIGKILL)


def test_an_answer_beyond_all_measure_is_refused() -> None:
    """Not held, not read on."""
    out, _, trouble = run("/bin/sh", "-c", "exec /usr/bin/yes", longest=1 << 20)
    assert (out, trouble) == (b"", "an answer of more than 1 MiB")


def test_complaints_beyond_all_measure_are_cut() -> None:
    """The answer stands."""
    words = ("-c", "import sys; sys.stderr.write('x' * 5_000_000); print('fine')")
    out, err, trouble = run(sys.executable, *words)
    assert (out, trouble) == (b"fine\n", "")
    assert len(err) <= detect.LONGEST_ERRORS + (1 << 16)


def test_a_command_that_fails_says_why() -> None:
    """Its status, and the end of what it wrote."""
    assert run("/bin/sh", "-c", "echo no controller >&2; exit 3")[2] == "exit status 3: no controller"
    both = run("/bin/sh", "-c", "echo starting; echo give a project >&2; echo >&2; echo unspecified error >&2; exit 1")[2]
    assert both == "exit status 1: give a project; unspecified error"  # of a site with rules of its own the first line says why


def test_bytes_that_are_no_text_do_no_harm(tmp_path: Path) -> None:
    """They are replaced."""
    program(tmp_path / "bin", "ch-run", "printf '\\377\\376 0.31'")
    path = saying(tmp_path / "bin", lscpu="lscpu-xeon.json")
    assert ("charliecloud", "0.31") in {(one.name, one.version) for one in found({"PATH": path}).system.runtimes}


def test_slurms_own_pbs_commands_are_not_asked_where_scontrol_answers(tmp_path: Path) -> None:
    """Nor sinfo: scontrol says more."""
    folder = tmp_path / "bin"
    saying(folder, lscpu="lscpu-xeon.json")
    told = {"node": "scontrol-node-mixed.txt", "partition": "scontrol-partition-mixed.txt", "config": "scontrol-config.txt"}
    cases = "; ".join(f"{what}) /bin/cat {DATA / name};;" for what, name in told.items()).replace(";;;", ";;")
    program(folder, "scontrol", f"case $2 in {cases} esac")
    for name in ("sinfo", "pbsnodes", "qstat"):
        program(folder, name, f": > {tmp_path}/asked")
    system = found({"PATH": str(folder)}).system
    assert (system.name, system.scheduler, len(system.partitions)) == ("throwaway", "slurm", 3)
    assert not (tmp_path / "asked").exists()


def test_trouble_of_a_command_that_is_there_is_said(tmp_path: Path) -> None:
    """One that is not there is no news."""
    path = saying(tmp_path / "bin", lscpu="lscpu-xeon.json")
    program(tmp_path / "bin", "scontrol", "echo 'slurm_load_partitions: Unable to contact slurm controller' >&2; exit 1")
    notes = found({"PATH": path}).notes
    assert any("scontrol show partition --oneliner: exit status 1: slurm_load_partitions: Unable" in note for note in notes)
    assert not any("nvidia-smi" in note for note in notes)


def test_all_parallel_environments_have_the_time_of_one_command(tmp_path: Path) -> None:
    """A master that answers each within its time, but slowly, was waited for as often as there are environments: up to 64 times 20 s."""
    path = saying(tmp_path / "bin", qhost="qhost-gridengine.txt")
    names = " ".join(f"pe{number}" for number in range(40))
    shown = f'/bin/echo "qname all.q\npe_list {names}"'
    asked = tmp_path / "asked"
    slow = f'echo "pe_name $2" >>{asked}\n/bin/sleep 0.3\nexec /bin/echo "pe_name $2"'
    program(tmp_path / "bin", "qconf", f'[ "$1" = -sp ] || {{ {shown}; exit; }}\n{slow}')
    with pytest.raises(DataError, match=r"qconf -sp: no answer within 4 s for [0-9]+ of 40 environments"):  # this host is none of the cell
        found({"PATH": path}, timeout_s=4.0)
    assert len(asked.read_text().splitlines()) <= 4 / 0.3 + 1


@pytest.mark.parametrize("variable", ["LMOD_CMD", "MODULES_CMD"])
def test_modules_are_asked_for_through_the_program_that_a_variable_names(tmp_path: Path, variable: str) -> None:
    """Of Lmod and of Environment Modules; both answer on standard error. A relative name is not followed."""
    path = saying(tmp_path / "bin", lscpu="lscpu-xeon.json")
    lmod = program(tmp_path / "lmod", "lmod", f"/bin/cat {DATA}/module-avail.txt >&2; echo export X=1")
    system = found({"PATH": path, variable: str(lmod)}).system
    assert {one.module for one in system.mpi} == {"mpich/4.2.1", "openmpi/5.0.3"}
    assert found({"PATH": path, variable: "lmod/lmod"}).system.mpi == ()


def test_the_citation_names_no_pattern_of_our_own(tmp_path: Path) -> None:
    """The command as a person would run it."""
    assert [one.citation.split(" (")[0] for one in found({"PATH": saying(tmp_path, lscpu="lscpu-xeon.json")}).system.sources] == [
        "one machine, no scheduler answers",
        "lscpu -J",
        "/proc/meminfo",
    ]


def test_a_probe_without_slurm_is_refused(tmp_path: Path) -> None:
    """The message says what to do instead."""
    with pytest.raises(RequestError, match="run modak on a node instead"):
        found({"PATH": saying(tmp_path, lscpu="lscpu-xeon.json")}, probe=True)


def probed(tmp_path: Path, **changed: str) -> tuple[Sequence[str], list[str]]:
    """The notes of a probe, and what srun was asked for, where scontrol shows the recorded cluster with a text of its own."""
    shown = {kind: (DATA / f"scontrol-{kind}.txt").read_text() for kind in ("config", "node", "partition")} | changed
    for kind, text in shown.items():
        (tmp_path / kind).write_text(text)
    program(tmp_path / "bin", "scontrol", f'exec /bin/cat {tmp_path}/"$2"')
    program(tmp_path / "bin", "srun", f'echo "$*" >> {tmp_path}/asked; exit 1')
    notes = found({"PATH": saying(tmp_path / "bin", lscpu="lscpu-epyc-vm.json")}, probe=True).notes
    return notes, [line for line in (tmp_path / "asked").read_text().splitlines() if "--partition=" in line]


def test_a_probe_names_the_only_quality_of_service(tmp_path: Path) -> None:
    """Slurm rejects jobs that name no other than their user's default one."""
    shown = (DATA / "scontrol-partition.txt").read_text().replace("AllowQos=ALL", "AllowQos=long", 1)
    asked = probed(tmp_path, partition=shown)[1]
    assert ["--qos=long" in line for line in asked if "--partition=main" in line] == [True]


def test_a_probe_starts_no_node_that_is_powered_down(tmp_path: Path) -> None:
    """It would take minutes, and cost money in a cloud: the note says what to do."""
    down = re.sub(r" State=\S+", " State=IDLE+CLOUD+POWERED_DOWN", (DATA / "scontrol-node.txt").read_text())
    notes, asked = probed(tmp_path, node=down)
    assert asked == []
    assert "the probe of partition main: all of its nodes are powered down; start one by a job of your own, and try again" in notes


def test_a_busy_node_has_none_started_in_its_place(tmp_path: Path) -> None:
    """Slurm would take one that is powered down, if no other were free."""
    down = re.sub(r"(NodeName=node2 .*) State=\S+", r"\1 State=IDLE+CLOUD+POWERED_DOWN", (DATA / "scontrol-node.txt").read_text())
    asked = probed(tmp_path, node=down)[1]
    assert {("--partition=main" in line, "--exclude=node2 " in line) for line in asked} == {(True, True), (False, False)}
