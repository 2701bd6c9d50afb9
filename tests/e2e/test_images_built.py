"""Images built for real by Apptainer and Charliecloud, and everything that goes wrong on the way."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import signal
import subprocess
import tarfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from modak import processes
from modak.builds import worker
from modak.builds.order import Order, Site, of_text
from modak.builds.service import BuildService
from modak.errors import Conflict, DataError
from modak.facts import Image, ImageLabels
from modak.images.probe import probe
from modak.images.selection import catalogue, choose
from modak.images.suitability import Wanted
from modak.images.verification import read_probe
from modak.jobs.spec import Attributes, BuildSpec, Container, JobSpec, Resources
from modak.script.build import render_build
from modak.settings import Settings
from modak.store import open_store
from modak.store.audit import Actor
from tests.conftest import tool, until
from tests.e2e.registry import registry
from tests.e2e.slurm import Slurm

TESTER = Actor("tester")
LABELS = "modak.framework=mpi modak.version=1.0"


@pytest.fixture(scope="session", autouse=True)
def tools(scratch: Path, apptainer: Path, busybox: Path) -> Iterator[None]:
    """Both builders on PATH, storage of our own, and busybox as a base image of both."""
    before = dict(os.environ)
    os.environ["PATH"] = f"{apptainer.parent}:{os.environ['PATH']}"
    os.environ["CH_IMAGE_STORAGE"] = str(scratch / "ch-image")
    os.environ["CH_IMAGE_CACHE"] = "disabled"
    os.environ["USER"] = "root"
    importer = tool("Charliecloud", "ch-image")
    subprocess.run(
        [importer, "import", busybox, "busybox:1"],
        check=True,
        capture_output=True,
        env={**os.environ, "PATH": "/usr/bin:/bin"},
    )
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture
def building(tmp_path: Path) -> Iterator[BuildService]:
    """An empty database and an empty folder of images."""
    yield from desk_in(tmp_path / "here")


def desk_in(folder: Path) -> Iterator[BuildService]:
    """A site of its own."""
    folder.mkdir()
    url = f"sqlite:///{folder}/modak.db"
    with open_store(url, fill=False) as store:
        yield BuildService(store, Settings(database_url=url, images_dir=str(folder / "images"), build_hours=0.05))


def definition(base: Path, post: str = "echo made >/opt/made", labels: str = LABELS) -> str:
    """A definition file."""
    said = "\n".join(f"    {each.replace('=', ' ')}" for each in labels.split())
    return f"Bootstrap: localimage\nFrom: {base}\n\n%post\n    {post}\n\n%labels\n{said}\n"


def dockerfile(run: str = "echo made >/opt/made", labels: str = LABELS, base: str = "busybox:1") -> str:
    """A Dockerfile."""
    return f"FROM {base}\nENV GREETING=hello\nRUN {run}\nLABEL {labels}\n"


def order(text: str, folder: Path, name: str = "small", **more: Any) -> Order:
    """An order for a recipe of one's own."""
    runtime = "apptainer" if text.startswith("Bootstrap") else "charliecloud"
    return of_text(text, runtime, name, folder, **more)


def built(building: BuildService, wanted: Order) -> dict[str, Any]:
    """The order, carried out by this process: the state at its end."""
    build = building.store.builds.ask(wanted.key, wanted.as_json(), TESTER)
    worker.work(building.store.builds, building.folder, 180)
    return building.state(build.id)


def left(building: BuildService) -> list[str]:
    """What lies in the folder of images, but for the builder's own lock and log."""
    return sorted(each.name for each in building.folder.iterdir() if each.name not in (".builder", "builder.log"))


def test_a_definition_becomes_a_file_and_an_entry(building: BuildService, busybox: Path, tmp_path: Path) -> None:
    """Run and hashed; nothing else is left in the folder. Nobody knows how to ask an image for its ``mpi``, so that is not verified."""
    told = built(building, order(definition(busybox), tmp_path))
    assert (told["state"], left(building)) == ("done", ["small.sif"]), told
    (entry,) = building.store.snapshot().images
    assert entry.reference == str(building.folder / "small.sif")
    assert entry.digest == f"sha256:{hashlib.sha256(Path(entry.reference).read_bytes()).hexdigest()}"
    assert (entry.verified_on, entry.findings[0]) == (None, "framework: claimed mpi, nothing seen: unknown")


def test_a_dockerfile_becomes_a_squashfs_file_a_directory_and_an_archive(building: BuildService, tmp_path: Path) -> None:
    """All three hold what was made, and the first one runs with the image's own variables."""
    told = built(building, order(dockerfile(), tmp_path, also=("directory", "tar")))
    assert (told["state"], left(building)) == ("done", ["small", "small.sqfs", "small.tar.gz"]), told
    assert (building.folder / "small/opt/made").read_text() == "made\n"
    with tarfile.open(building.folder / "small.tar.gz") as archive:
        assert any(name.endswith("opt/made") for name in archive.getnames())
    shell = ("/bin/sh", "-c", "echo $GREETING $(cat /opt/made)")
    command: list[str | Path] = ["ch-run", "--unset-env=*", "--set-env", building.folder / "small.sqfs", "--", *shell]
    assert subprocess.run(command, capture_output=True, text=True).stdout == "hello made\n"


@pytest.fixture(scope="module")
def base_in_registry(scratch: Path) -> Iterator[str]:
    """The name of an image in a registry that both builders believe; the only place that has it."""
    words: list[str | Path] = [tool("Charliecloud", "ch-image"), "build", "-t", "pushed:1", "-f", "-", scratch]
    plain = {**os.environ, "PATH": "/usr/bin:/bin"}
    subprocess.run(words, input=b"FROM busybox:1\nRUN echo pulled >/opt/base\n", check=True, capture_output=True, env=plain)
    with registry(scratch / "registry") as running, pytest.MonkeyPatch.context() as here:
        here.setenv("APPTAINER_CACHEDIR", str(scratch / "apptainer-cache"))
        for name, value in running.trusted.items():
            here.setenv(name, value)
        yield running.push("pushed:1")


@pytest.mark.parametrize("kind", ["apptainer", "charliecloud"])
def test_a_base_image_is_pulled_from_a_registry(building: BuildService, base_in_registry: str, tmp_path: Path, kind: str) -> None:
    """Over HTTPS, with the certificate that the caller's variables name; what is built has what the base has."""
    text = dockerfile('test "$(cat /opt/base)" = pulled', base=base_in_registry)
    if kind == "apptainer":
        text = definition(Path(base_in_registry), 'test "$(cat /opt/base)" = pulled').replace("localimage", "docker")
    told = built(building, order(text, tmp_path))
    assert told["state"] == "done", (told, building.log(told["id"]))


@pytest.mark.parametrize("kind", ["apptainer", "charliecloud"])
def test_a_missing_base_image(building: BuildService, tmp_path: Path, kind: str) -> None:
    """The message says what was looked for; nothing is left."""
    text = definition(tmp_path / "nowhere") if kind == "apptainer" else dockerfile(base="127.0.0.1:9/nowhere:1")
    told = built(building, order(text, tmp_path))
    assert (told["state"], left(building)) == ("failed", [])
    assert "\n" not in told["message"]
    assert "nowhere" in told["message"] + building.log(told["id"])


@pytest.mark.parametrize("kind", ["apptainer", "charliecloud"])
def test_a_failing_step_is_named(building: BuildService, busybox: Path, tmp_path: Path, kind: str) -> None:
    """With the log kept, and what was there under that name left alone."""
    text = definition(busybox, "echo so far\n    false; sh -c 'exit 7'") if kind == "apptainer" else dockerfile("echo so far; exit 7")
    building.folder.mkdir(parents=True)
    name = f"small.{'sif' if kind == 'apptainer' else 'sqfs'}"
    (building.folder / name).write_text("the one before")
    told = built(building, order(text, tmp_path))
    assert told["state"] == "failed"
    step = "%post: false" if kind == "apptainer" else r"RUN\.[FS] echo so far; exit 7"  # as the release fakes root: by fakeroot, by seccomp
    assert re.search(step, told["message"]), told
    assert "so far" in building.log(told["id"])
    assert (left(building), (building.folder / name).read_text()) == ([name], "the one before")
    assert building.store.snapshot().images == ()


def test_a_recipe_has_temporary_folders_of_its_own(building: BuildService, busybox: Path, tmp_path: Path) -> None:
    """Apptainer would give it the host's: it would see what others have there, and a failed build would leave its own."""
    told = built(
        building, order(definition(busybox, f"touch /tmp/{tmp_path.parent.name} /var/tmp/{tmp_path.parent.name}; ls /tmp; false"), tmp_path)
    )
    assert told["state"] == "failed"
    assert [line for line in building.log(told["id"]).splitlines() if "modak-e2e" in line] == []
    assert not any(Path(folder, tmp_path.parent.name).is_file() for folder in ("/tmp", "/var/tmp"))


def test_a_full_disk_is_called_that(building: BuildService, busybox: Path, tmp_path: Path) -> None:
    """A file system of two megabytes; nothing half is left on it."""
    if os.geteuid():
        pytest.skip("mounting a small file system takes root")
    building.folder.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "small", building.folder], check=True)
    try:
        told = built(building, order(definition(busybox, "dd if=/dev/urandom of=/opt/big bs=1M count=8"), tmp_path))
        assert (told["state"], left(building)) == ("failed", [])
        assert "the disk is full" in told["message"], told
        assert "\n" not in told["message"]
    finally:
        subprocess.run(["umount", "-l", building.folder], check=True)


@pytest.mark.parametrize("step", ["import busybox:1", "1. FROM 127.0.0.1:"], ids=["file", "registry"])
def test_a_base_image_of_which_only_a_part_came_is_removed(
    building: BuildService, base_in_registry: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """ch-image keeps what it has copied until the disk is full, and the next build would begin with that."""
    if os.geteuid():
        pytest.skip("mounting a small file system takes root")
    base = tmp_path / "bases/busybox-1"
    (base / "usr").mkdir(parents=True)
    (base / "usr/big").write_bytes(os.urandom(4_000_000))
    (storage := tmp_path / "small").mkdir()
    monkeypatch.setenv("CH_IMAGE_STORAGE", str(storage / "ch-image"))
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "small", storage], check=True)
    try:
        text = dockerfile() if step.startswith("import") else dockerfile(base=base_in_registry)
        told = built(building, order(text, tmp_path, site=Site(bases=str(base.parent)) if step.startswith("import") else None))
        assert (told["state"], step in told["message"]) == ("failed", True), told
        assert [*(storage / "ch-image/img").iterdir()] == []
    finally:
        subprocess.run(["umount", "-l", storage], check=True)


def test_orders_for_one_recipe_are_one_build(building: BuildService, busybox: Path, tmp_path: Path) -> None:
    """Several at once, and one that comes when it is done."""
    wanted = Order(**{**order(definition(busybox), tmp_path).as_json(), "context": "", "bases": (), "also": ()})
    with ThreadPoolExecutor(6) as pool:
        states = list(pool.map(lambda _: building.ask(wanted, TESTER), range(6)))
    assert len({each["id"] for each in states}) == 1
    until(lambda: building.state(states[0]["id"])["state"] == "done")
    later = building.ask(wanted, TESTER)
    assert (later["id"], later["state"]) == (states[0]["id"], "done")
    assert building.ask(wanted, TESTER, again=True)["id"] != later["id"]
    until(lambda: not building.store.builds.newest(1, states=("queued", "running")))


def sleeping(building: BuildService, wanted: Order) -> tuple[str, dict[str, Any]]:
    """A build that a builder of its own has begun and that sleeps; the builder's and its tool's processes."""
    told = building.ask(wanted, TESTER)
    until(lambda: "sleep 60" in building.store.builds.get(told["id"]).step)
    return told["id"], dict(building.store.builds.get(told["id"]).builder)


def asleep(seconds: str) -> list[str]:
    """Processes in a session of their own that sleep so long."""
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            session = (each / "stat").read_bytes().rpartition(b")")[2].split()[3]
            if session == each.name.encode() and (each / "cmdline").read_bytes() == f"sleep\0{seconds}\0".encode():
                found.append(each.name)
    return found


@pytest.mark.parametrize("kind", ["apptainer", "charliecloud"])
def test_a_cancelled_build_leaves_no_process(building: BuildService, busybox: Path, tmp_path: Path, kind: str) -> None:
    """And no file, also where a step began a session of its own; a second cancel is refused."""
    seconds = f"60.{os.getpid()}"  # as nobody else here sleeps
    step = f"setsid sleep {seconds}; true"
    build_id, builder = sleeping(building, order(definition(busybox, step) if kind == "apptainer" else dockerfile(step), tmp_path))
    until(lambda: len(asleep(seconds)) == 1)
    building.cancel(build_id, TESTER)
    until(lambda: building.state(build_id)["state"] == "cancelled")
    assert processes.members(builder["group"]["pid"]) == []
    assert asleep(seconds) == []
    until(lambda: left(building) == [])
    with pytest.raises(Conflict, match="cancelled already"):
        building.cancel(build_id, TESTER)


def recovered(building: BuildService) -> bool:
    """Recover as the next builder does; not yet, while the last thread of the dead one is ending and its lock with it."""
    with worker.builder_lock(building.folder) as lock:
        if lock is not None:
            worker.recover(building.store.builds, building.folder)
        return lock is not None


def test_a_killed_builder_is_recovered(building: BuildService, busybox: Path, tmp_path: Path) -> None:
    """The next builder ends what the dead one had started, clears its folder away, and the build waits again."""
    build_id, builder = sleeping(building, order(definition(busybox, "sleep 60"), tmp_path))
    os.kill(builder["process"]["pid"], signal.SIGKILL)
    until(lambda: not processes.Process(**builder["process"]).alive)
    assert (left(building), bool(processes.members(builder["group"]["pid"]))) == ([f".build-{build_id}-1"], True)
    until(lambda: recovered(building))
    assert processes.members(builder["group"]["pid"]) == []
    assert (building.store.builds.get(build_id).state, left(building)) == ("queued", [])
    assert building.cancel(build_id, TESTER)["state"] == "cancelled"


def test_a_base_image_that_a_killed_builder_was_pulling_is_removed(
    building: BuildService, busybox: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The build begins again, and would take the part that came for the whole."""
    monkeypatch.setenv("CH_IMAGE_STORAGE", str(tmp_path / "ch-image"))
    wanted = order(dockerfile(base="busybox:2"), tmp_path)
    with subprocess.Popen(["true"]) as ended:
        builder = {"host": platform.node(), "process": {**asdict(processes.this()), "pid": ended.pid}}
    building.store.builds.ask(wanted.key, wanted.as_json(), TESTER)
    build = building.store.builds.claim(builder)
    assert build is not None
    building.store.builds.beat(build, step="1. FROM busybox:2", log="")
    (building.folder / f".build-{build.id}-1").mkdir(parents=True)
    words: list[str | Path] = [tool("Charliecloud", "ch-image"), "import", busybox, "busybox:2"]
    subprocess.run(words, check=True, capture_output=True, env={**os.environ, "PATH": "/usr/bin:/bin", "CH_IMAGE_CACHE": "disabled"})
    assert recovered(building)
    assert [*(tmp_path / "ch-image/img").iterdir()] == []


@pytest.mark.parametrize("kind", ["apptainer", "charliecloud"])
def test_a_builder_that_is_asked_to_end_puts_its_build_back(building: BuildService, busybox: Path, tmp_path: Path, kind: str) -> None:
    """Without a mark against the build, and with nothing left in ch-image's storage."""
    text = definition(busybox, "sleep 60") if kind == "apptainer" else dockerfile("sleep 60")
    build_id, builder = sleeping(building, order(text, tmp_path))
    os.kill(builder["process"]["pid"], signal.SIGTERM)
    until(lambda: building.store.builds.get(build_id).state == "queued")
    assert building.store.builds.get(build_id).attempts == 0
    until(lambda: left(building) == [])
    assert not Path(os.environ["CH_IMAGE_STORAGE"], "img", f"build{build_id}1").exists()
    building.cancel(build_id, TESTER)


def test_a_build_that_does_not_carry_what_its_recipe_says_fails(building: BuildService, busybox: Path, tmp_path: Path) -> None:
    """It has no MPI: it gets neither its name nor an entry."""
    told = built(building, order(definition(busybox, labels=f"{LABELS} modak.mpi=openmpi"), tmp_path))
    assert (told["state"], left(building)) == ("failed", [])
    assert told["message"].endswith("mpi: claimed openmpi, seen none: refuted"), told


def test_an_image_whose_label_is_refuted_is_never_chosen_again(building: BuildService, busybox: Path, tmp_path: Path) -> None:
    """It says so with date and machine."""
    told = built(building, order(definition(busybox), tmp_path))
    labels = ImageLabels(framework="pytorch", version="2.13.0", source="pip", mpi="openmpi")
    building.store.add([Image(reference=told["image"], labels=labels, source="a claim")], Actor("tester"), replace=True)
    wanted = Wanted(framework="pytorch", runtime="apptainer")
    assert choose(catalogue(building.store.snapshot().images), wanted).image is not None
    before = datetime.now(UTC).date()
    shown = building.verify("small.sif", TESTER)
    days = {day.isoformat() for day in (before, datetime.now(UTC).date())}
    assert shown["refuted"]
    assert {finding["label"]: finding["verdict"] for finding in shown["findings"]}["mpi"] == "refuted"
    (entry,) = building.store.snapshot().images
    assert (entry.verified_on, entry.refuted[0].split()[0] in days) == (None, True)
    assert choose(catalogue([entry]), wanted).image is None


def test_the_wrapper_of_an_mpi_library_is_tried() -> None:
    """With this machine's own: what it compiles runs, and asks the library for its version."""
    compiler = tool("Open MPI", "mpicc.openmpi")
    words = ["/bin/sh", "-c", f'mpicc() {{ {compiler} "$@"; }}\n{probe({"framework": "openmpi"})}']
    ran = subprocess.run(words, capture_output=True, text=True, timeout=400)  # it looks for libraries on the whole machine
    found = read_probe(ran.stdout)
    assert (found.checks["exercise"].status, "openmpi" in found.mpi) == (0, True), found


def test_a_bundle_carries_an_image_to_another_site(building: BuildService, busybox: Path, tmp_path: Path) -> None:
    """With its recipe; it runs there, and its entry names the file there."""
    text = definition(busybox)
    built(building, order(text, tmp_path))
    building.bundle("small.sif", tmp_path / "small.tar")
    with tarfile.open(tmp_path / "small.tar") as archive:
        assert archive.extractfile("recipe").read().decode() == text  # type: ignore[union-attr]
    for there in desk_in(tmp_path / "there"):
        entry = there.unbundle(tmp_path / "small.tar")
        assert entry.reference == str(there.folder / "small.sif")
        assert [finding["verdict"] for finding in there.verify("small.sif", TESTER)["findings"] if finding["label"] == "digest"] == [
            "holds"
        ]
        assert there.unbundle(tmp_path / "small.tar", replace_old=True).reference == entry.reference


def test_a_wrong_digest_is_seen(building: BuildService, busybox: Path, tmp_path: Path) -> None:
    """A file that was changed is refuted and not bundled; a bundle that was damaged is not taken in."""
    told = built(building, order(definition(busybox), tmp_path))
    building.bundle("small.sif", tmp_path / "small.tar")
    whole = bytearray((tmp_path / "small.tar").read_bytes())
    whole[len(whole) // 2] ^= 1
    (tmp_path / "damaged.tar").write_bytes(whole)
    for there in desk_in(tmp_path / "there"):
        with pytest.raises(DataError, match=r"damaged|instead of|is missing"):
            there.unbundle(tmp_path / "damaged.tar")
        assert (left(there), there.store.snapshot().images) == ([], ())
    with Path(told["image"]).open("ab") as image:
        image.write(b"\0" * 4096)
    with pytest.raises(Conflict, match="is not the file in the catalogue"):
        building.bundle("small.sif", tmp_path / "again.tar")
    assert building.verify("small.sif", TESTER)["refuted"]


@pytest.mark.parametrize("kind", ["apptainer", "charliecloud"])
def test_a_build_job_makes_the_image_where_jobs_look_for_it(slurm: Slurm, busybox: Path, tmp_path: Path, kind: str) -> None:
    """The same build as a job of the cluster; what it makes runs."""
    file = "small.sif" if kind == "apptainer" else "small.sqfs"
    text = definition(busybox) if kind == "apptainer" else dockerfile()
    container = Container(runtime=kind, reference=file, file=file, to_build=True)
    job = JobSpec(("true",), Resources(), Attributes(name="small", partition="gpu"), container=container)
    (tmp_path / "build.sh").write_text(render_build(job, BuildSpec(definition=text), "slurm").text)
    done = slurm.knowing(CH_IMAGE_STORAGE=os.environ["CH_IMAGE_STORAGE"], CH_IMAGE_CACHE="disabled").submit(tmp_path / "build.sh", tmp_path)
    assert (done.state, sorted(each.name for each in tmp_path.glob("small*"))) == ("COMPLETED", [file]), done
    words: list[str | Path] = ["apptainer", "exec", tmp_path / file] if kind == "apptainer" else ["ch-run", tmp_path / file, "--"]
    assert subprocess.run([*words, "cat", "/opt/made"], capture_output=True, text=True).stdout == "made\n"


def test_a_build_job_replaces_a_directory_by_one_that_is_whole(tmp_path: Path) -> None:
    """Whatever was there, half an image as well, stays beside it under another name."""
    (tmp_path / "small/bin").mkdir(parents=True)
    container = Container(runtime="charliecloud", reference="small", file="small", to_build=True)
    job = JobSpec(("true",), Resources(), Attributes(name="small"), container=container)
    (tmp_path / "build.sh").write_text(render_build(job, BuildSpec(definition=dockerfile()), "shell").text)
    environment = {**os.environ, "PATH": f"{Path(tool('Charliecloud', 'ch-convert')).parent}:/usr/bin:/bin"}
    done = subprocess.run(["bash", "build.sh"], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (done.returncode, sorted(each.name for each in tmp_path.glob("small*"))) == (0, ["small", "small.~1~"]), done
    assert ((tmp_path / "small/opt/made").read_text(), [*(tmp_path / "small.~1~").iterdir()]) == ("made\n", [tmp_path / "small.~1~/bin"])
