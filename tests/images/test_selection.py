from __future__ import annotations

from dataclasses import fields
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from modak import knowledge
from modak.facts import Image, ImageLabels
from modak.images.selection import VERSION_FIELD, Catalogue, ImageChoice, catalogue, choose, newest_like, passed_over
from modak.images.suitability import Wanted, allows, criteria, distance, obstacle, runs_on
from modak.recipes.plan import Extras, Hardware

HLRS: dict[str, Any] = {"accelerator": "nvidia", "compute_capability": "6.1", "microarchitecture": "broadwell", "runtime": "singularity"}
SUPERMUC_NG: dict[str, Any] = {"microarchitecture": "skylake_avx512", "runtime": "charliecloud"}


def image(reference: str, *, verified: date | None = None, **labels: Any) -> Image:
    """An entry of a catalogue."""
    values = {"framework": "tensorflow", "version": "2.1.0", "source": "hub", **labels}
    return Image(reference=reference, labels=ImageLabels.model_validate(values), verified_on=verified, source="a test")


def asking(framework: str = "tensorflow", version: str | None = None, **said: Any) -> Wanted:
    """What an image has to be, of plain values."""
    hardware, inside = ({one.name: said.pop(one.name) for one in fields(part) if one.name in said} for part in (Hardware, Extras))
    return Wanted(framework, version, Hardware(**hardware), Extras(**inside), **said)


def pick(images: list[Image], **wanted: Any) -> ImageChoice:
    """The choice among these images."""
    return choose(catalogue(images), asking(**wanted))


def name(choice: ImageChoice) -> str | None:
    """The chosen reference."""
    return choice.image.reference if choice.image else None


PACKAGED = [image for path in sorted((knowledge.packaged_root() / "images").glob("*.toml")) for image in knowledge.read_array(path, Image)]


@pytest.fixture(scope="module")
def packaged() -> Catalogue:
    """The images that come with MODAK."""
    return catalogue(PACKAGED)


PLAIN = image("docker://a/plain:1")
XLA = image("docker://a/xla:1", compilers=("xla",))
GPU = image("docker://a/gpu:1", compilers=("xla",), accelerator="nvidia", compute_capability_min="3.5", compute_capability_max="7.5")
ARM = image("docker://a/arm:1", architecture="aarch64")
HOROVOD = image("docker://a/horovod:1", distribution=("horovod",), mpi="openmpi", mpi_version="4.1.8")


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"compilers": ("xla",)}, "docker://a/xla:1"),
        ({"accelerator": "nvidia"}, "docker://a/gpu:1"),
        ({"accelerator": "nvidia", "compute_capability": "6.1"}, "docker://a/gpu:1"),
        ({"accelerator": "nvidia", "compute_capability": "8.0"}, None),
        ({"accelerator": "amd"}, None),
        ({"architecture": "aarch64"}, "docker://a/arm:1"),
        ({"architecture": "ppc64le"}, None),
        ({"distribution": "horovod"}, "docker://a/horovod:1"),
        ({"distribution": "horovod", "mpi": "openmpi"}, "docker://a/horovod:1"),
        ({"framework": "theano"}, None),
    ],
)
def test_every_wanted_label_is_carried(wanted: dict[str, Any], expected: str | None) -> None:
    """An image is taken only where it carries all that is wanted and can run there."""
    assert name(pick([PLAIN, XLA, GPU, ARM, HOROVOD], **wanted)) == expected


def test_labels_are_found_in_each_spelling() -> None:
    """As those that people write into a file of images: capitals, an underscore, the ``v`` of a tag."""
    named = image("docker://a/b:1", framework="Intel_Caffe", version="v1.1", distribution=["MLSL"])
    assert (named.labels.framework, named.labels.version, named.labels.distribution) == ("intel-caffe", "1.1", ("mlsl",))
    assert pick([named], framework="intel-caffe", version="1.1", distribution="mlsl").image == named


def test_a_compiler_that_is_off_excludes_no_image() -> None:
    """An image that carries XLA serves a request without it."""
    assert name(pick([XLA])) == "docker://a/xla:1"


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ("2.1", "2.1.0"),
        ("2.1.1", "2.1.1"),
        ("2.10", "2.10.0"),
        ("2.1.*", "2.1.1"),
        ("2.*", "2.10.0"),
        (">=1.14,<2", "1.14.0"),
        (None, "2.10.0"),
    ],
)
def test_versions_are_versions(wanted: str | None, expected: str) -> None:
    """2.1 is neither 2.10 nor 2.1.1; a range gives its newest."""
    images = [image(f"docker://a/b:{version}", version=version) for version in ("1.14.0", "2.1.0", "2.1.1", "2.10.0")]
    choice = pick(images, version=wanted)
    assert choice.image is not None
    assert (choice.image.labels.version, choice.exact, choice.warnings) == (expected, True, ())


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [("1.1", "1.14.0"), ("1.20", "1.15.0"), ("2.5", "2.10.0"), ("3.0", "2.10.0"), ("0.9", "1.14.0"), (">=3", "2.10.0")],
)
def test_the_nearest_version_stands_in_with_a_warning(wanted: str, expected: str) -> None:
    """The lowest above of the same major number, else the highest below, else the lowest of all; the warning names what there is."""
    images = [image(f"docker://a/b:{version}", version=version) for version in ("1.14.0", "1.15.0", "2.1.0", "2.10.0")]
    choice = pick(images, version=wanted)
    assert choice.image is not None
    assert (choice.image.labels.version, choice.exact) == (expected, False)
    assert [warning.field for warning in choice.warnings] == [VERSION_FIELD]
    assert "1.14.0, 1.15.0, 2.1.0, 2.10.0" in choice.warnings[0].message
    assert "(available: " in choice.warnings[0].message


def test_of_many_versions_the_nearest_on_both_sides_are_named() -> None:
    """And how many there are."""
    versions = [image(f"docker://a/v:{number}", version=f"{number}.0.0") for number in range(1, 31)]
    (warning,) = pick(versions, version="15.1").warnings
    listed = ", ".join(f"{number}.0.0" for number in range(9, 21))
    assert warning.message.endswith(f"15.0.0 is used instead (the nearest of 30: {listed})")


def test_the_image_of_whose_contents_more_is_known_goes_first() -> None:
    """What an image may lack is no advantage."""
    assert name(pick([PLAIN, image("docker://b/known:1", python="3.8")])) == "docker://b/known:1"


def test_what_the_chosen_image_lacks_too_is_no_reason_against_another() -> None:
    """No image has the graph compiler: the newer one is chosen for its version."""
    old, new = PLAIN, image("docker://a/new:1", version="2.2.0")
    wanted = asking(compilers=("xla",))
    assert choose(catalogue([old, new]), wanted).image == new
    assert passed_over(old, new, wanted) == "the chosen one is preferred because its version is newer"
    assert passed_over(old, XLA, wanted) == passed_over(old, None, wanted) == "it is an image without xla"
    assert passed_over(old, None, asking(opt_build=True)) == "the request asks for a source build"


def test_the_nearest_version_is_one_for_what_the_job_computes_on() -> None:
    """A job without GPUs does not get an image for GPUs because its version is nearer."""
    gpu, cpu = image("docker://a/b:gpu", version="2.7.1", accelerator="amd"), image("docker://a/b:cpu", version="2.3.0")
    assert name(pick([gpu, cpu], version="2.6")) == "docker://a/b:cpu"
    assert name(pick([gpu], version="2.6")) == "docker://a/b:gpu"


@pytest.mark.parametrize(
    ("built_for", "target", "runs"),
    [
        ("haswell", "skylake_avx512", True),
        ("skylake_avx512", "haswell", False),
        ("skylake_avx512", "skylake_avx512", True),
        ("x86_64_v3", "zen2", True),
        ("haswell", "zen2", False),
        ("a-site-s-own", "a-site-s-own", True),
        ("a-site-s-own", "haswell", False),
        ("haswell", "a-site-s-own", False),
        ("haswell", None, False),
    ],
)
def test_code_runs_on_the_same_processor_and_on_descendants(built_for: str, target: str | None, runs: bool) -> None:
    """A haswell image runs on skylake_avx512, not the other way round, and nowhere where the processor is unknown."""
    assert runs_on(built_for, target) is runs
    assert (name(pick([image("docker://a/b:1", microarchitecture=built_for)], microarchitecture=target)) is not None) is runs


@pytest.mark.parametrize(
    ("built_for", "target", "known"),
    [("own", "own", True), ("own", "haswell", False), ("haswell", "own", False), (None, "haswell", False), (None, None, False)],
)
def test_a_processor_that_archspec_does_not_know_is_near_to_itself_alone(built_for: str | None, target: str | None, known: bool) -> None:
    """To others it is further than any two that it knows."""
    assert (distance(built_for, target) == 0) is known
    assert (distance(built_for, target) > distance("x86_64", "skylake_avx512")) is not known


def test_the_nearest_processor_wins() -> None:
    """Of two that run there, the one compiled for the younger processor; a plain one last."""
    images = [PLAIN, *(image(f"docker://a/{cpu}:1", microarchitecture=cpu, verified=date(2026, 1, 1)) for cpu in ("haswell", "skylake"))]
    assert name(pick(images, microarchitecture="skylake_avx512")) == "docker://a/skylake:1"
    assert distance("skylake", "skylake_avx512") < distance("haswell", "skylake_avx512") < distance(None, "skylake_avx512")


@pytest.mark.parametrize(
    ("capability", "expected"), [("3.0", None), ("3.5", GPU.reference), ("7.5", GPU.reference), ("9.0", None), (None, GPU.reference)]
)
def test_an_image_without_kernels_for_the_gpu_is_never_taken(capability: str | None, expected: str | None) -> None:
    """Compute capabilities outside the image's range rule it out, even where nothing else is left."""
    assert name(pick([GPU], accelerator="nvidia", compute_capability=capability)) == expected


CUDA = {
    version: image(f"docker://a/cuda:{version}", accelerator="nvidia", cuda=version, compute_capability_min="5.0")
    for version in ("10.2", "11.8", "12.4", "12.6", "13.0")
}


@pytest.mark.parametrize(
    ("driver", "able"),
    [
        (None, {"10.2", "11.8", "12.4", "12.6", "13.0"}),
        ("10.1", set()),
        ("11.0", {"10.2", "11.8"}),
        ("12.4", {"10.2", "11.8", "12.4", "12.6"}),
        ("13.2", {"10.2", "11.8", "12.4", "12.6", "13.0"}),
    ],
)
def test_an_image_whose_cuda_the_driver_does_not_take_is_never_taken(driver: str | None, able: set[str]) -> None:
    """A newer major version never; since 11 a newer minor one; a driver that nobody describes takes any."""
    for version, one in CUDA.items():
        assert (name(pick([one], accelerator="nvidia", driver_cuda=driver)) == one.reference) is (version in able)


def test_the_cuda_that_the_driver_has_whole_goes_first() -> None:
    """What the driver only takes by compatibility comes second."""
    newer, older = (image(f"docker://a/{name}:1", accelerator="nvidia", cuda=cuda) for name, cuda in (("a", "12.6"), ("b", "12.4")))
    assert name(pick([newer, older], accelerator="nvidia", driver_cuda="12.4")) == older.reference


def test_among_equals_the_faster_one_by_the_models() -> None:
    """Before the name, after every label; the runner-up is told why."""
    first, second, third = (image(f"docker://a/{each}:1") for each in "abc")
    seconds = ((second.reference, 20.0), (third.reference, 10.0))
    choice = pick([first, second, third], seconds=seconds)
    assert name(choice) == third.reference
    assert any(
        "second best is docker://a/b:1; the chosen one is preferred because the models predict it to be faster" in line
        for line in choice.decisions
    )
    assert name(pick([first, XLA], compilers=("xla",), seconds=((first.reference, 1.0),))) == XLA.reference


def test_a_measured_image_is_found_among_many_of_a_kind() -> None:
    """The last by name of a thousand that nothing else tells apart."""
    many = [image(f"docker://a/{number:04}:1") for number in range(1000)]
    assert name(pick(many, seconds=((many[-1].reference, 3.0),))) == many[-1].reference


def test_a_measured_image_of_another_version_is_not_taken() -> None:
    """However fast it was: the request asks for one version."""
    old, new = image("docker://a/b:1.14.0", version="1.14.0"), image("docker://a/b:2.1.0")
    assert name(pick([old, new], version="1.14", seconds=((new.reference, 3.0),))) == old.reference


def test_a_gpu_image_serves_a_cpu_job_only_where_nothing_better_is_there() -> None:
    """PyTorch's official images all carry CUDA; on processors they run, but an image for processors goes first."""
    assert name(pick([GPU, PLAIN])) == PLAIN.reference
    alone = pick([GPU])
    assert (name(alone), alone.exact) == (GPU.reference, False)
    assert "which this job does not use" in alone.decisions[0]


APPTAINERS = "docker://a/b:1 oras://a/b:1 library://a/b:1 shub://a/b:1 private://a/b:1 a.sif a.simg"


@pytest.mark.parametrize(
    ("runtime", "reads"),
    [
        ("apptainer", APPTAINERS),
        ("singularity", APPTAINERS),
        ("charliecloud", "docker://a/b:1 private://a/b:1 a.sqfs a.sqsh"),
        ("enroot", "docker://a/b:1 private://a/b:1 a.sqfs a.sqsh"),
        ("podman-hpc", "docker://a/b:1 private://a/b:1"),
        ("sarus", "docker://a/b:1 private://a/b:1"),
        (None, f"{APPTAINERS} a.sqfs a.sqsh"),
    ],
)
def test_the_runtime_can_read_the_image(runtime: str | None, reads: str) -> None:
    """Each runtime is offered only the forms of images that it reads."""
    forms = [*APPTAINERS.split(), "a.sqfs", "a.sqsh"]
    assert [form for form in forms if name(pick([image(form)], runtime=runtime))] == reads.split()


def test_without_containers_there_is_no_image() -> None:
    """Runtime none: no image, and nothing to warn of."""
    choice = pick([PLAIN], runtime="none")
    assert (choice.image, choice.exact, choice.warnings) == (None, True, ())


def test_an_mpi_of_the_same_binary_interface_is_a_stopgap() -> None:
    """MPICH stands in for Intel MPI with a warning, the same family goes first, Open MPI never does."""
    mpich, intel, openmpi = (
        image(f"docker://{place}/{mpi}:1", mpi=mpi, mpi_version=version)
        for place, mpi, version in (("a", "mpich", "4.0"), ("b", "intel-mpi", "2019"), ("c", "openmpi", "4.1"))
    )
    assert name(pick([mpich, intel, openmpi], mpi="intel-mpi")) == intel.reference
    stopgap = pick([mpich, openmpi], mpi="intel-mpi")
    assert (name(stopgap), stopgap.exact) == (mpich.reference, True)
    assert ["MPICH ABI" in warning.message for warning in stopgap.warnings] == [True]
    assert pick([mpich]).warnings == (), "the job asks for none"


def test_the_mpi_of_the_measured_runs_goes_first() -> None:
    """Then one of the same binary interface, then any, in which the runs may take another time; last an image without."""
    none, other, near, same = (image(f"docker://a/{at}:1", mpi=mpi) for at, mpi in enumerate((None, "openmpi", "intel-mpi", "mpich")))
    library = image("docker://a/9:1", framework="mpich")
    chosen = [pick(images, own_mpi="mpich") for images in ([none, other, near, same], [none, other, near], [none, other], [none])]
    assert [name(choice) for choice in chosen] == [each.reference for each in (same, near, other, none)]
    assert [choice.exact for choice in chosen] == [True, False, False, False]
    assert pick([library], framework="mpich", own_mpi="mpich").exact


def test_the_host_s_version_of_mpi_goes_first() -> None:
    """Of two images with the same MPI family, the one with the host's version."""
    images = [image(f"docker://a/b:{version}", mpi="intel-mpi", mpi_version=version) for version in ("2018", "2019", "2021.14")]
    assert name(pick(images, mpi="intel-mpi", mpi_version="2019")) == "docker://a/b:2019"


@pytest.mark.parametrize(
    ("compilers", "lacking"),
    [
        (("ngraph",), "ngraph; the job runs without it"),
        (("xla", "ngraph"), "xla and ngraph together; the job runs without them"),
    ],
)
def test_compilers_are_given_up_before_anything_else(compilers: tuple[str, ...], lacking: str) -> None:
    """Where no image carries them, one without is taken, with a warning for each; of several, an image may well contain one."""
    choice = pick([PLAIN, HOROVOD], compilers=compilers)
    assert (name(choice), choice.exact) == (PLAIN.reference, False)
    assert [warning.field for warning in choice.warnings] == [f"optimisation.options.{each}" for each in compilers]
    assert {warning.message for warning in choice.warnings} == {f"no suitable image of tensorflow contains {lacking}"}


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        ({"compilers": ("xla", "ngraph")}, "without them (there are images with xla or ngraph alone: switch off the rest)"),
        ({"compilers": ("xla", "ngraph"), "accelerator": "nvidia"}, "without them (there are images with xla alone: switch off the rest)"),
        (
            {"compilers": ("glow",), "framework": "pytorch", "version": "1.4"},
            "(with optimisation.enable_opt_build one is built from source)",
        ),
        ({"compilers": ("glow",), "framework": "pytorch", "version": "1.5"}, "contains glow; the job runs without it"),
    ],
)
def test_what_would_have_compilers_that_are_given_up_is_told(wanted: dict[str, Any], told: str) -> None:
    """Images with some of them, or a source build."""
    torch = image("docker://a/torch:1", framework="pytorch", version="1.4.0")
    choice = pick([XLA, GPU, image("docker://a/ngraph:1", compilers=("ngraph",)), torch], **wanted)
    assert choice.warnings[0].message.endswith(told)


def test_an_mpi_that_nothing_asks_for_is_given_up_before_the_version_and_the_compiler() -> None:
    """Without a distribution, the requested version with its compiler goes before another version with the host's MPI."""
    older = image("private://a/older:1", version="1.11.0", mpi="mpich", distribution=("horovod",))
    choice = pick([older, XLA], version="2.1", compilers=("xla",), mpi="mpich")
    assert (name(choice), [warning.field for warning in choice.warnings]) == (XLA.reference, ["target.name"])


def test_an_mpi_goes_with_the_distribution_that_asked_for_it() -> None:
    """If Horovod is nowhere, the requested version goes before another one with the host's MPI."""
    other = image("docker://a/other:1", version="1.11.0", mpi="mpich")
    assert name(pick([other, PLAIN], version="2.1", distribution="horovod", mpi="mpich")) == PLAIN.reference


def test_a_recipe_goes_before_giving_up_the_distribution() -> None:
    """Horovod that no image carries is built where a recipe can, and else left to the application with a warning."""
    built = pick([PLAIN], distribution="horovod", recipe_version="2.1.0")
    assert (built.image, built.recipe_version) == (None, "2.1.0")
    bare = pick([PLAIN], distribution="horovod")
    assert [warning.field for warning in bare.warnings] == ["optimisation.options.distribution"]


def test_what_is_built_because_no_image_is_suitable_is_told_with_why() -> None:
    """And how many are unsuitable for what."""
    choice = pick([PLAIN, XLA, ARM], accelerator="nvidia", recipe_version="2.1.0")
    assert choice.decisions == ("image: to be built, none of the 3 images of tensorflow is suitable: 3 without nvidia support",)


BUILT = image("docker://a/built:1", source="opt-build", microarchitecture="broadwell", compilers=("xla",))


def test_a_source_build_that_was_asked_for_goes_first() -> None:
    """enable_opt_build prefers a source build for the target; without it the project's own image is taken."""
    wanted = {"microarchitecture": "broadwell", "recipe_version": "2.1.0"}
    assert name(pick([XLA, BUILT], opt_build=True, **wanted)) == BUILT.reference
    newer = image("docker://a/newer:1", version="2.2.0")
    assert [name(pick([newer, BUILT], opt_build=asked, **wanted)) for asked in (True, False)] == [BUILT.reference, newer.reference]
    assert name(pick([XLA, BUILT], **wanted)) == XLA.reference


def test_of_verified_images_a_source_build_that_nobody_asked_for_is_one_like_others() -> None:
    """The newer version is taken."""
    build, other = (
        image(f"docker://a/{source}:1", source=source, version=version, verified=date(2026, 1, 1))
        for source, version in (("opt-build", "2.2.0"), ("pip", "2.1.0"))
    )
    assert name(pick([build, other])) == build.reference


def test_a_source_build_that_nobody_has_is_made() -> None:
    """enable_opt_build, no image that carries the labels, and a recipe: no image, so that one is built."""
    choice = pick([XLA, BUILT], version="2.1", compilers=("xla",), opt_build=True, microarchitecture="haswell", recipe_version="2.1.0")
    assert (choice.image, choice.recipe_version, choice.exact) == (None, "2.1.0", False)
    why = "no image contains tensorflow 2.1 with xla built from source for that CPU"
    assert choice.decisions == (f"image: to be built, {why}; nearest: {XLA.reference}",)


@pytest.mark.parametrize(("architecture", "there"), [("aarch64", True), ("ppc64le", False)])
def test_where_no_image_is_suitable_a_source_build_is_named(architecture: str, there: bool) -> None:
    """If there is a recipe."""
    (warning,) = pick([XLA], architecture=architecture).warnings
    assert ("; with optimisation.enable_opt_build one is built from source; or name an image" in warning.message) == there


def test_without_a_recipe_a_source_build_is_only_a_wish() -> None:
    """enable_opt_build without a recipe takes the best that is there, and says that it is no source build."""
    choice = pick([XLA], opt_build=True)
    assert name(choice) == XLA.reference
    assert [warning.field for warning in choice.warnings] == ["optimisation.enable_opt_build"]


def test_the_project_s_own_image_goes_first() -> None:
    """Of two that carry the same, the one from the project's registry, before one that somebody put together with pip."""
    assert name(pick([image("docker://a/a:1", source="pip"), image("docker://b/b:1")])) == "docker://b/b:1"


def test_an_image_without_spare_parts_goes_first() -> None:
    """Horovod and MPI that nobody asked for are no advantage."""
    assert name(pick([HOROVOD, PLAIN])) == PLAIN.reference
    assert name(pick([image("docker://a/mpi:1", mpi="openmpi"), PLAIN])) == PLAIN.reference


def test_a_private_image_that_nobody_ran_goes_last() -> None:
    """What only its owners can reach is taken where nothing else fits and nothing can be built."""
    private = image("private://a/b:1", compilers=("xla", "ngraph"))
    assert name(pick([private, PLAIN])) == PLAIN.reference
    assert name(pick([private, GPU])) == GPU.reference
    assert name(pick([private])) == private.reference
    assert pick([private], recipe_version="2.1.0").recipe_version == "2.1.0"
    ran = image("private://a/b:1", compilers=("xla", "ngraph"), verified=date(2026, 1, 1))
    assert name(pick([ran, PLAIN])) == ran.reference


def test_the_runner_up_is_explained() -> None:
    """One line says which image came second and what decided."""
    verified = image("docker://a/z:1", verified=date(2026, 1, 2))
    lines = pick([PLAIN, verified]).decisions
    assert any(PLAIN.reference in line and "it is verified" in line for line in lines)
    assert all("\n" not in line for line in lines)


@pytest.mark.parametrize(
    ("images", "wanted", "told"),
    [
        (
            [PLAIN.model_copy(update={"notes": ("needs a licence",)}), HOROVOD, ARM],
            {},
            [
                "image: docker://a/plain:1, tensorflow 2.1.0 (hub) for CPUs: the best of 2 suitable images (3 known for tensorflow)",
                "image: second best is docker://a/horovod:1; the chosen one is preferred because it contains less that was not requested",
                "image: unverified: no run of it is recorded; needs a licence",
            ],
        ),
        (
            [GPU],
            {"accelerator": "nvidia"},
            [
                "image: docker://a/gpu:1, tensorflow 2.1.0 (hub, with xla) for nvidia: the only suitable image (1 known for tensorflow)",
                "image: unverified: no run of it is recorded",
            ],
        ),
    ],
)
def test_a_choice_is_told_whole(images: list[Image], wanted: dict[str, Any], told: list[str]) -> None:
    """What is inside, of how many that were suitable, against which, and what is known of it."""
    assert list(pick(images, **wanted).decisions) == told


def test_the_newest_image_is_one_that_the_same_job_could_have() -> None:
    """For the same hardware, and to be had; without another it is the image itself."""
    old, new = image("docker://a/old:1", version="1.14.0"), image("docker://a/new:1", version="2.1.0")
    others = (
        image("docker://a/gpu:1", version="2.9.0", accelerator="nvidia"),
        image("docker://a/arm:1", version="2.8.0", architecture="aarch64"),
        image("private://a/own:1", version="2.7.0"),
    )
    assert newest_like(catalogue([old, new, *others]), old) == new
    assert newest_like(catalogue([old, *others]), old) == old


def test_a_verified_image_is_told_with_its_day() -> None:
    """Since then it may have changed."""
    lines = pick([image("docker://a/z:1", verified=date(2026, 1, 2))]).decisions
    assert "image: verified on 2026-01-02: it ran, and contains what its labels say" in lines


def test_an_image_that_told_nothing_when_run_is_not_said_to_be_verified() -> None:
    """What the run did not show is named."""
    ran = image("/images/a.sif").model_copy(update={"findings": ("framework: claimed tensorflow, nothing seen: unknown",)})
    assert "image: not verified: running it did not show its framework" in pick([ran]).decisions


SOME = [
    image("private://hub/tf:2.1.0", compilers=("xla",)),
    image("docker://hub/tf:2.1.0-haswell", compilers=("xla",), microarchitecture="haswell"),
    image("docker://hub/tf:2.1.0-arm", compilers=("xla",), architecture="aarch64"),
    image("docker://hub/tf:2.1.0-cuda", compilers=("xla",), accelerator="nvidia", cuda="12.4", compute_capability_min="7.0"),
    image("docker://hub/tf:2.1.0-horovod", compilers=("xla",), distribution=("horovod",), mpi="openmpi", mpi_version="4.1"),
    image("docker://hub/tf:2.1.0-verified", compilers=("ngraph", "xla"), mpi="openmpi", verified=date(2026, 1, 31)),
    image("docker://hub/tf:2.1.0-refuted", compilers=("ngraph", "xla"), mpi="openmpi").model_copy(update={"refuted": ("framework",)}),
    *(image(f"docker://{source}/tf:2.1.0", compilers=("xla",), source=source) for source in ("hub", "pip", "opt-build")),
    image("docker://hub/tf:2.1.0-old", compilers=("xla",), accelerator="nvidia", compute_capability_max="7.5"),
    image("docker://hub/tf:2.1.0-python", compilers=("xla",), python="3.8"),
    image("tf.sqfs", compilers=("xla",)),
]
SOME += [
    image(f"docker://{source}/tf:{version}-{number}", version=version, source=source, accelerator=accelerator, mpi=mpi, compilers=compilers)
    for number, (version, source, accelerator, mpi, compilers) in enumerate(
        [
            ("1.14.0", "hub", "none", None, ("xla",)),
            ("1.14.0", "hub", "none", None, ("xla",)),
            ("1.14.0", "pip", "none", "openmpi", ()),
            ("2.1.0", "hub", "nvidia", None, ("xla",)),
            ("2.1.0", "opt-build", "none", "mpich", ("xla",)),
            ("2.1.0", "hub", "none", None, ("ngraph", "xla")),
        ]
    )
]


@given(
    st.permutations(SOME),
    st.sampled_from([None, "1.14", "1.1", "2.*", "3.0"]),
    st.sampled_from([(), ("xla",), ("glow",)]),
    st.sampled_from([None, "intel-mpi", "openmpi"]),
    st.booleans(),
)
def test_the_order_of_images_decides_nothing(
    images: list[Image], version: str | None, compilers: tuple[str, ...], mpi: str | None, opt: bool
) -> None:
    """The same images in any order give the same choice, reasons included."""
    wanted = {"version": version, "compilers": compilers, "mpi": mpi, "opt_build": opt}
    assert pick(images, **wanted) == pick(SOME, **wanted)


@given(
    st.permutations(SOME),
    st.sampled_from([None, "2.1", "2.*", ">=1.14,<2.1", "9.9"]),
    st.sampled_from([(), ("xla",)]),
    st.sampled_from([None, "openmpi", "mpich"]),
    st.sampled_from(
        [
            {},
            {"microarchitecture": "skylake_avx512"},
            {"architecture": "aarch64"},
            {"accelerator": "nvidia", "compute_capability": "6.1"},
            {"accelerator": "nvidia", "compute_capability": "8.0", "driver_cuda": "11.4"},
            {"distribution": "horovod", "mpi_version": "4.1"},
            {"opt_build": True},
            {"runtime": "charliecloud"},
            {"runtime": "apptainer"},
        ]
    ),
)
def test_looking_at_kinds_finds_what_looking_at_each_would(
    images: list[Image], version: str | None, compilers: tuple[str, ...], mpi: str | None, more: dict[str, Any]
) -> None:
    """Of the images without an obstacle and of that version, the least by the criteria is chosen."""
    wanted = asking(version=version, compilers=compilers, mpi=mpi, **more)
    able = [one for one in images if obstacle(one, wanted) is None and (version is None or allows(version, Version(one.labels.version)))]
    best = min(able, key=lambda one: [value for _, value in criteria(one, wanted)], default=None)
    assert best is None or choose(catalogue(images), wanted).image == best


def test_packaged_images_cover_table_one() -> None:
    """Every framework, version and source of the paper's Table I is in the catalogue, for processors and GPUs."""
    has = {(image.labels.framework, image.labels.version, image.labels.source, image.labels.accelerator) for image in PACKAGED}
    both = ("none", "nvidia")
    table = {
        ("tensorflow", version, source, device)
        for version in ("1.14.0", "2.1.0")
        for source in ("hub", "pip", "opt-build")
        for device in both
    }
    table |= {("pytorch", "1.4.0", source, device) for source in ("pip", "opt-build") for device in both} | {
        ("pytorch", "1.4.0", "hub", "nvidia")
    }
    table |= {("mxnet", "1.6.0", "hub", device) for device in both} | {("cntk", "2.7", "hub", device) for device in both}
    assert table <= has
    compilers = {(image.labels.framework, name) for image in PACKAGED for name in image.labels.compilers}
    assert {("tensorflow", "xla"), ("tensorflow", "ngraph"), ("pytorch", "glow"), ("pytorch", "inductor"), ("jax", "xla")} <= compilers


def test_old_packaged_images_claim_no_verification() -> None:
    """Nobody has run the packaged images for this catalogue, so none says so; each says what is known of it."""
    assert all(image.verified_on is None and image.notes for image in PACKAGED)


def test_listing_one_on_the_testbed(packaged: Catalogue) -> None:
    """TensorFlow "1.1" with XLA on a GTX 1080 Ti: 1.14 with XLA for that GPU, which can be pulled; warned of version and build."""
    choice = choose(packaged, asking(version="1.1", compilers=("xla",), opt_build=True, **HLRS))
    assert name(choice) == "docker://tensorflow/tensorflow:1.14.0-gpu-py3"
    assert [warning.field for warning in choice.warnings] == [VERSION_FIELD, "optimisation.enable_opt_build"]
    assert "no source build of tensorflow 1.1 " in choice.warnings[-1].message  # of 1.14 there is a recipe
    assert not choice.exact


def test_listing_one_with_2_1_is_a_tagged_image(packaged: Catalogue) -> None:
    """With 2.1 there is a source build for that processor and GPU, and nothing to warn of."""
    choice = choose(packaged, asking(version="2.1", compilers=("xla",), opt_build=True, recipe_version="2.1.0", **HLRS))
    assert (name(choice), choice.exact, choice.warnings) == ("docker://modakopt/modak:tensorflow-2.1-gpu-src", True, ())


def test_3dgan_on_supermuc_ng_gets_the_host_s_mpi(packaged: Catalogue) -> None:
    """TensorFlow with Horovod for processors whose Intel MPI is the host's, to be bound over."""
    choice = choose(packaged, asking(distribution="horovod", mpi="intel-mpi", mpi_version="2019", **SUPERMUC_NG))
    assert choice.image is not None
    assert (choice.image.labels.mpi, choice.image.labels.accelerator, choice.warnings) == ("intel-mpi", "none", ())
    assert "private" in choice.decisions[-1]


@pytest.mark.parametrize(("capability", "served"), [("6.1", "12.6"), ("9.0", "12.6"), ("12.0", "13.0")])
def test_today_s_pytorch_fits_the_gpu(packaged: Catalogue, capability: str, served: str) -> None:
    """Of PyTorch's builds the one with kernels for the GPU: CUDA 12.6 for Pascal, 13.0 for Blackwell."""
    choice = choose(packaged, asking("pytorch", "2.13", compilers=("inductor",), accelerator="nvidia", compute_capability=capability))
    assert choice.image is not None
    assert choice.image.labels.cuda == served
