"""Reading files or standard input, and writing files as a whole: all of them or none, never through a link."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from errno import EISDIR
from pathlib import Path
from typing import TextIO

from modak.errors import RequestError


def read(path: str) -> bytes:
    """The content of a file, or of standard input for ``-``. Raises :class:`~modak.errors.RequestError` with the reason."""
    if path == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise RequestError(f"cannot be read: {error.strerror}", field=path) from None


@contextmanager
def atomic_write(path: Path) -> Iterator[TextIO]:
    """A stream whose content replaces ``path`` when the block ends without an error; otherwise nothing is left of it.

    The content goes to a new file with a random name in the same folder, which is flushed to disk and renamed. A link at ``path`` is
    replaced, and its target is not touched.
    """
    with _replacing({path: 0o666}) as (stream,):
        yield stream


def write_all(contents: Mapping[Path, str]) -> None:
    """Write all files in the same way, or none of them if one cannot be written.

    Scripts become executable; a ``.token`` can be read by its owner only.
    """
    with _replacing({path: _mode(path, content) for path, content in contents.items()}) as streams:
        for stream, content in zip(streams, contents.values(), strict=True):
            stream.write(content)


def _mode(path: Path, content: str) -> int:
    return 0o600 if path.suffix == ".token" else 0o777 if content.startswith("#!") else 0o666


@contextmanager
def _replacing(modes: Mapping[Path, int]) -> Iterator[list[TextIO]]:
    for path in modes:
        if _is_special(path):
            raise RequestError("cannot be written: no regular file", field=str(path))
        if os.path.isdir(path) and not path.is_symlink():  # noqa: PTH112 - never raises
            raise RequestError(f"cannot be written: {os.strerror(EISDIR)}", field=str(path))
    waiting = {path: path.parent / f".{path.name}.{secrets.token_hex(8)}" for path in modes}
    try:
        with ExitStack() as opened:
            streams = [opened.enter_context(_new(waiting[path], mode)) for path, mode in modes.items()]
            yield streams
            for stream in streams:
                stream.flush()
                os.fsync(stream.fileno())
        for path, temporary in waiting.items():
            temporary.replace(path)
    except OSError as error:
        named = {str(temporary): str(path) for path, temporary in waiting.items()}
        name = named.get(error.filename, error.filename or ", ".join(named.values()))
        raise RequestError(f"cannot be written: {error.strerror}", field=str(name)) from None
    finally:
        for temporary in waiting.values():
            with suppress(OSError):  # what cannot be there need not be removed, and a message is under way
                temporary.unlink()


def _is_special(path: Path) -> bool:
    """Whether a device, a pipe or a name of one of this process's streams (/dev/stdout) is there: root could replace even these."""
    if path.is_symlink() and path.readlink().is_relative_to("/proc"):
        return True
    return os.path.exists(path) and not path.is_file() and not path.is_dir()  # noqa: PTH110 - never raises


def _new(path: Path, mode: int) -> TextIO:
    path.parent.mkdir(parents=True, exist_ok=True)
    return open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode), "w", encoding="utf-8", newline="")  # noqa: PTH123
