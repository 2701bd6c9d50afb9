"""Running a service: serve, db."""

from __future__ import annotations

import logging
import logging.config
import os
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from fcntl import LOCK_SH, flock
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from modak.cli import common, show
from modak.errors import Fault, Unavailable
from modak.interrupts import ignore_further
from modak.text.amounts import counted, printable

if TYPE_CHECKING:
    from modak.settings import Settings

LOG: Final = logging.getLogger("modak.serve")

db = common.group("Maintain the database.")


def serve(
    host: Annotated[str, typer.Option(help="Address to listen on; other machines can only reach non-loopback addresses.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")] = 8000,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Number of processes.")] = 1,
) -> None:
    """Run the REST service."""
    now = common.settings()
    import uvicorn

    from modak.api import logs
    from modak.api.workers import use_own_workers

    log = logs.config(plain=sys.stderr.isatty())
    logging.config.dictConfig(log)
    if os.geteuid() == 0:
        LOG.warning("the service runs as root and needs no rights at all; run it as a user of its own")
    _warn(host, now)
    with common.local() as service:  # creates and fills an empty database once, and is closed before workers open it
        for warning in service.store.warnings:
            LOG.warning("%s", printable(warning))

    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, _end)  # the server, when it has ended well, sends itself once more what ended it
    use_own_workers()
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
            log_config=log,
            access_log=False,
            http="modak.api.connections:Connection",
            proxy_headers=False,  # the application itself believes those proxies that the settings name
        )
        ignore_further(signal.SIGTERM)


def _end(*_: object) -> None:
    """End with status 0; further signals are ignored."""
    ignore_further(signal.SIGTERM)
    sys.exit()


def _warn(host: str, settings: Settings) -> None:
    """Warn if other machines can reach the service and no proxy is configured that adds TLS: tokens would be sent in clear text."""
    from modak.auth.oidc import loopback

    if not loopback(host) and not settings.trusted_proxies:
        LOG.warning(
            "%s is reached from other machines, without TLS: tokens can be read on the way. Let a reverse proxy end TLS, "
            "and name its address in MODAK_TRUSTED_PROXIES",
            host,
        )


@contextmanager
def _counted_together(workers: int) -> Iterator[None]:
    """For several workers, a folder in which they share the figures of ``/metrics``. The client library reads its name on import."""
    if workers == 1:
        yield
        return
    from modak.api.counts import FOLDER

    with ExitStack() as kept:
        try:
            folder = kept.enter_context(tempfile.TemporaryDirectory(prefix="modak-metrics-"))
            held = os.open(folder, os.O_RDONLY)
            kept.callback(os.close, held)
            flock(held, LOCK_SH)  # systemd-tmpfiles lets a locked folder stay, however old what it contains becomes (tmpfiles.d(5))
        except OSError as error:
            LOG.warning("each worker tells its own /metrics: no folder for temporary files (%s)", error.strerror)
        else:
            os.environ[FOLDER] = folder
        yield


@db.command()
def upgrade() -> None:
    """Create the tables, or migrate them to this version. An empty database is filled with the packaged knowledge."""
    from modak.knowledge import packaged_root, read_all
    from modak.store import open_store, upgrade

    changed = upgrade(common.database())
    typer.echo("the database is up to date now" if changed else "the database was up to date")
    with open_store(common.database(), fill=False) as store:
        for warning in store.warnings:
            typer.echo(f"warning: {printable(warning)}", err=True)
        waiting = sum(one.taken(replace=False) for one in store.differences(read_all(packaged_root()).entries))
    if waiting:
        what = counted(waiting, "thing")
        show.note(f"this MODAK knows {what} that the database lacks, or has as an earlier version knew it: modak db refresh --dry-run")


@db.command()
def refresh(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Only the entries of these names, and no results.")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Also take over what was changed or removed here.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show all differences, store nothing.")] = False,
    as_json: common.AsJson = False,
) -> None:
    """Take over what this MODAK knows and the database does not. What was changed or removed here stays so."""
    found = common.local().refresh(names or (), replace=replace, dry_run=dry_run)
    if as_json:
        show.document(found)
        return
    differing, load = found["differences"], found["load"]
    if differing:
        show.table(("", "kind", "name", "why", "in the database by", "since"), [_standing(one, dry_run=dry_run) for one in differing])
    if load["new"]:
        typer.echo(f"{counted(load['new'], 'result')} {'would be' if dry_run else 'were'} added")
    if not differing and not load["new"]:
        typer.echo("the database has all that this MODAK knows")
    show.note(*found["notes"])
    for one in differing if dry_run else ():
        if one["diff"]:
            typer.echo("\n" + "\n".join(map(printable, one["diff"].split("\n"))))


def _standing(one: Mapping[str, Any], *, dry_run: bool) -> tuple[str | None, ...]:
    """A row of the table: what happens to an entry, and why."""
    if one["taken"]:
        fate = "would be taken in" if dry_run else "taken in"
    else:
        fate = "stays" if one["held"] == one["name"] else "left out"
    why = f"another {one['kind']} is called so: {one['held']}" if one["standing"] == "name taken" else one["standing"]
    return fate, one["kind"], one["name"], why, one["by"], one["at"][:10] if one["at"] else None


@db.command()
def check() -> None:
    """Check an SQLite database for damage. Also finds entries that this version does not take."""
    from modak import store

    Unavailable.raise_for(Fault("", fault) for fault in store.check(common.database()))
    typer.echo("the database is in order")


@db.command()
def backup(file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that does not exist yet.")]) -> None:
    """Copy an SQLite database while it is in use. The copy is consistent."""
    from modak import store

    store.backup(common.database(), file)
    typer.echo(f"written to {file}")
