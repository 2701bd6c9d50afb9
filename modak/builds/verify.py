"""Running an image to see what it contains. :mod:`modak.images.verification` decides what its output means."""

from __future__ import annotations

import hashlib
import platform
import subprocess
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from modak.builds.tools import Builder, environment, printed_version
from modak.errors import Conflict, Unavailable
from modak.facts import Image
from modak.images.probe import Claims, probe
from modak.images.verification import Finding, Seen, hindrance, judge, read_probe
from modak.processes import run_tool

LONGEST_S: Final = 3600
MOST_OUTPUT: Final = 4 << 20


def look(builder: Builder, image: Path, claims: Claims, work: Path, **watched: Callable[..., object]) -> Seen:
    """Run an image once and read its output. Raises :class:`modak.errors.Unavailable` where it cannot be run here.

    ``watched``: ``watch`` and ``begun`` of :func:`modak.processes.run_tool`.
    """
    output = bytearray()

    def keep(data: bytes) -> None:
        output.extend(data[: MOST_OUTPUT - len(output)])

    words = (*builder.run(image, work), "/bin/sh", "-c", probe(claims))
    try:
        run_tool(words, on_output=keep, environment=environment(words[0], work), folder=work, limit_s=LONGEST_S, **watched)
    except TimeoutError as error:
        raise _not_here(str(error)) from None
    except OSError as error:
        raise Unavailable(f"{words[0]} cannot be started: {error.strerror}") from None
    seen = read_probe(output.decode("utf-8", "replace"))
    if not seen.ran and (why := hindrance(claims, seen)):
        raise _not_here(why)
    return seen


def _not_here(why: str) -> Unavailable:
    return Unavailable(f"cannot be run on this machine, so the image is not verified: {why}", field="image")


def verified(image: Image, file: Path, builder: Builder) -> tuple[Image, tuple[Finding, ...]]:
    """The catalogue's entry with the findings from running the image: verified here and today, or refuted.

    Raises :class:`modak.errors.Unavailable` where the findings would be due to this machine.
    """
    claims = image.labels.model_dump(mode="json", exclude_none=True, exclude_defaults=True) | {"architecture": image.labels.architecture}
    findings = _digest(image, file)
    if not any(finding.verdict == "refuted" for finding in findings):
        with TemporaryDirectory(prefix="modak-verify-") as work:
            seen = look(builder, file, claims, Path(work))
        if why := hindrance(claims, seen):
            raise _not_here(why)
        findings += judge(claims, seen)
    return image.model_copy(update=standing(findings, builder)), findings


def _digest(image: Image, file: Path) -> tuple[Finding, ...]:
    """Whether the file is the one in the catalogue, if that has a digest."""
    if not image.digest:
        return ()
    seen = f"sha256:{sha256(file)}"
    return (Finding("digest", "holds" if seen == image.digest else "refuted", image.digest, seen),)


def sha256(file: Path) -> str:
    """The hash of a file's content."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def standing(findings: tuple[Finding, ...], builder: Builder) -> Mapping[str, Any]:
    """The fields of a catalogue entry that hold the findings from running the image. It counts as verified if the run showed the framework
    and its version, and refuted nothing."""
    today, where = datetime.now(UTC).date(), place(builder)
    shown = {finding.label for finding in findings if finding.verdict == "holds"}
    refuted = tuple(f"{today.isoformat()} on {where}: {finding}" for finding in findings if finding.verdict == "refuted")
    marks = {"findings": tuple(map(str, findings)), "refuted": refuted}
    counts = not refuted and shown.issuperset(("framework", "version"))
    return marks | ({"verified_on": today, "verified_at": where} if counts else {"verified_on": None, "verified_at": None})


def place(builder: Builder) -> str:
    """This machine and the runtime, for the record."""
    host = platform.node() or "this machine"
    try:
        return f"{host}, {builder.runtime} {printed_version(builder.runner())}"
    except (Unavailable, OSError, subprocess.SubprocessError):
        return host


def file_of(image: Image, folder: Path) -> Path:
    """The file of an image of the catalogue. Raises :class:`modak.errors.Conflict` where there is none."""
    if "://" in image.reference:
        raise Conflict(
            f"{image.reference} is in a registry: 'modak images build' makes a file of an official image (--variant hub)", field="image"
        )
    file = Path(image.reference) if image.reference.startswith("/") else folder / image.reference
    if not file.is_file():
        raise Conflict(f"{file} is not there; a relative reference is looked for in MODAK_IMAGES_DIR", field="image")
    return file
