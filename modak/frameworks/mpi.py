"""MPI applications: no framework image, but an MPI library that the image or the host brings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator

from modak.dsl import FrameworkOptions
from modak.dsl.document import Fraction
from modak.frameworks.base import Number, Parallel
from modak.text.grammar import Name

_SPELLINGS: Final[Mapping[str, str]] = {
    "opnmpi": "openmpi",
    "open-mpi": "openmpi",
    "mvapch": "mvapich",
    "mvapich2": "mvapich",
    "intel": "intel-mpi",
    "intelmpi": "intel-mpi",
    "impi": "intel-mpi",
}


def _library(value: Any) -> Any:
    """A library by any of its spellings, among them two that a released editor emits."""
    plain = value.strip().lower().replace("_", "-").replace(" ", "-") if isinstance(value, str) else value
    return _SPELLINGS.get(plain, plain) if isinstance(plain, str) else plain


class MpiOptions(FrameworkOptions):
    """Options of an MPI application; ``version`` is the library's."""

    library: Annotated[Literal["openmpi", "mpich", "intel-mpi", "mvapich"], BeforeValidator(_library)] | None = None
    scaling_efficiency: Fraction | None = None
    """The least parallel efficiency that is acceptable."""
    core_subscription: Number | None = None
    """Ranks per core."""
    message_size: Name | None = None
    """``small``, ``medium`` or ``large``: what the caller knows of its messages."""

    def unused(self) -> Mapping[str, str]:
        """The size of messages, and several ranks per core."""
        shared = self.core_subscription is not None and self.core_subscription > 1
        why = "has no effect: job_options.process_count_per_node gives the ranks of a node, which may be more than its cores"
        return ({"core_subscription": why} if shared else {}) | ({"message_size": "has no effect"} if self.message_size else {})


MPI: Final = Parallel("mpi", options=MpiOptions)
"""An application that is its own framework."""
