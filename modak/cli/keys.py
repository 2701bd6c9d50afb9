"""Tokens for the service, and the audit trail: token, audit."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from modak.cli import common, show
from modak.errors import Forbidden

if TYPE_CHECKING:
    from modak.auth.ring import KeyRing
    from modak.client import Client

app = common.group("Create, list and revoke tokens for the service.")
COLUMNS: Final = ("id", "name", "scopes", "created", "by", "expires", "state")
TRAIL: Final = ("at", "principal", "request_id", "action", "target", "outcome")
LONGEST_CELL: Final = 80


@app.command("create")
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Person or purpose; writes with this token are attributed to key:NAME.")],
    scope: Annotated[
        list[str] | None, typer.Option(metavar="SCOPE", help="read, optimise, load or admin; may be repeated; default: load.")
    ] = None,
    days: Annotated[int, typer.Option(min=0, max=36_500, help="Days until it expires; 0: never.")] = 365,
) -> None:
    """Create a token and show it once: only its hash is stored.

    Example: modak token create ci-of-ada --scope load --days 90
    """
    expires = datetime.now(UTC) + timedelta(days=days) if days else None
    token, key = _ring().create(name, scope or ["load"], expires)
    typer.echo(token)
    until = f"until {key.expires_at:%Y-%m-%d}" if key.expires_at else "for good"
    show.note(f"token {key.id} for {key.name} may {', '.join(key.scopes)}, {until}; it is not shown again")


@app.command("list")
def list_(as_json: common.AsJson = False) -> None:
    """Show which tokens were made. The tokens themselves are not stored."""
    now = datetime.now(UTC)
    rows = [
        {
            "id": key.id,
            "name": key.name,
            "scopes": list(key.scopes),
            "created": key.created_at.isoformat(timespec="seconds"),
            "by": key.created_by,
            "expires": key.expires_at.isoformat(timespec="seconds") if key.expires_at else None,
            "state": "works" if key.living(now) else "revoked" if key.revoked_at else "expired",
        }
        for key in common.local().store.access.every()
    ]
    if as_json:
        show.document(rows)
    else:
        show.table(COLUMNS, [[row[name] for name in COLUMNS] for row in rows])


@app.command("revoke")
def revoke(identity: Annotated[str, typer.Argument(metavar="ID", help="Id of the token, as in 'token list'.")]) -> None:
    """Revoke a token: a running service refuses it within seconds."""
    ended = _ring().revoke(identity)
    typer.echo(f"token {identity} is revoked" if ended else f"token {identity} was revoked before")


def audit(
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Maximum number of lines.")] = 50,
    cursor: Annotated[str, typer.Option(help="Continue after an earlier page, whose last line gives the cursor.")] = "",
    as_json: common.AsJson = False,
) -> None:
    """Show who changed what, newest first."""
    page = common.client().audit(cursor, limit)
    if as_json:
        show.document(page)
        return
    show.table(TRAIL, [[show.moment(item["at"]), *(_short(item[name]) for name in TRAIL[1:])] for item in page["items"]])
    if "next" in page:
        show.note(f"there are more lines: --cursor {page['next']} shows the next ones")


def _short(text: str) -> str:
    """A cell of the trail: a refresh names everything that it changed."""
    return text if len(text) <= LONGEST_CELL else f"{text[: LONGEST_CELL - 1]}…"


def result_token(client: Client, plan_id: str, folder: Path) -> dict[Path, str]:
    """The file with the token with which a job sends its result to the service, once; empty without a service or permission."""
    from modak.client import Remote, RemoteError

    if not isinstance(client, Remote) or not client.token:
        return {}
    try:
        return {folder / Path(f"modak-{plan_id}.token").name: f"{client.result_token(plan_id)}\n"}
    except RemoteError as error:
        if error.status != Forbidden.status:
            raise
        show.note(f"the job cannot send its result back: {error}")
        return {}


def _ring() -> KeyRing:
    from modak.auth.ring import KeyRing

    service = common.local()
    return KeyRing(lambda: service.store.access)
