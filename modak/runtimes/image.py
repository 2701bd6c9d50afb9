"""Where an image lies, and the first two questions about it: is the runtime there, is the image there."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final

from modak.dsl import Notice
from modak.errors import Conflict
from modak.jobs.spec import Container, JobSpec
from modak.script.bash import Expansion, Line, Part, assign, need, quiet, run, variable, word
from modak.script.shelltext import ours
from modak.text import words
from modak.text.words import Variable, Word

NO_RUNTIME: Final = 71
NO_IMAGE: Final = 72
OLD_RUNTIME: Final = 76
NO_BIND: Final = 78
NOT_GENUINE: Final = 81
PLACES: Final = ("HOME", "MODAK_SCRATCH", "MODAK_STORAGE", "PROJECT", "SCRATCH", "WORK", "WORKSPACE_DIR")
"""Variables that hold a host directory, which is bound in where :func:`places` says so."""

Place = tuple[str | Variable, ...]
IMAGE: Final[Variable] = variable("MODAK_IMAGE")
PART: Final[Word] = word(variable("MODAK_PART"))
"""What :func:`part` sets."""


def container(job: JobSpec) -> Container:
    """The job's container; asking for it in a job without one is a mistake in the program."""
    if not job.container:
        raise ValueError("the job has no container")
    return job.container


def by_mpi(job: JobSpec) -> bool:
    """Whether it is MPI that connects the job's ranks: their launcher starts each, which torchrun does by itself."""
    return job.resources.ranks > 1 and job.launcher not in {"torchrun", "none"}


def places(job: JobSpec, command: tuple[Word, ...]) -> tuple[str, ...]:
    """Those of :data:`PLACES` that the command uses, and those that the script exports: a program may read them from its environment."""
    used = {*words.variables(command), *(("MODAK_SCRATCH",) if job.staging else ()), *(("MODAK_STORAGE",) if job.storage else ())}
    return tuple(name for name in PLACES if name in used)


def bound(job: JobSpec, command: tuple[Word, ...]) -> tuple[Place, ...]:
    """Host directories that go into the container at their own place: the submit directory, the site's, the job's own."""
    policy = container(job).policy
    named = ((variable(name),) for name in places(job, command))
    return ((variable("PWD"),), *((path,) for path in (policy.binds if policy else ())), *named)


def bind_paths(job: JobSpec) -> tuple[Line, ...]:
    """What the site binds into every container, and what the job has, is there: a runtime's own message comes late, or not at all.

    The job's own directory is made later, and its storage is looked at by a check of its own.
    """
    policy = container(job).policy
    sure = {"HOME", "MODAK_SCRATCH", *(("MODAK_STORAGE",) if job.storage else ())}
    named = ((variable(name),) for name in places(job, job.command) if name not in sure)
    wanted: tuple[Place, ...] = (*((path,) for path in (policy.binds if policy else ())), *named)
    advice = " is not on this node, but has to be bound into the container: is its file system mounted?"
    return tuple(need(run("test", "-e", word(*place)), NO_BIND, *place, advice) for place in wanted)


def registry_name(job: JobSpec, runtime: str) -> str:
    """The image's name without its scheme. Raises :class:`modak.errors.Conflict` for a file: the runtime knows registries alone."""
    reference = container(job).reference
    if "://" not in reference:
        raise Conflict(f"{runtime} runs images of a registry, not the file {reference}", field="application.container_runtime")
    return reference.split("://", 1)[1]


def newer(program: str, least: str, needed_for: str) -> Line:
    """The runtime is of that version or a later one: else it would refuse an option of the script."""
    told = f"$({program} --version 2>&1 | grep -oE '[0-9]+([.][0-9]+)+' | head -n 1)"
    check = ours(f"printf '%s\\n' {least} \"{told}\" | sort -V -C")
    advice = f"{program} is older than {least}, which is needed for {needed_for}: correct its version in the system file"
    return need(check, OLD_RUNTIME, advice)


def locate(job: JobSpec, folder: str, name: str) -> Line:
    """``MODAK_IMAGE``: the caller's own absolute path, else ``name`` in the folder that the variable names (or the submit directory)."""
    own = container(job).reference
    where: tuple[Part, ...] = (own,) if own.startswith("/") else (Expansion(folder), f"/{name}")
    return assign("MODAK_IMAGE", *where)


def part() -> Line:
    """A name beside the image's that nothing has, for a tool that takes no name of a half image, which a killed job leaves."""
    return ours('MODAK_PART="$(mktemp -u -- "${MODAK_IMAGE:?}.part.XXXXXX")"')


def runtime_present(program: str) -> Line:
    """The runtime's command is found."""
    advice = f"{program} is not on this node: load the module that provides it, or ask the site which container runtime to use"
    return need(quiet(run("command", "-v", program)), NO_RUNTIME, advice)


def image_present(test: str, how: str) -> Line:
    """The image can be read; ``how`` says where it comes from."""
    return need(run("test", test, word(IMAGE)), NO_IMAGE, IMAGE, f" cannot be read: {how}")


def genuine(job: JobSpec, present: tuple[Line, ...], verify: Line | None = None) -> tuple[Line, ...]:
    """The image is the one that the catalogue means, where the site asks: by the digest of its file, else by ``verify``.

    ``present``: what must be there to tell, so that a missing file is not called a wrong one.
    """
    has = container(job)
    if not (has.policy and has.policy.require_signature) or has.to_build:
        return ()
    compare = has.digest and ours(f"printf '%s  %s\\n' {has.digest[7:]} \"${{MODAK_IMAGE}}\" | sha256sum --check --strict --status -")
    check = compare or verify
    advice = " is not the image in the catalogue, or has no known signature: the site requires that images are verified"
    return (*present, need(check, NOT_GENUINE, IMAGE, advice)) if check else ()


def unproven(job: JobSpec, compared: tuple[Line, ...] = ()) -> tuple[Notice, ...]:
    """A warning where the site asks for a comparison and none (of :func:`genuine`) is made: the job must not look as if it were."""
    has = container(job)
    if compared or has.to_build or not (has.policy and has.policy.require_signature):
        return ()
    why = f"the site requires that images are verified before they run, but {has.runtime} cannot verify {has.reference} here"
    return (Notice(field="application.container_runtime", message=f"{why}: it runs unverified"),)


def origin(job: JobSpec, folder: str, fetched: str) -> str:
    """What to do about a missing image, which is ``fetched`` so. Where jobs start without the submitter's environment, a variable would
    not arrive."""
    arrives = not (job.system and job.system.export_policy == "NONE")
    place = f"set {folder} to its directory" if arrives else "copy it into the directory from which you submit"
    return fetched if container(job).to_build else f"{fetched}, or {place}" if fetched else place


def fetch(job: JobSpec, pull: Callable[[str], str], kinds: Collection[str] = ("docker",)) -> str:
    """Where the image comes from, as far as its reference says; empty for a file.

    ``pull`` says how the runtime fetches an image of a registry by its name there; ``kinds``: schemes of which it can.
    """
    has = container(job)
    if has.to_build:
        return "submit the build job first, which creates the image"
    kind, _, name = has.reference.rpartition("://")
    if kind == "private":
        return "get it from its owner (private image)"
    return pull(name) if kind in kinds else ""
