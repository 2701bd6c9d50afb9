"""Who may call what: scopes and routes, tokens that are wrong, rates, and what a refused caller learns."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from modak.api import create_app
from modak.api.access import CHECKING, scope_of
from modak.api.limits import CALLERS, RateLimit, caller
from modak.auth import SCOPES, oidc, tokens
from modak.settings import Settings
from tests.api.document import OPERATIONS
from tests.api.site import Site
from tests.auth.provider import AUDIENCE, Provider, running
from tests.conftest import PATIENCE_S, until

WANTED = {
    ("GET", "/health"): None,
    ("GET", "/ready"): None,
    ("GET", "/schema/{kind}"): "any",
    ("GET", "/audit"): "admin",
    ("GET", "/builds/{id}/log"): "admin",
    ("POST", "/results"): "load",
    ("POST", "/plans/{id}/token"): "load",
    ("POST", "/plans/{id}/result"): "result",
    **dict.fromkeys(
        (
            *(("POST", "/optimise"), ("POST", "/recommendations"), ("POST", "/predictions"), ("POST", "/sizings")),
            *(("POST", "/validations"), ("POST", "/calibrations"), ("POST", "/proposals")),
            *(("POST", "/get_image"), ("POST", "/get_build"), ("POST", "/get_optimisation"), ("POST", "/get_job_content")),
        ),
        "optimise",
    ),
}
"""What is neither read by everybody nor changed by administrators alone."""


def routes() -> list[tuple[str, str]]:
    """Every method and path of the OpenAPI document."""
    return sorted((method.upper(), path) for path, method in OPERATIONS)


def test_every_route_has_its_scope() -> None:
    """Reading takes `read`, asking `optimise`, results `load`; whatever is not named takes `admin`, also what is added tomorrow."""
    for method, path in routes():
        wanted = WANTED.get((method, path), "read" if method == "GET" else "admin")
        needed = scope_of(method, path.replace("{id}", "x"))
        assert needed == wanted, f"{method} {path}: choose its scope in scope_of of modak/api/access.py, and say it in WANTED, above"
    assert set(WANTED) <= set(routes())
    of_builds, of_plans = ("/builds/x", "/builds/x/result", "/builds/x/token"), ("/plans/x", "/plans/x/tomorrow")
    unnamed = [("GET", "/tomorrow"), ("BREW", "/coffee"), ("PUT", "/results"), *(("POST", path) for path in (*of_builds, *of_plans))]
    assert {scope_of(*one) for one in unnamed} == {"admin"}


@pytest.mark.parametrize("holder", [None, *SCOPES])
def test_a_scope_opens_its_own_routes_alone(shared: Site, holder: str | None) -> None:
    """401 for nobody, 403 for somebody without the scope; never a look at the body first. What is open stays open to every token."""
    for method, path in routes():
        needed, at = scope_of(method, path.replace("{id}", "x")), path.replace("{id}", "x").replace("{name}", "x").replace("{kind}", "x")
        allowed = needed in (None, "any", "read", "optimise", holder) or holder == "admin" or (needed == "result" and holder == "load")
        status = shared.call(method, at, shared.keys[holder] if holder else None, content=b"\xff" * 100).status_code
        assert (status in (401, 403)) != allowed, (method, path, status)
        assert allowed or status == (403 if holder else 401)


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/results", "the scope 'load' is needed, which this token lacks: ask the administrators of the service"),
        ("/plans/x/result", "a token of that plan is needed"),
    ],
)
def test_who_may_not_is_told_what_is_needed(shared: Site, path: str, told: str) -> None:
    """A result of a plan needs no scope, which nobody could give."""
    assert shared.call("POST", path, shared.keys["read"]).json()["detail"] == told


@pytest.mark.parametrize("holder", [None, *SCOPES])
def test_reading_and_asking_can_be_closed(opened: ExitStack, own_database: Path, document: dict[str, Any], holder: str | None) -> None:
    """By a setting; whether the service runs is still told to everybody, and how to use it to every token."""
    site = opened.enter_context(Site(own_database, anonymous=False))
    token = site.keys[holder] if holder else None
    refused = 403 if holder else 401
    assert site.call("GET", "/systems", token).status_code == (200 if holder in ("read", "admin") else refused)
    assert site.call("POST", "/recommendations", token, json=document).status_code == (200 if holder in ("optimise", "admin") else refused)
    assert {site.call("GET", path, token).status_code for path in ("/openapi.json", "/schema/result")} == {200 if holder else 401}
    assert site.call("GET", "/health", token).status_code == 200


WRONG = {
    "made up": tokens.new(tokens.KEY),
    "of another checksum": tokens.new(tokens.KEY)[:-1] + "!",
    "nonsense": "nonsense",
    "an empty one": "",
    "a blank": " ",
    "a quote": "' OR 1=1 --",
    "very long": "modak_" + "x" * 7000,
    "a JSON Web Token where there is no issuer": "a.b.c",
    "a job's": tokens.new(tokens.JOB),
}


@pytest.mark.parametrize("what", WRONG)
@pytest.mark.parametrize(("method", "path"), [("GET", "/systems"), ("POST", "/results"), ("POST", "/plans/x/result"), ("GET", "/health")])
def test_a_wrong_token_is_401_everywhere(shared: Site, what: str, method: str, path: str) -> None:
    """Also where none is needed: who sends one means it. The answer is the same for all of them."""
    answer = shared.call(method, path, WRONG[what], content=b"{}")
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.json()["errors"] == [{"field": "", "message": "the token is unknown, has expired or was revoked"}]


def test_a_token_that_is_not_ascii_is_401(shared: Site) -> None:
    """Headers are bytes; any may come."""
    answer = shared.web.get("/systems", headers=[(b"authorization", b"Bearer modak_\xff\xfe")])
    assert answer.status_code == 401


def test_two_authorisations_are_none(shared: Site) -> None:
    """400: which of them a proxy looked at, nobody knows."""
    sent = [("Authorization", f"Bearer {shared.keys[scope]}") for scope in ("read", "admin")]
    assert shared.web.get("/audit", headers=sent).status_code == 400


@pytest.mark.parametrize("header", ["Basic YTpi", "Negotiate x", "modak"])
def test_another_scheme_is_a_proxys_own_affair(shared: Site, header: str) -> None:
    """It opens nothing, and closes nothing that is open."""
    assert shared.web.get("/systems", headers={"Authorization": header}).status_code == 200
    assert shared.web.post("/results", headers={"Authorization": header}).status_code == 401


@pytest.mark.parametrize("place", ["?token={}", "?access_token={}", "?api_key={}", "?Authorization=Bearer%20{}"])
def test_a_token_in_an_address_is_ignored(shared: Site, place: str) -> None:
    """Addresses end up in logs."""
    assert shared.web.post("/results" + place.format(shared.keys["admin"])).status_code == 401


@pytest.mark.parametrize("name", ["X-API-Key", "X-Forwarded-User", "X-Remote-User", "Cookie", "Proxy-Authorization"])
@pytest.mark.parametrize("value", ["{}", "Bearer {}"])
def test_no_other_header_says_who_one_is(shared: Site, name: str, value: str) -> None:
    """Not even in the words of the right one."""
    assert shared.web.post("/results", headers={name: value.format(shared.keys["admin"])}).status_code == 401


def test_a_revoked_token_ends_at_once(site: Site) -> None:
    """Its replay is 401, though it was good a moment before."""
    assert site.call("GET", "/audit", site.keys["admin"]).status_code == 200
    site.app.state.keys.revoke(site.ids["admin"])
    assert site.call("GET", "/audit", site.keys["admin"]).status_code == 401


@pytest.mark.parametrize(
    "path", ["/results/", "//results", "/results/%2e%2e/results", "/RESULTS", "/optimise/", "/optimise;x", "/health/../audit"]
)
def test_another_spelling_of_a_path_opens_nothing(shared: Site, path: str) -> None:
    """It is another path, and closed."""
    assert shared.web.post(path).status_code in (401, 404)
    assert shared.web.get("/audit" + path).status_code == 404


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "TRACE", "CONNECT", "BREW"])
def test_another_method_is_closed(shared: Site, method: str) -> None:
    """401 for nobody; 405 for others, since nothing answers there: another scope would not help."""
    assert shared.call(method, "/systems").status_code == 401
    for scope in ("admin", "read"):
        answer = shared.call(method, "/systems", shared.keys[scope])
        assert (answer.status_code, answer.json()["detail"]) == (405, "allowed here: GET, HEAD, POST")


def test_who_opens_an_address_that_takes_requests_alone_is_told_so(shared: Site) -> None:
    """405, as a browser asks: 401 would have people look for a token."""
    assert shared.call("GET", "/optimise").status_code == 405


def test_what_is_no_address_is_told_to_readers_alone(opened: ExitStack, own_database: Path) -> None:
    """404, as the document of addresses says to them; 401 to a stranger who may not read that."""
    site = opened.enter_context(Site(own_database, anonymous=False))
    told = [site.call("POST", "/optimize", token) for token in (None, site.keys["optimise"], site.keys["read"])]
    assert [answer.status_code for answer in told] == [401, 403, 404]
    assert told[-1].json()["detail"].startswith("no such address; did you mean '/optimise'?")


def test_refusals_of_principals_are_noted(site: Site) -> None:
    """Who tried what, under the request's own id; a stranger writes nothing into the database."""
    answer = site.call("POST", "/rules", site.keys["load"], json={}, headers={"X-Request-Id": "try-1"})
    site.call("POST", "/rules", json={})
    lines = site.call("GET", "/audit", site.keys["admin"]).json()["items"]
    assert answer.status_code == 403
    assert [(line["principal"], line["action"], line["outcome"], line["request_id"]) for line in lines[:1]] == [
        ("key:load", "POST /rules", "refused", "try-1")
    ]
    assert sum(line["outcome"] == "refused" for line in lines) == 1


def test_no_answer_holds_a_token(shared: Site) -> None:
    """Nor does the trail."""
    texts = [shared.call("GET", path, token).text for path in ("/audit", "/systems", "/nothing") for token in shared.keys.values()]
    assert not [text for text in texts for token in shared.keys.values() if token[6:] in text]


# --- an issuer


@pytest.fixture
def provider() -> Iterator[Provider]:
    """A provider of this test's own."""
    with running() as started:
        yield started


def test_an_issuers_token_is_its_subjects(opened: ExitStack, own_database: Path, provider: Provider) -> None:
    """Wrong audience 401, wrong scope 403, the right ones in; what it does is attributed to it. No issuer: 503."""
    site = opened.enter_context(Site(own_database, oidc_issuer=provider.address, oidc_audience=AUDIENCE))
    row = "application,metric,value\nx,wall_time,5\n"
    csv = {"content": row, "headers": {"Content-Type": "text/csv"}}
    assert site.call("POST", "/results", provider.token(aud="else"), **csv).status_code == 401
    assert site.call("POST", "/results", provider.token(scope="modak:read"), **csv).status_code == 403
    assert site.call("POST", "/results", provider.token(), **csv).status_code == 200
    trail = site.call("GET", "/audit", provider.token(scope="modak:admin")).json()["items"]
    assert [(line["principal"], line["outcome"]) for line in trail[:2]] == [("oidc:ada", "done"), ("oidc:ada", "refused")]
    provider.broken = True
    other = opened.enter_context(Site(own_database, oidc_issuer=provider.address, oidc_audience=AUDIENCE))
    answer = other.call("POST", "/results", provider.token(), **csv)
    assert (answer.status_code, "retry-after" in answer.headers) == (503, True)
    assert other.call("GET", "/systems").status_code == 200


def test_an_issuer_that_hangs_keeps_no_other_request_waiting(opened: ExitStack, own_database: Path, provider: Provider) -> None:
    """However many tokens wait for its keys: anybody can send some. Those with known keys are checked meanwhile."""
    moment = [1e6]
    site = opened.enter_context(Site(own_database, lambda: moment[0], oidc_issuer=provider.address, oidc_audience=AUDIENCE))
    assert site.call("GET", "/results", provider.token()).status_code == 200
    moment[0] += oidc.MISSING_KEY_WAIT_S
    provider.answers.clear()
    junk = provider.token(header={"kid": "unknown"})
    with ThreadPoolExecutor(CHECKING + 2) as pool:
        try:
            waiting = [pool.submit(site.call, "GET", "/results", junk) for _ in range(CHECKING + 1)]
            until(lambda: threading.active_count() > 2 * CHECKING)
            for token in (None, provider.token()):
                assert pool.submit(site.call, "GET", "/results", token).result(PATIENCE_S).status_code == 200
            assert not any(each.done() for each in waiting)
        finally:
            provider.answers.set()


# --- pages of other sites


def test_pages_of_a_named_site_alone_may_call_from_a_browser(opened: ExitStack, own_database: Path, document: dict[str, Any]) -> None:
    """Also where a token is needed, which a browser's question beforehand does not carry; by default no page may."""
    named, other = {"Origin": "https://ide.example.org"}, {"Origin": "https://else.example.org"}
    wanted = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization, content-type"}
    site = opened.enter_context(Site(own_database, anonymous=False, browser_origins="https://hub.example.org, https://ide.example.org"))
    before = [site.call("OPTIONS", "/optimise", headers=origin | wanted) for origin in (named, other)]
    assert [answer.status_code for answer in before] == [200, 400]
    answers = [site.call("POST", "/optimise", site.keys["admin"], json=document, headers=origin) for origin in (named, other)]
    usual = opened.enter_context(Site(own_database))
    answers += [each.call("GET", "/systems", headers=named) for each in (site, usual)]
    assert [answer.status_code for answer in answers] == [200, 403, 401, 200]
    allowed = [answer.headers.get("access-control-allow-origin") for answer in (*before, *answers)]
    assert allowed == [named["Origin"], None, named["Origin"], None, named["Origin"], None]


@pytest.mark.parametrize("kind", ["text/plain", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded", "text/csv"])
@pytest.mark.parametrize("relation", ["cross-site", "same-site"])
def test_another_sites_page_changes_nothing_by_the_token_that_a_proxy_adds(shared: Site, kind: str, relation: str) -> None:
    """Its form may have any content: a proxy adds the token of whoever looks at that page. Browsers say where a form comes from, and call
    other hosts of the same domain, such as that of everybody's own pages, the same site."""
    form = {"Sec-Fetch-Site": relation, "Origin": "https://else.example.org", "Content-Type": kind}
    answer = shared.call("POST", "/results", shared.keys["load"], content="application,metric,value\na,wall_time,1\n", headers=form)
    assert (answer.status_code, answer.json()["title"]) == (403, "the form is of another site")


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://else.example.org", 403),
        ("http://testserver:8080", 403),
        ("null", 403),
        ("http://testserver", 200),
        ("https://www.example.org", 200),
        ("https://ide.example.org", 200),
        (None, 200),
    ],
)
def test_where_browsers_say_no_more_a_page_is_told_by_its_sites_name(
    opened: ExitStack, own_database: Path, origin: str | None, status: int
) -> None:
    """Without TLS they send no Sec-Fetch-Site. Programs name no site; a proxy may call the service by another name than its own."""
    public = "https://www.example.org/modak"
    site = opened.enter_context(Site(own_database, browser_origins="https://ide.example.org", public_url=public))
    form = {"Content-Type": "text/plain", **({"Origin": origin} if origin else {})}
    answer = site.call("POST", "/results", site.keys["load"], content="application,metric,value\na,wall_time,1\n", headers=form)
    assert answer.status_code == status


@pytest.mark.parametrize(
    ("origin", "host", "public"),
    [
        ("http://modak.site", "modak.site:80", ""),
        ("http://modak.site", "Modak.Site", ""),
        ("http://modak.site", "127.0.0.1:8000", "http://Modak.site:80/modak"),
    ],
)
def test_a_site_is_known_whether_or_not_its_usual_port_is_named(
    opened: ExitStack, own_database: Path, origin: str, host: str, public: str
) -> None:
    """nginx's ``$host:$server_port``, which many proxies pass on, names it; browsers do not."""
    site = opened.enter_context(Site(own_database, public_url=public, trusted_proxies="127.0.0.1"))
    asked = site.call("POST", "/validations", site.keys["admin"], content="{}", headers={"Host": host, "Origin": origin})
    assert asked.json()["title"] != "the form is of another site"


def test_a_named_sites_page_may_load(opened: ExitStack, own_database: Path) -> None:
    """With a token, as it may ask."""
    site = opened.enter_context(Site(own_database, browser_origins="https://ide.example.org"))
    page = {"Sec-Fetch-Site": "cross-site", "Origin": "https://ide.example.org", "Content-Type": "text/csv"}
    rows = "application,metric,value\na,wall_time,1\n"
    assert site.call("POST", "/results", site.keys["load"], content=rows, headers=page).status_code == 200


@pytest.mark.parametrize(
    ("settings", "host", "status"),
    [
        ({}, "evil.example:8000", 421),
        ({}, "127.0.0.1.evil.example", 421),
        ({}, "", 421),
        ({}, "localhost:8000", 200),
        ({}, "[::1]:8000", 200),
        ({}, socket.gethostname(), 200),
        ({"public_url": "https://modak.example.org/x"}, "modak.example.org", 200),
        ({"trusted_proxies": "127.0.0.1"}, "www.example.org", 200),
    ],
)
def test_no_other_sites_name_leads_to_a_service_of_this_machine(
    packaged_database: Path, settings: dict[str, Any], host: str, status: int
) -> None:
    """A site that gives its own name the address 127.0.0.1 would have its pages read the answers (DNS rebinding)."""
    app = create_app(Settings(database_url=f"sqlite:///{packaged_database}", **settings))
    with TestClient(app, base_url="http://127.0.0.1:8000") as client:
        assert client.get("/results?limit=1", headers={"Host": host}).status_code == status


# --- rates


def test_an_address_that_asks_too_often_waits(opened: ExitStack, own_database: Path) -> None:
    """429 with the seconds to wait, for this address alone, and for nobody on this machine, with or without a token."""
    site = opened.enter_context(Site(own_database, rate_per_minute=3))
    outside = site.from_outside()
    assert [outside.get("/health").status_code for _ in range(4)] == [200, 200, 200, 429]
    late = outside.get("/systems")
    assert late.status_code == 429
    assert 0 < int(late.headers["retry-after"]) <= 21
    assert site.from_outside(("203.0.113.6", 1)).get("/health").status_code == 200
    here, holder = site.from_outside(("127.0.0.1", 1)), {"Authorization": f"Bearer {site.keys['read']}"}
    assert {here.get("/health", headers=headers).status_code for headers in ({}, holder) for _ in range(9)} == {200}


def test_a_principal_has_a_rate_of_its_own(opened: ExitStack, own_database: Path) -> None:
    """Wherever it comes from, and beside those without a token at the same address."""
    site = opened.enter_context(Site(own_database, rate_per_minute=2))
    mine = {"Authorization": f"Bearer {site.keys['read']}"}
    here, there = site.from_outside(), site.from_outside(("203.0.113.6", 1))
    assert [client.get("/health", headers=mine).status_code for client in (here, there, here)] == [200, 200, 429]
    assert here.get("/health").status_code == 200


def test_guessing_tokens_is_counted(opened: ExitStack, own_database: Path) -> None:
    """By the address, whatever was guessed; then nothing is looked up for it any more."""
    site = opened.enter_context(Site(own_database, rate_per_minute=3))
    outside = site.from_outside()
    guesses = [outside.get("/health", headers={"Authorization": f"Bearer {tokens.new(tokens.KEY)}"}).status_code for _ in range(5)]
    assert guesses == [401, 401, 401, 429, 429]
    assert outside.get("/health", headers={"Authorization": f"Bearer {site.keys['read']}"}).status_code == 429


def test_a_forwarded_address_is_believed_from_named_proxies_alone(opened: ExitStack, own_database: Path) -> None:
    """Else anybody could be anyone, and have a rate for each."""
    rated: dict[str, Any] = {"rate_per_minute": 1, "trusted_proxies": "10.0.0.0/8"}
    site = opened.enter_context(Site(own_database, **rated))

    def ask(peer: str, forwarded: str) -> int:
        client = site.from_outside((peer, 1))
        return int(client.get("/health", headers={"X-Forwarded-For": forwarded}).status_code)

    assert [ask("10.0.0.5", "198.51.100.1"), ask("10.0.0.5", "198.51.100.2"), ask("10.0.0.5", "198.51.100.1")] == [200, 200, 429]
    assert [ask("203.0.113.9", "198.51.100.3"), ask("203.0.113.9", "198.51.100.4")] == [200, 429]
    assert ask("10.0.0.5", "127.0.0.1, 198.51.100.1") == 429
    assert [ask("10.0.0.5", "2001:db8::1"), ask("10.0.0.5", "2001:db8::2"), ask("10.0.0.5", "2001:db8:0:1::1")] == [200, 429, 200]
    assert [ask("10.0.0.5", "unknown"), ask("10.0.0.5", "unknown"), ask("10.0.0.5", "x" * 90), ask("10.0.0.5", "x" * 91)] == [200, 429] * 2


def test_a_bucket_fills_again() -> None:
    """At the rate of the setting, up to it and no further."""
    now = [0.0]
    limit = RateLimit(60, lambda: now[0])
    assert [limit.take("a") for _ in range(61)] == [0] * 60 + [2]
    now[0] = 2.5
    assert [limit.take("a") for _ in range(3)] == [0, 0, 1]
    now[0] = 1e6
    assert [limit.take("a") for _ in range(61)].count(0) == 60


def test_counting_callers_takes_no_more_room_than_it_has() -> None:
    """Millions of addresses: those that come most are still counted, not those that did once."""
    now = [0.0]
    limit = RateLimit(2, lambda: now[0])
    for now[0], one in ((0, "earlier"), (0, "earlier"), (61, "busy"), (61, "busy")):
        limit.take(one)
    for number in range(3 * CALLERS):
        limit.take(f"address {number}")
    assert len(limit._left) <= CALLERS
    assert limit.take("busy") > 0
    assert "earlier" not in limit._left


@pytest.mark.parametrize(
    ("host", "counted"),
    [
        ("203.0.113.5", "203.0.113.5"),
        ("2001:db8::1", "2001:db8::"),
        ("2001:db8::ffff:1", "2001:db8::"),
        ("::ffff:203.0.113.5", "203.0.113.5"),
        ("::1", ""),
        ("127.8.9.1", ""),
        ("::ffff:127.0.0.1", ""),
        (None, ""),
        ("unknown", "unknown"),
        ("x" * 90, "x" * 64),
    ],
)
def test_what_counts_as_one_caller(host: str | None, counted: str) -> None:
    """An IPv6 network is one: whoever has an address there has them all."""
    assert caller(host) == counted
