"""Settings: read once at the start of MODAK, then passed on. The environment wins over the file that MODAK_CONFIG names.

The fields of :class:`Settings` are the one list: the environment variable is ``MODAK_`` and the field's name in capitals,
the key in the TOML file is the field's name. :func:`settings_table` is what the help of commands and the documentation print.
"""

from __future__ import annotations

import getpass
import os
import re
import tomllib
from collections.abc import Mapping
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import SplitResult, urlsplit

from pydantic import AfterValidator, ConfigDict, Field, SecretStr, ValidationError

from modak.errors import DataError, Fault, unknown
from modak.text.described import Described, described
from modak.text.faults import faults_of

PREFIX: Final = "MODAK_"
DATABASE_DEFAULT: Final = "SQLite in the user's data folder"
"""The default as the table of settings shows it; :func:`default_database` returns the path."""
IMAGES_DEFAULT: Final = "images in the user's data folder"
OF_ALL: Final = "Settings"
OF_SERVICE: Final = "Settings of the service"
OF_BUILDS: Final = "Settings of image builds"
_GROUPS: Final = {"database_url": OF_ALL, "public_url": OF_SERVICE, "images_dir": OF_BUILDS}
"""Titles of the groups of settings, by their first fields."""


def _address(text: str) -> str:
    parts = urlsplit(text)
    plain = text.isprintable() and " " not in text and not (parts.query or parts.fragment or parts.username)
    if text and not (plain and parts.scheme in ("http", "https") and parts.hostname and _has_port(parts)):
        raise ValueError("an address such as https://modak.example.org, without a user, query or fragment")
    return text.rstrip("/")


def _has_port(parts: SplitResult) -> bool:
    """Whether the port, if there is one, is valid: ``urlsplit`` checks it only when it is read."""
    try:
        return parts.port != 0
    except ValueError:
        return False


def _token(secret: SecretStr) -> SecretStr:
    if not re.fullmatch(r"[!-~]*", secret.get_secret_value()):
        raise ValueError("one word of printable ASCII characters")
    return secret


def _networks(text: str) -> str:
    for part in split_list(text):
        try:
            ip_network(part)
        except ValueError:
            raise ValueError("addresses or networks separated by commas, such as 10.0.0.5, 10.1.0.0/16") from None
    return text


def split_list(text: str) -> list[str]:
    """The parts of a setting with commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


def _origins(text: str) -> str:
    for part in split_list(text):
        if not _ORIGIN.fullmatch(part) or not _has_port(urlsplit(part)):
            raise ValueError(
                "web sites as browsers name them, without a path or the default port, in small letters, separated by commas, such as "
                "https://ide.example.org"
            )
    return text


_ORIGIN: Final = re.compile(r"(https(?!.*:443$)|http(?!.*:80$))://([a-z0-9-]+(\.[a-z0-9-]+)*|\[[0-9a-f:]+\])(:[0-9]+)?")
"""A web site as browsers name it: scheme, host name or IPv6 address, and the port, unless it is the scheme's own."""

Address = Annotated[str, AfterValidator(_address)]


class Settings(Described):
    """All settings of MODAK, each with what it does. Frozen; an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True)

    database_url: str = ""
    """URL of the database: sqlite:///FILE or postgresql://USER@HOST/NAME"""
    server: Address = ""
    """URL of a MODAK service for the command line; not set: the command line uses the database"""
    token: Annotated[SecretStr, AfterValidator(_token)] = SecretStr("")
    """token that the command line sends to it"""
    timeout_s: Annotated[float, Field(gt=0, le=3600)] = 60.0
    """seconds that the command line waits for the service"""

    public_url: Address = ""
    """public URL of the service for links in its answers, if it is behind a proxy; not set: the URL that the caller used"""
    max_body_bytes: Annotated[int, Field(ge=1024, le=1 << 30)] = 1 << 20
    """largest request body that the service accepts, in bytes"""
    max_points: Annotated[int, Field(ge=1, le=1_000_000)] = 10_000
    """maximum number of rows in one request for predictions"""
    plan_days: Annotated[int, Field(ge=1, le=36_500)] = 30
    """days for which the service keeps plans"""
    max_load_bytes: Annotated[int, Field(ge=1024, le=1 << 30)] = 64 << 20
    """largest body with results to load that the service accepts, in bytes"""
    anonymous: bool = True
    """whether callers of the service without a token may read and optimise"""
    rate_per_minute: Annotated[int, Field(ge=0, le=1_000_000)] = 600
    """requests per minute from one principal or address, in each worker; 0: no limit; loopback is not limited"""
    request_s: Annotated[float, Field(gt=0, le=3600)] = 60.0
    """seconds within which a request has to arrive and to be answered"""
    header_s: Annotated[float, Field(gt=0, le=3600)] = 10.0
    """seconds within which the headers of a request have to arrive"""
    max_connections: Annotated[int, Field(ge=1, le=100_000)] = 1000
    """maximum number of connections per worker of the service; more are answered with 503"""
    trusted_proxies: Annotated[str, AfterValidator(_networks)] = ""
    """addresses or networks of reverse proxies, separated by commas, whose X-Forwarded-For and -Proto are trusted"""
    browser_origins: Annotated[str, AfterValidator(_origins)] = ""
    """web sites whose pages may call the service from a browser, separated by commas: https://ide.example.org"""
    oidc_issuer: Address = ""
    """issuer of OpenID Connect tokens that the service accepts in addition to its own"""
    oidc_audience: str = ""
    """audience that these tokens must have: the issuer's name for this service"""
    oidc_scopes_claim: str = "scope"
    """claim of these tokens that lists modak:read, modak:optimise, modak:load or modak:admin"""

    images_dir: str = ""
    """folder in which images are built and found by name; compute nodes have to see it"""
    build_hours: Annotated[float, Field(gt=0, le=1000)] = 6.0
    """maximum hours for the build of one image"""
    base_images_dir: str = ""
    """folder of base images for builds without internet: ubuntu-24.04.sif, ubuntu-24.04.tar.gz"""
    wheels_dir: str = ""
    """folder of Python wheels for builds without internet"""
    package_index: Address = ""
    """address of a Python package index for builds without internet"""
    sources_dir: str = ""
    """folder of archives that recipes download, for builds without internet; its SHA256SUMS holds the site's checksums"""


def read_settings(environment: Mapping[str, str]) -> Settings:
    """Settings from the environment and the TOML file that ``MODAK_CONFIG`` names.

    Raises :class:`~modak.errors.DataError` that names the variable or key, never its value.
    """
    path = environment.get(f"{PREFIX}CONFIG", "")
    from_file = _file(Path(path)) if path else {}
    named = {name: environment[f"{PREFIX}{name.upper()}"] for name in Settings.model_fields if environment.get(f"{PREFIX}{name.upper()}")}
    try:
        settings = Settings.model_validate(from_file | named)
    except ValidationError as error:
        raise DataError(faults=[_fault(found, named, path) for found in faults_of(error)]) from None
    defaults = {"database_url": default_database(environment), "images_dir": default_images(environment)}
    return settings.model_copy(update={name: value for name, value in defaults.items() if not getattr(settings, name)})


def default_database(environment: Mapping[str, str]) -> str:
    """The SQLite file in the user's data folder as a URL; empty where the environment names no such folder.

    The XDG base directory specification has relative folders ignored.

    >>> default_database({"HOME": "/home/ada"})
    'sqlite:////home/ada/.local/share/modak/modak.db'
    """
    folder = _data(environment)
    return f"sqlite:///{folder / 'modak.db'}" if folder else ""


def default_images(environment: Mapping[str, str]) -> str:
    """The folder of images in the user's data folder; empty likewise."""
    folder = _data(environment)
    return str(folder / "images") if folder else ""


def _data(environment: Mapping[str, str]) -> Path | None:
    home = environment.get("HOME", "")
    data = environment.get("XDG_DATA_HOME", "")
    folder = Path(data) if data.startswith("/") else Path(home) / ".local" / "share" if home.startswith("/") else None
    return folder / "modak" if folder else None


def settings_table() -> dict[str, list[tuple[str, str, str]]]:
    """Every setting as (environment variable, default, what it does), by the title of its group."""
    shown = {"database_url": DATABASE_DEFAULT, "images_dir": IMAGES_DEFAULT}
    rows: list[tuple[str, str, str]] = []
    groups, texts = {}, described(Settings)
    for name, entry in Settings.model_fields.items():
        if title := _GROUPS.get(name):
            groups[title] = rows = []
        rows.append((f"{PREFIX}{name.upper()}", shown.get(name, _shown(entry.default)), texts.get(name, "")))
    note = "a TOML file with settings, named without MODAK_ and in small letters; the environment wins"
    groups[OF_ALL].append((f"{PREFIX}CONFIG", "", note))
    return groups


def _shown(default: Any) -> str:
    """A default as one would write it in the environment."""
    if isinstance(default, SecretStr):
        return ""
    return f"{default:g}" if isinstance(default, float) else str(default).lower()


def _file(path: Path) -> dict[str, Any]:
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}", field=f"{PREFIX}CONFIG") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{path} is not a TOML file: {error}", field=f"{PREFIX}CONFIG") from None
    known = Settings.model_fields
    DataError.raise_for(Fault(f"{path}: {key}", unknown("setting", key, known)) for key in found if key not in known)
    return found


def _fault(found: Fault, named: Mapping[str, str], path: str) -> Fault:
    return Fault(f"{PREFIX}{found.field.upper()}" if found.field in named else f"{path}: {found.field}", found.message)


def user() -> str:
    """The user of this process: the name, or the number of one without a name, as in containers."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
