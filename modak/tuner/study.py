"""A study in a folder: Optuna's journal of the trials, and the state of each run in its own folder.

The journal is a text file to which lines are only appended, with fsync, so that it survives the end of the process, also on a
network file system. Only one process at a time can use a folder.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from modak.errors import Conflict, DataError, RequestError
from modak.files import write_all
from modak.tuning.space import Grid, Parameter, Point

if TYPE_CHECKING:
    import optuna

JOURNAL: Final = "study.journal"
RUN_FILE: Final = "slip.json"
"""The file of a :class:`RunState`; existing searches have it under this name."""
NAME: Final = "modak"
SEED: Final = 20_190_301
STARTUP: Final = 6
"""Random trials before the sampler uses their results."""

State = Literal["waiting", "running", "complete", "failed", "ended"]
"""``ended``: it was ended by its time limit, without a measurement."""


@dataclass(frozen=True)
class RunState:
    """The state of one run of the job, of a trial or of the comparison, as kept in its folder."""

    why: str = ""
    job: str | None = None
    nodes: int = 1
    share: float = 1.0
    """The part of each node that it takes."""
    limit_s: float | None = None
    began: float | None = None
    """Seconds since the epoch when it was first seen to run."""
    seconds: float | None = None
    """From its begin to its end."""
    interrupted_s: float | None = None
    """The same of an earlier start that was interrupted; ``None``: there was none."""
    value: float | None = None
    fault: str = ""
    ended: bool = False
    """Whether its time limit ended it, without a measurement."""
    done: bool = False

    @property
    def taken(self) -> float:
        """The nodes that it takes, with parts of them."""
        return self.nodes * self.share

    @property
    def node_seconds(self) -> float:
        """Node-seconds from its begin to its end; 0: it has not ended."""
        return self.taken * (self.seconds or 0.0)

    @property
    def node_hours(self) -> float:
        """Node-hours of the run, with those of an earlier start."""
        return self.taken * ((self.seconds or 0.0) + (self.interrupted_s or 0.0)) / 3600

    @classmethod
    def read(cls, folder: Path) -> RunState:
        """The run that is kept in a folder; a new one where there is none."""
        try:
            return cls(**json.loads((folder / RUN_FILE).read_text(encoding="utf-8")))
        except FileNotFoundError:
            return cls()

    def write(self, folder: Path) -> RunState:
        """Write it to the run's folder."""
        write_all({folder / RUN_FILE: json.dumps(asdict(self))})
        return self

    def update(self, folder: Path, **changed: Any) -> RunState:
        """The run with these fields changed, written."""
        return replace(self, **changed).write(folder)


@dataclass(frozen=True)
class Trial:
    """One trial: its point in the space, and its run."""

    number: int
    point: Point
    state: State
    cost: float | None
    run: RunState


class Study:
    """The trials of a folder. Costs are such that less is better."""

    def __init__(self, folder: Path, space: Grid, study: optuna.Study) -> None:
        self.folder = folder
        self.space = space
        self._study = study

    def place(self, number: int) -> Path:
        """The folder of a trial."""
        return self.folder / f"trial-{number:04d}"

    def places(self) -> list[Path]:
        """The folders of all runs."""
        return sorted((*self.folder.glob("trial-*"), *self.folder.glob("confirm-*")))

    def node_hours(self) -> float:
        """Node-hours of all runs."""
        return sum(RunState.read(place).node_hours for place in self.places())

    def enqueue(self, point: Point, why: str) -> None:
        """Try this point before those of the sampler, unless it is waiting or was tried already."""
        names = [_key(parameter) for parameter in self.space.parameters]
        self._study.enqueue_trial(dict(zip(names, point, strict=True)), user_attrs={"why": why}, skip_if_exists=True)

    def waiting(self) -> bool:
        """Whether enqueued points have not been tried yet."""
        from optuna.trial import TrialState

        return bool(self._study.get_trials(deepcopy=False, states=(TrialState.WAITING,)))

    def ask(self) -> tuple[int, Point, str]:
        """The next trial: its number, its point, and the reason for that point."""
        trial = self._study.ask({_key(parameter): _distribution(parameter) for parameter in self.space.parameters})
        point = tuple(int(trial.params[_key(parameter)]) for parameter in self.space.parameters)
        return trial.number, point, str(trial.user_attrs.get("why", "proposed by the sampler"))

    def tell(self, number: int, cost: float | None, *, failed: bool = True) -> None:
        """Record the end of a trial; ``cost`` ``None``: it gave no measurement, which the sampler takes for worse than all that did, unless
        nothing ``failed``.

        Optuna's samplers learn from pruned trials, and forget failed ones.
        """
        from optuna.trial import TrialState

        if cost is not None:
            self._study.tell(number, cost)
        else:
            self._study.tell(number, state=TrialState.PRUNED if failed else TrialState.FAIL)

    def trials(self) -> list[Trial]:
        """All trials that have begun, in order."""
        from optuna.trial import TrialState

        states: dict[TrialState, State] = {
            TrialState.RUNNING: "running",
            TrialState.COMPLETE: "complete",
            TrialState.PRUNED: "failed",
            TrialState.FAIL: "failed",  # beside a running trial of the same point
        }
        keys = [_key(parameter) for parameter in self.space.parameters]
        found = []
        for frozen in self._study.get_trials(deepcopy=False, states=tuple(states)):
            if not all(key in frozen.params for key in keys):
                continue  # asked for, and killed before its point was drawn
            point = tuple(int(frozen.params[key]) for key in keys)
            cost = frozen.value if frozen.state == TrialState.COMPLETE else None
            run, state = RunState.read(self.place(frozen.number)), states[frozen.state]
            found.append(Trial(frozen.number, point, "ended" if state == "failed" and run.ended else state, cost, run))
        return found

    def running(self) -> list[Trial]:
        """The trials that have not ended."""
        return [trial for trial in self.trials() if trial.state == "running"]

    def ended(self) -> list[Trial]:
        """The trials that have ended."""
        return [trial for trial in self.trials() if trial.state != "running"]


@contextmanager
def opened(folder: Path, space: Grid, identity: str, starts: Mapping[Point, str]) -> Iterator[Study]:
    """The study of a folder; a new one begins with the points of ``starts``, each with its reason.

    Raises :class:`modak.errors.Conflict` where another process works there, :class:`modak.errors.RequestError` where files cannot be
    locked, :class:`modak.errors.DataError` where the folder's study is of another request.
    """
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with _alone(folder):
        journal = folder / JOURNAL
        _mend(journal)
        lock: Any = _Held()
        storage = JournalStorage(JournalFileBackend(str(journal), lock_obj=lock))
        sampler = optuna.samplers.TPESampler(seed=SEED, n_startup_trials=STARTUP)
        study = optuna.create_study(storage=storage, study_name=NAME, sampler=sampler, load_if_exists=True)
        known = study.user_attrs.get("identity")
        if known not in (None, identity):
            raise DataError("this folder's study is of another request or space; name another folder", field=str(folder))
        found = Study(folder, space, study)
        if known is None:
            for point, why in starts.items():
                found.enqueue(point, why)
            study.set_user_attr("identity", identity)
        yield found


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Lock the folder for this process while the body runs. The lock is released when the process ends in any way."""
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Conflict("another modak tune works in this folder", field=str(folder)) from None
        except OSError as error:  # for instance Lustre, mounted without flock
            text = f"files on its file system cannot be locked ({error.strerror}); start in a folder on another one"
            raise RequestError(text, field=str(folder)) from None
        yield
    finally:
        os.close(descriptor)


class _Held:
    """A lock for Optuna's journal that does nothing: the folder is locked, and Optuna's own lock outlives a killed process for 30 s."""

    def acquire(self) -> bool:
        """Succeeds always."""
        return True

    def release(self) -> None:
        """Does nothing."""


def _mend(journal: Path) -> None:
    """Remove an incomplete last line, whose writing was never confirmed."""
    if not journal.exists():
        return
    content = journal.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if whole != content:
        os.truncate(journal, len(whole))


def _key(parameter: Parameter) -> str:
    return f"{parameter.kind}.{parameter.name}"


def _distribution(parameter: Parameter) -> Any:
    """Optuna's distribution of a parameter's indices: integers for ordered values, else categories."""
    from optuna.distributions import CategoricalDistribution, IntDistribution

    last = len(parameter.values) - 1
    return IntDistribution(0, last) if parameter.ordered else CategoricalDistribution(tuple(range(last + 1)))
