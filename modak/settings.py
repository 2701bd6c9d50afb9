"""Settings: read once by whoever starts MODAK, then passed on. The environment wins over the file that MODAK_CONFIG names.

The fields of :class:`Settings` are the one list: the environment variable is ``MODAK_`` and the field's name in capitals,
the key in the TOML file is the field's name, and ``modak --help`` and the documentation print :func:`table`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, ValidationError

from modak.errors import DataError, Fault, unknown

PREFIX = "MODAK_"
DATABASE_DEFAULT = "SQLite in the user's data folder"
"""What the tables of settings say; :func:`default_database` says where that is."""


def _address(text: str) -> str:
    parts = urlsplit(text)
    if text and (
        parts.scheme not in ("http", "https")
        or not parts.hostname
        or parts.query
        or parts.fragment
        or parts.username
        or not text.isprintable()
        or " " in text
    ):
        raise ValueError("an address such as https://modak.example.org, without a user, query or fragment")
    return text.rstrip("/")


Address = Annotated[str, AfterValidator(_address)]


class Settings(BaseModel):
    """Everything that whoever starts MODAK can set. Frozen; an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True)

    database_url: str = Field("", description="address of the database: sqlite:///FILE or postgresql://USER@HOST/NAME")
    server: Address = Field("", description="URL of a MODAK service that the command line talks to; not set: in-process, on the database")
    token: SecretStr = Field(SecretStr(""), description="token that the command line sends to the service")
    public_url: Address = Field(
        "",
        description="address of the service in links of its answers, where a proxy stands before it; not set: as the caller addressed it",
    )
    max_body_bytes: Annotated[int, Field(ge=1024, le=1 << 30)] = Field(
        1 << 20, description="largest request body that the service reads, in bytes"
    )
    max_points: Annotated[int, Field(ge=1, le=1_000_000)] = Field(10_000, description="most rows that one request for predictions may hold")
    plan_days: Annotated[int, Field(ge=1, le=36_500)] = Field(
        30, description="days for which the service keeps the plans of anonymous callers"
    )
    timeout_s: Annotated[float, Field(gt=0, le=3600)] = Field(60.0, description="seconds that the command line waits for the service")


def read_settings(environment: Mapping[str, str]) -> Settings:
    """Settings from the environment and the TOML file that ``MODAK_CONFIG`` names.

    Raises :class:`~modak.errors.DataError` that names the variable or key, never its value.
    """
    path = environment.get(f"{PREFIX}CONFIG", "")
    told = _file(Path(path)) if path else {}
    named = {name: environment[f"{PREFIX}{name.upper()}"] for name in Settings.model_fields if environment.get(f"{PREFIX}{name.upper()}")}
    try:
        settings = Settings.model_validate(told | named)
    except ValidationError as error:
        raise DataError(
            faults=[_fault(dict(found), named, path) for found in error.errors(include_url=False, include_input=False)]
        ) from None
    return settings if settings.database_url else settings.model_copy(update={"database_url": default_database(environment)})


def default_database(environment: Mapping[str, str]) -> str:
    """The SQLite file in the user's data folder as a URL; empty where the environment names no such folder.

    The XDG base directory specification has relative folders ignored.

    >>> default_database({"HOME": "/home/ada"})
    'sqlite:////home/ada/.local/share/modak/modak.db'
    """
    home = environment.get("HOME", "")
    data = environment.get("XDG_DATA_HOME", "")
    folder = Path(data) if data.startswith("/") else Path(home) / ".local" / "share" if home.startswith("/") else None
    return f"sqlite:///{folder / 'modak' / 'modak.db'}" if folder else ""


def table() -> tuple[tuple[str, str, str], ...]:
    """Every setting as (environment variable, default, what it does)."""
    shown = {"database_url": DATABASE_DEFAULT}
    rows = tuple(
        (
            f"{PREFIX}{name.upper()}",
            shown.get(
                name, "" if _empty(entry.default) else f"{entry.default:g}" if isinstance(entry.default, float) else str(entry.default)
            ),
            entry.description or "",
        )
        for name, entry in Settings.model_fields.items()
    )
    return (
        *rows,
        (f"{PREFIX}CONFIG", "", "a TOML file with these settings, named without MODAK_ and in small letters; the environment wins"),
    )


def _empty(default: Any) -> bool:
    return default == "" or isinstance(default, SecretStr)


def _file(path: Path) -> dict[str, Any]:
    try:
        told = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}", field=f"{PREFIX}CONFIG") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{path} is no TOML file: {error}", field=f"{PREFIX}CONFIG") from None
    faults = [Fault(f"{path}: {key}", unknown("setting", key, Settings.model_fields)) for key in told if key not in Settings.model_fields]
    if faults:
        raise DataError(faults=faults)
    return told


def _fault(found: Mapping[str, Any], named: Mapping[str, str], path: str) -> Fault:
    name = ".".join(map(str, found["loc"]))
    return Fault(f"{PREFIX}{name.upper()}" if name in named else f"{path}: {name}", found["msg"].removeprefix("Value error, "))
