"""Tools as processes, and what is kept of what they print."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from modak import processes
from modak.builds import service
from modak.builds.apptainer import Apptainer
from modak.builds.charliecloud import Charliecloud
from modak.builds.log import FIRST, LAST, LONGEST_LINE, Log
from modak.builds.order import of_text
from modak.builds.tools import environment
from modak.builds.verify import place
from modak.builds.worker import builder_lock
from modak.errors import Unavailable
from modak.settings import Settings
from modak.store import open_store
from modak.store.audit import Actor
from modak.text.grammar import UNSOUND
from tests.builds.earlier import put_earlier
from tests.conftest import until


class Stop(Exception):
    """Somebody wants it to stop."""


def run(folder: Path, script: str, **more: Any) -> tuple[int, str]:
    """A shell script; its status and what it printed."""
    told = bytearray()
    values = {"on_output": told.extend, "watch": lambda: None, "begun": lambda group: None, "limit_s": 60.0, **more}
    status = processes.run_tool(["/bin/sh", "-c", script], environment=environment("/bin/sh", folder), folder=folder, **values)
    return status, told.decode()


def test_the_place_of_a_run_names_no_other_runtimes_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Singularity's version says nothing about Charliecloud."""
    (tmp_path / "singularity").write_text("#!/bin/sh\necho singularity version 3.8.7\n")
    (tmp_path / "singularity").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert ("3.8.7" in place(Apptainer()), "3.8.7" in place(Charliecloud())) == (True, False)


def test_both_streams_and_the_status_come_through(tmp_path: Path) -> None:
    """In the order in which they were written."""
    assert run(tmp_path, "echo a; echo b >&2; echo c; exit 3") == (3, "a\nb\nc\n")


def test_a_stop_ends_every_process_of_the_group(tmp_path: Path) -> None:
    """Also those in the background that pay no heed to being asked."""
    groups: list[processes.Process] = []

    def watch() -> None:
        if (tmp_path / "ready").exists():
            raise Stop

    with pytest.raises(Stop):
        run(tmp_path, "(trap '' TERM; touch ready; sleep 600) & sleep 600", watch=watch, begun=groups.append)
    assert processes.members(groups[0].pid) == []
    assert not groups[0].alive


def test_what_a_tool_leaves_in_the_background_ends_with_it(tmp_path: Path) -> None:
    """Though it holds on to the output."""
    groups: list[processes.Process] = []
    assert run(tmp_path, "sleep 600 & echo done", begun=groups.append)[1] == "done\n"
    assert processes.members(groups[0].pid) == []


def test_a_tool_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    """By the limit."""
    with pytest.raises(TimeoutError, match=r"no end within 0\.1 s"):
        run(tmp_path, "sleep 600", limit_s=0.1)


def test_a_process_is_not_mistaken_for_a_later_one() -> None:
    """The same number, started at another time."""
    here = processes.this()
    assert here.alive
    assert not processes.Process(here.pid, here.started + 1).alive


def test_a_process_that_has_ended_is_in_no_group_though_its_parent_does_not_know_yet() -> None:
    """It cannot be ended once more, and would be waited for."""
    with subprocess.Popen(["true"], start_new_session=True) as ended:
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        assert processes.members(ended.pid) == []


def test_a_process_whose_name_is_no_text_is_in_nobodys_way(tmp_path: Path) -> None:
    """The system keeps 15 bytes of a name, and may cut one off within a letter: on a machine with such a process no build would end."""
    program = tmp_path / "simulations-prüfen"
    program.symlink_to("/bin/sleep")
    with subprocess.Popen([program, "600"], start_new_session=True) as other:
        try:
            name = Path(f"/proc/{other.pid}/comm")  # is that of Python at first: a program gets its own a moment after it has begun
            until(lambda: name.read_bytes() == "simulations-prü".encode()[:-1] + b"\n")
            assert processes.members(other.pid) == [other.pid]
            assert run(tmp_path, "exit 3") == (3, "")
        finally:
            other.kill()


def test_tools_see_no_secret_and_no_setting_of_pips(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proxies and their own settings they do see; a home they have in any case, Charliecloud's cache is off unless somebody wants it."""
    for name in ("MODAK_TOKEN", "PIP_INDEX_URL", "PYTHONPATH", "LD_PRELOAD", "AWS_SECRET_ACCESS_KEY", "https_proxy", "CH_IMAGE_STORAGE"):
        monkeypatch.setenv(name, "x")
    monkeypatch.delenv("HOME")
    found = environment("/opt/tool/bin/tool", tmp_path, [("TMPDIR", "here")])
    assert {name for name, value in found.items() if value == "x"} == {"https_proxy", "CH_IMAGE_STORAGE"}
    assert found["PATH"].startswith("/opt/tool/bin:")
    assert (found["HOME"], found["CH_IMAGE_CACHE"], found["TMPDIR"]) == (str(tmp_path), "disabled", "here")


@given(st.lists(st.binary(max_size=3000), max_size=30))
@example(["\x1b]0;mine\x07\x1b[2J\u202egpj\u2066x\u200f\x9b2J\n".encode()])
def test_a_log_is_bounded_and_printable(pieces: list[bytes]) -> None:
    """Whatever a tool prints."""
    log = Log()
    for piece in pieces:
        log.feed(piece * 40)
    text = log.text()
    assert len(text) <= FIRST + LAST + 3 * LONGEST_LINE
    assert not UNSOUND.search(text)


def test_a_last_line_without_a_line_feed_is_kept() -> None:
    """A tool that dies often says why without ending the line."""
    log = Log()
    assert (log.feed(b"FATAL: no room"), log.end(), log.text(), log.end()) == ([], ["FATAL: no room"], "FATAL: no room\n", [])


def test_each_state_of_a_bar_of_progress_is_a_line() -> None:
    """They end with a carriage return; empty lines are left out."""
    assert Log().feed(b"10% \r20%\r\n \n") == ["10%", "20%"]


def test_a_line_without_an_end_is_cut() -> None:
    """A bar of progress may never end its line."""
    log = Log()
    assert (log.feed(b"x" * LONGEST_LINE), log.feed(b"x")) == ([], ["x" * LONGEST_LINE])


def test_a_log_keeps_the_beginning_and_the_end() -> None:
    """As many lines as there is room for, in their order, and the number of those between; a short one at the end stays there."""
    log, lines = Log(), ["begin", *(f"{number:063}" for number in range(4000)), "end"]
    for line in lines:
        log.feed(f"{line}\n".encode())
    first, last = 1 + (FIRST - len("begin\n")) // 64, (LAST - len("end\n")) // 64 + 1
    left_out = f"… {len(lines) - first - last} lines are left out here …"
    assert log.text().splitlines() == [*lines[:first], left_out, *lines[-last:]]


@pytest.mark.parametrize(
    ("builder", "line", "step", "fault"),
    [
        (Apptainer(), "+ pip3 install torch", "%post: pip3 install torch", None),
        (Apptainer(), "INFO:    Running post scriptlet", "%post", None),
        (Apptainer(), "INFO:    Creating SIF file...", "Creating SIF file...", None),
        (Apptainer(), "FATAL:   While performing build: no such image", None, "While performing build: no such image"),
        (Charliecloud(), "  3. RUN.F pip3 install torch", "3. RUN.F pip3 install torch", None),
        (Charliecloud(), "  1* FROM debian:12", "1. FROM debian:12", None),
        (Charliecloud(), "error: build failed: RUN command exited with 7", None, "build failed: RUN command exited with 7"),
        (Charliecloud(), "Get:1 http://deb.debian.org bookworm", None, None),
    ],
)
def test_steps_and_faults_are_read_from_what_tools_print(
    builder: Apptainer | Charliecloud, line: str, step: str | None, fault: str | None
) -> None:
    """As Apptainer 1.4 and Charliecloud 0.31 print them."""
    assert (builder.step(line), builder.fault(line)) == (step, fault)


def test_a_builder_ends_at_once_where_another_one_is_at_work(tmp_path: Path) -> None:
    """The lock goes with its process."""
    take = "with builder_lock(Path(sys.argv[1])) as lock: print(lock is not None, flush=True); sys.stdin.read()"
    hold = f"import sys; from pathlib import Path; from modak.builds.worker import builder_lock\n{take}"
    words = [sys.executable, "-c", hold, str(tmp_path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ}) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "True\n"
        second = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        first.kill()
    third = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert (second.stdout, third.stdout) == ("False\n", "True\n")


def test_nothing_is_ordered_into_a_folder_whose_files_cannot_be_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Lustre, mounted without flock: no builder would ever start. No file system at hand refuses locks, so the call does."""

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(fcntl, "flock", refuse)
    url = f"sqlite:///{tmp_path}/modak.db"
    order = of_text("FROM busybox\nLABEL modak.framework=openmpi\n", "charliecloud", "test", tmp_path)
    with open_store(url, fill=False) as store:
        building = service.BuildService(store, Settings(database_url=url, images_dir=str(tmp_path / "images")))
        with pytest.raises(Unavailable, match=r"MODAK_IMAGES_DIR: .*/images/builder\.log cannot be locked: Function not implemented"):
            building.ask(order, Actor("test"))
        assert store.builds.newest() == ()
    with pytest.raises(Unavailable, match=r"\.builder cannot be locked"), builder_lock(tmp_path / "images"):
        pass


@pytest.mark.parametrize("installed", [True, False])
def test_who_looks_at_a_build_starts_no_builder_without_its_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: bool) -> None:
    """It would fail a build that the service, with a PATH of its own, can make."""
    (tmp_path / "bin").mkdir()
    if installed:
        (tmp_path / "bin/apptainer").write_text(f"#!/bin/sh\nuntil test -e {tmp_path}/seen; do /bin/sleep 0.05; done\nexit 1\n")
        (tmp_path / "bin/apptainer").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    images = tmp_path / "images"
    url = f"sqlite:///{tmp_path}/modak.db"
    with open_store(url, fill=False) as store:
        order = of_text("Bootstrap: docker\nFrom: busybox\n\n%labels\n  modak.framework openmpi\n", "apptainer", "test", tmp_path)
        store.builds.ask(order.key, order.as_json(), Actor("test"))
        put_earlier(store.builds, service.PATIENCE)
        service.BuildService(store, Settings(database_url=url, images_dir=str(images))).builds()
        with builder_lock(images) as lock:
            (tmp_path / "seen").touch()
        assert (lock is None) == installed
        until(lambda: not (installed and store.builds.newest(1)[0].living))


def test_a_build_without_its_tool_keeps_no_other_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who looks starts a builder for the builds whose tool is there; the older one without is left in the queue."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/apptainer").symlink_to("/bin/false")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    url = f"sqlite:///{tmp_path}/modak.db"
    texts = {
        "charliecloud": "FROM busybox\nLABEL modak.framework=openmpi\n",
        "apptainer": "Bootstrap: docker\nFrom: busybox\n\n%labels\n  modak.framework openmpi\n",
    }
    with open_store(url, fill=False) as store:
        for runtime, text in texts.items():
            order = of_text(text, runtime, "test", tmp_path)
            store.builds.ask(order.key, order.as_json(), Actor("test"))
        put_earlier(store.builds, service.PATIENCE)
        building = service.BuildService(store, Settings(database_url=url, images_dir=str(tmp_path / "images")))
        building.builds()
        until(lambda: {build.order["runtime"]: build.state for build in store.builds.newest()}["apptainer"] == "failed")
        until(lambda: _unlocked(tmp_path / "images"))
        assert {build.order["runtime"]: build.state for build in store.builds.newest()}["charliecloud"] == "queued"


def test_a_builder_that_has_all_tools_builds_whatever_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who looks at one build starts it; what is ordered meanwhile for another runtime finds it at work, and starts none."""
    (tmp_path / "bin").mkdir()
    for tool in ("apptainer", "ch-image", "ch-convert", "ch-run"):
        (tmp_path / "bin" / tool).symlink_to("/bin/false")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    url = f"sqlite:///{tmp_path}/modak.db"
    with open_store(url, fill=False) as store:
        first = of_text("Bootstrap: docker\nFrom: busybox\n\n%labels\n  modak.framework openmpi\n", "apptainer", "test", tmp_path)
        other = of_text("FROM busybox\nLABEL modak.framework=openmpi\n", "charliecloud", "test", tmp_path)
        seen = store.builds.ask(first.key, first.as_json(), Actor("test"))
        store.builds.ask(other.key, other.as_json(), Actor("test"))
        put_earlier(store.builds, service.PATIENCE)
        service.BuildService(store, Settings(database_url=url, images_dir=str(tmp_path / "images"))).state(seen.id)
        until(lambda: _unlocked(tmp_path / "images"))
        assert {build.order["runtime"]: build.state for build in store.builds.newest()} == {"apptainer": "failed", "charliecloud": "failed"}


def _unlocked(folder: Path) -> bool:
    with builder_lock(folder) as lock:
        return lock is not None
