"""Switches that a request leaves to the evidence: which they are, what is known of them, and the shapes that they add.

A graph compiler, the precision and a build from source may be left to ``auto``. Where the application was measured both ways on
the target, its own curves decide. Where it was not, results of other runs say by how much a switch changes the time
(:mod:`modak.choosing.effects`): a shape with it is then predicted as the shape without it times that ratio. MPI inside or outside of a
container and hyper-threads are shapes of their own already.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from modak.choosing.candidates import Candidates
from modak.choosing.effects import OFF, SOFTWARE, Effect, Pair, Run, effect, pairs
from modak.choosing.shapes import Shape
from modak.choosing.wishes import carrier, switches
from modak.dsl import Basis, Request
from modak.facts import Result
from modak.perfmodel import Predictions
from modak.perfmodel.precisions import USUAL_PRECISION, same_precision
from modak.target import Target
from modak.text.amounts import counted

REDUCED: Final = ("amp", "mixed", "fp16", "bf16", "tf32")
"""What results call precisions below single; ``auto`` chooses among these and ``fp32``."""
BUILD: Final = "opt-build"
BUILT: Final = "params.build"


@dataclass(frozen=True)
class OpenSwitch:
    """A switch that is left to the evidence: where results say of it, and what turns it on in a shape."""

    name: str
    """What the answer calls it."""
    column: str
    on: str
    off: str = OFF

    def turned_on(self, shape: Shape) -> Shape:
        """The shape with the switch."""
        told = (*shape.told, self.name)
        if self.column == "compiler":
            return replace(shape, compiler=self.on, told=told)
        return replace(shape, precision=self.on, told=told) if self.column == "precision" else replace(shape, opt_build=True, told=told)

    def turned_off(self, shape: Shape) -> Shape:
        """The shape without it."""
        if self.column == "compiler":
            return replace(shape, compiler=None)
        return replace(shape, precision=None) if self.column == "precision" else replace(shape, opt_build=False)

    def is_on(self, shape: Shape) -> bool:
        """Whether the shape has it."""
        return self.on in (shape.compiler, same_precision(shape.precision)) or (self.column == BUILT and shape.opt_build)

    def tells_apart(self, one: Shape, other: Shape) -> bool:
        """Whether one has the switch, the other nothing in its place, and they are alike in all else."""
        without = other if self.is_on(one) else one
        return self.is_on(one) != self.is_on(other) and not _taken(self, without) and self.turned_off(one) == self.turned_off(other)


@dataclass(frozen=True)
class SwitchEvidence:
    """An open switch with all pairs of results that tell of it."""

    switch: OpenSwitch
    pairs: tuple[Pair, ...]


def left_open(request: Request) -> tuple[OpenSwitch, ...]:
    """The switches that the request leaves to the evidence."""
    compilers = [OpenSwitch(name, "compiler", name) for name, value in switches(request).items() if value == "auto"]
    optimisation = request.optimisation
    precisions = [OpenSwitch(name, "precision", name, USUAL_PRECISION) for name in REDUCED if optimisation.workload.precision == "auto"]
    builds = [OpenSwitch(BUILD, BUILT, BUILD, "hub")] if optimisation.enable_opt_build == "auto" else []
    return (*compilers, *precisions, *builds)


def known(request: Request, tried: Iterable[Result]) -> tuple[SwitchEvidence, ...]:
    """The open switches with what ``tried`` (results of any application) says of each."""
    results = tuple(tried)
    return tuple(SwitchEvidence(switch, pairs(results, switch.column, switch.on, switch.off)) for switch in left_open(request))


def run(request: Request, target: Target, shape: Shape, nodes: int | None = None) -> Run:
    """The run that is asked about, as pairs tell of theirs."""
    work, framework = request.optimisation.workload, carrier(request)
    told = {"framework": framework.framework if framework else None, "precision": shape.precision, "dataset": work.dataset}
    workers = shape.workers_per_node * nodes if nodes else None
    return Run(request.workload_name, target.name, tuple(told.get(name) for name in SOFTWARE), workers)


def with_switches(candidates: Candidates, request: Request, target: Target, results: Iterable[Result]) -> Candidates:
    """The candidates, led by the same with each open switch that is told to help and that was not measured there."""
    tried = known(request, results)
    found = list(zip(candidates.shapes, candidates.nodes, strict=True))
    for each in tried:
        if any(each.switch.is_on(shape) for shape, _ in found):
            continue
        may = [pair for pair in found if not _taken(each.switch, pair[0]) and _helps(request, target, pair[0], each)]
        found = [*((each.switch.turned_on(shape), nodes) for shape, nodes in may), *found]
    return replace(candidates, shapes=tuple(shape for shape, _ in found), nodes=tuple(nodes for _, nodes in found), tried=tried)


def evidence_for(shape: Shape, tried: Sequence[SwitchEvidence]) -> Shape:
    """The shape that results stand behind: without what is on only because of other runs."""
    for each in tried:
        if each.switch.name in shape.told:
            shape = each.switch.turned_off(shape)
    return shape


def applied(found: Predictions, request: Request, target: Target, shape: Shape, tried: Sequence[SwitchEvidence]) -> Predictions:
    """Predictions of a shape without its told switches, made those of the shape with them."""
    for each in tried:
        told = effect(each.pairs, run(request, target, shape)) if each.switch.name in shape.told else None
        if told is not None:
            basis: tuple[Basis, ...] = tuple("none" if name == "none" else "transferred" for name in found.basis)
            below, spread = (np.hypot(side, told.spread) for side in (found.below, found.spread))
            found = replace(found, value=found.value * math.exp(told.log_ratio), spread=spread, below=below, basis=basis)
    return found


def lines(
    request: Request, target: Target, shape: Shape, nodes: int, tried: Sequence[SwitchEvidence], own: Callable[[OpenSwitch], str | None]
) -> tuple[str, ...]:
    """For each open switch whether it is on, and by what evidence; without any, which runs would decide.

    ``own``: what the run's own curves say of a switch; ``None`` where they were not measured both ways.
    """
    here, where = run(request, target, shape, nodes), f"{counted(nodes, 'node')} of {target.title}"
    found = (_line(each.switch, shape, own(each.switch) or effect(each.pairs, here), where) for each in tried)
    return tuple(text for text in found if text)


def _line(switch: OpenSwitch, shape: Shape, evidence: str | Effect | None, where: str) -> str | None:
    """What is said of one switch; ``None`` where it is on, or a precision, and nothing is known of it."""
    on = switch.is_on(shape)
    if evidence is not None:
        return f"{switch.name}: {'on' if on else 'off'}, {evidence}"
    if on or switch.column == "precision":
        return None
    return f"{switch.name}: off, because its effect is unknown: compare one run with it and one without it on {where}"


def _helps(request: Request, target: Target, shape: Shape, each: SwitchEvidence) -> bool:
    told: Effect | None = effect(each.pairs, run(request, target, shape))
    return told is not None and told.helps


def _taken(switch: OpenSwitch, shape: Shape) -> bool:
    """Whether another value stands where the switch would: one compiler and one precision at a time."""
    values: Mapping[str, object] = {"compiler": shape.compiler, "precision": same_precision(shape.precision), BUILT: None}
    return values[switch.column] not in (None, switch.off)
