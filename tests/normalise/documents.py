"""What tests of reading requests ask of them."""

from __future__ import annotations

from typing import Any

import pytest

from modak.errors import RequestError
from modak.normalise import normalise


def faulty(document: Any, **options: Any) -> dict[str, str]:
    """Field -> message of what is wrong."""
    with pytest.raises(RequestError) as caught:
        normalise(document, **options)
    return {fault.field: fault.message for fault in caught.value.faults}


def job(section: str, **fields: Any) -> dict[str, Any]:
    """A request with one section."""
    return {"job": {section: fields}}
