"""A recipe's text for a site without internet: base image and source archives from folders, Python packages from wheels or a mirror.

Both forms are changed in the same way, also recipes of users. Packages of the Linux distribution come from the mirror that the base
image names in its ``sources.list``, so a site's base images have to name the site's mirror, or contain the packages.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from posixpath import commonpath, dirname, relpath
from typing import Final

from modak.errors import RequestError
from modak.recipes import archives
from modak.recipes.archives import Archive
from modak.recipes.forms import Form
from modak.recipes.pins import by_tag

WHEELS: Final = "/opt/modak-wheels"
"""The folder of wheels in the image while it is built."""
_BASE: Final = re.compile(
    r"^(?P<bootstrap>bootstrap:[ \t]*docker[ \t]*\n)(?P<key>from:[ \t]*)(?P<image>\S+)[ \t]*\n", re.MULTILINE | re.IGNORECASE
)
_STAGE: Final = re.compile(r"^FROM[ \t]+(?P<image>[^\s-]\S*)(?P<alias>[ \t]+AS[ \t]+\S+)?[ \t]*\n", re.MULTILINE | re.IGNORECASE)
_COMMENTS: Final = re.compile(r"(?:#[^\n]*\n)*")
_OF_REGISTRY: Final = re.compile(r"^%post\n[ \t]+\. /\.singularity\.d/env/10-docker\*\.sh\n", re.MULTILINE)
"""hpccm's line for bases of a registry; an image from a file has no such file."""
_INDEX: Final = re.compile(r"--(?:extra-)?index-url[= ]\S+")
_ADDRESS: Final = re.compile(r"(?:https?|git)://(?P<host>[^\s/\"'@:]+)")


@dataclass(frozen=True)
class Mirrors:
    """What a site has in place of the internet. An empty field: nothing."""

    bases: Mapping[str, str] = field(default_factory=dict)
    """Files of base images, by their names in the text."""
    wheels: str = ""
    """A folder of wheels."""
    index: str = ""
    """The address of a package index."""
    sources: Mapping[str, Archive] = field(default_factory=dict)
    """Copies of what steps download, by address."""

    @property
    def context(self) -> str:
        """The folder that a Dockerfile copies from: the deepest one with all wheels and archives; empty: it copies nothing."""
        folders = [*filter(None, (self.wheels,)), *(dirname(each.file) for each in self.sources.values())]
        return commonpath(folders) if folders else ""

    @property
    def copied(self) -> Mapping[str, str]:
        """Files and folders that are copied into the image while it is built -> their places there."""
        wheels = {self.wheels: WHEELS} if self.wheels else {}
        return wheels | {each.file: f"{archives.FOLDER}/{each.name}" for each in self.sources.values()}

    @property
    def clean(self) -> str:
        """The command that removes the copies from the image; empty: there are none."""
        folders = (*((WHEELS,) if self.wheels else ()), *((archives.FOLDER,) if self.sources else ()))
        return f"rm -rf {' '.join(folders)}" if folders else ""


def offline(text: str, form: Form, mirrors: Mirrors) -> str:
    """The text with its sources replaced. Base images of a Dockerfile keep their names, under which they are imported."""
    return _definition(text, mirrors) if form == "definition" else _dockerfile(text, mirrors)


def base_file(image: str, ending: str) -> str:
    """The file name of a base image: its name and tag, without registry and digest.

    For a digest that is not in :data:`modak.recipes.pins.DIGESTS` its first digits replace the tag.

    >>> (
    ...     base_file("nvcr.io/nvidia/cuda:12.6.3-devel-ubuntu24.04@sha256:0", ".sif"),
    ...     base_file("ubuntu@sha256:00e2e92c075e5ca139d5", ".tar.gz"),
    ... )
    ('cuda-12.6.3-devel-ubuntu24.04.sif', 'ubuntu-00e2e92c075e.tar.gz')
    """
    name, _, digest = by_tag(image).partition("@")
    last = name.rsplit("/", 1)[-1]
    return last.replace(":", "-") + (f"-{digest.removeprefix('sha256:')[:12]}" if digest and ":" not in last else "") + ending


def base_images(text: str, form: Form) -> tuple[str, ...]:
    """The images of registries that the text builds on."""
    found = [match["image"] for match in (_BASE if form == "definition" else _STAGE).finditer(text)]
    stages = {match["alias"].split()[-1] for match in _STAGE.finditer(text) if match["alias"]}
    return tuple(dict.fromkeys(image for image in found if image not in stages and image != "scratch"))


def hosts(text: str) -> tuple[str, ...]:
    """The hosts from which the text's steps still download, in order of names.

    >>> hosts("wget https://www.open-mpi.org/a.tar.bz2 && git clone https://github.com/x/y")
    ('github.com', 'www.open-mpi.org')
    """
    return tuple(sorted({match["host"] for match in _ADDRESS.finditer(text)}))


def _definition(text: str, mirrors: Mirrors) -> str:
    if mirrors.bases:
        text = _BASE.sub(lambda match: f"Bootstrap: localimage\nFrom: {mirrors.bases[match['image']]}\n", text)
        text = _OF_REGISTRY.sub("", text)
    begin = "".join(f"    export {name}={value}\n" for name, value in _variables(mirrors).items())
    files = "".join(f"    {file} {target}\n" for file, target in mirrors.copied.items())
    sections = (f"%files\n{files}\n" if files else "", f"%post\n{begin}\n" if begin else "")
    end = f"\n%post\n    {mirrors.clean}\n" if mirrors.clean else ""
    text = archives.replaced(text, mirrors.sources, "definition")
    first = text.find("\n%") + 1  # its labels, if nothing else, are in a section
    notes = archives.notes(mirrors.sources.values())
    return f"{text[:first].rstrip()}\n{notes}\n{''.join(sections)}{_own_index(text[first:], mirrors)}{end}"


def _dockerfile(text: str, mirrors: Mirrors) -> str:
    """Copies come from the build's context. Variables are set by ``ARG``, which does not stay in the image."""
    lines = "".join(f"ARG {name}={value}\n" for name, value in _variables(mirrors).items())
    copies = "".join(f"COPY {relpath(file, mirrors.context)} {target}\n" for file, target in mirrors.copied.items())
    stages = list(_STAGE.finditer(text))
    if not stages:
        raise RequestError("the Dockerfile has no FROM", field="recipe")
    at = next(_COMMENTS.finditer(text, stages[-1].end())).end()
    end = f"\nRUN {mirrors.clean}\n" if mirrors.clean else ""
    notes = archives.notes(mirrors.sources.values())
    rest = archives.replaced(text[at:], mirrors.sources, "dockerfile")
    return f"{text[:at]}{notes}\n{lines}{copies}{_own_index(rest, mirrors)}{end}"


def _variables(mirrors: Mirrors) -> dict[str, str]:
    """Variables for pip. Its configuration in the base image is ignored, because it could name other indexes."""
    if mirrors.wheels:
        return {"PIP_CONFIG_FILE": "/dev/null", "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": WHEELS}
    return {"PIP_CONFIG_FILE": "/dev/null", "PIP_INDEX_URL": mirrors.index} if mirrors.index else {}


def _own_index(text: str, mirrors: Mirrors) -> str:
    """The text with the site's index in options of pip, which take precedence over variables."""
    return _INDEX.sub("" if mirrors.wheels else f"--index-url {mirrors.index}", text) if mirrors.wheels or mirrors.index else text
