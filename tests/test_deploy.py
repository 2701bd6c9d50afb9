"""The files by which a site runs the service."""

from __future__ import annotations

from configparser import ConfigParser

from tests.conftest import ROOT

GIVEN_UP = (5, 10)
"""systemd.unit(5): so many starts within so many seconds, and a unit stays failed (StartLimitBurst, StartLimitIntervalSec)."""


def test_systemd_waits_for_a_database_that_comes_later() -> None:
    """However fast each start fails, there are fewer of them than make systemd give up."""
    unit = ConfigParser(strict=False, interpolation=None)
    unit.read(ROOT / "deploy" / "modak.service")
    starts, seconds = GIVEN_UP
    assert unit.getfloat("Service", "RestartSec") * (starts - 1) > seconds


def test_a_password_of_any_signs_reaches_postgresql() -> None:
    """In an address an @ or % would end it, or stand for something else: compose hands the password over beside it."""
    lines = [line.strip() for line in (ROOT / "docker-compose.yml").read_text().splitlines() if "MODAK_DB_PASSWORD" in line]
    assert not [line for line in lines if "://" in line]
    assert any(line.startswith("PGPASSWORD: ${MODAK_DB_PASSWORD}") for line in lines)
