"""What all facts have in common: they are frozen and forbid unknown keys; counts, figures and texts have bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import AfterValidator, ConfigDict, Field, ValidationInfo

from modak.text.described import Described
from modak.text.grammar import UNSOUND, sound

STORED: Final[Mapping[str, Any]] = {"stored": True}
"""The context in which a fact is validated that a database holds: earlier versions took characters in its prose that this one refuses, and
for a comment no request should fail.
"""


def _prose(text: str, info: ValidationInfo) -> str:
    return (UNSOUND.sub("", text) or "?") if info.context == STORED else sound(text)


Count = Annotated[int, Field(ge=1, le=10_000_000, strict=True)]
Positive = Annotated[float, Field(ge=1e-9, le=1e12, allow_inf_nan=False)]
"""A figure of hardware, or a price: within what products and quotients of a few of them can be computed for."""
Prose = Annotated[str, Field(min_length=1, max_length=2000), AfterValidator(_prose)]
Vendor = Literal["nvidia", "amd", "intel"]
"""Makers of GPUs."""
VENDORS: Final[tuple[Vendor, ...]] = get_args(Vendor)
StorageClass = Literal["default-common", "default-high", "default-ssd", "default-ultra_high"]


class Fact(Described):
    """Base of all facts: frozen, nothing unknown."""

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True)


class Source(Fact):
    """Where figures come from: the fields (dotted paths, a prefix covers what is below it) and the citation."""

    fields: tuple[str, ...]
    """Dotted paths of what it covers; ``*`` stands for any name."""
    citation: Prose
    """Document, page or person, as it would be cited."""
