"""Tokens of our own: 256 random bits behind a prefix, with a checksum, so that scanners of secrets find them without false alarms.

Nothing but their SHA-256 is kept: against 256 random bits a slow hash would win nothing.
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
    """A token that nobody has."""
    random = "".join(secrets.choice(_LETTERS) for _ in range(_RANDOM))
    return prefix + random + _checksum(prefix + random)


def well_formed(token: str, prefix: str) -> bool:
    """Whether the text could be a token of ours: a slip of the keyboard is found without asking the database."""
    body, check = token[:-_CHECK], token[-_CHECK:]
    return token.startswith(prefix) and len(body) == len(prefix) + _RANDOM and body.isascii() and check == _checksum(body)


def digest(token: str) -> str:
    """What is kept of a token: 64 hexadecimal digits."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def _checksum(text: str) -> str:
    """CRC-32 in base 62."""
    number, digits = zlib.crc32(text.encode("ascii", "replace")), ""
    for _ in range(_CHECK):
        number, digit = divmod(number, len(_LETTERS))
        digits = _LETTERS[digit] + digits
    return digits
