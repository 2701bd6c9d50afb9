"""MODAK's tokens: 256 random bits behind a prefix, with a checksum, so that secret scanners find them without false alarms.

Only their SHA-256 is stored. A slow hash would gain nothing: 256 random bits cannot be guessed.
"""

from __future__ import annotations

import hashlib
import secrets
import string
import zlib
from typing import Final

KEY: Final = "modak_"
"""Begins an API key."""
JOB: Final = "modakjob_"
"""Begins a token with which one job sends its result back, once."""
_LETTERS: Final = string.digits + string.ascii_uppercase + string.ascii_lowercase
_RANDOM: Final = 43
_CHECK: Final = 6


def new(prefix: str) -> str:
    """A new random token."""
    random = "".join(secrets.choice(_LETTERS) for _ in range(_RANDOM))
    return prefix + random + _checksum(prefix + random)


def well_formed(token: str, prefix: str) -> bool:
    """Whether the text has the form of a token: typing errors are found without the database."""
    body, check = token[:-_CHECK], token[-_CHECK:]
    return token.startswith(prefix) and check == _checksum(body)


def digest(token: str) -> str:
    """The SHA-256 of a token, which is what is stored: 64 hexadecimal digits."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def _checksum(text: str) -> str:
    """CRC-32 in base 62."""
    number, digits = zlib.crc32(text.encode("ascii", "replace")), ""
    for _ in range(_CHECK):
        number, digit = divmod(number, len(_LETTERS))
        digits = _LETTERS[digit] + digits
    return digits
