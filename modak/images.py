"""From the labels that are wanted to the image that carries them.

A choice is set inclusion, made deterministic: of the images that carry every wanted label and can run on the target, the
most specific one. What had to be given up is a warning; what decided is one line each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Final

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from modak.dsl import Notice
from modak.facts import Image
from modak.grammar import image_file, version_range
from modak.imagefit import Wanted, criteria, has_version, is_there, obstacle

__all__ = ["Catalogue", "ImageChoice", "Wanted", "catalogue", "choose", "obstacle"]

VERSION_FIELD: Final = "optimisation.options.version"


@dataclass(frozen=True)
class Catalogue:
    """Images, indexed by the framework that they carry."""

    by_framework: Mapping[str, tuple[Image, ...]] = field(default_factory=dict)

    @property
    def frameworks(self) -> tuple[str, ...]:
        """Frameworks that some image carries."""
        return tuple(sorted(self.by_framework))


@dataclass(frozen=True)
class ImageChoice:
    """The image (``None``: there is none, or one has to be built), how well it fits, and why it was taken."""

    image: Image | None = None
    exact: bool = False
    """It carries everything that was wanted."""
    recipe_version: str | None = None
    """The version to build where ``image`` is ``None`` and a recipe exists."""
    decisions: tuple[str, ...] = ()
    warnings: tuple[Notice, ...] = ()


def catalogue(images: Iterable[Image]) -> Catalogue:
    """The images by framework; their order does not matter."""
    ordered = sorted(images, key=lambda image: (image.labels.framework, image.reference))
    return Catalogue({name: tuple(group) for name, group in groupby(ordered, key=lambda image: image.labels.framework)})


def choose(images: Catalogue, wanted: Wanted, preferred: str | None = None) -> ImageChoice:
    """The image for a request; ``preferred`` is the reference that the evidence was measured with, taken where it fits.

    What no image carries is given up in a fixed order, each with a warning: the version (the nearest is taken), graph
    compilers, MPI, the distribution; the last two only where no recipe would bring them, and nothing where a source build
    was asked for and a recipe exists. Never given up: framework, architecture, accelerator, what processor and GPU can
    run, what the runtime reads.
    """
    if wanted.runtime == "none":
        return ImageChoice(exact=True, decisions=("image: none, the job runs without a container",))
    known = images.by_framework.get(wanted.framework, ())
    for asked, given_up in _relaxed(wanted):
        able = [image for image in known if obstacle(image, asked) is None]
        if able:
            return _chosen(able, asked, given_up, preferred, len(known))
    return _nothing(known, wanted)


def _relaxed(wanted: Wanted) -> Iterator[tuple[Wanted, tuple[Notice, ...]]]:
    """The wish, then the wish with ever less in it, each with what was given up."""
    yield wanted, ()
    if _builds(wanted):
        return
    bare, given_up = replace(wanted, compilers=()), tuple(_without(compiler, wanted) for compiler in wanted.compilers)
    if given_up:
        yield bare, given_up
    if wanted.recipe_version:
        return
    if wanted.mpi:
        text = f"no image of {wanted.framework} has an MPI that works with {wanted.mpi}: ranks may not find each other, test on two nodes"
        bare, given_up = replace(bare, mpi=None), (*given_up, Notice(field="target.name", message=text))
        yield bare, given_up
    if wanted.distribution:
        text = f"no image of {wanted.framework} that runs there carries {wanted.distribution}; it must come with the application"
        yield replace(bare, distribution=None), (*given_up, Notice(field="optimisation.options.distribution", message=text))


def _without(compiler: str, wanted: Wanted) -> Notice:
    text = f"no image of {wanted.framework} that runs there carries {compiler}; the job runs without it"
    return Notice(field=f"optimisation.options.{compiler}", message=text)


def _chosen(able: Sequence[Image], wanted: Wanted, given_up: tuple[Notice, ...], preferred: str | None, known: int) -> ImageChoice:
    """The best of those that can serve: of the version asked for, else a build of it, else of the nearest version."""
    matching = [image for image in able if has_version(image, wanted.version)]
    fitting = matching or _nearest(able, wanted.version)
    ranked = sorted(fitting, key=lambda image: tuple(value for _, value in criteria(image, wanted)))
    best = next((image for image in ranked if image.reference == preferred), ranked[0])
    exact = bool(matching) and not given_up and _fits_fully(best, wanted)
    if wanted.recipe_version and (why_build := _why_build(best, wanted, exact=exact)):
        return ImageChoice(recipe_version=wanted.recipe_version, decisions=(f"image: to be built, {why_build}",))
    measured = best.reference == preferred
    why = "the one that was measured" if measured else f"the best of {len(fitting)} that fit, of {known} of {wanted.framework}"
    lines = (_line(best, wanted, why), *(() if measured else _runner_up(best, ranked, wanted)), _standing(best))
    warnings = (*given_up, *(() if matching else (_version_warning(best, able, wanted),)), *_mpi_warning(best, wanted))
    return ImageChoice(best, exact, None, lines, warnings)


def _why_build(best: Image, wanted: Wanted, *, exact: bool) -> str | None:
    """Why a recipe serves better than the best image, where it does."""
    if wanted.opt_build and not exact:
        return f"none carries {_described(wanted)} built from source for that processor; nearest: {best.reference}"
    return None if is_there(best) else f"the only one that fits is private: {best.reference}"


def _nothing(known: Sequence[Image], wanted: Wanted) -> ImageChoice:
    """No image can serve: a recipe where there is one, with the reasons by number."""
    reasons = Counter(why for image in known if (why := obstacle(image, wanted)))
    counted = "; ".join(f"{count} {why}" for why, count in sorted(reasons.items(), key=lambda item: (-item[1], item[0])))
    what = f"none of the {len(known)} images of {wanted.framework} fits: {counted}" if known else f"none of {wanted.framework} is known"
    if wanted.recipe_version:
        return ImageChoice(recipe_version=wanted.recipe_version, decisions=(f"image: to be built, {what}",))
    message = f"{what}; name an image of your own in application.container_runtime, or add one to the catalogue"
    return ImageChoice(decisions=(f"image: {what}",), warnings=(Notice(field="optimisation.framework", message=message),))


def _builds(wanted: Wanted) -> bool:
    """A source build was asked for, and there is a recipe for it."""
    return wanted.opt_build and wanted.recipe_version is not None


def _fits_fully(best: Image, wanted: Wanted) -> bool:
    """Everything wanted, a source build included where one was asked for; an image for GPUs is not what a CPU job wants."""
    built = not wanted.opt_build or (best.labels.source == "opt-build" and is_there(best))
    return built and best.labels.accelerator == wanted.accelerator


def _nearest(able: Sequence[Image], wanted: str | None) -> list[Image]:
    """Images of the version nearest to one that none has.

    That is the lowest above with the same major number, else the highest below, else the lowest above.
    """
    asked = _anchor(version_range(wanted or ">=0"))
    versions = sorted({Version(image.labels.version) for image in able})
    above, below = [item for item in versions if item >= asked], [item for item in versions if item < asked]
    nearest = next((item for item in above if item.major == asked.major), below[-1] if below else above[0])
    return [image for image in able if Version(image.labels.version) == nearest]


def _anchor(versions: SpecifierSet) -> Version:
    """The version that a range is about: its lowest bound."""
    bounds = [Version(spec.version.removesuffix(".*")) for spec in versions if spec.operator != "!="]
    return min(bounds, default=Version("0"))


def _version_warning(best: Image, able: Sequence[Image], wanted: Wanted) -> Notice:
    there = ", ".join(map(str, sorted({Version(image.labels.version) for image in able})))
    text = f"no image carries {wanted.framework} {wanted.version}; {best.labels.version} is used (there are: {there})"
    return Notice(field=VERSION_FIELD, message=text)


def _mpi_warning(best: Image, wanted: Wanted) -> tuple[Notice, ...]:
    if wanted.mpi is None or best.labels.mpi == wanted.mpi:
        return ()
    text = (
        f"the image is built with {best.labels.mpi}, the job runs with {wanted.mpi}: both have the MPICH binary interface, "
        "but their versions and process managers must fit; test on two nodes before a long run"
    )
    return (Notice(field="target.name", message=text),)


def _line(best: Image, wanted: Wanted, why: str) -> str:
    labels = best.labels
    extras = [*labels.compilers, *labels.distribution, *([labels.mpi] if labels.mpi else [])]
    inside = f"{labels.framework} {labels.version} ({labels.source}{', with ' + ', '.join(extras) if extras else ''})"
    device = "processors" if labels.accelerator == "none" else labels.accelerator
    built = f", compiled for {labels.microarchitecture}" if labels.microarchitecture else ""
    spare = "; it is made for GPUs, which this job does not use" if labels.accelerator != wanted.accelerator else ""
    return f"image: {best.reference}, {inside} for {device}{built}: {why}{spare}"


def _runner_up(best: Image, ranked: Sequence[Image], wanted: Wanted) -> tuple[str, ...]:
    """The second choice, and the first criterion that decided against it."""
    if len(ranked) < 2:
        return ()
    pairs = zip(criteria(best, wanted), criteria(ranked[1], wanted), strict=True)
    why = next((name for (name, ours), (_, theirs) in pairs if ours != theirs), "they are equal")
    return (f"image: not {ranked[1].reference}: the chosen one is better in that {why}",)


def _standing(best: Image) -> str:
    """What the catalogue says of having run it."""
    if best.verified_on:
        return f"image: run and seen to carry its labels on {best.verified_on.isoformat()}"
    note = f"; {best.notes[0]}" if best.notes else ""
    if not is_there(best):
        return f"image: private, whoever submits this must bring it as {image_file(best.reference)}{note}"
    return f"image: unverified, nobody has recorded running it{note}"


def _described(wanted: Wanted) -> str:
    """``tensorflow 2.1 with xla for nvidia``."""
    extras = [*wanted.compilers, *([wanted.distribution] if wanted.distribution else [])]
    gpu = f" for {wanted.accelerator}" if wanted.accelerator != "none" else ""
    return f"{wanted.framework}{' ' + wanted.version if wanted.version else ''}{' with ' + ' and '.join(extras) if extras else ''}{gpu}"
