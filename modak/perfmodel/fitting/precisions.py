"""Precisions of arithmetic, and their spellings."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from modak.facts import canonical_name

USUAL_PRECISION: Final = "fp32"
"""The precision of results that do not give one."""
WIDER: Final = "fp64"
"""The precision above it, in which most programs of HPC compute, whether their results say so or not."""
REDUCED: Final = ("fp16", "bf16", "amp")
"""Precisions of half the width, alone or mixed with single."""
CAPABILITY: Final[Mapping[str, str]] = {"bf16": "8.0", "tf32": "8.0"}
"""The least compute capability of NVIDIA GPUs that compute in a precision (CUDA C++ Programming Guide, arithmetic instructions). Older
ones refuse it or emulate it, slower than single precision."""
PRECISIONS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("float16", "half", "torch.float16", "16-true"), "fp16"),
    **dict.fromkeys(("bfloat16", "torch.bfloat16", "bf16-true"), "bf16"),
    **dict.fromkeys(("float32", "single", "torch.float32", "32-true"), "fp32"),
    **dict.fromkeys(("float64", "double", "torch.float64", "64-true"), "fp64"),
    **dict.fromkeys(("mixed", "mixed-float16", "mixed-bfloat16", "16-mixed", "fp16-mixed", "bf16-mixed", "amp-fp16", "amp-bf16"), "amp"),
}
"""Other names of precisions, in the spelling of :func:`canonical_name`: those of PyTorch, TensorFlow, Lightning and Composer."""


MIXED: Final = "amp"
"""What all mixed precisions are called: models join them, but their results are of different runs."""


def exact_precision(name: str) -> str:
    """Equal for names of the same precision; each mixed one keeps its own.

    >>> exact_precision("Float16"), exact_precision("bf16_mixed")
    ('fp16', 'bf16-mixed')
    """
    folded = canonical_name(name)
    found = PRECISIONS.get(folded, folded)
    return folded if found == MIXED else found


@lru_cache(maxsize=1024)
def canonical_precision(name: str | None) -> str | None:
    """The canonical name of a precision, for any spelling; ``None`` for ``None``.

    >>> canonical_precision("FP16"), canonical_precision("torch.bfloat16"), canonical_precision("amp_bf16"), canonical_precision("int8")
    ('fp16', 'bf16', 'amp', 'int8')
    """
    folded = canonical_name(name) if name else None
    return PRECISIONS.get(folded, folded) if folded else None
