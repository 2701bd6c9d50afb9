"""The goal of a request: deadline and amount of data. Nothing here depends on a system."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from modak.choosing.fieldpaths import document_field
from modak.dsl import Request
from modak.errors import RequestError
from modak.sizing.answer import Asked
from modak.sizing.guide import Guide
from modak.text.amounts import as_given
from modak.text.units import clock

BYTES_PER_PARAMETER: Final = 16
"""Weights, gradients and the two moments of Adam in training with mixed precision, without activations (S. Rajbhandari, J. Rasley,
O. Ruwase, Y. He: ZeRO: Memory Optimizations Toward Training Trillion Parameter Models, SC20, section 3.1)."""


@dataclass(frozen=True)
class Demand:
    """The goal of a request; ``None``: not given."""

    deadline_s: int
    confidence: float
    epochs: float
    dataset_bytes: float | None
    parameters: float | None

    @property
    def bytes_read(self) -> float | None:
        """Bytes that training reads, if every byte is read once per epoch."""
        return self.dataset_bytes * self.epochs if self.dataset_bytes else None

    @property
    def replica_bytes(self) -> float | None:
        """Bytes of the network that each GPU holds in data-parallel training, without activations."""
        return self.parameters * BYTES_PER_PARAMETER if self.parameters else None


def demand(request: Request) -> Demand:
    """The goal of a request.

    Raises :class:`modak.errors.RequestError` if it has no deadline.
    """
    optimisation = request.optimisation
    if optimisation.objective.deadline is None:
        text = 'how soon the trained model is wanted (time-to-model), for instance "24:00:00": a sizing needs it'
        raise RequestError(text, field="optimisation.objective.deadline")
    return Demand(
        deadline_s=optimisation.objective.deadline,
        confidence=optimisation.objective.confidence,
        epochs=optimisation.workload.epochs or 1.0,
        dataset_bytes=optimisation.data.size_bytes if optimisation.data else None,
        parameters=optimisation.config.parameters,
    )


def goal(request: Request, wanted: Demand) -> str:
    """The goal in one line."""
    work = request.optimisation.workload
    data = f" on {work.dataset}" if work.dataset else ""
    epochs = f", {as_given(work.epochs)} epochs" if work.epochs else ""
    sure = f"P(time <= {clock(wanted.deadline_s)}) >= {as_given(wanted.confidence)}"
    return f"{request.workload_name or 'the application'}{data}{epochs}: {sure}"


def asked(request: Request, guide: Guide) -> tuple[Asked, ...]:
    """The inputs that the guide asks for, with their fields in the document, and the request's values."""
    return tuple(
        Asked(name=one.name, question=one.question, field=document_field(request, one.field), said=_said(request, one.field))
        for one in guide.asks
    )


def _said(request: Request, field: str) -> str | None:
    value: Any = request
    for name in field.split("."):
        value = getattr(value, name, None)
    if field == "optimisation.workload.application":
        value = request.workload_name
    if value is None:
        return None
    if field.endswith("deadline"):
        return clock(value)
    if field.endswith("size_bytes"):
        return f"{as_given(value / 1e9)} GB"
    return f"{value:g}" if isinstance(value, float) else str(value)
