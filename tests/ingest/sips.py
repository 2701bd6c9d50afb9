"""Files that are read in small pieces, as large ones are in pieces of many megabytes."""

from __future__ import annotations

import io
from dataclasses import replace

from modak.ingest.sources import Source, from_bytes


def in_sips(content: str, name: str, most: int) -> Source:
    """A source whose streams give no more than ``most`` bytes at once."""

    class Sips(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            return super().read(most if size is None or size < 0 else min(size, most))

    return replace(from_bytes(content.encode(), name), opened=lambda: Sips(content.encode()))
