"""What other tables call the columns, and what an unknown heading probably means: one hint each, or none, because a wrong one misleads."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache
from typing import Final

from modak.errors import DataError
from modak.ingest.table import LAYOUT, MOST_COLUMNS
from modak.ingest.values import quoted
from modak.results import metrics
from modak.text.amounts import listed

ALIKE: Final = 0.75
"""How similar a heading and a column have to be spelt: ``velue`` and ``value`` are by 0.8."""
_MOST: Final = 8
"""Headings that a message names."""
_LONGEST: Final = 60
"""Letters of a heading that are looked at: no column or metric has a longer name, and searching a long one takes too much time."""


def _words(*texts: str) -> frozenset[str]:
    return frozenset(word for text in texts for word in text.split())


_OTHERWISE: Final[Mapping[str, str]] = {
    heading: column
    for column, headings in {
        "application": "app app_name application_name code program benchmark benchmark_name model model_name name test test_name net",
        "dataset": "problem input input_file case data data_set dataset_name",
        "params.epochs": "epochs n_epochs num_epochs",
        "params.steps": "steps n_steps num_steps nsteps iterations iters n_iters niter niters n_iterations timesteps time_steps",
        "framework": "framework_name backend",
        "compiler": "compiler_name compiler_version",
        "image": "container container_image image_name",
        "precision": "dtype data_type datatype prec",
        "system": "cluster cluster_name machine machine_name host hostname platform supercomputer",
        "partition": "queue queue_name partition_name",
        "nodes": "node nnodes n_nodes num_nodes no_nodes no._of_nodes node_count nodes_count number_of_nodes",
        "ranks_per_node": "ppn rpn tpn tasks_per_node ntasks_per_node procs_per_node processes_per_node mpi_per_node mpi_ranks_per_node",
        "threads_per_rank": "threads nthreads n_threads num_threads omp omp_threads omp_num_threads cpus_per_task cores_per_rank "
        "threads_per_task threads_per_process",
        "gpus_per_node": "gpn gpu_per_node ngpus_per_node n_gpus_per_node num_gpus_per_node devices_per_node",
        "batch_size": "batch bs batchsize minibatch mini_batch mini_batch_size local_batch local_batch_size batch_per_gpu "
        "batch_size_per_gpu per_gpu_batch_size per_device_batch_size",
        "mpi": "mpi_lib mpi_library mpi_version mpi_implementation",
        "runtime": "container_runtime",
        "metric": "metric_name measurement",
        "value": "mean avg average median result val",
        "unit": "units unit_name",
        "repeat": "rep reps repetition repetitions replicate trial run run_id run_number attempt",
        "measured_at": "date day timestamp time_stamp datetime date_time",
        "source": "comment comments remark remarks note notes reference jobid job_id slurm_job_id",
    }.items()
    for heading in headings.split()
}
"""What other tables call a column."""
_TOTALS: Final = _words(
    "ranks n_ranks num_ranks nranks mpi_ranks num_mpi_ranks number_of_ranks mpi_procs mpi_processes mpi_tasks tasks n_tasks num_tasks",
    "ntasks number_of_tasks p np procs n_procs num_procs nprocs processes num_processes number_of_processes world_size",
    "workers nworkers n_workers cores n_cores num_cores ncores total_cores cpus n_cpus num_cpus ncpus",
)
"""Columns of other tables that count over all nodes; a similar name here means something else."""
_GPUS: Final = _words(
    "gpus n_gpus num_gpus ngpus ngpu gpu_count number_of_gpus total_gpus devices n_devices num_devices ndevices accelerators"
)
"""The same of GPUs."""
_RATIOS: Final = _words("speedup speed_up speed-up relative_speedup efficiency parallel_efficiency scaling_efficiency weak_efficiency")
_LEFT_OUT: Final = "leave out what numbers the rows"
_SCATTER: Final = "the scatter is computed from repeats: write each run into a row of its own, or leave the column out"
_SAID: Final[Mapping[str, str]] = {
    heading: text
    for text, headings in {
        "the type of GPU is told by 'system' and 'partition', the number on each node by 'gpus_per_node'": "gpu device gpu_type gpu_model "
        "gpu_name accelerator",
        "'batch_size' is that of each worker: divide it by the GPUs of the run, or by its ranks if there are none": "global_batch "
        "global_batch_size total_batch total_batch_size effective_batch_size",
        "the cores of a node are 'ranks_per_node' times 'threads_per_rank'": "cores_per_node cpus_per_node",
        "the number of nodes goes into 'nodes', their names nowhere": "nodelist node_list hostlist hosts node_names",
        "the counts of a layout have a column each: 'nodes', 'ranks_per_node', 'threads_per_rank', 'gpus_per_node'": "layout config "
        "configuration decomposition setup",
        _SCATTER: "std stddev std_dev stdev sd sem err error variance ci min max best worst",
        "that of the framework is 'framework_version', that of the application a parameter: 'params.version'": "version",
        "a neural network is an 'application', an interconnect a parameter: 'params.network'": "network",
        _LEFT_OUT: "index id row row_number nr no",
    }.items()
    for heading in headings.split()
}
_MEASURES: Final[Mapping[str, str]] = {
    **{name.replace("_", ""): name for name in metrics.METRICS},
    **dict.fromkeys(("elapsed", "duration", "exectime", "executiontime", "totaltime", "timetaken", "solvetime"), "time"),
    **dict.fromkeys(("wall", "wallclock", "wallclocktime"), "wall_time"),
    **dict.fromkeys(("iterationtime", "timeperstep", "timeperiteration", "timeperiter", "timeperbatch"), "step_time"),
    **dict.fromkeys(("timeperepoch",), "epoch_time"),
    **dict.fromkeys(("perf",), "performance"),
}
"""Metrics by their name and by what else tables call them, without separators."""
_TIMES: Final = ("s", "sec", "secs", "second", "seconds", "ms", "milliseconds", "minutes", "hours")
"""Units that are headings of their own; ``min`` may be a minimum."""
_ENDINGS: Final = (*_TIMES, "us", "ns")
"""Units of time that headings end with."""
_PARTS: Final = {**dict(zip(metrics.PARTS, metrics.PARTS, strict=True)), **dict.fromkeys(("iter", "iteration", "it", "batch"), "step")}
"""Parts of a run that have a time of their own, by what headings call them."""
_SPREAD: Final = _words("std stddev stdev sem min max")
"""Words for what several runs differ by, and for their extremes."""
_OF_ONE: Final = re.compile(r".*_per_(gpu|device|core|node|rank|worker|chip|socket|thread|process)")
"""A rate of a part of the machine."""
_SHORT: Final = {
    **{"gflops": "GFLOP/s", "tflops": "TFLOP/s", "gflop": "GFLOP", "tflop": "TFLOP"},
    **{"gbs": "GB/s", "gb": "GB", "mb": "MB", "j": "J", "w": "W"},
}
"""Units as lower-case headings write them."""
_COUNTED: Final = re.compile(r"[a-z]+s|tok|img|[kmgt]?b|[kmgt]?flop", re.IGNORECASE)
"""What a rate per second counts in a heading without its slash: ``tok_s`` is a rate, ``epoch_s`` a time."""
_BRACKETS: Final = re.compile(r"\s*[\[(]\s*([A-Za-z0-9/%]{1,20})?.*")
_UNNAMED: Final = re.compile(r"unnamed:?_?[0-9]+(_level_[0-9]+)?")
_SIZE: Final = re.compile(
    r"(nodes?|ranks?|gpus?|procs?|cores?|n|p|np)?[ _=]*[0-9]{1,7}[ _]?(nodes?|ranks?|gpus?|procs?|cores?)?", re.IGNORECASE
)
_LETTERS: Final = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "æ": "ae", "ø": "oe", "å": "aa", "œ": "oe", "ł": "l"})
"""Letters that are written with others where there are only those of ASCII."""
OPEN: Final = "if it is a parameter of the run"
"""In the hint for a heading that may be anything: a parameter, or a column in another language."""
_PARAMETER: Final = re.compile(r"[a-z0-9_][a-z0-9_.+-]{0,63}")


def folded(name: str) -> str:
    """A heading in lower case, with underscores for blanks; the beginning of a long one."""
    return name.strip()[:_LONGEST].lower().replace(" ", "_")


def sizes(unknown: Sequence[str], *, some_known: bool) -> list[str]:
    """The unknown headings that are sizes, side by side: a wide table has a column for each number of nodes. Numbers may also be the cells
    of a table without a header: two of them are headings only beside ``some_known`` ones."""
    places = [place for place, name in enumerate(unknown) if _SIZE.fullmatch(name.strip())]
    found = unknown[places[0] : places[-1] + 1] if len(places) > (1 if some_known else 2) else []
    counts = [int(re.sub(r"[^0-9]", "", name)) for name in found] if len(found) == len(places) else []
    return list(found) if counts == sorted(set(counts)) and counts else []


def wide(names: Sequence[str]) -> str:
    """The message for headings that are sizes."""
    shown = listed([quoted(name) for name in names], _MOST)
    how = "a row is one measured value: write a row for each, with its size in 'nodes' (pandas: melt)"
    return f"columns {shown} are named after sizes; {how}"


def meant(name: str, columns: Sequence[str], among: Sequence[str], *, loading: bool) -> str:
    """What an unknown heading probably is, and how to write or load it; empty if that cannot be told. ``columns`` are the known ones,
    ``among`` the headings of the table."""
    bare = _bare(name)
    if bare in _RATIOS:
        return "; nothing is predicted from it: leave it out, and load the times or rates that it was computed from"
    found = _measured(name)
    if found:
        return _as_value(name, found, among, loading=loading)
    if _OF_ONE.fullmatch(bare) and _measured(bare.rpartition("_per_")[0].replace("_per_", "/")):
        return "; what each of them does is not what the run does: load that of all of them together"
    if bare in _TOTALS:
        return "; if it counts over all nodes, divide it by them: the columns are 'ranks_per_node' and 'threads_per_rank'"
    if bare in _GPUS:
        return "; if it counts over all nodes, divide it by them: the column is 'gpus_per_node'"
    if bare in _SAID or _UNNAMED.fullmatch(bare):
        return f"; {_SAID.get(bare, _LEFT_OUT)}"
    near = _OTHERWISE.get(bare) or _alike(bare, columns)
    if near:
        unit = unit_in(name) if near == "value" and loading else None
        known = metrics.known_unit(unit) if unit else None
        option = f" (--map {quoted(f'{name}=value')} --set unit={unit})" if known else ""
        return f"; the nearest known one is {near!r}{option}"
    words = bare.split("_")
    timed = "per" not in words and not {"time", "times", *_ENDINGS}.isdisjoint(words)
    if timed and not _SPREAD.isdisjoint(words):
        return f"; {_SCATTER}"
    plain = _in_ascii(bare)
    if not _PARAMETER.fullmatch(plain) or "params" in plain:
        return ""
    time = _time_of(name, words) if timed and loading and "value" not in among else ""
    return f"; {time}{OPEN}, call it 'params.{plain}'"


def _time_of(name: str, words: Sequence[str]) -> str:
    """How to load a heading that may be a time: of a part of the run where its ``words`` name one, else of the whole run."""
    part = next((_PARTS[word] for word in words if word in _PARTS), None)
    metric, of = (f"{part}_time", f"each {part}") if part else ("time", "the whole run")
    unit = words[-1] if words[-1] in _ENDINGS else "…"
    return f"if it is the time of {of}, --map {quoted(f'{name}=value')} --set metric={metric} --set unit={unit}; "


def unit_in(name: str) -> str | None:
    """What a heading gives as the unit of its numbers, in whatever language; ``None``: nothing.

    >>> unit_in("Laufzeit (Minuten)"), unit_in("Dauer in Stunden"), unit_in("time_ms"), unit_in("Laufzeit")
    ('Minuten', 'Stunden', 'ms', None)
    """
    bracket, found = _BRACKETS.search(name[:_LONGEST]), _measured(name)
    if bracket or found:
        return (bracket[1] if bracket else None) or (found[1] if found else None)
    words = re.split(r"[_ ]+", name.strip()[:_LONGEST])
    return words[-1] if len(words) > 1 and (words[-1].lower() in _ENDINGS or words[-2].lower() == "in") else None


def counted(name: str) -> str | None:
    """The column of the layout whose count a parameter of this name gives; ``ranks`` and ``gpus``: over all nodes; ``None``: it gives none.

    >>> counted("num_nodes"), counted("num_tasks"), counted("size")
    ('nodes', 'ranks', None)
    """
    bare = _bare(name)
    if bare in _TOTALS or bare in _GPUS:
        return "ranks" if bare in _TOTALS else "gpus"
    column = _OTHERWISE.get(bare)
    return column if column in LAYOUT else None


def measured(names: Sequence[str]) -> list[str]:
    """The headings that are metrics from which something is predicted."""
    return [name for name in names if _bare(name) not in _RATIOS and _measured(name)]


def _bare(name: str) -> str:
    """A heading without its unit in brackets."""
    return folded(_BRACKETS.sub("", name.strip()[:_LONGEST]).strip("#% ")).replace("/", "_per_")


def _in_ascii(bare: str) -> str:
    """A heading in the letters that the name of a parameter may have; other alphabets stay as they are.

    >>> _in_ascii("bildgröße"), _in_ascii("età")
    ('bildgroesse', 'eta')
    """
    spelt = unicodedata.normalize("NFKD", unicodedata.normalize("NFC", bare).translate(_LETTERS))
    return "".join(letter for letter in spelt if not unicodedata.combining(letter))


def _alike(bare: str, columns: Sequence[str]) -> str | None:
    """The column that is spelt nearly so."""
    compact = {column.replace("_", ""): column for column in columns}
    found = get_close_matches(re.sub(r"[^a-z0-9]", "", bare), compact, n=1, cutoff=ALIKE)
    return compact[found[0]] if found else None


def _as_value(name: str, found: tuple[str, str | None], among: Sequence[str], *, loading: bool) -> str:
    """The hint for a heading that is a metric, with its unit if it has one; ``among`` as for :func:`meant`."""
    metric, unit = found
    hint = f"; {metric} is a metric: name it in the column 'metric', its number goes into 'value'"
    if not loading or "value" in among:
        return hint
    ratios = [each for each in among if _bare(each) in _RATIOS]
    others = [each for each in measured(among) if each != name]
    options = [f"--map {quoted(f'{name}=value')} --set metric={metric}"]
    options += [f"--set unit={unit}"] if unit else []
    further = [*others, *ratios]
    options += [f"--map {quoted(f'{each}=')}" for each in further[:_MOST]] + ["…"] * (len(further) > _MOST)
    base = metrics.METRICS[metric].unit
    notes = [] if unit or base in ("s", "1") else [f"in {base}, unless --set unit=… says another unit"]
    notes += ["load the file once for each such column"] if others else []
    if unit == "min" and not _BRACKETS.search(name):
        notes.append("if it is a minimum and not in minutes, leave it out")
    return f"{hint} ({'; '.join([' '.join(options), *notes])})"


def _measured(name: str) -> tuple[str, str | None] | None:
    """The metric that a heading names, and the unit that it gives, if any: ``wall_time [s]``, ``time_ms``, ``images_per_sec``."""
    return _metric_in(name.strip()[:_LONGEST])


@lru_cache(2 * MOST_COLUMNS)  # each heading is looked at once for every other one
def _metric_in(name: str) -> tuple[str, str | None] | None:
    """As :func:`_measured`, of a heading that is not too long to be searched."""
    bracket = _BRACKETS.search(name)
    bare = _BRACKETS.sub("", name).strip("# ")
    metric = _MEASURES.get(re.sub(r"[^a-z0-9]", "", bare.lower().replace("/", "per")))  # a time/step is no timestep
    if metric:
        return metric, bracket[1] if bracket else None
    if bare.lower() in _TIMES:
        return "time", bare.lower()
    *_, last = re.split(r"[_ ]", bare)
    metric = _MEASURES.get(re.sub(r"[^a-z0-9]", "", bare.removesuffix(last).lower()))
    unit = next((each for each in (last, _SHORT.get(last.lower(), last)) if metric and _fits(metric, each)), None)
    return (metric, unit) if metric and unit else next(_rates(bare), None)


def _rates(bare: str) -> Iterator[tuple[str, str]]:
    """A heading that is a unit, or ends with one: ``images_per_sec``, ``train_samples_per_second``, ``tok_s``, ``s/epoch``."""
    words = re.split(r"[_ ]", bare)
    ends = ["_".join(words[first:]).replace("_per_", "/") for first in range(len(words))]
    if len(words) > 1 and words[-1] in ("s", "sec") and _COUNTED.fullmatch(words[-2]):
        ends.append(f"{_SHORT.get(words[-2].lower(), words[-2])}/s")
    for end in ends:
        unit = end if len(end) < 4 else _SHORT.get(end.lower(), end)
        known = metrics.known_unit(unit)
        if known and known.kind == "throughput":
            yield {"FLOP/s": "performance", "B/s": "bandwidth"}.get(known.base, "throughput"), unit
        elif known and known.kind == "time" and known.per in metrics.PARTS:
            yield f"{known.per}_time", unit


def _fits(metric: str, unit: str) -> bool:
    """Whether the unit is one of the metric."""
    try:
        metrics.metric(metric, unit)
    except DataError:
        return False
    return True
