"""Advice on things that the script does not do: sentences for the answer, with their sources.

Most sentences are rules (``benchmarks_db/rules``) with a citation, to which figures of the job are added here.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from modak import plugins
from modak.advice import batchsize, inputrate, unlike
from modak.choosing.chosen import Chosen
from modak.choosing.problem import unmeasured
from modak.choosing.requirements import carrier, is_build, is_distributed, leaves_threads_open, precision, stated_nodes
from modak.choosing.workload import MOST_NAMED, an_amount, only_one, speed_printed, units
from modak.dsl import LEARNING, Prediction
from modak.facts import Rule, SeriesKey
from modak.jobs.report import lengths
from modak.perfmodel.fitting import startup
from modak.perfmodel.fitting.precisions import USUAL_PRECISION, canonical_precision
from modak.perfmodel.forecasting.repeats import scatters
from modak.perfmodel.intervals import Z90
from modak.perfmodel.predict import FAR_DOUBLINGS
from modak.perfmodel.wording import A_GUESS
from modak.results.metrics import UNITS_OF_WORK, work_unit
from modak.results.shifts import HALF_WAY
from modak.text.amounts import as_given, cell, counted, format_duration, format_number, join_names, longer
from modak.text.grammar import indices
from modak.text.units import clock
from modak.text.words import line

OF_MACHINES: Final = frozenset(("FLOP", "B"))
"""What rates count that tell how fast a machine is: hardly anybody knows how much of it a run does."""
SCATTERED: Final = 1.1
"""A measured time whose interval reaches further than this factor is explained: it is 1.08 if runs scatter as usual."""


def advise(chosen: Chosen, held: Sequence[Rule]) -> tuple[str, ...]:
    """Sentences on the chosen configuration: first on its prediction, then those of ``held``, the rules that apply."""
    own = (
        _pilot(chosen),
        _doubted(chosen),
        _shifted(chosen),
        _length(chosen),
        _start_up(chosen),
        _work_unsaid(chosen),
        _far(chosen),
        _scatter(chosen),
        _grows(chosen),
        _numa(chosen),
        _source(chosen),
        *unlike.differences(chosen),
        _assumed(chosen),
        _batch(chosen),
        _gpus(chosen),
        _cores(chosen),
        _crowded(chosen),
        _image(chosen),
        _version(chosen),
        _islands(chosen),
        _precision(chosen),
        _build(chosen),
        _sources(chosen),
        _dataset(chosen),
        _array(chosen),
        _serial(chosen),
        _around(chosen),
        _staged(chosen),
    )
    from_rules = [_of_rule(rule, chosen) for rule in held]
    return tuple(dict.fromkeys(sentence for sentence in (*own, *from_rules) if sentence))


def guesses(others: Sequence[Prediction]) -> Iterator[str]:
    """A sentence on how many of the alternatives are far beyond the measured sizes."""
    far = sum(other.extrapolation > FAR_DOUBLINGS for other in others)
    if far:
        lie = f"{far} of the alternatives {'lies' if far == 1 else 'lie'} more than {FAR_DOUBLINGS:g} doublings beyond the measured sizes"
        yield f"{lie}: treat {'its time as a guess' if far == 1 else 'their times as guesses'}"


def chain(chosen: Chosen) -> str | None:
    """How many consecutive jobs the run may need; ``None`` if its upper bound fits into one job, or nothing ends that at its limit."""
    limit, upper = chosen.target.max_wall_time_s(chosen.nodes), chosen.prediction.upper
    asked, signal = chosen.request.job_options.wall_time_limit, chosen.request.job_options.signal
    limit = min(filter(None, (limit, asked)), default=None)
    if early := limit is not None and signal is not None and signal.seconds < limit:
        limit -= signal.seconds
    if limit is None or upper is None or upper <= limit or chosen.target.scheduler == "shell":
        return None
    expected, most = (math.ceil((end or 0.0) / limit) for end in (chosen.prediction.value, upper))
    jobs = f"{most} jobs" if expected == most else f"{expected} to {most} jobs"
    whole = f"the run takes up to {clock(math.ceil(upper))} (basis: {chosen.prediction.basis})"
    return f"{whole}, but a job at most {clock(limit)}{' before its signal' if early else ''}: {jobs}"


def half_precision(chosen: Chosen) -> str | None:
    """Peak rates of the GPUs in FP16 and FP32; ``None`` if FP16 is not faster there, or the run has another precision than FP32."""
    gpu, said = chosen.target.accelerator, (precision(chosen.request), chosen.shape.precision, _of_all_results(chosen))
    if not (gpu and chosen.shape.gpus_per_node) or not {canonical_precision(name) for name in said} <= {None, USUAL_PRECISION}:
        return None
    fp16, fp32 = gpu.fp16_tflops or 0.0, gpu.fp32_tflops or 0.0
    return f"{gpu.model} has {as_given(fp16)} TFLOP/s in FP16, {as_given(fp32)} in FP32" if fp16 > fp32 > 0 else None


def one_process(chosen: Chosen) -> str | None:
    """That the request has no fork of Caffe that trains in several processes; ``None`` if it has: ``caffe`` is the framework of all."""
    found = carrier(chosen.request)
    return "this request names neither" if found and found.framework == "caffe" else None


def no_core_left(chosen: Chosen) -> str | None:
    """That the threads take all cores of a node; ``None`` if they leave some, or the cores are not known."""
    node, shape = chosen.target.node, chosen.shape
    if node is None or shape.ranks_per_node * shape.cores_per_rank(node.threads_per_core) < node.cores:
        return None
    return f"here {shape.ranks_per_node * shape.threads_per_rank} threads take all {node.cores} cores"


FIGURES: Final[Mapping[str, Callable[[Chosen], str | None]]] = {
    "learning-rate-scaling": batchsize.learning_rate,
    "large-batch": batchsize.large,
    "batch-by-layout": batchsize.by_layout,
    "keras-front-end": lambda chosen: "this request uses Keras" if chosen.request.optimisation.framework == "keras" else None,
    "caffe-processes": one_process,
    "communication-cores": no_core_left,
    "input-rate": inputrate.rate,
    "pack-small-files": inputrate.small_files,
    "stage-to-the-node": inputrate.local_copy,
    "stripe-large-files": inputrate.stripes,
    "checkpoint-chain": chain,
    "half-precision": half_precision,
}
"""By the name of a rule: the figures for its sentence; ``None``: no sentence."""


def _of_rule(rule: Rule, chosen: Chosen) -> str | None:
    if rule.advice is None:
        return None
    if rule.name not in FIGURES:
        return f"{rule.advice} [{rule.source}]"
    figures = FIGURES[rule.name](chosen)
    return f"{rule.advice}: {figures} [{rule.source}]" if figures else None


def _pilot(chosen: Chosen) -> str | None:
    name = chosen.request.workload_name
    if chosen.is_predicted or chosen.needs_amount:
        return None
    if name is None:
        return f"the request names no application: give application.app_tag, {_pilot_job(chosen)}"
    place, systems = chosen.target.name, [system for system in chosen.measured_on if system]
    if place is None and systems:
        return f"name the system (target.name, or --system): the results of {name!r} are of {join_names(systems, MOST_NAMED)}"
    if place is not None and None in chosen.measured_on:
        again = f"if they are of {place}, {unlike.loaded_again(system=place)}"
        return f"results of {name!r} name no system: {again}"
    if chosen.doubted_count and not chosen.measured_on:
        return f"no model rests on the doubted results of {name!r} ({chosen.doubted_count}): {_look_at_doubted(name)}"
    other = chosen.similar_application
    first = f"if it is {other!r}, of which there are results, name it so (workload.application); otherwise " if other else ""
    return f"there is no usable result of {name!r}: {first}{_pilot_job(chosen)}"


def _pilot_job(chosen: Chosen) -> str:
    """What to run first, and what to load."""
    sizes = "one node" if chosen.nodes == 1 else f"1, 2 and {min(4, chosen.nodes)} nodes" if chosen.nodes > 2 else "1 and 2 nodes"
    wanted = chosen.request.optimisation
    of_epochs = wanted.app_type == "ai_training" and (wanted.framework or wanted.workload.epochs)  # a grid search has none
    short = "with one or two epochs" if of_epochs else "with a short case"
    record = "the modak-result-….json that it writes" if chosen.request.application.write_result else "its time"
    counts = "job_options.node_count; " if chosen.nodes > 1 else ""
    how = f"{counts}'modak results plan' writes scripts for it, on the machine of the database"
    return f"run a pilot job on {sizes} {short} first ({how}), then load {record} with 'modak load'"


def _doubted(chosen: Chosen) -> str | None:
    """Results of exactly this configuration that are left out, if there are no others."""
    name = chosen.request.workload_name
    if not chosen.doubted_count_here or name is None or not (chosen.is_predicted or chosen.measured_on):
        return None
    return f"left out: {counted(chosen.doubted_count_here, 'doubted result')} of exactly this layout; {_look_at_doubted(name)}"


def _look_at_doubted(application: str) -> str:
    listed_by = f"'modak results list --doubted --application {shlex.quote(application)}'"
    return f"{listed_by} shows why, and 'modak results confirm' accepts right ones"


def _shifted(chosen: Chosen) -> str | None:
    """That results from before a day were scaled to what runs take since then, or half-way if that may pass."""
    curve = chosen.curve
    if curve is None or curve.shifted is None or not chosen.is_predicted:
        return None
    one, key = curve.shifted, curve.series
    where = f"--application {shlex.quote(key.application)} --system {shlex.quote(str(key.system))}"
    shown = f"'modak results compare measured_at {where}' shows it"
    scaled = "to that" if one.sure else f"{HALF_WAY}, and the interval reaches as far as both"
    return f"runs take {longer(one.ratio, one.since, sure=one.sure)}, and results from before were scaled {scaled}: {shown}"


def _length(chosen: Chosen) -> str | None:
    """What the predicted time covers, if request and results do not give the length of the run in the same unit."""
    work, per = chosen.request.optimisation.workload, chosen.prediction.per
    if one := only_one(work, per):
        also = ", with which the deadline is compared," if chosen.request.optimisation.objective.deadline else ""
        return f"the predicted time{also} is for one {one}: give the number of {one}s in workload.{one}s"
    counts = ((work.epochs, "epochs"), (work.steps, "steps"), (work.samples, "samples"))
    named = [f"{count:.12g} {word}" for count, word in counts if count]
    if per != "run" or not (named or work.amount):
        return None
    asked = " and ".join((*named, *((work.amount,) if work.amount else ())))
    whole = f"the predicted time is that of the measured run as a whole: the request's {asked} do not change it"
    return f"{whole}, unless the results state their length (column params.epochs, params.steps or params.amount)"


def _start_up(chosen: Chosen) -> str | None:
    """Short runs of another length, most of whose time may have been start-up, and speeds that are perhaps averages over the whole run."""
    curve, time = chosen.curve, chosen.prediction.value
    if curve and curve.start_up and not curve.start_up.error and curve.start_up.seconds < startup.SOONEST:
        same = f"{curve.series.metric} and the time of the same runs leave {format_duration(curve.start_up.seconds)} to start"
        return f"{same}: if one was computed from the other, longer runs take less, and shorter ones more, than is predicted"
    if curve is None or curve.start_up or curve.included or not startup.is_whole(curve.series):
        return None
    unit = units(chosen.request, curve)
    if unit is None or time is None or (scale := unit.count * unit.unit_scale) == 1:
        return None
    measured = (time - (chosen.prediction.start_up or 0.0)) / scale
    if measured >= startup.LEAST_RUN:
        return None
    done = 1 / unit.unit_scale
    length = counted(done, unit.per) if f"{unit.per}s" in startup.lengths(curve.series.params) else f"{cell(done)} {unit.per}"
    wrong = f"if that is mostly start-up, it is much too {'long' if scale > 1 else 'short'}"
    how = "let the program print the time of an epoch, or the speed of its work, and name that in workload.metric, or measure a longer run"
    speed = speed_printed(chosen.request.optimisation.workload)
    if speed and chosen.request.application.write_result:
        how = f"the job's result, with {speed} in it, will show"
    return f"the predicted time is {cell(scale)} x the {format_duration(measured)} of a run of {length}: {wrong}; {how}"


def _work_unsaid(chosen: Chosen) -> str | None:
    """A speed in the job's result, but not how much work that was done at it: start-up could not be told from it."""
    request, work, per = chosen.request, chosen.request.optimisation.workload, chosen.prediction.per
    if work.metric is None or request.workload_name is None or not request.application.write_result or only_one(work, per):
        return None
    printed = work.metric.measure
    rate = work_unit(printed)
    if printed.per in UNITS_OF_WORK:
        field, example = f"{printed.per}s", ""
    elif rate and rate.counts not in OF_MACHINES:
        field, example = "amount", f", {an_amount(rate.counts)}"
    else:
        return None
    if getattr(work, field):
        return None
    known = {name: length for name, length in lengths(work).items() if length}
    if startup.work(SeriesKey(application=request.workload_name, metric=printed.name, unit=printed.unit, params=known)):
        return None
    has = f"the job's result will have {work.metric.name}, but not how much work the run does at it"
    how = f"give workload.{field}{example}"
    if field == "steps" and work.epochs and work.samples:  # how many steps these take depends on the number of workers
        how = f"{'' if work.batch_size else 'give workload.batch_size, and '}measure a second run, of at least twice the epochs"
    return f"{has}: {how}, so that its start-up can be separated from its work"


def _far(chosen: Chosen) -> str | None:
    if chosen.prediction.extrapolation <= FAR_DOUBLINGS:
        return None
    doublings = f"{chosen.prediction.extrapolation:.1f} doublings beyond the measured ones"
    return f"this size is {doublings}: {A_GUESS}"


def _scatter(chosen: Chosen) -> str | None:
    """Why the interval of a measured time is wider than usual."""
    found, curve = chosen.prediction, chosen.curve
    if curve is None or found.basis != "measured" or not (found.upper and found.value):
        return None
    factor = found.upper / found.value
    if factor < SCATTERED:
        return None
    differs = f"another run on {counted(chosen.nodes, 'node')} may be slower or faster by a factor of {format_number(factor)}"
    if not scatters(curve):
        if curve.start_up and 2 * (Z90 * curve.start_up.doubt / found.value) ** 2 > math.log(factor) ** 2:  # most of what is wide
            return f"start-up is uncertain (measured on {counted(curve.start_up.runs, 'run')}): {differs}"
        return f"other runs of this application on {chosen.target.title} scatter: {differs}"
    if curve.scatter:
        return f"repeated runs scatter: {differs}"
    unsure = "repeats tell whether runs differ, or the program is uneven by itself"
    return f"the measured times scatter around a smooth curve: {differs}; {unsure}"


def _grows(chosen: Chosen) -> str | None:
    """In weak scaling, the number of nodes (or of ranks, GPUs or threads on one) follows from the problem and not from the time."""
    if chosen.curve is None or not chosen.curve.grows or not chosen.is_predicted:
        return None
    options, application = chosen.request.job_options, chosen.request.application
    nodes = stated_nodes(chosen.request) or application.mpi_ranks
    if chosen.curve.per_batch:
        text = "every step takes a batch on each worker: twice the nodes take twice the samples, ideally in the same time"
        return text if nodes else f"{text}; give samples and epochs instead of steps, or set node_count"
    counts = {
        "nodes": ("nodes", "node_count", nodes),
        "ranks": ("ranks", "process_count_per_node", options.process_count_per_node or application.mpi_ranks),
        "gpus": ("GPUs", "request_gpus", options.request_gpus),
        "threads": ("threads", "threads", chosen.request.threads_per_rank),
    }
    size, field, given = counts[chosen.curve.scale]
    larger = f"on twice the {size} the problem is twice as large, ideally in the same time"
    text = f"the results are from weak scaling (params.scaling weak): {larger}"
    return text if given else f"{text}; the number of {size} follows from the problem, not from the time: set {field}"


def _numa(chosen: Chosen) -> str | None:
    node, wanted = chosen.target.node, chosen.shape.numa_mode
    if node is None or wanted is None or not node.numa_modes or wanted == node.standard_numa_domains:
        return None
    mode = next((mode for mode in node.numa_modes if mode.domains == wanted), None)
    how = f": {mode.note}" if mode and mode.note else ""
    return f"the layout needs nodes configured with {wanted} NUMA domains (default: {node.standard_numa_domains}){how}"


def _source(chosen: Chosen) -> str | None:
    curve = chosen.curve
    if curve is None or curve.scale != "nodes" or len(curve.sizes) < 2:
        return None
    system = curve.series.system or "an unnamed system"
    results = counted(curve.results_used, "result")
    rests = f"{results} on {curve.sizes[0]:g} to {curve.sizes[-1]:g} nodes of {system}"
    if chosen.prediction.results_used > curve.results_used:
        nearest = unmeasured(chosen.request, curve).partition(" with ")[0] if chosen.problem_sizes else "layout"
        return f"the prediction rests on {counted(chosen.prediction.results_used, 'result')}; of the nearest {nearest} there are {rests}"
    return f"the prediction rests on {rests}"


def _assumed(chosen: Chosen) -> str | None:
    """Results that do not state their layout: the time holds for their layout, which may differ from the planned one."""
    shape = chosen.shape
    if shape.origin != "assumed" or not chosen.is_predicted:
        return None
    layout = f"{counted(shape.ranks_per_node, 'rank')} x {counted(shape.threads_per_rank, 'thread')}"
    asked = chosen.request.job_options.process_count_per_node or chosen.request.application.mpi_ranks
    doubt = f"which may not be the requested {layout}" if asked else f"and {layout} is a guess"
    unsaid = f"the results behind the time do not state ranks_per_node: the time is that of their own layout, {doubt}"
    how = unlike.loaded_again("ranks_per_node", "threads_per_rank")
    return f"{unsaid}; {how}" if asked else f"{unsaid}; give process_count_per_node and threads, or {how}"


def _batch(chosen: Chosen) -> str | None:
    """Results that do not state their batch size, where one is asked for; or that do, where none is."""
    asked, curve, used = chosen.request.optimisation.workload.batch_size, chosen.curve, chosen.shape.batch_size
    if asked is None and used and chosen.is_predicted and "MODAK_BATCH_SIZE" not in line(chosen.request.application.command):
        unset = f"the predicted time, and the job's result, are for a batch size of {used} on each worker, which the script does not set"
        return f"{unset}: let the command set it (${{MODAK_BATCH_SIZE}}), or give yours (workload.batch_size)"
    if asked is None or curve is None or curve.estimated or curve.layout.batch_size:
        return None
    unsaid = f"the results behind the time do not state batch_size: theirs may not be the requested {asked}"
    return f"{unsaid}; if it is known, {unlike.loaded_again('batch_size')}"


def _gpus(chosen: Chosen) -> str | None:
    """Training on nodes without GPUs of a system that has others, where the request says nothing of them."""
    request, system = chosen.request, chosen.target.system
    options, asked = request.job_options, request.optimisation
    said = options.request_gpus is not None or options.partition or options.queue or asked.opt_build.acc_type
    if system is None or said or chosen.shape.gpus_per_node or asked.app_type not in LEARNING:
        return None
    closed = dict(chosen.target.closed)
    having = [one for one in system.partitions if one.node.accelerators and one.name not in closed]
    named = join_names([f"{one.name} ({one.node.accelerators} x {one.node.accelerator})" for one in having], MOST_NAMED)
    return f"{system.name} has nodes with GPUs: {named}; set job_options.request_gpus to use them" if having else None


def _cores(chosen: Chosen) -> str | None:
    """How many cores a node has, or go with a GPU, is not known: the only rank of a node, or each with a GPU, gets one."""
    options, shape = chosen.request.job_options, chosen.shape
    given = chosen.request.threads_per_rank or options.core_count
    curve = chosen.curve
    stated_there = curve and (curve.layout_on(shape.gpus_per_node).threads_per_rank or curve.scale == "threads")
    if chosen.target.system or given or stated_there or shape.threads_per_rank > 1:
        return None
    place, describe = chosen.target.name or "the target", "or describe the system ('modak systems detect' writes most of it)"
    if shape.gpus_per_node:
        text = f"how many cores go with each GPU of {place} is not known, so each rank is given one"
        return f"{text}: give job_options.core_count_per_process, {describe}"
    if shape.ranks_per_node > 1 or options.process_count_per_node or chosen.request.application.mpi_ranks:
        return None
    ways = "give application.threads" + (" or job_options.process_count_per_node" if is_distributed(chosen.request) else "")
    each = " on each" if chosen.nodes > 1 else ""
    return f"how many cores a node of {place} has is not known, so the job is given one{each}: {ways}, {describe}"


def _crowded(chosen: Chosen) -> str | None:
    """More ranks x threads in the results than a node runs at once, which the request does not ask for: counts of a whole run, perhaps."""
    node, shape, options = chosen.target.node, chosen.shape, chosen.request.job_options
    asked = options.process_count_per_node or chosen.request.application.mpi_ranks or chosen.request.application.threads
    room = node.cores * node.threads_per_core if node else math.inf
    if asked or shape.ranks_per_node * shape.threads_per_rank <= room:
        return None
    layout = f"{counted(shape.ranks_per_node, 'rank')} x {counted(shape.threads_per_rank, 'thread')}"
    why = f"{layout} on a node, as in the results, share its cores: it runs at most {room} at once"
    return f"{why}; if the results count over all nodes, mark them ('modak results doubt') and load them again as 'total_ranks'"


def _image(chosen: Chosen) -> str | None:
    """The job runs in another image than the results behind the time, or in none."""
    measured = chosen.measured("image")
    if measured is None or chosen.image == measured or "image" in chosen.differences:
        return None
    if chosen.image is None:
        named = chosen.request.application.container_runtime or carrier(chosen.request)  # a framework's image is chosen
        if named or not chosen.is_predicted:
            return None
        if chosen.target.runtime:
            return _no_image(chosen, measured)
    where = f"in {chosen.image}" if chosen.image else "without a container"
    return f"the predicted time comes from results in the image {measured}, but the job runs {where}: measure it there"


def _no_image(chosen: Chosen, measured: str) -> str:
    """What the request of a program without a framework may name: none is chosen for it."""
    others = [image for image in chosen.images_measured if image != measured]
    beside = f"; there are others in {join_names(others, MOST_NAMED)}" if others else ""
    origin = f"the predicted time comes from results in the image {measured}{beside}"
    return f"{origin}: name the one that the job is to run in (application.container_runtime)"


def _version(chosen: Chosen) -> str | None:
    """The image has another framework version than the results behind the time."""
    measured = chosen.measured("framework_version")
    carried = chosen.framework_version
    if measured is None or carried is None or _release(carried) == _release(measured) or "framework_version" in chosen.differences:
        return None
    if chosen.shape.framework:  # the results tell the version of Keras, the image that of TensorFlow
        return None
    return f"the predicted time comes from results with framework version {measured}, but the image has {carried}: measure it there"


def _release(version: str) -> str:
    """A version without trailing zeros: 2.1.0 is 2.1."""
    return re.sub(r"(\.0)+$", "", version)


def _islands(chosen: Chosen) -> str | None:
    """The job spans several islands, and all results are from within one."""
    partition, curve = chosen.target.partition, chosen.curve
    if partition is None or partition.island_nodes is None or chosen.nodes <= partition.island_nodes:
        return None
    measured = max(curve.nodes, default=0) if curve else 0
    if measured > partition.island_nodes:
        return None
    links = chosen.target.system.interconnect if chosen.target.system else None
    network = f" ({links.name})" if links else ""
    crossing = f"no result includes traffic between islands{network}"
    return f"{chosen.nodes} nodes span more than one island ({partition.island_nodes} nodes): {crossing}"


def _precision(chosen: Chosen) -> str | None:
    """The time holds for a precision that the request does not name."""
    used = chosen.shape.precision or _of_all_results(chosen)
    if used is None or used == chosen.request.optimisation.workload.precision or not chosen.is_predicted:
        return None
    check = "" if canonical_precision(used) == USUAL_PRECISION else ", and check its accuracy"
    return f"the predicted time is for precision {used}: run the program in it{check}"


def _of_all_results(chosen: Chosen) -> str | None:
    """The precision of the results behind the time, if it is not the usual one and they do not count as different from the run for it: all
    results have one that is not, and what the program has is unknown."""
    used: str | None = None if "precision" in chosen.differences else chosen.measured("precision")
    return None if canonical_precision(used) == USUAL_PRECISION else used


def _build(chosen: Chosen) -> str | None:
    """The time holds for one build of the application, which the request does not name."""
    used = chosen.shape.compiler
    if used is None or not is_build(used) or not chosen.is_predicted or chosen.request.optimisation.workload.compiler:
        return None
    return f"the predicted time is for the application built with {used}: run that build, or name yours (workload.compiler)"


def _sources(chosen: Chosen) -> str | None:
    """Nothing says which state of them is meant: neither a commit nor a checksum."""
    build = chosen.request.application.build
    if build is None or not (build.src or "").startswith("https://"):
        return None
    own = "for the same ones each time give a clone of your own (application.build.src as a path: ${HOME}/app/.git)"
    return f"the build takes what {build.src} holds on that day, neither a certain commit nor a checked file; {own}"


def _dataset(chosen: Chosen) -> str | None:
    """The time holds for one data set, which the request does not name, so that the job's own result would not be one of it."""
    used = chosen.measured("dataset")
    if used is None or chosen.request.optimisation.workload.dataset or not chosen.is_predicted:
        return None
    return f"the predicted time is for data set {used!r}: if it is yours, name it (workload.dataset): the job's result then counts for it"


def _array(chosen: Chosen) -> str | None:
    """Times, costs and limits are those of one job of an array; what all of its jobs take, as far as it is known."""
    asked, seconds = chosen.request.job_options.job_array, chosen.prediction.value
    jobs, at_once = indices(asked) if asked else (1, 1)
    if asked is None or jobs == 1 or plugins.find("schedulers", chosen.target.scheduler).array(asked) is None:
        return None
    one = f"time, node-hours and the limits of the objective are those of one of the {jobs} jobs of the array"
    if seconds is None:
        return one
    hours = f"{cell(jobs * chosen.nodes * chosen.node_share * seconds / 3600)} node-hours"
    rounds = f", and at {at_once} at a time {format_duration(math.ceil(jobs / at_once) * seconds)}" if at_once < jobs else ""
    return f"{one}: all together take {hours}{rounds} (basis: {chosen.prediction.basis})"


def _serial(chosen: Chosen) -> str | None:
    """A job is given all cores of a node by the rule of thumb, though its program may use one of them; of an array, each one is."""
    options, shape, application = chosen.request.job_options, chosen.shape, chosen.request.application
    cores = chosen.request.threads_per_rank or options.core_count
    guessed = shape.origin == "topology" and shape.workers_per_node == 1 < shape.threads_per_rank and not shape.gpus_per_node
    if cores or not guessed or chosen.nodes > 1 or not leaves_threads_open(chosen.request):
        return None
    array, whole = _array(chosen) is not None, chosen.target.gives_whole_nodes or options.node_exclusive
    share = "give application.threads 1, so that jobs share nodes where the site allows it"
    all_cores = f"all {shape.threads_per_rank} cores of a node; if the program uses one of them"
    if not array:
        told = whole or not application.command or "MODAK_THREADS" in line(application.command)
        return None if told else f"the job is given {all_cores}, {share}"
    many = f"{'' if whole else f'{share}, or '}let one job start as many runs at once"
    return f"each job of the array is given {all_cores}, {many}: \"sh -c 'seq 0 99 | xargs -n 1 -P $MODAK_THREADS ./run.sh'\""


def _around(chosen: Chosen) -> str | None:
    """Commands before and after the run take time that no result contains."""
    application, given = chosen.request.application, chosen.request.job_options.wall_time_limit
    pairs = (("pre-execution", application.pre_execution), ("post-execution", application.post_execution))
    named = " and ".join(name for name, command in pairs if command)
    ways = {
        "the wall time limit": None if given else "set job_options.wall_time_limit",
        "the deadline": "give a deadline that is shorter by that time" if chosen.request.optimisation.objective.deadline else None,
    }
    todo = {what: way for what, way in ways.items() if way}
    if not named or not todo or not chosen.is_predicted:
        return None
    limits = f"{' and '.join(todo)} {'has' if len(todo) == 1 else 'have'}"
    return f"{limits} no room for {named}: if that takes more than a minute, {' and '.join(todo.values())}"


def _staged(chosen: Chosen) -> str | None:
    """Data are copied into a directory of the job's own, in which the program does not start."""
    application = chosen.request.application
    named = "MODAK_SCRATCH" in line((*application.command, *application.pre_execution, *application.post_execution))
    if named or not (application.stage_in or application.stage_out):
        return None
    does = " and ".join(
        text for text, copies in (("reads its data", application.stage_in), ("writes its results", application.stage_out)) if copies
    )
    return f"the program has to see that it {does} in the directory that the variable MODAK_SCRATCH names: no command names it"
