"""Candidates + curves -> columns to rank: the workload's time, its spread and its basis for every candidate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from modak.candidates import Candidates, Shape
from modak.dsl import Basis, Prediction, Request
from modak.facts import Facts
from modak.objective import Scored
from modak.perfmodel import Curve, Power, Predictions, Question, describe, predict
from modak.perfmodel.intervals import stretch
from modak.perfmodel.predict import same_name
from modak.target import Target, find_system
from modak.wishes import carrier
from modak.workload import Units, units

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
PREFERRED = ("epoch", "step", "run")
"""Where an application has results of several kinds, the one that the workload scales by is asked first."""


@dataclass(frozen=True)
class Evidence:
    """What stands behind the columns: for each shape its predictions and the units that make them the workload."""

    predictions: tuple[Predictions, ...]
    units: tuple[Units | None, ...]
    start_up_s: float
    level: float = 0.9

    @property
    def known(self) -> bool:
        """Whether any candidate has a predicted time."""
        pairs = zip(self.predictions, self.units, strict=True)
        return any(unit is not None and bool(np.isfinite(found.value).any()) for found, unit in pairs)

    def prediction(self, scored: Scored, index: int) -> Prediction:
        """The prediction of one candidate, as the answer states it."""
        shape = int(scored.shape[index])
        found, unit = self.predictions[shape], self.units[shape]
        if unit is None or not np.isfinite(scored.time[index]):
            return Prediction(level=self.level)
        time = float(scored.time[index])
        reach = stretch(self.level) * float(scored.spread[index])
        return Prediction(
            value=time,
            lower=time * float(np.exp(-reach)),
            upper=time * float(np.exp(reach)),
            level=self.level,
            per_unit=(time - self.start_up_s) / unit.count,
            per=unit.per,
            basis=scored.basis[index],
            model=describe(found.curve),
            results_used=found.curve.results_used if found.curve else 0,
            extrapolation=round(float(scored.doublings[index]), 3),
        )


def score(request: Request, target: Target, candidates: Candidates, facts: Facts) -> tuple[Scored, Evidence]:
    """Predict every candidate: one call of the model a shape, vectorised over its node counts."""
    start_up = (target.system.start_up_s if target.system else None) or 0.0
    usable = usable_curves(request, target, facts.models)
    power = node_power(facts)
    columns, predictions, per_shape, references = [], [], [], []
    for index, (shape, nodes) in enumerate(zip(candidates.shapes, candidates.nodes, strict=True)):
        found = predict(of_compiler(usable, shape), question(request, target, shape), nodes, power)
        unit = units(request, found.curve) if found.curve else None
        time = start_up + found.value * (unit.count * unit.unit_scale) if unit else np.full(nodes.shape, np.nan)
        columns.append((np.full(nodes.shape, index), nodes, time, found.spread, found.doublings))
        references.append(_reference(found, nodes, time))
        predictions.append(found)
        per_shape.append(unit)
    shape_column, node_column, time_column, spread, doublings = (np.concatenate(column) for column in zip(*columns, strict=True))
    basis: tuple[Basis, ...] = tuple(name for found in predictions for name in found.basis)
    node, partition = target.node, target.partition
    scored = Scored(
        shape=shape_column,
        nodes=node_column,
        time=time_column,
        spread=spread,
        doublings=doublings,
        efficiency=np.nanmin([*references, np.inf]) / (time_column * node_column),
        basis=basis,
        power_w=node.power_w if node else None,
        price=partition.price_per_node_hour if partition else None,
    )
    return scored, Evidence(tuple(predictions), tuple(per_shape), start_up)


def question(request: Request, target: Target, shape: Shape) -> Question:
    """What the models are asked about a shape."""
    work, framework = request.optimisation.workload, carrier(request)
    attributes: dict[str, Any] = {
        "system": target.name,
        "partition": target.partition.name if target.partition else None,
        "dataset": work.dataset,
        "params": {name: str(value) for name, value in work.params.items()} or None,
        "framework": framework.framework if framework else None,
        "framework_version": shape.framework_version,
        "compiler": shape.compiler,
        "precision": shape.precision,
        "mpi": shape.mpi,
        "mpi_from": shape.mpi_from,
        "hyperthreads": shape.hyperthreads,
        "numa_mode": shape.numa_mode,
    }
    return Question({name: value for name, value in attributes.items() if value is not None}, shape.layout)


def node_power(facts: Facts) -> Power:
    """Peak single-precision TFLOP/s of a node (its accelerators', where it has any), else its cores: for transfers between systems.

    The two are never mixed: a ratio needs the same figure on both sides, so systems without one give ``None``.
    """

    def power(system_name: str | None, partition_name: str | None) -> float | None:
        system = find_system(system_name, facts) if system_name else None
        if system is None:
            return None
        partition = next((p for p in system.partitions if p.name == partition_name), system.default_partition)
        node = partition.node
        accelerator = facts.accelerators.get(node.accelerator or "")
        processor = facts.processors.get(node.processor)
        if node.accelerators and accelerator and accelerator.fp32_tflops:
            return accelerator.fp32_tflops * node.accelerators
        return processor.fp32_tflops * node.sockets if processor and processor.fp32_tflops else None

    return power


def usable_curves(request: Request, target: Target, curves: Sequence[Curve]) -> tuple[Curve, ...]:
    """Curves that can be turned into the workload's time: those of one kind, measured on the target if any are.

    Where neither results nor facts of the place are known there is nothing to transfer to.
    """
    convertible = [(curve, unit.per) for curve in curves if (unit := units(request, curve)) is not None]
    here = [pair for pair in convertible if same_name(pair[0].series.system) in target.names]
    if target.system is None and not here:
        return ()
    for per in PREFERRED:
        if any(kind == per for _, kind in here or convertible):
            return tuple(curve for curve, kind in convertible if kind == per)
    return ()


def of_compiler(curves: Sequence[Curve], shape: Shape) -> tuple[Curve, ...]:
    """Curves of the shape's own compiler (or none); all of them where there are none such: the spread then says so."""
    same = tuple(curve for curve in curves if curve.series.compiler == shape.compiler)
    return same or tuple(curves)


def _reference(found: Predictions, nodes: Ints, time: Floats) -> float:
    """Node-seconds of a shape at the smallest size it was measured at (else at its first candidate): what efficiency is against."""
    curve = found.curve
    if curve is None or not np.isfinite(time).any():
        return float("inf")
    if curve.scale != "nodes":
        return float(time[0] * nodes[0])
    smallest = curve.sizes[0]
    at_smallest, at_first = predict((curve,), Question({}), [smallest, nodes[0]]).value
    return float(time[0] * at_smallest / at_first * smallest)
