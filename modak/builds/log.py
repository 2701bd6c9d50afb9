"""The output of a tool at a bounded length: its first and last lines, without control characters."""

from __future__ import annotations

from collections import deque
from typing import Final

from modak.text.grammar import ESCAPES

FIRST: Final = 32 * 1024
LAST: Final = 96 * 1024
LONGEST_LINE: Final = 2000


class Log:
    """Collects output; :meth:`text` is the part that is kept."""

    def __init__(self) -> None:
        self._rest = b""
        self._first: list[str] = []
        self._last: deque[str] = deque()
        self._first_size = self._last_size = self._dropped = 0

    def feed(self, data: bytes) -> list[str]:
        """Add output; returns the lines that it completes."""
        *whole, self._rest = (self._rest + data).replace(b"\r", b"\n").split(b"\n")
        if len(self._rest) > LONGEST_LINE:
            whole, self._rest = [*whole, self._rest], b""
        texts = (ESCAPES.sub("", line[:LONGEST_LINE].decode("utf-8", "replace")).rstrip() for line in whole)
        lines = [text for text in texts if text]
        for line in lines:
            self.line(line)
        return lines

    def end(self) -> list[str]:
        """Complete the last line of a command that ended without a line feed; returns it, or nothing."""
        return self.feed(b"\n")

    def line(self, line: str) -> None:
        """Keep a line."""
        if not self._last and self._first_size + len(line) <= FIRST:
            self._first.append(line)
            self._first_size += len(line) + 1
            return
        self._last.append(line)
        self._last_size += len(line) + 1
        while self._last_size > LAST:
            self._last_size -= len(self._last.popleft()) + 1
            self._dropped += 1

    def text(self) -> str:
        """The first and the last lines, and the number of lines left out between them."""
        left_out = [f"… {self._dropped} lines are left out here …"] if self._dropped else []
        return "".join(f"{line}\n" for line in (*self._first, *left_out, *self._last))
