"""The software environment of the application: the image by its labels (or a recipe to build one), and the rules that apply."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from modak import plugins, rules
from modak.choosing.mpi import fitting_mpi, own_mpi, whose_mpi
from modak.choosing.requirements import DEEPSPEED, carrier, compilers_on, distribution, is_build, library, mpi_asked
from modak.choosing.scoring import question, usable_curves
from modak.choosing.shapes import Shape
from modak.choosing.workload import units
from modak.dsl import Notice, Request
from modak.errors import Conflict
from modak.facts import ARCHITECTURES, VENDORS, Facts, Image, Vendor, mpi_family
from modak.frameworks.base import Carrier
from modak.grouping import grouped
from modak.images import selection
from modak.images.selection import Catalogue, ImageChoice
from modak.images.suitability import Wanted, is_there, mpi_inside
from modak.perfmodel import Predictions, predict
from modak.prepared import prepared
from modak.recipes import plan as recipes
from modak.recipes.plan import Extras, Hardware, Recipe
from modak.rules import Applied, Situation
from modak.target import Target
from modak.text.grammar import image_file, overlap


@dataclass(frozen=True)
class Software:
    """The chosen image or recipe, and what rules add."""

    rules: Applied = field(default_factory=Applied)
    image: Image | None = None
    recipe: Recipe | None = None
    own_image: str | None = None
    """The image that the request names, if the catalogue is not used."""
    gpu_vendor: str | None = None
    other_mpi: bool = False
    """Ranks use the image's own MPI, which is not the one that the layout was measured with: see :func:`in_image`."""
    decisions: tuple[str, ...] = ()
    warnings: tuple[Notice, ...] = ()

    @cached_property
    def reference(self) -> str | None:
        """The image that the job runs in; ``None``: no container."""
        if self.image:
            return self.image.reference
        return self.recipe.reference if self.recipe else self.own_image

    @cached_property
    def file(self) -> str:
        """The expected file name of the image; empty without container."""
        return image_file(self.reference) if self.reference else ""

    @property
    def framework_version(self) -> str | None:
        """The framework's version in the image; ``None``: unknown."""
        if self.image:
            return self.image.labels.version
        return self.recipe.version if self.recipe else None

    @property
    def mpi(self) -> str | None:
        """The MPI family in the image; ``None``: unknown."""
        if self.image:
            return mpi_inside(self.image)
        return self.recipe.mpi if self.recipe else None

    @property
    def image_summary(self) -> Mapping[str, Any] | None:
        """The image in the form of the answer."""
        if self.own_image and not self.image and not self.recipe:
            return {"reference": self.own_image, "source": "the request"}
        return self.image.model_dump(mode="json", exclude_none=True) if self.image else None


def choose_software(request: Request, facts: Facts, target: Target, shape: Shape, nodes: int, launcher: str) -> Software:
    """The image or recipe for a chosen shape, and the rules that apply."""
    case = _Case(request, facts, target, shape, nodes)
    choice, recipe = _image_or_recipe(case)
    own = request.application.container_runtime if target.runtime else None
    chosen = Software(image=choice.image, recipe=recipe, own_image=own, gpu_vendor=gpu_vendor(request, target, shape))
    if choice.image or recipe:
        chosen = replace(chosen, other_mpi=own_mpi(shape, request) not in (None, chosen.mpi))
    if own and target.runtime and chosen.reference == own:
        target.check_place(own, "image", "application.container_runtime")
        _check_read(own, target.runtime.name)
    applied = rules.apply(prepared(facts).rulebook, _situation(request, target, in_image(shape, chosen), nodes, launcher, chosen))
    return replace(
        chosen,
        rules=applied,
        decisions=(*_without_catalogue(case, chosen), *_left_out(case), *choice.decisions, *applied.decisions),
        warnings=(
            *(choice.warnings if choice.image or recipe or not request.application.container_runtime else ()),
            *_instead_of_own(case, chosen),
            *_other_mpi(case, chosen),
        ),
    )


def _check_read(own: str, name: str) -> None:
    """Raise :class:`modak.errors.Conflict` for a file, or what only Apptainer fetches, where the runtime runs a registry's images alone."""
    runtime = plugins.named("runtimes", name)
    if runtime is None or not runtime.reads or any(one.startswith(".") for one in runtime.reads):
        return
    scheme, separator, _ = own.partition("://")
    if not (separator and scheme in runtime.reads):
        what = own if separator else f"the file {own}"
        raise Conflict(f"{name} runs images of a registry (docker://), not {what}", field="application.container_runtime")


@dataclass(frozen=True)
class _Case:
    """A shape that a request's job may have on its target, for which an image is looked for."""

    request: Request
    facts: Facts
    target: Target
    shape: Shape
    nodes: int | None = None
    """``None``: images are not compared by the times that were measured in them."""

    @cached_property
    def framework(self) -> Carrier | None:
        """The framework that the image must have, and its version."""
        return carrier(self.request)

    @cached_property
    def catalogue(self) -> Catalogue:
        """The images that the site allows."""
        return prepared(self.facts).catalogue_of(self.target.allowed_images)

    @cached_property
    def compilers(self) -> tuple[str, ...]:
        """Graph compilers that the image must have: those that the request switches on, and the shape's one."""
        own = (self.shape.compiler,) if self.shape.compiler and not is_build(self.shape.compiler) else ()
        return tuple(dict.fromkeys((*compilers_on(self.request), *own)))

    @cached_property
    def extras(self) -> Extras:
        """What the image has to contain beside the framework, as far as recipes know it."""
        host = fitting_mpi(self.target, self.shape, self.request)
        return Extras(
            compilers=self.compilers,
            distribution="horovod" if distribution(self.request) == "horovod" else None,
            mpi=host.family if host else None,
            mpi_version=host.version if host else None,
        )

    @cached_property
    def hardware(self) -> Hardware:
        """What the image must run on."""
        target, processor = self.target, self.target.processor
        asked = ARCHITECTURES[self.request.optimisation.opt_build.cpu_type or "x86"]
        return Hardware(
            accelerator=gpu_vendor(self.request, target, self.shape) or "none",
            compute_capability=target.accelerator.compute_capability if target.accelerator else None,
            architecture=(processor.architecture if processor else None) or asked,
            microarchitecture=processor.microarchitecture if processor else None,
            driver_cuda=target.node.driver_cuda if target.node else None,
        )

    @cached_property
    def from_source(self) -> bool:
        """Whether an image that is built from source is wanted."""
        return self.request.optimisation.enable_opt_build is True or self.shape.opt_build

    def wanted(self, found: Carrier, *, builds: bool = True) -> tuple[Wanted, Recipe | None]:
        """What an image of this framework has to be, and (if ``builds``) the recipe of one that has to be built."""
        hardware, extras, layer = self.hardware, self.extras, distribution(self.request)
        own = own_mpi(self.shape, self.request)
        recipe = _source_build(found, hardware, extras, own) if self.from_source and builds else None
        wanted = Wanted(
            framework=found.framework,
            version=found.version,
            hardware=hardware,
            inside=replace(extras, distribution=DEEPSPEED) if layer == DEEPSPEED and not recipe else extras,
            own_mpi=own,
            opt_build=self.from_source,
            runtime=self.target.runtime.name if self.target.runtime else None,
            recipe_version=recipe.version if recipe else None,
            seconds=_measured(self, self.nodes) if self.nodes else (),
        )
        return wanted, recipe


def _source_build(found: Carrier, hardware: Hardware, extras: Extras, own_mpi: str | None) -> Recipe | None:
    """The recipe of a source build: with the MPI of the measured containers if there is one, unless the host's is bound into it."""
    with_own = replace(extras, mpi=extras.mpi or own_mpi)
    plans = (recipes.plan(found.framework, found.version, "opt-build", hardware, each) for each in (with_own, extras))
    return next(filter(None, plans), None)


def _image_or_recipe(case: _Case) -> tuple[ImageChoice, Recipe | None]:
    """The image of the framework, or the recipe to build one. Without a framework an image of the library that the request names, if it has
    all that is wanted: else the MPI program runs with the libraries of the system."""
    if case.target.runtime is None:
        return ImageChoice(), None
    if case.framework:
        wanted, recipe = case.wanted(case.framework)
        choice = selection.choose(case.catalogue, wanted)
        if choice.image and (own := _instead_of_private(case, choice.image, wanted)):
            return selection.built_instead(choice, choice.image, own.version, wanted), own
        return choice, recipe if choice.image is None and choice.recipe_version else None
    named = library(case.request)
    if named and case.request.application.container_runtime is None:
        choice = selection.choose(case.catalogue, case.wanted(named, builds=False)[0])
        if choice.image and choice.exact:
            return choice, None
    return ImageChoice(), None


def _instead_of_private(case: _Case, image: Image, wanted: Wanted) -> Recipe | None:
    """A recipe in place of an image that only its owners can pull, of the same version, or of the wanted one if the image does not have it;
    ``None``: it can be pulled, the request names it, it is of such a recipe, or there is none with all that is wanted of it."""
    if is_there(image) or image.reference == case.request.application.container_runtime:
        return None
    if wanted.inside.distribution == DEEPSPEED and DEEPSPEED in image.labels.distribution:  # no recipe installs it
        return None
    labels, inside = image.labels, replace(case.extras, mpi=case.extras.mpi or own_mpi(case.shape, case.request))
    versions = [labels.version] if selection.version_fits(wanted, labels.version) else [str(wanted.version), labels.version]
    each = (recipes.simplest(labels.framework, version, case.hardware, inside) for version in versions)
    found = next(filter(None, each), None)
    return found if found and found.reference != image.reference else None


def _measured(case: _Case, nodes: int) -> tuple[tuple[str, float], ...]:
    """Images that results of the application name, each with the time of the request's workload predicted from its results alone.

    Seconds, start-up that results do not include left out.
    """
    usable = usable_curves(case.request, case.target, case.facts.models)
    of_its_dataset = [curve for curve in usable if case.request.optimisation.workload.dataset in (None, curve.series.dataset)]
    named = (curve for curve in of_its_dataset or usable if curve.series.image)
    by_image = grouped(named, lambda curve: str(curve.series.image))
    asked = question(case.request, case.target, case.shape)
    times = {image: _workload_time(case.request, predict(curves, asked, [nodes])) for image, curves in sorted(by_image.items())}
    return tuple((image, seconds) for image, seconds in times.items() if math.isfinite(seconds))


def _workload_time(request: Request, found: Predictions) -> float:
    """Seconds that the request's workload takes by the prediction at one size; NaN if nothing is predicted."""
    unit = units(request, found.curve) if found.curve else None
    return float(found.value[0]) * unit.count * unit.unit_scale if unit else math.nan


def missing_compilers(request: Request, facts: Facts, target: Target, shape: Shape) -> Mapping[str, Notice]:
    """Graph compilers that are wanted for a shape, and that its image would not have, with a warning about each."""
    case = _Case(request, facts, target, shape)
    if case.framework is None or target.runtime is None or not case.compilers:
        return {}
    wanted, _ = case.wanted(case.framework)
    return _of_other_versions(wanted) or selection.choose(case.catalogue, wanted).without


def _of_other_versions(wanted: Wanted) -> dict[str, Notice]:
    """Graph compilers that no version has which the request allows, with a warning about each: an image of another version may not run the
    program."""
    plugin, asked = plugins.named("frameworks", wanted.framework), wanted.version
    known = {one.name: one.versions for one in plugin.compilers} if plugin and asked else {}
    others = {name: having for name in wanted.inside.compilers if asked and (having := known.get(name)) and not overlap(asked, having)}
    return {
        name: Notice(
            field=f"optimisation.options.{name}",
            message=f"{name} exists for {wanted.framework} {having} alone, and the request asks for {asked}; the job runs without it",
        )
        for name, having in others.items()
    }


def no_image(request: Request, facts: Facts, target: Target, shape: Shape) -> str | None:
    """Why the job cannot run in an image with the shape's source build or graph compiler; ``None``: there is one, or a recipe for it."""
    if shape.opt_build:
        return _no_source_build(_Case(request, facts, target, shape))
    found = carrier(request)
    if found is None or shape.compiler not in missing_compilers(request, facts, target, shape):
        return None
    return f"no suitable image of {found.framework} contains {shape.compiler}"


def _no_source_build(case: _Case) -> str | None:
    found, runtime = case.framework, case.target.runtime
    if found is None or runtime is None or runtime.name == "none":
        return "no image is chosen for this job"
    wanted, recipe = case.wanted(found)
    image = selection.choose(case.catalogue, wanted).image
    if (image and image.labels.source == "opt-build") or (image is None and recipe):
        return None
    what = f"{found.framework} with {wanted.inside.mpi}" if wanted.inside.mpi else found.framework
    return f"no source build of {what} can be pulled, and there is no recipe for it"


def preferred_storage(request: Request, chosen: Software) -> str | None:
    """The preferred storage class: the request's, else the image's."""
    return request.application.storage_class_pref or (chosen.image.storage_class if chosen.image else None)


def gpu_vendor(request: Request, target: Target, shape: Shape) -> Vendor | None:
    """Vendor of the GPUs that the job uses; NVIDIA if it is unknown. ``None``: the job uses none."""
    if target.accelerator:
        return target.accelerator.vendor if shape.gpus_per_node else None
    asked = request.optimisation.opt_build.acc_type
    if asked in VENDORS:
        return asked if shape.gpus_per_node or target.system is None else None
    return "nvidia" if shape.gpus_per_node else None


def in_image(shape: Shape, chosen: Software) -> Shape:
    """The shape with the MPI of the chosen image, if its ranks use that and it is not the one that the shape was measured with."""
    return replace(shape, mpi=chosen.mpi, mpi_from="container" if chosen.mpi else None) if chosen.other_mpi else shape


def _situation(request: Request, target: Target, shape: Shape, nodes: int, launcher: str, chosen: Software) -> Situation:
    """The facts of the job that rules can test."""
    system, found = target.system, carrier(request)
    mpi, mpi_from, mpi_version = _mpi_of_ranks(target, shape, chosen)
    return Situation(
        application=request.application.app_tag or request.workload_name,
        app_type=request.optimisation.app_type,
        framework=found.framework if found else request.optimisation.framework,
        front_end=request.optimisation.framework,
        framework_version=chosen.framework_version or (None if shape.framework else shape.framework_version),
        compilers=tuple(name for name in (shape.compiler,) if name),
        distribution=distribution(request),
        system=system.name if system else None,
        system_aliases=system.aliases if system else (),
        partition=target.partition.name if target.partition else None,
        scheduler=target.scheduler,
        launcher=launcher,
        runtime=target.runtime.name if target.runtime and chosen.reference else "none",
        processor_vendor=target.processor.vendor if target.processor else None,
        accelerator=chosen.gpu_vendor or "none",
        interconnect=system.interconnect.family if system and system.interconnect else None,
        mpi=mpi,
        mpi_from=mpi_from,
        mpi_version=mpi_version,
        storage_class=preferred_storage(request, chosen),
        multi_node=nodes > 1,
        threaded=shape.threads_per_rank > 1,
    )


def _mpi_of_ranks(target: Target, shape: Shape, chosen: Software) -> tuple[str | None, str | None, str | None]:
    """The family, the origin and the version of the MPI library that the ranks use, each as far as it is known."""
    label, _, last = (shape.mpi or "").rpartition(" ")
    version = last if last[:1].isdigit() else None
    host, whose = target.mpi_for(shape.mpi), whose_mpi(target, shape, chosen.reference)
    of_host = host.version if host and whose == "host" else None
    return mpi_family(shape.mpi) or label or last or None, whose, version or of_host


def _without_catalogue(case: _Case, chosen: Software) -> tuple[str, ...]:
    """Why the catalogue was not searched for an image; empty if it was."""
    if chosen.image or chosen.recipe or (case.framework and case.target.runtime):
        return ()
    if chosen.own_image:
        return (f"image: {chosen.own_image}, as requested{_newer(case.catalogue, chosen.own_image)}",)
    return ("image: none; the application runs without a container",)


def _newer(catalogue: Catalogue, reference: str) -> str:
    """What the catalogue says of an image that the request names without a framework, if it has a newer one for the same hardware."""
    named = catalogue.by_reference.get(reference)
    if named is None:
        return ""
    has = named.labels
    newest = selection.newest_like(catalogue, named)
    said = f"; it contains {has.framework} {has.version}"
    if newest.labels.version == has.version:
        return said
    return f"{said}, the newest image of it is {newest.reference}: name the framework, and MODAK chooses"


def _left_out(case: _Case) -> Iterator[str]:
    """How many images of the framework a site does not allow."""
    target, found = case.target, case.framework
    if found and target.runtime:
        count = prepared(case.facts).catalogue.count(found.framework) - case.catalogue.count(found.framework)
        if count:
            only = f"{target.title} allows images from {', '.join(target.allowed_images)} only"
            yield f"image: {only}: {count} of {found.framework} are left out"


def _instead_of_own(case: _Case, chosen: Software) -> tuple[Notice, ...]:
    """A warning if the job does not run in the image that the request names."""
    target, found, own = case.target, case.framework, chosen.own_image
    if found is None or own is None or own == chosen.reference:
        return ()
    named, how = prepared(case.facts).catalogue.by_reference.get(own), ""
    if target.allowed_images and not own.startswith(target.allowed_images):
        why = f"not used: {target.title} allows images from {', '.join(target.allowed_images)} only"
    elif named is None:
        why = f"not used: for {found.framework} the catalogue decides, on {chosen.reference}"
        how = "; an image of your own is among those that it chooses from once 'modak images add' has described it"
    else:
        wanted, _ = case.wanted(found)
        why = f"not used, but {chosen.reference}: {selection.passed_over(named, chosen.image, wanted)}"
        if named.labels.framework == found.framework and (version := named.labels.version) != chosen.framework_version:
            how = f"; for images of that version, request version {version!r} of {found.framework}"
    return (Notice(field="application.container_runtime", message=f"{own} is {why}{how}"),)


def _other_mpi(case: _Case, chosen: Software) -> Iterator[Notice]:
    """A warning if the image has another MPI than the one in which the layout was measured."""
    found = case.framework or library(case.request)
    if chosen.other_mpi and found:
        why = "which the request names" if mpi_asked(case.request) else "the container's MPI in the measured runs of this layout"
        used = f"the ranks use {chosen.mpi}, which may take another time" if chosen.mpi else "ranks may not connect, test on two nodes"
        text = f"no suitable image of {found.framework} has {own_mpi(case.shape, case.request)}, {why}: {used}"
        yield Notice(field="optimisation.framework", message=text)
