"""The chosen configuration, with what the advice on it depends on."""

from __future__ import annotations

from dataclasses import dataclass

from modak.choosing.shapes import Shape
from modak.dsl import Prediction, Request
from modak.perfmodel import Curve
from modak.target import Target


@dataclass(frozen=True)
class Chosen:
    """A request, its target, the chosen shape and nodes, and their prediction."""

    request: Request
    target: Target
    shape: Shape
    nodes: int
    prediction: Prediction
    curve: Curve | None = None
    """The curve behind the prediction."""
    differences: tuple[str, ...] = ()
    """Columns of the results table, other than layout, in which the curve differs from the run."""
    problem_sizes: int = 0
    """As in :class:`modak.perfmodel.Predictions`, as the next one."""
    problem_doublings: float = 0.0
    hides_trend: tuple[str, ...] = ()
    """The data set and text parameters of the request that results do not have, and without which its time would follow a trend over its
    numbers."""
    image: str | None = None
    """The image that the job runs in; ``None``: no container, or not chosen yet."""
    framework_version: str | None = None
    """The framework's version in the image; ``None``: unknown."""
    needs_amount: bool = False
    """Whether results would give a time if the request stated its amount of work."""
    measured_on: tuple[str | None, ...] = ()
    """As in :class:`modak.choosing.decision.Decision`."""
    doubted_count: int = 0
    """How many results of the application are doubted."""
    doubted_count_here: int = 0
    """How many of them are of exactly this configuration, if there are no others of it."""
    similar_application: str | None = None
    """As in :class:`modak.facts.Facts`."""

    @property
    def workers(self) -> int:
        """Ranks, or GPUs if there are any, on all nodes."""
        return self.shape.workers(self.nodes, self.request.application.mpi_ranks)

    @property
    def global_batch(self) -> int | None:
        """Samples in one step of all workers; ``None``: unknown."""
        return self.shape.global_batch(self.nodes, self.request.application.mpi_ranks)
