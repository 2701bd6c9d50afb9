"""Files that a recipe downloads, taken from a folder of the site instead. Their checksums are verified, too.

A site's copy may be packed differently from the project's (Linux distributions repack sources), and then has a checksum of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from modak.recipes.forms import BETWEEN, Form

FOLDER: Final = "/opt/modak-sources"
"""Their folder in the image while it is built."""
SUMS: Final = "SHA256SUMS"
"""The file in the site's folder that holds its checksums, as ``sha256sum`` writes them."""
_DOWNLOAD: Final = re.compile(
    r"(?:wget [^\n]*?-P (?P<folder>/[\w./+-]+)|curl [^\n]*?--output (?P<file>/[\w./+-]+)) (?P<address>https?://[\w./+~%:@-]+)"
)
_ENDING: Final = re.compile(r"\.(?:tar\.(?:bz2|gz|xz|zst)|tbz2?|tgz|txz)$")
_ENDINGS: Final = (".tar.bz2", ".tar.gz", ".tar.xz")


@dataclass(frozen=True)
class Archive:
    """A site's copy of what a step downloads."""

    file: str
    """Its path on the machine that builds."""
    sha256: str = ""
    """The site's own checksum; empty: that of the recipe applies."""

    @property
    def name(self) -> str:
        """The name of its file."""
        return self.file.rsplit("/", 1)[-1]


@dataclass(frozen=True)
class Download:
    """One download of a step."""

    address: str
    command: str
    target: str
    """The file that it makes."""
    sha256: str
    """The checksum that the next command verifies; empty: it verifies none."""


def downloads(text: str) -> Iterator[Download]:
    """The downloads of a text's steps, in their order, without Git repositories."""
    for found in _DOWNLOAD.finditer(text):
        target = found["file"] or f"{found['folder'].rstrip('/')}/{found['address'].rsplit('/', 1)[-1]}"
        compared = re.match(rf"[^\n]*\n\s*{_comparison(target)}", text[found.end() :])
        yield Download(found["address"], found[0], target, compared[1] if compared else "")


def _comparison(target: str) -> str:
    return rf"echo '([0-9a-f]{{64}})  {re.escape(target)}' \| sha256sum --check"


def copy_names(address: str) -> tuple[str, ...]:
    """File names that a copy may have: the project's, or those of other archive formats.

    >>> copy_names("https://example.org/a-1.0.tgz"), copy_names("https://example.org/bazel-linux-x86_64")
    (('a-1.0.tgz', 'a-1.0.tar.bz2', 'a-1.0.tar.gz', 'a-1.0.tar.xz'), ('bazel-linux-x86_64',))
    """
    name = address.rsplit("/", 1)[-1]
    stem = _ENDING.sub("", name)
    return (name,) if stem == name else tuple(dict.fromkeys((name, *(stem + ending for ending in _ENDINGS))))


def checksums(sums: str) -> Mapping[str, str]:
    """File name -> SHA-256, from the text that ``sha256sum`` writes.

    >>> checksums("0" * 64 + "  a.tar.gz")["a.tar.gz"][:4]
    '0000'
    """
    return {name: digest for digest, name in re.findall(r"^([0-9a-f]{64}) [ *](\S+)$", sums, re.MULTILINE)}


def replaced(text: str, archives: Mapping[str, Archive], form: Form) -> str:
    """The text with copies in place of downloads."""
    for each in downloads(text):
        archive = archives.get(each.address)
        if archive is None:
            continue
        copy = f"cp {FOLDER}/{archive.name} {each.target}"
        if archive.sha256:
            said = f"echo '{archive.sha256}  {each.target}' | sha256sum --check"
            text = re.sub(_comparison(each.target), said, text)
            copy += "" if each.sha256 else f"{BETWEEN[form]}{said} --strict -"
        text = text.replace(each.command, copy)
        # tar sees for itself how a file is packed
        text = re.sub(rf"(tar -x -f {re.escape(each.target)} -C \S+) -[jzJ]\b", r"\1", text)
    return text


def notes(archives: Iterable[Archive]) -> str:
    """A comment for each archive that is verified by the site's checksum, one line each."""
    return "".join(f"# {each.name} is the site's copy, held to the site's checksum\n" for each in archives if each.sha256)
