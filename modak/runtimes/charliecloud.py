"""Charliecloud: an image is a directory (SquashFS from 0.26 on), read-only; what its ``ch-run`` can do depends on the version.

If the site's version is not known, only options are used that every version since 0.9 has. A directory can be bound only over an
existing directory of a read-only image: the submit directory is bound to ``/mnt/0``, other directories of the job to ``/mnt/1`` and
so on. The home directory is not bound (the default from 0.31 on).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from packaging.version import Version

from modak.dsl import Notice
from modak.jobs.spec import JobSpec
from modak.launchers.family import apart
from modak.runtimes import hostmpi, image
from modak.runtimes.base import Runtime
from modak.script.bash import Line, assign, need, run
from modak.script.shelltext import ours
from modak.text.grammar import SQUASHFS_ENDINGS
from modak.text.words import Word, replaced, variable, word

DEFAULT_ENVIRONMENT: Final = Version("0.27")
"""The first version in which ``--set-env`` without a value reads the image's own environment."""
HOME_STAYS_OUT: Final = Version("0.31")
"""Earlier versions bind the home directory over the image's own ``/home`` unless ``--no-home`` is given, which 0.38 no longer has."""
CDI: Final = "0.42"
"""The first version with ``--cdi``, which binds what the node's CDI files say about a GPU."""
_KIND: Final = {"nvidia": "nvidia.com/gpu", "amd": "amd.com/gpu", "intel": "intel.com/gpu"}
"""What CDI files of each vendor's tool call its GPUs."""
_USER: Final = 'export USER="${USER:-$(id -un)}"'
"""0.31 and 0.38 fail without it (0.21 and 0.45 do not), and not every scheduler sets it."""
_PREPARE: Final = (
    "Charliecloud provides the GPUs if the nodes have CDI files (cdi in the system file); "
    "otherwise run ch-fromhost --nvidia on the image once, on a node with the driver"
)
_TOGETHER: Final = (
    "the ranks of a node share one mount of the image file, which ends with the rank that mounted it: "
    "if ranks end at different times, use the image as a directory"
)
"""Seen with 0.31, 0.38 and 0.45: a rank that then reads from the image ends with a bus error. A container for each rank is no solution:
MPICH on UCX, which copies between processes, fails in it."""
_APPTAINERS: Final = ("oras://", "library://", "shub://")
"""Images that Apptainer alone fetches."""
_SUBMIT: Final = "/mnt/0"


@dataclass(frozen=True)
class Charliecloud(Runtime):
    """``ch-run``."""

    name: str = "charliecloud"
    aliases: tuple[str, ...] = ("ch-run",)
    reads: frozenset[str] = frozenset(("docker", "private", *SQUASHFS_ENDINGS))
    version_command: tuple[str, ...] = ("ch-run", "--version")

    def warnings(self, job: JobSpec) -> tuple[Notice, ...]:
        """GPUs need a prepared image, unless the nodes have CDI files; ranks share the mount of an image file; an image directory has no
        digest to verify."""
        vendor = image.container(job).gpu_vendor
        unprepared = vendor not in (None, "intel") and not _cdi(job)  # Intel's images bring the driver's libraries; /dev is there
        said = (*((_PREPARE,) if unprepared else ()), *((_TOGETHER,) if _squashed(job) and _peers(job) else ()))
        return (*image.unproven(job, self._genuine(job)), *image.notices(*said))

    def fetching(self, job: JobSpec) -> str:
        """The image is pulled into Charliecloud's own storage, then converted; what Apptainer alone reads is unpacked by Apptainer."""
        own, to_build = image.container(job).reference, image.container(job).to_build
        unpacked = file_name(job) if own.startswith(_APPTAINERS) else image.renamed(own) if "://" not in own else own
        if unpacked != own and not to_build:
            return f"apptainer build --sandbox {unpacked} {own} makes it"
        convert = f"ch-convert -i ch-image -o {_form(job)}"
        return image.fetch(job, lambda name: f"ch-image pull {name} and {convert} {name} {file_name(job)} make it")

    def setup(self, job: JobSpec) -> tuple[Line, ...]:
        """``$CHARLIECLOUD_DIR/<name>``, else ``$SINGULARITY_DIR/<name>``, else the submit directory."""
        located = image.locate(job, variable("CHARLIECLOUD_DIR", ":-${SINGULARITY_DIR:-${PWD}}"), file_name(job))
        group = (assign("MODAK_GROUP", variable("SLURM_JOB_ID", ":-${PBS_JOBID:-$$}")),) if _peers(job) else ()
        return (ours(_USER), located, *self._genuine(job), *group, *hostmpi.setup(job))

    def preflight(self, job: JobSpec) -> tuple[Line, ...]:
        """Checks of the command, the image and its environment, the host MPI and its mount point in the image."""
        squash = _squashed(job)
        checks = [image.runtime_present("ch-run"), *(() if self._genuine(job) else (self._image_present(job),))]
        if not squash:
            file = word(image.IMAGE, "/ch/environment")
            advice = "/ch/environment is not in the image: create it, empty if the image sets no variables"
            checks.append(need(run("test", "-r", file), image.NO_IMAGE, image.IMAGE, advice))
        else:
            checks.append(_newer("0.26", "an image in one file"))
        if (version := _version(job)) and version >= DEFAULT_ENVIRONMENT:
            checks.append(_newer(str(DEFAULT_ENVIRONMENT), "the image's own environment"))
        if _cdi(job):
            checks.append(_newer(CDI, "a GPU by CDI"))
        return (*checks, *image.bind_paths(job), *_targets(job), *hostmpi.preflight(job, None if squash else image.IMAGE))

    def _image_present(self, job: JobSpec) -> Line:
        return image.present("-r" if _squashed(job) else "-d", image.how_to_get(job, "CHARLIECLOUD_DIR", self.fetching(job)))

    def _genuine(self, job: JobSpec) -> tuple[Line, ...]:
        return image.genuine(job, (self._image_present(job),)) if _squashed(job) else ()

    def wrap(self, job: JobSpec, command: tuple[Word, ...]) -> tuple[Word, ...]:
        """The image's environment comes first, so that the host's library path takes precedence if the host MPI is bound.

        Words and variables that name a bound directory get its place in the container.
        """
        has = image.container(job)
        at = {name: f"/mnt/{number}" for number, name in enumerate(image.places(job, command), start=1)}
        binds: list[Word] = [word(variable("PWD"), f":{_SUBMIT}")]
        binds += [word(variable(name), f":{target}") for name, target in at.items()]
        binds += [f"{path}:{path}" for path in has.policy.binds]
        inner = tuple(replaced(each, {**at, "PWD": _SUBMIT, "TMPDIR": "/tmp"}) for each in command)  # noqa: S108 - ch-run binds it there
        bound = (word("--bind=", each) for each in (*binds, *hostmpi.binds(job)))
        options = (*_home(job), *_environment(job), *_cdi(job), *bound, f"--cd={_SUBMIT}", *_joined(job))
        inside = hostmpi.inside(job, inner, at)
        return ("ch-run", *options, image.IMAGE, "--", *inside)

    def build(self, job: JobSpec, definition: Word, context: Word) -> tuple[Line, ...]:
        """Built in Charliecloud's own storage without privileges; the image gets its name when it is complete.

        An existing directory is renamed, not removed: a job may be running in it.
        """
        called = image.tag(file_name(job))
        return (
            image.runtime_present("ch-image"),
            run("ch-image", "build", "--force", "-t", called, "-f", definition, context),
            image.part(),
            run("ch-convert", "-i", "ch-image", "-o", _form(job), called, image.PART),
            image.complete() if _squashed(job) else image.complete("-T", "--backup=numbered"),
        )


def _newer(least: str, needed_for: str) -> Line:
    """A check of ``ch-run``'s version: an earlier one would refuse an option of the script."""
    check = ours(f"printf '%s\\n' {least} \"$(ch-run --version 2>&1 | grep -oE '[0-9]+([.][0-9]+)+' | head -n 1)\" | sort -V -C")
    advice = f"ch-run is older than {least}, which is needed for {needed_for}: correct its version in the system file"
    return need(check, image.OLD_RUNTIME, advice)


def _targets(job: JobSpec) -> tuple[Line, ...]:
    """Checks that the read-only image has a mount point for each bound directory: the job's at ``/mnt``, the site's at their own paths."""
    if _squashed(job):
        return ()
    mnt = [f"/mnt/{at}" for at in range(1 + len(image.places(job, job.command)))]
    own = ours(f"[[ {' && '.join(f'-d ${{MODAK_IMAGE:?}}{path}' for path in mnt)} ]]")
    advice = " is not in the image: create it there, empty; "
    return (
        need(own, image.NO_BIND, " or ".join(mnt), advice + "directories of the job are bound there"),
        *(
            need(run("test", "-d", word(image.IMAGE, path)), image.NO_BIND, path, advice + "the site binds this directory into containers")
            for path in image.container(job).policy.binds
        ),
    )


def file_name(job: JobSpec) -> str:
    """The directory's name: the file's, without ``.sif``; SquashFS stays a file."""
    return image.renamed(image.container(job).file)


def _squashed(job: JobSpec) -> bool:
    return image.container(job).file.endswith(SQUASHFS_ENDINGS)


def _form(job: JobSpec) -> str:
    """What ch-convert calls the image's form."""
    return "squash" if _squashed(job) else "dir"


def _version(job: JobSpec) -> Version | None:
    version = image.container(job).policy.version
    return Version(version) if version else None


def _environment(job: JobSpec) -> tuple[Word, ...]:
    """The image's own variables: by the option without a value if the version has it, else from the file in the image."""
    version = _version(job)
    if version and version >= DEFAULT_ENVIRONMENT:
        return ("--set-env",)
    return () if _squashed(job) else (word("--set-env=", image.IMAGE, "/ch/environment"),)


def _home(job: JobSpec) -> tuple[Word, ...]:
    version = _version(job)
    return ("--no-home",) if version and version < HOME_STAYS_OUT else ()


def _cdi(job: JobSpec) -> tuple[Word, ...]:
    """The GPU driver's libraries, if the site's nodes have CDI files."""
    has = image.container(job)
    kind = _KIND.get(has.gpu_vendor or "") if has.policy.cdi else None
    return (f"--cdi={kind}",) if kind else ()


def _peers(job: JobSpec) -> int:
    """Number of ranks of a node that start one by one; 0 if there is only one."""
    here = job.resources.ranks_per_node
    return here if apart(job) and here > 1 else 0


def _joined(job: JobSpec) -> tuple[Word, ...]:
    """All ranks of a node in one container: otherwise MPI cannot use shared memory between them.

    The group is named after the job, because the default, Slurm's step number, is the same in other jobs on a shared node.
    """
    here = _peers(job)
    return ("--join", f"--join-ct={here}", word("--join-tag=", variable("MODAK_GROUP"))) if here else ()
