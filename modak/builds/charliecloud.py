"""``ch-image build --force``, then ``ch-convert``: a SquashFS file from a Dockerfile, and a directory or tar archive beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from modak.builds.order import Order
from modak.builds.tools import Builder, Command, find

_STEP: Final = re.compile(r"\s*(?P<number>[0-9]+)[.*]? (?P<words>[A-Z]+(?:\.[A-Z])? .*)")
_BASE: Final = re.compile(r"(?:import|[0-9]+\. FROM) (\S+)")
_FAULT: Final = re.compile(r"(?:ch-[a-z]+\[[0-9]+\]: )?error: (?P<why>.+)|(?P<full>.*No space left on device.*)")
FURTHER_FORMS: Final = {"directory": ("dir", ""), "tar": ("tar", ".tar.gz")}
"""Further forms: ch-convert's name, and the ending of the files."""


@dataclass(frozen=True)
class Charliecloud(Builder):
    """Unprivileged: everything in a user namespace, in ch-image's own storage (``CH_IMAGE_STORAGE``)."""

    runtime: str = "charliecloud"
    ending: str = ".sqfs"
    storage: str = "CH_IMAGE_STORAGE, by default /var/tmp/USER.ch"

    def programs(self) -> tuple[str, ...]:
        """The image is converted after it is built, and run after that."""
        return find("ch-image"), find("ch-convert"), self.runner()

    def runner(self) -> str:
        """``ch-run``."""
        return find("ch-run")

    def commands(self, order: Order, work: Path, image: Path) -> Iterator[Command]:
        """Base images from files are imported first."""
        build, convert, tag = find("ch-image"), find("ch-convert"), _tag(work)
        for file, name in order.bases:
            yield Command(f"import {name}", (build, "import", file, name))
        yield Command("build", (build, "build", "--force", "-t", tag, "-f", str(work / "recipe"), order.context or str(work / "context")))
        yield Command("convert to SquashFS", (convert, "-i", "ch-image", "-o", "squash", tag, str(image)))
        for form in order.also:
            kind, ending = FURTHER_FORMS[form]
            yield Command(f"convert to {form}", (convert, "-i", "ch-image", "-o", kind, tag, str(image.with_suffix(ending))))

    def tidy(self, work: Path, step: str) -> tuple[tuple[str, ...], ...]:
        """The image in ch-image's storage. Base images stay, but for one whose import or pull was the last step: a later build would take
        the half for the whole."""
        half = _BASE.match(step)
        return tuple((find("ch-image"), "delete", name) for name in (_tag(work), *(half.groups() if half else ())))

    def step(self, line: str) -> str | None:
        """ch-image numbers the instructions."""
        found = _STEP.fullmatch(line)
        return f"{found['number']}. {found['words']}" if found else None

    def fault(self, line: str) -> str | None:
        """Its own messages of errors."""
        found = _FAULT.match(line)
        return (found["why"] or found["full"]) if found else None

    def run(self, image: Path, work: Path) -> tuple[str, ...]:
        """Only with the image's own variables, and with a temporary folder of its own."""
        return (self.runner(), "--unset-env=*", "--set-env", "--private-tmp", "--cd=/tmp", str(image), "--")


def _tag(work: Path) -> str:
    return re.sub(r"[^a-z0-9]", "", work.name.lower())
