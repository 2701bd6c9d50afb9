"""Tables in a body: CSV, JSON, any text that a format recognises, or files of a multipart form. They are kept in memory."""

from __future__ import annotations

from pathlib import PurePosixPath, PureWindowsPath
from typing import Any, Final

from python_multipart.multipart import MultipartParser, parse_options_header

from modak.api.bodies import TABLES, RawBody, WrongType
from modak.errors import BadSyntax, RequestError
from modak.ingest.sources import Source, from_bytes

KINDS: Final = {**TABLES, "text/plain": "body.txt"}
MOST_PARTS: Final = 1000
"""Files and other parts of a form: an empty one costs as much as a small file."""
LONGEST: Final = 200
"""Characters of a file's name that are kept, from its end."""


def sources(body: RawBody, name: str = "") -> list[Source]:
    """The tables of a body, with names for messages and doubts; ``name`` is that of a body that is no form, which has none of its own.

    Compressed ones are refused: a small one can hold gigabytes.
    """
    if body.kind == "multipart/form-data":
        if name:
            raise RequestError("the files of a form have names of their own", field="name")
        found = _parts(body)
    elif body.kind in KINDS:
        found = [(_shown(name) or KINDS[body.kind], body.content)]
    else:
        raise WrongType(f"send {', '.join(KINDS)} or multipart/form-data")
    if any(content.startswith(b"\x1f\x8b") for _, content in found):
        raise WrongType("send it unpacked")
    return [from_bytes(content, name) for name, content in found]


def _parts(body: RawBody) -> list[tuple[str, bytes]]:
    """The files of a form: name and content of each."""
    _, options = parse_options_header(body.header)
    form = _Form()
    try:
        parser = MultipartParser(options.get(b"boundary", b""), form.callbacks())  # type: ignore[arg-type]
        parser.write(body.content)
        parser.finalize()
    except ValueError:  # the parser's own errors are some
        raise BadSyntax("no multipart form") from None
    if not form.complete or not form.files:
        raise BadSyntax("a multipart form without a file, or cut off")
    return form.files


class _Form:
    """Collects the files that the parser finds."""

    def __init__(self) -> None:
        self.files: list[tuple[str, bytes]] = []
        self.complete = False
        self._header = self._value = b""
        self._name = ""
        self._content = bytearray()
        self._begun = 0

    def callbacks(self) -> dict[str, Any]:
        """The parser's callbacks."""
        return {
            "on_part_begin": self._begin,
            "on_header_field": self._field,
            "on_header_value": self._text,
            "on_header_end": self._ended,
            "on_part_data": self._data,
            "on_part_end": self._end,
            "on_end": self._all,
        }

    def _begin(self) -> None:
        self._begun += 1
        if self._begun > MOST_PARTS:
            raise BadSyntax(f"a multipart form with more than {MOST_PARTS} parts")
        self._name, self._content = "", bytearray()

    def _field(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def _text(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _ended(self) -> None:
        if self._header.lower() == b"content-disposition":
            _, options = parse_options_header(self._value)
            self._name = _shown(options.get(b"filename", b"").decode("utf-8", "replace"))
        self._header = self._value = b""

    def _data(self, data: bytes, start: int, end: int) -> None:
        self._content += data[start:end]

    def _end(self) -> None:
        if self._name:
            self.files.append((self._name, bytes(self._content)))

    def _all(self) -> None:
        self.complete = True


def _shown(name: str) -> str:
    """A file's path in printable characters: a label, never a path that is opened. Of one outside the sender's folder, its last part."""
    path = PurePosixPath(name.replace("\\", "/"))
    outside = path.is_absolute() or PureWindowsPath(name).is_absolute() or ".." in path.parts
    return "".join(letter if letter.isprintable() else "?" for letter in (path.name if outside or not path.name else str(path)))[-LONGEST:]
