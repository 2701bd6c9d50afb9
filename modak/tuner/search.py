"""Ask, run, tell: trials until the budget is used, enough were run, or nothing better is to be expected; then best against default.

A process that ends, however it ends, loses nothing: what ran is in the folder, what runs is found again by its slip.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final

from modak.amounts import counted
from modak.dsl import Request
from modak.errors import Conflict, DataError, Infeasible, ModakError, RequestError
from modak.facts import Facts
from modak.optimise import optimise
from modak.service import Service
from modak.tuner.runners import Runner
from modak.tuner.study import Record, Slip, Study
from modak.tuning.asked import Aim
from modak.tuning.setting import shown
from modak.tuning.space import Point, Space
from modak.tuning.surrogate import Promise, promise
from modak.tuning.trial import LEAST_LIMIT_S, limit_of, outcome, trial_of

FAILURES: Final = 5
"""So many trials in a row without a number end the search."""
FILES_S: Final = 5.0
"""A result may reach a network file system so long after its job's end."""
SLOWEST_LOOK_S: Final = 10.0


@dataclass(frozen=True)
class Orders:
    """How long to look. Node-hours; ``gain``: the least improvement that is worth another trial."""

    trials: int = 30
    budget: float | None = None
    jobs: int = 1
    """Trials at the same time."""
    confirm: int = 3
    """Runs of the best and of the default setting, one after the other, at the end."""
    gain: float = 0.02


@dataclass
class Search:
    """One search on an open study. ``say`` is told one line an event."""

    service: Service
    base: Request
    facts: Facts
    space: Space
    aim: Aim
    study: Study
    runner: Runner
    orders: Orders
    say: Callable[[str], None]
    notes: list[str] = field(default_factory=list)

    def trials(self) -> str:
        """Run trials; why it ended.

        Raises :class:`modak.errors.DataError` where the job fails with its own setting.
        """
        active = self._adopted()
        stop: str | None = None
        begun = time.monotonic()
        while True:
            while stop is None and len(active) < self.orders.jobs:
                stop = self._enough(active)
                if stop is None and (started := self._next()) is not None:
                    active.append(started)
                    begun = time.monotonic()
            if not active:
                return stop or ""
            time.sleep(min(SLOWEST_LOOK_S, max(0.1, (time.monotonic() - begun) / 20)))
            active = [record for record in active if not self._over(record)]

    def confirmed(self, best: Point) -> tuple[list[float], list[float]]:
        """Costs of the default and of the best setting, run in turns."""
        costs: tuple[list[float], list[float]] = ([], [])
        for turn in range(self.orders.confirm):
            for name, point, found in (("default", self.space.default, costs[0]), ("best", best, costs[1])):
                place = self.study.folder / f"confirm-{name}-{turn + 1}"
                slip = self._run(place, point, f"{name} setting again")
                if slip.value is not None:
                    found.append(self.aim.cost(slip.value))
        return costs

    def used(self) -> float:
        """Node-hours of everything that ran."""
        places = (*self.study.folder.glob("trial-*"), *self.study.folder.glob("confirm-*"))
        return sum(Slip.read(place).node_hours for place in places)

    # --- one trial

    def _next(self) -> Record | None:
        """Start the next point that was not tried; ``None`` where it could not be started, or was tried already."""
        number, point, why = self.study.ask()
        same = next((one for one in self.study.records() if one.point == point and one.number < number), None)
        if same is not None:
            self._again(number, same)
            return None
        return self._started(Record(number, point, "running", None, Slip(why=why).write(self.study.place(number))))

    def _again(self, number: int, same: Record) -> None:
        """The sampler proposed a point once more: it hears what that came to, and the surrogate's choice waits in its place."""
        self.study.tell(number, same.cost)
        Slip(why=f"as trial {same.number}, not run again", done=True, value=same.slip.value).write(self.study.place(number))
        found = self._promise()
        if found is not None:
            self.study.suggest(found.point, f"predicted to be {found.gain:.3g} times as good as the best so far (at most {found.most:.3g})")

    def _promise(self) -> Promise | None:
        records = self.study.records()
        tried = [(record.point, record.cost) for record in records if record.cost is not None]
        return promise(self.space, tried, {record.point for record in records})

    def _started(self, record: Record) -> Record | None:
        try:
            slip = self._submitted(self.study.place(record.number), record.point, record.slip)
        except (RequestError, Conflict, DataError, Infeasible) as error:
            record.slip.having(self.study.place(record.number), fault=str(error), done=True)
            self.study.tell(record.number, None)
            self.say(f"trial {record.number}: {self.told(record.point)} cannot run: {error}")
            return None
        self.say(f"trial {record.number}: {self.told(record.point)} ({slip.why})")
        return Record(record.number, record.point, "running", None, slip)

    def _submitted(self, place: Path, point: Point, slip: Slip) -> Slip:
        """Write the script and hand it over; the slip says where it is before it can run and after."""
        limit = self._limit(point)
        request = trial_of(self.base, self.space, point, place.as_posix(), limit)
        answer = optimise(request, self.facts)
        (place / "result.json").unlink(missing_ok=True)
        script = place / "job.sh"
        script.write_text(answer.texts.job_script, encoding="utf-8")
        slip = slip.having(place, nodes=answer.plan.configuration.nodes, limit_s=limit or answer.plan.wall_time_s)
        return slip.having(place, job=self.runner.start(script, slip.limit_s))

    def _over(self, record: Record) -> bool:
        """Whether a trial has ended; if so it was told."""
        place = self.study.place(record.number)
        slip = self._looked(place)
        if not slip.done:
            return False
        cost = None if slip.value is None else self.aim.cost(slip.value)
        self.study.tell(record.number, cost, ended=cost is None and _ended(slip))
        came = slip.fault if slip.value is None else f"{self.aim.metric} {slip.value:.5g} {self.aim.unit}"
        self.say(f"trial {record.number}: {came}")
        if record.point == self.space.default and cost is None and not any(one.cost for one in self.study.records()):
            raise DataError(f"the job fails with its own setting: {slip.fault}; its output is in {place / 'output'}", field=str(place))
        return True

    def _looked(self, place: Path) -> Slip:
        """The slip after a look at its job; a job that is over has its result read and stored."""
        slip = Slip.read(place)
        state = self.runner.state(slip.job) if slip.job else "over"
        now = time.time()
        if state == "running" and slip.began is None:
            return slip.having(place, began=now)
        if state != "over":
            return slip
        document = _result(place)
        came = outcome(document, self.aim)
        took = max(came.seconds or 0.0, now - slip.began if slip.began else 0.0)
        fault = came.why
        if came.value is None and slip.limit_s and took >= 0.9 * slip.limit_s:
            fault = f"ended after {took:.0f} s: its limit was {slip.limit_s:.0f} s"
        if came.value is not None:
            self._store(place)
        return slip.having(place, seconds=took, value=came.value, fault="" if came.value is not None else fault, done=True)

    def _store(self, place: Path) -> None:
        """The trial is a result as any other: loading it twice adds nothing."""
        from modak.ingest.reading import tables

        try:
            report = self.service.load(tables([place / "result.json"]))
        except ModakError as error:
            self.notes.append(f"{place}: its result could not be stored: {error}")
        else:
            self.notes += [str(note) for note in report["notes"]]

    def _run(self, place: Path, point: Point, why: str) -> Slip:
        """Run a point to its end in a folder of its own, unless that was done."""
        slip = Slip.read(place)
        if slip.done:
            return slip
        if slip.job is None:
            slip = self._submitted(place, point, Slip(why=why).write(place))
            self.say(f"{place.name}: {self.told(point)}")
        begun = time.monotonic()
        while not (slip := self._looked(place)).done:
            time.sleep(min(SLOWEST_LOOK_S, max(0.1, (time.monotonic() - begun) / 20)))
        return slip

    # --- going on, and stopping

    def _adopted(self) -> list[Record]:
        """Trials that another process began: those with a job are waited for, the others are begun again."""
        found = [record for record in self.study.records() if record.state == "running"]
        if found:
            self.say(f"going on with {counted(len(found), 'trial')} that had begun")
        again = (record if record.slip.job else self._started(record) for record in found)
        return [record for record in again if record is not None]

    def _enough(self, active: Sequence[Record]) -> str | None:
        """Why no further trial is started; ``None``: one is."""
        records = [record for record in self.study.records() if record.state != "running"]
        run = [record for record in records if record.slip.job]
        if len(run) + len(active) >= self.orders.trials:
            return f"{self.orders.trials} trials were asked for"
        if len(run) >= FAILURES and all(record.cost is None for record in run[-FAILURES:]):
            return f"{FAILURES} trials in a row gave no number"
        if len({record.point for record in (*records, *active)}) >= self.space.size:
            return "every setting was tried"
        if self.orders.budget is not None and self._left(active) * 3600 < self._price(records):
            return f"the budget of {self.orders.budget:g} node-hours is used: {self.used():.3g} by trials, the rest kept for the comparison"
        return self._little_to_gain(records)

    def _little_to_gain(self, records: Sequence[Record]) -> str | None:
        tried = [(record.point, record.cost) for record in records if record.cost is not None]
        if len({point for point, _ in tried}) < max(5, len(self.space.parameters) + 3) or self.study.waiting():
            return None
        found = self._promise()
        if found is None or found.most >= 1 + self.orders.gain:
            return None
        interval = f"its predicted interval ends at {found.most:.3g} times as good as the best (probability 0.95)"
        return f"no untried setting is worth a trial: the most promising is {self.told(found.point)}, and {interval}"

    def _price(self, records: Sequence[Record]) -> float:
        """Node-seconds that the next trial is expected to take, and a minute of a node at least."""
        took = [record.slip.nodes * record.slip.seconds for record in records if record.slip.seconds]
        return max(median(took) if took else 0.0, LEAST_LIMIT_S)

    def _left(self, active: Sequence[Record]) -> float:
        """Node-hours for further trials: without what runs, and what comparing best and default will take."""
        records = self.study.records()
        running = sum(Slip.read(self.study.place(one.number)).nodes * (one.slip.limit_s or 0.0) for one in active) / 3600
        begun = len([*self.study.folder.glob("confirm-*")])
        kept = max(0, 2 * self.orders.confirm - begun) * self._price(records) / 3600
        return (self.orders.budget or 0.0) - self.used() - running - kept

    def _limit(self, point: Point) -> float | None:
        """When a trial of that point is ended: when it cannot win any more, or the budget is used."""
        times = [record.slip.seconds for record in self.study.records() if record.cost is not None and record.slip.seconds]
        patience = limit_of(min(times)) if times else None
        if self.orders.budget is None:
            return patience
        layout = self.space.of_kind("layout", point)
        nodes = int(layout.get("node_count", self.base.job_options.node_count or 1))
        rest = max(LEAST_LIMIT_S, (self.orders.budget - self.used()) * 3600 / nodes)
        return rest if patience is None else min(patience, rest)

    def told(self, point: Point) -> str:
        """A point as people read it."""
        return ", ".join(f"{name}={shown(value)}" for name, value in self.space.values(point).items())


def _ended(slip: Slip) -> bool:
    return slip.fault.startswith("ended after")


def _result(place: Path) -> dict[str, Any] | None:
    """The result file, waited for a little."""
    until = time.monotonic() + FILES_S
    while True:
        try:
            found: dict[str, Any] = json.loads((place / "result.json").read_text(encoding="utf-8"))
            return found
        except (OSError, ValueError):
            if time.monotonic() > until:
                return None
            time.sleep(0.1)
