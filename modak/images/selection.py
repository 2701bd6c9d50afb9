"""From requested labels to the image that has them.

Of the images that have every wanted label and can run on the target, the best one by fixed criteria is chosen. Labels that no
image has are given up with a warning; the reasons for the choice are one line each.

A catalogue groups images by kind. Images of one kind have the same obstacles, so one of them is checked for all, and the choice
does not take longer if there are more images of a kind.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import nsmallest
from itertools import chain, compress, islice, product
from typing import Any, Final

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from modak.cache import Cache
from modak.dsl import Notice
from modak.facts import Image
from modak.images.suitability import Wanted, allows, criteria, is_there, kind_key, mpi_inside, obstacle, pinned, within_kind
from modak.recipes.plan import plan
from modak.text.grammar import image_file, version_range

VERSION_FIELD: Final = "optimisation.options.version"
MOST_LISTED: Final = 12
"""Versions that a message lists; of more, the nearest."""


@dataclass(frozen=True)
class ImageChoice:
    """The image (``None``: there is none, or one has to be built), whether it has all that is wanted, and the reasons."""

    image: Image | None = None
    exact: bool = False
    """It has everything that was wanted."""
    recipe_version: str | None = None
    """The version to build where ``image`` is ``None`` and a recipe exists."""
    without: Mapping[str, Notice] = field(default_factory=dict)
    """Graph compilers that were wanted and given up, with the warning about each."""
    decisions: tuple[str, ...] = ()
    warnings: tuple[Notice, ...] = ()


@dataclass(frozen=True)
class ImageKind:
    """Images that differ only in their version, in what else is known of their contents, and in their names."""

    versions: Mapping[Version, tuple[Image, ...]]
    """By version, the newest first; the images of one version with the best first."""
    count: int
    public: Mapping[Version, tuple[Version, ...]]
    """Version without its local part (``+…``) -> the versions with any local part."""

    @property
    def any(self) -> Image:
        """Any one of them: their obstacles are the same."""
        return next(iter(self.versions.values()))[0]

    def within(self, wanted: str | None) -> Fitting:
        """Those in a version range."""
        if wanted is None:
            return Fitting(self.count, _first_two(self.versions.values()))
        exact = pinned(wanted)
        among = self.versions if exact is None else self.public.get(exact, ())
        return self.of([version for version in among if allows(wanted, version)])

    def of(self, versions: Iterable[Version]) -> Fitting:
        """Those of the given versions, the newest first."""
        there = [self.versions[version] for version in versions if version in self.versions]
        return Fitting(sum(map(len, there)), _first_two(there))


@dataclass(frozen=True)
class Fitting:
    """The number of images of a kind that fit, and the best two of them."""

    count: int
    best: tuple[Image, ...]


@dataclass(frozen=True)
class Catalogue:
    """Images by framework, grouped by kind."""

    by_framework: Mapping[str, tuple[ImageKind, ...]] = field(default_factory=dict)
    by_reference: Mapping[str, Image] = field(default_factory=dict, repr=False)
    cache: Cache = field(default_factory=lambda: Cache(1024), compare=False)

    def count(self, framework: str) -> int:
        """The number of images of a framework."""
        return sum(kind.count for kind in self.by_framework.get(framework, ()))


def catalogue(images: Iterable[Image]) -> Catalogue:
    """The images by framework and kind; their order does not matter."""
    kinds: dict[str, dict[object, list[Image]]] = defaultdict(lambda: defaultdict(list))
    named: dict[str, Image] = {}
    for image in images:
        kinds[image.labels.framework][kind_key(image)].append(image)
        named[image.reference] = image
    return Catalogue({name: tuple(map(_kind, found.values())) for name, found in kinds.items()}, named)


def _kind(images: Sequence[Image]) -> ImageKind:
    versions: dict[Version, list[Image]] = defaultdict(list)
    public: dict[Version, dict[Version, None]] = defaultdict(dict)
    for image in sorted(images, key=within_kind):
        version = Version(image.labels.version)
        versions[version].append(image)
        public[Version(version.public)][version] = None
    ordered = {version: tuple(found) for version, found in versions.items()}
    return ImageKind(ordered, len(images), {version: tuple(found) for version, found in public.items()})


def _first_two(groups: Iterable[tuple[Image, ...]]) -> tuple[Image, ...]:
    return tuple(islice(chain.from_iterable(groups), 2))


def choose(images: Catalogue, wanted: Wanted) -> ImageChoice:
    """The image for a request.

    What no image carries is given up in a fixed order, each with a warning: the version (the nearest is taken), graph
    compilers, MPI, the distribution; only the version where a recipe would bring the others. Without a distribution, nothing
    says that the framework's ranks use MPI: it goes first. Never given up: framework, architecture, accelerator, what
    processor and GPU can run, what the runtime reads.
    """
    if wanted.runtime == "none":
        return ImageChoice(exact=True, decisions=("image: none, the job runs without a container",))
    measured = [found for reference, _ in wanted.seconds if (found := images.by_reference.get(reference))]
    return images.cache.get(wanted, lambda: _choose(images.by_framework.get(wanted.framework, ()), wanted, measured))


def newest_like(images: Catalogue, image: Image) -> Image:
    """The newest image of the same framework for the same accelerator and architecture that can be pulled; ``image`` itself if there is
    none."""
    like = (image.labels.accelerator, image.labels.architecture)
    kinds = [
        kind for kind in images.by_framework[image.labels.framework] if (kind.any.labels.accelerator, kind.any.labels.architecture) == like
    ]
    others = [one for kind in kinds for one in kind.within(None).best if is_there(one)]
    return max((image, *others), key=lambda one: Version(one.labels.version))


def passed_over(image: Image, best: Image | None, wanted: Wanted) -> str:
    """Why an image of the catalogue was not chosen, but ``best`` (``None``: one that has to be built). What both lack is no reason."""
    labels = image.labels
    if labels.framework != wanted.framework:
        return f"it is an image of {labels.framework}"
    if why := obstacle(image, wanted, best):
        return f"it is an image {why}"
    if wanted.version and not allows(wanted.version, Version(labels.version)):
        return f"it has version {labels.version}, and the request asks for {wanted.version}"
    if best is None:
        private = "it has another MPI than the measured runs" if is_there(image) else "it is private, and one can be built instead"
        return "the request asks for a source build" if wanted.opt_build else private
    return f"the chosen one is preferred because {_preferred(best, image, wanted)}"


def _choose(known: Sequence[ImageKind], wanted: Wanted, measured: Sequence[Image]) -> ImageChoice:
    for gone in _sacrifices(wanted):
        asked = replace(wanted, inside=replace(wanted.inside, **{name: _WITHOUT[name] for name in gone if name in _WITHOUT}))
        fitting = (kind for kind in known if obstacle(kind.any, asked) is None)
        able = [kind for kind in fitting if "version" in gone or kind.within(wanted.version).count]
        if able:
            runs = [image for image in measured if image.labels.framework == asked.framework and obstacle(image, asked) is None]
            without = _compilers_given_up(known, wanted) if "compilers" in gone else {}
            given_up = (*without.values(), *_given_up(gone, wanted))
            return replace(_chosen(able, asked, given_up, sum(kind.count for kind in known), runs), without=without)
    return _nothing(known, wanted)


_WITHOUT: Final[Mapping[str, Any]] = {"compilers": (), "mpi": None, "distribution": None}
"""What can be given up besides the version, as :class:`modak.recipes.plan.Extras` without it."""


def _sacrifices(wanted: Wanted) -> Iterator[tuple[str, ...]]:
    """Names of the labels to give up: none, then ever more; a later name only where no choice of the earlier ones is enough."""
    if wanted.recipe_version:
        yield from _ever_more(("version",), wanted)
    elif wanted.inside.distribution:
        yield from _ever_more(("version", "compilers", "mpi"), wanted)
        yield from (("distribution", *gone) for gone in _ever_more(("mpi", "version", "compilers"), wanted))
    else:
        yield from _ever_more(("mpi", "version", "compilers"), wanted)


def _ever_more(order: Sequence[str], wanted: Wanted) -> Iterator[tuple[str, ...]]:
    """The subsets of the labels that are wanted, those of earlier labels first."""
    said = {"version": wanted.version, **vars(wanted.inside)}
    names = [name for name in order if said[name]]
    for gone in product((False, True), repeat=len(names)):  # the last one changes first
        yield tuple(compress(reversed(names), gone))


def _given_up(gone: Collection[str], wanted: Wanted) -> tuple[Notice, ...]:
    """A warning for each label that was given up, apart from the version and graph compilers."""
    notices = []
    if "mpi" in gone:
        family = f"an MPI compatible with {wanted.inside.mpi}"
        text = f"no suitable image of {wanted.framework} has {family}: ranks may not connect, test on two nodes"
        notices.append(Notice(field="target.name", message=text))
    if "distribution" in gone:
        text = f"no suitable image of {wanted.framework} contains {wanted.inside.distribution}; the application must provide it"
        notices.append(Notice(field="optimisation.options.distribution", message=text))
    return tuple(notices)


def _compilers_given_up(known: Sequence[ImageKind], wanted: Wanted) -> dict[str, Notice]:
    names = wanted.inside.compilers
    what = f"{' and '.join(names)} together; the job runs without them" if len(names) > 1 else f"{''.join(names)}; the job runs without it"
    message = f"no suitable image of {wanted.framework} contains {what}{_compilers_to_be_had(known, wanted)}"
    return {name: Notice(field=f"optimisation.options.{name}", message=message) for name in names}


def _compilers_to_be_had(known: Sequence[ImageKind], wanted: Wanted) -> str:
    """How to get the graph compilers that no image has together: by a source build; or which of them alone."""
    if _has_source_build(wanted):
        return " (with optimisation.enable_opt_build one is built from source)"
    each = {name: replace(wanted, inside=replace(wanted.inside, compilers=(name,))) for name in wanted.inside.compilers}
    alone = [name for name, asked in each.items() if any(obstacle(kind.any, asked) is None for kind in known)]
    return f" (there are images with {' or '.join(alone)} alone: switch off the rest)" if alone else ""


def _has_source_build(wanted: Wanted) -> bool:
    """Whether there is a recipe of all that is wanted, built from source."""
    return plan(wanted.framework, wanted.version, "opt-build", wanted.hardware, wanted.inside) is not None


def _chosen(able: Sequence[ImageKind], wanted: Wanted, given_up: tuple[Notice, ...], known: int, measured: Sequence[Image]) -> ImageChoice:
    """The best of the suitable images: of the wanted version, else a build of it, else of the nearest version.

    Images that were ``measured`` compete with the best of each kind: between equal ones the predicted time decides.
    """
    matching = [found for kind in able if (found := kind.within(wanted.version)).count]
    fitting = matching or _nearest(able, wanted)
    first = list(chain.from_iterable(found.best for found in fitting))
    among = {Version(image.labels.version) for image in first}
    looked_at = dict.fromkeys((*first, *(image for image in measured if Version(image.labels.version) in among)))
    best, *others = nsmallest(2, looked_at, key=lambda image: tuple(value for _, value in criteria(image, wanted)))
    exact = bool(matching) and not given_up and _fits_fully(best, wanted)
    if wanted.recipe_version and (why_build := _why_build(best, wanted, exact=exact)):
        return ImageChoice(recipe_version=wanted.recipe_version, decisions=(f"image: to be built, {why_build}",))
    fit = sum(found.count for found in fitting)
    why = f"{f'the best of {fit} suitable images' if fit > 1 else 'the only suitable image'} ({known} known for {wanted.framework})"
    lines = (_line(best, wanted, why), *_runner_up(best, others, wanted), _standing(best, wanted))
    other_version = () if matching else (_version_warning(best, able, wanted),)
    warnings = (*given_up, *other_version, *_mpi_warning(best, wanted), *_build_warning(best, wanted))
    return ImageChoice(best, exact, decisions=lines, warnings=warnings)


def _why_build(best: Image, wanted: Wanted, *, exact: bool) -> str | None:
    """Why an image should be built instead of using the best one; ``None``: it should not."""
    if wanted.opt_build and not exact:
        return f"no image contains {_described(wanted)} built from source for that CPU; nearest: {best.reference}"
    return None if is_there(best) else f"the only suitable image is private: {best.reference}"


def built_instead(choice: ImageChoice, private: Image, version: str, wanted: Wanted) -> ImageChoice:
    """The choice of a recipe for that version in place of the private image that was chosen. It has all that is wanted, perhaps but for the
    version and a source build."""
    line = f"image: to be built, the best suitable image is private: {private.reference}"
    lacks = {"optimisation.enable_opt_build", *(() if version_fits(wanted, version) else (VERSION_FIELD,))}
    warnings = tuple(one for one in choice.warnings if one.field in lacks)
    return ImageChoice(recipe_version=version, without=choice.without, decisions=(line,), warnings=warnings)


def version_fits(wanted: Wanted, version: str) -> bool:
    """Whether a version is one that the request allows."""
    return wanted.version is None or allows(wanted.version, Version(version))


def _build_warning(best: Image, wanted: Wanted) -> Iterator[Notice]:
    """A warning if an image built from source is wanted, and there is neither one to be had nor a recipe."""
    if wanted.opt_build and best.labels.source != "opt-build":
        asked = f"{wanted.framework}{f' {wanted.version}' if wanted.version else ''}"
        text = f"no source build of {asked} can be pulled, and there is no recipe for it"
        yield Notice(field="optimisation.enable_opt_build", message=f"{text}; an image from {best.labels.source} is used")


def _nothing(known: Sequence[ImageKind], wanted: Wanted) -> ImageChoice:
    """The choice without a suitable image: a recipe if there is one, and how many images were unsuitable for which reason."""
    reasons: Counter[str] = Counter()
    for kind in known:
        reasons[obstacle(kind.any, wanted) or ""] += kind.count
    counted = "; ".join(f"{count} {why}" for why, count in sorted(reasons.items(), key=lambda item: (-item[1], item[0])) if why)
    count = sum(kind.count for kind in known)
    named = wanted.framework
    what = f"none of the {count} images of {named} is suitable: {counted}" if known else f"no image of {named} is known"
    if wanted.recipe_version:
        return ImageChoice(recipe_version=wanted.recipe_version, decisions=(f"image: to be built, {what}",))
    ways = "name an image of your own in application.container_runtime, or add one to the catalogue"
    if _has_source_build(wanted):
        ways = f"with optimisation.enable_opt_build one is built from source; or {ways}"
    return ImageChoice(decisions=(f"image: {what}",), warnings=(Notice(field="optimisation.framework", message=f"{what}; {ways}"),))


def _fits_fully(best: Image, wanted: Wanted) -> bool:
    """Whether it is built from source if that is wanted, is for the accelerator of the job, and has the MPI of the measured containers."""
    built = not wanted.opt_build or (best.labels.source == "opt-build" and is_there(best))
    return built and best.labels.accelerator == wanted.hardware.accelerator and wanted.own_mpi in (None, mpi_inside(best))


def _nearest(able: Sequence[ImageKind], wanted: Wanted) -> list[Fitting]:
    """Images of the version nearest to the wanted one, which none has; of those for the job's accelerator, if there are any.

    The nearest version is the lowest above with the same major number, else the highest below, else the lowest above.
    """
    asked = _anchor(version_range(wanted.version or ">=0"))
    able = [kind for kind in able if kind.any.labels.accelerator == wanted.hardware.accelerator] or able
    versions = _versions(able)
    above, below = [item for item in versions if item >= asked], [item for item in versions if item < asked]
    nearest = next((item for item in above if item.major == asked.major), below[-1] if below else above[0])
    return [found for kind in able if (found := kind.of([nearest])).count]


def _versions(kinds: Iterable[ImageKind]) -> list[Version]:
    return sorted({version for kind in kinds for version in kind.versions})


def _anchor(versions: SpecifierSet) -> Version:
    """The lowest bound of a range."""
    bounds = [Version(spec.version.removesuffix(".*")) for spec in versions if spec.operator != "!="]
    return min(bounds, default=Version("0"))


def _version_warning(best: Image, able: Sequence[ImageKind], wanted: Wanted) -> Notice:
    versions, used = _versions(able), Version(best.labels.version)
    first = max(0, min(versions.index(used) - MOST_LISTED // 2, len(versions) - MOST_LISTED))
    there = ", ".join(map(str, versions[first : first + MOST_LISTED]))
    among = "available" if len(versions) <= MOST_LISTED else f"the nearest of {len(versions)}"
    text = f"no suitable image contains {wanted.framework} {wanted.version}; {best.labels.version} is used instead ({among}: {there})"
    return Notice(field=VERSION_FIELD, message=text)


def _mpi_warning(best: Image, wanted: Wanted) -> Iterator[Notice]:
    if wanted.inside.mpi not in (None, best.labels.mpi):
        text = (
            f"the image is built with {best.labels.mpi}, but the job runs with {wanted.inside.mpi}: both have the MPICH ABI, "
            "but their versions and process managers must match; test on two nodes before a long run"
        )
        yield Notice(field="target.name", message=text)


def _line(best: Image, wanted: Wanted, why: str) -> str:
    labels = best.labels
    extras = [*labels.compilers, *labels.distribution, *([labels.mpi] if labels.mpi else [])]
    inside = f"{labels.framework} {labels.version} ({labels.source}{', with ' + ', '.join(extras) if extras else ''})"
    device = "CPUs" if labels.accelerator == "none" else labels.accelerator
    built = f", compiled for {labels.microarchitecture}" if labels.microarchitecture else ""
    spare = "; it is built for GPUs, which this job does not use" if labels.accelerator != wanted.hardware.accelerator else ""
    return f"image: {best.reference}, {inside} for {device}{built}: {why}{spare}"


def _runner_up(best: Image, others: Sequence[Image], wanted: Wanted) -> Iterator[str]:
    """The second choice, and the first criterion that decided against it."""
    if others:
        why = _preferred(best, others[0], wanted)
        yield f"image: second best is {others[0].reference}; the chosen one is preferred because {why}"


def _preferred(best: Image, other: Image, wanted: Wanted) -> str:
    """The first criterion that decided."""
    pairs = zip(criteria(best, wanted), criteria(other, wanted), strict=True)
    return next((name for (name, ours), (_, theirs) in pairs if ours != theirs), "they are equal")


def _standing(best: Image, wanted: Wanted) -> str:
    """Whether the image was verified, or how it can be had."""
    if best.verified_on:
        return f"image: verified on {best.verified_on.isoformat()}: it ran, and contains what its labels say"
    note = f"; {best.notes[0]}" if best.notes else ""
    if is_there(best) and (unseen := [line.partition(":")[0] for line in best.findings if line.endswith(": unknown")]):
        return f"image: not verified: running it did not show its {', '.join(unseen)}{note}"
    if not is_there(best):
        name = f" (as {image_file(best.reference)})" if wanted.runtime in ("apptainer", "singularity") else ""
        return f"image: private: get it from its owner before you submit{name}{note}"
    return f"image: unverified: no run of it is recorded{note}"


def _described(wanted: Wanted) -> str:
    """``tensorflow 2.1 with xla for nvidia``."""
    extras = [*wanted.inside.compilers, *([wanted.inside.distribution] if wanted.inside.distribution else [])]
    gpu = f" for {wanted.hardware.accelerator}" if wanted.hardware.accelerator != "none" else ""
    return f"{wanted.framework}{' ' + wanted.version if wanted.version else ''}{' with ' + ' and '.join(extras) if extras else ''}{gpu}"
