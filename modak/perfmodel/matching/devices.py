"""What runs are on: the part of a node that they use, its power, and whether it has GPUs."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from modak.facts import Layout
from modak.perfmodel.fitting.curves import Curve
from modak.perfmodel.matching.questions import both_differ


class NodeUse(NamedTuple):
    """The part of a node that a run uses."""

    system: str | None
    partition: str | None
    gpus: int | None = None
    """``None``: all of its GPUs; 0: its processors alone."""
    threads: int | None = None
    """On its processors; ``None``: one on each core."""


class NodePower(NamedTuple):
    """The power of the part of a node that a run uses; ``None`` where it is not known."""

    bandwidth_gbs: float | None = None
    """Memory bandwidth of the GPUs, GB/s."""
    tflops: float | None = None
    """Peak single-precision rate of the GPUs, or else of the cores, TFLOP/s."""
    cores: float | None = None
    """Known only where no GPUs are used."""

    def over(self, other: NodePower) -> float | None:
        """The ratio to that of another part, by the first figure that is known of both; ``None``: there is none."""
        return next((one / another for one, another in zip(self, other, strict=True) if one and another), None)


Power = Callable[[NodeUse], NodePower]


def other_device(curve: Curve, layout: Layout, power: Power | None) -> bool:
    """Whether one of both runs on GPUs and the other is known not to. Results that do not say used none where the nodes have none."""
    if layout.gpus_per_node and curve.on_gpus is None and _whole_node(curve, power).cores is not None:
        return True
    return both_differ(curve.on_gpus, None if layout.gpus_per_node is None else layout.gpus_per_node > 0)


def unknown_device(curve: Curve, power: Power | None) -> bool:
    """Whether neither a curve's results nor their system's description tell whether they used GPUs."""
    return curve.on_gpus is None and not any(_whole_node(curve, power))


def _whole_node(curve: Curve, power: Power | None) -> NodePower:
    """The power of a node behind a curve."""
    return power(NodeUse(curve.series.system, curve.series.partition)) if power else NodePower()
