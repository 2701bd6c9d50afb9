"""The search: trials until the budget is used, enough were run, or no improvement is expected; then best against default.

The state of every run is in the study's folder, so a search can be continued after its process was ended in any way.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from modak.dsl import Request
from modak.errors import Conflict, DataError, Infeasible, ModakError, RequestError, Unavailable
from modak.facts import Facts
from modak.files import write_all
from modak.optimise import optimise
from modak.service import Service
from modak.text.amounts import counted
from modak.tuner.limits import SearchLimits, SearchOptions
from modak.tuner.runners import Runner
from modak.tuner.study import RunState, Study, Trial
from modak.tuning.request import Aim
from modak.tuning.space import Grid, Point
from modak.tuning.trial import outcome, trial_of, with_its_layout

FILES_S: Final = 5.0
"""Seconds after a job's end in which its result may still appear on a network file system."""
SLOWEST_LOOK_S: Final = 10.0


@dataclass
class Search:
    """One search on an open study. ``say`` gets one line for each event."""

    service: Service
    base: Request
    facts: Facts
    space: Grid
    aim: Aim
    study: Study
    runner: Runner
    options: SearchOptions
    say: Callable[[str], None]
    notes: list[str] = field(default_factory=list)

    @cached_property
    def limits(self) -> SearchLimits:
        """When it ends, and each of its trials."""
        return SearchLimits(self.base, self.facts, self.space, self.study, self.options)

    def run_trials(self) -> str:
        """Run trials. Returns why no more are run.

        Raises :class:`modak.errors.DataError` where the job fails with its own setting.
        """
        active = self._adopted()
        stop: str | None = None
        begun = time.monotonic()
        while True:
            while stop is None and len(active) < self.options.jobs and not self.limits.waits(active):
                stop = self.limits.enough(active)
                if stop is None and (started := self._next()) is not None:
                    active.append(started)
                    begun = time.monotonic()
            if not active:
                return stop or ""
            _pause(begun)
            active = [trial for trial in active if not self._finish_if_over(trial)]

    def confirmed(self, best: Point) -> tuple[list[float], list[float]]:
        """The costs of the default and of the best setting, run alternately."""
        costs: tuple[list[float], list[float]] = ([], [])
        for turn in range(self.options.confirm):
            for name, point, found in (("default", self.space.default, costs[0]), ("best", best, costs[1])):
                place = self.study.folder / f"confirm-{name}-{turn + 1}"
                run = self._run(place, point, f"{name} setting again")
                if run.value is not None:
                    found.append(self.aim.cost(run.value))
        return costs

    def stored(self) -> None:
        """Store all results again, because the database may have been out of reach before, in this process or an earlier one."""
        for file in (place / "result.json" for place in self.study.places() if RunState.read(place).value is not None):
            if file.exists() and not self._store(file):
                self.notes.append("not every run is in the database: the same command stores those that are missing")
                break
        self.notes[:] = {note.partition(": ")[0]: note for note in self.notes}.values()  # of those on the same runs the last

    def under_way(self) -> list[str]:
        """The folders' names of the runs that have begun and whose end was not seen."""
        return [place.name for place in self.study.places() if (run := RunState.read(place)).job and not run.done]

    # --- one trial

    def _next(self) -> Trial | None:
        """Start the next trial; ``None`` where it could not be started, or its point was tried already.

        The sampler proposes the first ones, until the surrogate can tell which setting may be the best.
        """
        if self.limits.can_predict() and not self.study.waiting():
            self._enqueue_most_promising()
        number, point, why = self.study.ask()
        same = next((one for one in self.study.trials() if one.point == point and one.number < number), None)
        if same is not None:
            self._again(number, same)
            return None
        return self._started(Trial(number, point, "running", None, RunState(why=why).write(self.study.place(number))))

    def _again(self, number: int, same: Trial) -> None:
        """For a point that the sampler proposes again: tell it the known cost, and enqueue the most promising one instead. Of a trial that
        still runs nothing is known yet."""
        self.study.tell(number, same.cost, failed=same.state != "running")
        RunState(why=f"as trial {same.number}, not run again", done=True, value=same.run.value).write(self.study.place(number))
        self._enqueue_most_promising()

    def _enqueue_most_promising(self) -> None:
        """Let the untried setting that may be the best, if there is any, be the next trial."""
        found = self.limits.promise(with_failures=True)
        if found is not None:
            why = f"predicted to be {found.gain:.3g} times as good as the best so far (at most {found.most:.3g}, probability 0.95)"
            few = "the most promising untried setting; too few were tried to predict its gain"
            self.study.enqueue(found.point, why if self.limits.can_predict() else few)

    def _started(self, trial: Trial) -> Trial | None:
        place = self.study.place(trial.number)
        try:
            run = self._submitted(place, trial.point, trial.run)
        except (RequestError, Conflict, DataError, Infeasible) as error:
            trial.run.update(place, fault=str(error), done=True)
            self.study.tell(trial.number, None)
            if self._is_first_default(trial):
                raise DataError(f"the job does not start with its own setting: {error}", field=str(place)) from None
            self.say(f"trial {trial.number}: {self.space.in_words(trial.point)} cannot run: {error}")
            return None
        self.say(f"trial {trial.number}: {self.space.in_words(trial.point)} ({run.why})")
        return Trial(trial.number, trial.point, "running", None, run)

    def _submitted(self, place: Path, point: Point, run: RunState) -> RunState:
        """Write the script and start it. The run is recorded in the folder before the job can start, and again after."""
        limit = self.limits.of_trial(point)
        request = trial_of(self.base, self.space, point, place.as_posix(), limit)
        answer = optimise(request, self.facts)
        with_its_layout(self.space, point, answer.plan.configuration, answer.plan.warnings)
        (place / "result.json").unlink(missing_ok=True)
        script = place / "job.sh"
        write_all({script: answer.texts.job_script})
        plan = answer.plan
        run = run.update(place, nodes=plan.configuration.nodes, share=plan.node_share or 1.0, limit_s=limit or plan.wall_time_s)
        return run.update(place, job=self.runner.start(script, run.limit_s))

    def _finish_if_over(self, trial: Trial) -> bool:
        """Look after a trial; returns whether it is over.

        The result of one whose job has ended is stored, and its cost told to the sampler. One that was interrupted is submitted again.
        Raises :class:`modak.errors.DataError` if the job fails with its own setting, before any other has been measured.
        """
        place = self.study.place(trial.number)
        run = self._looked(place)
        if run.job is None:
            self.say(f"trial {trial.number}: interrupted ({run.fault}), and started again")
            return self._started(replace(trial, run=run)) is None
        if not run.done:
            return False
        cost = None if run.value is None else self.aim.cost(run.value)
        self.study.tell(trial.number, cost)
        output = place / "output"
        came = f"{run.fault}; its output is in {output}" if run.value is None else self.aim.in_words(run.value)
        self.say(f"trial {trial.number}: {came}")
        if cost is None and self._is_first_default(trial):
            raise DataError(f"the job fails with its own setting: {run.fault}; its output is in {output}", field=str(place))
        return True

    def _is_first_default(self, trial: Trial) -> bool:
        """Whether a trial has the job's own setting, and none has been measured: what stops it will stop the others."""
        return trial.point == self.space.default and all(one.cost is None for one in self.study.trials())

    def _looked(self, place: Path) -> RunState:
        """The run in the present state of its job."""
        run = RunState.read(place)
        state = self.runner.state(run.job) if run.job else "over"
        now = time.time()
        if state == "running" and run.began is None:
            return run.update(place, began=now)
        return self._after_its_end(place, run, now) if state == "over" else run

    def _after_its_end(self, place: Path, run: RunState, now: float) -> RunState:
        """A run whose job is over by ``now``, with its result, which is read and stored.

        One that was interrupted, or cancelled while it waited, is without a job then, once: it is to be started again.
        """
        result = _result(place)
        came = outcome(result, self.aim)
        took, limit = max(came.seconds or 0.0, now - run.began if run.began else 0.0), run.limit_s or math.inf
        ended = came.value is None and took >= 0.9 * limit
        if came.value is not None:
            self._store(place / "result.json")
        interrupted = came.interrupted or (result is None and run.began is None)
        if interrupted and not ended and run.interrupted_s is None:
            return run.update(place, job=None, began=None, interrupted_s=took, fault=came.why)
        fault = f"ended after {took:.0f} s: its limit was {limit:.0f} s" if ended else came.why
        return run.update(place, seconds=took, value=came.value, fault=fault, ended=ended, done=True)

    def _store(self, file: Path) -> bool:
        """Load a result; loading it twice adds nothing. Returns whether the database was in reach: else :meth:`stored` tries again."""
        from modak.ingest.reading import tables

        try:
            report = self.service.load(tables([file]))
        except Unavailable as error:
            self.say(f"{file}: not stored yet: {error}")
            return False
        except ModakError as error:
            self.notes.append(f"{file.parent}: its result could not be stored: {error}")
        else:
            self.notes += [str(note) for note in report["notes"]]
        return True

    def _run(self, place: Path, point: Point, why: str) -> RunState:
        """Run a point to its end in a folder of its own, unless it was run there already."""
        run, begun = RunState.read(place), time.monotonic()
        while not run.done:
            if run.job is None:
                run = self._submitted(place, point, replace(run, why=why).write(place))
                self.say(f"{place.name}: {self.space.in_words(point)}")
            _pause(begun)
            run = self._looked(place)
        return run

    # --- going on, and stopping

    def _adopted(self) -> list[Trial]:
        """The unfinished trials of an earlier process; those without a job are started again."""
        found = self.study.running()
        if found:
            self.say(f"going on with {counted(len(found), 'trial')} that had begun")
        again = (trial if trial.run.job else self._started(trial) for trial in found)
        return [trial for trial in again if trial is not None]


def _pause(begun: float) -> None:
    """Sleep for a twentieth of the time since then, within bounds: the longer nothing happens, the rarer a look."""
    time.sleep(min(SLOWEST_LOOK_S, max(0.1, (time.monotonic() - begun) / 20)))


def _result(place: Path) -> dict[str, Any] | None:
    """The result file; ``None``: there is none within :data:`FILES_S` seconds."""
    until = time.monotonic() + FILES_S
    while True:
        try:
            found: dict[str, Any] = json.loads((place / "result.json").read_text(encoding="utf-8"))
            return found
        except (OSError, ValueError):
            if time.monotonic() > until:
                return None
            time.sleep(0.1)
