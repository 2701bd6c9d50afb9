"""What several spellings mean is one series: in loading, in corrections, in filters, in doubts, after an upgrade."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

import pytest
from sqlalchemy import text

from modak.facts import Node, Partition, Result, Source, System
from modak.ingest.table import Options
from modak.store import Store, migrate, open_store, upgrade
from modak.store.engine import reading, writing
from tests.store.tables import ME, csv_table, opened

MORE = "application,nodes,metric,value,runtime,mpi_from,hyperthreads\n"
HEADER = "application,system,compiler,precision,params.size,params.new,nodes,metric,value,suspect\n"


NOT_LABELS = ("id", "key", "changed", "fitted", "fitted_by")
"""Columns of series that are not part of its hash."""


def line(nodes: int, value: float, **labels: str) -> str:
    """A row of a solver."""
    known = {"system": "mine", "compiler": "gcc-9.3", "precision": "fp32", "size": "10", "new": "true", **labels}
    return f"solver,{','.join(known.values())},{nodes},wall_time,{value},\n"


def load(store: Store, rows: Iterable[str], *, replace: bool = False) -> tuple[int, int, int, int]:
    """New rows, duplicates, replaced and suspicious ones."""
    told = store.load([csv_table(HEADER + "".join(rows))], ME, replace=replace)
    return told.new, told.duplicates, told.replaced, told.suspicious_count


def found(store: Store, **filters: str) -> tuple[Result, ...]:
    """Results of the solver under these filters."""
    return store.results({"application": "solver", **{name.replace("__", "."): value for name, value in filters.items()}}).items


def system(*aliases: str, name: str = "mine") -> System:
    """A described system."""
    node = Node(processor="intel-xeon-gold-6148", sockets=2, cores=40, memory_gb=192)
    source = Source(fields=("partitions",), citation="own measurement")
    parts = (Partition(name="default", nodes=64, node=node),)
    return System(name=name, aliases=aliases, title="Mine", site="Here", scheduler="slurm", partitions=parts, sources=(source,))


ALIKE = [
    {"system": "MINE"},
    {"compiler": "GCC 9.3"},
    {"compiler": "gcc/9.3"},
    {"precision": "float32"},
    {"size": "10.0"},
    {"size": "1e1"},
    {"new": "True"},
]
UNLIKE = [{"precision": "fp16"}, {"size": "010"}, {"size": "10k"}, {"new": "yes"}, {"compiler": "gcc-9.30"}]


@pytest.mark.parametrize("labels", ALIKE)
def test_a_row_in_another_spelling_is_there_already(store: Store, labels: dict[str, str]) -> None:
    """It is a duplicate, a corrected one replaces the first, and a filter in either spelling finds it."""
    assert load(store, [line(1, 800)]) == (1, 0, 0, 0)
    assert load(store, [line(1, 800, **labels)]) == (0, 1, 0, 0)
    assert load(store, [line(1, 700, **labels)], replace=True) == (1, 0, 1, 0)
    filters = {"params__size" if name == "size" else "params__new" if name == "new" else name: value for name, value in labels.items()}
    assert [one.value for one in found(store, **filters)] == [700]


@pytest.mark.parametrize("labels", UNLIKE)
def test_a_row_that_says_something_else_is_new(store: Store, labels: dict[str, str]) -> None:
    """It is no duplicate, and replaces nothing."""
    load(store, [line(1, 800)])
    assert load(store, [line(1, 800, **labels)]) == (1, 0, 0, 0)
    assert load(store, [line(1, 700, **labels)], replace=True) == (1, 0, 1, 0)
    assert {one.value for one in found(store)} == {800, 700}


def test_words_of_a_column_are_the_same_in_any_case(store: Store) -> None:
    """As is what filters ask for."""
    rows = ("solver,1,wall_time,8,Charliecloud,Host,TRUE\n", "solver,1,wall_time,8,charliecloud,host,true\n")
    assert store.load([csv_table(MORE + "".join(rows))], ME).duplicates == 1
    assert len(found(store, runtime="CHARLIECLOUD", mpi_from="HOST")) == 1


@pytest.mark.parametrize(
    ("column", "one", "same", "other"),
    [
        ("image", "docker://img:1", "img:1", "img:2"),
        ("image", "img:1", "docker://img:1", "img"),
        ("image", "docker://a/img:1", "docker:a/img:1", "docker:1"),
        ("image", f"img@sha256:{'0' * 64}", f"docker://img@sha256:{'0' * 64}", f"img@sha256:{'1' * 64}"),
        ("framework_version", "2.1", "v2.1", "2.10"),
    ],
)
def test_images_and_versions_of_a_framework_have_one_spelling(store: Store, column: str, one: str, same: str, other: str) -> None:
    """An image with a tag or a digest is one of a registry; a ``v`` before a number belongs to the name of a release's tag."""
    header = f"application,{column},nodes,metric,value\n"
    assert store.load([csv_table(f"{header}solver,{one},1,wall_time,8\n")], ME).new == 1
    later = store.load([csv_table(f"{header}solver,{same},1,wall_time,8\nsolver,{other},1,wall_time,8\n")], ME)
    assert (later.new, later.duplicates) == (1, 1)
    assert [len(found(store, **{column: text})) for text in (one, same, other)] == [1, 1, 1]


def test_amounts_in_other_units_are_the_same(store: Store) -> None:
    """``params.amount`` is work with its unit."""
    header = HEADER.replace("params.size", "params.amount")
    rows = line(1, 800, size="100 ns") + line(2, 420, size="0.1 us") + line(4, 230, size="100  ns") + line(4, 230, size="1e2 ns")
    assert store.load([csv_table(header + rows)], ME).duplicates == 1
    assert [curve.sizes for curve in store.models("solver")] == [(1, 2, 4)]
    assert len(found(store, params__amount="0.1 us")) == 3
    report = store.load([csv_table(header + line(1, 700, size="100  ns", new="false"))], ME)
    assert not [note for note in report.notes if "count as different ones" in note]


def test_versions_stay_apart(store: Store) -> None:
    """1.10 is not 1.1: a later release of the same library, perhaps."""
    assert load(store, [line(1, 800, size="1.1"), line(1, 800, size="1.10")]) == (2, 0, 0, 0)
    assert len(store.models("solver")) == 2


def test_values_that_may_be_the_same_are_noted(store: Store) -> None:
    """They count as different ones, and somebody should know."""
    report = store.load(
        [csv_table(HEADER + line(1, 8, size="0.5") + line(2, 4, size="0.50") + line(4, 2, new="yes") + line(8, 1, new="Yes"))], ME
    )
    told = [note for note in report.notes if "count as different ones" in note]
    assert [note.partition(":")[0] for note in told] == ["parameter 'size' of 'solver'", "parameter 'new' of 'solver'"]
    assert "'0.5', '0.50'" in told[0]
    other = HEADER.replace("params.size", "params.Size") + line(1, 8)
    assert any(note.startswith("parameter of 'solver': 'Size', 'size' count") for note in store.load([csv_table(other)], ME).notes)
    (told_later,) = [
        note for note in store.load([csv_table(HEADER + line(1, 8, size="10 000") + line(2, 5, size="1e4"))], ME).notes if "1e4" in note
    ]
    assert "'10 000', '1e4' count as different ones" in told_later
    assert not [note for note in store.load([csv_table(HEADER + line(1, 8, size="1e1"))], ME).notes if "'1e1'" in note]


def test_spellings_of_one_file_are_one_curve(store: Store) -> None:
    """Also within a file: sizes that were written in several ways make one curve."""
    load(store, [line(1, 800), line(2, 420, size="10.0", new="TRUE"), line(4, 230, size="1e1", compiler="GCC 9.3")])
    assert [curve.sizes for curve in store.models("solver")] == [(1, 2, 4)]


def test_letters_with_accents_apart_are_the_same(store: Store) -> None:
    """As macOS writes the names of files: the accents come behind the letters."""
    assert load(store, [line(1, 800, size="Stro\u0308mung")]) == (1, 0, 0, 0)
    assert load(store, [line(1, 800, size="Str\u00f6mung")]) == (0, 1, 0, 0)
    assert len(found(store, params__size="Stro\u0308mung")) == 1


@pytest.mark.parametrize("described", ["before", "after"])
def test_results_under_an_alias_are_of_one_curve(store: Store, described: str) -> None:
    """Whether the system was described before they came or later; without its alias they are two again."""
    rows = [line(1, 800), line(2, 420, system="Old_Name"), line(4, 230, system="old name")]
    if described == "before":
        store.add([system("old-name")], ME)
    load(store, rows)
    if described == "after":
        assert [curve.sizes for curve in store.models("solver")] == [(1,), (2, 4)]
        store.add([system("old-name")], ME)
    (curve,) = store.models("solver")
    assert (curve.sizes, curve.series.system, curve.results_used) == ((1, 2, 4), "mine", 3)
    for name in ("mine", "OLD_NAME"):
        assert len(found(store, system=name)) == 3
    store.add([system("other-name")], ME, replace=True)
    assert [curve.sizes for curve in store.models("solver")] == [(1,), (2, 4)]
    assert len(found(store, system="old-name")) == 2


def test_equal_layouts_under_name_and_alias_are_repeats(store: Store) -> None:
    """No result is lost where both have the same layout."""
    store.add([system("old-name")], ME)
    load(store, [line(1, 800), line(1, 810, system="old-name"), line(2, 420), line(2, 430, system="old-name")])
    (curve,) = store.models("solver")
    assert (curve.sizes, curve.repeats) == ((1, 2), (2, 2))


def test_rows_that_came_under_two_names_count_once_when_these_are_one(store: Store) -> None:
    """As they would have if the system had been described before; the answer says so, and what somebody said of either holds."""
    load(
        store,
        [line(1, 800), line(2, 420), line(1, 800, system="old-name"), line(2, 420, system="old name"), line(2, 430, system="old-name")],
    )
    store.judge("doubt", [one.id or 0 for one in found(store, system="old-name") if one.value == 800], ME, "a bad node")
    added = store.add([system("old-name")], ME)
    assert added.notes == ("were there under another name of their system, too, and count once from now on: 2 results",)
    assert sorted((one.value, one.series.system, one.suspect) for one in found(store)) == [
        (420, "mine", None), (430, "old-name", None), (800, "mine", "a bad node")
    ]  # fmt: skip
    (curve,) = store.models("solver")
    assert (curve.sizes, curve.repeats) == ((2,), (2,))
    assert load(store, [line(2, 420, system="old-name")]) == (0, 1, 0, 0)


def test_a_row_that_was_corrected_does_not_come_back_under_another_name(store: Store) -> None:
    """Its twin under the other name gives way, too."""
    load(store, [line(1, 800), line(1, 800, system="old-name")])
    load(store, [line(1, 700)], replace=True)
    store.add([system("old-name")], ME)
    assert [one.value for one in found(store)] == [700]


def test_a_file_that_was_read_anew_counts_when_its_names_are_one(store: Store) -> None:
    """Its rows under the name of before are replaced, which is no correction of those under the other one."""
    rows = "application,nodes,metric,value\nsolver,1,wall_time,800\nsolver,2,wall_time,420\n"
    for name in ("mine", "old-name"):
        store.load([csv_table(rows, options=Options(fill={"system": name}))], ME, replace=True)
    store.add([system("old-name")], ME)
    assert sorted(one.value for one in found(store)) == [420, 800]


def test_rows_of_two_names_come_back_when_these_are_two_again(store: Store) -> None:
    """With --replace, as all that was replaced; the load has no new row, and is kept."""
    load(store, [line(1, 800), line(1, 800, system="old-name")])
    store.add([system("old-name")], ME)
    store.add([system()], ME, replace=True)
    assert load(store, [line(1, 800, system="old-name")], replace=True) == (0, 1, 0, 0)
    assert [one.series.system for one in found(store)] == ["mine", "old-name"]


def test_a_corrected_file_confirms_and_corrects_rows_of_each_name(store: Store) -> None:
    """What it says of a run under one of its system's names holds for the rows under the others: equal ones stay, others are replaced."""
    store.add([system("old-name")], ME)
    load(store, [line(1, 800, system="old-name"), line(1, 810), line(2, 420, system="old-name")])
    assert load(store, [line(1, 800), line(2, 410)], replace=True) == (1, 1, 2, 0)
    assert sorted((one.value, one.series.system) for one in found(store)) == [(410, "mine"), (800, "old-name")]


def test_an_empty_filter_finds_empty_cells(store: Store) -> None:
    """And blanks around a text do not tell, as around a cell."""
    load(store, [line(1, 800), line(1, 700, size=""), line(1, 600, compiler="")])
    assert [one.value for one in found(store, params__size="")] == [700]
    assert [one.value for one in found(store, compiler="")] == [600]
    assert [one.value for one in found(store, compiler=" gcc-9.3 ", params__size=" 10 ")] == [800]


def test_a_row_under_an_alias_is_there_already(store: Store) -> None:
    """Whichever name came first; a corrected row replaces that under the other name, and the first one comes back in its place."""
    store.add([system("old-name")], ME)
    old = {"system": "Old_Name"}
    assert load(store, [line(1, 800), line(2, 420), line(1, 800, **old), line(4, 230, **old)]) == (3, 1, 0, 0)
    assert load(store, [line(1, 800, **old), line(2, 420, **old), line(4, 230)]) == (0, 3, 0, 0)
    assert load(store, [line(1, 700, **old), line(2, 420, **old)], replace=True) == (1, 1, 1, 0)
    assert sorted(one.value for one in found(store)) == [230, 420, 700]
    assert load(store, [line(1, 800, **old)], replace=True) == (0, 1, 1, 0)
    assert sorted(one.value for one in found(store)) == [230, 420, 800]
    (curve,) = store.models("solver")
    assert (curve.sizes, curve.repeats) == ((1, 2, 4), (1, 1, 1))


def test_rows_that_are_there_already_leave_no_series_of_their_own(store: Store) -> None:
    """The report tells of no series that nothing is stored of."""
    store.add([system("old-name")], ME)
    load(store, [line(1, 800)])
    report = store.load([csv_table(HEADER + line(1, 800, system="old-name") + line(1, 90, size="20"))], ME)
    assert (report.new, report.duplicates, report.series_count) == (1, 1, 1)
    assert len(found(store)) == 2


def test_results_under_an_alias_are_doubted_beside_the_others(store: Store) -> None:
    """A wrong unit is found by the sizes that were measured under the other name, in whichever order they came."""
    store.add([system("old-name")], ME)
    assert load(store, [line(1, 800), line(2, 420), line(4, 230)]) == (3, 0, 0, 0)
    assert load(store, [line(8, 130_000, system="old-name")]) == (1, 0, 0, 1)
    (wrong,) = store.results({"application": "solver"}, doubted=True).items
    assert (wrong.value, wrong.series.system) == (130_000, "old-name")
    assert [curve.sizes for curve in store.models("solver")] == [(1, 2, 4)]
    store.add([system()], ME, replace=True)
    assert not store.results({"application": "solver"}, doubted=True).items  # alone it contradicts nothing
    store.add([system("old-name")], ME, replace=True)
    assert len(store.results({"application": "solver"}, doubted=True).items) == 1


def test_runs_of_one_layout_under_two_names_are_judged_together(store: Store) -> None:
    """As repeats: the one that contradicts the others is doubted, and the curve has the others."""
    store.add([system("old-name")], ME)
    load(store, [line(2, 420), line(2, 430, system="old-name"), line(2, 425, system="old-name")])
    assert load(store, [line(2, 424_000), line(2, 440)]) == (2, 0, 0, 1)
    (wrong,) = store.results({}, doubted=True).items
    assert (wrong.value, wrong.suspect) == (424_000, "more than 30 times the other runs of the same layout; wrong unit?")
    assert [(curve.costs, curve.repeats) for curve in store.models("solver")] == [((427.5,), (4,))]


def test_an_upgrade_joins_what_was_stored_apart(url: str) -> None:
    """Rows of both spellings are one series; those that are there twice are left out, and keep what somebody said of either."""
    with opened(url) as store:
        load(store, [line(1, 800), line(2, 420), line(1, 800, size="20"), line(4, 230, size="20"), line(1, 5, size="30")])
        twice = next(one.id for one in found(store, params__size="20") if one.value == 800)
        assert twice is not None
        store.judge("doubt", [twice], ME, "the node was shared")
        with writing(store.engine) as connection:
            migrate.to(connection, "0007")
            _spell(connection, "20", '{"new": "true", "size": "10.0"}')
            _spell(connection, "30", '{"new": "true", "size": "u\u0308ber"}')
    assert upgrade(url, fill=False)
    with open_store(url, fill=False) as store:
        by_value = {one.value: one for one in found(store, params__size="1e1")}
        assert {value: (one.doubted, one.series.params["size"]) for value, one in by_value.items()} == {
            800: (True, "10"),
            420: (False, "10"),
            230: (False, "10"),
        }
        assert [one.value for one in found(store, params__size="\u00fcber")] == [5]
        assert [curve.sizes for curve in store.models("solver")] == [(2, 4), (1,)]
        assert load(store, [line(1, 800, size="10.0"), line(1, 5, size="u\u0308ber")]) == (0, 2, 0, 0)


def test_an_upgrade_judges_what_it_joins(url: str) -> None:
    """A wrong unit beside one other size was doubted with it; beside all of them the other one is right."""
    with opened(url) as store:
        load(store, [line(1, 800), line(2, 420), line(4, 230, size="20"), line(8, 0.13, size="20")])
        assert len(store.results({}, doubted=True).items) == 2
        with writing(store.engine) as connection:
            migrate.to(connection, "0007")
            _spell(connection, "20", '{"new": "true", "size": "10.0"}')
    with opened(url) as store:
        assert [one.value for one in store.results({}, doubted=True).items] == [0.13]
        assert [curve.sizes for curve in store.models("solver")] == [(1, 2, 4)]


def test_an_upgrade_joins_images_with_and_without_their_scheme(url: str) -> None:
    """As they were stored apart by version 0007."""
    header = "application,image,nodes,metric,value\n"
    with opened(url) as store:
        store.load([csv_table(f"{header}solver,docker://img:1,1,wall_time,8\nsolver,docker://img:2,2,wall_time,4\n")], ME)
        with writing(store.engine) as connection:
            migrate.to(connection, "0007")
            connection.execute(text("UPDATE series SET image = 'img:1', key = 'old' WHERE image = 'docker://img:2'"))
    with opened(url) as store:
        assert [(curve.sizes, curve.series.image) for curve in store.models("solver")] == [((1, 2), "docker://img:1")]
        assert len(found(store, image="img:1")) == 2


def test_an_upgrade_joins_names_of_precisions_that_were_not_known(url: str) -> None:
    """As they were stored apart by version 0010: else the rows of a table that comes again are new."""
    with opened(url) as store:
        load(store, [line(1, 800, precision="fp16"), line(2, 420, precision="tf32")])
        with writing(store.engine) as connection:
            migrate.to(connection, "0010")
            connection.execute(text("UPDATE series SET precision = 'torch.float16', key = 'old' WHERE precision = 'tf32'"))
    with opened(url) as store:
        assert [(curve.sizes, curve.series.precision) for curve in store.models("solver")] == [((1, 2), "fp16")]
        assert load(store, [line(2, 420, precision="torch.float16")]) == (0, 1, 0, 0)


def _spell(connection: object, size: str, params: str) -> None:
    """Give the series of a size other parameters, as version 0007 stored them."""
    run = connection.execute  # type: ignore[attr-defined]
    row = run(text("SELECT * FROM series WHERE params LIKE :like"), {"like": f'%"{size}"%'}).mappings().one()
    known = {name: value for name, value in row.items() if value is not None and name not in NOT_LABELS}
    key = json.dumps({**known, "params": json.loads(params)}, sort_keys=True, ensure_ascii=False)
    values = {"id": row["id"], "params": params, "key": hashlib.sha256(key.encode()).hexdigest()}
    run(text("UPDATE series SET params = :params, key = :key WHERE id = :id"), values)


def test_the_way_down_gives_each_series_its_old_hash(url: str) -> None:
    """So that the older version finds them, and adds nothing twice."""
    with opened(url) as store:
        load(store, [line(1, 800, compiler="GCC 9.3")])
        with writing(store.engine) as connection:
            migrate.to(connection, "0007")
        with reading(store.engine) as connection:
            (row,) = connection.execute(text("SELECT * FROM series")).mappings().all()
    known = {name: value for name, value in row.items() if value is not None and name not in NOT_LABELS}
    text_of = json.dumps({**known, "params": json.loads(row["params"])}, sort_keys=True, ensure_ascii=False)
    assert row["key"] == hashlib.sha256(text_of.encode()).hexdigest()
