"""Tokens of an issuer: who is believed, and when the issuer is asked."""

from __future__ import annotations

import base64
import json
import socket
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

import jwt
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from modak.api.access import issuer_of
from modak.auth import oidc
from modak.errors import DataError, Unauthorised, Unavailable
from modak.settings import Settings
from tests.auth.provider import AUDIENCE, CURVE, KEYS, WEAK, Provider, running
from tests.conftest import PATIENCE_S, until


@pytest.fixture
def provider() -> Iterator[Provider]:
    """A provider of this test's own."""
    with running() as started:
        yield started


@pytest.fixture
def moment() -> list[float]:
    """What the issuer's clock shows, in seconds."""
    return [1e6]


@pytest.fixture
def issuer(provider: Provider, moment: list[float]) -> oidc.Issuer:
    """What believes it, and waits for its answers as long as a busy machine takes."""
    return oidc.Issuer(provider.address, AUDIENCE, timeout_s=PATIENCE_S, clock=lambda: moment[0])


def unsigned(provider: Provider, algorithm: str) -> str:
    """A token that says of itself that it needs no signature."""
    parts = ({"alg": algorithm, "typ": "JWT", "kid": "first"}, provider.claims())
    return ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts) + "."


def with_public_key_as_secret(provider: Provider) -> str:
    """HS256, with the published key as the secret."""
    import hashlib
    import hmac

    secret = KEYS["first"].public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    parts = [{"alg": "HS256", "typ": "JWT", "kid": "first"}, provider.claims()]
    text = ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts)
    signature = hmac.new(secret, text.encode(), hashlib.sha256).digest()
    return f"{text}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


def tampered(token: str) -> str:
    """The same signature under other claims."""
    head, body, signature = token.split(".")
    claims = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4))) | {"scope": "modak:admin"}
    return f"{head}.{base64.urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b'=').decode()}.{signature}"


NOW = int(time.time())
HOSTILE: dict[str, Callable[[Provider], str]] = {
    "not signed": lambda p: unsigned(p, "none"),
    "not signed, in capitals": lambda p: unsigned(p, "nOnE"),
    "signed with the public key as a secret": with_public_key_as_secret,
    "signed by another": lambda p: p.token(key=KEYS["second"]),
    "signed with a shared secret": lambda p: p.token(key="secret" * 10, algorithm="HS256", header={"kid": "shared"}),
    "signed with a key for enciphering": lambda p: p.token(key=KEYS["second"], header={"kid": "enciphering"}),
    "signed with a private key that is published": lambda p: p.token(key=CURVE, algorithm="ES256", header={"kid": "private"}),
    "signed with the key that is published before one that cannot be read": lambda p: p.token(
        key=CURVE, algorithm="ES256", header={"kid": "unsigned"}
    ),
    "signed with a key that is too short": lambda p: p.token(key=WEAK, header={"kid": "weak"}),
    "of another algorithm than its key": lambda p: p.token(algorithm="PS256"),
    "of an algorithm that is not pinned": lambda p: p.token(algorithm="RS512"),
    "changed": lambda p: tampered(p.token()),
    "cut off": lambda p: p.token()[:-10],
    "without a key's name": lambda p: p.token(header={"kid": None}),
    "with its own key": lambda p: p.token(key=KEYS["second"], header={"kid": "mine", "jwk": {"kty": "RSA"}}),
    "with an address of keys": lambda p: p.token(key=KEYS["second"], header={"kid": "x", "jku": "http://169.254.169.254/keys"}),
    "with a critical header": lambda p: p.token(header={"crit": ["exp"], "exp": 1}),
    "with a path as a key's name": lambda p: p.token(header={"kid": "../../etc/passwd"}),
    "expired": lambda p: p.token(exp=NOW - 3600),
    "from the future": lambda p: p.token(iat=NOW + 3600),
    "not yet valid": lambda p: p.token(nbf=NOW + 3600),
    "for another audience": lambda p: p.token(aud="someone-else"),
    "for nobody": lambda p: p.token(aud=None),
    "of another issuer": lambda p: p.token(iss="https://evil.example.org"),
    "of no issuer": lambda p: p.token(iss=None),
    "without an end": lambda p: p.token(exp=None),
    "without a beginning": lambda p: p.token(iat=None),
    "of nobody": lambda p: p.token(sub=None),
    "of an empty subject": lambda p: p.token(sub=""),
    "of a subject with a newline": lambda p: p.token(sub="ada\nadmin"),
    "of a subject longer than any name": lambda p: p.token(sub="a" * 191),
    "of a subject that is a number": lambda p: p.token(sub=5),
    "with an end that is text": lambda p: p.token(exp="tomorrow"),
    "with an end that is NaN": lambda p: p.token(exp=float("nan")),
    "longer than any": lambda p: p.token(note="x" * 9000),
    "no token": lambda p: "a.b.c",
    "of lone halves": lambda p: "\udc00.a.b",
}


@pytest.mark.filterwarnings("ignore:The RSA key is 1024 bits long")
@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_token_is_nobodys(provider: Provider, issuer: oidc.Issuer, what: str) -> None:
    """All of them are refused with the same words, while a good one is let in."""
    assert issuer.principal(provider.token()).name == "oidc:ada"
    with pytest.raises(Unauthorised) as caught:
        issuer.principal(HOSTILE[what](provider))
    assert str(caught.value) == "the token is unknown, has expired or was revoked"


@pytest.mark.parametrize(("key", "name", "algorithm"), [(KEYS["first"], "first", "RS256"), (CURVE, "curve", "ES256")])
def test_a_good_token_is_its_subjects(provider: Provider, issuer: oidc.Issuer, key: object, name: str, algorithm: str) -> None:
    """Under the name of the subject, with the scopes that the claim lists; other words mean nothing."""
    claims = {"sub": "a" * oidc.LONGEST_NAME, "scope": "openid load modak:load modak:everything modak:read"}
    found = issuer.principal(provider.token(key=key, algorithm=algorithm, header={"kid": name}, **claims))
    assert (found.name, found.scopes) == (f"oidc:{claims['sub']}", frozenset(("load", "read")))


@pytest.mark.parametrize(
    ("claim", "scopes"), [("modak:load", {"load"}), (["modak:load", 5], {"load"}), ({"modak:load": 1}, set()), (None, set())]
)
def test_scopes_come_as_text_or_as_a_list(provider: Provider, claim: object, scopes: set[str]) -> None:
    """Under whatever claim the settings name."""
    issuer = oidc.Issuer(provider.address, AUDIENCE, "roles", timeout_s=PATIENCE_S)
    assert issuer.principal(provider.token(roles=claim, scope="modak:admin")).scopes == scopes


def test_clocks_may_differ_by_half_a_minute(provider: Provider, issuer: oidc.Issuer) -> None:
    """Ended 30 seconds ago, or begun 30 seconds from now."""
    for token in (provider.token(exp=int(time.time()) - 30), provider.token(iat=int(time.time()) + 30)):
        assert issuer.principal(token).name == "oidc:ada"


def test_the_issuer_is_asked_once(provider: Provider, issuer: oidc.Issuer) -> None:
    """For its keys; every further token is checked from memory, also while the issuer is down."""
    issuer.principal(provider.token())
    provider.broken = True
    for subject in ("ada", "bob"):
        issuer.principal(provider.token(sub=subject))
    assert provider.asked == {"/.well-known/openid-configuration": 1, "/keys": 1}


def test_a_new_key_is_looked_for(provider: Provider, issuer: oidc.Issuer, moment: list[float]) -> None:
    """When a token names it, once a minute has passed since the last look."""
    issuer.principal(provider.token())
    provider.names.append("second")
    token = provider.token(key=KEYS["second"], header={"kid": "second"})
    moment[0] += oidc.MISSING_KEY_WAIT_S - 1
    with pytest.raises(Unauthorised):
        issuer.principal(token)
    moment[0] += 1
    assert issuer.principal(token).name == "oidc:ada"


def test_unknown_keys_do_not_make_us_ask(provider: Provider, issuer: oidc.Issuer) -> None:
    """What is no token asks for nothing; for a hundred tokens with made-up keys the issuer is asked once."""
    for text in ("no token", "a.b.c", provider.token(header={"kid": None})):
        with pytest.raises(Unauthorised):
            issuer.principal(text)
    assert not provider.asked
    for number in range(100):
        with pytest.raises(Unauthorised):
            issuer.principal(provider.token(key=KEYS["second"], header={"kid": f"made-up-{number}"}))
    assert provider.asked["/keys"] == 1


def test_an_issuer_that_does_not_answer_is_503(provider: Provider, issuer: oidc.Issuer) -> None:
    """Neither let in nor refused; and it is not asked again for every request."""
    provider.broken = True
    for _ in range(5):
        with pytest.raises(Unavailable):
            issuer.principal(provider.token())
    assert sum(provider.asked.values()) == 1


@pytest.mark.parametrize("known", [True, False])
def test_an_issuer_that_did_not_answer_is_soon_asked_again(
    provider: Provider, issuer: oidc.Issuer, moment: list[float], known: bool
) -> None:
    """Sooner than for a key that it did not have, whether or not it answered before."""
    if known:
        issuer.principal(provider.token())
    moment[0] += oidc.MISSING_KEY_WAIT_S
    provider.names.append("second")
    token = provider.token(key=KEYS["second"], header={"kid": "second"})
    for wait, broken in ((0, True), (oidc.FAILURE_WAIT_S - 1, False)):
        moment[0] += wait
        provider.broken = broken
        with pytest.raises(Unavailable):
            issuer.principal(token)
    moment[0] += 1
    assert issuer.principal(token).name == "oidc:ada"


def test_an_issuer_that_answers_byte_by_byte_is_503(provider: Provider, issuer: oidc.Issuer) -> None:
    """No answer is waited for as long as it takes, only because there is always a little more of it."""
    provider.between_bytes_s = 0.02
    with pytest.raises(Unavailable):
        replace(issuer, timeout_s=0.5).principal(provider.token())


def test_who_names_a_known_key_does_not_wait_for_a_slow_issuer(provider: Provider, issuer: oidc.Issuer, moment: list[float]) -> None:
    """Anybody can name an unknown key; while the issuer is asked for that one, the tokens of others are checked from memory."""
    issuer.principal(provider.token())
    moment[0] += oidc.MISSING_KEY_WAIT_S
    provider.answers.clear()
    with ThreadPoolExecutor(2) as pool:
        waiting = pool.submit(issuer.principal, provider.token(header={"kid": "unknown"}))
        until(lambda: provider.asked["/.well-known/openid-configuration"] == 2)
        try:
            assert pool.submit(issuer.principal, provider.token()).result(PATIENCE_S).name == "oidc:ada"
            assert not waiting.done()
        finally:
            provider.answers.set()
        assert isinstance(waiting.exception(PATIENCE_S), Unauthorised)


def test_an_issuer_that_begins_no_tls_is_503() -> None:
    """It is waited for no longer than one that does not answer."""
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(Unavailable, match="timed out"):
        oidc.Issuer(f"https://127.0.0.1:{silent.getsockname()[1]}", AUDIENCE, timeout_s=0.2).principal(
            jwt.encode({}, KEYS["first"], "RS256", {"kid": "a"})
        )


def test_an_issuer_that_speaks_another_protocol_is_503(mail_server: str) -> None:
    """Whatever listens at its address."""
    found = oidc.Issuer(mail_server, AUDIENCE, timeout_s=PATIENCE_S)
    with pytest.raises(Unavailable, match="does not answer as one"):
        found.principal(jwt.encode({}, KEYS["first"], "RS256", {"kid": "first"}))


def test_why_an_issuer_is_not_believed_is_for_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as a certificate that has expired: callers learn no address."""
    monkeypatch.setenv("SSL_CERT_FILE", str(file := certificate(tmp_path, days=-1)))
    with running(file) as provider, pytest.raises(Unavailable, match="certificate has expired") as caught:
        oidc.Issuer(provider.address, AUDIENCE, timeout_s=PATIENCE_S).principal(provider.token())
    assert caught.value.public_message == "the issuer of tokens does not answer as one"


def test_an_issuer_is_believed_over_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a certificate of an authority that is known."""
    monkeypatch.setenv("SSL_CERT_FILE", str(file := certificate(tmp_path, days=1)))
    with running(file) as provider:
        assert oidc.Issuer(provider.address, AUDIENCE, timeout_s=PATIENCE_S).principal(provider.token()).name == "oidc:ada"


def certificate(folder: Path, days: int) -> Path:
    """A certificate of its own making for 127.0.0.1, valid until so many days from now, in a file with its key."""
    name, today = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")]), datetime.now(UTC)
    made = x509.CertificateBuilder(name, name, KEYS["first"].public_key(), x509.random_serial_number())
    made = made.not_valid_before(today - timedelta(9)).not_valid_after(today + timedelta(days))
    made = made.add_extension(x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]), critical=False)
    key = KEYS["first"].private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file = folder / "issuer.pem"
    file.write_bytes(key + made.sign(KEYS["first"], SHA256()).public_bytes(Encoding.PEM))
    return file


def test_nothing_listens() -> None:
    """A refused connection is the same."""
    with pytest.raises(Unavailable):
        oidc.Issuer("http://127.0.0.1:9", AUDIENCE).principal(jwt.encode({}, KEYS["first"], "RS256", {"kid": "a"}))


def test_keys_are_believed_for_an_hour(provider: Provider, issuer: oidc.Issuer, moment: list[float]) -> None:
    """After that they are fetched anew; where that fails, nobody is let in."""
    token = provider.token()
    issuer.principal(token)
    moment[0] += oidc.FRESH_S
    issuer.principal(token)
    assert provider.asked["/keys"] == 1
    moment[0] += 1
    issuer.principal(token)
    assert provider.asked["/keys"] == 2
    provider.broken = True
    moment[0] += oidc.FRESH_S + 1
    with pytest.raises(Unavailable):
        issuer.principal(token)


def test_the_address_of_keys_may_have_a_query(provider: Provider, issuer: oidc.Issuer) -> None:
    """With which an issuer of many tells whose they are."""
    provider.keys_at += "?for=modak"
    assert issuer.principal(provider.token()).name == "oidc:ada"
    assert provider.asked["/keys?for=modak"] == 1


@pytest.mark.parametrize("start", ["file://127.0.0.1", "gopher://127.0.0.1", "ftp://127.0.0.1", "http://0.0.0.0"])
def test_keys_come_from_https_or_this_machine(provider: Provider, issuer: oidc.Issuer, start: str) -> None:
    """Whatever the discovery document says: another address is not asked, though the one of the last reaches this machine."""
    provider.keys_at = provider.keys_at.replace("http://127.0.0.1", start)
    with pytest.raises(Unavailable):
        issuer.principal(provider.token())
    assert not provider.asked["/keys"]


@pytest.mark.parametrize(
    "published",
    [{}, [], {"keys": None}, {"keys": ["first"]}, {"keys": [], "note": "x" * oidc.LARGEST_DOCUMENT_BYTES}],
    ids=lambda one: repr(one)[:30],
)
def test_keys_that_are_none_are_no_answer(provider: Provider, issuer: oidc.Issuer, published: object) -> None:
    """An issuer that answers something else, or too much, is as good as one that does not answer."""
    provider.published = published
    with pytest.raises(Unavailable):
        issuer.principal(provider.token())


def test_another_issuers_discovery_document_is_not_believed(provider: Provider, issuer: oidc.Issuer) -> None:
    """It has to name the issuer that the settings name."""
    provider.issuer = "https://evil.example.org"
    with pytest.raises(Unavailable):
        issuer.principal(provider.token())


def test_an_issuer_may_end_its_name_with_a_slash(provider: Provider, issuer: oidc.Issuer) -> None:
    """Settings hold it without."""
    assert issuer.principal(provider.token(iss=f"{provider.address}/")).name == "oidc:ada"


def test_settings_that_will_do_are_taken() -> None:
    """An address that only its owner answers at, and the extra that checks signatures; whom the service then believes."""
    named = Settings(oidc_issuer="https://a.example", oidc_audience="x", oidc_scopes_claim="roles")
    assert (found := issuer_of(named)) is not None
    assert (found.issuer, found.audience, found.scopes_claim) == ("https://a.example", "x", "roles")


@pytest.mark.parametrize("lacking", ["PyJWT", "cryptography"])
def test_without_its_extra_no_issuer_is_believed(monkeypatch: pytest.MonkeyPatch, lacking: str) -> None:
    """Neither without the package that reads tokens, nor without that which checks their signatures; the message says what to install."""
    if lacking == "PyJWT":
        monkeypatch.setitem(sys.modules, "jwt.algorithms", None)
    else:
        monkeypatch.setattr("jwt.algorithms.has_crypto", False)
    with pytest.raises(DataError, match=r"pip install 'modak\[oidc\]'"):
        oidc.check("https://a.example", "x")


@pytest.mark.parametrize(("issuer", "audience", "field"), [("https://a.example", "", "AUDIENCE"), ("http://a.example", "x", "ISSUER")])
def test_settings_that_would_not_do_are_refused(issuer: str, audience: str, field: str) -> None:
    """At the start of the service, by name."""
    with pytest.raises(DataError) as caught:
        issuer_of(Settings(oidc_issuer=issuer, oidc_audience=audience))
    assert caught.value.faults[0].field == f"MODAK_OIDC_{field}"
