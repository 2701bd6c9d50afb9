"""Where a job's data is while it runs: the storage that it names, and a directory of its own."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from modak.choosing.software import Software, preferred_storage
from modak.dsl import Notice, Request
from modak.facts import FileSystem
from modak.jobs.spec import Copy, Staging
from modak.target import Target
from modak.text.amounts import format_bytes
from modak.text.words import Word, lead, shell, variable

COMMON: Final = "default-common"
"""The storage class if the request names none."""
SMALL_FILE_BYTES: Final = 2**20
"""Data sets with a smaller average file get one stripe."""
_ADDRESS: Final = re.compile("[a-z][a-z0-9+.-]*://", re.IGNORECASE)
STRIPES_ONE_NODE, STRIPES_MORE_NODES = 4, 8


@dataclass(frozen=True)
class StoragePlace:
    """The place that the script exports as ``MODAK_STORAGE``; ``None``: it is not needed, or the system has no such storage."""

    place: Word | None = None
    decisions: tuple[str, ...] = ()
    warnings: tuple[Notice, ...] = ()


def storage(request: Request, target: Target, software: Software, expanded: Collection[str]) -> StoragePlace:
    """The storage of the class that the request prefers, else the image; of the common class if only the variable is used.

    ``expanded``: the variables in words of the request.
    """
    asked, wanted = request.application.storage_class_pref, preferred_storage(request, software)
    named = "MODAK_STORAGE" in expanded
    if not (wanted or named or software.rules.use_storage):
        return StoragePlace()
    found = _of_class(target, wanted or COMMON) or (None if asked else _of_class(target, COMMON))
    if found is None:
        return StoragePlace(warnings=_no_storage(target, wanted or COMMON, named=named) if asked or named else ())
    if asked:
        why = "as requested"
    elif found.storage_class == wanted:
        why = f"as {software.reference} requires"
    else:
        why = f"the common class, because {f'the system has no {wanted}' if wanted else 'no other is requested'}"
    return StoragePlace(_place(found), (f"storage: {found.name} ({found.storage_class}), {why}",))


def _no_storage(target: Target, wanted: str, *, named: bool) -> tuple[Notice, ...]:
    """The warning that there is none of this class; ``named``: the command has the variable."""
    known = sorted({fs.storage_class for fs in _places(target) if fs.storage_class})
    text = f"no path of storage of class {wanted} is recorded for {target.title}; known: {', '.join(known) or 'none'}"
    text += "; ${MODAK_STORAGE} has no value: the job will stop there" if named else ""
    return (Notice(field="application.storage_class_pref", message=text),)


def staging(request: Request, target: Target, nodes: int, software: Software, expanded: Collection[str]) -> Staging | None:
    """The job's own directory, if the request copies data or names it: in the preferred storage, else in the node's ``TMPDIR``.

    ``expanded`` as in :func:`storage`.
    """
    application = request.application
    if not (application.stage_in or application.stage_out or "MODAK_SCRATCH" in expanded):
        return None
    found = _of_class(target, preferred_storage(request, software))
    return Staging(
        place=_place(found) if found else None,
        shared=found is not None and not found.node_local,
        stripes=_stripes(request, nodes) if found and found.kind == "lustre" else None,
        into=tuple(Copy(copy.source, copy.to, copy.unpack) for copy in application.stage_in),
        out=tuple(Copy(copy.to, copy.source) for copy in application.stage_out),
    )


def without_room(request: Request, target: Target, staged: Staging | None) -> tuple[Notice, ...]:
    """A warning if the data set is copied to the nodes, but is larger than the storage of a node; or than its memory, if it is copied to
    ``TMPDIR`` and the storage is not known."""
    data, node = request.optimisation.data, target.node
    if staged is None or staged.shared or not staged.into or data is None or not data.size_bytes or node is None:
        return ()
    room = node.local_storage_gb or (None if staged.place else node.memory_gb)
    if room is None or data.size_bytes / 1e9 <= room:
        return ()
    has = f"{room:g} GB of {'local storage' if node.local_storage_gb else 'memory, and no local storage is recorded'}"
    there = f"{shell(staged.place) if staged.place else 'TMPDIR'} on the nodes"
    message = f"the data set has {format_bytes(data.size_bytes)}, but is copied to {there}, and a node of {target.title} has {has}"
    return (Notice(field="application.stage_in", message=f"{message}; application.storage_class_pref places the copy elsewhere"),)


def addresses(request: Request) -> tuple[Notice, ...]:
    """A warning for each address among the places that data are copied from and to: the script would take it for a path."""
    application = request.application
    places = {f"stage_in.{number}.from": copy.source for number, copy in enumerate(application.stage_in)}
    places |= {f"stage_out.{number}.to": copy.to for number, copy in enumerate(application.stage_out)}
    text = "an address, which the script takes for a path: it copies files, and neither fetches nor sends them"
    return tuple(Notice(field=f"application.{field}", message=text) for field, word in places.items() if _ADDRESS.match(lead(word)))


def _of_class(target: Target, wanted: str | None) -> FileSystem | None:
    """The system's place of a storage class."""
    return next((fs for fs in _places(target) if wanted and fs.storage_class == wanted), None)


def _places(target: Target) -> tuple[FileSystem, ...]:
    """The system's storage whose path is known."""
    return tuple(fs for fs in (target.system.filesystems if target.system else ()) if fs.path or fs.path_variable)


def _place(found: FileSystem) -> Word:
    return found.path if found.path else variable(found.path_variable or "")


def _stripes(request: Request, nodes: int) -> int:
    """Lustre stripes of the job's directory: one for small files, a few for one client, more for many."""
    data = request.optimisation.data
    if data and data.files and data.size_bytes and data.size_bytes / data.files < SMALL_FILE_BYTES:
        return 1
    return STRIPES_ONE_NODE if nodes == 1 else STRIPES_MORE_NODES
