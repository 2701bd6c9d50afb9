"""What the evidence says beyond the script: sentences for the answer, each with what it rests on."""

from __future__ import annotations

from modak.candidates import Shape
from modak.dsl import Prediction, Request
from modak.perfmodel import Curve
from modak.target import Target

FAR_DOUBLINGS = 4.0
"""Beyond this many doublings past the measured sizes a prediction is hardly more than a guess."""


def advise(request: Request, target: Target, shape: Shape, nodes: int, prediction: Prediction, curve: Curve | None) -> tuple[str, ...]:
    """Sentences on the chosen configuration, in the order in which they matter."""
    found = (
        _pilot(request, prediction),
        _far(prediction),
        _numa(target, shape),
        _batch(shape, nodes),
        _source(curve),
        _islands(target, nodes),
    )
    return tuple(sentence for sentence in found if sentence)


def global_batch(shape: Shape, nodes: int) -> int | None:
    """Samples in one step over all workers (ranks, or GPUs where there are GPUs)."""
    if shape.batch_size is None:
        return None
    return shape.batch_size * nodes * (shape.gpus_per_node or shape.ranks_per_node)


def _pilot(request: Request, prediction: Prediction) -> str | None:
    if prediction.basis != "none" or request.workload_name is None:
        return None
    return f"no result of {request.workload_name!r} is known: run a short job at two or three sizes and load its results with 'modak load'"


def _far(prediction: Prediction) -> str | None:
    if prediction.extrapolation <= FAR_DOUBLINGS:
        return None
    doublings = f"{prediction.extrapolation:.1f} doublings beyond the measured ones"
    return f"the size is {doublings}: treat the time as a guess and measure in between first"


def _numa(target: Target, shape: Shape) -> str | None:
    node = target.node
    if node is None or shape.numa_mode is None or not node.numa_modes or shape.numa_mode == node.standard_numa_domains:
        return None
    mode = next((mode for mode in node.numa_modes if mode.domains == shape.numa_mode), None)
    how = f": {mode.note}" if mode and mode.note else ""
    return f"the layout needs nodes in the mode with {shape.numa_mode} NUMA domains (standard: {node.standard_numa_domains}){how}"


def _batch(shape: Shape, nodes: int) -> str | None:
    batch = global_batch(shape, nodes)
    if batch is None or shape.batch_size is None:
        return None
    return f"the global batch is {batch} ({shape.batch_size} a worker): epochs to a given accuracy can differ from those of a smaller one"


def _source(curve: Curve | None) -> str | None:
    if curve is None or curve.scale != "nodes" or len(curve.sizes) < 2:
        return None
    system = curve.series.system or "an unnamed system"
    return f"the prediction rests on {curve.results_used} results on {curve.sizes[0]:g} to {curve.sizes[-1]:g} nodes of {system}"


def _islands(target: Target, nodes: int) -> str | None:
    partition = target.partition
    if partition is None or partition.island_nodes is None or nodes <= partition.island_nodes:
        return None
    return f"{nodes} nodes are more than one island of {partition.island_nodes}: traffic between islands is not in the evidence"
