"""What GPUs are too old for: precisions and graph compilers that need a higher compute capability."""

from __future__ import annotations

from packaging.version import Version

from modak.choosing.wishes import compilers, precision, switches
from modak.dsl import Notice, Request
from modak.facts import Accelerator
from modak.perfmodel.precisions import CAPABILITY, same_precision


def beyond(name: str, needed: str | None, accelerator: Accelerator | None) -> str | None:
    """That ``name`` needs a higher compute capability than the GPU has; ``None``: it does not, or one of them is not known."""
    has = accelerator.compute_capability if accelerator else None
    if accelerator is None or needed is None or has is None or Version(has) >= Version(needed):
        return None
    return f"{name} needs GPUs of compute capability {needed}, but {accelerator.name} has {has}"


def stated_beyond(request: Request, accelerator: Accelerator | None) -> tuple[Notice, ...]:
    """Warnings about a precision and graph compilers that the request states, and for which the GPUs of the job are too old."""
    asked, said = precision(request), switches(request)
    stated = [("workload.precision", asked, CAPABILITY.get(same_precision(asked) or ""))] if asked else []
    stated += [(f"options.{one.option}", one.name, one.capability) for one in compilers(request) if said.get(one.name) is True]
    found = ((field, beyond(name, needed, accelerator)) for field, name, needed in stated)
    return tuple(Notice(field=f"optimisation.{field}", message=why) for field, why in found if why)
