"""What runtimes have in common: the place of an image, the directories that are bound, and checks of both."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Final

from modak.dsl import Notice
from modak.jobs.spec import Container, JobSpec
from modak.script.bash import Line, assign, holds, installed, need, run
from modak.script.shelltext import ours
from modak.text import words
from modak.text.words import Word, variable

NO_RUNTIME: Final = 71
NO_IMAGE: Final = 72
OLD_RUNTIME: Final = 76
NO_BIND: Final = 78
NOT_GENUINE: Final = 81
PLACES: Final = ("HOME", "MODAK_SCRATCH", "MODAK_STORAGE", "PROJECT", "SCRATCH", "WORK", "WORKSPACE_DIR")
"""Variables that hold a host directory; :func:`places` says which of them a job binds."""

IMAGE: Final[Word] = variable("MODAK_IMAGE")
PART: Final[Word] = variable("MODAK_PART")
"""What :func:`part` sets."""


def container(job: JobSpec) -> Container:
    """The job's container. Raises :class:`ValueError` for a job without one, which is a mistake in the program."""
    if not job.container:
        raise ValueError("the job has no container")
    return job.container


def places(job: JobSpec, command: tuple[Word, ...]) -> tuple[str, ...]:
    """Those of :data:`PLACES` that the command uses or the script exports, which a program may read from its environment."""
    used = {*words.variables(command), *(("MODAK_SCRATCH",) if job.staging else ()), *(("MODAK_STORAGE",) if job.storage else ())}
    return tuple(name for name in PLACES if name in used)


def bound(job: JobSpec, command: tuple[Word, ...]) -> tuple[Word, ...]:
    """Host directories that are bound at their own path: the submit directory, the site's, the job's own."""
    return (variable("PWD"), *container(job).policy.binds, *map(variable, places(job, command)))


def bind_paths(job: JobSpec, separators: str = ":", *, here: bool = True) -> tuple[Line, ...]:
    """Checks that the directories exist which site and job bind, and that no separator of the runtime's option is in their names: a runtime
    would report it late, or not at all.

    ``here``: the submit directory is bound. The job's own directory is made later, and its storage has a check of its own.
    """
    named = [name for name in places(job, job.command) if name not in ("MODAK_SCRATCH", "MODAK_STORAGE")]
    wanted: tuple[Word, ...] = (*container(job).policy.binds, *map(variable, named))
    advice = " is not on this node, but has to be bound into the container: is its file system mounted?"
    there = (need(run("test", "-e", place), NO_BIND, place, advice) for place in wanted)
    return (*there, *_without(separators, (*(("PWD",) if here else ()), *named)))


def _without(separators: str, names: tuple[str, ...]) -> tuple[Line, ...]:
    """A check that none of the signs is in the paths that these variables hold."""
    if not names:
        return ()
    said = " or ".join("a blank" if sign == " " else sign for sign in separators)
    advice = f" has {said} in its name, so it cannot be bound into the container: use another directory"
    paths = [part for name in names for part in (" or " if name != names[0] else "", variable(name))]
    quoted = separators.replace(" ", r"\ ")
    check = ours(f'[[ "{"".join(f"${{{name}:?}}" for name in names)}" != *[{quoted}]* ]]')
    return (need(check, NO_BIND, *paths, advice),)


def registry_name(job: JobSpec) -> str:
    """The image's name without its scheme."""
    return container(job).reference.rpartition("://")[2]


def untagged(name: str) -> str:
    """An image's name without tag and digest, which lists of images have in columns of their own.

    >>> untagged("localhost:5000/solver:1"), untagged("x/y@sha256:0")
    ('localhost:5000/solver', 'x/y')
    """
    return re.sub("[:@][^/]*$", "", name)


def locate(job: JobSpec, folder: Word, name: str) -> Line:
    """``MODAK_IMAGE``: ``name`` in the request's folder, which is absolute or below the submit directory; where the request gives none, in
    the directory that ``folder`` is."""
    own = container(job).reference
    below = own.rpartition("/")[0] if "://" not in own else ""
    if own.startswith("/"):
        return assign("MODAK_IMAGE", f"{below}/{name}")
    return assign("MODAK_IMAGE", *((variable("PWD", ""), f"/{below}/{name}") if below else (folder, f"/{name}")))


def part() -> Line:
    """``MODAK_PART``, a new name next to the image's: two builds may run at once, and a killed one may have left a file."""
    return ours('MODAK_PART="$(mktemp -u -- "${MODAK_IMAGE:?}.part.XXXXXX")"')


def complete(*options: str) -> Line:
    """The image gets its name: that of :func:`part` in place of the temporary one."""
    return run("mv", "-f", *options, "--", PART, IMAGE)


def tag(name: str) -> str:
    """A file's name as the tag under which a builder keeps its image.

    >>> tag("Solver 1.0.sqsh")
    'solver-1.0.sqsh'
    """
    return re.sub(r"[^a-z0-9._-]", "-", name.lower())


def renamed(file: str, ending: str = "") -> str:
    """The name of an image's file for a runtime that reads no SIF; other files keep theirs.

    >>> renamed("solver_1.0.sif", ".sqsh"), renamed("solver.sif"), renamed("solver.sqfs", ".sqsh")
    ('solver_1.0.sqsh', 'solver', 'solver.sqfs')
    """
    return re.sub(r"\.(sif|simg)$", ending, file)


def runtime_present(program: str) -> Line:
    """A check that the runtime's command is found."""
    advice = f"{program} is not on this node: load the module that provides it, or ask the site which container runtime to use"
    return installed(program, NO_RUNTIME, advice)


def listed(runtime: str, name: str, how: str) -> Line:
    """A check that an image is among those in the runtime's own storage, by its name there; ``how`` says how to get it, if known."""
    whose = f"{runtime}'" if runtime.endswith("s") else f"{runtime}'s"
    advice = f" is not among {whose} images: {how or 'load it there under that name'}"
    return need(holds(run(runtime, "images"), name), NO_IMAGE, IMAGE, advice)


def present(test: str, how: str) -> Line:
    """A check that the image can be read; ``how`` says how to get it."""
    return need(run("test", test, IMAGE), NO_IMAGE, IMAGE, f" cannot be read: {how}")


def notices(*texts: str) -> tuple[Notice, ...]:
    """Warnings of a runtime."""
    return tuple(Notice(field="target.container_runtime", message=text) for text in texts)


def genuine(job: JobSpec, present: tuple[Line, ...], verify: Line | None = None) -> tuple[Line, ...]:
    """A check that the image is the one in the catalogue, if the site requires it: by the digest of its file, else by ``verify``.

    ``present``: checks that come first, so that a missing file is not reported as a wrong one.
    """
    has = container(job)
    if has.to_build or not has.policy.require_signature:
        return ()
    compare = has.digest and ours(f"printf '%s  %s\\n' {has.digest[7:]} \"${{MODAK_IMAGE}}\" | sha256sum --check --strict --status -")
    check = compare or verify
    advice = " is not the image in the catalogue, or has no known signature: the site requires that images are verified"
    return (*present, need(check, NOT_GENUINE, IMAGE, advice)) if check else ()


def unproven(job: JobSpec, compared: tuple[Line, ...] = ()) -> tuple[Notice, ...]:
    """A warning if the site requires verified images and the job's is not verified; ``compared``: the lines of :func:`genuine`."""
    has = container(job)
    if compared or has.to_build or not has.policy.require_signature:
        return ()
    why = f"the site requires that images are verified before they run, but {has.runtime} cannot verify {has.reference} here"
    return (Notice(field="application.container_runtime", message=f"{why}: it runs unverified"),)


def how_to_get(job: JobSpec, folder: str, fetched: str) -> str:
    """What to do if the image is missing: fetch it (``fetched`` says how), or set the variable ``folder``, unless the site starts jobs
    without the submitter's environment. A path is where the image has to be."""
    has = container(job)
    if not has.to_build and "/" in has.reference and "://" not in has.reference:
        mounted = "the job uses it under this path: is its file system mounted on this node?"
        return mounted if has.reference.startswith("/") else "relative paths start in the directory from which you submit"
    arrives = not (job.system and job.system.export_policy == "NONE")
    place = f"set {folder} to its directory" if arrives else "copy it into the directory from which you submit"
    return fetched if has.to_build else f"{fetched}, or {place}" if fetched else place


def fetch(job: JobSpec, pull: Callable[[str], str], kinds: Collection[str] = ("docker",)) -> str:
    """How to get the image, as far as its reference says; empty for a file.

    ``pull`` gives the runtime's command to fetch an image by its name in a registry; ``kinds``: schemes that it can fetch.
    """
    has = container(job)
    if has.to_build:
        return "submit the build job first, which creates the image"
    kind, _, name = has.reference.rpartition("://")
    if kind == "private":
        return "get it from its owner (private image)"
    return pull(name) if kind in kinds else ""
