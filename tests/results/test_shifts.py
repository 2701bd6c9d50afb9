"""Since when runs take longer, or less."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from modak.results.shifts import Configuration, Shift, TimedRun, date_of, of_system, on_systems, sentence, shifts

FIRST = 20_600
"""The first day of runs."""


def runs(
    factor: Callable[[int, int], float], *, days: int = 20, several: int = 6, seed: int = 1, noise: float = 0.02, often: float = 1.0
) -> list[TimedRun]:
    """Runs of some configurations on days in a row, some 2% apart; ``factor``: of what they take, by configuration and day."""
    chance = np.random.default_rng(seed)
    return [
        TimedRun(Configuration("solver", (one,)), FIRST + day, 100 * (one + 1) * factor(one, day) * math.exp(chance.normal(0, noise)))
        for day in range(days)
        for one in range(several)
        if chance.random() < often
    ]


def shift(runs: Sequence[TimedRun]) -> Shift | None:
    """The only sure shift of runs."""
    found = [one for one in shifts(runs) if one.sure]
    assert len(found) < 2
    return found[0] if found else None


def named(application: str, run: TimedRun) -> TimedRun:
    """The run, of another application."""
    return run._replace(configuration=run.configuration._replace(application=application))


def since(day: int, ratio: float) -> Callable[[int, int], float]:
    """All configurations take so many times as long since a day."""
    return lambda _, at: ratio if at >= day else 1.0


@pytest.mark.parametrize("ratio", [1.1, 1.5, 0.9])
def test_a_shift_is_found_with_its_day_and_size(ratio: float) -> None:
    """Slower or faster; its interval has the truth."""
    found = shift(runs(since(12, ratio)))
    assert found is not None
    assert (found.day, found.days, len(found.ratios)) == (FIRST + 12, (12, 8), 6)
    assert found.ratio == pytest.approx(ratio, rel=0.02)
    assert found.interval[0] < ratio < found.interval[1]


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (runs(since(12, 1.0)), "nothing has changed"),
        (runs(since(12, 1.02)), "hardly anything has"),
        (runs(since(17, 1.3)), "three days may be busy ones"),
        (runs(since(3, 1.3)), "so may those before it"),
        (runs(since(12, 1.3), several=2), "two configurations may have got other data"),
        (runs(lambda _, at: 1.3 if at in (5, 6, 13) else 1.0), "busy days are over"),
        (runs(lambda one, at: 1.5 if one == 0 and at >= 12 else 1.0), "one configuration of six is not all of them"),
        (runs(lambda one, at: 1.3 if one % 2 and at >= 12 else 1.0), "so are three of six"),
        (runs(lambda _, at: 1 + 0.01 * at, noise=0.005), "a drift has no day"),
        (runs(lambda _, at: 1 + 0.01 * at, days=30, noise=0.03, often=0.4, seed=5), "nor has it one where runs scatter more than it grows"),
        ([run for run in runs(since(12, 1.3)) if (run.configuration.run[0] < 3) == (run.day < FIRST + 12)], "none ran before and since"),
        ([run for run in runs(since(12, 1.3)) if run.day == FIRST], "all ran on one day"),
        ([], "there are no runs"),
    ],
)
def test_there_is_none(made: list[TimedRun], why: str) -> None:
    """Where something else explains what is seen."""
    assert shift(made) is None, why


@pytest.mark.parametrize(
    ("made", "days", "ratio"),
    [
        (runs(since(19, 1.2)), 1, 1.2),
        (runs(since(18, 0.85), often=0.5), 2, 0.85),
        (runs(since(17, 1.3)), 3, 1.3),
        (runs(since(4, 1.2), days=5), 1, 1.2),
        (runs(lambda _, at: 1.4 if at > 24 else 1.2 if at > 11 else 1.0, days=27), 2, 1.4 / 1.2),
        (runs(lambda _, at: 1 + 0.01 * at, noise=0.005), 8, 1.12),
        (runs(since(3, 1.2), days=4), 0, 1),
        (runs(since(19, 1.02)), 0, 1),
        (runs(since(19, 1.2), several=2), 0, 1),
        (runs(lambda one, at: 1.5 if one == 0 and at >= 12 else 1.0), 0, 1),
        (runs(lambda _, at: 1.2 if at == 18 else 1.0), 0, 1),
        (runs(since(19, 1.1), noise=0.12), 0, 1),
    ],
)
def test_the_newest_days_may_be_unlike_all_before(made: list[TimedRun], days: int, ratio: float) -> None:
    """From one day on, since the last shift that is sure; it is known that runs took longer, but not whether that lasts. What is over is
    nothing, nor is what days or runs scatter by anyway, nor what too few days before or configurations show."""
    found = [one for one in shifts(made) if not one.sure]
    assert [one.days[1] for one in found] == [days] * bool(days)
    assert [one.ratio for one in found] == [pytest.approx(ratio, rel=0.03)] * bool(days)


def test_days_of_one_configuration_do_not_count_for_all() -> None:
    """Nine of ten configurations ran on one day since, which may have been busy, however often the tenth did."""
    rare = [run for run in runs(since(12, 1.3), several=10) if run.day <= FIRST + 12 or run.configuration.run == (0,)]
    assert shift(rare) is None


def test_the_day_is_found_where_few_configurations_run_on_each() -> None:
    """Of twelve, a third a day: what a day takes and what a configuration takes are told apart in turn."""
    found = shift(runs(since(12, 1.3), several=12, often=0.35, seed=3))
    assert found is not None
    assert found.day == FIRST + 12


@pytest.mark.parametrize(
    ("seed", "like", "scatter", "several", "days", "often"),
    [*((seed, 0.8, 0.03, 6, 24, 1.0) for seed in (38, 47, 50, 56)), (47, 0.7, 0.025, 12, 30, 0.15)],
)
def test_days_that_are_like_those_before_them_tell_less(
    seed: int, like: float, scatter: float, several: int, days: int, often: float
) -> None:
    """Busy times last: what would look like a shift if days were independent is none, nor if configurations ran on few of them."""
    chance, level = np.random.default_rng(seed), [0.0]
    for _ in range(days - 1):
        level.append(like * level[-1] + chance.normal(0, scatter))
    assert shift(runs(lambda _, at: math.exp(level[at]), days=days, seed=seed, several=several, often=often)) is None


def test_an_outlier_hides_no_shift() -> None:
    """A run that took ten times as long, and another that took a tenth."""
    made = runs(since(12, 1.15))
    made[5], made[-9] = made[5]._replace(cost=10 * made[5].cost), made[-9]._replace(cost=made[-9].cost / 10)
    found = shift(made)
    assert found is not None
    assert found.day == FIRST + 12
    assert found.ratio == pytest.approx(1.15, rel=0.01)


def test_many_runs_of_a_day_tell_as_much_as_one() -> None:
    """Three busy days are not more with fifty runs on each."""
    assert shift([run for run in runs(since(17, 1.3)) for _ in range(50)]) is None


def test_unchanged_runs_raise_no_alarm() -> None:
    """Of a hundred series that grow day by day, whose days and runs scatter with heavy tails, none does in the last eight loads. That the
    newest days are unlike the others is said in one of twenty at most."""
    chance, unlike = np.random.default_rng(7), 0
    for seed in range(100):
        days = np.exp(0.03 * chance.standard_t(3, 24))
        made = runs(lambda _, at, busy=days: float(busy[at]), days=24, several=8, seed=seed, often=0.5)  # type: ignore[misc]
        found = [one for last in range(17, 25) for one in shifts([run for run in made if run.day < FIRST + last])]
        assert not any(one.sure for one in found)
        unlike += len(found)
    assert 0 < unlike <= 40


def test_an_application_is_told_from_its_system() -> None:
    """One of three that takes longer is named; if all do, the system is; if only one ran, that is named."""
    one, *others = ([named(name, run) for run in made] for name, made in (
        ("solver", runs(since(12, 1.2), seed=1)), ("heat", runs(since(12, 1.0), seed=2)), ("wave", runs(since(12, 1.0), seed=3))
    ))  # fmt: skip
    assert [name for name, _ in of_system([*one, *others[0], *others[1]])] == ["solver"]
    assert [name for name, _ in of_system(one)] == ["solver"]
    both = [named("heat" if run.configuration.run[0] % 2 else "solver", run) for run in runs(since(12, 1.2))]
    assert [name for name, _ in of_system(both)] == [None]
    beside = [
        named("heat" if run.configuration.run[0] == 5 else "solver", run)
        for run in runs(lambda one, at: 1.2 if one < 5 and at >= 12 else 1)
    ]
    assert [name for name, _ in of_system(beside)] == ["solver"]


def test_a_day_that_may_be_a_busy_one_hides_no_shift_of_an_application() -> None:
    """On the last day all runs take longer, and those of one application have for a week."""
    slow = [named("solver", run) for run in runs(lambda _, at: 1.2 if at == 19 else 1.1 if at >= 11 else 1.0)]
    busy = [named(name, run) for seed, name in enumerate(("heat", "wave"), 2) for run in runs(since(19, 1.2), seed=seed)]
    assert next((name, one.sure) for name, one in of_system([*slow, *busy])) == ("solver", True)
    assert [(name, one.sure) for name, one in of_system(busy)] == [(None, False)]


@pytest.mark.parametrize(
    ("own", "application", "unsure"),
    [
        ("a", "solver", 0),
        ("b", "solver", None),
        ("ac", "solver", 0),
        ("c", "solver", 0.0947),
        ("c", "heat", None),
        ("c", "another", 0.2309),
    ],
)
def test_what_shows_a_shift(own: str, application: str, unsure: float | None) -> None:
    """Configurations that ran before and since, by half at least. If none did, those of the application tell, or else all.
    Few applications tell little."""
    ratios = {"a": ("solver", 1.2), "d": ("solver", 1.2), "b": ("solver", 1.02), "e": ("heat", 1.0), "f": ("wave", 1.2)}
    of = {name: Configuration(ratios[name][0] if name in ratios else application, (name,)) for name in "abcdef"}
    found = Shift(FIRST, 1.2, (1.1, 1.3), (5, 5), {of[name]: ratio for name, (_, ratio) in ratios.items()})
    assert found.unsure([of[name] for name in own], application) == (unsure and pytest.approx(unsure, abs=0.001))


@pytest.mark.parametrize(
    ("levels", "ratios"),
    [
        ([(0, 1.0), (12, 1.2), (24, 1.0)], [1.2, 1 / 1.2]),
        ([(0, 1.0), (12, 1.2), (36, 1.0)], [1.2, 1 / 1.2]),
        ([(0, 1.0), (12, 1.15), (24, 1.3)], [1.15, 1.3 / 1.15]),
        ([(0, 1.0), (12, 0.85), (24, 1.05), (36, 1.25)], [0.85, 1.05 / 0.85, 1.25 / 1.05]),
    ],
)
def test_several_shifts_are_told_apart(levels: list[tuple[int, float]], ratios: list[float]) -> None:
    """Each by the runs since the one before it, and before the one after it: a machine that was repaired is as it was."""
    found = shifts(runs(lambda _, at: next(level for day, level in reversed(levels) if at >= day), days=levels[-1][0] + 5))
    days = [FIRST + day for day, _ in levels]
    assert [one.day for one in found] == days[1:]
    assert [one.ratio for one in found] == pytest.approx(ratios, rel=0.02)
    assert [(one.after, one.until) for one in found] == list(zip([None, *days[1:]], [*days[2:], None], strict=False))


def test_a_busy_week_is_no_pair_of_shifts() -> None:
    """What began and ended within eight days."""
    assert not shifts(runs(lambda _, at: 1.3 if 12 <= at < 19 else 1.0, days=30))


def test_what_is_measured_of_a_run_is_one_configuration() -> None:
    """Two configurations are not four where runs tell their total time and their speed."""
    both = [
        run._replace(configuration=run.configuration._replace(metric=(metric,)))
        for run in runs(since(12, 1.3), several=2)
        for metric in "ab"
    ]
    assert shift(both) is None
    three = [
        run._replace(configuration=run.configuration._replace(metric=(metric,)))
        for run in runs(since(12, 1.3), several=3)
        for metric in "ab"
    ]
    found = shift(three)
    assert found is not None
    assert found.configurations == 3
    assert found.interval == pytest.approx(shift(runs(since(12, 1.3), several=3)).interval, rel=0.01)  # type: ignore[union-attr]


def test_a_sentence_names_the_commands() -> None:
    """With names that a shell would split in quotes."""
    one = Shift(FIRST, 0.87, (0.85, 0.89), (5, 6), {Configuration("solver", ()): 0.87})
    text = sentence(one, "my cluster", "solver")
    assert text.startswith(
        f"runs of 'solver' on my cluster take 13% less time since {date_of(FIRST)} (11 to 15%; 1 configuration on 5 days"
    )
    assert f"--until {date_of(FIRST - 1)}" in text
    assert "--where 'system=my cluster' --where application=solver" in text
    between = sentence(replace(one, after=FIRST - 9, until=FIRST + 9), "my cluster", "solver")
    assert f"doubt --since {date_of(FIRST)} --until {date_of(FIRST + 8)} --where" in between
    assert f"--since {date_of(FIRST - 9)} --until {date_of(FIRST - 1)} the earlier ones" in between


def test_a_sentence_tells_the_interval_from_its_near_edge() -> None:
    """Edges are compared as numbers, not as text."""
    found = [Shift(FIRST, ratio, interval, (5, 6), {}) for ratio, interval in ((1.11, (1.09, 1.13)), (0.9, (0.87, 0.92)))]
    assert [sentence(one, "here", None).partition("(")[2].partition(";")[0] for one in found] == ["9 to 13%", "8 to 13%"]


def test_records_that_are_compared() -> None:
    """Times, and rates by their inverse, of a named system; not what models leave out, what is confirmed, a bound, or a loss."""
    run: dict[str, object] = {
        "application": "solver",
        "system": "here",
        "nodes": 2,
        "metric": "wall_time",
        "unit": "s",
        "value": 4.0,
        "source": "x",
        "id": 1,
    }
    others: list[dict[str, object]] = [
        {"suspect": "slow"},
        {"by_hand": True},
        {"system": None},
        {"metric": "stopped_after"},
        {"metric": "loss", "unit": "1"},
    ]
    rate = run | {"metric": "throughput", "unit": "samples/s"}
    (made,) = on_systems((record, FIRST * 86_400_000_000) for record in [run, rate, *(run | other for other in others)]).values()
    assert [(one.configuration.application, one.day, one.cost) for one in made] == [("solver", FIRST, 4.0), ("solver", FIRST, 0.25)]
    assert made[0].configuration != made[1].configuration
    assert made[0].configuration.run == made[1].configuration.run
