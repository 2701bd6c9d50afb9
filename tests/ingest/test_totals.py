"""Ranks and GPUs that a table counts over all nodes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modak.ingest.reading import points
from modak.ingest.sources import from_bytes
from modak.ingest.table import UNKNOWN, Options
from tests.ingest.test_bad_files import faults
from tests.ingest.test_reading import only

COUNT = st.integers(1, 3000)
GPUS = "application,nodes,total_gpus,gpus_per_node,metric,value\n"


def read(rows: str, **fill: str) -> list[tuple[int, int]]:
    """Nodes and GPUs on each, of rows of ``nodes,total_gpus,gpus_per_node``."""
    table = GPUS + "".join(f"a,{row},wall_time,1\n" for row in rows.split())
    numbers = only(table, options=Options(fill=fill)).numbers
    return list(zip(numbers["nodes"].tolist(), numbers["gpus_per_node"].tolist(), strict=True))


@given(COUNT, COUNT)
def test_two_of_three_counts_give_the_third(nodes: int, each: int) -> None:
    """A total with the nodes gives what is on each; with what is on each, the nodes; all three agree."""
    total = nodes * each
    assert read(f"{nodes},{total}, ,{total},{each} {nodes},{total},{each}") == [(nodes, each)] * 3


def test_fewer_than_a_node_has_run_on_a_part_of_one() -> None:
    """So one option is enough for a table of 1 to 32 GPUs, and runs without any beside them."""
    assert read(",1, ,2, ,4, ,8, ,16, ,32,", gpus_per_node="8") == [(1, 1), (1, 2), (1, 4), (1, 8), (2, 8), (4, 8)]
    assert read(",0,", gpus_per_node="8") == [(UNKNOWN, 0)]


@pytest.mark.parametrize(("fill", "each"), [("gpus_per_node", 8), ("ranks_per_node", 16)])
def test_ranks_and_gpus_are_spread_over_the_same_nodes(fill: str, each: int) -> None:
    """Whichever of the two a node is told to have."""
    batch = only(
        "application,total_ranks,total_gpus,metric,value\na,64,32,wall_time,1\na,8,4,wall_time,1\n", options=Options(fill={fill: str(each)})
    )
    found = [batch.numbers[name].tolist() for name in ("nodes", "ranks_per_node", "gpus_per_node")]
    assert found == [[4, 1], [16, 8], [8, 4]]
    assert not batch.notes


def test_a_total_alone_counts_as_on_one_node_and_is_noted() -> None:
    """As of formats that know of no nodes; the note says what helps."""
    batch = only("application,total_ranks,metric,value\na,8,wall_time,1\na,16,wall_time,1\n")
    assert (batch.numbers["nodes"].tolist(), batch.numbers["ranks_per_node"].tolist()) == ([UNKNOWN] * 2, [8, 16])
    (note,) = batch.notes
    assert note.startswith("r.csv: column 'total_ranks': without 'nodes', all count as on one node; if it were several, load the file")
    assert note.endswith("with '--replace' and '--set ranks_per_node=…', what a node has")


@pytest.mark.parametrize(
    ("unit", "counts", "value"),
    [
        ("tokens/s/GPU", "total_gpus,gpus_per_node|64,8", 64 * 782),
        ("tokens/s per GPU", "nodes,gpus_per_node|8,8", 64 * 782),
        ("ktok/s/device", "total_gpus|64", 64e3 * 782),
        ("TFLOPS/node", "nodes|8", 8e12 * 782),
        ("samples/s/rank", "nodes,ranks_per_node|8,4", 32 * 782),
    ],
)
def test_a_rate_of_each_becomes_that_of_all(unit: str, counts: str, value: float) -> None:
    """As tables of large networks give it."""
    names, cells = counts.split("|")
    batch = only(f"application,{names},metric,value,unit\na,{cells},speed,782,{unit}\n")
    assert (batch.values.tolist(), batch.series[0].unit) == ([value], "tokens/s" if "tok" in unit else batch.series[0].unit)


@pytest.mark.parametrize("counts", ["nodes|2", "gpus_per_node|8", "nodes,gpus_per_node|2,0", "total_gpus|0"])
def test_a_rate_of_each_gpu_needs_their_number(counts: str) -> None:
    """One GPU's rate as that of all would turn scaling round."""
    names, cells = counts.split("|")
    found = faults(f"application,{names},metric,value,unit\na,{cells},throughput,782,tokens/s/GPU\n")
    assert found == [
        "r.csv:2: column 'unit': 'tokens/s/GPU': the row does not say of how many: 'total_gpus', or 'nodes' and 'gpus_per_node'; "
        "or give the rate of all together, in tokens/s"
    ]


def test_rows_without_a_total_stay_as_they_are() -> None:
    """Some rows of a table may count in one way, some in the other."""
    assert read("2,,4 ,,4 2,8, 3,0,") == [(2, 4), (UNKNOWN, 4), (2, 4), (3, 0)]


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("2,7,", "column 'total_gpus': 7 on 2 nodes: allowed: as many on each node"),
        ("2,8,3", "column 'total_gpus': 8 on 2 nodes with gpus_per_node 3: allowed: as many on each node"),
        (",12,8", "column 'total_gpus': 12 on 1 node with gpus_per_node 8: allowed: as many on each node"),
        ("2,0,8", "column 'total_gpus': 0 on 2 nodes with gpus_per_node 8: allowed: as many on each node"),
        ("1,x,", "column 'total_gpus': 'x': allowed: a whole number from 0"),
    ],
)
def test_a_total_that_is_not_the_same_on_each_node_is_refused(row: str, says: str) -> None:
    """With the line of each such row."""
    assert faults(f"{GPUS}a,1,4,4,wall_time,1\na,{row},wall_time,1\n")[0].startswith(f"r.csv:3: {says}")
    both = faults(f"{GPUS}a,{row},wall_time,1\na,{row},wall_time,1\n")
    assert len(both) == 1
    assert both[0].endswith("(also in line 3)")


def test_points_to_predict_may_count_so_too() -> None:
    """The answer repeats the file's own columns."""
    (point,) = points(from_bytes(b"application,metric,Nodes,Total ranks\na,wall_time,4,64\n", "p.csv"), 10)
    assert (point.layout.nodes, point.layout.ranks_per_node) == (4, 16)
    assert point.cells == {"application": "a", "metric": "wall_time", "Nodes": "4", "Total ranks": "64"}
