"""Running a service: serve, db."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from modak.cli import common
from modak.errors import Fault, Unavailable

db = typer.Typer(help="Look after the database.", no_args_is_help=True, rich_markup_mode=None)


def serve(
    host: Annotated[str, typer.Option(help="Address to listen on; other machines reach what is not loopback.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")] = 8000,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes.")] = 1,
) -> None:
    """Run the REST service."""
    if os.geteuid() == 0:
        typer.echo("warning: the service runs as root and needs no rights at all; run it as a user of its own", err=True)
    with common.local():  # creates and fills an empty database once, before several workers look at it
        pass
    import uvicorn

    uvicorn.run(
        "modak.api:app_from_environment",
        factory=True,
        host=host,
        port=port,
        workers=workers,
        server_header=False,
        timeout_graceful_shutdown=10,
    )


@db.command()
def upgrade() -> None:
    """Create the tables, or bring them up to date; an empty database gets the packaged knowledge."""
    from modak.store import upgrade

    changed = upgrade(common.database())
    typer.echo("the database is up to date now" if changed else "the database was up to date")


@db.command()
def check() -> None:
    """Look for damage."""
    with common.local() as service:
        faults = service.store.check()
    if faults:
        raise Unavailable(faults=[Fault("", fault) for fault in faults])
    typer.echo("the database is in order")


@db.command()
def backup(file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that does not exist yet.")]) -> None:
    """Write a consistent copy of an SQLite database, while it is in use."""
    with common.local() as service:
        service.store.backup(file)
    typer.echo(f"written to {file}")
