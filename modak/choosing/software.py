"""The software environment of the application: the image by its labels (or a recipe to build one), and the rules that apply."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from modak import rules
from modak.choosing.scoring import question, usable_curves
from modak.choosing.shapes import Shape
from modak.choosing.wishes import DEEPSPEED, by_torchrun, carrier, distribution, is_build, library, switches
from modak.dsl import Notice, Request
from modak.facts import Facts, HostMpi, Image, Vendor, mpi_family
from modak.frameworks.base import Carrier
from modak.images import selection
from modak.images.selection import ImageChoice, Wanted
from modak.perfmodel import Curve
from modak.perfmodel.predict import predict
from modak.prepared import prepared
from modak.recipes import plan as recipes
from modak.recipes.plan import Extras, Hardware, Recipe
from modak.rules import Applied, Situation
from modak.target import Target
from modak.text.grammar import image_file

ARCHITECTURES: Final[Mapping[str | None, str]] = {"arm": "aarch64", "power": "ppc64le"}
"""Words of requests for processors that are not x86_64."""


@dataclass(frozen=True)
class Software:
    """The chosen image or recipe, and what rules add."""

    rules: Applied
    image: Image | None = None
    recipe: Recipe | None = None
    own_image: str | None = None
    """The caller's image, where the catalogue has none for the request."""
    gpu_vendor: str | None = None
    decisions: tuple[str, ...] = ()
    warnings: tuple[Notice, ...] = ()

    @property
    def reference(self) -> str | None:
        """What the job runs in; ``None``: no container."""
        if self.image:
            return self.image.reference
        return self.recipe.reference if self.recipe else self.own_image

    @property
    def file(self) -> str:
        """The file name that the image is expected under."""
        return image_file(self.reference) if self.reference else ""

    @property
    def framework_version(self) -> str | None:
        """The framework's version inside; ``None``: unknown."""
        if self.image:
            return self.image.labels.version
        return self.recipe.version if self.recipe else None

    @property
    def image_summary(self) -> Mapping[str, Any] | None:
        """The image as the answer shows it."""
        if self.own_image and not self.image and not self.recipe:
            return {"reference": self.own_image, "source": "the request"}
        return self.image.model_dump(mode="json", exclude_none=True) if self.image else None

    @property
    def recipe_summary(self) -> Mapping[str, Any] | None:
        """The recipe as the answer shows it."""
        return self.recipe.model_dump(mode="json", exclude_none=True) if self.recipe else None


def choose_software(request: Request, facts: Facts, target: Target, shape: Shape, nodes: int, launcher: str) -> Software:
    """The image or recipe for a chosen shape, and the rules that hold there."""
    found = carrier(request)
    own = request.application.container_runtime
    choice, recipe = _choose(request, facts, target, shape, nodes, found) if found and target.runtime else (ImageChoice(), None)
    if found is None and own is None and target.runtime and (named := library(request)):
        choice = _exact(_choose(request, facts, target, shape, nodes, named, builds=False)[0])
    chosen = Software(rules=Applied(), image=choice.image, recipe=recipe, own_image=own if target.runtime else None)
    situation = _situation(request, target, shape, nodes, launcher, chosen)
    applied = rules.apply(prepared(facts).rulebook, situation)
    return Software(
        rules=applied,
        image=choice.image,
        recipe=recipe,
        own_image=chosen.own_image,
        gpu_vendor=gpu_vendor(request, target, shape),
        decisions=(*_without_catalogue(chosen, found, target), *choice.decisions, *_instead_of_own(chosen, found), *applied.decisions),
        warnings=choice.warnings if choice.image or recipe or not own else (),
    )


def _exact(choice: ImageChoice) -> ImageChoice:
    """The choice where it carries all that is wanted; an MPI program that finds no such image runs as the system provides it."""
    return choice if choice.image and choice.exact else ImageChoice()


def _measured(request: Request, facts: Facts, target: Target, shape: Shape, nodes: int) -> tuple[tuple[str, float], ...]:
    """Images that results of the application name, each with what its results alone predict for this run, in seconds a unit."""
    by_image: dict[str, list[Curve]] = {}
    usable = usable_curves(request, target, facts.models)
    of_its_dataset = [curve for curve in usable if request.optimisation.workload.dataset in (None, curve.series.dataset)]
    for curve in of_its_dataset or usable:
        if curve.series.image:
            by_image.setdefault(curve.series.image, []).append(curve)
    asked = question(request, target, shape)
    times = {image: float(predict(curves, asked, [nodes]).value[0]) for image, curves in sorted(by_image.items())}
    return tuple((image, seconds) for image, seconds in times.items() if math.isfinite(seconds))


def _choose(
    request: Request, facts: Facts, target: Target, shape: Shape, nodes: int, found: Carrier, *, builds: bool = True
) -> tuple[ImageChoice, Recipe | None]:
    """An image of the framework, or with ``builds`` the recipe that takes its place."""
    hardware, optimise = _hardware(request, target, shape), request.optimisation.enable_opt_build is True or shape.opt_build
    mpi = bound_mpi(target, shape, request)
    layer = distribution(request)
    extras = Extras(
        compilers=_compilers_on(request, shape),
        distribution="horovod" if layer == "horovod" else None,
        mpi=mpi.family if mpi else None,
        mpi_version=mpi.version if mpi else None,
    )
    build = recipes.plan(found.framework, found.version, "opt-build", hardware, extras) if optimise and builds else None
    wanted = Wanted(
        framework=found.framework,
        version=found.version,
        compilers=extras.compilers,
        accelerator=hardware.accelerator,
        architecture=hardware.architecture,
        microarchitecture=hardware.microarchitecture,
        compute_capability=hardware.compute_capability,
        mpi=extras.mpi,
        mpi_version=extras.mpi_version,
        distribution=layer if layer == DEEPSPEED and not build else extras.distribution,
        opt_build=optimise,
        runtime=target.runtime.name if target.runtime else None,
        recipe_version=build.version if build else None,
        driver_cuda=hardware.driver_cuda,
        seconds=_measured(request, facts, target, shape, nodes),
    )
    choice = selection.choose(prepared(facts).catalogue, wanted)
    return choice, build if choice.image is None and choice.recipe_version else None


def _compilers_on(request: Request, shape: Shape) -> tuple[str, ...]:
    """Graph compilers that the image must have: those switched on, and the one that the evidence chose; a build is no part of it."""
    asked = tuple(name for name, value in switches(request).items() if value is True)
    return tuple(dict.fromkeys((*asked, shape.compiler) if shape.compiler and not is_build(shape.compiler) else asked))


def _hardware(request: Request, target: Target, shape: Shape) -> Hardware:
    asked = request.optimisation.opt_build
    vendor = gpu_vendor(request, target, shape)
    return Hardware(
        accelerator=vendor or "none",
        compute_capability=target.accelerator.compute_capability if target.accelerator else None,
        architecture=ARCHITECTURES.get(asked.cpu_type, "x86_64"),
        microarchitecture=target.processor.microarchitecture if target.processor else None,
        driver_cuda=target.node.driver_cuda if target.node else None,
    )


def preferred_storage(request: Request, chosen: Software) -> str | None:
    """The storage class that is asked for: by the request, else by the image."""
    return request.application.storage_class_pref or (chosen.image.storage_class if chosen.image else None)


def gpu_vendor(request: Request, target: Target, shape: Shape) -> Vendor | None:
    """Whose GPUs the job uses; NVIDIA's where GPUs are asked for and nobody says whose. ``None``: it uses none."""
    if target.accelerator:
        return target.accelerator.vendor if shape.gpus_per_node else None
    asked = request.optimisation.opt_build.acc_type
    if asked in ("nvidia", "amd"):
        return asked if shape.gpus_per_node or target.system is None else None
    return "nvidia" if shape.gpus_per_node else None


def bound_mpi(target: Target, shape: Shape, request: Request) -> HostMpi | None:
    """The host's MPI that is bound into the image, and that the image must fit, where ranks talk through it."""
    by_mpi = distribution(request) in ("horovod", None) and not by_torchrun(request)
    if shape.mpi_from != "host" or target.system is None or not by_mpi:
        return None
    return target.mpi_called(shape.mpi) or target.host_mpi


def _situation(request: Request, target: Target, shape: Shape, nodes: int, launcher: str, chosen: Software) -> Situation:
    """What rules can ask about the job."""
    system, found = target.system, carrier(request)
    label, _, last = (shape.mpi or "").rpartition(" ")
    version = last if last[:1].isdigit() else ""
    family = mpi_family(shape.mpi) or label or last
    return Situation(
        application=request.application.app_tag or request.workload_name,
        app_type=request.optimisation.app_type,
        framework=found.framework if found else request.optimisation.framework,
        framework_version=chosen.framework_version or shape.framework_version,
        compilers=tuple(name for name in (shape.compiler,) if name),
        distribution=distribution(request),
        system=system.name if system else None,
        system_aliases=system.aliases if system else (),
        partition=target.partition.name if target.partition else None,
        scheduler=target.scheduler,
        launcher=launcher,
        runtime=target.runtime.name if target.runtime and chosen.reference else "none",
        processor_vendor=target.processor.vendor if target.processor else None,
        accelerator=gpu_vendor(request, target, shape) or "none",
        interconnect=system.interconnect.family if system and system.interconnect else None,
        mpi=family or None,
        mpi_from=shape.mpi_from,
        mpi_version=version or (target.host_mpi.version if target.host_mpi and shape.mpi_from == "host" else None),
        storage_class=preferred_storage(request, chosen),
        multi_node=nodes > 1,
        threaded=shape.threads_per_rank > 1,
    )


def _without_catalogue(chosen: Software, found: Carrier | None, target: Target) -> tuple[str, ...]:
    """Why no image of the catalogue was looked for."""
    if chosen.image or chosen.recipe or (found and target.runtime):
        return ()
    if chosen.own_image:
        return (f"image: {chosen.own_image}, as requested",)
    return ("image: none; the application runs without a container",)


def _instead_of_own(chosen: Software, found: Carrier | None) -> tuple[str, ...]:
    """That an image which the request names is not the one it gets."""
    if found is None or chosen.own_image in (None, chosen.reference):
        return ()
    return (f"image: {chosen.own_image} is requested, but for {found.framework} the catalogue decides",)
