"""When a search ends, and when each of its trials does: by their number, the budget, what is left to gain, and times so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import Final

from modak.choosing.decision import decide
from modak.dsl import Request
from modak.errors import Infeasible
from modak.facts import Facts
from modak.target import resolve
from modak.text.amounts import as_given, counted, format_number
from modak.tuner.study import Study, Trial
from modak.tuning.space import Grid, Point
from modak.tuning.surrogate import Promise, promise
from modak.tuning.trial import LEAST_LIMIT_S, limit_of, set_to

TRIALS: Final = 30
"""Trials of a search for which neither the command nor the request gives a number."""
FAILURES: Final = 5
"""The search ends after so many trials in a row without a measurement."""

SLOWER: Final = 1.25
"""The runs of the comparison may take so many times what their setting took in its trial."""


@dataclass(frozen=True)
class SearchOptions:
    """How long to search; ``gain``: the least improvement that is worth another trial, as a fraction."""

    trials: int | None = None
    """``None``: :data:`TRIALS`."""
    budget_node_hours: float | None = None
    jobs: int = 1
    """Trials at the same time."""
    confirm: int = 3
    """Runs of the best and of the default setting each, alternating, at the end."""
    gain: float = 0.02


@dataclass(frozen=True)
class SearchLimits:
    """Those of one search on an open study."""

    base: Request
    facts: Facts
    space: Grid
    study: Study
    options: SearchOptions

    def waits(self, active: Sequence[Trial]) -> bool:
        """Whether the budget holds another trial only when those that run have ended: they rarely need all of their time."""
        return bool(active) and self._holds_none(active)

    def enough(self, active: Sequence[Trial]) -> str | None:
        """Why no further trial is started; ``None``: one is."""
        trials = self.study.ended()
        started = [trial for trial in trials if trial.run.job]
        most = self.options.trials or TRIALS
        if len(started) + len(active) >= most:
            return f"the requested {most} trials are done"
        if len(started) >= FAILURES and all(trial.cost is None for trial in started[-FAILURES:]):
            return f"{FAILURES} trials in a row gave no measurement"
        if len({trial.point for trial in (*trials, *active)}) >= self.space.size:
            return "every setting was tried"
        if self._holds_none(active):
            return self._budget_used(first=not started and not active)
        return self._little_to_gain()

    def _holds_none(self, active: Sequence[Trial]) -> bool:
        """Whether the budget holds no further trial."""
        return self.options.budget_node_hours is not None and self._left(active) < self._price(self.study.ended())

    def _budget_used(self, *, first: bool) -> str:
        """That the budget is used; raises :class:`modak.errors.Infeasible` if not even a ``first`` trial could be started."""
        budget = self.options.budget_node_hours or 0.0
        if first:
            raise Infeasible(self._too_little(budget), field="optimisation.autotuning.budget_node_hours")
        used, kept = self.study.node_hours(), self._kept() / 3600
        shares = (
            f"{format_number(used)} by trials, {format_number(kept)} kept for the comparison; what is left is too little for another trial"
        )
        return f"the budget of {as_given(budget)} node-hours is used: {shares}"

    def _little_to_gain(self) -> str | None:
        if not self.can_predict() or self.study.waiting():
            return None
        found = self.promise(with_failures=False)
        if found is None or found.most >= 1 + self.options.gain:
            return None
        interval = f"its predicted interval ends at {found.most:.3g} times as good as the best (probability 0.95)"
        return f"no untried setting is worth a trial: the most promising is {self.space.in_words(found.point)}, and {interval}"

    def _too_little(self, budget: float) -> str:
        """The message for a budget that is smaller than the estimate for the first trial and the comparison."""
        compared = 2 * self.options.confirm
        runs = f"a first trial and {counted(compared, 'run')} to compare (--confirm)" if compared else "a first trial"
        need = (1 + compared) * self._price(()) / 3600
        reckoned = f"{runs} are reckoned at a minute of their nodes each, {format_number(need)} node-hours in all"
        return f"{as_given(budget)} node-hours are not enough: {reckoned}"

    def _price(self, trials: Sequence[Trial]) -> float:
        """Estimated node-seconds of the next trial: the median so far, and at least a minute of its nodes."""
        took = [trial.run.node_seconds for trial in trials if trial.run.seconds]
        return max(median(took) if took else 0.0, self._least)

    @cached_property
    def _least(self) -> float:
        """Node-seconds of a minute of a trial: of the part of its nodes that the default setting takes, where jobs share nodes."""
        share = 1.0
        if resolve(self.base, self.facts).shares_nodes:
            found = decide(set_to(self.base, self.space, self.space.default), self.facts)
            share = float(found.scored.charged[found.best]) / found.nodes
        return LEAST_LIMIT_S * self._most_nodes() * share

    def _most_nodes(self) -> int:
        """The largest number of nodes of a trial."""
        counts = [int(value) for one in self.space.parameters if (one.kind, one.name) == ("layout", "node_count") for value in one.values]
        return max(counts, default=self.base.job_options.node_count or 1)

    def _left(self, active: Sequence[Trial]) -> float:
        """Node-seconds left for further trials, after those that run and the comparison of best and default."""
        running = sum(one.run.taken * (one.run.limit_s or 0.0) for one in active)
        return 3600 * ((self.options.budget_node_hours or 0.0) - self.study.node_hours()) - running - self._kept()

    def _kept(self) -> float:
        """Node-seconds for the runs of the comparison that have not begun: by what the two settings took so far, or else a minute each."""
        begun = len([*self.study.folder.glob("confirm-*")])
        if measured := self._measured():
            best = min(measured, key=lambda trial: trial.cost or 0.0)
            of_default = [trial for trial in measured if trial.point == self.space.default]
            run = SLOWER * (best.run.node_seconds + max(trial.run.node_seconds for trial in of_default or measured)) / 2
        else:
            run = self._least
        return max(0, 2 * self.options.confirm - begun) * run

    def of_trial(self, point: Point) -> float | None:
        """Seconds after which a trial of that point is ended, because it cannot be the best, the budget is used, or the queue ends it."""
        layout = self.space.of_kind("layout", point)
        nodes = int(layout.get("node_count", self.base.job_options.node_count or 1))
        target = resolve(self.base, self.facts)
        wanted, longest = self._wanted_limit(self._taken(point) if target.shares_nodes else nodes), target.max_wall_time_s(nodes)
        return min(wanted, longest) if wanted and longest else wanted

    def _taken(self, point: Point) -> float:
        """The nodes that a trial of that point takes, with parts of them."""
        found = decide(set_to(self.base, self.space, point), self.facts)
        return float(found.scored.charged[found.best])

    def _wanted_limit(self, nodes: float) -> float | None:
        times = [trial.run.seconds or 0.0 for trial in self._measured()]
        patience = limit_of(min(times)) if times else None
        if self.options.budget_node_hours is None:
            return patience
        rest = max(LEAST_LIMIT_S, self._left(self.study.running()) / nodes)
        return rest if patience is None else min(patience, rest)

    def _measured(self) -> list[Trial]:
        """The trials that gave a measurement, and took a time that is known."""
        return [trial for trial in self.study.trials() if trial.cost is not None and trial.run.seconds]

    def promise(self, *, with_failures: bool) -> Promise | None:
        """The most promising untried setting; ``None``: there is none.

        ``with_failures``: those without a measurement, also because they run, count as the worst one, so that it is away from them.
        Otherwise they say nothing: the best may be beside them, such as the largest batch that the memory holds.
        """
        trials = self.study.trials()
        tried = [(trial.point, trial.cost) for trial in trials if trial.cost is not None]
        if with_failures and tried:
            worst = max(cost for _, cost in tried)
            measured = {point for point, _ in tried}  # proposed again while they ran
            tried += [(point, worst) for point in {trial.point for trial in trials} - measured]
        return promise(self.space, tried, {trial.point for trial in trials})

    def can_predict(self) -> bool:
        """Whether predicted gains mean anything: fewer settings do not show how much settings differ."""
        measured = {trial.point for trial in self.study.trials() if trial.cost is not None}
        return len(measured) >= max(5, len(self.space.parameters) + 3)
