"""Builds in the database: joined, claimed, taken back."""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from threading import Timer
from typing import Any

import pytest
from sqlalchemy import event, select

from modak.builds import worker
from modak.builds.order import Order, of_text
from modak.builds.service import BuildService
from modak.builds.worker import BuildRun, Stopped
from modak.errors import Conflict, NotFound, Unavailable
from modak.facts import Image, ImageLabels
from modak.settings import Settings
from modak.store import open_store
from modak.store.audit import Actor
from modak.store.builds import KEPT, MOST_ATTEMPTS, Builds, StoredBuild
from modak.store.engine import reading
from modak.store.schema import images
from tests.builds.earlier import put_earlier
from tests.store.tables import opened

ADA = Actor("ada")
ORDER = {"name": "x", "runtime": "apptainer"}
BUILDER = {"host": "here", "process": {"pid": 1, "started": 2}}
IMAGE = Image(reference="/mine.sif", labels=ImageLabels(framework="pytorch", version="2.13.0", source="pip"), source="a test")


@pytest.fixture(params=["sqlite", "postgresql"])
def builds(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Builds]:
    """An empty database."""
    url = f"sqlite:///{tmp_path}/a.db" if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    with opened(url) as store:
        yield store.builds


def claim(builds: Builds) -> StoredBuild:
    """The build that has waited longest, claimed."""
    claimed = builds.claim(BUILDER)
    assert claimed is not None
    return claimed


def test_orders_with_one_key_are_one_build(builds: Builds) -> None:
    """Also those that come at once; another key is another build."""
    with ThreadPoolExecutor(4) as pool:
        asked = list(pool.map(lambda _: builds.ask("a", ORDER, ADA).id, range(8)))
    assert len(set(asked)) == 1
    assert builds.ask("b", ORDER, ADA).id != asked[0]


def test_a_build_has_one_builder(builds: Builds) -> None:
    """The oldest first, and each once, however many builders come."""
    first = [builds.ask(key, ORDER, ADA).id for key in "abcd"]
    with ThreadPoolExecutor(4) as pool:
        claimed = list(pool.map(lambda _: builds.claim(BUILDER), range(6)))
    assert sorted(build.id for build in claimed if build) == sorted(first)
    assert claimed.count(None) == 2


def test_a_finished_build_is_not_joined(builds: Builds) -> None:
    """It keeps its log, its message and its result."""
    before = builds.ask("a", ORDER, ADA)
    claimed = claim(builds)
    assert builds.beat(claimed, step="install", log="so far\n") is False
    builds.finish(claimed, "failed", message="why", log="all\n", result={"files": []})
    found = builds.get(before.id)
    assert (found.state, found.step, found.message, found.log, found.result, found.living) == (
        "failed",
        "install",
        "why",
        "all\n",
        {"files": []},
        False,
    )
    assert builds.ask("a", ORDER, ADA).id != before.id


def test_cancelling(builds: Builds) -> None:
    """One that waits is gone at once, one that runs is told at its next beat; nobody joins it any more."""
    waiting = builds.ask("a", ORDER, ADA)
    assert builds.cancel(waiting.id, ADA).state == "cancelled"
    running = builds.ask("b", ORDER, ADA)
    claimed = claim(builds)
    assert builds.cancel(running.id, ADA).state == "running"
    assert builds.beat(claimed, step="", log="") is True
    assert builds.ask("b", ORDER, ADA).id != running.id
    with pytest.raises(Conflict, match="cancelled already"):
        builds.cancel(waiting.id, ADA)


def test_a_build_whose_builders_die_is_given_up(builds: Builds) -> None:
    """After some attempts; it names the step that was last seen."""
    build_id = builds.ask("a", ORDER, ADA).id
    for _ in range(MOST_ATTEMPTS):
        assert builds.get(build_id).state == "queued"
        claimed = claim(builds)
        builds.beat(claimed, step="RUN make", log="")
        builds.put_back(claimed)
    assert (builds.get(build_id).state, "RUN make" in builds.get(build_id).message) == ("failed", True)


def test_a_builder_on_another_host_is_dead_when_it_is_silent(builds: Builds, tmp_path: Path) -> None:
    """Its processes cannot be seen from here: a build that is reported on stays its own."""
    number = builds.ask("a", ORDER, ADA).id
    builds.claim(BUILDER | {"host": "elsewhere"})
    worker.recover(builds, tmp_path)
    assert builds.get(number).state == "running"
    put_earlier(builds, worker.SILENT)
    worker.recover(builds, tmp_path)
    assert builds.get(number).state == "queued"


@pytest.mark.parametrize(
    "late",
    [
        lambda builds, mine: builds.beat(mine, step="hash", log="mine\n"),
        lambda builds, mine: builds.works(mine, {"host": "mine"}),
        lambda builds, mine: builds.finish(mine, "done", result={"image": "mine.sif"}, image=IMAGE),
        lambda builds, mine: builds.put_back(mine),
    ],
    ids=["reports", "starts a tool", "finishes", "gives up"],
)
def test_a_builder_whose_build_is_another_ones_changes_nothing(builds: Builds, late: Callable[[Builds, StoredBuild], object]) -> None:
    """It was silent for too long, so that the build was put back; its own next look tells it to stop."""
    builds.ask("a", ORDER, ADA)
    mine = claim(builds)
    builds.put_back(mine)
    others = claim(builds)
    late(builds, mine)
    assert builds.get(mine.id) == others
    assert builds.beat(mine, step="", log="") is True
    with reading(builds.engine) as connection:
        assert connection.execute(select(images)).all() == []


def test_a_builder_that_was_taken_for_dead_leaves_its_successors_folder(
    builds: Builds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hosts that share a database share the folder of images, too: what it removes at its end is its own."""
    monkeypatch.setenv("PATH", str(tmp_path))  # without its tool it ends at once
    order = of_text("FROM busybox\nLABEL modak.framework=openmpi\n", "charliecloud", "test", tmp_path)
    builds.ask(order.key, order.as_json(), ADA)
    mine = claim(builds)
    builds.put_back(mine)
    other = BuildRun(builds, claim(builds), tmp_path, 60)
    other.place.mkdir()
    BuildRun(builds, mine, tmp_path, 60).run()
    assert (other.place.exists(), builds.get(mine.id)) == (True, other.build)


def test_a_builder_that_was_asked_to_go_counts_for_nothing(builds: Builds) -> None:
    """Its build may be put back any number of times; one that was to stop anyway is cancelled."""
    build_id = builds.ask("a", ORDER, ADA).id
    for _ in range(MOST_ATTEMPTS + 1):
        builds.put_back(claim(builds), died=False)
    assert builds.get(build_id).state == "queued"
    claimed = claim(builds)
    builds.cancel(build_id, ADA)
    builds.put_back(claimed)
    assert builds.get(build_id).state == "cancelled"


def test_old_builds_are_forgotten(builds: Builds) -> None:
    """Finished ones, beyond a number."""
    first = builds.ask("first", ORDER, ADA).id
    builds.cancel(first, ADA)
    from sqlalchemy import insert

    from modak.store.engine import writing
    from modak.store.schema import builds as table

    row: dict[str, Any] = {
        "key": "k",
        "state": "done",
        "order": "{}",
        "requested_by": "ada",
        "requested_at": 1 << 60,
        "attempts": 0,
        "cancel": 0,
    }
    texts = {"builder": "", "beat_at": 0, "step": "", "message": "", "log": "", "result": "{}"}
    with writing(builds.engine) as connection:
        connection.execute(insert(table), [{**row, **texts, "id": f"{number:x}"} for number in range(KEPT)])
    builds.ask("next", ORDER, ADA)
    with pytest.raises(NotFound, match="no build"):
        builds.get(first)


@pytest.mark.usefixtures("impatient")
def test_a_build_outlasts_a_database_that_others_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What became of hours of work is told once a long load has ended, and the builder goes on."""
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    order = Order("apptainer", "Bootstrap: docker", "x", {"framework": "pytorch"})
    with open_store(f"sqlite:///{tmp_path}/a.db", fill=False) as store, held(tmp_path / "a.db") as other:
        asked = store.builds.ask(order.key, order.as_json(), ADA)
        claimed = store.builds.claim(BUILDER)
        assert claimed is not None
        other.execute("BEGIN IMMEDIATE")
        Timer(0.5, other.rollback).start()
        BuildRun(store.builds, claimed, tmp_path, limit_s=60).run()
        assert store.builds.get(asked.id).state == "failed"


@pytest.mark.usefixtures("impatient")
def test_a_builder_whose_database_is_away_for_too_long_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It waits once, not a second time to tell that it failed: the build is nobody's failure, and the next builder begins it anew."""
    order = charliecloud_order(tmp_path, monkeypatch)
    with open_store(f"sqlite:///{tmp_path}/a.db", fill=False) as store, held(tmp_path / "a.db") as other:
        store.builds.ask(order.key, order.as_json(), ADA)
        claimed = store.builds.claim(BUILDER)
        assert claimed is not None
        other.execute("BEGIN IMMEDIATE")

        @event.listens_for(store.engine, "handle_error", once=True)  # it has waited, and would be heard from now on
        def _back(*_: Any) -> None:
            other.rollback()

        with pytest.raises(Unavailable):
            BuildRun(store.builds, claimed, tmp_path, limit_s=60, held_s=0).run()
        assert store.builds.get(claimed.id).state == "running"


@pytest.mark.usefixtures("impatient")
def test_a_builder_that_is_to_end_does_not_wait_for_the_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor while it tidies up: whoever comes next finds the build."""
    order = charliecloud_order(tmp_path, monkeypatch, '[ "$1" = delete ] || kill -TERM $PPID\n')
    with open_store(f"sqlite:///{tmp_path}/a.db", fill=False) as store, held(tmp_path / "a.db") as other:
        store.builds.ask(order.key, order.as_json(), ADA)
        claimed = store.builds.claim(BUILDER)
        assert claimed is not None
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Unavailable):
            BuildRun(store.builds, claimed, tmp_path, limit_s=60).run()


@pytest.mark.parametrize(("ours", "state"), [(signal.SIG_IGN, "failed"), (signal.SIG_DFL, "queued")])
def test_a_signal_that_the_caller_ignores_ends_no_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ours: signal.Handlers, state: str
) -> None:
    """As nohup does, so that builds outlast the terminal; the tool's own status counts. Otherwise the build waits for another builder."""
    order = charliecloud_order(tmp_path, monkeypatch, '[ "$1" = delete ] || { kill -HUP $PPID; sleep 1; }\nexit 1\n')
    before = signal.signal(signal.SIGHUP, ours)
    try:
        with open_store(f"sqlite:///{tmp_path}/a.db", fill=False) as store:
            store.builds.ask(order.key, order.as_json(), ADA)
            claimed = store.builds.claim(BUILDER)
            assert claimed is not None
            with suppress(Stopped):
                BuildRun(store.builds, claimed, tmp_path, limit_s=60).run()
            assert (store.builds.get(claimed.id).state, signal.getsignal(signal.SIGHUP)) == (state, ours)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_build_that_is_cancelled_at_its_end_takes_no_earlier_images_place(builds: Builds, tmp_path: Path) -> None:
    """A directory cannot be replaced in one step, so the earlier one is moved away only after the last look."""
    asked, earlier, made = builds.ask("a", ORDER, ADA), tmp_path / "x", tmp_path / ".build" / "image"
    claimed = builds.claim(BUILDER)
    assert claimed is not None
    builds.cancel(asked.id, ADA)
    earlier.mkdir()
    made.mkdir(parents=True)
    with pytest.raises(Stopped):
        BuildRun(builds, claimed, tmp_path, limit_s=60)._settled({made: earlier})
    assert earlier.is_dir()


@pytest.mark.parametrize("said", ["No space left on device", "write /x: no space left on device"])  # libc, Go
def test_a_full_disk_may_be_that_of_the_tools_own_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    """The message of a full disk names the setting for them, since the folder of images may have room."""
    order = charliecloud_order(tmp_path, monkeypatch, f"echo 'error: {said}'; exit 1\n")
    with open_store(f"sqlite:///{tmp_path}/a.db", fill=False) as store:
        store.builds.ask(order.key, order.as_json(), ADA)
        claimed = store.builds.claim(BUILDER)
        assert claimed is not None
        BuildRun(store.builds, claimed, tmp_path, limit_s=60).run()
        assert "the tool's own files: CH_IMAGE_STORAGE" in store.builds.get(claimed.id).message


def charliecloud_order(folder: Path, monkeypatch: pytest.MonkeyPatch, does: str = "") -> Order:
    """An order for Charliecloud, whose commands are scripts that do this."""
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    for name in ("ch-image", "ch-convert", "ch-run"):
        (folder / name).write_text(f"#!/bin/sh\n{does}")
        (folder / name).chmod(0o755)
    return Order("charliecloud", "FROM debian", "x", {"framework": "pytorch"})


def held(file: Path) -> closing[sqlite3.Connection]:
    """Somebody else's connection, which another thread may give back."""
    return closing(sqlite3.connect(file, check_same_thread=False))


def test_an_image_that_is_removed_while_it_is_verified_stays_away(tmp_path: Path) -> None:
    """The findings of a run that took minutes do not bring its entry back."""
    url, file = f"sqlite:///{tmp_path}/a.db", tmp_path / "a.sif"
    labels = ImageLabels(framework="pytorch", version="2.13.0", source="pip")
    image = Image(reference=str(file), digest=f"sha256:{'0' * 64}", labels=labels, source="a test")
    file.write_bytes(b"of another digest: nothing is run")
    with opened(url) as store, open_store(url, fill=False) as other:
        store.add([image], ADA)

        @event.listens_for(store.engine, "checkin", once=True)  # the catalogue was read
        def _remove(*_: Any) -> None:
            other.remove(Image, image.reference, ADA)

        with pytest.raises(Conflict, match="removed while"):
            BuildService(store, Settings(images_dir=str(tmp_path))).verify(image.reference, ADA)
        assert not other.snapshot().images
