"""When a search ends, and when each of its trials does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from modak.facts import Facts
from modak.tuner.limits import SearchLimits, SearchOptions
from modak.tuner.study import RunState, opened
from modak.tuning.request import grid_of
from modak.tuning.trial import identity, limit_of
from tests.tuning.requests import based, request_of


class Ended(NamedTuple):
    """A trial that is over: the index of its value, its cost and what it took; ``cost`` ``None``: it gave no measurement."""

    value: int
    cost: float | None = 1.0
    seconds: float = 1.0
    job: str | None = "7"


@contextmanager
def limits_after(folder: Path, trials: list[Ended], options: SearchOptions) -> Iterator[SearchLimits]:
    """Of a search over twenty values, of which the first is the job's own, on one node."""
    base = based(request_of(space={"options": {"-n": list(range(1, 21))}}))
    space = grid_of(base)
    with opened(folder, space, identity(base), {}) as study:
        for trial in trials:
            study.enqueue((trial.value,), "asked for")
            number, _, _ = study.ask()
            RunState(job=trial.job, seconds=trial.seconds, done=True).write(study.place(number))
            study.tell(number, trial.cost)
        yield SearchLimits(base, Facts(version=""), space, study, options)


FAILED = [Ended(value, cost=None) for value in range(10, 15)]
HOURS = [Ended(2, seconds=900), Ended(3, seconds=1800), Ended(4, seconds=3600)]
COMPARED = [Ended(0, 2.0, 7200), Ended(2, 1.0, 3600), Ended(3, 3.0, 10_800), Ended(4, None, 1800)]


@pytest.mark.parametrize(
    ("trials", "options", "why"),
    [
        (FAILED, {}, "5 trials in a row gave no measurement"),
        ([Ended(1), *FAILED], {}, "5 trials in a row gave no measurement"),
        (FAILED[:4], {}, None),
        ([*FAILED[:4], Ended(1), FAILED[4]], {}, None),
        (HOURS, {"trials": 3}, "the requested 3 trials are done"),
        (HOURS, {"trials": 4}, None),
        ([one._replace(job=None) for one in FAILED], {"trials": 5}, None),  # none of them began
        (HOURS, {"budget_node_hours": 2.25, "confirm": 0}, None),
        (HOURS, {"budget_node_hours": 2.2, "confirm": 0}, "the budget of 2.2 node-hours is used"),
        ([Ended(2, seconds=36)], {"budget_node_hours": 0.027, "confirm": 0}, None),
        ([Ended(2, seconds=36)], {"budget_node_hours": 0.026, "confirm": 0}, "the budget of 0.026 node-hours is used"),
        (COMPARED, {"budget_node_hours": 11.76, "confirm": 1}, None),
        (COMPARED, {"budget_node_hours": 11.74, "confirm": 1}, "the budget of 11.74 node-hours is used"),
    ],
)
def test_a_search_ends_where_another_trial_is_too_much(
    tmp_path: Path, trials: list[Ended], options: dict[str, float], why: str | None
) -> None:
    """By its number, by failures in a row, or by the budget: the next is reckoned with the median of what they took, and a minute at least,
    the runs of the comparison with a quarter more than the best and the job's own setting took."""
    with limits_after(tmp_path, trials, SearchOptions(**options)) as limits:  # type: ignore[arg-type]  # trials are counted
        found = limits.enough([])
    assert found is why if why is None else str(found).startswith(why)


@pytest.mark.parametrize(
    ("trials", "enough"),
    [
        ([Ended(value) for value in range(5)], True),
        ([Ended(value) for value in range(4)], False),
        ([*(Ended(value) for value in range(4)), FAILED[0]], False),
    ],
)
def test_gains_are_predicted_from_five_measured_settings(tmp_path: Path, trials: list[Ended], enough: bool) -> None:
    """Fewer do not show how much settings differ."""
    with limits_after(tmp_path, trials, SearchOptions()) as limits:
        assert limits.can_predict() is enough


def test_a_trial_is_ended_where_it_cannot_be_the_best(tmp_path: Path) -> None:
    """By what the fastest one took; how soon another one failed says nothing."""
    with limits_after(tmp_path, [*HOURS, Ended(1, None, 3)], SearchOptions()) as limits:
        assert limits.of_trial((7,)) == limit_of(900)
