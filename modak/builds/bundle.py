"""Bundles: one file for a site without internet, with an image, its recipe, its entry in the catalogue, and checksums.

A bundle is a plain tar archive with members of known names. It does not determine where they are unpacked.
"""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, Any, Final

from modak.builds.verify import sha256
from modak.errors import BadSyntax, Conflict, DataError
from modak.facts import Image
from modak.files import atomic_write
from modak.text.documents import strict_json
from modak.text.faults import validated
from modak.text.grammar import is_image_file

ENTRY: Final = "entry.json"
SUMS: Final = "SHA256SUMS"
RECIPE: Final = "recipe"
MOST_TEXT: Final = 4 << 20
PLAIN: Final = "r:"
"""Only plain archives are read: a compressed one could unpack to any size, and images are compressed already."""
_BROKEN: Final = (OSError, tarfile.TarError, ValueError, ArithmeticError, LookupError, EOFError, zlib.error)
"""What reading an archive raises for damaged or forged headers."""


def is_bundle(file: Path) -> bool:
    """Whether a file is a tar archive, whatever it is called."""
    try:
        return tarfile.is_tarfile(file)
    except _BROKEN:
        return False


def pack(image: Image, file: Path, recipe: str, output: Path) -> dict[str, Any]:
    """Write a bundle, completely or not at all. Raises :class:`modak.errors.Conflict` for an image that is not the catalogue's."""
    found = sha256(file)
    if image.digest and image.digest != f"sha256:{found}":
        raise Conflict(f"{file} is not the file in the catalogue: sha256:{found} instead of {image.digest}", field="digest")
    entry = image.model_copy(update={"digest": f"sha256:{found}", "reference": file.name}).model_dump_json(exclude_unset=True, indent=2)
    texts: dict[str, str] = {ENTRY: entry} | ({RECIPE: recipe} if recipe else {})
    sums = {file.name: found, **{name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()}}
    texts[SUMS] = "".join(f"{value}  {name}\n" for name, value in sums.items())
    with atomic_write(output) as stream, tarfile.open(fileobj=stream.buffer, mode="w") as archive:
        for name, text in texts.items():
            content = text.encode()
            archive.addfile(_member(name, len(content)), io.BytesIO(content))
        with file.open("rb") as content_of_image:
            archive.addfile(_member(file.name, file.stat().st_size), content_of_image)
    return {"bundle": str(output), "image": file.name, "digest": f"sha256:{found}", "recipe": bool(recipe)}


def _member(name: str, size: int) -> tarfile.TarInfo:
    """A member without time and owner, so that the same image gives the same bundle."""
    member = tarfile.TarInfo(name)
    member.size, member.mode = size, 0o644
    return member


def unpack(file: Path, folder: Path) -> tuple[Image, AbstractContextManager[Path]]:
    """The entry of a bundle, and a context that puts its image into ``folder`` if the context's body succeeds.

    Raises :class:`modak.errors.DataError` that names a member that is missing or does not match its checksum.
    """
    try:
        with tarfile.open(file, PLAIN) as archive:
            members = {member.name: member for member in archive if member.isreg() and not member.issparse()}
            sums = _sums(_text(archive, members, SUMS, file), file)
            texts = {name: _text(archive, members, name, file) for name in (ENTRY, RECIPE) if name in members}
    except _BROKEN as error:
        raise DataError(f"is not a bundle, a plain tar archive (unpack a compressed one first): {error}", field=str(file)) from None
    image = _entry(texts.get(ENTRY, ""), file)
    wrong: list[str] = [name for name, text in texts.items() if hashlib.sha256(text.encode()).hexdigest() != sums.get(name)]
    if wrong or image.reference not in members or f"sha256:{sums.get(image.reference)}" != image.digest:
        raise DataError(f"{(wrong or [image.reference])[0]} is missing or is not what {SUMS} says", field=str(file))
    return image, _settled(file, image, folder)


@contextmanager
def _settled(file: Path, image: Image, folder: Path) -> Iterator[Path]:
    """The image's place. It is unpacked and hashed under a temporary name, which is replaced after the body, when its entry is stored."""
    final = folder / image.reference
    with atomic_write(final) as stream:
        with tarfile.open(file, PLAIN) as archive:
            source = archive.extractfile(image.reference)
            if source is None:
                raise DataError(f"{image.reference} is no file", field=str(file))
            found = _copied(source, stream.buffer)
        os.fchmod(stream.fileno(), 0o644)
        if f"sha256:{found}" != image.digest:
            raise DataError(f"{image.reference} is damaged: sha256:{found} instead of {image.digest}", field=str(file))
        if final.exists() and sha256(final) != found:
            raise Conflict(f"another image is called {final}; move it away first", field=str(file))
        yield final


def _copied(source: IO[bytes], target: IO[bytes]) -> str:
    digest = hashlib.sha256()
    while piece := source.read(1 << 20):
        digest.update(piece)
        target.write(piece)
    return digest.hexdigest()


def _text(archive: tarfile.TarFile, members: Mapping[str, tarfile.TarInfo], name: str, file: Path) -> str:
    member = members.get(name)
    source = archive.extractfile(member) if member and member.size <= MOST_TEXT else None
    if source is None:
        raise DataError(f"contains no {name}: was it made by 'modak images bundle'?", field=str(file))
    return source.read().decode("utf-8", "replace")


def _sums(text: str, file: Path) -> dict[str, str]:
    lines = [line.split("  ", 1) for line in text.splitlines()]
    if any(len(line) != 2 for line in lines):
        raise DataError(f"{SUMS} has a line that is no checksum", field=str(file))
    return {name: value for value, name in lines}


def _entry(text: str, file: Path) -> Image:
    try:
        image = validated(Image, strict_json(text), DataError)
    except BadSyntax as error:
        raise DataError(f"{ENTRY} is no JSON document: {error}", field=str(file)) from None
    if "/" in image.reference or not is_image_file(image.reference):
        raise DataError(f"{ENTRY}: the reference is no file's name", field=str(file))
    return image
