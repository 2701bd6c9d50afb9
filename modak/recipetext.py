"""A recipe as text: Singularity definition or Dockerfile. hpccm writes it; what reaches hpccm is typed, since it pastes verbatim.

hpccm keeps output format, Linux and processor in module variables, and guesses them where it does not know a base image. So
there is one recipe at a time, from a known state, and a guess is an error. No step runs on the machine that builds (``%setup``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from types import SimpleNamespace
from typing import Any, Final, Literal

from packaging.version import Version

from modak import plugins
from modak.errors import RequestError
from modak.frameworks.base import Toolchain
from modak.recipes import Recipe, labels, mpi_version, source_build, toolchain

Form = Literal["singularity", "docker"]
LINUX: Final[Mapping[str, str]] = {"ubuntu18": "18.04", "ubuntu20": "20.04", "ubuntu22": "22.04", "ubuntu24": "24.04"}
INSTALLERS: Final[Mapping[str, tuple[str, str, str]]] = {
    "3.6": ("21.3.1", "59.6.0", "0.37.1"),
    "3.8": ("25.0.1", "75.3.0", "0.45.1"),
    "3.10": ("25.3", "80.9.0", "0.45.1"),
    "3.12": ("25.3", "80.9.0", "0.45.1"),
}
"""pip, setuptools and wheel for each Python: the last that serve it, or the last that old packages build with."""
CMAKE: Final = "cmake==3.18.4.post1"
"""For Horovod: newer than Ubuntu 18.04's, older than those that refuse its build files."""
_PYTHON: Final = "/opt/modak"
_KEY: Final = "/etc/apt/keyrings/oneapi.asc"
_KEY_AT: Final = "https://apt.repos.intel.com/intel-gpg-keys/GPG-PUB-KEY-INTEL-SW-PRODUCTS.PUB"
_LOCK: Final = Lock()


def written(made: Recipe, form: Form) -> str:
    """The text of a recipe; the same recipe gives the same text.

    A search path that ends with an unset variable would end with the current directory, so ``:$LD_LIBRARY_PATH`` becomes
    ``${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}``.
    """
    with _hpccm(form) as write:
        stage = write.stage()
        for step in _steps(made, toolchain(made), write):
            stage += step
        text = str(stage)
        _not_guessed(write.config, made, toolchain(made))
    return re.sub(r":\$(LD_LIBRARY_PATH|LIBRARY_PATH|CPATH)\b", r"${\1:+:$\1}", text).rstrip("\n") + "\n"


def _steps(made: Recipe, row: Toolchain, write: SimpleNamespace) -> Iterator[Any]:
    """Base image, packages, MPI, Python, the framework, Horovod, labels: in the order in which they build on each other."""
    yield write.baseimage(image=_base(made, row), _distro=row.distro, _arch=made.architecture, _bootstrap="docker")
    if made.variant != "hub":
        yield write.apt_get(ospackages=_packages(made, row))
        yield from _mpi(made, write)
        yield write.environment(variables={"PATH": f"{_PYTHON}/bin:$PATH", "PYTHONNOUSERSITE": "1"})
        yield write.shell(commands=_python(row))
        yield write.shell(commands=_framework(made, row))
    if made.distribution:
        yield write.shell(commands=[f"pip3 install --no-cache-dir {CMAKE}", _horovod(made, row)])
    yield write.label(metadata=_metadata(made))


def _base(made: Recipe, row: Toolchain) -> str:
    """The base image: the project's own, the one with the CUDA that the build needs, or plain Ubuntu."""
    nvidia = made.accelerator == "nvidia"
    if made.variant == "hub":
        official = (row.hub_nvidia if nvidia else row.hub) or ""
        return official.format(version=made.version).removeprefix("docker://")
    needs_cuda = nvidia and (made.variant == "opt-build" or row.pip_needs_cuda or made.distribution)
    return row.cuda.base if needs_cuda and row.cuda else f"ubuntu:{LINUX[row.distro]}"


def _packages(made: Recipe, row: Toolchain) -> list[str]:
    framework = plugins.find("frameworks", made.framework)
    build = framework.build_packages(source_build(made, row)) if made.variant == "opt-build" else ()
    return sorted({"build-essential", "ca-certificates", "git", "python3", "python3-dev", "python3-venv", *build})


def _mpi(made: Recipe, write: SimpleNamespace) -> Iterator[Any]:
    """The MPI library, made known to the loader: no search path is needed, and a host's library can be put before it."""
    version = mpi_version(made)
    if made.mpi == "openmpi":
        options = ["--disable-getpwuid", "--enable-orterun-prefix-by-default", "--enable-mpi-fortran=no"]
        yield write.openmpi(version=version, cuda=False, infiniband=False, ldconfig=True, configure_opts=options)
    elif made.mpi == "mpich":
        yield write.mpich(version=version, ldconfig=True, configure_opts=["--disable-fortran"])
    elif made.mpi == "intel-mpi":
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


def _python(row: Toolchain) -> list[str]:
    """An environment of its own: newer distributions' Pythons take no packages, and nothing of the distribution mixes in."""
    pip, setuptools, wheel = INSTALLERS[row.python]
    tools = f"pip=={pip} setuptools=={setuptools} wheel=={wheel}"
    return [f"python3 -m venv {_PYTHON}", f"{_PYTHON}/bin/pip3 install --no-cache-dir --upgrade {tools}"]


def _framework(made: Recipe, row: Toolchain) -> list[str]:
    if made.variant == "opt-build":
        return list(plugins.find("frameworks", made.framework).build_commands(source_build(made, row)))
    nvidia = made.accelerator == "nvidia"
    wanted = [f'"{each.format(version=made.version)}"' for each in (row.pip_nvidia if nvidia else row.pip)]
    options = row.pip_options_nvidia if nvidia else row.pip_options
    return [f"pip3 install {' '.join(['--no-cache-dir', *options, *wanted])}"]


def _horovod(made: Recipe, row: Toolchain) -> str:
    """Built against what is there; where the framework or MPI is not found, the build fails rather than leaving it out."""
    switches = {
        "HOROVOD_WITH_MPI": "1",
        "HOROVOD_WITHOUT_GLOO": "1",
        f"HOROVOD_WITH_{made.framework.upper()}": "1",
        **({"HOROVOD_GPU_OPERATIONS": "NCCL"} if made.accelerator == "nvidia" else {"HOROVOD_CPU_OPERATIONS": "MPI"}),
    }
    named = " ".join(f"{name}={value}" for name, value in switches.items())
    return f"env {named} pip3 install --no-cache-dir --no-build-isolation horovod=={row.horovod}"


def _metadata(made: Recipe) -> Mapping[str, str]:
    """Labels by which the image can be told again; ``modak.verified`` says that nobody has run it yet."""
    carries = labels(made)
    values = {
        "framework": carries.framework,
        "version": carries.version,
        "source": carries.source,
        "compilers": ",".join(carries.compilers),
        "distribution": ",".join(carries.distribution),
        "accelerator": carries.accelerator,
        "microarchitecture": carries.microarchitecture,
        "mpi": f"{carries.mpi}-{carries.mpi_version}" if carries.mpi else None,
        "verified": "no",
    }
    return {f"modak.{name}": value for name, value in values.items() if value}


def _not_guessed(config: Any, made: Recipe, row: Toolchain) -> None:
    """hpccm wrote for the Linux and processor of the row, not for those that it falls back to."""
    linux, version, processor = str(config.g_linux_distro), config.g_linux_version, config.get_cpu_architecture()
    if not linux.endswith("UBUNTU") or version != Version(LINUX[row.distro]) or processor != made.architecture:
        raise RequestError(f"the recipe came out for {linux} {version} on {processor}, not for {row.distro} on {made.architecture}")


@contextmanager
def _hpccm(form: Form) -> Iterator[SimpleNamespace]:
    """The parts of hpccm that recipes use, for one recipe at a time, from a known state."""
    import hpccm.config
    from hpccm.building_blocks import apt_get, mpich, openmpi
    from hpccm.common import container_type, cpu_arch, linux_distro
    from hpccm.primitives import baseimage, environment, label, shell

    state = {
        "g_cpu_arch": cpu_arch.X86_64,
        "g_cpu_target": None,
        "g_ctype": container_type.SINGULARITY if form == "singularity" else container_type.DOCKER,
        "g_linux_distro": linux_distro.UBUNTU,
        "g_linux_version": Version("22.04"),
        "g_singularity_version": Version("3.8"),
        "g_wd": "/var/tmp",  # noqa: S108 (inside the image that is built)
        "g_singularity_tmp_fallback": False,
    }
    parts = {"apt_get": apt_get, "mpich": mpich, "openmpi": openmpi, "baseimage": baseimage, "environment": environment}
    with _LOCK:
        for name, value in state.items():
            setattr(hpccm.config, name, value)
        yield SimpleNamespace(**parts, label=label, shell=shell, stage=hpccm.Stage, config=hpccm.config)
