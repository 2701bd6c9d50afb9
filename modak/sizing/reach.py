"""The smallest number of nodes of one partition that meets a deadline, with its interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from modak.choosing.objective import Scored
from modak.choosing.problem import unmeasured
from modak.choosing.scoring import Evidence
from modak.choosing.shapes import Shape
from modak.dsl import Request
from modak.perfmodel import Predictions
from modak.perfmodel.predict import FAR_DOUBLINGS
from modak.perfmodel.wording import A_GUESS
from modak.sizing.answer import Figure
from modak.sizing.demand import Demand
from modak.text.amounts import as_given, counted, format_duration, format_number, share
from modak.text.choices import named
from modak.text.units import clock

UNKNOWN: Final = (
    "there is no usable result of this application, and no formula can replace one: measure a short run ('modak results plan' says which)"
)


@dataclass(frozen=True)
class Reach:
    """Whether a goal is met, and the figures. Time, node-hours and layout are those of ``at`` nodes."""

    feasible: bool | None
    nodes: Figure
    time: Figure
    node_hours: Figure
    at: int | None = None
    layout: str | None = None
    shape: Shape | None = None
    """``layout`` belongs to it."""
    notes: tuple[str, ...] = ()


def nothing_known(why: str = UNKNOWN, *, feasible: bool | None = None) -> Reach:
    """The result if the time is unknown, or nothing can run."""
    nodes, time, hours = (Figure(unit=unit, why=why) for unit in ("nodes", "s", "node-hours"))
    return Reach(feasible, nodes, time, hours)


def reach(question: Request, evidence: Evidence, wanted: Demand) -> Reach:
    """The smallest number of nodes with P(time <= deadline) >= confidence; if there is none, the figures of the fastest number."""
    scored = evidence.scored
    if not np.isfinite(scored.time).any():
        return nothing_known()
    worst = scored.bound(wanted.confidence)
    meets = worst <= wanted.deadline_s
    order = np.lexsort((scored.time, scored.nodes, ~meets)) if meets.any() else np.argsort(worst, kind="stable")
    best = int(order[0])
    at, charged = int(scored.nodes[best]), float(scored.charged[best])
    of_nodes = f"{'' if charged == at else f'{share(charged / at)} of '}{counted(at, 'node')}"
    predicted = evidence.prediction(best)
    lower, value, upper = (_fewest(scored, wanted.deadline_s, edge) for edge in (0.05, wanted.confidence, max(0.95, wanted.confidence)))
    why = _why(scored, best, wanted, met=bool(meets.any()), possible=lower is not None)
    rests = _rests_on(question, evidence.predictions_at(best), predicted.results_used)
    if predicted.longer_than:
        rests += f"; more than {format_duration(predicted.longer_than)}, because a run was stopped"
    interval = predicted.model_dump(include={"value", "lower", "upper", "level", "basis"})
    time = Figure(**interval, unit="s", why=rests)
    shape = evidence.columns.candidates.shapes[int(scored.shape[best])]
    return Reach(
        feasible=bool(meets.any()),
        nodes=Figure(value=value, lower=lower, upper=upper, level=time.level, unit="nodes", basis=time.basis, why=why),
        time=time,
        node_hours=time.mapped(lambda seconds: seconds * charged / 3600, "node-hours", f"{of_nodes} x the time"),
        at=at,
        layout=_way_to_run(shape),
        shape=shape,
        notes=_far(float(scored.doublings[best])),
    )


def _fewest(scored: Scored, deadline_s: int, probability: float) -> int | None:
    """The smallest number of nodes that meets the deadline with this probability; ``None``: none does."""
    meets = scored.bound(probability) <= deadline_s
    return int(scored.nodes[meets].min()) if meets.any() else None


def _way_to_run(shape: Shape) -> str:
    """The layout in words, with the GPUs in use, the build or graph compiler, and the precision, as far as they are known."""
    counts = f"{counted(shape.ranks_per_node, 'rank')} per node x {counted(shape.threads_per_rank, 'thread')} per rank"
    gpus = f"{counted(shape.gpus_per_node, 'GPU')} per node" if shape.gpus_per_node else None
    compiler = f"compiler {shape.compiler}" if shape.compiler else None
    return ", ".join(filter(None, (counts, gpus, compiler, shape.precision, named(shape.params))))


def _why(scored: Scored, best: int, wanted: Demand, *, met: bool, possible: bool) -> str:
    """Whether the goal is met, in words; ``possible``: with a probability of 5 % on some number of nodes."""
    nodes, worst = int(scored.nodes[best]), float(scored.bound(wanted.confidence)[best])
    take = f"{counted(nodes, 'node')} take{'s' if nodes == 1 else ''}"
    longest = f"{take} at most {clock(round(worst))} with probability {as_given(wanted.confidence)}"
    if met:
        return f"{longest}; the goal is {clock(wanted.deadline_s)}"
    expected = float(scored.time[best])
    if not possible:
        return f"out of reach; at the fastest, {longest}"
    if expected > wanted.deadline_s:
        return f"unlikely: {longest}, and {clock(round(expected))} is predicted; a run on this system narrows the interval"
    return f"not sure: {longest}, although {clock(round(expected))} is predicted; a run on this system narrows the interval"


def _rests_on(question: Request, found: Predictions, results: int) -> str:
    curve = found.curve
    if curve is None:
        return UNKNOWN
    if curve.estimated:
        return (
            f"no run of {curve.series.application} on {curve.series.system}: estimated from {curve.estimated.model} of other applications"
        )
    others = [name for name in found.differences if name != "params" or not found.problem_sizes]
    sizes = found.problem_sizes
    trend = f"; this {unmeasured(question, curve)} was not measured: trend over {sizes} measured ones" if sizes else ""
    differs = f"; the run differs from them in {', '.join(others)}" if others else ""
    where = curve.series.system or "a system without a name"
    return f"{counted(results, 'result')} of {curve.series.application} on {where}{trend}{differs}"


def _far(doublings: float) -> tuple[str, ...]:
    guess = f": {A_GUESS}" if doublings > FAR_DOUBLINGS else ""
    return (f"beyond the measured sizes by a factor of {format_number(2**doublings)}{guess}",) if doublings > 0 else ()
