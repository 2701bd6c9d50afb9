"""Output for people: headings and tables, bold and folded on a terminal, plain and unwrapped elsewhere."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import typer

from modak.progress import Progress, silent
from modak.text import choices
from modak.text.amounts import printable
from modak.text.listings import as_text

GAP = "  "
LEAST_FOLDED = 24
"""Letters in a line of a folded column, at least."""


def document(content: Any) -> None:
    """A JSON document on standard output."""
    typer.echo(as_json(content), nl=False)


def as_json(content: Any) -> str:
    """A JSON document as text that ends with a line break."""
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def heading(text: str) -> None:
    """A line that starts a part of the answer."""
    typer.secho(text, bold=True)


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


def note(text: str) -> None:
    """A remark on standard error, in one line."""
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

    On a terminal that is too narrow, the last column is folded; if that is not enough, each row becomes a paragraph of names and
    values.
    """
    columns, cells, right = as_text(columns, rows)
    if not columns:
        return
    widths = [max(len(name), *(len(row[i]) for row in cells), 0) for i, name in enumerate(columns)]
    left = _room() - sum(widths[:-1]) - len(GAP) * (len(widths) - 1)
    if left < min(widths[-1], LEAST_FOLDED):
        _paragraphs(columns, cells)
        return
    typer.secho(_line(columns, widths, right), bold=True)
    for row in cells:
        first, *more = textwrap.wrap(row[-1], left, break_on_hyphens=False) or [""] if len(row[-1]) > left else [row[-1]]
        typer.echo(_line([*row[:-1], first], widths, right))
        for text in more:
            typer.echo(_line([*[""] * (len(row) - 1), text], widths, right))


def _line(texts: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    return GAP.join(
        text.rjust(width) if side else text.ljust(width) for text, width, side in zip(texts, widths, right, strict=True)
    ).rstrip()


def _paragraphs(columns: Sequence[str], cells: Sequence[Sequence[str]]) -> None:
    """Each row as ``name value`` pairs; a line breaks between two of them, and within one where it alone is longer than a line."""
    room = _room()
    for row in cells:
        line = ""
        for pair in (f"{name} {text}".strip() for name, text in zip(columns, row, strict=True) if text):
            longer = f"{line}{GAP}{pair}" if line else pair
            if line and len(longer) > room:
                typer.echo(line)
                longer = f"{GAP}{pair}"
            *full, line = textwrap.wrap(longer, room, subsequent_indent=2 * GAP, break_long_words=False, break_on_hyphens=False)
            for text in full:
                typer.echo(text)
        typer.echo(line)


def folded(text: str, first: str, rest: str) -> str:
    """A text behind ``first``; on a terminal broken between words, its further lines behind ``rest``."""
    if not sys.stdout.isatty():
        return first + text
    lines = textwrap.wrap(text, _room(), initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines)


def _room() -> int:
    """Characters in a line of the terminal; unlimited if output goes elsewhere."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize
