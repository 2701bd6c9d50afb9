"""What the commands share: settings, the use cases, documents, options."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from modak.errors import BadSyntax, Unauthorised
from modak.settings import Settings, read_settings

if TYPE_CHECKING:
    from modak.client import Client
    from modak.service import Service

AsJson = Annotated[bool, typer.Option("--json", help="Print answers and errors as JSON.")]
Strict = Annotated[bool, typer.Option("--strict", help="Turn every warning into an error.")]
Request = Annotated[str, typer.Argument(metavar="REQUEST.json", help="The request document; - reads standard input.")]


opened: Final = ExitStack()
"""What commands have opened; whoever runs one closes it at its end."""


def settings() -> Settings:
    """The settings of this run."""
    return read_settings(os.environ)


def client() -> Client:
    """The service that MODAK_SERVER names, or the use cases in this process."""
    from modak.client import client

    now = settings()
    return client(now) if now.server else _opened(now)


def local() -> Service:
    """The use cases in this process, for what a service does not do for others."""
    now = settings()
    if now.server:
        raise Unauthorised("is set, and no service does this; unset it to work on the database", field="MODAK_SERVER")
    return _opened(now)


def _opened(now: Settings) -> Service:
    from modak.service import open_service

    return opened.enter_context(open_service(now))


def database() -> str:
    """The address of the database."""
    from modak.service import database

    return database(settings())


def document(path: str) -> Any:
    """The JSON document in a file, or on standard input for ``-``."""
    from modak.cli.files import read
    from modak.text.documents import strict_json

    content = read(path)
    try:
        return strict_json(content)
    except BadSyntax as wrong:
        raise BadSyntax(str(wrong), field=path) from None
