"""The chosen configuration, as the modules that advise on it need it."""

from __future__ import annotations

from dataclasses import dataclass

from modak.choosing.shapes import Shape
from modak.dsl import Prediction, Request
from modak.perfmodel import Curve
from modak.target import Target


@dataclass(frozen=True)
class Chosen:
    """A request, where it runs, the shape and nodes that were chosen, and what was predicted for them."""

    request: Request
    target: Target
    shape: Shape
    nodes: int
    prediction: Prediction
    curve: Curve | None = None
    """The evidence behind the prediction."""
    differences: tuple[str, ...] = ()
    """Columns of the results table in which the evidence differs from the run, its layout aside."""
    image: str | None = None
    """What the job runs in; ``None``: no container, or none was chosen yet."""
    framework_version: str | None = None
    """The framework's version in it; ``None``: unknown."""
    unsaid: bool = False
    """Whether there are results that tell no time only for want of something that the request does not say."""

    @property
    def workers(self) -> int:
        """On all nodes."""
        return self.nodes * self.shape.workers_per_node
