"""The script of a build job: it makes the image from its recipe, then the application from its sources, on one node, without MPI.

A build command is code of the request: it is written to a file and runs inside the container, never in the script's own shell.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from modak.dsl import Notice
from modak.errors import RequestError
from modak.jobs.spec import BuildSpec, JobSpec, Resources
from modak.runtimes import Runtime
from modak.runtimes.image import PART
from modak.script.bash import Event, Expansion, Line, command_line, either, need, run, shell_function, write
from modak.script.parts import Script, exports, finish, modules, preamble, section, valid
from modak.script.shelltext import substituted
from modak.script.staging import NOT_STAGED
from modak.script.surroundings import plugins_of
from modak.text import words
from modak.text.grammar import SourceText
from modak.text.words import OVER_HTTPS, Word

FOLDER: Final = "modak-build"
FILE: Final = "modak-build.sh"
_ALONE: Final[Mapping[str, Any]] = dict.fromkeys(("reservation", "node_list", "array", "output", "error", "dependency", "begin", "signal"))
"""Attributes of the run that its build, a job of its own, does not have."""
_NOT_FETCHED: Final = "the sources could not be fetched: check that they exist, and that this node can reach them"
_SUBMODULES: Final = ". Submodules of a repository are fetched over HTTPS only; for others, give a directory that contains them"
_ARCHIVE: Final = re.compile(r"\.(tar(\.[a-z0-9]+)?|tgz|tbz2|txz)$")
_OTHER_ARCHIVE: Final = re.compile(r"\.(zip|7z|rar|gz|bz2|xz|zst)$")
_ONE_FILE: Final = re.compile(r"\.(c|cc|cpp|cxx|cu|f|for|f[0-9]{2}|py)$", re.IGNORECASE)
_IN_A_FORGE: Final = re.compile(r"https://[^/]+/[^/]+/[^/]+")
"""``https://HOST/OWNER/NAME``: a repository, whatever its name ends with (``llama.cpp``)."""


def render_build(job: JobSpec, build: BuildSpec, scheduler_name: str) -> Script:
    """The script that makes the job's image, its application, or both. Raises as :func:`modak.script.job.render` does."""
    scheduler, _, runtime = plugins_of(job, scheduler_name)
    one = _one_node(job, build)
    body = (
        *preamble(scheduler.submit_dir),
        *modules(one),
        *section("environment", exports({"BUILD_PARALLELISM": str(build.parallelism)})),
        *(section("the image", runtime.setup(one)) if one.container else ()),
        *(_image(one, build, runtime) if build.definition else ()),
        *_application(one, build, runtime),
    )
    return finish(one, scheduler, body, _offline(one, build), "" if build.definition else runtime.fetching(one))


def _one_node(job: JobSpec, build: BuildSpec) -> JobSpec:
    """A job of one process on one of the job's nodes, which starts as soon as it can."""
    says, there = job.attributes, build.elsewhere
    has = there.resources if there else job.resources
    cores = has.cores_per_node
    resources = Resources(
        threads_per_rank=cores,
        cores_per_rank=cores,
        threads_per_core=has.threads_per_core,
        memory_per_node=has.memory_per_node,
        memory_per_core=has.memory_per_core,
        memory_share=has.memory_share,
    )
    attributes = replace(
        says,
        name=f"{says.name[:58]}-build",
        queue=build.queue or says.queue,
        partition=build.queue or says.partition,
        qos=build.qos,
        wall_time_s=build.wall_time_s,
        constraint=there.constraint if there else says.constraint,
        **_ALONE,
    )
    return replace(
        job,
        resources=resources,
        resource_directives=there.resource_directives if there else job.resource_directives,
        attributes=attributes,
        launcher="none",
        storage=None,
        staging=None,
        container=replace(job.container, gpu_vendor=None, host_mpi=None) if job.container else None,
    )


def _image(job: JobSpec, build: BuildSpec, runtime: Runtime) -> tuple[Line, ...]:
    """Writes the recipe to a file and runs the runtime's build commands.

    Another recipe has another file: of jobs that start in one directory at the same time, each builds its own.
    """
    end = delimiter(build.definition)
    file = f"{FOLDER}/recipe-{end.partition('_')[2]}"
    text = write(file, build.definition, end)
    lines = (run("mkdir", "-p", "--", FOLDER), text, *runtime.build(job, file, FOLDER))
    return section("write the recipe, build the image", lines)


def _application(job: JobSpec, build: BuildSpec, runtime: Runtime) -> Iterator[Line]:
    """Fetches the sources once, and runs the build command in their directory; that of a single file is the one of submission."""
    if build.command and job.container:
        yield from section("checks", runtime.preflight(job))
    if build.source and posixpath.normpath(build.source) != ".":  # "." is built where it lies: it cannot be copied into itself
        place = _source(build.source)
        folder = _folder(build.source)
        yield from section("fetch the sources, unless they are there", _fetch(build.source, place, folder))
        if not _is_one_file(build.source):
            yield _enter(build.source, folder)
    if build.command:
        code = substituted(build.command)
        inside = ("bash", "-e", FILE)
        wrapped = runtime.wrap(job, inside)
        start = command_line(wrapped, (len(wrapped) - len(inside),))
        where = ", inside the container" if job.container else ""
        yield from section(f"the build command{where}", (write(FILE, code, delimiter(code)), start))


def _enter(source: str, folder: str) -> Line:
    """To the directory of the sources. A path that ends like a source file may be one: it is built where it lies."""
    there = run("cd", "--", folder)
    return either(run("test", "-f", folder), there) if _may_be_a_file(source) else there


def _may_be_a_file(source: str) -> bool:
    return not source.startswith("https://") and bool(_ONE_FILE.search(source))


def _source(source: str) -> Word:
    field = "application.build.src"
    (found,) = words.parse(valid(SourceText, source, field), field=field)
    return found


def _is_one_file(source: str) -> bool:
    """Whether the sources are a single file, to be downloaded.

    >>> _is_one_file("https://example.org/team/solver/raw/main/solver.c"), _is_one_file("https://example.org/team/llama.cpp")
    (True, False)
    """
    return source.startswith("https://") and bool(_ONE_FILE.search(source)) and not _IN_A_FORGE.fullmatch(source)


def _fetch(source: str, place: Word, folder: str) -> tuple[Line, ...]:
    """Fetches a repository, an archive, a directory or, as published requests name it, a single source file; from elsewhere over HTTPS
    only, with certificates checked. This includes submodules, whose addresses the repository chooses.

    What is fetched gets its name when it is complete. What is there is used as it is, so that a second build fetches nothing.
    """
    remote = words.lead(place).startswith("https://")
    end = words.tail(place)
    alone, archive = _is_one_file(source), _ARCHIVE.search(end)
    repository = (remote or end.endswith(".git")) and not (archive or alone)
    if _OTHER_ARCHIVE.search(end) and not archive:
        raise RequestError("an archive is a tar file (.tar, .tar.gz, .tgz, .tar.xz, …)", field="application.build.src")
    made: tuple[Line, ...]
    if alone:
        made = (command_line(("curl", *OVER_HTTPS, "--output", PART, "--", place)),)
    elif archive:
        file: Word = f"{folder}.archive" if remote else place
        load = (command_line(("curl", *OVER_HTTPS, "--output", file, "--", place)),) if remote else ()
        unpack = command_line(("tar", "-x", "-f", file, "-C", PART, "--strip-components=1"))
        made = (*load, run("mkdir", "--", PART), unpack)
    elif repository:
        paths = () if remote else ("-c", "protocol.file.allow=user")
        git = ("git", "-c", "protocol.allow=never", "-c", "protocol.https.allow=always", *paths, "-c", "http.sslVerify=true")
        clone = command_line((*git, "clone", "--depth", "1", "--", place, PART))
        made = (clone, run(*git, "-C", PART, "submodule", "--quiet", "update", "--init", "--recursive"))
    else:
        made = (command_line(("cp", "-R", "-H", "--", place, PART)),)
    fetch = shell_function("modak_fetch", _part(folder), *made, run("mv", "-T", "--", PART, folder))
    advice = _NOT_FETCHED + (_SUBMODULES if repository else "")
    kind = "-f" if alone else "-e" if _may_be_a_file(source) else "-d"
    return (fetch, need(either(run("test", kind, folder), run("modak_fetch")), NOT_STAGED, advice))


def _part(folder: str) -> Line:
    """``MODAK_PART``, a temporary name: an interrupted fetch must not leave a directory that looks complete."""
    template = f"{folder}.part.XXXXXX"
    text = f"$(mktemp -u -- {template})"
    asked: Event = ("command", ("mktemp",), ("-u",), ("--",), (template,))
    return Line(f'MODAK_PART="{text}"', (("set", "MODAK_PART", (Expansion(text),)), ("command_substitution",), asked))


def _folder(source: str) -> str:
    """The directory's name, as ``git clone`` would choose it, without a leading hyphen or dot.

    >>> _folder("https://example.org/team/app/"), _folder("${HOME}/app.tar.gz"), _folder("/code/app/.git"), _folder("/code/.-")
    ('app', 'app', 'app', 'sources')
    """
    name = _ARCHIVE.sub("", re.sub(r"/?\.git/?$", "", source).rstrip("/").rsplit("/", 1)[-1])
    return re.sub(r"[^A-Za-z0-9._+-]", "-", name).lstrip(".-") or "sources"


def delimiter(text: str) -> str:
    """The last line of a here-document: a hash of the text, which the text cannot contain (otherwise the checker would refuse the script).

    >>> delimiter("RUN make")
    'MODAK_7ddbb5a26e6dbd2f'
    """
    return "MODAK_" + hashlib.sha256(text.encode()).hexdigest()[:16]


def _offline(job: JobSpec, build: BuildSpec) -> tuple[Notice, ...]:
    reached = job.system.internet if job.system and build.internet is None else build.internet
    if not job.system or reached is not False:
        return ()
    advice = "run the build script with bash on a machine with internet access, and copy the result"
    field = "optimisation.enable_opt_build" if build.definition else "application.build"
    return (Notice(field=field, message=f"compute nodes of {job.system.name} have no internet: {advice}"),)
