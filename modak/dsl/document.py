"""What all documents have in common: they are frozen and forbid unknown keys; counts, amounts and texts have bounds."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, get_args, get_origin

from pydantic import AfterValidator, ConfigDict, Field

from modak.facts.names import canonical_text
from modak.text.described import Described
from modak.text.faults import SMALLEST
from modak.text.grammar import SoundText


def _printable(text: str) -> str:
    """The text as results have it."""
    if not text.isprintable():
        raise ValueError("allowed: printable characters only, because results record it")
    return canonical_text(text)


Count = Annotated[int, Field(ge=1, le=10_000_000, strict=True)]
SHORTEST_S: Final = 60
LONGEST_S: Final = 365 * 86400
Seconds = Annotated[int, Field(ge=SHORTEST_S, le=LONGEST_S, strict=True)]
Bytes = Annotated[int, Field(ge=1_000_000, le=10**16, strict=True)]
Fraction = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]
Amount = Annotated[float, Field(ge=SMALLEST, le=1e15, allow_inf_nan=False)]
Prose = Annotated[SoundText, Field(max_length=500)]
CellText = Annotated[SoundText, Field(max_length=200), AfterValidator(_printable)]
"""What a job's result file records: a longer or unprintable text could not be loaded."""
MOST_SET: Final = 100
"""Parameters, variables or options that one request sets."""


class Document(Described):
    """Base of all documents."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def allowed(cls, name: str) -> tuple[str, ...]:
        """The words that a field may have; empty for a field that is no choice of words, or that is not there."""
        return _words(cls.model_fields[name].annotation) if name in cls.model_fields else ()


def _words(kind: Any) -> tuple[str, ...]:
    """The words of the ``Literal`` in a type."""
    parts = get_args(kind)
    return parts if get_origin(kind) is Literal else tuple(word for part in parts for word in _words(part))
