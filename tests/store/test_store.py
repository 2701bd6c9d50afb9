"""What goes in comes out, on both databases."""

from __future__ import annotations

import fcntl
import os
import resource
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from sqlalchemy import event, insert, select, text, update

from modak import __version__, knowledge
from modak.dsl import Texts
from modak.errors import Conflict, DataError, NotFound, RequestError, Unavailable, UnknownName
from modak.facts import Result, SeriesKey, System
from modak.ingest.table import Options
from modak.packaged import PRINCIPAL
from modak.perfmodel import fit
from modak.perfmodel.curves import FIT_VERSION
from modak.store import Store, backup, catalogue, check, curves, migrate, open_store, plans, schema, upgrade
from modak.store.audit import Actor
from modak.store.engine import VANISHED, reading, writing
from modak.store.series import key_hash
from tests.store.tables import HEADER, ME, ROWS, applications, csv_table, results_of


@pytest.fixture(scope="session")
def known() -> knowledge.Knowledge:
    """The packaged knowledge."""
    return knowledge.read_all(knowledge.packaged_root())


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


def test_a_file_loaded_twice_adds_nothing(store: Store) -> None:
    """The second load of a file finds only duplicates, says so, and leaves the version of the data."""
    first = store.load([csv_table(ROWS)], ME)
    again = store.load([csv_table(ROWS)], ME)
    assert (first.new, again.new, again.duplicates) == (8, 0, 8)
    assert again.files[0].already is not None
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


def test_a_row_twice_in_one_file_counts_once(store: Store) -> None:
    """Duplicates within a file are counted, not stored."""
    line = ROWS.splitlines(keepends=True)[1]
    assert store.load([csv_table(HEADER + line * 3)], ME).duplicates == 2
    assert len(results_of(store, "3dgan")) == 1


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


def test_suspicious_rows_are_stored_and_kept_out_of_fits(store: Store) -> None:
    """A row with a word in ``suspect`` loads, is reported with its line, and no model rests on it."""
    store.load([csv_table(ROWS + "3dgan,clic,supermuc-ng,64,4,12,epoch_time,1,s,,,,contradicts itself\n")], ME)
    report = store.load([csv_table(HEADER + "3dgan,clic,supermuc-ng,128,4,12,epoch_time,1,s,,,,odd\n", "odd.csv")], ME)
    assert report.suspicious == ("odd.csv:2: odd",)
    assert {64.0, 128.0}.isdisjoint(size for curve in store.models("3dgan") for size in curve.sizes)


def test_unknown_systems_are_noted(store: Store, known: knowledge.Knowledge) -> None:
    """A load names systems that are not known, and not those that are, by any name and in any spelling that a request may use."""
    (system,) = [system.model_copy(update={"aliases": ("sng",)}) for system in known.systems if system.name == "hlrs-testbed"]
    store.add([system], ME)
    rows = "".join(f"a,{name},wall_time,1\n" for name in ("hlrs_testbed", "HLRS-testbed", "SNG", "nowhere"))
    (note,) = store.load([csv_table(f"application,system,metric,value\n{rows}")], ME).notes
    assert note.startswith("unknown system 'nowhere'")


def test_systems_without_a_known_name_share_a_note(store: Store, known: knowledge.Knowledge) -> None:
    """A table of all machines of the world has one line of them, and one for each that may be a slip."""
    store.add([system for system in known.systems if system.name == "hlrs-testbed"], ME)
    rows = "".join(f"a,machine{number},wall_time,1\n" for number in range(12)) + "a,hlrs-testbet,wall_time,1\n"
    slip, others = store.load([csv_table(f"application,system,metric,value\n{rows}")], ME).notes
    assert slip == "unknown system 'hlrs-testbet'; did you mean 'hlrs-testbed'?; its rows are kept"
    assert others.endswith("'machine7' and 2 more; their rows are kept")


def test_counts_of_a_whole_run_on_one_node_are_noted(store: Store, known: knowledge.Knowledge) -> None:
    """The usual table has one column of cores over all nodes; 96 on a node of SuperMUC-NG are its hyper-threads, 768 are of eight nodes."""
    store.add([system for system in known.systems if system.name == "supermuc-ng"], ME)
    header, row = "application,system,ranks_per_node,threads_per_rank,metric,value\n", "a,supermuc_ng,{},2,wall_time,1\n"
    assert store.load([csv_table(header + row.format(48))], ME).notes == ()
    (note,) = store.load([csv_table(header + row.format(48) + row.format(384))], ME).notes
    assert note.startswith("supermuc-ng: up to 768 ranks x threads on a node, but its nodes run at most 96 at once")


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


def test_names_in_several_spellings_are_noted(store: Store) -> None:
    """Of applications and their data sets, also if the other spelling was loaded before; models keep them apart."""
    store.load([csv_table("application,dataset,metric,value\nLAMMPS,lj,wall_time,1\n")], ME)
    notes = store.load([csv_table("application,dataset,metric,value\nlammps,Rhodo,wall_time,1\nlammps,rhodo,wall_time,2\n")], ME).notes
    assert [note.partition(" count")[0] for note in notes] == ["application: 'LAMMPS', 'lammps'", "data set of 'lammps': 'Rhodo', 'rhodo'"]


def test_frameworks_that_run_on_another_one_are_noted(store: Store) -> None:
    """Requests for Keras look for results of its backend."""
    (note,) = store.load([csv_table("application,framework,metric,value\na,Keras,wall_time,9\na,jax,wall_time,9\n")], ME).notes
    assert note.startswith("framework 'Keras': ")


def test_ratios_that_predict_nothing_are_noted(store: Store) -> None:
    """Once for each metric; a speed-up over a baseline that it names is used."""
    rows = "a,efficiency,0.9,\nb,efficiency,0.8,\na,speedup,2,another run\n"
    (note,) = store.load([csv_table(f"application,metric,value,params.baseline\n{rows}")], ME).notes
    assert note.startswith("metric 'efficiency': nothing is predicted from it")


REPEATS = "application,nodes,ranks_per_node,metric,value,unit,repeat\n"


def test_repeats_that_contradict_each_other_are_noted(store: Store) -> None:
    """With layout and values: which one is wrong, nobody knows, so none is doubted."""
    rows = "a,1,4,wall_time,700,s,1\na,2,4,wall_time,350,s,1\na,2,4,wall_time,60,s,2\na,2,8,wall_time,90,s,1\na,2,8,wall_time,60,s,2\n"
    report = store.load([csv_table(REPEATS + rows)], ME)
    (note,) = report.notes
    assert note.startswith(
        "application a, metric wall_time, unit s, nodes 2, ranks_per_node 4: 2 runs differ by a factor of 5.8 (60 to 350); the models use "
    )
    assert report.suspicious_count == 0


def test_repeats_of_which_one_is_doubted_are_not_noted(store: Store) -> None:
    """Of a slip in the unit the other sizes tell which; once somebody said it, a load has nothing to note either."""
    rows = "a,1,4,wall_time,700,s,1\na,2,4,wall_time,350,s,1\na,2,4,wall_time,350000,s,2\na,4,4,wall_time,180,s,1\n"
    report = store.load([csv_table(REPEATS + rows)], ME)
    assert (report.notes, report.suspicious_count) == ((), 1)
    store.load([csv_table(REPEATS + "b,1,4,wall_time,700,s,1\nb,1,4,wall_time,60,s,2\n")], ME)
    store.judge("doubt", [6], ME, "throttled")
    assert store.load([csv_table(REPEATS + "b,2,4,wall_time,350,s,1\n")], ME).notes == ()


def test_notes_of_repeats_are_limited(store: Store) -> None:
    """A table without a column that tells its rows apart has one line for the rest."""
    rows = "".join(f"a{number},1,4,wall_time,{value},s,\n" for number in range(13) for value in (60, 350))
    notes = store.load([csv_table(REPEATS + rows)], ME).notes
    assert (len(notes), notes[-1]) == (11, "3 more layouts have runs that differ by a factor of more than 2")


@pytest.mark.parametrize(("column", "cells"), [("system", ("0.00036", "0", "a")), ("runtime", ("812.5", "431", "apptainer"))])
def test_times_in_a_column_of_names_are_noted(store: Store, column: str, cells: Sequence[str]) -> None:
    """The CPU's time in the system, and the run's, have such headings in tables of other tools."""
    rows = "".join(f"a,{cell},wall_time,9\n" for cell in cells)
    notes = store.load([csv_table(f"application,{column},metric,value\n{rows}")], ME).notes
    assert [note.partition(":")[0] for note in notes if "the column names" in note] == [f"{column} '{cells[0]}', '{cells[1]}'"]


def test_what_a_load_mends_is_not_noted_again(store: Store) -> None:
    """The series of the replaced rows changed, too, but have none left."""
    text = "application,system,metric,value\na,0.36,wall_time,9\na,0.18,wall_time,5\n"
    assert any("the column names the system" in note for note in store.load([csv_table(text)], ME).notes)
    report = store.load([csv_table(text, options=Options(rename={"system": ""}))], ME, replace=True)
    assert (report.replaced, [note for note in report.notes if "names the system" in note]) == (2, [])


def test_a_parameter_that_grows_with_the_size_is_noted_once_for_all_series(store: Store) -> None:
    """A test with several figures on several partitions says it of each of them."""
    rows = "".join(f"a,{part},{n},{n},wall_time,{9 + n}\n" for part in "xyz" for n in (1, 2, 4))
    notes = store.load([csv_table(f"application,partition,params.size,nodes,metric,value\n{rows}")], ME).notes
    assert [(note.startswith("application a, partition x"), " and 2 more: 'size' grows" in note) for note in notes] == [(True, True)]


def test_processes_in_the_column_of_the_mpi_library_are_noted(store: Store) -> None:
    """Each number of them would be a series of its own."""
    rows = "a,openmpi 4.1,wall_time,9\na,intel-mpi 2019,wall_time,9\na,48,wall_time,9\na,96,wall_time,5\n"
    (note,) = store.load([csv_table(f"application,mpi,metric,value\n{rows}")], ME).notes
    assert note.startswith("mpi '48', '96': the column names the MPI library")


@pytest.mark.parametrize(
    ("name", "column"),
    [("num_nodes", "'nodes'"), ("threads", "'threads_per_rank'"), ("nprocs", "'total_ranks'"), ("size", "")],
)
def test_counts_of_the_layout_among_the_parameters_are_noted(store: Store, name: str, column: str) -> None:
    """Each of them would be a problem of its own."""
    report = store.load([csv_table(f"application,params.{name},metric,value\na,1,wall_time,9\na,2,wall_time,5\n")], ME)
    said = f"parameter {name!r}: runs with 1, 2 count as different problems; if it is a count of the layout, load it as {column}"
    assert report.notes == ((said,) if column else ())


VERTICES = "if it counts something else, load the file again with '--replace' and '--map nodes=params.nodes'"
SIZES = (100, 400, 1600, 6400)


@pytest.mark.parametrize(
    ("nodes", "values", "unit", "params", "said"),
    [
        (
            SIZES,
            (2, 9, 33, 150),
            "s",
            "",
            "takes longer nearly as 'nodes' grow: are these computers, or the size of the problem? " + VERTICES,
        ),
        (SIZES, (1e9, 3e8, 6e7, 2e7), "cells/s", "", "takes longer nearly as 'nodes' grow"),
        (
            (1000, 1_000_000),
            (3, 2),
            "s",
            "",
            "up to 1000000 nodes, but no system has more than 200000: is it the column 'nodes'? " + VERTICES,
        ),
        (SIZES, (2, 9, 33, 20), "s", "", ""),
        (SIZES, (2, 3, 5, 9), "s", "", ""),
        (SIZES, (2, 9, 33, 150), "s", "weak", ""),
        ((1, 2, 4), (2, 4, 8), "s", "", ""),
    ],
)
def test_nodes_that_are_no_computers_are_noted(
    store: Store, nodes: Sequence[int], values: Sequence[float], unit: str, params: str, said: str
) -> None:
    """Those of a graph or a network, with which times grow; runs that stop scaling, weak scaling and few sizes say nothing."""
    rows = "".join(f"a,{params},{n},cost,{value},{unit}\n" for n, value in zip(nodes, values, strict=True))
    notes = store.load([csv_table(f"application,params.scaling,nodes,metric,value,unit\n{rows}")], ME).notes
    assert [said in note for note in notes if "nodes" in note] == ([True] if said else [])


@pytest.mark.parametrize(
    ("texts", "noted"),
    [
        (("jacobi", "ilu"), "precision 'jacobi', 'ilu': the column names the precision of numbers ('fp32', 'mixed'); if it says something"),
        (("1e-6", "0.001"), "precision '1e-6', '0.001': "),
        (("fp32", "Mixed Float16", "int8", "double", "bf16-mixed", "q4_0", "64", "amp"), ""),
        (("32-true", "SP", "dp", "float", "high", "medium"), ""),
    ],
)
def test_what_is_no_precision_is_noted(store: Store, texts: Sequence[str], noted: str) -> None:
    """A preconditioner, or a tolerance."""
    rows = "".join(f"a,{text},time,9\n" for text in texts)
    notes = store.load([csv_table(f"application,precision,metric,value\n{rows}")], ME).notes
    assert [note.startswith(noted) for note in notes if note.startswith("precision")] == ([True] if noted else [])


WEAK = "if it only counts them, or in weak scaling, load the file again with '--replace' and '--map OLD=' (without that column)"


@pytest.mark.parametrize(
    ("cells", "metric", "unit", "said"),
    [
        (
            (1000, 2000, 4000),
            "wall_time",
            "s",
            f"'size' grows as the ranks or GPUs do, so each size counts as a problem of its own; {WEAK}; in weak scaling also '--set",
        ),
        ((1000, 1990, 4060), "wall_time", "s", WEAK),
        ((1000, 2000, 4000), "throughput", "cells/s", WEAK),
        ((1000, 1000, 1000), "wall_time", "s", ""),
        ((1000, 3000, 4000), "wall_time", "s", ""),
        (("small", "large", "huge"), "wall_time", "s", ""),
    ],
)
def test_a_problem_that_grows_with_the_size_is_noted(store: Store, cells: Sequence[object], metric: str, unit: str, said: str) -> None:
    """Each size would be a problem of its own, and nothing would scale."""
    rows = "".join(f"a,{cell},1,{n},{metric},{9 + n},{unit}\n" for n, cell in zip((1, 2, 4), cells, strict=True))
    notes = store.load([csv_table(f"application,params.size,nodes,ranks_per_node,metric,value,unit\n{rows}")], ME).notes
    assert [said in note for note in notes] == ([True] if said else [])


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        (",,128", "more than 16 gpus_per_node: without 'nodes' each result counts as a run on one node"),
        (",1536,", "more than 1024 ranks x threads on a node: without 'nodes' each result counts as a run on one node"),
        (",256,", ""),
        (",,16", ""),
        ("16,128,", ""),
    ],
)
def test_more_than_a_node_has_is_noted_where_no_nodes_are_named(store: Store, counts: str, said: str) -> None:
    """Counts over all nodes in a column of those of each."""
    notes = store.load([csv_table(f"application,nodes,ranks_per_node,gpus_per_node,metric,value\na,{counts},wall_time,9\n")], ME).notes
    assert [said in note for note in notes] == ([True] if said else [])


@pytest.mark.parametrize(("column", "noted"), [("ranks_per_node", True), ("gpus_per_node", True), ("threads_per_rank", False)])
def test_series_over_ranks_or_gpus_that_name_no_nodes_are_noted(store: Store, column: str, noted: bool) -> None:
    """More nodes are then extrapolated from one; threads are on one node anyhow, and a number of nodes leaves nothing open."""
    rows = "".join(f"a,{n},wall_time,{9 / n}\n" for n in (1, 2, 4))
    said = store.load([csv_table(f"application,{column},metric,value\n{rows}")], ME).notes
    assert ["no result names 'nodes', so each counts as a run on one node" in note for note in said] == [True] * noted
    given = rows.replace("a,", "b,1,")
    assert store.load([csv_table(f"application,nodes,{column},metric,value\n{given}")], ME).notes == ()


@pytest.mark.parametrize("name", ["Total", "Mittelwert"])
def test_a_row_of_totals_is_noted(store: Store, name: str) -> None:
    """It loads as an application of its own."""
    (note,) = store.load([csv_table(f"application,nodes,metric,value\na,1,wall_time,9\n{name},,wall_time,9\n")], ME).notes
    assert note.startswith(f"application {name!r} counts as one of its own; if it sums up other rows, take it out")


@pytest.mark.parametrize(
    ("column", "values", "said"),
    [
        (
            "ranks_per_node",
            (48, 96, 192),
            "ranks_per_node grows as the nodes do (48 for each): if it counts over all nodes, load the file again with '--replace' "
            "and '--map ranks_per_node=total_ranks'",
        ),
        ("threads_per_rank", (12, 24, 48), "threads_per_rank grows as the nodes do (12 for each): if it counts over all nodes, divide it"),
        (
            "gpus_per_node",
            (4, 8, 16),
            "gpus_per_node grows as the nodes do (4 for each): if it counts over all nodes, load the file again with '--replace' "
            "and '--map gpus_per_node=total_gpus'",
        ),
        ("batch_size", (64, 128, 256), "batch_size grows as the nodes do (64 for each): it is that of each worker"),
        ("gpus_per_node", (0, 0, 0), ""),
        ("ranks_per_node", (48, 48, 96), ""),
        ("ranks_per_node", ("", "", ""), ""),
        ("threads_per_rank", (1, "", ""), ""),
    ],
)
def test_counts_over_all_nodes_are_noted(store: Store, column: str, values: Sequence[object], said: str) -> None:
    """Three numbers of nodes with as many times the count are hardly chance."""
    rows = "".join(f"a,{n},{value},wall_time,{90 / n}\n" for n, value in zip((1, 2, 4), values, strict=True))
    notes = store.load([csv_table(f"application,nodes,{column},metric,value\n{rows}")], ME).notes
    assert [note for note in notes if "grows as" in note] == ([note for note in notes if said in note] if said else [])
    assert len(notes) == bool(said)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("a,,812,wall_time,1\na,,431,wall_time,2\na,,240,wall_time,4", "were the columns 'nodes' and 'value' swapped?"),
        ("a,,4,wall_time,1\na,,2,wall_time,2\na,,1,wall_time,4", None),
        ("a,,300,wall_time,4\na,,100,wall_time,8\na,,50,wall_time,17", None),
        ("a,,1,accuracy,76.3", "accuracy up to 76.3, where 1 is all: load percentages with the unit %"),
        ("a,,1,accuracy,0.763", None),
        ("a,,1,wall_time,9\na,,2,wall_time,5\na,,,wall_time,7", "one result without 'nodes', which counts for any number of them"),
        ("a,,,wall_time,7", None),
        ("a,,1,rate_per_gpu,7", "what each gpu does is not what the run does"),
    ],
)
def test_numbers_that_can_hardly_be_what_their_column_says_are_noted(store: Store, rows: str, said: str | None) -> None:
    """They are loaded: who measured them knows."""
    text = "".join(f"{row}{',1/s' if 'rate' in rows else ','}\n" for row in rows.splitlines())
    notes = store.load([csv_table(f"application,system,nodes,metric,value,unit\n{text}")], ME).notes
    assert len(notes) == (said is not None)
    assert said is None or said in notes[0]


def test_more_nodes_than_there_are_are_noted(store: Store, known: knowledge.Knowledge) -> None:
    """Perhaps the column holds something else."""
    store.add([system for system in known.systems if system.name == "hlrs-testbed"], ME)
    (there,) = [sum(part.nodes for part in system.partitions) for system in known.systems if system.name == "hlrs-testbed"]
    header, row = "application,system,nodes,partition,metric,value\n", "a,HLRS-Testbed,{},p,wall_time,9\n"
    assert store.load([csv_table(header + row.format(there))], ME).notes == ()
    (note,) = store.load([csv_table(header + row.format(there + 1))], ME).notes
    assert note.endswith(f"up to {there + 1} nodes, but HLRS-Testbed has {there}: is it the column 'nodes'? {VERTICES}")


def test_a_time_called_after_an_epoch_that_counts_as_a_run_is_noted(store: Store) -> None:
    """Loaded as it is, and the metric for it named: a request's epochs would not be counted."""
    (note,) = store.load([csv_table("application,metric,value,unit\na,seconds_per_epoch,9,s\n")], ME).notes
    assert note.endswith("that of each epoch is called 'epoch_time'")


def test_results_without_parameters_are_not_read_for_those_that_have_some(store: Store) -> None:
    """However many there are: a request for an unknown application reads results of all others."""
    plain = "".join(f"a,,{number},epoch_time,9\n" for number in range(1, 12_001))
    store.load([csv_table(f"application,params.n,nodes,metric,value\n{plain}b,1,1,epoch_time,9\n")], ME)
    asked = list[str]()
    event.listen(store.engine, "before_cursor_execute", lambda *given: asked.append(given[2]))
    assert [result.series.application for result in store.having_parameters({}, 50_000)] == ["b"]
    assert len([each for each in asked if "FROM results" in each]) == 1


def test_a_host_that_vanished_is_given_up(postgres_url: str) -> None:
    """By either end, after a minute and not after hours, also with data on their way: the lock of writers is free again."""
    upgrade(postgres_url, fill=False)
    with open_store(postgres_url, fill=False) as store, reading(store.engine) as connection:
        server = {name: int(connection.execute(text(f"SHOW {name}")).scalar_one()) for name in VANISHED}
        here = connection.connection.driver_connection.info.get_parameters()  # type: ignore[union-attr]
    silent = server["tcp_keepalives_idle"] + server["tcp_keepalives_interval"] * server["tcp_keepalives_count"]
    assert silent == server["tcp_user_timeout"] / 1000 == 60
    assert {name: int(here[name.replace("tcp_keep", "keep")]) for name in server} == server


def test_options_of_the_address_hold(postgres_url: str) -> None:
    """Also those for which we have values of our own."""
    upgrade(postgres_url, fill=False)
    with open_store(f"{postgres_url}?application_name=nightly", fill=False) as store, reading(store.engine) as connection:
        assert connection.execute(text("SHOW application_name")).scalar() == "nightly"


def test_a_connection_keeps_nothing_for_the_next_transaction(postgres_url: str) -> None:
    """Neither prepared statements nor temporary tables: a pooler gives each transaction another connection."""
    upgrade(postgres_url, fill=False)
    with open_store(postgres_url, fill=False) as store:
        store.load([csv_table(ROWS)], ME, replace=True)
        for _ in range(10):
            store.applications()
        with reading(store.engine) as connection:
            assert connection.execute(text("SELECT name FROM pg_prepared_statements")).all() == []
            assert connection.execute(text("SELECT relname FROM pg_class WHERE relname IN ('incoming', 'said')")).all() == []


def test_what_a_role_may_not_do_is_one_line(postgres_url: str) -> None:
    """As with a file that cannot be written: it is nothing that MODAK did wrong."""
    upgrade(postgres_url, fill=False)
    with pytest.raises(Unavailable, match="out of reach: permission denied"):
        open_store(f"{postgres_url}?options=-crole%3Dpg_monitor")


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


def test_expired_plans_leave_the_database(store: Store) -> None:
    """With one plan in 256, which removes those that nobody can ask for any more."""
    store.plans.save("p1", {}, "{}", Texts(""), data_version="1", expires_at=datetime.now(UTC) - timedelta(seconds=1))
    store.plans.save(f"p{plans.SWEEPS}", {}, "{}", Texts(""), data_version="1")
    with reading(store.engine) as connection:
        assert set(connection.scalars(select(schema.plans.c.id))) == {f"p{plans.SWEEPS}"}


def test_models_follow_the_data(store: Store) -> None:
    """Curves are fitted at the first use, come from the store after that, and follow a load into their series."""
    store.load([csv_table(ROWS)], ME)
    first = store.models("3dgan")
    assert store.models("3dgan") == first
    assert first[0].sizes == (4, 8, 16, 32)
    store.load([csv_table(HEADER + "3dgan,clic,supermuc-ng,64,4,12,epoch_time,60,s,,,,\n")], ME)
    assert store.models("3dgan")[0].sizes == (4, 8, 16, 32, 64)
    assert store.models() == store.models("3dgan")
    assert store.models("other") == ()


def test_curves_of_other_forms_are_fitted_again(tmp_path: Path) -> None:
    """Coefficients mean nothing to forms that they were not fitted with: a new form needs no other version number."""
    url = f"sqlite:///{tmp_path / 'modak.db'}"
    with open_store(url) as store:
        known = len(store.models("3dgan")[0].mixture.coefficients)
    code = """
import sys
from modak.perfmodel import forms
for module in [each for name, each in sys.modules.items() if name.startswith("modak.perfmodel.") and hasattr(each, "FORMS")]:
    module.FORMS = (*module.FORMS, forms.Line("another", recency=0.3))
from modak.store import open_store
with open_store(sys.argv[1]) as store:
    print({len(curve.mixture.coefficients) for curve in store.models("3dgan")})
"""
    done = subprocess.run([sys.executable, "-c", code, url], capture_output=True, text=True, check=True)
    assert done.stdout == f"{{{known + 1}}}\n"


def test_only_changed_series_are_fitted_again(store: Store) -> None:
    """A load into one series leaves what is stored of another application's, byte for byte."""
    store.load([csv_table(ROWS + ROWS.replace("3dgan", "other").removeprefix(HEADER))], ME)
    store.models()
    store.load([csv_table(HEADER + "3dgan,clic,supermuc-ng,64,4,12,epoch_time,60,s,,,,\n")], ME)
    with reading(store.engine) as connection:
        behind = curves.stale(connection)
    assert [key.application for key, _ in behind.values()] == ["3dgan"]


def test_what_a_newer_version_fitted_stays(store: Store) -> None:
    """Two versions on one database do not fit the same series in turns for ever; new results are fitted by whoever needs them first."""
    newer = f"{__version__}/{FIT_VERSION + 1}/forms"

    def fitted_by() -> str:
        with reading(store.engine) as connection:
            return str(connection.scalars(select(schema.series.c.fitted_by)).one())

    store.load([csv_table(ROWS)], ME)
    models = store.models()
    with writing(store.engine) as connection:
        connection.execute(update(schema.series).values(fitted_by=newer))
    assert (store.models(), fitted_by()) == (models, newer)
    store.load([csv_table(HEADER + "3dgan,clic,supermuc-ng,64,4,12,epoch_time,60,s,,,,\n")], ME)
    assert (len(store.models()), fitted_by()) == (1, curves.FITTED_BY)


TWO_IMAGES = "application,params.n,system,nodes,image,metric,value\n" + "".join(
    f"a,{problem},sys,{nodes},{image},epoch_time,{90 / nodes + 5}\n"
    for problem in (1, 2, 3)
    for image in ("", "docker://x:1", "docker://x:2")
    for nodes in (1, 2, 4)
)


@pytest.mark.parametrize("limit", [1, 2, 1000])
def test_pages_of_models_are_all_models(store: Store, limit: int) -> None:
    """In the order in which they are read at once; also where several series are fitted together, and the first page fits them."""
    store.load([csv_table(TWO_IMAGES)], ME)
    pages = [store.models_page(None, limit)]
    while pages[-1].next:
        pages.append(store.models_page(pages[-1].next, limit))
    assert tuple(curve for page in pages for curve in page.items) == store.models()
    assert max(len(page.items) for page in pages) <= limit
    assert len(store.models()) > 3


def test_a_page_of_models_fits_no_others(store: Store) -> None:
    """A database with many series that were never fitted answers the first page soon."""
    store.load([csv_table(TWO_IMAGES)], ME)
    store.models_page(None, 1)
    with reading(store.engine) as connection:
        assert {key.params["n"] for key, _ in curves.stale(connection).values()} == {"2", "3"}


def test_a_page_of_models_does_not_follow_a_load(store: Store, url: str) -> None:
    """Where new series come in as fast as they are read, the page ends all the same."""
    store.load([csv_table(TWO_IMAGES)], ME)
    there = len(store.models())
    with open_store(url, fill=False) as other:
        numbers = count(10)

        @event.listens_for(store.engine, "begin")
        def _load(_connection: Any) -> None:
            other.load([csv_table(f"application,params.n,metric,value\na,{next(numbers)},epoch_time,9\n")], Actor("other"))

        assert len(store.models_page(None, 50).items) <= there + 1


def test_a_database_without_its_tables_is_out_of_reach(store: Store) -> None:
    """As it is for a moment while a backup is restored: no defect of the service, which asks again later."""
    with writing(store.engine) as connection:
        schema.metadata.drop_all(connection)
    for use in (store.version, store.snapshot, lambda: store.load([csv_table(ROWS)], ME)):
        with pytest.raises(Unavailable, match="is out of reach: "):
            use()


def test_a_backup_is_a_whole_database(tmp_path: Path) -> None:
    """A copy made while the store is open opens and holds the results; an existing file is not overwritten."""
    copy = tmp_path / "copy.db"
    with open_store(f"sqlite:///{tmp_path / 'a.db'}", fill=False) as store:
        store.load([csv_table(ROWS)], ME)
        backup(str(store.engine.url), copy)
        with pytest.raises(Conflict, match="exists"):
            backup(str(store.engine.url), copy)
        with pytest.raises(RequestError, match="nowhere"):
            backup(str(store.engine.url), tmp_path / "nowhere" / "copy.db")
    with open_store(f"sqlite:///{copy}", fill=False) as restored:
        assert len(results_of(restored, "3dgan")) == 8
        assert check(str(restored.engine.url)) == ()


@pytest.mark.parametrize("revision", ["0001", "0004"])
def test_an_older_database_is_copied_and_checked_before_it_is_upgraded(tmp_path: Path, revision: str) -> None:
    """As its refusal asks for; the copy is of the older version, too."""
    url, copy = f"sqlite:///{tmp_path / 'a.db'}", f"sqlite:///{tmp_path / 'copy.db'}"
    with open_store(url, fill=False) as store, writing(store.engine) as connection:
        migrate.to(connection, revision)
    with pytest.raises(Unavailable, match="make a backup first"):
        open_store(url)
    assert check(url) == ()
    backup(url, tmp_path / "copy.db")
    with pytest.raises(Unavailable, match="older"):
        open_store(copy)
    assert upgrade(copy)


@pytest.mark.parametrize("content", [None, b""])
def test_no_database_is_made_to_be_copied_or_checked(tmp_path: Path, content: bytes | None) -> None:
    """Where the address is wrong, the copy of a new database would look like a backup."""
    file = tmp_path / "wrong" / "a.db"
    if content is not None:
        file.parent.mkdir()
        file.write_bytes(content)
    before = sorted(tmp_path.rglob("*"))
    for refused in (lambda: backup(f"sqlite:///{file}", tmp_path / "copy.db"), lambda: check(f"sqlite:///{file}")):
        with pytest.raises(Unavailable, match=r"there is no database|is empty"):
            refused()
    assert sorted(path for path in tmp_path.rglob("*") if not path.name.endswith(("-wal", "-shm"))) == before


def test_the_log_of_a_large_load_does_not_stay_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next write cuts it off, also while a service has the database open."""
    monkeypatch.setattr("modak.store.engine.LOG_BYTES", 50_000)
    log = tmp_path / "a.db-wal"
    with open_store(f"sqlite:///{tmp_path / 'a.db'}", fill=False) as store:
        store.load([csv_table(HEADER + "".join(f"a,,,1,,,epoch_time,{number},s,,,,\n" for number in range(1, 70_000)))], ME)
        large = log.stat().st_size
        store.access.note(ME, "load", "", "refused")
        assert log.stat().st_size <= 50_000 < large


def test_a_backup_removes_what_killed_ones_have_left(tmp_path: Path) -> None:
    """Nobody sees a hidden folder that is as large as the database. One that another process is writing stays, and so does what is none."""
    killed, running, pipe = (tmp_path / f".modak-backup.{end}" for end in "abc")
    os.mkfifo(pipe)  # opened like a file, it would keep the backup waiting
    for folder in (killed, running):
        folder.mkdir()
        (folder / "copy.db").write_text("a part")
    with open_store(f"sqlite:///{tmp_path / 'a.db'}", fill=False) as store:
        descriptor = os.open(running, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            backup(str(store.engine.url), tmp_path / "copy.db")
            assert sorted(tmp_path.glob(".*")) == [running, pipe]
        finally:
            os.close(descriptor)


def test_a_new_database_is_its_owners_alone(tmp_path: Path) -> None:
    """With the files beside it and its copies; one that its owner shares stays shared."""
    file, log, copies = tmp_path / "a.db", tmp_path / "a.db-wal", (tmp_path / "b.db", tmp_path / "c.db")
    with open_store(f"sqlite:///{file}", fill=False) as store:
        store.load([csv_table(ROWS)], ME)
        backup(str(store.engine.url), copies[0])
        assert [stat.S_IMODE(each.stat().st_mode) for each in (file, log, copies[0])] == [0o600] * 3
    file.chmod(0o660)
    with open_store(f"sqlite:///{file}", fill=False) as store:
        store.load([csv_table(ROWS.replace("3dgan", "other"))], ME)
        backup(str(store.engine.url), copies[1])
        assert [stat.S_IMODE(each.stat().st_mode) for each in (file, log, copies[1])] == [0o660] * 3


def test_a_new_database_behind_a_link_is_its_owners_alone(tmp_path: Path) -> None:
    """A link to a file that is not there yet: administrators put data on another disk before it is first used."""
    link, there = tmp_path / "modak.db", tmp_path / "disk" / "modak.db"
    there.parent.mkdir()
    link.symlink_to(there)
    with open_store(f"sqlite:///{link}", fill=False):
        assert stat.S_IMODE(there.stat().st_mode) == 0o600


def test_a_database_that_was_removed_or_replaced_takes_nothing(tmp_path: Path) -> None:
    """Who has the file open could go on with it, and all that is answered would be lost. When it is back, all is well."""
    file, away = tmp_path / "a.db", tmp_path / "away.db"
    with open_store(f"sqlite:///{file}", fill=False) as store:
        uses = (
            lambda: store.load([csv_table(ROWS)], ME),
            lambda: store.access.note(ME, "load", "", "refused"),
            store.ready,
            store.version,
        )

        def refused() -> None:
            for use in uses:
                with pytest.raises(Unavailable, match="its file was removed or replaced while it was in use"):
                    use()

        file.rename(away)
        refused()
        assert not file.exists()
        file.write_bytes(away.read_bytes())
        refused()
        away.replace(file)
        for use in uses:
            use()
        assert len(results_of(store, "3dgan")) == 8


def test_a_database_that_is_removed_during_a_write_does_not_lose_it_unsaid(tmp_path: Path) -> None:
    """The end of the transaction is an error."""
    file = tmp_path / "a.db"
    with open_store(f"sqlite:///{file}", fill=False) as store, pytest.raises(Unavailable, match="removed or replaced"):
        store.load([csv_table(ROWS)], ME, progress=lambda *_: file.unlink(missing_ok=True))


def test_a_backup_of_a_damaged_database_is_refused(tmp_path: Path) -> None:
    """In one line that says so, wherever the damage is, and without a copy."""
    file, folder = tmp_path / "a.db", tmp_path / "backups"
    folder.mkdir()
    with open_store(f"sqlite:///{file}", fill=False) as store:
        store.load([csv_table(ROWS)], ME)
        with reading(store.engine) as connection:
            page = connection.execute(text("SELECT rootpage FROM sqlite_master WHERE name = 'results'")).scalar_one()
    with file.open("r+b") as content:
        content.seek((page - 1) * 4096)
        content.write(b"X" * 4096)
    with pytest.raises(Unavailable, match="the file is damaged; restore a backup, and remove -wal"):
        backup(f"sqlite:///{file}", folder / "copy.db")
    assert list(folder.iterdir()) == []


def test_a_damaged_schema_is_called_damage(tmp_path: Path) -> None:
    """As after a backup was restored beside the log of the old file; the line says how to go on."""
    file = tmp_path / "a.db"
    open_store(f"sqlite:///{file}", fill=False).close()
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("PRAGMA writable_schema=ON")
        connection.execute("UPDATE sqlite_master SET rootpage = 9999 WHERE name = 'results'")
    with pytest.raises(Unavailable, match="the file is damaged; restore a backup, and remove -wal"):
        open_store(f"sqlite:///{file}")


def test_a_backup_on_a_full_disk_leaves_nothing(tmp_path: Path) -> None:
    """No half copy that somebody takes for a backup, and that stands in the way of the next one; the file is named, not the database."""
    folder = tmp_path / "backups"
    folder.mkdir()
    with open_store(f"sqlite:///{tmp_path / 'a.db'}", fill=False) as store:
        store.load([csv_table(ROWS)], ME)
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
        try:
            with pytest.raises(RequestError, match=r"backups/copy\.db: cannot be written"):
                backup(str(store.engine.url), folder / "copy.db")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert list(folder.iterdir()) == []


def test_postgresql_is_not_called_sound_unseen(postgres_url: str) -> None:
    """``check`` looks at SQLite alone, and says what looks at the other."""
    with pytest.raises(RequestError, match="pg_amcheck"):
        check(postgres_url)


def test_a_damaged_row_is_found(tmp_path: Path) -> None:
    """``check`` names a row that points at nothing."""
    with open_store(f"sqlite:///{tmp_path / 'a.db'}", fill=False) as store:
        store.load([csv_table(ROWS)], ME)
        raw = sqlite3.connect(tmp_path / "a.db")
        raw.execute("DELETE FROM loads")
        raw.commit()
        raw.close()
        assert any("results row 1" in line for line in check(str(store.engine.url)))


def test_check_names_every_entry_that_this_version_does_not_take(tmp_path: Path) -> None:
    """With the commands that mend it: to remove what a refresh would replace would keep it away."""
    with open_store(f"sqlite:///{tmp_path / 'a.db'}", fill=False) as store:
        broken(store)
        (line,) = check(str(store.engine.url))
    assert "the system 'zenith' of the database: mandatory_directives.0" in line
    assert "'modak db refresh' replaces it if it came with MODAK" in line
    assert line.endswith("'modak systems remove zenith' removes it")


def test_check_looks_for_damage_only_in_what_another_version_made(tmp_path: Path) -> None:
    """Its entries, and even its tables, may be others."""
    with open_store(f"sqlite:///{tmp_path / 'a.db'}", fill=False) as store:
        broken(store)
        with writing(store.engine) as connection:
            connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
        assert check(str(store.engine.url)) == ()


def test_models_are_those_of_the_results(store: Store) -> None:
    """What the store fits from its rows is what a fit of the results themselves gives: layouts, repeats, flagged rows, rates."""
    rates = "".join(
        f"b,d,s,{n},{r},1,throughput,{100 * n**0.9 * r + k},samples/s,{k},,,\n" for n in (1, 4, 64) for r in (1, 2) for k in (1, 2)
    )
    store.load([csv_table(ROWS + rates + "b,d,s,2,1,1,throughput,1,samples/s,,,,contradicts itself\n")], ME)
    assert sorted(map(repr, store.models())) == sorted(map(repr, fit([*results_of(store, "3dgan"), *results_of(store, "b")])))


def test_an_entry_that_this_version_does_not_take_is_named(store: Store) -> None:
    """With its field and what is allowed, for whoever has to mend it by hand."""
    broken(store)
    with pytest.raises(Unavailable, match=r"the system 'zenith' of the database: mandatory_directives.0: allowed: an option"):
        store.snapshot()


def broken(store: Store, by: str = "me") -> System:
    """The system of a row that this version refuses."""
    zenith = knowledge.read_system(knowledge.packaged_root() / "systems" / "zenith.toml")
    store.add([zenith], Actor(by))
    with writing(store.engine) as connection:
        body = zenith.model_copy(update={"mandatory_directives": ("-a --b",)}).model_dump_json()
        connection.execute(update(schema.systems).values(body=body))
    return zenith


def test_an_entry_that_this_version_does_not_take_can_be_replaced(store: Store) -> None:
    """By one that has to fit to all that is known."""
    zenith = broken(store)
    assert store.add([zenith], ME, replace=True, check=lambda _: ())
    assert store.snapshot().systems == {"zenith": zenith}


def test_an_entry_that_this_version_does_not_take_can_be_removed(store: Store) -> None:
    """The trail says by whom; what is not there is refused by name."""
    broken(store)
    store.remove(System, "zenith", Actor("local:ada"))
    assert store.snapshot().systems == {}
    (line,) = store.access.audit("", 1).items
    assert (line.principal, line.action, line.target) == ("local:ada", "remove", "system zenith")
    with pytest.raises(UnknownName, match="unknown system 'zenith'"):
        store.remove(System, "zenith", Actor("local:ada"))


def test_all_entries_that_this_version_does_not_take_are_told_at_once(store: Store) -> None:
    """Those of the package are replaced by a refresh, the others have to be mended by hand."""
    zenith = broken(store)
    there = catalogue.TABLES[System].c
    with writing(store.engine) as connection:
        (body,) = connection.scalars(select(there.body)).all()
        for name, by in (("nadir", "me"), ("noon", PRINCIPAL)):
            connection.execute(insert(schema.systems).values(name=name, body=body, added_at=1, added_by=by))
    with pytest.raises(Unavailable) as told:
        store.differences([zenith])
    assert [fault.message.split(" of the database")[0].split()[-1] for fault in told.value.faults] == ["'nadir'", "'zenith'"]


def test_a_character_in_the_prose_of_an_older_version_stops_nobody(store: Store) -> None:
    """What a comment may no longer hold is left out when it is read."""
    zenith = knowledge.read_system(knowledge.packaged_root() / "systems" / "zenith.toml")
    store.add([zenith], ME)
    odd = zenith.model_copy(update={"title": "Ze\u200en\x1bith\r", "site": "\u202e"})
    with writing(store.engine) as connection:
        connection.execute(update(schema.systems).values(body=odd.model_dump_json()))
    assert [(one.title, one.site) for one in store.snapshot().systems.values()] == [("Zenith", "?")]
    with pytest.raises(ValidationError, match="control characters"):
        System.model_validate_json(odd.model_dump_json())


def test_a_refresh_mends_what_an_older_package_brought(store: Store) -> None:
    """An entry of its own that this version does not take counts as not there."""
    zenith = broken(store, PRINCIPAL)
    assert [one.standing for one in store.refresh([zenith], (), Actor("local:ada")).differences] == ["new"]
    assert store.snapshot().systems == {"zenith": zenith}


def test_results_are_stored_beside_an_entry_that_this_version_does_not_take(store: Store) -> None:
    """A job sends its result once, and none depends on a system's description."""
    broken(store)
    assert store.load([csv_table(ROWS)], ME).new
