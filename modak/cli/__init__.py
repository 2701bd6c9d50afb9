"""The command line: the same use cases as the service, in-process or (with MODAK_SERVER) over HTTP.

Errors go to standard error, one line a fault, or as JSON where ``--json`` is given. :data:`EXITS` are the exit statuses.
"""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

import modak
from modak.cli import (
    asking,
    building,
    common,
    detecting,
    evaluation,
    keys,
    knowledge,
    nextruns,
    recipes,
    results,
    running,
    show,
    sizing,
    tuning,
)
from modak.cli.usage import explained
from modak.errors import Fault, ModakError
from modak.interrupts import INTERRUPTED, ignore_further
from modak.settings import OF_ALL, OF_BUILDS, OF_SERVICE
from modak.text.amounts import printable

EXITS: Final = (
    (0, "done"),
    (1, "the request or data is wrong"),
    (2, "wrong usage"),
    (3, "the service, the database or a program that is needed is out of reach"),
    (4, "nothing feasible"),
    (INTERRUPTED, "interrupted"),
)
FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of a full disk. Commands that write files report it themselves; this is for output that a shell redirects to a file."""
REFUSED: Final = (errno.EACCES, errno.EPERM, errno.ELOOP, errno.ENAMETOOLONG)
"""Errors of a path that the system does not look up: commands only ask whether it is there."""


class _Commands(TyperGroup):
    """The commands, with the settings of all of them and the exit statuses below."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """The settings with their defaults, where the others are listed, and the exit statuses."""
        common.write_settings(formatter, OF_ALL)
        with formatter.section("Further settings"):
            formatter.write_dl([("modak serve --help", "those of the service"), ("modak images build --help", "those of image builds")])
        with formatter.section("Exit status"):
            formatter.write_dl([(str(status), meaning) for status, meaning in EXITS])

    def make_context(self, *arguments: Any, **named: Any) -> Any:
        """Read the command line; ``--help`` and ``--version`` are answered while it is read."""
        with _ended_early():
            return super().make_context(*arguments, **named)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        with _ended_early():
            return super().invoke(ctx)


@contextmanager
def _ended_early() -> Iterator[None]:
    """Output that is closed early (by ``head``) is no error, and Ctrl-C gets a message; typer would do the opposite."""
    try:
        yield
    except BrokenPipeError:
        _silence()
        raise typer.Exit from None
    except KeyboardInterrupt:
        ignore_further()
        raise typer.Abort from None


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    report = partial(_report, as_json="--json" in words)
    _prepare_streams()
    try:
        with common.opened:
            status = app(args=words, prog_name="modak", standalone_mode=False)
        sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except ModakError as error:
        return report(error.title, error.faults, error.exit_code, error.warnings)
    except typer.TyperException as error:
        return report("wrong usage", [Fault("", explained(error, words, app))], 2)
    except typer.Abort:
        return report("interrupted", [Fault("", "interrupted")], INTERRUPTED)
    except UnicodeEncodeError:
        odd = next((word for word in words if not _is_utf8(word)), None)
        if odd is None:
            raise
        return report("wrong usage", [Fault("", f"{odd!a} is not in UTF-8")], 2)
    except BrokenPipeError:
        _silence()
        return 0
    except OSError as error:
        if error.errno in REFUSED and error.filename:
            return report("a file cannot be used", [Fault(str(error.filename), f"cannot be used: {error.strerror}")], 1)
        if error.errno not in FULL:
            raise
        _silence()
        return report("the output is cut off", [Fault("standard output", f"cannot be written: {error.strerror}")], 1)


def _is_utf8(word: str) -> bool:
    """Whether a word is text in UTF-8: names of files need not be, anything else on the command line does."""
    return word.isascii() or word.encode("utf-8", "replace").decode() == word


def _prepare_streams() -> None:
    """Open streams that were closed at the start (``>&-``) on the null device: otherwise the next opened file gets their number.

    What is printed is UTF-8 whatever the locale, as are files: other encodings lack some of its signs, and a table would not load again.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 (until we end)
        elif mode == "w" and isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=stream.errors)


def _silence() -> None:
    """Discard the rest of the output: Python flushes it at exit, and would complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _report(title: str, faults: Sequence[Fault], status: int, warnings: Sequence[Fault] = (), *, as_json: bool) -> int:
    if as_json:
        lists = {"errors": faults} | ({"warnings": warnings} if warnings else {})
        content = {"title": title, "exit_status": status, **{name: [asdict(one) for one in several] for name, several in lists.items()}}
        typer.echo(json.dumps(content, ensure_ascii=False), err=True)
    else:
        show.warn(map(asdict, warnings))
        for fault in faults:
            typer.echo(f"modak: {printable(str(fault))}", err=True)
    return status


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"modak {modak.__version__}")
        raise typer.Exit


def _start(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")] = False,
) -> None:
    """Choose container, configuration and job script from measured results."""
    common.help_if_alone(context)


def _assembled() -> typer.Typer:
    app = typer.Typer(
        cls=_Commands,
        callback=_start,
        invoke_without_command=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for function in FIRST:
        app.command()(function)
    for group, function in FURTHER:
        group.command(cls=_class_of(function))(function)
    for name, group in GROUPS.items():
        app.add_typer(group, name=name, hidden=name in ALIASES)
    for function in LAST:
        app.command(cls=_class_of(function))(function)
    return app


def _class_of(function: Callable[..., None]) -> type[TyperCommand]:
    return common.showing(SETTINGS_OF[function]) if function in SETTINGS_OF else TyperCommand


FIRST: Final[tuple[Callable[..., None], ...]] = (asking.optimise, asking.recommend, asking.predict, sizing.size, tuning.tune, results.load)
LAST: Final[tuple[Callable[..., None], ...]] = (asking.validate, asking.schema, running.serve, keys.audit)
FURTHER: Final[tuple[tuple[typer.Typer, Callable[..., None]], ...]] = (
    (results.app, nextruns.plan),
    (results.app, nextruns.calibration),
    (knowledge.models, evaluation.evaluate),
    (knowledge.models, evaluation.plot),
    (knowledge.systems, detecting.detect),
    (knowledge.images, recipes.recipe),
    (knowledge.images, building.build),
    (knowledge.images, building.builds),
    (knowledge.images, building.builder),
    (knowledge.images, building.verify),
    (knowledge.images, building.bundle),
)
GROUPS: Final = {
    "plans": asking.plans,
    "results": results.app,
    "models": knowledge.models,
    "systems": knowledge.systems,
    "images": knowledge.images,
    "rules": knowledge.rules,
    "db": running.db,
    "token": keys.app,
    "keys": keys.app,
}
SETTINGS_OF: Final[Mapping[Callable[..., None], str]] = {running.serve: OF_SERVICE, building.build: OF_BUILDS}
"""Commands whose help lists settings, and the title of these."""
ALIASES: Final = frozenset(("keys",))
"""Second names of groups: they work, and --help does not list them."""
app = _assembled()
