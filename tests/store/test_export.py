"""Out of one database and into another."""

from __future__ import annotations

import io

from modak.ingest.writing import write_csv
from modak.store import Store, open_store, upgrade
from modak.store.engine import reading
from modak.store.results import BY_NUMBER, walk
from modak.store.schema import ONCE
from modak.store.series import SERIES_AT_ONCE
from tests.store.tables import HEADER, ME, ROWS, csv_table

ODD = (
    HEADER.replace("dataset", "dataset,params.batch size,params.opt".replace("batch size", "batch")).strip()
    + ",gpus_per_node,hyperthreads,numa_mode,mpi_from,framework_version\n"
    + '=cmd|x,"a, ""b""",64,adam,zenith,8,,,throughput,0.1,images/min,,2024-02-29T23:59:59.123456-05:00,\'=x,odd,0,false,4,host,2.10\n'
    + "007,NA,,,nowhere,,2,3,md_speed,3.3333333333333335,ns/day,0,,,,,,,,2.1\n"
)


def exported(store: Store, **filters: str) -> str:
    """A database as CSV."""
    columns, rows = store.export_rows(filters)
    stream = io.StringIO()
    write_csv(rows, stream, columns)
    return stream.getvalue()


def test_an_export_loads_into_an_empty_database_as_the_same_rows(store: Store, url: str, tmp_path_factory: object) -> None:
    """Odd texts, unknown cells, parameters and full precision survive; a second export is the same text, whatever came first here."""
    head, *rows = ROWS.splitlines(keepends=True)
    for table in (head + rows[5] + rows[1], ODD, ROWS):
        store.load([csv_table(table)], ME)
    first = exported(store)
    with open_store(f"sqlite:///{tmp_path_factory.mktemp('other')}/other.db", fill=False) as other:  # type: ignore[attr-defined]
        assert other.load([csv_table(first)], ME).new == 10
        assert exported(other) == first
        there = {result.model_dump_json(exclude={"id"}) for result in other.results(limit=1000).items}
    assert there == {result.model_dump_json(exclude={"id"}) for result in store.results(limit=1000).items}


def test_series_are_in_the_order_of_their_first_rows(store: Store) -> None:
    """So an export of an export is the same text, and a table is listed as it was written."""
    rows = [
        f"{application},{dataset},1,time,{value}"
        for value, (application, dataset) in enumerate((("a", "x"), ("b", "y"), ("a", "y"), ("b", "x")), 1)
    ]
    store.load([csv_table("\n".join(["application,dataset,nodes,metric,value", *rows]))], ME)
    assert [(one.series.application, one.value) for one in store.results().items] == [("a", 1), ("b", 2), ("a", 3), ("b", 4)]


def test_an_export_loaded_again_adds_nothing(store: Store) -> None:
    """Export and load are each other's inverse: every row is a duplicate."""
    store.load([csv_table(ROWS), csv_table(ODD, "odd.csv")], ME)
    report = store.load([csv_table(exported(store), "export.csv")], ME)
    assert (report.rows, report.new) == (10, 0)


def test_no_row_is_lost_where_a_query_ends(store: Store) -> None:
    """Series and their results are read in several queries, each of which goes on behind the one before."""
    three = "".join(ROWS.splitlines(keepends=True)[1:4])
    rows = "".join(three.replace("3dgan", f"app{number}") for number in range(SERIES_AT_ONCE + 1))
    for source in ("table 1", "table 2"):  # no series has numbers in a row
        store.load([csv_table(HEADER + rows.replace("table 1", source))], ME)
    for by in (BY_NUMBER, ONCE[1:]):
        with reading(store.engine) as connection:
            found = [(key.application, row.id) for key, row in walk(connection, {}, at_once=7, by=by)]
        assert len(found) == len(set(found)) == 6 * (SERIES_AT_ONCE + 1)


def test_an_export_is_filtered_and_has_all_columns(store: Store) -> None:
    """Only the rows asked for, with the parameters that they have; without rows the header alone."""
    store.load([csv_table(ROWS), csv_table(ODD, "odd.csv")], ME)
    lines = exported(store, application="3dgan").splitlines()
    assert len(lines) == 9
    assert lines[0].startswith("application,dataset,framework,")
    assert exported(store, application="nothing").count("\n") == 1
    assert exported(store, application="=cmd|x").startswith("application,dataset,params.batch,params.opt,framework")


def test_an_export_that_is_not_read_to_the_end_lets_go(store: Store, url: str) -> None:
    """A reader that stops early leaves no lock behind."""
    store.load([csv_table(ROWS)], ME)
    _, rows = store.export_rows()
    next(rows)
    del rows
    assert store.load([csv_table(ODD)], ME).new == 2
    assert not upgrade(url)


def test_each_mark_of_a_row_stands_in_its_own_column(store: Store) -> None:
    """What its file says of it, and what somebody has said since."""
    store.load([csv_table(ROWS + "3dgan,clic,supermuc-ng,64,4,12,epoch_time,9,s,,,,odd\n")], ME)
    store.judge("doubt", [1], ME, "a bad node")
    marked = {(row["suspect"], row["doubt"], row["by_hand"]) for row in store.export_rows()[1]}
    assert marked == {("", "", ""), ("odd", "", ""), ("", "a bad node", "true")}
