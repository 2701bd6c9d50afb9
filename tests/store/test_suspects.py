"""Rows that are stored, and on which no model rests until somebody confirms them, on both databases."""

from __future__ import annotations

from modak import knowledge
from modak.facts import System
from modak.store import Store
from tests.store.tables import HEADER, ME, ROWS, csv_table


def test_suspicious_rows_are_stored_and_kept_out_of_fits(store: Store) -> None:
    """A row with a word in ``suspect`` loads, is reported with its line, and no model rests on it."""
    store.load([csv_table(ROWS + "3dgan,clic,supermuc-ng,64,4,12,epoch_time,1,s,,,,contradicts itself\n")], ME)
    report = store.load([csv_table(HEADER + "3dgan,clic,supermuc-ng,128,4,12,epoch_time,1,s,,,,odd\n", "odd.csv")], ME)
    assert report.suspicious == ("odd.csv:2: odd",)
    assert {64.0, 128.0}.isdisjoint(size for curve in store.models("3dgan") for size in curve.sizes)


def test_runs_that_were_stopped_may_differ_by_any_factor(store: Store) -> None:
    """The longest of them counts, also where others were stopped at once, on as many nodes or on fewer."""
    times = [(1, 2.0), (2, 10.0), (2, 11.0), (2, 5000.0)]
    rows = "".join(f"a,s,{nodes},stopped_after,{value},s\n" for nodes, value in times)
    report = store.load([csv_table(f"application,system,nodes,metric,value,unit\n{rows}")], ME)
    assert (report.suspicious, [note for note in report.notes if "differ by a factor" in note]) == ((), [])
    assert [(one.layout.nodes, one.count, one.longest_s) for one in store.failed("a")] == [(1, 1, 2.0), (2, 3, 5000.0)]


GPUS = "application,system,nodes,gpus_per_node,metric,value\n" + "".join(
    f"a,My_Cluster,{nodes},{gpus},wall_time,{value}\n" for nodes, gpus, value in ((1, 4, 100.5), (2, 8, 52.25), (4, 16, 28.5))
)
"""GPUs counted over all nodes."""


def with_gpus(known: knowledge.Knowledge, count: int) -> System:
    """A system whose nodes have so many GPUs."""
    system = next(system for system in known.systems if system.name == "hlrs-testbed")
    node = system.partitions[0].node.model_copy(update={"accelerator": "v100-sxm2-16gb", "accelerators": count})
    parts = (system.partitions[0].model_copy(update={"node": node}),)
    return system.model_copy(update={"name": "my-cluster", "aliases": (), "partitions": parts})


def used(store: Store) -> int:
    """The number of results that models rest on."""
    return sum(curve.results_used for curve in store.models())


def test_gpus_that_no_node_has_are_suspicious(store: Store, known: knowledge.Knowledge) -> None:
    """A total in the column of GPUs per node: no model rests on these rows until they are confirmed, one size for itself."""
    store.add([with_gpus(known, 4)], ME)
    report = store.load([csv_table(GPUS)], ME)
    assert [line.partition("): ")[2] for line in report.suspicious] == [
        f"{gpus} GPUs on each of {nodes} nodes, but a node of my-cluster has at most 4: a total over all nodes? then gpus_per_node is 4"
        for nodes, gpus in ((2, 8), (4, 16))
    ]
    assert used(store) == 1
    assert store.judge("confirm", [2], ME).count == 1
    assert used(store) == 2


def test_impossible_rows_say_nothing_about_others(store: Store, known: knowledge.Knowledge) -> None:
    """Of wrong size, they would make a sound row look faster than linear, or a sound row a slip."""
    store.add([with_gpus(known, 4)], ME)
    sound = "a,my-cluster,8,4,wall_time,20\n".replace("my-cluster", "My_Cluster")
    assert [line.partition(" ")[0] for line in store.load([csv_table(GPUS + sound)], ME).suspicious] == ["results.csv:"] * 2
    assert used(store) == 2


def test_a_system_that_is_described_later_is_compared_with_its_results(store: Store, known: knowledge.Knowledge) -> None:
    """Impossible rows are named and left out from then on; a better description frees them."""
    store.load([csv_table(GPUS)], ME)
    assert used(store) == 3
    added = store.add([with_gpus(known, 4)], ME)
    assert [note.partition(":")[0] for note in added.notes] == ["suspicious from now on"] * 2
    assert used(store) == 1
    assert store.add([with_gpus(known, 16)], ME, replace=True).notes == ("no longer suspicious, and used by the models: 2 results",)
    assert used(store) == 3


def test_a_system_that_is_removed_doubts_no_result_any_more(store: Store, known: knowledge.Knowledge) -> None:
    """What nothing describes is not impossible: the rows are freed, and used."""
    store.add([with_gpus(known, 4)], ME)
    store.load([csv_table(GPUS)], ME)
    assert used(store) == 1
    assert store.remove(System, "my-cluster", ME) == ("no longer suspicious, and used by the models: 2 results",)
    assert used(store) == 3


def test_of_two_rates_of_one_size_the_one_that_others_bear_out_is_right(store: Store) -> None:
    """A slip in the unit: the other sizes tell which of them it is."""
    runs = ((1, 100.0), (2, 199.0), (4, 0.398), (4, 398.0), (8, 790.0))
    rows = "".join(f"rated,My_Cluster,{nodes},throughput,{value},samples/s\n" for nodes, value in runs)
    report = store.load([csv_table(f"application,system,nodes,metric,value,unit\n{rows}")], ME)
    (line,) = report.suspicious
    assert "(value 0.398)" in line
