"""When a search ends, and when each of its trials does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import NamedTuple

import pytest

from modak.dsl import Request
from modak.errors import Infeasible
from modak.facts import Facts, Node, Partition
from modak.tuner.limits import SearchLimits, SearchOptions
from modak.tuner.study import RunState, Trial, opened
from modak.tuning.request import grid_of
from modak.tuning.trial import identity, limit_of
from tests.choosing.asked import asked
from tests.systems import site
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


def on_half_a_node(whole_nodes: bool) -> tuple[Request, Facts]:
    """A job of two of four cores, whose number of threads is to be tuned."""
    node = Node(processor="any", sockets=1, cores=4)
    system = site(node, partitions=(Partition(name="main", nodes=1, node=node, whole_nodes=whole_nodes),))
    program = {"app_type": "other", "executable": "./a", "threads": 2}
    tuned = {"enable_autotuning": True, "autotuning": {"tuner": "autotune", "space": {"layout": {"threads": [1, 2, 4]}}}}
    options = {"node_count": 1, "process_count_per_node": 1, "wall_time_limit": "5:00:00"}
    named = {"application__" + name: value for name, value in program.items()}
    return asked("site", "toy", job_options=options, optimisation=tuned, **named), Facts(version="", systems={"site": system})


@pytest.mark.parametrize(("whole", "seconds"), [(False, {1: 14400, 2: 7200, 4: 3600}), (True, {1: 3600, 2: 3600, 4: 3600})])
def test_a_trial_on_a_part_of_a_node_uses_as_much_of_the_budget(tmp_path: Path, whole: bool, seconds: dict[int, float]) -> None:
    """A node-hour is four hours on one of its four cores, where jobs share it."""
    base, facts = on_half_a_node(whole)
    space = grid_of(base)
    with opened(tmp_path, space, identity(base), {}) as study:
        limits = SearchLimits(base, facts, space, study, SearchOptions(budget_node_hours=1, confirm=0))
        (threads,) = space.parameters
        assert {int(value): limits.of_trial((place,)) for place, value in enumerate(threads.values)} == seconds


@pytest.mark.parametrize(("whole", "holds"), [(False, True), (True, False)])
def test_the_least_that_a_trial_takes_is_of_its_part_of_a_node(tmp_path: Path, whole: bool, holds: bool) -> None:
    """A minute on two of four cores is half of one of the node: 0.01 node-hours are enough for one trial."""
    base, facts = on_half_a_node(whole)
    space = grid_of(base)
    with opened(tmp_path, space, identity(base), {}) as study:
        limits = SearchLimits(base, facts, space, study, SearchOptions(budget_node_hours=0.01, confirm=0))
        with nullcontext() if holds else pytest.raises(Infeasible, match=r"0\.01 node-hours are not enough"):
            assert limits.enough([]) is None


@pytest.mark.parametrize(("share", "waits"), [(1.0, True), (0.25, False)])
def test_another_trial_starts_beside_one_that_takes_little_of_the_budget(tmp_path: Path, share: float, waits: bool) -> None:
    """Of one node-hour, a trial that may run two hours leaves nothing, or half."""
    running = Trial(1, (1,), "running", None, RunState(share=share, limit_s=7200))
    with limits_after(tmp_path, [], SearchOptions(budget_node_hours=1, confirm=0)) as limits:
        assert limits.waits([running]) is waits


@pytest.mark.parametrize(("share", "hours"), [(1.0, 3.0), (0.25, 0.75)])
def test_node_hours_of_a_run_are_of_the_part_that_it_takes(share: float, hours: float) -> None:
    """Also those of a start that was interrupted."""
    assert RunState(nodes=2, share=share, seconds=3600, interrupted_s=1800).node_hours == hours
