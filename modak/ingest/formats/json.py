"""JSON records: a list of objects, or one object a line, whose keys are the columns; ``params`` may be an object of its own."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

from modak.errors import DataError
from modak.ingest.columns import canonical, is_known
from modak.ingest.formats.documents import text_of
from modak.ingest.sources import Source
from modak.ingest.table import Raw
from modak.ingest.values import cell
from modak.text.documents import why_not_json

PART: Final = 50_000
"""Records in a part."""

_SPACE: Final = re.compile(r"[ \t\r\n]*")


class Json:
    """Records in JSON."""

    name = "json"

    def recognises(self, head: bytes, name: str) -> bool:
        """By the list or the record of a line that it starts with, or by the name of JSON lines."""
        lines, ends = (".jsonl", ".ndjson"), name.lower().endswith
        listed = re.match(rb"\s*\[\s*[\]{]", head) or (ends(".json") and head.lstrip()[:1] != b"{")
        return ends(lines) or bool(listed) or _starts_with_record(head)

    def read(self, source: Source) -> Iterator[Raw]:
        """Parts of :data:`PART` records; numbers keep the spelling of the file, so that they are checked like those of a CSV."""
        records = _records(text_of(source))
        while part := [*islice(records, PART)]:
            yield Raw.of([record for record, _ in part], [line for _, line in part])


def _starts_with_record(head: bytes) -> bool:
    """Whether the first line is an object with the columns that every record has."""
    try:
        first = json.loads(head.lstrip().partition(b"\n")[0])
    except (ValueError, RecursionError):
        return False
    return isinstance(first, Mapping) and {"application", "metric"} <= {*map(canonical, first)}


class _Wrong(ValueError):
    """What is wrong at a position of the text, and in which record; 0: before the first."""

    def __init__(self, message: str, at: int, number: int) -> None:
        super().__init__(message)
        self.at, self.number = at, number


def _records(text: str) -> Iterator[tuple[dict[str, str], int]]:
    """Each record with the line in which it starts; with its number if the whole text is one line, as programs write it."""
    in_one_line = "\n" not in text.strip()
    line, counted = 1, 0  # of the text up to the last record
    try:
        for number, (value, at) in enumerate(_values(text), 1):
            line += text.count("\n", counted, at)
            counted = at
            yield value, number if in_one_line else line
    except _Wrong as wrong:
        place = max(wrong.number, 1) if in_one_line else 1 + text.count("\n", 0, wrong.at)
        raise DataError(str(wrong), field=f":{place}") from None


def _values(text: str) -> Iterator[tuple[dict[str, str], int]]:
    """The cells of each record, of a list or one after the other, with the position where it starts. Raises :class:`_Wrong`."""
    number, at = 0, _skip(text, 0)
    first = text[at : at + 1]
    if first not in ("[", "{"):
        raise _Wrong("expected a list of records: [{…}, …]" if first else "the file is empty", at, number)
    end = "]" if first == "[" else ""
    at = _skip(text, at + len(end))
    while text[at : at + 1] != end:
        number += 1
        cells, after = _record(text, at, number)
        yield cells, at
        at = _skip(text, after)
        if end and text[at : at + 1] == ",":
            at = _skip(text, at + 1)
            if text[at : at + 1] == "]":
                raise _Wrong("a comma before the end of the list", at, number)
        elif end and text[at : at + 1] != "]":
            raise _Wrong("the list is cut off, or a comma is missing", at, number)
    if _skip(text, at + len(end)) != len(text):
        raise _Wrong("text after the list", at, number)


def _record(text: str, at: int, number: int) -> tuple[dict[str, str], int]:
    """The cells of the record at a position, and where it ends."""
    try:
        value, end = _DECODER.raw_decode(text, at)
        return _flat(value), end
    except json.JSONDecodeError as error:
        raise _Wrong(f"not valid JSON: {why_not_json(error)}", error.pos, number) from None
    except RecursionError:
        raise _Wrong("objects nested too deep", at, number) from None
    except ValueError as error:
        raise _Wrong(str(error), at, number) from None


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"the key {twice[:60]!r} appears twice in one record")
    return found


_DECODER: Final = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=str, object_pairs_hook=_object)


def _flat(value: Any) -> dict[str, str]:
    """A record as cells: the members of ``params`` as columns, ``null`` as an empty cell, booleans as ``true`` and ``false``."""
    if not isinstance(value, Mapping):
        raise ValueError("a record is an object {…}")
    params = value.get("params")
    if not isinstance(params, Mapping | None):
        raise ValueError('\'params\' is an object such as {"size": 3}; a single parameter is also written "params.size": 3')
    opened = {f"params.{key}": inner for key, inner in params.items()} if isinstance(params, Mapping) else {}
    rest = {key: inner for key, inner in value.items() if key != "params"}
    if twice := rest.keys() & opened.keys():
        raise ValueError(f"{min(twice)[:60]!r} is given twice in one record, once within 'params'")
    return {key: _cell(key, inner) for key, inner in (rest | opened).items()}


def _cell(key: str, value: Any) -> str:
    if value is None or isinstance(value, bool | str):  # numbers are texts by now
        return cell(value)
    if not is_known(canonical(key)):  # options may leave it out
        return json.dumps(value)
    raise ValueError(f"column {key[:60]!r} contains a list or an object; a cell must be text, a number, true, false or null")
