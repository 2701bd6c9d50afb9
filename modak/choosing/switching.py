"""What is known of the effects of open switches, and the shapes that they add.

If the application was measured on the target with the switch both on and off, its own curves decide. If not, results of other runs give
the ratio of times at each size (:mod:`modak.choosing.effects`), and the shape with the switch is predicted as the shape without it times
that ratio.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from modak.arrays import Array
from modak.choosing.candidates import Candidates
from modak.choosing.effects import SOFTWARE, Effect, RunContext, effect, log_ratios, pairs
from modak.choosing.openswitch import OpenSwitch, SwitchEvidence, left_open
from modak.choosing.requirements import carrier
from modak.choosing.shapes import Shape
from modak.dsl import Basis, Request
from modak.facts import Result, canonical_name
from modak.perfmodel import Predictions
from modak.perfmodel.fitting.precisions import USUAL_PRECISION, canonical_precision
from modak.target import Target


def _run(request: Request, target: Target, shape: Shape, switch: OpenSwitch, nodes: int | None = None) -> RunContext:
    """The run whose effect of a switch is to be predicted, described as the runs of its pairs are: those of a precision name none."""
    work, framework = request.optimisation.workload, carrier(request)
    precision = None if switch.column == "precision" else shape.precision
    named = shape.framework or (framework.framework if framework else None)
    labels = {"framework": canonical_name(named) if named else None, "precision": precision, "dataset": work.dataset}
    workers = shape.workers(nodes) if nodes else None
    return RunContext(request.workload_name, target.name, tuple(labels.get(name) for name in SOFTWARE), workers)


NoImage = Callable[[Shape], str | None]
"""Why no image for a shape with a switch can be had, see :func:`modak.choosing.software.no_image`."""


def with_switches(candidates: Candidates, request: Request, target: Target, results: Iterable[Result], no_image: NoImage) -> Candidates:
    """The candidates, preceded by their copies with each open switch that is predicted to help. Those that were measured are no copies.

    ``results``: of any application, whose pairs show what switches do.
    """
    known = tuple(results)
    tried = tuple(SwitchEvidence(switch, pairs(known, switch.column, switch.on, switch.off)) for switch in left_open(request))
    found = candidates.pairs
    for each in tried:
        measured = {bare(shape) for shape, _ in found}
        may = [pair for pair in found if may_have(each.switch, pair[0], target, no_image) and _helps(request, target, *pair, each)]
        copies = [(each.switch.turned_on(shape), nodes) for shape, nodes in may]
        found = [*(pair for pair in copies if bare(pair[0]) not in measured), *found]
    return candidates.with_pairs(found, tried=tried)


def bare(shape: Shape) -> Shape:
    """What runs in a shape, wherever the shape comes from and however results spell its precision."""
    precision = canonical_precision(shape.precision)
    return replace(shape, precision=None if precision == USUAL_PRECISION else precision, inferred=(), origin="topology")


def evidence_for(shape: Shape, tried: Sequence[SwitchEvidence]) -> Shape:
    """The shape without its inferred switches: the one whose results the prediction starts from."""
    for each in tried:
        if each.switch.name in shape.inferred:
            shape = each.switch.turned_off(shape)
    return shape


def apply_effects(
    found: Predictions, request: Request, target: Target, shape: Shape, nodes: npt.ArrayLike, tried: Sequence[SwitchEvidence]
) -> Predictions:
    """Predictions of a shape with its inferred switches, from ``found``: those of the shape without them, at these node counts.

    One whose effect no pair shows, as in a run that is proposed for measuring, adds what is not known of it.
    """
    for each in tried:
        if each.switch.name in shape.inferred:
            log_ratio, half_width = _effects(request, target, shape, nodes, each)
            basis: tuple[Basis, ...] = tuple("none" if name == "none" else "transferred" for name in found.basis)
            found = replace(found, value=found.value * np.exp(log_ratio), width=found.width.widened(half_width), basis=basis)
    return found


def may_have(switch: OpenSwitch, shape: Shape, target: Target, no_image: NoImage) -> bool:
    """Whether the shape can have the switch turned on."""
    return not (switch.excluded_by(shape) or obstacle(switch, shape, target, no_image))


def obstacle(switch: OpenSwitch, shape: Shape, target: Target, no_image: NoImage) -> str | None:
    """Why the shape cannot have the switch: its GPUs do not support it, or no image has it. ``None``: it can, as far as is known."""
    if unsupported := switch.unsupported(shape, target.accelerator):
        return unsupported
    return None if switch.column == "precision" else no_image(switch.turned_on(shape))


def effect_on(request: Request, target: Target, shape: Shape, nodes: int, each: SwitchEvidence) -> Effect | None:
    """The predicted effect of a switch on a run of a shape on so many nodes; ``None``: no pair of results shows any."""
    return effect(each.pairs, _run(request, target, shape, each.switch, nodes))


def _helps(request: Request, target: Target, shape: Shape, nodes: npt.ArrayLike, each: SwitchEvidence) -> bool:
    """Whether the switch is predicted to save time on any of these numbers of nodes."""
    return bool(each.pairs) and bool(np.any(_effects(request, target, shape, nodes, each)[0] < 0))


def _effects(request: Request, target: Target, shape: Shape, nodes: npt.ArrayLike, each: SwitchEvidence) -> tuple[Array, Array]:
    """The log ratios of a switch on these numbers of nodes, with half the widths of their intervals. All nodes count as full: predictions
    are the same for all totals of ranks, and so are the ratios of the lines about them."""
    sizes = [float(shape.workers(count)) for count in np.asarray(nodes).tolist()]
    return log_ratios(each.pairs, _run(request, target, shape, each.switch), sizes)
