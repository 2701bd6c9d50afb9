"""Rows that take the place of others, rows that loading doubts, and the database of the version before."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence

import pytest
from sqlalchemy import text

from modak.dsl import Texts
from modak.errors import DataError, NotFound, RequestError
from modak.ingest.reading import table
from modak.ingest.sources import from_bytes
from modak.ingest.table import Options, Table
from modak.store import Store, migrate, open_store, upgrade
from modak.store.audit import Actor
from modak.store.engine import connect, supported, writing
from modak.store.suspects import Judgement
from modak.text.numbering import Measured, shortened
from tests.store.tables import HEADER, ME, ROWS, csv_table, opened, results_of

LINE = "3dgan,clic,supermuc-ng,4,4,12,epoch_time,{},s,1,2025-03-01T12:00:00+01:00,table 1,\n"


def line(value: float, nodes: int = 4, repeat: int = 1) -> str:
    """A row of the same series."""
    return LINE.format(value).replace(",4,4,12,", f",{nodes},4,12,").replace("s,1,", f"s,{repeat},")


def values(store: Store) -> list[float]:
    """The values that stand, in order of size."""
    return sorted(result.value for result in results_of(store, "3dgan"))


def test_a_corrected_row_replaces_its_predecessor(store: Store) -> None:
    """The old value stays with when and by whom; models follow; every other row stays."""
    store.load([csv_table(ROWS)], ME)
    store.models()
    report = store.load([csv_table(HEADER + LINE.format(940), "better.csv")], Actor("you"), replace=True)
    assert (report.new, report.replaced, report.models) == (1, 1, 1)
    assert 940 in values(store)
    assert len(values(store)) == 8
    (old,) = store.replaced().items
    assert (old.result.value, old.principal, old.file) == (3806.5 / 4, "you", "better.csv")
    assert store.models()[0].costs[0] == pytest.approx((940 + 3806.5 / 4) / 2)


def test_a_job_of_a_measured_run_changes_the_model_of_the_table(store: Store) -> None:
    """The model rests on the table's series; that of the job, which says its image, has none of its own yet, and afterwards no more."""
    head, row = "application,system,nodes,ranks_per_node,metric,value,unit,image\n", "solver,here,{},4,wall_time,{},s,{}\n"
    store.load([csv_table(head + row.format(1, 80, "") + row.format(2, 41, ""))], ME)
    assert len(store.models()) == 1
    assert store.load([csv_table(head + row.format(4, 22, "a/b:1"))], ME).models == 1
    assert len(store.models()) == 1
    assert store.load([csv_table(head + row.format(4, 23, "a/b:1"))], ME).models == 1


def test_what_was_replaced_does_not_come_back_by_itself(store: Store) -> None:
    """Loading the old file again, even under other bytes, adds nothing; asking for replacement brings it back."""
    store.load([csv_table(ROWS)], ME)
    store.load([csv_table(HEADER + LINE.format(940))], ME, replace=True)
    assert store.load([csv_table(ROWS + "\n")], ME).new == 0
    assert 940 in values(store)
    again = store.load([csv_table(ROWS)], ME, replace=True)
    assert (again.new, again.replaced) == (0, 1)
    assert 940 not in values(store)
    assert len(values(store)) == 8


def test_the_trail_says_how_many_rows_a_load_replaced(store: Store) -> None:
    """Also if no row of it is new: the row that it brings back was in the database."""
    for rows, name in ((ROWS, "first.csv"), (HEADER + LINE.format(940), "wrong.csv"), (ROWS, "first.csv")):
        store.load([csv_table(rows, name)], ME, replace=True)
    targets = [entry.target for entry in reversed(store.access.audit("", 10).items)]
    assert targets == ["first.csv (8 of 8 rows)", "wrong.csv (1 of 1 rows), 1 row replaced", "first.csv (0 of 8 rows), 1 row replaced"]


def test_replacing_with_the_same_rows_changes_nothing(store: Store) -> None:
    """No row, no history, no new version of the data."""
    first = store.load([csv_table(ROWS)], ME)
    report = store.load([csv_table(ROWS)], ME, replace=True)
    assert (report.new, report.replaced, report.version) == (0, 0, first.version)
    assert store.replaced().items == ()


def test_pages_of_what_was_replaced_are_the_whole(store: Store) -> None:
    """The last load first; each page goes on where the one before ended."""
    store.load([csv_table(ROWS)], ME)
    for value in (940, 941, 942):
        store.load([csv_table(HEADER + LINE.format(value))], ME, replace=True)
    whole, pages = store.replaced(), [store.replaced(limit=1)]
    while pages[-1].next:
        pages.append(store.replaced(cursor=pages[-1].next, limit=1))
    assert [[item.result.value for item in page.items] for page in pages] == [[941], [940], [3806.5 / 4]]
    assert (tuple(item for page in pages for item in page.items), whole.next) == (whole.items, None)


def test_an_export_leaves_out_what_was_replaced(store: Store) -> None:
    """So does a page of results."""
    store.load([csv_table(ROWS)], ME)
    store.load([csv_table(HEADER + LINE.format(940))], ME, replace=True)
    assert sum(1 for _ in store.export_rows()[1]) == len(store.results(limit=1000).items) == 8


TABLE = "application,nodes,metric,value,epochs\n" + "".join(f"solver,{nodes},wall_time,{800 / nodes},{nodes}\n" for nodes in (1, 2, 4))
PLAINLY = {"epochs": ""}


def read_with(rename: Mapping[str, str] = PLAINLY, **fill: str) -> Table:
    """The table, read with these options."""
    return csv_table(TABLE, "my table.csv", Options(rename, fill))


def test_a_file_that_is_read_anew_does_not_count_twice(store: Store) -> None:
    """Without --replace nothing is stored, and the error is the command that puts its rows in the place of the old ones."""
    store.load([read_with()], ME)
    command = "modak load 'my table.csv' --map 'epochs=' --set 'system=my cluster' --replace"
    said = r"my table.csv: loaded on 20\d\d.* with other options: 3 of its rows stand, and would count twice; .*" + re.escape(command)
    with pytest.raises(DataError, match=said):
        store.load([read_with(system="my cluster")], ME)
    with pytest.raises(DataError, match=r"copy.csv: loaded as my table.csv on .* 'modak load copy.csv --format csv --map .*"):
        store.load([csv_table(TABLE, "copy.csv", Options(PLAINLY, {"system": "mine"}, "csv"))], ME)
    report = store.load([read_with(system="my cluster")], ME, replace=True)
    assert (report.new, report.replaced, report.notes) == (3, 3, ("unknown system 'my cluster'; its rows are kept",))
    assert [each.series.system for each in results_of(store, "solver")] == ["my cluster"] * 3
    assert store.load([read_with()], ME).new == 0


def test_options_that_change_nothing_are_no_contradiction(store: Store) -> None:
    """All rows are there already; with --replace they stay, too."""
    store.load([read_with()], ME)
    for replace in (False, True):
        report = store.load([read_with(unit="s")], ME, replace=replace)
        assert (report.new, report.duplicates, report.replaced) == (0, 3, 0)


def test_another_column_of_values_is_another_measurement(store: Store) -> None:
    """A file is loaded once for each metric in it."""
    store.load([read_with()], ME)
    assert store.load([read_with({"epochs": "value", "value": "", "metric": ""}, metric="epoch_time")], ME).new == 3
    assert store.load([read_with(system="mine")], ME, replace=True).replaced == 3


def test_rows_that_somebody_took_out_may_be_loaded_anew(store: Store) -> None:
    """They count no more."""
    store.load([read_with()], ME)
    store.judge("doubt", "my table.csv", ME, "no system")
    assert store.load([read_with(system="mine")], ME).new == 3


def test_a_file_of_failed_runs_alone_replaces_nothing(store: Store) -> None:
    """It has no rows, but notes."""
    failed = table(from_bytes(b"JobID|JobName|State|ElapsedRaw\n1|a|FAILED|9\n", "jobs.txt"))
    report = store.load([failed], ME, replace=True)
    assert (report.rows, report.replaced, report.notes) == (0, 0, ("jobs.txt:2: job 1 (a) is FAILED; left out",))


def test_what_was_said_of_rows_that_are_read_anew_is_told(store: Store) -> None:
    """The new ones are judged by themselves: which one had been meant is not known."""
    store.load([read_with()], ME)
    store.judge("doubt", [results_of(store, "solver")[0].id or 0], ME, "a bad node")
    note = "my table.csv: 1 replaced row had been confirmed or doubted by hand; those in their place are judged like all others"
    assert store.load([read_with(partition="p")], ME, replace=True).notes == (note,)


JOBS = "application,nodes,metric,value,measured_at,source\n"
DAY, LATER = "2026-03-01", "2026-03-02"
NIGHT, MIDNIGHT = "T23:59:59Z", "T00:00:00Z"
WEEK = (("my-cluster", 1, NIGHT), ("my-cluster", 2, NIGHT), ("my-cluster", 3, NIGHT), ("my-cluster", 4, MIDNIGHT), ("other", 3, NIGHT))


def job(number: int, day: str = "", seconds: int = 80) -> str:
    """A row of a job, as accounting tells it with or without the time zone of its times."""
    return f"solver,2,wall_time,{seconds},{day},{f'slurm job {number}' if number else ''}\n"


def times(store: Store) -> list[tuple[str, str]]:
    """Source and day of all results that stand."""
    found = results_of(store, "solver")
    return sorted((each.source or "", each.measured_at.date().isoformat() if each.measured_at else "") for each in found)


@pytest.mark.parametrize("timed_first", [True, False])
def test_a_job_in_two_files_of_which_one_says_no_time_counts_once(store: Store, timed_first: bool) -> None:
    """The row with the time stands, whichever came first, and also if the other file comes again."""
    files = [csv_table(JOBS + job(1) + job(2)), csv_table(JOBS + job(1, DAY) + job(2, DAY))]
    reports = [store.load([each], ME) for each in (files[::-1] if timed_first else files)]
    assert [(report.new, report.replaced) for report in reports] == ([(2, 0), (0, 0)] if timed_first else [(2, 0), (2, 2)])
    for replace in (False, True):
        report = store.load([csv_table(JOBS + job(1) + job(2) + "\n")], ME, replace=replace)
        assert (report.new, report.duplicates, report.replaced) == (0, 2, 0)
    assert times(store) == [("slurm job 1", DAY), ("slurm job 2", DAY)]


def test_jobs_are_apart_that_only_may_be_the_same(store: Store) -> None:
    """Another time (a number that was given again), another value, no source at all."""
    store.load([csv_table(JOBS + job(1, DAY) + job(1, LATER) + job(0, DAY) + job(2, DAY))], ME)
    assert store.load([csv_table(JOBS + job(2, seconds=81) + job(0))], ME).new == 2
    assert times(store) == [("", ""), ("", DAY), ("slurm job 1", DAY), ("slurm job 1", LATER), ("slurm job 2", ""), ("slurm job 2", DAY)]


def test_what_somebody_said_of_a_job_holds_when_its_time_becomes_known(store: Store) -> None:
    """The doubted one stays out of the models."""
    store.load([csv_table(JOBS + job(1) + job(2, seconds=90))], ME)
    store.judge("doubt", [results_of(store, "solver")[0].id or 0], ME, "a bad node")
    store.load([csv_table(JOBS + job(1, DAY) + job(2, DAY, seconds=90))], ME)
    assert [(each.suspect, each.by_hand) for each in results_of(store, "solver")] == [("a bad node", True), (None, False)]


def test_a_broken_week_is_taken_out_by_its_days(store: Store) -> None:
    """Both days are meant, each from its midnight on, of the given system, whatever it is called; taken back, all answer again."""
    rows = [f"solver,{system},2,wall_time,{value},2026-03-0{day}{time},\n" for value, (system, day, time) in enumerate(WEEK, 80)]
    store.load([csv_table("application,system,nodes,metric,value,measured_at,source\n" + "".join(rows))], ME)
    week = Measured("2026-03-02", "2026-03-03", {"system": "My Cluster"})
    assert store.judge("doubt", week, ME, "a bad switch").count == 2
    assert [each.value for each in results_of(store, "solver") if each.suspect] == [81, 82]
    assert store.judge("unmark", Measured("2026-03-02T00:00:00Z", "2026-03-03T23:59:59Z"), ME).count == 1
    assert [each.value for each in results_of(store, "solver") if each.suspect] == [82]
    assert [entry.target for entry in store.access.audit("", 10).items[1:2]] == [
        "measured since 2026-03-02 until 2026-03-03, system My Cluster"
    ]
    assert store.judge("doubt", Measured("2026-03-04"), ME, "a bad switch").count == 1


@pytest.mark.parametrize(
    ("since", "until", "field"), [("last week", None, "since"), ("2026-03-01", "2026-03-32", "until"), ("2026-03-01", "", "until")]
)
def test_a_period_needs_times(store: Store, since: str, until: str | None, field: str) -> None:
    """As the results table has them; a period without results is told, because it is mostly a slip."""
    store.load([csv_table(JOBS + job(1, DAY) + job(2))], ME)
    with pytest.raises(RequestError, match=f"{field}: (allowed|no date)"):
        store.judge("doubt", Measured(since, until), ME, "why")
    with pytest.raises(NotFound, match=r"no results that were measured since 2026-03-02, dataset a\\x1bb; those without"):
        store.judge("doubt", Measured("2026-03-02", where={"dataset": "a\x1bb"}), ME, "why")


def test_a_job_whose_value_was_corrected_does_not_come_back_without_its_time(store: Store) -> None:
    """As it does not with it."""
    store.load([csv_table(JOBS + job(1, DAY))], ME)
    store.load([csv_table(JOBS + job(1, DAY, seconds=70))], ME, replace=True)
    assert store.load([csv_table(JOBS + job(1))], ME).new == 0


@pytest.mark.parametrize("value", [3806.5 / 4 * 1000, 3806.5 / 4 / 1000])
def test_a_slip_in_the_unit_loads_flagged(store: Store, value: float) -> None:
    """The row is stored and named, no model rests on it, and confirming it changes that."""
    store.load([csv_table(ROWS)], ME)
    before = store.models()
    report = store.load([csv_table(HEADER + LINE.format(value).replace(",1,2025", ",3,2025"), "slip.csv")], ME)
    assert (report.new, report.suspicious_count) == (1, 1)
    assert "slip.csv: result" in report.suspicious[0]
    assert "wrong unit?" in report.suspicious[0]
    assert [curve.costs for curve in store.models()] == [curve.costs for curve in before]
    (doubted,) = [result for result in results_of(store, "3dgan") if result.suspect]
    assert store.judge("confirm", [doubted.id or 0, 1], ME).count == 1
    assert not any(result.suspect for result in results_of(store, "3dgan"))
    assert sum(curve.results_used for curve in store.models()) == 9


def test_what_somebody_doubts_is_in_no_model_until_it_is_confirmed(store: Store) -> None:
    """A whole file by its name, or results by their numbers; loading the file again brings nothing back."""
    store.load([csv_table(ROWS, "wrong.csv")], ME)
    sound, (version, knowledge) = store.models(), store.versions()
    assert store.judge("doubt", "wrong.csv", Actor("you"), "another machine").count == 8
    after, same = store.versions()
    assert (after != version, same) == (True, knowledge)
    assert store.judge("doubt", "wrong.csv", Actor("you"), "twice said").count == 0
    assert store.models() == ()
    store.load([csv_table(ROWS, "wrong.csv")], ME, replace=True)
    assert {result.suspect for result in results_of(store, "3dgan")} == {"another machine"}
    assert store.judge("confirm", "wrong.csv", Actor("you")).count == 8
    assert store.models() == sound
    number = results_of(store, "3dgan")[0].id or 0
    assert (store.judge("doubt", [number], Actor("you"), "a slip").count, sum(curve.results_used for curve in store.models())) == (1, 7)
    trail = [(entry.principal, entry.action, entry.target) for entry in store.access.audit("", 10).items if "load" not in entry.action]
    assert trail == [
        ("you", "doubt results", str(number)),
        ("you", "confirm results", "file wrong.csv"),
        ("you", "doubt results", "file wrong.csv"),
    ]


@pytest.mark.parametrize(
    ("name", "hint"), [("a.csv", "; did you mean 'of/last/year/a.csv'?"), ("b.cvs", "; did you mean 'b.csv'?"), ("measurements", "")]
)
def test_a_file_of_which_nothing_was_loaded_is_named_with_one_that_is_meant(store: Store, name: str, hint: str) -> None:
    """One of its name in a folder, or of nearly its name."""
    store.load([csv_table(ROWS, "b.csv"), csv_table(ROWS.replace("clic", "lcd"), "of/last/year/a.csv")], ME)
    with pytest.raises(NotFound, match=re.escape(f"a file called {name!r}{hint} ('modak audit' shows")):
        store.judge("doubt", name, ME, "why")


def test_more_results_are_doubted_at_once_than_a_statement_has_parameters(store: Store) -> None:
    """Each counts once."""
    store.load([csv_table(ROWS)], ME)
    numbers = [*range(1, 9)] * 9_000
    assert store.judge("doubt", numbers, ME, "the wrong machine").count == store.judge("confirm", numbers, ME).count == 8


def test_numbers_that_no_result_has_change_nothing(store: Store) -> None:
    """Whoever mistypes one learns which, however many they are; the results beside them stay as they were."""
    store.load([csv_table(ROWS)], ME)
    for why in ("a slip", None):
        with pytest.raises(NotFound, match=r"^results: no result has the number 9, 10, 11, 12, 13, 14, 15, 16, 17, 18 and 69982 more "):
            store.judge("doubt", range(1, 70_001), ME, why) if why else store.judge("confirm", range(1, 70_001), ME)
    assert not any(result.suspect for result in results_of(store, "3dgan"))


def test_doubts_do_not_depend_on_how_the_rows_came(store: Store) -> None:
    """A slip of one run, of a whole size, of half a table, a spike and a copy: at once, or in any order and any parts."""
    runs = [(nodes, repeat) for nodes in (1, 2, 4, 8, 16, 32) for repeat in (1, 2)]
    slips, part = {(8, 1): 1000.0, (16, 1): 1000.0, (16, 2): 1000.0}, dict.fromkeys(runs[6:], 1000.0)
    spike, copy = {(8, 1): 0.2, (8, 2): 0.2}, {(16, 1): 2.0, (16, 2): 2.0}
    chance = random.Random(3)  # noqa: S311 - data, not secrets
    for number, wrong in enumerate((slips, part, spike, copy)):
        lines = [line(97.125 / run[0] * wrong.get(run, 1), *run) for run in runs]
        seen = []
        for parts in (1, 12, 4, 2):
            name = f"a{number}-{parts}"
            order = [each.replace("3dgan", name) for each in chance.sample(lines, len(lines))]
            for first in range(parts):
                store.load([csv_table(HEADER + "".join(order[first::parts]))], ME)
            found = results_of(store, name)
            assert len(found) == len(lines)
            seen.append({(result.layout.nodes, result.repeat, result.suspect) for result in found if result.suspect})
        assert seen[0]
        assert all(each == seen[0] for each in seen)


def test_a_doubt_is_lifted_when_the_other_runs_agree(store: Store) -> None:
    """Of two sizes either may be the one in the wrong unit; the third tells, and the report says what changed."""
    assert store.load([csv_table(HEADER + line(97_000, 1), "one.csv")], ME).suspicious_count == 0
    assert [told[:7] for told in store.load([csv_table(HEADER + line(48.5, 2), "two.csv")], ME).suspicious] == ["one.csv", "two.csv"]
    report = store.load([csv_table(HEADER + line(24.5, 4))], ME)
    assert (report.suspicious, report.notes[0][:20], report.notes[0][-8:]) == ((), "no longer suspicious", "1 result")
    assert [result.value for result in results_of(store, "3dgan") if result.suspect] == [97_000]


def test_of_two_repeats_the_other_sizes_tell_which_is_wrong(store: Store) -> None:
    """Also if they are torn in the same way; alone, both are doubted."""
    slips = {(2, 1): 1000.0, (8, 2): 1e-3}
    runs = [(nodes, repeat) for nodes in (1, 2, 4, 8) for repeat in (1, 2)]
    store.load([csv_table(HEADER + "".join(line(97.125 / run[0] * slips.get(run, 1), *run) for run in runs))], ME)
    assert {(result.layout.nodes, result.repeat) for result in results_of(store, "3dgan") if result.suspect} == set(slips)
    alone = "".join(line(value, 4, repeat).replace("3dgan", "alone") for repeat, value in ((1, 24.0), (2, 24_000.0)))
    assert store.load([csv_table(HEADER + alone)], ME).suspicious_count == 2


def test_a_word_on_one_of_two_repeats_tells_which_other_results_it_changes(store: Store) -> None:
    """Two repeats contradict each other: the one is right, so the other is not; taken back, both are doubted again."""
    store.load([csv_table(HEADER + line(24.0, 4, 1) + line(24_000.0, 4, 2))], ME)
    assert store.judge("doubt", [2], ME, "a slip").freed == (1,)
    judged = store.judge("confirm", [2], ME)
    assert (judged.count, judged.suspicious_count, "result 1 (v" in judged.suspicious[0]) == (1, 1, True)
    assert [store.judge("unmark", [1, 2], ME).count, len(store.results(doubted=True).items)] == [1, 2]
    assert (store.judge("unmark", [1, 2], ME).count, store.access.audit("", 1).items[0].action) == (0, "unmark results")


def test_unmarked_results_are_judged_as_if_nobody_had_said_anything(store: Store) -> None:
    """A doubted sound row is used again, a confirmed slip is not, and the report names it."""
    store.load([csv_table(ROWS + line(940_000, 64))], ME)
    before = results_of(store, "3dgan")
    store.judge("doubt", [1], ME, "throttled")
    store.judge("confirm", [9], ME)
    judged = store.judge("unmark", [1, 9], ME)
    assert (judged.count, judged.suspicious_count, "result 9 " in judged.suspicious[0]) == (2, 1, True)
    assert results_of(store, "3dgan") == before


def test_what_the_file_itself_marks_nobody_confirms_or_doubts(store: Store) -> None:
    """It stays out whatever is said, so nothing is counted and nothing noted."""
    store.load([csv_table(ROWS + line(60, 64).replace(",\n", ",throttled\n"))], ME)
    words: tuple[Judgement, ...] = ("doubt", "confirm", "unmark")
    assert [store.judge(word, [9], ME, "a slip").count for word in words] == [0, 0, 0]


def test_doubted_results_are_listed_page_by_page(store: Store) -> None:
    """Without those that their own file marks, which nobody can confirm, and those that were replaced."""
    store.load([csv_table(ROWS)], ME)
    store.judge("doubt", [2, 3, 5, 8], ME, "a slip")
    store.load([csv_table(HEADER + LINE.format(940))], ME, replace=True)
    first = store.results(limit=3, doubted=True)
    rest = store.results(None, first.next, 3, doubted=True)
    shown = [result.id for result in (*first.items, *rest.items)]
    assert shown == [result.id for result in results_of(store, "3dgan") if result.doubted]


def test_what_somebody_said_of_a_row_stays(store: Store) -> None:
    """A confirmed slip stays in the models, a row that was doubted by hand stays out of them, whatever is loaded beside them."""
    store.load([csv_table(ROWS)], ME)
    report = store.load([csv_table(HEADER + line(940_000, 64))], ME)
    assert report.suspicious_count == 1
    judged = (store.judge("confirm", [9], ME), store.judge("doubt", [1], ME, "throttled"), store.judge("confirm", [2], ME))
    assert [one.count for one in judged] == [1, 1, 0]
    store.load([csv_table(HEADER + line(3806.5 / 128, 128))], ME)
    for repeat in (3, 4, 5):
        store.load([csv_table(HEADER + line(3806.5 / 4 * 1000 + repeat, 4, repeat))], ME)
    doubted = {result.id: result.suspect or "" for result in results_of(store, "3dgan")}
    assert (doubted[1], doubted[2], doubted[9]) == ("throttled", "", "")


def test_a_whole_size_in_the_wrong_unit_is_flagged(store: Store) -> None:
    """All repeats of a size a thousand times too large, in the same file as the others: they, and no others."""
    slipped = "".join(LINE.format(3806.5 / 64 * 1000 + k).replace(",4,4,12", ",64,4,12").replace(",1,2025", f",{k},2025") for k in (1, 2))
    report = store.load([csv_table(ROWS + slipped)], ME)
    assert report.suspicious_count == 2
    assert {result.layout.nodes for result in results_of(store, "3dgan") if result.suspect} == {64}


def test_good_rows_are_not_flagged(store: Store) -> None:
    """A scaling series, its throughputs, and results of no kind that scales."""
    rates = "".join(f"a,d,s,{n},1,1,throughput,{100 * n**0.9},samples/s,,,,\n" for n in (1, 4, 64))
    others = "".join(f"a,d,s,{n},1,1,memory,{n},GB,,,,\n" for n in (1, 2, 40))
    assert store.load([csv_table(ROWS + rates + others)], ME).suspicious_count == 0


def test_the_rows_behind_a_plan_are_kept_with_it(store: Store) -> None:
    """By number, also when they were replaced since."""
    store.load([csv_table(ROWS)], ME)
    ids = [result.id or 0 for result in results_of(store, "3dgan")][:2]
    store.plans.save("p", {}, "{}", Texts("x"), data_version="1", result_ids=shortened(ids))
    store.load([csv_table(HEADER + LINE.format(940))], ME, replace=True)
    assert [result.id for result in store.numbered(store.plans.get("p").result_ids).items] == ids


def test_the_rows_behind_a_plan_come_in_pages(store: Store) -> None:
    """Each once, in order, however a plan's numbers are written; a cursor that is none is refused by its field."""
    store.load([csv_table(ROWS)], ME)
    seen, cursor = [], None
    while True:
        page = store.numbered(((1, 3), 5, (7, 8)), cursor, 2)
        seen.append([result.id for result in page.items])
        cursor = page.next
        if cursor is None:
            break
    assert seen == [[1, 2], [3, 5], [7, 8]]
    with pytest.raises(RequestError, match="cursor"):
        store.numbered((1,), "1-2")


@pytest.mark.parametrize("chosen", [[600], range(1, 601), "many.csv"])
def test_an_upgrade_knows_what_people_said(url: str, chosen: Sequence[int] | str) -> None:
    """Of a database that did not record it: confirmations from the trail, where long lists are cut off; doubts by their reasons."""
    rows = [line(900_000 if repeat == 599 else 900 + repeat / 10, 4, repeat) for repeat in range(600)]
    with opened(url) as store:
        store.load([csv_table(HEADER + LINE.format(1).replace("3dgan", "other"))], ME)
        store.load([csv_table(HEADER + "".join(rows), "many.csv")], ME)
        (slip,) = [result.id or 0 for result in results_of(store, "3dgan") if result.suspect]
        assert store.judge("confirm", [number + slip - 600 for number in chosen] if not isinstance(chosen, str) else chosen, ME).count == 1
        assert store.judge("doubt", [slip - 1], ME, "throttled").count == 1
        with writing(store.engine) as connection:
            migrate.to(connection, "0005")
    assert upgrade(url)
    with open_store(url, fill=False) as store:
        assert store.load([csv_table(HEADER + line(900, 4, 7000))], ME).suspicious_count == 0
        assert {result.id: result.suspect for result in results_of(store, "3dgan") if result.suspect} == {slip - 1: "throttled"}


def test_an_upgrade_confirms_nothing_of_the_first_load(url: str) -> None:
    """The trail begins with its line."""
    with opened(url) as store:
        store.load([csv_table(HEADER + line(97_000, 1))], ME)
        with writing(store.engine) as connection:
            migrate.to(connection, "0005")
    with opened(url) as store:
        store.load([csv_table(HEADER + "".join(line(97.125 / nodes, nodes) for nodes in (2, 4, 8)))], ME)
        assert [result.value for result in results_of(store, "3dgan") if result.suspect] == [97_000]


@pytest.mark.parametrize("reason", ["250 times what the neighbouring sizes suggest; a slip in the unit?", "the same value; a copy?"])
def test_a_doubt_in_the_words_of_an_older_version_is_no_persons(url: str, reason: str) -> None:
    """It is judged again."""
    with opened(url) as store:
        store.load([csv_table(ROWS)], ME)
        store.judge("doubt", [1], ME, reason)
        with writing(store.engine) as connection:
            migrate.to(connection, "0005")
    with opened(url) as store:
        store.load([csv_table(HEADER + line(3806.5 / 128, 128))], ME)
        assert not any(result.suspect for result in results_of(store, "3dgan"))


def test_a_database_of_the_version_before_keeps_its_data(url: str) -> None:
    """Down to the first schema and up again: results, plans and models are there, and what was replaced is gone for good."""
    with opened(url) as store:
        store.load([csv_table(ROWS)], ME)
        store.load([csv_table(HEADER + LINE.format(940))], ME, replace=True)
        store.plans.save("p", {"a": 1}, "{}", Texts("x"), data_version="1", result_ids=(1,))
    engine = connect(supported(url))
    with writing(engine) as connection:
        migrate.to(connection, "0001")
        assert connection.execute(text("SELECT count(*) FROM results")).scalar_one() == 8
    engine.dispose()
    assert upgrade(url)
    with open_store(url, fill=False) as store:
        assert 940 in values(store)
        assert store.replaced().items == ()
        assert (store.plans.get("p").request, store.plans.get("p").result_ids) == ({"a": 1}, ())
        assert store.load([csv_table(ROWS)], ME).new == 0
