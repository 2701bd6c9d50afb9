"""Export of results: CSV and JSON records, which can be loaded again, and Extra-P's JSON."""

from __future__ import annotations

import csv
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TextIO

from modak.errors import DataError
from modak.facts.results import FLAGS
from modak.grouping import grouped
from modak.ingest.table import LAYOUT
from modak.ingest.values import NUMERIC, WHOLE

_POINTLESS: Final = frozenset(("value", "repeat", "measured_at", "source", "suspect", "unit", "metric"))
_FORMULA: Final = re.compile(r"""(^|;)(?=['"]*[=+\-@＝＋－＠])""")
"""Where spreadsheets may see a formula begin: in a cell; in many countries also behind a semicolon, where they begin another one. Those for
Chinese, Japanese and Korean read the wide signs as well."""


def write_csv(rows: Iterable[Mapping[str, str]], stream: TextIO, columns: Sequence[str] | None = None) -> int:
    """Write rows with equal keys as CSV; the header is ``columns``, or the first row's keys. Returns the number of rows.

    What a spreadsheet would run as a formula gets an apostrophe before it, which reading removes.
    """
    writer = csv.writer(stream, lineterminator="\n")
    if columns is not None:
        writer.writerow(columns)
    written = 0
    for row in rows:
        if columns is None:
            columns = tuple(row)
            writer.writerow(columns)
        writer.writerow([_guarded(row[column]) for column in columns])
        written += 1
    return written


def _guarded(text: str) -> str:
    return _FORMULA.sub(r"\1'", text) if _FORMULA.search(text) and not NUMERIC.fullmatch(text) else text


def write_json(rows: Iterable[Mapping[str, str]], stream: TextIO, columns: Sequence[str]) -> int:
    """Write a list of records with these columns, one a line, without empty cells. Returns the number of records."""
    written = 0
    for row in rows:
        stream.write(",\n" if written else "[\n")
        stream.write(json.dumps({name: _plain(name, row[name]) for name in columns if row[name]}, ensure_ascii=False))
        written += 1
    stream.write("\n]\n" if written else "[]\n")
    return written


def _plain(name: str, cell: str) -> Any:
    if name in WHOLE:
        return int(cell)
    return float(cell) if name == "value" else cell == "true" if name in FLAGS else cell


def write_extrap(rows: Iterable[Mapping[str, str]], stream: TextIO, columns: Sequence[str]) -> int:
    """Write Extra-P's measurements, without rows that no model may rest on. Returns the number of values.

    Its parameters are the layout counts and numeric parameters that every row has and that vary. Rows that differ in another
    column belong to different regions; a metric in several units becomes one for each. Raises :class:`modak.errors.DataError` where
    nothing varies.
    """
    kept = [{name: row[name] for name in columns} for row in rows if not row["suspect"] and not row["doubt"]]
    names, apart = _varying(kept, columns)
    if not names:
        raise DataError("no count or numeric parameter that all rows have varies, so Extra-P has nothing to model", field="format")
    units = Counter(metric for metric, _ in {(row["metric"], row["unit"]) for row in kept})

    def region(row: Mapping[str, str]) -> str:
        return ", ".join([row["application"], *(f"{name} {row[name]}" for name in apart if row[name])])

    def metric(row: Mapping[str, str]) -> str:
        return row["metric"] if units[row["metric"]] == 1 else f"{row['metric']} in {row['unit']}"

    def point(row: Mapping[str, str]) -> tuple[float, ...]:
        return tuple(float(row[name]) for name in names)

    def values(rows: Sequence[Mapping[str, str]]) -> list[dict[str, list[float]]]:
        return [{"point": [*at], "values": [float(row["value"]) for row in same]} for at, same in sorted(grouped(rows, point).items())]

    measurements = {
        where: {name: values(rows) for name, rows in grouped(of_region, metric).items()}
        for where, of_region in grouped(kept, region).items()
    }
    json.dump({"parameters": names, "measurements": measurements}, stream, indent=1, ensure_ascii=False)
    stream.write("\n")
    return len(kept)


def _varying(rows: Sequence[Mapping[str, str]], columns: Sequence[str]) -> tuple[list[str], list[str]]:
    """Of the columns in which rows differ those that are numbers in every row, Extra-P's parameters; and those that part its regions."""
    varying = [name for name in columns if len({row[name] for row in rows}) > 1]
    counts = (name for name in varying if name in LAYOUT or name.startswith("params."))
    names = [name for name in counts if all(_number(row[name]) for row in rows)]
    return names, [name for name in varying if name not in (*_POINTLESS, *names, "application")]


def _number(cell: str) -> bool:
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False
