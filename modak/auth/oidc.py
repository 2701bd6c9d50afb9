"""OpenID Connect: tokens that the site's own issuer signs. Needs the extra `oidc`.

Issuer and audience come from the settings, the signatures from :data:`ALGORITHMS`. From the issuer's discovery document only the
address of its keys is used, after it has repeated the issuer's name.
"""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from ipaddress import ip_address
from time import monotonic
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from modak.auth import REFUSED, SCOPES, Principal
from modak.errors import DataError, ModakError, Unauthorised, Unavailable
from modak.text.documents import strict_json

if TYPE_CHECKING:
    from jwt import PyJWK

ALGORITHMS: Final = ("RS256", "PS256", "ES256", "ES384", "EdDSA")
"""Signatures with public keys only, so that no public key can be used as a shared secret. Each key has one algorithm."""
FRESH_S: Final = 3600.0
"""Seconds for which the issuer's keys are cached."""
MISSING_KEY_WAIT_S: Final = 60.0
"""Least seconds between two requests for an unknown key: callers cannot make us ask the issuer more often."""
FAILURE_WAIT_S: Final = 5.0
"""Least seconds between two tries if the issuer does not answer."""
TIMEOUT_S: Final = 3.0
"""Seconds for a whole answer of the issuer, for which callers wait."""
CLOCK_SKEW_S: Final = 60
NO_ANSWER: Final = "the issuer of tokens does not answer as one"
LARGEST_DOCUMENT_BYTES: Final = 1 << 20
LONGEST_TOKEN: Final = 8192
LONGEST_NAME: Final = 190


@dataclass
class _Known:
    """The issuer's keys as they were last seen; times are monotonic."""

    keys: dict[str, PyJWK] = field(default_factory=dict)
    seen: float = float("-inf")
    tried: float = float("-inf")
    failure: str = ""

    def stale(self, now: float) -> bool:
        return now - self.seen > FRESH_S

    def lacks(self, name: str, now: float) -> bool:
        return self.stale(now) or name not in self.keys


@dataclass(frozen=True)
class Issuer:
    """An issuer of tokens. :meth:`principal` may be called from several threads."""

    issuer: str
    audience: str
    scopes_claim: str = "scope"
    timeout_s: float = TIMEOUT_S
    clock: Callable[[], float] = monotonic
    _known: _Known = field(default_factory=_Known)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def principal(self, token: str) -> Principal:
        """The principal of a token: ``oidc:`` and its subject, with the scopes that the claim lists as ``modak:SCOPE``.

        Raises :class:`~modak.errors.Unauthorised` for a token that is wrong in any way, and
        :class:`~modak.errors.Unavailable` if the issuer's keys are needed and it does not answer.
        """
        import jwt

        key = self._key(_key_name(token))
        try:
            claims = jwt.decode(
                token,
                key,
                algorithms=list(ALGORITHMS),
                audience=self.audience,
                issuer=[self.issuer, f"{self.issuer}/"],  # settings hold addresses without the last slash
                leeway=CLOCK_SKEW_S,
                options={"require": ["exp", "iat", "sub", "aud", "iss"], "enforce_minimum_key_length": True},
            )
        except jwt.PyJWTError:
            raise Unauthorised(REFUSED) from None
        subject = claims["sub"]
        if not subject or len(subject) > LONGEST_NAME or not subject.isprintable():
            raise Unauthorised(REFUSED)
        claim = claims.get(self.scopes_claim)
        words = claim.split() if isinstance(claim, str) else claim if isinstance(claim, list) else ()
        return Principal(f"oidc:{subject}", frozenset(scope for scope in SCOPES if f"modak:{scope}" in words))

    def knows(self, token: str) -> bool:
        """Whether the key that a token names is known, so that :meth:`principal` does not wait for the issuer. Raises as that does."""
        return not self._known.lacks(_key_name(token), self.clock())

    def _key(self, name: str) -> PyJWK:
        """The key of that name. If it is unknown, the issuer is asked, but not too often."""
        known = self._known
        if known.lacks(name, self.clock()):  # who names a known key does not wait while the issuer is asked for others
            with self._lock:
                now = self.clock()
                if now - known.tried >= (FAILURE_WAIT_S if known.failure else MISSING_KEY_WAIT_S):
                    self._refresh(now)
                if known.failure:
                    raise Unavailable(known.failure, public_message=NO_ANSWER)
        key = known.keys.get(name)
        if key is None:
            raise Unauthorised(REFUSED)
        return key

    def _refresh(self, now: float) -> None:
        known = self._known
        known.tried = now
        try:
            known.keys = dict(_keys(_fetched(self._keys_address(), self.timeout_s)))
            known.seen, known.failure = now, ""
        except (OSError, http.client.HTTPException, ModakError, ValueError, KeyError, TypeError, AttributeError) as error:
            known.failure = f"{NO_ANSWER}: {self.issuer}: {type(error).__name__}: {error}"

    def _keys_address(self) -> str:
        document = _fetched(f"{self.issuer}/.well-known/openid-configuration", self.timeout_s)
        if document["issuer"].rstrip("/") != self.issuer:
            raise ValueError("the discovery document is another issuer's")
        return str(document["jwks_uri"])


def check(issuer: str, audience: str) -> None:
    """Raise :class:`~modak.errors.DataError` for wrong settings, or if the extra is not installed."""
    if not audience:
        raise DataError("is required with MODAK_OIDC_ISSUER", field="MODAK_OIDC_AUDIENCE")
    if not _allowed(issuer):
        raise DataError("https, or http on this machine", field="MODAK_OIDC_ISSUER")
    try:
        from jwt.algorithms import has_crypto
    except ModuleNotFoundError:
        has_crypto = False
    if not has_crypto:
        raise DataError("needs the extra 'oidc': pip install 'modak[oidc]'", field="MODAK_OIDC_ISSUER")


def _key_name(token: str) -> str:
    """The name of its key in a token, which nobody has checked. Raises :class:`~modak.errors.Unauthorised` for a text that is no token."""
    import jwt

    if len(token) > LONGEST_TOKEN:
        raise Unauthorised(REFUSED)
    try:
        return str(jwt.get_unverified_header(token)["kid"])
    except (jwt.PyJWTError, ValueError, KeyError):
        raise Unauthorised(REFUSED) from None


def _keys(document: Mapping[str, Any]) -> Iterator[tuple[str, PyJWK]]:
    """The issuer's keys for signatures by their names, without keys of unknown kinds, and without private ones, which sign for anybody."""
    from jwt import PyJWK, PyJWTError

    for entry in document["keys"]:
        if entry.get("use", "sig") == "sig" and isinstance(entry.get("kid"), str) and "d" not in entry:
            try:
                key = PyJWK(entry)
            except (PyJWTError, NotImplementedError, TypeError, KeyError):
                continue  # the last three: of the algorithm "none", of one that is no text, a shared secret that is not told
            if key.algorithm_name in ALGORITHMS:
                yield entry["kid"], key


def _fetched(address: str, timeout_s: float) -> dict[str, Any]:
    """A JSON object from the issuer, whole within ``timeout_s`` seconds; no redirection is followed, no proxy asked."""
    if not _allowed(address):
        raise ValueError("no address that is asked for keys")
    parts = urlsplit(address)
    kind = http.client.HTTPConnection if parts.scheme == "http" else http.client.HTTPSConnection
    connection = kind(parts.hostname or "", parts.port, timeout=timeout_s)
    try:
        with _cut_late(connection, timeout_s):
            connection.request("GET", parts.path + (f"?{parts.query}" if parts.query else ""), headers={"Accept": "application/json"})
            response = connection.getresponse()
            content = response.read(LARGEST_DOCUMENT_BYTES)  # what is longer is no JSON then
    finally:
        connection.close()
    document = strict_json(content) if response.status == http.HTTPStatus.OK else None
    if not isinstance(document, dict):
        raise ValueError("no JSON object")
    return document


@contextmanager
def _cut_late(connection: http.client.HTTPConnection, timeout_s: float) -> Iterator[None]:
    """Connect, and shut the connection down after that time: its own timeout begins again with each byte."""
    connection.connect()
    plain: socket.socket = connection.sock  # the connection forgets it where the issuer says that it will close it

    def cut() -> None:
        with suppress(OSError):
            plain.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(timeout_s, cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _allowed(address: str) -> bool:
    parts = urlsplit(address)
    return parts.scheme == "https" or (parts.scheme == "http" and loopback(parts.hostname or ""))


def loopback(host: str) -> bool:
    """Whether an address or name is of the loopback interface.

    >>> loopback("127.0.0.1"), loopback("localhost"), loopback("0.0.0.0"), loopback("modak.example.org")
    (True, True, False, False)
    """
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
