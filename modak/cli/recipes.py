"""``modak images recipe``: what would be built."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from modak.cli import common, show
from modak.errors import NotFound, RequestError, did_you_mean

if TYPE_CHECKING:
    from modak.recipes.plan import Device, Recipe

Offline = Annotated[
    bool,
    typer.Option(
        "--offline", help="Use the site's base images, wheels, sources or package index (see the settings) instead of the internet."
    ),
]
Gpu = Annotated[bool, typer.Option("--gpu/--cpu", help="For NVIDIA GPUs, or for CPUs only.")]
Rocm = Annotated[bool, typer.Option("--rocm", help="For AMD GPUs.")]
Variant = Annotated[
    Literal["hub", "pip", "opt-build"],
    typer.Option(case_sensitive=False, help="Use the official image, install packages, or compile from source."),
]
Target = Annotated[str | None, typer.Option(help="Microarchitecture for a source build, by its archspec name.")]
Distribution = Annotated[Literal["horovod"] | None, typer.Option(case_sensitive=False, help="Add Horovod.")]
Mpi = Annotated[Literal["openmpi", "mpich", "intel-mpi"] | None, typer.Option(case_sensitive=False, help="Add this MPI library.")]
Runtime = Literal["apptainer", "singularity", "charliecloud", "podman-hpc"]


def recipe(
    framework: Annotated[str, typer.Argument(metavar="FRAMEWORK", help="For instance tensorflow or pytorch.")],
    version: Annotated[str | None, typer.Option(help="Version, or range such as 2.*; default: the newest.")] = None,
    variant: Variant = "hub",
    gpu: Gpu = False,
    rocm: Rocm = False,
    runtime: Annotated[
        Runtime, typer.Option(case_sensitive=False, help="Container runtime: decides between definition file and Dockerfile.")
    ] = "apptainer",
    target: Target = None,
    distribution: Distribution = None,
    mpi: Mpi = None,
    offline: Offline = False,
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write the recipe to this file.")] = None,
) -> None:
    """Print the recipe of an image without building it.

    Example: modak images recipe pytorch --variant pip -o pytorch.def
    """
    from modak.recipes.forms import form_of
    from modak.recipes.text import recipe_warnings, text_for

    made = planned(framework, version, variant, device(gpu=gpu, rocm=rocm), target=target, distribution=distribution, mpi=mpi)
    text, _ = text_for(made, runtime)
    show.warn({"message": line} for line in recipe_warnings(made, form_of(runtime)))
    if offline:
        from modak.builds.order import builder_of
        from modak.builds.service import site
        from modak.recipes.offline import hosts
        from modak.recipes.offline import offline as without_internet

        kind = builder_of(runtime)
        text = without_internet(text, form_of(kind), site(common.settings()).mirrors(text, kind))
        show.warn({"message": f"a step still fetches from {host}: the base image has to bring what it is for"} for host in hosts(text))
    if output is None:
        typer.echo(text, nl=False)
    else:
        from modak.files import write_all

        write_all({output: text})


def device(*, gpu: bool, rocm: bool) -> Device:
    """The kind of device that an image is for. Raises :class:`~modak.errors.RequestError` if both options are given."""
    if gpu and rocm:
        raise RequestError("--gpu means NVIDIA's and --rocm AMD's; an image is for one of them", field="rocm")
    return "nvidia" if gpu else "amd" if rocm else "none"


def planned(
    framework: str,
    version: str | None,
    variant: Variant,
    accelerator: Device,
    *,
    target: str | None,
    distribution: str | None,
    mpi: str | None,
) -> Recipe:
    """The recipe for a framework. Raises :class:`~modak.errors.NotFound` that names the versions which can be built."""
    from modak.facts import canonical_version
    from modak.normalise.unknown import framework_of
    from modak.recipes import plan as recipes
    from modak.recipes.mpilibs import LIBRARIES
    from modak.text.grammar import version_range

    try:
        version_range("0" if version is None else version)
    except ValueError as error:
        raise RequestError(str(error), field="version") from None
    known_by = framework_of(framework)  # in any spelling, as in requests
    framework = known_by.name if known_by else framework
    hardware = recipes.Hardware(accelerator=accelerator, microarchitecture=target)
    made = recipes.plan(
        framework, version and canonical_version(version), variant, hardware, recipes.Extras(distribution=distribution, mpi=mpi)
    )
    if made is None and mpi and framework in LIBRARIES:
        raise RequestError(f"{framework} is an MPI library itself", field="mpi")
    if made is None:
        raise _no_recipe(framework, variant, accelerator, distribution)
    if target and not made.microarchitecture:
        raise RequestError("no build for that processor: it takes a name of archspec's and --variant opt-build", field="target")
    return made


def _no_recipe(framework: str, variant: Variant, accelerator: Device, distribution: str | None) -> NotFound:
    """What could be made instead: other versions of the framework, else by other variants, else other frameworks."""
    from modak import plugins
    from modak.recipes.plan import DEVICES, VARIANTS, versions

    where = f" for {DEVICES[accelerator]}" if accelerator != "none" else ""
    extra = f" with {distribution}" if distribution else ""
    if known := versions(framework, variant, accelerator, distribution):
        return NotFound(f"no recipe makes that; versions of {framework} by {variant}{where}{extra}: {', '.join(known)}", field="version")
    switch = framework.lower()
    if having := [one.name for one in plugins.all_of("frameworks") if any(each.name == switch for each in one.compilers)]:
        way = f"a request switches it on (\"{switch}\": true), and 'modak optimise -o DIR' writes the recipe if an image has to be built"
        return NotFound(f"{switch} is a graph compiler of {', '.join(having)}: {way}", field="framework")
    others = [name for name in plugins.names("frameworks") if versions(name, variant, accelerator, distribution)]
    instead = f"{did_you_mean(framework, others)} there are recipes of {', '.join(others)}" if others else ""
    if variants := [name for name in VARIANTS if versions(framework, name, accelerator, distribution)]:
        instead = f"; --variant {' or '.join(variants)} does"
    return NotFound(f"no recipe by {variant}{where}{extra} makes an image of {framework}{instead}", field="framework")
