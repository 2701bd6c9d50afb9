"""What other tables call things: the words by which :mod:`modak.ingest.headings` knows a heading. Add a synonym here, unless it is
spelt nearly as the column (``data_set``) or only says that it counts one of these (``mpi_ranks``): those are known already.

Headings are in lower case here, with underscores for blanks (``number_of_nodes``), but for metrics, which have no separators at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from modak.results import metrics
from modak.results.units import spellings_of


def _words(*texts: str) -> frozenset[str]:
    return frozenset(word for text in texts for word in text.split())


def _by_word(meanings: Mapping[str, str]) -> Mapping[str, str]:
    """The meaning of each word, from the words of each meaning."""
    return {word: meaning for meaning, words in meanings.items() for word in words.split()}


# --- columns

COLUMN_OF: Final = _by_word(
    {
        "application": "app app_name code program exe executable benchmark benchmark_name model model_name name test test_name net "
        "programm programa programme programma anwendung aplicacao "
        "command callpath jube_benchmark_name",
        "dataset": "problem input input_file case data",
        "params.epochs": "epochs n_epochs num_epochs",
        "params.steps": "steps n_steps num_steps nsteps iterations iters n_iters niter niters n_iterations timesteps time_steps",
        "framework": "backend",
        "compiler": "compiler_version",
        "image": "container container_image image_name",
        "precision": "dtype data_type datatype prec",
        "system": "cluster cluster_name machine machine_name host hostname platform supercomputer rechner",
        "partition": "queue queue_name",
        "nodes": "node nnode nnodes n_nodes num_nodes no_nodes no._of_nodes node_count nodes_count number_of_nodes "
        "nodos noeuds nodi knoten",
        "ranks_per_node": "ppn rpn tpn tasks_per_node ntasks_per_node procs_per_node processes_per_node mpi_per_node mpi_ranks_per_node "
        "prozesse_pro_knoten processus_par_noeud procesos_por_nodo",
        "threads_per_rank": "thread threads nthread nthreads n_threads num_threads omp ntomp hilos cpus_per_task "
        "cores_per_rank threads_per_task threads_per_process",
        "gpus_per_node": "gpn gpu_per_node ngpus_per_node n_gpus_per_node num_gpus_per_node devices_per_node",
        "batch_size": "batch bs batchsize minibatch mini_batch mini_batch_size local_batch local_batch_size batch_per_gpu "
        "batch_size_per_gpu per_gpu_batch_size per_device_batch_size",
        "mpi": "mpi_lib mpi_library mpi_version mpi_implementation",
        "runtime": "container_runtime",
        "metric": "measurement",
        "value": "mean avg average median result",
        "unit": "unit_name time_unit",
        "repeat": "rep reps repetition repetitions replicate trial run run_id run_number attempt jube_wp_iteration",
        "measured_at": "date day timestamp time_stamp datetime date_time datum fecha",
        "source": "comment comments remark remarks note notes reference jobid job_id slurm_job_id kommentar bemerkung anmerkung comentario "
        "commentaire commento",
    }
)
"""The column that a heading means."""
TOTALS: Final = _words(
    "core proc ncore nproc ncpu nrank ntask npes mpi_size",
    "ranks n_ranks num_ranks nranks num_mpi_ranks number_of_ranks ntmpi tasks n_tasks",
    "num_tasks ntasks number_of_tasks p np procs n_procs num_procs nprocs processes num_processes number_of_processes world_size",
    "workers nworkers n_workers cores n_cores num_cores ncores total_cores cpus n_cpus num_cpus ncpus processors",
    "procesos procesadores nucleos processus processeurs coeurs processi processori processos processadores prozesse prozessoren kerne",
)
"""Columns of other tables that count over all nodes; a similar name here means something else."""
GPU_TOTALS: Final = _words(
    "gpus n_gpus num_gpus ngpus ngpu number_of_gpus total_gpus devices n_devices num_devices ndevices accelerators gcds"
)
"""The same of GPUs."""
RATIOS: Final = _words(
    "speed_up speed-up mfu hfu",
    "percentage_of_theoretical_peak percentage_of_peak percent_of_peak of_theoretical_peak of_peak ideal",
)
"""What is computed from times."""
RATIO_WORDS: Final = _words("speedup efficiency beschleunigung effizienz aceleracion eficiencia")
"""Words in headings of such ratios."""
IDEAL: Final = _words("ideal linear perfect")
"""Words before what perfect scaling would take."""
SCATTER: Final = "the scatter is computed from repeats: write each run into a row of its own, or leave the column out"
CPU_TIME: Final = "the time that CPUs spent is no result: leave it out, and load the elapsed time"
COMPUTED: Final = "a mean of values that are there, too: leave it out"
ROW_NUMBERS: Final = "leave out what numbers the rows"
SAID: Final = _by_word(
    {
        "'system' and 'partition' say the type of GPU, 'gpus_per_node' the number on each node": "gpu device gpu_type gpu_model "
        "gpu_name accelerator",
        "'batch_size' is that of each worker: divide it by the GPUs of the run, or by its ranks if there are none; where several hold one "
        "model, it is a parameter": "global_batch global_batch_size globalbatchsize total_batch total_batch_size effective_batch_size",
        "the cores of a node are 'ranks_per_node' times 'threads_per_rank'": "cores_per_node cpus_per_node "
        "kerne_pro_knoten nucleos_por_nodo coeurs_par_noeud",
        "the number of nodes goes into 'nodes', their names nowhere": "nodelist node_list hostlist hosts node_names",
        "the counts of a layout have a column each: 'nodes', 'ranks_per_node', 'threads_per_rank', 'gpus_per_node'": "layout config "
        "configuration decomposition",
        "write 'failed' or 'OOM' as the value of runs that failed, then leave the column out": "state status exit_code exitcode "
        "exit_status return_code exit returncode success succeeded passed",
        CPU_TIME: "user sys user_time sys_time system_time cpu_time usertime systime cputime utime stime user_cpu system_cpu",
        SCATTER: "std stddev stdev sd sem err error variance ci min max best worst",
        "that of the framework is 'framework_version', that of the application a parameter: 'params.version'": "version",
        "the size of images is a parameter, 'params.image_size'; a container image is 'image'": "img imgs images",
        "a neural network is an 'application', an interconnect a parameter: 'params.network'": "network",
        ROW_NUMBERS: "index id row row_number nr no",
    }
)
"""What is said of a heading that is no column under another name."""
OF_CPU: Final = _words("user sys system cpu")
"""What has a unit of time behind it in headings of the CPUs' time."""
USELESS: Final = (SCATTER, ROW_NUMBERS, CPU_TIME)
"""What is said of headings of which nothing is to be loaded."""

# --- metrics and their units

METRIC_OF: Final[Mapping[str, str]] = {
    **{name.replace("_", ""): name for name in metrics.METRICS},
    **_by_word(
        {
            "time": "elapsed duration exectime executiontime totaltime timetaken solvetime tiempo temps tempo duree zeit dauer",
            "run_time": "laufzeit",
            "wall_time": "wall wallclock wallclocktime real realtime",
            "step_time": "iterationtime",
            "performance": "perf",
            "memory": "maxrss peakrss maxresident",
        }
    ),
}
"""Metrics by their name and by what else tables call them, without separators."""
TIMES: Final = ("s", "sec", "secs", "second", "seconds", "ms", "milliseconds", "minutes", "hours")
"""Units that are headings of their own; ``min`` may be a minimum."""
TIME_ENDINGS: Final = (*TIMES, "us", "ns")
"""Units of time that headings end with."""
TIME_WORDS: Final = _words("time times tiempo tiempos temps tempo tempi duree zeit zeiten laufzeit dauer")
"""Words in headings of times."""
RATES: Final = _words("throughput bandwidth bw flops tflops iops tps")
"""Words in headings of rates."""
SECONDS: Final = _words("s sec secs second seconds")
PARTS_OF_MACHINE: Final = _words("cpu cpus core cores gpu gpus node nodes processor")
"""What hours are added up of."""
PART_OF: Final[Mapping[str, str]] = {**{part: part for part in metrics.UNITS_OF_WORK}, **_by_word({"step": "iter iteration it batch"})}
"""Parts of a run that have a time of their own, by what headings call them."""
SURE_SPREAD: Final = _words("std stddev stdev sem")
"""Words for what several runs differ by."""
SPREAD: Final = SURE_SPREAD | _words("min max")
"""The same with words for their extremes, which may be a unit, or a maximum that somebody measured."""
MIDDLES: Final = _words("avg mean average median")
"""Words behind the name of what was measured in several runs."""
UNIT_OF: Final[Mapping[str, str]] = {
    **{"gflops": "GFLOP/s", "tflops": "TFLOP/s", "pflops": "PFLOP/s", "gflop": "GFLOP", "tflop": "TFLOP"},
    **{"gigaflops": "GFLOP/s", "teraflops": "TFLOP/s", "petaflops": "PFLOP/s"},
    **{unit: unit for unit in TIME_ENDINGS},
    **{name.lower(): name for name in spellings_of("B") if name != "B"},
    **{name.lower(): name for base in ("J", "W") for name in spellings_of(base) if name[0] not in "mM"},
    "gbs": "GB/s",
}
"""Units as lower-case headings write them; ``energy_mj`` may be in mJ, as GPUs count it, or in MJ."""
OTHER_WORDS: Final = _words("precond comp_size mp micro_batch microbatch micro_batch_size microbatchsize")
"""Words that are spelt nearly as a column, but mean something else."""
