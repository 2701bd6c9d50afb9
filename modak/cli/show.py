"""What people read: headings and tables, coloured on a terminal, plain and unwrapped everywhere else."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import typer


def document(content: Any) -> None:
    """A JSON document on standard output."""
    typer.echo(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False))


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
            typer.echo(f"- {line}")


def warn(warnings: Iterable[Mapping[str, str]]) -> None:
    """Warnings on standard error, one line each."""
    for warning in warnings:
        typer.echo(
            f"warning: {warning['field']}: {warning['message']}" if warning.get("field") else f"warning: {warning['message']}", err=True
        )


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
def bar(what: str) -> Iterator[Callable[[float, int], None]]:
    """A progress bar with rate and remaining time, on a terminal only; it is told the part that is done and the rows."""
    if not sys.stderr.isatty():
        yield lambda done, rows: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    begin = time.monotonic()
    columns = (TextColumn(what), BarColumn(), TaskProgressColumn(), TextColumn("{task.fields[rate]}"), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(what, total=1.0, rate="")

        def told(done: float, rows: int) -> None:
            rate = rows / max(time.monotonic() - begin, 1e-3)
            shown.update(task, completed=done, rate=f"{rows:,} rows, {rate:,.0f}/s")

        yield told


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Rows under their columns; numbers to the right. ``None`` is an empty cell; a column that is empty throughout is left out."""
    every = [[cell(value) for value in row] for row in rows]
    kept = [i for i in range(len(columns)) if not every or any(row[i] for row in every)]
    columns, cells = [columns[i] for i in kept], [[row[i] for i in kept] for row in every]
    right = [bool(cells) and all(_number(row[i]) for row in cells) for i in range(len(columns))]
    if sys.stdout.isatty():
        _rich(columns, cells, right)
        return
    widths = [max(len(name), *(len(row[i]) for row in cells), 0) for i, name in enumerate(columns)]
    for row in [list(columns), *cells]:
        line = "  ".join(text.rjust(width) if side else text.ljust(width) for text, width, side in zip(row, widths, right, strict=True))
        typer.echo(line.rstrip())


def cell(value: Any) -> str:
    """One value as people read it: four significant figures of a number that has more."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 10_000 else f"{value:.0f}"
    if isinstance(value, list | tuple):
        return ", ".join(map(cell, value))
    return str(value)


def _number(text: str) -> bool:
    return text == "" or text.lstrip("-")[:1].isdigit()


def _rich(columns: Sequence[str], cells: Sequence[Sequence[str]], right: Sequence[bool]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=None, pad_edge=False, header_style="bold")
    for name, side in zip(columns, right, strict=True):
        shown.add_column(Text(name), justify="right" if side else "left", overflow="fold")
    for row in cells:
        shown.add_row(*map(Text, row))
    Console(highlight=False).print(shown)
