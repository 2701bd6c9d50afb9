"""The files by which a site runs the service."""

from __future__ import annotations

import re
from configparser import ConfigParser

from modak.settings import Settings
from tests.conftest import ROOT

COMPOSE = (ROOT / "docker-compose.yml").read_text()
GIVEN_UP = (5, 10)
"""systemd.unit(5): so many starts within so many seconds, and a unit stays failed (StartLimitBurst, StartLimitIntervalSec)."""


def test_systemd_waits_for_a_database_that_comes_later() -> None:
    """However fast each start fails, there are fewer of them than make systemd give up."""
    unit = ConfigParser(strict=False, interpolation=None)
    unit.read(ROOT / "deploy" / "modak.service")
    starts, seconds = GIVEN_UP
    assert unit.getfloat("Service", "RestartSec") * (starts - 1) > seconds


def test_a_service_that_builds_images_keeps_nothing_that_its_tools_cannot_live_with() -> None:
    """Found by building with both tools under systemd 252: any filter of system calls implies NoNewPrivileges, with which newuidmap fails;
    /proc is mounted in a new namespace only where all of the old one is visible; images are mounted by /dev/fuse, and read by others."""
    unit, builds = (ConfigParser(strict=False, interpolation=None) for _ in range(2))
    unit.read(ROOT / "deploy" / "modak.service")
    builds.read(ROOT / "deploy" / "modak-builds.conf")
    harmless = {"protectsystem", "protecthome", "protectcontrolgroups", "privatetmp", "systemcallerrornumber"}
    names = [name for name in unit["Service"] if re.match(r"protect|private|restrict|lock|systemcall|nonew|capability|umask", name)]
    assert {name for name in names if name not in builds["Service"]} == harmless
    reset = {name: builds.get("Service", name) for name in names if name in builds["Service"]}
    assert reset.pop("umask") == "0022"
    assert set(reset.values()) <= {"no", "", "default", "~"}


def test_a_password_of_any_signs_reaches_postgresql() -> None:
    """In an address an @ or % would end it, or stand for something else: compose hands the password over beside it."""
    lines = [line.strip() for line in COMPOSE.splitlines() if "MODAK_DB_PASSWORD" in line]
    assert not [line for line in lines if "://" in line]
    assert any(line.startswith("PGPASSWORD: ${MODAK_DB_PASSWORD}") for line in lines)


def test_the_proxy_passes_on_what_the_service_takes_and_says() -> None:
    """The largest load of results (the proxy's MiB are ours, its MB are not), and the 503 of a request that takes too long."""
    settings = Settings()
    assert int(found(r"max_size ([0-9]+)MiB\b")) << 20 == settings.max_load_bytes
    assert int(found(r"write ([0-9]+)s\b")) > settings.request_s


def test_a_body_that_comes_too_slowly_is_refused_by_the_service() -> None:
    """Before Caddy's own limit ends the request, as if its sender had left; the answer is let out then, while Caddy can still write."""
    settings = Settings()
    assert settings.request_s < int(found(r"read_body ([0-9]+)s\b")) < int(found(r"write ([0-9]+)s\b"))


def test_docker_waits_until_a_service_that_stops_has_stopped() -> None:
    """As long as systemd does; ten seconds, its default, are what requests alone may take."""
    unit = ConfigParser(strict=False, interpolation=None)
    unit.read(ROOT / "deploy" / "modak.service")
    assert int(found(r"stop_grace_period: ([0-9]+)s\b")) == unit.getint("Service", "TimeoutStopSec")


def found(pattern: str) -> str:
    """What the only place in the compose file says that fits."""
    (place,) = re.findall(pattern, COMPOSE)
    return str(place)
