"""What is said of the headings that other tables have."""

from __future__ import annotations

import shlex
import time

import pytest

from modak.ingest.columns import COLUMNS, canonical, header_faults
from modak.ingest.hints import hint_for
from modak.ingest.options import parse_pairs
from modak.ingest.table import MOST_COLUMNS, Options
from tests.ingest.test_reading import only

NEAREST = {
    "nodes": "params_nodes node n_nodes num_nodes #nodes Nodes_count Knoten Anzahl_Knoten nodos Número_de_nodos",
    "ranks_per_node": "ppn tasks/node ntasks-per-node Prozesse_pro_Knoten",
    "threads_per_rank": "threads nthreads omp Number_of_threads thread_count Hilos OpenMP_threads numThreads ntomp",
    "unit": "time_unit",
    "gpus_per_node": "gpus/node num_gpus_per_node",
    "batch_size": "batch bs batch_size_per_gpu",
    "precision": "dtype prec",
    "system": "cluster machine host hostname",
    "partition": "queue",
    "application": "app app_name model Name exe Programm Anwendung command",
    "dataset": "problem data_set",
    "measured_at": "date datetime timestamp Datum",
    "repeat": "rep run trial repetition",
    "params.epochs": "epochs n_epochs",
    "params.steps": "steps iterations timesteps",
    "value": "mean velue Valu",
    "image": "container",
    "mpi": "mpi_lib",
    "source": "comment job_id",
}
SAID = {
    "ranks over all nodes are 'total_ranks' (--map": "procs processes tasks ntmpi cores ncores cpus np num_procs "
    "numTasks CPU_cores Number_of_CPU_cores core_count total_threads "
    "core nproc num_core mpi_size MPI-Prozesse MPI-Ranks Procesos Núcleos Prozesse processus",
    "GPUs over all nodes are 'total_gpus' (--map": "gpus n_gpus num_gpus n_gpu devices GCDs #-GPUs",
    "'system' and 'partition' say the type of GPU": "gpu device gpu_type",
    "'batch_size' is that of each worker: divide it": "global_batch_size GlobalBatchSize total_batch",
    "the cores of a node are 'ranks_per_node' times 'threads_per_rank'": "cores_per_node Kerne_pro_Knoten coeurs_par_noeud",
    "the counts of a layout have a column each": "layout config",
    "the scatter is computed from repeats": "std stddev min max time_std time_max min_s runtime_std "
    "runtime_min[s] rate_std[GFlop/s] runtime_cnt",
    "nothing is predicted from it: leave it out": "speedup speed-up Efficiency parallel_efficiency "
    "Speedup_vs_1_GPU gustafson_speedup Beschleunigung ideal Linear_Time(S)_per_Epoch Ideal_runtime Percentage_of_Theoretical_Peak",
    "what each of them does is not what the run does": "tokens_per_sec_per_gpu samples/s/GPU TFLOPs/GPU throughput_per_node "
    "throughput_[img/s]_per_GPU samples_/_s_/_GPU Throughput_(T/s/GPU) TPS/GPU tokens/GPU/s throughput/tflops_per_gpu",
    "that of the framework is 'framework_version', that of the application": "version",
    "the size of images is a parameter": "img",
    "a neural network is an 'application', an interconnect a parameter": "network",
    "write 'failed' or 'OOM' as the value of runs that failed, then leave the column out": "State status exit_code",
    "the time that CPUs spent is no result: leave it out": "user sys System_time user_s system_s cpu_time cpu_ms",
    "leave out what numbers the rows": "index id Unnamed:_0",
    "the number of nodes goes into 'nodes', their names nowhere": "nodelist",
    "if it is a parameter of the run, call it 'params.": "lr size n problem_size seed interconnect samples setup GPU_hours node_hours "
    "linear_solver MP MicroBatchSize micro_batch_size",
}
MEASURED = {
    "time": "time Time duration elapsed time_taken",
    "time --set unit=s": "time_s Time(s) time[s] tiempo_s Zeit_[s] Temps(s) Durée_(s)",
    "time --set unit=ms": "time_ms",
    "time --set unit=seconds": "seconds time_in_seconds",
    "time --set unit=min; if it is a minimum and not in minutes, leave it out": "time_min",
    "time --set unit=min": "time_[min]",
    "wall_time": "walltime wall_time wallclock wall_time_mean",
    "run_time --set unit=s": "Laufzeit_in_s runtime_avg[s] Laufzeit_median_[s]",
    "wall_time --set unit=ms": "wall_ms",
    "step_time": "time_per_iteration time_per_batch elapsed_per_step",
    "step_time --set unit=ms/step": "ms/step ms_per_step",
    "step_time --set unit=ms": "step_time_ms step_time_[ms] time/step_[ms] time_[ms]_/_step time_per_step_ms",
    "epoch_time --set unit=s": "Time[S]_per_Epoch Training_Time(S)_per_Epoch",
    "throughput; in samples/s, unless --set unit=… says another unit": "throughput",
    "memory; in B, unless --set unit=… says another unit": "memory maxrss",
    "memory --set unit=kB": "max_rss_kb",
    "memory --set unit=GiB": "memory_gib",
    "energy --set unit=kWh": "energy_kwh energy_[kwh]",
    "power --set unit=kW": "power_kw",
    "throughput --set unit=samples/sec": "samples_per_sec",
    "bandwidth --set unit=MB/s": "bandwidth_max_[MB/s]",
    "throughput --set unit=images/sec": "images_per_sec",
    "throughput --set unit=img/s": "img/s",
    "throughput --set unit=samples/second": "train_samples_per_second",
    "performance --set unit=TFLOP/s": "tflops TFLOP/s",
    "performance --set unit=PFLOP/s": "Measured_Performance_petaflops",
    "throughput --set unit=tok/s": "agg_tok_s",
    "bandwidth --set unit=GB/s": "copy_gb_s copy_[GB/s]",
    "throughput --set unit=Mcells/s": "speed_[Mcells/s] throughput_mcells_s mcells_per_s",
    "wall_time --set unit=s": "real_time_[s]",
    "throughput --set unit=Gpts/s": "gpts_per_s",
    "throughput --set unit=ns/day": "ns/day ns_/day ns_/_day",
    "run_time --set unit=…": "Laufzeit_(Minuten)",
}


def said(name: str) -> str:
    """What is said of a heading beside an application."""
    (found,) = header_faults(("application", canonical(name.replace("_", " ") if "[" in name else name)), (), loading=True)
    return found[1]


def pairs(table: dict[str, str]) -> list[tuple[str, str]]:
    """Each heading with what is expected."""
    return [(name.replace("Unnamed:_", "Unnamed: "), expected) for expected, names in table.items() for name in names.split()]


@pytest.mark.parametrize("name", ["energy_mj", "power_mw"])
def test_a_unit_that_small_letters_do_not_tell_is_not_guessed(name: str) -> None:
    """GPUs count their energy in mJ."""
    assert "unit=" not in said(name)


@pytest.mark.parametrize(("name", "column"), pairs(NEAREST))
def test_what_other_tables_call_a_column_is_known(name: str, column: str) -> None:
    """By their meaning, not by their letters."""
    assert f"; the nearest known one is '{column}'" in said(name)


def test_the_unit_of_a_value_is_kept() -> None:
    """The hint has it as an option."""
    assert "; the nearest known one is 'value' (--map 'value (ms)=value' --set unit=ms)" in said("value (ms)")


@pytest.mark.parametrize(("name", "text"), pairs(SAID))
def test_what_is_no_column_is_told_apart(name: str, text: str) -> None:
    """Totals, ratios and types have no column that they could be renamed to."""
    assert text in said(name)
    assert "nearest" not in said(name)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("Tokens / sec / GPU", "--set metric=throughput --set unit=tokens/sec/gpu"),
        ("TFLOP/s/GPU", "--set metric=performance --set unit=Tflop/s/gpu"),
        ("Throughput (T/s/GPU)", "--set metric=throughput --set unit=…/gpu"),
    ],
)
def test_a_rate_of_each_gpu_may_be_the_value(name: str, options: str) -> None:
    """With the unit by which it becomes that of all of them; not where the table has the rate of all."""
    alone, beside = (hint_for(name, COLUMNS, ("application", name, *more), loading=True) for more in ((), ("tok/s",)))
    assert f"--map '{name}=value' {options}, which multiplies it by their number in each row" in said(name)
    assert ((alone and alone.column), (beside and beside.column)) == ("value", None)


def test_columns_that_may_all_be_values_are_no_parameters() -> None:
    """A column of times for each compiler: as parameters, they would make each row a problem of its own."""
    options = [message for _, message in header_faults(("nodes", "gcc", "intel", "cray"), ("application", "metric", "value"), loading=True)]
    assert "of several columns of values load one after the other: --map NAME=value" in options[0]
    assert options[1].endswith("--map 'gcc=…' --map 'intel=…' --map 'cray=…' --set application=… --set metric=… --map '…=value'")


def test_a_mean_beside_the_values_is_left_out() -> None:
    """Two columns cannot be the value."""
    hint = hint_for("avg (s)", COLUMNS, ("application", "value", "avg (s)"), loading=True)
    assert (hint and (hint.text, hint.column)) == ("a mean of values that are there, too: leave it out", "")


@pytest.mark.parametrize(
    ("name", "called"),
    [
        *(
            ("Bildgröße", "bildgroesse"),
            ("taille du problème", "taille_du_probleme"),
            ("Länge [px]", "laenge"),
            ("params.Größe", "groesse"),
        ),
        ("params_batch", "batch"),  # as in Optuna's tables of trials
        *((name, name) for name in ("batch_count", "batch_number", "mpi_rank", "cpu_device")),  # they number or count something else
        ("precond", "precond"),  # no precision, though the letters are alike
    ],
)
def test_what_may_be_a_parameter_is_called_by_its_own_words_in_ascii(name: str, called: str) -> None:
    """The names of parameters have no other letters. One of the layout is its column, as in every format."""
    assert f"; if it is a parameter of the run, call it 'params.{called}'" in said(name)


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("mean_time", "if it is the time of the whole run, --map 'mean_time=value' --set metric=time --set unit=…; if it is a parameter"),
        ("solver_ms", "if it is the time of the whole run, --map 'solver_ms=value' --set metric=time --set unit=ms; if it is a parameter"),
        ("epoch_s", "if it is the time of each epoch, --map 'epoch_s=value' --set metric=epoch_time --set unit=s; if it is a parameter"),
        (
            "Solver time",
            "if it is the time of the whole run, --map 'Solver time=value' --set metric=time --set unit=…; if it is a parameter",
        ),
        ("Loop time (s)", "if it is the time of the whole run, --map 'Loop time (s)=value' --set metric=time --set unit=s; if it is a"),
        ("total(s)", "if it is the time of the whole run, --map 'total(s)=value' --set metric=time --set unit=s; if it is a parameter"),
        ("rtime", "if it is the time of the whole run, --map 'rtime=value' --set metric=time --set unit=…; if it is a parameter"),
        ("Tiempo Promedio", "if it is the time of the whole run, --map 'Tiempo Promedio=value' --set metric=time --set unit=…; if it"),
        ("bw_gbps", "if it is a rate, --map 'bw_gbps=value' --set metric=throughput --set unit=…; if it is a parameter"),
        ("widgets_per_s", "if it is a rate, --map 'widgets_per_s=value' --set metric=throughput --set unit=…; if it is a parameter"),
        ("avg_epoch_time", "if it is the time of each epoch, --map 'avg_epoch_time=value' --set metric=epoch_time --set unit=…; if"),
    ],
)
def test_what_may_be_a_time_or_rate_is_not_called_a_parameter_only(name: str, way: str) -> None:
    """A parameter would keep each run apart from all others."""
    assert way in said(name)


@pytest.mark.parametrize(("name", "options"), pairs(MEASURED))
def test_a_metric_as_a_heading_is_loaded_with_options(name: str, options: str) -> None:
    """With the unit that the heading gives."""
    assert f"=value' --set metric={options})" in said(name)


@pytest.mark.parametrize("clock", ["hh:mm:ss", "d-hh:mm:ss", "DD hh:mm", "min:sec"])
def test_a_clock_in_a_heading_is_no_unit(clock: str) -> None:
    """It tells how times are written, which is read as it is."""
    assert f"(--map 'Elapsed [{clock}]=value' --set metric=time)" in said(f"Elapsed [{clock}]")


def test_the_sides_of_a_grid_of_ranks_are_multiplied() -> None:
    """HPL has P and Q; P alone is a number of ranks."""
    grid = [message for _, message in header_faults(("application", "metric", "value", "P", "Q"), (), loading=True)]
    assert ["the ranks are P x Q: write their product" in message for message in grid] == [True, True]
    assert "ranks over all nodes are" in said("P")


def test_of_several_metrics_each_is_loaded_by_itself() -> None:
    """The options leave out the others, and ratios."""
    columns = ("application", "nodes", "time [s]", "throughput", "speedup")
    _, time, throughput, _ = (message for _, message in header_faults(columns, (), loading=True))
    assert "--set metric=time --set unit=s --map 'throughput=' --map 'speedup='; load the file once for each such column)" in time
    assert "--set metric=throughput --map 'time [s]=' --map 'speedup='; in samples/s, unless" in throughput


def test_many_unknown_columns_get_their_options_together() -> None:
    """In one line, to be copied: of two headings of one meaning the first has it, and what cannot be told stays open."""
    columns = ("model", "net", "Cores", "GPU", "images/sec", "sec", "speedup", "std", "size n", "dataset")
    (_, missing), (_, options), *_ = header_faults(columns, ("application", "metric", "value", "system"), loading=True)
    assert missing.startswith("no column 'application', 'system'")
    assert options == (
        "options to start from, if what is said below is right: --map 'model=application' --map 'net=…' --map 'Cores=total_ranks' "
        "--map 'GPU=…' --map 'images/sec=value' --set metric=throughput --set unit=images/sec --map 'sec=' --map 'speedup=' --map 'std=' "
        "--map 'size n=params.size_n' --set system=…"
    )


@pytest.mark.parametrize(
    ("columns", "value", "other"),
    [
        (("result", "time", "threads"), "time", "result=…"),  # a checksum, perhaps
        (("Time", "dt", "ElapsedTime"), "ElapsedTime", "Time="),  # the simulated time
        (("time", "images/sec", "size"), "time", "images/sec="),
        (("Comp_Size", "Time_ms", "PSNR"), "Time_ms", "Comp_Size=params.comp_size"),  # no compiler
    ],
)
def test_the_likeliest_heading_is_the_value(columns: tuple[str, ...], value: str, other: str) -> None:
    """The options to start from would else load a number that is no result."""
    _, (_, options), *_ = header_faults(columns, ("application", "metric", "value"), loading=True)
    assert f"--map '{value}=value' --set metric=" in options
    assert f"--map '{other}'" in options


def test_a_column_that_is_nearly_called_value_is_that() -> None:
    """Also beside a metric, unlike a result."""
    _, (_, options), *_ = header_faults(("velue", "time", "threads"), ("application", "metric", "value"), loading=True)
    assert "--map 'velue=value' --map 'time=…'" in options


def test_a_column_that_the_table_has_is_not_given_twice() -> None:
    """The options would be refused."""
    (_, options), *_ = header_faults(("application", "metric", "value", "nodes", "num_nodes", "size", "kind"), (), loading=True)
    assert options.endswith("--map 'num_nodes=…' --map 'size=params.size' --map 'kind=params.kind'")


@pytest.mark.parametrize("heading", ["Größe", "node's kind", "Größe\xa0(GB)", 'a "quoted" $HOME', "long " * 40, "a=b"])
def test_options_rename_what_they_name(heading: str) -> None:
    """After a shell has read them: letters of other languages, quotes, blanks of other kinds and long headings are no obstacle."""
    columns = ("application", "metric", "value", heading, "kind", "mesh")
    (_, options), *_ = header_faults(columns, (), loading=True)
    words = shlex.split(options.partition(": ")[2])
    rename = parse_pairs([word.replace("…", "params.x") for word in words if word != "--map"], "--map")
    table = "\t".join(f'"{name.replace(chr(34), chr(34) * 2)}"' for name in columns)
    batch = only(f"{table}\na\ttime\t1\t2\t3\t4\n", options=Options(rename=rename))
    assert sorted(batch.series[0].params.values()) == ["2", "3", "4"]


@pytest.mark.parametrize(
    "columns", [("model", "procs"), ("a", "b", "2.5"), ("a", "1", "2", "4", "8"), (*"abc", *map(chr, range(200, 250)))]
)
def test_few_unknown_columns_and_rows_without_a_header_get_no_such_line(columns: tuple[str, ...]) -> None:
    """Two hints are read as quickly, and guesses at cells are none."""
    assert not any(message.startswith("options") for _, message in header_faults(columns, (), loading=True))


def test_ratios_beside_one_metric_are_left_out() -> None:
    """The file is loaded once; that it has no values is not said beside the options that give it some."""
    faults = [
        message for _, message in header_faults(("application", "time [s]", "efficiency [%]"), ("application", "value"), loading=True)
    ]
    assert len(faults) == 2
    assert "--set metric=time --set unit=s --map 'efficiency [%]=')" in faults[0]


def test_a_metric_beside_values_is_not_mapped_onto_them() -> None:
    """There would be two columns of values."""
    (found,) = header_faults(("application", "metric", "value", "time"), (), loading=True)
    assert "--set" not in found[1]


@pytest.mark.parametrize(
    "names", [("1", "2", "4"), ("1 node", "2 nodes"), ("n=1", "n=2", "n=4"), ("omp-1", "omp-8"), ("1xV100", "8xV100"), ("t1", "t2")]
)
def test_a_column_for_each_size_is_told_once(names: tuple[str, ...]) -> None:
    """One line for a wide table, and what to do."""
    (found,) = header_faults(("application", "metric", *names), (), loading=True)
    assert found[1].startswith(f"columns '{names[0]}', '{names[1]}'")
    assert "are named after sizes; '--wide " in found[1]
    (found,) = header_faults(("application", "metric", *names), (), loading=False)
    assert found[1].endswith(
        "are named after sizes; a row is one measured value: write a row for each, with its size in 'nodes', or in the column of what it "
        "counts (pandas: melt)"
    )


def test_a_table_without_a_header_is_no_wide_one() -> None:
    """Its numbers are cells."""
    assert not any(
        "named after sizes" in message for _, message in header_faults(("solver", "4", "8", "wall_time", "812"), (), loading=True)
    )


def test_times_that_are_called_runtime_are_told() -> None:
    """The column of that name is the container runtime."""
    (found,) = header_faults(("application", "metric", "runtime"), ("value",), loading=True)
    assert "(--map runtime=value --set metric=run_time)" in found[1]


@pytest.mark.parametrize(
    "names",
    [
        ("a_" * 40_000,),
        ("a" + " " * 80_000 + "b",),
        tuple(f"time_{place}_a_b_c_d_s" for place in range(MOST_COLUMNS)),
        tuple(f"images_per_sec [{place}]" for place in range(MOST_COLUMNS)),
    ],
    ids=["words", "blanks", "no metrics", "metrics"],
)
def test_long_and_many_headings_are_refused_quickly(names: tuple[str, ...]) -> None:
    """A header may have 100,000 letters, and comes from whoever may load results: neither time nor text grows with their square."""
    begin = time.process_time()
    faults = list(header_faults(("application", *names), ("value",), loading=True))
    assert time.process_time() - begin < 2
    assert max(len(message) for _, message in faults) < 2_000
