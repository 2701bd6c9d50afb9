"""Precisions of arithmetic: the words for them, and which are alike."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from modak.facts import same_name

USUAL_PRECISION = "fp32"
"""What results that do not name their precision are taken to have run in."""
REDUCED = ("fp16", "bf16", "amp")
"""Precisions of half the width, by themselves or mixed with single."""
PRECISIONS: Mapping[str, str] = {
    **dict.fromkeys(("float16", "half"), "fp16"),
    "bfloat16": "bf16",
    **dict.fromkeys(("float32", "single"), "fp32"),
    **dict.fromkeys(("float64", "double"), "fp64"),
    **dict.fromkeys(("mixed", "mixed-float16", "mixed-bfloat16", "16-mixed", "fp16-mixed", "bf16-mixed"), "amp"),
}
"""Other words for a precision, as :func:`same_name` folds them: those of PyTorch, TensorFlow and Lightning."""


@lru_cache(maxsize=1024)
def same_precision(name: str | None) -> str | None:
    """One word for a precision, however it is written; ``None``: it is not named.

    >>> same_precision("FP16"), same_precision("bfloat16"), same_precision("int8")
    ('fp16', 'bf16', 'int8')
    """
    folded = same_name(name) if name else None
    return PRECISIONS.get(folded, folded) if folded else None
