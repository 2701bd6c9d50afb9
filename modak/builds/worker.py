"""The builder: one process for each folder of images. It runs the waiting builds one after the other, and ends when none waits.

An image is made in a temporary folder and gets its name after it was run and hashed. So a builder that is killed, a full disk or
a cancelled build leaves nothing that a job could take for an image.
"""

from __future__ import annotations

import fcntl
import os
import platform
import shutil
import signal
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from errno import EDQUOT, EFBIG, ENOSPC
from functools import cached_property
from pathlib import Path
from typing import IO, Any, Final

from modak import processes
from modak.builds import verify
from modak.builds.apptainer import Apptainer
from modak.builds.charliecloud import FURTHER_FORMS, Charliecloud
from modak.builds.log import Log
from modak.builds.order import Order, order_from
from modak.builds.tools import Builder, Command, environment
from modak.errors import ModakError, Unavailable
from modak.facts import Image
from modak.images.verification import judge, measured
from modak.store.builds import Builds, State, StoredBuild
from modak.store.schema import now

BUILDERS: Final[Mapping[str, Builder]] = {each.runtime: each for each in (Apptainer(), Charliecloud())}
LOCK: Final = ".builder"
"""The file that the builders of a folder lock."""
OUTPUT: Final = "builder.log"
"""What a builder that was started for an order prints itself; what its tools print is in the database."""
BEAT_S: Final = 1.0
HELD_S: Final = 3600.0
"""Seconds for which a builder retries a database that is locked or out of reach, before it gives up what it built."""
SILENT: Final = timedelta(seconds=120)
"""A builder on another machine that has not reported for so long counts as dead."""
_FULL: Final = ("no space left on device", "disk quota exceeded", "file too large", "disk is full")
"""What tools say then, without regard to case: programs in Go begin errors with a small letter."""


class Stopped(Exception):
    """The build was cancelled or is another builder's, or the builder was told to stop."""


class Away(Unavailable):
    """The database was out of reach for too long: the build's end cannot be stored, and the next builder begins it again."""


@contextmanager
def builder_lock(folder: Path) -> Iterator[IO[str] | None]:
    """The lock that makes this process the folder's builder; ``None``: another process has it. It is released when the process ends.

    The process that starts a builder takes the lock and passes it on as standard input, so that no second builder is started
    in between. Raises as :func:`check_folder`.
    """
    given = _given(folder)
    lock = given or own_file(folder, LOCK)
    try:
        if not _lock(lock, fcntl.LOCK_EX):
            yield None
        else:
            yield lock
            if given:
                fcntl.flock(lock, fcntl.LOCK_UN)
    finally:
        if not given:
            lock.close()


def check_folder(folder: Path) -> None:
    """Raise :class:`modak.errors.Unavailable` where a builder could not write into the folder, or lock a file in it (on a file system
    without locks, such as Lustre mounted without ``flock``)."""
    own_file(folder, LOCK).close()
    with own_file(folder, OUTPUT) as output:  # not the builders' lock: somebody who starts one could find it taken
        _lock(output, fcntl.LOCK_SH)


def _lock(file: IO[str], kind: int) -> bool:
    """Lock a file; returns whether nobody else had it."""
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise Unavailable(f"{file.name} cannot be locked: {error.strerror}", field="MODAK_IMAGES_DIR") from None
    return True


def own_file(folder: Path, name: str) -> IO[str]:
    """The builders' :data:`LOCK` or :data:`OUTPUT` in a folder. Raises :class:`modak.errors.Unavailable` where it cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return (folder / name).open("a+")
    except OSError as error:
        raise Unavailable(f"{error.filename} cannot be written: {error.strerror}", field="MODAK_IMAGES_DIR") from None


def _given(folder: Path) -> IO[str] | None:
    """Standard input, if it is the lock file, which is locked already; else ``None``."""
    with suppress(OSError, ValueError):
        if sys.stdin is not None and os.path.samestat(os.fstat(sys.stdin.fileno()), (folder / LOCK).stat()):
            return sys.stdin
    return None


def work(builds: Builds, folder: Path, limit_s: float, runtimes: Collection[str] | None = None) -> int:
    """Run the waiting builds, or those for ``runtimes``, until none is left. Returns their number.

    One that is ordered for them while a builder runs is not missed: the builder looks again after it has released the lock.
    """
    done = 0
    while True:
        with builder_lock(folder) as lock:
            if lock is None:
                return done
            recover(builds, folder)
            while (build := builds.claim(_here(), runtimes)) is not None:
                BuildRun(builds, build, folder, limit_s).run()
                done += 1
        if not builds.waits(runtimes):
            return done


def recover(builds: Builds, folder: Path) -> None:
    """Put the builds of dead builders back into the queue; their tools are ended, and what they began to write is removed."""
    for build in builds.newest(1000, states=("running",)):
        if not _gone(build):
            continue
        group = build.builder.get("group")
        if build.builder.get("host") == platform.node():
            if group and processes.Process(**group).alive:
                processes.end(group["pid"])
            _tidy(BUILDERS[order_from(build.order).runtime], _place(folder, build), build.step)
        builds.put_back(build)
    living = {_place(folder, build) for build in builds.newest(1000, states=("running",))}
    for left in folder.glob(".build-*"):
        if left not in living:
            _remove(left)


def _place(folder: Path, build: StoredBuild) -> Path:
    """Where a builder works: each attempt has a folder of its own, as a builder that was taken for dead may be at work in another."""
    return folder / f".build-{build.id}-{build.attempts}"


def _tidy(builder: Builder, place: Path, step: str) -> None:
    """Remove what a build left outside of its folder. Nobody is told of it: one who is to stop does not wait for the database."""
    with suppress(ModakError, OSError):
        for words in builder.tidy(place, step):
            with suppress(ModakError, OSError):
                processes.run_tool(words, environment=environment(words[0], place), folder=place, limit_s=60)


def _here() -> dict[str, Any]:
    return {"host": platform.node(), "process": asdict(processes.this())}


def _gone(build: StoredBuild) -> bool:
    if build.builder.get("host") != platform.node():
        return now() - build.beat_at > SILENT
    return not processes.Process(**build.builder["process"]).alive


@dataclass
class BuildRun:
    """One build, from its order to the image's entry. ``beaten`` and ``begun`` are times of the monotonic clock.

    ``stopping``: a signal asked the builder to end; it does so where nothing is left half-done.
    """

    builds: Builds
    build: StoredBuild
    folder: Path
    limit_s: float
    log: Log = field(default_factory=Log)
    step: str = "prepare"
    fault: str = ""
    beaten: float = 0.0
    begun: float = field(default_factory=time.monotonic)
    held_s: float = HELD_S
    stopping: bool = False

    @cached_property
    def order(self) -> Order:
        """What is built."""
        return order_from(self.build.order)

    @property
    def builder(self) -> Builder:
        """The tool that builds it."""
        return BUILDERS[self.order.runtime]

    @property
    def place(self) -> Path:
        """The build's own folder, in which the image is made."""
        return _place(self.folder, self.build)

    def run(self) -> None:
        """Build, convert, run, hash and name the image, and store its entry. Every outcome is stored, and no partial image is left.

        Raises :class:`Stopped` where a signal asked the builder to end; a build that it interrupted is put back into the queue.
        """
        try:
            with self._hears_signals():
                image, result = self._make()
            self._end("done", result=result, image=image)
        except Away:
            raise
        except Stopped:
            if self.builds.get(self.build.id).cancel:
                self._end("cancelled", message=f"cancelled in the step: {self.step}")
            else:
                self.builds.put_back(self.build, died=False)
        except (ModakError, OSError, TimeoutError) as error:
            self.log.line(f"modak: {error}")
            self._end("failed", message=self._why(error))
        finally:
            _remove(self.place)
        if self.stopping:
            raise Stopped

    def _make(self) -> tuple[Image, dict[str, Any]]:
        self.place.mkdir(parents=True)
        for name in ("context", "tmp"):
            (self.place / name).mkdir()
        (self.place / "recipe").write_text(self.order.text, encoding="utf-8")
        self.builder.programs()  # what is missing is told before the build, which takes long
        made = self.place / f"image{self.builder.ending}"
        try:
            for command in self.builder.commands(self.order, self.place, made):
                self._tool(command)
        finally:
            _tidy(self.builder, self.place, self.step)
        return self._named(made)

    def _tool(self, command: Command) -> None:
        """Run one command of the build. Raises :class:`modak.errors.ModakError` with the reason that the tool printed."""
        self.step, self.fault = command.step, ""
        extra = {"TMPDIR": str(self.place / "tmp"), "APPTAINER_TMPDIR": os.environ.get("APPTAINER_TMPDIR", str(self.place / "tmp"))}
        try:
            status = processes.run_tool(
                command.words,
                on_output=lambda data: self._follow(self.log.feed(data)),
                watch=self._watch,
                begun=self._work_of,
                environment=environment(command.words[0], self.place, (*extra.items(), *command.variables)),
                folder=Path(self.order.context) if self.order.context else self.place,
                limit_s=max(1.0, self.limit_s - (time.monotonic() - self.begun)),
            )
        finally:
            self._follow(self.log.end())
        if status:
            ended = f"signal {-status}" if status < 0 else f"exit status {status}"
            raise ModakError(f"{Path(command.words[0]).name} ended with {ended}{': ' + self.fault if self.fault else ''}")

    def _named(self, made: Path) -> tuple[Image, dict[str, Any]]:
        """Run the image, then give it and its further forms their names. Returns the catalogue's entry and the build's result."""
        self.step = "verify"
        seen = verify.look(self.builder, made, self.order.claims, self.place, watch=self._watch, begun=self._work_of)
        labels = measured(self.order.claims, seen)
        findings = judge(self.order.claims, seen)
        self.log.line("modak: what running it showed")
        for finding in findings:
            self.log.line(f"modak: {finding}")
        for name in ("framework", "version", "mpicc", "mpi", "microarchitecture"):
            if bad := next((each for each in findings if each.label == name and each.verdict == "refuted"), None):
                raise ModakError(f"the image does not contain what its recipe states: {bad}")
        self.step = "hash"
        forms = [made, *(made.with_suffix(FURTHER_FORMS[form][1]) for form in self.order.also)]
        files = self._settled({form: self.folder / f"{self.order.name}{form.name.removeprefix('image')}" for form in forms})
        entry = {
            "reference": files[0]["file"],
            "labels": labels,
            "digest": f"sha256:{files[0]['sha256']}",
            "size_gb": max(files[0]["bytes"], 1) / 1e9,
            "source": f"built by MODAK from {self.order.source}, build {self.build.id}",
            **verify.standing(tuple(each for each in findings if each.verdict != "refuted"), self.builder),
        }
        shown = {"image": files[0]["file"], "files": files, "findings": [str(each) for each in findings]}
        return Image.model_validate(entry), shown

    def _settled(self, finals: Mapping[Path, Path]) -> list[dict[str, Any]]:
        """Hash the files, write them through to the disk, and give all of them their names. Returns name, hash and size of each.

        A build that was cancelled meanwhile takes the place of no earlier image.
        """
        files: list[dict[str, Any]] = []
        for made, final in finals.items():
            files.append({"file": str(final)})
            if made.is_file():
                files[-1] |= {"sha256": verify.sha256(made), "bytes": made.stat().st_size}
                with made.open("rb") as content:
                    os.fsync(content.fileno())
        self._watch(at_once=True)
        for made, final in finals.items():
            if made.is_dir() and os.path.lexists(final):
                final.rename(made.with_name(f"{made.name}.before"))  # it goes with the build's own folder
            made.replace(final)
        return files

    def _follow(self, lines: Iterable[str]) -> None:
        """The step and the fault that lines of the tool's output name."""
        for line in lines:
            self.step = (self.builder.step(line) or self.step)[:300]
            if (why := self.builder.fault(line)) and not any(word in self.fault for word in _FULL):
                self.fault = why[:300]

    def _work_of(self, group: processes.Process) -> None:
        self._insist(lambda: self.builds.works(self.build, _here() | {"group": asdict(group)}))

    def _end(self, state: State, **values: Any) -> None:
        self._insist(lambda: self.builds.finish(self.build, state, log=self.log.text(), **values))

    def _insist(self, tell: Callable[[], None]) -> None:
        """Store what must not be lost, with retries where the database is locked or out of reach. Raises :class:`Away`.

        A builder that is to end tries once, then raises :class:`Stopped`.
        """
        until = time.monotonic() + self.held_s
        while True:
            try:
                return tell()
            except Unavailable as error:
                if self.stopping:
                    raise Stopped from None
                if time.monotonic() > until:
                    raise Away(faults=error.faults) from None
                time.sleep(BEAT_S)

    def _watch(self, *, at_once: bool = False) -> None:
        """Report that the builder runs. A locked database is ignored.

        Raises :class:`Stopped` where the build was cancelled or is another builder's, or a signal asked the builder to end.
        """
        if self.stopping:
            raise Stopped
        if not at_once and time.monotonic() - self.beaten < BEAT_S:
            return
        self.beaten = time.monotonic()
        with suppress(Unavailable):
            if self.builds.beat(self.build, step=self.step, log=self.log.text()):
                raise Stopped

    @contextmanager
    def _hears_signals(self) -> Iterator[None]:
        """While the block runs, SIGTERM, SIGINT and SIGHUP are remembered, except those that our caller ignores, as nohup does.

        A handler that raised could do so anywhere, also where a process has begun that nobody would end, or with a lock held.
        """

        def stop(number: int, frame: object) -> None:
            self.stopping = True

        before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
        heard = {number: handler for number, handler in before.items() if handler is not signal.SIG_IGN}
        for number in heard:
            signal.signal(number, stop)
        try:
            yield
        finally:
            for number, handler in heard.items():
                signal.signal(number, handler)

    def _why(self, error: Exception) -> str:
        """One line with the step and the reason; errors of a full disk are recognised."""
        text = str(error) or type(error).__name__
        full = isinstance(error, OSError) and error.errno in (ENOSPC, EDQUOT, EFBIG)
        said = f"{text}\n{self.log.text()[-4000:]}".lower()
        if full or any(word in said for word in _FULL):
            free = shutil.disk_usage(self.folder).free / 1e9
            where = f"{free:.1f} GB free in {self.folder}; the tool's own files: {self.builder.storage}"
            return f"step {self.step!r}: the disk is full, or a limit on file sizes is reached ({where})"
        return f"step {self.step!r}: {' '.join(text.split())}"


def _remove(place: Path) -> None:
    """Remove a folder with its content, including folders that a build made unreadable."""
    for folder, _, _ in os.walk(place):
        with suppress(OSError):
            Path(folder).chmod(0o700)
    shutil.rmtree(place, ignore_errors=True)
