"""JAX: every compiled function goes through XLA."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from modak.dsl import FrameworkOptions, Switch
from modak.frameworks.base import Compiler, Cuda, Framework, Inspection, SourceBuild, Toolchain, machine_code
from modak.recipes.pins import unpack
from modak.recipes.wheels import JAX, JAX_CUDA

_SOURCE: Final = "/var/tmp/jax"  # noqa: S108 (a path inside the image that is being built)
_USUAL: Final = "7.0"
"""The compute capability for which a source build is made if no GPU is named."""

_INSPECTION: Final = Inspection(
    module="jax",
    exercise="""
weights = jax.numpy.ones(8)
weights - 0.1 * jax.grad(lambda w: (jax.numpy.ones((4, 8)) @ w).mean() ** 2)(weights)
""",
    says={"version": "jax.__version__"},
    compilers={"xla": "jax.jit(lambda x: x * 2)(1.0)"},
)


class JaxOptions(FrameworkOptions):
    """Options of JAX. ``xla`` is taken because callers send it; it cannot be switched off."""

    xla: Switch | None = None
    distribution: Literal["jax-distributed"] | None = None

    def unused(self) -> Mapping[str, str]:
        """XLA that is switched off."""
        return {"xla": "has no effect: JAX compiles with XLA always"} if self.xla is False else {}


@dataclass(frozen=True)
class Jax(Framework):
    """JAX; wheels bring their own CUDA."""

    name: str = "jax"
    options: type[FrameworkOptions] = JaxOptions
    compilers: tuple[Compiler, ...] = (Compiler("xla", "xla", always=True),)
    inspection: Inspection | None = field(default=_INSPECTION, repr=False)
    toolchains: tuple[Toolchain, ...] = (
        Toolchain(
            versions="==0.4.33",
            release="0.4.33",
            distro="ubuntu22",
            python="3.10",
            capabilities=("5.2", "9.0"),
            hub="docker://nvcr.io/nvidia/jax:24.10-py3",
            hub_nvidia="docker://nvcr.io/nvidia/jax:24.10-py3",
            note="NVIDIA's image, the newest known one with a released JAX; it runs on processors too",
        ),
        Toolchain(
            versions="==0.10.0",
            release="0.10.0",
            distro="ubuntu24",
            python="3.12",
            hub_amd="docker://rocm/jax:rocm7.14-jax{version}-py3.12",
            rocm="7.14",
        ),
        Toolchain(
            versions=">=0.4.30,<0.11",
            release="0.10.2",
            earlier=("0.4.38", "0.5.3", "0.6.2", "0.7.2", "0.8.3", "0.9.2"),  # the last of each series
            distro="ubuntu24",
            python="3.12",
            pip=("jax=={version}",),
            pip_nvidia=("jax[cuda12]=={version}",),
            locked=JAX,
            locked_nvidia=(*JAX, *JAX_CUDA),
            cuda=Cuda("12", "9", "ubuntu:24.04"),
            source=True,
            compiler=("clang", "18.1.3"),
            architectures=("x86_64", "aarch64"),
            capabilities=("5.2", "12.1"),
        ),
    )

    def build_packages(self, build: SourceBuild) -> tuple[str, ...]:
        """The compiler, and what Bazel calls."""
        return ("clang-18", "curl", "lld-18", "patchelf", "unzip")

    def kernels(self, build: SourceBuild) -> tuple[str, str] | None:
        """Machine code alone."""
        return machine_code(build.compute_capability or _USUAL, build.toolchain)

    def build_commands(self, build: SourceBuild) -> tuple[str, ...]:
        """JAX's own build script, which fetches Bazel (and compares it), and for GPUs the CUDA that the release names."""
        wheels = "jaxlib,jax-cuda-plugin,jax-cuda-pjrt" if build.nvidia else "jaxlib"
        options = [f"--wheels={wheels}", "--clang_path=/usr/lib/llvm-18/bin/clang", f"--python_version={build.toolchain.python}"]
        options += [f"--bazel_options=--copt={flag}" for flag in build.flags]
        if build.nvidia:
            capability = (build.compute_capability or _USUAL).replace(".", "")
            options += ["--cuda_major_version=12", f"--cuda_compute_capabilities=sm_{capability}"]
        return (
            *unpack(f"https://github.com/jax-ml/jax/archive/refs/tags/jax-v{build.version}.tar.gz", _SOURCE),
            f"python3 build/build.py build {' '.join(options)}",
            "pip3 install --no-cache-dir dist/*.whl .",
            "cd /",
            f"rm -rf {_SOURCE} {_SOURCE}.tar.gz /root/.cache/bazel",
        )
