"""Tables with a column of values for each size."""

from __future__ import annotations

import pytest

from modak.errors import DataError
from modak.ingest.options import options_of
from modak.ingest.reading import table
from modak.ingest.sources import from_bytes
from modak.ingest.table import UNKNOWN, Batch
from modak.ingest.wide import COLUMNS
from tests.conftest import ROOT

TIMES = {"metric": "wall_time"}


def read(text: str, column: str, rename: dict[str, str] | None = None, fill: dict[str, str] | None = None, name: str = "r.csv") -> Batch:
    """The rows of a small table that is read with ``--wide``."""
    options = options_of(rename or {}, TIMES if fill is None else fill, wide=column)
    return next(iter(table(from_bytes(text.encode(), name), options).batches()))


@pytest.mark.parametrize(
    "head",
    [
        *("1,2,4", "1 node,2 nodes,4 nodes", "n=1,n=2,n=4", "t1,t2,t4", "Nodes: 1,Nodes: 2,Nodes: 4"),
        *("Time (1 node),Time (2 nodes),Time (4 nodes)", "T(n = 1),T(n = 2),T(n = 4)", "T [1] (s),T [2] (s),T [4] (s)"),
    ],
)
def test_each_cell_below_a_size_is_a_row(head: str) -> None:
    """In the order of the table, with the line and the other cells of its row; an empty one is none."""
    batch = read(f"application,{head},compiler\na,800,0:07:00,200,gcc\nb,90,,20,\n", "Nodes")
    assert batch.values.tolist() == [800, 420, 200, 90, 20]
    assert batch.numbers["nodes"].tolist() == [1, 2, 4, 1, 4]
    assert batch.lines.tolist() == [2, 2, 2, 3, 3]
    assert [batch.series[number].application for number in batch.series_of] == ["a", "a", "a", "b", "b"]
    assert [key.compiler for key in batch.series] == ["gcc", None]
    assert batch.notes == ("r.csv:3: 1 row without a value; left out",)


def test_sizes_may_be_of_any_count_or_parameter() -> None:
    """Totals are spread over nodes as those of a column are; options name, fill and leave out other columns."""
    batch = read("app,nodes,1xV100,8xV100,x\na,1,9,2,z\n", "total_gpus", {"app": "application", "x": ""})
    assert (batch.numbers["gpus_per_node"].tolist(), batch.numbers["nodes"].tolist()) == ([1, 8], [1, 1])
    batch = read("application,n=100,n=200\na,9,20\n", "params.size")
    assert ([key.params for key in batch.series], batch.numbers["nodes"].tolist()) == ([{"size": "100"}, {"size": "200"}], [UNKNOWN] * 2)


@pytest.mark.parametrize("head", ["run1,run2", "Run #1,Run #2", "rep 1,rep 2", "Lauf 1,Lauf 2", "time_1,time_2", "1,2"])
def test_repetitions_may_stand_side_by_side(head: str) -> None:
    """A row for each; they are runs of one layout."""
    batch = read(f"application,nodes,{head}\na,1,812,820\na,2,431,440\n", "repeat")
    assert batch.values.tolist() == [812, 820, 431, 440]
    assert [batch.numbers[name].tolist() for name in ("nodes", "repeat")] == [[1, 1, 2, 2], [1, 2, 1, 2]]


@pytest.mark.parametrize(("unit", "factor"), [("ms", 1e-3), ("minutes", 60), ("V100", 1)])
def test_the_unit_of_wide_columns_is_that_of_their_headings(unit: str, factor: float) -> None:
    """If all of them have it in brackets; what is no unit stays a remark."""
    batch = read(f"application,nodes,time_1 ({unit}),time_2 ({unit})\na,1,500,600\n", "repeat")
    assert batch.values.tolist() == pytest.approx([500 * factor, 600 * factor])


@pytest.mark.parametrize(
    ("head", "option"),
    [
        ("metric,1 node,2 nodes", "are named after sizes; '--wide nodes' makes each of their cells a row"),
        ("1 node,2 nodes", "'--wide nodes --set metric=… --set unit=…' makes each of their cells a row"),
        ("metric,omp-1,omp-8", "'--wide threads_per_rank' makes each of their cells a row"),
        ("metric,1xV100,8xV100", "'--wide total_gpus' makes each of their cells a row, or gpus_per_node if they count so"),
        ("metric,np2,np4", "'--wide total_ranks' makes each of their cells a row, or ranks_per_node or nodes if they count so"),
        ("metric,1,2", "'--wide nodes' makes each of their cells a row, or total_ranks or ranks_per_node or threads_per_rank or"),
        ("nodes,run1,run2,run3", "'--wide repeat --set metric=… --set unit=…' makes each of their cells a row"),
        ("nodes,time_1 (s),time_2 (s)", "'--wide repeat --set metric=…' makes each of their cells a row, or total_ranks or"),
        ("size,2 cores,4 cores", "'--wide total_ranks --set metric=… --set unit=…' makes each of their cells a row, or ranks_per_node or"),
        ("size,1 CPU,4 CPUs", "'--wide total_ranks --set metric=… --set unit=…' makes each of their cells a row, or ranks_per_node or"),
        ("size,1 process,2 processes", "'--wide total_ranks --set metric=… --set unit=…' makes each of their cells a row, or ranks_per"),
        ("p,t1,t2,t3", "'--wide repeat --set metric=… --set unit=…' makes each of their cells a row, or nodes or ranks_per_node or"),
        (
            "n_threads,time1,time2",
            "'--wide repeat --set metric=… --set unit=…' makes each of their cells a row, or nodes or total_ranks or",
        ),
        ("threads_per_rank,1,2", "'--wide repeat --set metric=… --set unit=…' makes each of their cells a row, or nodes or"),
        ("compiler,0,1,2", "'--wide repeat --set metric=… --set unit=…' makes each of their cells a row, or nodes or"),
        ("batch_size,1,2", "'--wide nodes --set metric=… --set unit=…' makes each"),
        ("p,t1,t2,t4", "'--wide nodes --set metric=… --set unit=…' makes each of their cells a row, or ranks_per_node or"),
        ("nodes,t1,t2,t4", "'--wide total_ranks --set metric=… --set unit=…' makes each"),
        ("compiler,t1,t2,t4", "'--wide nodes --set metric=… --set unit=…' makes each"),
        ("GPU (1),GPU (2)", "'--wide total_gpus --set metric=… --set unit=…' makes each"),
        ("run (1) [s],run (2) [s],run (3) [s]", "are named after runs; '--wide repeat --set metric=…' makes each"),
        ("T (1 node) [s],T (2 nodes) [s],T (4 nodes) [s]", "'--wide nodes --set metric=…' makes each of their cells a row"),
        ("1 node (a),2 nodes (a),Speedup (2 nodes)", "columns '1 node (a)', '2 nodes (a)' are named after sizes; '--wide nodes --set "),
    ],
)
def test_the_option_for_a_wide_table_is_told(head: str, option: str) -> None:
    """What the headings count, as far as they and the other columns tell."""
    with pytest.raises(DataError) as caught:
        next(iter(table(from_bytes(f"application,{head}\na{',1' * (head.count(',') + 1)}\n".encode(), "r.csv")).batches()))
    assert any(option in str(fault) for fault in caught.value.faults)


def test_sizes_of_several_figures_are_no_wide_table() -> None:
    """What stands before their brackets would be lost."""
    with pytest.raises(DataError, match="no columns side by side whose names are sizes"):
        read("application,T (1 node),T (2 nodes),E (4 nodes)\na,9,5,3\n", "nodes")


def test_records_have_sizes_as_keys() -> None:
    """As pandas writes a wide table as JSON."""
    assert read('[{"application": "a", "1": 9, "2": 5}]', "nodes", name="r.json").values.tolist() == [9, 5]


def test_sizes_come_in_any_order() -> None:
    """A record that lacks one, as of a run that failed, has it later."""
    batch = read('[{"application": "a", "2": 5, "4": 3}, {"application": "b", "1": 9, "2": 6}]', "nodes", name="r.json")
    assert sorted(zip(batch.numbers["nodes"].tolist(), batch.values.tolist(), strict=True)) == [(1, 9), (2, 5), (2, 6), (4, 3)]


@pytest.mark.parametrize(
    ("text", "column", "says"),
    [
        ("application,1,2\na,9,5\n", "system", "wide: 'system': allowed: what the headings count, nodes, ranks_per_node, "),
        ("application,omp=1,omp=2\na,9,5\n", "nodes", "r.csv:1: --wide nodes: 'omp=1' seems to count something else (--wide threads"),
        ("application,value,1,2\na,8,9,5\n", "nodes", "r.csv:1: --wide nodes: the table has a column 'value', too"),
        ("application,Nodes,1,2\na,8,9,5\n", "nodes", "r.csv:1: --wide nodes: the table has a column 'Nodes', too"),
        ("application,a,b\na,9,5\n", "nodes", "r.csv:1: --wide nodes: no columns side by side whose names are sizes (columns with"),
        ("application,1,2,t1\na,9,5,4\n", "nodes", "r.csv:1: --wide nodes: no columns side by side whose names are sizes (columns with"),
        ("application,1 (s),2 (ms)\na,9,5\n", "nodes", "r.csv:1: --wide nodes: no columns side by side whose names are sizes (columns "),
        ("application,1,2\na,9,x\n", "nodes", "r.csv:2: column 'value': 'x': allowed: a finite positive number"),
    ],
)  # fmt: skip
def test_a_table_that_is_not_wide_in_this_way_is_refused(text: str, column: str, says: str) -> None:
    """One line says why."""
    with pytest.raises(DataError) as caught:
        read(text, column)
    assert str(caught.value).startswith(says)


@pytest.mark.parametrize("head", ["Serial,2 threads,4 threads", "2 threads,serial,4 threads"])
def test_a_new_name_may_be_that_of_a_size(head: str) -> None:
    """Of a column whose heading is none."""
    batch = read(f"application,{head}\na,9,5,3\n", "threads_per_rank", {"serial": "1 thread"})
    place = head.lower().split(",").index("serial")
    assert (batch.numbers["threads_per_rank"].tolist()[place], batch.values.tolist()) == (1, [9, 5, 3])


@pytest.mark.parametrize(
    ("old", "says"), [("serial", "two columns are called '2 threads'"), ("seriel", "unknown column 'seriel'; did you")]
)
def test_a_new_name_of_a_size_is_for_one_column_that_is_there(old: str, says: str) -> None:
    """As that of any column."""
    with pytest.raises(DataError, match=says):
        read("application,serial,2 threads,4 threads\na,9,5,3\n", "threads_per_rank", {old: "2 threads"})


def test_the_page_about_results_names_the_columns() -> None:
    """All that ``--wide`` takes."""
    text = (ROOT / "docs/results.md").read_text().partition("#### Wide tables\n")[2].partition("\n#### ")[0]
    assert [column for column in COLUMNS if f"`{column}`" not in text] == []
