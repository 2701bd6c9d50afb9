"""Versions of recipes, as they were released."""

from __future__ import annotations

import re

from packaging.version import Version

from modak import plugins
from modak.errors import RequestError
from modak.frameworks.base import Toolchain, release
from modak.recipes.mpilibs import LIBRARIES
from modak.text.grammar import version_range


def release_for(framework: str, rows: tuple[Toolchain, ...], wanted: str | None) -> str | None:
    """The release for a version or range; ``None``: none can be built.

    ``5.0`` is 5.0.0; where that cannot be built, it is the newest of its series. MPI libraries are released as ``4.1``, too, and
    are built from the sources of any known release.
    """
    series = f"{wanted}.*" if wanted and re.fullmatch(r"[0-9]+\.[0-9]+", wanted) else None
    found = release(rows, wanted) or (release(rows, series) if series else None)
    library = LIBRARIES.get(framework)
    if library is None or found in library.releases or found in [row.release for row in rows]:
        return found
    if wanted and found is None and any(row.source for row in rows):
        return max(filter(version_range(wanted).contains, library.releases), key=Version, default=None)
    return library.pinned(wanted.lstrip("= ")) if wanted and found else found


def as_released(framework: str, version: str) -> str:
    """A version as its release is tagged: as a row of the framework's build table has it, else with three numbers."""
    if framework in LIBRARIES:
        return library_release(framework, version, "version")
    rows: tuple[Toolchain, ...] = plugins.find("frameworks", framework).toolchains
    same = next((row.release for row in rows if Version(row.release) == Version(version)), None)
    return same or (f"{version}.0" if re.fullmatch(r"[0-9]+\.[0-9]+", version) else version)


def library_release(family: str, version: str | None, field: str) -> str:
    """The release of an MPI library. Raises :class:`modak.errors.RequestError` where there is none that can be installed."""
    library = LIBRARIES[family]
    pinned = library.pinned(version)
    if pinned is None:
        example = next(iter(library.releases), library.default)
        text = f"{family} {version} is no release that can be installed; allowed: {library.versions}, as {example}"
        raise RequestError(text, field=field)
    return pinned
