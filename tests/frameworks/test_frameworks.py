from __future__ import annotations

from typing import Any, get_args

import pytest
from packaging.version import Version
from pydantic import ValidationError

from modak import plugins
from modak.choosing.requirements import A_GPU_PER_RANK, drives_all_gpus
from modak.dsl import FrameworkOptions, Request
from modak.frameworks import BUILTIN, Framework
from modak.frameworks.base import Kind, SourceBuild, release
from modak.launchers.family import OWN_NETWORK
from modak.recipes.linux import INSTALLERS, LINUX
from modak.recipes.mpilibs import LIBRARIES
from modak.recipes.wheels import SHA256
from modak.text.grammar import version_range

EVERY = [pytest.param(framework, id=framework.name) for framework in BUILTIN]


def options(name: str, values: dict[str, Any]) -> FrameworkOptions:
    """The options of a framework from what a caller sends."""
    model: type[FrameworkOptions] = plugins.find("frameworks", name).options
    return model.model_validate(values)


def test_every_framework_of_the_documents_is_there() -> None:
    """The frameworks, the layer and the ways to be parallel that callers name."""
    wanted = {"tensorflow", "pytorch", "keras", "mxnet", "cntk", "caffe", "intel-caffe", "nvcaffe", "jax", "horovod"}
    wanted |= {"mpi", "openmpi", "mpich", "openmp", "openacc", "opencl"}
    assert wanted - set(plugins.names("frameworks")) == set()


def test_front_ends_are_those_whose_images_are_of_another_framework() -> None:
    """Caffe is none, though its forks have images of their own."""
    assert {each.name for each in BUILTIN if each.is_front_end} == {"keras", "horovod"}


@pytest.mark.parametrize(
    ("name", "fork", "alone"), [("caffe", None, True), ("caffe", "intel", True), ("caffe", "nvidia", True), ("jax", None, False)]
)
def test_one_process_of_caffe_and_of_its_forks_drives_all_gpus(name: str, fork: str | None, alone: bool) -> None:
    """Which of them a request means is said by an option."""
    optimisation = {"framework": name, "options": options(name, {"fork": fork} if fork else {})}
    assert drives_all_gpus(Request().changed(optimisation=optimisation)) == alone


def test_what_connects_the_ranks_of_every_distribution_layer_is_known() -> None:
    """MPI, unless it says otherwise: the script looks for the MPI library that they use, or for none."""
    fields = (each.options.model_fields.get("distribution") for each in BUILTIN)
    layers = {word for field in fields if field for kind in get_args(field.annotation) for word in get_args(kind)}
    known = OWN_NETWORK | {*A_GPU_PER_RANK, "mlsl", "nccl", "mpi"}
    assert layers - known == set(), (
        "name it in OWN_NETWORK (modak/launchers/family.py) or A_GPU_PER_RANK (modak/choosing/requirements.py), or here"
    )


@pytest.mark.parametrize("framework", EVERY)
def test_a_framework_keeps_its_contract(framework: Framework) -> None:
    """Names, kinds, options and compilers are what the rest of MODAK relies on."""
    assert framework.kind in get_args(Kind)
    assert issubclass(framework.options, FrameworkOptions)
    assert framework.options.model_config.get("frozen")
    assert framework.options.model_config.get("extra") == "forbid"
    for compiler in framework.compilers:
        assert compiler.option in framework.options.model_fields
        assert compiler.versions is None or version_range(compiler.versions)
    plain = framework.options()
    carrier = framework.carrier(plain)
    assert (carrier is None) == (framework.kind == "parallel")
    assert framework.environment(plain) == {}


def test_a_variant_without_a_name_is_refused() -> None:
    """A class that is not marked as a dataclass would lose its name."""

    class Nameless(Framework):
        name: str = "nameless"

    with pytest.raises(TypeError, match="'name'"):
        Nameless()  # type: ignore[call-arg]


@pytest.mark.parametrize("framework", EVERY)
def test_build_rows_are_whole(framework: Framework) -> None:
    """Each row builds its own release on a Linux and Python that recipes know."""
    for row in framework.toolchains:
        assert row.covers(row.release)
        assert row.distro in LINUX
        assert row.python in INSTALLERS
        assert row.source or any(row.wheels(device) or row.official(device) for device in ("none", "nvidia", "amd"))
        assert not row.source or framework.name in LIBRARIES or framework.build_commands(SourceBuild(row.release, row))
        assert row.capabilities is None or Version(row.capabilities[0]) < Version(row.capabilities[1])
        assert set(row.locked) | set(row.locked_nvidia) <= set(SHA256)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("tensorflow", {"version": "1.1", "xla": True}),
        ("tensorflow", {"version": "2.*", "xla": "auto", "ngraph": False, "distribution": "horovod"}),
        ("pytorch", {"version": "1.4", "glow": True}),
        ("pytorch", {"version": "2.13", "inductor": "auto", "jit": False, "distribution": "ddp"}),
        ("pytorch", {"torch_compile": True}),
        ("keras", {"version": "2.3", "backend": "tensorflow", "xla": True}),
        ("mxnet", {"version": "1.6", "distribution": "parameter-server"}),
        ("cntk", {"version": "2.7", "distribution": "mpi"}),
        ("caffe", {"fork": "intel", "distribution": "mlsl"}),
        ("jax", {"version": "0.10", "xla": True}),
        ("horovod", {"version": "0.19", "framework": "pytorch", "fusion_threshold": 67108864, "cycle_time": 2.5}),
        ("mpi", {"library": "mpich", "version": "3.1.4", "scaling_efficiency": 0.75, "core_subscription": 1, "message_size": "small"}),
        ("openmp", {"number_of_threads": 4, "affinity": "block"}),
        ("openacc", {"compiler": "pgi", "version": "19.10", "number_of_acc": 2}),
        ("opencl", {"compiler": "pgi", "version": "19.10", "number_of_acc": 2}),
    ],
)
def test_options_take_what_callers_send(name: str, values: dict[str, Any]) -> None:
    """Every key that is seen in the wild is an option, also with numbers and switches as text."""
    made = options(name, values)
    as_text = {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in values.items()}
    assert options(name, as_text) == made
    assert made.model_fields_set


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("tensorflow", {"glow": True}),
        ("tensorflow", {"xla": "perhaps"}),
        ("tensorflow", {"version": "2.1; rm"}),
        ("mpi", {"library": "lam"}),
        ("mpi", {"scaling_efficiency": 1.5}),
        ("openmp", {"number_of_threads": 0}),
        ("openmp", {"affinity": "close; rm"}),
        ("horovod", {"cycle_time": "nan"}),
        ("keras", {"backend": "lasagne"}),
    ],
)
def test_options_refuse_what_they_do_not_know(name: str, values: dict[str, Any]) -> None:
    """Unknown keys and values outside the allowed ones are errors of the field."""
    with pytest.raises(ValidationError) as wrong:
        options(name, values)
    assert wrong.value.errors()[0]["loc"][0] in values


@pytest.mark.parametrize(
    ("written", "library"),
    [
        ("opnmpi", "openmpi"),
        ("Open MPI", "openmpi"),
        ("mvapch", "mvapich"),
        ("MVAPICH2", "mvapich"),
        ("Intel MPI", "intel-mpi"),
        ("intel", "intel-mpi"),
        ("IntelMPI", "intel-mpi"),
        ("impi", "intel-mpi"),
        ("MPICH", "mpich"),
    ],
)
def test_misspelt_mpi_libraries_are_understood(written: str, library: str) -> None:
    """Two misspellings come from a released editor."""
    assert options("mpi", {"library": written}).model_dump()["library"] == library


def test_an_affinity_that_is_not_known_is_told_to_have_no_effect() -> None:
    """It asks for no variable."""
    told = options("openmp", {"affinity": "whatever"}).unused()
    assert told["affinity"].startswith("has no effect: whatever is unknown; known: block, ")
    assert not options("openmp", {"affinity": "Scatter"}).unused()


@pytest.mark.parametrize("name", ["openacc", "opencl"])
def test_a_compiler_of_accelerators_is_told_to_have_no_effect_where_it_is_given(name: str) -> None:
    """Nothing is said of one that the request does not name."""
    told = [options(name, values).unused().keys() for values in ({"compiler": "nvhpc"}, {"version": "19.10"}, {"number_of_acc": 2})]
    assert told == [{"compiler"}, {"version"}, set()]


def test_jax_says_that_xla_stays_on() -> None:
    """Only where the request switches it off."""
    told = [options("jax", {"xla": value}).unused() for value in (False, True, "auto")]
    assert told == [{"xla": "has no effect: JAX compiles with XLA always"}, {}, {}]


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("tensorflow", {"version": "2.1"}, ("tensorflow", "2.1")),
        ("keras", {"version": "2.3"}, ("tensorflow", None)),
        ("keras", {"backend": "torch"}, ("pytorch", None)),
        ("keras", {"backend": "theano"}, ("theano", None)),
        ("caffe", {"fork": "intel", "version": "1.1"}, ("intel-caffe", "1.1")),
        ("caffe", {"fork": "nvidia"}, ("nvcaffe", None)),
        ("caffe", {"distribution": "mlsl"}, ("intel-caffe", None)),
        ("caffe", {"distribution": "nccl"}, ("nvcaffe", None)),
        ("caffe", {"fork": "bvlc", "distribution": "nccl"}, ("caffe", None)),
        ("horovod", {"version": "0.19", "framework_version": "2.1"}, ("tensorflow", "2.1")),
        ("horovod", {"framework": "keras"}, ("tensorflow", None)),
        ("horovod", {"framework": "pytorch", "framework_version": "2.1"}, ("pytorch", "2.1")),
    ],
)
def test_layers_and_forks_name_whose_images_serve_them(name: str, values: dict[str, Any], expected: tuple[str, str | None]) -> None:
    """Keras runs in its backend's images, Horovod in those of the framework below, a fork of Caffe, which the layer may tell, in its own;
    versions are not mixed up."""
    carrier = plugins.find("frameworks", name).carrier(options(name, values))
    assert carrier
    assert (carrier.framework, carrier.version) == expected


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("openmp", {"affinity": "block"}, {"OMP_PROC_BIND": "close"}),
        ("openmp", {"affinity": "compact"}, {"OMP_PROC_BIND": "close"}),
        ("openmp", {"affinity": "simple"}, {"OMP_PROC_BIND": "spread"}),
        ("openmp", {"affinity": "Scatter"}, {"OMP_PROC_BIND": "spread"}),
        ("openmp", {"affinity": "none"}, {"OMP_PROC_BIND": "false"}),
        *(("openmp", {"affinity": word}, {"OMP_PROC_BIND": word}) for word in ("close", "spread", "primary", "master", "true", "false")),
        ("openmp", {"affinity": "whatever"}, {}),
        ("keras", {}, {}),
        *(("keras", {"backend": name}, {"KERAS_BACKEND": "torch"}) for name in ("torch", "pytorch")),
        ("keras", {"backend": "theano"}, {"KERAS_BACKEND": "theano"}),
        ("horovod", {"fusion_threshold": 0, "cycle_time": 3.5}, {"HOROVOD_FUSION_THRESHOLD": "0", "HOROVOD_CYCLE_TIME": "3.5"}),
        ("horovod", {"fusion_threshold": 134217728}, {"HOROVOD_FUSION_THRESHOLD": "134217728"}),
    ],
)
def test_options_become_variables(name: str, values: dict[str, Any], expected: dict[str, str]) -> None:
    """An affinity in the caller's words is one of OpenMP's own; settings of Horovod and Keras are their variables."""
    assert plugins.find("frameworks", name).environment(options(name, values)) == expected


@pytest.mark.parametrize(
    ("name", "compiler", "version", "exists"),
    [
        ("pytorch", "inductor", "1.4", False),
        ("pytorch", "inductor", "2.0", True),
        ("pytorch", "glow", "2.0", False),
        ("tensorflow", "xla", "1.4", True),
    ],
)
def test_compilers_exist_for_versions(name: str, compiler: str, version: str, exists: bool) -> None:
    """Inductor came with PyTorch 2, GLOW ended before it."""
    found = next(item for item in plugins.find("frameworks", name).compilers if item.name == compiler)
    assert found.exists_for(version) is exists


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ("1.1", None),
        ("1.14", "1.14.0"),
        ("2.1", "2.1.0"),
        ("2.1.3", "2.1.3"),
        ("2.10", "2.10.0"),
        ("2.15", None),
        ("<2", "1.15.5"),
        ("!=2.21.*", "2.20.0"),
        ("9", None),
        (None, "2.21.0"),
    ],
)
def test_a_version_to_build_is_one_that_was_released(wanted: str | None, expected: str | None) -> None:
    """The release within a range, else the version that is named exactly; what no row covers is not built."""
    rows = plugins.find("frameworks", "tensorflow").toolchains
    assert release(rows, wanted) == expected
