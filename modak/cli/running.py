"""Running a service: serve, db."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from modak.cli import common
from modak.errors import Fault, Unavailable

if TYPE_CHECKING:
    from modak.settings import Settings

db = typer.Typer(help="Look after the database.", no_args_is_help=True, rich_markup_mode=None)


def serve(
    host: Annotated[str, typer.Option(help="Address to listen on; other machines reach what is not loopback.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")] = 8000,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes.")] = 1,
) -> None:
    """Run the REST service."""
    if os.geteuid() == 0:
        typer.echo("warning: the service runs as root and needs no rights at all; run it as a user of its own", err=True)
    now = common.settings()
    _warn(host, now)
    with common.local():  # creates and fills an empty database once, before several workers look at it
        pass
    import uvicorn

    from modak.api import logs

    signal.signal(signal.SIGTERM, _end)  # the server, when it has ended well, sends itself once more what ended it
    with _counted_together(workers):
        uvicorn.run(
            "modak.api:app_from_environment",
            factory=True,
            host=host,
            port=port,
            workers=workers,
            server_header=False,
            timeout_graceful_shutdown=10,
            timeout_worker_healthcheck=30,  # on a busy machine a worker that starts is silent for longer than the default of 5 s
            log_config=logs.config(plain=sys.stderr.isatty()),
            access_log=False,
            http="modak.api.connections:Connection",
            limit_concurrency=now.max_connections,
            proxy_headers=False,  # the application itself believes those proxies that the settings name
        )
        signal.signal(signal.SIGTERM, signal.SIG_IGN)


def _end(*_: object) -> None:
    """End with status 0; who is impatient and asks again while Python ends changes nothing."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit()


def _warn(host: str, settings: Settings) -> None:
    """Of an address that others reach where nothing is said of the proxy that ends TLS: tokens would travel in clear text."""
    from modak.auth.oidc import loopback

    if not loopback(host) and not settings.trusted_proxies:
        typer.echo(
            f"warning: {host} is reached from other machines, without TLS: tokens can be read on the way. Let a reverse proxy end TLS, "
            "and name its address in MODAK_TRUSTED_PROXIES",
            err=True,
        )


@contextmanager
def _counted_together(workers: int) -> Iterator[None]:
    """Where several workers run: a folder in which they add up what ``/metrics`` tells. Their client library reads its name on import."""
    if workers == 1:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="modak-metrics-") as folder:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
        yield


@db.command()
def upgrade() -> None:
    """Create the tables, or bring them up to date. An empty database gets the packaged knowledge."""
    from modak.store import upgrade

    changed = upgrade(common.database())
    typer.echo("the database is up to date now" if changed else "the database was up to date")


@db.command()
def check() -> None:
    """Look for damage in an SQLite database."""
    with common.local() as service:
        faults = service.store.check()
    if faults:
        raise Unavailable(faults=[Fault("", fault) for fault in faults])
    typer.echo("the database is in order")


@db.command()
def backup(file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that does not exist yet.")]) -> None:
    """Copy an SQLite database while it is in use. The copy is consistent."""
    with common.local() as service:
        service.store.backup(file)
    typer.echo(f"written to {file}")
