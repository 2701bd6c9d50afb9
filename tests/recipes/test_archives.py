"""Source archives that a site without internet has in a folder of its own."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from modak.builds.order import Site, of_recipe
from modak.errors import RequestError
from modak.recipes.archives import downloads
from modak.recipes.mpilibs import OPENMPI
from modak.recipes.offline import WHEELS, hosts
from modak.recipes.plan import Recipe, recipe
from modak.recipes.text import written

OWN = hashlib.sha256(b"packed anew").hexdigest()


def made(framework: str = "openmpi", version: str = "4.1.4", **more: str) -> Recipe:
    """An MPI library from source."""
    return recipe({"framework": framework, "version": version, "variant": "opt-build", **more})


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A folder with Open MPI as a Linux distribution packs it, and its checksum."""
    folder = tmp_path / "sources"
    folder.mkdir()
    (folder / "openmpi-4.1.4.tar.xz").write_bytes(b"packed anew")
    (folder / "SHA256SUMS").write_text(f"{OWN}  openmpi-4.1.4.tar.xz\n")
    return folder


@pytest.mark.parametrize("runtime", ["apptainer", "charliecloud"])
def test_sources_come_from_the_sites_folder(sources: Path, runtime: str) -> None:
    """Copied in, compared with the site's checksum, unpacked however they are packed, and removed; no host is asked."""
    text = of_recipe(made(), runtime, Site(sources=str(sources))).text
    assert "cp /opt/modak-sources/openmpi-4.1.4.tar.xz /var/tmp/openmpi-4.1.4.tar.bz2" in text
    assert f"echo '{OWN}  /var/tmp/openmpi-4.1.4.tar.bz2' | sha256sum --check --strict -" in text
    assert text.count("sha256sum") == 1, "the recipe's own comparison is replaced"
    assert "tar -x -f /var/tmp/openmpi-4.1.4.tar.bz2 -C /var/tmp\n" in text.replace(" && \\\n", "\n")
    assert "# openmpi-4.1.4.tar.xz is the site's copy, held to the site's checksum\n" in text
    assert text.rstrip().endswith("rm -rf /opt/modak-sources")
    assert hosts(text) == ()


def test_the_projects_own_archive_is_held_to_the_projects_checksum(sources: Path) -> None:
    """Whether or not the site lists it; nothing is said then."""
    (sources / "openmpi-4.1.4.tar.bz2").write_bytes(b"as it was published")
    for sums in ("", f"{OPENMPI['4.1.4']} *openmpi-4.1.4.tar.bz2\n"):
        (sources / "SHA256SUMS").write_text(sums)
        text = of_recipe(made(), "apptainer", Site(sources=str(sources))).text
        assert f"echo '{OPENMPI['4.1.4']}  /var/tmp/openmpi-4.1.4.tar.bz2'" in text
        assert "the site's copy" not in text


@pytest.mark.parametrize(("runtime", "then"), [("apptainer", "\n    "), ("charliecloud", " && \\\n    ")])
def test_a_release_that_the_recipe_knows_no_checksum_of_gets_the_sites(sources: Path, runtime: str, then: str) -> None:
    """The comparison is put after the copy."""
    (sources / "openmpi-4.1.99.tar.bz2").write_bytes(b"a later one")
    (sources / "SHA256SUMS").write_text(f"{OWN}  openmpi-4.1.99.tar.bz2\n")
    text = of_recipe(made(version="4.1.99"), runtime, Site(sources=str(sources))).text
    file = "/var/tmp/openmpi-4.1.99.tar.bz2"
    assert f"{file}{then}echo '{OWN}  {file}' | sha256sum --check --strict -" in text


def test_an_archive_without_a_checksum_is_refused(sources: Path) -> None:
    """It says which line is missing."""
    (sources / "SHA256SUMS").unlink()
    with pytest.raises(RequestError, match=r"MODAK_SOURCES_DIR: .*SHA256SUMS has no line for openmpi-4\.1\.4\.tar\.xz"):
        of_recipe(made(), "apptainer", Site(sources=str(sources)))


def test_an_archive_that_the_site_lacks_is_named(sources: Path) -> None:
    """With the names that it may have, and where it is from."""
    with pytest.raises(RequestError, match=r"has no mpich-4\.0\.2\.tar\.gz or .*: put https://www\.mpich\.org/\S+ there"):
        of_recipe(made("mpich", "4.0.2"), "apptainer", Site(sources=str(sources)))


def test_a_site_without_a_folder_of_sources_still_downloads_them() -> None:
    """From where they are published; packages alone come from its index."""
    text = of_recipe(made(), "apptainer", Site(index="https://mirror.site/simple")).text
    assert hosts(text) == ("mirror.site", "www.open-mpi.org")


def test_a_check_of_the_users_own_stays_with_a_copy() -> None:
    """Also where the folder of the download ends with a slash."""
    text = f"RUN wget -q -P /tmp/ https://example.org/a.tar.gz && \\\n    echo '{OWN}  /tmp/a.tar.gz' | sha256sum --check -\n"
    assert [(each.target, each.sha256) for each in downloads(text)] == [("/tmp/a.tar.gz", OWN)]


def test_wheels_and_sources_share_a_context(sources: Path, tmp_path: Path) -> None:
    """A Dockerfile copies both out of the nearest folder that holds them; a recipe that installs no wheels copies none."""
    (tmp_path / "wheels").mkdir()
    site = Site(wheels=f"{tmp_path}/wheels/", sources=str(sources))
    values = {"framework": "tensorflow", "version": "2.11.1", "variant": "pip", "distribution": "horovod"}
    both = of_recipe(recipe({**values, "mpi": "openmpi", "mpi_version": "4.1.4"}), "charliecloud", site)
    assert both.context == str(tmp_path)
    assert f"COPY wheels {WHEELS}\nCOPY sources/openmpi-4.1.4.tar.xz /opt/modak-sources/openmpi-4.1.4.tar.xz\n" in both.text
    alone = of_recipe(made(), "charliecloud", site)
    assert (alone.context, WHEELS in alone.text) == (str(sources), False)


def test_programs_are_downloads_too() -> None:
    """Of a source build with Bazel, what the recipe itself fetches, each with its checksum."""
    found = downloads(written(recipe({"framework": "tensorflow", "version": "2.21.0", "variant": "opt-build"}), "dockerfile"))
    assert [(each.target, len(each.sha256)) for each in found] == [("/usr/local/bin/bazel", 64), ("/var/tmp/tensorflow.tar.gz", 64)]
