"""Recipes for a site without internet."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from modak.builds.order import Site, of_recipe, of_text, order_from
from modak.errors import RequestError
from modak.recipes.offline import Mirrors, base_images, hosts, offline
from modak.recipes.plan import Extras, Hardware, Recipe, plan

DOCKERFILE = "FROM a/b:1 AS build\nRUN true\nFROM ubuntu:24.04\nRUN pip3 install --index-url https://x.org/whl torch\n"
DEFINITION = (
    "Bootstrap: docker\nFrom: ubuntu:24.04\n%post\n    . /.singularity.d/env/10-docker*.sh\n\n"
    "%post\n    pip3 install --index-url https://x.org/whl torch\n"
)


def made() -> Recipe:
    """PyTorch from wheels."""
    found = plan("pytorch", "2.13.*", "pip", Hardware(), Extras())
    assert found is not None
    return found


def test_a_definition_takes_wheels_from_a_folder() -> None:
    """Copied in, used alone, and removed; no index is asked."""
    text = offline(DEFINITION, "definition", Mirrors(wheels="/site/wheels"))
    assert "%files\n    /site/wheels /opt/modak-wheels\n" in text
    assert "export PIP_NO_INDEX=1" in text
    assert "index-url" not in text
    assert text.endswith("rm -rf /opt/modak-wheels\n")


def test_what_a_site_adds_to_a_definition_stands_around_its_sections() -> None:
    """The whole text: nothing of the recipe is lost at the seams."""
    text = offline("Bootstrap: docker\nFrom: debian:12\n%post\n    true\n", "definition", Mirrors(wheels="/site/wheels"))
    variables = "".join(f"    export {line}\n" for line in re.findall(r"export (.*)", text))
    assert text == (
        "Bootstrap: docker\nFrom: debian:12\n\n%files\n    /site/wheels /opt/modak-wheels\n\n"
        f"%post\n{variables}\n%post\n    true\n\n%post\n    rm -rf /opt/modak-wheels\n"
    )


def test_a_dockerfile_takes_wheels_from_its_context() -> None:
    """In its last stage alone, and as arguments of the build, which the image does not keep."""
    text = offline(DOCKERFILE, "dockerfile", Mirrors(wheels="/site/wheels"))
    assert text.index("FROM ubuntu") < text.index("ARG PIP_NO_INDEX=1") < text.index("COPY . /opt/modak-wheels") < text.index("RUN pip3")
    assert "ENV PIP" not in text


@pytest.mark.parametrize(("text", "form"), [(DEFINITION, "definition"), (DOCKERFILE, "dockerfile")])
def test_an_index_replaces_every_other(text: str, form: str) -> None:
    """Also the one that a command names: it would win over the variable."""
    found = offline(text, form, Mirrors(index="https://mirror.site/simple"))  # type: ignore[arg-type]
    assert found.count("--index-url https://mirror.site/simple") == 1
    assert hosts(found) == ("mirror.site",)


@pytest.mark.parametrize(
    ("mirrors", "told"),
    [
        (Mirrors(wheels="/site/wheels"), ["find-links='/opt/modak-wheels'", "no-index='1'"]),
        (Mirrors(index="https://mirror.site/simple"), ["index-url='https://mirror.site/simple'"]),
    ],
)
def test_pip_looks_where_the_site_says_and_nowhere_else(mirrors: Mirrors, told: list[str], tmp_path: Path) -> None:
    """Whatever the configuration in the base image says."""
    (tmp_path / ".config/pip").mkdir(parents=True)
    (tmp_path / ".config/pip/pip.conf").write_text("[global]\nextra-index-url = https://example.org/simple\n")
    variables = dict(re.findall(r"export (PIP_\w+)=(\S+)", offline(DEFINITION, "definition", mirrors)))
    command = [sys.executable, "-m", "pip", "config", "list"]
    said = subprocess.run(command, env={"HOME": str(tmp_path), **variables}, capture_output=True, text=True, check=True).stdout
    assert sorted(line for line in said.splitlines() if "config-file" not in line) == [f":env:.{each}" for each in told]


def test_a_site_without_wheels_or_an_index_leaves_pip_as_it_is() -> None:
    """Its base image may be all that it has."""
    text = offline(DEFINITION, "definition", Mirrors(bases={"ubuntu:24.04": "/site/ubuntu-24.04.sif"}))
    assert "pip3 install --index-url https://x.org/whl torch\n" in text
    assert "PIP_" not in text


@pytest.mark.parametrize(("text", "form"), [(DEFINITION, "definition"), (DOCKERFILE, "dockerfile")])
def test_with_an_index_alone_nothing_is_copied_in(text: str, form: str) -> None:
    """So nothing has to be removed from the image."""
    found = offline(text, form, Mirrors(index="https://mirror.site/simple"))  # type: ignore[arg-type]
    assert not re.search(r"%files|COPY|rm -rf", found)
    assert found.endswith(" torch\n")


def test_base_images_are_those_of_registries() -> None:
    """A stage of the file is none, nor is the empty image."""
    assert (base_images(DOCKERFILE + "FROM build\nFROM scratch\n", "dockerfile"), base_images(DEFINITION, "definition")) == (
        ("a/b:1", "ubuntu:24.04"),
        ("ubuntu:24.04",),
    )


@pytest.mark.parametrize(
    ("text", "form"),
    [("# mine\nBOOTSTRAP: docker\nfrom: ubuntu:24.04\n", "definition"), ("# mine\nfrom ubuntu:24.04 as mine\n", "dockerfile")],
)
def test_a_base_image_is_found_below_a_comment_and_in_any_case(text: str, form: str) -> None:
    """As Apptainer and Charliecloud read recipes, which their users write."""
    assert base_images(text, form) == ("ubuntu:24.04",)  # type: ignore[arg-type]


def test_a_base_image_comes_from_the_sites_folder(tmp_path: Path) -> None:
    """A file for Apptainer, without the line that only images of registries need; imported under its name for Charliecloud."""
    (tmp_path / "ubuntu-24.04.sif").touch()
    (tmp_path / "ubuntu-24.04.tar.gz").touch()
    text = of_recipe(made(), "apptainer", Site(bases=str(tmp_path))).text
    assert f"Bootstrap: localimage\nFrom: {tmp_path}/ubuntu-24.04.sif\n" in text
    assert "10-docker" not in text
    assert of_recipe(made(), "charliecloud", Site(bases=str(tmp_path))).bases == ((f"{tmp_path}/ubuntu-24.04.tar.gz", "ubuntu:24.04"),)


def test_an_order_is_read_as_it_was_written(tmp_path: Path) -> None:
    """By the builder, from the database."""
    (tmp_path / "ubuntu-24.04").mkdir()
    order = of_recipe(made(), "charliecloud", Site(bases=str(tmp_path)), also=("tar", "directory", "tar"))
    assert order_from(json.loads(json.dumps(order.as_json()))) == order
    assert order.also == ("directory", "tar")


def test_a_base_image_that_the_site_lacks_is_named(tmp_path: Path) -> None:
    """With the file that it has to be."""
    with pytest.raises(RequestError, match=r"MODAK_BASE_IMAGES_DIR: .* has no ubuntu-24\.04\.sif or the directory ubuntu-24\.04"):
        of_recipe(made(), "apptainer", Site(bases=str(tmp_path)))


@pytest.mark.parametrize("runtime", ["apptainer", "charliecloud"])
def test_a_base_directory_with_devices_is_refused(tmp_path: Path, runtime: str) -> None:
    """As bootstrapping makes one; ``/dev/full``, copied as a file, fills the disk. What the message says to do helps, whatever the folder's
    name. Links to devices are copied as links."""
    folder = tmp_path / "our images"
    (folder / "ubuntu-24.04/dev").mkdir(parents=True)
    (folder / "ubuntu-24.04/dev/stdin").symlink_to("/dev/null")
    of_recipe(made(), runtime, Site(bases=str(folder)))
    with suppress(PermissionError):
        os.mknod(folder / "ubuntu-24.04/dev/full", stat.S_IFCHR | 0o666, os.makedev(1, 7))
    if not (folder / "ubuntu-24.04/dev/full").exists():
        pytest.skip("making a device takes root")
    with pytest.raises(RequestError, match=r"ubuntu-24\.04/dev has device files, .*, then find .* -delete$") as caught:
        of_recipe(made(), runtime, Site(bases=str(folder)))
    subprocess.run(["bash", "-c", re.findall(r"find .* -delete", str(caught.value))[0]], check=True)
    assert [file.name for file in (folder / "ubuntu-24.04/dev").iterdir()] == ["stdin"]
    of_recipe(made(), runtime, Site(bases=str(folder)))


def test_offline_without_anything_to_build_from_is_refused() -> None:
    """It says what can be named."""
    with pytest.raises(RequestError, match="MODAK_WHEELS_DIR, MODAK_PACKAGE_INDEX, MODAK_SOURCES_DIR or MODAK_BASE_IMAGES_DIR"):
        of_recipe(made(), "apptainer", Site())


def test_one_recipe_is_one_key() -> None:
    """For each runtime, and for each site."""
    keys = [of_recipe(made(), runtime).key for runtime in ("apptainer", "singularity", "charliecloud")]
    assert keys[0] == keys[1] != keys[2]
    assert of_recipe(made(), "apptainer", Site(index="https://mirror.site")).key != keys[0]


def test_a_dockerfile_that_begins_with_no_image_is_refused(tmp_path: Path) -> None:
    """It cannot be said where copies belong."""
    with pytest.raises(RequestError, match=r"^recipe: the Dockerfile has no FROM"):
        of_text("LABEL modak.framework=pytorch\nRUN true\n", "charliecloud", "x", tmp_path, Site(index="https://mirror.site"))


@pytest.mark.parametrize("section", ["%setup", "%Pre", "%%setup", "%arguments\n  x=%set\n{{x}}up", "%arguments\n  x=\n{{ x }}%setup"])
def test_no_recipe_runs_on_the_machine_that_builds(tmp_path: Path, section: str) -> None:
    """Whoever wrote it, and if a build argument stands for the section's name. In a Dockerfile these lines are nothing but a file's."""
    of_text(f"FROM x\nLABEL modak.framework=openmpi\nRUN cat <<'E' >/x\n{section}\nE\n", "charliecloud", "x", tmp_path)
    with pytest.raises(RequestError, match="outside of any container"):
        of_text(f"Bootstrap: docker\nFrom: x\n{section}\n  rm -rf /\n%labels\n modak.framework mpi\n", "apptainer", "x", tmp_path)


def test_a_recipe_says_what_its_image_carries(tmp_path: Path) -> None:
    """In labels, in any case; without a framework nobody could ask for it, and no test shows the version of an application."""
    text = "FROM x\nLABEL modak.framework=PyTorch modak.compilers=jit,Inductor \\\n modak.mpi=openmpi\n"
    assert of_text(text, "charliecloud", "x", tmp_path).claims == {
        "framework": "pytorch", "source": "pip", "mpi": "openmpi", "compilers": ["jit", "inductor"]
    }  # fmt: skip
    with pytest.raises(RequestError, match=r"add modak\.framework"):
        of_text("FROM x\n", "charliecloud", "x", tmp_path)
    with pytest.raises(RequestError, match=r"version of hmmer .* add the label modak\.version"):
        of_text("FROM x\nLABEL modak.framework=hmmer\n", "charliecloud", "x", tmp_path)


@pytest.mark.parametrize("name", ["my recipe", "größe", "a'b"])
def test_a_name_that_no_script_may_have_is_refused_before_the_build(tmp_path: Path, name: str) -> None:
    """The image is named at the end of a build, and its entry would be refused then."""
    with pytest.raises(RequestError, match=r"^recipe: the image would be called .*: rename that"):
        of_text("FROM x\nLABEL modak.framework=pytorch\n", "charliecloud", name, tmp_path)


@pytest.mark.parametrize("label", ["modak.version=latest", "modak.mpi=lam", "modak.source=git", "modak.cuda=new"])
def test_a_label_that_no_image_can_have_is_refused_before_the_build(tmp_path: Path, label: str) -> None:
    """A build takes long, and its labels are compared at its end."""
    with pytest.raises(RequestError) as wrong:
        of_text(f"FROM x\nLABEL modak.framework=pytorch {label}\n", "charliecloud", "x", tmp_path)
    assert [fault.field for fault in wrong.value.faults] == [label.partition("=")[0]]
