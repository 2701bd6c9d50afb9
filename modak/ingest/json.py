"""JSON records: a list of objects, or one object a line, whose keys are the columns; ``params`` may be an object of its own."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from modak.errors import DataError
from modak.ingest.documents import text_of
from modak.ingest.sources import Source
from modak.ingest.table import Raw
from modak.ingest.values import cell
from modak.text.documents import why_not_json

PART: Final = 50_000
"""Records in a part."""

_SPACE: Final = re.compile(r"[ \t\r\n]*")


@dataclass(frozen=True)
class Json:
    """Records in JSON."""

    name: str = "json"

    def recognises(self, head: bytes, name: str) -> bool:
        """By the list that it starts with, or by the name of JSON lines."""
        lines, ends = (".jsonl", ".ndjson"), name.lower().endswith
        return ends(lines) or bool(re.match(rb"(\xef\xbb\xbf)?\s*\[\s*[\]{]", head)) or (ends(".json") and head.lstrip()[:1] != b"{")

    def read(self, source: Source) -> Iterator[Raw]:
        """Parts of :data:`PART` records; numbers keep the spelling of the file, so that they are checked like those of a CSV."""
        text = text_of(source)
        records: list[dict[str, str]] = []
        lines: list[int] = []
        for record, line in _records(text, source.name):
            records.append(record)
            lines.append(line)
            if len(records) == PART:
                yield Raw.of(records, lines)
                records, lines = [], []
        if records:
            yield Raw.of(records, lines)


def _records(text: str, name: str) -> Iterator[tuple[dict[str, str], int]]:
    """Each record with the line in which it starts; with its number if the whole text is one line, as programs write it."""
    decoder = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=str, object_pairs_hook=_object)
    in_one_line, number = "\n" not in text.strip(), 0

    def fault(message: str, at: int) -> DataError:
        line = max(number, 1) if in_one_line else 1 + text.count("\n", 0, at)
        return DataError(message, field=f"{name}:{line}")

    at = _skip(text, 0)
    first = text[at : at + 1]
    if first not in ("[", "{"):
        raise fault("expected a list of records: [{…}, …]", at)
    end = "]" if first == "[" else ""
    at, line, counted = _skip(text, at + len(end)), 1, 0
    while text[at : at + 1] != end:
        number += 1
        line = number if in_one_line else line + text.count("\n", counted, at)
        counted = at
        try:
            value, at = decoder.raw_decode(text, at)
            yield _flat(value), line
        except json.JSONDecodeError as error:
            raise fault(f"not valid JSON: {why_not_json(error)}", error.pos) from None
        except RecursionError:
            raise fault("objects nested too deep", counted) from None
        except ValueError as error:
            raise fault(str(error), counted) from None
        at = _skip(text, at)
        if not end:
            continue
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)
            if text[at : at + 1] == "]":
                raise fault("a comma before the end of the list", at)
        elif text[at : at + 1] != "]":
            raise fault("the list is cut off, or a comma is missing", at)
    if _skip(text, at + len(end)) != len(text):
        raise fault("text after the list", at)


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"the key {twice[:60]!r} appears twice in one record")
    return found


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
    raise ValueError(f"column {key[:60]!r} contains a list or an object; a cell must be text, a number, true, false or null")
