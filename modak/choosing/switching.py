"""What is known of the effects of open switches, the shapes that they add, and a line on each.

If the application was measured on the target with the switch both on and off, its own curves decide. If not, results of other runs give
the ratio of times at each size (:mod:`modak.choosing.effects`), and the shape with the switch is predicted as the shape without it times
that ratio.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from modak.choosing.candidates import Candidates
from modak.choosing.effects import SOFTWARE, Array, Run, effect, log_ratios, pairs
from modak.choosing.openswitch import REDUCED, OpenSwitch, SwitchEvidence, left_open
from modak.choosing.shapes import Shape
from modak.choosing.wishes import carrier
from modak.dsl import Basis, Request
from modak.facts import Result
from modak.perfmodel import Predictions
from modak.perfmodel.precisions import USUAL_PRECISION, same_precision
from modak.target import Target
from modak.text.amounts import counted


def _known(request: Request, tried: Iterable[Result]) -> tuple[SwitchEvidence, ...]:
    """The open switches, each with its pairs of results among ``tried`` (results of any application)."""
    results = tuple(tried)
    return tuple(SwitchEvidence(switch, pairs(results, switch.column, switch.on, switch.off)) for switch in left_open(request))


def _run(request: Request, target: Target, shape: Shape, switch: OpenSwitch, nodes: int | None = None) -> Run:
    """The run whose effect of a switch is to be predicted, described as the runs of its pairs are: those of a precision name none."""
    work, framework = request.optimisation.workload, carrier(request)
    precision = None if switch.column == "precision" else shape.precision
    labels = {"framework": shape.framework or (framework.framework if framework else None), "precision": precision, "dataset": work.dataset}
    workers = shape.workers(nodes) if nodes else None
    return Run(request.workload_name, target.name, tuple(labels.get(name) for name in SOFTWARE), workers)


NoImage = Callable[[Shape], str | None]
"""Why no image for a shape with a switch can be had, see :func:`modak.choosing.software.no_image`."""


def with_switches(candidates: Candidates, request: Request, target: Target, results: Iterable[Result], no_image: NoImage) -> Candidates:
    """The candidates, preceded by their copies with each open switch that is predicted to help. Those that were measured are no copies."""
    tried = _known(request, results)
    found = list(zip(candidates.shapes, candidates.nodes, strict=True))
    for each in tried:
        measured = {bare(shape) for shape, _ in found}
        may = [pair for pair in found if may_have(each.switch, pair[0], target, no_image) and _helps(request, target, *pair, each)]
        copies = [(each.switch.turned_on(shape), nodes) for shape, nodes in may]
        found = [*(pair for pair in copies if bare(pair[0]) not in measured), *found]
    return replace(candidates, shapes=tuple(shape for shape, _ in found), nodes=tuple(nodes for _, nodes in found), tried=tried)


def bare(shape: Shape) -> Shape:
    """What runs in a shape, wherever the shape comes from and however results spell its precision."""
    precision = same_precision(shape.precision)
    return replace(shape, precision=None if precision == USUAL_PRECISION else precision, inferred=(), origin="topology")


def evidence_for(shape: Shape, tried: Sequence[SwitchEvidence]) -> Shape:
    """The shape without its inferred switches: the one whose results the prediction starts from."""
    for each in tried:
        if each.switch.name in shape.inferred:
            shape = each.switch.turned_off(shape)
    return shape


def applied(
    found: Predictions, request: Request, target: Target, shape: Shape, nodes: npt.ArrayLike, tried: Sequence[SwitchEvidence]
) -> Predictions:
    """Predictions of a shape with its inferred switches, from ``found``: those of the shape without them, at these node counts.

    One whose effect no pair shows, as in a run that is proposed for measuring, adds what is not known of it.
    """
    for each in tried:
        if each.switch.name in shape.inferred:
            log_ratio, half_width = _effects(request, target, shape, nodes, each)
            basis: tuple[Basis, ...] = tuple("none" if name == "none" else "transferred" for name in found.basis)
            below, spread = (np.hypot(side, half_width) for side in (found.below, found.spread))
            found = replace(found, value=found.value * np.exp(log_ratio), spread=spread, below=below, basis=basis)
    return found


def lines(
    request: Request,
    target: Target,
    shape: Shape,
    nodes: int,
    tried: Sequence[SwitchEvidence],
    own: Callable[[OpenSwitch], str | None],
    ruled_out: Callable[[OpenSwitch], str],
    no_image: NoImage,
) -> tuple[str, ...]:
    """One line for each open switch: whether it is on, and why; if its effect is unknown, which runs would decide. One line for the
    precision if nothing is known of any.

    ``own``: the effect of a switch by the application's own curves, in words; ``None`` if it was not measured both ways.
    ``ruled_out``: why the shape with a switch that is predicted to help is not the choice, as the rest of a sentence.
    """
    where = f"{counted(nodes, 'node')} of {target.title}"

    def line(each: SwitchEvidence) -> str | None:
        if measured := own(each.switch):
            return _line(each.switch, shape, measured, None, where)
        estimate = effect(each.pairs, _run(request, target, shape, each.switch, nodes))
        why_off = _why_off(each.switch, shape, ruled_out) if estimate and estimate.helps else ""
        evidence = f"{estimate}{why_off}" if estimate else None
        return _line(each.switch, shape, evidence, _obstacle(each.switch, shape, target, no_image), where)

    precisions = [each for each in tried if each.switch.column == "precision"]
    any_known = any(own(each.switch) or (each.pairs and not _obstacle(each.switch, shape, target, no_image)) for each in precisions)
    unknown = (_unknown_precision(shape, where),) if precisions and not any_known else ()
    return (*(text for text in map(line, tried) if text), *unknown)


def _unknown_precision(shape: Shape, where: str) -> str:
    """The line for a precision that nothing decides: that of the shape, and which runs would decide."""
    own = shape.precision or USUAL_PRECISION
    other = REDUCED[0] if same_precision(own) == USUAL_PRECISION else USUAL_PRECISION
    kept = f"as measured ({shape.precision})" if shape.precision else "as the program has it"
    return f"precision: {kept}, because no pair of results shows its effect: compare one run with {own} and one with {other} on {where}"


def _why_off(switch: OpenSwitch, shape: Shape, ruled_out: Callable[[OpenSwitch], str]) -> str:
    """Why a switch that is predicted to help is off in the shape, as the rest of a sentence; empty if it is on."""
    if switch.is_on(shape):
        return ""
    instead = (shape.compiler if switch.column == "compiler" else shape.precision) if switch.excluded_by(shape) else None
    return f"; the choice has {instead} instead" if instead else ruled_out(switch)


def _line(switch: OpenSwitch, shape: Shape, evidence: str | None, obstacle: str | None, where: str) -> str | None:
    """The line for one switch; ``None`` if nothing is known of it and it is on, or a precision."""
    on = switch.is_on(shape)
    if obstacle and not on:
        return f"{switch.name}: off, because {obstacle}" if evidence or switch.column != "precision" else None
    if evidence is not None:
        return f"{switch.name}: {'on' if on else 'off'}, {evidence}"
    if on or switch.column == "precision":
        return None
    return f"{switch.name}: off, because its effect is unknown: compare one run with it and one without it on {where}"


def may_have(switch: OpenSwitch, shape: Shape, target: Target, no_image: NoImage) -> bool:
    """Whether the shape can have the switch turned on."""
    return not (switch.excluded_by(shape) or _obstacle(switch, shape, target, no_image))


def _obstacle(switch: OpenSwitch, shape: Shape, target: Target, no_image: NoImage) -> str | None:
    """Why the shape cannot have the switch: its GPUs do not support it, or no image has it. ``None``: it can, as far as is known."""
    if unsupported := switch.unsupported(shape, target.accelerator):
        return unsupported
    return None if switch.column == "precision" else no_image(switch.turned_on(shape))


def _helps(request: Request, target: Target, shape: Shape, nodes: npt.ArrayLike, each: SwitchEvidence) -> bool:
    """Whether the switch is predicted to save time on any of these numbers of nodes."""
    return bool(each.pairs) and bool(np.any(_effects(request, target, shape, nodes, each)[0] < 0))


def _effects(request: Request, target: Target, shape: Shape, nodes: npt.ArrayLike, each: SwitchEvidence) -> tuple[Array, Array]:
    """The log ratios of a switch on these numbers of nodes, with half the widths of their intervals. All nodes count as full: predictions
    are the same for all totals of ranks, and so are the ratios of the lines about them."""
    sizes = [float(shape.workers(count)) for count in np.asarray(nodes).tolist()]
    return log_ratios(each.pairs, _run(request, target, shape, each.switch), sizes)
