"""The global batch size of a configuration, and its consequences for the learning rate. Advice only: no script changes it."""

from __future__ import annotations

from typing import Final

from modak.choosing.chosen import Chosen
from modak.text.amounts import counted

LARGEST_WITHOUT_LOSS: Final = 8192
"""Global batch up to which ResNet-50 on ImageNet lost no accuracy (PRACE guide on deep learning 2019, section 3.3)."""
WARM_UP_EPOCHS: Final = 5
"""Of 90, in the published run with a global batch of 14,336 (the same, section 6.2.7)."""
WARM_UP_SHARE: Final = 0.25
"""At most so much of a short run (judgement): fine-tuning takes only a few epochs."""


def learning_rate(chosen: Chosen) -> str | None:
    """The factor by which to scale the learning rate of one worker, and the warm-up in epochs; ``None`` for one worker."""
    if chosen.workers == 1:
        return None
    epochs = chosen.request.optimisation.workload.epochs
    warm_up = min(float(WARM_UP_EPOCHS), epochs * WARM_UP_SHARE) if epochs else float(WARM_UP_EPOCHS)
    return f"{_batch(chosen)}, so {chosen.workers} times the learning rate of one worker, reached over about {counted(warm_up, 'epoch')}"


def large(chosen: Chosen) -> str | None:
    """The global batch, if it is larger than :data:`LARGEST_WITHOUT_LOSS`."""
    batch = chosen.global_batch
    return _batch(chosen) if batch and batch > LARGEST_WITHOUT_LOSS else None


def by_layout(chosen: Chosen) -> str | None:
    """The effect of several workers per node on the global batch; ``None`` for one worker per node."""
    many = chosen.shape.workers_per_node
    return f"with {many} workers per node it is {many} times that of one worker per node; {_batch(chosen)}" if many > 1 else None


def _batch(chosen: Chosen) -> str:
    batch, each = chosen.global_batch, chosen.shape.batch_size
    if batch is None:
        of_results = chosen.curve.layout.batch_size if chosen.curve else None
        unsaid = f"not stated in the request; the results have {of_results}" if of_results else "not stated in the request or the results"
        return f"the global batch is {chosen.workers} times the batch per worker ({unsaid})"
    samples = chosen.request.optimisation.workload.samples
    steps = ""
    if samples:  # an epoch may have fewer of them than a step
        steps = f", {counted(round(samples / batch), 'step')} per epoch" if samples >= batch else ", more than the samples of an epoch"
    return f"the global batch is {batch} ({each} on each of {chosen.workers} workers{steps})"
