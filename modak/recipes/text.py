"""A recipe as text: Singularity definition file or Dockerfile, written by hpccm.

hpccm inserts values verbatim, so they are typed before. It keeps output format, Linux and processor in module variables, and
guesses them for an unknown base image: so one recipe is written at a time, from a known state, and a guess is an error. No step
runs outside of the image (``%setup``).
"""

from __future__ import annotations

import re
import shlex
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from threading import Lock
from types import SimpleNamespace
from typing import Any, Final

from packaging.version import Version

from modak.errors import RequestError
from modak.recipes.forms import BETWEEN, Form, form_of
from modak.recipes.image import base_of
from modak.recipes.linux import HPCCM, LINUX
from modak.recipes.mpilibs import LIBRARIES
from modak.recipes.pins import DIGESTS, verify_checksum
from modak.recipes.plan import DEVICES, Recipe, toolchain
from modak.recipes.steps import steps

_LOCK: Final = Lock()


def written(made: Recipe, form: Form) -> str:
    """The text of a recipe; the same recipe gives the same text. Comments below the base image say what may change between builds."""
    body = _body(made, form)
    notes = "".join(f"# {line}\n" for line in (_title(made), *_notes(made, body)))
    return re.sub(r"^(From: |FROM )[^\n]*\n", lambda base: f"{base[0]}{notes}", body, count=1, flags=re.MULTILINE)


def text_for(made: Recipe, runtime: str) -> tuple[str, str]:
    """The text that a runtime builds from, and the usual name of its file."""
    form = form_of(runtime)
    return written(made, form), "Dockerfile" if form == "dockerfile" else made.image_file.removesuffix(".sif") + ".def"


def recipe_warnings(made: Recipe, form: Form) -> tuple[str, ...]:
    """What to know before building it, one line each: what may change between builds, and what was never built."""
    return _notes(made, _body(made, form))


def _title(made: Recipe) -> str:
    """The image, in one line."""
    beside = ", ".join((*made.add_ons, *filter(None, (made.distribution, made.mpi and f"{made.mpi} {made.mpi_version}"))))
    asked = f" (asked for: {made.asked})" if made.asked and made.asked != made.version else ""
    target = f", compiled for {made.microarchitecture}" if made.microarchitecture else ""
    more = f", with {beside}" if beside else ""
    return f"{made.framework} {made.version}{asked}, {made.variant}, for {DEVICES[made.accelerator]}{target}{more}"


def _notes(made: Recipe, body: str) -> tuple[str, ...]:
    note = toolchain(made).note
    return (*((note,) if note else ()), *(f"unpinned: {what}" for what in unpinned(body)))


def unpinned(text: str) -> Iterator[str]:
    """What may change between two builds of a recipe: images without a digest, downloads without a checksum, packages.

    >>> list(unpinned("FROM debian:12\\n"))
    ['the base image debian:12 has no digest, its owner may replace it']
    """
    yield from _of_the_base(text)
    if "apt-get install" in text:
        yield "packages of the Linux distribution are those of the day, signed by it"
    yield from _of_downloads(text)
    for line in re.findall(r"pip3 install ([^\n]*)", text):
        if "--require-hashes" not in line and (wheels := _unheld(line, text)):
            yield f"wheels without checksums here: {' '.join(wheels)}"


def _of_the_base(text: str) -> Iterator[str]:
    """What may change of the image that a recipe starts from."""
    image = re.search(r"^(?:From: |FROM )(\S+)$", text, re.MULTILINE)
    if image and image[1] in DIGESTS:
        yield f"the base image {image[1]} is named by its tag, since Charliecloud reads no digests; {DIGESTS[image[1]]} is meant"
    elif image and "@sha256:" not in image[1] and not image[1].endswith(".sif"):
        yield f"the base image {image[1]} has no digest, its owner may replace it"


def _of_downloads(text: str) -> Iterator[str]:
    """Files and repositories that no checksum or commit holds."""
    for address in re.findall(r"(?:wget|curl) [^\n]*?(https?://\S+)", text):
        file = address.rsplit("/", 1)[-1]
        if "sha256sum" not in re.split(r"(?:wget|curl) ", text.split(address, 1)[1], maxsplit=1)[0]:
            yield f"{file} has no checksum here"
    for options, address in re.findall(r"git clone ([^\n]*?)(https://\S+)", text):
        if "rev-parse" not in text.split(address, 1)[1][:200]:
            tag = re.search(r"--branch (\S+)", options)
            yield f"{address} at {tag[1] if tag else 'its main branch'} has no commit here"


def _unheld(line: str, text: str) -> list[str]:
    """What a line of pip3 takes from a package index without a checksum: what it names and no list with checksums holds, and what the
    wheels that it was given need."""
    words = shlex.split(re.sub(r"--index-url \S+|&& *\\?$", "", line))
    files = [word for word in words if word == "." or ".whl" in word]
    named = [word for word in words if not word.startswith("-") and word not in files]
    held = [word for word in named if re.search(rf"'{re.escape(re.split(r'[<>=]', word)[0])}==\S+ --hash=", text)]
    needed = ["dependencies of what was built"] if files and "--no-deps" not in line else []
    return [*(word for word in named if word not in held), *needed]


def _body(made: Recipe, form: Form) -> str:
    """The text without the comments.

    A search path that ends with an unset variable would contain the current directory, so ``:$LD_LIBRARY_PATH`` becomes
    ``${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}``. Checksums of hpccm's downloads are verified.
    """
    with _hpccm(form) as write:
        stage = write.stage()
        for step in steps(made, toolchain(made), write):
            stage += step
        text = str(stage)
        _not_guessed(write.config, made)
    text = _compared(text, form)
    return re.sub(r":\$(LD_LIBRARY_PATH|LIBRARY_PATH|CPATH)\b", r"${\1:+:$\1}", text).rstrip("\n") + "\n"


def _compared(text: str, form: Form) -> str:
    """The text with a check of its checksum after each download of an MPI library's sources."""
    known = {address: sha for library in LIBRARIES.values() for address, sha in library.sources().items()}
    for get, address, name in re.findall(r"(wget -q -nc -P /var/tmp (\S+/(\S+)))", text):
        if address in known:
            text = text.replace(get, f"{get}{BETWEEN[form]}{verify_checksum(address, f'/var/tmp/{name}', known)}")  # noqa: S108 (in the image)
    return text


def _not_guessed(config: Any, made: Recipe) -> None:
    """Raise where hpccm did not write for the recipe's Linux and processor, but for its own defaults."""
    linux, version, processor = str(config.g_linux_distro), config.g_linux_version, config.get_cpu_architecture()
    wanted = base_of(made).linux
    if not linux.endswith("UBUNTU") or version != Version(LINUX[HPCCM.get(wanted, wanted)].version) or processor != made.architecture:
        raise RequestError(f"the recipe came out for {linux} {version} on {processor}, not for {wanted} on {made.architecture}")


@cache
def _load() -> None:
    """Import hpccm without what Python says of escape sequences in its sources where it has to compile them. Only once: it switches off the
    warnings of all threads, and two of them at a time could leave them off."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import_module("hpccm")


@contextmanager
def _hpccm(form: Form) -> Iterator[SimpleNamespace]:
    """The parts of hpccm that recipes use, for one recipe at a time, from a known state."""
    with _LOCK:
        _load()
    import hpccm.config
    from hpccm.building_blocks import apt_get, mpich, openmpi
    from hpccm.common import container_type, cpu_arch, linux_distro
    from hpccm.primitives import baseimage, environment, label, shell
    from hpccm.toolchain import toolchain as compilers

    state = {
        "g_cpu_arch": cpu_arch.X86_64,
        "g_cpu_target": None,
        "g_ctype": container_type.SINGULARITY if form == "definition" else container_type.DOCKER,
        "g_linux_distro": linux_distro.UBUNTU,
        "g_linux_version": Version("22.04"),
        "g_singularity_version": Version("3.8"),
        "g_wd": "/var/tmp",  # noqa: S108 (inside the image that is built)
        "g_singularity_tmp_fallback": False,
    }
    parts = {"apt_get": apt_get, "mpich": mpich, "openmpi": openmpi, "baseimage": baseimage, "environment": environment}
    with _LOCK:
        for name, value in state.items():
            setattr(hpccm.config, name, value)
        yield SimpleNamespace(**parts, label=label, shell=shell, compilers=compilers, stage=hpccm.Stage, config=hpccm.config, form=form)
