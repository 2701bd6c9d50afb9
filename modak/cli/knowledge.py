"""What is known: systems, images, rules, models."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from modak.cli import common, show
from modak.errors import DataError, Fault, NotFound, RequestError
from modak.text.amounts import counted

if TYPE_CHECKING:
    from modak.facts import Rule
    from modak.recipes.plan import Device, Recipe
    from modak.service import Known

systems = typer.Typer(help="Systems on which jobs run.", no_args_is_help=True, rich_markup_mode=None)
images = typer.Typer(help="The catalogue of container images.", no_args_is_help=True, rich_markup_mode=None)
rules = typer.Typer(help="Site, application, feature and storage rules.", no_args_is_help=True, rich_markup_mode=None)
models = typer.Typer(help="Performance models.", no_args_is_help=True, rich_markup_mode=None)

File = Annotated[Path, typer.Argument(metavar="FILE", help="A TOML or JSON file.")]
ImageFile = Annotated[Path, typer.Argument(metavar="FILE", help="TOML or JSON file, or bundle.")]
Replace = Annotated[bool, typer.Option("--replace", help="Replace entries of the same name.")]
Offline = Annotated[
    bool,
    typer.Option(
        "--offline", help="Use the site's base images, wheels, sources or package index (see the settings) instead of the internet."
    ),
]
Gpu = Annotated[bool, typer.Option("--gpu/--cpu", help="For NVIDIA GPUs, or for CPUs only.")]
Rocm = Annotated[bool, typer.Option("--rocm", help="For AMD GPUs.")]
Variant = Literal["hub", "pip", "opt-build"]
Runtime = Literal["apptainer", "singularity", "charliecloud", "podman-hpc"]
Distribution = Literal["horovod"]
Mpi = Literal["openmpi", "mpich", "intel-mpi"]
Columns = Mapping[str, Callable[[Mapping[str, Any]], Any]]

SYSTEMS: Columns = {
    "name": lambda item: item["name"],
    "kind": lambda item: item.get("kind", "production"),
    "scheduler": lambda item: item.get("scheduler"),
    "partitions": lambda item: [f"{partition['name']} ({counted(partition['nodes'], 'node')})" for partition in item["partitions"]],
    "runtimes": lambda item: [policy["name"] for policy in item.get("runtimes", ()) if policy.get("allowed", True)],
    "title": lambda item: item["title"],
}
IMAGES: Columns = {
    "reference": lambda item: item["reference"],
    "framework": lambda item: item["labels"]["framework"],
    "version": lambda item: item["labels"]["version"],
    "source": lambda item: item["labels"]["source"],
    "compilers": lambda item: item["labels"].get("compilers", ()),
    "accelerator": lambda item: item["labels"].get("accelerator", "none"),
}
RULES: Columns = {
    "name": lambda item: item["name"],
    "holds for": lambda item: _condition(item.get("when", {})),
    "title": lambda item: item["title"],
}
MODELS: Columns = {
    "id": lambda item: item["id"],
    "application": lambda item: item["application"],
    "compiler": lambda item: item["series"].get("compiler"),
    "system": lambda item: item["series"].get("system"),
    "partition": lambda item: item["series"].get("partition"),
    "layout": lambda item: _layout(item["layout"]),
    "metric": lambda item: item["series"]["metric"],
    "over": lambda item: item["scale"],
    "sizes": lambda item: f"{min(item['sizes']):g}–{max(item['sizes']):g}",
    "results": lambda item: item["results_used"],
    "error at the next size": lambda item: _percent(item["mixture"].get("error")),
}


def _layout(layout: Mapping[str, int]) -> str:
    """What is known of a node's ranks, threads and GPUs, and of the batch."""
    words = {"ranks_per_node": "rank", "threads_per_rank": "thread", "gpus_per_node": "GPU"}
    counts = [counted(layout[name], word) for name, word in words.items() if layout.get(name)]
    return " × ".join(counts) + (f", batch {layout['batch_size']}" if layout.get("batch_size") else "")


def _percent(error: float | None) -> str | None:
    """A log error as a percentage."""
    return None if error is None else f"{100 * math.expm1(error):.1f} %"


@systems.command("list")
def systems_list(as_json: common.AsJson = False) -> None:
    """Show the known systems."""
    _list("systems", SYSTEMS, as_json)


@systems.command("show")
def systems_show(name: Annotated[str, typer.Argument(metavar="NAME")]) -> None:
    """Show one system as JSON, with the source of every figure."""
    _show("systems", "name", name)


@systems.command("add")
def systems_add(
    file: File,
    processors: Annotated[Path | None, typer.Option(metavar="FILE", help="File with processors that MODAK does not know yet.")] = None,
    accelerators: Annotated[Path | None, typer.Option(metavar="FILE", help="File with accelerators that MODAK does not know yet.")] = None,
    replace: Replace = False,
) -> None:
    """Add the system in a file. A system of the same name is kept, unless --replace is given."""
    from modak.knowledge import read_accelerators, read_processors, read_system

    system = read_system(file)
    values: list[Known] = [system]
    values += read_processors(processors) if processors else ()
    values += read_accelerators(accelerators) if accelerators else ()
    _added(common.client().add(values, replace=replace), [f"system {system.name}"])


@systems.command("detect")
def systems_detect(
    name: Annotated[str | None, typer.Option(help="Name of the system; default: the cluster's own name.")] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="DIR", help="Write NAME.toml and files of unknown hardware to this folder.")
    ] = None,
    probe: Annotated[bool, typer.Option("--probe", help="Also query a node of each Slurm partition, in a job with one task.")] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Show differences from the stored system; exit status 1 if there are any.")] = False,
    as_json: common.AsJson = False,
) -> None:
    """Describe this machine as a system file. What cannot be detected is left out, with a note."""
    from modak.cli.detecting import detect

    detect(name, output, probe=probe, diff=diff, as_json=as_json)


@images.command("list")
def images_list(as_json: common.AsJson = False) -> None:
    """Show the catalogue of images."""
    _list("images", IMAGES, as_json)


@images.command("show")
def images_show(reference: Annotated[str, typer.Argument(metavar="REFERENCE")]) -> None:
    """Show one image as JSON."""
    _show("images", "reference", reference)


@images.command("add")
def images_add(file: ImageFile, replace: Replace = False) -> None:
    """Add the images in a file, or the one in a bundle: all or none."""
    from modak.builds.bundle import is_bundle
    from modak.knowledge import read_images

    if is_bundle(file):
        from modak.builds.service import BuildService
        from modak.service import principal
        from modak.store.audit import Actor

        entry = BuildService(common.local().store, common.settings()).unbundle(file, Actor(principal()), replace_old=replace)
        typer.echo(f"image {entry.reference} is in the database")
        return
    found = read_images(file)
    _added(common.client().add(found, replace=replace), [f"image {image.reference}" for image in found])


@images.command("recipe")
def images_recipe(
    framework: Annotated[str, typer.Argument(metavar="FRAMEWORK", help="For instance tensorflow or pytorch.")],
    version: Annotated[str | None, typer.Option(help="Version, or range such as 2.*; default: the newest.")] = None,
    variant: Annotated[Variant, typer.Option(help="Use the official image, install packages, or compile from source.")] = "hub",
    gpu: Gpu = False,
    rocm: Rocm = False,
    runtime: Annotated[Runtime, typer.Option(help="Container runtime: decides between definition file and Dockerfile.")] = "apptainer",
    target: Annotated[str | None, typer.Option(help="Microarchitecture for a source build, by its archspec name.")] = None,
    distribution: Annotated[Distribution | None, typer.Option(help="Add Horovod.")] = None,
    mpi: Annotated[Mpi | None, typer.Option(help="Add this MPI library.")] = None,
    offline: Offline = False,
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write the recipe to this file.")] = None,
) -> None:
    """Print the recipe of an image without building it."""
    made = planned(framework, version, variant, device(gpu=gpu, rocm=rocm), target=target, distribution=distribution, mpi=mpi)
    text, _ = made.text(runtime)
    show.warn({"message": line} for line in made.cautions(runtime))
    if offline:
        from modak.builds.order import builder_of
        from modak.builds.service import site
        from modak.recipes.forms import form_of
        from modak.recipes.offline import hosts
        from modak.recipes.offline import offline as without_internet

        kind = builder_of(runtime)
        text = without_internet(text, form_of(kind), site(common.settings()).mirrors(text, kind))
        show.warn({"message": f"a step still fetches from {host}: the base image has to bring what it is for"} for host in hosts(text))
    if output is None:
        typer.echo(text, nl=False)
    else:
        from modak.cli.files import write_all

        write_all({output: text})


def device(*, gpu: bool, rocm: bool) -> Device:
    """What an image is for, as recipes call it. Raises :class:`~modak.errors.RequestError` where it is for two things."""
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
    from modak.recipes import plan as recipes
    from modak.text.grammar import version_range

    try:
        version_range("0" if version is None else version)
    except ValueError as wrong:
        raise RequestError(str(wrong), field="version") from None
    hardware = recipes.Hardware(accelerator=accelerator, microarchitecture=target)
    made = recipes.plan(framework, version, variant, hardware, recipes.Extras(distribution=distribution, mpi=mpi))
    if made is None:
        if framework == mpi:
            raise RequestError(f"{framework} is an MPI library itself", field="mpi")
        known = ", ".join(recipes.versions(framework, variant, accelerator, distribution)) or "none"
        where = {"nvidia": " for GPUs of NVIDIA", "amd": " for GPUs of AMD"}.get(accelerator, "")
        extra = f" with {distribution}" if distribution else ""
        raise NotFound(f"no recipe makes that; versions of {framework} by {variant}{where}{extra}: {known}", field="version")
    if target and not made.microarchitecture:
        raise RequestError("no build for that processor: it takes a name of archspec's and --variant opt-build", field="target")
    return made


@rules.command("list")
def rules_list(as_json: common.AsJson = False) -> None:
    """Show the rules."""
    _list("rules", RULES, as_json)


@rules.command("show")
def rules_show(name: Annotated[str, typer.Argument(metavar="NAME")]) -> None:
    """Show one rule as JSON."""
    _show("rules", "name", name)


@rules.command("add")
def rules_add(file: File, replace: Replace = False) -> None:
    """Add the rules in a file: all of them or none."""
    found = _checked_rules(file)
    _added(common.client().add(found, replace=replace), [f"rule {rule.name}" for rule in found])


@rules.command("check")
def rules_check(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="TOML or JSON files.")],
    preview: Annotated[bool, typer.Option("--preview", help="Show what the rules would change in the scripts of stored requests.")] = False,
    last: Annotated[int, typer.Option(min=1, max=1000, help="With --preview: number of requests, newest first.")] = 20,
) -> None:
    """Check files of rules without adding them."""
    found = {file: _checked_rules(file) for file in files}
    for file, several in found.items():
        typer.echo(f"{file}: {counted(len(several), 'rule')}, all in order")
    if preview:
        with common.local() as service:
            _preview(service.preview([rule for several in found.values() for rule in several], last=last))


@models.command("list")
def models_list(as_json: common.AsJson = False) -> None:
    """Show the fitted models. Series that have changed are fitted first."""
    _list("models", MODELS, as_json)


@models.command("show")
def models_show(identity: Annotated[str, typer.Argument(metavar="ID")]) -> None:
    """Show one model as JSON: form, coefficients, results behind it."""
    _show("models", "id", identity)


@models.command("fit")
def models_fit(application: Annotated[str | None, typer.Option(help="Only this application.")] = None) -> None:
    """Fit the series that have changed. This happens automatically when a prediction needs it."""
    with show.progress("fitting"):
        fitted = common.local().fit(application)
    if application is not None and not fitted:
        raise NotFound(f"no results of {application!r} from which a model can be fitted", field="--application")
    typer.echo(f"{fitted} models are up to date")


def _list(kind: str, columns: Columns, as_json: bool) -> None:
    items = common.client().listing(kind)
    if as_json:
        show.document(items)
    else:
        show.table(tuple(columns), [[find(item) for find in columns.values()] for item in items])


def _show(kind: str, key: str, name: str) -> None:
    from modak.service import item_called

    show.document(item_called(name, common.client().listing(kind), key, kind.removesuffix("s")))


def _added(changed: bool, names: Sequence[str]) -> None:
    for name in names:
        typer.echo(f"{name} is in the database" if changed else f"{name} was there already, unchanged")


def _checked_rules(file: Path) -> Sequence[Rule]:
    from modak.knowledge import read_rules
    from modak.rules import check

    found = read_rules(file)
    faults = [Fault(f"{file}: rules.{rule.name}", str(fault)) for rule in found for fault in check(rule)]
    if faults:
        raise DataError(faults=faults)
    return found


def _preview(seen: Mapping[str, Any]) -> None:
    """A unified diff for each stored request whose script changes."""
    changed = [plan for plan in seen["plans"] if plan["diff"]]
    failed = [plan for plan in seen["plans"] if plan.get("error")]
    typer.echo(f"{len(changed)} of {len(seen['plans'])} stored requests get another script")
    for plan in changed:
        typer.echo(f"\n{plan['diff']}", nl=False)
    show.warn({"field": f"plan {plan['id']}", "message": plan["error"]} for plan in failed)


def _condition(when: Mapping[str, Any]) -> str:
    return "; ".join(f"{name.replace('_', ' ')} {show.cell(value)}" for name, value in when.items()) or "everything"
