"""Orders for images: the recipe's text, the runtime, and the labels that the image is to have."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from shlex import quote
from typing import Any, Final, Literal, get_args

from modak.errors import NotFound, RequestError
from modak.facts import ImageLabels
from modak.images.probe import inspection
from modak.recipes.archives import SUMS, Archive, Download, checksums, copy_names, downloads
from modak.recipes.forms import form_of
from modak.recipes.image import image_labels
from modak.recipes.offline import Mirrors, base_file, base_images, offline
from modak.recipes.plan import Recipe
from modak.recipes.text import text_for
from modak.text.faults import validated
from modak.text.grammar import is_image_file

Runtime = Literal["apptainer", "charliecloud"]
RUNTIMES: Final[tuple[Runtime, ...]] = get_args(Runtime)
"""The runtimes for which images are built."""
FurtherForm = Literal["directory", "tar"]
"""Forms of Charliecloud's images besides SquashFS."""
_LABEL: Final = re.compile(r"\bmodak\.(?P<name>[a-z_]+)[ =]+[\"']?(?P<value>[A-Za-z0-9._+,-]+)", re.MULTILINE)
_OUTSIDE: Final = re.compile(r"^(?:%+(?:setup|pre)\b|\{\{)", re.MULTILINE | re.IGNORECASE)
"""A section of a definition file that runs on the machine that builds (Apptainer reads several % as one), or a build argument that may
stand for the section's name."""
_LISTS: Final = ("compilers", "distribution")
_TEXTS: Final = ("framework", "version", "source", "accelerator", "microarchitecture", "mpi", "mpi_version", "python", "cuda")


@dataclass(frozen=True)
class Order:
    """One image to build."""

    runtime: Runtime
    text: str
    """The definition file or Dockerfile, as the tool gets it."""
    name: str
    """The image file's name without its ending."""
    claims: Mapping[str, Any]
    """The labels that the recipe states: fields of :class:`modak.facts.ImageLabels`, at least ``framework``."""
    context: str = ""
    """The folder that a Dockerfile copies from, and that paths of a definition file are relative to; empty: nothing is copied."""
    bases: tuple[tuple[str, str], ...] = ()
    """Base images that Charliecloud imports from files: the file, and its name in the text."""
    also: tuple[FurtherForm, ...] = ()
    source: str = "a recipe of MODAK's"

    @property
    def key(self) -> str:
        """Equal for orders of the same image, which are one build."""
        what = {name: value for name, value in asdict(self).items() if name not in ("claims", "source")}
        return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()

    def as_json(self) -> dict[str, Any]:
        """A JSON object that :func:`order_from` takes."""
        return asdict(self)


@dataclass(frozen=True)
class Site:
    """The replacements for the internet at a site: folders, and the address of a package index. Empty: there is none."""

    bases: str = ""
    wheels: str = ""
    index: str = ""
    sources: str = ""

    def mirrors(self, text: str, runtime: Runtime) -> Mirrors:
        """The replacements for a recipe's downloads. Raises :class:`modak.errors.RequestError` where one is missing."""
        if not (self.bases or self.wheels or self.index or self.sources):
            settings = "MODAK_WHEELS_DIR, MODAK_PACKAGE_INDEX, MODAK_SOURCES_DIR or MODAK_BASE_IMAGES_DIR"
            raise RequestError(f"no replacement for the internet is configured: set {settings}", field="offline")
        found = {image: self._base(image, runtime) for image in base_images(text, form_of(runtime))} if self.bases else {}
        archives = {each.address: self._archive(each) for each in downloads(text)} if self.sources else {}
        return Mirrors(found, self.wheels if "pip" in text else "", self.index, archives)

    def _base(self, image: str, runtime: Runtime) -> str:
        """The file or directory of a base image. Raises :class:`modak.errors.RequestError` that says which name it has to have.

        A directory with devices is refused: Charliecloud would copy what can be read from ``/dev/full``, which has no end, and Apptainer
        could not make them without being root.
        """
        endings = (".sif", "") if runtime == "apptainer" else (".tar.gz", ".tar", "")
        for ending in endings:
            if (place := Path(self.bases, base_file(image, ending))).exists():
                if any(each.is_char_device() and not each.is_symlink() for each in place.glob("dev/*")):
                    remove = f"find {quote(str(place))}/ -xdev -type c -delete"  # not of the machine, if its own are mounted there
                    fault = f"{place}/dev has device files, which no build can copy: unmount what is mounted there, then {remove}"
                    raise RequestError(fault, field="MODAK_BASE_IMAGES_DIR")
                return str(place)
        wanted = f"{base_file(image, endings[0])} or the directory {base_file(image, '')}"
        raise RequestError(f"{self.bases} has no {wanted}: put {image} there", field="MODAK_BASE_IMAGES_DIR")

    def _archive(self, wanted: Download) -> Archive:
        """The site's copy of a download. Raises :class:`modak.errors.RequestError` where it is missing, or has no checksum."""
        known = copy_names(wanted.address)
        folder, sums = Path(self.sources), Path(self.sources, SUMS)
        found = next((folder / name for name in known if (folder / name).is_file()), None)
        if found is None:
            raise RequestError(f"{folder} has no {' or '.join(known)}: put {wanted.address} there", field="MODAK_SOURCES_DIR")
        site = checksums(sums.read_text(encoding="utf-8", errors="replace")).get(found.name, "") if sums.is_file() else ""
        if not site and not (wanted.sha256 and found.name == known[0]):
            fault = f"{sums} has no line for {found.name}, and the recipe knows no checksum of it: 'sha256sum {found.name} >>{SUMS}' there"
            raise RequestError(fault, field="MODAK_SOURCES_DIR")
        return Archive(str(found), "" if site == wanted.sha256 else site)


def order_from(document: Mapping[str, Any]) -> Order:
    """The order of a JSON object from :meth:`Order.as_json`."""
    pairs = tuple((file, name) for file, name in document["bases"])
    return Order(**{**document, "bases": pairs, "also": tuple(document["also"])})


def of_recipe(made: Recipe, runtime: str, site: Site | None = None, also: Sequence[FurtherForm] = ()) -> Order:
    """The order for one of MODAK's own recipes; ``site``: it is built without internet."""
    kind = builder_of(runtime)
    text, _ = text_for(made, kind)
    claims = image_labels(made).model_dump(mode="json", exclude_none=True, exclude_unset=True)
    order = Order(kind, text, made.image_file.removesuffix(".sif"), claims, also=_forms(kind, also))
    return order if site is None else _without_internet(order, site)


def of_text(text: str, runtime: str, name: str, context: Path, site: Site | None = None, also: Sequence[FurtherForm] = ()) -> Order:
    """The order for a user's recipe, whose labels (``modak.framework``, …) state what the image contains.

    Raises :class:`modak.errors.RequestError` for a name that no image file can have, where ``modak.framework`` is missing, or
    ``modak.version`` of what no test shows, for a label with a value that it cannot have, and for sections that run on the building
    machine.
    """
    kind = builder_of(runtime)
    if not is_image_file(f"{name}.sif"):
        why = f"the image would be called {name!a:.80}, as the recipe's file, or a Dockerfile's folder"
        raise RequestError(f"{why}: rename that; allowed are letters, digits and ._+-", field="recipe")
    if kind == "apptainer" and (found := _OUTSIDE.search(text)):
        raise RequestError(
            f"what begins with {found[0]} may run on the machine that builds, outside of any container: put commands into %post, indented",
            field="recipe",
        )
    order = Order(kind, text, name, _claims(text), str(context.resolve()), also=_forms(kind, also), source="a recipe of its user's")
    return order if site is None else _without_internet(order, site)


def builder_of(runtime: str) -> Runtime:
    """The runtime whose tool builds images for a runtime. Raises :class:`modak.errors.RequestError` where there is none."""
    if runtime in ("apptainer", "singularity"):
        return "apptainer"
    if runtime == "charliecloud":
        return "charliecloud"
    raise RequestError(f"no image is built for {runtime!a} here; allowed: apptainer, singularity, charliecloud", field="runtime")


def recipe_of(answer: Mapping[str, Any]) -> tuple[Recipe, str]:
    """The recipe and the runtime in an answer. Raises :class:`modak.errors.NotFound` where nothing has to be built."""
    plan = answer["job"]["plan"]
    if not plan.get("recipe"):
        image = (plan.get("image") or {}).get("reference", "none")
        raise NotFound(f"that request needs no build: its image is {image}", field="optimisation")
    fields = {name: value for name, value in plan["recipe"].items() if name in Recipe.model_fields}
    return Recipe.model_validate(fields), plan["configuration"]["runtime"]


def _forms(runtime: Runtime, also: Sequence[FurtherForm]) -> tuple[FurtherForm, ...]:
    if also and runtime != "charliecloud":
        raise RequestError("only Charliecloud's images are converted; Apptainer reads one form, SIF", field="also")
    return tuple(sorted(set(also)))


def _claims(text: str) -> dict[str, Any]:
    """The labels that a recipe states. They are checked here, because a build takes long, and runs the image to compare them at its end."""
    found = {match["name"]: match["value"] for match in _LABEL.finditer(text)}
    if "framework" not in found:
        raise RequestError(
            "no label states what the image contains: add modak.framework, for instance modak.framework=pytorch", field="recipe"
        )
    texts = {name: value for name, value in found.items() if name in _TEXTS}
    lists = {name: found[name].split(",") for name in _LISTS if name in found}
    stated = {"source": "pip", **texts, **lists}
    labels = validated(ImageLabels, {"version": "0", **stated}, RequestError, "modak")
    claims = labels.model_dump(mode="json", include=set(stated))
    # a version that is not stated is found out by running the image, if there is a test for what it contains
    if "version" not in claims and inspection(claims) is None:
        raise RequestError(f"no test shows the version of {claims['framework']} in an image: add the label modak.version", field="recipe")
    return claims


def _without_internet(order: Order, site: Site) -> Order:
    form = form_of(order.runtime)
    mirrors = site.mirrors(order.text, order.runtime)
    text = offline(order.text, form, mirrors)
    if form == "definition":
        return replace(order, text=text)
    if order.context and mirrors.context:
        raise RequestError("a Dockerfile that copies files of its own cannot have wheels or sources as its context too", field="offline")
    files = tuple((file, name) for name, file in mirrors.bases.items())
    return replace(order, text=text, bases=files, context=mirrors.context or order.context)
