"""What a load says of rows that it takes, on both databases."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from sqlalchemy import event, text

from modak import knowledge
from modak.ingest.table import Options
from modak.store import Store
from modak.store.engine import writing
from tests.store.tables import ME, csv_table


def test_unknown_systems_are_noted(store: Store, known: knowledge.Knowledge) -> None:
    """A load names systems that are not known, and not those that are, by any name and in any spelling that a request may use."""
    (system,) = [system.model_copy(update={"aliases": ("sng",)}) for system in known.systems if system.name == "hlrs-testbed"]
    store.add([system], ME)
    rows = "".join(f"a,{name},wall_time,1\n" for name in ("hlrs_testbed", "HLRS-testbed", "SNG", "nowhere"))
    (note,) = store.load([csv_table(f"application,system,metric,value\n{rows}")], ME).notes
    assert note.startswith("unknown system 'nowhere'")


def test_a_description_that_cannot_be_read_keeps_no_results_out(store: Store, known: knowledge.Knowledge) -> None:
    """Its system counts as unknown until the description is mended."""
    store.add([system for system in known.systems if system.name == "hlrs-testbed"], ME)
    with writing(store.engine) as connection:
        connection.execute(text("UPDATE systems SET body = '{}'"))
    (note,) = store.load([csv_table("application,system,metric,value\na,hlrs-testbed,wall_time,1\n")], ME).notes
    assert note.startswith("unknown system 'hlrs-testbed'")


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


def test_runs_that_do_less_than_they_say_are_noted(store: Store) -> None:
    """Of 12000 steps at 360 each second a run takes 33 s; in their layout the others take as long as their work and its start."""
    rows = ("2,wall_time,12,s", "2,throughput,360,steps/s", "4,wall_time,30,s", "4,throughput,600,steps/s")
    table = "".join(f"a,12000,{row}\n" for row in rows)
    (note,) = store.load([csv_table(f"application,params.steps,nodes,metric,value,unit\n{table}")], ME).notes
    assert note.startswith("application a, metric throughput, unit steps/s, steps 12000, nodes 2: at this speed the work takes 33.3 s")


def test_a_time_that_sums_up_ranks_is_no_speed(store: Store) -> None:
    """Of 48 ranks it is up to 48 times that of the run."""
    rows = "a,wall_time,12,s\na,cpu_time,570,s\n"
    assert store.load([csv_table(f"application,metric,value,unit\n{rows}")], ME).notes == ()


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


def test_runs_that_were_stopped_contradict_nothing(store: Store) -> None:
    """One at its limit, one by somebody."""
    assert store.load([csv_table(REPEATS + "a,2,4,stopped_after,700,s,1\na,2,4,stopped_after,60,s,2\n")], ME).notes == ()


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
    table = "application,system,metric,value\na,0.36,wall_time,9\na,0.18,wall_time,5\n"
    assert any("the column names the system" in note for note in store.load([csv_table(table)], ME).notes)
    report = store.load([csv_table(table, options=Options(rename={"system": ""}))], ME, replace=True)
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
        (SIZES, (2, 9, 33, 150), "s", "weak", ""),
    ],
)
def test_nodes_that_are_no_computers_are_noted(
    store: Store, nodes: Sequence[int], values: Sequence[float], unit: str, params: str, said: str
) -> None:
    """Those of a graph or a network, with which times grow, or more than there are; weak scaling says nothing."""
    rows = "".join(f"a,{params},{n},cost,{value},{unit}\n" for n, value in zip(nodes, values, strict=True))
    notes = store.load([csv_table(f"application,params.scaling,nodes,metric,value,unit\n{rows}")], ME).notes
    assert [said in note for note in notes if "nodes" in note] == ([True] if said else [])


@pytest.mark.parametrize(
    ("nodes", "rates", "gpus", "unit", "noted"),
    [
        ((1, 2, 4, 8), (4792, 4767, 4811, 4100), 8, "tokens/s", True),
        ((1, 2, 4, 8), (101, 102, 104, 108), 8, "TFLOP/s", True),  # FLOP/s, in which they are stored, is not their unit
        ((1, 2, 4, 8), (38336, 76280, 153960, 307209), 8, "tokens/s", False),
        ((1, 2, 4, 8), (4792, 4767, 4811, 4100), "", "tokens/s", False),
        ((1, 8), (4792, 4800), 8, "tokens/s", False),
        ((16, 18, 20), (4792, 4800, 4810), 8, "tokens/s", False),  # little more
        ((1, 2, 4, 8), (190, 189, 188, 187), 8, "GB/s", False),  # of a link
        ((1, 2, 4, 8), (12, 12, 13, 12), 8, "s", False),
    ],
)
def test_a_rate_that_is_the_same_on_all_sizes_may_be_of_each_gpu(
    store: Store, nodes: Sequence[int], rates: Sequence[float], gpus: int | str, unit: str, noted: bool
) -> None:
    """As tables of large networks give it, often without a word in the heading: as a rate of all, one node would be as good as many."""
    rows = "".join(f"a,{n},{gpus},speed,{rate},{unit}\n" for n, rate in zip(nodes, rates, strict=True))
    notes = store.load([csv_table(f"application,nodes,gpus_per_node,metric,value,unit\n{rows}")], ME).notes
    way = "if the values are of each GPU, load the file again with '--replace' and '/GPU' behind their unit, as in tokens/s/GPU"
    assert [note.endswith(way) for note in notes if "faster" in note] == ([True] if noted else [])


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
        ((1000, 3000, 4000), "wall_time", "s", "no two sizes have the same 'size', so each counts as a problem of its own; "),
        ((0.31, 0.22, 0.17), "wall_time", "s", "no two sizes have the same 'size'"),
        ((1000, 3000, 3000), "wall_time", "s", ""),
        (("small", "large", "huge"), "wall_time", "s", ""),
    ],
)
def test_a_problem_that_grows_with_the_size_is_noted(store: Store, cells: Sequence[object], metric: str, unit: str, said: str) -> None:
    """Each size would be a problem of its own, and nothing would scale."""
    rows = "".join(f"a,{cell},1,{n},{metric},{9 + n},{unit}\n" for n, cell in zip((1, 2, 4), cells, strict=True))
    notes = store.load([csv_table(f"application,params.size,nodes,ranks_per_node,metric,value,unit\n{rows}")], ME).notes
    assert [said in note for note in notes] == ([True] if said else [])


def test_parameters_that_differ_at_each_size_are_noted_together(store: Store) -> None:
    """Not the one that is the same at all sizes."""
    rows = "".join(f"a,{n / 10 + 1},{8000 // n},cg,200,{n},wall_time,{9 / n}\n" for n in (1, 2, 4))
    header = "application,params.waiting,params.local,params.solver,params.steps,nodes,metric,value"
    (note,) = store.load([csv_table(f"{header}\n{rows}")], ME).notes
    assert note.startswith("application a, metric wall_time, unit s, solver cg: no two sizes have the same 'local', 'waiting', so each")


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


def test_what_is_measured_on_each_number_of_nodes_is_read_for_many_series_at_once(store: Store) -> None:
    """A database on another machine answers each question after its way there and back."""
    rows = "".join(f"a,{dataset},{nodes},wall_time,{90 / nodes}\n" for dataset in "bcdef" for nodes in (1, 2, 4, 8))
    asked = list[str]()
    event.listen(store.engine, "before_cursor_execute", lambda *given: asked.append(given[2]))
    store.load([csv_table(f"application,dataset,nodes,metric,value\n{rows}")], ME)
    assert len([each for each in asked if "GROUP BY results.series_id, results.nodes ORDER" in each]) == 1
    assert not [each for each in asked if "GROUP BY results.nodes ORDER" in each]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
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
