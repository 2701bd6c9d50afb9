"""Whether what a run needs fits the memory of a node and of its GPUs. GB are 10^9 bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from modak.dsl import Request
from modak.target import Target
from modak.text.amounts import counted

if TYPE_CHECKING:
    from modak.choosing.shapes import Shape


def needed_gb(request: Request, ranks_per_node: int) -> float:
    """Memory that a node needs: for its ranks, and for an image or data unpacked into tmpfs (``memory_aside_gb``)."""
    work = request.optimisation.workload
    return (work.memory_per_rank_gb or 0.0) * ranks_per_node + (work.memory_aside_gb or 0.0)


def usable_gb(target: Target) -> float | None:
    """Memory of a node that a job may use; ``None``: unknown."""
    return (target.node.usable_memory_gb or target.node.memory_gb) if target.node else None


def obstacle(request: Request, target: Target, shape: Shape) -> str | None:
    """Why a shape does not fit the memory of nodes or GPUs; ``None``: it fits, or too little is known."""
    need, usable = needed_gb(request, shape.ranks_per_node), usable_gb(target)
    if usable is not None and need > usable:
        ranks = f"{counted(shape.ranks_per_node, 'rank')} per node"
        aside = request.optimisation.workload.memory_aside_gb
        beside = f" and {aside:g} GB besides" if aside else ""
        return f"{need:g} GB per node are needed ({ranks}{beside}), but nodes of {target.title} have {usable:g} GB usable"
    per_gpu, gpu = request.optimisation.workload.memory_per_gpu_gb, target.accelerator
    if shape.gpus_per_node and per_gpu and gpu and gpu.memory_gb and per_gpu > gpu.memory_gb:
        return f"{per_gpu:g} GB are needed per GPU, but the {gpu.model} of {target.title} has {gpu.memory_gb:g} GB"
    return None
