"""A launcher of PyTorch's at the beginning of a command: its counts are the job's, because the script starts the ranks itself.

``torchrun --nnodes 2 --nproc_per_node 4 train.py`` asks for two nodes with four ranks each, and says that the training is distributed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from modak.dsl import Request
from modak.errors import Fault
from modak.normalise.mpirun import COUNT, with_counts
from modak.text.programs import options_of, split_env, strip_launcher, torch_launcher
from modak.text.words import line

_NODES: Final = "node_count"
_EACH: Final = "process_count_per_node"
_RANKS: Final = "mpi_ranks"
_COUNTS: Final[Mapping[str, Mapping[str, str]]] = {
    "torchrun": {"--nnodes": _NODES, "--nproc-per-node": _EACH},
    "deepspeed": {"--num-nodes": _NODES, "--num-gpus": _EACH},
    "accelerate": {"--num-machines": _NODES, "--num-processes": _RANKS},
}
"""Launchers, each with its options that are counts, and the fields of a request that these are. ``gpu`` and ``1:4`` are no counts."""
_LAYERS: Final = {"--use-fsdp": "fsdp", "--use-deepspeed": "deepspeed"}
"""Options of accelerate that say how the training is distributed."""
_MIXED: Final = ("fp16", "bf16")
"""What accelerate mixes with single precision."""


def with_launchers_counts(request: Request) -> tuple[Request, tuple[Fault, ...]]:
    """The counts of a launcher of PyTorch's before the command, which stays; if the request gives a count, too, that is used. A job on
    GPUs has a rank for each of those that the request gives. The precision of accelerate's ranks is that of the run."""
    wanted, options = request.optimisation, request.job_options
    _, command = split_env(request.application.command)
    program = torch_launcher(command) if command and wanted.framework == "pytorch" else None
    layer = wanted.options.value_of("distribution")
    if program is None or layer == "horovod" or request.application.app_type in ("mpi", "hpc"):
        return request, ()
    found = strip_launcher(command, program)
    if found is None:
        return request, ()
    said = options_of(found[1])
    counts = _for_each_node({field: int(said[name]) for name, field in _COUNTS[program].items() if COUNT.fullmatch(said.get(name, ""))})
    counts, uneven = _shared_evenly(request, counts, program)
    if options.request_gpus and counts.get(_EACH) and options.process_count_per_node is None:
        request = request.changed(job_options={_EACH: options.request_gpus})
    request, read, differing = with_counts(request, counts, program)
    if layer is None:
        layer = next((_LAYERS[name] for name in said if name in _LAYERS), "deepspeed" if program == "deepspeed" else "ddp")
        request = request.changed(optimisation={"options": wanted.options.model_copy(update={"distribution": layer})})
        read = ", ".join(filter(None, (f"distribution '{layer}'", read)))
    if program == "accelerate" and said.get("--mixed-precision") in _MIXED and wanted.workload.precision is None:
        precision = f"{said['--mixed-precision']}-mixed"
        request = request.changed(optimisation={"workload": wanted.workload.model_copy(update={"precision": precision})})
        read = ", ".join(filter(None, (read, f"precision '{precision}'")))
    note = (Fault("application.executable", f"{line(found[1])!a:.200} is read as {read}"),) if read else ()
    return request, (*note, *uneven, *differing)


def _shared_evenly(request: Request, counts: Mapping[str, int], launcher: str) -> tuple[Mapping[str, int], tuple[Fault, ...]]:
    """The counts without one by which nodes would have different numbers of ranks, which torchrun cannot start, and a note."""
    ranks = request.application.mpi_ranks or counts.get(_RANKS)
    nodes = request.job_options.node_count or counts.get(_NODES)
    place, lost = ("job_options", _NODES) if request.application.mpi_ranks else ("application", _RANKS)
    if not (ranks and nodes and ranks % nodes and lost in counts):
        return counts, ()
    text = f"{launcher!a:.200} says {counts[lost]}, but {ranks} ranks do not divide evenly among {nodes} nodes: left out"
    return {name: count for name, count in counts.items() if name != lost}, (Fault(f"{place}.{lost}", text),)


def _for_each_node(counts: Mapping[str, int]) -> Mapping[str, int]:
    """The counts, all ranks on several nodes as those of each, as the other launchers count them."""
    nodes, ranks = counts.get(_NODES), counts.get(_RANKS)
    return {_NODES: nodes, _EACH: ranks // nodes} if nodes and ranks and ranks % nodes == 0 else counts
