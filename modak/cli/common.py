"""Shared by the commands: settings, use cases, documents, options."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

import typer
from typer.core import TyperCommand

from modak.cli import show
from modak.errors import BadSyntax, DataError, RequestError, Unavailable
from modak.settings import Settings, read_settings, settings_table
from modak.text.documents import with_value

if TYPE_CHECKING:
    from modak.builds.service import BuildService
    from modak.client import Client
    from modak.facts import Fact
    from modak.service import Service

Value = TypeVar("Value", bound="Fact")
AsJson = Annotated[bool, typer.Option("--json", help="Print answers and errors as JSON.")]
Strict = Annotated[bool, typer.Option("--strict", help="Turn every warning into an error.")]
Request = Annotated[str, typer.Argument(metavar="REQUEST.json", help="The request document; - reads standard input.")]
OptionalRequest = Annotated[str | None, typer.Argument(metavar="REQUEST.json", help="The request document; - reads standard input.")]
ApplicationOf = Annotated[str | None, typer.Option(help="Name of the application in the results.")]
SystemOf = Annotated[str | None, typer.Option(help="System to run on.")]
Amount = Annotated[str | None, typer.Option(help="Work of the whole run, in the unit of a measured rate: '100 ns'.")]
"""With these, a request needs no document; :func:`request_document` makes it."""
Application = Annotated[str | None, typer.Option(help="Only this application.")]
System = Annotated[str | None, typer.Option(help="Only this system.")]


opened: Final = ExitStack()
"""What commands have opened; it is closed at the end of each command."""


def help_if_alone(context: typer.Context) -> None:
    """Without a command, the help of its group goes to standard error, and the exit status is 2 (wrong usage)."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(2)


def group(about: str) -> typer.Typer:
    """A group of commands; ``about`` is its line in the help."""
    return typer.Typer(help=about, callback=help_if_alone, invoke_without_command=True, rich_markup_mode=None)


def write_settings(formatter: Any, title: str) -> None:
    """A group of settings with their defaults, as a part of a help."""
    with formatter.section(f"{title} (environment)"):
        formatter.write_dl([(name, f"{does} [{default or 'not set'}]") for name, default, does in settings_table()[title]])


def showing(settings: str) -> type[TyperCommand]:
    """A command whose help ends with the group of settings of that title."""

    class Showing(TyperCommand):
        def format_epilog(self, ctx: Any, formatter: Any) -> None:
            write_settings(formatter, settings)

    return Showing


def check_level(level: float) -> None:
    """Raise ``typer.BadParameter`` for a probability that none is."""
    if not 0 < level < 1:
        raise typer.BadParameter("between 0 and 1", param_hint="--level")


def settings() -> Settings:
    """The settings of this run."""
    return read_settings(os.environ)


def client() -> Client:
    """The service that MODAK_SERVER names, or the use cases in this process."""
    from modak.client import Remote

    now = settings()
    return Remote.of(now) if now.server else _opened(now)


def local() -> Service:
    """The use cases in this process, for commands that a service does not offer."""
    return _opened(_here())


def building() -> BuildService:
    """Building in this process, in the folder that the settings name."""
    from modak.builds.service import BuildService

    return BuildService(local().store, settings())


def applications() -> Collection[str]:
    """The applications that have results; from a service those that have models, because it lists no others."""
    return {item["application"] for item in client().listing("models")} if settings().server else local().store.applications()


def answered(kind: type[Value], item: Any) -> Value:
    """The value that :func:`client` has answered. Raises :class:`modak.errors.Unavailable` if the service's version writes it otherwise."""
    from pydantic import ValidationError

    from modak.client import OTHER_VERSION

    try:
        return kind.model_validate(item)
    except ValidationError:
        raise Unavailable(OTHER_VERSION.format(settings().server)) from None


def _here() -> Settings:
    """The settings, where they name a database."""
    now = settings()
    if now.server:
        raise RequestError("is set, but this command works on the database itself; unset it", field="MODAK_SERVER")
    return now


def _opened(now: Settings) -> Service:
    from modak.service import open_service

    service = opened.enter_context(open_service(now))
    if service.store.created and sys.stderr.isatty():  # its address may be a mistake, and then what was loaded is elsewhere
        show.note(f"new database: {service.store.created}")
    return service


def database() -> str:
    """The address of the database, for what works on it whatever its version."""
    from modak.service import database

    return database(_here())


def document(path: str) -> Any:
    """The JSON document in a file, or on standard input for ``-``."""
    from modak.files import read
    from modak.text.documents import strict_json

    if path.lstrip().startswith("{"):
        raise typer.BadParameter("allowed: the name of a file with the document, or - and the document on standard input")
    content = read(path)
    try:
        return strict_json(content)
    except BadSyntax as error:
        raise BadSyntax(str(error), field=path) from None


def pairs(texts: Sequence[str] | None, option: str) -> dict[str, str]:
    """``NAME=VALUE`` texts of an option. Raises ``typer.BadParameter`` for one that is no pair."""
    from modak.ingest.options import parse_pairs

    try:
        return parse_pairs(texts or (), option)
    except DataError as error:
        raise typer.BadParameter(error.faults[0].message, param_hint=option) from None


def request_document(path: str | None, options: Mapping[str, Any]) -> Any:
    """The request document of a file (``None``: an empty one) with the values of options in their fields, dotted paths below ``job``.

    Raises ``typer.BadParameter`` where neither a file nor an option names the application.
    """
    if path is None and options.get("optimisation.workload.application") is None:
        raise typer.BadParameter("give a REQUEST.json or --application")
    made = document(path) if path else {"job": {}}
    for field, value in options.items():
        if value is not None:
            made = with_value(made, ("job", *field.split(".")), value)
    return made
