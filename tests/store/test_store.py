"""What goes in comes out, on both databases."""

from __future__ import annotations

import gc
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import event, select

from modak import knowledge
from modak.dsl import Texts
from modak.errors import Conflict, DataError, NotFound, RequestError
from modak.facts import Result, SeriesKey, System
from modak.store import Store, open_store, plans, schema
from modak.store.engine import reading
from modak.store.series import key_hash
from tests.store.tables import HEADER, ME, ROWS, applications, csv_table, opened, results_of


def another(system: System) -> System:
    """A system of the same name that differs."""
    return system.model_copy(update={"title": "Another title"})


def test_results_come_out_as_they_went_in(store: Store) -> None:
    """A loaded row comes back with every field, its value in the base unit and its time in UTC."""
    store.load([csv_table(ROWS)], ME)
    first = results_of(store, "3dgan")[0]
    assert (first.series.dataset, first.series.system, first.series.metric, first.series.unit) == ("clic", "supermuc-ng", "epoch_time", "s")
    assert (first.layout.nodes, first.layout.ranks_per_node, first.layout.gpus_per_node) == (4, 4, None)
    assert (first.value, first.repeat, first.source, first.suspect) == (3806.5 / 4, 1, "table 1", None)
    assert first.measured_at == datetime(2025, 3, 1, 11, tzinfo=UTC)


def test_rows_in_any_order_keep_their_cells(store: Store) -> None:
    """Each value comes out with the problem, layout, repeat, time, source and doubt of its row: no two columns have one order."""
    numbers = {value: [value * factor % 13 for factor in range(2, 12)] for value in range(12, 0, -1)}
    head = "dataset,nodes,ranks_per_node,threads_per_rank,gpus_per_node,batch_size,repeat,measured_at,source,suspect"
    rows = "".join(
        f"a,wall_time,{value},d{cells[0] % 2},{','.join(map(str, cells[1:7]))},2025-01-{cells[7]:02}T00:00:00Z,s{cells[8]},t{cells[9]}\n"
        for value, cells in numbers.items()
    )
    store.load([csv_table(f"application,metric,value,{head}\n{rows}")], ME)
    for one in results_of(store, "a"):
        cells = numbers.pop(int(one.value))
        assert (one.series.dataset, one.source, one.suspect) == (f"d{cells[0] % 2}", f"s{cells[8]}", f"t{cells[9]}")
        assert (*one.layout.model_dump().values(), one.repeat) == tuple(cells[1:7])
        assert one.measured_at == datetime(2025, 1, cells[7], tzinfo=UTC)
    assert not numbers


def test_a_file_loaded_twice_adds_nothing(store: Store) -> None:
    """The second load of a file finds only duplicates, says so, and leaves the version of the data."""
    first = store.load([csv_table(ROWS)], ME)
    again = store.load([csv_table(ROWS)], ME)
    assert (first.new, again.new, again.duplicates) == (8, 0, 8)
    assert (again.files[0].new, again.files[0].already is not None) == (0, True)
    assert again.version == first.version == store.version()


def test_a_file_without_rows_is_read_again(store: Store) -> None:
    """It says again why nothing came of it, also if it was loaded beside one with rows."""
    failed = csv_table('{"modak_result": 1, "exit_status": 71, "results": []}', "failed.json")
    store.load([failed, csv_table(ROWS)], ME)
    again = store.load([failed], ME)
    assert (again.notes, again.files[0].already) == (("failed.json:1: the run ended with status 71; left out",), None)


def test_series_that_differ_in_their_unit_alone_are_told_apart(store: Store) -> None:
    """In the list of those that changed."""
    rows = "lm,1,throughput,4,samples/s\nlm,1,throughput,4,tokens/s\n"
    changed = store.load([csv_table(f"application,nodes,metric,value,unit\n{rows}")], ME).series
    assert changed == tuple(f"application lm, metric throughput, unit {unit}" for unit in ("samples/s", "tokens/s"))


def test_rows_that_are_there_already_are_left_out(store: Store) -> None:
    """A file with old and new rows adds the new ones, whatever order and name it has."""
    lines = ROWS.splitlines(keepends=True)
    store.load([csv_table("".join(lines[:4]))], ME)
    report = store.load([csv_table(lines[0] + "".join(reversed(lines[1:])), "more.csv")], ME)
    assert (report.rows, report.new, report.duplicates, report.files[0].already) == (8, 5, 3, None)


@pytest.mark.parametrize("limit", [0, 1001])
@pytest.mark.parametrize(
    "page",
    [
        lambda store, limit: store.results(limit=limit),
        lambda store, limit: store.replaced({}, None, limit),
        lambda store, limit: store.models_page(None, limit),
    ],
)
def test_a_page_has_up_to_a_thousand_items(tmp_path: Path, page: Callable[[Store, int], object], limit: int) -> None:
    """More are never held in memory at once."""
    with opened(f"sqlite:///{tmp_path}/modak.db") as store:
        page(store, 1000)
        with pytest.raises(RequestError, match="allowed: 1 to 1000"):
            page(store, limit)


def test_a_row_twice_in_one_file_counts_once(store: Store) -> None:
    """Duplicates within a file are counted, not stored."""
    line = ROWS.splitlines(keepends=True)[1]
    assert store.load([csv_table(HEADER + line * 3)], ME).duplicates == 2
    assert len(results_of(store, "3dgan")) == 1


@pytest.mark.parametrize("on", [True, False])
def test_a_load_leaves_the_garbage_collector_as_it_was(tmp_path: Path, on: bool) -> None:
    """It is off only while rows go in: a service that loaded once would otherwise never collect again."""
    was = gc.isenabled()
    try:
        (gc.enable if on else gc.disable)()
        with opened(f"sqlite:///{tmp_path}/modak.db") as store:
            store.load([csv_table(ROWS)], ME)
        assert gc.isenabled() is on
    finally:
        (gc.enable if was else gc.disable)()


def test_corrected_rows_of_any_number_of_series_are_replaced(tmp_path: Path) -> None:
    """Databases limit the parameters of a statement: SQLite's default is 32,766, here it is 1,000."""
    with open_store(f"sqlite:///{tmp_path}/modak.db", fill=False) as store:
        event.listen(store.engine, "connect", lambda connection, _: connection.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 1000))
        before, after = (HEADER + "".join(f"a,d{one},s,1,1,1,wall_time,{value},s,,,,\n" for one in range(1200)) for value in (1, 2))
        store.load([csv_table(before)], ME)
        assert store.load([csv_table(after)], ME, replace=True).replaced == 1200


def test_failed_runs_of_any_number_of_series_are_found(tmp_path: Path) -> None:
    """As many as an application has problems: here, too, a statement has 1,000 parameters."""
    with open_store(f"sqlite:///{tmp_path}/modak.db", fill=False) as store:
        event.listen(store.engine, "connect", lambda connection, _: connection.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 1000))
        store.load([csv_table(HEADER + "".join(f"a,d{one},s,1,1,1,wall_time,failed,,,,,\n" for one in range(1200)))], ME)
        assert len(store.failed("a")) == 1200


def test_rows_that_differ_in_one_column_are_two(store: Store) -> None:
    """Repeat, time, source, value and suspicion each tell rows apart; the empty cell differs from every number."""
    base = "a,d,s,1,1,1,wall_time,2.5,s,{},{},{},{}\n"
    cells = [("", "", "", ""), ("1", "", "", ""), ("", "2025-01-01T00:00:00Z", "", ""), ("", "", "x", ""), ("", "", "", "odd")]
    assert store.load([csv_table(HEADER + "".join(base.format(*each) for each in cells))], ME).new == 5


@pytest.mark.parametrize("name", [name for name in SeriesKey.model_fields if name != "application"])
def test_every_field_tells_series_apart(name: str) -> None:
    """Two series that differ in one field have two keys; the order of parameters does not matter."""
    values: dict[str, object] = {"params": {"a": "1"}, "mpi_from": "host", "hyperthreads": False, "numa_mode": 2}
    one = SeriesKey(application="a", metric="wall_time", unit="s", params={"b": "1", "a": "2"})
    assert key_hash(one.model_copy(update={name: values.get(name, "x")})) != key_hash(one)
    assert key_hash(one.model_copy(update={"params": {"a": "2", "b": "1"}})) == key_hash(one)


def test_equal_values_in_other_units_are_one_row(store: Store) -> None:
    """1500 ms are 1.5 s: the same series, the same row."""
    text = "application,metric,value,unit\na,wall_time,1500,ms\na,wall_time,1.5,s\n"
    report = store.load([csv_table(text)], ME)
    assert (report.new, report.duplicates, len(report.series)) == (1, 1, 1)


def test_a_fault_stores_nothing(store: Store) -> None:
    """One bad row among good ones, in the second of two files: the database is as before."""
    with pytest.raises(DataError, match=r"bad\.csv:3: column 'value': 'soon'"):
        store.load([csv_table(ROWS), csv_table("application,metric,value\na,wall_time,1\na,wall_time,soon\n", "bad.csv")], ME)
    assert not applications(store)
    assert store.version() == "0"


def test_the_faults_of_all_files_are_told_at_once(store: Store) -> None:
    """A folder is corrected in one go; of two files with more faults than are shown, the first ones."""
    bad = "application,metric,value\n" + "".join(f"a,wall_time,NaN{row}\n" for row in range(12))
    with pytest.raises(DataError) as caught:
        store.load([csv_table(bad, "a.csv"), csv_table(ROWS), csv_table(bad, "b.csv")], ME)
    told = [fault.field.partition(":")[0] for fault in caught.value.faults]
    assert told == ["a.csv"] * 12 + ["b.csv"] * 8 + [""]


def test_a_file_of_no_known_format_is_told_with_the_faults_of_others(store: Store) -> None:
    """In the order of the files."""
    bad = csv_table("application,metric,value\na,wall_time,soon\n", "bad.csv")
    with pytest.raises(DataError) as caught:
        store.load([csv_table("\1\2\3", "r.bin"), bad], ME)
    assert [fault.field for fault in caught.value.faults] == ["r.bin", "bad.csv:2"]


def test_a_dry_run_tells_and_stores_nothing(store: Store) -> None:
    """A dry run reports what a load would do."""
    assert store.load([csv_table(ROWS)], ME, dry_run=True).new == 8
    assert not applications(store)


def test_results_without_parameters_are_not_read_for_those_that_have_some(store: Store) -> None:
    """However many there are: a request for an unknown application reads results of all others."""
    plain = "".join(f"a,,{number},epoch_time,9\n" for number in range(1, 12_001))
    store.load([csv_table(f"application,params.n,nodes,metric,value\n{plain}b,1,1,epoch_time,9\n")], ME)
    asked = list[str]()
    event.listen(store.engine, "before_cursor_execute", lambda *given: asked.append(given[2]))
    assert [cell.series.application for cell in store.having_parameters({}, 50_000)] == ["b"]
    assert len([each for each in asked if "FROM results" in each]) == 1


@pytest.mark.parametrize(("most", "read"), [(2, ["0"]), (201, ["0", *map(str, range(2, 201))]), (50_000, ["0", *map(str, range(2, 203))])])
def test_so_many_results_with_parameters_are_read_and_doubted_ones_left_out(store: Store, most: int, read: list[str]) -> None:
    """Of all series together, of which 200 are read at once; what is left out has been read."""
    rows = "".join(f"a,{number},1,epoch_time,9\n" for number in range(203))
    store.load([csv_table(f"application,params.n,nodes,metric,value\n{rows}")], ME)
    (second,) = [each.id or 0 for each in results_of(store, "a") if each.series.params["n"] == "1"]
    store.judge("doubt", [second], ME, "a slip")
    assert [cell.series.params["n"] for cell in store.having_parameters({}, most)] == read


def test_pages_follow_each_other(store: Store) -> None:
    """Pages of any length, one after the other, hold every result once, in the order of the one long page."""
    store.load([csv_table(ROWS + ROWS.replace("3dgan", "other").removeprefix(HEADER))], ME)
    whole = store.results(limit=1000).items
    found: list[Result] = []
    cursor = None
    while True:
        page = store.results(cursor=cursor, limit=3)
        found += page.items
        cursor = page.next
        if cursor is None:
            break
    assert tuple(found) == whole
    assert len(whole) == 16


def test_filters_are_exact(store: Store) -> None:
    """Filters pick by the whole text of a column, parameters included; a filter that is none is named."""
    text = "application,params.batch,metric,value\na,64,wall_time,1\na,6,wall_time,2\nab,64,wall_time,3\n"
    store.load([csv_table(text)], ME)
    assert [result.value for result in store.results({"application": "a"}).items] == [1, 2]
    assert [result.value for result in store.results({"params.batch": "64"}).items] == [1, 3]
    with pytest.raises(RequestError, match="application"):
        store.results({"aplication": "a"})


@pytest.mark.parametrize("cursor", ["x", "1", "1-", "-1-2", "1-2-3", "1;2", f"{2**31}-1", "9" * 30 + "-1"])
def test_a_cursor_that_is_none_is_refused(store: Store, cursor: str) -> None:
    """Only what a page gave out is a cursor: nothing beyond the numbers that PostgreSQL can compare with."""
    with pytest.raises(RequestError, match="cursor"):
        store.results(cursor=cursor)


def test_knowledge_comes_out_as_it_went_in(store: Store, known: knowledge.Knowledge) -> None:
    """Every packaged system, image and rule survives the way through the database; each addition changes the version."""
    versions = {store.version()}
    for values in (known.systems, known.processors, known.accelerators, known.images, known.rules):
        assert store.add(values, ME)
        versions.add(store.version())
    facts = store.snapshot()
    assert tuple(facts.systems.values()) == known.systems
    assert facts.images == known.images
    assert facts.rules == known.rules
    assert tuple(facts.processors.values()) == known.processors
    assert tuple(facts.accelerators.values()) == known.accelerators
    assert len(versions) == 6


def test_a_name_is_not_taken_silently(store: Store, known: knowledge.Knowledge) -> None:
    """Another system under a known name is a conflict, unless replacing is said; the same one again changes nothing."""
    system = known.systems[0]
    assert store.add([system], ME)
    version = store.version()
    assert not store.add([system], ME)
    with pytest.raises(Conflict, match=system.name):
        store.add([*known.systems[1:], another(system)], ME)
    assert store.version() == version
    assert list(store.snapshot().systems) == [system.name]
    store.add([another(system)], ME, replace=True)
    assert store.snapshot().systems[system.name].title == "Another title"


def test_a_default_that_is_written_out_is_the_same_entry(store: Store, known: knowledge.Knowledge) -> None:
    """An entry that gives a field its default value equals the one that leaves the field out."""
    system = known.systems[0]
    assert "aliases" not in system.model_fields_set
    store.add([system], ME)
    assert not store.add([System.model_validate({**system.model_dump(exclude_unset=True), "aliases": []})], ME)


def test_a_plan_comes_back_until_it_expires(store: Store) -> None:
    """A plan and its script are found by id; an expired or unknown one is not."""
    texts = Texts("#!/bin/bash\n", "", "FROM x", "Dockerfile")
    later, before = datetime.now(UTC) + timedelta(days=1), datetime.now(UTC) - timedelta(seconds=1)
    store.plans.save("p1", {"job": {"ä": 1}}, '{"job": {}}', texts, data_version="1", application="a", expires_at=later)
    store.plans.save("p2", {}, "{}", texts, data_version="1", expires_at=before)
    plan = store.plans.get("p1")
    assert (plan.request, plan.texts, plan.expires_at) == ({"job": {"ä": 1}}, texts, later)
    assert store.plans.get("p1").texts.job_script == "#!/bin/bash\n"
    for name in ("p2", "nothing"):
        with pytest.raises(NotFound):
            store.plans.get(name)


@pytest.mark.parametrize(("days", "kept"), [((1, 2), 2), ((2, 1), 2), ((1, None), None), ((None, 1), None)])
def test_a_plan_that_is_made_again_is_kept_for_the_longer_time(store: Store, days: tuple[int | None, ...], kept: int | None) -> None:
    """So that no caller is told an id that ends before its time."""
    now = datetime.now(UTC)
    ends = {each: None if each is None else now + timedelta(days=each) for each in days}
    for number, each in enumerate(days):
        store.plans.save("p1", {"number": number}, "{}", Texts(""), data_version="1", expires_at=ends[each])
    plan = store.plans.get("p1")
    assert (plan.request, plan.expires_at) == ({"number": 1}, ends[kept])


def test_the_newest_plans_come_first(store: Store) -> None:
    """Where there are more of them than are asked for, too."""
    for plan_id in ("p2", "p3", "p1"):
        store.plans.save(plan_id, {}, "{}", Texts(""), data_version="1")
    assert [plan.id for plan in store.plans.newest(2)] == ["p1", "p3"]


def test_expired_plans_leave_the_database(store: Store) -> None:
    """With one plan in 256, which removes those that nobody can ask for any more."""
    store.plans.save("p1", {}, "{}", Texts(""), data_version="1", expires_at=datetime.now(UTC) - timedelta(seconds=1))
    store.plans.save(f"p{plans.SWEEPS}", {}, "{}", Texts(""), data_version="1")
    with reading(store.engine) as connection:
        assert set(connection.scalars(select(schema.plans.c.id))) == {f"p{plans.SWEEPS}"}
