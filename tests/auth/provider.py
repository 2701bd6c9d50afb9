"""An OpenID Connect provider of the tests' own on the loopback interface: it signs tokens with its own keys and publishes them."""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

AUDIENCE = "modak-test"
KEYS = {name: rsa.generate_private_key(65537, 2048) for name in ("first", "second")}
WEAK = rsa.generate_private_key(65537, 1024)  # noqa: S505
CURVE = ec.generate_private_key(ec.SECP256R1())


class Provider:
    """The provider: what it publishes can be changed while it runs, and everything that it was asked for is counted."""

    def __init__(self, server: ThreadingHTTPServer, scheme: str) -> None:
        self.address = f"{scheme}://127.0.0.1:{server.server_address[1]}"
        self.names = ["first"]
        self.issuer = self.address
        self.keys_at = f"{self.address}/keys"
        self.published: Any = None
        """What is answered in place of its keys."""
        self.broken = False
        self.between_bytes_s = 0.0
        self.answers = threading.Event()
        """Cleared: nothing is answered until it is set again."""
        self.answers.set()
        self.asked: Counter[str] = Counter()

    def document(self, path: str) -> Any:
        """What is answered at a path; ``None``: 404."""
        if path == "/.well-known/openid-configuration":
            return {"issuer": self.issuer, "jwks_uri": self.keys_at, "id_token_signing_alg_values_supported": ["none", "HS256"]}
        path = path.removesuffix("?for=modak")
        if path == "/keys" and self.published is not None:
            return self.published
        if path == "/keys":
            public = [json.loads(RSAAlgorithm.to_jwk(KEYS[name].public_key())) | {"kid": name, "use": "sig"} for name in self.names]
            curve = json.loads(ECAlgorithm.to_jwk(CURVE.public_key())) | {"kid": "curve"}
            enciphering = json.loads(RSAAlgorithm.to_jwk(KEYS["second"].public_key())) | {"kid": "enciphering", "use": "enc"}
            odd = [
                public[0] | {"kid": "unsigned", "alg": "none"},
                public[0] | {"kid": "several", "alg": ["RS256"]},
                json.loads(RSAAlgorithm.to_jwk(KEYS["first"].public_key())),  # without a name
                {"kty": "oct", "k": "c2VjcmV0", "kid": "shared"},
                {"kty": "oct", "kid": "kept secret"},
                {"kty": "RSA", "kid": "broken"},
                enciphering,
                json.loads(RSAAlgorithm.to_jwk(WEAK.public_key())) | {"kid": "weak"},
                json.loads(ECAlgorithm.to_jwk(CURVE)) | {"kid": "private"},
            ]
            return {"keys": [*public, curve, *odd]}
        return None

    def claims(self, **changed: Any) -> dict[str, Any]:
        """Claims of a good token for a loader; ``None`` leaves one out."""
        now = int(time.time())
        told = {"iss": self.address, "aud": AUDIENCE, "sub": "ada", "iat": now, "exp": now + 300, "scope": "openid modak:load"}
        return {name: value for name, value in (told | changed).items() if value is not None}

    def token(self, *, key: Any = None, algorithm: str = "RS256", header: dict[str, Any] | None = None, **changed: Any) -> str:
        """A signed token; by default a good one."""
        named = {name: value for name, value in ({"kid": "first"} | (header or {})).items() if value is not None}
        return jwt.encode(self.claims(**changed), key or KEYS["first"], algorithm, named)


@contextmanager
def running(certificate: Path | None = None) -> Iterator[Provider]:
    """A provider that answers; over TLS if there is a certificate, in one file with its key."""
    provider: Provider

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            provider.asked[self.path] += 1
            provider.answers.wait()
            found = provider.document(self.path)
            body = json.dumps(found).encode()
            self.send_response(500 if provider.broken else 404 if found is None else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            pieces = [body[i : i + 1] for i in range(len(body))] if provider.between_bytes_s else [body]
            with suppress(OSError):  # of one who has not the time
                for piece in pieces:
                    self.wfile.write(piece)
                    time.sleep(provider.between_bytes_s)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider = Provider(server, "https" if certificate else "http")
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
