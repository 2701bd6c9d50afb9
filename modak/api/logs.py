"""How the service logs: one JSON object a line on standard error, or plain lines for a person at a terminal."""

from __future__ import annotations

from typing import Any, Final

FIELDS: Final = {"asctime": "time", "levelname": "level", "name": "logger"}


def config(*, plain: bool) -> dict[str, Any]:
    """The configuration of Python's ``logging`` for the service and its server.

    The server's own access log stays silent: :mod:`modak.api.observe` tells more, and never what a caller put into an address.
    """
    from pythonjsonlogger.core import RESERVED_ATTRS

    lines = {"format": "%(asctime)s %(levelname)s %(message)s"}
    facts = {
        "()": "pythonjsonlogger.json.JsonFormatter",
        "format": "%(asctime)s %(levelname)s %(name)s %(message)s",
        "rename_fields": FIELDS,
        "reserved_attrs": [*RESERVED_ATTRS, "color_message"],  # the server's own, a second time with a terminal's codes
        "datefmt": "%Y-%m-%dT%H:%M:%S%z",
    }
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"lines": lines if plain else facts},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "lines", "stream": "ext://sys.stderr"}},
        "root": {"handlers": ["stderr"], "level": "WARNING"},
        "loggers": {
            "modak": {"level": "INFO"},
            "uvicorn": {"level": "INFO"},
            "uvicorn.access": {"level": "WARNING"},
        },
    }
