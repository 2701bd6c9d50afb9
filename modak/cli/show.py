"""Output for people: headings and tables, bold and folded on a terminal, plain and unwrapped elsewhere."""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
import textwrap
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

import typer

from modak.progress import Progress, silent
from modak.text import choices
from modak.text.amounts import printable
from modak.text.listings import as_text

GAP: Final = "  "
LEAST_FOLDED: Final = 24
"""Letters in a line of a folded column, at least."""


def document(content: Any) -> None:
    """A JSON document on standard output."""
    typer.echo(_json(content), nl=False)


def rows(answer: Mapping[str, Any], output: Path | None, *, as_json: bool) -> None:
    """Print the ``rows`` of an answer as CSV, or the whole answer as JSON; or write it to a file."""
    from modak import files

    text = _json(answer) if as_json else _csv(answer["rows"])
    if output is None:
        typer.echo(text, nl=False)
    else:
        files.write_all({output: text})


def _csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows with equal keys as CSV; numbers in six significant figures, ``None`` as an empty cell."""
    from modak.ingest.values import cell
    from modak.ingest.writing import write_csv

    stream = io.StringIO()
    write_csv(({name: f"{value:.6g}" if isinstance(value, float) else cell(value) for name, value in row.items()} for row in rows), stream)
    return stream.getvalue()


def _json(content: Any) -> str:
    """A JSON document as text that ends with a line break."""
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def bullets(title: str, lines: Iterable[str]) -> None:
    """A heading and its lines; nothing where there is no line."""
    shown = list(lines)
    if shown:
        typer.echo()
        heading(title)
        for line in shown:
            typer.echo(folded(printable(line), "- ", "  "))


def warn(warnings: Iterable[Mapping[str, str]]) -> None:
    """Warnings on standard error, one line each."""
    for said in choices.warnings(warnings):
        typer.echo(f"warning: {printable(said)}", err=True)


def note(*texts: str) -> None:
    """Remarks on standard error, one line each."""
    for text in texts:
        typer.echo(f"note: {printable(text)}", err=True)


@contextmanager
def progress(what: str) -> Iterator[None]:
    """A moving line on standard error while the body runs, on a terminal only."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        yield


@contextmanager
def loading_bar() -> Iterator[Progress]:
    """A progress bar for loading, with rate and remaining time, on a terminal only: call it with the part done and the number of rows."""
    if not sys.stderr.isatty():
        yield silent
        return
    from rich import progress as shapes
    from rich.console import Console

    begin = time.monotonic()
    ends = (shapes.TextColumn("{task.fields[rate]}"), shapes.TimeRemainingColumn())
    columns = (shapes.TextColumn("loading"), shapes.BarColumn(), shapes.TaskProgressColumn(), *ends)
    with shapes.Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("loading", total=1.0, rate="")

        def report_progress(done: float, rows: int) -> None:
            rate = rows / max(time.monotonic() - begin, 1e-3)
            shown.update(task, completed=done, rate=f"{rows:,} rows, {rate:,.0f}/s")

        yield report_progress


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Rows under their columns; numbers to the right. ``None`` is an empty cell; a column that is empty throughout is left out.

    On a terminal that is too narrow, the last column is folded. If that is not enough, the first columns stay, as many as fit, and the
    other cells follow below each row, with their names.
    """
    columns, cells, right = as_text(columns, rows)
    if not columns:
        return
    widths = [max(len(name), *(len(row[i]) for row in cells), 0) for i, name in enumerate(columns)]
    left = _room() - sum(widths[:-1]) - len(GAP) * (len(widths) - 1)
    if left >= min(widths[-1], LEAST_FOLDED):
        _folding(columns, cells, widths, right, left)
    else:
        _continued(columns, cells, widths, right)


def _folding(columns: Sequence[str], cells: Iterable[Sequence[str]], widths: Sequence[int], right: Sequence[bool], left: int) -> None:
    """One line a row, or several in the last column, which has ``left`` characters."""
    heading(_line(columns, widths, right))
    for row in cells:
        first, *more = textwrap.wrap(row[-1], left, break_on_hyphens=False) or [""] if len(row[-1]) > left else [row[-1]]
        typer.echo(_line([*row[:-1], first], widths, right))
        for text in more:
            typer.echo(_line([*[""] * (len(row) - 1), text], widths, right))


def _continued(columns: Sequence[str], cells: Iterable[Sequence[str]], widths: Sequence[int], right: Sequence[bool]) -> None:
    """The first columns, as many as fit, and below each row the names and values of the others."""
    ends = accumulate(widths, lambda end, width: end + len(GAP) + width)
    fitting = sum(end <= _room() for end in ends)
    if fitting:
        heading(_line(columns[:fitting], widths, right))
    for row in cells:
        if fitting:
            typer.echo(_line(row[:fitting], widths, right))
        _pairs(columns[fitting:], row[fitting:], 2 * GAP if fitting else "")


def _line(texts: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    several = zip(texts, widths, right, strict=False)  # of the first columns only
    return GAP.join(text.rjust(width) if side else text.ljust(width) for text, width, side in several).rstrip()


def _pairs(names: Sequence[str], texts: Sequence[str], indent: str) -> None:
    """``name: value`` pairs; a line breaks between two of them, and within one that alone is longer than a line: nothing follows on it."""
    room, below = _room(), indent or GAP
    line, empty = indent, True
    for pair in (f"{name}: {text}" if name else text for name, text in zip(names, texts, strict=True) if text):
        longer = f"{line}{pair}" if empty else f"{line}{GAP}{pair}"
        if not empty and len(longer) > room:
            typer.echo(line)
            longer = f"{below}{pair}"
        *full, line = textwrap.wrap(longer, room, subsequent_indent=below + GAP, break_long_words=False, break_on_hyphens=False)
        for text in full:
            typer.echo(text)
        empty = bool(full)
        if empty:
            typer.echo(line)
            line = below
    if not empty:
        typer.echo(line)


def folded(text: str, first: str, rest: str) -> str:
    """A text behind ``first``; on a terminal broken between words, its further lines behind ``rest``."""
    if not sys.stdout.isatty():
        return first + text
    lines = textwrap.wrap(text, _room(), initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines)


def moment(text: str) -> str:
    """An instant in ISO 8601 to the second: fractions would take the room of other columns."""
    return datetime.fromisoformat(text).isoformat(timespec="seconds")


def heading(text: str) -> None:
    """A line above others, in bold letters if the terminal has any and its user wants more than text (no-color.org)."""
    plain = os.environ.get("TERM") == "dumb" or os.environ.get("NO_COLOR")
    typer.echo(text if plain else typer.style(text, bold=True))


def _room() -> int:
    """Characters in a line of the terminal; unlimited if output goes elsewhere."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize
