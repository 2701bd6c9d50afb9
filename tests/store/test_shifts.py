"""Results that grew old: what is found when they are loaded and judged, and what models make of it, on both databases."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date

import numpy as np
import pytest
from sqlalchemy import text

from modak import knowledge
from modak.facts import NotedShift
from modak.perfmodel import predict
from modak.perfmodel.matching.questions import Question
from modak.results.shifts import date_of
from modak.store import Store, migrate, shifts
from modak.store.engine import reading, writing
from modak.store.suspects import Judgement
from modak.text.numbering import Measured
from tests.store.tables import ME, csv_table, opened, results_of

HEADER = "application,system,nodes,metric,unit,value,measured_at\n"
BEFORE, AFTER = range(1, 11), range(11, 17)
"""Days of March."""


def rows(days: Sequence[int], system: str = "here", *, slower: float = 1.2, application: str = "solver", rate: bool = False) -> str:
    """A run on each of four numbers of nodes a day, up to 1% apart; since the 11th slower."""
    metric = "throughput,samples/s" if rate else "wall_time,s"
    costs = (
        (day, nodes, 400 / nodes * (slower if day > 10 else 1) * (1 + 0.01 * (day * nodes % 3 - 1)))
        for day in days
        for nodes in (1, 2, 4, 8)
    )
    return "".join(f"{application},{system},{nodes},{metric},{1 / cost if rate else cost},2026-03-{day:02}\n" for day, nodes, cost in costs)


def load(store: Store, *parts: str) -> tuple[str, ...]:
    """Load rows; returns the notes on shifts."""
    notes = store.load([csv_table(HEADER + "".join(parts))], ME).notes
    return tuple(note for note in notes if "since" in note)


def on_two_nodes(store: Store, application: str = "solver") -> float:
    """What the models predict, in seconds for a run or a sample."""
    return float(predict(store.models(application), Question({}), [2]).value[0])


def shifted(store: Store, application: str = "solver") -> NotedShift | None:
    """The shift to which results of an application are scaled."""
    return store.models(application)[0].shifted


@pytest.mark.parametrize("rate", [False, True])
def test_models_scale_what_is_older_than_a_shift(store: Store, *, rate: bool) -> None:
    """Of times and of rates; a load says so, and the facts of a request tell it. The first days may be busy ones: then predictions are
    half-way, and intervals reach as far as both."""
    assert load(store, rows(BEFORE, rate=rate)) == ()
    for day in AFTER[:3]:
        (note,) = load(store, rows([day], rate=rate))
        assert note.startswith("runs of 'solver' on here take perhaps 2")
        assert "% longer since 2026-03-11 (" in note
        found, half_way = shifted(store), predict(store.models("solver"), Question({}), [2])
        assert found is not None
        assert not found.sure
        assert half_way.value == pytest.approx(200 * math.sqrt(1.2), rel=0.02)
        assert half_way.width.holds(np.log([190, 250] / half_way.value)).all()
    (note,) = load(store, rows(AFTER[3:], rate=rate))
    assert note.startswith("runs of 'solver' on here take 20% longer since 2026-03-11 (")
    assert on_two_nodes(store) == pytest.approx(240, rel=0.01)
    found = shifted(store)
    assert found is not None
    assert (found.since, round(found.ratio, 2), found.sure) == (date(2026, 3, 11), 1.2, True)


def test_a_busy_day_is_over(store: Store) -> None:
    """What it had changed is as it was once another one is as usual."""
    load(store, rows(BEFORE))
    load(store, rows([11]))
    assert on_two_nodes(store) == pytest.approx(200 * math.sqrt(1.2), rel=0.02)
    load(store, rows([12], slower=1))
    assert shifted(store) is None
    assert on_two_nodes(store) == pytest.approx(200, rel=0.01)


def test_what_says_no_time_is_not_scaled(store: Store) -> None:
    """Rows without time are of neither side, and a table without times has no shifts."""
    untimed = rows(AFTER).replace(",2026-03-", ",").replace(",11\n", ",\n")
    assert load(store, "".join(f"{line.rpartition(',')[0]},\n" for line in untimed.splitlines())) == ()
    load(store, rows(BEFORE), rows(AFTER), "solver,here,64,wall_time,s,50,\n")
    assert shifted(store)
    assert float(predict(store.models("solver"), Question({}), [64]).value[0]) == pytest.approx(50, rel=0.01)


@pytest.mark.parametrize(
    ("judgement", "since", "until", "seconds"),
    [("doubt", "2026-03-11", None, 200), ("doubt", "2000-01-01", "2026-03-10", 240), ("confirm", "2000-01-01", "2026-03-10", 202)],
)
def test_somebody_settles_a_shift(store: Store, judgement: Judgement, since: str, until: str | None, seconds: float) -> None:
    """By leaving out either side, or by letting both count as they are; taken back, it is there again."""
    load(store, rows(BEFORE), rows(AFTER))
    chosen = Measured(since, until, {"system": "here"})
    store.judge(judgement, chosen, ME, "the update")
    assert shifted(store) is None
    assert on_two_nodes(store) == pytest.approx(seconds, rel=0.01)
    store.judge("unmark", chosen, ME)
    assert on_two_nodes(store) == pytest.approx(240, rel=0.01)


def test_applications_are_pooled_on_a_system(store: Store, known: knowledge.Knowledge) -> None:
    """Under all of its names; an application that is not slower keeps its values. What one that nobody ran since takes now is unsure."""
    (system,) = [one.model_copy(update={"aliases": ("sng",)}) for one in known.systems if one.name == "hlrs-testbed"]
    store.add([system], ME)
    slow = [rows([*BEFORE, *AFTER], "sng" if number % 2 else "hlrs-testbed", application=f"slow{number}") for number in range(4)]
    same = rows([*BEFORE, *AFTER], "sng", application="same", slower=1)
    (note,) = load(store, *slow, same, rows(BEFORE, "sng", application="old"), rows(AFTER, "sng", application="new"))
    assert note.startswith("runs on hlrs-testbed take 20% longer since 2026-03-11 (")
    assert [on_two_nodes(store, name) for name in ("slow0", "slow1", "same", "old")] == pytest.approx([240, 240, 200, 240], rel=0.01)
    assert [shifted(store, name) is None for name in ("slow0", "same", "old", "new")] == [False, True, False, True]
    assert [store.models(name)[0].unsure > 0.05 for name in ("slow0", "old")] == [False, True]


def test_what_ran_under_another_name_of_its_system_is_the_same(store: Store, known: knowledge.Knowledge) -> None:
    """Also where only the one was used before a shift, and only the other since; spellings of one name are told of once."""
    (system,) = [one.model_copy(update={"aliases": ("sng",)}) for one in known.systems if one.name == "hlrs-testbed"]
    store.add([system], ME)
    (note,) = load(store, rows(BEFORE, "sng"), rows(AFTER, "hlrs-testbed"))
    assert note.startswith("runs of 'solver' on hlrs-testbed take 20% longer since 2026-03-11 (")
    assert on_two_nodes(store) == pytest.approx(240, rel=0.01)
    (note,) = load(store, rows([*BEFORE, *AFTER], "there"), rows([*BEFORE, *AFTER], "There", application="heat"))
    assert note.startswith("runs on there take 20% longer since 2026-03-11 (")


def test_of_many_runs_some_of_each_time_are_looked_at(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is older is neither all nor nothing of them, and a series counts as having run before and since if any of its runs did."""
    monkeypatch.setattr(shifts, "MOST_RUNS", 100)
    repeated = "".join(f"{line}T{hour:02}:00:00Z\n" for line in rows([*BEFORE, *AFTER]).splitlines() for hour in range(10))
    (note,) = load(store, repeated, rows([10, 16], rate=True))
    assert "since 2026-03-11" in note
    assert on_two_nodes(store) == pytest.approx(240, rel=0.02)
    assert all(one.shifted for one in store.models("solver"))
    load(store, rows([17]), *(rows([17], f"s{number}") for number in range(20)))
    assert on_two_nodes(store) == pytest.approx(240, rel=0.02)


def test_of_many_series_some_are_looked_at_and_all_are_scaled(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of those of one load not the first ones, which may all be of one application, and none that ran on one day only."""
    monkeypatch.setattr(shifts, "MOST_SERIES", 5)
    once = [rows([10], application=f"once{number}") for number in range(20)]
    (note,) = load(store, *once, *(rows([*BEFORE, *AFTER], application=f"s{number}") for number in range(20)))
    assert note.startswith("runs on here take 20% longer since 2026-03-11")
    names = [f"{kind}{number}" for kind in ("s", "once") for number in range(20)]
    assert all(shifted(store, name) for name in names)
    (note,) = load(store, rows([17], application="s7"))
    assert note.startswith("runs on here take 20% longer")
    assert all(shifted(store, name) for name in names)
    store.judge("doubt", Measured("2026-03-11", None, {"system": "here"}), ME, "a broken fan")
    assert not any(shifted(store, name) for name in names)


def test_a_load_tells_of_its_own_applications(store: Store) -> None:
    """And of whole systems; on each of these by itself."""
    load(store, rows([*BEFORE, *AFTER]), rows([*BEFORE, *AFTER], application="same", slower=1))
    assert load(store, rows([17], application="same", slower=1)) == ()
    assert load(store, rows([17], "there")) == ()
    assert len(load(store, rows([17]))) == 1


def test_what_other_results_show_has_models_fitted_again(store: Store) -> None:
    """Three days of one application are too few to be sure, until another one shows the shift of the system."""
    load(store, rows(BEFORE), rows(AFTER[:3]))
    assert on_two_nodes(store) == pytest.approx(200 * math.sqrt(1.2), rel=0.02)
    (note,) = load(store, rows([*BEFORE, *AFTER], application="heat"))
    assert note.startswith("runs on here take 20% longer")
    assert on_two_nodes(store) == pytest.approx(240, rel=0.01)


def test_a_shift_that_is_about_as_large_stays_as_it_was_noted(store: Store) -> None:
    """So that not each further run has all series of a system fitted again."""
    load(store, rows([*BEFORE, *AFTER]), rows([*BEFORE, *AFTER], application="heat"))
    before = shifted(store, "heat")
    assert before is not None
    load(store, rows(range(17, 27), slower=1.205), rows(range(17, 27), slower=1.205, application="heat"))
    assert shifted(store, "heat") == before


def test_what_is_not_looked_at_keeps_its_shift(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A load looks at the series that got results last, up to a number; without any runs that models use there is none."""
    load(store, rows([*BEFORE, *AFTER], application="heat"))
    with monkeypatch.context() as patched:
        patched.setattr(shifts, "MOST_SERIES", 1)
        load(store, rows([*BEFORE, *AFTER, 17]))
        assert shifted(store, "heat")
    load(store, "heat,here,2,wall_time,s,200,\n")
    store.judge("doubt", Measured("2026-03-01", None, {"application": "heat"}), ME, "another machine")
    assert shifted(store, "heat") is None


def test_only_times_and_rates_are_scaled(store: Store) -> None:
    """What runs take tells nothing of the memory that they need, whichever of them tells it."""
    memory = rows([*BEFORE, *AFTER], slower=1).replace("wall_time,s", "memory,MB")
    load(store, rows([*BEFORE, *AFTER]), rows([*BEFORE, *AFTER], application="heat"), memory)
    with reading(store.engine) as connection:
        noted = connection.execute(text("SELECT metric FROM series WHERE shifts IS NOT NULL")).scalars().all()
    assert noted == ["wall_time", "wall_time"]


def test_a_machine_that_was_repaired_is_as_it_was(store: Store) -> None:
    """Runs took longer for ten days: what is older counts as it is, and these days as what they would have been without."""
    notes = load(
        store, rows([*BEFORE, *AFTER, *range(17, 21)]), rows(range(21, 27), slower=1), "solver,here,64,wall_time,s,50,2026-03-05\n"
    )
    assert [" ".join(note.split()[6:11]) for note in notes] == ["20% longer since 2026-03-11 (19", "17% less time since 2026-03-21"]
    assert on_two_nodes(store) == pytest.approx(200, rel=0.01)
    assert float(predict(store.models("solver"), Question({}), [64]).value[0]) == pytest.approx(50, rel=0.01)
    found = shifted(store)
    assert found is not None
    assert (found.since, round(found.ratio, 2)) == (date(2026, 3, 21), 0.83)


def test_what_is_measured_of_a_run_is_one_configuration(store: Store) -> None:
    """Two numbers of nodes are two, also if runs tell their time and their speed; each series is scaled."""
    one = [line for line in rows([*BEFORE, *AFTER]).splitlines(keepends=True) if line.split(",")[2] in ("1", "2")]
    both = [line for line in rows([*BEFORE, *AFTER], rate=True).splitlines(keepends=True) if line.split(",")[2] in ("1", "2")]
    assert load(store, *one, *both) == ()
    (note,) = load(store, rows([*BEFORE, *AFTER]), rows([*BEFORE, *AFTER], rate=True))
    assert "; 4 configurations on" in note
    assert all(curve.shifted for curve in store.models("solver"))


def test_an_upgrade_keeps_what_was_noted(url: str) -> None:
    """Models scale on, also on systems of which no more results come; an older version keeps the last shift of each series."""
    with opened(url) as store:
        load(store, rows([*BEFORE, *AFTER, *range(17, 21)]), rows(range(21, 27), slower=1), rows(BEFORE, application="old"))
        load(store, rows([*BEFORE, *AFTER], "there", application="other"))
        with writing(store.engine) as connection:
            migrate.to(connection, "0011")
            kept = connection.execute(text("SELECT shifted_on, shift FROM series WHERE shift IS NOT NULL ORDER BY id")).all()
    with opened(url) as store:
        found = {name: shifted(store, name) for name in ("solver", "old", "other")}
        assert on_two_nodes(store, "other") == pytest.approx(240, rel=0.01)
        (note,) = load(store, rows([17], "there", application="other"))
        assert "20% longer" in note
        assert shifted(store, "other") == found["other"]
    assert [(str(date_of(day)), round(ratio, 2)) for day, ratio in kept] == [("2026-03-21", 0.83), ("2026-03-11", 1.2)]
    assert {name: one and str(one.since) for name, one in found.items()} == {"solver": "2026-03-21", "old": None, "other": "2026-03-11"}


def test_what_somebody_confirmed_is_not_scaled(store: Store) -> None:
    """A result from before a shift is right as it is."""
    load(store, rows(BEFORE), rows(AFTER), "solver,here,64,wall_time,s,50,2026-03-05\n")
    assert float(predict(store.models("solver"), Question({}), [64]).value[0]) == pytest.approx(60, rel=0.02)
    (number,) = (one.id for one in results_of(store, "solver") if one.layout.nodes == 64 and one.id)
    store.judge("confirm", [number], ME)
    assert float(predict(store.models("solver"), Question({}), [64]).value[0]) == pytest.approx(50, rel=0.01)
