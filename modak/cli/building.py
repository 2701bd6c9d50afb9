"""Making images: build, look at builds, verify, bundle."""

from __future__ import annotations

import os
import secrets
import shutil
import time
from collections.abc import Mapping, Sequence
from errno import EEXIST
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from modak.cli import common, show
from modak.cli.recipes import Distribution, Gpu, Mpi, Offline, Rocm, Target, Variant, device, planned
from modak.errors import ModakError, RequestError, UnknownName
from modak.interrupts import INTERRUPTED

if TYPE_CHECKING:
    from modak.builds.order import Order
    from modak.builds.service import BuildService
    from modak.client import Remote

LOOK_S: Final = 0.5
AGAIN: Final = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
PATIENCE_S: Final = 300.0
"""How long a service may give no other answer than :data:`AGAIN`, or none, while somebody waits for a build: builds outlive it."""
Runtime = Literal["apptainer", "singularity", "charliecloud"]
COLUMNS: Final = ("id", "state", "name", "runtime", "requested_at", "step", "message")


def build(
    what: Annotated[str, typer.Argument(metavar="WHAT", help="A framework, a request (REQUEST.json), or your own recipe.")],
    version: Annotated[str | None, typer.Option(help="Version or range of the framework; default: the newest.")] = None,
    variant: Variant = "hub",
    gpu: Gpu = False,
    rocm: Rocm = False,
    target: Target = None,
    distribution: Distribution = None,
    mpi: Mpi = None,
    runtime: Annotated[
        Runtime | None,
        typer.Option(case_sensitive=False, help="Container runtime; default: that of the request or recipe, otherwise apptainer."),
    ] = None,
    offline: Offline = False,
    directory: Annotated[bool, typer.Option("--directory", help="Also make Charliecloud's image as a directory.")] = False,
    tar: Annotated[bool, typer.Option("--tar", help="Also make Charliecloud's image as a tar archive.")] = False,
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="DIR", help="Copy the image files to this folder.")] = None,
    again: Annotated[bool, typer.Option("--again", help="Build again what was built before.")] = False,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait for the end of the build, or print its id and return.")] = True,
    as_json: common.AsJson = False,
) -> None:
    """Build an image, test it, and add it to the catalogue. The catalogue entry records what the test showed.

    Example: modak images build pytorch --variant pip
    """
    if output is not None and not wait:
        raise typer.BadParameter("cannot be combined with --no-wait: the files are copied when the build has ended", param_hint="--output")
    also = [name for name, wanted in (("directory", directory), ("tar", tar)) if wanted]
    wish: dict[str, Any] = {"runtime": runtime, "offline": offline, "also": also}
    of_framework = {"version": version, "variant": variant != "hub", "gpu": gpu, "rocm": rocm, "target": target, "mpi": mpi}
    said = [f"--{name}" for name, value in (of_framework | {"distribution": distribution}).items() if value]
    own = _file_of(what, said)
    if own is None:
        made = planned(what, version, variant, device(gpu=gpu, rocm=rocm), target=target, distribution=distribution, mpi=mpi)
        wish["recipe"] = made.model_dump(mode="json", exclude_none=True)
    elif own.suffix == ".json":
        wish["job"], own = _request(common.document(what)), None
    building = _building()
    report = _asked(building, {name: value for name, value in wish.items() if value}, own, again=again)
    if wait:
        with show.progress(f"building {report['name']}"):
            report = _waited(building, report)
        if report["state"] != "done":
            message = f"{report['state']}: {report.get('message', 'before it began')} (modak images builds {report['id']} --log)"
            raise RequestError(message, field=f"build of {report['name']}")
        _copy(report, output)
    if as_json:
        show.document(report)
    elif report["state"] == "done":
        _show_report(report)
    else:
        typer.echo(report["id"])


def _file_of(what: str, options: Sequence[str]) -> Path | None:
    """The file of a request, or of the user's own recipe; ``None``: a framework is named.

    Raises :class:`typer.BadParameter` for a file beside ``options`` of a framework, :class:`modak.errors.RequestError` for a missing one.
    """
    path = Path(what)
    if path.suffix == ".json" or path.is_file():
        if options:
            why = f"only with the name of a framework; {path.name} says itself what is built"
            raise typer.BadParameter(why, param_hint=" ".join(options))
        return path
    if len(path.parts) > 1 or path.suffix[1:].isalpha() or what == "Dockerfile":  # pytorch-2.3 has a version
        raise RequestError("no such file; a framework is named without a folder", field=what)
    return None


def _request(document: Any) -> Mapping[str, Any]:
    """The sections of a request, which a document may have at its top. Raises as :func:`modak.normalise.normalise`."""
    from modak.normalise import normalise

    checked = normalise(document).document
    sections: Mapping[str, Any] = checked.get("job", checked)
    return sections


def builds(
    identity: Annotated[str | None, typer.Argument(metavar="ID", help="Id of one build; default: all builds, newest first.")] = None,
    log: Annotated[bool, typer.Option("--log", help="Print the log of the build.")] = False,
    cancel: Annotated[bool, typer.Option("--cancel", help="Stop the build, for everybody who waits for it.")] = False,
    as_json: common.AsJson = False,
) -> None:
    """Show builds and their progress."""
    building = _building()
    if identity is None:
        items = building.builds()
        if as_json:
            show.document(items)
        else:
            shown = [item | {"requested_at": show.moment(item["requested_at"])} for item in items]
            show.table(COLUMNS, [[item.get(name) for name in COLUMNS] for item in shown])
    elif log:
        typer.echo(building.log(identity), nl=False)
    else:
        show.document(building.cancel(identity) if cancel else building.state(identity))


def builder(
    runtimes: Annotated[
        list[str] | None,
        typer.Option("--runtime", metavar="NAME", help="Build for this runtime alone; may be repeated."),
    ] = None,
) -> None:
    """Work off the queue of builds, then end. Normally started automatically; a second builder for the same folder ends at once."""
    from modak.builds.worker import BUILDERS, Stopped, work

    for name in runtimes or ():
        if name not in BUILDERS:
            raise UnknownName("runtime", name, BUILDERS, field="--runtime")
    building = common.building()
    try:
        done = work(building.store.builds, building.folder, building.settings.build_hours * 3600, runtimes or None)
    except Stopped:
        return
    typer.echo(f"{done} builds")


def verify(
    name: Annotated[str, typer.Argument(metavar="IMAGE", help="Reference in the catalogue, or file name.")],
    as_json: common.AsJson = False,
) -> None:
    """Run an image and check its labels. Exit status 1 if a label is refuted; the image is then not chosen again."""
    report = common.building().verify(name)
    if as_json:
        show.document(report)
    else:
        show.table(
            ("label", "verdict", "claimed", "seen"), [[f[n] for n in ("label", "verdict", "claimed", "seen")] for f in report["findings"]]
        )
    if report["refuted"]:
        raise typer.Exit(1)


def bundle(
    name: Annotated[str, typer.Argument(metavar="IMAGE", help="Reference in the catalogue, or file name.")],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="The archive to write.")],
) -> None:
    """Pack an image for a site without internet. With recipe, catalogue entry and checksums, for 'images add' there.

    Example: modak images bundle pytorch.sif -o pytorch.tar
    """
    made = common.building().bundle(name, output)
    typer.echo(
        f"{made['bundle']}: {made['image']}, {made['digest']}{'' if made['recipe'] else ', without a recipe: it was not built here'}"
    )


def _own(recipe: Path, document: Mapping[str, Any], building: BuildService) -> Order:
    """The order for the user's own recipe, converted if it is written for the other runtime."""
    from modak.builds.order import of_text
    from modak.builds.userrecipe import recipe_text

    text, runtime = recipe_text(recipe, document.get("runtime"))
    name = recipe.parent.resolve().name if recipe.name.lower() == "dockerfile" else recipe.stem
    return of_text(text, runtime, name, recipe.parent, building.site if document.get("offline") else None, document.get("also", ()))


def _building() -> BuildService | Remote:
    """Building by the service that MODAK_SERVER names, or on this machine."""
    from modak.client import Remote

    now = common.settings()
    return Remote.of(now) if now.server else common.building()


def _asked(building: BuildService | Remote, wish: Mapping[str, Any], own: Path | None, *, again: bool) -> dict[str, Any]:
    """Order an image, of the user's ``own`` recipe if there is one; returns the state of its build."""
    from modak.builds.request import read_build_request
    from modak.client import Remote

    if isinstance(building, Remote):
        if own or again:
            raise RequestError("a service builds no recipes of your own, and no image twice; unset it to build here", field="MODAK_SERVER")
        return building.ask(wish)
    if own is None:
        order = building.order(read_build_request(wish), lambda job: common.local().optimise(job, keep=False))
    else:
        order = _own(own, wish, building)
    return building.ask(order, again=again)


def _waited(building: BuildService | Remote, report: dict[str, Any]) -> dict[str, Any]:
    """Wait for the end of a build; returns its state. Ctrl-C ends the waiting, not the build: others may wait for it, too."""
    seen = time.monotonic()
    try:
        while report["state"] in ("queued", "running"):
            time.sleep(LOOK_S)
            try:
                report, seen = building.state(report["id"]), time.monotonic()
            except ModakError as error:
                if error.status not in AGAIN or time.monotonic() - seen > PATIENCE_S:
                    raise
    except KeyboardInterrupt:
        typer.echo(f"the build continues: 'modak images builds {report['id']}' shows it, with --cancel stops it", err=True)
        raise typer.Exit(INTERRUPTED) from None
    return report


def _copy(report: Mapping[str, Any], output: Path | None) -> None:
    from modak.files import atomic_write

    if output is None:
        return
    try:
        output.mkdir(parents=True, exist_ok=True)
        for each in report["files"]:
            file, target = Path(each["file"]), output / Path(each["file"]).name
            if file.is_dir():
                _copy_folder(file, target)
            else:
                with file.open("rb") as content, atomic_write(target) as stream:
                    shutil.copyfileobj(content, stream.buffer)
    except shutil.Error as error:  # it lists all files of a folder that could not be copied
        first, _, why = error.args[0][0]
        raise RequestError(f"cannot be copied to {output}: {why}", field=str(first)) from None
    except OSError as error:
        raise RequestError(f"cannot be copied to {output}: {error.strerror or error}", field=str(error.filename or output)) from None


def _copy_folder(folder: Path, target: Path) -> None:
    """Copy a folder to a place where nothing is, under a temporary name first: a job could take a part of it for an image."""
    if os.path.lexists(target):
        raise FileExistsError(EEXIST, os.strerror(EEXIST), str(target))
    part = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        shutil.copytree(folder, part, symlinks=True)
        part.rename(target)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _show_report(report: Mapping[str, Any]) -> None:
    for each in report["files"]:
        size = f", {each['bytes'] / 1e9:.3g} GB, sha256:{each['sha256']}" if "sha256" in each else ""
        typer.echo(f"{each['file']}{size}")
    findings: Sequence[str] = report["findings"]
    show.bullets("What running it showed", findings)
