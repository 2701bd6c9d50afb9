"""The use cases of builds, for the command line and the service: order, state, cancel, verify, bundle."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

from modak.builds import bundle, verify, worker
from modak.builds.order import Order, Site, of_recipe, recipe_of
from modak.builds.request import BuildRequest, read_recipe
from modak.errors import Conflict, ModakError, RequestError, Unavailable, UnknownName
from modak.facts import Facts, Image
from modak.settings import Settings
from modak.store import Store
from modak.store.audit import Actor, local_actor
from modak.store.builds import StoredBuild
from modak.store.schema import now
from modak.text.documents import Json
from modak.text.grammar import is_image_file

PATIENCE: Final = timedelta(seconds=15)
"""After this time without a report a builder is started, in case there is none."""


@dataclass(frozen=True)
class BuildService:
    """Building on one store, in the folder that the settings name. Without an actor, the user of this process changes something."""

    store: Store
    settings: Settings

    @property
    def folder(self) -> Path:
        """Where images are. Raises :class:`modak.errors.RequestError` for a folder that job scripts could not name."""
        if not self.settings.images_dir:
            raise Unavailable("HOME is not set, so there is no default; name a folder", field="MODAK_IMAGES_DIR")
        folder = Path(self.settings.images_dir).absolute()
        if not is_image_file(f"{folder}/image.sif"):
            raise RequestError(f"{folder}: allowed are letters, digits and ._+- in the names of folders", field="MODAK_IMAGES_DIR")
        return folder

    @property
    def site(self) -> Site:
        """The replacements for the internet."""
        return site(self.settings)

    # --- building

    def order(self, asked: BuildRequest, answer: Callable[[Any], Mapping[str, Any]]) -> Order:
        """The order for a document; ``answer`` answers a request. Raises as :func:`read_recipe` and ``answer`` do."""
        if asked.recipe is not None:
            made, runtime = read_recipe(asked.recipe), "apptainer"
        else:
            made, runtime = recipe_of(answer({"job": asked.job}))
        return of_recipe(made, asked.runtime or runtime, self.site if asked.offline else None, asked.also)

    def ask(self, order: Order, actor: Actor | None = None, *, again: bool = False) -> Json:
        """Order an image. Returns the state of its build, which may have been ordered before, or be done.

        ``again``: build it again. A recipe that copies files is always built again, because they may have changed.
        Raises :class:`modak.errors.Unavailable` where files in the folder of images cannot be written or locked.
        """
        folder = self.folder
        before = () if again or order.context else self.store.builds.newest(1, key=order.key)
        if before and before[0].state == "done" and self._whole(before[0]):
            return state(before[0])
        worker.check_folder(folder)  # nothing is ordered that nobody here could build
        build = self.store.builds.ask(order.key, order.as_json(), actor or local_actor())
        start_builder(self.settings, folder)
        return state(build)

    def state(self, build_id: str) -> Json:
        """The state of a build."""
        return self._seen(self.store.builds.get(build_id))[0]

    def log(self, build_id: str) -> str:
        """The output of the tools, its beginning and end."""
        return self.store.builds.get(build_id).log

    def cancel(self, build_id: str, actor: Actor | None = None) -> Json:
        """Cancel a build for everybody who ordered it."""
        return self._seen(self.store.builds.cancel(build_id, actor or local_actor()))[0]

    def builds(self, limit: int = 100) -> list[Json]:
        """The newest builds."""
        return self._seen(*self.store.builds.newest(limit))

    # --- images that are there

    def verify(self, name: str, actor: Actor | None = None) -> Json:
        """Run an image of the catalogue, and store the findings. An image with a refuted label is not chosen any more.

        Raises :class:`modak.errors.Conflict` if the image was changed or removed meanwhile.
        """
        image = self._image(name)
        file = verify.file_of(image, self.folder)
        builder = next((each for each in worker.BUILDERS.values() if file.name.endswith(each.ending)), worker.BUILDERS["apptainer"])
        entry, findings = verify.verified(image, file, builder)
        self.store.add([entry], actor or local_actor(), replace=True, check=partial(_refuse_changed, image))
        return {"image": image.reference, "refuted": bool(entry.refuted), "findings": [asdict(finding) for finding in findings]}

    def bundle(self, name: str, output: Path) -> Json:
        """Pack an image with its recipe and entry for a site that cannot pull."""
        image = self._image(name)
        return bundle.pack(image, verify.file_of(image, self.folder), self._recipe(image), output)

    def unbundle(self, file: Path, *, replace_old: bool = False) -> Image:
        """Unpack a bundle: the file into the folder of images, the entry into the catalogue, in the name of this process's user."""
        found, settle = bundle.unpack(file, self.folder)
        with settle as place:
            entry = found.model_copy(update={"reference": str(place)})
            self.store.add([entry], local_actor(), replace=replace_old)
        return entry

    # --- within

    def _seen(self, *builds: StoredBuild) -> list[Json]:
        """The states of builds that somebody looks at. If no builder seems to run for one, one is started, where that is possible.

        It leaves builds whose tools this process does not find: an administrator who looks need not have the service's PATH.
        """
        waiting = [build for build in builds if build.living and now() - max(build.requested_at, build.beat_at) > PATIENCE]
        able = {runtime for runtime in worker.BUILDERS if _has_tools(runtime)} if waiting else set()
        if any(build.order["runtime"] in able for build in waiting):
            with suppress(ModakError):  # with all tools also what is ordered while it runs is built
                start_builder(self.settings, self.folder, able if able < worker.BUILDERS.keys() else ())
        return [state(build) for build in builds]

    def _image(self, name: str) -> Image:
        """An image by its reference, or by the name of its file if that is unique."""
        images = self.store.snapshot().images
        found = [image for image in images if image.reference == name] or [
            image for image in images if "://" not in image.reference and image.reference.rsplit("/", 1)[-1] == name
        ]
        if len(found) > 1:
            raise Conflict(f"several images are called {name}: {', '.join(image.reference for image in found)}", field="image")
        if not found:
            raise UnknownName("image", name, [image.reference for image in images])
        return found[0]

    def _recipe(self, image: Image) -> str:
        done = self.store.builds.newest(500, states=("done",))
        return next((build.order["text"] for build in done if build.result.get("image") == image.reference), "")

    def _whole(self, build: StoredBuild) -> bool:
        """Whether all files of a build are there, and the image is in the catalogue without refuted labels."""
        files = [(Path(each["file"]), each.get("bytes")) for each in build.result["files"]]
        there = all(file.exists() and (size is None or file.stat().st_size == size) for file, size in files)
        known = {image.reference: image for image in self.store.snapshot().images}
        image = known.get(build.result["image"])
        return there and image is not None and not image.refuted


def _has_tools(runtime: str) -> bool:
    """Whether this process finds the programs that build images for a runtime."""
    try:
        worker.BUILDERS[runtime].programs()
    except Unavailable:
        return False
    return True


def _refuse_changed(image: Image, facts: Facts) -> tuple[str, ...]:
    """Raise :class:`modak.errors.Conflict` if the catalogue does not have the image as it was when running it began; there are no notes."""
    if image not in facts.images:
        raise Conflict(f"{image.reference} was changed or removed while it was verified; nothing is stored", field="image")
    return ()


def site(settings: Settings) -> Site:
    """The replacements for the internet that the settings name."""
    named = (settings.base_images_dir, settings.wheels_dir, settings.sources_dir)
    bases, wheels, sources = (str(Path(name).absolute()) if name else "" for name in named)
    return Site(bases, wheels, settings.package_index, sources)


def state(build: StoredBuild) -> Json:
    """A build as callers see it."""
    times = {name: getattr(build, name) for name in ("requested_at", "started_at", "finished_at")}
    known = {
        "id": build.id,
        "state": build.state,
        "name": build.order["name"],
        "runtime": build.order["runtime"],
        "requested_by": build.requested_by,
        **{name: value.isoformat() for name, value in times.items() if value},
        **{name: value for name, value in (("step", build.step if build.living else ""), ("message", build.message)) if value},
    }
    return {**known, **build.result}


def start_builder(settings: Settings, folder: Path, runtimes: Collection[str] = ()) -> None:
    """Start the folder's builder, unless one runs; for builds for ``runtimes`` alone, if any are named. It is detached: it outlives this
    process, and ends by itself."""
    own = {"MODAK_DATABASE_URL": settings.database_url, "MODAK_IMAGES_DIR": str(folder), "MODAK_BUILD_HOURS": str(settings.build_hours)}
    words = [sys.executable, "-m", "modak", "images", "builder", *(f"--runtime={runtime}" for runtime in sorted(runtimes))]
    detach = 'exec 3<&0; "$@" <&3 3<&- &'  # "<&0" would not do: dash has put /dev/null there by then
    with worker.builder_lock(folder) as lock:
        if lock is None:
            return
        with worker.own_file(folder, worker.OUTPUT) as output:
            output.truncate(0)
            subprocess.run(  # noqa: S603 (words of ours)
                ["/bin/sh", "-c", detach, "sh", *words],
                env={**{name: value for name, value in os.environ.items() if name not in ("MODAK_TOKEN", "MODAK_SERVER")}, **own},
                stdin=lock,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                check=True,
                timeout=60,
            )
