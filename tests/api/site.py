"""A service as tests of it use it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from modak.api import create_app
from modak.api.access import issuer_of
from modak.auth import SCOPES
from modak.settings import Settings
from tests.conftest import PATIENCE_S, until

OUTSIDE = ("203.0.113.5", 50_000)


@contextmanager
def listening(app: Any) -> Iterator[str]:
    """The address, on the loopback interface, of a real server for the application."""
    import uvicorn

    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        until(lambda: server.started)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


class Site:
    """A service on a database of its own, with a key for each scope."""

    def __init__(self, database: Path, clock: Callable[[], float] = time.monotonic, **settings: Any) -> None:
        """``clock``: that by which the service asks its issuer of tokens again. It waits for one as long as a busy machine takes."""
        read = Settings(database_url=f"sqlite:///{database}", **settings)
        issuer = issuer_of(read)
        self.app = create_app(read, replace(issuer, timeout_s=PATIENCE_S, clock=clock) if issuer else None)
        self.web = TestClient(self.app, raise_server_exceptions=False, client=("127.0.0.1", 1))
        made = {scope: self.app.state.keys.create(scope, [scope], None) for scope in SCOPES}
        self.keys = {scope: token for scope, (token, _) in made.items()}
        self.ids = {scope: key.id for scope, (_, key) in made.items()}

    def __enter__(self) -> Site:
        self.web.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.web.__exit__()

    def call(self, method: str, path: str, token: str | None = None, **more: Any) -> Any:
        """A request, with a token where one is given."""
        headers = {"Authorization": f"Bearer {token}"} if token is not None else {}
        return self.web.request(method, path, headers=headers | more.pop("headers", {}), **more)

    def from_outside(self, client: tuple[str, int] = OUTSIDE) -> TestClient:
        """A client at another address than this machine's."""
        return TestClient(self.app, raise_server_exceptions=False, client=client)
