"""Files, folders and streams as sources: they have a hash, and can be read more than once."""

from __future__ import annotations

import errno
import gzip
import hashlib
import io
import os
import shutil
import stat
import tempfile
import weakref
import zlib
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from modak.errors import DataError, Unavailable

_IN_MEMORY: Final = 16 * 2**20
NO_ROOM: Final = "the service has no room for what is loaded; try again later"
MOST_UNPACKED: Final = 16 * 2**30
"""Bytes that a gzip file may hold."""
MOST_TIMES: Final = 200
"""Largest ratio of unpacked to packed size, beyond the first 16 MiB: tables reach 50, bombs 1000."""


@dataclass(frozen=True)
class Source:
    """Bytes with a name. A gzip file is unpacked while it is read; ``sha256`` and ``size`` (bytes) are those of the file itself."""

    name: str
    sha256: str
    size: int
    opened: Callable[[], BinaryIO]
    _streams: list[BinaryIO] = field(default_factory=list, repr=False, compare=False)

    @property
    def done(self) -> float:
        """The part of the file that the last opened stream has read, from 0 to 1."""
        stream = self._streams[-1] if self._streams else None
        return 0.0 if stream is None else 1.0 if stream.closed or not self.size else min(stream.tell() / self.size, 1.0)

    def open(self) -> BinaryIO:
        """A stream from the beginning. Reading it raises :class:`modak.errors.DataError` for a damaged gzip file or a gzip bomb."""
        stream = self.opened()
        self._streams[:] = [stream]
        packed = stream.read(2) == b"\x1f\x8b"
        stream.seek(0)
        return cast(BinaryIO, io.BufferedReader(_Unpacked(stream, self.name, self.size))) if packed else stream

    def head(self) -> bytes:
        """The first 64 KiB of the content, without a byte order mark: by these formats are recognised."""
        with self.open() as stream:
            return stream.read(65_536).removeprefix(BOM_UTF8)


class _Unpacked(io.RawIOBase):
    """The content of a gzip stream, within :data:`MOST_UNPACKED` and :data:`MOST_TIMES`."""

    def __init__(self, stream: BinaryIO, name: str, size: int) -> None:
        self._stream, self._inner, self._name, self._size, self._read = stream, gzip.GzipFile(fileobj=stream), name, size, 0

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """The next bytes."""
        try:
            part = self._inner.read(len(buffer))
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise DataError(f"a damaged gzip file: {str(error).lower() or 'cut off'}", field=self._name) from None
        self._read += len(part)
        if self._read > MOST_UNPACKED or self._read > max(_IN_MEMORY, MOST_TIMES * self._size):
            raise DataError(f"a gzip file that holds more than {MOST_TIMES} times its size; unpack it first", field=self._name)
        buffer[: len(part)] = part
        return len(part)

    def close(self) -> None:
        """Close the file, too."""
        self._inner.close()
        self._stream.close()
        super().close()


def files(paths: Iterable[Path]) -> Iterator[tuple[Path, bool]]:
    """The files that ``paths`` name, folders searched in the order of names; each with whether it was found in a folder.

    Raises :class:`modak.errors.DataError` for a path that does not exist or is neither a file nor a folder, and for a folder that cannot be
    read, also within another one: what is in it would be missing. One that has gone meanwhile holds nothing.
    """
    for path in paths:
        if path.is_dir():
            inside = sorted(_inside(path))
            if not inside:
                raise DataError("the folder holds no files", field=str(path))
            yield from ((child, True) for child in inside)
        else:
            yield path, False


def _inside(folder: Path) -> Iterator[Path]:
    """The files below a folder, but for hidden ones and those of hidden folders."""

    def failed(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            raise DataError(f"cannot be read: {error.strerror}", field=str(error.filename)) from None

    for place, folders, names in os.walk(folder, onerror=failed):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (child for name in names if not name.startswith(".") and _is_file(child := Path(place) / name))


def _is_file(path: Path) -> bool:
    """Whether a path is that of a file, or may be: reading it tells. A link to nothing is none."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError as error:
        return error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


def from_path(path: Path) -> Source:
    """A regular file. Raises :class:`modak.errors.DataError` where it cannot be read."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise DataError("no regular file; a pipe is read with '-'", field=str(path))
        with path.open("rb") as stream:
            digest, state = hashlib.file_digest(stream, "sha256").hexdigest(), os.fstat(stream.fileno())
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", field=str(path)) from None
    return Source(path_text(path), digest, state.st_size, lambda: _reopened(path, state))


def path_text(path: Path | str) -> str:
    """A path as text that every database and terminal takes: bytes of a name that are not UTF-8 are written as ``\\xf6``."""
    return os.fsencode(path).decode(errors="backslashreplace")


def _reopened(path: Path, before: os.stat_result) -> BinaryIO:
    stream = path.open("rb")
    now = os.fstat(stream.fileno())
    if (now.st_ino, now.st_size, now.st_mtime_ns) != (before.st_ino, before.st_size, before.st_mtime_ns):
        stream.close()
        raise DataError("the file changed while it was read", field=str(path))
    return stream


def from_bytes(content: bytes, name: str) -> Source:
    """Bytes in memory, for instance the body of a request."""
    return Source(name, hashlib.sha256(content).hexdigest(), len(content), lambda: io.BytesIO(content))


@contextmanager
def keeping() -> Iterator[None]:
    """While temporary files are written: a folder that is full or cannot be written raises :class:`modak.errors.Unavailable`."""
    try:
        yield
    except OSError as error:
        why = f"no temporary file can keep what is loaded: {error.strerror} (TMPDIR names another folder)"
        raise Unavailable(why, public_message=NO_ROOM) from None


def from_stream(stream: BinaryIO) -> Source:
    """A stream that can be read only once: standard input, called ``-``. More than 16 MiB are kept in a temporary file."""
    start = stream.read(_IN_MEMORY)
    if len(start) < _IN_MEMORY:
        return from_bytes(start, "-")
    with keeping():
        kept = tempfile.NamedTemporaryFile(prefix="modak-", suffix=".in")  # noqa: SIM115 - closed with the source, below
        kept.write(start)
        shutil.copyfileobj(stream, kept)
        kept.flush()
    kept.seek(0)
    digest = hashlib.file_digest(kept, "sha256").hexdigest()

    def again() -> BinaryIO:
        return Path(kept.name).open("rb")

    source = Source("-", digest, kept.tell(), again)
    weakref.finalize(source, kept.close)  # which deletes it
    return source
